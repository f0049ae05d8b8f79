"""What the letters of a paper are in a run: the quantities that its bounds are about, and numbers of problem and start.

A letter is found by its concept (`fedtheory.theory.concepts`), never by itself: another paper's beta is another quantity.
A paper adds quantities of its own, or relabels one in its own letters, by `QUANTITIES` in bounds/PAPER.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import xarray as xr

from fedtheory.bounds import papers
from fedtheory.simulations import run
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

T = TypeVar("T")


@dataclass(frozen=True)
class Quantity:
    """One quantity.

    recorded   the name by which `run` records it
    label      with its units, for an axis
    over       the bounded number after R rounds: the last value, the smallest up to R, or the mean of rounds 0 ... R-1
    run        the function that measures it where there is no exact expectation
    """

    recorded: str
    label: str
    over: Literal["last", "smallest", "mean"] = "last"
    run: Callable[..., xr.Dataset] = run


# Concept -> quantity, label with F and x
QUANTITIES: Mapping[str, Quantity] = {
    "gap of the average": Quantity("gap_average", r"$\mathbb{E}[F(\bar x^{(R)})-F(x^*)]$  (units of $F$)"),
    "gap of the last iterate": Quantity("gap", r"$\mathbb{E}[f(w^{(R)})-f(w^{(*)})]$  (units of $f$)"),
    "squared distance of the last iterate": Quantity("dist2", r"$\mathbb{E}\|x^{(R)}-x^*\|^2$  (units of $x^2$)"),
    "smallest squared gradient": Quantity(
        "grad_sq", r"$\min_{r\leq R}\,\mathbb{E}\|\nabla F(x^{(r)})\|^2$  (units of $F^2/x^2$)", "smallest"
    ),
    "mean squared gradient": Quantity(
        "grad_sq", r"$\frac{1}{R}\sum_{r<R}\mathbb{E}\|\nabla f(w^{(r)})\|^2$  (units of $f^2/w^2$)", "mean"
    ),
}
# Concept -> the name that `fedtheory.simulations.start` gives it
AT_START = {
    "initial distance": "D",
    "squared initial distance": "d0",
    "initial gap": "A",
    "norm of the start": "w0_norm",
    "norm of the minimiser": "w_star_norm",
}
# Concept -> the name that `start_of_clients` gives it
OF_CLIENTS = {
    "heterogeneity at the start": "het_start",
    "gaps of the clients at the start": "fj_gap_mean",
    "squared distances to the clients' minimisers": "dist_sq_mean",
    "gap between the minimum and those of the clients": "Gamma",
}
# Concept -> the certified constant of a problem
CONSTANTS = {
    "smoothness": "L",
    "strong convexity": "mu",
    "gradient noise": "sigma",
    "heterogeneity at the optimum": "zeta_star",
    "relative heterogeneity": "beta",
    "absolute heterogeneity": "zeta",
    "heterogeneity everywhere": "G",
}


def by_letter(paper: str, of: Mapping[str, T]) -> dict[str, T]:
    """What the paper's letters stand for, by their concepts."""
    symbols = catalogue.paper(paper).symbols.values()
    return {s.name: of[s.concept] for s in symbols if s.concept is not None and s.concept in of}


def quantities(paper: str) -> Mapping[str, Quantity]:
    """The quantities that the paper's bounds are about, by its letters: the common ones, and the paper's own."""
    return {**by_letter(paper, QUANTITIES), **papers.quantities(paper)}


def bounded(paper: str, claim: Bound) -> tuple[str, float]:
    """The quantity that a claim bounds, by name, and the number by which the claim multiplies it.

    Raises ValueError for a left side that is no number times one of the paper's `quantities`.
    """
    factor, quantity = claim.quantity.as_coeff_Mul()
    name = getattr(quantity, "name", None)
    if name not in quantities(paper):
        raise ValueError(f"left side {claim.quantity}: expected a number times one of {', '.join(quantities(paper))}")
    return str(name), float(factor)
