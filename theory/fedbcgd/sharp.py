"""Sharper forms of the corrected Theorem 1; `theory.fedbcgd.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  The step sizes are those of the corrected theorem.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Rational, exp, factor_terms

from theory.fedbcgd.corrected import _clients, _curved, _limit1, _quarter, spread
from theory.fedbcgd.setting import alike, at_rest, convex, independent, smooth_clients, strongly_convex, unbiased
from theory.fedbcgd.symbols import *
from theory.statement import Statement, at_most

_setting = [smooth_clients, unbiased, independent, alike]
_no_first_step, _of_steps = 1 - 1 / T, (1 - 1 / T) * (1 - 1 / (2 * T))  # a round of one step has no drift


def _noises(sampling: Rational, noise_drift: Rational, heterogeneity: Rational) -> dict[str, sympy.Expr]:
    """The errors of a round over its progress 8 eta_tilde, from the constants of Young's inequality."""
    return {
        "sampling": 2 * sampling * spread * eta_tilde * G**2,
        "noise": 2 * eta_tilde * sigma**2 / (T * K),
        "heterogeneity": Rational(8, 3) * heterogeneity * _of_steps * beta * eta_tilde**2 / alpha * G**2,
        "noise_drift": 4
        * noise_drift
        * (1 - 1 / K) ** 2
        * _no_first_step
        * beta
        * eta_tilde**2
        / (alpha * T)
        * sigma**2,
    }


def _times(factor: sympy.Expr, terms: dict[str, sympy.Expr]) -> dict[str, sympy.Expr]:
    return {name: factor_terms(factor * term) for name, term in terms.items()}


def _recursion(suffix: str, rate: sympy.Expr, weight: sympy.Expr, progress: sympy.Expr, **changed: Any) -> Statement:
    """The distance and the weighted gap a round later; without a rate both are kept."""
    return fedbcgd.sharpen(
        "thm1.step50.corrected",
        at_most(
            dist_next + weight * gap_x,
            before=(1 - rate) * dist_sq,
            gap_before=(1 - rate) * weight * gap_x_prev,
            progress=-progress * eta_tilde * gap_x,
            **_times(8 * eta_tilde, _convex if rate == 0 else _curved_noises),
        ),
        suffix,
        rests_on=["thm1.step46.corrected", "alg1.corrected"],
        **changed,
    )


_rate = 2 * mu * eta_tilde / alpha
_weight = 8 * eta_tilde * gamma * (1 + Rational(16, 15) * _rate)
_kept = Rational(112, 15)  # of the progress 8 eta_tilde, once the weighted gap of the round before contracts
_convex = _noises(Rational(6, 5), Rational(33, 31), Rational(33, 31))
_curved_noises = _noises(Rational(5, 3), Rational(6, 5), Rational(11, 10))

_recursion(
    "sharp", _rate, _weight, _kept, when=[*_limit1, *_curved], where=_quarter, assumes=[strongly_convex, *_setting]
)
_recursion(
    "sharp.general_convex", sympy.S.Zero, 8 * eta_tilde * gamma, sympy.Integer(8),
    when=[*_limit1, *_clients], where=_quarter, assumes=[convex, *_setting],
)  # fmt: skip
fedbcgd.sharpen(
    "thm1.strongly_convex.corrected",
    at_most(
        gap_xbar,
        optimisation=Rational(17, 40)
        * mu
        / alpha
        * (d0 + Rational(128, 15) * eta_tilde * gamma * F)
        * exp(-_rate * (R + 1)),
        **_times(8 / _kept, _curved_noises),
    ),
    when=[*_limit1, 1 / _rate <= R + 1, *_curved],
    where={**_quarter, w_r: (1 - _rate) ** (-(r + 1))},
    assumes=[strongly_convex, *_setting, at_rest],
    rests_on=["thm1.step50.corrected.sharp"],
)
fedbcgd.sharpen(
    "thm1.general_convex.corrected",
    at_most(gap_xbar, optimisation=(d0 + 8 * eta_tilde * gamma * F) / (8 * eta_tilde * (R + 1)), **_convex),
    when=[*_limit1, *_clients],
    where={**_quarter, w_r: 1},
    assumes=[convex, *_setting, at_rest],
    rests_on=["thm1.step50.corrected.sharp.general_convex"],
)
_momentum = 1 + 8 * beta * eta_tilde * gamma**2
fedbcgd.sharpen(
    "thm1.nonconvex.corrected",
    at_most(
        avg_grad_sq,
        optimisation=F / (2 * eta_tilde * R),
        sampling=6 * beta * eta_tilde * _momentum * spread * G**2,
        noise=4 * (1 + _no_first_step / (2 * K)) * beta * eta_tilde * _momentum * sigma**2 / (T * K),
        heterogeneity=Rational(200, 21) * _of_steps * beta**2 * eta_tilde**2 / alpha**2 * G**2,
        noise_drift=Rational(100, 7) * _no_first_step * beta**2 * eta_tilde**2 / (alpha**2 * T) * sigma**2,
    ),
    rests_on=["thm1.step55", "thm1.step59.corrected", "alg1.corrected"],
)
