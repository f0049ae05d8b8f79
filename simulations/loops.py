"""Compiled loops for large runs, by numba: the numbers of numpy, with fewer passes over memory.

Logarithms, sines, cosines and large products stay with numpy, because their last bits depend on the library.  So all loops
but `gradients` give the bits of the numpy code that they stand for; `fedtheory.simulations.engine` says which runs use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(2**24 - 1)
_TO_UNIT, _TO_ANGLE = np.float32(2.0**-24), np.float32(2 * np.pi) * np.float32(2.0**-24)


def _compiled(*signatures: str, **options: Any) -> Callable[[Any], Any]:
    """Compile for these types of arguments; the result is kept for later processes, where there is a folder for it."""

    def compiled(loop: Any) -> Any:
        try:
            return njit(list(signatures), cache=True, **options)(loop)
        except RuntimeError:  # numba finds no folder that it can write to
            return njit(list(signatures), **options)(loop)

    return compiled


@_compiled("void(u8[::1])")
def mix(z: Any) -> None:
    """SplitMix64's finaliser, in place."""
    for i in range(z.size):
        w = (z[i] ^ (z[i] >> np.uint64(30))) * _FACTORS[0]
        w = (w ^ (w >> np.uint64(27))) * _FACTORS[1]
        z[i] = w ^ (w >> np.uint64(31))


@_compiled("u8[::1](u8[::1], i8, i8, i8)")
def words(keys: Any, first: Any, steps: Any, count: Any) -> Any:
    """The first `count` words of the sub-streams first, first + 1 ... of each stream, one sub-stream after another."""
    own = np.empty((steps, keys.size), np.uint64)
    for k in range(steps):
        for i in range(keys.size):
            own[k, i] = keys[i] + np.uint64(first + k + 1) * _GAMMA
    mix(own.reshape(-1))
    out = np.empty((steps, keys.size, count), np.uint64)
    for k in range(steps):
        for i in range(keys.size):
            for j in range(count):
                out[k, i, j] = own[k, i] + np.uint64(j + 1) * _GAMMA
    flat = out.reshape(-1)
    mix(flat)
    return flat


@_compiled("Tuple((f4[::1], f4[::1]))(u8[::1])")
def halves(words: Any) -> Any:
    """Of each word a uniform number in (0, 1] from the upper half, and an angle in [0, 2 pi) from the lower one."""
    upper, angle = np.empty(words.size, np.float32), np.empty(words.size, np.float32)
    for i in range(words.size):
        upper[i] = (np.float32(np.int32(words[i] >> np.uint64(40))) + np.float32(1)) * _TO_UNIT
        angle[i] = np.float32(np.int32((words[i] >> np.uint64(8)) & _LOW)) * _TO_ANGLE
    return upper, angle


@_compiled("f8[:, ::1](f4[::1], f4[::1], f4[::1], i8)")
def polar(logs: Any, cosines: Any, sines: Any, count: Any) -> Any:
    """Normal numbers from logarithms of uniform numbers, which are overwritten, and of angles: (streams, 2 count)."""
    for i in range(logs.size):
        logs[i] = np.sqrt(np.float32(-2) * logs[i])
    out = np.empty((logs.size // count, 2 * count))
    for i in range(len(out)):
        for j in range(count):
            out[i, j] = logs[i * count + j] * cosines[i * count + j]
            out[i, count + j] = logs[i * count + j] * sines[i * count + j]
    return out


@_compiled("void(f8[:, :, :, ::1], f8[:, :, ::1], f8, f8[:, :, ::1])")
def add_noise(g: Any, b: Any, scale: Any, noise: Any) -> None:
    """g + b + scale noise, in place: g (E, N, S, d), b (1, S, d), noise (N, S, d)."""
    E, N = g.shape[:2]
    flat_g, flat_b, flat_noise = g.reshape((E, N, b.size)), b.reshape(-1), noise.reshape((N, b.size))
    for e in range(E):
        for n in range(N):
            for i in range(b.size):
                flat_g[e, n, i] = (flat_g[e, n, i] + flat_b[i]) + scale * flat_noise[n, i]


@_compiled(
    "f8[:, :, ::1](f8[:, :, ::1], f8[:, :, ::1], f8[:, ::1], f8, f8[:, ::1])",
    "f8[:, :, :, ::1](f8[:, :, :, ::1], f8[:, :, :, ::1], f8[:, :, ::1], f8, f8[:, :, ::1])",
    fastmath={"contract", "nsz", "reassoc"},
)
def gradients(x: Any, H: Any, b: Any, scale: Any, noise: Any) -> Any:
    """H x + b + scale noise, H symmetric, sums in any order: x (E, N, ..., d), H (N, ..., d, d), b and noise (N, ..., d)."""
    d = x.shape[-1]
    rows = b.size // d
    g = np.empty(x.shape)  # in one assignment with another value, the loops would be a fifth slower
    flat_x, flat_g, flat_H = x.reshape((-1, d)), g.reshape((-1, d)), H.reshape((-1, d))
    flat_b, flat_noise = b.reshape(-1), noise.reshape(-1)
    for e in range(x.shape[0]):
        for n in range(rows):
            row = e * rows + n
            for i in range(d):
                k = n * d + i
                total = 0.0
                for j in range(d):
                    total += flat_x[row, j] * flat_H[k, j]
                flat_g[row, i] = total + flat_b[k] + scale * flat_noise[k]
    return g
