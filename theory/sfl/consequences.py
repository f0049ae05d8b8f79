"""What follows from the bounds, and what does not: orders after tuning, Table 1, and the claims in words.

An order is replayed from its explicit bound: every summand must be at most an absolute constant times a printed term.
What refutes orders is in `theory.sfl.counterexamples`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy
from sympy import Max, Rational, exp

from theory import catalogue
from theory.proofs.arithmetic import decide, everywhere
from theory.proofs.ledger import Ledger, as_evidence, bound_of, conditions_of, proof
from theory.proofs.orders import covered, order_of
from theory.sfl import counterexamples
from theory.sfl.paper import (
    A,
    D,
    K,
    L,
    M,
    R,
    S,
    T,
    a,
    beta,
    c,
    c1,
    c2,
    d,
    eta,
    eta_tilde,
    gamma,
    mu,
    paper as sfl,
    r0,
    sigma,
    zeta,
    zeta_star,
)
from theory.statement import Condition, Evidence, Order, Statement, Status, Term, Verdict, Words


def _order(name: str) -> Order:
    return order_of(catalogue.find(f"sfl.{name}"))


# Orders from explicit bounds


def tuned_terms(bound: Statement) -> list[sympy.Expr]:
    """Summands of a bound at its tuned step size: Lemma 7 or Lemma 8 with the bound's substitution, over b.

    Powers p <= 1 of sums are at most the sums of the powers, a maximum at most the sum; logarithms are left out.
    """
    applied = bound.applies
    if applied is None:
        raise ValueError(f"{bound.id} applies no recursion lemma")
    at = {sfl.symbols[name].sympy: e for name, e in applied.substitution.items()}
    if c in at:
        at[c1] = at.pop(c)
    lemma = "lemma7.eq39.cubic" if a in at else "lemma8.eq45.corrected"
    terms = []
    for term in bound_of(catalogue.find(f"sfl.{lemma}")).terms:
        general = term.value.replace(sympy.log, lambda _: sympy.Integer(1)) / at[sfl.symbols["b"].sympy]
        for letter in (c1, c2, d):
            if letter in general.free_symbols and not general.has(exp):
                terms += [_positive(general.subs(letter, part), at) for part in _summands(at[letter])]
                break
        else:
            terms.append(_positive(general, at))
    return terms


def _summands(e: sympy.Expr) -> list[sympy.Expr]:
    """Non-negative summands; a maximum counts as the sum of its arguments, M - S stays together."""
    parts: list[sympy.Expr] = []
    for part in sympy.Add.make_args(e):
        largest = part.atoms(Max)
        if largest:
            (choice,) = largest
            parts += [part.subs(choice, one) for one in choice.args]
        elif {M, S} <= part.free_symbols:  # the sampling of clients
            parts.append(part)
        else:
            parts += sympy.Add.make_args(sympy.expand(part))
    return parts


def _positive(e: sympy.Expr, at: dict[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """The lemma's letters replaced; T + 1 made smaller to T, which makes every term larger."""
    return e.subs(T + 1, T).subs(at, simultaneous=True)


def tuned(source: str) -> Callable[[Statement], Ledger]:
    """An order from its explicit bound, tuned."""

    def check(statement: Statement) -> Ledger:
        bound = catalogue.find(f"sfl.{source}")
        fixed = [r for r in _polynomial(bound.when) if eta_tilde not in r.free_symbols]
        ledger = Ledger([*_polynomial(statement.when), *fixed])
        covered(tuned_terms(bound), order_of(statement), list(ledger.conditions), ledger)
        if order_of(statement).value.has(exp):
            ledger.require("R leaves an admissible step size", 6 * L / mu <= R)
        else:
            assert bound.applies is not None
            at = {sfl.symbols[name].sympy: e for name, e in bound.applies.substitution.items()}
            ledger.admits(catalogue.find("sfl.lemma8.eq45.corrected"), lambda c: c.subs(at, simultaneous=True))
        return ledger

    return check


def _polynomial(when: tuple[Condition, ...]) -> list[sympy.Basic]:
    return [condition.relation for condition in when if not condition.relation.has(sympy.log)]


def from_order(source: str) -> Callable[[Statement], Ledger]:
    """An order from another one."""

    def check(statement: Statement) -> Ledger:
        ledger = Ledger(_polynomial(statement.when))
        terms = [t.value for t in _order(source).terms]
        covered(terms, order_of(statement), list(ledger.conditions), ledger)
        for condition in catalogue.find(f"sfl.{source}").when:
            ledger.require(f"condition {condition}", condition.relation)
        return ledger

    return check


def eq39(statement: Statement) -> Ledger:
    """(39): the explicit tuned bound at c2 = 0."""
    ledger = Ledger([])
    explicit = bound_of(catalogue.find("sfl.lemma7.eq39.cubic"))
    terms = [t.value.replace(sympy.log, lambda _: sympy.Integer(1)).subs({c2: 0, c1: c}) for t in explicit.terms]
    conditions = [r for r in conditions_of(statement) if gamma not in r.free_symbols]
    covered([t for t in terms if t != 0], order_of(statement), conditions, ledger)
    return ledger


def tuning(statement: Statement) -> Ledger:
    """The printed choice of gamma is that of (39), and 1/(2a(T+1)) <= log 2/(aT), as noted there."""
    ledger = Ledger([r for r in conditions_of(statement) if not r.has(sympy.log)])
    ledger.equal("the choice of (39)", bound_of(statement).value, catalogue.find("sfl.lemma7.eq39").where[gamma])
    x, q = sympy.Symbol("x", real=True), sympy.Symbol("log2", positive=True)
    ledger.step("log 2 >= 1/2", lambda: everywhere(sympy.log(x) >= Rational(1, 2) + 0 * x, x, 2, 2))
    ledger.require("1/(2a(T+1)) <= log 2/(aT)", 1 / (2 * a * (T + 1)) <= q / (a * T), q >= Rational(1, 2))
    return ledger


def eq45(statement: Statement) -> Ledger:
    """(45) at gamma = 1/y, y = max{d, p/rho, q/rho}: p = (c1 rho)^(1/2), q = c2^(1/3) rho^(2/3), rho = r0/(T+1) > 0."""
    ledger = Ledger(conditions_of(statement))
    p, q = sympy.symbols("p q", nonnegative=True)
    rho, y = sympy.symbols("rho y", positive=True)
    ledger.require("r_0 > 0", r0 > 0)
    at = {c1: p**2 / rho, c2: q**3 / rho**2, r0: rho * (T + 1)}
    choice = sympy.simplify(1 / statement.where[gamma].subs(at, simultaneous=True))
    derived = bound_of(catalogue.find("sfl.lemma8.eq44")).value.subs(at, simultaneous=True).subs(gamma, 1 / y)
    goal = sympy.simplify(bound_of(statement).value.subs(at, simultaneous=True))
    ledger.require("(45)", sympy.simplify(derived) <= goal, sympy.Eq(y, choice))
    return ledger


# Claims in words


def _formulas(statement: Statement) -> tuple[sympy.Basic, ...]:
    assert isinstance(statement.claim, Words)
    return statement.claim.formulas


def rate(statement: Statement, full: bool = False) -> Verdict:
    """Corollary 1's dominant term as R grows, and its rate in M, K, R; without noise, that the rate is an upper bound."""
    letters = {
        letter: sympy.Symbol(letter.name, positive=True) for letter in (M, K, R, sigma, zeta, zeta_star, D, A, beta)
    }
    growth = letters[R]
    for name, printed in zip(("strongly_convex", "general_convex", "nonconvex"), _formulas(statement), strict=True):
        claimed = printed.subs(letters)
        first, *others = (t.value.subs(letters) for t in _order(f"cor1.{name}").terms)
        if any(sympy.limit(sympy.simplify(o / first), growth, sympy.oo) != 0 for o in others):
            return Verdict(Status.REFUTED, f"{name}: the first term does not dominate", witness={"case": name})
        rest = sympy.simplify(first / claimed)
        if rest.free_symbols & {letters[M], letters[K], letters[R]}:
            witness = {"case": name, "ratio": str(rest)}
            return Verdict(Status.REFUTED, f"{name}: the first term is not of the printed rate", witness=witness)
        without_noise = [o.subs(letters[sigma], 0) for o in others]
        if any(sympy.limit(sympy.simplify(o / claimed), growth, sympy.oo) != 0 for o in without_noise):
            return Verdict(Status.REFUTED, f"{name}: slower without noise", witness={"case": name, "sigma": 0})
    return Verdict(
        Status.PROVED,
        "limits of the ratios of Corollary 1's terms as R grows: for sigma > 0 the first term dominates, for sigma = 0 the "
        "others are below the printed rates",
    )


def advantage(statement: Statement, full: bool = False) -> Verdict:
    """SFL's order over PFL's, term by term: Table 1 and (10), (11)."""
    pairs = (("table1.sfl_thm1", "table1.pfl_thm2"), ("eq11", "eq10"))
    for (ours, theirs), factor in zip(pairs, _formulas(statement), strict=True):
        second = {t.name: t.value for t in _order(theirs).terms}
        for term in _order(ours).terms:
            ratio = sympy.simplify(term.value / second[term.name])
            expected = factor if term.name in ("noise_drift", "heterogeneity") else 1
            if sympy.simplify(ratio - expected) != 0:
                witness = {"term": term.name, "ratio": str(ratio), "claimed": str(expected)}
                return Verdict(Status.REFUTED, f"{ours} over {theirs}: {term.name} has ratio {ratio}", witness=witness)
    return Verdict(
        Status.PROVED, "ratios of the printed orders, term by term; it compares upper bounds, not algorithms"
    )


def inequalities(statement: Statement, full: bool = False) -> Verdict:
    """Every formula is an inequality between orders with one exponential exp(-mu R/L), an atom in (0, 1)."""
    decay = sympy.Symbol("exp(-mu R/L)", positive=True)
    given = [c.relation.subs(exp(-mu * R / L), decay) for c in statement.when]
    for formula in _formulas(statement):
        found = decide([mu <= L, decay < 1, *given], formula.subs(exp(-mu * R / L), decay))
        if found.status is not Status.PROVED:
            at = {symbol: value for symbol, value in found.model.items() if symbol != decay}  # it divides both sides
            witness = {symbol.name: str(value) for symbol, value in at.items()}
            witness |= {"left side": str(formula.args[0].subs(at)), "right side": str(formula.args[1].subs(at))}
            says = "fails without noise and heterogeneity: SGD's last term has L for mu"
            return Verdict(found.status, says, witness=witness)
    return Verdict(Status.PROVED, "decided by z3")


def sgd_rr(source: str) -> Callable[[Statement, bool], Verdict]:
    """A row of Table 1 at K = 1, sigma = 0; SGD-RR's order times mu has the same first term, and a smaller second one."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        row = _order(source).value.subs({K: 1, sigma: 0})
        ours, theirs, lower = _formulas(statement)
        if sympy.simplify(row - ours) != 0:
            return Verdict(Status.REFUTED, f"Table 1 gives {row}", witness={"table": str(row), "claimed": str(ours)})
        mine = {t.has(exp): t for t in sympy.Add.make_args(ours)}
        if sympy.simplify(mine[False] - lower) != 0:
            witness = {"bound": str(mine[False]), "lower": str(lower)}
            return Verdict(Status.REFUTED, "the lower bound differs", witness=witness)
        split = {t.has(exp): t for t in sympy.Add.make_args(sympy.expand(mu * theirs))}
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
        found = decide([given, zeta_star > 0], goal)
        if found.status is not Status.PROVED:
            witness = {symbol.name: str(value) for symbol, value in found.model.items()}
            return Verdict(found.status, f"{goal} does not follow from {given}", witness=witness)
    if condition.args[1].has(K):
        return Verdict(Status.REFUTED, "the dominant term depends on K", witness={"term": str(condition.args[1])})
    return Verdict(Status.PROVED, "each implies the other (zeta_* > 0), decided by z3; no K in the dominant term")


def no_advantage(statement: Statement, full: bool = False) -> Verdict:
    """The second formula is never below the first."""
    first, second = _formulas(statement)
    found = decide([mu <= L], second >= first)
    witness = {symbol.name: str(value) for symbol, value in found.model.items()}
    return Verdict(found.status, "SFL's order is never below PFL's, decided by z3", witness=witness)


def own_form(statement: Statement, full: bool = False) -> Verdict:
    """Theorem 1 at sigma = 0, eta_tilde = M K eta, where it and the sentence speak: each term of the formula's order."""
    printed = _formulas(statement)[-1]
    theorem = catalogue.find("sfl.thm1.strongly_convex")
    own = {sigma: 0, eta_tilde: M * K * eta}
    terms = [sympy.simplify(t.value.subs(own)) for t in bound_of(theorem).terms]
    claim = Order(bound_of(theorem).quantity, tuple(_named(t) for t in sympy.Add.make_args(printed)))
    ledger = Ledger([c.relation.subs(own) for c in (*theorem.when, *statement.when)])
    covered([t for t in terms if t != 0], claim, list(ledger.conditions), ledger)
    found = ledger.verdict()
    status = Status.REFUTED if found.status is Status.BROKEN else found.status
    return Verdict(status, found.says, witness=found.witness)


def _named(e: sympy.Expr) -> Term:
    return Term("exponential" if e.has(exp) else "polynomial", e)


def lemma3_parts(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 3's two variances are those of its parts."""
    parts = [bound_of(catalogue.find(f"sfl.lemma3.{part}")).value for part in ("swr", "swor")]
    for printed, part in zip(_formulas(statement), parts, strict=True):
        if sympy.simplify(printed - part) != 0:
            return Verdict(
                Status.REFUTED, f"{printed} is not {part}", witness={"lemma": str(printed), "part": str(part)}
            )
    return Verdict(Status.PROVED, "the two variances of (22) and (23), both proved; the mean by lemma3.mean")


def printed_tuning(source: str) -> Callable[[Statement], Ledger]:
    """The printed tuning of the strongly convex orders: (39)'s step size needs c > 0, and c is c1."""

    def check(statement: Statement) -> Ledger:
        bound = catalogue.find(f"sfl.{source}")
        assert bound.applies is not None
        ledger = Ledger([*_polynomial(statement.when), *(r for r in _polynomial(bound.when) if not r.has(eta_tilde))])
        at = {sfl.symbols[name].sympy: e for name, e in bound.applies.substitution.items()}
        for condition in catalogue.find("sfl.lemma7.tuning").when:
            needed = condition.relation.subs(at, simultaneous=True)
            if needed != sympy.true:
                ledger.require(f"condition {condition} of the printed choice of gamma", needed)
        covered(tuned_terms(bound), order_of(statement), list(ledger.conditions), ledger)
        return ledger

    return check


_TUNED = {
    "eq47": "eq46",
    "eq74": "eq73",
    "eq55": "eq54",
    "eq55.corrected": "eq54.corrected",
    "eq81": "eq80",
    "eq81.corrected": "eq80.corrected",
    "cor1.general_convex": "thm1.general_convex",
    "cor1.nonconvex": "thm1.nonconvex",
    "cor1.nonconvex.corrected": "thm1.nonconvex",
    "cor2.general_convex": "thm2.general_convex",
    "cor2.nonconvex": "thm2.nonconvex",
    "cor2.nonconvex.corrected": "thm2.nonconvex",
}
# Orders of the strongly convex case, the bound that each is drawn from, and the one that is true
_STRONGLY_CONVEX = (
    ("eq43", "eq42", "eq42.corrected"),
    ("eq72", "eq71", "eq71"),
    ("cor1.strongly_convex", "thm1.strongly_convex", "thm1.strongly_convex"),
    ("cor2.strongly_convex", "thm2.strongly_convex", "thm2.strongly_convex"),
)
_FROM_ORDERS = {
    "eq10": "eq72",
    "eq11": "eq43",
    "eq10.corrected": "eq72",
    "eq11.corrected": "eq43",
    "table1.pfl_thm2": "cor2.strongly_convex",
    "table1.sfl_thm1": "cor1.strongly_convex",
    "table1.pfl_thm2.corrected": "cor2.strongly_convex",
    "table1.sfl_thm1.corrected": "cor1.strongly_convex",
}
_CLAIMS: list[tuple[str, Callable[[Statement, bool], Verdict], tuple[str, ...]]] = [
    ("claim.rate", rate, ()),
    ("claim.sfl_better", advantage, ()),
    ("claim.minibatch", inequalities, ()),
    ("claim.minibatch.corrected", inequalities, ()),
    ("claim.sgd_rr.corrected", sgd_rr("table1.sfl_thm1.corrected"), ("table1.sfl_thm1.corrected",)),
    ("claim.local_steps", local_steps, ()),
    ("claim.cyclic", no_advantage, ()),
    ("claim.malinovsky.corrected", own_form, ("thm1.strongly_convex",)),
    ("lemma3", lemma3_parts, ("lemma3.mean", "lemma3.swr", "lemma3.swor")),
]


def evidence() -> Iterator[Evidence]:
    """Orders, claims, and what refutes them."""
    for name, source in _TUNED.items():
        yield as_evidence("sfl", name, "ledger", proof(tuned(source), source, "lemma8.eq45.corrected"))
    yield as_evidence("sfl", "lemma8.eq45.corrected", "ledger", proof(eq45, "lemma8.eq44"))
    for name, source, corrected in _STRONGLY_CONVEX:
        yield as_evidence("sfl", name, "ledger", proof(printed_tuning(source), source, "lemma7.eq39"))
        yield as_evidence("sfl", name, "repair", proof(tuned(corrected), corrected, "lemma7.eq39.cubic"))
    yield as_evidence(
        "sfl", "eq47", "repair", proof(tuned("eq46.corrected"), "eq46.corrected", "lemma8.eq45.corrected")
    )
    for name, source in _FROM_ORDERS.items():
        yield as_evidence("sfl", name, "ledger", proof(from_order(source), source))
    yield as_evidence("sfl", "lemma7.eq39", "ledger", proof(eq39, "lemma7.eq39.cubic"))
    yield as_evidence("sfl", "lemma7.tuning", "ledger", proof(tuning))
    yield from counterexamples.evidence()
    for name, check, uses in _CLAIMS:
        yield Evidence(f"sfl.{name}", "derivation", check, tuple(f"sfl.{u}" for u in uses))
