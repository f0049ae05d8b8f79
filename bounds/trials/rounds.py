"""The search for counter-examples among the rounds of an algorithm, for all papers.

An instance is a run of a few rounds in fractions.  Every symbol of a statement then has a number, so a violated claim is a
proof, and its witness can be checked by hand.  A paper supplies (`PaperRounds`) its instances, the values that their
fields can have (`choices`), and the claims of its statements there in numbers.  The search is here: first the family, from
simple to complicated; then random changes of the tightest instances.  An instance that violates a claim is simplified as
far as possible.

Slack.  A claim `quantity <= sum of terms` is read as need <= room.  The room is the sum of the terms with a plus sign.
The need is the quantity plus the size of the terms with a minus sign.  The slack is the smallest room / need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from operator import attrgetter
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from fedtheory.bounds.trials.choices import Axis, Choices, fractions, one_less, with_values
from fedtheory.bounds.trials.claims import Balance, Inequality, NumericCondition, not_assumed, symbols_of
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.theory.statement import NO_CLAIM, Bound, Relations, Statement, Status, Verdict

Instance = TypeVar("Instance")


@dataclass(frozen=True, kw_only=True)
class Form:
    """A statement ready for numbers.

    inequalities  of its claim
    also          of its further claims, where all symbols are known
    conditions    on constants and steps
    symbols       ASCII names of all symbols of inequalities and conditions
    factors       multiply an instance's values of unassumed constants
    """

    inequalities: tuple[Inequality, ...] = ()
    also: tuple[Inequality, ...] = ()
    conditions: tuple[NumericCondition, ...] = ()
    symbols: frozenset[str] = frozenset()
    factors: Mapping[str, Fraction] = field(default_factory=dict)


def searchable(statement: Statement, known: Collection[str], constants: Collection[str]) -> bool:
    """Whether the statement claims something about more than constants, and all its symbols are known."""
    claim, where = statement.claim, dict(statement.where)
    if not isinstance(claim, Bound | Relations) or statement.kind in (*NO_CLAIM, "algorithm"):
        return False
    return not symbols_of(claim, where) <= {*constants} and symbols_of(claim, where, statement.when) <= {*known}


OfPaper = TypeVar("OfPaper", bound=Form)

Tightness = tuple[bool, Any]  # whether the inequality is violated, and how close it is to that


class Occurrence(NamedTuple):
    """An inequality in numbers, and its place: round, client and local step, as far as it depends on them."""

    balance: Balance
    place: Mapping[str, int]


_SHARES = fractions(1, (3, 4), (1, 2), (3, 8), (1, 4), (1, 8), (1, 16), (1, 64))  # of the largest admissible step
_LONG = 40  # characters of a fraction that is shown as it is


def shown(value: Any) -> str:
    """A fraction as text; a long one in floating point."""
    text = str(value)
    return text if len(text) <= _LONG else f"{float(value):.12g} (to 12 digits)"


def ratio(balance: Balance) -> Tightness:
    """Tightness by need / room."""
    return not balance.holds, balance.ratio


@dataclass(frozen=True)
class PaperRounds(Generic[Instance, OfPaper]):
    """What a paper supplies to the search.

    forms      a statement ready for numbers: several forms where a number is free
    family     the instances of a form, from simple to complicated; with True more of them
    cases      the claim in numbers, or with True the statement's further claims; none where an instance does not meet
               conditions and assumptions
    choices    the values that the fields of an instance can get
    axes       what can be left out, such as a client
    completion the instance with new values of fields, and with what follows from them; None, or a ValueError, for none
    witness    all that a person needs to recompute an instance
    described  the counts of an instance, in a few words
    searched   a description of the family
    effort     how many of the tightest instances are varied, and how often; then both for the full search
    tightness  how close an inequality is to failing
    step       the field of the step size; empty: the search does not change it by itself
    largest    the largest step size that conditions admit; None where they, or the assumptions, do not admit the instance
    """

    forms: Callable[[Statement], Sequence[OfPaper]]
    family: Callable[[OfPaper, bool], Iterable[Instance]]
    cases: Callable[[Instance, OfPaper, bool], Iterable[Occurrence]]
    choices: Callable[[Instance, OfPaper], Choices]
    axes: tuple[Axis, ...]
    completion: Callable[[Instance, Mapping[str, Any], OfPaper], Instance | None]
    witness: Callable[[Instance, OfPaper], Mapping[str, Any]]
    described: Callable[[Instance, Occurrence], str]
    searched: str
    effort: tuple[tuple[int, int], tuple[int, int]]
    tightness: Callable[[Balance], Tightness] = ratio
    step: str = ""
    largest: Callable[[Instance, OfPaper], Fraction | None] = lambda *_: None

    def check(self, statement: Statement, full: bool = False) -> Verdict:
        """A statement against the family, then against the instances that a search reaches from the tightest ones.

        refuted, with small numbers, by an instance that meets the statement's conditions and assumptions and violates its
        claim, or, where no instance does, a further claim of the same display; tested otherwise.

        Raises ValueError as `forms` does.
        """
        seen: list[tuple[Instance, Balance, OfPaper]] = []
        for form in self.forms(statement):
            for instance in self.family(form, full):
                tightest = self.tightest(instance, form)
                if tightest is None:
                    continue
                if not tightest.holds:
                    return self._refuted(instance, form, False)
                seen.append((instance, tightest, form))
        if not seen:
            return Verdict(Status.OPEN, f"no instance meets the conditions: {self.searched}")
        largest = max(balance.ratio for _, balance, _ in seen)
        starts, changes = self.effort[full]
        for instance, balance, form in sorted(seen, key=lambda one: self.tightness(one[1]), reverse=True)[:starts]:
            instance, balance = self._climb(instance, balance, form, changes)
            if not balance.holds:
                return self._refuted(instance, form, False)
            largest = max(largest, balance.ratio)
        further: dict[str, Any] = {}  # need / room of each further inequality
        for instance, _, form in seen:
            for balance in (case.balance for case in self.cases(instance, form, True)):
                if not balance.holds:
                    return self._refuted(instance, form, True)
                if not balance.equality:
                    further[balance.says] = max(further.get(balance.says, 0), balance.ratio)
        nearest = "the closest one" if starts == 1 else f"each of the {starts} closest"
        says = (
            f"no violation on {len(seen)} instances ({self.searched}), nor in a search of {changes} more from {nearest}"
        )
        if any(further.values()):
            slacks = [f"{float(1 / need):.4g}" for need in further.values() if need]
            says += f"; its further inequalit{'y has' if len(slacks) == 1 else 'ies have'} slack {', '.join(slacks)}"
        return Verdict(Status.TESTED, says, slack=float(1 / largest) if largest else None)

    def tightest(self, instance: Instance, form: OfPaper) -> Balance | None:
        """The inequality of the claim that is closest to failing; None outside conditions and assumptions."""
        balances = (case.balance for case in self.cases(instance, form, False))
        return max(balances, key=self.tightness, default=None)

    def variation(self, at: Instance, form: OfPaper, random: Random) -> Instance | None:
        """An instance that differs in one or two entries, or in the step's share of the largest one; None for none."""
        choices = self.choices(at, form)
        names = [name for name, one in choices.items() if one.grid and (not one.depth or attrgetter(name)(at))]
        chosen = random.sample([*names, *filter(None, [self.step])], random.choice((1, 1, 2)))
        other = self._with(at, {n: choices[n].draw(attrgetter(n)(at), random) for n in chosen if n != self.step}, form)
        if other is None or not self.step:
            return other
        before, after = self.largest(at, form), self.largest(other, form)
        if before is None or after is None:
            return None
        share = random.choice(_SHARES) if self.step in chosen else attrgetter(self.step)(at) / before
        return with_values(other, {self.step: share * after})

    def simpler(self, at: Instance, form: OfPaper) -> Iterator[Instance]:
        """Instances with one thing left out or one entry simpler, the simplest first; each is shorter than this one."""
        choices = self.choices(at, form)
        single = ({name: new} for name, one in choices.items() for new in one.simpler(attrgetter(name)(at)))
        for values in (*one_less(at, self.axes), *single):
            other = self._with(at, values, form)
            if other is not None and self._length(other, choices) < self._length(at, choices):
                yield other

    def _length(self, at: Instance, choices: Choices) -> int:
        return sum(one.length(attrgetter(name)(at)) for name, one in choices.items())

    def _with(self, at: Instance, values: Mapping[str, Any], form: OfPaper) -> Instance | None:
        try:
            return self.completion(at, values, form)
        except ValueError:  # no instance has these values
            return None

    def _climb(self, at: Instance, found: Balance, form: OfPaper, changes: int) -> tuple[Instance, Balance]:
        """The tightest instance after random changes, each kept if the instance is no less tight."""
        random = Random(0)
        for _ in range(changes):
            other = self.variation(at, form, random)
            balance = None if other is None else self.tightest(other, form)
            if other is not None and balance is not None and self.tightness(balance) >= self.tightness(found):
                at, found = other, balance
                if not found.holds:
                    break
        return at, found

    def _refuted(self, instance: Instance, form: OfPaper, further: bool) -> Verdict:
        """Refuted, with the simplest violating instance that can be reached from a violating one."""
        found: tuple[Instance, Occurrence] | None = next(self._violations([instance], form, further))
        while found is not None:
            instance, case = found
            found = next(self._violations(self.simpler(instance, form), form, further), None)
        balance = case.balance
        left, right = balance.quantity, balance.minus + balance.plus
        says = (
            f"{self.described(instance, case)}: left side {shown(left)}, right side {shown(right)}, in exact arithmetic"
        )
        witness = {**self.witness(instance, form), **case.place, **not_assumed(form.factors)}
        witness |= {"relation": balance.says, "left": str(left), "right": str(right)}
        bounded = not balance.equality and 0 < balance.ratio < inf
        return Verdict(Status.REFUTED, says, slack=float(1 / balance.ratio) if bounded else None, witness=witness)

    def _violations(
        self, instances: Iterable[Instance], form: OfPaper, further: bool
    ) -> Iterator[tuple[Instance, Occurrence]]:
        for instance in instances:
            violated = (case for case in self.cases(instance, form, further) if not case.balance.holds)
            yield from ((instance, case) for case in islice(violated, 1))
