"""What follows from the bounds, and what does not: orders after tuning, Table 1, and the claims in words.

An order is replayed from its explicit bound: every summand must be at most an absolute constant times a printed term.
Counter-examples to orders are families along which measured / printed grows without bound: no constant can repair them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy
from sympy import Max, Rational, exp

from theory import catalogue
from theory.proofs.arithmetic import decide, everywhere
from theory.proofs.ledger import Ledger, as_evidence, bound_of, conditions_of, proof
from theory.proofs.orders import covered, order_of
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
    lemma = "lemma7.eq39.cubic" if a in at else "lemma8.eq45"
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


# What refutes


def short_horizon(statement: Statement, full: bool = False) -> Verdict:
    """(38) without its condition on T: T = 0, the whole of r_0 spent at once, whatever the step size gamma <= 1/d."""
    claim = bound_of(statement)
    at = {T: 0, a: 1, d: 100, r0: 1, c: 0}
    conditions = [r.subs(at) for r in conditions_of(statement) if r.subs(at) != sympy.true]
    value = claim.value.subs(at).replace(exp, lambda e: sympy.Integer(1))  # exp(-gamma) <= 1: the larger bound
    psi = (1 - gamma) / gamma  # b s_0 with r_1 = 0 in (37)
    found = decide(conditions, psi > value)
    if found.status is Status.PROVED:
        worst = {gamma: Rational(1, 100)}
        return Verdict(
            Status.REFUTED,
            "for every gamma <= 1/d: r_0 = 1, r_1 = 0, b s_0 = (1 - gamma)/gamma satisfy (37) and exceed the bound at T = 0",
            slack=float(value.subs(worst) / psi.subs(worst)),
            witness={
                "T": 0, "a": 1, "d": 100, "c": 0, "r_0": 1, "r_1": 0, "gamma": "1/100",
                "Psi_0": str(psi.subs(worst)), "printed": str(value.subs(worst)),
            },
        )  # fmt: skip
    return Verdict(Status.OPEN, f"the short horizon does not refute: {found.says}")


def identical_clients(statement: Statement, full: bool = False) -> Verdict:
    """Where beta = sigma = zeta = 0 a printed order must not vanish: F_1 = F_2 = x^2/2, K = 1, one round from x = 1."""
    claim = order_of(statement)
    printed = claim.value.subs({sigma: 0, zeta: 0, beta: 0})
    at = {L: 1, A: Rational(1, 2), M: 2, S: 2, K: 1, R: 1}
    number = sympy.simplify(printed.subs(at))
    sequential = statement.id.startswith(("sfl.cor1", "sfl.eq55"))
    step = Rational(1, 6) / (2 if sequential else 1)  # eta, at eta_tilde = 1/6
    measured = (1 - step) ** (4 if sequential else 2)  # ||grad F(x^(1))||^2, the smaller of the two rounds
    if number == 0:
        return Verdict(
            Status.REFUTED,
            f"printed 0 for identical clients without noise, measured {measured}",
            slack=0.0,
            witness={
                "F_1 = F_2": "x^2/2", "x0": 1, "M": 2, "S": 2, "K": 1, "R": 1, "eta_tilde": "1/6",
                "measured": str(measured), "printed": "any constant times 0",
            },
        )  # fmt: skip
    return Verdict(Status.OPEN, f"printed {number} times a constant, measured {measured}: no contradiction")


def along_flat(statement: Statement, full: bool = False) -> Verdict:
    """Orders with exp(-c mu R / L): identical clients F_m = (mu/2) x^2, mu = L, at any eta_tilde <= 1/(6L).

    No round shrinks x by more than 1 - 1/6, so the gap is at least (mu/2) D^2 (5/6)^(2R); the weighted average is
    larger still.  Against exp(-c R) that grows without bound when (5/6)^2 e^c > 1.
    """
    claim = order_of(statement)
    at = {sigma: 0, zeta: 0, zeta_star: 0, mu: 1, L: 1, D: 1, M: 2, S: 2, K: 1}
    printed = sympy.simplify(claim.value.subs(at))
    growth = sympy.simplify(Rational(25, 36) / (printed.subs(R, R + 1) / printed))
    if growth.free_symbols or not growth.is_positive:
        return Verdict(Status.OPEN, f"not geometric in R: {printed}")
    if (growth > 1) != sympy.true:
        return Verdict(Status.OPEN, f"measured / printed changes by {sympy.N(growth, 4)} a round: no contradiction")
    ratios = {rounds: float(Rational(25, 36) ** rounds / 2 / printed.subs(R, rounds)) for rounds in (10, 50, 100)}
    return Verdict(
        Status.REFUTED,
        f"measured / printed grows by {sympy.N(growth, 4)} a round, beyond every constant and every polylogarithm",
        slack=0.0,
        witness={
            "F_m": "x^2/2, all clients", "mu": 1, "L": 1, "D": 1, "eta_tilde": "any <= 1/6",
            **{f"measured / printed at R = {rounds}, at least": ratio for rounds, ratio in ratios.items()},
        },
    )  # fmt: skip


def one_round(statement: Statement, full: bool = False) -> Verdict:
    """Orders without R >= 6L/mu: identical clients (L/2) x^2 in one direction, mu -> 0, R = 1, any eta_tilde <= 1/(6L).

    x^(1) >= (5/6) x^(0) and so is their mean: the gap is at least (L/2) (25/36) D^2, the printed order at most mu D^2.
    """
    claim = order_of(statement)
    ratios = {}
    for small in (Rational(1, 10**2), Rational(1, 10**4), Rational(1, 10**6)):
        at = {sigma: 0, zeta: 0, zeta_star: 0, mu: small, L: 1, D: 1, M: 2, S: 2, K: 1, R: 1}
        broken = [str(condition) for condition in statement.when if condition.relation.subs(at) == sympy.false]
        if broken:
            return Verdict(Status.OPEN, f"one round is excluded by {broken[0]}")
        ratios[f"mu = {small}"] = float(Rational(25, 72) / claim.value.subs(at))
    first, *_, last = ratios.values()
    if last < 50 * first:
        return Verdict(Status.OPEN, "measured / printed does not grow as mu falls")
    return Verdict(
        Status.REFUTED,
        "at R = 1 measured / printed grows like L/mu, beyond every constant",
        slack=0.0,
        witness={
            "F_m": "(x_1^2 + mu x_2^2)/2, all clients", "x0": "(1, 0)", "R": 1, "eta_tilde": "any <= 1/6",
            **{f"measured / printed at {where}, at least": ratio for where, ratio in ratios.items()},
        },
    )  # fmt: skip


# Claims in words


def _formulas(statement: Statement) -> tuple[sympy.Basic, ...]:
    assert isinstance(statement.claim, Words)
    return statement.claim.formulas


def rate(statement: Statement, full: bool = False) -> Verdict:
    """Corollary 1's dominant term as R grows, and its rate in M, K, R."""
    letters = {
        letter: sympy.Symbol(letter.name, positive=True) for letter in (M, K, R, sigma, zeta, zeta_star, D, A, beta)
    }
    needs_noise = not any(condition.relation == (sigma > 0) for condition in statement.when)
    for name, printed in zip(("strongly_convex", "general_convex", "nonconvex"), _formulas(statement), strict=True):
        first, *others = (t.value.subs(letters) for t in _order(f"cor1.{name}").terms)
        growth = letters[R]
        if any(sympy.limit(sympy.simplify(o / first), growth, sympy.oo) != 0 for o in others):
            return Verdict(Status.REFUTED, f"{name}: the first term does not dominate", witness={"case": name})
        rest = sympy.simplify(first / printed.subs(letters))
        if rest.free_symbols & {letters[M], letters[K], letters[R]}:
            witness = {"case": name, "ratio": str(rest)}
            return Verdict(Status.REFUTED, f"{name}: the first term is not of the printed rate", witness=witness)
    if needs_noise:
        return Verdict(
            Status.REFUTED,
            "for sigma = 0 the first term is zero and another one determines the rate",
            witness={"sigma": 0, "first term": 0, "rate, strongly convex": "1/(M R^2)"},
        )
    return Verdict(Status.PROVED, "limits of the ratios of Corollary 1's terms as R grows, sigma > 0")


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
    for formula in _formulas(statement):
        found = decide([mu <= L, decay < 1], formula.subs(exp(-mu * R / L), decay))
        if found.status is not Status.PROVED:
            at = {symbol: value for symbol, value in found.model.items() if symbol != decay}  # it divides both sides
            witness = {symbol.name: str(value) for symbol, value in at.items()}
            witness |= {"left side": str(formula.args[0].subs(at)), "right side": str(formula.args[1].subs(at))}
            says = "fails without noise and heterogeneity: SGD's last term has L for mu"
            return Verdict(found.status, says, witness=witness)
    return Verdict(Status.PROVED, "decided by z3")


def sgd_rr(statement: Statement, full: bool = False) -> Verdict:
    """Table 1's row at K = 1, sigma = 0; SGD-RR's order times mu has the same first term, and a smaller second one."""
    row = _order("table1.sfl_thm1").value.subs({K: 1, sigma: 0})
    ours, theirs, lower = _formulas(statement)
    if sympy.simplify(row - ours) != 0:
        return Verdict(Status.REFUTED, f"Table 1 gives {row}", witness={"table": str(row), "claimed": str(ours)})
    mine = {t.has(exp): t for t in sympy.Add.make_args(ours)}
    if sympy.simplify(mine[False] - lower) != 0:
        return Verdict(
            Status.REFUTED, "the lower bound differs", witness={"bound": str(mine[False]), "lower": str(lower)}
        )
    split = {t.has(exp): t for t in sympy.Add.make_args(sympy.expand(mu * theirs))}
    if sympy.simplify(split[False] - mine[False]) != 0:
        return Verdict(Status.REFUTED, "the first terms differ", witness={"SGD-RR times mu": str(split[False])})
    (mine_exp,), (theirs_exp,) = mine[True].atoms(exp), split[True].atoms(exp)
    found = decide([mu <= L], theirs_exp.args[0] <= mine_exp.args[0])
    return Verdict(found.status, "equal first terms after the factor mu; SGD-RR's exponent is M times as large")


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
    """Theorem 1 at sigma = 0, eta_tilde = M K eta: each term at most an absolute constant times the last formula's."""
    printed = _formulas(statement)[-1]
    theorem = bound_of(catalogue.find("sfl.thm1.strongly_convex"))
    terms = [sympy.simplify(t.value.subs(sigma, 0).subs(eta_tilde, M * K * eta)) for t in theorem.terms]
    claim = Order(theorem.quantity, tuple(_named(t) for t in sympy.Add.make_args(printed)))
    ledger = Ledger([mu <= L])
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
    "eq43": "eq42",
    "eq43.corrected": "eq42.corrected",
    "eq72": "eq71",
    "eq72.corrected": "eq71",
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
_FROM_ORDERS = {
    "eq10": "eq72",
    "eq11": "eq43",
    "eq10.corrected": "eq72.corrected",
    "eq11.corrected": "eq43.corrected",
    "table1.pfl_thm2": "cor2.strongly_convex",
    "table1.sfl_thm1": "cor1.strongly_convex",
    "table1.pfl_thm2.corrected": "cor2.strongly_convex",
    "table1.sfl_thm1.corrected": "cor1.strongly_convex",
}
_COUNTEREXAMPLES: list[tuple[Callable[[Statement, bool], Verdict], tuple[str, ...]]] = [
    (short_horizon, ("lemma7.eq38",)),
    (identical_clients, ("cor1.nonconvex", "cor2.nonconvex", "eq55", "eq81")),
    (along_flat, ("eq10", "eq11", "table1.pfl_thm2", "table1.sfl_thm1")),
    (one_round, ("eq43", "eq72")),
]
_CLAIMS: list[tuple[str, Callable[[Statement, bool], Verdict], tuple[str, ...]]] = [
    ("claim.rate", rate, ()),
    ("claim.rate.corrected", rate, ()),
    ("claim.sfl_better", advantage, ()),
    ("claim.minibatch", inequalities, ()),
    ("claim.sgd_rr", sgd_rr, ("table1.sfl_thm1",)),
    ("claim.local_steps", local_steps, ()),
    ("claim.cyclic", no_advantage, ()),
    ("claim.malinovsky", own_form, ("thm1.strongly_convex",)),
    ("claim.malinovsky.corrected", own_form, ("thm1.strongly_convex",)),
    ("lemma3", lemma3_parts, ("lemma3.mean", "lemma3.swr", "lemma3.swor")),
]


def evidence() -> Iterator[Evidence]:
    """Orders, claims, and what refutes them."""
    for name, source in _TUNED.items():
        lemma = "lemma7.eq39.cubic" if _order(name).value.has(exp) else "lemma8.eq45"
        yield as_evidence("sfl", name, "ledger", proof(tuned(source), source, lemma))
    for theorem in ("1", "2"):
        name, source = f"cor{theorem}.strongly_convex", f"thm{theorem}.strongly_convex"
        yield as_evidence("sfl", name, "ledger", proof(printed_tuning(source), source, "lemma7.eq39"))
        yield as_evidence("sfl", name, "repair", proof(tuned(source), source, "lemma7.eq39.cubic"))
    yield as_evidence("sfl", "eq47", "repair", proof(tuned("eq46.corrected"), "eq46.corrected", "lemma8.eq45"))
    for name, source in _FROM_ORDERS.items():
        yield as_evidence("sfl", name, "ledger", proof(from_order(source), source))
    yield as_evidence("sfl", "lemma7.eq39", "ledger", proof(eq39, "lemma7.eq39.cubic"))
    yield as_evidence("sfl", "lemma7.tuning", "ledger", proof(tuning))
    for check, names in _COUNTEREXAMPLES:
        for name in names:
            yield Evidence(f"sfl.{name}", "counterexample", check)
    for name, check, uses in _CLAIMS:
        yield Evidence(f"sfl.{name}", "derivation", check, tuple(f"sfl.{u}" for u in uses))
