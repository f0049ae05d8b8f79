"""Worst cases of inequalities about a round: the scenes against exact runs, the known constants, and verdicts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

from fedtheory import cli
from fedtheory.bounds import worst_cases
from fedtheory.bounds.sfl.quantities import QUANTITIES, of_step
from fedtheory.brackets import needed
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import round_in_numbers
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import GramVector, QuadraticForm
from fedtheory.theory.proofs.scenes import ALL, FactorRange, Scene
from fedtheory.theory.proofs.tight import NotSolved, positive_semidefinite, verified_instance
from fedtheory.theory.statement import F, Statement, X, at_least


def cases_at(statement: Statement, numbers: Mapping[str, Fraction | int | str]) -> list[scenes.SceneCase]:
    given = {name: Fraction(value) for name, value in numbers.items()}
    return scenes.cases_at(statement, worst_cases.rounds(statement.paper), given)


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
    drawn = {n: noise if n.startswith("n(") else Fraction(0) for n in names if n.startswith(("n(", "bias(", "e("))}
    at = drawn | dict(given)

    def number(v: GramVector) -> Fraction | None:
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


def evaluated(form: QuadraticForm, at: dict[str, Fraction]) -> Fraction:
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
    rounds, start, sigma = worst_cases.rounds(statement.paper), Fraction(3, 2), Fraction(1, 3)
    numbers = {"M": 2, "S": S, "K": K, "L": 1, "eta": STEP} | ({"sigma": 0} if K * S > 2 else {})
    at = rounds.complete(statement, {n: Fraction(v) for n, v in numbers.items()})
    h, bend, b = (np.array([client[i] for client in clients], dtype=object) for i in range(3))
    sequential = name != "lemma13"
    run = round_in_numbers(
        (SFL if sequential else PFL)(K, 1.0, S), h.reshape(2, 1, 1), b.reshape(2, 1), np.array([start], dtype=object), STEP,
        Fraction(0) if K * S > 2 else sigma**2, tuple(bend) if any(bend) else (),
    )  # fmt: skip
    for scene in rounds.scenes(statement, at):
        own = {f"{i}.": client for i, client in enumerate(clients)}
        given = {"x": start, "g0*": clients[0][2]} | {f"f{i}.0": Fraction(0) for i in range(2)}
        found = known(scene, own, given, sigma)
        place = {s.name: int(number) for s, number in scene.place.items()}
        seen = 0
        for symbol, form in scene.means.items():
            if isinstance(symbol, sympy.Symbol):
                number = (place.get("m", 1) - 1) * K + place.get("k", 0)
                one = QUANTITIES.get(symbol.name) or of_step(symbol.name, number, sequential)
                assert evaluated(form, found) == run.mean(one), symbol
                seen += 1
        assert seen >= 2


def test_the_gap_of_a_run_is_that_of_the_average_iterate() -> None:
    """Not the mean of the gaps, which is larger."""
    statement, start, rate = catalogue.find("sfl.thm1.general_convex"), Fraction(3, 2), Fraction(1, 20)
    numbers = {"M": 2, "K": 1, "R": 1, "L": 1, "eta": rate, "sigma": 0}
    rounds = worst_cases.rounds("sfl")
    (scene,) = rounds.scenes(statement, rounds.complete(statement, {n: Fraction(v) for n, v in numbers.items()}))
    clients = [(Fraction(1), Fraction(0), Fraction(2)), (Fraction(1, 2), Fraction(0), Fraction(-2))]
    at = known(scene, {f"{i}.": one for i, one in enumerate(clients)}, {"x": start, "g0*": Fraction(2)}, Fraction(0))
    gaps = []
    for order in ((0, 1), (1, 0)):
        y = start
        for client in order:
            y -= rate * slope(clients[client], y)
        gaps.append(sum(value(client, (start + y) / 2) for client in clients) / 2)
    (form,) = (form for symbol, form in scene.means.items() if str(symbol) == "gap")
    assert evaluated(form, at) == sum(gaps) / 2


@pytest.mark.parametrize("name", ["lemma6", "lemma10"])
def test_runs_satisfy_the_conditions_of_a_scene(name: str) -> None:
    """A run of the class satisfies all conditions; one with too large curvatures does not."""
    statement = catalogue.find(f"sfl.{name}")
    rounds, start = worst_cases.rounds(statement.paper), Fraction(3, 2)
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


@pytest.mark.parametrize("paper", catalogue.names())
def test_all_brackets_of_a_report_are_kept(paper: str) -> None:
    """A report solves nothing: the files have a bracket for every programme, or say that there is none."""
    kept, programmes = scenes.kept(paper), {scenes.key(programme): what for what, programme in needed(paper)}
    assert not (missing := [what for key, what in programmes.items() if key not in kept]), missing
    assert programmes.keys() >= {key for key in kept if not key.startswith(scenes.VIOLATION)}


def test_a_kept_bracket_that_is_changed_is_refused() -> None:
    statement = catalogue.find("sfl.lemma6")
    case = next(scenes.cases(statement, worst_cases.rounds("sfl")))
    programme = scenes.searches(statement, case)["heterogeneity"].above
    told = scenes.kept("sfl")[scenes.key(programme)]
    assert scenes.read(told, programme).upper == Fraction(told["upper"])
    for changed in (
        {"upper": "1/100"},
        {"multipliers": dict.fromkeys(told["multipliers"], "0")},
        {"gram": [-x for x in told["gram"]]},
    ):
        with pytest.raises(ValueError, match=r"prove another|does not satisfy|not positive semidefinite|expected > 0"):
            scenes.read(told | changed, programme)


# Known constants


def best(id_: str, term: str, **numbers: str) -> FactorRange:
    """The best factor of a term, solved now."""
    statement = catalogue.find(id_)
    (case,) = cases_at(statement, numbers)
    return scenes.best(scenes.searches(statement, case)[term], "nowhere")


@pytest.mark.dear
@pytest.mark.parametrize("id_", ["sfl.eq41", "fedbat.lemma1"])
def test_the_answer_is_the_same_in_all_units(id_: str) -> None:
    """With any unit of the objective, and any of length: L = 1, 1000, 1/10^4, 10^400."""
    statement = catalogue.find(id_)
    paper, symbols = statement.paper, {s.name: s for s in catalogue.symbols(statement).values()}
    numbers = next(scenes.cases(statement, worst_cases.rounds(paper))).numbers
    answers, unlike = [], set()
    for objective, length in ((1, 1), (1000, 1), (1, 100), (10**400, 1)):
        units = {F: Fraction(objective), X: Fraction(length)}
        powers = {n: symbols[n].dimension.as_powers_dict() for n in numbers}
        own = {n: v * units[F] ** int(powers[n][F]) * units[X] ** int(powers[n][X]) for n, v in numbers.items()}
        (case,) = cases_at(statement, own)
        every = scenes.searches(statement, case)
        answers.append({term: scenes.best(search, paper) for term, search in every.items()})
        found = scenes.bracket(every[ALL].below, paper)
        assert verified_instance(every[ALL].below, found) == found.lower
        unlike.add(found.instance.gram)
    assert len(answers[0]) > 2 and all(one == answers[0] for one in answers)
    assert len(unlike) > 2  # the instances are in the units of the question


def test_numbers_that_floating_point_cannot_hold_are_not_solved() -> None:
    with pytest.raises(NotSolved, match="too large or too small for the solver: expected 1e-100 to 1e100"):
        best("sfl.step.gc_recursion", "progress", M="2", K="1", L="1", eta_tilde="1e-401", sigma="0")


# Verdicts


def verdict(statement: Statement) -> Any:
    return scenes.check(worst_cases.rounds(statement.paper))(statement, False)


def test_a_witness_can_be_run_again(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of a witness prints functions; their Gram matrix is positive semidefinite."""
    found = verdict(catalogue.find("sfl.lemma9")).witness
    assert Fraction(found["left"]) > Fraction(found["right"])
    _, command, _ = found["functions"].split("`")
    monkeypatch.setattr(sys, "argv", command.split())
    with pytest.raises(SystemExit):
        cli.main()
    told = json.loads(capsys.readouterr().out)
    rows = next(one["refuted_by"]["gram"]["rows"] for one in told if one["term"] == ALL)
    assert positive_semidefinite([[Fraction(x) for x in row] for row in rows])


def test_numbers_that_do_not_fit_are_named() -> None:
    statement = catalogue.find("sfl.lemma6")
    for numbers, said in (
        ({"M": 2}, "missing K, L, eta or eta_tilde"),
        ({"M": 2, "K": 1, "L": 1, "eta": 1}, "is violated at"),
        ({"M": 2, "K": 1, "L": 1, "eta": Fraction(1, 12), "T": 1}, "not needed: T"),
        ({"M": 2, "K": 1, "L": -1, "eta": Fraction(1, 12)}, "L = -1: expected"),
        ({"M": 2, "K": 1, "L": 1, "eta": Fraction(1, 12), "sigma": 2}, "sigma = 2: expected 0"),
        ({"M": 2, "S": 3, "K": 1, "L": 1, "eta": Fraction(1, 12)}, "expected S <= M and mu < L"),
        ({"M": 9, "K": 1, "L": 1, "eta": Fraction(1, 1000)}, "local steps in all outcomes: expected 64 at most"),
        ({"M": 60, "K": 1, "L": 1, "eta": Fraction(1, 1000)}, "more than 1000000000 local steps in all outcomes"),
        ({"M": 10**6, "K": 1, "L": 1, "eta": 1}, "1000000 clients, local steps or rounds: expected 64 at most"),
    ):
        with pytest.raises(ValueError, match=said):
            cases_at(statement, numbers)
    with pytest.raises(ValueError, match=r"sfl.lemma4: expected one of sfl.step.eq28"):
        cases_at(catalogue.find("sfl.lemma4"), {})


def test_what_is_said_of_the_setting_is_part_of_the_verdict() -> None:
    for id_, said in (("fedbat.lemma4.corrected", "equal shares"), ("fedbcgd.lemma6.corrected", "one block")):
        assert said in verdict(catalogue.find(id_)).says


def test_a_run_has_no_lower_bounds_and_fedbcgd_plus_no_noise_of_several_steps() -> None:
    theorem = catalogue.find("sfl.thm1.nonconvex")
    terms = {t.name: t.value for t in theorem.claim.terms}
    with pytest.raises(ValueError, match="expected an upper bound"):
        verdict(theorem.with_claim(at_least(theorem.claim.quantity, **terms)))
    numbers = {"M": 2, "K": 2, "T": 2, "beta": 1, "eta": Fraction(1, 4)}
    with pytest.raises(ValueError, match="expected sigma=0 with several steps"):
        cases_at(catalogue.find("fedbcgd.lemma13.corrected"), numbers)


def test_the_constant_of_an_assumption_is_read() -> None:
    sigma = catalogue.symbols(catalogue.find("sfl.lemma6"))["sigma"].sympy
    assert scenes.squared(3 * sigma / 2) == scenes.squared(sigma) * Fraction(9, 4)
    with pytest.raises(ValueError, match="expected a symbol, or a multiple"):
        scenes.squared(sigma + 1)


def test_vectors_and_forms_add_up() -> None:
    from fedtheory.theory.proofs.gram import mean, number, summed, total, vector

    a, b = vector("a"), vector("b")
    assert (a + b).square == a.square + b.square + (a @ b) * 2
    assert (a - b) @ (a + b) == a.square - b.square
    assert not a.square - a @ a and total([a, -a]) == a - a
    assert mean([number("f"), number("g")]) == summed([number("f"), number("g")]) / 2
    for one, other in product((a, b), repeat=2):
        assert one @ other == other @ one
