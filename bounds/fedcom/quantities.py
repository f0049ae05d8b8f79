"""The quantities of rounds of FedCOM and FedCOMGATE, as functions of the traces of the rounds so far: each is written once.

The search reads them in fractions (`fedtheory.bounds.fedcom.instances`), the worst cases over vectors
(`fedtheory.bounds.fedcom.worst_case`).  Turn j is client j's.  Means are over the clients, sums over a client's local
steps; delta_j is 0 where nothing is tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from fedtheory.bounds.quantities import FIELD, Quantity, mean
from fedtheory.simulations.exact.trace import Trace, TraceStep

Rounds = Sequence[Trace]  # rounds 0 ... r of a run; a quantity is about the last of them
OfRounds = Callable[[Rounds], Any]


def _apart(t: Trace, of: Callable[[TraceStep], Any], j: int) -> Any:
    """(1/m) sum_i s_i - s_j, for the sums s_i of a vector of each step of client i."""
    sums = [t.total(map(of, steps)) for steps in t.turns]
    return mean(sums) - sums[j]


def _tracked(several: Rounds, of: Callable[[TraceStep], Any], j: int) -> Any:
    """sum_c v_j^(c) for a vector v of each step; by (65) with (1/m) sum_i s_i - s_j of the round before, if there is one."""
    own = several[-1].total(map(of, several[-1].turns[j]))
    return own if len(several) == 1 else own + _apart(several[-2], of, j)


def _error(t: Trace, x: Any, delta: Sequence[Any] | None) -> Any:
    """The mean of ||delta_j - (grad f_j - grad f)(x)||^2."""
    own, full = [f.at(x).gradient for f in t.functions], t.F(x).gradient
    return mean((d - g + full).square for d, g in zip(delta or [t.zero] * len(own), own, strict=True))


def _from_start(t: Trace) -> list[list[Any]]:
    """Client -> sum_{k <= c} (g_j^(k) - grad f(w)), for c = 0, 1, ..."""
    return [list(accumulate(s.gradient - t.start.gradient for s in steps)) for steps in t.turns]


# Of a round alone
OF_ROUND: Mapping[str, Quantity] = {
    "message_sq": lambda t: mean(t.coded[-1][1]).square,
    "tracked_message_sq": lambda t: mean(t.coded[-1][1]).square,
    "inner": lambda t: t.start.gradient @ mean(t.total(s.stochastic for s in steps) for steps in t.turns),
    "grad_sq": FIELD["grad_sq"],
    "grad_sq_sum_mean": lambda t: t.sum(s.gradient.square for s in t.steps) / len(t.turns),
    "mean_grad_sq_sum": lambda t: t.sum(mean(s.gradient for s in steps).square for steps in zip(*t.turns, strict=True)),
    "drift_mean": lambda t: FIELD["drift_sum"](t) / len(t.turns),
    "next_move_sq": lambda t: (t.end - t.x).square,
    "tracking_sq": lambda t: _error(t, t.x, t.before.get("delta")),
    "tracking_next": lambda t: _error(t, t.end, t.memory.get("delta")),
    "descent": FIELD["descent"],
}
# Of round r and the one before, for r >= 1
OF_TWO: Mapping[str, OfRounds] = {
    "noise_sq": lambda ts: 2 * mean(_tracked(ts, lambda s: s.noise, j).square for j in range(len(ts[-1].turns))),
    "move_sq": lambda ts: ts[-2].of(OF_ROUND["next_move_sq"]),
    "grad_sq_prev": lambda ts: ts[-2].of(OF_ROUND["grad_sq"]),
    "drift_mean_prev": lambda ts: ts[-2].of(OF_ROUND["drift_mean"]),
}
# Of the first round, under their names in all rounds
OF_START: Mapping[str, Quantity] = {
    "drift_start": OF_ROUND["drift_mean"],
    "grad_sq_start": OF_ROUND["grad_sq"],
    "start_sum": lambda t: mean(sums[-1].square for sums in _from_start(t)),
    "start_partial": lambda t: t.sum(v.square for sums in _from_start(t) for v in sums) / len(t.turns),
    "het_start": lambda t: mean(sums[0].square for sums in _from_start(t)),
}
# Of all rounds so far
OF_RUN: Mapping[str, OfRounds] = {
    "direction_sq": lambda ts: mean(_tracked(ts, lambda s: s.stochastic, j).square for j in range(len(ts[-1].turns))),
    "mean_grad_sq_prev": lambda ts: ts[-2].of(OF_ROUND["mean_grad_sq_sum"]) if len(ts) > 1 else ts[-1].zero.square,
    "drift_total": lambda ts: _total("drift_mean", ts),
    "direction_total": lambda ts: (
        _tau(ts) * sum((OF_RUN["direction_sq"](ts[: r + 1]) for r in range(len(ts))), ts[0].zero.square)
    ),
    "move_total": lambda ts: _tau(ts) ** 2 * _total("next_move_sq", ts[:-1]),
    "grad_sq_total": lambda ts: _tau(ts) * _total("grad_sq", ts),
    "mean_grad_sq_total": lambda ts: _total("mean_grad_sq_sum", ts[:-1]),
    "avg_grad_sq": lambda ts: _total("grad_sq", ts) / len(ts),
}
# Of a client, and of a local step
OF_CLIENTS: Mapping[str, Callable[[Rounds, int], Any]] = {
    "grad_sq_sum": lambda ts, j: ts[-1].sum(s.gradient.square for s in ts[-1].turns[j]),
    "drift_sum": lambda ts, j: ts[-1].sum((s.x - ts[-1].x).square for s in ts[-1].turns[j]),
    "drift_sum_prev": lambda ts, j: OF_CLIENTS["drift_sum"](ts[:-1], j),
    "tracked_grad_sq": lambda ts, j: _tracked(ts, lambda s: s.gradient, j).square,
}
LATER = {*OF_TWO, "drift_sum_prev", "tracked_grad_sq"}  # of rounds r >= 1 only


def drift(several: Rounds, j: int, c: int) -> Any:
    """||w_j^(c) - w||^2."""
    return (several[-1].turns[j][c].x - several[-1].x).square


def _tau(several: Rounds) -> int:
    return len(several[-1].turns[0])


def _total(name: str, several: Rounds) -> Any:
    return sum((t.of(OF_ROUND[name]) for t in several), 0)
