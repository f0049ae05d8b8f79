"""Functions that are flat in one direction, on which single terms of rates are large.

F has mu = 1/kappa and its minimiser at 0.  All clients have L = 1, and those of `twins` half of this mu.
"""

from __future__ import annotations

import numpy as np

from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.kinked import Kinked
from fedtheory.simulations.problems.quadratic import Quadratic, diagonal

ALIKE = "quadratics, the same for all clients"
TWINS = "clients curved along two lines that are close"
KINKED = "a flat valley with a kink on each side"
LOCAL = "on this problem more local steps help, which the rate does not claim"
FAR = 100.0  # (F(x_0) - F_star) / epsilon of a start where the rate is strongly convex


def signs(M: int) -> Array:
    """+1 and -1 in turn, (M,)."""
    return np.where(np.arange(M) % 2 == 0, 1.0, -1.0)


def alike(M: int, kappa: float, sigma: float = 0.0, zeta: float = 0.0, d: int = 2, turned: bool = False) -> Quadratic:
    """Clients with the same curvatures, from 1/kappa to 1, with noise, or with different gradients at 0.

    turned  whether the axes are others than the coordinates', so that blocks of coordinates are coupled
    """
    rng = np.random.default_rng(0)
    slope = rng.standard_normal((M, d))
    slope -= slope.mean(0)
    if zeta:
        slope *= zeta / np.sqrt((slope**2).sum(1).mean())
    plain = diagonal(np.tile(np.geomspace(1 / kappa, 1, d), (M, 1)), slope if zeta else 0.0, sigma, "clients alike")
    if not turned:
        return plain
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H = axes @ plain.H @ axes.T
    return Quadratic((H + H.swapaxes(1, 2)) / 2, plain.b, sigma, plain.name)


def twins(M: int, kappa: float, zeta: float = 0.0, sigma: float = 0.0) -> Quadratic:
    """Two kinds of clients, each curved along one line; the lines are close to one another, so that F is flat between them.

    H_m = a I + (1 - a) u u' with u = (s, +-c) and a = 1/(2 kappa): all clients have L = 1 and mu = a, and s is such that
    the mean is diag(1/kappa, 1 - 1/(2 kappa)).  The gradients at 0 are (0, +-zeta).
    """
    a = 1 / (2 * kappa)
    s2 = a / (1 - a)
    u = np.stack([np.full(M, np.sqrt(s2)), signs(M) * np.sqrt(1 - s2)], axis=1)
    H = a * np.eye(2) + (1 - a) * u[:, :, None] * u[:, None, :]
    return Quadratic(H, np.outer(signs(M), [0.0, zeta]), sigma, "two kinds of clients")


def kinked(M: int, kappa: float, zeta: float = 0.0, sigma: float = 0.0, copies: int = 1) -> Kinked:
    """Curvature 1/kappa, and kinks along two lines that are close: moves across the valley between them push x along it.

    Clients differ by their gradients at 0, (0, +-zeta), everywhere.

    copies  of this pair of coordinates, with zeta / sqrt(copies)
    """
    s = 1 / np.sqrt(kappa)
    lines = np.array([[s, np.sqrt(1 - s**2)], [s, -np.sqrt(1 - s**2)]])
    across = np.tile([0.0, zeta / np.sqrt(copies)], copies)
    plain = diagonal(np.full((M, 2 * copies), 1 / kappa), np.outer(signs(M), across), sigma, "flat valley")
    return Kinked(plain, np.kron(np.eye(copies), lines), 0.5)


def start(problem: Quadratic | Kinked, gap: float, steep: float = 0.1) -> Array:
    """A start with F(x_0) - F_star = gap, all in the flattest direction of F but for the share `steep`.

    Where there are kinks: all in the first coordinate, along the valley.
    """
    if isinstance(problem, Kinked):
        values, vectors, steep = np.diag(problem.plain.mean[0]), np.eye(problem.d), 0.0
    else:
        values, vectors = np.linalg.eigh(problem.mean[0])
    shares = np.full(problem.d, steep / max(problem.d - 1, 1))
    shares[0] = 1 - shares[1:].sum()
    found: Array = vectors @ np.sqrt(2 * gap * shares / values)
    return found
