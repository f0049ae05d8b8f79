"""Best constants of whole runs of the SFL paper: the known functions, and what is on record."""

from __future__ import annotations

import copy
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import mpmath
import pandas as pd
import pytest

from fedtheory.bounds.sfl import worst_functions
from fedtheory.bounds.sfl.worst_case import ROUNDS
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, scenes, symmetry
from fedtheory.theory.proofs.scenes import START, Search
from fedtheory.theory.proofs.tight import needed_on_line, on_line, tight

Q, ETA = Fraction, Fraction(1, 6)
ON_RECORD = ("sfl.thm1.general_convex", "sfl.thm1.nonconvex", "sfl.thm2.strongly_convex")


def search(id_: str, **numbers: int | Fraction) -> Search:
    given = {"L": Q(1), "sigma": Q(0), "eta_tilde": ETA} | {name: Q(x) for name, x in numbers.items()}
    (case,) = scenes.cases_at(catalogue.find(id_), ROUNDS, given)
    return scenes.searches(catalogue.find(id_), case)[START]


@pytest.mark.parametrize("R", [1, 2, 5])
def test_what_the_known_functions_need_has_a_formula(R: int) -> None:
    """Exactly, as a factor on 3/(eta_tilde R): 1/(2 (1 + R eta_tilde)), and the known rate of gradient descent."""
    convex, stated = 1 / (2 * (1 + R * ETA)), 3 / (ETA * R)
    assert needed_on_line(search("sfl.thm2.general_convex", M=2, K=1, R=R).above) == convex / stated
    nonconvex = 4 / (R * ETA * (4 - ETA) + 2)
    assert needed_on_line(search("sfl.thm2.nonconvex", M=2, K=1, R=R).below) == nonconvex / stated
    if R < 3:
        assert needed_on_line(search("sfl.thm1.general_convex", M=2, K=1, R=R).above) == convex / stated
        h = ETA / 2
        a = 1 / (1 + h)
        two_steps = 2 / (1 + 2 * R * (h / 2 * (1 + a) ** 2 - h**2 / 4 * (1 - a**2)))
        assert needed_on_line(search("sfl.thm2.nonconvex", M=1, K=2, R=R).below) == two_steps / stated
        assert needed_on_line(search("sfl.thm1.nonconvex", M=2, K=1, R=R).below) == two_steps / stated


def test_the_gap_of_the_bowl_is_that_of_a_run() -> None:
    """Gradient descent on it, in fractions, with the theorem's weights."""
    mu, R, x = Q(1, 2), 12, Q(1)
    weights = [(1 - mu * ETA / 2) ** -(r + 1) for r in range(R + 1)]
    f = worst_functions.worst_bowl(Q(1), mu, ETA, 1, weights)
    run = [x := x - ETA * f(x)[1] if r else x for r in range(R + 1)]
    gap = f(sum(w * x for w, x in zip(weights, run, strict=True)) / sum(weights))[0]
    one = search("sfl.thm2.strongly_convex", M=1, K=1, R=R, mu=mu)
    instance = on_line(one.above)
    assert instance is not None
    whole = instance.gram[instance.vectors.index("x")][instance.vectors.index("x")]  # D^2
    assert instance.at(one.above.objective) == gap * whole


@pytest.mark.parametrize("steps", [1, 2])
def test_the_staircase_is_smooth_and_nowhere_below_its_infimum(steps: int) -> None:
    points = worst_functions.stairs(Q(2), Q(1, 10), steps, 3)
    assert points is not None and len(points) == 3 * steps + 1
    assert {slope for _, _, slope in points[::steps]} == {Q(1)}
    for (x, value, h), (y, above, g) in pairwise(points):
        assert abs(g - h) <= 2 * (y - x)  # L = 2
        # the least that a function with these slopes can rise
        assert above - value == (y - x) * (g + h) / 2 - Q(2) * (y - x) ** 2 / 4 + (g - h) ** 2 / 8
        assert y - x == Q(1, 10) * g
    assert points[0][1] == Q(1, 4)  # 1 / (2 L)
    assert worst_functions.stairs(Q(2), Q(1, 10), 3, 1) is None


def test_an_instance_outside_the_class_is_refused() -> None:
    one = search("sfl.thm2.general_convex", M=2, K=1, R=1).above
    object.__setattr__(one, "line", {**one.line, "x": Q(1, 2)})  # too near for this value and slope
    with pytest.raises(ValueError, match="does not satisfy"):
        on_line(one)


def test_powers_of_e_are_between_fractions() -> None:
    """The proof has the smaller one on its larger side, the instance the larger one."""
    one = search("sfl.thm2.strongly_convex", M=1, K=1, R=12, mu=Q(1, 2))
    (below,), (above,) = (form.products.values() for form in (one.above.amount, one.below.amount))
    with mpmath.workdps(40):
        exact = mpmath.mpf(9) / 4 * mpmath.exp(mpmath.mpf(-1) / 2)
        assert mpmath.mpf(below.numerator) / below.denominator < exact < mpmath.mpf(above.numerator) / above.denominator
    assert 0 < above - below < Q(1, 10**20)


@pytest.mark.parametrize("id_", ON_RECORD)
def test_the_record_is_checked_again_and_needs_no_solver(id_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "tight", lambda programme: pytest.fail("a solver"))
    found = [scenes.best(one, "sfl") for _, one in ROUNDS.of_start(catalogue.find(id_))]
    assert found and all(0 < best.least <= best.most <= best.least * Q(1001, 1000) for best in found)


def test_a_wrong_constant_is_refused() -> None:
    (_, one), *_ = ROUNDS.of_start(catalogue.find("sfl.thm1.general_convex"))
    told = copy.deepcopy(scenes.kept("sfl")[scenes.key(one.above)])
    assert scenes.read(told, one.above).lower == needed_on_line(one.above)
    smaller = {**told, "upper": str(Q(told["upper"]) * Q(999, 1000))}
    with pytest.raises(ValueError, match="prove another inequality"):
        scenes.read(smaller, one.above)
    with pytest.raises(ValueError, match="prove another inequality"):
        scenes.read({**told, "multipliers": dict(list(told["multipliers"].items())[1:])}, one.above)


@pytest.mark.parametrize("case", ["general_convex", "nonconvex"])
def test_one_round_has_the_same_constant_by_symmetry_and_with_all_clients(case: str) -> None:
    id_ = f"sfl.thm2.{case}"
    entry = f"{id_} K=1 R=1 L=1 sigma=0 eta_tilde=1/6"
    told = every_record.kept("sfl")[entry]
    assert told is not None
    (every,) = every_record.read(entry, {START: told[START]}, ROUNDS)
    whole = scenes.best(search(id_, M=2, K=1, R=1), "sfl")
    assert abs(symmetry.value(every.proved, 2) - whole.most) < whole.most / 1000
    assert every.least is not None and symmetry.value(every.least, 2) == whole.least


def test_without_the_known_function_the_solver_finds_no_larger_constant() -> None:
    one = search("sfl.thm1.general_convex", M=2, K=1, R=1).above
    object.__setattr__(one, "line", {})
    assert not on_line(one) and abs(tight(one).upper - Q(1, 42)) < Q(1, 10**5)


def test_the_strongly_convex_theorems_begin_where_a_tree_of_orders_is_too_large() -> None:
    theorem = catalogue.find("sfl.thm2.strongly_convex")
    numbers = {"M": Q(1), "K": Q(1), "L": Q(1), "sigma": Q(0), "mu": Q(1, 2), "eta_tilde": ETA}
    with pytest.raises(ValueError, match="violated"):
        scenes.cases_at(theorem, ROUNDS, numbers | {"R": Q(11)})
    with pytest.raises(ValueError, match="expected one of"):
        scenes.cases_at(catalogue.find("sfl.thm1.strongly_convex"), ROUNDS, numbers | {"R": Q(12)})


def test_what_is_drawn_as_proved_is_what_the_functions_need() -> None:
    """Within 0.1 %: for the numbers that are drawn, the conjecture is true."""
    drawn = pd.read_csv(Path(__file__).parents[2] / "figures/drawn/sfl_tight_rates.csv")
    keys = ["case", "steps", "R"]  # two steps of PFL with one client are one round of SFL with two that are alike
    proved, needed = (drawn[drawn.what == what].set_index(keys).constant for what in ("proved", "needed"))
    ratios = (proved / needed.groupby(level=keys).first()).dropna()
    assert len(ratios) == len(proved) >= 20
    assert ratios.between(0.9999, 1.001).all()
