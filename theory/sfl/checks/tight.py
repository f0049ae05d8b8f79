"""One round of SFL or PFL as a semidefinite programme: the best constants of its inequalities, without noise.

A round has finitely many points in finitely many orders of the clients: all of them are enumerated, and expectations are
exact means.  Every client's function is any L-smooth and mu-strongly convex function, by interpolation at its points; x* is
0, where the clients' gradients sum to zero.  zeta_*^2 is their mean square there, which is the least that is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations

import sympy

from theory import catalogue
from theory.proofs.tight import Programme
from theory.proofs.vectors import Point, smooth_convex
from theory.sfl.symbols import D_F, E_r, Ecal_r, K, L, M, S, dist2, dist2_next, eta, eta_tilde, mu, sigma, zeta_star
from theory.statement import Bound, Statement

_SQUARE = sympy.Symbol("zeta_star^2", nonnegative=True)
SEQUENTIAL = (
    "lemma5", "lemma6", "eq41", "step.sc_recursion", "step.gc_recursion", "step.gc_recursion.corrected",
    "step.sc_recursion.sharp", "step.sc_recursion.faster", "step.sc_recursion.sharp.sampled", "step.gc_recursion.sharp",
    "step.gc_recursion.corrected.sharp.sampled", "eq41.corrected",
)  # fmt: skip
PARALLEL = (
    "lemma11", "lemma12", "eq70", "eq70.sharp", "eq70.faster", "eq70.sharp.sampled", "eq70.sharp.general_convex",
    "eq70.sharp.general_convex.sampled",
)  # fmt: skip


@dataclass(frozen=True)
class Round:
    """All points of one round, by client, and the quantities as exact means over samples and orders."""

    points: tuple[tuple[Point, ...], ...]
    means: Mapping[sympy.Symbol, sympy.Expr]


def _points(clients: int) -> tuple[sympy.Symbol, list[list[Point]]]:
    """x, and each client's points x* = 0 and x."""
    x = sympy.Symbol("x", real=True)
    stars = [sympy.Symbol(f"g{m}(x*)", real=True) for m in range(clients - 1)]
    found = []
    for m, star in enumerate([*stars, -sympy.Add(*stars)]):
        at_x = Point(x, sympy.Symbol(f"f{m}(x)", real=True), sympy.Symbol(f"g{m}(x)", real=True))
        found.append([Point(sympy.S.Zero, sympy.S.Zero, star), at_x])
    return x, found


def _walk(own: list[Point], m: int, name: str, start: sympy.Expr, steps: int, rate: sympy.Expr) -> list[Point]:
    """The points of a client's local steps from a start; new points join the client's own."""
    at, found = start, []
    for k in range(steps):
        point = next((p for p in own if p.x == at), None)
        if point is None:
            label = f"{m}({name}{k})"
            point = Point(at, sympy.Symbol(f"f{label}", real=True), sympy.Symbol(f"g{label}", real=True))
            own.append(point)
        found.append(point)
        at = sympy.expand(at - rate * point.gradient)
    return found


def _mean(forms: list[sympy.Expr]) -> sympy.Expr:
    return sympy.expand(sympy.Add(*forms) / len(forms))


def one_round(parallel: bool, clients: int, some: int, steps: int, rate: sympy.Rational) -> Round:
    """The round with learning rate `rate`."""
    x, own = _points(clients)
    ends, drifts = [], []
    if parallel:
        walks = [_walk(own[m], m, "", x, steps, rate) for m in range(clients)]
        for chosen in combinations(range(clients), some):
            ends.append(x - rate / some * sympy.Add(*(p.gradient for m in chosen for p in walks[m])))
        drifts = [sympy.Add(*((p.x - x) ** 2 for p in walk)) for walk in walks]
    else:
        known: dict[tuple[int, ...], tuple[list[Point], sympy.Expr]] = {(): ([], x)}
        for order in permutations(range(clients), some):
            for i in range(1, some + 1):
                if order[:i] not in known:
                    before, at = known[order[: i - 1]]
                    name = "".join(map(str, order[: i - 1])) + ";"
                    walk = _walk(own[order[i - 1]], order[i - 1], name, at, steps, rate)
                    end = sympy.expand(at - rate * sympy.Add(*(p.gradient for p in walk)))
                    known[order[:i]] = ([*before, *walk], end)
            walked, end = known[order]
            ends.append(end)
            drifts.append(sympy.Add(*((p.x - x) ** 2 for p in walked)))
    means = {
        dist2: x**2,
        dist2_next: _mean([end**2 for end in ends]),
        D_F: _mean([points[1].value for points in own]),
        (Ecal_r if parallel else E_r): _mean(drifts),
        _SQUARE: _mean([points[0].gradient ** 2 for points in own]),
    }
    return Round(tuple(map(tuple, own)), means)


_MOST = 40  # local steps in all orders: 36 take half a minute for each term


def _numbers(statement: Statement, numbers: Mapping[str, sympy.Rational]) -> dict[sympy.Expr, sympy.Expr]:
    """The symbols' values; both step sizes, from the one that is given; S = M unless told.

    Raises ValueError for missing or unknown names, and for numbers outside the domains or the conditions.
    """
    id_, symbols = statement.id, {s.name: s for s in catalogue.symbols(statement).values()}
    needed = {"M", "K", "L"} | ({"mu"} if mu in statement.claim.value.free_symbols else set())  # type: ignore[union-attr]
    steps = {"eta", "eta_tilde"} & numbers.keys()
    missing = sorted(needed - numbers.keys()) + ([] if steps else ["eta or eta_tilde"])
    unknown = sorted(numbers.keys() - needed - {"S", "eta", "eta_tilde", "mu"})
    if missing or unknown or len(steps) == 2:
        wrong = f"missing {', '.join(missing)}" if missing else f"not needed: {', '.join(unknown or sorted(steps))}"
        raise ValueError(
            f"{id_}: {wrong}; expected M, K, L, one of eta and eta_tilde, S, and mu where it is contracted"
        )
    at: dict[sympy.Expr, sympy.Expr] = {symbols[n].sympy: sympy.Rational(v) for n, v in numbers.items()}
    at.setdefault(S, at[M])
    for symbol, value in at.items():
        whole = symbol.is_integer and not value.is_integer
        if whole or value < 0 or (value == 0 and symbol != mu):
            raise ValueError(f"{id_}: {symbol} = {value}: expected {symbols[str(symbol)].domain}")
    at[sigma] = sympy.S.Zero
    parallel = id_.removeprefix("sfl.") in PARALLEL
    # the statement's own definition; a lemma in eta has none, and eta_tilde is what it is in the theorem
    factor = statement.where.get(eta_tilde, K * eta if parallel else S * K * eta).subs(at) / at.get(eta, eta)
    at |= {eta_tilde: factor * at[eta]} if eta in at else {eta: at[eta_tilde] / factor}
    for condition in statement.when:
        holds = condition.relation.subs(at)
        if holds != sympy.true:
            shown = ", ".join(f"{s} = {at[s]}" for s in sorted(condition.relation.free_symbols, key=str) if s in at)
            raise ValueError(f"{id_}: {condition} is violated at {shown}")
    steps_ = at[K] * (at[M] if parallel else at[M] * sympy.binomial(at[M], at[S]) * sympy.factorial(at[S]))
    if steps_ > _MOST:
        raise ValueError(f"{id_}: {steps_} local steps in all orders: expected {_MOST} at most, with smaller M, S or K")
    return at


def programmes(statement: Statement, numbers: Mapping[str, sympy.Rational]) -> dict[str, tuple[Programme, int]]:
    """For each term of a bound, the programme for its best constant with the other terms as they are, and its sign.

    numbers  L, mu, M, S, K and the step size, by name; without noise

    The largest value of the programme is the best factor of the term; of a term with the sign -1 it is minus that.
    Raises ValueError for a statement that is not about one round, missing numbers, and numbers outside the conditions.
    """
    name = statement.id.removeprefix("sfl.")
    if name not in (*SEQUENTIAL, *PARALLEL):
        raise ValueError(f"{statement.id}: expected one of {', '.join(f'sfl.{n}' for n in (*SEQUENTIAL, *PARALLEL))}")
    claim = statement.claim
    assert isinstance(claim, Bound)
    at = _numbers(statement, numbers)
    found = one_round(name in PARALLEL, int(at[M]), int(at[S]), int(at[K]), at[eta])
    pairs = {
        f"f{m}: {i}, {j}": smooth_convex(a, b, at[L], at.get(mu, sympy.S.Zero))
        for m, points in enumerate(found.points)
        for i, a in enumerate(points)
        for j, b in enumerate(points)
        if i != j
    }

    def form(e: sympy.Expr) -> sympy.Expr:
        return sympy.expand(e.subs(at).subs(zeta_star, sympy.sqrt(_SQUARE)).subs(found.means))

    terms = {t.name: form(t.value) for t in claim.terms}
    falling = {t.name for t in claim.terms if t.value.is_nonpositive}  # such as progress
    quantity, made = form(claim.quantity), {}
    for term, own in terms.items():
        if own == 0:
            continue  # noise
        rest = sympy.expand(quantity - sympy.Add(*(other for n, other in terms.items() if n != term)))
        made[term] = Programme(rest, -own if term in falling else own, pairs), -1 if term in falling else 1
    return made
