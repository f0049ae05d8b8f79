"""Certificates of steps, and the checker that accepts them, without Coq."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import pytest

from fedtheory.theory.proofs.certificates import Certificate, Combine, Divide, Goal, Leaf, Product, read, write
from fedtheory.theory.proofs.checker import Wrong, check
from fedtheory.theory.proofs.record import accepts
from fedtheory.theory.proofs.reduction import CaseSplit, RootVariable, Solve, leaves, move, opened, visible
from fedtheory.theory.proofs.search import certificate
from fedtheory.theory.proofs.sequents import Sequent, holds, parsed
from tests.theory.steps import STEPS, sequent


def found(variables: dict, given: list, claim: str) -> Certificate:
    certificate_ = certificate(Sequent(tuple(variables.items()), tuple(given), claim))
    assert certificate_ is not None
    return certificate_


@lru_cache
def of_step(number: int) -> Certificate | None:
    return certificate(sequent(STEPS[number]))


def broken(one: Certificate) -> Iterator[Certificate]:
    """The certificate with one number of one sum changed, and with one term left out."""
    for i, leaf in enumerate(one):

        def with_leaf(changed: Leaf, i: int = i) -> Certificate:
            return (*one[:i], changed, *one[i + 1 :])

        for j, (number, fact) in enumerate(leaf.facts):
            for terms in other_terms(fact.terms) if isinstance(fact, Combine) else ():
                changed = (number, replace(fact, terms=terms))
                yield with_leaf(replace(leaf, facts=(*leaf.facts[:j], changed, *leaf.facts[j + 1 :])))
        for j, goal in enumerate(leaf.goals):
            for k, own in enumerate(goal.terms):
                for terms in other_terms(own):
                    changed = replace(goal, terms=(*goal.terms[:k], terms, *goal.terms[k + 1 :]))
                    yield with_leaf(replace(leaf, goals=(*leaf.goals[:j], changed, *leaf.goals[j + 1 :])))


def other_terms(terms: tuple[Product, ...]) -> Iterator[tuple[Product, ...]]:
    for i, term in enumerate(terms):
        for number in (Fraction(term.number) + Fraction(1, 7), -Fraction(term.number)):
            yield (*terms[:i], replace(term, number=str(number)), *terms[i + 1 :])
        yield terms[:i] + terms[i + 1 :]


@pytest.mark.dear
@pytest.mark.parametrize("number", range(len(STEPS)))
def test_a_certificate_is_found_and_accepted_and_no_other_one(number):
    one, kept = sequent(STEPS[number]), of_step(number)
    assert kept is not None
    check(one, kept)
    assert not accepts(sequent(STEPS[number], "changed"), kept)
    assert not any(accepts(one, other) for other in broken(kept))


POSITIVE, NONNEGATIVE, REAL = ({"x": domain, "y": domain} for domain in ("positive", "nonnegative", "real"))


def cleared(polynomial: str, *terms: tuple[str, str]) -> Leaf:
    """A goal whose difference is this polynomial, by these terms."""
    return Leaf((), (Goal("clear", polynomial, "1", (tuple(Product(n, (factor,)) for n, factor in terms),)),))


def nonzero(quotient: str) -> Leaf:
    """0 < x because x * quotient is not zero."""
    return Leaf(((0, Divide("x", "x", quotient, "given_0")),), (Goal("clear", "1", "x"),))


@pytest.mark.parametrize(
    ("variables", "given", "claim", "leaf", "why"),
    [
        (REAL, [], "x <= y", Leaf((), (Goal("given"),)), "is not given"),
        (REAL, [], "x < x", Leaf((), (Goal("same"),)), "is not same"),
        (REAL, [], "0 <= x", Leaf((), (Goal("clear", "1", "x"),)), "x is not positive"),
        (REAL, [], "0 < x**2", Leaf((), (Goal("clear", "1", "x**2"),)), "x**2 is not positive"),
        (POSITIVE, [], "x <= y", Leaf((), (Goal("clear", "1", "y"),)), "cleared"),
        (POSITIVE, [], "x <= 1", Leaf((), (Goal("clear", "1 - x", "1"),)), "does not decide"),
        (POSITIVE, [], "x <= y", cleared("y - x", ("1", "#")), "do not add up"),
        # a term without sign, a number below 0, and nothing strict
        (REAL, [], "0 <= x", cleared("x", ("1", "#"), ("1", "x")), "no sign"),
        (POSITIVE, [], "0 <= -x", cleared("-x", ("1", "#"), ("-1", "x")), "no sign"),
        (NONNEGATIVE, [], "0 < x", cleared("x", ("1", "#"), ("1", "x")), "do not add up"),
        (NONNEGATIVE, [], "0 < x", Leaf((), (Goal("linear", terms=((Product("1", ("x",)),),)),)), "is not the sum"),
        (REAL, ["y <= x"], "x <= y", Leaf((), (Goal("linear", terms=((Product("-1", ("given_0",)),),)),)), "no sign"),
        # a hypothesis that something is not zero gives no sign
        (REAL, ["x != 0"], "0 <= x", nonzero("2"), "divided"),
        (REAL, ["x != 0"], "0 <= x", nonzero("1"), "is not x or its square"),
        # x = y * (x / y) says nothing about y where y is 0
        (REAL, ["x != 0"], "0 < y**2",
         Leaf(((0, Divide("y**2", "y", "x / y", "given_0")),), cleared("y**2", ("1", "#"), ("1", "#0")).goals),
         "does not divide"),
        # the divisor of a claim is a goal of its own
        (REAL, [], "0 <= x / x", Leaf((), (Goal("clear", "1", "x**2"), Goal("clear", "1", "1"))), "x**2 is not positive"),
    ],
)  # fmt: skip
def test_what_the_checker_refuses(variables, given, claim, leaf, why):
    with pytest.raises(Wrong, match=re.escape(why)):
        check(Sequent(tuple(variables.items()), tuple(given), claim), (leaf,))


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
def test_a_step_with_another_number_has_a_counter_model(step):
    changed = sequent(step, "changed")
    values = {name: Fraction(value) for name, value in step["model"].items()}
    assert all(holds(relation, values) for _, relation in opened(changed).hypotheses)
    assert holds(changed.claim, values) is False


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
def test_no_certificate_is_found_for_a_step_with_another_number(step):
    assert certificate(sequent(step, "changed")) is None


def test_the_shortest_kinds_come_first():
    assert found({"x": "real"}, ["x <= 3"], "x <= 3")[0].goals == (Goal("given"),)
    assert found({"x": "positive"}, [], "1 / x >= 1 / x")[0].goals == (Goal("same"),)
    assert found({"x": "positive", "y": "real"}, ["y <= 1 / x"], "2 * y <= 2 / x + 1")[0].goals[0].by == "linear"
    whole = found({"x": "positive"}, [], "(x + x**2) / x == 1 + x")[0].goals
    assert whole == (Goal("clear", "0", "1"),)


def test_a_square_of_an_inequality():
    (leaf,) = found({"x": "positive", "y": "positive"}, ["y <= x"], "y**2 <= x**2")
    assert [fact.polynomial for _, fact in leaf.facts] == ["x - y"]
    assert leaf.goals == (Goal("clear", "1", "(x - y) * (y + x)"),)


def test_young_needs_a_square():
    (leaf,) = found({"x": "real", "y": "real"}, [], "2 * x * y <= x**2 + y**2")
    assert leaf.goals == (Goal("clear", "1", "(x - y)**2"),)
    (leaf,) = found({"x": "real", "y": "real", "c": "positive"}, [], "2 * c * x * y <= c * x**2 + c * y**2 + x**2")
    assert any(")**2" in factor for term in leaf.goals[0].terms[0] for factor in term.factors)


def test_a_divisor_whose_sign_follows_becomes_a_fact():
    (leaf,) = found({"M": "count", "S": "count"}, ["M >= 2", "S <= M"], "(M - S) / (M - 1) <= 1")
    assert any(isinstance(fact, Combine) and fact.polynomial == "M - 1" for _, fact in leaf.facts)


def test_no_certificate_for_what_is_false():
    assert certificate(Sequent((("x", "positive"),), (), "x <= 1")) is None


def test_reduction_to_cases_roots_and_solved_equations():
    step = opened(Sequent((("x", "count"), ("y", "real")), ("y == max(x, 2)",), "root(x, 1, 2) <= y"))
    split = move(step)
    assert isinstance(split, CaseSplit) and split.call == "max(x, 2)"
    root = move(split.cases[0])
    assert isinstance(root, RootVariable) and (root.base, root.variable) == ("x", "root_0")
    assert dict(root.step.variables)["root_0"] == "count"
    solve = move(root.step)
    assert isinstance(solve, Solve) and solve.variable == "x"
    assert len(list(leaves(step))) == 2


def test_signs_that_can_be_seen():
    domains = {"x": "positive", "n": "count", "a": "nonnegative", "r": "real"}
    signs = {"x * n": "positive", "x * a": "nonnegative", "a + x": "positive", "r**2": "nonnegative", "n - 1": None}
    assert {text: visible(parsed(text), domains) for text in signs} == signs


def test_certificates_are_kept_as_json(tmp_path):
    known = {sequent(step).digest: certificate(sequent(step)) for step in STEPS[:5]}
    write(tmp_path / "steps.json", known)
    assert read(tmp_path / "steps.json") == known
    assert read(tmp_path / "nothing.json") == {}
