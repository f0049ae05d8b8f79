"""A neural network on images dealt out to clients: the interface of a quadratic, in torch tensors.

x holds all parameters of the network in one vector, in forward order; `blocks` are its parameter tensors.  A network has
no certified constants.

There are two ways to compute the gradients of many models at once, one model for each client; they agree up to rounding.
"stacked" computes with all models together, and convolutions become grouped ones; "loop" takes one after another, without
copies.  Small networks are faster stacked, larger ones on a CPU one by one; `fastest` measures it.

Batch normalisation has no state here.  A gradient normalises by its own mini-batch, as in training.  F and its gradient
take each client's samples in fixed batches of at most 1000 and normalise by these.  For the test set the statistics
are those of the tested model: every client passes its samples through it, in the same batches, and the means and
variances of all batches are averaged, as if clients sent their buffers (which we do not count as sent bits).  So a model
is its x and nothing else: no buffers to aggregate, to lose at a checkpoint, or to binarise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vjp, vmap
from torch.nn.functional import cross_entropy, interpolate, pad, softplus
from torch.nn.modules.batchnorm import _NormBase

from fedtheory.simulations.arrays import like
from fedtheory.simulations.checked import Count, brief, check_settings, number, reason, whole
from fedtheory.simulations.constants import Constants
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.networks import models, own
from fedtheory.simulations.networks.images import Images, channel_statistics
from fedtheory.simulations.networks.stacked import can_stack, outputs
from fedtheory.simulations.own_file import digest_of
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems import in_html, in_one_line, not_certified, settings_of
from fedtheory.simulations.problems.logistic import check_batch, check_dealt, weights_of

Batching = Literal["stacked", "loop"]
Order = Literal["replacement", "epochs", "whole epochs"]
Loss = Literal["cross-entropy", "logistic", "sigmoid"]
Precision = Literal["float32", "float64"]

_AT_ONCE = 1000  # images passed through a network at once where no batch is prescribed
_STACKED = 4000  # images passed at once through stacked models
_AHEAD = 2**22  # numbers of the mini-batches of a round that move to the device at once: 32 MB
_NEVER_ZERO = 1e-6  # torch adds this to a norm before it clips


class Group(NamedTuple):
    """Models whose mini-batches have as many images, on the device.

    which  (n,) their places among the models (N, *clients) of a step size; None: all of them
    rows   (n, B) of the training images
    moves  (n, B, 3) uniform numbers, by which the images are cropped and mirrored; None: they are not
    """

    which: Tensor | None
    rows: Tensor
    moves: Tensor | None


class Batch(NamedTuple):
    """The mini-batches of all models at a local step, on the device.

    groups  by their numbers of images; models without images are in none
    reads   (N, *clients, 1) 0 for models without images, where weight decay has to know them; else None
    """

    groups: tuple[Group, ...]
    reads: Tensor | None


@dataclass(frozen=True, eq=False)
class Network:
    """F = sum_m p_m F_m, F_m the mean loss of the network over client m's images + (weight_decay/2) ||x||^2.

    model         one of `models.ARCHITECTURES`, or FILE.py:NAME, a module of the user's own, see `own`
    norm          "batch", "group" or "none"; None: as in the model's paper
    batch         images in a mini-batch; None: exact gradients
    order         "replacement": a mini-batch is drawn with replacement, as in the theory; "epochs": clients read their
                  images in random order, all of them before any again, a new order every round; "whole epochs": as
                  "epochs", and what is left at the end of an epoch is a smaller batch, as in torch's DataLoader
    local_epochs  a client takes as many local steps as this number of epochs has with its own images; later gradients
                  are 0.  None: as many as the algorithm says
    enlarge       (side, window): images are resized to side x side pixels (bilinear).  A mini-batch reads a random part of
                  window x window of each, all else the middle one.  None: images as they are
    crop          pixels of zeros around an image, before a part of its own size is cut out at random; 0: no cropping
    flip          whether an image is mirrored, left to right, with probability 1/2
    weight_decay  weight_decay x is added to a gradient, after clipping
    clip          the largest norm of a mini-batch's gradient; larger gradients are scaled down to it.  None: no clipping.
                  Exact gradients are never clipped
    loss          "cross-entropy"; for images of two classes and a network with one output z also "logistic",
                  log(1 + exp(-b z)), and "sigmoid", 1/(1 + exp(b z)): b = 1 for class 1, b = -1 for class 0
    weights       p (M,); "sizes", by numbers of images; "batches", by numbers of batches; None: all clients equal
    initial       the weights at the start: "torch", "he" or "0.01", see `models.initial`; None: the model's own choice
    cut_after     the stage after which split learning cuts the network in two; None: it is not cut
    device        torch's name of the device
    precision     of all numbers
    batching      see above

    Mini-batches are cropped and mirrored; exact gradients, F and the test set are not.

    Raises ValueError for other settings, or settings of mini-batches without a batch; a missing device; a partition that
    does not deal out all images or leaves a client without images; batches of one image where batch normalisation cannot
    have them; and where `models.build` does.
    """

    data: Images
    partition: Partition
    model: str
    batch: int | None = None
    norm: models.Norm | None = None
    order: Order = "replacement"
    weight_decay: float = 0.0
    clip: float | None = None
    local_epochs: Count | None = None
    enlarge: tuple[int, int] | None = None
    crop: int = 0
    flip: bool = False
    loss: Loss = "cross-entropy"
    weights: Any = None
    initial: models.Weights | None = None
    cut_after: str | None = None
    device: str = "cpu"
    precision: Precision = "float32"
    batching: Batching = "loop"

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", check_batch(self.batch))
        object.__setattr__(self, "weight_decay", number("weight_decay", self.weight_decay, "in [0, 1e30]"))
        if self.clip is not None:
            object.__setattr__(self, "clip", number("clip", self.clip, "in (0, 1e30]"))
        check_settings(self)
        if self.loss != "cross-entropy" and self.data.classes != 2:
            raise ValueError(f"loss = {self.loss!r}: {self.data.name} has {self.data.classes} classes, expected 2")
        whole("crop", self.crop, 0, most=min(self.data.shape[1:]))
        if own.is_own(self.model) and (self.initial, self.norm) != (None, None):
            raise ValueError("initial or norm with a network of one's own: expected none, its code says both")
        if self.enlarge is not None:
            pair = isinstance(self.enlarge, tuple | list) and len(self.enlarge) == 2
            side, window = (whole("enlarge", size, most=4096) for size in self.enlarge) if pair else (0, 1)
            if window > side:
                raise ValueError(f"enlarge = {brief(self.enlarge)}: expected (side, window), window <= side")
        if self.enlarge is not None and self.crop:
            raise ValueError("crop and enlarge: expected one of them, for both cut out a part")
        if not isinstance(self.flip, bool):
            raise ValueError(f"flip = {brief(self.flip)}: expected true or false")
        if self.local_epochs is not None and (self.batch is None or self.order == "replacement"):
            raise ValueError("local_epochs: expected a batch, and order = 'epochs' or 'whole epochs'")
        if self.cut_after is not None and (self.order == "whole epochs" or self.local_epochs is not None):
            raise ValueError("cut_after: expected batches of one size, and the same number of steps for all clients")
        if self.batch is None and (self.order != "replacement" or self.clip is not None or self.crop or self.flip):
            raise ValueError("order, clip, crop or flip without a batch: expected none of them, gradients are exact")
        available(self.device)
        check_dealt(self.data, self.partition, "images")
        batches = isinstance(self.weights, str) and self.weights == "batches"
        counted = -(-self.sizes // int(self.batch or 1)) if batches else self.sizes
        object.__setattr__(self, "weights", weights_of("sizes" if batches else self.weights, counted))
        if self.batching == "stacked" and self.unstackable:
            raise ValueError(
                f"batching = 'stacked': torch.func cannot stack {self._title} ({self.unstackable}); expected 'loop'"
            )
        stages = models.cuts(self._module)
        if self.cut_after is not None and self.cut_after not in stages:
            raise ValueError(
                f"cut_after = {brief(self.cut_after)!r}: expected "
                f"{'one of ' * bool(stages)}{', '.join(stages) or 'a network of stages, an nn.Sequential'}, or None"
            )
        left = self.sizes % int(self.batch or 1) == 1 if self.order == "whole epochs" else self.batch == 1
        alone = np.flatnonzero((self.sizes == 1) | left)
        if alone.size and models.least_batch(self._module, self.shape) > 1:
            raise ValueError(
                f"{self.model} with batch normalisation: clients {brief(alone.tolist())} have batches of one image, whose "
                "maps of 1x1 pixels have no variance; expected norm = 'group' or 'none', larger batches or other clients"
            )

    # ------------------------------------------------------------------------------------------- description

    @property
    def name(self) -> str:
        """Network, data, partition."""
        unequal = "" if self.weights is None else ", clients weighted"
        return f"{self._title}, {self.data.name}, {self.partition.method}{unequal}"

    @property
    def _title(self) -> str:
        return self.model.rpartition("/")[2] if own.is_own(self.model) else self.model

    @cached_property
    def unstackable(self) -> str:
        """Why models of the user's own cannot be computed together; empty for all others."""
        if not own.is_own(self.model):
            return ""
        digest = digest_of(own.file_of(self.model), "network: model")
        return own.probed(self.model, digest, self.shape, self._outputs)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of images of each client, (M,)."""
        return np.array([len(rows) for rows in self.partition.clients])

    @cached_property
    def steps(self) -> NDArray[np.int64] | None:
        """The clients' numbers of local steps, (M,), where `local_epochs` sets them."""
        if self.local_epochs is None:
            return None
        return local_steps(self.sizes, int(self.batch or 1), self.local_epochs, self.order)

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.partition.clients)

    @cached_property
    def d(self) -> int:
        """Number of parameters."""
        return sum(part.stop - part.start for part in self.blocks.values())

    @cached_property
    def blocks(self) -> Mapping[str, slice]:
        """The parameter tensors, by name."""
        return models.layers(self._module)

    @property
    def example(self) -> Tensor:
        """An empty tensor, of the network's precision and device."""
        return torch.empty(0, dtype=getattr(torch, self.precision), device=self.device)

    @cached_property
    def constants(self) -> Constants:
        """No constant of a network is certified here, except the variance of exact gradients."""
        return not_certified(self.batch is None)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """All settings; the images by their origin, the partition by its method."""
        return settings_of(self, "network")

    def start(self, seed: int) -> NDArray[np.float64]:
        """The starting point of that seed: (d,)."""
        if own.is_own(self.model):
            return own.initial(self.model, seed).numpy()
        return models.initial(self._module, seed, self.initial or models.ARCHITECTURES[self.model].weights).numpy()

    # ---------------------------------------------------------------------------------- values and gradients

    def gradient(self, x: Any, client: NDArray[np.int64], draw: Draw) -> Any:
        """Stochastic gradients: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        return self.thin_gradient(x, client, draw, 1.0)

    def thin_gradient(self, x: Any, client: NDArray[np.int64], draw: Draw, kept: float) -> Any:
        """`gradient`, in which the weights of a layer read only this share of its inputs, the largest ones (SWAT).

        Exact gradients read all.  Raises ValueError for a network with other layers than `stacked` knows.
        """
        if self.batch is None:
            return self.local_gradient(x, client)
        if kept < 1 and not self._stacks:
            raise ValueError(
                f"{self.model}: inputs of its layers cannot be left out, expected a network of convolutions"
            )
        batch = self._read(client, draw)
        g = self._mean_gradient(x, batch, kept)
        if self.clip is not None:
            g *= (self.clip / (torch.linalg.vector_norm(g, dim=-1, keepdim=True) + _NEVER_ZERO)).clamp(max=1)
        return self._decayed(g, x if batch.reads is None else x * batch.reads.to(x.dtype))

    def sample_gradient(self, x: Any, client: NDArray[np.int64], rows: NDArray[np.int64] | None) -> Any:
        """Mean gradient over the images `rows` (N or 1, *clients, images) of each client; None: over all, exact."""
        if rows is None:
            return self.local_gradient(x, client)
        (batch,) = self._moved_there(client, [(np.broadcast_to(rows, (*x.shape[1:-1], rows.shape[-1])), None)])
        return self._decayed(self._mean_gradient(x, batch), x)

    def local_gradient(self, x: Any, client: NDArray[np.int64]) -> Any:
        """Exact gradients of F_client, not clipped: x (E, N, *clients, d), client (N or 1, *clients)."""
        who = np.broadcast_to(client, x.shape[:-1]).ravel()
        g = torch.stack(
            [self._whole(flat, self._passes(int(m))) for flat, m in zip(x.reshape(-1, self.d), who, strict=True)]
        )
        return g.reshape(x.shape)

    def full_gradient(self, x: Any) -> Any:
        """Gradient of F, exact: (..., d) -> (..., d)."""
        x = like(x, self.example)
        return torch.stack([self._whole(flat, self._passes()) for flat in x.reshape(-1, self.d)]).reshape(x.shape)

    def value(self, x: Any) -> Any:
        """F: (..., d) -> (...)."""
        x = like(x, self.example)
        with torch.no_grad():
            losses = [loss for loss, _ in self._gathered(x)]
            penalties = [self.weight_decay / 2 * (flat**2).sum() for flat in x.reshape(-1, self.d)]
        return (torch.stack(losses) + torch.stack(penalties)).reshape(x.shape[:-1])

    def test_value(self, x: Any) -> Any:
        """Mean loss on the test set: (..., d) -> (...)."""
        return self._on_test_set(x, lambda z, Y: self._losses(z, Y).sum())

    def accuracy(self, x: Any) -> Any:
        """Share of the test set that is classified correctly: (..., d) -> (...)."""
        one = self.loss != "cross-entropy"
        return self._on_test_set(x, lambda z, Y: ((z[:, 0] > 0 if one else z.argmax(-1)) == Y).sum())

    # ------------------------------------------------------------------------------------------ cut in two

    @cached_property
    def cut(self) -> int | None:
        """Number of client-side coordinates; None where the network is not cut."""
        return None if self.cut_after is None else sum(p.numel() for p in self._parts[0].parameters())

    @cached_property
    def activations(self) -> int:
        """Numbers in the cut layer for one image."""
        first = next(self._module.parameters())
        out: Tensor = self._parts[0](torch.zeros(2, *self.shape, device=first.device, dtype=first.dtype))
        return out[0].numel()

    def batch_of(self, client: NDArray[np.int64], draw: Draw) -> tuple[Any, Any, Any]:
        """The clients' samples at this step: images (N or 1, *clients, B, C, H, W), labels, and None for weights."""
        ((_, rows, moves),) = self._read(client, draw).groups
        X, Y = self._look_up(rows, moves)
        return X.unflatten(0, (-1, *client.shape[1:])), Y.unflatten(0, (-1, *client.shape[1:])), None

    def smashed(self, x_client: Any, features: Any) -> Any:
        """Forward pass of the client: activations of the cut layer (E, N, *clients, B, ...)."""
        with torch.no_grad():
            return self._each_part(lambda x, X: self._apply(self._parts[0], x, X), x_client, features[None])

    def server_pass(self, x_server: Any, activations: Any, targets: Any, weights: None) -> tuple[Any, Any]:
        """Forward and backward pass of the server: gradients in its own parameters and in the activations."""

        def one(x: Tensor, A: Tensor, Y: Tensor) -> Tensor:
            return self._losses(self._apply(self._parts[1], x, A), Y).mean()

        g_s, g_A = self._each_part(grad(one, argnums=(0, 1)), x_server, activations, targets[None])
        return g_s + self.weight_decay * x_server, g_A

    def client_pass(self, x_client: Any, features: Any, activations: Any, received: Any) -> Any:
        """Backward pass of the client from the received gradient in the activations (which it recomputes)."""

        def one(x: Tensor, X: Tensor, received: Tensor) -> Tensor:
            return vjp(lambda x: self._apply(self._parts[0], x, X), x)[1](received)[0]

        return self._each_part(one, x_client, features[None], received) + self.weight_decay * x_client

    # ---------------------------------------------------------------------------------------------- inside

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the network's input."""
        C, H, W = self.data.shape
        return (C, H, W) if self.enlarge is None else (C, self.enlarge[1], self.enlarge[1])

    @property
    def _outputs(self) -> int:
        return self.data.classes if self.loss == "cross-entropy" else 1

    @cached_property
    def _module(self) -> nn.Module:
        return self._built()

    def _built(self, running: bool = False) -> nn.Module:
        """The network; only one of the user's own has values, on the device: its constants."""
        if own.is_own(self.model):
            return own.module(self.model, self.shape, running).to(self.device, getattr(torch, self.precision))
        return models.build(self.model, self.shape, self._outputs, self.norm, running)

    @cached_property
    def _stacks(self) -> bool:
        """Whether `stacked` knows all layers of the network; modules of the user's own are stacked by torch.func."""
        return not own.is_own(self.model) and can_stack(self._module)

    @cached_property
    def _layouts(self) -> dict[nn.Module, dict[str, torch.Size]]:
        """A cache: the shapes of the parameters of modules."""
        return {}

    @cached_property
    def _latest(self) -> list[Any]:
        """A cache of `_gathered`: the last x with its version, and what was found there."""
        return []

    @cached_property
    def _parts(self) -> tuple[nn.Module, nn.Module]:
        at = [name for name, _ in self._module.named_children()].index(str(self.cut_after)) + 1
        stages = cast(nn.Sequential, self._module)
        return stages[:at], stages[at:]

    @cached_property
    def _running(self) -> tuple[nn.Module, nn.Module] | None:
        """The network that gathers statistics and the one that uses them; None where it has none."""
        if not any(isinstance(layer, _NormBase) for layer in self._module.modules()):
            return None
        return self._built(running=True), self._built(running=True).eval()

    @cached_property
    def _tested(self) -> nn.Module:
        """The network as it is tested."""
        return self._built().eval() if self._running is None else self._running[1]

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """The rows of each client's images, padded with zeros: (M, n_max)."""
        table = np.zeros((self.M, int(self.sizes.max())), np.int64)
        for m, rows in enumerate(self.partition.clients):
            table[m, : len(rows)] = rows
        return table

    @cached_property
    def _stored(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Images and labels of the training and the test set, on the device, unchanged."""
        arrays = (self.data.images, self.data.labels, self.data.test_images, self.data.test_labels)
        images, labels, test_images, test_labels = (torch.as_tensor(a, device=self.device) for a in arrays)
        return images, labels, test_images, test_labels

    @cached_property
    def _statistics(self) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the channels over the training set, (C, 1, 1) each."""
        mean, std = (like(np.asarray(s), self.example)[:, None, None] for s in channel_statistics(self.data))
        return mean, std

    def _standardised(self, images: Tensor) -> Tensor:
        """Channels with mean 0 and deviation 1 over the training set."""
        mean, std = self._statistics
        pixels = images.to(mean.dtype)
        return ((pixels / 255 if images.dtype == torch.uint8 else pixels) - mean) / std

    def _input(self, images: Tensor, moves: Tensor | None = None) -> Tensor:
        """The network's input from images (..., C, H, W); moves (..., 3), uniform numbers, cut out and mirror."""
        flat = images.reshape(-1, *self.data.shape)
        if self.enlarge is not None:
            resized = interpolate(self._standardised(flat), (self.enlarge[0],) * 2, mode="bilinear", antialias=True)
            middle = torch.full((len(flat), 3), 0.5, dtype=torch.float64, device=self.device)
            out = self._cut(resized, middle if moves is None else moves)
        elif moves is not None:
            out = self._standardised(self._cut(pad(flat, (self.crop,) * 4), moves))
        else:
            out = self._standardised(flat)
        return out.reshape(*images.shape[:-3], *self.shape)

    def _cut(self, images: Tensor, moves: Tensor) -> Tensor:
        """Parts of the input's size, mirrored where the third number is below 1/2: (images, C, H, W)."""
        _, H, W = self.shape
        down, right, mirror = moves.reshape(-1, 3).T
        at = torch.arange(max(len(images), H, W), device=self.device)
        row = (down * (images.shape[2] - H + 1)).long()[:, None] + at[:H]
        column = (right * (images.shape[3] - W + 1)).long()[:, None] + at[:W]
        if self.flip:
            column = torch.where(mirror[:, None] < 0.5, column.flip(-1), column)
        return images[at[: len(images), None, None], :, row[:, :, None], column[:, None]].permute(0, 3, 1, 2)

    def _look_up(self, rows: Any, moves: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The network's input (*rows, C, H, W) and labels."""
        images, labels, *_ = self._stored
        at = torch.as_tensor(rows, device=self.device)
        return self._input(images[at], moves), labels[at]

    def _read(self, client: NDArray[np.int64], draw: Draw) -> Batch:
        """The mini-batch of a local step, on the device, to which those of the round's other steps move with it."""
        step, steps = draw.step, draw.local.announced
        numbers = max(1, client.size * int(self.batch or 1) * (3 if self._moving else 1))
        together = max(1, min(steps, _AHEAD // numbers))
        first = step - step % together
        ahead = draw.once(client, dict[int, list[Batch]])
        if first not in ahead:
            ahead.clear()
            own = [draw.local.step(k) for k in range(first, max(step + 1, min(first + together, steps)))]
            ahead[first] = self._moved_there(client, [(self._rows(client, one), self._moves(one)) for one in own])
        return ahead[first][step - first]

    @property
    def _moving(self) -> bool:
        """Whether images are cropped or mirrored."""
        return bool(self.crop or self.flip or self.enlarge)

    def _moves(self, draw: Draw) -> NDArray[np.float64] | None:
        """The uniform numbers (N, *clients, batch, 3) by which images are cropped and mirrored; None: they are not."""
        if not self._moving:
            return None
        numbers = draw.beside(3 * int(self.batch or 0))
        return numbers.reshape(*numbers.shape[:-1], -1, 3)

    def _rows(self, client: NDArray[np.int64], draw: Draw) -> NDArray[np.int64]:
        """The rows of a mini-batch among the client's own, (N, *clients, batch); -1 where there is none any more."""
        sizes, batch = self.sizes[client], int(self.batch or 0)
        if self.order == "replacement":
            return draw.integers(sizes, batch)
        rows = draw.in_turn(sizes, batch, ends=self.order == "whole epochs")
        return rows if self.steps is None else np.where(draw.step < self.steps[client][..., None], rows, -1)

    def _moved_there(
        self, client: NDArray[np.int64], steps: Sequence[tuple[NDArray[np.int64], NDArray[np.float64] | None]]
    ) -> list[Batch]:
        """The mini-batches of steps, from rows (N, *clients, images) of the clients' own and moves, in one copy of each."""
        whole_numbers: list[NDArray[np.int64]] = []
        reals: list[NDArray[np.float64]] = []
        plans: list[tuple[list[tuple[bool, int, int]], bool]] = []  # groups (chosen, models, images), reads
        for rows, moves in steps:
            batch = rows.shape[-1]
            at = self._table[client[..., None], rows].reshape(-1, batch)
            there = (rows >= 0).reshape(-1, batch).sum(-1)
            groups = []
            for count in sorted(set(there.tolist()) - {0}):  # models with batches of one size together
                which = np.flatnonzero(there == count)
                chosen = len(which) < len(there)
                whole_numbers += [which] * chosen + [at[which, :count]]
                if moves is not None:
                    reals.append(moves.reshape(-1, batch, 3)[which, :count])
                groups.append((chosen, len(which), count))
            if reads := self.steps is not None and bool(self.weight_decay):
                whole_numbers.append((there > 0).astype(np.int64))
            plans.append((groups, reads))
        words, numbers = (_in_one(parts, self.device) for parts in (whole_numbers, reals))

        def group(chosen: bool, n: int, count: int) -> Group:
            which, rows = words(n) if chosen else None, words(n * count).view(n, count)
            return Group(which, rows, numbers(3 * n * count).view(n, count, 3) if reals else None)

        found = []
        for (groups, reads), (rows, _) in zip(plans, steps, strict=True):
            own = tuple(group(*one) for one in groups)
            found.append(Batch(own, words(rows[..., 0].size).view(*rows.shape[:-1], 1) if reads else None))
        return found

    def _mean_gradient(self, x: Tensor, batch: Batch, kept: float = 1.0) -> Tensor:
        """Mean gradient of the loss over the images of a mini-batch: the shape of x (E, N, *clients, d)."""
        of_clients, g = x.flatten(1, -2), None
        for which, rows, moves in batch.groups:
            some = of_clients if which is None else of_clients[:, which]
            at, shifts = rows.repeat(len(x), 1), None if moves is None else moves.repeat(len(x), 1, 1)
            found = self._at_images(some.flatten(0, 1), *self._look_up(at, shifts), kept)
            if which is None:
                return found.reshape(x.shape)
            g = torch.zeros_like(of_clients) if g is None else g
            g[:, which] = found.view(some.shape)
        return torch.zeros_like(x) if g is None else g.view(x.shape)

    def _at_images(self, flat: Tensor, images: Tensor, labels: Tensor, kept: float = 1.0) -> Tensor:
        """The mean gradients of models (models, d), each over its own images (models, B, C, H, W)."""
        if kept < 1 or (self.batching == "stacked" and self._stacks):
            g = torch.empty_like(flat)
            together = self._at_once(labels.shape[1]) if self.batching == "stacked" else 1
            parts = (t.split(together) for t in (flat, images, labels, g))
            for some, X, Y, out in zip(*parts, strict=True):
                self._together(some, X, Y, out, kept)
        elif self.batching == "stacked":

            def loss(one: Tensor, X: Tensor, Y: Tensor) -> Tensor:
                return self._losses(self._apply(self._module, one, X), Y).mean()

            g = self._each(grad(loss), flat, images, labels)
        else:
            g = torch.empty_like(flat)
            for out, one, X, Y in zip(g, flat, images, labels, strict=True):
                self._backward(self._losses(self._placed(one)(X), Y).mean(), out)
        return g

    def _losses(self, z: Tensor, Y: Tensor) -> Tensor:
        """The losses (B,) of outputs (B, outputs) for labels (B,)."""
        if self.loss == "cross-entropy":
            return cross_entropy(z, Y, reduction="none")
        margin = (2 * Y - 1) * z[:, 0]
        return softplus(-margin) if self.loss == "logistic" else torch.sigmoid(-margin)

    def _together(self, flat: Tensor, images: Tensor, labels: Tensor, out: Tensor, kept: float) -> None:
        """Writes each model's gradient into out (models, d): images (models, B, C, H, W), labels (models, B)."""
        parameters = self._parameters(self._module, flat.detach())
        own = [part.requires_grad_() for part in parameters.values()]
        z = outputs(self._module, parameters, images, kept)
        loss = self._losses(z.flatten(0, 1), labels.flatten()).sum() / labels.shape[1]
        torch.cat([g.flatten(1) for g in torch.autograd.grad(loss, own)], dim=1, out=out)

    def _decayed(self, g: Tensor, x: Tensor) -> Tensor:
        return g.add_(x, alpha=self.weight_decay) if self.weight_decay else g

    def _passes(self, client: int | None = None) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Images, labels and the weight of each in F_client, or for None in F, in fixed batches.

        With batch normalisation a batch is from one client; else batches mix clients, which is faster.
        """
        if client is not None:
            shared = [(self.partition.clients[client], 1.0)]
        else:
            p = np.full(self.M, 1 / self.M) if self.weights is None else self.weights
            shared = list(zip(self.partition.clients, p, strict=True))
        counts = [np.full(len(rows), share / len(rows)) for rows, share in shared]
        pools = [(np.asarray(rows), count) for (rows, _), count in zip(shared, counts, strict=True)]
        if self._running is None:
            pools = [(np.concatenate([rows for rows, _ in pools]), np.concatenate(counts))]
        for rows, count in pools:
            parts = -(-len(rows) // _AT_ONCE)
            for some, shares in zip(np.array_split(rows, parts), np.array_split(count, parts), strict=True):
                yield *self._look_up(some), like(shares, self.example)

    def _parameters(self, module: nn.Module, flat: Tensor) -> dict[str, Tensor]:
        """The parameters of a model (d,), or of several (models, d), by name."""
        if module not in self._layouts:
            self._layouts[module] = models.layout(module)
        shapes = self._layouts[module]
        parts = flat.split([shape.numel() for shape in shapes.values()], dim=-1)
        return {name: part.unflatten(-1, shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def _apply(self, module: nn.Module, flat: Tensor, X: Tensor) -> Tensor:
        out: Tensor = functional_call(module, self._parameters(module, flat), (X,))
        return out

    @cached_property
    def _working(self) -> tuple[nn.Module, list[nn.Parameter]]:
        """A network with real parameters, for `_placed`, and these parameters."""
        empty = self.example
        module = self._built()
        if not own.is_own(self.model):
            module = module.to_empty(device=empty.device).to(empty.dtype)
        return module, [parameter for parameter in module.parameters() if parameter.requires_grad]

    def _placed(self, flat: Tensor) -> nn.Module:
        """The network with views of flat (d,) as parameters, without copies."""
        module, parameters = self._working
        for parameter, part in zip(parameters, self._parameters(self._module, flat.detach()).values(), strict=True):
            parameter.data = part
        return module

    def _backward(self, loss: Tensor, out: Tensor) -> None:
        """Writes the gradient of a loss of the last `_placed` network into out (d,)."""
        torch.cat([g.flatten() for g in torch.autograd.grad(loss, self._working[1])], out=out)

    def _loss(self, flat: Tensor, X: Tensor, Y: Tensor, counts: Tensor) -> Tensor:
        return self._losses(self._placed(flat)(X), Y) @ counts

    def _whole(self, flat: Tensor, passes: Iterator[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        """An exact gradient at one model (d,)."""
        total, part = self.weight_decay * flat, torch.empty_like(flat)
        for images, labels, counts in passes:
            self._backward(self._loss(flat, images, labels, counts), part)
            total += part
        return total

    def _at_once(self, images: int) -> int:
        """How many models are stacked, with so many images each."""
        return max(1, _STACKED // max(1, images))

    def _each(self, function: Callable[..., Any], *stacked: Tensor) -> Any:
        """The function applied along the first axis of the tensors, results stacked."""
        if self.batching == "stacked":
            return vmap(function, chunk_size=self._at_once(stacked[-1].shape[1]))(*stacked)
        results = [function(*one) for one in zip(*stacked, strict=True)]
        if isinstance(results[0], tuple):
            return tuple(torch.stack(parts) for parts in zip(*results, strict=True))
        return torch.stack(results)

    def _each_part(self, function: Callable[..., Any], x: Tensor, *others: Tensor) -> Any:
        """`_each` for x (E, N, *clients, .) and tensors that broadcast to its leading axes."""
        leading = x.shape[:-1]

        def models_first(tensor: Tensor) -> Tensor:
            own = tensor.shape[len(leading) :]
            return tensor.expand(*leading, *own).reshape(-1, *own)

        found = self._each(function, *map(models_first, (x, *others)))
        parts = found if isinstance(found, tuple) else (found,)
        shaped = tuple(part.reshape(*leading, *part.shape[1:]) for part in parts)
        return shaped if isinstance(found, tuple) else shaped[0]

    def _gathered(self, x: Tensor) -> list[tuple[Tensor, dict[str, Tensor]]]:
        """At each model of x (..., d), without gradients: the mean loss of F, and the buffers of batch normalisation.

        They are kept for the next measurement at the same x, which needs the same pass through the training set.
        """
        now = (x, x._version)
        if self._latest and self._latest[0][0] is x and self._latest[0][1] == x._version:
            return self._latest[1]
        found = []
        for flat in x.reshape(-1, self.d):
            if self._running is None:
                loss, extra = sum(self._loss(flat, *part) for part in self._passes()), {}
            else:
                gather = self._running[0]
                extra = models.fresh_buffers(gather, flat.device, flat.dtype)
                state = {**self._parameters(gather, flat), **extra}
                loss = sum(
                    self._losses(functional_call(gather, state, (X,)), Y) @ counts for X, Y, counts in self._passes()
                )
            found.append((like(loss, self.example), extra))
        self._latest[:] = [now, found]
        return found

    def _on_test_set(self, x: Any, score: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The sum of the score over the test set, divided by its size."""
        x = like(x, self.example)
        _, _, images, labels = self._stored
        scores, flats = [], x.reshape(-1, self.d)
        with torch.no_grad():
            every = [{}] * len(flats) if self._running is None else [found for _, found in self._gathered(x)]
            for flat, buffers in zip(flats, every, strict=True):
                state = {**self._parameters(self._tested, flat), **buffers}
                parts = zip(images.split(_AT_ONCE), labels.split(_AT_ONCE), strict=True)
                total = sum(score(functional_call(self._tested, state, (self._input(X),)), Y) for X, Y in parts)
                scores.append(like(total, self.example) / len(labels))
        return torch.stack(scores).reshape(x.shape[:-1]).to(x.dtype)


def _in_one(parts: Sequence[NDArray[Any]], device: str) -> Callable[[int], Tensor]:
    """Moves the parts to the device in one copy; a function of sizes that returns so many of their numbers in turn."""
    moved = (
        torch.as_tensor(np.concatenate([part.ravel() for part in parts]), device=device) if parts else torch.empty(0)
    )
    taken = 0

    def take(size: int) -> Tensor:
        nonlocal taken
        taken += size
        return moved[taken - size : taken]

    return take


def local_steps(sizes: NDArray[np.int64], batch: int, epochs: int, order: Order) -> NDArray[np.int64]:
    """The local steps (M,) of that number of epochs, for clients with these numbers of images."""
    steps: NDArray[np.int64] = -(-sizes // batch) * epochs if order == "whole epochs" else -(-epochs * sizes // batch)
    return steps


def available(device: str) -> None:
    """Raises ValueError where torch has no such device."""
    why = "no device for numbers"
    try:
        if isinstance(device, str) and torch.empty(0, device=device).device.type != "meta":
            return
    except (RuntimeError, AssertionError) as error:
        why = reason(error)
    raise ValueError(f"device = {brief(device)!r}: expected cpu, or cuda where there is one ({why})")


def fastest(network: Network, clients: int) -> tuple[Batching, int]:
    """The fastest batching, and on a CPU number of threads, for the gradients of that many clients, by a trial.

    It tries one thread and torch's present number: with more threads, small networks on a busy machine are slower.
    """
    if network.batch is None:
        return "loop", torch.get_num_threads()
    client = np.arange(clients)[None] % network.M
    x = like(np.broadcast_to(network.start(0), (1, 1, clients, network.d)), network.example)
    draw = Draws.of_seeds(np.zeros(1, np.int64), 0).of(client, 1).step(0)
    times: dict[tuple[Batching, int], float] = {}
    for way in ("loop",) if network.unstackable else get_args(Batching):
        tried = replace(network, batching=way)
        for threads in {1, torch.get_num_threads()} if not x.is_cuda else {torch.get_num_threads()}:
            took = []
            try:
                with threads_of(threads):
                    for _ in range(3):  # the first one only warms up
                        began = time.perf_counter()
                        tried.gradient(x, client, draw)
                        if x.is_cuda:
                            torch.cuda.synchronize()
                        took.append(time.perf_counter() - began)
            except torch.OutOfMemoryError:  # stacked models may need more memory
                continue
            times[way, threads] = min(took[1:])
    if not times:
        raise ValueError(
            f"{network.name}: no memory on {network.device} for {clients} clients; expected fewer, or smaller batches"
        )
    return min(times, key=lambda tried: times[tried])


@contextmanager
def threads_of(count: int) -> Iterator[None]:
    """Sets torch's number of CPU threads within the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
