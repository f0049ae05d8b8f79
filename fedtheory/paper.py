"""A paper of one's own, in a script, a notebook or a folder: its algorithm, its lemmas and theorems, and what tests them.

    from fedtheory.paper import *

    p = paper("fedanchor", "Anchored local SGD", step=K * eta)
    p.algorithm(FedAnchor)
    p.lemma(drift <= 6 * h**2 * grad_sq, when=h <= 1 / (3 * L), given=[smooth])
    p.check()

The symbols, quantities and assumptions are those of `theory.field`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

import sympy
from sympy.core.relational import Relational

import outside
from theory import field
from theory.field import *  # noqa: F403
from theory.field import Assumption
from theory.names import unknown
from theory.printing import plain
from theory.proofs.argument import Argument, Language, as_evidence
from theory.proofs.forms import Infimum, Minimiser, Objective, gradient, value, vector
from theory.proofs.rules import STRONGLY_POLYAK
from theory.properties import Property
from theory.statement import Bound, Condition, Evidence, Paper, Statement, Term, Words, implied

_NAMES = {
    "sigma": "noise", "zeta_star": "heterogeneity", "D": "optimisation", "Delta": "optimisation"
}  # fmt: skip


class OwnPaper(Paper):
    """A paper that its author writes in Python; see `paper`."""

    def __init__(self, name: str, title: str, citation: str, step: sympy.Expr | None) -> None:
        super().__init__(name, title, citation, step_sizes=("eta", "eta_tilde"))
        self.symbols = dict(field.SYMBOLS)
        self.where = {} if step is None else {field.h: sympy.sympify(step)}
        self.algorithms: dict[str, Callable[..., Any]] = {}
        self.proofs: list[Evidence] = []
        self.arenas: list[Any] = []
        weights = self.say(
            "setting", "weights", "", Words("F is the mean of the F_m."), gives={Property.EQUAL_WEIGHTS: ()}
        )
        self.background = (weights,)

    @property
    def parts(self) -> Mapping[str, Any]:
        """What a paper in a folder has in its modules, by their names."""
        return {
            "statements": SimpleNamespace(paper=self, __name__=self.name),
            "algorithms": SimpleNamespace(ALGORITHMS=self.algorithms),
            "checks": SimpleNamespace(evidence=lambda: list(self.proofs)),
            "arenas": SimpleNamespace(ARENAS=self.arenas, evidence=self._of_arenas),
        }

    def _of_arenas(self) -> list[Evidence]:
        from bounds.trials.arena import arena_evidence

        return arena_evidence(self.arenas)

    def algorithm(self, kind: Callable[..., Any], name: str = "") -> None:
        """The paper's algorithm: a dataclass with a method `round`; its rounds are what the lemmas are about."""
        _forget()
        self.algorithms[name or getattr(kind, "__name__", "algorithm")] = kind

    def assume(self, name: str, words: str, **gives: Sequence[Any]) -> Assumption:
        """An assumption of the paper's own, with properties by their names in `Property`, each with its constants."""
        given: dict[StrEnum, tuple[Any, ...]] = {Property[key.upper()]: tuple(own) for key, own in gives.items()}
        return Assumption(name, words, given)

    def lemma(self, claim: Any, name: str = "", **about: Any) -> Statement:
        """A lemma: an inequality between quantities of a round.

        claim  such as drift <= 6 * h**2 * grad_sq
        name   its id without the paper's short name; lemma1, lemma2 ... by default
        when   a condition, or several
        given  assumptions
        by     its proof: a function of an `Argument`; or lemmas and inferences, as `theorem` has them

        Raises ValueError for what is no inequality, and for an assumption that is none.
        """
        return self._state("lemma", claim, name, **about)

    def theorem(self, claim: Any, name: str = "", **about: Any) -> Statement:
        """A theorem: a bound after R rounds, such as gap.last <= (1 - mu*h)**R * Delta.  Arguments as in `lemma`.

        by  its proof: lemmas, from the first to the last used, and inferences (`polyak`, `contract`, `telescope`); or a
            function of an `Argument`
        """
        return self._state("theorem", claim, name, **about)

    def _state(
        self,
        kind: Any,
        claim: Any,
        name: str,
        when: Any = (),
        given: Iterable[Assumption] = (),
        by: Any = (),
    ) -> Statement:
        _forget()
        same = [s for s in self.statements.values() if s.kind == kind]
        name = name or f"{kind}{len(same) + 1}"
        assumed = [self._assumption(one) for one in given]
        bound, conditions = bound_of(claim), _conditions(when)
        symbols = set().union(claim.free_symbols, *(c.relation.free_symbols for c in conditions))
        where = {s: e for s, e in self.where.items() if s in symbols}
        if {field.mu, field.L} <= symbols:
            conditions.append(implied(sympy.Le(field.mu, field.L), "of every function with both constants"))
        proof = by if callable(by) else None
        rests_on = [one for one in (() if proof else by) if isinstance(one, Statement)]
        said = self.say(kind, name, kind, bound, when=conditions, where=where, assumes=assumed, rests_on=rests_on)
        if proof is None and by:
            proof = _composed(by)
        if proof is not None:
            self.proofs.append(as_evidence(name, "ledger", proof, LANGUAGE, self.name))
        return said

    def _assumption(self, given: Assumption) -> Statement:
        if not isinstance(given, Assumption):
            raise ValueError(f"{given!r}: expected assumptions, such as smooth or noise.independent")
        known = self.statements.get(f"{self.name}.{given.name}")
        return known or self.say("assumption", given.name, "", Words(given.words), gives=given.gives)

    def arena(self, statement: Statement, problem: Any, algorithm: Any, rounds: int, **settings: Any) -> Any:
        """A bound against a run: see `bounds.trials.arena.Arena`; `plot("thm.pdf")` of what it returns draws it."""
        from bounds.trials.arena import Arena

        found = Arena(statement.id, f"arena {len(self.arenas) + 1}", problem, algorithm, rounds, **settings)
        _forget()
        self.arenas.append(found)
        return found

    def check(self, *statements: Statement, full: bool = False) -> Report:
        """The verdicts of all statements, or of some: units, exact search, worst cases, proofs, runs."""
        from fedtheory.verification import verify

        chosen = [s.id for s in statements or self.statements.values() if s.kind in ("lemma", "theorem")]
        return Report(tuple(verify(chosen, full)))

    def __repr__(self) -> str:
        own = [s for s in self.statements.values() if s.kind in ("lemma", "theorem")]
        return "\n".join([f"{self.name}: {self.title}", *(f"  {s.id.partition('.')[2]}: {_claim(s)}" for s in own[:8])])


@dataclass(frozen=True)
class Report:
    """The verdicts of a paper's statements."""

    checked: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        """The verdicts of a statement, by its id or by the part of it after the dot.  Raises UnknownName."""
        for one in self.checked:
            if name in (one.statement.id, one.statement.id.partition(".")[2]):
                return one
        raise unknown("statement", name, [one.statement.id for one in self.checked])

    def __repr__(self) -> str:
        lines = []
        for one in self.checked:
            lines.append(f"{one.statement.id.partition('.')[2]}: {one.headline}")
            for evidence, verdict in sorted(one.against, key=lambda pair: pair[0].kind != "units")[:1]:
                witness = in_one_line(verdict.witness)
                lines.append(f"  {evidence.kind}: {verdict.says}" + (f" ({witness})" if witness else ""))
            for evidence, verdict in one.verdicts:
                if str(verdict.status) in ("broken", "error"):
                    lines.append(f"  {evidence.kind}: {verdict.says}")
        return "\n".join(lines)


def in_one_line(witness: Mapping[str, Any]) -> str:
    """A witness in one line; floating-point numbers with six digits."""
    return ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}" for name, value in witness.items()
    )


def _claim(statement: Statement) -> str:
    claim = statement.claim
    assert isinstance(claim, Bound)
    return f"{plain(claim.quantity)} {claim.sign} {plain(claim.value)}"


def paper(name: str, title: str = "", *, step: Any = None, citation: str = "") -> OwnPaper:
    """A paper of one's own, by a short name; every command and function of the toolkit in this process then finds it.

    step  what h is, such as K * eta

    A second paper of the same name takes the place of the first.  Raises ValueError for a name that is taken.
    """
    outside.check_name(name)
    _forget()
    found = OwnPaper(name, title or name, citation, step)
    outside.add(name, lambda: found.parts)
    return found


def _forget() -> None:
    """Forget what this process has computed for papers: this one changes, or takes the place of another."""
    ours = [m for name, m in sys.modules.items() if name.startswith(("bounds.", "theory.catalogue", "fedtheory.verif"))]
    for one in (held for module in ours for held in list(vars(module).values())):
        if callable(getattr(one, "cache_clear", None)):
            one.cache_clear()


def bound_of(relation: Any) -> Bound:
    """An inequality as a bound with a name for each term.  Raises ValueError for another relation."""
    if isinstance(relation, sympy.Eq):
        return Bound(relation.lhs, _terms(relation.rhs), "=")
    if not isinstance(relation, sympy.Le | sympy.Ge):
        raise ValueError(
            f"{relation}: expected an inequality with <= or >= between quantities, such as drift <= h**2 * grad_sq"
        )
    return Bound(relation.lhs, _terms(relation.rhs), "<=" if isinstance(relation, sympy.Le) else ">=")


def _terms(value: sympy.Expr) -> tuple[Term, ...]:
    """The summands, each named by what it is made of."""
    found: dict[str, sympy.Expr] = {}
    for part in sympy.Add.make_args(value):
        names = {s.name for s in part.free_symbols}
        own = [s.name for s in sorted(part.free_symbols, key=str) if isinstance(s, field.Quantity)]
        name = next(iter(own), next((word for s, word in _NAMES.items() if s in names), "term"))
        number = sum(
            other == name or (other.startswith(f"{name}_") and other[len(name) + 1 :].isdigit()) for other in found
        )
        found[name if not number else f"{name}_{number + 1}"] = part
    return tuple(Term(name, part) for name, part in found.items())


def _conditions(when: Any) -> list[Condition]:
    several = [when] if isinstance(when, Relational) else list(when)
    for one in several:
        if not isinstance(one, Relational | Condition):
            raise ValueError(f"when = {one}: expected conditions such as h <= 1/(4*L)")
    return [one if isinstance(one, Condition) else Condition(one) for one in several]


# ------------------------------------------------------------------------------------- proofs from lemmas and inferences


objective, point, next_point = Objective("F"), vector("x"), vector("x_next")
minimiser, infimum = Minimiser("x*", objective), Infimum("F*", objective)
_MEANS = {
    field.gap: value(objective, point) - infimum,
    field.gap.next: value(objective, next_point) - infimum,
    field.grad_sq: gradient(objective, point) ** 2,
    field.dist2: (point - minimiser) ** 2,
    field.dist2.next: (next_point - minimiser) ** 2,
}
LANGUAGE = Language(
    _MEANS,
    {},
    (*_MEANS, field.drift, field.sigma, field.zeta, field.Delta, field.D),
    start={field.gap: field.Delta, field.dist2: field.D**2},
    following={field.gap: field.gap.next, field.dist2: field.dist2.next},
    last={field.gap: field.gap.last},
    mean={field.grad_sq.mean: field.grad_sq},
    average={field.gap.average: field.gap},
)


@dataclass(frozen=True)
class Inference:
    """A step of a proof, by name: what it makes of the fact so far."""

    name: str
    step: Callable[[Argument, Any], Any]


def _polyak(p: Argument, fact: Any) -> Any:
    """2 mu gap <= grad_sq, for a strongly convex F."""
    rule = p.by(STRONGLY_POLYAK, objective, point, infimum)
    return p.put(fact, p.have("strongly convex", field.grad_sq, ">=", 2 * field.mu * field.gap, rule))


def _contract(p: Argument, fact: Any) -> Any:
    """From next <= keeps * state + noise in each round to the last one."""
    from theory.proofs.sequences import lasting

    state = next((s for s in (field.gap, field.dist2) if fact.quantity == s.next), field.gap)
    keeps = sympy.factor(sympy.expand(fact.value).coeff(state))
    return lasting(p, fact, state, keeps, field.R)


def _telescope(p: Argument, fact: Any) -> Any:
    """From next <= state - progress + noise in each round to the mean of the progress."""
    from theory.proofs.sequences import averaged

    state = next((s for s in (field.gap, field.dist2) if fact.quantity == s.next), field.gap)
    return averaged(p, fact, state, field.grad_sq, field.R)


polyak, contract, telescope = (
    Inference("PL", _polyak),
    Inference("contract", _contract),
    Inference("telescope", _telescope),
)


def _composed(by: Iterable[Any]) -> Callable[[Argument], None]:
    """The proof that puts lemmas into the first one and then infers, in the given order."""
    several = list(by)
    for one in several:
        if not isinstance(one, Statement | Inference):
            raise ValueError(f"by: {one!r}: expected lemmas, and polyak, contract or telescope")

    def proof(p: Argument) -> None:
        fact: Any = None
        for one in several:
            if isinstance(one, Inference):
                fact = one.step(p, fact)
            else:
                claimed = p.claim(one.id.partition(".")[2])
                fact = claimed if fact is None else p.put(fact, claimed)
        p.conclude(fact)

    return proof


__all__ = [*field.__all__, "bound_of", "contract", "paper", "polyak", "telescope"]
