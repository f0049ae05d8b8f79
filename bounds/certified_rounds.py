"""Lemmas about a round, proved for all constants, functions, dimensions and numbers of clients, from the algorithm's code.

The code runs on vectors whose coefficients are polynomials in the constants, with two, three and four clients.  Clients are
exchangeable: a form is a sum of squares of means and of deviations from them.  That its coefficients are a + b/M for every M
is read off from these counts, and is a premise of each proof.  The claim is then a sum of what the class of functions, the
noise and the compressor say, each times a multiplier >= 0 that depends on the constants, and of squares
(`fedtheory.theory.inequalities.certified`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import sympy

from fedtheory.bounds import worst_cases
from fedtheory.simulations.algorithms.base import ANY, MEAN, SERVER, class_of
from fedtheory.simulations.exact.trace import Trace, refuse_coordinates, trace
from fedtheory.theory import catalogue, inequalities
from fedtheory.theory.field import AT_START
from fedtheory.theory.proofs.parametric import follows
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Premise, Statement, Status, Verdict, defined

_COUNTS = (2, 3, 4)  # of clients: the coefficients come from the first two, the third checks them
_SHARE = sympy.Symbol("1/M", positive=True)
_COIN = "coin"  # of an algorithm: the name of the chance of a small number
_FRESH = {
    Property.COMPRESSOR: Property.INDEPENDENT_COMPRESSORS,
    Property.UNBIASED: Property.INDEPENDENT_NOISE,
}
_READ = worst_cases.READ | {
    Property.COMPRESSOR, Property.INDEPENDENT_COMPRESSORS, Property.CONTRACTIVE, Property.BOUNDED_GRADIENT,
    Property.HETEROGENEITY, Property.VARIANCE,
}  # fmt: skip


@dataclass(frozen=True)
class Formal:
    """A linear combination of vectors, whose coefficients are made of the constants."""

    e: sympy.Expr

    def __add__(self, other: Any) -> Formal:
        return self if _is_zero(other) else Formal(sympy.expand(self.e + other.e))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Formal:
        return self if _is_zero(other) else Formal(sympy.expand(self.e - other.e))

    def __rsub__(self, zero: Any) -> Formal:
        return -self if _is_zero(zero) else NotImplemented

    def __mul__(self, factor: Any) -> Formal:
        return Formal(sympy.expand(self.e * sympy.nsimplify(factor, rational=True)))

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Formal:
        return self * (1 / sympy.nsimplify(number, rational=True))

    def __neg__(self) -> Formal:
        return Formal(-self.e)

    def __matmul__(self, other: Formal) -> sympy.Expr:
        return sympy.expand(self.e * other.e)

    @property
    def square(self) -> sympy.Expr:
        """The squared norm."""
        return self @ self


def _is_zero(one: Any) -> bool:
    return not isinstance(one, Formal) and bool(one == 0)


class _RoundSymbols:
    """The symbols of a round of M clients: those that each client has, what depends on which draw, and the functions."""

    def __init__(self, M: int) -> None:
        self.M = M
        self.of: dict[sympy.Symbol, tuple[str, int | None]] = {}  # the name, and the client that has it
        self.values: set[sympy.Symbol] = set()
        self.needs: dict[sympy.Symbol, frozenset[sympy.Symbol]] = {}  # draws that a vector depends on
        self.draws: dict[sympy.Symbol, Property] = {}
        self.points: list[dict[sympy.Expr, SimpleNamespace]] = [{} for _ in range(M)]
        for m in range(M):
            self.function(m).at(ZERO)

    def symbol(self, name: str, client: int | None = None, needs: frozenset[Any] = frozenset()) -> sympy.Symbol:
        """A vector or number, of a client or of all."""
        found = sympy.Symbol(name if client is None else f"{name} of {client}", real=True)
        self.of[found] = name, client
        self.needs[found] = self.needs.get(found, frozenset()) | needs  # of all rounds that are compared
        return found

    def draw(self, name: str, client: int, law: Property, needs: frozenset[Any] = frozenset()) -> sympy.Symbol:
        """An error of mean zero, given what was before."""
        found = self.symbol(name, client, needs)
        self.needs[found], self.draws[found] = self.needs[found] | {found}, law
        return found

    def behind(self, e: sympy.Expr) -> frozenset[sympy.Symbol]:
        """The draws that an expression depends on."""
        return frozenset().union(*(self.needs.get(s, frozenset()) for s in e.free_symbols))

    def function(self, m: int) -> Any:
        """The function of a client."""
        return SimpleNamespace(at=partial(self._at, m))

    def _at(self, m: int, x: Formal) -> SimpleNamespace:
        known = self.points[m]
        if x.e not in known:
            k, needs = len(known), self.behind(x.e)
            value = self.symbol(f"f{k}", m, needs)
            self.values.add(value)
            known[x.e] = SimpleNamespace(x=x, value=value, gradient=Formal(self.symbol(f"g{k}", m, needs)))
        return known[x.e]


ZERO = Formal(sympy.S.Zero)
_STAR = "g0"  # the clients' gradients at x*, whose sum is 0


@dataclass(frozen=True)
class _Model:
    """An algorithm's rounds for the lemmas of a paper.

    settings  those that the algorithm leaves open -> the paper's symbols
    """

    algorithm: Callable[..., Any]
    quantities: Mapping[str, Callable[[Trace], Any]]
    settings: Mapping[str, sympy.Symbol]
    memory: Mapping[str, str]

    def outcomes(
        self, at: _RoundSymbols, given: Mapping[Any, Any], eta: sympy.Symbol
    ) -> Iterator[tuple[sympy.Expr, Trace]]:
        """The round with each coin, and its chance."""
        steps = {name: 1 for name in self.settings if name in worst_cases.STEPS}
        others = {name: s for name, s in self.settings.items() if name not in worst_cases.STEPS}
        algorithm = copy(self.algorithm(eta=1.0, **steps, **dict.fromkeys(others, 0.5)))
        compresses = hasattr(algorithm, "compressor")
        clients = range(at.M)
        own = [name for name, kind in self.memory.items() if not kind.startswith(MEAN)]
        of_clients = {name: name in own and kind != SERVER for name, kind in self.memory.items()}
        refuse_coordinates(algorithm, at.M, list if compresses else None, of_clients)
        for name, symbol in others.items():
            object.__setattr__(algorithm, name, symbol)

        def with_means(memory: dict[str, Any]) -> dict[str, Any]:
            means = {name: memory[kind.removeprefix(MEAN)] for name, kind in self.memory.items() if name not in own}
            return memory | {name: sum(several[1:], start=several[0]) / at.M for name, several in means.items()}

        memory = with_means(
            {
                name: [Formal(at.symbol(name, m)) for m in clients] if of_clients[name] else Formal(at.symbol(name))
                for name in own
            }
        )
        x = Formal(at.symbol("x"))
        unbiased = Property.UNBIASED in given
        noisy = unbiased or Property.BOUNDED_GRADIENT in given
        points: dict[tuple[int, int, int], list[sympy.Expr]] = {}  # where a draw is asked for

        def noise(client: int, turn: int, k: int, point: Formal) -> Formal:
            if not noisy:
                return ZERO
            several = points.setdefault((client, turn, k), [])  # at another point a sample has another noise
            several += [point.e] if point.e not in several else []
            if any(at.of[d][0].rstrip("'") == f"~n{side}{(turn - 1) // at.M}.{k}" for d in at.behind(point.e)):
                raise ValueError("it takes a gradient at a point that depends on the same sample")
            name = f"~n{side}{(turn - 1) // at.M}.{k}" + "'" * several.index(point.e)
            if not unbiased:
                return Formal(at.symbol(name, client, at.behind(point.e)))
            return Formal(at.draw(name, client, Property.UNBIASED, at.behind(point.e)))

        times: list[int] = []
        side = ""  # of the coin: what is drawn then

        def coder(messages: Sequence[Formal]) -> list[Formal]:
            times.append(1)
            found, name = [], f"~e{side}{len(times)}"
            for m, one in enumerate(messages):
                if Property.COMPRESSOR in given:
                    error = at.draw(name, m, Property.COMPRESSOR, at.behind(one.e))
                elif Property.CONTRACTIVE in given:
                    error = at.symbol(name, m, at.behind(one.e))
                else:
                    raise ValueError("it compresses: expected an assumption about the compressor")
                found.append(one + Formal(error))
            return found

        functions = [at.function(m) for m in clients]

        def traced(before: Mapping[str, Any], coin: float | None) -> Trace:
            nonlocal side
            times.clear()
            points.clear()
            side, coded = "tails" if coin else "", coder if compresses else None
            return trace(algorithm, functions, x, ZERO, eta, list(clients), noise, before, None, coin, coded)

        chance = getattr(algorithm, getattr(algorithm, _COIN), None) if hasattr(algorithm, _COIN) else None
        chance = None if chance is None else inequalities.exact(sympy.sympify(chance))
        tosses = [(sympy.S.One, None)] if chance is None else [(chance, 0.0), (1 - chance, float("inf"))]
        found = [(odds, traced(memory, coin)) for odds, coin in tosses]
        for _, one in found:
            self._refuse_other_memories(one)
        yield from found
        if not self.memory or min(_COUNTS) != at.M:
            return
        starts = self._starts(own, of_clients, x, [f.at(x).gradient for f in functions], eta)
        for _, coin in tosses:  # with the same memories for both sides of the coin
            first = traced({}, coin).vectors
            starts = [one for one in starts if first == traced(with_means(one), coin).vectors]
        if not starts:
            raise ValueError(
                "its first round is none of the others, with memories of 0, x, gradients at x (or minus them) or deviations"
            )

    def _starts(
        self, own: Sequence[str], of_clients: Mapping[str, bool], x: Formal, gradients: Sequence[Formal], eta: Any
    ) -> list[dict[str, Any]]:
        """What the memories may be before the first round."""
        M = len(gradients)
        mean = sum(gradients[1:], start=gradients[0]) / M
        away = [g - mean for g in gradients]
        zero = [ZERO] * M
        every = [zero, [x] * M, gradients, away, *([-(g * c) for g in gradients] for c in (1, eta))]
        of_kind = {"sum 0": [zero, away, [-g for g in away]]}
        kinds = [of_kind.get(self.memory[name], every) for name in own]
        return [
            {n: v if of_clients[n] else sum(v[1:], start=v[0]) / M for n, v in zip(own, several, strict=True)}
            for several in product(*kinds)
        ]

    def _refuse_other_memories(self, t: Trace) -> None:
        """Raises ValueError for a memory that is after a round not what it is before each, and for one not declared."""
        if more := t.memory.keys() - self.memory.keys():
            raise ValueError(f"it keeps {min(more)}: expected memory=..., which says what that is before a round")
        for name, kind in ((name, kind) for name, kind in self.memory.items() if kind not in (ANY, SERVER)):
            of = kind.removeprefix(MEAN) if kind.startswith(MEAN) else name
            rest = sum(t.memory[of][1:], start=t.memory[of][0])
            rest = rest - t.memory[name] * len(t.functions) if kind.startswith(MEAN) else rest
            first, *others = t.before[of]
            zero = {first.e: -sum(one.e for one in others)} if kind == "sum 0" else {}
            if sympy.expand(rest.e.subs(zero)) != 0:
                raise ValueError(f"memory {name}: expected '{kind}' after the round, too, as before it")


def _reduced(
    at: _RoundSymbols, form: sympy.Expr, independent: frozenset[Property], zero: frozenset[str]
) -> dict[Any, Any]:
    """A form in means and deviations: a product of their names, or the name of a number -> its coefficient.

    Raises ValueError for a form that changes if clients change places.
    """
    names = sorted((s for s in form.free_symbols if s in at.of), key=str)
    each: dict[Any, dict[tuple[int | None, int | None], Any]] = {}
    found: dict[Any, Any] = {}

    def add(key: Any, value: Any) -> None:
        if not any(part.partition(" ")[2] in zero and part.startswith("mean") for part in key):
            found[key] = found.get(key, 0) + value

    for powers, c in sympy.Poly(form, *names).terms() if names else [((), form)]:
        used = [s for s, n in zip(names, powers, strict=True) for _ in range(n)]
        if len(used) == 2 and not at.values & {*used}:
            a, b = used
            if _vanishes(at, a, b, independent):
                continue
            (one, m), (other, n) = sorted((at.of[a], at.of[b]), key=lambda pair: pair[0])
            each.setdefault((one, other), {})[m, n] = c
        elif len(used) == 1 and used[0] in at.values:
            each.setdefault((at.of[used[0]][0],), {})[at.of[used[0]][1], None] = c
        elif not used:
            add((), c)
        else:
            raise ValueError(f"{sympy.Mul(*used)}: expected inner products and values")
    M, clients = at.M, range(at.M)
    for key, own in each.items():
        if len(key) == 1:
            of_all = (None, None) in own
            several = own.values() if of_all else [own.get((m, None), sympy.S.Zero) for m in clients]
            add((f"value {key[0]}",), _same(key, several) * (1 if of_all else M))
            continue
        alone = [all(place[i] is None for place in own) for i in (0, 1)]
        a, b = ("mean " + name for name in key)
        if all(alone):
            add((a, b), own[None, None])
        elif any(alone):
            values = [sum(c for place, c in own.items() if place[alone.index(False)] == m) for m in clients]
            add((a, b), M * _same(key, values))
        else:
            both = [own.get((m, m), sympy.S.Zero) for m in clients]
            # a product of two vectors of one name has a place in one order only
            twice = key[0] == key[1]
            apart = [
                (own.get((m, n), sympy.S.Zero) + own.get((n, m), sympy.S.Zero)) / 2
                if twice
                else own.get((m, n), sympy.S.Zero)
                for m, n in permutations(clients, 2)
            ]
            alike, differ = _same(key, both), _same(key, apart)
            add(("apart " + key[0], "apart " + key[1]), M * (alike - differ))
            add((a, b), M * (alike - differ) + M**2 * differ)
    return {key: c for key, c in found.items() if sympy.cancel(c) != 0}


def _same(key: Any, several: Any) -> Any:
    first, *others = several
    if any(sympy.cancel(one - first) != 0 for one in others):
        raise ValueError(f"{', '.join(key)}: expected the same of every client")
    return first


_Most = Mapping[sympy.Symbol, sympy.Expr]  # an error -> what bounds its mean square


def _without_draws(
    forms: Sequence[sympy.Expr],
    rounds: Sequence[tuple[_RoundSymbols, _Most]],
    when: Sequence[Any],
    independent: frozenset[Any],
) -> list[sympy.Expr]:
    """Forms that are to be >= 0, with a bound in place of the square of each error of mean zero, the last drawn first.

    forms  at each number of clients of `_COUNTS`, as `rounds`
    when   conditions in which M is not

    The factor of an error's square, times M, is a + b/M; that it is <= 0 for every M is seen at M = 1 and in the limit.
    """
    found = list(forms)
    for name in dict.fromkeys(rounds[0][0].of[d][0] for d in reversed(list(rounds[0][0].draws))):
        found = [_independent(at, form, independent) for form, (at, _) in zip(found, rounds, strict=True)]
        own = [[d for d in at.draws if at.of[d][0] == name] for at, _ in rounds]
        if any(d not in most or form.coeff(d, 1) != 0
               for form, (_, most), draws in zip(found, rounds, own, strict=True) for d in draws):  # fmt: skip
            continue
        factors = [{form.coeff(d, 2) for d in draws} for form, draws in zip(found, own, strict=True)]
        if any(len(several) != 1 for several in factors):
            continue
        each = [next(iter(several)) for several in factors]
        try:
            factor = _in_count([{name: c * at.M} for c, (at, _) in zip(each, rounds, strict=True)])
        except ValueError:
            continue
        ends = [sympy.factor(-c.subs(_SHARE, end)) >= 0 for c in factor.values() for end in (0, 1)]
        if all(one == sympy.true or follows(when, one) is True for one in ends):
            found = [
                sympy.expand(form + c * sympy.Add(*(most[d] - d**2 for d in draws)))
                for form, c, draws, (_, most) in zip(found, each, own, rounds, strict=True)
            ]
    return found


def _independent(at: _RoundSymbols, form: sympy.Expr, independent: frozenset[Any]) -> sympy.Expr:
    """A form without the products whose expectation is 0."""
    names = sorted((s for s in form.free_symbols if s in at.of), key=str)
    if not names:
        return form
    poly, kept = sympy.Poly(form, *names), []
    for powers, c in poly.terms():
        used = [s for s, n in zip(poly.gens, powers, strict=True) for _ in range(n)]
        if not (len(used) == 2 and not at.values & {*used} and _vanishes(at, used[0], used[1], independent)):
            kept.append(c * sympy.Mul(*used))
    return sympy.Add(*kept)


def _vanishes(at: _RoundSymbols, a: sympy.Symbol, b: sympy.Symbol, independent: frozenset[Property]) -> bool:
    """Whether the expected inner product is 0: an error of mean zero, and what does not depend on it."""
    if a == b:
        return False

    def related(one: sympy.Symbol, other: sympy.Symbol) -> bool:
        """Whether two draws may depend on each other: of one sample at two points, or of clients that share it."""
        (name, m), (same, n) = at.of[one], at.of[other]
        together = at.draws[one] == at.draws[other] and name.rstrip("'") == same.rstrip("'")
        return together and (m == n or at.draws[one] not in independent)

    if a in at.draws and b in at.draws:
        return not related(a, b)
    return any(one in at.draws and not any(related(one, d) for d in at.needs[other]) for one, other in ((a, b), (b, a)))


def _mean_squares(
    at: _RoundSymbols, traces: Sequence[Trace], given: Mapping[Any, Any]
) -> dict[sympy.Symbol, sympy.Expr]:
    """What bounds the mean square of each error: of gradients and of compressed messages."""
    found: dict[sympy.Symbol, sympy.Expr] = {}
    if Property.VARIANCE in given:
        found |= {s: given[Property.VARIANCE][0] ** 2 for s, law in at.draws.items() if law == Property.UNBIASED}
    share = (
        given[Property.COMPRESSOR][0]
        if Property.COMPRESSOR in given
        else 1 - given[Property.CONTRACTIVE][0]
        if Property.CONTRACTIVE in given
        else None
    )
    for messages, arrive in (pair for t in traces for pair in t.coded):
        for one, arrived in zip(messages, arrive, strict=True):
            found[sympy.expand(arrived.e - one.e)] = share * one.square
    return found


def _conditions(at: _RoundSymbols, traces: Sequence[Trace], given: Mapping[Any, Any]) -> dict[str, list[sympy.Expr]]:
    """What is >= 0, by its name: a form of each client, or one of all."""

    def constant(name: Property) -> Any:
        return given[name][0] if name in given else None

    found: dict[str, list[sympy.Expr]] = {}
    L = constant(Property.SMOOTH) or constant(Property.SMOOTH_ABOVE)
    mu = constant(Property.STRONGLY_CONVEX)
    mu = sympy.S.Zero if mu is None and Property.CONVEX in given else mu
    least = Property.MINIMISER in given or Property.STRONGLY_CONVEX in given
    count = min(map(len, at.points))
    for i, j in permutations(range(count), 2):
        if not least and 0 in (i, j):
            continue
        for points in at.points:
            one, other = (
                SimpleNamespace(x=p.x.e, value=p.value, gradient=p.gradient.e)
                for p in (list(points.values())[i], list(points.values())[j])
            )
            kinds = list(inequalities.between(one, other, L, mu, interpolated=False))
            if mu is None and i < j and Property.SMOOTH in given:
                kinds.append(
                    ("Lipschitz gradient", L**2 * (one.x - other.x) ** 2 - (one.gradient - other.gradient) ** 2)
                )
            for kind, form in kinds:
                found.setdefault(f"{kind} from {j} to {i}", []).append(form)
    for s, largest in _mean_squares(at, traces, given).items():
        found.setdefault(f"size of {at.of[s][0]}", []).append(largest - s**2)
    for t in traces[:1]:
        if Property.BOUNDED_GRADIENT in given:
            for step in t.steps:
                room = constant(Property.BOUNDED_GRADIENT) ** 2 - step.stochastic.square
                found.setdefault(f"gradient of step {step.k}", []).append(room)
        if Property.HETEROGENEITY in given:
            beta, zeta = given[Property.HETEROGENEITY]
            own = [f.at(t.x).gradient for f in t.functions]
            G = t.mean(own)
            apart = sum((one - G).square for one in own) / at.M
            found["heterogeneity"] = [beta**2 * G.square + zeta**2 - apart]
    if Property.HETEROGENEITY_AT_OPTIMUM in given:
        own = [next(iter(points.values())).gradient.square for points in at.points]
        found["heterogeneity at x*"] = [constant(Property.HETEROGENEITY_AT_OPTIMUM) ** 2 - sum(own) / at.M]
    return {name: [sympy.expand(form) for form in forms] for name, forms in found.items()}


def _in_count(several: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
    """Coefficients a + b/M from those at some numbers of clients.  Raises ValueError for others."""
    found = {}
    for key in dict.fromkeys(key for one in several for key in one):
        c = [sympy.cancel(one.get(key, sympy.S.Zero)) for one in several]
        x = [sympy.Rational(1, M) for M in _COUNTS]
        slope = sympy.cancel((c[0] - c[1]) / (x[0] - x[1]))
        level = sympy.cancel(c[0] - slope * x[0])
        if sympy.cancel(c[2] - level - slope * x[2]) != 0:
            raise ValueError(f"{key}: expected a coefficient a + b/M")
        found[key] = level + slope * _SHARE
    return found


def _form(parts: Mapping[Any, Any]) -> sympy.Expr:
    return sympy.Add(*(c * sympy.Mul(*(sympy.Symbol(p, real=True) for p in key)) for key, c in parts.items()))


def _refuse_counts(sides: sympy.Expr, M: sympy.Symbol) -> None:
    """Raises ValueError for a claim whose coefficients are not a + b/M: three numbers of clients tell no others apart."""
    if sympy.simplify(sympy.diff(sides.subs(M, 1 / _SHARE), _SHARE, 2)) != 0:
        raise ValueError("the claim has another factor in M: expected coefficients a + b/M")


def question(statement: Statement) -> inequalities.FormQuestion:
    """The lemma, as a claim about forms.  Raises ValueError for a lemma or an algorithm that this does not read."""
    paper = statement.paper
    algorithm, claim, given = worst_cases.algorithm_of(paper), statement.claim, catalogue.properties(statement)
    if algorithm is None or not isinstance(claim, Bound) or claim.sign == "=":
        raise ValueError(f"{statement.id}: expected a bound, of a paper with one algorithm")
    if more := given.keys() - _READ:
        raise ValueError(f"{statement.id} assumes {', '.join(sorted(more))}: expected other assumptions")
    symbols = catalogue.symbols(statement)
    by_name = {s.name: s.sympy for s in symbols.values()}
    letters = {s.concept: s.name for s in symbols.values() if s.concept}
    names = worst_cases.letters_of_settings(algorithm, letters)
    worst_cases.refuse_settings(statement, algorithm)
    names = {n: letter for n, letter in names.items() if n not in ("S", "compressor")}
    if Property.EQUAL_WEIGHTS not in given or "S" in {s.name for s in statement.symbols}:
        raise ValueError(f"{statement.id}: expected clients of equal weights, all of which take part")
    if missing := [n for n, letter in names.items() if letter not in by_name and n not in worst_cases.STEPS]:
        raise ValueError(f"{statement.id}: expected a symbol for the setting {missing[0]}")
    settings = {n: by_name.get(letter, sympy.S.One) for n, letter in names.items()}
    quantities = worst_cases.quantities_of(paper)
    model = _Model(algorithm, quantities, settings, worst_cases.memory_of(paper))
    ones = {s: sympy.S.One for n, s in settings.items() if n in worst_cases.STEPS and isinstance(s, sympy.Symbol)}

    def read(e: Any) -> Any:
        return defined(e, statement.where).subs(ones)

    given = {name: tuple(read(sympy.sympify(c)) for c in own) for name, own in given.items()}
    sides = read(claim.quantity - claim.value) * (1 if claim.sign == "<=" else -1)
    bounded = {s.name for s in sides.free_symbols if s.name in quantities}
    if any(name in worst_cases.STEPS for name in names) and bounded - {s.name for s in AT_START}:
        raise ValueError(f"{statement.id}: expected a round in which each client takes one step")
    extremes = sorted(sides.atoms(sympy.Max, sympy.Min), key=str)
    one_of = {e: sympy.Symbol(f"extreme{i}", positive=True) for i, e in enumerate(extremes)}
    when = [read(c.relation) for c in statement.when]
    kind = class_of(algorithm)
    when += [settings[name] <= 1 for name in names if name == getattr(kind, _COIN, None)]  # a chance
    when += [r >= part if isinstance(e, sympy.Max) else r <= part for e, r in one_of.items() for part in e.args]
    if any(not part.is_positive for e in extremes if isinstance(e, sympy.Min) for part in e.args):
        raise ValueError(f"{statement.id}: expected minima of positive numbers")
    sides = sides.xreplace(one_of)
    if "M" in by_name:
        _refuse_counts(sides, by_name["M"])
    eta = by_name["eta"]
    bounds = [by_name[n] for n in ("sigma", "zeta_star", "zeta", "G_max") if n in by_name]
    squared = {s: sympy.Symbol(f"{s}^2", positive=True) for s in bounds}
    plain: list[sympy.Expr] = []
    rounds: list[tuple[_RoundSymbols, _Most]] = []
    known = []
    least = {Property.MINIMISER, Property.STRONGLY_CONVEX} & given.keys()
    zero = frozenset({*([_STAR] if least else ()), *(name for name, kind in model.memory.items() if kind == "sum 0")})
    independent = frozenset(law for law, apart in _FRESH.items() if apart in given)
    for M in _COUNTS:
        at = _RoundSymbols(M)
        outcomes = list(model.outcomes(at, given, eta))
        means = {
            s: sympy.expand(sum(odds * quantities[s.name](t) for odds, t in outcomes))
            for s in sides.free_symbols
            if s.name in quantities
        }
        roots = {s: sympy.sqrt(number) for s, number in squared.items()}
        count = {} if "M" not in by_name else {by_name["M"]: sympy.Integer(M)}
        form = sympy.expand(-sides.xreplace(means).subs(count).subs(roots))
        traces = [t for _, t in outcomes]
        plain.append(form)
        rounds.append((at, {d: sympy.expand(e.subs(roots)) for d, e in _mean_squares(at, traces, given).items()}))
        every = _conditions(at, traces, given)
        reduced = {}
        for name, several in every.items():
            try:
                whole = sympy.expand((sympy.Add(*several) / len(several)).subs(roots))
                reduced[name] = _reduced(at, whole, independent, zero)
            except ValueError:
                continue
        known.append(reduced)
    shared = [name for name in known[0] if all(name in own for own in known)]
    forms = {name: _form(_in_count([own[name] for own in known])) for name in shared}
    of_all = [w for w in when if by_name.get("M") not in w.free_symbols]
    claims = _without_draws(plain, rounds, of_all, independent)
    goal = _form(
        _in_count([_reduced(at, form, independent, zero) for form, (at, _) in zip(claims, rounds, strict=True)])
    )
    numbers = {x for x in squared.values() if any(x in e.free_symbols for e in (goal, *forms.values()))}
    when = [w.subs(by_name["M"], 1 / _SHARE) if "M" in by_name else w for w in when] + [_SHARE <= 1]
    parts = {
        s for e in (goal, *forms.values()) for s in e.free_symbols if s.name.startswith(("mean ", "apart ", "value "))
    }
    free = set().union(goal.free_symbols, *(e.free_symbols for e in forms.values()), *(w.free_symbols for w in when))
    left = tuple(sorted(free - parts - numbers, key=str))
    if _SHARE not in goal.free_symbols.union(*(e.free_symbols for e in forms.values())):
        when, left = [w for w in when if _SHARE not in w.free_symbols], tuple(s for s in left if s != _SHARE)
    when = [w for w in map(sympy.simplify, when) if w != sympy.true]
    gradients = [s for s in parts if re.fullmatch(r"\w+ [fg]\d+", s.name)]
    units = dict.fromkeys((by_name["L"], by_name["mu"], *gradients), 1) | {sympy.Symbol("mean x", real=True): 0}
    L = by_name["L"] if by_name["L"] in left else None
    return inequalities.FormQuestion(statement.claim, (), tuple(when), goal, forms, (), left, L, units)


def _weaker(condition: Any) -> Any:
    """A condition such as eta <= 1/(2 L) with 1 in place of a smaller factor."""
    if not isinstance(condition, sympy.Le | sympy.Ge):
        return condition
    factor, rest = condition.gts.as_coeff_Mul()
    return sympy.Le(condition.lts, rest) if factor.is_Rational and 0 < factor < 1 and rest.is_nonnegative else condition


def check(statement: Statement, full: bool = False) -> Verdict:
    """The proof of a lemma about a round by a certificate; open where none is found, broken where the code is not read."""
    try:
        asked = question(statement)
        squares = {f"{s} is a square": s for s in asked.claim.free_symbols if s.name.endswith("^2")}
        weaker = tuple(map(_weaker, asked.when))  # for longer steps there are fewer multipliers to choose from
        ways = [asked, replace(asked, when=weaker), replace(asked, known={**asked.known, **squares})]
        different = [way for i, way in enumerate(ways) if way not in ways[:i]]
        found = next(filter(None, map(inequalities.certified, different)), None)
    except ValueError as error:
        return Verdict(Status.BROKEN, str(error), witness={"step": "the round"})
    if found is None:
        return Verdict(Status.OPEN, "no multipliers were found: this decides nothing")
    seen = f"the coefficients are a + b/M for every M, as the code has them for M = {', '.join(map(str, _COUNTS))}"
    return replace(found, says=f"{found.says}; {seen}", premises=(*found.premises, Premise("inference", seen)))
