"""The line-by-line interpreter of listings, and the parts that the papers' listing checks share.

`Executor` runs the lines of `fedtheory.theory.listing`.  A paper adds its own actions, and rules for what server and
clients know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from itertools import product
from math import floor
from operator import add, mul, sub, truediv
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import Memory, class_of, keywords_of
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory.listing import (
    Call,
    Cases,
    Do,
    Each,
    End,
    Entry,
    Expression,
    For,
    Function,
    Gradient,
    If,
    Let,
    Line,
    Listing,
    Name,
    Number,
    Operation,
    Step,
    Test,
    Total,
)
from fedtheory.theory.statement import Statement, Status, Verdict

Vector = NDArray[Any]  # (d,), of floats or of fractions
At = Mapping[str, int]  # the values of the loops' variables
ROUNDING = 1e-12


class Undefined(ValueError):
    """A line cannot be executed; the message names the line and the reason."""


class Unreadable(ValueError):
    """A line in words for which the executor has no action."""


# ------------------------------------------------------------------------------------------------------------- blocks


@dataclass(frozen=True)
class Block:
    """A line, and the deeper lines below it."""

    line: Line
    body: tuple[Block, ...] = ()


def blocks(lines: Sequence[Line], depth: int = 0) -> tuple[Block, ...]:
    """The lines, nested by their depth.  Raises Undefined if the nesting is inconsistent."""
    found: list[Block] = []
    opened: Line | None = None  # a line whose `end` is still to come
    at = 0
    while at < len(lines):
        line = lines[at]
        below = at + 1
        while below < len(lines) and lines[below].depth > depth:
            below += 1
        body, first, last = lines[at + 1 : below], line.steps[0], line.steps[-1]
        if line.depth != depth or (body and not isinstance(last, For | Each | If | Function)):
            raise Undefined(f"line {line.number} does not have the depth of its block")
        if isinstance(last, Function) and depth:
            raise Undefined(f"line {line.number}: a function inside another block")
        opened = _still_open(opened, line, first)
        if _ends(last):
            opened = line
        found.append(Block(line, blocks(body, depth + 1)))
        at = below
    if opened:
        raise Undefined(f"line {opened.number}: the {_ends(opened.steps[-1])} that begins here does not end")
    return tuple(found)


def _ends(step: Step) -> str:
    """The word of the `end` that must follow a step, or an empty string."""
    if isinstance(step, For):
        return "for" if step.ends else ""
    if isinstance(step, If):
        return "" if step.then else "if"
    return "function" if isinstance(step, Function) else ""


def _still_open(opened: Line | None, line: Line, first: Step) -> Line | None:
    """The line still open after the first step of a line.  Raises Undefined for an `end` or `else` without a beginning."""
    word = _ends(opened.steps[-1]) if opened else ""
    if isinstance(first, End) or (isinstance(first, If) and first.otherwise):
        if word != (first.of if isinstance(first, End) else "if"):
            raise Undefined(f"line {line.number}: nothing is open that this line could end")
        return None
    if opened:
        raise Undefined(f"line {opened.number}: the {word} that begins here does not end")
    return None


# ----------------------------------------------------------------------------------------------------------- executor


class Place(NamedTuple):
    """The place of a value: the variable's name, its client (0: the server), its block, its indices.

    part  a block 1 ... N, "s" for the shared one, "" for all coordinates
    """

    name: str
    client: int = 0
    part: int | str = ""
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        client, part = f"_{self.client}" if self.client else "", f"_({self.part})" if self.part else ""
        return f"{self.name}{client}{part}^({','.join(map(str, self.at))})"


_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}
_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "=": lambda a, b: a == b, ">": lambda a, b: a > b,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"floor": floor, "max": max}


def _combined(sign: str, left: Any, right: Any) -> Any:
    if sign in "*/" and np.ndim(right) and (sign == "/" or np.ndim(left)):
        raise Undefined("a product of two vectors, or a quotient by one")
    if np.ndim(left) and np.ndim(right) and np.shape(left) != np.shape(right):
        raise Undefined("vectors of different blocks")
    return _OPERATIONS[sign](left, right)


@dataclass(kw_only=True)
class Executor:
    """Executes a listing.

    constants  the constants of the run, by name
    start    the first model, (d,)
    oracle   (client, point, round, local step) -> gradient; the exact one if the step is None
    number   the type for whole numbers: float or Fraction
    values   the values so far, by place
    """

    constants: Mapping[str, Any]
    start: Vector
    oracle: Callable[[int, Vector, int, Any], Vector]
    number: Callable[[int], Any] = float
    values: dict[Place, Any] = field(default_factory=dict)

    def run(self, listing: Listing) -> Self:
        """Execute it and return the executor.  Raises Undefined or Unreadable, naming the line."""
        self.execute(blocks(listing.lines), {})
        return self

    def execute(self, block: Sequence[Block], at: At) -> None:
        """Execute lines.  Raises Undefined or Unreadable, naming the line."""
        taken = False  # whether a branch of the `if` above has been executed
        for line in block:
            try:
                for step in line.line.steps:
                    if isinstance(step, If):
                        taken = taken and step.otherwise
                        chosen = not taken and (step.test is None or self.holds(step.test, at))
                        if chosen:
                            self.execute((Block(Line(line.line.number, 0, step.then)),) if step.then else line.body, at)
                        taken = taken or chosen
                    else:
                        self.step(step, line, at)
            except (Undefined, Unreadable) as error:
                told = str(error).startswith("line")
                raise error if told else type(error)(f"line {line.line.number}: {error}") from None

    def step(self, step: Step, block: Block, at: At) -> None:
        """Execute one step of a line, with the lines below it.  Raises Undefined or Unreadable."""
        if isinstance(step, For):
            values = range(self.index(step.first, at), self.index(step.last, at) + 1)
            # A parallel loop may run in any order: here backwards, so that no client can use values of the one before.
            for value in reversed(values) if step.parallel else values:
                self.execute(block.body, {**at, step.index.name: value})
                self.after(step, {**at, step.index.name: value})
        elif isinstance(step, Each):
            for client in reversed(self.members(step.over, at)):
                self.execute(block.body, {**at, step.index.name: client})
        elif isinstance(step, Let):
            index, over = step.each or (None, None)
            for client in self.members(over, at) if index and over else [0]:
                inside = {**at, index.name: client} if index else at
                self.put(step.target, self.of(step.value, inside), inside)
        elif isinstance(step, Do):
            action = getattr(self, f"do_{step.action}", None)
            if not action:
                raise Unreadable(f"cannot execute {str(step)!r}")
            action(at, *step.arguments)
        elif isinstance(step, Function):
            self.function(step, block)

    def do_note(self, at: At) -> None:
        """Words that compute nothing."""

    def after(self, loop: For, at: At) -> None:
        """Called after each pass of a loop."""

    def function(self, step: Function, block: Block) -> None:
        """Read the definition of a function.  Raises Unreadable."""
        raise Unreadable(f"cannot execute {str(step)!r}")

    # Values

    def put(self, target: Entry, value: Any, at: At) -> None:
        """Store a value; a number becomes the vector with this number in every coordinate."""
        self.values[self.place(target, at)] = value + 0 * self.start

    def read(self, place: Place) -> Any:
        """The value at a place.  Raises Undefined."""
        if place not in self.values:
            raise Undefined(f"{place} has no value")
        return self.values[place]

    def value(self, name: str, client: int, *at: int) -> Any:
        """The value of a variable of client 1, 2 ..., or of the server (0).  Raises Undefined."""
        return self.read(Place(name, client, "", at))

    def client(self, who: Expression | None, at: At) -> int:
        """The number of a client; 0 for the server.  Raises Undefined."""
        return 0 if who is None else self.index(who, at)

    def place(self, entry: Entry, at: At) -> Place:
        """The place of an entry.  Raises Undefined."""
        own, part = entry.variable, entry.variable.part
        block = "" if part is None else part if isinstance(part, str) else self.index(part, at)
        return Place(own.name, self.client(own.client, at), block, tuple(self.index(i, at) for i in entry.at))

    def members(self, over: Expression, at: At) -> Sequence[int]:
        """The clients of a set, or 1 ... n for a number n.  Raises Undefined."""
        return self.of(over, at) if isinstance(over, Entry) else range(1, self.index(over, at) + 1)

    def index(self, e: Expression, at: At) -> int:
        """An expression as an integer.  Raises Undefined."""
        if isinstance(e, Name) and e.name in at:
            return at[e.name]
        return int(self.of(e, at))

    def holds(self, test: Test, at: At) -> bool:
        """Whether a test holds.  Raises Undefined."""
        return _TESTS[test.relation](self.of(test.left, at), self.of(test.right, at))

    def of(self, e: Expression, at: At) -> Any:
        """The value of an expression.  Raises Undefined."""
        if isinstance(e, Number):
            return self.number(e.value)
        if isinstance(e, Name):
            return self.constant(e.name, at)
        if isinstance(e, Operation):
            return _combined(e.sign, self.of(e.left, at), self.of(e.right, at))
        if isinstance(e, Total):
            return sum(self.of(e.summand, {**at, e.index.name: i}) for i in self.members(e.over, at))
        if isinstance(e, Call):
            if e.name == "||":
                return self.number(len(self.members(e.arguments[0], at)))
            return self.call(e.name, [self.of(argument, at) for argument in e.arguments], at)
        if isinstance(e, Entry):
            return self.read(self.place(e, at))
        if isinstance(e, Gradient):
            return self.gradient(e, at)
        if isinstance(e, Cases):
            for value, test in e.cases:
                if self.holds(test, at):
                    return self.of(value, at)
            raise Undefined(f"none of the cases of {e} holds")
        raise Undefined(f"{e} has no value")

    def constant(self, name: str, at: At) -> Any:
        """The value of a loop variable or of a constant.  Raises Undefined."""
        if name in at:
            return self.number(at[name])
        if name not in self.constants:
            raise Undefined(f"{name} has no value")
        return self.constants[name]

    def call(self, name: str, arguments: list[Any], at: At) -> Any:
        """The value of a function.  Raises Undefined."""
        if name not in _FUNCTIONS:
            raise Undefined(f"{name} has no value here")
        return _FUNCTIONS[name](*arguments)

    def round(self, at: At) -> int:
        """The round.  Raises Undefined outside the loop over the rounds."""
        return self.index(Name("r"), at)

    def gradient(self, g: Gradient, at: At) -> Vector:
        """A gradient.  Raises Undefined."""
        step = None if g.step is None else self.index(g.step, at)
        return self.oracle(self.client(g.client, at), self.of(g.point, at), self.round(at), step)


T = TypeVar("T")


def executed(machine: Callable[[], T], run: object) -> T | Verdict:
    """The machine after the run, or the verdict on a listing that cannot be executed."""
    try:
        return machine()
    except (Undefined, Unreadable) as error:
        return stopped(run, error)


def stopped(run: object, error: ValueError) -> Verdict:
    """The verdict on a listing that cannot be executed."""
    if isinstance(error, Unreadable):
        return Verdict(Status.OPEN, str(error))
    return Verdict(Status.REFUTED, f"{run}: {error}", witness={"instance": str(run), "stops at": str(error)})


# ------------------------------------------------------------------------------------------ runs to compare with


@dataclass(frozen=True, eq=False)
class KnownDraws:
    """A run on a problem with known draws (seed 0), from the start (1, 1/2, 1/3 ...)."""

    problem: Problem
    eta: float = field(default=0.1, kw_only=True)
    rounds: int = field(default=3, kw_only=True)

    @property
    def start(self) -> Array:
        """The first model, (d,)."""
        return 1 / np.arange(1.0, self.problem.d + 1)

    def draws(self, r: int) -> Draws:
        """The randomness of a round."""
        return Draws.of_seeds(np.arange(1), r)

    def drawn(self, r: int, S: int) -> tuple[int, ...]:
        """The S participants of a round, numbered 1..M, in the order of the draw."""
        return tuple(int(m) + 1 for m in self.draws(r).order(self.problem.M, S)[0])

    def gradient(self, client: int, x: Any, r: int, step: int) -> Array:
        """The stochastic gradient of client 1..M at x, with the draws of a local step, 0, 1 ..., of a round."""
        who = np.array([client - 1])
        return np.asarray(self.problem.gradient(x[None, None], who, self.draws(r).of(who).step(step))[0, 0])

    def exact(self, client: int, x: Any, r: int, step: Any) -> Array:
        """The gradient of client 1..M at x."""
        return np.asarray(cast(Quadratic, self.problem).local_gradient(x[None, None], np.array([client - 1]))[0, 0])

    def models(self, algorithm: Any, watch: Callable[..., None] = lambda *_: None) -> list[Array]:
        """The models of an algorithm of `simulations`, before round 0 and after every round."""
        return [x for x, _ in self.implemented(algorithm, watch)]

    def implemented(self, algorithm: Any, watch: Callable[..., None] = lambda *_: None) -> list[tuple[Array, Memory]]:
        """The models, each with the memory of the algorithm."""
        found: list[tuple[Array, Memory]] = [(self.start, {})]
        eta, memory = np.full((1, 1, 1), self.eta), Memory()
        for r in range(self.rounds):
            x = found[-1][0][None, None]
            x = algorithm.round(self.problem, x, eta, self.draws(r), watch, memory)
            found.append((x[0, 0], {name: kept[0, 0] for name, kept in memory.items()}))
        return found


def difference(
    run: KnownDraws, algorithm: Any, states: Iterable[tuple[str, int, Vector]],
    implemented: Sequence[tuple[Array, Memory]], model: str, first: int = 0, **settings: Any,
) -> Verdict | None:  # fmt: skip
    """The verdict on a listing that differs from an implementation in a run; None for one that does not.

    states  (variable, number of rounds done, value); `model` is the model's name, all others are memories, which begin at 0
    first   the number of rounds done after round 0
    """
    for name, r, value in states:
        x, memory = implemented[r]
        expected = x if name == model else memory.get(name, np.zeros_like(value))
        if not np.abs(value - expected).max() <= ROUNDING:
            witness = {"problem": run.problem.provenance, "run": str(run), "eta": run.eta, **settings, "round": r - first,
                       f"{name} of the listing": value.tolist(),
                       f"{name} of {type(algorithm).__name__}": expected.tolist()}  # fmt: skip
            return Verdict(Status.REFUTED, f"{run}: {name} differs in round {r - first}", witness=witness)
    return None


def first_apart(one: Sequence[Vector], other: Sequence[Vector]) -> int | None:
    """The first place at which two series of vectors differ; None if there is none."""
    return next(
        (r for r, (a, b) in enumerate(zip(one, other, strict=True)) if not np.abs(a - b).max() <= ROUNDING), None
    )


@dataclass(frozen=True)
class Parabola:
    """f(x) = (curvature / 2) sum over the coordinates of (x - minimiser)^2, in fractions."""

    curvature: Fraction
    minimiser: Fraction

    def gradient(self, x: Any) -> Any:
        """Its gradient, coordinate by coordinate."""
        return self.curvature * (x - self.minimiser)


def parabolas(*curvature_and_minimiser: tuple[Any, Any]) -> tuple[Parabola, ...]:
    """Parabolas by their curvatures and minimisers."""
    return tuple(Parabola(Fraction(h), Fraction(a)) for h, a in curvature_and_minimiser)


def mean_of(clients: Sequence[Parabola]) -> Parabola:
    """The mean of the functions, up to a constant."""
    h = mean(p.curvature for p in clients)
    return Parabola(h, mean(p.curvature * p.minimiser for p in clients) / h)


def described(clients: Iterable[Parabola]) -> dict[str, str]:
    """The clients' functions, for a witness."""
    every = list(clients)
    return {
        "curvatures": ", ".join(str(p.curvature) for p in every),
        "minimisers": ", ".join(str(p.minimiser) for p in every),
    }


def mean(numbers: Iterable[Any]) -> Any:
    """The exact mean of the numbers."""
    every = list(numbers)
    return sum(every) / Fraction(len(every))


# ------------------------------------------------------------------------------- papers outside: a listing, a `round`


_OF = {"rounds": 3, "clients": 3, "steps": 2}


def round_or_lines(statement: Statement, full: bool, *, algorithms: Mapping[str, Any]) -> Verdict:
    """The printed lines of a paper outside, executed on quadratics without noise, against the `round` of its algorithms.

    All clients take part.  The real settings that the lines read, but eta, have their defaults, then other numbers.

    tested if one algorithm makes the same models; error if none does: then the lines or the code are wrong.  open if a
    line cannot be executed: then nobody has compared them.
    """
    claim = statement.claim_of(Listing)
    run = KnownDraws(generate(2, _OF["clients"], L=1.0, mu=0.2, zeta_star=1.0, delta=0.3), rounds=_OF["rounds"])
    models = _models(claim)
    if not models or not algorithms:
        return Verdict(Status.OPEN, "no line sets the model of the next round, or the paper has no algorithm")
    differs, unread = dict[str, str](), dict[str, str]()  # algorithm -> what is said of it
    for (name, algorithm), model in product(algorithms.items(), models):
        own = _instance(algorithm, run.eta)
        try:
            read, apart = _compared(claim, model, run, own)
            other = _other_settings(own, read)
            apart = apart or ("" if other is None else _compared(claim, model, run, other)[1])
        except (Undefined, Unreadable) as error:
            unread.setdefault(name, f"the lines are not compared with {name}: {error}")
            continue
        if not apart:
            says = (
                f"the lines, executed on three quadratics without noise and with all clients, make the models of {name}"
            )
            return Verdict(Status.TESTED, says)
        differs.setdefault(name, apart)
    if more := [says for name, says in unread.items() if name not in differs]:
        return Verdict(Status.OPEN, "; ".join(more))
    return Verdict(Status.ERROR, f"{statement.id}: {'; '.join(differs.values())}")


def _other_settings(own: Any, read: Mapping[str, Any]) -> Any | None:
    """An algorithm with another number for each real setting that is read, but eta; None where it takes no others."""
    real = [n for n, value in read.items() if isinstance(value, float) and n != "eta"]
    others = {n: (0.7 - 0.1 * i / len(real)) * read[n] or 0.3 + 0.1 * i / len(real) for i, n in enumerate(real)}
    try:
        return replace(own, **others) if others else None
    except ValueError:
        return None


def _compared(listing: Listing, model: str, run: KnownDraws, own: Any) -> tuple[dict[str, Any], str]:
    """The settings of an algorithm that the lines read, and where they differ from its models; empty where they do not.

    Raises Undefined or Unreadable for lines that cannot be executed.
    """
    settings = {f.name: getattr(own, f.name) for f in fields(own)}
    constants = _Constants(settings, M=run.problem.M, R=run.rounds, S=own.participants(run.problem))
    start = {Place(model, 0, "", (0,)): run.start}
    machine = Executor(constants=constants, start=run.start, oracle=run.exact, values=start).run(listing)
    printed, code = [machine.value(model, 0, r) for r in range(run.rounds + 1)], run.models(own)
    read = {n: settings[n] for n in constants.read if n in settings}
    if (r := first_apart(printed, code)) is None:
        return read, ""
    at = "".join(f", {n} = {value:g}" for n, value in read.items() if isinstance(value, float) and n != "eta")
    return read, (
        f"after round {r}{at} the lines have {model} = {printed[r]}, the round of {type(own).__name__} has {code[r]}"
    )


class _Constants(dict[str, Any]):
    """The constants of a run; it notes which ones are read."""

    def __init__(self, *several: Any, **more: Any) -> None:
        super().__init__(*several, **more)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = None
        return super().__getitem__(name)


def _models(listing: Listing) -> list[str]:
    """The variables of the server that lines set, the last one first: one is the model of the next round."""
    steps = (step for line in listing.lines for step in line.steps)
    names = [s.target.variable.name for s in steps if isinstance(s, Let) and s.target.variable.client is None]
    return list(dict.fromkeys(reversed(names)))


def _instance(algorithm: Any, eta: float) -> Any:
    """An algorithm with two of everything that it needs, and this step size."""
    chosen = keywords_of(algorithm)
    required = [
        f for f in fields(class_of(algorithm)) if f.default is MISSING and f.default_factory is MISSING and f.init
    ]
    needed = [f.name for f in required if f.name not in chosen]
    return algorithm(**{name: eta if name.startswith("eta") else _OF["steps"] for name in needed})
