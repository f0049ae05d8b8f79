"""A training on the user's own data, from the words of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from fedtheory.arguments import number
from fedtheory.simulate import settings_of as parameters
from fedtheory.simulations.algorithms import builders
from fedtheory.simulations.checked import brief
from fedtheory.simulations.networks import own
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.networks.setup import OF_OWN, Setup, settings_of
from fedtheory.simulations.partitions import PARTITIONS, partition_settings
from fedtheory.theory.names import unknown

ROUNDS, SEEDS, CLIENTS = 100, (0, 1, 2), 10
_LISTS = ("shape", "without", "enlarge", "record", "full", "clamp")  # settings that are always lists


def read(
    path: Path, words: Sequence[str], partition: str | None, clients: int | None, model: str, source: str | None = None
) -> Setup:
    """The set-up: an algorithm by name, and NAME=VALUE, by their names settings of the algorithm, the network or the data.

    A name that several of these have is the algorithm's.  Where the table says which client has which row (client=), data
    are not dealt out; else by `partition` (iid) to `clients` (10).

    Raises ValueError, UnknownName for words that are none of these, and as `Setup` does.
    """
    algorithms = [word for word in words if "=" not in word]
    if len(algorithms) != 1:
        raise ValueError(f"algorithms {brief(', '.join(algorithms))}: expected one, such as PFL, after the data")
    (algorithm,) = algorithms
    known = builders(source, networks=True)
    if algorithm not in known:
        raise unknown("algorithm", algorithm, list(known))
    if partition is not None and partition not in PARTITIONS:
        raise unknown("partition", partition, list(PARTITIONS))
    ways = partition_settings(partition or "iid")
    tables: dict[str, dict[str, Any]] = {
        "algorithm": dict.fromkeys(("eta", *settings_of(algorithm, source))),
        "network": dict.fromkeys(f.name for f in fields(Network) if f.name not in ("data", "partition", "model")),
        "data": dict.fromkeys((*(n for n in OF_OWN if n not in ("name", "path")), *ways, "partition_seed", "against")),
        "": dict.fromkeys(("every", "tail", "record", "decay", "threads")),
    }
    for name, text in parameters(words).items():
        table = next((own for own in tables.values() if name in own), None)
        if table is None:
            expected = ", ".join(name for own in tables.values() for name in own)
            raise ValueError(f"unknown parameter {brief(name)}; expected {expected}")
        table[name] = _value(name, text)
    algorithm_settings, network, data, rest = (
        {name: value for name, value in own.items() if value is not None} for own in tables.values()
    )
    as_given = "client" in data and partition is None and clients is None
    dealt = {} if as_given else {"partition": partition or "iid", "clients": clients or CLIENTS}
    if "record" in rest:
        rest["record"] = tuple(rest["record"])
    if isinstance(data.get("test"), str):
        data["test"] = str(Path(data["test"]).resolve())
    return Setup(
        data={"name": own.NAME, "path": str(path.resolve()), **data, **dealt},
        network={"model": model, **network},
        algorithm={
            "name": algorithm,
            **({} if source is None else {"from": str(Path(source).resolve())}),
            **algorithm_settings,
        },
        rounds=ROUNDS,
        seeds=SEEDS,
        **rest,
    )


def _value(name: str, text: str) -> Any:
    """A number, a truth or a text, as TOML has them; fractions; several with commas between them."""
    if name in _LISTS or ("," in text and "(" not in text):
        return [_value("", part) for part in text.split(",")]
    try:
        found = tomllib.loads(f"value = {text}")["value"]
        return found if isinstance(found, int | float | str) else text
    except tomllib.TOMLDecodeError:
        top, sign, bottom = text.partition("/")
        return number(name, text) if sign and top.isdigit() and bottom.isdigit() else text
