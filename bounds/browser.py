"""Bounds for a browser: formulas as JavaScript from the same symbolic objects, starts of sliders, measurements of arenas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.jscode import JavascriptCodePrinter

from fedtheory.bounds import papers
from fedtheory.bounds.evaluation import closed, evaluate, in_domain, parameters
from fedtheory.bounds.trials.arena import Arena, confront, definitions, step_symbol, with_lengths
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Statement, Symbol


class _JavaScript(JavascriptCodePrinter):
    """A symbol becomes an entry of the argument `v`."""

    def _print_Symbol(self, e: sympy.Symbol) -> str:
        return f"v[{json.dumps(e.name)}]"

    def _print_Pow(self, e: sympy.Pow) -> str:
        # Math.cbrt, which sympy would write, gives numbers for negative bases, where the power has none
        if e.exp == sympy.Rational(1, 3):
            return f"Math.pow({self._print(e.base)}, 1/3)"
        return str(super()._print_Pow(e))


def javascript(expression: sympy.Expr) -> str:
    """An expression as a JavaScript function of its symbols by name: 2*L -> function(v){return 2*v["L"];}.

    Raises ValueError for an expression with a function that JavaScript does not have.
    """
    try:
        return f"function(v){{return {_JavaScript().doprint(closed(expression))};}}"
    except PrintMethodNotImplementedError as error:
        raise ValueError(f"{expression}: expected functions that JavaScript has") from error


@dataclass(frozen=True)
class Slider:
    """A symbol of a bound: the ends of its logarithmic range, and its start."""

    symbol: Symbol
    low: float
    high: float
    start: float


# The start of a symbol if the conditions allow it; other counts start at 4, other symbols at 1
_USUAL = {
    "M": 10.0, "S": 5.0, "N": 5.0, "K": 5.0, "R": 1000.0, "T": 1000.0, "tau": 5.0, "mu": 0.1, "eta": 0.01, "eta_tilde": 0.05,
    "eta_t": 0.01, "beta": 0.5, "d": 10.0, "m": 2.0, "kappa": 10.0, "p_sq": 0.2, "alpha": 2.0, "s": 2.0,
}  # fmt: skip
LENGTHS = ("R", "T")  # lengths of a run
_DRAWS = 10_000  # random points to search for a start inside the conditions
_DECADES = 4  # on either side of the usual value
_EDGE = 1e-3  # how far a slider stays from a limit that is excluded, relative to it


def tied(statement: Statement) -> dict[str, sympy.Expr]:
    """Symbols that a condition sets equal to an expression, such as S = M: they have no slider."""
    return {
        c.relation.lhs.name: c.relation.rhs
        for c in statement.when
        if c.relation.rel_op == "==" and isinstance(c.relation.lhs, sympy.Symbol)
    }


def with_tied(statement: Statement, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, and those of the tied symbols."""
    found = dict(values)
    for name, expression in tied(statement).items():
        free = sorted(expression.free_symbols, key=str)
        with np.errstate(all="ignore"):  # such as 1/(1 - lambda) at lambda = 1, which no condition admits
            value = sympy.lambdify(free, expression, "numpy")(*(found[s.name] for s in free))
            found[name] = value + 0 * next(iter(values.values()))  # in the shape of the others
    return found


def sliders(statement: Statement) -> list[Slider]:
    """A slider for each symbol that is not tied; they start inside the conditions if such a point is found.

    The start is at the usual values where the conditions admit them.  Else it is the nearest admitted point, in
    logarithms, among random ones, the same at every call.
    """
    symbols = [s for s in parameters(statement) if s.name not in tied(statement)]
    ends = [_ends(s, statement) for s in symbols]
    start = np.array([[_usual(s) for s in symbols]])
    if not _admitted(statement, symbols, start)[0]:
        points = _around(symbols, ends)
        inside = _admitted(statement, symbols, points)
        if inside.any():
            far = np.abs(np.log10(points / start)).sum(1)
            start = points[[np.argmin(np.where(inside, far, np.inf))]]
    return [Slider(s, *e, float(x)) for s, e, x in zip(symbols, ends, start[0], strict=True)]


def _usual(symbol: Symbol) -> float:
    return _USUAL.get(symbol.name, 4.0 if symbol.sympy.is_integer else 1.0)


def _ends(symbol: Symbol, statement: Statement) -> tuple[float, float]:
    """The range of a symbol's slider, within the conditions that are about this symbol alone, such as alpha >= 1."""
    low, high = _usual(symbol) / 10**_DECADES, _usual(symbol) * 10 ** (_DECADES - 1)
    if symbol.sympy.is_integer:
        low, high = 1.0, 1e6 if symbol.name in LENGTHS else 1e3
    for relation in (c.relation.canonical for c in statement.when):
        if relation.lhs == symbol.sympy and relation.rhs.is_number and (number := float(relation.rhs)) > 0:
            inside = {">=": 1.0, ">": 1 + _EDGE, "<=": 1.0, "<": 1 - _EDGE}.get(relation.rel_op, 1.0) * number
            low = max(low, inside) if relation.rel_op in (">=", ">") else low
            high = min(high, inside) if relation.rel_op in ("<=", "<") else high
    return low, high


def _around(symbols: Sequence[Symbol], ends: Sequence[tuple[float, float]]) -> np.ndarray:
    """Random points around the usual values, (number, symbols); some symbols keep their usual value."""
    rng = np.random.default_rng(0)
    shape = (_DRAWS, len(symbols))
    moved = rng.uniform(-1, 1, shape) * rng.uniform(0, _DECADES, (_DRAWS, 1)) * (rng.random(shape) < 0.5)
    low, high = np.log10(ends).T
    points = 10 ** np.clip(np.log10([_usual(s) for s in symbols]) + moved, low, high)
    size = 10 ** (np.floor(np.log10(points)) - 1)  # two significant digits, as a person would type them
    points = np.round(points / size) * size
    counts = [bool(s.sympy.is_integer) for s in symbols]
    points[:, counts] = np.maximum(1, np.round(points[:, counts]))
    return points


def _admitted(statement: Statement, symbols: Sequence[Symbol], points: np.ndarray) -> np.ndarray:
    """Whether all conditions hold at each point, and all terms are numbers there."""
    values = with_tied(statement, {s.name: points[:, i] for i, s in enumerate(symbols)})
    inside: np.ndarray = np.all([in_domain(s, values[s.name]) for s in parameters(statement)], axis=0)
    if inside.any():
        found = evaluate(statement.id, strict=False, **{name: x[inside] for name, x in values.items()})
        inside[inside] = np.isfinite(list(found.terms.values())).all(0) & found.admissible
    return inside


def following(statement: Statement) -> dict[str, Any] | None:
    """The run that follows the sliders of a bound of the paper on SFL and PFL; None where there is none.

    method    "SFL" or "PFL"
    measures  what is measured: "gap_average", or "grad_sq", of which the smallest so far counts
    rate      the learning rate eta; ratio: w_(r-1) / w_r of the averaging weights; both as expressions in its symbols

    `follow.js` computes it, on quadratics that have the values of the sliders as constants.
    """
    own = (a for a in papers.arenas("sfl") if a.statement == statement.id)
    methods = {type(a.algorithm(eta=1.0)) for a in own} & {SFL, PFL}
    if statement.paper != "sfl" or not methods:
        return None
    (method,), symbols, defined = methods, catalogue.symbols(statement), definitions(statement)
    recorded = quantities("sfl")[statement.claim_of(Bound).quantity.name].recorded
    rate = symbols["eta_tilde"].sympy / (defined["eta_tilde"] / symbols["eta"].sympy)
    w, r = defined.get("w_r", sympy.S.One), symbols["r"].sympy
    ratio = sympy.simplify(w.subs(r, r - 1) / w)
    return {"method": method.__name__, "measures": recorded, "rate": rate, "ratio": ratio}


@dataclass(frozen=True)
class ArenaCurve:
    """The measurement of an arena at one step size.

    step              the symbol of the step size
    symbols           the symbols of the bound that are constant along the curve, with values
    along             symbol -> its values along the curve: R, and symbols that the statement defines by it, such as T
    mean, low, high   of the bounded quantity, with the ends of the confidence interval; all equal where it is exact
    seeds             0 for an exact expectation
    """

    arena: str
    step: str
    seeds: int
    symbols: dict[str, float]
    along: dict[str, list[float]]
    mean: list[float]
    low: list[float]
    high: list[float]


def curves(statement: Statement, full: bool = False) -> list[ArenaCurve]:
    """The curves of a statement's arenas."""
    own = [a for a in papers.arenas(statement.paper) if a.statement == statement.id]
    return [curve for arena in own for curve in _of_arena(arena, statement, full)]


def _of_arena(arena: Arena, statement: Statement, full: bool) -> list[ArenaCurve]:
    data, name = confront(arena, statement, full), step_symbol(statement)
    wanted = [s.name for s in parameters(statement)]
    found = []
    for i, step in enumerate(data[name].values):
        at = data.isel({name: i})
        at = at.isel(R=at.admissible.values & np.isfinite(at.high.values))
        values = with_lengths(statement, {name: float(step), **data.attrs["constants"], "R": at.R.values.astype(float)})
        along = {symbol: x.tolist() for symbol in wanted if np.ndim(x := values[symbol])}
        if at.R.size:
            symbols = {symbol: float(values[symbol]) for symbol in wanted if symbol not in along}
            numbers = (at[part].values.tolist() for part in ("mean", "low", "high"))
            found.append(ArenaCurve(arena.name, name, int(data.attrs["seeds"]), symbols, along, *numbers))
    return found
