"""FedBCGD, FedBCGD+ and those they are compared with, round by round by hand; paper_check.md has the paper's own lines."""

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from by_hand import ETAS, ByHand, Round, agree, close, mean, trajectory
from spy import Spy, small

from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedbcgd import (
    ALGORITHMS,
    VARIANTS,
    FedAdam,
    FedAvgM,
    FedBCGD,
    FedBCGDPlus,
    FedDC,
    FedLin,
    Sent,
    SLocalGD,
    TopKFedAvg,
    parameter_blocks,
)
from fedtheory.simulations.compressors import QSGD, Bernoulli, Identity, RandK, TopK
from fedtheory.simulations.partitions import dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import generate

BINARY, DIGITS = small("breast_cancer", 40, 5, 2), small("digits", 40, 3, 3)
EXACT = generate(5, 6, L=2, mu=0.2, zeta_star=1, delta=0.5)
PROBLEMS: dict[str, Any] = {
    "noisy quadratic": replace(EXACT, sigma=0.7),
    "logistic": Logistic(BINARY, dirichlet(BINARY.labels, 6, 2.0, 0), 0.1),
    "multinomial, mini-batches": Logistic(DIGITS, dirichlet(DIGITS.labels, 6, 2.0, 0), 0.1, batch=2),
}


# ------------------------------------------------------------------------------------------------ rounds by hand


def blocks_of(h: ByHand, a: Any) -> tuple[list[list[int]], list[int]]:
    """The coordinates of the blocks, and of the shared one."""
    own = h.d - a.share
    sizes = list(a.sizes or [own // a.N + (j < own % a.N) for j in range(a.N)])
    ends = np.cumsum([0, *sizes]).tolist()
    return [list(range(*ends[j : j + 2])) for j in range(a.N)], list(range(ends[-1], h.d))


def messages(h: ByHand, a: Any) -> list[tuple[int, int, list[int], int]]:
    """(client, its block's number or N, coordinates, clients that send these), a client's own block first."""
    blocks, shared = blocks_of(h, a)
    order = h.order(a.N * a.K)
    return [
        (i, number, part, count)
        for n, i in enumerate(order)
        for number, part, count in ((n // a.K, blocks[n // a.K], a.K), (a.N, shared, a.N * a.K))
        if part
    ]


def server(h: ByHand, a: Any, x: np.ndarray, hat: np.ndarray) -> np.ndarray:
    """x of the next round; the momentum is kept."""
    _, shared = blocks_of(h, a)
    change, v = hat - x, h.server["v"]
    if a.momentum == "display":
        h.server["v"] = a.lam * v - change
        return x + v
    moved = change.copy()
    if a.momentum == "printed":
        moved[shared] = 0.0
    h.server["v"] = v = a.lam * v + moved
    return (hat if a.momentum == "printed" else x) + v


def fedbcgd(h: ByHand, a: FedBCGD, x: np.ndarray) -> np.ndarray:
    hat, ends = np.zeros(h.d), {}
    blocks, shared = blocks_of(h, a)
    for i, number, part, count in messages(h, a):
        if number < a.N:
            moves = np.isin(np.arange(h.d), blocks[number] + shared) if a.freeze else 1.0
            T = a.T if a.sent == "all" else a.T - 1
            ends[i] = h.steps(i, x, T, lambda y, t: h.g(i, y, t) * moves)
        hat[part] += (x[part] + h.code(a.compressor, (ends[i] - x)[part], i, number)) / count
    return server(h, a, x, hat)


def fedbcgdplus(h: ByHand, a: FedBCGDPlus, x: np.ndarray) -> np.ndarray:
    c_i = h.client["c_i"]
    if h.r == 0:
        h.server["c"] = mean(c_i)
        if a.begin == "gradients":
            c_i[:] = [h.g(i, x) for i in range(h.M)]
            h.server["c"] = mean(c_i)
    c, hat, grown, ends, new = h.server["c"], np.zeros(h.d), np.zeros(h.d), {}, list(c_i)
    control, variance = (1 if how == "theory" else -1 for how in (a.control, a.variance))
    for i, number, part, count in messages(h, a):
        full = h.g(i, x)
        if number < a.N:
            T = a.T if a.sent == "all" else a.T - 1
            ends[i] = h.steps(
                i,
                x,
                T,
                lambda y, t: h.g(i, y, t) + control * (c - c_i[i]) + variance * (full - h.g(i, x, t)),
            )
            new[i] = full.copy() if a.kept == "whole" else c_i[i].copy()
        hat[part] += (x[part] + h.code(a.compressor, (ends[i] - x)[part], i, number)) / count
        Dc = h.code(a.compressor, (full - c_i[i])[part], i, a.N + 1 + number)
        factor = {"mean": 1.0, "(71)": a.K if number < a.N else 1.0, "printed": 1.0 if number < a.N else 1 / a.N}
        grown[part] += factor[a.server] / h.M * Dc
        if a.kept == "sent":
            new[i][part] += Dc
    h.client["c_i"], h.server["c"] = new, c + grown
    return server(h, a, x, hat)


def fedavgm(h: ByHand, a: FedAvgM, x: np.ndarray) -> np.ndarray:
    change = mean(h.steps(i, x, a.T) - x for i in h.clients(a.S))
    h.server["v"] = v = a.lam * h.server["v"] + (1 - a.dampening) * change
    return x + a.eta_server * v


def fedadam(h: ByHand, a: FedAdam, x: np.ndarray) -> np.ndarray:
    Delta = mean(h.steps(i, x, a.T) - x for i in h.clients(a.S))
    v = h.server["v"] if h.r else np.full(h.d, a.tau**2)
    h.server["m"] = m = a.beta1 * h.server["m"] + (1 - a.beta1) * Delta
    h.server["v"] = v = a.beta2 * v + (1 - a.beta2) * Delta**2
    return x + a.eta_server * m / (v**0.5 + a.tau)


def feddc(h: ByHand, a: FedDC, x: np.ndarray) -> np.ndarray:
    S, drift, g, ends, new = h.clients(a.S), h.client["h"], h.client["g"], [], list(h.client["g"])
    g_mean = h.server["g"]
    for i in S:
        y = h.steps(i, x, a.T, lambda y, t: h.g(i, y, t) + a.alpha * (y - (x - drift[i])) + g_mean - g[i])
        drift[i] = drift[i] + (y - x)
        new[i] = g[i] - g_mean - (y - x) / (h.eta * a.T)
        ends.append(y)
    h.server["g"], h.client["g"] = g_mean + mean(new) - mean(g), new
    return mean(ends) + mean(drift)


def fedlin(h: ByHand, a: FedLin, x: np.ndarray) -> np.ndarray:
    anchors = [h.g(i, x) for i in range(h.M)]
    whole = mean(anchors)
    return mean(h.steps(i, x, a.T, lambda y, t: h.g(i, y, t) - anchors[i] + whole) for i in range(h.M))


def slocalgd(h: ByHand, a: SLocalGD, x: np.ndarray) -> np.ndarray:
    if h.r == 0 or h.coin() < a.q:
        h.server["w"] = x
    w = h.server["w"]
    full = mean(h.g(i, w) for i in range(h.M))
    return mean(h.steps(i, x, a.T, lambda y, t: h.g(i, y, t) - h.g(i, w, t) + full) for i in range(h.M))


def topk(h: ByHand, a: TopKFedAvg, x: np.ndarray) -> np.ndarray:
    S, e, total = h.clients(a.S), h.client["e"], np.zeros(h.d)
    for i in S:
        message = e[i] + h.steps(i, x, a.T) - x
        largest = sorted(range(h.d), key=lambda l: -abs(message[l]))[: a.k]
        total[largest] += message[largest]
        e[i] = message
        e[i][largest] = 0.0
    return x + total / len(S)


SHAPES: dict[str, dict] = {  # five or nine coordinates, six clients
    "one block": {"N": 1, "K": 4},
    "two of two, some": {"N": 2, "K": 2, "share": 1},
    "two of three, all": {"N": 2, "K": 3, "share": 2},
    "three of one": {"N": 3, "K": 1},
}


def round_of(algorithm: Any) -> Round:
    return fedbcgdplus if isinstance(algorithm, FedBCGDPlus) else fedbcgd


@pytest.mark.parametrize(("shape", "problem"), list(product(SHAPES, PROBLEMS)))
@pytest.mark.parametrize("name", VARIANTS)
def test_variants_by_hand(name: str, shape: str, problem: str) -> None:
    algorithm = VARIANTS[name](3, ETAS, lam=0.6, **SHAPES[shape])
    start = "gradients" if problem == "logistic" else "zero"
    others = [{"begin": start}] if isinstance(algorithm, FedBCGDPlus) else [{"freeze": False}, {"freeze": True}]
    for other in others:
        agree(PROBLEMS[problem], replace(algorithm, **other), round_of(algorithm))


def test_single_settings_by_hand() -> None:
    """Each setting alone on its printed word, which also makes it another run."""
    p = PROBLEMS["noisy quadratic"]
    corrected = FedBCGDPlus(3, ETAS, 2, 3, 0.6, share=1, begin="gradients")
    for changed in ("control", "variance", "kept", "server", "momentum", "sent"):
        setting: dict[str, Any] = {changed: "whole" if changed == "kept" else "printed"}
        other = replace(corrected, **setting)
        agree(p, other, fedbcgdplus)
        assert not close(trajectory(p, other), trajectory(p, corrected), 1e-3), changed
        with pytest.raises(AssertionError):
            agree(p, other, lambda h, _, x: fedbcgdplus(h, corrected, x))


@pytest.mark.parametrize(
    "Q", [RandK(1), RandK(1, shared=True), TopK(1), QSGD(2), Bernoulli(0.6, shared=True)], ids=lambda Q: Q.name
)
@pytest.mark.parametrize("shape", SHAPES)
def test_compressed_by_hand(Q: Any, shape: str) -> None:
    settings: dict = {"T": 2, "eta": ETAS, "lam": 0.5, "compressor": Q} | SHAPES[shape]
    for algorithm in (FedBCGD(**settings), FedBCGDPlus(**settings), FedBCGDPlus(**settings, kept="whole")):
        agree(PROBLEMS["noisy quadratic"], algorithm, round_of(algorithm))


BASELINES: list[tuple[Any, Round]] = [
    (FedAvgM(3, ETAS, lam=0.7), fedavgm),
    (FedAvgM(2, ETAS, S=4, lam=0.7), fedavgm),
    (FedAvgM(3, ETAS, lam=0.8, dampening=0.7, eta_server=1.5), fedavgm),
    (FedAdam(3, ETAS, beta1=0.6, beta2=0.8, tau=0.02, eta_server=0.3), fedadam),
    (FedAdam(3, ETAS, S=2, tau=0.1), fedadam),
    (FedDC(3, ETAS, alpha=0.3), feddc),
    (FedDC(2, ETAS, S=3, alpha=0.3), feddc),
    (FedDC(2, ETAS, S=3, alpha=0), feddc),
    (FedLin(3, ETAS), fedlin),
    (SLocalGD(3, ETAS), slocalgd),
    (SLocalGD(3, ETAS, q=0.4), slocalgd),
    (TopKFedAvg(3, ETAS, k=2), topk),
    (TopKFedAvg(3, ETAS, S=4, k=1), topk),
]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("algorithm", "round_"), BASELINES, ids=[str(algorithm) for algorithm, _ in BASELINES])
def test_baselines_by_hand(algorithm: Any, round_: Round, problem: str) -> None:
    agree(PROBLEMS[problem], algorithm, round_)


# ---------------------------------------------------------------------------------------------- blocks


def test_parameter_blocks() -> None:
    """They cover all coordinates once, in their order; as equal as can be, or of given sizes."""
    assert parameter_blocks(7, 3, share=0) == {"block 1": slice(0, 3), "block 2": slice(3, 5), "block 3": slice(5, 7)}
    assert parameter_blocks(6, 2, (4, 1), 1) == {
        "block 1": slice(0, 4),
        "block 2": slice(4, 5),
        "share": slice(5, 6),
    }
    for d, share in product(range(1, 12), range(4)):
        for N in range(1, d - share + 1):
            blocks = parameter_blocks(d, N, share=share)
            covered = np.concatenate([np.arange(d)[part] for part in blocks.values()])
            np.testing.assert_array_equal(covered, np.arange(d))
            sizes = [part.stop - part.start for name, part in blocks.items() if name != "share"]
            assert len(sizes) == N and sizes == sorted(sizes, reverse=True) and sizes[0] - sizes[-1] <= 1
            assert ("share" in blocks) == (share > 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 1), "d = 0: expected a whole number >= 1"),
        ((4, 0), "N = 0: expected a whole number >= 1"),
        ((4, 1.5), "N = 1.5: expected a whole number >= 1"),
        ((4, 1, None, -1), "share = -1: expected a whole number >= 0"),
        ((4, 4, None, 1), r"N = 4 blocks, d = 4, share = 1: expected N <= d - share"),
        ((4, 2, (2, 1)), r"sizes = \(2, 1\): expected N = 2 whole numbers >= 1 with the sum d - share = 4"),
        ((4, 2, (2, 2), 1), r"with the sum d - share = 3"),
        ((4, 2, (2, 1, 1)), r"expected N = 2 whole numbers"),
        ((4, 2, (4, 0)), r"sizes\[1\] = 0: expected a whole number >= 1"),
        ((4, 2, (2.5, 1.5)), r"sizes\[0\] = 2.5: expected a whole number >= 1"),
        ((4, 2, 4), "sizes = 4: expected a tuple of whole numbers >= 1"),
        ((4, 2, {1, 3}), "expected a tuple of whole numbers >= 1"),
    ],
)
def test_blocks_that_do_not_fit(arguments: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parameter_blocks(*arguments)


def test_unequal_sizes() -> None:
    p = PROBLEMS["noisy quadratic"]
    agree(p, FedBCGD(2, ETAS, 2, 2, 0.5, sizes=(1, 3), share=1), fedbcgd)
    agree(p, FedBCGDPlus(2, ETAS, 2, 2, 0.5, sizes=(3, 2)), fedbcgdplus)


# ------------------------------------------------------------------------------------------------ bits, errors


def test_bits() -> None:
    """Float by float: d/N and the shared block up, everything down; FedBCGD+ twice that."""
    p = EXACT  # d = 5
    block = FedBCGD(2, 0.1, 2, 2, share=1)
    assert (block.uplink_bits(p), block.downlink_bits(p)) == (32 * (2 + 1), 32 * 5)
    assert FedBCGD(2, 0.1, 2, 2).uplink_bits(p) == 32 * 2.5
    assert FedBCGD(2, 0.1, 2, 2, sizes=(1, 3), share=1).uplink_bits(p) == 32 * 3
    Q = QSGD(2)
    assert FedBCGD(2, 0.1, 2, 2, share=1, compressor=Q, sizes=(1, 3)).uplink_bits(p) == (
        Q.bits(1) + Q.bits(3)
    ) / 2 + Q.bits(1)
    plus = FedBCGDPlus(2, 0.1, 2, 2, share=1, compressor=Q)
    assert plus.uplink_bits(p) == 2 * FedBCGD(2, 0.1, 2, 2, share=1, compressor=Q).uplink_bits(p)
    assert plus.downlink_bits(p) == 2 * 32 * 5
    top, vector = TopKFedAvg(2, 0.1, k=2), 32.0 * 5
    assert (top.uplink_bits(p), top.downlink_bits(p)) == (TopK(2).bits(5), vector)


class Noisy(Spy):
    """A problem that keeps its exact gradients to itself."""

    def __getattr__(self, name: str) -> Any:
        if name == "local_gradient":
            raise AttributeError(name)
        return super().__getattr__(name)


@pytest.mark.parametrize("algorithm", [FedBCGDPlus(1, 0.1, 1, 1), FedLin(1, 0.1), SLocalGD(1, 0.1)], ids=repr)
def test_problems_without_exact_gradients(algorithm: Any) -> None:
    assert np.isfinite(trajectory(Noisy(EXACT), FedBCGD(1, 0.1, 1, 1))).all()
    with pytest.raises(ValueError, match="no local_gradient in quadratic.*: expected a problem with exact gradients"):
        run(Noisy(EXACT), algorithm, rounds=1)


def test_names() -> None:
    """The command line offers all of them, under different names, built from T, eta and, for blocks, N and K."""
    assert set(ALGORITHMS) <= set(registry()) and len(registry()) >= len(ALGORITHMS) + 10
    assert set(get_args(Sent)) == {"all", "printed"}
    for name, build in VARIANTS.items():
        assert isinstance(build(2, 0.1, 2, 3), FedBCGDPlus) == name.startswith("FedBCGD+")
    printed = VARIANTS["FedBCGD+, as printed"](2, 0.1, 2, 3)
    assert printed == FedBCGDPlus(
        2, 0.1, 2, 3, 0.0, None, 0, "printed", "printed", Identity(), "printed", "printed", "whole", "printed", "zero"
    )
