"""Theorems beside runs on a problem of one's own: `fedtheory confront`, `fedtheory.confront`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, overload

import pandas as pd
import xarray as xr
from rich.console import Console
from rich.table import Table

from fedtheory import simulate
from fedtheory.arguments import number as text_number
from fedtheory.bounds import papers
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.arena import Arena, step_symbol
from fedtheory.bounds.trials.theorems import Theorem, theorems
from fedtheory.simulations import run
from fedtheory.simulations.algorithms.base import Algorithm, check_algorithm, refuse_misfits
from fedtheory.simulations.checked import brief, number, shortened, whole
from fedtheory.simulations.problems import Problem, check_problem, starting_point
from fedtheory.tasks import Progress
from fedtheory.theory.statement import Bound, Statement

_CONSTANTS = ("L", "mu", "zeta_star", "zeta", "sigma")


@dataclass(frozen=True, eq=False)
class Pair:
    """A theorem about a method, and runs of it.

    data      `mean`, `low`, `high` and `bound` over R, at the theorem's step size; None: not measured
    violated  where the runs are certainly beyond the bound, in numbers; empty if they are nowhere
    """

    method: str
    theorem: Theorem
    data: xr.Dataset | None = None
    violated: str = ""

    @property
    def quantity(self) -> str:
        """What is bounded: a gap or a squared gradient."""
        return "squared gradient" if "grad" in self.theorem.concept else "gap"


@dataclass(frozen=True, eq=False)
class Confrontation:
    """The theorems about some methods beside their runs on a problem; `print` shows a table.

    best     the runs of each method at its own best step size, where they were asked for
    without  the methods about which no theorem is known
    """

    problem: Problem
    rounds: int
    seeds: Sequence[int]
    pairs: tuple[Pair, ...]
    best: tuple[simulate.Found, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Which theorems are violated, why others do not apply, in numbers, and for which methods none is known."""
        why = [f"VIOLATED: {p.method}, {p.theorem.statement.id}: {p.violated}" for p in self.pairs if p.violated]
        why += [
            f"does not apply: {p.method}, {p.theorem.statement.id}: {p.theorem.why}"
            for p in self.pairs
            if p.theorem.why
        ]
        return [*why, *(f"{name}: no bound on its runs is known" for name in self.without)]

    def to_dataframe(self) -> pd.DataFrame:
        """Every number in long form: a row for each method, theorem and R, and for each round of the best runs."""
        return pd.DataFrame([*self._measured(), *self._best()])

    def _measured(self) -> Iterator[dict[str, Any]]:
        for pair in self.pairs:
            if pair.data is None:
                continue
            name, told = step_symbol(pair.theorem.statement), {"method": pair.method}
            told |= {"theorem": pair.theorem.statement.id, "quantity": pair.theorem.concept, "step_size": name}
            numbers = {n: pair.data[n].values.tolist() for n in ("mean", "low", "high", "bound")}
            for i, R in enumerate(pair.data.R.values):
                yield {**told, "value": pair.theorem.step, "R": int(R), **{n: v[i] for n, v in numbers.items()}}

    def _best(self) -> Iterator[dict[str, Any]]:
        for one in self.best:
            name, series = simulate.first_shown(one.runs)
            told = {"method": one.algorithm, "theorem": "", "quantity": f"{name} of the last iterate, best eta"}
            own = {n: getattr(series, n)("seed").values for n in ("mean", "min", "max")}
            for i, R in enumerate(series["round"].values):
                row = {"mean": own["mean"][i], "low": own["min"][i], "high": own["max"][i]}
                yield {**told, "step_size": "eta", "value": float(one.runs.step_size[0]), "R": int(R), **row}

    def plot(self, path: str | Path) -> None:
        """Draw bounds and runs into this PNG, SVG or PDF file, and write their numbers beside it."""
        from fedtheory.figures.confrontation import draw
        from fedtheory.figures.gallery import save_as, saveable

        if all(pair.data is None for pair in self.pairs):
            raise ValueError(f"nothing to draw: no theorem applies, expected one; {'; '.join(self.notes)}")
        saveable(Path(path))
        shown = [(p.method, p.quantity, p.theorem, p.data) for p in self.pairs if p.data is not None]
        best = [(one.algorithm, *simulate.first_shown(one.runs), float(one.runs.step_size[0])) for one in self.best]
        title = f"{shortened(self.problem.name, 110)}\n{_numbers(self.problem)}"
        save_as(lambda: draw(shown, best, title, self.notes, self.to_dataframe()), Path(path))

    def print_to(self, out: Console) -> None:
        """Print the problem, the theorems with their bounds and measurements, and why others do not apply."""
        out.print(f"{shortened(self.problem.name, 200)}; {_numbers(self.problem)}", soft_wrap=True)
        titles = ("method", "theorem", "bounds", "step size", "bound", "measured", "bound / measured")
        table = Table(*titles, box=None, pad_edge=False)
        for pair in self.pairs:
            own = pair.theorem
            if own.value is None:
                continue
            cells = [pair.method, own.statement.id, own.concept, f"{step_symbol(own.statement)} = {own.step:.4g}"]
            cells.append(f"{own.value:.4g}")
            if pair.data is not None:
                mean = float(pair.data["mean"][-1])
                cells += [f"{mean:.4g}", f"{own.value / mean:.4g}" if mean > 0 else ""]
            table.add_row(*cells)
        if table.row_count:
            out.print(table)
        out.print(f"after {self.rounds} rounds, {len(self.seeds)} seeds; measured: the smallest bound on each quantity")
        for one in self.best:
            name, series = simulate.first_shown(one.runs)
            where = f"{one.edge or 'inside'} of {len(one.tried)}"
            end = float(series.isel(round=-1).mean())
            end = 0.0 if abs(end) <= one.level else end  # rounding
            out.print(
                f"{one.algorithm} at its best eta, {float(one.runs.step_size[0]):.4g} ({where}): {name} {end:.4g}"
            )
        for note in self.notes:
            out.print(note, soft_wrap=True)

    def as_json(self) -> dict[str, Any]:
        """Problem, theorems with bounds and measurements, and the best step sizes."""
        rows = []
        for pair in self.pairs:
            own, data = pair.theorem, pair.data
            row: dict[str, Any] = {"algorithm": pair.method, "theorem": own.statement.id, "bounds": own.concept}
            if own.value is None:
                rows.append(row | {"does_not_apply": own.why})
                continue
            row |= {"step_size": {step_symbol(own.statement): own.step}, "bound": own.value}
            row |= {"violated": pair.violated} if pair.violated else {}
            rows.append(row | ({} if data is None else {n: float(data[n][-1]) for n in ("mean", "low", "high")}))
        best = {one.algorithm: {"eta": float(one.runs.step_size[0]), "edge": one.edge or None} for one in self.best}
        known = {n: e.value for n, e in self.problem.constants.entries.items() if n in _CONSTANTS}
        return {"problem": self.problem.name, "constants": known, "rounds": self.rounds, "theorems": rows, "best": best}

    def __str__(self) -> str:
        text = StringIO()
        self.print_to(Console(file=text, width=160, highlight=False, markup=False))
        return text.getvalue().rstrip("\n")

    __repr__ = __str__


def _numbers(problem: Problem) -> str:
    known = {n: e.value for n, e in problem.constants.entries.items() if n in _CONSTANTS and e.value is not None}
    kappa = {"kappa": known["L"] / known["mu"]} if known.get("mu", 0) > 0 and "L" in known else {}
    return ", ".join(f"{name} = {value:.3g}" for name, value in (known | kappa).items())


@overload
def confront(problem: Arena, algorithms: Statement, full: bool = False) -> xr.Dataset: ...
@overload
def confront(
    problem: Problem,
    algorithms: Sequence[Algorithm] | Mapping[str, Algorithm],
    full: bool = False,
    *,
    rounds: int = 100,
    seeds: int | Sequence[int] = 10,
    x0: Any = 1.0,
    eta: float | None = None,
    best: bool = False,
    progress: Progress | None = None,
) -> Confrontation: ...
def confront(
    problem: Any,
    algorithms: Any,
    full: bool = False,
    *,
    rounds: int = 100,
    seeds: int | Sequence[int] = 10,
    x0: Any = 1.0,
    eta: float | None = None,
    best: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Bounds beside runs: each method's own theorems on a problem, or, of an arena, one statement's bound.

    The theorems are those of the method's paper and of papers outside, printed or, where they are wrong, corrected.  On
    each quantity that they bound, such as the gap of the average, the smallest bound is measured: on quadratics by exact
    expectation where there is one, else by runs.

    problem            a problem; or an arena, then `algorithms` is a statement, and the answer has `mean`, `low`, `high`,
                       `bound`, `terms` and `admissible` over step sizes and R.
    algorithms         algorithms, whose eta does not matter; a mapping gives them names.
    full               of an arena: five times the seeds.
    rounds, seeds, x0  of the runs: how many seeds, or which; x0 is a number for all coordinates, or one for each.
    eta                the learning rate; by default, for each theorem the admissible one at which its bound is smallest.
    best               also run each method at its own best step size, of a grid in units of 1/L.
    progress           called with (what, done, all).

    Returns a `Confrontation`: `print` it, `.plot("fig.pdf")`, `.to_dataframe()`, `.notes`.

    Raises ValueError for what is no problem or algorithm, for settings out of range, and where there is no theorem about any
    of the methods. A theorem that does not apply is no error, but a note.
    """
    if isinstance(problem, Arena):
        return arenas.confront(problem, algorithms, full)
    check_problem(problem)
    starting_point(problem, x0)
    named = algorithms if isinstance(algorithms, Mapping) else {type(a).__name__: a for a in algorithms}
    if not named or len(named) < len(algorithms):
        raise ValueError(
            f"algorithms = {brief(algorithms)}: expected one or several, each once or with a name of its own"
        )
    whole("rounds", rounds)
    chosen_seeds = tuple(seeds) if isinstance(seeds, Sequence) else whole("seeds", seeds, 2, "a whole number of seeds")
    every = chosen_seeds if isinstance(chosen_seeds, tuple) else range(chosen_seeds)
    if eta is not None:
        number("eta", eta, "> 0")
    pairs: list[Pair] = []
    for name, method in named.items():
        check_algorithm(method)
        refuse_misfits(problem, method)
        method.participants(problem)
        pairs += [Pair(name, one) for one in theorems(problem, method, rounds, x0, chosen_seeds, eta)]
    without = tuple(name for name in named if all(pair.method != name for pair in pairs))
    if not pairs:
        raise ValueError(
            f"{', '.join(named)}: no bound on their runs is known; expected such as SFL, or a paper by --path"
        )
    chosen = {id(pair) for pair in _smallest(pairs)}
    tell, todo = progress or (lambda *_: None), len(chosen) + best * len(named)
    done = 0
    tell("runs", done, todo)
    for i, pair in enumerate(pairs):
        if id(pair) in chosen:
            pairs[i] = _measured(pair)
            done += 1
            tell("runs", done, todo)
    found = []
    for name, method in named.items() if best else ():
        found.append(_best(name, method, problem, rounds, every, x0))
        done += 1
        tell("runs", done, todo)
    return Confrontation(problem, rounds, every, tuple(pairs), tuple(found), without)


def confront_asked(asked: simulate.Asked, progress: Progress | None = None) -> Confrontation:
    """`confront` by the texts of the command line.  Raises ValueError, UnknownName."""
    settings = simulate.RUN | dict(asked.given)
    rounds, seeds = simulate.lengths(asked)
    eta = text_number("eta", settings["eta"]) if settings["eta"] else None
    methods = {name: simulate.method_of(asked, name, ["1"]) for name in asked.algorithms}
    own = {"rounds": rounds, "seeds": tuple(seeds), "x0": simulate.x0_of(settings), "eta": eta, "best": asked.best}
    return confront(simulate.problem_of(asked), methods, **own, progress=progress)


def arenas_on(paper: str, dataset: Sequence[str]) -> list[Arena]:
    """A paper's arenas on a data set; with settings of `simulate` behind its name, on the problem and runs of these.

    Raises ValueError for a data set that cannot be used; UnknownName.
    """
    name, *words = dataset
    found = papers.on_data(paper, name)
    if not words:
        return found
    asked = simulate.Asked(name, (), simulate.settings_of(words))
    told = shortened(f"{Path(name).name}, {', '.join(words)}", 100)
    several = {a.statement: sum(b.statement == a.statement for b in found) for a in found}
    names = [told if several[a.statement] == 1 else f"{told} ({i})" for i, a in enumerate(found, 1)]
    return [_with_settings(arena, asked, own) for arena, own in zip(found, names, strict=True)]


def check_settings(chosen: Sequence[Arena], words: Sequence[str]) -> None:
    """Raises ValueError for a setting that has no effect on these arenas."""
    takes = {n for arena in chosen for n in simulate.parameters(arena.algorithm, free=True)}
    allowed = sorted({*simulate.RUN, *simulate.DATA, *takes} - {"eta"})
    if unknown := [name for name in simulate.settings_of(words) if name not in allowed]:
        raise ValueError(f"unknown parameter {brief(unknown[0])}; expected {', '.join(allowed)}")


def _with_settings(arena: Arena, asked: simulate.Asked, name: str) -> Arena:
    """The arena on the problem of the settings, with those that its algorithm and its runs take."""
    settings, takes = simulate.RUN | dict(asked.given), simulate.parameters(arena.algorithm, free=True)
    own = {n: parse(n, asked.given[n]) for n, parse in takes.items() if n in asked.given}
    rounds, seeds = simulate.lengths(asked)
    changed: dict[str, Any] = {"algorithm": partial(arena.algorithm, **own)}
    changed |= {"rounds": rounds} if "rounds" in asked.given else {}
    changed |= {"seeds": tuple(seeds)} if "seeds" in asked.given else {}
    changed |= {"x0": simulate.x0_of(settings)} if "x0" in asked.given else {}
    data = simulate.Asked(
        asked.problem, (), {n: v for n, v in asked.given.items() if n in simulate.DATA and n not in takes}
    )
    return replace(arena, name=name, problem=partial(simulate.problem_of, data), **changed)


def _smallest(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Of each method the smallest bound on each quantity, such as the gap of the average; of equal ones the printed one."""
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        if pair.theorem.value is not None:
            groups.setdefault((pair.method, pair.theorem.concept), []).append(pair)
    for own in groups.values():
        yield min(own, key=lambda p: (float(f"{p.theorem.value:.9g}"), p.theorem.statement.form != "printed"))


def _measured(pair: Pair) -> Pair:
    """The pair with the runs at the theorem's step size; where it does not apply after all, with the reason."""
    own = pair.theorem
    assert own.arena is not None
    try:
        found = arenas.confront(own.arena, own.statement)
    except ValueError as error:
        return replace(pair, theorem=Theorem(own.statement, why=str(error)))
    beyond = arenas.crossing(own.arena, found, own.statement.claim_of(Bound).sign)
    data = found.isel({step_symbol(own.statement): 0})
    says = arenas.unless_in_words(beyond, own.statement).says if beyond else ""
    return replace(pair, data=data.isel(R=data.admissible.values), violated=says)


def _best(name: str, method: Algorithm, problem: Problem, rounds: int, seeds: Sequence[int], x0: Any) -> simulate.Found:
    settings = {f.name: getattr(method, f.name) for f in fields(method) if f.init}  # type: ignore[arg-type]
    made = type(method)(**(settings | {"eta": [float(step) for step in simulate.grid(problem)]}))
    runs = run(
        problem,
        made,
        rounds=rounds,
        seeds=seeds,
        x0=x0,
        at=simulate.shown_rounds(rounds),
        record=simulate.recorded(problem),
    )
    return simulate.best_of(name, runs, simulate.level(runs, problem))
