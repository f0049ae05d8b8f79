"""A theorem's bound, term by term, against the measurements in its arenas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import sympy
import xarray as xr
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from bounds import papers
from bounds.trials.arena import CONFIDENCE, Arena, at_same_rate, bound_at, confront, constants_of, step_symbol
from bounds.trials.quantities import quantities
from figures.gallery import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    YELLOW,
    Drawn,
    Picture,
    canvas,
    count_axis,
    mathematics,
)
from theory import catalogue
from theory.statement import Bound

_TERM_COLOURS = {
    "optimisation": BLUE,
    "noise": GREEN,
    "sampling": PURPLE,
    "noise_drift": SKY,
    "drift": SKY,
    "heterogeneity": ORANGE,
    "lag": ORANGE,
    "start": BLUE,
    "divergence": ORANGE,
}
_OTHER_TERMS = (YELLOW, PURPLE, "#8b5e3c", GREY, "#404080", "#7fbf3f")  # in this order
_TITLE = 44  # characters in a line
_ROUNDING = 1e-20  # relative to the bound: a term that is never larger is not drawn
_DEEPEST = 1e-80  # relative to the highest value in a panel: below it a bound is cut off
_STEPS = {"eta_tilde": r"\tilde\eta", "eta": r"\eta", "eta_t": r"\eta_0"}  # of decreasing step sizes the first


_CORRECTED = {"color": BLACK, "ls": (0, (5, 1, 1, 1)), "lw": 1.4}
_LOOSER = {"color": GREY, "ls": "-", "lw": 1.4}
_LEAST = {"color": PURPLE, "ls": "-", "lw": 1.2}


def term_colours(bound: Bound) -> dict[str, str]:
    """A colour for each term, no two alike.  Raises ValueError for a bound of more terms than there are colours."""
    left = iter([c for c in _OTHER_TERMS if c not in [_TERM_COLOURS.get(t.name) for t in bound.terms]])
    try:
        return {t.name: _TERM_COLOURS.get(t.name) or next(left) for t in bound.terms}
    except StopIteration:
        raise ValueError(f"{len(bound.terms)} terms, expected no more than there are colours for") from None


def draw(statement_id: str, arenas: list[Arena], full: bool = False) -> Drawn:
    """One column per arena, at the step size where the bound is tightest: bound, terms, measurement, and their ratio.

    A printed bound that has a corrected form is shown with it, at the same learning rate; a sharper one with the one that
    it sharpens.
    """
    statement = catalogue.find(statement_id)
    claim = statement.claim
    assert isinstance(claim, Bound)
    colours = term_colours(claim)
    figure, axes = canvas(2, len(arenas), sharex="col", height_ratios=[3, 1.3])
    rows: list[dict[str, object]] = []
    for column, arena in enumerate(arenas):
        data = confront(arena, statement, full)
        name = step_symbol(arena.stated)
        step = int(np.nanargmin((data.bound / data["mean"]).where(data.admissible).min("R").values))
        at = data.isel({name: step})
        at = at.isel(R=at.admissible.values & np.isfinite(at.high.values))  # before any divergence
        above, below = axes[0, column], axes[1, column]
        for term in at.term.values:
            values = at.terms.sel(term=term)
            if values.max() <= _ROUNDING * at.bound.max():
                continue
            above.plot(at.R, values, "--", lw=1, color=colours[str(term)], label=str(term))
        above.plot(at.R, at.bound, color=BLACK, lw=1.8, label="bound (sum)")
        unseen = max(1e-300, float(at["mean"].min()) / 1000)  # below the panel
        above.fill_between(at.R, at.low.clip(min=unseen), at.high, color=RED, alpha=0.25, lw=0)
        above.plot(at.R, at["mean"], color=RED, label="measured")
        below.plot(at.R, at.bound / at["mean"], color=BLACK)
        below.axhline(1, color=RED, lw=0.8, ls=":")
        rows += _rows(arena, at)
        if statement.sharpens:
            looser = catalogue.find(statement.sharpens)
            values = _at_these_steps(replace(arena, statement=looser.id), at)
            above.plot(at.R, values, **_LOOSER, label=f"{looser.form} bound")
            below.plot(at.R, values / at["mean"], **_LOOSER)
        least = catalogue.least(statement)
        if least is not None:
            above.plot(at.R, _value(least, arena, at), **_LEAST, label="no bound can be lower")
        twin = _corrected(arena, float(at[name]), full)
        if twin is not None:
            corrected, its_own = twin
            above.plot(its_own.R, its_own.bound, **_CORRECTED, label="corrected")
            if not _same_quantity(at, its_own):
                above.plot(its_own.R, its_own["mean"], ":", color=RED, label="measured, corrected form")
            below.plot(its_own.R, its_own.bound / its_own["mean"], **_CORRECTED)
            rows += _rows(corrected, its_own)
        largest = at.terms.max("R").values  # every term is visible somewhere
        top = max(at.bound.max(), at["mean"].max())
        floor = (
            min(at["mean"].min(), *largest[largest > _ROUNDING * float(top)], max(at.bound.min(), top * _DEEPEST)) * 3
        )
        measured = (
            f"{seeds} seeds, {CONFIDENCE:.1%} interval" if (seeds := data.attrs["seeds"]) else "exact expectation"
        )
        above.set(xscale="log", yscale="log", ylim=(floor / 10, None))
        above.set_title(
            f"{titled(arena.name)}\n" + rf"${_STEPS[name]}$ = {float(at[name]):.3g}, {measured}",
            fontsize=9,
        )
        below.set(xscale="log", yscale="log", xlabel="rounds R")
        for axis in (above, below):
            low, high = axis.get_ylim()
            if high > 100 * low:  # enough decades: no minor marks
                axis.yaxis.set_minor_locator(NullLocator())
            elif axis is below:
                axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axis.yaxis.set_minor_locator(NullLocator())
            count_axis(axis.xaxis, at.R.values.max(), at.R.values.min())
    axes[0, 0].set_ylabel(y_label(statement.paper, claim.quantity.name))
    axes[1, 0].set_ylabel("bound / measured")
    shown = {label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    shown = {term: shown[term] for term in colours if term in shown} | shown  # the terms first, in their own order
    in_one_row = len(shown) <= 2 * len(arenas) + 1
    columns = len(shown) if in_one_row else (len(shown) + 1) // 2
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=columns)
    figure.suptitle(_says(statement_id))
    return Drawn(figure, pd.DataFrame(rows).fillna(0.0))  # a term that one form of the bound does not have


Shown = Callable[[Sequence[Arena], bool], list[Arena]]  # a statement's arenas, full -> those to draw
Among = Callable[[Arena], bool]  # whether an arena may be shown; only these are measured


def pictures(ids: Iterable[str], shown: Shown, among: Among = lambda arena: True) -> list[Picture]:
    """One picture for each statement, with the arenas that `shown` chooses."""
    return [
        Picture(
            id_.replace(".", "_") + "_bound_against_run",
            _says(id_),
            partial(_drawn, id_, shown, among),
            (id_,),
            partial(_measured, id_, among),
        )
        for id_ in ids
    ]


def _measured(statement_id: str, among: Among) -> list[Arena]:
    paper = catalogue.find(statement_id).paper
    return [a for a in papers.arenas(paper) if a.statement == statement_id and among(a)]


def _drawn(statement_id: str, shown: Shown, among: Among, full: bool = False) -> Drawn:
    return draw(statement_id, shown(_measured(statement_id, among), full), full)


def titled(name: str) -> str:
    """An arena's name as mathematics; '2 of 4 clients' and '8 rounds' are not broken."""
    together = re.sub(r"\d+ (of \d+ clients|rounds)", lambda found: found.group().replace(" ", "\u00a0"), name)
    return mathematics(together, _TITLE)


def y_label(paper: str, quantity: str) -> str:
    """The label of a quantity, in the paper's own symbols."""
    return quantities(paper)[quantity].label


def _says(statement_id: str) -> str:
    statement = catalogue.find(statement_id)
    forms = {"printed": "", "corrected": ", corrected", "sharper": ", sharper"}
    form = forms[statement.form] + ", from the start" * (".from_start" in statement_id)
    faster = ", at twice the rate" * statement_id.endswith(".faster")
    return f"{statement.place}{form}{faster}: bound against run"


def _rows(arena: Arena, at: xr.Dataset) -> list[dict[str, object]]:
    """The numbers of one curve, one row per R."""
    name = step_symbol(arena.stated)
    told = {"statement": arena.statement, "arena": arena.name, name: float(at[name])}
    numbers = {name: at[name].values for name in ("mean", "low", "high", "bound")}
    numbers |= {str(t): at.terms.sel(term=t).values for t in at.term.values}
    return [
        {**told, "R": int(R), **{name: float(values[i]) for name, values in numbers.items()}}
        for i, R in enumerate(at.R.values)
    ]


def _value(e: sympy.Expr, arena: Arena, at: xr.Dataset) -> np.ndarray:
    """An expression in the arena's constants, its step size and R, for every R."""
    name = step_symbol(arena.stated)
    known = {**constants_of(arena), name: float(at[name]), "R": at.R.values}
    symbols = sorted(e.free_symbols, key=str)
    return np.broadcast_to(sympy.lambdify(symbols, e, "numpy")(*(known[s.name] for s in symbols)), at.R.shape)


def _at_these_steps(arena: Arena, at: xr.Dataset) -> np.ndarray:
    """The bound of an arena at the step size and R of another one's data."""
    step = np.array(float(at[step_symbol(arena.stated)]))
    return np.asarray(bound_at(arena.stated, step, at.R.values, **constants_of(arena)).value)


def _corrected(arena: Arena, step: float, full: bool) -> tuple[Arena, xr.Dataset] | None:
    """The arena of the corrected form of a printed bound, at the same learning rate, with its data.

    It is the corrected form's own arena of the same name, which may have a corrected algorithm; else the printed one's.
    None if the corrected form does not admit this learning rate, and if it corrects only the assumptions.
    """
    printed = catalogue.find(arena.statement)
    ours = [id_ for id_ in catalogue.corrected_by(printed.id) if id_.endswith(".corrected")]
    if not ours:
        return None
    (statement,) = map(catalogue.find, ours)
    if (statement.claim, statement.where) == (printed.claim, printed.where):
        return None
    named = [a for a in papers.arenas(statement.paper) if (a.statement, a.name) == (statement.id, arena.name)]
    twin = at_same_rate(arena, step, (*named, replace(arena, statement=statement.id))[0])
    if twin is None:
        return None
    data = confront(twin, statement, full).isel({step_symbol(twin.stated): 0})
    return twin, data.isel(R=data.admissible.values)


def _same_quantity(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Whether both measure the same quantity: two forms of a bound may have different averaging weights."""
    common = np.intersect1d(one.R, other.R)
    return bool(np.allclose(one["mean"].sel(R=common), other["mean"].sel(R=common), rtol=1e-6))
