"""Inequalities between points and functions: from the textbooks, their worsened forms, and what is asked wrongly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy

from fedtheory.theory.inequalities import OnTheLine, constants, decided, function, points, question, value_at
from fedtheory.theory.statement import Status

x, y, z, u, v, w = points("x y z u v w")
a, eta, share = constants("a eta share")
f = function("f", smooth="L", convex=True)
g = function("g", smooth="L", strongly_convex="mu")
n = function("n", smooth="L")
c = function("c", convex=True)
s = function("s", strongly_convex="mu")
L, mu = f.L, g.mu
assert L is not None and mu is not None
df, dg, dn = (one.grad(x) - one.grad(y) for one in (f, g, n))
step = x - eta * f.grad(x)

# name -> claim with a constant k that is 1 in the books, conditions, and whether k = 1.01 is false
BOOKS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "first-order convexity": (lambda k: c(x) >= c(y) + c.grad(y).dot(x - y) + (k - 1) * (x - y).norm2, ()),
    "Jensen's inequality": (
        lambda k: k * c(share * x + (1 - share) * y) <= share * c(x) + (1 - share) * c(y),
        (share <= 1,),
    ),
    "first-order strong convexity": (lambda k: s(x) >= s(y) + s.grad(y).dot(x - y) + k * mu / 2 * (x - y).norm2, ()),
    "strong monotonicity": (lambda k: (s.grad(x) - s.grad(y)).dot(x - y) >= k * mu * (x - y).norm2, ()),
    "strong convexity along a segment": (
        lambda k: (
            s(share * x + (1 - share) * y) + k * mu / 2 * share * (1 - share) * (x - y).norm2
            <= share * s(x) + (1 - share) * s(y)
        ),
        (share <= 1,),
    ),
    "quadratic growth": (lambda k: s(x) - s(s.minimiser) >= k * mu / 2 * (x - s.minimiser).norm2, ()),
    "Polyak-Lojasiewicz": (lambda k: s.grad(x).norm2 >= k * 2 * mu * (s(x) - s(s.minimiser)), ()),
    "gap by gradients": (
        lambda k: k * (s(x) - s(y) - s.grad(y).dot(x - y)) <= (s.grad(x) - s.grad(y)).norm2 / (2 * mu),
        (),
    ),
    "descent lemma": (lambda k: k * (n(x) - n(y) - n.grad(y).dot(x - y)) <= L / 2 * (x - y).norm2, ()),
    "lower descent lemma": (lambda k: n(x) - n(y) - n.grad(y).dot(x - y) >= -L / (2 * k) * (x - y).norm2, ()),
    "Lipschitz gradients": (lambda k: k * dn.norm2 <= L**2 * (x - y).norm2, ()),
    "co-coercivity": (lambda k: df.dot(x - y) >= k * df.norm2 / L, ()),
    "Bregman divergence and gradients": (lambda k: k * df.norm2 <= 2 * L * f.bregman(x, y), ()),
    "Bregman divergence and distance": (lambda k: k * f.bregman(x, y) <= L / 2 * (x - y).norm2, ()),
    "gradient and gap": (lambda k: k * f.grad(x).norm2 <= 2 * L * (f(x) - f(f.minimiser)), ()),
    "Nesterov 2.1.12": (lambda k: dg.dot(x - y) >= k * (mu * L * (x - y).norm2 + dg.norm2) / (mu + L), ()),
    "interpolation, smooth and strongly convex": (
        lambda k: (
            g.bregman(x, y) >= k * (dg.norm2 / L + mu * (x - y).norm2 - 2 * mu / L * dg.dot(x - y)) / (2 * (1 - mu / L))
        ),
        (),
    ),
    "gradient step": (lambda k: f(step) <= f(x) - k * eta / 2 * f.grad(x).norm2, (eta <= 1 / L,)),
    "gradient step, non-convex": (
        lambda k: n(x - eta * n.grad(x)) <= n(x) - k * eta * (1 - L * eta / 2) * n.grad(x).norm2,
        (eta <= 1 / L,),
    ),
    "a step towards the minimiser": (
        lambda k: k * (step - f.minimiser).norm2 <= (x - f.minimiser).norm2,
        (eta <= 2 / L,),
    ),
    "contraction of a step": (
        lambda k: (x - eta * g.grad(x) - g.minimiser).norm2 <= (1 - k * mu * eta) * (x - g.minimiser).norm2,
        (eta <= 1 / L,),
    ),
    "contraction with the best step": (
        lambda k: (
            k * (x - 2 / (mu + L) * g.grad(x) - g.minimiser).norm2
            <= ((L - mu) / (L + mu)) ** 2 * (x - g.minimiser).norm2
        ),
        (),
    ),
    "perturbed strong convexity": (
        lambda k: g.grad(x).dot(z - y) >= g(z) - g(y) + k * mu / 4 * (y - z).norm2 - L * (z - x).norm2,
        (),
    ),
    "Young's inequality": (lambda k: 2 * k * u.dot(v) <= a * u.norm2 + v.norm2 / a, ()),
    "relaxed triangle inequality": (lambda k: k * (u + v).norm2 <= (1 + a) * u.norm2 + (1 + 1 / a) * v.norm2, ()),
    "square of a sum": (lambda k: k * (u + v + w).norm2 <= 3 * (u.norm2 + v.norm2 + w.norm2), ()),
    "subgradient step": (
        lambda k: (
            (x - eta * c.grad(x) - c.minimiser).norm2
            <= (x - c.minimiser).norm2 - 2 * k * eta * (c(x) - c(c.minimiser)) + eta**2 * c.grad(x).norm2
        ),
        (),
    ),
}


@pytest.mark.dear
@pytest.mark.parametrize("name", BOOKS)
def test_an_inequality_of_the_textbooks_is_proved_and_a_worse_constant_is_refuted(name: str) -> None:
    """By a certificate for all constants; and by functions or inner products that anyone can check."""
    claim, when = BOOKS[name]
    proved, refuted = decided(claim(1), when), decided(claim(sympy.Rational(101, 100)), when)
    assert proved.status is Status.PROVED, proved
    assert refuted.status is Status.REFUTED and refuted.witness, refuted


def test_identities_are_proved_in_both_directions() -> None:
    """The identity of three points, and of polarisation; with another factor they are refuted."""
    three = f.bregman(x, y) + f.bregman(y, z) - f.bregman(x, z)
    assert decided(sympy.Eq(three, (f.grad(z) - f.grad(y)).dot(x - y))).status is Status.PROVED
    assert decided(sympy.Eq(three, 2 * (f.grad(z) - f.grad(y)).dot(x - y))).status is Status.REFUTED
    assert decided(sympy.Eq(2 * u.dot(v), u.norm2 + v.norm2 - (u - v).norm2)).status is Status.PROVED


@pytest.mark.parametrize("size", [Fraction(1, 10_000), 1, 1000])
@pytest.mark.parametrize("unit", [Fraction(1, 10_000), 1, 1000])
def test_other_units_change_no_answer(size: Any, unit: Any) -> None:
    """L, and both sides of the claim, may have any size."""
    own = function("own", smooth=size, convex=True)
    change = own.grad(x) - own.grad(y)
    left, right = unit * change.norm2, unit * 2 * own.L * own.bregman(x, y)
    assert decided(left <= right).status is Status.PROVED
    assert decided(sympy.Rational(101, 100) * left <= right).status is Status.REFUTED


def test_a_given_inequality_is_used_and_needed() -> None:
    """A claim that is false follows from what is given."""
    claim, close = f(x) - f(y) <= a / 2 + (x - y).norm2 / (2 * a), f.grad(x).norm2 <= 1
    assert decided(claim, given=[close]).status is Status.PROVED
    assert decided(claim).status is Status.REFUTED


@pytest.mark.parametrize(
    "given",
    [
        [x.norm2 >= y.norm2 + 1, x.norm2 <= y.norm2],
        [f(x) <= f(f.minimiser) - 1],
        [x.norm2 <= -a],
    ],
)
def test_nothing_follows_from_what_contradicts_itself(given: list[Any]) -> None:
    """As from conditions that exclude each other."""
    assert decided((x - y).norm2 <= 0, given=given).status is Status.VACUOUS


def test_inner_products_of_a_witness_meet_what_is_given_and_violate_the_claim() -> None:
    """In the units of the question, in which 1 is 1; also where only a direction violates the claim."""
    own = function("own", smooth=4, convex=True)
    slope = own.grad(x)
    parts = {"<x, x>": x.norm2, "<y, y>": y.norm2, "<z, z>": z.norm2, "<x, y>": x.dot(y)}
    parts["<grad own[x], grad own[x]>"] = slope.norm2
    for claim, given in (
        (x.norm2 <= 1, [x.norm2 <= 2]),
        (x.norm2 - 2 * x.dot(y) + y.norm2 <= 4 + z.norm2, [x.norm2 >= 2, x.dot(y) >= 7, z.norm2 >= 3]),
        (slope.norm2 <= 5, [slope.norm2 <= 7, slope.norm2 >= 6]),
    ):
        found = decided(claim, given=given)
        at = {part: sympy.Rational(found.witness[name]) for name, part in parts.items() if name in found.witness}
        assert found.status is Status.REFUTED and "1" not in found.witness, found
        assert claim.subs(at) == sympy.false and all(one.subs(at) == sympy.true for one in given)
        assert str((claim.gts - claim.lts).subs(at)) == found.witness["larger side - smaller side"]


def test_a_refuted_claim_comes_with_a_function_that_violates_it() -> None:
    """The witness, computed again by hand."""
    found = decided(df.norm2 <= L * f.bregman(x, y))
    assert found.witness["f"] == "1/2 t^2" and found.witness["L"] == "1"
    at = {name: Fraction(found.witness[name]) for name in ("x", "y")}
    assert (at["x"] - at["y"]) ** 2 == Fraction(found.witness["smaller side"])
    assert (at["x"] - at["y"]) ** 2 / 2 == Fraction(found.witness["larger side"])


def test_functions_on_the_line_have_the_derivative_that_they_say() -> None:
    """Values by the integral of the derivative, exactly, on both sides of each bend."""
    bent = OnTheLine((Fraction(1), Fraction(1, 2), Fraction(2)), Fraction(-1))
    for t in (Fraction(-2), Fraction(1, 2), Fraction(3)):
        h = Fraction(1, 1000)
        assert bent.value(t + h) - bent.value(t - h) == pytest.approx(2 * h * bent.gradient(t), rel=1e-9)
    assert value_at(sympy.Symbol("t") ** 2 - 1, {sympy.Symbol("t"): Fraction(3)}) == 8


def test_where_nothing_is_proved_nothing_is_claimed() -> None:
    """Conditions that exclude each other, and a claim that is true at the numbers tried but not for all."""
    assert decided(f(x) >= f(y), [eta <= 1, eta >= 2]).status is Status.VACUOUS
    assert decided(f(x) >= f(y)).status is Status.REFUTED


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: decided(f(x) < f(y)), "expected an inequality with <= or >="),
        (lambda: decided(sympy.Symbol("b") * x.norm2 >= 0 * y.norm2 + x.dot(y)), "b: expected constants"),
        (lambda: function("q", smooth=-1), "smooth = -1 of q: expected a name or a positive number"),
        (lambda: function("q", smooth=1, strongly_convex=2), "expected a larger smoothness constant"),
        (lambda: points(" "), "expected names"),
        (lambda: question(sympy.Ge(sympy.sqrt(x.norm2), y.norm2)), "expected sums of inner products"),
        (lambda: decided(f(x) * f(y) >= 0 * f(x) + f(y)), "expected sums of inner products"),
        (lambda: decided(x.norm2 >= 0 * y.norm2 + a, [y.norm2 <= a]), "when .*: expected conditions on the constants"),
        (lambda: decided(sympy.Le(x.e, y.e)), "x: expected inner products, squared norms and values, not a vector"),
    ],
)
def test_what_is_asked_wrongly_gives_an_error_that_says_what_was_expected(ask: Callable[[], Any], says: str) -> None:
    """A ValueError with the text that was passed."""
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        ask()


@pytest.mark.parametrize(
    "false",
    [
        x.dot(y) ** 2 >= x.norm2 * y.norm2,
        sympy.Eq(x.dot(y) ** 2, x.norm2 * y.norm2),
        f.grad(x).norm2 * x.norm2 <= f.grad(x).dot(x) ** 2,
        x.norm2 * y.norm2 * z.norm2 <= x.dot(y) * y.dot(z) * z.dot(x),
        (x * y.norm2).dot(x) + f(x) <= (y * x.dot(y)).dot(x) + f(y) + f.grad(x).dot(x - y),
        f(x * (y.norm2 * z.norm2 - y.dot(z) ** 2)) <= f(x - x),
    ],
)
def test_a_product_of_forms_is_an_error_even_if_it_cancels(false: Any) -> None:
    """As commuting symbols both sides would be the same; so it is in what is given, and next to a product of constants."""
    for claim, given in ((false, []), (f(x) <= f(y), [sympy.Ge(*false.args, evaluate=False)])):
        with pytest.raises(ValueError, match="expected sums of inner products"):
            decided(claim, given=given)
    assert decided((a + 1) ** 2 * x.dot(y) - a * x.dot(y) <= (a**2 + a + 1) * y.dot(x)).status is Status.PROVED


def test_functions_of_one_name_and_two_classes_are_two_functions() -> None:
    """A claim keeps the class that it was made with; one claim cannot have both."""
    convex = function("same", convex=True)
    claim = convex(x) >= convex(y) + convex.grad(y).dot(x - y)
    other = function("same")
    assert decided(claim).status is Status.PROVED
    assert decided(other(x) >= other(y) + other.grad(y).dot(x - y)).status is Status.REFUTED
    with pytest.raises(ValueError, match="expected different names"):
        decided(convex(x) <= other(y))
    assert function("same", convex=True)(x) == convex(x)  # the same class again


def test_a_product_of_vectors_is_an_error() -> None:
    """Inner products are written with dot or @."""
    with pytest.raises(TypeError, match="expected a number times a vector"):
        x * y
    with pytest.raises(TypeError, match="expected a vector"):
        f(1)  # type: ignore[arg-type]
