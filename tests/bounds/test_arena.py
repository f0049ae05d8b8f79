"""A bound against a run: every verdict seen on small arenas, every bound refuted when sharpened, or as printed."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy

from fedtheory.bounds import ConditionViolated, evaluate
from fedtheory.bounds.fedbcgd.arenas import on
from fedtheory.bounds.sfl import ARENAS, SEARCHED, evidence
from fedtheory.bounds.sfl.arenas import searched
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.arena import (
    Arena,
    arena_evidence,
    at_same_rate,
    build,
    confront,
    constants_for,
    constants_of,
    described,
    functions,
    judge,
    known,
    measure,
    measured_afresh,
    recall,
)
from fedtheory.bounds.trials.arena_search import judge as judge_search, tightest
from fedtheory.bounds.trials.quantities import quantities
from fedtheory.simulations import start
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.constants import NoSuchConstant
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.theory import catalogue
from fedtheory.theory.printing import plain
from fedtheory.theory.statement import Bound, Condition, F, Paper, Statement, Status, X, at_most


def quiet() -> Problem:
    """Four strongly convex clients without gradient noise."""
    return generate(3, 4, L=1.0, mu=0.3, zeta_star=1.0, delta=0.1, sigma=0.0, seed=4)


def noisy() -> Problem:
    """The same with gradient noise."""
    return generate(3, 4, L=1.0, mu=0.3, zeta_star=1.0, delta=0.1, sigma=1.0, seed=4)


class Sampled:
    """A quadratic that is not known to be one: it is run, its expectation not computed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)


def sampled() -> Any:
    """The noisy clients, run."""
    return Sampled(noisy())


EXACT = Arena("sfl.thm2.strongly_convex", "four quiet clients", quiet, partial(PFL, K=2), rounds=60)
NOISY = Arena("sfl.thm1.strongly_convex", "four noisy clients", sampled, partial(SFL, K=2), rounds=60, seeds=4)


def printed(arena: Arena) -> tuple[Statement, Bound]:
    statement = catalogue.find(arena.statement)
    assert isinstance(statement.claim, Bound)
    return statement, statement.claim


def scaled(arena: Arena, factor: float) -> Statement:
    statement, claim = printed(arena)
    return statement.with_claim(claim.scaled(sympy.Rational(factor)))  # a ratio of integers: quick


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
    assert found.status is Status.TESTED and found.slack == pytest.approx(slack([EXACT]), rel=1e-12) and found.slack > 1
    assert judge([EXACT], scaled(EXACT, 1.0001 / found.slack)).status is Status.TESTED
    assert judge([EXACT], scaled(EXACT, 0.9999 / found.slack)).status is Status.REFUTED
    negative = judge([EXACT], scaled(EXACT, -1))
    assert (negative.status, negative.slack) == (Status.REFUTED, None) and "ratio" not in negative.witness


def test_the_witness_has_every_number_and_they_are_the_problem_s() -> None:
    found = judge([EXACT], scaled(EXACT, 0.5 / slack([EXACT])))
    assert found.status is Status.REFUTED
    problem, witness = build(quiet), dict(found.witness)
    assert {name: witness[name] for name in ("M", "K")} == {"M": 4, "K": 2}
    for name in ("L", "mu", "sigma", "zeta_star"):
        assert witness[name] == problem.constants[name]
    assert witness["L"] == pytest.approx(1) and witness["mu"] == pytest.approx(0.3)
    assert witness["D"] == pytest.approx(np.linalg.norm(np.ones(3) - problem.constants["x_star"]), rel=1e-12)
    assert witness["measured"] > witness["printed_bound"]
    assert witness["ratio"] == pytest.approx(witness["measured"] / witness["printed_bound"], rel=1e-12)
    assert "seeds" not in witness and witness["arena"] == "four quiet clients"
    assert (witness["algorithm"], witness["x0"]) == ("PFL", 1.0) and witness["problem"].endswith("quiet()")
    # anyone can re-run it: the bound at the witness
    names = ("M", "K", "R", "L", "mu", "sigma", "zeta_star", "D", "eta_tilde")
    at = evaluate(EXACT.statement, **{name: witness[name] for name in names})
    assert witness["printed_bound"] == pytest.approx(at.value * 0.5 / slack([EXACT]), rel=1e-9)
    assert found.slack == pytest.approx(0.5, rel=1e-9)


def test_gamma_is_known() -> None:
    """min F - sum p_m min F_m: of x^2 + 2x and 2x^2 - 4x, with 1/4 and 3/4."""
    problem = replace(from_functions([1.0, 2.0], [2.0, -4.0]), weights=np.array([0.25, 0.75]))
    found = arenas.known(catalogue.find("fedbat.thm1"), problem, 1.0, PFL(2, 0.1), wanted=("Gamma",))
    assert found == {"Gamma": pytest.approx(7 / 4 - 25 / 28)}


def test_one_bad_arena_is_enough() -> None:
    gentle = replace(EXACT, name="a gentler step size", fractions=(0.5,))
    both = judge([gentle, EXACT], scaled(EXACT, 0.9 / slack([gentle, EXACT])))
    assert both.status is Status.REFUTED


def test_without_admissible_points_it_is_vacuous() -> None:
    statement, _ = printed(EXACT)
    symbols = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    impossible = replace(
        statement, when=(*statement.when, Condition(symbols["eta_tilde"] <= 1 / (1000 * symbols["L"])))
    )
    found = judge([EXACT], impossible)
    assert found.status is Status.VACUOUS and "four quiet clients" in found.says
    possible = replace(statement, when=(*statement.when, Condition(symbols["eta_tilde"] <= 1 / (2 * symbols["L"]))))
    assert judge([EXACT], possible).status is Status.TESTED


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
    assert judge([NOISY], scaled(NOISY, float(high) * 1.001)).status is Status.TESTED
    assert judge([NOISY], scaled(NOISY, float(low) * 0.999)).status is Status.REFUTED


def test_the_witness_of_a_run_has_its_interval_and_seeds() -> None:
    data = confront(NOISY, printed(NOISY)[0])
    room = float((data.bound / data.low).where(data.admissible & (data.low > 0)).min())
    found = judge([NOISY], scaled(NOISY, 0.9 / room))
    assert found.status is Status.REFUTED and found.witness["seeds"] == 4
    assert found.witness["measured"] > found.witness["measured_at_least"] > found.witness["printed_bound"]


def test_an_exact_expectation_lies_in_the_intervals_and_has_none_itself() -> None:
    run = replace(NOISY, seeds=60)
    exact = replace(NOISY, problem=noisy)
    assert (run.kind, exact.kind) == ("run", "moments")
    found, of_runs = measured_afresh(exact), measured_afresh(run)
    assert found.attrs["seeds"] == 0 and of_runs.attrs["seeds"] == 60
    assert (found.low == found["mean"]).all() and (found["mean"] == found.high).all()
    assert (of_runs.low < found["mean"]).all() and (found["mean"] < of_runs.high).all()


def test_rounding_is_allowed_in_favour_of_the_bound_and_no_more() -> None:
    room = slack([EXACT])
    assert judge([EXACT], scaled(EXACT, (1 - 0.9e-9) / room)).status is Status.TESTED
    assert judge([EXACT], scaled(EXACT, (1 - 1.1e-9) / room)).status is Status.REFUTED
    assert "rounding of 1e-09 allowed" in judge([EXACT], printed(EXACT)[0]).says


BOUNDS = [s.id for s in catalogue.statements("sfl") if isinstance(s.claim, Bound) and s.kind in ("theorem", "bound")]
FALSE = {"sfl.eq42", "sfl.eq46", "sfl.eq54", "sfl.eq80"}


def defined(id_: str, name: str, **values: float) -> float:
    """What a bound's own definition of eta_tilde or w_r comes to."""
    (value,) = (e for s, e in catalogue.find(id_).where.items() if s.name == name)
    return float(value.subs({s: values[s.name] for s in value.free_symbols}))


@pytest.mark.parametrize("id_", BOUNDS)
def test_the_learning_rate_and_the_weights_are_the_theorem_s(id_: str) -> None:
    algorithm = next(type(a.algorithm(eta=1.0)) for a in ARENAS if a.statement == id_)
    S = None if id_.startswith(("sfl.thm1.", "sfl.thm2.")) else 2
    arena = Arena(id_, "conversion", noisy, partial(algorithm, K=3, S=S), rounds=25, seeds=2)
    data = measured_afresh(arena)
    ran = json.loads(data.attrs["algorithm"])
    assert ran["name"] == algorithm.__name__ and ran["S"] == S and ran["K"] == 3
    steps, mu = data.eta_tilde.values, build(noisy).constants["mu"]
    assert [defined(id_, "eta_tilde", eta=eta, M=4, S=2, K=3) for eta in ran["eta"]] == pytest.approx(steps, rel=1e-12)
    weighted = any(s.name == "w_r" for s in catalogue.find(id_).where)
    for step, ratio in zip(steps, json.loads(data.attrs["average"]), strict=True):
        now, then = (defined(id_, "w_r", eta_tilde=step, mu=mu, r=r) if weighted else 1 for r in (0, 1))
        assert ratio == pytest.approx(now / then, rel=1e-12)
    wanted = set(constants_of(arena))
    assert wanted <= {"M", "S", "K", "L", "mu", "sigma", "zeta_star", "D", "beta", "zeta", "A"}
    assert constants_of(arena)["S"] == 4 if id_ == "sfl.thm2.nonconvex" else "S" not in wanted or S == 2


@pytest.mark.parametrize("problem", [noisy, sampled])
def test_a_minimum_over_rounds_never_rises(problem) -> None:
    arena = Arena("sfl.thm1.nonconvex", "minimum", problem, partial(SFL, K=3), rounds=40, seeds=3)
    data = measured_afresh(arena)
    assert (np.diff(data["mean"].values, axis=-1) <= 0).all() and (np.diff(data["low"].values, axis=-1) <= 0).all()
    assert (data.low <= data["mean"]).all() and (data["mean"] <= data.high).all()


def test_measurements_of_other_processes_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [replace(NOISY, rounds=30), replace(EXACT, rounds=30)]
    monkeypatch.setattr(arenas, "_MEASURED", {})
    first, second = (measured_afresh(arena) for arena in pair)
    recall([second], pair, False)
    assert measure(pair[1]) is second and measure(pair[1], full=True) is not second
    assert measure(pair[0]) is not first and measure(pair[0]) is measure(pair[0])
    assert measure(pair[0]).identical(first)


def test_another_problem_or_algorithm_under_the_same_name_is_measured_anew() -> None:
    def arena(slopes: tuple[float, float]) -> Arena:
        return replace(EXACT, rounds=30, problem=partial(from_functions, (1.0, 0.5), slopes))

    near = arena((1.0, -2.0))
    start = measure(near)["mean"].values[0, 0]
    assert measure(arena((100.0, -200.0)))["mean"].values[0, 0] > 100 * start
    far = replace(near, problem=lambda: from_functions((1.0, 0.5), (100.0, -200.0)))
    assert measure(far)["mean"].values[0, 0] > 100 * start
    sequential = replace(near, algorithm=partial(SFL, K=2))
    assert measure(sequential)["mean"].values[0, 0] != start
    assert measure(arena((1.0, -2.0))) is measure(near)


def test_a_letter_is_known_by_its_concept_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another paper's beta is its smoothness, its zeta nothing that a problem knows, its K the number of clients."""
    mine = Paper("mine", "Mine", "nobody")
    letters = {
        "beta": mine.symbol("beta", "b", "smoothness", F / X**2, concept="smoothness"),
        "zeta": mine.symbol("zeta", "z", "a distance", X),
        "K": mine.symbol("K", "K", "number of clients", concept="clients"),
        "tau": mine.symbol("tau", "t", "number of local steps", concept="local steps"),
        "A": mine.symbol("A", "A", "initial distance", X, concept="initial distance"),
    }
    gap = mine.symbol("gap", "g", "gap", F, concept="gap of the last iterate")
    statement = mine.say("theorem", "thm", "Theorem 1", at_most(gap, one=letters["beta"] * letters["A"] ** 2))
    known_papers = catalogue.papers()
    monkeypatch.setattr(catalogue, "paper", {**known_papers, "mine": mine}.__getitem__)
    problem, algorithm = noisy(), SFL(K=3, eta=0.1)

    def number(name: str) -> float:
        return known(statement, problem, 1.0, algorithm, wanted=[name])[name]

    assert number("beta") == problem.constants["L"] != problem.constants["beta"]
    assert number("K") == 4 and number("tau") == 3
    assert number("A") == start(problem, 1.0)["D"]
    with pytest.raises(NoSuchConstant, match=r"mine.thm needs zeta: .* or declared with a concept"):
        number("zeta")
    assert quantities("mine")["gap"].recorded == "gap"


def test_the_constants_for_a_bound_are_all_but_its_rounds_and_step() -> None:
    problem = noisy()
    found = constants_for("sfl.thm1.strongly_convex", problem, SFL(K=3, eta=0.1), x0=2.0)
    assert evaluate("sfl.thm1.strongly_convex", R=500, eta_tilde=0.05, **found).value > 0
    assert found["L"] == problem.constants["L"] and found["K"] == 3 and found["D"] == start(problem, 2.0)["D"]
    with pytest.raises(NoSuchConstant, match="needs q: expected it among the symbols of SFL, .* or given"):
        constants_for("fedcom.thmE6", problem, SFL(K=3, eta=0.1))
    assert constants_for("sfl.thm1.strongly_convex", problem, SFL(K=3, eta=0.1), mu="mu_pl", L=7.0)["L"] == 7.0


def test_full_takes_five_times_the_seeds() -> None:
    short = replace(NOISY, rounds=21)
    assert measured_afresh(short, full=True).attrs["seeds"] == 5 * measured_afresh(short).attrs["seeds"]


def test_a_problem_without_the_constant_is_no_arena() -> None:
    def flat() -> Problem:
        return generate(3, 4, L=1.0, mu=-0.2, zeta_star=0.5, delta=0.4, seed=1)

    with pytest.raises(NoSuchConstant, match="mu"):
        constants_of(replace(EXACT, problem=flat))


def test_evidence_is_one_per_statement_and_kind_and_judges_what_it_is_given() -> None:
    other = replace(EXACT, name="shorter", rounds=40)
    run = replace(NOISY, statement=EXACT.statement, algorithm=partial(PFL, K=2))
    exact, of_runs = arena_evidence([EXACT, run, other])
    assert (exact.statement, exact.kind, of_runs.statement, of_runs.kind) == (
        EXACT.statement, "moments", EXACT.statement, "run",
    )  # fmt: skip
    for one in (exact, of_runs):
        assert one.check(printed(EXACT)[0], False).status is Status.TESTED
    assert exact.check(scaled(EXACT, 0.5 / slack([EXACT, other])), False).status is Status.REFUTED


def test_problems_are_described_so_that_they_can_be_built_again() -> None:
    assert functions(from_functions([0.5, 0.5], [1.0, -1.0])) == "x^2/2 + x, x^2/2 - x; sigma = 0"
    assert functions(from_functions([0.5] * 10, [0.0] * 10)) == "10 times x^2/2; sigma = 0"
    assert functions(from_functions([2 / 3, 0], [-0.207, 0], sigma=0.5)) == "2 x^2/3 - 0.207 x, 0; sigma = 0.5"
    plane = Quadratic(np.array([[[1.0, -0.5], [-0.5, 3.0]]]), np.array([[0.0, 2.0]]))
    assert functions(plane) == "x^2/2 - xy/2 + 3 y^2/2 + 2 y; sigma = 0"
    large = partial(generate, 3, 4, L=1.0, mu=0.3, delta=0.1)
    assert described(large) == "generate(3, 4, L=1.0, mu=0.3, delta=0.1)"
    assert described(partial(on, "digits", SigmoidERM, None)) == "on('digits', SigmoidERM, None)"
    assert described(sampled).endswith("test_arena.sampled()")


def test_another_statement_at_the_same_learning_rate() -> None:
    few = Arena("sfl.eq42", "few", noisy, partial(SFL, K=3, S=1), rounds=200)
    data = measured_afresh(few)
    twin = at_same_rate(few, float(data.eta_tilde[0]), replace(few, statement="sfl.eq42.corrected"))
    assert twin is not None and twin.statement == "sfl.eq42.corrected"
    its_own = measured_afresh(twin)
    assert float(its_own.eta_tilde[0]) == pytest.approx(float(data.eta_tilde[0]) / 4)  # S K eta, not M K eta
    rates = [json.loads(d.attrs["algorithm"])["eta"][0] for d in (data, its_own)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-12)
    short = replace(few, rounds=25)
    assert at_same_rate(short, 1 / 6, replace(short, statement="sfl.eq42.corrected")) is None  # eta_tilde < 1/(mu R)


def test_the_arenas_of_the_paper_cover_the_bounds() -> None:
    assert {a.statement for a in ARENAS} == set(BOUNDS)
    assert set(SEARCHED) == set(BOUNDS) - FALSE
    made = [(a.statement, type(a.algorithm(eta=1.0))) for a in ARENAS]
    for id_, algorithm in [*made, *((id_, family.algorithm) for id_, family in SEARCHED.items())]:
        (step,) = (e for s, e in catalogue.find(id_).where.items() if s.name == "eta_tilde")
        assert algorithm is (SFL if {"M", "S"} & {str(s) for s in step.free_symbols} else PFL), plain(step)


def exact_arenas(id_: str) -> list[Arena]:
    return [a for a in ARENAS if a.statement == id_ and a.kind == "moments"]


@pytest.mark.dear
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("id_", BOUNDS)
def test_every_arena_refutes_what_is_sharper_than_it_allows(id_: str, every: int) -> None:
    """Exact: a claim a little below what an arena allows is refuted there; a little above what all allow, it holds."""
    ratios = {arena: slack([arena]) for arena in exact_arenas(id_)[::every]}
    for arena, measured in ratios.items():
        assert judge([arena], scaled(arena, 0.9999 / measured)).status is Status.REFUTED, arena.label
    tightest_arena = min(ratios, key=ratios.__getitem__)
    assert judge(list(ratios), scaled(tightest_arena, 1.0001 / ratios[tightest_arena])).status is Status.TESTED


@pytest.mark.slow
@pytest.mark.parametrize("id_", BOUNDS)
def test_every_bound_is_refuted_by_runs_when_sharpened(id_: str) -> None:
    own = [a for a in ARENAS if a.statement == id_ and a.kind == "run"]
    assert judge(own, catalogue.find(id_)).status is Status.TESTED
    assert judge(own, scaled(own[0], 0.9 / slack(own))).status is Status.REFUTED


SOME = {"sfl.thm1.general_convex", "sfl.eq54.corrected"}


@pytest.mark.dear
@pytest.mark.parametrize("id_", [i if i in SOME else pytest.param(i, marks=pytest.mark.slow) for i in SEARCHED])
def test_a_search_finds_arenas_tighter_than_ours_and_refutes_what_is_sharper(id_: str) -> None:
    (search,) = (e for e in evidence() if (e.statement, e.kind) == (id_, "search"))
    statement = catalogue.find(id_)
    claim = statement.claim
    assert isinstance(claim, Bound)
    found = search.check(statement, False)
    assert found.status is Status.TESTED and found.slack is not None
    assert 1 < found.slack < slack(exact_arenas(id_))
    sharper = statement.with_claim(claim.scaled(sympy.Rational(0.9999 / found.slack)))
    refuted = search.check(sharper, False)
    assert refuted.status is Status.REFUTED and refuted.slack == pytest.approx(0.9999, rel=1e-6)
    again = tightest(sharper, SEARCHED[id_])  # the same numbers are tried each time
    assert judge_search(again, sharper).witness == refuted.witness


def test_a_search_counts_no_point_outside_the_conditions() -> None:
    """The bound is tightest in early rounds; where it speaks of late ones alone, a claim that fails early holds."""
    id_ = "sfl.thm1.general_convex"
    statement, family = catalogue.find(id_), replace(SEARCHED[id_], rounds=64, tries=(8, 1))
    R = catalogue.symbols(statement)["R"].sympy
    early = tightest(statement, family)
    assert early is not None and early.R < 32
    late = replace(statement, when=(*statement.when, Condition(R >= 32)))
    found = tightest(late, family)
    assert found is not None and found.R >= 32 and found.ratio > 1.005 * early.ratio
    assert isinstance(late.claim, Bound)
    between = sympy.Rational(2 / (early.ratio + found.ratio))
    for claimed, status in ((statement, Status.REFUTED), (late, Status.TESTED)):
        sharper = claimed.with_claim(late.claim.scaled(between))
        assert judge_search(tightest(sharper, family), sharper).status is status
    never = replace(statement, when=(*statement.when, Condition(R >= 65)))
    assert judge_search(tightest(never, family), never).status is Status.VACUOUS


@pytest.mark.parametrize(("id_", "algorithm"), [("sfl.eq54", SFL), ("sfl.eq80", PFL)])
def test_a_search_finds_counterexamples_by_itself(id_: str, algorithm: Any) -> None:
    statement = catalogue.find(id_)
    family = searched(id_, algorithm)
    found = judge_search(tightest(statement, family), statement)
    assert found.status is Status.REFUTED and found.witness["S"] < found.witness["M"] <= 4
    assert found.witness["measured"] > found.witness["printed_bound"]


def test_a_search_that_finds_no_admissible_step_says_so() -> None:
    id_ = next(iter(SEARCHED))
    statement = catalogue.find(id_)
    symbols = catalogue.symbols(statement)
    never = Condition(symbols["eta_tilde"].sympy >= 1 / symbols["mu"].sympy)
    (search,) = (e for e in evidence() if (e.statement, e.kind) == (id_, "search"))
    assert search.check(replace(statement, when=(*statement.when, never)), False).status is Status.VACUOUS


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["moments", "search"])
def test_left_side_and_direction_are_read(kind: str) -> None:
    statement = catalogue.find("sfl.eq71")
    (item,) = [e for e in evidence() if (e.statement, e.kind) == (statement.id, kind)]
    claim = statement.claim
    assert isinstance(claim, Bound)
    assert item.check(statement, False).status is Status.TESTED
    for changed in (
        replace(claim, quantity=1000 * claim.quantity),
        replace(claim, sign=">="),
        replace(claim, sign="="),
    ):
        assert item.check(statement.with_claim(changed), False).status is Status.REFUTED
    with pytest.raises(ValueError, match="left side"):
        item.check(statement.with_claim(replace(claim, quantity=claim.quantity**2)), False)
