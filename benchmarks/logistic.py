"""FedAvg (PFL) on logistic regression: the engine against the naive torch loop, per round and seed.

    python -m benchmarks.logistic

100 clients with 100 digits each (bootstrapped), 10 clients per round, 5 steps of batch 20, softmax regression 64 x 10
with intercept.
The naive loop copies the model and builds a DataLoader and an optimiser for each client and round.
"""

import copy

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip
import torch

from fedtheory.simulations import data, run
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.data import Dataset
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems.logistic import Logistic

CLIENTS, PER_ROUND, STEPS, BATCH, ETA, ROUNDS, STACKED = 100, 10, 5, 20, 0.1, 50, 50


def federation() -> tuple[np.ndarray, np.ndarray]:
    """Digits, bootstrapped to 10,000 rows, by client: features (100, 100, 64), labels (100, 100)."""
    digits = data.load("digits")
    rows = np.random.default_rng(0).integers(0, len(digits.labels), CLIENTS * STEPS * BATCH)
    shape = (CLIENTS, STEPS * BATCH)
    return digits.features[rows].reshape(*shape, -1), digits.labels[rows].reshape(shape)


def naive(features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """FedAvg as research code is usually written."""
    rng = np.random.default_rng(0)
    sets = [torch.utils.data.TensorDataset(features[m], labels[m]) for m in range(CLIENTS)]
    model, loss = torch.nn.Linear(64, 10), torch.nn.CrossEntropyLoss()
    for _ in range(ROUNDS):
        states = []
        for m in rng.choice(CLIENTS, PER_ROUND, replace=False):
            local = copy.deepcopy(model)
            optimiser = torch.optim.SGD(local.parameters(), lr=ETA)
            for x, y in torch.utils.data.DataLoader(sets[m], batch_size=BATCH, shuffle=True):
                optimiser.zero_grad()
                loss(local(x), y).backward()
                optimiser.step()
            states.append(local.state_dict())
        model.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    return model.weight.detach()


def main() -> None:
    """Time one seed and 50 stacked seeds."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    X, y = federation()
    tensors = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y)
    rows = np.concatenate([X.reshape(-1, 64), np.ones((CLIENTS * STEPS * BATCH, 1))], axis=1)
    dataset = Dataset("digits, bootstrapped, with intercept", rows, y.ravel(), 10, "benchmark")
    partition = Partition(tuple(np.arange(len(rows)).reshape(CLIENTS, -1)), "100 clients of 100", None, None)
    problem = Logistic(dataset, partition, regularisation=1e-6, batch=BATCH)
    algorithm = PFL(K=STEPS, S=PER_ROUND, eta=ETA)

    def engine(seeds: int) -> int:
        found = run(problem, algorithm, rounds=ROUNDS, seeds=range(seeds), x0=0.0, record=(), at=[ROUNDS])
        return int((found.status == "ran").sum())

    works = {
        "naive torch loop": (lambda: naive(*tensors), 1 / ROUNDS),
        "engine, one seed": (lambda: engine(1), 1 / ROUNDS),
        f"engine, {STACKED} seeds, per seed": (lambda: engine(STACKED), 1 / ROUNDS / STACKED),
    }
    report(
        "logistic",
        "PFL, 100 clients, 10 a round, 5 steps of batch 20, per round",
        in_turn(works, 5),
        "naive torch loop",
    )


if __name__ == "__main__":
    main()
