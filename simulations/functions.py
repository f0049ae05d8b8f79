"""Functions h: R^d -> R with certified constants, to test lemmas about smooth and convex functions.

The constants are bounds on the curvature: L and mu are such that, for all x and y,

    ||grad h(x) - grad h(y)|| <= L ||x - y||    and    D_h(x, y) >= (mu/2) ||x - y||^2,

so mu > 0 is strong convexity, mu = 0 convexity, and mu < 0 allows h not to be convex (mu >= -L always).  They are derived
from the second derivative, family by family; an operation on functions derives the new constants from the old ones.

"Least at the origin" means that h has a minimum there.

    h = shifted(regularised(huber(2), 0.5), [1.0, 0.0])
    h.value(x), h.gradient(x), h.L, h.mu, h.minimum      ->  ..., ..., 1.5, 0.5, 0.0

The name of a function is the expression that builds it, so a printed witness can be built again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from fedtheory.simulations.checked import affordable, brief, number as checked_number, reals, whole
from fedtheory.simulations.problems import Array


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A differentiable h: R^d -> R.

    h, slope    h itself and its gradient, on arrays of shape (d,)
    d           number of coordinates
    L           smoothness constant, L > 0
    mu          lower bound of the curvature, -L <= mu <= L; see the head of this module
    minimum     the infimum h_*; None when h is unbounded below
    minimiser   (d,), a point that attains it; None when there is none
    name        the expression that builds it
    vouched     whether L, mu and the minimum rest on the word of the caller, see `own`

    Raises ValueError for d < 1, for L and mu out of their range, and for an x that is no point of R^d.
    """

    h: Callable[[Array], float]
    slope: Callable[[Array], Array]
    d: int
    L: float
    mu: float
    minimum: float | None
    minimiser: Array | None
    name: str
    vouched: bool = False

    def __post_init__(self) -> None:
        whole("d", self.d, what="a number of coordinates")
        if not (0 < self.L < np.inf and -self.L <= self.mu <= self.L):
            raise ValueError(f"L = {self.L}, mu = {self.mu}: expected L > 0, -L <= mu <= L")

    def __repr__(self) -> str:
        return self.name

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.name)  # hypothesis and IPython would print the fields

    def value(self, x: ArrayLike) -> float:
        """h(x), x (d,)."""
        return float(self.h(self._point(x)))

    def gradient(self, x: ArrayLike) -> Array:
        """The gradient of h at x, (d,) -> (d,)."""
        return self.slope(self._point(x))

    def _point(self, x: ArrayLike) -> Array:
        point = np.asarray(x, dtype=float)
        if point.shape != (self.d,):
            raise ValueError(f"x has shape {point.shape}: expected ({self.d},), a point of {self.name}")
        return point


_PAIRS = 200  # of points, at which a function of the caller's is tested

# Families.  Unless its docstring says otherwise, a family has the minimum 0, at the origin.


def quadratic(curvatures: ArrayLike, mirror: ArrayLike | None = None) -> Function:
    """x'H x / 2, H = Q diag(curvatures) Q; Q the reflection in the plane normal to `mirror` (None: H is diagonal).

    The curvatures, of either sign, not all zero, are the eigenvalues of H: mu is the least, L the largest in modulus.
    h is unbounded below when one is negative.  Raises ValueError for curvatures that are all zero, or a mirror of zeros.
    """
    c = np.asarray(curvatures, dtype=float)
    if c.ndim != 1 or not c.any():
        raise ValueError(f"curvatures = {c.tolist()}: expected a list of numbers, not all zero")
    name = f"quadratic({c.tolist()}" + (")" if mirror is None else f", {np.asarray(mirror, dtype=float).tolist()})")
    Q = np.eye(len(c)) if mirror is None else reflection(mirror)
    if len(Q) != len(c):
        raise ValueError(f"mirror = {mirror!r} for {len(c)} curvatures: expected a vector of that length")
    convex = bool(c.min() >= 0)
    return Function(
        h=lambda x: float(c @ (Q @ x) ** 2 / 2),
        slope=lambda x: Q @ (c * (Q @ x)),
        d=len(c),
        L=float(np.abs(c).max()),
        mu=float(c.min()),
        minimum=0.0 if convex else None,
        minimiser=np.zeros(len(c)) if convex else None,
        name=name,
    )


def reflection(normal: ArrayLike) -> Array:
    """The orthogonal, symmetric matrix I - 2 v v' / v'v, (d, d), of a vector v (d,), not zero."""
    v = np.asarray(normal, dtype=float)
    if v.ndim != 1 or not v.any():
        raise ValueError(f"normal = {v.tolist()}: expected a vector other than zero")
    matrix: Array = np.eye(len(v)) - 2 * np.outer(v, v) / (v @ v)
    return matrix


def huber(d: int) -> Function:
    """sum_j u^2/2 for |u| <= 1, |u| - 1/2 beyond, u = x_j: the second derivative is 1 or 0."""
    return _sum_over_coordinates(
        "huber", d, lambda u: np.where(np.abs(u) <= 1, u**2 / 2, np.abs(u) - 0.5), lambda u: np.clip(u, -1, 1), 0, 1
    )


def hinge(d: int) -> Function:
    """The smoothed hinge loss of the margin 1 - x_j: zero for x_j <= 0, x_j^2/2 up to 1, x_j - 1/2 beyond, summed.

    The second derivative is 0, 1, 0 on the three pieces.
    """
    return _sum_over_coordinates(
        "hinge",
        d,
        lambda u: np.where(u <= 1, np.maximum(u, 0) ** 2 / 2, u - 0.5),
        lambda u: np.clip(u, 0, 1),
        0,
        1,
    )


def logcosh(d: int) -> Function:
    """sum_j log cosh x_j: the second derivative 1/cosh^2 decreases from 1 at the origin to 0."""

    def phi(u: Array) -> Array:
        near = np.log1p(2 * np.sinh(np.minimum(np.abs(u), 1) / 2) ** 2)  # exact to rounding at the origin ...
        far = np.abs(u) + np.log1p(np.exp(-2 * np.abs(u))) - np.log(2)  # ... and without overflow away from it
        return np.where(np.abs(u) < 1, near, far)

    return _sum_over_coordinates("logcosh", d, phi, np.tanh, 0, 1)


def softplus(d: int) -> Function:
    """sum_j log(1 + exp(x_j)), the logistic loss: infimum 0, never attained.

    The second derivative p(1 - p), p = 1/(1 + exp(-x_j)), is between 0 and 1/4.
    """
    h = _sum_over_coordinates("softplus", d, lambda u: np.logaddexp(0, u), expit, 0, 0.25)
    return replace(h, minimiser=None)


def logistic(d: int, p: float) -> Function:
    """sum_j log(1 - p + p exp(x_j)) - p x_j: softplus, moved and tilted to be least at the origin; 0 < p < 1.

    The second derivative q(1 - q), q = p/(p + (1 - p) exp(-x_j)), is between 0 and 1/4; where p is not 1/2, one side
    is steeper than the other.  Raises ValueError for another p.
    """
    if not 0 < p < 1:
        raise ValueError(f"p = {p}: expected 0 < p < 1")

    def phi(u: Array) -> Array:
        share = np.where(u < 0, p, 1 - p)  # phi_p(u) = phi_{1-p}(-u): the side on which exp does not overflow
        return share * np.abs(u) + np.log1p(share * np.expm1(-np.abs(u)))

    h = _sum_over_coordinates("logistic", d, phi, lambda u: expit(u + np.log(p / (1 - p))) - p, 0, 0.25)
    return replace(h, name=f"logistic({d}, {p})")


def logsumexp(d: int) -> Function:
    """log((1/d) sum_j exp(x_j)) - (1/d) sum_j x_j, d >= 2: least where all coordinates agree; no sum over coordinates.

    v'(Hessian)v is the variance of v_1 ... v_d under weights p_j, so at least 0 (and 0 along (1, ..., 1)) and at most
    (max v - min v)^2 / 4 <= ||v||^2 / 2 (Popoviciu).  Raises ValueError for d < 2.
    """
    if d < 2:
        raise ValueError(f"d = {d}: expected at least 2 coordinates, logsumexp is zero on R^1")

    def h(x: Array) -> float:
        u = x - x.mean()
        return float(u.max() + np.log(np.exp(u - u.max()).mean()))

    def slope(x: Array) -> Array:
        p = np.exp(x - x.max())
        return p / p.sum() - 1 / d

    return Function(h, slope, d, 0.5, 0.0, 0.0, np.zeros(d), f"logsumexp({d})")


def ripple(d: int) -> Function:
    """sum_j 1 - cos x_j: the second derivative cos is between -1 and 1; a minimum at every multiple of 2 pi."""
    return _sum_over_coordinates("ripple", d, lambda u: 2 * np.sin(u / 2) ** 2, np.sin, -1, 1)


def dip(d: int) -> Function:
    """sum_j 1 - exp(-x_j^2/2).

    The second derivative (1 - x_j^2) exp(-x_j^2/2) is 1 at the origin and least, -2 exp(-3/2), at x_j^2 = 3.
    """
    return _sum_over_coordinates(
        "dip", d, lambda u: -np.expm1(-(u**2) / 2), lambda u: u * np.exp(-(u**2) / 2), -2 * float(np.exp(-1.5)), 1
    )


def saturating(d: int) -> Function:
    """sum_j x_j^2 / (2 (1 + x_j^2)), a robust loss (Geman-McClure).

    The second derivative (1 - 3 x_j^2)/(1 + x_j^2)^3 is 1 at the origin and least, -1/4, at x_j^2 = 1.
    """
    return _sum_over_coordinates(
        "saturating", d, lambda u: u**2 / (2 * (1 + u**2)), lambda u: u / (1 + u**2) ** 2, -0.25, 1
    )


def _sum_over_coordinates(
    name: str, d: int, phi: Callable[[Array], Array], slope: Callable[[Array], Array], low: float, high: float
) -> Function:
    """x -> sum_j phi(x_j), phi'' between `low` and `high`: the Hessian is diagonal; phi least at 0, phi(0) = 0."""
    whole("d", d, what="a number of coordinates")
    return Function(lambda x: float(phi(x).sum()), slope, d, high, low, 0.0, np.zeros(d), f"{name}({d})")


# Functions of one's own


def own(
    value: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    d: int,
    *,
    L: float,
    mu: float = 0.0,
    minimum: float | None = None,
    minimiser: ArrayLike | None = None,
    name: str = "own",
) -> Function:
    """A function of yours on (d,), with constants that you vouch for: nobody certifies them.

    They are put to the test, though: at 200 pairs of points near and far, and along the steepest and the flattest directions
    that Lanczos' method finds, the divergence D(x, y) = h(x) - h(y) - <grad h(y), x - y> must lie between
    (mu/2) ||x - y||^2 and (L/2) ||x - y||^2, gradients must differ by at most L ||x - y||, and the minimiser must be one.
    So a wrong gradient is found too.

    minimum    the infimum; None: unbounded below, or not known
    minimiser  (d,), a point that attains it; None: there is none, or it is not known

    Raises ValueError that names the pair of points at which a constant is refuted, or a result of the wrong shape.
    """
    for what, function in (("value", value), ("gradient", gradient)):
        if not callable(function):
            raise ValueError(f"{what} = {brief(function)}: expected a function of x (d,)")
    point = None if minimiser is None else reals("minimiser", minimiser)
    found = Function(
        lambda x: checked_number("the value", value(x)),
        lambda x: reals("the gradient", gradient(x)),
        whole("d", d, what="a number of coordinates"),
        checked_number("L", L, "> 0"),
        checked_number("mu", mu),
        None if minimum is None else checked_number("minimum", minimum),
        point,
        name,
        vouched=True,
    )
    affordable(f"{name} of {d} coordinates", numbers=10.0 * d, arithmetic=10.0 * _PAIRS * d)
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        for scale in np.geomspace(1e-2, 1e1, _PAIRS):
            y = rng.standard_normal(d) * scale
            x = y + rng.standard_normal(d) * rng.choice([1e-3, 0.1, 1.0]) * scale
            _test(found, x, y)
        for scale in (0.1, 1.0, 10.0):
            x = scale * rng.standard_normal(d)
            for v in _extreme_directions(found, x, scale / 10):
                _test(found, x + v, x - v)
        return _with_minimum(found, point, minimum)


def _extreme_directions(h: Function, x: Array, length: float) -> Iterator[Array]:
    """Vectors (d,) of this length along which the curvature near x is smallest and largest, by Lanczos' method."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    def curved(v: Array) -> Array:
        size = float(np.linalg.norm(v)) or 1.0
        step = v.ravel() * (length / size)
        return (h.gradient(x + step) - h.gradient(x - step)) * (size / (2 * length))

    if h.d <= 2:
        H = np.array([curved(e) for e in np.eye(h.d)])
        yield from length * np.linalg.eigh((H + H.T) / 2)[1].T
        return
    start = np.random.default_rng(0).standard_normal(h.d)
    for which in ("SA", "LA"):
        try:
            _, found = eigsh(LinearOperator((h.d, h.d), curved, dtype=float), 1, which=which, v0=start, tol=1e-3)
        except ArpackError:  # the gradient is far from linear there
            continue
        yield length * found[:, 0]


def _with_minimum(found: Function, point: Array | None, minimum: float | None) -> Function:
    """The function with its minimum.  Raises ValueError for a minimiser that is none, or another minimum there."""
    if point is not None:
        slope, least = found.gradient(point), found.value(point)
        if np.linalg.norm(slope) > 1e-6 * found.L * (1 + np.linalg.norm(point)):
            raise ValueError(
                f"minimiser = {brief(point)} of {found.name}: the gradient there is {brief(slope)}, expected 0"
            )
        if minimum is None:
            return replace(found, minimum=least)
        if abs(least - minimum) > 1e-9 * (1 + abs(least)):
            raise ValueError(f"minimum = {minimum} of {found.name}: expected its value at the minimiser, {least:g}")
    return found


def _test(h: Function, x: Array, y: Array) -> None:
    """Raises ValueError where the pair of points refutes the gradient, L or mu of the function, beyond rounding."""
    here, there, g_x, g_y = h.value(x), h.value(y), h.gradient(x), h.gradient(y)
    if g_x.shape != (h.d,):
        raise ValueError(f"the gradient of {h.name} has the shape {g_x.shape}: expected ({h.d},)")
    step = x - y
    square, divergence = float(step @ step), here - there - float(g_y @ step)
    rounding = 1e-9 * (abs(here) + abs(there) + float(np.linalg.norm(g_y) * np.linalg.norm(step)))
    apart, most = float(np.linalg.norm(g_x - g_y)), h.L * np.sqrt(square)
    at = f"at x = {brief(x)}, y = {brief(y)}"
    if not h.mu / 2 * square - rounding <= divergence <= h.L / 2 * square + rounding:
        raise ValueError(
            f"{h.name}: D(x, y) = {divergence:.6g} {at}; expected between (mu/2) ||x - y||^2 = {h.mu / 2 * square:.6g} "
            f"and (L/2) ||x - y||^2 = {h.L / 2 * square:.6g}: L, mu or the gradient is wrong"
        )
    along, size = float((g_x - g_y) @ step), float(np.linalg.norm(g_x) + np.linalg.norm(g_y)) * np.sqrt(square)
    if along < h.mu * square - 1e-9 * size:
        raise ValueError(f"{h.name}: <g(x) - g(y), x - y> = {along:.6g} {at}; expected at least mu ||x - y||^2 = "
                         f"{h.mu * square:.6g}: mu or the gradient is wrong")  # fmt: skip
    if apart > most * (1 + 1e-9) + 1e-9 * float(np.linalg.norm(g_x)):
        raise ValueError(
            f"{h.name}: the gradients differ by {apart:.6g} {at}; expected at most L ||x - y|| = {most:.6g}"
        )


# Operations


def scaled(h: Function, factor: float) -> Function:
    """factor * h, factor > 0: the Hessian is multiplied by it.  Raises ValueError for another factor."""
    if not 0 < factor < np.inf:
        raise ValueError(f"factor = {factor}: expected a number > 0")
    return replace(
        h,
        h=lambda x: factor * h.value(x),
        slope=lambda x: factor * h.gradient(x),
        L=factor * h.L,
        mu=factor * h.mu,
        minimum=None if h.minimum is None else factor * h.minimum,
        name=f"scaled({h.name}, {factor})",
    )


def stretched(h: Function, width: float) -> Function:
    """width^2 h(x / width), width > 0: its Hessian at x is that of h at x / width.  Raises ValueError otherwise."""
    if not 0 < width < np.inf:
        raise ValueError(f"width = {width}: expected a number > 0")
    return replace(
        h,
        h=lambda x: width**2 * h.value(x / width),
        slope=lambda x: width * h.gradient(x / width),
        minimum=None if h.minimum is None else width**2 * h.minimum,
        minimiser=None if h.minimiser is None else width * h.minimiser,
        name=f"stretched({h.name}, {width})",
    )


def shifted(h: Function, centre: ArrayLike, level: float = 0.0) -> Function:
    """h(x - centre) + level, centre (d,): the same Hessians, moved.  Raises ValueError for another shape."""
    c = np.asarray(centre, dtype=float)
    if c.shape != (h.d,):
        raise ValueError(f"centre has shape {c.shape}: expected ({h.d},)")
    return replace(
        h,
        h=lambda x: h.value(x - c) + level,
        slope=lambda x: h.gradient(x - c),
        minimum=None if h.minimum is None else h.minimum + level,
        minimiser=None if h.minimiser is None else h.minimiser + c,
        name=f"shifted({h.name}, {c.tolist()}" + (f", {level})" if level else ")"),
    )


def regularised(h: Function, mu: float) -> Function:
    """h + (mu/2) ||x||^2, mu > 0, for h least at the origin (regularise before shifting): mu is added to the curvature.

    Both summands are least at the origin, so the minimum stays.  L may be less than h.L + mu when h's largest
    curvature in modulus is a negative one.  Raises ValueError when mu is not positive, or h is least elsewhere.
    """
    if not 0 < mu < np.inf:
        raise ValueError(f"mu = {mu}: expected a number > 0")
    if h.minimiser is None or h.minimiser.any():
        raise ValueError(
            f"{h.name} is not least at the origin: expected a function that is, else the minimum has no closed form"
        )
    return replace(
        h,
        h=lambda x: h.value(x) + mu / 2 * float(x @ x),
        slope=lambda x: h.gradient(x) + mu * x,
        L=h.L + mu,
        mu=h.mu + mu,
        name=f"regularised({h.name}, {mu})",
    )


def beside(*parts: Function) -> Function:
    """h_1(x_1 ...) + h_2(... x_d), each part on coordinates of its own: the Hessian is block diagonal.

    Raises ValueError without parts.
    """
    if not parts:
        raise ValueError("beside(): expected at least one function")
    ends = np.cumsum([h.d for h in parts])[:-1]
    minima = [h.minimum for h in parts if h.minimum is not None]
    minimisers = [h.minimiser for h in parts if h.minimiser is not None]
    return Function(
        h=lambda x: sum(h.value(u) for h, u in zip(parts, np.split(x, ends), strict=True)),
        slope=lambda x: np.concatenate([h.gradient(u) for h, u in zip(parts, np.split(x, ends), strict=True)]),
        d=sum(h.d for h in parts),
        L=max(h.L for h in parts),
        mu=min(h.mu for h in parts),
        minimum=sum(minima) if len(minima) == len(parts) else None,
        minimiser=np.concatenate(minimisers) if len(minimisers) == len(parts) else None,
        name=f"beside({', '.join(h.name for h in parts)})",
        vouched=any(h.vouched for h in parts),
    )
