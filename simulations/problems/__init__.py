"""Problems with certified constants: the functions that algorithms minimise.

An algorithm needs `gradient(x, client, draw)` only.  The engine measures with `value`, `full_gradient` and the
certified `constants`.  A problem that computes in torch tensors has an `example` tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from html import escape
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.checked import brief, reals, rounding
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.draws import Draw

Array = NDArray[np.float64]

_DOUBLES = np.empty(0)
LARGEST = 1e100  # in modulus, of the numbers of a problem and of its start


class Problem(Protocol):
    """F(x) = sum_m p_m F_m(x) over R^d, all p_m = 1/M unless the problem has weights."""

    @property
    def name(self) -> str:
        """A readable name with the parameters."""

    @property
    def M(self) -> int:
        """Number of clients."""

    @property
    def d(self) -> int:
        """Number of coordinates."""

    @property
    def weights(self) -> Array | None:
        """p (M,), the weight of each client in F; None: all equal."""

    @property
    def blocks(self) -> Mapping[str, slice]:
        """Named slices of the d coordinates (layers)."""

    @property
    def constants(self) -> Constants:
        """L, mu, sigma, zeta_star, beta, zeta, G, F_star, x_star, each with how it is known."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """All that is needed to rebuild the problem (JSON-able)."""

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """Stochastic gradients of F_client at x: x (E, N, *clients, d), client (N or 1, *clients)."""

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F at x, exact: (..., d) -> (..., d)."""


def example(problem: Problem) -> Any:
    """An empty array of the kind, precision and device in which the problem computes; numpy doubles by default."""
    return getattr(problem, "example", _DOUBLES)


def checked_weights(weights: ArrayLike | None, M: int) -> Array | None:
    """p (M,), the weight of each of M clients; None where all are equal, which computes plain means.

    Numbers in single or half precision, whose sum is 1 only up to their rounding, are divided by their sum.

    Raises ValueError for anything but M positive numbers that sum to 1, up to rounding.
    """
    if weights is None:
        return None
    expected = f"M = {M} positive numbers that sum to 1"
    p = reals("weights", weights, expected)
    if p.shape != (M,) or not (p > 0).all():
        raise ValueError(f"weights = {brief(weights)}: expected {expected}")
    if abs(p.sum() - 1) > rounding(weights):
        raise ValueError(f"weights = {brief(weights)} sum to {p.sum():.9g}: expected {expected}")
    p = p if abs(p.sum() - 1) <= rounding(p) else p / p.sum()
    return None if (p == p[0]).all() else p


def in_one_line(problem: Problem) -> str:
    """The `repr` of a problem: its kind, name and size."""
    return f"<{type(problem).__name__}: {problem.name}; d = {problem.d}, M = {problem.M}>"


def in_html(problem: Problem) -> str:
    """A problem in a notebook: the same line, and its certified constants."""
    return f"<p>{escape(in_one_line(problem)[1:-1])}</p>{problem.constants._repr_html_()}"


def settings_of(problem: Any, kind: str) -> dict[str, Any]:
    """The provenance of a problem of this kind that its fields say: data by their origin, a partition by its method."""
    told: dict[str, Any] = {"problem": kind}
    for name in (f.name for f in fields(problem)):
        value = getattr(problem, name)
        own = getattr(value, "provenance", getattr(value, "method", value))
        told[name] = own.tolist() if isinstance(own, np.generic | np.ndarray) else own
        told[name] = list(own) if isinstance(own, tuple) else told[name]
    if "weights" in told and (weights := told.pop("weights")) is not None:
        told["weights"] = weights
    return told


def not_certified(exact: bool) -> Constants:
    """The constants of a neural network: none is certified here, except the variance of exact gradients."""
    why = "not certified for a neural network"
    entries = {name: Certified(None, why) for name in ("L", "mu", "zeta_star", "beta", "zeta", "F_star", "x_star")}
    entries["sigma"] = Certified(0.0, "exact gradients") if exact else Certified(None, why)
    return Constants(entries)


def mean_over_clients(values: Array, weights: Array | None) -> Array:
    """sum_m p_m values_m: (M, ...) -> (...); without weights the plain mean."""
    return np.asarray(values.mean(0) if weights is None else np.tensordot(weights, values, 1))


def check_problem(given: Any) -> None:
    """Raises ValueError for what is no problem."""
    if isinstance(given, type) or not hasattr(given, "full_gradient"):
        raise ValueError(f"problem = {brief(given)}: expected a problem, such as those of fedtheory.problems")


def starting_point(problem: Problem, x0: ArrayLike) -> Array:
    """x0, () or (d,).  Raises ValueError unless it is a finite number for all coordinates, or one for each."""
    check_problem(problem)
    expected = f"a finite number, or (d,) = ({problem.d},) of them"
    found = reals("x0", x0, expected)
    if found.shape not in ((), (problem.d,)):
        raise ValueError(f"x0 of shape {found.shape}: expected {expected}")
    if np.abs(found).max() > LARGEST:
        raise ValueError(f"x0 = {brief(x0)}: expected numbers up to {LARGEST:g}, else squares overflow")
    return found


def start(problem: Problem, x0: ArrayLike) -> Constants:
    """The constants of the starting point x0, (d,) or a number: D = ||x0 - x_star|| and A = F(x0) - F_star.

    Also d0 = ||x0 - x_star||^2, w0_norm = ||x0|| and w_star_norm = ||x_star||.

    Raises ValueError for another x0; NoSuchConstant on access when F has no minimiser or no lower bound.
    """
    x0 = np.broadcast_to(starting_point(problem, x0), (problem.d,))
    entries = problem.constants.entries
    x_star, F_star = entries["x_star"], entries["F_star"]
    return Constants(
        {
            "D": x_star.then(lambda x: float(np.linalg.norm(x0 - x)), f"||x0 - x_star||; x_star: {x_star.how}"),
            "d0": x_star.then(lambda x: float(((x0 - x) ** 2).sum()), f"||x0 - x_star||^2; x_star: {x_star.how}"),
            "A": F_star.then(lambda F: float(problem.value(x0) - F), f"F(x0) - F_star; F_star: {F_star.how}"),
            "w0_norm": Certified(float(np.linalg.norm(x0)), "||x0||"),
            "w_star_norm": x_star.then(lambda x: float(np.linalg.norm(x)), f"||x_star||; x_star: {x_star.how}"),
        }
    )


class Tested(Problem, Protocol):
    """A problem that also has a test set."""

    def test_value(self, x: Array) -> Array:
        """Mean loss on the test set: (..., d) -> (...)."""

    def accuracy(self, x: Array) -> Array:
        """Share of the test set that is classified correctly: (..., d) -> (...)."""


def tested(problem: Problem) -> Tested:
    """The problem with its test set.  Raises ValueError when it has none."""
    if not hasattr(problem, "accuracy"):
        raise ValueError(
            f"no test set in {problem.name}: expected a problem with one, to record accuracy or test_value"
        )
    return cast(Tested, problem)


class KnownClients(Problem, Protocol):
    """A problem that also knows its clients' own functions F_m."""

    def client_values(self, x: Array) -> Array:
        """All F_m at one point (d,): (M,)."""

    def client_gradients(self, x: Array) -> Array:
        """Exact gradients of all F_m at one point (d,): (M, d)."""

    @property
    def client_minima(self) -> tuple[Certified, Certified]:
        """A minimiser of each F_m, (M, d), and their least values, (M,)."""


_OF_CLIENTS = ("het_start", "fj_gap_mean", "dist_sq_mean", "grads_start", "grads_apart", "grads_at_star", "Gamma")


def start_of_clients(problem: Problem, x0: ArrayLike) -> Constants:
    """The clients' functions at the starting point x0, (d,) or a number, as means over clients, p_m = 1/M or the weights.

    het_start     sum p_m ||grad F_m(x0) - grad F(x0)||^2
    fj_gap_mean   sum p_m (F_m(x0) - min F_m)
    dist_sq_mean  sum p_m ||x0 - x_m||^2, x_m a minimiser of F_m
    grads_start   sum p_m ||grad F_m(x0)||^2
    grads_apart   sum p_m ||grad F_m(x0) - grad F_m(x_star)||^2
    grads_at_star sum p_m ||grad F_m(x_star)||^2
    Gamma         min F - sum p_m min F_m, for any x0; where min F is not known an upper bound, by min F <= F(x0)

    Raises NoSuchConstant on access when some F_m has no minimiser, or the problem does not know its clients' functions.
    """
    if not hasattr(problem, "client_minima"):
        why = f"the clients' own functions are not known for {problem.name}"
        return Constants({name: Certified(None, why) for name in _OF_CLIENTS})
    clients = cast(KnownClients, problem)
    x0 = np.broadcast_to(starting_point(clients, x0), (clients.d,))

    def mean(values: Array) -> Array:
        return mean_over_clients(values, clients.weights)

    def of_squares(gradients: Array) -> float:
        return float(mean((gradients**2).sum(-1)))

    gradients = clients.client_gradients(x0)
    apart = mean(((gradients - mean(gradients)) ** 2).sum(-1))
    minimisers, least = clients.client_minima
    x_star = clients.constants.entries["x_star"]
    there = x_star.then(clients.client_gradients, f"x_star; x_star: {x_star.how}")
    return Constants(
        {
            "het_start": Certified(float(apart), "closed form, the clients' gradients at x0"),
            "fj_gap_mean": least.then(
                lambda low: float(mean(clients.client_values(x0) - low)), f"F_m(x0) - min F_m; {least.how}"
            ),
            "dist_sq_mean": minimisers.then(
                lambda x: float(mean(((x0 - x) ** 2).sum(-1))), f"||x0 - x_m||^2; {minimisers.how}"
            ),
            "grads_start": Certified(of_squares(gradients), "closed form, the clients' gradients at x0"),
            "grads_apart": there.then(
                lambda g: of_squares(gradients - g), f"closed form, gradients at x0 and {there.how}"
            ),
            "grads_at_star": there.then(of_squares, f"closed form, gradients at {there.how}"),
            "Gamma": _gamma(clients, x0, least),
        }
    )


def _gamma(clients: KnownClients, x0: Array, least: Certified) -> Certified:
    """Gamma of `start_of_clients`; least are the minima of the F_m, or lower bounds of them."""
    F_star, x_star = (clients.constants.entries[name] for name in ("F_star", "x_star"))
    if least.value is None or F_star.value is None:
        return Certified(None, F_star.how if least.value is not None else least.how)
    below = float(mean_over_clients(least.value, clients.weights))
    if x_star.value is None:  # F_star is only a lower bound
        return Certified(float(clients.value(x0)) - below, f"upper bound, by min F <= F(x0) and {least.how}")
    return Certified(max(0.0, float(F_star.value) - below), f"min F: {F_star.how}; min F_m: {least.how}")
