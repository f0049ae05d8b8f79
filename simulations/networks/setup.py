"""The set-up of a training: images, partition, network, algorithm, rounds; as tables of a TOML file.

rounds = 100
seeds = [0, 1, 2]
every = 10                   # rounds between measurements
tail = 40                    # of the last 40 rounds all are measured
record = ["value", "test_value", "accuracy"]

[data]
name = "generated"           # see fedtheory.simulations.networks.images; the settings of `generated` stand here too; "own"
                             # with path = a table, or a folder of images: see fedtheory.simulations.networks.own
against = 0                  # only where there are to be two classes: class 0, which becomes 1, against all others
partition = "exdir"          # see fedtheory.simulations.partitions, with clients, seed and its own settings
clients = 100
C = 1
alpha = 10.0

[network]                    # see fedtheory.simulations.networks.problem.Network
model = "LeNet-5"            # or "mine.py:Net", a torch.nn.Module of your own
batch = 20

[algorithm]                  # see fedtheory.simulations.algorithms.registry()
name = "SFL"                 # one of your own: from = "mine.py"
K = 5
S = 10
eta = 0.01
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np

from fedtheory.simulations.algorithms import builders, must_be_given, registry, settings_of as fields_of
from fedtheory.simulations.algorithms.base import Algorithm, class_of
from fedtheory.simulations.algorithms.sfl import Splitting
from fedtheory.simulations.checked import Count, affordable, brief, check_settings, number, whole
from fedtheory.simulations.compressors import from_text
from fedtheory.simulations.networks import images, own as own_ones
from fedtheory.simulations.networks.images import Images
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.own_file import blaming
from fedtheory.simulations.partitions import PARTITIONS, as_given, partition_settings

ALGORITHMS: Mapping[str, Callable[..., Algorithm]] = registry(networks=True)
_OF_IMAGES = ("name", "path", *inspect.signature(images.generated).parameters)
OF_OWN = ("name", *inspect.signature(own_ones.images).parameters)
STEPS = ("T", "tau", "K")  # names of local steps; the first that an algorithm has means local steps
_LARGEST_SEED = 2**63 - 1
RECORDED = ("value", "grad_sq", "test_value", "accuracy")


@dataclass(frozen=True)
class Setup:
    """A training.

    data       name, and for a set read from files its path; partition, clients, partition_seed (0) and the partition's
               settings; for generated images their settings; `against`, for two classes: this one and all others, which are
               dealt out to the clients by their own classes
    network    the settings of `Network`
    algorithm  its name, eta, and its other settings by name; compressors as text, such as "QSGD(s=7)"; `from`, the Python
               file of an algorithm of the user's own.  Where the network has `local_epochs`, the number of local steps is
               that of the largest client, and is not given
    rounds     number of rounds
    seeds      one run each; the seed determines the starting point and all draws
    decay      factor on eta after every round
    every      rounds between measurements; the last round is measured too
    tail       of this many last rounds all are measured
    record     the measured quantities: some of value, grad_sq, test_value, accuracy
    threads    of torch on a CPU; None: by a short trial, as is `batching` where the network does not set it
    sha256     checksums of the user's own files, by their names in `files`; those that are there must fit

    The constructor raises ValueError for tables with unknown or missing entries, and for numbers out of their ranges.
    `problem` and `method` raise the errors of the images, the network and the algorithm.
    """

    data: Mapping[str, Any]
    network: Mapping[str, Any]
    algorithm: Mapping[str, Any]
    rounds: Count
    seeds: tuple[int, ...] = (0,)
    decay: Annotated[float, "in (0, 1]"] = 1.0
    every: Count = 1
    tail: Annotated[int, "a whole number", 0] = 0
    record: tuple[str, ...] = field(default=("value", "test_value", "accuracy"))
    threads: int | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.threads is not None:
            whole("threads", self.threads, most=4096)
        if not self.seeds:
            raise ValueError("seeds = []: expected different whole numbers >= 0")
        for seed in self.seeds:
            whole("seeds", seed, 0, most=_LARGEST_SEED)
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds = {brief(list(self.seeds))}: expected different whole numbers >= 0")
        rows = (float(self.rounds) / self.every + min(self.tail, self.rounds)) * len(self.seeds)
        what = f"rounds = {brief(self.rounds)}, measured every {brief(self.every)}"
        affordable(what, numbers=32 * rows, steps=float(self.rounds) * len(self.seeds))
        if not self.record or not all(isinstance(name, str) and name in RECORDED for name in self.record):
            raise ValueError(f"record = {brief(list(self.record))}: expected some of {', '.join(RECORDED)}")
        for table, names in (
            ("data", ("name", "partition", "path")),
            ("network", ("model",)),
            ("algorithm", ("name", "from")),
        ):
            for name in names:
                text = getattr(self, table).get(name, "")
                if not isinstance(text, str):
                    raise ValueError(f"{table}: {name} = {brief(text)}: expected a text")
        mine = self.data.get("name") == own_ones.NAME
        way = self.data.get("partition", "iid")
        if way not in PARTITIONS:
            raise ValueError(f"partition = {brief(way)!r}: expected one of {', '.join(PARTITIONS)}")
        dealt = (*partition_settings(way), "partition", "clients", "partition_seed")
        kept = (
            mine and "client" in self.data and "clients" not in self.data
        )  # the table says which client has which row
        needed = ("name", *(("path",) if mine else ()), *(() if kept else ("clients", *partition_settings(way))))
        _check("data", self.data, (*(OF_OWN if mine else _OF_IMAGES), "against", *(() if kept else dealt)), needed)
        own = [f.name for f in fields(Network) if f.name not in ("data", "partition")]
        _check("network", self.network, own, ("model",))
        _check("algorithm", self.algorithm, ("name",), ("name", "eta"), some=False)
        if unknown := set(self.sha256) - set(self.files):
            raise ValueError(f"sha256: {brief(', '.join(sorted(unknown)))}: expected some of {', '.join(self.files)}")
        known = builders(self.algorithm.get("from"), networks=True)
        if self.algorithm["name"] not in known:
            raise ValueError(f"algorithm {brief(self.algorithm['name'])!r}: expected one of {', '.join(known)}")
        if isinstance(self.algorithm["eta"], list):
            raise ValueError(f"eta = {brief(self.algorithm['eta'])}: expected one number; others are other trainings")
        number("eta", self.algorithm["eta"], "> 0")
        ours = class_of(ALGORITHMS[self.algorithm["name"]]) if self.algorithm["name"] in ALGORITHMS else Splitting
        if self.network.get("cut_after") is not None and not issubclass(ours, Splitting):
            raise ValueError(
                f"cut_after with {self.algorithm['name']}: expected none, it does not cut the network in two"
            )
        settings = settings_of(self.algorithm["name"], self.algorithm.get("from"))
        steps = self._steps
        if steps is not None:
            settings.pop(steps)
        _check(
            "algorithm", self.algorithm, ("name", "from", *settings), [s for s, needed in settings.items() if needed]
        )

    @property
    def _steps(self) -> str | None:
        """The algorithm's name of its local steps, where the network has `local_epochs`.  Raises ValueError."""
        if self.network.get("local_epochs") is None:
            return None
        kind = class_of(builders(self.algorithm.get("from"), networks=True)[self.algorithm["name"]])
        if not getattr(kind, "own_steps", False):
            fit = [name for name, build in ALGORITHMS.items() if getattr(class_of(build), "own_steps", False)]
            raise ValueError(f"local_epochs with {self.algorithm['name']}: expected one of {', '.join(fit)}")
        return steps_of(self.algorithm["name"], self.algorithm.get("from"))

    @property
    def measured(self) -> list[int]:
        """The rounds that are measured."""
        tail = range(max(0, self.rounds - self.tail + 1), self.rounds + 1)
        return sorted({*range(0, self.rounds + 1, self.every), *tail, self.rounds})

    @property
    def files(self) -> dict[str, Path]:
        """The user's own files and folders, by what they are."""
        found = {"data": self.data["path"], "test": self.data.get("test")} if self.data["name"] == own_ones.NAME else {}
        found |= {"algorithm": self.algorithm.get("from")}
        if own_ones.is_own(self.network["model"]):
            found["model"] = own_ones.file_of(self.network["model"])
        return {what: Path(name) for what, name in found.items() if isinstance(name, str | Path)}

    def sealed(self) -> Setup:
        """The set-up with the checksums of its files.  Raises ValueError for one that is missing, or has changed."""
        settings = {"data": "data: path", "test": "data: test", "model": "network: model", "algorithm": "from"}
        now = {what: own_ones.digest_of_data(path, settings[what]) for what, path in self.files.items()}
        for what, digest in self.sha256.items():
            if now[what] != digest:
                raise ValueError(
                    f"{what}: {self.files[what]} has the sha256 {now[what][:12]}..., in the set-up it is {brief(digest)}: "
                    "expected the file that the set-up was made with, or a set-up without its checksum"
                )
        return replace(self, sha256=now)

    def problem(self) -> Network:
        """The network on its images, dealt out to clients."""
        files = self.sealed().sha256
        settings = {name: _frozen(self.data[name]) for name in (*_OF_IMAGES, *OF_OWN) if name in self.data}
        pictures = _load(tuple(settings.items()), tuple(files.values()))
        if pictures.clients is not None and "clients" not in self.data:
            dealt = as_given(pictures.clients)
        elif "clients" not in self.data:
            raise ValueError(f"data: {pictures.name} says of no row whose it is: expected clients, their number")
        else:
            way = self.data.get("partition", "iid")
            own = {name: self.data[name] for name in partition_settings(way)}
            seed = self.data.get("partition_seed", 0)
            dealt = PARTITIONS[way](pictures.labels, M=self.data["clients"], seed=seed, **own)
        if "against" in self.data:
            pictures = images.one_against_rest(pictures, self.data["against"])
        return Network(pictures, dealt, **{name: _frozen(value) for name, value in self.network.items()})

    def method(self, problem: Network | None = None) -> Algorithm:
        """The algorithm with its settings; for the problem, where `local_epochs` set the number of steps."""
        settings = {name: _frozen(value) for name, value in self.algorithm.items() if name not in ("name", "from")}
        if "compressor" in settings:
            if not isinstance(settings["compressor"], str):
                raise ValueError(f'compressor = {brief(settings["compressor"])}: expected a text, such as "QSGD(s=7)"')
            settings["compressor"] = from_text(settings["compressor"])
        if self._steps is not None:
            settings[self._steps] = int(np.max(cast(Any, (problem or self.problem()).steps)))
        with self.blamed():
            return builders(self.algorithm.get("from"), networks=True)[self.algorithm["name"]](**settings)

    def blamed(self) -> AbstractContextManager[None]:
        """A context in which the file of the user's own algorithm is blamed for its exceptions."""
        source = self.algorithm.get("from")
        return nullcontext() if source is None else blaming(Path(source).resolve())

    def table(self) -> dict[str, Any]:
        """The set-up as plain data, for TOML and JSON; `from_table` reads it."""
        found = asdict(self) | {"record": list(self.record), "seeds": list(self.seeds)}
        given = {name: value for name, value in found.items() if value is not None and value != {}}
        return {
            name: {k: v for k, v in value.items() if v is not None} if isinstance(value, Mapping) else value
            for name, value in given.items()
        }


def from_table(table: Mapping[str, Any]) -> Setup:
    """A set-up from the tables of a TOML file.  Raises ValueError as `Setup` does, and for unknown tables."""
    known = {f.name: must_be_given(f) for f in fields(Setup)}
    _check("set-up", table, list(known), [name for name, needed in known.items() if needed])
    for name in ("data", "network", "algorithm", "sha256"):
        if not isinstance(table.get(name, {}), Mapping):
            raise ValueError(f"{name} = {brief(table[name])}: expected a table, [{name}]")
    for name in ("record", "seeds"):
        if not isinstance(table.get(name, []), list | tuple):
            raise ValueError(f"{name} = {brief(table[name])}: expected a list")
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    return Setup(**given)


def steps_of(algorithm: str, source: str | None = None) -> str:
    """The name of the setting that is the number of local steps."""
    own = settings_of(algorithm, source)
    return next(name for name in STEPS if name in own)


def settings_of(algorithm: str, source: str | None = None) -> dict[str, bool]:
    """The settings of the algorithm of that name; True for those that must be given."""
    return {name: must_be_given(f) for name, f in fields_of(builders(source, networks=True)[algorithm]).items()}


@cache
def _load(given: tuple[tuple[str, Any], ...], files: tuple[str, ...]) -> Images:
    """The images; read again where the checksums of the user's own files are others."""
    settings = dict(given)
    path = settings.pop("path", None)
    if settings["name"] == own_ones.NAME:
        del settings["name"]
        return own_ones.images(Path(path), **settings)
    return images.load(settings.pop("name"), None if path is None else Path(path), **settings)


def _frozen(value: Any) -> Any:
    """A list of a TOML file as a tuple, which can be a key.  Raises ValueError for tables and for lists of lists."""
    if isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(v, list | Mapping) for v in value)):
        raise ValueError(f"{brief(value)} as a setting: expected a number, a text or a list of these")
    return tuple(value) if isinstance(value, list) else value


def _check(table: str, given: Mapping[str, Any], known: Any, needed: Any, some: bool = True) -> None:
    """Raises ValueError for an unknown name (unless `some` is False), or a missing one."""
    unknown = [name for name in given if name not in known]
    if unknown and some:
        raise ValueError(f"{table}: {brief(', '.join(unknown))} unknown; expected some of {', '.join(known)}")
    missing = [name for name in needed if name not in given]
    if missing:
        raise ValueError(f"{table}: {', '.join(missing)} missing; expected {', '.join(needed)}")
