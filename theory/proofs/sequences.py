"""From one round to a whole run: weighted sums of recursions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory.field import OwnQuantity, RoundQuantity
from fedtheory.theory.proofs.argument import WITHOUT_LEMMA, Argument, Fact, OverRounds, spread_out
from fedtheory.theory.proofs.arithmetic import at_least, at_most, everywhere
from fedtheory.theory.proofs.forms import Family, families_of, replaced
from fedtheory.theory.proofs.ledger import powers
from fedtheory.theory.proofs.rules import ONE_MINUS, RuleInstance


def telescope(
    p: Argument,
    recursion: Fact,
    state: tuple[sympy.Expr, sympy.Symbol],
    progress: sympy.Symbol,
    start: sympy.Expr,
    total: sympy.Expr,
    end: sympy.Expr = sympy.S.Zero,
    count: sympy.Expr | None = None,
) -> Fact:
    """The weighted mean of the progress, from next <= rho state - P progress + noise in every round.

    Multiply the recursion by w_t = rho^-(t+1) and sum over t = 0 ... T.  All states cancel except the first, with weight
    w_{-1} = 1, and the last, which is >= 0 and dropped.  `total` is w_0 + ... + w_T.

    state     (the quantity that the recursion bounds, the same quantity a round earlier); both >= 0
    progress  the quantity whose mean is bounded; it is the quantity of the returned fact
    start     the state at t = 0
    end       the state after the last round, if it is kept; then all weights are 1
    count     the number of rounds, if `total` is not this number
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
    reason = "the recursion times its weights, added up over the rounds; the last state is dropped"
    at = {"after": after, "before": before, "progress": progress, "keeps": rho, "gained": gained, "noise": noise}
    by = OverRounds("telescope", at | {"start": start, "end": end, "total": total, "count": count or total})
    value = sympy.expand(((start - end) / total + noise) / gained)
    return p.by_hand(reason, progress, "<=", value, recursion, by=by)


def _recursion(p: Argument, name: str, recursion: Fact, state: sympy.Expr, keeps: sympy.Expr) -> sympy.Expr:
    """The part of a recursion beyond `keeps` times the state; each part of the state may also have a smaller factor."""
    after = state.subs(dict(p.language.following), simultaneous=True)
    if recursion.sign not in ("<=", "=") or sympy.expand(recursion.quantity - after) != 0:
        p.fail(name, f"{recursion.quantity} {recursion.sign} ... is no upper bound on {after}")
    value, rest = spread_out(recursion.value), sympy.Integer(0)
    parts = _parts(p, state)
    for part in parts:
        kept, whole = value.coeff(part), sympy.expand(state).coeff(part)
        ratio = sympy.simplify(kept / whole)
        if ratio != keeps:
            p.require(f"{name}: factor of {part}", at_most(ratio, keeps))
        rest -= kept * part
    rest = spread_out(value + rest)
    if set(parts) & rest.free_symbols:
        p.fail(name, f"{recursion.value} is not linear in {state}")
    return rest


def _same_each_round(p: Argument, name: str, rest: sympy.Expr) -> None:
    """What a recursion adds in each round may have no quantity of the round: that is another number in each."""
    of_round = {*p.language.means, *p.language.following, *p.language.following.values()}
    if varying := sorted((s for s in rest.free_symbols if isinstance(s, RoundQuantity) or s in of_round), key=str):
        p.fail(name, f"it adds {varying[0]}, which is another number in each round")


def _parts(p: Argument, state: sympy.Expr) -> list[sympy.Symbol]:
    """The quantities, all >= 0, of which a state is a combination with positive weights."""
    parts = sorted(state.free_symbols & set(p.language.following), key=str)
    for part in parts:
        weight = sympy.expand(state).coeff(part)
        if not (part.is_nonnegative and weight.is_positive):
            p.fail(f"the state {state}", f"{weight} {part} may be negative")
        p.not_negative(part)
    return parts


def averaged(p: Argument, recursion: Fact, state: sympy.Expr, progress: sympy.Symbol, rounds: sympy.Expr) -> Fact:
    """The mean of the progress over the rounds, from next <= state - P progress + noise in each round.

    In the sum over the rounds, all states cancel except the first and the last; the last is >= 0 and dropped.
    """
    rest = _recursion(p, "telescoped", recursion, state, sympy.Integer(1))
    gained = -rest.coeff(progress)
    noise = spread_out(rest + gained * progress)
    _same_each_round(p, "telescoped", noise)
    p.require("there is progress", sympy.Gt(gained, 0, evaluate=False))
    start = _at_first(p, state)
    names = [quantity for quantity, of in {**p.language.mean, **p.language.average}.items() if of == progress]
    if not names:
        p.fail("telescoped", f"the language has no mean of {progress} over the rounds")
    value = spread_out((start / rounds + noise) / sympy.factor(gained))
    at = {"after": recursion.quantity, "before": state, "progress": progress, "keeps": sympy.Integer(1), "noise": noise}
    by = OverRounds("average", at | {"gained": sympy.factor(gained), "start": start, "total": rounds, "count": rounds})
    reason = "the recursion added up over the rounds"
    return p.by_hand(reason, names[0] if names else progress, "<=", value, recursion, by=by)


def lasting(p: Argument, recursion: Fact, state: sympy.Expr, keeps: sympy.Expr, rounds: sympy.Symbol) -> Fact:
    """From next <= keeps * state + noise in each round to the state after the last: keeps^R start + noise / (1 - keeps)."""
    noise = _recursion(p, "contracted", recursion, state, keeps)
    _same_each_round(p, "contracted", noise)
    loses = sympy.factor(1 - keeps)
    p.require("0 <= contraction < 1", [at_least(keeps, 0), sympy.Gt(loses, 0, evaluate=False)])
    if not noise.is_nonnegative:
        p.require("the noise is not negative", at_least(noise, 0))
    start = _at_first(p, state)
    value = spread_out(keeps**rounds * start + spread_out(noise / loses))
    last = [part for part in _parts(p, state) if part in p.language.last]
    reason = "the recursion round after round"
    at = {"after": recursion.quantity, "before": state, "keeps": keeps, "noise": noise, "loses": loses, "start": start}
    by = OverRounds("last", at | {"count": rounds, "factor": spread_out(keeps**rounds * start).coeff(start, 0)})
    if len(last) > 1 and len(last) == len(_parts(p, state)):
        return p.by_hand(reason, replaced(state, p.language.last), "<=", value, recursion, by=by)
    if len(last) != 1:
        p.fail("the last round", f"expected exactly one part of {state} with a name after the last round")
        return recursion
    weight = sympy.expand(state).coeff(last[0])  # the other parts are not negative, and dropped
    return p.by_hand(reason, p.language.last[last[0]], "<=", spread_out(value / weight), recursion, by=by)


def within(p: Argument, recursion: Fact, state: sympy.Symbol, keeps: sympy.Expr) -> Fact:
    """From next <= keeps * state + noise, by induction: a state never exceeds start + noise / (1 - keeps)."""
    noise = _recursion(p, "by induction", recursion, state, keeps)
    _same_each_round(p, "by induction", noise)
    loses = sympy.factor(1 - keeps)
    p.require("0 <= contraction < 1", [at_least(keeps, 0), sympy.Gt(loses, 0, evaluate=False)])
    bound = p.start_of(state) + spread_out(noise / loses)
    p.require("the start is below the bound", at_least(noise / loses, 0))
    p.equal("the bound is kept", keeps * noise / loses + noise, noise / loses)  # keeps * start <= start
    return p.by_hand("induction over the rounds", state, "<=", bound, recursion, by=WITHOUT_LEMMA)


def below_exponential(p: Argument, u: sympy.Expr) -> Fact:
    """1 - u <= exp(-u)."""
    rule = p.by(ONE_MINUS, u)
    (exponential,) = rule.slack.atoms(sympy.exp)
    return p.have("1 - u <= exp(-u)", 1 - u, "<=", exponential, rule)


def decayed(p: Argument, fact: Fact, rounds: sympy.Symbol) -> Fact:
    """Replace the only power of R in an upper bound by (1 - u)^R <= exp(-u R)."""
    value = spread_out(fact.value)
    (power,) = (a for a in value.atoms(sympy.Pow) if a.exp == rounds)
    u = sympy.simplify(1 - power.base)
    below = below_exponential(p, u)
    p.require("1 - u >= 0, so the power keeps the order", at_least(power.base, 0))
    coefficient = value.coeff(power)
    if fact.sign not in ("<=", "="):
        p.fail("(1 - u)^R <= exp(-u R)", f"the fact is no upper bound: {fact}")
    if not coefficient.is_nonnegative:
        p.require("before the power", at_least(coefficient, 0))
    bound = value.subs(power, sympy.exp(-u * rounds))
    return p.by_hand("(1 - u)^R <= exp(-u R)", fact.quantity, "<=", bound, fact, below)


def over_steps(p: Argument, fact: Fact, index: sympy.Symbol, steps: Family) -> RuleInstance:
    """A fact about the step with this index, summed over index = 0 ... mass-1."""
    one = p.every(fact)
    slack = sympy.Poly(one.slack, index)
    constant = slack.coeff_monomial(1)
    varying = sympy.expand(one.slack - constant)
    if any(steps in families_of(s) for s in varying.free_symbols):
        p.fail("summed over the steps", f"{varying} has a factor {index} before a vector of one step")
    return replace(one, slack=spread_out(steps.sum(constant) + powers(p, varying, index, steps.mass)))


def induction(
    p: Argument,
    state: tuple[sympy.Expr, sympy.Symbol],
    bound: sympy.Expr,
    step: tuple[sympy.Symbol, int],
    start: sympy.Expr,
    prove: Callable[[Boolean], Fact],
) -> Fact:
    """By induction, the state is at most the bound at every step.

    state  (the state a step later, the state now)
    bound  in terms of the symbol of the step
    step   (the symbol of the step, the first step)
    start  the state at the first step
    prove  takes the hypothesis at one step; returns an upper bound on the state a step later
    """
    after, before = state
    symbol, first = step
    p.require("the induction begins", at_most(start, bound.subs(symbol, first)))
    hypothesis = at_most(before, bound)
    fact = prove(hypothesis)
    if fact.sign not in ("<=", "=") or fact.quantity != after:
        p.fail("the induction goes on", f"{fact.quantity} {fact.sign} ... is no upper bound on {after}")
    goal = at_most(fact.value, bound.subs(symbol, symbol + 1))
    p.require("the induction goes on", goal, hypothesis, at_least(symbol, first))
    return p.by_hand("induction over the steps", before, "<=", bound, fact, by=WITHOUT_LEMMA)


def gathered(p: Argument, fact: Fact, state: tuple[sympy.Symbol, sympy.Symbol], rho: sympy.Expr) -> Fact:
    """A bound on a sum of quantities of the next round as a recursion for one symbol: next <= rho state + the rest.

    `Language.following` maps each quantity to the same one a round later.  The bound may contain at most rho times the
    earlier sum.  The sum is >= 0 because its coefficients and its quantities are.

    state  (next, state), the symbols for the sum and for the same sum a round earlier
    """
    quantity, value = sympy.expand(fact.quantity), sympy.expand(fact.value)
    rest, earlier = value, _earlier(p)
    for after in sorted(quantity.free_symbols & set(earlier), key=str):
        before, weight = earlier[after], quantity.coeff(after)
        p.require(f"{after} counts with a weight >= 0", at_least(weight, 0))
        p.not_negative(after)
        p.require(f"{before} returns at most {rho} times", at_most(value.coeff(before), rho * weight))
        quantity, rest = sympy.expand(quantity - weight * after), sympy.expand(rest - value.coeff(before) * before)
    if quantity != 0 or fact.sign not in ("<=", "="):
        p.fail("as a recursion", f"{fact.quantity} {fact.sign} ... is no upper bound on a state of the next round")
    reason = "a sum of quantities that are not negative, as one symbol"
    after = sympy.expand(fact.quantity)
    by = OverRounds("sum", {"after": after, "before": after.subs(earlier, simultaneous=True), "keeps": rho})
    return p.by_hand(reason, state[0], "<=", rho * state[1] + rest, fact, by=by)


def _earlier(p: Argument) -> dict[sympy.Expr, sympy.Expr]:
    return {after: before for before, after in p.language.following.items()}


def at_start(p: Argument, quantity: sympy.Expr) -> sympy.Expr:
    """The value of a sum of quantities at the start; the sum is given for the next round."""
    return _at_first(p, quantity.subs(_earlier(p), simultaneous=True))


def _at_first(p: Argument, state: sympy.Expr) -> sympy.Expr:
    """A state before the first round; what an author says of a quantity there is a premise."""
    for own in sorted((s for s in state.free_symbols if isinstance(s, OwnQuantity)), key=str):
        p._record("inference", f"before the first round {own} is at most {p.language.start[own]}")
    return state.subs(dict(p.language.start), simultaneous=True)


def contracted(
    p: Argument,
    mean: Fact,
    total: sympy.Symbol,
    q: sympy.Expr,
    count: sympy.Expr,
    times: sympy.Rational | int = 2,
    least: sympy.Rational | None = None,
) -> Fact:
    """A telescoped bound with weights w_t = (1-q)^-(t+1), t = 0 ... count-1, and their sum `total` bounded from below.

    The sum is (1 - P)/(q P) with P = (1-q)^count <= exp(-q count), which is <= 1 - 1/times if q count >= least and
    exp(-least) <= 1 - 1/times.  So 1/total <= times q exp(-q count).

    least  1/(times - 1) unless told
    """
    u, P, decay, x = sympy.symbols("u P decay x", positive=True)
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    closed = ((1 - u) ** (-n) - 1) / u
    p.equal("the weights' sum, 0 rounds", closed.subs(n, 0), sympy.Integer(0))
    p.equal("the weights' sum, one more", closed.subs(n, n + 1), closed + (1 - u) ** (-(n + 1)))
    below = below_exponential(p, q)
    p.require("0 < q < 1", [sympy.Gt(q, 0, evaluate=False), sympy.Gt(1 - q, 0, evaluate=False)])
    times = sympy.sympify(times)
    least, most = 1 / (times - 1) if least is None else least, 1 - 1 / times
    p.require(f"q times the rounds is at least {least}", at_least(q * count, least))
    p.step(f"exp(-{least}) <= {most}", lambda: everywhere(sympy.exp(-x) <= most + 0 * x, x, least, least))
    known = [at_most(P, decay), at_most(decay, most)]
    p.require("1/total from above", at_most(u * P / (1 - P), times * u * decay), *known)
    value = sympy.expand(mean.value)
    of_start = value.coeff(total, -1)
    p.require("the start counts with a factor >= 0", at_least(of_start, 0))
    rest = sympy.expand(value - of_start / total)
    bound = sympy.expand(times * q * of_start) * sympy.exp(-q * count) + rest
    at = {"total": total, "u": q, "start": of_start, "rest": rest, "times": times, "least": least, "count": count}
    by = OverRounds("contracted", at)
    return p.by_hand("the weights' sum by its closed form", mean.quantity, mean.sign, bound, mean, below, by=by)
