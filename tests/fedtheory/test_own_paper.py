"""A paper in forty lines: its default evidence, its proofs by lemmas and inferences, and planted errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from sympy import Rational, sqrt

from fedtheory.paper import (
    D,
    Delta,
    F,
    K,
    L,
    M,
    OwnPaper,
    PaperVerdicts,
    R,
    X,
    bounded_below,
    certificate,
    contract,
    convex,
    dist2,
    drift,
    eta,
    gap,
    grad_sq,
    h,
    local_sq,
    mu,
    noise,
    off_star,
    paper,
    polyak,
    sigma,
    smooth,
    spread_everywhere,
    strongly_convex,
    strongly_convex_mean,
    telescope,
    zeta,
)  # fmt: skip
from fedtheory.simulations.algorithms.base import LocalSteps, everyone, kept, to_clients
from fedtheory.simulations.algorithms.fedcom import DIANA
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Status, Words


@dataclass(frozen=True)
class FedAnchor(LocalSteps):
    """y = y - eta (g_i(y) - grad F_i(x) + grad F(x)), K times; then the mean."""

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        """x (E, N, d) -> x (E, N, d)."""
        clients, y = everyone(problem), to_clients(x, problem.M)
        anchor = problem.local_gradient(y, clients)
        draw, shift = draws.of(clients, self.K), anchor.mean(axis=2)[:, :, None] - anchor
        for k in range(self.K):
            watch(y)
            y = y - eta[..., None] * (problem.gradient(y, clients, draw.step(k)) + shift)
        return y.mean(axis=2)


_all = [smooth, strongly_convex_mean, noise.independent]
_drift = drift <= 6 * h**2 * sigma**2 / K + 6 * h**2 * grad_sq
_descent = gap.next <= gap - h / 2 * grad_sq + h * L**2 / 2 * drift + L * h**2 * sigma**2 / (M * K)
_noise = 2 * L * h * sigma**2 / (mu * M * K) + 6 * L**2 * h**2 * sigma**2 / (mu * K)
_rate = gap.last <= (1 - mu * h / 2) ** R * Delta + _noise


def written(planted: str = "") -> OwnPaper:
    """The true paper, and the theorem with a planted error."""
    p = paper("anchor", "Anchored local SGD", step=K * eta)
    p.algorithm(FedAnchor)
    l1 = p.lemma(_drift, when=h <= 1 / (3 * L), given=[smooth, noise])
    l2 = p.lemma(_descent, when=h <= 1 / (2 * L), given=_all)
    proof = [l2, l1, polyak, contract]
    near, half = h <= 1 / (4 * L), gap.last <= (1 - mu * h / 2) ** R * Delta + _noise / 2
    claim, when, given = {
        "": (_rate, near, _all),
        "half": (half, near, _all),
        "lost": (_rate, near, [smooth, noise.independent]),
        "wide": (_rate, h <= 1 / L, _all),
        "wider": (_rate, h <= 4 / L, _all),
    }[planted]
    p.theorem(claim, planted or "theorem1", when=when, given=given, by=proof)
    return p


def with_a_wrong_lemma() -> OwnPaper:
    """A lemma with a planted error, for two local steps."""
    p = paper("wrong", step=K * eta)
    p.algorithm(partial(FedAnchor, K=2), "FedAnchor")
    p.lemma(drift <= 6 * h**3 * grad_sq, "units", when=h <= 1 / (3 * L), given=[smooth])
    return p


def without_independence() -> OwnPaper:
    """One local step: the descent lemma for noise that clients may share; a lemma false at the end of its condition."""
    p = paper("dependent", step=K * eta)
    p.algorithm(partial(FedAnchor, K=1), "FedAnchor")
    p.lemma(_descent, "shared", when=h <= 1 / (2 * L), given=[smooth, strongly_convex_mean, noise])
    wrong = gap.next <= gap - 0.5 * eta * grad_sq + L * eta**2 * sigma**2 / (2 * M)  # true up to 1/L
    p.lemma(wrong, "end", when=eta <= 3 / (2 * L), given=[smooth, noise.independent])
    return p


# Planted errors, besides those of `tests/test_fifth_paper.py`: name -> status, what the headline or the evidence says
PLANTED = {
    "units": (Status.REFUTED, "the dimensions differ in the term grad_sq"),
    "shared": (Status.REFUTED, "noise = shared"),
    "end": (Status.REFUTED, "eta = 3/2"),
    "half": (Status.TESTED, "claimed"),
    "lost": (Status.TESTED, "which anchor.lost does not assume"),
    "wide": (Status.TESTED, "eta_tilde <= 1/(2*L) fails"),
    "wider": (Status.REFUTED, "exact expectation"),
}


@cache
def report(write: Callable[[], OwnPaper], name: str = "") -> PaperVerdicts:
    """The verdicts of a paper, or of a statement of it, once."""
    own = write()
    return own.check(*(s for s in own.statements.values() if s.id.endswith(f".{name}")))


def test_the_calls_are_those_of_the_four_papers() -> None:
    p = paper("kinds", step=K * eta)
    small = p.assumption(Words("h is small."), place="page 1")
    found = p.corollary(
        claim=drift <= 6 * h**2 * grad_sq, name="short", place="page 2", when=h <= 1 / L, given=[small, smooth]
    )
    assert (small.id, found.id, found.kind, found.place) == ("kinds.assumption1", "kinds.short", "corollary", "page 2")
    assert found.assumes == ("kinds.assumption1", "kinds.smooth")
    printed = catalogue.paper("sfl")
    assert type(printed).corollary is type(p).corollary and printed.statements["sfl.lemma5"].kind == "lemma"


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_found_and_the_report_says_so(name: str) -> None:
    """In the status, or, for a proof that breaks, in the headline."""
    status, says = PLANTED[name]
    found = report(
        {
            "units": with_a_wrong_lemma,
            "shared": without_independence,
            "end": without_independence,
        }.get(name, partial(written, name)),
        name,
    )
    assert found[name].status is status, found[name].headline
    lines = repr(found).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{name}: "))
    assert says in "\n".join(lines[first : first + 3]), lines[first : first + 3]
    assert status is Status.REFUTED or "proof broken at" in lines[first]


def test_a_proof_by_telescoping() -> None:
    """From a descent lemma to the mean of the squared gradients; with half of the noise the proof breaks."""
    q = paper("telescoped", step=K * eta)
    q.algorithm(partial(FedAnchor, K=1), "FedAnchor")
    about: Any = {"when": h <= 1 / (8 * L), "given": [smooth, bounded_below, noise]}
    one = q.lemma(gap.next <= gap - h / 4 * grad_sq + L * h**2 * sigma**2, **about)
    bound = 4 * Delta / (h * R) + 4 * L * h * sigma**2
    proof = [one, telescope]
    assert q.check(q.theorem(grad_sq.mean <= bound, "true", **about, by=proof))["true"].status is Status.CONDITIONAL
    false = q.theorem(grad_sq.mean <= bound - 2 * L * h * sigma**2, "false", **about, by=proof)
    assert "proof broken at 'the claim: coefficient of sigma**2'" in q.check(false)["false"].headline


def test_what_small_problems_cannot_show_is_open() -> None:
    """An assumption that no instance looks at; and a condition on a quantity of the round is read."""
    q = paper("unread", step=K * eta)
    q.algorithm(partial(FedAnchor, K=1), "FedAnchor")
    alike = q.assume("alike", "All F_m are the same.", homogeneous=())
    one = q.lemma(gap.next <= gap / 1000, given=[smooth, strongly_convex_mean, alike], when=h <= 1 / L)
    assert q.check(one)["lemma1"].status is Status.OPEN
    two = q.lemma(gap.next <= gap / 1000, given=[smooth, strongly_convex_mean], when=[h <= 1 / L, gap <= 0])
    assert q.check(two)["lemma2"].status is not Status.REFUTED


@pytest.mark.parametrize("part", [Rational(1, 2), 2])
def test_the_constants_of_an_assumption_are_read(part: Any) -> None:
    """By the searches and the worst case: true if L and sigma are read with their factor, false with half of the noise."""
    q = paper("parts", step=K * eta)
    q.algorithm(partial(FedAnchor, K=1), "FedAnchor")
    own = q.assume(
        "own",
        "Theirs, but for a factor.",
        smooth=(part * L,),
        variance=(part * sigma,),
        unbiased=(),
        independent_noise=(),
    )
    about: Any = {"when": h <= 1 / (part * L), "given": [own, convex]}
    noisy = part**3 * L * h**2 * sigma**2 / (2 * M)
    for name, size in (("true", noisy), ("false", noisy / 2)):
        q.lemma(gap.next <= gap - h / 2 * grad_sq + size, name, **about)
        q.theorem(gap.last <= Delta + R * size, f"run_{name}", **about)
    apart = q.assume("apart", "Theirs, but for a factor.", heterogeneity_at_optimum=(part * zeta,))
    for name, factor in (("apart_true", 2), ("apart_false", Rational(1, 2))):
        claim = local_sq <= 4 * L * gap + factor * part**2 * zeta**2
        q.lemma(claim, name, when=h <= 1 / L, given=[smooth, convex, apart])
    quiet = q.assume("quiet", "No noise.", variance=(0,))
    q.lemma(gap.next <= gap, "still", when=eta <= 2 / L, given=[smooth, convex, quiet])
    found = q.check()
    assert {one.statement.id: one.status for one in found.checked} == {
        f"parts.{name}": Status.REFUTED if "false" in name else Status.TESTED
        for name in ("true", "run_true", "false", "run_false", "apart_true", "apart_false", "still")
    }, found
    (_, verdict), *_ = found["false"].against
    assert "mu" not in verdict.witness, verdict.witness  # it is not assumed


@pytest.mark.parametrize("gives", [{"variance": sigma / sqrt(2)}, {"smooth": L + mu}, {"smooth": 2 * mu}])
def test_a_constant_that_nothing_reads_leaves_open(gives: dict[str, Any]) -> None:
    """Of searches and of arenas, which would take it for another."""
    q = paper("unreadable", step=K * eta)
    q.algorithm(PFL)
    given = [strongly_convex, q.assume("own", "With a constant of its own.", **gives)]
    one = q.theorem(gap.last <= Delta / 100, when=h <= 1 / (10 * mu), given=given)
    q.arena(one, partial(generate, d=2, M=2, L=1.0, mu=0.1), 5, K=1)
    (found,) = q.check(one).checked
    read = {e.kind: v for e, v in found.verdicts if e.kind != "units"}
    assert read.keys() == {"search", "moments"} and {v.status for v in read.values()} == {Status.OPEN}
    assert all("searches and runs read a number or a multiple of its own letter" in v.says for v in read.values())


def test_no_instance_refutes_what_assumes_something_in_words() -> None:
    """Instances of rounds, worst cases, runs and arenas may violate it; without it they refute."""
    for words, status in (("All F_m are the same.", Status.OPEN), ("", Status.REFUTED)):
        q = paper("worded", step=K * eta)
        q.algorithm(PFL)
        given = [smooth, convex, noise, *([q.assume("same", words)] if words else [])]
        about: Any = {"when": h <= 1 / (10 * L), "given": given}
        q.lemma(drift <= 2 * h**2 * grad_sq + 2 * h**2 * sigma**2 / K, **about)
        one = q.theorem(gap.last <= Delta / R + L * h**2 * sigma**2, **about)
        q.arena(one, partial(generate, d=2, M=2, L=1.0, mu=0.1), 5, K=1)
        for found in q.check().checked:
            kinds = {"search", "worst_case"} if found.statement.kind == "lemma" else {"search", "moments"}
            assert {(e.kind, v.status) for e, v in found.verdicts if e.kind != "units"} == {(k, status) for k in kinds}
            assert not words or "worded.same (All F_m are the same.): searches, worst cases" in repr(found)


def test_what_is_open_says_why() -> None:
    """A memory that is not declared is named; a claim that nothing looks at is said to be one."""
    q = paper("forgetful")
    q.algorithm(DIANA)
    says = r"memory 'h_j' is not declared: expected it in p.algorithm\(..., memory=...\), which has none"
    with pytest.raises(ValueError, match=says):
        q.quantity("away", "distance of the memories", F**2 / X**2, off_star("h_j"))
    q.lemma(gap.next <= gap, given=[spread_everywhere], when=eta <= 1 / L)
    alone = paper("alone")
    alone.lemma(gap.next <= gap)
    assert "search: forgetful.lemma1 assumes heterogeneity everywhere: expected" in repr(q.check())
    assert repr(alone.check()).splitlines() == ["lemma1: open", "  no check here can decide it"]


def test_a_witness_of_a_run_has_all_settings() -> None:
    """Also those of which the theorem does not speak."""
    q = paper("silent", step=K * eta)
    q.algorithm(PFL)
    q.theorem(gap.last <= (1 - mu * h / 2) ** R * Delta, when=h <= 1 / (4 * L), given=[smooth, strongly_convex])
    ((_, verdict),) = q.check()["theorem1"].against
    assert {"M", "K", "L", "mu", "eta_tilde", "x0", "R"} <= verdict.witness.keys()
    assert len(verdict.witness["problem"].split(", ")) == verdict.witness["M"]


def test_a_theorem_without_a_limit_of_its_step_size_is_open() -> None:
    """In words: nothing says with which step size to run."""
    q = paper("unlimited")
    q.algorithm(FedAnchor)
    for when in ([], eta >= 1 / L):
        found = q.check(one := q.theorem(gap.last <= Delta, when=when))[one.id]
        assert found.status is Status.OPEN and "no condition limits eta: expected one" in repr(found)


def test_a_second_paper_of_one_name_takes_the_place_of_the_first() -> None:
    """As when a cell of a notebook runs again."""
    for claim, status in ((drift <= h * grad_sq, Status.REFUTED), (drift <= h**2 * grad_sq, Status.OPEN)):
        again = paper("twice", step=K * eta)
        again.lemma(claim, given=[smooth])
        assert again.check()["lemma1"].status is status  # by units alone
        assert catalogue.find("twice.lemma1") is again.statements["twice.lemma1"]


def one_step(change: Callable[..., Any]) -> Any:
    """Local SGD with one step, in which `change` gives the number of the round, the clients to draw for, and what is left
    of a gradient; and a memory c, the mean of the c_j, twice as large."""

    @dataclass(frozen=True)
    class OneStep(LocalSteps):
        """x - eta times the mean of the clients' stochastic gradients, but for a planted error."""

        def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
            clients, y = everyone(problem), to_clients(x, problem.M)
            watch(y)
            drawn, read = change(clients, draws)
            found = read(problem.gradient(y, clients, draws.of(drawn, self.K).step(0)))
            memory |= {"c_j": found, "c": 2 * found.mean(axis=2)} if "c" in memory else {}
            return x - eta * found.mean(axis=2)

    return partial(OneStep, K=1)


def one_lemma(change: Callable[..., Any], by: Any, memory: dict[str, str] | None = None) -> PaperVerdicts:
    p = paper("onestep", step=K * eta)
    p.algorithm(one_step(change), memory=memory)
    given = [smooth, strongly_convex, noise.independent]
    bound = (1 - mu * eta) * dist2 + eta**2 * sigma**2 / M
    return p.check(p.lemma(dist2.next <= bound, when=eta <= 1 / (2 * L), given=given, by=by or given))


@pytest.mark.parametrize("by", [(), certificate])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda clients, draws: (clients, lambda g: g / (1 + draws.round)), "depends on the number of the round"),
        (lambda clients, draws: (clients * 0, lambda g: g), "client 2 takes a gradient with draws of another"),
        (lambda clients, draws: (clients, lambda g: g.sum(axis=-1, keepdims=True)), "OneStep mixes coordinates"),
        (lambda clients, draws: (clients, lambda g: np.roll(g, 2, axis=-1)), "OneStep mixes coordinates"),
    ],
)
def test_no_proof_is_about_a_round_that_it_does_not_see(change: Callable[..., Any], says: str, by: Any) -> None:
    (found,) = one_lemma(change, by).checked
    assert found.status is Status.BROKEN and any(says in v.says for _, v in found.verdicts if v.status is Status.BROKEN)
    as_is = one_lemma(lambda clients, draws: (clients, lambda g: g), ())
    assert as_is["lemma1"].status is Status.PROVED


def test_a_memory_is_what_it_is_said_to_be_after_the_round_too() -> None:
    (found,) = one_lemma(
        lambda clients, draws: (clients, lambda g: g), certificate, {"c_j": "any", "c": "mean of c_j"}
    ).checked
    says = "memory c: expected 'mean of c_j' after the round, too, as before it"
    assert says in [v.says for _, v in found.verdicts]


def verdict_of(step: Callable[..., Any], noise_: Any, memory: dict[str, str] | None = None) -> Any:
    """The verdict of a certificate about x - eta times what `step` gives of gradients, a function of draws, and memory."""

    @dataclass(frozen=True)
    class Stepping(LocalSteps):
        """One step of all clients."""

        def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
            clients, y = everyone(problem), to_clients(x, problem.M)
            watch(y)
            return x - eta * step(
                lambda: problem.gradient(y, clients, draws.of(clients, 1).step(0)), memory, x, problem
            )

    p = paper("stepping", step=K * eta)
    p.algorithm(partial(Stepping, K=1), memory=memory)
    bound = (1 - mu * eta) * dist2 - 2 * eta * (1 - L * eta) * gap + eta**2 * noise_
    given = [smooth, strongly_convex, noise.independent]
    found = p.check(p.lemma(dist2.next <= bound, when=eta <= 1 / L, given=given, by=certificate))["lemma1"]
    return next(v for e, v in found.verdicts if e.kind == "certificate")


def tracked(g: Any, memory: Any, x: Any, problem: Any) -> Any:
    """The h_j keep half of the gradients' deviations, so that their sum stays 0."""
    new, old = g(), kept(memory, "h_j", x, problem.M)
    memory["h_j"] = old / 2 + (new - new.mean(axis=2)[:, :, None]) / 2
    return (new - old).mean(axis=2)


def heavy(g: Any, memory: Any, x: Any, problem: Any) -> Any:
    """Momentum that nobody has declared."""
    before, memory["m"] = memory.get("m", 0 * x), g().mean(axis=2)
    return memory["m"] + 50 * before


def rotated(g: Any, memory: Any, x: Any, problem: Any) -> Any:
    """The coordinates of a memory are added up; its own are taken off."""
    old, memory["c_j"] = kept(memory, "c_j", x, problem.M), g()
    return memory["c_j"].mean(axis=2) + (old.sum(axis=-1, keepdims=True) - old).mean(axis=2)


def test_draws_and_memories_of_a_certificate_are_those_of_a_run() -> None:
    once = sigma**2 / M
    assert verdict_of(lambda g, *_: g().mean(axis=2), once).status is Status.PROVED
    twice = [verdict_of(lambda g, *_: (g() + g()).mean(axis=2) / 2, once / n).status for n in (1, 2)]
    assert twice == [Status.PROVED, Status.OPEN]  # both gradients have the same noise
    assert verdict_of(tracked, once, {"h_j": "sum 0"}).status is Status.PROVED
    assert "it keeps m: expected memory=..." in verdict_of(heavy, once).says
    assert "Stepping mixes coordinates" in verdict_of(rotated, once, {"c_j": "any"}).says


@pytest.mark.parametrize(("kind", "size", "status"), [
    ("any of the server", 2, Status.PROVED), ("any of the server", 1, Status.REFUTED), ("any", 2, Status.BROKEN),
])  # fmt: skip
def test_momentum_of_the_server_may_be_any(kind: str, size: int, status: Status) -> None:
    """||v/2 - eta g||^2 <= ||v||^2/2 + 2 eta^2 ||g||^2, not with 1; v is declared as one vector, not as the clients'."""

    @dataclass(frozen=True)
    class Momentum(LocalSteps):
        """v = v/2 - eta times the mean gradient; x = x + v."""

        def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
            clients, y = everyone(problem), to_clients(x, problem.M)
            watch(y)
            found = problem.gradient(y, clients, draws.of(clients, 1).step(0)).mean(axis=2)
            memory["v"] = memory.get("v", 0 * x) / 2 - eta * found
            return x + memory["v"]

    p = paper("momentum")
    p.algorithm(partial(Momentum, K=1), memory={"v": kind})
    v = p.quantity("v_sq", "||v||^2", X**2, lambda t, memory: memory["v"].square)
    found = p.check(p.lemma(v.next <= v / 2 + size * eta**2 * grad_sq, given=[smooth], by=certificate))["lemma1"]
    assert found.status is status
    assert (kind == "any") == any('declared as "any of the server"' in each.says for _, each in found.verdicts)


@pytest.mark.parametrize("start", [0, zeta**2 / 4, D**2])
def test_a_quantity_starts_where_its_memories_are_0(start: Any) -> None:
    p = paper("memories")
    p.algorithm(DIANA, memory={"h_j": "any", "h": "mean of h_j"})
    with pytest.raises(ValueError, match=r"quantity apart: start = .* expected at least 1"):
        p.quantity("apart", "", F**2 / X**2, off_star("h_j"), start)
    with pytest.raises(ValueError, match="memory 'h_i' is not declared"):
        p.quantity("apart", "", F**2 / X**2, off_star("h_i"), zeta**2)
    p.quantity("apart", "", F**2 / X**2, off_star("h_j"), zeta**2)


def test_objects_show_themselves() -> None:
    """In at most ten lines."""
    shown = repr(written())
    assert shown.splitlines()[0] == "anchor: Anchored local SGD" and len(shown.splitlines()) <= 10
    assert "lemma1: drift <= " in shown
