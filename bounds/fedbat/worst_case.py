"""Steps of the recursion that the FedBAT paper analyses, in vectors: worst cases of its lemmas.

A round starts at w; t - t_0 steps have been taken before the step that a statement is about.  The rounds are traces of the
algorithm's own `round`, and the quantities those of `fedtheory.bounds.fedbat.quantities`.  Binarisation and noise have two
equally likely values: S_m(v) = v + e or v - e, for any vector e that Assumption 5 allows.  All clients have equal shares;
w* is 0, where the clients' gradients sum to zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, count, product

import sympy

from fedtheory.bounds.fedbat import quantities
from fedtheory.bounds.trials.cases import rational
from fedtheory.bounds.worst_cases import federation, numbers_of, of_class
from fedtheory.simulations.exact.enumerated import EnumeratedRound, Scheduled
from fedtheory.simulations.exact.trace import Coder, trace
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat import symbols as s
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import NOTHING, GramVector, QuadraticForm, mean, number, vector
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.statement import Statement

NAMES = (
    "lemma1", "lemma2.corrected", "lemma3.corrected", "lemma3.corrected.sharp", "lemma4.corrected", "eq24", "eq25.corrected",
    "eq25.corrected.sharp", "eq31", "eq32", "eq34", "eq35", "eq38.corrected", "eq41", "eq41.corrected", "eq42",
    "eq44.corrected", "eq45", "eq46.corrected", "eq47.corrected", "eq48.corrected", "eq50.corrected", "lemma6.corrected",
    "eq56", "eq57.corrected", "eq57.corrected.sharp", "eq61", "eq62.corrected", "eq63", "eq64.corrected",
    "lemma7.corrected", "eq70.corrected", "eq71.corrected", "eq71.corrected.sharp", "eq75", "eq77", "eq78.corrected",
    "eq79.corrected", "eq80.corrected", "eq81", "eq82.corrected",
)  # fmt: skip


@dataclass(frozen=True)
class SignOutcome:
    """An outcome of the noise and the binarisations of all clients: the signs of each, one after another.

    A step with noise has a sign, and so has every binarisation but the first, of nothing.
    """

    given: Properties
    noisy: bool
    before: int
    signs: Sequence[Sequence[int]]

    @staticmethod
    def every(given: Properties, noisy: bool, before: int, clients: int) -> Iterator[SignOutcome]:
        """All outcomes, with equal chances."""
        kinds = (["n"] * noisy + (["e", "n"] if noisy else ["e"]) * before) + ["e"]
        apart = {"e": Property.INDEPENDENT_COMPRESSORS in given, "n": Property.INDEPENDENT_NOISE in given}
        free = [[(k if apart[kind] else 0, i) for i, kind in enumerate(kinds)] for k in range(clients)]
        names = sorted({name for own in free for name in own})
        for signs in product((1, -1), repeat=len(names)):
            at = dict(zip(names, signs, strict=True))
            yield SignOutcome(given, noisy, before, [[at[name] for name in own] for own in free])

    def name(self, kind: str, client: int, k: int) -> str:
        """The noise n of step k, or the error e of binarisation k: it may depend on the client's signs so far."""
        return f"{kind}({client}:{''.join('+' if sign > 0 else '-' for sign in self.signs[client][: self._place(kind, k)])})"

    def _place(self, kind: str, k: int) -> int:
        return 2 * k - (kind == "e") if self.noisy else k - 1

    def drawn(self, kind: str, client: int, k: int) -> GramVector:
        """A vector of mean zero, if that is assumed."""
        name = self.name(kind, client, k)
        centred = Property.UNBIASED if kind == "n" else Property.UNBIASED_BINARISATION
        sign = self.signs[client][self._place(kind, k)]
        return vector(name) * sign + (NOTHING if centred in self.given else vector(f"bias {name}"))

    def noise(self, client: int, turn: int, k: int, at: GramVector) -> GramVector:
        """The noise of a client at step k."""
        return self.drawn("n", client, k) if self.noisy else NOTHING

    def coder(self) -> Coder:
        """S_m, time after time."""
        calls = count()

        def code(messages: Sequence[GramVector]) -> Sequence[GramVector]:
            k = next(calls)
            return [m + self.drawn("e", i, k) for i, m in enumerate(messages)] if k else messages  # S(0) = 0

        return code


def _assumed(s: quantities.StepInRound, drawn: SignOutcome, q: Fraction) -> Iterator[tuple[str, QuadraticForm]]:
    """What the assumptions say of the vectors of noise and binarisation, as forms >= 0."""
    given, coded = drawn.given, s.trace.coded

    def size(client: int, k: int) -> Iterator[tuple[str, QuadraticForm]]:
        if Property.BINARISATION in given and k:
            name = drawn.name("e", client, k)
            yield f"size of {name}", coded[k][0][client].square * q**2 - vector(name).square

    for client, turn in enumerate(s.trace.turns):
        for step in turn:
            yield from size(client, step.k)
            largest = step.gradient.square
            if drawn.noisy:
                name = drawn.name("n", client, step.k)
                largest += vector(name).square
                if Property.VARIANCE in given:
                    yield f"variance of {name}", scenes.squared(*given[Property.VARIANCE]) - vector(name).square
            if Property.BOUNDED_GRADIENT in given:
                yield (
                    f"size of {client} at {sorted(step.x.parts.items())}",
                    scenes.squared(*given[Property.BOUNDED_GRADIENT]) - largest,
                )
        yield from size(client, len(turn))


_SINGLE: Mapping[str, quantities.OfStep] = {
    **{name: quantities.OF_STEP[name] for name in ("F_bar", "F_v")},
    "F_bar_next": quantities.AFTER["F_bar_next"],  # the points are asked in this order, which names them
    **quantities.OF_STAR, **quantities.OF_LOWEST, **quantities.OF_SYNCHRONISATION, **quantities.OF_SAMPLE,
    **quantities.OF_STEP, **quantities.AFTER,
    **{name: partial(of, i=0) for name, of in quantities.OF_CLIENTS.items()},  # the clients are alike
}  # fmt: skip


def scenes_of(statement: Statement, at: scenes.Numbers) -> list[scenes.Scene]:
    """The step of a statement."""
    given = catalogue.properties(statement)
    clients, before, sampled = int(at[s.N]), int(at[s.t] - at[s.t_0]), int(at[s.K])
    eta, q, of = scenes.exact(s.eta_t, at), scenes.exact(s.q, at), scenes.FunctionClass.of(given, at)
    _, functions = federation(clients, stationary=True)
    assumed: dict[str, QuadraticForm] = {}
    outcomes: list[quantities.StepInRound] = []
    rates = (eta,) * (before + 1)
    for drawn in SignOutcome.every(given, at[s.sigma] != 0, before, clients):
        samples = {
            some: trace(Scheduled(before + 1, 1.0, sampled, schedule=rates), functions, vector("w"), NOTHING, eta, some,
                        drawn.noise, number=0, coder=drawn.coder())
            for some in combinations(range(clients), sampled)
        }  # fmt: skip
        lowest = [number(f"f{k}*") for k in range(clients)]
        outcomes.append(
            quantities.steps_of(EnumeratedRound(samples, int(at[s.tau]), rates, drawn.noise, NOTHING, lowest))[-1]
        )
        assumed |= _assumed(outcomes[-1], drawn, q)
    names = {symbol.name: symbol for symbol in statement.symbols}
    means: dict[sympy.Expr, QuadraticForm] = {
        names[name]: mean(map(quantity, outcomes)) for name, quantity in _SINGLE.items() if name in names
    }
    means |= {s.sigma**2: number("sigma^2"), s.G**2: number("G^2")}
    conditions = {"sigma^2 >= 0": number("sigma^2"), "G^2 >= 0": number("G^2"), **assumed}
    return [scenes.Scene(means, conditions | _lowest(functions, of, means) | of_class(functions, of), functions)]


def _lowest(
    functions: Sequence[scenes.Oracle], of: scenes.FunctionClass, means: Mapping[sympy.Expr, QuadraticForm]
) -> dict[str, QuadraticForm]:
    """What the clients' minima are: at a minimiser of a convex function, else below all values."""
    used = {name for form in means.values() for name in form.numbers}
    found: dict[str, QuadraticForm] = {}
    for k, function in enumerate(functions):
        if f"f{k}*" not in used:
            continue
        if of.mu is not None:
            function.put(vector(f"w{k}*"), NOTHING, number(f"f{k}*"))
            continue
        found |= scenes.bounded_below(function.points.values(), number(f"f{k}*"), of, f"f{k}*")
    return found


def complete(statement: Statement, given: Mapping[str, Fraction]) -> scenes.Numbers:
    """The symbols' values: the learning rate is constant, K = N, with noise, at the round's last step unless told."""
    scenes.fitting(statement, given, ("N", "tau", "L", "q"), ("eta", "eta_t"), ("K", "mu", "before"))
    numbers = {"K": given["N"], "mu": Fraction(0), "before": given["tau"] - 1} | dict(given)
    count, sampled, tau, before = (numbers[name] for name in ("N", "K", "tau", "before"))
    counts = {"N": count, "K": sampled, "tau": tau, "before": before + 1}
    for name, value in counts.items():
        if value.denominator != 1 or value < 1:
            raise ValueError(f"{statement.id}: {name} = {numbers[name]}: expected a whole number")
    rate, L, mu = given["eta" if "eta" in given else "eta_t"], given["L"], numbers["mu"]
    if sampled > count or before >= tau or min(rate, L) <= 0 or given["q"] < 0 or not 0 <= mu < L:
        raise ValueError(f"{statement.id}: expected K <= N, before < tau, eta > 0, L > 0, q >= 0 and 0 <= mu < L")
    outcomes = scenes.tosses(count * (1 + before + (before + 1) * ("sigma" not in given)))
    scenes.enumerable(statement, "outcomes of the noise and the binarisation", outcomes, _MOST)
    at = {
        s.N: count, s.K: sampled, s.tau: tau, s.t: before, s.t_0: Fraction(0), s.L: L, s.mu: mu, s.q: given["q"],
        s.p_sq: 1 / count, s.eta: rate, s.eta_t: rate, s.eta_start: rate, s.eta_later: rate,
    }  # fmt: skip
    return {symbol: rational(value) for symbol, value in at.items()} | {
        s.sigma: sympy.S.Zero if "sigma" in given else s.sigma
    }


_MOST = 64


def tried(statement: Statement, full: bool) -> list[dict[str, Fraction]]:
    """Two clients: with a step each and noise, all of them or one; with two steps and binarisation.  In full, more."""
    used = {x.name for x in statement.symbols}
    common = {"L": Fraction(1), "q": Fraction(1, 2)} | ({"mu": Fraction(1, 10)} if "mu" in used else {})
    counts = [(2, 2, 1, True), (2, 1, 1, True), (2, 2, 2, False)]
    if "F_bar_next" in used:  # each outcome is another point
        counts = [(2, 2, 1, False), (2, 1, 1, False), (1, 1, 1, True), (1, 1, 2, False)]
    counts += [(3, 2, 1, False), (2, 1, 2, False)] if full else []
    return numbers_of(("N", "K", "tau"), [one for one in counts if one[0] == one[1] or "K" in used], common)


ROUNDS = scenes.PaperScenes(
    NAMES, complete, scenes_of, "eta_t", tried, "noise and binarisation of two values, equal shares, a constant rate"
)
