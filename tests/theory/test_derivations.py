"""Derivations by hand read the whole formula: what is changed inside it is not proved, unless it is true in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
import sympy
from sympy import Rational, Sum
from sympy.core.relational import Relational

from fedtheory.bounds.fedbcgd.checks.listings import each
from fedtheory.bounds.trials.cases import substituted
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.symbols import S as OPERATOR, x_vec
from fedtheory.theory.fedbcgd.symbols import V_t, m_t, v_t
from fedtheory.theory.fedcom.symbols import delta_next
from fedtheory.theory.notation import Expectation, Norm, Value, equal
from fedtheory.theory.proofs.instances import Law, interpret
from fedtheory.theory.proofs.mutation import Part, mutations
from fedtheory.theory.proofs.vectors import in_numbers, in_the_mean
from fedtheory.theory.sfl.symbols import xbar, xbar_pi
from fedtheory.theory.statement import Bound, Evidence, Relations, Statement, Status, Words
from fedtheory.verification import evidence

PARTS: tuple[Part, ...] = ("inside", "limits", "letter", "direction", "relation", "sign")
BY_HAND = [e for paper in catalogue.papers() for e in evidence(paper) if e.kind in ("derivation", "certificate")]
RANDOM = Random(7)


@dataclass(frozen=True)
class World:
    """Numbers for the symbols of a claim, a law for its means; and which of its relations is about them (None: all)."""

    values: Mapping[str, Any]
    law: Law = ()
    only: int | None = None


@dataclass(frozen=True)
class Parabola:
    """h(x) = a x^2/2 + b x."""

    a: Rational
    b: Rational

    def value(self, x: Any) -> Any:
        return self.a * x**2 / 2 + self.b * x

    def gradient(self, x: Any) -> Any:
        return self.a * x + self.b


def number(least: int = -9) -> Rational:
    return Rational(RANDOM.randint(least, 9), RANDOM.choice((1, 3, 10, 100)))


def one_of(s: sympy.Symbol) -> Rational:
    if s.is_integer:
        return sympy.Integer(RANDOM.randint(1, 6))
    return number(1) if s.is_nonnegative else number()


def numbers(statement: Statement) -> Iterator[World]:
    """Numbers that meet the conditions, and the equations that define a symbol."""
    symbols, met = sorted(statement.symbols, key=str), 0
    conditions = [sympy.lambdify(symbols, c.relation, "sympy") for c in statement.when]  # faster than subs
    for _ in range(4000):
        at = {s: one_of(s) for s in symbols}
        for relation in relations(catalogue.find(statement.id)):
            if isinstance(relation, sympy.Eq) and relation.lhs in at:
                at[relation.lhs] = relation.rhs.subs(at)
        least, most = (next((at[s] for s in at if s.name == name), None) for name in ("mu", "L"))
        if least is not None and most is not None and least > most:
            continue  # smooth and strongly convex
        if all(condition(*at.values()) for condition in conditions):
            met += 1
            yield World({s.name: value for s, value in at.items()})
        if met == 40:
            return
    assert met > 5, statement.id


def parabolas(_: Statement) -> Iterator[World]:
    for _ in range(60):
        mu, beta = sorted((number(1), number(1)))
        h = Parabola(RANDOM.choice((mu, beta)), number())
        yield World({"h": h, "mu": mu, "beta": beta, "x": number(), "y": number(), "z": number()})


def steps(_: Statement) -> Iterator[World]:
    for _ in range(60):
        vectors = [number() for _ in range(RANDOM.randint(1, 3))]
        known = {"a": number(1), "v_i": number(), "v_j": number(), "v_t": vectors}
        yield World({**known, "tau": sympy.Integer(len(vectors))})


def noisy_steps(_: Statement) -> Iterator[World]:
    """First the same sign in all steps, around fixed means; then independent signs, around means that depend on the past."""
    for _ in range(60):
        tau, sigma = RANDOM.randint(1, 3), number(0)
        known = {"tau": sympy.Integer(tau), "sigma_x": sigma}
        fixed = [number() for _ in range(tau)]
        same = [(Rational(1, 2), {"V_t": [m + sign * sigma for m in fixed]}) for sign in (1, -1)]
        yield World({**known, "m_t": fixed}, same, only=0)
        after, law = number(), []
        for signs in product((1, -1), repeat=tau):
            means = [m + after * sum(signs[:i]) for i, m in enumerate(fixed)]
            drawn = [m + sign * sigma for m, sign in zip(means, signs, strict=True)]
            law.append((Rational(1, 2**tau), {"V_t": drawn, "m_t": means}))
        yield World(known, law, only=1)


def clients(statement: Statement) -> Iterator[World]:
    for _ in range(60):
        gradients = [number() for _ in range(RANDOM.randint(1, 5))]
        M, K = len(gradients), RANDOM.randint(1, len(gradients))
        samples = [(sum(drawn) / K) ** 2 for drawn in combinations(gradients, K)]
        at = {"M": M, "K": K, "sample_sq": sum(samples) / len(samples), "grad_sq_x": (sum(gradients) / M) ** 2}
        at |= {"mean_grad_sq": sum(g**2 for g in gradients) / M}
        if all(substituted(c.relation, at) == sympy.true for c in statement.when):
            yield World({name: sympy.sympify(value) for name, value in at.items()})


def samples(_: Statement) -> Iterator[World]:
    for n in range(1, 5):
        units = [number() for _ in range(n)]
        for s in range(1, n + 1):
            law = [{"xbar_pi": sum(drawn) / s} for drawn in combinations(units, s)]
            known = {"xbar": sum(units) / n, "n": sympy.Integer(n), "s": sympy.Integer(s)}
            yield World(known, [(Rational(1, len(law)), drawn) for drawn in law])


WORLDS = {
    "fedbcgd.lemma1": parabolas, "fedbcgd.lemma3": steps, "fedbcgd.lemma9": noisy_steps,
    "fedbcgd.lemma4.part2": clients, "fedbcgd.lemma4.lhs": clients, "fedbcgd.lemma4.corrected": clients,
    "sfl.lemma3.mean": samples,
}  # fmt: skip


def relations(statement: Statement) -> list[Relational]:
    found: list[Any] = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            sign = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}[claim.sign]
            found.append(sign(claim.quantity, claim.value, evaluate=False))
        elif isinstance(claim, Relations | Words):
            found += claim.relations if isinstance(claim, Relations) else claim.formulas
    return found


def fails(statement: Statement) -> str:
    """Where the statement is false; empty: nowhere."""
    every = [each(r, v_t, V_t, m_t) for r in relations(statement)]
    for world in WORLDS.get(statement.id, numbers)(statement):
        for i, relation in enumerate(every):
            if world.only in (None, i):
                left, right = (interpret(side, world.values, world.law) for side in relation.args)
                if relation.func(left, right) != sympy.true:
                    return f"{relation}: {left}, {right} at {world}"
    return ""


@pytest.mark.parametrize("id_", WORLDS)
def test_the_numbers_agree_with_the_statements_and_tell_changes(id_: str) -> None:
    statement = catalogue.find(id_)
    assert not fails(statement)
    assert any(fails(change.statement) for change in mutations(statement) if change.part in ("constant", "left side"))


def test_a_derivation_by_hand_proves_no_false_change(
    some: Callable[[Sequence[Evidence], int], Sequence[Evidence]],
) -> None:
    tried = 0
    for item in some(BY_HAND, 10):
        statement = catalogue.find(item.statement)
        if proved(item, statement):
            for change in mutations(statement):
                if change.part in PARTS:
                    tried += 1
                    wrong = proved(item, change.statement) and fails(change.statement)
                    assert not wrong, f"{statement.id}, {change.what}: {wrong}"
    assert tried > 10


def proved(item: Evidence, statement: Statement) -> bool:
    try:
        return item.check(statement, False).status is Status.PROVED
    except ValueError:  # it cannot read the claim
        return False


# Changes that no operator makes; each is false
def _squared() -> Statement:
    return replace(catalogue.find("sfl.lemma3.mean"), claim=Relations((equal(Expectation(xbar_pi**2), xbar**2),), ""))


def _of_all(id_: str, i: int, old: sympy.Basic, new: sympy.Basic) -> Statement:
    """A statement with another part in its relation number i."""
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Relations)
    several = list(statement.claim.relations)
    changed = several[i].func(*(side.xreplace({old: new}) for side in several[i].args), evaluate=False)
    assert changed != several[i]
    several[i] = changed
    return statement.with_claim(replace(statement.claim, relations=tuple(several)))


def _false() -> Iterator[Statement]:
    yield _squared()
    t, tau = (catalogue.paper("fedbcgd").symbols[name].sympy for name in ("t", "tau"))
    vectors = Sum(v_t, (t, 1, tau))
    yield _of_all("fedbcgd.lemma3", 1, vectors, Sum(3 * v_t, (t, 1, tau)))
    yield _of_all("fedbcgd.lemma3", 1, vectors, Sum(v_t, (t, 1, 2 * tau)))
    yield _of_all("fedbcgd.lemma9", 0, Norm(Sum(m_t, (t, 1, tau))), Norm(m_t))
    elsewhere = Value(OPERATOR, 2 * x_vec)
    yield catalogue.find("fedbat.setting_theory").with_claim(Relations((equal(Expectation(elsewhere), elsewhere),)))
    # in one run, and not only in the mean over the compression
    yield _of_all("fedcom.thmE4.items.corrected", 4, Expectation(delta_next), delta_next)


@pytest.mark.parametrize("statement", list(_false()), ids=lambda s: s.id)
def test_false_claims_are_not_proved(statement: Statement) -> None:
    items = [e for e in BY_HAND if e.statement == statement.id]
    assert items and not any(proved(item, statement) for item in items)


def test_numbers_for_what_is_known_and_for_nothing_else() -> None:
    known = {Norm(v_t): sympy.Symbol("norm", positive=True)}
    assert in_numbers(3 * Norm(v_t) ** 2, known) == 3 * known[Norm(v_t)] ** 2
    for other in (Norm(2 * v_t), v_t * Norm(v_t), Expectation(Norm(v_t)), Sum(Norm(v_t), (sympy.Symbol("t"), 1, 2))):
        with pytest.raises(ValueError, match=r"expected Norm\(v_t\), and numbers"):
            in_numbers(other, known)


def test_means_of_what_is_linear() -> None:
    mean = in_the_mean(Expectation((xbar_pi - 2) * 3) + Expectation(xbar), {xbar_pi: xbar})
    assert sympy.expand(mean - 4 * xbar + 6) == 0
    for other in (xbar_pi**2, Norm(xbar_pi), 1 / xbar_pi):
        with pytest.raises(ValueError, match="expected an expression linear in xbar_pi"):
            in_the_mean(Expectation(other), {xbar_pi: xbar})
