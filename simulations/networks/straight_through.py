"""S(x, alpha) of `fedtheory.simulations.binarisation` for torch, with the straight-through derivatives (8), (9) backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from fedtheory.simulations.binarisation import is_up


class _Binarise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, alpha: Tensor, zeta: Tensor) -> Tensor:
        up = is_up(x, alpha, zeta)
        ctx.save_for_backward(x, alpha, up)
        return torch.where(x.isnan(), x, torch.where(up, alpha, -alpha))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        x, alpha, up = ctx.saved_tensors
        within = x.abs() <= alpha
        share = torch.where(within, x, 0) / torch.where(alpha == 0, 1, alpha)
        by_alpha = torch.where(up, 1, -1).to(x.dtype) - share
        return grad * within, (grad * by_alpha).sum_to_size(alpha.shape), None


def binarise(x: Tensor, alpha: Tensor, zeta: Tensor) -> Tensor:
    """S(x, alpha), (6) and (7) of the FedBAT paper; x and zeta of one shape, alpha any that broadcasts to it.

    Its gradient is (8) in x and (9) in alpha, summed over the entries that share an alpha.  Raises ValueError for a
    negative alpha.
    """
    if bool((alpha < 0).any()):
        raise ValueError(f"alpha = {alpha.min().item()}: expected step sizes >= 0")
    found: Tensor = _Binarise.apply(x, alpha, zeta)
    return found


def slopes(x: ArrayLike, alpha: float, zeta: ArrayLike) -> tuple[NDArray[np.float64], float]:
    """The derivatives that autograd computes for the sum of the entries: in x, (d,), and in alpha, in float64."""
    at, drawn = (torch.as_tensor(np.asarray(v, dtype=float)) for v in (x, zeta))
    at.requires_grad_()
    step = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    by_x, by_alpha = torch.autograd.grad(binarise(at, step, drawn).sum(), (at, step))
    return by_x.numpy(), float(by_alpha)
