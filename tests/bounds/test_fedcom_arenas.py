"""The FedCOM paper's bounds on whole runs: which hold, which are refuted, and each witness seen again without the engine."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from fedtheory.bounds.evaluation import compiled, evaluate
from fedtheory.bounds.fedcom.arenas import ARENAS, SEARCHED, TRIALS, alike, two_of, unlike
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.arena import (
    Arena,
    build,
    confront,
    constants_of,
    judge,
    known,
    mean_before,
    measured_afresh,
    regularisation,
    steps_of,
)
from fedtheory.bounds.trials.arena_search import judge as judge_search, tightest
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.simulations import expectation
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.algorithms.sfl import SFL
from fedtheory.simulations.compressors import QSGD, Identity, RandK, Sparsifier
from fedtheory.simulations.constants import NoSuchConstant
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Status


def own(id_: str, kind: str = "moments") -> list[Arena]:
    return [a for a in ARENAS if a.statement == id_ and a.kind == kind]


def test_all_bounds_on_whole_runs_have_arenas_of_both_kinds_and_a_search() -> None:
    on_runs = {
        s.id
        for s in catalogue.statements("fedcom")
        if isinstance(s.claim, Bound) and str(s.claim.quantity) in quantities("fedcom") and "early" not in s.id
    }
    # (43) with independent compressors is the printed bound; its arenas, whose compressors are independent, test that
    assert on_runs - {"fedcom.corD8.corrected"} == set(TRIALS) == set(SEARCHED) == {a.statement for a in ARENAS}
    assert all(own(id_) and own(id_, "run") for id_ in TRIALS)
    assert len({a.label for a in ARENAS}) == len(ARENAS)


def test_the_compressors_meet_the_paper_s_assumptions() -> None:
    for arena in ARENAS:
        algorithm = arena.algorithm(eta=1.0)
        if isinstance(algorithm, FedCOMGATE):
            assert algorithm.compressor.shared or isinstance(algorithm.compressor, Identity)  # G_q = 0
            assert ("G_q", 0.0) in arena.given
            assert algorithm.damping == (None if "corrected" in arena.statement else 1.0)
        else:
            assert not algorithm.compressor.shared
            problem = build(arena.problem)
            for gradient in problem.client_gradients(np.arange(problem.d) / 10.0)[1:]:  # homogeneous
                np.testing.assert_allclose(gradient, problem.client_gradients(np.arange(problem.d) / 10.0)[0])
    used = {type(a.algorithm(eta=1.0).compressor) for a in ARENAS if a.kind == "run"}
    assert used == {Identity, RandK, QSGD}


# ------------------------------------------------------------------------------------------------ the machinery


def test_symbols_of_a_start_and_of_clients() -> None:
    """x^2 + 2x and 2x^2 - 4x from 2, by hand."""
    problem = from_functions([1.0, 2.0], [2.0, -4.0])
    wanted = ("f_gap", "fj_gap_mean", "dist_sq_mean", "het_start", "w0_norm", "w_star_norm", "m", "tau", "q", "kappa")
    algorithm = FedCOMGATE(3, 0.1, 2.0, Sparsifier(Fraction(1, 4), shared=True))
    found = known(catalogue.find("fedcom.thmE6"), problem, 2.0, algorithm, (), wanted)
    x = 1 / 3  # the mean is 3 x^2 / 2 - x
    assert found == pytest.approx(
        {
            "f_gap": 6 - 2 + 1.5 * x**2, "fj_gap_mean": 5.5, "dist_sq_mean": 5.0, "het_start": 1.0, "w0_norm": 2.0,
            "w_star_norm": x, "m": 2, "tau": 3, "q": 3, "kappa": 4 / 2,
        }
    )  # fmt: skip


def test_given_symbols_are_numbers_or_certified_constants() -> None:
    singular = Quadratic(np.array([np.diag([1.0, 0.5, 0.0])] * 2), np.zeros((2, 3)))
    algorithm = FedCOM(1, 0.1)
    with pytest.raises(NoSuchConstant, match="mu does not exist"):
        known(catalogue.find("fedcom.thmD7"), singular, 1.0, algorithm)
    assert known(catalogue.find("fedcom.thmD7"), singular, 1.0, algorithm, (("mu", "mu_pl"),))["mu"] == 0.5
    assert known(catalogue.find("fedcom.thmD7"), singular, 1.0, algorithm, (("mu", 0.25),))["mu"] == 0.25
    with pytest.raises(NoSuchConstant, match="fedcom.thmE4 needs G_q: expected it among the symbols of FedCOM, or"):
        known(catalogue.find("fedcom.thmE4"), singular, 1.0, algorithm)


def test_symbols_of_sequential_learning() -> None:
    assert SFL(3, 0.1, 2).symbols(alike(5.0, 0.0)) == {"M": 4, "S": 2, "K": 3}
    assert SFL(3, 0.1).symbols(alike(5.0, 0.0)) == {"M": 4, "S": 4, "K": 3}


def test_a_statement_that_fixes_its_step_size() -> None:
    arena = Arena("fedcom.corD8", "fixed", partial(alike, 5.0, 1.0), partial(FedCOM, tau=5, gamma=4.0), rounds=20,
                  given=(("mu", "mu_pl"),))  # fmt: skip
    steps, low = steps_of(arena)
    assert steps == pytest.approx([1 / (2 * 5 * 4)]) and low == 0
    assert constants_of(arena)["kappa"] == pytest.approx(5)
    data = confront(arena, catalogue.find(arena.statement))
    assert data.bound.dims == ("eta", "R") and data.sizes["eta"] == 1
    assert json.loads(data.attrs["algorithm"])["eta"] == pytest.approx([0.025])


def test_the_penalty_is_the_statement_s() -> None:
    printed = next(a for a in own("fedcom.thmD9") if "tau 5" in a.name)
    assert regularisation(printed) == pytest.approx(1 / np.sqrt(20))
    given = replace(printed, statement="fedcom.thmD9.corrected", given=(("phi", 0.2),))
    assert regularisation(given) == 0.2 and regularisation(own("fedcom.thmD7")[0]) is None
    with pytest.raises(NoSuchConstant, match="needs phi"):
        constants_of(replace(given, given=()))
    assert '"phi": 0.2' in measured_afresh(replace(given, rounds=3)).attrs["problem"]


def test_means_of_rounds_before() -> None:
    np.testing.assert_allclose(mean_before(np.array([[1.0, 3.0, 8.0, 100.0]])), [[1, 1, 2, 4]])
    arena = Arena("fedcom.thmD4", "mean", partial(alike, 5.0, 1.0), partial(FedCOM, tau=2), rounds=7)
    data = measured_afresh(arena)
    algorithm = FedCOM(2, data.eta.values.tolist())
    grad_sq = expectation(build(arena.problem), algorithm, rounds=7, x0=1.0, record=("grad_sq",)).grad_sq.values
    for R in (1, 4, 7):
        np.testing.assert_allclose(data["mean"].sel(R=R), grad_sq[:, :R].mean(1), rtol=1e-12)


def test_the_step_sizes_are_at_the_limit_of_the_conditions() -> None:
    for id_, condition in (("fedcom.thmD4", 21), ("fedcom.thmE4", 61), ("fedcom.thmE6", 78)):
        for arena in own(id_):
            values = constants_of(arena)
            symbols = [s.name for s in compiled(f"fedcom.cond{condition}").parameters]
            steps, _ = steps_of(arena)
            assert steps[1] == steps[0] / 2
            for step, inside in ((steps[0], True), (steps[0] * (1 + 1e-9), False)):
                at = {name: value for name, value in (values | {"eta": step}).items() if name in symbols}
                sides = evaluate(f"fedcom.cond{condition}", **at).terms
                holds = (
                    sides["limit"] <= 1 + 1e-12
                    if condition == 21
                    else sides["first"] >= -1e-12 and sides["second"] <= 1 + 1e-12
                )
                assert bool(holds) == inside, (arena.label, step)


def test_what_diverges_inside_the_conditions_is_refuted() -> None:
    arena = replace(own("fedcom.thmE6")[0], rounds=2000, name="long")
    data = measured_afresh(arena)
    assert np.isinf(data.low.values).any() and not np.isnan(data.low.values).any()
    found = judge([arena], catalogue.find("fedcom.thmE6"))
    assert found.status is Status.REFUTED and np.isfinite(found.witness["measured"])
    assert found.witness["R"] < found.witness["diverged_at"] <= 2000 and "infinite by R" in found.says
    family = replace(SEARCHED["fedcom.thmE6"], rounds=900, tries=(6, 0))
    statement = catalogue.find("fedcom.thmE6")
    searched = judge_search(tightest(statement, family), statement)
    assert searched.status is Status.REFUTED and searched.witness["diverged_at"] == searched.witness["R"] + 1
    assert 1e200 < searched.witness["measured"] < np.inf


def test_runs_that_diverge_leave_it_open_unless_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    arena = replace(own("fedcom.thmD7", "run")[0], rounds=10, seeds=3)
    known = arenas.quantities("fedcom")
    (exact_run,) = {quantity.run for quantity in known.values()}

    def some(which: slice) -> Any:
        def diverging(*given: Any, **settings: Any) -> Any:
            data = exact_run(*given, **settings)
            data.gap[:, which, -1] = np.nan
            return data

        return diverging

    statement = catalogue.find("fedcom.thmD7")
    for which, status in ((slice(0, 1), Status.OPEN), (slice(0, 3), Status.REFUTED)):
        diverging = {name: replace(quantity, run=some(which)) for name, quantity in known.items()}
        monkeypatch.setattr(arenas, "quantities", lambda _, found=diverging: found)
        assert judge([replace(arena, name=f"{which}")], statement).status is status


def test_a_witness_names_the_compressor() -> None:
    w = judge(own("fedcom.thmE4"), catalogue.find("fedcom.thmE4")).witness
    assert w["compressor"] == "Sparsifier(p=Fraction(1, 4), shared=True)" and w["algorithm"] == "FedCOMGATE"
    assert build(partial(two_of, 1.0, 0.5)).M == 2 and unlike(5.0, 0.0).M == 4
