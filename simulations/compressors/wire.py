"""Messages as bits: how floats, whole numbers and indices of coordinates are written and read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.problems import Array

Bits = NDArray[np.uint8]  # one bit each
FLOAT = 32  # bits of a number on the wire


def width_of(symbols: int) -> int:
    """ceil(log2(symbols))."""
    return (symbols - 1).bit_length()


def as_floats(values: Array) -> Bits:
    """32 bits each, IEEE 754, the sign first."""
    return np.unpackbits(values.astype(">f4").view(np.uint8))


def as_numbers(numbers: NDArray[np.integer], width: int) -> Bits:
    """`width` bits each, the highest first."""
    return (numbers[:, None] >> np.arange(width - 1, -1, -1) & 1).astype(np.uint8).ravel()


class Wire:
    """Data, read from the front.  Raises ValueError where it is too short, or where more than padding is left."""

    def __init__(self, data: bytes) -> None:
        self.bits = np.unpackbits(np.frombuffer(data, np.uint8))
        self.read = 0

    def _take(self, count: int) -> Bits:
        self.read += count
        if self.read > self.bits.size:
            raise ValueError(f"{self.bits.size // 8} bytes: expected more, at least {self.read} bits")
        return self.bits[self.read - count : self.read]

    def floats(self, count: int) -> Array:
        """The next `count` float32."""
        return np.packbits(self._take(FLOAT * count)).view(">f4").astype(float)

    def numbers(self, count: int, width: int) -> NDArray[np.int64]:
        """The next `count` numbers of `width` bits."""
        bits = self._take(count * width).reshape(count, width).astype(np.int64)
        return (bits << np.arange(width - 1, -1, -1)).sum(-1)

    def end(self) -> None:
        """Raises ValueError where more than the rest of a byte is left."""
        if self.bits.size - self.read >= 8:
            raise ValueError(f"{self.bits.size // 8} bytes: expected {-(-self.read // 8)}")


def write_places(message: Array, k: int) -> Bits:
    """k indices and values: those of the entries that are not zero, then of zeros up to k."""
    places = np.argsort(message == 0, kind="stable")[:k]
    return np.concatenate([as_numbers(places, width_of(message.size)), as_floats(message[places])])


def read_places(wire: Wire, d: int, k: int) -> Array:
    """The message that `write_places` wrote.  Raises ValueError for an index that is no coordinate."""
    places = wire.numbers(k, width_of(d))
    if (places >= d).any():
        raise ValueError(f"index {places.max()}: expected one of {d} coordinates, from 0")
    message = np.zeros(d)
    message[places] = wire.floats(k)
    return message


def spread(wire: Wire, kept: NDArray[np.bool_]) -> Array:
    """The values of the coordinates that are kept, 0 elsewhere."""
    message = np.zeros(kept.size)
    message[kept] = wire.floats(int(kept.sum()))
    return message
