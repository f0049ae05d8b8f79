"""What follows from the bounds, and what does not: orders after tuning, Table 1, and the claims in words.

An order is replayed from its explicit bound: every summand must be at most an absolute constant times a printed term.
Counter-examples to orders are families along which measured / printed grows without bound: no constant can repair them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sympy
from sympy import Max, Rational, exp

from theory import catalogue
from theory.proofs import orders
from theory.proofs.argument import Argument, Fact, Proof, as_evidence, spread_out
from theory.proofs.arithmetic import at_least, at_most, decide, everywhere
from theory.proofs.ledger import Ledger, bound_of, conditions_of
from theory.proofs.orders import covered, order_of
from theory.sfl.ledgers import as_sequence
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
    b,
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
    r_next,
    r_t,
    s_t,
    sigma,
    zeta,
    zeta_star,
)
from theory.sfl.quantities import LANGUAGE
from theory.statement import Evidence, Order, Statement, Status, Term, Verdict, Words


def _order(name: str) -> Order:
    return order_of(catalogue.find(f"sfl.{name}"))


# Orders from recursions, by Lemmas 7 and 8 at the step size that they choose


def tuned_terms(lemma: str, at: Mapping[sympy.Expr, sympy.Expr]) -> tuple[Term, ...]:
    """Summands of a lemma's tuned bound with its letters replaced, over b.

    Powers p <= 1 of sums are at most the sums of the powers, a maximum at most the sum, 1/(T + 1) at most 1/T;
    logarithms are left out.
    """
    terms = []
    for term in bound_of(catalogue.find(f"sfl.{lemma}")).terms:
        general = term.value.replace(sympy.log, lambda _: sympy.Integer(1)) / at[b]
        split = [letter for letter in (c1, c2, d) if letter in general.free_symbols and not general.has(exp)]
        for letter in split[:1]:
            terms += [Term(term.name, _larger(general.subs(letter, part), at)) for part in _summands(at[letter])]
        if not split:
            terms.append(Term(term.name, _larger(general, at)))
    return tuple(terms)


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


def _larger(e: sympy.Expr, at: Mapping[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    return e.subs(T + 1, T).subs(dict(at), simultaneous=True)


def tuned(bound: str, recursion: str, full: bool = False, any_count: bool = False) -> Proof:
    """An order: the recursion at the step size that Lemma 7 or 8 chooses, applied as `bound` applies it.

    full       S = M
    any_count  the order is claimed for M = 1 too
    """

    def proof(p: Argument) -> None:
        if not (full or any_count):
            tune(p, bound, recursion, {})
            return
        copies = {M: sympy.Integer(2), S: sympy.Integer(1), **dict.fromkeys((zeta, zeta_star, beta), sympy.Integer(0))}

        def one() -> None:
            p.copied()
            tune(p, bound, recursion, copies)

        p.split(M, lambda: tune(p, bound, recursion, {S: M} if full else {}), one)

    return proof


def tune(p: Argument, bound: str, recursion: str, letters: Mapping[sympy.Expr, sympy.Expr]) -> None:
    """The order of a bound's tuned form, its letters replaced."""
    source = catalogue.find(f"sfl.{bound}")
    step = sympy.Symbol("step", positive=True)  # the tuned eta_tilde
    at, lemma = application(source, letters)
    chosen = catalogue.find(f"sfl.{lemma}").where[gamma]
    if 1 / d not in chosen.args and d not in (1 / chosen).args:
        p.fail("the choice of gamma", f"{chosen} is not at most 1/d")
    under = [at_most(step * at[d], 1)]
    local = (step * eta / source.where[eta_tilde]).subs(dict(letters), simultaneous=True)
    own = {mu: sympy.Integer(0)} if a not in at and p.speaks_of(recursion, mu) else {}
    fact = p.claim(recursion, {eta: local, **letters, **own}, under=under)
    fact, state, of = as_sequence(p, fact)
    at |= {gamma: step, r_next: state[0], r_t: state[1], s_t: of}
    if p.start_of(state[1]) != at[r0]:
        p.fail("the start", f"the lemma is applied from {at[r0]}, a run starts from {p.start_of(state[1])}")
    given = {"lemma7.cubic" if a in at else "lemma8": fact}
    mean = p.average(Fact(of, "<=", sympy.Integer(0)), of, sympy.Integer(1)).quantity

    def noisy() -> None:
        p.claim(lemma, at, given=given, under=under)
        orders.conclude(p, Order(mean, tuned_terms(lemma, at), polylog=a in at))

    def exact() -> None:
        """Without noise and heterogeneity: the largest step size."""
        largest = {**at, gamma: 1 / at[d]}
        p.require("neither c_1 nor c_2", sympy.Eq(at[c1] + at[c2], 0, evaluate=False))
        p.claim("lemma7.eq38.cubic", largest, given={"lemma7.cubic": at_step(p, fact, step, 1 / at[d])})
        decayed = 3 * at[a] * at[r0] * exp(-at[a] * R / at[d]) / at[b]
        orders.conclude(p, Order(mean, (Term("optimisation", decayed),)))

    if a in at:
        p.split_zero((a * T * c1 + c2).subs(at, simultaneous=True), noisy, exact)
    else:
        noisy()


def at_step(p: Argument, recursion: Fact, step: sympy.Symbol, chosen: sympy.Expr) -> Fact:
    """A recursion that was derived for every step size up to a limit, at one of them."""
    return Fact(recursion.quantity, recursion.sign, recursion.value.subs(step, chosen))


def application(bound: Statement, letters: Mapping[sympy.Expr, sympy.Expr]) -> tuple[dict[sympy.Expr, sympy.Expr], str]:
    """How a bound applies its recursion lemma, its letters replaced, and the lemma's part that tunes the step size."""
    if bound.applies is None:
        raise ValueError(f"{bound.id} applies no recursion lemma")
    substitution = bound.applies.substitution.items()
    at = {sfl.symbols[name].sympy: e.subs(dict(letters), simultaneous=True) for name, e in substitution}
    if c in at:
        at[c1] = at.pop(c)
    return at, "lemma7.eq39.cubic" if a in at else "lemma8.eq45.corrected"


def from_order(source: str) -> Proof:
    """An order from another one."""

    def proof(p: Argument) -> None:
        orders.conclude(p, orders.claim(p, source))

    return proof


def eq39(p: Argument) -> None:
    """(39): the explicit tuned bound at c2 = 0."""
    none = {c1: c, c2: sympy.Integer(0)}
    explicit = p.claim("lemma7.eq39.cubic", none, given={"lemma7.cubic": p.claim("lemma7")})
    value = explicit.value.replace(sympy.log, lambda _: sympy.Integer(1))
    terms = tuple(_named(t) for t in sympy.Add.make_args(spread_out(value)))
    orders.conclude(p, Order(explicit.quantity, terms, polylog=True))


def tuning(p: Argument) -> None:
    """The printed choice of gamma is that of (39), and 1/(2a(T+1)) <= log 2/(aT), as noted there."""
    choice = catalogue.find("sfl.lemma7.eq39").where[gamma]
    p.conclude(Fact(gamma, "=", choice))
    y, q = sympy.Symbol("x", real=True), sympy.Symbol("log2", positive=True)
    p.step("log 2 >= 1/2", lambda: everywhere(sympy.log(y) >= Rational(1, 2) + 0 * y, y, 2, 2))
    p.require("1/(2a(T+1)) <= log 2/(aT)", at_most(1 / (2 * a * (T + 1)), q / (a * T)), at_least(q, Rational(1, 2)))


def printed_tuning(bound: str, recursion: str) -> Proof:
    """The printed tuning of the strongly convex orders: (39)'s step size needs c > 0, and c is c1."""

    def proof(p: Argument) -> None:
        at, _ = application(catalogue.find(f"sfl.{bound}"), {S: M})
        at[c] = at.pop(c1)
        p.source("lemma7.tuning", {letter: e for letter, e in at.items() if letter in (a, c, d, r0, T)})
        p.split(M, lambda: tune(p, bound, recursion, {S: M}), lambda: p.done())

    return proof


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


_SC, _GC = "eq41.corrected", "step.gc_recursion.corrected"  # one round of SFL, strongly convex and general convex
_NC, _NC_PFL = "step.eq54_recursion.corrected", "step.eq80_recursion.corrected"
_ORDERS: dict[str, Proof] = {
    "eq43": tuned("eq42", "eq41"),
    "eq43.corrected": tuned("eq42.corrected", _SC),
    "eq72": tuned("eq71", "eq70"),
    "eq72.corrected": tuned("eq71", "eq70"),
    "eq47": tuned("eq46", "step.gc_recursion", any_count=True),
    "eq74": tuned("eq73", "eq70", any_count=True),
    "eq55": tuned("eq54", "step.eq54_recursion"),
    "eq55.corrected": tuned("eq54.corrected", _NC),
    "eq81": tuned("eq80", "step.eq80_recursion"),
    "eq81.corrected": tuned("eq80.corrected", _NC_PFL),
    "cor1.strongly_convex": printed_tuning("eq42.corrected", _SC),
    "cor2.strongly_convex": printed_tuning("eq71", "eq70"),
    "cor1.general_convex": tuned("eq46.corrected", _GC, full=True),
    "cor2.general_convex": tuned("eq73", "eq70", full=True),
    "cor1.nonconvex": tuned("eq54.corrected", _NC, full=True),
    "cor1.nonconvex.corrected": tuned("eq54.corrected", _NC, full=True),
    "cor2.nonconvex": tuned("eq80.corrected", _NC_PFL, full=True),
    "cor2.nonconvex.corrected": tuned("eq80.corrected", _NC_PFL, full=True),
    "lemma7.eq39": eq39,
    "lemma7.tuning": tuning,
}
_ORDER_REPAIRS: dict[str, Proof] = {
    "cor1.strongly_convex": tuned("eq42.corrected", _SC, full=True),
    "cor2.strongly_convex": tuned("eq71", "eq70", full=True),
    "eq47": tuned("eq46.corrected", _GC, any_count=True),
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
    from_orders = {name: from_order(source) for name, source in _FROM_ORDERS.items()}
    for kind, proofs in (("ledger", {**_ORDERS, **from_orders}), ("repair", _ORDER_REPAIRS)):
        for name, proof in proofs.items():
            yield as_evidence(name, kind, proof, LANGUAGE, "sfl")  # type: ignore[arg-type]
    for check, names in _COUNTEREXAMPLES:
        for name in names:
            yield Evidence(f"sfl.{name}", "counterexample", check)
    for name, check, uses in _CLAIMS:
        yield Evidence(f"sfl.{name}", "derivation", check, tuple(f"sfl.{u}" for u in uses))
