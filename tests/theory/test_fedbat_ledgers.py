"""The FedBAT proofs: what they prove, where the printed ones break, and that they read what they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Max, Rational

from fedtheory.bounds import evaluate
from fedtheory.bounds.evaluation import compiled
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks.ledgers import PROOFS, REPAIRS
from fedtheory.theory.fedbat.checks.quantities import LANGUAGE
from fedtheory.theory.fedbat.symbols import L, R, T, eta, eta_t, mu, t, tau
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.statement import Bound, Premise, Relations, Statement, Status, Verdict

# The step at which a printed proof breaks, and a part of the counter-model
BROKEN: dict[str, tuple[str, dict[str, str]]] = {
    # eta_0 = 2/(9 mu) is more than twice eta_10 = 2/(19 mu); Lemma 3 asks for all t >= 0, the choice gives t >= 1
    "thm1": ("fedbat.lemma3: condition eta_t <= 2*eta_later", {"t": "0", "tau": "10", "max{8L/mu,tau}": "10"}),
    "thm2": ("fedbat.lemma3: condition eta_t <= 2*eta_later", {"t": "0", "tau": "10", "max{8L/mu,tau}": "10"}),
    # Lemma 3 does not name Assumption 5, by which (48) is printed
    # tau stands before C, which has star_gap with a minus sign
    "eq38": ("the claim: coefficient of star_gap", {"tau": "2"}),
    "eq42": ("the claim: coefficient of Gamma", {"tau": "2"}),
    # the first line of (41) is an equality in print, and follows from (40) as an inequality only
    "eq41": ("the claim", {}),
    # Lemma 6 has no factor 2: the learning rate would have to be constant
    "eq57": ("fedbat.lemma6: condition eta_t <= eta_later", {"eta_t": "1/4", "eta_later": "1/6"}),
    # Assumption 1 as printed bounds from above only
    "eq78": ("Lipschitz gradient", {}),
}
ALL = {**PROOFS, **{f"{name} repaired": one for name, one in REPAIRS.items()}}
PROVED = [name for name in ALL if name not in BROKEN]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbat.{name.removesuffix(' repaired')}")


def verdict(name: str, statement: Statement | None = None) -> Verdict:
    argument = Argument(statement or find(name), LANGUAGE)
    ALL[name](argument)
    return argument.verdict()


@pytest.mark.parametrize("name", BROKEN)
def test_printed_proofs_break_where_they_are_wrong(name: str) -> None:
    found, (step, model) = verdict(name), BROKEN[name]
    assert found.status is Status.BROKEN and found.witness["step"] == step
    assert {symbol: found.witness[symbol] for symbol in model} == model


def test_every_corrected_bound_has_a_proof() -> None:
    corrected = {s.id for s in catalogue.statements("fedbat") if s.corrects and isinstance(s.claim, Bound)}
    assert corrected <= {f"fedbat.{name}" for name in PROVED}


def test_42_is_repaired_and_not_changed() -> None:
    assert set(REPAIRS) == {"eq42"} and "fedbat.eq38" not in verdict("eq42 repaired").uses
    assert not catalogue.corrected_by("fedbat.eq42")
    assert verdict("eq42").status is Status.BROKEN and verdict("eq42 repaired").status is Status.PROVED


@pytest.mark.parametrize("name", ["eq78", "eq79", "eq80", "eq82", "lemma7", "eq70"])
def test_smooth_from_above_is_not_enough(name: str) -> None:
    """(78) breaks under the printed Assumption 1; what follows from it is proved from it only."""
    assert verdict(f"{name}.corrected").status is Status.PROVED
    printed = replace(find(f"{name}.corrected"), assumes=find(name).assumes)
    found = verdict(f"{name}.corrected", printed)
    assert (found.status is Status.BROKEN and "smooth" in found.says) or name == "lemma7"
    for id_ in verdict(name).uses:
        assert not id_.endswith(".corrected")


def test_the_counter_models_by_hand() -> None:
    """gamma = max{8 L/mu, tau} - 1 = 9, mu = 1, and a round of 10 steps."""
    rates = [Rational(2, 9 + step) for step in range(12)]
    assert rates[0] > 2 * rates[10] and rates[1] <= 2 * rates[11]
    # with gamma larger by one it holds from the start, and within a round it did before
    assert Rational(2, 10) <= 2 * Rational(2, 20) and rates[0] <= 2 * rates[9]


# --- What a proof rests on -------------------------------------------------------------------------------------------


def test_premises_are_recorded() -> None:
    premises = verdict("eq50.corrected").premises
    assert Premise("claim", "fedbat.eq47.corrected") in premises
    assert Premise("property", "unbiased binarisation") in premises
    assert Premise("property", "compressors independent across clients") in premises
    assert Premise("algorithm", "fedbat.c1.update") in premises and Premise("definition", "fedbat.c1.t0") in premises
    assert any(one.kind == "condition" and "eta_t <= eta_start" in one.name for one in premises)


PRINTED_WRONG = {"lemma2", "lemma3", "lemma4", "lemma6", "eq44", "eq46", "eq47", "eq48", "eq50", "eq62", "eq64",
                 "eq38", "eq41", "eq70", "eq71", "eq72", "eq73", "eq78", "eq79", "eq80", "eq82", "lemma7"}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in PROVED if find(name).corrects])
def test_no_corrected_statement_rests_on_a_printed_one_that_is_wrong(name: str) -> None:
    assert not {f"fedbat.{wrong}" for wrong in PRINTED_WRONG} & set(verdict(name).uses)


# --- Every premise is read -------------------------------------------------------------------------------------------


def sharpened(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """One term of a bound larger in size, and smaller."""
    claim = statement.claim
    if isinstance(claim, Bound):
        for term in claim.terms:
            for factor in (Rational(101, 100), Rational(99, 100)):
                yield term.name, statement.with_claim(claim.scaled(factor, term.name))


# What is let go of whatever its size, and what is used by another line than the first
DROPPED = {
    ("eq70", "lemma7"): {"local_gradients"},
    ("eq70.corrected", "lemma7.corrected"): {"local_gradients"},
    ("eq48.corrected", "eq46.corrected"): {"gradients"},
}


def with_other(monkeypatch: pytest.MonkeyPatch, *changed: Statement) -> None:
    """The catalogue with these statements in the place of its own."""
    real, others = catalogue.find, {one.id: one for one in changed}
    monkeypatch.setattr(catalogue, "find", lambda id_: others.get(id_) or real(id_))


@pytest.mark.parametrize("name", PROVED)
def test_a_changed_premise_breaks_what_uses_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth more of any term, or less where it enters with a minus sign."""
    statement = find(name)
    for used in verdict(name).uses:
        source, seen = catalogue.find(used), set()
        for term, changed in sharpened(source):
            with monkeypatch.context() as patch:
                with_other(patch, changed)
                if term not in seen and verdict(name, statement).status is Status.BROKEN:
                    seen.add(term)
        if isinstance(source.claim, Bound):
            unread = {t.name for t in source.claim.terms} - seen
            assert unread == DROPPED.get((name, used.removeprefix("fedbat.")), set()), used


@pytest.mark.parametrize(
    ("name", "used", "step"),
    [
        ("lemma1", "eq42", "the claim: coefficient of Delta_t"),
        ("lemma3.corrected", "eq46.corrected", "the claim: coefficient of G**2"),
        ("eq25.corrected", "lemma2.corrected", "the claim: coefficient of sigma**2"),
        ("eq64.corrected", "eq63", "the claim: coefficient of G**2"),
        ("thm1.corrected", "eq25.corrected", "the recursion"),
        ("thm2.from_start", "eq57.corrected", "the recursion"),
        ("eq30", "eq29", "the claim: coefficient of B"),
        ("eq72.corrected", "eq71.corrected", "the last state has the weight 1"),
        ("thm3.corrected", "eq72.corrected", "the claim: coefficient of f_gap"),
        ("eq82", "eq81", "the claim: coefficient of gbar_sq"),
    ],
)
def test_it_breaks_at_the_step_that_uses_it(name: str, used: str, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = find(used)
    assert isinstance(source.claim, Bound)
    with_other(monkeypatch, source.with_claim(source.claim.scaled(Rational(101, 100), source.claim.terms[0].name)))
    assert verdict(name, find(name)).witness["step"] == step


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("eq34", "eq33"), ("eq38.corrected", "eq33"), ("eq40", "eq33"), ("eq38.corrected", "eq36"),
        ("eq38.corrected", "eq37"), ("eq75", "eq74"), ("eq80", "eq76"), ("eq41.corrected", "eq40"), ("eq30", "eq27"),
    ],
)  # fmt: skip
def test_a_changed_line_breaks_what_uses_it(name: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, or half, the larger side of its last relation."""
    source = find(used)
    assert isinstance(source.claim, Relations)
    *others, last = source.claim.relations
    factor = Rational(1, 2) if used == "eq37" else Rational(2)  # (37) has a minus sign before what is used
    changed = (
        last.func(last.lhs, factor * last.rhs) if isinstance(last, sympy.Le) else last.func(last.lhs, 2 * last.rhs)
    )
    with_other(monkeypatch, source.with_claim(Relations((*others, changed))))
    assert verdict(name, find(name)).status is Status.BROKEN


def test_a_line_in_between_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """(48) takes the third and fourth line of (46)."""
    source = find("eq46.corrected")
    (between,) = source.also
    assert isinstance(between, Relations)
    *others, last = between.relations
    assert isinstance(last, sympy.Le)
    half = replace(source, also=(Relations((*others, last.func(last.lhs, 2 * last.rhs))),))
    with_other(monkeypatch, half)
    assert verdict("eq48.corrected", find("eq48.corrected")).status is Status.BROKEN


# --- The learning rate and the recursion -----------------------------------------------------------------------------


OWN_RATE = ["thm1.corrected", "thm1.from_start", "thm2.corrected", "thm2.from_start"]


@pytest.mark.parametrize("name", OWN_RATE)
@pytest.mark.parametrize("change", ["numerator", "gamma"])
def test_the_learning_rate_is_the_statement_s_own(name: str, change: str) -> None:
    statement = find(name)
    where: dict[Any, Any] = dict(statement.where)
    if change == "numerator":
        where[eta_t] = where[eta_t] / 2
    else:
        where = {symbol: value.subs(Max(8 * L / mu, tau), Max(4 * L / mu, tau)) for symbol, value in where.items()}
    assert verdict(name, replace(statement, where=where)).status is not Status.PROVED


def test_the_choice_of_the_learning_rate() -> None:
    """From t = 1 on it halves in no less than a round; gamma no smaller by one."""
    statement = find("eq29.choice")
    assert verdict("eq29.choice").status is Status.PROVED
    where: dict[Any, Any] = {symbol: value.subs(t, t - 1) for symbol, value in statement.where.items()}
    assert verdict("eq29.choice", replace(statement, where=where)).status is not Status.PROVED


def test_the_end_of_the_run_ends_a_round() -> None:
    statement = find("thm1.corrected")
    changed = replace(statement, where={**statement.where, T: R * tau + 1})
    assert verdict("thm1.corrected", changed).witness["step"] == "the last step ends a round"


def test_a_step_of_another_learning_rate_is_refused() -> None:
    statement = find("thm3")
    changed = replace(statement, where={**statement.where, eta: 2 * statement.where[eta]})
    assert verdict("thm3", changed).witness["step"] == "fedbat.eq73: definition of eta"


def test_the_recursion_is_supposed_where_it_is_used() -> None:
    statement = find("eq30")
    without = replace(statement, assumes=tuple(a for a in statement.assumes if a != "fedbat.eq27.recursion"))
    assert verdict("eq30", without).witness["step"] == "fedbat.eq27.recursion"


# --- The theorems against their recursions ---------------------------------------------------------------------------


def some_problem(rng: np.random.Generator, partial: bool) -> dict[str, Any]:
    N, tau = int(rng.integers(2, 20)), int(rng.integers(1, 12))
    mu = float(rng.uniform(0.1, 2))
    given = {"N": N, "tau": tau, "mu": mu, "L": mu * float(rng.uniform(1, 5)), "Gamma": float(rng.uniform(0, 2))}
    given |= {symbol: float(rng.uniform(0, 3)) for symbol in ("sigma", "G", "q")}
    return given | ({"K": int(rng.integers(1, N + 1))} if partial else {"p_sq": float(rng.uniform(1 / N, 1))})


@pytest.mark.parametrize("theorem", ["thm1", "thm2"])
@pytest.mark.parametrize("begin", ["corrected", "from_start"])
def test_the_theorem_bounds_the_worst_of_its_recursion(theorem: str, begin: str) -> None:
    """Delta_{t+1} = (1 - eta_t mu) Delta_t + eta_t^2 B, step by step; from the minimum the bound is met in the end."""
    rng, line = np.random.default_rng(3), {"thm1": "eq26", "thm2": "eq58"}[theorem]
    for at_start in (0.0, 0.0, 0.0, *rng.uniform(0, 5, 12)):
        given = some_problem(rng, theorem == "thm2")
        symbols = [s.name for s in compiled(f"fedbat.{line}").parameters]
        B = evaluate(f"fedbat.{line}", **{n: v for n, v in given.items() if n in symbols}).value
        least = max(8 * given["L"] / given["mu"], given["tau"])
        g, first, symbol = (least, 0, "d0") if begin == "from_start" else (least - 1, 1, "dist0_sq")
        distance, seen = at_start, 0.0
        for step in range(first, 3000):
            rate = 2 / (given["mu"] * (g + step))
            distance = (1 - rate * given["mu"]) * distance + rate**2 * B
            if (step + 1) % 250 == 0:
                bound = evaluate(f"fedbat.{theorem}.{begin}", **given, T=step + 1, **{symbol: at_start}).value
                assert given["L"] / 2 * distance <= bound * (1 + 1e-12)
                seen = given["L"] / 2 * distance / bound
        assert at_start or seen > 0.9
