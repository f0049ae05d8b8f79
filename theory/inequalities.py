"""One inequality between points, values and gradients of functions, for a whole class of functions in every dimension.

    x, y = points("x y")
    f = function("f", smooth="L", convex=True)
    decided(f(x) - f(y) - f.grad(y).dot(x - y) >= 0)

A proof is a certificate (`fedtheory.theory.proofs.parametric`): the claim is a sum of squares and of interpolation
conditions of the class (Taylor, Hendrickx, Glineur 2017, Theorems 4 and 6), each with a multiplier >= 0 that may depend on
the constants.  A counter-example is a function on the line, in fractions, or, if none is found, inner products and
function values that a function of the class has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, permutations, product
from math import isfinite
from typing import Any, cast

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from fedtheory.theory.notation import NOTATION, Bregman, Grad, Inner, Norm, Value
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.gram import QuadraticForm
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.parametric import certificate, follows
from fedtheory.theory.proofs.tight import GramInstance, NotSolved, Programme, Unbounded, tight, violation
from fedtheory.theory.proofs.vectors import convex, point, quadratic_form, smooth_convex
from fedtheory.theory.statement import Status, Verdict


class VectorSymbol(sympy.Symbol):
    """The name of a point."""


class FunctionSymbol(sympy.Symbol):
    """The name of a function, and the function: two functions of one name are two symbols."""

    __slots__ = ("of",)
    of: Function

    def __new__(cls, of: Function) -> FunctionSymbol:
        """The symbol of a function."""
        found = sympy.Symbol.__xnew__(cls, of.name, real=True)
        found.of = of
        return cast(FunctionSymbol, found)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.of.L, self.of.mu)


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector: a linear combination of points and gradients.  `u @ v` and `u.dot(v)` are the inner product."""

    e: sympy.Expr

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.e + _vector(other))

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.e - _vector(other))

    def __neg__(self) -> Vector:
        return Vector(-self.e)

    def __mul__(self, factor: Any) -> Vector:
        if isinstance(factor, Vector):
            raise TypeError(f"{self} * {factor}: expected a number times a vector; the inner product is u.dot(v)")
        return Vector(self.e * sympy.sympify(factor))

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        return Vector(self.e / sympy.sympify(number))

    def dot(self, other: Vector) -> sympy.Expr:
        """The inner product."""
        return Inner(self.e, _vector(other))

    __matmul__ = dot

    @property
    def norm2(self) -> sympy.Expr:
        """The squared norm."""
        return Norm(self.e) ** 2

    def __repr__(self) -> str:
        return plain(self.e)


def _vector(other: Any) -> sympy.Expr:
    if not isinstance(other, Vector):
        raise TypeError(f"{other!r}: expected a vector, such as x - y or f.grad(x)")
    return other.e


@dataclass(frozen=True)
class Function:
    """A function of a class: f(x) is its value, f.grad(x) its gradient, f.minimiser a point where it is least.

    L   its gradient is L-Lipschitz; None: it need not be smooth
    mu  it is mu-strongly convex, 0: convex; None: it need not be convex
    """

    name: str
    L: sympy.Expr | None
    mu: sympy.Expr | None

    @cached_property
    def symbol(self) -> sympy.Symbol:
        """Its name in formulas."""
        return FunctionSymbol(self)

    def __call__(self, x: Vector) -> sympy.Expr:
        """The value at x."""
        return Value(self.symbol, _vector(x))

    def grad(self, x: Vector) -> Vector:
        """The gradient at x; of a function that is not smooth, any subgradient."""
        return Vector(Grad(self.symbol, _vector(x)))

    def bregman(self, x: Vector, y: Vector) -> sympy.Expr:
        """f(x) - f(y) - <grad f(y), x - y>."""
        return Bregman(self.symbol, _vector(x), _vector(y))

    @property
    def minimiser(self) -> Vector:
        """A point with gradient 0 and the least value."""
        return Vector(VectorSymbol(f"{self.name}_star", real=True))

    def __repr__(self) -> str:
        kind = {None: "", 0: "convex"}.get(self.mu, f"{self.mu}-strongly convex")
        return (
            f"{self.name}: " + ", ".join(filter(None, (f"{self.L}-smooth" if self.L else "", kind))) or "any function"
        )


def points(names: str) -> Any:
    """Points by name, as sympy.symbols gives symbols: one vector for one name, else a tuple."""
    found = tuple(Vector(VectorSymbol(name, real=True)) for name in names.replace(",", " ").split())
    if not found:
        raise ValueError(f"points({names!r}): expected names such as 'x y'")
    return found[0] if len(found) == 1 else found


def constants(names: str) -> Any:
    """Positive constants by name, such as a step size."""
    return sympy.symbols(names, positive=True, real=True)


def function(name: str, smooth: Any = None, convex: bool = False, strongly_convex: Any = None) -> Function:
    """A function of a class, by the names or numbers of its constants.

    smooth           L: its gradient is L-Lipschitz
    convex           whether it is convex
    strongly_convex  mu: it is mu-strongly convex

    Raises ValueError for a constant that is not positive, and unless mu < L.
    """

    def constant(what: str, value: Any) -> sympy.Expr | None:
        if value is None:
            return None
        if isinstance(value, float) and isfinite(value):
            value = Fraction(str(value))
        found = constants(value) if isinstance(value, str) else sympy.sympify(value)
        if not isinstance(found, sympy.Expr) or not found.is_positive:
            raise ValueError(f"{what} = {value!r} of {name}: expected a name or a positive number")
        return found

    L, mu = constant("smooth", smooth), constant("strongly_convex", strongly_convex)
    if L is not None and mu is not None and (mu >= L) == sympy.true:
        raise ValueError(f"smooth = {L}, strongly_convex = {mu} of {name}: expected a larger smoothness constant")
    return Function(name, L, sympy.S.Zero if mu is None and convex else mu)


# ------------------------------------------------------------------------------------------------- what is to be shown


@dataclass(frozen=True)
class FormQuestion:
    """A claim as a form that must be >= 0, and the forms that are >= 0 by the class and by hypotheses.

    claim, known  forms in vectors and function values, whose coefficients are made of the constants
    at            the points at which each function is asked, each once
    L, units      without such points: a smoothness constant, and the powers of the objective's unit in some symbols
    """

    relation: Relational
    given: tuple[Relational, ...]
    when: tuple[Boolean, ...]
    claim: sympy.Expr
    known: Mapping[str, sympy.Expr]
    at: tuple[tuple[Function, sympy.Expr], ...]
    constants: tuple[sympy.Symbol, ...]
    L: sympy.Symbol | None = None
    units: Mapping[sympy.Symbol, int] = field(default_factory=dict)


def _sides(relation: Any) -> tuple[sympy.Expr, sympy.Expr]:
    """(smaller, larger) side.  Raises ValueError for something else than <= or >=."""
    if not isinstance(relation, sympy.Le | sympy.Ge):
        raise ValueError(f"{relation}: expected an inequality with <= or >=")
    return relation.lts, relation.gts


def _asked(expressions: Iterable[sympy.Expr]) -> list[tuple[Function, sympy.Expr]]:
    """The points at which functions are asked, inner ones first.

    Raises ValueError for a function that `function` did not make, and for two of one name.
    """
    found: dict[tuple[Function, sympy.Expr], None] = {}
    for e in expressions:
        for part in sympy.postorder_traversal(e):
            if isinstance(part, Value | Grad | Bregman):
                f, *xs = part.args
                if not isinstance(f, FunctionSymbol):
                    raise ValueError(f"{part}: expected a function that `function` made")
                found |= dict.fromkeys((f.of, sympy.expand(quadratic_form(x))) for x in xs)
    functions = dict.fromkeys(f for f, _ in found)
    if len({f.name for f in functions}) < len(functions):
        raise ValueError(f"{'; '.join(map(str, functions))}: expected different names of different functions")
    for f in functions:  # its minimiser, if it is spoken of
        star = f.minimiser.e
        if any(star in e.free_symbols for e in expressions):
            found[f, star] = None
    return list(found)


def exact(e: Any) -> Any:
    """With a fraction in place of each number in floating point: 0.1 is 1/10.  Raises ValueError for nan, infinity and i."""
    if isinstance(e, sympy.Basic) and e.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo, sympy.I):
        raise ValueError(f"{e}: expected finite real numbers")
    return e.xreplace({x: sympy.Rational(str(x)) for x in e.atoms(sympy.Float)}) if isinstance(e, sympy.Basic) else e


def question(relation: Any, when: Sequence[Boolean] = (), given: Sequence[Any] = ()) -> FormQuestion:
    """What must be shown for a claim.  Raises ValueError for what is no inequality between forms."""
    sides = [_sides(one) for one in (relation, *given)]
    of_forms(relation, *given, when=when)
    at = _asked([e for pair in sides for e in pair])
    forms = [sympy.expand(quadratic_form(large) - quadratic_form(small)) for small, large in sides]
    known: dict[str, sympy.Expr] = {}
    stars: dict[sympy.Expr, sympy.Expr] = {}
    for f in dict.fromkeys(f for f, _ in at):
        own = [point(f.symbol, x) for g, x in at if g == f]
        for i, j in permutations(own, 2):
            known |= dict(_conditions(f, i, j))
        star = point(f.symbol, f.minimiser.e)
        if star in own:
            stars[star.gradient] = sympy.S.Zero
            if f.mu is None:
                least = [p for p in own if p != star]
                room = 1 / (2 * f.L) if f.L is not None else 0
                known |= {f"{f.name} is least": p.value - star.value - room * p.gradient**2 for p in least}
    known |= {f"given {plain(one)}": form for one, form in zip(given, forms[1:], strict=True)}
    known = {name: sympy.expand(form.xreplace(stars)) for name, form in known.items() if form != 0}
    claim = sympy.expand(forms[0].xreplace(stars))
    own_symbols = {s for f, x in at for p in [point(f.symbol, x)] for s in (p.value, p.gradient)}
    every = set().union(
        claim.free_symbols,  # a constant that cancels, or of a function at one point, has a number, too
        *(one.free_symbols for one in (relation, *given, *known.values(), *when)),
        *(c.free_symbols for f, _ in at for c in (f.L, f.mu) if c is not None),
    )
    numbers = sorted((s for s in every - own_symbols if not isinstance(s, VectorSymbol | FunctionSymbol)), key=str)
    if wrong := [s for s in numbers if not s.is_nonnegative]:
        raise ValueError(f"{', '.join(map(str, wrong))}: expected constants, as `constants` makes them, or points")
    limits = [f.mu < f.L for f, _ in at if f.mu and f.L is not None]
    return FormQuestion(
        relation, tuple(given), (*when, *dict.fromkeys(limits)), claim, known, tuple(at), tuple(numbers)
    )


def of_forms(*relations: Any, when: Sequence[Boolean] = ()) -> None:
    """Raises ValueError for relations that are not between forms, and for conditions that are not on the constants."""
    for side in (side for one in relations for side in one.args):
        if _degree(side) == 1:
            raise ValueError(f"{plain(side)}: expected inner products, squared norms and values, not a vector")
    for one in when:
        if not isinstance(one, Boolean) or one.atoms(VectorSymbol, *NOTATION):
            raise ValueError(f"when {one}: expected conditions on the constants; `given` has those on points")


def _degree(e: sympy.Expr) -> int:
    """0 for a constant, 1 for a vector, 2 for a form: sums of inner products, squared norms and values, times constants.

    A product of two vector symbols stands for their inner product, so that |x|^2 |y|^2 and <x, y>^2 would be the same
    polynomial: this looks at what is written, before anything is multiplied out.  Raises ValueError for anything else.
    """
    if isinstance(e, VectorSymbol):
        return 1
    if not (e.atoms(*NOTATION) or e.atoms(VectorSymbol)):
        return 0
    first = 1 if isinstance(e, Value | Grad | Bregman) else 0  # the name of the function
    parts = {part: _degree(part) for part in e.args[first:]}
    degrees = {parts[part] for part in parts if part != 0}
    if first and degrees <= {1}:
        return 1 if isinstance(e, Grad) else 2
    if isinstance(e, Inner | Norm) and degrees <= {1}:
        return 0 if 0 in e.args else 2
    if isinstance(e, sympy.Add) and (degrees <= {0, 2} or degrees == {1}):
        return max(degrees)
    if isinstance(e, sympy.Mul) and sum(map(bool, parts.values())) <= 1:
        return max(degrees)
    if isinstance(e, sympy.Pow) and e.exp == 2 and isinstance(e.base, Norm):
        return _degree(e.base)
    raise ValueError(f"{plain(e)}: expected sums of inner products, squared norms and values, times constants")


def _conditions(f: Function, i: Any, j: Any) -> Iterator[tuple[str, sympy.Expr]]:
    """What is >= 0 for two points of a function of the class.  The last one, for all pairs, is sufficient, too."""
    at = f"{f.name} from {plain(j.x)} to {plain(i.x)}"
    yield from ((f"{kind} of {at}", form) for kind, form in between(i, j, f.L, f.mu))


def between(i: Any, j: Any, L: Any, mu: Any, interpolated: bool = True) -> Iterator[tuple[str, sympy.Expr]]:
    """What is >= 0 for the values and gradients of a function at two points, by its constants.

    interpolated  with the last, whose coefficients are no polynomials in L and mu
    """
    apart = (i.x - j.x) ** 2
    if mu is not None:
        yield "convexity", convex(i, j) - mu / 2 * apart
    if L is None:
        return
    yield "smoothness", L / 2 * apart - convex(i, j)
    if mu is not None:
        yield "co-coercivity", convex(i, j) - (i.gradient - j.gradient) ** 2 / (2 * L)
    if mu != 0 and interpolated:
        yield "interpolation", smooth_convex(i, j, L, -L if mu is None else mu)


# ------------------------------------------------------------------------------------------------------------- samples

_TRIED = tuple(sympy.Rational(*pair) for pair in ((1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (1, 10), (10, 1)))
_FAR = tuple(
    sympy.Rational(*pair) for pair in ((0, 1), (1, 1000), (1, 10), (1, 2), (9, 10), (1, 1), (3, 1), (30, 1), (1000, 1))
)
_NEAR = tuple(sympy.Rational(*pair) for pair in ((999, 1000), (1, 2), (2, 1)))  # times a limit
_SAMPLES = 12


def samples(
    asked: FormQuestion, most: int = _SAMPLES, tried: Sequence[sympy.Rational] = _TRIED
) -> list[dict[sympy.Symbol, sympy.Rational]]:
    """Numbers for the constants that meet the conditions; the limits of the conditions among them."""

    def values(known: dict[sympy.Symbol, sympy.Rational], left: Sequence[sympy.Symbol]) -> Iterator[dict[Any, Any]]:
        if not left:
            yield known
            return
        name, *others = left
        limits = []
        for one in asked.when:
            if isinstance(one, Relational) and one.free_symbols - known.keys() == {name}:
                limits += [x for x in _roots(one.subs(known), name) if x.is_Rational and x > 0]
        near = [factor * x for factor in _NEAR for x in limits]
        for value in dict.fromkeys([*limits, *near[: len(limits)], *tried, *near]):
            at = known | {name: value}
            if all(_may_hold(one, at) for one in asked.when):
                yield from values(at, others)

    # L first: a limit on a step size or on mu is then a number
    order = sorted(asked.constants, key=lambda s: (not any(s == f.L for f, _ in asked.at), str(s)))
    found = list(islice(values({}, order), 4000))
    stride = max(1, len(found) // most)
    return found[::stride][:most] if found else []


def _may_hold(relation: Any, at: Mapping[sympy.Symbol, sympy.Rational]) -> bool:
    try:
        return bool(relation.subs(at) != sympy.false)
    except TypeError:  # it divides by 0 here
        return False


def _roots(relation: Any, name: sympy.Symbol) -> list[sympy.Expr]:
    if not isinstance(relation, Relational):
        return []
    try:
        return [x for x in sympy.solve(relation.lhs - relation.rhs, name) if isinstance(x, sympy.Expr)]
    except NotImplementedError:
        return []


# -------------------------------------------------------------------------------------- counter-examples on the line


@dataclass(frozen=True)
class OnTheLine:
    """A function of one variable: its derivative is `slope` at 0 and grows by `curvature` left of 0, up to 1, beyond 1."""

    curvature: tuple[Any, Any, Any]
    slope: Any = 0

    def value(self, t: Any) -> Any:
        """f(t), with f(0) = 0."""
        a, b, c = self.curvature
        left, right = np.minimum(t, 0), np.maximum(t - 1, 0)
        middle = t - left - right
        return self.slope * t + a * left**2 / 2 + b * middle**2 / 2 + b * right + c * right**2 / 2

    def gradient(self, t: Any) -> Any:
        """f'(t)."""
        a, b, c = self.curvature
        left, right = np.minimum(t, 0), np.maximum(t - 1, 0)
        return self.slope + a * left + b * (t - left - right) + c * right

    def __str__(self) -> str:
        a, b, c = self.curvature
        slope = {0: "", 1: " + t"}.get(self.slope, f" + {self.slope} t")
        if a == b == c:
            return f"{Fraction(a) / 2} t^2{slope}"
        pieces = f"{a} for t < 0, {b} for 0 < t < 1, {c} for t > 1" if b != c else f"{a} for t < 0, {b} for t > 0"
        return f"f(0) = 0, f'(0) = {self.slope}, f'' = {pieces}"


def value_at(e: sympy.Expr, known: Mapping[sympy.Symbol, Any]) -> Any:
    """An expression on the line, in floating point or in fractions; `known` has functions, points and constants."""
    if isinstance(e, sympy.Rational):
        return fraction(e)
    if isinstance(e, sympy.Symbol):
        return known[e]
    if isinstance(e, sympy.Add | sympy.Mul | Inner):
        found = [value_at(a, known) for a in e.args]
        total = found[0]
        for one in found[1:]:
            total = total + one if isinstance(e, sympy.Add) else total * one
        return total
    if isinstance(e, sympy.Pow):
        base = e.base.args[0] if isinstance(e.base, Norm) and e.exp == 2 else e.base
        if not e.exp.is_Integer:
            raise ValueError(f"{e}: expected a whole power, or a squared norm")
        found_base = value_at(base, known)
        return found_base ** int(e.exp) if e.exp > 0 else 1 / found_base ** int(-e.exp)
    if isinstance(e, Value | Grad):
        at = value_at(e.args[1], known)
        return known[e.args[0]].value(at) if isinstance(e, Value) else known[e.args[0]].gradient(at)
    if isinstance(e, Bregman):
        f, x, y = known[e.args[0]], value_at(e.args[1], known), value_at(e.args[2], known)
        return f.value(x) - f.value(y) - f.gradient(y) * (x - y)
    raise ValueError(f"{e}: expected sums and products of values, inner products and squared norms")


_PLACES = tuple(Fraction(*pair) for pair in ((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (-2, 1), (-1, 2), (3, 1)))
_SLOPES = (0, 1, -1)
_LEAST = 1e-9  # relative, of a violation that is looked at in fractions


def _on_the_line(f: Function, at: Mapping[sympy.Symbol, sympy.Rational], least: bool) -> list[OnTheLine]:
    """Functions of the class; if `least`, those that are least at 0."""
    L, mu = (None if c is None else fraction(c.subs(at)) for c in (f.L, f.mu))
    most = L if L is not None else max(Fraction(1), 4 * (mu or 0))
    fewest = mu if mu is not None else -most
    curvatures = [most, fewest, (most + fewest) / 2]
    found = [OnTheLine((a, a, a), s) for a in curvatures for s in _SLOPES]
    found += [
        OnTheLine((a, b, c), s) for a, b, c in product(curvatures[:2], repeat=3) for s in _SLOPES if not a == b == c
    ]
    if least:
        found = [one for one in found if one.slope == 0 and min(one.curvature) >= 0]
    return found


def on_the_line(asked: FormQuestion, at: Mapping[sympy.Symbol, sympy.Rational]) -> dict[str, Any] | None:
    """Functions and points on the line that violate the claim at these numbers, in fractions; None if none is found."""
    functions = list(dict.fromkeys(f for f, _ in asked.at))
    stars = {f.minimiser.e for f in functions}
    every = [e for one in (asked.relation, *asked.given) for e in _sides(one)]
    free = sorted({s for e in every for s in e.free_symbols if isinstance(s, VectorSymbol)}, key=str)
    unknown = [s for s in free if s not in stars]
    places = _PLACES[: {0: 8, 1: 8, 2: 8, 3: 7, 4: 5}.get(len(unknown), 3)]
    grid = list(product(places, repeat=len(unknown)))
    columns: list[NDArray[np.float64]] = [np.array([float(row[i]) for row in grid]) for i in range(len(unknown))]
    numbers = {s: float(value) for s, value in at.items()}
    choices = [_on_the_line(f, at, f.minimiser.e in free) for f in functions]
    for chosen in islice(product(*choices), 400):
        known: dict[Any, Any] = dict(zip((f.symbol for f in functions), chosen, strict=True))
        known |= dict.fromkeys(stars, 0.0) | numbers | dict(zip(unknown, columns, strict=True))
        room = [
            value_at(large, known) - value_at(small, known)
            for small, large in map(_sides, (asked.relation, *asked.given))
        ]
        size = np.abs(np.asarray(room[0], dtype=float)).max(initial=0)
        bad = np.broadcast_to(np.asarray(room[0], dtype=float) < -_LEAST * size, (len(grid),)).copy()
        for other in room[1:]:
            bad &= np.asarray(other, dtype=float) >= 0
        for i in np.flatnonzero(bad)[:3]:
            exact = dict(zip((f.symbol for f in functions), chosen, strict=True))
            exact |= dict.fromkeys(stars, Fraction(0)) | {s: fraction(v) for s, v in at.items()}
            exact |= dict(zip(unknown, grid[i], strict=True))
            (small, large), *others = (
                tuple(Fraction(value_at(e, exact)) for e in _sides(one)) for one in (asked.relation, *asked.given)
            )
            if small > large and all(a <= b for a, b in others):
                told = {f.name: str(g) for f, g in zip(functions, chosen, strict=True)}
                told |= {str(s): str(exact[s]) for s in (*free, *at)}
                return told | {"smaller side": str(small), "larger side": str(large)}
    return None


# ------------------------------------------------------------------------------------- the class, at some numbers


_ONE = sympy.Symbol("1")  # what has no vector and no value: a multiple of a number >= 0


def _units(asked: FormQuestion, at: Mapping[sympy.Symbol, sympy.Rational]) -> dict[sympy.Symbol, sympy.Expr]:
    """The units of values and gradients in which they are as large as points."""
    L = next((f.L.subs(at) for f, _ in asked.at if f.L is not None), sympy.S.One)
    return {s: L for f, x in asked.at for p in [point(f.symbol, x)] for s in (p.value, p.gradient)}


def programme(asked: FormQuestion, at: Mapping[sympy.Symbol, sympy.Rational]) -> Programme:
    """The semidefinite programme at these numbers, in units in which gradients and values are as large as points."""
    units = {s: unit * s for s, unit in _units(asked, at).items()}
    vectors = asked.claim.free_symbols.union(*(k.free_symbols for k in asked.known.values()))

    def form(e: sympy.Expr) -> sympy.Expr:
        numeric = sympy.expand(e.subs(at).xreplace(units))
        constant = numeric.as_independent(*vectors, as_Add=True)[0] if numeric.free_symbols else numeric
        return sympy.expand(numeric - constant + constant * _ONE) if constant else numeric

    known = {name: form(e) for name, e in asked.known.items()}
    if any(_ONE in e.free_symbols for e in (form(asked.claim), *known.values())):
        known["1"] = _ONE
    return Programme.of(-form(asked.claim), sympy.S.Zero, {name: e for name, e in known.items() if e != 0})


def _numeric(asked: FormQuestion, at: Mapping[sympy.Symbol, sympy.Rational], claim: sympy.Expr) -> FormQuestion:
    """Whether a claim follows at these numbers."""
    known = {name: e.subs(at) for name, e in asked.known.items()}
    return FormQuestion(asked.relation, (), (), sympy.expand(claim.subs(at)), known, (), ())


def _contradictory(asked: FormQuestion, at: Mapping[sympy.Symbol, sympy.Rational]) -> bool:
    """Whether -1 >= 0 follows from what is given at these numbers; without constants in it, zeros meet it."""
    numeric = [e.subs(at) for e in asked.known.values()]
    apart = any(e.subs(dict.fromkeys(e.free_symbols, 0)) < 0 for e in numeric)
    return apart and certified(_numeric(asked, at, sympy.S.NegativeOne)) is not None


def _sum(one: GramInstance, other: GramInstance, times: Fraction) -> GramInstance:
    """The first plus a number >= 0 times the other, of the same vectors and values: it meets what both meet."""
    rows = zip(one.gram, other.gram, strict=True)
    gram = tuple(tuple(a + times * b for a, b in zip(*pair, strict=True)) for pair in rows)
    return GramInstance(
        one.vectors, gram, {name: value + times * other.values[name] for name, value in one.values.items()}
    )


def _violation(made: Programme) -> GramInstance | None:
    """Inner products and values that violate the claim, in which 1 is 1; None if none are found."""
    found = violation(made)
    if found is None or "1" not in found.values:
        return found
    # A direction in which the claim gets worse and worse, from anything that meets the conditions
    if not found.values["1"]:
        none = QuadraticForm(
            dict.fromkeys(made.objective.products, Fraction(0)), dict.fromkeys(made.values, Fraction(0))
        )
        start = violation(replace(made, objective=replace(none, numbers={**none.numbers, "1": Fraction(1)})))
        if start is None:
            return None
        found = _sum(start, found, 1 + abs(start.at(made.objective)) / found.at(made.objective))
    return _sum(found, found, 1 / found.values["1"] - 1)


def at_numbers(asked: FormQuestion, at: Mapping[sympy.Symbol, sympy.Rational]) -> Verdict:
    """The claim at these numbers: proved for the class in every dimension, refuted by inner products, or open."""
    told = ", ".join(f"{s} = {value}" for s, value in at.items())
    # inner products make a function of every class but these: the conditions there are necessary only
    minima = {f for f, x in asked.at if f.minimiser.e == x}
    necessary = all(f.mu is not None or (f.L is not None and f not in minima) for f, _ in asked.at)
    if certified(_numeric(asked, at, asked.claim)) is not None:
        return Verdict(Status.PROVED, told)
    made = programme(asked, at)
    try:
        tight(made)
        return Verdict(Status.PROVED, told)
    except (Unbounded, NotSolved):
        pass
    against = _violation(made) if necessary else None
    if against is None:
        return Verdict(Status.OPEN, told)
    unit = {str(s): fraction(L) for s, L in _units(asked, at).items()}
    sizes = [(i, name, unit.get(name, Fraction(1))) for i, name in enumerate(against.vectors)]
    rows = {f"<{a}, {b}>": against.gram[i][j] * u * v for i, a, u in sizes for j, b, v in sizes if i <= j}
    values = {n: unit.get(n, 1) * v for n, v in against.values.items() if n != "1"}
    witness = {name: str(number) for name, number in ({str(s): v for s, v in at.items()} | rows | values).items()}
    witness |= {"larger side - smaller side": str(-against.at(made.objective))}
    return Verdict(
        Status.REFUTED,
        ": ".join(filter(None, (told, "for a function with these inner products and values"))),
        witness=witness,
    )


# --------------------------------------------------------------------------------------- certificates in the constants


def dimensions(asked: FormQuestion) -> dict[sympy.Symbol, int] | None:
    """The power of the objective's unit in each symbol, so that all terms of the claim and of each condition agree.

    None where there is no such choice.
    """
    found: dict[sympy.Symbol, Any] = dict(asked.units)
    for f, x in asked.at:
        p = point(f.symbol, x)
        found |= dict.fromkeys((p.value, p.gradient), 1) | {c: 1 for c in (f.L, f.mu) if c is not None and c.is_Symbol}
    others = asked.claim.free_symbols.union(*(e.free_symbols for e in asked.known.values())) if asked.units else set()
    unknown = [s for s in sorted({*asked.constants, *others}, key=str) if s not in found]
    letters = {s: sympy.Symbol(f"power of {s}") for s in unknown}
    every = {**found, **letters}
    equations = []
    forms = [asked.claim, *(one.lhs - one.rhs for one in asked.when if isinstance(one, Relational))]
    forms += [form for name, form in asked.known.items() if asked.units or name.startswith("given")]
    for form in forms:
        numerator = sympy.fraction(sympy.together(form))[0]
        if not numerator.free_symbols:
            continue
        poly = sympy.Poly(numerator, *sorted(numerator.free_symbols, key=str))
        weights = [every.get(s, 0) for s in poly.gens]
        terms = [sum((n * w for n, w in zip(powers, weights, strict=True)), sympy.S.Zero) for powers in poly.monoms()]
        equations += [sympy.expand(one - terms[0]) for one in terms[1:]]
    left = [e for e in equations if e != 0]
    solved = sympy.linsolve(left, *letters.values()) if letters and left else {tuple(letters.values())}
    if not solved or (left and not letters):
        return None
    (values,) = solved
    chosen = {s: v.subs(dict.fromkeys(letters.values(), 0)) for s, v in zip(unknown, values, strict=True)}
    if any(not v.is_Integer for v in chosen.values()):
        return None
    return {s: int(v) for s, v in (found | chosen).items()}


_KINDS = ("convexity", "co-coercivity", "smoothness", "interpolation")


def certified(asked: FormQuestion) -> Verdict | None:
    """Multipliers that are polynomials in the constants, checked exactly; None if none are found.

    In units in which a smoothness constant is 1; claim and conditions are multiplied by their denominators, if those are
    positive.
    """
    L = asked.L or next((f.L for f, _ in asked.at if f.L is not None and f.L.is_Symbol), None)
    powers = None if L is None else dimensions(asked)
    units = (
        {}
        if powers is None or L is None
        else {s: s * L**n for s, n in powers.items() if n and s != L} | {L: sympy.S.One}
    )
    left = tuple(s for s in asked.constants if s not in units or s != L)
    inverse = {} if L is None else {s: s / L**n for s, n in (powers or {}).items() if n and s != L}

    def in_units(e: Any) -> Any:
        """In units with L = 1: every form is L times its form there, or another power of L."""
        return e.subs({s: x for s, x in units.items() if s != L}, simultaneous=True).subs(L, 1) if units else e

    when = [one for one in map(sympy.simplify, map(in_units, asked.when)) if one != sympy.true]

    def cleared(e: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
        """A form times its denominator, and this."""
        above, below = sympy.fraction(sympy.together(in_units(e)))
        sign = -1 if follows(when, below > 0) is not True else 1
        return sympy.expand(sign * above), sign * below

    every = {name: cleared(e) for name, e in asked.known.items()}
    claim, below = cleared(asked.claim)
    if any(follows(when, factor > 0) is not True for factor in (below, *(f for _, f in every.values()))):
        return None
    tried: list[dict[str, Any]] = []
    for most in range(len(_KINDS) if asked.units else 1, len(_KINDS) + 1):  # what is easy to read first
        known = {n: e for n, e in every.items() if not n.startswith(_KINDS[most:])}
        if known in tried:
            continue
        tried.append(known)
        common = sympy.lcm_list([f for _, f in known.values()] or [sympy.S.One])
        common = common if follows(when, common > 0) is True else -common  # the sign of a common multiple is free
        forms, goal = {name: form for name, (form, _) in known.items()}, sympy.expand(claim * common)
        closed = tuple(sympy.Le(w.lts, w.gts) if isinstance(w, sympy.Lt | sympy.Gt) else w for w in when)
        tried_at = (24, _TRIED) if asked.units else (36, _FAR)
        near = samples(FormQuestion(asked.relation, (), closed, goal, forms, (), left), *tried_at)
        found = certificate(goal, forms, when, left, near, like_claim=bool(asked.units))
        if found is not None:
            told = []
            for name, m in found[0].items():
                factor = sympy.factor((m * known[name][1] / (below * common)).subs(inverse))
                told.append(f"{plain(factor)} ({name})" if factor != 1 else f"({name})")
            told += [] if found[1] == 0 else ["a sum of squares"]
            return Verdict(Status.PROVED, f"larger side - smaller side = {' + '.join(told) or '0'}")
    return None


# -------------------------------------------------------------------------------------------------------- the decision


def decided(relation: Any, when: Sequence[Boolean] = (), given: Sequence[Any] = ()) -> Verdict:
    """An inequality for all points and functions of their classes: proved, refuted with a witness, or tested at numbers.

    when   conditions on the constants
    given  further inequalities between points and functions that hold

    Raises ValueError for what is no such inequality.
    """
    if relation in (sympy.true, sympy.false):
        status = Status.PROVED if relation == sympy.true else Status.REFUTED
        return Verdict(status, "by the signs of its parts")
    if isinstance(relation, sympy.Eq):
        both = [decided(sympy.Le(*pair, evaluate=False), when, given) for pair in (relation.args, relation.args[::-1])]
        return next((one for one in both if one.status is not Status.PROVED), both[0])
    asked = question(relation, when, given)
    if asked.claim == 0:
        return Verdict(Status.PROVED, "both sides are the same")
    sides = sympy.Tuple(*relation.args)
    numbers = [at for at in samples(asked) if not sides.subs(at).has(sympy.zoo, sympy.nan)]
    numbers = [at for at in numbers if not _contradictory(asked, at)]
    if not numbers:
        return Verdict(Status.VACUOUS, "no numbers that were tried meet the conditions and what is given")
    for at in numbers:
        witness = on_the_line(asked, at)
        if witness is not None:
            return Verdict(Status.REFUTED, "by a function on the line", witness=witness)
    proof = certified(asked)
    if proof is not None:
        return proof
    told = []
    for at in numbers:
        found = at_numbers(asked, at)
        if found.status is not Status.PROVED:
            return found
        told.append(found.says)
    return Verdict(
        Status.TESTED, f"proved in every dimension at {'; '.join(told)}; no certificate for all constants was found"
    )
