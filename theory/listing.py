"""Algorithms as structured lines: `str` prints a line, `fedtheory.bounds.trials.listings` executes it.

    Line(5, 2, For(c, 0, tau - 1))
    Line(6, 3, Let(w_j[c + 1, r], w_j[c, r] - eta * (g_j - delta_j[r])))

print as

    5     for c = 0, ..., tau-1 do
    6       w_j^(c+1,r) = w_j^(c,r) - eta (g_j - delta_j^(r))

Expressions keep the printed order.  An integer may stand for a `Number`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

_SUM, _PRODUCT, _ATOM = range(3)  # how tightly an expression binds


class Expression:
    """A right side, or an index."""

    def __add__(self, other: Expression | int) -> Operation:
        return Operation("+", self, expression(other))

    def __sub__(self, other: Expression | int) -> Operation:
        return Operation("-", self, expression(other))

    def __mul__(self, other: Expression | int) -> Operation:
        return Operation("*", self, expression(other))

    def __truediv__(self, other: Expression | int) -> Operation:
        return Operation("/", self, expression(other))

    def __rtruediv__(self, other: int) -> Operation:
        return Operation("/", expression(other), self)

    def __rmul__(self, other: int) -> Operation:
        return Operation("*", expression(other), self)

    def __radd__(self, other: int) -> Operation:
        return Operation("+", expression(other), self)

    @property
    def binds(self) -> int:
        """How tightly it binds: an operand that binds less than its surroundings gets parentheses."""
        return _ATOM


@dataclass(frozen=True)
class Number(Expression):
    """A whole number."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Name(Expression):
    """A constant of the run, or the variable of a loop."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Operation(Expression):
    """left + - * / right."""

    sign: str
    left: Expression
    right: Expression

    @property
    def binds(self) -> int:
        """As a sum or as a product."""
        return _SUM if self.sign in "+-" else _PRODUCT

    def __str__(self) -> str:
        blank = "" if _scalar(self) else " "
        between = " " if self.sign == "*" else f"{blank}{self.sign}{blank}"
        left, right = (_in_parentheses(part, self, first) for part, first in ((self.left, True), (self.right, False)))
        return f"{left}{between}{right}"


def _scalar(e: Expression) -> bool:
    """Whether it has only numbers, symbols and functions other than Q: an index, or a factor."""
    if isinstance(e, Operation):
        return _scalar(e.left) and _scalar(e.right)
    return isinstance(e, Number | Name | Call) and (not isinstance(e, Call) or e.name != "Q")


def _in_parentheses(part: Expression, whole: Operation, first: bool) -> str:
    """An operand, in parentheses if it needs them; a fraction that is a factor gets them, too: (1/m) x."""
    sign = part.sign if isinstance(part, Operation) else ""
    factor = whole.sign == "*" and (sign == "*" or isinstance(part, Total))
    needed = part.binds < whole.binds or (part.binds == whole.binds and not first and not factor)
    return f"({part})" if needed or (whole.sign == "*" and sign == "/") else str(part)


@dataclass(frozen=True)
class Total(Expression):
    """sum_index summand, the index over 1 ... `over`, or over the clients of a set."""

    index: Name
    over: Expression
    summand: Expression

    @property
    def binds(self) -> int:
        """As a product."""
        return _PRODUCT

    def __str__(self) -> str:
        inside = f"({self.summand})" if self.summand.binds < _PRODUCT else str(self.summand)
        return f"sum_{self.index} {inside}"


@dataclass(frozen=True)
class Call(Expression):
    """A function: Q, floor, max, or || for the number of clients in a set."""

    name: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        if self.name == "||":
            return f"|{self.arguments[0]}|"
        return f"{self.name}({', '.join(map(str, self.arguments))})"


def call(name: str, *arguments: Expression | int) -> Call:
    """name(arguments)."""
    return Call(name, tuple(map(expression, arguments)))


@dataclass(frozen=True)
class Variable:
    """A variable of the server or of a client.

    written  the printed form, with {client}, {block}, the indices {0}, {1} ..., or {up} for all indices in a superscript
    client   the client that has it; None for the server
    part     a block 1 ... N, "s" for the shared block, None for all coordinates
    """

    name: str
    written: str
    client: Expression | None = None
    part: Expression | str | None = None

    def __getitem__(self, at: Any) -> Entry:
        return Entry(self, tuple(map(expression, at if isinstance(at, tuple) else (at,))))

    @property
    def kept(self) -> Entry:
        """The variable without an index."""
        return Entry(self, ())

    def of(self, client: Expression) -> Variable:
        """The same variable of another client."""
        return replace(self, client=client)

    def block(self, part: Expression | str) -> Variable:
        """A block of the variable."""
        return replace(self, part=part)


@dataclass(frozen=True)
class Entry(Expression):
    """A variable at its indices."""

    variable: Variable
    at: tuple[Expression, ...]

    def __str__(self) -> str:
        own, at = self.variable, [str(index) for index in self.at]
        up = at[0] if len(at) == 1 and at[0].isalnum() else f"({','.join(at)})"
        written = own.written if at else own.written.removesuffix("^{up}")
        block = "" if own.part is None else f"({own.part})"
        if block and own.client is None:
            block = "_s" if own.part == "s" else f"_{block}"
        return written.format(*at, up=up, client=own.client, block=block)


@dataclass(frozen=True)
class Gradient(Expression):
    """The gradient of a client's function at a point, on the mini-batch of a local step; exact where `step` is None."""

    client: Expression
    point: Entry
    step: Expression | None
    written: str

    def __str__(self) -> str:
        return self.written


@dataclass(frozen=True)
class Test:
    """left <, <=, =, > right."""

    left: Expression
    relation: str
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


def test(left: Expression | int, relation: str, right: Expression | int) -> Test:
    """left relation right."""
    return Test(expression(left), relation, expression(right))


@dataclass(frozen=True)
class Cases(Expression):
    """The first value whose test holds."""

    cases: tuple[tuple[Expression, Test], ...]

    def __str__(self) -> str:
        return ", ".join(f"{value} if {test}" for value, test in self.cases)


@dataclass(frozen=True)
class Joined(Expression):
    """The server's blocks 1 ... N and the shared block as one vector."""

    blocks: Entry
    shared: Entry

    def __str__(self) -> str:
        first, last = (
            replace(self.blocks, variable=self.blocks.variable.block(part)) for part in (Number(1), Name("N"))
        )
        return f"[{first}; ...; {last}; {self.shared}]"


def expression(e: Expression | int) -> Expression:
    """An expression, or an integer as a `Number`.  Raises TypeError for any other type."""
    if not isinstance(e, int | Expression):
        raise TypeError(f"{e!r} in a listing: expected a whole number or an expression of fedtheory.theory.listing")
    return Number(e) if isinstance(e, int) else e


def names(names: str) -> tuple[Name, ...]:
    """Symbols from their names, separated by blanks."""
    return tuple(map(Name, names.split()))


# ------------------------------------------------------------------------------------------------------------- steps


@dataclass(frozen=True)
class For:
    """A loop over integers; a parallel loop may run in any order."""

    index: Name
    first: Expression
    last: Expression
    written: str
    parallel: bool
    ends: bool  # whether a line `End("for")` closes it

    def __str__(self) -> str:
        return self.written.format(index=self.index, first=self.first, last=self.last)


def loop(
    index: Name,
    first: Expression | int,
    last: Expression | int,
    written: str = "for {index} = {first}, ..., {last} do",
    *,
    parallel: bool = False,
    ends: bool = False,
) -> For:
    """A loop, as the paper writes it."""
    return For(index, expression(first), expression(last), written, parallel, ends)


@dataclass(frozen=True)
class Each:
    """A parallel loop over clients: the clients of a set, or 1 ... `over`."""

    index: Name
    over: Expression

    def __str__(self) -> str:
        return f"for each client {self.index} in {members(self.over)} do in parallel"


def members(over: Expression) -> str:
    """A set of clients, or [m] for 1 ... m."""
    return str(over) if isinstance(over, Entry) else f"[{over}]"


@dataclass(frozen=True)
class Let:
    """target = value; with `each`, for every client 1 ... of the given number.

    words  the paper's words before it
    """

    target: Entry
    value: Expression
    each: tuple[Name, Expression] | None = None
    words: str = ""

    def __str__(self) -> str:
        each = f" for each client {self.each[0]} in {members(self.each[1])}" if self.each else ""
        return f"{self.words}{self.target} = {self.value}{each}"


def let(target: Entry, value: Expression | int, *, each: tuple[Name, Expression] | None = None, words: str = "") -> Let:
    """target = value."""
    return Let(target, expression(value), each, words)


@dataclass(frozen=True)
class Do:
    """An action in the paper's words, with {0}, {1} ... for its arguments.

    action  the name of the executor's action: "note" does nothing, "" cannot be executed
    """

    action: str
    written: str
    arguments: tuple[Expression | Let, ...] = ()

    def __str__(self) -> str:
        return self.written.format(*self.arguments)


def do(action: str, written: str, *arguments: Expression | Let | int) -> Do:
    """An action with arguments."""
    return Do(action, written, tuple(a if isinstance(a, Let) else expression(a) for a in arguments))


@dataclass(frozen=True)
class If:
    """Lines for the case that a test holds.

    test       None if the lines are for all other cases
    otherwise  whether it is an `else` of another `if`
    then       an action in the same line, instead of lines
    """

    test: Test | None
    otherwise: bool = False
    then: Do | None = None

    def __str__(self) -> str:
        condition = "" if self.test is None else f"if {self.test} then"
        words = ("else" if self.otherwise else "", condition, "" if self.then is None else str(self.then))
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class Function:
    """A function with its inputs."""

    name: str
    inputs: tuple[Name, ...]

    def __str__(self) -> str:
        return f"function {self.name}({', '.join(map(str, self.inputs))})"


@dataclass(frozen=True)
class End:
    """The end of a for, an if or a function."""

    of: str

    def __str__(self) -> str:
        return f"end {self.of}"


Step = For | Each | Let | Do | If | Function | End


@dataclass(frozen=True, init=False)
class Line:
    """A numbered line: its depth, from 0, and its steps in order."""

    number: int
    depth: int
    steps: tuple[Step, ...]

    def __init__(self, number: int, depth: int, *steps: Step) -> None:
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "steps", steps)

    def __str__(self) -> str:
        return "  " * self.depth + "; ".join(map(str, self.steps))

    @property
    def idle(self) -> bool:
        """Whether it does nothing: a remark."""
        return all(isinstance(step, Do) and step.action == "note" for step in self.steps)

    def commutes(self, other: Line) -> bool:
        """Whether the two lines, which follow each other, may change places: remarks, and equations of other variables."""
        if self.depth != other.depth or not all(isinstance(s, Do | Let) for s in (*self.steps, *other.steps)):
            return False
        if self.idle or other.idle:
            return True
        if not all(isinstance(step, Let) for step in (*self.steps, *other.steps)):
            return False
        (own, reads), (others, theirs) = (_variables(line.steps) for line in (self, other))
        return not (own & (others | theirs) or reads & others)


def _variables(steps: tuple[Step, ...]) -> tuple[set[str], set[str]]:
    """The names of the variables that equations set, and of those that they read, in indices too."""
    equations = [step for step in steps if isinstance(step, Let)]
    read = [(step.target.variable, step.target.at, step.value, step.each) for step in equations]
    return {step.target.variable.name for step in equations}, {e.variable.name for e in _entries(tuple(read))}


def _entries(e: Any) -> Iterator[Entry]:
    """The entries of variables in an expression."""
    if isinstance(e, Entry):
        yield e
    if isinstance(e, tuple):
        for part in e:
            yield from _entries(part)
    elif is_dataclass(e) and not isinstance(e, type):
        for part in fields(e):
            yield from _entries(getattr(e, part.name))


@dataclass(frozen=True)
class Listing:
    """An algorithm's lines.  Raises ValueError for something else, and for two lines of one number."""

    lines: tuple[Line, ...]

    def __post_init__(self) -> None:
        if wrong := [line for line in self.lines if not isinstance(line, Line)]:
            raise ValueError(f"{wrong[0]!r} in a listing: expected lines")
        numbers = [line.number for line in self.lines]
        if twice := [n for n in numbers if numbers.count(n) > 1]:
            raise ValueError(f"two lines {twice[0]} in a listing: expected different numbers")

    def __getitem__(self, number: int) -> Line:
        """The line with this number.  Raises KeyError."""
        return {line.number: line for line in self.lines}[number]

    def having(self, *lines: Line) -> Listing:
        """The listing with these lines instead of its lines with the same numbers."""
        new = {line.number: line for line in lines}
        return Listing(tuple(new.get(line.number, line) for line in self.lines))


def turned(e: Any) -> Any:
    """A line, a step or an expression; minus becomes plus on right sides, but not in indices and factors."""
    if isinstance(e, Operation) and not _scalar(e):
        return Operation("+" if e.sign == "-" else e.sign, turned(e.left), turned(e.right))
    if isinstance(e, Line):
        return Line(e.number, e.depth, *map(turned, e.steps))
    if isinstance(e, tuple):
        return tuple(map(turned, e))
    if isinstance(e, Let):
        return replace(e, value=turned(e.value))
    if isinstance(e, Do | Call):
        return replace(e, arguments=turned(e.arguments))
    return replace(e, summand=turned(e.summand)) if isinstance(e, Total) else e
