"""The statements about rounds of FedCOM and FedCOMGATE on exact instances, and a search for counter-examples.

An instance is a run of a few rounds in one dimension, on quadratics and on functions with another curvature right of 0.
Every symbol of a statement is then a fraction, the expectations by `fedtheory.bounds.fedcom.instances`.  So a violated claim
is a proof, and its witness can be checked by hand.

Which runs.  Section D is about FedCOM, E and F are about FedCOMGATE.  All else follows from what the statement assumes
(`catalogue.properties`): what it does not assume, some instances violate.

    identical clients                   else different functions (FedCOM)
    independent noise, unbiased noise   else one noise for all clients, gradients with an error
    independent compressors             else one coin for all clients
    damped tracking                     alpha = 1/(1+q); else alpha = 1 as printed, and for our statements both

For FedCOMGATE, G_q of Assumption 5 is 0 for one coin for all clients, since (1/m) sum_j Q(x_j) = Q((1/m) sum_j x_j); for
own coins it is the least that the messages of the run allow.  Curvatures lie in [-1, 1] and L = 1.  Some are negative.
This is allowed: noises and coins can be bounded, so a run stays in a bounded region, and outside it an L-smooth f can be
continued so that it is bounded below.  Where a statement uses the minimum of f, Polyak-Lojasiewicz or strong convexity,
f or the f_j have it themselves.

Lemmas have a large family (`ROUNDS`).  Theorems, whose whole runs `fedtheory.bounds.fedcom.arenas` measures, have the ends
of all ranges and the instances that violate what is not assumed (`ENDS`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from itertools import product
from typing import Any

from fedtheory.bounds.fedcom import instances
from fedtheory.bounds.fedcom.instances import FedCOMGATERun, compression_gap
from fedtheory.bounds.quantities import Values
from fedtheory.bounds.trials import claims
from fedtheory.bounds.trials.choices import Choice, Choices, counts, fractions, with_values
from fedtheory.bounds.trials.rounds import Form, Occurrence, PaperRounds, searchable
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Evidence, Statement, defined

_FIRST = ("lemmaF5",)  # about round 0
_LATER = ("lemmaF2", "lemmaF3", "lemmaF4")  # about rounds r >= 1

# Symbols with a value in a run, besides those of `instances.rows`; sigma by its square
_CONSTANTS = ("m", "tau", "R", "L", "mu", "kappa", "sigma", "q", "G_q", "eta", "gamma", "alpha")
_OF_RUN = ("avg_grad_sq", "gap_last")  # quantities of theorems
_OF_CLIENTS = ("grad_sq_sum", "drift_sum", "drift_sum_prev", "tracked_grad_sq")
_OF_STEPS = ("drift",)

# Claims and conditions, compiled to exact arithmetic


@dataclass(frozen=True, kw_only=True)
class CompressedForm(Form):
    """A statement about a few rounds, ready for numbers.

    given         the properties that it assumes
    tracks        whether it is about FedCOMGATE
    damped        whether it is about the damped gradient tracking
    undamped      whether it is about the printed gradient tracking
    step          its own learning rate, if it has one
    rounds        whether it is about a round r
    convexity     what it requires of the functions: "bounded" (f has a minimum), "all bounded" (every f_j has one), "PL",
                  "strong" (every f_j is strongly convex)
    """

    given: frozenset[StrEnum]
    tracks: bool
    damped: bool
    undamped: bool
    rounds: Callable[[int], bool]
    convexity: frozenset[str]
    step: claims.Function | None = None

    def lacks(self, assumed: Property) -> bool:
        """Whether the statement does not assume it."""
        return assumed not in self.given


def form_of(statement: Statement) -> list[CompressedForm]:
    """A statement with its definitions substituted; several forms where a constant is unassumed.

    Raises ValueError as `inequalities` and `condition` do, and for symbols without a value in a run.
    """
    name = catalogue.as_printed(statement).removeprefix("fedcom.")
    where, given = dict(statement.where), frozenset(catalogue.properties(statement))
    relations = [defined(c.relation, where) for c in statement.when]
    symbols = claims.symbols_of(statement.claim, where, statement.when)
    missing = symbols - known_symbols()
    if missing:
        raise ValueError(f"{statement.id}: no exact value for {', '.join(sorted(missing))}")
    convexity = {
        "bounded": bool(symbols & {"f_gap", "gap_r", "gap_next", "gap_last"}),
        "PL": Property.POLYAK in given,
        "strong": Property.STRONGLY_CONVEX in given or "dist_sq_mean" in symbols,
        "all bounded": "fj_gap_mean" in symbols,
    }
    tracks = not statement.place.startswith("Section D")
    step = next((defined(value, where) for symbol, value in where.items() if symbol.name == "eta"), None)
    form = CompressedForm(
        inequalities=tuple(claims.inequalities(statement.claim, where)),
        also=claims.further_inequalities(statement, where, known_symbols()),
        conditions=tuple(map(claims.condition, relations)),
        symbols=frozenset(symbols | (set() if step is None else {s.name for s in step.free_symbols})),
        given=given,
        tracks=tracks,
        damped=tracks and (statement.ours or Property.DAMPED_TRACKING in given),
        undamped=tracks and Property.DAMPED_TRACKING not in given,
        rounds=(lambda r: r == 0) if name in _FIRST else (lambda r: r >= 1) if name in _LATER else (lambda r: True),
        convexity=frozenset(kind for kind, needed in convexity.items() if needed),
        step=None if step is None else claims.exact(step),
    )
    return [replace(form, factors=factors) for factors in claims.unassumed(statement)]


@cache
def known_symbols() -> frozenset[str]:
    """The symbols that have a value in some run."""
    (zero, one) = Fraction(0), Fraction(1)
    rows = instances.rows(FedCOMGATERun((one,), (zero,), one, one, one, True, 1, one, R=2))
    return frozenset({*_CONSTANTS, *(name for row in rows for name in row)})


# The symbols of an instance


@lru_cache(maxsize=20_000)
def measured(run: FedCOMGATERun) -> list[Values]:
    """`instances.rows`, cached."""
    return instances.rows(run)


def constants(run: FedCOMGATERun, to: CompressedForm) -> dict[str, Fraction]:
    """The symbols of the problem and of the settings; without R, see `admitted`.

    mu is the smallest curvature, or that of f, if only f is convex, or if it is the constant of Polyak-Lojasiewicz.
    """
    of_f = to.lacks(Property.STRONGLY_CONVEX) and not to.lacks(Property.POLYAK)
    mu = min(run.mean[:2]) if of_f or min(run.curvatures) <= 0 else min(run.curvatures)
    apart = to.tracks and not run.shared
    G_q = compression_gap(run) if apart else Fraction(0)
    return {
        **{"m": Fraction(run.m), "tau": Fraction(run.tau), "L": Fraction(1), "G_q": G_q},
        **{"sigma_sq": run.sigma_sq, "q": run.q, "eta": run.eta, "gamma": run.gamma, "alpha": run.alpha},
        **({"mu": mu, "kappa": 1 / mu} if mu > 0 else {}),
    }


def fits(run: FedCOMGATERun, to: CompressedForm) -> bool:
    """Whether the run has the statement's setting, and satisfies its assumptions."""
    if max(map(abs, run.curvatures)) > 1:
        return False
    alphas = {Fraction(0)}
    if to.tracks:
        alphas = {1 / (1 + run.q)} if to.damped else set()
        alphas |= {Fraction(1)} if to.undamped else set()
    equal = len(set(zip(run.h, run.right, run.b, strict=True))) == 1
    coins = not run.shared or to.tracks or to.lacks(Property.INDEPENDENT_COMPRESSORS)
    setting = (
        run.alpha in alphas
        and coins
        and (not to.tracks or run.shared or run.m == 1 or bool(run.bend))
        and (equal or to.lacks(Property.HOMOGENEOUS))
        and (run.law != "shared" or to.lacks(Property.INDEPENDENT_NOISE))
        and (run.law != "biased" or to.lacks(Property.UNBIASED))
    )
    if to.symbols & {*_OF_RUN}:  # a theorem without a letter for them, as Corollary D.6
        setting &= (run.gamma == 1 or "gamma" in to.symbols) and (run.q == 0 or "q" in to.symbols)
    convex = (
        ("bounded" not in to.convexity or run.minimum is not None)
        and ("all bounded" not in to.convexity or None not in run.minima)
        and ("PL" not in to.convexity or min(run.mean[:2]) > 0)
        and ("strong" not in to.convexity or min(run.curvatures) > 0)
    )
    curved = min(run.mean[:2]) > 0 or not to.symbols & {"mu", "kappa"}
    return setting and convex and curved


def admitted(run: FedCOMGATERun, R: int, to: CompressedForm) -> bool:
    """Whether all conditions hold for the first R rounds of the run, exactly."""
    known = claims.rescaled(constants(run, to), to.factors) | {"R": Fraction(R)}
    if to.step is not None and run.eta != to.step(known):
        return False
    return all(condition.holds(known) for condition in to.conditions)


def cases(run: FedCOMGATERun, to: CompressedForm, further: bool = False) -> Iterator[Occurrence]:
    """The inequalities in numbers at every round, client and step that the statement is about."""
    stated = to.also if further else to.inequalities
    if not stated or not fits(run, to):
        return
    by_round = "R" in to.symbols
    if not by_round and not admitted(run, run.R, to):
        return
    known = claims.rescaled(constants(run, to), to.factors)
    wanted = frozenset[str]().union(*(claim.symbols for claim in stated))
    for r, row in enumerate(measured(run)):
        if not to.rounds(r) or (by_round and not admitted(run, r + 1, to)):
            continue
        places: Iterable[tuple[int, ...]] = [()]
        if to.symbols & set(_OF_STEPS):
            places = row["drift"]
        elif to.symbols & set(_OF_CLIENTS):
            places = row["drift_sum"]
        values = {name: row[name] for name in wanted if name in row} | known | {"R": Fraction(r + 1)}
        for place in places:
            if place:
                values |= {name: row[name][place] for name in wanted.intersection(_OF_STEPS)}
                values |= {name: row[name][place[:1]] for name in wanted.intersection(_OF_CLIENTS) if name in row}
            where = {"r": r, **dict(zip(("j", "c"), place, strict=False))}
            yield from (Occurrence(claims.balance(claim, values), where) for claim in stated)


# The family

_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)
# Step sizes to choose from where conditions limit them, in units of 1/(L tau), ascending
_STEPS = tuple(
    sorted(
        {Fraction(n, d) for d in range(1, 13) for n in range(1, 8 * d + 1)}
        | {Fraction(1, d) for d in range(13, 400)}
        | {Fraction(1, d * 10**k) for d in range(1, 10) for k in range(3, 16)}
    )
)


def largest_step(run: FedCOMGATERun, to: CompressedForm) -> Fraction | None:
    """The largest eta of `_STEPS` that the conditions admit, or the statement's own; None where they admit none.

    It assumes that conditions that admit a step admit all smaller ones.
    """
    if to.step is not None:
        own = to.step(claims.rescaled(constants(run, to), to.factors) | {"R": Fraction(run.R)})
        return own if admitted(replace(run, eta=own), run.R, to) else None
    found = bisect_left(_STEPS, True, key=lambda step: not admitted(replace(run, eta=step / run.tau), run.R, to))
    return _STEPS[found - 1] / run.tau if found else None


# Equal clients: h, b, w0, sigma^2; from simple to complicated
_EQUAL: tuple[tuple[Any, ...], ...] = (
    (1, 0, 1, 0),
    (-1, 0, 1, 0),
    (1, 0, 0, 1),
    (-1, 0, 0, 1),
    (1, 0, 1, 1),
    (-1, 0, 1, 1),
    (0, 1, 0, 1),
)
# Others: curvatures, slopes
_OTHERS: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (
    ((1,), (0,)),
    ((-1,), (0,)),
    ((1, 1), (1, -1)),
    ((1, -1), (1, -1)),
    ((1, 0), (1, -1)),
    ((1, -_HALF), (0, 0)),
    ((1, 1, -1), (1, -1, 0)),
)
_STARTS = ((1, 0), (0, 1), (1, 1))  # w0, sigma^2
_SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 8))  # of the largest admissible step
# Long runs: curvatures, slopes, w0, sigma^2, tau, q, gamma, R.  Noise alone, round after round; or no noise, but an error
# of the gradient tracking that grows because q > 1
_LONG: tuple[tuple[Any, ...], ...] = (
    ((-1,), (0,), 0, 1, 2, 0, _QUARTER, 6),
    ((-1,), (0,), 0, 1, 4, 0, Fraction(1, 8), 4),
    ((0, 0), (1, -1), 0, 0, 2, 3, 1, 6),
    ((1, 0), (1, -1), 0, 0, 2, 8, 1, 8),
    ((1, -_HALF), (1, -1), 0, 0, 4, 3, _QUARTER, 10),
    ((0, 0), (1, -1), 0, 0, 2, Fraction(3, 2), 1, 12),
    ((1, _HALF), (1, -1), 0, 0, 2, 99, 2, 8),
)
# Symbols of sums over rounds, or of quantities that depend on earlier rounds
_LASTING = {"R", "start_sum", "start_partial", "tracking_sq", "tracking_next"}


def _run(
    h: Any, b: Any, w0: Any, sigma_sq: Any, q: Any, tau: int, gamma: Any, R: int, to: CompressedForm
) -> FedCOMGATERun:
    """A run of the statement's setting; the caller must replace its step size."""
    q, one = Fraction(q), Fraction(1)
    alpha = Fraction(0) if not to.tracks else 1 / (1 + q) if to.damped else one
    h, b = tuple(map(Fraction, h)), tuple(map(Fraction, b))
    return FedCOMGATERun(h, b, Fraction(w0), Fraction(sigma_sq), q, to.tracks, tau, one, Fraction(gamma), alpha, R)


def _shapes(to: CompressedForm, full: bool) -> Iterator[FedCOMGATERun]:
    """The family without its step sizes, from simple to complicated."""
    qs = (0, _HALF, 1, 3) if full else (0, 1, 3)
    gammas: tuple[Any, ...] = (1, 2, _QUARTER) if "gamma" in to.symbols else (1,)
    if not to.tracks:
        longer = (5, 8, 12) if "drift" in to.symbols else ()
        for m, tau in product((1, 2, 3), (1, 2, 3, 4, *longer)):
            if (m > 1 and tau > 4) or (m == 3 and tau != 2 and not full):
                continue
            for (h, b, w0, sigma_sq), q in product(_EQUAL, qs):
                yield _run([h] * m, [b] * m, w0, sigma_sq, q, tau, 1, 2 if full and tau <= 2 else 1, to)
        return
    first = not to.rounds(1)  # the statement is about round 0 alone
    taus = (1, 2, 3, 4) if full else (1, 2, 4)
    for (h, b), tau, q, gamma in product(_OTHERS, taus, qs, gammas):
        if not full and tau != 2 and (gamma != 1 or len(h) == 3 or q == 1):
            continue
        for w0, sigma_sq in _STARTS if full or (gamma == 1 and len(h) < 3) else _STARTS[-1:]:
            yield _run(h, b, w0, sigma_sq, q, tau, gamma, 1 if first else 4 if full else 2, to)
    if not first and to.symbols & _LASTING:
        for h, b, w0, sigma_sq, tau, q, gamma, R in _LONG:
            yield _run(h, b, w0, sigma_sq, q, tau, gamma, R, to)


def _bent(run: FedCOMGATERun) -> Iterator[FedCOMGATERun]:
    """The run on functions that are not quadratic: every other one is flatter right of 0; equal clients stay equal.

    A run with noise also from 0, with slopes that are small beside the noise.
    """
    alike = len(set(run.h)) == 1
    run = replace(run, bend=tuple(-3 * h / 4 if alike or not j % 2 else 0 * h for j, h in enumerate(run.h)))
    yield run
    if run.sigma_sq:
        yield replace(run, w0=Fraction(0), b=tuple(b / 8 if any(run.b) else Fraction(1, 8) for b in run.b))


# Ends of the ranges: functions (curvature, slope, w0, sigma^2), and settings (clients, tau, q, gamma, R)
_TINY, _HUGE = Fraction(1, 1000), Fraction(10**6)
_PLAIN: tuple[tuple[Any, ...], ...] = (
    (1, 0, 1, 0),
    (1, 0, 0, 1),
    (-1, 0, 1, 0),
    (-1, 0, 0, 1),
    (_TINY, 0, 1, 0),
)
_SETTINGS: tuple[tuple[Any, ...], ...] = (
    (1, 1, 0, 1, 1),
    (2, 1, 0, 2, 1),
    (1, 2, 0, 1, 2),
    (1, 1, 3, _QUARTER, 2),
    (2, 1, 19, 2, 1),
    (1, 1, 0, 1, 6),
    (1, 12, 0, _HUGE, 1),
    (2, 1, _HUGE, 5, 1),
)
# Two clients: curvatures, slopes
_PAIRS: tuple[tuple[Any, ...], ...] = (((0, 0), (1, -1)), ((1, 1), (1, -1)), ((1, 2 * _TINY - 1), (0, 0)))


def _ends(to: CompressedForm) -> Iterator[FedCOMGATERun]:
    """The ends of all ranges, and runs that violate what the statement does not assume; without their step sizes."""
    for (h, b, w0, sigma_sq), (m, tau, q, gamma, R) in product(_PLAIN, _SETTINGS):
        yield _run([h] * m, [b] * m, w0, sigma_sq, q, tau, gamma, R, to)
    alone = _run([1], [0], 1, 0, 0, 1, 1, 1, to)
    both = replace(alone, h=alone.h * 2, b=alone.b * 2)
    if to.lacks(Property.UNBIASED):
        yield from (replace(alone, w0=w0, sigma_sq=Fraction(1), law="biased") for w0 in map(Fraction, (0, -1)))
    if to.lacks(Property.INDEPENDENT_NOISE):
        yield from (
            replace(both, w0=w0, sigma_sq=1 - w0, law="shared", tau=tau)
            for w0 in map(Fraction, (0, 1))
            for tau in (1, 2)
        )
    if not to.tracks and to.lacks(Property.INDEPENDENT_COMPRESSORS):
        for m, q, gamma, R in ((20, 19, 1, 2), (20, 19, 20, 1)):
            yield replace(_run([1] * m, [0] * m, 1, 0, q, 1, gamma, R, to), shared=True)
    for (h, b), (_, tau, q, gamma, R) in (
        product(_PAIRS, _SETTINGS) if to.tracks or to.lacks(Property.HOMOGENEOUS) else ()
    ):
        yield _run(h, b, 1, 0, q, tau, gamma, R, to)
    if to.tracks:
        for (h, b), q in product(_PAIRS, (1, 3)):  # own coins
            yield replace(_run(h, b, 1, 0, q, 2, 5, 1, to), shared=False, bend=(Fraction(0),) * 2)
    if to.undamped:
        for h, b, w0, sigma_sq, tau, q, gamma, R in _LONG:
            yield replace(_run(h, b, w0, sigma_sq, q, tau, gamma, R, to), alpha=Fraction(1))


def ends(to: CompressedForm, full: bool = False) -> Iterator[FedCOMGATERun]:
    """`_ends`, at the largest step size that the conditions admit; long runs also at a small one."""
    for shape in _ends(to):
        largest = largest_step(shape, to) if fits(shape, to) else None
        if largest is not None:
            yield replace(shape, eta=largest)
            if shape.R > 2 and to.step is None:
                yield replace(shape, eta=largest / 100)


_MOST = 16  # most outcomes of noises and coins to enumerate


def _outcomes(run: FedCOMGATERun) -> int:
    """The number of outcomes of noises and coins, on functions that are not quadratic."""
    noises = run.m * run.tau if run.sigma_sq else 0
    coins = (1 if run.shared else run.m) if run.q else 0
    return 2 ** (run.R * (noises + coins))


def family(to: CompressedForm, full: bool) -> Iterator[FedCOMGATERun]:
    """The exact instances of a statement, from simple to complicated; all meet its conditions."""
    shapes = list(_shapes(to, full))
    few = [one for one in shapes if any(one.h) and _outcomes(one) <= _MOST]
    for shape in (*shapes, *(bent for one in few for bent in _bent(one))):
        if not fits(shape, to):
            continue
        largest = largest_step(shape, to)
        if largest is None:
            continue
        several = full or (not shape.bend and (shape.R <= 4 or shape.sigma_sq))
        for share in _SHARES if several else _SHARES[:1]:
            yield replace(shape, eta=share * largest)
    yield from ends(to)


FAMILY = (
    "one-dimensional quadratics of either curvature and functions that are flatter right of 0, m = 1, 2, 3, tau = 1..4, "
    "q = 0..3, largest step and smaller ones; ends of all ranges; also what violates properties that are not assumed"
)
_ENDS = (
    "one-dimensional quadratics, ends of all ranges, largest step; also what violates properties that are not assumed"
)


# The search


def _choices(run: FedCOMGATERun, to: CompressedForm) -> Choices:
    simple, alike = fractions(0, 1, -1), not to.tracks
    return {
        "R": Choice(simple=tuple(range(1, run.R + 1))),
        "bend": Choice(tuple(Fraction(n, 8) for n in range(-16, 17)), simple, depth=1, alike=alike, empty=True),
        "tau": counts(12 if "drift" in to.symbols else 6),
        "b": Choice(tuple(Fraction(n, 4) for n in range(-12, 13)), simple, depth=1, alike=alike),
        "h": Choice(tuple(Fraction(n, 8) for n in range(-8, 9)), simple, depth=1, alike=alike),
        "sigma_sq": Choice(fractions(0, (1, 16), (1, 4), 1, 4, 16, 64), fractions(0, 1)),
        "w0": Choice(tuple(Fraction(n, 4) for n in range(-16, 17)), fractions(0, 1)),
        "q": Choice(fractions(0, (1, 4), (1, 2), 1, 2, 3, 8), fractions(0, 1, 2, 3)),
        "gamma": Choice(fractions((1, 8), (1, 4), (1, 2), 1, 2, 4) if "gamma" in to.symbols else (), fractions(1)),
        "eta": Choice(simple=tuple(Fraction(1, d) for d in (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 40))),
    }


def _completion(run: FedCOMGATERun, values: Mapping[str, Any], to: CompressedForm) -> FedCOMGATERun | None:
    """The run is damped as before, has not too many outcomes, and a shared coin of FedCOM has several clients."""
    other = with_values(run, values)
    if to.damped and run.alpha == 1 / (1 + run.q):
        other = replace(other, alpha=1 / (1 + other.q))
    alone = other.m < run.m and other.shared and not other.alpha
    return None if alone or (other.bend and _outcomes(other) > max(_MOST, _outcomes(run))) else other


def _falls_away(run: FedCOMGATERun, to: CompressedForm) -> bool:
    """Whether f, as it is written, has no lower bound, though the statement assumes one; noises and coins are bounded."""
    return run.minimum is None and not to.lacks(Property.BOUNDED_BELOW)


_LAWS = {"shared": {"noise": "one for all clients"}, "biased": {"noise": "none; every gradient has the error sigma"}}


def _witness(run: FedCOMGATERun, to: CompressedForm) -> dict[str, Any]:
    return {
        **{"h": [str(h) for h in run.h], "b": [str(b) for b in run.b], "w0": str(run.w0)},
        **({"bend": [str(more) for more in run.bend]} if run.bend else {}),
        **({"beyond the run": "f goes on so that it is bounded below"} if _falls_away(run, to) else {}),
        **_LAWS.get(run.law, {}),
        **{"L": "1", "sigma^2": str(run.sigma_sq), "q": str(run.q)},
        "coins": "one for all clients" if run.shared else "independent",
        **{"m": run.m, "tau": run.tau, "eta": str(run.eta), "gamma": str(run.gamma)},
        **({"alpha": str(run.alpha)} if to.tracks else {}),
        **({"R": run.R} if "R" in to.symbols else {}),
    }


ROUNDS = PaperRounds(
    forms=form_of,
    family=family,
    cases=cases,
    choices=_choices,
    axes=({"h": 0, "b": 0, "bend": 0},),
    witness=_witness,
    described=lambda run, case: f"m = {run.m}, tau = {run.tau}, round {case.place['r']}",
    searched=FAMILY,
    effort=((2, 60), (6, 300)),
    completion=_completion,
    step="eta",
    largest=lambda run, to: largest_step(run, to) if fits(run, to) else None,
)


ENDS = replace(ROUNDS, family=ends, searched=_ENDS, effort=((1, 20), (6, 300)))


def evidence() -> list[Evidence]:
    """Evidence for every statement, in all its forms: of kind `search`, for theorems and corollaries `counterexample`."""
    return [
        Evidence(one.id, "counterexample", ENDS.check)
        if one.kind in ("theorem", "corollary")
        else Evidence(one.id, "search", ROUNDS.check)
        for one in catalogue.statements("fedcom")
        if searchable(one, known_symbols(), _CONSTANTS)
    ]
