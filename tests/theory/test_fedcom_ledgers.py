"""The FedCOM proofs: what they prove, where the printed ones break, and what their rates reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.checks import claims
from fedtheory.theory.fedcom.checks.claims import PROOFS, noiseless, noisy
from fedtheory.theory.fedcom.heterogeneous import contraction78
from fedtheory.theory.fedcom.symbols import kappa
from fedtheory.theory.statement import Bound, Condition, Evidence, Rates, Statement, Status, Verdict

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


def verdict(name: str, kind: str = "ledger") -> Verdict:
    found = EVIDENCE[name, kind]  # type: ignore[index]
    return found.check(catalogue.find(f"fedcom.{name}"), False)


def prove(name: str, statement: Statement, kind: str = "ledger") -> Verdict:
    return EVIDENCE[name, kind].check(statement, False)  # type: ignore[index]


@pytest.mark.parametrize("name", BROKEN_AT)
def test_printed_proofs_break_where_they_are_wrong(name: str) -> None:
    found = verdict(name)
    assert found.status is Status.BROKEN and str(found.witness["step"]).startswith(BROKEN_AT[name])


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
