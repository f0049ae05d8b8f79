"""The FedCOM ledgers: what they prove, where the printed proofs break, and that no constant of theirs is spare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from sympy import Rational

from theory import catalogue
from theory.fedcom import consequences
from theory.fedcom.consequences import noiseless, noisy
from theory.fedcom.heterogeneous import contraction78
from theory.fedcom.ledgers import LEDGERS, REPAIRS
from theory.fedcom.paper import kappa
from theory.proofs.ledger import Ledger
from theory.statement import Bound, Condition, Evidence, Rates, Status, Verdict

EVIDENCE = {(e.statement.removeprefix("fedcom."), e.kind): e for e in consequences.evidence()}
OURS = [name for name in LEDGERS if catalogue.find(f"fedcom.{name}").corrects]
BROKEN_AT = {
    "lemmaD1.proof": "noise and later gradients are uncorrelated",
    "lemmaD3": "noise and later gradients are uncorrelated",
    "lemmaE1": "noise and later gradients are uncorrelated",
    "lemmaE3": "partial sums of the first round are at most its whole sum",
    "lemmaE7": "(117): coefficient of G_q",
    "lemmaF1": "drift on the right",
    "lemmaF2": "(98): coefficient of drift_mean",
    "thmD9": "the regularised function is (L + phi)-smooth",
    "thmE4": "(73) divided by its factor, printed as if it were 1",
    "thmE6": "geometric sum: coefficient of sigma**2",
    "thmE6.recursion": "(83)",
    "thmE9": "the regularised function is (L + phi)-smooth",
    "corD5": "fedcom.thmD4: condition ",
    "corE5": "32*L*f_gap*m*tau/(R**2*gamma**2*(q + 1)) is of the printed order",
    "corE8": "learning rate inserted: coefficient of f_gap",
    "corE8.early_bracket": "learning rate inserted: coefficient of G_q",
}


def verdict(name: str, kind: str = "ledger") -> Verdict:
    found = EVIDENCE[name, kind]  # type: ignore[index]
    return found.check(catalogue.find(f"fedcom.{name}"), False)


@pytest.mark.parametrize("name", [*OURS, *consequences.RATES])
def test_corrected_statements_are_proved(name: str) -> None:
    if catalogue.find(f"fedcom.{name}").corrects:
        assert verdict(name).status is Status.PROVED


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs_prove_the_printed_statement(name: str) -> None:
    assert verdict(name, "repair").status is Status.PROVED


@pytest.mark.parametrize("name", BROKEN_AT)
def test_printed_proofs_break_where_they_are_wrong(name: str) -> None:
    found = verdict(name)
    assert found.status is Status.BROKEN and str(found.witness["step"]).startswith(BROKEN_AT[name])


def test_the_other_printed_ledgers_go_through() -> None:
    rest = [name for name in LEDGERS if name not in BROKEN_AT and name not in OURS]
    assert rest and all(verdict(name).status is Status.PROVED for name in rest)


@pytest.mark.slow  # that its evidence can fail is demanded by `test_paper_check`
@pytest.mark.parametrize("name", OURS)
def test_every_term_of_a_corrected_bound_is_needed(name: str) -> None:
    """Half of a term is too little, and so is a rate with fewer rounds."""
    statement, evidence = catalogue.find(f"fedcom.{name}"), EVIDENCE[name, "ledger"]  # type: ignore[index]
    if isinstance(statement.claim, Bound):
        for term in statement.claim.terms:
            factor = Rational(2) if term.value.could_extract_minus_sign() else Rational(1, 2)
            changed = statement.with_claim(statement.claim.scaled(factor, term.name))
            assert evidence.check(changed, False).status is not Status.PROVED, term.name


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
        assert verdict(f"{name}.corrected", "counterexample").status is Status.HOLDS


@pytest.mark.parametrize("case", ["nonconvex", "PL", "convex"])
def test_every_row_of_table_5_fails(case: str) -> None:
    statement = catalogue.find("fedcom.tab5.fedcom")
    assert isinstance(statement.claim, Rates)
    one = statement.with_claim(Rates((statement.claim.by_case[case],)))
    assert consequences.no_step_size(one).status is Status.REFUTED


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
    rate, _ = consequences.rates_of(catalogue.find("fedcom.corD8"))
    for steps, status in ((rate.steps, Status.PROVED), (rate.steps / kappa, Status.BROKEN)):
        ledger = Ledger([])
        consequences.reaches(ledger, replace(rate, steps=steps), consequences._polyak_D)
        found = ledger.verdict()
        assert found.status is status
    assert "is of order epsilon" in str(found.witness["step"])


def test_items_of_the_proof() -> None:
    found = verdict("thmE4.items", "derivation")
    assert found.status is Status.REFUTED and len(found.witness) == 4
    assert verdict("thmE4.items.corrected", "derivation").status is Status.PROVED
