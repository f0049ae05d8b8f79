"""A bound against a run: every verdict seen on one small arena, and every printed bound refuted when sharpened."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bounds import ConditionViolated, arena as arenas
from bounds.arena import (
    Arena,
    build,
    confront,
    constants_of,
    judge,
    measure,
    measure_all,
    measured_afresh,
    run_evidence,
)
from bounds.sfl import ARENAS
from simulations.algorithms.sfl import PFL, SFL
from simulations.constants import NoSuchConstant
from simulations.problems import Problem
from simulations.problems.quadratic import generate
from theory import catalogue
from theory.printing import plain
from theory.statement import Bound, Condition, Statement, Status


def quiet() -> Problem:
    """Four strongly convex clients without gradient noise."""
    return generate(3, 4, L=1.0, mu=0.3, zeta_star=1.0, delta=0.1, sigma=0.0, seed=4)


def noisy() -> Problem:
    """The same with gradient noise."""
    return generate(3, 4, L=1.0, mu=0.3, zeta_star=1.0, delta=0.1, sigma=1.0, seed=4)


# Parallel, full participation, no noise: the run is deterministic, its interval a point.
EXACT = Arena("sfl.thm2.strongly_convex", "four quiet clients", quiet, PFL, K=2, rounds=60, seeds=3)
NOISY = Arena("sfl.thm1.strongly_convex", "four noisy clients", noisy, SFL, K=2, rounds=60, seeds=4)


def printed(arena: Arena) -> tuple[Statement, Bound]:
    statement = catalogue.find(arena.statement)
    assert isinstance(statement.claim, Bound)
    return statement, statement.claim


def scaled(arena: Arena, factor: float) -> Statement:
    statement, claim = printed(arena)
    return statement.with_claim(claim.scaled(factor))


def slack(own: list[Arena]) -> float:
    """The smallest ratio of printed bound to the lower end of what was measured, without `judge`."""
    found = np.inf
    for arena in own:
        data = confront(arena, catalogue.find(arena.statement))
        where = data.admissible.values & (data.low.values > 0)
        found = min(found, float((data.bound.values[where] / data.low.values[where]).min()))
    return found


def test_a_true_bound_holds_up_to_its_slack() -> None:
    found = judge([EXACT], printed(EXACT)[0])
    assert found.status is Status.HOLDS and found.slack == pytest.approx(slack([EXACT]), rel=1e-12) and found.slack > 1
    assert judge([EXACT], scaled(EXACT, 1.0001 / found.slack)).status is Status.HOLDS
    assert judge([EXACT], scaled(EXACT, 0.9999 / found.slack)).status is Status.REFUTED


def test_the_witness_has_every_number_and_they_are_the_problem_s() -> None:
    found = judge([EXACT], scaled(EXACT, 0.5 / slack([EXACT])))
    assert found.status is Status.REFUTED
    problem, witness = build(quiet), dict(found.witness)
    assert {name: witness[name] for name in ("M", "K")} == {"M": 4, "K": 2}
    for name in ("L", "mu", "sigma", "zeta_star"):
        assert witness[name] == problem.constants[name]
    assert witness["L"] == pytest.approx(1) and witness["mu"] == pytest.approx(0.3)
    assert witness["D"] == pytest.approx(np.linalg.norm(np.ones(3) - problem.constants["x_star"]), rel=1e-12)
    assert witness["measured"] >= witness["measured_at_least"] > witness["printed_bound"]
    assert witness["seeds"] == 3 and witness["arena"] == "four quiet clients"
    # anyone can re-run it: the bound, by hand, at the witness
    M, K, R, L, mu, s, z, D, h = (
        witness[n] for n in ("M", "K", "R", "L", "mu", "sigma", "zeta_star", "D", "eta_tilde")
    )
    by_hand = (
        4.5 * mu * D**2 * np.exp(-mu * h * R / 2) + 12 * h * s**2 / (M * K) + 18 * L * h**2 * s**2 / K
        + 12 * L * h**2 * z**2
    )  # fmt: skip
    assert witness["printed_bound"] == pytest.approx(by_hand * 0.5 / slack([EXACT]), rel=1e-9)
    assert found.slack == pytest.approx(0.5, rel=1e-9)


def test_one_bad_arena_is_enough() -> None:
    gentle = replace(EXACT, name="a gentler step size", fractions=(0.5,))
    both = judge([gentle, EXACT], scaled(EXACT, 0.9 / slack([gentle, EXACT])))
    assert both.status is Status.REFUTED


def test_without_admissible_points_it_is_vacuous() -> None:
    statement, _ = printed(EXACT)
    letters = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    impossible = replace(
        statement, when=(*statement.when, Condition(letters["eta_tilde"] <= 1 / (1000 * letters["L"])))
    )
    found = judge([EXACT], impossible)
    assert found.status is Status.VACUOUS and "four quiet clients" in found.says
    possible = replace(statement, when=(*statement.when, Condition(letters["eta_tilde"] <= 1 / (2 * letters["L"]))))
    assert judge([EXACT], possible).status is Status.HOLDS


def test_an_arena_with_too_few_rounds_cannot_be_built() -> None:
    with pytest.raises(ConditionViolated, match="no eta_tilde is admissible"):
        measured_afresh(replace(EXACT, rounds=19))
    assert measured_afresh(replace(EXACT, rounds=21)).sizes["R"] >= 1


def test_an_interval_across_the_bound_leaves_it_open() -> None:
    data = confront(NOISY, printed(NOISY)[0])
    inside = data.admissible.values
    low, high = ((data[name].values / data.bound.values)[inside].max() for name in ("low", "high"))
    assert 0 < low < high
    found = judge([NOISY], scaled(NOISY, float(low + high) / 2))
    assert found.status is Status.OPEN and "four noisy clients" in found.says
    assert judge([NOISY], scaled(NOISY, float(high) * 1.001)).status is Status.HOLDS
    assert judge([NOISY], scaled(NOISY, float(low) * 0.999)).status is Status.REFUTED


PER_ETA = {  # eta_tilde / eta: M K, S K, K with M = 4, S = 2, K = 3
    "sfl.thm1.strongly_convex": (SFL, None, 12),
    "sfl.thm1.general_convex": (SFL, None, 12),
    "sfl.thm1.nonconvex": (SFL, None, 12),
    "sfl.eq42": (SFL, 2, 6),
    "sfl.eq46": (SFL, 2, 6),
    "sfl.eq54": (SFL, 2, 6),
    "sfl.thm2.strongly_convex": (PFL, None, 3),
    "sfl.thm2.general_convex": (PFL, None, 3),
    "sfl.eq71": (PFL, 2, 3),
    "sfl.eq73": (PFL, 2, 3),
    "sfl.eq80": (PFL, 2, 3),
    "sfl.thm2.nonconvex": (PFL, None, 3),
}


@pytest.mark.parametrize("id_", PER_ETA)
def test_the_learning_rate_and_the_weights_are_the_theorem_s(id_: str) -> None:
    algorithm, S, per_eta = PER_ETA[id_]
    arena = Arena(id_, "conversion", noisy, algorithm, K=3, S=S, rounds=25, seeds=2)
    data = measured_afresh(arena)
    ran = json.loads(data.attrs["algorithm"])
    assert ran["name"] == algorithm.__name__ and ran["S"] == S and ran["K"] == 3
    steps = data.eta_tilde.values
    np.testing.assert_allclose(np.array(ran["eta"]) * per_eta, steps, rtol=1e-12)
    mu = build(noisy).constants["mu"]
    ratio = 1 - mu * steps / 2 if "strongly" in id_ or id_ in ("sfl.eq42", "sfl.eq71") else np.ones_like(steps)
    np.testing.assert_allclose(json.loads(data.attrs["average"]), ratio, rtol=1e-12)
    wanted = set(constants_of(arena))
    assert wanted <= {"M", "S", "K", "L", "mu", "sigma", "zeta_star", "D", "beta", "zeta", "A"}
    assert constants_of(arena)["S"] == 4 if id_ == "sfl.thm2.nonconvex" else "S" not in wanted or S == 2


def test_a_minimum_over_rounds_never_rises() -> None:
    arena = Arena("sfl.thm1.nonconvex", "minimum", noisy, SFL, K=3, rounds=40, seeds=3)
    data = measured_afresh(arena)
    assert (np.diff(data["mean"].values, axis=-1) <= 0).all() and (np.diff(data["low"].values, axis=-1) <= 0).all()
    assert (data.low <= data["mean"]).all() and (data["mean"] <= data.high).all()


@pytest.mark.slow  # starts worker processes
def test_side_by_side_is_bit_equal_to_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [replace(NOISY, rounds=30), replace(EXACT, rounds=30)]
    monkeypatch.setattr(arenas, "_MEASURED", {})
    done: list[int] = []
    measure_all(pair, done=done.append)
    assert done == [1, 2]
    for arena in pair:
        together = measure(arena)
        assert together is measure(arena)  # kept
        assert together.identical(measured_afresh(arena))
    measure_all(pair, done=done.append)
    assert done == [1, 2]  # nothing was left to do


def test_full_takes_five_times_the_seeds() -> None:
    short = replace(NOISY, rounds=21)
    assert measured_afresh(short, full=True).attrs["seeds"] == 5 * measured_afresh(short).attrs["seeds"]


def test_a_problem_without_the_constant_is_no_arena() -> None:
    def flat() -> Problem:
        return generate(3, 4, L=1.0, mu=-0.2, zeta_star=0.5, delta=0.4, seed=1)

    with pytest.raises(NoSuchConstant, match="mu"):
        constants_of(replace(EXACT, problem=flat))


def test_evidence_is_one_per_statement_and_judges_what_it_is_given() -> None:
    other = replace(EXACT, name="shorter", rounds=40)
    (evidence,) = run_evidence([EXACT, other])
    assert (evidence.statement, evidence.kind) == (EXACT.statement, "run")
    assert evidence.check(printed(EXACT)[0], False).status is Status.HOLDS
    assert evidence.check(scaled(EXACT, 0.5 / slack([EXACT, other])), False).status is Status.REFUTED


def test_the_arenas_of_the_paper_are_named_apart_and_cover_the_twelve_bounds() -> None:
    assert len({a.label for a in ARENAS}) == len(ARENAS)
    assert {a.statement for a in ARENAS} == set(PER_ETA)
    for a in ARENAS:
        statement, _ = printed(a)
        (step,) = (e for s, e in statement.where.items() if s.name == "eta_tilde")
        sequential = "M" in plain(step) or "S" in plain(step)
        assert a.algorithm is (SFL if sequential else PFL)


@pytest.mark.slow
@pytest.mark.parametrize("id_", PER_ETA)
def test_every_printed_bound_is_refuted_when_sharpened(id_: str) -> None:
    own = [a for a in ARENAS if a.statement == id_]
    measure_all(own)
    room = slack(own)
    assert (judge(own, catalogue.find(id_)).status is Status.REFUTED) == (room < 1)
    assert judge(own, scaled(own[0], 0.9 / room)).status is Status.REFUTED
