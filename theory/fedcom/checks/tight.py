"""Rounds of FedCOM and FedCOMGATE in vectors: worst cases of the lemmas about one round.

Noise and compressors have two equally likely values: Q(x) = x + e or x - e, for any vector e with ||e||^2 <= q ||x||^2.
FedCOM's clients have the same function.  The gradient trackings of FedCOMGATE are any vectors of mean zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import sympy

from theory import catalogue
from theory.fedcom import symbols as s
from theory.proofs.gram import NOTHING, Quadratic, Vector, mean, number, summed, total, vector
from theory.proofs.scenes import (
    Function,
    FunctionClass,
    Numbers,
    Point,
    Rounds,
    Scene,
    enumerable,
    exact,
    fitting,
    mean_of,
    squared,
    tosses,
)
from theory.properties import Properties, Property
from theory.statement import Statement

# Lemmas D2 and E2 as printed list too little about noise and clients: only their corrected forms are here
FEDCOM = (
    "lemmaD1", "lemmaD1.proof", "lemmaD1.corrected", "lemmaD1.corrected.sharp", "lemmaD2.corrected", "lemmaD3",
    "lemmaD3.corrected", "lemmaD3.summed", "lemmaD3.summed.sharp",
)  # fmt: skip
FEDCOMGATE = ("lemmaE1", "lemmaE1.corrected", "lemmaE2.corrected", "lemmaE7.corrected")


@dataclass(frozen=True)
class Client:
    """A client's round, in one outcome of its noise.

    points   w_j^(c), with the gradients there
    moved    the sum of its stochastic gradients
    message  what it compresses
    """

    points: tuple[Point, ...]
    moved: Vector
    message: Vector


@dataclass
class Setting:
    """A round in numbers; `assumed` collects what the assumptions say of noise and compressors."""

    clients: Sequence[Function]
    given: Properties
    tau: int
    eta: Fraction
    q: Fraction
    noisy: bool
    tracked: bool
    assumed: dict[str, Quadratic] = field(default_factory=dict)

    def tracking(self, j: int) -> Vector:
        """delta_j."""
        if not self.tracked:
            return NOTHING
        own = [vector(f"d{i}") for i in range(len(self.clients) - 1)]
        return [*own, -total(own)][j]

    def outcomes(self) -> list[tuple[Client, ...]]:
        """The clients, in all outcomes of the noise, with equal chances."""
        count = len(self.clients)
        apart = Property.INDEPENDENT_NOISE in self.given
        names = [(j if apart else 0, c) for j in range(count if apart else 1) for c in range(self.tau)] * self.noisy
        found = []
        for signs in product((1, -1), repeat=len(names)):
            at = dict(zip(names, signs, strict=True))
            own = [[at[j if apart else 0, c] for c in range(self.tau)] if self.noisy else [] for j in range(count)]
            found.append(tuple(self._client(j, own[j]) for j in range(count)))
        return found

    def _client(self, j: int, signs: Sequence[int]) -> Client:
        w, points, moved = vector("w"), [], NOTHING
        for c in range(self.tau):
            points.append(self.clients[j].at(w))
            step = points[-1].gradient
            if self.noisy:
                name = f"n({j}:{''.join('+' if sign > 0 else '-' for sign in signs[:c])})"
                bias = NOTHING if Property.UNBIASED in self.given else vector(f"bias {name}")
                step = step + vector(name) * signs[c] + bias
                if Property.VARIANCE in self.given:
                    self.assumed[f"variance of {name}"] = squared(*self.given[Property.VARIANCE]) - vector(name).square
            moved = moved + step
            w = w - (step - self.tracking(j)) * self.eta
        return Client(tuple(points), moved, moved - self.tracking(j) * self.tau)

    def received(self, outcomes: Sequence[tuple[Client, ...]]) -> Quadratic:
        """E||(1/m) sum_j Q(message)||^2, and in `assumed` what that of the compressors demands."""
        return mean(self._received(i, clients) for i, clients in enumerate(outcomes))

    def _received(self, outcome: int, clients: Sequence[Client]) -> Quadratic:
        count = len(clients)

        def compressed(name: str, v: Vector) -> Vector:
            if Property.COMPRESSOR in self.given:
                self.assumed[f"size of {name}"] = v.square * self.q - vector(name).square
                return vector(name)
            return vector(name) + vector(f"bias {name}")

        errors = [compressed(f"e({j}:{outcome})", c.message) for j, c in enumerate(clients)]
        plain = total(c.message for c in clients) / count
        apart = Property.INDEPENDENT_COMPRESSORS in self.given
        coins = product((1, -1), repeat=count) if apart else ((sign,) * count for sign in (1, -1))
        found = mean((plain + total(e * z for e, z in zip(errors, own, strict=True)) / count).square for own in coins)
        if Property.COMPRESSION_DRIFT in self.given:
            error = compressed(f"e(mean:{outcome})", plain)
            of_mean = mean((plain + error * sign).square for sign in (1, -1))
            self.assumed[f"compression drift {outcome}"] = number("G_q") - found + of_mean
        return found


def scenes(statement: Statement, at: Numbers) -> list[Scene]:
    """The round of a statement; for a statement about a local step one scene for each of them."""
    given = catalogue.properties(statement)
    count, tracked = int(at[s.m]), statement.id.removeprefix("fedcom.") in FEDCOMGATE
    alike = Property.HOMOGENEOUS in given
    functions = [Function("")] if alike else [Function(f"{j}.") for j in range(count)]
    clients = functions * count if alike else functions
    setting = Setting(
        clients, given, int(at[s.tau]), exact(s.eta, at), exact(s.q, at), at[s.sigma] != 0, tracked=tracked
    )
    outcomes = setting.outcomes()
    means = _means(statement, setting, outcomes)
    conditions = {"sigma^2 >= 0": number("sigma^2"), "G_q >= 0": number("G_q"), **setting.assumed}
    of = FunctionClass.of(given, at)
    conditions |= {name: form for f in functions for name, form in f.conditions(of).items()}
    if s.drift not in statement.symbols:
        return [Scene(means, conditions, functions)]
    start = vector("w")
    drifts = [mean((own[0].points[c].x - start).square for own in outcomes) for c in range(setting.tau)]
    return [
        Scene(means | {s.drift: form}, conditions, functions, place={s.c: sympy.Integer(c)})
        for c, form in enumerate(drifts)
    ]


def _means(
    statement: Statement, setting: Setting, outcomes: Sequence[tuple[Client, ...]]
) -> dict[sympy.Expr, Quadratic]:
    """The quantities of a round that the statement is about, and the squares of the constants."""
    start, count, clients = vector("w"), len(setting.clients), setting.clients
    here = mean_of(clients, start)

    def over(form: Callable[[Sequence[Client]], Quadratic]) -> Callable[[], Quadratic]:
        return lambda: mean(map(form, outcomes))

    def each(form: Callable[[Point], Quadratic]) -> Callable[[], Quadratic]:
        """E of the mean over the clients of the sum over the local steps."""
        return over(lambda own: summed(form(p) for c in own for p in c.points) / count)

    def steps(form: Callable[[Sequence[Point]], Quadratic]) -> Callable[[], Quadratic]:
        """E of the sum over the local steps of a form in all clients' points."""
        return over(lambda own: summed(form([c.points[i] for c in own]) for i in range(setting.tau)))

    def apart(j: int) -> Vector:
        """The error of the gradient tracking."""
        return setting.tracking(j) - clients[j].at(start).gradient + here.gradient

    found: dict[sympy.Symbol, Callable[[], Quadratic]] = {
        s.message_sq: lambda: setting.received(outcomes),
        s.tracked_message_sq: lambda: setting.received(outcomes),
        s.grad_sq: lambda: here.gradient.square,
        s.inner: over(lambda own: here.gradient @ (total(c.moved for c in own) / count)),
        s.grad_sq_sum: over(lambda own: summed(p.gradient.square for p in own[0].points)),
        s.grad_sq_sum_mean: each(lambda p: p.gradient.square),
        s.mean_grad_sq_sum: steps(lambda points: (total(p.gradient for p in points) / count).square),
        s.drift_mean: each(lambda p: (p.x - start).square),
        s.tracking_sq: lambda: mean(apart(j).square for j in range(count)),
    }
    constants = {s.sigma**2: number("sigma^2"), s.G_q: number("G_q")}
    return {symbol: make() for symbol, make in found.items() if symbol in statement.symbols} | constants


def complete(statement: Statement, given: Mapping[str, Fraction]) -> Numbers:
    """The symbols' values; with noise unless told.

    Raises ValueError for missing or unknown names, and for numbers outside the domains.
    """
    fitting(statement, given, ("m", "tau", "L", "q"), ("eta",), ())
    for name in ("m", "tau"):
        if given[name].denominator != 1 or given[name] < 1:
            raise ValueError(f"{statement.id}: {name} = {given[name]}: expected a whole number >= 1")
    if min(given["L"], given["eta"]) <= 0 or given["q"] < 0:
        raise ValueError(f"{statement.id}: expected L > 0, eta > 0 and q >= 0")
    steps = given["m"] * given["tau"]
    enumerable(statement, "local steps", steps, _MOST)
    enumerable(statement, "outcomes of the compressors", tosses(given["m"]), _MOST**2)
    outcomes = 1 if "sigma" in given else tosses(steps)
    enumerable(statement, "local steps in all outcomes of the noise", outcomes * given["tau"], _MOST)
    symbols = {one.name: one for one in (s.m, s.tau, s.L, s.q, s.eta)}
    at = {symbols[n]: sympy.Rational(v.numerator, v.denominator) for n, v in given.items() if n in symbols}
    return at | {s.sigma: sympy.S.Zero if "sigma" in given else s.sigma}


_MOST = 64


def tried(statement: Statement, full: bool) -> list[dict[str, Fraction]]:
    """Two clients with a step each and with two, with noise; with two steps without.  In full, three."""
    common = {"L": Fraction(1), "q": Fraction(1)}
    counts = [(2, 1, True), (2, 2, True), (2, 2, False)] + ([(3, 2, False), (2, 3, False)] if full else [])
    return [
        {"m": Fraction(m), "tau": Fraction(tau)} | common | ({} if noisy else {"sigma": Fraction(0)})
        for m, tau, noisy in counts
    ]


ROUNDS = Rounds((*FEDCOM, *FEDCOMGATE), complete, scenes, "eta", tried, "noise and compressors of two values")
