"""The lemmas of FedCOM and FedCOMGATE on exact instances: every verdict, every witness by hand, sharpened claims."""

from __future__ import annotations

import numbers
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
import sympy
from sympy import Rational

from fedtheory.bounds.fedcom.rounds import ENDS, ROUNDS, cases, evidence, family, form_of, known_symbols
from fedtheory.bounds.fedcom.runs import FedCOMGATERun, rows
from fedtheory.bounds.trials.claims import exp_above
from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.symbols import L, a_next, eta, m, message_sq, mu, q, tau
from fedtheory.theory.statement import Bound, Condition, Statement, Status, Verdict, at_most

IDS = [one.statement for one in evidence() if one.kind == "search"]
THEOREMS = [one.statement for one in evidence() if one.kind == "counterexample"]
FALSE = {f"fedcom.{name}" for name in ("lemmaD1", "lemmaD1.proof", "lemmaD3", "lemmaE1", "lemmaE3", "thmE4.eq73",
    "lemmaE7", "lemmaF1", "lemmaF6")}  # fmt: skip
HOLDING = [id_ for id_ in IDS if id_ not in {*FALSE, "fedcom.lemmaD2", "fedcom.lemmaE2"}]


@cache
def verdict(id_: str) -> Verdict:
    return ROUNDS.check(catalogue.find(id_))


def within(id_: str, *relations: Any) -> Statement:
    """The statement under further conditions, and without further claims."""
    statement = catalogue.find(id_)
    return replace(statement, when=(*statement.when, *map(Condition, relations)), also=())


def test_what_is_checked() -> None:
    """Every form of every lemma, and of every theorem whose symbols have values in a run; but no condition alone."""
    assert {"fedcom.lemmaD1", "fedcom.lemmaF6.corrected", "fedcom.thmE4.eq73", "fedcom.thmE6.eq88"} <= set(IDS)
    assert {f"fedcom.{n}" for n in ("thmD4.corrected.sharp", "corD6", "corD8", "thmE6.corrected", "corE8")} <= set(
        THEOREMS
    )
    assert not {"fedcom.cond21", "fedcom.thmE6.eq83", "fedcom.thmD9", "fedcom.corE5"} & {*IDS, *THEOREMS}
    assert len(set(IDS)) == len(IDS)


# --- What is not assumed ---------------------------------------------------------------------------------------------


def changed(name: str, assumptions: dict[str, str]) -> Verdict:
    """The check of a statement with other assumptions, or without them: '' drops one."""
    statement, other = catalogue.find(f"fedcom.{name}"), {f"fedcom.{old}": new for old, new in assumptions.items()}
    assert {*other} <= {*statement.assumes}
    assumes = (f"fedcom.{other[a]}" if a in other else a for a in statement.assumes if other.get(a) != "")
    return (ENDS if statement.id in THEOREMS else ROUNDS).check(replace(statement, assumes=tuple(assumes)))


def test_exp_is_rounded_up() -> None:
    for x in (Fraction(0), Fraction(-1, 7), Fraction(-3)):
        assert (
            0
            <= exp_above(x) - Fraction(str(sympy.exp(sympy.Rational(x.numerator, x.denominator)).n(40)))
            < Fraction(1, 10**25)
        )
    with pytest.raises(ValueError, match="expected an exponent <= 0"):
        exp_above(Fraction(1))


# --- Verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("id_", HOLDING)
def test_the_slack_is_the_limit(id_: str) -> None:
    """Bounds with positive terms only: a little less than the slack is a sharper claim that holds, a little more fails."""
    statement, slack = catalogue.find(id_), verdict(id_).slack
    assert isinstance(statement.claim, Bound) and slack is not None
    if any(t.value.as_coeff_Mul()[0] < 0 for t in statement.claim.terms):
        return
    sharper = statement.with_claim(statement.claim.scaled(1 / Rational(f"{slack * 1.002:.6f}")))
    found = ROUNDS.check(sharper)
    assert found.status is Status.REFUTED
    by_hand(sharper, found)
    if slack > 1.01:
        gentler = statement.with_claim(statement.claim.scaled(1 / Rational(f"{slack * 0.998:.6f}")))
        assert ROUNDS.check(gentler).status is Status.TESTED


# --- Witnesses -------------------------------------------------------------------------------------------------------


def of_witness(w: Any) -> FedCOMGATERun:
    shared = w["coins"] == "one for all clients"
    h, b = (tuple(map(Fraction, w[name])) for name in ("h", "b"))
    numbers = {name: Fraction(w[name]) for name in ("w0", "q", "eta", "gamma")}
    alpha = Fraction(w.get("alpha", 0))
    R = w["R"] if "R" in w else w["r"] + 1
    bend = tuple(map(Fraction, w.get("bend", ())))
    sigma_sq = Fraction(w["sigma^2"])
    return FedCOMGATERun(
        h=h, b=b, bend=bend, sigma_sq=sigma_sq, shared=shared, tau=w["tau"], alpha=alpha, R=R, **numbers
    )


def by_hand(statement: Statement, found: Verdict) -> None:
    """The conditions hold at the witness and the claim does not, with sympy's numbers."""
    w = found.witness
    run = of_witness(w)
    row = rows(run)[-1]
    values: dict[str, Any] = {name: value for name, value in row.items() if not isinstance(value, dict)}
    if "j" in w:
        per_client = {name: value for name, value in row.items() if isinstance(value, dict) and name != "drift"}
        values |= {name: value[w["j"],] for name, value in per_client.items()}
    if "c" in w:
        values["drift"] = row["drift"][w["j"], w["c"]]
    values |= {"m": run.m, "tau": run.tau, "R": run.R, "L": 1, "G_q": 0, "q": run.q, "eta": run.eta}
    values |= {"gamma": run.gamma, "alpha": run.alpha, "sigma": sympy.sqrt(Rational(w["sigma^2"]))}
    assert max(map(abs, run.curvatures)) <= 1

    def at(e: sympy.Basic) -> Any:
        return e.xreplace(dict(statement.where)).subs({s: exactly(values[s.name]) for s in e.free_symbols})

    assert all(at(c.relation) == sympy.true for c in statement.when)
    assert isinstance(statement.claim, Bound)
    left, right = at(statement.claim.quantity), at(statement.claim.value)
    assert (str(left), str(right)) == (w["left"], w["right"]) and left > right


def exactly(value: Any) -> sympy.Expr:
    return (
        Rational(int(value.numerator), int(value.denominator))
        if isinstance(value, numbers.Rational)
        else sympy.sympify(value)
    )


@pytest.mark.parametrize("id_", sorted(FALSE))
def test_witnesses_by_hand(id_: str) -> None:
    by_hand(catalogue.find(id_), verdict(id_))


# --- Further claims, conditions, what cannot be checked --------------------------------------------------------------


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_instances_are_within_the_conditions(id_: str, full: bool) -> None:
    statement = catalogue.find(id_)
    to, count = form_of(statement)[0], 0
    for run in family(to, full):
        count += 1
        symbols = {"m": run.m, "tau": run.tau, "L": 1, "eta": run.eta, "gamma": run.gamma, "q": run.q,
            "mu": min(run.curvatures)}  # fmt: skip
        for c in statement.when:
            at = c.relation.subs({s: exactly(symbols[s.name]) for s in c.relation.free_symbols})
            assert at == sympy.true, run
        assert max(map(abs, run.curvatures)) <= 1
        alphas = {1 / (1 + run.q)} if statement.ours else set()
        if not to.tracks:
            assert (len(set(run.h)) == len(set(run.b)) == 1 or id_ == "fedcom.lemmaD2") and run.alpha == 0
            assert not run.shared or "fedcom.asm2.independent" not in statement.assumes
        else:
            assert run.alpha in (alphas if "fedcom.asm.damped" in statement.assumes else alphas | {1})
        if "f_gap" in to.symbols:
            assert run.minimum is not None
    assert count > 100


def test_outside_the_conditions_nothing_is_compared() -> None:
    to = form_of(catalogue.find("fedcom.lemmaE7"))[0]
    (run, *_) = family(to, False)
    assert list(cases(run, to, False)) and ROUNDS.tightest(run, to) is not None
    # 30 eta^2 L^2 tau^2 <= 1, L = 1, one coin for all, alpha = 1
    one = Fraction(1)
    others: list[dict[str, Any]] = [dict(eta=one), dict(h=(Fraction(2),)), dict(law="biased"), dict(alpha=one / 2)]
    for changed in others:
        assert list(cases(replace(run, **changed), to, False)) == []
        assert ROUNDS.tightest(replace(run, **changed), to) is None


def test_conditions_of_every_kind() -> None:
    """Roots are squared, strict signs are strict; what cannot be met leaves the statement open."""
    id_ = "fedcom.lemmaE7.corrected"
    rooted = ROUNDS.check(within(id_, eta <= 1 / (sympy.sqrt(30) * L * tau)))
    assert rooted == ROUNDS.check(within(id_, 30 * eta**2 * L**2 * tau**2 <= 1))
    assert ROUNDS.check(within(id_, q + 1 < tau / (2 * tau + 1))).status is Status.OPEN
    assert ROUNDS.check(within(id_, m > 1)).status is Status.TESTED


def test_assumptions_choose_the_functions() -> None:
    """Convexity keeps the counter-examples of negative curvature away."""
    printed = catalogue.find("fedcom.lemmaD3")
    convex = ROUNDS.check(replace(printed, assumes=(*printed.assumes, "fedcom.asm7")))
    assert convex.status is Status.TESTED
    curved = replace(printed, assumes=(*printed.assumes, "fedcom.asm6"))
    to = form_of(curved)[0]
    assert all(min(run.mean[:2]) > 0 for run in family(to, False))
    assert ROUNDS.check(replace(curved, when=(Condition(mu <= L),))).status is Status.TESTED


def test_what_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="no exact value for"):
        ROUNDS.check(catalogue.find("fedcom.thmD9"))
    lemma = catalogue.find("fedcom.lemmaD1")
    with pytest.raises(ValueError, match="no exact value for a_next"):
        ROUNDS.check(lemma.with_claim(at_most(message_sq, other=a_next)))
    with pytest.raises(ValueError, match="Listing: expected Bound or Relations"):
        ROUNDS.check(lemma.with_claim(catalogue.find("fedcom.alg1").claim))
    assert "a_next" not in known_symbols() and {"tracking_next", "move_sq", "drift"} <= known_symbols()
