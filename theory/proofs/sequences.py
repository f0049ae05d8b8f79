"""From one round to a whole run: recursions added up with weights."""

from __future__ import annotations

import sympy

from theory.proofs.argument import Argument, Fact
from theory.proofs.arithmetic import at_least, at_most, everywhere
from theory.proofs.rules import ONE_MINUS


def telescope(
    p: Argument,
    recursion: Fact,
    state: tuple[sympy.Expr, sympy.Symbol],
    progress: sympy.Symbol,
    start: sympy.Expr,
    total: sympy.Expr,
) -> Fact:
    """The weighted mean of the progress, from next <= rho state - P progress + noise in every round.

    With the weights w_t = rho^-(t+1) the recursion times w_t adds up over t = 0 ... T: the states cancel but for the
    first, of weight w_{-1} = 1, and the last, which is >= 0 and dropped.  `total` is w_0 + ... + w_T.

    state     (what the recursion bounds, the same a round earlier); non-negative both
    progress  the quantity whose mean is bounded; it is the quantity of the fact
    start     the state at t = 0
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
    if after.is_nonnegative is not True:
        p.require("the last state is not negative", at_least(after, 0))
    reason = "the recursion times its weights, added up over the rounds; the last state is dropped"
    return p.by_hand(reason, progress, "<=", sympy.expand((start / total + noise) / gained), recursion)


def gathered(p: Argument, fact: Fact, state: tuple[sympy.Symbol, sympy.Symbol], rho: sympy.Expr) -> Fact:
    """A bound on a sum of quantities of the next round as a recursion for one letter: next <= rho state + the rest.

    `Language.earlier` tells each quantity a round earlier, of which the bound may contain rho times as much.  The sum is
    not negative: its coefficients are not, nor are the quantities.

    state  (next, state), the letters for the sum and for the same a round earlier
    """
    quantity, value = sympy.expand(fact.quantity), sympy.expand(fact.value)
    rest = value
    for after in sorted(quantity.free_symbols & set(p.language.earlier), key=str):
        before, weight = p.language.earlier[after], quantity.coeff(after)
        p.require(f"{after} counts with a weight >= 0", at_least(weight, 0))
        p.require(f"{before} returns at most {rho} times", at_most(value.coeff(before), rho * weight))
        quantity, rest = sympy.expand(quantity - weight * after), sympy.expand(rest - value.coeff(before) * before)
    if quantity != 0 or fact.sign not in ("<=", "="):
        p.fail("as a recursion", f"{fact.quantity} {fact.sign} ... is no upper bound on a state of the next round")
    reason = "a sum of quantities that are not negative, as one letter"
    return p.by_hand(reason, state[0], "<=", rho * state[1] + rest, fact)


def at_start(p: Argument, quantity: sympy.Expr) -> sympy.Expr:
    """What a sum of quantities of the next round is a round earlier than the first one."""
    earlier = quantity.subs(dict(p.language.earlier), simultaneous=True)
    return earlier.subs(dict(p.language.start), simultaneous=True)


def contracted(p: Argument, mean: Fact, total: sympy.Symbol, q: sympy.Expr, count: sympy.Expr, times: int = 2) -> Fact:
    """A telescoped bound whose weights are w_t = (1-q)^-(t+1), t = 0 ... count-1, with their sum `total` from below.

    The sum is (1 - P)/(q P), P = (1-q)^count <= exp(-q count) <= 1 - 1/times where q count >= 1/(times - 1): so
    1/total <= times q exp(-q count).
    """
    u, P, decay, x = sympy.symbols("u P decay x", positive=True)
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    closed = ((1 - u) ** (-n) - 1) / u
    p.equal("the weights' sum, 0 rounds", closed.subs(n, 0), sympy.Integer(0))
    p.equal("the weights' sum, one more", closed.subs(n, n + 1), closed + (1 - u) ** (-(n + 1)))
    below = p.by(ONE_MINUS, q)
    if sympy.expand(below.slack - (sympy.exp(-q) - (1 - q))) != 0:
        p.fail("1 - u <= exp(-u)", "the rule does not say so")
    p.require("0 < q < 1", [sympy.Gt(q, 0, evaluate=False), sympy.Gt(1 - q, 0, evaluate=False)])
    least, most = sympy.Rational(1, times - 1), 1 - sympy.Rational(1, times)
    p.require(f"q times the rounds is at least {least}", at_least(q * count, least))
    p.step(f"exp(-{least}) <= {most}", lambda: everywhere(sympy.exp(-x) <= most + 0 * x, x, least, least))
    known = [at_most(P, decay), at_most(decay, most)]
    p.require("1/total from above", at_most(u * P / (1 - P), times * u * decay), *known)
    value = sympy.expand(mean.value)
    of_start = value.coeff(total, -1)
    p.require("the start counts with a factor >= 0", at_least(of_start, 0))
    rest = sympy.expand(value - of_start / total)
    bound = sympy.expand(times * q * of_start) * sympy.exp(-q * count) + rest
    return p.by_hand("the weights' sum by its closed form", mean.quantity, mean.sign, bound, mean)
