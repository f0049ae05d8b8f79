"""Bounds beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fedtheory.arguments import Range
from fedtheory.commands.options import AsJson, parameters_given, parameters_of, print_unless_explicit
from fedtheory.simulations.checked import shortened
from fedtheory.terminal import console, print_json, print_rows, progress


def compare(
    words: Annotated[
        list[str],
        typer.Argument(help="ids of bounds, and parameters; or a setting", metavar="[ID ID...] [NAME=VALUE]..."),
    ],
    tuned: Annotated[bool, typer.Option("--tuned", help="each bound at its own best admissible step size")] = False,
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            help="compare over this symbol, with its range as R=10..10000; R alone goes from 1 to a million",
            metavar="NAME[=LOW..HIGH]",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="draw the bounds over the symbol into this PNG, SVG or PDF file")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two bounds: the ratio of each term, when the first is smaller, dominant terms, crossings.

    With --tuned or --over, compare two or more: their values, and where each of them is the smallest.

    Without ids, compare all methods at a setting (M, S, K, kappa, zeta, sigma, R; others are M = 4, all of them, K = 5,
    kappa = 10, zeta = 1, sigma = 0.5, R = 100): each theorem at its best step size beside runs, or why it does not apply.
    Theorems of papers of --path count."""
    ids = [word for word in words if "=" not in word]
    if not ids and not (tuned or over):
        return compare_at(words, plot, as_json)
    if len(ids) < 2:
        raise ValueError(f"{len(ids)} bounds: expected the ids of two or more, before the parameters")
    if over is not None and "=" in over:
        words, over = [*words, over], over.partition("=")[0]
    values, given = parameters_given(ids, [word for word in words if "=" in word])
    if not (tuned or over or plot or given):
        if len(ids) > 2:
            raise ValueError(f"{len(ids)} bounds: expected two, or --tuned or --over")
        return compare_two(ids[0], ids[1], values, as_json)
    if given is not None and over not in (None, given.name):
        raise ValueError(f"--over {over} with a range of {given.name}: expected a range of {over}")
    if given is None and over not in (None, "R"):
        raise ValueError(f"--over {over}: expected its range too, such as {over}=0.1..10")
    name = over or (given.name if given else "")
    if plot is not None:
        from fedtheory.figures.gallery import saveable

        if not name:
            raise ValueError("--plot without --over: expected the symbol over which to draw, such as --over R")
        saveable(plot)
    compare_along(ids, name, given or (Range("R", 1, 1e6) if name else None), values, tuned, plot, as_json)


def compare_at(words: list[str], plot: Path | None, as_json: bool) -> None:
    """Print every theorem about whole runs on one problem of a setting, beside runs of its method."""
    from fedtheory.arguments import numbers
    from fedtheory.confrontation import confront
    from fedtheory.figures.gallery import saveable
    from fedtheory.setting import quadratic_of

    if plot is not None:
        saveable(plot)
    problem, methods, rounds = quadratic_of(numbers(words))
    with progress() as tell:
        found = confront(problem, methods, rounds=rounds, progress=tell)
    if as_json:
        print_json(found.as_json())
    else:
        found.print_to(console())
    if plot is not None:
        found.plot(plot)


def compare_along(
    ids: list[str],
    name: str,
    given: Range | None,
    values: dict[str, float],
    tuned: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print where which bound is the smallest; without a range, their values at the given parameters."""
    from fedtheory.bounds.comparison import along

    if given is None:  # one point, of any parameter that all know
        shared = [n for n in values if all(n in {s.name for s in parameters_of(id_)} for id_ in ids)]
        if not shared:
            raise ValueError(f"no parameters: expected those of {', '.join(ids)} as NAME=VALUE, except the step size")
        name, rest = shared[0], {n: v for n, v in values.items() if n != shared[0]}
        found = along(ids, name, [values[name]], tuned, **rest)
    else:
        if name in values:
            raise ValueError(f"{name} = {values[name]:g}: expected a range, {name}=LOW..HIGH, because of --over")
        found = along(ids, name, given.points(61), tuned, **values)
    if plot is not None:
        from fedtheory.figures.compared import draw
        from fedtheory.figures.gallery import save_as

        title = ", ".join(f"{n} = {v:.4g}" for n, v in values.items())
        save_as(lambda: draw(found, shortened(title, 100)), plot)
    if as_json:
        print_json(
            {
                "over": found.name,
                "points": found.points.tolist(),
                "values": {id_: v.tolist() for id_, v in found.values.items()},
                "step_sizes": {id_: v.tolist() for id_, v in found.steps.items()},
                "smallest": [{"from": low, "to": high, "bound": id_} for low, high, id_ in found.smallest],
            }
        )
        return
    few = np.unique(np.linspace(0, len(found.points) - 1, 7).astype(int))
    columns = [title for id_ in ids for title in ([id_, "step size"] if id_ in found.steps else [id_])]
    rows = []
    for i in few:
        cells = []
        for id_ in ids:
            value = found.values[id_][i]
            cells.append("not admissible" if np.isnan(value) else f"{value:.4g}")
            if id_ in found.steps:
                cells.append("" if np.isnan(value) else f"{found.steps[id_][i]:.4g}")
        rows.append([f"{found.points[i]:.4g}", *cells])
    print_rows((found.name, *columns), rows)
    if len(found.points) == 1:
        console().print(f"the smallest: {found.smallest[0][2]}")
    elif len(found.smallest) == 1 and found.smallest[0][:2] == (found.points[0], found.points[-1]):
        low, high, id_ = found.smallest[0]
        console().print(
            f"the smallest at all {len(found.points)} points, {low:.4g} <= {found.name} <= {high:.4g}: {id_}"
        )
    else:
        for low, high, id_ in found.smallest:
            console().print(f"the smallest from {found.name} = {low:.4g} to {high:.4g}: {id_}")


def compare_two(first: str, second: str, values: dict[str, float], as_json: bool) -> None:
    """Print the ratios of two bounds, term by term."""
    from fedtheory.bounds import compare as beside
    from fedtheory.theory.printing import plain

    c = beside(first, second, **values)
    if as_json:
        print_json(
            {
                "first": first,
                "second": second,
                "ratios": {n: plain(r) for n, r in c.ratios.items()},
                "smaller_when": {n: plain(r) for n, r in c.smaller_when.items()},
                "only": c.only,
                "dominant": c.dominant,
                "dominant_ratio": None if c.dominant_ratio is None else plain(c.dominant_ratio),
                "values": c.values,
                "violations": c.violations,
                "crossings": c.crossings,
            }
        )
        return
    rows = []
    for name, ratio in c.ratios.items():
        condition = {"False": "never", "True": "always"}.get(plain(c.smaller_when[name]), plain(c.smaller_when[name]))
        rows.append((name, plain(ratio), "equal" if ratio == 1 else condition))
    rows += [(name, f"only in {owner}", "") for name, owner in c.only.items()]
    print_rows(("term", "first / second", "first smaller when"), rows)
    console().print("as R grows, at fixed other parameters:")
    for id_, names in c.dominant.items():
        console().print(f"  {id_}: {', '.join(names)}")
    if c.dominant_ratio is not None:
        console().print(f"  ratio of these: {plain(c.dominant_ratio)}")
    if c.values is not None:
        smaller = "the first is" if c.values[0] < c.values[1] else "the second is"
        smaller = "they are equal" if c.values[0] == c.values[1] else f"{smaller} smaller"
        console().print(f"here: first {c.values[0]:.6g}, second {c.values[1]:.6g}; {smaller}")
        for violation in c.violations:
            console().print(f"  outside its conditions: {violation}")
        for name, points in c.crossings.items():
            console().print(f"  over {name} the two bounds cross at {', '.join(f'{p:.4g}' for p in points)}")
        if not c.crossings:
            console().print("  they do not cross if one parameter changes by a factor of up to 10^4, up or down")
        print_unless_explicit(first, second)
