"""The recursion that the FedBAT paper analyses, (17) to (19) and (51) to (53): every outcome, on piecewise quadratics.

x_t^k = S_m(w_t^k), v_{t+1}^k = w_t^k - eta_t g_t^k with a stochastic gradient g_t^k at x_t^k; every tau steps the new
model is the mean of the S_m(v_{t+1}^k), over all clients or over K sampled ones.  S_m binarises the update since the last
synchronisation, with its largest entry as step size.  All outcomes of binarisation, two-valued noise and sample are
enumerated; with fractions every result is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulations.exact.rational import Fraction

Numbers = NDArray[Any]  # of floats, or of objects that are Fractions
Vectors = tuple[tuple[Any, ...], ...]  # (N, d)


@dataclass(frozen=True)
class Run:
    """A run of a few steps.

    h, b   (N, d): F_k(w) = sum over entries of h w^2/2 + b w, plus bend max(w, 0)^2/2
    p      (N,): the clients' shares, of sum 1
    w0     (d,): the start
    rates  eta_t of step t = 0, 1, ...; the rates after the last step are used in conditions only
    noise  c and s, (N, d) each: client k's gradient at w has the noise +-(c + s w), each sign with probability 1/2
    K      clients a round.  None: all, with weights p; else K of them, sampled without replacement, with equal weights
    bend   (N, d), or () for none: the curvature for w > 0 is h + bend, and F_k is no quadratic

    Raises ValueError for shapes that do not fit, shares that are negative or not of sum 1, too few rates, and a K, tau or
    number of steps out of range.
    """

    h: Vectors
    b: Vectors
    p: tuple[Any, ...]
    w0: tuple[Any, ...]
    rates: tuple[Any, ...]
    tau: int
    steps: int
    noise: tuple[Vectors, Vectors]
    K: int | None = None
    bend: Vectors = ()

    def __post_init__(self) -> None:
        given = {"h": self.h, "b": self.b, "noise[0]": self.noise[0], "noise[1]": self.noise[1]}
        for name, rows in (given | ({"bend": self.bend} if self.bend else {})).items():
            if len(rows) != len(self.p) or any(len(row) != len(self.w0) for row in rows):
                raise ValueError(f"{name} = {rows}: expected {len(self.p)} clients with {len(self.w0)} entries each")
        if not self.p or min(self.p) < 0 or abs(sum(self.p) - 1) > 1e-12:
            raise ValueError(f"p = {self.p}: expected shares >= 0 of sum 1")
        if self.K is not None and not 1 <= self.K <= self.N:
            raise ValueError(f"K = {self.K}: expected 1 to {self.N} clients")
        if self.tau < 1 or self.steps < 1 or len(self.rates) < self.steps + self.tau:
            raise ValueError(
                f"tau = {self.tau}, {self.steps} steps, {len(self.rates)} rates: expected at least 1 each, and rates for a "
                "round more than the steps"
            )

    @property
    def N(self) -> int:
        """Number of clients."""
        return len(self.h)

    @property
    def d(self) -> int:
        """Number of entries."""
        return len(self.w0)

    @property
    def curvatures(self) -> list[Any]:
        """The curvatures of all clients and entries, first for w < 0, then for w > 0."""
        left = [v for row in self.h for v in row]
        bends = [v for row in self.bend for v in row]
        return left + [v + more for v, more in zip(left, bends, strict=False)]


@dataclass
class Leaves:
    """The outcomes so far: their probabilities (n,), and by name the values (n, ...) that they lead to."""

    probability: Numbers
    known: dict[str, Numbers] = field(default_factory=dict)

    def split(self, name: str, branches: Sequence[tuple[Numbers, Numbers]]) -> None:
        """Split every outcome into branches, each with a probability (n,) and a value of `name` (n, ...)."""
        chances = np.concatenate([self.probability * chance for chance, _ in branches])
        kept = np.array([bool(c) for c in chances])
        self.known = {n: np.concatenate([v] * len(branches))[kept] for n, v in self.known.items()}
        self.known[name] = np.concatenate([value for _, value in branches])[kept]
        self.probability = chances[kept]

    def mean(self, value: Numbers) -> Any:
        """The expectation of value (n, ...)."""
        weights = self.probability.reshape(-1, *[1] * (value.ndim - 1))
        return (weights * value).sum(0)

    def binarise(self, name: str, vectors: str, centre: str, client: int) -> None:
        """S_m of a client's vector: split by the outcomes of all its entries."""
        m = self.known[vectors][:, client] - self.known[centre]
        alpha = np.abs(m).max(-1)
        moved = np.array([bool(a) for a in alpha])
        safe = np.where(moved, alpha, 1)
        up = (safe[:, None] + m) / (2 * safe[:, None])
        branches = []
        for signs in product((1, -1), repeat=m.shape[-1]):
            chance = np.ones_like(alpha)
            for i, sign in enumerate(signs):
                chance = chance * (up[:, i] if sign > 0 else 1 - up[:, i])
            if min(signs) > 0:
                chance = np.where(moved, chance, chance * 0 + 1)  # S(0) = 0: a single outcome
            else:
                chance = np.where(moved, chance, chance * 0)
            value = self.known[centre] + alpha[:, None] * np.array(signs)
            branches.append((chance, value))
        self.split(name, branches)


def _sq(v: Numbers) -> Numbers:
    """||v||^2 along the last axis."""
    return (v * v).sum(-1)


def _positive(v: Numbers) -> Numbers:
    """max(v, 0), entry by entry."""
    return np.where(v > 0, v, v * 0)


def _lowest(h: Numbers, b: Numbers, bend: Numbers) -> Numbers:
    """The minimiser of h w^2/2 + b w + bend max(w, 0)^2/2 for positive curvatures; it is negative if b > 0."""
    return -b / (h + np.where(b > 0, bend * 0, bend))


def _array(values: Any, exact: bool) -> Numbers:
    return np.array(values, dtype=object if exact else float)


def follow(run: Run) -> tuple[Mapping[str, Any], ...]:
    """The quantities of the paper's statements about a step t, for every step of the run, by the paper's symbols.

    Sums over k have the weights p_k; quantities of a single client are lists (N,).  Quantities with the minimum are missing
    if F or some F_k has none.  Fractions in, fractions out; floats otherwise.
    """
    exact = not isinstance(run.w0[0], float)
    h, b, p = (_array(v, exact) for v in (run.h, run.b, run.p))
    c, s = (_array(v, exact) for v in run.noise)
    N, weights = run.N, p[:, None]
    noisy = [any(map(bool, (*c[k], *s[k]))) for k in range(N)]
    bend = _array(run.bend, exact) if run.bend else 0 * h
    H, slope, Bend = ((weights * v).sum(0) for v in (h, b, bend))
    curved = all(bool(v > 0) for v in (*H, *(H + Bend)))
    strong = all(bool(v > 0) for v in run.curvatures)
    star = _lowest(H, slope, Bend) if curved else None

    def values(at: Numbers) -> Numbers:
        """F_k at the clients' own points (n, N, d): (n, N)."""
        return ((h * at / 2 + b) * at + bend * _positive(at) ** 2 / 2).sum(-1)

    def gradients(at: Numbers) -> Numbers:
        """grad F_k at the clients' own points (n, N, d): (n, N, d)."""
        return h * at + b + bend * _positive(at)

    def overall(at: Numbers) -> Numbers:
        """F at (n, d): (n,)."""
        return ((H * at / 2 + slope) * at + Bend * _positive(at) ** 2 / 2).sum(-1)

    def gradient(at: Numbers) -> Numbers:
        """grad F at (n, d): (n, d)."""
        return H * at + slope + Bend * _positive(at)

    leaves = Leaves(_array([Fraction(1) if exact else 1.0], exact))
    start = _array([run.w0], exact)
    leaves.known = {"W": np.repeat(start[:, None], N, 1), "W0": start}
    zeros = leaves.known["W"] * 0
    leaves.known |= {"moves": zeros, "moves_w": zeros, "sq": zeros[..., 0], "sq_w": zeros[..., 0]}
    rows: list[dict[str, Any]] = []
    for t in range(run.steps):
        eta, first = run.rates[t], t - t % run.tau
        for k in range(N):
            leaves.binarise(f"X{k}", "W", "W0", k)
            leaves.split(f"sign{k}", _signs(leaves, noisy[k]))
        W, W0 = leaves.known["W"], leaves.known["W0"]
        X = np.stack([leaves.known.pop(f"X{k}") for k in range(N)], 1)
        sign = np.stack([leaves.known.pop(f"sign{k}") for k in range(N)], 1)[..., None]
        E = leaves.mean

        def total(v: Numbers, E: Callable[[Numbers], Any] = E) -> Any:
            """sum_k p_k E[v_k], for v (n, N)."""
            return (p * E(v)).sum()

        noise_x, noise_w = sign * (c + s * X), sign * (c + s * W)
        grad_x, grad_w = gradients(X), gradients(W)
        g, g_w = grad_x + noise_x, grad_w + noise_w
        V = W - eta * g
        w_bar, g_bar, g_t, v_bar = ((weights * a).sum(1) for a in (W, grad_x, g, V))
        at_bar = np.repeat(w_bar[:, None], N, 1)
        grad_bar = gradients(at_bar)
        full = gradient(w_bar)
        row: dict[str, Any] = {
            "t": t, "t_0": first, "eta_t": eta, "eta_start": run.rates[first], "eta_later": run.rates[t + run.tau],
            "noise_sq": E(_sq(g_t - g_bar)), "noise_w_sq": E(_sq((weights * noise_w).sum(1))),
            "noise_w_sum": (p * p * E(_sq(noise_w))).sum(),
            "spread_x": total(_sq(w_bar[:, None] - X)), "spread_w": total(_sq(w_bar[:, None] - W)),
            "binarised_sq": total(_sq(W - X)), "moved_sq": total(_sq(W - W0[:, None])),
            "moved_k_sq": list(E(_sq(W - W0[:, None]))), "spread_k": list(E(_sq(w_bar[:, None] - X))),
            "steps_sum": list(E(_sq(leaves.known["moves"]))), "steps_sum_w": list(E(_sq(leaves.known["moves_w"]))),
            "steps_sq": list(E(leaves.known["sq"])), "steps_sq_w": list(E(leaves.known["sq_w"])),
            "steps_mean": (run.tau - 1) * total(leaves.known["sq"]),
            "gbar_sq": E(_sq(g_bar)), "g_sq": E(_sq(g_t)), "grads_x_sq": total(_sq(grad_x)),
            "grads_bar_sq": total(_sq(grad_bar)), "grad_sq": E(_sq(full)), "inner_grad": E((full * g_t).sum(-1)),
            "apart_sq": E(_sq(full - g_t)), "apart_bar_sq": E(_sq(full - g_bar)),
            "inner_move": total(((w_bar[:, None] - X) * grad_x).sum(-1)),
            "inner_bar": total(((X - w_bar[:, None]) * grad_bar).sum(-1)),
            "F_bar": E(overall(w_bar)), "F_v": E(overall(v_bar)),
            "largest_x": E(_sq(g)).max(), "largest_w": E(_sq(g_w)).max(),
            "noise_x_most": E(_sq(noise_x)).max(), "noise_w_most": E(_sq(noise_w)).max(),
        }  # fmt: skip
        if star is not None:
            F_star = overall(star[None])[0]
            row |= {
                "Delta_t": E(_sq(w_bar - star)), "v_dist": E(_sq(v_bar - star)), "gap_t": row["F_bar"] - F_star,
                "A_1": E(_sq(w_bar - star - eta * g_bar)), "inner_star": E(((w_bar - star) * g_bar).sum(-1)),
                "inner_down": total(((X - star) * grad_x).sum(-1)), "x_star_sq": total(_sq(X - star)),
                "x_star_k": list(E(_sq(X - star))), "global_gap": total(values(X)) - F_star,
                "star_gap": total(values(X) - values(np.repeat(star[None, None], N, 1))),
            }  # fmt: skip
            if strong:
                least = values(_lowest(h, b, bend)[None])[0]
                row |= {
                    "Gamma": F_star - (p * least).sum(), "local_gap": total(values(X) - least),
                    "local_gap_bar": total(values(at_bar) - least),
                    "star_own": (p * (values(np.repeat(star[None, None], N, 1))[0] - least)).sum(),
                }  # fmt: skip
        leaves.known |= {
            "V": V, "moves": leaves.known["moves"] + eta * g, "moves_w": leaves.known["moves_w"] + eta * g_w,
            "sq": leaves.known["sq"] + eta**2 * _sq(g), "sq_w": leaves.known["sq_w"] + eta**2 * _sq(g_w),
        }  # fmt: skip
        row["synchronises"] = (t + 1) % run.tau == 0
        if row["synchronises"]:
            row |= _synchronise(leaves, run, p)
        else:
            leaves.known["W"] = leaves.known.pop("V")
            row["jump_sq"] = 0 * row["noise_sq"]
        after = (weights * leaves.known["W"]).sum(1)
        row |= {"F_bar_next": leaves.mean(overall(after)), "grad_next": leaves.mean(_sq(gradient(after)))}
        if star is not None:
            row["Delta_next"] = leaves.mean(_sq(after - star))
        rows.append(row)
    return tuple(rows)


def _signs(leaves: Leaves, noisy: bool) -> list[tuple[Numbers, Numbers]]:
    """+1 or -1 with probability 1/2 each; 0 where there is no noise."""
    always = leaves.probability * 0 + 1
    return [(always / 2, always), (always / 2, -always)] if noisy else [(always, 0 * always)]


def _synchronise(leaves: Leaves, run: Run, p: Numbers) -> dict[str, Any]:
    """(19) or (53): W and W0 become the new model.  Returns the lemmas' quantities."""
    N, weights = run.N, p[:, None]
    for k in range(N):
        leaves.binarise(f"Y{k}", "V", "W0", k)
    leaves.known["Y"] = np.stack([leaves.known.pop(f"Y{k}") for k in range(N)], 1)
    E, V, Y, W0 = leaves.mean, leaves.known["V"], leaves.known["Y"], leaves.known["W0"]
    v_bar = (weights * V).sum(1)
    row: dict[str, Any] = {
        "jump_parts": (p * p * E(_sq(Y - V))).sum(), "v_moved": (p * p * E(_sq(V - W0[:, None]))).sum(),
        "v_spread": E(_sq(V - v_bar[:, None])).sum(),
    }  # fmt: skip
    if run.K is None:
        new = (weights * Y).sum(1)
    else:
        samples = list(combinations(range(N), run.K))
        chance = (leaves.probability * 0 + 1) / len(samples)
        shares = [np.array([int(k in sample) for k in range(N)]) for sample in samples]
        leaves.split("sample", [(chance, np.repeat(share[None], len(chance), 0)) for share in shares])
        E, V, Y = leaves.mean, leaves.known["V"], leaves.known["Y"]
        drawn = leaves.known.pop("sample")[..., None]
        v_bar = (weights * V).sum(1)
        new = (drawn * Y).sum(1) / run.K
        row |= {
            "A_bin": E(_sq((drawn * (Y - V)).sum(1) / run.K)), "A_2": E(_sq((drawn * V).sum(1) / run.K - v_bar)),
            "A_1_parts": E((drawn[..., 0] * _sq(Y - V)).sum(1)) / run.K**2,
        }  # fmt: skip
    row |= {"jump_sq": E(_sq(new - v_bar)), "w_mean": list(E(new)), "v_mean": list(E(v_bar))}
    del leaves.known["Y"], leaves.known["V"]
    leaves.known["W"], leaves.known["W0"] = np.repeat(new[:, None], N, 1), new
    zeros = leaves.known["W"] * 0
    leaves.known |= {"moves": zeros, "moves_w": zeros, "sq": zeros[..., 0], "sq_w": zeros[..., 0]}
    return row
