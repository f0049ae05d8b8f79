"""Best constants for every number of clients, on record: from above by multipliers, from below by instances.

A paper's file has an entry for a statement at its numbers, as `fedtheory tight` takes them, without the number of clients.
Constants, multipliers, inner products and function values are rational functions of M.  Whoever reads an entry checks it
again, exactly, for all M >= 2; the solver is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import sha256
from math import lcm
from pathlib import Path
from typing import Any

import sympy
from sympy import QQ

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import symmetry
from fedtheory.theory.proofs.every_count import (
    Instances,
    ParametricCertificate,
    certificate,
    close,
    instances,
    needed,
    proves,
)
from fedtheory.theory.proofs.scenes import PaperScenes
from fedtheory.theory.proofs.symmetry import COUNT, COUNTS, FEW, FIELD, EverySearch
from fedtheory.theory.proofs.tight import NotSolved, Unbounded
from fedtheory.theory.statement import Bound, Statement, defined

Told = Mapping[str, Any]


@dataclass(frozen=True)
class BestForEveryCount:
    """The best factor on a stated term, or on all: between two rational functions of M, for every M >= 2.

    id        the statement's
    search    the programmes
    proof     of `proved`: this factor is enough; of a term on the smaller side, it may be as large
    instance  that needs the factor `least`, for every M; both None where none is known
    """

    id: str
    term: str
    search: EverySearch
    proof: ParametricCertificate
    instance: Instances | None
    least: Any

    @property
    def proved(self) -> Any:
        """The factor that is enough."""
        return self.proof.constant * self.search.sign

    @property
    def stated(self) -> sympy.Expr:
        """The stated term, with M as a symbol; 0 for all terms together."""
        return _coefficient(catalogue.find(self.id), self.term, self.search) or sympy.S.Zero

    @property
    def exact(self) -> bool:
        """Whether the two are the same function."""
        return bool(self.least is not None and self.least == self.proved)

    @property
    def told(self) -> str:
        """The two factors, as one where they are the same or told with few digits."""
        proved = symmetry.told(self.proved)
        if self.least is None:
            return f"{'<=' if self.search.sign > 0 else '>='} {proved}"
        same = self.exact or symmetry.rounded(self.least) == symmetry.rounded(self.proved)
        return proved if same else f"{symmetry.told(self.least)} to {proved}"

    @property
    def sharper(self) -> Mapping[str, Any]:
        """The factors of the sharper forms of the statement on this term, by their ids; those that depend on M alone."""
        found = {}
        for other in catalogue.sharpened_by(self.id):
            own, ours = (_coefficient(catalogue.find(one), self.term, self.search) for one in (self.id, other))
            if own and ours is not None:
                ratio = sympy.cancel(ours / own)
                of_count = ratio.free_symbols <= COUNT.as_expr().free_symbols and not ratio.has(sympy.exp)
                if of_count and ratio.is_rational_function():
                    found[other] = FIELD.from_expr(ratio)
        return found


def _coefficient(statement: Statement, term: str, search: EverySearch) -> sympy.Expr | None:
    own = next((t.value for t in statement.claim_of(Bound).terms if t.name == term), None)
    return None if own is None else defined(own, statement.where).subs(dict(search.at)).subs(dict(search.place))


# ------------------------------------------------------------------------------------------------ the file


def file_of(paper: str) -> Path:
    """The file of a paper's constants for every number of clients, which may be missing."""
    return Path(__file__).parents[1] / paper / "checks" / "every_count.json"


@cache
def kept(paper: str) -> Mapping[str, Mapping[str, Told] | None]:
    """The entries of a paper's file: term -> certificate and instances; None for an entry that is still to be found."""
    file = file_of(paper)
    found: Mapping[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def on_file(paper: str) -> dict[str, str]:
    """A name for each constant on file, of its entry and its term -> a digest of what is told of it."""
    return {
        f"{entry}: {term}": sha256(json.dumps(told).encode()).hexdigest()[:16]
        for entry, terms in kept(paper).items()
        for term, told in (terms or {}).items()
    }


def text(entries: Mapping[str, Mapping[str, Told]]) -> str:
    """The file's text: a line for each term."""
    lines = []
    for entry, terms in entries.items():
        own = [f"  {json.dumps(term)}: {json.dumps(told, separators=(',', ':'))}" for term, told in terms.items()]
        lines.append(f"{json.dumps(entry)}: {{\n" + ",\n".join(own) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def numbers_of(entry: str) -> tuple[dict[str, Fraction], list[str]]:
    """The numbers of an entry, and the names of counts that are that of the clients."""
    pairs = [word.split("=") for word in entry.split()[1:]]
    alike = [name for name, value in pairs if value.isalpha()]
    return {name: Fraction(value) for name, value in pairs if name not in alike}, alike


def entry_of(id_: str, numbers: Mapping[str, Fraction], alike: Collection[str]) -> str | None:
    """The entry for these numbers; None if there is none."""
    same = (entry for entry in kept(id_.partition(".")[0]) if entry.split()[0] == id_)
    return next((entry for entry in same if numbers_of(entry) == (dict(numbers), list(alike))), None)


def searches(entry: str, rounds: PaperScenes | None, counts: Sequence[int] = COUNTS[:FEW]) -> Mapping[str, EverySearch]:
    """The programmes of an entry, by term, from these numbers of clients.

    Raises ValueError for a statement about single local steps.
    """
    numbers, alike = numbers_of(entry)
    found = symmetry.searches(catalogue.find(entry.split()[0]), rounds, numbers, alike, counts=counts)
    if any(len(several) > 1 for several in found.values()):
        raise ValueError(f"{entry}: expected a statement about a whole round")
    return {term: one for term, (one,) in found.items()}


def read(entry: str, told: Mapping[str, Told], rounds: PaperScenes | None) -> Iterator[BestForEveryCount]:
    """The constants of an entry, each checked exactly.  Raises ValueError for what does not prove what it says."""
    every = searches(entry, rounds)
    for term, own in told.items():
        one = every.get(term)
        if one is None:
            raise ValueError(f"{entry}: {term}: expected one of {', '.join(every)}")
        yield _checked(entry, term, one, own)


def _checked(entry: str, term: str, search: EverySearch, told: Told) -> BestForEveryCount:
    conditions = list(search.above.conditions)
    multipliers = {conditions[int(i)]: _read(x) for i, x in told["multipliers"].items()}
    proof, instance, least = ParametricCertificate(_read(told["constant"]), multipliers), None, None
    if not proves(search.above, proof):
        raise ValueError(f"{entry}: {term}: the multipliers do not prove the constant for every number of clients")
    if "products" in told:
        if search.below is None:
            raise ValueError(f"{entry}: {term}: expected no instances")
        names, values = search.below.vectors, search.below.values
        products = {(names[int(i)], names[int(j)]): _read(x) for i, j, x in told["products"]}
        instance = Instances(products, {values[int(i)]: _read(x) for i, x in told["values"].items()})
        least = needed(search.below, instance)
        if least is None or not close(proof.constant, least):
            raise ValueError(f"{entry}: {term}: the instances do not need the constant for every number of clients")
    return BestForEveryCount(
        entry.split()[0], term, search, proof, instance, None if least is None else least * search.sign
    )


def checked(statement: Statement, rounds: PaperScenes | None) -> list[BestForEveryCount]:
    """All constants of a statement that are on record.  Raises ValueError as `read` does."""
    entries = ((entry, told) for entry, told in kept(statement.paper).items() if entry.split()[0] == statement.id)
    return [best for entry, told in entries if told is not None for best in read(entry, told, rounds)]


def best(id_: str, term: str, search: EverySearch) -> BestForEveryCount:
    """The best factor of a term, found by Clarabel.  Raises NotSolved and Unbounded as `certificate` does."""
    proof = certificate(search.above)
    instance = None if search.below is None else instances(search.below, proof)
    least = None if instance is None or search.below is None else needed(search.below, instance) * search.sign
    return BestForEveryCount(id_, term, search, proof, instance, least)


def found(entry: str, rounds: PaperScenes | None, say: Callable[[str], None]) -> dict[str, Told]:
    """Certificates and instances for each term of an entry for which they are found, as JSON."""
    every: dict[str, Told] = {}
    for term, search in searches(entry, rounds, COUNTS).items():
        try:
            one = best(entry.split()[0], term, search)
        except (NotSolved, Unbounded) as error:
            say(f"{entry}: {term}: {error}")
            continue
        if one.least is None:
            say(f"{entry}: {term}: no instances for every number of clients")
        every[term] = _written(one)
    return every


def _written(one: BestForEveryCount) -> Told:
    places = {name: str(i) for i, name in enumerate(one.search.above.conditions)}
    multipliers = {places[name]: _told(x) for name, x in one.proof.multipliers.items()}
    told: dict[str, Any] = {"constant": _told(one.proof.constant), "multipliers": multipliers}
    below = one.search.below
    if one.instance is None or below is None:
        return told
    names, values = ({name: i for i, name in enumerate(several)} for several in (below.vectors, below.values))
    told["products"] = [[names[a], names[b], _told(x)] for (a, b), x in one.instance.products.items() if x]
    told["values"] = {str(values[name]): _told(x) for name, x in one.instance.values.items() if x}
    return told


def _told(function: Any) -> list[list[int]]:
    """A rational function as the whole coefficients of its numerator and denominator, those of 1, M, M^2 ..."""
    parts = (function.numer, function.denom)
    scale = lcm(*(int(c.denominator) for part in parts for c in part.coeffs()))
    known = [{power: int(c * scale) for (power,), c in part.terms()} for part in parts]
    return [[own.get(n, 0) for n in range(max(own, default=0) + 1)] for own in known]


def _read(told: Any) -> Any:
    over, under = (FIELD.ring.from_dict({(n,): QQ(c) for n, c in enumerate(part) if c}) for part in told)
    return FIELD(over) / FIELD(under)
