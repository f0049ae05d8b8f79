"""The forms of the algorithms' rounds, which proofs use, are what the algorithms' own rounds give, over fractions.

A form says how the vectors of a round depend on stochastic gradients, messages and memories, for any number of clients and
steps.  Here it gets numbers: those of a trace of `round`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
import sympy

from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import PiecewiseQuadratic, RandomVector, Trace, trace
from fedtheory.theory.fedbcgd.checks import quantities as fedbcgd
from fedtheory.theory.fedcom.checks import quantities as fedcom
from fedtheory.theory.proofs.forms import Gradient, Objective, StochasticGradient, Sum, Typed, vectors_in
from fedtheory.theory.sfl.checks import quantities as sfl

Env = Mapping[str, Any]  # family -> member, and the client and the step of the vector that the form is about
_ONE = np.array([Fraction(1)], dtype=object)


def constant(x: Fraction | int) -> RandomVector:
    return RandomVector.constant([Fraction(x)], _ONE, False)


FUNCTIONS = [
    PiecewiseQuadratic(np.array([[Fraction(h)]]), constant(b)) for h, b in ((1, 2), (Fraction(1, 2), -3), (3, 1))
]
X, ZERO, ETA = constant(5), constant(0), Fraction(1, 4)


def noise(client: int, turn: int, k: int, at: Any = None) -> RandomVector:
    """One for each client and step, as on one mini-batch."""
    return constant(Fraction(1, 3 + 5 * client + 7 * k))


@dataclass(frozen=True)
class Round:
    """A traced round, and what the symbols of forms are in it.

    members  of a family, given those of the families before
    place    the client and the step of a stochastic gradient
    vectors  by the symbol's own name
    numbers  of the paper's symbols
    """

    traced: Trace
    members: Mapping[str, Callable[[Env], Iterable[Any]]]
    place: Callable[[Env], tuple[int, int]]
    vectors: Mapping[str, Callable[[Env], Any]]
    numbers: Mapping[sympy.Expr, Any] = field(default_factory=dict)

    def of(self, e: sympy.Expr, env: Env) -> Any:
        """A form in numbers."""
        if isinstance(e, Typed):
            return self._symbol(e, env)
        if isinstance(e, sympy.Add):
            return reduce(add, (self.of(term, env) for term in e.args))
        (factor,) = vectors_in(e)
        number = (e / factor).subs({**self.numbers, **env.get("numbers", {})})
        return self._symbol(factor, env) * Fraction(int(number.p), int(number.q))

    def _symbol(self, s: Any, env: Env) -> Any:
        if isinstance(s, Sum):
            (factor,) = s.factors
            members = self.members[s.family.name](env)
            return reduce(add, (self._symbol(factor, {**env, s.family.name: one}) for one in members), ZERO)
        if isinstance(s, StochasticGradient | Gradient):
            client, k = self.place(env)
            at = self.of(s.at, env)
            found = (self.traced.F(at) if isinstance(s.function, Objective) else FUNCTIONS[client].at(at)).gradient
            return found + noise(client, 0, k) if isinstance(s, StochasticGradient) else found
        return self.vectors[s.parts[0]](env)


def same(form: Any, of: Round, number: Any, **env: Any) -> bool:
    return bool((of.of(sympy.expand(form), env) - number).values[0, 0] == 0)


# sfl: C are turns, I and J steps, U the steps of the round so far


def of_sfl(kind: Callable[..., Any]) -> Round:
    order, K, S = [2, 0], 3, 2
    traced = trace(kind(K, 1.0, S=S), FUNCTIONS, X, ZERO, ETA, order, noise)
    steps = {(order.index(s.client), s.k): s for s in traced.steps}

    def at(env: Env) -> tuple[int, int]:
        return env["U"] if "U" in env else (env.get("C", env.get("turn")), env.get("I", env.get("J")))

    return Round(
        traced,
        {
            "C": lambda env: range(S),
            "I": lambda env: range(K),
            "J": lambda env: range(env["step"]),
            "U": lambda env: [(m, k) for m in range(S) for k in range(K) if (m, k) < (env["turn"], env["step"])],
        },
        lambda env: (order[at(env)[0]], at(env)[1]),
        {"x": lambda env: X, "x_mk": lambda env: steps[at(env)].x},
        {sfl.eta: ETA, sfl.S: S},
    )


@pytest.mark.parametrize(("algorithm", "kind"), [("alg1", SFL), ("alg2", PFL)])
def test_sfl(algorithm: str, kind: Callable[..., Any]) -> None:
    form, own = sfl.LANGUAGE.algorithms[algorithm], of_sfl(kind)
    assert same(form[sfl.x_next], own, own.traced.end)
    for s in own.traced.steps:
        assert same(form[sfl.x_at], own, s.x, turn=[2, 0].index(s.client), step=s.k)
    wrong = form[sfl.x_next].subs(sfl.eta, 2 * sfl.eta)
    assert not same(wrong, own, own.traced.end)


# fedcom: C are clients, I and J steps; two rounds, so that the trackings are not zero


def coder(messages: Sequence[Any]) -> Sequence[Any]:
    """An error for each client."""
    return [message + constant(Fraction(1, 2 + j)) for j, message in enumerate(messages)]


def of_fedcom(algorithm: Any) -> tuple[Round, Round]:
    """The first round, and the second."""
    found: list[Round] = []
    for r in range(2):
        before = found[-1].traced if found else None
        x, memory = (before.end, before.memory) if before else (X, {})
        found.append(
            _of_fedcom(trace(algorithm, FUNCTIONS, x, ZERO, ETA, range(3), noise, memory, r, coder=coder), before)
        )
    return found[0], found[1]


def _of_fedcom(traced: Trace, before: Trace | None) -> Round:
    def points(of: Trace | None) -> Callable[[Env], Any]:
        return lambda env: next(s.x for s in of.steps if (s.client, s.k) == _of_client(env)) if of else None

    delta = traced.before.get("delta", [ZERO] * 3)
    received = traced.coded[0][1]
    return Round(
        traced,
        {"C": lambda env: range(3), "I": lambda env: range(_K), "J": lambda env: range(env["step"])},
        _of_client,
        {
            "w": lambda env: traced.x,
            "w_jc": points(traced),
            "w_jc_0": points(traced),
            "w_jc_prev": points(before),
            "delta": lambda env: delta[_of_client(env)[0]],
            "Q(g)": lambda env: received[_of_client(env)[0]],
            "Q(d)": lambda env: received[_of_client(env)[0]],
        },
        {fedcom.eta: ETA, fedcom.gamma: Fraction(3, 2), fedcom.m: 3, fedcom.tau: _K, fedcom.q: 1},
    )


_K = 2


def _of_client(env: Env) -> tuple[int, int]:
    """The client and the step: those of the families, else those of the vector that the form is about."""
    client = next((env[name] for name in ("A", "C") if name in env), env.get("client", 0))
    return client, next((env[name] for name in ("I", "J") if name in env), env.get("step", 0))


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("alg1", FedCOM(_K, 1.0, 1.5)),
        ("alg2", FedCOMGATE(_K, 1.0, 1.5)),
        ("alg2.corrected", FedCOMGATE(_K, 1.0, 1.5, damping=0.5)),
    ],
)
def test_fedcom(name: str, algorithm: Any) -> None:
    form, (first, second) = fedcom.LANGUAGE.algorithms[name], of_fedcom(algorithm)
    for own in (first, second):
        if fedcom.w_next in form:
            assert same(form[fedcom.w_next], own, own.traced.end)
        for j, delta in enumerate(own.traced.memory.get("delta", ())):
            assert same(form[fedcom.delta_next], own, delta, client=j)
        for s in own.traced.steps if fedcom.NOW.point in form else ():
            assert same(form[fedcom.NOW.point], own, s.x, client=s.client, step=s.k, numbers={fedcom.c: s.k})
    if name == "alg2":
        for s in first.traced.steps[:-1]:
            if s.k + 1 < _K:
                following = next(o.x for o in first.traced.steps if (o.client, o.k) == (s.client, s.k + 1))
                assert same(form[fedcom.own_step], first, following, client=s.client, step=s.k)
    wrong = form[fedcom.delta_next if fedcom.delta_next in form else fedcom.w_next].subs(fedcom.m, 2 * fedcom.m)
    assert not same(wrong, second, second.traced.memory["delta"][1] if name != "alg1" else second.traced.end, client=1)


# fedbcgd: A are all clients, C the sampled ones, I and J steps; one block


def of_fedbcgd(algorithm: Any, memory: Mapping[str, Any]) -> Round:
    """A round with clients 0 and 2; the others' steps are those that they would make."""
    order = [0, 2]
    every = trace(replace(algorithm, K=3), FUNCTIONS, X, ZERO, ETA, range(3), noise, memory)
    points = {(s.client, s.k): s.x for s in every.steps}
    traced = trace(algorithm, FUNCTIONS, X, ZERO, ETA, order, noise, memory)
    return Round(
        traced,
        {
            "A": lambda env: range(3),
            "C": lambda env: order,
            "I": lambda env: range(_K),
            "J": lambda env: range(env["step"]),
        },
        _of_client,
        {
            "x_r": lambda env: X,
            "v_r": lambda env: memory["v"],
            "v_next": lambda env: traced.memory["v"],
            "G_r": lambda env: (memory["v"] * Fraction(1, 2) - traced.memory["v"]) / ETA,
            "y": lambda env: points[_of_client(env)],
            "c": lambda env: memory["c"],
            "c_i": lambda env: memory["c_i"][_of_client(env)[0]],
        },
        {fedbcgd.eta: ETA, fedbcgd.K: 2, fedbcgd.M: 3, fedbcgd.T: _K, fedbcgd.lam: Fraction(1, 2)},
    )


MEMORY = {
    "v": constant(Fraction(1, 3)),
    "c_i": [constant(b) for b in (1, Fraction(-1, 5), 2)],
    "c": constant(Fraction(1, 7)),
}


@pytest.mark.parametrize(("name", "kind"), [("alg1.corrected", FedBCGD), ("alg3.corrected", FedBCGDPlus)])
def test_fedbcgd(name: str, kind: Callable[..., Any]) -> None:
    plus = kind is FedBCGDPlus
    own = of_fedbcgd(kind(_K, 1.0, 1, 2, 0.5), MEMORY if plus else {"v": MEMORY["v"]})
    server, form = (fedbcgd.LANGUAGE.algorithms[one] for one in ("momentum_form.corrected", name))
    assert same(server[fedbcgd.v_next], own, own.traced.memory["v"])
    assert same(server[fedbcgd.x_next], own, own.traced.end)
    assert same(form[fedbcgd.G_r], own, own.vectors["G_r"]({}))
    for s in own.traced.steps:
        assert same(form[fedbcgd.y_at], own, s.x, client=s.client, step=s.k, numbers={fedbcgd.t: s.k})
    if plus:
        for i in (0, 2):
            assert same(form[fedbcgd.renewed_variate], own, own.traced.memory["c_i"][i], client=i)
    assert not same(form[fedbcgd.G_r].subs(fedbcgd.K, fedbcgd.M), own, own.vectors["G_r"]({}))
