"""A second opinion on a step of a proof: cvc5 reads its text (`theory.proofs.sequents`) and shares nothing with z3.

Counts are relaxed to reals >= 1, as for z3.  Divisions are multiplied out: a value is a numerator over factors that the
guards keep from zero.  cvc5 does badly with division terms and with new variables for quotients.  A root is a new
variable t >= 0 with t^q = a.

cvc5 can hang inside one operation on polynomials, where none of its own limits is looked at.  So it works in a second
process, which the system ends when a question has used up its processor time.  That time is far above what any answer
has needed, and other work on the machine does not count.  The system (Linux) also ends it with the process that asks.
"""

from __future__ import annotations

import ast
import atexit
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from threading import Lock
from typing import Any, Literal

import cvc5
from cvc5 import Kind

from theory.proofs.sequents import Domain, Sequent, guards, parsed

Opinion = Literal["agrees", "disagrees", "gives up"]

# Coverings alone are the fastest, but cannot lift some polynomials; what they cannot decide, linear lemmas help with
_ATTEMPTS: tuple[Mapping[str, str], ...] = ({"nl-cov": "true", "nl-ext": "none"}, {"rlimit-per": "1000000"})
_SECONDS = 30  # of processor time for a question; the slowest answer for the papers takes about seven

_UNKNOWN, _NONNEGATIVE, _POSITIVE = range(3)  # what is known of a sign; the smaller the less
_SIGNS: Mapping[Domain, int] = {
    "count": _POSITIVE,
    "positive": _POSITIVE,
    "nonnegative": _NONNEGATIVE,
    "real": _UNKNOWN,
}
_RELATIONS: Mapping[type[ast.cmpop], Kind] = {
    ast.LtE: Kind.LEQ,
    ast.Lt: Kind.LT,
    ast.GtE: Kind.GEQ,
    ast.Gt: Kind.GT,
    ast.Eq: Kind.EQUAL,
    ast.NotEq: Kind.DISTINCT,
}


def opinion(sequent: Sequent, proved: bool) -> Opinion:
    """What cvc5 says of a step that z3 has proved, or has not.

    Raises ValueError for exp, log and powers whose exponent is no number.
    """
    found = proves(sequent)
    return "gives up" if found is None else "agrees" if found == proved else "disagrees"


def proves(sequent: Sequent) -> bool | None:
    """Whether the claim and its guards follow; False: there are reals against it; None: cvc5 gave up.

    Raises ValueError for exp, log and powers whose exponent is no number.
    """
    return _asked("proves", sequent)


def satisfiable(sequent: Sequent) -> bool | None:
    """Whether some reals in the domains meet everything given; None: cvc5 gave up.

    Raises ValueError for exp, log and powers whose exponent is no number.
    """
    return _asked("satisfiable", sequent)


# The text in cvc5's terms


@dataclass(frozen=True)
class _Fraction:
    """A numerator, and how often each factor divides it."""

    top: Any
    below: Counter[Any] = field(default_factory=Counter)


class _Problem:
    """A problem of cvc5: the domains, what is given, and the definitions of roots and of quotients in a case."""

    def __init__(self, sequent: Sequent, options: Mapping[str, str]) -> None:
        self.manager = cvc5.TermManager()
        self.solver = cvc5.Solver(self.manager)
        for name, value in options.items():
            self.solver.setOption(name, value)
        self.solver.setLogic("QF_NRA")
        self.zero, self.one = self.manager.mkReal(0), self.manager.mkReal(1)
        self._real = self.manager.getRealSort()
        self._domains = dict(sequent.variables)
        self._variables = {name: self.manager.mkConst(self._real, name) for name in self._domains}
        self._positive: set[Any] = set()  # factors that the domains make positive
        self._roots: dict[tuple[str, int], Any] = {}
        self.constraints = [self._in_domain(name, domain) for name, domain in sequent.variables if domain != "real"]
        for relation in sequent.given:
            for text in (*_inner_first(relation), relation):
                self.constraints.append(self.relation(text))

    def _in_domain(self, name: str, domain: Domain) -> Any:
        kind, least = {
            "count": (Kind.GEQ, self.one),
            "positive": (Kind.GT, self.zero),
            "nonnegative": (Kind.GEQ, self.zero),
        }[domain]
        return self._term(kind, self._variables[name], least)

    def check(self, *more: Any) -> bool | None:
        """Whether reals meet the constraints and these formulas; None if cvc5 does not know."""
        self.solver.resetAssertions()
        for formula in (*self.constraints, *more):
            self.solver.assertFormula(formula)
        found = self.solver.checkSat()
        return None if found.isUnknown() else bool(found.isSat())

    def proves(self, claim: str) -> bool | None:
        """Whether the guards of a claim follow, one after the other, and then the claim."""
        for text in (*_inner_first(claim), claim):
            formula = self.relation(text)
            against = self.check(self._term(Kind.NOT, formula))
            if against is not False:
                return None if against is None else False
            self.constraints.append(formula)
        return True

    def relation(self, text: str) -> Any:
        """A relation whose guards hold, without its divisors."""
        match parsed(text):
            case ast.Constant(value=bool(truth)):
                return self.manager.mkBoolean(truth)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                kind = _RELATIONS[type(operator)]
                (a, b), below = self._common(self._value(left), self._value(right))
                signs = [factor for factor, times in below.items() if times % 2 and factor not in self._positive]
                if not signs or kind in (Kind.EQUAL, Kind.DISTINCT):
                    return self._term(kind, a, b)
                return self._term(kind, self._product(self._term(Kind.SUB, a, b), *signs), self.zero)
        raise ValueError(f"{text}: expected a relation")

    def _value(self, tree: ast.expr) -> _Fraction:
        match tree:
            case ast.Constant(value=int(number)):
                return _Fraction(self.manager.mkReal(number))
            case ast.Name(id=name):
                return _Fraction(self._variables[name])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._value(operand)
                return _Fraction(self._term(Kind.NEG, value.top), value.below)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                (a, b), below = self._common(self._value(left), self._value(right))
                return _Fraction(self._term(Kind.ADD if isinstance(operator, ast.Add) else Kind.SUB, a, b), below)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._times(self._value(left), self._value(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return reduce(self._times, map(self._inverse, _factors(right)), self._value(left))
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
                value = self._value(left)
                below = Counter({factor: times * power for factor, times in value.below.items()})
                return _Fraction(self._product(*[value.top] * power), below)
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=parts):
                kind = Kind.GEQ if name == "max" else Kind.LEQ
                values = [self._whole(self._value(part)) for part in parts]
                return _Fraction(reduce(lambda a, b: self._term(Kind.ITE, self._term(kind, a, b), a, b), values))
            case ast.Call(func=ast.Name(id="abs"), args=[inside]):
                a = self._whole(self._value(inside))
                return _Fraction(self._term(Kind.ITE, self._term(Kind.GEQ, a, self.zero), a, self._term(Kind.NEG, a)))
            case ast.Call(
                func=ast.Name(id="root"), args=[inside, ast.Constant(value=int(p)), ast.Constant(value=int(q))]
            ):
                return _Fraction(self._product(*[self._root(inside, q)] * p))
        raise ValueError(f"{ast.unparse(tree)}: expected sums, products, whole powers, roots, min, max of variables")

    def _root(self, inside: ast.expr, q: int) -> Any:
        key = (ast.unparse(inside), q)
        if key not in self._roots:
            value = self._value(inside)
            root = self._roots[key] = self._new("root")
            power = self._product(*[root] * q, *value.below.elements())
            self.constraints += [
                self._term(Kind.GEQ, root, self.zero),
                self._term(Kind.EQUAL, power, value.top),
            ]
        return self._roots[key]

    def _whole(self, value: _Fraction) -> Any:
        """A value without divisors: itself, or a new variable for the quotient."""
        if not value.below:
            return value.top
        quotient = self._new("quotient")
        product = self._product(quotient, *value.below.elements())
        self.constraints.append(self._term(Kind.EQUAL, product, value.top))
        return quotient

    def _inverse(self, divisor: ast.expr) -> _Fraction:
        value = self._value(divisor)
        # cvc5's normal form, so that -1 + M and M - 1 are one factor
        factor = self.solver.simplify(value.top)
        if _sign(divisor, self._domains) == _POSITIVE:
            self._positive.add(factor)
        return _Fraction(self._product(*value.below.elements()), Counter({factor: 1}))

    def _times(self, one: _Fraction, other: _Fraction) -> _Fraction:
        return _Fraction(self._product(one.top, other.top), one.below + other.below)

    def _common(self, *values: _Fraction) -> tuple[list[Any], Counter[Any]]:
        """The numerators over the least common divisor, and that divisor."""
        below = reduce(lambda a, b: a | b, (value.below for value in values))
        return [self._product(value.top, *(below - value.below).elements()) for value in values], below

    def _product(self, *parts: Any) -> Any:
        return self.one if not parts else parts[0] if len(parts) == 1 else self._term(Kind.MULT, *parts)

    def _term(self, kind: Kind, *parts: Any) -> Any:
        return self.manager.mkTerm(kind, *parts)

    def _new(self, name: str) -> Any:
        # Two constants of cvc5 are different even if they have one name
        return self.manager.mkConst(self._real, name)


def _inner_first(text: str) -> list[str]:
    """The guards of a text, each after the guards of its own parts: it is longer than they are.

    A part is encoded as if its guards held, so nothing may be proved before them.
    """
    return sorted(guards(text), key=lambda guard: (len(guard), guard))


def _factors(divisor: ast.expr) -> list[ast.expr]:
    """Parts of which a divisor is the product."""
    match divisor:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _factors(left) + _factors(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _factors(left) * power
        case ast.Call(func=ast.Name(id="root") as name, args=[inside, ast.Constant(value=int(p)), q]):
            return [ast.Call(func=name, args=[inside, ast.Constant(value=1), q], keywords=[])] * p
    return [divisor]


def _sign(tree: ast.expr, domains: Mapping[str, Domain]) -> int:
    """What the domains alone say about a sign."""
    match tree:
        case ast.Constant(value=int(number)):
            return _POSITIVE if number > 0 else _NONNEGATIVE
        case ast.Name(id=name):
            return _SIGNS[domains[name]]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            signs = [_sign(left, domains), _sign(right, domains)]
            return max(signs) if min(signs) != _UNKNOWN else _UNKNOWN
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return min(_sign(left, domains), _sign(right, domains))
        case ast.BinOp(left=inside, op=ast.Pow()):
            return _sign(inside, domains)
        case ast.Call(func=ast.Name(id="root"), args=[inside, *_]):
            return _sign(inside, domains)
    return _UNKNOWN


def _proves(sequent: Sequent) -> bool | None:
    answers = (_Problem(sequent, options).proves(sequent.claim) for options in _ATTEMPTS)
    return next((answer for answer in answers if answer is not None), None)


def _satisfiable(sequent: Sequent) -> bool | None:
    answers = (_Problem(sequent, options).check() for options in _ATTEMPTS)
    return next((answer for answer in answers if answer is not None), None)


# The second process


_QUESTIONS = {"proves": _proves, "satisfiable": _satisfiable}
_process: list[subprocess.Popen[str]] = []  # the one that is running, if any
_one_at_a_time = Lock()
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl


@lru_cache(maxsize=4096)
def _asked(question: str, sequent: Sequent) -> bool | None:
    """The answer of the second process; None if it came to an end over this question."""
    with _one_at_a_time:
        process = _running()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([question, sequent.variables, sequent.given, sequent.claim]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            _stop()
            return None
    found = json.loads(answer)
    if isinstance(found, str):
        raise ValueError(found)
    return None if found is None else bool(found)


def _running() -> subprocess.Popen[str]:
    if _process and _process[0].poll() is not None:  # Linux ends it with the thread that has started it, too
        _stop()
    if not _process:
        command = [sys.executable, "-c", f"from theory.proofs import second; second.serve({os.getpid()}, {_SECONDS})"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        pipe = subprocess.PIPE
        _process.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment))
    return _process[0]


@atexit.register
def _stop() -> None:
    while _process:
        process = _process.pop()
        process.kill()
        process.communicate()


def serve(parent: int, seconds: int) -> None:
    """Answer the parent's questions on standard input, one a line; the system ends this process if one takes too long."""
    import resource  # not on every system; nothing else here needs it

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says what an interrupt means
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, most))
        question, variables, given, claim = json.loads(line)
        sequent = Sequent(tuple((name, domain) for name, domain in variables), tuple(given), claim)
        try:
            answer: bool | str | None = _QUESTIONS[question](sequent)
        except ValueError as error:
            answer = str(error)
        print(json.dumps(answer), flush=True)
