"""The exact expectation of a whole run on quadratics, over all orders, samples and noise: no seeds, no error bars.

Every step maps z = (1, x) to A z, where A is a random matrix independent of z.  So for every law of A the second
moments E[z z'] follow a linear recursion.  A `Kernel` is the recursion of one step; kernels of steps are combined to
kernels of clients and rounds.  Moments are those of x - x_star, so that gaps and distances keep their relative accuracy
near the optimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import comb, isqrt

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.checked import affordable
from fedtheory.simulations.engine import RECORDS, Request
from fedtheory.simulations.exact.blocks import Blocks, turned, whole_run
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic

_MOST_IN_SEQUENCE = 16  # clients; the expectation over their orders visits every subset
_DOUBLINGS = 6  # 2^7 rounds at a time


# ------------------------------------------------------------------------------------------------------- kernels


@dataclass(frozen=True, eq=False)
class Kernel:
    """One random step z -> A z of a vector z = (1, ...) of n entries; A (n, n) has the first row (1, 0 ... 0).

    second  (..., n^2, n^2), E[A kron A]: maps the second moments E[z_i z_j], index i n + j, to those after the step;
            leading axes are batches (step sizes, clients ...)
    """

    second: Array

    @property
    def size(self) -> int:
        """Number n of entries of z."""
        return isqrt(self.second.shape[-1])

    @property
    def mean(self) -> Array:
        """E[A] (..., n, n): among the second moments, because z_0 = 1 stays 1."""
        return self._four[..., :, 0, :, 0]

    @property
    def _four(self) -> Array:
        """E[A_ik A_jl] (..., i, j, k, l)."""
        return self.second.reshape(*self.second.shape[:-2], *[self.size] * 4)

    def repeated(self, times: int) -> Kernel:
        """This many independent steps, one after the other."""
        return Kernel(np.linalg.matrix_power(self.second, times))

    def pull(self, form: Array) -> Array:
        """E[A' form A]: the quadratic form of z whose value is the expected value of `form` (..., n, n) after the step."""
        n = self.size
        pulled = self.second.swapaxes(-1, -2) @ form.reshape(*form.shape[:-2], n * n, 1)
        return pulled.reshape(*pulled.shape[:-2], n, n)


def affine(A: ArrayLike, covariance: ArrayLike | None = None) -> Kernel:
    """z -> A z + (0, noise): A (..., n, n), first row (1, 0 ... 0); noise of mean zero, covariance (..., n-1, n-1).

    Raises ValueError for another first row or shapes that do not fit.
    """
    A = np.asarray(A, dtype=float)
    n = A.shape[-1]
    if A.ndim < 2 or A.shape[-2] != n or (A[..., 0, :] != np.eye(n)[0]).any():
        raise ValueError(f"A of shape {A.shape}: expected square matrices with first row (1, 0 ... 0)")
    kernel = Kernel(_kron(A, A))
    if covariance is not None:
        covariance = np.asarray(covariance, dtype=float)
        if covariance.shape[-2:] != (n - 1, n - 1):
            raise ValueError(f"covariance of shape {covariance.shape}: expected (..., {n - 1}, {n - 1})")
        kernel._four[..., 1:, 1:, 0, 0] += covariance
    return kernel


def gradient_step(H: Array, slope: Array, eta: ArrayLike, covariance: ArrayLike) -> Kernel:
    """x -> x - eta (H x + slope + noise): H (..., d, d), slope (..., d), noise covariance (d, d), eta broadcast."""
    eta = np.asarray(eta, dtype=float)[..., None, None]
    H = np.asarray(H, dtype=float)
    d = H.shape[-1]
    linear, constant = np.eye(d) - eta * H, -eta * np.asarray(slope, dtype=float)[..., None]
    A = np.zeros((*linear.shape[:-2], d + 1, d + 1))
    A[..., 0, 0] = 1.0
    A[..., 1:, 1:], A[..., 1:, :1] = linear, constant
    return affine(A, eta**2 * np.asarray(covariance, dtype=float))


def sequential(kernels: Sequence[Kernel], S: int) -> Kernel:
    """S of the M kernels, an ordered sample without replacement, applied one after the other.

    Visits subsets of the M kernels, not their orders.  Raises ValueError for S outside 1..M or more than 16 kernels.
    """
    n = kernels[0].size
    i, j = np.triu_indices(n)
    rows = _to_go(kernels, S, np.eye(n * n)[i * n + j])  # of E[A kron A]; the rows of z_j z_i mirror those of z_i z_j
    four = np.empty((*rows.shape[:-2], n, n, n, n))
    four[..., i, j, :, :] = rows.reshape(*rows.shape[:-1], n, n)
    four[..., j, i, :, :] = four[..., i, j, :, :].swapaxes(-1, -2)
    return Kernel(four.reshape(*rows.shape[:-2], n * n, n * n))


def parallel(kernels: Sequence[Kernel], S: int) -> Kernel:
    """The mean of S of the M kernels, sampled without replacement, all applied to the same z, with independent noise.

    Raises ValueError for S outside 1..M.
    """
    M = _sampled(kernels, S)
    second = sum((k.second for k in kernels), np.zeros(())) / M
    if S > 1:
        means = [k.mean for k in kernels]
        total = sum(means, np.zeros(()))
        pairs = _kron(total, total) - sum((_kron(mean, mean) for mean in means), np.zeros(()))  # all i != j
        second = second / S + (S - 1) / S * pairs / (M * (M - 1))
    return Kernel(second)


def _kron(A: Array, B: Array) -> Array:
    """The Kronecker products (..., n^2, n^2) of A and B (..., n, n)."""
    n = A.shape[-1]
    four = np.einsum("...ik,...jl->...ijkl", A, B)
    return four.reshape(*four.shape[:-4], n * n, n * n)


def _sampled(kernels: Sequence[Kernel], S: int) -> int:
    """The number M of kernels.  Raises ValueError for S outside 1..M."""
    if not 1 <= S <= len(kernels):
        raise ValueError(f"S = {S} of {len(kernels)} kernels: expected 1 <= S <= {len(kernels)}")
    return len(kernels)


def _to_go(kernels: Sequence[Kernel], S: int, at_end: Array, running: Array | None = None) -> Array:
    """Forms (..., c, n^2) of z at the start of a round: the expected value of each form `at_end` (c, n^2) at its end.

    With `running` (..., M, n^2), plus the expected value of running[..., i, :] at the start of each sampled client i.

    U is the set of clients that are done.  J(U) = the mean over clients i outside U of running_i + E[A_i' J(U + i) A_i],
    backwards from the sets of S clients.  A layer holds the sets of one size, (..., c, sets, n^2).

    Raises ValueError for S outside 1..M or M > 16.
    """
    M = _sampled(kernels, S)
    if M > _MOST_IN_SEQUENCE:
        raise ValueError(
            f"{M} kernels in sequence: expected at most {_MOST_IN_SEQUENCE}, as all subsets are visited, or `run`"
        )
    pulls = np.concatenate([kernel.second for kernel in kernels], axis=-1)  # one product for all clients and sets
    batch, (c, square) = pulls.shape[:-2], at_end.shape
    layer = np.broadcast_to(at_end[:, None], (*batch, c, comb(M, S), square))
    for turns in _turns(M, S):
        ahead = (layer.reshape(*batch, -1, square) @ pulls).reshape(*batch, c, -1, M, square)
        if running is not None:
            ahead = ahead + running[..., None, None, :, :]
        ahead = ahead.reshape(*batch, c, -1, square)
        layer = sum((ahead.take(turn, axis=-2) for turn in turns[1:]), ahead.take(turns[0], axis=-2)) / len(turns)
    return layer[..., 0, :]


@cache
def _turns(M: int, S: int) -> list[NDArray[np.int64]]:
    """For the sets of S-1, S-2 ... 0 of M clients: every possible next client, with the set that includes it.

    Arrays (clients outside the set, sets): M times the index of the larger set among those of its size, plus the client.
    """
    subsets = np.arange(2**M)
    outside = (subsets[:, None] >> np.arange(M) & 1) == 0
    sizes = M - outside.sum(1)
    place = np.empty(2**M, dtype=np.int64)
    for size in range(M + 1):
        place[sizes == size] = np.arange(comb(M, size))
    turns = []
    for size in reversed(range(S)):
        now, client = np.nonzero(outside[sizes == size])
        after = place[subsets[sizes == size][now] | 1 << client]
        turns.append((after * M + client).reshape(-1, M - size).T)
    return turns


# ------------------------------------------------------------------------------------------------------ whole runs


def _drift(blocks: Blocks, algorithm: SFL | PFL, S: int, eta: Array, covariance: Array) -> Array:
    """The expected drift of a round from x, as a form (E, B, n, n) of z = (1, x).

    The state is y = (1, x, delta): x is the start of the round and x + delta the current point.  This avoids cancellation.
    """
    B, M, p, _ = blocks.H.shape
    n, N = p + 1, 2 * p + 1
    A = np.zeros((len(eta), B, M, N, N))
    A[...] = np.eye(N)
    A[..., n:, 0] -= eta[:, None, None, None] * blocks.slope
    for columns in (slice(1, n), slice(n, N)):
        A[..., n:, columns] -= eta[:, None, None, None, None] * blocks.H
    noise = np.zeros((len(eta), 1, 1, N - 1, N - 1))
    noise[..., p:, p:] = eta[:, None, None, None, None] ** 2 * covariance
    steps = affine(A, noise)
    away = np.diag([0.0] * n + [1.0] * p)
    own = total = np.broadcast_to(away, A.shape)
    for _ in range(algorithm.K - 1):
        own = steps.pull(own)
        total = total + own
    if isinstance(algorithm, PFL):
        form = total.mean(2)
    else:
        running = total.reshape(len(eta), B, M, N * N)
        form = _to_go(_each(steps.repeated(algorithm.K)), S, np.zeros((1, N * N)), running)
    return form.reshape(len(eta), B, N, N)[..., :n, :n]


def _each(kernel: Kernel) -> list[Kernel]:
    """The clients' kernels, along the last batch axis."""
    return [Kernel(kernel.second[..., m, :, :]) for m in range(kernel.second.shape[-3])]


def _averaging(one_round: Kernel, ratio: Array) -> Array:
    """The recursion (..., 3 n^2, 3 n^2) of E[z z'], E[z u'], E[u u'] for the weighted sum u of z_0 ... z_r.

    The sum relative to its last weight, u_r = q u_(r-1) + z_r with q = w_(r-1) / w_r, has first entry W_r / w_r.
    E[u u'] is correct up to symmetrisation, which is enough for quadratic forms.
    """
    n, P = one_round.size, one_round.second
    q = ratio[:, None, None, None]
    mixed = q * _kron(one_round.mean, np.broadcast_to(np.eye(n), one_round.mean.shape))  # q E[A] E[z u']
    zero = np.zeros_like(P)
    rows = [P, zero, zero], [P, mixed, zero], [P, 2 * mixed, zero + q**2 * np.eye(n * n)]
    return np.concatenate([np.concatenate(row, axis=-1) for row in rows], axis=-2)


def _states(operator: Array, state: Array, rounds: int) -> Iterator[Array]:
    """The states (..., q) of rounds 0 ... rounds, up to 128 rounds at a time: (..., q, rounds)."""
    powers = [operator]
    for _ in range(_DOUBLINGS):
        powers.append(powers[-1] @ powers[-1])
    left, now = rounds + 1, state[..., None]
    while left > 0:
        for power in powers:
            now = np.concatenate([now, power @ now], axis=-1)
        yield now[..., :left]
        left -= now.shape[-1]
        now = operator @ now[..., -1:]


def _series(
    problem: Quadratic, blocks: Blocks, algorithm: SFL | PFL, rounds: int, names: Sequence[str], ratio: Array
) -> dict[str, Array]:
    """Expectations of the named quantities (E, rounds + 1), not finite from some round on if a step size diverges."""
    eta, S = np.asarray(algorithm.eta), algorithm.participants(problem)
    (B, p), n = blocks.start.shape, blocks.start.shape[1] + 1
    covariance = problem.sigma**2 / problem.d * np.eye(p)
    clients = _each(gradient_step(blocks.H, blocks.slope, eta[:, None, None], covariance).repeated(algorithm.K))
    together = isinstance(algorithm, PFL) or S == 1  # one client has no order, so M may be any number
    one_round = (parallel if together else sequential)(clients, S)
    forms = blocks.forms()
    if "drift" in names:
        forms["drift"] = _drift(blocks, algorithm, S, eta, covariance)
    asked = np.stack([np.broadcast_to(forms[name], (len(eta), B, n, n)) for name in names], axis=2)
    asked = asked.reshape(len(eta), B, len(names), n * n)
    z = np.concatenate([np.ones((B, 1)), blocks.start], axis=1)
    state = np.broadcast_to((z[:, :, None] * z[:, None, :]).reshape(B, n * n), (len(eta), B, n * n))
    averaged = "gap_average" in names
    operator = _averaging(one_round, ratio) if averaged else one_round.second
    parts = []
    for states in _states(operator, np.tile(state, 3 if averaged else 1), rounds):
        part = (asked @ states[:, :, : n * n]).sum(1)
        if averaged:
            which, sums = names.index("gap_average"), states[:, :, -n * n :]
            part[:, which] = (asked[:, :, [which]] @ sums).sum(1)[:, 0] / sums[:, 0, 0]  # that is (W_r / w_r)^2
        parts.append(part)
    return dict(zip(names, np.concatenate(parts, axis=-1).swapaxes(0, 1), strict=True))


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no recursion: another problem than a Quadratic, or another algorithm than SFL and PFL."""
    if not isinstance(problem, Quadratic):
        return f"{getattr(problem, 'name', problem)}: expected a Quadratic, whose moments follow a recursion"
    if problem.weights is not None:
        return f"{problem.name} weighs its clients: expected no weights, the recursion counts all alike"
    if not isinstance(algorithm, SFL | PFL):
        return f"{type(algorithm).__name__}: expected SFL or PFL"
    block = Blocks.of(turned(problem)[0], np.zeros(problem.d)).start.shape[1] + 1
    try:
        affordable(f"second moments of {problem.d} coordinates", numbers=float(problem.M) * block**4)
    except ValueError as error:
        return str(error)
    return None


def expectation(
    problem: Quadratic,
    algorithm: SFL | PFL,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    Arguments as for `run`, without seeds and orders: the expectation is over all of them.

    Returns a Dataset over (step_size, round) with `status` and `diverged_at` over step_size: a step size diverges in the
    first round in which E||x_r||^2 or a recorded expectation is no finite double; NaN from this round on.

    Raises ValueError for a malformed request, a problem that is no Quadratic or weighs its clients, an algorithm
    other than SFL or PFL, or SFL with more than 16 clients, unless S = 1; NoSuchConstant if the problem does not
    have a constant that a recorded quantity needs.
    """
    why = why_not(problem, algorithm, rounds)
    if why is not None:
        raise ValueError(why)

    def series(asked: Request, names: list[str]) -> dict[str, Array]:
        straight, basis = turned(problem)
        blocks, eta, ratio = Blocks.of(straight, np.broadcast_to(asked.x0, problem.d) @ basis), asked.eta, asked.ratio
        E = len(eta) if blocks.start.shape[1] == 1 else 1  # larger blocks: one step size at a time, to save memory
        parts = [
            _series(problem, blocks, replace(algorithm, eta=eta[e : e + E]), rounds, names, ratio[e : e + E])
            for e in range(0, len(eta), E)
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    return whole_run(problem, algorithm, series, RECORDS, rounds=rounds, x0=x0, record=record, at=at, average=average)
