"""Whole runs of PFL and SFL without noise: the best constant of the term of the start, and the functions that need it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from fedtheory.bounds import worst_cases
from fedtheory.bounds.sfl import worst_functions
from fedtheory.bounds.sfl.worst_case import complete, weights_of
from fedtheory.figures.gallery import BLUE, GREEN, RED, FigureData, Picture, canvas
from fedtheory.figures.styles import CORRECTED, LEAST, PRINTED, SHARPER
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, scenes, symmetry
from fedtheory.theory.proofs.scenes import START
from fedtheory.theory.proofs.tight import needed_on_line
from fedtheory.theory.statement import Bound

_CASES = {"general_convex": "general convex", "strongly_convex": "strongly convex, mu = L/2", "nonconvex": "non-convex"}
_ROUNDS = {"general_convex": range(1, 7), "strongly_convex": range(12, 18), "nonconvex": range(1, 7)}
_L, _ETA, _MU = Fraction(1), Fraction(1, 6), Fraction(1, 2)  # L, eta_tilde, and mu in the strongly convex case
_STYLES = {"printed": PRINTED, "sharp": SHARPER, "faster": CORRECTED, "needed": LEAST}
_MARKS: dict[int, dict[str, Any]] = {
    1: {"marker": "x", "color": RED, "ms": 7},
    2: {"marker": "+", "color": GREEN, "ms": 8},
}
# Programmes of all clients: their number, and rounds.  For PFL with one step, gradient descent on F, one is enough
_WHOLE = {
    ("thm1", "general_convex"): (2, (1, 2, 3)),
    ("thm1", "nonconvex"): (2, (1, 2, 3)),
    ("thm2", "strongly_convex"): (1, (12, 14, 16)),
}


def _numbers(case: str, **counts: int) -> dict[str, Fraction]:
    curved = {"mu": _MU} if case == "strongly_convex" else {}
    return {"L": _L, "sigma": Fraction(0), "eta_tilde": _ETA} | curved | {n: Fraction(x) for n, x in counts.items()}


def _searched(id_: str, numbers: dict[str, Fraction]) -> tuple[float, scenes.Search]:
    """The stated constant, and the programme for the best factor on it."""
    statement = catalogue.find(id_)
    (case,) = scenes.cases_at(statement, worst_cases.rounds("sfl"), numbers)
    return _stated(id_, case.at), scenes.searches(statement, case)[START]


def _stated(id_: str, at: scenes.Numbers) -> float:
    """The constant of the start's term, where D or F(x) - F* is 1."""
    statement = catalogue.find(id_)
    (own,) = (t.value for t in statement.claim_of(Bound).terms if t.name == START)
    value = own.subs(dict(at))
    return float(value.subs(dict.fromkeys(value.free_symbols, 1)))


def _needed(case: str, n: int, R: int) -> float:
    """The constant that the known function needs: n steps in a round, the same function for all clients."""
    stated, search = _searched(f"sfl.thm2.{case}", _numbers(case, M=1, K=n, R=R))
    factor = needed_on_line(search.below)
    assert factor is not None
    return stated * float(factor)


def _bounds(theorem: str, case: str, R: int) -> dict[str, float]:
    """The constants of the printed and the sharper forms, by their suffixes."""
    printed = f"sfl.{theorem}.{case}"
    found = {}
    for id_ in (printed, *catalogue.sharpened_by(printed)):
        symbols = {name: s.sympy for name, s in catalogue.symbols(catalogue.find(id_)).items()}
        at = {symbols[name]: x for name, x in _numbers(case, R=R).items() if name in symbols}
        found[id_.removeprefix(printed).removeprefix(".")] = _stated(id_, at)
    return found


def _proved(theorem: str, case: str) -> dict[tuple[int, int], float]:
    """Constants on record that are enough, by steps of a round and rounds."""
    id_, found = f"sfl.{theorem}.{case}", dict[tuple[int, int], float]()
    for entry, told in every_record.kept("sfl").items():
        if entry.split()[0] == id_:
            numbers, _ = every_record.numbers_of(entry)
            start = {term: own for term, own in (told or {}).items() if term == START}
            for one in every_record.read(entry, start, worst_cases.rounds("sfl")):
                stated = float(one.stated.subs(dict.fromkeys(one.stated.free_symbols, 1)))
                found[int(numbers["K"]), int(numbers["R"])] = stated * float(symmetry.value(one.proved, 2))
    M, rounds = _WHOLE.get((theorem, case), (0, ()))
    for R in rounds:
        stated, search = _searched(id_, _numbers(case, M=M, K=1, R=R))
        found[M if theorem == "thm1" else 1, R] = stated * float(scenes.best(search, "sfl").most)
    return found


def draw_rates(full: bool) -> FigureData:
    """A panel for each algorithm and case: the constant against the rounds."""
    figure, axes = canvas(2, len(_CASES), width=3.6, height=2.7)
    rows: list[dict[str, Any]] = []
    for line, (theorem, algorithm, steps) in zip(axes, (("thm2", "PFL", 1), ("thm1", "SFL", 2)), strict=True):
        for axis, (case, says) in zip(line, _CASES.items(), strict=True):
            place, start = {"algorithm": algorithm, "case": case}, len(rows)
            for R in _ROUNDS[case]:
                told = {form or "printed": x for form, x in _bounds(theorem, case, R).items()}
                needed = {"needed": _needed(case, steps, R)}
                rows += [place | {"steps": steps, "R": R, "what": w, "constant": x} for w, x in (told | needed).items()]
            rows += [
                place | {"steps": n, "R": R, "what": "proved", "constant": x}
                for (n, R), x in sorted(_proved(theorem, case).items())
            ]
            table = pd.DataFrame(rows[start:])
            for what, style in _STYLES.items():
                own = table[table.what == what]
                axis.plot(own.R, own.constant, label=what, **style)
            for n, mark in _MARKS.items():
                own = table[(table.what == "proved") & (table.steps == n)]
                axis.plot(own.R, own.constant, ls="", label=f"proved, steps in a round: {n}", **mark)
            axis.set(yscale="log", title=f"Theorem {theorem[-1]}, {algorithm}: {says}", xticks=[*_ROUNDS[case]])
            axis.set_ylabel("constant before A" if case == "nonconvex" else "constant before D^2")
    for axis in axes[-1]:
        axis.set_xlabel("rounds R")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(
        "Li and Lyu 2023 (sfl): the term of the start after R rounds without noise, L = 1, eta_tilde = 1/6", fontsize=10
    )
    return FigureData(figure, pd.DataFrame(rows))


def draw_functions(full: bool) -> FigureData:
    """The functions that need the drawn constants, and the points of a run on them."""
    figure, axes = canvas(1, len(_CASES), width=3.6, height=2.9)
    rows: list[dict[str, Any]] = []
    for axis, (case, says) in zip(axes[0], _CASES.items(), strict=True):
        R = 12 if case == "strongly_convex" else 3
        for n, colour, dashes in ((1, RED, "-"), (2, BLUE, (0, (4, 4)))):
            line, run = _function(case, n, R)
            for what, points in (("function", line), ("after a round", run)):
                rows += [{"case": case, "steps": n, "what": what, "x": x, "f": y} for x, y in points]
            axis.plot(
                *zip(*line, strict=True),
                color=colour,
                ls=dashes,
                lw=1.6,
                label=f"f, steps in a round: {n}",
            )
            axis.plot(*zip(*run, strict=True), "o", color=colour, ms=4 if n == 1 else 2.5, label="after a round")
        axis.set(title=f"{says}, R = {R}", xlabel="x")
    axes[0, 0].set_ylabel("f(x) - f*")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle("Li and Lyu 2023 (sfl), Theorems 1 and 2: the functions that need these constants", fontsize=10)
    return FigureData(figure, pd.DataFrame(rows))


def _function(case: str, n: int, R: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """A function on a line, drawn, and the points after each round of n steps."""
    eta = _ETA / n
    if case == "nonconvex":
        stairs = worst_functions.stairs(_L, eta, n, R)
        assert stairs is not None
        places = [(float(x), float(value), float(slope)) for x, value, slope in stairs]
        line = [(x, (x - places[0][0] + 1) ** 2 / 2) for x in np.linspace(places[0][0] - 1, places[0][0], 30)]
        for (below, value, h), (above, _, g) in pairwise(places):
            falls = (above - below + h - g) / 2  # upwards, until the slope rises again
            for u in np.linspace(0, above - below, 30):
                rise = max(u - falls, 0)
                line.append((below + u, value + h * u - u**2 / 2 + rise**2))
        return line, [(x, value) for x, value, _ in places[::n]]
    mu = _MU if case == "strongly_convex" else Fraction(0)
    theorem = catalogue.find(f"sfl.thm2.{case}")
    weights = weights_of(theorem, complete(theorem, _numbers(case, M=1, K=n, R=R)))
    f = worst_functions.worst_bowl(_L, mu, eta, n, weights)
    x, run = Fraction(1), list[Fraction]()
    for _ in range(R + 1):
        run.append(x)
        for _ in range(n):
            x -= eta * f(x)[1]
    drawn = [Fraction(i, 50) for i in range(-15, 56)]
    return [(float(x), float(f(x)[0])) for x in drawn], [(float(x), float(f(x)[0])) for x in run]


PICTURES = [
    Picture(
        "sfl_tight_rates",
        "The constant of the term of the start in Theorems 1 and 2: printed, in the sharper forms, and the best one. What "
        "is dotted is needed: a function, the same for all clients, shows it. Marks are proved to be enough, for PFL for "
        "every number of clients, for SFL for two. They agree within 0.1 % with what is dotted. The strongly convex "
        "theorems speak from R = 6 L/mu = 12 on. SFL has no mark there: 2^12 orders of two clients are too many.",
        draw_rates,
    ),
    Picture(
        "sfl_worst_functions_of_runs",
        "The functions of the dotted lines in sfl_tight_rates, with the points of a run after each round. The convex ones "
        "are a parabola near the minimiser, and outside, where the run is, as flat as the class allows. The non-convex one "
        "has the slope 1 after each round, and falls as little as possible between.",
        draw_functions,
    ),
]
