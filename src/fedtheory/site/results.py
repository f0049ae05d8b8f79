"""What the pages on sharper theorems, on winners and on networks say in words and tables, computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import sympy

from fedtheory.bounds.networks import over_seeds
from fedtheory.bounds.studies import Numbers
from fedtheory.bounds.winners import BUDGETS, METHODS, STUDIES, cells
from fedtheory.figures.winners import TIE
from fedtheory.sharper import gains, in_the_limit
from fedtheory.texts import significant
from fedtheory.theory.printing import latex, mathml
from fedtheory.theory.statement import Bound, Statement
from fedtheory.verification import Checked

# Sharper theorems


@dataclass(frozen=True)
class Gain:
    """A term of a bound and of its sharper form, as MathML; `ratio` may be words; `factor` is its limit (`in_the_limit`)."""

    name: str
    before: str
    ours: str
    ratio: str
    factor: float | None


@dataclass(frozen=True)
class Sharper:
    """A bound, and a sharper one of ours."""

    before: Checked
    ours: Checked

    @cached_property
    def gain(self) -> float:
        """By which factor the smallest ratio of bound to measured value falls; 0 where it is not known."""
        return self.before.slack / self.ours.slack if self.before.slack and self.ours.slack else 0

    @cached_property
    def terms(self) -> list[Gain]:
        """Both bounds, term by term."""
        before, ours = self.before.statement, self.ours.statement
        shown, own = _terms(before), _terms(ours)
        found = []
        for name, ratio in gains(ours.id).items():
            exact = isinstance(ratio, sympy.Expr)
            told = mathml(latex(ours.paper, ratio), display=True) if exact else ratio
            factor = in_the_limit(ours.id, ratio) if exact else None
            found.append(Gain(name.replace("_", " "), shown[name], own.get(name, "not needed"), told, factor))
        return found

    @cached_property
    def says(self) -> str:
        """The result in words."""
        smaller = [f"{t.name} {t.factor:.3g}" for t in self.terms if t.factor is not None and t.factor > 1.005]
        same = [t.name for t in self.terms if t.factor is not None and t.factor <= 1.005]
        gone = [t.name for t in self.terms if t.ours == "not needed"]
        told = [f"Times smaller: {', '.join(smaller)}."] if smaller else []
        told += [f"The same in the limit: {', '.join(same)}."] if same else []
        told += [f"Not needed: {', '.join(gone)}."] if gone else []
        return " ".join(told)


def _terms(statement: Statement) -> dict[str, str]:
    return {t.name: mathml(latex(statement.paper, t.value), display=True) for t in statement.claim_of(Bound).terms}


def sharper(checked: Sequence[Checked]) -> dict[str, list[Sharper]]:
    """The bounds that have sharper forms, by paper; what gains most comes first."""
    known = {c.statement.id: c for c in checked}
    pairs = [
        Sharper(known[c.statement.sharpens], c)
        for c in checked
        if c.statement.sharpens and c.statement.kind in ("theorem", "bound")
    ]
    papers = groupby(pairs, key=lambda pair: pair.ours.statement.paper)
    ranked = {name: sorted(own, key=lambda pair: -pair.gain) for name, own in papers}
    return dict(sorted(ranked.items(), key=lambda item: -item[1][0].gain))


# Who wins where

NEAR = 1.1  # a factor to the smallest gap


@dataclass(frozen=True)
class Winners:
    """The cells of the maps: how many there are, and of how many something is true.

    named      those in which a bound speaks       alone  those in which one bound alone speaks
    near       those whose named method is within 10 % of the smallest gap
    right      those whose named method has the smallest gap
    ties       those in which the next gap is at most 5 % larger
    best       by method: where its gap is the smallest; clearly: and no tie; first: where the bounds name it
    """

    cells: int
    named: int
    alone: int
    near: int
    right: int
    ties: int
    best: Counter[str]
    clearly: Counter[str]
    first: Counter[str]


def winners() -> Winners:
    """The cells of all maps, counted."""
    best: Counter[str] = Counter()
    clearly: Counter[str] = Counter()
    first: Counter[str] = Counter()
    alone = near = right = 0
    for which, study in STUDIES.items():
        for point in cells(which):
            for i, _ in enumerate(BUDGETS):
                gaps, bounds = (_by_method(study.numbers[point], what, i) for what in ("gap", "bound"))
                winner, next_best = sorted(gaps, key=gaps.__getitem__)[:2]
                best[winner] += 1
                clearly[winner] += gaps[next_best] > TIE * gaps[winner]
                if bounds:
                    named = min(bounds, key=bounds.__getitem__)
                    first[named] += 1
                    alone += len(bounds) == 1
                    near += gaps[named] <= NEAR * gaps[winner]
                    right += named == winner
    every = best.total()
    return Winners(every, first.total(), alone, near, right, every - clearly.total(), best, clearly, first)


def _by_method(numbers: Numbers, what: str, budget: int) -> dict[str, float]:
    """A quantity by method, of those that have it."""
    found = {name: numbers[f"{name}: {what}"][budget] for name in METHODS}
    return {name: x for name, x in found.items() if x == x}


# Networks

_PRACTISED, _ADMITTED = "practised step size", "step size of the theorem"


@dataclass(frozen=True)
class SeedSpread:
    """A number over the seeds."""

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return sum(self.values) / len(self.values)

    @property
    def ends(self) -> str:
        """The least and the largest."""
        return f"{significant(min(self.values))} to {significant(max(self.values))}"


@dataclass(frozen=True)
class Trained:
    """A method on a network: its two step sizes, the measured quantity with each, and the bound."""

    method: str
    practised: float
    admitted: SeedSpread
    at_practised: SeedSpread
    at_admitted: SeedSpread
    bound: SeedSpread
    largest: str  # the largest term of the bound

    @property
    def factor(self) -> float:
        """The bound beside what is measured at its step size, means of both."""
        return self.bound.mean / self.at_admitted.mean


def networks(numbers: Mapping[str, Numbers]) -> list[Trained]:
    """The numbers of the study, a row for each method."""
    found = []
    for name, own in over_seeds(numbers).items():
        terms = {
            key.split(": ")[1]: SeedSpread(x).mean for key, x in own.items() if key.startswith("term of the bound: ")
        }
        found.append(
            Trained(
                method=name,
                practised=own[_PRACTISED][0],
                admitted=SeedSpread(own[_ADMITTED]),
                at_practised=SeedSpread(own[f"gradient, {_PRACTISED}"]),
                at_admitted=SeedSpread(own[f"gradient, {_ADMITTED}"]),
                bound=SeedSpread(own["bound"]),
                largest=max(terms, key=terms.__getitem__).replace("_", " "),
            )
        )
    return found


def between(ratios: Sequence[float]) -> str:
    """The range of several factors, to two digits."""
    return f"{float(f'{min(ratios):.2g}'):g} to {float(f'{max(ratios):.2g}'):,g}"
