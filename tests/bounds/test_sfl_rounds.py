"""Statements about one round on exact instances: every verdict, every witness by hand, every sharpened claim refuted."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Rational, sqrt

from fedtheory.bounds.sfl import rounds as exactly
from fedtheory.bounds.sfl.quantities import OF_STEPS, QUANTITIES, of_step
from fedtheory.bounds.sfl.rounds import PARALLEL, ROUNDS, SEQUENTIAL, Instance, RoundInstance, cases, form_of, instances
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import LAWS, round_in_numbers
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.sfl.symbols import E_r, L, M, S, beta, eta, grad_sq, sigma
from fedtheory.theory.statement import Bound, Condition, Relations, Statement, Status, Term, Verdict, at_most, equal_to

IDS = [*SEQUENTIAL, *PARALLEL]
FALSE = {"step.eq50", "lemma9", "lemma13", "step.eq54_recursion", "step.eq80_recursion", "eq41", "step.gc_recursion"}


@cache
def verdict(name: str) -> Verdict:
    return ROUNDS.check(catalogue.find(f"sfl.{name}"))


def bound(name: str) -> Bound:
    claim = catalogue.find(f"sfl.{name}").claim
    assert isinstance(claim, Bound)
    return claim


def divided(statement: Statement, factor: Any) -> Statement:
    """All terms with a plus sign, or right sides, divided by a factor."""
    claim, by = statement.claim, Rational(str(factor))
    if isinstance(claim, Relations):
        return statement.with_claim(Relations(tuple(sympy.Le(r.args[0], r.args[1] / by) for r in claim.relations)))
    assert isinstance(claim, Bound)
    terms = (Term(t.name, t.value if t.value.as_coeff_Mul()[0] < 0 else t.value / by) for t in claim.terms)
    return statement.with_claim(replace(claim, terms=tuple(terms)))


@pytest.mark.dear
@pytest.mark.parametrize("name", [name for name in IDS if name not in FALSE])
def test_sharpened_claims_are_refuted(name: str) -> None:
    """By a little more than the slack, on which the check so insists; by a little less they hold."""
    statement, slack = catalogue.find(f"sfl.{name}"), verdict(name).slack
    assert slack is not None
    sharpened = ROUNDS.check(divided(statement, round(slack * 1.002, 6)))
    assert sharpened.status is Status.REFUTED
    holds_by_hand(divided(statement, round(slack * 1.002, 6)), sharpened, expected=False)
    if slack > 1.01:
        assert ROUNDS.check(divided(statement, round(slack * 0.998, 6))).status is Status.TESTED


DROPPED = [
    (name, assumption)
    for name in IDS
    for assumption in ("asm.unbiased", "asm.independent")
    if name not in FALSE and f"sfl.{assumption}" in catalogue.find(f"sfl.{name}").assumes
]


@pytest.mark.parametrize(("name", "assumption"), DROPPED)
def test_what_is_not_assumed_is_violated(name: str, assumption: str) -> None:
    statement = catalogue.find(f"sfl.{name}")
    found = ROUNDS.check(replace(statement, assumes=tuple(a for a in statement.assumes if a != f"sfl.{assumption}")))
    assert found.status is Status.REFUTED and found.witness["law"] in ("shared", "biased")


def test_a_fixed_order_where_no_sampling_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = catalogue.paper("sfl")
    monkeypatch.setattr(paper, "background", tuple(s for s in paper.background if s.id != "sfl.alg1"))
    for name in ("lemma5", "step.sc_recursion.faster", "step.gc_recursion.sharp", "eq70.sharp.sampled"):
        found = ROUNDS.check(catalogue.find(f"sfl.{name}"))
        assert found.status is Status.REFUTED and found.witness["law"] == "one order"


# --- Witnesses -------------------------------------------------------------------------------------------------------


def holds_by_hand(statement: Statement, found: Verdict, *, expected: bool) -> None:
    """The claim at the witness with sympy's numbers, constants of one-dimensional problems from their formulas."""
    w = found.witness
    plane = isinstance(w["H"][0], list)
    H = np.array([np.array(h, dtype=object).reshape(2, 2) if plane else [[h]] for h in w["H"]], dtype=object)
    b = np.array([v if plane else [v] for v in w["b"]], dtype=object)
    x = np.array(w["x"] if plane else [w["x"]], dtype=object)
    H, b, x = (np.vectorize(Fraction, otypes=[object])(q) for q in (H, b, x))
    step, sigma2 = Fraction(w["eta"]), Fraction(w["sigma^2"])
    bend = [Fraction(v) for v in w["bend"]] if "bend" in w else None
    sequential = statement.id.removeprefix("sfl.") in SEQUENTIAL
    algorithm = (SFL if sequential else PFL)(w["K"], 1.0, w["S"])
    found_round = round_in_numbers(algorithm, H, b, x, step, sigma2, bend or (), w.get("law", LAWS[0]))
    values = {name: found_round.mean(quantity) for name, quantity in QUANTITIES.items()}
    if "m" in w:
        number = (w["m"] - 1) * w["K"] + w["k"]
        values |= {name: found_round.mean(of_step(name, number, sequential)) for name in OF_STEPS}
    eigenvalues = [e for h in H for e in sympy.Matrix(h.tolist()).applyfunc(sympy.nsimplify).eigenvals()]
    eigenvalues += [e + exact(more) for e, more in zip(eigenvalues, bend or [], strict=False)]
    values |= {name: w[name] for name in ("M", "S", "K")}
    values |= {"eta": step, "sigma": sqrt(exact(sigma2)), "mu": min(eigenvalues)}
    values["L"] = Fraction(w.get("L, not assumed", "1").split()[0]) * max(map(abs, eigenvalues))
    values["zeta_star"] = sqrt(exact((b**2).sum() / len(b)))
    if "beta" in w:
        values |= {"beta": Fraction(w["beta"]), "zeta": sqrt(exact(Fraction(w["zeta^2"])))}
        for y in range(-20, 21):  # Assumption 3a, along a line
            mean = H.sum(0) / Fraction(len(H)) @ (x * 0 + y)
            spread = (((H @ (x * 0 + y) + b) - mean) ** 2).sum() / Fraction(len(H))
            assert spread <= Fraction(w["beta"]) ** 2 * (mean @ mean) + Fraction(w["zeta^2"])

    def at(e: sympy.Basic) -> Any:
        e = e.xreplace(dict(statement.where))
        return e.subs({s: exact(values[s.name]) for s in e.free_symbols})

    assert all(at(c.relation) == sympy.true for c in statement.when)
    claim = statement.claim
    if isinstance(claim, Bound):
        relations: list[Any] = [(sympy.Eq if claim.sign == "=" else sympy.Le)(at(claim.quantity), at(claim.value))]
        assert (str(at(claim.quantity)), str(at(claim.value))) == (w["left"], w["right"])
    else:
        assert isinstance(claim, Relations)
        relations = [at(r) for r in claim.relations]
    assert all(r == sympy.true for r in relations) is expected


def exact(q: Any) -> sympy.Expr:
    return Rational(q.numerator, q.denominator) if isinstance(q, numbers.Rational) else sympy.sympify(q)


@pytest.mark.parametrize("name", sorted(FALSE))
def test_witnesses_by_hand(name: str) -> None:
    holds_by_hand(catalogue.find(f"sfl.{name}"), verdict(name), expected=False)


# --- The family and the constants ------------------------------------------------------------------------------------


def test_the_instances() -> None:
    assert 100 <= sum(i.law == LAWS[0] for i in instances()) <= 400 and len(set(instances())) == len(instances())
    assert {(i.M, i.S < i.M) for i in instances()} >= {(1, False), (2, False), (2, True), (3, False), (3, True)}
    assert {len(i.x) for i in instances()} == {1, 2}
    assert all(
        isinstance(v, numbers.Rational) for i in instances() for v in (*i.x, *np.ravel(i.H), *np.ravel(i.b), i.sigma_sq)
    )
    assert (
        any(i.mu < 0 for i in instances())
        and any(i.mu > 0 for i in instances())
        and any(i.mu == 0 for i in instances())
    )
    bent = [i for i in instances() if i.bend]
    assert len(bent) > 50 and all(len(i.bend) == i.M and any(i.bend) and i.zeta_sq(Fraction(8)) is None for i in bent)
    planes = [np.asarray(i.H) for i in instances() if len(i.x) == 2]
    assert all((H[0] @ H[1] != H[1] @ H[0]).any() for H in planes)


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_constants_agree_with_the_problems(factor: int) -> None:
    """With the certified constants of `Quadratic`, which come from eigenvalues in floating point."""
    compared = 0
    for instance in (i for i in instances() if not i.bend):
        H, b = np.array(instance.H, dtype=float), np.array(instance.b, dtype=float)
        problem = Quadratic(H, b)
        constants = problem.constants
        assert float(instance.L) == pytest.approx(constants["L"])
        assert float(instance.mu) == pytest.approx(constants["curvature"], abs=1e-12)
        assert float(instance.zeta_star_sq) == pytest.approx((b**2).sum() / len(b))
        zeta_sq = instance.zeta_sq(Fraction(factor))
        certified = problem.heterogeneity(float(factor))[1]
        if zeta_sq is not None:
            assert float(zeta_sq) == pytest.approx(certified.value**2, abs=1e-9)
            compared += 1
        elif certified.value is not None:  # exactly the smallest beta, which the family leaves out
            assert problem.heterogeneity(factor * (1 - 1e-6))[1].value is None
    assert compared > 50


def test_symbols_are_of_one_type() -> None:
    known = exactly.symbols([i for i in instances() if i.M == 12 and i.law == LAWS[0]][-1], Fraction(2), {})
    assert all(isinstance(value, numbers.Rational) for value in known.values())
    assert known["M"] == 12 and known["S"] == 1 and known["zeta_sq"] == 0


@pytest.mark.parametrize(
    ("q", "expected"), [(Fraction(9, 4), Fraction(3, 2)), (Fraction(0), 0), (Fraction(2, 3), Fraction(2449, 3000))]
)
def test_roots(q: Fraction, expected: Fraction) -> None:
    assert exactly.root(q) == expected and expected**2 <= q


def test_conditions_limit_the_step() -> None:
    """Assumptions that a family member does not satisfy keep it out; the largest step is the smallest limit."""
    to = form_of(catalogue.find("sfl.step.eq54_recursion"))[0]
    two = next(i for i in instances() if i.M == 2 and i.S == 1 and i.H[1] == ((Fraction(1, 2),),))
    known = exactly.symbols(two, Fraction(1, 2), {})
    assert exactly.largest_step(known, to) == Fraction(1, 6)
    assert exactly.largest_step(known | {"beta": Fraction(3)}, to) == Fraction(1, 18)
    largest = exactly.largest_step(known | {"beta": Fraction(3), "S": Fraction(2)}, to)
    assert largest < 2**0.5 / 36 < largest * Fraction(1001, 1000)
    assert exactly.largest_step(known, form_of(catalogue.find("sfl.step.eq49"))[0]) is None
    flat = Instance(two.H, two.b, two.x, 1, 1, Fraction(0))
    assert flat.fits({Property.CONVEX: (), Property.BOUNDED_BELOW: ()}) and flat.fits({})
    indefinite = next(i for i in instances() if i.mu < 0)
    assert indefinite.fits({Property.BOUNDED_BELOW: ()}) and not indefinite.fits({Property.CONVEX: ()})


# --- The search ------------------------------------------------------------------------------------------------------


def rounds(name: str, M: int, S: int) -> list[RoundInstance]:
    (to, *_) = form_of(catalogue.find(f"sfl.{name}"))
    return [one for one in ROUNDS.family(to, False) if (one.instance.M, one.instance.S) == (M, S)]


def test_the_search_finds_what_the_family_has_not() -> None:
    """From members of the family that do not contradict Lemma 9 it comes to one that does."""
    statement = catalogue.find("sfl.lemma9")

    (to, *_) = form_of(statement)
    true = [one for one in rounds("lemma9", 2, 1) if all(case.balance.holds for case in cases(one, to))]
    found = replace(ROUNDS, family=lambda *_: true).check(statement)
    assert true and found.status is Status.REFUTED
    holds_by_hand(statement, found, expected=False)


def test_outside_the_assumptions_nothing_is_compared() -> None:
    for name, admitted in (("lemma5", False), ("step.eq49", True)):
        statement = catalogue.find(f"sfl.{name}")
        (to, *_) = form_of(statement)
        (one, *_) = rounds(name, 2, 1)
        concave = replace(one.instance, H=(ONE, ((Fraction(-1, 2),),)))
        assert list(cases(one, to)) and bool(list(cases(one._replace(instance=concave), to))) is admitted
        assert not list(cases(one._replace(eta=Fraction(0)), to))
        assert bool(list(cases(one._replace(eta=Fraction(100)), to))) is (name == "step.eq49")
        assert not list(cases(one, to, further=True))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["lemma5", "lemma12", "step.eq50.corrected"])
def test_what_is_varied_meets_conditions_and_assumptions(name: str) -> None:
    random, (to, *_) = Random(1), form_of(catalogue.find(f"sfl.{name}"))
    family = list(ROUNDS.family(to, False))
    other = [ROUNDS.varied(one, to, random) for one in family]
    changed = [one for one in other if one is not None and one not in family]
    assert len(changed) > len(family) / 3 and all(list(cases(one, to)) for one in changed)


# --- Refusals --------------------------------------------------------------------------------------------------------

EQ49, EQ28 = catalogue.find("sfl.step.eq49"), catalogue.find("sfl.step.eq28")
ONE = ((Fraction(1),),)


def conditioned(*relations: Any) -> Statement:
    return replace(EQ49, when=tuple(map(Condition, relations)))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: ROUNDS.check(catalogue.find("sfl.eq42")), r"sfl.eq42: expected one of step.eq28, "),
        (
            lambda: ROUNDS.check(EQ49.with_claim(catalogue.find("sfl.eq43").claim)),
            r"kind Order: expected Bound",
        ),
        (lambda: ROUNDS.check(EQ49.with_claim(at_most(E_r, odd=sigma))), r"even powers of sigma, zeta, zeta_star"),
        (lambda: ROUNDS.check(EQ49.with_claim(at_most(E_r, odd=sqrt(L)))), r"sqrt\(L\): expected no root"),
        (lambda: ROUNDS.check(conditioned(eta**2 <= 1 / L)), r"expected it linear in eta"),
        (
            lambda: ROUNDS.check(conditioned(eta - sqrt(S) <= beta)),
            r"expected no roots, or sides that are not negative",
        ),
        (lambda: Instance((ONE,), ((Fraction(1),),), (Fraction(0),), 1, 1, Fraction(0)), r"slopes that sum to 0"),
        (lambda: Instance((ONE,), ((Fraction(0),),), (Fraction(0),) * 3, 1, 1, Fraction(0)), r"d <= 2"),
        (
            lambda: exactly.eigenvalues(((Fraction(1), Fraction(1)), (Fraction(1), Fraction(0)))),
            r"expected a matrix with rational eigenvalues",
        ),
    ],
)
def test_refusals(attempt: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()


def test_the_direction_is_read() -> None:
    assert ROUNDS.check(EQ49).status is Status.TESTED
    assert ROUNDS.check(EQ49.with_claim(replace(bound("step.eq49"), sign=">="))).status is Status.REFUTED
    assert ROUNDS.check(EQ49.with_claim(replace(bound("step.eq49"), sign="="))).status is Status.REFUTED


def test_nothing_to_check_is_open() -> None:
    found = ROUNDS.check(conditioned(S >= M + 1))
    assert found.status is Status.OPEN and "no instance meets the conditions" in found.says


def test_equalities() -> None:
    assert ROUNDS.check(EQ28.with_claim(bound("step.eq28").scaled(Rational(9, 10), "step"))).status is Status.REFUTED
    assert ROUNDS.check(EQ28.with_claim(equal_to(grad_sq, itself=grad_sq))).status is Status.TESTED
    assert ROUNDS.check(EQ28.with_claim(at_most(grad_sq, nothing=0))).status is Status.REFUTED


def test_a_condition_that_a_definition_decides() -> None:
    """S = M makes S <= M true; S = M + 1 makes it false, so that no instance is left."""
    lemma = catalogue.find("sfl.lemma5")
    (form,) = form_of(replace(lemma, where={S: M}))
    assert len(form.conditions) + len(form.on_step) == len(lemma.when)
    assert any(True for _ in exactly.family(form, False))
    (none,) = form_of(replace(lemma, where={S: M + 1}))
    assert not any(True for _ in exactly.family(none, False))
