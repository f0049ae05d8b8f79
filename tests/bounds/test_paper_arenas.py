"""The arenas of FedCOM, FedBCGD and FedBAT: problems and step sizes that meet the theorems, symbols that are the run's."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

from fedtheory.bounds.evaluation import compiled, evaluate
from fedtheory.bounds.fedbat import arenas as fedbat, local_steps
from fedtheory.bounds.fedbcgd import arenas as fedbcgd
from fedtheory.bounds.fedcom import arenas as fedcom
from fedtheory.bounds.fedcom.arenas import alike
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.arena import (
    Arena,
    build,
    confront,
    constants_of,
    judge,
    known,
    learning_rate,
    mean_before,
    measured_afresh,
    regularisation,
    steps_of,
)
from fedtheory.bounds.trials.arena_search import judge as judge_search, tightest
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.compressors import QSGD, Identity, RandK, Sparsifier
from fedtheory.simulations.constants import NoSuchConstant
from fedtheory.simulations.exact import enumerated
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Status

PAPERS: dict[str, ModuleType] = {"fedcom": fedcom, "fedbcgd": fedbcgd, "fedbat": fedbat}


def own(id_: str, kind: str = "moments") -> list[Arena]:
    every: list[Arena] = PAPERS[id_.split(".")[0]].ARENAS
    return [one for one in every if (one.statement, one.kind) == (id_, kind)]


def named(id_: str, part: str) -> Arena:
    return next(one for one in own(id_) if part in one.name)


@pytest.mark.parametrize("paper", PAPERS)
def test_all_bounds_on_whole_runs_have_arenas_of_both_kinds_and_a_search(paper: str) -> None:
    """But early ones of FedCOM, and (43) with independent compressors, which is the printed bound."""
    there = PAPERS[paper]
    claims = {s.id: s.claim for s in catalogue.statements(paper) if isinstance(s.claim, Bound)}
    on_runs = {
        id_
        for id_, claim in claims.items()
        if str(claim.quantity) in quantities(paper) and "early" not in id_ and id_ != "fedcom.corD8.corrected"
    }
    if paper == "fedbcgd":  # `gap` is that of a lemma about one round here, not that of an average
        on_runs = {id_ for id_ in on_runs if str(claims[id_].quantity) != "gap"}
    if paper == "fedbat":
        on_runs = {id_ for id_ in on_runs if catalogue.find(id_).kind == "theorem"}
    assert on_runs == set(there.TRIALS) == {a.statement for a in there.ARENAS}
    assert paper == "fedbat" or on_runs == set(there.SEARCHED)
    assert all(own(id_) and own(id_, "run") for id_ in there.TRIALS)


# FedCOM and FedCOMGATE


def test_the_compressors_meet_the_paper_s_assumptions() -> None:
    for arena in fedcom.ARENAS:
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
    used = {type(a.algorithm(eta=1.0).compressor) for a in fedcom.ARENAS if a.kind == "run"}
    assert used == {Identity, RandK, QSGD}


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
    assert known(catalogue.find("fedcom.thmD7"), singular, 1.0, algorithm)["mu"] == 0.5  # of Polyak-Lojasiewicz
    assert known(catalogue.find("fedcom.thmD7"), singular, 1.0, algorithm, (("mu", "mu_pl"),))["mu"] == 0.5
    assert known(catalogue.find("fedcom.thmD7"), singular, 1.0, algorithm, (("mu", 0.25),))["mu"] == 0.25
    with pytest.raises(NoSuchConstant, match="fedcom.thmE4 needs G_q: expected it among the symbols of FedCOM, or"):
        known(catalogue.find("fedcom.thmE4"), singular, 1.0, algorithm)


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
    family = replace(fedcom.SEARCHED["fedcom.thmE6"], rounds=900, tries=(6, 0))
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


# FedBCGD


def test_the_problems_meet_the_assumptions() -> None:
    for arena in fedbcgd.ARENAS:
        problem, case = build(arena.problem), fedbcgd.TRIALS[arena.statement]
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
    settings = {(a.algorithm(eta=1.0).N, a.algorithm(eta=1.0).K, a.algorithm(eta=1.0).lam) for a in fedbcgd.ARENAS}
    assert {N for N, _, _ in settings} >= {1, 2, 4} and {lam for _, _, lam in settings} >= {0.0, 0.5, 0.9}
    assert any(N * K < 4 for N, K, _ in settings)


def test_the_step_size_and_the_start_are_those_of_the_statement() -> None:
    arena = named("fedbcgd.thm2.general_convex.corrected", "N 2, K 1, lambda 0.9")
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


# FedBAT


def learned(arena: Arena) -> FedBAT:
    return cast(FedBAT, arena.algorithm(eta=steps_of(arena)[0].tolist()))


def test_the_algorithm_is_the_one_that_section_4_analyses() -> None:
    for arena in fedbat.ARENAS:
        algorithm = learned(arena)
        assert (algorithm.step_size, algorithm.warm_up, algorithm.sent, algorithm.active) == ("max", 0, "all", "all")
        assert algorithm.symbols(build(arena.problem))["q"] == pytest.approx(np.sqrt(build(arena.problem).d - 1))


@pytest.mark.parametrize("id_", fedbat.TRIALS)
def test_the_learning_rate_is_that_of_the_theorem(id_: str) -> None:
    arena = own(id_)[0]
    problem, algorithm = build(arena.problem), learned(arena)
    L, tau = problem.constants["L"], algorithm.tau
    rates = [float(algorithm.rates(problem, steps_of(arena)[0][0], t)) for t in range(4)]
    if id_.startswith("fedbat.thm3"):
        assert rates == pytest.approx([1 / (L * np.sqrt(arena.rounds * tau))] * 4)
    else:
        mu = problem.constants["mu"]
        gamma = max(8 * L / mu, tau) - (0 if "from_start" in id_ else 1)
        assert rates == pytest.approx([2 / (mu * (gamma + t)) for t in range(4)])


def test_a_run_of_another_length_has_another_learning_rate_in_theorem_3() -> None:
    arena = own("fedbat.thm3")[0]
    data = confront(arena, catalogue.find("fedbat.thm3"))
    assert data.R.values.tolist() == [arena.rounds]
    longest = max(own("fedbat.thm1"), key=lambda arena: arena.rounds)
    assert len(confront(longest, catalogue.find("fedbat.thm1")).R) > 1


def test_the_bound_is_that_of_the_formula_at_the_run_s_symbols() -> None:
    arena = named("fedbat.thm2.from_start", "tau 2, 1 of 2")
    data, symbols = confront(arena, catalogue.find(arena.statement)), constants_of(arena)
    assert symbols["K"] == 1 and symbols["N"] == 2 and symbols["q"] == 1 and symbols["sigma"] == 0
    for R, bound in zip(data.R.values, data.bound.values[0], strict=True):
        assert bound == pytest.approx(evaluate(arena.statement, T=2 * int(R), **symbols).value)


def test_G_is_the_largest_expected_gradient_of_the_run() -> None:
    """Against many runs: the exact one within the interval, and the upper end of the interval above it."""
    arena = named("fedbat.thm1.from_start", "two valleys, tau 2")
    problem, algorithm = cast(Quadratic, build(arena.problem)), learned(arena)
    runs = local_steps.run(problem, algorithm, rounds=arena.rounds, seeds=range(4000), x0=np.full(2, arena.x0))
    measured = float(runs.client_grad_sq.mean("seed").max())
    assert measured == pytest.approx(fedbat.largest_gradient(arena) ** 2, rel=0.02)
    noisy = own("fedbat.thm1.from_start", "run")[0]
    more = local_steps.run(
        build(noisy.problem), learned(noisy), rounds=noisy.rounds, seeds=range(400), x0=np.full(2, noisy.x0)
    )
    assert fedbat.largest_gradient(noisy) ** 2 >= float(more.client_grad_sq.mean("seed").max())


def test_the_first_distance_is_that_after_one_step() -> None:
    arena = named("fedbat.thm1", "two valleys, tau 2")
    problem, (steps, _) = build(arena.problem), steps_of(arena)
    x = np.ones(2)
    after = x - steps[0] * problem.full_gradient(x) - problem.constants["x_star"]
    assert fedbat.first_distance(arena) == pytest.approx(after @ after)
    binarised = named("fedbat.thm1", "two valleys, tau 1")
    assert fedbat.first_distance(binarised) > fedbat.first_distance(arena) * 0.5
    exact = enumerated.steps(
        cast(Quadratic, build(binarised.problem)),
        learned(binarised),
        binarised.rounds,
        binarised.x0,
        float(steps_of(binarised)[0][0]),
    )
    assert fedbat.first_distance(binarised) == exact.expected(build(binarised.problem), "dist2")[1]


def test_all_outcomes_against_many_runs() -> None:
    """The exact expectation lies in the interval of 4000 seeds, for all clients, shares, and one of two clients."""
    for name in ("two valleys, shares 1/4 and 3/4, tau 2", "two valleys, tau 1"):
        arena = named("fedbat.thm1.from_start", name)
        _within(arena, learned(arena))
    sampled = named("fedbat.thm2.from_start", "two valleys, tau 2, 1 of 2")
    _within(sampled, learned(sampled))


def _within(arena: Arena, algorithm: FedBAT) -> None:
    problem = cast(Quadratic, build(arena.problem))
    exact = enumerated.expectation(problem, algorithm, rounds=3, x0=1.0, record=("gap", "grad_sq", "dist2"))
    sampled = run(problem, algorithm, rounds=3, x0=1.0, seeds=range(4000), record=("gap", "grad_sq", "dist2"))
    for name in ("gap", "grad_sq", "dist2"):
        mean, deviation = sampled[name].mean("seed"), sampled[name].std("seed") / np.sqrt(4000)
        assert bool((np.abs(exact[name] - mean) <= 4.5 * deviation + 1e-12).all()), name
    steps = local_steps.run(problem, algorithm, rounds=3, x0=1.0, seeds=range(4000)).grad_sq_steps.isel(
        round=slice(0, 3)
    )
    exactly = enumerated.expectation(problem, algorithm, rounds=3, x0=1.0, record=("grad_sq_steps",)).grad_sq_steps
    apart = np.abs(exactly.isel(round=slice(0, 3)) - steps.mean("seed"))
    assert bool((apart <= 4.5 * steps.std("seed") / np.sqrt(4000) + 1e-12).all())


def test_what_cannot_be_gone_through_is_refused() -> None:
    problem = build(named("fedbat.thm1", "two valleys").problem)
    analysed = FedBAT(tau=2, eta=0.1, phi=0.0, step_size="max")
    assert enumerated.why_not(problem, analysed, 4) is None
    with pytest.raises(ValueError, match=r"1048576 outcomes in 5 rounds: expected at most 131072"):
        enumerated.expectation(cast(Quadratic, problem), analysed, rounds=5)
    with pytest.raises(ValueError, match="expected FedBAT with step_size 'max', phi = 0"):
        enumerated.expectation(cast(Quadratic, problem), FedBAT(tau=2, eta=0.1), rounds=1)
    noisy = build(own("fedbat.thm1", "run")[0].problem)
    with pytest.raises(ValueError, match="expected a quadratic without noise, its matrices diagonal"):
        enumerated.expectation(cast(Quadratic, noisy), analysed, rounds=1)
    with pytest.raises(ValueError, match=r"cannot record \['drift'\]"):
        enumerated.expectation(cast(Quadratic, problem), analysed, rounds=1, record=("drift",))
    with pytest.raises(ValueError, match="all clients at work"):
        local_steps.run(problem, FedBAT(tau=2, eta=0.1, K=1, phi=0.0, step_size="max"), rounds=1, seeds=(0,))


def test_every_bound_runs_on_a_data_set_by_name() -> None:
    arenas = fedbat.on_data("breast_cancer")
    assert {a.statement for a in arenas} == set(fedbat.TRIALS)
    assert all("breast_cancer" in a.name for a in arenas)


def test_shares_are_those_of_the_clients_data() -> None:
    arena = next(a for a in own("fedbat.thm1", "run") if "breast_cancer" in a.name)
    p = build(arena.problem).weights
    assert p is not None and p == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 8], abs=2e-3)
    assert constants_of(arena)["p_sq"] == pytest.approx(float((p**2).sum()))
