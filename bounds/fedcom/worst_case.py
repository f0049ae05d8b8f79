"""Rounds of FedCOM and FedCOMGATE in vectors: worst cases of the lemmas about one round.

The rounds are traces of the algorithms' own `round`, and the quantities those of `fedtheory.bounds.fedcom.quantities`.
Noise and compressors have two equally likely values: Q(x) = x + e or x - e, for any vector e with ||e||^2 <= q ||x||^2.
FedCOM's clients have the same function.  The gradient trackings of FedCOMGATE are any vectors of mean zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy

from fedtheory.bounds.fedcom.quantities import OF_CLIENTS, OF_ROUND, drift
from fedtheory.bounds.trials.cases import rational
from fedtheory.bounds.worst_cases import numbers_of, of_class, two_valued, variances
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.exact.trace import Coder, Trace, trace
from fedtheory.theory import catalogue
from fedtheory.theory.fedcom import symbols as s
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import NOTHING, GramVector, QuadraticForm, mean, number, total, vector
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.statement import Statement

# Lemmas D2 and E2 as printed list too little about noise and clients: only their corrected forms are here
FEDCOM = (
    "lemmaD1", "lemmaD1.proof", "lemmaD1.corrected", "lemmaD1.corrected.sharp", "lemmaD2.corrected", "lemmaD3",
    "lemmaD3.corrected", "lemmaD3.summed", "lemmaD3.summed.sharp",
)  # fmt: skip
FEDCOMGATE = ("lemmaE1", "lemmaE1.corrected", "lemmaE2.corrected", "lemmaE7.corrected")
_OF_MESSAGES = {s.message_sq, s.tracked_message_sq}


@dataclass(frozen=True)
class Setting:
    """A round in numbers, and what its statement assumes."""

    clients: Sequence[scenes.Oracle]
    given: Properties
    tau: int
    eta: Fraction
    noisy: bool
    tracked: bool

    def outcomes(self, coded: bool) -> Iterator[list[Trace]]:
        """For each outcome of the noise the traces in all outcomes of the compressors, all with equal chances.

        coded  whether messages are compressed; else there is one trace for each outcome
        """
        count = len(self.clients)
        algorithm = FedCOMGATE(self.tau, 1.0) if self.tracked else FedCOM(self.tau, 1.0)
        own = [vector(f"d{j}") for j in range(count - 1)]
        memory = {"delta": [*own, -total(own)]} if self.tracked else {}
        draws = self.tau * (count if Property.INDEPENDENT_NOISE in self.given else 1) * self.noisy
        coins = list(product((1, -1), repeat=count))
        if Property.INDEPENDENT_COMPRESSORS not in self.given:
            coins = [(sign,) * count for sign in (1, -1)]
        for i, signs in enumerate(product((1, -1), repeat=draws)):
            noise = two_valued(range(count), signs, self.tau, True, self.given)
            yield [
                trace(algorithm, self.clients, vector("w"), NOTHING, self.eta, range(count), noise, memory, coder=coder)
                for coder in ([self._coder(i, coin) for coin in coins] if coded else [None])
            ]

    def _coder(self, outcome: int, coins: Sequence[int]) -> Coder:
        def code(messages: Sequence[GramVector]) -> list[GramVector]:
            return [
                x + _error(f"{j}:{outcome}", self.given, z)
                for j, (x, z) in enumerate(zip(messages, coins, strict=True))
            ]

        return code


def _error(name: str, given: Properties, sign: int) -> GramVector:
    """The error of a compressed message: +e or -e, and any vector more where nothing is said of compressors."""
    bias = NOTHING if Property.COMPRESSOR in given else vector(f"bias e({name})")
    return vector(f"e({name})") * sign + bias


def _of_compressors(outcomes: Sequence[Sequence[Trace]], q: Fraction, given: Properties) -> dict[str, QuadraticForm]:
    """What the assumptions say of compressors, as forms >= 0."""
    messages = {f"{j}:{i}": x for i, traces in enumerate(outcomes) for j, x in enumerate(traces[0].coded[-1][0])}
    found: dict[str, QuadraticForm] = {}
    if Property.COMPRESSION_DRIFT in given:
        for i, traces in enumerate(outcomes):
            name, plain = f"mean:{i}", total(traces[0].coded[-1][0]) / len(traces[0].coded[-1][0])
            messages[name] = plain
            of_mean = mean((plain + _error(name, given, sign)).square for sign in (1, -1))
            found[f"compression drift {i}"] = number("G_q") - mean(map(OF_ROUND["message_sq"], traces)) + of_mean
    if Property.COMPRESSOR in given:
        found |= {f"size of e({name})": x.square * q - vector(f"e({name})").square for name, x in messages.items()}
    return found


def scenes_of(statement: Statement, at: scenes.Numbers) -> list[scenes.Scene]:
    """The round of a statement; for a statement about a local step one scene for each of them."""
    given, count = catalogue.properties(statement), int(at[s.m])
    alike = Property.HOMOGENEOUS in given
    functions = [scenes.Oracle("")] if alike else [scenes.Oracle(f"{j}.") for j in range(count)]
    tracked = statement.id.removeprefix("fedcom.") in FEDCOMGATE
    clients = functions * count if alike else functions
    setting = Setting(clients, given, int(at[s.tau]), scenes.exact(s.eta, at), at[s.sigma] != 0, tracked)
    coded = bool(_OF_MESSAGES & statement.symbols)
    outcomes = list(setting.outcomes(coded))
    every = [t for traces in outcomes for t in traces]
    means: dict[sympy.Expr, QuadraticForm] = {s.sigma**2: number("sigma^2"), s.G_q: number("G_q")}
    for symbol in sorted(statement.symbols, key=str):
        if quantity := OF_ROUND.get(symbol.name):
            means[symbol] = mean(map(quantity, every))
        elif of_client := OF_CLIENTS.get(symbol.name):
            means[symbol] = mean(of_client([t], 0) for t in every)
    conditions = {"sigma^2 >= 0": number("sigma^2"), "G_q >= 0": number("G_q")}
    conditions |= variances(every, given) | (_of_compressors(outcomes, scenes.exact(s.q, at), given) if coded else {})
    conditions |= of_class(functions, scenes.FunctionClass.of(given, at))
    if s.drift not in statement.symbols:
        return [scenes.Scene(means, conditions, functions)]
    drifts = [mean(drift([t], 0, c) for t in every) for c in range(setting.tau)]
    return [
        scenes.Scene(means | {s.drift: form}, conditions, functions, place={s.c: sympy.Integer(c)})
        for c, form in enumerate(drifts)
    ]


def complete(statement: Statement, given: Mapping[str, Fraction]) -> scenes.Numbers:
    """The symbols' values; with noise unless told."""
    scenes.fitting(statement, given, ("m", "tau", "L", "q"), ("eta",), ())
    for name in ("m", "tau"):
        if given[name].denominator != 1 or given[name] < 1:
            raise ValueError(f"{statement.id}: {name} = {given[name]}: expected a whole number >= 1")
    if min(given["L"], given["eta"]) <= 0 or given["q"] < 0:
        raise ValueError(f"{statement.id}: expected L > 0, eta > 0 and q >= 0")
    steps = given["m"] * given["tau"]
    scenes.enumerable(statement, "local steps", steps, _MOST)
    scenes.enumerable(statement, "outcomes of the compressors", scenes.tosses(given["m"]), _MOST**2)
    outcomes = 1 if "sigma" in given else scenes.tosses(steps)
    scenes.enumerable(statement, "local steps in all outcomes of the noise", outcomes * given["tau"], _MOST)
    symbols = {one.name: one for one in (s.m, s.tau, s.L, s.q, s.eta)}
    at = {symbols[name]: rational(value) for name, value in given.items() if name in symbols}
    return at | {s.sigma: sympy.S.Zero if "sigma" in given else s.sigma}


_MOST = 64


def tried(statement: Statement, full: bool) -> list[dict[str, Fraction]]:
    """Two clients with a step each and with two, with noise; with two steps without.  In full, three."""
    common = {"L": Fraction(1), "q": Fraction(1)}
    counts = [(2, 1, True), (2, 2, True), (2, 2, False)] + ([(3, 2, False), (2, 3, False)] if full else [])
    return numbers_of(("m", "tau"), counts, common)


_NO_NOISE = {"L": Fraction(1), "q": Fraction(1), "sigma": Fraction(0), "eta": Fraction(1, 120)}
ROUNDS = scenes.PaperScenes(
    (*FEDCOM, *FEDCOMGATE),
    complete,
    scenes_of,
    "eta",
    tried,
    "noise and compressors of two values",
    drifts={"lemmaE7.corrected": (_NO_NOISE, ())},
)
