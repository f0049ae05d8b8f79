"""The lemmas of FedBAT and the lines of their proofs on exact instances: verdicts, witnesses by hand, sharpened claims."""

from __future__ import annotations

import numbers
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
import sympy
from sympy import Eq, Ge, Le, Rational

from fedtheory.bounds.fedbat.rounds import ROUNDS, cases, drawn, ends, evidence, fits, form_of, measured
from fedtheory.simulations.exact.enumerated import EnumeratedRun
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.symbols import G, eta, eta_later, eta_t, g_sq, gbar_sq, tau
from fedtheory.theory.statement import Bound, Condition, Relations, Statement, Status, Verdict, at_most

F = Fraction
IDS = [one.statement for one in evidence()]
FALSE = (
    "lemma2",
    "eq38",
    "eq41",
    "lemma4",
    "lemma6",
    "eq25",
    "eq50",
    "eq57",
    "eq62",
    "eq64",
    "eq71",
    "eq44",
    "eq46",
    "eq78",
    "eq79",
    "eq47",
)
HOLDING = [id_ for id_ in IDS if id_.removeprefix("fedbat.") not in FALSE]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbat.{name}")


@cache
def verdict(id_: str) -> Verdict:
    return ROUNDS.check(catalogue.find(id_))


def test_what_is_checked() -> None:
    """All forms of a statement, but not a choice of step sizes, nor whole runs."""
    assert {"fedbat.lemma1", "fedbat.lemma7", "fedbat.eq50", "fedbat.eq62"} <= set(IDS) and len(set(IDS)) == len(IDS)
    assert {form for id_ in IDS for form in catalogue.forms(id_)} - {"fedbat.eq72.corrected"} <= set(IDS)
    assert not {"fedbat.eq29.choice", "fedbat.thm1", "fedbat.eq72"} & set(IDS)
    assert all(one.kind == "search" and one.check == ROUNDS.check for one in evidence())


# --- Every check can fail ---------------------------------------------------------------------------------------------


def positive(statement: Statement) -> bool:
    """A bound by terms none of which is negative."""
    claim = statement.claim
    return (
        isinstance(claim, Bound)
        and claim.sign == "<="
        and not any(e.could_extract_minus_sign() for t in claim.terms for e in [t.value, *sympy.Add.make_args(t.value)])
    )


SHARP = [id_ for id_ in HOLDING if positive(catalogue.find(id_))]


@pytest.mark.slow
@pytest.mark.parametrize("id_", SHARP)
def test_the_slack_is_the_limit(id_: str) -> None:
    """A little less than the slack is a sharper claim that holds, on these instances; a little more is refuted."""
    statement, slack = replace(catalogue.find(id_), also=()), verdict(id_).slack
    assert isinstance(statement.claim, Bound) and slack is not None
    sharper = statement.with_claim(statement.claim.scaled(1 / Rational(f"{slack * 1.002:.6f}")))
    found = ROUNDS.check(sharper)
    assert found.status is Status.REFUTED
    by_hand(sharper, found)
    if slack > 1.01:
        gentler = statement.with_claim(statement.claim.scaled(1 / Rational(f"{slack * 0.99:.6f}")))
        assert all(case.balance.holds for run in some(id_, 1) for case in cases(run, form_of(gentler)[0]))


def test_there_are_claims_to_sharpen() -> None:
    assert {f"fedbat.{n}.corrected" for n in ("lemma2", "lemma3", "lemma4", "lemma6")} <= set(SHARP)


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("lemma1", "contraction"),
        ("eq25.corrected", "contraction"), ("eq57.corrected", "contraction"),
        ("lemma7", "divergence"), ("lemma7", "noise"), ("lemma7", "jump"), ("eq71.corrected", "jump"),
        ("eq75", "jump"), ("eq78", "divergence"), ("eq78", "noise"), ("eq82", "noise"),
    ],
)  # fmt: skip
def test_a_term_is_needed(name: str, term: str) -> None:
    """A tenth of it is too little."""
    statement = find(name)
    assert isinstance(statement.claim, Bound)
    found = ROUNDS.check(replace(statement, claim=statement.claim.scaled(Rational(1, 10), term), also=()))
    assert found.status is Status.REFUTED


@pytest.mark.parametrize(
    "name", ["eq24", "eq31", "eq32", "eq35", "eq39", "eq45", "eq56", "eq61", "eq63", "eq77", "eq81"]
)
def test_an_identity_is_told_from_one_that_is_not(name: str) -> None:
    """Each term a hundredth smaller."""
    statement = find(name)
    assert isinstance(statement.claim, Bound) and statement.claim.sign == "="
    for term in statement.claim.terms:
        changed = statement.with_claim(statement.claim.scaled(Rational(99, 100), term.name))
        assert ROUNDS.check(replace(changed, also=())).status is Status.REFUTED, term.name


# --- Witnesses --------------------------------------------------------------------------------------------------------


def parsed(text: str) -> Any:
    """A tuple of fractions as the witness tells it: one element stands in brackets without a comma."""
    text = text.strip()
    if not text.startswith("("):
        return Fraction(text)
    depth, parts, begun = 0, [], 1
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if (c == "," and depth == 1) or depth == 0:
            parts.append(parsed(text[begun:i]))
            begun = i + 1
            if depth == 0:
                break
    return tuple(parts)


def of_witness(w: Any) -> EnumeratedRun:
    """The run that a witness tells."""
    h, b, p, w0 = (parsed(w[name]) for name in ("h", "b", "p", "w_0"))
    told, steps = parsed(w["eta_0, eta_1 ..."]), w["steps"]
    rates = told if isinstance(told, tuple) else (told,) * (steps + w["tau"])
    nothing = tuple((F(0),) * len(w0) for _ in h)
    noise = (nothing, nothing)
    if "noise" in w:
        constant, slope = w["noise"].removeprefix("+-(").removesuffix(" w)").split(" + ")
        noise = (parsed(constant), parsed(slope))
    common = tuple(one for one in w.get("drawn by all clients together", "").split(", ") if one)
    return EnumeratedRun(
        h, b, p, w0, rates, w["tau"], steps, noise, w.get("K"), parsed(w["bend"]) if "bend" in w else (), common
    )


def exactly(value: Any) -> sympy.Expr:
    return (
        Rational(int(value.numerator), int(value.denominator))
        if isinstance(value, numbers.Rational)
        else sympy.sympify(value)
    )


def by_hand(statement: Statement, found: Verdict) -> None:
    """At the witness the conditions hold at every step, and the relation that it names does not, with sympy's numbers."""
    w = found.witness
    run = of_witness(w)
    rows, definitions = measured(run), dict(statement.where)
    sigma, G = ("x" if f"fedbat.assump{i}.corrected" in statement.assumes else "w" for i in (3, 4))
    curvatures = run.curvatures
    assert max(curvatures) <= 1 or not {"fedbat.assump1", "fedbat.assump1.corrected"} & {*statement.assumes}
    assert min(curvatures) >= -1 or "fedbat.assump1.corrected" not in statement.assumes
    symbols: dict[str, Any] = {
        "N": run.N, "K": run.N if run.K is None else run.K, "tau": run.tau, "L": 1, "mu": min(curvatures),
        "p_sq": sum(a * a for a in run.p), "q": sympy.sqrt(run.d - 1), "eta": run.rates[0],
        "G": sympy.sqrt(exactly(max(row[f"largest_{G}"] for row in rows))),
        "sigma": sympy.sqrt(exactly(max(row[f"noise_{sigma}_most"] for row in rows))),
    }  # fmt: skip

    def at(e: Any, t: int) -> Any:
        for _ in definitions:
            e = e.subs(definitions, simultaneous=True)
        values = {**symbols, **rows[t]}
        k = w["k"] - 1
        numbers = {s: values[s.name] for s in e.free_symbols}
        return e.subs({s: exactly(v[k] if isinstance(v, list) else v) for s, v in numbers.items()})

    for t in range(run.steps):
        for condition in statement.when:
            assert at(condition.relation, t) == sympy.true, condition
    named = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            named.append((f"{claim.quantity} {claim.sign} ...", claim.quantity, claim.value, claim.sign == "="))
        elif isinstance(claim, Relations):
            for r in claim.relations:
                small, large = (r.lhs, r.rhs) if isinstance(r, Eq) else (r.lts, r.gts)
                named.append((str(r), small, large, isinstance(r, Eq)))
    ((_, small, large, equality),) = (one for one in named if one[0] == w["relation"])
    left, right = at(small, w["t"]), at(large, w["t"])
    assert left - right == exactly(F(w["left"]) - F(w["right"]))
    assert left != right if equality else left > right


@pytest.mark.parametrize("name", FALSE)
def test_witnesses_by_hand(name: str) -> None:
    by_hand(find(name), verdict(f"fedbat.{name}"))


# --- Conditions, settings, determinism -------------------------------------------------------------------------------


def some(id_: str, every: int = 11) -> list[EnumeratedRun]:
    to = form_of(catalogue.find(id_))[0]
    return list(ROUNDS.family(to, False))[::every]


@pytest.mark.parametrize("id_", IDS)
def test_instances_are_within_the_conditions(id_: str) -> None:
    statement = catalogue.find(id_)
    to, count = form_of(statement)[0], 0
    definitions = dict(statement.where)
    for run in some(id_):
        assert fits(run, to)
        curvatures = run.curvatures
        least, most = to.bends
        assert least <= min(curvatures) and max(curvatures) <= most and sum(run.p) == 1 and min(run.p) > 0
        if "fedbat.assump2" in statement.assumes:
            assert min(curvatures) > 0
        if to.appendix != "C":
            assert len(set(run.p)) == 1
        assert (run.K is None) is (to.appendix == "C" or (to.appendix == "E" and run.N == 1))
        assert to.appendix != "E" or len(set(run.rates)) == 1
        if not any(True for _ in cases(run, to)):
            continue
        count += 1
        for row in measured(run):
            symbols = {**row, "N": run.N, "K": run.K or run.N, "tau": run.tau, "L": to.factors.get("L", 1),
                "mu": min(curvatures)}  # fmt: skip
            symbols |= {"p_sq": sum(a * a for a in run.p), "eta": run.rates[0]}
            for condition in statement.when:
                relation = condition.relation.subs(definitions)
                at = relation.subs({s: exactly(symbols[s.name]) for s in relation.free_symbols})
                assert at == sympy.true, (run, condition)
    assert count >= 3


def within(name: str, *relations: Any) -> Statement:
    statement = find(name)
    return replace(statement, when=(*statement.when, *map(Condition, relations)), also=())


def test_outside_the_conditions_nothing_is_compared() -> None:
    to = form_of(find("lemma1"))[0]
    run = next(r for r in drawn("C", True, False, 120) if list(cases(r, to)))
    fast = replace(run, rates=(F(1, 2),) * len(run.rates))  # eta <= 1/(4 L)
    assert list(cases(fast, to)) == []
    # at a single step is enough
    assert list(cases(replace(run, rates=(F(1, 8),) * (run.steps - 1) + fast.rates), to)) == []
    slow = form_of(find("lemma3"))[0]
    falls = replace(run, rates=tuple(F(1, 4 ** (1 + t)) for t in range(len(run.rates))))
    assert list(cases(run, slow)) and list(cases(falls, slow)) == []  # eta_t <= 2 eta_{t+tau}


def test_settings() -> None:
    C, D, E = (next(iter(drawn(a, s, True, 120))) for a, s in (("C", True), ("D", True), ("E", False)))
    lemma1, lemma6, lemma7 = (form_of(find(n))[0] for n in ("lemma1", "lemma6", "lemma7"))
    assert [to.appendix for to in (lemma1, lemma6, lemma7)] == ["C", "D", "E"]
    assert fits(C, lemma1) and fits(D, lemma6) and fits(E, lemma7)
    assert not fits(D, lemma1) and not fits(replace(D, K=None), lemma6)
    assert not fits(replace(D, p=(F(1, 3), F(2, 3)) if D.N == 2 else (F(1, 2), F(1, 4), F(1, 4))), lemma6)
    assert not fits(replace(C, h=tuple(tuple(-v for v in row) for row in C.h)), lemma1)
    assert not fits(replace(E, h=tuple(tuple(2 for _ in row) for row in E.h)), lemma7)
    assert not fits(replace(E, rates=(F(1), *E.rates[1:], F(1, 2))), lemma7)


@pytest.mark.parametrize(
    ("name", "assumed", "common"),
    [("lemma2", "fedbat.assump3.independent", "noise"), ("lemma4", "fedbat.assump5.corrected", "binarisation")],
)
def test_what_is_not_assumed_is_violated(name: str, assumed: str, common: str) -> None:
    """Clients draw together unless the statement excludes it; G and sigma are those at x_t^k if it says so."""
    statement = replace(find(f"{name}.corrected"), also=())
    assert ROUNDS.check(statement).status is Status.TESTED
    other = tuple(a for a in statement.assumes if a != assumed)
    found = ROUNDS.check(replace(statement, assumes=(*other, "fedbat.assump5") if common == "binarisation" else other))
    assert found.status is Status.REFUTED and common in found.witness["drawn by all clients together"]
    together = next(run for run in ends("C") if run.common == (common,))
    assert not fits(together, form_of(statement)[0]) and fits(replace(together, common=()), form_of(statement)[0])


def test_conditions_that_cannot_be_met() -> None:
    assert ROUNDS.check(within("lemma3.corrected", tau >= 100)).status is Status.OPEN
    assert ROUNDS.check(within("lemma3.corrected", eta_later <= eta_t)).status is Status.TESTED


# --- Relations of every kind -----------------------------------------------------------------------------------------


def test_relations_of_every_kind() -> None:
    statement = find("eq81")

    def status(*relations: Any) -> Status:
        return ROUNDS.check(statement.with_claim(Relations(relations))).status

    assert status(Le(gbar_sq, g_sq)) is Status.TESTED and status(Ge(g_sq, gbar_sq)) is Status.TESTED
    assert status(Ge(gbar_sq, g_sq)) is Status.REFUTED and status(Eq(g_sq, gbar_sq)) is Status.REFUTED
    assert status(Le(gbar_sq, g_sq), Le(2 * g_sq, g_sq, evaluate=False)) is Status.REFUTED
    assert status(Le(gbar_sq, G**2)) is Status.REFUTED  # at w_t^k, and no more than that
    corrected = replace(statement, assumes=("fedbat.assump4.corrected",))
    assert ROUNDS.check(corrected.with_claim(Relations((Le(gbar_sq, G**2),)))).status is Status.TESTED


def test_what_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="expected a statement of Appendix"):
        ROUNDS.check(find("thm1"))
    with pytest.raises(ValueError, match="expected Bound or Relations"):
        ROUNDS.check(find("lemma1").with_claim(find("alg1").claim))
    with pytest.raises(ValueError, match="even powers"):
        form_of(find("lemma1").with_claim(at_most(g_sq, other=G * eta)))[0]
