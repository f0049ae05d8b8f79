"""Sparse features dealt out to clients: gradients by two sparse products, constants without dense features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_EXACT = 2000  # rows or columns of a matrix whose eigenvalues are computed; above, its largest one is bounded
_TURNS, _CLOSE, _ABOVE = 300, 1e-3, 1e-9  # of the bound: most steps, precision that is enough, rounding


@dataclass(frozen=True)
class SparseSamples:
    """The samples of gradients at P places (N or 1, *clients): a block of the features for each place.

    features  (samples, P p)
    targets   (samples, 1, C)
    weights   (samples, 1, 1), those of a place sum to 1
    places    (N or 1, *clients)
    """

    features: csr_array
    targets: Array
    weights: Array
    places: tuple[int, ...]

    def scores(self, x: Array, columns: int) -> Array:
        """x (E, N, *clients, p C) -> (samples, points, C): the points are E, or E N where seeds share the samples."""
        P, points = int(np.prod(self.places)), self._points(x.shape)
        W = x.reshape(points, P, -1, columns).transpose(1, 2, 0, 3)
        return np.asarray(self.features @ W.reshape(-1, points * columns)).reshape(-1, points, columns)

    def summed(self, r: Array, shape: tuple[int, ...]) -> Array:
        """Sums of a_i r_i' over the samples of each place: r (samples, points, C) -> (E, N, *clients, p C)."""
        P, (samples, points, columns) = int(np.prod(self.places)), r.shape
        g = np.asarray(self.features.T @ r.reshape(samples, -1)).reshape(P, -1, points, columns)
        return g.transpose(2, 0, 1, 3).reshape(shape)

    def _points(self, shape: tuple[int, ...]) -> int:
        return shape[0] * shape[1] if self.places[0] == 1 else shape[0]


@dataclass(frozen=True)
class SparseShards:
    """The clients' data, one below the other: features (n, p), targets (n, C), sizes (M,)."""

    features: csr_array
    targets: Array
    sizes: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first row of each client, (M,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def read(self, client: NDArray[np.int64], draw: Draw, batch: int | None) -> SparseSamples:
        """The samples of one gradient: all of the clients' data, or a mini-batch of each, drawn with replacement."""
        if batch is None:
            return draw.once(client, lambda: self.take(client, None))
        return self.take(client, draw.places(client, self.sizes, 0, batch))

    def take(self, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> SparseSamples:
        """The samples `rows` (N or 1, *clients, samples) of each client (N or 1, *clients), counted from 0; None: all."""
        if rows is not None:
            rows = rows + self.starts[client][..., None]
            return self._placed(rows.ravel(), np.full(rows[..., 0].size, rows.shape[-1]), rows.shape[:-1])
        everyone = client.shape == (1, len(self.sizes)) and (client[0] == np.arange(len(self.sizes))).all()
        return self._everyone if everyone else self._all_of(client)

    @cached_property
    def _everyone(self) -> SparseSamples:
        return self._all_of(np.arange(len(self.sizes))[None])

    def _all_of(self, client: NDArray[np.int64]) -> SparseSamples:
        each = [np.arange(self.starts[m], self.starts[m] + self.sizes[m]) for m in client.ravel()]
        return self._placed(np.concatenate(each), self.sizes[client.ravel()], client.shape)

    def _placed(self, rows: NDArray[np.int64], counts: NDArray[np.int64], places: tuple[int, ...]) -> SparseSamples:
        """Rows of the features, in a block for each place, of which `counts` (P,) says how many rows it has."""
        from scipy.sparse import csr_array

        chosen, p = self.features[rows], self.features.shape[1]
        place = np.repeat(np.arange(len(counts)), counts)
        shifted = chosen.indices + np.repeat(place * p, np.diff(chosen.indptr))
        block = csr_array((chosen.data, shifted, chosen.indptr), shape=(len(rows), len(counts) * p))
        return SparseSamples(block, self.targets[rows][:, None], (1 / counts[place])[:, None, None], places)

    def numbers(self, batch: int | None) -> int:
        """How many numbers the samples of one gradient of a client take, at most or, of a mini-batch, in the mean."""
        each = np.diff(self.features.indptr)
        rows = np.add.reduceat(each, self.starts).max() if batch is None else batch * each.mean()
        return int(2 * rows) + 1

    def pooled(self, weights: Array | None) -> tuple[csr_array, Array, Array]:
        """All samples together: features (n, p), targets (n, C) and weights in F, (n, 1)."""
        shares = np.full(len(self.sizes), 1 / len(self.sizes)) if weights is None else weights
        return self.features, self.targets, np.repeat(shares / self.sizes, self.sizes)[:, None]

    def means(self, values: Array) -> Array:
        """The mean over each client's samples: (n,) -> (M,)."""
        return np.add.reduceat(values, self.starts) / self.sizes

    @cached_property
    def square_norms(self) -> Array:
        """||a||^2 of every sample, (n,)."""
        return np.asarray((self.features * self.features).sum(axis=1))

    def scores(self, W: Array) -> Array:
        """The scores of all samples at one point: W (p, C) -> (n, C)."""
        return np.asarray(self.features @ W)

    def sums(self, r: Array) -> Array:
        """(1/n_m) A_m'R_m of every client: the rows of R, (n, C) -> (M, p, C)."""
        block = self._everyone
        return np.asarray(block.features.T @ (r * block.weights[:, 0])).reshape(len(self.sizes), -1, r.shape[1])

    @cached_property
    def moduli(self) -> Array:
        """The mean moduli of each client's columns, (M, p)."""
        block = self._everyone
        return np.asarray(abs(block.features).T @ block.weights[:, 0, 0]).reshape(len(self.sizes), -1)

    @cached_property
    def _curvatures(self) -> tuple[Array, Array]:
        parts = zip(self.starts, self.sizes, strict=True)
        found = [np.array(largest_eigenvalue(self.features[at : at + n])) / n for at, n in parts]
        low, high = np.array(found).T
        return low, high

    @property
    def curvatures(self) -> Array:
        """Upper bounds of the largest eigenvalues of the clients' (1/n_m) A'A, (M,)."""
        return self._curvatures[1]

    @cached_property
    def precision(self) -> str:
        """How far above the eigenvalues the `curvatures` may be, in words; empty where they are eigenvalues."""
        low, high = self._curvatures
        above = float(((high - low) / np.maximum(low, np.finfo(float).tiny)).max())
        return f", too large by at most {above:.1g} of it" if above else ""


def largest_eigenvalue(A: csr_array) -> tuple[float, float]:
    """Lower and upper bound of the largest eigenvalue of A'A, A (n, p); equal where n or p is at most 2000.

    Else the upper bound is that of Collatz and Wielandt, of |A| in the place of A: max_i (G v)_i / v_i for any v > 0, with
    G = |A| |A|'.  It is an eigenvalue of |A|'|A|, up to 1e-3, and so of A'A where no feature is negative.
    """
    if min(A.shape) <= _EXACT:
        from scipy.linalg import eigvalsh

        gram = (A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A).toarray()
        exact = float(eigvalsh(gram, subset_by_index=[len(gram) - 1] * 2)[0])
        return exact, exact
    if not A.nnz:
        return 0.0, 0.0
    B, v, w = abs(A), np.ones(A.shape[0]), np.random.default_rng(0).standard_normal(A.shape[0])
    low, high = 0.0, float((A.data**2).sum())  # the trace
    for _ in range(_TURNS):
        Gv, Gw = B @ (B.T @ v), A @ (A.T @ w)
        high = min(high, float((Gv / v).max()) * (1 + _ABOVE))
        low = max(low, float(w @ Gw / (w @ w)) * (1 - _ABOVE))
        if high <= low * (1 + _CLOSE):
            break
        v = np.maximum(Gv / Gv.max(), 1e-150)
        w = Gw / np.linalg.norm(Gw)
    return low, high


def dealt(features: Any, targets: Array, clients: tuple[NDArray[np.int64], ...]) -> SparseShards:
    """The rows of the features (n, p) and targets (n, C) in the order of the clients."""
    rows = np.concatenate(clients)
    return SparseShards(features[rows], targets[rows], np.array([len(own) for own in clients]))
