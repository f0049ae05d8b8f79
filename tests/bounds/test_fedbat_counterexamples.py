"""What FedBAT's Assumption 1 does not give, and what independent clients do: exact runs, seen to refute and to let pass."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import pytest
from sympy import Rational

from fedtheory.bounds.fedbat import one_sided, whole_runs
from fedtheory.bounds.fedbat.one_sided import FAMILY, Kinked, symbols
from fedtheory.bounds.fedbat.whole_runs import CLIENTS, STEPS, admits, check, instances, one_sign
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks.operator import positive
from fedtheory.theory.readings import judge
from fedtheory.theory.statement import Bound, Statement, Status, Verdict

EVIDENCE = {e.statement.removeprefix("fedbat."): e for e in whole_runs.evidence() if e.kind == "counterexample"}
# False as listed, and by what
FALSE = {
    **dict.fromkeys(("thm1", "thm2"), "noise at the binarised parameters only"),
    **dict.fromkeys(("lemma2", "eq44"), "one sign for all clients"),
    **dict.fromkeys(("lemma3", "lemma4", "lemma6", "eq48", "eq50", "eq62", "eq64"), "at x_1 of size"),
    **dict.fromkeys(
        ("thm3", "eq72", "eq73", "lemma7", "eq70", "eq71", "eq78", "eq79", "eq80", "eq82"), "from above only"
    ),
}


def find(name: str) -> Statement:
    return catalogue.find(f"fedbat.{name}")


def without(name: str, *dropped: str, **swapped: str) -> Verdict:
    """The check of a statement that lists some assumptions less, or others instead."""
    statement = find(name)
    names = (a.removeprefix("fedbat.") for a in statement.assumes if a.removeprefix("fedbat.") not in dropped)
    assumes = tuple(f"fedbat.{swapped.get(a.replace('.', '_'), a)}" for a in names)
    return check(replace(statement, assumes=assumes))


@pytest.mark.parametrize("name", FALSE)
def test_false_as_listed_and_tested_with_what_charity_reads(name: str) -> None:
    listed = check(find(name))
    assert listed.status is Status.REFUTED and FALSE[name] in listed.says
    read = judge(EVIDENCE[name], find(name))
    assert read.status is Status.TESTED and read.added and read.without == listed.says


def test_all_forms_of_a_statement_are_put_to_the_runs() -> None:
    assert {*FALSE, "thm1.from_start.sharp", "thm3.corrected.sharp", "lemma7.corrected"} <= set(EVIDENCE)
    for name in EVIDENCE:
        if name not in FALSE:
            assert check(find(name)).status is Status.TESTED, name


_AT_W = {"assump3_corrected": "assump3", "assump4_corrected": "assump4"}


@pytest.mark.parametrize(
    ("name", "dropped", "swapped", "by"),
    [
        ("thm3.corrected", "", {"assump1_corrected": "assump1"}, "from above only"),
        ("thm3.corrected.sharp", "", {"assump1_corrected": "assump1"}, "from above only"),
        ("lemma7.corrected", "", {"assump1_corrected": "assump1"}, "from above only"),
        ("thm1.corrected", "assump3.independent", {}, "one sign for all"),
        ("thm2.from_start.sharp", "assump3.independent", {}, "one sign for all"),
        ("eq44.corrected", "assump3.independent", {}, "one sign for all"),
        ("thm1.from_start", "", _AT_W, "noise at the binarised parameters only"),
        ("lemma4.corrected", "", _AT_W, "at x_1 of size"),
    ],
)
def test_a_false_change_of_a_proved_statement_is_refuted(
    name: str, dropped: str, swapped: dict[str, str], by: str
) -> None:
    assert check(find(name)).status is Status.TESTED
    found = without(name, dropped, **swapped)
    assert found.status is Status.REFUTED and by in found.says


# --- smooth from above only ------------------------------------------------------------------------------------------


def test_78_is_attained_by_functions_that_are_smooth_from_both_sides() -> None:
    statement = find("eq78.corrected")
    assert isinstance(statement.claim, Bound)
    sharper = statement.with_claim(statement.claim.scaled(Rational(99, 100), "divergence"))
    assert check(sharper).status is Status.REFUTED


def test_78_and_69_by_hand() -> None:
    """F_1' = -2 - x, F_2' = 2 where the clients come, L = 1/10, eta = 1/2: they are at 1 and -1 after a step."""
    parting = FAMILY[0]
    row = symbols(parting)[1]
    g1, g2 = -2 - F(1), F(2)
    assert row["apart_sq"] == ((g1 + g2) / 2 - (-2 + 2) / F(2)) ** 2 == F(1, 4)
    assert parting.L**2 * row["spread_x"] == F(1, 100)
    assert (row["F_bar_next"], check(find("lemma7")).witness["right"]) == (F(-1, 64), "-91/1600")


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
    assert F(check(find("thm3")).witness["right"]) == bound
    assert row["avg_step_grad_sq"] > 3 * bound


def test_a_run_outside_a_condition_is_not_used() -> None:
    """Theorem 3 sets the step size and T; a run with another is no witness."""
    statement, row = find("thm3"), symbols(FAMILY[2])[0]
    assert admits(statement, row)
    assert not any(admits(statement, {**row, **changed}) for changed in ({"eta": F(1, 4)}, {"L": F(1, 2)}))
    assert not any("from above" in one.name for one in instances(find("thm1")))  # they are not convex


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


# --- noise -----------------------------------------------------------------------------------------------------------


def test_a_common_sample_by_hand() -> None:
    """gamma = 8: eta_t = 2/(8+t); E w^2 by its recursion; the bound is 2 sigma^2/10/(8+T), of noise alone."""
    square = F(0)
    for t in range(STEPS):
        eta = F(2, 8 + t)
        square = (1 - eta) ** 2 * square + eta**2
    w = without("thm1.from_start", "assump3.independent").witness
    assert F(w["left"]) == square / 2 and F(w["right"]) == F(2, CLIENTS * (8 + STEPS))
    apart, common = one_sign(find("thm1.from_start"))
    assert common.rows[0]["gap_last"] == CLIENTS * apart.rows[0]["gap_last"] == square / 2


def test_noise_that_keeps_the_model_on_the_axes() -> None:
    """The noise at x = (1-e, e), step after step: its law has mean 0 and leads to (1, 0), (0, 1) and (0, -1) only."""
    w = check(find("thm1")).witness
    T = int(w["T"])
    for t in range(0, T, 2):
        e, f = F(2, 7 + t), F(2, 8 + t)
        x, start = (1 - e, e), (1 - e, F(0))
        ends = ((F(1), F(0)), (F(0), F(1)), (F(0), F(-1)))
        noise = [tuple((a - b) / f - c for a, b, c in zip(start, end, x, strict=True)) for end in ends]
        up = ((1 - (1 - e) * (1 - f)) - f * e) / 2  # of (0, 1); the sum of the last two is what the step shortens
        down = up + f * e
        chances = (1 - up - down, up, down)
        assert min(chances) >= 0
        assert all(sum(p * xi[i] for p, xi in zip(chances, noise, strict=True)) == 0 for i in (0, 1))
    B = 8 * 2 + 4 * 4  # 8 (1 + q^2) (tau - 1)^2 G^2 + 4 q^2 tau^2 G^2
    assert (F(w["left"]), F(w["right"])) == (F(1, 2), (2 * B + 4 * F(5, 7) ** 2) / F(7 + T))


def test_every_corrected_statement_about_the_mean_noise_asks_for_independence() -> None:
    asking = {s.id for s in catalogue.statements("fedbat") if "fedbat.assump3.independent" in s.assumes}
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
