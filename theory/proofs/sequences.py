"""From one round to a whole run: recursions added up with weights."""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy.logic.boolalg import Boolean

from theory.proofs.argument import Argument, Fact
from theory.proofs.arithmetic import at_least, at_most


def telescope(
    p: Argument,
    recursion: Fact,
    state: tuple[sympy.Expr, sympy.Symbol],
    progress: sympy.Symbol,
    start: sympy.Expr,
    total: sympy.Expr,
    end: sympy.Expr = sympy.S.Zero,
) -> Fact:
    """The weighted mean of the progress, from next <= rho state - P progress + noise in every round.

    With the weights w_t = rho^-(t+1) the recursion times w_t adds up over t = 0 ... T: the states cancel but for the
    first, of weight w_{-1} = 1, and the last, which is >= 0 and dropped.  `total` is w_0 + ... + w_T.

    state     (what the recursion bounds, the same a round earlier); non-negative both
    progress  the quantity whose mean is bounded; it is the quantity of the fact
    start     the state at t = 0
    end       the state after the last round, where it is kept: then all weights are 1
    """
    after, before = state
    if recursion.sign not in ("<=", "=") or recursion.quantity != after:
        p.fail("telescoped", f"{recursion.quantity} {recursion.sign} ... is no upper bound on {after}")
    e = sympy.expand(recursion.value)
    rho, gained = e.coeff(before), -e.coeff(progress)
    noise = sympy.expand(e - rho * before + gained * progress)
    if {before, progress} & (noise.free_symbols | rho.free_symbols | gained.free_symbols):
        p.fail("telescoped", f"{recursion.value} is not linear in {before} and {progress}")
    t = sympy.Symbol("t", integer=True, nonnegative=True)
    if rho != 1:
        p.require("the weights are positive", sympy.Gt(rho, 0, evaluate=False))
    weight = rho ** (-(t + 1))
    p.equal("w_t rho = w_{t-1}", weight * rho, weight.subs(t, t - 1))
    p.equal("w_{-1} = 1", weight.subs(t, -1), sympy.Integer(1))
    p.require("there is progress", sympy.Gt(gained, 0, evaluate=False))
    p.require("the weights' sum is positive", sympy.Gt(total, 0, evaluate=False))
    if end != 0:
        p.equal("the last state has the weight 1", rho, sympy.Integer(1))
    elif after.is_nonnegative is not True:
        p.require("the last state is not negative", at_least(after, 0))
    kept = "dropped" if end == 0 else "kept"
    reason = f"the recursion times its weights, added up over the rounds; the last state is {kept}"
    return p.by_hand(reason, progress, "<=", sympy.expand(((start - end) / total + noise) / gained), recursion)


def induction(
    p: Argument,
    state: tuple[sympy.Expr, sympy.Symbol],
    bound: sympy.Expr,
    step: tuple[sympy.Symbol, int],
    start: sympy.Expr,
    prove: Callable[[Boolean], Fact],
) -> Fact:
    """The state is at most a bound at every step: it is so at the first, and at the next where it is so at one.

    state  a step later, and now
    bound  in the letter of the step
    step   its letter, and the first step
    start  the state at the first step
    prove  from the hypothesis at one step: the state a step later is at most ...
    """
    after, before = state
    letter, first = step
    p.require("the induction begins", at_most(start, bound.subs(letter, first)))
    hypothesis = at_most(before, bound)
    fact = prove(hypothesis)
    if fact.sign not in ("<=", "=") or fact.quantity != after:
        p.fail("the induction goes on", f"{fact.quantity} {fact.sign} ... is no upper bound on {after}")
    goal = at_most(fact.value, bound.subs(letter, letter + 1))
    p.require("the induction goes on", goal, hypothesis, at_least(letter, first))
    return p.by_hand("induction over the steps", before, "<=", bound, fact)
