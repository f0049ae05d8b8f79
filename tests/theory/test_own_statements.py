"""What a paper of one's own can say: other papers' statements, lower bounds, sharper forms, rates with units and numbers."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from fedtheory.bounds.orders import rates_at
from fedtheory.pages import as_json, as_text
from fedtheory.theory import catalogue
from fedtheory.theory.printing import claim_latex
from fedtheory.theory.proofs import orders, units
from fedtheory.theory.proofs.argument import Argument, Language, as_evidence
from fedtheory.theory.proofs.mutation import claims_no_more, mutations
from fedtheory.theory.statement import (
    F,
    Order,
    Paper,
    Rate,
    Rates,
    Status,
    Term,
    X,
    at_least,
    at_most,
    lower_order,
    soft_order,
)


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A paper `mine` in the catalogue, with symbols."""
    mine = Paper("mine", "a title", "nobody", step_sizes=("eta",))
    positive = {"positive": True}
    mine.symbol("L", "L", "smoothness", F / X**2, concept="smoothness", **positive)
    mine.symbol("D", "D", "distance", X, concept="initial distance", **positive)
    mine.symbol("R", "R", "rounds", concept="rounds", integer=True, **positive)
    mine.symbol("eta", r"\eta", "learning rate", X**2 / F, concept="learning rate", **positive)
    mine.symbol("gap", "f-f^*", "gap", F, concept="gap of the last iterate", nonnegative=True)
    mine.symbol("epsilon", r"\epsilon", "accuracy", F, **positive)
    loaded = catalogue._loaded
    monkeypatch.setattr(catalogue, "_loaded", lambda name: mine if name == "mine" else loaded(name))
    here = catalogue._here()
    monkeypatch.setattr(catalogue, "_here", lambda: (*here, "mine"))
    return mine


def letters(paper: Paper) -> tuple[sympy.Symbol, ...]:
    return tuple(paper.symbols[name].sympy for name in ("L", "D", "R", "eta", "gap", "epsilon"))


def test_other_papers_statements_can_be_rested_on(paper: Paper) -> None:
    L, D, R, _eta, gap, _ = letters(paper)
    other = catalogue.find("sfl.lemma5")
    paper.say("lemma", "first", "here", at_most(gap, only=L * D**2))
    mine = paper.say("theorem", "thm", "here", at_most(gap, only=L * D**2 / R), rests_on=["first", other])
    assert mine.rests_on == ("mine.first", "sfl.lemma5")
    assert "sfl.lemma5" in as_text(mine) and as_json(mine)["rests_on"] == ["mine.first", "sfl.lemma5"]
    assert catalogue.used_by("mine.first") == ["mine.thm"]
    again = paper.correct("thm", at_most(gap, only=2 * L * D**2 / R))
    assert again.rests_on == mine.rests_on and again.corrects == mine.id and again.ours


def test_lower_bounds_and_lower_orders(paper: Paper) -> None:
    L, D, R, _eta, gap, _ = letters(paper)
    order = paper.say("order", "omega", "here", lower_order(gap, only=L * D**2 / R))
    bound = paper.say("bound", "least", "here", at_least(gap, only=L * D**2 / R))
    assert isinstance(order.claim, Order) and order.claim.letter == "Ω"
    assert r"\Omega\left(" in claim_latex(order) and r"\ge" in claim_latex(bound)
    assert "= Ω of" in as_text(order)
    assert {units.check(s).status for s in (order, bound)} == {Status.PROVED}
    assert soft_order(gap, only=D).letter == "Õ" and soft_order(gap, only=D).latex == r"\tilde{\mathcal{O}}"


def test_a_lower_order_is_proved_from_a_lower_bound_and_its_direction_counts(paper: Paper) -> None:
    L, D, R, _eta, gap, _ = letters(paper)
    paper.say("bound", "least", "here", at_least(gap, first=L * D**2 / R))
    order = paper.say("order", "omega", "here", lower_order(gap, only=L * D**2 / R**2))

    def proof(p: Argument) -> None:
        fact = p.claim("least")
        orders.conclude(p, Order(fact.quantity, (Term("first", fact.value),), lower=True))

    evidence = as_evidence("omega", "ledger", proof, Language({}, {}, ()), "mine")
    assert evidence.check(order, False).status is Status.PROVED
    larger = order.with_claim(lower_order(gap, only=L * D**2))
    assert evidence.check(larger, False).status in (Status.REFUTED, Status.BROKEN)
    (turned,) = [c for c in mutations(order) if c.part == "direction"]
    assert isinstance(turned.statement.claim, Order) and turned.what == "O for Ω"
    assert not claims_no_more(order, turned.statement)
    assert evidence.check(turned.statement, False).status is Status.BROKEN
    assert claims_no_more(order, order.with_claim(lower_order(gap, only=L * D**2 / R**3)))
    assert not claims_no_more(order, larger)


def test_a_sharper_form_of_one_s_own(paper: Paper) -> None:
    L, D, R, eta, gap, _ = letters(paper)
    printed = paper.say("theorem", "thm", "here", at_most(gap, only=3 * L * D**2 / R), when=[eta <= 1 / L])
    ours = paper.sharpen("thm", at_most(gap, only=L * D**2 / (2 * R)), note="by a better lemma")
    assert ours.id == "mine.thm.sharp" and ours.sharpens == printed.id and ours.when == printed.when
    assert ours.ours and not printed.ours and not ours.corrects
    assert "sharpens: mine.thm" in as_text(ours) and as_json(ours)["sharpens"] == "mine.thm"
    with pytest.raises(ValueError, match="declared twice"):
        paper.sharpen("thm", at_most(gap, only=L * D**2 / (4 * R)))


def test_definitions_that_read_themselves_are_refused(paper: Paper) -> None:
    L, D, R, eta, gap, _ = letters(paper)
    for where, names in (({eta: 1 / (L + eta)}, "eta"), ({eta: D / L, D: eta * L}, "D, eta")):
        with pytest.raises(ValueError, match=f"mine.thm defines {names} by themselves"):
            paper.say("theorem", "thm", "here", at_most(gap, only=D**2 / (eta * R)), where=where)
    paper.say("theorem", "thm", "here", at_most(gap, only=D**2 / (eta * R)), where={eta: D / L})


def test_rates_have_units_and_numbers(paper: Paper) -> None:
    L, D, _R, _eta, _gap, epsilon = letters(paper)
    right = paper.say("order", "rates", "here", Rates((Rate("convex", L * D**2 / epsilon, sympy.Integer(1), True),)))
    wrong = paper.say("order", "bad", "here", Rates((Rate("convex", D / epsilon, sympy.Integer(1)),)))
    assert units.check(right).status is Status.PROVED
    found = units.check(wrong)
    assert found.status is Status.REFUTED and found.witness["where"] == "rounds of convex"
    assert {e.statement for e in units.evidence("mine", rates=True)} == {"mine.rates", "mine.bad"}
    assert units.evidence("mine") == []
    assert rates_at("mine.rates", L=2, D=3, epsilon=0.5) == {"convex": (36.0, 1.0)}
    for values, says in (
        ({"L": 1, "D": 1}, "expected L, D, epsilon"),
        ({"L": -1, "D": 1, "epsilon": 1}, r"L = -1.0: expected real > 0 \(smoothness\)"),
        ({"L": 1, "D": 1, "epsilon": "x"}, "epsilon = x: expected a finite number|epsilon = x: expected a number"),
    ):
        with pytest.raises(ValueError, match=says):
            rates_at("mine.rates", **values)
    with pytest.raises(ValueError, match="expected a statement with rates"):
        rates_at("sfl.thm1.strongly_convex")
