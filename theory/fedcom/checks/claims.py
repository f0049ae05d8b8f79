"""Consequences of the bounds, true or false: rates, remarks on the conditions, the identities of the proof.

The proof of a rate starts from an explicit bound: with R and tau of the claimed order and a learning rate of ours, every
term is at most a constant times epsilon.  A quadratic on which no step size achieves this refutes the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.checks import counterexamples, ledgers, rates
from fedtheory.theory.fedcom.checks.quantities import LANGUAGE
from fedtheory.theory.fedcom.symbols import *
from fedtheory.theory.listing import Listing
from fedtheory.theory.notation import Expectation, Inner, Value
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.argument import Proof, evidence_of, for_printed
from fedtheory.theory.proofs.arithmetic import decide
from fedtheory.theory.proofs.vectors import equated, in_numbers, in_the_mean
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Evidence, Rate, Rates, Relations, Statement, Status, Verdict, Words

ENOUGH = rates.ENOUGH
PROOFS: Mapping[str, Proof] = {**ledgers.PROOFS, **rates.PROOFS}
REPAIRS: Mapping[str, Proof] = ledgers.REPAIRS


def rates_of(statement: Statement) -> tuple[Rate, ...]:
    """The rates that a statement claims.  Raises ValueError when it claims none."""
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Rates):
            return claim.rates
    raise ValueError(f"{statement.id} claims no rates")


def _formulas(statement: Statement) -> tuple[Any, ...]:
    return statement.claim_of(Words).formulas


def rates_meet_condition(statement: Statement, full: bool = False) -> Verdict:
    """Remark 8 requires (76); its rates have too few rounds for (76), by a factor that grows with m."""
    *_, least = _formulas(statement)
    (rate,) = rates_of(statement)
    (needed,) = [side for side in least.args if side != R]
    short = sympy.simplify(needed.subs(tau, rate.steps) / rate.rounds)
    at = {q: 1, epsilon: Rational(1, 100)}
    ratios = {f"needed / given at m = {n}": float(short.subs({m: n, **at})) for n in (10, 1000, 100000)}
    first, _, last = ratios.values()
    if last < 100 * first:
        return Verdict(Status.OPEN, f"needed / given = {short}: no contradiction")
    return Verdict(
        Status.REFUTED,
        f"(76) needs R of the order {sympy.simplify(needed.subs(tau, rate.steps))}; the rate gives {rate.rounds}",
        slack=0.0,
        witness={"q": 1, "epsilon": "1/100", "tau": str(rate.steps), **ratios},
    )


# ------------------------------------------------------------------------------- lower bounds for every step size


def noiseless(rounds: mpmath.mpf, count: mpmath.mpf, compression: mpmath.mpf) -> mpmath.mpf:
    """The least E (w_R - w*)^2 over all step sizes, for f(w) = h (w - w*)^2/2, w_0 = w* + 1, no noise: (q/(m+q))^R.

    A round maps w - w* to (w - w*) - a mean Q(w - w*).  This multiplies E of the square by (1-a)^2 + a^2 q/m, which is
    at least (q/m)/(1 + q/m).
    """
    return mpmath.power(compression / (count + compression), rounds)


def noisy(
    rounds: mpmath.mpf, steps: mpmath.mpf, count: mpmath.mpf, compression: mpmath.mpf, h: mpmath.mpf
) -> mpmath.mpf:
    """A lower bound for the same with noise sigma = 1, over all step sizes: about min(1, v log 2 / (4R)) / 2.

    A round multiplies the square by (1-a)^2 and adds at least a^2 v, v = (q+1)/(tau m h^2).  For a below about
    log 2 / (2R), half of the initial 1 remains; for a larger a, the added parts sum to at least (a/2) v / 2.
    """
    added = (compression + 1) / (steps * count * h**2)
    small = 1 - mpmath.power(2, -1 / (2 * rounds))  # (1 - small)^(2R) = 1/2
    return min(mpmath.mpf(1) / 2, added * small / 4)


@dataclass(frozen=True)
class TestProblems:
    """Test problems h (w - w*)^2 / 2 for a rate, with m, q, h as functions of 1/epsilon.

    together  whether all clients have one coin: then a round has q in place of q/m
    """

    name: str
    count: Callable[[mpmath.mpf], mpmath.mpf]
    compression: Callable[[mpmath.mpf], mpmath.mpf]
    curvature: Callable[[mpmath.mpf], mpmath.mpf] = lambda N: mpmath.mpf(1)
    noise: bool = True
    together: bool = False

    @property
    def always(self) -> bool:
        """Whether kappa is always 1."""
        return self.curvature(mpmath.mpf(100)) == 1


_GAPS = ("PL", "strongly convex", "convex")  # rates about the gap after R rounds
FAMILIES = (
    TestProblems("m = 1, q = epsilon^-3, h = 1, no noise", lambda N: mpmath.mpf(1), lambda N: N**3, noise=False),
    TestProblems("m = q = 1/epsilon, h = 1, sigma = 1", lambda N: N, lambda N: N),
    TestProblems("m = q = epsilon^-2, h = sqrt(epsilon), sigma = 1", lambda N: N**2, lambda N: N**2, lambda N: N**-0.5),
    TestProblems("m = q = epsilon^-2, no noise, one coin", lambda N: N**2, lambda N: N**2, noise=False, together=True),
)
_SIZES = (4, 8, 16)  # epsilon = 10^-k


def no_step_size(statement: Statement, full: bool = False) -> Verdict:
    """The ratio of the least error over all step sizes to epsilon, on quadratics.

    The compressors are independent; where the statement does not assume this, they also have one coin for all clients.
    If the ratio grows without bound, no constant in the order can help.  kappa is 1, so flat functions test only the
    convex rates.  Without noise the squared gradient falls in every round, so the last one is below the average.
    """
    apart = Property.INDEPENDENT_COMPRESSORS in catalogue.properties(statement)
    families = [family for family in FAMILIES if not (apart and family.together)]
    for rate in rates_of(statement):
        for family in families:
            if not family.noise or (rate.case in _GAPS and (family.always or rate.case == "convex")):
                ratios = [_least_error(rate, family, mpmath.mpf(10) ** k) for k in _SIZES]
                if ratios[0] < ratios[1] < ratios[2] and ratios[2] > 1000 * ratios[0]:
                    return _no_order(rate, family, ratios)
    return Verdict(
        Status.TESTED, f"the least errors on {len(families)} families of quadratics stay of the order epsilon"
    )


def _least_error(rate: Rate, family: TestProblems, N: mpmath.mpf) -> mpmath.mpf:
    """The squared gradient, or the gap, divided by epsilon = 1/N; rounds and local steps are ENOUGH times the rate's."""
    with mpmath.workdps(100):  # so that 1 - 1/q differs from 1
        return _least_error_exactly(rate, family, N)


def _least_error_exactly(rate: Rate, family: TestProblems, N: mpmath.mpf) -> mpmath.mpf:
    count, compression, h = family.count(N), family.compression(N), family.curvature(N)
    at = {q: compression, m: count, epsilon: 1 / N, kappa: 1, L: 1}
    rounds, steps = (mpmath.mpf(ENOUGH) * _number(e, at) for e in (rate.rounds, rate.steps))
    rounds *= mpmath.log(N) if rate.polylog else 1
    steps = max(steps, mpmath.mpf(1))
    square = (
        noisy(rounds, steps, count, compression, h)
        if family.noise
        else noiseless(rounds, 1 if family.together else count, compression)
    )
    return (h / 2 if rate.case in _GAPS else h**2) * square * N


def _no_order(rate: Rate, family: TestProblems, ratios: list[mpmath.mpf]) -> Verdict:
    """The verdict `refuted`, with the family and the ratios."""
    return Verdict(
        Status.REFUTED,
        f"{rate.case}: R = O({rate.rounds}), tau = O({rate.steps}) is not enough for any step sizes: {family.name}",
        slack=0.0,
        witness={
            "f_j": "h (w - w*)^2/2, all clients", "w_0 - w*": 1, "family": family.name,
            "R": f"{ENOUGH} x ({rate.rounds})" + " x log(1/epsilon)" * rate.polylog,
            "tau": f"{ENOUGH} x ({rate.steps})",
            **{
                f"error / epsilon at epsilon = 1e-{k}, at least": float(ratio)
                for k, ratio in zip(_SIZES, ratios, strict=True)
            },
        },
    )  # fmt: skip


def _number(e: sympy.Expr, at: Mapping[sympy.Symbol, Any]) -> mpmath.mpf:
    symbols = sorted(e.free_symbols, key=str)
    return mpmath.mpf(sympy.lambdify(symbols, e, "mpmath")(*(at[symbol] for symbol in symbols)))


# ------------------------------------------------------------------------------------------- identities of a round


def one_round(statement: Statement, full: bool = False) -> Verdict:
    """Relations between the vectors in a round of Algorithm 1 or 2: two clients, errors of their compression of mean zero.

    The trackings before the round are t and -t: they sum to zero, as in the algorithm.
    """
    t, g1, g2, w, later, step, glob = sympy.symbols("t G_1 G_2 w later eta gamma", real=True)
    errors = sympy.symbols("error_1 error_2", real=True)
    zero = dict.fromkeys(errors, sympy.Integer(0))
    steps = sympy.Symbol("tau", positive=True)
    mean, error = (g1 + g2) / 2, sympy.Add(*errors) / 2
    own = g1 if "alg1" in statement.id else g1 - steps * t  # client 1's direction, without compression
    new = t + (own + errors[0] - mean - error) / steps
    symbols = {
        eta: step, gamma: glob, tau: steps, w_r: w, w_end: w - step * own, w_next: w - step * glob * (mean + error),
        g_sum: g1, g_sum_mean: mean, message_mean: mean + error, Delta_jq: own + errors[0], Delta_q: mean + error,
        delta: t, delta_next: new, delta_mean: (t - t) / 2, delta_sum: -steps * new,
        g_next: later, d_next: later - new.subs(zero), g_Q_mean: step * mean,
    }  # fmt: skip
    failing = {}
    for claim in (statement.claim, *statement.also):
        for relation in claim.relations if isinstance(claim, Relations) else ():
            sides = (side.subs(symbols, simultaneous=True) for side in equated(relation))
            left, right = (in_the_mean(side, zero) for side in sides)
            rest = sympy.expand(left - right)
            if rest != 0:
                failing[plain(relation)] = str(sympy.factor(rest.subs(zero) or rest))
    if failing:
        return Verdict(
            Status.REFUTED,
            f"{len(failing)} relations fail: {', '.join(failing)}",
            witness={f"left - right of ({r})": d for r, d in failing.items()},
        )
    says = "linear identities in the gradients, trackings and step sizes of a round"
    if isinstance(statement.claim, Listing):
        return Verdict(Status.TESTED, f"the relations printed beside the lines: {says}")
    return Verdict(Status.PROVED, says)


def variance_of_mean(statement: Statement, full: bool = False) -> Verdict:
    """Step (2) of (11): the variance of the mean of two messages is a quarter of the sum of their variances.

    This is false if the clients' compression errors have a covariance, which Assumption 2 does not exclude.
    """
    printed, claim = catalogue.find("fedcom.asm2").claim_of(Relations), statement.claim_of(Relations)
    count = len(printed.relations)
    if claim.relations[:count] != printed.relations:
        return Verdict(Status.BROKEN, "it is not Assumption 2, and more", witness={"step": "Assumption 2"})
    one, two = sympy.symbols("variance_1 variance_2", nonnegative=True)
    covariance = sympy.Symbol("covariance", real=True)
    known = {Expectation(Inner(Value(Q, x_i) - x_i, Value(Q, x) - x)): covariance}
    more = [r.func(*(in_numbers(side, known) for side in r.args)) for r in claim.relations[count:]]
    given = [covariance**2 <= one * two, *more]
    found = decide(given, (one + two + 2 * covariance) / 4 <= (one + two) / 4)
    says = "variances add up as in (11)" if found.status is Status.PROVED else "clients that share their coins"
    return found.verdict(says)


def evidence() -> Iterator[Evidence]:
    """Ledgers of bounds and of the rates derived from them, remarks, identities, families that refute rates."""
    yield from evidence_of(PROOFS, "ledger", LANGUAGE, "fedcom")
    yield from evidence_of(REPAIRS, "repair", LANGUAGE, "fedcom")
    yield from for_printed({**PROOFS, **REPAIRS}, LANGUAGE, "fedcom")
    yield Evidence("fedcom.rem8", "counterexample", rates_meet_condition)
    for name in ("corD5", "corD5.corrected", "rem7", "tab5.fedcom", "tab5.fedcom.corrected"):
        yield Evidence(f"fedcom.{name}", "counterexample", no_step_size)
    yield Evidence("fedcom.asm2.independent", "derivation", variance_of_mean)
    for name in ("alg1", "thmE4.items", "thmE4.items.corrected"):
        yield Evidence(f"fedcom.{name}", "derivation", one_round)
    yield from counterexamples.evidence()
