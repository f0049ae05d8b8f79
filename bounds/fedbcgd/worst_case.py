"""Rounds of FedBCGD and FedBCGD+ with one block of coordinates, in vectors: worst cases of the lemmas about one round.

The rounds are traces of the algorithms' own `round`, and the quantities those of `fedtheory.bounds.fedbcgd.quantities`.  A
round starts at any x and any momentum v, with any control variates; x* is 0, where the clients' gradients sum to zero.
Noise has two equally likely values.  The rounds of FedBCGD+ are without noise: its noise cancels where mini-batches are
smooth.  Assumption 4, and that x* is a minimiser of a function that is not convex, are about all points: here they are
conditions at the points of the round, and clients whose gradients differ by constants satisfy them everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import sympy

from fedtheory.bounds.fedbcgd.quantities import OF_ALL, OF_STATE, QUANTITIES, SampleRound
from fedtheory.bounds.trials.cases import rational
from fedtheory.bounds.worst_cases import federation, numbers_of, of_class, two_valued, variances
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.exact.trace import Trace, trace
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd import symbols as s
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import NOTHING, QuadraticForm, mean, number, total, vector
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.statement import Statement

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
# grad_sq is a sum over clients, in these over their local steps too
_STEPS_GRADIENTS = ("lemma6", "lemma6.corrected")


def scenes_of(statement: Statement, at: scenes.Numbers) -> list[scenes.Scene]:
    """The round of a statement."""
    given = catalogue.properties(statement)
    found = _scene(statement, at, given, tilted=False)
    if Property.DISSIMILARITY in given or Property.CONVEX not in given:
        found = replace(found, within=_scene(statement, at, given, tilted=True))
    return [found]


def _scene(statement: Statement, at: scenes.Numbers, given: Properties, tilted: bool) -> scenes.Scene:
    clients, functions = federation(int(at[s.M]), stationary=True, tilted=tilted)
    every, outcomes = _rounds(statement, at, given, clients)
    scenes.mean_of(clients, every[0].z)  # z is a point of every round, also where no quantity is about it
    reading = {"grad_sq": "grad_sq_steps" if _name(statement) in _STEPS_GRADIENTS else "grad_sq_clients"}
    means: dict[sympy.Expr, QuadraticForm] = {s.sigma**2: number("sigma^2"), s.G**2: number("G^2")}
    for symbol in sorted(statement.symbols, key=str):  # the order of the points is that of the quantities
        name = reading.get(symbol.name, symbol.name)
        if name in QUANTITIES:
            means[symbol] = mean(map(QUANTITIES[name], every if name in {**OF_STATE, **OF_ALL} else outcomes))
    conditions = {"sigma^2 >= 0": number("sigma^2"), "G^2 >= 0": number("G^2")}
    conditions |= variances((one.t for one in every), given)
    if Property.DISSIMILARITY in given:
        x = vector("x")
        full = scenes.mean_of(clients, x).gradient
        apart = mean((client.at(x).gradient - full).square for client in clients)
        conditions["dissimilarity at x"] = scenes.squared(*given[Property.DISSIMILARITY]) - apart
    of = scenes.FunctionClass.of(given, at)
    if of.mu is None:  # x* is a minimiser of f although the clients are not convex
        least = scenes.mean_of(clients, NOTHING).value
        conditions |= scenes.bounded_below(scenes.known_by_all(clients, functions), least, of, "f(x*)")
    return scenes.Scene(means, conditions | of_class(functions, of), functions)


def _name(statement: Statement) -> str:
    return statement.id.removeprefix("fedbcgd.")


def _rounds(
    statement: Statement, at: scenes.Numbers, given: Properties, clients: Sequence[scenes.Oracle | scenes.Tilted]
) -> tuple[list[SampleRound], list[SampleRound]]:
    """The round if all clients take part, and with all samples; with all outcomes of the noise, with equal chances."""
    M, T, K, eta, lam = int(at[s.M]), int(at[s.T]), int(at[s.K]), scenes.exact(s.eta, at), scenes.exact(s.lam, at)
    plus = _name(statement) in FEDBCGD_PLUS
    noisy = at[s.sigma] != 0 and not plus
    memory: dict[str, Any] = {"v": vector("v")}
    if plus:
        memory["c_i"] = [vector(f"c{k}") for k in range(M)]
        memory["c"] = total(memory["c_i"]) / M if Property.INITIAL_VARIATES in given else vector("c")

    def outcomes(group: Sequence[int]) -> list[Trace]:
        algorithm = (FedBCGDPlus if plus else FedBCGD)(T, 1.0, 1, len(group), lam)  # type: ignore[arg-type]  # exact
        draws = T * (len(group) if Property.INDEPENDENT_NOISE in given else 1) * noisy
        return [
            trace(
                algorithm, clients, vector("x"), NOTHING, eta, group, two_valued(group, signs, T, True, given), memory
            )
            for signs in product((1, -1), repeat=draws)
        ]

    everyone = tuple(range(M))
    every = [SampleRound(t, (everyone,), lam, eta, NOTHING) for t in outcomes(everyone)]
    if K == M:
        return every, every
    groups = combinations(everyone, K)
    return every, [SampleRound(t, (group,), lam, eta, NOTHING) for group in groups for t in outcomes(group)]


def complete(statement: Statement, given: Mapping[str, Fraction]) -> scenes.Numbers:
    """The symbols' values: one block, no momentum (lam = 0), mu = 0, with noise, unless told."""
    scenes.fitting(statement, given, ("M", "K", "T", "beta"), ("eta", "eta_tilde"), ("lam", "mu"))
    numbers = {"lam": Fraction(0), "mu": Fraction(0)} | dict(given)
    for name in ("M", "K", "T"):
        if numbers[name].denominator != 1 or numbers[name] < 1:
            raise ValueError(f"{statement.id}: {name} = {numbers[name]}: expected a whole number >= 1")
    lam, mu, beta = (numbers[one] for one in ("lam", "mu", "beta"))
    name = "eta" if "eta" in given else "eta_tilde"
    if numbers["K"] > numbers["M"] or not 0 <= lam < 1 or not 0 <= mu < beta or numbers[name] <= 0:
        raise ValueError(f"{statement.id}: expected K <= M, 0 <= lam < 1, 0 <= mu < beta and a step size > 0")
    if _name(statement) in FEDBCGD_PLUS and numbers["T"] > 1 and "sigma" not in given:
        raise ValueError(
            f"{statement.id}: expected sigma=0 with several steps: then the noise of FedBCGD+ does not cancel"
        )
    steps = numbers["M"] * numbers["T"]
    scenes.enumerable(statement, "local steps", steps, _MOST)
    scenes.enumerable(statement, "groups of clients", comb(int(numbers["M"]), int(numbers["K"])), _MOST**2)
    outcomes = 1 if "sigma" in given else scenes.tosses(steps)
    scenes.enumerable(statement, "local steps in all outcomes of the noise", outcomes * numbers["T"], _MOST)
    values = {s.M: numbers["M"], s.K: numbers["K"], s.T: numbers["T"], s.beta: beta, s.lam: lam, s.mu: mu}
    values |= {s.N: Fraction(1), s.S: numbers["K"], s.alpha: 1 / (1 - lam), s.gamma: lam / (1 - lam)}
    at, step = {symbol: rational(value) for symbol, value in values.items()}, rational(numbers[name])
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
    return numbers_of(("M", "K", "T"), counts, common)


_NO_NOISE = {"beta": Fraction(1), "sigma": Fraction(0), "eta_tilde": Fraction(1, 2)}
ROUNDS = scenes.PaperScenes(
    (*SAMPLING, *FEDBCGD, *FEDBCGD_PLUS),
    complete,
    scenes_of,
    "eta_tilde",
    tried,
    "noise of two values, one block",
    drifts=dict.fromkeys(("lemma5", "lemma5.corrected", "lemma16.corrected"), (_NO_NOISE, ("K",))),
)
