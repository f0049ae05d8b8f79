"""The FedCOM proofs: what they prove, where the printed ones break, and that every part of a statement matters to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Rational

from theory import catalogue
from theory.fedcom.checks import claims
from theory.fedcom.checks.claims import PROOFS, REPAIRS, noiseless, noisy
from theory.fedcom.heterogeneous import contraction78
from theory.fedcom.symbols import epsilon, kappa
from theory.statement import Bound, Condition, Evidence, Order, Rates, Statement, Status, Verdict

EVIDENCE = {(e.statement.removeprefix("fedcom."), e.kind): e for e in claims.evidence()}
BROKEN_AT = {
    "lemmaD1.proof": "noise and later gradients are uncorrelated",
    "lemmaD2": "noise of mean zero",  # needs Assumption 3, which it does not list
    "lemmaD3": "noise and later gradients are uncorrelated",
    "lemmaE1": "noise and later gradients are uncorrelated",
    "lemmaE2": "noise of mean zero",  # needs Assumption 4, which it does not list
    "lemmaE3": "partial sums of the first round are at most its whole sum",
    "lemmaE7": "the equality in the middle",
    "lemmaF1": "the equality in the middle",
    "lemmaF2": "the claim: coefficient of drift_mean",
    "thmD9": "the regularised function is (L + phi)-smooth",
    "thmE4": "(73) divided by its factor, printed as if it were 1",
    "thmE6": "fedcom.thmE6.eq88: its assumptions",
    "thmE6.recursion": "(83)",
    "thmE9": "the regularised function is (L + phi)-smooth",
    "corD5": "fedcom.thmD4: condition ",
    "corE5": "fedcom.thmE4: condition ",
    "corE8": "fedcom.thmE6: condition ",
    "corE8.early_bracket": "fedcom.thmE6: condition ",
    "corE10": "fedcom.thmE9.corrected: its assumptions",  # the tracking is not damped
    "tab6.fedcomgate": "fedcom.thmE4.corrected: its assumptions",
    "rem7": "fedcom.thmD4: its assumptions",
    "rem8": "the rates have enough rounds",
}
PROVED = [name for name in PROOFS if name not in BROKEN_AT]

# What a proof does not need: why a change leaves it standing
SPARE = {
    "lemmaD1.corrected": {"no L*eta*tau <= 1": "the bound holds for longer steps too"},
    "lemmaF1.corrected": {"without fedcom.asm5": "no mean of messages is compressed in the tracking"},
    "lemmaF5": {"without fedcom.asm1": "its drift term is not needed"},
    "lemmaF6": {"without fedcom.asm1": "no function value or gradient change enters"},
    "lemmaF6.corrected": {"without fedcom.asm1": "no function value or gradient change enters"},
    "thmE6.eq88": {
        "no 30*L**2*eta**2*tau**2 <= 1": "eta L < 1 is enough",
        "no L*eta < 1": "it follows from 30 eta^2 L^2 tau^2 <= 1",
    },
    "corD8": {"no 1/(kappa*(2 + 2*q/m)) <= 1/2": "it follows from kappa >= 1"},
    "corD8.corrected": {"no 1/(kappa*(2 + 2*q/m)) <= 1/2": "it follows from kappa >= 1"},
    # an order leaves constants out, and its conditions have room for another constant in the learning rate
    "corD5.corrected": {"1/2 eta": "a constant", "2 eta": "a constant"},
    "corE5.corrected": {"1/2 eta": "a constant"},
}
# Terms of printed bounds, and one of ours, that are at least twice as large as the proof needs
ROOMY = {
    "lemmaF3": {"noise"},
    "lemmaF4": {"drift_before", "drift_before_again"},
    "lemmaF5": {"drift"},
    "thmE6.eq88": {"noise"},
    "corD8": {"drift", "noise"},
    "corD8.corrected": {"drift"},
}


def verdict(name: str, kind: str = "ledger") -> Verdict:
    found = EVIDENCE[name, kind]  # type: ignore[index]
    return found.check(catalogue.find(f"fedcom.{name}"), False)


def prove(name: str, statement: Statement, kind: str = "ledger") -> Verdict:
    return EVIDENCE[name, kind].check(statement, False)  # type: ignore[index]


@pytest.mark.slow  # `test_paper_check` finds the same
@pytest.mark.parametrize("name", PROVED)
def test_what_is_proved(name: str) -> None:
    found = verdict(name)
    assert found.status is Status.PROVED, found.says
    assert found.premises or name.startswith("rem")


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs_prove_the_printed_statement(name: str) -> None:
    assert verdict(name, "repair").status is Status.PROVED


@pytest.mark.parametrize("name", BROKEN_AT)
def test_printed_proofs_break_where_they_are_wrong(name: str) -> None:
    found = verdict(name)
    assert found.status is Status.BROKEN and str(found.witness["step"]).startswith(BROKEN_AT[name])


# Every part of a statement matters


def changes(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """The statement with one part changed: a proof that goes through all the same has not read that part."""
    claim = statement.claim
    if isinstance(claim, Bound | Order):
        yield "1000 times the quantity", statement.with_claim(replace(claim, quantity=1000 * claim.quantity))
    if isinstance(claim, Bound):
        yield "turned round", statement.with_claim(replace(claim, sign=">="))
        yield "an equality", statement.with_claim(replace(claim, sign="="))
    if statement.assumes:
        yield "without assumptions", replace(statement, assumes=())
    for one in statement.assumes:
        yield f"without {one}", replace(statement, assumes=tuple(a for a in statement.assumes if a != one))
    for symbol, meaning in statement.where.items():
        for factor in (Rational(1, 2), sympy.Integer(2)):
            yield f"{factor} {symbol}", replace(statement, where={**statement.where, symbol: factor * meaning})
    for condition in statement.when:
        rest = tuple(c for c in statement.when if c != condition)
        yield f"no {replace(condition, source='printed')}", replace(statement, when=rest)
    if isinstance(claim, Rates):
        for i, rate in enumerate(claim.rates):
            for what in ("rounds", "steps"):
                fewer: Any = {what: getattr(rate, what) * epsilon}
                rates = (*claim.rates[:i], replace(rate, **fewer), *claim.rates[i + 1 :])
                yield f"{rate.case}: fewer {what}", statement.with_claim(Rates(rates))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "ledger") for name in PROVED), *((name, "repair") for name in REPAIRS)]
)
def test_no_proof_survives_a_changed_statement(name: str, kind: str) -> None:
    spare = set(SPARE.get(name, {}))
    stands = {
        what
        for what, changed in changes(catalogue.find(f"fedcom.{name}"))
        if prove(name, changed, kind).status is Status.PROVED
    }
    assert stands == spare


@pytest.mark.parametrize("name", ["lemmaD1.corrected", "lemmaE2.corrected", "lemmaF4", "corD6"])
def test_a_changed_statement_is_another_statement(name: str) -> None:
    """As above, for a few statements of each kind."""
    test_no_proof_survives_a_changed_statement(name, "ledger")


@pytest.mark.slow  # that its evidence can fail is demanded by `test_paper_check`
@pytest.mark.parametrize("name", PROVED)
def test_every_term_of_a_bound_is_needed(name: str) -> None:
    """Half of a term is too little."""
    statement = catalogue.find(f"fedcom.{name}")
    if isinstance(statement.claim, Bound):
        roomy = set()
        for term in statement.claim.terms:
            factor = Rational(2) if term.value.could_extract_minus_sign() else Rational(1, 2)
            changed = statement.with_claim(statement.claim.scaled(factor, term.name))
            if prove(name, changed).status is Status.PROVED:
                roomy.add(term.name)
        assert roomy == ROOMY.get(name, set())


def test_premises_are_recorded() -> None:
    found = verdict("thmD7.corrected")
    assert set(found.uses) == {"fedcom.lemmaD1.corrected", "fedcom.lemmaD2.corrected", "fedcom.lemmaD3.summed"}
    names = {(premise.kind, premise.name) for premise in found.premises}
    assert ("property", "compressors independent across clients") in names and ("algorithm", "fedcom.alg1") in names


def test_the_damped_tracking_is_an_assumption() -> None:
    """What is proved of the damped algorithm is not proved of the printed one."""
    ours = catalogue.find("fedcom.thmE4.corrected")
    printed = replace(ours, assumes=tuple(a for a in ours.assumes if a != "fedcom.asm.damped"))
    found = prove("thmE4.corrected", printed)
    assert found.status is Status.BROKEN and "damped" in found.says


def test_recursion_needs_the_minus_and_the_denominator() -> None:
    printed = catalogue.find("fedcom.thmE6.recursion")
    (inserted,) = printed.also
    assert isinstance(inserted, Bound)
    minus = (inserted.scaled(-1, "dropped"),)
    positive = (*printed.when, Condition(contraction78 > 0))
    ledger: Evidence = EVIDENCE["thmE6.recursion", "ledger"]

    def check(**changed: Any) -> Verdict:
        return ledger.check(replace(printed, **changed), False)

    assert check(also=minus, when=positive).status is Status.PROVED
    assert "step (b)" in check(when=positive).witness["step"]
    assert check(also=minus).witness["step"] == "(83)"


@pytest.mark.parametrize("name", ["corD5", "rem7", "tab5.fedcom"])
def test_printed_rates_fail_and_corrected_do_not(name: str) -> None:
    assert verdict(name, "counterexample").status is Status.REFUTED
    if (f"{name}.corrected", "counterexample") in EVIDENCE:
        assert verdict(f"{name}.corrected", "counterexample").status is Status.TESTED


@pytest.mark.parametrize("case", ["nonconvex", "PL", "convex"])
def test_every_row_of_table_5_fails(case: str) -> None:
    statement = catalogue.find("fedcom.tab5.fedcom")
    assert isinstance(statement.claim, Rates)
    one = statement.with_claim(Rates((statement.claim.by_case[case],)))
    assert claims.no_step_size(one).status is Status.REFUTED


@pytest.mark.parametrize(("rounds", "steps", "count", "q"), [(3, 1, 1, 2.0), (10, 4, 3, 8.0), (40, 2, 5, 5.0)])
def test_lower_bounds_lie_below_every_step_size(rounds: int, steps: int, count: int, q: float) -> None:
    """E w_R^2 by its recursion on a grid of step sizes, without and with noise, is never below the lower bound."""
    a = np.linspace(1e-4, 2, 4001)
    for noise, least in (
        (0.0, noiseless(mpmath.mpf(rounds), mpmath.mpf(count), mpmath.mpf(q))),
        (1.0, noisy(*(mpmath.mpf(n) for n in (rounds, steps, count, q, 1)))),
    ):
        square = np.ones_like(a)
        for _ in range(rounds):
            square = ((1 - a) ** 2 + a**2 * q / count) * square + noise * a**2 * (q + 1) / (steps * count)
        assert float(least) <= square.min() and float(least) > 0
        assert noise or float(least) == pytest.approx(square.min(), rel=1e-3)  # attained without noise


def test_a_condition_on_the_learning_rate_is_put_to_no_proof() -> None:
    for name in ("cond21", "cond61", "cond78"):
        assert catalogue.find(f"fedcom.{name}").kind == "definition"
        assert all(kind == "units" for own, kind in EVIDENCE if own == name)


def test_rates_with_kappa_reach_epsilon_and_not_kappa_epsilon() -> None:
    """With 1/kappa of the local steps of Corollary D.8 the noise is of the order of kappa epsilon: too much."""
    statement = catalogue.find("fedcom.corD8.corrected")
    for share in (1, 1 / kappa):
        rates = tuple(replace(rate, steps=share * rate.steps) for rate in claims.rates_of(statement))
        found = prove("corD8.corrected", replace(statement, also=(Rates(rates),)))
        assert (found.status is Status.PROVED) is (share == 1)
    assert "is of order epsilon" in found.says


def test_items_of_the_proof() -> None:
    found = verdict("thmE4.items", "derivation")
    assert found.status is Status.REFUTED and len(found.witness) == 4
    assert verdict("thmE4.items.corrected", "derivation").status is Status.PROVED
