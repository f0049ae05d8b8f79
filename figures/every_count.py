"""The best constants of inequalities about a round for every number of clients, beside whole programmes for a few."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd

from fedtheory.bounds import worst_cases
from fedtheory.figures.gallery import BLUE, GREY, RED, FigureData, Picture, canvas
from fedtheory.figures.runs import Rows, rows_of
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, scenes, symmetry
from fedtheory.theory.proofs.every_record import BestForEveryCount
from fedtheory.theory.proofs.tight import tight

_WHOLE = (2, 3, 4)  # numbers of clients whose whole programmes are solved
_LINE = np.unique(np.geomspace(2, 100, 40).round().astype(int))
_MOST = 6  # inequalities


def _moving(paper: str) -> dict[str, BestForEveryCount]:
    """The inequalities on record whose best factor on the larger side depends on M, each checked."""
    rounds, found = worst_cases.rounds(paper), {}
    for entry, told in every_record.kept(paper).items():
        whole = {term: own for term, own in (told or {}).items() if term == scenes.ALL}
        for one in every_record.read(entry, whole, rounds):
            if not (one.proved.numer.is_ground and one.proved.denom.is_ground):
                found[entry] = one
    return dict(list(found.items())[:_MOST])


def _whole(entry: str, M: int) -> float:
    """The best factor from the programme of all clients, by an instance (Clarabel)."""
    numbers, alike = every_record.numbers_of(entry)
    statement = catalogue.find(entry.split()[0])
    given = {**numbers, **dict.fromkeys((symmetry.letter(statement), *alike), Fraction(M))}
    (case,) = scenes.cases_at(statement, worst_cases.rounds(statement.paper), given)
    search = scenes.searches(statement, case)[scenes.ALL]
    return round(float(search.sign * tight(search.below).lower), 4)  # the solver has more digits, other ones elsewhere


def draw(paper: str) -> FigureData:
    """A panel for each inequality: the proved function of M, and dots for whole programmes."""
    found = _moving(paper)
    figure, axes = canvas(-(-len(found) // 2), 2, width=4.4, height=2.5, sharex=True)
    rows: Rows = []
    for axis, (entry, one) in zip(axes.flat, found.items(), strict=False):
        line = [float(symmetry.value(one.proved, int(M))) for M in _LINE]
        dots = [_whole(entry, M) for M in _WHOLE]
        axis.axhline(1, color=GREY, lw=0.8, label="stated")
        axis.plot(
            _LINE,
            line,
            color=BLUE,
            label="proved for every M, and needed" if one.least is not None else "proved for every M",
        )
        axis.plot(_WHOLE, dots, "o", color=RED, ms=4, label="whole programme")
        id_, *numbers = entry.split()
        axis.set_title(f"{id_.partition('.')[2]}: {one.told}\n{', '.join(numbers)}", fontsize=8)
        axis.set(xscale="log", ylabel="best / stated")
        rows += rows_of({"inequality": entry, "what": "proved"}, M=_LINE, factor=line)
        rows += rows_of({"inequality": entry, "what": "whole programme"}, M=_WHOLE, factor=dots)
    for axis in axes.flat[len(found) :]:
        axis.set_axis_off()
    for axis in axes[-1]:
        axis.set_xlabel("number of clients M")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(f"{paper}: the best constant for every number of clients", fontsize=10)
    return FigureData(figure, pd.DataFrame(rows))


def picture(paper: str) -> Picture:
    """The picture of a paper."""
    return Picture(
        f"{paper}_constants_for_every_count",
        "The best factor on the larger side of an inequality about a round, as a function of the number of clients: proved "
        "for all M >= 2 by multipliers that are rational functions of M, and needed by instances. The dots are the "
        "programmes of 2, 3 and 4 clients, solved without symmetry.",
        lambda full: draw(paper),
    )
