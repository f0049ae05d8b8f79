"""The proof engine: rules and their proofs, forms, properties; and that each way to cheat is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.argument import Argument, Fact, facts
from fedtheory.theory.proofs.arithmetic import at_most
from fedtheory.theory.proofs.forms import Family, Objective, families_of, gradient, vector, vectors_in
from fedtheory.theory.proofs.rules import (
    FRESH,
    JENSEN,
    JENSEN_OVER,
    LIPSCHITZ,
    RULES,
    SUCCESSIVE,
    VARIANCE,
    YOUNG,
    Noise,
)
from fedtheory.theory.properties import Property, closed, united
from fedtheory.theory.sfl.checks.ledgers import PROOFS, biased
from fedtheory.theory.sfl.checks.quantities import ALL, LANGUAGE, C, I, x, x_star
from fedtheory.theory.sfl.symbols import (
    E_r,
    K,
    L,
    M,
    S,
    dist2,
    dist2_next,
    eta,
    eta_tilde,
    inner_sum,
    mu,
    noise_sq,
    sigma,
    step_sq,
)
from fedtheory.theory.statement import Bound, Status, Verdict


def argue(name: str, proof: Callable[[Argument], object]) -> Verdict:
    argument = Argument(catalogue.find(f"sfl.{name}"), LANGUAGE)
    proof(argument)
    return argument.verdict()


# Rules


def test_every_rule_is_proved() -> None:
    for name, rule in RULES.items():
        assert rule.prove().status is Status.PROVED and rule.says, name


def test_rules_hold_on_vectors_on_the_line() -> None:
    numbers = [Rational(n, 3) for n in (-4, 1, 7, 2)]
    n = Family("n", sympy.Integer(4))
    v = vector("v", n)
    slack = JENSEN_OVER.slack(v, n)
    squares, total = sorted(slack.free_symbols, key=lambda s: "*" not in s.name)
    at = {squares: sum(q**2 for q in numbers), total: sum(numbers)}
    assert slack.subs(at) == 4 * sum(q**2 for q in numbers) - sum(numbers) ** 2
    assert JENSEN.slack(*numbers) == slack.subs(at)
    assert YOUNG.slack(numbers[0], numbers[1], Rational(1, 2)) >= 0


def test_a_noise_is_uncorrelated_with_the_past_alone() -> None:
    assert FRESH.slack(ALL.noise, x - x_star) != 0
    for later in (ALL.sum(ALL.local), ALL.sum(ALL.stochastic), vector("x_next")):
        with pytest.raises(ValueError, match="not known before"):
            FRESH.slack(ALL.noise, later)


# Forms


def test_sums_over_families_are_linear() -> None:
    u, w = vector("u", C, I), vector("w", C)
    assert families_of(u) == {C, I} and families_of(gradient(Objective("F").client("F_m", C), x)) == {C}
    assert sympy.expand(I.sum(2 * u + 3 * w) - 2 * I.sum(u) - 3 * K * w) == 0
    assert sympy.expand(C.sum(I.sum((u - x) ** 2)) - C.sum(I.sum(u**2)) + 2 * C.sum(I.sum(u)) * x - S * K * x**2) == 0
    assert vectors_in(eta * L * x) == {x}
    with pytest.raises(ValueError, match="products of two members"):
        I.sum(u**3)


# Properties


def test_what_properties_imply() -> None:
    assert closed({Property.SMOOTH: (L,)})[Property.SMOOTH_ABOVE] == (L,)
    assert Property.SMOOTH not in closed({Property.SMOOTH_ABOVE: (L,)})
    with pytest.raises(ValueError, match="assumed with"):
        united([{Property.VARIANCE: (sigma,)}, {Property.VARIANCE: (2 * sigma,)}])


def test_every_assumption_of_the_paper_has_a_meaning() -> None:
    supposed = {"sfl.lemma7", "sfl.lemma8", "sfl.lemma7.cubic"}  # recursions: the statements on them say so
    for statement in catalogue.statements("sfl"):
        if statement.kind == "assumption":
            assert bool(statement.gives) == (statement.id not in supposed), statement.id


# Cheating


CHEATS: list[tuple[str, Callable[[Argument], object], str]] = [
    ("step.eq32", lambda p: p.conclude(p.claim("step.eq36")), "it is about"),
    ("step.eq49", lambda p: p.conclude(p.claim("lemma5")), "which sfl.step.eq49 does not assume"),
    ("step.eq32", lambda p: p.conclude(p.claim("lemma6")), "sfl.lemma6: condition eta"),
    ("lemma5", lambda p: p.conclude(p.claim("eq41.corrected", {K: K / 2})), "expected a whole number"),
    ("lemma5", lambda p: p.conclude(p.claim("lemma5")), "its own statement"),
    ("lemma5", lambda p: p.copied(), "more than one client"),
    ("step.eq30", lambda p: p.conclude(p.have("of nothing", step_sq, "<=", 4 * noise_sq)), "beyond the rules named"),
    ("step.eq30", lambda p: p.have("Young", 0 * dist2, "<=", 0 * dist2, p.by(YOUNG, x, x_star, -eta)), "Young:"),
    ("step.eq30", lambda p: p.conclude(facts(p.statement)[0]), "was not derived in this proof"),
    ("step.eq30", lambda p: p.split(S, p.done, lambda: None), "the case S = 1"),
    ("step.eq31", lambda p: p.conclude(p.put(biased(p), p.claim("step.eq36")), part=0), "part 2"),
]


@pytest.mark.parametrize(("name", "proof", "says"), CHEATS)
def test_a_proof_that_cheats(name: str, proof: Callable[[Argument], object], says: str) -> None:
    """A claim that does not fit, or a premise that nothing gives; a part that is left out leaves the claim open."""
    found = argue(name, proof)
    assert found.status is (Status.OPEN if says == "part 2" else Status.BROKEN)
    assert says in f"{found.says} {found.witness.get('step', '')}"


def test_a_proof_in_the_other_direction() -> None:
    statement = catalogue.find("sfl.step.eq30")
    assert isinstance(statement.claim, Bound)
    turned = statement.with_claim(replace(statement.claim, sign=">="))
    argument = Argument(turned, LANGUAGE)
    PROOFS["step.eq30"](argument)
    assert argument.verdict().status is Status.BROKEN and "says >=" in argument.verdict().says


def test_a_property_that_is_not_assumed() -> None:
    def proof(p: Argument) -> None:
        variance = p.by(VARIANCE, ALL.noise).over(I, C)
        p.have("Lemma 1", noise_sq, "<=", S * K * sigma**2, p.by(SUCCESSIVE, ALL.noise, I, C), variance)

    found = argue("step.eq30", proof)  # it assumes nothing
    assert found.status is Status.BROKEN and "needs the property 'bounded variance'" in found.says
    assert any(p.kind == "property" and p.name == "bounded variance" for p in found.premises)


def test_an_equality_from_an_inequality() -> None:
    def proof(p: Argument) -> None:
        smooth = p.by(LIPSCHITZ, ALL.function, ALL.point, x).over(I, C)
        p.have("Lipschitz", E_r, "=", E_r, 0 * smooth)

    assert "does not follow from 'Lipschitz gradient'" in argue("lemma5", proof).says


def test_an_inequality_taken_with_a_negative_factor() -> None:
    def proof(p: Argument) -> None:
        square = p.by(JENSEN, x, x_star)
        p.have("turned", -dist2, "<=", dist2, -1 * square)

    assert "is taken with a factor >= 0" in argue("lemma5", proof).witness["step"]


def test_an_upper_bound_put_in_with_the_wrong_sign() -> None:
    def proof(p: Argument) -> None:
        fresh = 2 * eta * p.by(FRESH, ALL.noise, x - x_star).over(I, C)
        expanded = dist2 - 2 * eta * inner_sum + eta**2 * step_sq
        square = p.have("(28)", dist2_next, "=", expanded, fresh, after=p.follow("alg1"))
        upper = p.claim("step.eq30")
        p.put(replace(square, value=-square.value), upper)

    assert "enters with a factor >= 0" in argue("lemma5", proof).witness["step"]


def test_noise_that_is_not_named() -> None:
    with pytest.raises(ValueError, match="not known before"):
        FRESH(Noise(ALL.noise.vector, frozenset()), x)
    with pytest.raises(ValueError, match="a StochasticGradient and its mean"):
        Noise(vector("g"), frozenset())


def test_premises_are_recorded() -> None:
    found = argue("lemma5", PROOFS["lemma5"])
    assert found.uses == ("sfl.step.eq28", "sfl.step.eq29", "sfl.step.eq32")
    kinds = {p.kind for p in found.premises}
    assert kinds == {"claim", "condition", "property"}


def test_a_counter_model_satisfies_the_definitions() -> None:
    """eta_tilde = M K eta: without it, eta could be anything."""
    statement = catalogue.find("sfl.step.gc_recursion")

    def asked(claim: sympy.Basic) -> Argument:
        found = Argument(statement, LANGUAGE)
        found.require("a step size", claim)
        return found

    proved, refuted, none = (
        asked(c)
        for c in (
            at_most(M * K * L * eta, Rational(1, 6)),
            at_most(M * K * L * eta, Rational(1, 7)),
            mu * eta_tilde <= 1,
        )
    )
    assert proved.steps[0].decision.status is Status.PROVED
    assert sympy.Eq(eta_tilde, M * K * eta, evaluate=False) in proved.conditions
    model = refuted.steps[0].decision.model
    assert refuted.conditions == none.conditions and (eta_tilde - M * K * eta).subs(model) == 0
    assert set(none.steps[0].decision.model) == {eta_tilde, mu, L, M, S}  # no definition is needed


def test_conditions_are_unevaluated_for_z3() -> None:
    u = sympy.Symbol("u", positive=True)
    assert at_most(0, u) != sympy.true and Fact(u, "<=", u).sign == "<="
