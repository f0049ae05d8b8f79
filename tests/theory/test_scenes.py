"""Worst cases of inequalities about a round: the scenes against exact runs, the known constants, and verdicts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

from simulations.exact.rounds import sfl as exact_sfl
from theory import catalogue
from theory.proofs import scenes
from theory.proofs.gram import Quadratic, Vector
from theory.proofs.scenes import ALL, Best, Scene
from theory.proofs.tight import positive_semidefinite
from theory.statement import Statement, Status, at_least, at_most

Clients = dict[str, tuple[Fraction, Fraction, Fraction]]  # h, bend, b: h y^2/2 + bend max(y, 0)^2/2 + b y


def slope(client: tuple[Fraction, Fraction, Fraction], y: Fraction) -> Fraction:
    h, bend, b = client
    return h * y + bend * max(y, Fraction(0)) + b


def value(client: tuple[Fraction, Fraction, Fraction], y: Fraction) -> Fraction:
    h, bend, b = client
    return h * y**2 / 2 + bend * max(y, Fraction(0)) ** 2 / 2 + b * y


def known(scene: Scene, clients: Clients, given: dict[str, Fraction], noise: Fraction) -> dict[str, Fraction]:
    """The values of a scene's vectors and function values on the line, where the functions are asked."""
    points = [(function.name, point) for function in scene.functions for point in function.points.values()]
    forms = (*scene.means.values(), *scene.conditions.values())
    names = {n for _, p in points for n in p.x.parts} | {n for form in forms for pair in form.products for n in pair}
    at = dict(given) | {n: noise if n.startswith("n(") else Fraction(0) for n in names if n.startswith(("n(", "bias("))}

    def number(v: Vector) -> Fraction | None:
        return sum((c * at[n] for n, c in v.parts.items()), Fraction(0)) if v.parts.keys() <= at.keys() else None

    pending = points
    while pending:
        left = []
        for name, point in pending:
            x = number(point.x)
            if x is None:
                left.append((name, point))
                continue
            for parts, own in ((point.gradient.parts, slope), (point.value.numbers, value)):
                if len(parts) == 1:  # others are combinations of these
                    ((only, factor),) = parts.items()
                    at[only] = own(clients[name], x) / factor
        assert len(left) < len(pending)
        pending = left
    return at


def evaluated(form: Quadratic, at: dict[str, Fraction]) -> Fraction:
    products = (c * at[a] * at[b] for (a, b), c in form.products.items())
    return sum(products, Fraction(0)) + sum((c * at[n] for n, c in form.numbers.items()), Fraction(0))


# SFL and PFL

STEP = Fraction(1, 7)
PARABOLAS = [(Fraction(1), Fraction(-1, 2), Fraction(2)), (Fraction(1, 2), Fraction(1, 4), Fraction(-1))]


@pytest.mark.parametrize(("S", "K"), [(2, 1), (1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("name", ["step.eq32", "step.eq49", "step.eq50.corrected", "step.eq30", "step.eq35", "lemma13"])
def test_the_quantities_of_a_round_of_sfl_are_those_of_a_run(name: str, S: int, K: int) -> None:
    """On functions with another curvature right of 0, with noise of two values; x* = 0."""
    statement, clients = catalogue.find(f"sfl.{name}"), [*PARABOLAS]
    clients[1] = (*clients[1][:2], -clients[0][2])
    if K * S > 2:
        clients = [(h, Fraction(0), b) for h, _, b in clients]
    rounds, start, sigma = catalogue.rounds(statement), Fraction(3, 2), Fraction(1, 3)
    numbers = {"M": 2, "S": S, "K": K, "L": 1, "eta": STEP} | ({"sigma": 0} if K * S > 2 else {})
    at = rounds.complete(statement, {n: Fraction(v) for n, v in numbers.items()})
    h, bend, b = (np.array([client[i] for client in clients], dtype=object) for i in range(3))
    run = exact_sfl.one_round(
        h.reshape(2, 1, 1), b.reshape(2, 1), np.array([start], dtype=object), K=K, S=S, eta=STEP,
        sigma2=Fraction(0) if K * S > 2 else sigma**2, sequential=name != "lemma13",
        x_star=np.array([Fraction(0)], dtype=object), bend=bend if any(bend) else None,
    )  # fmt: skip
    for scene in rounds.scenes(statement, at):
        own = {f"{i}.": client for i, client in enumerate(clients)}
        given = {"x": start, "g0*": clients[0][2]} | {f"f{i}.0": Fraction(0) for i in range(2)}
        found = known(scene, own, given, sigma)
        place = tuple(int(scene.place[s]) for s in sorted(scene.place, key=str) if s.name in "mk")[::-1]
        seen = 0
        for symbol, form in scene.means.items():
            if isinstance(symbol, sympy.Symbol):
                exact = run[symbol.name]
                assert evaluated(form, found) == (exact[place] if isinstance(exact, dict) else exact), symbol
                seen += 1
        assert seen >= 2


@pytest.mark.parametrize("name", ["lemma6", "lemma10"])
def test_runs_satisfy_the_conditions_of_a_scene(name: str) -> None:
    """A run of the class satisfies all conditions; one with too large curvatures does not."""
    statement = catalogue.find(f"sfl.{name}")
    rounds, start = catalogue.rounds(statement), Fraction(3, 2)
    numbers = {n: Fraction(v) for n, v in {"M": 2, "K": 1, "L": 1, "eta": Fraction(1, 12)}.items()}
    (scene,) = rounds.scenes(statement, rounds.complete(statement, numbers))
    sigma = Fraction(1, 5)
    for factor, inside in ((1, True), (3, False)):
        clients = {
            "0.": (factor * Fraction(1), Fraction(0), Fraction(2)),
            "1.": (Fraction(1, 2), Fraction(0), Fraction(-2)),
        }
        given = {"sigma^2": sigma**2, "zeta_star^2": Fraction(4), "zeta^2": Fraction(100), "x": start}
        given |= {"g0*": Fraction(2)}
        at = known(scene, clients, given, sigma)
        assert all(evaluated(form, at) >= 0 for form in scene.conditions.values()) is inside


# Known constants


def best(id_: str, term: str, **numbers: str) -> Best:
    """The best factor of a term, solved now."""
    statement = catalogue.find(id_)
    (case,) = scenes.cases_at(statement, catalogue.rounds(statement), {n: Fraction(v) for n, v in numbers.items()})
    return scenes.best(scenes.searches(statement, case)[term], "nowhere")


def test_the_best_constants_of_printed_inequalities() -> None:
    """(41): 0.130 where 6 is printed, for two clients and one step; Lemma 6: 0.273 for 9/4; the progress times 6."""
    two = {"M": "2", "K": "1", "L": "1", "eta_tilde": "1/6", "sigma": "0"}
    found = best("sfl.step.gc_recursion", "heterogeneity", **two)
    assert 0.130 <= 6 * found.least <= 6 * found.most <= 0.131
    found = best("sfl.lemma6", "heterogeneity", **two)
    assert 0.272 <= 9 / 4 * found.least <= 9 / 4 * found.most <= 0.273
    found = best("sfl.step.gc_recursion", "progress", **two)
    assert 5.999 <= found.least <= found.most <= 6.001  # b = 2 for 1/3, as in the sharper theorem
    found = best("sfl.step.gc_recursion.sharp", "progress", **two)
    assert 0.999 <= found.least <= found.most <= 1.001  # which cannot be improved


def contracting(factor: str) -> Statement:
    """(41) with another contraction, and without progress."""
    statement = catalogue.find("sfl.eq41")
    symbols = {name: symbol.sympy for name, symbol in catalogue.symbols(statement).items()}
    dist2, rate, mu = symbols["dist2"], symbols["eta_tilde"], symbols["mu"]
    square = symbols["zeta_star"] ** 2 * rate**3 * symbols["L"] / symbols["S"]
    claim = at_most(
        symbols["dist2_next"], contraction=(1 - sympy.Rational(factor) * mu * rate) * dist2, rest=6 * square
    )
    return statement.with_claim(claim)


@pytest.mark.parametrize(("factor", "expected"), [("1/2", True), ("3/2", True), ("2", False)])
def test_the_contraction_three_halves_holds_for_two_clients_with_a_step_each(factor: str, expected: bool) -> None:
    """In place of the printed 1/2; twice mu eta_tilde is too much."""
    statement = contracting(factor)
    numbers = {"M": 2, "K": 1, "L": 1, "mu": Fraction(1, 10), "eta_tilde": Fraction(1, 6), "sigma": 0}
    (case,) = scenes.cases_at(statement, catalogue.rounds(statement), {n: Fraction(v) for n, v in numbers.items()})
    found = scenes.best(scenes.searches(statement, case)[ALL], "nowhere")
    assert found.proves is expected and found.refutes is not expected


# Verdicts


def verdict(statement: Statement) -> Any:
    return scenes.check(catalogue.rounds(statement))(statement, False)


def test_a_verdict_depends_on_every_part_of_a_statement() -> None:
    """Left side, direction, constants, conditions and assumptions of Lemma 6."""
    lemma = catalogue.find("sfl.lemma6")
    assert verdict(lemma).status is Status.HOLDS
    claim = lemma.claim
    terms = {t.name: t.value for t in claim.terms}
    changed = {
        "a smaller term": lemma.with_claim(claim.scaled(Fraction(1, 10))),
        "one smaller term": lemma.with_claim(claim.scaled(Fraction(1, 10), "noise")),
        "a larger left side": lemma.with_claim(at_most(10 * claim.quantity, **terms)),
        "the other direction": lemma.with_claim(at_least(claim.quantity, **terms)),
        "not smooth": replace(lemma, assumes=tuple(a for a in lemma.assumes if a != "sfl.asm.smooth")),
        "any noise": replace(lemma, assumes=tuple(a for a in lemma.assumes if a != "sfl.asm.variance")),
        "biased noise": replace(lemma, assumes=tuple(a for a in lemma.assumes if a != "sfl.asm.unbiased")),
        "any gradients at x*": replace(lemma, assumes=tuple(a for a in lemma.assumes if a != "sfl.asm.het_b")),
        "not convex": replace(lemma, assumes=tuple(a for a in lemma.assumes if a != "sfl.asm.cases")),
    }
    for what, statement in changed.items():
        assert verdict(statement).status is Status.REFUTED, what


def test_a_larger_step_refutes_a_recursion() -> None:
    statement = catalogue.find("sfl.step.gc_recursion")
    limit, *others = statement.when
    longer = replace(limit, relation=sympy.Le(limit.relation.lhs, 48 * limit.relation.rhs))
    assert verdict(replace(statement, when=(longer, *others))).status is Status.REFUTED


def test_a_witness_is_an_instance() -> None:
    """Its Gram matrix is positive semidefinite, and its left side is larger than its right side."""
    lemma = catalogue.find("sfl.lemma6")
    found = verdict(lemma.with_claim(lemma.claim.scaled(Fraction(1, 10))))
    witness = found.witness
    assert Fraction(witness["left"]) > Fraction(witness["right"])
    names = sorted({name for pair in witness["inner products"] for name in pair[1:-1].split(", ")})
    entry = lambda a, b: Fraction(witness["inner products"].get(f"<{min(a, b)}, {max(a, b)}>", 0))  # noqa: E731
    assert positive_semidefinite([[entry(a, b) for b in names] for a in names])


def test_numbers_that_do_not_fit_are_named() -> None:
    statement = catalogue.find("sfl.lemma6")
    rounds = catalogue.rounds(statement)
    for numbers, said in (
        ({"M": 2}, "missing K, L, eta or eta_tilde"),
        ({"M": 2, "K": 1, "L": 1, "eta": 1}, "is violated at"),
        ({"M": 2, "K": 1, "L": 1, "eta": Fraction(1, 12), "T": 1}, "not needed: T"),
        ({"M": 2, "K": 1, "L": -1, "eta": Fraction(1, 12)}, "L = -1: expected"),
        ({"M": 2, "K": 1, "L": 1, "eta": Fraction(1, 12), "sigma": 2}, "sigma = 2: expected 0"),
        ({"M": 2, "S": 3, "K": 1, "L": 1, "eta": Fraction(1, 12)}, "expected S <= M and mu < L"),
        ({"M": 9, "K": 1, "L": 1, "eta": Fraction(1, 1000)}, "local steps in all outcomes: expected 64 at most"),
    ):
        with pytest.raises(ValueError, match=said):
            scenes.cases_at(statement, rounds, {n: Fraction(v) for n, v in numbers.items()})
    with pytest.raises(ValueError, match=r"sfl.lemma4: expected one of sfl.step.eq28"):
        scenes.cases_at(catalogue.find("sfl.lemma4"), rounds, {})


def test_vectors_and_forms_add_up() -> None:
    from theory.proofs.gram import mean, number, summed, total, vector

    a, b = vector("a"), vector("b")
    assert (a + b).square == a.square + b.square + (a @ b) * 2
    assert (a - b) @ (a + b) == a.square - b.square
    assert not a.square - a @ a and total([a, -a]) == a - a
    assert mean([number("f"), number("g")]) == summed([number("f"), number("g")]) / 2
    for one, other in product((a, b), repeat=2):
        assert one @ other == other @ one
