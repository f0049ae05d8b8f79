"""The quantities of lemmas about one round of SFL or PFL, as functions of its trace: each is written once.

The search reads their means over all orders in fractions (`fedtheory.bounds.sfl.rounds`), the worst cases over vectors
(`fedtheory.bounds.sfl.worst_case`).  x* is 0.  Sums run over all local steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from fedtheory.bounds.quantities import FIELD, Quantity
from fedtheory.simulations.exact.trace import Trace, TraceStep

# The statements about one round
SEQUENTIAL = (
    "step.eq28", "step.eq29", "step.eq30", "step.eq31", "step.eq32", "lemma5",
    "step.eq35", "step.eq36", "lemma6",
    "step.sc_recursion", "eq41", "eq41.corrected", "step.gc_recursion", "step.gc_recursion.corrected",
    "step.eq49", "step.eq50", "step.eq50.corrected", "step.eq51", "step.eq51.corrected", "lemma9", "lemma9.corrected",
    "step.eq53", "lemma10",
    "step.eq54_recursion", "step.eq54_recursion.corrected",
    "step.sc_recursion.sharp", "step.sc_recursion.faster", "step.sc_recursion.sharp.sampled",
    "step.gc_recursion.sharp", "step.gc_recursion.corrected.sharp.sampled", "step.eq54_recursion.sharp",
    "step.eq54_recursion.corrected.sharp.sampled",
)  # fmt: skip
PARALLEL = (
    "lemma11", "lemma12", "eq70",
    "lemma13", "lemma13.corrected", "lemma14.corrected",
    "step.eq80_recursion", "step.eq80_recursion.corrected",
    "eq70.sharp", "eq70.faster", "eq70.sharp.sampled", "eq70.sharp.general_convex", "eq70.sharp.general_convex.sampled",
    "step.eq80_recursion.sharp", "step.eq80_recursion.corrected.sharp.sampled",
)  # fmt: skip

OfStep = Callable[[Trace, TraceStep, Sequence[TraceStep]], Any]  # of a local step, and of the steps that lead to it


def _norm(t: Trace, vector: Callable[[TraceStep], Any]) -> Any:
    """||the sum of a vector of each step||^2."""
    return t.total(vector(s) for s in t.steps).square


QUANTITIES: Mapping[str, Quantity] = {
    **{name: FIELD[name] for name in ("dist2", "dist2_next", "grad_sq", "descent")},
    "E_r": FIELD["drift_sum"],
    "D_F": lambda t: t.start.value - t.star.value - t.star.gradient @ t.x,
    "Ecal_r": lambda t: t.sum((s.x - t.x).square for s in t.steps) / t.steps[-1].turn,
    "inner_sum": lambda t: t.total(s.gradient for s in t.steps) @ t.x,
    "cross_sum": lambda t: t.total(s.gradient for s in t.steps) @ t.start.gradient,
    "local_grad_sq": lambda t: t.sum(s.gradient.square for s in t.steps),
    "mean_grad_sq": lambda t: _norm(t, lambda s: s.gradient),
    "step_sq": lambda t: _norm(t, lambda s: s.stochastic),
    "noise_sq": lambda t: _norm(t, lambda s: s.noise),
    "move_sq": lambda t: _norm(t, lambda s: s.gradient - t.at_x(s)),
    "tracked_sq": lambda t: _norm(t, lambda s: t.start.gradient + s.gradient - t.at_x(s)),
    "bias_sq": lambda t: _norm(t, lambda s: t.at_x(s) - t.at_star(s)),
    "star_sq": lambda t: _norm(t, lambda s: t.at_star(s)),
}
OF_STEPS: Mapping[str, OfStep] = {
    "drift_mk": lambda t, s, before: (s.x - t.x).square,
    "B_mk": lambda t, s, before: len(before),
    "noise_upto": lambda t, s, before: t.sum(b.noise.square for b in before),
    "move_upto": lambda t, s, before: t.sum((b.gradient - t.at_x(b)).square for b in before),
    "bias_upto": lambda t, s, before: t.sum((t.at_x(b) - t.at_star(b)).square for b in before),
    "star_upto": lambda t, s, before: t.total(t.at_star(b) for b in before).square,
    "T_1": lambda t, s, before: t.total(t.at_x(b) - t.start.gradient for b in before).square,
    "client_bias_sq": lambda t, s, before: (t.at_x(s) - t.at_star(s)).square,
}


@cache
def of_step(name: str, number: int, sequential: bool) -> Quantity:
    """A quantity of the local step with this number; the steps that lead to it are those before, in PFL of its client."""

    def quantity(t: Trace) -> Any:
        step = t.steps[number]
        first = 0 if sequential else number - step.k
        return OF_STEPS[name](t, step, t.steps[first:number])

    return quantity
