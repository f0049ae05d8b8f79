"""Dimensional analysis: each rule, and for every statement a wrong dimension that is refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sympy
from sympy import Rational, Sum, exp, log, sqrt

from fedtheory.theory import catalogue
from fedtheory.theory.names import UnknownName
from fedtheory.theory.notation import Bregman, Expectation, Grad, Inner, Norm, Value
from fedtheory.theory.proofs import units
from fedtheory.theory.proofs.units import UnitsError, dimension
from fedtheory.theory.sfl.symbols import (
    A,
    D,
    F_fun,
    F_m,
    F_star,
    K,
    L,
    M,
    R,
    S,
    T,
    beta,
    drift_mk,
    eta_tilde,
    gap,
    k,
    m,
    min_grad_sq,
    mu,
    n,
    sigma,
    x,
    x_star,
    y,
    zeta_star,
)
from fedtheory.theory.statement import NUMBER, Bound, F, Order, Relations, Statement, Status, Words, X

TABLE = catalogue.paper("sfl").symbols
e_i = sympy.IndexedBase("e", real=True)

RULES: list[tuple[str, sympy.Expr, sympy.Expr]] = [
    ("symbol", L, F / X**2),
    ("number", Rational(9, 2), NUMBER),
    ("transcendental number", exp(-Rational(1, 2)), NUMBER),
    ("product", L * eta_tilde * D**2, X**2),
    ("quotient", A / L, X**2),
    ("integer power", sigma**2, F**2 / X**2),
    ("root", sqrt(A / L), X),
    ("fractional power", (L * sigma**2 * D**4) ** Rational(1, 3), F),
    ("power of a number", (1 - mu * eta_tilde / 2) ** (-T), NUMBER),
    ("sum", sigma**2 / (M * K) + zeta_star**2, F**2 / X**2),
    ("sum with zero-dimensional parts", 1 - mu / L, NUMBER),
    ("exponential", mu * D**2 * exp(-mu * eta_tilde * R / 2), F),
    ("logarithm", log(L / mu), NUMBER),
    ("maximum", sympy.Max(mu, L), F / X**2),
    ("minimum", sympy.Min(1 / L, eta_tilde), X**2 / F),
    ("absolute value", sympy.Abs(sympy.Symbol("inner_sum", real=True)), F),
    ("summation", Sum(k**2 * sigma, (k, 0, K - 1)), F / X),
    ("indexed symbol", e_i[m], F / X),
    ("expectation", Expectation(Norm(x) ** 2), X**2),
    ("norm", Norm(x - y), X),
    ("gradient", Grad(F_m, x), F / X),
    ("value", Value(F_fun, x) - F_star, F),
    ("divergence", Bregman(F_m, x, y), F),
    ("inner product", Inner(Grad(F_m, x), x - y), F),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), [r[1:] for r in RULES], ids=[r[0] for r in RULES])
def test_a_rule(expression: sympy.Expr, expected: sympy.Expr) -> None:
    assert sympy.simplify(dimension(expression, TABLE) / expected) == 1


WRONG: list[tuple[str, sympy.Expr, str]] = [
    ("sum", sigma + A, "has dimension .* has dimension"),
    ("number added", mu * D**2 + 1, "has dimension .* has dimension"),
    ("maximum", sympy.Max(mu, sigma), "has dimension .* has dimension"),
    ("exponential", exp(-eta_tilde * R), "the argument of exp has dimension"),
    ("logarithm", log(L), "the argument of log has dimension"),
    ("power", L**K, "a power that is not a number"),
    ("exponent", (1 - mu / L) ** (L), "the exponent of .* has dimension"),
    ("divergence between unlike points", Bregman(F_m, x, F_star), "has dimension .* has dimension"),
    ("inside a norm", Norm(x - Grad(F_m, x)), "has dimension .* has dimension"),
    ("inside a summation", Sum(sigma + A, (k, 0, K)), "has dimension .* has dimension"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_mismatch_is_named(expression: sympy.Expr, message: str) -> None:
    with pytest.raises(UnitsError, match=message):
        dimension(expression, TABLE)


def test_what_has_no_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="no rule for the dimension of sin"):
        dimension(sympy.sin(beta), TABLE)
    with pytest.raises(UnknownName, match="unknown symbol"):
        dimension(sympy.Symbol("undeclared"), TABLE)


def edited(id_: str, term: str, change: Callable[[sympy.Expr], sympy.Expr]) -> Statement:
    statement = catalogue.find(id_)
    claim = statement.claim
    assert isinstance(claim, Bound | Order) and term in [t.name for t in claim.terms]
    terms = tuple(replace(t, value=change(t.value)) if t.name == term else t for t in claim.terms)
    return statement.with_claim(replace(claim, terms=terms))


def test_what_units_cannot_see_is_proved_all_the_same() -> None:
    for change in (lambda t: 2 * t, lambda t: t * K, lambda t: t * L / mu):
        assert units.check(edited("sfl.eq42", "noise", change)).status is Status.PROVED


def test_conditions_and_definitions_are_checked_too() -> None:
    statement = catalogue.find("sfl.eq42")
    first, *others = statement.when
    wrong = replace(first, relation=eta_tilde <= 1 / (6 * L**2))
    assert units.check(replace(statement, when=(wrong, *others))).witness["where"].startswith("condition")
    assert units.check(replace(statement, where={eta_tilde: S * K})).witness["where"] == "definition of eta_tilde"


# --- Every statement -------------------------------------------------------------------------------------------------

EVIDENCE = [e for paper in catalogue.papers() for e in units.evidence(paper)]
# paper_check.md says which are refuted
RIGHT = [e.statement for e in EVIDENCE if units.check(catalogue.find(e.statement)).status is Status.PROVED]


def test_every_condition_and_definition_counts_wherever_it_stands() -> None:
    """Each with L too many on its left side, behind the first as it is; the claims, which cost time, left out."""
    later = 0
    for statement in map(catalogue.find, RIGHT):
        smoothness = catalogue.symbols(statement)["L"].sympy
        bare = replace(statement, claim=Words(""), also=())
        assert units.check(bare).status is Status.PROVED
        for i, c in enumerate(bare.when):
            if 0 in c.relation.args:  # zero has every dimension
                continue
            wrong = replace(c, relation=c.relation.func(smoothness * c.relation.lhs, c.relation.rhs, evaluate=False))
            found = units.check(replace(bare, when=(*bare.when[: min(i, 1)], wrong), where={}))
            assert found.status is Status.REFUTED and found.witness["where"] == f"condition {wrong}", statement.id
            later += i > 0
        for symbol, value in bare.where.items():
            if value != 0:
                found = units.check(replace(bare, when=bare.when[:1], where={**bare.where, symbol: smoothness * value}))
                assert found.status is Status.REFUTED, (statement.id, symbol)
                assert found.witness["where"] == f"definition of {symbol}"
    assert later > 300


def heavier(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """The statement with one term, or one side of one relation, multiplied by L."""
    claim = statement.claim
    smoothness = catalogue.symbols(statement)["L"].sympy
    if isinstance(claim, Bound | Order):
        for t in claim.terms:
            yield t.name, edited(statement.id, t.name, lambda value: value * smoothness)
    for place, one in enumerate((claim, *statement.also)):
        if not isinstance(one, Relations):
            continue
        for at, r in enumerate(one.relations):
            if 0 in r.args:  # zero has every dimension
                continue
            relations = [*one.relations]
            relations[at] = r.func(smoothness * r.args[0], r.args[1], evaluate=False)
            changed = replace(one, relations=tuple(relations))
            also = (*statement.also[: place - 1], changed, *statement.also[place:])
            yield str(r), replace(statement, also=also) if place else statement.with_claim(changed)


@pytest.mark.parametrize("id_", RIGHT)
def test_a_dimension_too_many_is_refuted(id_: str) -> None:
    mutants = list(heavier(catalogue.find(id_)))
    assert mutants
    for what, mutant in mutants:
        assert units.check(mutant).status is Status.REFUTED, what


def test_quantities_have_the_dimension_of_what_they_measure() -> None:
    assert dimension(gap, TABLE) == dimension(Value(F_fun, x) - Value(F_fun, x_star), TABLE)
    assert dimension(min_grad_sq, TABLE) == dimension(Norm(Grad(F_fun, x)) ** 2, TABLE)
    assert dimension(drift_mk, TABLE) == dimension(Norm(x - y) ** 2, TABLE)
    assert dimension(n, TABLE) == NUMBER


def test_symbols_in_another_meaning_have_the_dimension_that_is_told() -> None:
    statement = catalogue.find("fedbcgd.thm1.nonconvex")
    assert units.check(statement).status is Status.PROVED
    assert units.check(replace(statement, reads={})).status is Status.REFUTED
