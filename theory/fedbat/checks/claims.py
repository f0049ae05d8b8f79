"""Claims about the bounds: heterogeneity, constants and rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import sympy
from sympy import Max

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks.operator import OPERATOR, Check, decided, relations_of
from fedtheory.theory.fedbat.checks.quantities import EVERY, F_fun, lowest, w_star
from fedtheory.theory.fedbat.symbols import B, F_i_star, F_star, K, L, N, R, T, k, mu, p as p_list, p_sq, q, tau
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.argument import Argument, as_evidence, curried
from fedtheory.theory.proofs.arithmetic import Decision, decide
from fedtheory.theory.proofs.rules import ATTAINED, LOWEST_OF_CLIENT, MEAN_VALUE
from fedtheory.theory.statement import Bound, Evidence, Order, Statement, Status, Verdict, Words


def heterogeneity(p: Argument) -> None:
    """Gamma >= 0: F* = sum_k p_k F_k(w*), and F_k(w*) >= F_k*."""
    shares, minima = (sympy.IndexedBase(symbol.name, real=True) for symbol in (p_list, F_i_star))
    own = sympy.Sum(shares[k] * minima[k], (k, 1, N))

    def read(e: sympy.Expr) -> sympy.Expr:
        return p.meaning(e.subs(own, EVERY.sum(EVERY.lowest)).subs(F_star, lowest))

    attained = p.by(ATTAINED, F_fun, w_star, lowest)
    mean = p.by(MEAN_VALUE, EVERY.function, F_fun, w_star, EVERY.family)
    below = p.by(LOWEST_OF_CLIENT, EVERY.function, w_star, EVERY.lowest).over(EVERY.family)
    p.conclude_form(read, part=0)
    p.conclude_form(read, below, mean, -1 * attained, part=1)


def constant_of(name: str) -> sympy.Expr:
    """The B of Theorem 1 or 2, from its first term, kappa/(gamma+T) 2B/mu."""
    statement = catalogue.find(f"fedbat.{name}")
    first = statement.claim_of(Bound).terms[0].value
    g = Max(8 * L / mu, catalogue.symbols(statement)["tau"].sympy) - 1
    return sympy.expand(sympy.simplify(first * (g + T) * mu**2 / (2 * L)))


@curried
def same_constant(p: Argument, source: str) -> None:
    """(26), (58): B as in the theorem."""
    p.conclude(p.by_hand(f"B as in {source}", B, "=", constant_of(source)))


def every_round(statement: Statement, full: bool = False) -> Verdict:
    """The end of the last of R rounds is a synchronisation step."""
    definition, claim = relations_of(statement)
    given = [definition.lhs <= definition.rhs, definition.lhs >= definition.rhs]
    found = decide(given, claim)
    return found.verdict(f"{found.says}, given {plain(definition)}")


def remark1(p: Argument) -> None:
    """K = N; q = 0, compared with (Li et al. 2020); tau = 1: the bound is O(1/T)."""
    claim = p.statement.claim_of(Words)
    full_B, partial_B = constant_of("thm1"), constant_of("thm2")
    li_full, li_partial = claim.formulas
    tau = catalogue.symbols(p.statement)["tau"].sympy
    p.equal("K = N, p_k = 1/N", partial_B.subs(K, N), full_B.subs(p_sq, 1 / N))
    p.equal("q = 0, Theorem 1", full_B.subs(q, 0), li_full)
    p.equal("q = 0, Theorem 2", partial_B.subs(q, 0), li_partial)
    slow = _limit(sum(t.value for t in catalogue.find("fedbat.thm2").claim_of(Bound).terms).subs({K: N, tau: 1}), 1 / T)
    if slow is not None:
        p.fail("K = N, tau = 1", f"not O(1/T), {slow}")


def _limit(e: sympy.Expr, rate: sympy.Expr) -> sympy.Expr | None:
    """The limit of e/rate for large T and fixed other symbols, if it is not finite; else None."""
    fixed = e.replace(Max, lambda *_: sympy.Symbol("c", positive=True))
    found = sympy.limit(sympy.simplify(fixed / rate), T, sympy.oo)
    return None if found.is_finite or not found.has(sympy.oo, sympy.zoo, sympy.nan) else found


@curried
def rates(p: Argument, suffix: str = "") -> None:
    """Remark 2: Theorems 1 and 2 against 1/T, Theorem 3 against 1/T and 1/sqrt(T), for growing R and T = R tau.

    suffix  suffix of the theorems' ids: of the printed or of the corrected ones
    """
    for name, part in (("thm1", 0), ("thm2", 0), ("thm3", 1)):
        fact, goal = p.claim(f"{name}{suffix}"), p.goals[part]
        if not isinstance(goal, Order) or goal.lower or goal.quantity != fact.quantity or fact.sign == ">=":
            p.fail(name, f"it bounds {fact.quantity} {fact.sign} ..., the claim says another thing")
            continue
        slowest = sympy.Add(*(term.value for term in goal.terms)).subs(T, R * tau)
        p.step(f"{name}: its order in R, all else fixed", partial(_of_order, fact.value, slowest))
        p.done(part)


def _of_order(value: sympy.Expr, order: sympy.Expr) -> Decision:
    """Whether value / order has a finite limit for large R and fixed other symbols."""
    fixed = value.replace(Max, lambda *_: sympy.Symbol("c", positive=True))
    found = sympy.limit(sympy.simplify(fixed / order), R, sympy.oo)
    if found.has(sympy.oo, sympy.zoo, sympy.nan):
        return Decision(Status.REFUTED, f"divided by the order it tends to {found}")
    if found.has(sympy.Limit):
        return Decision(Status.OPEN, "the limit was not found")
    return Decision(Status.PROVED, f"divided by the order it tends to {found}")


def evidence() -> Iterator[Evidence]:
    """Derivations, orders and counter-examples about the claims."""
    derivations: Mapping[str, Check] = {
        "def.Gamma": decided(heterogeneity),
        "eq26": decided(same_constant("thm1")),
        "eq58": decided(same_constant("thm2")),
        "d1.sync": every_round,
        "d1.sync.corrected": every_round,
        "remark1": decided(remark1),
    }
    for name, check in derivations.items():
        yield Evidence(f"fedbat.{name}", "derivation", check)
    yield as_evidence("remark2", "ledger", rates(), OPERATOR, "fedbat")
    yield as_evidence("remark2.corrected", "ledger", rates(".corrected"), OPERATOR, "fedbat")
