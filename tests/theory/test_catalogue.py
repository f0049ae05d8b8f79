"""The catalogue: complete, closed, acyclic, printable; and the printed constants, typed a second time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.catalogue import UnknownName
from fedtheory.theory.printing import claim_latex, claim_words, in_line, is_sum, latex, plain, unicode
from fedtheory.theory.statement import Bound, Order, Paper, Rates, Relations, Statement, Words, at_most

STATEMENTS = catalogue.statements()
EVERY = pytest.mark.parametrize("statement", STATEMENTS, ids=[s.id for s in STATEMENTS])


def formulas(statement: Statement) -> Iterator[sympy.Basic]:
    """Everything symbolic that a statement holds."""
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound | Order):
            yield claim.quantity
            yield from (t.value for t in claim.terms)
        elif isinstance(claim, Relations):
            yield from claim.relations
            yield from (value for _, value in claim.parts)
        elif isinstance(claim, Words):
            yield from claim.formulas
        elif isinstance(claim, Rates):
            yield from (e for rate in claim.rates for e in (rate.rounds, rate.steps, *rate.given))
    yield from (c.relation for c in statement.when)
    for symbol, value in statement.where.items():
        yield symbol
        yield value
    if statement.applies is not None:
        yield from statement.applies.substitution.values()


# Printed in a proof with another condition, or another right side, than in the statement; the inventory has one id for both
SECOND_VERSIONS = {"fedbcgd.lemma17.proof", "fedbcgd.thm2.general_convex.proof"}
# Sentences and displays of the text that the inventory leaves out
NOT_IN_THE_INVENTORY = {
    "sfl.asm.independent",
    "fedcom.problem", "fedcom.asm.damped", "fedbat.balanced", "fedbat.eq27.recursion",
    "fedcom.claim.tab5", "fedcom.claim.tab6", "fedcom.claim.deterministic", "fedcom.thmE6.eq83",
}  # fmt: skip


@pytest.mark.parametrize("paper", catalogue.papers())
def test_the_ids_are_those_of_the_inventory(paper: str) -> None:
    inventory = (Path(__file__).parents[1] / "data" / f"{paper}_ids.txt").read_text().split()
    own = catalogue.statements(paper)
    assert len(set(inventory)) == len(inventory)
    assert {s.id for s in own if not s.ours} - SECOND_VERSIONS - NOT_IN_THE_INVENTORY == set(inventory)
    assert all(
        of in {*inventory, *NOT_IN_THE_INVENTORY, *(o.id for o in own if o.corrects and s.sharpens)}
        and s.id.startswith(f"{of}.")
        for s in own
        if (of := s.corrects or s.sharpens)
    )


def test_what_a_statement_refers_to_exists() -> None:
    known = {s.id: s for s in STATEMENTS}
    for s in STATEMENTS:
        assert set(s.assumes) | set(s.rests_on) <= set(known), s.id
        assert all(known[a].kind == "assumption" for a in s.assumes), s.id
        assert len(set(s.rests_on)) == len(s.rests_on), s.id
        if s.applies is not None:
            tuned_by = known[s.applies.tuned_by]
            lemma_symbols = {x.name for f in formulas(known[s.applies.lemma]) for x in f.free_symbols}
            step_symbols = {x.name for value in tuned_by.where.values() for x in value.free_symbols}
            assert step_symbols <= set(s.applies.substitution), s.id
            assert set(s.applies.substitution) <= lemma_symbols | step_symbols | {"T", "r0", "c2"}, s.id


def test_no_statement_rests_on_itself() -> None:
    order = list(TopologicalSorter({s.id: {*s.assumes, *s.rests_on} for s in STATEMENTS}).static_order())
    assert len(order) == len(STATEMENTS)


def test_used_by_is_the_inverse() -> None:
    edges = {(s.id, other) for s in STATEMENTS for other in {*s.assumes, *s.rests_on}}
    assert edges == {(user, s.id) for s in STATEMENTS for user in catalogue.used_by(s.id)}
    assert "sfl.eq42" in catalogue.used_by("sfl.eq41")


def test_an_unknown_name_says_what_is_near() -> None:
    with pytest.raises(UnknownName, match=r"unknown statement 'sfl.thm1.strongly_convx'; did you mean sfl.thm1.st"):
        catalogue.find("sfl.thm1.strongly_convx")
    with pytest.raises(UnknownName, match=rf"unknown statement 'qqq'; expected one of .*\({len(STATEMENTS)} in all\)"):
        catalogue.find("qqq")
    with pytest.raises(UnknownName, match="unknown paper 'slf'; did you mean sfl"):
        catalogue.paper("slf")


def test_a_declaration_is_made_once_and_means_something() -> None:
    paper = Paper("p", "title", "citation")
    x = paper.symbol("x", "x", "a symbol")
    with pytest.raises(ValueError, match="symbol 'x' is declared twice in p"):
        paper.symbol("x", "x", "another")
    paper.say("claim", "c", "here", Words("words"))
    with pytest.raises(ValueError, match=r"statement 'p\.c' is declared twice"):
        paper.say("claim", "c", "there", Words("other words"))
    with pytest.raises(ValueError, match="condition True is not a relation"):
        paper.say("claim", "d", "here", at_most(x, term=x), when=[sympy.Integer(1) < 2])
    with pytest.raises(ValueError, match="a relation has been evaluated"):
        Relations((sympy.Le(1, 2),))
    with pytest.raises(ValueError, match="no term named 'nose'; the terms are term"):
        at_most(x, term=x).scaled(2, "nose")
    with pytest.raises(ValueError, match=r"p\.c has no terms: expected a bound or an order"):
        paper.correct("c", {"term": x})


@EVERY
def test_every_symbol_is_declared(statement: Statement) -> None:
    table = catalogue.symbols(statement)
    for formula in formulas(statement):
        labels = {i.base.label for i in formula.atoms(sympy.Indexed)}
        for symbol in formula.free_symbols - formula.atoms(sympy.Indexed):
            assert symbol.name in table
            assert symbol in labels or symbol == table[symbol.name].sympy, f"{symbol} differs from its declaration"


@EVERY
def test_terms_have_names_of_their_own(statement: Statement) -> None:
    if isinstance(statement.claim, Bound | Order):
        names = [t.name for t in statement.claim.terms]
        assert names and len(set(names)) == len(names)


# Names in code, which no formula shows
RAW = ("_tilde", "_star", "dist2", "drift_mk", "xbar", "_seq", "x_pi", "Min", "Max", "Expectation", "True")


@EVERY
def test_every_formula_prints(statement: Statement) -> None:
    for formula in formulas(statement):
        as_latex, as_unicode, as_plain = (
            latex(statement.paper, formula),
            unicode(statement.paper, formula),
            plain(formula),
        )
        assert as_latex.count("{") == as_latex.count("}") and as_latex.count(r"\left") == as_latex.count(r"\right")
        assert not re.search(r"_(\w|\{[^{}]*\})(\^(\w|\{[^{}]*\}))?_", as_latex), "a subscript of a subscript"
        assert as_plain.isascii()
        for raw in RAW:
            assert raw not in as_latex.replace(r"\operatorname", "") and raw not in as_unicode, raw
        assert "\\" not in as_unicode and "{" not in as_unicode
    claim = statement.claim
    assert claim_latex(statement) or claim_words(statement)
    if isinstance(claim, Bound | Order):
        assert latex(statement.paper, claim.quantity) in claim_latex(statement)


def test_a_quantity_that_is_a_difference_stands_in_brackets_in_a_product() -> None:
    """2 (f(x) - f*) is not 2 f(x) - f*; a difference within a norm, a mean or a sum needs no brackets."""
    symbols = [(name, s) for name, paper in catalogue.papers().items() for s in paper.symbols.values()]
    assert {s.name for name, s in symbols if is_sum(s.latex)} >= {"gap_x", "gap_next", "gap_t", "gap_last"}
    assert not {s.name for _, s in symbols if is_sum(s.latex)} & {
        "dist2",
        "f_gap",
        "inner_sum",
        "noise_sq",
        "local_gap",
    }
    for name, s in symbols:
        shown, bracket = s.latex, is_sum(s.latex)
        closed = rf"\left({shown}\right)" if bracket else shown
        assert latex(name, s.sympy) == shown
        assert latex(name, -s.sympy) == f"- {closed}"
        assert closed in latex(name, 3 * s.sympy / 7) and closed in latex(name, sympy.pi - s.sympy)
        for text in (unicode, in_line):
            own = text(name, s.sympy).strip()
            assert ("\n" in own) or (f"({own})" in text(name, sympy.pi - s.sympy)) is bracket
            assert ("\n" in own) or (f"({own})" in text(name, 3 * s.sympy)) is bracket


def test_a_sign_stands_beside_a_fraction() -> None:
    """The rows of the left side stay where they are, and its sign is in the row of the fraction bar."""
    power, _, bar, below = unicode(
        "fedbcgd", catalogue.find("fedbcgd.lemma15").claim_of(Bound).quantity, "≤"
    ).splitlines()
    assert bar.startswith("───") and bar.endswith("  ≤")
    assert power.strip() == "2" and power.index("2") > 5 and below.strip() == "K"


def test_repairs_are_of_printed_statements_and_stand_once() -> None:
    repaired = [s for s in STATEMENTS if s.repair]
    assert {s.paper for s in repaired} == set(catalogue.names()) and not any(s.ours for s in repaired)
    paper = Paper("p", "t", "c")
    paper.say("claim", "one", "here", Words("x"))
    paper.repair("Printed y.", "one")
    assert paper.statements["p.one"].repair == "Printed y."
    for name in ("one", "two"):
        with pytest.raises(ValueError, match="expected a statement without one"):
            paper.repair("Printed z.", name)
