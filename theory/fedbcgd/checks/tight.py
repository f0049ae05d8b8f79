"""Rounds of FedBCGD and FedBCGD+ with one block of coordinates, in vectors: worst cases of the lemmas about one round.

A round starts at any x and any momentum v, with any control variates; x* is 0, where the clients' gradients sum to zero.
Noise has two equally likely values.  The rounds of FedBCGD+ are without noise: its noise cancels where mini-batches are
smooth.  Assumption 4, and that x* is a minimiser of a function that is not convex, are about all points: here they are
conditions at the points of the round, and clients whose gradients differ by constants satisfy them everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from math import comb

import sympy

from theory import catalogue
from theory.fedbcgd import symbols as s
from theory.proofs.gram import NOTHING, Quadratic, Vector, mean, number, summed, total, vector
from theory.proofs.scenes import (
    Function,
    FunctionClass,
    Numbers,
    Point,
    Rounds,
    Scene,
    Tilted,
    bounded_below,
    enumerable,
    exact,
    fitting,
    known_by_all,
    mean_of,
    squared,
    tosses,
)
from theory.properties import Properties, Property
from theory.statement import Statement

SAMPLING = ("lemma4.part1", "lemma4.part1.corrected", "lemma4.part2", "lemma4.lhs", "lemma4.lhs_blocks")
FEDBCGD = (
    "lemma2", "lemma5", "lemma5.corrected", "lemma6", "lemma6.corrected", "thm1.step46.corrected", "thm1.step47.corrected",
    "thm1.step48", "thm1.step48.corrected", "thm1.step48.exact", "thm1.step50.corrected", "thm1.step50.corrected.sharp",
    "thm1.step50.corrected.sharp.general_convex", "thm1.step56.corrected", "thm1.step59.corrected", "thm1.step61",
    "thm1.step61.corrected",
)  # fmt: skip
FEDBCGD_PLUS = (
    "thm2.step76", "lemma11.corrected", "lemma11.nonconvex", "lemma12.corrected", "lemma13.corrected", "lemma14.corrected",
    "lemma15.corrected", "lemma16.corrected", "lemma17.corrected", "lemma18.corrected",
)  # fmt: skip
_STEPS_GRADIENTS = ("lemma6", "lemma6.corrected")  # where grad_sq is a sum over clients and local steps


@dataclass(frozen=True)
class Client:
    """A client's round, in one outcome of its noise.

    points  y_i^{r,t}, with the gradients there
    sent    the sum of the directions of its steps
    """

    function: Function | Tilted
    points: tuple[Point, ...]
    sent: Vector


@dataclass
class Setting:
    """A round in numbers; `assumed` collects what the assumptions say of the noise."""

    clients: Sequence[Function | Tilted]
    given: Properties
    T: int
    K: int
    eta: Fraction
    lam: Fraction
    noisy: bool
    plus: bool
    assumed: dict[str, Quadratic] = field(default_factory=dict)

    @property
    def x(self) -> Vector:
        """The model."""
        return vector("x")

    @property
    def z(self) -> Vector:
        """The auxiliary iterate."""
        return self.x + vector("v") * (self.lam / (1 - self.lam))

    def variate(self, i: int) -> Vector:
        """c_i."""
        return vector(f"c{i}")

    @property
    def server(self) -> Vector:
        """c."""
        count = len(self.clients)
        starts = Property.INITIAL_VARIATES in self.given
        return total(map(self.variate, range(count))) / count if starts else vector("c")

    def outcomes(self) -> list[tuple[Client, ...]]:
        """All clients, in all outcomes of the noise, with equal chances."""
        count = len(self.clients)
        apart = Property.INDEPENDENT_NOISE in self.given
        names = [(k if apart else 0, t) for k in range(count if apart else 1) for t in range(self.T)] * self.noisy
        found = []
        for signs in product((1, -1), repeat=len(names)):
            at = dict(zip(names, signs, strict=True))
            own = [[at[k if apart else 0, t] for t in range(self.T)] if self.noisy else [] for k in range(count)]
            found.append(tuple(self._client(k, own[k]) for k in range(count)))
        return found

    def _client(self, k: int, signs: Sequence[int]) -> Client:
        y, points, sent = self.x, [], NOTHING
        shift = self.server - self.variate(k) if self.plus else NOTHING
        for t in range(self.T):
            points.append(self.clients[k].at(y))
            step = points[-1].gradient + shift
            if self.noisy:
                name = f"n({k}:{''.join('+' if sign > 0 else '-' for sign in signs[:t])})"
                bias = NOTHING if Property.UNBIASED in self.given else vector(f"bias {name}")
                step = step + vector(name) * signs[t] + bias
                if Property.VARIANCE in self.given:
                    self.assumed[f"variance of {name}"] = squared(*self.given[Property.VARIANCE]) - vector(name).square
            y, sent = y - step * self.eta, sent + step
        return Client(self.clients[k], tuple(points), sent)


def scenes(statement: Statement, at: Numbers) -> list[Scene]:
    """The round of a statement."""
    given = catalogue.properties(statement)
    found = _scene(statement, at, given, tilted=False)
    if Property.DISSIMILARITY in given or Property.CONVEX not in given:
        found = replace(found, within=_scene(statement, at, given, tilted=True))
    return [found]


def _scene(statement: Statement, at: Numbers, given: Properties, tilted: bool) -> Scene:
    count, plus = int(at[s.M]), statement.id.removeprefix("fedbcgd.") in FEDBCGD_PLUS
    slopes = [vector(f"g{k}*") for k in range(count - 1)]
    slopes.append(-total(slopes))
    functions = [Function("")] if tilted else [Function(f"{k}.") for k in range(count)]
    clients: Sequence[Function | Tilted] = [Tilted(functions[0], one) for one in slopes] if tilted else functions
    for function, slope in zip(functions, [NOTHING] if tilted else slopes, strict=True):
        function.put(NOTHING, slope)
    noisy = at[s.sigma] != 0 and not plus
    setting = Setting(clients, given, int(at[s.T]), int(at[s.K]), exact(s.eta, at), exact(s.lam, at), noisy, plus)
    outcomes = setting.outcomes()
    means = _means(statement, setting, outcomes)
    conditions = {"sigma^2 >= 0": number("sigma^2"), "G^2 >= 0": number("G^2"), **setting.assumed}
    if Property.DISSIMILARITY in given:
        full = mean_of(clients, setting.x).gradient
        apart = mean((client.at(setting.x).gradient - full).square for client in clients)
        conditions["dissimilarity at x"] = squared(*given[Property.DISSIMILARITY]) - apart
    of = FunctionClass.of(given, at)
    if of.mu is None:  # x* is a minimiser of f although the clients are not convex
        least = mean_of(clients, NOTHING).value
        conditions |= bounded_below(known_by_all(clients, functions), least, of, "f(x*)")
    conditions |= {name: form for f in functions for name, form in f.conditions(of).items()}
    return Scene(means, conditions, functions)


def _means(
    statement: Statement, setting: Setting, outcomes: Sequence[tuple[Client, ...]]
) -> dict[sympy.Expr, Quadratic]:
    """The quantities of a round that the statement is about, and the squares of the constants."""
    clients, x, z, v, K = setting.clients, setting.x, setting.z, vector("v"), setting.K
    count, alpha = len(clients), 1 / (1 - setting.lam)
    here, there = mean_of(clients, x), mean_of(clients, z)
    least = mean_of(clients, NOTHING).value
    at_x = [client.at(x).gradient for client in clients]
    at_star = [client.at(NOTHING).gradient for client in clients]
    variates = [setting.variate(k) for k in range(count)]
    groups = list(combinations(range(count), K))

    def every(form: Callable[[Client], Quadratic]) -> Callable[[], Quadratic]:
        """E of the sum over all clients."""
        return lambda: mean(summed(map(form, own)) for own in outcomes)

    def sent(own: Sequence[Client], group: Sequence[int]) -> Vector:
        """G."""
        return total(own[k].sent for k in group) / K

    def server(form: Callable[[Vector], Quadratic]) -> Callable[[], Quadratic]:
        """E of a form in G, over samples and noise."""
        return lambda: mean(form(sent(own, group)) for own in outcomes for group in groups)

    def renewed(form: Callable[[int, Vector, Vector], Quadratic]) -> Callable[[], Quadratic]:
        """E of the mean over all clients of a form in the new control variate and G."""
        return lambda: mean(
            form(k, at_x[k] if k in group else variates[k], sent(own, group))
            for own in outcomes
            for group in groups
            for k in range(count)
        )

    def moved(g: Vector) -> Vector:
        """The momentum a round later."""
        return v * setting.lam - g * setting.eta

    by_steps = statement.id.removeprefix("fedbcgd.") in _STEPS_GRADIENTS
    gradients = every(lambda c: summed(p.gradient.square for p in c.points))
    samples = mean((total(at_x[k] for k in group) / K).square for group in groups)
    found: dict[sympy.Symbol, Callable[[], Quadratic]] = {
        s.gap: lambda: there.value - least,
        s.gap_x: lambda: here.value - least,
        s.gap_x_prev: lambda: mean_of(clients, x - v).value - least,
        s.gap_next: server(lambda g: mean_of(clients, z - g * (alpha * setting.eta)).value - least),
        s.dist_sq: lambda: z.square,
        s.dist_next: server(lambda g: (z - g * (alpha * setting.eta)).square),
        s.zx_sq: lambda: (z - x).square,
        s.v_sq: lambda: v.square,
        s.v_next_sq: server(lambda g: moved(g).square),
        s.grad_sq_x: lambda: here.gradient.square,
        s.mean_grad_sq: lambda: mean(g.square for g in at_x),
        s.grad_sq: gradients if by_steps else lambda: summed(g.square for g in at_x),
        s.sample_sq: lambda: samples,
        s.block_sample_sq: lambda: samples,
        s.drift_x: every(lambda c: summed((p.x - x).square for p in c.points)),
        s.drift_z: every(lambda c: summed((p.x - z).square for p in c.points)),
        s.E_r: lambda: every(lambda c: summed((p.x - z).square for p in c.points))() / (count * setting.T),
        s.local_sum_sq: lambda: mean(total(p.gradient for c in own for p in c.points).square for own in outcomes),
        s.G_sq: server(lambda g: g.square),
        s.inner: server(lambda g: -(g @ z)),
        s.inner_grad: server(lambda g: -(g @ there.gradient)),
        s.C_prev: lambda: mean((c - g).square for c, g in zip(variates, at_star, strict=True)),
        s.C_r: renewed(lambda k, new, _: (new - at_star[k]).square),
        s.lag: lambda: mean((c - g).square for c, g in zip(variates, at_x, strict=True)),
        s.lag_next: renewed(lambda k, new, g: (new - clients[k].at(x + moved(g)).gradient).square),
    }
    constants = {s.sigma**2: number("sigma^2"), s.G**2: number("G^2")}
    return {symbol: make() for symbol, make in found.items() if symbol in statement.symbols} | constants


def complete(statement: Statement, given: Mapping[str, Fraction]) -> Numbers:
    """The symbols' values: one block, no momentum (lam = 0), mu = 0, with noise, unless told.

    Raises ValueError for missing or unknown names, and for numbers outside the domains.
    """
    fitting(statement, given, ("M", "K", "T", "beta"), ("eta", "eta_tilde"), ("lam", "mu"))
    numbers = {"lam": Fraction(0), "mu": Fraction(0)} | dict(given)
    for name in ("M", "K", "T"):
        if numbers[name].denominator != 1 or numbers[name] < 1:
            raise ValueError(f"{statement.id}: {name} = {numbers[name]}: expected a whole number >= 1")
    lam, mu, beta = (numbers[one] for one in ("lam", "mu", "beta"))
    name = "eta" if "eta" in given else "eta_tilde"
    if numbers["K"] > numbers["M"] or not 0 <= lam < 1 or not 0 <= mu < beta or numbers[name] <= 0:
        raise ValueError(f"{statement.id}: expected K <= M, 0 <= lam < 1, 0 <= mu < beta and a step size > 0")
    if statement.id.removeprefix("fedbcgd.") in FEDBCGD_PLUS and numbers["T"] > 1 and "sigma" not in given:
        raise ValueError(
            f"{statement.id}: expected sigma=0 with several steps: then the noise of FedBCGD+ does not cancel"
        )
    steps = numbers["M"] * numbers["T"]
    enumerable(statement, "local steps", steps, _MOST)
    enumerable(statement, "groups of clients", comb(int(numbers["M"]), int(numbers["K"])), _MOST**2)
    outcomes = 1 if "sigma" in given else tosses(steps)
    enumerable(statement, "local steps in all outcomes of the noise", outcomes * numbers["T"], _MOST)
    values = {s.M: numbers["M"], s.K: numbers["K"], s.T: numbers["T"], s.beta: beta, s.lam: lam, s.mu: mu}
    values |= {s.N: Fraction(1), s.S: numbers["K"], s.alpha: 1 / (1 - lam), s.gamma: lam / (1 - lam)}
    at = {symbol: sympy.Rational(value.numerator, value.denominator) for symbol, value in values.items()}
    step = sympy.Rational(numbers[name].numerator, numbers[name].denominator)
    factor = statement.where.get(s.eta_tilde, s.T * s.alpha * s.eta).subs(at) / s.eta
    at |= {s.eta: step, s.eta_tilde: factor * step} if name == "eta" else {s.eta: step / factor, s.eta_tilde: step}
    return at | {s.sigma: sympy.S.Zero if "sigma" in given else s.sigma}


_MOST = 64


def tried(statement: Statement, full: bool) -> list[dict[str, Fraction]]:
    """Two clients: one sampled or both, with a step each and noise; with two steps.  In full, three clients."""
    used = {one.name for one in statement.symbols}
    common = {"beta": Fraction(1)} | ({"mu": Fraction(1, 10)} if "mu" in used else {})
    momentum = {"v_sq", "gamma", "lam", "alpha", "gap_x_prev"} & used
    common |= {"lam": Fraction(1, 2)} if momentum else {}
    counts = [(2, 1, 1, True), (2, 2, 1, True), (2, 1, 2, False), (2, 2, 2, False)]
    given = catalogue.properties(statement)
    if Property.DISSIMILARITY in given and Property.CONVEX not in given:
        counts = counts[:2]  # with two steps a bracket would be wide
    if any(condition.relation == sympy.Eq(s.sigma, 0) for condition in statement.when):
        counts = [(3, 1, 1, False), (3, 2, 1, False)]
    counts += [(3, 1, 1, False), (3, 2, 2, False)] if full else []
    names = ("M", "K", "T")
    return [
        {name: Fraction(n) for name, n in zip(names, (M, K, T), strict=True)}
        | common
        | ({} if noisy else {"sigma": Fraction(0)})
        for M, K, T, noisy in counts
    ]


ROUNDS = Rounds(
    (*SAMPLING, *FEDBCGD, *FEDBCGD_PLUS), complete, scenes, "eta_tilde", tried, "noise of two values, one block"
)
