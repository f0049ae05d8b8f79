"""Fuzzed: the Python interface, with values of every type."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from driver import ODD_NUMBERS, ODD_OTHERS, cases, refused_or
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fedtheory as ft
from fedtheory.bounds import rounds_to
from fedtheory.bounds.trials.arena import Arena, confront, judge
from fedtheory.simulations import functions, partitions, start, strategies
from fedtheory.simulations.compressors import (
    QSGD,
    Bernoulli,
    Compressor,
    Dithering,
    Identity,
    MaxSign,
    RandK,
    Sign,
    TopK,
    from_text,
)
from fedtheory.simulations.networks.models import ARCHITECTURES, build
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue

_SCALARS: list[Any] = [None, 10, 10**400, -(10**30), -0.0, 5e-324, "1", b"1", 1j, Fraction(1, 3), sympy.Rational(1, 3)]
_PYTHONS: list[Any] = [sympy.Symbol("x"), datetime.date(2020, 1, 1), object(), int, len, lambda x: x, iter([1, 2])]
_SEVERAL: list[Any] = [[1.0], [1, 2], [[1], [1, 2]], (), (1, 2), set(), range(3), range(10**12), 3 * [10**400]]
_ARRAYS: list[Any] = [np.zeros(0), np.ones(2), np.ones((2, 2)), np.ones(2, complex), np.full(2, np.nan), np.array(2.0)]
_STRANGE: list[Any] = [
    np.array(["a"]),
    np.array([None, 1]),
    np.array("2020", "datetime64[D]"),
    np.float32(0.5),
    np.True_,
]
_MORE: list[Any] = [np.int8(3), np.ma.masked_array([1.0, 2.0], [True, False]), "RandK:2", "sfl.eq54"]
ODD = [*ODD_NUMBERS, *ODD_OTHERS, *_SCALARS, *_PYTHONS, *_SEVERAL, *_ARRAYS, *_STRANGE, *_MORE]
ANY = st.one_of(st.sampled_from(ODD), st.floats(), st.integers(), st.text(max_size=8), arrays(float, st.integers(0, 3)))


@dataclass(frozen=True)
class Among:
    """Good values of an argument; any other may take their place."""

    good: tuple[Any, ...]


def among(*good: Any) -> Among:
    return Among(good)


@st.composite
def calls(draw: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A call of one of the functions: with good values, with one that may be odd, or all of which may be odd."""
    what = draw(st.sampled_from(sorted(CALLS)))
    args, settings = CALLS[what]
    names = [*range(len(args)), *settings]
    mode = draw(st.integers(0, 5))
    odd = set(names) if mode == 0 else {draw(st.sampled_from(names))} if mode < 5 else set()
    given = {n: draw(ANY if n in odd else st.sampled_from(a.good)) for n, a in [*enumerate(args), *settings.items()]}
    change = draw(st.integers(0, 20))
    if change == 0:
        given["no_such"] = draw(ANY)
    if change == 1 and settings:
        del given[draw(st.sampled_from(sorted(settings)))]
    return what, tuple(given.pop(i) for i in range(len(args))), given


PROBLEM = ft.problems["quadratic"](d=2, M=3, L=1.0, mu=0.1, zeta_star=1.0, delta=0.2, sigma=0.1)
SFL, GATE = ft.algorithms["SFL"](K=2, eta=0.1), ft.algorithms["FedCOMGATE"](tau=2, eta=0.1)
NUMBERS = {"L": 1, "mu": 0.1, "sigma": 1, "zeta_star": 1, "D": 1, "M": 10, "K": 5, "R": 1000}
BOUND = {n: among(v, float(v), np.float64(v)) for n, v in NUMBERS.items()}
Q = (RandK(1), RandK(1, shared=True), TopK(1), QSGD(4), Identity(), Sign(), MaxSign(), Dithering(2), Bernoulli(0.5))
STRONG, LABELS = "sfl.thm1.strongly_convex", np.arange(12) % 3
RUN: dict[str, Among] = {
    "rounds": among(1, 3, np.int64(2), np.int8(3)),
    "x0": among(0.0, 1, np.ones(2), [1, 2]),
    "record": among(("gap",), ["grad_sq", "dist2"], (), ("drift", "value")),
    "at": among(None, [0, 1], [1], range(2)),
    "average": among(1.0, 0.9, [0.5]),
}
STEP = {"eta": among(0.1)}
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "evaluate": (
        (among(STRONG),),
        {**BOUND, "eta_tilde": among(0.1, np.array([0.1, 0.2]), [0.1]), "strict": among(True, False)},
    ),
    "tune": ((among(STRONG),), BOUND),
    "rounds_to": ((among(0.1, 1), among(STRONG)), {n: v for n, v in BOUND.items() if n != "R"}),
    "compare": ((among(STRONG), among("sfl.thm2.strongly_convex")), {}),
    "constants_for": ((among(STRONG), among(PROBLEM), among(SFL)), {"x0": RUN["x0"]}),
    "run": (
        (among(PROBLEM), among(SFL, GATE)),
        {**RUN, "seeds": among([0], range(2), [3, 5]), "decay": among(1.0, 0.9)},
    ),
    "expectation": ((among(PROBLEM), among(SFL, GATE)), RUN),
    "start": ((among(PROBLEM), RUN["x0"]), {}),
    "quadratic": (
        (),
        {"d": among(1, 2), "M": among(1, 3), "L": among(1.0, 2), "mu": among(0.1, 1), "zeta_star": among(0.0, 1)}
        | {"delta": among(0.0, 0.2), "sigma": among(0.0, 1), "x_star": among(None, [0.0, 1.0]), "seed": among(0, 1)},
    ),
    "matrices": (
        (among(np.eye(2)[None], np.ones((1, 1, 1))), among(np.zeros((1, 2)), [[1.0]])),
        {"sigma": among(0.0, 1), "weights": among(None, [1.0])},
    ),
    "SFL": ((), {"K": among(1, 2), "eta": among(0.1, [0.1, 0.2]), "S": among(None, 1)}),
    "FedNova": ((), {"tau": among(1, (1, 2, 3)), **STEP, "momentum": among(0.0, 0.5), "prox": among(0.0, 1)}),
    "FedCOMGATE": (
        (),
        {"tau": among(1), **STEP, "gamma": among(1.0), "k": among(1.0, 0.5), "damping": among(1.0, None)},
    ),
    "FedBCGD": ((), {**dict.fromkeys("TNK", among(1)), **STEP, "lam": among(0.5), "sizes": among(None, (1, 1))}),
    "FedBAT": (
        (),
        {"tau": among(1), **STEP, "K": among(None, 1), "phi": among(0.5), "rho": among(1.0), "gamma": among(None, 3)},
    ),
    "RandK": ((among(1, 2),), {"shared": among(True, False)}),
    "QSGD": ((among(1, 4),), {}),
    "dirichlet": ((), {"labels": among(LABELS), "M": among(2), "alpha": among(1.0), "seed": among(0)}),
    "exdir": ((), {"labels": among(LABELS), "M": among(3), "C": among(1, 2), "alpha": among(1.0), "seed": among(0)}),
    "shards": ((), {"labels": among(LABELS), "M": among(2), "shards_per_client": among(1), "seed": among(0)}),
    "own": (
        (among(lambda x: float(x @ x) / 2), among(lambda x: x), among(2)),
        {"L": among(1.0, 2), "mu": among(0.0, 1), "minimum": among(None, 0.0), "minimiser": among(None, [0.0, 0.0])},
    ),
    "functions": (
        (among([functions.huber(2)], [functions.huber(1), functions.dip(1)]),),
        {"sigma": among(0.0), "vouched": among({}, {"F_star": 0.0})},
    ),
    "network": (
        (among(*ARCHITECTURES), among((1, 28, 28), (3, 32, 32)), among(10)),
        {"norm": among(None, "group", "none")},
    ),
    "from_text": ((among("RandK:2", "QSGD(s=7)"),), {}),
    "error": ((among(*Q),), {"x": among([1, 2], np.ones((2, 3)), [1e308, 1])}),
    "law": ((among(*Q),), {"x": among([1, 2], [Fraction(1, 3), 0])}),
    "encode": ((among(*Q),), {"message": among([1, 2], np.zeros(3)), "mask": among(None, [1, 0])}),
    "positive": ((among(1.0, 16.0, 0.3),), {}),
    "vectors": ((among(2),), {}),
    "convex": ((among(1, 2), among(1.0, 2)), {}),
    "strongly_convex": ((among(1, 2), among(1.0, 2)), {"mu": among(0.5, 1)}),
    "federations": ((among(1, 2), among(1, 2)), {"L": among(1.0, 2), "mu": among(0.5, -1), "sigma": among(0.0, 1)}),
    "orders": ((among(3), among(1, 2)), {"rounds": among(1, 2)}),
    "noise_trees": ((among(1, 3), among(1, 2)), {}),
    "find": ((among(STRONG),), {}),
    "statements": ((among("sfl"),), {}),
    "arena": (
        (among(STRONG), among("mine"), among(PROBLEM, lambda: PROBLEM), among(SFL)),
        {"rounds": among(2), "x0": RUN["x0"], "seeds": among(3), "fractions": among((1.0,), (0.5, 1))},
    ),
}


def arena(*args: Any, **settings: Any) -> Any:
    made = Arena(*args, **settings)
    confront(made, made.stated)
    return judge([made], made.stated)


STRATEGIES = (*("positive", "vectors", "convex", "strongly_convex", "federations", "orders", "noise_trees"),)


def drawn(strategy: Any) -> Any:
    """A strategy is made, and draws."""

    def made(*args: Any, **settings: Any) -> None:
        strategy(*args, **settings).validate()

    return made


def method(name: str) -> Any:
    """A method of a compressor, if it is one."""
    return lambda Q, **given: getattr(Q, name)(**given) if isinstance(Q, Compressor) else None


FUNCTIONS: dict[str, Any] = {
    **{
        name: getattr(ft, name)
        for name in ("evaluate", "tune", "compare", "constants_for", "run", "expectation", "find", "statements")
    },
    **{name: ft.algorithms[name] for name in ("SFL", "FedNova", "FedCOMGATE", "FedBCGD", "FedBAT")},
    **{name: ft.compressors[name] for name in ("RandK", "QSGD")},
    **{name: getattr(partitions, name) for name in ("dirichlet", "exdir", "shards")},
    **{name: drawn(getattr(strategies, name)) for name in STRATEGIES},
    **{name: method(name) for name in ("error", "law", "encode")},
    "from_text": from_text,
    "quadratic": ft.problems["quadratic"],
    "functions": ft.problems["functions"],
    "matrices": Quadratic,
    "rounds_to": rounds_to,
    "start": lambda *given: dict(start(*given)),
    "own": functions.own,
    "network": build,
    "arena": arena,
}


def right(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    """A call is refused with a sentence, or its result has numbers where numbers belong."""
    what, args, settings = call
    try:
        found = refused_or(lambda: FUNCTIONS[what](*args, **settings))
    except TypeError as error:  # Python's own, for arguments that are missing or surplus
        assert re.search(r"\(\) (missing|got|takes) .*argument", str(error)), (what, error)
        return
    if found is None:
        return
    if what == "evaluate" and settings.get("strict") is True:
        assert not np.isnan(np.asarray(found.value, float)).any(), call
    if what == "tune":
        assert found.interval[0] <= found.step_size <= found.interval[1] and found.best.value == found.best.value
        assert (
            found.best.value <= found.closed.value * (1 + 1e-9)
            if found.closed and not found.closed.violations
            else True
        )
    if what in ("run", "expectation"):
        ran = found.status.values == "ran"
        for name in found.data_vars:
            if name not in ("status", "diverged_at", "drift"):
                assert np.isfinite(found[name].values[ran]).all(), (call, name)
    if what == "start":
        assert all(np.isfinite(value).all() for value in found.values()), call


test_api = cases(calls())(right)


@st.composite
def statements(draw: Any) -> tuple[str, dict[str, Any]]:
    """A statement with terms, and any values for its parameters."""
    from fedtheory.bounds.evaluation import has_terms, parameters

    id_ = draw(st.sampled_from([s.id for s in catalogue.statements() if has_terms(s)]))
    values = st.one_of(st.sampled_from([1, 2.5, 3]), ANY if draw(st.booleans()) else st.just(2))
    return id_, {s.name: draw(values) for s in parameters(catalogue.find(id_)) if draw(st.integers(0, 25))}


def value_or_sentence(case: tuple[str, dict[str, Any]]) -> None:
    id_, values = case
    found = refused_or(lambda: ft.evaluate(id_, strict=False, **values))
    if found is not None:
        assert set(found.terms) == {t.name for t in catalogue.find(id_).claim.terms}


test_every_bound = cases(statements())(value_or_sentence)
