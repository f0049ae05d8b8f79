"""Claims about the bounds, in words: rates, advantages, special cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy
from sympy import exp

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.arithmetic import decide
from fedtheory.theory.proofs.ledger import Ledger, conditions_of
from fedtheory.theory.proofs.orders import covered
from fedtheory.theory.sfl.checks.rates import named_term, stated_order
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Bound, Evidence, Order, Relations, Statement, Status, Verdict, Words


def _formulas(statement: Statement) -> tuple[sympy.Basic, ...]:
    return statement.claim_of(Words).formulas


def rate(statement: Statement, full: bool = False) -> Verdict:
    """Corollary 1's dominant term for large R, and its rate in M, K, R; without noise, the rate is only an upper bound."""
    symbols = {
        symbol: sympy.Symbol(symbol.name, positive=True)
        for symbol in (M, K, R, L, mu, sigma, zeta, zeta_star, D, A, beta)
    }
    growth = symbols[R]
    for name, printed in zip(("strongly_convex", "general_convex", "nonconvex"), _formulas(statement), strict=True):
        claimed = printed.subs(symbols)
        first, *others = (t.value.subs(symbols) for t in stated_order(f"cor1.{name}").terms)
        if any(sympy.limit(sympy.simplify(o / first), growth, sympy.oo) != 0 for o in others):
            return Verdict(Status.REFUTED, f"{name}: the first term does not dominate", witness={"case": name})
        rest = sympy.simplify(first / claimed)
        if rest.free_symbols & {symbols[M], symbols[K], symbols[R]}:
            witness = {"case": name, "ratio": str(rest)}
            return Verdict(Status.REFUTED, f"{name}: the first term is not of the printed rate", witness=witness)
        without_noise = [o.subs(symbols[sigma], 0) for o in others]
        if any(sympy.limit(sympy.simplify(o / claimed), growth, sympy.oo) != 0 for o in without_noise):
            return Verdict(Status.REFUTED, f"{name}: slower without noise", witness={"case": name, "sigma": 0})
    return Verdict(
        Status.PROVED,
        "limits of the ratios of Corollary 1's terms as R grows: for sigma > 0 the first term dominates, for sigma = 0 the "
        "others are below the printed rates",
    )


def advantage(statement: Statement, full: bool = False) -> Verdict:
    """The ratios of SFL's order to PFL's, term by term: Table 1 and (10), (11)."""
    pairs = (("table1.sfl_thm1", "table1.pfl_thm2"), ("eq11", "eq10"))
    for (ours, theirs), factor in zip(pairs, _formulas(statement), strict=True):
        second = {t.name: t.value for t in stated_order(theirs).terms}
        for term in stated_order(ours).terms:
            ratio = sympy.simplify(term.value / second[term.name])
            expected = factor if term.name in ("noise_drift", "heterogeneity") else 1
            if sympy.simplify(ratio - expected) != 0:
                witness = {"term": term.name, "ratio": str(ratio), "claimed": str(expected)}
                return Verdict(Status.REFUTED, f"{ours} over {theirs}: {term.name} has ratio {ratio}", witness=witness)
    return Verdict(
        Status.PROVED, "ratios of the printed orders, term by term; this compares upper bounds, not algorithms"
    )


def inequalities(statement: Statement, full: bool = False) -> Verdict:
    """Every formula is an inequality between orders with one exponential exp(-mu R/L), an atom in (0, 1).

    The constants of an order are free: a family along which the quotient of the sides grows without bound refutes it.
    """
    decay = sympy.Symbol("exp(-mu R/L)", positive=True)
    given = [c.relation.subs(exp(-mu * R / L), decay) for c in statement.when]
    for formula in _formulas(statement):
        found = decide([mu <= L, decay < 1, *given], formula.subs(exp(-mu * R / L), decay))
        if found.status is not Status.PROVED:
            against = _growing(statement, formula)
            if against is not None:
                return against
            at = {symbol: value for symbol, value in found.model.items() if symbol != decay}  # it divides both sides
            witness = {symbol.name: str(value) for symbol, value in at.items()}
            witness |= {"left side": str(formula.args[0].subs(at)), "right side": str(formula.args[1].subs(at))}
            says = "fails without noise and heterogeneity: SGD's last term has L for mu"
            return Verdict(found.status, says, witness=witness)
    return Verdict(Status.PROVED, "decided by z3")


def _growing(statement: Statement, formula: sympy.Rel) -> Verdict | None:
    """Refuted, if the quotient of the sides grows without bound with L/mu, also for heterogeneous clients; else None."""
    few = sympy.Symbol("q", positive=True)  # mu/L
    at = {L: 1, mu: few, zeta_star: few, sigma: 0, M: 2, K: 1, R: 1, D: 1 / sympy.sqrt(few)}
    if any(sympy.limit(c.relation.lhs.subs(at) - c.relation.rhs.subs(at), few, 0) > 0 for c in statement.when):
        return None
    smaller, larger = (side.subs(at) for side in formula.args)
    if sympy.limit(larger / smaller, few, 0) != sympy.oo:
        return None
    sides = {f"mu = {q}": f"{float(smaller.subs(few, q)):.4g} and {float(larger.subs(few, q)):.4g}" for q in _SMALL}
    witness = {"L": 1, "zeta_star": "mu", "sigma": 0, "M": 2, "K": 1, "R": 1, "D": "1/sqrt(mu)", **sides}
    says = "the quotient of the sides grows without bound with L/mu: SGD's last term has L for mu"
    return Verdict(Status.REFUTED, says, witness=witness)


_SMALL = (sympy.Rational(1, 1000), sympy.Rational(1, 10**6))


def sgd_rr(source: str) -> Callable[[Statement, bool], Verdict]:
    """A row of Table 1 at K = 1, sigma = 0: SGD-RR's order times mu has the same first term and a smaller second term.

    SGD-RR's order and the lower bound are those that the paper prints.
    """

    def check(statement: Statement, full: bool = False) -> Verdict:
        row = stated_order(source).value.subs({K: 1, sigma: 0})
        ours, *others = _formulas(statement)
        printed = _formulas(catalogue.find("sfl.claim.sgd_rr"))[1:]
        if wrong := [f"{e}, printed {own}" for e, own in zip(others, printed, strict=True) if sympy.simplify(e - own)]:
            return Verdict(Status.REFUTED, f"not as printed: {'; '.join(wrong)}", witness={"not as printed": wrong[0]})
        theirs, lower = others
        if sympy.simplify(row - ours) != 0:
            return Verdict(Status.REFUTED, f"Table 1 gives {row}", witness={"table": str(row), "claimed": str(ours)})
        mine, split = ({t.has(exp): t for t in sympy.Add.make_args(sympy.expand(e))} for e in (ours, mu * theirs))
        if not mine.keys() == split.keys() == {False, True}:
            return Verdict(Status.REFUTED, "a term is missing", witness={"ours": str(ours), "theirs": str(theirs)})
        if sympy.simplify(mine[False] - lower) != 0:
            witness = {"bound": str(mine[False]), "lower": str(lower)}
            return Verdict(Status.REFUTED, "the lower bound differs", witness=witness)
        if sympy.simplify(split[False] - mine[False]) != 0:
            return Verdict(Status.REFUTED, "the first terms differ", witness={"SGD-RR times mu": str(split[False])})
        (mine_exp,), (theirs_exp,) = mine[True].atoms(exp), split[True].atoms(exp)
        found = decide([mu <= L], theirs_exp.args[0] <= mine_exp.args[0])
        return Verdict(
            found.status, "equal first terms after the factor mu; SGD-RR's exponent is at least M times as large"
        )

    return check


def local_steps(statement: Statement, full: bool = False) -> Verdict:
    """The printed condition and the printed threshold for K are the same, and the dominant term has no K."""
    condition, threshold = _formulas(statement)
    for given, goal in ((condition, threshold), (threshold, condition)):
        found = decide([*conditions_of(statement), given, zeta_star > 0], goal)
        if found.status is not Status.PROVED:
            return found.verdict(f"{goal} does not follow from {given}")
    if condition.args[1].has(K):
        return Verdict(Status.REFUTED, "the dominant term depends on K", witness={"term": str(condition.args[1])})
    return Verdict(Status.PROVED, "for zeta_* > 0 each implies the other, decided by z3; the dominant term has no K")


def cyclic(groups: sympy.Expr, sampled: sympy.Expr, rounds: sympy.Expr, between: sympy.Expr) -> sympy.Expr:
    """Cho et al.'s order as Appendix B specialises it, in its notation, without the terms that it leaves out.

    groups, sampled  number of groups of clients, and of the clients that a round samples from one
    between          how much the groups differ
    """
    noise = L * sigma**2 * groups / (mu**2 * sampled * K * rounds)
    return (
        noise
        + L**2 * (groups * between) ** 2 / (mu**3 * rounds**2)
        + L**2 * zeta**2 / (mu**3 * (sampled * rounds) ** 2)
    )


def no_advantage(statement: Statement, full: bool = False) -> Verdict:
    """PFL is one group of M clients, SFL M groups of one client and M R rounds; the second formula is never below."""
    first, second = _formulas(statement)
    for formula, own in (
        (first, cyclic(sympy.Integer(1), M, R, sympy.Integer(0))),
        (second, cyclic(M, sympy.Integer(1), M * R, zeta)),
    ):
        if rest := sympy.simplify(formula - own):
            witness = {"claimed": str(formula), "specialised": str(own)}
            return Verdict(Status.REFUTED, f"{formula} is not Cho et al.'s order, by {rest}", witness=witness)
    found = decide([*conditions_of(statement), mu <= L], second >= first)
    return found.verdict("SFL's order is never below PFL's, decided by z3")


def own_form(statement: Statement, full: bool = False) -> Verdict:
    """Theorem 1 at sigma = 0, eta_tilde = M K eta, under its conditions and the sentence's: each term has the order."""
    printed = _formulas(statement)[-1]
    theorem = catalogue.find("sfl.thm1.strongly_convex")
    own = {sigma: 0, eta_tilde: M * K * eta}
    terms = [sympy.simplify(t.value.subs(own)) for t in theorem.claim_of(Bound).terms]
    claim = Order(theorem.claim_of(Bound).quantity, tuple(named_term(t) for t in sympy.Add.make_args(printed)))
    ledger = Ledger([c.relation for c in statement.when])
    for condition in theorem.when:
        ledger.require(f"Theorem 1: {condition}", condition.relation.subs(own))
    covered([t for t in terms if t != 0], claim, list(ledger.conditions), ledger)
    found = ledger.verdict()
    status = Status.REFUTED if found.status is Status.BROKEN else found.status
    return Verdict(status, found.says, witness=found.witness)


def lemma3_parts(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 3's two variances are the variances in its parts."""
    parts = [catalogue.find(f"sfl.lemma3.{part}").claim_of(Bound).value for part in ("swr", "swor")]
    for printed, part in zip(_formulas(statement), parts, strict=True):
        if sympy.simplify(printed - part) != 0:
            return Verdict(
                Status.REFUTED, f"{printed} is not {part}", witness={"lemma": str(printed), "part": str(part)}
            )
    return Verdict(Status.PROVED, "the two variances of (22) and (23), both proved; the mean by lemma3.mean")


def step_range(statement: Statement, full: bool = False) -> Verdict:
    """The choice of eta_tilde, the first link of a printed chain, is small enough (S >= 1; beta > 0 as a divisor)."""
    given, links = [c.relation for c in statement.when], list(statement.claim_of(Relations).relations)
    if not statement.corrects:
        given += [links.pop(0), catalogue.symbols(statement)["beta"].sympy > 0]
    return decide(given, links).verdict()


_CLAIMS: list[tuple[str, Callable[[Statement, bool], Verdict], tuple[str, ...]]] = [
    ("claim.rate", rate, ()),
    ("claim.sfl_better", advantage, ()),
    ("claim.minibatch", inequalities, ()),
    ("claim.minibatch.corrected", inequalities, ()),
    ("claim.sgd_rr.corrected", sgd_rr("table1.sfl_thm1.corrected"), ("table1.sfl_thm1.corrected",)),
    ("claim.local_steps", local_steps, ()),
    ("claim.cyclic", no_advantage, ()),
    ("claim.malinovsky.corrected", own_form, ("thm1.strongly_convex",)),
    ("step.eq54_range", step_range, ()),
    ("step.eq54_range.corrected", step_range, ()),
    ("lemma3", lemma3_parts, ("lemma3.mean", "lemma3.swr", "lemma3.swor")),
]


def evidence() -> Iterator[Evidence]:
    """Derivations for and against the claims."""
    for name, check, uses in _CLAIMS:
        yield Evidence(f"sfl.{name}", "derivation", check, tuple(f"sfl.{u}" for u in uses))
