"""Steps of the recursion that the FedBAT paper analyses, in vectors: worst cases of its lemmas.

A round starts at w_0; t - t_0 steps have been taken before the step that a statement is about.  Binarisation and noise
have two equally likely values: S_m(v) = v + e or v - e, for any vector e that Assumption 5 allows.  All clients have equal
shares; w* is 0, where the clients' gradients sum to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product

import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat import symbols as s
from fedtheory.theory.proofs.gram import NOTHING, Quadratic, Vector, mean, number, summed, total, vector
from fedtheory.theory.proofs.scenes import (
    Function,
    FunctionClass,
    Numbers,
    Point,
    Rounds,
    Scene,
    bounded_below,
    enumerable,
    exact,
    fitting,
    mean_of,
    squared,
    tosses,
)
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
class Client:
    """A client at the step, in one outcome of its binarisation and noise.

    w, x    w_t^k and x_t^k
    point   F_k at x_t^k
    g, v    the stochastic gradient there, and v_{t+1}^k
    sent    S_m(v_{t+1}^k)
    steps   eta_s times the stochastic gradients of the round's steps before
    """

    function: Function
    w: Vector
    point: Point
    g: Vector
    v: Vector
    sent: Vector
    steps: tuple[Vector, ...]

    @property
    def x(self) -> Vector:
        """x_t^k."""
        return self.point.x


@dataclass
class Setting:
    """A step in numbers; `assumed` collects what the assumptions say of the vectors of noise and binarisation."""

    given: Properties
    eta: Fraction
    q: Fraction
    before: int
    tau: int
    noisy: bool
    functions: Sequence[Function]
    assumed: dict[str, Quadratic] = field(default_factory=dict)

    def outcomes(self) -> list[tuple[Client, ...]]:
        """The clients in all outcomes, with equal chances."""
        apart = {"e": Property.INDEPENDENT_COMPRESSORS in self.given, "n": Property.INDEPENDENT_NOISE in self.given}
        kinds = (["n"] * self.noisy + (["e", "n"] if self.noisy else ["e"]) * self.before) + ["e"]
        clients = range(len(self.functions))
        free = [[(0 if not apart[kind] else k, i) for i, kind in enumerate(kinds)] for k in clients]
        names = sorted({name for own in free for name in own})
        found = []
        for signs in product((1, -1), repeat=len(names)):
            at = dict(zip(names, signs, strict=True))
            found.append(tuple(self._client(k, kinds, [at[name] for name in free[k]]) for k in clients))
        return found

    def _client(self, k: int, kinds: Sequence[str], signs: Sequence[int]) -> Client:
        """Client k, with the signs of its noise and binarisation one after another."""
        coins = iter(enumerate(signs))

        def drawn(kind: str) -> tuple[str, Vector]:
            """A vector of mean zero, if that is assumed, which may depend on the client's signs so far."""
            i, sign = next(coins)
            assert kinds[i] == kind
            name = f"{kind}({k}:{''.join('+' if one > 0 else '-' for one in signs[:i])})"
            centred = Property.UNBIASED if kind == "n" else Property.UNBIASED_BINARISATION
            return name, vector(name) * sign + (NOTHING if centred in self.given else vector(f"bias {name}"))

        function, start = self.functions[k], vector("w")
        w, steps = start, []
        for j in range(self.before + 1):
            x = self._binarised(w, start, drawn) if j else w  # there is no update yet, and S(0) = 0
            point = function.at(x)
            g = point.gradient
            size = g.square
            if self.noisy:
                name, noise = drawn("n")
                g, size = g + noise, size + vector(name).square
                if Property.VARIANCE in self.given:
                    self.assumed[f"variance of {name}"] = squared(*self.given[Property.VARIANCE]) - vector(name).square
            if Property.BOUNDED_GRADIENT in self.given:
                self.assumed[f"size of {k} at {sorted(x.parts.items())}"] = (
                    squared(*self.given[Property.BOUNDED_GRADIENT]) - size
                )
            steps.append(g * self.eta)
            if j < self.before:
                w = w - steps[-1]
        v = w - steps[-1]
        return Client(function, w, point, g, v, self._binarised(v, start, drawn), tuple(steps[:-1]))

    def _binarised(self, v: Vector, start: Vector, drawn: Callable[[str], tuple[str, Vector]]) -> Vector:
        name, error = drawn("e")
        if Property.BINARISATION in self.given:
            self.assumed[f"size of {name}"] = (v - start).square * self.q**2 - vector(name).square
        return v + error


def scenes(statement: Statement, at: Numbers) -> list[Scene]:
    """The step of a statement."""
    given = catalogue.properties(statement)
    count, before = int(at[s.N]), int(at[s.t] - at[s.t_0])
    functions = [Function(f"{k}.") for k in range(count)]
    slopes = [vector(f"g{k}*") for k in range(count - 1)]
    for function, slope in zip(functions, [*slopes, -total(slopes)], strict=True):
        function.put(NOTHING, slope)
    setting = Setting(given, exact(s.eta_t, at), exact(s.q, at), before, int(at[s.tau]), at[s.sigma] != 0, functions)
    outcomes = setting.outcomes()
    means = _means(statement, setting, outcomes, int(at[s.K]))
    of = FunctionClass.of(given, at)
    conditions = {"sigma^2 >= 0": number("sigma^2"), "G^2 >= 0": number("G^2"), **setting.assumed}
    conditions |= _lowest(functions, of, means)
    conditions |= {name: form for f in functions for name, form in f.conditions(of).items()}
    return [Scene(means, conditions, functions)]


def _own(k: int) -> Quadratic:
    """F_k^*."""
    return number(f"f{k}*")


def _lowest(
    functions: Sequence[Function], of: FunctionClass, means: Mapping[sympy.Expr, Quadratic]
) -> dict[str, Quadratic]:
    """What the clients' minima are: at a minimiser of a convex function, else below all values."""
    used = {name for form in means.values() for name in form.numbers}
    found: dict[str, Quadratic] = {}
    for k, function in enumerate(functions):
        if f"f{k}*" not in used:
            continue
        if of.mu is not None:
            function.put(vector(f"w{k}*"), NOTHING, _own(k))
            continue
        found |= bounded_below(function.points.values(), _own(k), of, f"f{k}*")
    return found


def _means(
    statement: Statement, setting: Setting, outcomes: Sequence[tuple[Client, ...]], sampled: int
) -> dict[sympy.Expr, Quadratic]:
    """The quantities of a step that the statement is about, and the squares of the constants."""
    functions, start, eta = setting.functions, vector("w"), setting.eta
    count = len(functions)

    def over(form: Callable[[tuple[Client, ...]], Quadratic]) -> Callable[[], Quadratic]:
        return lambda: mean(map(form, outcomes))

    def every(form: Callable[[Client], Quadratic]) -> Callable[[], Quadratic]:
        return over(lambda clients: mean(map(form, clients)))

    def bar(of: Callable[[Client], Vector]) -> Callable[[tuple[Client, ...]], Vector]:
        return lambda clients: total(map(of, clients)) / count

    def at_bar(clients: tuple[Client, ...]) -> Point:
        return mean_of(functions, w(clients))

    def next_ones(clients: tuple[Client, ...]) -> list[Vector]:
        """The next model, in all samples of the clients."""
        if setting.before + 1 < setting.tau:
            return [v(clients)]
        return [total(c.sent for c in some) / sampled for some in combinations(clients, sampled)]

    def onward(form: Callable[[Vector, tuple[Client, ...]], Quadratic]) -> Callable[[], Quadratic]:
        return over(lambda clients: mean(form(w_next, clients) for w_next in next_ones(clients)))

    def samples(form: Callable[[Sequence[Client]], Quadratic]) -> Callable[[], Quadratic]:
        return over(lambda clients: mean(form(some) for some in combinations(clients, sampled)))

    w, v, g, local = bar(lambda c: c.w), bar(lambda c: c.v), bar(lambda c: c.g), bar(lambda c: c.point.gradient)
    star = summed(f.at(NOTHING).value for f in functions) / count
    own = summed(_own(k) for k in range(count)) / count
    values = over(lambda clients: summed(c.point.value for c in clients) / count)
    one = [clients[0] for clients in outcomes]  # the clients are alike
    found: dict[sympy.Symbol, Callable[[], Quadratic]] = {
        s.F_bar: over(lambda c: at_bar(c).value),
        s.F_v: over(lambda c: mean_of(functions, v(c)).value),
        s.F_bar_next: onward(lambda w_next, _: mean_of(functions, w_next).value),
        s.gap_t: lambda: mean(at_bar(c).value for c in outcomes) - star,
        s.Gamma: lambda: star - own,
        s.local_gap: lambda: values() - own,
        s.local_gap_bar: lambda: mean(at_bar(c).value for c in outcomes) - own,
        s.global_gap: lambda: values() - star,
        s.star_gap: lambda: values() - star,
        s.star_own: lambda: star - own,
        s.Delta_t: over(lambda c: w(c).square),
        s.Delta_next: onward(lambda w_next, _: w_next.square),
        s.v_dist: over(lambda c: v(c).square),
        s.A_1: over(lambda c: (w(c) - local(c) * eta).square),
        s.x_star_sq: every(lambda c: c.x.square),
        s.spread_x: over(lambda clients: mean((w(clients) - c.x).square for c in clients)),
        s.spread_w: over(lambda clients: mean((w(clients) - c.w).square for c in clients)),
        s.binarised_sq: every(lambda c: (c.w - c.x).square),
        s.moved_sq: every(lambda c: (c.w - start).square),
        s.moved_k_sq: lambda: mean((c.w - start).square for c in one),
        s.steps_sum: lambda: mean(total(c.steps).square for c in one),
        s.steps_sq: lambda: mean(summed(u.square for u in c.steps) for c in one),
        s.steps_mean: lambda: (
            mean(summed(u.square for u in c.steps) for cs in outcomes for c in cs) * (setting.tau - 1)
        ),
        s.jump_sq: onward(lambda w_next, clients: (w_next - v(clients)).square),
        s.jump_parts: over(lambda clients: summed((c.sent - c.v).square for c in clients) / count**2),
        s.v_moved: over(lambda clients: summed((c.v - start).square for c in clients) / count**2),
        s.v_spread: over(lambda clients: summed((c.v - v(clients)).square for c in clients)),
        s.A_bin: samples(lambda some: (total(c.sent - c.v for c in some) / sampled).square),
        s.A_1_parts: samples(lambda some: summed((c.sent - c.v).square for c in some) / sampled**2),
        s.A_2: over(
            lambda clients: mean(
                (total(c.v for c in some) / sampled - v(clients)).square for some in combinations(clients, sampled)
            )
        ),
        s.noise_sq: over(lambda c: (g(c) - local(c)).square),
        s.gbar_sq: over(lambda c: local(c).square),
        s.g_sq: over(lambda c: g(c).square),
        s.grads_x_sq: every(lambda c: c.point.gradient.square),
        s.grads_bar_sq: over(lambda clients: mean(c.function.at(w(clients)).gradient.square for c in clients)),
        s.grad_sq: over(lambda c: at_bar(c).gradient.square),
        s.apart_sq: over(lambda c: (at_bar(c).gradient - g(c)).square),
        s.apart_bar_sq: over(lambda c: (at_bar(c).gradient - local(c)).square),
        s.inner_star: over(lambda c: w(c) @ local(c)),
        s.inner_move: over(lambda clients: mean((w(clients) - c.x) @ c.point.gradient for c in clients)),
        s.inner_down: every(lambda c: c.x @ c.point.gradient),
        s.inner_bar: over(lambda cs: mean(c.function.at(w(cs)).gradient @ (c.x - w(cs)) for c in cs)),
        s.inner_grad: over(lambda c: at_bar(c).gradient @ g(c)),
    }
    constants = {s.sigma**2: number("sigma^2"), s.G**2: number("G^2")}
    return {symbol: make() for symbol, make in found.items() if symbol in statement.symbols} | constants


def complete(statement: Statement, given: Mapping[str, Fraction]) -> Numbers:
    """The symbols' values: the learning rate is constant, K = N, with noise, at the round's last step unless told.

    Raises ValueError for missing or unknown names, and for numbers outside the domains.
    """
    fitting(statement, given, ("N", "tau", "L", "q"), ("eta", "eta_t"), ("K", "mu", "before"))
    numbers = {"K": given["N"], "mu": Fraction(0), "before": given["tau"] - 1} | dict(given)
    count, sampled, tau, before = (numbers[name] for name in ("N", "K", "tau", "before"))
    counts = {"N": count, "K": sampled, "tau": tau, "before": before + 1}
    for name, value in counts.items():
        if value.denominator != 1 or value < 1:
            raise ValueError(f"{statement.id}: {name} = {numbers[name]}: expected a whole number")
    rate, L, mu = given["eta" if "eta" in given else "eta_t"], given["L"], numbers["mu"]
    if sampled > count or before >= tau or min(rate, L) <= 0 or given["q"] < 0 or not 0 <= mu < L:
        raise ValueError(f"{statement.id}: expected K <= N, before < tau, eta > 0, L > 0, q >= 0 and 0 <= mu < L")
    outcomes = tosses(count * (1 + before + (before + 1) * ("sigma" not in given)))
    enumerable(statement, "outcomes of the noise and the binarisation", outcomes, _MOST)
    at = {
        s.N: count, s.K: sampled, s.tau: tau, s.t: before, s.t_0: Fraction(0), s.L: L, s.mu: mu, s.q: given["q"],
        s.p_sq: 1 / count, s.eta: rate, s.eta_t: rate, s.eta_start: rate, s.eta_later: rate,
    }  # fmt: skip
    found = {symbol: sympy.Rational(value.numerator, value.denominator) for symbol, value in at.items()}
    return found | {s.sigma: sympy.S.Zero if "sigma" in given else s.sigma}


_MOST = 64


def tried(statement: Statement, full: bool) -> list[dict[str, Fraction]]:
    """Two clients: with a step each and noise, all of them or one; with two steps and binarisation.  In full, more."""
    used = {x.name for x in statement.symbols}
    common = {"L": Fraction(1), "q": Fraction(1, 2)} | ({"mu": Fraction(1, 10)} if "mu" in used else {})
    counts = [(2, 2, 1, True), (2, 1, 1, True), (2, 2, 2, False)]
    if "F_bar_next" in used:  # each outcome is another point
        counts = [(2, 2, 1, False), (2, 1, 1, False), (1, 1, 1, True), (1, 1, 2, False)]
    counts += [(3, 2, 1, False), (2, 1, 2, False)] if full else []
    names = ("N", "K", "tau")
    return [
        {name: Fraction(n) for name, n in zip(names, (N, K, tau), strict=True)}
        | common
        | ({} if noise else {"sigma": Fraction(0)})
        for N, K, tau, noise in counts
        if K == N or "K" in used
    ]


ROUNDS = Rounds(
    NAMES, complete, scenes, "eta_t", tried, "noise and binarisation of two values, equal shares, a constant rate"
)
