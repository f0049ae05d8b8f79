"""The exact expectation of a whole run, on quadratics, of the block algorithms FedBCGD, FedBCGD+ and FedAvgM.

A round is linear in the assignment of clients to client blocks: with I_ji = 1 if client i is in block j, else 0,

    z of the next round = base z + sum_j sum_i I_ji (Phi_ji z + noise_ji),      z = (1, x, v, the c_i, c).

Clients are drawn without replacement, so E[I_ji] = K/M and

    Cov[I_ji, I_lk] = (K / (M - 1)) ([j = l] - K/M) ([i = k] - 1/M).

So mean and covariance of z follow a recursion of N M maps; the assignments are not enumerated.  Mean and covariance are
separate, and x and the c_i are relative to x_star and grad f_i(x_star).  This avoids cancellation: gaps keep their
relative accuracy near the optimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.linalg import orth

from simulations.algorithms.base import Algorithm
from simulations.algorithms.fedbcgd import FedAvgM, FedBCGD, FedBCGDPlus
from simulations.compressors import Identity
from simulations.engine import Request
from simulations.exact import tracking
from simulations.exact.blocks import Blocks, LocalSteps, mean_square, second_moment, whole_run
from simulations.problems import Array, Problem
from simulations.problems.quadratic import Quadratic

BlockAlgorithm = FedBCGD | FedBCGDPlus | FedAvgM

# name -> (dimension of the quantity, meaning)
RECORDS = tracking.RECORDS | {
    "z_gap": ("[F]", "F(z_r) - F_star, z_r = x_r + gamma (x_r - x_(r-1)), gamma = lam / (1 - lam)"),
    "z_gap_average": ("[F]", "F(zbar_r) - F_star, zbar_r the weighted average of z_0 ... z_r"),
}

_SUPPORTED = (FedBCGD, FedBCGDPlus, FedAvgM)  # these classes, without their subclasses
_MOST_STATES = 64  # entries of z, for the eigenvalues of the recursion of their second moments
_PART = 128  # rounds that are computed and recorded together
_ROUNDING = 1e-10  # relative: singular values below it count as zero


# ------------------------------------------------------------------------------------------------------ one round


@dataclass(frozen=True, eq=False)
class Recursion:
    """One round of mean and covariance of z, which has n = k p entries: entry i p + a is coordinate a of block i.

    E and B are batches of step sizes and of independent parts of the problem; maps act on (1, z), 1 + n columns.

    through  (E, B, n, 1 + n), the mean map over all assignments of clients
    off      (E, B, n, N M, 1 + n), the rows of N M uncorrelated deviations from it, each of variance 1
    noise    (E, B, n, n), the covariance that gradient noise adds
    """

    through: Array
    off: Array
    noise: Array

    def states(self, mean: Array, rounds: int) -> Iterator[tuple[Array, Array]]:
        """Mean (C, E, B, n) and covariance (C, E, B, n, n) of z, from a start with this mean (E, B, n), in parts.

        A part has C <= 128 consecutive rounds; rounds + 1 in all.

        The mean needs no covariance.  So it comes first, then what the mean and the noise add to the covariance, for all
        rounds of a part at once; only the maps of the covariance itself go round by round.
        """
        E, B, n = mean.shape
        linear, constant = self.through[..., 1:], self.through[..., :1]
        maps = np.concatenate([linear[..., None, :], self.off[..., 1:]], axis=3)  # all act on the covariance alike
        rows, wide = maps.reshape(E, B, -1, n), maps.reshape(E, B, n, -1).swapaxes(-1, -2)
        column, covariance = mean[..., None], np.zeros((E, B, n, n))
        for first in range(0, rounds + 1, _PART):
            count = min(_PART, rounds + 1 - first)
            columns, covariances = np.empty((count, E, B, n, 1)), np.empty((count, E, B, n, n))
            for at in range(count):
                columns[at] = column
                column = linear @ column + constant
            moved = self.off[..., 1:].reshape(E, B, -1, n) @ columns + self.off[..., 0].reshape(E, B, -1, 1)
            moved = moved.reshape(count, E, B, n, -1)
            added = moved @ moved.swapaxes(-1, -2) + self.noise
            for at in range(count):
                covariances[at] = covariance
                covariance = (rows @ covariance).reshape(wide.swapaxes(-1, -2).shape) @ wide + added[at]
            yield columns[..., 0], covariances

    def summing(self, rows: Array, ratio: Array) -> Recursion:
        """The recursion with m more entries u: the next u is ratio u + rows z with the next z; rows (m, n), ratio (E,)."""
        m, n = rows.shape
        longer = np.vstack([np.eye(n), rows])
        through = np.pad(longer @ self.through, [(0, 0)] * 3 + [(0, m)])
        through[..., range(n, n + m), range(1 + n, 1 + n + m)] = ratio[:, None, None]
        off = np.einsum("sn,ebndc->ebsdc", longer, np.pad(self.off, [(0, 0)] * 4 + [(0, m)]))
        return Recursion(through, off, longer @ self.noise @ longer.T)


# ------------------------------------------------------------------------------------------------------ algorithms


@dataclass(frozen=True, eq=False)
class Plan:
    """How an algorithm acts on the blocks of z = (x / eta, v / eta, the c_i, c), in B parts of p coordinates each.

    Only FedBCGD+ has the c_i.  c is a block only if it is not a function of their mean; it is one, c = counts
    mean_i c_i + constant, if clients keep what they sent.

    steps    number of local steps
    M, N, K  number of clients, of client blocks, of clients per block
    lam      momentum
    carried  the factor of v in the next x: lam, or 1
    own      (B, N, p): does a client of block j send this coordinate?
    trained  (B, N or 1, p): do its local steps change it?
    mean     (B, N, p): the weight of its message in xhat - x
    to_x, to_v  (B, p): the factor of xhat - x in x and in v
    keeps    (B, N, p): does client i of block j replace its c_i?  None for an algorithm without control variates
    counts   (B, N, p): M times the weight in c of the change of its c_i
    control, variance  the signs s_c and s_v of the corrections; 0 for no correction
    """

    steps: int
    M: int
    N: int
    K: int
    lam: float
    carried: float
    own: Array
    trained: Array
    mean: Array
    to_x: Array
    to_v: Array
    keeps: Array | None
    counts: Array
    control: int
    variance: int

    @classmethod
    def of(cls, problem: Quadratic, algorithm: BlockAlgorithm, shape: tuple[int, int]) -> Plan:
        """shape  (B, p): the coordinates in their order, B parts of p each."""
        if isinstance(algorithm, FedAvgM):  # one block of coordinates, one of clients
            S, lam = algorithm.participants(problem), algorithm.lam
            algorithm = FedBCGD(algorithm.T, algorithm.eta, N=1, K=S, lam=lam)
        M, N, K, lam = problem.M, algorithm.N, algorithm.K, algorithm.lam
        parts = list(algorithm.blocks(problem).values())
        block = np.full(problem.d, N)  # of each coordinate; N is the shared block
        for j, part in enumerate(parts[:N]):
            block[part] = j
        sole = np.equal(block, np.arange(N)[:, None]).reshape(N, *shape).swapaxes(0, 1).astype(float)
        shared = np.equal(block, N).reshape(shape).astype(float)
        common = np.broadcast_to(shared[:, None], sole.shape)
        own, once = sole + common, np.ones(shape)
        to_x, to_v = {
            "theory": (once, once),
            "printed": (2 - shared, 1 - shared),
            "display": (0 * once, -once),
        }[algorithm.momentum]
        keeps, counts, control, variance, trained = None, 0 * own, 0, 0, np.ones((shape[0], 1, shape[1]))
        if isinstance(algorithm, FedBCGDPlus):
            keeps = own if algorithm.kept == "sent" else np.ones(own.shape)
            of_block = K if algorithm.server == "(71)" else 1
            of_share = 1 / N if algorithm.server == "printed" else 1.0
            counts = of_block * sole + of_share * common
            control, variance = (1 if form == "theory" else -1 for form in (algorithm.control, algorithm.variance))
        elif algorithm.freeze:
            trained = own
        carried = 1.0 if algorithm.momentum == "display" else lam
        mean = sole / K + common / (N * K)
        return cls(
            algorithm.steps, M, N, K, lam, carried, own, trained, mean, to_x, to_v, keeps, counts, control, variance
        )

    @property
    def k(self) -> int:
        """Number of blocks of z."""
        return 2 if self.keeps is None else 2 + self.M + self.apart

    @property
    def apart(self) -> bool:
        """Whether c is not a function of the mean of the c_i."""
        return self.keeps is not None and bool((self.keeps != self.own).any())

    @property
    def shaking(self) -> float:
        """The factor of the noise's variance in a step: the same draw enters with the factors 1 and -s_v."""
        return float((1 - self.variance) ** 2)

    @property
    def base(self) -> Array:
        """(k, k): the map from z to the next z, without messages."""
        base = np.eye(self.k)
        base[:2, 1] = self.carried, self.lam
        return base

    def rounds(self, message: Array, track: Array, noise: Array) -> Recursion:
        """The recursion of one round.

        message  (E, B, N or 1, M, p, 1 + n), (y - x) / eta of client i in block j as a map of (1, z)
        track    (E, B, M, p, 1 + n), grad f_i(x) - c_i as a map of (1, z)
        noise    (E, B, N or 1, M, p, p), the covariance of the message
        """
        E, B, M, p, columns = track.shape
        k, N, K, n = self.k, self.N, self.K, columns - 1
        into = self.mean[:, :, None] * np.stack([self.to_x, self.to_v], axis=1)[:, None]  # (B, N, 2, p)
        Phi = np.zeros((E, B, N, M, k, p, columns))
        Phi[..., :2, :, :] = into[:, :, None, ..., None] * message[..., None, :, :]
        if self.keeps is not None:
            Phi[:, :, :, range(M), range(2, 2 + M)] = self.keeps[:, :, None, :, None] * track[:, :, None]
        if self.apart:
            Phi[..., -1, :, :] = self.counts[:, :, None, :, None] / M * track[:, :, None]
        Phi = Phi.reshape(E, B, N, M, n, columns)
        centre = Phi.mean(3, keepdims=True)
        through = K * centre.sum((2, 3))
        through[..., 1:] += np.kron(self.base, np.eye(p))
        # A square root of the covariance of the I_ji, over j; terms that are equal for all i have no variance.
        root = np.eye(N) - (1 - np.sqrt(max(0.0, 1 - N * K / M))) / N
        root *= np.sqrt(K / max(1, M - 1))
        off = np.einsum("jl,eblirc->ebrjic", root, Phi - centre).reshape(E, B, n, N * M, columns)
        spread = np.zeros((E, B, n, n))
        shaken = np.broadcast_to(noise, (E, B, N, M, p, p)).sum(3) * (K / M)
        moved = np.einsum("bjsa,bjtc,ebjac->ebsatc", into, into, shaken)
        spread[..., : 2 * p, : 2 * p] = moved.reshape(E, B, 2 * p, 2 * p)
        return Recursion(through, off, spread)

    def reachable(self, b: int) -> Array:
        """An orthonormal basis (n, r) of the directions in which messages can move z, in part b of the problem."""
        p = self.to_x.shape[1]
        columns = []
        for a in range(p):
            change = np.zeros((1 + self.N * self.M, self.k))
            change[0, :2] = self.to_x[b, a], self.to_v[b, a]
            if self.keeps is not None:
                change[1:, 2 : 2 + self.M] = np.kron(self.keeps[b, :, a, None], np.eye(self.M))
            if self.apart:
                change[1:, -1] = np.repeat(self.counts[b, :, a], self.M)
            moves = np.hstack([change.T, self.base @ change.T])  # base^2 adds no direction
            basis = orth(moves, rcond=_ROUNDING)
            columns.append(np.einsum("ir,c->icr", basis, np.eye(p)[a]).reshape(self.k * p, -1))
        return np.hstack(columns)


# ------------------------------------------------------------------------------------------------------ whole runs


@dataclass(frozen=True, eq=False)
class _Run:
    """A run before its first round.

    blocks     the problem's blocks
    plan       the algorithm's plan
    local      the local steps
    recursion  one round
    first      (B, M, p, 1 + n), every client's first direction as a map of (1, x, v, the c_i, c)
    start      (E, B, n), z at the start
    units      (E, 1, n): z times these is (x, v, the c_i, c)
    """

    blocks: Blocks
    plan: Plan
    local: LocalSteps
    recursion: Recursion
    first: Array
    start: Array
    units: Array

    @classmethod
    def of(cls, problem: Quadratic, algorithm: BlockAlgorithm, x0: Array, eta: Array) -> _Run:
        """A run with the step sizes eta (E,)."""
        blocks = Blocks.of(problem, x0, turned=False)  # client blocks send coordinates of x itself
        (B, p), E = blocks.start.shape, len(eta)
        plan = Plan.of(problem, algorithm, (B, p))
        local = LocalSteps.of(blocks.H, eta, plan.steps, plan.trained)

        begin, scale = np.zeros((E, B, plan.k, p)), np.ones((E, 1, plan.k, p))
        scale[:, :, :2] = eta[:, None, None, None]
        begin[:, :, 0] = blocks.start / eta[:, None, None]
        c = np.zeros((B, p))  # at the start
        if isinstance(algorithm, FedBCGDPlus):
            own = slice(2, 2 + problem.M)
            if algorithm.begin == "gradients":
                c = np.einsum("bac,bc->ba", blocks.H.mean(1), blocks.start)
                begin[:, :, own] = np.einsum("bmac,bc->bma", blocks.H, blocks.start)
            else:
                c, begin[:, :, own] = -blocks.mean_slope, -blocks.slope
            if plan.apart:
                begin[:, :, -1] = c
        start, units = begin.reshape(E, B, -1), scale.reshape(E, 1, -1)

        first, lag = _gradients(blocks, plan, c)
        of_z = np.concatenate([np.ones((E, 1, 1)), units], axis=-1)[:, :, None, None, :]
        message = -local.T @ (first * of_z)[:, :, None]
        noise = plan.shaking * problem.sigma**2 / problem.d * local.noise
        return cls(blocks, plan, local, plan.rounds(message, lag * of_z, noise), first, start, units)

    def ahead(self) -> Array:
        """The rows (p, n) of z_r = x_r + gamma v_r."""
        p = self.blocks.start.shape[1]
        gamma = self.plan.lam / (1 - self.plan.lam)
        return np.kron(np.eye(self.plan.k)[0] + gamma * np.eye(self.plan.k)[1], np.eye(p))

    def forms(self, names: Sequence[str], sigma2: float) -> dict[str, Array]:
        """Quadratic forms (E or 1, B, 1 + n, 1 + n) of (1, x, v, the c_i, c), whose sums over B are recorded.

        names   quantities that are no averages over rounds
        sigma2  variance of a coordinate of the noise
        """
        small, n, p = self.blocks.forms(), self.start.shape[-1], self.blocks.start.shape[1]
        x, z = np.zeros((2, 1 + p, 1 + n))
        x[0, 0] = z[0, 0] = 1.0
        x[1:, 1 : 1 + p], z[1:, 1:] = np.eye(p), self.ahead()
        forms = {}
        for name in names:
            if name == "drift":
                first = self.first[:, None]
                form = mean_square(first, self.local.moved @ first).mean(2)
                form[..., 0, 0] += self.plan.shaking * sigma2 * self.local.shaken.mean((-1, -2))
            elif name == "tracking":
                off = self.first.copy()  # grad f_i + s_c (c - c_i) - grad f
                off[..., 0] -= self.blocks.mean_slope[:, None]
                off[..., 1 : 1 + p] -= self.blocks.H.mean(1, keepdims=True)
                form = mean_square(off, off)[None]
            else:
                of = z if name == "z_gap" else x
                form = (of.T @ small["gap" if name == "z_gap" else name] @ of)[None]
            forms[name] = form
        return forms


def _gradients(blocks: Blocks, plan: Plan, c: Array) -> tuple[Array, Array]:
    """Every client's first direction, grad f_i + s_c (c - c_i), and the change of its control variate, grad f_i - c_i.

    Both are maps (B, M, p, 1 + n) of (1, x, v, the c_i, c), relative to x_star and the gradients there.  c (B, p) is the
    value at the start.
    """
    (B, M, p, _), k = blocks.H.shape, plan.k
    first, lag, mean_slope = np.zeros((B, M, p, 1 + k * p)), np.zeros((B, M, p, 1 + k * p)), blocks.mean_slope[:, None]
    first[..., 0] = (1 - plan.control) * blocks.slope + plan.control * mean_slope
    first[..., 1 : 1 + p] = lag[..., 1 : 1 + p] = blocks.H
    if plan.keeps is None:
        return first, lag
    clients = np.kron(np.eye(k)[2 : 2 + M, None], np.eye(p))  # the rows of the c_i in z, (M, p, n)
    lag[..., 1:] -= clients
    if plan.apart:
        first[..., 1:] += plan.control * (np.kron(np.eye(k)[-1], np.eye(p)) - clients)
    else:
        gain = plan.counts.max(1)
        first[..., 0] += plan.control * ((1 - gain) * c)[:, None]
        first[..., 1:] += plan.control * (gain[:, None, :, None] * clients.mean(0) - clients)
    return first, lag


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no recursion: a problem that is no Quadratic, another algorithm, or compressed messages."""
    if not isinstance(problem, Quadratic):
        return f"{getattr(problem, 'name', problem)}: expected a Quadratic, whose moments follow a recursion"
    if type(algorithm) not in _SUPPORTED:
        expected = ", ".join(kind.__name__ for kind in _SUPPORTED)
        return f"{type(algorithm).__name__}: expected one of {expected}"
    compressor = getattr(algorithm, "compressor", Identity())
    if not isinstance(compressor, Identity):
        return f"{type(algorithm).__name__} with {compressor}: expected no compression"
    return None


def expectation(
    problem: Quadratic,
    algorithm: BlockAlgorithm,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    Arguments and Dataset as for `moments.expectation`.
    `record` may also name `tracking`, `z_gap` and `z_gap_average`, see RECORDS.

    Raises ValueError for a malformed request, a problem that is no Quadratic or weighs its clients, an algorithm other
    than FedBCGD, FedBCGDPlus and FedAvgM, a compressor, `tracking` if clients have no memory, or z with another
    momentum than the theory's; NoSuchConstant if the problem does not have a constant that a recorded quantity needs.
    """
    why = why_not(problem, algorithm, rounds)
    if why is not None:
        raise ValueError(why)
    if "tracking" in record and not isinstance(algorithm, FedBCGDPlus):
        raise ValueError(
            f"cannot record tracking of {type(algorithm).__name__}: its clients remember nothing; expected other quantities"
        )
    momentum = "theory" if isinstance(algorithm, FedAvgM) else algorithm.momentum
    if {"z_gap", "z_gap_average"} & set(record) and momentum != "theory":
        raise ValueError(f"cannot record z with momentum = {momentum!r}: expected 'theory', where x_r - x_(r-1) is v_r")

    def series(asked: Request, names: list[str]) -> dict[str, Array]:
        run = _Run.of(problem, algorithm, asked.x0, asked.eta)
        return _series(run, problem.sigma**2 / problem.d, rounds, names, asked.ratio)

    return whole_run(problem, algorithm, series, RECORDS, rounds=rounds, x0=x0, record=record, at=at, average=average)


def _series(run: _Run, sigma2: float, rounds: int, names: Sequence[str], ratio: Array) -> dict[str, Array]:
    """Expectations of the named quantities (E, rounds + 1), not finite from some round on if a step size diverges."""
    averages = {"gap_average": np.eye(*run.ahead().shape), "z_gap_average": run.ahead()}
    averages = {name: rows for name, rows in averages.items() if name in names}
    plain = [name for name in names if name not in averages]
    (E, B, n), p = run.start.shape, run.blocks.start.shape[1]
    forms = run.forms(plain, sigma2)
    asked = np.stack([np.broadcast_to(forms[name], (E, B, 1 + n, 1 + n)) for name in plain], axis=2)
    asked = asked.reshape(E, B, len(plain), -1)
    gap = run.blocks.forms()["gap"].reshape(B, 1, -1)
    recursion, mean, units = run.recursion, run.start, run.units
    for rows in averages.values():
        recursion = recursion.summing(np.pad(rows, [(0, 0), (0, mean.shape[-1] - n)]), ratio)
        mean = np.concatenate([mean, run.start @ rows.T], axis=-1)
        units = np.concatenate([units, units[..., :p]], axis=-1)
    weights = np.array(list(accumulate(repeat(ratio, rounds), lambda w, q: 1 + q * w, initial=np.ones(E))))
    series = {name: np.full((E, rounds + 1), np.nan) for name in names}
    first = 0
    for means, covariances in recursion.states(mean, rounds):
        part = slice(first, first := first + len(means))
        scale = np.repeat(units[None], len(means), axis=0)
        scale[..., n:] /= weights[part, :, None, None]  # a sum is the average times the sum of the weights
        second = second_moment(scale * means, scale[..., :, None] * covariances * scale[..., None, :])
        of_z = second[..., : 1 + n, : 1 + n].reshape(*second.shape[:3], -1, 1)
        for name, values in zip(plain, (asked @ of_z).sum(2)[..., 0].T, strict=True):
            series[name][:, part] = values
        for i, name in enumerate(averages):
            some = [0, *range(1 + n + i * p, 1 + n + (i + 1) * p)]
            of_sum = second[..., some, :][..., some].reshape(*second.shape[:3], -1, 1)
            series[name][:, part] = (gap @ of_sum).sum((2, 3, 4)).T
    return series


def spectral_radius(problem: Quadratic, algorithm: BlockAlgorithm) -> Array:
    """The factor per round (E,) by which expected squares shrink or grow in the long run, without noise.

    It is the spectral radius of the linear part of the recursion of E[z z'], with z relative to a fixed point, on the
    directions in which messages can move z.  Below 1 all second moments converge at this linear rate; if noise or the
    slopes at x_star keep them away from 0, their limit is above 0.  Infinite if the recursion itself overflows.

    Raises ValueError as `expectation` does, and for more than 64 such directions in a part of the problem.
    """
    why = why_not(problem, algorithm, 1)
    if why is not None:
        raise ValueError(why)
    algorithm.participants(problem)
    eta = np.atleast_1d(np.asarray(algorithm.eta, dtype=float))
    with np.errstate(over="ignore", invalid="ignore"):
        run = _Run.of(problem, algorithm, np.zeros(problem.d), eta)
        worst = np.zeros(len(eta))
        for b in range(len(run.blocks.H)):
            basis = run.plan.reachable(b)
            r = basis.shape[1]
            if r > _MOST_STATES:
                raise ValueError(
                    f"{r} entries of z: expected at most {_MOST_STATES} for the eigenvalues of their products"
                )
            off = run.recursion.off[:, b].swapaxes(1, 2)
            maps = np.concatenate([run.recursion.through[:, b, None], off], axis=1)[..., 1:]
            for e, some in enumerate(basis.T @ maps @ basis):
                worst[e] = max(worst[e], _radius(some))
    return worst


def _radius(maps: Array) -> float:
    """The spectral radius of U -> sum of A U A' over the maps A (maps, r, r), on symmetric U."""
    r = maps.shape[-1]
    flat = maps.reshape(len(maps), r * r)
    products = (flat.T @ flat).reshape(r, r, r, r)  # A_ik A_jl at (i, k, j, l)
    if not np.isfinite(products).all():
        return float("inf")
    i, j = (index[:, None] for index in np.triu_indices(r))
    operator = products[i, i.T, j, j.T] + np.where(i.T == j.T, 0.0, products[i, j.T, j, i.T])
    return float(np.abs(np.linalg.eigvals(operator)).max())
