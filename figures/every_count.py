"""The best constants of inequalities about a round for every number of clients, beside whole programmes for a few."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from fedtheory.bounds import worst_cases
from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, RED, Drawn, Picture, canvas
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, scenes, symmetry
from fedtheory.theory.proofs.every_record import Best
from fedtheory.theory.proofs.symmetry import FIELD
from fedtheory.theory.proofs.tight import tight

_WHOLE = (2, 3, 4)  # numbers of clients whose whole programmes are solved
_LINE = np.unique(np.geomspace(2, 100, 40).round().astype(int))
_MOST = 6  # inequalities


def _moving(paper: str) -> dict[str, Best]:
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


def draw(paper: str) -> Drawn:
    """A panel for each inequality: the proved function of M, and dots for whole programmes."""
    found = _moving(paper)
    figure, axes = canvas(-(-len(found) // 2), 2, width=4.4, height=2.5, sharex=True)
    rows: list[dict[str, Any]] = []
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
        several = (("proved", _LINE, line), ("whole programme", _WHOLE, dots))
        rows += [
            {"inequality": entry, "what": what, "M": int(M), "factor": x}
            for what, counts, factors in several
            for M, x in zip(counts, factors, strict=True)
        ]
    for axis in axes.flat[len(found) :]:
        axis.set_axis_off()
    for axis in axes[-1]:
        axis.set_xlabel("number of clients M")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(f"{paper}: the best constant for every number of clients", fontsize=10)
    return Drawn(figure, pd.DataFrame(rows))


def picture(paper: str) -> Picture:
    """The picture of a paper."""
    return Picture(
        f"{paper}_constants_for_every_count",
        "The best factor on the larger side of an inequality about a round, as a function of the number of clients: proved "
        "for all M >= 2 by multipliers that are rational functions of M, and needed by instances. The dots are the "
        "programmes of 2, 3 and 4 clients, solved without symmetry.",
        lambda full: draw(paper),
    )


# ------------------------------------------------------------------------------------------------ whole runs


def _tight_rates(theorem: str) -> dict[tuple[int, int], Best]:
    """The best constants of a theorem's term of the start on record, by local steps and rounds."""
    rounds, found = worst_cases.rounds(theorem.partition(".")[0]), {}
    for entry, told in every_record.kept(theorem.partition(".")[0]).items():
        if entry.split()[0] == theorem:
            numbers, _ = every_record.numbers_of(entry)
            start = {term: own for term, own in (told or {}).items() if term == "optimisation"}
            for one in every_record.read(entry, start, rounds):
                found[int(numbers["K"]), int(numbers["R"])] = one
    return dict(sorted(found.items()))


def draw_rates(theorem: str) -> Drawn:
    """The constant before D^2: printed, sharper, and the best one, after each number of rounds."""
    found = _tight_rates(theorem)
    rows: list[dict[str, Any]] = []
    for (K, R), one in found.items():
        stated = float(one.stated.subs(dict.fromkeys(one.stated.free_symbols, 1)))
        ends = {"at most": one.proved} | ({} if one.least is None else {"at least": one.least})
        factors = {
            "printed": FIELD.one,
            **{id_: x for id_, x in one.sharper.items() if id_ == f"{theorem}.sharp"},
            **ends,
        }
        rows += [
            {"K": K, "R": R, "what": what, "constant": stated * float(symmetry.value(x, 2))}
            for what, x in factors.items()
        ]
    table = pd.DataFrame(rows)
    figure, axes = canvas(1, 1, width=5.6, height=3.4)
    axis = axes[0, 0]
    for what, colour in (("printed", GREY), (f"{theorem}.sharp", BLUE)):
        own = table[(table.what == what) & (table.K == 1)]
        axis.plot(own.R, own.constant, "-", marker=".", color=colour, label=what.rpartition(".")[2])
    for (K, what), own in table[table.what.isin(["at least", "at most"])].groupby(["K", "what"]):
        mark = {"at most": "_", "at least": "x" if K == 1 else "+"}[what]
        axis.plot(own.R, own.constant, mark, ms=8, color=RED if K == 1 else GREEN, label=f"best, {what}, K = {K}")
    line = np.linspace(1, table.R.max(), 50)
    axis.plot(line, 1 / (2 * (1 + line / 6)), ":", color=BLACK, lw=1, label="conjecture: L D^2/(2 (1 + R L eta_tilde))")
    axis.set(xlabel="rounds R", ylabel="constant before D^2 (L = 1)", yscale="log", xticks=sorted(set(table.R)))
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(
        "sfl: PFL, general convex, L eta_tilde = 1/6: the rate of whole runs, for every number of clients", fontsize=9
    )
    return Drawn(figure, table)


def rates(theorem: str) -> Picture:
    """The picture of a theorem's tight rate."""
    paper, _, name = theorem.partition(".")
    return Picture(
        f"{paper}_{name.replace('.', '_')}_tight_rate",
        "The constant before D^2 in the bound on the average iterate after R rounds of PFL: printed, sharper, and the best "
        "one, which is proved from above and from below for every number of clients. The dotted formula is a conjecture: it "
        "agrees with the brackets.",
        lambda full: draw_rates(theorem),
    )
