"""What a paper says, as data: symbols, conditions, claims, statements, evidence, verdicts.

A `Statement` is one thing a paper says.  Its `claim` is one of

* `Bound`      quantity <= sum of named terms (also >= or =), every constant explicit;
* `Order`      quantity = O(...) or O~(...), or Omega(...): an ordered list of order terms, constants unknown;
* `Relations`  identities, definitions and inequalities without named terms;
* `Listing`    the numbered lines of an algorithm;
* `Record`     settings and printed numbers of an experiment;
* `Rates`      how many rounds and local steps bring a quantity down to epsilon;
* `Words`      a sentence, with the formulas it contains.

Printed statements stay exactly as printed; `repair` says where the transcription needed a repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from re import ASCII, fullmatch
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack, cast

import sympy
from sympy.core.relational import Relational

from fedtheory.theory import exact as exact  # sympy is told of gmpy2's fractions
from fedtheory.theory.concepts import CONCEPTS, DOMAINS, NUMBER as NUMBER, F as F, X as X, monomial
from fedtheory.theory.listing import Listing
from fedtheory.theory.names import unknown
from fedtheory.theory.proof_text import ProofText
from fedtheory.theory.properties import Properties


class Status(StrEnum):
    """What a check has shown."""

    PROVED = "proved"  # for every instance of the hypotheses
    CONDITIONAL = "conditional"  # proved if something is added that the paper does not list; it is named
    TESTED = "tested"  # no violation in a stated, finite family
    REFUTED = "refuted"  # with a witness that anyone can re-run
    BROKEN = "broken"  # a proof fails at a named step, with a witness; this does not decide the statement
    VACUOUS = "vacuous"  # the conditions cannot be met
    ANALOGUE = "analogue"  # an experiment of ours beside a printed one: it decides nothing about the printed one
    DEFINITION = "definition"  # it claims nothing: there is nothing to decide
    OPEN = "open"  # not decided
    ERROR = "error"  # the check ended in an exception: something is to be mended before anything is said


# Kinds that set something down and claim nothing.  Evidence can refute such a statement (a definition that defines
# nothing, an assumption that nothing meets), or can show that it is met.  Neither proves anything.
NO_CLAIM = ("setting", "assumption", "definition")
# Kinds that count as no claim as long as they have no evidence: a picture, a list of settings, the lines of a listing
OFTEN_NO_CLAIM = ("algorithm", "partition", "experiment", "figure")

EvidenceKind = Literal[
    "units",
    "enumeration",
    "derivation",
    "certificate",
    "ledger",
    "repair",
    "counterexample",
    "search",
    "worst_case",
    "moments",
    "run",
    "slopes",
]

Kind = Literal[
    "setting",
    "assumption",
    "definition",
    "identity",
    "inequality",
    "lemma",
    "step",
    "theorem",
    "corollary",
    "bound",
    "order",
    "table",
    "claim",
    "algorithm",
    "problem",
    "partition",
    "experiment",
    "figure",
]


@dataclass(frozen=True)
class Symbol:
    """A symbol of a paper: ASCII name, LaTeX, meaning, dimension.

    `dimension` is a monomial in `X` and `F` (``F / X**2`` for a smoothness constant), or `NUMBER`.  `concept` is the
    quantity of `CONCEPTS` that it is a letter for; None: the paper's own.
    """

    name: str
    latex: str
    meaning: str
    dimension: sympy.Expr
    sympy: sympy.Symbol
    concept: str | None = None

    @property
    def domain(self) -> str:
        """In words, the values the symbol may take."""
        s = self.sympy
        kind = "integer" if s.is_integer else "real"
        if s.is_positive:
            return f"{kind} >= 1" if s.is_integer else f"{kind} > 0"
        if s.is_nonnegative:
            return f"{kind} >= 0"
        return kind


@dataclass(frozen=True)
class Condition:
    """A condition of a claim; `source` says whether it is printed, or why it is implied."""

    relation: Relational
    source: str = "printed"

    def __str__(self) -> str:
        sign = {"==": "="}.get(self.relation.rel_op, self.relation.rel_op)
        text = f"{self.relation.lhs} {sign} {self.relation.rhs}"
        return text if self.source == "printed" else f"{text} ({self.source})"


@dataclass(frozen=True)
class Term:
    """One named summand of a bound."""

    name: str
    value: sympy.Expr


@dataclass(frozen=True)
class Bound:
    """quantity `sign` sum of named terms, in printed order, all constants explicit."""

    quantity: sympy.Expr
    terms: tuple[Term, ...]
    sign: Literal["<=", ">=", "="] = "<="

    @property
    def value(self) -> sympy.Expr:
        """The sum of the terms."""
        return sympy.Add(*(t.value for t in self.terms))

    def scaled(self, factor: Any, term: str | None = None) -> Bound:
        """The bound with every term (or only the one named `term`) multiplied by `factor`: a sharpened claim."""
        names = [t.name for t in self.terms]
        if term is not None and term not in names:
            raise ValueError(f"no term named {term!r}; the terms are {', '.join(names)}")
        exact = factor if isinstance(factor, sympy.Basic) else sympy.nsimplify(factor, rational=True)
        terms = tuple(Term(t.name, t.value * exact) if term in (None, t.name) else t for t in self.terms)
        return replace(self, terms=terms)


@dataclass(frozen=True)
class Order:
    """quantity = O(sum of terms), or O~ when polylogarithmic factors are omitted too (`polylog`); Omega for `lower`."""

    quantity: sympy.Expr
    terms: tuple[Term, ...]
    polylog: bool = False
    lower: bool = False

    @property
    def letter(self) -> str:
        """O, Omega, or these with a tilde."""
        return ("Ω" if self.lower else "O") if not self.polylog else "Ω̃" if self.lower else "Õ"

    @property
    def latex(self) -> str:
        """The letter in LaTeX."""
        letter = r"\Omega" if self.lower else r"\mathcal{O}"
        return rf"\tilde{{{letter}}}" if self.polylog else letter

    @property
    def value(self) -> sympy.Expr:
        """The sum of the order terms, with the unknown constants set to one."""
        return sympy.Add(*(t.value for t in self.terms))


@dataclass(frozen=True)
class Relations:
    """Relations (equalities, inequalities, membership), and what they say in words.

    parts  named expressions in them that one may want as numbers, such as the sides of a condition
    """

    relations: tuple[sympy.Basic, ...]
    words: str = ""
    parts: tuple[tuple[str, sympy.Expr], ...] = ()

    def __post_init__(self) -> None:
        if any(r in (sympy.true, sympy.false) for r in self.relations):
            raise ValueError(f"{self.relations}: a relation has been evaluated; expected it with evaluate=False")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The named parts."""
        return tuple(Term(name, value) for name, value in self.parts)

    @property
    def defined(self) -> sympy.Expr | None:
        """The right side of the equality, if there is only this one relation; None if it is no definition."""
        only = self.relations[0] if len(self.relations) == 1 else None
        return only.rhs if isinstance(only, sympy.Eq) else None


@dataclass(frozen=True)
class Record:
    """An experiment: settings and printed numbers, as data."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    table: tuple[Mapping[str, Any], ...] = ()
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rate:
    """If `given` holds, R = O(rounds) (O~ when `polylog`) and tau = O(steps) >= 1 make the quantity O(epsilon)."""

    case: str
    rounds: sympy.Expr
    steps: sympy.Expr
    polylog: bool = False
    given: tuple[Relational, ...] = ()


@dataclass(frozen=True)
class Rates:
    """The rates in a row of a table, or the rates that a corollary derives from its bound."""

    rates: tuple[Rate, ...]

    @property
    def by_case(self) -> dict[str, Rate]:
        """case -> rate."""
        return {rate.case: rate for rate in self.rates}


@dataclass(frozen=True)
class Words:
    """A sentence of the paper, and the formulas in it."""

    text: str
    formulas: tuple[sympy.Basic, ...] = ()


Claim = Bound | Order | Relations | Rates | Listing | Record | Words
Parts = ParamSpec("Parts")
OfKind = TypeVar("OfKind", Bound, Order, Relations, Rates, Listing, Record, Words)


def formulas(claim: Claim) -> list[sympy.Basic]:
    """The formulas of a claim: for a bound or an order, its quantity and its terms.  Tables and listings have none."""
    if isinstance(claim, Bound | Order):
        return [claim.quantity, *(t.value for t in claim.terms)]
    if isinstance(claim, Relations):
        return list(claim.relations)
    return list(claim.formulas) if isinstance(claim, Words) else []


def defined(e: sympy.Expr, where: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """An expression with all definitions substituted, also inside other definitions."""
    for _ in where:
        e = e.xreplace(dict(where))
    return e


def circular(where: Mapping[sympy.Symbol, sympy.Expr]) -> list[str]:
    """The symbols whose definitions read themselves, or wait for one that does, by name."""
    left = dict(where)
    while ends := [s for s, e in left.items() if not e.free_symbols & left.keys()]:
        for s in ends:
            del left[s]
    return sorted(s.name for s in left)


@dataclass(frozen=True)
class Application:
    """'Applying Lemma n with a = ..., b = ...': the lemma's symbols, by ASCII name, in the statement's symbols.

    tuned_by  id of the part of the lemma that tunes the step size; its `where` has the choice in closed form
    """

    lemma: str
    substitution: Mapping[str, sympy.Expr]
    tuned_by: str


@dataclass(frozen=True, repr=False)
class Statement:
    """One thing a paper says.

    id          `paper.name`, the key everywhere
    kind        theorem, lemma, step, assumption ...
    place       its place in the paper
    claim       what it claims
    when        conditions of the claim
    where       its definitions, symbol -> expression (eta_tilde = M K eta)
    assumes     ids of the assumptions it needs
    rests_on    ids of the statements its proof uses
    applies     the recursion lemma its proof applies, with the substitution
    also        further claims of the same display or sentence, such as an equality on the way to a bound
    note        how it is read, differences from the inventory
    repair      where it is not encoded as printed: what is printed, and what stands here; empty: as printed
    corrects    id of the printed statement that this one corrects or generalises; empty for printed statements
    sharpens    id of the printed statement of which this one is a sharper form; empty for printed statements
    reads       name -> dimension of each symbol whose meaning here differs from its meaning in the paper's symbol table
    gives       for an assumption: the properties that it stands for, each with its constants
    """

    id: str
    kind: Kind
    place: str
    claim: Claim
    when: tuple[Condition, ...] = ()
    where: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    applies: Application | None = None
    also: tuple[Claim, ...] = ()
    note: str = ""
    repair: str = ""
    corrects: str = ""
    sharpens: str = ""
    reads: Mapping[str, sympy.Expr] = field(default_factory=dict)
    gives: Properties = field(default_factory=dict)

    def __repr__(self) -> str:
        """At most ten lines: what it is, its claim, its conditions, its assumptions."""
        from fedtheory.theory.printing import in_lines

        return "\n".join(in_lines(self))

    def _repr_markdown_(self) -> str:
        """For a notebook: the claim as a formula."""
        from fedtheory.theory.printing import in_markdown

        return in_markdown(self)

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.split(".", 1)[0]

    @property
    def form(self) -> Form:
        """Printed, or ours: a corrected or a sharper form of a printed one."""
        return "sharper" if self.sharpens else "corrected" if self.corrects else "printed"

    @property
    def ours(self) -> bool:
        """Whether it is not printed."""
        return self.form != "printed"

    @property
    def symbols(self) -> set[sympy.Symbol]:
        """The symbols in its claims, conditions and definitions."""
        claims = [e for claim in (self.claim, *self.also) for e in formulas(claim)]
        every = [*claims, *(c.relation for c in self.when), *self.where, *self.where.values()]
        return set().union(*(e.free_symbols for e in every))

    def claim_of(self, kind: type[OfKind]) -> OfKind:
        """The claim, if it is of this kind.  Raises ValueError for one of another kind."""
        if not isinstance(self.claim, kind):
            raise ValueError(f"{self.id}: a claim of kind {type(self.claim).__name__}: expected {kind.__name__}")
        return self.claim

    def with_terms(self, **terms: Any) -> Statement:
        """The same bound or order with other values of terms, by their names.

        Raises ValueError for what has no terms, and UnknownName for a term that it does not have.
        """
        if not isinstance(self.claim, Bound | Order):
            raise ValueError(f"{self.id} has no terms: expected a bound or an order")
        names = [t.name for t in self.claim.terms]
        for name in terms:
            if name not in names:
                raise unknown("term", name, names)
        new = tuple(Term(t.name, sympy.sympify(terms.get(t.name, t.value))) for t in self.claim.terms)
        return self.with_claim(replace(self.claim, terms=new))

    def with_claim(self, claim: Claim) -> Statement:
        """The same statement with another claim.  Tests use it to make a sharper claim, which a check must refute."""
        return replace(self, claim=claim)


PremiseKind = Literal["claim", "property", "rule", "condition", "definition", "algorithm", "inference"]


@dataclass(frozen=True, order=True)
class Premise:
    """What a proof uses: the id of a statement, the name of a property or rule, a condition, an inference in words."""

    kind: PremiseKind
    name: str


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check.

    added     ids of what must be added to the statement: assumptions that the paper does not list, but that the standard
              of charity reads into it (`fedtheory.theory.readings`), or statements that are not proved
    without   what refutes the statement as it is listed, without what is added; empty if nothing does
    slack     the factor by which the claim can be tightened before this check refutes it (None: not measured)
    says      one line: what was checked, on which family
    witness   for `refuted`: the instance and the two numbers
    premises  for a proof: all recorded premises
    best      for a worst case: numbers -> term -> the factor by which it may be multiplied, from below and from above
    steps     digests of the different steps of a proof, in order; each has a certificate ...
    uncertified  ... but for these steps, as text, which rest on z3 alone
    theorems  digests of the theorems that the proof is in Coq
    written   the proof in words and formulas, of one that holds or breaks
    """

    status: Status
    says: str
    slack: float | None = None
    witness: Mapping[str, Any] = field(default_factory=dict)
    premises: tuple[Premise, ...] = ()
    best: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    uncertified: tuple[str, ...] = ()
    theorems: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    without: str = ""
    written: ProofText | None = field(default=None, repr=False)

    @property
    def failed(self) -> bool:
        """Whether the check ended in an exception."""
        return self.status is Status.ERROR

    @property
    def uses(self) -> tuple[str, ...]:
        """Ids of the statements whose claims the proof takes for granted; it is only as good as they are."""
        return tuple(p.name for p in self.premises if p.kind == "claim")

    @property
    def follows(self) -> tuple[str, ...]:
        """Ids of the algorithms and definitions that the proof uses; it proves nothing if one of them is false."""
        return tuple(p.name for p in self.premises if p.kind in ("algorithm", "definition"))


@dataclass(frozen=True)
class Evidence:
    """One way to test one statement.

    `check(statement, full)` computes the verdict from the claim of the statement that it gets.  So the same check
    must refute a claim that is too sharp (or its proof must break).

    uses  ids of the statements whose claims the check takes for granted; it is only as good as they are
    """

    statement: str
    kind: EvidenceKind
    check: Callable[[Statement, bool], Verdict]
    uses: tuple[str, ...] = ()


Charity = Literal["draws", "compressors", "meaning", "points", "section", "start"]


@dataclass(frozen=True)
class Reading:
    """An assumption that a paper does not list, but that the standard of charity reads into some of its statements.

    rule    the rule of the standard, of `fedtheory.theory.readings.RULES`
    adds    id of the assumption
    beside  ids of assumptions: it is read into statements that list one of them; empty: into all statements
    unless  ids of assumptions: it is not read into statements that list one of them
    within  it is read into statements at places that begin so
    """

    rule: Charity
    adds: str
    beside: frozenset[str]
    unless: frozenset[str]
    within: str

    def into(self, statement: Statement) -> bool:
        """Whether it is read into this statement, which does not list it."""
        listed = set(statement.assumes)
        beside = not self.beside or bool(self.beside & listed)
        return beside and not (self.unless | {self.adds}) & listed and statement.place.startswith(self.within)


Form = Literal["printed", "corrected", "sharper"]
Severity = Literal[
    "breaks the statement",
    "breaks the proof",
    "missing hypothesis",
    "constant",
    "misprint",
]


@dataclass(frozen=True)
class Erratum:
    """An error of a paper, as a person would report it.  What the evidence finds is computed, not written here.

    statement  id of the printed statement
    severity   what the error does
    printed    what the paper says
    true       what it should say, and why
    corrected  id of the corrected statement, if the catalogue has one
    """

    statement: str
    severity: Severity
    printed: str
    true: str
    corrected: str = ""


@dataclass(frozen=True)
class Finding:
    """What a reader of the paper should know first, in words.  Its verdict and witness are computed, not written here.

    statement  id of the refuted statement
    title      the finding in one line
    says       what is wrong
    matters    why it matters, and what is true instead
    figure     name of the figure that shows it
    """

    statement: str
    title: str
    says: str
    matters: str
    figure: str


Conditions: TypeAlias = "Relational | Iterable[Relational | Condition]"  # one, or several
NewClaim: TypeAlias = "Claim | Mapping[str, sympy.Expr] | None"  # new values of terms; None: the printed claim


def _conditions(when: Conditions) -> tuple[Condition, ...]:
    several = [when] if isinstance(when, Relational) else when
    conditions = tuple(c if isinstance(c, Condition) else Condition(c) for c in several)
    for c in conditions:
        if not isinstance(c.relation, Relational):
            raise ValueError(f"condition {c.relation} is not a relation: it always or never holds")
    return conditions


def _terms(terms: Mapping[str, Any]) -> tuple[Term, ...]:
    return tuple(Term(name, sympy.sympify(value)) for name, value in terms.items())


def at_most(quantity: sympy.Expr, **terms: Any) -> Bound:
    """quantity <= sum of the named terms."""
    return Bound(quantity, _terms(terms), "<=")


def equal_to(quantity: sympy.Expr, **terms: Any) -> Bound:
    """quantity = sum of the named terms."""
    return Bound(quantity, _terms(terms), "=")


def order(quantity: sympy.Expr, **terms: Any) -> Order:
    """quantity = O(sum of the named terms): absolute constants omitted."""
    return Order(quantity, _terms(terms))


def soft_order(quantity: sympy.Expr, **terms: Any) -> Order:
    """quantity = O~(sum of the named terms): absolute constants and polylogarithmic factors omitted."""
    return Order(quantity, _terms(terms), polylog=True)


def at_least(quantity: sympy.Expr, **terms: Any) -> Bound:
    """quantity >= sum of the named terms: a lower bound."""
    return Bound(quantity, _terms(terms), ">=")


def lower_order(quantity: sympy.Expr, **terms: Any) -> Order:
    """quantity = Omega(sum of the named terms): a lower bound, absolute constants omitted."""
    return Order(quantity, _terms(terms), lower=True)


def relations(*each: Any, words: str = "", parts: tuple[tuple[str, sympy.Expr], ...] = ()) -> Relations:
    """These relations, and what they say in words."""
    return Relations(each, words, parts)


def rates(*each: Rate) -> Rates:
    """These rates."""
    return Rates(each)


def implied(relation: Relational, why: str) -> Condition:
    """A condition that the paper does not print but that its assumptions imply, such as mu <= L."""
    return Condition(relation, why)


@dataclass(frozen=True)
class ListOf:
    """A symbol for a list of numbers, such as the clients' shares p.

    needed  the symbol that bounds use instead, such as sum p_k^2
    of      its number, by the list
    count   the symbol for the length of the list
    """

    needed: str
    of: Callable[[Sequence[float]], float]
    count: str

    def checked(self, name: str, values: Sequence[float], others: Mapping[str, object]) -> float:
        """The number.  Raises ValueError unless the list is as long as the others say, where they say so."""
        length = others.get(self.count)
        if isinstance(length, int | float) and length != len(values):
            raise ValueError(f"{name} has {len(values)} numbers: expected {self.count} = {length:g} of them")
        return self.of(values)


class About(TypedDict, total=False):
    """What a paper says of a statement besides its claim; see `Paper.state`."""

    when: Conditions
    where: Mapping[sympy.Symbol, Any]
    given: Iterable[Any]
    rests_on: Iterable[str | Statement]
    applies: Application | None
    also: Claim | Iterable[Claim]
    note: str
    reads: Mapping[str, sympy.Expr]
    gives: Mapping[StrEnum, tuple[Any, ...]]


def _by_kind(
    state: Callable[Concatenate[Paper, Kind, Parts], Statement],
) -> Callable[[Kind], Callable[Concatenate[Paper, Parts], Statement]]:
    """kind -> the method that states it, by `state` of the paper's own class."""

    def of(kind: Kind) -> Callable[Concatenate[Paper, Parts], Statement]:
        return lambda paper, *parts, **named: getattr(paper, state.__name__)(kind, *parts, **named)

    return of


class Paper:
    """A paper under its short name.  It collects the symbols and statements that the paper's modules declare.

    step_sizes  the symbols of its step sizes; the first one that a bound contains is the one to tune
    lists       symbols that stand for a list of numbers
    published   year and month, such as "2024-07"; unknown: ""
    url         where it can be read
    """

    def __init__(
        self,
        name: str,
        title: str,
        citation: str,
        step_sizes: Sequence[str] = (),
        lists: Mapping[str, ListOf] | None = None,
        published: str = "",
        url: str = "",
    ) -> None:
        self.name, self.title, self.citation, self.step_sizes = name, title, citation, tuple(step_sizes)
        self.published, self.url = published, url
        self.lists = dict(lists or {})
        self.background: tuple[Statement, ...] = ()  # what its setting and algorithms provide to every statement
        self.readings: list[Reading] = []  # what charity reads into its statements
        self.symbols: dict[str, Symbol] = {}
        self.statements: dict[str, Statement] = {}
        self.errata: list[Erratum] = []
        self.roots: dict[
            str, str
        ] = {}  # id of a statement -> the one whose error it has, or from which its error follows
        self.findings: list[Finding] = []

    def symbol(
        self,
        name: str,
        latex: str,
        meaning: str,
        dimension: sympy.Expr = NUMBER,
        *,
        concept: str | None = None,
        **assumptions: bool,
    ) -> sympy.Symbol:
        """Declare a symbol, once; the units check of every statement with this symbol uses its dimension.

        concept  the quantity of `CONCEPTS` that it is a letter for.  By it a problem's certified constant, a number of the
                 start or a measured quantity is found, and papers are compared

        Raises ValueError for a second declaration, what is no dimension, an unknown concept and one of another dimension,
        and for assumptions that are not among `DOMAINS`.
        """
        if name in self.symbols:
            raise ValueError(f"symbol {name!r} is declared twice in {self.name}")
        dimension = monomial(name, dimension)
        if concept is not None and concept not in CONCEPTS:
            raise ValueError(f"{name} of {self.name}: {unknown('concept', concept, list(CONCEPTS))}")
        if concept is not None and sympy.simplify(CONCEPTS[concept] / dimension) != 1:
            raise ValueError(
                f"{name} of {self.name} has dimension {dimension}: expected {CONCEPTS[concept]}, that of {concept!r}"
            )
        for other in sorted(assumptions.keys() - set(DOMAINS)):
            raise ValueError(f"{name} of {self.name}: {unknown('assumption', other, list(DOMAINS))}")
        s = sympy.Symbol(name, real=True, **assumptions)
        self.symbols[name] = Symbol(name, latex, meaning, dimension, s, concept)
        return s

    def say(
        self,
        kind: Kind,
        name: str,
        place: str,
        claim: Claim,
        *,
        when: Conditions = (),
        where: Mapping[sympy.Symbol, Any] | None = None,
        assumes: Iterable[Statement] = (),
        rests_on: Iterable[str | Statement] = (),
        applies: Application | None = None,
        also: Claim | Iterable[Claim] = (),
        note: str = "",
        reads: Mapping[str, sympy.Expr] | None = None,
        gives: Mapping[StrEnum, tuple[Any, ...]] | None = None,
    ) -> Statement:
        """Declare a statement.

        name      its id without the paper's short name
        assumes   statements of this paper or of others
        rests_on  ids without the paper's short name, or statements of others, as `catalogue.find` gives them

        Raises ValueError for a name that is no id or is declared already, where `assumes` has something else than
        statements, and where definitions read themselves.
        """
        id_, assumes = f"{self.name}.{name}", tuple(assumes)
        for other in assumes:
            if not isinstance(other, Statement):
                raise ValueError(
                    f"{id_} assumes {other!r}: expected a statement, as `paper.say` and `catalogue.find` return it"
                )
        if not (isinstance(name, str) and fullmatch(r"\w+(\.\w+)*", name, ASCII)):
            raise ValueError(f"statement {name!r} of {self.name}: expected letters, digits, _ and dots, such as lemma5")
        if id_ in self.statements:
            raise ValueError(f"statement {id_!r} is declared twice")
        statement = Statement(
            id=id_,
            kind=kind,
            place=place,
            claim=claim,
            when=_conditions(when),
            where={k: sympy.sympify(v) for k, v in (where or {}).items()},
            assumes=tuple(a.id for a in assumes),
            rests_on=tuple(r.id if isinstance(r, Statement) else f"{self.name}.{r}" for r in rests_on),
            applies=applies,
            also=(also,) if isinstance(also, Claim) else tuple(also),
            note=note,
            reads=dict(reads or {}),
            gives={name: tuple(map(sympy.sympify, constants)) for name, constants in (gives or {}).items()},
        )
        if names := circular(statement.where):
            raise ValueError(f"{id_} defines {', '.join(names)} by themselves: expected definitions by other symbols")
        self.statements[id_] = statement
        return statement

    def state(self, kind: Kind, claim: Any, name: str = "", place: str = "", **about: Unpack[About]) -> Statement:
        """Declare a statement, as `lemma`, `theorem` and the other kinds do: `paper.lemma(claim, name="lemma5", when=...)`.

        claim     what it says
        name      its id without the paper's short name; lemma1, lemma2 ... by default
        place     where the paper says it
        when      a condition, or several
        given     its assumptions: statements of this paper or of others
        where     definitions of symbols
        rests_on  what it follows from: ids without the paper's short name, or statements
        note      what a reader should know

        Raises what `say` raises.
        """
        same = sum(s.kind == kind for s in self.statements.values())
        assumes, rest = about.get("given", ()), {key: value for key, value in about.items() if key != "given"}
        return self.say(kind, name or f"{kind}{same + 1}", place, claim, assumes=assumes, **cast(Any, rest))

    _of = _by_kind(state)
    setting, assumption, definition = _of("setting"), _of("assumption"), _of("definition")
    identity, inequality, problem = _of("identity"), _of("inequality"), _of("problem")
    lemma, step, theorem, corollary = _of("lemma"), _of("step"), _of("theorem"), _of("corollary")
    bound, order, table, claim = _of("bound"), _of("order"), _of("table"), _of("claim")
    algorithm, partition = _of("algorithm"), _of("partition")

    def correct(self, name: str, claim: NewClaim = None, suffix: str = "corrected", **changed: Any) -> Statement:
        """Declare the corrected form of a printed statement, as `name.corrected`; all other fields stay as printed.

        claim    or other values of terms of the printed bound or order, by their names
        changed  any of kind, when, where, given, rests_on, applies, also, note, as in `state`
        """
        new = self._form(name, claim, suffix, changed)
        self.statements[new.id] = replace(new, corrects=f"{self.name}.{name}")
        return self.statements[new.id]

    def sharpen(self, name: str, claim: NewClaim = None, suffix: str = "sharp", **changed: Any) -> Statement:
        """Declare a sharper form of a statement, printed or corrected, as `name.sharp`: better constants, fewer conditions.

        claim, changed  as for `correct`
        """
        new = self._form(name, claim, suffix, changed)
        self.statements[new.id] = replace(new, sharpens=f"{self.name}.{name}")
        return self.statements[new.id]

    def _form(self, name: str, claim: NewClaim, suffix: str, changed: Mapping[str, Any]) -> Statement:
        """Declare another form of a printed statement; what is not changed stays as printed."""
        printed = self.statements[f"{self.name}.{name}"]
        kept = ("when", "where", "applies", "also", "reads", "gives")
        about = {field: getattr(printed, field) for field in kept} | dict(changed)
        kind = about.pop("kind", printed.kind)
        if isinstance(claim, Mapping):
            claim = printed.with_terms(**claim).claim
        new = self.state(kind, claim or printed.claim, f"{name}.{suffix}", printed.place, **about)
        fields = {"given": "assumes", "rests_on": "rests_on"}
        return replace(new, **{field: getattr(printed, field) for key, field in fields.items() if key not in changed})

    def repair(self, says: str, *names: str) -> None:
        """Say where printed statements, by ids without the paper's short name, are not encoded as printed.

        Raises ValueError for a name that is not declared, or that has a repair already.
        """
        for name in names:
            statement = self.statements.get(f"{self.name}.{name}")
            if statement is None or statement.repair:
                raise ValueError(f"repair of {self.name}.{name}: expected a statement without one")
            self.statements[statement.id] = replace(statement, repair=says)

    def read(
        self,
        rule: Charity,
        adds: Statement,
        beside: Iterable[Statement] = (),
        unless: Iterable[Statement] = (),
        within: str = "",
    ) -> None:
        """Declare an assumption that charity reads into statements of this paper; see `Reading`."""
        listed, other = (frozenset(s.id for s in some) for some in (beside, unless))
        self.readings.append(Reading(rule, adds.id, listed, other, within))

    def erratum(self, name: str, severity: Severity, printed: str, true: str, corrected: str = "") -> None:
        """Declare an error; `name` and `corrected` are ids without the paper's short name."""
        ids = [f"{self.name}.{i}" if i else "" for i in (name, corrected)]
        missing = [i for i in ids if i and i not in self.statements]
        if missing:
            raise ValueError(f"erratum about {missing}: expected statements that have been declared")
        self.errata.append(Erratum(ids[0], severity, printed, true, ids[1]))

    def one_error(self, root: str, *names: str) -> None:
        """Declare that the errors of these statements are that of `root`, or follow from it; ids without the short name.

        Raises ValueError for a statement without an erratum.
        """
        ids = [f"{self.name}.{name}" for name in (root, *names)]
        if missing := set(ids) - {e.statement for e in self.errata}:
            raise ValueError(f"one error of {', '.join(sorted(missing))}: expected statements with errata")
        self.roots |= dict.fromkeys(ids[1:], ids[0])

    def finding(self, name: str, title: str, says: str, matters: str, figure: str) -> None:
        """Declare a finding; `name` is an id without the paper's short name.  Raises ValueError if it has no erratum."""
        id_ = f"{self.name}.{name}"
        if all(e.statement != id_ for e in self.errata):
            raise ValueError(f"finding about {id_}: expected a statement with an erratum")
        self.findings.append(Finding(id_, title, says, matters, figure))
