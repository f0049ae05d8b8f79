"""The quantities of a round of FedBCGD and FedBCGD+, as functions of its traces: each is written once.

The search reads their means over all samples in fractions (`fedtheory.bounds.fedbcgd.instances`), the worst cases over
vectors (`fedtheory.bounds.fedbcgd.worst_case`).  z = x + gamma v; G is what the sampled clients send, and v_next is
lam v - eta G.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedtheory.bounds.quantities import mean
from fedtheory.simulations.exact.trace import At, Trace, TraceStep


@dataclass(frozen=True, eq=False)
class SampleRound:
    """A round with one sample of clients.

    t         its trace
    groups    the clients of each client block
    lam, eta  momentum and step size
    star      x*; None if there is none
    points    for each client the point a_i with c_i = grad f_i(a_i), where the c_i are such gradients
    """

    t: Trace
    groups: Sequence[Sequence[int]]
    lam: Any
    eta: Any
    star: Any = None
    points: Sequence[Any] = ()

    @cached_property
    def z(self) -> Any:
        """The auxiliary iterate before the round."""
        return self.t.x + self.t.before["v"] * (self.lam / (1 - self.lam))

    @cached_property
    def z_next(self) -> Any:
        """The auxiliary iterate after the round."""
        return self.t.end + self.t.memory["v"] * (self.lam / (1 - self.lam))

    @cached_property
    def at_z(self) -> At:
        """f at z."""
        return self.t.F(self.z)

    @cached_property
    def least(self) -> Any:
        """f(x*)."""
        return self.t.F(self.star).value

    @cached_property
    def G(self) -> Any:
        """What the clients have sent."""
        return (self.t.before["v"] * self.lam - self.t.memory["v"]) / self.eta

    def gradients(self, x: Any) -> list[Any]:
        """grad f_i(x) of all clients."""
        return [f.at(x).gradient for f in self.t.functions]

    def sent(self, vectors: Sequence[Any]) -> Any:
        """The vector whose block j is the mean over client block j of vectors of all clients."""
        means = [mean(vectors[i] for i in group) for group in self.groups]
        if len(means) == 1:
            return means[0]
        return type(means[0]).of_coordinates([own.coordinates[c] for c, own in enumerate(means)])


def _far(vectors: Sequence[Any], others: Sequence[Any]) -> Any:
    """The mean of ||u_i - v_i||^2."""
    return mean((u - v).square for u, v in zip(vectors, others, strict=True))


def _steps(s: SampleRound, of: Callable[[TraceStep], Any]) -> Any:
    """The sum of a number of each step."""
    return s.t.sum(map(of, s.t.steps))


def _drift_z(s: SampleRound) -> Any:
    return _steps(s, lambda step: (step.x - s.z).square)


Quantity = Callable[[SampleRound], Any]

# Of the state before the round: the same for all samples
OF_STATE: Mapping[str, Quantity] = {
    "zx_sq": lambda s: (s.z - s.t.x).square,
    "v_sq": lambda s: s.t.before["v"].square,
    "grad_sq_x": lambda s: s.t.start.gradient.square,
    "grad_sq_z": lambda s: s.at_z.gradient.square,
    "mean_grad_sq": lambda s: mean(g.square for g in s.gradients(s.t.x)),
    "grad_sq_clients": lambda s: s.t.sum(g.square for g in s.gradients(s.t.x)),
}
# Of the round in which all clients take part
OF_ALL: Mapping[str, Quantity] = {
    "drift_x": lambda s: _steps(s, lambda step: (step.x - s.t.x).square),
    "drift_z": _drift_z,
    "E_r": lambda s: _drift_z(s) / len(s.t.steps),
    "grad_sq_steps": lambda s: _steps(s, lambda step: step.gradient.square),
    "local_sum_sq": lambda s: s.t.total(step.gradient for step in s.t.steps).square,
}
# Of the round with a sample
OF_SAMPLE: Mapping[str, Quantity] = {
    "sample_sq": lambda s: mean(s.gradients(s.t.x)[i] for i in s.groups[0]).square,
    "block_sample_sq": lambda s: s.sent(s.gradients(s.t.x)).square,
    "G_sq": lambda s: s.G.square,
    "v_next_sq": lambda s: s.t.memory["v"].square,
    "inner_grad": lambda s: -(s.G @ s.at_z.gradient),
}
# Where f has a minimiser x*
OF_STAR: Mapping[str, Quantity] = {
    "gap": lambda s: s.at_z.value - s.least,
    "gap_x": lambda s: s.t.start.value - s.least,
    "gap_x_prev": lambda s: s.t.F(s.t.x - s.t.before["v"]).value - s.least,
    "gap_next": lambda s: s.t.F(s.z_next).value - s.least,
    "dist_sq": lambda s: (s.z - s.star).square,
    "dist_next": lambda s: (s.z_next - s.star).square,
    "inner": lambda s: -(s.G @ (s.z - s.star)),
}
# Of FedBCGD+, whose clients keep c_i
OF_VARIATES: Mapping[str, Quantity] = {
    "lag": lambda s: _far(s.t.before["c_i"], s.gradients(s.t.x)),
    "lag_next": lambda s: _far(s.t.memory["c_i"], s.gradients(s.t.end)),
}
OF_VARIATES_AND_STAR: Mapping[str, Quantity] = {
    "C_prev": lambda s: _far(s.t.before["c_i"], s.gradients(s.star)),
    "C_r": lambda s: _far(s.t.memory["c_i"], s.gradients(s.star)),
}
# Where each c_i is a gradient at one point a_i, before the round and after it
OF_POINTS: Mapping[str, Quantity] = {
    "Xi": lambda s: mean((a - s.z).square for a in s.points),
    "Xi_r": lambda s: mean(((s.t.x if i in s.groups[0] else a) - s.z_next).square for i, a in enumerate(s.points)),
}
QUANTITIES = {**OF_STATE, **OF_ALL, **OF_SAMPLE, **OF_STAR, **OF_VARIATES, **OF_VARIATES_AND_STAR, **OF_POINTS}
