"""Random values of a bound's symbols: anywhere on their sliders, or inside the conditions."""

from __future__ import annotations

import numpy as np

from fedtheory.bounds.browser import sliders, tied, with_tied
from fedtheory.bounds.evaluation import evaluate, in_domain
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Statement

BOUNDS = [s.id for s in catalogue.statements() if isinstance(s.claim, Bound)]
Point = dict[str, float]


def possible(statement: Statement, values: Point) -> bool:
    """Whether the tied symbols are within their domains."""
    whole, symbols = with_tied(statement, values), catalogue.symbols(statement)
    return all(in_domain(symbols[name], np.array(whole[name])) for name in tied(statement))


def random_points(statement: Statement, number: int, seed: int) -> list[Point]:
    """Values of the symbols that have sliders: anywhere on them, so mostly outside the conditions."""
    rng, moved = np.random.default_rng(seed), sliders(statement)
    points: list[Point] = []
    for _ in range(1000):
        values = {}
        for s in moved:
            x = float(s.low * (s.high / s.low) ** rng.uniform())
            values[s.symbol.name] = max(1.0, float(round(x))) if s.symbol.sympy.is_integer else x
        if possible(statement, values):
            points.append(values)
        if len(points) == number:
            return points
    raise ValueError(f"{statement.id}: 1000 random points, {len(points)} within the domains of the tied symbols")


def points_inside(id_: str, number: int, seed: int = 0) -> list[Point]:
    """Values of all symbols inside the conditions: random ones, as far from the sliders' starts as that allows.

    Every second point has some amounts that are 0.
    """
    statement = catalogue.find(id_)
    start, symbols = {s.symbol.name: s.start for s in sliders(statement)}, catalogue.symbols(statement)
    amounts = [name for name in start if symbols[name].sympy.is_nonnegative and not symbols[name].sympy.is_positive]
    rng, found = np.random.default_rng(seed), []
    for i, end in enumerate(random_points(statement, number, seed)):
        nothing = {name for name in amounts if i % 2 and rng.random() < 0.3}
        for share in (0.5, 0.3, 0.2, 0.1, 0.03, 0.0):
            values = {}
            for name, x in start.items():
                value = x * (end[name] / x) ** share
                whole = symbols[name].sympy.is_integer
                values[name] = max(1.0, float(round(value))) if whole else 0.0 if name in nothing and share else value
            if possible(statement, values) and evaluate(id_, strict=False, **with_tied(statement, values)).admissible:
                found.append(with_tied(statement, values))
                break
    assert len(found) == number, id_
    return found
