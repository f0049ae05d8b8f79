"""Networks: client steps per second, beside a naive loop of copied modules and one large batch through one model.

    python -m benchmarks.networks                               on a CPU, one thread: into benchmarks/results.json
    python -m benchmarks.networks --device cuda --out FOLDER    on a GPU, all in under 9 minutes: correctness of every
                                                                algorithm against the CPU in float64, throughput, and
                                                                three comparisons at a useful size; FOLDER/networks.json
                                                                and the histories
    python -m benchmarks.networks --small                       a small version of this on a CPU, as a test

The naive loop copies the module and builds an optimiser and a DataLoader for each client and round.  The large batch has as
many images as a round and one model for all clients: a comparison, and no limit, since stacked convolutions can be faster.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fedtheory.simulations import partitions
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.arrays import on_host
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.networks import images, models
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.networks.setup import ALGORITHMS, Setup, settings_of
from fedtheory.training import repeatable

BATCH, STEPS = 20, 5
ON_CPU = {
    "small CNN": (1, 8, 8),
    "MLP": (1, 28, 28),
    "LeNet-5": (3, 32, 32),
    "CNN": (1, 28, 28),
    "ResNet-10": (3, 32, 32),
}
ON_GPU = {"LeNet-5": (3, 32, 32), "CNN": (1, 28, 28), "ResNet-10": (3, 32, 32), "ResNet-18": (3, 32, 32)}
BUDGET = 9 * 60.0


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


# --------------------------------------------------------------------------------------------------- on a GPU


def small_training(name: str, device: str, batching: str) -> Setup:
    """Three rounds of the algorithm of that name on a small network in float64."""
    takes = settings_of(name)
    own = {"S": 3, "k": 0.6, "p": 0.5, "Q": 2, "T": 2, "K": 2, "tau": 2, "N": 2, "compressor": "QSGD(s=3)"}
    if name == "TopKFedAvg":
        own["k"] = 100
    elif "divisor" not in takes:  # k is no share of the clients
        del own["k"]
    if name == "SSL":  # the clients' own numbers of steps are K
        del own["tau"]
    if name in ("BVR-L-SGD", "STEM"):  # all clients take part
        del own["S"]
    cut = {"cut_after": "conv1"} if name in ("SSL", "SplitFed") else {}
    return Setup(
        data={"name": "digits", "partition": "exdir", "clients": 6, "C": 3, "alpha": 1.0},
        network={
            "model": "small CNN",
            "batch": 8,
            "precision": "float64",
            "device": device,
            "batching": batching,
            **cut,
        },
        algorithm={"name": name, "eta": 0.05} | {s: v for s, v in own.items() if s in takes},
        rounds=3,
    )


def begun(setup: Setup) -> RunState:
    """The training before its first round."""
    net = setup.problem()
    return RunState(net, setup.method(), rounds=3, x0=net.start(0), record=(), at=[3])


def agreement(device: str) -> dict[str, float]:
    """Every algorithm: the largest relative difference after three rounds between the device, stacked, and the CPU."""
    found = {}
    for name in ALGORITHMS:
        ends = []
        for where, way in (("cpu", "loop"), (device, "stacked")):
            running = begun(small_training(name, where, way))
            while running.advance():
                pass
            ends.append(on_host(running.x))
        found[name] = float(np.abs(ends[1] - ends[0]).max() / np.abs(ends[0]).max())
    return found


def throughput(device: str, until: float) -> dict[str, dict[str, float]]:
    """Client steps per second of every way, by model and clients; stops when the time is up."""
    found: dict[str, dict[str, float]] = {}
    for clients in (10, 100):
        for model, shape in ON_GPU.items():
            if time.perf_counter() > until:
                return found
            rates = {}
            for way, one_round in works(model, shape, clients, device).items():
                one_round()
                began, rounds = time.perf_counter(), 0
                while rounds < 2 or time.perf_counter() - began < 1.0:
                    one_round()
                    rounds += 1
                rates[way] = clients * STEPS * rounds / (time.perf_counter() - began)
            found[f"{model}, {clients} clients"] = rates
            print(f"{model}, {clients} clients: {rates}", flush=True)
            if device.startswith("cuda"):
                torch.cuda.empty_cache()
    return found


def comparisons(device: str, out: Path, small: bool) -> dict[str, Any]:
    """SFL against PFL, FedBCGD against FedAvg, FedBAT against SignSGD on generated images: histories in the folder."""
    from fedtheory import training

    train, rounds = (500, 4) if small else (50_000, 200)
    generated = {"name": "generated", "classes": 10, "train": train, "test": max(100, train // 5)}
    colour, grey = (generated | {"shape": shape} for shape in ([3, 32, 32], [1, 28, 28]))
    uneven = {"partition": "dirichlet", "clients": 100, "alpha": 0.6}
    own = {"partition": "exdir", "clients": 100, "C": 2, "alpha": 10.0}
    lenet = models.build("LeNet-5", (3, 32, 32), 10)
    sizes, share = models.blocks("LeNet-5", lenet)
    blocks = {"N": len(sizes), "K": 2, "sizes": list(sizes), "share": share, "lam": 0.5}
    runs: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
        "PFL": (colour | own, {"model": "LeNet-5"}, {"name": "PFL", "K": 5, "S": 10, "eta": 0.03}),
        "SFL": (colour | own, {"model": "LeNet-5"}, {"name": "SFL", "K": 5, "S": 10, "eta": 0.01}),
        "FedAvg": (colour | uneven, {"model": "LeNet-5"}, {"name": "FedAvg", "tau": 10, "S": 10, "eta": 0.05}),
        "FedBCGD": (colour | uneven, {"model": "LeNet-5"}, {"name": "FedBCGD", "T": 10, "eta": 0.05, **blocks}),
        "SignSGD": (grey | uneven, {"model": "CNN"}, {"name": "SignSGD", "tau": 20, "S": 10, "eta": 0.1}),
        "FedBAT": (grey | uneven, {"model": "CNN"}, {"name": "FedBAT", "tau": 20, "K": 10, "eta": 0.1}),
    }
    found = {}
    for label, (data, net, algorithm) in runs.items():
        setup = Setup(
            data=data,
            network={"batch": 20, "device": device, "batching": "stacked", **net},
            algorithm=algorithm,
            rounds=rounds,
            every=max(1, rounds // 20),
        )
        began = time.perf_counter()
        rows = training.train(setup, out / label)
        last = rows.iloc[-1]
        found[label] = {
            "accuracy": float(last["accuracy"]),
            "loss": float(last["value"]),
            "bits_up": float(last["bits_up"]),
            "seconds": time.perf_counter() - began,
        }
        print(label, found[label], flush=True)
    return found


def main() -> None:
    """CPU: ratios into results.json.  GPU: everything, into a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--small", action="store_true", help="a small version of the GPU's programme, as a test")
    given = parser.parse_args()
    if given.small and given.out is None:
        given.out = Path(tempfile.mkdtemp())
    if given.out is None:
        torch.set_num_threads(1)
        for model, shape in ON_CPU.items():
            took = in_turn({name: (work, 1.0) for name, work in works(model, shape, 10, "cpu").items()}, 3)
            steps = {name: 10 * STEPS / value for name, value in took.items()}
            print(", ".join(f"{name} {rate:.0f} client steps/s" for name, rate in steps.items()))
            report(
                f"network, {model}", f"a round of PFL, 10 clients, {STEPS} steps of batch {BATCH}", took, "naive loop"
            )
        return
    began = time.perf_counter()
    out: Path = given.out
    results: dict[str, Any] = {
        "device": torch.cuda.get_device_name(given.device) if given.device.startswith("cuda") else given.device,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "batch": BATCH,
        "steps": STEPS,
        "agreement with the CPU in float64": agreement(given.device),
    }
    print(
        f"agreement after {time.perf_counter() - began:.0f} s: worst",
        max(results["agreement with the CPU in float64"].values()),
    )
    until = time.perf_counter() + (5.0 if given.small else 0.4 * BUDGET)
    with repeatable(given.device):  # as trainings run: full float32, the same numbers every time
        results["client steps per second"] = throughput(given.device, until)
    results["trainings"] = comparisons(given.device, out, given.small)
    results["seconds"] = time.perf_counter() - began
    out.mkdir(parents=True, exist_ok=True)
    (out / "networks.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
