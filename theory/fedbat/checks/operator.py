"""The binarisation operator: its probabilities, derivatives, mean and error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy
from sympy import Rational, floor, sqrt

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks.quantities import LANGUAGE
from fedtheory.theory.fedbat.symbols import *
from fedtheory.theory.notation import NOTATION, Norm, Value, equal
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried
from fedtheory.theory.proofs.arithmetic import at_least, at_most, decide
from fedtheory.theory.proofs.ledger import conditions_of
from fedtheory.theory.proofs.vectors import in_the_mean
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Evidence, Relations, Statement, Status, Verdict

Check = Callable[[Statement, bool], Verdict]


OPERATOR = replace(LANGUAGE, amounts=(*LANGUAGE.amounts, prob_plus, error_sq))


def relations_of(statement: Statement) -> tuple[Any, ...]:
    """The relations of the claim.  Raises ValueError for another claim."""
    if not isinstance(statement.claim, Relations):
        raise ValueError(f"{statement.id} claims no relations")
    return statement.claim.relations


def decided(proof: Proof) -> Check:
    """A derivation from an argument: a broken argument counts as refuted."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        argument = Argument(statement, OPERATOR)
        proof(argument)
        found = argument.verdict()
        status = Status.REFUTED if found.status is Status.BROKEN else found.status
        return replace(found, status=status, slack=1.0 if status is Status.PROVED else None)

    return check


def _noisy() -> tuple[sympy.Expr, sympy.Expr]:
    """(7) with a symbol z for its floor, and the argument of the floor."""
    (relation,) = relations_of(catalogue.find("fedbat.eq7"))
    (under,) = (f.args[0] for f in relation.rhs.atoms(floor))
    return relation.rhs.subs(floor(under), sympy.Symbol("z", real=True)), under


@curried
def straight_through(p: Argument, by: sympy.Symbol) -> None:
    """(8), (9), for each case of (6): the derivative of (7), with the derivative 1 for the floor."""
    goal, derivative = p.goal(), {x: S_by_x, alpha: S_by_alpha}[by]
    if (goal.quantity, goal.sign) != (derivative, "="):
        p.fail("the derivative", f"it says {goal.quantity} {goal.sign} ..., the derivation is for {derivative}")
    p.require("alpha divides", sympy.Gt(alpha, 0, evaluate=False))
    z = sympy.Symbol("z", real=True)
    drawn, under = _noisy()
    within = drawn.diff(by) + drawn.diff(z) * under.diff(by)
    cases = goal.value if isinstance(goal.value, sympy.Piecewise) else sympy.piecewise_fold(goal.value)
    if not isinstance(cases, sympy.Piecewise):  # one formula for all cases
        cases = sympy.Piecewise((cases, x > alpha), (cases, x >= -alpha), (cases, True), evaluate=False)
    printed = [condition.canonical for _, condition in cases.args[:2]]
    if printed != [(x > alpha).canonical, (x >= -alpha).canonical] or len(cases.args) != 3:
        p.fail("the cases", f"{printed}: they are not those of (6)")
        return
    above, between, below = (value for value, _ in cases.args)
    p.equal("above alpha", above, alpha.diff(by))
    p.equal("within", between.subs(floor(under), z), within)
    p.equal("below -alpha", below, (-alpha).diff(by))
    p.done()


def probability(p: Argument) -> None:
    """The second line of (7): the floor is 1 if zeta >= 1 - u, u = (alpha + x)/(2 alpha) in [0, 1]."""
    _, under = _noisy()
    u = under - zeta
    p.require("u in [0, 1]", [at_least(u, 0), at_most(u, 1)])
    p.conclude(p.by_hand("the noise is uniform", prob_plus, "=", 1 - (1 - u)))


def positive(statement: Statement, full: bool = False) -> Verdict:
    """(10): the exponential is positive for every alpha_e; it is 1 at alpha_e = 0, and its rate of growth is rho."""
    definition, claim = relations_of(statement)
    start, growth = definition.rhs.subs(alpha_e, 0), sympy.simplify(definition.rhs.diff(alpha_e) / definition.rhs)
    if (definition.lhs, start, growth) != (alpha, alpha_prime, rho):
        return Verdict(
            Status.BROKEN, f"alpha is {start} at alpha_e = 0, and grows by {growth}", witness={"step": "(10)"}
        )
    e = sympy.Symbol("e", positive=True)  # the exponential
    right = definition.rhs.replace(sympy.exp, lambda _: e)
    return decide([*conditions_of(statement), definition.lhs <= right, definition.lhs >= right], claim).verdict()


def learned(statement: Statement, full: bool = False) -> Verdict:
    """The second line of (14) against (10), where alpha_e is the learned parameter: dF/dalpha_e = rho alpha dF/dalpha."""
    definition = catalogue.find("fedbat.eq10").claim_of(Relations)
    parametrised = definition.relations[0].rhs
    slope = sympy.Symbol("slope", real=True)
    moved = parametrised.subs(alpha_e, alpha_e - eta_t * slope)
    chain = parametrised.diff(alpha_e) * by_alpha
    expected = moved.subs(slope, chain).subs(alpha_e, 0).subs(alpha_prime, alpha_s)  # from alpha_e = 0, alpha = alpha'
    update, printed, binarised = relations_of(statement)
    if (update, binarised) != (equal(m_next, m_s - eta_t * by_m), equal(m_hat_next, Value(S_s, m_next))):
        return Verdict(Status.BROKEN, "it is no step of m, or not binarised", witness={"step": "the other lines"})
    if isinstance(printed, sympy.Eq) and printed.lhs == alpha_next and sympy.simplify(printed.rhs - expected) == 0:
        return Verdict(Status.PROVED, "the second line is a step of alpha_e in (10), by the chain rule")
    at = {alpha_s: 1, eta_t: Rational(1, 2), by_alpha: 4, rho: 1}
    values = {"as printed": printed.rhs.subs(at), "by (10)": expected.subs(at)}
    witness = {**{str(s): str(v) for s, v in at.items()}, **{n: str(v) for n, v in values.items()}}
    says = f"alpha becomes {values['as printed']}, by a step of alpha_e in (10) it becomes {values['by (10)']}"
    return Verdict(Status.REFUTED, says, witness=witness)


def _probability_of_plus() -> sympy.Expr:
    """The second line of (7)."""
    return catalogue.find("fedbat.eq7.prob_plus").claim_of(Bound).value


def _mean_of_entry() -> sympy.Expr:
    """E S(x_i) for an entry within [-alpha, alpha], by the probabilities of (7)."""
    up = _probability_of_plus()
    return sympy.simplify(alpha * up - alpha * (1 - up))


def unbiased(p: Argument) -> None:
    """Section 4: with alpha = ||x||_inf every entry is within [-alpha, alpha]."""
    goal = p.goal()
    mean = {Value(S, x_vec): _mean_of_entry().subs(x, x_vec)}
    left, right = (in_the_mean(e, mean) for e in (goal.quantity, goal.value))
    p.equal("every entry", left, right)
    p.done()


def squared_error(p: Argument) -> None:
    """The sum of alpha^2 - x^2 over the entries; it is at most (d-1) ||x||^2."""
    up = _probability_of_plus()
    p.equal("an entry", (alpha - x) ** 2 * up + (alpha + x) ** 2 * (1 - up), alpha**2 - x**2)
    total = d * x_max**2 - x_sq  # alpha = ||x||_inf
    p.require("at most (d-1) ||x||^2", at_most(total, (d - 1) * x_sq))
    p.conclude(p.by_hand("the entries, added up", error_sq, "=", total))


def restarted(p: Argument) -> None:
    """Appendix C.1 for the operator of the analysis: E S_m(w) = w, and its squared error, d ||m||_inf^2 - ||m||^2.

    Assumption 5 makes q at least sqrt(d - 1): for an update with one nonzero entry the error is sqrt(d - 1) times its
    norm, for all signs.
    """
    drawn, error = sympy.symbols("S(m) error", real=True)
    moved = w_k - w_bar_0
    constants = p.needs(Property.BINARISATION_FIRST_MOMENT)

    def squared(v: sympy.Expr) -> sympy.Expr:
        if v in (drawn - moved, moved - drawn):
            return error
        return x_sq if v in (moved, -moved) else Norm(v) ** 2

    def read(e: Any) -> Any:
        e = e.subs(Value(S, moved), drawn).subs(Value(S_m, w_k), drawn + w_bar_0)  # the first relation
        e = e.replace(Norm, lambda v: sqrt(squared(sympy.expand(v))))
        e = in_the_mean(e, {drawn: moved, error: d * x_max**2 - x_sq})  # `unbiased`, `squared_error`
        if left := e.atoms(*NOTATION):
            raise ValueError(f"{left}: expected S at w - wbar_0, S_m at w, and their squared distances")
        return e

    definition, mean, bound = (p.goal(part) for part in range(3))
    p.equal("S_m", read(definition.quantity), read(definition.value))
    p.equal("its mean", read(mean.quantity), read(mean.value))
    if (definition.sign, mean.sign) != ("=", "="):
        p.fail("S_m, and its mean", "they are equalities")
    of_norms = [at_most(x_max**2, x_sq), at_most(x_sq, d * x_max**2)]
    m = sympy.Symbol("|m|", positive=True)
    one_entry = error_of(d, m**2, m**2)
    assumed = [at_most(sqrt(one_entry), q_ * m) for q_ in constants]  # Assumption 5 for one nonzero entry
    p.require("Assumption 5 for one entry", at_least(q**2, d - 1), *assumed)
    relation = Fact(read(bound.quantity), bound.sign, read(bound.value)).relation
    p.require("its squared error", relation, *of_norms, at_least(q**2, d - 1))
    for part in range(3):
        p.done(part)


def error_of(count: sympy.Expr, largest_sq: sympy.Expr, norm_sq: sympy.Expr) -> sympy.Expr:
    """E||S(v) - v||^2 = d ||v||_inf^2 - ||v||^2."""
    return count * largest_sq - norm_sq


def stochastic_sign(p: Argument) -> None:
    """Stoc-SignSGD: m_i + xi > 0 for xi uniform in [-||m||, ||m||] has probability (||m|| + m_i)/(2 ||m||)."""
    share = (m_norm + m_i) / (2 * m_norm)
    p.require("a probability", [at_least(share, 0), at_most(share, 1)])
    p.conclude(p.by_hand("the noise is uniform", prob_plus, "=", share))


def evidence() -> Iterator[Evidence]:
    """Derivations and counter-examples about the operator."""
    derivations: Mapping[str, Check] = {
        "eq7.prob_plus": decided(probability),
        "eq8": decided(straight_through(x)),
        "eq9": decided(straight_through(alpha)),
        "eq10": positive,
        "eq14.corrected": learned,
        "setting_theory": decided(unbiased),
        "c1.t0": decided(restarted),
        "assump5.sq_error": decided(squared_error),
        "baseline.stoc_signsgd": decided(stochastic_sign),
    }
    for name, check in derivations.items():
        yield Evidence(f"fedbat.{name}", "derivation", check)
    yield Evidence("fedbat.eq14", "counterexample", learned)
