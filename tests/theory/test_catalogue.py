"""The catalogue: complete, closed, acyclic, printable; and the printed constants, typed a second time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
import sympy

from fedtheory.bounds import evaluate
from fedtheory.bounds.evaluation import compile_statement, compiled
from fedtheory.theory import catalogue
from fedtheory.theory.catalogue import UnknownName
from fedtheory.theory.printing import claim_latex, claim_words, latex, plain, unicode
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


@EVERY
def test_every_formula_prints(statement: Statement) -> None:
    for formula in formulas(statement):
        as_latex, as_unicode, as_plain = (
            latex(statement.paper, formula),
            unicode(statement.paper, formula),
            plain(formula),
        )
        assert as_latex.count("{") == as_latex.count("}") and as_latex.count(r"\left") == as_latex.count(r"\right")
        assert as_plain.isascii()
        for raw in (
            "_tilde",
            "_star",
            "dist2",
            "drift_mk",
            "xbar",
            "_seq",
            "x_pi",
            "Min",
            "Max",
            "Expectation",
            "True",
        ):
            assert raw not in as_latex.replace(r"\operatorname", "") and raw not in as_unicode, raw
        assert "\\" not in as_unicode and "{" not in as_unicode
    claim = statement.claim
    assert claim_latex(statement) or claim_words(statement)
    if isinstance(claim, Bound | Order):
        assert latex(statement.paper, claim.quantity) in claim_latex(statement)


def test_what_is_printed_reads_like_the_paper() -> None:
    lemma5, lemma7 = catalogue.find("sfl.lemma5"), catalogue.find("sfl.lemma7.tuning")
    assert r"\left(1 - \frac{K S \eta \mu}{2}\right) \mathbb{E}\|x^{(r)}-x^*\|^2" in claim_latex(lemma5)
    assert claim_latex(lemma7).startswith(r"\gamma = \min\left(")
    assert r"\mathbf{x}_{\pi_{m}}" in claim_latex(catalogue.find("sfl.lemma4.lhs"))
    assert "drift" not in claim_latex(catalogue.find("sfl.eq33"))
    assert claim_latex(catalogue.find("sfl.asm.het_b")).endswith(r"= \zeta_*^{2}")
    assert "E‖x^(r+1)-x*‖²" in unicode("sfl", lemma5.claim.quantity)  # type: ignore[union-attr]
    assert r"\tilde{\mathcal{O}}\left(" in claim_latex(catalogue.find("sfl.cor1.strongly_convex"))


# --- The printed constants, typed a second time from the paper's text ------------------------------------------------

E = math.exp
Formula = Callable[..., float]

PRINTED: dict[str, Formula] = {
    # (4), (5), (6)
    "sfl.thm1.strongly_convex": lambda L, mu, sigma, zeta_star, D, M, K, R, h: (
        9 / 2 * mu * D**2 * E(-mu * h * R / 2)
        + 12 * h * sigma**2 / (M * K)
        + 18 * L * h**2 * sigma**2 / (M * K)
        + 18 * L * h**2 * zeta_star**2 / M
    ),
    "sfl.thm1.general_convex": lambda L, sigma, zeta_star, D, M, K, R, h: (
        3 * D**2 / (h * R)
        + 12 * h * sigma**2 / (M * K)
        + 18 * L * h**2 * sigma**2 / (M * K)
        + 18 * L * h**2 * zeta_star**2 / M
    ),
    "sfl.thm1.nonconvex": lambda L, sigma, zeta, A, M, K, R, h, **_: (
        3 * A / (h * R)
        + 3 * L * h * sigma**2 / (M * K)
        + 27 * L**2 * h**2 * sigma**2 / (8 * M * K)
        + 27 * L**2 * h**2 * zeta**2 / (8 * M)
    ),
    # (42), (46), (54)
    "sfl.eq42": lambda L, mu, sigma, zeta_star, D, M, S, K, R, h: (
        9 / 2 * mu * D**2 * E(-1 / 2 * mu * h * R)
        + 12 * h * sigma**2 / (S * K)
        + 12 * h * (M - S) * zeta_star**2 / (S * (M - 1))
        + 18 * L * h**2 * sigma**2 / (S * K)
        + 18 * L * h**2 * zeta_star**2 / S
    ),
    "sfl.eq46": lambda L, sigma, zeta_star, D, M, S, K, R, h: (
        3 * D**2 / (h * R)
        + 12 * h * sigma**2 / (S * K)
        + 12 * h * (M - S) * zeta_star**2 / (S * (M - 1))
        + 18 * L * h**2 * sigma**2 / (S * K)
        + 18 * L * h**2 * zeta_star**2 / S
    ),
    "sfl.eq54": lambda L, sigma, zeta, A, S, K, R, h, **_: (
        3 * A / (h * R)
        + 3 * L * h * sigma**2 / (S * K)
        + 27 * L**2 * h**2 * sigma**2 / (8 * S * K)
        + 27 * L**2 * h**2 * zeta**2 / (8 * S)
    ),
    # (56), (57), (58)
    "sfl.thm2.strongly_convex": lambda L, mu, sigma, zeta_star, D, M, K, R, h: (
        9 / 2 * mu * D**2 * E(-mu * h * R / 2)
        + 12 * h * sigma**2 / (M * K)
        + 18 * L * h**2 * sigma**2 / K
        + 12 * L * h**2 * zeta_star**2
    ),
    "sfl.thm2.general_convex": lambda L, sigma, zeta_star, D, M, K, R, h: (
        3 * D**2 / (h * R)
        + 12 * h * sigma**2 / (M * K)
        + 18 * L * h**2 * sigma**2 / K
        + 12 * L * h**2 * zeta_star**2
    ),
    "sfl.thm2.nonconvex": lambda L, sigma, zeta, A, S, K, R, h, **_: (
        3 * A / (h * R)
        + 3 * L * h * sigma**2 / (S * K)
        + 27 * L**2 * h**2 * sigma**2 / (8 * K)
        + 9 / 4 * L**2 * h**2 * zeta**2
    ),
    # (71), (73), (80)
    "sfl.eq71": lambda L, mu, sigma, zeta_star, D, M, S, K, R, h: (
        9 / 2 * mu * D**2 * E(-1 / 2 * mu * h * R)
        + 12 * h * sigma**2 / (S * K)
        + 12 * h * (M - S) * zeta_star**2 / (S * (M - 1))
        + 18 * L * h**2 * sigma**2 / K
        + 12 * L * h**2 * zeta_star**2
    ),
    "sfl.eq73": lambda L, sigma, zeta_star, D, M, S, K, R, h: (
        3 * D**2 / (h * R)
        + 12 * h * sigma**2 / (S * K)
        + 12 * h * (M - S) * zeta_star**2 / (S * (M - 1))
        + 18 * L * h**2 * sigma**2 / K
        + 12 * L * h**2 * zeta_star**2
    ),
    "sfl.eq80": lambda L, sigma, zeta, A, S, K, R, h, **_: (
        3 * A / (h * R)
        + 3 * L * h * sigma**2 / (S * K)
        + 27 * L**2 * h**2 * sigma**2 / (8 * K)
        + 9 / 4 * L**2 * h**2 * zeta**2
    ),
    # (27), (34), (62), (69)
    "sfl.lemma5": lambda L, mu, sigma, zeta_star, M, S, K, eta, dist2, D_F, E_r: (
        (1 - mu * S * K * eta / 2) * dist2
        + 4 * S * K * eta**2 * sigma**2
        + 4 * S**2 * K**2 * eta**2 * (M - S) / (S * (M - 1)) * zeta_star**2
        - 2 / 3 * S * K * eta * D_F
        + 8 / 3 * L * eta * E_r
    ),
    "sfl.lemma6": lambda L, sigma, zeta_star, M, S, K, eta, D_F: (
        9 / 4 * S**2 * K**2 * eta**2 * sigma**2
        + 9 / 4 * S**2 * K**3 * eta**2 * zeta_star**2
        + 3 * L * S**3 * K**3 * eta**2 * D_F
    ),
    "sfl.lemma11": lambda L, mu, sigma, zeta_star, M, S, K, eta, dist2, D_F, Ecal_r: (
        (1 - mu * K * eta / 2) * dist2
        + 4 * K * eta**2 * sigma**2 / S
        + 4 * K**2 * eta**2 * (M - S) / (S * (M - 1)) * zeta_star**2
        - 2 / 3 * K * eta * D_F
        + 8 / 3 * L * eta * Ecal_r
    ),
    "sfl.lemma12": lambda L, sigma, zeta_star, K, eta, D_F: (
        9 / 4 * K**2 * eta**2 * sigma**2 + 3 / 2 * K**3 * eta**2 * zeta_star**2 + 3 * L * K**3 * eta**2 * D_F
    ),
    # (48), (52), (75), (79)
    "sfl.lemma9": lambda L, sigma, S, K, eta, grad_sq, E_r, **_: (
        -S * K * eta / 2 * grad_sq + L * S * K * eta**2 * sigma**2 + L**2 * eta / 2 * E_r
    ),
    "sfl.lemma10": lambda L, sigma, zeta, beta, M, S, K, eta, grad_sq: (
        9 / 4 * S**2 * K**2 * eta**2 * sigma**2
        + 9 / 4 * S**2 * K**3 * eta**2 * zeta**2
        + (9 / 4 * beta**2 * S**2 * K**3 * eta**2 + 3 / 2 * S**3 * K**3 * eta**2) * grad_sq
    ),
    "sfl.lemma13": lambda L, sigma, S, K, eta, grad_sq, Ecal_r, **_: (
        -K * eta / 2 * grad_sq + L * K * eta**2 * sigma**2 / S + L**2 * eta / 2 * Ecal_r
    ),
    "sfl.lemma14": lambda L, sigma, zeta, beta, K, eta, grad_sq: (
        9 / 4 * K**2 * eta**2 * sigma**2
        + 3 / 2 * K**3 * eta**2 * zeta**2
        + 3 / 2 * K**3 * eta**2 * (beta**2 + 1) * grad_sq
    ),
}  # fmt: skip


def some_values(names: list[str], rng: np.random.Generator) -> dict[str, float]:
    """Random parameters, S <= M; whether the step size is admissible does not matter to the formula."""
    M = int(rng.integers(2, 40))
    counts = {"M": M, "S": int(rng.integers(1, M + 1)), "K": int(rng.integers(1, 20)), "R": int(rng.integers(1, 90))}
    return {name: counts[name] if name in counts else float(rng.uniform(0.05, 3)) for name in names}


@pytest.mark.parametrize("id_", PRINTED)
def test_the_printed_constants(id_: str) -> None:
    """Equal to 1e-12; and a constant off by a thousandth, in any one term, is seen."""
    rng = np.random.default_rng(len(id_))
    statement = catalogue.find(id_)
    claim = statement.claim
    assert isinstance(claim, Bound)
    names = [s.name for s in compiled(id_).parameters]
    off = {t.name: compile_statement(statement.with_claim(claim.scaled(1.001, t.name))) for t in claim.terms}
    unseen = set(off)
    for _ in range(20):
        values = some_values(names, rng)
        typed = PRINTED[id_](**{"h" if n == "eta_tilde" else n: v for n, v in values.items()})
        found = evaluate(id_, strict=False, **values)
        close = 1e-12 * sum(abs(t) for t in found.terms.values())
        assert abs(found.value - typed) <= close
        unseen -= {n for n, wrong in off.items() if abs(evaluate(wrong, strict=False, **values).value - typed) > close}
    assert not unseen


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
