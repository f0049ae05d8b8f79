"""Rounds of clients that work in parallel, as forms; and proofs by named inferences, whose factors are found.

In a round M clients make K local steps each from x, then the server makes x_next.  With J the steps before the k-th of a
client, G = grad F(x) and g the stochastic gradients at the local points y,

    y_k    = x + sum over J of (step (g - grad F_m(x)) + own grad F_m(x) + mean G)
    x_next = x + step sum over clients and steps of (g - grad F_m(x) + G) + mean G

A `ParallelRound` has these factors.  A claim about the round follows from inferences such as smoothness or Jensen at the
natural vectors, each with a factor; `derived` finds the factors by linear algebra, and the argument checks the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy

from fedtheory.theory import field
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Language, digest, spread_out
from fedtheory.theory.proofs.forms import (
    Client,
    Family,
    FormTerm,
    Gradient,
    Infimum,
    Minimiser,
    Objective,
    StochasticGradient,
    Value,
    Vector,
    gradient,
    nested,
    replaced,
    value,
    vector,
)
from fedtheory.theory.proofs.ledger import powers
from fedtheory.theory.proofs.rules import Noise, RuleInstance
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Statement

F, x, x_next, x_at = Objective("F"), vector("x"), vector("x_next"), vector("x_at")
minimiser, infimum, G = Minimiser("x*", F), Infimum("F*", F), gradient(F, x)
C, I = Family("C", field.M, at_once=True), Family("I", field.K)
k = sympy.Symbol("k", integer=True, nonnegative=True)
J = Family("J", k, (I,))
_at_step, _of_client, _own = sympy.symbols("drift_k drift_m own_sq", nonnegative=True)


@dataclass(frozen=True)
class Factors:
    """The factors of a form above, made of eta, M and K."""

    step: sympy.Expr
    own: sympy.Expr
    mean: sympy.Expr


@dataclass(frozen=True)
class ParallelRound:
    """A round as above.

    end, point  the factors of x_next and of a local point; no point: each client takes one gradient, at x
    seen        for which counts of clients and steps the algorithm's own code has these factors
    """

    end: Factors
    point: Factors | None
    seen: str

    def at(self, symbols: Mapping[sympy.Expr, sympy.Expr]) -> ParallelRound:
        """The same with symbols replaced, such as eta by h/K."""

        def of(one: Factors | None) -> Any:
            return one and Factors(*(sympy.sympify(e).subs(dict(symbols)) for e in (one.step, one.own, one.mean)))

        return ParallelRound(of(self.end), of(self.point), self.seen)


@dataclass(frozen=True)
class ParallelSteps:
    """The vectors of the local steps of some families.

    clients  over which the function runs
    families  of clients and steps, outermost first; the points run over them
    local     whether there are local points; else all gradients are at x
    """

    clients: tuple[Family, ...]
    families: tuple[Family, ...]
    local: bool = True

    def sum(self, e: Any) -> sympy.Expr:
        """The sum over all steps."""
        for family in reversed(self.families):
            e = family.sum(e)
        return sympy.expand(e)

    def over(self, one: RuleInstance) -> RuleInstance:
        """An instance, summed over all steps."""
        return one.over(*reversed(self.families))

    @property
    def mass(self) -> sympy.Expr:
        """The number of steps."""
        return sympy.Mul(*(family.mass for family in self.families))

    @property
    def function(self) -> Client:
        """F_m."""
        return F.client("F_m", *self.clients)

    @property
    def point(self) -> Vector:
        """y."""
        return vector("y", *self.families) if self.local else x

    @property
    def g(self) -> StochasticGradient:
        """The stochastic gradient at y."""
        own = () if self.local else self.families
        return StochasticGradient("g", self.function, self.point, *own)

    @property
    def gradient(self) -> Gradient:
        """grad F_m(y)."""
        return gradient(self.function, self.point)

    @property
    def at_start(self) -> Gradient:
        """grad F_m(x)."""
        return gradient(self.function, x)

    @property
    def move(self) -> sympy.Expr:
        """grad F_m(y) - grad F_m(x)."""
        return self.gradient - self.at_start

    @property
    def noise(self) -> Noise:
        """g - grad F_m(y), and what is known before it is drawn."""
        return Noise(self.g.error, frozenset({x, minimiser, self.point, self.gradient, self.at_start, G}))


@dataclass(frozen=True)
class Vectors:
    """The vectors of a round.

    all    the steps of all clients
    own    the steps of a client before its k-th
    whole  the steps of a client

    F, G, x, x_next, minimiser, infimum are F, grad F(x), and points; C runs over the clients, I over the steps.
    """

    round: ParallelRound
    F, x, x_next, minimiser, infimum, G, C, I = F, x, x_next, minimiser, infimum, G, C, I

    @cached_property
    def all(self) -> ParallelSteps:
        """All steps of all clients."""
        return ParallelSteps((C,), (C, I) if self.round.point else (C,), self.round.point is not None)

    own, whole = ParallelSteps((), (J,)), ParallelSteps((), (I,))

    @cached_property
    def noise(self) -> sympy.Expr:
        """The sum of the noise of all steps."""
        return self.all.sum(self.all.noise.vector)

    @cached_property
    def tracked(self) -> sympy.Expr:
        """The sum over all steps of grad F_m(y) - grad F_m(x) + grad F(x)."""
        return self.all.sum(self.all.move + G)

    @cached_property
    def values(self) -> dict[sympy.Expr, sympy.Expr]:
        """x_next, and the k-th local point of a client, by the algorithm."""
        end, point = self.round.end, self.round.point
        found = {x_next: sympy.expand(x + end.step * (self.tracked + self.noise) + end.mean * G)}
        if point:
            own = self.own
            turn = point.step * (own.g - own.at_start) + point.own * own.at_start + point.mean * G
            found[x_at] = sympy.expand(x + own.sum(turn))
        return found

    @property
    def means(self) -> dict[sympy.Expr, sympy.Expr]:
        """What the quantities of the local steps mean."""
        own = {field.local_sq: C.sum(gradient(self.all.function, x) ** 2) / C.mass, _own: self.own.at_start**2}
        if not self.round.point:
            return own
        every, whole = self.all, self.whole
        found = {field.drift: every.sum((every.point - x) ** 2) / every.mass, _at_step: (x_at - x) ** 2}
        return own | found | {_of_client: whole.sum((whole.point - x) ** 2)}


# ----------------------------------------------------------------------------------------- inferences at their vectors

Uses = Callable[[Argument, Vectors, sympy.Expr], Iterator[RuleInstance]]  # for a claim about this quantity


def smoothness(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """F from x to x_next, and every F_m from x to its local points."""
    if of == field.gap.next:
        yield p.by(rules.DESCENT_OF_MEAN, F, x_next, x)
    if of == field.dist2.next:
        yield p.by(rules.GRADIENT_AND_GAP, F, x, minimiser)
    steps = v.whole if of == _at_step else v.all
    if v.round.point:
        yield steps.over(p.by(rules.LIPSCHITZ, steps.function, steps.point, x))


def noise(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """Noise has mean zero given what was before, and a bounded variance; the steps of a client are successive."""
    yield from _unbiased(p, v, of)
    if of == _at_step:
        yield p.by(rules.SUCCESSIVE, v.own.noise, J)
        return
    if v.round.point:
        yield p.by(rules.SUCCESSIVE, v.all.noise, I).over(C)
    yield p.by(rules.JENSEN_OVER, I.sum(v.all.noise.vector) if v.round.point else v.all.noise.vector, C)


def independent_noise(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """The same, and noise is independent across clients."""
    yield from _unbiased(p, v, of)
    if of == _at_step:
        yield p.by(rules.SUCCESSIVE, v.own.noise, J)
    else:
        yield p.by(rules.INDEPENDENT, v.all.noise, *reversed(v.all.families))


def _unbiased(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """Noise has mean zero given what was before, and a bounded variance."""
    steps = v.own if of == _at_step else v.all
    yield steps.over(p.by(rules.VARIANCE, steps.noise))
    known = {field.gap.next: (G,), field.dist2.next: (G, x - minimiser)}.get(of, ())
    yield from (steps.over(p.by(rules.FRESH, steps.noise, one)) for one in known)


def jensen(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """Squared sums of the changes of the local gradients; of a local point those of all that it is a sum of."""
    if of == _at_step and v.round.point:
        own, point = v.own, v.round.point
        others = k * (point.own * own.at_start + point.mean * G) / point.step
        parts = [own.sum(own.noise.vector), own.sum(own.move), sympy.expand(others)]
        yield p.by(rules.JENSEN, *(part for part in parts if part != 0))
        yield p.by(rules.JENSEN_OVER, own.move, J)
        yield k * p.by(rules.PART, lambda s: s.move, own, v.whole)
        return
    if v.round.point:
        yield p.by(rules.JENSEN_OVER, v.all.move, *reversed(v.all.families))
    if v.round.point and of == field.dist2.next:
        yield p.by(rules.JENSEN, v.all.sum(v.all.move), v.all.mass * G)


def young(share: Any) -> Uses:
    """2 <noise, rest> <= share ||noise||^2 + ||rest||^2 / share for the sums over all steps."""

    def uses(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
        if of != _at_step:
            yield p.by(rules.YOUNG, v.noise, v.tracked, sympy.sympify(share))

    return uses


def changes(share: Any) -> Uses:
    """2 <changes, G> <= share ||changes||^2 + ||G||^2 / share, for the summed changes of the local gradients from x."""

    def uses(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
        if of != _at_step and v.round.point:
            yield p.by(rules.YOUNG, -v.all.sum(v.all.move), v.all.mass * G, sympy.sympify(share))

    return uses


def convexity(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """Every F_m at x* from its local points; the mean of the F_m is F, whose gradient is 0 at x*."""
    steps, own = v.all, v.all.function
    if of != field.dist2.next:
        return
    strongly = Property.STRONGLY_CONVEX in p.properties
    rule = rules.TANGENT if strongly else rules.CONVEX
    if v.round.point and strongly:
        yield steps.over(p.by(rules.PERTURBED, own, steps.point, minimiser, x))
    elif v.round.point:
        yield steps.over(p.by(rules.CONVEX, own, minimiser, steps.point))
        yield steps.over(p.by(rules.DESCENT, own, x, steps.point))
    else:
        yield steps.over(p.by(rule, own, minimiser, x))
    inner = I.mass if v.round.point else sympy.S.One
    yield from (inner * p.by(rules.SUM_VALUE, C, own, F, at) for at in (x, minimiser))
    yield inner * p.by(rules.SUM_GRADIENT, C, own, F, x, x - minimiser)
    yield p.by(rules.ATTAINED, F, minimiser, infimum)


def square(p: Argument, v: Vectors, of: sympy.Expr) -> Iterator[RuleInstance]:
    """The squared mean of the local gradients is not negative; needs no name in a proof."""
    if of != _at_step:
        yield p.by(rules.SQUARE, v.tracked)


# ---------------------------------------------------------------------------------------------------- proofs by a list

_MEANS = {
    field.gap: value(F, x) - infimum,
    field.gap.next: value(F, x_next) - infimum,
    field.grad_sq: G**2,
    field.dist2: (x - minimiser) ** 2,
    field.dist2.next: (x_next - minimiser) ** 2,
}
LANGUAGE = Language(
    _MEANS,
    {},
    (*_MEANS, field.drift, field.sigma, field.zeta, field.Delta, field.D),
    start={field.gap: field.Delta, field.dist2: field.D**2},
    following={field.gap: field.gap.next, field.dist2: field.dist2.next},
    last={field.gap: field.gap.last, field.dist2: field.dist2.last},
    mean={field.grad_sq.mean: field.grad_sq},
    average={field.gap.average: field.gap},
)


def language(algorithm: Statement, v: Vectors) -> Language:
    """The language of the field's quantities, and of a round of the algorithm."""
    means, name = {**_MEANS, **v.means}, algorithm.id.partition(".")[2]
    return replace(
        LANGUAGE,
        means=means,
        amounts=tuple(dict.fromkeys([*means, *LANGUAGE.amounts])),
        algorithms={name: v.values},
        written={name: digest(algorithm)},
    )


def with_quantities(plain: Language, starts: Mapping[sympy.Symbol, sympy.Expr]) -> Language:
    """A language with a paper's own quantities, and what they are at the start."""
    own = [q for q in starts if isinstance(q, field.OwnQuantity)]
    return replace(
        plain,
        amounts=(*plain.amounts, *(time for q in own for time in (q, q.next, q.last))),
        start={**plain.start, **starts},
        following={**plain.following, **{q: q.next for q in own}},
        last={**plain.last, **{q: q.last for q in own}},
    )


def one_round(p: Argument, algorithm: str, v: Vectors, uses: Sequence[Uses]) -> Fact:
    """The claim's quantity after a round, bounded by its other quantities."""
    goal = p.goal()
    quantity, claimed = p.read(goal.quantity), p.read(goal.value)
    after = p.follow(algorithm)
    p._record("inference", f"the round is {v.round.seen}")
    p.needs(Property.EQUAL_WEIGHTS)
    if field.S in p.statement.symbols:
        p.fail("the round", "the claim speaks of S sampled clients: expected a round in which all take part")
    if quantity != field.drift:
        return derived(p, "the round", quantity, claimed, v, uses, after)
    claimed = claimed.subs(field.local_sq, _own)
    fact = derived(p, "k steps", _at_step, claimed + _of_client, v, uses, after)
    total = p.by_hand("summed over k", _of_client, "<=", powers(p, fact.value, k, field.K), fact)
    factor = spread_out(total.value).coeff(_of_client)
    share = _largest(p, factor)
    own = p.solved("drift of a client", total, share) if factor != 0 else total
    return p.by_hand(
        "so for each client, and for the mean",
        quantity,
        own.sign,
        spread_out(own.value / field.K).subs(_own, field.local_sq),
        own,
    )


def _largest(p: Argument, factor: sympy.Expr) -> sympy.Expr:
    """A number that bounds a factor made of L, K and the step size, if a condition h <= c/L or eta <= c/(K L) gives one."""
    for condition in p.conditions:
        for step in (field.h, field.eta):
            if isinstance(condition, sympy.Le | sympy.Ge) and condition.lts == step:
                most = sympy.limit(sympy.simplify(factor.subs(step, condition.gts)), field.K, sympy.oo)
                if most.is_Rational and 0 < most < 1:
                    return most
    p.fail("drift of a client", f"{factor} times itself is on the right side: expected a condition that makes it less")
    return sympy.S.Half


def derived(
    p: Argument,
    name: str,
    quantity: sympy.Expr,
    claimed: sympy.Expr,
    v: Vectors,
    uses: Sequence[Uses],
    after: Mapping[sympy.Expr, sympy.Expr],
) -> Fact:
    """quantity <= a sum of the amounts in `claimed`, by the instances of the inferences, each times a factor that is found.

    Where an amount's factor is free, it is that of the claim.  Where no factors close the proof, the step that fails says
    what is left.
    """
    named = [one for use in uses for one in use(p, v, quantity)]
    last = list(square(p, v, quantity))
    amounts = [a for a in p.language.amounts if a in claimed.free_symbols]
    amounts = [a**2 if a == field.sigma else a for a in amounts]
    kept = {a: spread_out(claimed).coeff(a) for a in amounts}

    def form(e: sympy.Expr) -> sympy.Expr:
        return spread_out(replaced(p.meaning(e), after))

    rest = form(sympy.Add(*(c * a for a, c in kept.items())) - quantity)
    columns = [spread_out(replaced(-one.times * one.slack, after)) for one in named]
    columns += [form(a) for a in amounts] + [spread_out(replaced(-one.slack, after)) for one in last]
    found = factors(rest, columns)
    left = sympy.expand(rest + sympy.Add(*(times * one for times, one in zip(found, columns, strict=True))))
    if left != 0 and (terms := _terms(left)):
        p.fail(name, f"left over: {'; '.join(terms)}")
    more = found[len(named) : len(named) + len(amounts)]
    total = sympy.Add(*(sympy.factor(kept[a] + one) * a for a, one in zip(amounts, more, strict=True)))
    times = [*found[: len(named)], *found[len(named) + len(amounts) :]]
    because = [factor * one for one, factor in zip([*named, *last], times, strict=True) if factor != 0]
    return p.have(name, quantity, "<=", spread_out(total), *because, after=after)


def _terms(form: sympy.Expr) -> list[str]:
    """The terms of a form, as text, each with its factor."""
    symbols = sorted((s for s in form.free_symbols if isinstance(s, FormTerm)), key=str)
    several = sympy.Poly(form, *symbols).terms() if symbols else [((), form)]
    factored = ((sympy.factor(c), sympy.Mul(*(s**n for s, n in zip(symbols, m, strict=True)))) for m, c in several)
    return [f"{c} * {monomial}" for c, monomial in factored if c != 0]


def _of_steps(symbol: sympy.Symbol) -> bool:
    """Whether a symbol of a form has to do with the local steps, not with their start alone."""
    inside = nested(symbol)
    return any(
        isinstance(s, StochasticGradient) or (isinstance(s, Gradient) and s.at not in (x, minimiser)) for s in inside
    )


def factors(rest: sympy.Expr, columns: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """Factors with which the columns add up to -rest, as forms; what is free is 0, what cannot be met is left."""
    every = [*columns, rest]
    terms = sorted({s for e in every for s in e.free_symbols if isinstance(s, FormTerm)} | {field.sigma}, key=str)
    constants = sorted({s for e in every for s in e.free_symbols} - {*terms}, key=str)
    domain = sympy.QQ.frac_field(*constants) if constants else sympy.QQ
    polys = [sympy.Poly(e, *terms, domain=domain).rep.to_dict() for e in every]
    solved: dict[int, list[Any]] = {}  # pivot -> row
    order = [2 if isinstance(s, Value) else 1 if _of_steps(s) else 0 for s in terms]

    def first(monomial: tuple[int, ...]) -> Any:
        """Values of functions before what the local steps add, and this before the rest."""
        return [sum(n for n, one in zip(monomial, order, strict=True) if one == kind) for kind in (2, 1)], monomial

    for monomial in sorted({m for poly in polys for m in poly}, key=first, reverse=True):
        row = [poly.get(monomial, domain.zero) for poly in polys]
        for pivot, known in solved.items():
            if row[pivot]:
                row = [a - row[pivot] * b for a, b in zip(row, known, strict=True)]
        leading = next((i for i, a in enumerate(row[:-1]) if a), None)
        if leading is not None:
            row = [a / row[leading] for a in row]
            solved = {i: [a - own[leading] * b for a, b in zip(own, row, strict=True)] for i, own in solved.items()}
            solved[leading] = row
    return [sympy.factor(domain.to_sympy(-solved[i][-1])) if i in solved else sympy.S.Zero for i in range(len(columns))]
