"""The networks of the papers' experiments, in plain torch: named stages, parameters in forward order, no values inside.

`build` gives a network as a Sequential of named stages on the meta device.  It is used through
`torch.func.functional_call`, alone, or stacked (`stacked`, `torch.func.vmap`); `initial` gives its starting point.
The output of each stage is the input of the next, so the network can be cut after any stage but the last (`cuts`).
`layers` are its tensors as slices of the d coordinates, `blocks` the parameter blocks that FedBCGD's tables print.

Where a paper leaves something open, we follow its authors' code, and where that does too, the work that it cites:

SFL, Section 4.2 and Appendix G   only the names: logistic regression, MLP, LeNet-5 (LeCun et al. 1998) and CNN for (F)MNIST,
    VGG-9 (Lin et al. 2020) and ResNet-18 (Acar et al. 2021) for CIFAR-10 and CINIC-10.  The layers are those of the code
    that Appendix G refers to, without the dropout of its MLP, which the paper does not print.  It says "we do not use
    group normalization in this paper", although the cited ResNet-18 has it.
FedCOM, supplement B.2   "MLP": two hidden layers of 200 neurons, ReLU.
FedBCGD, supplement 6.6, Tables 1 to 5   LeNet-5, VGG-11, ResNet-18, VGG-19 and ViT-Base by the weights of their layers.
    Nothing on normalisation, so VGG has none, as first published; the authors' code runs ResNet-18 with norm="batch".
FedBAT, Appendix A.1, Table 4   "CNN" and "ResNet-10": batch normalisation and ReLU.  The inputs of the printed linear
    layers, 256 from 28x28 and 1024 from 32x32 pixels, require four 2x2 poolings.  As in the authors' code no layer has a
    bias; ResNet-10 is as wide as printed, half as wide as in that code, which "ResNet-10, wide" is.

A convolution has a bias, except in residual networks and before a normalisation, which has its own.  "small CNN" (for
images like the 8x8 ones of scikit-learn's digits) and "small ViT" are ours, for quick runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from fedtheory.simulations.checked import brief, one_of, whole

Shape = tuple[int, int, int]  # channels, height, width of an image
Norm = Literal["batch", "group", "none"]
Weights = Literal["torch", "he", "0.01"]  # at the start, see `initial`
Stages = OrderedDict[str, nn.Module]
Normalise = Callable[[int], dict[str, nn.Module]]  # channels -> the layer that normalises them, if any

GROUPS = 32
_MOST = 100_000  # classes, and pixels in a direction


def build(name: str, shape: Shape, classes: int, norm: Norm | None = None, running: bool = False) -> nn.Sequential:
    """The network of that name for images (B, *shape), with outputs (B, classes); on the meta device, in training mode.

    norm     the normalisation after each convolution: "batch", "group" (32 groups, or the largest number up to 32 that
             divides the channels) or "none"; None: the paper's choice
    running  batch normalisation averages the statistics of all batches seen in training, and uses the average in
             evaluation (`fresh_buffers`; not under vmap).  By default it always uses those of the current batch, and
             there are no buffers.  The parameters are the same.

    Raises ValueError for an unknown name or norm, a shape that is not three whole numbers >= 1, images that are too
    small, classes that are not a whole number >= 1, and a norm for a network without convolutions to normalise.
    """
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise ValueError(f"unknown network {brief(name)!r}: expected one of {', '.join(ARCHITECTURES)}")
    if norm is not None:
        one_of("norm", norm, Norm)
    if not isinstance(shape, Sequence) or len(shape) != 3:
        raise ValueError(f"shape = {brief(shape)}: expected three whole numbers >= 1, channels, height and width")
    for size in shape:
        whole("shape", size, what="three whole numbers", most=_MOST)
    whole("classes", classes, most=_MOST)
    architecture = ARCHITECTURES[name]
    if min(shape[1:]) < architecture.least:
        least = architecture.least
        raise ValueError(f"{name}: images of shape {shape} are too small: expected at least {least}x{least} pixels")
    with torch.device("meta"):
        normalise = partial(_normalisation, norm or architecture.norm, running)
        module = nn.Sequential(architecture.stages(shape, classes, normalise))
    if norm in ("batch", "group") and not any(isinstance(m, nn.BatchNorm2d | nn.GroupNorm) for m in module.modules()):
        raise ValueError(
            f"{name}: norm = {norm!r}, but there are no convolutions to normalise: expected 'none' or None"
        )
    return module


def layout(module: nn.Module) -> dict[str, torch.Size]:
    """The shapes of the parameters by name, in flat order."""
    return {name: parameter.shape for name, parameter in module.named_parameters() if parameter.requires_grad}


def layers(module: nn.Module) -> dict[str, slice]:
    """Each parameter tensor as a slice of the d coordinates, in flat order."""
    shapes = layout(module)
    ends = accumulate((shape.numel() for shape in shapes.values()), initial=0)
    return {name: slice(*at) for name, at in zip(shapes, pairwise(ends), strict=True)}


def cuts(module: nn.Module) -> tuple[str, ...]:
    """The stages after which the network can be cut: all but the last."""
    return tuple(name for name, _ in module.named_children())[:-1] if isinstance(module, nn.Sequential) else ()


def least_batch(module: nn.Module, shape: Shape) -> int:
    """The images that a batch needs: 2 where batch normalisation has maps of a single pixel, else 1."""
    pixels: list[int] = []

    def look(layer: nn.Module, inputs: tuple[Tensor]) -> None:
        pixels.append(inputs[0][0, 0].numel())

    hooks = [m.register_forward_pre_hook(look) for m in module.modules() if isinstance(m, _BatchNorm)]
    if hooks:
        first = next(module.parameters())
        module(torch.zeros(2, *shape, device=first.device, dtype=first.dtype))
    for hook in hooks:
        hook.remove()
    return 2 if 1 in pixels else 1


def initial(module: nn.Module, seed: int, weights: Weights = "torch") -> Tensor:
    """The starting point (d,) of the seed, float64 on the CPU, from a generator of its own.

    Weights and biases of normalisations are 1 and 0, class token and positions normal with deviation 0.02.  Those of linear
    and convolutional layers:

    "torch"  as torch does, uniform in +-1/sqrt(fan_in)
    "he"     as VGG's authors and users do, for plain nets so deep that otherwise the signal vanishes: weights of
             convolutions normal with variance 2/fan_out (He et al. 2015), of linear layers normal with deviation 0.01,
             biases 0
    "0.01"   as FedBAT's code does, weights normal with deviation 0.01, biases 0
    """
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.cat(
        [
            _first(layer, name, parameter, generator, weights)
            for layer in module.modules()
            for name, parameter in layer.named_parameters(recurse=False)
        ]
    )


def fresh_buffers(module: nn.Module, device: torch.device | str, dtype: torch.dtype) -> dict[str, Tensor]:
    """The buffers of a network with running=True before the first batch: mean 0, variance 1, no batch seen.

    `functional_call(module, {**parameters, **buffers}, x)` updates them in place after `module.train()`, and normalises
    with them after `module.eval()`.
    """
    return {
        f"{layer}.{name}".removeprefix("."): torch.full(
            buffer.shape,
            float(name == "running_var"),
            dtype=dtype if buffer.is_floating_point() else buffer.dtype,
            device=device,
        )
        for layer, one in module.named_modules()
        if isinstance(one, _NormBase)
        for name, buffer in one.named_buffers(recurse=False)
    }


def blocks(name: str, module: nn.Module) -> tuple[tuple[int, ...], int]:
    """FedBCGD's parameter blocks as consecutive coordinates: the sizes of the N blocks, and of the shared one, the last.

    Biases, normalisations and shortcuts are in the block of their layer.  The shared block is the classifier, for ViT with
    the normalisation before it.  The numbers of weights are those of the tables (supplement 6.6), for 10 classes in Tables
    1 and 3, 100 in 2 and 4, except:

    VGG-11   (Table 2) FC-2048 is printed twice with 2359296 weights, the number of a 3x3 convolution of 512 channels.  2048
             inputs and the 1024 of the printed FC-100 leave 2048 -> 2048 -> 1024: 4194304 and 2097152.
    VGG-19   (Table 4) all counts are right for 2048 -> 512 -> 256 -> 100; only the second FC-2048 has 512 inputs.
    ViT      (Table 5) five equal blocks of 14299520 and "FC-100" with 153600 weights.  ViT-Base without its classifier is
             six such blocks, N = 6 as in 5.2, so blocks end inside layers; 153600 is for the 200 classes of Tiny ImageNet.

    Raises ValueError for a network without printed blocks.
    """
    if name not in BLOCKS:
        raise ValueError(f"no parameter blocks are printed for {name!r}: expected one of {', '.join(BLOCKS)}")
    sizes = {stage: sum(p.numel() for p in part.parameters()) for stage, part in module.named_children()}
    share, division = sizes.pop("classifier"), BLOCKS[name]
    if isinstance(division, int):
        least, more = divmod(sum(sizes.values()), division)
        return tuple(least + (n < more) for n in range(division)), share
    reached = dict(zip(sizes, accumulate(sizes.values()), strict=True))
    ends = [0, *(reached[stage] for stage in division)]
    return tuple(end - start for start, end in pairwise(ends)), share


# ----------------------------------------------------------------------------------------- layers


class Residual(nn.Module):
    """path(x) + shortcut(x)."""

    def __init__(self, path: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.path, self.shortcut = path, shortcut

    def forward(self, x: Tensor) -> Tensor:
        """(B, ...) -> (B, ...)."""
        found: Tensor = self.path(x) + self.shortcut(x)
        return found


class _Tokens(nn.Module):
    """Patches (B, width, h, w) as tokens (B, 1 + h w, width), the class token first, plus their positions."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.empty(1, 1, width))
        self.positions = nn.Parameter(torch.empty(1, 1 + patches, width))

    def forward(self, x: Tensor) -> Tensor:
        patches = x.flatten(2).transpose(1, 2)
        return torch.cat([self.token.expand(len(patches), -1, -1), patches], 1) + self.positions


class _ClassToken(nn.Module):
    """Tokens (B, 1 + n, width) -> the first token of each image, (B, width)."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


class _Attention(nn.Module):
    """Multi-head self-attention, (B, n, width) -> (B, n, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            self.inputs(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        )  # (B, heads, n, width / heads)
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        found: Tensor = self.output((weights @ v).transpose(1, 2).flatten(2))
        return found


def _sequence(**parts: nn.Module) -> nn.Sequential:
    return nn.Sequential(OrderedDict(parts))


def _normalisation(norm: Norm, running: bool, channels: int) -> dict[str, nn.Module]:
    if norm == "batch":  # momentum None: the plain average over batches
        return {"norm": nn.BatchNorm2d(channels, momentum=None, track_running_stats=running)}
    if norm == "group":
        return {"norm": nn.GroupNorm(max(g for g in range(1, GROUPS + 1) if channels % g == 0), channels)}
    return {}


def _first(layer: nn.Module, name: str, parameter: Tensor, generator: torch.Generator, weights: Weights) -> Tensor:
    """The starting values (size,) of one parameter of a layer."""
    size = parameter.numel()

    def normal(deviation: float) -> Tensor:
        return deviation * torch.randn(size, generator=generator, dtype=torch.float64, device="cpu")

    if isinstance(layer, nn.Linear | nn.Conv2d):
        if weights != "torch" and name == "weight":
            return normal(
                (2 / parameter[:, 0].numel()) ** 0.5 if weights == "he" and isinstance(layer, nn.Conv2d) else 0.01
            )
        if weights != "torch":
            return torch.zeros(size, dtype=torch.float64)
        bound = layer.weight[0].numel() ** -0.5
        return (2 * torch.rand(size, generator=generator, dtype=torch.float64, device="cpu") - 1) * bound
    if isinstance(layer, _Tokens):
        return normal(0.02)
    return torch.full((size,), float(name == "weight"), dtype=torch.float64, device="cpu")


# ----------------------------------------------------------------------------------------- architectures


def _plain(
    shape: Shape,
    classes: int,
    normalise: Normalise,
    *,
    convolutions: str = "",
    kernel: int = 3,
    padding: int = 1,
    hidden: tuple[int, ...] = (),
    bias: bool = True,
) -> Stages:
    """Convolutions by channels, "|" a 2x2 max-pooling; linear layers by widths; ReLU after each layer but the last."""
    stages: Stages = OrderedDict()
    channels, *sides = shape
    for word, after in pairwise([*convolutions.split(), ""]):
        if word == "|":
            continue
        norm = normalise(int(word))
        conv = nn.Conv2d(channels, int(word), kernel, padding=padding, bias=not norm)
        pool = {"pool": nn.MaxPool2d(2)} if after == "|" else {}
        # ReLU and max-pooling commute, and ReLU of fewer numbers is faster
        stages[f"conv{len(stages) + 1}"] = _sequence(conv=conv, **norm, **pool, relu=nn.ReLU())
        channels, sides = int(word), [(side + 2 * padding - kernel + 1) // (1 + len(pool)) for side in sides]
    widths = (channels * sides[0] * sides[1], *hidden)
    for number, (inputs, width) in enumerate(pairwise(widths), 1):
        stages[f"linear{number}"] = _sequence(flatten=nn.Flatten(), linear=nn.Linear(inputs, width), relu=nn.ReLU())
    stages["classifier"] = _sequence(flatten=nn.Flatten(), linear=nn.Linear(widths[-1], classes, bias=bias))
    return stages


def _residual(
    shape: Shape, classes: int, normalise: Normalise, *, widths: tuple[int, ...], bias: bool = True
) -> Stages:
    """ResNet for small images: a 3x3 stem without pooling, basic blocks of `widths` (He et al. 2016), mean-pooling.

    Where the width grows, the stride is 2 and the shortcut a 1x1 convolution.
    """

    def conv(inputs: int, width: int, kernel: int = 3, stride: int = 1) -> dict[str, nn.Module]:
        layer = nn.Conv2d(inputs, width, kernel, stride, padding=kernel // 2, bias=False)
        return {"conv": layer, **normalise(width)}

    channels = widths[0]
    stages: Stages = OrderedDict(stem=_sequence(**conv(shape[0], channels), relu=nn.ReLU()))
    for number, width in enumerate(widths, 1):
        grows = width != channels
        path = _sequence(
            first=_sequence(**conv(channels, width, stride=1 + grows), relu=nn.ReLU()),
            second=_sequence(**conv(width, width)),
        )
        shortcut = _sequence(**conv(channels, width, kernel=1, stride=2)) if grows else nn.Identity()
        stages[f"block{number}"] = _sequence(sum=Residual(path, shortcut), relu=nn.ReLU())
        channels = width
    stages["classifier"] = _sequence(
        mean=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(), linear=nn.Linear(channels, classes, bias=bias)
    )
    return stages


def _vision_transformer(
    shape: Shape, classes: int, normalise: Normalise, *, side: int, patch: int, width: int, depth: int, heads: int
) -> Stages:
    """ViT (Dosovitskiy et al. 2021) on images resized to side x side (bilinear), its perceptrons four times as wide."""

    def layer_norm() -> nn.LayerNorm:
        return nn.LayerNorm(width, eps=1e-6)

    resize = {} if shape[1:] == (side, side) else {"resize": nn.Upsample((side, side), mode="bilinear")}
    patches = nn.Conv2d(shape[0], width, patch, patch)
    stages: Stages = OrderedDict(
        embedding=_sequence(**resize, patches=patches, tokens=_Tokens((side // patch) ** 2, width))
    )
    for number in range(1, depth + 1):
        perceptron = {"widen": nn.Linear(width, 4 * width), "gelu": nn.GELU(), "narrow": nn.Linear(4 * width, width)}
        stages[f"encoder{number}"] = _sequence(
            attention=Residual(_sequence(norm=layer_norm(), heads=_Attention(width, heads)), nn.Identity()),
            perceptron=Residual(_sequence(norm=layer_norm(), **perceptron), nn.Identity()),
        )
    stages["classifier"] = _sequence(norm=layer_norm(), token=_ClassToken(), linear=nn.Linear(width, classes))
    return stages


@dataclass(frozen=True)
class Architecture:
    """A network: its stages, its paper's normalisation, the least height and width of its images, its starting point."""

    stages: Callable[[Shape, int, Normalise], Stages]
    norm: Norm = "none"
    least: int = 1
    weights: Weights = "torch"


_5x5 = partial(_plain, kernel=5)

ARCHITECTURES: dict[str, Architecture] = {
    "logistic": Architecture(_plain),
    "logistic, no bias": Architecture(partial(_plain, bias=False)),
    "MLP": Architecture(partial(_plain, hidden=(200, 200))),
    "MLP, SFL": Architecture(partial(_plain, hidden=(64,))),
    "LeNet-5": Architecture(partial(_5x5, convolutions="64 | 64 |", padding=0, hidden=(384, 192)), least=16),
    "LeNet-5, SFL": Architecture(partial(_5x5, convolutions="6 | 16 |", padding=0, hidden=(120, 84)), least=16),
    "CNN": Architecture(partial(_plain, convolutions="32 | 64 | 128 | 256 |", bias=False), "batch", least=16),
    "CNN, SFL": Architecture(partial(_5x5, convolutions="32 | 32 |", padding=2, hidden=(128,)), least=4),
    "VGG-9": Architecture(
        partial(_plain, convolutions="32 | 64 | 128 128 | 256 256 | 256 256 |"), least=32, weights="he"
    ),
    "VGG-11": Architecture(  # the printed 2048 inputs need 2x2 pixels: no pooling after the last convolution
        partial(_plain, convolutions="64 | 128 | 256 256 | 512 512 | 512 512", hidden=(2048, 1024)),
        least=16,
        weights="he",
    ),
    "VGG-19": Architecture(
        partial(
            _plain,
            convolutions="64 64 | 128 128 | 256 256 256 256 | 512 512 512 512 | 512 512 512 512",
            hidden=(512, 256),
        ),
        least=16,
        weights="he",
    ),
    "ResNet-10": Architecture(partial(_residual, widths=(32, 64, 128, 256), bias=False), "batch"),
    "ResNet-10, wide": Architecture(partial(_residual, widths=(64, 128, 256, 512), bias=False), "batch"),
    "ResNet-18": Architecture(partial(_residual, widths=(64, 64, 128, 128, 256, 256, 512, 512))),
    "ViT": Architecture(partial(_vision_transformer, side=224, patch=16, width=768, depth=12, heads=12)),
    "small CNN": Architecture(partial(_plain, convolutions="16 | 32 |"), least=4),
    "small ViT": Architecture(partial(_vision_transformer, side=32, patch=4, width=64, depth=2, heads=2)),
}

# The last stage of each block of FedBCGD, or the number of blocks of equal size.
BLOCKS: dict[str, tuple[str, ...] | int] = {
    "LeNet-5": ("conv1", "conv2", "linear1", "linear2"),
    "VGG-11": ("conv2", "conv4", "conv6", "conv8", "linear2"),
    "ResNet-18": ("block2", "block4", "block6", "block7", "block8"),
    "VGG-19": ("conv8", "conv10", "conv12", "conv14", "linear2"),
    "ViT": 6,
    "small ViT": 6,
}
