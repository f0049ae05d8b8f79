"""Ten examples of PEPit 0.5.1 whose tight rates are known in closed form, each as a `Programme` of our own.

They are written from the mathematical description of the methods.  x* is 0, and f(x*) is 0.  A programme is homogeneous:
where a method has two bounds, such as ||x_0 - x*|| <= R and ||g_i|| <= M, the second one is relative to the amount, which
stands for 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import sympy
from sympy import Rational

from fedtheory.theory.proofs.tight import Programme
from fedtheory.theory.proofs.vectors import Point, convex, smooth, smooth_convex

Conditions = dict[str, sympy.Expr]
Numbers = Mapping[str, Rational]
START = sympy.Symbol("x0", real=True)
STAR = Point(sympy.S.Zero, sympy.S.Zero, sympy.S.Zero)
LEAST = sympy.Symbol("least", real=True)  # of several quantities; it is in no product, so it counts as a function value


@dataclass(frozen=True)
class Example:
    """An example of PEPit.

    path    its module in PEPit.examples; the function has the same name after wc_
    source  of the closed form
    made    our programme, by PEPit's names of the parameters
    value   the closed form, by the same names
    cases   parameters for which the closed form is tight; PEPit's own come first, unless they are irrational or slow
    """

    path: str
    source: str
    made: Callable[..., Programme]
    value: Callable[..., sympy.Expr]
    cases: tuple[Numbers, ...]


def _symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, real=True)


def _point(name: str, x: sympy.Expr) -> Point:
    """The point x, with new symbols for the value and the gradient there."""
    return Point(sympy.expand(x), _symbol(f"f({name})"), _symbol(f"g({name})"))


def _proximal(name: str, x: sympy.Expr, rate: Rational) -> Point:
    """The point after a proximal step from x: x less rate times a subgradient at the new point."""
    new = _point(name, x)
    return Point(sympy.expand(x - rate * new.gradient), new.value, new.gradient)


def _class(points: Sequence[Point], condition: Callable[[Point, Point], sympy.Expr], name: str = "f") -> Conditions:
    """The condition of a class of functions on all ordered pairs of points."""
    return {f"{name}: {i}, {j}": condition(a, b) for (i, a), (j, b) in permutations(enumerate(points), 2)}


def _operator(points: Sequence[Point], condition: Callable[[sympy.Expr, sympy.Expr], sympy.Expr]) -> Conditions:
    """The condition of a class of operators on all pairs of points.

    condition  of the difference of the points and that of the operator's values, which stand in place of gradients
    """
    return {
        f"A: {i}, {j}": sympy.expand(condition(a.x - b.x, a.gradient - b.gradient))
        for (i, a), (j, b) in combinations(enumerate(points), 2)
    }


def _below(quantities: Sequence[sympy.Expr]) -> Conditions:
    """LEAST is at most each of the quantities."""
    return {f"least: {i}": sympy.expand(quantity - LEAST) for i, quantity in enumerate(quantities)}


# Functions


def gradient_descent(L: Rational, gamma: Rational, n: Rational) -> Programme:
    """f(x_n) - f* against ||x_0 - x*||^2 on L-smooth convex functions."""
    points, x = [STAR], START
    for i in range(int(n) + 1):
        points.append(_point(f"x{i}", x))
        x -= gamma * points[-1].gradient
    return Programme.of(points[-1].value, START**2, _class(points, lambda a, b: smooth_convex(a, b, L)))


def accelerated_gradient(mu: Rational, L: Rational, n: Rational) -> Programme:
    """f(x_n) - f* against ||x_0 - x*||^2 for Nesterov's method with momentum i/(i + 3)."""
    points, x, y = [STAR], START, START
    for i in range(int(n)):
        points.append(_point(f"y{i}", y))
        before, x = x, y - points[-1].gradient / L
        y = x + Rational(i, i + 3) * (x - before)
    points.append(_point(f"x{n}", x))
    return Programme.of(points[-1].value, START**2, _class(points, lambda a, b: smooth_convex(a, b, L, mu)))


def proximal_point(gamma: Rational, n: Rational) -> Programme:
    """f(x_n) - f* against ||x_0 - x*||^2 on convex functions."""
    points, x = [STAR], START
    for i in range(int(n)):
        points.append(_proximal(f"x{i + 1}", x, gamma))
        x = points[-1].x
    return Programme.of(points[-1].value, START**2, _class(points, convex))


def subgradient_method(M: Rational, n: Rational, gamma: Rational) -> Programme:
    """The least f(x_i) - f* against ||x_0 - x*||^2, which is 1, on convex M-Lipschitz functions."""
    points, x = [], START
    for i in range(int(n) + 1):
        points.append(_point(f"x{i}", x))
        x -= gamma * points[-1].gradient
    lipschitz = {f"M: {i}": M**2 * START**2 - p.gradient**2 for i, p in enumerate(points)}
    return Programme.of(
        LEAST, START**2, _class([STAR, *points], convex) | lipschitz | _below([p.value for p in points])
    )


def exact_line_search(L: Rational, mu: Rational, n: Rational) -> Programme:
    """f(x_n) - f* against f(x_0) - f* for steps along the gradient to the lowest point.

    There the gradient is orthogonal to the step and to the last gradient: an equality is two opposite conditions.
    """
    points = [STAR, _point("x0", START)]
    orthogonal: Conditions = {}
    for i in range(1, int(n) + 1):
        old, new = points[-1], _point(f"x{i}", _symbol(f"x{i}"))
        points.append(new)
        for name, direction in (("step", new.x - old.x), ("gradient", old.gradient)):
            product = sympy.expand(new.gradient * direction)
            orthogonal |= {f"{name}: {i}, >=": product, f"{name}: {i}, <=": -product}
    inside = _class(points, lambda a, b: smooth_convex(a, b, L, mu))
    return Programme.of(points[-1].value, points[1].value, inside | orthogonal)


def proximal_gradient(L: Rational, mu: Rational, gamma: Rational, n: Rational) -> Programme:
    """||x_n - x*||^2 against ||x_0 - x*||^2 for the sum of a smooth and strongly convex f_1 and a convex f_2."""
    star, x = _symbol("g1(x*)"), START  # of f_1; that of f_2 is its negative, and nothing bounds it
    first, second = [Point(sympy.S.Zero, sympy.S.Zero, star)], [Point(sympy.S.Zero, sympy.S.Zero, -star)]
    for i in range(int(n)):
        first.append(_point(f"1, x{i}", x))
        second.append(_proximal(f"2, x{i + 1}", x - gamma * first[-1].gradient, gamma))
        x = second[-1].x
    inside = _class(first, lambda a, b: smooth_convex(a, b, L, mu), "f1") | _class(second, convex, "f2")
    return Programme.of(sympy.expand(x**2), START**2, inside)


def sgd(L: Rational, mu: Rational, gamma: Rational, v: Rational, R: Rational, n: Rational) -> Programme:
    """The mean of ||x_1 - x*||^2 over n functions against ||x_0 - x*||^2 / R^2, which is 1.

    The mean of ||grad f_i(x*)||^2 is at most v^2.
    """
    stars = [_symbol(f"g{i}(x*)") for i in range(int(n) - 1)]
    stars.append(-sympy.Add(*stars))
    inside: Conditions = {}
    ends = []
    for i, star in enumerate(stars):
        at_start = _point(f"{i}, x0", START)
        ends.append((START - gamma * at_start.gradient) ** 2)
        own = [Point(sympy.S.Zero, sympy.S.Zero, star), at_start]
        inside |= _class(own, lambda a, b: smooth_convex(a, b, L, mu), f"f{i}")
    amount = START**2 / R**2
    inside["v"] = sympy.expand(v**2 * amount - sympy.Add(*(star**2 for star in stars)) / n)
    return Programme.of(sympy.expand(sympy.Add(*ends) / n), amount, inside)


def nonconvex_gradient_descent(L: Rational, gamma: Rational, n: Rational) -> Programme:
    """The least ||grad f(x_i)||^2 against f(x_0) - f(x_n) on L-smooth functions.

    There is no x* here: x_0 and f(x_n) are 0.
    """
    points, x = [], sympy.S.Zero
    for i in range(int(n) + 1):
        points.append(_point(f"x{i}", x))
        x -= gamma * points[-1].gradient
    points[-1] = Point(points[-1].x, sympy.S.Zero, points[-1].gradient)
    inside = _class(points, lambda a, b: smooth(a, b, L)) | _below([p.gradient**2 for p in points])
    return Programme.of(LEAST, points[0].value, inside)


# Operators


def halpern_iteration(n: Rational) -> Programme:
    """||x_n - A x_n||^2 against ||x_0 - x*||^2 for a non-expansive A with A x* = x*."""
    points, x = [STAR], START
    for i in range(int(n) + 1):
        points.append(_point(f"x{i}", x))
        x = (START + (i + 1) * points[-1].gradient) / (i + 2)
    residual = points[-1].x - points[-1].gradient
    return Programme.of(sympy.expand(residual**2), START**2, _operator(points, lambda x, value: x**2 - value**2))


def monotone_proximal_point(alpha: Rational, n: Rational) -> Programme:
    """||x_n - x_{n-1}||^2 against ||x_0 - x*||^2 for a monotone A with 0 in A x*."""
    points, x = [STAR], START
    for i in range(int(n)):
        points.append(_proximal(f"x{i + 1}", x, alpha))
        x = points[-1].x
    step = alpha * points[-1].gradient
    return Programme.of(step**2, START**2, _operator(points, lambda x, value: x * value))


def _sgd_value(L: Rational, mu: Rational, gamma: Rational, v: Rational, R: Rational, n: Rational) -> sympy.Expr:
    root = sympy.sqrt((1 - gamma * (L + mu) / 2) ** 2 * R**2 + gamma**2 * v**2)
    return (gamma * (L - mu) / 2 * R + root) ** 2


def _case(**numbers: int | str) -> Numbers:
    return {name: Rational(number) for name, number in numbers.items()}


EXAMPLES = (
    Example(
        "unconstrained_convex_minimization/gradient_descent",
        "Drori, Teboulle 2014, Theorem 3.1",
        gradient_descent,
        lambda L, gamma, n: L / (4 * n * L * gamma + 2),
        (_case(L=3, gamma="1/3", n=4), _case(L=1, gamma="1/2", n=2)),
    ),
    Example(
        "unconstrained_convex_minimization/accelerated_gradient_convex_simplified",
        "Taylor, Hendrickx, Glineur 2017, Table 1: found numerically",
        accelerated_gradient,
        lambda mu, L, n: 2 * L / (n**2 + 5 * n + 6),
        (_case(mu=0, L=1, n=1), _case(mu=0, L=2, n=5)),
    ),
    Example(
        "unconstrained_convex_minimization/proximal_point",
        "Taylor, Hendrickx, Glineur 2017, Theorem 4.1",
        proximal_point,
        lambda gamma, n: 1 / (4 * gamma * n),
        (_case(gamma=3, n=4), _case(gamma="1/2", n=2)),
    ),
    Example(
        "unconstrained_convex_minimization/subgradient_method",
        "Nesterov 2003, Section 3.2.3; Drori, Teboulle 2016, Appendix A",
        subgradient_method,
        lambda M, n, gamma: M / sympy.sqrt(n + 1),
        (_case(M=2, n=3, gamma="1/4"), _case(M=1, n=8, gamma="1/3")),  # gamma = 1/(M sqrt(n + 1))
    ),
    Example(
        "unconstrained_convex_minimization/gradient_exact_line_search",
        "de Klerk, Glineur, Taylor 2017, Theorem 1.2",
        exact_line_search,
        lambda L, mu, n: ((L - mu) / (L + mu)) ** (2 * n),
        (_case(L=1, mu="1/10", n=2), _case(L=3, mu=1, n=1)),
    ),
    Example(
        "composite_convex_minimization/proximal_gradient",
        "Taylor, Hendrickx, Glineur 2018, Theorem 3.1",
        proximal_gradient,
        lambda L, mu, gamma, n: sympy.Max((1 - L * gamma) ** 2, (1 - mu * gamma) ** 2) ** n,
        (_case(L=1, mu="1/10", gamma=1, n=2), _case(L=2, mu="1/3", gamma="9/10", n=1)),
    ),
    Example(
        "stochastic_and_randomized_convex_minimization/sgd",
        "the code of PESTO (Taylor, Hendrickx, Glineur 2017): found numerically",
        sgd,
        _sgd_value,
        (_case(L=1, mu="1/10", gamma="7/10", v=1, R=2, n=5), _case(L=1, mu="1/4", gamma=1, v=1, R=2, n=2)),
    ),
    Example(
        "nonconvex_optimization/gradient_descent",
        "Taylor 2017 (thesis), page 190; Abbaszadehpeivasti, de Klerk, Zamani 2021",
        nonconvex_gradient_descent,
        lambda L, gamma, n: 4 * L / (3 * n),
        (_case(L=1, gamma=1, n=5), _case(L=2, gamma="1/2", n=2)),  # gamma = 1/L
    ),
    Example(
        "fixed_point_problems/halpern_iteration",
        "Lieder 2021, Theorem 2.1",
        halpern_iteration,
        lambda n: (2 / (n + 1)) ** 2,
        (_case(n=10), _case(n=3)),
    ),
    Example(
        "monotone_inclusions_variational_inequalities/proximal_point",
        "Gu, Yang 2020, Section 4",
        monotone_proximal_point,
        lambda alpha, n: (1 - 1 / n) ** (n - 1) / n,
        (_case(alpha=2, n=10), _case(alpha="1/3", n=4)),
    ),
)
