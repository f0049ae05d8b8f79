"""Worst cases of a round of any algorithm, by its own `round`: known constants, brackets, constants that are too small."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from typing import Any

import pytest
from sympy import Rational

from fedtheory.bounds.certified_rounds import check
from fedtheory.bounds.quantities import FIELD
from fedtheory.bounds.worst_cases import best_constant, rounds, two_valued
from fedtheory.paper import (
    K,
    L,
    M,
    S,
    dist2,
    drift,
    eta,
    gap,
    grad_sq,
    h,
    local_sq,
    noise,
    paper,
    sigma,
    smooth,
    spread,
    spread_everywhere,
)
from fedtheory.simulations.algorithms.baselines import FedProx, Scaffnew
from fedtheory.simulations.algorithms.fedcom import DIANA, SCAFFOLD, FedCOMGATE, FedGATE
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.exact.trace import Trace
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import QuadraticForm, number, vector
from fedtheory.theory.proofs.scenes import FunctionClass
from fedtheory.theory.proofs.tight import Bracket, Unbounded, tight
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Statement, Status
from tests.fedtheory.test_own_paper import FedAnchor

CLASS, ETA = FunctionClass(Q(1), Q(1, 10)), Q(1, 2)
DIST, NEXT = FIELD["dist2"], FIELD["dist2_next"]
OWN = vector("c0")
MEMORY: Any = {"c": OWN * 0, "c_j": [OWN, -OWN]}


def lyapunov(t: Trace) -> QuadraticForm:
    """||x||^2 and how far the control variates are from the gradients at x*."""
    return t.x.square + (OWN - t.functions[0].at(t.zero).gradient).square


def apart(t: Trace) -> QuadraticForm:
    """||x||^2 and how far the clients' gradients are apart at x*."""
    return t.x.square + t.functions[0].at(t.zero).gradient.square


@pytest.mark.parametrize(
    ("algorithm", "given"),
    [
        (PFL(1, 1.0), {}),
        (FedProx(1, 1.0), {}),
        (FedAnchor(1, 1.0), {}),
        (FedGATE(1, 1.0), {}),
        (DIANA(1.0), {}),
        (SCAFFOLD(1, 1.0), {"memory": MEMORY}),
        (Scaffnew(1.0, 0.5), {"coins": {0.25: Q(1)}}),  # one local step
    ],
    ids=lambda one: type(one).__name__,
)
def test_with_one_local_step_all_are_gradient_descent(algorithm: Any, given: Any) -> None:
    """||x+ - x*||^2 <= (1 - eta mu)^2 ||x - x*||^2 for eta <= 2/(L + mu), and no less."""
    found = best_constant(algorithm, NEXT, DIST, of=CLASS, M=2, eta=ETA, **given)
    assert found.lower <= (1 - ETA / 10) ** 2 <= found.upper
    assert float(found.upper - found.lower) < 1e-5


@pytest.mark.parametrize(
    ("algorithm", "smaller", "given"),
    [
        (FedAnchor(2, 1.0), DIST, {}),
        (SCAFFOLD(2, 1.0), lyapunov, {"memory": MEMORY}),
        (FedProx(2, 1.0), apart, {}),
        (Scaffnew(0.5, 1.0), lyapunov, {"coins": {0.25: Q(1, 2), 0.6: Q(1, 2)}, "memory": {"h_m": [OWN, -OWN]}}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_lemma_about_one_round_is_bracketed_and_refuted_with_half_its_constant(
    algorithm: Any, smaller: Any, given: Any
) -> None:
    found = best_constant(algorithm, NEXT, smaller, of=CLASS, M=2, eta=Q(1, 4), **given)
    assert 0 < found.lower <= found.upper and float(found.upper / found.lower) < 1.001
    assert found.lower > found.upper / 2, "the instance needs more than half of it"


def test_noise_of_two_clients_is_halved() -> None:
    """E||x+||^2 of one noisy step from x* of both: eta^2 sigma^2 / 2."""
    only = lambda t: number("sigma^2") + 1000 * t.x.square  # noqa: E731  # a large price for starting elsewhere
    found = best_constant(PFL(1, 1.0), NEXT, only, of=CLASS, M=2, eta=ETA, noise=1)
    assert float(found.lower) == pytest.approx(float(ETA**2 / 2), rel=1e-4)


def test_a_sequential_round_needs_its_orders_a_parallel_one_only_samples() -> None:
    one = best_constant(PFL(1, 1.0, S=1), NEXT, apart, of=CLASS, M=2, eta=Q(1, 4))
    other = best_constant(SFL(1, 1.0, S=1), NEXT, apart, of=CLASS, M=2, eta=Q(1, 4))
    assert one.upper == other.upper  # with one client a round the two are the same
    both = best_constant(SFL(1, 1.0), NEXT, apart, of=CLASS, M=2, eta=Q(1, 4))
    assert both.upper != one.upper


def test_what_cannot_be_decided_is_said() -> None:
    with pytest.raises(Unbounded, match="no constant is enough"):
        best_constant(SCAFFOLD(2, 1.0), NEXT, DIST, of=CLASS, M=2, eta=ETA, memory=MEMORY)
    with pytest.raises(
        ValueError, match=r"Scaffnew cannot be traced: .* expected one coin, and .* \(baselines.py, line"
    ):
        best_constant(Scaffnew(1.0, 0.5), NEXT, DIST, of=CLASS, M=2, eta=ETA)
    with pytest.raises(
        ValueError, match=r"FedCOMGATE cannot be traced: it draws numbers that are not given here: keys"
    ):
        best_constant(FedCOMGATE(1, 1.0, compressor=RandK(1)), NEXT, DIST, of=CLASS, M=2, eta=ETA)
    with pytest.raises(ValueError, match="1 orders, 1 coins, 256 signs of noise: expected 64 outcomes at most"):
        best_constant(PFL(4, 1.0), NEXT, DIST, of=CLASS, M=2, eta=ETA, noise=4)


def test_a_smaller_class_has_a_smaller_constant() -> None:
    found = [
        best_constant(FedAnchor(2, 1.0), NEXT, DIST, of=replace(CLASS, mu=mu), M=2, eta=Q(1, 4)).upper
        for mu in (Q(0), Q(1, 10), Q(1, 2))
    ]
    assert found == sorted(found, reverse=True) and len({*found}) == 3


def test_the_lemmas_of_a_paper_outside_have_worst_cases_without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two local steps E_r is eta_tilde^2 grad_sq / 8, where 6 eta_tilde^2 grad_sq is claimed; less is false."""
    p = paper("outside", step=K * eta)
    p.algorithm(FedAnchor)
    bound = 6 * h**2 * sigma**2 / K + 6 * h**2 * grad_sq
    steps = p.lemma(drift <= bound, "drift", when=h <= 1 / (3 * L), given=[smooth, noise])
    falls = gap - h / 2 * grad_sq + h * L**2 / 2 * drift + L * h**2 * sigma**2 / (M * K)
    descent = p.lemma(gap.next <= falls, "descent", when=h <= 1 / (2 * L), given=[smooth, noise.independent])
    assert isinstance(steps.claim, Bound) and isinstance(descent.claim, Bound)
    own = rounds("outside")
    assert own is not None and own.names == ("drift", "descent")

    def bracket_of(statement: Statement, **numbers: Q) -> Bracket:
        (case,) = scenes.cases_at(statement, own, numbers)
        return tight(scenes.searches(statement, case)[scenes.ALL].above)

    all_: dict[str, Q] = {"M": Q(2), "S": Q(2), "L": Q(1), "sigma": Q(0)}
    found = bracket_of(steps, **all_, K=Q(2), eta_tilde=Q(1, 3))
    assert found.lower <= Q(1, 48) <= found.upper and float(found.upper - found.lower) < 1e-7
    less = steps.with_claim(steps.claim.scaled(Rational(1, 49)))
    assert bracket_of(less, **all_, K=Q(2), eta_tilde=Q(1, 3)).lower > 1
    with pytest.raises(ValueError, match="outside.drift: missing L, M, S; expected K, L, M, S, eta or eta_tilde"):
        bracket_of(steps, K=Q(1), eta=Q(1, 4))
    one_step = {**all_, "K": Q(1), "eta": Q(1, 4)}
    assert bracket_of(descent, **one_step).upper <= Q(
        1001, 1000
    )  # it needs no minimiser, as F* cancels; here it does not:
    with pytest.raises(ValueError, match=r"is about x\* or F\*: expected a minimiser and convexity"):
        bracket_of(descent.with_claim(descent.claim.scaled(2)), **one_step)
    monkeypatch.setattr(p, "background", ())
    with pytest.raises(ValueError, match="does not assume equal weights"):
        bracket_of(descent, **one_step)


def test_noise_reads_what_is_assumed() -> None:
    """Own signs or one for parallel clients; any vector more where it may be biased; in sequence all that was before."""
    both, X = {Property.UNBIASED, Property.INDEPENDENT_NOISE}, vector("x")
    apart = two_valued((0, 1), (1, -1), 1, True, both)
    assert [apart(0, 1, 0, X), apart(1, 2, 0, X)] == [vector("n(0:0:)"), -vector("n(1:0:)")]
    shared = two_valued((0, 1), (1, -1), 1, True, {Property.UNBIASED})
    assert shared(1, 2, 0, X) == vector("n(1:0:)")
    assert two_valued((0, 1), (1, -1), 1, True, {Property.INDEPENDENT_NOISE})(0, 1, 0, X).parts.keys() == {
        "n(0:0:)", "bias(0:0:)",
    }  # fmt: skip
    assert two_valued((1, 0), (1, -1), 1, False, both)(0, 2, 0, X) == -vector("n(10:0:+)")
    assert two_valued((0, 1), (), 0, True, both)(0, 1, 0, X) == vector("x") * 0


# Lemmas about a round, proved from the algorithm's code for all constants and numbers of clients


pytestmark = pytest.mark.usefixtures("alone")


def verdict(claim: Any, given: Any) -> Any:
    p = paper("certified")
    p.algorithm(PFL)
    return check(p.lemma(claim, given=given))


def test_a_lemma_is_proved_and_a_smaller_constant_is_not() -> None:
    assert verdict(local_sq <= grad_sq + spread**2, [spread_everywhere]).status is Status.PROVED
    assert verdict(local_sq <= grad_sq + spread**2 / 2, [spread_everywhere]).status is Status.OPEN


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (dist2.next <= dist2 + eta**2 * sigma**2 / M, "one step"),
        (local_sq <= grad_sq + spread**2 * S / M, "all of which take part"),
    ],
)
def test_what_it_cannot_read_it_refuses(claim: Any, says: str) -> None:
    found = verdict(claim, [smooth, spread_everywhere])
    assert found.status is Status.BROKEN and says in found.says
