"""Exact expectations of the quantities of lemmas on one round of SFL or PFL, from a fixed point x.

Every ordered sample of the clients is enumerated.  On quadratics vectors are linear forms of the noise, which is never
sampled; on functions whose curvature changes at 0, all outcomes of a two-valued noise are enumerated.  The same code
runs on floats and on fractions; with fractions every result is exact.

Laws of a round (`LAWS`): noise that is independent from step to step; `shared`: all clients draw the same; `biased`: every
gradient has the error (sigma, 0, ...); `one order`: always the clients 1 ... S, in this order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import permutations, product
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulations.exact.rational import Fraction, square_root

LAWS = ("independent", "shared", "biased", "one order")

Numbers = NDArray[Any]  # of floats, or of objects that are Fractions

_ABOUT_STAR = (
    "dist2",
    "dist2_next",
    "D_F",
    "inner_sum",
    "bias_sq",
    "star_sq",
    "bias_upto",
    "star_upto",
    "client_bias_sq",
)


def one_round(
    H: ArrayLike,
    b: ArrayLike,
    x: ArrayLike,
    *,
    K: int,
    S: int,
    eta: Any,
    sigma2: Any,
    sequential: bool,
    x_star: ArrayLike | None = None,
    bend: ArrayLike | None = None,
    law: str = "independent",
) -> Mapping[str, Any]:
    """Expectations over a round from x, of F_m(y) = y'H_m y / 2 + b_m'y with S of the M clients taking K steps each.

    H, b        (M, d, d) symmetric, (M, d)
    x, x_star   (d,); x_star must be a stationary point of F; None leaves out the quantities marked *
    eta         learning rate
    sigma2      E||g - grad F_m||^2, spread evenly over the coordinates
    sequential  SFL: a client begins at the end of the previous one; otherwise PFL: all begin at x, the ends are averaged
    bend        (M,), in one dimension: F_m(y) has the extra term bend_m max(y, 0)^2 / 2, and the noise is +-sigma
    law         one of `LAWS`

    If any of H, b, x, x_star is an array of objects (Fractions), all numbers are read and returned as Fractions.

    Returns numbers by name, each computed when it is first read; sums run over all steps (m, k), m = 1..S, k = 0..K-1;
    pi_m is the m-th client of the order, g its stochastic gradient, x+ the end of the round; expectations are over the
    order and the noise:

    dist2*, dist2_next*   ||x - x_star||^2, E||x+ - x_star||^2
    D_F*                  F(x) - F(x_star) - <grad F(x_star), x - x_star>
    grad_sq, descent      ||grad F(x)||^2, E[F(x+) - F(x)]
    E_r or Ecal_r         the drift: SFL sum E||x_mk - x||^2 (33); PFL 1/S of that sum (68)
    inner_sum*            sum E<grad F_pi_m(x_mk), x - x_star>
    cross_sum             sum E<grad F(x), grad F_pi_m(x_mk)>
    local_grad_sq         sum E||grad F_pi_m(x_mk)||^2
    mean_grad_sq          E||sum grad F_pi_m(x_mk)||^2
    step_sq, noise_sq     E||sum g||^2, E||sum (g - grad F_pi_m(x_mk))||^2
    move_sq               E||sum (grad F_pi_m(x_mk) - grad F_pi_m(x))||^2
    tracked_sq            E||sum (grad F(x) + grad F_pi_m(x_mk) - grad F_pi_m(x))||^2
    bias_sq*, star_sq*    E||sum (grad F_pi_m(x) - grad F_pi_m(x_star))||^2, E||sum grad F_pi_m(x_star)||^2

    and mappings from (m, k) to numbers, where "upto" runs over the steps that lead from x to x_mk: for SFL all those of
    the clients before m and j < k of client m, as in (35); for PFL j < k of client m alone:

    drift_mk               E||x_mk - x||^2
    B_mk                   the number of those steps: (m-1) K + k for SFL, k for PFL
    noise_upto             sum of E||g - grad F_pi_i(x_ij)||^2
    move_upto, bias_upto*  sums of E||grad F_pi_i(x_ij) - grad F_pi_i(x)||^2 and of client_bias_sq
    star_upto*             E||sum of grad F_pi_i(x_star)||^2: the norm of the sum, unlike the three before it
    T_1                    E||sum of (grad F_pi_i(x) - grad F(x))||^2, as above (53)
    client_bias_sq*        E||grad F_pi_m(x) - grad F_pi_m(x_star)||^2 (36), the same for all (m, k)

    Raises ValueError for shapes or numbers that do not fit, an H_m that is not symmetric, floats among Fractions, an
    x_star that is not stationary, or another law.
    """
    exact, given = _numbers(H, b, x, x if x_star is None else x_star, eta, sigma2, *([] if bend is None else [bend]))
    rate, variance = given[4][()], given[5][()]
    bends = given[6] if bend is not None else None
    round_ = _Round(*given[:4], eta=rate, sigma2=variance, K=K, S=S, sequential=sequential, bend=bends, law=law)
    round_.check(0 if exact else 1e-9, stationary=x_star is not None)
    return _Expectations(round_, x_star is not None)


def _numbers(*given: Any) -> tuple[bool, list[Numbers]]:
    """True and all as Fractions, if any is an array of objects; otherwise False and all as floats."""
    arrays = [np.asarray(item) for item in given]
    exact = any(array.dtype == object and array.ndim for array in arrays)
    if not exact:
        return False, [array.astype(float) for array in arrays]
    for entry in (entry for array in arrays for entry in array.ravel().tolist()):
        if not isinstance(entry, Rational):
            raise ValueError(f"{entry!r} among exact numbers: expected Fractions and whole numbers only")
    return True, [np.asarray(np.frompyfunc(Fraction, 1, 1)(array.astype(object)), dtype=object) for array in arrays]


class _Step(NamedTuple):
    """One local step of client pi_m; its vectors are forms of the noise."""

    place: tuple[int, int]  # (m, k)
    point: Numbers  # x_mk
    gradient: Numbers  # grad F_pi_m(x_mk)
    noise: Numbers  # g - grad F_pi_m(x_mk)
    at_x: Numbers  # grad F_pi_m(x)
    at_star: Numbers  # grad F_pi_m(x_star)


@dataclass(frozen=True, eq=False)
class _Round:
    """One round from x, in numbers of one type.

    The S K noise vectors xi_j are independent, of mean 0 and covariance sigma2/d I, unless the law says otherwise.  A
    linear form v + sum_j C_j xi_j is an array (d, 1 + S K d): v beside C_1, C_2 ...  With bends a form is an array
    (1, 2^(S K)): its values in the equally likely outcomes of the signs.
    """

    H: Numbers
    b: Numbers
    x: Numbers
    x_star: Numbers
    _: KW_ONLY
    eta: Any
    sigma2: Any
    K: int
    S: int
    sequential: bool
    bend: Numbers | None = None
    law: str = "independent"

    def check(self, tolerance: float, stationary: bool) -> None:
        """Raise ValueError for numbers or shapes that do not fit; `tolerance` is relative."""
        H, b, x, x_star = self.H, self.b, self.x, self.x_star
        if H.ndim != 3 or H.shape[1] != H.shape[2] or not H.size or b.shape != H.shape[:2] or x.shape != H.shape[1:2]:
            raise ValueError(f"H {H.shape}, b {b.shape}, x {x.shape}: expected (M, d, d), (M, d) and (d,)")
        if abs(H - H.swapaxes(1, 2)).max() > tolerance * abs(H).max():
            raise ValueError("H is not symmetric: expected symmetric matrices H_m")
        if not (1 <= self.S <= len(H) and self.K >= 1):
            raise ValueError(f"S = {self.S}, K = {self.K}: expected 1 <= S <= {len(H)} clients and K >= 1 steps")
        if not (self.eta > 0 and self.sigma2 >= 0):
            raise ValueError(f"eta = {self.eta}, sigma2 = {self.sigma2}: expected numbers, eta > 0 and sigma2 >= 0")
        if self.law not in LAWS:
            raise ValueError(f"law = {self.law!r}: expected one of {', '.join(LAWS)}")
        if x_star.shape != x.shape:
            raise ValueError(f"x_star of shape {x_star.shape}: expected {x.shape}")
        if self.bend is not None and (H.shape[1] != 1 or self.bend.shape != H.shape[:1]):
            raise ValueError(f"bend {self.bend.shape}, H {H.shape}: expected (M,) and (M, 1, 1)")
        slopes = np.stack([self.gradient(m, x_star) for m in range(len(H))])
        if stationary and abs(slopes.sum(0)).max() > tolerance * (
            abs(b).sum() + abs(H).sum() * (1 + abs(x_star).max())
        ):
            raise ValueError(f"x_star = {x_star.tolist()}: expected grad F(x_star) = 0, not {slopes.mean(0).tolist()}")

    def gradient(self, client: int, y: Numbers) -> Numbers:
        """grad F_client at a point (d,), or at a form."""
        slope = self.b[client] if y.ndim == 1 else self.constant(self.b[client])
        straight: Numbers = self.H[client] @ y + slope
        return straight if self.bend is None else straight + self.bend[client] * np.where(y > 0, y, 0 * y)

    def value(self, y: Numbers) -> Any:
        """With bends: F, up to a constant, in every outcome."""
        clients = range(len(self.H))
        return sum((self.gradient(m, y) + self.constant(self.b[m])) * y / 2 for m in clients) / len(clients)

    def orders(self) -> Counter[tuple[int, ...]]:
        """The ordered samples of S clients, each with its number; equal clients count as the first of them."""
        if self.law == "one order":
            return Counter([tuple(range(self.S))])
        first: dict[Any, int] = {}
        parts = (self.H, self.b) if self.bend is None else (self.H, self.b, self.bend)
        functions = (
            tuple(number for part in parts for number in np.ravel(part[m]).tolist()) for m in range(len(self.H))
        )
        alike = [first.setdefault(function, m) for m, function in enumerate(functions)]
        if len({*alike}) == 1:
            return Counter([(0,) * self.S])
        return Counter(tuple(alike[m] for m in order) for order in permutations(range(len(self.H)), self.S))

    @cached_property
    def blank(self) -> Numbers:
        """The constant 0 as a form; without noise a form is a single column."""
        d, steps = len(self.x), self.S * self.K if self.sigma2 and self.law != "biased" else 0
        columns = 2**steps if self.bend is not None else 1 + steps * d
        return np.repeat(0 * self.x[:, None], columns, axis=1)

    def constant(self, v: Numbers) -> Numbers:
        """The constant v (d,) as a form."""
        form = self.blank.copy()
        form[:, slice(None) if self.bend is not None else slice(1)] = v[:, None]
        return form

    @cached_property
    def noises(self) -> list[Numbers]:
        """xi_j as forms, for every local step j of a round."""
        if not self.sigma2:
            return [self.blank] * (self.S * self.K)
        if self.law == "shared":
            return self.drawn[: self.K] * self.S
        if self.law == "biased":
            return [self.blank + self.constant(np.eye(1, len(self.x), dtype=int)[0] * self.sigma)] * (self.S * self.K)
        return self.drawn

    @property
    def sigma(self) -> Any:
        """The root of sigma2; ValueError for a fraction whose root is irrational."""
        return self.sigma2**0.5 if isinstance(self.sigma2, float) else square_root(self.sigma2, "sigma2")

    @cached_property
    def drawn(self) -> list[Numbers]:
        """Independent noise for every local step."""
        if self.bend is not None:
            sigma = self.sigma
            signs = np.array(list(product((1, -1), repeat=self.S * self.K)), dtype=int).T
            return [self.blank + own * sigma for own in signs]
        d = len(self.x)
        return [self.blank + np.eye(d, self.blank.shape[1], 1 + j * d, dtype=int) for j in range(self.S * self.K)]

    @cached_property
    def fixed(self) -> tuple[list[Numbers], list[Numbers]]:
        """The gradients of all clients at x and at x_star, as forms."""
        at_x, at_star = ([self.gradient(m, at) for m in range(len(self.H))] for at in (self.x, self.x_star))
        return [self.constant(g) for g in at_x], [self.constant(g) for g in at_star]

    def inner(self, one: Numbers, two: Numbers) -> Any:
        """E<one, two> of two forms."""
        if self.bend is not None:
            return one[0] @ two[0] / one.size
        fixed = one[:, 0] @ two[:, 0]
        if one.shape[1] == 1:
            return fixed
        return fixed + self.sigma2 / len(self.x) * (one[:, 1:].ravel() @ two[:, 1:].ravel())

    def gap(self) -> Any:
        """With bends: F(x) - F(x_star)."""
        here, star = (self.value(self.constant(at)) for at in (self.x, self.x_star))
        return (here - star).sum() / here.size

    def square(self, form: Numbers) -> Any:
        """E||form||^2."""
        return self.inner(form, form)

    def total(self, forms: Iterable[Numbers]) -> Numbers:
        """The sum of the forms."""
        return sum(forms, self.blank)

    def walk(self, order: Sequence[int]) -> tuple[list[_Step], Numbers]:
        """The local steps of a round, in their order, and x+."""
        start = self.constant(self.x)
        steps: list[_Step] = []
        ends = [start]
        for m, client in enumerate(order, 1):
            local = ends[-1] if self.sequential else start
            at_x, at_star = self.fixed[0][client], self.fixed[1][client]
            for k in range(self.K):
                gradient, noise = self.gradient(client, local), self.noises[len(steps)]
                steps.append(_Step((m, k), local, gradient, noise, at_x, at_star))
                local = local - self.eta * (gradient + noise)
            ends.append(local)
        return steps, ends[-1] if self.sequential else self.total(ends[1:]) / self.S

    def quantities(self, order: Sequence[int]) -> dict[str, Callable[[], Any]]:
        """The quantities of `one_round` by name, for one order: functions that compute a number or a mapping."""
        steps, end = self.walk(order)
        square, inner, total = self.square, self.inner, self.total
        mean_H = self.H.sum(0) / len(self.H)
        start, full = self.constant(self.x), total(self.fixed[0]) / len(self.H)
        away, change = self.constant(self.x - self.x_star), end - start

        def placed(value: Callable[[_Step, Sequence[_Step]], Any]) -> dict[tuple[int, int], Any]:
            """The value at each step, from it and from the steps that lead to it."""
            first = [0 if self.sequential else place - step.place[1] for place, step in enumerate(steps)]
            return {step.place: value(step, steps[first[place] : place]) for place, step in enumerate(steps)}

        def drift() -> Any:
            return sum(square(s.point - start) for s in steps) / (1 if self.sequential else self.S)

        def gap() -> Any:
            return self.gap() if self.bend is not None else inner(away, mean_H @ away) / 2

        def descent() -> Any:
            if self.bend is not None:
                return (self.value(end) - self.value(start)).sum() / end.size
            return inner(full, change) + inner(change, mean_H @ change) / 2

        def move(step: _Step) -> Any:
            return square(step.gradient - step.at_x)

        def bias(step: _Step) -> Any:
            return square(step.at_x - step.at_star)

        return {
            "dist2": lambda: square(away),
            "dist2_next": lambda: square(away + change),
            "D_F": gap,
            "grad_sq": lambda: square(full),
            "descent": descent,
            "E_r" if self.sequential else "Ecal_r": drift,
            "inner_sum": lambda: inner(away, total(s.gradient for s in steps)),
            "cross_sum": lambda: inner(full, total(s.gradient for s in steps)),
            "local_grad_sq": lambda: sum(square(s.gradient) for s in steps),
            "mean_grad_sq": lambda: square(total(s.gradient for s in steps)),
            "step_sq": lambda: square(total(s.gradient + s.noise for s in steps)),
            "noise_sq": lambda: square(total(s.noise for s in steps)),
            "move_sq": lambda: square(total(s.gradient - s.at_x for s in steps)),
            "tracked_sq": lambda: square(total(full + s.gradient - s.at_x for s in steps)),
            "bias_sq": lambda: square(total(s.at_x - s.at_star for s in steps)),
            "star_sq": lambda: square(total(s.at_star for s in steps)),
            "drift_mk": lambda: placed(lambda step, before: square(step.point - start)),
            "B_mk": lambda: placed(lambda step, before: len(before)),
            "noise_upto": lambda: placed(lambda step, before: sum(square(s.noise) for s in before)),
            "move_upto": lambda: placed(lambda step, before: sum(map(move, before))),
            "bias_upto": lambda: placed(lambda step, before: sum(map(bias, before))),
            "star_upto": lambda: placed(lambda step, before: square(total(s.at_star for s in before))),
            "T_1": lambda: placed(lambda step, before: square(total(s.at_x - full for s in before))),
            "client_bias_sq": lambda: placed(lambda step, before: bias(step)),
        }


class _Expectations(Mapping[str, Any]):
    """The quantities of `one_round` by name, over all orders; each is computed once, when it is first read.

    about_star  whether there are those about x_star
    """

    def __init__(self, round_: _Round, about_star: bool) -> None:
        self.zero, orders = 0 * round_.eta, round_.orders()
        self.shares = [(self.zero + times) / sum(orders.values()) for times in orders.values()]
        self.by_order = [round_.quantities(order) for order in orders]
        self.names = [name for name in self.by_order[0] if about_star or name not in _ABOUT_STAR]
        self.known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.known:
            values = [quantities[name]() for quantities in self.by_order]
            self.known[name] = (
                {place: self._mean([value[place] for value in values]) for place in values[0]}
                if isinstance(values[0], dict)
                else self._mean(values)
            )
        return self.known[name]

    def _mean(self, values: Sequence[Any]) -> Any:
        return sum((share * value for share, value in zip(self.shares, values, strict=True)), self.zero)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
