"""The FedBAT bounds on whole runs: they hold, by how much, with constants that are those of the run."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from fedtheory.bounds import evaluate
from fedtheory.bounds.fedbat import local_steps
from fedtheory.bounds.fedbat.arenas import ARENAS, TRIALS, first_distance, largest_gradient, on_data
from fedtheory.bounds.trials.arena import Arena, build, confront, constants_of, steps_of
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.simulations import run
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.exact import enumerated
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound


def own(id_: str, kind: str = "moments") -> list[Arena]:
    return [a for a in ARENAS if a.statement == id_ and a.kind == kind]


def fedbat(arena: Arena) -> FedBAT:
    return cast(FedBAT, arena.algorithm(eta=steps_of(arena)[0].tolist()))


def test_all_bounds_on_whole_runs_have_arenas_of_both_kinds() -> None:
    on_runs = {
        s.id
        for s in catalogue.statements("fedbat")
        if s.kind == "theorem" and isinstance(s.claim, Bound) and str(s.claim.quantity) in quantities("fedbat")
    }
    assert on_runs == set(TRIALS) == {a.statement for a in ARENAS}
    assert all(own(id_) and own(id_, "run") for id_ in TRIALS)
    assert len({a.label for a in ARENAS}) == len(ARENAS)


def test_the_algorithm_is_the_one_that_section_4_analyses() -> None:
    for arena in ARENAS:
        algorithm = fedbat(arena)
        assert (algorithm.step_size, algorithm.warm_up, algorithm.sent, algorithm.active) == ("max", 0, "all", "all")
        assert algorithm.symbols(build(arena.problem))["q"] == pytest.approx(np.sqrt(build(arena.problem).d - 1))


@pytest.mark.parametrize("id_", TRIALS)
def test_the_learning_rate_is_that_of_the_theorem(id_: str) -> None:
    arena = own(id_)[0]
    problem, algorithm = build(arena.problem), fedbat(arena)
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
    arena = next(a for a in own("fedbat.thm2.from_start") if "tau 2, 1 of 2" in a.name)
    data, symbols = confront(arena, catalogue.find(arena.statement)), constants_of(arena)
    assert symbols["K"] == 1 and symbols["N"] == 2 and symbols["q"] == 1 and symbols["sigma"] == 0
    for R, bound in zip(data.R.values, data.bound.values[0], strict=True):
        assert bound == pytest.approx(evaluate(arena.statement, T=2 * int(R), **symbols).value)


def test_G_is_the_largest_expected_gradient_of_the_run() -> None:
    """Against many runs: the exact one within the interval, and the upper end of the interval above it."""
    arena = next(a for a in own("fedbat.thm1.from_start") if "two valleys, tau 2" in a.name)
    problem, algorithm = cast(Quadratic, build(arena.problem)), fedbat(arena)
    runs = local_steps.run(problem, algorithm, rounds=arena.rounds, seeds=range(4000), x0=np.full(2, arena.x0))
    measured = float(runs.client_grad_sq.mean("seed").max())
    assert measured == pytest.approx(largest_gradient(arena) ** 2, rel=0.02)
    noisy = own("fedbat.thm1.from_start", "run")[0]
    more = local_steps.run(
        build(noisy.problem), fedbat(noisy), rounds=noisy.rounds, seeds=range(400), x0=np.full(2, noisy.x0)
    )
    assert largest_gradient(noisy) ** 2 >= float(more.client_grad_sq.mean("seed").max())


def test_the_first_distance_is_that_after_one_step() -> None:
    arena = next(a for a in own("fedbat.thm1") if "two valleys, tau 2" in a.name)
    problem, (steps, _) = build(arena.problem), steps_of(arena)
    x = np.ones(2)
    after = x - steps[0] * problem.full_gradient(x) - problem.constants["x_star"]
    assert first_distance(arena) == pytest.approx(after @ after)
    binarised = next(a for a in own("fedbat.thm1") if "two valleys, tau 1" in a.name)
    assert first_distance(binarised) > first_distance(arena) * 0.5
    exact = enumerated.steps(
        cast(Quadratic, build(binarised.problem)),
        fedbat(binarised),
        binarised.rounds,
        binarised.x0,
        float(steps_of(binarised)[0][0]),
    )
    assert first_distance(binarised) == exact.expected(build(binarised.problem), "dist2")[1]


def test_all_outcomes_against_many_runs() -> None:
    """The exact expectation lies in the interval of 4000 seeds, for all clients, shares, and one of two clients."""
    for name in ("two valleys, shares 1/4 and 3/4, tau 2", "two valleys, tau 1"):
        arena = next(a for a in own("fedbat.thm1.from_start") if name in a.name)
        _within(arena, fedbat(arena))
    sampled = next(a for a in own("fedbat.thm2.from_start") if "two valleys, tau 2, 1 of 2" in a.name)
    _within(sampled, fedbat(sampled))


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
    problem = build(next(a for a in own("fedbat.thm1") if "two valleys" in a.name).problem)
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
    arenas = on_data("breast_cancer")
    assert {a.statement for a in arenas} == set(TRIALS)
    assert all("breast_cancer" in a.name for a in arenas)


def test_shares_are_those_of_the_clients_data() -> None:
    arena = next(a for a in own("fedbat.thm1", "run") if "breast_cancer" in a.name)
    p = build(arena.problem).weights
    assert p is not None and p == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 8], abs=2e-3)
    assert constants_of(arena)["p_sq"] == pytest.approx(float((p**2).sum()))
