"""Sharper theorems than the printed ones; `theory.sfl.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  `sharp` keeps the printed contraction, `faster` has twice its
rate.  Theorems 1 and 2 are about all clients; (42), (46), (71), (73) are about S of M clients in a round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy
from sympy import Rational, exp, factor_terms

from theory.sfl.corrected import contracting, lemma7_cubic
from theory.sfl.sequential import curved, left_out, r, sampled, w_r
from theory.sfl.symbols import *
from theory.statement import Application, Condition, Statement, at_most

_0, _1, _half = sympy.Integer(0), sympy.Integer(1), Rational(1, 2)
_small: list[Condition | sympy.Basic] = [eta_tilde <= 1 / (6 * L)]


@dataclass(frozen=True)
class _Round:
    """A recursion for one round: what comes after <= (1 - rate eta_tilde) before - progress eta_tilde measure + errors.

    theorem   name of the theorem that it leads to
    step      name of the printed recursion
    suffix    suffix of both
    eta_of    eta_tilde in terms of eta, for S clients
    errors    name -> (power of eta_tilde, factor), for S clients
    progress  see above
    rate      see above
    of_some   whether S of M clients take part; else S = M
    """

    theorem: str
    step: str
    suffix: str
    eta_of: sympy.Expr
    errors: Mapping[str, tuple[int, sympy.Expr]]
    progress: sympy.Expr
    rate: sympy.Expr = sympy.S.Zero
    of_some: bool = False

    @property
    def recursion(self) -> str:
        """Name of the recursion: one printed recursion leads to several theorems."""
        general = ".general_convex" * (self.step == "eq70" and not self.rate)
        return f"{self.step}.{self.suffix}{general}{'.sampled' * self.of_some}"

    def state(
        self, after: sympy.Expr, before: sympy.Expr | None, measure: sympy.Expr, when: list[Condition]
    ) -> Statement:
        """The recursion as a statement."""
        kept = {"contraction" if self.rate else "previous": (1 - self.rate * eta_tilde) * before} if before else {}
        errors = {name: factor_terms(factor * eta_tilde**power) for name, (power, factor) in self.errors.items()}
        printed = sfl.statements[f"sfl.{self.theorem}"]
        return sfl.sharpen(
            self.step,
            at_most(after, **kept, progress=-self.progress * eta_tilde * measure, **errors),
            self.recursion.removeprefix(f"{self.step}."),
            when=[*when, *(sampled if self.of_some else [sympy.Eq(S, M)])],
            where={eta_tilde: self.eta_of},
            assumes=[sfl.statements[id_] for id_ in printed.assumes],
            rests_on=["alg2" if self.step in ("eq70", "step.eq80_recursion") else "alg1"],
        )

    def lead(
        self, quantity: sympy.Expr, optimisation: sympy.Expr, start: sympy.Expr, lemma: str, d: sympy.Expr
    ) -> None:
        """The theorem, by Lemma 7 or 8.

        optimisation  its first term
        start         the state at the start
        d             1 / the largest step size
        """
        clients = {} if self.of_some else {S: M}
        errors = {
            name: factor_terms((factor * eta_tilde ** (power - 1) / self.progress).subs(clients))
            for name, (power, factor) in self.errors.items()
        }
        c2, c3 = (sympy.Add(*(f for p, f in self.errors.values() if p == power)).subs(clients) for power in (2, 3))
        weights = {} if quantity == min_grad_sq else {w_r: (1 - self.rate * eta_tilde) ** (-(r + 1))}
        at = {"b": self.progress, "c2": c3, "d": d, "r0": start, "T": R}
        at |= {"a": self.rate, "c": c2} if self.rate else {"c1": c2}
        when = sfl.statements[f"sfl.{self.theorem}"].when
        sfl.sharpen(
            self.theorem,
            at_most(quantity, optimisation=optimisation, **errors),
            self.suffix,
            when=[c for c in when if self.of_some or S not in c.relation.free_symbols],
            where={eta_tilde: self.eta_of.subs(clients)} | weights,
            rests_on=[self.recursion, lemma],
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

_Errors = dict[str, tuple[int, sympy.Expr]]


def _errors(
    noise_drift: sympy.Expr, heterogeneity: sympy.Expr, sampling: sympy.Expr = _0, noise: sympy.Expr = _1
) -> _Errors:
    """Those of a round; no entry for a factor 0."""
    named = {
        "noise": (2, noise * sigma**2 / (S * K)),
        "sampling": (2, sampling),
        "noise_drift": (3, noise_drift),
        "heterogeneity": (3, heterogeneity),
    }
    return {name: (power, factor) for name, (power, factor) in named.items() if factor != 0}


def _general_convex(theorem: str, step: str, eta_of: sympy.Expr, errors: _Errors) -> None:
    one = _Round(theorem, step, "sharp", eta_of, errors, sympy.Integer(2), of_some="sampling" in errors)
    one.state(dist2_next, dist2, D_F, _small)
    one.lead(gap, D**2 / (2 * eta_tilde * (R + 1)), D**2, "lemma8.eq44", 6 * L)


def _strongly_convex(
    theorem: str,
    step: str,
    eta_of: sympy.Expr,
    errors: _Errors,
    suffix: str = "sharp",
    rate: sympy.Expr = _half,
    progress: sympy.Expr = 4 * _half,
) -> None:
    one = _Round(theorem, step, suffix, eta_of, errors, progress, rate * mu, "sampling" in errors)
    one.state(dist2_next, dist2, D_F, [*_small, curved])
    first = _TIMES[suffix][0] * rate / progress * mu * D**2
    one.lead(gap, first * exp(-rate * mu * eta_tilde * (R + 1)), D**2, f"lemma7.eq38.{suffix}", 6 * L)


def _nonconvex(theorem: str, step: str, eta_of: sympy.Expr, noise_drift: sympy.Expr, drift: sympy.Expr) -> None:
    errors = _errors(L**2 * sigma**2 * noise_drift, L**2 * zeta**2 * drift, noise=L / 2)
    one = _Round(theorem, step, "sharp", eta_of, errors, Rational(3, 4))
    one.state(descent, None, grad_sq, [eta_tilde <= 1 / (6 * L * (beta + 1))])
    one.lead(min_grad_sq, A / (one.progress * eta_tilde * (R + 1)), A, "lemma8.eq44", 6 * L * (beta + 1))


# SFL.  Printed: 3, 12, 18, 18 (9/2 for 3 if strongly convex), and 3, 3, 27/8, 27/8; 12 for the sampling of clients

_in_turn, _k = S * K * eta, 1 / (S * K**2)
_of_order = (1 + _k) / S  # what the mean over the random orders leaves of 3 / S, for all clients
_of_sample = _of_order + (M - S) / (M - 1) * (2 - 1 / S - 3 / (S * K)) / S  # and for S of M
_drift = L * zeta_star**2

_strongly_convex(
    "thm1.strongly_convex", "step.sc_recursion", _in_turn, _errors(_0, Rational(37, 212) * _of_order * _drift)
)
_strongly_convex(
    "thm1.strongly_convex", "step.sc_recursion", _in_turn, _errors(_0, Rational(2, 11) * _of_order * _drift),
    "faster", _1, Rational(40, 33),
)  # fmt: skip
_strongly_convex(
    "eq42.corrected", "step.sc_recursion", _in_turn,
    _errors(_0, Rational(5, 28) * _of_sample * _drift, 3 * left_out * zeta_star**2),
)  # fmt: skip
_general_convex(
    "thm1.general_convex", "step.gc_recursion", _in_turn,
    _errors(_0, (Rational(2, 19) + Rational(46, 209) * _k) * _drift / S),
)  # fmt: skip
_general_convex(
    "eq46.corrected", "step.gc_recursion.corrected", _in_turn,
    _errors(_0, Rational(4, 23) * _of_sample * _drift, Rational(4, 3) * left_out * zeta_star**2),
)  # fmt: skip
_nonconvex("thm1.nonconvex", "step.eq54_recursion", _in_turn, Rational(13, 8) / (S * K), Rational(3, 8) * _of_order)

# PFL.  Printed: 3, 12, 18, 12 (9/2 for 3 if strongly convex), and 3, 3, 27/8, 9/4; 12 for the sampling of clients

_parallel = K * eta
_of_steps = (1 - 1 / K) * (1 - 1 / (2 * K))  # none for one local step


def _both(of_noise: Rational, rho: Rational, sampling: sympy.Expr = _0) -> _Errors:
    """The errors of a round, from the weights of Young's inequality."""
    noise_drift = (1 + of_noise) / 2 * (1 - 1 / S) ** 2 * (1 - 1 / K) / K * L * sigma**2
    return _errors(noise_drift, (1 + rho) / 3 * _of_steps * _drift, sampling * left_out * zeta_star**2)


_strongly_convex("thm2.strongly_convex", "eq70", _parallel, _both(Rational(1, 9), Rational(1, 10)))
_strongly_convex(
    "thm2.strongly_convex", "eq70", _parallel, _both(Rational(2, 9), Rational(1, 10)), "faster", _1, Rational(10, 9)
)
_strongly_convex("eq71", "eq70", _parallel, _both(Rational(1, 3), Rational(1, 10), sympy.Integer(3)))
_general_convex("thm2.general_convex", "eq70", _parallel, _both(Rational(2, 59), Rational(2, 59)))
_general_convex("eq73", "eq70", _parallel, _both(Rational(2, 23), Rational(2, 23), Rational(4, 3)))
_nonconvex(
    "thm2.nonconvex", "step.eq80_recursion", _parallel,
    (Rational(9, 8) + 1 / (2 * S**2)) * (1 - 1 / K) / K, Rational(3, 4) * _of_steps,
)  # fmt: skip
