"""A paper of one's own, in a script, a notebook or a folder: its algorithm, its lemmas and theorems, and what tests them.

    from fedtheory.paper import *

    p = paper("fedanchor", "Anchored local SGD", step=K * eta)
    p.algorithm(FedAnchor)
    p.lemma(drift <= 6 * h**2 * grad_sq, when=h <= 1 / (3 * L), given=[smooth])
    p.check()

The symbols, quantities and assumptions are those of `fedtheory.theory.field`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from inspect import signature
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Unpack, cast, get_args

import numpy as np
import sympy
from sympy.core.relational import Relational

from fedtheory import plugins
from fedtheory.simulations.algorithms.base import ANY, MEAN, SERVER, SUM_0, class_of
from fedtheory.theory import catalogue, field, inequalities
from fedtheory.theory.concepts import monomial
from fedtheory.theory.field import *  # noqa: F403
from fedtheory.theory.field import Assumption
from fedtheory.theory.inequalities import FunctionSymbol, VectorSymbol, constants, exact, function, points
from fedtheory.theory.listing import Listing
from fedtheory.theory.names import unknown
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs import own, parallel
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.inferences import (
    Inference,
    certificate,
    changes,
    composed,
    contract,
    contract_by,
    decreasing,
    drop,
    in_words,
    jensen,
    only,
    plus,
    polyak,
    power,
    steady,
    telescope,
    young,
)  # fmt: skip
from fedtheory.theory.proofs.parallel import Vectors
from fedtheory.theory.properties import CONSTANTS, Property
from fedtheory.theory.statement import (
    NO_CLAIM,
    About,
    Bound,
    Claim,
    Condition,
    Evidence,
    EvidenceKind,
    F,
    Kind,
    Paper,
    Rate,
    Rates,
    Relations,
    Statement,
    Status,
    Symbol,
    Term,
    Verdict,
    Words,
    X,
    at_most,
    implied,
)

_NAMES = {
    "sigma": "noise", "zeta_star": "heterogeneity", "D": "optimisation", "Delta": "optimisation"
}  # fmt: skip


class OwnAbout(About, total=False):
    """What a paper of one's own says of a statement besides its claim; see `OwnPaper.lemma`."""

    by: Any


class OwnPaper(Paper):
    """A paper that its author writes in Python; see `paper`."""

    def __init__(self, name: str, title: str, citation: str, step: sympy.Expr | None) -> None:
        super().__init__(name, title, citation, step_sizes=("eta", "eta_tilde"))
        self.symbols = dict(field.SYMBOLS)
        self.where = {} if step is None else {field.h: sympy.sympify(step)}
        self.algorithms: dict[str, Callable[..., Any]] = {}
        self.memory: Mapping[str, str] = {}
        self.quantities: dict[str, Callable[[Any], Any]] = {}
        self.starts: dict[sympy.Symbol, sympy.Expr] = {}
        self.checks: list[Evidence] = []
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
            "algorithms": SimpleNamespace(ALGORITHMS=self.algorithms, MEMORY=self.memory, __name__=self.name),
            "checks": SimpleNamespace(evidence=lambda: list(self.checks), QUANTITIES=self.quantities),
            "arenas": SimpleNamespace(ARENAS=[one.arena for one in self.arenas], evidence=self._of_arenas),
            "figures": _Figures(self),
        }

    def _of_arenas(self) -> list[Evidence]:
        from fedtheory.bounds.trials.arena import arena_evidence

        return arena_evidence([one.arena for one in self.arenas])

    def algorithm(
        self,
        claim: Any,
        name: str = "",
        place: str = "",
        memory: Mapping[str, str] | None = None,
        **about: Unpack[OwnAbout],
    ) -> Statement:
        """The paper's algorithm: a dataclass with a method `round`; its rounds are what the lemmas are about.

        claim   the dataclass; or a `Listing`: the printed lines, which are compared with the paper's algorithms
        memory  what its memories may be before the round of a lemma, by their names: "any", or "sum 0" over the clients, or
                "any of the server", or, of the server, "mean of NAME"; of others it is the first round
        """
        if isinstance(claim, get_args(Claim)):
            return self.state("algorithm", claim, name, place, **about)
        kind = class_of(claim)
        lacks = [name for name in ("round", "participants", "symbols") if not callable(getattr(kind, name, None))]
        if not (isinstance(kind, type) and is_dataclass(kind)) or lacks:
            says = f", which has no {lacks[0]}" if lacks and isinstance(kind, type) else ""
            expected = "a dataclass with a method `round`, such as a subclass of LocalSteps, or a Listing"
            raise ValueError(f"algorithm {kind!r}{says}: expected {expected}")
        known = {ANY, SUM_0, SERVER, *(f"{MEAN}{name}" for name in memory or {})}
        if wrong := sorted({*(memory or {}).values()} - known):
            raise ValueError(f"memory {wrong[0]!r}: expected one of {', '.join(map(repr, sorted(known)))}")
        self.algorithms[name or _name_of(claim)] = claim
        self.memory = dict(memory or {})
        _forget()
        words = Words(f"As its code says: {class_of(claim).__doc__ or name}")
        stated = self.statements.get(f"{self.name}.{_name_of(claim)}")
        return stated or self.state("algorithm", words, _name_of(claim), place, **about)

    def quantity(
        self, name: str, meaning: str, unit: Any, of: Callable[[Any, Mapping[str, Any]], Any], start: Any = 0
    ) -> field.RoundQuantity:
        """A quantity of the paper's own, >= 0; its `next` is the same after the round, its `last` after R rounds.

        unit   made of X, that of x, and F, that of F(x)
        of     a function of a trace (`fedtheory.simulations.exact.trace`), and of its memories before or after the round;
               the trace's x is then the model before or after it; `next` may not read the round's end and steps
        start  at least what it is before the first round, where all memories are 0; a premise of theorems

        Raises ValueError for a name that is taken, for what is no function or dimension, and for a start that is too small
        for two quadratics: this is tried if the algorithm is declared and its memories start at 0.
        """
        if name in self.symbols:
            raise ValueError(f"quantity {name!r}: expected another name, this one is declared")
        if name.endswith(("_next", "_last")):
            raise ValueError(f"quantity {name!r}: expected its name before a round, without {name[-5:]}")
        if not callable(of):
            raise ValueError(f"quantity {name!r}: expected a function of a trace, got {of!r}")
        self._refuse_start(name, of, sympy.sympify(start))
        one = field.OwnQuantity(name, real=True, nonnegative=True)
        latex = name if len(name) == 1 else rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}"
        for each, index, when in (
            (one, "", "before a round"), (one.next, "_{r+1}", "after it"), (one.last, "_{R}", "after R rounds")
        ):  # fmt: skip
            says = f"{meaning}, {when}"
            self.symbols[each.name] = Symbol(each.name, latex + index, says, monomial(name, unit), each, None)
        self.quantities[name], self.starts[one] = lambda t: of(t, _Memories(t.before)), sympy.sympify(start)
        over = {"end": _Over(), "steps": _Over(), "coded": _Over(), "memory": _Over(), "known": {}}
        self.quantities[one.next.name] = lambda t: of(replace(t, x=t.end, before=t.memory, **over), _Memories(t.memory))
        return one

    def _refuse_start(self, name: str, of: Callable[[Any, Mapping[str, Any]], Any], start: sympy.Expr) -> None:
        """Try the start of a quantity on y^2/2 + b y and y^2/2 - b y, from ||x_0|| = D, where memories start at 0."""
        from fedtheory.bounds.defaults import algorithm_of
        from fedtheory.bounds.worst_cases import STEPS, letters_of_settings
        from fedtheory.simulations.exact.trace import PiecewiseQuadratic, RandomVector, trace

        def vector(v: int) -> RandomVector:
            return RandomVector.constant([Fraction(v)], np.array([Fraction(1)], dtype=object), False)

        kind, zero = algorithm_of(self.name), vector(0)
        memory = {n: [zero] * 2 if how in (ANY, SUM_0) else zero for n, how in self.memory.items()}
        for b, x in product((0, 1), repeat=2):
            functions = [PiecewiseQuadratic(np.array([[Fraction(1)]]), vector(slope)) for slope in (b, -b)]
            try:
                open_ = [n for n in letters_of_settings(kind, {}) if n not in ("S", "compressor")]
                round_ = partial(
                    trace, kind(eta=1.0, **{n: 1 if n in STEPS else 0.5 for n in open_}), functions, vector(x), zero,
                    Fraction(1, 8), (0, 1), lambda *_: zero, number=0, coin=0.0,
                )  # fmt: skip
                coder = list if hasattr(round_.args[0], "compressor") else None
                first, second = (round_(before, coder=coder) for before in (memory, {}))
            except (TypeError, ValueError):
                return  # an algorithm that cannot be traced: the start is a premise
            least = sympy.sympify(of(first, _Memories(memory)))
            if least < 0:
                raise ValueError(
                    f"quantity {name}: {least} for y^2/2 + {b} y and y^2/2 - {b} y, x_0 = {x}: expected >= 0"
                )
            ends, others = ([v.values.tolist() for v in t.vectors] for t in (first, second))
            if ends != others:
                return  # its memories start elsewhere
            numbers = {field.D: x, field.Delta: sympy.Rational(x, 2), field.zeta: b, field.spread: b, field.M: 2}
            told = start.subs({**numbers, field.L: 1, field.mu: 1, field.sigma: 0})
            if told.is_number and told < least:
                where = f"y^2/2 + {b} y and y^2/2 - {b} y, x_0 = {x} and memories of 0"
                raise ValueError(f"quantity {name}: start = {start}, {told} for {where}: expected at least {least}")

    def assume(self, name: str, words: str, **gives: Sequence[Any]) -> Assumption:
        """An assumption of the paper's own, with properties by their names in `Property`, each with its constants."""
        known = {one.name.lower(): one for one in Property}
        if wrong := sorted(gives.keys() - known):
            raise ValueError(f"assumption {name}: {unknown('property', wrong[0], list(known))}")
        given: dict[StrEnum, tuple[Any, ...]] = {known[key]: tuple(_several(one)) for key, one in gives.items()}
        for one, held in given.items():
            if len(held) != (count := CONSTANTS.get(one, 0)):
                raise ValueError(f"assumption {name}: {one!r} with constants {held}: expected {count}")
        return Assumption(name, words, given)

    def lemma(self, claim: Any, name: str = "", place: str = "", **about: Unpack[OwnAbout]) -> Statement:
        """A lemma: an inequality between quantities of a round, or between points and functions (`points`, `function`).

        claim  such as drift <= 6 * h**2 * grad_sq; with names for its terms at_most(drift, gradient=6 * h**2 * grad_sq); or
               another claim of `fedtheory.theory.statement`
        name   its id without the paper's short name; lemma1, lemma2 ... by default
        place  where the paper says it
        when   a condition, or several
        given  assumptions: the field's, those of `assume`, or statements
        by     its proof: assumptions and inferences about a round, such as [smooth, noise, jensen]; or lemmas and
               inferences, as `theorem` has them; or a function of an `Argument`; or `certificate`: multipliers of what
               the assumptions say about one round of single steps are looked for
        where  definitions of symbols
        rests_on  lemmas that it follows from, where `by` does not say so
        note   what a reader should know

        Raises ValueError for what is no inequality, for an assumption that is none, and for an unknown symbol.
        """
        return self.state("lemma", claim, name, place, **about)

    def theorem(self, claim: Any, name: str = "", place: str = "", **about: Unpack[OwnAbout]) -> Statement:
        """A theorem: a bound after R rounds, such as gap.last <= (1 - mu*h)**R * Delta.  Arguments as in `lemma`.

        by  its proof: lemmas, from the first to the last used, and inferences (`polyak`, `contract`, `telescope`); or a
            function of an `Argument`
        """
        return self.state("theorem", claim, name, place, **about)

    def state(self, kind: Kind, claim: Any, name: str = "", place: str = "", **about: Unpack[OwnAbout]) -> Statement:
        """A statement of any kind, with its proof; arguments as in `lemma`."""
        if wrong := sorted(about.keys() - OwnAbout.__optional_keys__):
            raise ValueError(f"{kind} {name}: {unknown('argument', wrong[0], sorted(OwnAbout.__optional_keys__))}")
        _forget()
        by = about.pop("by", ())
        by = by if callable(by) or by is certificate else _several(by)
        assumed = [self._assumption(one) for one in _several(about.get("given", ()))]
        stated, conditions = self._claim(claim), _conditions(about.get("when", ()))
        if isinstance(claim, Relational) and claim.atoms(VectorSymbol):
            inequalities.of_forms(claim, when=[one.relation for one in conditions])
        here = Statement("", kind, "", stated, tuple(conditions)).symbols
        if any(isinstance(s, field.RoundQuantity) and s.of_run for s in Statement("", kind, "", stated).symbols):
            _refuse_per_round(stated, conditions, about.get("where", {}))
        defined = {s: e for s, e in self.where.items() if s in here} | dict(about.get("where", {}))
        if {field.mu, field.L} <= here:
            conditions.append(implied(sympy.Le(field.mu, field.L), "of every function with both constants"))
        if wrong := [s for s in about.get("where", {}) if not isinstance(s, sympy.Symbol)]:
            raise ValueError(f"where = {{{wrong[0]!r}: ...}}: expected symbols, such as {{h: K * eta}}")
        self._declare(
            here.union(defined, *(sympy.sympify(e).free_symbols for e in defined.values())), about.get("note", "")
        )
        by = () if (certified := by is certificate) else by
        proof = by if callable(by) else composed(by, self._vectors) if by else None
        lemmas = [one.of if isinstance(one, Inference) else one for one in (() if callable(by) else by)]
        used = [*_several(about.get("rests_on", ())), *(one for one in lemmas if isinstance(one, Statement))]
        more = {**about, "when": conditions, "where": defined, "given": assumed, "rests_on": used}
        said = super().state(kind, stated, name, place or kind, **cast(About, more))
        if proof is not None:
            self.test(said, partial(self._proved, proof), "ledger")
        if certified:
            self.test(said, _of_round, "certificate")
        if any(isinstance(s, VectorSymbol) for s in here):
            self.test(said, _of_functions, "certificate")
        return said

    def _claim(self, claim: Any) -> Claim:
        """A claim of `fedtheory.theory.statement`, from itself or from an inequality."""
        if isinstance(claim, Bound):
            terms = tuple(replace(term, value=exact(term.value)) for term in claim.terms)
            return replace(claim, quantity=exact(claim.quantity), terms=terms)
        if isinstance(claim, get_args(Claim)):
            return claim
        claim = exact(claim)
        if isinstance(claim, Relational) and claim.has(sympy.Order):
            raise ValueError(
                f"{claim}: expected Order(quantity, (Term(name, value), ...)) of fedtheory.theory.statement"
            )
        if isinstance(claim, Relational) and claim.atoms(VectorSymbol):
            return Relations((claim,))
        return bound_of(claim)

    def _declare(self, symbols: set[Any], about: str) -> None:
        """Symbols of points and functions are declared as they come.  Raises ValueError for another that is unknown."""
        for s in sorted(symbols, key=str):
            if isinstance(s, VectorSymbol):
                self.symbols.setdefault(s.name, Symbol(s.name, s.name, "a point", X, s, None))
            elif isinstance(s, FunctionSymbol):
                self.symbols.setdefault(s.name, Symbol(s.name, s.name, f"a function, {s.of}", F, s, None))
            elif s.name not in self.symbols or self.symbols[s.name].sympy != s:
                says = (
                    unknown("symbol", s.name, list(self.symbols)) if s.name not in self.symbols else f"another {s.name}"
                )
                raise ValueError(f"{self.name}: {says}; expected the field's symbols, or those that p.symbol declares")

    def test(
        self, statement: Statement, check: Callable[[Statement, bool], Verdict], kind: EvidenceKind = "search"
    ) -> None:
        """A check of the author's own: a function of a statement, and of whether to take its time, to a `Verdict`."""
        _forget()
        self.checks.append(Evidence(_stated(statement).id, kind, check))

    def cases(
        self, statement: Statement, cases: Mapping[str, Sequence[Any]] | Callable[[], Any], left: sympy.Expr
    ) -> None:
        """Test a bound in numbers.

        cases  symbol -> its numbers, which are all combined; or a function that gives values of symbols, by name; those
               outside the conditions are left out
        left   what the left side is in a case, as a formula in these symbols
        """
        claim = _stated(statement).claim
        if not isinstance(claim, Bound):
            raise ValueError(f"{statement.id}: expected a bound")
        many = cases if callable(cases) else all(np.ndim(several) == 1 for several in cases.values())
        if not isinstance(left, sympy.Expr) or not many:
            wrong = (
                f"left = {left!r}: expected a formula" if many else f"cases = {cases}: expected several numbers of each"
            )
            raise ValueError(f"{statement.id}: {wrong}")
        names = sorted(map(str, left.free_symbols))
        value, needed = sympy.lambdify(names, left, "numpy"), catalogue.properties(statement)

        def measured(at: Mapping[str, Any]) -> float:
            with np.errstate(all="ignore"):  # outside a changed condition numbers may be too large
                found = value(*(np.float64(at[name]) for name in names))
                return float(found) if np.isreal(found) else np.nan

        def check(changed: Statement, full: bool) -> Verdict:
            every = (
                cases() if callable(cases) else (dict(zip(cases, at, strict=True)) for at in product(*cases.values()))
            )
            return own.on_cases(changed, claim.quantity, every, measured, needed, claim.sign)

        self.test(statement, check)

    def vectors(self, of: Argument) -> Vectors:
        """The vectors of a round of the paper's algorithm, for a proof by a function.  Raises ValueError for none."""
        return self._vectors(of)[1]

    def _vectors(self, of: Argument) -> tuple[str, Vectors]:
        """The name of the paper's algorithm, and the vectors of its round in the step size of a statement."""
        from fedtheory.bounds.defaults import algorithm_of
        from fedtheory.bounds.parallel import parallel_round
        from fedtheory.bounds.worst_cases import refuse_settings

        algorithm = algorithm_of(self.name)
        if algorithm is None:
            raise ValueError(
                f"{self.name} has {len(self.algorithms)} algorithms: expected one for a proof about its round"
            )
        refuse_settings(of.statement, algorithm, open_=True)
        step, eta = of.statement.where.get(field.h), field.eta
        ours = {eta: field.h * eta / step} if step is not None else {}
        return _name_of(algorithm), Vectors(parallel_round(algorithm).at(ours))

    def _proved(self, proof: Callable[[Argument], None], statement: Statement, full: bool) -> Verdict:
        """A proof of a statement, with the form of the algorithm's round where it has one."""
        argument = Argument(statement, parallel.LANGUAGE)
        try:
            with suppress(ValueError):
                name, vectors = self._vectors(argument)
                argument.language = parallel.language(self.statements[f"{self.name}.{name}"], vectors)
            argument.language = parallel.with_quantities(argument.language, self.starts)
            given = catalogue.properties(statement)
            if {Property.STRONGLY_CONVEX, Property.SMOOTH_ABOVE} <= given.keys():
                (least,), (most,) = given[Property.STRONGLY_CONVEX], given[Property.SMOOTH_ABOVE]
                argument.conditions = [*argument.conditions, sympy.Le(least, most)]
            proof(argument)
        except ValueError as error:
            argument.fail("the proof", str(error))
        return argument.verdict()

    def _assumption(self, given: Assumption | Statement) -> Statement:
        if isinstance(given, Statement):
            return given
        if not isinstance(given, Assumption):
            raise ValueError(f"{given!r}: expected assumptions, such as smooth or noise.independent")
        known = self.statements.get(f"{self.name}.{given.name}")
        return known or self.say("assumption", given.name, "", Words(given.words), gives=given.gives)

    def arena(
        self, statement: Statement, problem: Any, rounds: int, algorithm: Any = None, name: str = "", **settings: Any
    ) -> OwnArena:
        """A bound against a run; `plot("thm.pdf")` of what it returns draws it.

        problem    such as problem("quadratic", d=5, M=4, L=1.0, mu=0.1)
        algorithm  the paper's own, unless told
        settings   x0, seeds, fractions and given of `fedtheory.bounds.trials.arena.Arena`; all others are the algorithm's,
        such as K=3

        Raises ValueError for settings that the algorithm does not have, or lacks, and for what is no statement or problem.
        """
        from fedtheory.bounds.defaults import algorithm_of
        from fedtheory.bounds.trials.arena import Arena

        _forget()
        kind = algorithm or algorithm_of(self.name)
        if kind is None:
            raise ValueError(f"{self.name} has {len(self.algorithms)} algorithms: expected algorithm=... for an arena")
        known = {one.name for one in fields(Arena)}
        other = {key: value for key, value in settings.items() if key not in known}
        about, made = {key: value for key, value in settings.items() if key in known}, partial(kind, **other)
        try:
            made(eta=1.0)
        except TypeError as error:
            raise ValueError(
                f"arena with {other or 'no settings'}: {error}; expected the settings of the algorithm"
            ) from None
        if not callable(problem) and not hasattr(problem, "gradient"):
            raise ValueError(
                f'problem = {problem!r}: expected one such as problem("quadratic", d=5, M=4, L=1.0, mu=0.1)'
            )
        name = name or f"{_name_of(kind)}, arena {len(self.arenas) + 1}"
        self.arenas.append(OwnArena(Arena(_stated(statement).id, name, problem, made, rounds, **about)))
        return self.arenas[-1]

    def check(self, *statements: Statement, full: bool = False) -> PaperVerdicts:
        """The verdicts of all claims, or of some: units, exact search, worst cases, proofs, runs; lines against code."""
        from fedtheory.verification import verify

        return PaperVerdicts(tuple(verify([_stated(s).id for s in statements or self._claims], full)))

    @property
    def _claims(self) -> list[Statement]:
        several = self.statements.values()
        return [s for s in several if s.kind not in (*NO_CLAIM, "algorithm") or isinstance(s.claim, Listing)]

    def __repr__(self) -> str:
        some = [f"  {s.id.partition('.')[2]}: {_shown(s)}" for s in self._claims if s.kind != "algorithm"]
        return "\n".join([f"{self.name}: {self.title}", *some[:8]])


def _refuse_per_round(claim: Claim, conditions: Sequence[Condition], where: Mapping[Any, Any]) -> None:
    """Raises ValueError for a statement about a run with something that is another number in each round."""
    symbols = Statement("", "lemma", "", claim).symbols | {s for c in conditions for s in c.relation.free_symbols}
    changing = {s for s in symbols if isinstance(s, field.RoundQuantity) and not s.of_run}
    of_r = [s for s, e in where.items() if s != field.w_r and field.r in sympy.sympify(e).free_symbols]
    if wrong := sorted({*changing, *of_r, *({field.r} & symbols)}, key=str):
        raise ValueError(
            f"{wrong[0]} is another number in each round: expected none but w_r in a statement about all rounds"
        )


class _Over:
    """In place of the end, steps and messages of a trace: after a round, x and memories are what there is."""

    def _refuse(self, *_: Any) -> Any:
        raise ValueError("a quantity after the round reads the round: expected one of x and memories alone")

    __getattr__ = __getitem__ = __iter__ = __len__ = __add__ = __sub__ = __mul__ = __neg__ = _refuse


class _Memories(dict[str, Any]):
    """The memories of a trace by name; a ValueError for one that is not declared."""

    def __missing__(self, name: str) -> Any:
        told = ", ".join(self) or "none"
        raise ValueError(
            f"memory {name!r} is not declared: expected it in p.algorithm(..., memory=...), which has {told}"
        )


@dataclass(frozen=True)
class OwnArena:
    """A bound, and the problem and algorithm that test it."""

    arena: Any

    def plot(self, file: str | Path) -> Path:
        """Draw the bound, its terms and what is measured into this PNG, SVG or PDF file, and write the numbers beside it.

        Returns its path.  Raises ValueError for another ending, or where it cannot be written.
        """
        from fedtheory.figures.bound_against_run import draw
        from fedtheory.figures.gallery import save_as, saveable

        saveable(Path(file))
        save_as(lambda: draw(self.arena.statement, [self.arena]), Path(file))
        return Path(file)


@dataclass(frozen=True)
class _Figures:
    """The figures of a paper: each bound in its arenas."""

    paper: OwnPaper

    @property
    def FIGURES(self) -> list[Any]:
        """One for each statement that has arenas."""
        from fedtheory.figures.bound_against_run import draw
        from fedtheory.figures.gallery import Picture

        several: dict[str, list[Any]] = {}
        for one in self.paper.arenas:
            several.setdefault(one.arena.statement, []).append(one.arena)
        return [
            Picture(id_.replace(".", "_"), "the bound against runs", partial(draw, id_, of), (id_,), partial(tuple, of))
            for id_, of in several.items()
        ]


def problem(name: str, **settings: Any) -> Callable[[], Any]:
    """A problem by its name in `fedtheory.problems`, with its settings; built when it is needed.

    Raises UnknownName, and ValueError for settings that it does not have, or lacks.
    """
    from fedtheory.registries import problems

    taken = signature(problems[name])
    try:
        taken.bind_partial(**settings)  # first, so that a misspelt name is told before the one that it leaves out
        taken.bind(**settings)
    except TypeError as error:
        raise ValueError(f"problem {name!r}: {error}; expected its settings {', '.join(taken.parameters)}") from None
    return partial(problems[name], **settings)


def off_star(name: str) -> Callable[[Any, Mapping[str, Any]], Any]:
    """For `quantity`: the mean over the clients of ||their memory of this name - grad F_m(x*)||^2."""

    def of(t: Any, memory: Mapping[str, Any]) -> Any:
        pairs = zip(t.functions, memory[name], strict=True)
        return t.mean((kept - f.at(t.zero).gradient).square for f, kept in pairs)

    return of


def rates(soft: Sequence[str] = (), **rounds: Any) -> Rates:
    """Rounds to an accuracy, up to constants, by cases such as strongly_convex=...; in the cases `soft` up to logarithms."""
    return Rates(
        tuple(Rate(case.replace("_", " "), sympy.sympify(e), sympy.S.One, case in soft) for case, e in rounds.items())
    )


def _of_functions(statement: Statement, full: bool) -> Verdict:
    """An inequality between points and functions, for all of them."""
    (relation,) = statement.claim.relations if isinstance(statement.claim, Relations) else (sympy.true,)
    return inequalities.decided(relation, [c.relation for c in statement.when])


def _of_round(statement: Statement, full: bool) -> Verdict:
    """A lemma about a round, for all constants and numbers of clients."""
    from fedtheory.bounds.certified_rounds import check

    return check(statement, full)


@dataclass(frozen=True)
class PaperVerdicts:
    """The verdicts of a paper's statements."""

    checked: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        """The verdicts of a statement, by its id or by the part of it after the dot.  Raises UnknownName."""
        for one in self.checked:
            if name in (one.statement.id, one.statement.id.partition(".")[2]):
                return one
        raise unknown("statement", name, [one.statement.id for one in self.checked])

    def __repr__(self) -> str:
        from fedtheory.texts import why_open

        lines = []
        for one in self.checked:
            lines.append(f"{one.statement.id.partition('.')[2]}: {one.headline}")
            for evidence, verdict in sorted(one.against, key=lambda pair: pair[0].kind != "units")[:1]:
                witness = in_one_line(verdict.witness)
                lines.append(f"  {evidence.kind}: {verdict.says}" + (f" ({witness})" if witness else ""))
            undecided = one.status in (Status.OPEN, Status.VACUOUS)
            told = {Status.BROKEN, Status.ERROR, *((Status.OPEN, Status.VACUOUS) if undecided else ())}
            reasons = [
                f"  {evidence.kind}: {verdict.says}" for evidence, verdict in one.verdicts if verdict.status in told
            ]
            lines += reasons or ([f"  {why_open(one.statement)}"] if undecided else [])
        return "\n".join(lines)


def _several(one: Any) -> list[Any]:
    """A list of what may be one or several."""
    return list(one) if isinstance(one, Iterable) and not isinstance(one, str) else [one]


def _stated(statement: Any) -> Statement:
    """Raises ValueError for what is no statement."""
    if not isinstance(statement, Statement):
        raise ValueError(f"{statement!r}: expected a statement, as `lemma` and `theorem` return it")
    return statement


def _name_of(kind: Callable[..., Any]) -> str:
    return getattr(class_of(kind), "__name__", "algorithm")


def in_one_line(witness: Mapping[str, Any]) -> str:
    """A witness in one line; floating-point numbers with six digits."""
    return ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}" for name, value in witness.items()
    )


def _shown(statement: Statement) -> str:
    claim = statement.claim
    if isinstance(claim, Bound):
        return f"{plain(claim.quantity)} {claim.sign} {plain(claim.value)}"
    return ", ".join(map(plain, claim.relations)) if isinstance(claim, Relations) else type(claim).__name__.lower()


def paper(name: str, title: str = "", *, step: Any = None, citation: str = "") -> OwnPaper:
    """A paper of one's own, by a short name; every command and function of the toolkit in this process then finds it.

    step  what h is, such as K * eta

    A second paper of the same name takes the place of the first.  Raises ValueError for a name that is taken, and for a
    step that is no positive formula in other symbols than h.
    """
    plugins.check_name(name)
    if step is not None:
        e = sympy.sympify(step) if not isinstance(step, str) else None
        if not isinstance(e, sympy.Expr) or e.is_positive is False or not e.is_finite or field.h in e.free_symbols:
            raise ValueError(f"step = {step!r}: expected a formula that is positive, such as K * eta")
    _forget()
    found = OwnPaper(name, title or name, citation, step)
    plugins.add(name, lambda: found.parts)
    return found


_PERISHABLE = (
    "fedtheory.bounds.", "fedtheory.simulations.algorithms", "fedtheory.theory.catalogue", "fedtheory.verif"
)  # fmt: skip


def _forget() -> None:
    """Forget what this process has computed for papers: this one changes, or takes the place of another."""
    ours = [m for name, m in sys.modules.items() if name.startswith(_PERISHABLE)]
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
        own = [s.name for s in sorted(part.free_symbols, key=str) if isinstance(s, field.RoundQuantity)]
        name = next(iter(own), next((word for s, word in _NAMES.items() if s in names), "term"))
        number = sum(
            other == name or (other.startswith(f"{name}_") and other[len(name) + 1 :].isdigit()) for other in found
        )
        found[name if not number else f"{name}_{number + 1}"] = part
    return tuple(Term(name, part) for name, part in found.items())


def _conditions(when: Any) -> list[Condition]:
    several = _several(when)
    for one in several:
        if not isinstance(one, Relational | Condition) or isinstance(one, sympy.Ne):
            raise ValueError(f"when = {one}: expected conditions such as h <= 1/(4*L)")
    return [one if isinstance(one, Condition) else Condition(exact(one)) for one in several]


__all__ = [
    *field.__all__, "F", "X", "at_most", "bound_of", "certificate", "changes", "constants", "contract", "contract_by",
    "decreasing", "drop", "function", "in_words", "jensen", "off_star", "only", "paper", "plus", "points", "polyak", "power",
    "problem", "rates", "steady", "telescope", "young",
]  # fmt: skip
