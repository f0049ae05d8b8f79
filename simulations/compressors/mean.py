"""G_q of Assumption 5 of the FedCOM paper: how compression changes the mean of the clients' messages."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from fedtheory.simulations.checked import whole
from fedtheory.simulations.compressors.base import Compressor, nothing_lost, squares
from fedtheory.simulations.compressors.signs import Signs
from fedtheory.simulations.constants import Certified
from fedtheory.simulations.problems import Array


def G_q(compressor: Compressor, d: int, m: int) -> Certified:
    """The smallest G_q of Assumption 5 for all x_1 ... x_m in R^d: 0, or the reason why there is none.

    The left side scales with the square of the x_j, so it is unbounded as soon as it is positive somewhere.
    Raises ValueError for an m that is no whole number >= 1.
    """
    whole("m", m)
    if compressor.contraction(d).value == 0:
        return nothing_lost(d)
    if m == 1:
        return Certified(0.0, "exact: the mean over one client is that client's message")
    if isinstance(compressor, Signs) and compressor.alpha is not None:
        return Certified(0.0, "exact: all messages have one norm, which no mean of messages exceeds")
    if compressor.shared:
        return Certified(0.0, "exact: with the same coins for all clients Q is linear, so the two means agree")
    if compressor.unbiased:
        why = "at x_1 = v, x_2 = -v, the others 0, the left side is 2 E||Q(v) - v||^2 / m^2"
    else:
        why = "there are x_1 and x_2 with x_1 + x_2 as small as one likes, but Q(x_1) + Q(x_2) not"
    return Certified(None, f"unbounded: {why}, and it grows with the square of the points")


def G_q_on(compressor: Compressor, points: ArrayLike) -> float:
    """The left side of Assumption 5 at x_1 ... x_m (m, d), E||mean of the Q(x_j)||^2 - E||Q(mean of the x_j)||^2.

    Exact up to rounding: from the closed forms of the errors, or, for a biased compressor, from its law.
    Raises ValueError for points of another shape, or not finite.
    """
    x = np.asarray(points, dtype=float)
    if x.ndim != 2 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"points of shape {x.shape}: expected (m, d), m >= 1, d >= 1, of finite numbers")
    if compressor.shared:
        return 0.0
    m, mean = len(x), x.mean(0)
    if compressor.unbiased:  # the means cancel, the variances do not
        return float(compressor.error(x).sum() / m**2 - compressor.error(mean))
    means, lengths = _by_law(compressor, x)
    variances = lengths.sum() - squares(means).sum()
    return float(variances / m**2 + squares(means.mean(0)) - _by_law(compressor, mean[None])[1][0])


def _by_law(compressor: Compressor, x: Array) -> tuple[Array, Array]:
    """E Q(x) (m, d) and E||Q(x)||^2 (m,), from the laws at x (m, d)."""
    laws = [compressor.law([Fraction(v) for v in point]) for point in x.tolist()]
    means = [[float(sum(p * out[i] for p, out in law)) for i in range(x.shape[1])] for law in laws]
    return np.array(means), np.array([float(sum(p * sum(v * v for v in out) for p, out in law)) for law in laws])
