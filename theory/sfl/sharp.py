"""Sharper theorems than the printed ones; `fedtheory.theory.sfl.checks.sharp` proves them.

The constants are ours; the paper claims nothing of this.  `sharp` keeps the printed contraction, `faster` has twice its
rate.  Theorems 1 and 2 are about all clients; (42), (46), (54), (71), (73), (80) are about S of M clients in a round.

We do not claim that they are new.  For K = 1 and sigma = 0, SFL with all clients is random reshuffling, and there is a
theory of its own: Mishchenko, Khaled and Richtarik (NeurIPS 2020), Cha, Lee and Yun (ICML 2023), Liu (COLT 2026), the last
for step sizes of the order 1/L in every step and not in every round.  PFL is local SGD: Khaled, Mishchenko and Richtarik
(AISTATS 2020), Koloskova et al. (ICML 2020).  Their constants are not compared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy
from sympy import Rational, exp, factor_terms

from fedtheory.theory.sfl.corrected import contracting, lemma7_cubic
from fedtheory.theory.sfl.sequential import curved, left_out, r, sampled, w_r
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Application, Condition, Statement, at_most

_0, _1, _half = sympy.Integer(0), sympy.Integer(1), Rational(1, 2)


def _allowed(printed: Statement, span: sympy.Expr) -> list[Condition]:
    """The conditions of a theorem, with `span` times the largest step sizes."""

    def scaled(c: Condition) -> Condition:
        lhs, rhs = c.relation.args
        if lhs == eta_tilde:
            return replace(c, relation=sympy.Le(eta_tilde, span * rhs))
        if eta_tilde in lhs.free_symbols:
            return replace(c, relation=sympy.Le(lhs.subs(eta_tilde, eta_tilde / span), rhs))
        return c  # no upper limit

    return [scaled(c) for c in printed.when]


@dataclass(frozen=True)
class _Recursion:
    """A recursion for one round: what comes after <= (1 - rate eta_tilde) before - progress eta_tilde measure + errors.

    theorem   name of the theorem that it leads to
    step      name of the printed recursion
    suffix    suffix of both
    eta_of    eta_tilde in terms of eta, for S clients
    errors    name -> (power of eta_tilde, factor), for S clients
    progress  see above
    rate      see above
    of_some   whether S of M clients take part; else S = M
    span      the largest step size over the printed one
    """

    theorem: str
    step: str
    suffix: str
    eta_of: sympy.Expr
    errors: Mapping[str, tuple[int, sympy.Expr]]
    progress: sympy.Expr
    rate: sympy.Expr
    of_some: bool
    span: sympy.Expr

    @property
    def recursion(self) -> str:
        """Its name."""
        return recursion_of(self.theorem, self.suffix)

    def state(
        self, after: sympy.Expr, before: sympy.Expr | None, measure: sympy.Expr, when: list[Condition]
    ) -> Statement:
        """The recursion as a statement."""
        kept = {"contraction" if self.rate else "previous": (1 - self.rate * eta_tilde) * before} if before else {}
        errors = {name: factor_terms(factor * eta_tilde**power) for name, (power, factor) in self.errors.items()}
        return sfl.sharpen(
            self.step,
            at_most(after, **kept, progress=-self.progress * eta_tilde * measure, **errors),
            self.recursion.removeprefix(f"{self.step}."),
            when=[*when, *(sampled if self.of_some else [sympy.Eq(S, M)])],
            where={eta_tilde: self.eta_of},
            rests_on=["alg2" if self.eta_of == _parallel else "alg1"],
        )

    def lead(self, quantity: sympy.Expr, optimisation: sympy.Expr, start: sympy.Expr, lemma: str) -> None:
        """The theorem, by Lemma 7 or 8.

        optimisation  its first term
        start         the state at the start
        """
        clients = {} if self.of_some else {S: M}
        errors = {
            name: factor_terms((factor * eta_tilde ** (power - 1) / self.progress).subs(clients))
            for name, (power, factor) in self.errors.items()
        }
        c2, c3 = (sympy.Add(*(f for p, f in self.errors.values() if p == power)).subs(clients) for power in (2, 3))
        weights = {} if quantity == min_grad_sq else {w_r: (1 - self.rate * eta_tilde) ** (-(r + 1))}
        printed = sfl.statements[f"sfl.{self.theorem}"]
        assert printed.applies is not None
        limit = printed.applies.substitution["d"] / self.span
        at = {"b": self.progress, "c2": c3, "d": limit, "r0": start, "T": R}
        at |= {"a": self.rate, "c": c2} if self.rate else {"c1": c2}
        when = _allowed(printed, self.span)
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
        given=[lemma7_cubic],
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


# The free choices of a proof, such as the weights of Young's inequality, and the errors that they lead to

_in_turn, _parallel = S * K * eta, K * eta  # eta_tilde
_k = 1 / (S * K**2)
_of_order = (1 + _k) / S  # what the mean over the random orders leaves of 3 / S, for all clients
_of_sample = _of_order + (M - S) / (M - 1) * (2 - 1 / S - 3 / (S * K)) / S  # and for S of M
_of_steps = (1 - 1 / K) * (1 - 1 / (2 * K))  # none for one local step
_apart = (1 - 1 / S) ** 2 * (1 - 1 / K) / K
_drift = L * zeta_star**2


@dataclass(frozen=True)
class Young:
    """Weights of Young's inequality in a round for convex functions; see `checks.sharp.young_round`."""

    rho: sympy.Expr
    of_noise: sympy.Expr = _1
    curved: sympy.Expr = _0
    traded: sympy.Expr = _0
    theta: sympy.Expr = _0

    def errors(self, eta_of: sympy.Expr) -> _Errors:
        """The errors of a round."""
        sampling = (1 + 1 / self.theta) * left_out * zeta_star**2 if self.theta != 0 else _0
        if eta_of == _in_turn:
            order = _of_sample if self.theta != 0 else _of_order
            return _errors(_0, (1 + self.rho) / 6 * order * _drift, sampling)
        noise_drift = (1 + self.of_noise) / 2 * _apart * L * sigma**2
        return _errors(noise_drift, (1 + self.rho) / 3 * _of_steps * _drift, sampling)

    @property
    def progress(self) -> sympy.Expr:
        """The factor of eta_tilde D_F."""
        return 2 - self.traded


@dataclass(frozen=True)
class ExactSplit:
    """What is left of ||u_t||^2, and the share of ||w_t||^2 that Young takes; see `checks.sharp.exact_round`."""

    least: sympy.Expr
    c: sympy.Expr

    def errors(self, eta_of: sympy.Expr) -> _Errors:
        """The errors of a round."""
        return _errors(
            _0, ((1 + _k) / 6 + _k * self.least / (4 * (1 - self.c))) / (self.least + 1 - self.c) * _drift / S
        )

    @property
    def progress(self) -> sympy.Expr:
        """The factor of eta_tilde D_F."""
        return 2 * _1


@dataclass(frozen=True)
class Rough:
    """Weights in a round for non-convex functions, see `checks.sharp.nonconvex_round`, and what they lead to at most.

    progress       factor of eta_tilde ||grad F||^2
    noise_drift    before sigma^2; for PFL it is that of a client's own noise, and `beside`'s part comes on top
    heterogeneity  before zeta^2
    """

    tau: sympy.Expr
    beside: sympy.Expr
    theta: sympy.Expr
    share: sympy.Expr
    progress: sympy.Expr
    noise_drift: sympy.Expr
    heterogeneity: sympy.Expr
    phi: sympy.Expr = _0

    def errors(self, eta_of: sympy.Expr) -> _Errors:
        """The errors of a round."""
        order = _of_sample if self.phi != 0 else _of_order
        noise_drift, spread = self.noise_drift / (S * K), self.heterogeneity * order
        if eta_of == _parallel:
            noise_drift = (self.noise_drift + 1 / (4 * self.beside * S**2)) * (1 - 1 / K) / K
            spread = self.heterogeneity * _of_steps
        sampling = L / 2 * (1 + self.phi) * left_out * zeta**2 if self.phi != 0 else _0
        return _errors(L**2 * sigma**2 * noise_drift, L**2 * zeta**2 * spread, sampling, L / 2)


Choices = Young | ExactSplit | Rough

# recursion -> its choices; those of the ids in the catalogue
_tenth, _third, _three = Rational(1, 10), Rational(1, 3), sympy.Integer(3)
CHOICES: dict[str, Choices] = {
    "step.sc_recursion.sharp": Young(Rational(5, 106), curved=Rational(21, 40)),
    "step.sc_recursion.faster": Young(Rational(1, 11), curved=Rational(2, 3), traded=Rational(26, 33)),
    "step.sc_recursion.sharp.sampled": Young(Rational(1, 14), curved=Rational(27, 50), theta=_half),
    "step.gc_recursion.sharp": ExactSplit(Rational(2, 3), Rational(1, 12)),
    "step.gc_recursion.corrected.sharp.sampled": Young(Rational(1, 23), theta=_three),
    "step.eq54_recursion.sharp": Rough(
        _third, _half, Rational(2, 15), Rational(17, 144), Rational(3, 4), Rational(13, 8), Rational(3, 8)
    ),
    "eq70.sharp": Young(_tenth, Rational(1, 9), Rational(5, 9)),
    "eq70.faster": Young(_tenth, Rational(2, 9), Rational(50, 81), Rational(8, 9)),
    "eq70.sharp.sampled": Young(_tenth, _third, Rational(5, 9), theta=_half),
    "eq70.sharp.general_convex": Young(Rational(2, 59), Rational(2, 59)),
    "eq70.sharp.general_convex.sampled": Young(Rational(2, 23), Rational(2, 23), theta=_three),
    "step.eq80_recursion.sharp": Rough(
        _third, _half, Rational(2, 15), Rational(17, 144), Rational(3, 4), Rational(9, 8), Rational(3, 4)
    ),
    "step.eq54_recursion.corrected.sharp.sampled": Rough(
        _third, _half, Rational(2, 15), Rational(17, 144), Rational(2, 3), Rational(13, 8), Rational(3, 8), _half
    ),
    "step.eq80_recursion.corrected.sharp.sampled": Rough(
        _third, _half, Rational(2, 15), Rational(17, 144), Rational(5, 7), Rational(9, 8), Rational(3, 4), _half
    ),
}


def declare(
    theorem: str, suffix: str = "sharp", choices: Choices | None = None, span: sympy.Expr = _1
) -> tuple[str, str]:
    """Declare a theorem and the recursion that leads to it; returns the ids of the recursion and of the theorem.

    theorem  a printed or corrected theorem that has a sharper form
    suffix   of both
    choices  of the proof; those of the catalogue unless told
    span     the largest step size over the printed one
    """
    step, eta_of, case = LEADING[theorem]
    of_some = theorem.startswith("eq")
    rate = {"strongly_convex": _1 if suffix.startswith("faster") else _half}.get(case, _0)
    name = recursion_of(theorem, suffix)
    choices = CHOICES[name] if choices is None else choices
    one = _Recursion(theorem, step, suffix, eta_of, choices.errors(eta_of), choices.progress, rate * mu, of_some, span)
    printed = sfl.statements[f"sfl.{theorem}"]
    allowed = [c for c in _allowed(printed, span) if eta_tilde in c.relation.lhs.free_symbols]
    if case == "nonconvex":
        one.state(descent, None, grad_sq, allowed)
        one.lead(min_grad_sq, A / (one.progress * eta_tilde * (R + 1)), A, "lemma8.eq44")
    elif case == "general_convex":
        one.state(dist2_next, dist2, D_F, allowed)
        one.lead(gap, D**2 / (one.progress * eta_tilde * (R + 1)), D**2, "lemma8.eq44")
    else:
        one.state(dist2_next, dist2, D_F, [*allowed, curved])
        lemma = "faster" if rate == 1 else "sharp"
        first = _TIMES[lemma][0] * rate / one.progress * mu * D**2
        one.lead(gap, first * exp(-rate * mu * eta_tilde * (R + 1)), D**2, f"lemma7.eq38.{lemma}")
    return f"sfl.{name}", f"sfl.{theorem}.{suffix}"


def recursion_of(theorem: str, suffix: str) -> str:
    """Name of the recursion that leads to a theorem; one printed recursion leads to several theorems."""
    step, _, case = LEADING[theorem]
    general = ".general_convex" * (step == "eq70" and case == "general_convex")
    return f"{step}.{suffix}{general}{'.sampled' * theorem.startswith('eq')}"


# theorem -> recursion, eta_tilde, case.  Printed in SFL: 3, 12, 18, 18 (9/2 for 3 if strongly convex), and 3, 3, 27/8, 27/8
# if non-convex; in PFL: 3, 12, 18, 12, and 3, 3, 27/8, 9/4; in both 12 for the sampling of clients
LEADING = {
    "thm1.strongly_convex": ("step.sc_recursion", _in_turn, "strongly_convex"),
    "eq42.corrected": ("step.sc_recursion", _in_turn, "strongly_convex"),
    "thm1.general_convex": ("step.gc_recursion", _in_turn, "general_convex"),
    "eq46.corrected": ("step.gc_recursion.corrected", _in_turn, "general_convex"),
    "thm1.nonconvex": ("step.eq54_recursion", _in_turn, "nonconvex"),
    "thm2.strongly_convex": ("eq70", _parallel, "strongly_convex"),
    "eq71": ("eq70", _parallel, "strongly_convex"),
    "thm2.general_convex": ("eq70", _parallel, "general_convex"),
    "eq73": ("eq70", _parallel, "general_convex"),
    "thm2.nonconvex": ("step.eq80_recursion", _parallel, "nonconvex"),
    "eq54.corrected": ("step.eq54_recursion.corrected", _in_turn, "nonconvex"),
    "eq80.corrected": ("step.eq80_recursion.corrected", _parallel, "nonconvex"),
}
for _theorem in LEADING:
    declare(_theorem)
    if _theorem in ("thm1.strongly_convex", "thm2.strongly_convex"):
        declare(_theorem, "faster")


# What no bound on all L-smooth functions can be below, by identical clients with the Huber loss: quadratic up to slope G/L
# from the minimiser, and of slope G beyond.  With G = D / (eta_tilde (R+1) + 1/L) all iterates are on the slope, and so is
# their mean; with G^2 = A / (eta_tilde R + 1/(2L)) all gradients have the norm G.
_convex_least, _rough_least = D**2 / (2 * (eta_tilde * (R + 1) + 1 / L)), A / (eta_tilde * R + 1 / (2 * L))
LEAST = {
    f"sfl.{theorem}.{case}{form}": least
    for theorem in ("thm1", "thm2")
    for case, least in (("general_convex", _convex_least), ("nonconvex", _rough_least))
    for form in ("", ".sharp")
}
