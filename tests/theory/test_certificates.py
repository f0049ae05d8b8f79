"""Certificates of steps, each identity checked again in fractions, without Coq."""

import json
import random
import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

from theory.proofs.certificates import Certificate, Combine, Goal, Leaf, Term, identities, read, says, stated, write
from theory.proofs.reduction import Root, Solve, Split, Step, leaves, move, opened, visible
from theory.proofs.search import certificate, missing
from theory.proofs.sequents import Sequent, holds, parsed

STEPS = json.loads((Path(__file__).parents[1] / "data" / "steps.json").read_text())


def sequent(step: dict, claim: str = "claim") -> Sequent:
    return Sequent(tuple((name, domain) for name, domain in step["variables"]), tuple(step["given"]), step[claim])


def found(variables: dict, given: list, claim: str) -> Certificate:
    certificate_ = certificate(Sequent(tuple(variables.items()), tuple(given), claim))
    assert certificate_ is not None
    return certificate_


@lru_cache
def of_step(number: int) -> Certificate | None:
    return certificate(sequent(STEPS[number]))


def sums(step: Step, leaf: Leaf) -> list[tuple[tuple[Term, ...], bool]]:
    """The terms of each combination, and whether it shows something strict."""
    collected = [(fact.terms, fact.says == "<") for _, fact in leaf.facts if isinstance(fact, Combine)]
    for relation, goal in zip(step.goals, leaf.goals, strict=True):
        collected += [(terms, says(relation) == "<") for terms in goal.terms]
    return collected


def sign(term: Term, domains: dict, facts: dict, strict: bool) -> str | None:
    """How zero stands to a term, read off its number and factors; None if that does not say that it is >= 0."""

    def of_factor(factor: str) -> str:
        if factor == "#":
            return "<=" if strict else "<"
        if factor.startswith("#"):
            return stated(facts[int(factor[1:])])
        if re.fullmatch(r"\(.*\)\*\*2", factor):
            return "<="
        name = re.match(r"\w+", factor)[0]
        if factor == f"{name} - 1":
            assert domains[name] == "count"
            return "<="
        power = int(factor.removeprefix(f"{name}**")) if "**" in factor else 1
        assert domains[name] != "real" or power % 2 == 0
        return "<" if domains[name] in ("count", "positive") else "<="

    signs = [of_factor(factor) for factor in term.factors]
    if "=" in signs:
        return "="
    if Fraction(term.number) <= 0:
        return None
    return "<=" if "<=" in signs else "<"


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_a_certificate_is_found_and_its_identities_hold_in_fractions(number):
    one, kept = sequent(STEPS[number]), of_step(number)
    assert kept is not None
    names = {name for leaf in leaves(opened(one)) for name, _ in leaf.variables}
    draw = random.Random(one.digest)
    for identity in identities(one, kept):
        decided = []
        for _ in range(20):
            values = {name: Fraction(draw.randint(1, 50), draw.randint(1, 20)) for name in names}
            decided.append(holds(identity, values))
        # None: a divisor is zero at this point
        assert True in decided and False not in decided, identity


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_every_sum_is_of_what_is_not_negative_and_something_positive(number):
    for step, leaf in zip(leaves(opened(sequent(STEPS[number]))), of_step(number), strict=True):
        domains, facts = dict(step.variables), dict(leaf.facts)
        for terms, strict in sums(step, leaf):
            signs = [sign(term, domains, facts, strict) for term in terms]
            assert None not in signs and "<" in signs


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
    assert found({"x": "positive", "y": "real"}, ["y <= 1 / x"], "2 * y <= 2 / x + 1")[0].goals == (Goal("linear"),)
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
    assert isinstance(split, Split) and split.call == "max(x, 2)"
    root = move(split.cases[0])
    assert isinstance(root, Root) and (root.base, root.variable) == ("x", "root_0")
    assert dict(root.step.variables)["root_0"] == "count"
    solve = move(root.step)
    assert isinstance(solve, Solve) and solve.variable == "x"
    assert len(list(leaves(step))) == 2


def test_signs_that_can_be_seen():
    domains = {"x": "positive", "n": "count", "a": "nonnegative", "r": "real"}
    signs = {"x * n": "positive", "x * a": "nonnegative", "a + x": "positive", "r**2": "nonnegative", "n - 1": None}
    assert {text: visible(parsed(text), domains) for text in signs} == signs


def test_certificates_are_kept_as_json_and_only_missing_ones_are_found(tmp_path):
    sequents = [sequent(step) for step in STEPS[:5]]
    known = missing(sequents[:4], {})
    write(tmp_path / "steps.json", known)
    assert read(tmp_path / "steps.json") == known
    assert list(missing(sequents, known)) == [sequents[4].digest]
    assert read(tmp_path / "nothing.json") == {}
