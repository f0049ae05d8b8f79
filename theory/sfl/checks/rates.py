"""Orders: the bounds after the step size has been tuned, and orders that follow from other orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy
from sympy import Max, Rational, exp

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import orders
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried, evidence_of, spread_out
from fedtheory.theory.proofs.arithmetic import at_least, at_most, everywhere
from fedtheory.theory.sfl.checks.ledgers import as_sequence
from fedtheory.theory.sfl.checks.quantities import LANGUAGE
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Bound, Evidence, Order, Statement, Term


def stated_order(name: str) -> Order:
    """The order that a statement claims."""
    return catalogue.find(f"sfl.{name}").claim_of(Order)


def named_term(e: sympy.Expr) -> Term:
    """A term, named by whether it falls exponentially."""
    return Term("exponential" if e.has(exp) else "polynomial", e)


def tuned_terms(lemma: str, at: Mapping[sympy.Expr, sympy.Expr]) -> tuple[Term, ...]:
    """Summands of a lemma's tuned bound with its symbols replaced, divided by b.

    A power p <= 1 of a sum is at most the sum of the powers, a maximum at most the sum, 1/(T + 1) at most 1/T.
    Logarithms are left out.
    """
    terms = []
    for term in catalogue.find(f"sfl.{lemma}").claim_of(Bound).terms:
        general = term.value.replace(sympy.log, lambda _: sympy.Integer(1)) / at[b]
        split = [symbol for symbol in (c1, c2, d) if symbol in general.free_symbols and not general.has(exp)]
        for symbol in split[:1]:
            terms += [Term(term.name, _larger(general.subs(symbol, part), at)) for part in _summands(at[symbol])]
        if not split:
            terms.append(Term(term.name, _larger(general, at)))
    return tuple(terms)


def _summands(e: sympy.Expr) -> list[sympy.Expr]:
    """Non-negative summands: a maximum becomes the sum of its arguments; M - S is not split."""
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


@curried
def tuned(p: Argument, bound: str, recursion: str, full: bool = False, any_count: bool = False) -> None:
    """An order: the recursion at the step size of Lemma 7 or 8, applied as in `bound`.

    full       S = M
    any_count  the order is claimed also for M = 1
    """
    if not (full or any_count):
        tune(p, bound, recursion, {})
        return
    copies = {M: sympy.Integer(2), S: sympy.Integer(1), **dict.fromkeys((zeta, zeta_star, beta), sympy.Integer(0))}

    def one() -> None:
        p.copied()
        tune(p, bound, recursion, copies)

    p.split(M, lambda: tune(p, bound, recursion, {S: M} if full else {}), one)


def tune(p: Argument, bound: str, recursion: str, symbols: Mapping[sympy.Expr, sympy.Expr]) -> None:
    """The order of a bound's tuned form, with its symbols replaced."""
    source = catalogue.find(f"sfl.{bound}")
    step = sympy.Symbol("step", positive=True)  # the tuned eta_tilde
    at, lemma = application(source, symbols)
    chosen = catalogue.find(f"sfl.{lemma}").where[gamma]
    if 1 / d not in chosen.args and d not in (1 / chosen).args:
        p.fail("the choice of gamma", f"{chosen} is not at most 1/d")
    under = [at_most(step * at[d], 1)]
    local = (step * eta / source.where[eta_tilde]).subs(dict(symbols), simultaneous=True)
    own = {mu: sympy.Integer(0)} if a not in at and p.speaks_of(recursion, mu) else {}
    fact = p.claim(recursion, {eta: local, **symbols, **own}, under=under)
    fact, state, of = as_sequence(p, fact)
    at |= {gamma: step, r_next: state[0], r_t: state[1], s_t: of}
    if p.start_of(state[1]) != at[r0]:
        p.fail("the start", f"the lemma starts from {at[r0]}, a run starts from {p.start_of(state[1])}")
    given = {"lemma7.cubic" if a in at else "lemma8": fact}
    mean = p.average(fact, of, sympy.Integer(1)).quantity

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
    """A recursion, derived for every step size up to a limit, at one of these step sizes."""
    value = recursion.value.subs(step, chosen)
    return p.by_hand("at one of the step sizes", recursion.quantity, recursion.sign, value, recursion)


def application(bound: Statement, symbols: Mapping[sympy.Expr, sympy.Expr]) -> tuple[dict[sympy.Expr, sympy.Expr], str]:
    """A bound's substitution into its recursion lemma, with symbols replaced, and the id of the part that tunes gamma."""
    if bound.applies is None:
        raise ValueError(f"{bound.id} applies no recursion lemma")
    substitution = bound.applies.substitution.items()
    at = {sfl.symbols[name].sympy: e.subs(dict(symbols), simultaneous=True) for name, e in substitution}
    if c in at:
        at[c1] = at.pop(c)
    return at, "lemma7.eq39.cubic" if a in at else "lemma8.eq45.corrected"


@curried
def from_order(p: Argument, source: str) -> None:
    """An order from another one."""
    orders.conclude(p, orders.claim(p, source))


def eq39(p: Argument) -> None:
    """(39): the explicit tuned bound with c2 = 0."""
    none = {c1: c, c2: sympy.Integer(0)}
    choice = catalogue.find("sfl.lemma7.eq39.cubic").where[gamma].subs(none)
    p.equal("the choice of gamma", p.statement.where[gamma], choice)
    explicit = p.claim("lemma7.eq39.cubic", none, given={"lemma7.cubic": p.claim("lemma7")})
    value = explicit.value.replace(sympy.log, lambda _: sympy.Integer(1))
    terms = tuple(named_term(t) for t in sympy.Add.make_args(spread_out(value)))
    orders.conclude(p, Order(explicit.quantity, terms, polylog=True))


def tuning(p: Argument) -> None:
    """The printed choice of gamma is the choice in (39), and 1/(2a(T+1)) <= log 2/(aT), as the paper notes there."""
    choice = catalogue.find("sfl.lemma7.eq39").where[gamma]
    p.conclude(p.by_hand("the step size of (39)", gamma, "=", choice))
    y, q = sympy.Symbol("x", real=True), sympy.Symbol("log2", positive=True)
    p.step("log 2 >= 1/2", lambda: everywhere(sympy.log(y) >= Rational(1, 2) + 0 * y, y, 2, 2))
    p.require("1/(2a(T+1)) <= log 2/(aT)", at_most(1 / (2 * a * (T + 1)), q / (a * T)), at_least(q, Rational(1, 2)))


@curried
def printed_tuning(p: Argument, bound: str, recursion: str, full: bool = False) -> None:
    """The printed tuning of the strongly convex orders: the step size in (39) needs c > 0, and c is c1."""
    at, _ = application(catalogue.find(f"sfl.{bound}"), {S: M} if full else {})
    at[c] = at.pop(c1)
    p.source("lemma7.tuning", {symbol: e for symbol, e in at.items() if symbol in (a, c, d, r0, T)})
    tuned(bound, recursion, full)(p)


_SC, _GC = "eq41.corrected", "step.gc_recursion.corrected"  # one round of SFL, strongly convex and general convex


_NC, _NC_PFL = "step.eq54_recursion.corrected", "step.eq80_recursion.corrected"


_ORDERS: dict[str, Proof] = {
    "eq43": printed_tuning("eq42", "eq41"),
    "eq72": printed_tuning("eq71", "eq70"),
    "eq47": tuned("eq46", "step.gc_recursion", any_count=True),
    "eq74": tuned("eq73", "eq70", any_count=True),
    "eq55": tuned("eq54", "step.eq54_recursion"),
    "eq55.corrected": tuned("eq54.corrected", _NC),
    "eq81": tuned("eq80", "step.eq80_recursion"),
    "eq81.corrected": tuned("eq80.corrected", _NC_PFL),
    "cor1.strongly_convex": printed_tuning("eq42.corrected", _SC, full=True),
    "cor2.strongly_convex": printed_tuning("eq71", "eq70", full=True),
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
    "eq43": tuned("eq42.corrected", _SC),
    "eq72": tuned("eq71", "eq70"),
    "cor1.strongly_convex": tuned("eq42.corrected", _SC, full=True),
    "cor2.strongly_convex": tuned("eq71", "eq70", full=True),
    "eq47": tuned("eq46.corrected", _GC, any_count=True),
}


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


def evidence() -> Iterator[Evidence]:
    """Ledgers and repairs of orders."""
    from_orders = {name: from_order(source) for name, source in _FROM_ORDERS.items()}
    yield from evidence_of({**_ORDERS, **from_orders}, "ledger", LANGUAGE, "sfl")
    yield from evidence_of(_ORDER_REPAIRS, "repair", LANGUAGE, "sfl")
