"""Estimates of the constants of theory at points of a training.  They are numbers of single points, and no bounds.

A theorem needs constants that hold everywhere, or at least along its run.  Smoothness here is the curvature at a point;
noise and heterogeneity are those at a point.  So all of them are lower bounds of what a theorem needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedtheory.simulations.arrays import like, on_host
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.problems import Array, mean_over_clients

_REACH = 1e-4  # length of the steps of finite differences


@dataclass(frozen=True)
class Estimates:
    """At one point.

    L        the largest curvature of a client: the modulus of the largest eigenvalue of its Hessian, by power iteration
    sigma    of the client with the noisiest gradients, the root of E||g_m - grad F_m||^2, g_m of one mini-batch
    zeta     the root of the mean over clients of ||grad F_m - grad F||^2
    G        of the client where it is largest, the root of E||g_m||^2
    value, grad_sq   F and ||grad F||^2
    grads    the mean over clients of ||grad F_m||^2
    """

    L: float
    sigma: float
    zeta: float
    G: float
    value: float
    grad_sq: float
    grads: float


def estimates(net: Network, x: Array, iterations: int = 10, seed: int = 0) -> Estimates:
    """The estimates at x (d,).  Exact up to rounding but for L, which power iteration approaches from below.

    The noise is that of mini-batches with replacement, whatever the order of the network.
    """
    clients = np.arange(net.M)[None]
    at = like(x, net.example).expand(1, 1, net.M, net.d)
    own = on_host(net.local_gradient(at, clients))[0, 0]
    whole = mean_over_clients(own, net.weights)
    noise = np.zeros(net.M) if net.batch is None else _variances(net, x, own) / net.batch
    return Estimates(
        L=float(_curvatures(net, x, iterations, seed).max()),
        sigma=float(np.sqrt(noise.max())),
        zeta=float(np.sqrt(mean_over_clients(((own - whole) ** 2).sum(-1), net.weights))),
        G=float(np.sqrt(((own**2).sum(-1) + noise).max())),
        value=float(net.value(x)),
        grad_sq=float((whole**2).sum()),
        grads=float(mean_over_clients((own**2).sum(-1), net.weights)),
    )


def _variances(net: Network, x: Array, own: Array) -> Array:
    """E||g - grad F_m||^2 of the gradient g of one image, for each client: (M,)."""
    found = []
    for m, size in enumerate(net.sizes):
        at = like(x, net.example).expand(1, 1, int(size), net.d)
        rows = np.arange(size)[None, :, None]
        each = on_host(net.sample_gradient(at, np.full((1, size), m), rows))[0, 0]
        found.append(((each - own[m]) ** 2).sum(-1).mean())
    return np.array(found)


def _curvatures(net: Network, x: Array, iterations: int, seed: int) -> Array:
    """||H_m v|| after power iteration, for each client: (M,), by central differences of gradients."""
    clients = np.arange(net.M)[None]
    v = np.random.default_rng(seed).standard_normal((net.M, net.d))
    size = np.ones(net.M)
    for _ in range(iterations):
        v /= np.linalg.norm(v, axis=-1, keepdims=True)
        ahead, back = (on_host(net.local_gradient(like((x + h * v)[None, None], net.example), clients))[0, 0]
                       for h in (_REACH, -_REACH))  # fmt: skip
        v = (ahead - back) / (2 * _REACH)
        size = np.linalg.norm(v, axis=-1)
    return size
