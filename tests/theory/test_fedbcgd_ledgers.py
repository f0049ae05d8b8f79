"""The FedBCGD proofs and counter-examples: what they prove, where the printed proofs break, and that all is needed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Rational

from fedtheory.bounds import evaluate
from fedtheory.simulations import run
from fedtheory.simulations.algorithms.fedbcgd import FedBCGDPlus
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks import claims, counterexamples, facts, ledgers, tuning
from fedtheory.theory.fedbcgd.checks.counterexamples import Alike
from fedtheory.theory.fedbcgd.checks.ledgers import PROOFS, REPAIRS
from fedtheory.theory.fedbcgd.checks.quantities import LANGUAGE
from fedtheory.theory.fedbcgd.checks.tuning import ORDERS, PRINTED
from fedtheory.theory.proofs import units
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.statement import Bound, Order, Statement, Status, Verdict

EVIDENCE = {
    (e.statement.removeprefix("fedbcgd."), e.kind): e
    for part in (ledgers, tuning, facts, claims, counterexamples)
    for e in part.evidence()
}
ALL_PROOFS = {**PROOFS, **PRINTED, **REPAIRS, **ORDERS}
BROKEN_AT = {
    "lemma4.part1": "the claim: coefficient of mean_grad_sq",
    "lemma5": "(34) at T = 64",
    "lemma6": "independent noise",
    "lemma12": "control variates and their mean",
    "thm1.step48": "independent noise",
    "thm1.step49": "the clients start from z^r",
    "thm1.step50": "the bracket is at least alpha eta T/4",
    "thm1.step61": "(61): coefficient of G**2",
    "thm1.step66": "the coefficient of ||grad f(x^r)||^2",
    "lemma15": "fedbcgd.lemma13: its assumptions",
    "lemma17.proof": "the sampled clients are independent of z^r",
    "lemma18": "fedbcgd.lemma16: its assumptions",
    "thm2.strongly_convex.proof": "there is progress in the gap",
    "thm2.nonconvex": "fedbcgd.lemma18: its assumptions",
    "thm2.main.strongly_convex": "the order",
    "thm2.main.nonconvex": "fedbcgd.thm2.nonconvex: its assumptions",
}
# What the lists of printed statements lack, and their proofs go through with
MISSING = {
    "lemma6": ("assumption3.independent",),
    "lemma12": ("alg3.initial",),
    "thm1.step48": ("assumption3.independent",),
}
PROVED = [name for name in ALL_PROOFS if name not in BROKEN_AT]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbcgd.{name}")


def verdict(name: str, kind: str, statement: Statement | None = None) -> Verdict:
    return EVIDENCE[name, kind].check(statement or find(name), False)  # type: ignore[index]


def argued(name: str, statement: Statement) -> Verdict:
    """The proof of a statement, of the statement with something changed."""
    argument = Argument(statement, LANGUAGE)
    ALL_PROOFS[name](argument)
    return argument.verdict()


@pytest.mark.parametrize("name", [*PROOFS, *PRINTED])
def test_printed_proofs_break_where_they_are_wrong_and_the_others_go_through(name: str) -> None:
    found = verdict(name, "ledger")
    if name in BROKEN_AT:
        assert found.status is Status.BROKEN and str(found.witness["step"]).startswith(BROKEN_AT[name])
    else:
        assert found.status is Status.PROVED


@pytest.mark.parametrize("name", MISSING)
def test_a_printed_proof_goes_through_with_what_its_list_of_assumptions_lacks(name: str) -> None:
    statement = find(name)
    more = tuple(f"fedbcgd.{one}" for one in MISSING[name])
    assert argued(name, replace(statement, assumes=(*statement.assumes, *more))).status is Status.PROVED
    for left_out in more:
        some = tuple(one for one in more if one != left_out)
        assert argued(name, replace(statement, assumes=(*statement.assumes, *some))).status is Status.BROKEN


def test_lemma_8_holds_where_the_start_is_not_the_end() -> None:
    started = statement = find("lemma8")
    assert argued("lemma8", replace(statement, when=())).status is Status.BROKEN
    assert isinstance(statement.claim, Bound)
    for term in statement.claim.terms:
        smaller = started.with_claim(statement.claim.scaled(Rational(1, 4), term.name))
        assert argued("lemma8", smaller).status is not Status.PROVED


def test_every_corrected_bound_and_order_has_a_proof() -> None:
    bounds = [s for s in catalogue.statements("fedbcgd") if s.corrects and isinstance(s.claim, Bound | Order)]
    assert {s.id.removeprefix("fedbcgd.") for s in bounds} == {*REPAIRS, *ORDERS}


def test_no_proof_mixes_the_two_algorithms() -> None:
    """G^r and the drift are those of FedBCGD or of FedBCGD+: a proof that follows one uses no claim about the other's."""
    uses, follows = {}, {}
    for name in PROVED:
        premises = argued(name, find(name)).premises
        uses[name] = [p.name.removeprefix("fedbcgd.") for p in premises if p.kind == "claim"]
        follows[name] = {p.name for p in premises if p.kind == "algorithm"} - {"fedbcgd.momentum_form.corrected"}

    def of(name: str) -> set[str]:
        return follows.get(name, set()).union(*(of(used) for used in uses.get(name, ())))

    found = {name: of(name) for name in PROVED}
    assert all(len(algorithms) <= 1 for algorithms in found.values())
    assert {name for name, algorithms in found.items() if algorithms == {"fedbcgd.alg3.corrected"}} >= {
        *(f"lemma{n}.corrected" for n in (11, 13, 14, 15, 16, 17, 18)), "lemma11.nonconvex", "thm2.nonconvex.corrected",
    }  # fmt: skip


@pytest.mark.parametrize("name", PROVED)
def test_no_proof_goes_through_without_assumptions_that_it_lists(name: str) -> None:
    """What the setting and the sampling provide stays."""
    statement = find(name)
    if statement.assumes:
        assert argued(name, replace(statement, assumes=())).status is not Status.PROVED


@pytest.mark.parametrize(("name", "least"), [("thm1.step48.four", "M >= 4"), ("thm1.step48.exact", "M >= 3")])
def test_48_as_printed_holds_for_many_clients(name: str, least: str) -> None:
    """From the room in its factors 2; with a hundredth less of a term, or with fewer clients, the proof breaks."""
    statement = find(name)
    assert isinstance(statement.claim, Bound) and statement.claim == find("thm1.step48").claim
    for term in ("drift", "gap", "sampling"):
        changed = statement.with_claim(statement.claim.scaled(Rational(99, 100), term))
        assert verdict(name, "repair", changed).status is not Status.PROVED
    for left_out in (least, "sigma**2 = 0"):
        when = tuple(
            c for c in statement.when if str(c.relation).replace("Eq(sigma**2, 0)", "sigma**2 = 0") != left_out
        )
        if len(when) < len(statement.when):
            assert verdict(name, "repair", replace(statement, when=when)).status is Status.BROKEN


@pytest.mark.parametrize("name", ORDERS)
def test_every_term_of_a_corrected_order_is_needed(name: str) -> None:
    statement = find(name)
    assert isinstance(statement.claim, Order)
    for left_out in statement.claim.terms:
        terms = tuple(t for t in statement.claim.terms if t != left_out)
        changed = statement.with_claim(Order(statement.claim.quantity, terms, statement.claim.polylog))
        assert verdict(name, "repair", changed).status is not Status.PROVED, left_out.name


def test_a_larger_step_size_breaks_the_corrected_recursions() -> None:
    for name in ("thm1.step50.corrected", "lemma15.corrected", "lemma18.corrected"):
        statement = find(name)
        for i, condition in enumerate(statement.when):
            if "eta_tilde" in str(condition) and condition.source == "printed":
                relation = condition.relation.func(condition.relation.lhs, 4 * condition.relation.rhs)
                when = (*statement.when[:i], type(condition)(relation), *statement.when[i + 1 :])
                changed = Statement(**{**statement.__dict__, "when": when})
                assert verdict(name, "repair", changed).status is not Status.PROVED, condition


# ------------------------------------------------------------------------------------------ facts, seen another way


@pytest.mark.parametrize(("M", "K", "N"), [(3, 2, 1), (4, 2, 2), (5, 1, 3), (4, 1, 4)])
def test_lemma_4_by_all_samples(M: int, K: int, N: int) -> None:
    rng = np.random.default_rng(M)
    g = [[Fraction(int(v)) for v in row] for row in rng.integers(-5, 6, (M, N))]  # a coordinate for each block

    def mean(rows: list[list[Fraction]]) -> list[Fraction]:
        return [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]

    def square(v: list[Fraction]) -> Fraction:
        return sum((x * x for x in v), Fraction(0))

    one_sample = [square(mean([g[i] for i in chosen])) for chosen in combinations(range(M), K)]
    apart = [
        sum((mean([g[i] for i in order[j * K : j * K + K]])[j] ** 2 for j in range(N)), Fraction(0))
        for order in permutations(range(M), N * K)
    ]
    given = {"M": M, "K": K, "N": N, "grad_sq_x": square(mean(g)), "mean_grad_sq": sum(map(square, g), Fraction(0)) / M}
    claim = find("lemma4.lhs_blocks").claim
    assert isinstance(claim, Bound)
    values = {s: sympy.Rational(str(given[s.name])) for s in claim.value.free_symbols}
    expected = claim.value.subs(values)
    assert sum(one_sample, Fraction(0)) / len(one_sample) == Fraction(int(expected.p), int(expected.q))
    assert sum(apart, Fraction(0)) / len(apart) == Fraction(int(expected.p), int(expected.q))


def test_the_least_value_over_step_sizes() -> None:
    for scale in (Rational(1), Rational(1, 100)):
        one = Alike(scale, Rational(0), 1)
        steps = np.linspace(0, 3 / float(scale), 20_001)
        h = np.array([1.0, 0.5]) * float(scale)
        left = (1 - steps[:, None] * h) ** 2
        assert float(one.least_gap) == pytest.approx((left * h / 2).sum(1).min(), rel=1e-6)
        assert float(one.least_gradient) == pytest.approx((left * h**2).sum(1).min(), rel=1e-6)
        assert float(one.least_gap) <= (left * h / 2).sum(1).min() * (1 + 1e-12)


@pytest.mark.parametrize("case", ["strongly_convex", "general_convex", "nonconvex"])
@pytest.mark.parametrize("where", ["", ".proof"])
def test_the_cases_of_theorem_1_fail_and_larger_first_terms_would_not(case: str, where: str) -> None:
    name = f"thm1.{case}{where}"
    assert verdict(name, "counterexample").status is Status.REFUTED
    statement = find(name)
    assert isinstance(statement.claim, Bound)
    generous = statement.with_claim(statement.claim.scaled(10**100, "optimisation"))
    assert verdict(name, "counterexample", generous).status is Status.TESTED


@pytest.mark.parametrize("case", ["strongly_convex", "general_convex"])
def test_an_unseen_client_refutes_theorem_2(case: str) -> None:
    name = f"thm2.{case}"
    assert verdict(name, "counterexample").status is Status.REFUTED
    statement = find(name)
    assert isinstance(statement.claim, Order)
    symbols = {s.name: s for s in statement.claim.value.free_symbols}
    slower = statement.claim.value.subs(symbols["R"], 1) * symbols["M"]
    terms = (type(statement.claim.terms[0])("optimisation", slower),)
    assert verdict(name, "counterexample", statement.with_claim(Order(statement.claim.quantity, terms))).status is (
        Status.TESTED
    )


def test_a_client_is_unseen_with_that_probability() -> None:
    """While the last client is not seen the model stays at 0: simulated with the corrected algorithm."""
    M, R = 5, 4
    problem = Quadratic(np.ones((M, 1, 1)), np.array([[0.0]] * (M - 1) + [[-float(M)]]))
    data = run(problem, FedBCGDPlus(T=2, eta=0.3, N=1, K=1), rounds=R, seeds=range(4000), x0=0.0, record=("gap",))
    still = float((data.gap.isel(step_size=0, round=R) == 0.5).mean())
    assert still == pytest.approx((1 - 1 / M) ** R, abs=0.03)


def test_local_steps_do_not_average_the_choice_of_clients() -> None:
    """The lower bound (1/2)/(1 + R/G^2), against the best constant step by exact second moments."""
    G, R = 1.0, 50
    steps = np.linspace(0, 1, 2001)
    square = np.ones_like(steps)  # E x^2 for x+ = (1-s) x + s b, b = +-G
    for _ in range(R):
        square = (1 - steps) ** 2 * square + steps**2 * G**2
    assert 0.5 * square.min() >= 0.5 / (1 + R / G**2)
    assert verdict("thm1.main.strongly_convex", "counterexample").status is Status.REFUTED


def test_a_step_as_large_as_the_statement_of_lemma_17_allows_leaves_all_points_behind() -> None:
    """13 clients alike, one a round, c_i^0 = grad f_i(x^0): x goes from 1 to 1 - 1/24, every alpha_i is at 1 still."""
    problem = Quadratic(np.ones((13, 1, 1)), np.zeros((13, 1)))
    method = FedBCGDPlus(T=1, eta=1 / 24, N=1, K=1, begin="gradients")
    data = run(problem, method, rounds=1, seeds=range(3), x0=1.0, record=("dist2",))
    np.testing.assert_allclose(data.dist2.isel(step_size=0, round=1), (1 - 1 / 24) ** 2)
    found = verdict("lemma17", "counterexample")
    assert found.status is Status.REFUTED and found.witness["M"] == 13
    assert (found.witness["left"], found.witness["right"]) == (Rational(1, 576), Rational(1, 624))
    as_proved = find("lemma17").__class__(**{**find("lemma17").__dict__, "when": find("lemma17.proof").when})
    assert verdict("lemma17", "counterexample", as_proved).status is Status.TESTED


def test_rounds_times_floats() -> None:
    for name in (
        "thm1.main.strongly_convex",
        "thm1.main.nonconvex",
        "thm2.main.strongly_convex",
        "thm2.main.nonconvex",
    ):
        for suffix in ("", ".corrected"):
            statement = find(name + suffix)
            assert verdict(name + suffix, "derivation").status is Status.OPEN  # it says nothing of the rounds
            (sent,) = [c for c in statement.also if isinstance(c, Order)]
            assert statement.claim == find(name + suffix).claim and len(sent.terms) >= 1
            halved = tuple(type(t)(t.name, t.value / 2) for t in sent.terms)
            changed = Statement(**{**statement.__dict__, "also": (Order(sent.quantity, halved, sent.polylog),)})
            assert verdict(name + suffix, "derivation", changed).status is Status.REFUTED


def test_symbols_in_another_meaning_have_the_dimension_that_is_told() -> None:
    statement = find("thm1.nonconvex")
    assert units.check(statement).status is Status.PROVED
    assert units.check(Statement(**{**statement.__dict__, "reads": {}})).status is Status.REFUTED


def test_recursion_lemmas_attain_their_bounds_up_to_constants() -> None:
    """Lemma 8's bound lies above the best constant step size, by a factor of at most 3, on a grid."""
    claim = find("lemma8").claim
    assert isinstance(claim, Bound)
    symbols = {s.name: s for s in claim.value.free_symbols}
    for d0, c1, c2, R in ((1, 1, 1, 10), (2, 0, 3, 100), (1, 5, 0, 1000), (3, 1, 100, 7)):
        given = {"d0": d0, "c1": c1, "c2": c2, "R": R, "eta_max": 1}
        bound = float(claim.value.subs({symbols[n]: v for n, v in given.items()}))
        eta = np.geomspace(1e-6, 1, 4000)
        best = (d0 / (eta * (R + 1)) + c1 * eta + c2 * eta**2).min()
        assert best <= bound * (1 + 1e-9) and bound <= 3 * best


def test_tuning_reaches_the_rounds_of_the_corrected_order() -> None:
    """The exact bound of Theorem 1 at the step size of the proof, after a constant times the rounds of the order."""
    values = {"M": 20, "N": 2, "K": 3, "T": 5, "beta": 4.0, "mu": 0.1, "sigma": 2.0, "G": 3.0, "alpha": 2.0,
        "gamma": 1.0}  # fmt: skip
    order = find("thm1.main.strongly_convex.corrected").claim
    assert isinstance(order, Order)
    symbols = {s.name: s for s in order.value.free_symbols}
    for eps in (1e-1, 1e-3, 1e-5):
        rounds = float(order.value.subs({symbols[n]: v for n, v in {**values, "eps": eps}.items() if n in symbols}))
        inverse = 2 * values["mu"] / values["alpha"] * rounds * 20
        found = evaluate(
            "fedbcgd.thm1.strongly_convex.corrected",
            **values,
            d0=1.0,
            F=1.0,
            eta_tilde=1 / inverse,
            R=int(rounds * 40 * np.log(1e3 / eps)),
        )
        assert found.value <= 10 * eps


def test_printed_exponent_of_the_first_case_grows_with_alpha() -> None:
    claim = find("thm1.strongly_convex").claim
    assert isinstance(claim, Bound)
    first = claim.terms[0].value
    symbols = {s.name: s for s in first.free_symbols}
    at = {symbols[n]: v for n, v in {"d0": 1, "mu": 1, "beta": 1, "R": 1}.items()}
    values = [float(first.subs({**at, symbols["alpha"]: a})) for a in (1, 10)]
    assert values[1] == pytest.approx(float(mpmath.exp(-10))) and values[0] == pytest.approx(float(mpmath.exp(-1)))
