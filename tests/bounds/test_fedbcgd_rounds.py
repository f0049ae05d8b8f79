"""One round of FedBCGD and FedBCGD+ on exact instances: every verdict, witnesses by hand, sharpened claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import pytest
import sympy
from sympy import Eq, Ge, Le, Rational, sqrt

from fedtheory.bounds.fedbcgd.rounds import (
    EITHER,
    FEDBCGD,
    FEDBCGD_PLUS,
    READINGS,
    ROUNDS,
    SAMPLING,
    Instance,
    begins,
    cases,
    evidence,
    expected,
    family,
    form_of,
    instances,
)
from fedtheory.bounds.fedbcgd.runs import BlockRound, advanced, block_round, constants
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.symbols import (
    G_mean_sq,
    G_sq,
    K,
    M,
    T,
    beta,
    eta,
    fedbcgd,
    gap,
    grad_sq_x,
    lam,
    mean_grad_sq,
    mu,
    v_next_sq,
    v_sq,
)
from fedtheory.theory.readings import additions, judge
from fedtheory.theory.statement import Bound, Condition, Evidence, Relations, Statement, Status, Verdict, at_most

IDS = [one.statement for one in evidence()]
# What fails, and what of it is saved by lam = 0, with which z = x
FALSE = {
    "lemma17", "lemma4", "lemma4.part1", "thm1.step46", "thm1.step49", "thm1.step50", "thm1.step61",
    "lemma11", "lemma13", "lemma14", "lemma15", "lemma16", "lemma18",
}  # fmt: skip
SAVED = {"thm1.step49", "thm1.step50", "lemma13", "lemma14", "lemma15", "lemma16", "lemma18"}
HOLDING = [id_ for id_ in IDS if id_.removeprefix("fedbcgd.") not in FALSE]


def z_of(r: BlockRound) -> Fraction:
    """The auxiliary iterate, in one coordinate."""
    return r.x[0] + r.gamma * r.v[0]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbcgd.{name}")


def read(name: str) -> Statement:
    """The statement with what charity reads into it."""
    statement = find(name)
    return replace(statement, assumes=(*statement.assumes, *additions(statement)))


@cache
def verdict(id_: str) -> Verdict:
    return ROUNDS.check(read(id_.removeprefix("fedbcgd.")))


def within(name: str, *relations: Any) -> Statement:
    """The statement, read with charity, under further conditions, and without further claims."""
    statement = read(name)
    return replace(statement, when=(*statement.when, *map(Condition, relations)), also=())


def evidence_for(id_: str) -> Evidence:
    (one,) = (one for one in evidence() if one.statement == id_)
    return one


def test_what_is_checked() -> None:
    names = (*SAMPLING, *FEDBCGD, *FEDBCGD_PLUS, *EITHER)
    assert len(set(IDS)) == len(IDS) == len(HOLDING) + len(FALSE)
    assert {f"fedbcgd.{name}" for name in names} - set(IDS) == {"fedbcgd.thm1.step59"}
    for one in evidence():
        assert one.kind == ("enumeration" if one.statement.startswith("fedbcgd.lemma4") else "search")
        corrects = catalogue.find(one.statement).corrects
        assert not corrects or corrects in {f"fedbcgd.{name}" for name in names}
    # Whatever corrects one of them is checked as well
    corrected = {id_ for name in names for id_ in catalogue.corrected_by(f"fedbcgd.{name}")}
    assert corrected - set(IDS) == {"fedbcgd.thm1.step59.momentum"}  # a sum over all rounds


def test_readings_are_of_symbols_and_quantities() -> None:
    known = block_round(next(iter(family(form_of(find("lemma17.proof"))[0], False))))
    for name, reading in READINGS.items():
        symbols = {s.name for c in form_of(find(name)) for s in fedbcgd.symbols.values() if s.name in c.symbols}
        assert set(reading) <= symbols and set(reading.values()) <= set(known)


@pytest.mark.slow
@pytest.mark.parametrize("id_", HOLDING)
def test_sharper_than_the_slack_is_false(id_: str) -> None:
    """Bounds with positive terms only."""
    statement, slack = catalogue.find(id_), verdict(id_).slack
    assert slack is not None
    if not isinstance(statement.claim, Bound) or any(t.value.as_coeff_Mul()[0] < 0 for t in statement.claim.terms):
        return
    sharper = statement.with_claim(statement.claim.scaled(1 / Rational(f"{slack * 1.002:.6f}")))
    found = ROUNDS.check(sharper)
    assert found.status is Status.REFUTED
    by_hand(sharper, found)


@pytest.mark.parametrize("name", sorted(FALSE - {"lemma4", "lemma4.part1", "thm1.step61"}))
def test_without_momentum(name: str) -> None:
    """Where z^r is x^r, most hold; others fail where the step is large, which they allow, or by a factor 1/M."""
    statement = within(name, Le(lam, 0))
    given = {*statement.assumes, "fedbcgd.assumption3", "fedbcgd.assumption5"}  # their proofs use these, too
    found = ROUNDS.check(replace(statement, assumes=tuple(given)))
    assert found.status is (Status.TESTED if name in SAVED else Status.REFUTED)


# --- Witnesses -------------------------------------------------------------------------------------------------------


def of_witness(w: Any) -> BlockRound:
    def vector(entry: Any) -> tuple[Fraction, ...]:
        return tuple(map(Fraction, entry if isinstance(entry, list) else [entry]))

    H = tuple(tuple(map(vector, h)) if isinstance(h, list) else (vector(h),) for h in w["H"])
    b, points = (tuple(map(vector, w.get(name, ()))) for name in ("b", "points"))
    sigma_sq, beta, eta, lam = (Fraction(w[name]) for name in ("sigma^2", "beta", "eta", "lam"))
    bend = vector(w.get("bend", []))
    return BlockRound(
        H, b, beta, vector(w["x"]), vector(w["v"]), points, sigma_sq, w["N"], w["K"], w["T"], eta, lam, bend
    )


def after(r: BlockRound, rounds: int) -> list[BlockRound]:
    """The states so many rounds later, one for each choice of samples: v <- lam v - eta G, x <- x + v, in one coordinate."""
    states = [r]
    for _ in range(rounds):
        states = [later for state in states for later in moved(state)]
    return states


def moved(r: BlockRound) -> list[BlockRound]:
    assert r.d == 1 and (r.points or not r.sigma_sq)
    (x,), (v,) = r.x, r.v

    def slope(i: int, y: Fraction) -> Fraction:
        return r.H[i][0][0] * y + r.b[i][0] + (r.bend[i] * max(y, Fraction(0)) if r.bend else 0)

    controls = [slope(i, a) for i, (a,) in enumerate(r.points)]
    ends = []
    for i in range(r.M):
        y = x
        for _ in range(r.T):
            y = y - r.eta * (slope(i, y) + (sum(controls, Fraction(0)) / r.M - controls[i] if controls else 0))
        ends.append(y)
    found = []
    for group in combinations(range(r.M), r.K):
        v_next = r.lam * v + sum((ends[i] - x for i in group), Fraction(0)) / r.K
        points = tuple((x,) if i in group else a for i, a in enumerate(r.points))
        found.append(replace(r, x=(x + v_next,), v=(v_next,), points=points))
    likely = Counter(found)
    assert advanced(r) == {state: Fraction(count, len(found)) for state, count in likely.items()}
    return found


def by_hand(statement: Statement, found: Verdict) -> None:
    """The conditions hold at the witness and the claim does not, with sympy's numbers."""
    w = found.witness
    start = of_witness(w)
    assert statement.ours or not any(start.v)  # v^0 = 0
    states = after(start, w.get("round", 0))
    rows = [block_round(r) for r in states]
    values: dict[str, Any] = constants(start) | {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    reading = READINGS.get(statement.id.removeprefix("fedbcgd."), {})
    values |= {symbol: values[name] for symbol, name in reading.items()}
    numbers = {name: Rational(value.numerator, value.denominator) for name, value in values.items()}
    numbers |= {"sigma": sqrt(numbers["sigma_sq"]), "G": sqrt(numbers.get("G_squared", 0))}
    numbers |= {"a": Rational(w["a"])} if "a" in w else {}

    def fully(e: sympy.Basic) -> Any:
        e = e.xreplace(dict(statement.where))
        return e.subs({s: numbers[s.name] for s in e.free_symbols})

    assert all(fully(c.relation) == sympy.true for c in statement.when)
    assert isinstance(statement.claim, Bound)
    left, right = fully(statement.claim.quantity), fully(statement.claim.value)
    for number, told in ((left, w["left"]), (right, w["right"])):
        assert str(number) == told or float(number) == pytest.approx(float(told.split()[0]), rel=1e-10)
    assert left != right if statement.claim.sign == "=" else left > right


@pytest.mark.parametrize("name", sorted(FALSE - {"lemma4"}))
def test_witnesses_by_hand(name: str) -> None:
    by_hand(find(name), verdict(f"fedbcgd.{name}"))


@pytest.mark.parametrize("name", ["lemma4", "lemma4.part1"])
def test_two_opposite_gradients(name: str) -> None:
    """f_i = +-y at 0: the mean of one of two has square 1, that of both 0; (27) allows 1/2."""
    w = verdict(f"fedbcgd.{name}").witness
    assert (w["b"], w["x"], w["M"], w["K"], w["left"], w["right"]) == (["1", "-1"], "0", 2, 1, "1", "1/2")


def test_the_auxiliary_iterate_is_not_the_start() -> None:
    """f = y^2/2 from 1, lam = 9/10: after two rounds z has lost more than x, from which the clients start."""
    w = verdict("fedbcgd.lemma14").witness
    assert (w["H"], w["x"], w["v"], w["lam"], w["T"], w["points"]) == (["1"], "1", "0", "9/10", 1, ["0"])
    (r,) = after(of_witness(w), w["round"])
    assert 0 < z_of(r) < r.x[0] < 1 and Fraction(w["left"]) == r.x[0] ** 2 > 2 * z_of(r) ** 2


REACHED = ("thm1.step49", "thm1.step50", "lemma13", "lemma14", "lemma15", "lemma16", "lemma18")


@pytest.mark.parametrize("name", REACHED)
def test_z_passes_the_minimum_before_x_does(name: str) -> None:
    """What momentum breaks, on a run from v^0 = 0 within the step sizes: G^r leads z^r away from x*."""
    w = verdict(f"fedbcgd.{name}").witness
    start = of_witness(w)
    assert not any(start.v) and w["round"] > 0 and start.lam > Fraction(1, 2) and start.M == 1
    limits = {"lemma13": (1, 81), "lemma15": (1, 81), "lemma16": (1, 24), "lemma18": (1, 24), "lemma14": (1, 1)}
    limit = Fraction(*limits.get(name, (1, 2)))
    assert start.alpha * start.eta * start.T <= limit
    (r,) = after(start, w["round"])
    assert r.x[0] > 0 and z_of(r) < r.x[0]
    for id_ in catalogue.corrected_by(f"fedbcgd.{name}"):
        (to, *_) = form_of(catalogue.find(id_))
        assert all(case.balance.holds for case in cases(Instance(r), to))


@pytest.mark.parametrize("id_", [id_ for id_ in IDS if not catalogue.find(id_).ours])
def test_printed_statements_start_as_the_algorithm_does(id_: str) -> None:
    for to in form_of(read(id_.removeprefix("fedbcgd."))):
        found = list(instances(to, False))[::29]
        assert found and all(not any(one.start.v) and begins(one.start, to) for one in found)
        if to.at_start:
            assert all(set(one.start.points) <= {one.start.x} for one in found)
        moving = replace(found[0].start, v=tuple(1 + 0 * x for x in found[0].start.v))
        assert not begins(moving, to)


def test_functions_that_are_no_quadratics() -> None:
    """On quadratics E grad f_i of step t is (1 - eta h)^t grad f_i(x); a bend lets noise make any gradient."""
    claim = at_most(G_mean_sq, other=4 * T**2 * mean_grad_sq)
    found = ROUNDS.check(find("lemma5.corrected").with_claim(claim))
    assert found.status is Status.REFUTED
    r = of_witness(found.witness)
    assert any(r.bend) and 2 * r.T * r.beta * r.eta <= 1 and max(map(abs, r.spectrum)) <= r.beta
    values = block_round(r)
    assert values["G_mean_sq"] > 4 * r.T**2 * values["mean_grad_sq"]
    straight = block_round(replace(r, bend=()))
    assert straight["G_mean_sq"] <= 4 * r.T**2 * straight["mean_grad_sq"]


def test_a_long_round() -> None:
    """f = -y^2/2: at 2 beta eta T = 5 the drift outgrows Lemma 5 as corrected, but only if T is large."""
    found = ROUNDS.check(replace(find("lemma5.corrected"), when=(Condition(2 * beta * eta * T <= 5),)))
    assert found.status is Status.REFUTED and found.witness["T"] > 6


DROPPED = [
    (id_, assumption)
    for id_ in HOLDING
    for assumption in ("assumption3", "assumption3.independent", "assumption5", "alg3.initial")
    if catalogue.find(id_).ours and f"fedbcgd.{assumption}" in catalogue.find(id_).assumes
]
# True without it: there is no noise; or the steps are so short that a biased gradient does no harm
NOT_NEEDED = {
    ("fedbcgd.thm1.step48.exact", "assumption3"),
    ("fedbcgd.lemma15.corrected", "assumption3"),
    ("fedbcgd.lemma18.corrected", "assumption3"),
}


@pytest.mark.parametrize(("id_", "assumption"), DROPPED)
def test_what_is_not_assumed_is_violated(id_: str, assumption: str) -> None:
    statement = catalogue.find(id_)
    fewer = tuple(a for a in statement.assumes if a != f"fedbcgd.{assumption}")
    found = ROUNDS.check(replace(statement, assumes=fewer))
    assert found.status is (Status.TESTED if (id_, assumption) in NOT_NEEDED else Status.REFUTED)


@pytest.mark.parametrize(
    ("name", "added", "without"),
    [
        ("lemma6", "assumption3.independent", "one noise for all clients: left side 1, right side 1/3"),
        ("thm1.step48", "assumption3.independent", "one noise for all clients: left side 1, right side 2/3"),
        ("lemma12", "alg3.initial", "c = mean c_i + 1: left side 0, right side -3/4"),
    ],
)
def test_what_charity_adds(name: str, added: str, without: str) -> None:
    found = judge(evidence_for(f"fedbcgd.{name}"), find(name))
    assert (found.status, found.added) == (Status.TESTED, (f"fedbcgd.{added}",)) and without in found.without


def test_states_are_those_of_all_samples() -> None:
    (to,) = form_of(read("lemma15"))
    at = next(one for one in instances(to, False) if one.rounds == 2 and one.start.M > one.start.K == 1 and one.states)
    assert len(at.states) > 1 and sum(at.states.values()) == 1
    states = after(at.start, 2)
    values = expected(at)
    for name in ("gap_next", "lag_next", "C_prev", "drift_z"):
        assert values[name] == sum(block_round(r)[name] for r in states) / len(states)
    assert "C_r_of_means" not in values and "C_r_of_means" in expected(Instance(at.start))
    assert advanced(replace(at.start, points=(), sigma_sq=Fraction(1))) is None
    noisy = Instance(replace(at.start, points=(), sigma_sq=Fraction(1)), 1)
    assert noisy.states == {} and expected(noisy) == {} and list(cases(noisy, to, False)) == []


def test_a_factor_two() -> None:
    """(46) halves the inner product: where G^r leads away from x*, it is charged too little."""
    w = verdict("fedbcgd.thm1.step46").witness
    (r,) = after(of_witness(w), w["round"])
    found = block_round(r)
    assert found["inner"] > 0
    assert (
        found["dist_next"]
        == found["dist_sq"] + 2 * r.eta * r.alpha * found["inner"] + (r.eta * r.alpha) ** 2 * (found["G_sq"])
    )


# --- Conditions, assumptions, what cannot be checked -----------------------------------------------------------------


@pytest.mark.parametrize("id_", IDS)
def test_instances_are_within_the_conditions(id_: str) -> None:
    statement = catalogue.find(id_)
    for to in form_of(statement):
        rounds = list(family(to, False))[::17]
        assert rounds
        for r in rounds:
            symbols = constants(r)
            for c in statement.when:
                relation = c.relation.xreplace(dict(statement.where))
                if to.a is not None:
                    relation = relation.subs({s: Rational(str(to.a)) for s in relation.free_symbols if s.name == "a"})
                if {s.name for s in relation.free_symbols} <= set(symbols):
                    exactly = {s: Rational(str(symbols[s.name])) for s in relation.free_symbols}
                    assert relation.subs(exactly) == sympy.true, (r, c)
            if "fedbcgd.assumption1" in statement.assumes:
                assert r.mu >= 0
            if "fedbcgd.assumption4" in statement.assumes:
                assert r.alike


def test_outside_the_conditions_nothing_is_compared() -> None:
    (to,) = form_of(find("lemma15.corrected"))
    r = next(r for r in family(to, False) if any(cases(Instance(r), to)))
    others: list[dict[str, Any]] = [
        dict(eta=Fraction(1)),  # too large a step
        dict(points=()),  # FedBCGD
        dict(H=(((Fraction(-1),),),) * r.M),  # not convex
    ]
    for changed in others:
        assert ROUNDS.tightest(Instance(replace(r, **changed)), to) is None


def test_the_number_a() -> None:
    """Lemma 17 is put in numbers with a = 1/2 and a = 1, (56) with others besides."""
    assert {to.a for to in form_of(find("lemma17.proof"))} == {Fraction(1, 2), Fraction(1)}
    assert Fraction(1, 8) in {to.a for to in form_of(find("thm1.step56"))}
    assert {to.a for to in form_of(find("lemma16"))} == {None}


def test_conditions_of_every_kind() -> None:
    """Roots are raised away, strict signs are strict; what cannot be met leaves the statement open."""
    rooted = within("lemma14.corrected", eta <= 1 / (sqrt(2) * beta))
    (to,) = form_of(rooted)
    assert max(r.eta**2 * r.beta**2 for r in family(to, False)) < Fraction(1, 2)
    third = within("lemma14.corrected", eta <= 1 / beta * (K / M) ** Rational(2, 3))
    (to,) = form_of(third)
    assert all((r.eta * r.beta) ** 3 <= Fraction(r.K, r.M) ** 2 for r in family(to, False))
    assert ROUNDS.check(within("lemma14.corrected", lam < 0)).status is Status.OPEN
    assert ROUNDS.check(within("lemma14.corrected", M > 2)).status is Status.TESTED
    assert ROUNDS.check(within("lemma14.corrected", Eq(K, M))).status is Status.TESTED


def test_a_further_claim_is_looked_at_last() -> None:
    statement = find("lemma14.corrected")
    true = Relations((Ge(2 * gap, gap, evaluate=False),))
    assert ROUNDS.check(replace(statement, also=(true,))).status is Status.TESTED
    found = ROUNDS.check(replace(statement, also=(true, Relations((Le(v_sq, v_next_sq),)))))
    assert found.status is Status.REFUTED and found.witness["relation"] == "v_sq <= v_next_sq"


def test_what_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="about one round"):
        ROUNDS.check(find("thm1.strongly_convex"))
    lemma = find("lemma6")
    with pytest.raises(ValueError, match="no exact value for avg_grad_sq"):
        ROUNDS.check(lemma.with_claim(at_most(G_sq, other=fedbcgd.symbols["avg_grad_sq"].sympy)))
    with pytest.raises(ValueError, match="Listing: expected Bound or Relations"):
        ROUNDS.check(lemma.with_claim(find("alg1").claim))
    with pytest.raises(ValueError, match="no roots"):
        ROUNDS.check(within("lemma14.corrected", sqrt(K) - mu <= grad_sq_x))
    with pytest.raises(ValueError, match="expected one of <="):
        ROUNDS.check(within("lemma14.corrected", sympy.Ne(K, M)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["thm1.step50.corrected", "lemma15.corrected", "lemma17.corrected", "lemma18.corrected"]
)
def test_in_full(name: str) -> None:
    assert ROUNDS.check(find(name), full=True).status is Status.TESTED
