"""The theorems about an algorithm, on a problem of one's own: which apply, at which step size, and why others do not.

The arenas of a paper say which algorithm a bound is about.  What keeps a bound from a problem is said in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedtheory import plugins
from fedtheory.bounds import papers
from fedtheory.bounds.defaults import algorithm_of
from fedtheory.bounds.evaluation import ConditionViolated
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.fit import misfit
from fedtheory.bounds.trials.quantities import QUANTITIES
from fedtheory.simulations import NoSuchConstant
from fedtheory.simulations.algorithms.base import Algorithm, class_of
from fedtheory.simulations.problems import Problem
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Statement

_SMALLEST, _STEPS = 1e-6, 400  # of the largest admissible step size; how many are tried
_COUNTS = ("clients", "sampled clients", "local steps")


@dataclass(frozen=True)
class Theorem:
    """A bound on runs of an algorithm, on a problem.

    arena  the problem, the algorithm and the step size at which the bound is smallest; None: the bound does not apply
    step   this step size, in the bound's own symbol
    value  the bound after all rounds
    why    why it does not apply, in numbers
    """

    statement: Statement
    arena: arenas.Arena | None = None
    step: float | None = None
    value: float | None = None
    why: str = ""

    @property
    def concept(self) -> str:
        """What it bounds, such as "gap of the average"."""
        claim = self.statement.claim_of(Bound)
        symbols = {s.sympy: s.concept for s in catalogue.paper(self.statement.paper).symbols.values()}
        return next((c for s in claim.quantity.free_symbols if (c := symbols.get(s))), str(claim.quantity))


def theorems(
    problem: Problem,
    algorithm: Algorithm,
    rounds: int,
    x0: Any = 1.0,
    seeds: int | tuple[int, ...] = 10,
    eta: float | None = None,
) -> list[Theorem]:
    """Every bound on runs of this algorithm, printed or, where that is wrong, corrected; those of papers outside, too.

    eta  the learning rate; None: the admissible one at which the bound after all rounds is smallest
    """
    found = []
    for id_, tested in about(algorithm).items():
        arena = arenas.Arena(id_, problem.name, problem, algorithm, rounds, x0, seeds, (1.0,), _given(tested))  # type: ignore[arg-type]
        found.append(theorem(arena, tested, eta))
    return found


def theorem(arena: arenas.Arena, tested: Sequence[arenas.Arena], eta: float | None = None) -> Theorem:
    """The theorem of an arena at its best step size, or at this learning rate; or why it does not apply.

    tested  the arenas of its paper that test it
    """
    statement, algorithm, problem = arena.stated, arena.algorithm(eta=1.0), arenas.build(arena.problem)
    try:
        why = misfit(statement, algorithm, problem, tested)
        return Theorem(statement, why=why) if why else _at_best(arena, eta)
    except (NoSuchConstant, ConditionViolated, ValueError) as error:
        return Theorem(statement, why=str(error).removeprefix(f"{statement.id}: "))


def about(algorithm: Algorithm) -> dict[str, list[arenas.Arena]]:
    """The bounds on runs of this algorithm, with the arenas that test them, of its own paper and of papers outside.

    A printed bound that was corrected, and a sharper one, are left out.
    """
    kind, module = type(algorithm), type(algorithm).__module__
    own = plugins.home(module) or module.rpartition(".")[2]
    found: dict[str, list[arenas.Arena]] = {}
    for paper in dict.fromkeys([*([own] if own in catalogue.names() else []), *plugins.packages()]):
        for arena in papers.arenas(paper):
            if type(arena.algorithm(eta=1.0)) is kind:
                found.setdefault(arena.statement, []).append(arena)
        if paper in plugins.packages() and class_of(algorithm_of(paper)) is kind:
            found |= {s.id: [] for s in _of_runs(paper) if s.id not in found}
    left = [id_ for id_ in found if catalogue.find(id_).form != "sharper" and not catalogue.corrected_by(id_)]
    return {id_: found[id_] for id_ in left}


def _of_runs(paper: str) -> Iterator[Statement]:
    """The paper's bounds on quantities of whole runs."""
    concepts = {s.sympy: s.concept for s in catalogue.paper(paper).symbols.values()}
    for statement in catalogue.statements(paper):
        claim = statement.claim
        if not isinstance(claim, Bound) or claim.sign == ">=":
            continue
        if any(concepts.get(s) in QUANTITIES for s in claim.quantity.free_symbols):
            yield statement


def _given(tested: Sequence[arenas.Arena]) -> arenas.Given:
    """The symbols that all arenas of a statement give alike; counts come from problem and algorithm."""
    symbols = (s for arena in tested[:1] for s in catalogue.paper(arena.stated.paper).symbols.values())
    counts = {s.name for s in symbols if s.concept in _COUNTS}
    every = [{name: value for name, value in arena.given if name not in counts} for arena in tested]
    names = dict.fromkeys(name for one in every for name in one)
    values = {name: [one.get(name) for one in every] for name in names}
    return tuple((name, own[0]) for name, own in values.items() if len(set(map(repr, own))) == 1)  # type: ignore[misc]


def _at_best(arena: arenas.Arena, eta: float | None) -> Theorem:
    """The theorem at the learning rate, or at its best one.

    Raises NoSuchConstant, ConditionViolated, ValueError where it does not apply.
    """
    statement, name, R = arena.stated, arenas.step_symbol(arena.stated), float(arena.rounds)
    constants = arenas.constants_of(arena)
    if arenas.fixes_step(statement):
        steps, _ = arenas.steps_of(arena)
        high = float(steps[0])
    else:
        low, high = arenas.admissible_steps(statement, R=R, **constants)
        steps = np.geomspace(max(low, _SMALLEST * high), high, _STEPS)
        if eta is not None:
            step = float(eta / arenas.learning_rate(statement, np.array(1.0), **arenas.letters_in(arena)))
            if not low * (1 - arenas.ROUNDING) <= step <= high * (1 + arenas.ROUNDING):
                raise ValueError(f"at eta = {eta:.4g} {name} = {step:.4g}; it admits {low:.4g} <= {name} <= {high:.4g}")
            steps = np.array([min(step, high)])
    bound = arenas.bound_at(statement, steps, np.array(R), **constants)
    values = np.where(np.broadcast_to(bound.admissible, steps.shape), np.broadcast_to(bound.value, steps.shape), np.inf)
    best = int(values.argmin())
    if not np.isfinite(values[best]):
        raise ValueError("; ".join(_violations(statement, steps, R, constants)))
    return Theorem(
        statement,
        replace(arena, fractions=(min(1.0, float(steps[best] / high)),)),
        float(steps[best]),
        float(values[best]),
    )


def _violations(statement: Statement, steps: np.ndarray, R: float, constants: Mapping[str, float]) -> list[str]:
    found = arenas.bound_at(statement, np.array(steps[-1]), np.array(R), **constants)
    return found.violations or [f"it is {found.value} at every admissible step size"]
