"""A theorem's bound, term by term, against what its arenas measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bounds.arena import CONFIDENCE, Arena, confront
from figures.gallery import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, Drawn, canvas, count_axis, mathematics
from theory import catalogue
from theory.statement import Bound

_TERM_COLOURS = {
    "optimisation": BLUE,
    "noise": GREEN,
    "sampling": PURPLE,
    "noise_drift": SKY,
    "heterogeneity": ORANGE,
}
_Y_LABELS = {
    "gap": r"$\mathbb{E}[F(\bar x^{(R)})-F(x^*)]$  (units of $F$)",
    "min_grad_sq": r"$\min_{r\leq R}\,\mathbb{E}\|\nabla F(x^{(r)})\|^2$  (units of $F^2/x^2$)",
}


def draw(statement_id: str, arenas: list[Arena], full: bool = False) -> Drawn:
    """One column per arena, at the step size where the bound is tightest: bound, terms, measurement, and their ratio."""
    statement = catalogue.find(statement_id)
    claim = statement.claim
    assert isinstance(claim, Bound)
    figure, axes = canvas(2, len(arenas), sharex="col", height_ratios=[3, 1.3])
    rows = []
    for column, arena in enumerate(arenas):
        data = confront(arena, statement, full)
        tightness = (data.bound / data["mean"]).where(data.admissible).min("R").values
        step = int(np.nanargmin(tightness))
        at = data.isel(eta_tilde=step)
        keep = at.admissible.values
        R = at.R.values[keep]
        above, below = axes[0, column], axes[1, column]
        for term in at.term.values:
            above.plot(
                R, at.terms.sel(term=term).values[keep], "--", lw=1, color=_TERM_COLOURS[str(term)], label=str(term)
            )
        above.plot(R, at.bound.values[keep], color=BLACK, lw=1.8, label="bound (sum)")
        above.fill_between(R, at.low.values[keep].clip(min=1e-300), at.high.values[keep], color=RED, alpha=0.25, lw=0)
        above.plot(R, at["mean"].values[keep], color=RED, label=f"measured, {CONFIDENCE:.1%} interval")
        ratio = at.bound.values[keep] / at["mean"].values[keep]
        below.plot(R, ratio, color=BLACK)
        below.axhline(1, color=RED, lw=0.8, ls=":")
        largest = at.terms.values[:, keep].max(axis=1)  # every term is seen somewhere
        floor = min(at["mean"].values[keep].min(), *largest[largest > 0]) * 3
        step_size = rf"$\tilde\eta$ = {float(at.eta_tilde):.3g}, {data.attrs['seeds']} seeds"
        above.set(xscale="log", yscale="log", ylim=(floor / 10, None))
        above.set_title(f"{mathematics(arena.name)}\n{step_size}")
        below.set(xscale="log", yscale="log", xlabel="rounds R")
        for axis in (above, below):
            count_axis(axis.xaxis, R.max(), R.min())
        for i, r in enumerate(R):
            terms = {str(t): float(at.terms.sel(term=t).values[keep][i]) for t in at.term.values}
            rows.append(
                {
                    "arena": arena.name,
                    "eta_tilde": float(at.eta_tilde),
                    "R": int(r),
                    "mean": float(at["mean"].values[keep][i]),
                    "low": float(at.low.values[keep][i]),
                    "high": float(at.high.values[keep][i]),
                    "bound": float(at.bound.values[keep][i]),
                    **terms,
                }
            )
    axes[0, 0].set_ylabel(_Y_LABELS[claim.quantity.name])
    axes[1, 0].set_ylabel("bound / measured")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 2 * len(arenas) + 1))
    figure.suptitle(f"{statement.place}: bound against run")
    return Drawn(figure, pd.DataFrame(rows))
