"""The exact expectation of a whole run, on quadratics, of algorithms with control variates and random masks.

This extends `moments` from z = (1, x) to the server's model together with the clients' memories.  A round maps
z = (x, memories) to a linear image of u = (z, x_hat): x_hat_j = mask_j o x_j is client j's compressed message, and
x_j = X_j z + slope_j + noise_j.  So mean and covariance of z follow a recursion: a mask multiplies the second moments
of the x_j, entry by entry, by its own second moments; sampled clients mix linear maps.  Mean and covariance are separate,
and memories are relative to their values at x_star.  This avoids cancellation: gaps keep their relative accuracy near
the optimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.linalg import helmert, orth

from simulations import engine
from simulations.algorithms.base import Algorithm
from simulations.algorithms.fedcom import (
    DIANA,
    SCAFFOLD,
    UNCOMPRESSED,
    FedCOM,
    FedCOMGATE,
    FedGATE,
    FedPAQ,
    damping_of,
)
from simulations.compressors import Compressor
from simulations.engine import Request
from simulations.exact.blocks import Blocks, LocalSteps, mean_square, second_moment, whole_run
from simulations.problems import Array, Problem
from simulations.problems.quadratic import Quadratic
from simulations.problems.regularised import Regularised

Tracking = FedCOM | FedPAQ | FedCOMGATE | FedGATE | SCAFFOLD | DIANA

# name -> (dimension of the quantity, meaning)
RECORDS = engine.RECORDS | {
    "tracking": (
        "[F]^2/[x]^2",
        "(1/M) sum_j ||delta_j - (grad F_j(x_r) - grad F(x_r))||^2, delta_j what client j subtracts from its gradients",
    )
}

_SUPPORTED = (FedCOM, FedPAQ, FedCOMGATE, FedGATE, SCAFFOLD, DIANA)  # these classes, without their subclasses
_MASKS = "expected a random mask, one of Identity, RandK, Bernoulli, Sparsifier"
_MOST_SAMPLES = 3000  # sets of participating clients
_MOST_STATES = 64  # entries of z, for the eigenvalues of the recursion of their second moments
_AT_ONCE = 64  # rounds, or images of second moments, that are computed in one go
_ROUNDING = 1e-10  # relative: singular values below it count as zero


# ----------------------------------------------------------------------------------------------------- algorithms


@dataclass(frozen=True, eq=False)
class Scheme:
    """An algorithm as a linear map of k blocks: z = (x / eta, memories ...), u = (z, x_hat_1 ... x_hat_M).

    tau     local steps
    minus   (M, k): client j's local steps follow grad F_j - sum_i minus[j, i] z_i
    begins  (k, M): memories are 0 at the start; relative to their values at x_star this is
            sum_j begins[i, j] (grad F_j - grad F)(x_star); None for an algorithm without memory
    after   (samples, k, k + M): the map from u to the next z, for each of the equally likely sets of clients
    """

    tau: int
    minus: Array
    begins: Array | None
    after: Array

    @property
    def k(self) -> int:
        """Number of blocks of z."""
        return self.minus.shape[1]

    def summing(self) -> Scheme:
        """The scheme with one more block, last in z, which also becomes the next x / eta."""
        k = self.k
        begins = None if self.begins is None else np.insert(self.begins, k, 0.0, axis=0)
        after = np.insert(self.after, k, 0.0, axis=2)
        return Scheme(self.tau, np.insert(self.minus, k, 0.0, axis=1), begins, np.insert(after, k, after[:, 0], axis=1))

    def varied(self) -> Array | None:
        """The covariance (k^2, (k + M)^2) of `after` over the samples, by two rows and two columns; None for one sample."""
        samples, k, columns = self.after.shape
        if samples == 1:
            return None
        off = (self.after - self.after.mean(0)).reshape(samples, -1)
        pairs = (off.T @ off / samples).reshape(k, columns, k, columns)
        return pairs.swapaxes(1, 2).reshape(k * k, columns * columns)

    def reachable(self) -> Array:
        """An orthonormal basis (k, r) of the blocks in which messages can move z.

        Conserved quantities, such as a sum of control variates that stays 0, are not in it.
        """
        P, G = self.after[..., : self.k], self.after[..., self.k :]
        basis = orth(_side_by_side(G), rcond=_ROUNDING)
        while True:
            larger = orth(np.hstack([basis, _side_by_side(P @ basis)]), rcond=_ROUNDING)
            if larger.shape == basis.shape:
                return larger
            basis = larger


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no recursion: a problem that is no Quadratic, another algorithm, a compressor that is no random mask."""
    if not isinstance(getattr(problem, "plain", problem), Quadratic):
        return f"{getattr(problem, 'name', problem)}: expected a Quadratic, whose moments follow a recursion"
    if type(algorithm) not in _SUPPORTED:
        expected = ", ".join(kind.__name__ for kind in _SUPPORTED)
        return f"{type(algorithm).__name__}: expected one of {expected}"
    compressor: Compressor = getattr(algorithm, "compressor", UNCOMPRESSED)
    return f"{compressor}: {_MASKS}" if compressor.moments(problem.d) is None else None


def scheme(problem: Quadratic, algorithm: Tracking) -> Scheme:
    """The algorithm as a linear map, on this problem.

    Raises ValueError for a problem that is no Quadratic, an algorithm that is not in `Tracking`, and for more than 3000
    sets of participating clients.
    """
    why = why_not(problem, algorithm, 1)
    if why is not None:
        raise ValueError(why)
    M, S = problem.M, algorithm.participants(problem)
    if comb(M, S) > _MOST_SAMPLES:
        raise ValueError(f"{comb(M, S)} sets of {S} of {M} clients: expected at most {_MOST_SAMPLES}, all are visited")
    members = np.array(list(combinations(range(M), S)))
    part = (members[..., None] == np.arange(M)).sum(1, dtype=float)  # (samples, M), 1 for participants
    each, whole = part[:, :, None] * np.eye(M), part[:, None, :]  # the participants' x_hat_j, one row each; their sum

    if isinstance(algorithm, FedCOM | FedPAQ):
        return Scheme(algorithm.tau, np.zeros((M, 1)), None, _rows((1.0, -algorithm.gamma / S * whole)))

    # Columns: x / eta, the clients' memories, their messages.
    kept, mean = np.eye(M), np.full((1, M), 1 / M)
    conserved = False
    if isinstance(algorithm, DIANA):
        alpha = damping_of(algorithm.alpha, algorithm.compressor, problem.d)
        minus = kept
        after = _rows((1.0, -mean, -whole / M), (0.0, kept, alpha * each))  # h is the mean of the h_j
    elif isinstance(algorithm, SCAFFOLD):
        minus = kept - mean  # c is the mean of the c_j
        after = _rows(
            (1.0, 0 * mean, -algorithm.gamma / S * whole),
            (0.0, kept - part[:, :, None] * mean, each / algorithm.tau),
        )
    else:
        gate = algorithm if isinstance(algorithm, FedCOMGATE) else FedCOMGATE(algorithm.tau, 1.0, algorithm.gamma)
        alpha = gate.sign * damping_of(gate.damping, gate.compressor, problem.d)
        divisor = M if gate.divisor == "clients" else S
        minus, conserved = kept, divisor == S
        after = _rows(
            (1.0, 0 * mean, -gate.gamma * whole / divisor),
            (0.0, kept, alpha / gate.tau * (each - part[:, :, None] * whole / divisor)),
        )
    # If sum_j delta_j stays 0, this direction is left out, so that no rounding errors accumulate in it.
    basis = helmert(M).T if conserved else np.eye(M)
    one = np.ones((1, 1))
    into, out = _diagonal(one, basis.T), _diagonal(one, basis, np.eye(M))
    begins = np.vstack([np.zeros((1, M)), -basis.T])
    return Scheme(algorithm.tau, np.hstack([np.zeros((M, 1)), minus @ basis]), begins, into @ after @ out)


def _rows(*rows: tuple[ArrayLike, ...]) -> Array:
    """(samples, rows, columns) from rows of parts ([samples,] rows, columns); a number stands for the first column."""
    samples = max(np.shape(part)[0] for row in rows for part in row if np.ndim(part) == 3)
    stacked = []
    for row in rows:
        height = np.shape(row[-1])[-2]
        parts = [np.full((height, 1), part) if np.ndim(part) == 0 else np.asarray(part) for part in row]
        stacked.append(np.concatenate([np.broadcast_to(p, (samples, *p.shape[-2:])) for p in parts], axis=-1))
    return np.concatenate(stacked, axis=-2)


def _diagonal(*parts: Array) -> Array:
    """The block-diagonal matrix of the parts, which may have any shapes."""
    out = np.zeros([sum(sizes) for sizes in zip(*(part.shape for part in parts), strict=True)])
    row = column = 0
    for part in parts:
        out[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return out


def _side_by_side(matrices: Array) -> Array:
    """(samples, k, r) -> (k, samples r)."""
    return matrices.swapaxes(0, 1).reshape(matrices.shape[1], -1)


# ------------------------------------------------------------------------------------------------------ one round


@dataclass(frozen=True, eq=False)
class Recursion:
    """One round of mean and covariance of z, which has n = k p entries: entry i p + a is coordinate a of block i.

    All messages together have N = M p entries.  E and B are batches of step sizes and of independent parts of the problem.

    X       (E, B, N, n), slope (E, B, N): the messages x = X z + slope + noise, before they are compressed
    noise   (E, B, N, N), the covariance of that noise
    first   (B, N), E[mask];  spread (B, N, N), Cov[mask]
    mean    (E or 1, k, k + M): the map from u to the next z, mean over the sets of clients
    varied  (k^2, (k + M)^2), the covariance of that map over the sets of clients; None for a single set
    """

    X: Array
    slope: Array
    noise: Array
    first: Array
    spread: Array
    mean: Array
    varied: Array | None

    @property
    def p(self) -> int:
        """Coordinates of a block."""
        return self.X.shape[-1] // self.mean.shape[-2]

    @cached_property
    def expected(self) -> Array:
        """(E, B, N, n): E[x_hat] = expected z + first slope."""
        return self.first[..., None] * self.X

    @cached_property
    def masked(self) -> Array:
        """The noise of the messages after an independent mask with the same mean, (E, B, N, N)."""
        return _outer(self.first, self.first) * self.noise

    @cached_property
    def sent(self) -> Array:
        """(E or 1, 1, n, N): what x_hat adds to z."""
        return _stretched(self.mean[..., self.mean.shape[-2] :], self.p)[:, None]

    @cached_property
    def through(self) -> Array:
        """(E, B, n, n): E[z] of the next round = through z + sent first slope."""
        return _stretched(self.mean[..., : self.mean.shape[-2]], self.p)[:, None] + self.sent @ self.expected

    def after(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        """Mean (..., E, B, n) and covariance (..., E, B, n, n) of z after the round from those before it."""
        x = _times(self.X, mean) + self.slope
        second = self.X @ covariance @ self.X.swapaxes(-1, -2) + self.noise + _outer(x, x)
        own = self.spread * second + self.masked  # the mean of Cov[x_hat] given z
        after = self.through @ covariance @ self.through.swapaxes(-1, -2) + self.sent @ own @ self.sent.swapaxes(-1, -2)
        if self.varied is not None:
            u = np.concatenate([mean, self.first * x], axis=-1)
            across = self.expected @ covariance
            upper = np.concatenate([covariance, across.swapaxes(-1, -2)], axis=-1)
            lower = np.concatenate([across, across @ self.expected.swapaxes(-1, -2) + own], axis=-1)
            after = after + _blockwise(self.varied, np.concatenate([upper, lower], axis=-2) + _outer(u, u), self.p)
        return _times(self.through, mean) + _times(self.sent, self.first * self.slope), after


def _times(A: Array, x: Array) -> Array:
    """A x: (..., r, n), (..., n) -> (..., r)."""
    product: Array = (A @ x[..., None])[..., 0]
    return product


def _outer(x: Array, y: Array) -> Array:
    """The products x_i y_j: (..., n), (..., n) -> (..., n, n)."""
    return x[..., :, None] * y[..., None, :]


def _stretched(A: Array, p: int) -> Array:
    """A kron I_p, a map of blocks as a map of their coordinates: (..., r, c) -> (..., r p, c p)."""
    wide = np.einsum("...rc,ab->...racb", A, np.eye(p))
    return wide.reshape(*A.shape[:-2], A.shape[-2] * p, A.shape[-1] * p)


def _blockwise(pairs: Array, U: Array, p: int) -> Array:
    """sum over c, d of pairs[(a, b), (c, d)] U_cd, for p x p blocks: (r^2, c^2), (..., c p, c p) -> (..., r p, r p)."""
    r, c = (int(np.sqrt(size)) for size in pairs.shape)
    batch = U.shape[:-2]
    blocks = np.moveaxis(U.reshape(*batch, c, p, c, p), (-3, -1), (-4, -3)).reshape(*batch, p, p, c * c)
    mixed = (blocks @ pairs.T).reshape(*batch, p, p, r, r)
    return np.moveaxis(mixed, (-4, -3), (-3, -1)).reshape(*batch, r * p, r * p)


# ------------------------------------------------------------------------------------------------------ whole runs


@dataclass(frozen=True, eq=False)
class _Run:
    """A run before its first round.

    blocks     the blocks of the measured function
    stepped    the blocks of the functions of the local steps; the same unless regularised
    plan       the algorithm's scheme
    local      the local steps
    slope      (B, M, p): the first gradient of client j is H_j x + slope_j - sum_i minus[j, i] z_i
    recursion  one round
    start      (E, B, n), z at the start
    units      (E, 1, n): z times these is (x, memories)
    """

    blocks: Blocks
    stepped: Blocks
    plan: Scheme
    local: LocalSteps
    slope: Array
    recursion: Recursion
    start: Array
    units: Array

    @classmethod
    def of(
        cls,
        problem: Quadratic | Regularised,
        plan: Scheme,
        compressor: Compressor,
        x0: Array,
        eta: Array,
        ratio: Array | None = None,
    ) -> _Run:
        """A run with the step sizes eta (E,); with `ratio` (E,) the last block of z is the weighted sum of iterates."""
        if ratio is not None:
            plan = plan.summing()
        plain = without_penalty(problem)
        measured, first, second = _blocks(plain, compressor, x0)
        blocks = measured
        if isinstance(problem, Regularised):  # the penalty's gradient is phi (x_star + (x - x_star))
            x_star = -_blocks(plain, compressor, np.zeros(plain.d))[0].start
            blocks = replace(
                measured,
                H=measured.H + problem.phi * np.eye(measured.H.shape[-1]),
                slope=measured.slope + problem.phi * x_star[:, None],
                mean_slope=measured.mean_slope + problem.phi * x_star,
            )
        (B, M, p, _), E, k = blocks.H.shape, len(eta), plan.k
        local = LocalSteps.of(blocks.H, eta, plan.tau).alike()

        # relative to x_star, all clients with control variates have the slope of F at x_star, which is 0
        mean_slope = blocks.mean_slope[:, None]
        slope = blocks.slope if plan.begins is None else np.broadcast_to(mean_slope, blocks.slope.shape)
        start, units = np.zeros((E, B, k, p)), np.ones((E, 1, k, p))
        if plan.begins is not None:
            start[:] = plan.begins @ (blocks.slope - mean_slope)
        of_x = [0] if ratio is None else [0, -1]
        start[:, :, of_x] = (blocks.start / eta[:, None, None])[:, :, None]
        units[:, :, of_x] = eta[:, None, None, None]

        X = -np.einsum("ebjac,ji->ebjaic", local.T, plan.minus)
        X[..., 0, :] += local.T @ (eta[:, None, None, None, None] * blocks.H)
        noise = np.zeros((E, B, M, p, M, p))
        noise[:, :, range(M), :, range(M)] = plain.sigma**2 / plain.d * np.moveaxis(local.noise, 2, 0)
        same_coins = np.ones((M, M)) if compressor.shared else np.eye(M)
        spread = np.einsum("ij,bac->biajc", same_coins, second - _outer(first, first))
        mean = np.repeat(plan.after.mean(0)[None], 1 if ratio is None else E, axis=0)
        if ratio is not None:  # relative to its last weight, the sum is q times the previous sum plus the new iterate
            mean[:, -1, k - 1] = ratio
        recursion = Recursion(
            X.reshape(E, B, M * p, k * p),
            _times(local.T, np.broadcast_to(slope, local.T.shape[:-1])).reshape(E, B, M * p),
            noise.reshape(E, B, M * p, M * p),
            np.tile(first, M),
            spread.reshape(B, M * p, M * p),
            mean,
            plan.varied(),
        )
        z, scale = start.reshape(E, B, k * p), units.reshape(E, 1, k * p)
        return cls(measured, blocks, plan, local, slope, recursion, z, scale)

    def forms(self, sigma2: float) -> dict[str, Array]:
        """Quadratic forms (E or 1, B, 1 + n, 1 + n) of (1, x, memories), whose sums over blocks are recorded.

        sigma2  variance of a coordinate of the noise
        """
        (B, M, p, _), n = self.blocks.H.shape, self.start.shape[-1]
        forms = {}
        for name, small in self.blocks.forms().items():
            form = np.zeros((B, 1 + n, 1 + n))
            of_x = [0, *(range(1 + n - p, 1 + n) if name == "gap_average" else range(1, 1 + p))]
            form[np.ix_(range(B), of_x, of_x)] = small
            forms[name] = form[None]
        taken = np.einsum("ji,ac->jaic", self.plan.minus, np.eye(p)).reshape(M, p, n)
        off, first = np.zeros((2, B, M, p, 1 + n))
        off[..., 1:], first[..., 1:] = taken, -taken
        off[..., 1 : 1 + p] -= self.blocks.H - self.blocks.H.mean(1, keepdims=True)
        forms["tracking"] = mean_square(off, off)[None]
        first[..., 1 : 1 + p] += self.stepped.H
        first[..., 0] = self.slope
        forms["drift"] = mean_square(first, self.local.moved @ first)
        forms["drift"][..., 0, 0] += sigma2 * self.local.shaken.mean(-1)
        return forms


def _blocks(problem: Quadratic, compressor: Compressor, x0: Array) -> tuple[Blocks, Array, Array]:
    """The problem in blocks, and the masks' first (B, p) and second moments (B, p, p) there.

    In coordinates in which all H_m are diagonal, only the second moments of single coordinates are needed.  A change to
    such coordinates is allowed if the mask is the same number in all coordinates.

    Raises ValueError for a compressor that is no random mask.
    """
    moments = compressor.moments(problem.d)
    if moments is None:
        raise ValueError(f"{compressor}: {_MASKS}")
    first, second = moments
    blocks = Blocks.of(problem, x0, turned=bool((second == second[0, 0]).all() and (first == first[0]).all()))
    if blocks.start.shape[1] == 1:
        return blocks, first[:, None], np.diagonal(second)[:, None, None]
    return blocks, first[None], second[None]


def without_penalty(problem: Quadratic | Regularised) -> Quadratic:
    """The measured function.  Raises ValueError if it is no Quadratic."""
    plain = problem.plain if isinstance(problem, Regularised) else problem
    if not isinstance(plain, Quadratic):
        raise ValueError(f"{getattr(plain, 'name', plain)}: expected a Quadratic, whose moments follow a recursion")
    return plain


def expectation(
    problem: Quadratic | Regularised,
    algorithm: Tracking,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    Arguments and Dataset as for `moments.expectation`; the problem may be a regularised one.
    `record` may also name `tracking`, see RECORDS.

    Raises ValueError for a malformed request, a problem that is no Quadratic or weighs its clients, an algorithm that
    is not in `Tracking`, a compressor that is no random mask, more than 3000 sets of participating clients, or
    `tracking` if clients have no memory; NoSuchConstant if the problem does not have a constant that a recorded
    quantity needs.
    """
    plain = without_penalty(problem)
    plan = scheme(plain, algorithm)
    if "tracking" in record and plan.begins is None:
        raise ValueError(
            f"cannot record tracking of {type(algorithm).__name__}: its clients remember nothing; expected other quantities"
        )

    def series(asked: Request, names: list[str]) -> dict[str, Array]:
        ratio = asked.ratio if "gap_average" in names else None
        start = _Run.of(problem, plan, algorithm.compressor, asked.x0, asked.eta, ratio)
        return _series(start, plain.sigma**2 / plain.d, rounds, names, asked.ratio)

    return whole_run(problem, algorithm, series, RECORDS, rounds=rounds, x0=x0, record=record, at=at, average=average)


def _series(run: _Run, sigma2: float, rounds: int, names: Sequence[str], ratio: Array) -> dict[str, Array]:
    """Expectations of the named quantities (E, rounds + 1), not finite from some round on if a step size diverges."""
    forms = run.forms(sigma2)
    E, B, n = run.start.shape
    asked = np.stack([np.broadcast_to(forms[name], (E, B, 1 + n, 1 + n)) for name in names], axis=2)
    asked = asked.reshape(E, B, len(names), (1 + n) ** 2)
    p = run.blocks.start.shape[1]
    series = np.full((len(names), E, rounds + 1), np.nan)
    weights = np.ones((E, rounds + 1))
    for r in range(rounds if "gap_average" in names else 0):
        weights[:, r + 1] = 1 + ratio * weights[:, r]
    mean, covariance = run.start, np.zeros((E, B, n, n))
    for first in range(0, rounds + 1, _AT_ONCE):
        some = slice(first, min(first + _AT_ONCE, rounds + 1))
        states = []
        for _ in range(some.start, some.stop):
            states.append((mean, covariance))
            mean, covariance = run.recursion.after(mean, covariance)
        means, covariances = (np.stack(parts) for parts in zip(*states, strict=True))
        units = np.repeat(run.units[None], len(means), axis=0)
        if "gap_average" in names:
            units[..., n - p :] /= weights[:, some].T[:, :, None, None]
        second = second_moment(units * means, units[..., :, None] * covariances * units[..., None, :])
        found = (asked @ second.reshape(-1, E, B, (1 + n) ** 2, 1)).sum(2)[..., 0]  # (rounds, E, names)
        series[..., some] = np.moveaxis(found, (0, 1, 2), (2, 1, 0))
    return dict(zip(names, series, strict=True))


def spectral_radius(problem: Quadratic | Regularised, algorithm: Tracking) -> Array:
    """The factor per round (E,) by which expected squares shrink or grow in the long run, without noise.

    It is the spectral radius of the linear part of the recursion of E[z z'], with z relative to a fixed point, on the
    directions in which messages can move z.  Below 1 all second moments converge at this linear rate; if noise or the
    slopes at x_star keep them away from 0, their limit is above 0.  Infinite if the recursion itself overflows.

    Raises ValueError as `expectation` does, and for more than 64 such directions in a block of the problem.
    """
    plain = without_penalty(problem)
    plan = scheme(plain, algorithm)
    eta = np.atleast_1d(np.asarray(algorithm.eta, dtype=float))
    with np.errstate(over="ignore", invalid="ignore"):
        run = _Run.of(problem, plan, algorithm.compressor, np.zeros(problem.d), eta)
        basis = _stretched(plan.reachable(), run.blocks.start.shape[1])
        n, r = basis.shape
        if r > _MOST_STATES:
            raise ValueError(f"{r} entries of z: expected at most {_MOST_STATES} for the eigenvalues of their products")
        still = replace(
            run.recursion, slope=np.zeros_like(run.recursion.slope), noise=np.zeros_like(run.recursion.noise)
        )
        i, j = np.triu_indices(r)
        images = []
        for first in range(0, len(i), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            one = _outer(basis.T[i[some]], basis.T[j[some]])
            second = np.where(np.equal(i, j)[some, None, None], one, one + one.swapaxes(-1, -2))[:, None, None]
            second = np.broadcast_to(second, (len(one), *run.start.shape, n))
            after = basis.T @ still.after(np.zeros_like(run.start), second)[1] @ basis
            images.append(after[..., i, j])
        operator = np.moveaxis(np.concatenate(images), 0, -1)  # (E, B, ...)
    finite = np.asarray(np.isfinite(operator).all((-1, -2)))
    radius = np.abs(np.linalg.eigvals(np.where(finite[..., None, None], operator, 0.0))).max(-1)
    worst: Array = np.where(finite, radius, np.inf).max(-1)
    return worst
