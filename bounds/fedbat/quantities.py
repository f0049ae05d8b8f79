"""The quantities of a local step t of FedBAT, as functions of the traces of its round: each is written once.

The search reads them in fractions (`fedtheory.bounds.fedbat.rounds`), the worst cases over vectors
(`fedtheory.bounds.fedbat.worst_case`).  Sums over k have the clients' weights p_k; expectations are in the traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedtheory.bounds.quantities import mean
from fedtheory.simulations.exact.enumerated import EnumeratedRound


@dataclass(frozen=True, eq=False)
class StepInRound:
    """Local step t of a round that begins with step t_0, and the round's steps before."""

    round: EnumeratedRound
    before: Sequence[StepInRound]

    k = property(lambda s: len(s.before))  # t - t_0
    trace = property(lambda s: s.round.trace)  # with the first sample: up to the new model all are the same
    eta = property(lambda s: s.round.rates[s.k])  # eta_t
    synchronises = property(lambda s: s.k + 1 == s.round.tau)
    # Of each client: its step, whose point is F_k at x_t^k; x_t^k, w_t^k, v_{t+1}^k, S_m(v_{t+1}^k), gradients at x_t^k
    steps = cached_property(lambda s: [turn[s.k] for turn in s.trace.turns])
    x = cached_property(lambda s: [step.x for step in s.steps])
    w = cached_property(lambda s: s.round.parameters(s.k))
    v = cached_property(lambda s: s.round.parameters(s.k + 1))
    sent = cached_property(lambda s: [s.trace.x + code for code in s.trace.coded[s.k + 1][1]])
    g = cached_property(lambda s: [step.stochastic for step in s.steps])
    local = cached_property(lambda s: [step.gradient for step in s.steps])
    # The same with w_t^k: the noise there, of the same sample, and the stochastic gradient; grad F_k(wbar_t)
    noise_w = cached_property(lambda s: [s.round.noise(n, n + 1, s.k, w) for n, w in enumerate(s.w)])
    g_w = cached_property(
        lambda s: [f.at(w).gradient + e for f, w, e in zip(s.trace.functions, s.w, s.noise_w, strict=True)]
    )
    own_bar = cached_property(lambda s: [f.at(s.w_bar).gradient for f in s.trace.functions])
    # Means over the clients: wbar_t, vbar_{t+1}, g_t, gbar_t; F at wbar_t; wbar_{t+1}, for each sample
    w_bar = cached_property(lambda s: s.mean(s.w))
    v_bar = cached_property(lambda s: s.mean(s.v))
    g_t = cached_property(lambda s: s.mean(s.g))
    g_bar = cached_property(lambda s: s.mean(s.local))
    bar = cached_property(lambda s: s.trace.F(s.w_bar))
    after = cached_property(lambda s: [t.end for t in s.round.samples.values()] if s.synchronises else [s.v_bar])
    # F^*, and sum_k p_k of F_k(x_t^k) and of F_k^*
    F_star = cached_property(lambda s: s.trace.F(s.round.star).value)
    F_x = cached_property(lambda s: s.mean([step.point.value for step in s.steps]))
    F_lowest = cached_property(lambda s: s.mean(s.round.lowest))

    def mean(self, items: Sequence[Any]) -> Any:
        """sum_k p_k of vectors, or of numbers."""
        return self.trace.mean(items)

    def mean_sq(self, vectors: Sequence[Any], centre: Any = None) -> Any:
        """sum_k p_k ||.||^2 of vectors, or of what lies between them and a centre."""
        return self.mean([(v if centre is None else v - centre).square for v in vectors])

    def parts_sq(self, vectors: Sequence[Any]) -> Any:
        """sum_k p_k^2 ||.||^2 of vectors."""
        p, squares = self.trace.weights, [v.square for v in vectors]
        if p is None:
            return self.trace.sum(squares) / len(squares) ** 2
        return self.trace.sum(square * share**2 for square, share in zip(squares, p, strict=True))


def _inner(s: StepInRound, left: Sequence[Any], right: Sequence[Any]) -> Any:
    return s.mean([a @ b for a, b in zip(left, right, strict=True)])


def _error(s: StepInRound, i: int) -> Any:
    """S_m(v_{t+1}^k) - v_{t+1}^k of a client."""
    return s.sent[i] - s.v[i]


OfStep = Callable[[StepInRound], Any]


def _sampled(of: Callable[[StepInRound, Sequence[int]], Any]) -> OfStep:
    """The mean over the samples of the clients."""
    return lambda s: mean(of(s, some) for some in s.round.samples)


OF_STEP: dict[str, OfStep] = {
    "F_bar": lambda s: s.bar.value,
    "F_v": lambda s: s.trace.F(s.v_bar).value,
    "spread_x": lambda s: s.mean_sq(s.x, s.w_bar),
    "spread_w": lambda s: s.mean_sq(s.w, s.w_bar),
    "binarised_sq": lambda s: s.mean([(w - x).square for w, x in zip(s.w, s.x, strict=True)]),
    "moved_sq": lambda s: s.mean_sq(s.w, s.trace.x),
    "steps_mean": lambda s: s.mean([OF_CLIENTS["steps_sq"](s, i) for i in range(len(s.w))]) * (s.round.tau - 1),
    "noise_sq": lambda s: (s.g_t - s.g_bar).square,
    "gbar_sq": lambda s: s.g_bar.square,
    "g_sq": lambda s: s.g_t.square,
    "grads_x_sq": lambda s: s.mean_sq(s.local),
    "grads_bar_sq": lambda s: s.mean_sq(s.own_bar),
    "grad_sq": lambda s: s.bar.gradient.square,
    "apart_sq": lambda s: (s.bar.gradient - s.g_t).square,
    "apart_bar_sq": lambda s: (s.bar.gradient - s.g_bar).square,
    "inner_move": lambda s: _inner(s, [s.w_bar - x for x in s.x], s.local),
    "inner_bar": lambda s: _inner(s, s.own_bar, [x - s.w_bar for x in s.x]),
    "inner_grad": lambda s: s.bar.gradient @ s.g_t,
}
# With w*
OF_STAR: dict[str, OfStep] = {
    "gap_t": lambda s: s.bar.value - s.F_star,
    "global_gap": lambda s: s.F_x - s.F_star,
    "star_gap": lambda s: s.F_x - s.F_star,
    "Delta_next": lambda s: mean((w - s.round.star).square for w in s.after),
    "Delta_t": lambda s: (s.w_bar - s.round.star).square,
    "v_dist": lambda s: (s.v_bar - s.round.star).square,
    "A_1": lambda s: (s.w_bar - s.round.star - s.g_bar * s.eta).square,
    "x_star_sq": lambda s: s.mean_sq(s.x, s.round.star),
    "inner_star": lambda s: (s.w_bar - s.round.star) @ s.g_bar,
    "inner_down": lambda s: _inner(s, [x - s.round.star for x in s.x], s.local),
}
# With the F_k^*
OF_LOWEST: dict[str, OfStep] = {
    "Gamma": lambda s: s.F_star - s.F_lowest,
    "local_gap": lambda s: s.F_x - s.F_lowest,
    "local_gap_bar": lambda s: s.bar.value - s.F_lowest,
    "star_own": lambda s: s.F_star - s.F_lowest,
}
# At a synchronisation step
OF_SYNCHRONISATION: dict[str, OfStep] = {
    "jump_parts": lambda s: s.parts_sq([_error(s, i) for i in range(len(s.v))]),
    "v_moved": lambda s: s.parts_sq([v - s.trace.x for v in s.v]),
    "v_spread": lambda s: s.trace.sum((v - s.v_bar).square for v in s.v),
}
# The same, of the sampled clients
OF_SAMPLE: dict[str, OfStep] = {
    "A_bin": _sampled(lambda s, some: mean(_error(s, i) for i in some).square),
    "A_1_parts": _sampled(lambda s, some: s.trace.sum(_error(s, i).square for i in some) / len(some) ** 2),
    "A_2": _sampled(lambda s, some: (mean(s.v[i] for i in some) - s.v_bar).square),
}
# With wbar_{t+1}
AFTER: dict[str, OfStep] = {
    "F_bar_next": lambda s: mean(s.trace.F(w).value for w in s.after),
    "grad_next": lambda s: mean(s.trace.F(w).gradient.square for w in s.after),
    "jump_sq": lambda s: mean((w - s.v_bar).square for w in s.after),
}
# Of a client
OF_CLIENTS: dict[str, Callable[..., Any]] = {
    "moved_k_sq": lambda s, i: (s.w[i] - s.trace.x).square,
    "steps_sum": lambda s, i: s.trace.total(one.g[i] * one.eta for one in s.before).square,
    "steps_sq": lambda s, i: s.trace.sum(one.g[i].square * one.eta**2 for one in s.before),
    "spread_k": lambda s, i: (s.x[i] - s.w_bar).square,
    "x_star_k": lambda s, i: (s.x[i] - s.round.star).square,
    "steps_sum_w": lambda s, i: s.trace.total(one.g_w[i] * one.eta for one in s.before).square,
    "steps_sq_w": lambda s, i: s.trace.sum(one.g_w[i].square * one.eta**2 for one in s.before),
}
# In numbers alone: with noise at the w_t^k, and the largest of the clients' expectations
IN_NUMBERS: dict[str, OfStep] = {
    "noise_w_sq": lambda s: s.mean(s.noise_w).square,
    "noise_w_sum": lambda s: s.parts_sq(s.noise_w),
    "largest_x": lambda s: max(g.square for g in s.g),
    "largest_w": lambda s: max(g.square for g in s.g_w),
    "noise_x_most": lambda s: max(step.noise.square for step in s.steps),
    "noise_w_most": lambda s: max(noise.square for noise in s.noise_w),
}
# The expectation of each entry, at a synchronisation step
OF_ENTRIES: dict[str, OfStep] = {
    "w_mean": lambda s: [mean(entry) for entry in zip(*(w.mean for w in s.after), strict=True)],
    "v_mean": lambda s: s.v_bar.mean,
}


def in_numbers(s: StepInRound, sampled: bool) -> dict[str, Any]:
    """The quantities of a step, in numbers; those of a client are lists (N,), those of entries lists (d,).

    Missing are those with w* or the F_k^* where there is none, and of a synchronisation or a sample where there is none.
    """
    how = {**OF_STEP, **AFTER, **IN_NUMBERS}
    how |= OF_STAR if s.round.star is not None else {}
    how |= OF_LOWEST if s.round.lowest else {}
    if s.synchronises:
        how |= {**OF_SYNCHRONISATION, **OF_ENTRIES, **(OF_SAMPLE if sampled else {})}
    clients = {name: of for name, of in OF_CLIENTS.items() if name != "x_star_k" or s.round.star is not None}
    found = {name: of(s) for name, of in how.items()}
    return found | {name: [of(s, i) for i in range(len(s.steps))] for name, of in clients.items()}


def steps_of(several: EnumeratedRound) -> Sequence[StepInRound]:
    """The steps of a round."""
    found: list[StepInRound] = []
    for _ in several.trace.turns[0]:
        found.append(StepInRound(several, tuple(found)))
    return found
