"""The binarisation operator S(x, alpha) of "FedBAT: Communication-Efficient Federated Learning via Learnable Binarization".

(6), (7): an entry outside [-alpha, alpha] is clipped to the nearer end.  An entry inside becomes alpha with probability
(alpha + x)/(2 alpha), else -alpha.  A zeta, uniform in [0, 1), decides: alpha where floor((alpha + x)/(2 alpha) + zeta) is
1, that is where zeta >= (alpha - x)/(2 alpha).  We compare instead of taking the floor: in floating point the sum can
round to 2, and S would be 3 alpha.  S(x, 0) = 0, which (7) leaves open.

alpha broadcasts against x: one number, or one for each entry.  Arrays keep their precision, float32 or float64.
`binarise`, `derivatives` and `step_size` take numpy arrays, anything that converts to one, and torch tensors.
`fedtheory.simulations.networks.straight_through` is the torch version, with (8) and (9) as its backward pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.arrays import is_tensor, known, like, namespace
from fedtheory.simulations.compressors import Law, independent

_FLOAT = 32  # bits of a step size on the wire


def is_up(x: Any, alpha: Any, zeta: Any) -> Any:
    """Whether each entry becomes alpha, not -alpha; for numpy arrays and torch tensors."""
    return (x >= alpha) | ((x > -alpha) & (zeta * (2 * alpha) >= alpha - x))


def binarise(x: Any, alpha: Any, zeta: Any) -> Any:
    """S(x, alpha), (6) and (7): x, zeta (..., d) -> (..., d).  NaN stays NaN.  Raises ValueError as `checked` does."""
    x, alpha, zeta, xp = _alike(x, alpha, zeta)
    return xp.astype(xp.where(xp.isnan(x), x, xp.where(is_up(x, alpha, zeta), alpha, -alpha)), x.dtype)


def derivatives(x: Any, alpha: Any, zeta: Any) -> tuple[Any, Any]:
    """(8), dS/dx, and (9), dS/dalpha, entry by entry: (..., d) each.

    Straight-through estimator: the floor is treated as the identity.  At alpha = 0, (9) takes x/alpha as 0 where x = 0.
    Raises ValueError as `checked` does.
    """
    x, alpha, zeta, xp = _alike(x, alpha, zeta)
    within = abs(x) <= alpha
    sign = 2 * xp.astype(is_up(x, alpha, zeta), x.dtype) - 1
    share = xp.where(within, x, 0.0) / xp.where(alpha == 0, 1.0, alpha)
    return xp.astype(within, x.dtype), sign - share


def _alike(x: Any, alpha: Any, zeta: Any) -> tuple[Any, Any, Any, Any]:
    """The three as arrays or tensors of one kind, alpha checked, and the functions for them."""
    x = known(x)
    alpha, zeta = (v if is_tensor(v) else like(v, x) for v in (alpha, zeta))
    checked(alpha)
    return x, alpha, zeta, namespace(x)


def checked(alpha: Any) -> None:
    """Raise ValueError for a negative step size; of a torch tensor none is looked at, which would wait for its device."""
    if not is_tensor(alpha) and (alpha < 0).any():
        raise ValueError(f"alpha = {alpha.min():g}: expected a step size >= 0")


def step_size(initial: Any, rho: float, exponent: Any) -> Any:
    """alpha = alpha' exp(rho alpha_e), (10): positive where alpha' is, whatever alpha_e."""
    exponent = known(exponent)
    initial = initial if is_tensor(initial) else like(initial, exponent)
    return initial * namespace(exponent).exp(rho * exponent)


def mean_size(x: ArrayLike) -> float:
    """alpha' = ||x||_1 / d of (13), the alpha that minimises ||x - alpha sign(x)||; 0 for x = 0."""
    return float(np.abs(x).mean())


def error(x: ArrayLike, alpha: ArrayLike) -> NDArray[Any]:
    """E||S(x, alpha) - x||^2 over zeta, in closed form: (..., d) -> (...).

    alpha^2 - x^2 within [-alpha, alpha], (|x| - alpha)^2 beyond.  Raises ValueError for a negative alpha.
    """
    x, alpha = np.asarray(x), np.asarray(alpha)
    checked(alpha)
    size = np.abs(x)
    return np.where(size <= alpha, (alpha - size) * (alpha + size), (size - alpha) ** 2).sum(-1)


def least_error(x: ArrayLike) -> float:
    """The alpha with the smallest E||S(x, alpha) - x||^2, x (d,).

    Its derivative in alpha, 2 (d alpha - the sum of the |x_i| > alpha), increases: the minimiser is its sign change.
    """
    sizes = np.sort(np.abs(np.asarray(x, dtype=float)))[::-1]
    sums = np.cumsum(sizes) / len(sizes)
    last = int(np.flatnonzero(sizes >= sums - sizes / len(sizes))[-1])  # the smallest size with derivative >= 0
    return float(min(sums[last], sizes[last]))


def law(x: Sequence[Fraction], alpha: Fraction) -> Law:
    """The exact law of S(x, alpha): all outcomes of positive probability.

    Raises ValueError for more than 4096 outcomes, or a negative alpha.
    """
    if alpha < 0:
        raise ValueError(f"alpha = {alpha}: expected a step size >= 0")
    parts: list[list[tuple[Fraction, Fraction]]] = []
    for v in x:
        up = Fraction(v >= alpha) if abs(v) >= alpha else (alpha + v) / (2 * alpha)
        parts.append([(up, alpha), (1 - up, -alpha)])
    return independent(parts, "S")


# ------------------------------------------------------------------------------------------------------ on the wire


def wire_bits(layers: Mapping[str, slice]) -> int:
    """Bits of a binarised update: one step size for each layer, one sign for each entry."""
    return sum(_FLOAT + part.stop - part.start for part in layers.values())


def pack(update: ArrayLike, layers: Mapping[str, slice]) -> bytes:
    """A binarised update (d,), +-alpha with an alpha for each layer, as bytes: all alphas in float32, then a bit a sign.

    Zeros pad the last byte.  Raises ValueError for layers that are not one after another from 0 to d, or a layer whose
    entries differ in size or are not finite.
    """
    update = np.asarray(update)
    _one_after_another(layers, update.size)
    alphas = np.array([abs(update[part][0]) for part in layers.values()], dtype="<f4")
    for (name, part), alpha in zip(layers.items(), alphas, strict=True):
        if not (np.isfinite(alpha) and (np.abs(update[part]).astype("<f4") == alpha).all()):
            raise ValueError(f"layer {name}: expected finite entries of one size, +-alpha")
    return alphas.tobytes() + np.packbits(update > 0).tobytes()


def unpack(data: bytes, layers: Mapping[str, slice]) -> NDArray[np.float32]:
    """The update (d,) in float32 that `pack` packed.  Raises ValueError for data of another length."""
    d = max(part.stop for part in layers.values())
    _one_after_another(layers, d)
    expected = 4 * len(layers) + -(-d // 8)
    if len(data) != expected:
        raise ValueError(f"{len(data)} bytes: expected {expected}, for {len(layers)} layers with {d} entries")
    signs = np.unpackbits(np.frombuffer(data[4 * len(layers) :], dtype=np.uint8), count=d).astype(np.float32) * 2 - 1
    for part, alpha in zip(layers.values(), np.frombuffer(data[: 4 * len(layers)], dtype="<f4"), strict=True):
        signs[part] *= alpha
    return signs


def _one_after_another(layers: Mapping[str, slice], d: int) -> None:
    ends = [0, *(part.stop for part in layers.values())]
    starts = [part.start for part in layers.values()]
    if starts != ends[:-1] or ends[-1] != d or any(a >= b for a, b in zip(starts, ends[1:], strict=True)):
        raise ValueError(f"layers {dict(layers)}: expected slices one after another from 0 to {d}")
