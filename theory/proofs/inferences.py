"""A proof as a list: assumptions and inferences about a round, lemmas, and what leads from one round to all of them.

by=[smooth, noise.independent, jensen]      a lemma about a round, from the form of the algorithm's round
by=[descent, drift, polyak, contract]       a theorem, from the first lemma to the last
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from fedtheory.theory import field
from fedtheory.theory.field import Assumption
from fedtheory.theory.proofs import parallel
from fedtheory.theory.proofs.argument import Argument, Fact, spread_out
from fedtheory.theory.proofs.forms import replaced
from fedtheory.theory.proofs.parallel import Uses, Vectors
from fedtheory.theory.proofs.rules import STRONGLY_POLYAK
from fedtheory.theory.proofs.sequences import averaged, lasting
from fedtheory.theory.statement import Statement


@dataclass(frozen=True)
class Inference:
    """A step of a proof, by name: what it makes of the fact so far."""

    name: str
    step: Callable[[Argument, Fact], Fact]


@dataclass(frozen=True)
class OfRound:
    """An inference about the vectors of a round, by name."""

    name: str
    uses: Uses


def _polyak(p: Argument, fact: Fact) -> Fact:
    """2 mu gap <= grad_sq, for a strongly convex F."""
    rule = p.by(STRONGLY_POLYAK, parallel.F, parallel.x, parallel.infimum)
    return p.put(fact, p.have("strongly convex", field.grad_sq, ">=", 2 * field.mu * field.gap, rule))


def _contract(p: Argument, fact: Fact) -> Fact:
    """From next <= keeps * state + noise in each round to the last one."""
    state = _state(p, fact)
    part = min(state.free_symbols & set(p.language.following), key=str, default=field.gap)
    keeps = sympy.factor(spread_out(fact.value).coeff(part) / sympy.expand(state).coeff(part))
    return lasting(p, fact, state, keeps, field.R)


def _telescope(p: Argument, fact: Fact) -> Fact:
    """From next <= state - progress + noise in each round to the mean of the progress."""
    return averaged(p, fact, _state(p, fact), field.grad_sq, field.R)


def _state(p: Argument, fact: Fact) -> sympy.Expr:
    """What a fact bounds, before the round."""
    return replaced(fact.quantity, {after: before for before, after in p.language.following.items()})


polyak, contract, telescope = (
    Inference("polyak", _polyak),
    Inference("contract", _contract),
    Inference("telescope", _telescope),
)
jensen = OfRound("jensen", parallel.jensen)


def young(share: Any = 1) -> OfRound:
    """2 <noise, rest> <= share ||noise||^2 + ||rest||^2 / share, for the noise of a round and the rest of its step.

    `jensen` has it with share 1, unless the list has another.
    """
    return OfRound(f"young({share})", parallel.young(share))


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
                f"by: {shown}: expected lemmas, {', '.join(_ASSUMED)}, jensen, young(...), polyak, contract or telescope"
            )

    def proof(p: Argument) -> None:
        fact = parallel.one_round(p, *vectors(p), uses) if uses else None
        for one in several:
            if isinstance(one, Statement):
                claimed = p.claim(one.id.partition(".")[2])
                fact = claimed if fact is None else p.put(fact, claimed)
            elif isinstance(one, Inference):
                if fact is None:
                    raise ValueError(f"by: {one.name} comes first: expected a lemma, or assumptions, before it")
                fact = one.step(p, fact)
        assert fact is not None
        p.conclude(fact)

    return proof


__all__ = ["Inference", "OfRound", "composed", "contract", "jensen", "polyak", "telescope", "young"]
