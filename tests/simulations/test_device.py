"""Every algorithm on a network, on a device that is not the host: the numbers of the CPU, one wait for the host a round,
and as many copies to the device in a round of five local steps as in one of two: none in a step.

So no tensor is on the wrong device, and a GPU has nothing new to show but its speed.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks.gpu import begun, small_training
from fedtheory.simulations.compressors import COMPRESSORS
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.networks import problem
from fedtheory.simulations.networks.setup import ALGORITHMS, STEPS
from tests.simulations import elsewhere
from tests.simulations.elsewhere import COUNTS, NAME

pytestmark = pytest.mark.skipif(not elsewhere.available(), reason="this torch has no devices in Python")


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere.MODULE, "present", True)
    for name in ("tensor", "as_tensor", "asarray"):
        monkeypatch.setattr(torch, name, elsewhere.moved(getattr(torch, name)))
    monkeypatch.setattr(problem, "available", lambda device: None)


def state(name: str, device: str, batching: str, **own: Any) -> RunState:
    setup = small_training(name, device, batching)
    setup = replace(setup, network={**setup.network, "precision": "float32"}, algorithm={**setup.algorithm, **own})
    network = setup.problem()
    return RunState(network, setup.method(), rounds=3, x0=network.start(0), record=("value", "accuracy"), at=[0, 3])


def compared(name: str, batching: str, **own: Any) -> Counter[str]:
    """What a round without a record costs; fails unless both devices have the same numbers in float32."""
    here, there = (state(name, place, batching, **own) for place in ("cpu", NAME))
    for run in (here, there):
        run.advance()
    COUNTS.clear()
    there.advance()
    cost = Counter(COUNTS)
    here.advance()
    assert isinstance(there.x, elsewhere.Elsewhere) and there.x.dtype == torch.float32
    assert torch.equal(there.x.own, here.x) and here.x.isfinite().all()
    assert all(
        v.dtype == torch.float32
        for v in there.memory.values()
        if isinstance(v, elsewhere.Elsewhere) and v.is_floating_point()
    )
    return cost


@pytest.mark.dear
@pytest.mark.parametrize("batching", ["stacked", "loop"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_numbers_of_the_cpu_one_wait_a_round_and_no_copy_in_a_local_step(name: str, batching: str) -> None:
    cost = compared(name, batching)
    assert cost["number"] == 0 and cost["back"] <= 1
    if name != "SGD":  # at each of its steps it is another client's turn
        assert cost["there"] == copies(name, batching, 5)


@pytest.mark.dear
@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_every_compressor(compressor: str) -> None:
    needs = {"k": ("RandK", "TopK"), "p": ("Bernoulli", "Sparsifier"), "s": ("QSGD", "Dithering", "Rounding")}
    values = {"k": "(k=50)", "p": "(p=0.5)", "s": "(s=3)"}
    own = next((values[letter] for letter, names in needs.items() if compressor in names), "")
    cost = compared("FedCOM", "stacked", compressor=compressor + own)
    assert cost["number"] == 0 and cost["back"] <= 1


def copies(name: str, batching: str, local_steps: int, **network: Any) -> int:
    """The copies to the device in the second round."""
    setup = small_training(name, NAME, batching)
    own = dict.fromkeys([step for step in STEPS if step in setup.algorithm][:1], local_steps)
    setup = replace(
        setup,
        network={**setup.network, "precision": "float32", **network},
        algorithm={**setup.algorithm, **own},
    )
    running = begun(setup)
    running.advance()
    COUNTS.clear()
    running.advance()
    return COUNTS["there"]


@pytest.mark.parametrize("own", [{"crop": 1, "flip": True}, {"order": "whole epochs", "weight_decay": 0.1}])
def test_no_local_step_copies_what_moves_its_images_or_how_many_there_are(own: dict[str, Any]) -> None:
    assert copies("PFL", "loop", 2, **own) == copies("PFL", "loop", 5, **own)


def test_a_copy_in_a_local_step_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = problem.Network._look_up

    def planted(self: problem.Network, rows: Any, moves: Any = None) -> Any:
        return plain(self, torch.as_tensor(rows.own.numpy() if rows.device.type == NAME else rows, device=NAME), moves)

    monkeypatch.setattr(problem.Network, "_look_up", planted)
    assert copies("PFL", "stacked", 5) == copies("PFL", "stacked", 2) + 3


def test_what_costs_time_is_counted() -> None:
    x = torch.ones(3).to(NAME)
    with pytest.raises(RuntimeError, match="two devices"):
        x + torch.ones(3)
    COUNTS.clear()
    assert (
        x.sum().item() == 3
        and (x * 2).cpu().tolist() == [2, 2, 2]
        and torch.tensor([1.0], device=NAME).device == x.device
    )
    assert COUNTS == {"number": 1, "back": 1, "there": 1}


def test_other_tests_do_not_see_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere.MODULE, "present", False)
    assert not torch.accelerator.is_available()
    with torch.random.fork_rng():
        assert torch.rand(1).device.type == "cpu"
