"""Networks on a GPU, made for eight minutes: is it right, does it repeat, does it resume, how fast is it?

    python -m benchmarks.gpu FOLDER                      on a GPU
    python -m benchmarks.gpu FOLDER --device cpu --small on a CPU, a small version of it, as a test

FOLDER/gpu.json is written after each part:

agreement   every algorithm, loop and stacked, after three rounds in float64: distance from the CPU's, relative
tests       the tests of networks on the device (they read FEDTHEORY_DEVICE)
repeats     whether a second run of the same training is equal bit by bit
resumes     whether a training that was killed (SIGKILL) and resumed ends as the one that was not
steps       client steps per second and the most memory, beside a naive loop of copied modules and one large batch
presets     seconds and memory of one round of the first cell of each preset, on generated images of the printed sizes
whole       one preset, all cells, seeds and rounds
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.networks import BATCH, STEPS, synchronise, works
from fedtheory import simulations, training
from fedtheory.bounds import presets
from fedtheory.simulations.arrays import on_host
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.networks.problem import fastest
from fedtheory.simulations.networks.setup import ALGORITHMS, Setup, settings_of
from fedtheory.tables import changed

MODELS = {"LeNet-5": (3, 32, 32), "CNN": (1, 28, 28), "ResNet-18": (3, 32, 32)}
WHOLE = "fedcom.fig8"


def digest_of_code() -> str:
    """A sha256 of the code of simulations."""
    files = sorted(Path(simulations.__file__).parent.rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


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
    return RunState(net, setup.method(net), rounds=setup.rounds, x0=net.start(0), record=(), at=[setup.rounds])


def end_of(setup: Setup) -> np.ndarray:
    """The model after all rounds."""
    running = begun(setup)
    while running.advance():
        pass
    return on_host(running.x)


def agreement(device: str) -> dict[str, dict[str, float]]:
    """Every algorithm: the largest relative distance from the CPU after three rounds, by batching."""
    found: dict[str, dict[str, float]] = {}
    for name in ALGORITHMS:
        there = end_of(small_training(name, "cpu", "loop"))
        found[name] = {
            way: float(np.abs(end_of(small_training(name, device, way)) - there).max() / np.abs(there).max())
            for way in ("loop", "stacked")
        }
    return found


def tests(device: str) -> dict[str, Any]:
    """The tests of networks on the device."""
    pytest = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "tests/simulations/test_network.py",
    ]
    done = subprocess.run(pytest, env=os.environ | {"FEDTHEORY_DEVICE": device}, capture_output=True, text=True)
    return {
        "status": done.returncode,
        "says": done.stdout.splitlines()[-30:] if done.returncode else done.stdout[-200:],
    }


def middle_training(device: str, batching: str, small: bool, model: str = "LeNet-5") -> Setup:
    """FedBAT on generated images."""
    clients = 4 if small else 20
    return Setup(
        data={
            "name": "generated", "shape": [3, 32, 32], "train": 100 * clients, "test": 25 * clients,
            "partition": "dirichlet", "clients": clients, "alpha": 0.6,
        },
        network={"model": model, "batch": BATCH, "device": device, "batching": batching},
        algorithm={"name": "FedBAT", "tau": 5, "K": clients // 2, "eta": 0.05},
        rounds=10 if small else 30,
        every=2,
    )  # fmt: skip


def repeats(device: str, small: bool) -> dict[str, bool]:
    """Whether two runs of the same training are equal bit by bit."""
    found = {}
    with training.repeatable(device):
        for model in ("LeNet-5", "ResNet-10"):
            for way in ("loop", "stacked"):
                setup = replace(middle_training(device, way, small, model), rounds=2 if small else 5)
                found[f"{model}, {way}"] = bool((end_of(setup) == end_of(setup)).all())
    return found


def resumes(device: str, small: bool, out: Path) -> dict[str, Any]:
    """Whether a training that is killed and resumed ends as the one that is not."""
    setup = middle_training(device, "stacked", small)
    for name in ("whole", "cut"):
        (out / f"{name}.toml").write_text(training.as_toml(setup))

    def command(folder: str, *more: str) -> list[str]:
        return [sys.executable, "-m", "fedtheory", "train", str(out / f"{folder}.toml"), "--runs", str(out), *more]

    whole = subprocess.run(command("whole"), capture_output=True, text=True)
    cut = subprocess.Popen(command("cut", "--checkpoint", "0"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    history, rows = out / "cut" / "history.csv", 0
    while cut.poll() is None and rows < 3:
        time.sleep(0.05)
        rows = len(history.read_text().splitlines()) - 1 if history.exists() else 0
    killed = cut.poll() is None
    cut.send_signal(signal.SIGKILL)
    cut.wait()
    again = subprocess.run(command("cut", "--resume"), capture_output=True, text=True)
    found: dict[str, Any] = {
        "killed after rows": rows,
        "killed": killed,
        "status": [whole.returncode, again.returncode],
    }
    if whole.returncode or again.returncode:
        return found | {"says": (whole.stderr + again.stderr)[-2000:]}
    ends = [np.load(out / folder / "seed-0.npz")["x"] for folder in ("whole", "cut")]
    tables = [training.history(out / folder).drop(columns="seconds") for folder in ("whole", "cut")]
    return found | {"same model": bool((ends[0] == ends[1]).all()), "same history": bool(tables[0].equals(tables[1]))}


def timed(work: Callable[[], Any], least: float) -> tuple[float, float]:
    """Seconds of one call after a first one, and the most memory in GB (0 on a CPU)."""
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    work()
    began, calls = time.perf_counter(), 0
    while calls < 2 or time.perf_counter() - began < least:
        work()
        calls += 1
    took = (time.perf_counter() - began) / calls
    return took, torch.cuda.max_memory_allocated() / 1e9 if on_gpu else 0.0


def steps(device: str, small: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Client steps per second and memory of each way of doing a round, by model and number of clients."""
    for clients in (3,) if small else (10, 100):
        for model, shape in MODELS.items():
            rates: dict[str, Any] = {}
            for way, one_round in works(model, shape, clients, device).items():
                took, memory = timed(one_round, 0.5)
                rates[way] = {"steps per second": clients * STEPS / took, "GB": memory}
            yield f"{model}, {clients} clients", rates
            if small:
                return


def first_rounds(device: str, until: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """One round of the first cell of each preset: its seconds after the first, batching, memory."""
    seen: dict[str, dict[str, Any]] = {}
    for name, build in presets.presets().items():
        if time.perf_counter() > until:
            return
        setup = changed(build().cells[0].setup, data="generated", device=device)
        key = json.dumps([setup.data, setup.network, setup.algorithm])
        if key not in seen:
            net = setup.problem()
            method = setup.method(net)
            participants = training.cost(method, net).clients
            way, _ = fastest(net, 1 if getattr(method, "sequential", False) else participants)
            net = replace(net, batching=way)
            running = RunState(net, method, rounds=100, x0=net.start(0), record=(), at=[0])

            def one_round(running: RunState = running) -> None:
                running.advance()
                synchronise(device)

            took, memory = timed(one_round, 0.0)
            seen[key] = {"seconds": took, "GB": memory, "batching": way, "d": net.d, "participants": participants}
        yield name, seen[key] | {"rounds": setup.rounds}


def whole(device: str, out: Path, until: float) -> dict[str, Any]:
    """All cells of a preset, all seeds, to their last round: seconds and last accuracies of each."""
    found: dict[str, Any] = {"preset": WHOLE}
    preset = presets.preset(WHOLE)
    for cell in preset.cells:
        if time.perf_counter() > until:
            return found | {"stopped": "no time for the other cells"}
        began = time.perf_counter()
        setup = changed(cell.setup, data="generated", device=device, seeds=tuple(range(preset.seeds)))
        rows = training.train(setup, out / cell.name)
        last = rows[rows["round"] == setup.rounds]["accuracy"].tolist()
        found[cell.name] = {"seconds": time.perf_counter() - began, "rounds": setup.rounds, "accuracies": last}
    return found


def main() -> None:
    """All parts, one after another, into FOLDER/gpu.json."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    device, small, out = given.device, given.small, given.folder
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    results: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else platform.machine(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "code": digest_of_code(),
        "batch": BATCH,
        "local steps": STEPS,
    }

    def note(part: str, found: Any) -> None:
        results[part] = found
        results["seconds"] = time.perf_counter() - began
        (out / "gpu.json").write_text(json.dumps(results, indent=1) + "\n")
        print(f"{results['seconds']:.0f} s: {part}", flush=True)

    note("agreement", agreement(device))
    note("repeats", repeats(device, small))
    note("resumes", resumes(device, small, out))
    with training.repeatable(device):  # as trainings run: full float32, the same numbers every time
        for label, rates in steps(device, small):
            note("steps", results.get("steps", {}) | {label: rates})
        if not small:
            for label, took in first_rounds(device, began + 330):
                note("presets", results.get("presets", {}) | {label: took})
    if not small:
        note("whole", whole(device, out, began + 420))
    note("tests", tests(device))


if __name__ == "__main__":
    main()
