"""One inequality in one line: `check(claim)` says whether it is proved, refuted with a witness, or tested, and on what.

import fedtheory as ft

x, y = ft.points("x y")
f = ft.function("f", smooth="L", convex=True)
ft.check(f(x) - f(y) - f.grad(y).dot(x - y) >= (f.grad(x) - f.grad(y)).norm2 / (2 * f.L))

r = ft.round("PFL", sigma=0)
ft.check(r.dist2.next <= (1 - r.mu * r.h) * r.dist2 - r.h * r.gap, when=r.h <= 1 / (6 * r.L))
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import sympy
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from fedtheory import plugins
from fedtheory.paper import OwnPaper, in_one_line, paper
from fedtheory.registries import algorithms
from fedtheory.theory import catalogue, field as vocabulary, inequalities
from fedtheory.theory.field import Assumption
from fedtheory.theory.inequalities import constants, exact, function, points
from fedtheory.theory.names import unknown
from fedtheory.theory.printing import plain
from fedtheory.theory.statement import Condition, Statement, Status, Verdict

_NUMBER = count(1)


@dataclass(frozen=True)
class Answer:
    """What `check` found.

    claim     as text
    status    proved, refuted, tested, open, vacuous ...
    says      how: the certificate, the family, or where it fails
    witness   for a refuted claim all that a person needs to recompute it
    evidence  kind -> verdict, of a claim about rounds
    """

    claim: str
    status: Status
    says: str
    witness: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Verdict] = field(default_factory=dict)

    def __bool__(self) -> bool:
        raise TypeError("an answer is no truth value: compare its status, such as answer.status == 'proved'")

    def __repr__(self) -> str:
        lines = [f"{self.status}: {self.claim}", f"  {self.says}"]
        if self.witness:
            lines.append(f"  {in_one_line(self.witness)}")
        for kind, verdict in self.evidence.items():
            if kind == _EVERY:
                lines.append(f"  {verdict.says}")
            elif verdict.best:
                where, terms = list(verdict.best.items())[-1]
                room = ", ".join(f"{name} x {high:.4g}" for name, (_, high) in terms.items())
                lines.append(f"  best constants ({where}): {room}")
            elif verdict.slack is not None and self.status is not Status.REFUTED:
                lines.append(f"  {kind}: slack {verdict.slack:.4g}")
        return "\n".join(_shortened(line) for line in lines[:10])


_WIDE = 500
_EVERY = "every_count"


def _shortened(line: str) -> str:
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 4]} ..."


def check(claim: Any, when: Any = (), given: Any = (), for_all: str | None = None) -> Answer:
    """Whether an inequality holds.

    claim  between points, values and gradients of functions (`points`, `function`): for all of them, in every dimension; or
           between quantities of a round or of a run (`round`)
    when   a condition on the constants, or several
    given  of points and functions: further inequalities that hold; of a round: assumptions instead of the usual ones
    for_all  "M": of a round, also the best factor on the larger side for every number of clients, with its proof

    Raises ValueError for what is no inequality, and for another `for_all`.
    """
    if for_all not in (None, "M"):
        raise ValueError(f'for_all = {for_all!r}: expected "M", the number of clients')
    claim, several = exact(claim), [exact(one) for one in ([when] if isinstance(when, Boolean) else when)]
    if claim in (sympy.true, sympy.false):
        verdict = inequalities.decided(claim)
        return Answer(str(claim), verdict.status, verdict.says)
    if not isinstance(claim, sympy.Le | sympy.Ge | sympy.Eq):
        raise ValueError(f"{claim!r}: expected an inequality, such as f(x) - f(y) <= f.grad(x).dot(x - y)")
    told = plain(claim)
    rounds = {type(s).round for s in claim.free_symbols if isinstance(s, _Asked)}
    if for_all and not rounds:
        raise ValueError(f"{told}: expected an inequality about a round, which has clients")
    if not rounds:
        own = [exact(one) for one in ([given] if isinstance(given, Boolean) else given)]
        verdict = inequalities.decided(claim, several, own)
        return Answer(told, verdict.status, verdict.says, verdict.witness)
    if len(rounds) > 1:
        raise ValueError(f"{told}: expected quantities of one round")
    (asked,) = rounds
    assert asked is not None
    return asked.decided(claim, several, list(given), for_all is not None)


# ------------------------------------------------------------------------------------------------------- rounds and runs


class _Asked(vocabulary.RoundQuantity):
    """A quantity of a round that was asked for."""

    round: Round | None = None

    def _at(self, time: str) -> Any:
        found = super()._at(time)
        return type(self)(found.name, real=True, nonnegative=True)


@dataclass(frozen=True, eq=False)
class Round:
    """A round, and a run, of an algorithm: its attributes are the field's symbols and quantities (`fedtheory.theory.field`).

    algorithm  a class with a method `round`
    name       for messages
    convex     whether the clients' functions are convex; mu-strongly convex where a claim speaks of mu
    noisy      whether stochastic gradients have noise
    settings   of the algorithm that are numbers, such as K=2
    """

    algorithm: Callable[..., Any]
    name: str
    convex: bool = True
    noisy: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        known = {n: getattr(vocabulary, n) for n in vocabulary.__all__}
        found = known.get(name)
        if isinstance(found, vocabulary.RoundQuantity):
            kind = self.__dict__.get("_kind") or type("_Asked", (_Asked,), {"round": self})
            object.__setattr__(self, "_kind", kind)
            return kind(found.name, real=True, nonnegative=True)
        if name.startswith("_") or not isinstance(found, sympy.Symbol):
            letters = [n for n, s in known.items() if isinstance(s, sympy.Symbol)]
            raise AttributeError(str(unknown("symbol of a round", name, letters)))
        return found

    def __repr__(self) -> str:
        kind = "convex" if self.convex else "smooth"
        return f"a round of {self.name} on {kind} functions, {'with' if self.noisy else 'without'} noise"

    def decided(self, claim: Any, when: Sequence[Any], given: Sequence[Assumption], every: bool = False) -> Answer:
        """A claim by the evidence that can decide it: units, exact search, worst case, search for the tightest run.

        every  also by constants for every number of clients
        """
        plainly = {s: vocabulary.SYMBOLS[s.name].sympy for s in claim.free_symbols if isinstance(s, _Asked)}
        symbols = claim.free_symbols.union(*(one.free_symbols for one in when if isinstance(one, Relational)))
        name = f"claim{next(_NUMBER)}"
        try:
            own: OwnPaper = paper(name, self.name, step=vocabulary.K * vocabulary.eta)
            own.algorithm(partial(self.algorithm, **self.settings) if self.settings else self.algorithm, self.name)
            said = own.lemma(claim.xreplace(plainly), "claim", when=when, given=given or self._usual(symbols))
            (checked,) = own.check(said).checked
            more = {_EVERY: for_every_count(said)} if every else {}
        finally:
            plugins.remove(name)
        evidence = {e.kind: v for e, v in checked.verdicts} | more
        told = plain(claim.xreplace({vocabulary.h: sympy.Symbol("h")}))
        if checked.against:
            one, verdict = min(checked.against, key=lambda pair: pair[0].kind != "units")
            says = f"{one.kind.replace('_', ' ')}: {verdict.says}"
            return Answer(told, checked.status, says, verdict.witness, evidence)
        own_says = {kind: v for kind, v in evidence.items() if kind != _EVERY}
        says = "; ".join(
            f"{kind.replace('_', ' ')}: {v.says}" for kind, v in own_says.items() if v.status is checked.status
        )
        left = "; ".join(v.says for v in own_says.values() if v.status in (Status.OPEN, Status.ERROR))
        return Answer(told, checked.status, says or left or "nothing that was tried can decide it", {}, evidence)

    def _usual(self, symbols: set[Any]) -> list[Assumption]:
        found = [vocabulary.smooth]
        if self.convex:
            found.append(vocabulary.strongly_convex if vocabulary.mu in symbols else vocabulary.convex)
        if self.noisy:
            found.append(vocabulary.noise.independent)
        if vocabulary.zeta in symbols:
            found.append(vocabulary.heterogeneity)
        return found


def for_every_count(statement: Statement) -> Verdict:
    """The best factor on the larger side of a claim about a round, for every number of clients, at the other numbers to try.

    Tested where the factor 1 is enough for all of these, refuted where instances need more for every number of clients.
    """
    from fedtheory.bounds import worst_cases
    from fedtheory.theory.proofs import every_record, scenes, symmetry

    rounds = worst_cases.rounds(statement.paper)
    if rounds is None or statement.id.partition(".")[2] not in rounds.names:
        return Verdict(
            Status.OPEN, f"{statement.id} is not about one round in vectors: expected a bound on its quantities"
        )
    M = symmetry.letter(statement)
    told: dict[str, str] = {}
    enough, too_small = True, False
    for case in scenes.cases(statement, rounds):
        alike = [n for n in ("S",) if n in case.numbers and case.numbers[n] == case.numbers[M]]
        numbers = {name: x for name, x in case.numbers.items() if name not in (M, *alike)}
        where = ", ".join([*(f"{name} = {x}" for name, x in numbers.items()), *(f"{name} = {M}" for name in alike)])
        try:
            one = every_record.best(
                statement.id, scenes.ALL, symmetry.searches(statement, rounds, numbers, alike)[scenes.ALL][0]
            )
        except (KeyError, ValueError) as error:
            told[where], enough = f"not found ({error})", False
            continue
        told[where] = one.told
        enough = enough and symmetry.nonnegative(1 - one.proved)
        too_small = too_small or (one.least is not None and not symmetry.nonnegative(1 - one.least))
    status = Status.REFUTED if too_small else Status.TESTED if enough and told else Status.OPEN
    shown = "; ".join(f"{factor} at {where}" for where, factor in told.items())
    return Verdict(status, f"for every {M} >= 2, best / stated: {shown or 'no numbers to try meet the conditions'}")


def round(
    algorithm: str | Callable[..., Any], *, convex: bool = True, sigma: int | None = None, **settings: Any
) -> Round:
    """A round of an algorithm, by its name in the registry or as a class.  Its attributes make claims for `check`.

    convex    whether the clients' functions are convex, and mu-strongly convex where a claim speaks of mu
    sigma     0: stochastic gradients without noise
    settings  of the algorithm, such as K=2; those that are left out are tried

    Raises UnknownName for an algorithm that is not in the registry, ValueError for another sigma.
    """
    if sigma not in (None, 0):
        raise ValueError(f"sigma = {sigma}: expected 0, for no noise, or none")
    kind = algorithms[algorithm] if isinstance(algorithm, str) else algorithm
    name = algorithm if isinstance(algorithm, str) else getattr(algorithm, "__name__", "an algorithm")
    return Round(kind, name, convex, sigma is None, settings)


# ----------------------------------------------------------------------------------------------------- claims in a file


_FORMULAS = ("claim", "when", "given")
_WORDS = {"claim", "when", "given", "points", "constants", "functions", "round", "from", "convex", "sigma", "settings"}
_ATTRIBUTES = {"grad", "dot", "norm2", "bregman", "minimiser", "L", "mu", "next", "last", "average", "mean", "smallest"}


def check_file(path: Path) -> Answer:
    """The claim of a TOML file.

        claim = "f(x) - f(y) - f.grad(y).dot(x - y) >= (f.grad(x) - f.grad(y)).norm2 / (2*L)"
        points = "x y"
        functions = {f = {smooth = "L", convex = true}}

    or, about rounds and runs of an algorithm, of the registry or `from` a Python file,

        round = "PFL"
        sigma = 0
        claim = "dist2.next <= (1 - mu*h)*dist2 - h*gap"
        when = "h <= 1/(6*L)"

    Raises ValueError, which names the entry, for a file that is not as described.
    """
    try:
        told = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path}: {error}; expected a TOML file with a claim") from None
    if more := sorted(told.keys() - _WORDS):
        raise ValueError(f"{path.name}: {unknown('entry', more[0], sorted(_WORDS))}")
    if not isinstance(told.get("claim"), str):
        raise ValueError(f'{path.name}: expected claim = "...", an inequality')
    try:
        names = _names(told, path.parent)
        texts = {key: [told[key]] if isinstance(told.get(key), str) else list(told.get(key, [])) for key in _FORMULAS}
        read = {key: [expression(one, names) for one in several] for key, several in texts.items()}
    except (TypeError, AttributeError) as error:
        raise ValueError(f"{path.name}: {error}; expected entries as `fedtheory check --help` shows them") from None
    return check(read["claim"][0], read["when"], read["given"])


def _names(told: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What the names in a file's formulas stand for."""
    if "round" in told:
        kind: Any = told["round"]
        if "from" in told:
            from fedtheory.simulations.own_file import own

            mine = own(folder / told["from"]).algorithms
            if kind not in mine:
                raise unknown("algorithm", kind, list(mine))
            kind = mine[kind]
        asked = round(kind, convex=told.get("convex", True), sigma=told.get("sigma"), **told.get("settings", {}))
        return {
            name: getattr(asked, name)
            for name in vocabulary.__all__
            if isinstance(getattr(vocabulary, name), sympy.Symbol)
        }
    made = {name: function(name, **about) for name, about in told.get("functions", {}).items()}
    vectors = {v.e.name: v for v in _several(points(told["points"]))} if "points" in told else {}
    numbers = {s.name: s for s in _several(constants(told["constants"]))} if "constants" in told else {}
    numbers |= {c.name: c for f in made.values() for c in (f.L, f.mu) if isinstance(c, sympy.Symbol)}
    return {**numbers, **vectors, **made}


def changed(
    statement: Statement, terms: Mapping[str, str], when: Sequence[str] = (), assumes: Sequence[str] = ()
) -> Statement:
    """A statement of the catalogue with other terms, conditions or assumptions, in the letters of its paper.

    terms    name of a term -> its value, such as {"noise": "K*eta^2*sigma^2/(2*S)"}
    when     conditions in place of the printed ones, but for implied ones; none: these
    assumes  ids of assumptions in place of the listed ones; none: these

    Raises ValueError for what cannot be read, and UnknownName.
    """
    names = {name: symbol.sympy for name, symbol in catalogue.symbols(statement).items()} | _FUNCTIONS
    found = (
        statement.with_terms(**{name: expression(text, names) for name, text in terms.items()}) if terms else statement
    )
    if when:
        kept = [] if assumes else [c for c in statement.when if c.source.startswith("implied")]
        found = replace(found, when=(*(Condition(expression(text, names), "given") for text in when), *kept))
    return replace(found, assumes=tuple(catalogue.find(id_).id for id_ in assumes)) if assumes else found


_FUNCTIONS = {"sqrt": sympy.sqrt, "exp": sympy.exp, "log": sympy.log, "min": sympy.Min, "max": sympy.Max}


def _several(one: Any) -> tuple[Any, ...]:
    return tuple(one) if isinstance(one, tuple | list) else (one,)


def expression(text: str, names: Mapping[str, Any]) -> Any:
    """A formula as one types it: sums, products, powers, comparisons, f(x), f.grad(x), u.dot(v), u.norm2.

    Raises ValueError, with the text, for anything else.
    """

    def of(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body=body):
                return of(body)
            case ast.Constant(value=int() | float() as value):
                return sympy.Rational(str(value))
            case ast.Name(id=name):
                if name not in names:
                    raise unknown("name", name, list(names))
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -of(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
                first, second = of(left), of(right)
                if isinstance(op, ast.Pow) and getattr(second, "is_number", False) and abs(second) > _LARGEST_POWER:
                    raise ValueError(f"{ast.unparse(node)}: expected a power of {_LARGEST_POWER} at most")
                return _OPERATIONS[type(op)](first, second)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
                return _COMPARED[type(op)](of(left), of(right))
            case ast.Attribute(value=value, attr=name) if name in _ATTRIBUTES:
                return getattr(of(value), name)
            case ast.Call(func=called, args=arguments, keywords=[]):
                kind = of(called)
                if not callable(kind) or isinstance(kind, sympy.Basic):
                    raise ValueError(f"{ast.unparse(called)} is no function")
                return kind(*map(of, arguments))
        raise ValueError(f"{ast.unparse(node)}: expected sums, products, powers and one comparison")

    try:
        return of(ast.parse(text.replace("^", "**").strip(), mode="eval"))
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, ZeroDivisionError) as error:
        raise ValueError(f"{text!r}: {error}") from None


_LARGEST_POWER = 1000
_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.MatMult: lambda a, b: a @ b,
}
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.LtE: lambda a, b: sympy.Le(a, b),
    ast.GtE: lambda a, b: sympy.Ge(a, b),
    ast.Lt: lambda a, b: sympy.Lt(a, b),
    ast.Gt: lambda a, b: sympy.Gt(a, b),
    ast.Eq: lambda a, b: sympy.Eq(a, b),
}
