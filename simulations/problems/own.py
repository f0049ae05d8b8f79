"""A problem from functions of one's own, with certified constants or constants that the caller vouches for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.checked import brief, number, reals
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.functions import Function
from fedtheory.simulations.problems import Array, checked_weights, in_html, in_one_line, mean_over_clients

_VOUCHABLE = ("zeta_star", "beta", "zeta", "G", "F_star", "x_star", "mu_pl")
_MOST_STEPS = 20_000  # of the search for the minimiser
_NEAR = 1e-6  # relative distance from the minimiser, and relative error of a number that is vouched for
_PAIRS = 50  # points at which numbers that are vouched for are tested


@dataclass(frozen=True, eq=False)
class OfFunctions:
    """F = sum_m p_m F_m from one `Function` for each client, with additive Gaussian gradient noise of variance sigma^2.

    functions  F_m; `fedtheory.simulations.functions` has some with certified constants, and `own` for one of yours
    sigma      E||g - grad F_m||^2 = sigma^2, spread evenly over the d coordinates; 0 for exact gradients
    weights    p (M,); None: all equal, p_m = 1/M
    vouched    constants of F that you vouch for, by name: zeta_star, beta, zeta, G, F_star, x_star, mu_pl

    L, mu and the curvature come from the functions.  Where all functions have the same minimiser it is
    that of F; else, where mu > 0, it is computed.  Every constant says how it
    is known.  Functions are called point by point, so large runs are slow.

    Raises ValueError for no functions, functions of different d, a negative sigma, other names, and for a constant that you
    vouch for where a point refutes it: the minimiser, or one of 50 at random.
    """

    functions: Sequence[Function]
    sigma: float = 0.0
    weights: Any = None
    vouched: Mapping[str, Any] = field(default_factory=dict)

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        expected = "a list of at least one Function, all of the same d"
        functions = tuple(self.functions) if isinstance(self.functions, list | tuple) else ()
        if not functions or not all(isinstance(f, Function) for f in functions) or len({f.d for f in functions}) > 1:
            raise ValueError(f"functions = {brief(self.functions)}: expected {expected}")
        object.__setattr__(self, "functions", functions)
        number("sigma", self.sigma, ">= 0")
        object.__setattr__(self, "weights", checked_weights(self.weights, self.M))
        if not isinstance(self.vouched, Mapping):
            raise ValueError(f"vouched = {brief(self.vouched)}: expected constants by name")
        unknown = [name for name in self.vouched if name not in _VOUCHABLE]
        if unknown:
            raise ValueError(f"vouched = {brief(unknown)}: expected some of {', '.join(_VOUCHABLE)}")
        given: dict[str, Any] = {
            n: number(n, v) if n == "F_star" else number(n, v, ">= 0") for n, v in self.vouched.items() if n != "x_star"
        }
        if "x_star" in self.vouched:
            given["x_star"] = reals("x_star", self.vouched["x_star"])
            if given["x_star"].shape != (self.d,):
                raise ValueError(f"x_star of shape {given['x_star'].shape}: expected ({self.d},)")
        object.__setattr__(self, "vouched", given)
        self._refuse_false(given)

    def _refuse_false(self, given: Mapping[str, Any]) -> None:
        """Raises ValueError for a constant that is vouched for, but not true at some point."""
        if not given:
            return
        L, entries = max(f.L for f in self.functions), self.constants.entries
        F, star = entries["F_star"].value, entries["x_star"].value
        if "x_star" in given:
            slope = float(np.linalg.norm(self.full_gradient(star)))
            if slope > _NEAR * L * (1 + float(np.linalg.norm(star))):
                raise ValueError(f"x_star = {brief(star)}: expected a minimiser, but ||grad F|| is {slope:.3g} there")
        if star is not None:
            least, size = float(self.value(star)), float(np.abs(self.client_values(star)).mean())
            if "F_star" in given and abs(F - least) > _NEAR * (1e-6 + size):
                raise ValueError(f"F_star = {F:g}: expected F at the minimiser, {least:g}")
            apart = float(np.sqrt(mean_over_clients((self.client_gradients(star) ** 2).sum(-1), self.weights)))
            slack = float(np.linalg.norm(self.full_gradient(star))) + 1e-12 * L * (1 + float(np.linalg.norm(star)))
            if "zeta_star" in given and apart > given["zeta_star"] * (1 + _NEAR) + slack:
                raise ValueError(
                    f"zeta_star = {given['zeta_star']:g}: expected at least {apart:g}, as at the minimiser"
                )
        minima = self.client_minima[1].value
        if "F_star" in given and minima is not None:
            least = float(mean_over_clients(minima, self.weights))
            if least - _NEAR * abs(least) > F:
                raise ValueError(f"F_star = {F:g}: expected at least {least:g}, the mean of the functions' minima")
        rng = np.random.default_rng(0)
        for x in rng.standard_normal((_PAIRS, self.d)) * np.geomspace(1e-2, 1e2, _PAIRS)[:, None]:
            try:
                each, value = self.client_gradients(x), float(self.value(x))
            except ValueError:  # far away a function may overflow
                continue
            mean = mean_over_clients(each, self.weights)
            spread, square = float(mean_over_clients(((each - mean) ** 2).sum(-1), self.weights)), float(mean @ mean)
            beta = entries["beta"].value
            allowed = {"G": 0.0} | ({} if beta is None else {"zeta": beta**2 * square})
            for name, more in allowed.items():
                if name in given and spread > (given[name] ** 2 + more) * (1 + _NEAR) + _NEAR * square:
                    raise ValueError(f"{name} = {given[name]:g}: gradients are {np.sqrt(spread):g} apart at {brief(x)}")
            if F is not None and value < F - _NEAR * (abs(value) + abs(F)):
                raise ValueError(f"F_star = {F:g}: expected at most F = {value:g}, as at {brief(x)}")
            rounding = 1e-12 * (abs(value) + abs(F or 0.0))
            if (
                "mu_pl" in given
                and F is not None
                and square < 2 * given["mu_pl"] * (value - F - rounding) * (1 - _NEAR)
            ):
                raise ValueError(
                    f"mu_pl = {given['mu_pl']:g}: expected at most {square / 2 / (value - F):g}, as at {brief(x)}"
                )

    @property
    def name(self) -> str:
        """The functions' names."""
        return f"functions {brief(', '.join(f.name for f in self.functions))}"

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.functions)

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return self.functions[0].d

    @property
    def blocks(self) -> Mapping[str, slice]:
        """One block: all coordinates."""
        return {"x": slice(0, self.d)}

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The functions' names, sigma, weights and what was vouched for."""
        told = {name: np.asarray(value).tolist() for name, value in self.vouched.items()}
        own = {"problem": "functions", "functions": [f.name for f in self.functions], "sigma": float(self.sigma)}
        return own | {"vouched": told, "weights": None if self.weights is None else self.weights.tolist()}

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """grad F_m at x + noise: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        g, which = np.empty(x.shape), np.broadcast_to(client, x.shape[1:-1])
        for at in np.ndindex(*x.shape[:-1]):
            g[at] = self.functions[int(which[at[1:]])].gradient(x[at])
        return g if not self.sigma else g + np.float64(self.sigma) / np.sqrt(self.d) * draw.normal(self.d)

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        return mean_over_clients(
            np.array([[f.value(p) for p in _points(x)] for f in self.functions]), self.weights
        ).reshape(x.shape[:-1])

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F: (..., d) -> (..., d)."""
        each = np.array([[f.gradient(p) for p in _points(x)] for f in self.functions])
        return mean_over_clients(each, self.weights).reshape(x.shape)

    def client_values(self, x: Array) -> Array:
        """All F_m at one point (d,): (M,)."""
        return np.array([f.value(x) for f in self.functions])

    def client_gradients(self, x: Array) -> Array:
        """Gradients of all F_m at one point (d,): (M, d)."""
        return np.array([f.gradient(x) for f in self.functions])

    @cached_property
    def client_minima(self) -> tuple[Certified, Certified]:
        """The functions' own minimisers, (M, d), and minima, (M,)."""
        points, least = [f.minimiser for f in self.functions], [f.minimum for f in self.functions]
        how, why = self._told("the functions' own"), "some F_m does not say"
        return (
            Certified(None, why) if any(p is None for p in points) else Certified(np.array(points), how),
            Certified(None, why) if any(v is None for v in least) else Certified(np.array(least), how),
        )

    def _told(self, how: str) -> str:
        """How a constant is known that comes from the functions."""
        return f"{how}; vouched for, not certified" if any(f.vouched for f in self.functions) else how

    @property
    def _common_minimiser(self) -> Array | None:
        """A point that all functions name as their minimiser, where each attains its minimum."""
        points = [f.minimiser for f in self.functions]
        first = points[0]
        same = first is not None and all(p is not None and np.array_equal(p, first) for p in points)
        attained = all(f.minimum is not None for f in self.functions)
        return first if same and attained else None

    @cached_property
    def _minimiser(self) -> tuple[Array, float]:
        """x_star by Nesterov's method for strongly convex functions, and the norm of the gradient there."""
        L, mu = max(f.L for f in self.functions), min(f.mu for f in self.functions)
        ratio = (np.sqrt(L) - np.sqrt(mu)) / (np.sqrt(L) + np.sqrt(mu))
        x = y = np.zeros(self.d)
        best, residual = x, float("inf")
        for _ in range(_MOST_STEPS):
            g = self.full_gradient(y)
            if (size := float(np.linalg.norm(g))) < residual:
                best, residual = y, size
            if residual <= 1e-13 * max(1.0, L):
                break
            new = y - g / L
            x, y = new, new + ratio * (new - x)
        return best, residual

    @cached_property
    def constants(self) -> Constants:
        """L, mu, curvature of the functions; the minimiser computed where mu > 0; the rest vouched for, or unknown."""
        trusted = any(f.vouched for f in self.functions)

        def known(value: Any, how: str) -> Certified:
            return Certified(value, self._told(how), vouched=trusted)

        L, mu = max(f.L for f in self.functions), min(f.mu for f in self.functions)
        entries = {"L": known(L, "the largest of the functions' own")}
        lowest = "the smallest curvature of the functions"
        entries["mu"] = known(mu, lowest) if mu > 0 else Certified(None, f"{lowest} is {mu:g}: not strongly convex")
        entries["mu_pl"] = entries["mu"]
        entries["curvature"] = known(mu, lowest)
        entries["sigma"] = Certified(self.sigma, "the law of the noise")
        not_known = Certified(None, "not known for functions of your own: expected it among `vouched`")
        common = self._common_minimiser
        if common is not None:
            entries["x_star"] = known(common, "the minimiser of every function")
            entries["F_star"] = known(float(self.value(common)), "F at the minimiser of every function")
        elif mu > 0:
            x_star, residual = self._minimiser
            how = f"Nesterov's method, ||grad F(x_star)|| = {residual:.1e}, so ||error|| <= {residual / mu:.1e}"
            if residual / mu <= _NEAR * (1 + float(np.linalg.norm(x_star))):
                entries["x_star"] = known(x_star, how)
                entries["F_star"] = known(float(self.value(x_star)), how)
            else:
                not_near = Certified(None, f"not near enough by {how}: expected it among `vouched`")
                entries |= {"x_star": not_near, "F_star": not_near}
        else:
            entries |= {"x_star": not_known, "F_star": not_known}
        one = self.M == 1 or all(f is self.functions[0] for f in self.functions)
        for name in ("beta", "zeta", "G"):
            entries[name] = Certified(0.0, "all clients have the same function") if one else not_known
        for name, value in self.vouched.items():
            entries[name] = Certified(value, "vouched for, not certified", vouched=True)
        star = entries["x_star"]
        if "x_star" in self.vouched and "F_star" not in self.vouched:
            entries["F_star"] = Certified(float(self.value(star.value)), "F(x_star); x_star vouched for", vouched=True)
        if "zeta_star" not in self.vouched:
            entries["zeta_star"] = not_known
            if star.value is not None:
                mean = mean_over_clients((self.client_gradients(star.value) ** 2).sum(-1), self.weights)
                how = f"gradients at x_star: {star.how}"
                entries["zeta_star"] = Certified(float(np.sqrt(mean)), how, star.vouched)
        return Constants(entries)


def _points(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])
