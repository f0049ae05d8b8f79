"""The exact expectation of a whole run, on quadratics, of every algorithm whose rounds are linear.

Once it is known which clients take part, and which entries of their messages a random mask keeps, such a round maps the
server's model and the memories, together z, and the noise of the gradients linearly to the next z.  The matrices of this
map are not derived here: the algorithm's own `round` makes them, run on a unit vector for each column.  So there is no
second form of the algorithm that could differ from it.

The choice of clients, and the masks, are random coefficients of the map with known means and covariances.  So mean and
covariance of z follow a recursion.  All choices are visited, unless the map is affine in the assignment of clients to the
positions of the round: then one affine basis of assignments is enough, for any number of clients.

Mean and covariance are separate, and z is relative to its fixed point where x is x_star.  Directions in which no run can
move z, such as the sum of control variates, are left out.  This avoids cancellation: gaps keep their relative accuracy near
the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from math import factorial, lcm, prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svd

from fedtheory.simulations import engine
from fedtheory.simulations.algorithms.base import Algorithm, Memory, refuse_misfits
from fedtheory.simulations.algorithms.minibatch import CentralSGD
from fedtheory.simulations.algorithms.participation import RCP, AmplifiedFedAvg, CyCP
from fedtheory.simulations.algorithms.reduced import BVRLSGD
from fedtheory.simulations.checked import affordable
from fedtheory.simulations.compressors import Compressor, Identity
from fedtheory.simulations.engine import Request
from fedtheory.simulations.exact.blocks import Blocks, second_moment, turned, whole_run
from fedtheory.simulations.exact.given import (
    LINEAR,
    ROUNDING,
    ChoiceLaw,
    Given,
    Masked,
    Noise,
    OneNoise,
    affine_basis,
    any_noise,
    assignments,
    coins_of,
    rows_of,
    weighed,
)
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.simulations.problems.regularised import Regularised

_FEW = 24  # choices that are visited without a look for an affine basis
_MOST_STATES = 64  # entries of z, for the eigenvalues of the recursion of their second moments
_AT_ONCE = 64  # rounds that are recorded in one go
_LARGE = 1e9  # times another input: an algorithm that cuts large numbers off is not linear
_MASKS = "expected a random mask, one of Identity, RandK, Bernoulli, Sparsifier"

Found = TypeVar("Found")
Layout = dict[str, tuple[int, ...]]  # the memories' shapes, without the axes of step sizes and runs


# ----------------------------------------------------------------------------------------- a round as a linear map


@dataclass(frozen=True, eq=False)
class Maps:
    """A round as a map of (1, z) and of the noise, for each of C choices; z is about x_star and memories of 0.

    z has n entries before the round and n' after it, in each of B independent parts of the problem; entry i p + a is
    coordinate a of vector i, of which the first is the model.  q columns are for independent noise of variance 1.

    law      the law of the choices
    z        (E, B, C, n', 1 + n), noise (E, B, C, n', q)
    moved    (E, B, C, rows, 1 + n): y - x of all local steps, weighed so that the drift is the sum of squares
    shaken   (E, B, C): the part of the drift that is due to noise
    heard    (E, B, M p, 1 + n), what clients hand to their masks, if there are any; of_noise (E, B, M p, q)
    sent     (E, B, C, n', M p): what a message adds to z
    read     (C, q / p, 2): the client and the step of the noise columns, -1 where there are fewer
    layout   of the memories after the round
    """

    law: ChoiceLaw
    z: Array
    noise: Array
    moved: Array
    shaken: Array
    heard: Array
    of_noise: Array
    sent: Array
    read: NDArray[np.int64]
    layout: Layout

    def about(self, before: Array, after: Array) -> Maps:
        """The same with z about `before` (E, B, n) and the next z about `after` (E, B, n')."""
        z, moved, heard = _about(self.z, before, after), _about(self.moved, before), _about(self.heard, before)
        return replace(self, z=z, moved=moved, heard=heard)


def _about(maps: Array, centre: Array, image: Array | None = None) -> Array:
    """Maps (E, B, ..., rows, 1 + n) of (1, z) as maps of (1, z - centre); the image, if given, is subtracted.

    A constant that is only rounding becomes 0.
    """

    def column(point: Array) -> Array:
        return point.reshape(*point.shape[:2], *[1] * (maps.ndim - 4), -1, 1)

    linear, here, there = maps[..., 1:], column(centre), 0.0 if image is None else column(image)
    constant = maps[..., :1] + linear @ here - there
    constant[np.abs(constant) <= ROUNDING * (np.abs(linear) @ np.abs(here) + np.abs(there))] = 0.0
    return np.concatenate([constant, linear], axis=-1)


class _Outcome(NamedTuple):
    """What C choices make of N inputs.

    z       (E, C, N, k', d), the next model and the memories
    moved   (E, C, N, rows, d), y - x of the local steps
    heard   (E, C, N, M, d), what clients hand to their masks; 0 rows where messages are not masked
    layout  of the memories
    draws   as the round read them
    """

    z: Array
    moved: Array
    heard: Array
    layout: Layout
    draws: Given


@dataclass(frozen=True, eq=False)
class _Scheme:
    """An algorithm on a problem, seen in B independent parts of p coordinates: coordinate b p + a is number a of part b.

    problem  in coordinates in which the parts are independent, if there are any
    eta      (E,)
    blocks   the parts of the measured function
    """

    problem: Quadratic | Regularised
    algorithm: Any
    eta: Array
    blocks: Blocks

    @property
    def p(self) -> int:
        """Coordinates of a part."""
        return self.blocks.start.shape[1]

    @property
    def masks(self) -> tuple[Array, Array] | None:
        """Mean (d,) and covariance (d, d) of a client's mask; None: messages are not masked."""
        moments = _moments(self.algorithm, self.problem.d)
        if moments is None:
            return None
        first, second = moments
        return first, second - np.outer(first, first)

    @cached_property
    def still(self) -> Quadratic | Regularised:
        """The problem without linear terms."""
        plain = plain_of(self.problem)
        return _with_plain(self.problem, replace(plain, b=0 * plain.b))

    @cached_property
    def centre(self) -> Array:
        """x_star, or 0 where F has no minimiser, (d,)."""
        x_star = self.problem.constants.get("x_star")
        return np.zeros(self.problem.d) if x_star is None else x_star

    def run(
        self,
        law: ChoiceLaw,
        number: int,
        x: Array,
        layout: Layout,
        *,
        slopes: bool = False,
        noise: Noise | None = None,
        **given: Array,
    ) -> _Outcome:
        """Every choice on every input x (N, k, d), by the algorithm's own `round`.

        slopes        with the linear terms of the problem
        factor, more  (N, M, d), of the masks; by default their mean, and 0
        noise         of all C N runs, by default none
        """
        E, C, N, M, d = len(self.eta), len(law.mean), len(x), self.problem.M, self.problem.d
        rows = np.tile(x, (E, C, 1, 1))
        memory: Memory = {}
        for (name, shape), at in zip(layout.items(), _ends(layout), strict=False):
            memory[name] = rows[:, :, at : at + prod(shape[:-1])].reshape(E, C * N, *shape)
        algorithm = self.algorithm
        noted: list[tuple[NDArray[np.int64], Array]] = []
        if self.masks is not None:
            factor = given.get("factor", np.broadcast_to(self.masks[0], (N, M, d)))
            more = given.get("more", np.zeros((N, M, d)))
            masked = Masked(algorithm.compressor, np.tile(factor, (C, 1, 1)), np.tile(more, (C, 1, 1)), noted)
            algorithm = replace(algorithm, compressor=masked)
        coins = None if law.coins is None else np.repeat(law.coins, N)
        draws = Given(M, number, np.repeat(law.orders, N, axis=0), coins, noise)
        moves: list[Array] = []
        problem, model = self.problem if slopes else self.still, rows[:, :, 0].copy()
        after = algorithm.round(problem, model, self.eta[:, None, None], draws, _watch(model.copy(), moves), memory)
        if any(np.ndim(values) < 3 or values.shape[-1] != d for values in memory.values()):
            raise ValueError(f"{type(algorithm).__name__} keeps numbers that are no vectors of {d}: expected vectors")
        kept = {name: np.broadcast_to(values, (E, C * N, *values.shape[2:])) for name, values in memory.items()}
        z = np.concatenate([after[:, :, None], *(values.reshape(E, C * N, -1, d) for values in kept.values())], axis=2)
        moved = np.concatenate(moves, axis=2) if moves else np.zeros((E, C * N, 0, d))
        heard = np.zeros((E, C * N, 0 if self.masks is None else M, d))
        if self.masks is not None:
            if len(noted) != 1 or noted[0][1].shape[-1] != d:
                raise ValueError(
                    f"{type(algorithm).__name__}: expected one compressed message of each client, all its coordinates"
                )
            heard[:, rows_of(noted[0][0], C * N), noted[0][0]] = noted[0][1]
        z, moved, heard = (values.reshape(E, C, N, -1, d) for values in (z, moved, heard))
        return _Outcome(z, moved, heard, {name: values.shape[2:] for name, values in kept.items()}, draws)

    def parted(self, values: Array) -> Array:
        """(E, C, N, rows, d) -> (E, B, C, rows p, N): a column for each input."""
        E, C, N, rows, d = values.shape
        parts = values.reshape(E, C, N, rows, d // self.p, self.p)
        return parts.transpose(0, 4, 1, 3, 5, 2).reshape(E, d // self.p, C, rows * self.p, N)

    def generic(self, number: int, layout: Layout) -> tuple[Array, dict[str, Any], Given]:
        """An input x, noise and masks without any structure, and the draws of a round."""
        M, d = self.problem.M, self.problem.d
        x = np.cos(1 + np.arange(_ends(layout)[-1] * d)).reshape(1, -1, d)
        law = coins_of(self.problem, self.algorithm) or ChoiceLaw.of([tuple(range(M))])
        draws = self.run(law, number, x, layout).draws
        given: dict[str, Any] = {"noise": any_noise}
        if self.masks is not None:
            given["factor"] = np.cos(2 + np.arange(M * d)).reshape(1, M, d)
        return x, given, draws

    def law(self, number: int, layout: Layout) -> ChoiceLaw:
        """The law of the choices of a round."""
        known, M = coins_of(self.problem, self.algorithm), self.problem.M
        if known is not None:
            return known
        if _lasting(self.problem, self.algorithm) > 1:  # cohorts take turns
            S = self.algorithm.participants(self.problem)
            return ChoiceLaw.of(assignments(tuple(range(M)), [S] * (M // S)))
        return _once(_law, self, number, tuple(layout.items()))

    def maps(self, number: int, layout: Layout) -> Maps:
        """Round `number`, for all choices; the memories before it have this layout.

        Raises NotLinear if the round is not linear, or not linear in the masks, or mixes coordinates of different parts.
        """
        law = self.law(number, layout)
        if _period(self.problem, self.algorithm) == 1 and not _once(_steady, self, tuple(layout.items())):
            raise ValueError(
                f"rounds of {type(self.algorithm).__name__} depend on their number: expected rounds that are alike"
            )
        E, (B, p), M, d = len(self.eta), self.blocks.start.shape, self.problem.M, self.problem.d
        k, local = _ends(layout)[-1], np.arange(d) % p
        n = k * p

        def units(vectors: int) -> Array:
            """For coordinate a of vector i, in all parts at once: (vectors p, vectors, d)."""
            return np.array([np.outer(np.arange(vectors) == i, local == a) for i in range(vectors) for a in range(p)])

        def of_parts(vectors: Array) -> Array:
            """(vectors, d) -> (B, vectors p)."""
            return vectors.reshape(-1, B, p).swapaxes(0, 1).reshape(B, -1)

        # the linear terms alone, at x_star and memories of 0
        origin = np.zeros((1, k, d))
        origin[0, 0] = self.centre
        still = self.run(law, number, origin, layout, slopes=True)
        still.z[..., 0, :] -= self.centre

        if law.coins is not None and still.draws.drawn:
            raise ValueError(f"{type(self.algorithm).__name__} draws a coin and clients: expected one of both")
        if number and still.layout != layout:
            raise ValueError(
                f"{type(self.algorithm).__name__} keeps other memories from round to round: expected the same"
            )

        # a unit vector for each column; the last two inputs test that the round is linear
        C = len(law.mean)
        read = still.draws.read if plain_of(self.problem).sigma else np.zeros((C, 0, 2), dtype=np.int64)
        q = read.shape[1] * p
        affordable(f"the moments of {n} numbers, for {C} choices and {E} step sizes",
                   numbers=float(C) * E * (n + q + 1) * (k + 2 * M) * d)  # fmt: skip
        x = np.zeros((n + q + 2, k, d))
        x[:n], x[-2] = units(k), np.cos(1 + np.arange(k * d)).reshape(k, d)
        x[-1] = _LARGE * x[-2]
        at, values = np.full((C, n + q + 2, 2), -1), np.zeros((n + q + 2, d))
        at[:, n:-2], values[n:-2] = np.repeat(read, p, axis=1), np.tile(units(1)[:, 0], (read.shape[1], 1))
        last = np.arange(n + q + 2) >= n + q
        noise = OneNoise(at[..., 0].ravel(), at[..., 1].ravel(), np.tile(values, (C, 1)), np.tile(last, C))
        mixed = np.array([[any_noise(np.array(m), t, d) * (m >= 0) for m, t in pairs] for pairs in read]).reshape(
            C, -1, d
        )
        inputs = np.array([[np.hstack([of_parts(test), of_parts(own)]) for own in mixed] for test in x[-2:]])
        given: dict[str, Any] = {"noise": noise}
        masks = self.masks
        if masks is not None:
            given["factor"] = np.tile(masks[0], (n + q + 2, M, 1))
            given["factor"][-2:] = np.cos(1 + np.arange(M * d)).reshape(M, d)
        moved = self.run(law, number, x, layout, **given)
        columns = self.parted(np.concatenate([moved.z, moved.heard], axis=3))  # (E, B, C, n' + M p, n + q + 2)
        tests, columns = columns[..., -2:], columns[..., :-2]
        expected = np.einsum("ebcri,tcbi->ebcrt", columns, inputs)
        constant = self.parted(np.concatenate([still.z, still.heard], axis=3))
        whole = np.concatenate([constant, columns], axis=-1)
        after = moved.z.shape[3] * p
        heard, of_noise = np.zeros((E, B, 0, 1 + n)), np.zeros((E, B, 0, 0))
        sent = np.zeros((E, B, C, after, 0))
        if masks is not None:
            into = self.run(law, number, np.zeros((M * p, k, d)), layout, factor=np.zeros((M * p, M, d)), more=units(M))
            sent = self.parted(into.z)
            off = of_parts(given["factor"][-1] - masks[0])
            expected[..., :after, :] += np.einsum("ebcri,bi,ebcit->ebcrt", sent, off, tests[..., after:, :])
            # a client that takes part hands over the same, whoever else does
            whose = (moved.heard != 0).any((0, 2, 4)) | (still.heard != 0).any((0, 2, 4))
            whose = np.repeat(whose, p, axis=-1)  # (C, M p)
            shared = whose[None, None, :, :, None] * whole[..., after:, : 1 + n]
            heard = shared.sum(2) / np.maximum(1, whose.sum(0))[:, None]
            others = np.abs(shared - whose[None, None, :, :, None] * heard[:, :, None]).max((1, 2, 3, 4))
            share = np.abs(sent).max((1, 2, 3, 4), initial=0)
            if (others * share > LINEAR * np.abs(heard).max((1, 2, 3)) * share + ROUNDING).any():
                raise NotLinear(
                    f"messages of {type(self.algorithm).__name__} depend on who takes part: expected others"
                )
            of_noise = _aligned(whole[..., after:, 1 + n :], read, whose)
        with np.errstate(over="ignore", invalid="ignore"):
            # what a message is off by counts as far as it moves z; so rounding is relative to the model, also of (x - y)/eta
            off, size = np.abs(tests - expected), np.abs(tests[..., :after, :]).max((1, 2, 3))
            off = off[..., :after, :] + np.abs(sent) @ off[..., after:, :]
            allowed = LINEAR * size + ROUNDING * np.abs(inputs).max((1, 2, 3))
        if (off.max((1, 2, 3)) > allowed)[np.isfinite(size)].any():
            raise NotLinear(f"{type(self.algorithm).__name__} is not linear: expected an algorithm with linear rounds")
        steps, at_start = self.parted(moved.moved), self.parted(still.moved)
        return Maps(
            law,
            whole[..., :after, : 1 + n],
            whole[..., :after, 1 + n :],
            np.concatenate([at_start, steps[..., :n]], axis=-1),
            (steps[..., n:-2] ** 2).sum((-1, -2)),
            heard,
            of_noise,
            sent,
            read,
            moved.layout,
        )


def _aligned(noise: Array, read: NDArray[np.int64], whose: NDArray[np.bool_]) -> Array:
    """The noise (E, B, C, M p, q) of messages, each from a choice in which its client takes part, by client and step."""
    E, B, _, rows, q = noise.shape
    p, pairs = q // max(1, read.shape[1]), sorted({(int(m), int(t)) for m, t in read.reshape(-1, 2) if m >= 0})
    place, choice = {pair: i for i, pair in enumerate(pairs)}, whose.argmax(0)
    found = np.zeros((E, B, rows, len(pairs), max(1, p)))
    for row in range(rows):
        for j, (m, t) in enumerate(read[choice[row]]):
            if m >= 0:
                found[:, :, row, place[int(m), int(t)]] = noise[:, :, choice[row], row, j * p : (j + 1) * p]
    return found.reshape(E, B, rows, -1)


def _ends(layout: Layout) -> list[int]:
    """The number of vectors before each memory, and in all: the model is the first."""
    return np.cumsum([1, *(prod(shape[:-1]) for shape in layout.values())]).tolist()


class NotLinear(ValueError):
    """A round that is not linear, or that mixes coordinates of different parts of the problem."""


def _with_plain(problem: Quadratic | Regularised, plain: Quadratic) -> Quadratic | Regularised:
    """The problem with another measured function."""
    return replace(problem, plain=plain) if isinstance(problem, Regularised) else plain


def _moments(algorithm: Any, d: int) -> tuple[Array, Array] | None:
    """First (d,) and second moments (d, d) of the mask through which messages go; None: none do.

    Raises ValueError for a compressor that is no random mask.
    """
    compressor = getattr(algorithm, "compressor", None)
    if not isinstance(compressor, Compressor) or isinstance(compressor, Identity):  # FedBAT has a method of this name
        return None
    if "compressor" not in {field.name for field in fields(algorithm)}:
        raise ValueError(
            f"{type(algorithm).__name__}: expected its compressor as a field, so that a mask can take its place"
        )
    moments: tuple[Array, Array] | None = compressor.moments(d)
    if moments is None:
        raise ValueError(f"{compressor}: {_MASKS}")
    return moments


def _watch(x: Array, moves: list[Array]) -> Any:
    """Notes y - x of each local step, weighed so that the sum of squares is the drift."""

    def watch(y: Array, active: NDArray[np.bool_] | bool = True) -> None:
        parallel = y.ndim > 3
        taking = np.asarray(active, dtype=float)
        if not parallel:
            moves.append(((y - x) * (taking[:, None] if taking.ndim else taking))[:, :, None])
            return
        shares = taking[..., None] if taking.ndim == 2 else taking.reshape(-1, *[1] * (2 * taking.ndim))
        moves.append((y - x[:, :, None]) * shares / np.sqrt(y.shape[2]))

    return watch


# ------------------------------------------------------------------------------------------------------ the recursion


class Masks(NamedTuple):
    """The random masks of a round.

    heard   (E, B, M p, 1 + n): what clients hand to their masks, as a map of (1, y)
    noise   (E, B, M p, M p), the covariance of its noise
    spread  (B, M p, M p), the covariance of the masks
    sent    (E, B, s, n', M p): what a message adds to the next y; its mean and deviations over the choices
    """

    heard: Array
    noise: Array
    spread: Array
    sent: Array

    def covariance(self, second: Array) -> Array:
        """What they add to the covariance of y, from the second moments of what is handed to them (E, B, M p, M p)."""
        added: Array = (self.sent @ (self.spread * second)[:, :, None] @ self.sent.swapaxes(-1, -2)).sum(2)
        return added


@dataclass(frozen=True, eq=False)
class Recursion:
    """One round of mean and covariance of y, where z = centre + basis y, by step size and part of the problem.

    maps   (E, B, 1 + r, n', 1 + n): of (1, y); the mean map, then uncorrelated deviations of variance 1
    noise  (E, B, n', n'), the covariance that gradient noise adds
    drift  (E, B, 1 + n, 1 + n), the mean client drift as a form of (1, y)
    masks  of the messages; None: messages are not masked
    """

    maps: Array
    noise: Array
    drift: Array
    masks: Masks | None

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        """The maps without constants, one above the other and side by side."""
        linear = self.maps[..., 1:].swapaxes(2, 3)  # (E, B, n', 1 + r, n)
        E, B, after, several, n = linear.shape
        return linear.reshape(E, B, -1, n), linear.reshape(E, B, after, several * n).swapaxes(-1, -2)

    def after(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        """Mean (E, B, n') and covariance (E, B, n', n') of the next y."""
        images = _times(self.maps, mean[:, :, None])
        off = images[:, :, 1:]
        new = self.spreading(covariance) + off.swapaxes(-1, -2) @ off + self.noise
        if self.masks is not None:
            heard = _times(self.masks.heard, mean)
            new = new + self.masks.covariance(self.masks.noise + heard[..., :, None] * heard[..., None, :])
        return images[:, :, 0], new

    def spreading(self, covariance: Array) -> Array:
        """What the covariance of y adds to that of the next."""
        above, beside = self._linear
        new: Array = (above @ covariance).reshape(*beside.shape[:-2], *beside.shape[:-3:-1]) @ beside
        if self.masks is not None:
            heard = self.masks.heard[..., 1:]
            new = new + self.masks.covariance(heard @ covariance @ heard.swapaxes(-1, -2))
        return new

    def summing(self, rows: Array, constant: Array, ratio: Array) -> Recursion:
        """With the sum u, the next u = ratio u + constant + rows y with the next y, at the end of y.

        rows (E or 1, B, p, n'), constant (E, B, p), ratio (E,)
        """
        E, B, _, after, _ = self.maps.shape
        p = rows.shape[2]
        into = np.zeros((E, B, after + p, after))
        into[:, :, range(after), range(after)], into[:, :, after:] = 1, rows
        maps = np.pad(into[:, :, None] @ self.maps, [(0, 0)] * 4 + [(0, p)])
        maps[:, :, 0, after:, 0] += constant
        maps[:, :, 0, range(after, after + p), range(-p, 0)] = ratio[:, None, None]
        masks = self.masks
        if masks is not None:
            heard = np.pad(masks.heard, [(0, 0)] * 3 + [(0, p)])
            masks = masks._replace(heard=heard, sent=into[:, :, None] @ masks.sent)
        drift = np.pad(self.drift, [(0, 0)] * 2 + [(0, p)] * 2)
        return Recursion(maps, into @ self.noise @ into.swapaxes(-1, -2), drift, masks)


def _times(maps: Array, y: Array) -> Array:
    """Maps (..., rows, 1 + n) of (1, y), at y (..., n)."""
    image: Array = (maps[..., 1:] @ y[..., None])[..., 0] + maps[..., 0]
    return image


class Frame(NamedTuple):
    """z = units (centre + basis y), relative to x_star and memories of 0.

    centre (E, B, n), basis (E or 1, B, n, r), units (E, 1, n): models are counted in step sizes
    """

    centre: Array
    basis: Array
    units: Array

    @classmethod
    def of(cls, eta: Array, B: int, n: int, p: int) -> Frame:
        """About 0, without a change of basis."""
        units = np.ones((len(eta), 1, n))
        units[..., :p] = eta[:, None, None]
        return cls(np.zeros((len(eta), B, n)), np.broadcast_to(np.eye(n), (1, B, n, n)), units)


def _recursion(scheme: _Scheme, maps: Maps, before: Frame, after: Frame) -> Recursion:
    """A round in these frames."""
    into = after.basis.swapaxes(-1, -2) / after.units[:, :, None]  # (E, B, r', n')
    maps = maps.about(before.units * before.centre, after.units * after.centre)

    def of_y(given: Array) -> Array:
        """Maps (E, B, ..., 1 + n) of (1, z) as maps of (1, y)."""
        back = before.units[..., None] * before.basis
        back = back.reshape(*back.shape[:2], *[1] * (given.ndim - 4), *back.shape[2:])
        return np.concatenate([given[..., :1], given[..., 1:] @ back], axis=-1)

    mixed = maps.law.mixed(into[:, :, None] @ of_y(maps.z))
    moved = of_y(maps.moved)
    drift = weighed(maps.law.mean[None], moved.swapaxes(-1, -2) @ moved)[:, :, 0]
    drift[..., 0, 0] += maps.shaken @ maps.law.mean
    masks = None
    if scheme.masks is not None:
        (B, p), M = scheme.blocks.start.shape, scheme.problem.M
        parts = scheme.masks[1].reshape(B, p, B, p)[range(B), :, range(B)]  # (B, p, p)
        same = np.ones((M, M)) if scheme.algorithm.compressor.shared else np.eye(M)
        spread = np.einsum("ij,bac->biajc", same, parts).reshape(B, M * p, M * p)
        sent = maps.law.mixed(into[:, :, None] @ maps.sent)
        masks = Masks(of_y(maps.heard), maps.of_noise @ maps.of_noise.swapaxes(-1, -2), spread, sent)
    return Recursion(_fewest(mixed), _covariance(maps, into[:, :, None] @ maps.noise), drift, masks)


def _covariance(maps: Maps, noise: Array) -> Array:
    """The covariance that gradient noise adds, from its columns for each choice (E, B, C, n', q): (E, B, n', n')."""
    law = maps.law
    if law.root is None:
        return np.einsum("c,ebcrq,ebcsq->ebrs", law.mean, noise, noise)
    second = np.outer(law.mean, law.mean) + law.root @ law.root.T  # E[w w']
    columns: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for choice, pairs in enumerate(maps.read.tolist()):
        for number, (m, t) in enumerate(pairs):
            if m >= 0:
                columns.setdefault((m, t), []).append((choice, number))
    E, B, _, n, _ = noise.shape
    if not columns:
        return np.zeros((E, B, n, n))
    parts = noise.reshape(*noise.shape[:-1], maps.read.shape[1], -1)  # (E, B, C, n', Q, p)
    total = np.zeros((E, B, n, n))
    for found in columns.values():
        c, j = map(list, zip(*found, strict=True))
        own = parts[:, :, c, :, j]  # (choices, E, B, n', p)
        total += np.einsum("cebra,cd,debsa->ebrs", own, second[np.ix_(c, c)], own, optimize=True)
    return total


def _singular(matrices: Array) -> tuple[Array, Array, Array]:
    """The singular value decompositions of matrices (..., n, m), with min(n, m) values each."""
    try:
        return np.linalg.svd(matrices, full_matrices=False)
    except np.linalg.LinAlgError:  # the fast algorithm does not always converge; the slow one does
        n, m = matrices.shape[-2:]
        each = [svd(one, full_matrices=False, lapack_driver="gesvd") for one in matrices.reshape(-1, n, m)]
        left, size, rows = (np.stack(part) for part in zip(*each, strict=True))
        batch = matrices.shape[:-2]
        return left.reshape(*batch, *left.shape[1:]), size.reshape(*batch, -1), rows.reshape(*batch, *rows.shape[1:])


def _fewest(maps: Array) -> Array:
    """The mean map, and as few deviations as have the same covariance: (E, B, 1 + r, n', 1 + n)."""
    if maps.shape[2] <= 2 or not np.isfinite(maps).all():
        return maps
    off = maps[:, :, 1:].reshape(*maps.shape[:2], maps.shape[2] - 1, -1)
    scale = np.abs(off).max(2, keepdims=True)
    _, size, rows = _singular(off / np.where(scale > 0, scale, 1))
    needed = int((size > ROUNDING * size[..., :1]).sum(-1).max())
    off = (size[..., :needed, None] * rows[..., :needed, :]) * scale
    return np.concatenate([maps[:, :, :1], off.reshape(*maps.shape[:2], -1, *maps.shape[3:])], axis=2)


def _about_fixed_point(scheme: _Scheme, first: Maps, later: Maps) -> Frame:
    """The frame of z after the first round: about the memories with which x_star is a fixed point, where there are some.

    Its basis leaves out what no round changes, such as a sum of control variates: that would only gather rounding errors.
    """
    (B, p), E = scheme.blocks.start.shape, len(scheme.eta)
    n = first.z.shape[3]
    frame = Frame.of(scheme.eta, B, n, p)
    if n == p:
        return frame
    out = 1 / frame.units[:, :, None, :, None]
    begun = np.broadcast_to(scheme.blocks.start, (E, B, p))
    begun = _times(first.law.mixed(first.z)[:, :, 0], begun) / frame.units
    change = later.z * out
    change[..., 1:] *= frame.units[:, :, None, None, :]
    change[..., 1:] -= np.eye(n)
    plain, centre = plain_of(scheme.problem), np.abs(scheme.centre).max()
    gradient = np.abs(plain.b).max() + np.abs(plain.H).max() * centre
    change[..., :1][np.abs(change[..., :1]) <= ROUNDING * gradient] = 0.0
    kinds = [change, later.noise * out, later.sent * out]
    columns = np.concatenate([some.swapaxes(2, 3).reshape(E, B, n, -1) for some in kinds], axis=-1)
    finite = np.isfinite(columns).all((1, 2, 3)) & np.isfinite(begun).all((1, 2))
    basis, fixed = np.tile(np.eye(n), (E, B, 1, 1)), np.zeros((E, B, n))
    basis[finite] = _moving(columns[finite])
    mean = later.law.mixed(change)[finite, :, 0]
    fixed[finite, :, p:] = -_times_inverse(mean[..., 1 + p :], mean[..., 0])
    fixed[np.abs(fixed) <= ROUNDING * np.abs(fixed).max(-1, keepdims=True)] = 0.0
    off = fixed - np.where(finite[:, None, None], begun, 0.0)
    inside = (basis @ (basis.swapaxes(-1, -2) @ off[..., None]))[..., 0]
    close = np.abs(inside - off).max(-1, keepdims=True) <= LINEAR * np.abs(off).max(-1, keepdims=True)
    return Frame(np.where(close, fixed, fixed - off + inside), basis, frame.units)


def _moving(columns: Array) -> Array:
    """An orthonormal basis (E, B, n, n) of the span of the columns (E, B, n, q), padded with 0."""
    E, n = len(columns), columns.shape[2]
    scale = np.abs(columns).max(2, keepdims=True)
    columns = np.pad(columns / np.where(scale > 0, scale, 1), [(0, 0)] * 3 + [(0, n)])

    def spanned(some: Array) -> Array:
        left, size, _ = _singular(some)
        return left * (size > ROUNDING * size[..., :1])[..., None, :]

    basis = np.tile(spanned(columns[:1]), (E, 1, 1, 1))  # most often the same for all step sizes
    missed = columns - basis @ (basis.swapaxes(-1, -2) @ columns)
    return basis if (np.abs(missed) <= ROUNDING).all() else spanned(columns)


def _times_inverse(A: Array, b: Array) -> Array:
    """The least-squares solution of A y = b with the least norm: (..., n, m), (..., n) -> (..., m)."""
    left, size, rows = _singular(A)
    used = size > 1e-15 * size[..., :1]
    along = np.where(used, 1 / np.where(used, size, 1), 0) * (left.swapaxes(-1, -2) @ b[..., None])[..., 0]
    solution: Array = (rows.swapaxes(-1, -2) @ along[..., None])[..., 0]
    return solution


# ------------------------------------------------------------------------------------------------------------ whole runs


def plain_of(problem: Problem) -> Quadratic:
    """The measured function.  Raises ValueError if it is no Quadratic."""
    plain = problem.plain if isinstance(problem, Regularised) else problem
    if not isinstance(plain, Quadratic):
        raise ValueError(f"{getattr(plain, 'name', plain)}: expected a Quadratic, whose moments follow a recursion")
    return plain


def _in_parts(problem: Any, algorithm: Any, x0: Array, eta: Array) -> Iterator[_Scheme]:
    """The algorithm on the problem, in as many independent parts as there may be; then in one part."""
    plain = plain_of(problem)
    x0 = np.broadcast_to(x0, plain.d)
    whole = _Scheme(problem, algorithm, eta, Blocks.of(plain, x0, parted=False))
    parts = Blocks.of(plain, x0)
    if len(parts.H) > 1:
        yield replace(whole, blocks=parts)
    else:
        straight, basis = turned(plain)
        if straight is not plain:
            scheme = _Scheme(_with_plain(problem, straight), algorithm, eta, Blocks.of(straight, x0 @ basis))
            if _once(_turns, whole):
                yield scheme
    yield whole


def _once(find: Callable[..., Found], scheme: _Scheme, *given: Any) -> Found:
    """`find` on a problem without any structure: how the algorithm treats clients and coordinates is the same on all."""
    plain, phi = plain_of(scheme.problem), getattr(scheme.problem, "phi", None)
    weights = None if plain.weights is None else tuple(plain.weights.tolist())
    algorithm = replace(scheme.algorithm, eta=0.3)
    try:
        return find(algorithm, plain.M, plain.d, weights, phi, *given)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return find.__wrapped__(algorithm, plain.M, plain.d, weights, phi, *given)  # type: ignore[attr-defined]


def _generic(algorithm: Any, M: int, d: int, weights: Any, phi: float | None, basis: Array | None = None) -> _Scheme:
    """The algorithm on a problem without any structure, in this basis."""
    rng, turn = np.random.default_rng(0), np.eye(d) if basis is None else basis
    H = rng.uniform(0.1, 1, (M, d, d)) / d
    H = turn.T @ (H + H.swapaxes(1, 2)) @ turn
    weights = None if weights is None else np.array(weights)
    plain = Quadratic((H + H.swapaxes(1, 2)) / 2, rng.uniform(0.1, 1, (M, d)) @ turn, 1.0, weights=weights)
    problem = plain if phi is None else Regularised(plain, phi)
    small = 0.3 / engine.local_steps_of(algorithm) / (1 + (phi or 0))  # so that many steps neither grow nor shrink much
    return _Scheme(problem, algorithm, np.array([small]), Blocks.of(plain, np.zeros(d)))


@lru_cache(maxsize=256)
def _law(
    algorithm: Any, M: int, d: int, weights: Any, phi: float | None, number: int, layout: tuple[tuple[str, Any], ...]
) -> ChoiceLaw:
    """The law of the choices of a round, as far as the round's result depends on them.

    Positions of the drawn order are in one group if nothing depends on which of the group's clients has which.  Few
    assignments of clients to groups are all visited; many too, unless the round is affine in the assignment.
    """
    scheme, shapes = _generic(algorithm, M, d, weights, phi), dict(layout)
    x, given, draws = scheme.generic(number, shapes)
    if len(draws.drawn) > 1:
        raise ValueError(f"{type(algorithm).__name__} draws clients twice in a round: expected one order")
    if not draws.drawn:
        return ChoiceLaw.of([tuple(range(M))])
    ((clients, sampled),) = draws.drawn
    if sampled == 1:
        return ChoiceLaw.of((m,) for m in range(clients))

    def results(orders: Any, number: int = number) -> list[Array]:
        """The next z, and the drift, for each order."""
        one = ChoiceLaw(np.array(orders), None, np.ones(len(orders)))
        found = scheme.run(one, number, x, shapes, slopes=True, **given)
        return [found.z.reshape(len(orders), -1), (found.moved[0] ** 2).sum((1, 2))]

    plain = results([range(clients)])

    def same(found: Sequence[Array], expected: Sequence[Array]) -> NDArray[np.bool_]:
        """Whether z and drift are the same, up to rounding: a number that is none is another."""
        off = [
            np.abs(one - other).max(1) <= LINEAR * np.abs(own).max()
            for one, other, own in zip(found, expected, plain, strict=True)
        ]
        return np.asarray(off[0] & off[1])

    swapped = [[*range(s), s + 1, s, *range(s + 2, clients)] for s in range(sampled - 1)]
    differs = ~same(results(swapped), plain) if swapped else np.zeros(0, dtype=bool)
    sizes = np.diff([0, *(1 + np.flatnonzero(differs)), sampled]).tolist()
    count = factorial(clients) // prod(map(factorial, (*sizes, clients - sampled)))
    if count > max(_FEW, 2 * len(sizes) * clients):
        affine, weigh = affine_basis(clients, sizes)
        orders = [np.random.default_rng(seed).permutation(clients) for seed in (1, 2, 3)]
        basis, others = results(affine.orders), results(orders)
        if same(others, [weigh(orders) @ values for values in basis]).all():
            return affine
    return ChoiceLaw.of(assignments(tuple(range(clients)), sizes))


@lru_cache(maxsize=256)
def _steady(
    algorithm: Any, M: int, d: int, weights: Any, phi: float | None, layout: tuple[tuple[str, Any], ...]
) -> bool:
    """Whether rounds with other numbers do the same, with the same draws."""
    scheme, shapes = _generic(algorithm, M, d, weights, phi), dict(layout)
    law = coins_of(scheme.problem, algorithm) or ChoiceLaw.of([tuple(range(M))])
    x, given, _ = scheme.generic(0, shapes)
    first, *others = (scheme.run(law, number, x, shapes, slopes=True, **given).z for number in (0, 1, 2, 5))
    return all((np.abs(other - first) <= LINEAR * np.abs(first).max()).all() for other in others)


@lru_cache(maxsize=256)
def _turns(algorithm: Any, M: int, d: int, weights: Any, phi: float | None) -> bool:
    """Whether a round in turned coordinates is the turned round: tried on one input without any structure."""
    basis = np.linalg.qr(np.cos(np.arange(d * d) ** 2).reshape(d, d))[0]
    straight, turned = (_generic(algorithm, M, d, weights, phi, some) for some in (None, basis))
    law = coins_of(straight.problem, algorithm) or ChoiceLaw.of([tuple(range(M))])
    if straight.masks is not None and any(np.ptp(moments) > 0 for moments in straight.masks):
        return False  # the entries of a mask differ
    layout: Layout = {}
    for number in (0, 1):
        x, *_ = straight.generic(number, layout)
        first = straight.run(law, number, x, layout, slopes=True, noise=any_noise)
        other = turned.run(law, number, x @ basis, layout, slopes=True, noise=lambda *at: any_noise(*at) @ basis)
        if not (np.abs(first.z @ basis - other.z) <= LINEAR * np.abs(first.z).max()).all():
            return False
        layout = first.layout
    return True


def _first_linear(schemes: Iterable[_Scheme], of: Callable[[_Scheme], Found]) -> Found:
    """What is asked of the first scheme whose parts are independent.  Raises NotLinear if there is none."""
    *several, last = schemes
    for scheme in several:
        with suppress(NotLinear):
            return of(scheme)
    return of(last)


def _lasting(problem: Problem, algorithm: Algorithm) -> int:
    """Rounds that share one choice of clients."""
    return problem.M // algorithm.participants(problem) if isinstance(algorithm, RCP) else 1


def _period(problem: Problem, algorithm: Algorithm) -> int:
    """Rounds after which the algorithm does the same again."""
    match algorithm:
        case AmplifiedFedAvg():
            return lcm(algorithm.groups, algorithm.period or algorithm.groups)
        case CyCP():
            return algorithm.groups
        case BVRLSGD():
            return algorithm.stage
    return _lasting(problem, algorithm)


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no recursion: no Quadratic, no linear round, no random mask, or too many choices of clients."""
    try:
        start = np.zeros(plain_of(problem).d)
        one = replace(algorithm, eta=0.3, **({"K": 1} if isinstance(algorithm, CentralSGD) else {}))  # type: ignore[type-var]
        refuse_misfits(problem, algorithm)

        def try_rounds(scheme: _Scheme) -> None:
            scheme.maps(1, scheme.maps(0, {}).layout)

        with np.errstate(all="ignore"):
            _first_linear(_in_parts(problem, one, start, np.array([0.3])), try_rounds)
    except ValueError as error:
        return str(error)
    return None


def expectation(
    problem: Quadratic | Regularised,
    algorithm: Algorithm,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    The arguments are those of `run`, without seeds and orders; the problem may be a regularised one.  Returns a Dataset over
    (step_size, round).  Raises ValueError for a problem that is no Quadratic, a compressor that is no random mask, a round
    that is not linear, more than 3000 choices of clients, a malformed request, and for more work than
    `fedtheory.simulations.checked` allows; NoSuchConstant if the problem does not have a constant that a recorded quantity
    needs.
    """
    plain_of(problem)

    one, steps = algorithm, 1
    if isinstance(algorithm, CentralSGD) and algorithm.K > 1:  # K steps, each with a client of its own
        one, steps = replace(algorithm, K=1), algorithm.K
        if refused := {"drift", "gap_average"} & set(record):
            raise ValueError(f"{', '.join(sorted(refused))} of SGD with K = {algorithm.K}: expected K = 1")

    affordable(f"{steps} x {rounds} steps", steps=float(steps) * rounds)

    def series(asked: Request, names: list[str]) -> dict[str, Array]:
        found = _first_linear(
            _in_parts(problem, one, asked.x0, asked.eta), lambda some: _series(some, steps * rounds, asked.ratio, names)
        )
        return {name: values[:, ::steps] for name, values in found.items()}

    return whole_run(problem, algorithm, series, engine.RECORDS, rounds=rounds, x0=x0, record=record, at=at,
                     average=average)  # fmt: skip


def _series(scheme: _Scheme, rounds: int, ratio: Array, names: Sequence[str]) -> dict[str, Array]:
    """The expected quantities (E, rounds + 1) by name, not finite from some round on if a step size diverges."""
    (B, p), E = scheme.blocks.start.shape, len(scheme.eta)
    lasting, period = _lasting(scheme.problem, scheme.algorithm), _period(scheme.problem, scheme.algorithm)
    first = scheme.maps(0, {})
    alike = not first.layout and period == 1
    later = {r: first if alike else scheme.maps(r, first.layout) for r in range(1, min(period, rounds) + 1)}
    probability = first.law.mean if lasting > 1 else np.ones(1)
    C = len(probability)
    if lasting > 1:  # each choice is a run of its own, until there is a new one
        first, later = _apart(first), {r: _apart(maps) for r, maps in later.items()}
    start, frame = Frame.of(scheme.eta, B * C, p, p), Frame.of(scheme.eta, B * C, first.z.shape[3], p)
    if period == 1:
        frame = _about_fixed_point(scheme, first, later.get(1, first))
    averages = "gap_average" in names
    made: dict[int, Recursion] = {}
    for r, maps in ({0: first} | later).items():
        made[r] = made[0] if r and alike else _recursion(scheme, maps, frame if r else start, frame)
        if averages and not (r and alike):
            made[r] = made[r].summing(frame.basis[:, :, :p], frame.centre[:, :, :p], ratio)

    forms = {name: np.repeat(form, C, axis=0) for name, form in scheme.blocks.forms().items()}
    chance = np.tile(probability, B)
    mean = np.repeat(scheme.blocks.start[None] / scheme.eta[:, None, None], C, axis=1)
    mean = np.concatenate([mean, mean], axis=-1) if averages else mean
    covariance, weight = np.zeros((*mean.shape, mean.shape[-1])), np.ones(E)
    found = {name: np.zeros((E, rounds + 1)) for name in names}
    size = scheme.eta[:, None, None]
    for first_ in (0, *range(1, rounds + 1, _AT_ONCE)):  # the first model has a frame of its own
        some = range(first_, min(first_ + _AT_ONCE, rounds + 1) if first_ else 1)
        means, covariances, averaged = [], [], []
        for r in some:
            if lasting > 1 and r % lasting == 0:
                mean, covariance = _merged(mean, covariance, probability)
            means.append(mean)
            covariances.append(covariance)
            if averages:
                share = size / weight[:, None, None]
                averaged.append((share * mean[..., -p:], share[..., None] ** 2 * covariance[..., -p:, -p:]))
                weight = 1 + ratio * weight
            if r == rounds:
                break
            recursion = made[(r - 1) % period + 1 if r else 0]
            if "drift" in names:
                second = second_moment(mean, covariance)
                found["drift"][:, r] = (second * recursion.drift).sum((-2, -1)) @ chance
            mean, covariance = recursion.after(mean, covariance)
        here = frame if first_ else start
        away, turn = here.centre[:, :, :p], here.basis[:, :, :p]
        n = turn.shape[-1]
        y, spread = np.stack(means)[..., :n], np.stack(covariances)[..., :n, :n]
        models = (
            size * (away + (turn @ y[..., None])[..., 0]),
            size[..., None] ** 2 * (turn @ spread @ turn.swapaxes(-1, -2)),
        )
        for name in set(names) - {"drift"}:
            second = second_moment(
                *([np.stack(part) for part in zip(*averaged, strict=True)] if name == "gap_average" else models)
            )
            found[name][:, some.start : some.stop] = ((second * forms[name]).sum((-2, -1)) @ chance).T
    return found


def _apart(maps: Maps) -> Maps:
    """Every choice as a part of its own: B C parts with one choice each."""
    apart: dict[str, Any] = {}
    for name in ("z", "noise", "moved", "shaken", "sent"):
        E, B, C, *shape = (values := getattr(maps, name)).shape
        apart[name] = values.reshape(E, B * C, 1, *shape)
    for name in ("heard", "of_noise"):
        apart[name] = np.repeat(getattr(maps, name), len(maps.law.mean), axis=1)
    return replace(maps, law=ChoiceLaw.of([(0,)]), **apart)


def _merged(mean: Array, covariance: Array, probability: Array) -> tuple[Array, Array]:
    """Mean (E, B C, n) and covariance over all C choices, at each of them."""
    C = len(probability)
    means = mean.reshape(len(mean), -1, C, mean.shape[-1])
    off = means - np.tensordot(means, probability, (2, 0))[:, :, None]
    second = covariance.reshape(*off.shape, -1) + off[..., :, None] * off[..., None, :]
    merged = np.tensordot(second, probability, (2, 0))
    return np.repeat(means[:, :, 0] - off[:, :, 0], C, axis=1), np.repeat(merged, C, axis=1)


def spectral_radius(problem: Quadratic | Regularised, algorithm: Algorithm) -> Array:
    """The factor per round (E,) by which expected squares shrink or grow in the long run, without noise.

    It is the spectral radius of the linear part of the recursion of E[z z'], with z relative to a fixed point, on the
    directions in which noise and messages can move z.  Below 1 all second moments converge at this linear rate; if noise or
    the slopes at x_star keep them away from 0, their limit is above 0.  Infinite if the recursion itself overflows.

    Raises ValueError as `expectation` does, for an algorithm whose rounds are not all alike, and for more than 64 such
    directions in a part of the problem.
    """
    algorithm.participants(problem)
    if isinstance(algorithm, CentralSGD) and algorithm.K > 1:
        return spectral_radius(problem, replace(algorithm, K=1)) ** algorithm.K
    if _period(problem, algorithm) > 1:
        raise ValueError(f"{type(algorithm).__name__} takes turns: expected an algorithm whose rounds are all alike")
    plain = replace(plain_of(problem), sigma=1.0)
    noisy = _with_plain(problem, plain)
    eta = np.atleast_1d(np.asarray(algorithm.eta, dtype=float))
    with np.errstate(over="ignore", invalid="ignore"):
        return _first_linear(_in_parts(noisy, algorithm, np.zeros(plain.d), eta), _radius)


def _radius(scheme: _Scheme) -> Array:
    first = scheme.maps(0, {})
    later = scheme.maps(1, first.layout) if first.layout else first
    frame = _about_fixed_point(scheme, first, later)
    recursion = _recursion(scheme, later, frame, frame)
    B, p = scheme.blocks.start.shape
    start = _recursion(scheme, first, Frame.of(scheme.eta, B, p, p), frame)
    basis = _reachable(start, recursion)  # (E, B, n, n)
    r = int((np.abs(basis).max(2) > 0).sum(-1).max())
    if r > _MOST_STATES:
        raise ValueError(f"{r} entries of z: expected at most {_MOST_STATES} for the eigenvalues of their products")
    i, j = np.triu_indices(r)
    images = []
    for a, b in zip(i, j, strict=True):
        one = basis[..., :, a, None] * basis[..., None, :, b]
        image = recursion.spreading(one if a == b else one + one.swapaxes(-1, -2))
        images.append((basis.swapaxes(-1, -2) @ image @ basis)[..., i, j])
    operator = np.stack(images, axis=-1)
    finite = np.asarray(np.isfinite(operator).all((-1, -2)))
    radius = np.abs(np.linalg.eigvals(np.where(finite[..., None, None], operator, 0.0))).max(-1)
    worst = np.where(finite, radius, np.inf).max(-1)
    return worst


def _reachable(first: Recursion, later: Recursion) -> Array:
    """An orthonormal basis (E, B, n, n), padded with 0, of the directions in which noise and messages can move y.

    After the first round from any model, y changes in these: by the second round, by noise, and by what is drawn.
    """
    E, B, _, n, _ = later.maps.shape
    found = np.zeros((E, B, n, n))
    begun = first.maps[:, :, :1]
    second = later.maps[..., 1:] @ begun
    second[..., :1] += later.maps[..., :1]
    second[:, :, :1] -= begun
    second[np.abs(second) <= ROUNDING * np.abs(begun).max((2, 3), keepdims=True)] = 0.0
    kinds = [second, first.maps[:, :, 1:], later.noise[:, :, None], first.noise[:, :, None]]
    kinds += [] if later.masks is None else [later.masks.sent]
    columns = [some.swapaxes(2, 3).reshape(E, B, n, -1) for some in kinds]
    scales = [np.abs(some).max((2, 3), keepdims=True, initial=0) for some in columns]
    start = np.concatenate(
        [some / np.where(most > 0, most, 1) for some, most in zip(columns, scales, strict=True)], axis=-1
    )
    for at in np.ndindex(start.shape[:2]):
        maps, some, rank = later.maps[at][..., 1:], start[at], -1
        if not (np.isfinite(maps).all() and np.isfinite(some).all()):
            found[at] = np.eye(n)
            continue
        basis = np.zeros((n, 0))
        while basis.shape[1] != rank:
            rank = basis.shape[1]
            # columns keep their sizes: a small one, made as large as the others, would be a direction of rounding
            left, values, _ = _singular(np.hstack([basis, some]))
            basis = left[:, values > LINEAR * values.max(initial=0)]
            images = np.concatenate(list(maps @ basis), axis=1)
            some = images / max(1.0, np.abs(images).max(initial=0))
        found[at][:, :rank] = np.eye(n) if rank == n else basis  # the first is exact
    return found
