"""L2-regularised logistic regression, binary and multinomial, on a data set dealt out to clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fedtheory.simulations.checked import affordable, number, whole
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.data import Dataset, dense
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems import Array, checked_weights, in_html, in_one_line, mean_over_clients, settings_of
from fedtheory.simulations.problems.sparse import SparseSamples, SparseShards, dealt

_ARRAYS = 4  # of gradients of all clients, which the constants of sparse features take at once


class Samples(NamedTuple):
    """The samples of gradients, each (N or 1, *clients, samples, .)."""

    features: Array
    targets: Array
    weights: Array

    def scores(self, x: Array, columns: int) -> Array:
        """x (E, N, *clients, p C) -> (E, N, *clients, samples, C)."""
        return np.asarray(self.features @ x.reshape(*x.shape[:-1], -1, columns))

    def summed(self, r: Array, shape: tuple[int, ...]) -> Array:
        """Sums of a_i r_i' over the samples: r as the scores -> `shape`, which is that of x."""
        return np.asarray(self.features.swapaxes(-1, -2) @ r).reshape(shape)


@dataclass(frozen=True)
class Shards:
    """The clients' data in one array, padded to the largest client: (M, n_max, p), targets (M, n_max, C)."""

    features: Array
    targets: Array
    weights: Array  # (M, n_max, 1): 1/n_m on the client's samples, 0 on the padding
    sizes: NDArray[np.int64]

    @cached_property
    def curvatures(self) -> Array:
        """The largest eigenvalue of each client's (1/n_m) A'A: (M,)."""
        if self.features.shape[1] < self.features.shape[2]:
            scaled = self.features * np.sqrt(self.weights)
            return np.asarray(np.linalg.eigvalsh(np.matmul(scaled, scaled.swapaxes(1, 2)))[:, -1])
        gram = np.matmul((self.features * self.weights).swapaxes(1, 2), self.features)
        return np.asarray(np.linalg.eigvalsh(gram)[:, -1])

    @property
    def precision(self) -> str:
        """How far above the eigenvalues the `curvatures` may be: nothing, they are eigenvalues."""
        return ""

    def read(self, client: NDArray[np.int64], draw: Draw, batch: int | None) -> Samples:
        """The samples of one gradient: all of the clients' data, or a mini-batch of each, drawn with replacement."""
        if batch is None:
            return draw.once(client, lambda: self.take(client, None))
        return self._taken(draw.places(client, self.sizes, self.features.shape[1], batch))

    @cached_property
    def _padded(self) -> tuple[Array, Array]:
        """Features and targets of all samples, padding included: (M n_max, .)."""
        return self.features.reshape(-1, self.features.shape[-1]), self.targets.reshape(-1, self.targets.shape[-1])

    def _taken(self, rows: NDArray[np.int64]) -> Samples:
        """The samples at these places (..., samples) among all padded ones, with equal weights."""
        features, targets = self._padded
        return Samples(features.take(rows, axis=0), targets.take(rows, axis=0), np.asarray(1 / rows.shape[-1]))

    def take(self, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> Samples:
        """The samples `rows` (N or 1, *clients, samples) of each client (N or 1, *clients), counted from 0; None: all."""
        if rows is None:
            return Samples(*(of_clients(part, client) for part in (self.features, self.targets, self.weights)))
        return self._taken(rows + (client * self.features.shape[1])[..., None])

    def numbers(self, batch: int | None) -> int:
        """How many numbers the samples of one gradient of a client take."""
        return (self.features.shape[1] if batch is None else batch) * self.features.shape[2]

    def pooled(self, weights: Array | None) -> tuple[Array, Array, Array]:
        """All samples together: features (n, p), targets (n, C) and weights in F, (n, 1)."""
        real = self.weights[..., 0] > 0
        counts = self.weights / len(self.sizes) if weights is None else self.weights * weights[:, None, None]
        return self.features[real], self.targets[real], counts[real]

    def means(self, values: Array) -> Array:
        """The mean over each client's samples: (M, n_max) -> (M,)."""
        return np.asarray((values * self.weights[..., 0]).sum(1))

    @property
    def alike(self) -> bool:
        """Whether all clients have the same samples, in the same order."""
        return not any((part != part[:1]).any() for part in (self.features, self.targets, self.weights))

    @cached_property
    def square_norms(self) -> Array:
        """||a||^2 of every sample, (M, n_max)."""
        return np.asarray((self.features**2).sum(-1))

    def scores(self, W: Array) -> Array:
        """The scores of all samples at one point: W (p, C) -> (M, n_max, C)."""
        return np.asarray(self.features @ W)

    def sums(self, r: Array) -> Array:
        """(1/n_m) A_m'R_m of every client: the rows of R, (M, n_max, C) -> (M, p, C)."""
        return np.asarray(self.features.swapaxes(1, 2) @ (r * self.weights))

    @cached_property
    def moduli(self) -> Array:
        """The mean moduli of each client's columns, (M, p)."""
        return np.asarray((np.abs(self.features) * self.weights).sum(1))


def check_dealt(dataset: Any, partition: Partition, what: str = "samples") -> None:
    """Raises ValueError when a client is left without samples (or images), or samples without a client."""
    sizes = np.array([len(rows) for rows in partition.clients])
    if sizes.sum() != len(dataset.labels):
        raise ValueError(
            f"{partition.method} deals out {sizes.sum()} {what}, {dataset.name} has {len(dataset.labels)}: expected all"
        )
    if (sizes == 0).any():
        empty = np.flatnonzero(sizes == 0).tolist()
        raise ValueError(f"clients {empty} of {partition.method} have no {what}: expected at least one each")


def deal(dataset: Dataset, partition: Partition, targets: Array) -> Shards:
    """Deal the samples out.  Raises ValueError as `check_dealt`, and for sparse features that take too much memory."""
    check_dealt(dataset, partition)
    sizes, rows_of = np.array([len(rows) for rows in partition.clients]), dense(dataset.features, dataset.name)
    M, n = len(sizes), int(sizes.max())
    features = np.zeros((M, n, rows_of.shape[1]))
    out = np.zeros((M, n, targets.shape[1]))
    weights = np.zeros((M, n, 1))
    for m, rows in enumerate(partition.clients):
        features[m, : len(rows)] = rows_of[rows]
        out[m, : len(rows)] = targets[rows]
        weights[m, : len(rows)] = 1 / len(rows)
    return Shards(features, out, weights, sizes)


def check_batch(batch: int | None) -> int | None:
    """The size of a mini-batch.  Raises ValueError unless it is a whole number in [1, 10^9], or None: exact gradients."""
    return None if batch is None else whole("batch", batch, most=10**9)


def weights_of(given: Any, sizes: NDArray[np.int64]) -> Array | None:
    """The clients' weights, as `checked_weights`; for "sizes" each client's share of the samples.

    Raises ValueError for another word, or weights that are not M positive numbers with the sum 1.
    """
    if isinstance(given, str):
        if given != "sizes":
            raise ValueError(
                f"weights = {given!r}: expected 'sizes', or a number for each of the M = {len(sizes)} clients"
            )
        given = sizes / sizes.sum()
    return checked_weights(given, len(sizes))


def deviation_bound(
    shards: Shards | SparseShards, largest: float, centre: Array, radius: float, weights: Array | None = None
) -> Certified:
    """G with sum p_m ||grad F_m - grad F||^2 <= G^2 everywhere, where grad F_m = (1/n_m) A_m'R_m, plus a common ridge.

    largest         a bound of the norm of every row of R_m
    centre, radius  (M, n_max, C), or (n, C) of sparse features: every row of R_m lies within `radius` of that of `centre`
    weights         p (M,); None: 1/M each

    ||(1/n_m) A_m'R|| <= s_m max ||row of R||, where s_m^2 is the largest eigenvalue of (1/n_m) A_m'A_m, or, coordinate
    by coordinate, the sum of squares of the columns' mean moduli.  With R = R_m it bounds the gradients themselves.  With
    R = R_m - centre it bounds their distance from the gradients of `centre`, whose deviations are known.  The smaller
    bound is returned.
    """
    if len(shards.sizes) == 1:
        return Certified(0.0, "a single client")
    if isinstance(shards, Shards) and shards.alike:
        return Certified(0.0, "the clients have the same samples")
    bounds = np.minimum(shards.curvatures, (shards.moduli**2).sum(-1))
    size = float(np.sqrt(mean_over_clients(bounds, weights)))
    g = shards.sums(centre)
    apart = ((g - mean_over_clients(g, weights)) ** 2).sum((1, 2))
    around = float(np.sqrt(mean_over_clients(apart, weights))) + radius * size
    if largest * size <= around:
        return Certified(largest * size, "proved bound: the size of the clients' gradients")
    return Certified(
        around, "proved bound: deviations at the centre of the residuals, and how far residuals are from it"
    )


def one_hot(labels: NDArray[np.int64], classes: int) -> Array:
    """Labels as unit vectors: (n,) -> (n, classes)."""
    return np.eye(classes)[labels]


def softmax(z: Array) -> Array:
    """exp(z) / sum exp(z) along the last axis; fast, because it runs at every local step."""
    first = np.array(z.reshape(-1, z.shape[-1]).T, order="C")  # numpy is slow along a short last axis
    first -= np.maximum.reduce(first)
    np.exp(first, out=first)
    first /= np.add.reduce(first)
    return np.ascontiguousarray(first.T).reshape(z.shape)


def of_clients(parts: Array, client: NDArray[np.int64]) -> Array:
    """parts[client]; a view, not a copy, when `client` is all clients in their own order."""
    everyone = client.shape == (1, len(parts)) and (client[0] == np.arange(len(parts))).all()
    return parts[None] if everyone else parts[client]


@dataclass(frozen=True, eq=False)
class Logistic:
    """F_m(x) = mean over client m's samples of the logistic loss + (regularisation / 2) ||x||^2.

    Two classes: x (p,), loss log(1 + exp(z)) - y z with z = a'x and y in {0, 1}.
    C > 2 classes: x (p C,), row-major (p, C), loss logsumexp(z) - z_y with z = W'a.

    regularisation  lambda > 0, the strong convexity constant
    batch           mini-batch size, drawn with replacement; None: exact gradients
    weights         p (M,), F = sum_m p_m F_m; "sizes": each client's share of the samples, so that all samples have equal
                    weight; None: all clients have equal weight, whatever their sizes, F = (1/M) sum F_m

    Features may be sparse: then runs and constants take memory in proportion to the numbers that are not zero, and to the
    models.

    Raises ValueError for a regularisation that is not positive, batch < 1, a client without samples, weights that
    are not M positive numbers with the sum 1, or sparse features whose models take too much memory.
    """

    dataset: Dataset
    partition: Partition
    regularisation: float
    batch: int | None = None
    weights: Any = None
    kind: ClassVar[str] = "logistic"

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        object.__setattr__(self, "regularisation", number("regularisation", self.regularisation, "> 0"))
        if not isinstance(self.dataset.features, np.ndarray):
            told = f"gradients of the {self.M} clients of {self.dataset.name} in {self.d} coordinates"
            affordable(told, numbers=_ARRAYS * float(self.M) * self.d)
        object.__setattr__(self, "batch", check_batch(self.batch))
        object.__setattr__(self, "weights", weights_of(self.weights, self.shards.sizes))

    @cached_property
    def columns(self) -> int:
        """Number of score columns: 1 for two classes, C otherwise."""
        return 1 if self.dataset.classes == 2 else self.dataset.classes

    @cached_property
    def shards(self) -> Shards | SparseShards:
        """The clients' data: padded, or sparse."""
        labels = self.dataset.labels
        targets = labels[:, None].astype(float) if self.columns == 1 else one_hot(labels, self.columns)
        if isinstance(self.dataset.features, np.ndarray):
            return deal(self.dataset, self.partition, targets)
        check_dealt(self.dataset, self.partition)
        return dealt(self.dataset.features, targets, self.partition.clients)

    @property
    def name(self) -> str:
        """Data set, partition, regularisation."""
        noise = "exact gradients" if self.batch is None else f"batch {self.batch}"
        unequal = "" if self.weights is None else ", clients weighted"
        return f"logistic regression, {self.dataset.name}, {self.partition.method}, {noise}{unequal}"

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.partition.clients)

    @property
    def d(self) -> int:
        """Number of coordinates, p C."""
        return self.dataset.features.shape[1] * self.columns

    @property
    def blocks(self) -> Mapping[str, slice]:
        """One block: all weights."""
        return {"weights": slice(0, self.d)}

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Data set, partition method, regularisation, batch and, where there are some, weights."""
        return settings_of(self, self.kind)

    def _residual(self, z: Array, targets: Array) -> Array:
        r: Array = expit(z) if self.columns == 1 else softmax(z)
        r -= targets
        return r

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """x (E, N, *clients, d), client (N or 1, *clients) -> stochastic gradients in the shape of x."""
        return self._mean_gradient(x, self.shards.read(client, draw, self.batch))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of samples of each client, (M,): F_m is the mean of that many functions."""
        return self.shards.sizes

    def sample_gradient(self, x: Array, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> Array:
        """Mean gradient over the samples `rows` of each client: x (E, N, *clients, d) -> the shape of x.

        client (N or 1, *clients); rows (N or 1, *clients, samples) counts from 0 within each client's own data;
        None: over all of its samples.
        """
        return self._mean_gradient(x, self.shards.take(client, rows))

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """Exact gradients of F_client: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        return self.sample_gradient(x, client, None)

    def numbers(self, clients: int, steps: int) -> int:
        """How many numbers a local step of one seed needs, with so many clients and step sizes: samples and models."""
        return clients * (self.shards.numbers(self.batch) + 2 * steps * self.d)

    def _mean_gradient(self, x: Array, samples: Samples | SparseSamples) -> Array:
        r = self._residual(samples.scores(x, self.columns), samples.targets)
        r *= samples.weights
        g = samples.summed(r, x.shape)
        g += self.regularisation * x
        return g

    @cached_property
    def _pooled(self) -> tuple[Any, Array, Array]:
        """All samples: features (n, p), an array or sparse, targets (n, C) and weights in F, (n, 1)."""
        return self.shards.pooled(self.weights)

    def _all_scores(self, x: Array) -> Array:
        """The scores of all samples at all points: x (..., d) -> (n, points, C).  One product is faster than many small."""
        side_by_side = x.reshape(-1, x.shape[-1] // self.columns, self.columns).swapaxes(0, 1)
        A = self._pooled[0]
        return np.asarray(A @ side_by_side.reshape(A.shape[1], -1)).reshape(A.shape[0], -1, self.columns)

    def _single_scores(self, x: Array) -> Array:
        """The scores of all samples where a sample has one: x (..., p) -> (..., n, 1)."""
        A = self._pooled[0]
        if isinstance(A, np.ndarray):
            return np.asarray(A @ x[..., None])
        return self._all_scores(x)[..., 0].T.reshape(*x.shape[:-1], -1, 1)

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        _, T, w = self._pooled
        penalty = self.regularisation / 2 * (x**2).sum(-1)
        if self.columns == 1:
            z = self._single_scores(x)
            return (np.logaddexp(0.0, z) - T * z)[..., 0] @ w[:, 0] + penalty
        z = self._all_scores(x)
        own = np.take_along_axis(z, T.argmax(-1)[:, None, None], axis=-1)
        highest = z.max(-1, keepdims=True)
        loss = (np.log(np.exp(z - highest).sum(-1, keepdims=True)) + highest - own)[..., 0]
        return np.asarray((w[:, 0] @ loss).reshape(x.shape[:-1]) + penalty)

    def _summed(self, r: Array, shape: tuple[int, ...]) -> Array:
        """Weighted sums over all samples of a_i r_i': (n, points, C) -> `shape`, which is (..., d)."""
        A, _, w = self._pooled
        total = np.asarray(A.T @ (r * w[:, None]).reshape(A.shape[0], -1))
        side_by_side = total.reshape(A.shape[1], -1, self.columns)
        return side_by_side.swapaxes(0, 1).reshape(shape)

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F: (..., d) -> (..., d)."""
        targets = self._pooled[1][:, None]
        return self._summed(self._residual(self._all_scores(x), targets), x.shape) + self.regularisation * x

    def _residual_along(self, z: Array, targets: Array, dz: Array) -> Array:
        """Derivative of the residuals at the scores z (n, 1, C) along dz (n, points, C)."""
        if self.columns == 1:
            return expit(z) * expit(-z) * dz
        q = softmax(z)
        return q * (dz - (q * dz).sum(-1, keepdims=True))

    def hessian_times(self, x: Array, v: Array) -> Array:
        """The Hessian of F at x (d,), times each of the vectors v (..., d) -> (..., d)."""
        targets = self._pooled[1][:, None]
        dr = self._residual_along(self._all_scores(x), targets, self._all_scores(v))
        return self._summed(dr, v.shape) + self.regularisation * v

    def hessian(self, x: Array) -> Array:
        """Hessian of F: (d,) -> (d, d)."""
        return self.hessian_times(x, np.eye(self.d))

    @cached_property
    def _minimiser(self) -> tuple[Array, float]:
        """x_star by Newton's method with conjugate gradients and step halving, and the norm of the gradient there."""
        from scipy.sparse.linalg import LinearOperator, cg

        x = np.zeros(self.d)
        value, g = float(self.value(x)), self.full_gradient(x)
        for _ in range(100):
            norm = float(np.linalg.norm(g))
            if norm <= 1e-12:
                break
            H = LinearOperator((self.d, self.d), matvec=partial(self.hessian_times, x), dtype=float)
            step, _ = cg(H, g, rtol=min(0.1, np.sqrt(norm)))  # ever more accurate, so that the steps converge fast
            length = 1.0
            while float(self.value(x - length * step)) > value + 1e-14 * abs(value) and length > 1e-6:
                length /= 2
            new = x - length * step
            g_new = self.full_gradient(new)
            if length == 1.0 and np.linalg.norm(g_new) >= norm and norm < 1e-10:
                break  # rounding errors dominate
            x, value, g = new, float(self.value(new)), g_new
        return x, float(np.linalg.norm(g))

    @cached_property
    def smoothness(self) -> float:
        """A proved smoothness constant of every client's loss, without the regularisation."""
        # The Hessian of the loss in the scores is at most 1/4 (two classes) or 1/2 (softmax) times the identity.
        return float((0.25 if self.columns == 1 else 0.5) * self.shards.curvatures.max())

    @cached_property
    def constants(self) -> Constants:
        """L, sigma, (beta, zeta) and G are proved upper bounds; mu is the regularisation; x_star by Newton."""
        s = self.shards
        lam = self.regularisation
        spread = 1.0 if self.columns == 1 else 2.0
        L = self.smoothness + lam
        # A sample's loss gradient is (residual) x (features), and ||residual||^2 <= 1 (two classes) or 2 (softmax).
        if self.batch is None:
            sigma = Certified(0.0, "exact gradients")
        else:
            bound = spread * float(s.means(s.square_norms).max()) / self.batch
            sigma = Certified(float(np.sqrt(bound)), "proved bound: a sample's loss gradient is at most its row norm")
        mean_norm = s.means(np.sqrt(s.square_norms))
        zeta = Certified(
            float(np.sqrt(spread * mean_over_clients(mean_norm**2, self.weights))),
            "proved bound, with beta = 0: the regulariser cancels and loss gradients are bounded by row norms",
        )
        # Predicted probabilities lie around 1/2 (two classes), or (1/C ... 1/C).
        centre = self._residual(np.zeros(s.targets.shape), s.targets)
        radius = 0.5 if self.columns == 1 else np.sqrt(1 - 1 / self.columns)
        x_star, residual = self._minimiser
        at_star = mean_over_clients((self.client_gradients(x_star) ** 2).sum(-1), self.weights)
        newton = f"Newton, ||grad F(x_star)|| = {residual:.1e}, so ||error|| <= {residual / lam:.1e}"
        return Constants(
            {
                "L": Certified(
                    L, f"proved bound: loss curvature times the largest eigenvalue of a client's A'A/n{s.precision}"
                ),
                "mu": Certified(lam, "the regularisation"),
                "mu_pl": Certified(lam, "the regularisation: strong convexity"),
                "curvature": Certified(lam, "the regularisation"),
                "sigma": sigma,
                "zeta_star": Certified(float(np.sqrt(at_star)), newton),
                "beta": Certified(0.0, "chosen: zeta alone bounds the heterogeneity"),
                "zeta": zeta,
                "G": deviation_bound(s, np.sqrt(spread), centre, radius, self.weights),
                "F_star": Certified(float(self.value(x_star)), newton),
                "x_star": Certified(x_star, newton),
            }
        )

    def client_gradients(self, x: Array) -> Array:
        """Exact gradients of all clients at one point (d,): (M, d)."""
        s = self.shards
        r = self._residual(s.scores(x.reshape(-1, self.columns)), s.targets)
        return s.sums(r).reshape(self.M, -1) + self.regularisation * x

    def client_values(self, x: Array) -> Array:
        """All F_m at one point (d,): (M,)."""
        return np.array([float(alone.value(x)) for alone in self._alone])

    @cached_property
    def _alone(self) -> tuple[Logistic, ...]:
        """Each client's data as a problem of its own."""
        found = []
        for rows in self.partition.clients:
            own = replace(self.dataset, features=self.dataset.features[rows], labels=self.dataset.labels[rows])
            everything = replace(self.partition, clients=(np.arange(len(rows)),))
            found.append(Logistic(own, everything, self.regularisation))
        return tuple(found)

    @cached_property
    def client_minima(self) -> tuple[Certified, Certified]:
        """The minimiser of each F_m, (M, d), and their least values, (M,)."""
        found = [alone._minimiser for alone in self._alone]
        residual = max(norm for _, norm in found)
        newton = f"Newton, ||grad F_m(x_m)|| <= {residual:.1e}, so ||error|| <= {residual / self.regularisation:.1e}"
        least = [float(alone.value(x)) for alone, (x, _) in zip(self._alone, found, strict=True)]
        return Certified(np.array([x for x, _ in found]), newton), Certified(np.array(least), newton)


Loss = TypeVar("Loss", bound=Logistic)


def lightly_regularised(
    loss: type[Loss],
    dataset: Dataset,
    partition: Partition,
    batch: int | None = None,
    share: float = 1e-4,
    weights: Any = None,
) -> Loss:
    """`Logistic` or `SigmoidERM` with the regularisation share x L, L the smoothness constant of the loss without it.

    The default is the rule of the FedBCGD supplement, Section 6.5.  Raises ValueError as the loss itself does.
    """
    problem = loss(dataset, partition, 1.0, batch, weights)
    return replace(problem, regularisation=share * problem.smoothness)
