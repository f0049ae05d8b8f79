"""Networks as problems: gradients against autograd by hand, every algorithm in tensors against the same in numpy."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from spy import built
from torch import nn
from torch.nn.functional import cross_entropy

from fedtheory.simulations import partitions, run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedbcgd import ABLATIONS
from fedtheory.simulations.algorithms.fedcom import FedCOMGATE
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from fedtheory.simulations.arrays import on_host
from fedtheory.simulations.compressors import COMPRESSORS, RandK
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.networks import images, models
from fedtheory.simulations.networks.estimates import estimates
from fedtheory.simulations.networks.images import Images
from fedtheory.simulations.networks.problem import Network, fastest
from fedtheory.simulations.problems.quadratic import generate

DEVICE = os.environ.get("FEDTHEORY_DEVICE", "cpu")  # cuda: see benchmarks/gpu.py
torch.set_num_threads(1)  # beside other test processes more threads stand in each other's way


def little(shape: tuple[int, int, int] = (1, 8, 8), train: int = 120) -> Images:
    return images.generated(shape, classes=4, train=train, test=40, seed=0)


def network(model: str = "logistic", data: Images | None = None, M: int = 5, **settings) -> Network:
    data = data or little()
    settings = {"batch": 7, "precision": "float64", "device": DEVICE} | settings
    return Network(data, partitions.dirichlet(data.labels, M, 1.0, seed=1), model, **settings)


def tensor(values) -> torch.Tensor:
    return torch.tensor(values, device=DEVICE)


class InNumpy:
    """The same problem in arrays of numpy."""

    example = np.empty(0)

    def __init__(self, inside: Network) -> None:
        self.inside = inside

    def __getattr__(self, name: str):
        found = getattr(self.inside, name)
        if name not in ("gradient", "thin_gradient", "sample_gradient", "local_gradient", "value", "full_gradient"):
            return found
        return lambda x, *rest: on_host(found(tensor(x), *rest))


SETTINGS = {  # besides eta; what is not here keeps its default, or is 2
    "compressor": RandK(7),
    "S": 3,
    "k": 20,
    "T": 2,
    "K": 2,
    "tau": 2,
    "N": 2,
    "share": 10,
    "lam": 0.5,
    "p": 0.5,
    "Q": 2,
}


BY_NAME: dict[str, dict] = {  # of 5 clients
    "CyCP": {"groups": 5, "S": 1},
    "AmplifiedFedAvg": {"groups": 5, "S": 1},
    "RCP": {"S": 1},
    "BVR-L-SGD": {"S": 5},
    "STEM": {"S": 5},
    **{name: {"k": 1.0} for name in registry() if "GATE" in name},
}


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_algorithm_in_tensors_is_the_same_as_in_numpy(name):
    net = network()
    x0, algorithm = net.start(3), built(name, eta=0.05, **SETTINGS | BY_NAME.get(name, {}))
    in_tensors, in_numpy = (
        RunState(problem, algorithm, rounds=4, seeds=[0, 7], x0=x0, record=("value", "drift", "grad_sq"))
        for problem in (net, InNumpy(net))
    )
    while in_tensors.advance():
        in_numpy.advance()
    assert isinstance(in_tensors.x, torch.Tensor) and isinstance(in_numpy.x, np.ndarray)
    there, here = in_tensors.state(), in_numpy.state()
    assert there.keys() == here.keys()
    assert np.abs(here["x"] - x0).max() > 1e-4  # it moved
    for key in there:
        np.testing.assert_allclose(there[key], here[key], rtol=1e-9, atol=1e-11, err_msg=key)


@pytest.mark.parametrize("kind", sorted(COMPRESSORS))
def test_every_compressor_in_tensors_is_the_same_as_in_numpy(kind):
    parameter = {"RandK": (5,), "TopK": (5,), "Bernoulli": (0.3,), "Sparsifier": (0.3,)}.get(kind, ())
    parameter = (4,) if kind in ("QSGD", "Dithering", "Rounding") else parameter
    Q = COMPRESSORS[kind](*parameter)
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 40))
    x[0, 0, 0, :3] = x[0, 1, 1] = 0
    clients = np.arange(3)[None]
    draws = Draws.of_seeds(np.array([4, 9]), 2)
    there = Q(tensor(x), replace(draws, place=torch.device(DEVICE)).codes(clients, Q.shared))
    assert isinstance(there, torch.Tensor)
    np.testing.assert_allclose(on_host(there), Q(x, draws.codes(clients, Q.shared)), rtol=1e-12, atol=1e-15)


def test_coins_made_by_torch_are_those_made_by_numpy():
    draws = Draws.of_seeds(np.array([0, 1, 2**40]), 5)
    clients = np.arange(4)[None]
    here, there = draws.codes(clients), replace(draws, place=torch.device(DEVICE)).codes(clients)
    assert (on_host(there.uniform(1001)) == here.uniform(1001)).all()
    assert (on_host(there.local.step(3).uniform(7)) == here.local.step(3).uniform(7)).all()


# ------------------------------------------------------------------------------------------------ by hand


def by_hand(net: Network, flat: torch.Tensor, rows: np.ndarray) -> torch.Tensor:
    """The mean gradient of a multilayer perceptron over some images, layer by layer, by torch's own modules."""
    C, H, W = net.data.shape
    plain = nn.Sequential(nn.Flatten(), nn.Linear(C * H * W, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU())
    plain.append(nn.Linear(200, net.data.classes)).double().to(DEVICE)
    nn.utils.vector_to_parameters(flat.clone(), plain.parameters())
    pixels = tensor(net.data.images).double() / 255
    mean, std = pixels.mean((0, 2, 3), keepdim=True), pixels.std((0, 2, 3), keepdim=True, correction=0)
    X, Y = ((pixels - mean) / std)[rows], tensor(net.data.labels)[rows]
    cross_entropy(plain(X), Y).backward()
    return torch.cat([p.grad.flatten() for p in plain.parameters()])


def at(net: Network, clients: np.ndarray, seeds: int = 2) -> torch.Tensor:
    """As many points as there are seeds and clients, all different."""
    noise = np.random.default_rng(5).standard_normal((1, seeds, clients.shape[1], net.d))
    return tensor(net.start(2) + 0.01 * noise)


@pytest.mark.parametrize("batching", ["loop", "stacked"])
def test_gradient_is_that_of_the_drawn_images(batching):
    net = network("MLP", batching=batching)
    clients = np.array([[0, 3, 4]])
    draw = Draws.of_seeds(np.array([3, 8]), 1).of(clients).step(2)
    x = at(net, clients)
    g = net.gradient(x, clients, draw)
    rows = draw.integers(net.sizes[clients], 7)
    for n in range(2):
        for s, client in enumerate(clients[0]):
            expected = by_hand(net, x[0, n, s], net.partition.clients[client][rows[n, s]])
            torch.testing.assert_close(g[0, n, s], expected, rtol=1e-9, atol=1e-12)


def test_values_and_exact_gradients():
    net = network("MLP", weight_decay=0.03, weights="sizes")
    x = tensor(net.start(1))
    local = net.local_gradient(x.expand(1, 1, net.M, -1), np.arange(net.M)[None])[0, 0]
    for m, rows in enumerate(net.partition.clients):
        torch.testing.assert_close(local[m], by_hand(net, x, rows) + 0.03 * x, rtol=1e-9, atol=1e-12)
    p = tensor(net.sizes / net.sizes.sum())
    torch.testing.assert_close(net.full_gradient(x), p @ local, rtol=1e-9, atol=1e-12)
    step = 1e-6 * torch.nn.functional.normalize(net.full_gradient(x), dim=0)
    slope = (net.value(x + step) - net.value(x - step)) / 2e-6
    torch.testing.assert_close(slope, torch.linalg.vector_norm(net.full_gradient(x)), rtol=1e-6, atol=0)
    alone = replace(net, weights=None)
    torch.testing.assert_close(alone.full_gradient(x), local.mean(0), rtol=1e-9, atol=1e-12)
    assert (alone.full_gradient(x) - net.full_gradient(x)).abs().max() > 1e-3  # clients of different sizes


def test_clipping_and_weight_decay():
    plain = network("MLP")
    clients, draw = np.array([[1, 2]]), Draws.of_seeds(np.array([0, 1]), 0).of(np.array([[1, 2]])).step(0)
    x = at(plain, clients)
    g = plain.gradient(x, clients, draw)
    norms = torch.linalg.vector_norm(g, dim=-1)
    limit = float(norms.median() + norms.max()) / 2
    clipped = replace(plain, clip=limit, weight_decay=0.1).gradient(x, clients, draw) - 0.1 * x
    assert (norms > limit).any() and (norms < limit).any()
    torch.testing.assert_close(
        torch.linalg.vector_norm(clipped, dim=-1), torch.where(norms > limit, limit, norms), rtol=1e-5, atol=0
    )
    torch.testing.assert_close(clipped[norms < limit], g[norms < limit])
    reference = torch.nn.Parameter(torch.zeros(plain.d, dtype=torch.float64, device=DEVICE))
    reference.grad = g[0, 0, 0].clone()
    nn.utils.clip_grad_norm_([reference], limit / 3)
    torch.testing.assert_close(
        replace(plain, clip=limit / 3).gradient(x, clients, draw)[0, 0, 0], reference.grad, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("model", "norm"),
    [("logistic", None), ("MLP", None), ("small CNN", None), ("small CNN", "batch"), ("small ViT", None)],
)
def test_ways_of_batching_agree(model, norm):
    net = network(model, norm=norm)
    clients, draw = np.arange(5)[None], Draws.of_seeds(np.array([0, 1]), 0).of(np.arange(5)[None]).step(0)
    x = at(net, clients)
    loop, stacked = (replace(net, batching=b).gradient(x, clients, draw) for b in ("loop", "stacked"))
    torch.testing.assert_close(loop, stacked, rtol=1e-9, atol=1e-12)
    assert fastest(net, 3) in (("loop", 1), ("stacked", 1))


def test_local_epochs_read_every_image_once():
    net = network(order="epochs")
    clients = np.arange(5)[None]
    local = Draws.of_seeds(np.array([0, 9]), 3).of(clients)
    read = np.concatenate([net._rows(clients, local.step(k)) for k in range(40)], axis=-1)
    for n in range(2):
        for m, size in enumerate(net.sizes):
            epochs = read[n, m][: size * (280 // size)].reshape(-1, size)
            assert (np.sort(epochs, axis=-1) == np.arange(size)).all()
            assert (epochs[0] != epochs[1]).any() and (epochs[0] != np.arange(size)).any()
    again = Draws.of_seeds(np.array([9]), 3).of(clients)  # whoever else runs
    assert (net._rows(clients, again.step(17)) == read[1:, :, 119:126]).all()


# ------------------------------------------------------------------------------------- batch normalisation


def normalised(**settings) -> Network:
    data = little((1, 32, 32), 90)
    return network("CNN", data=data, M=3, norm="batch", batch=4, **settings)


def test_statistics_are_the_mean_of_the_clients():
    net = normalised()
    x = tensor(net.start(0))
    plain = (
        models.build("CNN", net.data.shape, net.data.classes, "batch", running=True).to_empty(device=DEVICE).double()
    )
    nn.utils.vector_to_parameters(x, plain.parameters())
    layers = [m for m in plain.modules() if isinstance(m, nn.BatchNorm2d)]
    first = next(m for m in plain.modules() if isinstance(m, nn.Conv2d))
    for layer in layers:
        layer.reset_running_stats()
    means = []
    with torch.no_grad():
        for rows in net.partition.clients:  # one batch a client
            X, _ = net._look_up(rows)
            means.append(first(X).mean((0, 2, 3)))
            plain(X)
        torch.testing.assert_close(layers[0].running_mean, sum(means) / 3)
        plain.eval()
        z = plain(net._standardised(tensor(net.data.test_images)))
    Y = tensor(net.data.test_labels)
    torch.testing.assert_close(net.test_value(x), cross_entropy(z, Y), rtol=1e-9, atol=1e-12)
    assert float(net.accuracy(x)) == float((z.argmax(-1) == Y).double().mean())


def test_value_with_batch_normalisation_is_by_client():
    net = normalised()
    x = tensor(net.start(0))
    each = [net.local_gradient(x[None, None, None], np.array([[m]])) for m in range(3)]
    torch.testing.assert_close(net.full_gradient(x), sum(each)[0, 0, 0] / 3, rtol=1e-9, atol=1e-12)
    direction = torch.nn.functional.normalize(net.full_gradient(x), dim=0) * 1e-6
    slope = (net.value(x + direction) - net.value(x - direction)) / 2e-6
    torch.testing.assert_close(slope, torch.linalg.vector_norm(net.full_gradient(x)), rtol=1e-5, atol=0)


# ------------------------------------------------------------------------------------------------ cut in two


@pytest.mark.parametrize(("whole", "split"), [(SFL, SSL), (PFL, SplitFed)])
@pytest.mark.parametrize("batching", ["loop", "stacked"])
def test_a_model_cut_in_two_learns_as_the_whole_does(whole, split, batching):
    net = network("small CNN", weight_decay=0.01, batching=batching)
    stage, *_ = models.cuts(net._module)
    cut = replace(net, cut_after=stage)
    assert 0 < cut.cut < cut.d
    x0 = net.start(0)
    runs = [
        RunState(problem, algorithm(K=3, eta=0.1, S=3), rounds=2, seeds=[0, 1], x0=x0, record=("drift",))
        for problem, algorithm in ((net, whole), (cut, split))
    ]
    for running in runs:
        while running.advance():
            pass
    np.testing.assert_allclose(on_host(runs[1].x), on_host(runs[0].x), rtol=1e-8, atol=1e-11)
    assert np.abs(on_host(runs[0].x) - x0).max() > 1e-3
    bits = split(K=3, eta=0.1).uplink_bits(cut)
    assert bits == 32 * (cut.cut + 3 * 7 * (cut.activations + 1))
    if split is SSL:
        own = SSL(K=3, eta=0.1, tau=(1, 2, 3, 4, 5)).downlink_bits(cut)
        assert own == 32 * (cut.cut + 3 * 7 * cut.activations)
    with pytest.raises(ValueError, match="nobody has the whole gradient"):
        split(K=3, eta=0.1).uplink_bits(replace(cut, clip=1.0))


@pytest.mark.parametrize("name", sorted(ABLATIONS))
def test_ablations_run(name):
    net = network("small CNN")
    data = run(net, ABLATIONS[name](2, 0.05, 2, 2, 50, 0.5), rounds=5, x0=net.start(0), record=("value",))
    assert float(data.value[0, 0, -1]) < float(data.value[0, 0, 0])


# ---------------------------------------------------------------------------------------------- resuming


def test_a_restored_run_goes_on_as_if_nothing_had_happened():
    net = network("MLP", precision="float32")
    algorithm = FedCOMGATE(tau=2, eta=0.05, compressor=RandK(500), k=0.6)

    def fresh() -> RunState:
        record = ("value", "accuracy", "drift", "grad_sq")
        return RunState(net, algorithm, rounds=6, seeds=[4], x0=net.start(4), record=record, decay=0.9)

    whole, first = fresh(), fresh()
    while whole.advance():
        pass
    for _ in range(3):
        first.advance()
    state = {name: array.copy() for name, array in first.state().items()}
    first.advance()
    second = fresh()
    second.restore(state)
    while second.advance():
        pass
    assert second.dataset().identical(whole.dataset())
    assert (second.x == whole.x).all() and second.steps == whole.steps == 6 * 3 * 2
    with pytest.raises(ValueError, match="expected"):
        RunState(net, algorithm, rounds=6, x0=net.start(4), record=("value",)).restore(state)


# ------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch": 0}, "batch = 0"),
        ({"batch": 2.5}, "batch = 2.5"),
        ({"weight_decay": -1}, "weight_decay = -1"),
        ({"weight_decay": np.nan}, "weight_decay = nan"),
        ({"clip": 0}, "clip = 0"),
        ({"order": "sorted"}, "order = 'sorted'.*'replacement', 'epochs'"),
        ({"precision": "float16"}, "precision = 'float16'.*'float32', 'float64'"),
        ({"batching": "magic"}, "batching = 'magic'"),
        ({"device": "nowhere"}, "device = 'nowhere'.*expected cpu"),
        ({"norm": "layer"}, "norm = 'layer'"),
        ({"cut_after": "nothing"}, "cut_after = 'nothing'"),
        ({"model": "LeNet-6"}, "unknown network 'LeNet-6'"),
        ({"weights": [0.5, 0.5]}, "weights = "),
        ({"batch": None, "clip": 1.0}, "clip, crop or flip without a batch"),
        ({"batch": None, "flip": True}, "clip, crop or flip without a batch"),
        ({"crop": -1}, "crop = -1"),
        ({"crop": 9}, "crop = 9"),
        ({"flip": 1}, "flip = 1: expected true or false"),
        ({"enlarge": (8, 9)}, r"enlarge = \(8, 9\): expected \(side, window\), window <= side"),
        ({"enlarge": 16}, "enlarge = 16: expected"),
        ({"enlarge": (16, 8), "crop": 2}, "crop and enlarge: expected one of them"),
        ({"initial": "zeros"}, "initial = 'zeros'"),
        ({"loss": "hinge"}, "loss = 'hinge'"),
        ({"loss": "sigmoid"}, "loss = 'sigmoid': generated has 4 classes, expected 2"),
        ({"local_epochs": 0}, "local_epochs = 0"),
        ({"local_epochs": 2}, "local_epochs: expected a batch, and order"),
        (
            {"model": "small CNN", "cut_after": "conv1", "order": "whole epochs"},
            "cut_after: expected batches of one size",
        ),
    ],
)
def test_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        network(**settings)


def test_refused_partitions():
    data = little()
    some = partitions.iid(data.labels[:100], 5, seed=0)
    with pytest.raises(ValueError, match="deals out 100 images, .* has 120"):
        Network(data, some, "logistic", batch=2)
    lonely = partitions.Partition((np.arange(120), np.arange(0)), "by hand")
    with pytest.raises(ValueError, match=r"clients \[1\] of by hand have no images"):
        Network(data, lonely, "logistic", batch=2)
    with pytest.raises(ValueError, match="expected a model in two parts"):
        run(network(), SSL(K=1, eta=0.1), rounds=1, record=())
    quadratic = generate(d=2, M=2, L=1, mu=0.5, zeta_star=1, delta=0, sigma=0, seed=0)
    with pytest.raises(ValueError, match="no test set"):
        run(quadratic, PFL(K=1, eta=0.1), rounds=1, record=("accuracy",))


@pytest.mark.parametrize(
    ("sizes", "settings", "clients"),
    [
        ((1, 119), {"batch": 4}, r"\[0\]"),
        ((60, 60), {"batch": 1}, r"\[0, 1\]"),
        ((57, 63), {"batch": 4, "order": "whole epochs"}, r"\[0\]"),
    ],
)
def test_batches_of_one_image_with_batch_normalisation(sizes, settings, clients):
    data, first = little(), sizes[0]
    dealt = partitions.Partition((np.arange(first), np.arange(first, 120)), "by hand")
    with pytest.raises(ValueError, match=rf"clients {clients} have batches of one image.*norm = 'group'"):
        Network(data, dealt, "ResNet-10", **settings)
    Network(data, dealt, "ResNet-10", norm="group", **settings)
    Network(little(shape=(1, 16, 16)), dealt, "ResNet-10", **settings)  # maps of 2x2 pixels


# Estimates of constants at a point, against derivatives by autograd and sums by hand


torch.set_num_threads(1)


@pytest.mark.parametrize("weights", [None, "sizes"])
def test_estimates_by_hand(weights: str | None) -> None:
    """A linear classifier in 20 coordinates: Hessians and the gradients of all images by autograd."""
    data = images.generated((1, 2, 2), classes=4, train=60, test=10, seed=0)
    dealt = partitions.dirichlet(data.labels, 3, 1.0, seed=1)
    net = Network(data, dealt, "logistic", batch=5, precision="float64", weights=weights)
    x = torch.tensor(net.start(0) * 2)
    curvature, noise, gradients = [], [], []
    for rows in net.partition.clients:
        X, Y = net._look_up(rows)

        def loss(flat: torch.Tensor, X: torch.Tensor = X, Y: torch.Tensor = Y) -> torch.Tensor:
            return cross_entropy(net._apply(net._module, flat, X), Y)

        hessian = torch.autograd.functional.hessian(loss, x)
        curvature.append(float(torch.linalg.eigvalsh(hessian)[-1]))
        one = [partial(loss, X=X[i : i + 1], Y=Y[i : i + 1]) for i in range(len(rows))]
        each = np.stack([torch.autograd.functional.jacobian(of, x).numpy() for of in one])
        gradients.append(each.mean(0))
        noise.append(((each - each.mean(0)) ** 2).sum(-1).mean() / 5)
    p = np.full(3, 1 / 3) if weights is None else net.sizes / 60
    own = np.array(gradients)
    whole = p @ own
    found = estimates(net, x.numpy(), iterations=60)
    assert max(curvature) == pytest.approx(found.L, rel=1e-4)
    assert found.sigma == pytest.approx(max(noise) ** 0.5)
    assert found.zeta == pytest.approx((p @ ((own - whole) ** 2).sum(-1)) ** 0.5)
    assert pytest.approx(max((own**2).sum(-1) + noise) ** 0.5) == found.G
    assert (found.grad_sq, found.grads) == pytest.approx(((whole**2).sum(), p @ (own**2).sum(-1)))
    assert found.value == pytest.approx(float(net.value(x)))


def test_power_iteration_comes_from_below() -> None:
    data = images.generated((1, 8, 8), classes=4, train=60, test=10, seed=0)
    net = Network(data, partitions.iid(data.labels, 3, 0), "small CNN", batch=None, precision="float64")
    few, many = (estimates(net, net.start(0), iterations) for iterations in (2, 40))
    assert few.L <= many.L * (1 + 1e-6) and few.sigma == many.sigma == 0.0
