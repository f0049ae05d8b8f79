"""The inference rules of the four papers' proofs: what each says, which properties it needs, and its own proof.

A rule is about forms (`theory.proofs.forms`): its slack is a form that is >= 0, or = 0 for an equality, for all vectors
and functions that have the properties.  The constants come first, from the properties, never from whoever uses the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean

from theory.proofs.arithmetic import Decision, at_least, at_most, below_exponential, decide
from theory.proofs.forms import Family, gradient, value, vectors_in
from theory.properties import Property
from theory.statement import Status


@dataclass(frozen=True)
class Instance:
    """A rule at some vectors: `slack` is >= 0, or = 0 for an equality; `times` is the factor that it is taken with."""

    rule: str
    slack: sympy.Expr
    equality: bool
    times: sympy.Expr = sympy.S.One

    def __rmul__(self, factor: Any) -> Instance:
        return replace(self, times=self.times * sympy.sympify(factor))

    def over(self, *families: Family) -> Instance:
        """The same at every member of the families, innermost first, added up."""
        slack = self.slack
        for family in families:
            slack = family.sum(slack)
        return replace(self, slack=slack)


def _always(*_: Any) -> tuple[Boolean, ...]:
    return ()


@dataclass(frozen=True)
class Rule:
    """An inference rule.

    needs     the properties it rests on; their constants are the first arguments of `slack`
    when      (vectors and functions, without the constants) -> what must hold of the numbers among them
    slack     (constants of the properties in their order, vectors and functions) -> the form
    equality  whether the form is 0 rather than >= 0
    prove     decides it, exactly; a rule that only spells out what a property means is true by that
    """

    name: str
    says: str
    slack: Callable[..., sympy.Expr]
    prove: Callable[[], Decision]
    needs: tuple[Property, ...] = ()
    equality: bool = False
    when: Callable[..., tuple[Boolean, ...]] = _always


_MEANING = Decision(Status.PROVED, "what the property means")


def _means() -> Decision:
    return _MEANING


def _identity(left: sympy.Expr, right: sympy.Expr) -> Decision:
    rest = sympy.expand(sympy.simplify(left - right))
    return Decision(Status.PROVED, "identity") if rest == 0 else Decision(Status.REFUTED, f"the sides differ by {rest}")


# Sums of vectors


def _jensen(*vectors: sympy.Expr) -> sympy.Expr:
    return len(vectors) * sympy.Add(*(v**2 for v in vectors)) - sympy.Add(*vectors) ** 2


def _jensen_over(v: sympy.Expr, *families: Family) -> sympy.Expr:
    squares, total, mass = v**2, v, sympy.Integer(1)
    for family in families:
        squares, total, mass = family.sum(squares), family.sum(total), mass * family.mass
    return mass * squares - total**2


def _prove_jensen() -> Decision:
    """Of n vectors (or weights of total n) with mean m, whose squared distances from m add up to D."""
    n, D = sympy.symbols("n D", nonnegative=True)
    m = sympy.Symbol("m", real=True)
    return decide([], sympy.Ge(n * (n * m**2 + D) - (n * m) ** 2, 0, evaluate=False))


JENSEN = Rule("Jensen", "||v_1 + ... + v_n||^2 <= n (||v_1||^2 + ... + ||v_n||^2)", _jensen, _prove_jensen)
JENSEN_OVER = Rule(
    "Jensen over a family", "||sum_i v_i||^2 <= n sum_i ||v_i||^2 for n vectors v_i", _jensen_over, _prove_jensen
)


def _young(u: sympy.Expr, v: sympy.Expr, share: sympy.Expr) -> sympy.Expr:
    return share * u**2 + v**2 / share - 2 * u * v


def _prove_young() -> Decision:
    u, v = sympy.symbols("u v", real=True)
    share = sympy.Symbol("s", positive=True)
    return decide([], sympy.Ge(_young(u, v, share), 0, evaluate=False))


YOUNG = Rule(
    "Young",
    "2 <u, v> <= s ||u||^2 + ||v||^2 / s for s > 0",
    _young,
    _prove_young,
    when=lambda u, v, share: (sympy.Gt(share, 0, evaluate=False),),
)


def _square(v: sympy.Expr) -> sympy.Expr:
    return v**2


def _prove_square() -> Decision:
    v = sympy.Symbol("v", real=True)
    return decide([], sympy.Ge(v**2, 0, evaluate=False))


SQUARE = Rule("a square", "||v||^2 >= 0", _square, _prove_square)


Local = Callable[[Any], sympy.Expr]  # a vector of a local step, in the letters of the steps that it is handed


def _part(squared: Local, some: Any, every: Any) -> sympy.Expr:
    return every.sum(squared(every) ** 2) - some.sum(squared(some) ** 2)


def _prove_part() -> Decision:
    some, rest = sympy.symbols("some rest", nonnegative=True)
    return decide([], sympy.Ge(some + rest, some, evaluate=False))


PART = Rule("part of a sum", "a sum of squares over some of the steps is at most that over all", _part, _prove_part)


# Functions


def _lipschitz(L: sympy.Expr, function: sympy.Symbol, y: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    return L**2 * (y - x) ** 2 - (gradient(function, y) - gradient(function, x)) ** 2


LIPSCHITZ = Rule(
    "Lipschitz gradient",
    "||grad F_m(y) - grad F_m(x)||^2 <= L^2 ||y - x||^2",
    _lipschitz,
    _means,
    (Property.SMOOTH,),
)


def _descent(L: sympy.Expr, function: sympy.Symbol, y: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    linear = value(function, x) + gradient(function, x) * (y - x)
    return linear + L / 2 * (y - x) ** 2 - value(function, y)


def _below(function: sympy.Symbol, x: sympy.Expr, lowest: sympy.Expr) -> sympy.Expr:
    return value(function, x) - lowest


BELOW = Rule("bounded below", "h(x) >= h_*", _below, _means, (Property.BOUNDED_BELOW,))
DESCENT = Rule(
    "smooth from above",
    "F_m(y) <= F_m(x) + <grad F_m(x), y - x> + (L/2) ||y - x||^2",
    _descent,
    _means,
    (Property.SMOOTH_ABOVE,),
)


def _tangent(mu: sympy.Expr, function: sympy.Symbol, y: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    return value(function, y) - value(function, x) - gradient(function, x) * (y - x) - mu / 2 * (y - x) ** 2


TANGENT = Rule(
    "strongly convex",
    "F_m(y) >= F_m(x) + <grad F_m(x), y - x> + (mu/2) ||y - x||^2",
    _tangent,
    _means,
    (Property.STRONGLY_CONVEX,),
)


def _cocoercive(L: sympy.Expr, function: sympy.Symbol, y: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    change = gradient(function, y) - gradient(function, x)
    return value(function, y) - value(function, x) - gradient(function, x) * (y - x) - change**2 / (2 * L)


def _prove_cocoercive() -> Decision:
    """Convexity between x and z = y - (grad h(y) - grad h(x)) / L, smoothness from above between y and z, added up."""
    L = sympy.Symbol("L", positive=True)
    h, x, y = sympy.symbols("h x y", real=True)
    z = y - (gradient(h, y) - gradient(h, x)) / L
    zero = sympy.Integer(0)
    # the value at z, the same in both, drops out; `point` names it by its place
    added = _tangent(zero, h, sympy.expand(z), x) + _descent(L, h, sympy.expand(z), y)
    return _identity(sympy.expand(added), sympy.expand(_cocoercive(L, h, y, x)))


COCOERCIVE = Rule(
    "cocoercive",
    "F_m(y) >= F_m(x) + <grad F_m(x), y - x> + ||grad F_m(y) - grad F_m(x)||^2 / (2 L), convex and smooth from above",
    lambda L, *rest: _cocoercive(L, *rest),
    _prove_cocoercive,
    (Property.SMOOTH_ABOVE, Property.CONVEX),
)


def _stationary(function: sympy.Symbol, x_star: sympy.Expr, v: sympy.Expr) -> sympy.Expr:
    return gradient(function, x_star) * v


STATIONARY = Rule(
    "stationary",
    "grad F(x*) = 0 at a minimiser x*",
    _stationary,
    _means,
    (Property.MINIMISER,),
    equality=True,
)


def _mean_descent(L: sympy.Expr, function: sympy.Symbol, y: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    return _descent(L, function, y, x)


DESCENT_OF_MEAN = Rule(
    "smooth from above, of the mean",
    "F(y) <= F(x) + <grad F(x), y - x> + (L/2) ||y - x||^2 for F = sum p_m F_m, the clients' inequalities added up",
    _mean_descent,
    _means,
    (Property.SMOOTH_ABOVE, Property.WEIGHTS),
)


# Noise


@dataclass(frozen=True)
class Noise:
    """The noise of a stochastic gradient, g - grad F_m(x): its vector, and the vectors that are known before it is drawn."""

    vector: sympy.Expr
    known: frozenset[sympy.Symbol]


def _fresh(noise: Noise, known: sympy.Expr) -> sympy.Expr:
    unknown = vectors_in(known) - noise.known
    if unknown:
        raise ValueError(f"{sorted(map(str, unknown))}: not known before the noise {noise.vector} is drawn")
    return sympy.expand(noise.vector * known)


FRESH = Rule(
    "noise of mean zero",
    "E<noise, v> = 0 for a vector v that is known before the noise is drawn",
    _fresh,
    _means,
    (Property.UNBIASED,),
    equality=True,
)


def _variance(sigma: sympy.Expr, noise: Noise) -> sympy.Expr:
    return sigma**2 - sympy.expand(noise.vector**2)


VARIANCE = Rule("bounded variance", "E||noise||^2 <= sigma^2", _variance, _means, (Property.VARIANCE,))


def _successive(noise: Noise, *families: Family) -> sympy.Expr:
    squares, total = noise.vector**2, noise.vector
    for family in families:
        squares, total = family.sum(squares), family.sum(total)
    return squares - sympy.expand(total**2)


def _prove_successive() -> Decision:
    """By induction: E||P + u||^2 = E||P||^2 + E||u||^2, since E[u | past] = 0 and P is past."""
    past, u, square = sympy.symbols("P u v", real=True)
    terms = sympy.Poly(sympy.expand((past + u) ** 2), u).terms()
    tower = sympy.Add(*(c * {0: sympy.Integer(1), 1: sympy.Integer(0), 2: square}[p] for (p,), c in terms))
    return _identity(tower, past**2 + square)


SUCCESSIVE = Rule(
    "successive noise",
    "E||sum of noises||^2 = sum of E||noise||^2, where each has mean zero given those before it",
    _successive,
    _prove_successive,
    (Property.UNBIASED,),
    equality=True,
)
INDEPENDENT = Rule(
    "independent noise",
    "E||sum of noises||^2 = sum of E||noise||^2 over clients that work side by side, and their successive steps",
    _successive,
    _prove_successive,
    (Property.UNBIASED, Property.INDEPENDENT_NOISE),
    equality=True,
)


# Sampled clients, and how much clients differ


def spread(member: sympy.Expr) -> sympy.Symbol:
    """The variance over all clients of a vector that each of them has."""
    return sympy.Symbol(f"var({member})", nonnegative=True)


def _sampled(member: sympy.Symbol, mean: sympy.Expr, clients: Family, known: sympy.Expr) -> sympy.Expr:
    return sympy.expand((clients.sum(member) - clients.mass * mean) * known)


SAMPLED = Rule(
    "mean of a sample",
    "the sampled clients' sum of v_m has the mean S times the mean of v_m over all clients, given what came before",
    _sampled,
    _means,
    (Property.SAMPLING,),
    equality=True,
)


def _of_sample(member: sympy.Expr, mean: sympy.Expr, clients: Family, population: sympy.Expr) -> tuple[Boolean, ...]:
    """Two clients at least, and no more sampled than there are."""
    return at_least(population, 2), at_most(clients.mass, population)


def _without_replacement(member: sympy.Expr, mean: sympy.Expr, clients: Family, population: sympy.Expr) -> sympy.Expr:
    S, M = clients.mass, population
    return S * (M - S) / (M - 1) * spread(member) - sympy.expand((clients.sum(member) - S * mean) ** 2)


def _prove_without_replacement() -> Decision:
    """S squares, and S (S - 1) pairs of different clients, whose deviations from the mean sum to zero over all clients."""
    S, M = sympy.symbols("S M", integer=True, positive=True)
    variance = sympy.Symbol("v", nonnegative=True)
    pair = (0 - M * variance) / (M * (M - 1))  # ||sum||^2 = 0 = squares + pairs
    return _identity(S * variance + S * (S - 1) * pair, S * (M - S) / (M - 1) * variance)


def _with_replacement(member: sympy.Expr, mean: sympy.Expr, clients: Family, population: sympy.Expr) -> sympy.Expr:
    S = clients.mass
    return S * spread(member) - sympy.expand((clients.sum(member) - S * mean) ** 2)


def _prove_with_replacement() -> Decision:
    """S squares; two independent draws have no covariance."""
    S, variance = sympy.symbols("S v", positive=True)
    return _identity(S * variance + S * (S - 1) * 0, S * variance)


WITH_REPLACEMENT = Rule(
    "variance of a sample with replacement",
    "E||sum of S independent draws - S vbar||^2 = S times the variance of v_m over the population",
    _with_replacement,
    _prove_with_replacement,
    equality=True,
)


def _pair(
    first: sympy.Expr, second: sympy.Expr, mean: sympy.Expr, member: sympy.Expr, population: sympy.Expr
) -> sympy.Expr:
    return -spread(member) / (population - 1) - sympy.expand((first - mean) * (second - mean))


def _prove_pair() -> Decision:
    """All M (M - 1) ordered pairs together: ||sum of deviations||^2 - sum of squares = 0 - M variance."""
    M, variance = sympy.symbols("M v", positive=True)
    return _identity((0 - M * variance) / (M * (M - 1)), -variance / (M - 1))


PAIR_OF_SAMPLE = Rule(
    "two draws without replacement",
    "E<v_p - vbar, v_q - vbar> = -variance / (M - 1) for two different draws",
    _pair,
    _prove_pair,
    (Property.SAMPLING,),
    equality=True,
    when=lambda first, second, mean, member, population: (at_least(population, 2),),
)
WITHOUT_REPLACEMENT = Rule(
    "variance of a sample",
    "E||sum of S sampled v_m - S vbar||^2 = S (M - S) / (M - 1) times the variance of v_m over all M clients",
    _without_replacement,
    _prove_without_replacement,
    (Property.SAMPLING,),
    equality=True,
    when=_of_sample,
)


def _exchangeable(of: Local, some: Any, every: Any) -> sympy.Expr:
    return some.sum(of(some)) - some.mass / every.mass * every.sum(of(every))


EXCHANGEABLE = Rule(
    "sampled clients are exchangeable",
    "E of a function of one sampled client's data at the start of the round is the same for each of them",
    _exchangeable,
    _means,
    (Property.SAMPLING,),
    equality=True,
)


def _second_moment(member: sympy.Expr, mean: sympy.Expr, clients: Family) -> sympy.Expr:
    return clients.sum(sympy.expand(member**2)) - clients.mass * (sympy.expand(mean**2) + spread(member))


def _prove_second_moment() -> Decision:
    """Of M vectors with the mean m, whose deviations sum to zero: sum ||m + d_i||^2 = M ||m||^2 + M variance."""
    M = sympy.Symbol("M", positive=True)
    m, variance = sympy.symbols("m v", real=True)
    return _identity((M * m**2 + 2 * m * 0 + M * variance) / M, m**2 + variance)


SECOND_MOMENT = Rule(
    "second moment of a sampled client",
    "E||v_m||^2 of a sampled client is ||vbar||^2 plus the variance of v_m over all clients",
    _second_moment,
    _prove_second_moment,
    (Property.SAMPLING,),
    equality=True,
)


def _alike(zeta_star: sympy.Expr, at_optimum: sympy.Expr) -> sympy.Expr:
    return zeta_star**2 - spread(at_optimum)


HETEROGENEITY_AT_OPTIMUM = Rule(
    "heterogeneity at the optimum",
    "the clients' gradients at x*, whose mean is 0, have a variance of at most zeta_*^2",
    _alike,
    _means,
    (Property.HETEROGENEITY_AT_OPTIMUM,),
)


def _bounded_spread(beta: sympy.Expr, zeta: sympy.Expr, member: sympy.Expr, mean: sympy.Expr) -> sympy.Expr:
    return beta**2 * mean**2 + zeta**2 - spread(member)


HETEROGENEITY = Rule(
    "heterogeneity everywhere",
    "the clients' gradients at a point have a variance of at most beta^2 ||grad F||^2 + zeta^2",
    _bounded_spread,
    _means,
    (Property.HETEROGENEITY,),
)


# Clients with weights, and the mean of their functions


def _mean_value(function: sympy.Symbol, mean: sympy.Symbol, at: sympy.Expr, clients: Family) -> sympy.Expr:
    return value(mean, at) - clients.sum(value(function, at))


MEAN_VALUE = Rule(
    "value of the mean function",
    "F(x) = sum p_m F_m(x)",
    _mean_value,
    _means,
    (Property.WEIGHTS,),
    equality=True,
)


def _mean_gradient(
    function: sympy.Symbol, mean: sympy.Symbol, at: sympy.Expr, clients: Family, v: sympy.Expr
) -> sympy.Expr:
    return (gradient(mean, at) - clients.sum(gradient(function, at))) * v


MEAN_GRADIENT = Rule(
    "gradient of the mean function",
    "grad F(x) = sum p_m grad F_m(x)",
    _mean_gradient,
    _means,
    (Property.WEIGHTS,),
    equality=True,
)


def _convex(function: sympy.Symbol, y: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    return _tangent(sympy.Integer(0), function, y, x)


CONVEX = Rule("convex", "F_m(y) >= F_m(x) + <grad F_m(x), y - x>", _convex, _means, (Property.CONVEX,))


LOWEST_OF_CLIENT = Rule("a client's infimum", "F_m(y) >= F_m*", _below, _means, (Property.CLIENTS_BOUNDED_BELOW,))
ATTAINED = Rule("the minimum", "F(x*) = F*", _below, _means, (Property.MINIMISER,), equality=True)


def _weighted(of: Local, squares: Any, weighted: Any) -> sympy.Expr:
    return squares.sum(sympy.expand(of(squares) ** 2)) - weighted.sum(of(weighted)) ** 2


def _prove_weighted() -> Decision:
    """By induction over the clients: E||P + p u||^2 = E||P||^2 + p^2 E||u||^2, since E[u | the others] = 0."""
    past, u, square, p = sympy.symbols("P u v p", real=True)
    terms = sympy.Poly(sympy.expand((past + p * u) ** 2), u).terms()
    tower = sympy.Add(*(c * {0: sympy.Integer(1), 1: sympy.Integer(0), 2: square}[power] for (power,), c in terms))
    return _identity(tower, past**2 + p**2 * square)


INDEPENDENT_WEIGHTED = Rule(
    "independent noise, weighted",
    "E||sum p_m noise_m||^2 = sum p_m^2 E||noise_m||^2 over clients that work side by side",
    _weighted,
    _prove_weighted,
    (Property.UNBIASED, Property.INDEPENDENT_NOISE),
    equality=True,
)


def _alike_clients(of: Local, every: Any, weighted: Any, known: sympy.Expr) -> sympy.Expr:
    return sympy.expand((every.sum(of(every)) - every.mass * weighted.sum(of(weighted))) * known)


EQUAL_SHARES = Rule(
    "equal weights",
    "sum v_m over all M clients is M times sum p_m v_m, where p_m = 1/M",
    _alike_clients,
    _means,
    (Property.EQUAL_WEIGHTS,),
    equality=True,
)


def _sample_of(of: Local, sample: Any, population: Any) -> sympy.Expr:
    S, M = sample.mass, population.mass
    mean = population.sum(of(population)) / M
    variance = population.sum(sympy.expand((of(population) - mean) ** 2)) / M
    return S * (M - S) / (M - 1) * variance - sympy.expand((sample.sum(of(sample)) - S * mean) ** 2)


SAMPLE_OF = Rule(
    "variance of a sample, written out",
    "E||sum of S sampled v_m - S vbar||^2 = S (M - S) / (M - 1) sum ||v_m - vbar||^2 / M over all M clients",
    _sample_of,
    _prove_without_replacement,
    (Property.SAMPLING,),
    equality=True,
    when=lambda of, sample, population: (at_least(population.mass, 2), at_most(sample.mass, population.mass)),
)


def _bounded_step(G: sympy.Expr, step: sympy.Expr, rate: sympy.Expr) -> sympy.Expr:
    return rate**2 * G**2 - step**2


def _prove_bounded_step() -> Decision:
    """||eta g||^2 = eta^2 ||g||^2 <= rate^2 G^2."""
    eta, rate, g, G = sympy.symbols("eta rate g G", nonnegative=True)
    given = [sympy.Le(eta, rate, evaluate=False), sympy.Le(g**2, G**2, evaluate=False)]
    return decide(given, sympy.Ge(_bounded_step(G, eta * g, rate), 0, evaluate=False))


BOUNDED_STEP = Rule(
    "bounded step",
    "E||eta g||^2 <= rate^2 G^2 for a step eta g whose learning rate eta is at most `rate`",
    _bounded_step,
    _prove_bounded_step,
    (Property.BOUNDED_GRADIENT,),
)


# Binarisation: S(v) - v is a noise that is drawn after v


BINARISED = Rule(
    "binarisation of mean zero",
    "E<S(v) - v, u> = 0 for a vector u that is known before v is binarised",
    _fresh,
    _means,
    (Property.UNBIASED_BINARISATION,),
    equality=True,
)


def _binarisation_error(q: sympy.Expr, error: Noise, binarised: sympy.Expr) -> sympy.Expr:
    return q**2 * sympy.expand(binarised**2) - sympy.expand(error.vector**2)


BINARISATION_ERROR = Rule(
    "error of binarisation",
    "E||S(v) - v||^2 <= q^2 ||v||^2",
    _binarisation_error,
    _means,
    (Property.BINARISATION,),
)
INDEPENDENT_BINARISATION = Rule(
    "independent binarisation",
    "E||sum p_m (S(v_m) - v_m)||^2 = sum p_m^2 E||S(v_m) - v_m||^2, the clients' binarisations independent",
    _weighted,
    _prove_weighted,
    (Property.UNBIASED_BINARISATION, Property.INDEPENDENT_COMPRESSORS),
    equality=True,
)


# Numbers


def _one_minus(u: sympy.Expr) -> sympy.Expr:
    return sympy.exp(-u) - (1 - u)


ONE_MINUS = Rule("1 - u <= exp(-u)", "for every u; to a power n >= 0 where 1 - u >= 0", _one_minus, below_exponential)


RULES = {rule.name: rule for rule in list(vars().values()) if isinstance(rule, Rule)}
