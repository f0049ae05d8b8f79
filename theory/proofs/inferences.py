"""A proof as a list: assumptions and inferences about a round, lemmas, and what leads from one round to all of them.

by=[smooth, noise.independent, jensen]      a lemma about a round, from the form of the algorithm's round
by=[descent, drift, polyak, contract]       a theorem, from the first lemma to the last
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy
from sympy.core.relational import Relational

from fedtheory.theory import field
from fedtheory.theory.field import Assumption
from fedtheory.theory.proofs import parallel
from fedtheory.theory.proofs.argument import Argument, Fact, curried, spread_out
from fedtheory.theory.proofs.arithmetic import at_least
from fedtheory.theory.proofs.forms import replaced
from fedtheory.theory.proofs.parallel import Uses, Vectors
from fedtheory.theory.proofs.rules import STRONGLY_POLYAK
from fedtheory.theory.proofs.sequences import averaged, lasting, within
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Statement


@dataclass(frozen=True)
class Inference:
    """A step of a proof, by name: what it makes of the fact so far; `of` is a lemma that it uses."""

    name: str
    step: Callable[[Argument, Fact], Fact]
    of: Statement | None = None


@dataclass(frozen=True)
class OfRound:
    """An inference about the vectors of a round, by name."""

    name: str
    uses: Uses


def _polyak(p: Argument, fact: Fact) -> Fact:
    """2 mu gap <= grad_sq, for a strongly convex F."""
    rule = p.by(STRONGLY_POLYAK, parallel.F, parallel.x, parallel.infimum)
    return p.put(fact, p.have("strongly convex", field.grad_sq, ">=", 2 * field.mu * field.gap, rule))


def _claimed(p: Argument, lemma: Statement, **about: Any) -> Fact:
    """A lemma's claim; one about a round in which all clients take part says nothing of a round of S sampled ones."""
    of_steps = {s for s in lemma.symbols if isinstance(s, field.RoundQuantity)} - field.AT_START
    if field.S in p.statement.symbols and field.S not in lemma.symbols and of_steps:
        p.fail(lemma.id, "is about a round of all clients, and the statement speaks of S sampled ones")
    return p.claim(lemma.id.partition(".")[2], **about)


def plus(weight: Any, lemma: Statement) -> Inference:
    """The fact so far, and a weight >= 0 times a lemma with <=, added up.  Raises ValueError for another weight."""
    weight = sympy.sympify(weight)
    if weight.is_negative or any(isinstance(s, field.RoundQuantity) for s in weight.free_symbols):
        raise ValueError(f"plus({weight}, {lemma.id}): expected a weight >= 0, made of constants")

    def step(p: Argument, fact: Fact) -> Fact:
        return p.added(fact, _claimed(p, lemma), p.read(weight))

    return Inference(f"plus({weight}, {lemma.id})", step, lemma)


def drop(quantity: sympy.Symbol) -> Inference:
    """A quantity of a round is not negative: where the bound subtracts it, it goes."""

    def step(p: Argument, fact: Fact) -> Fact:
        p.not_negative(quantity)
        zero = p.by_hand(f"{quantity} is not negative", quantity, ">=", sympy.S.Zero)
        return p.put(fact, zero)

    return Inference(f"drop({quantity})", step)


def only(quantity: sympy.Symbol) -> Inference:
    """From an upper bound on a sum of quantities >= 0 to one on this part of it."""

    def step(p: Argument, fact: Fact) -> Fact:
        parts = spread_out(fact.quantity)
        for one in sorted(parts.free_symbols & set(p.language.amounts), key=str):
            p.require(f"{one} counts with a factor >= 0", at_least(parts.coeff(one), 0))
            p.not_negative(one)
        weight = parts.coeff(quantity)
        p.require(f"{quantity} is a part", sympy.Gt(weight, 0, evaluate=False))
        return p.by_hand(f"{quantity} is a part of the sum", quantity, "<=", spread_out(fact.value / weight), fact)

    return Inference(f"only({quantity})", step)


def power(e: sympy.Pow) -> Inference:
    """A power of a count, whose base is in [0, 1), is a number in [0, 1): polynomial arithmetic reads no such power."""

    def step(p: Argument, fact: Fact) -> Fact:
        base, count = e.as_base_exp()
        if not (count.is_integer and count.is_positive):
            raise ValueError(f"power({e}): expected a power of a count, such as K")
        base = p.read(base)
        p.require(f"the base of {e}", [at_least(base, 0), sympy.Lt(base, 1, evaluate=False)])
        number = sympy.Symbol(f"power{len(p.names)}", nonnegative=True)
        p.names[base**count] = number
        p.conditions = [*p.conditions, sympy.Lt(number, 1)]
        return replace(fact, value=fact.value.xreplace(p.names))

    return Inference(f"power({e})", step)


def steady(lemma: Statement) -> Inference:
    """From a lemma next <= keeps * state + noise: the state never exceeds its start + noise / (1 - keeps)."""

    def step(p: Argument, fact: Fact) -> Fact:
        recursion = _claimed(p, lemma)
        state = _state(p, recursion)
        return p.put(fact, within(p, recursion, state, spread_out(recursion.value).coeff(state)))

    return Inference(f"steady({lemma.id})", step, lemma)


def contract_by(keeps: Any) -> Inference:
    """From next <= keeps * state + noise in each round to the last one; of a sum each part may be kept less."""

    def step(p: Argument, fact: Fact) -> Fact:
        return lasting(p, fact, _state(p, fact), p.read(sympy.sympify(keeps)), field.R)

    return Inference(f"contract_by({keeps})", step)


def _contract(p: Argument, fact: Fact) -> Fact:
    """From next <= keeps * state + noise in each round to the last one."""
    state = _state(p, fact)
    part = min(state.free_symbols & set(p.language.following), key=str, default=field.gap)
    keeps = sympy.factor(spread_out(fact.value).coeff(part) / sympy.expand(state).coeff(part))
    return lasting(p, fact, state, keeps, field.R)


def _telescope(p: Argument, fact: Fact) -> Fact:
    """From next <= state - progress + noise in each round to the mean of the progress: squared gradients, or gaps.

    The gap of the average of x_0 ... x_R, with equal weights, is at most the mean of R + 1 gaps, for a convex F.
    """
    state = _state(p, fact)
    if field.grad_sq in fact.value.free_symbols or field.gap in state.free_symbols:
        mean = averaged(p, fact, state, field.grad_sq, field.R)
        if (least := field.grad_sq.smallest) not in p.statement.symbols:
            return mean
        return p.by_hand("the smallest one is at most the mean", least, "<=", mean.value, mean)
    p.needs(Property.CONVEX_MEAN)
    if field.w_r in p.statement.symbols:
        p.fail("telescoped", "the weights of the average: expected equal ones")
    return averaged(p, fact, state, field.gap, field.R + 1)


def _state(p: Argument, fact: Fact) -> sympy.Expr:
    """What a fact bounds, before the round."""
    return replaced(fact.quantity, {after: before for before, after in p.language.following.items()})


@curried
def in_words(p: Argument, why: str, says: Relational, *used: Statement | Assumption) -> None:
    """A whole proof as one inference in words, which is a premise of the verdict.

    why   the reason
    says  what follows: quantity <= value; the claim must not say more
    used  lemmas, whose conditions and assumptions are then checked, and assumptions that it needs
    """
    for one in used:
        if isinstance(one, Statement):
            p.source(one.id.partition(".")[2])
        for needed in () if isinstance(one, Statement) else one.gives:
            p.needs(needed)
    p.conclude(p.by_hand(" ".join(why.split()), says.lts, "<=", says.gts))


@curried
def decreasing(p: Argument, lemma: Statement, first: Any, after: Any, most: Any) -> None:
    """A whole proof for step sizes eta = first / t in round r, t = r + after: the state is then at most most / t.

    lemma  next <= keeps * state + noise, for a step size eta
    most   at least `after` times the start
    """
    if own := {field.eta, field.h} & p.statement.symbols:
        p.fail(
            "the step sizes",
            f"the statement has {min(map(str, own))}: expected none, for they are {first}/(r + {after})",
        )
    p._record("inference", f"the step size of round r is {first}/(r + {after})")
    t = sympy.Symbol("t", positive=True)
    p.conditions = [*p.conditions, t >= after]
    fact = _claimed(p, lemma, at={field.eta: first / t}, under=[t >= after])
    state = _state(p, fact)
    if state not in p.language.last:
        raise ValueError(f"decreasing({lemma.id}, ...): expected a lemma about one quantity, not about {state}")
    p.compare("at the start", Fact(state, "<=", p.start_of(state)), Fact(state, "<=", spread_out(most / after)))
    then = p.put(fact, p.by_hand("in round r, by induction", state, "<=", spread_out(most / t)))
    p.compare("after round r", then, replace(then, value=spread_out(most / (t + 1))))
    p.conclude(p.by_hand("in round R, by induction", p.language.last[state], "<=", most / (field.R + after), then))


certificate = "certificate"  # in place of a list: see `fedtheory.bounds.certified_rounds`
polyak, contract, telescope = (
    Inference("polyak", _polyak),
    Inference("contract", _contract),
    Inference("telescope", _telescope),
)
jensen = OfRound("jensen", parallel.jensen)


def _positive(name: str, share: Any) -> None:
    e = sympy.sympify(share)
    if not isinstance(e, sympy.Expr) or e.is_positive is False or e.has(sympy.nan, sympy.oo):
        raise ValueError(f"{name}({share}): expected a positive share")


def young(share: Any = 1) -> OfRound:
    """2 <noise, rest> <= share ||noise||^2 + ||rest||^2 / share, for the noise of a round and the rest of its step.

    `jensen` has it with share 1, unless the list has another.  Raises ValueError for a share that is not positive.
    """
    _positive("young", share)
    return OfRound(f"young({share})", parallel.young(share))


def changes(share: Any) -> OfRound:
    """-2 <changes, G> <= share ||changes||^2 + ||G||^2 / share, with the local gradients' summed changes, G = grad F(x).

    Raises ValueError for a share that is not positive.
    """
    _positive("changes", share)
    return OfRound(f"changes({share})", parallel.changes(share))


_ASSUMED: Mapping[str, Uses] = {
    field.smooth.name: parallel.smoothness,
    field.convex.name: parallel.convexity,
    field.strongly_convex.name: parallel.convexity,
    field.noise.name: parallel.noise,
    field.noise.independent.name: parallel.independent_noise,
}


def composed(by: Iterable[Any], vectors: Callable[[Argument], tuple[str, Vectors]]) -> Callable[[Argument], None]:
    """The proof that a list says.

    by       first the assumptions and inferences about a round, if any; then lemmas, each put into the fact so far, and
             inferences, in their order
    vectors  the name of the algorithm, and the vectors of its round

    Raises ValueError for something else in the list.
    """
    several = list(by)
    uses = [_ASSUMED[one.name] for one in several if isinstance(one, Assumption) and one.name in _ASSUMED]
    uses += [one.uses for one in several if isinstance(one, OfRound)]
    if jensen in several and not any(one.name.startswith("young") for one in several if isinstance(one, OfRound)):
        uses.append(parallel.young(1))
    for one in several:
        if not isinstance(one, Statement | Inference | OfRound) and getattr(one, "name", None) not in _ASSUMED:
            shown = getattr(one, "name", repr(one))
            raise ValueError(
                f"by: {shown}: expected lemmas, {', '.join(_ASSUMED)}, jensen, young(...), changes(...), polyak, contract, "
                "contract_by(...), telescope, plus(...), drop(...), only(...), power(...) or steady(...)"
            )

    def proof(p: Argument) -> None:
        fact = parallel.one_round(p, *vectors(p), uses) if uses else None
        for one in several:
            if isinstance(one, Statement):
                claimed = _claimed(p, one)
                fact = claimed if fact is None else p.put(fact, claimed)
            elif isinstance(one, Inference):
                if fact is None:
                    raise ValueError(f"by: {one.name} comes first: expected a lemma, or assumptions, before it")
                fact = one.step(p, fact)
        assert fact is not None
        p.conclude(fact)

    return proof


__all__ = [
    "Inference", "OfRound", "certificate", "changes", "composed", "contract", "contract_by", "decreasing", "drop",
    "in_words", "jensen", "only", "plus", "polyak", "power", "steady", "telescope", "young",
]  # fmt: skip
