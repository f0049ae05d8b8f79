"""As the authors' codes train networks: crops, flips, smaller last batches, local epochs, other losses, clamps of alpha."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import ByHand, mean
from test_fedbat_algorithms import fedbat
from test_network import InNumpy, little, network
from torch.nn.functional import cross_entropy, interpolate

from fedtheory.simulations import partitions, run
from fedtheory.simulations.algorithms.fedbat import FedBAT, ZeroFL
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD, FedPAQ
from fedtheory.simulations.arrays import on_host
from fedtheory.simulations.data import Dataset
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.exact.enumerated import why_not
from fedtheory.simulations.networks import images, models
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.networks.setup import Setup, from_table
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM

torch.set_num_threads(1)

CLIENTS = np.arange(5)[None]


def drawn(step: int = 0, seeds: tuple[int, ...] = (0, 9), round: int = 3):
    return Draws.of_seeds(np.array(seeds), round).of(CLIENTS).step(step)


def at(net: Network, seeds: int = 2) -> torch.Tensor:
    rng = np.random.default_rng(0)
    return torch.tensor(net.start(0) + 0.1 * rng.standard_normal((1, seeds, 5, net.d)))


# ------------------------------------------------------------------------------------------------ crops and flips


def by_hand(image: np.ndarray, crop: int, flip: bool, numbers: np.ndarray) -> np.ndarray:
    """(C, H, W): surrounded by zeros, a window of its size, and its mirror image."""
    _, H, W = image.shape
    wide = np.pad(image, ((0, 0), (crop, crop), (crop, crop)))
    down, right = (int(u * (2 * crop + 1)) for u in numbers[:2])
    window = wide[:, down : down + H, right : right + W]
    return window[:, :, ::-1] if flip and numbers[2] < 0.5 else window


@pytest.mark.parametrize(("crop", "flip"), [(2, True), (3, False), (0, True)])
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 8, 12)])
def test_crops_and_flips(crop: int, flip: bool, shape: tuple[int, int, int]) -> None:
    net = network(data=little(shape), crop=crop, flip=flip)
    draw = drawn()
    rows = net._table[CLIENTS[..., None], net._rows(CLIENTS, draw)]
    got, labels = net._look_up(rows, torch.tensor(net._moves(draw)))
    numbers = draw.beside(21).reshape(2, 5, 7, 3)
    assert (labels.numpy() == net.data.labels[rows]).all()
    moved = 0
    for place in np.ndindex(2, 5, 7):
        image = net.data.images[rows[place]]
        expected = by_hand(image, crop, flip, numbers[place])
        moved += (expected != image).any()
        torch.testing.assert_close(got[place], net._standardised(torch.tensor(expected.copy())))
    assert moved > 20


def test_a_crop_does_not_depend_on_who_else_runs() -> None:
    net = network(crop=2, flip=True)
    x = at(net)
    both, alone = net.gradient(x, CLIENTS, drawn()), net.gradient(x[:, 1:], CLIENTS, drawn(seeds=(9,)))
    torch.testing.assert_close(both[:, 1:], alone, rtol=0, atol=0)
    some = net.gradient(x[:, :, 3:], CLIENTS[:, 3:], Draws.of_seeds(np.array([0, 9]), 3).of(CLIENTS[:, 3:]).step(0))
    torch.testing.assert_close(both[:, :, 3:], some)


def test_crops_leave_the_sample_and_exact_gradients_alone() -> None:
    plain, moved = network(), network(crop=2, flip=True)
    assert (plain._rows(CLIENTS, drawn()) == moved._rows(CLIENTS, drawn())).all()
    x = at(plain)
    assert (plain.gradient(x, CLIENTS, drawn()) != moved.gradient(x, CLIENTS, drawn())).any()
    for exact in ("local_gradient", "full_gradient", "value", "test_value"):
        own = (x, CLIENTS) if exact == "local_gradient" else (x[0, 0],)
        torch.testing.assert_close(getattr(plain, exact)(*own), getattr(moved, exact)(*own), rtol=0, atol=0)


def test_crops_are_uniform() -> None:
    """2 x 5 x 200 x 7 draws of 5 places: each about a fifth, by a test at 10^-6."""
    net = network(crop=2, flip=True)
    numbers = np.concatenate([net._moves(drawn(k)).reshape(-1, 3) for k in range(200)])
    counts = np.stack([np.bincount((5 * numbers[:, i]).astype(int), minlength=5) for i in (0, 1)])
    expected = len(numbers) / 5
    assert ((counts - expected) ** 2 / expected).sum(1).max() < 33.4  # 4 degrees of freedom
    assert abs((numbers[:, 2] < 0.5).mean() - 0.5) < 4.9 * 0.5 / np.sqrt(len(numbers))


@pytest.mark.parametrize("flip", [False, True])
def test_enlarged_images(flip: bool) -> None:
    """A part of the enlarged image for mini-batches, the middle for all else."""
    data = little((3, 8, 12))
    net = network("small CNN", data, enlarge=(20, 16), flip=flip)
    assert net.shape == (3, 16, 16) and net._module(torch.empty(2, 3, 16, 16, device="meta")).shape == (2, 4)
    draw = drawn()
    rows = net._table[CLIENTS[..., None], net._rows(CLIENTS, draw)]
    got, _ = net._look_up(rows, torch.tensor(net._moves(draw)))
    numbers = draw.beside(21).reshape(2, 5, 7, 3)
    for place in [(0, 0, 0), (1, 4, 6), (1, 2, 3)]:
        image = net._standardised(torch.tensor(data.images[rows[place]]))[None]
        wide = interpolate(image, (20, 20), mode="bilinear", antialias=True)[0]
        down, right = (int(5 * u) for u in numbers[place][:2])
        part = wide[:, down : down + 16, right : right + 16]
        torch.testing.assert_close(got[place], part.flip(-1) if flip and numbers[place][2] < 0.5 else part)
    middle, _ = net._look_up(rows[1, 4, 6])
    torch.testing.assert_close(
        middle, interpolate(net._standardised(torch.tensor(data.images[rows[1, 4, 6]]))[None], (20, 20), mode="bilinear",
                            antialias=True)[0, :, 2:18, 2:18])  # fmt: skip
    assert 0 <= float(net.accuracy(torch.tensor(net.start(0)))) <= 1


# ------------------------------------------------------------------------------------------------ epochs


def test_whole_epochs_end_with_what_is_left() -> None:
    net = network(order="whole epochs")
    local = Draws.of_seeds(np.array([0, 9]), 3).of(CLIENTS)
    for m, size in enumerate(net.sizes):
        steps = -(-size // 7)
        for epoch in range(2):
            read = np.concatenate([net._rows(CLIENTS, local.step(epoch * steps + k))[1, m] for k in range(steps)])
            assert (np.sort(read[read >= 0]) == np.arange(size)).all()
            assert (read[:size] >= 0).all() and (read[size:] == -1).all()


@pytest.mark.parametrize(("model", "norm"), [("logistic", None), ("small CNN", None), ("CNN", "batch")])
@pytest.mark.parametrize("batching", ["loop", "stacked"])
def test_gradients_of_smaller_batches(model: str, norm: str | None, batching: str) -> None:
    """Of each client by autograd, on the images that are left."""
    data = little((1, 32, 32) if model == "CNN" else (1, 8, 8))
    net = network(model, data, order="whole epochs", batching=batching, norm=norm, weight_decay=0.1, clip=1.5)
    local, x, seen = Draws.of_seeds(np.array([0, 9]), 3).of(CLIENTS), at(net), set()
    for k in (0, int(net.sizes.min() // 7)):
        rows = net._rows(CLIENTS, local.step(k))
        got = net.gradient(x, CLIENTS, local.step(k))
        for n, m in np.ndindex(2, 5):
            own = net._table[m, rows[n, m][rows[n, m] >= 0]]
            seen.add(len(own))
            X, Y = net._look_up(own)
            flat = x[0, n, m].clone().requires_grad_()
            (g,) = torch.autograd.grad(cross_entropy(net._apply(net._module, flat, X), Y), flat)
            norm_of = torch.linalg.vector_norm(g)
            expected = g * (1.5 / (norm_of + 1e-6)).clamp(max=1) + 0.1 * x[0, n, m]
            torch.testing.assert_close(got[0, n, m], expected, rtol=1e-8, atol=1e-10)
    assert len(seen) > 1


@pytest.mark.parametrize("order", ["epochs", "whole epochs"])
def test_clients_stop_after_their_own_epochs(order: str) -> None:
    """FedAvg, against a loop over clients with their own numbers of steps."""
    net = network(order=order, local_epochs=2, weight_decay=0.01, crop=1)
    assert net.steps is not None
    by_rule = -(-net.sizes // 7) * 2 if order == "whole epochs" else -(-2 * net.sizes // 7)
    assert (net.steps == by_rule).all() and len(set(by_rule)) > 1
    tau, x0 = int(net.steps.max()), net.start(0)
    ends = run(net, FedPAQ(tau, 0.1), rounds=1, seeds=[4], x0=x0, record=("value",))
    h = ByHand(InNumpy(replace(net, local_epochs=None)), 0.1, 4, x0)
    expected = net.value(torch.tensor(mean(h.steps(m, x0, int(by_rule[m])) for m in range(5))))
    assert ends.value.isel(round=-1).item() == pytest.approx(float(expected), rel=1e-9)
    local = h.draws.of(CLIENTS)
    for m in range(5):
        assert (net.gradient(at(net, 1), CLIENTS, local.step(int(by_rule[m])))[:, :, m] == 0).all()


# ------------------------------------------------------------------------------------------------ SWAT


@pytest.mark.parametrize(
    ("model", "norm"), [("logistic", None), ("small CNN", None), ("CNN", "batch"), ("ResNet-10", None)]
)
@pytest.mark.parametrize("batching", ["loop", "stacked"])
def test_weights_that_read_the_largest_activations(model: str, norm: str | None, batching: str) -> None:
    """One client at a time, with convolutions and linear layers whose backward pass prunes what it has saved."""
    data = little((1, 32, 32)) if model == "CNN" else little((3, 8, 8) if model == "ResNet-10" else (1, 8, 8))
    net = network(model, data, norm=norm, batching=batching)
    x = at(net)
    got = net.thin_gradient(x, CLIENTS, drawn(), 0.2)
    full = net.gradient(x, CLIENTS, drawn())
    torch.testing.assert_close(net.thin_gradient(x, CLIENTS, drawn(), 1.0), full, rtol=0, atol=0)
    assert (got != full).any()
    rows = net._rows(CLIENTS, drawn())
    module = models.build(model, net.shape, 4, norm).to_empty(device="cpu").double()
    ran: list[tuple[Any, torch.Tensor, torch.Tensor]] = []  # layer, its pruned input, its output

    def keep(layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...], out: torch.Tensor) -> None:
        value = inputs[0].detach()
        least = value.flatten().abs().sort(descending=True).values[math.ceil(0.2 * value.numel() - 1e-9) - 1]
        out.retain_grad()
        ran.append((layer, torch.where(value.abs() >= least, value, 0.0), out))

    for layer in module.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            layer.register_forward_hook(keep)
    for n, m in ((0, 0), (1, 3)):
        ran.clear()
        torch.nn.utils.vector_to_parameters(x[0, n, m], module.parameters())
        X, Y = net._look_up(net._table[m, rows[n, m]])
        module.zero_grad()
        cross_entropy(module(X), Y).backward()
        for layer, part, out in ran:
            if isinstance(layer, torch.nn.Linear):
                layer.weight.grad = out.grad.T @ part
            else:
                layer.weight.grad = torch.nn.grad.conv2d_weight(
                    part, layer.weight.shape, out.grad, layer.stride, layer.padding
                )
        expected = torch.cat([p.grad.flatten() for p in module.parameters()])
        torch.testing.assert_close(got[0, n, m], expected, rtol=1e-8, atol=1e-10)


def test_layers_that_cannot_be_read_in_part() -> None:
    net = network("small ViT", little())
    with pytest.raises(ValueError, match="small ViT: inputs of its layers cannot be left out"):
        net.thin_gradient(at(net), CLIENTS, drawn(), 0.5)


def test_zerofl_reads_the_largest_activations() -> None:
    """One step of ZeroFL, and the thin gradient at the pruned weights."""
    net, algorithm = network("small CNN", order="epochs"), ZeroFL(1, 0.5, sparsity=0.6)
    x0 = net.start(0)
    moved = after_a_round(net, algorithm, x0) - x0
    w = algorithm.pruned(net, torch.tensor(x0).expand(1, 1, 5, net.d))
    draw = Draws.of_seeds(np.array([0]), 0).of(CLIENTS).step(0)
    step = algorithm.pruned(net, -0.5 * net.thin_gradient(w, CLIENTS, draw, 0.4)).mean(2)[0, 0]
    np.testing.assert_allclose(moved, step.numpy(), atol=1e-12)


def test_only_some_algorithms_let_clients_stop() -> None:
    net = network(order="epochs", local_epochs=1)
    with pytest.raises(ValueError, match="SCAFFOLD has one number of local steps, .*one for each client"):
        run(net, SCAFFOLD(2, 0.1), rounds=1, x0=net.start(0), record=())


# ------------------------------------------------------------------------------------------------ losses


@pytest.mark.parametrize(("loss", "kind"), [("logistic", Logistic), ("sigmoid", SigmoidERM)])
@pytest.mark.parametrize("batching", ["loop", "stacked"])
def test_losses_of_two_classes(loss: str, kind: type, batching: str) -> None:
    """(129) and (130) of FedBCGD's supplement, against the problems of that name."""
    data = images.one_against_rest(little(), 2)
    dealt = partitions.iid(data.labels, 5, 0)
    net = Network(data, dealt, "logistic, no bias", loss=loss, batch=None, precision="float64", weight_decay=0.01,
                  batching=batching)  # fmt: skip
    features = net._look_up(np.arange(120))[0].flatten(1).numpy()
    other = kind(Dataset("the same", features, data.labels, 2, "by hand"), dealt, 0.01)
    x = np.random.default_rng(1).standard_normal((1, 2, 5, 64)) / 8
    np.testing.assert_allclose(net.value(torch.tensor(x[0, 0])), other.value(x[0, 0]), rtol=1e-9)
    np.testing.assert_allclose(net.full_gradient(torch.tensor(x[0, 0])), other.full_gradient(x[0, 0]), atol=1e-10)
    np.testing.assert_allclose(
        net.local_gradient(torch.tensor(x), CLIENTS), other.local_gradient(x, CLIENTS), atol=1e-10
    )
    drawing = replace(net, batch=6)
    rows = dealt.clients[3][drawing._rows(CLIENTS, drawn())[1, 3]]
    g = drawing.gradient(torch.tensor(x), CLIENTS, drawn())[0, 1, 3].numpy()
    b, z = 2 * data.labels[rows] - 1, features[rows] @ x[0, 1, 3]
    s = 1 / (1 + np.exp(b * z))
    slope = -b * s if loss == "logistic" else -b * s * (1 - s)
    np.testing.assert_allclose(g, (slope[:, None] * features[rows]).mean(0) + 0.01 * x[0, 1, 3], atol=1e-10)
    right = (
        (net._standardised(torch.tensor(data.test_images)).flatten(1).numpy() @ x[0, 0, 0]) > 0
    ) == data.test_labels
    assert float(net.accuracy(torch.tensor(x[0, 0, 0]))) == pytest.approx(right.mean())


def test_one_class_against_the_rest() -> None:
    data = little()
    two = images.one_against_rest(data, 3)
    assert two.classes == 2 and (two.labels == (data.labels == 3)).all() and (two.images == data.images).all()
    assert "class 3 against the others" in two.provenance
    with pytest.raises(ValueError, match="against = 4: expected a whole number >= 0 and <= 3"):
        images.one_against_rest(data, 4)
    with pytest.raises(ValueError, match="has 0 such images, expected some and others"):
        images.one_against_rest(replace(data, labels=data.labels % 3), 3)


def test_a_set_up_against_the_rest() -> None:
    """The clients' images are dealt out by their own classes."""
    table = {
        "data": {"name": "digits", "clients": 4, "partition": "quantity", "C": 3, "against": 0},
        "network": {"model": "logistic, no bias", "loss": "sigmoid", "batch": 5},
        "algorithm": {"name": "PFL", "K": 2, "eta": 0.1},
        "rounds": 1,
    }
    net = from_table(table).problem()
    own = from_table({**table, "data": {k: v for k, v in table["data"].items() if k != "against"},
                      "network": {"model": "logistic", "batch": 5}}).problem()  # fmt: skip
    assert all((a == b).all() for a, b in zip(net.partition.clients, own.partition.clients, strict=True))
    assert net.d == 64 and set(net.data.labels) == {0, 1}


# ------------------------------------------------------------------------------------------------ FedBAT


def after_a_round(net: Network, algorithm: Any, x0: np.ndarray, seed: int = 0) -> np.ndarray:
    running = RunState(net, algorithm, rounds=1, seeds=[seed], x0=x0, record=(), at=[1])
    running.advance()
    return on_host(running.x)[0, 0]


@pytest.mark.parametrize("which", ["argmin", "argmax"])
def test_every_client_has_its_own_plain_steps(which: str) -> None:
    """One client, step by step: half of its own steps are plain, and after the last it stays where it is."""
    net = network(order="whole epochs", local_epochs=2, batch=10)
    assert net.steps is not None
    client = int(getattr(net.steps, which)())
    steps, tau = int(net.steps[client]), int(net.steps.max())
    assert (steps < tau) == (which == "argmin") and steps >= 2
    seed = next(s for s in range(99) if Draws.of_seeds(np.array([s]), 0).order(5, 1)[0, 0] == client)
    x0, algorithm = net.start(0), FedBAT(tau, 0.5, K=1, rho=2.0)
    got = after_a_round(net, algorithm, x0, seed)
    np.testing.assert_allclose(got, fedbat(ByHand(InNumpy(net), 0.5, seed, x0), algorithm, x0), atol=1e-12)
    assert np.abs(got - x0).min() > 1e-6


def test_the_clamp_of_alpha() -> None:
    net = network(order="epochs")
    x0 = net.start(0)
    for clamp in ((0.0, 1e-4), (0.3, 0.3)):
        moved = after_a_round(net, FedBAT(4, 0.5, K=1, clamp=clamp), x0) - x0
        assert np.abs(moved) == pytest.approx(clamp[1], abs=1e-12)
    free, wide = (after_a_round(net, FedBAT(4, 0.5, clamp=clamp), x0) for clamp in (None, (0.0, 1e6)))
    np.testing.assert_array_equal(free, wide)


def test_no_exact_expectation_without_binarisation() -> None:
    problem = generate(d=2, M=2, L=1.0, mu=0.5, delta=0.0)
    analysed = FedBAT(1, 0.1, phi=0.0, step_size="max")
    assert "all layers binarised" in str(why_not(problem, replace(analysed, full=("x",)), 1))


def test_layers_that_are_not_binarised() -> None:
    net = network(order="epochs")
    x0 = net.start(0)
    assert list(net.blocks) == ["classifier.linear.weight", "classifier.linear.bias"]
    moved = after_a_round(net, FedBAT(4, 0.5, K=1, full=("bias",)), x0) - x0
    weight, bias = (moved[part] for part in net.blocks.values())
    assert len({round(float(a), 12) for a in np.abs(weight)}) == 1 < len({round(float(a), 12) for a in np.abs(bias)})
    assert FedBAT(4, 0.5, full=("bias",)).uplink_bits(net) == 32 + weight.size + 32 * bias.size
    whole, plain = FedBAT(4, 0.5, full=("classifier",)), FedPAQ(4, 0.5)
    np.testing.assert_allclose(after_a_round(net, whole, x0), after_a_round(net, plain, x0), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ set-ups


TABLE = {
    "data": {"name": "digits", "clients": 10, "partition": "dirichlet", "alpha": 0.5},
    "network": {"model": "logistic", "batch": 20, "order": "whole epochs", "local_epochs": 2},
    "algorithm": {"name": "FedAvg", "eta": 0.1},
    "rounds": 30,
    "every": 7,
    "tail": 4,
}


def test_local_epochs_set_the_steps() -> None:
    setup = from_table(TABLE)
    net = setup.problem()
    method = setup.method(net)
    assert method.tau == setup.method().tau == net.steps.max() > net.steps.min()
    assert from_table(setup.table()) == setup
    assert setup.measured == [0, 7, 14, 21, 27, 28, 29, 30]
    for algorithm, message in (
        ({"name": "FedAvg", "eta": 0.1, "tau": 5}, "algorithm: tau unknown"),
        ({"name": "SCAFFOLD", "eta": 0.1}, "local_epochs with SCAFFOLD: expected one of .*FedPAQ"),
    ):
        with pytest.raises(ValueError, match=message):
            from_table({**TABLE, "algorithm": algorithm})


def test_weights_by_batches_and_small_starts() -> None:
    net = network(weights="batches", initial="0.01", model="small CNN")
    batches = -(-net.sizes // 7)
    assert net.weights == pytest.approx(batches / batches.sum())
    own = {name: net.start(3)[part] for name, part in net.blocks.items()}
    assert all((own[name] == 0).all() for name in own if name.endswith("bias"))
    weights = np.concatenate([own[name] for name in own if name.endswith("weight")])
    assert abs(weights.std() / 0.01 - 1) < 5 / np.sqrt(2 * len(weights)) and abs(weights.mean()) < 5e-2 / np.sqrt(
        len(weights)
    )
    assert (net.start(3) != replace(net, initial=None).start(3)).any()


def test_the_tail_is_checked() -> None:
    with pytest.raises(ValueError, match="tail = -1"):
        Setup(**{**TABLE, "tail": -1})
