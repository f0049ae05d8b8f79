"""FedBCGD+ on networks: where it is unstable, the same on a quadratic, and what helps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fedtheory.bounds.fedbcgd.stability import AT, BLOCKS, SEEDS, STEPS, STUDY, TRAINED, point
from fedtheory.figures.gallery import BLUE, GREEN, GREY, ORANGE, RED, SKY, FigureData, Picture, canvas, count_axis

_BLOCKS = dict(zip(BLOCKS, (GREEN, RED, ORANGE), strict=True))
_TRAINED = dict(zip(TRAINED, (RED, SKY, GREEN, GREY), strict=True))


def _rows() -> Iterator[dict[str, Any]]:
    for label in BLOCKS:
        for at, value in zip(STEPS, STUDY.numbers[label]["y"], strict=True):
            yield {"panel": "quadratic", "curve": label, "x": at, "y": value}
    for label in TRAINED:
        over = np.array([STUDY.numbers[point(label, seed)]["y"] for seed in SEEDS])
        for at, values in zip(AT, over.T, strict=True):
            ends = {"least": values.min(), "largest": values.max()}
            yield {"panel": "network", "curve": label, "x": at, "y": values.mean(), **ends}


def unstable(full: bool = False) -> FigureData:
    """Left the largest stable step size on a quadratic, exactly; right a small CNN."""
    data = pd.DataFrame(_rows())
    figure, ((left, right),) = canvas(1, 2, width=4.2, height=3.2)
    for label, colour in _BLOCKS.items():
        own = data[(data.panel == "quadratic") & (data.curve == label)]
        left.plot(own.x, own.y, "o-", color=colour, label=label, markersize=3.5)
    guide = np.array([3.0, 50.0])
    left.plot(guide, 1.8 / guide, ":", color=BLUE, label="1.8 / T")
    left.set(
        xscale="log", yscale="log", xlabel="local steps T", ylabel="largest stable step size times L", ylim=(0.02, 3)
    )
    count_axis(left.xaxis, 50)
    left.set_title("a quadratic in 2 coordinates,\nthe same for 10 clients")
    left.legend(loc="lower left")
    for label, colour in _TRAINED.items():
        own = data[(data.panel == "network") & (data.curve == label)]
        right.plot(own.x, own.y, color=colour, label=label)
        right.fill_between(own.x, own.least, own.largest, color=colour, alpha=0.15, linewidth=0)
    right.set(yscale="log", xlabel="round", ylabel="training loss", ylim=(0.003, 60))
    right.set_title(
        f"a small CNN on digits, 10 of 100 clients a round;\nmean of {len(SEEDS)} seeds, band from least to largest"
    )
    right.legend(title="step size 0.03, T = 10 if not named", loc="lower left", fontsize=7, title_fontsize=7)
    figure.suptitle(
        "fedbcgd: with blocks, FedBCGD+ is stable at step sizes of the order 1/(T L); without blocks, at 1/L",
        fontsize=10,
    )
    return FigureData(figure, data)


PICTURES = [
    Picture(
        "fedbcgd_plus_unstable",
        "Left: with two blocks the largest stable step size falls with the local steps, from T = 2 on; without blocks "
        "it stays at 1/L or above. Right: trainings of a small network, means of three seeds.",
        unstable,
        ("fedbcgd.alg3", "fedbcgd.alg3.corrected", "fedbcgd.table1.fedbcgdplus"),
        study=lambda: STUDY,
    )
]
