"""What FedBAT is compared with: ZeroFL and BiFL round by round by hand; messages and their bits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from math import ceil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from by_hand import ByHand, Layered, Round, agree

from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedbat import BiFL, ZeroFL
from fedtheory.simulations.compressors import QSGD
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems.quadratic import generate

LAYERS = {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 8)}
PLAIN = generate(8, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, x_star=np.linspace(1, -1, 8), sigma=0.3, seed=0)
PROBLEMS: dict[str, Any] = {
    "alike": Layered(PLAIN, LAYERS),
    "weighted": Layered(replace(PLAIN, weights=(0.1, 0.2, 0.3, 0.4)), LAYERS),
}


# ------------------------------------------------------------------------------------------------ rounds by hand


def largest(v: np.ndarray, sparsity: float) -> np.ndarray:
    """Of a layer of n entries all but the ceil((1 - sparsity) n) largest become 0, those with a higher index first."""
    out = np.zeros_like(v)
    for part in LAYERS.values():
        places = sorted(range(part.start, part.stop), key=lambda i: (-abs(v[i]), i))
        kept = places[: ceil(round((1 - sparsity) * len(places), 9))]
        out[kept] = v[kept]
    return out


def signs(v: np.ndarray) -> np.ndarray:
    return np.concatenate([np.abs(v[part]).mean() * np.where(v[part] >= 0, 1.0, -1.0) for part in LAYERS.values()])


def zerofl(h: ByHand, a: ZeroFL, w: np.ndarray) -> np.ndarray:
    def trained(k: int) -> np.ndarray:
        return w + largest(h.steps(k, w, a.T, lambda y, t: h.g(k, largest(y, a.sparsity), t)) - w, a.sparsity)

    S = h.clients(a.S)
    return h.weighted(S, {k: trained(k) for k in S})


def bifl(h: ByHand, a: BiFL, w: np.ndarray) -> np.ndarray:
    S = h.clients(a.S)
    ends = {k: h.steps(k, w, a.T, lambda y, t: h.g(k, signs(y), t)) for k in S}
    return h.weighted(S, {k: signs(v) if a.upload == "binarised" else v for k, v in ends.items()})


CASES: list[tuple[Any, Round]] = [
    *((ZeroFL(T, 0.1, S, sparsity), zerofl) for T, S, sparsity in product((1, 3), (None, 2), (0.97, 0.6, 0.0))),
    *((BiFL(T, 0.1, S, upload), bifl) for T, S, upload in product((1, 3), (None, 2), ("binarised", "full"))),
]


@pytest.mark.parametrize(("algorithm", "round_"), CASES, ids=[str(algorithm) for algorithm, _ in CASES])
@pytest.mark.parametrize("which", PROBLEMS)
def test_rounds_by_hand(algorithm: Any, round_: Round, which: str) -> None:
    agree(PROBLEMS[which], algorithm, round_)


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
