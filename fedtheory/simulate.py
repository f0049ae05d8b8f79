"""`fedtheory simulate`: a problem and an algorithm from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, cast, get_type_hints

import numpy as np
import xarray as xr
from rich.console import Console
from rich.table import Table

from fedtheory.arguments import number
from fedtheory.tasks import Progress, Task, Workshop
from figures.files import write
from simulations import data, run
from simulations.algorithms import registry
from simulations.algorithms.base import Algorithm
from simulations.compressors import from_text
from simulations.partitions import PARTITIONS, partition_settings
from simulations.problems import Problem
from simulations.problems.logistic import Logistic, lightly_regularised
from simulations.problems.quadratic import generate
from simulations.problems.sigmoid import SigmoidERM
from theory.names import unknown as unknown_name

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
    "label": "",
    "regularisation": "0.01",
    "batch": "",
    "weights": "",
    "seed": "0",
}
LOSSES: dict[str, type[Logistic]] = {"logistic": Logistic, "sigmoid": SigmoidERM}


def _real(given: dict[str, str], name: str) -> float:
    return number(name, given[name])


def _whole(given: dict[str, str], name: str) -> int:
    value = _real(given, name)
    if value != int(value):
        raise ValueError(f"{name}={given[name]}: expected a whole number")
    return int(value)


_TOGETHER = {"step sizes": 4, "seeds": 16}  # run as one array; the parts, and so the numbers, are the same everywhere


def simulate(
    problem: str,
    algorithm: str,
    given: Mapping[str, str],
    tell: Progress | None = None,
    workshop: Workshop | None = None,
) -> xr.Dataset:
    """Run an algorithm; `given` has the run's and the problem's parameters as text.

    Many seeds and step sizes are run in parts, which the workshop does beside each other.

    Raises ValueError, UnknownName.
    """
    settings = RUN | dict(given)
    steps, n = settings["eta"].split(","), _whole(settings, "seeds")
    seeds = [range(i, min(i + _TOGETHER["seeds"], n)) for i in range(0, max(n, 1), _TOGETHER["seeds"])]
    etas = [",".join(steps[i : i + _TOGETHER["step sizes"]]) for i in range(0, len(steps), _TOGETHER["step sizes"])]
    parts = [(problem, algorithm, {**given, "eta": eta}, own) for eta in etas for own in seeds]
    where = workshop or Workshop()
    if len(parts) == 1 and where.scheduler is None:
        return _part(*parts[0], tell)
    found = where.do([Task("simulating", "", "run", _part, part, kept=False) for part in parts], tell)
    rows = [found[i : i + len(seeds)] for i in range(0, len(found), len(seeds))]
    joined = [xr.concat(row, "seed", combine_attrs="override") for row in rows]
    whole = xr.concat(joined, "step_size", combine_attrs="override")
    chosen = json.loads(whole.attrs["algorithm"]) | {"eta": whole.step_size.values.tolist()}
    weights = [w for row in rows for w in json.loads(row[0].attrs["average"])]
    told = {"algorithm": json.dumps(chosen), "average": json.dumps(weights), "seeds": str(whole.seed.values.tolist())}
    return whole.assign_attrs(told)


def _part(
    problem: str, algorithm: str, given: Mapping[str, str], seeds: range, tell: Progress | None = None
) -> xr.Dataset:
    """The run of these seeds at the step sizes given, as one array."""
    if algorithm not in registry():
        raise unknown_name("algorithm", algorithm, list(registry()))
    build = registry()[algorithm]
    its_own = parameters(build)
    quadratic = problem == "quadratic"
    is_group = problem.startswith("sfl.quad.")
    own = QUADRATIC if quadratic else {} if is_group else DATA
    allowed = {**own, **RUN, **dict.fromkeys(its_own, "")}
    unknown = [name for name in given if name not in allowed]
    if unknown:
        raise ValueError(f"unknown parameter {', '.join(unknown)}; expected {', '.join(allowed)}")
    settings = {**allowed, **given}
    of_problem = settings | {name: own[name] for name in own if name in its_own}  # a name in both is the algorithm's
    if not settings["eta"]:
        raise ValueError("eta is missing: expected eta=NUMBER, or several separated by commas")
    if quadratic:
        counts = {name: _whole(of_problem, name) for name in ("d", "M", "seed")}
        reals = {name: _real(of_problem, name) for name in QUADRATIC if name not in counts}
        built: Problem = generate(**counts, **reals)  # type: ignore[arg-type]
    elif is_group:
        from figures.sfl import group
        from theory import catalogue

        built = group(catalogue.find(problem).id)
    else:
        built = _on_data(problem, of_problem)
    eta = [_real({"eta": text}, "eta") for text in settings["eta"].split(",")]
    chosen = build(
        eta=eta if len(eta) > 1 else eta[0],
        **{
            name: parse(name, settings[name] or "1")
            for name, parse in its_own.items()
            if _needed(build, name, settings)
        },
    )
    rounds = _whole(settings, "rounds")
    if rounds < 1:
        raise ValueError(f"rounds={settings['rounds']}: expected a whole number >= 1")
    shown = np.unique(np.concatenate([[0], np.round(np.geomspace(1, rounds, 200))]).astype(int))
    return run(
        built,
        chosen,
        rounds=rounds,
        seeds=seeds,
        x0=_real(settings, "x0"),
        at=shown,
        record=tuple(_SHOWN if built.constants.entries["x_star"].value is not None else _WITHOUT_MINIMUM),
        progress=None if tell is None else lambda r: tell("rounds", r, rounds),
    )


def parameters(build: Callable[..., Algorithm]) -> dict[str, Callable[[str, str], Any]]:
    """The settings of an algorithm other than eta, each with the function (name, text) that reads it."""
    algorithm, fixed = (build.func, build.keywords) if isinstance(build, partial) else (build, {})
    kinds = get_type_hints(algorithm)
    return {
        field.name: _reader(str(kinds[field.name]))
        for field in fields(cast(Any, algorithm))
        if field.name != "eta" and field.name not in fixed
    }


def _reader(kind: str) -> Callable[[str, str], Any]:
    if "Compressor" in kind:
        return lambda name, text: from_text(text)
    if "Literal" in kind:  # a word, or either a word or a number
        return lambda name, text: number(name, text) if "float" in kind and not text.isalpha() else text
    if "bool" in kind:
        return _truth
    if "tuple" in kind:
        return lambda name, text: tuple(_whole({name: part}, name) for part in text.split(","))
    if "int" in kind:
        return lambda name, text: _whole({name: text}, name)
    return number


def _truth(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{name}={text}: expected true or false")
    return text == "true"


def _needed(build: Callable[..., Algorithm], name: str, settings: dict[str, str]) -> bool:
    """Whether a setting was given, or has no default (it is then 1)."""
    algorithm = build.func if isinstance(build, partial) else build
    (field,) = [field for field in fields(cast(Any, algorithm)) if field.name == name]
    return bool(settings[name]) or (field.default is MISSING and field.default_factory is MISSING)


def _on_data(name: str, settings: dict[str, str]) -> Logistic:
    dataset = data.scaled(data.load(name))
    if settings["label"]:
        dataset = data.one_against_rest(dataset, _whole(settings, "label"))
    if settings["loss"] not in LOSSES:
        raise unknown_name("loss", settings["loss"], list(LOSSES))
    if settings["loss"] == "sigmoid" and dataset.classes > 2:
        raise ValueError(
            f"loss=sigmoid: {name} has {dataset.classes} classes; expected label=CLASS, for that class against the rest"
        )
    method = settings["partition"]
    if method not in PARTITIONS:
        raise unknown_name("partition", method, list(PARTITIONS))
    # C: classes, or shards, per client
    own = {n: _real(settings, n) if n == "alpha" else _whole(settings, "C") for n in partition_settings(method)}
    partition = PARTITIONS[method](dataset.labels, M=_whole(settings, "M"), seed=_whole(settings, "seed"), **own)
    batch = _whole(settings, "batch") if settings["batch"] else None
    loss, regularisation, weights = LOSSES[settings["loss"]], settings["regularisation"], settings["weights"] or None
    if regularisation.endswith("L"):
        share = number("regularisation", regularisation[:-1])
        return lightly_regularised(loss, dataset, partition, batch, share, weights)
    return loss(dataset, partition, number("regularisation", regularisation), batch, weights)


def _shown(dataset: xr.Dataset) -> dict[str, str]:
    return _SHOWN if "gap" in dataset else _WITHOUT_MINIMUM


def summary(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """One row for each step size at a few rounds: mean and standard deviation over the seeds that have not diverged."""
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
                kept = values[np.isfinite(values)]
                row[name] = float(kept.mean()) if len(kept) else None
                with np.errstate(over="ignore"):  # squares of values just before divergence
                    spread = float(kept.std(ddof=1)) if len(kept) > 1 else np.inf
                    spread = 0.0 if len(kept) and spread <= _ROUNDING * abs(float(kept.mean())) else spread
                row[f"{name}_sd"] = spread if np.isfinite(spread) else None
            rows.append(row)
    return rows


def print_table(dataset: xr.Dataset, out: Console) -> None:
    """The summary as a table."""
    shown = _shown(dataset)
    table = Table("eta", "round", *shown.values(), "diverged", box=None, pad_edge=False)
    seeds = dataset.sizes["seed"]
    for row in summary(dataset):
        cells = []
        for name in shown:
            mean, sd = row[name], row[f"{name}_sd"]
            cells.append("diverged" if mean is None else f"{mean:.4g}" + ("" if sd is None else f" ± {sd:.2g}"))
        table.add_row(f"{row['eta']:g}", str(row["round"]), *cells, f"{row['diverged']} of {seeds}")
    out.print(table)
    out.print(f"mean ± standard deviation over {seeds} seeds")


def as_json(dataset: xr.Dataset) -> dict[str, Any]:
    """Settings and summary."""
    return {"settings": dict(dataset.attrs), "summary": summary(dataset)}


def write_csv(dataset: xr.Dataset, path: Path) -> None:
    """Every recorded number in long form: one row per step size, seed and round."""
    frame = dataset.drop_vars(["status", "diverged_at"]).to_dataframe().reset_index()
    status = dataset[["status", "diverged_at"]].to_dataframe().reset_index()
    whole = frame.merge(status, on=["step_size", "seed"])
    write(path, whole.to_csv(index=False, lineterminator="\n").encode())
