"""A problem that is watched through the engine."""

from __future__ import annotations

from typing import Any

import numpy as np


class Spy:
    """A problem that keeps the iterates at which it is measured and the gradients that it gives."""

    def __init__(self, problem: Any) -> None:
        self.problem, self.iterates, self.gradients = problem, [], []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def value(self, x: np.ndarray) -> np.ndarray:
        self.iterates.append(x.copy())
        return self.problem.value(x)

    def gradient(self, x: np.ndarray, client: np.ndarray, draw: Any) -> np.ndarray:
        g = self.problem.gradient(x, client, draw)
        self.gradients.append((x, g))
        return g
