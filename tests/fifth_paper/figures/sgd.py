"""The theorem against a run, drawn."""

from __future__ import annotations

from bounds.sgd import ARENAS

from figures.bound_against_run import draw
from figures.gallery import Picture

FIGURES = [
    Picture(
        "sgd_theorem", "the bound against runs of SGD", lambda full: draw("sgd.thm", ARENAS[:2], full), ("sgd.thm",)
    )
]
