"""The theorems about an algorithm, on a problem of one's own: which apply, at which step size, and why others do not.

The arenas of a paper say which algorithm a bound is about.  What keeps a bound from a problem is said in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fedtheory import plugins
from fedtheory.bounds import papers
from fedtheory.bounds.defaults import algorithm_of
from fedtheory.bounds.evaluation import ConditionViolated, parameters
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.quantities import QUANTITIES
from fedtheory.bounds.worst_cases import letters_of_settings
from fedtheory.simulations import NoSuchConstant
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.compressors import Compressor
from fedtheory.simulations.problems import Problem
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Statement

_SMALLEST, _STEPS = 1e-6, 400  # of the largest admissible step size; how many are tried
_FEW = 12  # arenas that show whether all clients take part
# Clients whose gradients differ by no more have the same function; curvatures above minus it, in units of L, count as 0
_ALIKE = 1e-9
_OF_NOISE = {
    Property.UNBIASED, Property.VARIANCE, Property.BOUNDED_GRADIENT, Property.VARIANCE_ELSEWHERE,
    Property.BOUNDED_GRADIENT_ELSEWHERE,
}  # fmt: skip
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
        why = _unlike(statement, algorithm, problem, tested) or _unmet(statement, algorithm, problem)
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
        if paper in plugins.packages() and algorithm_of(paper) is kind:
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


def _unlike(statement: Statement, algorithm: Algorithm, problem: Problem, tested: Sequence[arenas.Arena]) -> str:
    """A setting of the algorithm that the theorem is not about; empty if there is none."""
    few = tested[:_FEW]
    everyone = all(a.algorithm(eta=1.0).participants(p) == p.M for a in few for p in [arenas.build(a.problem)])
    S = algorithm.participants(problem)
    if few and everyone and S < problem.M and "sampled clients" not in {s.concept for s in parameters(statement)}:
        return f"it is about rounds in which all clients take part; here {S} of {problem.M} do"
    several, letters = [arena.algorithm(eta=1.0) for arena in tested], _letters(statement, algorithm)
    for name in [f.name for f in fields(algorithm) if f.name not in ("eta", "S")] if tested else ():  # type: ignore[arg-type]
        value, seen = getattr(algorithm, name), [getattr(one, name) for one in several]
        free = name in letters or len(set(map(repr, seen))) > 1 or isinstance(value, Compressor)
        if not free and value not in seen:
            return f"it is about {name} = {seen[0]}; here {name} = {value}"
    return ""


def _letters(statement: Statement, algorithm: Algorithm) -> set[str]:
    """The names of the algorithm's settings for which the bound has a letter, by itself or by its concept."""
    module = type(algorithm).__module__
    home = plugins.home(module) or module.rpartition(".")[2]
    wanted = parameters(statement)
    theirs = catalogue.paper(home).symbols if home in catalogue.names() else {}
    concepts = {s.concept for s in wanted if s.concept}
    names, letters = {name for name, s in theirs.items() if s.concept in concepts}, {s.name for s in wanted}
    if statement.paper in plugins.packages():  # whose algorithm may be one of this repository
        of = {s.concept: s.name for s in catalogue.paper(statement.paper).symbols.values() if s.concept}
        names |= {n for n, letter in letters_of_settings(type(algorithm), of).items() if letter in letters}
    return names | (letters if home == statement.paper else set())


def _unmet(statement: Statement, algorithm: Algorithm, problem: Problem) -> str:
    """An assumption of the theorem that the problem, or the compressor, does not meet; empty if there is none."""
    given, entries = catalogue.properties(statement), problem.constants.entries

    def number(name: str) -> float | None:
        return entries[name].value if name in entries else None

    curvature, mean = number("curvature"), number("mu")
    apart = next((v for name in ("G", "zeta", "zeta_star") if (v := number(name)) is not None), None)
    compressor = getattr(algorithm, "compressor", None)
    shared = None if compressor is None else getattr(compressor, "shared", None)
    least = -_ALIKE * (number("L") or 0.0)
    if Property.CONVEX in given and curvature is not None and curvature < least:
        return f"it needs every F_m convex; here the smallest curvature is {curvature:.3g}"
    if Property.CONVEX_MEAN in given and mean is not None and mean < least:
        return f"it needs F convex; here its smallest curvature is {mean:.3g}"
    if Property.HOMOGENEOUS in given and (apart is None or apart > _ALIKE) and problem.M > 1:
        far = "an unknown distance" if apart is None else f"up to {apart:.3g}"
        return f"it needs clients with the same function; here their gradients are {far} apart"
    if Property.EQUAL_WEIGHTS in given and problem.weights is not None:
        low, high = float(min(problem.weights)), float(max(problem.weights))
        return f"it needs clients of equal weight, {1 / problem.M:.3g}; here weights are {low:.3g} to {high:.3g}"
    if Property.INDEPENDENT_COMPRESSORS in given and shared:
        return f"it needs clients that compress independently; here compressor = {compressor}, one for all"
    if not given.keys() & _OF_NOISE and (number("sigma") or 0) > 0:
        return f"it assumes nothing about noise: it is about exact gradients; here sigma = {number('sigma'):.3g}"
    if Property.COMPRESSION_DRIFT in given and shared is False:
        return f"it is known here for one mask for all clients (G_q = 0); here compressor = {compressor}"
    return ""


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
