"""Quadratics F_m(x) = x'H_m x / 2 + b_m'x: every constant exact, convex or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.checked import affordable, number, reals, rounding, whole
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import LARGEST, Array, checked_weights, in_html, in_one_line, mean_over_clients

_SHOWN = 16  # most numbers of matrices in a `repr`
_ROUNDING = 1e-12  # relative: below it an eigenvalue counts as zero


@dataclass(frozen=True, eq=False)
class Quadratic:
    """M quadratics in d dimensions, with additive Gaussian gradient noise of exact variance sigma^2.

    H        (M, d, d) symmetric;  b (M, d)
    sigma    E||g - grad F_m||^2 = sigma^2, spread evenly over the d coordinates; 0 for exact gradients
    name     readable
    weights  p (M,), F = sum_m p_m F_m; None: all equal, p_m = 1/M

    Raises ValueError on shapes that do not fit, NaN, an asymmetric H_m, a negative sigma, or weights that are not M
    positive numbers with the sum 1.
    """

    H: Array
    b: Array
    sigma: float = 0.0
    name: str = "quadratic"
    weights: Array | None = None

    def __post_init__(self) -> None:
        passed = self.H
        object.__setattr__(self, "H", reals("H", passed, "(M, d, d) finite real numbers"))
        object.__setattr__(self, "b", reals("b", self.b, "(M, d) finite real numbers"))
        H, b = self.H, self.b
        if H.ndim != 3 or H.shape[1] != H.shape[2] or b.shape != H.shape[:2] or not H.size:
            raise ValueError(f"H {H.shape} and b {b.shape}: expected (M, d, d) and (M, d), M >= 1, d >= 1")
        with np.errstate(over="ignore"):
            off = float(np.abs(H - H.swapaxes(1, 2)).max())
        if off > rounding(passed) * np.abs(H).max():
            raise ValueError(f"H is not symmetric, entries differ by {off:.3g}: expected symmetric matrices H_m")
        if off > _ROUNDING * np.abs(H).max():  # in single precision
            object.__setattr__(self, "H", (H + H.swapaxes(1, 2)) / 2)
        object.__setattr__(self, "sigma", number("sigma", self.sigma, ">= 0"))
        largest = max(np.abs(H).max(), np.abs(b).max(), self.sigma)
        if largest > LARGEST:
            raise ValueError(f"H, b or sigma as large as {largest:g}: expected at most {LARGEST:g}, squares overflow")
        object.__setattr__(self, "weights", checked_weights(self.weights, self.M))

    _repr_html_ = in_html

    def __repr__(self) -> str:
        """The constructor with its numbers where there are few, as in witnesses; else the name and the size."""
        if self.H.size > _SHOWN:
            return in_one_line(self)
        weights = "" if self.weights is None else f", weights={self.weights.tolist()}"
        numbers = f"{self.H.tolist()}, {self.b.tolist()}, sigma={self.sigma:g}"
        return f"{type(self).__name__}({numbers}, name={self.name!r}{weights})"

    @property
    def M(self) -> int:
        """Number of clients."""
        return self.H.shape[0]

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return self.H.shape[1]

    @property
    def noisy(self) -> bool:
        """Whether gradients draw normal numbers: then large runs use the compiled loops of `fedtheory.simulations.loops`."""
        return self.sigma > 0

    @property
    def blocks(self) -> Mapping[str, slice]:
        """One block: all coordinates."""
        return {"x": slice(0, self.d)}

    @property
    def provenance(self) -> Mapping[str, Any]:
        """H, b, sigma and, where there are some, weights as lists."""
        own = {
            "problem": "quadratic",
            "name": self.name,
            "H": self.H.tolist(),
            "b": self.b.tolist(),
            "sigma": float(self.sigma),
        }
        return own if self.weights is None else own | {"weights": self.weights.tolist()}

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """H_m x + b_m + noise: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        H, b = draw.once(client, lambda: (self.H.take(client, axis=0), self.b.take(client, axis=0)))
        d = b.shape[-1]
        noise = draw.normal(d) if self.sigma else None
        loops = draw.loops if noise is not None and client.ndim <= 2 and x.flags.carray and x.dtype == b.dtype else None
        if d == 1:
            g = x * H[..., 0]
        elif client.shape[0] == 1 and client.ndim == 2:  # the same clients in every run: one matrix product each
            g = np.empty(x.shape)
            flat, products = (a.reshape(-1, *x.shape[-2:]).swapaxes(0, 1) for a in (x, g))  # (S, E N, d)
            np.matmul(flat, H[0], out=products)
            if loops is not None:
                loops.add_noise(g, b, float(self._noise_scale), np.ascontiguousarray(noise))
                return g
        elif loops is not None and len(client) == x.shape[1]:
            found: Array = loops.gradients(x, H, b, float(self._noise_scale), np.ascontiguousarray(noise))
            return found
        else:
            g = np.matmul(x[..., None, :], H)[..., 0, :]
        g += b
        if noise is not None:
            g += self._noise_scale * noise
        return g

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """H_m x + b_m without noise: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        products = np.matmul(np.moveaxis(x, 0, -2), self.H[client])  # (N, *clients, E, d)
        return np.moveaxis(products, -2, 0) + self.b[client]

    @cached_property
    def _noise_scale(self) -> Array:
        """Standard deviation of one coordinate of the noise, as an array without axes, which numpy reads fastest."""
        return np.asarray(self.sigma / np.sqrt(self.d))

    @cached_property
    def mean(self) -> tuple[Array, Array]:
        """(H, b) of F: (d, d), (d,)."""
        return mean_over_clients(self.H, self.weights), mean_over_clients(self.b, self.weights)

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        H, b = self.mean
        return ((x @ H / 2 + b) * x).sum(-1)

    def full_gradient(self, x: Array) -> Array:
        """H x + b: (..., d) -> (..., d)."""
        H, b = self.mean
        return x @ H + b

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The largest entries of the H_m and of the b_m; rounding tolerances are relative to them."""
        return float(np.abs(self.H).max()) or 1.0, float(np.abs(self.b).max()) or 1.0

    @cached_property
    def _eigenvalues(self) -> Array:
        """Those of all H_m, (M, d)."""
        return np.asarray(np.linalg.eigvalsh(self.H), dtype=float)

    @property
    def least_curvature(self) -> float:
        """The smallest eigenvalue over all clients, of either sign."""
        return float(self._eigenvalues.min())

    @cached_property
    def _minimum(self) -> tuple[Certified, Certified]:
        """x_star and F_star."""
        found = self._minimiser(*self.mean)
        if found is None:
            why = "F is unbounded below"
            return Certified(None, why), Certified(None, why)
        x_star, flat = found
        how = "closed form, the solution of H x = -b" + (" of least norm" if flat else "")
        return Certified(x_star, how), Certified(float(self.value(x_star)), "closed form, F(x_star)")

    def _minimiser(self, H: Array, b: Array) -> tuple[Array, bool] | None:
        """The minimiser of x'Hx / 2 + b'x of least norm, and whether there are others; None if unbounded below."""
        values, vectors = np.linalg.eigh(H)
        scale_H, scale_b = self._scale
        flat = values <= _ROUNDING * scale_H
        coordinates = vectors.T @ b
        if (values < -_ROUNDING * scale_H).any() or (np.abs(coordinates[flat]) > _ROUNDING * scale_b).any():
            return None
        inverse = np.where(flat, 0.0, 1 / np.where(flat, 1.0, values))
        return -vectors @ (inverse * coordinates), bool(flat.any())

    def client_values(self, x: Array) -> Array:
        """All F_m at one point (d,): (M,)."""
        return np.asarray((self.H @ x / 2 + self.b) @ x)

    def client_gradients(self, x: Array) -> Array:
        """Gradients of all F_m at one point (d,): (M, d)."""
        return self.H @ x + self.b

    @cached_property
    def client_minima(self) -> tuple[Certified, Certified]:
        """The minimiser of each F_m, (M, d), of least norm where there are several, and their least values, (M,)."""
        found = [self._minimiser(H, b) for H, b in zip(self.H, self.b, strict=True)]
        minimisers = [f[0] for f in found if f is not None]
        if len(minimisers) < self.M:
            which = [m for m, f in enumerate(found) if f is None]
            why = f"F_m is unbounded below for the clients {which}"
            return Certified(None, why), Certified(None, why)
        points = np.array(minimisers)
        least = ((self.H @ points[..., None])[..., 0] / 2 + self.b) * points
        how = "closed form, the solutions of H_m x = -b_m, of least norm"
        return Certified(points, how), Certified(least.sum(-1), f"at the minimisers: {how}")

    @cached_property
    def _polyak(self) -> Certified:
        """The largest mu with (1/2) ||grad F||^2 >= mu (F - F_star): the smallest positive eigenvalue of H."""
        if self._minimum[1].value is None:
            return Certified(None, self._minimum[1].how)
        values = np.linalg.eigvalsh(self.mean[0])
        curved = values[values > _ROUNDING * self._scale[0]]
        if not curved.size:
            return Certified(None, "F is constant: every mu will do")
        return Certified(float(curved[0]), "smallest positive eigenvalue of H")

    def heterogeneity(self, beta: float | None = None) -> tuple[Certified, Certified]:
        """(beta, zeta) of Assumption 3a: sum p_m ||grad F_m - grad F||^2 <= beta^2 ||grad F||^2 + zeta^2, all x.

        With P, q, s the quadratic, linear and constant part of the left side, the smallest zeta^2 for a given beta
        is the Schur complement of the matrix inequality
        [[beta^2 H H - P, beta^2 H b - q], [., beta^2 b'b + zeta^2 - s]] >= 0.
        `beta=None` takes twice the smallest possible beta^2 (zero stays zero).  Where no zeta exists for this beta,
        the certificate says so.
        """
        (H, b), (P, q, s, least) = self.mean, self._deviations
        if beta is None:
            beta2 = 2 * least
        elif not beta >= 0:
            raise ValueError(f"beta = {beta}: expected a number >= 0")
        else:
            beta2 = beta**2
        how = f"matrix inequality; the smallest beta^2 is {least:.6g}"
        if not np.isfinite(least) or beta2 < least * (1 - 1e-9):
            why = f"Assumption 3a fails for every zeta at this beta: {how}"
            return Certified(None if beta is None else beta, why), Certified(None, why)
        A, v = beta2 * H @ H - P, beta2 * H @ b - q
        values, vectors = np.linalg.eigh(A)
        tolerance = 1e-9 * max(np.abs(P).max(), np.abs(beta2 * H @ H).max(), 1e-300)
        w = vectors.T @ v
        null = values <= tolerance
        scale_H, scale_b = self._scale
        if (np.abs(w[null]) > 1e-9 * (1 + beta2) * scale_H * scale_b).any():
            why = f"Assumption 3a fails for every zeta at this beta (mixed term outside the range): {how}"
            return Certified(float(np.sqrt(beta2)), why), Certified(None, why)
        zeta2 = s - beta2 * b @ b + (w[~null] ** 2 / values[~null]).sum()
        return Certified(float(np.sqrt(beta2)), how), Certified(float(np.sqrt(max(zeta2, 0.0))), how)

    @cached_property
    def _deviations(self) -> tuple[Array, Array, float, float]:
        """P (d, d), q (d,) and s of `heterogeneity`, and the smallest beta^2 there."""
        H, b = self.mean
        G, c = self.H - H, self.b - b
        if self.weights is not None:  # scaled, so that plain means of squares over clients are the weighted ones
            scale = np.sqrt(self.M * self.weights)
            G, c = scale[:, None, None] * G, scale[:, None] * c
        P = np.einsum("mij,mik->jk", G, G) / self.M
        q = np.einsum("mij,mi->j", G, c) / self.M
        return P, q, (c**2).sum() / self.M, self._least_beta2(G)

    def _least_beta2(self, G: Array) -> float:
        """The smallest beta^2 with beta^2 H H >= (1/M) sum G_m'G_m (infinite when some G_m is not zero where H is)."""
        values, vectors = np.linalg.eigh(self.mean[0])
        rounding = _ROUNDING * self._scale[0]
        null = np.abs(values) <= rounding
        turned = G @ vectors  # columns: G_m along the eigenvectors of H
        if np.abs(turned).max() <= rounding:
            return 0.0
        if np.abs(turned[..., null]).max(initial=0.0) > rounding:
            return float("inf")
        stacked = (turned[..., ~null] / values[~null]).reshape(self.M * self.d, -1)  # G_m H^-1, one above the other
        return float(np.linalg.norm(stacked, 2) ** 2 / self.M)

    @cached_property
    def constants(self) -> Constants:
        """Exact, from eigenvalues and closed forms."""
        L, least = float(np.abs(self._eigenvalues).max()), self.least_curvature
        x_star, F_star = self._minimum
        beta, zeta = self.heterogeneity()
        if x_star.value is None:
            zeta_star = Certified(None, x_star.how)
        else:
            at_star = np.einsum("mij,j->mi", self.H, x_star.value) + self.b
            mean_square = mean_over_clients((at_star**2).sum(-1), self.weights)
            zeta_star = Certified(float(np.sqrt(mean_square)), "closed form, gradients at x_star")
        G = self.heterogeneity(0.0)[1]
        if G.value is None:
            G = Certified(
                None, f"the clients' Hessians differ, so that no G bounds their deviations everywhere; {beta.how}"
            )
        delta = np.abs(np.linalg.eigvalsh(self.H - self.mean[0])).max()
        return Constants(
            {
                "L": Certified(L, "largest eigenvalue in modulus"),
                "mu": Certified(least, "smallest eigenvalue")
                if least > _ROUNDING * L
                else Certified(None, f"smallest eigenvalue {least:.6g}: not strongly convex"),
                "mu_pl": self._polyak,
                "curvature": Certified(least, "smallest eigenvalue over all clients, of either sign"),
                "sigma": Certified(self.sigma, "the law of the noise"),
                "zeta_star": zeta_star,
                "beta": beta,
                "zeta": zeta,
                "G": G,
                "delta": Certified(float(delta), "largest eigenvalue of H_m - H in modulus"),
                "F_star": F_star,
                "x_star": x_star,
            }
        )


def from_functions(curvature: Sequence[float], slope: Sequence[float], sigma: float = 0.0, name: str = "") -> Quadratic:
    """One-dimensional F_m(x) = curvature_m x^2 + slope_m x, as the paper's tables print them."""
    H = 2 * np.asarray(curvature, dtype=float)[:, None, None]
    return Quadratic(H, np.asarray(slope, dtype=float)[:, None], sigma, name or "quadratics in one dimension")


def diagonal(curvatures: ArrayLike, slopes: ArrayLike = 0.0, sigma: float = 0.0, name: str = "") -> Quadratic:
    """F_m(x) = sum_i curvature_mi x_i^2 / 2 + slope_mi x_i: curvatures (M, d), slopes (M, d) or a number for all."""
    h = np.asarray(curvatures, dtype=float)
    return Quadratic(
        h[..., None] * np.eye(h.shape[-1]), np.broadcast_to(slopes, h.shape).copy(), sigma, name or "diagonal"
    )


def generate(
    d: int,
    M: int,
    *,
    L: float,
    mu: float,
    zeta_star: float = 0.0,
    delta: float = 0.0,
    sigma: float = 0.0,
    x_star: ArrayLike | None = None,
    seed: int = 0,
) -> Quadratic:
    """Random quadratics with prescribed constants, all attained exactly.

    L, mu       largest and smallest eigenvalue over all clients; mu may be negative (indefinite clients) as long as
                the mean F is bounded below, mu + delta > 0 (or mu + delta = 0 = delta)
    delta       max_m ||H_m - H||, at most (L - mu) / 2
    zeta_star   heterogeneity at the optimum, (1/M) sum ||grad F_m(x_star)||^2 = zeta_star^2
    x_star      (d,), the minimiser (for mu = 0, one of them); the origin by default
    seed        of the rotation and of the gradients at the optimum

    Raises ValueError naming the request that cannot be met.
    """
    d, M, seed = whole("d", d, 1), whole("M", M, 1), whole("seed", seed, 0)
    L, mu, zeta_star, delta = number("L", L), number("mu", mu), number("zeta_star", zeta_star), number("delta", delta)
    affordable(f"{M} quadratics in {d} coordinates", numbers=4.0 * M * d**2, arithmetic=0.1 * M * d**3)
    if L <= 0 or mu > L or zeta_star < 0 or delta < 0:
        raise ValueError(f"L={L}, mu={mu}, zeta_star={zeta_star}, delta={delta}: expected L > 0, mu <= L, rest >= 0")
    if -mu > L:
        raise ValueError(f"mu = {mu}, L = {L}: expected -L <= mu, L bounds the eigenvalues in modulus")
    if mu + delta <= _ROUNDING * L and not mu == delta == 0:
        raise ValueError(f"mu = {mu}, delta = {delta}: F would have no minimiser of its own; expected mu + delta > 0")
    if 2 * delta > (L - mu) * (1 + 1e-12):
        raise ValueError(f"delta = {delta}: expected at most (L - mu)/2 = {(L - mu) / 2}")
    if M == 1 and (delta > 0 or zeta_star > 0):
        raise ValueError(
            f"M = 1 with delta = {delta}, zeta_star = {zeta_star}: expected 0 for both, one client is not heterogeneous"
        )
    if d == 1 and abs(2 * delta - (L - mu)) > 1e-12 * L:
        raise ValueError(
            f"d = 1 with L = {L}, mu = {mu}, delta = {delta}: expected delta = (L - mu)/2 in one dimension"
        )
    rng = np.random.default_rng(seed)
    sign = np.zeros(M)
    sign[: M // 2], sign[M // 2 : 2 * (M // 2)] = 1.0, -1.0  # mean zero, both ends attained
    centre = np.linspace(mu + delta, L - delta, d)
    along = rng.uniform(-1, 1, d)
    along[[0, -1]] = 1.0  # the two extreme directions carry the whole deviation
    eigenvalues = centre + delta * sign[:, None] * along
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H = np.einsum("ij,mj,kj->mik", rotation, eigenvalues, rotation)
    H = (H + H.swapaxes(1, 2)) / 2
    gradients = rng.standard_normal((M, d))
    gradients -= gradients.mean(0)
    norm = np.sqrt((gradients**2).sum(-1).mean())
    gradients *= zeta_star / norm if zeta_star else 0.0
    star = np.zeros(d) if x_star is None else reals("x_star", x_star)
    if star.shape != (d,):
        raise ValueError(f"x_star has shape {star.shape}: expected ({d},)")
    b = gradients - np.einsum("mij,j->mi", H, star)
    name = f"quadratics, d={d}, M={M}, L={L:g}, mu={mu:g}, zeta_star={zeta_star:g}, delta={delta:g}"
    return Quadratic(H, b, sigma, name)
