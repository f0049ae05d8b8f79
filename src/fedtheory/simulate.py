"""`fedtheory simulate`: a problem and algorithms from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fedtheory.arguments import number
from fedtheory.figures.runs import ROUNDING, best_of_grid
from fedtheory.simulations import data, run
from fedtheory.simulations.algorithms import builders, must_be_given, settings_of as fields_of
from fedtheory.simulations.algorithms.base import Algorithm, class_of
from fedtheory.simulations.checked import affordable, brief, number as checked_number, reals, shortened, whole
from fedtheory.simulations.compressors import from_text
from fedtheory.simulations.engine import affordable_run, requested
from fedtheory.simulations.own_file import blaming, digest_of, own
from fedtheory.simulations.partitions import PARTITIONS, Partition, as_given, partition_settings
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.least_squares import least_squares
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory.names import unknown as unknown_name

if TYPE_CHECKING:
    from fedtheory.figures.gallery import FigureData

_ROUNDING = 1e-12  # relative to the mean: a smaller spread counts as 0
_SHOWN = {
    "gap": "F gap",
    "grad_sq": "||grad F||^2",
    "dist2": "||x-x*||^2",
}  # recorded quantity -> its heading in a table
_WITHOUT_MINIMUM = {"value": "F", "grad_sq": "||grad F||^2"}
RUN = {"eta": "", "rounds": "100", "seeds": "10", "x0": "1"}
QUADRATIC = {"d": "10", "M": "10", "L": "1", "mu": "0.1", "zeta_star": "1", "delta": "0.2", "sigma": "0", "seed": "0"}
DATA = {
    "M": "10",
    "partition": "exdir",
    "C": "1",
    "alpha": "10",
    "loss": "logistic",
    "target": "",
    "client": "",
    "without": "",
    "separator": "",
    "header": "",
    "label": "",
    "regularisation": "0.01",
    "batch": "",
    "weights": "",
    "seed": "0",
}
LOSSES: dict[str, type[Logistic]] = {"logistic": Logistic, "sigmoid": SigmoidERM}
_DEALING = ("M", "partition", "C", "alpha", "seed")
GRID = tuple(2.0**k for k in range(-10, 4))  # step sizes of --best, in units of 1/L
_TOGETHER = {"step sizes": 4, "seeds": 16}  # run as one array; the parts, and so the numbers, are the same everywhere


def _real(given: Mapping[str, str], name: str) -> float:
    return number(name, given[name])


def _whole(given: Mapping[str, str], name: str, least: int = 0) -> int:
    value = _real(given, name)
    if not (np.isfinite(value) and value == np.floor(value)):
        raise ValueError(f"{name}={brief(given[name])}: expected a whole number")
    return whole(name, int(value), least)


@dataclass(frozen=True)
class Asked:
    """A run by the texts of the command line.

    problem     quadratic, a group of Table 2, a data set, a file, or a name in `source`
    algorithms  by name
    given       parameters; ALGORITHM:NAME is one for that algorithm alone
    source      a file of the user's own that adds algorithms and problems
    best        take the best step size of `eta`, by default of a grid in units of 1/L
    """

    problem: str
    algorithms: tuple[str, ...]
    given: Mapping[str, str]
    source: str | None = None
    best: bool = False


@dataclass(frozen=True)
class Found:
    """The runs of an algorithm at one step size or several.

    level  gaps up to it are rounding
    tried  the step sizes of which --best has taken the one in `runs`; empty without it
    alike  how many of them end at the rounding level
    """

    algorithm: str
    runs: xr.Dataset
    level: float = 0.0
    tried: tuple[float, ...] = ()
    alike: int = 0

    @property
    def edge(self) -> str:
        """Which end of the tried step sizes the best one is, if it is one."""
        if len(self.tried) < 2:
            return ""
        eta = float(self.runs.step_size[0])
        return "smallest" if eta == min(self.tried) else "largest" if eta == max(self.tried) else ""


def read(problem: str, words: Sequence[str], source: str | None = None, best: bool = False) -> Asked:
    """The arguments of the command: algorithms, and parameters as NAME=VALUE.

    Raises ValueError for no algorithm, one that is named twice, or a parameter that is given twice or has no value.
    """
    algorithms = tuple(word for word in words if "=" not in word)
    if not algorithms:
        raise ValueError("no algorithm: expected one or several, such as SFL PFL, after the problem")
    given = settings_of(words)
    if len(set(algorithms)) < len(algorithms):
        raise ValueError(f"algorithms {brief(', '.join(algorithms))}: expected each once")
    return Asked(problem, algorithms, given, source, best)


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """The parameters NAME=VALUE among the words.  Raises ValueError for one that is given twice or has no value."""
    given: dict[str, str] = {}
    for name, sign, value in (word.partition("=") for word in words):
        if not sign:
            continue
        if not name or not value:
            raise ValueError(f"{brief(f'{name}={value}')!r} is no parameter: expected NAME=VALUE, such as eta=0.1")
        if name in given:
            raise ValueError(f"parameter {brief(name)} is given twice: expected it once")
        given[name] = value
    return given


def simulate(asked: Asked, tell: Progress | None = None, workshop: Workshop | None = None) -> list[Found]:
    """Run the algorithms.  Many seeds and step sizes are run in parts, which the workshop does beside each other.

    Everything is checked before the first run begins.  Raises ValueError, UnknownName.
    """
    settings = RUN | dict(asked.given)
    rounds, every = lengths(asked)
    problem, n = problem_of(asked), len(every)
    if asked.best and not settings["eta"]:
        steps = grid(problem)
    elif settings["eta"]:
        steps = settings["eta"].split(",")
        if len({number("eta", step) for step in steps}) < len(steps):
            raise ValueError(f"eta={brief(settings['eta'])}: expected different step sizes")
    else:
        raise ValueError("eta is missing: expected eta=NUMBER, several separated by commas, or --best")
    for name in asked.algorithms:
        method = method_of(asked, name, steps)
        wanted = requested(problem, method, rounds, x0_of(settings), recorded(problem), shown_rounds(rounds), 1.0)
        affordable_run(problem, method, wanted, rounds, n, len(_SHOWN))
    seeds = [every[i : i + _TOGETHER["seeds"]] for i in range(0, n, _TOGETHER["seeds"])]
    etas = [tuple(steps[i : i + _TOGETHER["step sizes"]]) for i in range(0, len(steps), _TOGETHER["step sizes"])]
    parts = [(asked, name, eta, own) for name in asked.algorithms for eta in etas for own in seeds]
    where = workshop or Workshop()
    if len(parts) == 1 and where.scheduler is None:
        runs = [_part(*parts[0], tell)]
    else:
        runs = where.do([Task("simulating", "", "run", _part, part, kept=False) for part in parts], tell)
    each = len(etas) * len(seeds)
    found = [_joined(runs[i : i + each], len(seeds)) for i in range(0, len(runs), each)]
    return [
        (best_of if asked.best else Found)(name, own, level(own, problem))
        for name, own in zip(asked.algorithms, found, strict=True)
    ]


def grid(problem: Problem) -> list[str]:
    """The step sizes of --best; L may differ in its last digits from machine to machine."""
    L = problem.constants.entries["L"].value or 1.0
    return [f"{share / L:.12g}" for share in GRID]


def lengths(asked: Asked) -> tuple[int, Sequence[int]]:
    """How many rounds, and which seeds: seeds=3 are 0, 1 and 2; seeds=7,9 are these two, and seeds=7, is one.

    Raises ValueError for numbers out of range, and for a file of --from that nothing in the run is of.
    """
    settings, mine = RUN | dict(asked.given), own(asked.source)
    if asked.source and asked.problem not in mine.problems and not set(asked.algorithms) & set(mine.algorithms):
        names = ", ".join([*mine.algorithms, *mine.problems])
        raise ValueError(f"from = {brief(asked.source)} is not used: expected one of {brief(names)} in the run")
    text = settings["seeds"]
    seeds: Sequence[int] = [_whole({"seeds": part}, "seeds") for part in text.removesuffix(",").split(",")]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds={brief(text)}: expected each seed once")
    if "," not in text:
        seeds = range(_whole(settings, "seeds", 1))
    affordable(f"seeds={brief(len(seeds))}", numbers=float(len(seeds)) * len(_SHOWN) * 200 * len(asked.algorithms))
    rounds = _whole(settings, "rounds", 1)
    affordable(f"rounds={brief(rounds)}", steps=float(rounds))
    return rounds, seeds


def _joined(found: list[xr.Dataset], seeds: int) -> xr.Dataset:
    """The parts of an algorithm's runs as one Dataset."""
    if len(found) == 1:
        return found[0]
    rows = [found[i : i + seeds] for i in range(0, len(found), seeds)]
    joined = [xr.concat(row, "seed", combine_attrs="override") for row in rows]
    everything = xr.concat(joined, "step_size", combine_attrs="override")
    chosen = json.loads(everything.attrs["algorithm"]) | {"eta": everything.step_size.values.tolist()}
    weights = [w for row in rows for w in json.loads(row[0].attrs["average"])]
    seed = everything.seed.values.tolist()
    told = {"algorithm": json.dumps(chosen), "average": json.dumps(weights), "seeds": str(seed)}
    return everything.assign_attrs(told)


def level(runs: xr.Dataset, problem: Problem) -> float:
    """The largest gap, or difference of two values, that is rounding."""
    least, start = problem.constants.entries["F_star"].value, runs[next(iter(_shown(runs)))].isel(round=0)
    return ROUNDING * max(0.0 if least is None else abs(float(least)), float(abs(start).max()))


def best_of(name: str, runs: xr.Dataset, level: float) -> Found:
    """The step size with the smallest mean of the first shown quantity after the last round."""
    shown = next(iter(_shown(runs)))
    chosen, _ = best_of_grid(runs, shown, level)
    step, ends = float(chosen.step_size), runs[shown].isel(round=-1).mean("seed", skipna=False)
    alike = int((ends <= level).sum()) if shown == "gap" else 0
    return Found(name, runs.sel(step_size=[step]), level, tuple(runs.step_size.values.tolist()), alike)


def _part(
    asked: Asked, name: str, steps: tuple[str, ...], seeds: Sequence[int], tell: Progress | None = None
) -> xr.Dataset:
    """The runs of an algorithm with these seeds and step sizes, as one array."""
    settings = RUN | dict(asked.given)
    problem, rounds = problem_of(asked), _whole(settings, "rounds", 1)
    with _blamed(asked):
        return run(
            problem,
            method_of(asked, name, steps),
            rounds=rounds,
            seeds=seeds,
            x0=x0_of(settings),
            at=shown_rounds(rounds),
            record=recorded(problem),
            progress=None if tell is None else lambda r: tell("rounds", r, rounds),
        )


def _blamed(asked: Asked) -> AbstractContextManager[None]:
    return nullcontext() if asked.source is None else blaming(Path(asked.source).resolve())


def x0_of(settings: Mapping[str, str]) -> Any:
    """A number for all coordinates, or several separated by commas."""
    x0 = [number("x0", part) for part in settings["x0"].split(",")]
    return x0 if len(x0) > 1 else x0[0]


def recorded(problem: Problem) -> tuple[str, ...]:
    """The quantities that are shown, as far as the problem has them."""
    return tuple(_SHOWN if problem.constants.entries["x_star"].value is not None else _WITHOUT_MINIMUM)


def shown_rounds(rounds: int) -> NDArray[np.int64]:
    """The rounds that are shown: all at first, then ever fewer."""
    return np.unique(np.concatenate([[0], np.round(np.geomspace(1, rounds, 200))]).astype(np.int64))


def _settings_of_problem(asked: Asked) -> dict[str, str]:
    """The parameters that the problem takes, with their defaults."""
    if asked.problem == "quadratic":
        return QUADRATIC
    is_data = asked.problem not in own(asked.source).problems and not asked.problem.startswith("sfl.quad.")
    return DATA if is_data and not _matrices(asked.problem) else {}


def method_of(asked: Asked, name: str, steps: Sequence[str]) -> Algorithm:
    """The algorithm with its settings, at these step sizes.  Raises ValueError, UnknownName."""
    known = builders(asked.source)
    if name not in known:
        raise unknown_name("algorithm", name, list(known))
    takes = {n: parameters(known[n]) for n in asked.algorithms if n in known}
    allowed = {*RUN, *_settings_of_problem(asked), *(s for settings in takes.values() for s in settings)}
    for given in asked.given:
        one, sign, setting = given.rpartition(":")
        if (sign and (one not in takes or setting not in takes[one])) or (not sign and given not in allowed):
            expected = ", ".join(takes.get(one, allowed)) if sign else ", ".join(sorted(allowed))
            raise ValueError(f"unknown parameter {brief(given)}; expected {expected}")
        takers = [n for n in takes if given in takes[n]]
        if takers and all(f"{n}:{given}" in asked.given for n in takers):
            raise ValueError(f"{brief(given)} has no effect beside {takers[0]}:{given}: expected one of them")
    build, its_own = known[name], takes[name]
    texts = {s: asked.given.get(f"{name}:{s}", asked.given.get(s, "")) for s in its_own}
    eta = [number("eta", text) for text in steps]
    needed = {s for s, field in fields_of(build).items() if must_be_given(field)}  # 1, where they are not given
    settings = {s: parse(s, texts[s] or "1") for s, parse in its_own.items() if texts[s] or s in needed}
    with _blamed(asked):
        return build(eta=eta if len(eta) > 1 else eta[0], **settings)


def problem_of(asked: Asked) -> Problem:
    """The problem with its settings.  Raises ValueError, UnknownName."""
    path = Path(asked.problem)
    files = [digest_of(file) for file in (path, asked.source) if file is not None and data.is_file(Path(file))]
    return _problem(asked.problem, tuple(sorted(asked.given.items())), asked.algorithms, asked.source, tuple(files))


@lru_cache(maxsize=4)
def _problem(
    name: str,
    given: tuple[tuple[str, str], ...],
    algorithms: tuple[str, ...],
    source: str | None,
    files: tuple[str, ...],
) -> Problem:
    """The problem, built once as long as its files (their checksums) are the same."""
    asked = Asked(name, algorithms, dict(given), source)
    takes = {s for n in algorithms if n in builders(source) for s in parameters(builders(source)[n])}
    defaults = _settings_of_problem(asked)
    # a name in both is the algorithm's
    chosen = {n: v for n, v in asked.given.items() if n in defaults and n not in takes}
    settings = defaults | chosen
    mine = own(source).problems
    if name in mine:
        with _blamed(asked):
            found = mine[name]() if callable(mine[name]) else mine[name]
        if not hasattr(found, "full_gradient"):
            raise ValueError(
                f"{name} of {source} is {brief(found)}: expected a problem, such as those of fedtheory.problems"
            )
        problem: Problem = found
        return problem
    if name == "quadratic":
        counts = {n: _whole(settings, n) for n in ("d", "M", "seed")}
        reals = {n: _real(settings, n) for n in QUADRATIC if n not in counts}
        return generate(**counts, **reals)  # type: ignore[arg-type]
    if name.startswith("sfl.quad."):
        from fedtheory.figures.sfl import group
        from fedtheory.theory import catalogue

        return group(catalogue.find(name).id)
    return _matrices(name) or _on_data(name, chosen)


def _matrices(name: str) -> Quadratic | None:
    """The quadratics of an NPZ file with H (M, d, d) and b (M, d), perhaps sigma and weights; None for another file."""
    path = Path(name)
    if path.suffix != ".npz" or not path.is_file():
        return None
    found = data.arrays_of(path)
    if "H" not in found:
        return None
    if not {"H", "b"} <= set(found) <= {"H", "b", "sigma", "weights"}:
        raise ValueError(f"{path.name} holds {brief(', '.join(found))}: expected H and b, perhaps sigma and weights")
    sigma = checked_number("sigma", found.get("sigma", np.zeros(())))
    return Quadratic(found["H"], found["b"], sigma, path.stem, found.get("weights"))


def parameters(build: Callable[..., Algorithm], free: bool = False) -> dict[str, Callable[[str, str], Any]]:
    """The settings of an algorithm other than eta, each with the function (name, text) that reads it.

    free  also those that are set already
    """
    kinds = get_type_hints(class_of(build))
    return {name: _reader(str(kinds[name])) for name in fields_of(build, free) if name != "eta"}


def _reader(kind: str) -> Callable[[str, str], Any]:
    if "Compressor" in kind:
        return lambda name, text: from_text(text)
    if "Literal" in kind:  # a word, or either a word or a number
        return lambda name, text: number(name, text) if "float" in kind and not text.isalpha() else text
    if "bool" in kind:
        return _truth
    if "tuple" in kind:
        one_for_all = kind.startswith("int |")  # one number, or several
        return lambda name, text: (
            _whole({name: text}, name) if one_for_all and "," not in text else _several(name, text)
        )
    if "int" in kind:
        return lambda name, text: _whole({name: text}, name)
    return number


def _several(name: str, text: str) -> tuple[int, ...]:
    return tuple(_whole({name: part}, name) for part in text.split(","))


def _truth(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{name}={text}: expected true or false")
    return text == "true"


def _on_data(name: str, chosen: Mapping[str, str]) -> Problem:
    """The loss on the data set; chosen are the settings that are not the defaults of DATA."""
    settings = DATA | dict(chosen)
    loss, regularisation, weights = settings["loss"], settings["regularisation"], settings["weights"] or None
    if loss not in (*LOSSES, "squared"):
        raise unknown_name("loss", loss, [*LOSSES, "squared"])
    columns = columns_of(settings)
    batch = _whole(settings, "batch", 1) if settings["batch"] else None
    if loss == "squared":
        if batch is not None or settings["label"]:
            raise ValueError("loss=squared: expected no batch (gradients are exact) and no label (targets are numbers)")
        if chosen.get("partition", "iid") != "iid":
            raise ValueError("loss=squared: targets are numbers, expected partition=iid; the others deal out classes")
        rows = data.table(name, *columns) if name not in data.EMBEDDED else None
        if rows is None:
            raise ValueError(f"loss=squared: {name} has classes, expected a file with numbers as targets")
        numbers = reals(f"targets of {rows.name}", rows.targets)
        dealt = _dealt(chosen, np.zeros(len(numbers), np.int64), rows.clients, "iid")
        features = data.dense(rows.features, rows.name)
        largest = float(np.linalg.norm(features, axis=1).max()) or 1.0
        ridge = number("regularisation", regularisation)
        return least_squares(features / largest, numbers, dealt, ridge, weights, f"least squares, {rows.name}")
    dataset = data.scaled(data.load(name, *columns))
    if settings["label"]:
        dataset = data.one_against_rest(dataset, _whole(settings, "label"))
    if loss == "sigmoid" and dataset.classes > 2:
        raise ValueError(
            f"loss=sigmoid: {name} has {dataset.classes} classes; expected label=CLASS, for that class against the rest"
        )
    partition = _dealt(chosen, dataset.labels, dataset.clients)
    if regularisation.endswith("L"):
        share = number("regularisation", regularisation[:-1])
        return lightly_regularised(LOSSES[loss], dataset, partition, batch, share, weights)
    return LOSSES[loss](dataset, partition, number("regularisation", regularisation), batch, weights)


def columns_of(settings: Mapping[str, str]) -> tuple[str | None, str | None, list[str], str | None, bool | None]:
    """How a table is read: target, client, columns that are left out, separator, header."""
    header = _truth("header", settings["header"]) if settings["header"] else None
    without = [name for name in settings["without"].split(",") if name]
    return settings["target"] or None, settings["client"] or None, without, settings["separator"] or None, header


def told(asked: Asked) -> str:
    """What was read of a file of data, in a line; empty for another problem."""
    path, settings = Path(asked.problem), DATA | dict(asked.given)
    if asked.problem in own(asked.source).problems or not data.is_file(path) or _matrices(asked.problem):
        return ""
    dataset = getattr(problem_of(asked), "dataset", None)
    return dataset.summary if dataset is not None else data.table(path, *columns_of(settings)).summary


def _dealt(
    chosen: Mapping[str, str], labels: np.ndarray, clients: np.ndarray | None, default: str = DATA["partition"]
) -> Partition:
    """The samples dealt out as the file says, else by the partition of the settings.

    Raises ValueError, UnknownName, also for a setting of partitions that has no effect here.
    """
    settings = DATA | {"partition": default} | dict(chosen)
    method = settings["partition"]
    if method not in PARTITIONS:
        raise unknown_name("partition", method, list(PARTITIONS))
    # C: classes, or shards, per client
    takes = {n: "alpha" if n == "alpha" else "C" for n in partition_settings(method)}
    used = () if clients is not None else ("M", "partition", "seed", *takes.values())
    if idle := [n for n in chosen if n in _DEALING and n not in used]:
        why = f"partition={method} takes {', '.join(used)}" if used else "the file says which client has which row"
        raise ValueError(f"{', '.join(idle)} would have no effect: {why}; expected no {', '.join(idle)}")
    if clients is not None:
        return as_given(clients)
    M = _whole(settings, "M", 1)
    own = {n: _real(settings, n) if name == "alpha" else _whole(settings, name) for n, name in takes.items()}
    if "C" in own and "C" not in chosen:
        own["C"] = -(-len(np.unique(labels)) // M)  # as few as leave no class without a client
    return PARTITIONS[method](labels, M=M, seed=_whole(settings, "seed"), **own)


def _shown(dataset: xr.Dataset) -> dict[str, str]:
    return _SHOWN if "gap" in dataset else _WITHOUT_MINIMUM


def first_shown(runs: xr.Dataset) -> tuple[str, xr.DataArray]:
    """The first shown quantity of runs at one step size, by name, over (seed, round)."""
    name = next(iter(_shown(runs)))
    return name, runs[name].isel(step_size=0)


def summary(dataset: xr.Dataset, level: float = 0.0) -> list[dict[str, Any]]:
    """One row for each step size at a few rounds: mean and standard deviation over the seeds that have not diverged.

    level  a negative gap up to it is rounding, and counts as 0
    """
    rows = []
    shown = _shown(dataset)
    rounds = dataset["round"].values
    few = np.unique(rounds[np.linspace(0, len(rounds) - 1, 8).astype(int)])
    for step in dataset.step_size.values:
        at = dataset.sel(step_size=step)
        diverged = int((at.status == "diverged").sum())
        for r in few:
            row: dict[str, Any] = {"eta": float(step), "round": int(r), "diverged": diverged}
            for name in shown:
                values = at[name].sel(round=r).values
                values = np.where((name == "gap") & (-level <= values) & (values < 0), 0.0, values)
                kept = values[np.isfinite(values)]
                row[name] = float(kept.mean()) if len(kept) else None
                with np.errstate(over="ignore"):  # squares of values just before divergence
                    spread = float(kept.std(ddof=1)) if len(kept) > 1 else np.inf
                    spread = 0.0 if len(kept) and spread <= _ROUNDING * abs(float(kept.mean())) else spread
                row[f"{name}_sd"] = spread if np.isfinite(spread) else None
            rows.append(row)
    return rows


def plot(asked: Asked, found: Sequence[Found]) -> FigureData:
    """All algorithms and step sizes in one figure."""
    from fedtheory.bounds.communication import cost
    from fedtheory.figures.simulated import Curve, draw

    problem, curves = problem_of(asked), []
    for one in found:
        spent = cost(method_of(asked, one.algorithm, ["1"]), problem)
        for step in one.runs.step_size.values:
            label = f"{one.algorithm}, $\\eta$ = {step:.3g}" + (f" ({one.edge} tried)" if one.edge else "")
            curves.append(Curve(label, one.runs.sel(step_size=step), spent.clients * spent.up))
    told = [f"{n}={x}" for n, x in asked.given.items() if n not in RUN and ":" not in n and f"{n}=" not in problem.name]
    title = ", ".join([shortened(problem.name, 110), *told])
    return draw(curves, title, max(one.level for one in found))


def print_table(found: Sequence[Found], problem: Problem, out: Console) -> None:
    """The problem and the summaries as a table; of best step sizes a row for each algorithm."""
    runs, sigma = found[0].runs, problem.constants.entries["sigma"].value
    shown, seeds = _shown(runs), runs.sizes["seed"]
    out.print(f"{shortened(problem.name, 200)}" + ("" if sigma is None else f"; sigma = {sigma:.3g}"), soft_wrap=True)
    best = bool(found[0].tried)
    titles = ("best eta", "of the step sizes") if best else ("eta", "round")
    several = len(found) > 1 or best
    table = Table(*["algorithm"] * several, *titles, *shown.values(), "diverged", box=None, pad_edge=False)
    for one in found:
        rows = summary(one.runs, one.level)
        for row in rows[-1:] if best else rows:
            cells = [_cell(row[name], row[f"{name}_sd"]) for name in shown]
            tried = f"{one.edge or 'inside,'} of {len(one.tried)}" if len(one.tried) > 1 else "the only one"
            where = tried if best else str(row["round"])
            name = (one.algorithm,) if several else ()
            table.add_row(*name, f"{row['eta']:g}", where, *cells, f"{row['diverged']} of {seeds}")
    out.print(table)
    after = f" after {int(runs['round'].values[-1])} rounds" if best else ""
    out.print(f"mean ± standard deviation over {seeds} seeds{after}")
    edges = [one.algorithm for one in found if one.edge]
    if edges:
        out.print(f"at an end of the step sizes: {', '.join(edges)}; a better one may lie beyond, give eta=...")
    for one in found:
        if one.alike > 1:
            out.print(
                f"{one.algorithm}: {one.alike} step sizes end at a gap of at most {one.level:.2g}, which is rounding; "
                "the best is the one that gets there first"
            )
    vouched = sorted({name for one in found for name in json.loads(one.runs.attrs.get("vouched", "[]"))})
    if vouched:
        out.print(f"vouched for, not certified: {', '.join(vouched)}")


def _cell(mean: float | None, sd: float | None) -> str:
    return "diverged" if mean is None else f"{mean:.4g}" + ("" if sd is None else f" ± {sd:.2g}")


def as_json(found: Sequence[Found]) -> Any:
    """Settings and summary: of one algorithm, or a list for several."""
    told = [
        {"settings": dict(one.runs.attrs), "summary": summary(one.runs, one.level)}
        | ({"tried": list(one.tried), "edge": one.edge or None, "at_rounding": one.alike} if one.tried else {})
        for one in found
    ]
    return (
        told[0] if len(told) == 1 else [{"algorithm": one.algorithm, **t} for one, t in zip(found, told, strict=True)]
    )


def csv(found: Sequence[Found]) -> bytes:
    """Every recorded number in long form: one row per algorithm (of several), step size, seed and round."""
    tables = []
    for one in found:
        frame = one.runs.drop_vars(["status", "diverged_at"]).to_dataframe().reset_index()
        status = one.runs[["status", "diverged_at"]].to_dataframe().reset_index()
        joined = frame.merge(status, on=["step_size", "seed"])
        if len(found) > 1:
            joined.insert(0, "algorithm", one.algorithm)
        tables.append(joined)
    return pd.concat(tables, ignore_index=True).to_csv(index=False, lineterminator="\n").encode()
