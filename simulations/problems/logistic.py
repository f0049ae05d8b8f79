"""L2-regularised logistic regression, binary and multinomial, on a data set dealt out to clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fedtheory.simulations.checked import number, whole
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.data import Dataset
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems import Array, checked_weights, in_html, in_one_line, mean_over_clients


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
        gram = np.matmul((self.features * self.weights).swapaxes(1, 2), self.features)
        return np.asarray(np.linalg.eigvalsh(gram)[:, -1])

    def read(self, client: NDArray[np.int64], draw: Draw, batch: int | None) -> tuple[Array, Array, Array]:
        """The samples of one gradient: features, targets, sample weights, each (N or 1, *clients, samples, .).

        These are all of the clients' data, or a mini-batch of each client, drawn with replacement.
        """
        if batch is None:
            return draw.once(client, lambda: self.take(client, None))
        return self._taken(draw.places(client, self.sizes, self.features.shape[1], batch))

    @cached_property
    def _padded(self) -> tuple[Array, Array]:
        """Features and targets of all samples, padding included: (M n_max, .)."""
        return self.features.reshape(-1, self.features.shape[-1]), self.targets.reshape(-1, self.targets.shape[-1])

    def _taken(self, rows: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Features, targets and equal weights of the samples at these places (..., samples) among all padded ones."""
        features, targets = self._padded
        return features.take(rows, axis=0), targets.take(rows, axis=0), np.asarray(1 / rows.shape[-1])

    def take(self, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> tuple[Array, Array, Array]:
        """Features, targets, sample weights of the samples `rows`, each (N or 1, *clients, samples, .); None: of all.

        rows (N or 1, *clients, samples) counts from 0 within each client's own data.
        """
        if rows is None:
            features, targets, weights = (of_clients(p, client) for p in (self.features, self.targets, self.weights))
            return features, targets, weights
        return self._taken(rows + (client * self.features.shape[1])[..., None])


def deal(dataset: Dataset, partition: Partition, targets: Array) -> Shards:
    """Deal the samples out.  Raises ValueError when a client is left without samples, or samples without a client."""
    sizes = np.array([len(rows) for rows in partition.clients])
    if sizes.sum() != len(dataset.labels):
        raise ValueError(
            f"{partition.method} deals out {sizes.sum()} samples, {dataset.name} has {len(dataset.labels)}: expected all"
        )
    if (sizes == 0).any():
        empty = np.flatnonzero(sizes == 0).tolist()
        raise ValueError(f"clients {empty} of {partition.method} have no samples: expected at least one each")
    M, n = len(sizes), int(sizes.max())
    features = np.zeros((M, n, dataset.features.shape[1]))
    out = np.zeros((M, n, targets.shape[1]))
    weights = np.zeros((M, n, 1))
    for m, rows in enumerate(partition.clients):
        features[m, : len(rows)] = dataset.features[rows]
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


def pooled(shards: Shards, weights: Array | None) -> tuple[Array, Array, Array]:
    """All samples together: features (n, p), targets (n, C) and weights in F, (n, 1)."""
    real = shards.weights[..., 0] > 0
    counts = shards.weights / len(shards.sizes) if weights is None else shards.weights * weights[:, None, None]
    return shards.features[real], shards.targets[real], counts[real]


def deviation_bound(
    shards: Shards, largest: float, centre: Array, radius: float, weights: Array | None = None
) -> Certified:
    """G with sum p_m ||grad F_m - grad F||^2 <= G^2 everywhere, where grad F_m = (1/n_m) A_m'R_m, plus a common ridge.

    largest         a bound of the norm of every row of R_m
    centre, radius  (M, n_max, C): every row of R_m lies within `radius` of that of `centre`
    weights         p (M,); None: 1/M each

    ||(1/n_m) A_m'R|| <= s_m max ||row of R||, where s_m^2 is the largest eigenvalue of (1/n_m) A_m'A_m, or, coordinate
    by coordinate, the sum of squares of the columns' mean moduli.  With R = R_m it bounds the gradients themselves.  With
    R = R_m - centre it bounds their distance from the gradients of `centre`, whose deviations are known.  The smaller
    bound is returned.
    """
    if len(shards.sizes) == 1:
        return Certified(0.0, "a single client")
    moduli = (np.abs(shards.features) * shards.weights).sum(1)
    size = float(np.sqrt(mean_over_clients(np.minimum(shards.curvatures, (moduli**2).sum(-1)), weights)))
    g = shards.features.swapaxes(1, 2) @ (centre * shards.weights)
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

    Raises ValueError for a regularisation that is not positive, batch < 1, a client without samples, or weights that
    are not M positive numbers with the sum 1.
    """

    dataset: Dataset
    partition: Partition
    regularisation: float
    batch: int | None = None
    weights: Any = None

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        number("regularisation", self.regularisation, "> 0")
        object.__setattr__(self, "batch", check_batch(self.batch))
        object.__setattr__(self, "weights", weights_of(self.weights, self.shards.sizes))

    @cached_property
    def columns(self) -> int:
        """Number of score columns: 1 for two classes, C otherwise."""
        return 1 if self.dataset.classes == 2 else self.dataset.classes

    @cached_property
    def shards(self) -> Shards:
        """The clients' padded data."""
        labels = self.dataset.labels
        targets = labels[:, None].astype(float) if self.columns == 1 else one_hot(labels, self.columns)
        return deal(self.dataset, self.partition, targets)

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
        own = {
            "problem": "logistic",
            "dataset": self.dataset.provenance,
            "partition": self.partition.method,
            "regularisation": float(self.regularisation),
            "batch": None if self.batch is None else int(self.batch),
        }
        return own if self.weights is None else own | {"weights": self.weights.tolist()}

    def _residual(self, z: Array, targets: Array) -> Array:
        r: Array = expit(z) if self.columns == 1 else softmax(z)
        r -= targets
        return r

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """x (E, N, *clients, d), client (N or 1, *clients) -> stochastic gradients in the shape of x."""
        return self._mean_gradient(x, *self.shards.read(client, draw, self.batch))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of samples of each client, (M,): F_m is the mean of that many functions."""
        return self.shards.sizes

    def sample_gradient(self, x: Array, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> Array:
        """Mean gradient over the samples `rows` of each client: x (E, N, *clients, d) -> the shape of x.

        client (N or 1, *clients); rows (N or 1, *clients, samples) counts from 0 within each client's own data;
        None: over all of its samples.
        """
        return self._mean_gradient(x, *self.shards.take(client, rows))

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """Exact gradients of F_client: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        return self.sample_gradient(x, client, None)

    def numbers(self, clients: int, steps: int) -> int:
        """How many numbers a local step of one seed needs, with so many clients and step sizes: samples and models."""
        samples = int(self.sizes.max()) if self.batch is None else self.batch
        return clients * (samples * self.dataset.features.shape[1] + 2 * steps * self.d)

    def _mean_gradient(self, x: Array, A: Array, T: Array, weights: Array) -> Array:
        W = x.reshape(*x.shape[:-1], -1, self.columns)
        r = self._residual(A @ W, T)
        r *= weights
        g = (A.swapaxes(-1, -2) @ r).reshape(x.shape)
        g += self.regularisation * x
        return g

    @cached_property
    def _pooled(self) -> tuple[Array, Array, Array]:
        return pooled(self.shards, self.weights)

    def _all_scores(self, x: Array) -> Array:
        """The scores of all samples at all points: x (..., d) -> (n, points, C).  One product is faster than many small."""
        side_by_side = x.reshape(-1, x.shape[-1] // self.columns, self.columns).swapaxes(0, 1)
        A = self._pooled[0]
        return (A @ side_by_side.reshape(A.shape[1], -1)).reshape(len(A), -1, self.columns)

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        A, T, w = self._pooled
        penalty = self.regularisation / 2 * (x**2).sum(-1)
        if self.columns == 1:
            z = A @ x[..., None]
            return (np.logaddexp(0.0, z) - T * z)[..., 0] @ w[:, 0] + penalty
        z = self._all_scores(x)
        own = np.take_along_axis(z, T.argmax(-1)[:, None, None], axis=-1)
        highest = z.max(-1, keepdims=True)
        loss = (np.log(np.exp(z - highest).sum(-1, keepdims=True)) + highest - own)[..., 0]
        return np.asarray((w[:, 0] @ loss).reshape(x.shape[:-1]) + penalty)

    def _summed(self, r: Array, shape: tuple[int, ...]) -> Array:
        """Weighted sums over all samples of a_i r_i': (n, points, C) -> `shape`, which is (..., d)."""
        A, _, w = self._pooled
        side_by_side = (A.T @ (r * w[:, None]).reshape(len(A), -1)).reshape(A.shape[1], -1, self.columns)
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
        norms2 = (s.features**2).sum(-1)
        if self.batch is None:
            sigma = Certified(0.0, "exact gradients")
        else:
            bound = spread * float((norms2 * s.weights[..., 0]).sum(1).max()) / self.batch
            sigma = Certified(float(np.sqrt(bound)), "proved bound: a sample's loss gradient is at most its row norm")
        mean_norm = (np.sqrt(norms2) * s.weights[..., 0]).sum(1)
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
                "L": Certified(L, "proved bound: loss curvature times the largest eigenvalue of a client's A'A/n"),
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
        r = self._residual(s.features @ x.reshape(-1, self.columns), s.targets) * s.weights
        return (s.features.swapaxes(1, 2) @ r).reshape(self.M, -1) + self.regularisation * x

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
