"""The statements about one round of FedBCGD and FedBCGD+, decided on exact instances, and a search for counter-examples.

An instance is one round on quadratics in one or two dimensions, or on functions of one coordinate with another curvature
right of 0.  Every symbol of a statement is then a fraction, the expectations by `fedtheory.bounds.fedbcgd.instances`.

Which rounds.  Those of the corrected algorithms, which the proofs use.  beta bounds the curvature of every f_i, as the main
paper assumes, also for printed statements.  Where a statement assumes convexity, every f_i is convex, and mu, where it has
a mu, is their smallest curvature.  Where it assumes that gradients are similar (Assumption 4), all f_i have the same
curvature, because otherwise no G bounds their difference everywhere.  Where it has gaps, f has a minimum.

Which states.  A statement is tested on any state (x, v), with any control variates.  One that assumes v^0 = 0 is tested
on states that the algorithm reaches from there: round 0, and without noise the rounds after it, over all samples.  The
control variates start anywhere; in the printed non-convex case as the gradients at x^0, (108).

Which laws.  Those of `fedtheory.bounds.fedbcgd.instances.LAWS` that the statement's properties do not exclude (`EXCLUDED`):
without independent clients one noise for all, without unbiased gradients an error, without c = mean c_i another c, and so
on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache, partial
from itertools import product
from operator import itemgetter
from typing import Any

import sympy

from fedtheory.bounds.fedbcgd.instances import LAWS, BlockRound, Matrix, Vector, advanced, block_round, constants
from fedtheory.bounds.quantities import Values
from fedtheory.bounds.trials import claims
from fedtheory.bounds.trials.cases import rational
from fedtheory.bounds.trials.choices import Choice, Choices, counts, fractions, with_values
from fedtheory.bounds.trials.rounds import Form, Occurrence, PaperRounds, Tightness, ratio
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Evidence, Statement, defined, formulas

# The checked statements, by algorithm.  About the samples alone:
SAMPLING = ("lemma4", "lemma4.part1", "lemma4.part2", "lemma4.lhs", "lemma4.lhs_blocks")
FEDBCGD = ("lemma2", "lemma5", "lemma6", "thm1.step48", "thm1.step49", "thm1.step50", "thm1.step61")
FEDBCGD_PLUS = (
    "thm2.step76", "lemma11", "lemma12", "lemma13", "lemma14", "lemma15", "lemma16", "lemma17", "lemma17.proof", "lemma18",
)  # fmt: skip
# The proofs of both use these; of step 59 only the corrected recursion is about one round
EITHER = ("thm1.step46", "thm1.step47", "thm1.step55", "thm1.step56", "thm1.step59")
_NOT_ONE_ROUND = ("thm1.step59", "thm1.step59.momentum")
# Printed lemmas of the non-convex case, whose control variates start as the gradients at x^0, (108)
_BEGUN = ("lemma16", "lemma17", "lemma17.proof", "lemma18")

# Symbols whose name means another quantity in `block_round`, or is unknown there.
READINGS: Mapping[str, Mapping[str, str]] = {
    "lemma5": {"grad_sq": "grad_sq_clients"},
    "lemma5.corrected": {"grad_sq": "grad_sq_clients"},
    "lemma6": {"grad_sq": "grad_sq_steps"},
    "lemma6.corrected": {"grad_sq": "grad_sq_steps"},
    "lemma16": {"grad_sq": "grad_sq_z"},
    "lemma17": {"grad_sq": "grad_sq_z"},
    "lemma17.proof": {"grad_sq": "grad_sq_z"},
    # The round that starts at z^{r-1}; in (86) the expectation of the control variates is inside the norm
    "lemma14": {"gap_prev": "gap", "C_r": "C_r_of_means"},
    "lemma15": {"C_r": "C_r_of_means"},
    # The round from z^{r-1} to z^r
    "lemma18": {"gap": "gap_next", "gap_prev": "gap", "grad_sq_prev": "grad_sq_z"},
}
# The properties of which each excludes a law; of FedBCGD, and of FedBCGD+
EXCLUDED: tuple[Mapping[str, tuple[Property, ...]], Mapping[str, tuple[Property, ...]]] = (
    {
        "independent": (),
        "shared": (Property.INDEPENDENT_NOISE,),
        "biased": (Property.UNBIASED,),
        "one sample": (Property.BLOCK_SAMPLING,),
    },
    {
        "independent": (),
        "biased": (Property.UNBIASED, Property.SMOOTH_SAMPLES),
        "one sample": (Property.BLOCK_SAMPLING,),
        "adrift": (Property.INITIAL_VARIATES,),
        "rough": (Property.SMOOTH_SAMPLES, Property.INDEPENDENT_NOISE),
        "curved": (Property.INDEPENDENT_NOISE,),
        "leaning": (Property.UNBIASED,),
    },
)

# Values for the number `a`: any positive one in (56), between 1/2 and 1 in Lemma 17
_A = tuple(Fraction(n, 8) for n in (4, 8, 1))

_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)


# Claims and conditions, compiled to exact arithmetic


@dataclass(frozen=True, kw_only=True)
class BlockForm(Form):
    """A statement about one round, ready for numbers.

    plus          whether it is about FedBCGD+: False, True, or either
    implied       conditions on the round's quantities
    reading       symbol -> its name in `block_round`
    convex        whether every f_i must be convex
    alike         whether the f_i must have the same curvature
    a             the value of the number a, None where there is none
    at_rest       whether v^0 = 0, so that it is about states that the algorithm reaches
    laws          the laws that it does not exclude, for FedBCGD and for FedBCGD+
    alone         likewise where there is only one client, which is independent of all others
    at_start      whether the control variates start as the gradients at x^0
    """

    plus: tuple[bool, ...]
    implied: tuple[claims.NumericCondition, ...]
    reading: Mapping[str, str]
    convex: bool
    alike: bool
    a: Fraction | None
    at_rest: bool
    laws: tuple[frozenset[str], ...]
    alone: tuple[frozenset[str], ...]
    at_start: bool
    factors: Mapping[str, Fraction]


def form_of(statement: Statement) -> tuple[BlockForm, ...]:
    """A statement with its definitions substituted: once, or for every value of the number `a` that its conditions allow.

    Raises ValueError as `inequalities` and `condition` do, for a statement that is not about one round, and for symbols
    without a value in a round.
    """
    name = statement.id.removeprefix("fedbcgd.")
    base = catalogue.as_printed(statement).removeprefix("fedbcgd.")
    if base not in (*SAMPLING, *FEDBCGD, *FEDBCGD_PLUS, *EITHER):
        raise ValueError(f"{statement.id}: expected a form of a statement about one round")
    plus = (True,) if base in FEDBCGD_PLUS else (False, True) if base in EITHER else (False,)
    (symbol,) = [s.sympy for s in catalogue.paper("fedbcgd").symbols.values() if s.name == "a"]
    has_a = any(symbol in e.free_symbols for e in formulas(statement.claim))
    given, found = catalogue.properties(statement), []
    laws, alone = (_allowed(names, base) for names in (given.keys(), given.keys() - {Property.INDEPENDENT_NOISE}))
    for a, factors in product(_A if has_a else (None,), claims.unassumed(statement)):
        where = dict(statement.where) | ({} if a is None else {symbol: rational(a)})
        relations = [defined(c.relation, where) for c in statement.when]
        if sympy.false in relations:
            continue
        conditions = [claims.condition(r) for r in relations if r != sympy.true]
        symbols = claims.symbols_of(statement.claim, where, statement.when)
        reading = READINGS.get(name, {})
        missing = {reading.get(one, one) for one in symbols} - known_symbols()
        if missing:
            raise ValueError(f"{statement.id}: no exact value for {', '.join(sorted(missing))}")
        found.append(
            BlockForm(
                inequalities=tuple(claims.inequalities(statement.claim, where)),
                also=claims.further_inequalities(statement, where, known_symbols()),
                conditions=tuple(c for c in conditions if c.symbols <= _SETTINGS),
                symbols=frozenset(symbols),
                factors=factors,
                plus=plus,
                implied=tuple(c for c in conditions if not c.symbols <= _SETTINGS),
                reading=reading,
                convex=Property.CONVEX in given,
                alike=Property.DISSIMILARITY in given,
                a=a,
                at_rest=Property.AT_REST in given,
                laws=laws,
                alone=alone,
                at_start=not statement.ours and base in _BEGUN,
            )
        )
    return tuple(found)


def _allowed(given: Collection[StrEnum], base: str) -> tuple[frozenset[str], ...]:
    """The laws that these properties do not exclude, for FedBCGD and for FedBCGD+."""
    found = [{law for law, needed in table.items() if not {*needed} & {*given}} for table in EXCLUDED]
    if base in EITHER:  # FedBCGD+ uses them where c is the mean of the c_i
        found[True] -= {"adrift"}
    return tuple(map(frozenset, found))


_SETTINGS = {"M", "N", "K", "S", "T", "beta", "mu", "sigma", "G", "eta", "lam", "alpha", "gamma"}


@cache
def known_symbols() -> frozenset[str]:
    """The symbols that have a value in some round."""
    return frozenset(_SETTINGS.union(block_round(_line((1,), (0,), points=(0,)))))


# The symbols of an instance

measured = lru_cache(maxsize=20_000)(block_round)


def fits(r: BlockRound, to: BlockForm) -> bool:
    """Whether the round is one of the statement's algorithm, and satisfies its assumptions."""
    return (
        bool(r.points) in to.plus
        and r.law in (to.alone if r.M == 1 else to.laws)[bool(r.points)]
        and (r.mu > 0 if "mu" in to.symbols else r.mu >= 0 or not to.convex)
        and (r.alike or not (to.alike or "G" in to.symbols))
    )


def admitted(r: BlockRound, to: BlockForm) -> bool:
    """Whether the conditions on the problem, the settings and the step hold, exactly."""
    known = claims.rescaled(constants(r), to.factors)
    return all(condition.holds(known) for condition in to.conditions)


@dataclass(frozen=True)
class Instance:
    """A round, `rounds` rounds after the state `start`."""

    start: BlockRound
    rounds: int = 0

    @property
    def states(self) -> Mapping[BlockRound, Fraction]:
        """The possible states before the round, with their probabilities; none where they are too many to enumerate."""
        return reached(self.start, self.rounds)


_STATES = 16  # most states to enumerate


@lru_cache(maxsize=20_000)
def reached(start: BlockRound, rounds: int) -> Mapping[BlockRound, Fraction]:
    """The states that many rounds later, with their probabilities; none where there is noise, or too many states."""
    if not rounds:
        return {start: Fraction(1)}
    found: dict[BlockRound, Fraction] = {}
    for state, chance in reached(start, rounds - 1).items():
        after = advanced(state)
        if after is None:
            return {}
        for later, share in after.items():
            found[later] = found.get(later, Fraction(0)) + chance * share
    return found if len(found) <= _STATES else {}


# Norms of expectations: only for a single state
_OF_MEANS = ("G_mean_sq", "C_r_of_means")


def expected(at: Instance) -> Values:
    """The quantities of the round, averaged over the states before it; none where these are not known."""
    if not at.rounds:
        return measured(at.start)
    rows = [(measured(state), chance) for state, chance in at.states.items()]
    if len(rows) <= 1:
        return rows[0][0] if rows else Values({})

    def mean(name: str) -> Fraction:
        return sum((row[name] * chance for row, chance in rows), Fraction(0))

    return Values({name: partial(mean, name) for name in rows[0][0] if name not in _OF_MEANS})


def cases(at: Instance, to: BlockForm, further: bool = False) -> list[Occurrence]:
    """The inequalities in numbers; none outside conditions and assumptions, or where a symbol has no value."""
    r, stated = at.start, to.also if further else to.inequalities
    if not (stated and begins(r, to) and fits(r, to)):
        return []
    known = claims.rescaled(constants(r), to.factors)
    if not all(condition.holds(known) for condition in to.conditions):
        return []
    found = expected(at)
    own = Values({symbol: itemgetter(name) for symbol, name in to.reading.items()}, found)
    sources: list[Any] = [own, known, found] if to.reading else [known, found]
    values: Mapping[str, Any] = ChainMap(*sources)
    if not (
        all(map(values.__contains__, to.symbols - {"sigma", "G"})) and all(map(found.__contains__, to.reading.values()))
    ):
        return []
    assert all(condition.holds(values) for condition in to.implied), r
    return [Occurrence(claims.balance(claim, values), {}) for claim in stated]


def begins(r: BlockRound, to: BlockForm) -> bool:
    """Whether the statement is about runs with this start."""
    return not (to.at_rest and any(r.v)) and not (to.at_start and set(r.points) - {r.x})


def _tightness(balance: claims.Balance) -> Tightness:
    """How close an inequality is to failing.

    For a claim with a negative term, quantity <= plus - progress, we use progress / (plus - quantity), because need and
    room of a claim about one round differ little wherever the step is small.
    """
    left = balance.plus - balance.quantity
    if balance.minus < 0 < left and not balance.equality:
        return not balance.holds, -balance.minus / left
    return ratio(balance)


# The family


def _vector(entries: Any) -> Vector:
    return tuple(map(Fraction, entries if isinstance(entries, tuple) else (entries,)))


def _line(h: Any, b: Any, x: Any = 1, v: Any = 0, points: Any = (), **settings: Any) -> BlockRound:
    """A round in one dimension."""
    H = tuple((_vector(one),) for one in h)
    return _round(H, tuple(map(_vector, b)), _vector(x), _vector(v), tuple(map(_vector, points)), **settings)


def _round(
    H: tuple[Matrix, ...], b: tuple[Vector, ...], x: Vector, v: Vector, points: tuple[Vector, ...], **settings: Any
) -> BlockRound:
    """A round; counts are 1 unless told, numbers too, but sigma^2 and lam 0.  The caller must replace the step size."""
    counts = {name: settings.get(name, 1) for name in ("N", "K", "T")}
    usual = {"beta": 1, "eta": 1, "sigma_sq": 0, "lam": 0}
    numbers: dict[str, Any] = {name: Fraction(settings.get(name, value)) for name, value in usual.items()}
    return BlockRound(H=H, b=b, x=x, v=v, points=points, **counts, **numbers)


# Clients, from simple to complicated: curvatures, slopes, the K to try
_CLIENTS: tuple[tuple[tuple[Any, ...], tuple[Any, ...], tuple[int, ...]], ...] = (
    ((1,), (0,), (1,)),
    ((1, 1), (0, 0), (1,)),
    ((1, 1), (1, -1), (1, 2)),
    ((-1,), (0,), (1,)),
    ((-1, -1), (1, -1), (1,)),
    ((1, 0), (1, -1), (1, 2)),
    ((1, -_HALF), (0, 0), (1,)),
    ((_QUARTER, _QUARTER), (1, -1), (1,)),
    ((1, 1, 1), (2, -1, -1), (1, 2)),
    ((1, 1, 1, 1), (3, -1, -1, -1), (1, 2)),
    ((1,) * 8, (7,) + (-1,) * 7, (1,)),
)
# x, v, momentum, sigma^2; with momentum 1/2, z = x + v
_STARTS = ((1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (1, -1, _HALF, 0), (0, 1, _HALF, 0), (1, 1, _HALF, 1))
# Points whose gradients are the control variates: x, z, x plus and minus 1 in turns, 0
_POINTS = (lambda x, z, i: x, lambda x, z, i: z, lambda x, z, i: x + (-1) ** i, lambda x, z, i: 0 * x)
# Runs of statements about a start, from x = 1 with v = 0 and equal clients: number of clients, lambda, number of rounds
_RUNS = ((1, Fraction(9, 10), 24), (1, Fraction(99, 100), 120), (8, Fraction(0), 1))
# Two dimensions: curvatures along the axes, and along (4, -3)/5 and (3, 4)/5; slopes
_PLANES = ((1, 1), (1, 0), (1, _QUARTER), (1, -_QUARTER))
_PLANE_STARTS = (((0, 1), (0, 0), 0, 0), ((1, 1), (1, -1), _HALF, 0), ((0, 0), (0, 1), _HALF, 1))
_PLANE_SLOPES = (((1, 0), (-1, 0)), ((1, 0), (-1, 1), (0, -1)))


def matrix(first: Any, second: Any, turned: bool) -> Matrix:
    """The symmetric matrix with these curvatures along the axes, or along (4, -3)/5 and (3, 4)/5."""
    p, q = Fraction(first), Fraction(second)
    if not turned:
        return (p, 0 * p), (0 * p, q)
    return ((16 * p + 9 * q) / 25, 12 * (q - p) / 25), (12 * (q - p) / 25, (9 * p + 16 * q) / 25)


def _shapes(full: bool) -> Iterator[BlockRound]:
    """The family without its step sizes, from simple to complicated; those of FedBCGD first."""
    for plus, (h, b, Ks), T, (x, v, lam, sigma_sq) in product((False, True), _CLIENTS, (1, 2, 3, 6), _STARTS):
        longest = 6 if len(h) == 1 else 2
        if not full and (longest < T or len(h) > 4 or (plus and sigma_sq)):
            continue
        z = x + v * lam / (1 - lam)
        for K, origin in product(Ks, _POINTS if plus else _POINTS[:1]):
            points = tuple(origin(Fraction(x), Fraction(z), i) for i in range(len(h))) if plus else ()
            for beta in (1, 4) if full or T == len(h) == 1 else (1,):
                curvatures = [beta * one for one in h]
                yield _line(curvatures, b, x, v, points, beta=beta, sigma_sq=sigma_sq, K=K, T=T, lam=lam)
    for curvature, plus in product((-1, 1), (False, True)):
        yield _line((curvature,), (0,), 1, 0, (0,) * plus, T=30)  # a long round
    for plus, N, slopes, (p, q) in product((False, True), (1, 2), _PLANE_SLOPES, _PLANES):
        for T, turned, (x, v, lam, sigma_sq) in product((1, 2) if full else (2,), (False, True), _PLANE_STARTS):
            H = (matrix(p, q, False), *(matrix(p, q, turned) for _ in slopes[1:]))
            points = (_vector(x), *(_vector((0, 1)) for _ in slopes[1:])) if plus else ()
            b = tuple(map(_vector, slopes))
            yield _round(H, b, _vector(x), _vector(v), points, sigma_sq=sigma_sq, N=N, T=T, lam=lam)


_MOST = 16  # most outcomes of the noise to enumerate


def _outcomes(r: BlockRound) -> int:
    """The number of outcomes of the noise of a sample's clients, on functions that are not quadratic."""
    return 2 ** (r.T * (1 if r.together else r.K)) if r.noisy else 1


def _bent(r: BlockRound) -> Iterator[BlockRound]:
    """The round on functions that are not quadratic: the first f_i, and all equal ones, are flatter right of 0.

    A round with noise also from 0, with slopes that are small beside the noise.
    """
    if r.d > 1 or r.M > 2 or r.beta > 1 or not r.H[0][0][0] or _outcomes(r) > _MOST:
        return
    bent = replace(r, bend=tuple(-3 * H[0][0] / 4 if r.H[0] == H else 0 * H[0][0] for H in r.H))
    yield bent
    if r.sigma_sq:
        slopes = tuple((b / 8 if any(map(any, r.b)) else Fraction(1, 8),) for (b,) in r.b)
        yield replace(bent, x=(Fraction(0),), v=(Fraction(0),), b=slopes)


# Clients for other laws: many, so that what is divided by their number shows
_OTHER_CLIENTS: tuple[tuple[tuple[Any, ...], tuple[Any, ...], int], ...] = (
    ((1,), (0,), 1),
    ((1, 1), (1, -1), 1),
    ((1, 0), (1, -1), 2),
    ((-1,), (0,), 1),
    ((1,) * 6, (0,) * 6, 6),
)


def _lawless() -> Iterator[BlockRound]:
    """Rounds of every other law, from simple to complicated; where rho counts, of half the curvature."""
    starts = ((-_HALF, 0, 0), (0, 0, 0), (1, 0, 0), (1, -1, _HALF), (0, 1, _HALF))
    laws = [(bool(plus), law) for plus, table in enumerate(EXCLUDED) for law in table if law != LAWS[0]]
    for (h, b, K), T, (x, v, lam) in product(_OTHER_CLIENTS, (1, 2, 3), starts):
        for plus, law in laws:
            if (T == 3 and K > 2) or (T == 1 and law in ("rough", "curved", "leaning")):
                continue
            curvatures = [one * _HALF for one in h] if law in ("curved", "leaning") else h
            for origin in (_POINTS[0], _POINTS[2]) if plus else _POINTS[:1]:
                points = tuple(origin(Fraction(x), Fraction(x), i) for i in range(len(h))) if plus else ()
                sigma_sq = 10**4 if law == "rough" else 1
                straight = _line(curvatures, b, x, v, points, sigma_sq=sigma_sq, K=K, T=T, lam=lam)
                yield replace(straight, bend=(Fraction(0),) * len(h), law=law)


@cache
def _all_shapes(full: bool) -> tuple[BlockRound, ...]:
    """The family without its step sizes: quadratics, functions that are not quadratic, then other laws."""
    straight = tuple(_shapes(full))
    return (*straight, *(bent for one in straight for bent in _bent(one)), *_lawless())


_SHARES = (Fraction(1), Fraction(1, 8), Fraction(1, 64))  # of the largest admissible step
_OF_ANY = (Fraction(1, 4096), Fraction(1, 64), Fraction(1, 8), Fraction(1))  # where no condition limits the step
_FINEST = 41_472  # 2^9 3^4: step sizes to try are multiples of 1/(beta T _FINEST)


def _largest(r: BlockRound) -> Fraction:
    """The largest eta to try where no condition limits it."""
    return 64 / (r.beta * r.T)


def largest_step(r: BlockRound, to: BlockForm) -> Fraction | None:
    """The largest eta that the conditions admit, at most `_largest`; None where they admit none.

    It assumes that conditions that admit a step admit all smaller ones.
    """
    return _largest_step(_largest(r), to.conditions, tuple(claims.rescaled(dict(r.known), to.factors).items()))


@lru_cache(maxsize=20_000)
def _largest_step(
    largest: Fraction, conditions: tuple[claims.NumericCondition, ...], known: tuple[tuple[str, Fraction], ...]
) -> Fraction | None:
    """`largest_step`, from the largest eta to try and the constants: many rounds have the same ones."""
    most = 64 * _FINEST
    unit = largest / most

    def excludes(count: int) -> bool:
        at = {**dict(known), "eta": count * unit}
        return not all(condition.holds(at) for condition in conditions)

    count = bisect_left(range(1, most), True, key=excludes) if excludes(most) else most
    return count * unit if count else None


def family(to: BlockForm, full: bool) -> Iterator[BlockRound]:
    """The exact instances of a statement, from simple to complicated; all meet its conditions and assumptions."""
    for shape in _all_shapes(full):
        largest = largest_step(shape, to) if fits(shape, to) else None
        if largest is not None:
            shares = _OF_ANY if largest == _largest(shape) else _SHARES[: 3 if full else 2]
            for share in shares[1:2] if shape.bend and shape.law == LAWS[0] and not full else shares:
                yield shape.with_step(share * largest)


def instances(to: BlockForm, full: bool) -> Iterator[Instance]:
    """The family; for a statement about a start only such starts, and the rounds that follow them."""
    if not (to.at_rest or to.at_start):
        yield from map(Instance, family(to, full))
        return
    for r in (r for r in family(to, full) if begins(r, to)):
        yield Instance(r)
        if r.M > 1 and r.d == 1 and (full or not r.bend):
            yield Instance(r, 2)
    for M, lam, rounds in _RUNS:
        for plus in sorted(set(to.plus)):
            points: tuple[Any, ...] = (1 if to.at_start else 0,) * M if plus else ()
            start = _line((1,) * M, (0,) * M, points=points, lam=lam)
            largest = largest_step(start, to) if fits(start, to) else None
            if largest is not None:
                start = replace(start, eta=min(largest, 1 / (4 * start.alpha)))
                yield from (Instance(start, r) for r in range(rounds))


FAMILY = (
    "quadratics in one dimension and, with one block or two, in two, one-dimensional functions that are flatter right of 0; "
    "largest admissible step and smaller ones; shared noise, biased gradients and other c where they are not excluded"
)


# The search

_COORDINATES = tuple(Fraction(n, 4) for n in range(-8, 9))
_CURVATURES = tuple(Fraction(n, 8) for n in range(-8, 9))
_SIMPLE_STEPS = fractions(1, 2, 4, 8, 16, *((1, n) for n in (2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 40, 64)))


@cache
def _planes(beta: Fraction) -> tuple[Matrix, ...]:
    """Matrices (2, 2) with eigenvalues up to beta in modulus, diagonal or not."""
    return tuple(matrix(beta * p, beta * q, along) for p, q, along in product(_CURVATURES, _CURVATURES, (True, False)))


def _choices(at: Instance, to: BlockForm) -> Choices:
    r, ends = at.start, fractions(0, 1, -1)
    alike, line = to.alike or "G" in to.symbols, r.d == 1
    lines, simple = (tuple(((r.beta * h,),) for h in of) for of in (_CURVATURES, fractions(1, (1, 2), 0)))
    return {
        "rounds": Choice(simple=tuple(range(at.rounds + 1))),
        "start.bend": Choice(
            tuple(r.beta * Fraction(n, 8) for n in range(-16, 17)),
            tuple(r.beta * n for n in fractions(0, -1, (-1, 2))),
            depth=1, alike=alike, empty=True,
        ),
        "start.law": Choice(simple=(LAWS[0],)),
        "start.T": counts(6),
        "start.x": Choice(_COORDINATES, ends, depth=1, near=True),
        "start.v": Choice(_COORDINATES, ends, depth=1, near=True),
        "start.b": Choice(_COORDINATES, ends, depth=2, near=True),
        "start.points": Choice(_COORDINATES, ends, depth=2, near=True),
        "start.H": Choice(lines if line else _planes(r.beta), simple if line else (), depth=1, alike=alike),
        "start.sigma_sq": Choice(fractions(0, (1, 16), (1, 4), 1, 4, 16), fractions(0, 1)),
        "start.lam": Choice(fractions(0, (1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (7, 8)), fractions(0, (1, 2))),
        "start.eta": Choice(simple=_SIMPLE_STEPS),
    }  # fmt: skip


def _completion(at: Instance, values: Mapping[str, Any], to: BlockForm) -> Instance | None:
    """Curvatures right of 0 stay where those left of 0 change; only rounds with bends, of few outcomes, have other laws."""
    r, H = at.start, values.get("start.H", ())
    if r.bend and H and "start.bend" not in values:
        bend = tuple(right - left for right, ((left,),) in zip(r.right, H, strict=True))
        values = {**values, "start.bend": bend}
    if not values.get("start.bend", r.bend):
        values = {**values, "start.law": LAWS[0]}
    other = with_values(at, values)
    return None if other.start.bend and _outcomes(other.start) > max(_MOST, _outcomes(r)) else other


def _largest_of(at: Instance, to: BlockForm) -> Fraction | None:
    return largest_step(at.start, to) if fits(at.start, to) else None


def _witness(at: Instance, to: BlockForm) -> dict[str, Any]:
    r = at.start
    return {
        **{"H": [_shown(H[0] if r.d == 1 else H) for H in r.H], "b": [_shown(b) for b in r.b]},
        **({"bend": [str(more) for more in r.bend]} if any(r.bend) else {}),
        **({"law": r.law} if r.law != LAWS[0] else {}),
        **{"beta": str(r.beta), "sigma^2": str(r.sigma_sq), "x": _shown(r.x), "v": _shown(r.v)},
        **({"points": [_shown(a) for a in r.points]} if r.points else {}),
        **{"M": r.M, "N": r.N, "K": r.K, "T": r.T, "eta": str(r.eta), "lam": str(r.lam)},
        **({"round": at.rounds} if at.rounds else {}),
        **({} if to.a is None else {"a": str(to.a)}),
    }


def _described(at: Instance, case: Occurrence) -> str:
    r, when = at.start, f", round {at.rounds} from there" if at.rounds else ""
    law = "" if r.law == LAWS[0] else f", {_TOLD[r.law]}"
    return f"{'FedBCGD+' if r.points else 'FedBCGD'}, M = {r.M}, K = {r.K}, T = {r.T}{when}{law}"


_TOLD = {
    "shared": "one noise for all clients",
    "biased": "biased gradients",
    "one sample": "always the same clients",
    "adrift": "c = mean c_i + 1",
    "rough": "noise where y is not x",
    "curved": "noise in the curvature",
    "leaning": "biased gradients",
}


ROUNDS = PaperRounds(
    forms=form_of,
    family=instances,
    cases=cases,
    choices=_choices,
    axes=({"start.H": 0, "start.b": 0, "start.points": 0, "start.bend": 0},),
    witness=_witness,
    described=_described,
    searched=FAMILY,
    effort=((3, 80), (10, 600)),
    tightness=_tightness,
    completion=_completion,
    step="start.eta",
    largest=_largest_of,
)


def _shown(value: Any) -> Any:
    """Fractions as text; a number for a vector of one."""
    if isinstance(value, tuple):
        return _shown(value[0]) if len(value) == 1 else [_shown(one) for one in value]
    return str(value)


def evidence() -> list[Evidence]:
    """Evidence for every form of every statement about one round: `enumeration` for those about samples."""
    return [
        Evidence(one, "enumeration" if name in SAMPLING else "search", ROUNDS.check)
        for name in (*SAMPLING, *FEDBCGD, *EITHER, *FEDBCGD_PLUS)
        for one in catalogue.forms(f"fedbcgd.{name}")
        if one.removeprefix("fedbcgd.") not in _NOT_ONE_ROUND
    ]
