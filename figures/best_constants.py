"""The best constants of a paper's inequalities about a round: printed, sharper, and the two ends of the best one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import sympy

from fedtheory.bounds import worst_cases
from fedtheory.figures.gallery import BLACK, BLUE, GREY, RED, Drawn, Picture, canvas
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.tight import NotSolved, Unbounded
from fedtheory.theory.statement import Bound, Statement

_NOTHING = 1e-3  # a factor below it: the term is not needed
_EXACT = 1e-3  # a factor as near to 1: the constant cannot be improved


def _factor(statement: Statement, case: scenes.Case, term: str) -> float | None:
    """The coefficient of a term's quantity at a case's numbers; None without such a term, or where it is 0.

    Also None for a term of a sharper form that is about a quantity without a mean in the case's scene.
    """
    claim = statement.claim
    assert isinstance(claim, Bound)
    own = next((t.value for t in claim.terms if t.name == term), sympy.S.Zero)
    value = sympy.expand(scenes.defined(own, statement.where).subs(dict(case.at) | dict(case.scene.place)))
    if not value.as_coefficients_dict().keys() <= case.scene.means.keys():
        return None
    return float(sum(abs(coefficient) for coefficient, _ in case.scene.form(value, case.at).values())) or None


def _rows(paper: str) -> Iterator[dict[str, Any]]:
    """Per statement and term that may be improved: where its best factor leaves the least room."""
    rounds = worst_cases.rounds(paper)
    if rounds is None:
        raise ValueError(f"{paper}: expected a paper with statements about a round in vectors")
    names = {f"{paper}.{name}" for name in rounds.names}
    for id_ in (f"{paper}.{name}" for name in rounds.names):
        statement = catalogue.find(id_)
        if statement.sharpens or not isinstance(statement.claim, Bound) or statement.claim.sign == "=":
            continue
        sharper = [catalogue.find(one) for one in catalogue.sharpened_by(id_) if one in names]
        found: dict[str, list[dict[str, Any]]] = {}
        refuted = False
        for case in scenes.cases(statement, rounds):
            for term, search in scenes.searches(statement, case).items():
                try:
                    best = scenes.best(search, paper)
                except (NotSolved, Unbounded):
                    refuted |= term == scenes.ALL
                    continue
                refuted |= best.refutes
                own = _factor(statement, case, term)
                if own is None:
                    continue
                ours = [x for one in sharper if (x := _factor(one, case, term)) is not None]
                ends = {"at_least": float(best.least), "at_most": float(best.most), "sign": search.sign}
                row = {"statement": id_, "term": term, "at": case.told, "sharper": min(ours) / own if ours else None}
                found.setdefault(term, []).append(row | ends)
        if refuted:
            continue
        for several in found.values():
            tightest = max(several, key=lambda row: row["sign"] * row["at_least"])
            if abs(tightest["at_least"] - 1) >= _EXACT and tightest["at_most"] >= _NOTHING:
                yield tightest


def draw(paper: str) -> Drawn:
    """The constants over the printed ones, on a logarithmic axis: one row for each term that may be improved."""
    table = pd.DataFrame(_rows(paper))
    figure, axes = canvas(1, 1, width=7.2, height=1.4 + 0.19 * len(table))
    axis = axes[0, 0]
    places = [-i for i in range(len(table))]
    axis.plot([1] * len(table), places, "o", color=BLACK, ms=4, label="stated")
    ours = table.sharper.notna() if len(table) else []
    axis.plot(table.sharper[ours], [p for p, own in zip(places, ours, strict=True) if own], "o", color=BLUE, ms=4,
              label="sharper form")  # fmt: skip
    axis.hlines(places, table.at_least.clip(upper=1), table.at_most.clip(lower=1), color=GREY, lw=0.8)
    axis.plot(table.at_least.clip(lower=_NOTHING), places, "|", ms=9, color=RED, label="best: an instance ...")
    axis.plot(table.at_most, places, "x", ms=4, color=RED, label="... and a proof")
    labels = [f"{row.statement.partition('.')[2]}: {row.term}" for row in table.itertuples()]
    axis.set_yticks(places, labels, fontsize=7)
    axis.set_ylim(-len(table) + 0.3, 0.7)
    axis.set(xscale="log", xlabel="constant / stated constant", ylabel="term of an inequality")
    axis.grid(axis="x", alpha=0.3)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{paper}: terms of inequalities about a round that may be improved", fontsize=10)
    marks = ["sharper", "at_least", "at_most"]  # a row for each mark, so that a term without a sharper form has two
    long = table.melt(["statement", "term", "at"], marks, "mark", "factor").dropna(subset="factor")
    return Drawn(figure, long)


def picture(paper: str) -> Picture:
    """The picture of a paper."""
    return Picture(
        f"{paper}_best_constants",
        "Each line is a term of an inequality about a round. Its best constant lies between the bar (an instance) and "
        "the cross (a proof); the stated one is the black dot.",
        lambda full: draw(paper),
    )
