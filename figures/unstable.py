"""FedBCGD+ on networks: where it is unstable, the same on a quadratic, and what helps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bounds.fedbcgd.stability import largest_stable
from bounds.studies import Numbers, Study
from figures.gallery import BLUE, GREEN, GREY, ORANGE, RED, SKY, Drawn, Picture, canvas, count_axis
from simulations import partitions, run
from simulations.algorithms.base import Algorithm
from simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus

_STEPS = (1, 2, 5, 10, 20, 50)
_BLOCKS = {"no blocks, K = 1": (1, 1, GREEN), "2 blocks, K = 1": (2, 1, RED), "2 blocks, K = 4": (2, 4, ORANGE)}
_TRAINED: dict[str, tuple[Algorithm, str]] = {
    "FedBCGD+, 5 blocks": (FedBCGDPlus(10, 0.03, 5, 2), RED),
    "FedBCGD+, 5 blocks, T = 3, step size 0.1": (FedBCGDPlus(3, 0.1, 5, 2), SKY),
    "FedBCGD+, no blocks": (FedBCGDPlus(10, 0.03, 1, 10), GREEN),
    "FedBCGD, 5 blocks": (FedBCGD(10, 0.03, 5, 2), GREY),
}
_ROUNDS, _SEED = 60, 1
_AT = tuple(range(0, _ROUNDS + 1, 2))


def _stable(N: int, K: int) -> Numbers:
    return {"y": [largest_stable(N, K, T) for T in _STEPS]}


def _losses(training: str) -> Numbers:
    from simulations.networks import images
    from simulations.networks.problem import Network

    digits = images.load("digits")
    dealt = partitions.dirichlet_equal(digits.labels, 100, 0.6, 0)
    network = Network(digits, dealt, "small CNN", batch=5, order="epochs", batching="stacked")
    start, (algorithm, _) = network.start(_SEED), _TRAINED[training]
    data = run(network, algorithm, rounds=_ROUNDS, seeds=[_SEED], x0=start, record=("value",), at=list(_AT))
    return {"y": data.value.values.ravel().tolist()}


def _measured(**point: Any) -> Numbers:
    return _losses(**point) if "training" in point else _stable(**point)


_POINTS: dict[str, dict[str, Any]] = {label: {"N": N, "K": K} for label, (N, K, _) in _BLOCKS.items()}
_POINTS |= {label: {"training": label} for label in _TRAINED}
STUDY = Study(
    "fedbcgd_plus_unstable",
    lambda: _POINTS,
    _measured,
    (
        "bounds.fedbcgd.stability",
        "simulations.engine",
        "simulations.algorithms.fedbcgd",
        "simulations.networks.problem",
    ),
)


def _rows() -> Iterator[dict[str, Any]]:
    for label, numbers in STUDY.numbers.items():
        panel, x = ("quadratic", _STEPS) if label in _BLOCKS else ("network", _AT)
        for at, value in zip(x, numbers["y"], strict=True):
            yield {"panel": panel, "curve": label, "x": at, "y": value}


def unstable(full: bool = False) -> Drawn:
    """Left the largest stable step size on a quadratic, exactly; right a small CNN."""
    data = pd.DataFrame(_rows())
    figure, ((left, right),) = canvas(1, 2, width=4.2, height=3.2)
    for label, (*_, colour) in _BLOCKS.items():
        own = data[(data.panel == "quadratic") & (data.curve == label)]
        left.plot(own.x, own.y, "o-", color=colour, label=label, markersize=3.5)
    guide = np.array([3.0, 50.0])
    left.plot(guide, 1.8 / guide, ":", color=BLUE, label="1.8 / T")
    left.set(
        xscale="log", yscale="log", xlabel="local steps T", ylabel="largest stable step size times L", ylim=(0.02, 3)
    )
    count_axis(left.xaxis, 50)
    left.set_title("a quadratic in 2 coordinates, the same for 10 clients")
    left.legend(loc="lower left")
    for label, (_, colour) in _TRAINED.items():
        own = data[(data.panel == "network") & (data.curve == label)]
        right.plot(own.x, own.y, color=colour, label=label)
    right.set(yscale="log", xlabel="round", ylabel="training loss", ylim=(0.003, 60))
    right.set_title("a small CNN on digits, 10 of 100 clients a round")
    right.legend(title="step size 0.03, T = 10, unless said", loc="lower left", fontsize=7, title_fontsize=7)
    figure.suptitle(
        "FedBCGD+ with blocks needs step sizes of the order 1/(T L); without blocks, 1/L is stable for any T",
        fontsize=10,
    )
    return Drawn(figure, data)


PICTURES = [
    Picture(
        "fedbcgd_plus_unstable",
        "Left: with two blocks the largest stable step size falls with the local steps, from T = 2 on; without blocks "
        "it stays at 1/L or above. Right: trainings of a small network.",
        unstable,
        ("fedbcgd.alg3", "fedbcgd.alg3.corrected", "fedbcgd.table1.fedbcgdplus"),
        study=lambda: STUDY,
    )
]
