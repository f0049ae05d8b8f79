"""Exact expectations over the first rounds of FedCOM and FedCOMGATE, in fractions, in one dimension.

On quadratics, f_j(w) = h_j w^2 / 2 + b_j w, every number of a round is a linear form of the state before the round and
of the round's own noises xi_j^(c).  The state is 1, w, the gradient trackings delta_j and, from the previous round, the
sums g_j of the gradients and n_j of their noise.  The noises are independent, of mean 0 and variance sigma^2.  Second
moments of forms need only second moments of the state, and these follow a recursion.

A message is Q(x) = Z x with a random coin Z, E Z = 1, E Z^2 = 1 + q.  Its mean is x, and it adds q times a second moment
of the x_j: E[Q(x_i) Q(x_j)] = E[x_i x_j] + q E[x_i x_j] if i and j have the same coin, and E[Q(x_i) y] = E[x_i y] if y is
independent of the coin.  Only these moments of noises and coins matter, and nothing is sampled.

On functions with another curvature for w > 0, f_j(w) = h_j w^2 / 2 + bend_j max(w, 0)^2 / 2 + b_j w, the laws matter: a
noise is sigma or -sigma; a coin Z is 1 + q with probability 1/(1+q), else 0.  Then the state is a list of outcomes, and a
random number is a linear form of their indicators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, product
from math import prod
from typing import Any

from simulations.exact.rational import Fraction, square_root

Key = tuple[str, int, int]  # an entry of the state, or a noise ("xi", client, step)
Form = Mapping[Key, Fraction]
Moments = Mapping[Key, Mapping[Key, Fraction]]  # E[a b] of entries of the state; 0 where missing

ONE: Key = ("1", 0, 0)
W: Key = ("w", 0, 0)
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Run:
    """R rounds of FedCOMGATE from w0 and delta_j = 0; all numbers are Fractions, all counts integers.

    h, b        f_j(w) = h_j w^2 / 2 + b_j w, one entry per client; h_j of either sign
    w0          the start, the same for every client
    sigma_sq    variance of a stochastic gradient
    q           variance factor of the compressor Q(x) = Z x
    shared      whether all clients have the same coin Z in a round; otherwise their coins are independent
    tau, R      local steps, rounds
    eta, gamma  local and global step size
    alpha       delta_j = delta_j + (alpha/tau) (Q(x_j) - mean of the messages): 1 as printed; 0 makes it FedCOM
    bend        f_j has the extra term bend_j max(w, 0)^2 / 2, one entry per client; () for quadratics
    common      whether all clients have the same noise in a step; otherwise their noises are independent
    turn        the mean of a stochastic gradient is turn times the gradient: 1 if it is unbiased

    Raises ValueError for counts below 1, no clients, a wrong number of slopes or bends, eta or gamma not positive, negative
    sigma_sq, q, alpha, or, with bends, a sigma_sq that is no square.
    """

    h: tuple[Fraction, ...]
    b: tuple[Fraction, ...]
    w0: Fraction
    sigma_sq: Fraction
    q: Fraction
    shared: bool
    tau: int
    eta: Fraction
    gamma: Fraction = Fraction(1)
    alpha: Fraction = Fraction(1)
    R: int = 1
    bend: tuple[Fraction, ...] = ()
    common: bool = False
    turn: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not self.h or len(self.h) != len(self.b) or len(self.bend) not in (0, self.m):
            raise ValueError(
                f"h = {self.h}, b = {self.b}, bend = {self.bend}: expected one of each per client, and a client"
            )
        if self.bend:
            square_root(self.sigma_sq, "sigma^2")  # the noise is sigma or -sigma
        if self.tau < 1 or self.R < 1:
            raise ValueError(f"tau = {self.tau}, R = {self.R}: expected whole numbers >= 1")
        if self.eta <= 0 or self.gamma <= 0:
            raise ValueError(f"eta = {self.eta}, gamma = {self.gamma}: expected positive step sizes")
        if min(self.sigma_sq, self.q, self.alpha) < 0:
            raise ValueError(f"sigma^2 = {self.sigma_sq}, q = {self.q}, alpha = {self.alpha}: expected none negative")

    @property
    def m(self) -> int:
        """Number of clients."""
        return len(self.h)

    @property
    def sigma(self) -> Fraction:
        """The root of sigma_sq; ValueError where it is irrational."""
        return square_root(self.sigma_sq, "sigma^2")

    @property
    def right(self) -> tuple[Fraction, ...]:
        """The second derivatives of the f_j for w > 0."""
        return tuple(h + more for h, more in zip(self.h, self.bend, strict=True)) if self.bend else self.h

    @property
    def curvatures(self) -> tuple[Fraction, ...]:
        """The second derivatives of all f_j, on either side of 0."""
        return self.h + self.right

    @property
    def mean(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of f, the mean of the f_j: its second derivatives for w < 0 and w > 0, and its slope at 0."""
        left, right, slope = (sum(numbers, _ZERO) / self.m for numbers in (self.h, self.right, self.b))
        return left, right, slope

    @property
    def minimum(self) -> Fraction | None:
        """The minimum of f; None where f is not bounded below."""
        return minimum(*self.mean)

    @property
    def minima(self) -> list[Fraction | None]:
        """The minima of the f_j."""
        return [minimum(*one) for one in zip(self.h, self.right, self.b, strict=True)]


def minimum(left: Fraction, right: Fraction, slope: Fraction) -> Fraction | None:
    """The minimum for this slope at 0 and these curvatures left and right of 0; None if there is none."""
    if any(h < 0 or (h == 0 and slope * side < 0) for side, h in ((-1, left), (1, right))):
        return None
    downhill = right if slope < 0 else left
    return -(slope**2) / (2 * downhill) if slope else _ZERO


# Linear forms and their second moments


def _sum(*parts: tuple[Fraction | int, Form]) -> dict[Key, Fraction]:
    """The linear combination of forms."""
    total: dict[Key, Fraction] = {}
    for factor, form in parts:
        if factor:
            for key, value in form.items():
                total[key] = total[key] + factor * value if key in total else factor * value
    return {key: value for key, value in total.items() if value}


def _mean(forms: Sequence[Form]) -> dict[Key, Fraction]:
    return _sum(*((Fraction(1, len(forms)), form) for form in forms))


@dataclass(frozen=True, eq=False)
class _Law:
    """E[a b] of linear forms of the state and of the round's noises."""

    state: Moments
    sigma_sq: Fraction

    def image(self, form: Form) -> dict[Key, Fraction]:
        """key -> E[form key], for all needed entries of the state and the form's own noises."""
        found: dict[Key, Fraction] = {}
        for key, value in form.items():
            if key[0] == "xi":
                found[key] = value * self.sigma_sq
                continue
            for other, moment in self.state.get(key, {}).items():
                found[other] = found[other] + value * moment if other in found else value * moment
        return found

    def product(self, one: Form, two: Form) -> Fraction:
        """E[one two]."""
        return _paired(self.image(one), two)

    def square(self, form: Form) -> Fraction:
        """E[form^2]."""
        return self.product(form, form)


def _paired(image: Form, form: Form) -> Fraction:
    return sum((value * image[key] for key, value in form.items() if key in image), _ZERO)


# A round


@dataclass(frozen=True, eq=False)
class _State:
    """The state before a round and the round's noises (1, w, delta_j, g_j, n_j, xi_j^(c)) as forms of a law's variables."""

    law: _Law
    one: Form
    w: Form
    delta: tuple[Form, ...]
    g: tuple[Form, ...]
    n: tuple[Form, ...]
    noise: Mapping[tuple[int, int], Form]

    def gradient(self, run: Run, j: int, at: Form) -> Form:
        """grad f_j at a random point."""
        straight = _sum((run.h[j], at), (run.b[j], self.one))
        if not run.bend:
            return straight
        return _sum((1, straight), (run.bend[j], {key: value for key, value in at.items() if value > 0}))

    def full_gradient(self, run: Run, at: Form) -> Form:
        """grad f at a random point."""
        return _mean([self.gradient(run, j, at) for j in range(run.m)])

    def value(self, run: Run) -> Fraction:
        """E f(w), where f(0) = 0."""
        slope = sum(run.b, _ZERO) / run.m
        return self.law.product(_sum((1, self.full_gradient(run, self.w)), (slope, self.one)), self.w) / 2


def _parts(run: Run, moments: Moments) -> _State:
    """The state on quadratics: the law's variables are the numbers of the state."""

    def parts(name: str) -> tuple[Form, ...]:
        return tuple({(name, j, 0): Fraction(1)} for j in range(run.m))

    noise = {(j, c): {("xi", 0 if run.common else j, c): Fraction(1)} for j in range(run.m) for c in range(run.tau)}
    law = _Law(moments, run.sigma_sq)
    return _State(law, {ONE: Fraction(1)}, {W: Fraction(1)}, parts("delta"), parts("g"), parts("n"), noise)


_Outcome = tuple[Fraction, ...]  # w, then the delta_j, the g_j and the n_j


def _outcomes(run: Run, states: Mapping[_Outcome, Fraction]) -> _State:
    """The state as several outcomes with these probabilities; a variable of the law is an outcome of state and noises."""
    drawn = run.tau if run.common else run.m * run.tau
    signs = list(product((-run.sigma, run.sigma) if run.sigma else (_ZERO,), repeat=drawn))
    keys: list[Key] = [("outcome", i, 0) for i in range(len(states) * len(signs))]
    chances = [chance / len(signs) for chance in states.values() for _ in signs]
    rows = [(*state, *noises) for state in states for noises in signs]

    def form(column: int) -> Form:
        return {key: row[column] for key, row in zip(keys, rows, strict=True) if row[column]}

    m = run.m
    law = _Law({key: {key: chance} for key, chance in zip(keys, chances, strict=True)}, run.sigma_sq)
    delta, g, n = (tuple(form(1 + part * m + j) for j in range(m)) for part in range(3))
    noise = {(j, c): form(1 + 3 * m + (0 if run.common else j * run.tau) + c) for j in range(m) for c in range(run.tau)}
    return _State(law, dict.fromkeys(keys, Fraction(1)), form(0), delta, g, n, noise)


def _begin(run: Run) -> _State:
    """The state before round 0."""
    if run.bend:
        return _outcomes(run, {(run.w0, *[_ZERO] * (3 * run.m)): Fraction(1)})
    return _parts(run, {ONE: {ONE: Fraction(1), W: run.w0}, W: {ONE: run.w0, W: run.w0**2}})


@dataclass(frozen=True, eq=False)
class _Client:
    """Client j in a round, as linear forms.

    points     w_j^(c), c = 0 ... tau-1
    gradients  g_j^(c) = grad f_j(w_j^(c))
    g_sum      sum_c g_j^(c)
    noise      sum_c of the noises
    stochastic sum_c of the stochastic gradients
    message    x_j = (w - w_j^(tau)) / eta, what the client compresses
    """

    points: tuple[Form, ...]
    gradients: tuple[Form, ...]
    g_sum: Form
    noise: Form
    stochastic: Form
    message: Form


def _client(run: Run, state: _State, j: int) -> _Client:
    """The local steps of client j = 0 ... m-1."""
    points, gradients, local = [], [], state.w
    for c in range(run.tau):
        gradient = state.gradient(run, j, local)
        points.append(local)
        gradients.append(gradient)
        local = _sum(
            (1, local), (-run.eta * run.turn, gradient), (-run.eta, state.noise[j, c]), (run.eta, state.delta[j])
        )
    noise = _sum(*((1, state.noise[j, c]) for c in range(run.tau)))
    message = _sum((1 / run.eta, state.w), (-1 / run.eta, local))
    g_sum = _sum(*((1, g) for g in gradients))
    stochastic = _sum((run.turn, g_sum), (1, noise))
    return _Client(tuple(points), tuple(gradients), g_sum, noise, stochastic, message)


def _mean_square(run: Run, law: _Law, messages: Sequence[Form]) -> Fraction:
    """E||(1/m) sum_j Q(x_j)||^2."""
    plain = law.square(_mean(messages))
    coins = plain if run.shared else sum(map(law.square, messages), _ZERO) / run.m**2
    return plain + run.q * coins


def _after(run: Run, state: _State, clients: Sequence[_Client]) -> _State:
    """The state before the next round."""
    return _outcomes(run, _next(run, state, clients)) if run.bend else _parts(run, _moments(run, state.law, clients))


def _next(run: Run, state: _State, clients: Sequence[_Client]) -> Mapping[_Outcome, Fraction]:
    """The states before the next round with their probabilities, over all coins."""
    p = 1 / (1 + run.q)
    faces = ((1 + run.q, p), (_ZERO, 1 - p)) if run.q else ((Fraction(1), Fraction(1)),)
    thrown = list(product(faces, repeat=1 if run.shared else run.m))
    found: dict[_Outcome, Fraction] = {}
    for key in state.one:
        x, delta, g, n = (
            [form.get(key, _ZERO) for form in forms]
            for forms in (
                [c.message for c in clients],
                state.delta,
                [c.g_sum for c in clients],
                [c.noise for c in clients],
            )
        )
        for coins in thrown:
            chance = prod((p for _, p in coins), start=state.law.state[key][key])
            sent = [Z * one for (Z, _), one in zip(coins * (run.m // len(coins)), x, strict=True)]
            mean = sum(sent, _ZERO) / run.m
            w = state.w.get(key, _ZERO) - run.eta * run.gamma * mean
            tracked = [d + run.alpha / run.tau * (one - mean) for d, one in zip(delta, sent, strict=True)]
            after = (w, *tracked, *g, *n)
            found[after] = found.get(after, _ZERO) + chance
    return found


def _moments(run: Run, law: _Law, clients: Sequence[_Client]) -> Moments:
    """The second moments of the state before the next round, on quadratics."""
    m, messages = run.m, [client.message for client in clients]
    # every new entry: its form with x_j for Q(x_j), and its coefficient of each Q(x_j)
    entries: dict[Key, tuple[Form, tuple[Fraction, ...]]] = {}

    def enter(key: Key, before: Form, parts: Iterable[Fraction] = ()) -> None:
        shares = tuple(parts) or (_ZERO,) * m
        entries[key] = _sum((1, before), *zip(shares, messages, strict=True)), shares

    enter(ONE, {ONE: Fraction(1)})
    enter(W, {W: Fraction(1)}, [-run.eta * run.gamma / m] * m)
    for j, client in enumerate(clients):
        if run.alpha and m > 1:
            rate = run.alpha / run.tau
            own = [rate * (Fraction(i == j) - Fraction(1, m)) for i in range(m)]
            enter(("delta", j, 0), {("delta", j, 0): Fraction(1)}, own)
        if m > 1:  # with one client, sums minus their mean are 0
            enter(("g", j, 0), client.g_sum)
            enter(("n", j, 0), client.noise)
    # E[x_i x_j] if i and j have the same coin, else 0
    among = [
        [law.product(x, y) if run.shared or i == j else _ZERO for j, y in enumerate(messages)]
        for i, x in enumerate(messages)
    ]
    images = {key: law.image(form) for key, (form, _) in entries.items()}
    state: dict[Key, dict[Key, Fraction]] = {key: {} for key in entries}
    for i, (key, (_, shares)) in enumerate(entries.items()):
        coins = [run.q * sum((s * moment for s, moment in zip(shares, row, strict=True)), _ZERO) for row in among]
        for other, (form, parts) in list(entries.items())[: i + 1]:
            moment = _paired(images[key], form)
            moment += sum((s * coin for s, coin in zip(parts, coins, strict=True) if s), _ZERO)
            if moment:
                state[key][other] = state[other][key] = moment
    return state


# The quantities of the statements


def compressed_rounds(run: Run) -> tuple[Mapping[str, Any], ...]:
    """Rounds r = 0 ... R-1 of a run: the quantities of the statements by name, each computed when it is first read.

    E is over all randomness.

    g_j^(c) = grad f_j(w_j^(c)), a tilde marks a stochastic gradient, g^(r) = grad f(w^(r)), means are over clients, sums
    over c = 0 ... tau-1.

    Of a round r:
    message_sq           E||mean Q(sum_c gt_j^(c))||^2, without gradient tracking
    tracked_message_sq   E||mean Q(sum_c (gt_j^(c) - delta_j))||^2, the messages of the algorithm
    inner                E<grad f(w^(r)), mean sum_c gt_j^(c)>
    grad_sq              E||g^(r)||^2
    grad_sq_sum          per client: sum_c E||g_j^(c)||^2;  grad_sq_sum_mean: mean over clients
    mean_grad_sq_sum     sum_c E||mean g_j^(c)||^2
    drift                per client and step: E||w_j^(c) - w^(r)||^2;  drift_sum: per client, drift_mean: mean
    direction_sq         mean E||sum_c dt_j^(c)||^2, with (65) for r >= 1, the stochastic gradients for r = 0
    next_move_sq         E||w^(r+1) - w^(r)||^2
    tracking_sq          mean E||delta_j^(r) - (grad f_j - grad f)(w^(r))||^2;  tracking_next: of round r+1
    descent              E[f(w^(r+1)) - f(w^(r))]
    gap_r, gap_next      E f(w^(r)) - min f, E f(w^(r+1)) - min f; missing where f is not bounded below
    mean_grad_sq_prev    mean_grad_sq_sum of the round before, 0 for r = 0

    Of rounds r >= 1 only: noise_sq, tracked_grad_sq (per client), move_sq, grad_sq_prev, drift_sum_prev (per client),
    drift_mean_prev.

    Of the first round, repeated in all: drift_start, grad_sq_start, start_sum, start_partial, het_start; f_gap,
    fj_gap_mean, dist_sq_mean where the minima (the minimisers) exist.

    Of rounds 0 ... r together, that is of a run with R = r+1: drift_total, direction_total (tau times direction_sq),
    move_total (tau^2 times move_sq), grad_sq_total (tau times grad_sq), mean_grad_sq_total (all rounds but the last),
    avg_grad_sq, gap_last.

    Quantities per client are mappings from (j,), per client and step from (j, c); j = 1 ... m, c = 0 ... tau-1.
    """
    rounds = [_Round(run)]
    for _ in range(run.R):
        rounds.append(_Round(run, rounds[-1]))
    start = _of_start(run, rounds[0])
    rows: list[_Row] = []
    for r in range(run.R):
        rows.append(_Row(_of_round(run, rounds[r], rounds[r + 1])))
        rows[r].add(start if r == 0 else {name: partial(_read, rows[0], name) for name in start})
        rows[r].add(_of_two_rounds(run, rounds[r], rows[r - 1]) if r else {})
        rows[r].add(_totals(run, rows[:]))
    return tuple(rows)


def compression_gap(run: Run) -> Fraction:
    """The least G_q of Assumption 5: the largest E||mean Q(x_j)||^2 - E||Q(mean x_j)||^2 over all messages of the run, or 0.

    Raises ValueError for own coins on quadratics, where the messages have moments and no values: a bend of 0 helps.
    """
    if run.shared or not run.q or run.m == 1:
        return _ZERO
    if not run.bend:
        raise ValueError(f"{run}: expected one coin for all clients, or a bend (0 for quadratics), to have G_q")
    now, gaps = _Round(run), [_ZERO]
    for _ in range(run.R):
        for key in now.state.one:
            x = [client.message.get(key, _ZERO) for client in now.clients]
            gaps.append(run.q * (sum((v * v for v in x), _ZERO) - sum(x, _ZERO) ** 2) / run.m**2)
        now = _Round(run, now)
    return max(gaps)


class _Row(Mapping[str, Any]):
    """Quantities by name, computed when they are first read by functions of the row."""

    def __init__(self, how: _How) -> None:
        self.how = dict(how)
        self.known: dict[str, Any] = {}

    def add(self, how: _How) -> None:
        """Further quantities, and others for some."""
        self.how.update(how)

    def __getitem__(self, name: str) -> Any:
        if name not in self.known:
            self.known[name] = self.how[name](self)
        return self.known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.how

    def __iter__(self) -> Iterator[str]:
        return iter(self.how)

    def __len__(self) -> int:
        return len(self.how)


_How = Mapping[str, Callable[[_Row], Any]]


class _Round:
    """A round; its state, clients and numbers are computed when they are first used."""

    def __init__(self, run: Run, before: _Round | None = None) -> None:
        self.run, self.before = run, before

    @cached_property
    def state(self) -> _State:
        """The state before the round."""
        return _begin(self.run) if self.before is None else _after(self.run, self.before.state, self.before.clients)

    @cached_property
    def clients(self) -> list[_Client]:
        """The clients' local steps."""
        return [_client(self.run, self.state, j) for j in range(self.run.m)]

    @cached_property
    def stochastic(self) -> list[Form]:
        """The sums of the clients' stochastic gradients."""
        return [client.stochastic for client in self.clients]

    @cached_property
    def full(self) -> Form:
        """grad f(w)."""
        return self.state.full_gradient(self.run, self.state.w)

    @cached_property
    def value(self) -> Fraction:
        """E f(w)."""
        return self.state.value(self.run)

    @cached_property
    def grad_sq(self) -> Fraction:
        """E||grad f(w)||^2."""
        return self.square(self.full)

    @cached_property
    def tracking_sq(self) -> Fraction:
        """mean E||delta_j - (grad f_j - grad f)(w)||^2."""
        state = self.state
        own = [state.gradient(self.run, j, state.w) for j in range(self.run.m)]
        errors = [_sum((1, delta), (1, self.full), (-1, g)) for delta, g in zip(state.delta, own, strict=True)]
        return sum(map(self.square, errors), _ZERO) / self.run.m

    def square(self, form: Form) -> Fraction:
        """E[form^2]."""
        return self.state.law.square(form)

    def mean_square(self, messages: Sequence[Form]) -> Fraction:
        """E||(1/m) sum_j Q(x_j)||^2."""
        return _mean_square(self.run, self.state.law, messages)


def _of_round(run: Run, now: _Round, later: _Round) -> _How:
    """The quantities of a round that every round has; direction_sq is that of the first round."""
    m, square = run.m, now.square

    def drift(row: _Row) -> Any:
        return {
            (j, c): square(_sum((1, point), (-1, now.state.w)))
            for j, client in enumerate(now.clients, 1)
            for c, point in enumerate(client.points)
        }

    how: dict[str, Callable[[_Row], Any]] = {
        "message_sq": lambda row: now.mean_square(now.stochastic),
        "tracked_message_sq": lambda row: now.mean_square([client.message for client in now.clients]),
        "next_move_sq": lambda row: (run.eta * run.gamma) ** 2 * row["tracked_message_sq"],
        "inner": lambda row: now.state.law.product(now.full, _mean(now.stochastic)),
        "grad_sq_sum": lambda row: {(j,): sum(map(square, c.gradients)) for j, c in enumerate(now.clients, 1)},
        "grad_sq_sum_mean": lambda row: sum(row["grad_sq_sum"].values()) / m,
        "mean_grad_sq_sum": lambda row: sum(
            square(_mean(step)) for step in zip(*(c.gradients for c in now.clients), strict=True)
        ),
        "drift": drift,
        "drift_sum": lambda row: {(j,): sum(row["drift"][j, c] for c in range(run.tau)) for j in range(1, m + 1)},
        "drift_mean": lambda row: sum(row["drift_sum"].values()) / m,
        "direction_sq": lambda row: sum(map(square, now.stochastic)) / m,
        "grad_sq": lambda row: now.grad_sq,
        "tracking_sq": lambda row: now.tracking_sq,
        "tracking_next": lambda row: later.tracking_sq,
        "descent": lambda row: later.value - now.value,
        "mean_grad_sq_prev": lambda row: _ZERO,
    }
    least = run.minimum
    if least is not None:
        how |= {"gap_r": lambda row: now.value - least, "gap_next": lambda row: later.value - least}
    return how


def _of_two_rounds(run: Run, now: _Round, before: _Row) -> _How:
    """The quantities of a round that need the round before."""
    m, square = run.m, now.square

    def relative(sums: Sequence[Form], j: int) -> Form:
        """(1/m) sum_i s_i - s_j for the sums s over the round before."""
        return {} if m == 1 else _sum((1, _mean(sums)), (-1, sums[j]))

    def gradients() -> list[Form]:
        return [_sum((1, c.g_sum), (1, relative(now.state.g, j))) for j, c in enumerate(now.clients)]

    def noises() -> list[Form]:
        return [_sum((1, c.noise), (1, relative(now.state.n, j))) for j, c in enumerate(now.clients)]

    def direction_sq(row: _Row) -> Any:
        return sum(square(_sum((1, g), (1, n))) for g, n in zip(gradients(), noises(), strict=True)) / m

    names = {
        "mean_grad_sq_prev": "mean_grad_sq_sum",
        "drift_sum_prev": "drift_sum",
        "drift_mean_prev": "drift_mean",
        "grad_sq_prev": "grad_sq",
        "move_sq": "next_move_sq",
    }
    return {
        "direction_sq": direction_sq,
        "tracked_grad_sq": lambda row: {(j,): square(g) for j, g in enumerate(gradients(), 1)},
        "noise_sq": lambda row: 2 * sum(map(square, noises())) / m,
        **{name: partial(_read, before, of) for name, of in names.items()},
    }


def _read(other: _Row, name: str, row: _Row) -> Any:
    """A quantity of another row."""
    return other[name]


def _of_start(run: Run, first: _Round) -> _How:
    """The quantities of the first round, under their names in all rounds."""
    m, square = run.m, first.square

    def apart() -> list[list[Form]]:
        return [[_sum((1, g), (-1, first.full)) for g in client.gradients] for client in first.clients]

    def partial_sums() -> list[list[Form]]:
        return [list(accumulate(steps, lambda one, two: _sum((1, one), (1, two)))) for steps in apart()]

    def drift_start(row: _Row) -> Any:
        points = [point for client in first.clients for point in client.points]
        return sum(square(_sum((1, point), (-1, first.state.w))) for point in points) / m

    how: dict[str, Callable[[_Row], Any]] = {
        "drift_start": drift_start,
        "grad_sq_start": lambda row: first.grad_sq,
        "start_sum": lambda row: sum(square(sums[-1]) for sums in partial_sums()) / m,
        "start_partial": lambda row: sum(square(form) for sums in partial_sums() for form in sums) / m,
        "het_start": lambda row: sum(square(steps[0]) for steps in apart()) / m,
    }
    least = run.minimum
    if least is not None:
        how["f_gap"] = lambda row: first.value - least
    lowest = [one for one in run.minima if one is not None]
    if len(lowest) == m:
        how["fj_gap_mean"] = lambda row: first.value - sum(lowest, _ZERO) / m
    if min(run.curvatures) > 0:
        curved = [(h if b >= 0 else right, b) for h, right, b in zip(run.h, run.right, run.b, strict=True)]
        how["dist_sq_mean"] = lambda row: sum((run.w0 + b / h) ** 2 for h, b in curved) / m
    return how


def _totals(run: Run, rows: Sequence[_Row]) -> _How:
    """Sums over the rounds so far."""

    def total(name: str, of: Iterable[_Row] = rows) -> Fraction:
        return sum((row[name] for row in of), _ZERO)

    how: dict[str, Callable[[_Row], Any]] = {
        "drift_total": lambda row: total("drift_mean"),
        "direction_total": lambda row: run.tau * total("direction_sq"),
        "move_total": lambda row: run.tau**2 * total("next_move_sq", rows[:-1]),
        "grad_sq_total": lambda row: run.tau * total("grad_sq"),
        "mean_grad_sq_total": lambda row: total("mean_grad_sq_sum", rows[:-1]),
        "avg_grad_sq": lambda row: total("grad_sq") / len(rows),
    }
    return how | ({"gap_last": lambda row: row["gap_next"]} if "gap_next" in rows[-1] else {})


__all__ = ["Run", "compressed_rounds", "compression_gap", "minimum"]
