"""The algorithm of "FedBAT: Communication-Efficient Federated Learning via Learnable Binarization".

`FedBAT`: Algorithm 1 with (10) to (14); by its settings also the variant that Section 4 analyses.  `VARIANTS` has both by
name.  Baselines: `SIGNS`, the sign methods; `BASELINES`, the others, with `ZeroFL` and `BiFL`; FedPAQ itself is in
`fedtheory.simulations.algorithms.fedcom`.  Where a problem weighs its clients, all of these aggregate by (2) and (11), with
p'_k = p_k over the sum of the participants' p.

Symbols are the paper's: w the server's model, m a client's update, mhat = S(m, alpha) its binarisation, tau local steps,
phi the share of them without binarisation, rho the pace at which the step sizes are learned, K of N clients in a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import (
    FLOAT,
    Algorithm,
    Memory,
    Messages,
    Watch,
    aggregated,
    at_clients,
    everyone,
    gradients,
    local_steps,
    participating,
    sampled,
    to_clients,
)
from fedtheory.simulations.algorithms.fedbcgd import Sampling, with_error_memory
from fedtheory.simulations.algorithms.fedcom import UNCOMPRESSED, FedPAQ
from fedtheory.simulations.arrays import is_tensor, known_as, like, namespace, runs, spread
from fedtheory.simulations.binarisation import binarise, derivatives, step_size, wire_bits
from fedtheory.simulations.checked import Count, StepSizes, brief, number, one_of, reals
from fedtheory.simulations.compressors import QSGD, MaxSign, NoisySign, Sign, StochasticSign, TopK
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.problems import Array, Problem

StepSize = Literal["learned", "max"]
Sent = Literal["all", "printed"]
Gamma = Literal["theorem", "printed"]
Active = Literal["sampled", "all"]
Upload = Literal["binarised", "full"]


@dataclass(frozen=True)
class FedBAT(Messages):
    """Algorithm 1: floor(phi tau) plain steps, (12), then steps at the binarised update, (14), which is then sent.

    K          participating clients, by default all
    phi        share of the local steps before binarisation, in [0, 1)
    rho        (10): alpha = alpha' exp(rho alpha_e), where alpha_e is learned; 0: alpha stays at alpha'
    step_size  "learned": for each layer alpha' is the mean size of m after floor(phi tau) steps, (13), and alpha_e starts at
               0.  With phi = 0, m is 0 then, so alpha' = 0, and alpha and the binarised update stay 0: the model does not
               move.  "max": alpha is the largest size in the layer at every step, as in Section 4, so that S has no bias
    sent       "all": mhat after tau steps; "printed": line 23, mhat_{t,tau-1}, the point of the last gradient, which is
               the result of tau - 1 steps
    gamma      None: eta at every step; else local step t = 0, 1, 2 ... of the whole run has eta gamma / (gamma + t), as in
               Theorems 1 and 2 with eta = 2 / (mu gamma).  "printed": gamma = max(8 L/mu, tau) - 1, as they print it;
               "theorem": max(8 L/mu, tau); both with the certified constants of the problem
    least      the least number of full-precision steps.  0: Algorithm 1 as printed; 1: corrected, so that it moves with
               phi = 0 and with tau = 1.  Where all tau steps are such, alpha' is the mean size of m after them
    clamp      (least, largest) alpha, as in the authors' code; alpha_e does not move where alpha would lie outside.  None:
               none, as printed
    full       layers with one of these words in their name are trained and sent without binarisation, such as "norm"
    active     "sampled": only the sampled clients train; "all": every client trains, as Appendix D.1 analyses it, but only
               the updates of the same sample are used.  Draws depend on the client, so the model is the same

    Where the problem gives clients their own numbers of local steps, floor(phi tau) is of these.  The layers are the
    problem's blocks.  With gamma "printed" or "theorem" a round raises NoSuchConstant where the problem has no L or mu.
    """

    exact: ClassVar[str] = "exact.enumerated"
    tau: Count
    eta: StepSizes
    K: Count | None = None
    phi: Annotated[float, "in [0, 1)"] = 0.5
    rho: Annotated[float, ">= 0"] = 6.0
    step_size: StepSize = "learned"
    sent: Sent = "all"
    gamma: float | Gamma | None = None
    least: Annotated[int, "a whole number", 0] = 0
    clamp: tuple[float, float] | None = None
    full: tuple[str, ...] = ()
    active: Active = "sampled"
    weighs: ClassVar[bool] = True
    own_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gamma, str):
            one_of("gamma", self.gamma, Gamma)
        elif self.gamma is not None:
            number("gamma", self.gamma, "> 0")
        if self.clamp is not None:
            ends = reals("clamp", self.clamp, "two finite numbers, 0 <= least <= largest")
            if ends.shape != (2,) or not 0 <= ends[0] <= ends[1]:
                raise ValueError(f"clamp = {brief(self.clamp)}: expected two finite numbers, 0 <= least <= largest")
            if self.step_size == "max":
                raise ValueError("clamp with step_size = 'max': expected 'learned', only such alphas are clamped")
        if not isinstance(self.full, tuple | list) or not all(isinstance(word, str) and word for word in self.full):
            raise ValueError(f"full = {brief(self.full)}: expected a list of words in the names of layers")

    @property
    def warm_up(self) -> int:
        """max(least, floor(phi tau)), at most tau; a rounding error does not change the floor."""
        return int(self._warm_up_of(np.array(self.tau)))

    def _warm_up_of(self, tau: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(tau, np.maximum(self.least, np.floor(self.phi * tau + 1e-9).astype(int)))

    def participants(self, problem: Problem) -> int:
        """K, by default all.  Raises ValueError when that is more than there are."""
        return sampled(problem, self.K)

    def symbols(self, problem: Problem) -> dict[str, float]:
        """N clients, K of them a round, tau, p_sq = sum_k p_k^2; q, E||S(m) - m||^2 <= q^2 ||m||^2, where S has no bias.

        S has no bias with step_size "max".  Then the error of a layer of d_l entries is d_l ||m_l||_oo^2 - ||m_l||^2, so
        q^2 = max d_l - 1, attained where a single entry, in the largest layer, is not 0.
        """
        p_sq = 1 / problem.M if problem.weights is None else float((problem.weights**2).sum())
        found = {"N": float(problem.M), "K": float(self.participants(problem)), "tau": float(self.tau), "p_sq": p_sq}
        return found | ({"q": float(np.sqrt(Layers(problem).sizes.max() - 1))} if self.step_size == "max" else {})

    def rates(self, problem: Problem, eta: Array, t: int) -> Array:
        """The learning rate of local step t = 0, 1, 2 ... of the whole run; eta is that of the first.  Shape of eta.

        Raises NoSuchConstant for gamma "printed" or "theorem" where the problem has no L or mu.
        """
        gamma = self.gamma
        if isinstance(gamma, str):
            constants = problem.constants
            gamma = max(8 * constants["L"] / constants["mu"], self.tau) - (gamma == "printed")
        return eta if gamma is None else eta * gamma / (gamma + t)

    def uplink_bits(self, problem: Problem) -> float:
        """A step size in float32 for each layer, and a bit for each coordinate; float32 for layers in `full`."""
        whole = {name: part for name, part in problem.blocks.items() if self._is_full(name)}
        coded = {name: part for name, part in problem.blocks.items() if name not in whole}
        return float(wire_bits(coded) + FLOAT * sum(part.stop - part.start for part in whole.values()))

    def _is_full(self, layer: str) -> bool:
        return any(word in layer for word in self.full)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """w (E, N, d) -> w (E, N, d)."""
        chosen = participating(problem, draws, self.participants(problem))
        clients = chosen if self.active == "sampled" else np.repeat(everyone(problem), len(chosen), axis=0)
        draw, coins, eta = draws.of(clients, self.tau), draws.codes(clients).local, eta[..., None]
        layers = Layers(problem)
        # lines 11 and 12
        w = to_clients(x, clients.shape[1])
        xp = namespace(w)
        m = mhat = xp.zeros_like(w)
        initial = exponent = layers.mean(m)
        own = getattr(problem, "steps", None)  # (M,)
        warm_up: Any = self.warm_up if own is None else self._warm_up_of(np.minimum(own, self.tau)[clients])[..., None]
        unbinarised = layers.spread_names(self._is_full) if self.full else False
        for s in range(self.tau):
            rate = self.rates(problem, eta, draws.round * self.tau + s)
            if np.all(s < warm_up):  # line 15, (12)
                watch(w + m)
                m = m - rate * problem.gradient(w + m, clients, draw.step(s))
                continue
            if np.any(s == warm_up):  # line 17, (13)
                initial = _where(s == warm_up, layers.mean(abs(m)), initial)
            plain = (s < warm_up) | unbinarised
            if self.step_size == "max":  # (8) is 1: no entry is larger than alpha, which is not learned
                mhat = _where(plain, m, self.compressor(m, coins.step(s), layers))
                watch(w + mhat)
                m = m - rate * problem.gradient(w + mhat, clients, draw.step(s))
                continue
            # lines 18 and 20, (14), with (8), (9) and (10)
            alpha, zeta = self._alpha(initial, exponent), coins.step(s).uniform(problem.d)
            of_entry = layers.spread(alpha)
            mhat = _where(plain, m, binarise(m, of_entry, zeta))
            watch(w + mhat)
            g = problem.gradient(w + mhat, clients, draw.step(s))
            by_m, by_alpha = derivatives(m, of_entry, zeta)
            m = m - rate * (g * _where(plain, 1.0, by_m))
            slope = layers.sum(g * _where(plain, 0.0, by_alpha))
            if self.clamp is not None:
                free = step_size(initial, self.rho, exponent)
                slope = slope * xp.astype((free >= self.clamp[0]) & (free <= self.clamp[1]), slope.dtype)
            exponent = exponent - rate * self.rho * alpha * slope
        if np.any(self.tau == warm_up):  # line 22 of the corrected listing
            initial = _where(self.tau == warm_up, layers.mean(abs(m)), initial)
        # lines 23 and 24
        if self.sent == "all":
            coin = coins.step(self.tau)
            if self.step_size == "max":
                sent = self.compressor(m, coin, layers)
            else:
                sent = binarise(m, layers.spread(self._alpha(initial, exponent)), coin.uniform(problem.d))
            mhat = _where(unbinarised, m, sent)
        # line 7, (11)
        return x + aggregated(problem, chosen, mhat if clients is chosen else at_clients(mhat, chosen, x))

    def compressor(self, m: Array, coin: Draw, layers: Layers) -> Array:
        """S(m, alpha) as Section 4 has it, alpha the largest size in each layer: (E, N, K, d)."""
        found: Array = binarise(m, layers.spread(layers.largest(abs(m))), coin.uniform(m.shape[-1]))
        return found

    def _alpha(self, initial: Array, exponent: Array) -> Array:
        """The step sizes, (E, N, K, layers)."""
        alpha = step_size(initial, self.rho, exponent)
        return alpha if self.clamp is None else namespace(alpha).clip(alpha, *self.clamp)


@dataclass(frozen=True)
class EFSignSGD(Sampling):
    """EF-SignSGD (Karimireddy et al. 2019), as Section 1 of the paper uses it: signs of m plus the error memory e.

    T local steps at S clients, by default all; the step size is ||m + e||_1 / d, over all coordinates together.
    `memory["e_i"]` (E, N, M, d) is the error memory: what each client has not sent yet.
    """

    weighs: ClassVar[bool] = True
    own_steps: ClassVar[bool] = True

    def uplink_bits(self, problem: Problem) -> float:
        """A step size, and a bit for each coordinate."""
        return Sign().bits(problem.d)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """w (E, N, d) -> w (E, N, d)."""
        return with_error_memory(self, Sign(), problem, x, eta, draws, watch, memory)


@dataclass(frozen=True)
class ZeroFL(Sampling):
    """ZeroFL (Qiu et al. 2022), as Appendix A.2 of the paper has it: SWAT in local training, and a pruned update.

    T local steps at S clients, by default all.  SWAT (Raihan and Aamodt 2020): a step takes the gradient with all but
    the largest weights of each layer set to 0, and moves all weights along it; in the backward pass the weights of a layer
    read only the largest activations before it, where the problem has layers (`thin_gradient`).  A client sends the
    largest entries of its update and forgets the others.

    sparsity  share that is left out of weights, activations and update, in [0, 1): of d_l entries ceil((1 - sparsity) d_l)
              stay, at least one, ties to the lower index

    The paper does not say whether updates are pruned layer by layer.  Here they are, as the weights in SWAT.  The layers
    are the problem's blocks.
    """

    sparsity: Annotated[float, "in [0, 1)"] = 0.97
    weighs: ClassVar[bool] = True
    own_steps: ClassVar[bool] = True

    def kept(self, size: int) -> int:
        """ceil((1 - sparsity) size), at least 1; a rounding error does not change the ceiling."""
        return max(1, int(np.ceil((1 - self.sparsity) * size - 1e-9)))

    def pruned(self, problem: Problem, v: Array) -> Array:
        """The largest entries of each layer, 0 elsewhere: (..., d) -> (..., d)."""
        out = namespace(v).empty_like(v)
        for part in problem.blocks.values():
            out[..., part] = TopK(self.kept(part.stop - part.start))(v[..., part])
        return out

    def uplink_bits(self, problem: Problem) -> float:
        """For each layer the cheapest of three: k values, each with its index in ceil(log2 d_l) bits; a bitmap of d_l bits
        and k values; all d_l values.  A value takes 32 bits.  k and d_l tell the receiver which of the three it is.
        """
        bits = 0.0
        for part in problem.blocks.values():
            size = part.stop - part.start
            k = self.kept(size)
            bits += min(TopK(k).bits(size), size + FLOAT * k, FLOAT * size)
        return bits

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """w (E, N, d) -> w (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        thin = getattr(problem, "thin_gradient", None)

        def direction(w: Array, draw: Draw) -> Array:
            sparse = self.pruned(problem, w)
            if thin is None:
                return problem.gradient(sparse, clients, draw)
            g: Array = thin(sparse, clients, draw, 1 - self.sparsity)
            return g

        w = local_steps(x, eta, clients, draws, self.T, watch, direction)
        return x + aggregated(problem, clients, self.pruned(problem, w - x[:, :, None]))


@dataclass(frozen=True)
class BiFL(Sampling):
    """BiFL (Yang et al. 2021), as Appendix B.1 of the paper has it: clients train a binary neural network.

    T local steps at S clients, by default all.  A client's latent weights v start at the server's model.  A step takes
    the gradient at the binarised weights alpha sign(v), sign(0) = 1, alpha the mean size of v in the layer, as in
    XNOR-Net, and moves v along it, straight through.  The server's next model is the mean of what is uploaded.

    upload  "binarised": alpha sign(v), BiFL; "full": v, BiFL-Full

    The paper leaves the rest open.  Here the derivative is not cut off where v is large, and clients keep nothing from
    round to round.  So with "binarised" a change is lost where it changes neither a sign nor alpha.  Measurements take
    the server's model as it is, not `binarised`.  The layers are the problem's blocks.
    """

    upload: Upload = "binarised"
    weighs: ClassVar[bool] = True
    own_steps: ClassVar[bool] = True

    def binarised(self, layers: Layers, v: Array) -> Array:
        """alpha sign(v), layer by layer: (..., d) -> (..., d); NaN where the layer has one."""
        alpha = layers.spread(layers.mean(abs(v)))
        return namespace(v).where(v >= 0, alpha, -alpha)

    def uplink_bits(self, problem: Problem) -> float:
        """A step size in float32 for each layer, a bit for each coordinate; "full": the weights in float32."""
        return float(wire_bits(problem.blocks)) if self.upload == "binarised" else super().uplink_bits(problem)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """w (E, N, d) -> w (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        gradient, layers = gradients(problem, clients), Layers(problem)

        def direction(v: Array, draw: Draw) -> Array:
            return gradient(self.binarised(layers, v), draw)

        v = local_steps(x, eta, clients, draws, self.T, watch, direction)
        return aggregated(problem, clients, self.binarised(layers, v) if self.upload == "binarised" else v)


def _where(truths: Any, a: Any, b: Array) -> Array:
    """a, an array or a number, where the truths hold, and the array b elsewhere; without work where none holds."""
    found: Array = namespace(b).where(known_as(truths, b), a, b) if np.any(truths) else b
    return found


class Layers:
    """The problem's blocks as segments of the last axis."""

    def __init__(self, problem: Problem) -> None:
        self.names = list(problem.blocks)
        self.starts = [part.start for part in problem.blocks.values()]
        self.sizes = np.array([part.stop - part.start for part in problem.blocks.values()])
        self._sizes: Any = None  # of v's kind; of tensors moved once to their device

    def sum(self, v: Array) -> Array:
        """(..., d) -> (..., layers)."""
        return runs(v, self.starts, "sum")

    def mean(self, v: Array) -> Array:
        """(..., d) -> (..., layers)."""
        if self._sizes is None or not is_tensor(v):
            self._sizes = like(self.sizes, v)
        return self.sum(v) / self._sizes

    def largest(self, v: Array) -> Array:
        """(..., d) -> (..., layers)."""
        return runs(v, self.starts, "max")

    def spread_names(self, chosen: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Whether each coordinate is in a layer of a chosen name, (d,)."""
        return np.repeat([chosen(name) for name in self.names], self.sizes)

    def spread(self, v: Array) -> Array:
        """Repeats the number of each layer for each of its coordinates: (..., layers) -> (..., d)."""
        return spread(v, self.sizes)


VARIANTS: dict[str, Callable[..., Algorithm]] = {
    "FedBAT": FedBAT,
    "FedBAT, corrected": partial(FedBAT, least=1),
    "FedBAT, line 23 as printed": partial(FedBAT, sent="printed"),
    "FedBAT, as analysed": partial(FedBAT, phi=0.0, step_size="max"),
}
# Step sizes and noise as in Appendix A.2 for networks; for others use FedPAQ with Sign, NoisySign, MaxSign
SIGNS: dict[str, Callable[..., Algorithm]] = {
    "SignSGD": partial(FedPAQ, compressor=Sign(0.001)),
    "EF-SignSGD": EFSignSGD,
    "Noisy-SignSGD": partial(FedPAQ, compressor=NoisySign(0.01, 0.01)),
    "Stoc-SignSGD": partial(FedPAQ, compressor=MaxSign(0.01)),
    "Stoc-SignSGD, Euclidean norm": partial(FedPAQ, compressor=StochasticSign(0.01)),
}
# b bits for each parameter: its sign, and ceil(log2(s + 1)) = b - 1 bits for its level, s = 2^(b-1) - 1; plus the norm
BASELINES: dict[str, Callable[..., Algorithm]] = {
    "FedAvg": partial(FedPAQ, compressor=UNCOMPRESSED),
    **{f"FedPAQ, {b} bits": partial(FedPAQ, compressor=QSGD(2 ** (b - 1) - 1)) for b in range(2, 9)},
    "ZeroFL": ZeroFL,
    "BiFL": BiFL,
    "BiFL-Full": partial(BiFL, upload="full"),
}
ALGORITHMS = VARIANTS | SIGNS | BASELINES
