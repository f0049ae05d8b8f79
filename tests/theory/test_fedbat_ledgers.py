"""The FedBAT ledgers: what they prove, where the printed proofs break, and that they read every premise and conclusion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Max, Rational, sqrt

from bounds import evaluate
from bounds.evaluate import compiled
from theory import catalogue
from theory.fedbat.ledgers import LEDGERS, REPAIRS, claimed, of_line
from theory.fedbat.paper import F_k, F_k_star, L, T, eta, eta_t, gamma, local_gap, mu, t, tau, x_k
from theory.notation import Value
from theory.proofs.ledger import Proof
from theory.proofs.mutation import mutations
from theory.statement import Bound, Relations, Statement, Status, Verdict

# The step at which a printed proof breaks, and a part of the counter-model
BROKEN: dict[str, tuple[str, dict[str, str]]] = {
    # eta_0 = 2/(9 mu) is more than twice eta_10 = 2/(19 mu); Lemma 3 asks for all t >= 0, the choice gives t >= 1
    "thm1": ("fedbat.lemma3: condition eta_t <= 2*eta_later", {"t": "0", "tau": "10", "max{8L/mu,tau}": "10"}),
    "thm2": ("fedbat.lemma3: condition eta_t <= 2*eta_later", {"t": "0", "tau": "10", "max{8L/mu,tau}": "10"}),
    # tau stands before C, which has star_gap with a minus sign
    "eq38": ("(38): coefficient of star_gap", {"tau": "2"}),
    "eq42": ("(42): coefficient of Gamma", {"tau": "2"}),
    # Lemma 6 has no factor 2: the learning rate would have to be constant
    "eq57": ("fedbat.lemma6: condition eta_t <= eta_later", {"eta_t": "1/4", "eta_later": "1/6"}),
}
PROOFS = {**LEDGERS, **{f"{name} repaired": one for name, one in REPAIRS.items()}}
PROVED = [name for name in PROOFS if name not in BROKEN]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbat.{name.removesuffix(' repaired')}")


def verdict(name: str, statement: Statement | None = None) -> Verdict:
    return PROOFS[name].ledger(statement or find(name)).verdict()


@pytest.mark.parametrize("name", BROKEN)
def test_printed_proofs_break_where_they_are_wrong(name: str) -> None:
    found, (step, model) = verdict(name), BROKEN[name]
    assert found.status is Status.BROKEN and found.witness["step"] == step
    assert {letter: found.witness[letter] for letter in model} == model


@pytest.mark.parametrize("name", PROVED)
def test_the_others_go_through_without_room(name: str) -> None:
    """No constant could be any smaller by its own derivation."""
    found = verdict(name)
    assert found.status is Status.PROVED and found.slack in (None, 1)


def test_every_corrected_bound_has_a_proof() -> None:
    corrected = {s.id for s in catalogue.statements("fedbat") if s.corrects and isinstance(s.claim, Bound)}
    assert corrected <= {f"fedbat.{name}" for name in PROVED}


def test_42_is_repaired_and_not_changed() -> None:
    assert set(REPAIRS) == {"eq42"} and "fedbat.eq38" not in REPAIRS["eq42"].uses
    assert not catalogue.corrected_by("fedbat.eq42")
    assert verdict("eq42").status is Status.BROKEN and verdict("eq42 repaired").status is Status.PROVED


def test_the_counter_models_by_hand() -> None:
    """gamma = max{8 L/mu, tau} - 1 = 9, mu = 1, and a round of 10 steps."""
    rates = [Rational(2, 9 + step) for step in range(12)]
    assert rates[0] > 2 * rates[10] and rates[1] <= 2 * rates[11]
    # with gamma larger by one it holds from the start, and within a round it did before
    assert Rational(2, 10) <= 2 * Rational(2, 20) and rates[0] <= 2 * rates[9]


# --- Every premise is read --------------------------------------------------------------------------------------------


def sharpened(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """One term of a bound larger in size, and smaller."""
    claim = statement.claim
    if isinstance(claim, Bound):
        for term in claim.terms:
            for factor in (Rational(101, 100), Rational(99, 100)):
                yield term.name, statement.with_claim(claim.scaled(factor, term.name))


USES = [(name, used) for name in PROVED for used in PROOFS[name].uses if isinstance(find(used).claim, Bound)]
# What is let go of whatever its size
DROPPED = {("eq70", "lemma7", "local_gradients")}


def with_other(monkeypatch: pytest.MonkeyPatch, *changed: Statement) -> None:
    """The catalogue with these statements in the place of its own."""
    real, others = catalogue.find, {one.id: one for one in changed}
    monkeypatch.setattr(catalogue, "find", lambda id_: others.get(id_) or real(id_))


@pytest.mark.parametrize(("name", "used"), USES, ids=[f"{name} from {used}" for name, used in USES])
def test_a_changed_premise_breaks_what_uses_it(name: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth more of any term, or less where it enters with a minus sign."""
    statement, source, seen = find(name), find(used), set()
    for term, changed in sharpened(source):
        if term in seen:
            continue
        with monkeypatch.context() as patch:
            with_other(patch, changed)
            if PROOFS[name].ledger(statement).verdict().status is Status.BROKEN:
                seen.add(term)
    assert isinstance(source.claim, Bound)
    assert {t.name for t in source.claim.terms} - seen == {t for n, u, t in DROPPED if (n, u) == (name, used)}


@pytest.mark.parametrize(
    ("name", "used", "step"),
    [
        ("lemma1", "eq42", "in all: coefficient of Delta_t"),
        ("lemma3.corrected", "eq46.corrected", "in all: coefficient of G**2"),
        ("eq25.corrected", "lemma2.corrected", "in all: coefficient of sigma**2"),
        ("eq46.corrected", "eq47.corrected", "no further from their mean than from wbar_{t0}: coefficient of G**2"),
        ("eq64.corrected", "eq63", "no further from their mean than from wbar_{t0}: coefficient of G**2"),
        ("thm1.corrected", "eq25.corrected", "(27) begins with the recursion"),
        ("thm2.from_start", "eq57.corrected", "induction"),
        ("eq30", "eq29", "(28) with (29): coefficient of B"),
        ("eq72.corrected", "eq71.corrected", "(72): coefficient of F_bar"),
        ("thm3.corrected", "eq72.corrected", "(73): coefficient of f_gap"),
        ("eq82", "eq81", "(82)"),
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
        ("eq38.corrected", "eq37"), ("eq75", "eq74"), ("eq80", "eq76"), ("eq41", "eq40"),
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


def test_a_line_in_letters_of_sums() -> None:
    """(33) summed over the clients; what has no letter is refused."""
    assert of_line("eq33", {Value(F_k, x_k): local_gap, F_k_star: sympy.Integer(0)}) == 2 * L * local_gap
    with pytest.raises(ValueError, match="eq33"):
        of_line("eq33", {F_k_star: sympy.Integer(0)})


# --- Every conclusion is decided --------------------------------------------------------------------------------------


def terms() -> list[tuple[str, str]]:
    found = []
    for name in PROVED:
        claim = find(name).claim
        found += [(name, t.name) for t in claim.terms] if isinstance(claim, Bound) else []
    return found


@pytest.mark.parametrize(("name", "term"), terms())
def test_every_constant_is_needed(name: str, term: str) -> None:
    """A hundredth less of a term is too little; a hundredth more of one with a minus sign, too much; neither of equals."""
    statement = find(name)
    claim = statement.claim
    assert isinstance(claim, Bound)
    less, more = Rational(99, 100), Rational(101, 100)
    (value,) = (t.value for t in claim.terms if t.name == term)
    for factor in (less, more) if claim.sign == "=" else (more if value.could_extract_minus_sign() else less,):
        assert verdict(name, statement.with_claim(claim.scaled(factor, term))).status is Status.BROKEN


@pytest.mark.parametrize("name", PROVED)
def test_every_ledger_can_fail(name: str) -> None:
    statement = find(name)
    assert any(verdict(name, changed).status is Status.BROKEN for _, changed in mutations(statement))


@pytest.mark.parametrize("name", ["eq36", "eq39", "eq40"])
def test_an_inequality_turned_round_is_noticed(name: str) -> None:
    turned = [(what, changed) for what, changed in mutations(find(name)) if what.endswith("turned round")]
    if name == "eq39":
        turned = [(what, changed) for what, changed in turned if "relation 3" in what or "relation 4" in what]
    assert turned and all(verdict(name, changed).status is Status.BROKEN for _, changed in turned)


CONDITIONS = [
    ("lemma1", "eta_t <= 1/(4*L)"), ("eq25.corrected", "eta_start <= 2*eta_t"), ("eq41", "eta_t <= 1/(4*L)"),
    ("eq42 repaired", "eta_t <= 1/(4*L)"), ("eq46.corrected", "eta_t <= eta_start"),
    ("eq48.corrected", "eta_t <= eta_start"),
    ("eq50.corrected", "eta_t <= eta_start"), ("eq62.corrected", "eta_t <= eta_start"),
    ("eq64.corrected", "eta_t <= eta_start"), ("lemma5", "K <= N"), ("eq63", "K <= N"), ("eq63", "N >= 2"),
    ("thm1.corrected", "mu <= L"), ("thm1.from_start", "mu <= L"), ("eq71.corrected", "eta <= 1/L"),
    ("eq72.corrected", "eta <= 1/L"), ("thm3.corrected", "K <= N"), ("eq28", "Delta_t <= v/(gamma + t)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "condition"), CONDITIONS)
def test_a_condition_is_needed(name: str, condition: str) -> None:
    statement = find(name)
    when = tuple(c for c in statement.when if str(c.relation) != condition)
    assert len(when) == len(statement.when) - 1
    assert verdict(name, replace(statement, when=when)).status is Status.BROKEN


OWN_RATE = ["thm1.corrected", "thm1.from_start", "thm2.corrected", "thm2.from_start"]


@pytest.mark.parametrize("name", OWN_RATE)
@pytest.mark.parametrize("change", ["numerator", "gamma"])
def test_the_learning_rate_is_the_statement_s_own(name: str, change: str) -> None:
    statement = find(name)
    where: dict[Any, Any] = dict(statement.where)
    if change == "numerator":
        where[eta_t] = where[eta_t] / 2
    else:
        where = {letter: value.subs(Max(8 * L / mu, tau), Max(4 * L / mu, tau)) for letter, value in where.items()}
    assert verdict(name, replace(statement, where=where)).witness["step"] == "the learning rate"


def test_the_learning_rate_of_theorem_3_is_its_own() -> None:
    for factor in (2, Rational(1, 2)):
        statement = find("thm3.corrected")
        changed = replace(statement, where={**statement.where, eta: factor / (L * sqrt(T))})
        assert verdict("thm3.corrected", changed).status is not Status.PROVED


def test_the_choice_of_the_learning_rate() -> None:
    """From t = 1 on it halves in no less than a round; t >= 1 is needed, and gamma no smaller by one."""
    statement = find("eq29.choice")
    assert verdict("eq29.choice").status is Status.PROVED
    without = replace(statement, when=tuple(c for c in statement.when if str(c.relation) != "t >= 1"))
    assert len(without.when) == len(statement.when) - 1
    assert verdict("eq29.choice", without).status is Status.BROKEN
    where: dict[Any, Any] = {letter: value.subs(t, t - 1) for letter, value in statement.where.items()}
    assert verdict("eq29.choice", replace(statement, where=where)).status is not Status.PROVED


def test_proofs_use_what_they_say() -> None:
    """No proof uses the printed form of what is corrected, where it proves something corrected."""
    for name, one in PROOFS.items():
        assert isinstance(one, Proof) and len(set(one.uses)) == len(one.uses)
        assert find(name).id not in {f"fedbat.{used}" for used in one.uses}
        if find(name).corrects:
            printed_wrong = {
                "lemma2",
                "lemma3",
                "lemma4",
                "lemma6",
                "eq44",
                "eq46",
                "eq47",
                "eq48",
                "eq50",
                "eq62",
                "eq64",
            }
            assert not printed_wrong & set(one.uses), name


# --- The theorems against their recursions ---------------------------------------------------------------------------


def some_problem(rng: np.random.Generator, partial: bool) -> dict[str, Any]:
    N, tau = int(rng.integers(2, 20)), int(rng.integers(1, 12))
    mu = float(rng.uniform(0.1, 2))
    given = {"N": N, "tau": tau, "mu": mu, "L": mu * float(rng.uniform(1, 5)), "Gamma": float(rng.uniform(0, 2))}
    given |= {letter: float(rng.uniform(0, 3)) for letter in ("sigma", "G", "q")}
    return given | ({"K": int(rng.integers(1, N + 1))} if partial else {"p_sq": float(rng.uniform(1 / N, 1))})


@pytest.mark.parametrize("theorem", ["thm1", "thm2"])
@pytest.mark.parametrize("begin", ["corrected", "from_start"])
def test_the_theorem_bounds_the_worst_of_its_recursion(theorem: str, begin: str) -> None:
    """Delta_{t+1} = (1 - eta_t mu) Delta_t + eta_t^2 B, step by step; from the minimum the bound is met in the end."""
    rng, line = np.random.default_rng(3), {"thm1": "eq26", "thm2": "eq58"}[theorem]
    for at_start in (0.0, 0.0, 0.0, *rng.uniform(0, 5, 12)):
        given = some_problem(rng, theorem == "thm2")
        letters = [s.name for s in compiled(f"fedbat.{line}").parameters]
        B = evaluate(f"fedbat.{line}", **{n: v for n, v in given.items() if n in letters}).value
        least = max(8 * given["L"] / given["mu"], given["tau"])
        g, first, letter = (least, 0, "d0") if begin == "from_start" else (least - 1, 1, "dist0_sq")
        distance, seen = at_start, 0.0
        for step in range(first, 3000):
            rate = 2 / (given["mu"] * (g + step))
            distance = (1 - rate * given["mu"]) * distance + rate**2 * B
            if (step + 1) % 250 == 0:
                bound = evaluate(f"fedbat.{theorem}.{begin}", **given, T=step + 1, **{letter: at_start}).value
                assert given["L"] / 2 * distance <= bound * (1 + 1e-12)
                seen = given["L"] / 2 * distance / bound
        assert at_start or seen > 0.9


def test_what_a_premise_claims_has_its_definitions_put_in() -> None:
    assert not claimed("eq34").value.has(gamma) and claimed("eq39").value.free_symbols == {
        L, eta_t, *find("def.Gamma").claim.relations[0].lhs.free_symbols,  # type: ignore[union-attr]
        catalogue.symbols(find("eq39"))["global_gap"].sympy,
    }  # fmt: skip
