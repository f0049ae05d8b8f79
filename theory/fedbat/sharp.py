"""Sharper forms of Theorems 1 to 3; `fedtheory.theory.fedbat.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  The printed proofs count a whole round's drift at every step, and
its binarisation and sample of clients too, which happen once in tau steps.  And in them the start decays like 1/T; by the
products of the learning rates it decays like 1/T^2.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr, Rational, sqrt

from fedtheory.theory.fedbat.corrected import _assumed, _falling, from_start
from fedtheory.theory.fedbat.lemmas import curved, small
from fedtheory.theory.fedbat.symbols import *
from fedtheory.theory.fedbat.theorems import alone, balanced, chosen, sampled, shares
from fedtheory.theory.statement import at_most

_so_far = (1 + q**2) * (t - t_0) ** 2 * G**2  # what t - t_0 steps make of the clients' spread, without eta^2
_whole = (1 + q**2) * (tau - 1) * (2 * tau - 1) / 6 * G**2  # its mean over the tau steps of a round

fedbat.sharpen(
    "lemma3.corrected",
    at_most(spread_x, gradients=eta_start**2 * _so_far),
    rests_on=["eq45", "eq47.corrected", "c1.t0"],
)


def _step(name: str, noise: Expr, **changed: Any) -> None:
    """A step with the binarisation that ends a round, if it does, as a term of its own."""
    fedbat.sharpen(
        name,
        at_most(
            Delta_next,
            contraction=(1 - mu * eta_t) * Delta_t,
            noise=eta_t**2 * (noise + 6 * L * Gamma),
            divergence=2 * eta_start**2 * _so_far,
            jump=jump_sq,
        ),
        where={},
        **changed,
    )


_small = [small, curved, *_falling]
_step(
    "eq25.corrected", p_sq * sigma**2, when=[*_small, *shares], given=_assumed,
    rests_on=["eq24", "lemma1", "lemma2.corrected", "lemma3.corrected.sharp"],
)  # fmt: skip
_step(
    "eq57.corrected", sigma**2 / N, when=[*_small, *chosen], given=[*_assumed, balanced],
    rests_on=["eq56", "lemma1", "lemma2.corrected", "lemma3.corrected.sharp"],
)  # fmt: skip
_ends = (from_start + T - 1) * (from_start + T - 2)


def _decreasing(name: str, noise: Expr, jump: Expr, step: str, lemma: str) -> None:
    constant = noise + 6 * L * Gamma + 8 * _whole + 4 * jump / tau
    fedbat.sharpen(
        f"{name}.from_start",
        at_most(
            gap_last,
            noise=2 * L * T * constant / (mu**2 * _ends),
            start=L * (from_start - 1) * (from_start - 2) * d0 / (2 * _ends),
        ),
        rests_on=[step, lemma],
    )


_decreasing("thm1", p_sq * sigma**2, alone, "eq25.corrected.sharp", "lemma4.corrected")
_decreasing("thm2", sigma**2 / N, sampled, "eq57.corrected.sharp", "lemma6.corrected")

_errors = {"divergence": Rational(1, 2) * L**2 * eta**3 * _so_far, "jump": L / 2 * jump_sq}
fedbat.sharpen(
    "eq71.corrected", _errors, when=[L * eta <= 1, *chosen],
    rests_on=["eq70.corrected", "lemma2.corrected", "lemma3.corrected.sharp"],
)  # fmt: skip
fedbat.sharpen(
    "thm3.corrected",
    {"noise": (sigma**2 / N + sampled / tau) / sqrt(T), "divergence": _whole / T},
    rests_on=["eq71.corrected.sharp", "lemma6.corrected"],
)
