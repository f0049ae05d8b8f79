"""Counter-examples to the theorems, some of them for every step size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import mpmath
import sympy
from sympy import Rational, sqrt

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.proofs.ledger import conditions_of
from fedtheory.theory.statement import Bound, Evidence, Order, Statement, Status, Verdict


@dataclass(frozen=True)
class Alike:
    """All clients with f(x) = scale (x_1^2 + x_2^2/2)/2 and exact gradients, from (1, 1); one round, R = 1, T = 1, N = 1.

    For all step sizes and weights, z^0, z^1 and their averages are x^0 - s grad f(x^0) for some s, and so is x^1.
    """

    scale: sympy.Rational
    momentum: sympy.Rational
    clients: int

    @property
    def symbols(self) -> dict[str, sympy.Expr]:
        """The values of the bounds' symbols; d0 for convex functions."""
        scale, lam_ = self.scale, self.momentum
        return {
            **dict.fromkeys(("M", "K"), sympy.Integer(self.clients)),
            **dict.fromkeys(("N", "T", "R"), sympy.Integer(1)),
            **{"beta": scale, "mu": scale / 2, "sigma": sympy.Integer(0), "G": sympy.Integer(0)},
            **{"alpha": 1 / (1 - lam_), "gamma": lam_ / (1 - lam_), "d0": sympy.Integer(2)},
        }

    @property
    def least_gap(self) -> sympy.Expr:
        """The smallest gap over s."""
        return self._least(1) / 2

    @property
    def least_gradient(self) -> sympy.Expr:
        """The smallest squared gradient over s."""
        return self._least(2)

    def _least(self, power: int) -> sympy.Expr:
        step = sympy.Symbol("s", real=True)
        curvatures = (self.scale, self.scale / 2)
        value = sympy.Add(*(c**power * (1 - step * c) ** 2 for c in curvatures))
        (best,) = sympy.solve(sympy.diff(value, step), step)
        return sympy.Rational(value.subs(step, best))


_ALIKE = [
    Alike(scale, momentum_, clients)
    for scale in (sympy.Integer(1), Rational(1, 10**4))
    for momentum_ in (Rational(0), Rational(9, 10), Rational(99, 100))
    for clients in (1, 1000)
]


def whatever_the_steps(statement: Statement, full: bool = False) -> Verdict:
    """Compare the bound with the least value over all step sizes and weights: quadratics, one round, exact numbers."""
    claim = statement.claim_of(Bound)
    gradients = claim.quantity.name.startswith("avg_grad")
    tightest = mpmath.inf
    for instance in _ALIKE:
        symbols = instance.symbols
        if gradients:  # d0 is f(x^0) - f(x*) here
            symbols["d0"] = instance.scale * Rational(3, 4)
        least = instance.least_gradient if gradients else instance.least_gap
        values = {catalogue.symbols(statement)[name].sympy: value for name, value in symbols.items()}
        with mpmath.workdps(50):
            bound = mpmath.mpf(sympy.N(claim.value.subs(values), 50))
            if bound < mpmath.mpf(least.p) / least.q * (1 - mpmath.mpf(10) ** -30):
                witness = {
                    "f_i": f"{instance.scale} (x_1^2 + x_2^2/2)/2, every client", "x^0": "(1, 1)",
                    "symbols": {name: str(value) for name, value in symbols.items()},
                    "bound": float(bound), "least value over all step sizes and weights": str(least),
                }  # fmt: skip
                says = f"left side at least {least} after a round, for all step sizes and weights; bound {float(bound):.3g}"
                return Verdict(Status.REFUTED, says, 0.0, witness)
            tightest = min(tightest, bound / (mpmath.mpf(least.p) / least.q))
    says = f"{len(_ALIKE)} quadratics, one round: the bound is {float(tightest):.3g} times the least value, or more"
    return Verdict(Status.TESTED, says, slack=float(tightest))


_SIZES = (4, 8, 16)  # M = 10^k clients


def unseen_client(statement: Statement, full: bool = False) -> Verdict:
    """M clients, f_i = beta x^2/2, the last beta (x - M)^2/2; x* = 1, x^0 = 0, c_i^0 = 0, N = K = 1, R = M rounds.

    This is no witness against a statement that sets c_i^0 = grad f_i(x^0), which is not 0 for the last client.

    As long as the last client is not sampled, nothing moves, by the printed or by the corrected lines, for all step sizes
    and weights.  This has probability (1 - 1/M)^M >= 1/4.  The ratio left/printed grows like a power of M; no constant,
    and no power of a logarithm, makes up for that.
    """
    claim = statement.claim_of(Order)
    if "fedbcgd.alg3.begun" in statement.assumes:
        return Verdict(Status.OPEN, "the statement does not start from c_i^0 = 0")
    table = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    gradients = claim.quantity.name == "grad_sq_bar"
    ratios = []
    for k in _SIZES:
        clients = sympy.Integer(10) ** k
        given = {
            "M": clients,
            "R": clients,
            "N": 1,
            "K": 1,
            "S": 1,
            "beta": 1,
            "mu": 1,
            "F": Rational(1, 2),
            "alpha": 1,
        }
        values = {table[name]: sympy.Integer(1) * value for name, value in given.items()}
        # for the first N clients, ||c_i - grad f_i(x*)|| = beta
        values[table["D_tilde"]] = sqrt(Rational(3, 2))
        with mpmath.workdps(30):
            printed = sympy.N(claim.value.subs(values), 30)
            left = mpmath.mpf(1) / 4 * (1 if gradients else mpmath.mpf(1) / 2)
            ratios.append(mpmath.mpf(str(mpmath.log10(left))) - mpmath.mpf(str(sympy.N(sympy.log(printed, 10), 30))))
    growth = [later - earlier for earlier, later in pairwise(ratios)]
    witness = {
        "f_i": "x^2/2, and (x - M)^2/2 for the last client", "x^0": 0, "c_i^0": 0, "N": 1, "K": 1, "R": "M",
        **{f"log10(left/printed) at M = 10^{k}": float(r) for k, r in zip(_SIZES, ratios, strict=True)},
    }  # fmt: skip
    if growth[0] >= 1 and growth[1] >= 2 * growth[0] * mpmath.mpf("0.9"):
        says = (
            "with probability 1/4 or more a client is never sampled: left side / printed order grows without bound in M, "
            "for all step sizes"
        )
        return Verdict(Status.REFUTED, says, 0.0, witness)
    return Verdict(
        Status.TESTED, f"left/printed does not grow with M: log10 {', '.join(f'{float(r):.3g}' for r in ratios)}"
    )


def all_behind(statement: Statement, full: bool = False) -> Verdict:
    """M identical clients, f_i = x^2/2, beta = 1, T = N = K = 1, no momentum, all c_i = grad f_i(x^r), x^r = z^r = 1.

    Before the round there is no lag and no drift.  After it the points alpha_i of all clients, sampled or not, are still
    x^r, a step behind z^{r+1}.  The step is the largest that the conditions allow at a = 1.
    """
    claim = statement.claim_of(Bound)
    (limit,) = [c.rhs for c in conditions_of(statement) if c.lhs == eta_tilde]
    for clients in range(1, 101):
        at = {M: clients, N: 1, K: 1, S: 1, beta: 1, a: 1}
        left = limit.subs(at) ** 2
        right = claim.value.subs({**at, Xi: 0, E_r: 0, grad_sq: 1})
        if left > right:
            witness = {"f_i": "x^2/2", "x^r": 1, "c_i": 1, "M": clients, "N": 1, "K": 1, "T": 1, "a": 1}
            witness |= {"eta_tilde": limit.subs(at), "left": left, "right": right}
            says = f"M = {clients}: Xi_r = {left}, claimed at most {right}"
            return Verdict(Status.REFUTED, says, float(right / left), witness)
    return Verdict(Status.TESTED, "on identical clients without lag, M up to 100, at the largest step")


def heterogeneity_stays(statement: Statement, full: bool = False) -> Verdict:
    """G^2/(mu K T eps): local steps do not average out the choice of clients.

    f_i = (x - b_i)^2/2 with b_i = G for one half of many clients and -G for the other; one client per round.  For all
    step sizes, momentum and weights, the output is w x^0 + sum of w_r b^r with weights of sum 1.  So from x^0 = 1 its gap
    is at least (1/2)/(1 + R/G^2).  With T = 1/eps the printed R is G^2 + G/sqrt(eps) + log(1/eps), up to constants.
    """
    claim = statement.claim_of(Order)
    table = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    ratios = []
    for k in _SIZES:
        small = Rational(1, 10**k)
        given = {"mu": 1, "beta": 1, "sigma": 0, "G": 1, "K": 1, "N": 1, "S": 1, "alpha": 1, "T": 10**k, "eps": small}
        rounds = 1000 * sympy.N(claim.value.subs({table[n]: sympy.sympify(v) for n, v in given.items()}), 20)
        ratios.append(float(sympy.N(1 / (2 * (1 + rounds)) / small)))
    witness = {
        "f_i": "(x -+ 1)^2/2",
        "T": "1/eps",
        "R": "1000 times the printed one",
        **{f"gap/eps at eps = 1e-{k}": ratio for k, ratio in zip(_SIZES, ratios, strict=True)},
    }
    if ratios[0] < ratios[1] < ratios[2] and ratios[2] > 100 * ratios[1]:
        return Verdict(
            Status.REFUTED, "after 1000 times the printed rounds the gap exceeds eps without bound", 0.0, witness
        )
    return Verdict(Status.TESTED, f"gap/eps stays bounded: {ratios}")


def evidence() -> Iterator[Evidence]:
    """Counter-examples."""
    for case in ("strongly_convex", "general_convex", "nonconvex"):
        for where in ("", ".proof"):
            yield Evidence(f"fedbcgd.thm1.{case}{where}", "counterexample", whatever_the_steps)
    for name in ("strongly_convex", "general_convex"):
        yield Evidence(f"fedbcgd.thm2.{name}", "counterexample", unseen_client)
    yield Evidence("fedbcgd.lemma17", "counterexample", all_behind)
    yield Evidence("fedbcgd.thm1.main.strongly_convex", "counterexample", heterogeneity_stays)
