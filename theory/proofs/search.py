"""The search for certificates, by linear programming.

The products that may take part are generated from what they can cancel: a product whose monomials meet none of those
that are there is of no use.  Floating point finds which products are used, and with that the numbers are solved again in
fractions.  Nothing here is trusted (fedtheory.theory.proofs.certificates).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix
from sympy import QQ, Symbol
from sympy.polys.fields import field as fractions_of

from fedtheory.theory.proofs.certificates import (
    Certificate,
    Clear,
    Combine,
    Divide,
    Fact,
    Goal,
    Leaf,
    Product,
    Says,
    difference,
    says,
    sides,
)
from fedtheory.theory.proofs.linear import fraction, solution
from fedtheory.theory.proofs.reduction import PlainSequent, leaves, opened
from fedtheory.theory.proofs.sequents import Sequent, parsed

Polynomial = Any  # of sympy's ring of polynomials with rational coefficients
Monomial = tuple[int, ...]  # the powers of the variables


def certificate(sequent: Sequent, efforts: Sequence[_Effort] | None = None) -> Certificate | None:
    """A certificate, or None if none is found with these efforts (default: all).

    Raises ValueError for roots other than square roots, and for exp, log and powers whose exponent is no number.
    """
    found = []
    for step in leaves(opened(sequent)):
        leaf = _Search(step, efforts or _EFFORTS).leaf()
        if leaf is None:
            return None
        found.append(leaf)
    return tuple(found)


# Polynomials and their signs


class _Ring:
    """The polynomials in the variables of a step, what can be seen of their signs, and their text."""

    def __init__(self, step: PlainSequent) -> None:
        domains = dict(step.variables) or {"none": "real"}
        self.names = list(domains)
        self.fractions, *generators = fractions_of([Symbol(name) for name in self.names], QQ)
        self.ring = self.fractions.ring
        self.values = dict(zip(self.names, generators, strict=True))
        self.signed = [domain != "real" for domain in domains.values()]
        self.strict = [domain in ("count", "positive") for domain in domains.values()]
        counts = [(x, name) for x, name in zip(self.ring.gens, self.names, strict=True) if domains[name] == "count"]
        self.counts = [_Known(f"{name} - 1", x - 1, "<=") for x, name in counts]

    def fraction(self, text: str) -> Any:
        """An expression as a fraction of polynomials without common factors."""
        divided = lambda top, below: top / self.fraction(ast.unparse(below))  # noqa: E731
        return _evaluated(parsed(text), self.values, self.fractions, divided)

    def is_strict(self, monomial: Monomial) -> bool:
        """Whether a monomial is > 0."""
        return all(strict or not power for power, strict in zip(monomial, self.strict, strict=True))

    def is_signed(self, monomial: Monomial) -> bool:
        """Whether a monomial is >= 0."""
        return all(signed or power % 2 == 0 for power, signed in zip(monomial, self.signed, strict=True))

    def visible(self, polynomial: Polynomial) -> Says | None:
        """0 < or <= polynomial if no term is negative, or if it is a count less one; None if nothing is seen."""
        if all(number > 0 and self.is_signed(monomial) for monomial, number in polynomial.terms()):
            return "<" if any(map(self.is_strict, polynomial.monoms())) else "<="
        return "<=" if any(polynomial == each.polynomial for each in self.counts) else None

    def text(self, polynomial: Polynomial) -> str:
        """A polynomial as text: what is positive first, so that the sign of a sum is seen at its beginning."""
        text = ""
        for monomial, number in sorted(polynomial.terms(), key=lambda t: (t[1] < 0, not self.is_strict(t[0]), t[0])):
            size = abs(number)
            above = [str(size.numerator)] if size.numerator != 1 or not any(monomial) else []
            below = f" / {size.denominator}" if size.denominator != 1 else ""
            sign = ("-" if number < 0 else "") if not text else " - " if number < 0 else " + "
            text += sign + " * ".join([*above, *self.factors(monomial)]) + below
        return text or "0"

    def factors(self, monomial: Monomial) -> list[str]:
        return [_power(name, power) for name, power in zip(self.names, monomial, strict=True) if power]

    def power(self, polynomial: Polynomial, power: int) -> str:
        text = self.text(polynomial)
        return _power(text if text.isidentifier() else f"({text})", power)


def _power(text: str, power: int) -> str:
    return text if power == 1 else f"{text}**{power}"


def _evaluated(tree: ast.expr, values: Mapping[str, Any], domain: Any, divided: Callable[[Any, ast.expr], Any]) -> Any:
    """An expression in a ring or field of polynomials; `divided` says what a division is."""

    def at(part: ast.expr) -> Any:
        return _evaluated(part, values, domain, divided)

    match tree:
        case ast.Constant(value=int(number)):
            return domain(number)
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -at(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return at(left) + at(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return at(left) - at(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return at(left) * at(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return divided(at(left), right)
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return at(base) ** power
    raise ValueError(f"{ast.unparse(tree)}: expected sums, products and fractions of numbers and variables")


# Facts and goals


@dataclass(frozen=True)
class _Known:
    """A polynomial to which zero stands in this way; `token` names it as a factor, `needs` are the facts it rests on."""

    token: str
    polynomial: Polynomial
    says: Says
    needs: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Cleared:
    """A difference is n times a positive factor (or, if asked for so, one that is not negative)."""

    n: Polynomial
    positive: str
    needs: frozenset[int]


@dataclass(frozen=True)
class _Effort:
    """How far a search goes.

    depth     factors in a product, besides variables
    rounds    of adding products that can cancel what is there
    opposite  0: the opposite of the claim stands alone; 1: it is multiplied by variables; 2: by one fact, too
    squares   0: none; 1: of sums of the variables without sign; 2: of differences of any two variables, too
    """

    depth: int
    rounds: int
    opposite: int = 0
    squares: int = 0


_EASY = (_Effort(1, 3), _Effort(2, 1), _Effort(1, 2, 1), _Effort(2, 2, 1))
_EFFORTS = (
    *_EASY[:3],
    _Effort(1, 5),
    _Effort(1, 3, 1),
    _Effort(2, 2, 0, 1),
    _Effort(2, 2, 1, 1),
    _Effort(2, 2, 2, 1),
    _Effort(3, 1, 1),
    _Effort(3, 2),
    _Effort(3, 2, 2, 1),
    _Effort(1, 6, 1),
    _Effort(2, 2, 2, 2),
)


SHORT = _EFFORTS[:7]  # for a step that is met while a proof is checked: a second or two


class _Search:
    """What is known about the polynomials of a step, and how its goals follow."""

    def __init__(self, step: PlainSequent, efforts: Sequence[_Effort]) -> None:
        self.step, self.efforts = step, efforts
        self.given = dict(step.hypotheses)  # with the goals that are proved
        self.ring = _Ring(step)
        self.facts: list[tuple[Fact, _Known]] = []
        self.cleared_ones: set[str] = set()

    def leaf(self) -> Leaf | None:
        """A certificate for a step without minima, maxima and roots."""
        goals, needs = [], frozenset[int]()
        for number, relation in enumerate(self.step.goals):
            found = self.goal(relation)
            if found is None:
                return None
            goals.append(found[0])
            needs |= found[1]
            self.given[f"goal_{number}"] = relation
        for number in reversed(range(len(self.facts))):
            if number in needs:
                needs |= self.facts[number][1].needs
        return Leaf(tuple((number, self.facts[number][0]) for number in sorted(needs)), tuple(goals))

    def goal(self, relation: str) -> tuple[Goal, frozenset[int]] | None:
        """How a goal is proved, and the facts that it rests on."""
        if relation == "True" or relation in self.given.values():
            return Goal("given"), frozenset()
        left, operator, right = sides(relation)
        if isinstance(operator, ast.LtE | ast.GtE | ast.Eq) and ast.unparse(left) == ast.unparse(right):
            return Goal("same"), frozenset()
        if (sums := _linear(self.step, relation)) is not None:
            return Goal("linear", terms=sums), frozenset()
        self.clear_hypotheses()
        for p in self.divisors(relation):
            self.learn(p)
        stands, fraction = says(relation), self.ring.fraction(difference(relation))
        factors = [p for p, _ in fraction.numer.factor_list()[1]] if fraction else []
        for p in factors if len(factors) > 1 or stands == "!=" else []:
            sign = self.sign(p)
            if sign is None or (sign[1] != "<" and stands != "<="):
                self.learn(p, ("<", "<=") if stands == "<=" else ("<",))
        for weak in (True, False) if stands == "<=" else (False,):
            cleared = self.cleared(fraction, weak)
            proved = cleared and self.proved(stands, cleared)
            if proved:
                return proved
        return None

    def proved(self, stands: Says, cleared: _Cleared) -> tuple[Goal, frozenset[int]] | None:
        """How a goal is proved that is cleared, and the facts that it rests on."""
        n, needs = cleared.n, cleared.needs
        if n.is_ground and _is_true(stands, n.LC):
            return Goal("clear", self.ring.text(n), cleared.positive), needs
        if stands == "!=":
            return None
        sums = []
        for one in (n, -n) if stands == "=" else (n,):
            combined = self.combined(one, "<" if stands == "<" else "<=")
            if combined is None:
                return None
            sums.append(combined[0])
            needs |= combined[1]
        return Goal("clear", self.ring.text(n), cleared.positive, tuple(sums)), needs

    def clear_hypotheses(self) -> None:
        """Make facts of the hypotheses; one that has a divisor without known sign is not used."""
        waiting = [name for name, each in self.given.items() if name not in self.cleared_ones and says(each) != "!="]
        while waiting:
            left = [name for name in waiting if not self.clear_hypothesis(name, self.given[name])]
            self.cleared_ones |= set(waiting) - set(left)
            if left == waiting and not any(self.learn(p) for each in left for p in self.divisors(self.given[each])):
                return
            waiting = left

    def clear_hypothesis(self, name: str, relation: str) -> bool:
        cleared = self.cleared(self.ring.fraction(difference(relation)))
        if cleared is None:
            return False
        if cleared.n:
            fact = Clear(says(relation), self.ring.text(cleared.n), cleared.positive, name)
            self.add(fact, cleared.n, fact.says, cleared.needs)
        return True

    def add(self, fact: Fact, polynomial: Polynomial, stands: Says, needs: frozenset[int] = frozenset()) -> None:
        self.facts.append((fact, _Known(f"#{len(self.facts)}", polynomial, stands, needs)))

    def sign(self, polynomial: Polynomial) -> tuple[int, Says, frozenset[int]] | None:
        """1 or -1, how 0 stands to so many times the polynomial, and the facts that say so; None if it is not known."""
        strengths: tuple[Says, ...] = ("<", "<=")
        for strength, sign in product(strengths, (1, -1)):
            if self.ring.visible(sign * polynomial) == strength:
                return sign, strength, frozenset()
            for number, (_, known) in enumerate(self.facts):
                if known.says == strength and known.polynomial == sign * polynomial:
                    return sign, strength, frozenset({number})
        return None

    def cleared(self, fraction: Any, weak: bool = False) -> _Cleared | None:
        """The fraction as a polynomial n times a positive factor; None if the sign of a divisor is not known.

        With `weak`, the factor is only >= 0.
        """
        if not fraction:
            return _Cleared(self.ring.ring(0), "1", frozenset())
        (above, factors), (below, divisors) = fraction.numer.factor_list(), fraction.denom.factor_list()
        number, n = above / below, self.ring.ring(1)
        over: list[str] = []
        under: list[str] = []
        needs = frozenset[int]()
        for p, power in divisors:
            sign = self.sign(p)
            if sign is not None and sign[1] == "<":
                under.append(self.ring.power(sign[0] * p, power))
            else:
                # a divisor without sign: its square is positive if it is not zero
                sign = self.sign(p**2)
                if sign is None or sign[1] != "<":
                    return None
                under.append(self.ring.power(p**2, (power + 1) // 2))
                n *= p ** (power % 2)
                sign = (1, "<", sign[2])
            number *= sign[0] ** power
            needs |= sign[2]
        for p, power in factors:
            sign = self.sign(p)
            if sign is not None and (weak or sign[1] == "<"):
                number *= sign[0] ** power
                over.append(self.ring.power(sign[0] * p, power))
                needs |= sign[2]
            else:
                even = power - power % 2 if weak else 0
                n *= p ** (power - even)
                over += [self.ring.power(p, even)] if even else []
        whole, n = (n if number > 0 else -n).primitive()
        number = abs(number) * whole
        top = ([str(number.numerator)] if number.numerator != 1 or not over else []) + over
        bottom = ([str(number.denominator)] if number.denominator != 1 else []) + under
        divisor = f" / ({' * '.join(bottom)})" if len(bottom) > 1 else f" / {bottom[0]}" if bottom else ""
        return _Cleared(n, " * ".join(top) + divisor, needs)

    def divisors(self, relation: str) -> list[Polynomial]:
        """The factors of unknown sign that divide something in a relation."""
        factors = self.ring.fraction(difference(relation)).denom.factor_list()[1]
        return [p for p, _ in factors if self.cleared(1 / self.ring.fractions(p)) is None]

    def learn(self, polynomial: Polynomial, kinds: tuple[Says, ...] = ("<",)) -> bool:
        """Try to find the sign of a polynomial, or that it is not zero, and make it a fact."""
        for kind, sign in product(kinds, (1, -1)):
            found = self.combined(sign * polynomial, kind, _EASY)
            if found is not None:
                fact = Combine(kind, self.ring.text(sign * polynomial), found[0])
                self.add(fact, sign * polynomial, kind, found[1])
                return True
        return self.divide(polynomial)

    def divide(self, divisor: Polynomial) -> bool:
        """Look for a hypothesis that something is not zero which this divides."""
        sign = self.sign(divisor)
        divisor = sign[0] * divisor if sign else divisor
        polynomial = divisor if sign else divisor**2
        for name, relation in self.given.items():
            if says(relation) != "!=":
                continue
            whole = self.ring.fraction(ast.unparse(sides(relation)[0]))
            if not whole.numer.rem(divisor):
                quotient = whole / self.ring.fractions(divisor)
                text = f"({self.ring.text(quotient.numer)}) / ({self.ring.text(quotient.denom)})"
                fact = Divide(self.ring.text(polynomial), self.ring.text(divisor), text, name)
                self.add(fact, polynomial, "<", sign[2] if sign else frozenset())
                return True
        return False

    def combined(
        self, polynomial: Polynomial, kind: Says, efforts: Sequence[_Effort] = ()
    ) -> tuple[tuple[Product, ...], frozenset[int]] | None:
        """Terms that show 0 < or <= polynomial, and the facts that they rest on; None if none are found."""
        known = [*self.ring.counts, *(each for _, each in self.facts)]
        opposite = _Known("#", -polynomial, "<=" if kind == "<" else "<")
        for effort in efforts or self.efforts:
            products = _products(self.ring, known, opposite, effort)
            numbers = _added_up(products)
            if numbers is None:
                continue
            used = [(number, each) for number, each in zip(numbers, products, strict=True) if number]
            terms = [Product(str(n), (*self.ring.factors(each.monomial), *each.tokens)) for n, each in used]
            tokens = [token for term in terms for token in term.factors if re.fullmatch(r"#\d+", token)]
            return tuple(terms), frozenset(int(token[1:]) for token in tokens)
        return None


def _is_true(stands: Says, number: Any) -> bool:
    return bool({"<": number > 0, "<=": number >= 0, "=": number == 0, "!=": number != 0}[stands])


def _linear(step: PlainSequent, goal: str) -> tuple[tuple[Product, ...], ...] | None:
    """How the goal follows by adding up hypotheses, with every product and inverse as if it were a variable.

    For an equation in both directions; the factor of a term names a hypothesis or a variable.  None if it does not.
    """
    relations = {name: each for name, each in step.hypotheses if says(each) != "!="}
    nodes = [node for each in (*relations.values(), goal) for node in ast.walk(parsed(each))]
    divisors = [node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    inverses = dict.fromkeys(f"1 / ({ast.unparse(each)})" for each in divisors if not isinstance(each, ast.Constant))
    atoms = [*(name for name, _ in step.variables), *inverses]
    whole, *generators = fractions_of([Symbol(atom) for atom in (*atoms, "none")], QQ)
    values = dict(zip(atoms, generators, strict=False))

    def divided(top: Any, below: ast.expr) -> Any:
        match below:
            case ast.Constant(value=int(number)):
                return top / whole(number)
        return top * values[f"1 / ({ast.unparse(below)})"]

    def added(token: str, relation: str) -> _Product:
        fraction = _evaluated(parsed(difference(relation)), values, whole, divided)
        polynomial = fraction.numer / fraction.denom.LC
        return _Product((), (token,), polynomial, says(relation), says(relation) == "<")

    bounds = {"count": ("{} - 1", "1 <= {}"), "positive": ("{}", "0 < {}"), "nonnegative": ("{}", "0 <= {}")}
    domains = [tuple(part.format(name) for part in bounds[own]) for name, own in step.variables if own != "real"]
    every = [added(*each) for each in (("1", "0 < 1"), *domains, *relations.items())]
    known = [each for each in every if each.polynomial]
    stands, n = says(goal), added("", goal).polynomial
    if stands == "!=":
        return None
    weak: Says = "<=" if stands == "<" else "<"
    sums = []
    for one in (n, -n) if stands == "=" else (n,):
        products = [*known, _Product((), ("#",), -one, weak, weak == "<")]
        numbers = _added_up(products) if one else [Fraction(0)] * len(products)
        if numbers is None or (not one and stands == "<"):
            return None
        opposite = numbers[-1] or Fraction(1)
        used = zip(numbers[:-1], known, strict=True)
        sums.append(tuple(Product(str(number / opposite), each.tokens) for number, each in used if number))
    return tuple(sums)


# Products that may take part


@dataclass(frozen=True)
class _Product:
    """A monomial times factors with these tokens; how zero stands to it, and whether it is certainly not zero."""

    monomial: Monomial
    tokens: tuple[str, ...]
    polynomial: Polynomial
    says: Says
    strict: bool


_COLUMNS = 8000  # products; no round begins with more
_SPARSE = 80  # terms of a product of facts


def _products(ring: _Ring, known: Sequence[_Known], opposite: _Known, effort: _Effort) -> list[_Product]:
    """Products of the opposite of the claim, and those that can cancel something of them, in so many rounds."""
    found: dict[tuple[Monomial, tuple[str, ...]], _Product] = {}

    def add(monomial: Monomial, each: _Product) -> None:
        if (monomial, each.tokens) not in found:
            strict = each.says == "<" and ring.is_strict(monomial)
            polynomial = each.polynomial.mul_monom(monomial)
            found[monomial, each.tokens] = _Product(monomial, each.tokens, polynomial, each.says, strict)

    one = ring.ring.zero_monom
    alone = _product(ring, (opposite,))
    add(one, alone)
    factors = _multiplied(ring, [*known, *_squares(ring, effort.squares)], effort.depth)
    if effort.opposite >= 1:
        for x, signed in zip(ring.ring.gens, ring.signed, strict=True):
            if signed:
                add(x.LM, alone)
        factors.append(alone)
    if effort.opposite >= 2:
        for each in [*known, opposite]:
            if each.says != "=":
                factors.append(_product(ring, (each, opposite)))
                add(one, factors[-1])
    for _ in range(effort.rounds):
        present = {monomial for each in found.values() for monomial in each.polynomial.monoms()}
        wanted = _wanted(ring, found.values())
        for factor in factors:
            # if the opposite is not strict, something else must be, and that need not cancel anything
            any_way = opposite.says == "<=" or (factor.says == "<" and ring.visible(factor.polynomial) == "<=")
            for monomial, number in factor.polynomial.terms():
                if any_way or number < 0 or factor.says == "=" or not all(ring.signed):
                    for target in present if any_way else wanted:
                        quotient = tuple(a - b for a, b in zip(target, monomial, strict=True))
                        if min(quotient) >= 0 and (factor.says == "=" or ring.is_signed(quotient)):
                            add(quotient, factor)
            if len(found) > _COLUMNS:
                break
    unit = _Product(one, (), ring.ring(1), "<", True)
    for monomial in {m for part in found.values() for m in part.polynomial.monoms()}:
        if ring.is_signed(monomial):
            add(monomial, unit)
    return list(found.values())


def _wanted(ring: _Ring, products: Iterable[_Product]) -> set[Monomial]:
    """Monomials that a product must cancel: what is too much of a monomial >= 0 cannot be made up for by itself."""
    terms = [(each.says, *term) for each in products for term in each.polynomial.terms()]
    return {
        monomial for stands, monomial, number in terms if number > 0 or stands == "=" or not ring.is_signed(monomial)
    }


def _product(ring: _Ring, chosen: Sequence[_Known]) -> _Product:
    polynomial = prod((each.polynomial for each in chosen), start=ring.ring(1))
    strict = all(each.says == "<" for each in chosen)
    stands: Says = chosen[0].says if len(chosen) == 1 else "<" if strict else "<="
    return _Product(ring.ring.zero_monom, tuple(each.token for each in chosen), polynomial, stands, strict)


def _multiplied(ring: _Ring, known: Sequence[_Known], depth: int) -> list[_Product]:
    """Products of at most so many factors; equations stand alone, squares with at most one other factor."""
    found = []
    for size in range(1, depth + 1):
        for chosen in combinations_with_replacement(known, size):
            squares = sum(each.token.endswith(")**2") for each in chosen)
            if size == 1 or (all(each.says != "=" for each in chosen) and squares <= (size == 2)):
                each = _product(ring, chosen)
                if 0 < len(each.polynomial) <= _SPARSE:
                    found.append(each)
    return found


def _squares(ring: _Ring, kind: int) -> list[_Known]:
    """Squares of small sums: what completes a square, and what Young's and Jensen's inequalities need."""
    free = [x for x, signed in zip(ring.ring.gens, ring.signed, strict=True) if not signed]
    bases = []
    if kind >= 1 and free:
        numbers = (-2, -1, 0, 1, 2) if len(free) <= 4 else (-1, 0, 1)
        for chosen in product(numbers, repeat=len(free)):
            if next((number for number in chosen if number), 0) > 0:
                bases.append(sum((number * x for number, x in zip(chosen, free, strict=True)), start=ring.ring(0)))
    if kind >= 2:
        others = [x for x in ring.ring.gens if x not in free]
        bases += [x - y for x, y in combinations(ring.ring.gens, 2) if x in others or y in others]
        bases += [x + y * z for x, y in product(free, free) for z in others if x != y]
    return [_Known(f"({ring.text(base)})**2", base**2, "<=") for base in bases]


# Linear programming


def _added_up(products: Sequence[_Product]) -> list[Fraction] | None:
    """Numbers, >= 0 except for equations, with which the products add up to 0; those of strict products do not vanish."""
    rows = {m: i for i, m in enumerate(dict.fromkeys(m for each in products for m in each.polynomial.monoms()))}
    sizes = np.array([max(abs(float(number)) for number in each.polynomial.coeffs()) for each in products])
    entries = [
        (rows[m], j, float(number) / sizes[j])
        for j, each in enumerate(products)
        for m, number in each.polynomial.terms()
    ]
    entries += [(len(rows), j, 1.0) for j, each in enumerate(products) if each.strict]
    i, j, values = (np.array(each) for each in zip(*entries, strict=True))
    # the sum of the strict ones is so large, and the tolerance so small, that nearly 0 does not pass for 0
    total = np.zeros(len(rows) + 1)
    total[-1] = 1000
    found = linprog(
        [0.0 if each.says == "=" else 1.0 + 0.1 * len(each.polynomial) for each in products],
        A_eq=csc_matrix((values, (i, j)), shape=(len(rows) + 1, len(products))),
        b_eq=total,
        bounds=[(None if each.says == "=" else 0, None) for each in products],
        options={"time_limit": 20, "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return None
    support = [k for k, number in enumerate(found.x) if abs(number) > 1e-9]
    exact = _exactly([products[k] for k in support])
    if exact is None:
        return None
    numbers = dict(zip(support, exact, strict=True))
    return [numbers.get(k, Fraction(0)) for k in range(len(products))]


def _exactly(products: Sequence[_Product]) -> list[Fraction] | None:
    """The same for few products, in fractions, by elimination; the numbers of the strict ones have the sum 1."""
    monomials = dict.fromkeys(m for each in products for m in each.polynomial.monoms())
    rows = [[fraction(each.polynomial.get(m, 0)) for each in products] + [Fraction(0)] for m in monomials]
    rows.append([Fraction(each.strict) for each in products] + [Fraction(1)])
    numbers = solution(rows)
    if numbers is None:
        return None
    allowed = all(number >= 0 or each.says == "=" for number, each in zip(numbers, products, strict=True))
    return numbers if allowed else None
