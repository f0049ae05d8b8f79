"""Drift in local steps: how far stated constants are from those that are enough, and needed, for every number of steps."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd

from fedtheory.bounds import worst_cases
from fedtheory.figures.gallery import BLUE, GREY, FigureData, Picture, canvas
from fedtheory.figures.runs import Rows, rows_of
from fedtheory.theory import catalogue
from fedtheory.theory.printing import latex, plain
from fedtheory.theory.proofs import every_step

_LEMMAS = {"sfl.lemma10": "Lemma 10 (SFL, M = 2)", "sfl.lemma14.corrected": "Lemma 14, corrected (PFL)"}
_STEPS = (2, 3, 4, 5, 6, 8, 10, 12, 16)


def draw() -> FigureData:
    """A panel for each lemma: what is enough, and what is needed, against the number of steps."""
    figure, axes = canvas(1, 2, width=4.2, height=3.0, sharey=True)
    rows: Rows = []
    for axis, (id_, title) in zip(axes.flat, _LEMMAS.items(), strict=True):
        statement, rounds = catalogue.find(id_), worst_cases.rounds("sfl")
        assert rounds is not None
        numbers, _ = rounds.drifts[id_.partition(".")[2]]
        one = every_step.every(statement, rounds, numbers)
        ats = [rounds.complete(statement, {**numbers, "M": Fraction(2), "K": Fraction(K)}) for K in _STEPS]
        axis.axhline(1, color=GREY, lw=0.8, label="stated")
        for q in one.stated:
            needed = q in one.needed
            says = "enough and needed" if needed else "enough"
            factors = [one.ratio(q, at) for at in ats]
            axis.plot(_STEPS, factors, color=BLUE, ls="-" if needed else "--", label=f"{says}: ${latex('sfl', q)}$")
            rows += rows_of({"lemma": id_, "what": says, "of": plain(q)}, K=_STEPS, factor=factors)
        axis.set(title=title, xlabel="number of local steps K", ylim=(0, 1.05))
    axes.flat[0].set_ylabel("factor on the stated coefficient")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return FigureData(figure, pd.DataFrame(rows))


PICTURES = [
    Picture(
        "sfl_drift_for_every_number_of_steps",
        "Drift in local steps without noise, all clients, L = 1, beta = 0, eta_tilde = 1/6: the factors on the "
        "coefficients of Lemma 10 and of the corrected Lemma 14 that are enough together, for every number of clients "
        "and steps; that of the gradient is needed. An induction proves it.",
        lambda full: draw(),
        tuple(_LEMMAS),
    )
]
