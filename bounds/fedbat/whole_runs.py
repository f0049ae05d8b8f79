"""Whole runs of FedBAT that violate what a statement of the paper does not assume, in fractions.

Every run is put to every statement whose symbols it has, in all forms, if the statement assumes no property that the run
does not have (`catalogue.properties`).

    one sign           10 clients with F_k = w^2/2 in one coordinate, where S(m) = m, from the minimum; tau = 1.  Every
                       gradient has an error +-1, of independent signs or, if that is not assumed, of one sign for all
    noise elsewhere    identical clients with F = ||w||^2/2 in two coordinates, tau = 2.  The gradient is exact at every w_t,
                       and has noise at the binarised x_t, which keeps the model at the same distance from the minimum
    slopes elsewhere   gradients of size 1 at the w_t, and of any size at x_1
    from above         functions whose gradients fall steeply (`one_sided`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from fedtheory.bounds.fedbat import one_sided
from fedtheory.bounds.trials.cases import relations
from fedtheory.bounds.trials.claims import exact
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import (
    NO_CLAIM,
    Bound,
    Evidence,
    Relations,
    Statement,
    Status,
    Verdict,
    defined,
    formulas,
)

F = Fraction
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunInstance:
    """A whole run.

    name     in a few words
    lacks    the properties that it does not have
    rows     the values of the symbols, by step; one row where all symbols are about the whole run
    told     what a person needs to recompute it
    sampled  whether only some clients take part
    """

    name: str
    rows: Sequence[Row]
    told: Mapping[str, Any]
    lacks: frozenset[Property] = field(default_factory=frozenset)
    sampled: bool = False


# ------------------------------------------------------------------------------------------- one sign for all clients

CLIENTS, STEPS = 10, 40
_UNIT = {"L": 1, "mu": 1, "Gamma": 0}


def _rate(statement: Statement, known: Row) -> Any:
    """The statement's learning rate by the number t of the step; None where it has none, or not on this run."""
    rate = next((e for s, e in statement.where.items() if s.name == "eta_t"), None)
    if rate is None:
        return None
    fixed = _at(defined(rate, dict(statement.where)), known, partly=True)
    if {s.name for s in fixed.free_symbols} - {"t"}:
        return None
    value = exact(fixed)
    return lambda t: F(value({"t": F(t)}))


def one_sign(statement: Statement) -> Iterator[RunInstance]:
    """Noise of independent signs, and of one sign for all clients."""
    for name, variance, lacks in (
        ("independent signs", F(1, CLIENTS), frozenset[Property]()),
        ("one sign for all clients", F(1), frozenset({Property.INDEPENDENT_NOISE})),
    ):
        row: dict[str, Any] = {
            **{"N": CLIENTS, "K": CLIENTS, "tau": 1, "T": STEPS, "R": STEPS, **_UNIT, "sigma": 1, "q": 0},
            **{"G": sympy.sqrt(2), "p_sq": F(1, CLIENTS), "d0": 0},  # |w| is at most 1, so E g^2 at most 2
            **{"noise_sq": variance, "noise_x_sum": F(1, CLIENTS)},
        }
        rate = _rate(statement, row)
        if rate is not None:
            square = [F(0)]
            for t in range(STEPS):
                square.append((1 - rate(t)) ** 2 * square[-1] + rate(t) ** 2 * variance)
            row |= {"dist0_sq": square[1], "gap_last": square[-1] / 2}
        told = {"F_k": "w^2/2", "w_0": 0, "N": CLIENTS, "tau": 1, "T": STEPS, "noise": f"+-1, {name}"}
        yield RunInstance(name=f"{CLIENTS} clients, {STEPS} steps, {name}", rows=(row,), told=told, lacks=lacks)


# --------------------------------------------------------------------------------------------------- noise elsewhere

_ELSEWHERE = frozenset({Property.VARIANCE, Property.BOUNDED_GRADIENT})


def _keeps(first: Fraction, second: Fraction) -> bool:
    """Whether noise at x keeps a model at (1, 0) on the axes, at distance 1, in two steps with these learning rates.

    At the odd step w = (1-first, 0) and x = w + (0, +-first).  From there v = w - second (x + xi) must be (1, 0), or
    (0, +-1), with xi of mean 0: then v - (1, 0) is 0 or (-1, +-1), where S is exact.
    """
    mean = (1 - first) * (1 - second) - 1, -second * first  # of v - (1, 0), for x with the plus
    leaves = -mean[0]
    return 0 <= leaves <= 1 and abs(mean[1]) <= leaves


def noise_elsewhere(statement: Statement) -> Iterator[RunInstance]:
    """One client; and one of two identical clients.  T is large enough for the bounds of Theorems 1 and 2."""
    T = 400
    for N in (1, 2):
        row: dict[str, Any] = {"N": N, "K": 1, "tau": 2, "T": T, "R": T // 2, **_UNIT, "sigma": 0, "q": 1}
        row |= {"G": 1, "p_sq": F(1, N), "d0": 1, "gap_last": F(1, 2)}
        rate = _rate(statement, row)
        if rate is None or not all(_keeps(rate(t), rate(t + 1)) for t in range(0, T, 2)):
            return
        row["dist0_sq"] = (1 - rate(0)) ** 2
        told = {
            "F_k": "||w||^2/2, w in R^2", "w_0": "(1, 0)", "N": N, "K": 1, "tau": 2, "T": T, "G": 1, "sigma": 0, "q": 1,
            "noise": "0 at every w_t; at x_t of odd steps of mean 0, such that w_(t+1) is the model before, or one of "
            "the two points of the other axis at distance 1",
            "F(w_T) - F*": "1/2 for every T",
        }  # fmt: skip
        name = "noise at the binarised parameters only"
        yield RunInstance(name=name, rows=(row,), told=told, lacks=_ELSEWHERE, sampled=N > 1)


_SIZES = (1, 2, 4, 6, 12)


@cache
def slopes_elsewhere() -> tuple[RunInstance, ...]:
    """Two coordinates, so q = 1; identical clients, no noise, eta = 1, G = 1.

    The gradient is (1, 0) at w_0 = 0, (0, +-M) at x_1 = (-1, +-1), and 0 at w_1 = (-1, 0) and at the client's later points.
    Some smooth function has these gradients at these points.  So a client's update after the second step is (-1, -+M); the
    signs of two clients are independent.
    """
    found = []
    for size in _SIZES:
        error, spread = F(size**2 - 1), F(size**2)  # E||S(u) - u||^2 = 2 M^2 - (1 + M^2); sum_i ||v_i - vbar||^2 of two
        for clients, steps, known in (
            (1, 3, {"spread_x": error, "binarised_sq": error, "spread_w": F(0)}),
            (1, 2, {"jump_sq": error}),
            (2, 2, {"jump_sq": error + spread / 2, "A_bin": error, "A_2": spread / 2}),
        ):
            row = {"N": clients, "K": 1, "tau": steps, "q": 1, "G": 1, "p_sq": F(1, clients), **known}
            row |= {"eta_t": 1, "eta_later": 1, "eta_start": 1, "eta": 1}
            told = {
                "gradient at w_0 = 0": "(1, 0)",
                "at x_1 = (-1, +-1)": f"(0, +-{size})",
                "at the other w_t": "0",
                **row,
            }
            lacks = {Property.STRONGLY_CONVEX, Property.CONVEX} | (_ELSEWHERE if size > 1 else set())
            name = f"gradients at w_t at most 1, at x_1 of size {size}"
            found.append(RunInstance(name=name, rows=(row,), told=told, lacks=frozenset(lacks), sampled=clients > 1))
    return tuple(found)


# -------------------------------------------------------------------------------------------------------- from above


@cache
def from_above() -> tuple[RunInstance, ...]:
    """The runs of `one_sided`."""
    found = []
    for run in one_sided.FAMILY:
        least, most = min(run.curvatures), max(run.curvatures)
        lacks = {Property.SMOOTH} if least < -run.L else set()
        lacks |= set() if least > 0 else {Property.STRONGLY_CONVEX, Property.CONVEX, Property.POLYAK}
        told = {
            **{f"F_{k}": one_sided.told(f) for k, f in enumerate(run.clients, 1)}, "w_0": str(run.start),
            **{name: str(getattr(run, name)) for name in ("L", "eta", "tau", "T")},
            "largest F''": str(most), "least F''": str(least), "G": str(one_sided.symbols(run)[0]["G"]),
        }  # fmt: skip
        name = "smooth from above only" if Property.SMOOTH in lacks else "smooth from both sides"
        found.append(RunInstance(name=name, rows=one_sided.symbols(run), told=told, lacks=frozenset(lacks)))
    return tuple(found)


# ------------------------------------------------------------------------------------------------------------- checks


def instances(statement: Statement) -> list[RunInstance]:
    """The runs at the statement's own learning rate that have all properties that it assumes."""
    given = set(catalogue.properties(statement))
    return [one for one in _of_setting(statement) if not one.lacks & given]


def _of_setting(statement: Statement) -> list[RunInstance]:
    """The runs at the statement's own learning rate; those with a sample of clients if it is about one."""
    several = (*noise_elsewhere(statement), *one_sign(statement), *slopes_elsewhere(), *from_above())
    return [one for one in several if not one.sampled or Property.SAMPLING in catalogue.properties(statement)]


def _at(e: Any, row: Row, partly: bool = False) -> Any:
    """An expression or relation in numbers; None where a symbol has no number, unless some may be left."""
    if not partly and not {s.name for s in e.free_symbols} <= set(row):
        return None
    value = e.subs({s: sympy.sympify(row[s.name]) for s in e.free_symbols if s.name in row})
    if value.has(sympy.zoo, sympy.nan):
        raise ValueError(f"{e} divides by zero")
    return value


def admits(statement: Statement, row: Row) -> bool:
    """Whether a run meets the statement's conditions and its definitions of what the run knows."""
    where = dict(statement.where)
    conditions = (_at(defined(c.relation, where), row) for c in statement.when)
    definitions = (_at(sympy.Eq(s, defined(e, where), evaluate=False), row) for s, e in where.items() if s.name in row)
    return all(c == sympy.true for c in (*conditions, *definitions))


def check(statement: Statement, full: bool = False) -> Verdict:
    """The claim, and then its further claims, at every step of every run that the statement's assumptions admit."""
    where = dict(statement.where)
    seen = []
    inside = [one for one in instances(statement) if admits(statement, one.rows[0])]
    for claims, one in product(((statement.claim,), statement.also), inside):
        for t, row in enumerate(one.rows):
            for claim, relation in ((own, r) for own in claims for r in relations(own)):
                sides = [_at(defined(side, where), row) for side in relation.args]
                if None in sides:
                    continue
                seen.append(one.name)
                left, right = sides
                if relation.func(left, right) == sympy.true:
                    continue
                step = {"t": t} if len(one.rows) > 1 else {}
                says = f"{claim.quantity} {claim.sign} ..." if isinstance(claim, Bound) else str(relation)
                witness = {**{n: str(v) for n, v in one.told.items()}, **step, "relation": says,
                           "left": str(left), "right": str(right)}  # fmt: skip
                numbers = f"left side {_short(left)}, right side {_short(right)}"
                at = f"{one.name}, step {t}" if step else one.name
                ratio = float(right / left) if left > 0 and right > 0 and relation.func is not sympy.Eq else None
                return Verdict(Status.REFUTED, f"{at}: {numbers}, in exact arithmetic", slack=ratio, witness=witness)
    if not seen:
        return Verdict(Status.OPEN, "no run meets the conditions and the assumptions")
    return Verdict(Status.TESTED, f"no violation in whole runs, in fractions: {'; '.join(dict.fromkeys(seen))}")


def _short(number: Any) -> str:
    """A number as text: exact if it is short."""
    text = str(number)
    return text if len(text) <= 20 else f"{float(number):.6g}"


def independent(statement: Statement, full: bool = False) -> Verdict:
    """Checks the assumption: independent signs meet it, a common one does not."""
    apart, common = (
        [_at(r, one.rows[0]) == sympy.true for r in statement.claim_of(Relations).relations]
        for one in one_sign(statement)
    )
    if not all(apart):
        return Verdict(Status.REFUTED, "independent noise does not meet it", witness={"noise": "independent signs"})
    if all(common):
        return Verdict(Status.REFUTED, "one sign for all clients meets it", witness={"noise": "one sign"})
    return Verdict(Status.TESTED, f"met by independent signs of {CLIENTS} clients; not met by one sign for all clients")


def _known(statement: Statement) -> bool:
    """Whether the statement is a claim, and some run has all symbols of one of its relations."""
    if statement.kind in (*NO_CLAIM, "algorithm") or not isinstance(statement.claim, Bound | Relations):
        return False
    wanted = {s.name for e in formulas(statement.claim) for s in defined(e, dict(statement.where)).free_symbols}
    runs = _of_setting(statement)
    measured = wanted - {"N", "K", "tau", "T", "R", "L", "mu", "sigma", "q", "Gamma", "G", "p_sq", "eta", "eta_t", "t"}
    return bool(measured) and any(wanted <= set(one.rows[0]) for one in runs)


def evidence() -> list[Evidence]:
    """The check of every statement whose symbols a run has, in all its forms; and of the assumption of independence."""
    return [
        *(Evidence(one.id, "counterexample", check) for one in catalogue.statements("fedbat") if _known(one)),
        Evidence("fedbat.assump3.independent", "enumeration", independent),
    ]
