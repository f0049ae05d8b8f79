"""Worst cases for any number of clients: programmes in the means and the deviations of what the clients have.

Where the clients are exchangeable, some best instance and some proof are the same for every permutation of the clients.  The
average of u_i . w_j over all permutations is then, with the means u, w and the deviations u_i - u, w_i - w,

    u . w + V(u, w)  for i = j,     u . w - V(u, w) / (M - 1)  for others,     V(u, w) the mean of (u_i - u) . (w_i - w).

All Gram matrices of common vectors and means, and all V, occur for M >= 2.  So a programme becomes one in two blocks, and M
is a number in its coefficients.

How M enters.  In a parallel round a client's vector is v_m = a u_m + b u + c: own vectors u_m, their means u over all
clients, and common vectors c, with numbers a and b that are free of M.  A server's vector is M^p times the mean of such
vectors over all clients or over S of them, p = 0 or 1.  A quantity is a product of two server's vectors, or M^p times the
mean over clients of products of two vectors of one client; its coefficient at u_i . w_j, after the mean over all outcomes,
is one number if i = j and another if not.  In means and deviations

    (1/M) sum over m of v_m . v'_m            has  (a + b) (a' + b') at u . w   and   a a' at V: no M;
    a sum in place of a mean                  gives a factor M, twice in a product of two sums;
    independent noise or errors of messages   keep u_i . w_i alone of a product of means: numbers times 1/M;
    a mean over S sampled clients             has u . w + (M - S) / (S (M - 1)) V.

So every coefficient of a quantity is p(M) / (M (M - 1)) with a polynomial p of degree 4 or less, and is known for all M from
five of them; further ones must agree.  The coefficients of a claim are taken with M as a symbol, and fit nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field as field_of, replace
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import product
from operator import mul
from typing import Any

import sympy
from sympy import QQ
from sympy.polys.fields import FracElement, field

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import GramVector, QuadraticForm, collected, pair, summed, total, vector
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.scenes import Numbers, PaperScenes, Scene, Search
from fedtheory.theory.proofs.tight import Bracket, GramInstance, Programme, Units
from fedtheory.theory.statement import Statement

FIELD, COUNT = field("M", QQ)  # rational functions of the number of clients, and that number
COUNTS = range(2, 8)  # numbers of clients whose programmes give those of all others
FEW = 5  # of them fix a coefficient, as above
_SHORT, _SHORT_NUMBER = 24, 7  # of a function, and of a number, that is shown exactly
# gradients and values at a client's points and at x*; noise, bias and errors of compressors; memories
_OF_CLIENT = re.compile(
    r"(?P<kind>[fg](?=\d+[.*])|n\(|bias\(|e\(|bias e\(|(?![fg]\d)[a-z_]+(?=\d+\*?$))(?P<client>\d+)(?P<rest>.*)"
)


class NotExchangeable(ValueError):
    """Another permutation of the clients is another programme, or M is no mere number in the coefficients."""


@cache
def _own(name: str) -> tuple[str, int | None]:
    """What a name says without its client, and the client; None of a common vector or number."""
    found = _OF_CLIENT.fullmatch(name)
    return (name, None) if found is None else (f"{found['kind']}*{found['rest']}", int(found["client"]))


@dataclass(frozen=True)
class ClientNames:
    """The vectors and function values of M clients, by client, from the names of all."""

    names: tuple[str, ...]
    M: int

    @cached_property
    def vectors(self) -> Mapping[str, Sequence[GramVector]]:
        """What each client has, under a common name; where the last one's is missing, they sum to 0."""
        found: dict[str, dict[int, GramVector]] = {}
        for name in self.names:
            kind, client = _own(name)
            if client is not None:
                found.setdefault(kind, {})[client] = vector(name)
        for kind, own in found.items():
            if own.keys() == {*range(self.M - 1)}:
                own[self.M - 1] = -total(own.values())
            elif own.keys() != {*range(self.M)}:
                raise NotExchangeable(f"not every client has {kind}")
        return {kind: [own[m] for m in range(self.M)] for kind, own in found.items()}

    def moved(self, form: QuadraticForm, order: Sequence[int]) -> QuadraticForm:
        """The form with client order[m] in the place of client m."""

        def place(name: str) -> Mapping[str, Fraction]:
            kind, client = _own(name)
            return {name: Fraction(1)} if client is None else self.vectors[kind][order[client]].parts

        products = collected(
            (pair(u, w), c * x * y)
            for (a, b), c in form.products.items()
            for (u, x), (w, y) in product(place(a).items(), place(b).items())
        )
        numbers: dict[str, Fraction] = {}
        for name, c in form.numbers.items():
            kind, client = _own(name)
            numbers[name if client is None else kind.replace("*", str(order[client]), 1)] = c
        return QuadraticForm(products, numbers)

    def check(self, forms: Iterable[QuadraticForm], conditions: Iterable[QuadraticForm]) -> None:
        """Raises NotExchangeable unless each form, and the set of conditions, is the same for all permutations, exactly."""
        several, before = list(conditions), list(forms)
        known = {_parts(one) for one in several}
        for order in ([1, 0, *range(2, self.M)], [*range(1, self.M), 0]):  # they generate all permutations
            same = all(self.moved(form, order) == form for form in before)
            if not same or {_parts(self.moved(form, order)) for form in several} != known:
                raise NotExchangeable("the inequality is another one if the clients change places")

    def average(self, form: QuadraticForm) -> QuadraticForm:
        """The mean over all permutations, in means and deviations."""

        def terms() -> Iterator[tuple[tuple[str, str], Fraction]]:
            for (a, b), c in form.products.items():
                (one, i), (other, j) = _own(a), _own(b)
                u, w = self._mean(one, i), self._mean(other, j)
                if u is not None and w is not None:
                    yield pair(u, w), c
                if i is not None and j is not None:
                    yield pair(f"dev {one}", f"dev {other}"), c if i == j else -c / (self.M - 1)

        return QuadraticForm(collected(terms()), collected((_own(name)[0], c) for name, c in form.numbers.items()))

    def alike(self, line: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """An instance on a line in which all clients are alike: common vectors and numbers, and means."""
        own = {name: _own(name) for name in line}
        placed = {self._mean(*own[name]) if name in self.names else own[name][0]: x for name, x in line.items()}
        return {name: x for name, x in placed.items() if name is not None}

    def _mean(self, kind: str, client: int | None) -> str | None:
        """The name of a common vector, or of a mean that is not 0."""
        return kind if client is None else None if kind in self._of_mean_0 else f"mean {kind}"

    @cached_property
    def _of_mean_0(self) -> set[str]:
        return {kind for kind, own in self.vectors.items() if not total(own).parts}

    def entry(self, instance: GramInstance, a: str, b: str) -> Fraction:
        """The inner product of two vectors of the programme in an instance of the reduced one."""

        def at(u: str | None, w: str | None) -> Fraction:
            if u is None or w is None or not {u, w} <= set(instance.vectors):
                return Fraction(0)
            return instance.at(vector(u) @ vector(w))

        (one, i), (other, j) = _own(a), _own(b)
        middle = at(self._mean(one, i), self._mean(other, j))
        if i is None or j is None:
            return middle
        # deviations with the products (1 - 1/M) t of one client and -t/M of two have the mean (1 - 1/M) t
        apart = at(f"dev {one}", f"dev {other}") * Fraction(self.M, self.M - 1)
        return middle + apart * ((i == j) - Fraction(1, self.M))


def reduced(programme: Programme, M: int) -> Programme:
    """The programme of M >= 2 exchangeable clients in means and deviations: its best constant is the same.

    Raises NotExchangeable where the inequality is not the same for all permutations of the clients.
    """
    clients, (objective, amount) = ClientNames(programme.vectors, M), (programme.objective, programme.amount)
    clients.check((objective, amount), programme.conditions.values())
    return Programme(clients.average(objective), clients.average(amount), _for_all(clients, programme.conditions))


def _for_all(clients: ClientNames, conditions: Mapping[str, QuadraticForm]) -> dict[str, QuadraticForm]:
    """One condition for all clients alike."""
    found: dict[frozenset[Any], tuple[str, QuadraticForm]] = {}
    for name, one in conditions.items():
        form = clients.average(one)
        found.setdefault(_parts(form), (name, form))
    return dict(found.values())


def expanded(found: Bracket, programme: Programme, M: int) -> Bracket:
    """A bracket of the reduced programme as one of the programme of M clients, which is to be verified there."""
    clients, small = ClientNames(programme.vectors, M), reduced(programme, M)
    alike: dict[frozenset[Any], list[str]] = {}
    for name, form in programme.conditions.items():
        alike.setdefault(_parts(clients.average(form)), []).append(name)
    shares = {name: alike[_parts(small.conditions[name])] for name in found.multipliers}
    multipliers = {one: x / len(shares[name]) for name, x in found.multipliers.items() for one in shares[name]}
    names = programme.vectors
    gram = tuple(tuple(clients.entry(found.instance, a, b) for b in names) for a in names)
    values = {name: found.instance.values.get(_own(name)[0], Fraction(0)) for name in programme.values}
    return Bracket(found.lower, found.upper, GramInstance(names, gram, values), multipliers)


def _parts(form: QuadraticForm) -> frozenset[Any]:
    return frozenset(form.parts.items())


# ------------------------------------------------------------------------------------------------ M as a symbol

Form = Mapping[Any, Any]  # pair of vectors, or function value -> rational function of M


@dataclass(frozen=True)
class ProgrammeFamily:
    """Reduced programmes of all M >= 2: their coefficients are rational functions of M.

    line  as of a programme; clients that are alike have no deviations
    """

    objective: Form
    amount: Form
    conditions: Mapping[str, Form]
    solved: tuple[ProgrammeFamily, Fraction] | None = None  # in the units in which they are solved, as in `Units`
    line: Mapping[str, Fraction] = field_of(default_factory=dict)

    @staticmethod
    def of(one: Programme) -> ProgrammeFamily:
        """From a programme whose coefficients are rational functions of M."""
        objective, amount, *conditions = (form.parts for form in one.forms)
        solved = None if one.solved is None else (ProgrammeFamily.of(one.solved.programme), one.solved.factor)
        return ProgrammeFamily(objective, amount, dict(zip(one.conditions, conditions, strict=True)), solved, one.line)

    def at(self, M: int) -> Programme:
        """The reduced programme of M clients."""

        def form(of: Form) -> QuadraticForm:
            parts = {part: x for part, c in of.items() if (x := value(c, M))}
            products = {part: x for part, x in parts.items() if isinstance(part, tuple)}
            return QuadraticForm(products, {part: x for part, x in parts.items() if isinstance(part, str)})

        own = {name: form(one) for name, one in self.conditions.items()}
        units = None if self.solved is None else Units(self.solved[0].at(M), self.solved[1])
        return Programme(form(self.objective), form(self.amount), own, units)

    @property
    def forms(self) -> list[Form]:
        """Objective, amount and conditions."""
        return [self.objective, self.amount, *self.conditions.values()]

    @property
    def vectors(self) -> list[str]:
        """The names of the vectors."""
        return sorted({name for form in self.forms for part in form if isinstance(part, tuple) for name in part})

    @property
    def values(self) -> list[str]:
        """The names of the function values."""
        return sorted({part for form in self.forms for part in form if isinstance(part, str)})

    @property
    def constant(self) -> bool:
        """Whether the programme is the same for all M."""
        return all(c.numer.is_ground and c.denom.is_ground for form in self.forms for c in form.values())


def family(programmes: Mapping[int, Programme]) -> ProgrammeFamily:
    """The reduced programmes of all numbers of clients, from the whole programmes of five or more of them.

    M must not be in the factors of the quantities.  Raises NotExchangeable as `fitted` does.
    """
    several = {M: reduced(one, M) for M, one in programmes.items()}
    objective, amount = (
        _joined({M: getattr(one, part) for M, one in several.items()}) for part in ("objective", "amount")
    )
    return ProgrammeFamily.of(
        Programme(objective, amount, _together({M: one.conditions for M, one in several.items()}))
    )


def _joined(several: Mapping[int, QuadraticForm]) -> QuadraticForm:
    """A form of all numbers of clients: its coefficients are rational functions of M."""

    def parts(known: Mapping[int, Mapping[Any, Fraction]]) -> dict[Any, Any]:
        every = sorted({part for own in known.values() for part in own}, key=str)
        return {part: fitted({M: own.get(part, Fraction(0)) for M, own in known.items()}) for part in every}

    products, numbers = ({M: getattr(q, kind) for M, q in several.items()} for kind in ("products", "numbers"))
    return QuadraticForm(parts(products), parts(numbers))


def _together(several: Mapping[int, Mapping[str, QuadraticForm]]) -> dict[str, QuadraticForm]:
    first, *others = several.values()
    if any(one.keys() != first.keys() for one in others):
        raise NotExchangeable("other numbers of clients have other conditions")
    return {name: _joined({M: one[name] for M, one in several.items()}) for name in first}


def fitted(values: Mapping[int, Fraction]) -> Any:
    """The function p(M) / (M (M - 1)) with these values, p of degree 4 or less: every coefficient is one, as said above.

    Raises NotExchangeable for fewer than five numbers of clients, which would not fix it, and where others do not agree.
    """
    if len(values) < FEW:
        raise NotExchangeable(f"rounds of {len(values)} numbers of clients: expected {FEW}, which fix how M enters")
    fixed = dict(list(values.items())[:FEW])
    if len({*fixed.values()}) == 1:
        found = in_field(next(iter(fixed.values())))
    else:
        found = sum(
            (in_field(x) * one for x, one in zip(fixed.values(), _basis(tuple(fixed)), strict=True)), FIELD.zero
        )
    if any(value(found, M) != x for M, x in values.items()):
        raise NotExchangeable(f"{', '.join(map(str, values.values()))}: the clients enter by no means and sums")
    return found


@cache
def _basis(counts: tuple[int, ...]) -> list[Any]:
    """The functions of this kind that are 1 at one of five numbers of clients, and 0 at the others."""
    found = []
    for M in counts:
        zeros = [(COUNT - N) / (M - N) for N in counts if N != M]
        found.append(reduce(mul, zeros, M * (M - 1) / (COUNT * (COUNT - 1))))
    return found


def in_field(x: Fraction) -> Any:
    """A fraction as a function of M."""
    return FIELD(QQ(x.numerator, x.denominator))


def value(function: Any, M: int) -> Fraction:
    """A rational function at a number of clients."""
    return fraction(function.numer(M) / function.denom(M))


@scenes.sign.register
def _(function: FracElement) -> int:
    """The sign for all M > 2, which may be 0 at 2.  Raises NotExchangeable where there are several."""
    found = sign_of(function.numer * function.denom) if function else 0
    if function and not found:
        raise NotExchangeable(f"{function}: expected one sign for all numbers of clients")
    return found


@cache
def sign_of(polynomial: Any) -> int:
    """The sign of a polynomial for all M > 2; 0 where it has several, or a root."""
    if polynomial.is_ground:
        return 1 if polynomial.LC > 0 else -1
    m = sympy.Symbol("m")
    shifted = sympy.Poly(polynomial.as_expr().subs(COUNT.as_expr(), m + 2), m, domain=QQ)
    signs = {c > 0 for c in shifted.all_coeffs() if c != 0}
    if len(signs) > 1 and shifted.count_roots(0, sympy.oo) > int(shifted.eval(0) == 0):
        return 0
    return 1 if bool(shifted.LC() > 0) else -1


def nonnegative(function: Any) -> bool:
    """Whether a rational function is >= 0 for all M >= 2, but for its poles."""
    return not function or sign_of(function.numer * function.denom) > 0


def told(function: Any) -> str:
    """A rational function of M in words; long numbers with a few digits."""
    short = _SHORT_NUMBER if function.numer.is_ground and function.denom.is_ground else _SHORT
    return str(function) if len(str(function)) <= short else rounded(function)


def rounded(function: Any) -> str:
    """A rational function of M with four digits."""
    over, under = function.numer.as_expr(), function.denom.as_expr()
    if function.numer.is_ground and function.denom.is_ground:
        return f"{float(over / under):.4g}"
    whole = re.compile(r"(?<=\d)\.0(?!\d)|\b1\.0\*")  # 3.0 is 3, and 1.0*M is M
    p, q = (whole.sub("", str(sympy.expand(one / function.denom.LC).evalf(4))) for one in (over, under))
    return p if function.denom.is_ground else f"({p})/({q})"


# ------------------------------------------------------------------------------------------------ statements


@dataclass(frozen=True)
class EverySearch:
    """A search of `scenes.searches` for every number of clients.

    below  None where the smaller class has no names for what each client has
    place  numbers of the local step
    at     all numbers, M as a symbol
    """

    above: ProgrammeFamily
    below: ProgrammeFamily | None
    sign: int
    place: Numbers
    at: Mapping[sympy.Symbol, sympy.Expr]

    def of(self, M: int) -> Search:
        """The search for M clients.  Raises NotExchangeable where only the larger class has a programme."""
        if self.below is None:
            raise NotExchangeable("instances of the class cannot be found by symmetry")
        above = self.above.at(M)
        return Search(above, above if self.below is self.above else self.below.at(M), self.sign)


def letter(statement: Statement) -> str:
    """The paper's letter for the number of clients.  Raises ValueError if it has none."""
    found = [name for name, symbol in catalogue.symbols(statement).items() if symbol.concept == "clients"]
    if not found:
        raise ValueError(f"{statement.id}: expected a statement with a number of clients")
    return found[0]


def searches(
    statement: Statement,
    rounds: PaperScenes | None,
    numbers: Mapping[str, Fraction],
    alike: Collection[str] = (),
    M: int | None = None,
    counts: Sequence[int] = COUNTS,
) -> dict[str, list[EverySearch]]:
    """`scenes.searches` for M clients, or for every M >= 2, from those for a few: for each term one for each scene.

    numbers  without that of the clients
    alike    names of numbers that are that of the clients, such as those that take part in a round
    counts   five numbers of clients fix the programmes, further ones must agree

    Raises ValueError as `scenes.cases_at` does, also for conditions that do not hold for M; NotExchangeable as `family`.
    """
    several: dict[int, list[scenes.SceneCase]] = {}
    for count in counts:
        try:
            given = {**numbers, **dict.fromkeys((letter(statement), *alike), Fraction(count))}
            several[count] = scenes.cases_at(statement, rounds, given)
        except ValueError:
            if len(several) < FEW:
                raise
            break
    ats = {count: cases[0].at for count, cases in several.items()}
    same, *others = ats.values()
    symbol = COUNT.as_expr()
    moving = {
        s: e for s in same for e in (symbol, 1 / symbol) if all(at[s] == e.subs(symbol, n) for n, at in ats.items())
    }
    if any(at[s] != same[s] for at in others for s in same.keys() - moving.keys()):
        raise NotExchangeable(f"{statement.id}: other numbers of clients have other constants")
    count_of = sympy.Integer(M) if M is not None else 2 + sympy.Symbol("m", nonnegative=True)
    if violated := scenes.admitted(statement, {**same, **{s: e.subs(symbol, count_of) for s, e in moving.items()}}):
        raise ValueError(f"{statement.id}: {violated}")
    about = [c.relation.free_symbols for c in statement.when]
    if any(moving.keys() & symbols and not symbols <= same.keys() for symbols in about):
        raise NotExchangeable(f"{statement.id}: the number of clients is in a condition on quantities of the round")
    found: dict[str, list[EverySearch]] = {}
    for cases in zip(*several.values(), strict=True):
        one = _case(dict(zip(several, cases, strict=True)), moving)
        known = one.scene.within is not None or cases[0].scene.within is None
        for term, search in scenes.searches(statement, one).items():
            above = ProgrammeFamily.of(search.above)
            below = above if search.below is search.above else ProgrammeFamily.of(search.below)
            own = EverySearch(above, below if known else None, search.sign, one.scene.place, one.at)
            found.setdefault(term, []).append(own)
    return found


@dataclass(frozen=True)
class _EveryScene(Scene):
    """A scene of all numbers of clients, in means and deviations: coefficients are rational functions of M."""

    def form(self, e: sympy.Expr, at: Any) -> dict[sympy.Expr, tuple[Any, QuadraticForm]]:
        """As of a scene, with M as a symbol."""
        at_place = e.subs({**at, **self.place})
        symbols = sorted((at_place.free_symbols - COUNT.as_expr().free_symbols) | at_place.atoms(sympy.exp), key=str)
        terms = sympy.Poly(at_place, *symbols).terms() if symbols else [((), at_place)] if at_place != 0 else []
        found = {}
        for powers, coefficient in terms:
            monomial = sympy.Mul(*(s**n for s, n in zip(symbols, powers, strict=True)))
            if monomial not in self.means:
                raise ValueError(f"{monomial}: expected one of {', '.join(sorted(map(str, self.means)))}")
            found[monomial] = FIELD.from_expr(coefficient), self.means[monomial]
        return {monomial: one for monomial, one in found.items() if one[0]}


def _case(several: Mapping[int, scenes.SceneCase], moving: Mapping[sympy.Symbol, sympy.Expr]) -> scenes.SceneCase:
    """The case of every number of clients; without the smaller class, if its clients are not exchangeable."""
    first = next(iter(several.values()))
    at = {**first.at, **moving}
    scene = _scene({M: one.scene for M, one in several.items()})
    within = {M: one.scene.within for M, one in several.items() if one.scene.within is not None}
    if within:
        with suppress(NotExchangeable):  # then instances of the class are not found by symmetry
            scene = replace(scene, within=_scene(within))
    solved = {M: one.solved for M, one in several.items() if one.solved is not None}
    return scenes.SceneCase(first.numbers, at, scene, _case(solved, moving) if solved else None, first.factor)


def _scene(several: Mapping[int, Scene]) -> Scene:
    means: dict[sympy.Expr, dict[int, QuadraticForm]] = {}
    conditions: dict[int, dict[str, QuadraticForm]] = {}
    line: Mapping[str, Fraction] = {}
    for M, scene in several.items():
        every = Programme(
            summed(()), summed(()), {**scene.conditions, **{f"of {s}": q for s, q in scene.means.items()}}
        )
        clients = ClientNames(every.vectors, M)
        clients.check(scene.means.values(), scene.conditions.values())
        for monomial, form in scene.means.items():
            means.setdefault(monomial, {})[M] = clients.average(form)
        conditions[M] = _for_all(clients, scene.conditions)
        line = clients.alike(scene.line)
    place = next(iter(several.values())).place
    return _EveryScene({s: _joined(own) for s, own in means.items()}, _together(conditions), (), None, place, line)
