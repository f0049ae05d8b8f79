"""Basic facts, orders, claims in words, and counter-examples to the theorems that hold for all step sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mpmath
import sympy
from sympy import Rational, sqrt
from sympy.logic.boolalg import Boolean

from theory import catalogue
from theory.fedbcgd.checks import ledgers, tuning
from theory.fedbcgd.symbols import *
from theory.notation import Expectation, Grad, Norm
from theory.proofs.arithmetic import decide
from theory.proofs.ledger import bound_of, conditions_of
from theory.proofs.orders import order_of
from theory.proofs.vectors import certify, convex, difference, point
from theory.statement import Bound, Claim, Evidence, Order, Relations, Statement, Status, Verdict

# ------------------------------------------------------------------------------------------------------ basic facts


def relations_of(claim: Claim) -> tuple[Any, ...]:
    """The relations of a claim.  Raises ValueError for another claim."""
    if not isinstance(claim, Relations):
        raise ValueError(f"{type(claim).__name__}: expected Relations")
    return claim.relations


def _every(statement: Statement) -> Iterator[Any]:
    """The relations of the claim and of the further claims."""
    for claim in (statement.claim, *statement.also):
        yield from relations_of(claim)


def _said(relation: Any, found: Status, model: Mapping[Any, Any]) -> Verdict:
    return Verdict(found, f"{relation} fails", witness={str(s): str(v) for s, v in model.items()})


def perturbed(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 1 and (19) to (22), by the inequalities of the class at the three points, and forms decided by z3."""
    at = {letter: point(h, letter) for letter in (x, y, z)}
    shifted = {p: type(q)(q.x, q.value - mu / 2 * q.x**2, q.gradient - mu * q.x) for p, q in at.items()}
    hypotheses = {
        "mu-strongly convex at y, x": convex(shifted[y], shifted[x]),
        "beta-smooth at x, z": sympy.expand(
            at[x].value + at[x].gradient * (z - x) + beta / 2 * (z - x) ** 2 - at[z].value
        ),
    }
    sample = {beta: sympy.Integer(1), mu: Rational(1, 3)}
    conditions: list[Boolean] = [c.relation for c in statement.when]
    for relation in _every(statement):
        form = difference(relation)
        exact = decide(conditions, form >= 0) if not form.atoms(sympy.Symbol) - {x, y, z, mu, beta} else None
        found = Verdict(exact.status, exact.says, witness=exact.model) if exact else None
        if found is None or found.status is not Status.PROVED:
            found = certify(form, hypotheses, sample, conditions)
        if found.status is not Status.PROVED:
            return Verdict(found.status, f"{relation}: {found.says}", witness=found.witness)
    return Verdict(Status.PROVED, "in every dimension, from smoothness at x, z and strong convexity at y, x", slack=1.0)


def triangle(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 3: a quadratic form; for tau vectors, by their mean m and their deviations from it."""
    first, second = relations_of(statement.claim)
    found = decide([], difference(first) >= 0)
    if found.status is not Status.PROVED:
        return _said(first, found.status, found.model)
    m, D = sympy.symbols("m D", nonnegative=True)  # ||mean||, and sum ||v_t - mean||^2

    def read(e: sympy.Basic) -> sympy.Expr:
        if isinstance(e, sympy.Pow) and isinstance(e.base, Norm):
            return tau**2 * m**2 if e.base.has(sympy.Sum) else m**2
        if isinstance(e, sympy.Sum):
            return tau * m**2 + D
        return e.func(*map(read, e.args)) if e.args else e

    left, right = (read(side) for side in second.args)
    found = decide([], left <= right if isinstance(second, sympy.Le) else left >= right)
    if found.status is not Status.PROVED:
        return _said(second, found.status, found.model)
    return Verdict(Status.PROVED, "a quadratic form; and sum ||v_t||^2 = tau ||m||^2 + sum ||v_t - m||^2", slack=1.0)


def mean_and_noise(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 9: E||P + Q||^2, P the sum of the (conditional) means, Q the sum of the deviations.

    In the first part P is fixed, E Q = 0, and E||Q||^2 <= tau times tau sigma^2.  In the second part P and Q may be
    correlated, and E||Q||^2 <= tau sigma^2 by orthogonality.
    """
    P, Q = sympy.symbols("P Q", nonnegative=True)
    cross = sympy.Symbol("E<P,Q>", real=True)

    def read(e: sympy.Basic, total: sympy.Expr) -> sympy.Expr:
        if isinstance(e, Expectation):
            return read(e.args[0], total)
        if isinstance(e, sympy.Pow) and isinstance(e.base, Norm):
            return total if e.has(V_t) else P
        return e.func(*(read(part, total) for part in e.args)) if e.args else e

    cases = (
        (P + Q, [tau * (tau * sigma_x**2) >= Q]),
        (P + 2 * cross + Q, [tau * sigma_x**2 >= Q, cross**2 <= P * Q]),
    )
    for relation, (total, given) in zip(relations_of(statement.claim), cases, strict=True):
        if relation.rhs.has(V_t) or relation.lhs.has(m_t):
            return Verdict(Status.OPEN, f"{relation}: expected the sum of the V_t on the left, of the m_t on the right")
        left, right = (read(side, total) for side in relation.args)
        found = decide(given, left <= right if isinstance(relation, sympy.Le) else left >= right)
        if found.status is not Status.PROVED:
            return _said(relation, found.status, found.model)
    return Verdict(Status.PROVED, "by the tower rule, for every law and every tau")


def momentum(statement: Statement, full: bool = False) -> Verdict:
    """The updates as relations between the vectors of a round, by lines 12, 20 and 21 of the corrected Algorithm 1.

    The clients' mean is x - eta G; v+ is lam v plus the difference of this mean from x; x+ is x + v+.

    `also` has other relations that the paper gives for the same updates; for Lemma 10, (44) with its definitions.
    """
    symbols = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    v, G_r, eta = v_r, symbols["G_r"], symbols["eta"]
    mean = x_r - eta * G_r
    v_next = lam * v + mean - x_r
    before = {x_prev: x_r - v, symbols["v_prev"]: (v + eta * symbols["G_prev"]) / lam}
    position = statement.where.get(symbols["z_r"], x_r + gamma * (x_r - x_prev))
    letters = {
        symbols["v_next"]: v_next,
        symbols["x_next"]: x_r + v_next,
        symbols["z_r"]: position.subs(before),
        symbols["z_next"]: position.subs({x_r: x_r + v_next, x_prev: x_r}, simultaneous=True),
        symbols["Dx_prev"]: -eta * symbols["G_prev"],
        **before,
    }
    factor = statement.where.get(gamma, lam / (1 - lam))
    failing = {}
    for relation in _every(statement):
        left, right = (side.subs(letters, simultaneous=True).subs(gamma, factor) for side in relation.args)
        rest = sympy.simplify(left - right)
        if rest != 0:
            failing[str(relation)] = f"the sides differ by {sympy.factor(rest)}"
    if failing:
        return Verdict(Status.REFUTED, f"{len(failing)} relations contradict lines 12, 20 and 21", witness=failing)
    return Verdict(Status.PROVED, "linear identities in the iterates and the virtual gradient")


def polynomials(statement: Statement, full: bool = False) -> Verdict:
    """Inequalities between constants at the end of a proof, decided under the statement's conditions."""
    given = [sympy.Eq(S, N * K, evaluate=False), *conditions_of(statement)]
    relations = [relation for claim in statement.also for relation in relations_of(claim)]
    for relation in relations:
        found = decide(given, relation)
        if found.status is not Status.PROVED:
            return _said(relation, found.status, found.model)
    if not relations:
        return Verdict(Status.OPEN, "no inequality between constants")
    return Verdict(Status.PROVED, f"{len(relations)} inequalities, decided by z3")


def _of_sample() -> sympy.Expr:
    """E||(1/K) sum over K of M clients||^2, from the probabilities of one client and of two."""
    one, two = K / M, K * (K - 1) / (M * (M - 1))
    squares, all_pairs = M * mean_grad_sq, M**2 * grad_sq_x - M * mean_grad_sq
    return sympy.expand((two * all_pairs + one * squares) / K**2)


def drawn(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 4 for every M, K and all gradients: K of M clients without replacement.

    With blocks: the K clients of a block are such a sample, and squared norms are sums over blocks.
    """
    symbols = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    known = {symbols[name]: _of_sample() for name in ("sample_sq", "block_sample_sq")}
    claims: list[Boolean] = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            rest = sympy.expand(claim.quantity.subs(known) - claim.value)
            claims += [rest <= 0, rest >= 0] if claim.sign == "=" else [rest <= 0]
        else:
            for relation in relations_of(claim):
                rest = sympy.expand((relation.lhs - relation.rhs).subs(known))
                claims += {sympy.Le: [rest <= 0], sympy.Ge: [rest >= 0]}.get(type(relation), [rest <= 0, rest >= 0])
    given = [M >= 2, *conditions_of(statement)]
    for one in claims:
        found = decide(given, one) if one not in (sympy.true, sympy.false) else None
        if found is not None and found.status is not Status.PROVED:
            return _said(one, found.status, found.model)
        if one == sympy.false:
            return Verdict(Status.REFUTED, "the sides differ by a constant", witness={"difference": str(one)})
    return Verdict(Status.PROVED, "for every M, K and all gradients, from the probabilities of one client and of two")


def one_lag(statement: Statement, full: bool = False) -> Verdict:
    """Whether (75) and (86) define the same number: one client with f(x) = x^2/2 at z^r = 1 and c = 0."""
    numbers = {}
    for claim in (statement.claim, *statement.also):
        for relation in relations_of(claim):
            gradients = relation.atoms(Grad)
            if gradients:  # grad f(x) = x
                (at,) = {g.args[1] for g in gradients}
                numbers[str(at)] = (0 - {"z_r": 1, "x_star": 0}.get(str(at), 1)) ** 2
    if len(set(numbers.values())) > 1:
        return Verdict(Status.REFUTED, "C_r is two quantities", witness={"f": "x^2/2", "c": 0, "z^r": 1, **numbers})
    return Verdict(Status.HOLDS, "one quantity")


# ------------------------------------------------------------------------------------- rounds, floats, and Table 1


def floats(statement: Statement, full: bool = False) -> Verdict:
    """Communication is rounds times d/N floats, with K = S/N, term by term; this says nothing about the rounds."""
    claim = statement.claim
    (also,) = [c for c in statement.also if isinstance(c, Order)]
    assert isinstance(claim, Order)
    rounds = {t.name: sympy.simplify((t.value * d / N).subs(K, S / N)) for t in claim.terms}
    sent = {t.name: t.value for t in also.terms}
    wrong = {
        name: f"{rounds.get(name)} against {sent.get(name)}"
        for name in rounds.keys() | sent.keys()
        if name not in rounds or name not in sent or sympy.simplify(rounds[name] / sent[name]) != 1
    }
    if wrong:
        return Verdict(Status.REFUTED, f"{', '.join(wrong)}: not rounds times d/N", witness=wrong)
    return Verdict(
        Status.OPEN, f"{len(sent)} terms of the communication are rounds times d/N with K = S/N, as they should be"
    )


def _communication(name: str) -> Order:
    """The order of the floats sent, by a theorem of the main paper."""
    (sent,) = [c for c in catalogue.find(f"fedbcgd.{name}").also if isinstance(c, Order)]
    return sent


def row(main: str, **choice: sympy.Expr) -> Callable[[Statement, bool], Verdict]:
    """Compare a row of Table 1 with the main theorem's communication, strongly convex and non-convex, in units of d."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        chosen = {catalogue.symbols(statement)[name].sympy: e for name, e in choice.items()}
        rows = [c for c in (statement.claim, *statement.also) if isinstance(c, Order)]
        names = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
        said = {main: chosen, main.replace("strongly_convex", "nonconvex"): {names["eps"]: names["eps_grad"]}}
        if len(rows) != len(said):
            return Verdict(Status.REFUTED, f"{len(rows)} rows, expected one for each of {', '.join(said)}")
        for name, order in zip(said, rows, strict=True):
            sent = _communication(name)
            ours = {t.name: t.value.subs(said[name]) / d for t in sent.terms}
            theirs = {t.name: t.value for t in order.terms}
            wrong = {
                term: f"{ours.get(term)} against {theirs.get(term)}"
                for term in ours.keys() | theirs.keys()
                if term not in ours or term not in theirs or sympy.simplify(ours[term] / theirs[term]) != 1
            }
            if order.quantity != sent.quantity:
                wrong |= {"left side": f"{sent.quantity} against {order.quantity}"}
            if wrong:
                return Verdict(Status.REFUTED, f"{', '.join(wrong)} differ from fedbcgd.{name}", witness=wrong)
        return Verdict(Status.PROVED, f"the terms are those of fedbcgd.{' and fedbcgd.'.join(said)}, divided by d")

    return check


def _terms(name: str) -> dict[str, sympy.Expr]:
    claim = catalogue.find(f"fedbcgd.table1.{name}").claim
    assert isinstance(claim, Order)
    return {t.name: t.value for t in claim.terms}


def _factor(statement: Statement) -> sympy.Expr:
    """The claimed Com / Com_other.  Raises ValueError for a left side that is no multiple of Com."""
    (relation,) = relations_of(statement.claim)
    times, letter = relation.lhs.as_coeff_Mul()
    if letter != Com:
        raise ValueError(f"left side {relation.lhs}: expected a number times {Com}")
    return sympy.simplify(relation.rhs / Com_other / times)


def factor_one_over_N(statement: Statement, full: bool = False) -> Verdict:
    """Quotients of Table 1's rows, term by term: FedBCGD and FedAvg, FedBCGD+ (N = sqrt(beta/mu)) and SCAFFOLD."""
    factor, wrong = _factor(statement), {}
    pairs = {("fedbcgd", "fedavg"): {alpha: 1}, ("fedbcgdplus", "scaffold"): {N: sqrt(beta / mu)}}
    for (own, other), chosen in pairs.items():
        ours, theirs = _terms(own), _terms(other)
        for name in (ours.keys() & theirs.keys()) - {"drift"}:  # FedAvg's drift term is damaged in the scan
            ratio = sympy.limit(sympy.simplify((ours[name] / theirs[name]).subs(chosen)), G, 0)
            if sympy.simplify(ratio - factor.subs(chosen)) != 0:
                wrong[f"{own} / {other}, {name}"] = f"{ratio}, claimed {factor.subs(chosen)}"
    if wrong:
        return Verdict(Status.REFUTED, "terms of Table 1 with another quotient", witness=wrong)
    return Verdict(Status.HOLDS, f"every term of the rows differs by the factor {factor}")


def second_term(statement: Statement, full: bool = False) -> Verdict:
    """The second terms: FedBCGD's from Table 1, and FedAvg's from the sentence, (sigma+G)/(mu sqrt(eps))."""
    ratio = sympy.simplify(_terms("fedbcgd")["drift"] / ((sigma + G) / (mu * sqrt(eps))))
    factor = _factor(statement)
    if sympy.simplify(ratio.subs(alpha, 1) - factor) != 0:
        return Verdict(
            Status.REFUTED, f"the quotient is {ratio}", witness={"quotient": str(ratio), "claimed": str(factor)}
        )
    return Verdict(Status.PROVED, f"the quotient of the printed terms is {ratio}, {factor} without momentum")


def root_of_kappa(statement: Statement, full: bool = False) -> Verdict:
    """The main theorem's communication at N = sqrt(beta/mu)."""
    sent, own = _communication("thm2.main.strongly_convex"), order_of(statement)
    if own.quantity != sent.quantity:
        return Verdict(
            Status.REFUTED, f"the theorem is about {sent.quantity}", witness={"left side": str(own.quantity)}
        )
    rest = sympy.simplify((own.value - sent.value.subs(statement.where)) / d)
    if rest != 0:
        return Verdict(Status.REFUTED, f"the sides differ by {rest}", witness={"difference": str(rest)})
    return Verdict(Status.PROVED, "inserted into the communication of Theorem 2 of the main paper")


# ------------------------------------------------------------------------- counter-examples for all step sizes


@dataclass(frozen=True)
class Alike:
    """All clients with f(x) = scale (x_1^2 + x_2^2/2)/2 and exact gradients, from (1, 1); one round, R = 1, T = 1, N = 1.

    For all step sizes and weights, z^0, z^1 and their averages are x^0 - s grad f(x^0) for some s, and so is x^1.
    """

    scale: sympy.Rational
    momentum: sympy.Rational
    clients: int

    @property
    def letters(self) -> dict[str, sympy.Expr]:
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
    claim = statement.claim
    assert isinstance(claim, Bound)
    gradients = claim.quantity.name.startswith("avg_grad")
    tightest = mpmath.inf
    for instance in _ALIKE:
        letters = instance.letters
        if gradients:  # d0 is f(x^0) - f(x*) here
            letters["d0"] = instance.scale * Rational(3, 4)
        least = instance.least_gradient if gradients else instance.least_gap
        values = {catalogue.symbols(statement)[name].sympy: value for name, value in letters.items()}
        with mpmath.workdps(50):
            bound = mpmath.mpf(sympy.N(claim.value.subs(values), 50))
            if bound < mpmath.mpf(least.p) / least.q * (1 - mpmath.mpf(10) ** -30):
                witness = {
                    "f_i": f"{instance.scale} (x_1^2 + x_2^2/2)/2, every client", "x^0": "(1, 1)",
                    "letters": {name: str(value) for name, value in letters.items()},
                    "bound": float(bound), "least value over all step sizes and weights": str(least),
                }  # fmt: skip
                return Verdict(
                    Status.REFUTED, f"the best step leaves {least}, the bound is {float(bound):.3g}", 0.0, witness
                )
            tightest = min(tightest, bound / (mpmath.mpf(least.p) / least.q))
    says = f"{len(_ALIKE)} quadratics, one round: the bound is {float(tightest):.3g} times the least value, or more"
    return Verdict(Status.HOLDS, says, slack=float(tightest))


_SIZES = (4, 8, 16)  # M = 10^k clients


def unseen_client(statement: Statement, full: bool = False) -> Verdict:
    """M clients, f_i = beta x^2/2, the last beta (x - M)^2/2; x* = 1, x^0 = 0, c_i^0 = 0, N = K = 1, R = M rounds.

    This is no witness against a statement that sets c_i^0 = grad f_i(x^0), which is not 0 for the last client.

    As long as the last client is not sampled, nothing moves, by the printed or by the corrected lines, for all step sizes
    and weights.  This has probability (1 - 1/M)^M >= 1/4.  The ratio left/printed grows like a power of M; no constant,
    and no power of a logarithm, makes up for that.
    """
    claim = statement.claim
    assert isinstance(claim, Order)
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
        says = "an unseen client leaves more than any constant times the printed order, for all step sizes"
        return Verdict(Status.REFUTED, says, 0.0, witness)
    return Verdict(
        Status.HOLDS, f"left/printed does not grow with M: log10 {', '.join(f'{float(r):.3g}' for r in ratios)}"
    )


def all_behind(statement: Statement, full: bool = False) -> Verdict:
    """M identical clients, f_i = x^2/2, beta = 1, T = N = K = 1, no momentum, all c_i = grad f_i(x^r), x^r = z^r = 1.

    Before the round there is no lag and no drift.  After it the points alpha_i of all clients, sampled or not, are still
    x^r, a step behind z^{r+1}.  The step is the largest that the conditions allow at a = 1.
    """
    claim = bound_of(statement)
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
    return Verdict(Status.HOLDS, "on identical clients without lag, M up to 100, at the largest step")


def heterogeneity_stays(statement: Statement, full: bool = False) -> Verdict:
    """G^2/(mu K T eps): local steps do not average out the choice of clients.

    f_i = (x - b_i)^2/2 with b_i = G for one half of many clients and -G for the other; one client per round.  For all
    step sizes, momentum and weights, the output is w x^0 + sum of w_r b^r with weights of sum 1.  So from x^0 = 1 its gap
    is at least (1/2)/(1 + R/G^2).  With T = 1/eps the printed R is G^2 + G/sqrt(eps) + log(1/eps), up to constants.
    """
    claim = statement.claim
    assert isinstance(claim, Order)
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
    return Verdict(Status.HOLDS, f"gap/eps stays bounded: {ratios}")


def evidence() -> Iterator[Evidence]:
    """Ledgers, derivations, orders, claims and counter-examples."""
    yield from ledgers.evidence()
    yield from tuning.evidence()
    yield Evidence("fedbcgd.lemma1", "certificate", perturbed)
    yield Evidence("fedbcgd.lemma3", "derivation", triangle)
    yield Evidence("fedbcgd.lemma9", "derivation", mean_and_noise)
    for name in ("lemma10", "momentum_form", "momentum_form.corrected"):
        yield Evidence(f"fedbcgd.{name}", "derivation", momentum)
    for name in ("lemma4", "lemma4.part1", "lemma4.part2", "lemma4.lhs", "lemma4.lhs_blocks", "lemma4.corrected"):
        yield Evidence(f"fedbcgd.{name}", "derivation", drawn)
    yield Evidence("fedbcgd.thm2.lag", "counterexample", one_lag)
    yield Evidence("fedbcgd.lemma15", "derivation", polynomials)
    for name in (
        "thm1.main.strongly_convex",
        "thm1.main.nonconvex",
        "thm2.main.strongly_convex",
        "thm2.main.nonconvex",
    ):
        for suffix in ("", ".corrected"):
            yield Evidence(f"fedbcgd.{name}{suffix}", "derivation", floats)
    for name, main, choice in (
        ("fedbcgd", "thm1.main.strongly_convex", {}),
        ("fedbcgdplus", "thm2.main.strongly_convex", {"N": sqrt(beta / mu)}),
    ):
        yield Evidence(f"fedbcgd.table1.{name}", "derivation", row(main, **choice), (f"fedbcgd.{main}",))
    yield Evidence("fedbcgd.claim.factor_1_over_N", "derivation", factor_one_over_N)
    yield Evidence("fedbcgd.claim.second_term", "derivation", second_term, ("fedbcgd.table1.fedbcgd",))
    yield Evidence("fedbcgd.claim.N_sqrt_kappa", "derivation", root_of_kappa, ("fedbcgd.thm2.main.strongly_convex",))
    for case in ("strongly_convex", "general_convex", "nonconvex"):
        for where in ("", ".proof"):
            yield Evidence(f"fedbcgd.thm1.{case}{where}", "counterexample", whatever_the_steps)
    for name in ("strongly_convex", "general_convex"):
        yield Evidence(f"fedbcgd.thm2.{name}", "counterexample", unseen_client)
    yield Evidence("fedbcgd.lemma17", "counterexample", all_behind)
    yield Evidence("fedbcgd.thm1.main.strongly_convex", "counterexample", heterogeneity_stays)
