"""Statements about one round on exact instances, in all papers: what is sharper, not assumed or not read is told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from operator import attrgetter
from random import Random
from types import ModuleType
from typing import Any

import pytest
import sympy
from sympy import Eq, Ge, Le, Ne, Rational, sqrt

from fedtheory.bounds.fedbat import rounds as fedbat
from fedtheory.bounds.fedbcgd import rounds as fedbcgd
from fedtheory.bounds.fedbcgd.instances import block_round
from fedtheory.bounds.fedcom import rounds as fedcom
from fedtheory.bounds.sfl import rounds as sfl
from fedtheory.bounds.trials.claims import exp_above
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat import symbols as of_fedbat
from fedtheory.theory.fedbcgd import symbols as of_fedbcgd
from fedtheory.theory.fedcom import symbols as of_fedcom
from fedtheory.theory.readings import additions
from fedtheory.theory.sfl import symbols as of_sfl
from fedtheory.theory.statement import Bound, Condition, Relations, Statement, Status, Term, Verdict, at_most, equal_to

F = Fraction
PAPERS: dict[str, ModuleType] = {"sfl": sfl, "fedcom": fedcom, "fedbcgd": fedbcgd, "fedbat": fedbat}
IDS = [e.statement for paper in PAPERS.values() for e in paper.evidence() if e.kind != "counterexample"]


def check(statement: Statement) -> Verdict:
    """By the search of its paper."""
    found: Verdict = PAPERS[statement.paper].ROUNDS.check(statement)
    return found


def within(id_: str, *relations: Any) -> Statement:
    """The statement, read with charity, under further conditions, and without further claims."""
    statement = catalogue.find(id_)
    assumed = (*statement.assumes, *additions(statement))
    return replace(statement, when=(*statement.when, *map(Condition, relations)), also=(), assumes=assumed)


@cache
def verdict(id_: str) -> Verdict:
    return check(within(id_))


def without(id_: str, *assumptions: str) -> Statement:
    statement = catalogue.find(id_)
    assert {*assumptions} <= {*statement.assumes}
    return replace(statement, assumes=tuple(one for one in statement.assumes if one not in assumptions), also=())


def divided(statement: Statement, factor: float) -> Statement:
    """All terms with a plus sign, or right sides, divided by a factor."""
    claim, by = statement.claim, Rational(f"{factor:.6f}")
    if isinstance(claim, Relations):
        return statement.with_claim(Relations(tuple(Le(r.args[0], r.args[1] / by) for r in claim.relations)))
    assert isinstance(claim, Bound)
    terms = (Term(t.name, t.value if t.value.as_coeff_Mul()[0] < 0 else t.value / by) for t in claim.terms)
    return statement.with_claim(replace(claim, terms=tuple(terms)))


def can_be_divided(id_: str) -> bool:
    """A bound from above; for other papers than SFL by terms none of which is negative."""
    claim = catalogue.find(id_).claim
    if not isinstance(claim, Bound):
        return id_.startswith("sfl.")
    parts = [e for t in claim.terms for e in (t.value, *sympy.Add.make_args(t.value))]
    return claim.sign == "<=" and (id_.startswith("sfl.") or not any(e.could_extract_minus_sign() for e in parts))


@pytest.mark.dear
@pytest.mark.parametrize(
    "id_",
    [
        pytest.param(id_, marks=[] if id_.startswith("sfl.") or not i % 10 else pytest.mark.slow)
        for i, id_ in enumerate(filter(can_be_divided, IDS))
    ],
)
def test_what_is_sharper_than_the_slack_is_refuted(id_: str) -> None:
    """By a little more than the slack; by a little less it holds, on these instances."""
    statement, found = within(id_), verdict(id_)
    if found.status is Status.REFUTED:
        return
    assert found.status is Status.TESTED and found.slack is not None
    assert check(divided(statement, found.slack * 1.002)).status is Status.REFUTED
    if found.slack > 1.01:
        assert check(divided(statement, found.slack * 0.99)).status is Status.TESTED


# What is not assumed

# True without it: there is no noise; or the steps are so short that a biased gradient does no harm
NOT_NEEDED = {
    (f"fedbcgd.{name}", "fedbcgd.assumption3")
    for name in ("thm1.step48.exact", "lemma15.corrected", "lemma18.corrected")
}
ASSUMPTIONS = ("sfl.asm.unbiased", "sfl.asm.independent", *(
    f"fedbcgd.{name}" for name in ("assumption3", "assumption3.independent", "assumption5", "alg3.initial")
), "fedbat.assump3.independent")  # fmt: skip
DROPPED = [
    (id_, one)
    for id_ in IDS
    for one in ASSUMPTIONS
    if one in catalogue.find(id_).assumes and (catalogue.find(id_).ours or id_.startswith("sfl.") or "lemma2" in id_)
]


def test_nothing_is_left_out() -> None:
    """A list that is computed may become empty."""
    least = {"sfl": (45, 45), "fedcom": (25, 20), "fedbcgd": (48, 30), "fedbat": (60, 35)}
    for paper, (searched, sharpened) in least.items():
        own = [id_ for id_ in IDS if id_.startswith(f"{paper}.")]
        assert len(own) >= searched and len(list(filter(can_be_divided, own))) >= sharpened, paper
    assert all(sum(one == assumption for _, one in DROPPED) > 5 for assumption in ASSUMPTIONS)


@pytest.mark.dear
@pytest.mark.parametrize(("id_", "assumption"), DROPPED)
def test_what_is_not_assumed_is_violated(id_: str, assumption: str) -> None:
    found = check(without(id_, assumption))
    assert found.status is (Status.TESTED if (id_, assumption) in NOT_NEEDED else Status.REFUTED)


def test_clients_binarise_together_unless_a_statement_excludes_it() -> None:
    lemma = replace(catalogue.find("fedbat.lemma4.corrected"), also=())
    assert check(lemma).status is Status.TESTED
    other = tuple(one for one in lemma.assumes if one != "fedbat.assump5.corrected")
    found = check(replace(lemma, assumes=(*other, "fedbat.assump5")))
    assert found.status is Status.REFUTED
    assert "binarisation" in found.witness["drawn by all clients together"]
    together = next(run for run in fedbat.ends("C") if run.common == ("binarisation",))
    (to, *_) = fedbat.form_of(lemma)
    assert not fedbat.fits(together, to) and fedbat.fits(replace(together, common=()), to)


def test_a_fixed_order_where_no_sampling_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = catalogue.paper("sfl")
    monkeypatch.setattr(paper, "background", tuple(s for s in paper.background if s.id != "sfl.alg1"))
    for name in ("lemma5", "step.sc_recursion.faster", "step.gc_recursion.sharp", "eq70.sharp.sampled"):
        found = check(catalogue.find(f"sfl.{name}"))
        assert found.status is Status.REFUTED and found.witness["law"] == "one order"


def test_assumptions_choose_the_functions() -> None:
    """Convexity keeps the counter-examples of negative curvature away."""
    printed = catalogue.find("fedcom.lemmaD3")
    assert check(replace(printed, assumes=(*printed.assumes, "fedcom.asm7"))).status is Status.TESTED
    curved = replace(printed, assumes=(*printed.assumes, "fedcom.asm6"))
    (to, *_) = fedcom.form_of(curved)
    assert all(min(run.mean[:2]) > 0 for run in fedcom.family(to, False))
    assert check(replace(curved, when=(Condition(of_fedcom.mu <= of_fedcom.L),))).status is Status.TESTED


# Conditions


@pytest.mark.dear
@pytest.mark.parametrize(
    "id_",
    [
        *("sfl.lemma5", "sfl.lemma12", "sfl.step.eq50.corrected", "fedcom.lemmaE7.corrected"),
        "fedbcgd.lemma15.corrected",
    ],
)
def test_what_is_varied_meets_conditions_and_assumptions(id_: str) -> None:
    paper, random = PAPERS[id_.split(".")[0]], Random(1)
    (to, *_) = paper.form_of(catalogue.find(id_))
    family = [one for one in paper.ROUNDS.family(to, False) if list(paper.cases(one, to))]
    other = [paper.ROUNDS.variation(one, to, random) for one in family]
    changed = [one for one in other if one is not None and one not in family]
    assert len(changed) > len(family) / 4 and all(list(paper.cases(one, to)) for one in changed)


LESS = {"sfl.lemma5": "instance.M", "fedcom.lemmaE7": "m", "fedbcgd.lemma6": "start.M", "fedbat.lemma4": "N"}


@pytest.mark.parametrize("id_", LESS)
def test_an_instance_can_lose_a_client(id_: str) -> None:
    """Values that no instance has are left out, so a wrong axis would not be seen."""
    paper, count = PAPERS[id_.split(".")[0]], attrgetter(LESS[id_])
    (to, *_) = paper.form_of(catalogue.find(id_))
    several = [one for one in paper.ROUNDS.family(to, False) if count(one) > 1][:60]
    assert any(count(less) == count(one) - 1 for one in several for less in paper.ROUNDS.simpler(one, to))


def test_outside_the_conditions_nothing_is_compared() -> None:
    (to, *_) = fedcom.form_of(catalogue.find("fedcom.lemmaE7"))
    (run, *_) = fedcom.family(to, False)
    assert list(fedcom.cases(run, to)) and fedcom.ROUNDS.tightest(run, to) is not None
    # 30 eta^2 L^2 tau^2 <= 1, L = 1, one coin for all, alpha = 1
    outside: list[dict[str, Any]] = [dict(eta=F(1)), dict(h=(F(2),)), dict(law="biased"), dict(alpha=F(1, 2))]
    for changed in outside:
        assert not list(fedcom.cases(replace(run, **changed), to))
    (block,) = fedbcgd.form_of(catalogue.find("fedbcgd.lemma15.corrected"))
    start = next(r for r in fedbcgd.family(block, False) if any(fedbcgd.cases(fedbcgd.Instance(r), block)))
    # too large a step, FedBCGD, and concave functions
    outside = [dict(eta=F(1)), dict(points=()), dict(H=(((F(-1),),),) * start.M)]
    for changed in outside:
        other = replace(start, **changed)
        assert fedbcgd.ROUNDS.tightest(fedbcgd.Instance(other), block) is None
    (to_1, *_), (to_3, *_) = (fedbat.form_of(catalogue.find(f"fedbat.lemma{n}")) for n in (1, 3))
    learned = next(r for r in fedbat.drawn("C", True, False, 120) if list(fedbat.cases(r, to_1)))
    fast = replace(learned, rates=(F(1, 2),) * len(learned.rates))  # eta <= 1/(4 L)
    assert not list(fedbat.cases(fast, to_1))
    at_one_step = replace(learned, rates=(F(1, 8),) * (learned.steps - 1) + fast.rates)
    assert not list(fedbat.cases(at_one_step, to_1))
    falls = replace(learned, rates=tuple(F(1, 4 ** (1 + t)) for t in range(len(learned.rates))))
    assert list(fedbat.cases(learned, to_3)) and not list(fedbat.cases(falls, to_3))  # eta_t <= 2 eta_{t+tau}


def test_conditions_of_every_kind() -> None:
    """Roots are raised away, strict signs are strict; what cannot be met leaves the statement open."""
    eta, beta, K, M = (of_fedbcgd.fedbcgd.symbols[name].sympy for name in ("eta", "beta", "K", "M"))
    (to,) = fedbcgd.form_of(within("fedbcgd.lemma14.corrected", eta <= 1 / (sqrt(2) * beta)))
    assert max(r.eta**2 * r.beta**2 for r in fedbcgd.family(to, False)) < F(1, 2)
    (to,) = fedbcgd.form_of(within("fedbcgd.lemma14.corrected", eta <= 1 / beta * (K / M) ** Rational(2, 3)))
    assert all((r.eta * r.beta) ** 3 <= F(r.K, r.M) ** 2 for r in fedbcgd.family(to, False))
    q, tau, L = of_fedcom.q, of_fedcom.tau, of_fedcom.L
    lemma = "fedcom.lemmaE7.corrected"
    rooted = check(within(lemma, of_fedcom.eta <= 1 / (sqrt(30) * L * tau)))
    assert rooted == check(within(lemma, 30 * of_fedcom.eta**2 * L**2 * tau**2 <= 1))
    for id_, relation, status in (
        ("fedbcgd.lemma14.corrected", of_fedbcgd.lam < 0, Status.OPEN),
        ("fedbcgd.lemma14.corrected", M > 2, Status.TESTED),
        ("fedbcgd.lemma14.corrected", Eq(K, M), Status.TESTED),
        (lemma, q + 1 < tau / (2 * tau + 1), Status.OPEN),
        (lemma, of_fedcom.m > 1, Status.TESTED),
        ("fedbat.lemma3.corrected", of_fedbat.tau >= 100, Status.OPEN),
        ("fedbat.lemma3.corrected", of_fedbat.eta_later <= of_fedbat.eta_t, Status.TESTED),
        ("sfl.step.eq49", of_sfl.S >= of_sfl.M + 1, Status.OPEN),
    ):
        found = check(within(id_, relation))
        assert found.status is status and (status is Status.TESTED or "no instance meets the conditions" in found.says)


def test_exp_is_rounded_up() -> None:
    for x in (F(0), F(-1, 7), F(-3)):
        exact = F(str(sympy.exp(Rational(x.numerator, x.denominator)).n(40)))
        assert 0 <= exp_above(x) - exact < F(1, 10**25)
    with pytest.raises(ValueError, match="expected an exponent <= 0"):
        exp_above(F(1))


def test_states_are_those_of_all_samples() -> None:
    """The quantities after two rounds are means over the states that they begin with."""
    (to,) = fedbcgd.form_of(within("fedbcgd.lemma15"))
    at = next(one for one in fedbcgd.instances(to, False) if one.rounds == 2 and one.start.M > one.start.K == 1)
    assert len(at.states) > 1 and sum(at.states.values()) == 1
    values = fedbcgd.expected(at)
    for name in ("gap_next", "lag_next", "C_prev", "drift_z"):
        assert values[name] == sum(block_round(r)[name] * chance for r, chance in at.states.items())
    assert "C_r_of_means" not in values and "C_r_of_means" in fedbcgd.expected(fedbcgd.Instance(at.start))
    noisy = fedbcgd.Instance(replace(at.start, points=(), sigma_sq=F(1)), 1)
    assert noisy.states == {} and fedbcgd.expected(noisy) == {} and list(fedbcgd.cases(noisy, to, False)) == []


def test_readings_are_of_symbols_and_quantities() -> None:
    (to, *_) = fedbcgd.form_of(catalogue.find("fedbcgd.lemma17.proof"))
    known = block_round(next(iter(fedbcgd.family(to, False))))
    for name, reading in fedbcgd.READINGS.items():
        forms = fedbcgd.form_of(catalogue.find(f"fedbcgd.{name}"))
        symbols = {s.name for c in forms for s in of_fedbcgd.fedbcgd.symbols.values() if s.name in c.symbols}
        assert {*reading} <= symbols and {*reading.values()} <= {*known}


# Relations of every kind, and what cannot be checked


def test_relations_of_every_kind() -> None:
    statement, g_sq, gbar_sq, G = catalogue.find("fedbat.eq81"), of_fedbat.g_sq, of_fedbat.gbar_sq, of_fedbat.G

    def status(*relations: Any) -> Status:
        return check(statement.with_claim(Relations(relations))).status

    assert status(Le(gbar_sq, g_sq)) is Status.TESTED and status(Ge(g_sq, gbar_sq)) is Status.TESTED
    assert status(Ge(gbar_sq, g_sq)) is Status.REFUTED and status(Eq(g_sq, gbar_sq)) is Status.REFUTED
    assert status(Le(gbar_sq, g_sq), Le(2 * g_sq, g_sq, evaluate=False)) is Status.REFUTED
    assert status(Le(gbar_sq, G**2)) is Status.REFUTED  # at w_t^k, and no more than that
    corrected = replace(statement, assumes=("fedbat.assump4.corrected",))
    assert check(corrected.with_claim(Relations((Le(gbar_sq, G**2),)))).status is Status.TESTED
    eq28, eq49, grad_sq = catalogue.find("sfl.step.eq28"), catalogue.find("sfl.step.eq49"), of_sfl.grad_sq
    assert check(eq28.with_claim(equal_to(grad_sq, itself=grad_sq))).status is Status.TESTED
    assert check(eq28.with_claim(at_most(grad_sq, nothing=0))).status is Status.REFUTED
    assert isinstance(eq49.claim, Bound) and check(eq49).status is Status.TESTED
    for sign in (">=", "="):
        assert check(eq49.with_claim(replace(eq49.claim, sign=sign))).status is Status.REFUTED


def claiming(id_: str, claim: Any) -> Callable[[], Any]:
    return lambda: check(
        catalogue.find(id_).with_claim(catalogue.find(claim).claim if isinstance(claim, str) else claim)
    )


def under(id_: str, *relations: Any) -> Callable[[], Any]:
    return lambda: check(within(id_, *relations))


_E_r, _eta, _L = of_sfl.E_r, of_sfl.eta, of_sfl.L
LEMMA14, NO_VALUE = "fedbcgd.lemma14.corrected", of_fedbcgd.fedbcgd.symbols["avg_grad_sq"].sympy
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (under("sfl.eq42"), "sfl.eq42: expected one of step.eq28, "),
    (claiming("sfl.step.eq49", "sfl.eq43"), "kind Order: expected Bound"),
    (claiming("sfl.step.eq49", at_most(_E_r, odd=of_sfl.sigma)), "even powers of sigma, zeta, zeta_star"),
    (claiming("sfl.step.eq49", at_most(_E_r, odd=sqrt(_L))), r"sqrt\(L\): expected no root"),
    (under("sfl.step.eq49", _eta**2 <= 1 / _L), "expected it linear in eta"),
    (under("sfl.step.eq49", _eta - sqrt(of_sfl.S) <= of_sfl.beta), "expected no roots, or sides that are not negative"),
    (under("fedcom.thmD9"), "no exact value for"),
    (claiming("fedcom.lemmaD1", at_most(of_fedcom.message_sq, other=of_fedcom.a_next)), "no exact value for a_next"),
    (claiming("fedcom.lemmaD1", "fedcom.alg1"), "Listing: expected Bound or Relations"),
    (under("fedbcgd.thm1.strongly_convex"), "about one round"),
    (claiming("fedbcgd.lemma6", at_most(of_fedbcgd.G_sq, other=NO_VALUE)), "no exact value for avg_grad_sq"),
    (claiming("fedbcgd.lemma6", "fedbcgd.alg1"), "Listing: expected Bound or Relations"),
    (under(LEMMA14, sqrt(of_fedbcgd.K) - of_fedbcgd.mu <= of_fedbcgd.grad_sq_x), "no roots"),
    (under(LEMMA14, Ne(of_fedbcgd.K, of_fedbcgd.M)), "expected one of <="),
    (under("fedbat.thm1"), "expected a statement of Appendix"),
    (claiming("fedbat.lemma1", "fedbat.alg1"), "expected Bound or Relations"),
    (claiming("fedbat.lemma1", at_most(of_fedbat.g_sq, other=of_fedbat.G * of_fedbat.eta)), "even powers"),
]


@pytest.mark.parametrize(("attempt", "message"), REFUSED)
def test_what_cannot_be_checked(attempt: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()
