"""The statements of FedBAT about a step on exact instances, and a search for counter-examples.

An instance is a run of the recursion that the paper analyses: one or two rounds on piecewise quadratics in one or two
coordinates, with noise of two values; and one step in ten coordinates.  Every symbol of a statement is then a fraction, by
`fedtheory.bounds.fedbat.quantities`.

In d = 10, 2, 1 coordinates q = 3, 1, 0: E||S(x) - x||^2 <= (d-1) ||x||^2, attained.  L is the largest curvature in
modulus, mu the smallest.  All else follows from what the statement assumes (`catalogue.properties`): what it does not
assume, some instances violate.

    bounded variance, bounded gradient   at x_t^k, where gradients are taken; as printed, sigma and G are those at w_t^k
    independent noise                    else one sign for all clients
    independent compressors              else one zeta for all clients
    two-sided smooth                     else curvatures below -L; if nothing bounds them from above, any curvatures
    strongly convex                      else curvatures of either sign

Appendix C: all clients, any shares.  Appendix D: K of N clients, equal shares.  Appendix E: both, a constant learning rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import product
from math import inf, isqrt
from random import Random
from typing import Any, Literal, get_args

import sympy

from fedtheory.bounds.fedbat.quantities import OF_CLIENTS, OF_ENTRIES, OF_LOWEST, OF_STAR, in_numbers, steps_of
from fedtheory.bounds.trials import claims
from fedtheory.bounds.trials.choices import Choice, Choices, fractions, with_values
from fedtheory.bounds.trials.rounds import Form, Occurrence, PaperRounds, searchable
from fedtheory.simulations.exact.enumerated import EnumeratedRun, rounds
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Evidence, Statement, defined

Appendix = Literal["C", "D", "E"]
Rows = Sequence[Sequence[Fraction]]  # a vector of each client
_CONSTANTS = ("N", "K", "tau", "L", "mu", "p_sq", "q", "G", "sigma", "eta")
_OF_STEP = ("eta_t", "eta_start", "eta_later", "t", "t_0")
_EARLY = {*_CONSTANTS, *_OF_STEP} - {"G", "sigma"}


@dataclass(frozen=True, kw_only=True)
class BinarisedForm(Form):
    """A statement about a step, ready for numbers.

    given    the properties that it assumes
    strong   whether every F_k is strongly convex
    """

    appendix: Appendix
    given: frozenset[StrEnum] = frozenset()
    strong: bool

    @cached_property
    def early(self) -> list[claims.NumericCondition]:
        """Its conditions on counts, constants and learning rates, which a run has before it is followed."""
        return [one for one in self.conditions if one.symbols <= _EARLY]

    @cached_property
    def late(self) -> list[claims.NumericCondition]:
        """The other conditions."""
        return [one for one in self.conditions if not one.symbols <= _EARLY]

    def lacks(self, *assumed: Property) -> bool:
        """Whether the statement assumes none of these."""
        return self.given.isdisjoint(assumed)

    @property
    def bends(self) -> tuple[float, float]:
        """The least and the largest curvature that its assumptions allow, for L = 1."""
        if not self.lacks(Property.SMOOTH):
            return -1, 1
        return -inf, inf if self.lacks(Property.SMOOTH_ABOVE) else 1


_MINIMA = {*OF_LOWEST, *OF_STAR, "x_star_k"}


def form_of(statement: Statement) -> list[BinarisedForm]:
    """A statement with its definitions substituted; several forms where a constant is unassumed.

    Raises ValueError as `inequalities` and `condition` do, and for a place outside the appendices.
    """
    appendix = _appendix(statement)
    if appendix is None:
        raise ValueError(f"{statement.id}, {statement.place}: expected a statement of Appendix C, D or E")
    where, given = dict(statement.where), frozenset(catalogue.properties(statement))
    stated = tuple(claims.inequalities(statement.claim, where))
    also = tuple(one for claim in statement.also for one in claims.inequalities(claim, where))
    relations = (defined(c.relation, where) for c in statement.when)
    form = BinarisedForm(
        inequalities=stated,
        also=also,
        conditions=tuple(claims.condition(one) for one in relations if one != sympy.true),
        appendix=appendix,
        given=given,
        strong=Property.STRONGLY_CONVEX in given or any(one.symbols & _MINIMA for one in (*stated, *also)),
    )
    return [replace(form, factors=factors) for factors in claims.unassumed(statement)]


def _appendix(statement: Statement) -> Appendix | None:
    """The appendix of a statement; None for one of another part of the paper."""
    return next((one for one in get_args(Appendix) if statement.place.startswith(f"Appendix {one}")), None)


# ------------------------------------------------------------------------------------------------------ an instance


@lru_cache(maxsize=20_000)
def measured(run: EnumeratedRun) -> tuple[Mapping[str, Any], ...]:
    """The quantities of every step of the run, by the paper's symbols: fractions in, fractions out."""
    every = (in_numbers(s, run.K is not None) for several in rounds(run) for s in steps_of(several))
    return tuple(times | row for times, row in zip(_times(run), every, strict=True))


def _times(run: EnumeratedRun) -> list[dict[str, Any]]:
    """The numbers of each step, and its learning rates."""
    return [
        {"eta_t": run.rates[t], "eta_start": run.rates[t - t % run.tau], "eta_later": run.rates[t + run.tau],
         "t": t, "t_0": t - t % run.tau}
        for t in range(run.steps)
    ]  # fmt: skip


def fits(run: EnumeratedRun, to: BinarisedForm) -> bool:
    """Whether the run has the statement's setting."""
    curvatures = run.curvatures
    alike = len(set(run.p)) == 1
    constant = len(set(run.rates)) == 1
    setting = {
        "C": run.K is None,
        "D": run.K is not None and alike,
        "E": alike and constant and (run.K is not None or run.N == 1),
    }[to.appendix]
    least, most = to.bends
    laws = ("noise" not in run.common or to.lacks(Property.INDEPENDENT_NOISE)) and (
        "binarisation" not in run.common or to.lacks(Property.INDEPENDENT_COMPRESSORS)
    )
    return setting and laws and (min(curvatures) > 0 or not to.strong) and _within(curvatures, least, most)


def _within(numbers: Sequence[Fraction], least: float, most: float) -> bool:
    return least <= min(numbers) and max(numbers) <= most


def cases(run: EnumeratedRun, to: BinarisedForm, further: bool = False) -> Iterator[Occurrence]:
    """The inequalities in numbers at every step of the run; none unless all conditions hold at every step.

    Also none where q = sqrt(d - 1) is no whole number.
    """
    stated, q = to.also if further else to.inequalities, isqrt(run.d - 1)
    if not stated or not fits(run, to) or q**2 != run.d - 1:
        return
    curvatures = run.curvatures
    known: dict[str, Any] = {
        "N": run.N, "K": run.N if run.K is None else run.K, "tau": run.tau, "L": run.h[0][0] * 0 + 1,
        "p_sq": sum(p * p for p in run.p), "q": q, "eta": run.rates[0],
    }  # fmt: skip
    if min(curvatures) > 0:
        known["mu"] = min(curvatures)
    constants = claims.rescaled(known, to.factors)

    def met(conditions: Iterable[claims.NumericCondition], values: Mapping[str, Any]) -> bool:
        """At a step; as rates do not increase, the largest up to a round later must do for eta_later, too."""
        largest = {**values, "eta_later": max(run.rates[values["t"] + 1 : values["t"] + run.tau + 1])}
        return all(condition.holds(values) and condition.holds(largest) for condition in conditions)

    if not all(met(to.early, constants | times) for times in _times(run)):
        return
    rows = measured(run)
    G, sigma = (
        "w" if to.lacks(assumed) and not to.lacks(elsewhere) else "x"
        for assumed, elsewhere in (
            (Property.BOUNDED_GRADIENT, Property.BOUNDED_GRADIENT_ELSEWHERE),
            (Property.VARIANCE, Property.VARIANCE_ELSEWHERE),
        )
    )
    squares = {
        "G_squared": max(row[f"largest_{G}"] for row in rows),
        "sigma_sq": max(row[f"noise_{sigma}_most"] for row in rows),
    }
    constants = claims.rescaled(known | squares, to.factors)
    every = [{**constants, **row} for row in rows]
    if not all(met(to.late, values) for values in every):
        return
    for t, values in enumerate(every):
        present = {*values, "G", "sigma"}
        for claim in stated:
            symbols = claim.symbols
            if not symbols <= present:
                continue
            count = run.N if symbols & OF_CLIENTS.keys() else run.d if symbols & OF_ENTRIES.keys() else 1
            for k in range(count):
                at = values | {n: values[n][k] for n in symbols & {*OF_CLIENTS, *OF_ENTRIES}}
                yield Occurrence(claims.balance(claim, at), {"t": t, "k": k + 1})


# ------------------------------------------------------------------------------------------------------- the family

_F = Fraction
_CURVATURES = tuple(_F(*v) for v in ((1, 1), (1, 1), (1, 2), (1, 4), (1, 8)))
_EITHER = (*_CURVATURES, _F(0), _F(-1, 2), _F(-1))
_SLOPES = tuple(_F(*v) for v in ((0, 1), (0, 1), (1, 1), (-1, 1), (1, 2), (-2, 1), (4, 1)))
_STARTS = tuple(_F(*v) for v in ((0, 1), (1, 1), (1, 2), (-1, 1), (2, 1), (4, 1)))
_RATES = tuple(_F(*v) for v in ((1, 4), (1, 4), (1, 8), (1, 16), (1, 2), (1, 1), (2, 1)))
_SHARES: dict[int, list[tuple[int, ...]]] = {1: [(1,)], 2: [(1, 1), (1, 2), (1, 5)], 3: [(1, 1, 1), (2, 1, 1)]}


def _curvatures(to: BinarisedForm) -> tuple[Fraction, ...]:
    return _CURVATURES if to.strong else _EITHER if to.bends[0] == -1 else (*_EITHER, _F(-4))


def _drawn(random: Random, to: BinarisedForm) -> EnumeratedRun:
    """A random run of the statement's setting, with small numbers."""
    N = random.choice((1, 2, 2, 3) if to.appendix == "D" else (1, 2, 2) if to.appendix == "C" else (1, 2))
    d = random.choice((2, 2, 2, 1))
    tau = random.choice((1, 2, 2, 3)) if N < 3 else random.choice((1, 2))
    K = random.choice(range(1, N + 1)) if to.appendix == "D" or (to.appendix == "E" and N > 1) else None
    shares = random.choice(_SHARES[N]) if to.appendix == "C" else _SHARES[N][0]
    curvatures = _curvatures(to)
    h = [[random.choice(curvatures) for _ in range(d)] for _ in range(N)]
    h[random.randrange(N)][random.randrange(d)] = _F(1)
    rate, falls = random.choice(_RATES), random.choice(_falls(to))
    steps = tau if N * tau > 2 else random.choice((tau, min(2 * tau, 3)))
    rates = _rates(rate, falls, steps + tau)
    start = tuple(random.choice(_STARTS) for _ in range(d))
    sizes = [[random.choice((_F(0), _F(0), _F(1))) for _ in range(d)] for _ in range(N if N * tau < 6 else 1)]
    sizes += [[_F(0)] * d for _ in range(N - len(sizes))]
    grows = random.random() < 0.5  # noise that is 0 at the start and grows from there, sometimes steeply
    if grows and random.random() < 0.5:
        sizes = [[64 * s for s in row] for row in sizes]
    noise = (
        _vectors([[-s * w for s, w in zip(row, start, strict=True)] for row in sizes] if grows else sizes),
        _vectors(sizes if grows else [[_F(0)] * d for _ in sizes]),
    )
    slopes = [[random.choice(_SLOPES) for _ in range(d)] for _ in range(N)]
    return EnumeratedRun(_vectors(h), _vectors(slopes), _parts(shares), start, rates, tau, steps, noise, K)


def _falls(to: BinarisedForm) -> tuple[int, ...]:
    return (0,) if to.appendix == "E" else (0, 0, 2, 3, 8)


def _rates(rate: Fraction, falls: int, count: int) -> tuple[Fraction, ...]:
    """Rates that are constant, or fall like 1/(falls + t)."""
    return tuple(rate * falls / (falls + t) if falls else rate for t in range(count))


def _parts(shares: Sequence[Any]) -> tuple[Fraction, ...]:
    """The shares, of sum 1."""
    return tuple(_F(s) / _F(sum(shares)) for s in shares)


def _vectors(rows: Rows) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(row) for row in rows)


def family(to: BinarisedForm, full: bool) -> tuple[EnumeratedRun, ...]:
    """Runs of the statement's setting: random ones, and the ends of all ranges."""
    random = drawn(to.appendix, to.strong, to.bends[0] == -1, 600 if full else 120)
    return (*random, *(run for run in ends(to.appendix) if fits(run, to)))


@cache
def ends(appendix: Appendix) -> tuple[EnumeratedRun, ...]:
    """Ends of the ranges, for one and two clients, and what all clients draw together; steep curvatures come last."""
    found = []
    for (N, K), d, tau in product(_SAMPLES[appendix], (1, 2), (1, 2)):
        zeros, ones = ([[_F(v)] * d for _ in range(N)] for v in (0, 1))
        beside, first = [_F(1), _F(0)][:d], [[_F(1), _F(1, 1000)][:d]] * N
        apart = [[_F(1 - 2 * k)] * d for k in range(N)]
        common: tuple[tuple[Any, ...], ...] = ((),) if N == 1 else ((), ("noise",), ("binarisation",))
        for h, b, w0, size in (
            (ones, zeros, [_F(0)] * d, zeros), (ones, zeros, [_F(0)] * d, ones), (ones, zeros, beside, zeros),
            (first, zeros, [_F(1)] * d, zeros), (ones, apart, [_F(0)] * d, zeros),
            ([[_F(1), _F(64)][:d]] * N, zeros, beside, zeros),
        ):  # fmt: skip
            run = _one_round(h, b, w0, [_F(1, 4)] * 2 * tau, K)
            run = replace(run, noise=(_vectors(size), _vectors(zeros)))
            found += [replace(run, common=law) for law in common]
    return (*found, *_falling(appendix), *_large(appendix), *_together(appendix))


def _one_round(h: Rows, b: Rows, w0: Sequence[Fraction], rates: Sequence[Fraction], K: int | None) -> EnumeratedRun:
    """A round without noise, of clients with equal shares; there are rates for another one."""
    N, tau, none = len(h), len(rates) // 2, _vectors([[_F(0)] * len(w0) for _ in h])
    p = (_F(1, N),) * N
    return EnumeratedRun(_vectors(h), _vectors(b), p, tuple(w0), tuple(rates), tau, tau, (none, none), K)


def _falling(appendix: Appendix) -> Iterator[EnumeratedRun]:
    """Small rates that fall in the last step of the round; one entry moves, for one client or two apart."""
    if appendix == "E":
        return
    up, down = ([_F(v), _F(0)] for v in (1, -1))
    for (N, K), tau in product(_SAMPLES[appendix], (2, 4) if appendix == "C" else (2,)):
        for (begin, end, later, last), slopes in product(
            ((4, 2, 2, 2), (4, 2, 2, 1), (8, 2, 2, 2), (8, 2, 4, 2)), ([up] * N, [up, down][:N])
        ):
            rates = [_F(r, 8192) for r in (*[begin] * (tau - 1), end, *[later] * (tau - 1), last)]
            yield _one_round([[_F(1)] * 2] * N, slopes, [_F(0)] * 2, rates, K)


def _large(appendix: Appendix) -> Iterator[EnumeratedRun]:
    """One step of rates beyond 1/(4 L), from a start away from the minimiser."""
    for (N, K), rate in product(_SAMPLES[appendix], (_F(1, 2), _F(2), _F(4))):
        yield _one_round([[_F(1)]] * N, [[_F(0)]] * N, [_F(1)], [rate] * 2, K)


def _together(appendix: Appendix) -> Iterator[EnumeratedRun]:
    """A step of eight equal clients that draw one zeta: its error does not fall with their number."""
    if appendix == "D":
        away = [_F(1)] + [_F(0)] * 9
        run = _one_round([[_F(1)] * 10] * 8, [[_F(0)] * 10] * 8, away, [_F(1, 4)] * 2, 8)
        yield replace(run, common=("binarisation",))


_ENTRIES = 6  # of all clients, the most of which all outcomes of independent signs are enumerated
_SAMPLES: dict[Appendix, list[tuple[int, int | None]]] = {
    "C": [(1, None), (2, None)], "D": [(2, 1), (2, 2)], "E": [(1, None), (2, 2)],
}  # fmt: skip


@cache
def drawn(appendix: Appendix, strong: bool, two_sided: bool, count: int) -> tuple[EnumeratedRun, ...]:
    """Random runs of a setting, the same for all its statements."""
    random = Random(f"{appendix}{strong}")
    like = BinarisedForm(
        appendix=appendix, strong=strong, given=frozenset({Property.SMOOTH if two_sided else Property.SMOOTH_ABOVE})
    )
    runs = [_drawn(random, like) for _ in range(count)]
    some = runs[: count // 6]
    bent = [_bent(run, like, random) for run in runs[: count // 2]]
    return tuple(dict.fromkeys((*runs, *map(_at_rest, some), *map(_off_the_path, some), *bent)))


def _at_rest(run: EnumeratedRun) -> EnumeratedRun:
    """The run from a point where all clients' gradients are 0, so that only noise moves it."""
    b = [[-c * w for c, w in zip(row, run.w0, strict=True)] for row in run.h]
    return replace(run, b=_vectors(b))


def _bent(run: EnumeratedRun, to: BinarisedForm, random: Random) -> EnumeratedRun:
    """The run on functions that are not quadratic: each has another curvature where its argument is positive."""
    bend = [[random.choice(_curvatures(to)) - v for v in row] for row in run.h]
    return replace(run, bend=_vectors(bend))


def _off_the_path(run: EnumeratedRun) -> EnumeratedRun:
    """One round in which only binarisation moves the last coordinate, with noise that grows steeply in it.

    In the first two steps the noise is 0 at every w_t^k, and large at x_t^k.
    """
    b = [[*row[:-1], -c[-1] * run.w0[-1]] for c, row in zip(run.h, run.b, strict=True)]
    steep = _vectors([[*[_F(0)] * (run.d - 1), _F(64)] for _ in run.h[:1]] + [[_F(0)] * run.d for _ in run.h[1:]])
    start = tuple(tuple(-s * w for s, w in zip(row, run.w0, strict=True)) for row in steep)
    return replace(run, b=_vectors(b), noise=(start, steep), steps=min(run.tau, 2))


def _choices(run: EnumeratedRun, to: BinarisedForm) -> Choices:
    shares = _SHARES[run.N] if to.appendix == "C" else ()
    return {
        "steps": Choice(simple=tuple(range(1, run.steps + 1))),
        "common": Choice(simple=((),)),
        "bend": Choice(_curvatures(to), fractions(0), depth=2, empty=True),
        "noise": Choice(fractions(0, 1, -1, 64), fractions(0, 1), depth=3),
        "h": Choice(_curvatures(to), fractions(1, (1, 2)), depth=2),
        "b": Choice(_SLOPES, fractions(0, 1, -1), depth=2),
        "w0": Choice(_STARTS, fractions(0, 1), depth=1),
        "rates": Choice(
            [_rates(*one, len(run.rates)) for one in product(_RATES, _falls(to))],
            tuple(dict.fromkeys(_rates(rate, 0, len(run.rates)) for rate in _RATES)),
        ),
        "p": Choice([_parts(one) for one in shares]),
    }


def _completion(run: EnumeratedRun, values: Mapping[str, Any], to: BinarisedForm) -> EnumeratedRun | None:
    """With fewer clients the shares have sum 1 again; a single client draws nothing together with others.

    Many entries of many clients have too many outcomes, unless all draw one zeta.
    """
    p = values.get("p", run.p)
    if len(p) < run.N:
        values = {**values, "p": _parts(p), "K": run.K and min(run.K, len(p)), "common": run.common if p[1:] else ()}
    other = with_values(run, values)
    few = other.N * other.d <= _ENTRIES or "binarisation" in other.common
    return other if few and fits(other, to) else None


def _witness(run: EnumeratedRun, _: BinarisedForm) -> dict[str, Any]:
    noisy = any(map(any, run.noise[0] + run.noise[1]))
    noise = {"noise": f"+-({_told(run.noise[0])} + {_told(run.noise[1])} w)"} if noisy else {}
    return {
        "h": _told(run.h), **({"bend": _told(run.bend)} if run.bend else {}), "b": _told(run.b), "p": _told(run.p),
        "w_0": _told(run.w0),
        "eta_0, eta_1 ...": _told(run.rates) if len(set(run.rates)) > 1 else str(run.rates[0]),
        "tau": run.tau, "steps": run.steps, "N": run.N, **({"K": run.K} if run.K else {}),
        **noise,
        **({"drawn by all clients together": ", ".join(run.common)} if run.common else {}),
    }  # fmt: skip


def _told(values: Any) -> str:
    return f"({', '.join(map(_told, values))})" if isinstance(values, tuple) else str(values)


ROUNDS = PaperRounds(
    forms=form_of,
    family=family,
    cases=cases,
    choices=_choices,
    axes=({"h": 0, "b": 0, "p": 0, "bend": 0, "noise": 1}, {"h": 1, "b": 1, "w0": 0, "bend": 1, "noise": 2}),
    witness=_witness,
    described=lambda run, case: f"N = {run.N}, tau = {run.tau}, step {case.place['t']}",
    searched="piecewise quadratics with d = 1, 2, 1 to 3 clients, tau = 1 to 3, and, for statements of Appendix D that do "
    "not exclude it, 8 clients with one zeta; all outcomes enumerated",
    effort=((3, 6), (8, 40)),
    completion=_completion,
)


@cache
def known_symbols(appendix: Appendix) -> frozenset[str]:
    """The symbols that have a value in runs of an appendix."""
    rows = (row for run in ends(appendix) for row in measured(run))
    return frozenset({*_CONSTANTS, *(name for row in rows for name in row)})


def evidence() -> list[Evidence]:
    """Evidence of kind `search` for every statement about a step whose symbols have values in a run, in all its forms."""
    return [
        Evidence(one.id, "search", ROUNDS.check)
        for one in catalogue.statements("fedbat")
        if (appendix := _appendix(one)) and searchable(one, known_symbols(appendix), (*_CONSTANTS, *_OF_STEP))
    ]
