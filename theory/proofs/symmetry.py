"""Worst cases for any number of clients: programmes in the means and the deviations of what the clients have.

Where the clients are exchangeable, some best instance and some proof are the same for every permutation of the clients.  The
average of u_i . w_j over all permutations is then, with the means u, w and the deviations u_i - u, w_i - w,

    u . w + V(u, w)  for i = j,     u . w - V(u, w) / (M - 1)  for others,     V(u, w) the mean of (u_i - u) . (w_i - w).

All Gram matrices of common vectors and means, and all V, occur for M >= 2.  So a programme becomes one in two blocks, and M
is a number in its coefficients: these are rational functions of M, found from small M (`Family`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy
from sympy import QQ
from sympy.polys.fields import field
from sympy.polys.matrices import DomainMatrix

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import NOTHING, Quadratic, Vector, number, summed, total, vector
from fedtheory.theory.proofs.scenes import Numbers, Rounds, Search
from fedtheory.theory.proofs.tight import Bracket, Instance, Programme, Units
from fedtheory.theory.statement import Statement

FIELD, COUNT = field("M", QQ)  # rational functions of the number of clients, and that number
COUNTS = range(2, 9)  # numbers of clients whose programmes give those of all others
_FEW = 3  # of them at least, where a round of more has too many outcomes
_SPARE = 2  # numbers that a function must meet, besides those that fix it
_SHORT = 24  # of a function that is shown exactly
_POWERS = (0, -1, 1, -2, 2)  # of M, alone
# gradients and values at a client's points and at x*; noise, bias and errors of compressors; memories
_OF_CLIENT = re.compile(
    r"(?P<kind>[fg](?=\d+[.*])|n\(|bias\(|e\(|bias e\(|(?![fg]\d)[a-z_]+(?=\d+$))(?P<client>\d+)(?P<rest>.*)"
)


class NotExchangeable(ValueError):
    """Another permutation of the clients is another programme, or M is no mere number in the coefficients."""


def _own(name: str) -> tuple[str, int | None]:
    """What a name says without its client, and the client; None of a common vector or number."""
    found = _OF_CLIENT.fullmatch(name)
    return (name, None) if found is None else (f"{found['kind']}*{found['rest']}", int(found["client"]))


@dataclass(frozen=True)
class Clients:
    """The vectors and function values of a programme of M clients, by client."""

    programme: Programme
    M: int

    @cached_property
    def vectors(self) -> Mapping[str, Sequence[Vector]]:
        """What each client has, under a common name; where the last one's is missing, they sum to 0."""
        found: dict[str, dict[int, Vector]] = {}
        for name in self.programme.vectors:
            kind, client = _own(name)
            if client is not None:
                found.setdefault(kind, {})[client] = vector(name)
        for kind, own in found.items():
            if own.keys() == {*range(self.M - 1)}:
                own[self.M - 1] = -total(own.values())
            elif own.keys() != {*range(self.M)}:
                raise NotExchangeable(f"not every client has {kind}")
        return {kind: [own[m] for m in range(self.M)] for kind, own in found.items()}

    def moved(self, form: Quadratic, order: Sequence[int]) -> Quadratic:
        """The form with client order[m] in the place of client m."""

        def place(name: str) -> Vector:
            kind, client = _own(name)
            return vector(name) if client is None else self.vectors[kind][order[client]]

        def value(name: str) -> Quadratic:
            kind, client = _own(name)
            return number(name if client is None else kind.replace("*", str(order[client]), 1))

        products = ((place(a) @ place(b)) * c for (a, b), c in form.products.items())
        return summed([*products, *(value(name) * c for name, c in form.numbers.items())])

    def check(self) -> None:
        """Raises NotExchangeable unless the programme is the same for all permutations, exactly."""
        one = self.programme
        conditions = {_parts(form) for form in one.conditions.values()}
        for order in ([1, 0, *range(2, self.M)], [*range(1, self.M), 0]):  # they generate all permutations
            same = all(self.moved(form, order) == form for form in (one.objective, one.amount))
            if not same or {_parts(self.moved(form, order)) for form in one.conditions.values()} != conditions:
                raise NotExchangeable("the inequality is another one if the clients change places")

    def average(self, form: Quadratic) -> Quadratic:
        """The mean over all permutations, in means and deviations."""
        products = (self._product(*pair) * c for pair, c in form.products.items())
        return summed([*products, *(number(_own(name)[0]) * c for name, c in form.numbers.items())])

    def _product(self, a: str, b: str) -> Quadratic:
        (one, i), (other, j) = _own(a), _own(b)
        middle = self._mean(one, i) @ self._mean(other, j)
        if i is None or j is None:
            return middle
        apart = vector(f"dev {one}") @ vector(f"dev {other}")
        return middle + (apart if i == j else apart / -(self.M - 1))

    def _mean(self, kind: str, client: int | None) -> Vector:
        if client is None:
            return vector(kind)
        sums_to_0 = not total(self.vectors[kind]).parts
        return NOTHING if sums_to_0 else vector(f"mean {kind}")

    def entry(self, instance: Instance, a: str, b: str) -> Fraction:
        """The inner product of two vectors of the programme in an instance of the reduced one."""

        def at(form: Quadratic) -> Fraction:
            known = set(instance.vectors)
            return instance.at(Quadratic({pair: c for pair, c in form.products.items() if known.issuperset(pair)}, {}))

        (one, i), (other, j) = _own(a), _own(b)
        middle = at(self._mean(one, i) @ self._mean(other, j))
        if i is None or j is None:
            return middle
        # deviations with the products (1 - 1/M) t of one client and -t/M of two have the mean (1 - 1/M) t
        apart = at(vector(f"dev {one}") @ vector(f"dev {other}")) * Fraction(self.M, self.M - 1)
        return middle + apart * ((i == j) - Fraction(1, self.M))


def reduced(programme: Programme, M: int) -> Programme:
    """The programme of M >= 2 exchangeable clients in means and deviations: its best constant is the same.

    Raises NotExchangeable where the inequality is not the same for all permutations of the clients.
    """
    clients = Clients(programme, M)
    clients.check()
    conditions: dict[frozenset[Any], tuple[str, Quadratic]] = {}  # one for all clients alike
    for name, one in programme.conditions.items():
        form = clients.average(one)
        conditions.setdefault(_parts(form), (name, form))
    objective, amount = map(clients.average, (programme.objective, programme.amount))
    return Programme(objective, amount, dict(conditions.values()))


def expanded(found: Bracket, programme: Programme, M: int) -> Bracket:
    """A bracket of the reduced programme as one of the programme of M clients, which is to be verified there."""
    clients, small = Clients(programme, M), reduced(programme, M)
    alike: dict[frozenset[Any], list[str]] = {}
    for name, form in programme.conditions.items():
        alike.setdefault(_parts(clients.average(form)), []).append(name)
    shares = {name: alike[_parts(small.conditions[name])] for name in found.multipliers}
    multipliers = {one: x / len(shares[name]) for name, x in found.multipliers.items() for one in shares[name]}
    names = programme.vectors
    gram = tuple(tuple(clients.entry(found.instance, a, b) for b in names) for a in names)
    values = {name: found.instance.values.get(_own(name)[0], Fraction(0)) for name in programme.values}
    return Bracket(found.lower, found.upper, Instance(names, gram, values), multipliers)


def _parts(form: Quadratic) -> frozenset[Any]:
    parts: dict[Any, Fraction] = {**form.products, **form.numbers}
    return frozenset(parts.items())


# ------------------------------------------------------------------------------------------------ M as a symbol

Form = Mapping[Any, Any]  # pair of vectors, or function value -> rational function of M


@dataclass(frozen=True)
class Family:
    """Reduced programmes of all M >= 2: their coefficients are rational functions of M."""

    objective: Form
    amount: Form
    conditions: Mapping[str, Form]
    solved: tuple[Family, Fraction] | None = None  # in the units in which they are solved, as in `Units`

    def at(self, M: int) -> Programme:
        """The reduced programme of M clients."""

        def form(of: Form) -> Quadratic:
            parts = {part: x for part, c in of.items() if (x := value(c, M))}
            products = {part: x for part, x in parts.items() if isinstance(part, tuple)}
            return Quadratic(products, {part: x for part, x in parts.items() if isinstance(part, str)})

        own = {name: form(one) for name, one in self.conditions.items()}
        units = None if self.solved is None else Units(self.solved[0].at(M), self.solved[1])
        return Programme(form(self.objective), form(self.amount), own, units)

    @property
    def constant(self) -> bool:
        """Whether the programme is the same for all M."""
        forms = (self.objective, self.amount, *self.conditions.values())
        return all(c.numer.is_ground and c.denom.is_ground for form in forms for c in form.values())


def family(programmes: Mapping[int, Programme]) -> Family:
    """The reduced programmes of all numbers of clients, from the whole programmes of a few of them.

    M enters coefficients by sums and means over clients and by samples of them.  Raises NotExchangeable where a coefficient
    is no rational function that is simple enough to be known from so few numbers.
    """
    several = {M: reduced(one, M) for M, one in programmes.items()}
    first, *others = several.values()
    if any(one.conditions.keys() != first.conditions.keys() for one in others):
        raise NotExchangeable("other numbers of clients have other conditions")

    def form(of: Callable[[Programme], Quadratic]) -> Form:
        known = {M: {**of(one).products, **of(one).numbers} for M, one in several.items()}
        parts = sorted({part for own in known.values() for part in own}, key=str)
        return {part: fitted({M: own.get(part, Fraction(0)) for M, own in known.items()}) for part in parts}

    def condition(name: str) -> Form:
        return form(lambda one: one.conditions[name])

    units = {M: one.solved for M, one in programmes.items() if one.solved is not None}
    solved = (family({M: u.programme for M, u in units.items()}), next(iter(units.values())).factor) if units else None
    conditions = {name: condition(name) for name in first.conditions}
    return Family(form(lambda one: one.objective), form(lambda one: one.amount), conditions, solved)


def fitted(values: Mapping[int, Fraction]) -> Any:
    """The simplest rational function of M with these values: a power times a number, a + b/M, or a ratio of polynomials.

    Raises NotExchangeable where none leaves a number of clients to spare; of the ratios, two.
    """
    for n in _POWERS:
        first, *others = [x / Fraction(M) ** n for M, x in values.items()]
        if others and all(x == first for x in others):
            return _number(first) * COUNT**n
    (M, x), (N, y), *_ = values.items()
    b = (x - y) * M * N / (N - M)
    a = x - b / M
    if len(values) > 2 and all(z == a + b / K for K, z in values.items()):
        return _number(a) + _number(b) / COUNT
    for size in range(len(values) - _SPARE):
        for below in range(size + 1):
            found = _ratio(values, size - below + 1, below + 1)
            if found is not None:
                return found
    raise NotExchangeable(f"{', '.join(map(str, values.values()))}: no simple rational function of M")


def _number(x: Fraction) -> Any:
    return FIELD(QQ(x.numerator, x.denominator))


def _ratio(values: Mapping[int, Fraction], over: int, under: int) -> Any:
    """A ratio of polynomials with so many coefficients that has these values; None if there is none."""
    rows = [
        [*(QQ(M**n) for n in range(over)), *(QQ(-x.numerator * M**n, x.denominator) for n in range(under))]
        for M, x in values.items()
    ]
    for one in DomainMatrix(rows, (len(rows), over + under), QQ).nullspace().to_list():
        p, q = (sum((c * COUNT**n for n, c in enumerate(part)), FIELD.zero) for part in (one[:over], one[over:]))
        if q and all(value(q, M) for M in values):
            return p / q
    return None


def value(function: Any, M: int) -> Fraction:
    """A rational function at a number of clients."""
    x = function.numer(M) / function.denom(M)
    return Fraction(int(x.numerator), int(x.denominator))


def told(function: Any) -> str:
    """A rational function of M in words; long numbers with a few digits."""
    if len(str(function)) < _SHORT:
        return str(function)
    over, under = function.numer.as_expr(), function.denom.as_expr()
    lead = function.denom.LC
    p, q = (str(sympy.expand(one / lead).evalf(4)) for one in (over, under))
    return p if function.denom.is_ground else f"({p})/({q})"


# ------------------------------------------------------------------------------------------------ statements


@dataclass(frozen=True)
class EverySearch:
    """A search of `scenes.searches` for every number of clients.

    below  None where the smaller class has no names for what each client has
    place  numbers of the local step
    """

    above: Family
    below: Family | None
    sign: int
    place: Numbers

    def at(self, M: int) -> Search:
        """The search for M clients.  Raises NotExchangeable where only the larger class has a programme."""
        if self.below is None:
            raise NotExchangeable("instances of the class cannot be found by symmetry")
        above = self.above.at(M)
        return Search(above, above if self.below is self.above else self.below.at(M), self.sign)


def letter(statement: Statement) -> str:
    """The paper's letter for the number of clients.  Raises ValueError if it has none."""
    found = [name for name, symbol in catalogue.symbols(statement).items() if symbol.concept == "clients"]
    if not found:
        raise ValueError(f"{statement.id}: expected a statement with a number of clients")
    return found[0]


def searches(
    statement: Statement,
    rounds: Rounds | None,
    numbers: Mapping[str, Fraction],
    alike: Collection[str] = (),
    M: int | None = None,
) -> dict[str, list[EverySearch]]:
    """`scenes.searches` for M clients, or for every M >= 2, from those for a few: for each term one for each scene.

    numbers  without that of the clients
    alike    names of numbers that are that of the clients, such as those that take part in a round

    Raises ValueError as `scenes.cases_at` does, also for conditions that do not hold for M; NotExchangeable as `family`.
    """
    several: dict[int, list[scenes.Case]] = {}
    for count in COUNTS:
        try:
            given = {**numbers, **dict.fromkeys((letter(statement), *alike), Fraction(count))}
            several[count] = scenes.cases_at(statement, rounds, given)
        except ValueError:
            if len(several) < _FEW:
                raise
            break
    ats = {count: cases[0].at for count, cases in several.items()}
    same, *others = ats.values()
    count_of = sympy.Integer(M) if M is not None else 2 + sympy.Symbol("m", nonnegative=True)
    moving = {s for s in same if all(at[s] == count for count, at in ats.items())}
    if any(at[s] != same[s] for at in others for s in same.keys() - moving):
        raise NotExchangeable(f"{statement.id}: other numbers of clients have other constants")
    if violated := scenes.admitted(statement, {**same, **dict.fromkeys(moving, count_of)}):
        raise ValueError(f"{statement.id}: {violated}")
    found: dict[str, list[EverySearch]] = {}
    for cases in zip(*several.values(), strict=True):
        every = dict(zip(several, (scenes.searches(statement, case) for case in cases), strict=True))
        for term, one in next(iter(every.values())).items():
            above = family({count: own[term].above for count, own in every.items()})
            below: Family | None = above
            if one.below is not one.above:
                try:
                    below = family({count: own[term].below for count, own in every.items()})
                except NotExchangeable:
                    below = None
            found.setdefault(term, []).append(EverySearch(above, below, one.sign, cases[0].scene.place))
    return found
