"""A bound in numbers: compiled once to numpy, evaluated on numbers or arrays, an error outside its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.relational import Relational
from sympy.printing.numpy import NumPyPrinter

from fedtheory.simulations.checked import brief, reals, truth
from fedtheory.theory import catalogue
from fedtheory.theory.printing import plain
from fedtheory.theory.statement import Bound, Condition, Order, Relations, Statement, Symbol

Number = float | NDArray[np.float64]
_PRINTER = NumPyPrinter({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})


class ConditionViolated(ValueError):
    """A bound was evaluated outside its conditions; names each violated condition with the values passed."""


@dataclass(frozen=True)
class BoundValue:
    """A statement in numbers.

    value       the sum of a bound's terms, or the value of a definition: float, or an array of the parameters' common
                shape; None for a condition, whose parts are the sides of its relations and have no sum
    terms       name -> value, in printed order
    violations  one line for each condition that is violated (somewhere, for arrays)
    admissible  where all conditions hold: bool, or an array of the common shape
    """

    value: Any
    terms: dict[str, Any]
    violations: list[str]
    admissible: Any

    def _repr_markdown_(self) -> str:
        """For a notebook: the terms and their sum as a table, and the conditions that are violated."""
        value = {} if self.value is None else {"**value**": self.value}
        rows = [f"| {name} | {number} |" for name, number in {**self.terms, **value}.items()]
        return "\n".join(["| term | value |", "|---|---|", *rows, "", *self.violations])


@dataclass(frozen=True)
class Compiled:
    """A statement's terms and conditions as numpy functions of its parameters.

    defined  the expression of a definition; None for a bound, whose value is the sum of its terms, and for a condition
    """

    statement: Statement
    parameters: tuple[Symbol, ...]
    terms: dict[str, Callable[..., Any]]
    defined: Callable[..., Any] | None
    conditions: tuple[tuple[Condition, Callable[..., Any], Callable[..., Any]], ...]  # with left and right side


def has_terms(statement: Statement) -> bool:
    """Whether the statement has terms to evaluate: those of a bound or an order, or named parts of relations."""
    return isinstance(statement.claim, Bound | Order | Relations) and bool(statement.claim.terms)


def claim_of(statement: Statement) -> Bound | Order | Relations:
    """The statement's bound, or its relations with named parts.  Raises ValueError for a statement without terms."""
    if not (isinstance(statement.claim, Bound | Order | Relations) and statement.claim.terms):
        kind = type(statement.claim).__name__.lower()
        raise ValueError(
            f"{statement.id} is no bound but of kind {statement.kind} ({kind}): expected a statement with terms to evaluate"
        )
    return statement.claim


def definition(claim: Bound | Order | Relations) -> sympy.Expr | None:
    """The expression of a definition; None for a bound and for a condition."""
    return claim.defined if isinstance(claim, Relations) else None


def adds_up(claim: Bound | Order | Relations) -> bool:
    """Whether the value is the sum of the terms: yes for a bound or an order, no for parts of relations."""
    return not isinstance(claim, Relations)


def parameters(statement: Statement) -> tuple[Symbol, ...]:
    """The parameters of a bound: the symbols of its terms and conditions, in the order of the paper's table."""
    claim = claim_of(statement)
    values = [t.value for t in claim.terms] + [e for e in [definition(claim)] if e is not None]
    free = set().union(*(value.free_symbols for value in values))
    free |= set().union(*(c.relation.free_symbols for c in statement.when))
    return tuple(s for s in catalogue.symbols(statement).values() if s.sympy in free)


def closed(expression: sympy.Expr) -> sympy.Expr:
    """The expression with sums evaluated; a sum in closed form is factored, so that an empty one is exactly zero."""
    return sympy.factor(expression.doit()) if expression.has(sympy.Sum) else expression


def compiled(id_: str) -> Compiled:
    """The statement with this id, compiled (once).  Raises UnknownName, ValueError."""
    return _compiled(catalogue.find(id_).id)


@cache
def _compiled(id_: str) -> Compiled:
    return compile_statement(catalogue.find(id_))


def compile_statement(statement: Statement) -> Compiled:
    """Compile a statement that need not be in the catalogue, such as a sharpened one."""
    claim, table = claim_of(statement), parameters(statement)
    symbols = [s.sympy for s in table]

    def function(expression: sympy.Expr) -> Callable[..., Any]:
        e = closed(expression)
        if any(type(f).__module__.startswith("sympy.functions.special") for f in e.atoms(sympy.Function)):
            how: dict[str, Any] = {"modules": ["scipy", "numpy"]}
        else:  # what is loaded of numpy is enough; its name would load all of it
            how = {"modules": [vars(np)], "printer": _PRINTER}
        compiled_function: Callable[..., Any] = sympy.lambdify(symbols, e, **how)
        return compiled_function

    return Compiled(
        statement,
        table,
        {t.name: function(t.value) for t in claim.terms},
        None if (defined := definition(claim)) is None else function(defined),
        tuple((c, function(c.relation.lhs), function(c.relation.rhs)) for c in statement.when),
    )


_DIGITS = 700  # more than the doubles span
_MOST_POINTWISE = 5000  # points of an array that are evaluated one by one where doubles overflow
# Conditions are checked up to rounding: 1/(6L) computed by the caller must not fail eta_tilde <= 1/(6L).
ROUNDING = 1e-12
_EQUAL = 1e-12  # sides that are relatively closer are compared in many digits
_MANY, _SOME = 200, 25  # how many; of points in a row where the sides are so close, one in 25 is tried first


HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "==": partial(np.isclose, rtol=ROUNDING, atol=0.0),  # 1/(1-lambda) - 1 of the caller equals lambda/(1-lambda)
}


def relation_at(
    relation: Relational,
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    symbols: tuple[sympy.Symbol, ...],
    at: Sequence[NDArray[np.float64]],
    room: float = ROUNDING,
) -> NDArray[np.bool_]:
    """Where a condition holds, from its sides in doubles at these numbers, one for each symbol.

    Sides that are relatively closer than 1e-12 are compared in many digits, but for <= and >= with the given relative room.
    """
    op = relation.rel_op
    more = {"<=": room, ">=": -room}.get(op)
    found = np.array(HOLDS[op](left, right + more * np.abs(right) if more else right))
    strict = op in ("<", ">") or not room
    close = np.flatnonzero((np.abs(left - right) <= _EQUAL * np.abs(right)) & np.isfinite(right)) if strict else ()
    if op == "==" or not len(close):
        return found
    shape, flat = found.shape, found.reshape(-1)
    free = relation.free_symbols
    points = [np.broadcast_to(a if s in free else 0.0, shape).reshape(-1) for s, a in zip(symbols, at, strict=True)]

    def in_digits(i: int) -> bool:
        with mpmath.workdps(_MANY):
            try:
                return bool(_by_mpmath(relation, symbols)(*(mpmath.mpf(float(a[i])) for a in points)))
            except ZeroDivisionError:  # doubles are infinite there
                return bool(flat[i])
            except TypeError:  # not real
                return False

    for row in np.split(close, np.flatnonzero(np.diff(close) > 1) + 1):
        some = [in_digits(i) for i in (*row[::_SOME], row[-1])]
        flat[row] = some[0] if all(some) or not any(some) else [in_digits(i) for i in row]
    return flat.reshape(shape)


@cache
def _by_mpmath(relation: Relational, symbols: tuple[sympy.Symbol, ...]) -> Callable[..., Any]:
    found: Callable[..., Any] = sympy.lambdify(symbols, relation, "mpmath")
    return found


def evaluate(statement: str | Statement | Compiled, /, strict: bool = True, **values: Any) -> BoundValue:
    """Evaluate a bound at numbers or arrays (which broadcast) given by the paper's ASCII names.

    A symbol that stands for a list, such as the clients' shares p, takes one list.

    statement  an id (compiled once), or a statement, such as a sharpened one (compiled at each call)
    strict     True: raise ConditionViolated when a condition is violated anywhere; False: return the number
               anyway, with the violations listed

    Raises UnknownName for an unknown id, ValueError for a statement without terms, for missing, unknown, NaN or
    out-of-domain parameters, each naming what was passed and what was expected.
    """
    if isinstance(statement, Statement):
        statement = compile_statement(statement)
    elif not isinstance(statement, Compiled):
        statement = compiled(statement)
    strict = truth("strict", strict)
    arrays = _checked(statement, _of_lists(statement.statement, values))
    ordered = [arrays[s.name] for s in statement.parameters]
    try:
        shape = np.broadcast_shapes(*(a.shape for a in ordered))
    except ValueError:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in arrays.items() if a.shape)
        raise ValueError(f"{statement.statement.id}: {brief(shapes)}: expected shapes that broadcast") from None
    violations, admissible = [], np.ones(shape, dtype=bool)
    symbols = tuple(s.sympy for s in statement.parameters)
    # Values outside the conditions may divide by zero; they are reported, so numpy need not warn.
    with np.errstate(all="ignore"):
        for condition, left, right in statement.conditions:
            a, b = (np.asarray(side(*ordered), dtype=float) for side in (left, right))
            holds = np.broadcast_to(relation_at(condition.relation, a, b, symbols, ordered), shape)
            if not holds.all():
                violations.append(_violation(condition, holds, dict(zip(arrays, ordered, strict=True))))
                admissible &= holds
        if violations and strict:
            raise ConditionViolated(f"{statement.statement.id}: " + "; ".join(violations))
    claim = claim_of(statement.statement)
    terms = {t.name: _number(statement.terms[t.name], t.value, symbols, ordered, shape) for t in claim.terms}
    value = None
    if statement.defined is not None:
        value = _number(statement.defined, cast(sympy.Expr, definition(claim)), symbols, ordered, shape)
    elif adds_up(claim):
        with np.errstate(invalid="ignore"):  # outside the conditions terms may be infinite
            value = np.sum(np.stack(list(terms.values())), axis=0)
    if not shape:
        number = None if value is None else float(value)
        return BoundValue(number, {n: float(t) for n, t in terms.items()}, violations, bool(admissible))
    return BoundValue(value, terms, violations, admissible)


def _number(
    function: Callable[..., Any],
    expression: sympy.Expr,
    symbols: Sequence[sympy.Symbol],
    at: Sequence[NDArray[np.float64]],
    shape: tuple[int, ...],
) -> NDArray[np.float64]:
    """A compiled expression at these numbers, one for each symbol.

    Where doubles overflow on the way, or for single numbers underflow, the expression is evaluated with mpmath: the
    result can be of ordinary size, as in a / (b c) with b c = 1e310.
    """
    beyond: list[str] = []
    how = {"divide": "ignore", "invalid": "ignore", "over": "call", "under": "call"}
    with np.errstate(**how, call=lambda kind, _: beyond.append(kind)):  # type: ignore[arg-type]
        found = np.broadcast_to(np.asarray(function(*at), float), shape)
    if not shape and beyond:
        number = _in_digits(expression, symbols, at)
        vanishes = abs(number) < np.finfo(float).tiny and np.isfinite(found)
        return found if vanishes or np.isnan(number) else np.asarray(number)
    if "overflow" in beyond and found.size <= _MOST_POINTWISE:
        flat = [np.broadcast_to(a, shape).ravel() for a in at]
        points = [[np.asarray(a[i]) for a in flat] for i in range(found.size)]
        return np.array([_number(function, expression, symbols, point, ()) for point in points]).reshape(shape)
    return found


def _in_digits(expression: sympy.Expr, symbols: Sequence[sympy.Symbol], at: Sequence[NDArray[np.float64]]) -> float:
    """The nearest double to an expression at these numbers; infinite beyond the largest, NaN where it is not defined."""
    with mpmath.workdps(_DIGITS):
        try:
            found = sympy.lambdify(symbols, closed(expression), "mpmath")(*(mpmath.mpf(float(a)) for a in at))
        except ZeroDivisionError:
            return np.nan
        if not isinstance(found, mpmath.mpf):
            return np.nan
        try:
            return float(found)
        except OverflowError:
            return float(np.inf if found > 0 else -np.inf)


def _of_lists(statement: Statement, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with a list replaced by the number that the bound needs of it, such as sum p_k^2 of the shares p."""
    found = dict(values)
    for symbol, listed in catalogue.paper(statement.paper).lists.items():
        if symbol in found and listed.needed not in found:
            numbers = np.atleast_1d(reals(symbol, found.pop(symbol))).tolist()
            found[listed.needed] = listed.checked(symbol, numbers, found)
    return found


def _checked(statement: Compiled, values: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """The parameters as float arrays, in table order; raises ValueError on the first thing that is wrong."""
    id_, expected = statement.statement.id, [s.name for s in statement.parameters]
    surplus = [name for name in values if name not in expected]
    if surplus:
        raise ValueError(f"{id_} has no parameter {brief(', '.join(surplus))}; expected {', '.join(expected)}")
    missing = [name for name in expected if name not in values]
    if missing:
        raise ValueError(f"{id_} needs {', '.join(missing)} too; expected {', '.join(expected)}")
    arrays = {}
    for s in statement.parameters:
        a = reals(s.name, values[s.name], f"{s.domain} ({s.meaning})")
        bad = ~in_domain(s, a)
        if bad.any():
            raise ValueError(f"{s.name} = {a[bad].flat[0] if a.ndim else a}: expected {s.domain} ({s.meaning})")
        arrays[s.name] = a
    return arrays


def in_domain(symbol: Symbol, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where the values are numbers that the symbol may take."""
    inside: NDArray[np.bool_] = np.isfinite(values)
    if symbol.sympy.is_positive:
        inside &= values > 0
    elif symbol.sympy.is_nonnegative:
        inside &= values >= 0
    if symbol.sympy.is_integer:
        inside &= values == np.round(values)
    return inside


def _violation(condition: Condition, holds: NDArray[np.bool_], values: Mapping[str, NDArray[np.float64]]) -> str:
    """'eta_tilde <= 1/(6*L) is violated at L=1, eta_tilde=0.5', at the first offending point."""
    where = np.unravel_index(int(np.argmin(holds)), holds.shape)
    names = sorted(s.name for s in condition.relation.free_symbols)
    at = ", ".join(f"{n}={np.broadcast_to(values[n], holds.shape)[where]:g}" for n in names)
    more = "" if holds.size == 1 else f" ({(~holds).sum()} of {holds.size} points)"
    return f"{condition} is violated at {at}{more}"


def formula(statement: Statement) -> str:
    """The value as one line of ASCII; a condition has no value, so its parts are listed instead."""
    claim = claim_of(statement)
    defined = definition(claim)
    if defined is not None:
        return plain(defined)
    return (" + " if adds_up(claim) else ", ").join(plain(t.value) for t in claim.terms)
