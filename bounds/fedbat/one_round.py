"""The lemmas of FedBAT and the lines of their proofs, on exact instances, and a search for counter-examples.

An instance is a run of one or two rounds on piecewise quadratics in one or two coordinates, with noise of two values, of the
recursion that the paper analyses; every letter of a statement then has a number, by `simulations.binarised_rounds`.  The
search computes in floating point; what violates a claim there is computed again in fractions, so that a refutation is a
proof, and its witness can be checked by hand.

In d = 2 coordinates q = 1, in one q = 0: E||S(x) - x||^2 <= (d-1) ||x||^2, attained.  L is the largest curvature in
modulus, mu the smallest.  G and sigma are the least that Assumptions 3 and 4 allow on the run: as printed, for gradients at
w_t^k, or, for statements that assume them corrected, at x_t^k.

Appendix C: all clients, any shares.  Appendix D: K of N clients, equal shares.  Appendix E: both, a constant learning rate,
curvatures of either sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from math import inf
from random import Random
from typing import Any, Literal

import sympy

from bounds.comparisons import (
    Comparison,
    Condition,
    Inequality,
    compared,
    condition,
    decided,
    inequalities,
    not_assumed,
    rescaled,
    unassumed,
)
from simulations.binarised_rounds import Run, follow
from simulations.rational import Fraction
from theory import catalogue
from theory.properties import Property
from theory.statement import Evidence, Statement, Status, Verdict, defined

Appendix = Literal["C", "D", "E"]
_D = ("lemma5", "lemma6", "eq56", "eq57", "eq61", "eq62", "eq63", "eq64")
_E = ("lemma7", "eq70", "eq71", "eq75", "eq77", "eq78", "eq79", "eq80", "eq81", "eq82")
_C = (
    "lemma1", "lemma2", "lemma3", "lemma4", "eq24", "eq25", "eq31", "eq32", "eq34", "eq35", "eq38", "eq39", "eq40", "eq41",
    "eq42", "eq44", "eq45", "eq46", "eq47", "eq48", "eq50",
)  # fmt: skip
PRINTED = (*_C, *_D, *_E)
_OF_ENTRIES = ("w_mean", "v_mean")
_OF_CLIENTS = ("x_star_k", "spread_k", "moved_k_sq", "steps_sum", "steps_sum_w", "steps_sq", "steps_sq_w")
_CONSTANTS = ("N", "K", "tau", "L", "mu", "p_sq", "q", "G", "sigma", "eta")
_ROUNDING = 1e-9
_NOTHING = 1e-20  # what is left of a sum that is 0


@dataclass(frozen=True)
class Compiled:
    """A statement about a step, ready for numbers.

    claims      its inequalities, and whether each is the claim's own, not one claimed besides
    at_x        whether G and sigma are those at x_t^k
    strong      whether every F_k is strongly convex
    two_sided   whether no curvature is below -L
    factors     by which the constants that it assumes nothing of are not those of the run
    """

    appendix: Appendix
    claims: tuple[tuple[Inequality, bool], ...]
    conditions: tuple[Condition, ...]
    at_x: bool
    strong: bool
    two_sided: bool
    factors: Mapping[str, Fraction]


_MINIMA = {"Gamma", "local_gap", "local_gap_bar", "star_own", "star_gap", "global_gap", "gap_t", "Delta_t", "Delta_next",
           "v_dist", "A_1", "inner_star", "inner_down", "x_star_sq", "x_star_k"}  # fmt: skip


def compiled(statement: Statement) -> list[Compiled]:
    """A statement, with its definitions put in; several times where it assumes nothing of a constant.

    Raises ValueError for a statement that is neither one of `PRINTED` nor corrects one, for a claim that is no bound or
    relation, and for roots that do not disappear.
    """
    name = (statement.corrects or statement.id).removeprefix("fedbat.")
    if name not in PRINTED:
        raise ValueError(f"{statement.id}: expected one of {', '.join(PRINTED)}, or what corrects it")
    where, given = dict(statement.where), catalogue.properties(statement)
    several = [inequalities(claim, where) for claim in (statement.claim, *statement.also)]
    claims = tuple((one, i == 0) for i, own in enumerate(several) for one in own)
    relations = [c for c in (defined(c.relation, where) for c in statement.when) if c != sympy.true]
    appendix: Appendix = "D" if name in _D else "E" if name in _E else "C"
    form = Compiled(
        appendix,
        claims,
        tuple(map(condition, relations)),
        bool({Property.VARIANCE, Property.BOUNDED_GRADIENT} & set(given)),
        Property.STRONGLY_CONVEX in given or any(one.letters & _MINIMA for one, _ in claims),
        Property.SMOOTH in given,
        {},
    )
    return [replace(form, factors=factors) for factors in unassumed(statement)]


# ------------------------------------------------------------------------------------------------------ an instance


@lru_cache(maxsize=20_000)
def _measured(run: Run, exactly: bool) -> tuple[Mapping[str, Any], ...]:
    return follow(run)


def measured(run: Run) -> tuple[Mapping[str, Any], ...]:
    """`follow`, computed once; a run of fractions and one of floats are equal where their numbers are."""
    return _measured(run, not isinstance(run.w0[0], float))


def rough(run: Run) -> Run:
    """The run in floating point."""

    def low(v: Any) -> Any:
        return tuple(map(low, v)) if isinstance(v, tuple) else float(v)

    return replace(
        run, h=low(run.h), b=low(run.b), p=low(run.p), w0=low(run.w0), rates=low(run.rates), noise=low(run.noise),
        bend=low(run.bend),
    )  # fmt: skip


def fits(run: Run, to: Compiled) -> bool:
    """Whether the run is of the statement's setting."""
    curvatures = run.curvatures
    alike = len(set(run.p)) == 1
    constant = len(set(run.rates)) == 1
    setting = {
        "C": run.K is None,
        "D": run.K is not None and alike,
        "E": alike and constant and (run.K is not None or run.N == 1),
    }[to.appendix]
    least = -1 if to.two_sided else -inf
    return setting and (min(curvatures) > 0 or not to.strong) and least <= min(curvatures) and max(curvatures) <= 1


@dataclass(frozen=True)
class Case:
    """An inequality in numbers, at step t, for client or entry k (from 1) where it speaks of one; `own`: of the claim."""

    comparison: Comparison
    t: int
    k: int
    own: bool


def cases(run: Run, to: Compiled) -> Iterator[Case]:
    """The inequalities in numbers at every step of the run, where all conditions hold at every one of its steps.

    Raises ValueError for more than two coordinates.
    """
    if run.d > 2:
        raise ValueError(f"d = {run.d}: expected 1 or 2, where q = sqrt(d - 1) is a whole number")
    rows = measured(run)
    curvatures = run.curvatures
    where = "x" if to.at_x else "w"
    constants: dict[str, Any] = {
        "N": run.N, "K": run.N if run.K is None else run.K, "tau": run.tau, "L": run.h[0][0] * 0 + 1,
        "p_sq": sum(p * p for p in run.p), "q": run.d - 1, "eta": run.rates[0],
        "G_squared": max(row[f"largest_{where}"] for row in rows),
        "sigma_sq": max(row[f"noise_{where}_most"] for row in rows),
    }  # fmt: skip
    if min(curvatures) > 0:
        constants["mu"] = min(curvatures)
    constants = rescaled(constants, to.factors)
    every = [{**constants, **row} for row in rows]
    # rounding apart, for floats: both sides of a condition may be equal
    tiny = 1e-12 if isinstance(run.w0[0], float) else 0
    if not all(condition.holds(values, tiny) for values in every for condition in to.conditions):
        return
    for t, values in enumerate(every):
        present = {*values, "G", "sigma"}
        for claim, own in to.claims:
            letters = claim.letters
            if not letters <= present:
                continue
            count = run.N if letters & set(_OF_CLIENTS) else run.d if letters & set(_OF_ENTRIES) else 1
            for k in range(count):
                at = {n: v[k] if isinstance(v, list) and k < len(v) else v for n, v in values.items()}
                yield Case(compared(claim, at), t, k + 1, own)


@dataclass(frozen=True)
class Found:
    """A run in floating point: the largest need / room of the claim's own inequalities, and whether anything is violated."""

    ratio: float
    violated: bool


def worst(run: Run, to: Compiled) -> Found | None:
    """The run in floating point; None where it does not meet the conditions."""
    ratios = [(_ratio(case.comparison), case.own) for case in cases(rough(run), to)]
    if not ratios:
        return None
    most = max((ratio for ratio, own in ratios if own), default=0.0)
    return Found(most, any(ratio > 1 + _ROUNDING for ratio, _ in ratios))


def _ratio(c: Comparison) -> float:
    """need / room, what is within rounding of 0 being 0; for an equality 1 or 2."""
    if c.equality:
        return 1.0 if abs(c.need - c.plus) <= _ROUNDING * c.size + _NOTHING else 2.0
    return c.rounded if c.need > _NOTHING else 0.0


# ------------------------------------------------------------------------------------------------------- the family

_F = Fraction
_CURVATURES = tuple(_F(*v) for v in ((1, 1), (1, 1), (1, 2), (1, 4), (1, 8)))
_EITHER = (*_CURVATURES, _F(0), _F(-1, 2), _F(-1))
_SLOPES = tuple(_F(*v) for v in ((0, 1), (0, 1), (1, 1), (-1, 1), (1, 2), (-2, 1), (4, 1)))
_STARTS = tuple(_F(*v) for v in ((0, 1), (1, 1), (1, 2), (-1, 1), (2, 1), (4, 1)))
_RATES = tuple(_F(*v) for v in ((1, 4), (1, 4), (1, 8), (1, 16), (1, 2), (1, 1), (2, 1)))
_SHARES: dict[int, list[tuple[int, ...]]] = {1: [(1,)], 2: [(1, 1), (1, 2), (1, 5)], 3: [(1, 1, 1), (2, 1, 1)]}


def _curvatures(to: Compiled) -> tuple[Fraction, ...]:
    return _CURVATURES if to.strong else _EITHER if to.two_sided else (*_EITHER, _F(-4))


def _drawn(random: Random, to: Compiled) -> Run:
    """A random run of the statement's setting, of small numbers."""
    N = random.choice((1, 2, 2, 3) if to.appendix == "D" else (1, 2, 2) if to.appendix == "C" else (1, 2))
    d = random.choice((2, 2, 2, 1))
    tau = random.choice((1, 2, 2, 3)) if N < 3 else random.choice((1, 2))
    K = random.choice(range(1, N + 1)) if to.appendix == "D" or (to.appendix == "E" and N > 1) else None
    shares = random.choice(_SHARES[N]) if to.appendix == "C" else _SHARES[N][0]
    curvatures = _curvatures(to)
    h = [[random.choice(curvatures) for _ in range(d)] for _ in range(N)]
    h[random.randrange(N)][random.randrange(d)] = _F(1)
    rate, falls = random.choice(_RATES), 0 if to.appendix == "E" else random.choice((0, 0, 2, 3, 8))
    steps = tau if N * tau > 2 else random.choice((tau, min(2 * tau, 3)))
    rates = tuple(rate * falls / (falls + t) if falls else rate for t in range(steps + tau))
    start = tuple(random.choice(_STARTS) for _ in range(d))
    sizes = [[random.choice((_F(0), _F(0), _F(1))) for _ in range(d)] for _ in range(N if N * tau < 6 else 1)]
    sizes += [[_F(0)] * d for _ in range(N - len(sizes))]
    grows = random.random() < 0.5  # noise that is 0 at the start, and grows from there, at times steeply
    if grows and random.random() < 0.5:
        sizes = [[64 * s for s in row] for row in sizes]
    noise = (
        _vectors([[-s * w for s, w in zip(row, start, strict=True)] for row in sizes] if grows else sizes),
        _vectors(sizes if grows else [[_F(0)] * d for _ in sizes]),
    )
    slopes = [[random.choice(_SLOPES) for _ in range(d)] for _ in range(N)]
    p = tuple(_F(s, sum(shares)) for s in shares)
    return Run(_vectors(h), _vectors(slopes), p, start, rates, tau, steps, noise, K)


def _vectors(rows: list[list[Fraction]]) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(row) for row in rows)


@cache
def family(appendix: Appendix, strong: bool, two_sided: bool, count: int) -> tuple[Run, ...]:
    """Runs of a setting, the same for all its statements."""
    random, like = Random(f"{appendix}{strong}"), Compiled(appendix, (), (), False, strong, two_sided, {})
    drawn = [_drawn(random, like) for _ in range(count)]
    some = drawn[: count // 6]
    bent = [_bent(run, like, random) for run in drawn[: count // 2]]
    return tuple(dict.fromkeys((*drawn, *map(_at_rest, some), *map(_off_the_path, some), *bent)))


def _at_rest(run: Run) -> Run:
    """The run from a point at which all clients' gradients are 0, so that only noise moves it."""
    b = [[-c * w for c, w in zip(row, run.w0, strict=True)] for row in run.h]
    return replace(run, b=_vectors(b))


def _bent(run: Run, to: Compiled, random: Random) -> Run:
    """The run on functions that are no quadratics: each has another curvature where its argument is positive."""
    bend = [[random.choice(_curvatures(to)) - v for v in row] for row in run.h]
    return replace(run, bend=_vectors(bend))


def _off_the_path(run: Run) -> Run:
    """One round, whose last coordinate only binarisation moves, with noise that grows steeply with it.

    In its first two steps the noise is 0 at every w_t^k, and large at x_t^k.
    """
    b = [[*row[:-1], -c[-1] * run.w0[-1]] for c, row in zip(run.h, run.b, strict=True)]
    steep = _vectors([[*[_F(0)] * (run.d - 1), _F(64)] for _ in run.h[:1]] + [[_F(0)] * run.d for _ in run.h[1:]])
    start = tuple(tuple(-s * w for s, w in zip(row, run.w0, strict=True)) for row in steep)
    return replace(run, b=_vectors(b), noise=(start, steep), steps=min(run.tau, 2))


def _varied(run: Run, to: Compiled, random: Random) -> Run:
    """The run with one or two of its numbers taken from another."""
    other = _drawn(random, to)
    names = random.sample(("h", "b", "w0", "rates", "noise", "p"), random.choice((1, 1, 2)))
    if (other.N, other.d, other.tau, len(other.rates)) != (run.N, run.d, run.tau, len(run.rates)):
        return run
    changed: dict[str, Any] = {name: getattr(other, name) for name in names}
    return replace(run, **changed)


def _simpler(run: Run) -> Iterator[Run]:
    """Runs with one thing made simpler."""
    zero, one = _F(0), _F(1)
    if run.N > 1 and run.K is None:
        for i in range(run.N):
            noise = (run.noise[0][i : i + 1], run.noise[1][i : i + 1])
            yield replace(run, h=run.h[i : i + 1], b=run.b[i : i + 1], p=(one,), noise=noise, bend=run.bend[i : i + 1])
    if run.bend:
        yield replace(run, bend=())
    for j in range(run.d) if run.d > 1 else ():
        h, b, c, s = (tuple(row[j : j + 1] for row in rows) for rows in (run.h, run.b, *run.noise))
        bend = tuple(row[j : j + 1] for row in run.bend)
        yield replace(run, h=h, b=b, w0=run.w0[j : j + 1], noise=(c, s), bend=bend)
    nothing = _vectors([[zero] * run.d for _ in range(run.N)])
    if run.noise != (nothing, nothing):
        yield replace(run, noise=(nothing, nothing))
        for part, i, j in product((0, 1), range(run.N), range(run.d)):
            if run.noise[part][i][j]:
                parts = [[list(row) for row in rows] for rows in run.noise]
                parts[part][i][j] = zero
                yield replace(run, noise=(_vectors(parts[0]), _vectors(parts[1])))
    for name, values in (("b", (zero, one, -one)), ("h", (one, _F(1, 2)))):
        rows: Any = getattr(run, name)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                for simple in values if value not in values else ():
                    changed = [list(r) for r in rows]
                    changed[i][j] = simple
                    other: dict[str, Any] = {name: _vectors(changed)}
                    yield replace(run, **other)
    for i, value in enumerate(run.w0):
        for simple in (zero, one) if value not in (zero, one) else ():
            yield replace(run, w0=(*run.w0[:i], simple, *run.w0[i + 1 :]))


def _violated(run: Run, to: Compiled) -> Case | None:
    """The first case of the run that violates a claim, in fractions."""
    return next((case for case in cases(run, to) if not case.comparison.holds), None)


def check(statement: Statement, full: bool = False) -> Verdict:
    """A statement against the family, then against what a search finds from the tightest instances on.

    refuted, in fractions, by an instance within the statement's conditions and assumptions that violates its claim or what
    is claimed besides; holds otherwise.  Raises ValueError as `compiled`.
    """
    return decided(_checked(to, full) for to in compiled(statement))


def _checked(to: Compiled, full: bool) -> Verdict:
    seen: list[tuple[float, Run]] = []
    for run in family(to.appendix, to.strong, to.two_sided, 600 if full else 120):
        found = worst(run, to)
        if found is not None:
            if found.violated and (case := _violated(run, to)) is not None:
                return _refuted(run, case, to)
            seen.append((min(found.ratio, 1.0), run))  # above 1 it is rounding: in fractions nothing is violated
    if not seen:
        return Verdict(Status.OPEN, "no instance meets the conditions")
    seen.sort(key=lambda pair: pair[0], reverse=True)
    random, largest = Random(0), seen[0][0]
    for ratio, run in seen[: 8 if full else 3]:
        for _ in range(60 if full else 15):
            other = _varied(run, to, random)
            found = worst(other, to) if fits(other, to) else None
            if found is not None and found.violated and (case := _violated(other, to)) is not None:
                return _refuted(other, case, to)
            if found is not None and found.ratio > ratio:
                ratio, run = min(found.ratio, 1.0), other
                largest = max(largest, ratio)
    equalities = all(claim.equality for claim, own in to.claims if own)
    return Verdict(
        Status.HOLDS,
        f"{len(seen)} instances of {_SETTING[to.appendix]}, piecewise quadratics with d = 1, 2, tau = 1 to 3, every outcome "
        f"gone through; and a search from the tightest",
        slack=1 / largest if largest > 0 and not equalities else None,
    )


_SETTING = {"C": "1 to 3 clients", "D": "K of 2 or 3 clients", "E": "1, or K of 2, clients of either curvature"}


def _refuted(run: Run, case: Case, to: Compiled) -> Verdict:
    simpler: tuple[Run, Case] | None = (run, case)
    while simpler is not None:
        run, case = simpler
        fitting = (other for other in _simpler(run) if fits(other, to))
        simpler = next(((other, c) for other in fitting for c in [_violated(other, to)] if c is not None), None)
    c = case.comparison
    left, right = c.quantity, c.minus + c.plus
    noisy = any(map(any, run.noise[0] + run.noise[1]))
    noise = {"noise": f"+-({_told(run.noise[0])} + {_told(run.noise[1])} w)"} if noisy else {}
    witness: dict[str, Any] = {
        "h": _told(run.h), **({"bend": _told(run.bend)} if run.bend else {}), "b": _told(run.b), "p": _told(run.p),
        "w_0": _told(run.w0),
        "eta_0, eta_1 ...": _told(run.rates) if len(set(run.rates)) > 1 else str(run.rates[0]),
        "tau": run.tau, "steps": run.steps, "N": run.N, **({"K": run.K} if run.K else {}),
        **noise, **not_assumed(to.factors),
        "t": case.t, "k": case.k, "relation": c.says, "left": str(left), "right": str(right),
    }  # fmt: skip
    says = f"N = {run.N}, tau = {run.tau}, step {case.t}: left side {left}, right side {right}, exactly"
    slack = float(1 / c.ratio) if not c.equality and 0 < c.ratio < inf else None
    return Verdict(Status.REFUTED, says, slack=slack, witness=witness)


def _told(values: Any) -> str:
    return f"({', '.join(map(_told, values))})" if isinstance(values, tuple) else str(values)


def evidence() -> list[Evidence]:
    """Evidence of kind `search` for every printed lemma and line, and for what corrects it."""
    found = []
    for name in PRINTED:
        id_ = f"fedbat.{name}"
        found += [Evidence(one, "search", check) for one in (id_, *catalogue.corrected_by(id_))]
    return found


__all__ = ["PRINTED", "Case", "Compiled", "cases", "check", "compiled", "evidence", "family", "worst"]
