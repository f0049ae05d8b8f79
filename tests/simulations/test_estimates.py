"""Estimates of constants at a point of a network, against derivatives by autograd and sums by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from fedtheory.simulations import partitions
from fedtheory.simulations.networks import images
from fedtheory.simulations.networks.estimates import estimates
from fedtheory.simulations.networks.problem import Network

torch.set_num_threads(1)


@pytest.mark.parametrize("weights", [None, "sizes"])
def test_estimates_by_hand(weights: str | None) -> None:
    """A linear classifier in 20 coordinates: Hessians and the gradients of all images by autograd."""
    data = images.generated((1, 2, 2), classes=4, train=60, test=10, seed=0)
    dealt = partitions.dirichlet(data.labels, 3, 1.0, seed=1)
    net = Network(data, dealt, "logistic", batch=5, precision="float64", weights=weights)
    x = torch.tensor(net.start(0) * 2)
    curvature, noise, gradients = [], [], []
    for rows in net.partition.clients:
        X, Y = net._look_up(rows)

        def loss(flat: torch.Tensor, X: torch.Tensor = X, Y: torch.Tensor = Y) -> torch.Tensor:
            return cross_entropy(net._apply(net._module, flat, X), Y)

        hessian = torch.autograd.functional.hessian(loss, x)
        curvature.append(float(torch.linalg.eigvalsh(hessian)[-1]))
        one = [partial(loss, X=X[i : i + 1], Y=Y[i : i + 1]) for i in range(len(rows))]
        each = np.stack([torch.autograd.functional.jacobian(of, x).numpy() for of in one])
        gradients.append(each.mean(0))
        noise.append(((each - each.mean(0)) ** 2).sum(-1).mean() / 5)
    p = np.full(3, 1 / 3) if weights is None else net.sizes / 60
    own = np.array(gradients)
    whole = p @ own
    found = estimates(net, x.numpy(), iterations=60)
    assert max(curvature) == pytest.approx(found.L, rel=1e-4)
    assert found.sigma == pytest.approx(max(noise) ** 0.5)
    assert found.zeta == pytest.approx((p @ ((own - whole) ** 2).sum(-1)) ** 0.5)
    assert pytest.approx(max((own**2).sum(-1) + noise) ** 0.5) == found.G
    assert (found.grad_sq, found.grads) == pytest.approx(((whole**2).sum(), p @ (own**2).sum(-1)))
    assert found.value == pytest.approx(float(net.value(x)))


def test_power_iteration_comes_from_below() -> None:
    data = images.generated((1, 8, 8), classes=4, train=60, test=10, seed=0)
    net = Network(data, partitions.iid(data.labels, 3, 0), "small CNN", batch=None, precision="float64")
    few, many = (estimates(net, net.start(0), iterations) for iterations in (2, 40))
    assert few.L <= many.L * (1 + 1e-6) and few.sigma == many.sigma == 0.0
