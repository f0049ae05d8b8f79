"""What tests the statements of a paper outside without a line of its author's.

A bound on quantities of a round: a search among exact rounds of the paper's algorithm, and worst cases over all functions.
A bound on whole runs: a search for the small quadratics on which it is tightest, by exact expectation, and for the tightest
functions whose curvature jumps, by runs without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedtheory.bounds import worst_cases
from fedtheory.bounds.evaluation import Compiled
from fedtheory.bounds.trials import arena_search
from fedtheory.bounds.trials.arena import step_symbol, unless_in_words
from fedtheory.bounds.trials.own_rounds import OwnRounds
from fedtheory.bounds.trials.quantities import QUANTITIES
from fedtheory.bounds.tuning import largest_step
from fedtheory.bounds.worst_cases import algorithm_of
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes, units
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Evidence, Statement, Status, Verdict

_LEAST = 0.05  # smallest eigenvalue where mu > 0
_ROUNDS, _TRIES = 60, (40, 2)
_FAR = 64.0  # the largest step size that is tried where L = 1 and one local step has no limit


def evidence(paper: str, given: Sequence[Evidence]) -> Iterator[Evidence]:
    """The evidence of a paper outside, of kinds that its author has not given."""
    known = {(e.statement, e.kind) for e in given}
    for one in (*units.evidence(paper), *_of_rounds(paper), *_of_runs(paper)):
        if (one.statement, one.kind) not in known:
            yield one


def _of_rounds(paper: str) -> Iterator[Evidence]:
    rounds = worst_cases.of_traces(paper)
    if rounds is None:
        return
    own = OwnRounds(algorithm_of(paper), worst_cases.quantities_of(paper))
    for name in rounds.names:
        if not worst_cases.memory_of(paper):  # instances are of first rounds
            yield Evidence(f"{paper}.{name}", "search", _or_open(own.search().check))
        yield Evidence(f"{paper}.{name}", "worst_case", _or_open(scenes.check(rounds)))


def _or_open(check: Callable[[Statement, bool], Verdict]) -> Callable[[Statement, bool], Verdict]:
    """A check that nobody chose for the statement: where it does not fit, it is open, with the reason."""

    def checked(statement: Statement, full: bool = False) -> Verdict:
        try:
            worst_cases.readable(statement)
            found = check(statement, full)
        except ValueError as error:
            return Verdict(Status.OPEN, str(error))
        return (
            replace(found, status=Status.OPEN) if found.status is Status.VACUOUS else unless_in_words(found, statement)
        )

    return checked


def _of_runs(paper: str) -> Iterator[Evidence]:
    algorithm = algorithm_of(paper)
    for statement in catalogue.statements(paper) if algorithm is not None else ():
        claim = statement.claim
        concepts = {s.sympy: s.concept for s in catalogue.symbols(statement).values()}
        if isinstance(claim, Bound) and any(concepts.get(s) in QUANTITIES for s in claim.quantity.free_symbols):
            yield Evidence(statement.id, "search", _or_open(partial(_searched, _families(statement, algorithm))))


def _searched(families: Sequence[arena_search.Candidates], statement: Statement, full: bool) -> Verdict:
    """The first refutation in a family; else what all families found, and the smallest slack."""
    tested = []
    for family in families:
        found = arena_search.judge(arena_search.tightest(statement, family, full), statement)
        if found.status is Status.REFUTED:
            return found
        if found.status is Status.TESTED:
            tested.append(found)
    if not tested:
        return found
    slack = min((one.slack for one in tested if one.slack is not None), default=None)
    return replace(tested[0], says="; ".join(one.says for one in tested), slack=slack)


def _families(statement: Statement, algorithm: Any) -> tuple[arena_search.Candidates, arena_search.Candidates]:
    """Small quadratics that the statement's assumptions admit, and functions with jumps; with one to three local steps."""
    given = catalogue.properties(statement)
    convex = bool({Property.CONVEX, Property.STRONGLY_CONVEX} & given.keys())
    positive = "strong convexity" in {
        s.concept for s in catalogue.symbols(statement).values() if s.sympy in statement.symbols
    }
    least = _LEAST if positive else 0.0 if convex else -0.3
    settings = worst_cases.letters_of_settings(algorithm, {})
    step = next((n for n in worst_cases.STEPS if n in settings), None)
    coin = next((n for n in settings if n == getattr(algorithm, "coin", None)), None)
    concepts = {s.concept for s in catalogue.symbols(statement).values()}
    alone, single = "clients" not in concepts, "local steps" not in concepts  # a paper about one machine, about steps
    sampled = "S" in settings and "S" in {s.name for s in statement.symbols}  # else all clients take part

    def size(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
        M, K = 1 if alone else int(rng.integers(2, 4)), 1 if single else int(rng.integers(1, 4))
        return M, ({step: K} if step else {}) | ({coin: float(rng.choice([0.2, 0.5, 1.0]))} if coin else {})

    def draw(rng: np.random.Generator) -> arena_search.Candidate:
        d = int(rng.integers(1, 3))
        M, own = size(rng)
        one = arena_search.quadratic(rng, d, M, least)
        sigma = one.sigma if Property.VARIANCE in given else 0.0
        return replace(one, sigma=sigma, settings=own | ({"S": int(rng.integers(1, M + 1))} if sampled else {}))

    def draw_jumps(rng: np.random.Generator) -> arena_search.Jumps:
        M, own = size(rng)
        settings = own | ({"S": M} if sampled else {}) | ({coin: 1.0} if coin else {})
        return replace(arena_search.jumps(rng, M, max(least, 0.0)), settings=settings)

    def largest(bound: Compiled, values: Any, rounds: int) -> float | None:
        step_size, several = step_symbol(statement), {n: 3.0 for n in worst_cases.STEPS if n in values}
        if largest_step(bound, step_size, {**values, **several}) == np.inf:
            raise ValueError(
                f"{statement.id}: no condition limits {step_size}: expected one, such as {step_size} <= 1/L"
            )
        return min(largest_step(bound, step_size, values), _FAR) or None

    vary = partial(arena_search.varied, least=least)
    quadratics = arena_search.Candidates(algorithm, draw, vary, largest, least, _ROUNDS, _TRIES)
    vary_jumps = partial(arena_search.jumps_varied, least=max(least, 0.0))
    return quadratics, replace(quadratics, draw=draw_jumps, vary=vary_jumps)
