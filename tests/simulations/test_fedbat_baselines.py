"""What FedBAT is compared with: ZeroFL and BiFL against loops over single numbers; the names; messages and their bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from math import ceil, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedbat import BASELINES, SIGNS, VARIANTS, BiFL, ZeroFL
from fedtheory.simulations.compressors import QSGD, StochasticSign
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems.quadratic import Quadratic, generate

LAYERS = {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 8)}
PLAIN = generate(8, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, x_star=np.linspace(1, -1, 8), sigma=0.3, seed=0)
WEIGHTS = (0.1, 0.2, 0.3, 0.4)
SEEDS = (7, 2)


class Layered:
    """A quadratic whose coordinates are three layers."""

    blocks = LAYERS

    def __init__(self, problem: Quadratic) -> None:
        self.problem = problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)


PROBLEMS: dict[str, Any] = {"alike": Layered(PLAIN), "weighted": Layered(replace(PLAIN, weights=WEIGHTS))}
Vector = list[float]


# ------------------------------------------------------------------------------------------------ loops


def gradient(y: Vector, k: int, seed: int, r: int, t: int) -> Vector:
    """Client k's gradient with the noise of this seed, round and step, drawn for it alone."""
    noise = Draws.of_seeds(np.array([seed]), r).of(np.array([[k]])).step(t).normal(8)[0, 0]
    H, b = PLAIN.H[k], PLAIN.b[k]
    return [sum(H[i][j] * y[j] for j in range(8)) + b[i] + 0.3 / sqrt(8) * float(noise[i]) for i in range(8)]


def largest(v: Vector, sparsity: float) -> Vector:
    """Of a layer of n entries all but the ceil((1 - sparsity) n) largest become 0, those with a higher index first."""
    out = [0.0] * 8
    for part in LAYERS.values():
        places = sorted(range(part.start, part.stop), key=lambda i: (-abs(v[i]), i))
        for i in places[: ceil(round((1 - sparsity) * len(places), 9))]:
            out[i] = v[i]
    return out


def signs(v: Vector) -> Vector:
    out = list(v)
    for part in LAYERS.values():
        layer = range(part.start, part.stop)
        alpha = sum(abs(v[i]) for i in layer) / len(layer)
        for i in layer:
            out[i] = alpha if v[i] >= 0 else -alpha
    return out


def zerofl(w: Vector, trained: Callable[[Callable[[Vector], Vector]], Vector], a: ZeroFL) -> Vector:
    y = trained(lambda y: largest(y, a.sparsity))
    update = largest([b - c for b, c in zip(y, w, strict=True)], a.sparsity)
    return [b + c for b, c in zip(w, update, strict=True)]


def bifl(w: Vector, trained: Callable[[Callable[[Vector], Vector]], Vector], a: BiFL) -> Vector:
    v = trained(signs)
    return signs(v) if a.upload == "binarised" else v


def loop(problem: Any, a: Any, one_client: Callable[..., Vector], seed: int, rounds: int, w: Vector) -> list[Vector]:
    """The models of all rounds: what each client makes of w, weighed by p'_k."""
    found = [w]
    for r in range(rounds):
        S = 4 if a.S is None else a.S
        clients = range(4) if S == 4 else Draws.of_seeds(np.array([seed]), r).order(4, S)[0].tolist()
        p = [1.0 if problem.weights is None else problem.weights[k] for k in clients]
        new = [0.0] * 8
        for share, k in zip(p, clients, strict=True):

            def trained(at: Callable[[Vector], Vector], k: int = k) -> Vector:
                y = list(w)
                for t in range(a.T):
                    g = gradient(at(y), k, seed, r, t)
                    y = [y[i] - a.eta * g[i] for i in range(8)]
                return y

            made = one_client(w, trained, a)
            new = [new[i] + share / sum(p) * made[i] for i in range(8)]
        w = new
        found.append(w)
    return found


CASES: list[tuple[Any, Callable[..., Vector]]] = [
    *((ZeroFL(T, 0.1, S, sparsity), zerofl) for T, S, sparsity in product((1, 3), (None, 2), (0.97, 0.6, 0.0))),
    *((BiFL(T, 0.1, S, upload), bifl) for T, S, upload in product((1, 3), (None, 2), ("binarised", "full"))),
]


@pytest.mark.parametrize(("algorithm", "one_client"), CASES, ids=[str(algorithm) for algorithm, _ in CASES])
@pytest.mark.parametrize("which", PROBLEMS)
def test_against_a_loop(algorithm: Any, one_client: Callable[..., Vector], which: str) -> None:
    problem, start = PROBLEMS[which], np.linspace(2, -1.5, 8)
    for n, seed in enumerate(SEEDS):
        x, expected = np.broadcast_to(start, (1, 2, 8)), loop(problem, algorithm, one_client, seed, 3, start.tolist())
        memory: dict[str, Any] = {}
        for r in range(3):
            draws = Draws.of_seeds(np.array(SEEDS), r)
            x = algorithm.round(problem, x, np.full((1, 1, 1), 0.1), draws, lambda *_: None, memory)
            np.testing.assert_allclose(x[0, n], expected[r + 1], rtol=1e-11, atol=1e-13)
        assert not memory


# ------------------------------------------------------------------------------------------------ names, bits


def wide(*sizes: int) -> Any:
    """A problem with layers of these sizes, of which nothing else is asked."""
    ends = np.cumsum([0, *sizes]).tolist()

    blocks = {str(i): slice(a, b) for i, (a, b) in enumerate(pairwise(ends))}
    return SimpleNamespace(d=ends[-1], M=3, name="wide", weights=None, blocks=blocks)


@pytest.mark.parametrize(
    ("sizes", "sparsity", "bits"),
    [
        ((1000,), 0.97, 30 * (32 + 10)),  # 30 indices of 10 bits are cheaper than 1000 bits
        ((100,), 0.97, 3 * (32 + 7)),
        ((1000,), 0.5, 500 * 32 + 1000),  # a bitmap is cheaper than 500 indices
        ((8,), 0.0, 8 * 32),  # nothing is left out
        ((8,), 0.1, 8 * 32),
        ((1000, 100, 1), 0.97, 30 * 42 + 3 * 39 + 32),
        ((2,), 0.97, 32 + 1),
    ],
)
def test_bits_of_zerofl(sizes: tuple[int, ...], sparsity: float, bits: float) -> None:
    algorithm, problem = ZeroFL(1, 0.1, sparsity=sparsity), wide(*sizes)
    assert algorithm.uplink_bits(problem) == bits and algorithm.downlink_bits(problem) == 32 * sum(sizes)
    kept = algorithm.pruned(problem, np.random.default_rng(0).standard_normal((2, 3, problem.d)))
    for part, size in zip(problem.blocks.values(), sizes, strict=True):
        assert ((kept[..., part] != 0).sum(-1) == algorithm.kept(size)).all()


@pytest.mark.parametrize("b", range(2, 9))
def test_bits_of_fedpaq(b: int) -> None:
    """A sign, and ceil(log2(s + 1)) bits for a level of 0 ... s; a level more would take another bit."""
    algorithm: Any = registry()[f"FedPAQ, {b} bits"](tau=2, eta=0.1)
    s = algorithm.compressor.s
    assert s == 2 ** (b - 1) - 1 and 1 + s.bit_length() == b
    assert algorithm.uplink_bits(wide(1000)) == 32 + b * 1000 and QSGD(s + 1).bits(1000) == 32 + (b + 1) * 1000
    message = algorithm.compressor(
        np.linspace(-1, 2, 1000)[None, None], Draws.of_seeds(np.arange(1), 0).codes(np.zeros((1, 1), int))
    )
    assert len(algorithm.compressor.encode(message[0, 0])) == ceil((32 + b * 1000) / 8)


def test_bits_of_the_others() -> None:
    p = PROBLEMS["alike"]
    expected = {
        "FedAvg": 256,
        "BiFL": 3 * 32 + 8,
        "BiFL-Full": 256,
        "Stoc-SignSGD, Euclidean norm": 8,
        "Stoc-SignSGD": 8,
    }
    for name, bits in expected.items():
        algorithm: Any = built(name)
        assert algorithm.uplink_bits(p) == bits and algorithm.downlink_bits(p) == 256, name


def built(name: str, **given: Any) -> Any:
    """By name, with tau or T = 2 local steps and S or K participants."""
    build, S = registry()[name], given.pop("S", None)
    for steps, some in product(("tau", "T"), ("S", "K")):
        try:
            return build(eta=0.05, **{steps: 2, some: S}, **given)
        except TypeError:
            continue
    raise AssertionError(name)


NAMES = sorted(VARIANTS | SIGNS | BASELINES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", PROBLEMS)
def test_every_name_with_some_clients_and_in_any_company(name: str, which: str) -> None:
    """Two of four clients: another run than with all; only the two are asked; a seed goes its way whoever runs beside it."""
    problem, asked = PROBLEMS[which], []

    class Asked(Layered):
        def gradient(self, x: np.ndarray, client: np.ndarray, draw: Any) -> np.ndarray:
            asked.append(client)
            return problem.gradient(x, client, draw)

    some, every = built(name, S=2), built(name)
    assert some.participants(problem) == 2 and every.participants(problem) == 4
    record = {"rounds": 3, "x0": np.linspace(2, -1, 8), "record": ("value",)}
    together = run(Asked(problem), some, seeds=(4, 9, 6), **record).value
    assert asked and all(client.shape == (3, 2) for client in asked)
    np.testing.assert_allclose(together.sel(seed=6), run(problem, some, seeds=(6,), **record).value[:, 0], rtol=1e-12)
    assert not np.allclose(together, run(problem, every, seeds=(4, 9, 6), **record).value)
    with pytest.raises(ValueError, match="M = 4 clients: expected"):
        built(name, S=5).participants(problem)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ZeroFL(1, 0.1, sparsity=1.0), r"sparsity = 1\.0: expected a number in \[0, 1\)"),
        (lambda: ZeroFL(1, 0.1, sparsity=float("nan")), "sparsity = nan"),
        (lambda: ZeroFL(0, 0.1), "T = 0: expected a whole number"),
        (lambda: BiFL(1, -0.1), r"eta = -0\.1"),
        (lambda: BiFL(1, 0.1, upload="half"), "upload = 'half': expected one of 'binarised', 'full'"),  # type: ignore[arg-type]
        (lambda: StochasticSign(0.0), r"alpha = 0\.0"),
    ],
)
def test_bad_settings(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
