"""The best constants of a paper's inequalities about a round: printed, sharper, and the two ends of the best one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import sympy

from fedtheory.bounds import worst_cases
from fedtheory.figures.gallery import BLUE, GREY, RED, FigureData, Picture, canvas
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.tight import NotSolved, Unbounded
from fedtheory.theory.statement import Bound, Statement

_NOTHING = 1e-3  # a factor below it: the term is not needed
_EXACT = 1e-3  # a factor as near to 1: the constant cannot be improved
MOST = 25  # terms that are drawn


def _factor(statement: Statement, case: scenes.SceneCase, term: str) -> float | None:
    """The coefficient of a term's quantity at a case's numbers; None without such a term, or where it is 0.

    Also None for a term of a sharper form that is about a quantity without a mean in the case's scene.
    """
    claim = statement.claim_of(Bound)
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


def draw(paper: str) -> FigureData:
    """How many times better than stated each constant can be, the `MOST` with the most room."""
    table = pd.DataFrame(_rows(paper))
    signs = -table.sign  # a term on the smaller side is better where it is larger
    gains = pd.DataFrame({mark: table[mark] ** signs for mark in ("sharper", "at_least", "at_most")})
    ends = gains[["at_least", "at_most"]]
    gains["proved"], gains["limit"] = ends.min(axis=1), ends.max(axis=1).clip(upper=1 / _NOTHING)
    top = gains.sort_values("proved", ascending=False, kind="stable")[:MOST]
    figure, axes = canvas(1, 1, width=8.3, height=1.3 + 0.27 * len(top))
    axis = axes[0, 0]
    places = np.arange(len(top))
    axis.hlines(places, 1, top.limit, color=GREY, lw=0.8)
    axis.plot(top.proved, places, "x", ms=6, color=RED, label="proved")
    axis.plot(top.limit, places, "|", ms=11, color=RED, label="no more is possible (an instance)")
    axis.plot(top.sharper, places, "o", color=BLUE, ms=4, label="in our sharper form")
    labels = [f"{row.statement.partition('.')[2]}: {row.term}" for row in table.loc[top.index].itertuples()]
    axis.set_yticks(places, labels)
    axis.set_ylabel("statement: term")
    axis.set(xscale="log", xlabel="times better than the stated constant", xlim=(1, None), ylim=(len(top) - 0.5, -0.5))
    axis.grid(axis="x", alpha=0.3)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    many = f"the {len(top)} with the most room, of {len(table)}" if len(top) < len(table) else f"all {len(table)}"
    figure.suptitle(f"{paper}: how much better could the constants of a round be? ({many})", fontsize=10)
    marks = ["sharper", "at_least", "at_most"]  # a row for each mark, so that a term without a sharper form has two
    long = table.melt(["statement", "term", "at"], marks, "mark", "factor").dropna(subset="factor")
    return FigureData(figure, long)


def picture(paper: str) -> Picture:
    """The picture of a paper."""
    return Picture(
        f"{paper}_best_constants",
        "Each line is a term of an inequality about a round, at one choice of its numbers. The constant can be better by "
        "the factor at the cross, which is proved, and by no more than the factor at the bar, where an instance is tight. "
        "The file of numbers has all terms, as factors on the stated constant.",
        lambda full: draw(paper),
    )
