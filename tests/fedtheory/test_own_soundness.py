"""False statements of a paper of one's own that nobody may call proved: what a proof does not see of a round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
import sympy

from fedtheory.bounds import worst_cases
from fedtheory.paper import (
    D,
    Delta,
    F,
    K,
    L,
    M,
    R,
    S,
    X,
    bounded_below,
    certificate,
    compressor,
    contract,
    decreasing,
    dist2,
    eta,
    gap,
    grad_sq,
    mu,
    noise,
    only,
    paper,
    plus,
    r,
    sigma,
    smooth,
    spread_everywhere,
    steady,
    strongly_convex,
    telescope,
)  # fmt: skip
from fedtheory.simulations.algorithms.base import LocalSteps, everyone, to_clients
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory.listing import Gradient, Line, Listing, Total, Variable, let, loop, names
from fedtheory.theory.statement import Status, Verdict

pytestmark = pytest.mark.usefixtures("alone")

GIVEN = [smooth, strongly_convex, noise.independent]
KEPT = (1 - mu * eta) * dist2


def with_step(direction: Callable[..., Any], memory: Any = None, **settings: Any) -> Any:
    """A paper whose algorithm steps against a direction: a function of the problem, the models, the draws and itself."""

    @dataclass(frozen=True)
    class Step(LocalSteps):
        """One step of all clients."""

        p: float = 0.5
        lr: float = 1.0
        compressor: Any = None
        coin: ClassVar[str] = "p"

        def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
            y = to_clients(x, problem.M)
            return x - eta * direction(self, problem, y, draws, memory)

    p = paper("unseen", step=K * eta)
    p.algorithm(partial(Step, K=1, **settings), memory=memory)
    for name in ("p", "lr"):
        p.symbol(name, name, "a setting", positive=True)
    return p


def gradient(problem: Any, y: Any, draws: Any) -> Any:
    """The clients' stochastic gradients."""
    return problem.gradient(y, everyone(problem), draws.of(everyone(problem), 1).step(0))


def coin(draws: Any, client: Any) -> Any:
    """A number in [0, 1)."""
    return draws.of(np.array(client).reshape(1, -1), 1).step(0).uniform(1)


def own_coins(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """Each client takes part by a coin of its own."""
    g = problem.local_gradient(y, everyone(problem))
    return np.where(coin(draws, np.arange(problem.M) + problem.M) < a.p, g, 0 * g).mean(axis=2)


def two_coins(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """One coin adds what another one takes away."""
    g = problem.local_gradient(y, everyone(problem)).mean(axis=2)
    heads = [coin(draws, [problem.M + i])[:, 0] < a.p for i in (0, 1)]
    return g + np.where(heads[0], g, 0 * g) - np.where(heads[1], g, 0 * g)


def half_a_coin(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """The chance is half of what `coin` names."""
    g = problem.local_gradient(y, everyone(problem)).mean(axis=2)
    return np.where(coin(draws, [problem.M])[:, 0] < a.p / 2, g, 0 * g)


def same_sample(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """The noise at two points, of one sample, need not be the same."""
    old = memory.get("w", y)
    memory["w"] = y
    clients, drawn = everyone(problem), draws.of(everyone(problem), 1).step(0)
    g = problem.gradient(y, clients, drawn) - problem.gradient(old, clients, drawn)
    return (g + problem.local_gradient(old, clients)).mean(axis=2)


def one_message_twice(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """The second message has the coins of the first."""
    g, coins = problem.local_gradient(y, everyone(problem)), draws.codes(everyone(problem))
    return ((a.compressor(g, coins) + a.compressor(g, coins)) / 2).mean(axis=2)


def shared_coins(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """All messages have the same coins."""
    return a.compressor(gradient(problem, y, draws), draws.codes(everyone(problem), shared=True)).mean(axis=2)


def coin_then_message(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """Heads: the gradient is compressed; tails: 0 is."""
    g = problem.local_gradient(y, everyone(problem))
    g = np.where(coin(draws, [problem.M])[:, 0] < a.p, g, 0 * g)
    return a.compressor(g, draws.codes(everyone(problem))).mean(axis=2)


def sample_twice(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """An extragradient, whose second point is made with the sample that is then asked for again."""
    clients, drawn = everyone(problem), draws.of(everyone(problem), 1).step(0)
    return problem.gradient(y - problem.gradient(y, clients, drawn) / 2, clients, drawn).mean(axis=2)


def message_of_a_sample(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """The message has the draws of the gradient in it."""
    clients, drawn = everyone(problem), draws.of(everyone(problem), 1).step(0)
    return a.compressor(problem.gradient(y, clients, drawn), drawn).mean(axis=2)


def other_start(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """The first step is three times as long."""
    factor, memory["c"] = 1 if "c" in memory else 3, y
    return factor * gradient(problem, y, draws).mean(axis=2)


def plain_step(a: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
    """lr times the mean gradient."""
    return a.lr * gradient(problem, y, draws).mean(axis=2)


@pytest.mark.parametrize(
    ("direction", "memory", "says"),
    [
        (own_coins, None, "numbers of clients, or several: expected one coin of the server"),
        (two_coins, None, "it draws 2 coins: expected one coin"),
        (half_a_coin, None, "compares its coin with 1/4: expected 1/2"),
        (same_sample, {"w": "any"}, "no multipliers were found"),
        (one_message_twice, None, "compresses twice with the same draws"),
        (shared_coins, None, "draw the same for all clients"),
        (sample_twice, None, "at a point that depends on the same sample"),
        (message_of_a_sample, None, "compresses with the draws of a sample"),
        (coin_then_message, None, "no multipliers were found"),
        (other_start, {"c": "any"}, "its first round is none of the others"),
        (plain_step, None, ""),
    ],
)
def test_a_certificate_sees_coins_samples_messages_and_the_first_round(direction: Any, memory: Any, says: str) -> None:
    p = with_step(direction, memory, lr=1.0)
    noisy = 0 if direction in (same_sample, coin_then_message) else eta**2 * sigma**2 / M
    given = [
        *GIVEN,
        *(
            [compressor]
            if direction in (one_message_twice, shared_coins, coin_then_message, message_of_a_sample)
            else []
        ),
    ]
    found = only_proof(p, p.lemma(dist2.next <= KEPT + noisy, when=eta <= 1 / (2 * L), given=given, by=certificate))
    status = Status.OPEN if "multipliers" in says else Status.BROKEN if says else Status.PROVED
    assert found.status is status and says in found.says, found


def only_proof(p: Any, said: Any) -> Verdict:
    """The verdict of a statement's proof."""
    (check,) = [e.check for e in p.checks if e.statement == said.id]
    found: Verdict = check(said, False)
    return found


@pytest.mark.parametrize(("when", "status"), [("a <= 1", Status.PROVED), ("a <= M/4", Status.OPEN)])
def test_the_factor_of_noise_has_its_sign_for_every_number_of_clients(when: str, status: Status) -> None:
    """a eta^2 ||noise||^2 is taken off: for a > 1 what is left of the noise may not be replaced by its bound."""

    def noise_kept(self: Any, problem: Any, y: Any, draws: Any, memory: Any) -> Any:
        g = gradient(problem, y, draws)
        memory["v"] = (g - problem.local_gradient(y, everyone(problem))).mean(axis=2)
        return g.mean(axis=2)

    p = with_step(noise_kept, {"v": "any of the server"}, lr=1.0)
    v = p.quantity("v_sq", "||v||^2", F**2 / X**2, lambda t, memory: memory["v"].square)
    a = p.symbol("a", "a", "a number", positive=True)
    claim = dist2.next - a * eta**2 * v.next <= KEPT + (1 - a) * eta**2 * sigma**2 / M
    about: Any = {"when": [eta <= 1 / L, a <= (1 if when == "a <= 1" else M / 4)], "given": GIVEN}
    assert only_proof(p, p.lemma(claim, **about, by=certificate)).status is status
    before = p.quantity("before", "||v||^2", F**2 / X**2, lambda t, _: t.before["v"].square)
    same = p.lemma(before.next <= before, given=GIVEN, by=certificate)
    assert only_proof(p, same).status is Status.OPEN  # it is another memory after the round


def test_a_setting_with_a_default_is_no_free_number_of_a_list() -> None:
    for settings in ({}, {"lr": 1.0}):
        p = with_step(plain_step, compressor=None, p=0.5, **settings)
        lr = p.symbols["lr"].sympy
        said = p.lemma(dist2.next <= (1 - mu * eta * lr**0) * dist2 + lr * sigma**2 * eta**2 / M,
                       when=[eta <= 1 / (2 * L), lr <= 1], given=GIVEN, by=GIVEN)  # fmt: skip
        assert "lr is a setting of the algorithm" in only_proof(p, said).says


@pytest.mark.parametrize(("wrong", "status"), [(False, Status.TESTED), (True, Status.ERROR)])
def test_lines_are_compared_with_other_settings_than_the_defaults(wrong: bool, status: Status) -> None:
    """1/lr in place of lr, which is 1 by default."""
    p = with_step(plain_step)
    round_, i, step, clients, rounds, lr = names("r i eta M R lr")
    x = Variable("x", "x^({0})")
    mean = 1 / clients * Total(i, clients, Gradient(i, x[round_], None, "g_i"))
    line = let(x[round_ + 1], x[round_] - (1 / lr if wrong else lr) * step * mean)
    said = p.algorithm(Listing((Line(1, 0, loop(round_, 0, rounds - 1)), Line(2, 1, line))), "lines")
    assert p.check(said)["lines"].status is status


def test_coefficients_in_M_beyond_three_numbers_of_clients() -> None:
    p = with_step(plain_step, lr=1.0)
    claim = dist2.next <= KEPT + eta**2 * sigma**2 / M - (M - 2) * (M - 3) * (M - 4) * dist2
    said = p.lemma(claim, when=eta <= 1 / (2 * L), given=GIVEN, by=certificate)
    assert "the claim has another factor in M: expected coefficients a + b/M" in only_proof(p, said).says


@pytest.mark.parametrize(
    ("claim", "about", "says"),
    [
        (
            dist2.last <= D**2 + eta * sigma**2 / (mu * S),
            {"when": [eta <= 1 / (2 * L), S <= M], "by": "sampled"},
            "is about a round of all clients",
        ),
        (
            dist2.last <= D**2 / R,
            {"when": eta <= 1 / (2 * L), "by": "decreasing"},
            "the statement has eta: expected none",
        ),
        (
            dist2.last <= (D**2 + sigma**2 / S) / (R + 4 * L / mu),
            {"when": S <= M, "by": "decreasing"},
            "of S sampled ones",
        ),
        (dist2.last <= D**2, {"by": "growing"}, "it adds grad_sq, which is another number in each round"),
    ],
)
def test_from_a_round_to_a_run(claim: Any, about: dict[str, Any], says: str) -> None:
    """Sampled clients, other step sizes and quantities that change from round to round are not those of the lemma."""
    p = paper("unseen", step=K * eta)
    p.algorithm(partial(PFL, K=1))
    lemma = p.lemma(dist2.next <= KEPT + eta**2 * sigma**2 / M, when=eta <= 1 / (2 * L), given=GIVEN, by=GIVEN)
    grows = p.lemma(dist2.next <= dist2 / 2 + grad_sq / L**2, given=GIVEN)
    by: Any = {
        "sampled": [lemma, contract],
        "decreasing": decreasing(lemma, 2 / mu, 4 * L / mu, D**2),
        "growing": [grows, contract, steady(grows)],
    }
    said = p.theorem(claim, given=[*GIVEN, spread_everywhere], **{**about, "by": by[about["by"]]})
    found = only_proof(p, said)
    assert found.status is Status.BROKEN and says in found.says


@pytest.mark.parametrize(
    ("claim", "about"),
    [
        (dist2.last <= D**2, {"where": {eta: 1 / (L * (r + 1))}}),
        (dist2.last <= D**2, {"when": dist2 >= eta * sigma**2}),
        (dist2.last <= D**2 / (r + 1), {}),
    ],
)
def test_what_changes_from_round_to_round_is_not_in_a_statement_about_all(claim: Any, about: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is another number in each round"):
        paper("unseen").theorem(claim, **about)


def test_a_true_theorem_is_not_refuted_by_rounding_nor_a_lemma_without_noise_by_noise() -> None:
    """Where a bound falls below what floating point can tell from 0; the smallest gradient is at most the mean."""
    p = paper("exact", step=K * eta)
    p.algorithm(partial(PFL, K=1))
    about: Any = {"when": eta <= 1 / L, "given": [smooth, strongly_convex]}
    lemma = p.lemma(dist2.next <= KEPT, **about, by=certificate)
    tight_one = p.lemma(dist2.next <= (1 - mu * eta) ** 2 * dist2, **about)
    linear = p.theorem(dist2.last <= (1 - mu * eta) ** R * D**2, **about, by=[lemma, contract])
    p.arena(linear, partial(generate, d=2, M=2, L=1.0, mu=0.5), 600, K=1)
    twice = p.theorem(dist2.last <= (1 - mu * eta) ** (2 * R) * D**2, **about)
    smallest = p.lemma(
        gap.next <= gap - eta * grad_sq / 2, when=eta <= 1 / L, given=[smooth, bounded_below], by=certificate
    )
    least = p.theorem(grad_sq.smallest <= 2 * Delta / (eta * R), when=eta <= 1 / L, given=[smooth, bounded_below],
                      by=[smallest, telescope])  # fmt: skip
    found = p.check()
    several = [found[one.id].status for one in (linear, twice, least)]
    assert several == [Status.PROVED, Status.TESTED, Status.PROVED], found
    at = {"M": 2, "L": 1, "mu": Fraction(1, 10), "eta": 1, "S": 2}
    (bracket,) = worst_cases.rounds("exact").scenes(tight_one, worst_cases.rounds("exact").complete(tight_one, at))
    assert not [name for name in bracket.conditions if "noise" in name]


def test_cases_are_numbers_and_an_equation_has_two_sides() -> None:
    p = paper("measured")
    a = p.symbol("a", "a", "a number", positive=True)
    for claim, left, status in (
        (sympy.Eq(a, (a + 1) ** 2, evaluate=False), (a + 1) ** 2 + 1, Status.REFUTED),
        (a <= (a + 1) ** 2, sympy.exp(1000 * a), Status.BROKEN),
        (a <= (a + 1) ** 2, sympy.sqrt(-a), Status.BROKEN),
    ):
        said = p.lemma(claim)
        p.cases(said, {"a": [1.0, 2.0]}, left)
        assert only_proof(p, said).status is status
    for cases, wrong in (({"a": 1}, "expected several numbers"), ({"a": [1]}, "left = 'a': expected a formula")):
        with pytest.raises(ValueError, match=wrong):
            p.cases(said, cases, "a" if "left" in wrong else a)
    with pytest.raises(ValueError, match=r"plus\(dist2, measured.lemma3\): expected a weight >= 0, made of constants"):
        plus(dist2, said)


def test_a_quantity_after_the_round_is_not_the_round_and_not_negative() -> None:
    p = with_step(plain_step, lr=1.0)
    moved = p.quantity("moved", "||x_{r+1} - x_r||^2", X**2, lambda t, _: (t.end - t.x).square, start=D**2)
    said = p.lemma(moved.next <= moved / 2, given=[smooth], by=certificate)
    assert "a quantity after the round reads the round" in only_proof(p, said).says
    with pytest.raises(ValueError, match=r"quantity below: -1/2 for y\^2/2 .*: expected >= 0"):
        p.quantity("below", "", F, lambda t, _: -t.x.square / 2)
    own = p.quantity("far", "||x - x*||^2", X**2, lambda t, _: t.x.square, start=D**2)
    lemma = p.lemma(dist2.next + own.next <= (1 - mu * eta) * (dist2 + own), given=[smooth, strongly_convex])
    total = p.theorem(dist2.last <= 2 * (1 - mu * eta) ** R * D**2, when=eta <= 1 / L, given=[smooth, strongly_convex],
                      by=[lemma, contract, only(dist2.last)])  # fmt: skip
    assert "far is not negative" in {premise.name for premise in only_proof(p, total).premises}
