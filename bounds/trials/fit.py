"""Whether a run is about a theorem: its algorithm with its settings, and a problem that meets the assumptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fedtheory import plugins
from fedtheory.bounds.evaluation import parameters
from fedtheory.bounds.worst_cases import letters_of_settings
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.base import Algorithm, class_of, keywords_of
from fedtheory.simulations.compressors import Compressor
from fedtheory.simulations.problems import Problem
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Statement

if TYPE_CHECKING:
    from fedtheory.bounds.trials.arena import Arena

_FEW = 12  # arenas that show whether all clients take part
# Clients whose gradients differ by no more have the same function; curvatures above minus it, in units of L, count as 0
_ALIKE = 1e-9
_OF_NOISE = {
    Property.UNBIASED, Property.VARIANCE, Property.BOUNDED_GRADIENT, Property.VARIANCE_ELSEWHERE,
    Property.BOUNDED_GRADIENT_ELSEWHERE,
}  # fmt: skip


def misfit(statement: Statement, algorithm: Algorithm, problem: Problem, tested: Sequence[Arena]) -> str:
    """Why a run is not about a theorem, in words and numbers; empty if it is.

    tested  the arenas of its paper that test it
    """
    return (
        _of_another(statement, algorithm, tested)
        or _unlike(statement, algorithm, problem, tested)
        or unmet(statement, algorithm, problem)
    )


def _of_another(statement: Statement, algorithm: Algorithm, tested: Sequence[Arena]) -> str:
    """Another algorithm than the theorem's, or another number for a setting that the paper fixes; empty for neither."""
    outside = plugins.load(statement.paper, "algorithms") if statement.paper in plugins.packages() else None
    theirs: list[Callable[..., Any]] = list(getattr(outside, "ALGORITHMS", {}).values())
    kinds = {class_of(one): None for one in (*theirs, *(arena.algorithm for arena in tested))}
    users = outside is None and type(algorithm) not in map(class_of, registry(networks=True).values())
    if kinds and type(algorithm) not in kinds and not users:  # the user's own may be another form of the theorem's
        names = " and ".join(kind.__name__ for kind in kinds)
        return f"it is about {names}; here the algorithm is {type(algorithm).__name__}"
    fixed = [keywords_of(one) for one in theirs if class_of(one) is type(algorithm)]
    apart = [{n: v for n, v in one.items() if getattr(algorithm, n) != v} for one in fixed]
    for name, value in apart[0].items() if apart and all(apart) else ():
        return f"it is about {name} = {value}; here {name} = {getattr(algorithm, name)}"
    return ""


def _unlike(statement: Statement, algorithm: Algorithm, problem: Problem, tested: Sequence[Arena]) -> str:
    """A setting of the algorithm that the theorem is not about; empty if there is none."""
    few, S = tested[:_FEW], algorithm.participants(problem)
    everyone = bool(few) and all(a.algorithm(eta=1.0).participants(p) == p.M for a in few for p in [a.problem()])
    sampled = "sampled clients" in {s.concept for s in parameters(statement)}
    if S < problem.M and not sampled and (everyone or statement.paper in plugins.packages()):
        return f"it is about rounds in which all clients take part; here {S} of {problem.M} do"
    several, letters = [a.algorithm(eta=1.0) for a in tested], _letters(statement, algorithm)
    several = [one for one in several if type(one) is type(algorithm)]
    for name in [f.name for f in fields(algorithm) if f.name not in ("eta", "S")] if several else ():  # type: ignore[arg-type]
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


def unmet(statement: Statement, algorithm: Algorithm, problem: Problem) -> str:
    """An assumption of the theorem that the problem, or the compressor, does not meet; empty if there is none."""
    given, entries = catalogue.properties(statement), problem.constants.entries

    def number(name: str) -> float | None:
        return entries[name].value if name in entries else None

    curvature, mean = number("curvature"), number("mu")
    apart = min((v for v in (number("G"), None if number("beta") else number("zeta")) if v is not None), default=None)
    compressor = getattr(algorithm, "compressor", None)
    random = isinstance(compressor, Compressor) and compressor.q(problem.d).value != 0
    shared = getattr(compressor, "shared", None) if random else None
    least = -_ALIKE * (number("L") or 0.0)
    if Property.CONVEX in given and curvature is not None and curvature < least:
        return f"it needs every F_m convex; here the smallest curvature is {curvature:.3g}"
    if Property.CONVEX_MEAN in given and mean is not None and mean < least:
        return f"it needs F convex; here its smallest curvature is {mean:.3g}"
    if Property.HOMOGENEOUS in given and (apart is None or apart > _ALIKE) and problem.M > 1:
        far = (
            "nothing bounds how far their gradients are" if apart is None else f"their gradients are up to {apart:.3g}"
        )
        return f"it needs clients with the same function; here {far} apart"
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
