"""The recursion that the FedBAT paper analyses, (17) to (19) and (51) to (53): every outcome, on piecewise quadratics.

x_t^k = S_m(w_t^k), v_{t+1}^k = w_t^k - eta_t g_t^k with a stochastic gradient g_t^k at x_t^k; every tau steps the new
model is the mean of the S_m(v_{t+1}^k), over all clients or over K sampled ones.  S_m binarises the update since the last
synchronisation, with its largest entry as step size.  All outcomes of binarisation, two-valued noise and sample are
enumerated; with fractions every result is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.exact.rational import Fraction

Numbers = NDArray[Any]  # of floats, or of objects that are Fractions
Vectors = tuple[tuple[Any, ...], ...]  # (N, d)
Branches = Sequence[tuple[Numbers, Numbers]]  # an event: each branch's probability (n,) and value (n, ...)


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
    common what all clients draw together: "noise" (one sign), "binarisation" (one zeta for each entry)

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
    common: tuple[Literal["noise", "binarisation"], ...] = ()

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
    def exact(self) -> bool:
        """Whether its numbers are fractions."""
        return not isinstance(self.w0[0], float)

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

    def split(self, events: Mapping[str, Branches]) -> None:
        """Split every outcome by independent events: each sets the value of its name."""
        before = np.arange(len(self.probability))  # of each outcome so far, that which it was split from
        rows: dict[str, NDArray[np.int64]] = {}  # and its rows in the events' values
        values = {name: np.concatenate([value for _, value in branches]) for name, branches in events.items()}
        for name, branches in events.items():
            chances = np.concatenate([chance for chance, _ in branches])
            row = (before + len(branches[0][0]) * np.arange(len(branches))[:, None]).ravel()
            own = np.tile(np.arange(len(before)), len(branches))
            kept = chances.astype(bool)[row]
            row, own = row[kept], own[kept]
            self.probability, before = self.probability[own] * chances[row], before[own]
            rows = {n: v[own] for n, v in rows.items()} | {name: row}
        self.known = {n: v[before] for n, v in self.known.items()} | {n: values[n][rows[n]] for n in events}

    def merge(self, name: str) -> None:
        """Outcomes with the same value of `name` become one; the other values are forgotten."""
        values = self.known[name]
        rows: dict[tuple[Any, ...], int] = {}
        row = [rows.setdefault(tuple(value), len(rows)) for value in values.tolist()]
        probability = np.zeros(len(rows), dtype=values.dtype)
        np.add.at(probability, row, self.probability)
        self.probability, self.known = probability, {name: _array(list(rows), values.dtype == object)}

    def mean(self, value: Numbers) -> Any:
        """The expectation of value, (n,) or (n, m)."""
        return np.dot(self.probability, value)

    def binarised(self, vectors: str, centre: str, clients: Sequence[int]) -> Branches:
        """S_m of vectors of these clients, with one zeta for each entry: all outcomes, each (n, clients, d)."""
        m = self.known[vectors][:, list(clients)] - self.known[centre][:, None]
        alpha = np.abs(m).max(-1)
        moved = alpha.astype(bool)[..., None]
        safe = np.where(moved[..., 0], alpha, 1)[..., None]
        up = np.where(moved, (safe + m) / (2 * safe), m * 0 + 1)  # S(0) = 0: a single outcome
        branches = []
        for flat in product((1, -1), repeat=m.shape[1] * m.shape[2]):
            signs = np.array(flat).reshape(m.shape[1:])
            # zeta leads to a plus where it is at most `up`
            least = np.where(signs > 0, up, up * 0 + 1).min(1)
            most = np.where(signs < 0, up, up * 0).max(1)
            chance = _positive(least - most).prod(-1)
            branches.append((chance, self.known[centre][:, None] + alpha[..., None] * signs))
        return branches


def _sq(v: Numbers) -> Numbers:
    """||v||^2 along the last axis."""
    return (v * v).sum(-1)


def _positive(v: Numbers) -> Numbers:
    """max(v, 0), entry by entry."""
    return np.where(v > 0, v, v * 0)


def _value(h: Numbers, b: Numbers, bend: Numbers | None, w: Numbers) -> Numbers:
    """h w^2/2 + b w + bend max(w, 0)^2/2, summed over the entries."""
    values = (h * w / 2 + b) * w
    return (values if bend is None else values + bend * _positive(w) ** 2 / 2).sum(-1)


def _slope(h: Numbers, b: Numbers, bend: Numbers | None, w: Numbers) -> Numbers:
    """The derivative of the same, entry by entry."""
    slopes = h * w + b
    return slopes if bend is None else slopes + bend * _positive(w)


def _lowest(h: Numbers, b: Numbers, bend: Numbers | None) -> Numbers:
    """The minimiser of the same for positive curvatures; it is negative if b > 0."""
    return -b / (h if bend is None else h + np.where(b > 0, bend * 0, bend))


def _array(values: Any, exact: bool) -> Numbers:
    return np.array(values, dtype=object if exact else float)


@dataclass(frozen=True, eq=False)
class _Clients:
    """The clients' functions F_k(w), with their shares p (N,) and their sum F.

    h, b, bend  (N, d), as in `Run`;  H, B, Bend  (d,), those of F;  bend and Bend are None without bends
    star        the minimiser of F, None where there is none
    least       (N,), the minima of the F_k, None where some F_k has none
    """

    h: Numbers
    b: Numbers
    bend: Numbers | None
    p: Numbers
    H: Numbers
    B: Numbers
    Bend: Numbers | None
    star: Numbers | None
    least: Numbers | None

    @classmethod
    def of(cls, run: Run) -> _Clients:
        h, b, p = (_array(v, run.exact) for v in (run.h, run.b, run.p))
        bend = _array(run.bend, run.exact) if run.bend else None
        H, B = ((p[:, None] * v).sum(0) for v in (h, b))
        Bend = None if bend is None else (p[:, None] * bend).sum(0)
        found = cls(h, b, bend, p, H, B, Bend, None, None)
        curved = all(bool(v > 0) for v in (*H, *(() if Bend is None else H + Bend)))
        strong = all(bool(v > 0) for v in run.curvatures)
        least = found.values(_lowest(h, b, bend)[None])[0] if strong else None
        return replace(found, star=_lowest(H, B, Bend) if curved else None, least=least)

    def values(self, at: Numbers) -> Numbers:
        """F_k at the clients' own points (n, N, d): (n, N)."""
        return _value(self.h, self.b, self.bend, at)

    def gradients(self, at: Numbers) -> Numbers:
        """grad F_k at the clients' own points (n, N, d): (n, N, d)."""
        return _slope(self.h, self.b, self.bend, at)

    def overall(self, at: Numbers) -> Numbers:
        """F at (n, d): (n,)."""
        return _value(self.H, self.B, self.Bend, at)

    def gradient(self, at: Numbers) -> Numbers:
        """grad F at (n, d): (n, d)."""
        return _slope(self.H, self.B, self.Bend, at)

    def mean(self, vectors: Numbers) -> Numbers:
        """sum_k p_k of (n, N, d): (n, d)."""
        return (self.p[:, None] * vectors).sum(1)

    def everywhere(self, point: Numbers) -> Numbers:
        """A point (n, d) for every client: (n, N, d)."""
        return np.repeat(point[:, None], len(self.p), 1)


@dataclass(frozen=True, eq=False)
class _Step:
    """A step in all its outcomes: parameters W, binarised parameters X, noise at both, (n, N, d); W0 begins the round."""

    clients: _Clients
    leaves: Leaves
    eta: Any
    W: Numbers
    W0: Numbers
    X: Numbers
    noise_x: Numbers
    noise_w: Numbers

    @cached_property
    def g(self) -> Numbers:
        """The stochastic gradients at X."""
        return self.clients.gradients(self.X) + self.noise_x

    @cached_property
    def g_w(self) -> Numbers:
        """The stochastic gradients at W."""
        return self.clients.gradients(self.W) + self.noise_w

    @cached_property
    def V(self) -> Numbers:
        """The parameters after the step."""
        return self.W - self.eta * self.g

    def quantities(self, tau: int) -> dict[str, Any]:
        """The quantities of a step, by the paper's symbols."""
        one, E, W, X = self.clients, self.leaves.mean, self.W, self.X
        W0, g, p = self.W0[:, None], self.g, one.p
        known = self.leaves.known
        grad_x = one.gradients(X)
        w_bar, g_bar, g_t, v_bar = map(one.mean, (W, grad_x, g, self.V))
        centre, full = w_bar[:, None], one.gradient(w_bar)
        at_bar = one.everywhere(w_bar)
        grad_bar = one.gradients(at_bar)

        def total(v: Numbers) -> Any:
            """sum_k p_k E, of (n, N)."""
            return (p * E(v)).sum()

        row: dict[str, Any] = {
            "noise_sq": E(_sq(g_t - g_bar)), "noise_w_sq": E(_sq(one.mean(self.noise_w))),
            "noise_w_sum": (p * p * E(_sq(self.noise_w))).sum(),
            "spread_x": total(_sq(centre - X)), "spread_w": total(_sq(centre - W)),
            "binarised_sq": total(_sq(W - X)), "moved_sq": total(_sq(W - W0)),
            "moved_k_sq": list(E(_sq(W - W0))), "spread_k": list(E(_sq(centre - X))),
            "steps_sum": list(E(_sq(known["moves"]))), "steps_sum_w": list(E(_sq(known["moves_w"]))),
            "steps_sq": list(E(known["sq"])), "steps_sq_w": list(E(known["sq_w"])),
            "steps_mean": (tau - 1) * total(known["sq"]),
            "gbar_sq": E(_sq(g_bar)), "g_sq": E(_sq(g_t)), "grads_x_sq": total(_sq(grad_x)),
            "grads_bar_sq": total(_sq(grad_bar)), "grad_sq": E(_sq(full)), "inner_grad": E((full * g_t).sum(-1)),
            "apart_sq": E(_sq(full - g_t)), "apart_bar_sq": E(_sq(full - g_bar)),
            "inner_move": total(((centre - X) * grad_x).sum(-1)),
            "inner_bar": total(((X - centre) * grad_bar).sum(-1)),
            "F_bar": E(one.overall(w_bar)), "F_v": E(one.overall(v_bar)),
            "largest_x": E(_sq(g)).max(), "largest_w": E(_sq(self.g_w)).max(),
            "noise_x_most": E(_sq(self.noise_x)).max(), "noise_w_most": E(_sq(self.noise_w)).max(),
        }  # fmt: skip
        if one.star is None:
            return row
        star, F_star = one.star, one.overall(one.star[None])[0]
        at_star = one.values(one.everywhere(star[None]))
        row |= {
            "Delta_t": E(_sq(w_bar - star)), "v_dist": E(_sq(v_bar - star)), "gap_t": row["F_bar"] - F_star,
            "A_1": E(_sq(w_bar - star - self.eta * g_bar)), "inner_star": E(((w_bar - star) * g_bar).sum(-1)),
            "inner_down": total(((X - star) * grad_x).sum(-1)), "x_star_sq": total(_sq(X - star)),
            "x_star_k": list(E(_sq(X - star))), "global_gap": total(one.values(X)) - F_star,
            "star_gap": total(one.values(X) - at_star),
        }  # fmt: skip
        if one.least is None:
            return row
        return row | {
            "Gamma": F_star - (p * one.least).sum(), "local_gap": total(one.values(X) - one.least),
            "local_gap_bar": total(one.values(at_bar) - one.least), "star_own": (p * (at_star[0] - one.least)).sum(),
        }  # fmt: skip


def follow(run: Run) -> tuple[Mapping[str, Any], ...]:
    """The quantities of the paper's statements about a step t, for every step of the run, by the paper's symbols.

    Sums over k have the weights p_k; quantities of a single client are lists (N,).  Quantities with the minimum are missing
    if F or some F_k has none.  Fractions in, fractions out; floats otherwise.
    """
    clients, N = _Clients.of(run), run.N
    c, s = (_array(v, run.exact) for v in run.noise)
    noisy = [any(map(bool, (*c[k], *s[k]))) for k in range(N)]
    drawn = [any(noisy)] if "noise" in run.common else noisy
    whose = _apart(run)
    leaves = Leaves(_array([Fraction(1) if run.exact else 1.0], run.exact))
    start = _array([run.w0], run.exact)
    leaves.known = {"W": clients.everywhere(start), "W0": start}
    _begin_round(leaves)
    rows: list[dict[str, Any]] = []
    for t in range(run.steps):
        events: dict[str, Branches] = {}
        events |= {f"X{i}": leaves.binarised("W", "W0", own) for i, own in enumerate(whose)}
        events |= {f"sign{k}": _signs(leaves, one) for k, one in enumerate(drawn)}
        leaves.split(events)
        X = np.concatenate([leaves.known.pop(f"X{i}") for i in range(len(whose))], 1)
        sign = np.stack([leaves.known.pop(f"sign{k}") for k in range(len(drawn))], 1)[..., None]
        known, eta, first = leaves.known, run.rates[t], t - t % run.tau
        W = known["W"]
        step = _Step(clients, leaves, eta, W, known["W0"], X, sign * (c + s * X), sign * (c + s * W))
        row = {"t": t, "t_0": first, "eta_t": eta, "eta_start": run.rates[first], "eta_later": run.rates[t + run.tau]}
        row |= step.quantities(run.tau)
        known |= {
            "V": step.V, "moves": known["moves"] + eta * step.g, "moves_w": known["moves_w"] + eta * step.g_w,
            "sq": known["sq"] + eta**2 * _sq(step.g), "sq_w": known["sq_w"] + eta**2 * _sq(step.g_w),
        }  # fmt: skip
        row["synchronises"] = (t + 1) % run.tau == 0
        if row["synchronises"]:
            row |= _synchronise(leaves, run, clients)
        else:
            known["W"] = known.pop("V")
            row["jump_sq"] = 0 * row["noise_sq"]
        after = clients.mean(leaves.known["W"])
        row |= {
            "F_bar_next": leaves.mean(clients.overall(after)),
            "grad_next": leaves.mean(_sq(clients.gradient(after))),
        }
        if clients.star is not None:
            row["Delta_next"] = leaves.mean(_sq(after - clients.star))
        rows.append(row)
    return tuple(rows)


def _apart(run: Run) -> list[Sequence[int]]:
    """The clients in groups that binarise independently of each other."""
    return [range(run.N)] if "binarisation" in run.common else [[k] for k in range(run.N)]


def _begin_round(leaves: Leaves) -> None:
    """No steps have been taken since the last synchronisation."""
    zeros = leaves.known["W"] * 0
    leaves.known |= {"moves": zeros, "moves_w": zeros, "sq": zeros[..., 0], "sq_w": zeros[..., 0]}


def _signs(leaves: Leaves, noisy: bool) -> Branches:
    """+1 or -1 with probability 1/2 each; 0 where there is no noise."""
    always = leaves.probability * 0 + 1
    return [(always / 2, always), (always / 2, -always)] if noisy else [(always, 0 * always)]


def _synchronise(leaves: Leaves, run: Run, clients: _Clients) -> dict[str, Any]:
    """(19) or (53): W and W0 become the new model.  Returns the lemmas' quantities."""
    N, p = run.N, clients.p
    leaves.known = {name: leaves.known[name] for name in ("V", "W0")}
    whose = _apart(run)
    leaves.split({f"Y{i}": leaves.binarised("V", "W0", own) for i, own in enumerate(whose)})
    leaves.known["Y"] = np.concatenate([leaves.known.pop(f"Y{i}") for i in range(len(whose))], 1)
    E, V, Y, W0 = leaves.mean, leaves.known["V"], leaves.known["Y"], leaves.known["W0"]
    v_bar = clients.mean(V)
    row: dict[str, Any] = {
        "jump_parts": (p * p * E(_sq(Y - V))).sum(), "v_moved": (p * p * E(_sq(V - W0[:, None]))).sum(),
        "v_spread": E(_sq(V - v_bar[:, None])).sum(),
    }  # fmt: skip
    if run.K is None:
        new = clients.mean(Y)
    else:
        samples = list(combinations(range(N), run.K))
        chance = (leaves.probability * 0 + 1) / len(samples)
        shares = [np.array([int(k in sample) for k in range(N)]) for sample in samples]
        leaves.split({"sample": [(chance, np.repeat(share[None], len(chance), 0)) for share in shares]})
        E, V, Y = leaves.mean, leaves.known["V"], leaves.known["Y"]
        drawn = leaves.known.pop("sample")[..., None]
        v_bar = clients.mean(V)
        new = (drawn * Y).sum(1) / run.K
        row |= {
            "A_bin": E(_sq((drawn * (Y - V)).sum(1) / run.K)), "A_2": E(_sq((drawn * V).sum(1) / run.K - v_bar)),
            "A_1_parts": E((drawn[..., 0] * _sq(Y - V)).sum(1)) / run.K**2,
        }  # fmt: skip
    row |= {"jump_sq": E(_sq(new - v_bar)), "w_mean": list(E(new)), "v_mean": list(E(v_bar))}
    leaves.known = {"W0": new}
    leaves.merge("W0")
    leaves.known["W"] = clients.everywhere(leaves.known["W0"])
    _begin_round(leaves)
    return row
