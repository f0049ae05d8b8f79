"""Networks: client steps per second, beside a naive loop of copied modules and one large batch through one model.

    python -m benchmarks.networks            on a CPU, one thread: into benchmarks/results.json; benchmarks.gpu has the rest
    python -m benchmarks.networks --small    only the smallest network, as a test: prints, and keeps nothing

The naive loop copies the module and builds an optimiser and a DataLoader for each client and round.  The large batch has as
many images as a round and one model for all clients: a comparison, and no limit, since stacked convolutions can be faster.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fedtheory.simulations import partitions
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.networks import images, models
from fedtheory.simulations.networks.problem import Network

BATCH, STEPS = 20, 5
MODELS = {
    "small CNN": (1, 8, 8),
    "MLP": (1, 28, 28),
    "LeNet-5": (3, 32, 32),
    "CNN": (1, 28, 28),
    "ResNet-10": (3, 32, 32),
}


def network(model: str, shape: tuple[int, int, int], clients: int, device: str, **settings: Any) -> Network:
    """A model on generated images, 100 a client."""
    data = images.generated(shape, classes=10, train=100 * clients, test=100, seed=0)
    return Network(data, partitions.iid(data.labels, clients, seed=0), model, batch=BATCH, device=device, **settings)


def naive(net: Network) -> Callable[[], None]:
    """A round of FedAvg as research code is usually written."""
    device = torch.device(net.device)
    module = models.build(net.model, net.data.shape, net.data.classes, net.norm).to_empty(device=device)
    nn.utils.vector_to_parameters(torch.tensor(net.start(0), dtype=torch.float32, device=device), module.parameters())
    sets = []
    for rows in net.partition.clients:
        X, Y = net._look_up(rows)
        sets.append(torch.utils.data.TensorDataset(X.cpu(), Y.cpu()))

    def one_round() -> None:
        states = []
        for own in sets:
            local = copy.deepcopy(module)
            optimiser = torch.optim.SGD(local.parameters(), lr=0.01)
            for X, Y in torch.utils.data.DataLoader(own, batch_size=BATCH, shuffle=True):
                optimiser.zero_grad()
                cross_entropy(local(X.to(device)), Y.to(device)).backward()
                optimiser.step()
            states.append(local.state_dict())
        mean = {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}
        module.load_state_dict(mean)
        synchronise(net.device)

    return one_round


def large_batch(net: Network) -> Callable[[], None]:
    """As many images as in a round, STEPS batches of BATCH a client, through one model."""
    device = torch.device(net.device)
    module = models.build(net.model, net.data.shape, net.data.classes, net.norm).to_empty(device=device)
    nn.utils.vector_to_parameters(torch.tensor(net.start(0), dtype=torch.float32, device=device), module.parameters())
    X, Y = net._look_up(np.arange(net.M * BATCH))
    X = X.contiguous(memory_format=torch.channels_last)  # as the stacked models have it

    def one_round() -> None:
        for _ in range(STEPS):
            module.zero_grad()
            cross_entropy(module(X), Y).backward()
            with torch.no_grad():
                for p in module.parameters():
                    p -= 0.01 * p.grad
        synchronise(net.device)

    return one_round


def engine(net: Network) -> Callable[[], None]:
    """A round of PFL at all clients."""

    def begin() -> RunState:
        return RunState(net, PFL(K=STEPS, eta=0.01), rounds=100, x0=net.start(0), record=(), at=[0])

    running = begin()

    def one_round() -> None:
        nonlocal running
        if not running.advance():
            running = begin()
            running.advance()
        synchronise(net.device)

    return one_round


def synchronise(device: str) -> None:
    """Wait for the GPU."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def works(model: str, shape: tuple[int, int, int], clients: int, device: str) -> dict[str, Callable[[], None]]:
    """The ways of doing a round, by name."""
    nets = {way: network(model, shape, clients, device, batching=way) for way in ("loop", "stacked")}
    return {
        "naive loop": naive(nets["loop"]),
        "loop": engine(nets["loop"]),
        "stacked": engine(nets["stacked"]),
        "one large batch": large_batch(nets["loop"]),
    }


def main(small: bool = False) -> None:
    """Ratios into results.json; `small`: of one network, printed only."""
    torch.set_num_threads(1)
    for model, shape in list(MODELS.items())[: 1 if small else None]:
        took = in_turn({name: (work, 1.0) for name, work in works(model, shape, 10, "cpu").items()}, 3)
        steps = {name: 10 * STEPS / value for name, value in took.items()}
        print(f"{model}: {', '.join(f'{name} {rate:.0f} client steps/s' for name, rate in steps.items())}")
        if not small:
            report(
                f"network, {model}", f"a round of PFL, 10 clients, {STEPS} steps of batch {BATCH}", took, "naive loop"
            )


if __name__ == "__main__":
    main("--small" in sys.argv[1:])
