"""Drift in local steps without noise, for every number of clients and of steps: by induction.

From where the round starts, a step goes  d' = d - eta (v + D).  v is what a step from the start would take; D is how much
the client's gradient differs from that at the start, and ||D|| <= L ||d|| for smooth functions.  d is 0 at first.

    With q = 1 + eta L and delta_j = (q^j - 1) / L, after j >= 1 steps

        ||d'||^2 <= a ||d||^2 + b ||D||^2 + c ||v||^2,    a = delta_{j+1} / delta_j,  b = eta a / L,  c = eta delta_{j+1},

    because 1 / a + eta^2 / b + eta^2 / c = 1; and (a + b L^2) delta_j^2 + c = delta_{j+1}^2 (`step_holds`).
    So if E||v||^2 <= G in each step, E||d_j||^2 <= delta_j^2 G.

Steps of several clients, one after another in a random order, are such steps too: then the expectation is over the order.
No smaller number than delta_j^2 is enough: on a line, all clients the same, f has curvature -L where the round is (`slide`).

For SFL and PFL all of this is a theorem in Coq (`theory/kernel/drift.v`).

What is checked here for single counts, exactly and with the algorithm's own round: that the multipliers of this induction
prove the claim, and that the instance needs it.  That rounds with more clients or steps are such steps, too, is read off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import GramVector, QuadraticForm, summed
from fedtheory.theory.proofs.scenes import Oracle, Scene, SceneCase, alike
from fedtheory.theory.proofs.tight import Programme, is_square, needed_on_line
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Statement, defined

COUNTS = ((1, 2), (1, 5), (2, 2), (2, 3), (2, 5), (3, 2))  # clients and steps that are checked
FAR = ((1, 20), (2, 10))  # more of them, in seconds


class NoDrift(ValueError):
    """The statement is not about drift, or the induction does not prove it."""


def further(delta: Any, eta: Any, L: Any) -> Any:
    """delta_{j+1} from delta_j; of numbers, or of symbols."""
    return (1 + eta * L) * delta + eta


def factors(delta: Any, eta: Any, L: Any) -> tuple[Any, Any, Any]:
    """a, b, c of a step from where delta_j is delta; of numbers, or of symbols."""
    after = further(delta, eta, L)
    return after / delta, eta * after / (L * delta), eta * after


def step_holds() -> bool:
    """Whether a step has its inequality, and leads from delta_j^2 to delta_{j+1}^2, for all delta_j, eta, L > 0."""
    delta, eta, L = sympy.symbols("delta eta L", positive=True)
    a, b, c = factors(delta, eta, L)
    square = (a + b * L**2) * delta**2 + c - further(delta, eta, L) ** 2
    return bool(sympy.simplify(1 / a + eta**2 / b + eta**2 / c) == 1 and sympy.expand(sympy.simplify(square)) == 0)


def drift(L: Fraction, eta: Fraction, n: int) -> Fraction:
    """The sum of delta_j^2 over n steps, j = 0 ... n - 1: the largest drift where E||v||^2 = 1."""
    return sum((x**2 for x in _deltas(L, eta, n)[:-1]), Fraction(0))


def _deltas(L: Fraction, eta: Fraction, n: int) -> list[Fraction]:
    found = [Fraction(0)]
    for _ in range(n):
        found.append(further(found[-1], eta, L))
    return found


def slide(L: Fraction, eta: Fraction, n: int) -> tuple[Fraction, Callable[[Fraction], tuple[Fraction, Fraction]]]:
    """Where the round starts, and f with value and slope: 0 is a minimiser, then the curvature is L, then -L, then 0.

    At the start the slope is 1, and n steps stay where the curvature is -L.
    """
    far = _deltas(L, eta, n)[-1]
    steep = 1 + L * far
    turn = steep / L
    start = turn + far

    def f(x: Fraction) -> tuple[Fraction, Fraction]:
        up, down, on = min(max(x, Fraction(0)), turn), min(max(x - turn, Fraction(0)), far), max(x - start, Fraction(0))
        slope = L * up - L * down
        return L * up**2 / 2 + steep * down - L * down**2 / 2 + slope * on, slope

    return start, f


@dataclass(frozen=True)
class LocalStep:
    """The step that leads to a point: the client's function, the number of its point, d and D there, v."""

    function: Oracle
    number: int
    d: GramVector
    D: GramVector
    v: GramVector


def steps(scene: Scene, eta: Fraction) -> tuple[str, dict[GramVector, LocalStep]]:
    """The name of the vector where the round starts, and d after each step whose end is a point of the round.

    Raises NoDrift where the points are no steps from one start.
    """
    names = {next(iter(x.parts)) for f in scene.functions for x in f.points if len(x.parts) == 1}
    if len(names) != 1:
        raise NoDrift(f"{len(names)} starts of the round: expected one")
    start = GramVector({(name := names.pop()): Fraction(1)})
    moves = [
        LocalStep(f, i, x - start, point.gradient - f.at(start).gradient, start)
        for f in scene.functions
        for i, (x, point) in enumerate(list(f.points.items()))
        if name in x.parts
    ]
    later = {g for one in moves if one.d.parts for g in one.function.at(one.d + start).gradient.parts}
    found = {}
    for end in {one.d for one in moves if one.d.parts}:
        ways = (replace(one, v=(one.d - end) / eta - one.D) for one in moves)
        way = next((one for one in ways if not later & one.v.parts.keys()), None)
        if way is None:
            raise NoDrift("a point of the round is no step from another one")
        found[end] = way
    return name, found


def chain(scene: Scene, form: QuadraticForm, eta: Fraction, L: Fraction) -> tuple[int, dict[str, Fraction], str]:
    """How many steps lead to the last point in a sum of ||d||^2, counted from 1; the multipliers of the induction; the
    name of the start.

    Raises NoDrift where the form is no such sum, and where functions are not smooth in both directions.
    """
    start, before = steps(scene, eta)
    depth: dict[GramVector, int] = {}
    for end in before:
        path = [end]
        while path[-1].parts:
            path.append(before[path[-1]].d)
        depth[end] = len(path) - 1
    delta = _deltas(L, eta, max(depth.values(), default=0))
    rest, weights, used = form, dict.fromkeys(before, Fraction(0)), dict[str, Fraction]()
    for end in sorted(before, key=lambda d: -depth[d]):
        own, j = before[end], depth[end] - 1
        newest = min(end.parts.keys() - own.d.parts.keys(), key=lambda name: sum(name in d.parts for d in before))
        amount = rest.products.get((newest, newest), Fraction(0)) / end.parts[newest] ** 2
        rest -= end.square * amount
        weight = weights[end] + amount
        if j:
            a, b, _ = factors(delta[j], eta, L)
            weights[own.d] += weight * (a + b * L**2)
            for name in _lipschitz(scene, own, start, L):
                used[name] = used.get(name, Fraction(0)) + weight * b * 2 * L
    if rest:
        raise NoDrift("the quantity is no sum of squared distances from the start of the round")
    return 1 + max(depth.values(), default=0), used, start


def _lipschitz(scene: Scene, of: LocalStep, start: str, L: Fraction) -> list[str]:
    """The names of two conditions whose sum is 2 L times ||D|| <= L ||d||, in squares.  Raises NoDrift without them."""
    first = next(i for i, x in enumerate(of.function.points) if x.parts == {start: 1})
    names = [f"f{of.function.name}: {i}, {j}" for i, j in ((first, of.number), (of.number, first))]
    both = summed(scene.conditions[name] for name in names if name in scene.conditions)
    if both - (of.d.square * (L / 2) - of.D.square / (2 * L)):
        raise NoDrift("the functions are not smooth in both directions alone")
    return names


@dataclass(frozen=True)
class Enough:
    """At single counts: with this number in place of each coefficient the claim holds, and `needed` need it.

    quantities  on the larger side
    steps       in a row
    number      that is enough
    factor      the same as a multiple of `drift` of these steps
    """

    quantities: tuple[sympy.Expr, ...]
    steps: int
    number: Fraction
    factor: Fraction
    needed: tuple[sympy.Expr, ...]


def enough(statement: Statement, case: SceneCase) -> Enough:
    """What is enough, with its proof checked, and what needs it.  Raises NoDrift where this is no such claim."""
    claim, scene = statement.claim, case.scene
    if not isinstance(claim, Bound) or claim.sign != "<=" or claim.quantity not in scene.means:
        raise NoDrift(f"{statement.id}: expected an upper bound of a quantity of a round")
    room: dict[sympy.Expr, QuadraticForm] = {}
    for term in claim.terms:
        for monomial, (coefficient, form) in scene.form(defined(term.value, statement.where), case.at).items():
            if coefficient < 0 or not monomial.is_nonnegative:
                raise NoDrift(f"{statement.id}: expected terms >= 0")
            room[monomial] = form
    form, eta, L = scene.means[claim.quantity], *(_constant(statement, case.at, name) for name in _CONSTANTS)
    n, multipliers, start = chain(scene, form, eta, L)
    where, f = slide(L, eta, n)
    on = alike(scene.functions, _known(scene, start, where), f)
    needs = {q: needed_on_line(Programme(form, own, scene.conditions, line=on)) for q, own in room.items()}
    number = max((x for x in needs.values() if x), default=Fraction(0))
    if not number:
        raise NoDrift(f"{statement.id}: there is no drift with a step")
    whole = summed(own * number for own in room.values()) - form
    left = whole - summed(scene.conditions[name] * x for name, x in multipliers.items())
    others = [q for name, q in scene.conditions.items() if not name.startswith("f")]
    if not any(is_square(left - one * number) for one in (QuadraticForm({}, {}), *others)):
        raise NoDrift(f"{statement.id}: the induction does not prove it")
    needed = tuple(q for q, x in needs.items() if x == number)
    return Enough(tuple(room), n, number, number / drift(L, eta, n), needed)


_CONSTANTS = ("learning rate", "smoothness")


def _constant(statement: Statement, at: scenes.Numbers, concept: str) -> Fraction:
    symbols = catalogue.symbols(statement)
    return scenes.exact(next(s for s in at if symbols[s.name].concept == concept), at)


def _known(scene: Scene, start: str, where: Fraction) -> dict[str, Fraction]:
    """The start of the round on a line; all vectors and numbers that no function gives are 0."""
    forms = [*scene.means.values(), *scene.conditions.values()]
    names = {name for q in forms for pair in q.products for name in pair} | {name for q in forms for name in q.numbers}
    names -= {
        name for f in scene.functions for p in f.points.values() for name in (*p.gradient.parts, *p.value.numbers)
    }
    return dict.fromkeys(names, Fraction(0)) | {start: where}


@dataclass(frozen=True)
class DriftConstants:
    """With one number, `formula`, in place of the coefficient of each of these quantities the claim holds for all M and K.

    id      the statement's
    steps   in a row, as an expression in the paper's letters: K, or M K, where all clients take part
    factor  the number, as a multiple of `drift` of these steps: 1, or M
    stated  quantity -> its coefficient in the statement, with what is the same at all counts
    same    what that is: constants that are 0, such as beta, and numbers of clients that are M
    needed  the quantities that need the number, for every M and K
    counts  of clients and steps, that were checked
    """

    id: str
    steps: sympy.Expr
    factor: sympy.Expr
    stated: dict[sympy.Expr, sympy.Expr]
    same: dict[sympy.Expr, sympy.Expr]
    needed: tuple[sympy.Expr, ...]
    counts: tuple[tuple[int, int], ...]

    @property
    def formula(self) -> str:
        """The number, in the paper's letters."""
        symbols = catalogue.symbols(catalogue.find(self.id))
        eta, L = (next(name for name, s in symbols.items() if s.concept == concept) for concept in _CONSTANTS)
        factor = "" if self.factor == 1 else f"{self.factor} * "
        where = "".join(f", {s} = {x}" for s, x in self.same.items())
        return f"{factor}sum of ((q^j - 1)/{L})^2 over j = 1 ... {self.steps} - 1, with q = 1 + {eta} {L}{where}"

    def ratio(self, q: sympy.Expr, at: scenes.Numbers) -> float:
        """The number over the stated coefficient of a quantity, where eta is the step size and L the constant."""
        eta, L = (float(_constant(catalogue.find(self.id), at, name)) for name in _CONSTANTS)
        rows = range(int(self.steps.subs(at)))
        number = float(self.factor.subs(at)) * sum((((1 + eta * L) ** j - 1) / L) ** 2 for j in rows)
        return number / float(self.stated[q].subs(at))


def letters(statement: Statement) -> tuple[str, str]:
    """The paper's letters for the number of clients, and for that of local steps.  Raises NoDrift without them."""
    by = {symbol.concept: name for name, symbol in catalogue.symbols(statement).items()}
    if not {"clients", "local steps"} <= by.keys():
        raise NoDrift(f"{statement.id}: expected a statement with clients and local steps")
    return by["clients"], by["local steps"]


def every(
    statement: Statement,
    rounds: scenes.PaperScenes | None,
    numbers: Mapping[str, Fraction],
    alike: Collection[str] = (),
    counts: Sequence[tuple[int, int]] = COUNTS,
) -> DriftConstants:
    """The induction for a statement about drift, checked at some counts.

    numbers  L, a step size and sigma = 0, for all counts
    alike    names of numbers that are that of the clients

    Raises NoDrift where the statement is no such claim, and ValueError as `scenes.cases_at`.
    """
    if not step_holds():
        raise NoDrift("the inequality of a step does not hold")
    if Property.CONVEX in catalogue.properties(statement):
        raise NoDrift(f"{statement.id}: the functions are convex, and then less may be enough")
    clients, local = letters(statement)
    found: list[tuple[scenes.Numbers, Enough]] = []
    for M, K in counts:
        given = {**numbers, **dict.fromkeys((clients, *alike), Fraction(M)), local: Fraction(K)}
        found += [(case.at, enough(statement, case)) for case in scenes.cases_at(statement, rounds, given)]
    M_, K_ = (catalogue.symbols(statement)[name].sympy for name in (clients, local))
    steps_ = [n for n in (K_, M_ * K_) if all(n.subs(at) == one.steps for at, one in found)]
    factors = [x for x in (sympy.S.One, M_) if all(scenes.exact(x, at) == one.factor for at, one in found)]
    if not steps_ or not factors:
        raise NoDrift(f"{statement.id}: the steps in a row, or the number that is enough, fit no count")
    terms = (defined(term.value, statement.where) for term in statement.claim_of(Bound).terms)
    whole = sympy.expand(sympy.Add(*terms))
    of = {s for q in found[0][1].quantities for s in whole.coeff(q).free_symbols} - {M_}
    same = {
        s: x for s in sorted(of, key=str) for x in (sympy.S.Zero, M_) if all(at.get(s) == x.subs(at) for at, _ in found)
    }
    stated = {q: whole.coeff(q).subs(same) for q in found[0][1].quantities}
    needed = tuple(q for q in stated if all(q in one.needed for _, one in found))
    return DriftConstants(statement.id, steps_[0], factors[0], stated, same, needed, tuple(counts))


def checked(statement: Statement, rounds: scenes.PaperScenes) -> DriftConstants | None:
    """The induction for one of the `drifts` of a paper; None for other statements.  Raises ValueError as `every`."""
    numbers = rounds.drifts.get(statement.id.partition(".")[2])
    return None if numbers is None else every(statement, rounds, *numbers)
