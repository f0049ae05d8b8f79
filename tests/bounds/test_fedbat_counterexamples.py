"""What FedBAT's Assumption 1 does not give, and what independent clients do: exact runs, seen to refute and to let pass."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import pytest
from sympy import Rational

from bounds.fedbat import one_sided, shared_noise
from bounds.fedbat.one_sided import FAMILY, ONE_SIDED, Kinked, admits, symbols
from theory import catalogue
from theory.fedbat.checks.operator import positive
from theory.statement import Bound, Statement, Status


def find(name: str) -> Statement:
    return catalogue.find(f"fedbat.{name}")


# --- smooth from above only ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_SIDED)
def test_false_under_the_printed_assumption_1(name: str) -> None:
    found = one_sided.check(find(name))
    assert found.status is Status.REFUTED
    w = found.witness
    assert F(w["left"]) > F(w["right"]) and F(w["largest F''"]) <= F(w["L"]) < -F(w["least F''"])


@pytest.mark.parametrize("name", [*ONE_SIDED])
def test_not_refuted_where_gradients_are_lipschitz(name: str) -> None:
    """The printed claim under the corrected Assumption 1, and a claim that is weaker by far."""
    statement = find(name)
    assumes = tuple("fedbat.assump1.corrected" if a == "fedbat.assump1" else a for a in statement.assumes)
    assert one_sided.check(replace(statement, assumes=assumes)).status is Status.TESTED
    assert isinstance(statement.claim, Bound)
    quantity = statement.claim.quantity
    larger = type(statement.claim.terms[0])("much", 10**12 * abs(quantity) + 10**12)
    weaker = replace(statement.with_claim(Bound(quantity, (larger,))), also=())
    assert one_sided.check(weaker).status is Status.TESTED
    turned = statement.with_claim(replace(statement.claim, sign=">="))
    assert one_sided.check(turned) != one_sided.check(statement)


CORRECTED = [f"{name}.corrected" for name in ONE_SIDED if name != "eq73"]


@pytest.mark.parametrize("name", CORRECTED)
def test_the_corrected_statements_pass_the_same_check(name: str) -> None:
    statement = find(name)
    assert "fedbat.assump1.corrected" in statement.assumes and "fedbat.assump1" not in statement.assumes
    assert one_sided.check(statement).status is Status.TESTED
    without = tuple("fedbat.assump1" if a == "fedbat.assump1.corrected" else a for a in statement.assumes)
    assert one_sided.check(replace(statement, assumes=without)).status is Status.REFUTED


def test_78_is_attained_by_functions_that_are_smooth_from_both_sides() -> None:
    statement = find("eq78.corrected")
    assert isinstance(statement.claim, Bound)
    sharper = statement.with_claim(statement.claim.scaled(Rational(99, 100), "divergence"))
    assert one_sided.check(sharper).status is Status.REFUTED


def test_78_and_69_by_hand() -> None:
    """F_1' = -2 - x, F_2' = 2 where the clients come, L = 1/10, eta = 1/2: they are at 1 and -1 after a step."""
    parting = FAMILY[0]
    row = symbols(parting)[1]
    g1, g2 = -2 - F(1), F(2)
    assert row["apart_sq"] == ((g1 + g2) / 2 - (-2 + 2) / F(2)) ** 2 == F(1, 4)
    assert parting.L**2 * row["spread_x"] == F(1, 100)
    assert (row["F_bar_next"], one_sided.check(find("lemma7")).witness["right"]) == (F(-1, 64), "-91/1600")


def test_theorem_3_by_hand() -> None:
    """The mean is at t/16; F_1' there is -10^4 + (t-1)/16, F_2' is -2.  In the end all are at 0, where F_1' is 1."""
    run = FAMILY[2]
    row = symbols(run)[0]
    slopes = [F(1 - 2, 2), *((-(10**4) + F(t - 1, 16) - 2) / 2 for t in range(1, 64))]
    assert row["avg_step_grad_sq"] == sum(s * s for s in slopes) / 64
    assert row["G"] == 65 and run.clients[0].gradient(F(0)) == 1
    minima = F(-(10**8), 2) - (10**4 - 1) * F(1, 32), F(16 * -2) - 2  # of F_1 and F_2
    assert tuple(f.minimum for f in run.clients) == minima
    bound = 2 * (row["f_gap"] + row["Gamma"]) / 8 + F(4 * 63**2 * 65**2, 64)
    assert row["f_gap"] + row["Gamma"] == -sum(minima) / 2 and row["F_0"] == 0
    assert F(one_sided.check(find("thm3")).witness["right"]) == bound
    assert row["avg_step_grad_sq"] > 3 * bound


def test_a_run_outside_a_condition_is_not_used() -> None:
    """Theorem 3 sets the step size and T; a run with another is no witness."""
    steep = FAMILY[2]
    assert admits(find("thm3"), steep)
    assert not any(admits(find("thm3"), replace(steep, **changed)) for changed in ({"eta": F(1, 4)}, {"L": F(1, 2)}))
    assert not admits(find("thm1"), steep)  # it is not convex
    with pytest.raises(ValueError, match="expected one of"):
        one_sided.meets(steep, "fedbat.assump9")


def test_a_function_from_its_derivative() -> None:
    """x^2/2 up to 1, then straight on; and what is refused."""
    f = Kinked(((F(-1), F(-1)), (F(1), F(1))), F(0), F(0))
    assert [f.value(F(x)) for x in (-2, -1, 0, 1, 2)] == [F(3, 2), F(1, 2), 0, F(1, 2), F(3, 2)]
    assert f.minimum == 0 and f.curvatures == (0, 1, 0)
    both = one_sided.mean([f, Kinked(((F(3), F(0)),), F(1), F(1))])
    assert all(both.value(F(x)) == (f.value(F(x)) + F(x * x, 2) - 3 * x) / 2 for x in range(-4, 5))
    assert both.minimum == both.value(F(2)) == F(3, 4) + F(2 - 6, 2)
    with pytest.raises(ValueError, match="ascending"):
        Kinked(((F(1), F(0)), (F(0), F(0))), F(1), F(1))
    with pytest.raises(ValueError, match="bounded from below"):
        _ = Kinked(((F(0), F(1)),), F(0), F(1)).minimum


# --- clients that sample together ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shared_noise.USED)
def test_independent_clients_are_needed(name: str) -> None:
    statement = find(name)
    assert shared_noise.INDEPENDENT in statement.assumes
    assert shared_noise.check(statement).status is Status.TESTED
    without = tuple(a for a in statement.assumes if a != shared_noise.INDEPENDENT)
    found = shared_noise.check(replace(statement, assumes=without))
    assert found.status is Status.REFUTED and "one sign for all" in found.witness["noise"]
    assert isinstance(statement.claim, Bound)
    ten_times = replace(statement.with_claim(statement.claim.scaled(10)), assumes=without)
    assert shared_noise.check(ten_times).status is Status.TESTED


def test_a_common_sample_by_hand() -> None:
    """gamma = 8: eta_t = 2/(8+t); E w^2 by its recursion; the bound is 2 sigma^2/10/(8+T), of noise alone."""
    square = F(0)
    for t in range(shared_noise.STEPS):
        eta = F(2, 8 + t)
        square = (1 - eta) ** 2 * square + eta**2
    statement = find("thm1.from_start")
    without = tuple(a for a in statement.assumes if a != shared_noise.INDEPENDENT)
    w = shared_noise.check(replace(statement, assumes=without)).witness
    assert F(w["left"]) == square / 2 and F(w["right"]) == F(2, 10 * (8 + shared_noise.STEPS))


def test_every_corrected_statement_about_the_mean_noise_asks_for_independence() -> None:
    asking = {s.id for s in catalogue.statements("fedbat") if shared_noise.INDEPENDENT in s.assumes}
    bounds = [s for s in catalogue.statements("fedbat") if s.corrects and isinstance(s.claim, Bound)]
    noisy = {s.id for s in bounds if "sigma" in {x.name for x in s.claim.value.free_symbols}}  # type: ignore[union-attr]
    assert noisy - {"fedbat.eq25.corrected", "fedbat.eq57.corrected"} <= asking
    assert {"fedbat.eq25.corrected", "fedbat.eq57.corrected"} <= asking  # sigma is in their B


def test_a_far_start_needs_a_large_G() -> None:
    """Assumptions 2 and 4 together: mu ||w_0 - w*|| <= ||grad F(w_0)|| <= G, here with equality, x^2/2 from 1."""
    row = symbols(FAMILY[4])[0]
    assert row["mu"] * abs(FAMILY[4].start) == row["G"]
    assert any("no run has" in e.true for e in catalogue.errata("fedbat.assump4"))


def test_10_is_positive_and_needs_a_positive_start() -> None:
    statement = find("eq10")
    assert positive(statement).status is Status.PROVED
    assert positive(replace(statement, when=())).status is Status.REFUTED
    assert not catalogue.errata("fedbat.eq10") and not catalogue.corrected_by("fedbat.eq10")
