"""A two-layer network cut in two: the client part up to the cut layer, the server part behind it (split learning).

client part   activations A = tanh(features U),           U (p, h)
server part   scores A V, softmax loss + (lambda/2)||x||^2, V (h, C)

`gradient` is the gradient of the whole network.  `smashed`, `server_pass` and `client_pass` compute the messages of split
learning, each only from the data that its side has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from fedtheory.simulations.checked import number, whole
from fedtheory.simulations.constants import Constants
from fedtheory.simulations.data import Dataset
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems import Array, in_html, in_one_line, not_certified, settings_of
from fedtheory.simulations.problems.logistic import Shards, check_batch, deal, one_hot, softmax, weights_of


@dataclass(frozen=True, eq=False)
class TwoPart:
    """Two-layer tanh network on a data set dealt out to clients; non-convex.

    hidden          h, width of the cut layer
    regularisation  lambda >= 0
    batch           mini-batch size, with replacement; None: exact gradients
    weights         as in `Logistic`

    Raises ValueError for hidden < 1, a negative regularisation, batch < 1, a client without samples, or weights that
    are not M positive numbers with the sum 1.
    """

    dataset: Dataset
    partition: Partition
    hidden: int
    regularisation: float = 0.0
    batch: int | None = None
    weights: Any = None

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", whole("hidden", self.hidden))
        object.__setattr__(self, "regularisation", number("regularisation", self.regularisation, ">= 0"))
        object.__setattr__(self, "batch", check_batch(self.batch))
        object.__setattr__(self, "weights", weights_of(self.weights, self.shards.sizes))

    @cached_property
    def shards(self) -> Shards:
        """The clients' padded data."""
        return deal(self.dataset, self.partition, one_hot(self.dataset.labels, self.dataset.classes))

    @property
    def name(self) -> str:
        """Width, data set, partition."""
        unequal = "" if self.weights is None else ", clients weighted"
        return f"two-layer network of width {self.hidden}, {self.dataset.name}, {self.partition.method}{unequal}"

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.partition.clients)

    @property
    def cut(self) -> int:
        """Number of client-side coordinates, p h."""
        return self.dataset.features.shape[1] * self.hidden

    @property
    def activations(self) -> int:
        """Numbers in the cut layer for one sample."""
        return self.hidden

    @property
    def d(self) -> int:
        """Number of coordinates, p h + h C."""
        return self.cut + self.hidden * self.dataset.classes

    @property
    def blocks(self) -> Mapping[str, slice]:
        """The client's part, then the server's."""
        return {"client": slice(0, self.cut), "server": slice(self.cut, self.d)}

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Data set, partition method, width, regularisation, batch and, where there are some, weights."""
        return settings_of(self, "two-part network")

    @cached_property
    def constants(self) -> Constants:
        """No constant of a network is certified here except the variance of exact gradients."""
        return not_certified(self.batch is None)

    def batch_of(self, client: NDArray[np.int64], draw: Draw) -> tuple[Array, Array, Array]:
        """What the client reads at this step: features, targets, sample weights (N or 1, *clients, B, .)."""
        return self.shards.read(client, draw, self.batch)

    def smashed(self, x_client: Array, features: Array) -> Array:
        """Forward pass of the client: activations of the cut layer (..., B, h)."""
        return np.tanh(features @ x_client.reshape(*x_client.shape[:-1], -1, self.hidden))

    def server_pass(self, x_server: Array, activations: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Forward and backward pass of the server: gradients in its own parameters and in the activations."""
        V = x_server.reshape(*x_server.shape[:-1], self.hidden, -1)
        r = (softmax(activations @ V) - targets) * weights
        g = (activations.swapaxes(-1, -2) @ r).reshape(x_server.shape) + self.regularisation * x_server
        return g, r @ V.swapaxes(-1, -2)

    def client_pass(self, x_client: Array, features: Array, activations: Array, received: Array) -> Array:
        """Backward pass of the client from the received gradient in the activations."""
        g = features.swapaxes(-1, -2) @ (received * (1 - activations**2))
        return g.reshape(x_client.shape) + self.regularisation * x_client

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """The whole network's stochastic gradient: x (E, N, *clients, d) -> the shape of x."""
        return self._gradient(x, *self.batch_of(client, draw))

    def _gradient(self, x: Array, features: Array, targets: Array, weights: Array) -> Array:
        U = x[..., : self.cut].reshape(*x.shape[:-1], -1, self.hidden)
        V = x[..., self.cut :].reshape(*x.shape[:-1], self.hidden, -1)
        A = np.tanh(features @ U)
        r = (softmax(A @ V) - targets) * weights
        g_V = A.swapaxes(-1, -2) @ r
        g_U = features.swapaxes(-1, -2) @ ((r @ V.swapaxes(-1, -2)) * (1 - A**2))
        flat = [g.reshape(*x.shape[:-1], -1) for g in (g_U, g_V)]
        return np.concatenate(flat, axis=-1) + self.regularisation * x

    @cached_property
    def _pooled(self) -> tuple[Array, Array, Array]:
        return self.shards.pooled(self.weights)

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        features, targets, weights = self._pooled
        V = x[..., self.cut :].reshape(*x.shape[:-1], self.hidden, -1)
        z = self.smashed(x[..., : self.cut], features) @ V
        loss = logsumexp(z, axis=-1) - (targets * z).sum(-1)
        return loss @ weights[:, 0] + self.regularisation / 2 * (x**2).sum(-1)

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F: (..., d) -> (..., d)."""
        return self._gradient(x, *self._pooled)
