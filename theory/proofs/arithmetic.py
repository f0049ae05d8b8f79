"""Implications between relations in named constants, decided exactly: by certificates, else by z3.

Integers are relaxed to reals (>= 1 when positive).  A proof for the reals also holds for the integers; a counter-model
counts only if its values for integer symbols are integers.  A hypothesis with a division also says that the divisor is
not zero.  A claim with a division, a root or a logarithm is proved only with a proof that it is defined: first that each
divisor is not zero and each radicand not negative, from the inside to the outside, and only then what follows from that.
`at_most` and `at_least` build relations that sympy does not evaluate, so that z3 gets all of them.  Roots, minima, maxima
and absolute values are encoded exactly.  exp and log are not polynomial and are refused, unless they cancel: put the fact
about them in as a hypothesis, and prove it by `everywhere`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import sympy
import z3
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean, BooleanAtom

from fedtheory.theory.printing import plain
from fedtheory.theory.proofs import record, sequents
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.sequents import Sequent
from fedtheory.theory.statement import Status, Verdict

EFFORT = 20_000_000  # z3's own count of elementary steps, the same on every machine; about ten seconds
_REFUSED = "{} is not polynomial: expected sums, products, rational powers, min, max of symbols"
_PATIENCE = 30_000  # milliseconds: in a long step z3 does not check its count; a problem that times out is open


@dataclass(frozen=True)
class Decision:
    """Whether hypotheses imply a claim.

    status   proved, refuted (with `model`), vacuous (the hypotheses exclude each other) or open (z3 gave up)
    model    rational values that satisfy the hypotheses but not the claim, checked exactly by sympy
    sides    the derived and the claimed coefficient, where the second is too small
    """

    status: Status
    says: str
    model: Mapping[sympy.Symbol, sympy.Rational] = field(default_factory=dict)
    sides: tuple[sympy.Expr, sympy.Expr] | None = None

    @property
    def witness(self) -> dict[str, str]:
        """The model by names."""
        return {s.name: str(value) for s, value in self.model.items()}

    def verdict(self, says: str | None = None) -> Verdict:
        """The same of a statement, perhaps in other words."""
        return Verdict(self.status, self.says if says is None else says, witness=self.witness)


def at_most(left: Any, right: Any) -> Relational:
    """left <= right, not evaluated."""
    return sympy.Le(left, right, evaluate=False)


def at_least(left: Any, right: Any) -> Relational:
    """left >= right, not evaluated."""
    return sympy.Ge(left, right, evaluate=False)


class NotPolynomial(ValueError):
    """An expression that polynomial arithmetic cannot read."""


@dataclass(frozen=True)
class Question:
    """What `decide` was asked, and its answer."""

    hypotheses: tuple[Boolean, ...]
    claims: tuple[Boolean, ...]
    decision: Decision


@dataclass(frozen=True)
class Recording:
    """What was asked, and which proofs were made, while something was checked."""

    questions: list[Question] = field(default_factory=list)
    ledgers: list[Any] = field(default_factory=list)

    @property
    def steps(self) -> tuple[Sequent, ...]:
        """The different steps that were proved, in order; none for a claim that was true before anything was asked."""
        proved = (q for q in self.questions if q.decision.status is Status.PROVED)
        steps = (step for q in proved for step in sequents.sequents(q.hypotheses, q.claims))
        return tuple(dict.fromkeys(step for step in steps if step.claim != "True"))

    @property
    def uncertified(self) -> tuple[Sequent, ...]:
        """The steps that rest on z3 alone: without a certificate on record, and a short search finds none."""
        return tuple(step for step in self.steps if not record.certified(step) and record.searched(step) is None)


_recording: ContextVar[Recording | None] = ContextVar("_recording", default=None)


@contextmanager
def recorded() -> Iterator[Recording]:
    """Inside, every question to `decide`, and every ledger, is added to the recording that this yields."""
    found = Recording()
    before = _recording.set(found)
    try:
        yield found
    finally:
        _recording.reset(before)


def adopt(recording: Recording) -> None:
    """Add what one recording has to the recording around it, if there is one."""
    around = _recording.get()
    if around is not None:
        around.questions.extend(recording.questions)
        around.ledgers.extend(recording.ledgers)


def note(ledger: Any) -> None:
    """Add a ledger to the recording, if there is one."""
    recording = _recording.get()
    if recording is not None:
        recording.ledgers.append(ledger)


def decide(hypotheses: Iterable[Boolean], claim: Boolean | Sequence[Boolean], effort: int = EFFORT) -> Decision:
    """Do the hypotheses, and the domains of the symbols, imply the claim (or all of several)?

    Raises NotPolynomial for exp, log or symbolic exponents.
    """
    given = tuple(hypotheses)
    claims = (claim,) if isinstance(claim, Boolean) else tuple(claim)
    decision = _decide(frozenset(_flat(given)), tuple(_flat(claims)), effort)
    recording = _recording.get()
    if recording is not None:
        recording.questions.append(Question(given, claims, decision))
    return decision


@lru_cache(maxsize=4096)
def _decide(hypotheses: frozenset[Boolean], claims: tuple[Boolean, ...], effort: int) -> Decision:
    given = sorted(hypotheses, key=str)
    if any(h == sympy.false for h in given):
        return Decision(Status.VACUOUS, "a hypothesis is false")
    satisfiable = _satisfiable(hypotheses, effort)
    if satisfiable == z3.unsat:
        return Decision(Status.VACUOUS, "the hypotheses exclude each other")
    if satisfiable == z3.sat and _certified(given, claims):
        return Decision(Status.PROVED, "decided by certificates, integers relaxed to reals")
    problem = _problem(given, claims)
    for one in claims:
        *guards, goal = problem.questions(one)
        for question in (goal, *guards):
            found, model = problem.solve(effort, *question.against)
            if found == z3.unsat:
                continue
            rational = None if model is None else problem.simplest(effort, model, *question.against)
            refuted = rational is not None and _is_counterexample(given, question.relation, rational)
            if question is not goal:
                says = f"{one} needs {_written(question.relation)}, which does not follow"
            elif refuted:
                says = f"{plain(one)} fails"
            elif model is None:
                says = f"z3 gave up on {one}"
            else:
                says = f"{one} fails for reals; no rational (and, for counts, integer) model was found"
            return Decision(Status.REFUTED, says, rational or {}) if refuted else Decision(Status.OPEN, says)
    if satisfiable == z3.unknown:
        return Decision(Status.OPEN, "z3 could not tell whether the hypotheses can be met")
    return Decision(Status.PROVED, "decided by z3, integers relaxed to reals")


def _certified(given: Sequence[Boolean], claims: Sequence[Boolean]) -> bool:
    """Whether certificates on record prove all claims."""
    try:
        steps = sequents.sequents(given, claims)
    except ValueError:  # the text has no form for it
        return False
    return all(step.claim == "True" or record.certified(step) for step in steps)


@lru_cache(maxsize=4096)
def _satisfiable(hypotheses: frozenset[Boolean], effort: int) -> Any:
    """z3's answer whether the hypotheses can be met."""
    return _problem(sorted(hypotheses, key=str), ()).solve(effort)[0]


def _problem(given: Sequence[Boolean], claims: Sequence[Boolean]) -> _Z3Problem:
    """The problem of these hypotheses, in the symbols of the claims, too."""
    problem = _Z3Problem(sorted(set().union(*(r.free_symbols for r in (*given, *claims))), key=str))
    for h in given:
        problem.assume(h)
    return problem


def implied(hypotheses: Iterable[Boolean], claim: Boolean, effort: int = EFFORT) -> bool:
    """Whether z3 finds that the hypotheses imply the claim; it does not look for a counter-model."""
    if claim in (sympy.true, sympy.false):
        return bool(claim)
    return _implied(frozenset(_flat(hypotheses)), claim, effort)


@lru_cache(maxsize=4096)
def _implied(hypotheses: frozenset[Boolean], claim: Boolean, effort: int) -> bool:
    given = sorted(hypotheses, key=str)
    problem = _problem(given, (claim,))
    return all(problem.solve(effort, *one.against)[0] == z3.unsat for one in problem.questions(claim))


def _flat(relations: Iterable[Boolean]) -> Iterator[Boolean]:
    """The relations: conjunctions are split, and relations that are already true are left out."""
    for relation in relations:
        if isinstance(relation, sympy.And):
            yield from _flat(relation.args)
        elif not isinstance(relation, Boolean):
            raise ValueError(f"{relation}: expected a relation")
        elif relation != sympy.true:
            yield relation


def _is_counterexample(given: Sequence[Boolean], claim: Boolean, model: Mapping[sympy.Symbol, sympy.Rational]) -> bool:
    """Whether, exactly and in fractions, the domains and hypotheses hold and the claim does not."""
    names = sequents.names_of(model)
    values = {names[s]: fraction(v) for s, v in model.items()}

    def at(one: Boolean) -> bool | None:
        return sequents.holds(sequents.relation(one, names), values)

    domains = all(_in_domain(s, v) for s, v in model.items())
    return domains and all(at(h) is True for h in given) and at(claim) is False


def _in_domain(symbol: sympy.Symbol, value: sympy.Rational) -> bool:
    if symbol.is_integer and not value.is_integer:
        return False
    return not ((symbol.is_positive and value <= 0) or (symbol.is_nonnegative and value < 0))


@lru_cache(maxsize=16_384)
def _over_factors(e: sympy.Expr) -> tuple[sympy.Expr, tuple[sympy.Expr, ...]]:
    """Numerator, and the factors of the denominator."""
    numerator, denominator = sympy.fraction(sympy.together(e))
    return numerator, sympy.Mul.make_args(sympy.factor(denominator))


@lru_cache(maxsize=16_384)
def _guards(e: sympy.Basic) -> tuple[Relational, ...]:
    """When an expression or a relation is defined, as it is written; each guard comes after those of its own parts.

    Guards that the signs of the symbols show are left out.  Raises NotPolynomial where no relations say it.
    """
    found = [guard for part in e.args for guard in _guards(part)]
    match e:
        case sympy.Pow(base=base, exp=power) if power.is_integer:
            if not power.is_nonnegative and not base.is_nonzero:
                factors = (factor.as_base_exp()[0] for factor in _over_factors(1 / base)[1])
                found += [sympy.Ne(f, 0, evaluate=False) for f in factors if not (f.is_positive or f.is_negative)]
        case sympy.Pow(base=base, exp=power) if power.is_positive and power.is_rational:
            if not base.is_nonnegative:
                found.append(at_least(base, 0))
        case sympy.Pow(base=inside, exp=sympy.Rational()) | sympy.log(args=[inside]):
            if not inside.is_positive:
                found.append(sympy.Gt(inside, 0, evaluate=False))
        case sympy.Pow(base=base) if base.is_positive:
            pass
        case sympy.Pow() | sympy.Piecewise():
            raise NotPolynomial(_REFUSED.format(e))
    return tuple(dict.fromkeys(found))


def _written(guard: Relational) -> str:
    return f"{guard.lhs} {guard.rel_op} {guard.rhs}"


@dataclass(frozen=True)
class _Question:
    """A relation, and the formulas that hold together exactly where it is defined and fails."""

    relation: Boolean
    against: tuple[Any, ...]


class _Z3Problem:
    """A z3 problem over sympy symbols; roots become auxiliary variables with their defining equations."""

    def __init__(self, symbols: Sequence[sympy.Symbol]) -> None:
        self.reals = {s: z3.Real(s.name) for s in symbols}
        self.constraints: list[Any] = []
        self._roots: dict[sympy.Expr, Any] = {}
        self._defined: list[Any] = []  # equations of roots that are new; they say that the radicands are not negative
        for s, real in self.reals.items():
            if s.is_integer and s.is_positive:
                self.constraints.append(real >= 1)
            elif s.is_positive:
                self.constraints.append(real > 0)
            elif s.is_nonnegative:
                self.constraints.append(real >= 0)

    def assume(self, relation: Boolean) -> None:
        """Add a hypothesis, and with it that its divisors are not zero and its radicands not negative."""
        formulas = [self._formula(each) for each in (relation, *_guards(relation))]
        self.constraints += [*self._defined, *formulas]
        self._defined = []

    def questions(self, relation: Boolean) -> list[_Question]:
        """The guards of a claim, one after the other, and then the claim; nothing of them stays in the problem.

        Each may use the guards before it, and the equations of roots whose radicands these are about.
        """
        roots = dict(self._roots)
        found: list[_Question] = []
        met: list[Any] = []
        for each in (*_guards(relation), relation):
            formula = self._formula(each)
            found.append(_Question(each, (*self._defined, z3.Not(formula), *met)))
            met.append(formula)
        self._roots, self._defined = roots, []
        return found

    def _formula(self, relation: Boolean) -> Any:
        """A relation without denominators, where it is defined: lhs - rhs = p/q becomes p q against 0."""
        if isinstance(relation, BooleanAtom):
            return z3.BoolVal(bool(relation))
        if not isinstance(relation, Relational):
            raise ValueError(f"{relation}: expected a relation")
        numerator, factors = _over_factors(relation.lhs - relation.rhs)
        sign = sympy.Integer(1)
        for part in factors:
            base, exponent = part.as_base_exp()
            if part.is_negative:
                sign = -sign
            elif not (part.is_positive or exponent.is_even or exponent.is_integer is False):  # a root is positive
                sign *= base if exponent.is_odd else part
        left = self.real(numerator * sign)
        operator = {"<=": left <= 0, "<": left < 0, ">=": left >= 0, ">": left > 0, "==": left == 0, "!=": left != 0}
        return operator[relation.rel_op]

    def real(self, e: sympy.Expr) -> Any:
        """A sympy expression as a z3 real, where it is defined."""
        if e in self.reals:
            return self.reals[e]
        if isinstance(e, sympy.Rational):
            return z3.RealVal(f"{e.p}/{e.q}")
        if isinstance(e, sympy.Add):
            return z3.Sum([self.real(a) for a in e.args])
        if isinstance(e, sympy.Mul):
            return z3.Product([self.real(a) for a in e.args])
        if isinstance(e, sympy.Pow) and isinstance(e.exp, sympy.Rational):
            if not e.exp.is_integer:
                return self._root(e)
            base = self.real(e.base)
            power = z3.Product([base] * abs(int(e.exp)))
            return power if e.exp > 0 else 1 / power
        if isinstance(e, sympy.Max | sympy.Min):
            first, *others = (self.real(a) for a in e.args)
            for other in others:
                first = z3.If(first >= other if isinstance(e, sympy.Max) else first <= other, first, other)
            return first
        if isinstance(e, sympy.Abs):
            inside = self.real(e.args[0])
            return z3.If(inside >= 0, inside, -inside)
        raise NotPolynomial(_REFUSED.format(e))

    def _root(self, e: sympy.Pow) -> Any:
        """base^(p/q) as t >= 0 with t^q = base^p, for base >= 0."""
        if e not in self._roots:
            t = z3.Real(f"root_{len(self._roots)}")
            self._roots[e] = t
            p, q, base = e.exp.p, e.exp.q, self.real(e.base)
            power = z3.Product([base] * abs(p))
            root = z3.Product([t] * q)
            self._defined += [t >= 0, root == power if p > 0 else root * power == 1]
        return self._roots[e]

    def solve(self, effort: int, *more: Any) -> tuple[Any, Any]:
        """z3's answer, and its model."""
        solver = z3.SolverFor("QF_NRA")
        solver.set("rlimit", effort)
        solver.set("timeout", _PATIENCE)
        solver.add(*self.constraints, *more)
        found = solver.check()
        return found, solver.model() if found == z3.sat else None

    def simplest(self, effort: int, model: Any, *formulas: Any) -> dict[sympy.Symbol, sympy.Rational] | None:
        """A rational model of the hypotheses and the formulas, with the smallest numbers that it finds."""
        fixed = list(formulas)
        values: dict[sympy.Symbol, sympy.Rational] = {}
        for symbol, real in self.reals.items():
            for q in _candidates(symbol, model, real):
                found, better = self.solve(effort // 20, *fixed, real == z3.RealVal(f"{q.p}/{q.q}"))
                if found == z3.sat:
                    values[symbol], model = q, better
                    fixed.append(real == z3.RealVal(f"{q.p}/{q.q}"))
                    break
            else:
                return None
        return values


def _candidates(symbol: sympy.Symbol, model: Any, real: Any) -> Iterator[sympy.Rational]:
    """Values to try for a symbol: small numbers first, then ever closer approximations of z3's value."""
    simple = ["1", "2", "1/2", "0", "3", "4", "5", "6", "1/3", "1/4", "1/6", "10", "20", "1/10", "1/12", "1/100", "100"]
    found = z3.simplify(model.eval(real, model_completion=True))
    near = found.approx(20) if z3.is_algebraic_value(found) else found
    exact = Fraction(near.numerator_as_long(), near.denominator_as_long())
    rounded = [exact.limit_denominator(10**k) for k in range(7)]
    for q in [*map(sympy.Rational, simple), *(sympy.Rational(f.numerator, f.denominator) for f in [*rounded, exact])]:
        if _in_domain(symbol, q):
            yield q


def everywhere(claim: Relational, variable: sympy.Symbol, low: Any, high: Any, pieces: int = 10_000) -> Decision:
    """A relation in one variable on [low, high], by interval arithmetic with bisection: a fact about exp or log.

    The relation must be strict or have room: if the two sides meet, bisection does not end and the answer is `open`.
    """
    if claim.rel_op not in ("<=", "<", ">=", ">") or claim.free_symbols - {variable}:
        raise ValueError(f"{claim}: expected an inequality in {variable} alone")
    for guard in _guards(claim):
        decision = _everywhere(guard, variable, low, high, pieces)
        if decision.status is not Status.PROVED:
            return replace(decision, says=f"{claim} needs {_written(guard)}: {decision.says}")
    return _everywhere(claim, variable, low, high, pieces)


def _everywhere(claim: Relational, variable: sympy.Symbol, low: Any, high: Any, pieces: int) -> Decision:
    """The same for a relation that is defined everywhere; it may also be !=."""
    sides = claim.rhs - claim.lhs if claim.rel_op in ("<=", "<") else claim.lhs - claim.rhs
    waiting = [(sympy.Rational(low), sympy.Rational(high))]
    done = 0
    while waiting:
        a, b = waiting.pop()
        done += 1
        if done > pieces:
            return Decision(Status.OPEN, f"{claim} not decided with {pieces} intervals")
        ends = (mpmath.iv.mpf(str(a.p)) / a.q, mpmath.iv.mpf(str(b.p)) / b.q)
        value = _interval(sides, mpmath.iv.mpf([ends[0].a, ends[1].b]))
        if value.a > 0 or (value.a >= 0 and claim.rel_op in ("<=", ">=")) or (value.b < 0 and claim.rel_op == "!="):
            continue
        middle = (a + b) / 2
        if _is_counterexample([], claim, {variable: middle}):
            return Decision(Status.REFUTED, f"{plain(claim)} fails", {variable: middle})
        if a == b:
            return Decision(Status.OPEN, f"{claim} not decided at {a}")
        waiting += [(a, middle), (middle, b)]
    return Decision(Status.PROVED, f"interval arithmetic on {done} pieces of [{low}, {high}]")


def below_exponential() -> Decision:
    """1 - u <= exp(-u) for u >= 0: the difference vanishes at 0 and its derivative 1 - exp(-u) is >= 0."""
    u = sympy.Symbol("u", real=True)
    difference = sympy.exp(-u) - (1 - u)
    slope = sympy.diff(difference, u)
    if difference.subs(u, 0) != 0 or sympy.expand(slope - (1 - sympy.exp(-u))) != 0:
        return Decision(Status.OPEN, "the difference does not vanish at 0")
    return Decision(Status.PROVED, "equal at 0, and 1 - exp(-u) >= 0 for u >= 0")


def _interval(e: sympy.Expr, at: Any) -> Any:
    """An enclosure of the values of an expression in one symbol over the interval `at`."""
    if isinstance(e, sympy.Symbol):
        return at
    if isinstance(e, sympy.Rational):
        return mpmath.iv.mpf(str(e.p)) / e.q
    parts = [_interval(a, at) for a in e.args]
    if isinstance(e, sympy.Add):
        return sum(parts[1:], parts[0])
    if isinstance(e, sympy.Mul):
        return math.prod(parts[1:], start=parts[0])
    if isinstance(e, sympy.Pow) and e.exp.is_integer:
        return parts[0] ** int(e.exp)
    if isinstance(e, sympy.exp):
        return mpmath.iv.exp(parts[0])
    if isinstance(e, sympy.log):
        return mpmath.iv.log(parts[0]) if parts[0].a > 0 else mpmath.iv.mpf(["-inf", "inf"])
    raise ValueError(f"{e}: expected sums, products, whole powers, exp and log")
