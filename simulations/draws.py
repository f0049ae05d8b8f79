"""Counter-based randomness: every draw is a function of (seed, purpose, round, client, step) and of nothing else.

Each such tuple is hashed to the start of its own SplitMix64 stream (Steele, Lea, Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014).  The streams of many seeds and clients are computed together as
arrays.  So the numbers of a seed do not depend on the other seeds, the batch, the process, the order, or the
number of rounds, clients or steps.  There is no state, global or otherwise.

A compressor needs one coin for each parameter of the model.  Where the model is a torch tensor, the coins are computed on
its device, by the same arithmetic on 64-bit words, with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Found = TypeVar("Found")


def _word(number: int) -> Keys:
    """A 64-bit word as an array without axes, which numpy reads faster than a number."""
    return np.asarray(number, np.uint64)


_GAMMA = _word(0x9E3779B97F4A7C15)
_FACTORS = _word(0xBF58476D1CE4E5B9), _word(0x94D049BB133111EB)
_SHIFTS = _word(30), _word(27), _word(31)
_TO_UNIT = np.float32(2.0**-24)
_EPOCHS = 2**40  # the sub-stream of a round's first order; no local step has so large a number
_APART = 2**41  # that of the first local step's numbers beside the sample
_AT_ONCE = 8192  # words drawn in one go, small enough for the cache of one core


class Purpose(IntEnum):
    """What a draw is for; draws for different purposes are independent."""

    ORDER = 1
    SAMPLE = 2
    CODE = 3  # the coins of a compressor


def _mix(z: Keys) -> Keys:
    """SplitMix64's finaliser, a bijection of 64-bit words (array in, new array out)."""
    z = z ^ (z >> _SHIFTS[0])
    z *= _FACTORS[0]
    z ^= z >> _SHIFTS[1]
    z *= _FACTORS[1]
    z ^= z >> _SHIFTS[2]
    return z


def _fold(keys: Keys, number: NDArray[np.integer] | int, loops: ModuleType | None = None) -> Keys:
    """The keys of the sub-streams `number` (broadcast) of the streams `keys`."""
    if isinstance(number, int | np.integer):
        z = keys + np.uint64((int(number) + 1) * int(_GAMMA) % 2**64)
    else:
        z = keys + (number.astype(np.uint64) + np.uint64(1)) * _GAMMA
    if loops is None:
        return _mix(z)
    z = np.ascontiguousarray(z)
    loops.mix(z.reshape(-1))
    return z


def seed_keys(seeds: NDArray[np.integer], purpose: Purpose) -> Keys:
    """Keys (N,) of the seeds (N,) for one purpose."""
    return _fold(_fold(np.zeros(len(seeds), np.uint64), int(purpose)), seeds)


def _words(keys: Keys, count: int) -> Keys:
    """The first `count` 64-bit words of each stream: (..., count)."""
    return _mix(keys[..., None] + np.arange(1, count + 1, dtype=np.uint64) * _GAMMA)


def _uniform(words: Keys) -> NDArray[np.float64]:
    """53-bit uniforms in [0, 1), one a word."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _normal(words: Keys, loops: ModuleType | None = None) -> NDArray[np.float64]:
    """Two standard normal numbers a word, by Box and Muller from 24-bit uniforms (the tails end at 5.77)."""
    if loops is not None:
        logs, angle = loops.halves(words.reshape(-1))
        np.log(logs, out=logs)
        cosines = np.cos(angle)
        found: NDArray[np.float64] = loops.polar(logs, cosines, np.sin(angle, out=angle), words.shape[-1])
        return found.reshape(*words.shape[:-1], -1)
    halves = (np.ascontiguousarray(words, "<u8").view("<u4") >> np.uint32(8)).astype(np.float32)
    radius = halves[..., 1::2] + np.float32(1)
    radius *= _TO_UNIT
    np.log(radius, out=radius)
    radius *= np.float32(-2)
    np.sqrt(radius, out=radius)
    angle = halves[..., ::2] * (np.float32(2 * np.pi) * _TO_UNIT)
    out = np.empty((*words.shape[:-1], 2, words.shape[-1]))
    out[..., 0, :] = radius * np.cos(angle)
    out[..., 1, :] = radius * np.sin(angle)
    return out.reshape(*words.shape[:-1], -1)


def _signed(word: int) -> int:
    """A 64-bit word as torch has it: its integers are signed, and it too computes modulo 2^64."""
    return (word + 2**63) % 2**64 - 2**63


def _shifted(z: Any, by: int) -> Any:
    """z >> by for words of torch, whose own right shift copies the sign bit."""
    return (z >> by) & (2 ** (64 - by) - 1)


def _mix_there(z: Any) -> Any:
    """`_mix` by torch."""
    z = (z ^ _shifted(z, 30)) * _signed(int(_FACTORS[0]))
    z = (z ^ _shifted(z, 27)) * _signed(int(_FACTORS[1]))
    return z ^ _shifted(z, 31)


def _uniform_there(keys: Any, step: int, count: int) -> Any:
    """`_uniform` of the first `count` words of the streams' step, made by torch on the device of `keys`: (..., count)."""
    import torch

    keys = _mix_there(keys + _signed((step + 1) * int(_GAMMA) % 2**64))
    steps = torch.arange(1, count + 1, dtype=torch.int64, device=keys.device) * _signed(int(_GAMMA))
    return _shifted(_mix_there(keys[..., None] + steps), 11).to(torch.float64) * 2.0**-53


class LocalDraws:
    """The draws of the participating clients in one round, step by step; `keys` computes their keys (N, *clients).

    `steps` is the largest number of steps that will be asked for; it changes no number.  Small draws are made for several
    steps at once: the same numbers, fewer array operations.  `place` is the torch device of the uniform numbers; None:
    numpy arrays.  `loops` is the module `fedtheory.simulations.loops`; None: numpy alone makes the same numbers.
    """

    def __init__(
        self, keys: Callable[[], Keys], steps: int = _AT_ONCE, place: Any = None, loops: ModuleType | None = None
    ) -> None:
        self._keys = keys
        self.steps = steps
        self.place = place
        self.loops = loops
        self._orders: dict[int, NDArray[np.int64]] = {}
        self._ahead: tuple[Any, int, NDArray[Any]] | None = None
        self._places: tuple[NDArray[np.int64], int, NDArray[np.int64]] | None = None
        self._looked_up: tuple[NDArray[np.int64], Any] | None = None

    @cached_property
    def keys(self) -> Keys:
        """Those of the streams, computed when the first number is drawn: many gradients need none."""
        return self._keys()

    @cached_property
    def keys_there(self) -> Any:
        """The keys as words of torch on the device `place`, moved there once a round."""
        import torch

        return torch.as_tensor(np.ascontiguousarray(self.keys).view(np.int64), device=self.place)

    @property
    def announced(self) -> int:
        """The number of steps that will be asked for; 1 where nobody has said."""
        return 1 if self.steps == _AT_ONCE else self.steps

    def step(self, k: int) -> Draw:
        """The draw at local step k."""
        return Draw(self, k)

    def once(self, client: NDArray[np.int64], look_up: Callable[[], Found]) -> Found:
        """look_up(), cached as long as `client` is the same array."""
        if self._looked_up is None or self._looked_up[0] is not client:
            self._looked_up = (client, look_up())
        found: Found = self._looked_up[1]
        return found

    def shuffled(self, sizes: NDArray[np.integer], epoch: int) -> NDArray[np.int64]:
        """A random order of 0 ... size - 1 for every client, padded: (N, *clients, largest size)."""
        if epoch not in self._orders:
            words = _words(_fold(self.keys, _EPOCHS + epoch), int(sizes.max()))
            beyond = np.arange(words.shape[-1]) >= np.broadcast_to(sizes, words.shape[:-1])[..., None]
            self._orders[epoch] = np.argsort(np.where(beyond, np.uint64(2**64 - 1), words), axis=-1, kind="stable")
        return self._orders[epoch]

    def _words(self, first: int, steps: int, count: int) -> Keys:
        """The `count` words of each of the steps from the first: (steps, N, *clients, count)."""
        if self.loops is not None:
            words: Keys = self.loops.words(self.keys.reshape(-1), first, steps, count)
            return words.reshape(steps, *self.keys.shape, count)
        return _words(_fold(self.keys, np.arange(first, first + steps).reshape(-1, *[1] * self.keys.ndim)), count)

    def numbers(self, k: int, count: int, transform: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        """transform(the `count` words of step k): (N, *clients, ...)."""
        held = self._ahead
        if held is None or held[0] != (transform, count) or not 0 <= k - held[1] < len(held[2]):
            goes = math.ceil(self.steps * self.keys.size * count / _AT_ONCE)
            steps = math.ceil(self.steps / max(1, goes))
            first = k - k % steps
            words = self._words(first, steps, count)
            values = transform(words) if transform is not _normal else _normal(words, self.loops)
            held = self._ahead = ((transform, count), first, values)
        return held[2][k - held[1]]

    def places(
        self, k: int, client: NDArray[np.int64], sizes: NDArray[np.int64], stride: int, count: int
    ) -> NDArray[np.int64]:
        """As `Draw.places` at step k, for several steps at once; cached while `client` is the same array."""
        held = self._places
        if held is None or held[0] is not client or not 0 <= k - held[1] < len(held[2]):
            self.numbers(k, count, _uniform)
            assert self._ahead is not None
            _, first, uniform = self._ahead
            within = (uniform * sizes.take(client)[..., None]).astype(np.int64)
            held = self._places = (client, first, within + (client * stride)[..., None])
        return held[2][k - held[1]]


class Draw(NamedTuple):
    """The draw of every (seed, client) at one local step; computed only when needed.

    `normal`, `integers` and `uniform` read the same words: a caller uses only one of them.
    """

    local: LocalDraws
    step: int

    @property
    def loops(self) -> ModuleType | None:
        """Compiled loops, which a problem may use too; None: numpy alone."""
        return self.local.loops

    def once(self, client: NDArray[np.int64], look_up: Callable[[], Found]) -> Found:
        """look_up(), the clients' own data: computed at the first local step, cached while `client` is the same array."""
        return self.local.once(client, look_up)

    def normal(self, d: int) -> NDArray[np.float64]:
        """Standard normal numbers (N, *clients, d); do not write to them."""
        return self.local.numbers(self.step, (d + 1) // 2, _normal)[..., :d]

    def integers(self, below: NDArray[np.integer], count: int) -> NDArray[np.int64]:
        """Uniform integers in [0, below), with replacement: (N, *clients, count); `below` broadcasts to the keys."""
        return (self.uniform(count) * np.asarray(below)[..., None]).astype(np.int64)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Uniform numbers in [0, 1), 53 bits each: (N, *clients, count); do not write to them."""
        if self.local.place is not None:
            there: NDArray[np.float64] = _uniform_there(self.local.keys_there, self.step, count)
            return there
        return self.local.numbers(self.step, count, _uniform)

    def places(self, client: NDArray[np.int64], sizes: NDArray[np.int64], stride: int, count: int) -> NDArray[np.int64]:
        """Mini-batches as rows of a table in which client m's samples are rows stride m ... stride m + sizes[m] - 1.

        Drawn with replacement, from the words of `integers`: (N, *clients, count).
        """
        return self.local.places(self.step, client, sizes, stride, count)

    def beside(self, count: int) -> NDArray[np.float64]:
        """Uniform numbers in [0, 1), independent of those of the other methods: (N, *clients, count)."""
        return _uniform(_words(_fold(self.local.keys, _APART + self.step), count))

    def in_turn(self, sizes: NDArray[np.integer], count: int, ends: bool = False) -> NDArray[np.int64]:
        """`count` of the integers 0 ... size - 1 of every client: (N, *clients, count); sizes broadcasts to the keys.

        Local epochs without replacement: random orders of all these integers, one after another, new ones every round.
        Step k takes positions k count ... (k + 1) count - 1.

        ends  an epoch ends with a batch of what is left of it; the batch is filled up with -1
        """
        sizes = np.broadcast_to(np.asarray(sizes), self.local.keys.shape)[..., None]
        epoch_takes = -(-sizes // count) * count if ends else sizes
        places = np.arange(self.step * count, (self.step + 1) * count)
        epochs, within = places // epoch_takes, places % epoch_takes
        out = np.full(epochs.shape, -1)
        for epoch in range(int(epochs.min()), int(epochs.max()) + 1):
            order = self.local.shuffled(sizes[..., 0], epoch)
            taken = np.take_along_axis(order, np.minimum(within, sizes - 1), -1)
            np.copyto(out, taken, where=(epochs == epoch) & (within < sizes))
        return out


@dataclass(frozen=True)
class Draws:
    """All randomness of one round, for N seeds side by side.

    keys    (N,) from `seed_keys`, by purpose
    replay  the clients' order (N, S), to replay another run
    place   the torch device of the compressors' coins; None: numpy arrays
    loops   as in `LocalDraws`
    """

    keys: Mapping[Purpose, Keys]
    round: int
    replay: NDArray[np.int64] | None = None
    place: Any = None
    loops: ModuleType | None = None
    _of_round: dict[Purpose, Keys] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of_seeds(cls, seeds: NDArray[np.integer], round: int, replay: NDArray[np.int64] | None = None) -> Draws:
        """The randomness of a round for the seeds (N,)."""
        return cls({purpose: seed_keys(seeds, purpose) for purpose in Purpose}, round, replay)

    def order(self, M: int, S: int) -> NDArray[np.int64]:
        """The first S of a uniformly random permutation of the M clients, per seed: (N, S)."""
        if self.replay is not None:
            return self.replay
        words = _words(self._keys_of(Purpose.ORDER), M)
        return np.argsort(words, axis=-1, kind="stable")[:, :S]

    def of(self, client: NDArray[np.int64], steps: int = _AT_ONCE) -> LocalDraws:
        """The draws of the clients (N, ...) or, shared by all seeds, (1, ...), for up to `steps` local steps."""
        return self._local(Purpose.SAMPLE, client, steps)

    def coins(self, client: NDArray[np.int64], steps: int = _AT_ONCE) -> LocalDraws:
        """Coins of the clients (N or 1, S) for up to `steps` local steps, independent of the samples; `codes` are step 0."""
        return self._local(Purpose.CODE, client + 1, steps, self.place)

    def codes(self, client: NDArray[np.int64], shared: bool = False) -> Draw:
        """The coins of the compressors of the clients (N or 1, S); `shared`: one column, the same coins for all."""
        return self._local(Purpose.CODE, np.zeros_like(client[..., :1]) if shared else client + 1, 1, self.place).step(
            0
        )

    def _local(self, purpose: Purpose, client: NDArray[np.int64], steps: int, place: Any = None) -> LocalDraws:
        def keys() -> Keys:
            return _fold(self._keys_of(purpose).reshape(-1, *[1] * (client.ndim - 1)), client, self.loops)

        return LocalDraws(keys, steps, place, self.loops)

    def _keys_of(self, purpose: Purpose) -> Keys:
        """The seeds' keys of this round, (N,), computed when the first number is drawn."""
        if purpose not in self._of_round:
            self._of_round[purpose] = _fold(self.keys[purpose], self.round)
        return self._of_round[purpose]

    @property
    def drawn(self) -> bool:
        """Whether any number of this round has been drawn: if not, the round is the same for all seeds."""
        return bool(self._of_round)
