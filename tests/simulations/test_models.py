"""The networks: counts by hand and as printed, shapes, stacked gradients, normalisation, starting points, blocks."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from fedtheory.simulations.networks.models import (
    ARCHITECTURES,
    BLOCKS,
    Norm,
    Shape,
    blocks,
    build,
    cuts,
    fresh_buffers,
    initial,
    layers,
    layout,
)
from fedtheory.simulations.networks.stacked import can_stack, outputs
from fedtheory.theory.catalogue import find
from fedtheory.theory.statement import Record

torch.set_num_threads(1)  # small problems, beside other test processes

CIFAR, MNIST, DIGITS = (3, 32, 32), (1, 28, 28), (1, 8, 8)
SMALL: dict[str, Shape] = {  # small enough for quick gradients
    "logistic": DIGITS,
    "logistic, no bias": DIGITS,
    "MLP": DIGITS,
    "MLP, SFL": DIGITS,
    "LeNet-5": (2, 16, 17),
    "LeNet-5, SFL": (1, 18, 16),
    "CNN": (3, 16, 16),
    "CNN, SFL": DIGITS,
    "VGG-9": CIFAR,
    "VGG-11": (3, 16, 16),
    "VGG-19": (3, 16, 16),
    "ResNet-10": (3, 8, 9),
    "ResNet-10, wide": (3, 8, 9),
    "ResNet-18": (3, 8, 8),
    "small CNN": DIGITS,
    "small ViT": DIGITS,
}
LARGE = ("VGG-11", "VGG-19", "ResNet-18")
CONVOLUTIONAL = [name for name in SMALL if not name.startswith(("logistic", "MLP")) and name != "small ViT"]


def count(module: nn.Module) -> int:
    return sum(shape.numel() for shape in layout(module).values())


def named(module: nn.Module, w: Tensor) -> dict[str, Tensor]:
    shapes = layout(module)
    parts = w.split([shape.numel() for shape in shapes.values()])
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def output(module: nn.Module, w: Tensor, x: Tensor) -> Tensor:
    found: Tensor = functional_call(module, named(module, w), (x,))
    return found


def loss(module: nn.Module, w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return nn.functional.cross_entropy(output(module, w, x), y)


def images(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ----------------------------------------------------------------------------------------- counts


def conv(inputs: int, outputs: int, kernel: int = 3) -> int:
    return outputs * (inputs * kernel**2 + 1)


def normed(inputs: int, outputs: int, kernel: int = 3) -> int:
    """A convolution without bias and its normalisation's two parameters per channel."""
    return outputs * (inputs * kernel**2 + 2)


def bare(inputs: int, outputs: int, kernel: int = 3) -> int:
    return outputs * inputs * kernel**2


def full(*widths: int) -> int:
    return sum(outputs * (inputs + 1) for inputs, outputs in pairwise(widths))


EIGHT = (3, 64, 128, 256, 256, 512, 512, 512, 512)
SIXTEEN = (3, 64, 64, 128, 128, *[256] * 4, *[512] * 8)
RESIDUAL = (3, *[64] * 5, *[128] * 4, *[256] * 4, *[512] * 4)
SHORTCUTS = ((64, 128, 1), (128, 256, 1), (256, 512, 1))
ENCODER = 4 * full(768, 768) + full(768, 3072, 768) + 2 * 2 * 768
TOKENS = conv(3, 768, 16) + 768 + 197 * 768

BY_HAND: list[tuple[str, Shape, int, Norm | None, int]] = [
    ("logistic", MNIST, 10, None, full(784, 10)),
    ("logistic, no bias", MNIST, 1, None, 784),
    ("MLP", MNIST, 10, None, full(784, 200, 200, 10)),
    ("MLP, SFL", MNIST, 10, None, full(784, 64, 10)),
    ("LeNet-5", CIFAR, 10, None, conv(3, 64, 5) + conv(64, 64, 5) + full(64 * 5 * 5, 384, 192, 10)),
    ("LeNet-5", MNIST, 10, None, conv(1, 64, 5) + conv(64, 64, 5) + full(64 * 4 * 4, 384, 192, 10)),
    ("LeNet-5, SFL", MNIST, 10, None, conv(1, 6, 5) + conv(6, 16, 5) + full(256, 120, 84, 10)),
    ("CNN", MNIST, 10, None, normed(1, 32) + normed(32, 64) + normed(64, 128) + normed(128, 256) + 256 * 10),
    ("CNN", CIFAR, 10, None, normed(3, 32) + normed(32, 64) + normed(64, 128) + normed(128, 256) + 1024 * 10),
    ("CNN, SFL", MNIST, 10, None, conv(1, 32, 5) + conv(32, 32, 5) + full(7 * 7 * 32, 128, 10)),
    ("VGG-9", CIFAR, 10, None, 2_308_810),  # as Lin et al.'s code counts them, for four times the least channels
    ("VGG-11", CIFAR, 100, None, sum(conv(*io) for io in pairwise(EIGHT)) + full(2048, 2048, 1024, 100)),
    ("VGG-19", CIFAR, 100, None, sum(conv(*io) for io in pairwise(SIXTEEN)) + full(2048, 512, 256, 100)),
    (
        "ResNet-10",
        CIFAR,
        100,
        None,
        sum(normed(*io) for io in pairwise((3, 32, 32, 32, 64, 64, 128, 128, 256, 256)))
        + sum(normed(*io) for io in ((32, 64, 1), (64, 128, 1), (128, 256, 1)))
        + 256 * 100,
    ),
    (
        "ResNet-10, wide",
        CIFAR,
        100,
        None,
        sum(normed(*io) for io in pairwise((3, 64, 64, 64, 128, 128, 256, 256, 512, 512)))
        + sum(normed(*io) for io in SHORTCUTS)
        + 512 * 100,
    ),
    ("ResNet-18", CIFAR, 10, None, sum(bare(*io) for io in (*pairwise(RESIDUAL), *SHORTCUTS)) + full(512, 10)),
    ("ResNet-18", CIFAR, 10, "batch", sum(normed(*io) for io in (*pairwise(RESIDUAL), *SHORTCUTS)) + full(512, 10)),
    ("ViT", CIFAR, 100, None, TOKENS + 12 * ENCODER + 2 * 768 + full(768, 100)),
    ("small CNN", DIGITS, 10, None, conv(1, 16) + conv(16, 32) + full(128, 10)),
    (
        "small ViT",
        CIFAR,
        10,
        None,
        conv(3, 64, 4) + 64 + 65 * 64 + 2 * (4 * full(64, 64) + full(64, 256, 64) + 4 * 64) + 2 * 64 + full(64, 10),
    ),
]


@pytest.mark.parametrize(("name", "shape", "classes", "norm", "expected"), BY_HAND)
def test_counts_by_hand_and_shapes(name: str, shape: Shape, classes: int, norm: Norm | None, expected: int) -> None:
    module = build(name, shape, classes, norm)
    assert count(module) == expected
    assert {p.device.type for p in module.parameters()} == {"meta"}
    assert module(torch.empty(2, *shape, device="meta")).shape == (2, classes)


def test_every_architecture_is_counted_and_tried() -> None:
    assert {name for name, *_ in BY_HAND} == set(ARCHITECTURES) == {*SMALL, "ViT"}


def test_the_printed_layers_of_fedbat() -> None:
    """Table 4: the linear layers' inputs, and the channels and widths of what is before them."""
    claim = find("fedbat.table4").claim
    assert isinstance(claim, Record)
    for dataset, shape in {"FMNIST": MNIST, "SVHN": CIFAR, "CIFAR-10": CIFAR, "CIFAR-100": CIFAR}.items():
        rows = [row for row in claim.table if row["dataset"] == dataset]
        *before, (inputs, classes) = [row["arguments"] for row in rows]
        module = build(rows[0]["network"], shape, classes)
        shapes = layout(module)
        assert shapes.popitem() == ("classifier.linear.weight", (classes, inputs))
        if rows[0]["network"] == "CNN":
            assert [(s[1], s[0], s[2]) for s in shapes.values() if len(s) == 4] == before
        else:
            (colours, channels, kernel), *widths = before
            assert shapes["stem.conv.weight"] == (channels, colours, kernel, kernel)
            second = [s[0] for key, s in shapes.items() if key.endswith("second.conv.weight")]
            assert [(width,) for width in second] == widths


# Where a printed count cannot be right: its row, printed and ours.
OTHERWISE = {"VGG-11": {8: (2359296, 4194304), 9: (2359296, 2097152)}}


@pytest.mark.parametrize(
    ("name", "classes"), [("LeNet-5", 10), ("VGG-11", 100), ("ResNet-18", 10), ("VGG-19", 100)], ids=str
)
def test_the_printed_blocks_of_fedbcgd(name: str, classes: int) -> None:
    """Supplement 6.6, Tables 1 to 4: the weights of every layer, and of every block."""
    claim = find(f"fedbcgd.blocks.{name.lower().replace('-', '')}").claim
    assert isinstance(claim, Record)
    module = build(name, CIFAR, classes)
    weights = {key: shape.numel() for key, shape in layout(module).items() if len(shape) > 1 and "shortcut" not in key}
    printed = [row["parameters"] for row in claim.table]
    rows = {n: (a, b) for n, (a, b) in enumerate(zip(printed, weights.values(), strict=True)) if a != b}
    assert rows == OTHERWISE.get(name, {})
    # which block each layer is in
    sizes, share = blocks(name, module)
    assert sum(sizes) + share == count(module)
    ends = list(accumulate([*sizes, share]))
    of_layer = [sum(layers(module)[key].start >= end for end in ends) for key in weights]
    assert of_layer == [len(sizes) if row["share"] else int(row["block"]) - 1 for row in claim.table]
    # and no tensor is in two
    assert {0, *ends} <= {0, *(at.stop for at in layers(module).values())}


def test_the_printed_blocks_of_the_vision_transformer() -> None:
    """Table 5: five blocks of 14299520 and 153600; the network without its classifier is six of them."""
    claim = find("fedbcgd.blocks.vit").claim
    assert isinstance(claim, Record)
    printed = [row["parameters"] for row in claim.table]
    assert printed == [14299520] * 5 + [153600]
    module = build("ViT", (3, 224, 224), 200)
    sizes, share = blocks("ViT", module)
    assert sizes == (14299520,) * 6
    assert prod(layout(module)["classifier.linear.weight"]) == 153600 and share == 153600 + 200 + 2 * 768
    assert [count(module[n]) for n in range(3)] == [TOKENS, ENCODER, ENCODER]  # and not TOKENS + 2 ENCODER in block 1
    assert TOKENS + 2 * ENCODER != 14299520


def test_blocks_are_whole_and_of_any_size() -> None:
    for name in BLOCKS:
        module = build(name, CIFAR, 7)
        sizes, share = blocks(name, module)
        assert sum(sizes) + share == count(module) and min(*sizes, share) >= 1
    sizes, _ = blocks("small ViT", build("small ViT", CIFAR, 10))
    assert len(sizes) == 6 and max(sizes) - min(sizes) <= 1 and list(sizes) == sorted(sizes, reverse=True)


# ----------------------------------------------------------------------------------------- use


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        pytest.param(name, norm, marks=[pytest.mark.slow] * (name in LARGE))
        for name in SMALL
        for norm in (("none", "batch", "group") if name in CONVOLUTIONAL else ("none",))
    ],
)
def test_the_stacked_gradient_is_that_of_each(name: str, norm: Norm) -> None:
    shape = SMALL[name]
    module = build(name, shape, 4, norm)
    w, x = torch.stack([initial(module, seed) for seed in (0, 1)]), images(2, 2, 4, *shape)
    y = torch.tensor([[0, 1, 2, 3], [3, 0, 0, 1]])

    def gradient(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        found: Tensor = grad(lambda w: loss(module, w, x, y))(w)
        return found

    assert can_stack(module) == (name != "small ViT")
    for dtype, rtol in ((torch.float64, 1e-6), (torch.float32, 0.1)):  # rounding may turn a ReLU over
        given = w.to(dtype), x.to(dtype), y
        stacked = stacked_gradient(module, *given) if can_stack(module) else vmap(gradient)(*given)
        assert stacked.dtype == dtype and stacked.isfinite().all()
        for found, *at in zip(stacked, w, x, y, strict=True):
            expected = gradient(*at)
            assert expected.norm() > 0 and (found - expected).norm() <= rtol * expected.norm()


def stacked_gradient(module: nn.Module, w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = w.detach().requires_grad_()
    z = outputs(module, torch.func.vmap(lambda one: named(module, one))(w), x)
    return torch.autograd.grad(sum(nn.functional.cross_entropy(*one) for one in zip(z, y, strict=True)), w)[0]


def test_a_model_that_has_diverged_does_not_touch_those_beside_it() -> None:
    module = build("CNN", (1, 16, 16), 4)
    w, x = torch.stack([initial(module, seed) for seed in (0, 1, 2)]), images(2, 3, 4, 1, 16, 16)
    y = torch.tensor([[0, 1, 2, 3]] * 3)
    alone = stacked_gradient(module, w, x, y)
    w[1] = torch.nan
    beside = stacked_gradient(module, w, x, y)
    assert torch.equal(alone[[0, 2]], beside[[0, 2]]) and beside[1].isnan().any()


@pytest.mark.parametrize("name", LARGE)
def test_large_networks_forward_and_backward(name: str) -> None:
    module = build(name, SMALL[name], 4, "group")
    w, x = initial(module, 0).float(), images(1, 2, *SMALL[name]).float()
    gradient = grad(lambda w: loss(module, w, x, torch.tensor([1, 2])))(w)
    assert gradient.isfinite().all()
    assert all(gradient[at].norm() > 0 for at in layers(module).values())


@pytest.mark.parametrize("name", sorted(set(SMALL) - set(LARGE)))
def test_cut_after_any_stage(name: str) -> None:
    """Front and back are networks by themselves, with the parameters' names that the whole has."""
    module, shape = build(name, SMALL[name], 4), SMALL[name]
    w, x = initial(module, 0), images(1, 3, *shape)
    parameters, whole = named(module, w), output(module, w, x)
    assert cuts(module) == tuple(dict.fromkeys(key.partition(".")[0] for key in parameters))[:-1]
    for at in range(1, len(cuts(module)) + 1):
        front, back = (dict.fromkeys(layout(part)) for part in (module[:at], module[at:]))
        assert [*front, *back] == [*parameters]
        smashed = functional_call(module[:at], {key: parameters[key] for key in front}, (x,))
        torch.testing.assert_close(
            functional_call(module[at:], {key: parameters[key] for key in back}, (smashed,)), whole
        )


def test_layers_are_the_coordinates_in_order() -> None:
    module = build("ResNet-10", CIFAR, 10)
    assert [*layers(module)] == [*layout(module)] == [name for name, _ in module.named_parameters()]
    ends = [0, *(at.stop for at in layers(module).values())]
    assert [at.start for at in layers(module).values()] == ends[:-1] and ends[-1] == count(module)
    assert [at.stop - at.start for at in layers(module).values()] == [s.numel() for s in layout(module).values()]


def test_forward_order() -> None:
    assert [*layout(build("small CNN", DIGITS, 10, "batch"))] == [
        *("conv1.conv.weight", "conv1.norm.weight", "conv1.norm.bias"),
        *("conv2.conv.weight", "conv2.norm.weight", "conv2.norm.bias"),
        *("classifier.linear.weight", "classifier.linear.bias"),
    ]
    assert [*layout(build("small ViT", CIFAR, 10))][:6] == [
        *("embedding.patches.weight", "embedding.patches.bias", "embedding.tokens.token", "embedding.tokens.positions"),
        *("encoder1.attention.path.norm.weight", "encoder1.attention.path.norm.bias"),
    ]


def test_convolution_by_hand() -> None:
    """The small CNN, written out."""
    module = build("small CNN", DIGITS, 10)
    w, x = initial(module, 3), images(4, 5, *DIGITS)
    a, b, c, d, e, f = named(module, w).values()
    z = nn.functional.max_pool2d(nn.functional.conv2d(x, a, b, padding=1).relu(), 2)
    z = nn.functional.max_pool2d(nn.functional.conv2d(z, c, d, padding=1).relu(), 2)
    torch.testing.assert_close(output(module, w, x), z.flatten(1) @ e.T + f)


def test_basic_block_by_hand() -> None:
    """He et al.: two convolutions, the first with stride 2 where the width grows, plus the shortcut, ReLU."""
    module = build("ResNet-10", CIFAR, 10, "group")
    parameters, x = named(module, initial(module, 0)), images(1, 2, 32, 8, 8)
    own = {key.removeprefix("block2."): value for key, value in parameters.items() if key.startswith("block2.")}
    kernels = [value for value in own.values() if value.dim() == 4]
    ones = torch.ones(64, dtype=x.dtype)

    def normalised(z: Tensor) -> Tensor:
        return nn.functional.group_norm(z, 32, ones, 0 * ones)

    z = normalised(nn.functional.conv2d(x, kernels[0], stride=2, padding=1)).relu()
    z = normalised(nn.functional.conv2d(z, kernels[1], padding=1))
    expected = (z + normalised(nn.functional.conv2d(x, kernels[2], stride=2))).relu()
    torch.testing.assert_close(functional_call(module.get_submodule("block2"), own, (x,)), expected)


def test_attention_is_torchs() -> None:
    module = build("small ViT", CIFAR, 10)
    prefix = "encoder2.attention.path.heads"
    own = [value for key, value in named(module, initial(module, 0)).items() if key.startswith(prefix)]
    names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    theirs, x = nn.MultiheadAttention(64, 2, batch_first=True, device="meta"), images(1, 3, 5, 64)
    attention = module.get_submodule(prefix)
    expected, _ = functional_call(theirs, dict(zip(names, own, strict=True)), (x, x, x))
    found = functional_call(attention, dict(zip(layout(attention), own, strict=True)), (x,))
    torch.testing.assert_close(found, expected)


def test_the_vision_transformer_resizes() -> None:
    """An image of 32x32 pixels and its 8x8 original give the same where the resizing is that of torch."""
    small, plain = build("small ViT", DIGITS, 10), build("small ViT", (1, 32, 32), 10)
    assert layout(small) == layout(plain)
    w, x = initial(plain, 0), images(1, 2, *DIGITS)
    resized = nn.functional.interpolate(x, (32, 32), mode="bilinear")
    torch.testing.assert_close(output(small, w, x), output(plain, w, resized))


# ----------------------------------------------------------------------------------------- normalisation


def test_the_papers_own_normalisation() -> None:
    kinds = {name: {type(m) for m in build(name, shape, 4).modules()} for name, shape in SMALL.items()}
    assert {name for name, kind in kinds.items() if nn.BatchNorm2d in kind} == {"CNN", "ResNet-10", "ResNet-10, wide"}
    assert not any(nn.GroupNorm in kind for kind in kinds.values())
    assert not any(issubclass(m, nn.Dropout) for kind in kinds.values() for m in kind)


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_one_normalisation_a_convolution(name: str) -> None:
    kinds: dict[Norm, type[nn.Module]] = {"batch": nn.BatchNorm2d, "group": nn.GroupNorm}
    for norm, kind in kinds.items():
        modules = [*build(name, SMALL[name], 4, norm).modules()]
        convolutions = [m for m in modules if isinstance(m, nn.Conv2d)]
        channels = [p.shape[0] for m in modules if isinstance(m, kind) for p in m.parameters()]
        assert channels == [m.out_channels for m in convolutions for _ in ("weight", "bias")]
        assert all(m.bias is None for m in convolutions)


def test_groups() -> None:
    groups = [m.num_groups for m in build("LeNet-5, SFL", MNIST, 10, "group").modules() if isinstance(m, nn.GroupNorm)]
    assert groups == [6, 16]
    groups = [m.num_groups for m in build("CNN", MNIST, 10, "group").modules() if isinstance(m, nn.GroupNorm)]
    assert groups == [32, 32, 32, 32]


def test_statistics_of_the_batch_at_hand() -> None:
    """Without running statistics training and evaluation agree, and there are no buffers."""
    module = build("small CNN", DIGITS, 10, "batch")
    assert fresh_buffers(module, "cpu", torch.float64) == {} and not [*module.buffers()]
    w, x = initial(module, 0), images(1, 6, *DIGITS)
    trained = output(module, w, x)
    assert torch.equal(output(module.eval(), w, x), trained)
    own = {key.removeprefix("conv1."): value for key, value in named(module, w).items() if key.startswith("conv1.")}
    z = nn.functional.conv2d(x, own["conv.weight"], padding=1)
    z = (z - z.mean((0, 2, 3), keepdim=True)) / (z.var((0, 2, 3), correction=0, keepdim=True) + 1e-5).sqrt()
    expected = nn.functional.max_pool2d(z.relu(), 2)
    torch.testing.assert_close(functional_call(module.get_submodule("conv1"), own, (x,)), expected)


def test_running_statistics_are_the_average_over_batches() -> None:
    module, plain = build("small CNN", DIGITS, 10, "batch", running=True), build("small CNN", DIGITS, 10, "batch")
    assert layout(module) == layout(plain)
    w, x = initial(module, 0), images(1, 3, 5, *DIGITS)  # three batches
    buffers = fresh_buffers(module, "cpu", torch.float64)
    assert {name.rpartition(".")[2]: value.dtype for name, value in buffers.items()} == {
        "running_mean": torch.float64,
        "running_var": torch.float64,
        "num_batches_tracked": torch.int64,
    }
    module.train()
    for batch in x:
        found = functional_call(module, {**named(module, w), **buffers}, (batch,))
        torch.testing.assert_close(found, output(plain, w, batch))
    z = nn.functional.conv2d(x.flatten(0, 1), named(module, w)["conv1.conv.weight"], padding=1).view(3, 5, 16, 8, 8)
    torch.testing.assert_close(buffers["conv1.norm.running_mean"], z.mean((0, 1, 3, 4)))
    torch.testing.assert_close(buffers["conv1.norm.running_var"], z.var((1, 3, 4)).mean(0))
    assert buffers["conv2.norm.num_batches_tracked"] == 3
    before = {name: value.clone() for name, value in buffers.items()}
    module.eval()
    alone = functional_call(module, {**named(module, w), **buffers}, (x[0, :1],))
    together = functional_call(module, {**named(module, w), **buffers}, (x[0],))
    torch.testing.assert_close(alone[0], together[0])  # each image by itself
    assert all(torch.equal(before[name], buffers[name]) for name in before)


# ----------------------------------------------------------------------------------------- starting points


@pytest.mark.parametrize("name", sorted(set(SMALL) - set(LARGE)))
def test_initial_is_torchs_default(name: str) -> None:
    module = build(name, SMALL[name], 10, "group" if name in CONVOLUTIONAL else None)
    w = initial(module, 5)
    assert w.dtype == torch.float64 and w.device.type == "cpu" and w.shape == (count(module),)
    for key, value in named(module, w).items():
        owner = module.get_submodule(key.rpartition(".")[0])
        if isinstance(owner, nn.Linear | nn.Conv2d):
            bound = owner.weight[0].numel() ** -0.5
            assert value.abs().max() < bound
            if value.numel() > 1000:
                assert value.abs().max() > 0.99 * bound and abs(value.mean()) < 0.1 * bound
                assert abs(value.square().mean() * 3 / bound**2 - 1) < 0.15
        elif isinstance(owner, nn.GroupNorm | nn.LayerNorm):
            assert torch.equal(value, torch.full_like(value, float(key.endswith("weight"))))
        else:  # class token and positions
            assert abs(value.std() / 0.02 - 1) < 0.3


def test_torchs_own_layers_have_these_bounds() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for layer in (nn.Linear(50, 400), nn.Conv2d(8, 300, 5)):
            bound = layer.weight[0].numel() ** -0.5
            for parameter in layer.parameters():
                assert 0.97 * bound < parameter.abs().max() <= bound * (1 + 1e-6)


def test_initial_depends_on_its_seed_alone() -> None:
    module = build("small ViT", DIGITS, 10)
    w = initial(module, 0)
    with torch.device("meta"):  # a default device elsewhere
        assert torch.equal(initial(module, 0), w)
    assert not torch.equal(initial(module, 1), w)


def test_the_global_generator_is_left_alone() -> None:
    state = torch.get_rng_state()
    for name, shape in SMALL.items():
        module = build(name, shape, 4)
        if name not in LARGE:
            initial(module, 0)
    build("ViT", CIFAR, 10)
    assert torch.equal(torch.get_rng_state(), state)


# ----------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("name", [name for name, architecture in ARCHITECTURES.items() if architecture.least > 1])
def test_the_least_size(name: str) -> None:
    architecture = ARCHITECTURES[name]
    least = architecture.least
    assert build(name, (3, least, least), 10)(torch.empty(2, 3, least, least, device="meta")).shape == (2, 10)
    for shape in ((3, least - 1, least), (3, least, least - 1)):
        said = rf"{name}: images of shape \({', '.join(map(str, shape))}\) are too small: expected at least {least}x{least}"
        with pytest.raises(ValueError, match=said):
            build(name, shape, 10)
        # smaller images do not pass: torch warns of a linear layer without inputs, or finds no pixels left to pool
        with pytest.raises((RuntimeError, UserWarning)), torch.device("meta"):
            nn.Sequential(architecture.stages(shape, 10, lambda channels: {}))(torch.empty(2, *shape))


def test_refused() -> None:
    with pytest.raises(ValueError, match="unknown network 'VGG': expected one of logistic, .*MLP, .*VGG-9.*small ViT"):
        build("VGG", CIFAR, 10)
    with pytest.raises(ValueError, match="norm = 'layer': expected one of 'batch', 'group', 'none'"):
        build("CNN", CIFAR, 10, "layer")  # type: ignore[arg-type]
    norms: tuple[Norm, Norm] = ("batch", "group")
    for norm in norms:
        for name in ("logistic", "MLP", "small ViT"):
            with pytest.raises(
                ValueError, match=f"{name}: norm = '{norm}', but there are no convolutions to normalise"
            ):
                build(name, CIFAR, 10, norm)
    for shape in ((32, 32), (3, 32, 0), (3, 32, 32.0)):
        with pytest.raises(ValueError, match="expected three whole numbers >= 1"):
            build("CNN", shape, 10)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="classes = 0: expected a whole number >= 1"):
        build("CNN", CIFAR, 0)
    with pytest.raises(ValueError, match="no parameter blocks are printed for 'CNN': expected one of LeNet-5, "):
        blocks("CNN", build("CNN", CIFAR, 10))
