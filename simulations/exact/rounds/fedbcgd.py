"""Exact expectations over one round of FedBCGD or FedBCGD+, in fractions, in one or two dimensions.

On quadratics, f_i(x) = x'H_i x / 2 + b_i'x, a client's points are affine in the noise of its steps.  So their means and
covariances are enough; they follow from powers of I - eta H_i.  On functions of one coordinate with another curvature for
x > 0, the noise of a step is sigma or -sigma, and all outcomes are enumerated.  The equally likely assignments of clients
to blocks are always enumerated.  Nothing is sampled.

With bends, perhaps of 0, a round can have another law (`LAWS`):

    shared      all clients draw the same noise                     rough    noise sigma where y is not x, shared
    biased      every gradient has the error sigma                  curved   noise rho (y - x), shared
    adrift      c is 1 more than the mean of the c_i                leaning  the error rho (y - x)
    one sample  always the first clients

The last three in the right column are for FedBCGD+, whose noise sigma cancels; rho is what beta leaves to a mini-batch.

The round is that of the proofs, with v the momentum and z = x + gamma v the auxiliary iterate:

    y <- y - eta s, T times from y = x;  G_(j) the mean over the K clients of client block j of the sum of their s_(j);
    v_next = lam v - eta G,  x_next = x + v_next,  z_next = z - alpha eta G

FedBCGD: s = g_i(y).  FedBCGD+: s = g_i(y) - g_i(x) + grad f_i(x) - c_i + c, where g_i(x) has the noise of g_i(y), so the
noise cancels; c_i becomes grad f_i(x) on the block that client i has sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from operator import mul

from simulations.exact.rational import Fraction, square_root

LAWS = ("independent", "shared", "biased", "one sample", "adrift", "rough", "curved", "leaning")

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]
Groups = tuple[tuple[int, ...], ...]  # the clients of each client block

_ZERO = Fraction(0)


def _dot(u: Vector, v: Vector) -> Fraction:
    return sum(map(mul, u, v), _ZERO)


def _square(v: Vector) -> Fraction:
    return _dot(v, v)


def _plus(u: Vector, v: Vector, factor: Fraction | int = 1) -> Vector:
    """u + factor v."""
    return tuple([a + factor * b for a, b in zip(u, v, strict=True)])


def _mean(vectors: Sequence[Vector]) -> Vector:
    return tuple([sum(entries, _ZERO) / len(vectors) for entries in zip(*vectors, strict=True)])


def _apply(A: Matrix, v: Vector) -> Vector:
    return tuple([_dot(row, v) for row in A])


def _product(A: Matrix, B: Matrix) -> Matrix:
    """Of symmetric matrices."""
    return tuple([tuple([_dot(row, column) for column in B]) for row in A])


def _trace(A: Matrix) -> Fraction:
    return sum([row[c] for c, row in enumerate(A)], _ZERO)


def _combined(A: Matrix, B: Matrix, factor: Fraction | int = 1) -> Matrix:
    """A + factor B."""
    return tuple([_plus(u, v, factor) for u, v in zip(A, B, strict=True)])


def _unit(d: int) -> Matrix:
    return tuple(tuple(Fraction(c == e) for e in range(d)) for c in range(d))


def curvatures(H: Matrix) -> Vector:
    """The eigenvalues of a symmetric matrix (d, d), d <= 2, ascending.  Raises ValueError where they are irrational."""
    if len(H) == 1:
        return H[0]
    middle, radius_sq = _trace(H) / 2, ((H[0][0] - H[1][1]) / 2) ** 2 + H[0][1] ** 2
    radius = square_root(radius_sq, "squared half the difference of the eigenvalues")
    return middle - radius, middle + radius


@dataclass(frozen=True)
class BlockRound:
    """A round from the state (x, v), and for FedBCGD+ the control variates; numbers are Fractions, counts integers.

    H, b      f_i(x) = x'H_i x / 2 + b_i'x, one of each per client; H_i (d, d) symmetric with rational eigenvalues, d <= 2
    beta      smoothness constant of every f_i: no curvature has a larger absolute value
    x, v      the model and the momentum, v = x - x_prev
    points    for each client the point a_i with c_i = grad f_i(a_i); empty: FedBCGD, which has no control variates
    sigma_sq  variance of a stochastic gradient, sigma^2 / d in every coordinate, the noises independent
    N, K      blocks (1, or d with one coordinate each), clients per block
    T, eta    local steps and their size
    lam       momentum of the server
    bend      in one dimension: f_i has the extra term bend_i max(x, 0)^2 / 2, one number per client; () for quadratics
    law       one of `LAWS`; another than independent needs bends

    Raises ValueError for another law, for shapes that do not fit, a matrix that is not symmetric or has irrational
    eigenvalues, a beta that is too small, N other than 1 and d, counts below 1, N K > M, negative sigma_sq, eta <= 0, lam
    outside [0, 1), or, with bends, a sigma_sq that is no square.
    """

    H: tuple[Matrix, ...]
    b: tuple[Vector, ...]
    beta: Fraction
    x: Vector
    v: Vector
    points: tuple[Vector, ...]
    sigma_sq: Fraction
    N: int
    K: int
    T: int
    eta: Fraction
    lam: Fraction
    bend: Vector = ()
    law: str = "independent"

    def __post_init__(self) -> None:
        d, M = self.d, self.M
        if self.law not in LAWS or not (self.bend or self.law == LAWS[0]):
            raise ValueError(f"law = {self.law!r}, bend = {self.bend}: expected one of {', '.join(LAWS)}, and bends")
        vectors = (*self.b, self.v, *self.points, *(row for H in self.H for row in H))
        if d not in (1, 2) or not M or len(self.b) != M or len(self.points) not in (0, M):
            raise ValueError(f"d = {d}, M = {M}: expected d <= 2, a client, and H, b (and points) for each client")
        if any(len(vector) != d for vector in vectors) or any(len(H) != d for H in self.H):
            raise ValueError(f"d = {d}: expected all vectors and matrices of this dimension")
        if self.bend and (d != 1 or len(self.bend) != M):
            raise ValueError(f"d = {d}, bend = {self.bend}: expected d = 1 and {M} bends")
        if self.bend:
            square_root(self.sigma_sq, "sigma^2")  # the noise is sigma or -sigma
        if any(H[0][-1] != H[-1][0] for H in self.H):
            raise ValueError(f"H = {self.H}: expected symmetric matrices")
        if not 0 < self.beta >= self.largest:
            raise ValueError(f"beta = {self.beta}: expected a positive number, at least {self.largest}")
        if self.N not in (1, d) or self.K < 1 or self.T < 1 or self.N * self.K > M:
            raise ValueError(
                f"N = {self.N}, K = {self.K}, T = {self.T}: expected N 1 or {d}, counts >= 1, N K <= M = {M}"
            )
        if self.sigma_sq < 0 or self.eta <= 0 or not 0 <= self.lam < 1:
            raise ValueError(
                f"sigma^2 = {self.sigma_sq}, eta = {self.eta}, lam = {self.lam}: expected >= 0, > 0, in [0, 1)"
            )

    def with_step(self, eta: Fraction) -> BlockRound:
        """The same round with another step size; keeps what is known of the problem.  Raises ValueError for eta <= 0."""
        if eta <= 0:
            raise ValueError(f"eta = {eta}: expected > 0")
        other = copy(self)
        object.__setattr__(other, "eta", eta)
        return other

    @property
    def d(self) -> int:
        """The dimension."""
        return len(self.x)

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.H)

    @property
    def noisy(self) -> bool:
        """Whether noise enters the round: sigma, which cancels in FedBCGD+."""
        return (bool(self.sigma_sq) and not self.points) or self.law in ("rough", "curved")

    @property
    def together(self) -> bool:
        """Whether all clients draw the same noise."""
        return self.law in ("shared", "rough", "curved")

    def error(self, y: Vector) -> Vector:
        """The size of the noise of a step at y, or, where gradients are biased, its error."""
        if self.law in ("curved", "leaning"):
            rho = self.beta - self.largest
            return tuple(rho * (there - here) for there, here in zip(y, self.x, strict=True))
        if self.points and (self.law not in ("rough", "biased") or y == self.x):
            return (_ZERO,)
        return (self.sigma,)

    @property
    def samples(self) -> list[Groups]:
        """The possible assignments of clients to blocks, equally likely."""
        every = list(assignments(range(self.M), self.K, self.N))
        return every[:1] if self.law == "one sample" else every

    @property
    def sigma(self) -> Fraction:
        """The root of sigma_sq; ValueError where it is irrational."""
        return square_root(self.sigma_sq, "sigma^2")

    @property
    def right(self) -> Vector:
        """With bends, the curvatures of the f_i for x > 0."""
        return tuple(H[0][0] + more for H, more in zip(self.H, self.bend, strict=True)) if self.bend else ()

    @cached_property
    def spectrum(self) -> Vector:
        """The curvatures of all f_i."""
        return tuple(value for H in self.H for value in curvatures(H)) + self.right

    @cached_property
    def alike(self) -> bool:
        """Whether all f_i have the same curvatures."""
        return len(set(self.H)) == 1 and len(set(self.bend)) <= 1

    @property
    def largest(self) -> Fraction:
        """The largest absolute curvature of any f_i."""
        return max(map(abs, self.spectrum))

    @cached_property
    def mu(self) -> Fraction:
        """The smallest curvature of any f_i, of either sign."""
        return min(self.spectrum)

    @cached_property
    def alpha(self) -> Fraction:
        """1/(1 - lam)."""
        return 1 / (1 - self.lam)

    @property
    def gamma(self) -> Fraction:
        """lam/(1 - lam)."""
        return self.lam * self.alpha

    @cached_property
    def z(self) -> Vector:
        """The auxiliary iterate."""
        return _plus(self.x, self.v, self.gamma)

    @cached_property
    def mean_H(self) -> Matrix:
        """The second derivative of f, the mean of the f_i; with bends, that for x < 0."""
        return tuple(_mean(rows) for rows in zip(*self.H, strict=True))

    @cached_property
    def mean_b(self) -> Vector:
        """The slope of f at 0."""
        return _mean(self.b)

    @cached_property
    def x_star(self) -> Vector | None:
        """The minimiser of f, 0 if f is constant; else None if there is none, or more than one."""
        H, b = self.mean_H, self.mean_b
        right = H[0][0] + self.mean_bend
        if not any(map(any, (*H, b))) and not right:
            return b
        if curvatures_positive(H) and right > 0:
            if self.d == 1:
                return (-b[0] / (right if b[0] < 0 else H[0][0]),)
            determinant = H[0][0] * H[1][1] - H[0][1] ** 2
            return (H[0][1] * b[1] - H[1][1] * b[0]) / determinant, (H[0][1] * b[0] - H[0][0] * b[1]) / determinant
        return None

    @cached_property
    def mean_bend(self) -> Fraction:
        """The extra curvature of f for x > 0."""
        return sum(self.bend, _ZERO) / self.M

    @cached_property
    def known(self) -> Mapping[str, Fraction]:
        """`constants`, without eta."""
        found = {name: Fraction(getattr(self, name)) for name in ("M", "N", "K", "T", "beta", "sigma_sq", "lam")}
        found |= {"S": Fraction(self.N * self.K), "alpha": self.alpha, "gamma": self.gamma}
        if self.mu > 0:
            found["mu"] = self.mu
        if self.alike:
            found["G_squared"] = sum((_square(_plus(b, self.mean_b, -1)) for b in self.b), _ZERO) / self.M
        return found

    def block(self, coordinate: int) -> int:
        """The block that a coordinate belongs to."""
        return coordinate if self.N > 1 else 0

    def gradient(self, i: int, y: Vector) -> Vector:
        """grad f_i(y)."""
        straight = _plus(_apply(self.H[i], y), self.b[i])
        return _plus(straight, _positive(y), self.bend[i]) if self.bend else straight

    def full_gradient(self, y: Vector) -> Vector:
        """grad f(y)."""
        return _plus(_plus(_apply(self.mean_H, y), self.mean_b), _positive(y), self.mean_bend)

    def value(self, y: Vector) -> Fraction:
        """f(y)."""
        bent = self.mean_bend * _square(_positive(y)) / 2
        return _dot(_apply(self.mean_H, y), y) / 2 + _dot(self.mean_b, y) + bent


def _positive(y: Vector) -> Vector:
    return tuple([max(entry, _ZERO) for entry in y])


def curvatures_positive(H: Matrix) -> bool:
    """Whether a symmetric matrix (d, d), d <= 2, is positive definite."""
    return _trace(H) > 0 and (len(H) == 1 or H[0][0] * H[1][1] > H[0][1] ** 2)


def constants(r: BlockRound) -> dict[str, Fraction]:
    """The values of the problem's and the settings' symbols; of sigma and G, the squares.

    mu is missing if an f_i is not strongly convex.  G_squared, the smallest G^2 of Assumption 4, is missing if the
    curvatures of the f_i differ, because then no G exists.
    """
    return {**r.known, "eta": r.eta}


# A client's round


@dataclass(frozen=True)
class _Client:
    """A client's local steps.

    means       E y, for the points y of the T gradients
    spreads     covariances of these points; () for a quadratic without noise
    gradients   E grad f_i(y)
    grad_sq     the sum of E||grad f_i(y)||^2
    direction   mean of the sum of its T steps s
    covariance  covariance of this sum
    sum_noise   trace of the covariance of the sum of the gradients grad f_i(y), without their own noise
    directions  with bends: the sum of its steps in every outcome of the noise, all equally likely
    sums        likewise that of the gradients grad f_i(y)
    """

    means: tuple[Vector, ...]
    spreads: tuple[Matrix, ...]
    gradients: tuple[Vector, ...]
    grad_sq: Fraction
    direction: Vector
    covariance: Matrix
    sum_noise: Fraction
    directions: tuple[Vector, ...] = ()
    sums: tuple[Vector, ...] = ()


def _client(r: BlockRound, i: int, shift: Vector) -> _Client:
    """Client i, whose steps are grad f_i(y) + shift + noise; the noise of FedBCGD+ cancels."""
    return _bent(r, i, shift) if r.bend else _straight(r, i, shift)


def _straight(r: BlockRound, i: int, shift: Vector) -> _Client:
    """On a quadratic: everything follows from the mean point, and from the effect of a step on earlier noise."""
    unit = _unit(r.d)
    A = _combined(unit, r.H[i], -r.eta)
    noise = r.sigma_sq / r.d if r.noisy else _ZERO
    zero, curved = _combined(unit, unit, -1), _product(r.H[i], r.H[i])
    y, total = r.x, tuple(0 * entry for entry in r.x)
    # After t steps y has the noise -eta (A^(t-1) xi_1 + ... + xi_t); the s add up to (x - y)/eta
    power, squares, sum_noise, grad_sq = unit, zero, _ZERO, _ZERO
    means, spreads, gradients = [], [], []
    for _ in range(r.T):
        means.append(y)
        gradients.append(r.gradient(i, y))
        grad_sq += _square(gradients[-1])
        step = _plus(gradients[-1], shift)
        y, total = _plus(y, step, -r.eta), _plus(total, step)
        if noise:
            spreads.append(_combined(zero, squares, r.eta**2 * noise))
            grad_sq += _trace(_product(curved, spreads[-1]))
            squares = _combined(squares, _product(power, power))
            without = _combined(power, unit, -1)
            sum_noise += noise * _trace(_product(without, without))
            power = _product(power, A)
    covariance = _combined(zero, squares, noise)
    return _Client(tuple(means), tuple(spreads), tuple(gradients), grad_sq, total, covariance, sum_noise)


def _bent(r: BlockRound, i: int, shift: Vector) -> _Client:
    """On a function whose curvature changes at 0: enumerates the outcomes of the noise."""
    points, gradients, directions = [], [], []  # of each outcome
    biased = r.law in ("biased", "leaning")
    for signs in product((-1, 1) if r.noisy and not biased else (int(biased),), repeat=r.T):
        y, path, slopes, total = r.x, [], [], tuple(0 * entry for entry in r.x)
        for sign in signs:
            path.append(y)
            slopes.append(r.gradient(i, y))
            step = _plus(_plus(slopes[-1], shift), r.error(y), sign)
            y, total = _plus(y, step, -r.eta), _plus(total, step)
        points.append(path)
        gradients.append(slopes)
        directions.append(total)
    means, spreads = zip(*(_moments(at) for at in zip(*points, strict=True)), strict=True)
    direction, covariance = _moments(directions)
    sums = [tuple(sum(entries, _ZERO) for entries in zip(*slopes, strict=True)) for slopes in gradients]
    _, of_sums = _moments(sums)
    return _Client(
        means,
        spreads,
        tuple(_mean(at) for at in zip(*gradients, strict=True)),
        sum((_square(g) for slopes in gradients for g in slopes), _ZERO) / len(gradients),
        direction,
        covariance,
        _trace(of_sums),
        tuple(directions),
        tuple(sums),
    )


def _moments(outcomes: Sequence[Vector]) -> tuple[Vector, Matrix]:
    """Mean and covariance of equally likely vectors of one entry."""
    mean = _mean(outcomes)
    return mean, ((_far(outcomes, [mean] * len(outcomes)),),)


def _from(client: _Client, point: Vector) -> Fraction:
    """The sum over steps of E||y - point||^2."""
    moved = sum((_square(_plus(y, point, -1)) for y in client.means), _ZERO)
    return moved + sum(map(_trace, client.spreads), _ZERO)


# The server's update


def assignments(clients: Sequence[int], K: int, N: int) -> Iterator[Groups]:
    """All ways to put N K of the clients into N ordered groups of K."""
    if N == 0:
        yield ()
        return
    for first in combinations(clients, K):
        rest = [i for i in clients if i not in first]
        for others in assignments(rest, K, N - 1):
            yield first, *others


def _sent(r: BlockRound, groups: Groups, vectors: Sequence[Vector]) -> Vector:
    """The vector whose block j is the mean of group j's vectors."""
    return tuple(sum((vectors[i][c] for i in groups[r.block(c)]), _ZERO) / r.K for c in range(r.d))


def _sent_covariance(r: BlockRound, groups: Groups, matrices: Sequence[Matrix]) -> Matrix:
    """The covariance of `_sent`; different blocks come from different clients."""

    def entry(c: int, e: int) -> Fraction:
        if r.block(c) != r.block(e):
            return _ZERO
        return sum((matrices[i][c][e] for i in groups[r.block(c)]), _ZERO) / r.K**2

    return tuple(tuple(entry(c, e) for e in range(r.d)) for c in range(r.d))


def _replaced(r: BlockRound, groups: Groups, i: int, old: Vector, new: Vector) -> Vector:
    """The new entries on the block that client i has sent, the old ones elsewhere."""
    return tuple(new[c] if i in groups[r.block(c)] else old[c] for c in range(r.d))


def block_round(r: BlockRound) -> dict[str, Fraction]:
    """The quantities of the statements by name, E over the sample and all noise.

    Of the state: gap, gap_x, gap_x_prev (f(z), f(x), f(x_prev) minus the minimum), dist_sq (z to x*), zx_sq, v_sq,
    grad_sq_x, grad_sq_z (of f), mean_grad_sq (at x, mean over clients), grad_sq_clients (at x, summed over clients).
    Samples of K, or K per block: sample_sq, block_sample_sq (squared mean gradient at x).
    Of the clients: drift_x, drift_z (E||y - x||^2, E||y - z||^2, summed over clients and the T points of the gradients),
    E_r (drift_z, mean), grad_sq_steps (E||grad f_i(y)||^2, summed), local_sum_sq (E||their sum over both||^2).
    Of the round: G_sq, G_mean_sq, inner (E<-G, z - x*>), inner_grad (E<grad f(z), -G>), gap_next, dist_next, v_next_sq.

    FedBCGD+ only: C_prev, C_r (mean E||c_i - grad f_i(x*)||^2, before and after), C_r_of_means (with ||E c_i - ...||^2),
    lag, lag_next (c_i from grad f_i at x, and after the round at x_next); with N = 1 also Xi, Xi_r (mean E||a_i - z||^2
    before the round, and after it with z_next for z, and x for a_i if client i has sent).

    Quantities that need x* are missing if f has no minimiser.
    """
    at_x = [r.gradient(i, r.x) for i in range(r.M)]
    controls = [r.gradient(i, a) for i, a in enumerate(r.points)]
    none = tuple(0 * entry for entry in r.x)
    shifts = _shifts(r, controls) or [none] * r.M
    clients = [_client(r, i, shift) for i, shift in enumerate(shifts)]
    found = _of_clients(r, clients, at_x)
    assigned = [_assigned(r, groups, clients, at_x, controls) for groups in r.samples]
    means, rows = [G for G, _ in assigned], [row for _, row in assigned]
    found |= {name: sum((row[name] for row in rows), _ZERO) / len(rows) for name in rows[0]}
    G, full_z = _mean(means), r.full_gradient(r.z)
    found |= {"G_mean_sq": _square(G), "inner_grad": -_dot(full_z, G), "grad_sq_z": _square(full_z)}
    if r.points:
        found["lag"] = _far(controls, at_x)
        if r.N == 1:
            found["Xi"] = _far(r.points, [r.z] * r.M)
    if r.x_star is None:
        del found["gap_next"]
        return found
    return found | _from_minimiser(r, r.x_star, found["gap_next"], G, at_x, controls)


def _shifts(r: BlockRound, controls: Sequence[Vector]) -> list[Vector]:
    """c - c_i for every client."""
    away = Fraction(r.law == "adrift")
    return [_plus(tuple([entry + away for entry in _mean(controls)]), c_i, -1) for c_i in controls]


def _of_clients(r: BlockRound, clients: Sequence[_Client], at_x: Sequence[Vector]) -> dict[str, Fraction]:
    """The quantities of the state and of the clients' local steps."""
    found = {
        "zx_sq": _square(_plus(r.z, r.x, -1)),
        "v_sq": _square(r.v),
        "grad_sq_x": _square(_mean(at_x)),
        "grad_sq_clients": sum(map(_square, at_x), _ZERO),
        "drift_x": sum((_from(one, r.x) for one in clients), _ZERO),
        "drift_z": sum((_from(one, r.z) for one in clients), _ZERO),
        "grad_sq_steps": sum((one.grad_sq for one in clients), _ZERO),
    }
    found |= {"mean_grad_sq": found["grad_sq_clients"] / r.M, "E_r": found["drift_z"] / (r.M * r.T)}
    sums = [_mean(one.gradients) for one in clients]
    found["local_sum_sq"] = (r.M * r.T) ** 2 * _square(_mean(sums)) + sum((one.sum_noise for one in clients), _ZERO)
    if r.together:  # the sums of different clients are not independent
        totals = [_mean(several) for several in zip(*(one.sums for one in clients), strict=True)]
        found["local_sum_sq"] = r.M**2 * sum(map(_square, totals), _ZERO) / len(totals)
    samples = [_mean(group) for group in combinations(at_x, r.K)][: 1 if r.law == "one sample" else None]
    found["sample_sq"] = sum(map(_square, samples), _ZERO) / len(samples)
    return found


def _assigned(
    r: BlockRound,
    groups: tuple[tuple[int, ...], ...],
    clients: Sequence[_Client],
    at_x: Sequence[Vector],
    controls: Sequence[Vector],
) -> tuple[Vector, dict[str, Fraction]]:
    """E G, and the quantities of the round, for one assignment of clients to blocks."""
    G, step = _sent(r, groups, [one.direction for one in clients]), r.alpha * r.eta
    if r.bend:
        directions = [clients[i].directions for i in groups[0]]
        sent = [_mean(several) for several in (zip(*directions, strict=True) if r.together else product(*directions))]
        rows = [_after(r, groups, one, at_x, controls) for one in sent]
        return G, {name: sum((row[name] for row in rows), _ZERO) / len(rows) for name in rows[0]}
    row = _after(r, groups, G, at_x, controls)
    if r.noisy:
        covariance = _sent_covariance(r, groups, [one.covariance for one in clients])
        noise = _trace(covariance)
        row["G_sq"] += noise
        row["v_next_sq"] += r.eta**2 * noise
        row["gap_next"] += step**2 / 2 * _trace(_product(r.mean_H, covariance))
        if r.x_star is not None:
            row["dist_next"] += step**2 * noise
    return G, row


def _after(
    r: BlockRound, groups: Groups, G: Vector, at_x: Sequence[Vector], controls: Sequence[Vector]
) -> dict[str, Fraction]:
    """The quantities of the round if the clients have sent G."""
    v_next, z_next = _plus(tuple(r.lam * v for v in r.v), G, -r.eta), _plus(r.z, G, -r.alpha * r.eta)
    row = {
        "block_sample_sq": _square(_sent(r, groups, at_x)),
        "G_sq": _square(G),
        "v_next_sq": _square(v_next),
        "gap_next": r.value(z_next),
    }
    if r.x_star is not None:
        row["dist_next"] = _square(_plus(z_next, r.x_star, -1))
    if r.points:
        x_next = _plus(r.x, v_next)
        new = [_replaced(r, groups, i, controls[i], at_x[i]) for i in range(r.M)]
        row["lag_next"] = _far(new, [r.gradient(i, x_next) for i in range(r.M)])
        if r.x_star is not None:
            row["C_r"] = _far(new, [r.gradient(i, r.x_star) for i in range(r.M)])
        if r.N == 1:
            row["Xi_r"] = _far([_replaced(r, groups, i, r.points[i], r.x) for i in range(r.M)], [z_next] * r.M)
    return row


def _from_minimiser(
    r: BlockRound, x_star: Vector, value_next: Fraction, G: Vector, at_x: Sequence[Vector], controls: Sequence[Vector]
) -> dict[str, Fraction]:
    """The quantities that need the minimiser; value_next is E f(z) after the round."""
    minimum, off = r.value(x_star), _plus(r.z, x_star, -1)
    points = {"gap": r.z, "gap_x": r.x, "gap_x_prev": _plus(r.x, r.v, -1)}
    found = {name: r.value(y) - minimum for name, y in points.items()}
    found |= {"gap_next": value_next - minimum, "dist_sq": _square(off), "inner": -_dot(G, off)}
    if r.points:
        at_star = [r.gradient(i, x_star) for i in range(r.M)]
        kept = [_mean([_replaced(r, groups, i, controls[i], at_x[i]) for groups in r.samples]) for i in range(r.M)]
        found |= {"C_prev": _far(controls, at_star), "C_r_of_means": _far(kept, at_star)}
    return found


def advanced(r: BlockRound) -> dict[BlockRound, Fraction] | None:
    """The states before the next round, with their probabilities; None if noise enters the round.

    Also None for control variates with several blocks: then a c_i is not a gradient at a single point.
    """
    if (r.points and r.N > 1) or r.noisy:
        return None
    clients = range(r.M)
    controls = [r.gradient(i, a) for i, a in enumerate(r.points)]
    shifts = _shifts(r, controls) or [tuple(0 * entry for entry in r.x)] * r.M
    directions = [_client(r, i, shifts[i]).direction for i in clients]
    samples = r.samples
    found: dict[BlockRound, Fraction] = {}
    for groups in samples:
        v = _plus(tuple(r.lam * entry for entry in r.v), _sent(r, groups, directions), -r.eta)
        points = tuple(r.x if i in groups[0] else a for i, a in enumerate(r.points))
        after = replace(r, x=_plus(r.x, v), v=v, points=points)
        found[after] = found.get(after, _ZERO) + Fraction(1, len(samples))
    return found


def _far(vectors: Sequence[Vector], others: Sequence[Vector]) -> Fraction:
    """The mean of ||u_i - v_i||^2."""
    return sum((_square(_plus(u, v, -1)) for u, v in zip(vectors, others, strict=True)), _ZERO) / len(vectors)


__all__ = [
    "LAWS",
    "BlockRound",
    "Groups",
    "Matrix",
    "Vector",
    "advanced",
    "assignments",
    "block_round",
    "constants",
    "curvatures",
]
