"""Whether a run is about a theorem: its algorithm with its settings, and a problem that meets the assumptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fedtheory import plugins
from fedtheory.bounds.evaluation import parameters
from fedtheory.bounds.worst_cases import letters_of_settings
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.base import Algorithm, class_of, keywords_of
from fedtheory.simulations.compressors import Compressor
from fedtheory.simulations.problems import Problem
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Statement, Words

if TYPE_CHECKING:
    from fedtheory.bounds.trials.arena import Arena

_OURS = "fedtheory.simulations.algorithms."
_FEW = 12  # arenas that show whether all clients take part
# Clients whose gradients differ by no more have the same function; curvatures above minus it, in units of L, count as 0
_ALIKE = 1e-9
_OF_NOISE = {
    Property.UNBIASED, Property.VARIANCE, Property.BOUNDED_GRADIENT, Property.VARIANCE_ELSEWHERE,
    Property.BOUNDED_GRADIENT_ELSEWHERE, Property.SMOOTH_SAMPLES,
}  # fmt: skip


def misfit(statement: Statement, algorithm: Algorithm, problem: Problem, tested: Sequence[Arena]) -> str:
    """Why a run is not about a theorem, in words and numbers; empty if it is.

    tested  the arenas of its paper that test it
    """
    own = _own_algorithms(statement)
    if own is None:
        kinds = [class_of(arena.algorithm) for arena in tested]
        another = _of_another(algorithm, kinds) if is_known(algorithm) else ""  # the user's own may be the theorem's
        return another or _unlike(statement, algorithm, problem, tested) or unmet(statement, algorithm, problem)
    kinds = [class_of(one) for one in (*own, *(arena.algorithm for arena in tested))]
    return (
        _of_another(algorithm, kinds)
        or _at_another_setting(statement, algorithm, problem, own)
        or _sampling(statement, algorithm, problem, own, tested)
        or unmet(statement, algorithm, problem)
    )


def on_trust(statement: Statement, algorithm: Algorithm, tested: Sequence[Arena]) -> str:
    """What only the user says: that this algorithm is one that the theorem is about; empty where that is known."""
    kinds, own = [class_of(arena.algorithm) for arena in tested], _own_algorithms(statement)
    if any(_is(algorithm, kind) for kind in kinds) or (len(own) < 2 if own is not None else not kinds):
        return ""
    if own is not None:
        name = type(algorithm).__name__
        return f"{statement.paper} has {len(own)} algorithms, and no arena says that this is about {name}"
    names = " or ".join(dict.fromkeys(kind.__name__ for kind in kinds))
    return f"whether {type(algorithm).__name__} is {names} in another form, nobody checks"


def is_known(algorithm: Algorithm) -> bool:
    """Whether it is an algorithm of this repository, or of a paper outside, and none of the user's own."""
    return any(_is(algorithm, class_of(one)) for one in registry(networks=True).values())


def _is(algorithm: Algorithm, kind: Any) -> bool:
    """Whether an algorithm is of a class, or of one of the user's that a cell of a notebook has defined again."""
    again = type(algorithm).__qualname__ == kind.__qualname__ and not kind.__module__.startswith(_OURS)
    return isinstance(algorithm, kind) or again


def _own_algorithms(statement: Statement) -> list[Callable[..., Any]] | None:
    """The algorithms of the statement's paper, where that is one outside."""
    if statement.paper not in plugins.packages():
        return None
    return list(getattr(plugins.load(statement.paper, "algorithms"), "ALGORITHMS", {}).values())


def _of_another(algorithm: Algorithm, kinds: Sequence[Any]) -> str:
    """Another algorithm than these; empty if it is one of them, or if there are none."""
    if not kinds or any(_is(algorithm, kind) for kind in kinds):
        return ""
    names = " and ".join(dict.fromkeys(kind.__name__ for kind in kinds))
    return f"it is about {names}; here the algorithm is {type(algorithm).__name__}"


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(one, other))


def _at_another_setting(
    statement: Statement, algorithm: Algorithm, problem: Problem, own: Sequence[Callable[..., Any]]
) -> str:
    """Another number for a setting that the paper fixes, and for which the bound has no letter; empty if there is none."""
    letters = _letters(statement, algorithm)

    def here(name: str) -> Any:
        return algorithm.participants(problem) if name == "S" else getattr(algorithm, name)

    fixed = [keywords_of(one) for one in own if _is(algorithm, class_of(one))]
    apart = [{n: v for n, v in one.items() if n not in letters and not _same(here(n), v)} for one in fixed]
    for name, value in apart[0].items() if apart and all(apart) else ():
        return f"it is about {name} = {value}; here {name} = {here(name)}"
    return ""


def _sampling(
    statement: Statement,
    algorithm: Algorithm,
    problem: Problem,
    own: Sequence[Callable[..., Any]],
    tested: Sequence[Arena],
) -> str:
    """That only some clients take part, where nothing in a paper outside says that; empty elsewhere."""
    S = algorithm.participants(problem)
    concepts = {s.concept for s in parameters(statement)}
    told = "sampled clients" in concepts or Property.SAMPLING in catalogue.properties(statement)
    several = any("S" in keywords_of(one) for one in (*own, *(arena.algorithm for arena in tested)))
    if S == problem.M or told or several:
        return ""
    return f"it is about rounds in which all clients take part; here {S} of {problem.M} do"


def _unlike(statement: Statement, algorithm: Algorithm, problem: Problem, tested: Sequence[Arena]) -> str:
    """A setting of the algorithm that a theorem of our papers is not about; empty if there is none."""
    few, S = tested[:_FEW], algorithm.participants(problem)
    everyone = bool(few) and all(a.algorithm(eta=1.0).participants(p) == p.M for a in few for p in [a.problem()])
    if S < problem.M and everyone and "sampled clients" not in {s.concept for s in parameters(statement)}:
        return f"it is about rounds in which all clients take part; here {S} of {problem.M} do"
    letters = _letters(statement, algorithm)
    several = [one for a in tested if isinstance(one := a.algorithm(eta=1.0), type(algorithm))]
    for name in [f.name for f in fields(algorithm) if f.name not in ("eta", "S")] if several else ():  # type: ignore[arg-type]
        value, seen = getattr(algorithm, name), [getattr(one, name) for one in several]
        free = name in letters or len(set(map(repr, seen))) > 1 or isinstance(value, Compressor)
        if not free and not any(_same(value, one) for one in seen):
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

    curvature, mean, L = number("curvature"), number("mu"), number("L") or 0.0
    apart = min((v for v in (number("G"), None if number("beta") else number("zeta")) if v is not None), default=None)
    compressor = getattr(algorithm, "compressor", None)
    random = isinstance(compressor, Compressor) and compressor.q(problem.d).value != 0
    shared = getattr(compressor, "shared", None) if random else None
    mu, mu_of_mean = (given.get(p, (0,))[0] for p in (Property.STRONGLY_CONVEX, Property.STRONGLY_CONVEX_MEAN))
    if Property.CONVEX in given and curvature is not None and curvature < -_ALIKE * L:
        return f"it needs every F_m convex; here the smallest curvature is {curvature:.3g}"
    if getattr(mu, "is_positive", False) and curvature is not None and curvature <= _ALIKE * L:
        return f"it needs every F_m strongly convex; here the smallest curvature is {curvature:.3g}"
    if Property.CONVEX_MEAN in given and mean is None and curvature is not None and curvature < -_ALIKE * L:
        return f"it needs F convex, which is not known; here the smallest curvature of an F_m is {curvature:.3g}"
    if getattr(mu_of_mean, "is_positive", False) and (mean or 0) <= _ALIKE * L:
        return "it needs F strongly convex, which is not known here"
    if Property.HOMOGENEOUS in given and (apart is None or apart > _ALIKE * L) and problem.M > 1:
        far = (
            "nothing bounds how far their gradients are" if apart is None else f"their gradients are up to {apart:.3g}"
        )
        return f"it needs clients with the same function; here {far} apart"
    beta, certified = given.get(Property.HETEROGENEITY, (None,))[0], number("beta")
    if beta is not None and beta.is_number and (certified is None or certified > float(beta) + _ALIKE):
        return f"it needs bounded heterogeneity with beta = {beta}; here beta = {certified} is certified"
    if (
        Property.EQUAL_WEIGHTS in given
        and problem.weights is not None
        and not np.allclose(problem.weights, 1 / problem.M)
    ):
        low, high = float(min(problem.weights)), float(max(problem.weights))
        return f"it needs clients of equal weight, {1 / problem.M:.3g}; here weights are {low:.3g} to {high:.3g}"
    if Property.INDEPENDENT_COMPRESSORS in given and shared:
        return f"it needs clients that compress independently; here compressor = {compressor}, one for all"
    if not given.keys() & _OF_NOISE and not _of_noise_in_words(statement) and (number("sigma") or 0) > 0:
        return f"it assumes nothing about noise: it is about exact gradients; here sigma = {number('sigma'):.3g}"
    if Property.COMPRESSION_DRIFT in given and shared is False:
        return f"it is known here for one mask for all clients (G_q = 0); here compressor = {compressor}"
    return ""


def _of_noise_in_words(statement: Statement) -> bool:
    """Whether the bound has the letter of noise, or an assumption is in words alone, which may be about noise."""
    concepts = {s.concept for s in catalogue.symbols(statement).values() if s.sympy in statement.symbols}
    assumed = map(catalogue.find, statement.assumes)
    return "gradient noise" in concepts or any(isinstance(one.claim, Words) and not one.gives for one in assumed)
