"""A proof as named steps over scalar atoms, each decided exactly; the verdict names the first failing step, with a witness.

Atoms (E||x_mk - x||^2, E D_F, sigma^2 ...) are non-negative and otherwise free.  So a bound between sums of atoms holds
for all their values exactly when it holds coefficient by coefficient.  Each coefficient is a small problem in the
constants, which z3 decides.  A ledger without a failing step is a proof from its premises.  A failing step shows that the
proof breaks, not that the statement is false: then the verdict is `broken`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from random import Random
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory.proofs.arithmetic import EFFORT, Decision, NotPolynomial, at_least, at_most, decide, implied
from fedtheory.theory.statement import Bound, Statement, Status, Verdict

_TRIES = 100  # points at which two sides with exp or log are compared
_ROUNDS = 12  # of bisection for the room in a constant: gives the factor to about one part in 2000


@dataclass(frozen=True)
class Step:
    """One step and its decision."""

    name: str
    decision: Decision


@dataclass
class Ledger:
    """The steps of a proof, in order; every method adds the steps that it needs and returns what they establish.

    After a step that fails, later steps are not decided any more.

    conditions   what every step may use: the statement's conditions, and those that its assumptions imply
    """

    conditions: Sequence[Boolean]
    steps: list[Step] = field(default_factory=list)
    _compared: dict[str, tuple[sympy.Expr, sympy.Expr]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether no step has failed."""
        return all(s.decision.status is Status.PROVED for s in self.steps)

    def step(self, name: str, decide_it: Callable[[], Decision]) -> None:
        """Add a step, unless an earlier one has failed."""
        if self.holds:
            try:
                decision = decide_it()
            except NotPolynomial as error:
                decision = Decision(Status.OPEN, str(error))
            self.steps.append(Step(name, decision))

    def require(self, name: str, claim: Boolean | Sequence[Boolean], *given: Boolean) -> None:
        """Add a step: the claim follows from the conditions and from `given`."""
        self.step(name, lambda: self.by_z3([*self.conditions, *given], claim))

    def by_z3(self, given: Sequence[Boolean], claim: Boolean | Sequence[Boolean]) -> Decision:
        """Decide by z3, perhaps in other symbols."""
        return self.decided_by_z3(given, claim)

    def decided_by_z3(
        self, given: Sequence[Boolean], claim: Boolean | Sequence[Boolean], effort: int = EFFORT
    ) -> Decision:
        """Decide by z3, in these symbols."""
        return decide(given, claim, effort)

    def in_view(self, e: sympy.Expr) -> sympy.Expr:
        """An expression in the symbols that z3 gets."""
        return e

    def equal(self, name: str, left: sympy.Expr, right: sympy.Expr) -> None:
        """Add a step: an identity; evaluates sums."""
        self.step(name, lambda: self._identity(left, right))

    def _identity(self, left: sympy.Expr, right: sympy.Expr) -> Decision:
        rest = sympy.simplify(sympy.expand((left - right).doit()))
        if rest == 0:
            return Decision(Status.PROVED, "identity")
        if rest.has(sympy.exp, sympy.log):
            return _differs(rest, self.conditions)
        decision = self.decided_by_z3(self.conditions, [at_most(rest, 0), at_least(rest, 0)])
        if decision.status is Status.PROVED:
            return Decision(Status.PROVED, "equal under the conditions")
        return Decision(decision.status, f"the sides differ by {sympy.factor(rest)}", decision.model)

    def apply(self, name: str, value: sympy.Expr, atom: sympy.Symbol, bound: Bound) -> sympy.Expr:
        """`value` with the atom replaced by its bound `bound`.

        The bound's quantity is a factor times the atom; `value` must contain the atom linearly, with a coefficient of
        the factor's sign.  Raises ValueError otherwise, and for a lower bound.
        """
        own = sympy.simplify(bound.quantity / atom)
        expanded = sympy.expand(value)
        factor = expanded.coeff(atom)
        rest = sympy.expand(expanded - factor * atom)
        if bound.sign == ">=" or atom in own.free_symbols:
            raise ValueError(f"{name}: expected an upper bound on a multiple of {atom}, got one on {bound.quantity}")
        if factor == 0 or atom in rest.free_symbols | factor.free_symbols:
            raise ValueError(f"{name}: expected {atom} to enter linearly, got {value}")
        times = sympy.simplify(factor / own)
        if times.is_nonnegative is not True:
            self.require(f"{name}: {bound.quantity} enters with a coefficient >= 0", times >= 0)
        return rest + times * bound.value

    def solve(self, name: str, value: sympy.Expr, atom: sympy.Symbol, share: sympy.Rational) -> sympy.Expr:
        """From atom <= c atom + rest with c at most `share` < 1: atom <= rest / (1 - share)."""
        factor = sympy.expand(value).coeff(atom)
        below = [at_least(factor, 0), at_most(factor, share), sympy.Lt(share, 1, evaluate=False)]
        self.require(f"{name}: at most {share} < 1 of {atom} on the right", below)
        return sympy.expand(value - factor * atom) / (1 - share)

    def at_most(
        self,
        name: str,
        derived: sympy.Expr,
        claimed: sympy.Expr,
        atoms: Sequence[sympy.Symbol],
        measured: bool = True,
    ) -> list[tuple[sympy.Expr, sympy.Expr, sympy.Expr]]:
        """Add steps: derived <= claimed, coefficient by coefficient, for all values of the atoms with their signs.

        measured   whether to measure the room in the constants

        Returns (claimed coefficient, derived coefficient, monomial) for each monomial in the atoms.
        """
        room = []
        ours, theirs = (coefficients(e, atoms) for e in (derived, claimed))
        for monomial in sorted(ours.keys() | theirs.keys(), key=str):
            mine, printed = ours.get(monomial, sympy.Integer(0)), theirs.get(monomial, sympy.Integer(0))
            signed = monomial.is_nonnegative is not True  # if its sign is free, the coefficients must be equal
            compared = [at_least(printed, mine), *([at_most(printed, mine)] if signed else [])]
            self.step(f"{name}: coefficient of {monomial}", partial(self._compare, compared, mine, printed))
            if measured and mine != 0 and not signed:
                self._compared[str(monomial)] = mine, printed
            room.append((printed, mine, monomial))
        return room

    def _compare(self, claim: Sequence[Boolean], mine: sympy.Expr, printed: sympy.Expr) -> Decision:
        decision = self.by_z3(self.conditions, claim)
        if decision.status is not Status.REFUTED:
            return decision
        return replace(decision, says=f"claimed {printed}, derived {mine}", sides=(mine, printed))

    def verdict(self) -> Verdict:
        """proved if every step is; otherwise by the first other step: broken if it is refuted, else vacuous or open."""
        for step in self.steps:
            if step.decision.status is not Status.PROVED:
                broken = step.decision.status is Status.REFUTED
                return Verdict(
                    Status.BROKEN if broken else step.decision.status,
                    f"step '{step.name}': {step.decision.says}",
                    witness={"step": step.name, **step.decision.witness},
                )
        seen = [self.in_view(c) for c in self.conditions]
        room = {name: _room(seen, *map(self.in_view, pair)) for name, pair in self._compared.items()}
        told = ", ".join(f"{name} {factor:.3g}" for name, factor in room.items())
        improved = f"; factors by which the constants can be improved: {told}" if told else ""
        return Verdict(
            Status.PROVED,
            f"{len(self.steps)} step{'s' * (len(self.steps) != 1)} decided exactly{improved}",
            slack=min(room.values(), default=None),
        )


def _differs(rest: sympy.Expr, conditions: Sequence[Boolean]) -> Decision:
    """Refuted by a point that meets the conditions, where an expression with exp or log is not zero; else open."""
    symbols = sorted(rest.free_symbols.union(*(c.free_symbols for c in conditions)), key=str)
    for at in _points(symbols):
        met, value = all(condition.subs(at) == sympy.true for condition in conditions), rest.subs(at).evalf(50)
        if met and value.is_finite and abs(value) > sympy.Rational(1, 10**30):
            return Decision(Status.REFUTED, f"the sides differ by {rest}", at)
    return Decision(Status.OPEN, f"{rest} did not simplify to zero")


def _points(symbols: Sequence[sympy.Symbol]) -> Iterator[dict[sympy.Symbol, sympy.Expr]]:
    """Values for the symbols: 2, 3, 4 ..., then random ones between 1/8 and 4, whole where a symbol is."""
    yield {s: sympy.Integer(i + 2) for i, s in enumerate(symbols)}
    random = Random(0)
    for _ in range(_TRIES):
        eighths = [random.randint(1, 4) * 8 if s.is_integer else random.randint(1, 32) for s in symbols]
        yield {s: sympy.Rational(value, 8) for s, value in zip(symbols, eighths, strict=True)}


def coefficients(e: sympy.Expr, atoms: Sequence[sympy.Symbol]) -> dict[sympy.Expr, sympy.Expr]:
    """The coefficient of every monomial in the atoms, factored.  Raises PolynomialError where the atoms enter otherwise."""
    if not atoms:
        return {sympy.Integer(1): e}
    poly = sympy.Poly(sympy.expand(e), *atoms)
    found = {}
    for powers, coefficient in poly.terms():
        monomial = sympy.Mul(*(a**p for a, p in zip(atoms, powers, strict=True)))
        found[monomial] = _factored(coefficient)
    return found


@lru_cache(maxsize=4096)
def _factored(e: sympy.Expr) -> sympy.Expr:
    """An expression factored; cached, because a derived coefficient is often the claimed one."""
    return sympy.factor(e)


def _room(conditions: Sequence[Boolean], mine: sympy.Expr, printed: sympy.Expr) -> float:
    """The factor by which the printed coefficient can be tightened: smaller if positive, more negative if negative.

    Found by bisection between 1 and 16; 16 means at least 16.
    """
    low, high = sympy.Integer(1), sympy.Integer(16)
    ratio = printed / mine
    if ratio == 1:
        return 1.0
    signed = ratio.is_Rational and (mine.is_positive or mine.is_negative)  # then z3 need not be asked
    negative = not signed and implied(conditions, at_most(printed, 0))

    def holds(factor: sympy.Rational) -> bool:
        if signed:
            return bool(factor <= ratio if mine.is_positive else factor * ratio <= 1)
        tighter = printed * factor if negative else printed / factor
        return implied(conditions, at_least(tighter, mine))

    if holds(high):
        return 16.0
    if not holds(1 + sympy.Rational(1, 1000)):
        return 1.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(low)


def conditions_of(statement: Statement) -> list[Any]:
    """The statement's conditions as relations."""
    return [c.relation for c in statement.when]


def powers(ledger: Ledger, polynomial: sympy.Expr, k: sympy.Symbol, count: sympy.Symbol) -> sympy.Expr:
    """A polynomial in k, of degree 2 at most, summed over k = 0 ... count-1."""
    sums = [count, count * (count - 1) / 2, count * (count - 1) * (2 * count - 1) / 6]
    for power in (1, 2):
        ledger.equal(f"sum of {k}^{power}", sympy.Sum(k**power, (k, 0, count - 1)), sums[power])
    poly = sympy.Poly(sympy.expand(polynomial), k)
    return sympy.Add(*(coefficient * sums[power] for (power,), coefficient in poly.terms()))
