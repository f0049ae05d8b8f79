"""What a first paper gets wrong: one clear message each, and counter-models that keep the paper's definitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import sympy

from fedtheory.paper import (
    Delta,
    F,
    K,
    L,
    PaperVerdicts,
    R,
    X,
    drift,
    eta,
    function,
    gap,
    grad_sq,
    h,
    mu,
    paper,
    points,
    problem,
    smooth,
    young,
)  # fmt: skip
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.minibatch import MinibatchSGD
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.theory.listing import Line, Listing
from fedtheory.theory.names import UnknownName
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.scenes import admitted
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Status

pytestmark = pytest.mark.usefixtures("alone")


def of_field() -> Any:
    p = paper("first", step=K * eta)
    p.algorithm(PFL)
    return p


quadratic = problem("quadratic", d=1, M=1, L=1.0, mu=1.0)
x, y = points("x y")
_G, _mu = sympy.Symbol("grad_sp", nonnegative=True), sympy.Symbol("mu")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda p: p.lemma(drift <= h**2 * _G), "unknown symbol 'grad_sp'; did you mean grad_sq"),
        (
            lambda p: p.lemma(drift <= h**2 * grad_sq, when=h <= 1 / _mu),
            "first: another mu; expected the field's symbols",
        ),
        (lambda p: p.assume("mine", "Smooth.", smoth=(L,)), "unknown property 'smoth'; did you mean smooth"),
        (lambda p: p.symbol("Lf", "L_f", "smoothness", F / X**2, concept="smothness"), "did you mean smoothness"),
        (lambda p: p.symbol("Lf", "L_f", "smoothness", F, concept="smoothness"), "has dimension"),
        (lambda p: p.lemma(drift <= h**2 * grad_sq, given=["smooth"]), "expected assumptions"),
        (lambda p: p.lemma(drift, "q"), "expected an inequality"),
        (lambda p: p.lemma(drift < grad_sq, "q"), "expected an inequality"),
        (lambda p: p.lemma(drift <= grad_sq, "q", when=[h]), "expected conditions"),
        (lambda p: p.lemma(x.norm2 * y.norm2 <= x.dot(y) ** 2), "expected sums of inner products"),
        (lambda p: p.lemma(drift <= grad_sq, "weights"), "declared twice"),
        (lambda p: p.theorem(gap.last <= Delta, "q", by=["l1"]), "expected lemmas"),
        (lambda p: paper("sfl"), "taken"),
        (lambda p: PaperVerdicts(())["thm9"], "unknown statement"),
        (
            lambda p: p.algorithm(PFL, memory={"c": "some"}),
            "memory 'some': expected one of 'any', 'any of the server', 'm",
        ),
        (lambda p: p.arena(p.theorem(gap.last <= Delta, "t"), None, 10, tau=3), "arena with {'tau': 3}.*'tau'"),
        (lambda p: problem("quadratc"), "unknown problem 'quadratc'; did you mean quadratic"),
        (lambda p: gap.later, "has no attribute 'later'"),
        (lambda p: p.arena("thm", quadratic, 10, K=1), "'thm': expected a statement"),
        (lambda p: p.arena(p.theorem(gap.last <= Delta, "t"), "quadratic", 10, K=1), "problem = 'quadratic': expected"),
        (lambda p: p.check("thm"), "'thm': expected a statement"),
        (lambda p: p.lemma(drift <= grad_sq, where={"L": 1}), "where = {'L': ...}: expected symbols"),
        (lambda p: p.lemma(drift <= sympy.oo * grad_sq), "expected finite real numbers"),
        (lambda p: p.lemma(drift <= sympy.I * grad_sq), "expected finite real numbers"),
        (lambda p: p.lemma(drift <= grad_sq, "my lemma"), "statement 'my lemma' of first: expected letters"),
        (lambda p: p.lemma(drift <= grad_sq, "../x"), "statement '../x' of first: expected letters"),
        (lambda p: p.algorithm(3), "algorithm 3: expected a dataclass"),
        (
            lambda p: p.algorithm(type("Undecorated", (), {"round": 1})),
            "algorithm .*Undecorated.*: expected a dataclass",
        ),
        (lambda p: p.assume("s", "smooth", smooth=()), r"SMOOTH with constants \(\): expected 1"),
        (lambda p: p.symbol("a", "a", "x", "furlong"), "a has dimension furlong: expected"),
        (lambda p: p.symbol("a", "a", "x", positiv=True), "unknown assumption 'positiv'; did you mean positive"),
        (lambda p: p.quantity("gap", "m", X**2, lambda t, m: 0), "quantity 'gap': expected another name"),
        (lambda p: p.quantity("own", "m", X**2, 3), "quantity 'own': expected a function"),
        (lambda p: p.lemma(drift <= grad_sq, givn=[smooth]), "unknown argument 'givn'; did you mean given"),
        (lambda p: p.lemma(drift <= grad_sq, where={L: sympy.Symbol("q")}), "unknown symbol 'q'"),
        (lambda p: problem("quadratic", d=1, M=1, L=1, muu=1), "argument 'muu'; expected its settings d, M"),
        (lambda p: function("q", smooth=float("nan")), "smooth = nan of q: expected a name or a positive number"),
        (lambda p: [young(1), young(-1)], r"young\(-1\): expected a positive share"),
        (lambda p: young(0), r"young\(0\): expected a positive share"),
        (lambda p: young(float("nan")), r"young\(nan\): expected a positive share"),
        (lambda p: paper("other", step="K*eta"), "step = 'K\\*eta': expected a formula"),
        (lambda p: paper("other", step=-K * eta), "step = -K\\*eta.*: expected a formula"),
        (lambda p: Listing((Line(1, 0), Line(1, 0))), "two lines 1 in a listing"),
    ],
)
def test_one_clear_message(wrong: Any, says: str) -> None:
    with pytest.raises((ValueError, UnknownName, AttributeError), match=says):
        wrong(of_field())


def test_one_assumption_may_stand_alone() -> None:
    p, about = of_field(), "of the mean"
    said = p.lemma(drift <= grad_sq, given=smooth, by=smooth, rests_on="weights")
    assert said.assumes == ("first.smooth",) and said.rests_on == ("first.weights",)
    assert p.assume("mine", about, smooth=L).gives == {Property.SMOOTH: (L,)}


def test_a_counter_model_keeps_the_definitions() -> None:
    """h = K eta, also in a step that its author writes in both."""
    p = of_field()

    def proof(a: Argument) -> None:
        a.require("small", sympy.Le(L * eta * K + L * h, sympy.Rational(1, 2)))

    said = p.lemma(drift <= h**2 * grad_sq, when=[h <= 1 / (3 * L), eta <= 1 / L], given=[smooth], by=proof)
    (check,) = [e.check for e in p.checks if e.statement == said.id]
    found = check(said, False)
    assert found.status is Status.BROKEN
    at = {name: sympy.Rational(value) for name, value in found.witness.items() if name != "step"}
    assert at["eta_tilde"] == at["K"] * at["eta"] and at["L"] * 2 * at["eta_tilde"] > sympy.Rational(1, 2)


def test_a_true_step_that_needs_a_definition_is_proved() -> None:
    p = of_field()

    def proof(a: Argument) -> None:
        a.require("small", sympy.Le(L * eta, sympy.Rational(1, 3)))

    said = p.lemma(drift <= h**2 * grad_sq, when=h <= 1 / (3 * L), given=[smooth], by=proof)
    (check,) = [e.check for e in p.checks if e.statement == said.id]
    assert check(said, False).status is Status.OPEN  # the step is proved; the claim is not concluded


def test_a_bound_after_rounds_needs_its_symbols_only() -> None:
    p = of_field()
    assert p.theorem(gap.last <= (1 - mu * h) ** R, "t").where == {h: K * eta}


def test_a_condition_that_the_definitions_decide_holds_or_is_violated() -> None:
    p = of_field()
    for condition, says in ((K * eta <= h, None), (K * eta < h, "K*eta < eta_tilde is violated")):
        assert admitted(p.lemma(drift <= h**2 * grad_sq, when=[condition]), {}) == says


def test_papers_may_have_one_algorithm_with_their_own_settings() -> None:
    """The registry has the settings in which they agree; another algorithm of a name has its paper's before it."""
    for name, steps in (("one", 1), ("two", 1), ("other", 2)):
        paper(name).algorithm(partial(MinibatchSGD, K=steps), "OneStep")
        assert registry()["OneStep"] is MinibatchSGD if steps == 2 else registry()["OneStep"].keywords == {"K": 1}
    paper("last").algorithm(PFL, "OneStep")
    assert registry()["last.OneStep"] is PFL and registry()["OneStep"] is MinibatchSGD
