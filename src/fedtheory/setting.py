"""All methods at a setting: `fedtheory compare M=8 kappa=100` puts every theorem about whole runs beside runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from fedtheory.bounds.trials.theorems import about
from fedtheory.bounds.worst_cases import STEPS
from fedtheory.registries import algorithms, problems
from fedtheory.simulations.algorithms.base import Algorithm, refuse_misfits
from fedtheory.simulations.checked import brief, whole
from fedtheory.simulations.problems import Problem

_SETTING = {"M": 4, "S": 0, "K": 5, "kappa": 10.0, "zeta": 1.0, "sigma": 0.5, "R": 100}


def quadratic_of(given: Mapping[str, float]) -> tuple[Problem, dict[str, Algorithm], int]:
    """A problem at a setting, the methods about which theorems are known, and the rounds.

    given  M clients, of which S take part (0: all), K local steps (or an average every K steps in the mean), kappa = L/mu
           with L = 1 (0: mu = 0), zeta_* and sigma, R rounds; what is not given has the number of `_SETTING`

    The problem has quadratics in five dimensions, whose Hessians differ by 0.3 L at most.  Raises ValueError for other
    names, and for numbers out of range.
    """
    if unknown := sorted(given.keys() - _SETTING.keys()):
        raise ValueError(f"{brief(unknown[0])} is no part of a setting: expected {', '.join(_SETTING)}")
    at: dict[str, Any] = {**_SETTING, **given}
    for name in ("M", "S", "K", "R"):
        value = float(at[name])
        at[name] = whole(name, int(value) if value.is_integer() else value, 0 if name == "S" else 1)
    if at["kappa"] and at["kappa"] <= 1:
        raise ValueError(f"kappa = {at['kappa']:g}: expected more than 1, or 0 for mu = 0")
    mu = 1 / at["kappa"] if at["kappa"] else 0.0
    delta = 0.3 * (1 - mu) if at["M"] > 1 else 0.0
    problem = problems["quadratic"](
        d=5, M=at["M"], L=1.0, mu=mu, zeta_star=at["zeta"] if at["M"] > 1 else 0.0, delta=delta, sigma=at["sigma"]
    )
    own = dict.fromkeys(STEPS, at["K"]) | {"p": 1 / at["K"]} | ({"S": at["S"]} if at["S"] else {})
    methods: dict[str, Algorithm] = {}
    for name, kind in algorithms.items():
        takes: set[str] = {f.name for f in fields(cast(Any, kind)) if f.init} if is_dataclass(kind) else set()
        try:
            method = kind(eta=1.0, **{n: v for n, v in own.items() if n in takes})
            refuse_misfits(problem, method)
            method.participants(problem)
        except (TypeError, ValueError):  # it has settings of its own, or is for other problems
            continue
        if method not in methods.values() and about(method):
            methods[name] = method
    return problem, methods, at["R"]
