"""The listing of Algorithm 1, carried out as it stands, in floating point.

Its lines are sentences; those that name an equation, (11) to (14), hand over to the relations of the catalogue: (14) to
the corrected ones, as by (10) it is alpha_e that is learned.  mhat_{t,s} = S(m_{t,s}, alpha_{t,s}), the third relation of
(14), has the noise of step s.  A client's state is what its lines have given a value; so is the server's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from bounds.fedbat.checks.replay import evaluated
from bounds.trials.cases import relations
from bounds.trials.listings import Undefined, Unreadable
from bounds.trials.problems import Client
from simulations.algorithms.fedbat import Layers
from simulations.binarisation import binarise, derivatives
from simulations.problems import Array
from theory import catalogue
from theory.statement import Listing

# ---------------------------------------------------------------------------------------------------- the lines


@dataclass(frozen=True)
class Block:
    """A line that opens something, and what stands inside; an `if` also has what comes `otherwise`."""

    number: int
    text: str
    body: tuple[Block, ...] = ()
    otherwise: tuple[Block, ...] = ()


def blocks(listing: Listing) -> tuple[Block, ...]:
    """The lines, nested by their words: function, for, if ... end.  Raises Undefined where they do not fit together."""
    rest = list(_sentences(listing))[::-1]
    found = tuple(_inside(rest, ""))
    if rest:
        raise Undefined(f"line {rest[-1][0]}: nothing is open that it could end")
    return found


def _sentences(listing: Listing) -> Iterator[tuple[int, str]]:
    """One sentence after another: a line may hold two, the second from "; if" on."""
    for number, line in listing.lines:
        first, semicolon, second = line.strip().partition("; if ")
        yield number, first
        if semicolon:
            yield number, f"if {second}"


_ENDS = ("end ", "else")


def _inside(rest: list[tuple[int, str]], opener: str) -> Iterator[Block]:
    """What stands inside, up to the word that ends it, which stays."""
    while rest and not rest[-1][1].startswith(_ENDS):
        number, text = rest.pop()
        word = text.split()[0]
        if word == "function" and opener:
            raise Undefined(f"line {number}: a function inside another thing")
        if word in ("function", "for"):
            body = tuple(_inside(rest, word))
            _close(rest, word, number)
            yield Block(number, text, body)
        elif word == "if" and text.endswith(" then"):
            yield _branches(rest, number, text)
        else:
            yield Block(number, text)


def _close(rest: list[tuple[int, str]], word: str, number: int) -> None:
    if not rest or rest[-1][1] != f"end {word}":
        raise Undefined(f"line {number}: the {word} that begins here does not end")
    rest.pop()


def _branches(rest: list[tuple[int, str]], number: int, text: str) -> Block:
    body = tuple(_inside(rest, "if"))
    otherwise: tuple[Block, ...] = ()
    if rest and rest[-1][1].startswith("else if "):
        again, condition = rest.pop()
        return Block(number, text, body, (_branches(rest, again, condition.removeprefix("else ")),))
    if rest and rest[-1][1] == "else":
        rest.pop()
        otherwise = tuple(_inside(rest, "if"))
    _close(rest, "if", number)
    return Block(number, text, body, otherwise)


# ---------------------------------------------------------------------------------------------------- the equations


def _right(id_: str, index: int = 0) -> Any:
    """The right side of a relation of the catalogue."""
    return relations(catalogue.find(f"fedbat.{id_}").claim)[index].args[1]


@dataclass(frozen=True)
class World:
    """What a run needs besides the listing.

    problem   its layers and shares
    counts    R and tau;  phi, rho, and the learning rate
    sample    round -> clients 0 ... N - 1 that take part
    gradient  (client, point, round, step) -> stochastic gradient
    zeta      (client, round, step) -> the noise of the binarisation
    """

    problem: Any
    start: Array
    R: int
    tau: int
    phi: Fraction
    rho: float
    eta: float
    sample: Callable[[int], Sequence[int]]
    gradient: Callable[[int, Array, int, int], Array]
    zeta: Callable[[int, int, int], Array]

    @property
    def letters(self) -> dict[str, Any]:
        """The inputs by name."""
        return {"R": self.R, "tau": self.tau, "phi": self.phi, "rho": self.rho}


@dataclass
class Local:
    """A client in a round.

    w      what the server sent; None before line 11
    m      m_{t,s} by s;  initial, alpha  alpha', and alpha_{t,s} by s, a number a layer
    """

    client: int
    r: int
    sent: Array
    w: Array | None = None
    m: dict[int, Array] = field(default_factory=dict)
    initial: Array | None = None
    alpha: dict[int, Array] = field(default_factory=dict)
    result: tuple[Array, Array] | None = None
    message: tuple[Array, Array] | None = None


# ---------------------------------------------------------------------------------------------------- the machine

_NUMBER = re.compile(r"\d+")
_LESS = re.compile(r"(\w+)([-+])(\d+)")
_LOOP = re.compile(r"for (\w) = (\S+) to (\S+) do")
_TEST = re.compile(r"if (\w+) (<=|<|=) (.+?) then(?: (.+))?")
_RESULT = re.compile(r"mbar\^k_\{t\+1\}, alpha\^k_\{t\+1\} = mbar\^k_\{t,(\S+?)\}, alpha\^k_\{t,(\S+?)\}\.")
_FUNCTION = re.compile(r"function (\w+)\((.*)\)")
_INPUT = re.compile(r"\b(R|tau|phi|rho)\b(?=[;,.])")


@dataclass
class Machine:
    """Carries out the listing.  `models` are w_0, w_1 ... of the rounds, `asked` where gradients were taken, in order."""

    world: World
    models: list[Array] = field(default_factory=list)
    asked: list[tuple[int, int, int, Array]] = field(default_factory=list)  # round, client, step, point
    declared: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Block] = field(default_factory=dict)
    model: Array | None = None
    sent: Array | None = None
    updates: dict[int, Array] = field(default_factory=dict)

    def run(self, listing: Listing) -> Machine:
        """Carry it out and return the machine.  Raises Undefined or Unreadable, naming the line."""
        for block in blocks(listing):
            self._at(block, self._outside, block)
        if "server" not in self.functions:
            raise Undefined("there is no function server")
        self._call("server", Local(-1, -1, self.world.start))
        return self

    def _at(self, block: Block, do: Callable[..., None], *arguments: Any) -> None:
        try:
            do(*arguments)
        except (Undefined, Unreadable) as error:
            raise error if str(error).startswith("line") else type(error)(f"line {block.number}: {error}") from None

    def _outside(self, block: Block) -> None:
        """Inputs, and the functions, which are kept."""
        if function := _FUNCTION.fullmatch(block.text):
            self.functions[function[1]] = block
        elif block.text.startswith("Input: "):
            self.declared |= {name: self.world.letters[name] for name in _INPUT.findall(block.text)}
        else:
            raise Undefined(f"{block.text!r} stands in no function")

    def _call(self, name: str, local: Local) -> Local:
        """A function, with the inputs that it is given by name."""
        if name not in self.functions:
            raise Undefined(f"there is no function {name}")
        block = self.functions[name]
        found = _FUNCTION.fullmatch(block.text)
        assert found
        given = [g.strip() for g in found[2].split(",")]
        missing = [g for g in given if g != "w_t" and g not in self.declared]
        if missing:
            raise Undefined(f"{', '.join(missing)} of {name} has no value")
        self._execute(block.body, {g: self.declared[g] for g in given if g != "w_t"}, local)
        return local

    def _execute(self, body: Sequence[Block], at: Mapping[str, Any], local: Local) -> None:
        for block in body:
            self._at(block, self._carry_out, block, at, local)

    def _carry_out(self, block: Block, at: Mapping[str, Any], local: Local) -> None:
        if loop := _LOOP.fullmatch(block.text):
            for value in range(self._whole(loop[2], at), self._whole(loop[3], at) + 1):
                self._execute(block.body, {**at, loop[1]: value}, local)
                if local.client < 0 and self.model is not None:
                    self.models.append(self.model)
        elif test := _TEST.fullmatch(block.text):
            left, right = self._whole(test[1], at), self._whole(test[3], at)
            holds = {"<": left < right, "<=": left <= right, "=": left == right}[test[2]]
            if test[4]:
                body: tuple[Block, ...] = (Block(block.number, test[4]),) if holds else ()
            else:
                body = block.body if holds else block.otherwise
            self._execute(body, at, local)
        else:
            self._sentence(block.text, at, local)

    def _whole(self, text: str, at: Mapping[str, Any]) -> Any:
        """A number: digits, a letter, a letter plus or minus a number, floor(a*b), max(a, b)."""
        if _NUMBER.fullmatch(text):
            return int(text)
        if text in at:
            return at[text]
        if found := _LESS.fullmatch(text):
            return self._whole(found[1], at) + int(found[2] + found[3])
        if text.startswith("floor(") and text.endswith(")"):
            a, _, b = text[6:-1].partition("*")
            return floor(self._whole(a, at) * self._whole(b, at))
        if text.startswith("max(") and text.endswith(")"):
            a, _, b = text[4:-1].partition(", ")
            return max(self._whole(a, at), self._whole(b, at))
        if re.fullmatch(r"\w+", text):
            raise Undefined(f"{text} has no value")
        raise Unreadable(f"cannot read {text!r}")

    def _sentence(self, text: str, at: Mapping[str, Any], local: Local) -> None:
        server = local.client < 0
        if result := _RESULT.fullmatch(text):
            mhat, alpha = (self._whole(index, at) for index in result.groups())
            local.result = self._binarised(mhat, at, local), self._value(local.alpha, "alpha", alpha)
            return
        sentences: list[tuple[str, bool, Callable[[], None]]] = [
            (r"Initialize global model parameters with w_0\.", True, self._begin),
            (r"Send global model parameters w_t to clients\.", True, self._send),
            (r"Get model updates \(mbar_\{t\+1\}, alpha_\{t\+1\}\) from clients\.", True, lambda: self._get(at)),
            (r"Aggregate binary model updates by Eq\.11\.", True, lambda: self._aggregate(at)),
            (r"Initialize local model parameters with w_t\.", False, lambda: self._load(local)),
            (r"Initialize local model updates m_t with zeros\.", False, lambda: self._zeros(local)),
            (r"Run full-precision training by Eq\.12\.", False, lambda: self._warm(at, local)),
            (r"initialize the step size layer-wise by Eq\.13\.?", False, lambda: self._step_size(local)),
            (r"Run binarization-aware training by Eq\.14\.", False, lambda: self._aware(at, local)),
            (r"Send binary model updates \(mbar\^k_\{t\+1\}, alpha\^k_\{t\+1\}\) to server\.", False,
             lambda: self._answer(local)),
        ]  # fmt: skip
        for pattern, of_server, do in sentences:
            if re.fullmatch(pattern, text, re.IGNORECASE):
                if of_server != server:
                    raise Undefined(f"{text!r} is not for {'the server' if server else 'a client'}")
                do()
                return
        raise Unreadable(f"cannot read {text!r}")

    # The server

    def _begin(self) -> None:
        self.model = self.world.start
        self.models = self.models or [self.model]

    def _model(self) -> Array:
        if self.model is None:
            raise Undefined("w_t has no value")
        return self.model

    def _send(self) -> None:
        self.sent = self._model()

    def _get(self, at: Mapping[str, Any]) -> None:
        if self.sent is None:
            raise Undefined("nothing has been sent to the clients")
        r = self._whole("t", at)
        self.updates = {}
        for client in self.world.sample(r):
            local = self._call("client", Local(client, r, self.sent))
            if local.message is None:
                raise Undefined(f"client {client + 1} has sent nothing")
            self.updates[client] = local.message[0]

    def _aggregate(self, at: Mapping[str, Any]) -> None:
        if not self.updates:
            raise Undefined("no update has arrived")
        shares = getattr(self.world.problem, "weights", None)
        p = np.array([1.0 if shares is None else shares[client] for client in self.updates])
        values = {
            "w_t": self._model(),
            "p_prime": list(p / p.sum()),
            "m_hat_i": list(self.updates.values()),
            "K": len(p),
        }
        self.model = evaluated(_right("eq11"), values)

    # A client

    def _load(self, local: Local) -> None:
        local.w = local.sent

    def _zeros(self, local: Local) -> None:
        local.m = {0: np.zeros_like(self.world.start)}

    def _value(self, kept: Mapping[int, Array], name: str, s: int) -> Array:
        if s not in kept:
            raise Undefined(f"{name}_{{t,{s}}} has no value")
        return kept[s]

    def _keep(self, kept: dict[int, Array], name: str, s: int, value: Array) -> None:
        if s in kept:
            raise Undefined(f"{name}_{{t,{s}}} has a value already: two steps in one")
        kept[s] = value

    def _oracle(self, s: int, local: Local) -> Callable[[Any], Array]:
        """The stochastic gradient of the client at step s, written down where it is asked for."""

        def gradient(x: Any) -> Array:
            self.asked.append((local.r, local.client, s, np.array(x)))
            return self.world.gradient(local.client, x, local.r, s)

        return gradient

    def _loaded(self, local: Local) -> Array:
        if local.w is None:
            raise Undefined("the client has no model")
        return local.w

    def _warm(self, at: Mapping[str, Any], local: Local) -> None:
        s = self._whole("s", at)
        known = {"m_s": self._value(local.m, "m", s), "w_t": self._loaded(local), "eta_t": self.world.eta,
                 "F_k": Client(lambda _: 0.0, self._oracle(s, local))}  # fmt: skip
        self._keep(local.m, "m", s + 1, evaluated(_right("eq12"), known))

    def _step_size(self, local: Local) -> None:
        if not local.m:
            raise Undefined("m_t has no value")
        last = max(local.m)
        sizes = []
        for part in self.world.problem.blocks.values():
            layer = local.m[last][part]
            sizes.append(evaluated(_right("eq13"), {"m_i": layer.tolist(), "d_l": len(layer)}))
        local.initial = np.array(sizes)
        local.alpha = {last: local.initial}

    def _binarised(self, s: int, at: Mapping[str, Any], local: Local) -> Array:
        m, alpha = self._value(local.m, "m", s), self._value(local.alpha, "alpha", s)
        return binarise(m, Layers(self.world.problem).spread(alpha), self.world.zeta(local.client, local.r, s))

    def _aware(self, at: Mapping[str, Any], local: Local) -> None:
        s, layers = self._whole("s", at), Layers(self.world.problem)
        m, alpha = self._value(local.m, "m", s), self._value(local.alpha, "alpha", s)
        g = self._oracle(s, local)(self._loaded(local) + self._binarised(s, at, local))
        by_m, by_alpha = derivatives(m, layers.spread(alpha), self.world.zeta(local.client, local.r, s))
        values = {"m_s": m, "by_m": g * by_m, "eta_t": self.world.eta, "rho": self._whole("rho", at)}
        self._keep(local.m, "m", s + 1, evaluated(_right("eq14.corrected"), values))
        slopes = zip(alpha.tolist(), layers.sum(g * by_alpha).tolist(), strict=True)
        learned = [{**values, "alpha_s": own, "by_alpha": slope} for own, slope in slopes]
        self._keep(local.alpha, "alpha", s + 1, np.array([evaluated(_right("eq14.corrected", 1), v) for v in learned]))

    def _answer(self, local: Local) -> None:
        if local.result is None:
            raise Undefined("mbar^k_{t+1} has no value")
        local.message = local.result


__all__ = ["Block", "Machine", "World", "blocks"]
