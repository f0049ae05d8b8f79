"""The bounds of the FedBCGD paper on whole runs, and what they assume: runs in fractions.

All clients have f(x) = x^2/2 in one coordinate, so G = 0 and x* = 0, and all take part, with one step in each round.  From
the minimum, x^0 = 0, the model is moved by

* noise: 100 clients with gradient errors +-1, the signs independent or the same for all clients;
* a bias: two clients with gradient errors 1;
* an offset: two clients, c^0 = 1 and c_i^0 = 0, so that c is never the mean of the c_i, and x^r tends to -1;
* a push: two clients, v^0 = 1;

and by a sample: of two clients, x^2/2 + x and x^2/2 - x, always the first.  In other runs every term of a bound counts: two
of four clients, x^2/2 + 2 x or x^2/2 - 2 x, take three steps with gradient errors +-1, and the server has momentum.  They
come with G = 2, and with G = 0, as if the clients were alike.  Without noise, fifty clients start at x^0 = 1, with strong
momentum.  Last, f(x) = 64 x^2, with beta = 1 all the same.  A statement is tested on all runs that it does not exclude.
Every sum is finite, and every number a fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from fedtheory.bounds.trials.cases import rational, relations, substituted
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Evidence, F as VALUE, Statement, Status, Verdict, defined

CLIENTS = 100
_ZERO, _USUAL, _SMALL = Fraction(0), Fraction(1, 36), Fraction(1, 1000)


@dataclass(frozen=True)
class Start:
    """A run: its start and its noise.

    excluded_by  the properties of which each excludes it
    plus         whether it is a run of FedBCGD+, which has no noise left, or of FedBCGD
    clients      number of clients
    sampled      how many of them take part
    steps        local steps in a round
    curvature    of every client
    slope        of half of the clients at 0; the others have its negative; not where the sample is always the same: then
                 the offset is its slope, and G
    G            of Assumption 4
    sigma        of Assumption 3
    x            x^0
    lam          the server's momentum
    v            v^0
    offset       what every gradient has besides: c^0 - c_i^0, where every c_i^0 is 0, or an error
    noise        variance of the mean of the sampled clients' errors in one step
    eta_tilde    the effective step size
    """

    says: str
    excluded_by: tuple[Property, ...]
    plus: bool
    clients: int = 2
    sampled: int = 2
    steps: int = 1
    curvature: int = 1
    slope: int = 0
    G: int = 0
    sigma: int = 0
    x: Fraction = _ZERO
    lam: Fraction = _ZERO
    v: Fraction = _ZERO
    offset: Fraction = _ZERO
    noise: Fraction = _ZERO
    eta_tilde: Fraction = _USUAL

    @property
    def function(self) -> str:
        """The clients' functions in words."""
        slope = self.slope or self.G
        return (f"{self.curvature} " if self.curvature > 1 else "") + "x^2/2" + (f" +- {slope} x" if slope else "")

    @property
    def spread(self) -> Fraction:
        """The variance of the mean slope of a uniform sample, drawn without replacement."""
        if self.sampled == self.clients:
            return _ZERO
        return Fraction(self.slope**2 * (self.clients - self.sampled), self.sampled * (self.clients - 1))


_HALF, _ONE = Fraction(1, 2), Fraction(1)
_MANY: dict[str, Any] = {"clients": CLIENTS, "sampled": CLIENTS, "sigma": 1, "eta_tilde": _SMALL}
_ONE_OF_TWO: dict[str, Any] = {"sampled": 1, "offset": _ONE, "G": 1, "eta_tilde": _SMALL}
_TWO_OF_FOUR: dict[str, Any] = {"clients": 4, "sampled": 2, "steps": 3, "slope": 2, "lam": _HALF}
_NOISY: dict[str, Any] = {**_TWO_OF_FOUR, "G": 2, "sigma": 1, "noise": _HALF, "x": _ONE}
_SMOOTH = (Property.SMOOTH_ABOVE, Property.SMOOTH_MEAN, Property.SMOOTH_SAMPLES)
STARTS = (
    Start("independent signs", (), False, **_MANY, noise=Fraction(1, CLIENTS)),
    Start("one sign for all clients", (Property.INDEPENDENT_NOISE,), False, **_MANY, noise=_ONE),
    Start("all gradients too large by 1", (Property.UNBIASED,), False, sigma=1, offset=_ONE, eta_tilde=_SMALL),
    Start("always the same of two clients", (Property.BLOCK_SAMPLING,), False, **_ONE_OF_TWO),
    *(
        Start(f"two of four clients, eta_tilde = {step}", (), False, **_NOISY, eta_tilde=step)
        for step in (Fraction(1, 32), Fraction(1, 16), Fraction(1, 10))
    ),
    Start("two of four clients, G = 0", (Property.DISSIMILARITY,), False, **_TWO_OF_FOUR),
    Start("f(x) = 64 x^2", _SMOOTH, False, curvature=128, x=_ONE),
    Start("x^0 = 1", (), False, x=_ONE, lam=_HALF),
    Start(
        "fifty clients, alpha = 20",
        (),
        False,
        clients=50,
        sampled=50,
        x=_ONE,
        lam=Fraction(19, 20),
        eta_tilde=Fraction(1, 16),
    ),
    Start("v^0 = 1", (Property.AT_REST,), False, lam=_HALF, v=_ONE),
    Start("f(x) = 64 x^2", _SMOOTH, True, curvature=128, x=_ONE),
    Start("x^0 = 1", (), True, x=_ONE, lam=_HALF),
    Start("v^0 = 1", (Property.AT_REST,), True, lam=_HALF, v=_ONE),
    Start("c^0 = 1, c_i^0 = 0", (Property.INITIAL_VARIATES,), True, offset=_ONE),
)


@cache
def _ends(start: Start, eta: Fraction, rounds: int, shrink: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """E S^2 after all rounds, and the means of E x^2 before and after the rounds; S is the weighted sum of the models.

    In S the last model x^r has weight 1, each earlier one `shrink` times the weight of the next.  The local steps add up to
    v <- lam v - rate (x + offset + error), with a rate and an error for all steps together; then x <- x + v.  So the second
    moments of z = (x, v, S, 1) follow z <- A z, and the error adds the same to x, v and S.
    """
    h = start.curvature
    shares = [(1 - eta * h) ** k for k in range(start.steps)]  # of an error, after the steps that follow
    total = sum(shares, _ZERO)
    variance = (start.spread + start.noise * sum((share**2 for share in shares), _ZERO) / total**2) / h**2
    rate = eta * h * total
    v = np.array([-rate, start.lam, _ZERO, -rate * start.offset / h])
    x = v + np.array([1, 0, 0, 0])
    A = np.stack([x, v, x + np.array([_ZERO, _ZERO, shrink, _ZERO]), np.array([0, 0, 0, 1])])
    error = np.array([[rate**2 * variance] * 3 + [_ZERO]] * 3 + [[_ZERO] * 4])
    z = np.array([start.x, start.v, start.x, _ONE])
    moments = [np.outer(z, z)]
    for _ in range(rounds):
        moments.append(A @ moments[-1] @ A.T + error)
    squares = [found[0, 0] for found in moments]
    return moments[-1][2, 2], sum(squares[:-1], _ZERO) / rounds, sum(squares[1:], _ZERO) / rounds


def _fraction(e: Any) -> Fraction:
    value = sympy.nsimplify(e)
    if not value.is_Rational:
        raise ValueError(f"{e}: expected a rational number")
    return Fraction(int(value.p), int(value.q))


def symbols(statement: Statement, start: Start) -> Mapping[str, Any]:
    """The symbols of the statement on a run with the fewest rounds that the strongly convex case allows."""
    alpha = 1 / (1 - start.lam)
    small, h = start.eta_tilde, start.curvature
    where = {s.name: e for s, e in statement.where.items()}
    table = catalogue.symbols(statement)
    known: dict[str, Any] = {
        **{"M": start.clients, "K": start.sampled, "N": 1, "S": start.sampled, "T": start.steps},
        **{"beta": 1, "mu": 1, "G": start.G},
        **{"alpha": rational(alpha), "gamma": rational(alpha - 1), "lam": rational(start.lam)},
        **{"eta_tilde": rational(small), "sigma": start.sigma},
        **{"C_0": 0, "d0": rational(start.x**2), "lag_0": rational(start.x**2), "F": rational(h * start.x**2 / 2)},
    }
    if statement.reads.get("d0") == VALUE:
        known["d0"] = known["F"]
    scale = Fraction(1, 1)
    if "eta_tilde" in where:
        scale = _fraction(where["eta_tilde"].subs({table["eta"].sympy: 1, table["alpha"].sympy: known["alpha"],
                                                   table["T"].sympy: start.steps}))  # fmt: skip
    eta = small / scale
    rounds = int((2 * alpha if start.plus else alpha / 2) / small)
    if "gap_xbar" in table and "mu" not in table:
        rounds = 250  # the plain average: its noise falls with the rounds
    shrink = Fraction(1)
    if "w_r" in where:
        ratio = where["w_r"].subs(table["r"].sympy, 0) / where["w_r"].subs(table["r"].sympy, 1)
        shrink = _fraction(sympy.simplify(substituted(ratio, known)))
    S_squared, before, after = _ends(start, eta, rounds, shrink)
    weight = sum((shrink**r for r in range(rounds + 1)), Fraction(0)) if shrink != 1 else Fraction(rounds + 1)
    return known | {
        "eta": rational(eta), "R": rounds, "gap_xbar": rational(h * S_squared / weight**2 / 2),
        "avg_grad_sq": rational(h**2 * before),
        "avg_grad_sq_later": rational(h**2 * after),
    }  # fmt: skip


def _sides(statement: Statement, start: Start) -> tuple[str, Any, Any, bool] | None:
    """The claim as text, its sides in numbers, and whether it holds; None where a condition does not.

    Raises ValueError for a claim that is no bound, and for symbols without a number.
    """
    where, known = dict(statement.where), symbols(statement, start)
    if any(substituted(defined(c.relation, where), known) != sympy.true for c in statement.when):
        return None
    relation = defined(relations(statement.claim_of(Bound))[0], where)
    left, right = (substituted(side, known) for side in relation.args)
    return str(relation), left, right, bool(relation.func(left, right) == sympy.true)


def starts(statement: Statement) -> tuple[Start, ...]:
    """The runs of the statement's algorithm: Theorem 2 is about FedBCGD+."""
    plus = catalogue.as_printed(statement).startswith("fedbcgd.thm2")
    return tuple(s for s in STARTS if s.plus is plus)


def check(statement: Statement, full: bool = False) -> Verdict:
    """The claim on every run that the statement does not exclude; the verdict also reports the others."""
    given, told, slack = catalogue.properties(statement), [], sympy.oo
    for start in starts(statement):
        sides = _sides(statement, start)
        if sides is None:
            continue
        says, left, right, holds = sides
        numbers = f"{start.says}: left side {float(left):.3g}, right side {float(right):.3g}"
        excluded = next((one for one in start.excluded_by if one in given), None)
        if holds or excluded:
            told.append(numbers + ("" if holds else f", in a run that '{excluded}' excludes"))
            slack = min(slack, right / left) if left > 0 and not excluded else slack
            continue
        witness = {
            "f_i": start.function, "x^0": str(start.x), "M": start.clients,
            "K": start.sampled, "N": 1, "T": start.steps, "lam": str(start.lam), "eta_tilde": str(start.eta_tilde),
            "R": symbols(statement, start)["R"],
            "what": start.says, "relation": says, "left": f"{float(left):.12g}", "right": f"{float(right):.12g}",
        }  # fmt: skip
        return Verdict(Status.REFUTED, f"{numbers}, from fractions", witness=witness)
    if not told:
        return Verdict(Status.OPEN, "no run meets the conditions")
    says = f"whole runs on quadratics, in fractions: {'; '.join(told)}"
    return Verdict(Status.TESTED, says, slack=float(slack) if slack < sympy.oo else None)


QUANTITIES = {"gap_xbar", "avg_grad_sq", "avg_grad_sq_later"}


def used() -> Iterator[Statement]:
    """The bounds on whole runs, in all forms, that say with which step size they hold."""
    for statement in catalogue.statements("fedbcgd"):
        claim = statement.claim
        if not isinstance(claim, Bound) or not {s.name for s in claim.quantity.free_symbols} <= QUANTITIES:
            continue
        if "eta_tilde" in {s.name for s in claim.value.free_symbols}:
            yield statement


def evidence() -> list[Evidence]:
    """Checks of the bounds on whole runs."""
    return [Evidence(statement.id, "counterexample", check) for statement in used()]
