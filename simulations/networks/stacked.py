"""Many models of one network at once, each on its own images: convolutions in groups, linear layers as batched products.

The maps of all models lie side by side as channels, (B, models x C, H, W), channels last in memory; after `Flatten` the
rows are (models, B, width).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedtheory.simulations.networks.models import Residual

_LAYERS = (
    nn.Conv2d, nn.BatchNorm2d, nn.GroupNorm, nn.ReLU, nn.MaxPool2d, nn.AdaptiveAvgPool2d, nn.Flatten, nn.Linear,
    nn.Identity, nn.Sequential, Residual,
)  # fmt: skip


def can_stack(module: nn.Module) -> bool:
    """Whether all layers of the network are among those that `outputs` knows."""
    return all(isinstance(layer, _LAYERS) for layer in module.modules())


def outputs(module: nn.Module, parameters: Mapping[str, Tensor], images: Tensor, kept: float = 1.0) -> Tensor:
    """The outputs of each model for its images: (models, B, C, H, W) -> (models, B, classes).

    parameters  by their names in the network, (models, *shape); batch normalisation uses each model's own batch
    kept        share of the inputs of a convolutional or linear layer, the largest ones of each model, that the gradient in
                its weights reads; the outputs and the gradients in the inputs are the same for all
    """
    models = len(images)
    first = next(layer for layer in module.modules() if not any(layer.children()))
    if isinstance(first, nn.Flatten):  # no maps that could lie side by side
        return _through(module, "", parameters, images.flatten(2), models, kept)
    side_by_side = images.transpose(0, 1).flatten(1, 2).contiguous(memory_format=torch.channels_last)
    return _through(module, "", parameters, side_by_side, models, kept)


def _through(
    layer: nn.Module, name: str, of: Mapping[str, Tensor], x: Tensor, models: int, kept: float = 1.0
) -> Tensor:
    def own(parameter: str) -> Tensor | None:
        """A parameter of the layer, the models' one after another along the first axis."""
        found = of.get(f"{name}{parameter}")
        return None if found is None else found.flatten(0, 1)

    match layer:
        case nn.Sequential():
            for child, part in layer.named_children():
                x = _through(part, f"{name}{child}.", of, x, models, kept)
            return x
        case Residual():
            path, shortcut = (
                _through(part, f"{name}{child}.", of, x, models, kept) for child, part in layer.named_children()
            )
            return path + shortcut
        case nn.Conv2d():
            weight = of[f"{name}weight"].flatten(0, 1)
            groups, bias = models * layer.groups, own("bias")

            def convolved(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
                return F.conv2d(x, w, b, layer.stride, layer.padding, layer.dilation, groups)

            if kept == 1:
                return convolved(x, weight, bias)
            per_model = x.detach().unflatten(1, (models, -1)).transpose(0, 1)
            z = _read_in_part(convolved, x, _largest(per_model, kept).transpose(0, 1).flatten(1, 2), weight)
            return z if bias is None else z + bias[:, None, None]
        case nn.BatchNorm2d():
            return F.batch_norm(x, None, None, own("weight"), own("bias"), training=True, eps=layer.eps)
        case nn.GroupNorm():
            return F.group_norm(x, models * layer.num_groups, own("weight"), own("bias"), layer.eps)
        case nn.Flatten():
            return x if x.ndim == 3 else x.unflatten(1, (models, -1)).transpose(0, 1).flatten(2)
        case nn.Linear():

            def product(x: Tensor, w: Tensor) -> Tensor:
                return (w @ x.transpose(1, 2)).transpose(1, 2)  # so that its gradient is contiguous

            w = of[f"{name}weight"]
            products = product(x, w) if kept == 1 else _read_in_part(product, x, _largest(x.detach(), kept), w)
            return products if layer.bias is None else products + of[f"{name}bias"][:, None]
        case _:
            result: Tensor = layer(x)
            return result


def _largest(x: Tensor, kept: float) -> Tensor:
    """The largest entries of each model's inputs (models, ...), a share of them, and 0 elsewhere."""
    sizes = x.flatten(1).abs()
    least = sizes.topk(max(1, math.ceil(kept * sizes.shape[1] - 1e-9)), dim=1).values[:, -1]
    return torch.where(x.abs() >= least.reshape(-1, *[1] * (x.ndim - 1)), x, 0.0)


def _read_in_part(apply: Callable[[Tensor, Tensor], Tensor], x: Tensor, largest: Tensor, weight: Tensor) -> Tensor:
    """apply(x, weight), whose gradient in the weight is that of apply(largest, weight)."""
    part = apply(largest, weight)
    whole: Tensor = apply(x, weight.detach())
    return whole + (part - part.detach())
