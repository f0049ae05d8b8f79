"""Sharper forms of the corrected Section D; `fedtheory.theory.fedcom.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  A step's noise meets only the tau - 1 gradients that come later:
with one local step nothing is lost against the printed bound.
"""

from __future__ import annotations

from sympy import Rational

from fedtheory.theory.fedcom.heterogeneous import curved
from fedtheory.theory.fedcom.symbols import *
from fedtheory.theory.statement import Condition, at_most

_later = L * eta * (tau - 1)
_of_noise = (q + 1) / m * (1 + Rational(3, 2) * _later)
_of_gradients = 1 - 1 / m + (q + 1) / m * (1 + _later)
_limit: list[Condition | object] = [L * eta * tau * (_later + _of_gradients * gamma) <= 1]

fedcom.sharpen(
    "lemmaD3.summed",
    at_most(
        drift_mean,
        gradients=eta**2 * tau * (tau - 1) * grad_sq_sum_mean,
        noise=eta**2 * tau * (tau - 1) * sigma**2,
    ),
    rests_on=["alg1"],
)
fedcom.sharpen(
    "lemmaD1.corrected",
    at_most(message_sq, gradients=_of_gradients * tau * grad_sq_sum_mean, noise=_of_noise * tau * sigma**2),
    when=[],
    rests_on=["lemmaD3.summed.sharp"],
)
_rests_on = ["lemmaD1.corrected.sharp", "lemmaD2.corrected", "lemmaD3.summed.sharp"]
fedcom.sharpen(
    "thmD4.corrected",
    {"noise": L * eta * gamma * _of_noise * sigma**2, "drift": L**2 * eta**2 * (tau - 1) * sigma**2},
    when=_limit,
    rests_on=_rests_on,
)
fedcom.sharpen(
    "thmD7.corrected",
    {
        "drift": L**2 * (tau - 1) * eta**2 * sigma**2 / (2 * mu),
        "noise": _of_noise * gamma * eta * L * sigma**2 / (2 * mu),
    },
    when=[*_limit, curved],
    rests_on=_rests_on,
)
