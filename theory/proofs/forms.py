"""Quadratic forms in random vectors, in expectation: the algebraic meaning of a symbol such as E||x^(r+1) - x*||^2.

A product of two vectors stands for the mean of their inner product, and F[x] for the mean of a function value.  So an
identity of polynomials is an identity in every dimension and for every law.  What a symbol of a form stands for is its
class and its parts, never its name: a minimiser of F is a `Minimiser` whose function is F.  Two symbols with one name but
different meanings are different symbols.  If a vector depends on a client or a local step, it runs over families, shown
in angle brackets: g<C,I>.  `Family.sum` is the sum over a family, and is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import sympy


@dataclass(frozen=True)
class Family:
    """Clients or local steps that vectors run over.

    mass     the number of members, or the sum of their weights
    part_of  the families of which this one is a part, as the steps so far are a part of all steps
    at_once  whether the members work in parallel, so that none comes after another
    square_of  the family of the same members, of whose weights these are the squares
    """

    name: str
    mass: sympy.Expr
    part_of: tuple[Family, ...] = ()
    at_once: bool = False
    square_of: Family | None = None

    def sum(self, e: sympy.Expr) -> sympy.Expr:
        """A vector, or a form, summed over the family; a part that does not depend on the family counts `mass` times.

        Raises ValueError for a product of more than two members.
        """
        members = sorted((s for s in e.free_symbols if self in families_of(s)), key=str)
        if not members:
            return sympy.expand(self.mass * e)
        total = sympy.Integer(0)
        for powers, coefficient in sympy.Poly(sympy.expand(e), *members).terms():
            factors = [s for s, p in zip(members, powers, strict=True) for _ in range(p)]
            if len(factors) > 2:
                raise ValueError(f"{e}: expected products of two members of {self.name} at most")
            total += coefficient * (Sum(self, *factors) if factors else self.mass)
        return sympy.expand(total)


Change = Callable[[Family], tuple[Family, ...]]  # a family -> the families instead of it


class Typed(sympy.Symbol):
    """A symbol with a meaning: its class and its parts; its name is for printing.

    parts     its name, if it has one of its own, and what else it was made with; `of` are the classes of what follows the
              name, before any families
    families  over which it runs, in order: those of its parts, without the one that it `binds`

    Raises ValueError for parts of other classes.
    """

    of: ClassVar[tuple[Any, ...]] = ()
    binds: ClassVar[bool] = False
    sign: ClassVar[str] = "real"
    families: tuple[Family, ...]
    parts: tuple[Any, ...]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__name__ = sympy.Symbol.__name__  # sympy orders symbols first by the names of their classes

    def __new__(cls, name: str, *parts: Any) -> Self:
        """The one symbol of this name, with these parts."""
        kinds = (*cls.of, *(Family | MiniBatch for _ in parts[len(cls.of) :]))
        if len(parts) < len(kinds) or not all(map(isinstance, parts, kinds)):
            expected = ", ".join([*(kind.__qualname__ for kind in cls.of), "families"])
            raise ValueError(f"{cls.__qualname__} {name} of {', '.join(map(str, parts))}: expected {expected}")
        return cls._of(name + _tag(_families(parts, cls.binds)), name, *parts)

    @classmethod
    def _of(cls, shown: str, *parts: Any) -> Self:
        kind: Any = cls
        return _made(kind, shown, parts)

    def over(self, change: Change) -> Self:
        """The same over other families.  Raises ValueError if one of them becomes the family that it binds."""
        bound = next(part for part in self.parts if isinstance(part, Family)) if self.binds else None

        def free(family: Family) -> tuple[Family, ...]:
            if bound and family != bound and bound in change(family):
                raise ValueError(f"{self}: it sums over {bound.name}, which would also be instead of {family.name}")
            return (family,) if family == bound else change(family)

        return type(self)(*(one for part in self.parts for one in _changed(part, free)))

    def __eq__(self, other: object) -> bool:
        return self is other  # what is made of the same parts is made once

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return type(self), self.parts


@cache
def _made(kind: type[Typed], shown: str, parts: tuple[Any, ...]) -> Any:
    made = sympy.Symbol.__xnew__(kind, shown, **{kind.sign: True})
    made.parts, made.families = parts, _families(parts, kind.binds)
    return made


def _tag(families: Iterable[Family]) -> str:
    names = ",".join(family.name for family in families)
    return f"<{names}>" if names else ""


def _families(parts: Iterable[Any], binds: bool = False) -> tuple[Family, ...]:
    """The families over which something with these parts runs."""
    found: list[Family] = []
    for part in parts:
        own = part.families if isinstance(part, Typed | MiniBatch) else _families(_typed(part))
        found += (part,) if isinstance(part, Family) else own
    bound = next(part for part in parts if isinstance(part, Family)) if binds else None
    return tuple(dict.fromkeys(family for family in found if family != bound))


def _changed(part: Any, change: Change) -> tuple[Any, ...]:
    """A part of a symbol over other families; a family may become none, or several."""
    if isinstance(part, Family):
        return change(part)
    return (part.over(change) if isinstance(part, Typed | MiniBatch) else over(part, change),)


def _typed(e: Any) -> list[Typed]:
    """The typed symbols of an expression, by their names."""
    found = e.free_symbols if isinstance(e, sympy.Basic) else ()
    return sorted((s for s in found if isinstance(s, Typed)), key=str)


def _part(number: int) -> Any:
    return property(lambda self: self.parts[number])


# Functions


class Function(Typed):
    """A function of a point: an objective, or the function of a client."""


class Objective(Function):
    """The function F that the clients minimise: the mean of their functions, with their weights."""

    def client(self, name: str, *families: Family) -> Client:
        """The function of one client, or of each client of the families."""
        return Client(name, self, *families)


class Client(Function):
    """The function F_m of a client; `mean` is the objective."""

    of: ClassVar[tuple[Any, ...]] = (Objective,)
    mean = _part(1)


class Alone(Objective, Client):
    """A function of which a statement speaks by itself: that of an only client, and so its own mean."""

    of = ()
    mean = property(lambda self: self)


# The symbols of a form


class FormTerm(Typed):
    """A symbol of a form: a vector, a function value, or a sum; `linear` if it is a vector."""

    linear: Any = False


class Vector(FormTerm):
    """A random vector, such as a point; one for each member of the families."""

    linear = True


class Minimiser(Vector):
    """A minimiser of a function."""

    of = (Function,)
    function = _part(1)


class Infimum(FormTerm):
    """The infimum of a function."""

    of = (Function,)
    function = _part(1)


class PenalisedInfimum(FormTerm):
    """The infimum of a function plus (phi/2) ||x||^2; `penalty` is phi."""

    of = (Function, sympy.Expr)
    function, penalty = _part(1), _part(2)


class _PointTerm(FormTerm):
    """What a function is at a point."""

    function, at = _part(0), _part(1)
    shown = "{}[{}]"

    def __new__(cls, function: Function, at: sympy.Expr) -> Self:
        if not isinstance(function, Function):
            raise ValueError(f"{function} at {at}: expected a function, Objective('F') or its client('F_m', clients)")
        at = sympy.expand(at)
        return cls._of(cls.shown.format(function.name, at), function, at)


class Value(_PointTerm):
    """The value of a function at a point."""


class Gradient(_PointTerm, Vector):
    """The gradient of a function at a point."""

    shown = "grad {}[{}]"
    linear = True


class Random(Vector):
    """A random vector whose mean is `mean`, given all that came before."""

    mean: Any

    @property
    def error(self) -> sympy.Expr:
        """The vector minus its mean."""
        return self - self.mean


class StochasticGradient(Random):
    """A stochastic gradient of a function at a point; on a mini-batch, if it comes from one."""

    of = (Function, sympy.Expr)
    function, at = _part(1), _part(2)
    mean = property(lambda self: Gradient(self.function, self.at))
    batch = property(lambda self: next((part for part in self.parts if isinstance(part, MiniBatch)), None))


@dataclass(frozen=True)
class MiniBatch:
    """A mini-batch, one for each member of the families; the gradients on it have the same sample."""

    name: str
    families: tuple[Family, ...] = ()

    def gradient(self, name: str, function: Function, at: sympy.Expr) -> StochasticGradient:
        """The stochastic gradient of a function at a point, on this mini-batch."""
        return StochasticGradient(name, function, at, self)

    def over(self, change: Change) -> MiniBatch:
        """The same over other families."""
        return MiniBatch(self.name, tuple(one for family in self.families for one in change(family)))


class Compressed(Random):
    """A compressed vector as received; `mean` is the vector."""

    of = (sympy.Expr,)
    mean = _part(1)


class Binarised(Random):
    """`mean` plus the error S(v) - v of the binarised vector v."""

    of = (sympy.Expr, sympy.Expr)
    binarised, mean = _part(1), _part(2)


class MeanAtStart(Vector):
    """The mean of a vector given the start of the round."""

    of = (sympy.Expr,)
    vector = _part(1)


class LearningStep(Vector):
    """A learning rate times a stochastic gradient."""


class Tracking(Vector):
    """A client's gradient tracking."""


class Variate(Vector):
    """A client's control variate."""


class ServerVariate(Vector):
    """The server's control variate, which starts as the mean of the clients'."""

    of, binds = (Variate, Family), True
    member = _part(1)


class Renewed(Vector):
    """A vector of each client after a round that renews its block where the client is sampled; `before` is the old one."""

    of = (Vector,)
    before = _part(1)


class Mean(Vector):
    """The mean of a vector over a population."""

    of, binds = (Vector, Family), True
    member = _part(1)


class SampleDraw(Vector):
    """One draw of a sample of vectors."""

    of, binds = (Vector, Family), True
    member = _part(1)


class Sum(FormTerm):
    """The sum over a family of a member, or of the inner product of two."""

    binds = True
    family, factors = _part(0), property(lambda self: self.parts[1:])
    linear = property(lambda self: len(self.factors) == 1 and self.factors[0].linear)

    def __new__(cls, family: Family, *factors: FormTerm) -> Self:
        """The sum of a factor, or of the product of two."""
        factors = tuple(sorted(factors, key=str))
        inside = "*".join(s.over(lambda one: () if one == family else (one,)).name for s in factors)
        return cls._of(f"sum_{family.name}({inside})", family, *factors)


class ForEach(FormTerm):
    """A symbol of a form for each member of further families."""

    shown = "{}"
    term, linear = _part(0), property(lambda self: self.term.linear)

    def __new__(cls, term: FormTerm, *families: Family) -> Self:
        """The symbol for each member of these families, too."""
        return cls._of(cls.shown.format(term.name) + _tag(families), term, *families)


class Before(ForEach):
    """The sum of a vector over the steps before, for each step of the families."""

    shown = "before({})"


class Spread(Typed):
    """The variance, over all clients, of a vector that each client has: a number."""

    sign = "nonnegative"

    def __new__(cls, member: sympy.Expr) -> Self:
        """The variance of this vector."""
        return cls._of(f"var({member})", member)


# Forms

vector, gradient, value = Vector, Gradient, Value


def families_of(symbol: sympy.Basic) -> frozenset[Family]:
    """The families that a vector, or a function value, runs over."""
    return frozenset(symbol.families) if isinstance(symbol, Typed) else frozenset()


def replaced(e: Any, symbols: Mapping[sympy.Expr, sympy.Expr]) -> Any:
    """An expression or relation with symbols, or longer expressions, replaced, all at once."""
    if all(isinstance(symbol, sympy.Symbol) for symbol in symbols):
        return e.xreplace(dict(symbols))  # many times faster
    return e.subs(dict(symbols), simultaneous=True)


def over(e: Any, change: Change) -> Any:
    """The same form over other families."""
    return e.xreplace({s: s.over(change) for s in _typed(e)}) if isinstance(e, sympy.Basic) else e


def renamed(e: sympy.Expr, old: Family, new: Family) -> sympy.Expr:
    """The same form with vectors that run over family `new` instead of `old`."""
    return over(e, lambda family: (new,) if family == old else (family,))


def bare(e: Any) -> Any:
    """The same form with vectors that run over no family."""
    return over(e, lambda _: ())


def nested(e: Any, *stop: type) -> Iterator[Typed]:
    """The symbols of a form, those in their parts, and so on; not those in the parts of the classes `stop`."""
    for symbol in _typed(e):
        yield symbol
        for part in () if isinstance(symbol, stop) else symbol.parts:
            yield from nested(part, *stop)


def vectors_in(e: sympy.Expr) -> set[FormTerm]:
    """The vectors and function values in a form, sums included."""
    return {s for s in e.free_symbols if isinstance(s, FormTerm)}


def is_linear(e: Any) -> bool:
    """Whether an expression is a linear combination of vectors."""
    if not isinstance(e, sympy.Expr) or isinstance(e, Typed):
        return isinstance(e, FormTerm) and e.linear
    form = sympy.expand(e)
    members = vectors_in(form)
    if not all(s.linear for s in members):
        return False
    return form == 0 or (bool(members) and sympy.Poly(form, *members).homogeneous_order() == 1)


def tagged(e: sympy.Expr, family: Family) -> sympy.Expr:
    """A form in which every vector and function value belongs to a member of the family."""
    return e.xreplace({s: ForEach(s, family) for s in vectors_in(e)})


def before(e: sympy.Expr, *families: Family) -> sympy.Expr:
    """For each step of the families, the sum of a vector over the steps before it, in the order in which they are taken.

    Linear in the vectors; a vector that is the same in all steps counts as often as there are steps before.  Raises
    ValueError for a product of vectors.
    """
    if not is_linear(e):
        raise ValueError(f"{e}: expected a linear combination of vectors")
    return sympy.expand(e.xreplace({s: Before(s, *families) for s in vectors_in(e)}))
