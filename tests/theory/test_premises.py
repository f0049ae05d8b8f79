"""What a proof goes by, and cannot go without: properties that nothing prints, definitions, algorithms, the rules' terms."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest
import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks import quantities as fedbat
from fedtheory.theory.fedbat.checks.quantities import EACH
from fedtheory.theory.fedbcgd.checks import quantities as fedbcgd
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, digest
from fedtheory.theory.proofs.forms import Family, Minimiser, gradient, vector
from fedtheory.theory.proofs.sequences import decayed
from fedtheory.theory.properties import Property
from fedtheory.theory.readings import RULES, additions, judge
from fedtheory.theory.sfl.checks.quantities import ALL, BEFORE, LANGUAGE, OWN, C, F_fun, x, x_star
from fedtheory.theory.sfl.symbols import M, R, S, dist2, sigma
from fedtheory.theory.statement import Evidence, Relations, Status, Verdict
from fedtheory.verification import evidence, verify

LANGUAGES = {
    name: importlib.import_module(f"fedtheory.theory.{name}.checks.quantities").LANGUAGE for name in catalogue.papers()
}


def proof(id_: str) -> Verdict:
    (item,) = (e for e in evidence(id_.split(".", 1)[0]) if e.statement == id_ and e.kind in ("ledger", "repair"))
    return item.check(catalogue.find(id_), False)


WEIGHTS = (Property.EQUAL_WEIGHTS, Property.WEIGHTS)
LEAST = (Property.MINIMISER, Property.BOUNDED_BELOW)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("id_", "dropped"),
    [
        *(
            (f"sfl.{n}", WEIGHTS)
            for n in ("step.eq29", "step.eq31", "step.eq36", "step.eq50.corrected", "step.eq51.corrected")
        ),
        *((f"sfl.{n}", WEIGHTS) for n in ("lemma6", "lemma10", "lemma11", "lemma12")),
        *((f"fedbat.{n}", WEIGHTS) for n in ("eq31", "eq34", "eq38.corrected", "eq45", "eq46.corrected")),
        ("sfl.lemma6", (Property.MINIMISER,)),
        *((f"fedbcgd.{n}.nonconvex.corrected", LEAST) for n in ("thm1", "thm2")),
        *((f"fedcom.{n}.corrected", LEAST) for n in ("thmD4", "thmD7", "thmE4")),
    ],
)
def test_without_a_property_of_the_setting(id_: str, dropped: tuple[Property, ...], monkeypatch) -> None:
    assert proof(id_).status is Status.PROVED
    all_of = catalogue.properties
    monkeypatch.setattr(
        catalogue, "properties", lambda s: {name: c for name, c in all_of(s).items() if name not in dropped}
    )
    found = proof(id_)
    assert found.status is Status.BROKEN and "needs the property" in found.says


def test_what_is_proved_of_the_damped_algorithm_is_not_proved_of_the_printed_one() -> None:
    ours = catalogue.find("fedcom.thmE4.corrected")
    printed = replace(ours, assumes=tuple(a for a in ours.assumes if a != "fedcom.asm.damped"))
    (item,) = (e for e in evidence("fedcom") if e.statement == ours.id and e.kind == "ledger")
    found = item.check(printed, False)
    assert found.status is Status.BROKEN and "damped" in found.says


@pytest.mark.parametrize(
    ("definition", "id_"),
    [
        ("sfl.eq68", "sfl.lemma12"),
        ("sfl.eq33", "sfl.lemma6"),
        ("fedbat.c1.virtual", "fedbat.eq31"),
        ("fedbcgd.momentum_form.corrected", "fedbcgd.thm1.step59.corrected"),
        ("sfl.alg1", "sfl.step.eq28"),
        ("fedcom.alg1", "fedcom.lemmaD3.corrected"),
    ],
)
def test_another_definition_is_another_proof(definition: str, id_: str, monkeypatch) -> None:
    """A form is written by hand from the words of a definition: with other words it has to be written again."""
    assert proof(id_).status is Status.PROVED
    own, find = catalogue.find(definition), catalogue.find
    if isinstance(own.claim, Relations):
        first, *rest = own.claim.relations
        claim = replace(own.claim, relations=(first.func(first.lhs, 7 * first.rhs, evaluate=False), *rest))
    else:
        claim = replace(own.claim, lines=own.claim.lines[:-1])
    monkeypatch.setattr(catalogue, "find", lambda name: replace(own, claim=claim) if name == definition else find(name))
    found = proof(id_)
    assert found.status is Status.BROKEN and definition in found.says and "note the digest" in found.says


@pytest.mark.parametrize("paper", catalogue.papers())
def test_every_form_says_from_what_it_was_written(paper: str) -> None:
    language = LANGUAGES[paper]
    for name in (*language.algorithms, *language.definitions):
        assert language.written[name] == digest(catalogue.find(f"{paper}.{name}")), name


def test_a_proof_by_an_algorithm_that_is_false(monkeypatch) -> None:
    """d1.update is printed with S_m(v_t) for S_m(v_{t+1}), and refuted: what goes by the printed one is broken."""
    (checked,) = verify(["fedbat.eq56"])
    assert checked.status is Status.PROVED
    language = LANGUAGES["fedbat"]
    forms = {**language.algorithms, "d1.update": language.algorithms["d1.update.corrected"]}
    written = {**language.written, "d1.update": digest(catalogue.find("fedbat.d1.update"))}
    monkeypatch.setattr(language.__class__, "algorithms", property(lambda _: forms), raising=False)
    monkeypatch.setattr(language.__class__, "written", property(lambda _: written), raising=False)
    follow = Argument.follow
    monkeypatch.setattr(Argument, "follow", lambda p, name: follow(p, name.replace("d1.update.corrected", "d1.update")))
    (checked,) = verify(["fedbat.eq56"])
    assert checked.status is not Status.PROVED
    assert any(v.says == "rests on fedbat.d1.update, which is refuted" for _, v in checked.verdicts)


MEMBER = ALL.at_start


@pytest.mark.parametrize(
    ("says", "use"),
    [
        ("expected the mean over the clients", lambda: rules.SAMPLED(MEMBER, gradient(F_fun, x_star), C, x)),
        (
            "expected the mean over the clients",
            lambda: rules.CLIENTS_WITHOUT_REPLACEMENT(MEMBER, gradient(F_fun, x_star), C, M),
        ),
        ("at a minimiser of their mean", lambda: rules.HETEROGENEITY_AT_OPTIMUM(sigma, MEMBER)),
        (
            "at the start of the round",
            lambda: rules.EXCHANGEABLE(lambda s: (s.point - x) ** 2, BEFORE, ALL),
        ),
        (
            "may have no minimiser",
            lambda: rules.OWN_MINIMISER(sympy.Integer(0), ALL.function, Minimiser("x_m*", ALL.function), x),
        ),
        ("a part of U", lambda: rules.PART(lambda s: s.local, ALL, BEFORE)),
        ("a part of C, I", lambda: rules.PART(lambda s: s.local, OWN, ALL)),
        ("a part of J", lambda: rules.JENSEN_PART(lambda s: s.local, OWN, OWN)),
        ("one after another", lambda: rules.SUCCESSIVE(fedbcgd.ALL.noise, fedbcgd.I, fedbcgd.A)),
        ("weights of sum 1", lambda: rules.MEAN_VALUE(EACH.function, fedbat.F_fun, x, EACH.family)),
        ("weights of sum 1", lambda: rules.MEAN_GRADIENT(EACH.function, fedbat.F_fun, x, EACH.family, x)),
    ],
)
def test_a_rule_outside_its_terms(says: str, use) -> None:
    with pytest.raises(ValueError, match=says):
        use()


def test_the_sampled_clients_sum_is_no_vector_that_the_sample_is_drawn_apart_from() -> None:
    some, every = Family("C", S), Family("A", M)
    y = vector("y", some)
    sample = rules.Sample(some, every, frozenset({y}))
    assert rules.APART(sample, y**2) != 0
    with pytest.raises(ValueError, match="not known before the sample"):
        rules.APART(sample, y * some.sum(y))


@pytest.mark.parametrize("rule", ["infimum", "smooth", "Polyak-Lojasiewicz"])
def test_a_penalty_is_positive(rule: str) -> None:
    found = next(r for name, r in rules.RULES.items() if name.startswith(rule) and name.endswith("with the penalty"))
    phi = sympy.Symbol("phi", real=True)
    arguments = {
        "infimum": (F_fun, x, phi, vector("l")),
        "smooth": (F_fun, phi, x, x),
        "Polyak-Lojasiewicz": (F_fun, phi, x, x),
    }
    assert found.when(*arguments[rule]) == (phi > 0,)


def test_only_an_upper_bound_is_solved_for_itself() -> None:
    p = Argument(catalogue.find("sfl.step.eq30"), LANGUAGE)
    below = p.by_hand("for the test", dist2, ">=", dist2 / 4 + sigma**2)
    p.solved("dist2", below, sympy.Rational(1, 2))
    assert p.verdict().status is Status.BROKEN and "is no upper bound" in p.verdict().says


@pytest.mark.parametrize(("sign", "status"), [("<=", Status.PROVED), (">=", Status.BROKEN)])
def test_a_power_is_replaced_by_an_exponential_in_upper_bounds_only(sign: str, status: Status) -> None:
    u = sympy.Symbol("u", positive=True)
    p = Argument(catalogue.find("sfl.step.eq30"), LANGUAGE)
    p.conditions = [u <= 1]
    fact = decayed(p, p.by_hand("for the test", dist2, sign, sigma**2 * (1 - u) ** R), R)
    assert fact.value == sigma**2 * sympy.exp(-u * R)
    broken = [s.name for s in p.steps if s.decision.status is not Status.PROVED]
    assert bool(broken) == (status is Status.BROKEN) and all("exp(-u R)" in name for name in broken)


def test_a_count_is_replaced_by_a_count_of_one_or_more() -> None:
    k = sympy.Symbol("k", integer=True, nonnegative=True)
    p = Argument(catalogue.find("sfl.thm1.strongly_convex"), LANGUAGE)
    K = catalogue.symbols(p.statement)["K"].sympy
    p.claim("lemma6", {K: k})
    assert [s.name for s in p.steps if s.decision.status is not Status.PROVED] == ["sfl.lemma6: K = k is positive"]


# The standard of charity: what is read into statements, and the verdicts that come of it


THM1 = catalogue.find("fedbat.thm1")
READ = additions(THM1)


def depending(verdicts: dict[frozenset[str], Status], otherwise: Status) -> Evidence:
    """Evidence whose verdict depends on which of the additions the statement lists."""

    def check(statement, full):
        listed = frozenset(READ) & frozenset(statement.assumes)
        status = next((status for needed, status in verdicts.items() if needed <= listed), otherwise)
        return Verdict(status, f"{status} with {len(listed)}")

    return Evidence(THM1.id, "search", check)


def test_every_reading_follows_a_rule_and_adds_an_assumption_of_its_paper() -> None:
    for paper in catalogue.papers().values():
        for reading in paper.readings:
            assert reading.rule in RULES and catalogue.find(reading.adds).gives
            assert any(reading.into(s) for s in paper.statements.values()), reading
            assert not any(reading.into(s) for s in paper.statements.values() if reading.adds in s.assumes)


def test_the_verdict_on_the_statement_as_listed_stands_if_nothing_speaks_against_it() -> None:
    for status in (Status.PROVED, Status.TESTED, Status.OPEN, Status.VACUOUS):
        found = judge(depending({}, status), THM1)
        assert (found.status, found.added, found.without) == (status, (), "")


@pytest.mark.parametrize("listed", [Status.REFUTED, Status.BROKEN])
def test_only_what_is_needed_is_added(listed: Status) -> None:
    needed = frozenset(READ[1:3])
    for status, judged in ((Status.PROVED, Status.CONDITIONAL), (Status.TESTED, Status.TESTED)):
        found = judge(depending({needed: status}, listed), THM1)
        assert (found.status, set(found.added)) == (judged, needed)
        assert found.without == (f"{listed} with 0" if listed is Status.REFUTED else "")


def test_a_statement_that_fails_with_all_additions_is_accused_by_what_fails_then() -> None:
    found = judge(depending({frozenset(READ): Status.REFUTED}, Status.REFUTED), THM1)
    assert (found.status, found.says, found.added) == (Status.REFUTED, f"refuted with {len(READ)}", ())


def test_equal_units_need_no_charity() -> None:
    own = replace(depending({frozenset(READ): Status.PROVED}, Status.REFUTED), kind="units")
    assert judge(own, THM1).status is Status.REFUTED
