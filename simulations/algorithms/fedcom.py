"""Algorithms of "Federated Learning with Compression: Unified Analysis and Sharp Guarantees" (AISTATS 2021).

`FedCOM`, `FedCOMGATE`: Algorithms 1 and 2, and 4 with sampled clients.  `FedGATE`: Algorithm 3.  `SparseFedCOMGATE`:
Section B.2, (8) and (9).  Baselines: `FedPAQ` (FedAvg with compression), `SCAFFOLD`, `DIANA`, `VRDIANA`.  `VARIANTS`: the
printed forms of FedCOMGATE, and corrected ones, by name.

Symbols are the listings': w the server's model, w_j a client's, tau local steps, eta and gamma the local and the global
step size, delta_j the gradient tracking, Q the compressor.  `uplink_bits` and `downlink_bits` are the expected bits per
participating client and round (a number that is not compressed takes 32).  `symbols` gives an algorithm's numbers by the
symbols of the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import (
    FLOAT,
    Algorithm,
    LocalCount,
    Memory,
    Messages,
    Participants,
    Watch,
    aggregated,
    at_clients,
    everyone,
    gradients,
    kept,
    local_steps,
    participating,
    sampled,
    to_clients,
    with_clients,
)
from fedtheory.simulations.arrays import known_as, like, namespace
from fedtheory.simulations.checked import StepSizes, brief, number
from fedtheory.simulations.compressors import Compressor, Identity
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem

Divisor = Literal["participants", "clients"]
Option = Literal["I", "II"]
Form = Literal["printed", "corrected"]
Start = Literal["zero", "gradient"]
Scheme = Literal["shares", "I", "II"]
Gamma = Annotated[float, "> 0"]
Damping = Annotated[float, "> 0"]

UNCOMPRESSED = Identity()


class Settings(Protocol):
    """The settings of the algorithms below; some algorithms fix one of them."""

    @property
    def tau(self) -> int:
        """Local steps."""

    @property
    def gamma(self) -> float:
        """Global step size."""

    @property
    def compressor(self) -> Compressor:
        """Q, the compressor of a client's message."""


class Compressing(Messages):
    """Local steps at all clients, one compressed message up, one uncompressed vector down."""

    def participants(self, problem: Problem) -> int:
        """All M clients."""
        return problem.M

    def uplink_bits(self: Settings, problem: Problem) -> float:
        """Expected bits that a participating client sends in a round: one message through the compressor."""
        return self.compressor.bits(problem.d)

    def downlink_bits(self, problem: Problem) -> float:
        """Bits that a participating client receives in a round."""
        return self.down * FLOAT * problem.d

    def symbols(self: Settings, problem: Problem) -> dict[str, float]:
        """m, tau, gamma and q.  Raises ValueError when the compressor has no q."""
        q = variance_factor(self.compressor, problem.d)
        return {"m": float(problem.M), "tau": float(self.tau), "gamma": float(self.gamma), "q": q}


@dataclass(frozen=True)
class FedCOM(Compressing):
    """Algorithm 1, for homogeneous clients: local SGD, compressed accumulated gradients."""

    tau: LocalCount
    eta: StepSizes
    gamma: Gamma = 1.0
    compressor: Compressor = UNCOMPRESSED

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        # w_j^(0) = w; tau times w_j^(c+1) = w_j^(c) - eta g_j^(c)
        w_j = local_steps(x, eta, clients, draws, self.tau, watch, gradients(problem, clients))
        # client j sends Delta_jq = Q((w - w_j^(tau)) / eta)
        Delta_jq = encode(self.compressor, (x[:, :, None] - w_j) / eta[..., None], clients, draws)
        # server: w = w - eta gamma (1/m) sum_j Delta_jq
        return x - eta * self.gamma * Delta_jq.mean(axis=2)


@dataclass(frozen=True)
class FedCOMGATE(Compressing):
    """Algorithm 2: FedCOM with local gradient tracking; with k < 1, Algorithm 4: only some clients take part.

    k        share of the clients that take part, in (0, 1]: floor(k m) of them a round, drawn without replacement
    divisor  the server divides the sum of the messages by the number of "participants", or by that of all "clients",
             m, as Algorithm 4 prints it; the same when k = 1.  With m, the mean of delta_j does not stay zero:
             (1/m) sum_j delta_j^(r) = ((1 - |S|/m) / (eta gamma tau)) (w^(0) - w^(r)), which pulls the run back to its
             starting point.  (This is for sign and damping 1; else the mean is sign alpha times that.)  With |S| it
             stays zero; but a single participant then tracks nothing, delta_j stays 0
    damping  alpha in delta_j = delta_j + (alpha / tau) (Delta_jq - Delta_q); 1 as Algorithms 2 and 4 print it;
             None: 1 / (1 + q), with the compressor's q, as in DIANA.  At eta -> 0 a round multiplies the mean square of
             the tracking error by (1 - alpha)^2 + alpha^2 q if all clients have one mask, where alpha = 1 needs q < 1; by
             (1 - alpha)^2 + alpha^2 q (1 - 1/m) if each has its own
    sign     1 as Algorithms 2 and 4 print the update of delta_j; -1 as items 4 and 7, (63), of the proof of
             Theorem E.4 print it

    `memory["delta"]` (E, N, M, d) holds delta_j.

    A round raises ValueError when floor(k m) is 0, or when damping is None and the compressor has no q.
    """

    tau: LocalCount
    eta: StepSizes
    gamma: Gamma = 1.0
    compressor: Compressor = UNCOMPRESSED
    k: Annotated[float, "in (0, 1]"] = 1.0
    divisor: Divisor = "participants"
    damping: Damping | None = 1.0
    sign: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if number("sign", self.sign) not in (1, -1):
            raise ValueError(f"sign = {brief(self.sign)}: expected 1 or -1")

    def participants(self, problem: Problem) -> int:
        """floor(k M); a k M that differs from a whole number only by rounding counts as that number.

        Raises ValueError when it is 0.
        """
        S = math.floor(self.k * problem.M * (1 + 1e-12))
        if S == 0:
            raise ValueError(f"k = {self.k}, but {problem.name} has M = {problem.M} clients: expected k M >= 1")
        return S

    def downlink_bits(self, problem: Problem) -> float:
        """Delta_q; with k < 1 also w, which a client that did not take part cannot compute from Delta_q."""
        return (1 if self.participants(problem) == problem.M else 2) * FLOAT * problem.d

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        alpha = damping_of(self.damping, self.compressor, problem.d)
        # server selects S, |S| = floor(k m), and sends w to j in S
        clients = participating(problem, draws, self.participants(problem))
        every_delta = kept(memory, "delta", x, problem.M)  # delta_j^(0) = 0
        delta_j = at_clients(every_delta, clients, x)
        # w_j^(0) = w; tau times d_j = g_j^(c) - delta_j, w_j^(c+1) = w_j^(c) - eta d_j
        w_j = local_steps(x, eta, clients, draws, self.tau, watch, gradients(problem, clients, delta_j))
        # client j sends Delta_jq = Q((w - w_j^(tau)) / eta) and gets Delta_q
        Delta_jq = encode(self.compressor, (x[:, :, None] - w_j) / eta[..., None], clients, draws)
        # server: Delta_q = (1/m) sum_j Delta_jq, or (1/|S|) sum_j Delta_jq
        Delta_q = Delta_jq.sum(axis=2) / (problem.M if self.divisor == "clients" else clients.shape[1])
        # client j: delta_j = delta_j + (1/tau) (Delta_jq - Delta_q)
        delta_j = delta_j + self.sign * alpha / self.tau * (Delta_jq - Delta_q[:, :, None])
        memory["delta"] = with_clients(every_delta, clients, delta_j)
        # server: w = w - eta gamma Delta_q
        return x - eta * self.gamma * Delta_q


@dataclass(frozen=True)
class FedGATE(Compressing):
    """Algorithm 3: local gradient tracking without compression.

    option  "I": every client keeps a copy of the server's model and steps it itself; "II": the server broadcasts it

    `memory["delta"]` (E, N, M, d) holds delta_j, with Option I `memory["w"]` (E, N, M, d) the clients' copies of w.
    """

    tau: LocalCount
    eta: StepSizes
    gamma: Gamma = 1.0
    option: Option = "I"
    compressor: ClassVar[Compressor] = UNCOMPRESSED

    def downlink_bits(self, problem: Problem) -> float:
        """u, and with Option II w too."""
        return (1 if self.option == "I" else 2) * FLOAT * problem.d

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        delta_j = kept(memory, "delta", to_clients(x, problem.M))  # delta_j^(0) = 0
        w = to_clients(x, problem.M)
        if self.option == "I":
            w = memory.get("w", w)
        # w_j^(0) = w; tau times d_j = g_j^(c) - delta_j, w_j^(c+1) = w_j^(c) - eta d_j
        w_j = local_steps(w, eta, clients, draws, self.tau, watch, gradients(problem, clients, delta_j))
        # client j sends u_j = w - w_j^(tau) and gets u = (1/m) sum_j u_j, which the server computes
        u = (w - w_j).mean(axis=2)
        # client j computes wbar = w - u
        wbar = w - u[:, :, None]
        # client j updates delta_j = delta_j + (1/(eta tau)) (wbar - w_j^(tau))
        memory["delta"] = delta_j + (wbar - w_j) / (eta[..., None] * self.tau)
        # Option I: client j updates its w = w - gamma u
        if self.option == "I":
            memory["w"] = w - self.gamma * u[:, :, None]
        # server: w = w - gamma u; Option II: broadcasts it
        return x - self.gamma * u


@dataclass(frozen=True)
class SparseFedCOMGATE(Compressing):
    """FedCOMGATE with sparsification and memory, Section B.2, (8) and (9), for any compressor in place of top_k.

    form     "printed": the memory rule (9), nu_j = nu_j + (1/m) (w - w_j) - Delta, and no damping, alpha = 1;
             "corrected": nu_j = nu_j + (w - w_j) - Delta_js, what client j's own message left out, and damping
    damping  alpha; None: 1 in the printed form, `damping_of_memory` in the corrected one, k/d for top_k, 1 where nothing
             is left out

    (8) compresses w - w_j, not (w - w_j) / eta as Algorithm 2 does, and for the rest the text says "as in Algorithm 2".
    Taken literally, with Delta in place of eta Delta_q, the model would move by eta^2 and delta_j by eta times
    a gradient.  Both forms use the units of (8): w = w - gamma Delta,
    delta_j = delta_j + (alpha/(eta tau)) (Delta_js - Delta).  nu_j starts at 0, which is not printed.

    Why damping: a coordinate that is sent every T rounds brings T differences at once.  While the model stands still,
    its error in delta_j is multiplied by 1 - alpha T.  With alpha = 1 this diverges at T > 2, so for k < d/2.  Equal
    coordinates take turns, T = d/k; then alpha = k/d leaves no error.  The model, too, moves by T steps at once: with
    gamma = 1 and identical clients some runs diverge for L eta tau a little above 2 k/d.  There is no proof of
    convergence: on quadratics with gamma = 1 all runs converged for L eta tau <= 2 k/d.

    `memory["delta"]` and `memory["nu"]` (E, N, M, d) hold delta_j and nu_j.  A round of the corrected form raises
    ValueError when the compressor has no alpha.
    """

    tau: LocalCount
    eta: StepSizes
    gamma: Gamma = 1.0
    compressor: Compressor = UNCOMPRESSED
    form: Form = "printed"
    damping: Damping | None = None

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        delta_j = kept(memory, "delta", to_clients(x, problem.M))  # delta_j^(0) = 0
        nu_j = kept(memory, "nu", to_clients(x, problem.M))  # nu_j^(0) = 0
        # w_j^(0) = w; tau times d_j = g_j^(c) - delta_j, w_j^(c+1) = w_j^(c) - eta d_j
        w_j = local_steps(x, eta, clients, draws, self.tau, watch, gradients(problem, clients, delta_j))
        u_j = x[:, :, None] - w_j
        # (8): client j sends Delta_js = top_k{(w - w_j^(tau)) + nu_j} and gets Delta
        Delta_js = encode(self.compressor, u_j + nu_j, clients, draws)
        # server averages: Delta = (1/m) sum_j Delta_js
        Delta = Delta_js.mean(axis=2)
        # client j: delta_j = delta_j + (alpha/(eta tau)) (Delta_js - Delta)
        alpha = self.damping
        if alpha is None:
            alpha = damping_of_memory(self.compressor, problem.d) if self.form == "corrected" else 1.0
        memory["delta"] = delta_j + alpha * (Delta_js - Delta[:, :, None]) / (eta[..., None] * self.tau)
        # (9): nu_j = nu_j + (1/m) (w - w_j^(tau)) - Delta
        if self.form == "printed":
            memory["nu"] = nu_j + u_j / problem.M - Delta[:, :, None]
        else:
            memory["nu"] = nu_j + u_j - Delta_js
        # server: w = w - gamma Delta
        return x - self.gamma * Delta


@dataclass(frozen=True)
class FedPAQ(Compressing):
    """FedPAQ (Reisizadeh et al. 2020, Algorithm 1), also called FedAvg with compression; without a compressor, FedAvg.

    Where the problem weighs its clients, so does the server.

    S       participating clients, by default all
    scheme  of weights p_k.  "shares": S clients without replacement, each with its share of their p (McMahan et al. 2017),
            which is biased for S < M.  The unbiased ones of Li et al. 2020, "On the convergence of FedAvg on non-IID data":
            "I": S clients by p with replacement, all alike; "II": S without replacement, with weights p_k M/S
    """

    tau: LocalCount
    eta: StepSizes
    compressor: Compressor = UNCOMPRESSED
    S: Participants | None = None
    scheme: Scheme = "shares"
    gamma: ClassVar[float] = 1.0
    weighs: ClassVar[bool] = True
    own_steps: ClassVar[bool] = True

    def participants(self, problem: Problem) -> int:
        """S, by default all M.  Raises ValueError when S > M."""
        return sampled(problem, self.S)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        S, p = self.participants(problem), shares(problem)
        clients = drawn_by(p, draws, S) if self.scheme == "I" else participating(problem, draws, S)
        # client j: tau local steps of SGD from w
        w_j = local_steps(x, eta, clients, draws, self.tau, watch, gradients(problem, clients))
        # client j sends Q(w_j^(tau) - w)
        sent = encode(self.compressor, w_j - x[:, :, None], clients, draws)
        # server: w = w + (1/S) sum_j Q(w_j^(tau) - w), or by the problem's weights
        if self.scheme == "shares":
            return x + aggregated(problem, clients, sent)
        weights = np.full(clients.shape, 1 / S) if self.scheme == "I" else p[clients] * problem.M / S
        changed: Array = x + (like(weights[..., None], sent) * sent).sum(axis=2)
        return changed


@dataclass(frozen=True)
class SCAFFOLD(Compressing):
    """SCAFFOLD (Karimireddy et al. 2020, Algorithm 1), by default with Option II for the control variates.

    S       participating clients, by default all
    option  "I": c_j is a stochastic gradient at the server's model; "II": the mean of those of the local steps
    start   c_j before the first round: "zero", or a stochastic "gradient" at the start; c is their mean

    `memory["c"]` (E, N, d) is the server's control variate, `memory["c_j"]` (E, N, M, d) are the clients'.
    """

    tau: LocalCount
    eta: StepSizes
    gamma: Gamma = 1.0
    S: Participants | None = None
    option: Option = "II"
    start: Start = "zero"
    compressor: ClassVar[Compressor] = UNCOMPRESSED
    down = 2  # the model and the server's control variate

    def participants(self, problem: Problem) -> int:
        """S, by default all M.  Raises ValueError when S > M."""
        return sampled(problem, self.S)

    def uplink_bits(self, problem: Problem) -> float:
        """The changes of the model and of the control variate."""
        return 2 * FLOAT * problem.d

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        if self.start == "gradient" and "c_j" not in memory:
            memory["c_j"] = self._gradient(problem, x, everyone(problem), draws, 1)
            memory["c"] = memory["c_j"].mean(axis=2)
        c, every_c = kept(memory, "c", x), kept(memory, "c_j", x, problem.M)
        c_j = at_clients(every_c, clients, x)
        # server sends (x, c); client j: tau times y_j = y_j - eta (g_j(y_j) - c_j + c)
        y_j = local_steps(x, eta, clients, draws, self.tau, watch, gradients(problem, clients, c_j - c[:, :, None]))
        # client j, Option II: c_j+ = c_j - c + (1/(tau eta)) (x - y_j); sends y_j - x and c_j+ - c_j
        c_plus = c_j - c[:, :, None] + (x[:, :, None] - y_j) / (self.tau * eta[..., None])
        if self.option == "I":  # c_j+ = g_j(x)
            c_plus = self._gradient(problem, x, clients, draws, 0)
        # server: x = x + (gamma/S) sum_j (y_j - x), c = c + (1/m) sum_j (c_j+ - c_j)
        memory["c"] = c + (c_plus - c_j).sum(axis=2) / problem.M
        memory["c_j"] = with_clients(every_c, clients, c_plus)
        return x + self.gamma * (y_j - x[:, :, None]).mean(axis=2)

    def _gradient(self, problem: Problem, x: Array, clients: NDArray[np.int64], draws: Draws, more: int) -> Array:
        """The clients' stochastic gradients at x, of a draw after those of the local steps: (E, N, S, d)."""
        draw = draws.of(clients, self.tau + 1 + more).step(self.tau + more)
        return problem.gradient(to_clients(x, clients.shape[1]), clients, draw)


@dataclass(frozen=True)
class DIANA(Compressing):
    """DIANA (Mishchenko et al. 2019, Algorithm 1, without momentum and prox): compressed differences of gradients.

    alpha  step of the memories h_j; None: 1 / (1 + q), with the compressor's q

    `memory["h_j"]` (E, N, M, d) and `memory["h"]` (E, N, d) hold the clients' memories and the server's; they start
    at 0.  A round raises ValueError when alpha is None and the compressor has no q.
    """

    eta: StepSizes
    compressor: Compressor = UNCOMPRESSED
    alpha: Damping | None = None
    tau: ClassVar[int] = 1
    gamma: ClassVar[float] = 1.0

    def gradients(self, problem: Problem, x: Array, draws: Draws, memory: Memory) -> Array:
        """g_j, the clients' stochastic gradients at x (E, N, M, d)."""
        clients = everyone(problem)
        return problem.gradient(x, clients, draws.of(clients, 1).step(0))

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        alpha = damping_of(self.alpha, self.compressor, problem.d)
        h_j, h = kept(memory, "h_j", to_clients(x, problem.M)), kept(memory, "h", x)
        # server broadcasts x; client j: g_j, a stochastic gradient at x
        x_j = to_clients(x, problem.M)
        watch(x_j)
        g_j = self.gradients(problem, x_j, draws, memory)
        # client j sends hat_j = Q(g_j - h_j)
        hat_j = encode(self.compressor, g_j - h_j, everyone(problem), draws)
        hat = hat_j.mean(axis=2)
        # client j: h_j = h_j + alpha hat_j; server: h = h + alpha (1/m) sum_j hat_j
        memory["h_j"], memory["h"] = h_j + alpha * hat_j, h + alpha * hat
        # server: g = h + (1/m) sum_j hat_j with the old h; x = x - eta g
        return x - eta * (h + hat)


@dataclass(frozen=True)
class VRDIANA(DIANA):
    """VR-DIANA (Horvath et al. 2019, Algorithm 1, Variant 1, loopless SVRG, without prox), for finite sums only.

    DIANA with g_j = grad f_jl(x) - grad f_jl(w_j) + mu_j, where w_j is a reference point, mu_j = grad f_j(w_j), and l is
    one of client j's n_j samples, drawn anew each round (the problem's mini-batches play no role).  One coin a round, the
    same for all clients: w_j becomes x with probability 1/n_j (the paper has the same n for all).

    `memory["w"]` and `memory["mu"]` (E, N, M, d) hold w_j and mu_j, w_j starting at x.
    A round raises ValueError for a problem that offers no `sample_gradient`.
    """

    def gradients(self, problem: Problem, x: Array, draws: Draws, memory: Memory) -> Array:
        """g_j, variance-reduced, at x (E, N, M, d)."""
        f, clients = finite_sum(problem), everyone(problem)
        if "w" not in memory:  # w_j^(0) = x^(0)
            memory["w"], memory["mu"] = x, f.sample_gradient(x, clients, None)
        w, mu = memory["w"], memory["mu"]
        # u = 1 with probability 1/n; the draw of client m, which does not exist
        coin = draws.of(np.full((1, 1), problem.M), 1).step(0).uniform(1)
        u = coin < 1 / f.sizes[:, None]
        # client j picks l at random; g_j = grad f_jl(x) - grad f_jl(w_j) + mu_j
        l = draws.of(clients, 1).step(0).integers(f.sizes[clients], 1)
        g_j = f.sample_gradient(x, clients, l) - f.sample_gradient(w, clients, l) + mu
        # client j, when u = 1: w_j = x
        if u.any():
            xp, new = namespace(x), known_as(u, x)
            memory["w"] = xp.where(new, x, w)
            memory["mu"] = xp.where(new, f.sample_gradient(x, clients, None), mu)
        return g_j


VARIANTS: dict[str, Callable[..., FedCOMGATE]] = {
    "FedCOMGATE": FedCOMGATE,
    "FedCOMGATE, damped": partial(FedCOMGATE, damping=None),
    "FedCOMGATE, 1/m as in Algorithm 4": partial(FedCOMGATE, divisor="clients"),
    "FedCOMGATE, sign of (63)": partial(FedCOMGATE, sign=-1),
}
ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    **{a.__name__: a for a in (FedCOM, FedGATE, SparseFedCOMGATE, FedPAQ, SCAFFOLD, DIANA, VRDIANA)},
    **VARIANTS,
}


# ----------------------------------------------------------------------------------------------- steps


def shares(problem: Problem) -> NDArray[np.float64]:
    """The clients' weights p (M,), 1/M each where the problem has none."""
    return np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights


def drawn_by(p: NDArray[np.float64], draws: Draws, S: int) -> NDArray[np.int64]:
    """S clients by their probabilities p (M,), with replacement, per seed: (N, S)."""
    if draws.replay is not None:
        return draws.replay
    coins = draws.of(np.full((1, 1), len(p)), 1).step(0).uniform(S)[..., 0, :]  # of client M, which does not exist
    return np.searchsorted(np.cumsum(p)[:-1], coins, side="right")


def encode(compressor: Compressor, x: Array, clients: NDArray[np.int64], draws: Draws) -> Array:
    """Q(x), x (E, N, S, d), with the clients' own coins of this round, or the same for all of them."""
    return compressor(x, draws.codes(clients, shared=compressor.shared))


class FiniteSum(Problem, Protocol):
    """A problem whose F_m are means over samples, with gradients of single samples."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of samples of each client, (M,)."""

    def sample_gradient(self, x: Array, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> Array:
        """Mean gradient over the samples `rows` (N or 1, *clients, samples) of each client; None: over all."""


def finite_sum(problem: Problem) -> FiniteSum:
    """The problem as a finite sum.  Raises ValueError when it offers no gradients of single samples."""
    if not hasattr(problem, "sample_gradient"):
        raise ValueError(f"{problem.name} with VR-DIANA: expected a finite sum, a problem with sample_gradient")
    return cast(FiniteSum, problem)


# -------------------------------------------------------------------------------------------- settings


def variance_factor(compressor: Compressor, d: int) -> float:
    """q with E||Q(x) - x||^2 <= q ||x||^2 in d dimensions.  Raises ValueError when there is none, saying why."""
    q = compressor.q(d)
    if q.value is None:
        raise ValueError(f"{compressor.name} has no q: {q.how}; expected a compressor with one")
    return float(q.value)


def damping_of(alpha: float | None, compressor: Compressor, d: int) -> float:
    """alpha; None: 1 / (1 + q).  Raises ValueError for None when the compressor has no q."""
    return 1 / (1 + variance_factor(compressor, d)) if alpha is None else alpha


def damping_of_memory(compressor: Compressor, d: int) -> float:
    """The share of a message that is sent: k/d for TopK and RandK.

    1 - c for a biased compressor with E||Q(x) - x||^2 <= c ||x||^2, 1 / (1 + q) for an unbiased one.
    Raises ValueError when there is no such c < 1, or no q.
    """
    if compressor.unbiased:
        return damping_of(None, compressor, d)
    c = compressor.contraction(d)
    if c.value is None or not c.value < 1:
        raise ValueError(f"{compressor.name}: expected E||Q(x) - x||^2 <= c ||x||^2 with c < 1, not {c}")
    return 1 - c.value
