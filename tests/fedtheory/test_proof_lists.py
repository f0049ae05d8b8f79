"""Proofs of lemmas about a round by a list of inferences, from the form of the round that the algorithm's code gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import sympy

from fedtheory.bounds.parallel import parallel_round
from fedtheory.paper import (
    D,
    K,
    L,
    M,
    OwnPaper,
    R,
    S,
    bounded_below,
    contract,
    convex,
    decreasing,
    dist2,
    drift,
    eta,
    gap,
    grad_sq,
    h,
    in_words,
    jensen,
    mu,
    noise,
    paper,
    polyak,
    power,
    sigma,
    smooth,
    strongly_convex,
    strongly_convex_mean,
    young,
)  # fmt: skip
from fedtheory.simulations.algorithms.base import LocalSteps, everyone, to_clients
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.theory.proofs import parallel, rules
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.parallel import Factors
from fedtheory.theory.statement import Statement, Status, Verdict
from tests.fedtheory.test_own_paper import FedAnchor


@dataclass(frozen=True)
class OneGradient(LocalSteps):
    """x = x - eta times the mean of the clients' stochastic gradients at x."""

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        """x (E, N, d) -> x (E, N, d)."""
        clients, y = everyone(problem), to_clients(x, problem.M)
        return x - eta * problem.gradient(y, clients, draws.of(clients, 1).step(0)).mean(axis=2)


pytestmark = pytest.mark.usefixtures("alone")


def of(kind: Any, step: Any = K * eta) -> OwnPaper:
    p = paper("lists", step=step)
    p.algorithm(kind)
    return p


def one_gradient() -> OwnPaper:
    from functools import partial

    return of(partial(OneGradient, K=1), None)


def proved(p: OwnPaper, said: Statement) -> Verdict:
    """The verdict of the proof alone."""
    (one,) = [e for e in p.checks if e.statement == said.id]
    return one.check(said, False)


_descent = gap.next <= gap - h / 2 * grad_sq + h * L**2 / 2 * drift + L * h**2 * sigma**2 / (M * K)
_list = [smooth, noise.independent, jensen]
_given = [smooth, strongly_convex_mean, noise.independent]


# ---------------------------------------------------------------------------------------------- the form of a round


def test_the_form_of_a_round_is_read_from_the_algorithm() -> None:
    anchored, averaged = parallel_round(FedAnchor), parallel_round(PFL)
    assert anchored.end == averaged.end == Factors(-eta / M, sympy.S.Zero, sympy.S.Zero)
    assert anchored.point == Factors(-eta, sympy.S.Zero, -eta) and averaged.point == Factors(-eta, -eta, sympy.S.Zero)


@pytest.mark.parametrize(
    ("kind", "says"), [(SFL, "depends on another client's steps"), (SCAFFOLD, "it keeps c.* from round to round")]
)
def test_another_form_is_refused(kind: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parallel_round(kind)
    p = of(kind)
    found = proved(p, p.lemma(_descent, given=_given, when=h <= 1 / (2 * L), by=_list))
    assert found.status is Status.BROKEN and "expected clients that work in parallel" in found.says


# ---------------------------------------------------------------------------------------------------- lists that close


def test_descent_is_proved_and_the_premises_say_from_what() -> None:
    p = of(PFL)
    found = proved(p, p.lemma(_descent, given=_given, when=h <= 1 / (2 * L), by=_list))
    names = {premise.name for premise in found.premises}
    assert found.status is Status.PROVED
    assert {"lists.PFL", "independent noise", "two-sided smooth", "equal weights", "Young"} <= names
    assert any("up to 3 clients and 3 local steps" in name for name in names)


def test_the_drift_of_anchored_steps_is_proved() -> None:
    p, about = of(FedAnchor), {"when": h <= 1 / (3 * L), "given": [smooth, noise], "by": [smooth, noise, jensen]}
    true: Any = about
    found = proved(p, p.lemma(drift <= 6 * h**2 * sigma**2 / K + 6 * h**2 * grad_sq, **true))
    assert found.status is Status.PROVED and "grad_sq 5" in found.says
    small = proved(p, p.lemma(drift <= 6 * h**2 * sigma**2 / K + h**2 * grad_sq, **true))
    assert small.status is Status.BROKEN and "claimed eta_tilde**2, derived 3*eta_tilde**2" in small.says


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        (gap.next <= gap - eta / 2 * grad_sq + L * eta**2 * sigma**2 / (2 * M), [smooth, bounded_below]),
        (dist2.next <= (1 - mu * eta) * dist2 + eta**2 * sigma**2 / M, [smooth, strongly_convex]),
        (dist2.next <= dist2 - 2 * eta * (1 - L * eta) * gap + eta**2 * sigma**2 / M, [smooth, convex]),
    ],
)
def test_one_gradient_of_each_client(claim: Any, given: list[Any]) -> None:
    p, using = one_gradient(), [one for one in given if one is not bounded_below]
    about: Any = {"when": eta <= 1 / L, "given": [*given, noise.independent], "by": [*using, noise.independent]}
    assert proved(p, p.lemma(claim, "true", **about)).status is Status.PROVED
    found = proved(p, p.lemma(claim.subs(sigma, sigma / 2), "false", **about))
    assert found.status is Status.BROKEN and "coefficient of sigma**2" in found.says


def test_noise_that_clients_share_is_larger() -> None:
    p = of(PFL)
    about: Any = {
        "when": h <= 1 / (2 * L),
        "given": [smooth, strongly_convex_mean, noise],
        "by": [smooth, noise, jensen],
    }
    found = proved(p, p.lemma(_descent, **about))
    assert found.status is Status.BROKEN and "coefficient of sigma**2" in found.says
    larger = _descent.rhs + L * h**2 * sigma**2 / K * (1 - 1 / M)
    assert proved(p, p.lemma(gap.next <= sympy.expand(larger), **about)).status is Status.PROVED


# ------------------------------------------------------------------------------------------- lists that do not close


@pytest.mark.parametrize(
    ("claim", "when", "by", "says"),
    [
        (gap.next <= _descent.rhs - L * h**2 * sigma**2 / (2 * M * K), h <= 1 / (2 * L), _list, "claimed L*eta_tilde"),
        (_descent, h <= 1 / L, _list, "'a square' is taken with a factor >= 0"),
        (_descent, h <= 1 / (2 * L), [smooth, noise.independent, young(2), jensen], "derived 3*L*eta_tilde"),
        (_descent, h <= 1 / (2 * L), [smooth, noise.independent], "left over: "),
        (_descent, h <= 1 / (2 * L), [noise.independent, jensen], "F[x_next]"),
        (drift <= 6 * h**2 * sigma**2 / K + 6 * h**2 * grad_sq, h <= 1 / (3 * L), [smooth, noise, jensen],
         "left over: -3*eta_tilde**2*k**2/K**2 * grad F_m[x]**2"),
    ],
)  # fmt: skip
def test_what_is_left_is_said_term_by_term(claim: Any, when: Any, by: list[Any], says: str) -> None:
    p = of(PFL)
    found = proved(p, p.lemma(claim, given=_given, when=when, by=by))
    assert found.status is Status.BROKEN and says in found.says, found.says


def test_an_assumption_that_the_lemma_does_not_make_cannot_be_used() -> None:
    p = of(PFL)
    found = proved(p, p.lemma(_descent, given=[smooth, noise], when=h <= 1 / (2 * L), by=_list))
    assert found.status is Status.BROKEN and "which lists.lemma1 does not assume" in found.says


def test_a_round_of_sampled_clients_has_no_such_proof() -> None:
    """Although with S <= M its noise term is larger than that of all clients."""
    p = of(PFL)
    claim = gap.next <= _descent.rhs.subs(sigma**2 / M, sigma**2 / S)
    found = proved(p, p.lemma(claim, given=_given, when=[h <= 1 / (2 * L), S <= M], by=_list))
    assert found.status is Status.BROKEN and "speaks of S sampled clients" in found.says


@pytest.mark.parametrize(("wrong", "name"), [(strongly_convex_mean, "strongly_convex_mean"), ("smooth", "'smooth'")])
def test_what_cannot_be_in_a_list(wrong: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"by: {name}: expected lemmas"):
        of(PFL).lemma(_descent, by=[wrong])


def test_a_list_that_begins_with_an_inference_on_a_fact() -> None:
    p = of(PFL)
    found = proved(p, p.lemma(_descent, given=_given, when=h <= 1 / (2 * L), by=[polyak]))
    assert found.status is Status.BROKEN and "polyak comes first" in found.says


# ------------------------------------------------------------------------------------------------------ by a function


def test_a_proof_by_a_function_has_the_vectors_of_the_round() -> None:
    p = one_gradient()

    def proof(a: Argument) -> None:
        v = p.vectors(a)
        down = a.by(rules.DESCENT_OF_MEAN, v.F, v.x_next, v.x)
        fresh = [c * v.all.over(a.by(rules.FRESH, v.all.noise, v.G)) for c in (eta / M, -L * eta**2 / M)]
        noises = [a.by(rules.INDEPENDENT, v.all.noise, v.C), v.all.over(a.by(rules.VARIANCE, v.all.noise))]
        because = [down, fresh[0], fresh[1], *(L * eta**2 / (2 * M**2) * one for one in noises)]
        value = gap - eta * (1 - L * eta / 2) * grad_sq + L * eta**2 * sigma**2 / (2 * M)
        a.conclude(a.have("descent", gap.next, "<=", value, *because, after=a.follow("OneGradient")))

    about: Any = {"when": eta <= 1 / L, "given": [smooth, bounded_below, noise.independent], "by": proof}
    assert (
        proved(p, p.lemma(gap.next <= gap - eta / 2 * grad_sq + L * eta**2 * sigma**2 / (2 * M), **about)).status
        == "proved"
    )
    false = proved(p, p.lemma(gap.next <= gap - eta * grad_sq + L * eta**2 * sigma**2 / (2 * M), **about))
    assert false.status is Status.BROKEN and "coefficient of grad_sq" in false.says


@pytest.mark.parametrize(
    ("product", "says"),
    [
        (lambda a, square: a.have("s", (dist2 + grad_sq) ** 2, ">=", dist2 * grad_sq), "no products of quantities"),
        (lambda a, square: a.have("s", gap, "<=", gap, parallel.G**2 * square), "expected a factor without vectors"),
    ],
)
def test_a_product_of_quantities_is_no_form(product: Any, says: str) -> None:
    """As forms multiply, |x|^2 |y|^2 and <x, y>^2 are the same."""
    p = one_gradient()
    lemma = p.lemma(gap <= gap.next, by=lambda a: product(a, a.by(rules.SQUARE, parallel.G)))
    found = proved(p, lemma)
    assert found.status is Status.BROKEN and says in found.says


def test_a_power_of_a_count_is_a_number_below_one_only_if_its_base_is() -> None:
    p, q = one_gradient(), (1 - eta * mu) ** K
    kept, given = (1 + q) / 2, [smooth, strongly_convex]
    lemma = p.lemma(dist2.next <= kept * dist2, given=given, by=in_words("for this test", dist2.next <= kept * dist2))
    assert proved(p, lemma).status is Status.PROVED
    for when, name in ((eta <= 1 / L, "held"), (eta <= 3 / mu, "lost")):
        by = [lemma, power(q), contract]
        verdict = proved(p, p.theorem(dist2.last <= kept**R * D**2, name, when=when, given=given, by=by))
        assert verdict.status is (Status.PROVED if name == "held" else Status.BROKEN), verdict
    assert verdict.witness["step"] == f"the base of {q}"


def test_words_prove_what_they_say_from_what_is_assumed() -> None:
    p = one_gradient()
    by = in_words("for this test", dist2.next <= dist2 + eta**2 * sigma**2, noise)
    verdict = proved(p, p.lemma(dist2.next <= dist2 + eta**2 * sigma**2, given=[noise], by=by))
    assert verdict.status is Status.PROVED and "for this test" in {premise.name for premise in verdict.premises}
    more = p.lemma(dist2.next <= dist2 + eta**2 * sigma**2 / 2, given=[noise], by=by)
    without = p.lemma(dist2.next <= dist2 + eta**2 * sigma**2, given=[smooth], by=by)
    assert {proved(p, said).status for said in (more, without)} == {Status.BROKEN}


def test_decreasing_steps_keep_a_state_below_what_falls_like_one_over_the_round() -> None:
    p, given, noisy = one_gradient(), [smooth, strongly_convex, noise], eta**2 * sigma**2
    after = (1 - mu * eta / 2) * dist2 + noisy
    lemma = p.lemma(
        dist2.next <= after, when=eta <= 1 / L, given=given, by=in_words("for this test", dist2.next <= after)
    )

    def verdict(first: Any, most: Any, wait: Any = 4 * L / mu) -> Verdict:
        by = decreasing(lemma, first, wait, most)
        return proved(p, p.theorem(dist2.last <= most / (R + wait), f"t{len(p.statements)}", given=given, by=by))

    most = 4 * L / mu * D**2 + 16 * sigma**2 / mu**2
    assert verdict(4 / mu, most).status is Status.PROVED
    assert verdict(4 / mu, most - 8 * sigma**2 / mu**2).witness["step"].startswith("after round r")
    assert verdict(4 / mu, most - D**2).witness["step"].startswith("at the start")
    assert verdict(4 / mu, most, wait=2 * L / mu).status is Status.BROKEN  # the lemma's step sizes are at most 1/L
