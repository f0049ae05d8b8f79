"""Helpers for numpy arrays and torch tensors alike, beyond operators, indexing and the array standard.

Quadratics and regressions use numpy arrays in double precision.  Networks use torch tensors on any device, in the
precision of their problem.  `namespace(x)` has the functions of the array standard (array-api-compat) for both.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from array_api_compat import array_namespace, numpy as of_numpy
from numpy.typing import ArrayLike, NDArray
from scipy import special


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of torch; does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(x: Any) -> Any:
    """The functions for arrays like x, by the names of the array standard."""
    return of_numpy if isinstance(x, np.ndarray) else array_namespace(x)


def known(x: Any) -> Any:
    """x itself if it is a tensor, else x as a numpy array."""
    return x if is_tensor(x) else np.asarray(x)


def like(values: Any, x: Any) -> Any:
    """The values as an array of x's kind and precision, on x's device; not copied where they are one already."""
    if not is_tensor(x):
        return np.asarray(values)
    import torch

    if isinstance(values, np.ndarray) and not values.flags.writeable:
        values = values.copy()  # torch has no read-only tensors
    return torch.as_tensor(values, dtype=x.dtype, device=x.device)


def known_as(truths: Any, x: Any) -> Any:
    """A boolean mask as an array of x's kind, on x's device."""
    return truths if not is_tensor(x) else namespace(x).asarray(truths, device=x.device)


def full(shape: tuple[int, ...], value: float, x: Any, large: bool = False) -> Any:
    """An array filled with one value, of x's kind and precision, on x's device.

    large  in host memory where it would take more than half of the free memory of x's device
    """
    if not is_tensor(x):
        return np.full(shape, value) if value else np.zeros(shape)
    import torch

    place = x.device
    if large and place.type == "cuda" and math.prod(shape) * x.element_size() > torch.cuda.mem_get_info(place)[0] / 2:
        place = torch.device("cpu")
    return torch.full(shape, value, dtype=x.dtype, device=place)


def descended(x: Any, eta: Any, g: Any) -> Any:
    """x - eta g.  Tensors reuse the memory of g, whose values are lost: new memory would cost as much as the sum."""
    if not is_tensor(x):
        step = (eta.reshape(()) if eta.size == 1 else eta) * g  # faster without axes
        return np.subtract(x, step, out=step)
    return g.mul_(-eta).add_(x)


def on_host(x: Any) -> NDArray[Any]:
    """x as a numpy array."""
    return np.asarray(x.detach().cpu()) if is_tensor(x) else np.asarray(x)


def smallest(x: Any, k: int) -> Any:
    """The indices of the k smallest entries along the last axis, in any order: (..., k)."""
    return x.topk(k, largest=False).indices if is_tensor(x) else np.argpartition(x, k - 1)[..., :k]


def at(places: Any, value: float, x: Any) -> Any:
    """`value` at the indices `places` (..., k) of the last axis, 0 elsewhere: the shape and kind of x."""
    if is_tensor(x):
        return x.new_zeros(x.shape).scatter_(-1, places, value)
    out = np.zeros(x.shape)
    np.put_along_axis(out, places, value, axis=-1)
    return out


def runs(x: Any, starts: list[int], reduce: str) -> Any:
    """Sums or maxima ("sum", "max") over segments of the last axis that begin at `starts`: (..., d) -> (..., segments)."""
    if not is_tensor(x):
        return {"sum": np.add, "max": np.maximum}[reduce].reduceat(x, starts, axis=-1)
    import torch

    sizes = np.diff([*starts, x.shape[-1]]).tolist()
    parts = x.split(sizes, dim=-1)
    return torch.stack([part.sum(-1) if reduce == "sum" else part.amax(-1) for part in parts], dim=-1)


def spread(x: Any, sizes: ArrayLike) -> Any:
    """Each entry of the last axis repeated `size` times: (..., segments) -> (..., d)."""
    if not is_tensor(x):
        return np.repeat(x, np.asarray(sizes), axis=-1)
    import torch

    # sizes on the host: on a GPU `repeat_interleave` would wait for the length of its result
    parts = zip(x.split(1, dim=-1), np.asarray(sizes).tolist(), strict=True)
    return torch.cat([part.expand(*part.shape[:-1], size) for part, size in parts], dim=-1)


def normal_cdf(x: Any) -> Any:
    """The distribution function of the standard normal law."""
    if not is_tensor(x):
        return np.asarray(special.ndtr(x))
    import torch

    return torch.special.ndtr(x)
