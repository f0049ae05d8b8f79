"""Sharper theorems than the printed ones, for all M clients in every round; `theory.sfl.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  `sharp` keeps the printed contraction, `faster` has twice its
rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy
from sympy import Rational, exp, factor_terms

from theory.sfl.corrected import contracting, lemma7_cubic
from theory.sfl.sequential import curved, r, w_r
from theory.sfl.symbols import *
from theory.statement import Application, Condition, Statement, at_most

_1, _half = sympy.Integer(1), Rational(1, 2)
_small: list[Condition | sympy.Basic] = [eta_tilde <= 1 / (6 * L)]
_everyone = sympy.Eq(S, M)


@dataclass(frozen=True)
class _Round:
    """A recursion for one round: what comes after <= (1 - rate eta_tilde) before - progress eta_tilde measure + errors.

    theorem  name of the theorem that it leads to
    step     name of the printed recursion
    suffix   suffix of both
    eta_of   eta_tilde in terms of eta
    errors   name -> (power of eta_tilde, factor)
    """

    theorem: str
    step: str
    suffix: str
    eta_of: sympy.Expr
    errors: Mapping[str, tuple[int, sympy.Expr]]
    progress: sympy.Expr
    rate: sympy.Expr = sympy.S.Zero

    def state(
        self, after: sympy.Expr, before: sympy.Expr | None, measure: sympy.Expr, when: list[Condition]
    ) -> Statement:
        """The recursion as a statement."""
        kept = {"contraction" if self.rate else "previous": (1 - self.rate * eta_tilde) * before} if before else {}
        errors = {name: factor_terms(factor * eta_tilde**power) for name, (power, factor) in self.errors.items()}
        return sfl.sharpen(
            self.step,
            at_most(after, **kept, progress=-self.progress * eta_tilde * measure, **errors),
            self._suffix,
            when=[*when, _everyone],
            where={eta_tilde: self.eta_of},
            assumes=[sfl.statements[id_] for id_ in sfl.statements[f"sfl.{self.theorem}"].assumes],
            rests_on=["alg1" if self.theorem.startswith("thm1") else "alg2"],
        )

    @property
    def _suffix(self) -> str:
        """One printed recursion leads to two theorems of PFL."""
        return f"{self.suffix}.general_convex" if self.step == "eq70" and not self.rate else self.suffix

    def lead(
        self, quantity: sympy.Expr, optimisation: sympy.Expr, start: sympy.Expr, lemma: str, d: sympy.Expr
    ) -> None:
        """The theorem, by Lemma 7 or 8.

        optimisation  its first term
        start         the state at the start
        d             1 / the largest step size
        """
        errors = {
            name: factor_terms(factor * eta_tilde ** (power - 1) / self.progress)
            for name, (power, factor) in self.errors.items()
        }
        by_power = [sympy.Add(*(f for p, f in self.errors.values() if p == power)) for power in (2, 3)]
        weights = {} if quantity == min_grad_sq else {w_r: (1 - self.rate * eta_tilde) ** (-(r + 1))}
        at = {"b": self.progress, "c2": by_power[1], "d": d, "r0": start, "T": R}
        at |= {"a": self.rate, "c": by_power[0]} if self.rate else {"c1": by_power[0]}
        sfl.sharpen(
            self.theorem,
            at_most(quantity, optimisation=optimisation, **errors),
            self.suffix,
            when=[c for c in sfl.statements[f"sfl.{self.theorem}"].when if S not in c.relation.free_symbols],
            where={eta_tilde: self.eta_of} | weights,
            rests_on=[f"{self.step}.{self._suffix}", lemma],
            applies=Application(
                *(("sfl.lemma7", at, "sfl.lemma7.eq39") if self.rate else ("sfl.lemma8", at, "sfl.lemma8.eq45"))
            ),
        )


# Lemma 7 with a smaller constant than 3, which needs a gamma (T + 1) >= least

_TIMES = {"sharp": (Rational(318, 125), _half), "faster": (Rational(1306, 825), _1)}

for _name, (_times, _least) in _TIMES.items():
    sfl.sharpen(
        "lemma7.eq38",
        at_most(
            Psi_T,
            optimisation=_times * a * r0 * exp(-a * gamma * (T + 1)),
            second_order=c1 * gamma,
            third_order=c2 * gamma**2,
        ),
        _name,
        assumes=[lemma7_cubic],
        when=[*contracting, _least / (a * gamma) <= T + 1],
        where={},
        rests_on=["lemma7.cubic"],
    )


def _errors(noise: sympy.Expr, noise_drift: sympy.Expr, drift: sympy.Expr) -> dict[str, tuple[int, sympy.Expr]]:
    """Those of a round; no entry for a factor 0."""
    named = {"noise": (2, noise), "noise_drift": (3, noise_drift), "heterogeneity": (3, drift)}
    return {name: (power, factor) for name, (power, factor) in named.items() if factor != 0}


def _general_convex(theorem: str, step: str, eta_of: sympy.Expr, noise_drift: sympy.Expr, drift: sympy.Expr) -> None:
    one = _Round(theorem, step, "sharp", eta_of, _errors(sigma**2 / (M * K), noise_drift, drift), sympy.Integer(2))
    one.state(dist2_next, dist2, D_F, _small)
    one.lead(gap, D**2 / (2 * eta_tilde * (R + 1)), D**2, "lemma8.eq44", 6 * L)


def _strongly_convex(
    theorem: str,
    step: str,
    suffix: str,
    eta_of: sympy.Expr,
    rate: sympy.Expr,
    progress: sympy.Expr,
    noise_drift: sympy.Expr,
    drift: sympy.Expr,
) -> None:
    errors = _errors(sigma**2 / (M * K), noise_drift, drift)
    one = _Round(theorem, step, suffix, eta_of, errors, progress, rate * mu)
    one.state(dist2_next, dist2, D_F, [*_small, curved])
    first = _TIMES[suffix][0] * rate / progress * mu * D**2
    one.lead(gap, first * exp(-rate * mu * eta_tilde * (R + 1)), D**2, f"lemma7.eq38.{suffix}", 6 * L)


def _nonconvex(theorem: str, step: str, eta_of: sympy.Expr, noise_drift: sympy.Expr, drift: sympy.Expr) -> None:
    errors = _errors(_half * L * sigma**2 / (M * K), noise_drift, drift)
    one = _Round(theorem, step, "sharp", eta_of, errors, Rational(3, 4))
    one.state(descent, None, grad_sq, [eta_tilde <= 1 / (6 * L * (beta + 1))])
    one.lead(min_grad_sq, A / (one.progress * eta_tilde * (R + 1)), A, "lemma8.eq44", 6 * L * (beta + 1))


# SFL.  Printed: 3, 12, 18, 18 (9/2 for 3 if strongly convex), and 3, 3, 27/8, 27/8

_in_turn, _k = M * K * eta, 1 / (M * K**2)
_of_order = (1 + _k) / M  # what the mean over the random orders leaves: for K = 1 and large M, a third of 3 / M

_strongly_convex(
    "thm1.strongly_convex", "step.sc_recursion", "sharp", _in_turn, _half, sympy.Integer(2), sympy.S.Zero,
    Rational(37, 212) * _of_order * L * zeta_star**2,
)  # fmt: skip
_strongly_convex(
    "thm1.strongly_convex", "step.sc_recursion", "faster", _in_turn, _1, Rational(40, 33), sympy.S.Zero,
    Rational(2, 11) * _of_order * L * zeta_star**2,
)  # fmt: skip
_general_convex(
    "thm1.general_convex", "step.gc_recursion", _in_turn, sympy.S.Zero,
    (Rational(2, 19) + Rational(46, 209) * _k) * L * zeta_star**2 / M,
)  # fmt: skip
_nonconvex(
    "thm1.nonconvex", "step.eq54_recursion", _in_turn, Rational(13, 8) * L**2 * sigma**2 / (M * K),
    Rational(3, 8) * _of_order * L**2 * zeta**2,
)  # fmt: skip

# PFL.  Printed: 3, 12, 18, 12 (9/2 for 3 if strongly convex), and 3, 3, 27/8, 9/4

_parallel = K * eta
_of_steps = (1 - 1 / K) * (1 - 1 / (2 * K))  # none for one local step
_of_noise = (1 - 1 / M) ** 2 * (1 - 1 / K) / K


def _both(of_noise: Rational, rho: Rational) -> tuple[sympy.Expr, sympy.Expr]:
    """The errors of the drift, from the weights of Young's inequality."""
    return (1 + of_noise) / 2 * _of_noise * L * sigma**2, (1 + rho) / 3 * _of_steps * L * zeta_star**2


_strongly_convex(
    "thm2.strongly_convex", "eq70", "sharp", _parallel, _half, sympy.Integer(2), *_both(Rational(1, 9), Rational(1, 10))
)
_strongly_convex(
    "thm2.strongly_convex", "eq70", "faster", _parallel, _1, Rational(10, 9), *_both(Rational(2, 9), Rational(1, 10))
)
_general_convex("thm2.general_convex", "eq70", _parallel, *_both(Rational(2, 59), Rational(2, 59)))
_nonconvex(
    "thm2.nonconvex", "step.eq80_recursion", _parallel,
    (Rational(9, 8) + 1 / (2 * M**2)) * (1 - 1 / K) / K * L**2 * sigma**2,
    Rational(3, 4) * _of_steps * L**2 * zeta**2,
)  # fmt: skip
