"""The corrected FedBCGD bounds on whole runs: they hold, by how much, and on problems that meet the assumptions."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.bounds.fedbcgd.arenas import ARENAS, SEARCHED, TRIALS
from fedtheory.bounds.trials.arena import Arena, build, confront, constants_of, learning_rate, steps_of
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound


def own(id_: str, kind: str = "moments") -> list[Arena]:
    return [a for a in ARENAS if a.statement == id_ and a.kind == kind]


def test_all_corrected_bounds_on_whole_runs_have_arenas_of_both_kinds_and_a_search() -> None:
    on_runs = {
        s.id
        for s in catalogue.statements("fedbcgd")
        if isinstance(s.claim, Bound) and str(s.claim.quantity) in quantities("fedbcgd")
    }
    # `gap` is that of a lemma about one round here, not that of an average
    on_runs = {id_ for id_ in on_runs if str(catalogue.find(id_).claim.quantity) != "gap"}  # type: ignore[union-attr]
    assert on_runs == set(TRIALS) == set(SEARCHED) == {a.statement for a in ARENAS}
    assert all(own(id_) and own(id_, "run") for id_ in TRIALS)
    assert len({a.label for a in ARENAS}) == len(ARENAS)


def test_the_problems_meet_the_assumptions() -> None:
    for arena in ARENAS:
        problem, case = build(arena.problem), TRIALS[arena.statement]
        assert case.least < 0 or problem.constants["curvature"] >= -1e-12  # an eigenvalue of 0, up to rounding
        if case.one_hessian:
            assert problem.constants["G"] >= 0
        algorithm = arena.algorithm(eta=1.0)
        assert isinstance(algorithm, FedBCGD | FedBCGDPlus)
        assert algorithm.momentum == "theory" and algorithm.sent == "all"
        if isinstance(algorithm, FedBCGDPlus):
            assert (algorithm.control, algorithm.variance, algorithm.kept, algorithm.server, algorithm.begin) == (
                ("theory", "theory", "sent", "mean", "zero")
            )


def test_the_arenas_have_momentum_blocks_and_a_client_for_each_block() -> None:
    settings = {(a.algorithm(eta=1.0).N, a.algorithm(eta=1.0).K, a.algorithm(eta=1.0).lam) for a in ARENAS}
    assert {N for N, _, _ in settings} >= {1, 2, 4} and {lam for _, _, lam in settings} >= {0.0, 0.5, 0.9}
    assert any(N * K < 4 for N, K, _ in settings)


def test_the_step_size_and_the_start_are_those_of_the_statement() -> None:
    arena = next(a for a in own("fedbcgd.thm2.general_convex.corrected") if "N 2, K 1, lambda 0.9" in a.name)
    problem, algorithm = build(arena.problem), arena.algorithm(eta=1.0)
    assert isinstance(problem, Quadratic)
    steps, _ = steps_of(arena)
    assert steps[0] == pytest.approx(1 / (36 * problem.constants["L"]))
    eta = learning_rate(arena.stated, steps, **algorithm.symbols(problem))
    assert eta[0] == pytest.approx(steps[0] * (1 - 0.9) / algorithm.T)
    symbols = constants_of(arena)
    at_star = problem.client_gradients(problem.constants["x_star"])
    assert symbols["C_0"] == pytest.approx((at_star**2).sum(-1).mean())  # c_i^0 = 0
    assert symbols["d0"] == pytest.approx(((1 - problem.constants["x_star"]) ** 2).sum())


def test_a_run_stays_below_its_bound_all_along() -> None:
    arena = next(a for a in own("fedbcgd.thm1.nonconvex.corrected") if "lambda 0.9" in a.name)
    data = confront(arena, catalogue.find(arena.statement))
    assert bool((data["mean"] <= data.bound).where(data.admissible, True).all())
    assert np.isfinite(data["mean"]).all()
