"""What the corrected FedBCGD theorems need besides: independent clients, and what the first round begins with."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bounds.fedbcgd import whole_runs
from bounds.fedbcgd.whole_runs import AT_REST, CONTROLLED, INDEPENDENT, STARTS, USED, check, starts, symbols
from theory import catalogue
from theory.fedbcgd.checks import counterexamples, ledgers
from theory.proofs import units
from theory.statement import Bound, Statement, Status


def find(name: str) -> Statement:
    return catalogue.find(f"fedbcgd.{name}")


def without(statement: Statement, assumption: str) -> Statement:
    assert assumption in statement.assumes
    return replace(statement, assumes=tuple(a for a in statement.assumes if a != assumption))


NEEDS = [(name, a) for name in USED for a in (INDEPENDENT, AT_REST, CONTROLLED) if a in find(name).assumes]


@pytest.mark.parametrize("name", USED)
def test_the_corrected_statements_pass(name: str) -> None:
    statement = find(name)
    assert check(statement).status is Status.TESTED
    assert isinstance(statement.claim, Bound)
    assert check(statement.with_claim(statement.claim.scaled(Fraction(1, 10**5)))).status is Status.REFUTED


@pytest.mark.parametrize(("name", "assumption"), NEEDS)
def test_each_of_them_is_needed(name: str, assumption: str) -> None:
    statement = without(find(name), assumption)
    found = check(statement)
    assert found.status is Status.REFUTED
    (start,) = (s for s in starts(statement) if s.excluded_by == assumption)
    assert found.witness["what"] == start.says and float(found.witness["left"]) > float(found.witness["right"])


def test_what_is_listed_where() -> None:
    own = [s for s in catalogue.statements("fedbcgd") if s.corrects]
    theorems = [s for s in own if s.id.endswith(".corrected") and s.kind == "theorem"]
    assert theorems and all(AT_REST in s.assumes for s in theorems)
    plus = [s for s in theorems if ".thm2." in s.id]
    assert plus and all(CONTROLLED in s.assumes for s in plus)
    noisy = [s for s in theorems if ".thm1." in s.id]
    assert noisy and all(INDEPENDENT in s.assumes for s in noisy)
    assert set(find("alg3.corrected").assumes) == {AT_REST, CONTROLLED}


def test_a_common_sample_by_exact_moments() -> None:
    """x^{r+1} = (1 - eta) x^r - eta xi, weights (1 - 2 eta_tilde)^-(r+1): the variance of the average, in floats."""
    eta_tilde = 1 / 1000
    eta, R = 4 * eta_tilde, 500
    w = (1 - 2 * eta_tilde) ** -(np.arange(R + 1) + 1.0)
    # x^r = -eta sum_s (1-eta)^(r-1-s) xi_s: what multiplies xi_s in the average
    lag = np.arange(R + 1)[:, None] - 1 - np.arange(R)[None, :]
    each = np.where(lag >= 0, (1 - eta) ** np.maximum(lag, 0), 0.0)
    variance = ((w @ each * eta / w.sum()) ** 2).sum()
    statement = find("thm1.strongly_convex.corrected")
    common = check(without(statement, INDEPENDENT)).witness
    assert float(common["left"]) == pytest.approx(variance / 2, rel=1e-9)
    assert float(common["right"]) == pytest.approx(16 * eta_tilde / 100 + 80 * eta_tilde**2, rel=1e-9)


def test_an_offset_stays() -> None:
    """c - c_i = 1 for good, so x^r tends to -1 and the gap to 1/2, from x^0 = x*, where every printed term is 0."""
    offset = next(s for s in STARTS if s.excluded_by == CONTROLLED)
    statement = find("thm2.general_convex.corrected")
    x, eta = Fraction(0), Fraction(1, 36)
    for _ in range(250):
        x -= eta * (x + 1)
    assert abs(x + 1) < Fraction(1, 1000)
    known = symbols(statement, offset)
    assert (known["d0"], known["F"], known["C_0"]) == (0, 0, 0) and known["G_sq"] == 1


def test_the_largest_noise_that_independent_clients_leave() -> None:
    found = whole_runs.independent(find("assumption3.independent"))
    assert found.status is Status.TESTED and "one sign for all clients not: 1 against 1/100" in found.says


# --- readings and transcriptions -------------------------------------------------------------------------------------


def test_beta_is_printed_for_lambda() -> None:
    """(59) and (64) as printed add a number and beta; with lambda they are proved."""
    for name in ("thm1.step59", "thm1.step64"):
        printed, meant = find(name), find(f"{name}.momentum")
        assert isinstance(printed.claim, Bound) and isinstance(meant.claim, Bound)
        symbols_of = {s.name for s in printed.claim.value.free_symbols}
        assert "lam" not in symbols_of and "beta" in symbols_of
        assert units.check(printed).status is Status.REFUTED and units.check(meant).status is Status.PROVED
        (ledger,) = (e for e in ledgers.evidence() if e.statement == meant.id and e.kind == "repair")
        assert ledger.check(meant, False).status is Status.PROVED
        assert ledger.check(meant.with_claim(meant.claim.scaled(Fraction(1, 2))), False).status is Status.BROKEN


def test_theorem_2_case_3_starts_with_the_gradients() -> None:
    """The unseen client has c_i^0 = 0; with c_i^0 = grad f_i(x^0) the witness is outside, without it inside."""
    statement = find("thm2.nonconvex")
    assert counterexamples.unseen_client(statement).status is Status.OPEN
    assert counterexamples.unseen_client(without(statement, "fedbcgd.alg3.begun")).status is Status.REFUTED
    assert not [e for e in counterexamples.evidence() if e.statement == statement.id and e.kind == "counterexample"]


def test_an_exponent_is_a_definition() -> None:
    for name in ("thm2.strongly_convex.exponent", "thm2.strongly_convex.exponent.proof"):
        assert find(name).kind == "definition" and not catalogue.errata(f"fedbcgd.{name}")
        assert not [e for e in counterexamples.evidence() if e.statement == f"fedbcgd.{name}"]


def test_severities() -> None:
    """One symbol is a misprint, whatever becomes of the statement."""
    severities = {e.statement: e.severity for e in catalogue.paper("fedbcgd").errata}
    assert severities["fedbcgd.thm2.general_convex"] == severities["fedbcgd.lemma17"] == "misprint"
    assert severities["fedbcgd.thm2.nonconvex"] == "breaks the proof"
