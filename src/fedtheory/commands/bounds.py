"""Bounds in numbers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from fedtheory.arguments import with_range
from fedtheory.commands.options import AsJson, Id, Values, parameters_given, parameters_of, print_unless_explicit
from fedtheory.terminal import console, print_json, print_rows


def bound(
    id_: Id,
    values: Values = None,
    as_json: AsJson = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="evaluate the bound outside its conditions too")] = False,
) -> None:
    """Evaluate a bound: its terms, its value, the violated conditions (an error without --lenient or --json)."""
    from fedtheory.bounds.evaluation import adds_up, claim_of, evaluate
    from fedtheory.bounds.orders import rates_at
    from fedtheory.theory import catalogue
    from fedtheory.theory.statement import Rates

    statement = catalogue.find(id_)
    if isinstance(statement.claim, Rates):
        found = rates_at(id_, **with_range(values)[0])
        if as_json:
            print_json({"id": id_, "rates": {case: {"R": R, "tau": tau} for case, (R, tau) in found.items()}})
            return
        print_rows(("case", "R", "tau"), ((case, f"{R:.6g}", f"{tau:.6g}") for case, (R, tau) in found.items()))
        console().print(
            "up to absolute constants" + (" and logarithms" if any(r.polylog for r in statement.claim.rates) else "")
        )
        return
    given, _ = parameters_given([id_], values, ranges=False)
    result = evaluate(id_, strict=not (lenient or as_json), **given)
    if as_json:
        print_json({"id": id_, "value": result.value, "terms": result.terms, "violations": result.violations})
        return
    numbers = dict(result.terms)
    if result.value is not None:
        numbers["sum" if adds_up(claim_of(catalogue.find(id_))) else "value"] = result.value
    print_rows(("term", "value"), ((name, f"{value:.6g}") for name, value in numbers.items()))
    for violation in result.violations:
        console().print(f"outside its conditions: {violation}")
    print_unless_explicit(id_)


def tune(
    id_: Id,
    values: Values = None,
    epsilon: Annotated[
        float | None, typer.Option(help="instead: find the number of rounds that bring the bound down to this value")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best admissible constant step size of a bound, beside the closed-form choice of the proof.

    With a range, such as R=10..10000, print a row for each of its points."""
    from fedtheory.bounds import ConditionViolated, rounds_to, tune as best

    given, along = parameters_given([id_], values)
    if epsilon is not None:
        if along is not None:
            raise ValueError(f"{along.name} has a range: expected a number, because --epsilon asks for rounds")
        R = rounds_to(epsilon, id_, **given)
        if as_json:
            print_json({"id": id_, "epsilon": epsilon, "R": R})
        else:
            console().print(
                f"R = {R}" if R is not None else f"no R was found at which the bound comes down to {epsilon:g}"
            )
            print_unless_explicit(id_)
        return
    points: list[dict[str, float]] = [{}]
    if along is not None:
        whole = next((s.domain.startswith("integer") for s in parameters_of(id_) if s.name == along.name), False)
        grid = along.points(13)
        points = [{along.name: float(p)} for p in np.unique(np.round(grid) if whole else grid)]
    found: list[tuple[dict[str, float], Any]] = []
    for point in points:
        try:
            found.append((point, best(id_, **given, **point)))
        except ConditionViolated:
            if along is None:
                raise
            found.append((point, None))
    if all(tuned is None for _, tuned in found):
        best(id_, **given, **points[-1])  # says which condition
    if as_json:
        told = [{**point, **_tuned_as_json(id_, tuned)} for point, tuned in found]
        print_json(told[0] if along is None else told)
        return
    name = next(tuned.name for _, tuned in found if tuned is not None)
    if along is None:
        ((_, tuned),) = found
        choices = [("best admissible", f"{tuned.step_size:.6g}", f"{tuned.best.value:.6g}", "")]
        if tuned.closed is not None:
            violated = "; ".join(tuned.closed.violations)
            choices.append(("closed form", f"{tuned.closed_form:.6g}", f"{tuned.closed.value:.6g}", violated))
        print_rows(("choice", name, "bound", "violated"), choices)
        if tuned.limit:
            console().print(f"no {name} is best: the bound falls as {name} goes to {tuned.limit}")
        console().print(f"admissible: {tuned.interval[0]:.6g} <= {name} <= {tuned.interval[1]:.6g}")
        print_unless_explicit(id_)
        return
    rows = []
    for point, tuned in found:
        cells = ["none is admissible"] if tuned is None else [f"{tuned.step_size:.6g}", f"{tuned.best.value:.6g}"]
        if tuned is not None and tuned.closed is not None:
            cells += [f"{tuned.closed_form:.6g}", f"{tuned.closed.value:.6g}"]
        rows.append([f"{point[along.name]:.6g}", *cells])
    print_rows((along.name, f"best {name}", "bound", "closed form", "its bound"), rows)


def _tuned_as_json(id_: str, tuned: Any) -> dict[str, Any]:
    if tuned is None:
        return {"id": id_, "step_size": None}
    closed = None if tuned.closed is None else {"value": tuned.closed.value, "violations": tuned.closed.violations}
    return {
        "id": id_,
        "step_size": {tuned.name: tuned.step_size},
        "interval": tuned.interval,
        "limit": tuned.limit or None,
        "value": tuned.best.value,
        "terms": tuned.best.terms,
        "closed_form": None if closed is None else {tuned.name: tuned.closed_form, **closed},
    }
