"""The inference rules of the four papers' proofs: what each says, which properties it needs, and its own proof.

A rule is about forms (`fedtheory.theory.proofs.forms`): its slack is a form that is >= 0, or = 0 for an equality, for all
vectors and functions that have the properties.  The constants are the first arguments.  They come from the properties,
never from the proof that uses the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory.data_files import folded
from fedtheory.theory.proofs.arithmetic import Decision, at_least, at_most, below_exponential, decide
from fedtheory.theory.proofs.forms import *
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Status


@dataclass(frozen=True)
class RuleInstance:
    """A rule at some vectors: `slack` is >= 0, or = 0 for an equality; a proof uses it with the factor `times`.

    of  the fact about any member of a family that this is an instance of, if it is not a rule
    """

    rule: str
    slack: sympy.Expr
    equality: bool
    times: sympy.Expr = sympy.S.One
    of: Any = None

    def __rmul__(self, factor: Any) -> RuleInstance:
        return replace(self, times=self.times * sympy.sympify(factor))

    def in_each(self, family: Family) -> RuleInstance:
        """The instance for every member of a family of rounds."""
        return replace(self, slack=tagged(self.slack, family))

    def over(self, *families: Family) -> RuleInstance:
        """The sum of the instance over the members of the families, innermost first."""
        slack = self.slack
        for family in families:
            slack = family.sum(slack)
        return replace(self, slack=slack)


def times(factor: sympy.Expr, instances: Iterable[RuleInstance]) -> list[RuleInstance]:
    """Each instance with a further factor."""
    return [factor * one for one in instances]


def _always(*_: Any) -> tuple[Boolean, ...]:
    return ()


# What the annotations of a rule's `slack` stand for, beside classes


def _is_form(e: Any) -> bool:
    return isinstance(e, sympy.Expr) and not any(isinstance(s, Function) for s in e.free_symbols)


def _is_number(e: Any) -> bool:
    return isinstance(e, int) or (_is_form(e) and not vectors_in(e))


Number = Annotated[sympy.Expr, "a number", _is_number]
Linear = Annotated[sympy.Expr, "a vector", is_linear]
Form = Annotated[sympy.Expr, "a form", _is_form]  # numbers are forms, too


def _having(*attributes: str) -> Callable[[Any], bool]:
    return lambda one: not isinstance(one, Family) and all(hasattr(one, name) for name in attributes)


Members = Annotated[Any, "clients, with their sum and family", _having("sum", "family")]
Steps = Annotated[Any, "steps, with their sum and families", _having("sum", "families")]
Group = Annotated[Any, "clients or steps, with their sum and mass", _having("sum", "mass")]
Local = Annotated[Callable[[Any], Any], "a function of members", callable]  # -> a vector, or a noise, of each of them


@cache
def _annotated(slack: Callable[..., sympy.Expr]) -> tuple[Signature, dict[str, Any]]:
    return signature(slack), get_type_hints(slack, include_extras=True)


@dataclass(frozen=True)
class Rule:
    """An inference rule.

    slack     (constants of the properties in their order, vectors and functions) -> the form; its annotations say what its
              arguments are, and a call of the rule refuses everything else
    of        the class of what `slack` leaves open: of a function, or of an error
    needs     the properties that it needs; their constants are the first arguments of `slack`
    when      (arguments of `slack` without the constants) -> conditions on the numbers among them
    equality  whether the form is = 0 instead of >= 0
    prove     decides it exactly; a rule that only writes out the meaning of a property is true by definition
    """

    name: str
    says: str
    slack: Callable[..., sympy.Expr]
    prove: Callable[[], Decision]
    needs: tuple[Property, ...] = ()
    equality: bool = False
    when: Callable[..., tuple[Boolean, ...]] = _always
    of: type | None = None

    def __call__(self, *arguments: Any) -> sympy.Expr:
        """The form.  Raises ValueError for arguments of another kind than the rule is about, or of other functions."""
        self.check(*arguments)
        return self.slack(*arguments)

    def check(self, *arguments: Any) -> None:
        """Raises ValueError for arguments of another kind than the rule is about."""
        takes, kinds = _annotated(self.slack)
        for name, argument in takes.bind(*arguments).arguments.items():
            many = takes.parameters[name].kind is Parameter.VAR_POSITIONAL
            for one in argument if many else (argument,):
                self._take(name, one, kinds[name])

    def _take(self, name: str, argument: Any, kind: Any) -> None:
        if get_origin(kind) is Annotated:
            _, words, fits = get_args(kind)
        else:
            kind = self.of if self.of and issubclass(self.of, kind) else kind
            words = " or ".join(one.__qualname__ for one in get_args(kind) or (kind,))
            fits = lambda one: isinstance(one, kind)  # noqa: E731
        if not fits(argument):
            got = getattr(argument, "name", argument)
            raise ValueError(f"{name}: expected {words}, got {got} ({type(argument).__qualname__})")


def _means() -> Decision:
    return Decision(Status.PROVED, "what the property means")


def rule(
    name: str,
    *needs: Property,
    prove: Callable[[], Decision] = _means,
    equality: bool = False,
    of: type | None = None,
    when: Callable[..., tuple[Boolean, ...]] = _always,
) -> Callable[[Callable[..., sympy.Expr]], Rule]:
    """The rule with this slack, whose docstring is what the rule says."""
    return lambda slack: Rule(name, folded(slack.__doc__ or ""), slack, prove, needs, equality, when, of)


def _identity(left: sympy.Expr, right: sympy.Expr) -> Decision:
    rest = sympy.expand(sympy.simplify(left - right))
    return Decision(Status.PROVED, "identity") if rest == 0 else Decision(Status.REFUTED, f"the sides differ by {rest}")


# Sums of vectors


def _prove_jensen() -> Decision:
    """For n vectors (or weights of total n) with mean m; the sum of their squared distances from m is D."""
    n, D = sympy.symbols("n D", nonnegative=True)
    m = sympy.Symbol("m", real=True)
    return decide([], at_least(n * (n * m**2 + D) - (n * m) ** 2, 0))


@rule("Jensen", prove=_prove_jensen)
def JENSEN(*vectors: Linear) -> sympy.Expr:
    """||v_1 + ... + v_n||^2 <= n (||v_1||^2 + ... + ||v_n||^2)"""
    return len(vectors) * sympy.Add(*(v**2 for v in vectors)) - sympy.Add(*vectors) ** 2


@rule("Jensen over a family", prove=_prove_jensen)
def JENSEN_OVER(v: Linear, *families: Family) -> sympy.Expr:
    """||sum_i v_i||^2 <= n sum_i ||v_i||^2 for n vectors v_i"""
    squares, total, mass = v**2, v, sympy.Integer(1)
    for family in families:
        squares, total, mass = family.sum(squares), family.sum(total), mass * family.mass
    return mass * squares - total**2


def _prove_young() -> Decision:
    u, v = sympy.symbols("u v", real=True)
    share = sympy.Symbol("s", positive=True)
    return decide([], at_least(YOUNG.slack(u, v, share), 0))


@rule("Young", prove=_prove_young, when=lambda u, v, share: (sympy.Gt(share, 0, evaluate=False),))
def YOUNG(u: Linear, v: Linear, share: Number) -> sympy.Expr:
    """2 <u, v> <= s ||u||^2 + ||v||^2 / s for s > 0"""
    return share * u**2 + v**2 / share - 2 * u * v


def _prove_square() -> Decision:
    v = sympy.Symbol("v", real=True)
    return decide([], at_least(v**2, 0))


@rule("a square", prove=_prove_square)
def SQUARE(v: Linear) -> sympy.Expr:
    """||v||^2 >= 0"""
    return v**2


def _alike(of: Local, *members: Members) -> None:
    """Raises ValueError unless `of` is the same form of all these members, but for the families that it runs over."""
    one, *others = map(of, members)
    if any(sympy.expand(bare(other) - bare(one)) != 0 for other in others):
        raise ValueError(f"{', '.join(map(str, (one, *others)))}: expected the same of both")


def _is_part(of: Local, some: Any, every: Any) -> None:
    """Raises ValueError unless the first families are parts of the second ones, and `of` is the same vector of both."""
    _alike(of, some, every)
    own, whole = set(some.families), set(every.families)
    parts = {family for part in own - whole for family in part.part_of}
    if not own - whole or parts != whole - own or not all(part.part_of for part in own - whole):
        names = [", ".join(family.name for family in one.families) for one in (some, every)]
        raise ValueError(f"the families {names[0]}: expected a part of {names[1]}")


def _prove_part() -> Decision:
    some, rest = sympy.symbols("some rest", nonnegative=True)
    return decide([], sympy.Ge(some + rest, some, evaluate=False))


@rule("part of a sum", prove=_prove_part)
def PART(of: Local, some: Steps, every: Steps) -> sympy.Expr:
    """a sum of squares over some of the steps is at most that over all"""
    _is_part(of, some, every)
    return every.sum(of(every) ** 2) - some.sum(of(some) ** 2)


# Functions


def _of(function: Function, *points: Any) -> None:
    """Raises ValueError unless these minimisers, or infima, are those of the function."""
    for one in points:
        if one.function != function:
            raise ValueError(f"{one}, of the function {one.function}: expected that of {function}")


def _mean_of_clients(member: Any, mean: Any, clients: Family | None = None) -> None:
    """Raises ValueError unless `member` is a value or gradient of some F_m, and `mean` that of F at the same point.

    clients  the family of the clients, if the member runs over it
    """
    alike = type(member) is type(mean) and member.at == mean.at and isinstance(member.function, Client)
    if not alike or member.function.mean != mean.function or (clients and clients not in member.families):
        raise ValueError(f"{mean}: expected the mean over the clients of {member}")


def _of_each(v: sympy.Expr, clients: Family) -> None:
    """Raises ValueError unless each client has its own vector."""
    if not all(clients in s.families for s in vectors_in(v)):
        raise ValueError(f"{v}: expected a vector of each client {clients.name}")


def _are_clients(member: Client, mean: Objective, clients: Family | None = None) -> None:
    """Raises ValueError unless the functions are those of clients, and their mean."""
    if member.mean != mean or (clients and clients not in member.families):
        raise ValueError(f"{mean}: expected the mean of the clients' functions {member}")


@rule("Lipschitz gradient", Property.SMOOTH, of=Client)
def LIPSCHITZ(L: Number, function: Function, y: Linear, x: Linear) -> sympy.Expr:
    """||grad F_m(y) - grad F_m(x)||^2 <= L^2 ||y - x||^2"""
    return L**2 * (y - x) ** 2 - (gradient(function, y) - gradient(function, x)) ** 2


@rule("bounded below", Property.BOUNDED_BELOW, of=Objective)
def BELOW(function: Function, x: Linear, lowest: Infimum) -> sympy.Expr:
    """h(x) >= h_*"""
    _of(function, lowest)
    return value(function, x) - lowest


@rule("smooth from above", Property.SMOOTH_ABOVE, of=Client)
def DESCENT(L: Number, function: Function, y: Linear, x: Linear) -> sympy.Expr:
    """F_m(y) <= F_m(x) + <grad F_m(x), y - x> + (L/2) ||y - x||^2"""
    linear = value(function, x) + gradient(function, x) * (y - x)
    return linear + L / 2 * (y - x) ** 2 - value(function, y)


@rule("strongly convex", Property.STRONGLY_CONVEX)
def TANGENT(mu: Number, function: Client, y: Linear, x: Linear) -> sympy.Expr:
    """F_m(y) >= F_m(x) + <grad F_m(x), y - x> + (mu/2) ||y - x||^2"""
    return value(function, y) - value(function, x) - gradient(function, x) * (y - x) - mu / 2 * (y - x) ** 2


def _prove_cocoercive() -> Decision:
    """Convexity between x and z = y - (grad h(y) - grad h(x)) / L plus smoothness from above between y and z."""
    L, h = sympy.Symbol("L", positive=True), Alone("h")
    x, y = sympy.symbols("x y", real=True)
    z = y - (gradient(h, y) - gradient(h, x)) / L
    zero = sympy.Integer(0)
    # The value at z cancels: `point` gives it the same symbol in both inequalities
    added = TANGENT.slack(zero, h, sympy.expand(z), x) + DESCENT.slack(L, h, sympy.expand(z), y)
    return _identity(sympy.expand(added), sympy.expand(COCOERCIVE.slack(L, h, y, x)))


@rule("cocoercive", Property.SMOOTH_ABOVE, Property.CONVEX, prove=_prove_cocoercive)
def COCOERCIVE(L: Number, function: Client, y: Linear, x: Linear) -> sympy.Expr:
    """F_m(y) >= F_m(x) + <grad F_m(x), y - x> + ||grad F_m(y) - grad F_m(x)||^2 / (2 L), convex and smooth from above"""
    change = gradient(function, y) - gradient(function, x)
    return value(function, y) - value(function, x) - gradient(function, x) * (y - x) - change**2 / (2 * L)


@rule("stationary", Property.MINIMISER, equality=True)
def STATIONARY(function: Objective, x_star: Minimiser, v: Linear) -> sympy.Expr:
    """grad F(x*) = 0 at a minimiser x*"""
    _of(function, x_star)
    return gradient(function, x_star) * v


DESCENT_OF_MEAN = Rule(
    "smooth from above, of the mean",
    "F(y) <= F(x) + <grad F(x), y - x> + (L/2) ||y - x||^2 for F = sum p_m F_m, the clients' inequalities added up",
    DESCENT.slack,
    _means,
    (Property.SMOOTH_ABOVE, Property.WEIGHTS),
    of=Objective,
)


# Noise


@dataclass(frozen=True)
class Deviation:
    """What a random vector is apart from its mean: the difference, and the vectors known before the vector is drawn.

    vector  the difference, or its sum over the steps before
    known   the vectors whose inner product with it has the mean zero

    Raises ValueError if the vector is not such a difference, or if what is known depends on it.
    """

    vector: sympy.Expr
    known: frozenset[FormTerm]
    source: ClassVar[type[Random]] = Random

    def __post_init__(self) -> None:
        so_far = [s for s in vectors_in(self.vector) if isinstance(s, Before)]
        error = before(self.drawn.error, *so_far[0].parts[1:]) if so_far else self.drawn.error
        if sympy.expand(self.vector - error) != 0:
            raise ValueError(f"{self.vector}: expected {error}")
        earlier = (MeanAtStart,) if so_far else (MeanAtStart, Before)
        if bare(self.drawn) in (bare(s) for e in self.known for s in nested(e, *earlier)):
            raise ValueError(f"{self.drawn}: not known before it is drawn")

    @property
    def drawn(self) -> Any:
        """The random vector."""
        found = [s.term if isinstance(s, Before) else s for s in vectors_in(self.vector)]
        for one in found:
            if isinstance(one, self.source):
                return one
        raise ValueError(f"{self.vector}: expected the difference of a {self.source.__qualname__} and its mean")


class Noise(Deviation):
    """The noise of a stochastic gradient, g - grad F_m(x)."""

    source = StochasticGradient


@rule("noise of mean zero", Property.UNBIASED, equality=True, of=Noise)
def FRESH(error: Deviation | ConditionalMean, known: Linear) -> sympy.Expr:
    """E<noise, v> = 0 for a vector v that is known before the noise is drawn"""
    unknown = vectors_in(known) - error.known
    if unknown:
        raise ValueError(f"{sorted(map(str, unknown))}: not known before {error.vector} is drawn")
    return sympy.expand(error.vector * known)


def _each(error: Deviation, *families: Family) -> None:
    """Raises ValueError unless the error is that of one draw, for each member of the families."""
    if error.vector != error.drawn.error or set(families) - set(error.drawn.families):
        names = ", ".join(family.name for family in families)
        raise ValueError(f"{error.vector}: expected the error of one draw for each of the families {names}")


@rule("bounded variance", Property.VARIANCE)
def VARIANCE(sigma: Number, noise: Noise) -> sympy.Expr:
    """E||noise||^2 <= sigma^2"""
    _each(noise)
    return sigma**2 - sympy.expand(noise.vector**2)


def _in_turn(steps: tuple[Family, ...]) -> None:
    """Raises ValueError for members that work in parallel."""
    if any(family.at_once for family in steps):
        raise ValueError(f"{', '.join(family.name for family in steps)}: expected steps one after another")


def _prove_successive() -> Decision:
    """By induction: E||P + p u||^2 = E||P||^2 + p^2 E||u||^2 for a weight p, since E[u | past] = 0 and P is past.

    The past of a client that works in parallel with others is that of the clients counted before it.
    """
    past, u, square, p = sympy.symbols("P u v p", real=True)
    terms = sympy.Poly(sympy.expand((past + p * u) ** 2), u).terms()
    tower = sympy.Add(*(c * {0: sympy.Integer(1), 1: sympy.Integer(0), 2: square}[power] for (power,), c in terms))
    return _identity(tower, past**2 + p**2 * square)


def _prove_silent() -> Decision:
    """<noise, v>^2 <= ||noise||^2 ||v||^2 in expectation."""
    cross = sympy.Symbol("cross", real=True)
    noise, v = sympy.symbols("noise v", nonnegative=True)
    return decide([at_most(noise, 0), at_most(cross**2, noise * v)], [at_least(cross, 0), at_most(cross, 0)])


@rule(
    "no noise",
    Property.VARIANCE,
    prove=_prove_silent,
    equality=True,
    when=lambda noise, v, bound: (sympy.Eq(bound, 0, evaluate=False),),
)
def SILENT(sigma: Number, noise: Noise, v: Linear, bound: Number) -> sympy.Expr:
    """E<noise, v> = 0 for every v where sigma = 0"""
    if bound != sigma:
        raise ValueError(f"{bound}: expected {sigma}, which bounds the noise")
    return sympy.expand(noise.vector * v)


@rule("successive noise", Property.UNBIASED, prove=_prove_successive, equality=True)
def SUCCESSIVE(noise: Noise, *families: Family) -> sympy.Expr:
    """E||sum of noises||^2 = sum of E||noise||^2, if each has mean zero given the noises before it"""
    _in_turn(families)
    return INDEPENDENT.slack(noise, *families)


@rule("independent noise", Property.UNBIASED, Property.INDEPENDENT_NOISE, prove=_prove_successive, equality=True)
def INDEPENDENT(noise: Noise, *families: Family) -> sympy.Expr:
    """E||sum of noises||^2 = sum of E||noise||^2 over clients that work in parallel, and their successive steps"""
    _each(noise, *families)
    squares, total = noise.vector**2, noise.vector
    for family in families:
        squares, total = family.sum(squares), family.sum(total)
    return squares - sympy.expand(total**2)


# Sampled clients, and how much clients differ


spread = Spread


def _apart_from(clients: Family, known: sympy.Expr) -> None:
    """Raises ValueError for a form that depends on which clients are sampled."""
    if _sums_over(clients, known) or any(clients in one.families for one in vectors_in(known)):
        raise ValueError(f"{known}: not known before the clients {clients.name} are sampled")


def _sums_over(family: Family, e: sympy.Expr) -> set[str]:
    return {s.name for s in nested(e) if isinstance(s, Sum) and s.family == family}


@rule("mean of sampled clients", Property.SAMPLING, Property.EQUAL_WEIGHTS, equality=True)
def SAMPLED(member: Value | Gradient, mean: Value | Gradient, clients: Family, known: Form) -> sympy.Expr:
    """given the past, the sum of F_m (or grad F_m) at a point over S sampled clients has the mean S F (or S grad F)"""
    _mean_of_clients(member, mean, clients)
    _apart_from(clients, known * member.at)
    return sympy.expand((clients.sum(member) - clients.mass * mean) * known)


@rule("mean of a sample", Property.SAMPLING, equality=True)
def MEAN_OF_SAMPLE(member: Form, some: Family, every: Family, known: Form) -> sympy.Expr:
    """given the past, the sum of v_m over the S sampled clients has the mean S/M times the sum of v_m over all M clients"""
    _apart_from(some, known)
    if not any(some in s.families for s in vectors_in(member)) or _sums_over(some, member):
        raise ValueError(f"{member}: expected a form of each sampled client {some.name}")
    all_ = every.sum(sympy.expand(renamed(member, some, every)))
    return sympy.expand((some.sum(sympy.expand(member)) - some.mass / every.mass * all_) * known)


def _of_sample(member: sympy.Expr, mean: sympy.Expr, clients: Family, population: sympy.Expr) -> tuple[Boolean, ...]:
    """At least two clients, and no more sampled clients than clients."""
    return at_least(population, 2), at_most(clients.mass, population)


def _deviation(member: sympy.Expr, mean: sympy.Expr, clients: Family, population: sympy.Expr) -> sympy.Expr:
    S, M = clients.mass, population
    return S * (M - S) / (M - 1) * spread(member) - sympy.expand((clients.sum(member) - S * mean) ** 2)


def _prove_without_replacement() -> Decision:
    """S squares and S (S - 1) pairs of different clients; over all clients the deviations from the mean sum to zero."""
    S, M = sympy.symbols("S M", integer=True, positive=True)
    variance = sympy.Symbol("v", nonnegative=True)
    pair = (0 - M * variance) / (M * (M - 1))  # ||sum||^2 = 0 = squares + pairs
    return _identity(S * variance + S * (S - 1) * pair, S * (M - S) / (M - 1) * variance)


def _mean_of(member: Vector, mean: Mean | ServerVariate, clients: Family | None = None) -> None:
    """Raises ValueError unless `mean` is that of the vector, over these clients."""
    if mean.member != member or clients not in (None, mean.parts[2]):
        raise ValueError(f"{mean}, the mean of {mean.member}: expected that of {member}")


def _prove_with_replacement() -> Decision:
    """S squares; two independent draws have no covariance."""
    S, variance = sympy.symbols("S v", positive=True)
    return _identity(S * variance + S * (S - 1) * 0, S * variance)


@rule("variance of a sample with replacement", prove=_prove_with_replacement, equality=True)
def WITH_REPLACEMENT(member: Vector, mean: Mean, clients: Family, population: Number) -> sympy.Expr:
    """E||sum of S independent draws - S vbar||^2 = S times the variance of v_m over the population"""
    _mean_of(member, mean, clients)
    S = clients.mass
    return S * spread(member) - sympy.expand((clients.sum(member) - S * mean) ** 2)


def _prove_pair() -> Decision:
    """All M (M - 1) ordered pairs together: ||sum of deviations||^2 - sum of squares = 0 - M variance."""
    M, variance = sympy.symbols("M v", positive=True)
    return _identity((0 - M * variance) / (M * (M - 1)), -variance / (M - 1))


@rule(
    "two draws without replacement",
    Property.SAMPLING,
    prove=_prove_pair,
    equality=True,
    when=lambda first, second, mean, member, population: (at_least(population, 2),),
)
def PAIR_OF_SAMPLE(first: SampleDraw, second: SampleDraw, mean: Mean, member: Vector, population: Number) -> sympy.Expr:
    """E<v_p - vbar, v_q - vbar> = -variance / (M - 1) for two different draws"""
    _mean_of(member, mean)
    if first == second or {first.member, second.member} != {member}:
        raise ValueError(f"{first}, {second}: expected two different draws of {member}")
    return -spread(member) / (population - 1) - sympy.expand((first - mean) * (second - mean))


@rule("variance of a sample", Property.SAMPLING, prove=_prove_without_replacement, equality=True, when=_of_sample)
def WITHOUT_REPLACEMENT(member: Vector, mean: Mean, clients: Family, population: Number) -> sympy.Expr:
    """E||sum of S sampled v_m - S vbar||^2 = S (M - S) / (M - 1) times the variance of v_m over all M clients"""
    _mean_of(member, mean, clients)
    return _deviation(member, mean, clients, population)


@rule(
    "variance of a sample of clients",
    Property.SAMPLING,
    Property.EQUAL_WEIGHTS,
    prove=_prove_without_replacement,
    equality=True,
    when=_of_sample,
)
def CLIENTS_WITHOUT_REPLACEMENT(member: Gradient, mean: Gradient, clients: Family, population: Number) -> sympy.Expr:
    """the variance of a sample, for the clients' gradients at a point, whose mean is the gradient of F"""
    _mean_of_clients(member, mean, clients)
    return _deviation(member, mean, clients, population)


@rule("sampled clients are exchangeable", Property.SAMPLING, equality=True)
def EXCHANGEABLE(of: Local, some: Group, every: Group) -> sympy.Expr:
    """a function of a client's data at the start of the round has the same E for each sampled client"""
    _alike(of, some, every)
    for steps in (some, every):
        later = {family for v in vectors_in(of(steps)) for family in v.families} - set(steps.clients)
        if later:
            raise ValueError(f"{of(steps)}: expected a vector that a client has at the start of the round")
    return some.sum(of(some)) - some.mass / every.mass * every.sum(of(every))


def _prove_second_moment() -> Decision:
    """For M vectors with the mean m, whose deviations d_i sum to zero: sum ||m + d_i||^2 = M ||m||^2 + M variance."""
    M = sympy.Symbol("M", positive=True)
    m, variance = sympy.symbols("m v", real=True)
    return _identity((M * m**2 + 2 * m * 0 + M * variance) / M, m**2 + variance)


@rule(
    "second moment of a sampled client",
    Property.SAMPLING,
    Property.EQUAL_WEIGHTS,
    prove=_prove_second_moment,
    equality=True,
)
def SECOND_MOMENT(member: Gradient, mean: Gradient, clients: Family) -> sympy.Expr:
    """E||v_m||^2 of a sampled client is ||vbar||^2 plus the variance of v_m over all clients"""
    _mean_of_clients(member, mean, clients)
    return clients.sum(sympy.expand(member**2)) - clients.mass * (sympy.expand(mean**2) + spread(member))


@rule("heterogeneity at the optimum", Property.HETEROGENEITY_AT_OPTIMUM)
def HETEROGENEITY_AT_OPTIMUM(zeta_star: Number, at_optimum: Gradient) -> sympy.Expr:
    """the clients' gradients at x*, whose mean is 0, have a variance of at most zeta_*^2"""
    own = at_optimum.function
    if not (isinstance(own, Client) and isinstance(at_optimum.at, Minimiser) and at_optimum.at.function == own.mean):
        raise ValueError(f"{at_optimum}: expected the gradient of a client's function at a minimiser of their mean")
    return zeta_star**2 - spread(at_optimum)


@rule("heterogeneity everywhere", Property.HETEROGENEITY)
def HETEROGENEITY(beta: Number, zeta: Number, member: Gradient, mean: Gradient) -> sympy.Expr:
    """the clients' gradients at a point have a variance of at most beta^2 ||grad F||^2 + zeta^2"""
    _mean_of_clients(member, mean)
    return beta**2 * mean**2 + zeta**2 - spread(member)


# Clients with weights, and the mean of their functions


def _weigh_one(member: Client, mean: Objective, clients: Family) -> None:
    """Raises ValueError for clients whose weights do not sum to 1, or whose functions have another mean."""
    _are_clients(member, mean, clients)
    if clients.mass != 1:
        raise ValueError(f"the family {clients.name} of mass {clients.mass}: expected clients with weights of sum 1")


@rule("value of the mean function", Property.WEIGHTS, equality=True)
def MEAN_VALUE(function: Client, mean: Objective, at: Linear, clients: Family) -> sympy.Expr:
    """F(x) = sum p_m F_m(x)"""
    _weigh_one(function, mean, clients)
    return value(mean, at) - clients.sum(value(function, at))


@rule("gradient of the mean function", Property.WEIGHTS, equality=True)
def MEAN_GRADIENT(function: Client, mean: Objective, at: Linear, clients: Family, v: Linear) -> sympy.Expr:
    """grad F(x) = sum p_m grad F_m(x)"""
    _weigh_one(function, mean, clients)
    return (gradient(mean, at) - clients.sum(gradient(function, at))) * v


@rule("convex", Property.CONVEX)
def CONVEX(function: Client, y: Linear, x: Linear) -> sympy.Expr:
    """F_m(y) >= F_m(x) + <grad F_m(x), y - x>"""
    return TANGENT.slack(sympy.Integer(0), function, y, x)


LOWEST_OF_CLIENT = Rule(
    "a client's infimum", "F_m(y) >= F_m*", BELOW.slack, _means, (Property.CLIENTS_BOUNDED_BELOW,), of=Client
)


@rule("the minimum", Property.MINIMISER, equality=True)
def ATTAINED(function: Objective, x_star: Minimiser, lowest: Infimum) -> sympy.Expr:
    """F(x*) = F*"""
    _of(function, x_star)
    return BELOW.slack(function, x_star, lowest)


def _errors(kind: type[Deviation], of: Local, squares: Members, weighted: Members) -> sympy.Expr:
    for members in (squares, weighted):
        if not isinstance(of(members), kind):
            raise ValueError(f"{of(members)}: expected the {kind.__qualname__} of a {kind.source.__qualname__}")
        _each(of(members), members.family)
    _alike(lambda members: of(members).vector, squares, weighted)
    own, whole = squares.family, weighted.family
    if own.square_of != whole and (own != whole or whole.mass == 1):
        raise ValueError(f"{own.name}: expected the family of the squared weights of {whole.name}")
    return squares.sum(sympy.expand(of(squares).vector ** 2)) - weighted.sum(of(weighted).vector) ** 2


@rule(
    "independent noise, weighted", Property.UNBIASED, Property.INDEPENDENT_NOISE, prove=_prove_successive, equality=True
)
def INDEPENDENT_WEIGHTED(of: Local, squares: Members, weighted: Members) -> sympy.Expr:
    """E||sum p_m noise_m||^2 = sum p_m^2 E||noise_m||^2 over clients that work in parallel"""
    return _errors(Noise, of, squares, weighted)


@rule("equal weights", Property.EQUAL_WEIGHTS, equality=True)
def EQUAL_SHARES(of: Local, every: Group, weighted: Members, known: Linear) -> sympy.Expr:
    """sum v_m over all M clients is M times sum p_m v_m, where p_m = 1/M"""
    _alike(of, every, weighted)
    return sympy.expand((every.sum(of(every)) - every.mass * weighted.sum(of(weighted))) * known)


@rule(
    "variance of a sample, written out",
    Property.SAMPLING,
    prove=_prove_without_replacement,
    equality=True,
    when=lambda of, sample, population: (at_least(population.mass, 2), at_most(sample.mass, population.mass)),
)
def SAMPLE_OF(of: Local, sample: Group, population: Group) -> sympy.Expr:
    """E||sum of S sampled v_m - S vbar||^2 = S (M - S) / (M - 1) sum ||v_m - vbar||^2 / M over all M clients"""
    _alike(of, sample, population)
    S, M = sample.mass, population.mass
    mean = population.sum(of(population)) / M
    variance = population.sum(sympy.expand((of(population) - mean) ** 2)) / M
    return S * (M - S) / (M - 1) * variance - sympy.expand((sample.sum(of(sample)) - S * mean) ** 2)


def _prove_bounded_step() -> Decision:
    """||eta g||^2 = eta^2 ||g||^2 <= rate^2 G^2."""
    eta, rate, g, G = sympy.symbols("eta rate g G", nonnegative=True)
    given = [sympy.Le(eta, rate, evaluate=False), sympy.Le(g**2, G**2, evaluate=False)]
    return decide(given, at_least(BOUNDED_STEP.slack(G, eta * g, rate), 0))


@rule("bounded step", Property.BOUNDED_GRADIENT, prove=_prove_bounded_step)
def BOUNDED_STEP(G: Number, step: LearningStep, rate: Number) -> sympy.Expr:
    """E||eta g||^2 <= rate^2 G^2 for a step eta g whose learning rate eta is at most `rate`"""
    return rate**2 * G**2 - step**2


# Binarisation: S(v) - v is a noise that is drawn after v


class BinarisationError(Deviation):
    """The error S(v) - v of a binarised vector."""

    source = Binarised


BINARISED = Rule(
    "binarisation of mean zero",
    "E<S(v) - v, u> = 0 for a vector u that is known before v is binarised",
    FRESH.slack,
    _means,
    (Property.UNBIASED_BINARISATION,),
    of=BinarisationError,
    equality=True,
)


@rule("error of binarisation", Property.BINARISATION)
def BINARISATION_ERROR(q: Number, error: BinarisationError) -> sympy.Expr:
    """E||S(v) - v||^2 <= q^2 ||v||^2"""
    return q**2 * sympy.expand(error.drawn.binarised**2) - sympy.expand(error.vector**2)


@rule(
    "independent binarisation",
    Property.UNBIASED_BINARISATION,
    Property.INDEPENDENT_COMPRESSORS,
    prove=_prove_successive,
    equality=True,
)
def INDEPENDENT_BINARISATION(of: Local, squares: Members, weighted: Members) -> sympy.Expr:
    """E||sum p_m (S(v_m) - v_m)||^2 = sum p_m^2 E||S(v_m) - v_m||^2, the clients' binarisations independent"""
    return _errors(BinarisationError, of, squares, weighted)


# The clients' functions and their mean; the mean can be smooth even if they are not


@rule("sum of the clients' values", Property.EQUAL_WEIGHTS, equality=True)
def SUM_VALUE(clients: Family, member: Client, mean: Objective, at: Linear) -> sympy.Expr:
    """sum over the clients of F_m(x) = M F(x)"""
    _are_clients(member, mean, clients)
    return clients.sum(value(member, at)) - clients.mass * value(mean, at)


@rule("sum of the clients' gradients", Property.EQUAL_WEIGHTS, equality=True)
def SUM_GRADIENT(clients: Family, member: Client, mean: Objective, at: Linear, v: Linear) -> sympy.Expr:
    """<sum over the clients of grad F_m(x), v> = M <grad F(x), v>"""
    _are_clients(member, mean, clients)
    return sympy.expand((clients.sum(gradient(member, at)) - clients.mass * gradient(mean, at)) * v)


@rule("bounded gradient dissimilarity", Property.DISSIMILARITY)
def DISSIMILAR(G: Number, clients: Family, member: Client, mean: Objective, at: Linear) -> sympy.Expr:
    """sum over the clients of ||grad F_m(x) - grad F(x)||^2 <= M G^2"""
    _are_clients(member, mean, clients)
    return clients.mass * G**2 - clients.sum(sympy.expand((gradient(member, at) - gradient(mean, at)) ** 2))


LIPSCHITZ_OF_MEAN = Rule(
    "Lipschitz gradient of the mean",
    "||grad F(y) - grad F(x)||^2 <= L^2 ||y - x||^2",
    LIPSCHITZ.slack,
    _means,
    (Property.SMOOTH_MEAN,),
    of=Objective,
)


def _prove_descent() -> Decision:
    """F(y) - F(x) - <grad F(x), w> is the integral of <grad F(x + t w) - grad F(x), w> <= L t ||w||^2, w = y - x."""
    L, t, square = sympy.symbols("L t w", nonnegative=True)
    return _identity(sympy.integrate(L * t * square, (t, 0, 1)), L / 2 * square)


SMOOTH_DESCENT = Rule(
    "smooth mean from above",
    "F(y) <= F(x) + <grad F(x), y - x> + (L/2) ||y - x||^2 where F is two-sided smooth",
    DESCENT.slack,
    _prove_descent,
    (Property.SMOOTH_MEAN,),
    of=Objective,
)


def _prove_gradient_and_gap() -> Decision:
    """Smoothness between x and y = x - grad h(x) / L, and h(x*) <= h(y)."""
    L, h = sympy.Symbol("L", positive=True), Alone("h")
    x, x_star = sympy.Symbol("x", real=True), Minimiser("x*", h)
    y = sympy.expand(x - gradient(h, x) / L)
    added = DESCENT.slack(L, h, y, x) + value(h, y) - value(h, x_star)
    return _identity(sympy.expand(2 * L * added), GRADIENT_AND_GAP.slack(L, h, x, x_star))


@rule("gradient and gap", Property.SMOOTH_MEAN, Property.MINIMISER, prove=_prove_gradient_and_gap)
def GRADIENT_AND_GAP(L: Number, function: Objective, x: Linear, x_star: Minimiser) -> sympy.Expr:
    """||grad F(x)||^2 <= 2 L (F(x) - F(x*)) where F is smooth and x* minimises it"""
    _of(function, x_star)
    return 2 * L * (value(function, x) - value(function, x_star)) - gradient(function, x) ** 2


def _prove_perturbed() -> Decision:
    """Strong convexity from x to y and to z, twice smoothness from above from x to z, and a square."""
    mu, L = sympy.symbols("mu L", nonnegative=True)
    h, (x, y, z) = Alone("h"), sympy.symbols("x y z", real=True)
    added = TANGENT.slack(mu, h, y, x) + TANGENT.slack(mu, h, z, x) + 2 * DESCENT.slack(L, h, z, x)
    return _identity(
        sympy.expand(added + mu / 4 * (y - 2 * x + z) ** 2), sympy.expand(PERTURBED.slack(mu, L, h, x, y, z))
    )


@rule("perturbed strong convexity", Property.STRONGLY_CONVEX, Property.SMOOTH_ABOVE, prove=_prove_perturbed)
def PERTURBED(mu: Number, L: Number, function: Client, x: Linear, y: Linear, z: Linear) -> sympy.Expr:
    """<grad F_m(x), z - y> >= F_m(z) - F_m(y) + (mu/4) ||y - z||^2 - L ||z - x||^2"""
    gap = value(function, z) - value(function, y)
    return gradient(function, x) * (z - y) - gap - mu / 4 * (y - z) ** 2 + L * (z - x) ** 2


@rule("Lipschitz stochastic gradient", Property.SMOOTH_SAMPLES)
def SMOOTH_SAMPLE(L: Number, at_y: StochasticGradient, at_x: StochasticGradient) -> sympy.Expr:
    """||g(y) - g(x)||^2 <= L^2 ||y - x||^2 for the gradients on one mini-batch"""
    if at_y.batch is None or (at_y.batch, at_y.function) != (at_x.batch, at_x.function):
        raise ValueError(f"{at_y}, {at_x}: expected gradients of one function on one mini-batch")
    return L**2 * (at_y.at - at_x.at) ** 2 - (at_y - at_x) ** 2


# Samples for each block of coordinates


@dataclass(frozen=True)
class Sample:
    """A sample of clients for each block of coordinates; the blocks of a vector come from different samples.

    some   the family of the sampled clients of a block; its sums are sums of their blocks
    every  the family of all clients
    known  the vectors and functions that the sample is independent of, and so their gradients, values and sums
    """

    some: Family
    every: Family
    known: frozenset[Vector | Function]

    def of_all(self, e: sympy.Expr) -> sympy.Expr:
        """The same form for all clients.  Raises ValueError if the form depends on the sample."""
        known = set(map(bare, self.known))
        parts = [s for s in nested(e, Random, Client) if not isinstance(s, Value | Gradient | Sum | ForEach)]
        unknown = {s.name for s in parts if bare(s) not in known} | _sums_over(self.some, e)
        if unknown:
            raise ValueError(f"{sorted(unknown)}: not known before the sample is drawn")
        return renamed(e, self.some, self.every)

    def of_some(self, e: sympy.Expr) -> sympy.Expr:
        """The form, given for all clients, for the sampled clients."""
        return renamed(e, self.every, self.some)


def _prove_apart_from_sample() -> Decision:
    """A client is in a sample of K of M with probability K/M; this holds for the sample of each block."""
    K, M = sympy.symbols("K M", positive=True)
    one = sympy.binomial(M - 1, K - 1) / sympy.binomial(M, K)
    return _identity(sympy.gammasimp(one.rewrite(sympy.gamma)), K / M)


@rule("mean over a sample for each block", Property.BLOCK_SAMPLING, prove=_prove_apart_from_sample, equality=True)
def APART(sample: Sample, e: Form) -> sympy.Expr:
    """the sum over K sampled clients has the mean K/M times the sum over all, for vectors independent of the sample"""
    some, every = sample.some, sample.every
    return sympy.expand(some.sum(e) - some.mass / every.mass * every.sum(sample.of_all(e)))


def _prove_block_variance() -> Decision:
    """A client is in a sample with probability K/M, two with K (K - 1)/(M (M - 1)); pairs = square of sum - squares."""
    K, M, square, squares = sympy.symbols("K M square squares", positive=True)
    two = sympy.binomial(M - 2, K - 2) / sympy.binomial(M, K)
    both = sympy.gammasimp(two.rewrite(sympy.gamma))
    found = both * (square - squares) + K / M * squares
    return _identity(found, K * (K - 1) / (M * (M - 1)) * square + K * (M - K) / (M * (M - 1)) * squares)


@rule(
    "square of a sample for each block",
    Property.BLOCK_SAMPLING,
    prove=_prove_block_variance,
    equality=True,
    when=lambda sample, v: (at_least(sample.every.mass, 2), at_most(sample.some.mass, sample.every.mass)),
)
def BLOCK_VARIANCE(sample: Sample, v: Linear) -> sympy.Expr:
    """E||sum of the sampled v_i||^2 = K (K - 1)/(M (M - 1)) ||sum v_i||^2 + K (M - K)/(M (M - 1)) sum ||v_i||^2, M > 1"""
    K, M, of_all = sample.some.mass, sample.every.mass, sample.of_all(v)
    pairs = K * (K - 1) / (M * (M - 1)) * sample.every.sum(of_all) ** 2
    singles = K * (M - K) / (M * (M - 1)) * sample.every.sum(sympy.expand(of_all**2))
    return sympy.expand(pairs + singles - sample.some.sum(v) ** 2)


def _prove_renewed() -> Decision:
    """Member by member and block by block: a renewed block counts with its new value, the rest with the old one."""
    kept, old, new = sympy.symbols("kept old new", real=True)
    return _identity((kept + new) - (kept + old), new - old)


@rule("renewed where sampled", prove=_prove_renewed, equality=True)
def RENEWED(of: Form, after: Renewed, new: Linear, sample: Sample) -> sympy.Expr:
    """of vectors v_i whose sampled blocks are renewed, sum h(v_i) grows by the sampled blocks' h(new) - h(old), h a
    square"""
    # of: a square that contains `after`, a vector of each client; new: the new value of a sampled block of `after`
    if sample.every not in after.families or any(after in nested(part) for one in vectors_in(of) for part in one.parts):
        raise ValueError(f"{of}: expected a square of {after}, a vector of each client {sample.every.name}")
    old, member = of.subs(after, after.before), renamed(after, sample.every, sample.some)
    change = renamed(of, sample.every, sample.some).subs(member, new) - renamed(old, sample.every, sample.some)
    every = sample.every.sum(sympy.expand(of)) - sample.every.sum(sympy.expand(old))
    return sympy.expand(every - sample.some.sum(sympy.expand(change)))


def _prove_controlled() -> Decision:
    """c and the mean of the c_i change by the same amount: the sum of the sampled clients' changes over M."""
    M, total, change = sympy.symbols("M total change", positive=True)
    c = total / M
    return _identity(c + change / M, (total + change) / M)


@rule("control variates and their mean", Property.INITIAL_VARIATES, prove=_prove_controlled, equality=True)
def CONTROLLED(clients: Family, member: Variate, server: ServerVariate, v: Linear) -> sympy.Expr:
    """the server's control variate is the mean of the clients', in every round as at the start"""
    _mean_of(member, server, clients)
    return sympy.expand((clients.sum(member) - clients.mass * server) * v)


# Numbers


@rule("1 - u <= exp(-u)", prove=below_exponential)
def ONE_MINUS(u: Number) -> sympy.Expr:
    """for every u; to a power n >= 0 where 1 - u >= 0"""
    return sympy.exp(-u) - (1 - u)


# Sums over clients, steps and rounds


def _prove_sums_commute() -> Decision:
    """By induction over the other family: one more member adds the same to both sides, because a sum is linear."""
    one = Family("A", sympy.Symbol("n", positive=True))
    so_far, further = Vector("s", one), Vector("v", one)
    return _identity(one.sum(so_far + further), one.sum(so_far) + one.sum(further))


@rule("sums commute", prove=_prove_sums_commute, equality=True)
def SUMS_COMMUTE(v: Form, one: Family, other: Family, u: Form) -> sympy.Expr:
    """sum_i sum_k v_ik = sum_k sum_i v_ik"""
    return (one.sum(other.sum(v)) - other.sum(one.sum(v))) * u


def _prove_jensen_part() -> Decision:
    """Jensen for the c <= n vectors of the part; the sum of their squares is at most the sum of all squares."""
    c, n, part, rest = sympy.symbols("c n part rest", nonnegative=True)
    return decide([sympy.Le(c, n)], sympy.Ge(n * (part + rest), c * part, evaluate=False))


@rule("Jensen for part of a family", prove=_prove_jensen_part)
def JENSEN_PART(of: Local, some: Steps, every: Steps) -> sympy.Expr:
    """||sum of some of n vectors||^2 <= n times the sum of all n squares"""
    _is_part(of, some, every)
    n = sympy.Mul(*(family.mass for family in every.families))
    return n * every.sum(sympy.expand(of(every) ** 2)) - some.sum(of(some)) ** 2


@dataclass(frozen=True)
class RoundsOfRun:
    """The rounds of a run, and its model before and after a round, before the first and after the last one."""

    family: Family
    before: Vector
    after: Vector
    first: Vector
    last: Vector


def _prove_telescoped() -> Decision:
    """By induction over the rounds: the change of one more round leads from the old last model to the new one."""
    first, last, now = sympy.symbols("first last now", real=True)
    return _identity((last - first) + (now - last), now - first)


@rule("changes add up", prove=_prove_telescoped, equality=True)
def TELESCOPED(run: RoundsOfRun, of: Local) -> sympy.Expr:
    """the sum of the changes of all rounds is the change from the first model to the last"""
    one = sympy.expand(of(run.after) - of(run.before))
    return run.family.sum(tagged(one, run.family)) - of(run.last) + of(run.first)


# One function, and the mean of the clients' functions


@rule("identical clients", Property.HOMOGENEOUS, equality=True)
def IDENTICAL(own: Client, function: Objective, x: Linear, v: Linear) -> sympy.Expr:
    """grad F_m(x) = grad F(x)"""
    _are_clients(own, function)
    return sympy.expand((gradient(own, x) - gradient(function, x)) * v)


@rule("gradient of the mean", Property.EQUAL_WEIGHTS, equality=True)
def GRADIENT_OF_MEAN(own: Client, function: Objective, x: Linear, clients: Family, v: Linear) -> sympy.Expr:
    """grad F(x) is the mean of the clients' grad F_m(x)"""
    _are_clients(own, function, clients)
    return sympy.expand((gradient(function, x) - clients.sum(gradient(own, x)) / clients.mass) * v)


def _prove_small_gradient() -> Decision:
    """Smoothness from above between x and z = x - grad F(x) / L, and F(z) >= F*, times 2 L."""
    L, h = sympy.Symbol("L", positive=True), Alone("h")
    x, lowest = sympy.Symbol("x", real=True), Infimum("h*", h)
    z = sympy.expand(x - gradient(h, x) / L)
    added = DESCENT.slack(L, h, z, x) + BELOW.slack(h, z, lowest)
    return _identity(sympy.expand(2 * L * added), sympy.expand(SMALL_GRADIENT.slack(L, h, x, lowest)))


@rule(
    "gradient by the gap", Property.SMOOTH_ABOVE, Property.WEIGHTS, Property.BOUNDED_BELOW, prove=_prove_small_gradient
)
def SMALL_GRADIENT(L: Number, function: Objective, x: Linear, lowest: Infimum) -> sympy.Expr:
    """||grad F(x)||^2 <= 2 L (F(x) - F*), for F = sum p_m F_m smooth from above and bounded below"""
    _of(function, lowest)
    return 2 * L * (value(function, x) - lowest) - gradient(function, x) ** 2


@rule("Polyak-Lojasiewicz", Property.POLYAK)
def POLYAK(mu: Number, function: Objective, x: Linear, lowest: Infimum) -> sympy.Expr:
    """||grad F(x)||^2 >= 2 mu (F(x) - F*)"""
    _of(function, lowest)
    return gradient(function, x) ** 2 - 2 * mu * (value(function, x) - lowest)


@rule("a client's own minimiser", Property.STRONGLY_CONVEX, equality=True)
def OWN_MINIMISER(mu: Number, own: Client, x_own: Minimiser, v: Linear) -> sympy.Expr:
    """grad F_m = 0 at the minimiser of F_m, which a strongly convex function has"""
    _of(own, x_own)
    if not mu.is_positive:
        raise ValueError(f"mu = {mu}: expected it positive, or a client's function may have no minimiser")
    return sympy.expand(gradient(own, x_own) * v)


def _prove_monotone() -> Decision:
    """The sum of the two tangent inequalities."""
    h, (mu, x, y) = Alone("h"), sympy.symbols("mu x y", real=True)
    return _identity(sympy.expand(TANGENT.slack(mu, h, y, x) + TANGENT.slack(mu, h, x, y)), MONOTONE.slack(mu, h, y, x))


@rule("strongly monotone", Property.STRONGLY_CONVEX, prove=_prove_monotone)
def MONOTONE(mu: Number, function: Client, y: Linear, x: Linear) -> sympy.Expr:
    """<grad F_m(y) - grad F_m(x), y - x> >= mu ||y - x||^2"""
    change = gradient(function, y) - gradient(function, x)
    return sympy.expand(change * (y - x) - mu * (y - x) ** 2)


def _prove_cocoercive_pair() -> Decision:
    """The sum of cocoercivity in both directions."""
    L, h = sympy.Symbol("L", positive=True), Alone("h")
    x, y = sympy.symbols("x y", real=True)
    return _identity(
        sympy.expand(COCOERCIVE.slack(L, h, y, x) + COCOERCIVE.slack(L, h, x, y)), COCOERCIVE_PAIR.slack(L, h, y, x)
    )


@rule("cocoercive, both ways", Property.SMOOTH_ABOVE, Property.CONVEX, prove=_prove_cocoercive_pair)
def COCOERCIVE_PAIR(L: Number, function: Client, y: Linear, x: Linear) -> sympy.Expr:
    """<grad F_m(y) - grad F_m(x), y - x> >= ||grad F_m(y) - grad F_m(x)||^2 / L, convex and smooth from above"""
    change = gradient(function, y) - gradient(function, x)
    return sympy.expand(change * (y - x) - change**2 / L)


# A quadratic penalty: F + (phi/2) ||x||^2


def _of_penalised(function: Objective, phi: sympy.Expr, lowest: PenalisedInfimum) -> None:
    _of(function, lowest)
    if lowest.penalty != phi:
        raise ValueError(f"{lowest}, of the penalty {lowest.penalty}: expected {phi}")


@rule(
    "infimum with the penalty",
    Property.CONVEX_MEAN,
    when=lambda function, x, phi, lowest: (sympy.Gt(phi, 0, evaluate=False),),
)
def PENALISED_INFIMUM(function: Objective, x: Linear, phi: Number, lowest: PenalisedInfimum) -> sympy.Expr:
    """F(x) + (phi/2) ||x||^2, phi > 0, is at least its infimum, which is finite for a convex F"""
    _of_penalised(function, phi, lowest)
    return value(function, x) + phi / 2 * x**2 - lowest


def _prove_penalised_smooth() -> Decision:
    """With u = grad F_m(y) - grad F_m(x), d = y - x, ||u|| <= L ||d||."""
    L, phi = sympy.symbols("L phi", positive=True)
    u, d = sympy.symbols("u d", real=True)
    given = [sympy.Le(u**2, L**2 * d**2, evaluate=False)]
    return decide(given, sympy.Le((u + phi * d) ** 2, (L + phi) ** 2 * d**2, evaluate=False))


@rule(
    "smooth with the penalty",
    Property.SMOOTH,
    prove=_prove_penalised_smooth,
    when=lambda function, phi, *points: (sympy.Gt(phi, 0, evaluate=False),),
)
def PENALISED_SMOOTH(L: Number, function: Client, phi: Number, y: Linear, x: Linear) -> sympy.Expr:
    """F_m + (phi/2) ||x||^2, phi > 0, is two-sided smooth with L + phi"""
    change = gradient(function, y) - gradient(function, x) + phi * (y - x)
    return sympy.expand((L + phi) ** 2 * (y - x) ** 2 - change**2)


def _prove_polyak() -> Decision:
    """From h(y) >= h(x) + <g, y - x> + (mu/2) ||y - x||^2 at the minimiser y of h."""
    mu = sympy.Symbol("mu", positive=True)
    g, d, gap = sympy.symbols("g d gap", real=True)
    return decide([at_most(gap, -g * d - mu / 2 * d**2)], at_most(2 * mu * gap, g**2))


@rule(
    "Polyak-Lojasiewicz with the penalty",
    Property.CONVEX_MEAN,
    prove=_prove_polyak,
    when=lambda function, phi, x, lowest: (sympy.Gt(phi, 0, evaluate=False),),
)
def PENALISED_POLYAK(function: Objective, phi: Number, x: Linear, lowest: PenalisedInfimum) -> sympy.Expr:
    """F + (phi/2) ||x||^2, phi > 0, is phi-strongly convex for a convex F, and so Polyak-Lojasiewicz with phi"""
    _of_penalised(function, phi, lowest)
    slope = gradient(function, x) + phi * x
    return sympy.expand(slope**2 - 2 * phi * (value(function, x) + phi / 2 * x**2 - lowest))


STRONGLY_POLYAK = Rule(
    "strongly convex, so Polyak-Lojasiewicz",
    "||grad F(x)||^2 >= 2 mu (F(x) - F*) for a mu-strongly convex F",
    POLYAK.slack,
    _prove_polyak,
    (Property.STRONGLY_CONVEX_MEAN,),
)


# Clients apart: independent given the start of the round


@dataclass(frozen=True)
class ConditionalMean:
    """A client's mean of a random vector given the start of the round, and the vectors known at the start."""

    mean: MeanAtStart
    known: frozenset[FormTerm]

    @property
    def vector(self) -> sympy.Expr:
        """The random vector minus its mean."""
        return sympy.expand(self.mean.vector - self.mean)


CENTRED = Rule(
    "mean given the start",
    "E<v - e, u> = 0 for e the mean of v given the start of the round, and u known at the start",
    FRESH.slack,
    _means,
    of=ConditionalMean,
    equality=True,
)


@rule("independent clients", Property.UNBIASED, Property.INDEPENDENT_NOISE, prove=_prove_successive, equality=True)
def CLIENTS_APART(drawn: ConditionalMean, clients: Family) -> sympy.Expr:
    """E||sum_m (v_m - e_m)||^2 = sum_m E||v_m - e_m||^2 for v_m that client m computes alone, of mean e_m given the start"""
    _of_each(drawn.mean, clients)
    return clients.sum(sympy.expand(drawn.vector**2)) - sympy.expand(clients.sum(drawn.vector) ** 2)


# Compression


class CompressionError(Deviation):
    """The error Q(v) - v of a compressed vector; known are the vectors before the compressor draws its coins."""

    source = Compressed

    @property
    def received(self) -> Compressed:
        """Q(v)."""
        return self.drawn

    @property
    def sent(self) -> sympy.Expr:
        """v."""
        return self.received.mean


@rule("compressor of mean zero error", Property.COMPRESSOR, equality=True)
def DECODED(q: Number, message: CompressionError, known: Linear) -> sympy.Expr:
    """E<Q(v) - v, u> = 0 for a vector u that is known before Q(v) is drawn"""
    return FRESH.slack(message, known)


@rule("compression error", Property.COMPRESSOR)
def COMPRESSION(q: Number, message: CompressionError) -> sympy.Expr:
    """E||Q(v) - v||^2 <= q ||v||^2"""
    return sympy.expand(q * message.sent**2 - message.vector**2)


@rule(
    "independent compressors",
    Property.COMPRESSOR,
    Property.INDEPENDENT_COMPRESSORS,
    prove=_prove_successive,
    equality=True,
)
def COMPRESSED_APART(q: Number, message: CompressionError, clients: Family) -> sympy.Expr:
    """E||sum_m (Q(v_m) - v_m)||^2 = sum_m E||Q(v_m) - v_m||^2"""
    _each(message, clients)
    return clients.sum(sympy.expand(message.vector**2)) - sympy.expand(clients.sum(message.vector) ** 2)


@rule("bounded compression drift", Property.COMPRESSION_DRIFT)
def COMPRESSION_DRIFT(G: Number, message: CompressionError, of_mean: CompressionError, clients: Family) -> sympy.Expr:
    """E||mean of the Q(v_m)||^2 <= E||Q(mean of the v_m)||^2 + G"""
    if sympy.expand(clients.sum(message.sent) / clients.mass - of_mean.sent) != 0:
        raise ValueError(f"{of_mean.sent}: expected the mean of {message.sent}")
    return G - (clients.sum(message.received) / clients.mass) ** 2 + of_mean.received**2


# Gradient tracking


def _prove_balanced() -> Decision:
    """Zero at the start; a round adds multiples of deviations from the clients' mean, and these sum to zero."""
    clients = Family("A", sympy.Symbol("n", positive=True))
    tracking, message = Tracking("d", clients), Vector("u", clients)
    a = sympy.Symbol("a", positive=True)
    moved = tracking + a * (message - clients.sum(message) / clients.mass)
    return _identity(clients.sum(sympy.expand(moved)), clients.sum(tracking))


@rule("trackings sum to zero", Property.ZERO_TRACKINGS, prove=_prove_balanced, equality=True)
def BALANCED(tracking: Tracking, clients: Family, v: Linear) -> sympy.Expr:
    """sum_m delta_m = 0 for trackings that start at zero and move by deviations from the clients' mean"""
    _of_each(tracking, clients)
    return sympy.expand(clients.sum(tracking) * v)


# Steps one after another: the sum of the steps so far


def _summed(e: sympy.Expr, steps: tuple[Family, ...]) -> sympy.Expr:
    for family in reversed(steps):
        e = family.sum(sympy.expand(e))
    return e


def _prove_in_order() -> Decision:
    """By induction over the steps: with P and Q the sums before, one more step adds <a, b> + <a, Q> + <b, P>."""
    P, Q, a, b, pairs = sympy.symbols("P Q a b pairs", real=True)
    return _identity((P + a) * (Q + b) - (pairs + a * b + a * Q + b * P), P * Q - pairs)


@rule("sums step by step", prove=_prove_in_order, equality=True)
def IN_ORDER(a: Linear, b: Linear, *steps: Family) -> sympy.Expr:
    """<sum a_t, sum b_t> = sum <a_t, b_t> + sum <a_t, b_0 + ... + b_(t-1)> + sum <b_t, a_0 + ... + a_(t-1)>"""
    pairs = _summed(a * b + a * before(b, *steps) + b * before(a, *steps), steps)
    return sympy.expand(_summed(a, steps) * _summed(b, steps) - pairs)


def _prove_sums_before() -> Decision:
    """By induction over the n steps: the next sum is one of n vectors, with Jensen."""
    n, squares, more, so_far, following = sympy.symbols("n squares more so_far following", nonnegative=True)
    jensen, hypothesis = at_most(following, n * squares), at_most(so_far, n * (n - 1) / 2 * squares)
    return decide([jensen, hypothesis], at_most(so_far + following, (n + 1) * n / 2 * (squares + more)))


@rule("sums of the steps so far", prove=_prove_sums_before)
def SUMS_BEFORE(v: Linear, *steps: Family) -> sympy.Expr:
    """sum_t ||v_0 + ... + v_(t-1)||^2 <= n (n - 1) / 2 times sum_t ||v_t||^2 for n steps"""
    n = sympy.Mul(*(family.mass for family in steps))
    return sympy.expand(n * (n - 1) / 2 * _summed(v**2, steps) - _summed(before(v, *steps) ** 2, steps))


def _prove_noise_before() -> Decision:
    """By induction over the n steps: the sum before the next one has n noises, each of mean zero given those before it."""
    n, sigma = sympy.symbols("n sigma", nonnegative=True)
    found = _prove_successive()
    if found.status is not Status.PROVED:
        return found
    return _identity(n * (n - 1) / 2 * sigma**2 + n * sigma**2, (n + 1) * n / 2 * sigma**2)


@rule("noise so far", Property.VARIANCE, Property.UNBIASED, prove=_prove_noise_before)
def NOISE_BEFORE(sigma: Number, noise: Noise, *steps: Family) -> sympy.Expr:
    """sum_t E||noise_0 + ... + noise_(t-1)||^2 <= n (n - 1) / 2 sigma^2 for n steps one after another"""
    _in_turn(steps)
    _each(noise, *steps)
    n = sympy.Mul(*(family.mass for family in steps))
    return n * (n - 1) / 2 * sigma**2 - _summed(before(noise.vector, *steps) ** 2, steps)


def _same_in_all(v: sympy.Expr, steps: Family) -> None:
    """Raises ValueError for a vector that is another one in each step."""
    if any(steps in s.families for s in vectors_in(v)):
        raise ValueError(f"{v}: expected a vector that is the same in all steps {steps.name}")


def _prove_copies() -> Decision:
    """k copies before step k: the sums of k and of k^2 over k = 0 ... K - 1."""
    K, k = sympy.symbols("K k", integer=True, positive=True)
    pairs = _identity(sympy.summation(k, (k, 0, K - 1)), K * (K - 1) / 2)
    squares = _identity(sympy.summation(k**2, (k, 0, K - 1)), K * (K - 1) * (2 * K - 1) / 6)
    return pairs if pairs.status is not Status.PROVED else squares


@rule("copies so far", prove=_prove_copies, equality=True)
def COPIES(a: Linear, b: Linear, steps: Family) -> sympy.Expr:
    """sum over k of <a, k b> = K (K - 1) / 2 <a, b>"""
    for v in (a, b):
        _same_in_all(v, steps)
    K = steps.mass
    return sympy.expand(steps.sum(a * before(b, steps)) - K * (K - 1) / 2 * a * b)


@rule("copies so far, squared", prove=_prove_copies, equality=True)
def COPIES_SQUARED(b: Linear, steps: Family) -> sympy.Expr:
    """sum over k of ||k b||^2 = K (K - 1) (2 K - 1) / 6 ||b||^2"""
    _same_in_all(b, steps)
    K = steps.mass
    return sympy.expand(K * (K - 1) * (2 * K - 1) / 6 * b**2 - steps.sum(before(b, steps) ** 2))


def _prove_noise_apart() -> Decision:
    """For two clients i != j, E<a_i, n_j> = <a_i, E n_j> = 0, given client i's own steps and the start of the round."""
    a1, a2, n1, n2 = sympy.symbols("a1 a2 n1 n2", real=True)
    terms = sympy.Poly(sympy.expand((a1 + a2) * (n1 + n2)), a1, a2, n1, n2).terms()
    kept = sympy.Add(*(c * sympy.Mul(*(s**q for s, q in zip((a1, a2, n1, n2), powers, strict=True)))
                       for powers, c in terms if powers in ((1, 0, 1, 0), (0, 1, 0, 1))))  # fmt: skip
    return _identity(kept, a1 * n1 + a2 * n2)


@rule("noise of other clients", Property.UNBIASED, Property.INDEPENDENT_NOISE, prove=_prove_noise_apart, equality=True)
def NOISE_APART(a: Linear, noise: Noise, clients: Family, steps: Family) -> sympy.Expr:
    """E<sum_m a_m, sum_m n_m> = sum_m E<a_m, n_m> for a_m from client m's own steps and its noise n_m, in parallel"""
    _of_each(a, clients)
    _each(noise, clients, steps)
    apart = clients.sum(sympy.expand(steps.sum(a) * steps.sum(noise.vector)))
    return sympy.expand(_summed(a, (clients, steps)) * _summed(noise.vector, (clients, steps)) - apart)


def _of_the_client(v: sympy.Expr, clients: Family) -> None:
    """Raises ValueError for a vector that a client does not have at the start of the round."""
    if any(families_of(s) - {clients} for s in vectors_in(v)):
        raise ValueError(f"{v}: expected a vector that a client has at the start of the round")


def _prove_pairs_in_order() -> Decision:
    """Two clients come in either order equally often, with K^2 pairs of steps; a client has K (K - 1) / 2 pairs itself."""
    K, apart, same = sympy.symbols("K apart same", real=True)  # sums of <a_i, b_j> over i != j, and over i = j
    return _identity(
        K**2 * apart / 2 + K * (K - 1) / 2 * same,
        K**2 * (apart + same) / 2 - K * same / 2,
    )


@rule("clients in random order", Property.SAMPLING, prove=_prove_pairs_in_order, equality=True)
def PAIRS_IN_ORDER(a: Linear, b: Linear, clients: Family, steps: Family) -> sympy.Expr:
    """sum over the steps of <a_m, K (b_1 + ... + b_(m-1)) + k b_m> = K^2 <sum a, sum b> / 2 - K sum <a_m, b_m> / 2"""
    for v in (a, b):
        _of_the_client(v, clients)
    K, both = steps.mass, clients.sum(sympy.expand(a * b))
    half = K**2 * clients.sum(a) * clients.sum(b) / 2 - K * both / 2
    return sympy.expand(_summed(a * before(b, clients, steps), (clients, steps)) - half)


def _prove_partial_sums() -> Decision:
    """(m - 1) K + k vectors before step (m, k): their squares and pairs, summed over m = 1 ... S and k = 0 ... K - 1."""
    S, K, m, k = sympy.symbols("S K m k", integer=True, positive=True)
    squares, whole = sympy.symbols("squares whole", real=True)

    def total(square: sympy.Expr, pair: sympy.Expr) -> sympy.Expr:
        term = K**2 * ((m - 1) * square + (m - 1) * (m - 2) * pair) + 2 * K * k * (m - 1) * pair + k**2 * square
        return sympy.summation(sympy.summation(sympy.expand(term), (k, 0, K - 1)), (m, 1, S))

    closed = K * (S * K**2 + 1) / 6 * squares + K**2 * (2 * K * S - K - 3) / 6 * whole
    several = _identity(total(squares / S, (whole - squares) / (S * (S - 1))), closed)
    one = _identity(total(squares, sympy.Integer(0)).subs(S, 1), closed.subs({S: 1, whole: squares}))
    return several if several.status is not Status.PROVED else one


@rule("partial sums in random order", Property.SAMPLING, prove=_prove_partial_sums, equality=True)
def PARTIAL_SUMS(b: Linear, clients: Family, steps: Family) -> sympy.Expr:
    """sum over the steps of ||K (b_1 + ... + b_(m-1)) + k b_m||^2 = K (S K^2 + 1) / 6 sum ||b_m||^2 + K^2 (2 K S - K - 3)
    / 6 ||sum b_m||^2"""
    _of_the_client(b, clients)
    S, K = clients.mass, steps.mass
    squares = K * (S * K**2 + 1) / 6 * clients.sum(sympy.expand(b**2))
    whole = K**2 * (2 * K * S - K - 3) / 6 * clients.sum(b) ** 2
    return sympy.expand(squares + whole - _summed(before(b, clients, steps) ** 2, (clients, steps)))


RULES = {rule.name: rule for rule in list(vars().values()) if isinstance(rule, Rule)}
