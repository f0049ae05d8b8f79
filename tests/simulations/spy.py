"""Small data sets, a problem that is watched through the engine, algorithms by name."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.data import Dataset, load


def small(name: str, rows: int, columns: int, classes: int) -> Dataset:
    """The first samples of the first classes, in the columns that vary most."""
    whole = load(name)
    chosen = np.flatnonzero(whole.labels < classes)[:rows]
    features = whole.features[chosen][:, np.argsort(-whole.features.var(0), kind="stable")[:columns]]
    return replace(whole, features=features, labels=whole.labels[chosen], classes=classes)


class Spy:
    """A problem that keeps the iterates at which it is measured and the gradients that it gives.

    every_seed  each gradient counts as drawn, so that each seed has a run of its own, also without noise
    """

    def __init__(self, problem: Any, every_seed: bool = True) -> None:
        self.problem, self.every_seed = problem, every_seed
        self.iterates: list[np.ndarray] = []
        self.gradients: list[tuple[np.ndarray, np.ndarray]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def value(self, x: np.ndarray) -> np.ndarray:
        self.iterates.append(x.copy())
        return self.problem.value(x)

    def gradient(self, x: np.ndarray, client: np.ndarray, draw: Any) -> np.ndarray:
        assert not self.every_seed or draw.local.keys is not None
        g = self.problem.gradient(x, client, draw)
        self.gradients.append((x, g))
        return g


def built(name: str, **given: Any) -> Any:
    """An algorithm by name, with those of the settings that it takes and that its name does not fix."""
    build = registry()[name]
    fixed, inner = (build.keywords, build.func) if isinstance(build, partial) else ({}, build)
    takes = inspect.signature(inner).parameters.keys() - fixed.keys()
    return build(**{setting: value for setting, value in given.items() if setting in takes})
