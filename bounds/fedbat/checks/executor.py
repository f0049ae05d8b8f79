"""The executor of Algorithm 1, in floating point.

Its lines are sentences.  A line that names an equation, (11) to (14), is executed by the relations of the catalogue.  (14)
can be read in two ways: by (10) the learned parameter is alpha_e (`fedbat.eq14.corrected`); as printed, alpha itself takes
the step.  mhat_{t,s} = S(m_{t,s}, alpha_{t,s}), the third relation of (14), has the noise of step s.  The state of a
client, or of the server, is the values that its lines have set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedtheory.bounds.fedbat.checks.replay import evaluated
from fedtheory.bounds.trials.cases import relations
from fedtheory.bounds.trials.listings import At, Block, Executor, Undefined
from fedtheory.bounds.trials.problems import ValueAndGradient
from fedtheory.simulations.algorithms.fedbat import Layers
from fedtheory.simulations.binarisation import binarise, derivatives
from fedtheory.simulations.problems import Array
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Do, End, Expression, For, Function, Listing, Name, Step


def _right(id_: str, index: int = 0) -> Any:
    """The right side of a relation of the catalogue."""
    return relations(catalogue.find(f"fedbat.{id_}").claim)[index].args[1]


@dataclass
class ClientState:
    """A client in a round.

    w      the model from the server; None before line 11
    m      m_{t,s} by s;  alpha  alpha_{t,s} by s, one number per layer
    """

    client: int
    r: int
    sent: Array
    w: Array | None = None
    m: dict[int, Array] = field(default_factory=dict)
    alpha: dict[int, Array] = field(default_factory=dict)
    result: tuple[Array, Array] | None = None
    message: tuple[Array, Array] | None = None


def _at(kept: Mapping[int, Array], name: str, s: int) -> Array:
    if s not in kept:
        raise Undefined(f"{name}_{{t,{s}}} has no value")
    return kept[s]


def _keep(kept: dict[int, Array], name: str, s: int, value: Array) -> None:
    if s in kept:
        raise Undefined(f"{name}_{{t,{s}}} has a value already: two updates in one step")
    kept[s] = value


_OF_SERVER = ("begin", "send", "updates", "aggregate")


@dataclass(kw_only=True)
class Machine(Executor):
    """Executes the listing.

    problem    its layers and shares
    inputs     R, tau, phi, rho;  eta  the learning rate
    sample     round -> the participants, of 0 ... N - 1
    oracle     (client, point, round, step) -> stochastic gradient
    zeta       (client, round, step) -> the noise of the binarisation
    literal    whether (14) is executed as printed: alpha takes the step, and where alpha is 0, (9) divides by 0
    models     w_0, w_1 ... of the rounds;  model, sent  the server's model, and the model that it has sent
    asked      the gradients taken, in order: round, client, step, point
    declared   the inputs;  functions  the functions by name
    local      the owner of the current lines: a client in a round, or the server
    """

    problem: Any
    inputs: Mapping[str, Any]
    eta: float
    sample: Callable[[int], Sequence[int]]
    zeta: Callable[[int, int, int], Array]
    literal: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict)
    number: Callable[[int], Any] = lambda q: q
    models: list[Array] = field(default_factory=list)
    asked: list[tuple[int, int, int, Array]] = field(default_factory=list)
    declared: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, tuple[Function, Block]] = field(default_factory=dict)
    model: Array | None = None
    sent: Array | None = None
    updates: dict[int, Array] = field(default_factory=dict)
    local: ClientState | None = None

    def run(self, listing: Listing) -> Machine:
        """Execute it and return the machine.  Raises Undefined or Unreadable, naming the line."""
        super().run(listing)
        self._call("server", ClientState(-1, -1, self.start))
        return self

    def function(self, step: Function, block: Block) -> None:
        """Keep a function."""
        self.functions[step.name] = step, block

    def step(self, step: Step, block: Block, at: At) -> None:
        """One step, of the server or of a client."""
        outside = isinstance(step, Function | End) or (isinstance(step, Do) and step.action == "inputs")
        if self.local is None and not outside:
            raise Undefined(f"{str(step)!r} is outside all functions")
        if self.local and isinstance(step, Do) and step.action:
            server = self.local.client < 0
            if (step.action in _OF_SERVER) != server:
                raise Undefined(f"{str(step)!r} is not for {'the server' if server else 'a client'}")
        super().step(step, block, at)

    def after(self, loop: For, at: At) -> None:
        """After a round, record the model."""
        if self._own.client < 0 and self.model is not None:
            self.models.append(self.model)

    @property
    def _own(self) -> ClientState:
        assert self.local
        return self.local

    def do_inputs(self, at: At, *inputs: Name) -> None:
        """The inputs of the algorithm."""
        self.declared |= {one.name: self.inputs[one.name] for one in inputs}

    def _call(self, name: str, local: ClientState) -> ClientState:
        """Execute a function, with its inputs by name."""
        if name not in self.functions:
            raise Undefined(f"there is no function {name}")
        function, block = self.functions[name]
        given = [one.name for one in function.inputs if one.name != "w_t"]
        if missing := [g for g in given if g not in self.declared]:
            raise Undefined(f"{', '.join(missing)} of {name} has no value")
        caller, self.local = self.local, local
        self.execute(block.body, {g: self.declared[g] for g in given})
        self.local = caller
        return local

    # The server

    def do_begin(self, at: At) -> None:
        """The first model."""
        self.model = self.start
        self.models = self.models or [self.model]

    def _model(self) -> Array:
        if self.model is None:
            raise Undefined("w_t has no value")
        return self.model

    def do_send(self, at: At) -> None:
        """Send the model to the clients."""
        self.sent = self._model()

    def do_updates(self, at: At) -> None:
        """Get the updates of the sampled clients."""
        if self.sent is None:
            raise Undefined("nothing has been sent to the clients")
        r = self.index(Name("t"), at)
        self.updates = {}
        for client in self.sample(r):
            local = self._call("client", ClientState(client, r, self.sent))
            if local.message is None:
                raise Undefined(f"client {client + 1} has sent nothing")
            self.updates[client] = local.message[0]

    def do_aggregate(self, at: At) -> None:
        """(11)."""
        if not self.updates:
            raise Undefined("no update has arrived")
        shares = getattr(self.problem, "weights", None)
        p = np.array([1.0 if shares is None else shares[client] for client in self.updates])
        values = {"w_t": self._model(), "p_prime": list(p / p.sum()), "m_hat_i": list(self.updates.values())}
        self.model = evaluated(_right("eq11"), values | {"K": len(p)})

    # A client

    def do_load(self, at: At) -> None:
        """Load the sent model."""
        self._own.w = self._own.sent

    def do_zeros(self, at: At) -> None:
        """The first update."""
        self._own.m = {0: np.zeros_like(self.start)}

    def _oracle(self, s: int, local: ClientState) -> Callable[[Any], Array]:
        """The client's stochastic gradient at step s; every call is recorded."""

        def gradient(x: Any) -> Array:
            self.asked.append((local.r, local.client, s, np.array(x)))
            return self.oracle(local.client, x, local.r, s)

        return gradient

    def _loaded(self, local: ClientState) -> Array:
        if local.w is None:
            raise Undefined("the client has no model")
        return local.w

    def do_warm_up(self, at: At) -> None:
        """(12)."""
        local, s = self._own, self.index(Name("s"), at)
        known = {"m_s": _at(local.m, "m", s), "w_t": self._loaded(local), "eta_t": self.eta,
                 "F_k": ValueAndGradient(lambda _: 0.0, self._oracle(s, local))}  # fmt: skip
        _keep(local.m, "m", s + 1, evaluated(_right("eq12"), known))

    def do_step_sizes(self, at: At) -> None:
        """(13), layer by layer."""
        local = self._own
        if not local.m:
            raise Undefined("m_t has no value")
        last = max(local.m)
        layers = (local.m[last][part].tolist() for part in self.problem.blocks.values())
        sizes = [evaluated(_right("eq13"), {"m_i": layer, "d_l": len(layer)}) for layer in layers]
        local.alpha = {last: np.array(sizes)}

    def _binarised(self, s: int) -> Array:
        local = self._own
        m, alpha = _at(local.m, "m", s), _at(local.alpha, "alpha", s)
        return binarise(m, Layers(self.problem).spread(alpha), self.zeta(local.client, local.r, s))

    def do_aware(self, at: At) -> None:
        """(14)."""
        local, s, layers = self._own, self.index(Name("s"), at), Layers(self.problem)
        m, alpha = _at(local.m, "m", s), _at(local.alpha, "alpha", s)
        if self.literal and not alpha.all():
            raise Undefined("(14): (9) divides by alpha = 0")
        printed = "eq14" if self.literal else "eq14.corrected"
        g = self._oracle(s, local)(self._loaded(local) + self._binarised(s))
        by_m, by_alpha = derivatives(m, layers.spread(alpha), self.zeta(local.client, local.r, s))
        values = {"m_s": m, "by_m": g * by_m, "eta_t": self.eta, "rho": self.of(Name("rho"), at)}
        _keep(local.m, "m", s + 1, evaluated(_right(printed), values))
        slopes = zip(alpha.tolist(), layers.sum(g * by_alpha).tolist(), strict=True)
        learned = [{**values, "alpha_s": own, "by_alpha": slope} for own, slope in slopes]
        _keep(local.alpha, "alpha", s + 1, np.array([evaluated(_right(printed, 1), v) for v in learned]))

    def do_result(self, at: At, last: Expression) -> None:
        """The binarised update and the step sizes of a local step."""
        s = self.index(last, at)
        self._own.result = self._binarised(s), _at(self._own.alpha, "alpha", s)

    def do_answer(self, at: At) -> None:
        """Send the result to the server."""
        local = self._own
        if local.result is None:
            raise Undefined("mbar^k_{t+1} has no value")
        local.message = local.result
