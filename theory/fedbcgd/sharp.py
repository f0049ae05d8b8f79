"""Sharper forms of the corrected Theorem 1; `fedtheory.theory.fedbcgd.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  The step sizes are those of the corrected theorem.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy
from sympy import Expr, Rational, exp, factor_terms

from fedtheory.theory.fedbcgd.corrected import _clients, _curved, spread
from fedtheory.theory.fedbcgd.setting import *
from fedtheory.theory.statement import at_most

_setting = [smooth_clients, unbiased, independent, alike]
_no_first_step, _of_steps = 1 - 1 / T, (1 - 1 / T) * (1 - 1 / (2 * T))  # a round of one step has no drift
_rate = 2 * mu * eta_tilde / alpha


@dataclass(frozen=True)
class Young:
    """Weights of Young's inequality in a round for convex functions; see `checks.sharp.convex_round`."""

    phi: Expr
    rho: Expr
    of_noise: Expr
    curved: Expr = sympy.S.Zero

    @property
    def noises(self) -> dict[str, Expr]:
        """The errors of a round over the progress 8 eta_tilde."""
        drift = beta * eta_tilde**2 / alpha
        noise_drift = 4 * (1 + self.of_noise) * (1 - 1 / K) ** 2 * _no_first_step * drift / T * sigma**2
        return {
            "sampling": 2 * (1 + 1 / self.phi) * spread * eta_tilde * G**2,
            "noise": 2 * eta_tilde * sigma**2 / (T * K),
            "heterogeneity": Rational(8, 3) * (1 + self.rho) * _of_steps * drift * G**2,
            "noise_drift": noise_drift,
        }


def _times(factor: Expr, terms: dict[str, Expr]) -> dict[str, Expr]:
    return {name: factor_terms(factor * term) for name, term in terms.items()}


CHOICES = {
    "strongly_convex": Young(Rational(3, 2), Rational(1, 10), Rational(1, 5), Rational(5, 9)),
    "general_convex": Young(sympy.Integer(5), Rational(2, 31), Rational(2, 31)),
}


def declare(
    case: str, suffix: str = "sharp", choices: Young | None = None, span: Expr = sympy.S.One
) -> tuple[str, str]:
    """Declare Theorem 1 for a case, and the recursion that leads to it; returns the ids of both.

    suffix   of both
    choices  of the proof; those of the catalogue unless told
    span     the largest step size over the printed one
    """
    strongly, noises = case == "strongly_convex", (choices or CHOICES[case]).noises
    limit = [eta_tilde <= span / (32 * beta)]
    # The weighted gap of the round before must contract like the distance.  It takes a part of the progress.
    most = span / 16 if strongly else sympy.S.Zero  # of the rate
    rate = _rate if strongly else sympy.S.Zero
    weight, kept = 8 * eta_tilde * gamma * (1 + rate / (1 - most)), 8 * (1 - 2 * most) / (1 - most)
    when = [*limit, *(_curved if strongly else _clients)]
    assumes = [strongly_convex if strongly else convex, *_setting]
    step = fedbcgd.sharpen(
        "thm1.step50.corrected",
        at_most(
            dist_next + weight * gap_x,
            before=(1 - rate) * dist_sq,
            gap_before=(1 - rate) * weight * gap_x_prev,
            progress=-kept * eta_tilde * gap_x,
            **_times(8 * eta_tilde, noises),
        ),
        suffix if strongly else f"{suffix}.{case}",
        when=when,
        given=assumes,
        rests_on=["thm1.step46.corrected", "alg1.corrected"],
    )
    first = (d0 + 8 * eta_tilde * gamma * F) / (kept * eta_tilde * (R + 1))
    if strongly:
        start = d0 + 8 / (1 - most) * eta_tilde * gamma * F
        first = Rational(2612, 825) / kept * mu / alpha * start * exp(-_rate * (R + 1))
        when = [*limit, 1 / _rate <= R + 1, *_curved]
    theorem = fedbcgd.sharpen(
        f"thm1.{case}.corrected",
        at_most(gap_xbar, optimisation=first, **_times(8 / kept, noises)),
        suffix,
        when=when,
        given=[*assumes, at_rest],
        rests_on=[step.id.removeprefix("fedbcgd.")],
    )
    return step.id, theorem.id


for _case in CHOICES:
    declare(_case)
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
