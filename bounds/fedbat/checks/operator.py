"""Exact checks of the operator S: (6), (7), (13), its bias and error with alpha = ||x||_inf, and other step sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import sympy

from fedtheory.bounds import evaluate
from fedtheory.bounds.trials.cases import Case, ExactVector, compared, known_at, number, relations, root
from fedtheory.simulations.binarisation import binarise, derivatives, error, law, least_error, mean_size
from fedtheory.theory import catalogue
from fedtheory.theory.proofs.instances import Law, sides
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.statement import Relations, Statement, Status, Verdict

Point = tuple[Fraction, ...]

# ------------------------------------------------------------------------------------------ (6), (7): one number

_STEPS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2))
_ZETA = tuple(Fraction(j, 8) for j in range(8))  # a grid on which probabilities in eighths are counted exactly
_GRID = f"x in multiples of alpha/4 in [-2 alpha, 2 alpha], alpha in {', '.join(map(str, _STEPS))}, zeta in eighths"


def _scalars(most: int) -> Iterator[Case]:
    """x, alpha, zeta with |x| <= most alpha: multiples of powers of two, so that floats are exact."""
    for alpha, j, zeta in product(_STEPS, range(-4 * most, 4 * most + 1), _ZETA):
        x = Fraction(j, 4) * alpha
        yield Case(f"x = {x}, alpha = {alpha}, zeta = {zeta}", {"x": x, "alpha": alpha, "zeta": zeta})


def _in_floats(x: Fraction, alpha: Fraction, zeta: Fraction) -> Fraction:
    return Fraction(float(binarise([float(x)], float(alpha), [float(zeta)])[0]))


def clipped(statement: Statement, full: bool = False) -> Verdict:
    """(6) against `binarise`, S' by (7)."""
    inner = relations(catalogue.find("fedbat.eq7").claim)[0].rhs
    cases = []
    for case in _scalars(2):
        S = {"S_noisy": number(inner, case), "S_value": _in_floats(**case.values)}
        cases.append(replace(case, values={**case.values, **S}))
    return compared(statement.claim, cases, f"fedtheory.simulations.binarisation.binarise, {_GRID}")


def slopes(statement: Statement, full: bool = False) -> Verdict:
    """(8), (9) against `derivatives`, and against autograd of the torch operator."""
    cases, by_autograd = [], []
    for case in _scalars(2):
        x, alpha, zeta = map(float, case.values.values())
        by_x, by_alpha = (Fraction(float(slope[0])) for slope in derivatives([x], alpha, [zeta]))
        cases.append(replace(case, values={**case.values, "S_by_x": by_x, "S_by_alpha": by_alpha}))
        by_autograd.append(_by_autograd([x], alpha, [zeta]))
    verdict = compared(statement.claim, cases, f"fedtheory.simulations.binarisation.derivatives, {_GRID}")
    for case, autograd in zip(cases, by_autograd, strict=True):
        if autograd != (case.values["S_by_x"], case.values["S_by_alpha"]):
            witness = {name: str(v) for name, v in case.values.items()} | {"by autograd": str(autograd)}
            return Verdict(Status.REFUTED, "the torch operator has other derivatives", witness=witness)
    return replace(
        verdict, says=f"{verdict.says}; the same by autograd through fedtheory.simulations.networks.straight_through"
    )


def _by_autograd(x: list[float], alpha: float, zeta: list[float]) -> tuple[Fraction, Fraction]:
    """dS/dx and dS/dalpha of the torch operator."""
    from fedtheory.simulations.networks.straight_through import slopes as by_autograd  # torch takes seconds to import

    by_x, by_alpha = by_autograd(x, alpha, zeta)
    return Fraction(float(by_x[0])), Fraction(by_alpha)


def stochastic(statement: Statement, full: bool = False) -> Verdict:
    """(7) against `binarise`; its frequency of alpha against `law`; in float32 the formula may give 3 alpha."""
    claim = statement.claim_of(Relations)
    formula = claim.relations[0].args[1]
    cases = [replace(one, values={**one.values, "S_noisy": _in_floats(**one.values)}) for one in _scalars(1)]
    verdict = compared(claim, cases, f"fedtheory.simulations.binarisation.binarise, {_GRID}, where |x| <= alpha")
    if verdict.status is not Status.TESTED:
        return verdict
    for alpha, j in product(_STEPS, range(-4, 5)):
        x = Fraction(j, 4) * alpha
        values = [number(formula, Case("", {"x": x, "alpha": alpha, "zeta": zeta})) for zeta in _ZETA]
        counted = Fraction(values.count(alpha), len(values))
        chance = sum((p for p, (value,) in law([x], alpha) if value == alpha), Fraction(0))
        if counted != chance:
            witness = {"x": str(x), "alpha": str(alpha), "counted": str(counted), "P(alpha)": str(chance)}
            return Verdict(
                Status.REFUTED, f"x = {x}, alpha = {alpha}: alpha for a share {counted} of the zeta", witness=witness
            )
    near = float(np.nextafter(np.float32(1), np.float32(0)))
    safe = binarise(np.ones(1, np.float32), np.ones(1, np.float32), np.full(1, near, np.float32))
    return replace(
        verdict,
        says=f"{verdict.says}; alpha as often as in the law.  The formula computed in float32 at x = alpha = 1, zeta = "
        f"1 - {1 - near:.3g} gives {_printed_in_float32(formula, 1.0, 1.0, near):g}, not 1: the sum under the floor rounds "
        f"to 2; binarise gives {float(safe[0]):g}",
    )


def _printed_in_float32(formula: sympy.Expr, x: float, alpha: float, zeta: float) -> float:
    names = ("x", "alpha", "zeta")
    symbols = {s.name: s for s in formula.free_symbols}
    computed = sympy.lambdify([symbols[n] for n in names], formula, modules="numpy")
    return float(computed(*(np.float32(v) for v in (x, alpha, zeta))))


# ---------------------------------------------------------------------------------------------------- (13)

_UPDATES: tuple[Point, ...] = tuple(
    tuple(Fraction(v, 8) for v in point)
    for point in ((3, -5), (8, 0, 0, 0), (1, 1, -1, -1), (7, -2, 4, -3), (0, 0), (-6,), (12, 1, -1, 2, -4, 0, 5, 7))
)


def initial(statement: Statement, full: bool = False) -> Verdict:
    """(13) against `mean_size`; no alpha on a grid makes ||m - alpha sign(m)|| smaller."""
    cases = [
        Case(f"m = {ExactVector(m)}", {"m_i": list(m), "d_l": Fraction(len(m)), "alpha_e": Fraction(0),
                                  "alpha_prime": Fraction(mean_size([float(v) for v in m]))})
        for m in _UPDATES
    ]  # fmt: skip
    verdict = compared(statement.claim, cases, f"fedtheory.simulations.binarisation.mean_size at {len(cases)} layers")
    if verdict.status is not Status.TESTED:
        return verdict
    tried = 0
    for m, case in zip(_UPDATES, cases, strict=True):
        best = case.values["alpha_prime"]
        for j in range(129):
            tried += 1
            if _missed(m, Fraction(j, 64)) < _missed(m, best):
                witness = {"m": str(ExactVector(m)), "alpha'": str(best), "better": str(Fraction(j, 64))}
                return Verdict(Status.REFUTED, f"m = {ExactVector(m)}: alpha = {j}/64 is closer", witness=witness)
    return replace(verdict, says=f"{verdict.says}; none of {tried} other alpha makes ||m - alpha sign(m)||^2 smaller")


def _missed(m: Point, alpha: Fraction) -> Fraction:
    """||m - alpha sign(m)||^2."""
    return sum(((abs(v) - alpha) ** 2 for v in m), Fraction(0))


# ------------------------------------------------------------------------------------------ alpha = ||x||_inf


@cache
def points() -> tuple[Point, ...]:
    """One nonzero entry, equal entries, and others, in one to five dimensions; and 0."""
    found: list[Point] = [(Fraction(0), Fraction(0))]
    for d in range(1, 6):
        found += [
            tuple(Fraction(3 * (i == d - 1), 2) for i in range(d)),
            tuple(Fraction((-1) ** i, 2) for i in range(d)),
            tuple(Fraction((-1) ** i, i + 1) for i in range(d)),
            tuple(Fraction(1) if i == 0 else Fraction(i, 7) for i in range(d)),
        ]
    return tuple(dict.fromkeys(found))


POINTS = "all outcomes at rational points in one to five dimensions, one nonzero entry and equal entries among them"


def outcomes(x: Point) -> list[tuple[Fraction, ExactVector]]:
    """The law of S(x) with alpha = ||x||_inf."""
    return [(chance, ExactVector(out)) for chance, out in law(x, max(map(abs, x)))]


def _largest() -> Iterator[Case]:
    for x in points():
        drawn: Law = [(chance, {"S": known_at(ExactVector(x), out)}) for chance, out in outcomes(x)]
        known = {"x_vec": ExactVector(x), "q": root(len(x) - 1)}
        yield Case(f"x = {ExactVector(x)}", known, drawn)


def largest(statement: Statement, full: bool = False) -> Verdict:
    """A claim about S(x) for every x, with alpha = ||x||_inf and q = sqrt(d - 1)."""
    about_q = any("q" in map(str, relation.free_symbols) for relation in relations(statement.claim))
    return compared(statement.claim, _largest(), f"{POINTS}, q = sqrt(d - 1)" if about_q else POINTS)


def squared(statement: Statement, full: bool = False) -> Verdict:
    """E||S(x) - x||^2 over all outcomes, exactly; and at most (d - 1) ||x||^2, which one nonzero entry attains."""
    cases, worst = [], Fraction(0)
    for x in points():
        mean = sum((p * abs(out - ExactVector(x)) ** 2 for p, out in outcomes(x)), Fraction(0))
        known = {"d": Fraction(len(x)), "x_max": max(map(abs, x)), "x_sq": abs(ExactVector(x)) ** 2, "error_sq": mean}
        cases.append(Case(f"x = {ExactVector(x)}", known))
        worst = max(worst, mean / known["x_sq"] / (len(x) - 1) if len(x) > 1 and any(x) else Fraction(0))
    verdict = compared(statement.claim, cases, POINTS)
    return replace(verdict, says=f"{verdict.says}; at most {worst} (d - 1) ||x||^2")


def restarted(statement: Statement, full: bool = False) -> Verdict:
    """S_m by the first relation, from S with alpha = ||.||_inf, over all outcomes; then its mean and its error."""
    stated = relations(statement.claim)
    definition, others = stated[0], Relations(tuple(stated[1:]))
    w_bar = (Fraction(1), Fraction(-1, 2), Fraction(2), Fraction(0), Fraction(1, 3))
    cases, defined = [], []
    for x in points():
        start = ExactVector(w_bar[: len(x)])
        end = start + ExactVector(x)
        known = {"w_k": end, "w_bar_0": start, "q": root(len(x) - 1)}
        drawn = []
        for chance, out in outcomes(x):
            S = known_at(ExactVector(x), out)
            where = f"w - wbar_0 = {ExactVector(x)}, S = {out}"
            moved = number(definition.args[1], Case(where, {**known, "S": S}))
            S_m = known_at(end, moved)
            defined.append(Case(where, {**known, "S": S, "S_m": S_m}))
            drawn.append((chance, {"S": S, "S_m": S_m}))
        cases.append(Case(f"w - wbar_0 = {ExactVector(x)}", known, drawn))
    first = compared(Relations((definition,)), defined, "")
    return first if first.status is not Status.TESTED else compared(others, cases, f"{POINTS}, q^2 = d - 1")


# ------------------------------------------------------------------------------------------ Assumption 5


def assumed(statement: Statement, full: bool = False) -> Verdict:
    """Assumption 5 as printed; its first moment does not bound the second."""
    verdict = largest(statement)
    if verdict.status is not Status.TESTED:
        return verdict
    x = (Fraction(1), Fraction(1, 2))
    first = sum(p * Fraction(str(float(abs(out - ExactVector(x))))) for p, out in outcomes(x))
    second = sum(p * abs(out - ExactVector(x)) ** 2 for p, out in outcomes(x))
    own = abs(ExactVector(x)) ** 2
    measured, bound = unbounded()
    return replace(
        verdict,
        says=f"{verdict.says}.  It does not imply the second moment that C.1 derives from it: at x = (1, 1/2) the first "
        f"allows q^2 = {first**2 / own}, the second needs {second / own}; and Q(x) = x/p with probability p, else 0, has "
        f"the first moment 2 (1 - p) ||x|| < 2 ||x||, the second (1/p - 1) ||x||^2: with p = 1/{HORIZON + 8}, "
        f"T = {HORIZON}, F = w^2/2, tau = N = 1, eta_t = 2/(7 + t), from w_0 = 1, E F(w_T) = {measured:.3g}, and "
        f"Theorem 1 with q = 2 and G^2 = max E w_t^2 says at most {bound:.3g}",
    )


HORIZON = 100


def unbounded() -> tuple[float, float]:
    """E F(w_T), and the bound of Theorem 1 by the first moment, for Q(x) = x/p with probability p = 1/(T + 8), else 0.

    F = w^2/2, one client, one local step: w_{t+1} = w_t + Q(-eta_t w_t), so that E w_{t+1}^2 is E w_t^2 times
    1 - 2 eta_t + eta_t^2 / p.
    """
    p, squares = 1 / (HORIZON + 8), [1.0]
    numbers: dict[str, Any] = {"L": 1.0, "mu": 1.0, "sigma": 0.0, "Gamma": 0.0, "p_sq": 1.0, "q": 2.0}
    for t in range(HORIZON):
        eta = 2 / (7 + t)
        squares.append(squares[-1] * (1 - 2 * eta + eta**2 / p))
    bound = evaluate("fedbat.thm1", **numbers, tau=1, N=1, T=HORIZON, G=max(squares) ** 0.5, dist0_sq=squares[1])
    return squares[-1] / 2, bound.value


# ------------------------------------------------------------------------------------------ other step sizes


def _shapes() -> Iterator[tuple[str, Sequence[float]]]:
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 20, 100):
        yield f"one nonzero entry, d = {d}", np.eye(d)[0].tolist()
        yield f"equal entries, d = {d}", [(-1.0) ** i for i in range(d)]
        yield f"1/i, d = {d}", [1 / (i + 1) for i in range(d)]
        for j in range(20):
            yield f"normal {j}, d = {d}", rng.standard_normal(d).tolist()


def learned(statement: Statement, full: bool = False) -> Verdict:
    """The relations of Remark 3 for the alpha with the smallest error; the ratio of the errors, and the mean of S."""
    (claim,) = statement.also
    count, worst = 0, 0.0
    shares: dict[str, float] = {}  # relation -> the largest left side / right side
    gains: dict[int, list[float]] = {}
    for where, x in _shapes():
        largest, own, d = max(map(abs, x)), float(np.square(x).sum()), len(x)
        least = float(error(x, least_error(x)))
        values = {"d": float(d), "x_max": largest, "x_sq": own, "error_sq": least}
        for side in sides(claim, values):
            count += 1
            if not side.holds:
                return Verdict(Status.REFUTED, f"{where}: {side}", witness={"where": where, "x": list(x), **values})
            shares[side.says] = max(shares.get(side.says, 0.0), side.ratio)
        worst = max(worst, least / own / (1 - 1 / d) if d > 1 else 0.0)
        if where.startswith("normal"):
            gains.setdefault(d, []).append(float(error(x, largest)) / least if d > 1 else 1.0)
    x2 = (Fraction(1), Fraction(1, 4))
    alpha = fraction(sympy.Rational(least_error([1.0, 0.25])))
    mean = sum((p * out[0] for p, out in law(x2, alpha)), Fraction(0))
    shrunk = ", ".join(f"{np.median(g):.3g} in d = {d}" for d, g in gains.items() if d > 1)
    return Verdict(
        Status.TESTED,
        f"fedtheory.simulations.binarisation.least_error on normal and structured x in one to a hundred dimensions, {count} "
        f"comparisons, left at most {' and '.join(f'{share:.4g}' for share in shares.values())} of the right side; for "
        f"normal x the error with ||x||_inf is (median) {shrunk} times the least error; the least error is "
        f"at most {worst:.6g} (1 - 1/d) ||x||^2, that with ||x||_inf (d - 1) ||x||^2.  But the alpha of least error makes S "
        f"biased, and every proof needs E S(x) = x: at x = (1, 1/4), alpha = {alpha} and E S(x)_1 = {mean}.  Accuracy was "
        "not checked",
    )


# ------------------------------------------------------------------------------------------ the bias of SignSGD


_SIZES = tuple(Fraction(v, 4) for v in (-8, -4, -2, 0, 1, 4))


def biased(statement: Statement, full: bool = False) -> Verdict:
    """E[alpha sign(m)] against m: they are equal if all |m_i| = alpha, and different otherwise."""
    cases, equal, places = [], 0, 0
    for alpha, m in product(_STEPS, product(_SIZES, repeat=2)):
        vector = ExactVector(m)
        signs = ExactVector(tuple(Fraction(1 if v >= 0 else -1) for v in m))
        agree = all(abs(v) == alpha for v in m)
        equal += agree
        places += 1
        if (alpha * signs == vector) != agree:
            return Verdict(
                Status.REFUTED, f"m = {vector}, alpha = {alpha}", witness={"m": str(vector), "alpha": str(alpha)}
            )
        if not agree:
            known = {"alpha": alpha, "m": vector}
            cases.append(Case(f"m = {vector}, alpha = {alpha}", known, [(Fraction(1), {"sign_m": signs})]))
    verdict = compared(statement.claim, cases, f"at {places - equal} of {places} pairs of m and alpha")
    if verdict.status is not Status.TESTED:
        return verdict
    return replace(verdict, says=f"{verdict.says}; at the other {equal}, where all |m_i| = alpha, they are equal")
