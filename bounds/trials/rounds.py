"""The search for counter-examples among the rounds of an algorithm, for all papers.

An instance is a run of a few rounds in fractions.  Every symbol of a statement then has a number, so a violated claim is a
proof, and its witness can be checked by hand.  A paper supplies (`Rounds`) its instances, how to vary and to simplify one,
and the claims of its statements there in numbers.  The search is here: first the family, from simple to complicated; then
random changes of the tightest instances.  An instance that violates a claim is simplified as far as possible.

Slack.  A claim `quantity <= sum of terms` is read as need <= room.  The room is the sum of the terms with a plus sign.
The need is the quantity plus the size of the terms with a minus sign.  The slack is the smallest room / need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from bounds.trials.claims import Comparison, not_assumed
from simulations.exact.rational import Fraction
from theory.statement import Statement, Status, Verdict

Instance = TypeVar("Instance")


class Ready(Protocol):
    """A statement ready for numbers; `factors` multiply the instance's values of unassumed constants."""

    @property
    def factors(self) -> Mapping[str, Fraction]: ...


Form = TypeVar("Form", bound=Ready)

Tightness = tuple[bool, Any]  # whether the inequality is violated, and how close it is to that


class Case(NamedTuple):
    """An inequality in numbers, and its place: round, client and local step, as far as it depends on them."""

    comparison: Comparison
    place: Mapping[str, int]


_LONG = 40  # characters of a fraction that is shown as it is


def shown(value: Any) -> str:
    """A fraction as text; a long one in floating point."""
    text = str(value)
    return text if len(text) <= _LONG else f"{float(value):.12g} (to 12 digits)"


def ratio(comparison: Comparison) -> Tightness:
    """Tightness by need / room."""
    return not comparison.holds, comparison.ratio


@dataclass(frozen=True)
class Rounds(Generic[Instance, Form]):
    """What a paper supplies to the search.

    forms      a statement ready for numbers: several forms where a number is free
    family     the instances of a form, from simple to complicated; with True more of them
    cases      the claim in numbers, or with True the statement's further claims; none where an instance does not meet
               conditions and assumptions
    varied     an instance that differs in one or two numbers; None where it does not meet conditions and assumptions
    simpler    instances with one thing made simpler, the simplest first
    witness    all that a person needs to recompute an instance
    described  the counts of an instance, in a few words
    searched   a description of the family
    effort     how many of the tightest instances are varied, and how often; then both for the full search
    tightness  how close an inequality is to failing
    """

    forms: Callable[[Statement], Sequence[Form]]
    family: Callable[[Form, bool], Iterable[Instance]]
    cases: Callable[[Instance, Form, bool], Iterable[Case]]
    varied: Callable[[Instance, Form, Random], Instance | None]
    simpler: Callable[[Instance, Form], Iterable[Instance]]
    witness: Callable[[Instance, Form], Mapping[str, Any]]
    described: Callable[[Instance, Case], str]
    searched: str
    effort: tuple[tuple[int, int], tuple[int, int]]
    tightness: Callable[[Comparison], Tightness] = ratio

    def check(self, statement: Statement, full: bool = False) -> Verdict:
        """A statement against the family, then against the instances that a search reaches from the tightest ones.

        refuted, with small numbers, by an instance that meets the statement's conditions and assumptions and violates its
        claim, or, where no instance does, a further claim of the same display; holds otherwise.

        Raises ValueError as `forms` does.
        """
        seen: list[tuple[Instance, Comparison, Form]] = []
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
        largest = max(comparison.ratio for _, comparison, _ in seen)
        starts, changes = self.effort[full]
        for instance, comparison, form in sorted(seen, key=lambda one: self.tightness(one[1]), reverse=True)[:starts]:
            instance, comparison = self._climb(instance, comparison, form, changes)
            if not comparison.holds:
                return self._refuted(instance, form, False)
            largest = max(largest, comparison.ratio)
        for instance, _, form in seen:
            if self._violated(instance, form, True) is not None:
                return self._refuted(instance, form, True)
        says = (
            f"exact on {len(seen)} instances ({self.searched}), and in a search of {changes} more from each of the {starts} "
            "worst"
        )
        return Verdict(Status.HOLDS, says, slack=float(1 / largest) if largest else None)

    def tightest(self, instance: Instance, form: Form) -> Comparison | None:
        """The inequality of the claim that is closest to failing; None outside conditions and assumptions."""
        comparisons = (case.comparison for case in self.cases(instance, form, False))
        return max(comparisons, key=self.tightness, default=None)

    def _climb(self, at: Instance, found: Comparison, form: Form, changes: int) -> tuple[Instance, Comparison]:
        """The tightest instance after random changes, each kept if the instance is no less tight."""
        random = Random(0)
        for _ in range(changes):
            other = self.varied(at, form, random)
            comparison = None if other is None else self.tightest(other, form)
            if other is not None and comparison is not None and self.tightness(comparison) >= self.tightness(found):
                at, found = other, comparison
                if not found.holds:
                    break
        return at, found

    def _violated(self, instance: Instance, form: Form, further: bool) -> Case | None:
        return next((case for case in self.cases(instance, form, further) if not case.comparison.holds), None)

    def _refuted(self, instance: Instance, form: Form, further: bool) -> Verdict:
        """Refuted, with the simplest violating instance that can be reached from a violating one."""
        found: tuple[Instance, Case] | None = next(self._violations([instance], form, further))
        while found is not None:
            instance, case = found
            found = next(self._violations(self.simpler(instance, form), form, further), None)
        comparison = case.comparison
        left, right = comparison.quantity, comparison.minus + comparison.plus
        says = f"{self.described(instance, case)}: left side {shown(left)}, right side {shown(right)}, exactly"
        witness = {**self.witness(instance, form), **case.place, **not_assumed(form.factors)}
        witness |= {"relation": comparison.says, "left": str(left), "right": str(right)}
        bounded = not comparison.equality and 0 < comparison.ratio < inf
        return Verdict(Status.REFUTED, says, slack=float(1 / comparison.ratio) if bounded else None, witness=witness)

    def _violations(self, instances: Iterable[Instance], form: Form, further: bool) -> Iterator[tuple[Instance, Case]]:
        for instance in instances:
            case = self._violated(instance, form, further)
            if case is not None:
                yield instance, case


__all__ = ["Case", "Rounds", "Tightness", "ratio"]
