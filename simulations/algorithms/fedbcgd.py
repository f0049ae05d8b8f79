"""Algorithms of "FedBCGD: Communication-Efficient Accelerated Block Coordinate Gradient Descent for Federated Learning".

`FedBCGD`: Algorithm 1.  `FedBCGDPlus`: Algorithm 3, with control variates and variance reduction.  Settings choose between
the printed form, the form that the proofs use, and the corrected one.  `VARIANTS` has the combinations by name,
`ABLATIONS` those of Figure 5.  Baselines: `FedAvgM`, `FedAdam`, `FedDC`, `FedLin`, `SLocalGD`, `TopKFedAvg`; FedAvg,
FedPAQ and SCAFFOLD are in `fedtheory.simulations.algorithms.fedcom`.

Symbols are the listings': x the server's model, y a client's (printed x_{k,j}), T local steps of size eta, N blocks of
coordinates and as many blocks of K clients each, lam the server's momentum, v its velocity, c and c_i the control
variates.  `uplink_bits` and `downlink_bits` are the expected bits per participating client and round.  `symbols` gives an
algorithm's numbers by the symbols of the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import (
    Algorithm,
    Memory,
    Messages,
    Participants,
    Watch,
    aggregated,
    at_both,
    at_clients,
    everyone,
    exact,
    gradients,
    kept,
    local_steps,
    participating,
    sampled,
    to_clients,
    with_clients,
)
from fedtheory.simulations.algorithms.fedcom import UNCOMPRESSED, encode
from fedtheory.simulations.arrays import known_as, like, namespace
from fedtheory.simulations.checked import Count, StepSizes, Truth, brief, whole
from fedtheory.simulations.compressors import Compressor, Identity, TopK
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.problems import Array, Problem

Momentum = Literal["theory", "printed", "display"]
Sent = Literal["all", "printed"]
Form = Literal["theory", "printed"]
Kept = Literal["sent", "whole"]
Server = Literal["mean", "printed", "(71)"]
Begin = Literal["zero", "gradients"]


def _sizes(name: str, value: Any) -> tuple[int, ...]:
    """The sizes of blocks.  Raises ValueError unless they are a tuple or list of whole numbers >= 1."""
    if not isinstance(value, tuple | list):
        raise ValueError(f"{name} = {brief(value)}: expected a tuple of whole numbers >= 1")
    return tuple(whole(f"{name}[{j}]", size) for j, size in enumerate(value))


def parameter_blocks(d: int, N: int, sizes: tuple[int, ...] | None = None, share: int = 0) -> dict[str, slice]:
    """The partition of d coordinates, (2) and (11): "block 1" ... "block N" and, where share > 0, last, "share".

    sizes  coordinates of each block, in their order; None: as equal as can be, the larger ones first

    Raises ValueError for a d or N that is not a whole number >= 1, a share that is not one >= 0, sizes that are not N
    whole numbers >= 1 with the sum d - share, or more blocks than the d - share coordinates.
    """
    whole("d", d)
    whole("N", N)
    whole("share", share, 0)
    rest = d - share
    if rest < N:
        raise ValueError(f"N = {N} blocks, d = {d}, share = {share}: expected N <= d - share")
    if sizes is None:
        sizes = tuple(rest // N + (j < rest % N) for j in range(N))
    elif len(_sizes("sizes", sizes)) != N or sum(sizes) != rest:
        raise ValueError(f"sizes = {sizes}: expected N = {N} whole numbers >= 1 with the sum d - share = {rest}")
    ends = np.cumsum(sizes).tolist()
    blocks = {f"block {j + 1}": slice(end - size, end) for j, (size, end) in enumerate(zip(sizes, ends, strict=True))}
    return blocks | ({"share": slice(rest, d)} if share else {})


_blocks = lru_cache(maxsize=64)(parameter_blocks)  # the same in every round


@lru_cache(maxsize=64)
def _of_coordinates(d: int, N: int, sizes: tuple[int, ...] | None, share: int) -> NDArray[np.int64]:
    """The number of each coordinate's block, 0 ... N - 1, or N for the shared block: (d,), not to be written to."""
    found = np.full(d, N)
    for j, part in enumerate(list(parameter_blocks(d, N, sizes, share).values())[:N]):
        found[part] = j
    found.flags.writeable = False
    return found


# ----------------------------------------------------------------------------------------- in common


@dataclass(frozen=True)
class LocalSGD(Messages):
    """T local steps of size eta at all clients."""

    T: Count
    eta: StepSizes

    def participants(self, problem: Problem) -> int:
        """All M clients."""
        return problem.M

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M, S, T, and the settings in `as_symbols`."""
        counts = {"M": float(problem.M), "S": float(self.participants(problem)), "T": float(self.T)}
        return counts | self.more_symbols()


@dataclass(frozen=True)
class Sampling(LocalSGD):
    """Local SGD at S clients a round, drawn without replacement, by default all."""

    S: Participants | None = None

    def participants(self, problem: Problem) -> int:
        """S, by default all M.  Raises ValueError when S > M."""
        return sampled(problem, self.S)


@dataclass(frozen=True)
class BlockDescent(LocalSGD):
    """What FedBCGD and FedBCGD+ have in common: who sends which coordinates, and what the server does with them.

    N, K        blocks of coordinates; clients of each client block, so that S = N K take part
    lam         momentum of the server, in [0, 1)
    sizes       coordinates of each block, None: as equal as can be
    share       coordinates of the shared block, the last ones, which every participating client sends; 0: none
    momentum    xhat is the mean of what the clients sent, v the velocity, 0 at first.  "theory", as the proof of
                Lemma 10 uses it: v = lam v + (xhat - x), x = x + v.  "printed", lines 20 to 25 (in Algorithm 3: 23 to
                33): v = lam v + (xhat - x) too, but x = xhat + v counts the change twice; in the shared block they
                subtract x_s^(r-1) from itself, so v_s stays 0.  "display", (42) and (43) as they stand:
                v^r = lam v^(r-1) + eta G^r with eta G^r = x - xhat, and x^r = x^(r-1) + v^(r-1), which climbs
    sent        "all": the result of T local steps; "printed": x^(r,T) of the loop t = 1..T, which starts at
                x^(r,1) = x^r: the result of T - 1 steps
    compressor  Q; a client sends Q(its block of y - x) and Q(the shared block of y - x)

    For a problem raises ValueError where the blocks do not fit its d, or N K > M.
    """

    N: Count
    K: Count
    lam: Annotated[float, "in [0, 1)"] = 0.0
    sizes: Annotated[tuple[int, ...], _sizes] | None = None
    share: Annotated[int, "a whole number", 0] = 0
    momentum: Momentum = "theory"
    sent: Sent = "all"
    compressor: Compressor = UNCOMPRESSED

    def participants(self, problem: Problem) -> int:
        """S = N K.  Raises ValueError when that is more than M, or the blocks do not fit d."""
        self.blocks(problem)
        S = self.N * self.K
        if problem.M < S:
            raise ValueError(
                f"N = {self.N} and K = {self.K}, but {problem.name} has M = {problem.M} clients: expected N K <= M"
            )
        return S

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M, N, K, S, T, lam and, derived from it, alpha = 1/(1 - lam), gamma = lam/(1 - lam)."""
        lam = float(self.lam)
        blocks = {"N": float(self.N), "K": float(self.K)}
        return {**super().symbols(problem), **blocks, "lam": lam, "alpha": 1 / (1 - lam), "gamma": lam / (1 - lam)}

    def uplink_bits(self, problem: Problem) -> float:
        """Expected bits that a participating client sends in a round: its block (mean over the clients), the shared one."""
        bits = {name: self.compressor.bits(part.stop - part.start) for name, part in self.blocks(problem).items()}
        shared = bits.pop("share", 0.0)
        return self.up * (sum(bits.values()) / self.N + shared)

    def blocks(self, problem: Problem) -> dict[str, slice]:
        """The blocks of the problem's coordinates, by name.  Raises ValueError when they do not fit."""
        return _blocks(problem.d, self.N, None if self.sizes is None else tuple(self.sizes), self.share)

    @property
    def steps(self) -> int:
        """Local steps that count: T, or with sent "printed" T - 1."""
        return self.T - (self.sent == "printed")

    def sampling(self, problem: Problem, draws: Draws) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Lines 5 and 6: clients (1, M) or (N, S), and which coordinates each of them sends, (1 or N, S, d).

        Positions j K to (j + 1) K - 1 of the drawn order are client block j.  Where all clients take part, the array of
        clients stays 0 ... M - 1 and is shared by all seeds, which makes gradients cheaper; only the client blocks follow
        the drawn order.
        """
        S = self.participants(problem)
        clients, block = draws.order(problem.M, S), (np.arange(S) // self.K)[None]
        if problem.M == S:
            clients, block = everyone(problem), np.argsort(clients, axis=1) // self.K
        of_coordinate = _of_coordinates(
            problem.d, self.N, None if self.sizes is None else tuple(self.sizes), self.share
        )
        return clients, (block[..., None] == of_coordinate) | (of_coordinate == self.N)

    def message(
        self,
        problem: Problem,
        change: Array,
        clients: NDArray[np.int64],
        own: NDArray[np.bool_],
        draws: Draws,
        first: int = 0,
    ) -> Array:
        """What the clients send of change (E, N, S, d): each slice through Q, and 0 where a client sends nothing.

        first  number of the first slice's coins: different messages of a round need different coins
        """
        xp, out = namespace(change), change
        if not isinstance(self.compressor, Identity):
            out = xp.empty_like(change)
            coins = draws.codes(clients, shared=self.compressor.shared).local
            for number, part in enumerate(self.blocks(problem).values()):
                out[..., part] = self.compressor(change[..., part], coins.step(first + number))
        return xp.where(known_as(own, change), out, 0.0)

    def weighted(self, message: Array, block: Fraction | float, share: Fraction | float) -> Array:
        """The message (..., d) times `block` on the blocks, times `share` on the shared block."""
        kind = object if message.dtype == object else float  # exact numbers stay exact
        factors = np.full(message.shape[-1], block, dtype=kind)
        factors[message.shape[-1] - self.share :] = share
        return message * like(factors, message)

    def mean(self, message: Array) -> Array:
        """xhat - x, lines 20 and 23: mean over the K clients of each block, over all N K of the shared one."""
        return self.weighted(message.sum(axis=2), Fraction(1, self.K), Fraction(1, self.N * self.K))

    def moved(self, x: Array, change: Array, memory: Memory) -> Array:
        """x of the next round, lines 20 to 25, from x and xhat - x (E, N, d); v is in the memory."""
        v = kept(memory, "v", x)
        if self.momentum == "theory":
            memory["v"] = self.lam * v + change
            return x + memory["v"]
        if self.momentum == "display":
            memory["v"] = self.lam * v - change
            return x + v
        memory["v"] = self.lam * v + self.weighted(change, 1.0, 0.0)
        return x + change + memory["v"]


# -------------------------------------------------------------------------------- the paper's algorithms


@dataclass(frozen=True)
class FedBCGD(BlockDescent):
    """Algorithm 1 (printed again as Algorithm 2): each client trains all coordinates and sends one block of them.

    freeze  a client applies its gradients to its own block and the shared one only, as "freezing" in Figure 5 does

    `memory["v"]` (E, N, d) is the server's velocity.  The other settings: see `BlockDescent`.
    """

    freeze: Truth = False

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        # lines 5 to 7: N K clients, divided into N client blocks, get x^r
        clients, own = self.sampling(problem, draws)

        # lines 10 to 13: y = y - eta grad f_{k,j}(y; zeta)
        def gradient(y: Array, draw: Draw) -> Array:
            g = problem.gradient(y, clients, draw)
            return namespace(g).where(known_as(own, g), g, 0.0) if self.freeze else g

        y = local_steps(x, eta, clients, draws, self.steps, watch, gradient)
        # line 14: client k of client block j sends y_(j) and y_s
        sent = self.message(problem, y - x[:, :, None], clients, own, draws)
        # lines 20 to 25
        return self.moved(x, self.mean(sent), memory)


@dataclass(frozen=True)
class FedBCGDPlus(BlockDescent):
    """Algorithm 3, FedBCGD+: FedBCGD with control variates c, c_i (SCAFFOLD) and variance reduction (SVRG).

    A local step is y = y - eta direction, with g(.) the stochastic gradients of client i at this step, at y and at x^r
    with the same noise or mini-batch, and grad f_i(x^r) exact:

        direction = g(y) + s_c (c - c_i) + s_v (grad f_i(x^r) - g(x^r))

    control, variance  s_c and s_v: 1, as the proofs sum the terms (Lemma 11), or -1, as line 13, (4), prints them
    kept    what client i keeps of c_i^+ = grad f_i(x^r): "sent", only the coordinates that it sent, so that the server's
            c stays the mean of all c_i; "whole", lines 15 and 17, all of them.  With a compressor "sent" adds the message
            Q(c_i^+ - c_i), for the same reason; it is not damped, and needs q < 1
    server  "mean": c_(j) and c_s grow by 1/M times the sum of the differences sent; "printed", lines 26 and 31:
            1/M in the blocks and 1/(M N) in the shared one; "(71)": K/M in the blocks, 1/M in the shared one.  With
            kept "sent", in each coordinate c - c^0 is then the factor times the growth of the mean of the c_i.  From
            "zero" the minimiser stays a fixed point, for K/M not always a stable one; from "gradients" it is not one
    begin   c_i^0: "zero", or "gradients", grad f_i(x^0); c^0 is their mean

    `memory["v"]` and `memory["c"]` (E, N, d) are the server's, `memory["c_i"]` (E, N, M, d) the clients'.  The other
    settings: see `BlockDescent`.  A round raises ValueError for a problem that offers no `local_gradient`.
    """

    control: Form = "theory"
    variance: Form = "theory"
    kept: Kept = "sent"
    server: Server = "mean"
    begin: Begin = "zero"
    up = down = 2  # of the model and of the control variate

    def controls(self, problem: Problem, x: Array, memory: Memory) -> tuple[Array, Array]:
        """c (E, N, d) and every client's c_i (E, N, M, d), from the memory or, in the first round, as `begin` says."""
        if "c_i" in memory:
            return memory["c"], memory["c_i"]
        if self.begin == "gradients":
            every_c = exact(problem).local_gradient(to_clients(x, problem.M), everyone(problem))
        else:
            every_c = kept(memory, "c_i", x, problem.M)
        return like(every_c.mean(axis=2), x), every_c

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        # lines 5 to 7: N K clients, divided into N client blocks, get (x^r, c)
        clients, own = self.sampling(problem, draws)
        c, every_c = self.controls(problem, x, memory)
        c_i, x_i = at_clients(every_c, clients, x), to_clients(x, clients.shape[1])
        # line 10: full batch gradient grad f_{k,j}(x^r)
        full = exact(problem).local_gradient(x_i, clients)
        # line 13: g(y) + s_c (c - c_i) + s_v (grad f_i(x^r) - g(x^r))
        s_c, s_v = (1 if form == "theory" else -1 for form in (self.control, self.variance))
        shift = s_c * (c[:, :, None] - c_i) + s_v * full

        def direction(y: Array, draw: Draw) -> Array:
            at_y, at_x = at_both(problem, y, x_i, clients, draw)
            return at_y + shift - s_v * at_x

        y = local_steps(x, eta, clients, draws, self.steps, watch, direction)
        # lines 15 and 16: c_i^+ = grad f_i(x^r); client k of client block j sends its blocks of y and of c_i^+ - c_i
        sent = self.message(problem, y - x_i, clients, own, draws)
        sent_c = self.message(problem, full - c_i, clients, own, draws, first=self.N + 1)
        # line 17: c_i = c_i^+
        memory["c_i"] = with_clients(every_c, clients, full if self.kept == "whole" else c_i + sent_c)
        # lines 26 and 31, or (71)
        block = self.K if self.server == "(71)" else 1
        share = Fraction(1, self.N) if self.server == "printed" else 1
        memory["c"] = c + self.weighted(sent_c.sum(axis=2), block, share) / problem.M
        # lines 23 to 25, 28 to 30
        return self.moved(x, self.mean(sent), memory)


# --------------------------------------------------------------------------------------------- baselines


@dataclass(frozen=True)
class FedAvgM(Sampling):
    """FedAvgM (Hsu, Qi and Brown 2019, "Measuring the effects of non-identical data distribution"), without Nesterov.

    lam         momentum of the server, in [0, 1); 0: FedAvg
    dampening   of the change that enters the velocity, in [0, 1): v = lam v + (1 - dampening) Delta; lam: v is a mean
    eta_server  the server's step size, > 0

    `memory["v"]` (E, N, d) is the server's velocity.
    """

    lam: Annotated[float, "in [0, 1)"] = 0.9
    dampening: Annotated[float, "in [0, 1)"] = 0.0
    eta_server: Annotated[float, "> 0"] = 1.0
    as_symbols = ("lam",)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        Delta = mean_change(self, problem, x, eta, draws, watch)
        # server: v = lam v + (1 - dampening) Delta, x = x + eta_server v
        memory["v"] = self.lam * kept(memory, "v", x) + (1 - self.dampening) * Delta
        return x + self.eta_server * memory["v"]


@dataclass(frozen=True)
class FedAdam(Sampling):
    """FedAdam (Reddi et al. 2021, "Adaptive Federated Optimization", Algorithm 2), without bias correction.

    eta_server    the server's step size, printed eta (and eta_l for eta)
    beta1, beta2  share of m and of v that is kept, in [0, 1)
    tau           adaptivity, > 0; v starts at tau^2

    `memory["m"]` and `memory["v"]` (E, N, d) are the server's moments.
    """

    eta_server: Annotated[float, "> 0"] = 0.1
    beta1: Annotated[float, "in [0, 1)"] = 0.9
    beta2: Annotated[float, "in [0, 1)"] = 0.99
    tau: Annotated[float, "> 0"] = 1e-3
    as_symbols = ("eta_server", "beta1", "beta2", "tau")

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        m, v = kept(memory, "m", x), kept(memory, "v", x, value=self.tau**2)
        Delta = mean_change(self, problem, x, eta, draws, watch)
        # m = beta1 m + (1 - beta1) Delta, v = beta2 v + (1 - beta2) Delta^2
        memory["m"] = self.beta1 * m + (1 - self.beta1) * Delta
        memory["v"] = self.beta2 * v + (1 - self.beta2) * Delta**2
        # x = x + eta_server m / (sqrt(v) + tau)
        return x + self.eta_server * memory["m"] / (memory["v"] ** 0.5 + self.tau)


@dataclass(frozen=True)
class FedDC(Sampling):
    """FedDC (Gao et al., CVPR 2022, Algorithm 1): drift variables h_i, penalty alpha, gradient correction.

    Client i steps against the gradient of f_i(y) + (alpha/2) ||y + h_i - x||^2 + <y, c - c_i>.  Its h_i grows by y - x,
    its move in the round.  The next model is the mean of the participants' y plus the mean of all h_i.  c_i, c are the
    gradient correction, printed (1/(eta T)) times g_i and g, updated as in SCAFFOLD with Option II, as the authors'
    program does.

    alpha  weight of the penalty, >= 0

    `memory["h_i"]` and `memory["c_i"]` (E, N, M, d) are the clients', `memory["c"]` (E, N, d) the server's; all start
    at 0.
    """

    alpha: Annotated[float, ">= 0"] = 0.01
    up = 2  # the model, from which the server knows h_i, and the change of c_i
    down = 2  # the model and the mean correction
    as_symbols = ("alpha",)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        every_h, every_c = (kept(memory, name, x, problem.M) for name in ("h_i", "c_i"))
        c = kept(memory, "c", x)
        h_i, c_i = at_clients(every_h, clients, x), at_clients(every_c, clients, x)
        x_i = to_clients(x, clients.shape[1])
        # client i: y = y - eta (g(y) + alpha (y + h_i - x) + c - c_i)
        shift = self.alpha * (h_i - x_i) + c[:, :, None] - c_i

        def direction(y: Array, draw: Draw) -> Array:
            return problem.gradient(y, clients, draw) + self.alpha * y + shift

        y = local_steps(x, eta, clients, draws, self.T, watch, direction)
        # h_i = h_i + y - x; c_i^+ = c_i - c + (1/(eta T)) (x - y)
        every_h = with_clients(every_h, clients, h_i + y - x_i)
        c_plus = c_i - c[:, :, None] + (x_i - y) / (eta[..., None] * self.T)
        # server: x = mean of y + mean of all h_i; c = c + (1/M) sum_i (c_i^+ - c_i)
        memory["h_i"], memory["c_i"] = every_h, with_clients(every_c, clients, c_plus)
        memory["c"] = c + (c_plus - c_i).sum(axis=2) / problem.M
        return y.mean(axis=2) + like(every_h.mean(axis=2), x)


@dataclass(frozen=True)
class FedLin(LocalSGD):
    """FedLin (Mitra et al., NeurIPS 2021, Algorithm 1), uncompressed, one step size for all clients, all taking part.

    y = y - eta (g(y) - grad f_i(x^r) + grad f(x^r)), where both gradients at x^r are exact.  A round has two exchanges:
    first x^r and the gradients there, then grad f(x^r) and the models.

    A round raises ValueError for a problem that offers no `local_gradient`.
    """

    up = down = 2  # the gradient at x^r and the model; the model and the mean gradient

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        g_i = exact(problem).local_gradient(to_clients(x, problem.M), clients)
        shift = g_i.mean(axis=2)[:, :, None] - g_i

        def direction(y: Array, draw: Draw) -> Array:
            return problem.gradient(y, clients, draw) + shift

        return local_steps(x, eta, clients, draws, self.T, watch, direction).mean(axis=2)


@dataclass(frozen=True)
class SLocalGD(LocalSGD):
    """S-Local-SVRG (Gorbunov, Hanzely and Richtarik, AISTATS 2021); with exact gradients their S-Local-GD.

    Their local methods step against a_i - b_i: a_i estimates grad f_i, and the shifts b_i have mean 0 over the clients.
    Here, with a reference point w, the same for all clients,

        a_i = g(y) - g(w) + grad f_i(w),   b_i = grad f_i(w) - grad f(w),   a_i - b_i = g(y) - g(w) + grad f(w),

    g(y) and g(w) with the same noise or mini-batch, the gradients of f_i and f exact.  This is the form with local loops
    of fixed length: T steps, then all models are replaced by their mean.  w is the model at the start of the first round;
    at the start of a later round it becomes the model with probability q, by one coin for all clients.  So with q = 1
    and exact gradients this is FedLin.

    q  probability of a new reference point, in (0, 1]

    `memory["w"]` (E, N, d) is the reference point, `memory["g"]` (E, N, d) is grad f(w).  A round raises
    ValueError for a problem that offers no `local_gradient`.
    """

    coin: ClassVar[str] = "q"
    q: Annotated[float, "in (0, 1]"] = 1.0
    as_symbols = ("q",)

    def uplink_bits(self, problem: Problem) -> float:
        """The model and, with probability q, the gradient at w; in the first round it is certain."""
        return (1 + self.q) * super().uplink_bits(problem)

    def downlink_bits(self, problem: Problem) -> float:
        """The model and, with probability q, grad f(w)."""
        return (1 + self.q) * super().downlink_bits(problem)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        # w = x with probability q; the coin is the draw of client M, which does not exist
        new = draws.of(np.full((1, 1), problem.M), 1).step(0).uniform(1)[:, 0] < self.q
        if new.any() or "w" not in memory:
            g = exact(problem).local_gradient(to_clients(x, problem.M), clients).mean(axis=2)
            xp, chosen = namespace(x), known_as(new, x)
            memory["w"] = xp.where(chosen, x, memory.get("w", x))
            memory["g"] = xp.where(chosen, g, memory.get("g", g))
        w, g = to_clients(memory["w"], problem.M), memory["g"][:, :, None]

        # client i: y = y - eta (g(y) - g(w) + grad f(w))
        def direction(y: Array, draw: Draw) -> Array:
            at_y, at_w = at_both(problem, y, w, clients, draw)
            return at_y - at_w + g

        return local_steps(x, eta, clients, draws, self.T, watch, direction).mean(axis=2)


@dataclass(frozen=True)
class TopKFedAvg(Sampling):
    """FedAvg with top-k messages and error memory (Qsparse-local-SGD of Basu et al., NeurIPS 2019, Algorithm 1).

    k  coordinates that a client sends

    `memory["e_i"]` (E, N, M, d) is what each client has not sent yet, 0 at first.  Raises ValueError for a problem
    with d < k.
    """

    k: Count = 1
    as_symbols = ("k",)

    def uplink_bits(self, problem: Problem) -> float:
        """k values, each with its index."""
        return TopK(self.k).bits(problem.d)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        return with_error_memory(self, TopK(self.k), problem, x, eta, draws, watch, memory)


# ----------------------------------------------------------------------------------------------- names

VARIANTS: dict[str, Callable[..., FedBCGD | FedBCGDPlus]] = {
    "FedBCGD": FedBCGD,
    "FedBCGD, as printed": partial(FedBCGD, momentum="printed", sent="printed"),
    "FedBCGD, momentum of lines 20-25": partial(FedBCGD, momentum="printed"),
    "FedBCGD, (42) and (43)": partial(FedBCGD, momentum="display"),
    "FedBCGD+": FedBCGDPlus,
    "FedBCGD+, as printed": partial(
        FedBCGDPlus,
        momentum="printed",
        sent="printed",
        control="printed",
        variance="printed",
        kept="whole",
        server="printed",
    ),
    "FedBCGD+, signs of line 13": partial(FedBCGDPlus, control="printed", variance="printed"),
    "FedBCGD+, whole c_i kept": partial(FedBCGDPlus, kept="whole"),
    "FedBCGD+, factor K/M of (71)": partial(FedBCGDPlus, server="(71)"),
}
# Figure 5, by (T, eta, N, K, share, lam); those without a shared block or momentum ignore share or lam.
ABLATIONS: dict[str, Callable[[int, Any, int, int, int, float], FedBCGD]] = {
    "freezing, non-share": lambda T, eta, N, K, share, lam: FedBCGD(T, eta, N, K, freeze=True),
    "freezing, share": lambda T, eta, N, K, share, lam: FedBCGD(T, eta, N, K, share=share, freeze=True),
    "non-share": lambda T, eta, N, K, share, lam: FedBCGD(T, eta, N, K),
    "share": lambda T, eta, N, K, share, lam: FedBCGD(T, eta, N, K, share=share),
    "share, momentum": lambda T, eta, N, K, share, lam: FedBCGD(T, eta, N, K, lam, share=share),
}
ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    **{a.__name__: a for a in (FedAvgM, FedAdam, FedDC, FedLin, SLocalGD, TopKFedAvg)},
    **VARIANTS,
}


# ----------------------------------------------------------------------------------------------- steps


def with_error_memory(
    algorithm: Sampling,
    Q: Compressor,
    problem: Problem,
    x: Array,
    eta: Array,
    draws: Draws,
    watch: Watch,
    memory: Memory,
) -> Array:
    """A round of FedAvg in which client i sends Q(e_i + y - x) and keeps the rest as e_i: x (E, N, d) -> x (E, N, d)."""
    clients = participating(problem, draws, algorithm.participants(problem))
    every_e = kept(memory, "e_i", x, problem.M)
    y = local_steps(x, eta, clients, draws, algorithm.T, watch, gradients(problem, clients))
    whole_message = at_clients(every_e, clients, x) + y - x[:, :, None]
    sent = encode(Q, whole_message, clients, draws)
    memory["e_i"] = with_clients(every_e, clients, whole_message - sent)
    # server: x = x + the mean of the messages, or their sum with the problem's weights
    return x + aggregated(problem, clients, sent)


def mean_change(algorithm: Sampling, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch) -> Array:
    """Delta (E, N, d): the mean of y - x over the participants, after T steps of SGD each, as in FedAvg."""
    clients = participating(problem, draws, algorithm.participants(problem))
    return local_steps(x, eta, clients, draws, algorithm.T, watch, gradients(problem, clients)).mean(axis=2) - x


# -------------------------------------------------------------------------------------------- settings
