"""Best constants by semidefinite programmes: closed forms, the exact checks of both sides, and rounds of SFL and PFL."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
import sympy
from sympy import Rational

from theory import catalogue
from theory.proofs.tight import (
    Bracket,
    Programme,
    Unbounded,
    positive_semidefinite,
    tight,
    verified_instance,
    verified_proof,
)
from theory.proofs.vectors import Point, smooth_convex
from theory.sfl.checks.tight import one_round
from theory.sfl.symbols import D_F, E_r, dist2_next


def descent(steps: int, rate: Rational, mu: sympy.Expr = sympy.S.Zero) -> Programme:
    """Gradient descent on a 1-smooth function: f(x_n) - f* against ||x_0 - x*||^2."""
    x = start = sympy.Symbol("x", real=True)
    points = [Point(sympy.S.Zero, sympy.S.Zero, sympy.S.Zero)]
    for i in range(steps + 1):
        points.append(Point(x, sympy.Symbol(f"f{i}", real=True), sympy.Symbol(f"g{i}", real=True)))
        x = sympy.expand(x - rate * points[-1].gradient)
    pairs = {
        f"{i}, {j}": smooth_convex(a, b, sympy.S.One, mu)
        for i, a in enumerate(points)
        for j, b in enumerate(points)
        if i != j
    }
    return Programme(points[-1].value, start**2, pairs)


def holds(programme: Programme, found: Bracket, value: float, within: float = 1e-4) -> None:
    """Both sides are verified, close, and on either side of the value."""
    assert verified_proof(programme, found) and verified_instance(programme, found) == found.lower
    assert found.lower <= found.upper
    assert float(found.lower) <= value * (1 + 1e-12) and float(found.upper) >= value * (1 - 1e-12)
    assert float(found.upper - found.lower) <= within * abs(value)


@pytest.mark.parametrize("rate", [Rational(1), Rational(1, 2)])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_gradient_descent_has_the_known_constant(steps: int, rate: Rational) -> None:
    """L / (4 n L gamma + 2): Drori and Teboulle (2014), for gamma <= 1/L."""
    programme = descent(steps, rate)
    holds(programme, tight(programme), float(1 / (4 * steps * rate + 2)))


def test_the_contraction_of_a_gradient_step_is_that_of_the_worst_quadratic() -> None:
    """max(1 - mu gamma, L gamma - 1)^2 for ||x_1 - x*||^2."""
    for rate, value in ((Rational(1), 0.81), (Rational(19, 10), 0.81), (Rational(1, 2), 0.9025)):
        made = descent(0, rate, Rational(1, 10))
        x, g = sympy.symbols("x g0", real=True)
        programme = replace(made, objective=sympy.expand((x - rate * g) ** 2))
        holds(programme, tight(programme), value)


def test_without_an_amount_there_is_no_constant() -> None:
    programme = descent(1, Rational(1))
    with pytest.raises(Unbounded, match="no constant is enough"):
        tight(replace(programme, amount=sympy.Symbol("g0", real=True) ** 2))


def test_what_is_changed_is_not_verified() -> None:
    programme = descent(2, Rational(1))
    found = tight(programme)
    name, multiplier = max(found.multipliers.items(), key=lambda pair: pair[1])
    assert not verified_proof(programme, replace(found, multipliers={**found.multipliers, name: multiplier * 2}))
    assert not verified_proof(programme, replace(found, multipliers={**found.multipliers, name: -multiplier}))
    assert not verified_proof(programme, replace(found, upper=found.lower * Fraction(99, 100)))
    assert not verified_proof(replace(programme, objective=2 * programme.objective), found)
    with pytest.raises(ValueError, match="does not satisfy|not positive semidefinite"):
        verified_instance(programme, replace(found, values={n: v + 1 for n, v in found.values.items()}))
    flat = tuple(tuple(-x for x in row) for row in found.gram)
    with pytest.raises(ValueError, match="does not satisfy|not positive semidefinite"):
        verified_instance(programme, replace(found, gram=flat))
    with pytest.raises(ValueError, match="other vectors"):
        verified_instance(descent(1, Rational(1)), found)


def test_positive_semidefinite_is_decided_exactly() -> None:
    tiny = Fraction(1, 10**40)
    for matrix, expected in (
        ([[1, 1], [1, 1]], True),
        ([[1, 1], [1, 1 - tiny]], False),
        ([[0, 0], [0, 1]], True),
        ([[0, tiny], [tiny, 1]], False),
        ([[2, -1, 0], [-1, 2, -1], [0, -1, 2]], True),
    ):
        assert positive_semidefinite([[Fraction(x) for x in row] for row in matrix]) is expected


# Rounds


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(("clients", "some", "steps"), [(2, 2, 2), (3, 2, 1)])
def test_the_quantities_of_a_round_are_those_of_a_run(parallel: bool, clients: int, some: int, steps: int) -> None:
    """On parabolas h_m y^2/2 + b_m y with minimiser 0 of the mean, all orders one by one."""
    rate, start = Fraction(1, 7), Fraction(3)
    h, b = [Fraction(1), Fraction(1, 2), Fraction(1, 3)][:clients], [Fraction(2), Fraction(-1), Fraction(-1)][:clients]
    b[-1] -= sum(b)
    found = one_round(parallel, clients, some, steps, Rational(rate.numerator, rate.denominator))
    at: dict[sympy.Symbol, sympy.Rational] = {sympy.Symbol("x", real=True): sympy.Rational(3)}
    for m, points in enumerate(found.points):
        for point in points:
            y = point.x
            while y.free_symbols - at.keys():  # gradients at earlier points
                earlier = [
                    p for own in found.points for p in own if p.gradient in y.free_symbols and p.gradient not in at
                ]
                pending = [p for p in earlier if not p.x.free_symbols - at.keys()]
                for p in pending:
                    n = next(i for i, own in enumerate(found.points) if p in own)
                    at[p.gradient] = Rational(h[n]) * p.x.subs(at) + Rational(b[n])
                assert pending
            own = Fraction(str(y.subs(at)))
            if isinstance(point.gradient, sympy.Symbol):
                at[point.gradient] = Rational(h[m] * own + b[m])
            if isinstance(point.value, sympy.Symbol):
                at[point.value] = Rational(h[m] * own**2 / 2 + b[m] * own)
    ends, drifts = [], []
    for order in permutations(range(clients), some):
        y, walked, moved = start, Fraction(0), Fraction(0)
        for m in order:
            own = start if parallel else y
            for _ in range(steps):
                walked += (own - start) ** 2
                own -= rate * (h[m] * own + b[m])
            moved += own - start
            y = own
        ends.append(start + moved / some if parallel else y)
        drifts.append(walked / some if parallel else walked)
    mean = sum((e**2 for e in ends), Fraction(0)) / len(ends)
    assert found.means[dist2_next].subs(at) == Rational(mean)
    drift = next(form for quantity, form in found.means.items() if "E" in str(quantity) and quantity not in (D_F,))
    assert drift.subs(at) == Rational(sum(drifts, Fraction(0)) / len(drifts))
    assert E_r in found.means or parallel


def best(id_: str, term: str, **numbers: str) -> tuple[float, float]:
    """The bracket for a term's best constant over the stated one, verified."""
    made = catalogue.programmes(catalogue.find(id_), {n: Rational(v) for n, v in numbers.items()})
    programme, sign = made[term]
    found = tight(programme)
    assert verified_proof(programme, found) and verified_instance(programme, found) == found.lower
    low, high = sorted((sign * float(found.lower), sign * float(found.upper)))
    return low, high


def test_the_best_constants_of_printed_inequalities() -> None:
    """(41): 0.130 where 6 is printed, for two clients and one step; Lemma 6: 0.273 for 9/4; the progress times 6."""
    two = {"M": "2", "K": "1", "L": "1"}
    low, high = best("sfl.step.gc_recursion", "heterogeneity", **two, eta_tilde="1/6")
    assert 0.130 <= 6 * low <= 6 * high <= 0.131
    low, high = best("sfl.lemma6", "heterogeneity", **two, eta_tilde="1/6")
    assert 0.272 <= 9 / 4 * low <= 9 / 4 * high <= 0.273
    low, high = best("sfl.step.gc_recursion", "progress", **two, eta_tilde="1/6")
    assert 5.999 <= low <= high <= 6.001  # b = 2 for 1/3, as in the sharper theorem
    low, high = best("sfl.step.gc_recursion.sharp", "progress", **two, eta_tilde="1/6")
    assert 0.999 <= low <= high <= 1.001  # which cannot be improved


def test_numbers_that_do_not_fit_are_named() -> None:
    statement = catalogue.find("sfl.lemma6")
    for numbers, said in (
        ({"M": 2}, "missing K, L, eta or eta_tilde"),
        ({"M": 2, "K": 1, "L": 1, "eta": 1}, "is violated at"),
        ({"M": 2, "K": 1, "L": 1, "eta": Rational(1, 12), "beta": 1}, "not needed: beta"),
        ({"M": 2, "K": 1, "L": -1, "eta": Rational(1, 12)}, "L = -1: expected"),
        ({"M": 9, "K": 1, "L": 1, "eta": Rational(1, 1000)}, "local steps in all orders: expected 40 at most"),
    ):
        with pytest.raises(ValueError, match=said):
            catalogue.programmes(statement, numbers)
    with pytest.raises(ValueError, match="expected a statement of the sfl paper about one round"):
        catalogue.programmes(catalogue.find("fedcom.lemmaD1"), {})
