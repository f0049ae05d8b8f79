"""A theorem's bound, term by term, against the measurements in its arenas."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import sympy
import xarray as xr
from matplotlib.mathtext import MathTextParser
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from fedtheory import plugins
from fedtheory.bounds import papers
from fedtheory.bounds.trials.arena import (
    CONFIDENCE,
    ROUNDING,
    Arena,
    at_same_rate,
    bound_at,
    confront,
    constants_of,
    step_symbol,
    tightest_ratio,
)
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.figures.gallery import RED, FigureData, Picture, canvas, count_axis, mathematics
from fedtheory.figures.styles import (
    BOUNDS,
    CORRECTED,
    INTERVAL,
    LEAST,
    MEASURED,
    MEASURED_CORRECTED,
    MOST_CURVES,
    TERM,
    runs_off,
    term_colours,
)
from fedtheory.simulations.problems import Array
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Statement

_TITLE = 44  # characters in a line
_SEEN = 0.01  # of the bound: a term that is never a larger part of it is not drawn
_ABOVE = 1e3  # times the largest bound: what is measured is cut off there
_FEW = 5  # rounds, which make no curve
_DEEPEST = 1e-9  # times the highest value in a panel: what is below is cut off
_LEAST_RATIO, _LARGEST_RATIO = 1e-3, 1e7  # bound / measured: cut off outside
_STEPS = {"eta_tilde": r"\tilde\eta", "eta": r"\eta", "eta_t": r"\eta_0"}  # of decreasing step sizes the first


@dataclass(frozen=True)
class _Curve:
    """A bound, or a measured curve, in a panel.

    ratio  to what is measured; None: not drawn
    """

    label: str
    R: Array
    values: Array
    style: Mapping[str, Any]
    ratio: Array | None = None


def draw(statement_id: str, arenas: list[Arena], full: bool = False) -> FigureData:
    """One column per arena, at the step size where the bound is tightest: bound, terms, measurement, and their ratio.

    A printed bound that has a corrected form is shown with it, at the same learning rate or, where the corrected form does
    not admit it, with a run of its own; a sharper one with the one that it sharpens.  Of the terms the largest are drawn, so
    that a panel has no more than `MOST_CURVES` curves.
    """
    statement = catalogue.find(statement_id)
    claim = statement.claim_of(Bound)
    colours = term_colours([t.name for t in claim.terms])
    figure, axes = canvas(2, len(arenas), sharex="col", height_ratios=[3, 1.3])
    rows: list[dict[str, object]] = []
    titles = []
    unseen = 0.0  # the largest part of a bound that a term without a curve has
    for (above, below), arena in zip(axes.T, arenas, strict=True):
        at, exact = _tightest(arena, statement, full)
        bounds, measured, more = _curves(statement, arena, at, full)
        rows += [*_rows(arena, at), *more]
        room = MOST_CURVES - len(bounds) - len(measured)
        terms = _main_terms(at, room)
        unseen = max(unseen, *(share for name, share in _shares(at).items() if name not in terms), 0.0)
        _upper(above, at, bounds, measured, {name: colours[name] for name in terms}, exact)
        _lower(below, bounds)
        how = "exact expectation" if exact else f"{at.attrs['seeds']} seeds"
        name = step_symbol(arena.stated)
        titles.append(f"{titled(arena.name)}\n" + rf"${_STEPS[name]}$ = {float(at[name]):.3g}, {how}")
        count_axis(below.xaxis, at.R.values.max(), at.R.values.min())
    most = max(title.count("\n") for title in titles)
    for axis, title in zip(axes[0], titles, strict=True):  # they begin at one height
        axis.set_title(title + "\n" * (most - title.count("\n")), fontsize=9)
    axes[0, 0].set_ylabel(y_label(statement.paper, claim.quantity.name))
    axes[1, 0].set_ylabel("bound / measured")
    shown = {label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    shown = {
        word: shown[word] for word in map(_word, colours) if word in shown
    } | shown  # the terms first, in their order
    columns = len(shown) if len(shown) <= 2 * len(arenas) else min(4, (len(shown) + 1) // 2)
    left_out = f"terms that are not drawn in a panel are at most {_percent(unseen)} of its bound" if unseen else None
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower center", ncols=columns, title=left_out, title_fontsize=7.5
    )
    data = pd.DataFrame(rows).fillna(0.0)  # a term that one form of the bound does not have
    own = data[data.statement == statement_id]
    crosses = (own.low > own.bound * (1 + ROUNDING)).any()
    outcome = (
        f"a run rises above the {statement.form} bound"
        if crosses
        else f"these runs stay below the {statement.form} bound"
    )
    figure.suptitle(f"{statement.paper}, {_title_of(statement)}: {outcome}")
    return FigureData(figure, data)


def crossing(statement_id: str) -> Picture:
    """For a first look, in one panel: a refuted bound, the run that rises above it, and the corrected bound."""
    statement = catalogue.find(statement_id)
    return Picture(
        statement_id.replace(".", "_") + "_is_crossed",
        f"{_title_of(statement)}: the measured curve (vermilion) rises above the printed bound (black). The corrected bound "
        "(blue) stays above its own run.",
        partial(_crossing, statement),
        (statement_id,),
        arenas=partial(_measured, statement_id, lambda arena: True),
    )


def _crossing(statement: Statement, full: bool) -> FigureData:
    arena, *_ = panels(_measured(statement.id, lambda arena: True), full)
    at, exact = _tightest(arena, statement, full)
    bounds, measured, more = _curves(statement, arena, at, full)
    figure, axes = canvas(1, 1, width=5.6, height=3.6)
    axis = axes[0, 0]
    _upper(axis, at, bounds, measured, {}, exact)
    axis.set(xlabel="rounds R", ylabel=y_label(statement.paper, statement.claim_of(Bound).quantity.name))
    count_axis(axis.xaxis, at.R.values.max(), at.R.values.min())
    axis.legend()
    axis.set_title(titled(arena.name), fontsize=9)
    figure.suptitle(f"{statement.paper}, {_title_of(statement)}:\na run rises above the printed bound")
    return FigureData(figure, pd.DataFrame([*_rows(arena, at), *more]).fillna(0.0))


def _tightest(arena: Arena, statement: Statement, full: bool) -> tuple[xr.Dataset, bool]:
    """The measurement with the bound at the step size where it is tightest, before any divergence; whether it is exact."""
    data = confront(arena, statement, full)
    step = int(np.nanargmin((data.bound / data["mean"]).where(data.admissible).min("R").values))
    at = data.isel({step_symbol(arena.stated): step})
    return at.isel(R=at.admissible.values & np.isfinite(at.high.values)), not data.attrs["seeds"]


def _curves(
    statement: Statement, arena: Arena, at: xr.Dataset, full: bool
) -> tuple[list[_Curve], list[_Curve], list[dict[str, object]]]:
    """The bounds of a panel, the own one first; what is measured; the numbers of the corrected form."""
    R, mean = at.R.values, at["mean"].values
    bounds = [_Curve(f"{statement.form} bound", R, at.bound.values, BOUNDS[statement.form], at.bound.values / mean)]
    measured = [_Curve("measured", R, mean, MEASURED)]
    rows: list[dict[str, object]] = []
    if statement.sharpens:
        looser = catalogue.find(statement.sharpens)
        values = _at_these_steps(replace(arena, statement=looser.id), at)
        bounds.append(_Curve(f"{looser.form} bound", R, values, BOUNDS[looser.form], values / mean))
    least = catalogue.least(statement)
    if least is not None:
        bounds.append(_Curve("no bound can be lower", R, _value(least, arena, at), LEAST))
    form = _corrected_form(statement)
    if form and (twin := _corrected(arena, form, float(at[step_symbol(arena.stated)]), full)):
        corrected, its_own, where = twin
        own_R, values, its_mean = its_own.R.values, its_own.bound.values, its_own["mean"].values
        bounds.append(_Curve(f"corrected bound{where}", own_R, values, CORRECTED, values / its_mean))
        if where or not _same_quantity(at, its_own):
            measured.append(_Curve(f"measured{where or ', corrected form'}", own_R, its_mean, MEASURED_CORRECTED))
        rows = _rows(corrected, its_own)
    return bounds, measured, rows


def _shares(at: xr.Dataset) -> dict[str, float]:
    """The largest part of the bound that each term is, over R; largest first."""
    found = {str(t): float((at.terms.sel(term=t) / at.bound).max()) for t in at.term.values}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _main_terms(at: xr.Dataset, room: int) -> list[str]:
    """At most `room` terms, those that are the largest part of the bound somewhere; none that cannot be seen in it."""
    return [name for name, share in _shares(at).items() if share > _SEEN][:room]


def _word(term: str) -> str:
    """The name of a term in a legend."""
    return term.replace("_", " ")


def _percent(share: float) -> str:
    """A share, rounded up to what can be said with two digits: '0.3 %', '12 %'."""
    unit = 10.0 ** (np.floor(np.log10(100 * share)) - 1)
    return f"{np.ceil(100 * share / unit) * unit:.2g} %"


def _upper(
    axis: Any, at: xr.Dataset, bounds: list[_Curve], measured: list[_Curve], terms: Mapping[str, str], exact: bool
) -> None:
    """Bounds, the terms of the first one, and what is measured with its interval; what leaves the panel is marked."""
    lines = [*bounds, *measured]
    for curve in lines:
        axis.plot(curve.R, curve.values, label=curve.label, **curve.style)
    for name, colour in terms.items():
        axis.plot(
            at.R, at.terms.sel(term=name), color=colour, label=_word(name), **TERM, zorder=3
        )  # seen on top of the sum
    most = max(float(c.values.max()) for c in bounds)
    top = max(most, min(max(float(c.values.max()) for c in measured), _ABOVE * most))
    largest = [float(at.terms.sel(term=name).max()) for name in terms]  # every drawn term is visible somewhere
    bottom = max(min(*largest, *(float(c.values.min()) for c in lines)), top * _DEEPEST)
    if not exact:
        unseen = max(1e-300, bottom / 1000)  # below the panel
        label = f"{CONFIDENCE:.1%} interval"
        axis.fill_between(at.R, at.low.clip(min=unseen), at.high, label=label, **INTERVAL)
    axis.set(xscale="log", yscale="log", ylim=(bottom / 2, top * 2))
    few_marks(axis.yaxis)
    for curve in lines:
        grows = curve in measured and curve.values[-1] == curve.values.max()
        runs_off(axis, curve.R, curve.values, curve.style["color"], "diverges" if grows else "")


def _lower(axis: Any, bounds: list[_Curve]) -> None:
    """The bounds over what is measured: 1 where they meet."""
    drawn = [c for c in bounds if c.ratio is not None]
    ratios = np.concatenate([[1.0], *(c.ratio for c in drawn if c.ratio is not None)])
    low, high = max(float(ratios.min()), _LEAST_RATIO), min(float(ratios.max()), _LARGEST_RATIO)
    axis.axhline(1, color=RED, lw=0.8, ls=":")
    axis.set(xscale="log", yscale="log", xlabel="rounds R", ylim=(low / 1.3, high * 1.3))
    for curve in drawn:
        assert curve.ratio is not None
        axis.plot(curve.R, curve.ratio, **curve.style)
        runs_off(axis, curve.R, curve.ratio, curve.style["color"], "")
    few_marks(axis.yaxis, plain=True)


def few_marks(axis: Any, plain: bool = False) -> None:
    """No minor marks of a logarithmic axis; less than two decades in plain numbers, 1, 2, 5 ..., if so wanted."""
    low, high = axis.get_view_interval()
    if high > 100 * low:
        axis.set_minor_locator(NullLocator())
    elif plain:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())


Among = Callable[[Arena], bool]  # whether an arena may be shown; only these are measured


def pictures(ids: Iterable[str], among: Among = lambda arena: True, crossed: Collection[str] = ()) -> list[Picture]:
    """One picture for each statement, with the arenas that `panels` chooses.

    A sharper bound is drawn beside the one that it sharpens, which needs no picture of its own.

    crossed  the bounds that a measured curve in their figure is above; the tests compare it with the figures' numbers
    """
    chosen = tuple(ids)
    return [
        Picture(
            id_.replace(".", "_") + "_bound_against_run",
            _says(catalogue.find(id_), id_ in crossed),
            partial(_drawn, id_, among),
            (id_, *(looser for looser in (catalogue.find(id_).sharpens,) if looser and looser not in chosen)),
            partial(_measured, id_, among),
        )
        for id_ in chosen
    ]


def panels(arenas: Sequence[Arena], full: bool) -> list[Arena]:
    """At most three arenas: the tightest by exact expectation, the tightest other that holds, and the loosest run.

    The first is one that was made for the theorem, with two clients, if there are such.  Arenas of a few rounds are left out
    where there are longer ones.
    """
    ratios = {arena.label: tightest_ratio(arena, full) for arena in arenas}

    def looseness(arena: Arena) -> float:
        return ratios[arena.label]

    arenas = [a for a in arenas if not np.isnan(looseness(a))]  # the bound admits none of its step sizes
    exact = [a for a in arenas if a.kind == "moments"]
    exact = [a for a in exact if a.rounds > _FEW] or exact
    runs = [a for a in arenas if a.kind == "run"]
    first = min([a for a in exact if a.name.startswith("two ")] or exact or runs, key=looseness)
    others = sorted((a for a in (*exact, *runs) if looseness(a) >= 1 and a is not first), key=looseness)
    last = [a for a in reversed(others) if a.kind == "run"][:1]
    return list(dict.fromkeys([first, *others[:1], *last]))


def _measured(statement_id: str, among: Among) -> list[Arena]:
    paper = catalogue.find(statement_id).paper
    return [a for a in papers.arenas(paper) if a.statement == statement_id and among(a)]


def _drawn(statement_id: str, among: Among, full: bool = False) -> FigureData:
    return draw(statement_id, panels(_measured(statement_id, among), full), full)


def titled(name: str) -> str:
    """An arena's name as mathematics; '2 of 4 clients' and '8 rounds' are not broken."""
    together = re.sub(r"\d+ (of \d+ clients|rounds)", lambda found: found.group().replace(" ", "\u00a0"), name)
    return mathematics(together, _TITLE)


def y_label(paper: str, quantity: str) -> str:
    """The label of a quantity, in the paper's own symbols."""
    known = quantities(paper)[quantity].label
    if paper not in plugins.packages() or quantity in papers.quantities(paper):
        return known
    label = f"${catalogue.paper(paper).symbols[quantity].latex}$"
    try:
        MathTextParser("agg").parse(label)
    except ValueError:  # LaTeX that matplotlib does not know
        return known
    return label


def _title_of(statement: Statement) -> str:
    forms = {"printed": "", "corrected": ", corrected", "sharper": ", sharper"}
    form = forms[statement.form] + ", from the start" * (".from_start" in statement.id)
    faster = ", at twice the rate" * statement.id.endswith(".faster")
    return f"{statement.place}{form}{faster}"


_LOOKS = {
    "printed": "printed bound (black, solid)",
    "corrected": "corrected bound (blue, dash-dotted)",
    "sharper": "sharper bound (purple, dashed)",
}


def _says(statement: Statement, crossed: bool) -> str:
    """What to see: the tests compare it with the figure's numbers."""
    own = _LOOKS[statement.form]
    if crossed:
        told = f"{_title_of(statement)}: the measured curve (vermilion) rises above the {own}."
    else:
        told = (
            f"{_title_of(statement)}: the measured curve (vermilion) stays below the {own} in every "
            "panel; the lower row shows the factor between them."
        )
    if statement.sharpens:
        told += f" The {_LOOKS[catalogue.find(statement.sharpens).form]} is the bound that it sharpens."
    elif _corrected_form(statement) is not None:
        told += (
            f" The {_LOOKS['corrected']} is drawn at the same step size, or at its own where it does not admit it; no "
            "measured curve rises above it."
        )
    return told


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


def _corrected_form(printed: Statement) -> Statement | None:
    """The corrected form of a printed bound; None without one, and if it corrects only the assumptions."""
    ours = [id_ for id_ in catalogue.corrected_by(printed.id) if id_.endswith(".corrected")]
    if not ours:
        return None
    (found,) = map(catalogue.find, ours)
    return None if (found.claim, found.where) == (printed.claim, printed.where) else found


def _corrected(arena: Arena, statement: Statement, step: float, full: bool) -> tuple[Arena, xr.Dataset, str] | None:
    """The arena of the corrected form of a bound with its data, and where it differs: at the same learning rate, or "".

    It is the corrected form's own arena of the same name, which may have a corrected algorithm; else the printed one's.
    Where the corrected form does not admit the learning rate, its own arena is taken at its tightest step size; None if it
    has none.
    """
    named = [a for a in papers.arenas(statement.paper) if (a.statement, a.name) == (statement.id, arena.name)]
    twin = at_same_rate(arena, step, (*named, replace(arena, statement=statement.id))[0])
    if twin is not None:
        data = confront(twin, statement, full).isel({step_symbol(twin.stated): 0})
        return twin, data.isel(R=data.admissible.values), ""
    if not named:
        return None
    return named[0], _tightest(named[0], statement, full)[0], ", own step size"


def _same_quantity(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Whether both measure the same quantity: two forms of a bound may have different averaging weights."""
    common = np.intersect1d(one.R, other.R)
    return bool(np.allclose(one["mean"].sel(R=common), other["mean"].sel(R=common), rtol=1e-6))
