"""The lemmas of FedBAT and the lines of their proofs, on exact instances, and a search for counter-examples.

An instance is a run of the recursion that the paper analyses: one or two rounds on piecewise quadratics in one or two
coordinates, with noise of two values.  Every symbol of a statement is then a fraction, by `simulations.exact.rounds.fedbat`.

In d = 2 coordinates q = 1, in one q = 0: E||S(x) - x||^2 <= (d-1) ||x||^2, attained.  L is the largest curvature in
modulus, mu the smallest.  G and sigma are the least that Assumptions 3 and 4 allow on the run: as printed, for gradients at
w_t^k; for statements that assume the corrected forms, at x_t^k.

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

from bounds.trials.claims import balance, condition, inequalities, rescaled, unassumed
from bounds.trials.rounds import Form, Occurrence, Rounds
from simulations.exact.rational import Fraction
from simulations.exact.rounds.fedbat import Run, follow
from theory import catalogue
from theory.properties import Property
from theory.statement import Evidence, Statement, defined

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


@dataclass(frozen=True, kw_only=True)
class BinarisedForm(Form):
    """A statement about a step, ready for numbers.

    at_x        whether G and sigma are those at x_t^k
    strong      whether every F_k is strongly convex
    two_sided   whether no curvature is below -L
    """

    appendix: Appendix
    at_x: bool = False
    strong: bool
    two_sided: bool


_MINIMA = {"Gamma", "local_gap", "local_gap_bar", "star_own", "star_gap", "global_gap", "gap_t", "Delta_t", "Delta_next",
           "v_dist", "A_1", "inner_star", "inner_down", "x_star_sq", "x_star_k"}  # fmt: skip


def form_of(statement: Statement) -> list[BinarisedForm]:
    """A statement with its definitions substituted; several forms where a constant is unassumed.

    Raises ValueError for a statement that is no form of one of `PRINTED`, for a claim that is no bound or
    relation, and for roots that do not cancel.
    """
    name = catalogue.as_printed(statement).removeprefix("fedbat.")
    if name not in PRINTED:
        raise ValueError(f"{statement.id}: expected one of {', '.join(PRINTED)}, or a form of one")
    where, given = dict(statement.where), catalogue.properties(statement)
    claims = tuple(inequalities(statement.claim, where))
    also = tuple(one for claim in statement.also for one in inequalities(claim, where))
    relations = [c for c in (defined(c.relation, where) for c in statement.when) if c != sympy.true]
    appendix: Appendix = "D" if name in _D else "E" if name in _E else "C"
    form = BinarisedForm(
        inequalities=claims,
        also=also,
        conditions=tuple(map(condition, relations)),
        appendix=appendix,
        at_x=bool({Property.VARIANCE, Property.BOUNDED_GRADIENT} & set(given)),
        strong=Property.STRONGLY_CONVEX in given or any(one.symbols & _MINIMA for one in (*claims, *also)),
        two_sided=Property.SMOOTH in given,
    )
    return [replace(form, factors=factors) for factors in unassumed(statement)]


# ------------------------------------------------------------------------------------------------------ an instance


@lru_cache(maxsize=20_000)
def measured(run: Run) -> tuple[Mapping[str, Any], ...]:
    """`follow`, cached."""
    return follow(run)


def fits(run: Run, to: BinarisedForm) -> bool:
    """Whether the run has the statement's setting."""
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


def cases(run: Run, to: BinarisedForm, further: bool = False) -> Iterator[Occurrence]:
    """The inequalities in numbers at every step of the run; none unless all conditions hold at every step.

    Raises ValueError for more than two coordinates.
    """
    if run.d > 2:
        raise ValueError(f"d = {run.d}: expected 1 or 2, where q = sqrt(d - 1) is a whole number")
    claims = to.also if further else to.inequalities
    if not claims or not fits(run, to):
        return
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
    if not all(condition.holds(values) for values in every for condition in to.conditions):
        return
    for t, values in enumerate(every):
        present = {*values, "G", "sigma"}
        for claim in claims:
            symbols = claim.symbols
            if not symbols <= present:
                continue
            count = run.N if symbols & set(_OF_CLIENTS) else run.d if symbols & set(_OF_ENTRIES) else 1
            for k in range(count):
                at = {n: v[k] if isinstance(v, list) and k < len(v) else v for n, v in values.items()}
                yield Occurrence(balance(claim, at), {"t": t, "k": k + 1})


# ------------------------------------------------------------------------------------------------------- the family

_F = Fraction
_CURVATURES = tuple(_F(*v) for v in ((1, 1), (1, 1), (1, 2), (1, 4), (1, 8)))
_EITHER = (*_CURVATURES, _F(0), _F(-1, 2), _F(-1))
_SLOPES = tuple(_F(*v) for v in ((0, 1), (0, 1), (1, 1), (-1, 1), (1, 2), (-2, 1), (4, 1)))
_STARTS = tuple(_F(*v) for v in ((0, 1), (1, 1), (1, 2), (-1, 1), (2, 1), (4, 1)))
_RATES = tuple(_F(*v) for v in ((1, 4), (1, 4), (1, 8), (1, 16), (1, 2), (1, 1), (2, 1)))
_SHARES: dict[int, list[tuple[int, ...]]] = {1: [(1,)], 2: [(1, 1), (1, 2), (1, 5)], 3: [(1, 1, 1), (2, 1, 1)]}


def _curvatures(to: BinarisedForm) -> tuple[Fraction, ...]:
    return _CURVATURES if to.strong else _EITHER if to.two_sided else (*_EITHER, _F(-4))


def _drawn(random: Random, to: BinarisedForm) -> Run:
    """A random run of the statement's setting, with small numbers."""
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
    grows = random.random() < 0.5  # noise that is 0 at the start and grows from there, sometimes steeply
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


def family(to: BinarisedForm, full: bool) -> tuple[Run, ...]:
    """Runs of the statement's setting."""
    return drawn(to.appendix, to.strong, to.two_sided, 600 if full else 120)


@cache
def drawn(appendix: Appendix, strong: bool, two_sided: bool, count: int) -> tuple[Run, ...]:
    """Random runs of a setting, the same for all its statements."""
    random = Random(f"{appendix}{strong}")
    like = BinarisedForm(appendix=appendix, strong=strong, two_sided=two_sided)
    runs = [_drawn(random, like) for _ in range(count)]
    some = runs[: count // 6]
    bent = [_bent(run, like, random) for run in runs[: count // 2]]
    return tuple(dict.fromkeys((*runs, *map(_at_rest, some), *map(_off_the_path, some), *bent)))


def _at_rest(run: Run) -> Run:
    """The run from a point where all clients' gradients are 0, so that only noise moves it."""
    b = [[-c * w for c, w in zip(row, run.w0, strict=True)] for row in run.h]
    return replace(run, b=_vectors(b))


def _bent(run: Run, to: BinarisedForm, random: Random) -> Run:
    """The run on functions that are not quadratic: each has another curvature where its argument is positive."""
    bend = [[random.choice(_curvatures(to)) - v for v in row] for row in run.h]
    return replace(run, bend=_vectors(bend))


def _off_the_path(run: Run) -> Run:
    """One round in which only binarisation moves the last coordinate, with noise that grows steeply in it.

    In the first two steps the noise is 0 at every w_t^k, and large at x_t^k.
    """
    b = [[*row[:-1], -c[-1] * run.w0[-1]] for c, row in zip(run.h, run.b, strict=True)]
    steep = _vectors([[*[_F(0)] * (run.d - 1), _F(64)] for _ in run.h[:1]] + [[_F(0)] * run.d for _ in run.h[1:]])
    start = tuple(tuple(-s * w for s, w in zip(row, run.w0, strict=True)) for row in steep)
    return replace(run, b=_vectors(b), noise=(start, steep), steps=min(run.tau, 2))


def _varied(run: Run, to: BinarisedForm, random: Random) -> Run:
    """The run with one or two of its numbers taken from another."""
    other = _drawn(random, to)
    names = random.sample(("h", "b", "w0", "rates", "noise", "p"), random.choice((1, 1, 2)))
    if (other.N, other.d, other.tau, len(other.rates)) != (run.N, run.d, run.tau, len(run.rates)):
        return run
    changed: dict[str, Any] = {name: getattr(other, name) for name in names}
    return replace(run, **changed)


def _simpler(run: Run, _: BinarisedForm) -> Iterator[Run]:
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


def _witness(run: Run, _: BinarisedForm) -> dict[str, Any]:
    noisy = any(map(any, run.noise[0] + run.noise[1]))
    noise = {"noise": f"+-({_told(run.noise[0])} + {_told(run.noise[1])} w)"} if noisy else {}
    return {
        "h": _told(run.h), **({"bend": _told(run.bend)} if run.bend else {}), "b": _told(run.b), "p": _told(run.p),
        "w_0": _told(run.w0),
        "eta_0, eta_1 ...": _told(run.rates) if len(set(run.rates)) > 1 else str(run.rates[0]),
        "tau": run.tau, "steps": run.steps, "N": run.N, **({"K": run.K} if run.K else {}),
        **noise,
    }  # fmt: skip


def _told(values: Any) -> str:
    return f"({', '.join(map(_told, values))})" if isinstance(values, tuple) else str(values)


ROUNDS = Rounds(
    forms=form_of,
    family=family,
    cases=cases,
    varied=_varied,
    simpler=_simpler,
    witness=_witness,
    described=lambda run, case: f"N = {run.N}, tau = {run.tau}, step {case.place['t']}",
    searched="piecewise quadratics with d = 1, 2, 1 to 3 clients, tau = 1 to 3, all outcomes enumerated",
    effort=((3, 15), (8, 60)),
)


def evidence() -> list[Evidence]:
    """Evidence of kind `search` for every form of every lemma and line."""
    found = []
    for name in PRINTED:
        found += [Evidence(one, "search", ROUNDS.check) for one in catalogue.forms(f"fedbat.{name}")]
    return found


__all__ = ["PRINTED", "ROUNDS", "BinarisedForm", "cases", "evidence", "family", "form_of"]
