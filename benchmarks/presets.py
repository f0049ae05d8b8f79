"""Every preset at its printed size, on generated images: the seconds of a round, and what the whole would take.

    python -m benchmarks.presets            the first cell of each preset, one thread of a CPU
    python -m benchmarks.presets ID ...     only these; the results go into benchmarks/results.json

First one step of one client is timed.  Where a round of such steps takes at most LIMIT seconds, and the clients' models fit
into MEMORY, ROUNDS rounds are done, and the faster one counts; the others are listed with the reason, and the round is
estimated from the step.  A measurement is timed where it takes at most LIMIT seconds, else estimated: a forward pass as a
third of a step.  Seconds are those of the CPU, so that other load on the machine matters less.  The hours in all are those
if every cell is as slow as the first.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.common import store

import numpy as np  # isort: skip
import torch

from benchmarks.gpu import digest_of_code
from fedtheory import training
from fedtheory.bounds import presets
from fedtheory.bounds.communication import cost
from fedtheory.bounds.presets import Preset
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.networks import setup as setups
from fedtheory.simulations.networks.problem import fastest
from fedtheory.simulations.networks.setup import Setup
from fedtheory.tables import setups_of

ROUNDS = 2
LIMIT = 30.0  # seconds of a round, or of a measurement
MEMORY = 4e9  # bytes of the models of a round: each with its gradient, its step and two temporary arrays


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def timed(setup: Setup) -> dict[str, Any]:
    """The seconds of a round and of a measurement of a training, measured or estimated."""
    net = setup.problem()
    method = setup.method(net)
    spent = cost(method, net).clients
    pace = training.pace(net, method, setup.record, time.process_time)
    expected, steps, size = pace.round, pace.local_steps, 20.0 * spent * net.d
    found: dict[str, Any] = {"d": net.d, "clients": spent, "local steps": steps, "batching": "loop"}
    if expected > LIMIT or size > MEMORY:
        large = f"memory of {size / 1e9:.3g} GB" if size > MEMORY else f"{spent * steps:.5g} steps of {pace.step:.2g} s"
        found |= {"seconds a round": expected, "too large": f"{large} a round"}
    else:
        way, _ = fastest(net, 1 if getattr(method, "sequential", False) else spent)
        net = replace(net, batching=way)
        running = RunState(net, method, rounds=ROUNDS, x0=net.start(0), record=(), at=[0])
        found |= {"seconds a round": min(cpu_seconds(running.advance) for _ in range(ROUNDS)), "batching": way}
    if pace.measurement > LIMIT:
        return found | {"seconds a measurement": pace.measurement, "measurement": "estimated"}
    looked = cpu_seconds(lambda: RunState(net, method, rounds=1, x0=net.start(0), record=setup.record, at=[0]))
    return found | {"seconds a measurement": looked, "measurement": "measured"}


def hours(whole: Preset, took: dict[str, Any]) -> float:
    """Of all cells and seeds."""
    rounds, measured = (
        sum(of) for of in zip(*((cell.setup.rounds, len(cell.setup.measured)) for cell in whole.cells), strict=True)
    )
    return whole.seeds * (rounds * took["seconds a round"] + measured * took["seconds a measurement"]) / 3600


def main(names: list[str]) -> None:
    """Time the presets; those with the same images one after another, because they are generated once, small ones first."""
    torch.set_num_threads(1)
    chosen = {name: presets.preset(name) for name in names or presets.presets()}
    first = {name: setups_of(whole, data="generated", seeds=(0,))[0] for name, whole in chosen.items()}
    pictures = {
        name: json.dumps([setup.data.get(key) for key in ("shape", "train", "noise")]) for name, setup in first.items()
    }
    known: dict[str, dict[str, Any]] = {}
    found: dict[str, dict[str, Any]] = {}
    before = ""
    size = {name: np.prod(setup.data["shape"]) * setup.data["train"] for name, setup in first.items()}
    for name in sorted(chosen, key=lambda name: (size[name], pictures[name])):
        if pictures[name] != before:
            setups._load.cache_clear()
        before, setup = pictures[name], first[name]
        key = json.dumps([setup.data, setup.network, setup.algorithm, setup.record])
        known[key] = took = known.get(key) or timed(setup)
        seconds = {what: float(f"{value:.3g}") for what, value in took.items() if what.startswith("seconds")}
        found[name] = took | seconds | {"hours in all": float(f"{hours(chosen[name], took):.3g}")}
        print(f"{name}: {found[name]}", flush=True)
        left = sorted(chosen.keys() - found.keys())
        about = {"code": digest_of_code(), "torch": torch.__version__, "not timed": left}
        store("presets on generated images", about | {"presets": found})


if __name__ == "__main__":
    main(sys.argv[1:])
