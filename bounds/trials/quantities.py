"""The quantities of bounds on whole runs: the name by which a run records each, and its label in a figure.

A paper adds its own quantities, or relabels one in its own symbols, by `QUANTITIES` in bounds/PAPER.  Its `AT_START` says
which of its symbols are numbers of the starting point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import xarray as xr

from bounds import papers
from simulations import run
from theory.statement import Bound


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


QUANTITIES: Mapping[str, Quantity] = {
    "gap": Quantity("gap_average", r"$\mathbb{E}[F(\bar x^{(R)})-F(x^*)]$  (units of $F$)"),
    "gap_xbar": Quantity("gap_average", r"$\mathbb{E}[f(\bar x^R)-f(x^*)]$  (units of $f$)"),
    "gap_last": Quantity("gap", r"$\mathbb{E}[f(w^{(R)})-f(w^{(*)})]$  (units of $f$)"),
    "min_grad_sq": Quantity(
        "grad_sq", r"$\min_{r\leq R}\,\mathbb{E}\|\nabla F(x^{(r)})\|^2$  (units of $F^2/x^2$)", "smallest"
    ),
    "avg_grad_sq": Quantity(
        "grad_sq", r"$\frac{1}{R}\sum_{r<R}\mathbb{E}\|\nabla f(w^{(r)})\|^2$  (units of $f^2/w^2$)", "mean"
    ),
}
# Symbols of the starting point: symbol -> the name that `simulations.start` gives it
AT_START: Mapping[str, str] = {name: name for name in ("D", "d0", "A", "w0_norm", "w_star_norm")}


def quantities(paper: str) -> Mapping[str, Quantity]:
    """The quantities common to all papers, and the paper's own."""
    return {**QUANTITIES, **papers.quantities(paper)}


def at_start(paper: str) -> Mapping[str, str]:
    """The symbols of the starting point in a paper."""
    return {**AT_START, **papers.at_start(paper)}


def bounded(paper: str, claim: Bound) -> tuple[str, float]:
    """The quantity that a claim bounds, by name, and the number by which the claim multiplies it.

    Raises ValueError for a left side that is no number times one of the paper's `quantities`.
    """
    factor, quantity = claim.quantity.as_coeff_Mul()
    name = getattr(quantity, "name", None)
    if name not in quantities(paper):
        raise ValueError(f"left side {claim.quantity}: expected a number times one of {', '.join(quantities(paper))}")
    return str(name), float(factor)


__all__ = ["Quantity", "at_start", "bounded", "quantities"]
