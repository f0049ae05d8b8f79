"""What the SFL paper sets up and shows: its listings, assumptions, partitions and figures, put to checks.

Algorithms.    The printed lines are executed as they stand, on quadratics, and compared with `simulations.algorithms`.
Assumptions.   An assumption is no claim; what can be checked is that it can be met with the certified constants of the
               problems used here, and that there is a problem on which no smaller constant would do.
Partitions.    Seeded partitions against the formulas; means over seeds with a confidence interval.
Figures.       Sentences on quadratics by exact expectations, sentences on bounds by exact arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import permutations, product
from typing import Any, cast

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.stats import t as student
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from bounds.grounds import (
    FAMILY,
    SAMPLES,
    Ground,
    Place,
    grounds,
    logistic,
    met,
    quadratic_ground,
    samples,
)
from bounds.listings import Carrier, KnownDraws, Line, Undefined, Unreadable, tree
from simulations import data, partitions
from simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from simulations.moments import expectation
from simulations.partitions import Partition
from simulations.problems import Array
from simulations.problems.quadratic import Quadratic, from_functions, generate
from simulations.problems.two_part import TwoPart
from theory import catalogue
from theory.notation import Expectation, Grad, Norm, Value
from theory.proofs.arithmetic import decide
from theory.proofs.instances import TOLERANCE, Values, interpret, sides, value_at
from theory.statement import Bound, Evidence, Listing, Order, Record, Relations, Statement, Status, Verdict, Words

CONFIDENCE = 0.999  # of the two-sided interval of a mean over seeds

# ---------------------------------------------------------------------------------------------------------------------
# Algorithms 1 and 2: the printed lines, executed


_LOOP = re.compile(r"for .*?(\w) = (\d+), (?:.*, )?(.+?)(?: in (sequence|parallel))? do")
_ASSIGNMENT = re.compile(r"(?:[a-z ]+: )?(x\S+) = (.+?)(?: if m = 1, (.+) if m > 1)?")
_FACTOR = re.compile(r"x\^\((?P<round>[^)]+)\)|x_\{(?P<local>[^}]+)\}|g_\{(?P<gradient>[^}]+)\}|(?P<eta>eta)"
                     r"|\(1/(?P<share>\w)\)|sum_(?P<sum>\w)|(?P<sign>[+-])")  # fmt: skip
_INDEX = re.compile(r"(pi_)?([A-Za-z])?\s*([+-]?\s*\d+)?")


@dataclass
class Machine(Carrier):
    """Carries out a listing: `for`, assignments to x^(.) and x_{.,.}, sums and products of these, eta and g_{.,.}.

    counts     M, K, R
    order      round -> the permutation pi of the clients 1..M
    gradient   (client, point (d,), round, k) -> stochastic gradient (d,)
    x          (r,) -> x^(r), (r, m, k) -> x_{m,k} of round r
    used       round -> the gradients that were taken
    """

    counts: Mapping[str, int]
    eta: float
    order: Callable[[int], Sequence[int]]
    gradient: Callable[[int, Array, int, int], Array]
    x: dict[tuple[int, ...], Array]
    used: dict[int, list[Array]] = field(default_factory=dict)
    pi: Sequence[int] | None = None

    def carry_out(self, line: Line, at: Mapping[str, int]) -> None:
        """A loop, a sampled permutation or an assignment.  Raises Undefined or Unreadable."""
        if loop := _LOOP.fullmatch(line.text):
            variable, first, last, manner = loop.groups()
            values = range(int(first), self._index(last, at) + 1)
            # What is done in parallel may be done in any order: backwards, so that no client can rely on the one before.
            for value in reversed(values) if manner == "parallel" else values:
                self.execute(line.body, {**at, variable: value})
        elif line.text == "sample a permutation pi_1, ..., pi_M of {1, ..., M}":
            self.pi = self.order(self._index("r", at))
        elif assignment := _ASSIGNMENT.fullmatch(line.text):
            target, first, otherwise = assignment.groups()
            later = otherwise is not None and self._index("m", at) > 1
            self.x[self._place(target, at)] = self._value(otherwise if later else first, at)
        elif not line.text.startswith("output: "):  # the output is read off x^(r)
            raise Unreadable(f"cannot read {line.text!r}")

    def _index(self, text: str, at: Mapping[str, int]) -> int:
        found = _INDEX.fullmatch(text.strip())
        if not found or not text.strip():
            raise Unreadable(f"cannot read the index {text!r}")
        permuted, name, number = found.groups()
        known = {**self.counts, **at}
        if name and name not in known:
            raise Undefined(f"{name} has no value")
        value = (known[name] if name else 0) + int((number or "0").replace(" ", ""))
        if not permuted:
            return int(value)
        if self.pi is None:
            raise Undefined("no permutation has been sampled")
        return self.pi[value - 1]

    def _place(self, text: str, at: Mapping[str, int]) -> tuple[int, ...]:
        found = _FACTOR.fullmatch(text)
        if found and found["round"]:
            return (self._index(found["round"], at),)
        if found and found["local"]:
            return (self._index("r", at), *(self._index(index, at) for index in found["local"].split(",")))
        raise Unreadable(f"cannot assign to {text!r}")

    def _value(self, text: str, at: Mapping[str, int]) -> Array:
        """A sum of products."""
        factors = list(_FACTOR.finditer(text))
        if re.sub(r"\s", "", "".join(f[0] for f in factors)) != re.sub(r"\s", "", text):
            raise Unreadable(f"cannot read {text!r}")
        summands: list[tuple[float, list[re.Match[str]]]] = [(1.0, [])]
        for factor in factors:
            if factor["sign"]:
                summands.append((float(f"{factor['sign']}1"), []))
            else:
                summands[-1][1].append(factor)
        return np.asarray(sum(sign * self._product(parts, at) for sign, parts in summands))

    def _product(self, factors: Sequence[re.Match[str]], at: Mapping[str, int]) -> Any:
        if not factors:
            return 1.0
        first, rest = factors[0], factors[1:]
        if first["sum"]:
            return sum(self._product(rest, {**at, first["sum"]: i}) for i in range(1, self._index("M", at) + 1))
        return self._factor(first, at) * self._product(rest, at)

    def _factor(self, factor: re.Match[str], at: Mapping[str, int]) -> Any:
        if factor["eta"]:
            return self.eta
        if factor["share"]:
            return 1 / self._index(factor["share"], at)
        if factor["gradient"]:  # g_{c,k}: the stochastic gradient of F_c at x_{m,k}
            client, k = (self._index(index, at) for index in factor["gradient"].split(","))
            r = self._index("r", at)
            g = self.gradient(client, self._known((r, self._index("m", at), k)), r, k)
            self.used.setdefault(r, []).append(g)
            return g
        return self._known(self._place(factor[0], at))

    def _known(self, place: tuple[int, ...]) -> Array:
        if place not in self.x:
            name = f"x^({place[0]})" if len(place) == 1 else f"x_{{{place[1]},{place[2]}}} of round {place[0]}"
            raise Undefined(f"{name} has no value")
        return self.x[place]


@dataclass(frozen=True, eq=False)
class Replay(KnownDraws):
    """A run of K local steps on a problem with known draws, all clients one after another in the order drawn."""

    K: int

    def order(self, r: int) -> tuple[int, ...]:
        """The permutation of the clients 1..M in a round."""
        return self.drawn(r, self.problem.M)

    def machine(self, listing: Listing) -> Machine:
        """The listing, carried out.  Raises Undefined or Unreadable."""
        counts = {"M": self.problem.M, "K": self.K, "R": self.rounds}
        machine = Machine(counts, self.eta, self.order, self.gradient, {(0,): self.start})
        machine.execute(tree(listing.lines), {})
        for r in range(1, self.rounds + 1):
            machine._known((r,))
        return machine

    def points(self, algorithm: Any) -> list[Array]:
        """x^(0) ... x^(R) of an algorithm of `simulations`."""
        return [x for x, _ in self.implemented(algorithm)]

    def reshuffled(self) -> list[Array]:
        """x^(0) ... x^(R) of SGD with random reshuffling on F_1 ... F_M, exact gradients, one step each."""
        found, problem = [self.start], cast(Quadratic, self.problem)
        for r in range(self.rounds):
            x = found[-1]
            for i in self.order(r):
                x = x - self.eta * (problem.H[i - 1] @ x + problem.b[i - 1])
            found.append(x)
        return found


@cache
def _replays() -> tuple[Replay, ...]:
    """Quadratics with noise in two dimensions, two to four clients, one to three steps; and without noise, K = 1."""
    build = partial(generate, 2, L=1.0, mu=0.2, zeta_star=1.0, delta=0.3)
    noisy = [Replay(build(M, sigma=0.5, seed=M), K) for M in (2, 3, 4) for K in (1, 2, 3)]
    return (*noisy, *(Replay(build(M, seed=M), 1) for M in (2, 3, 4)))


def listing(statement: Statement, full: bool, *, algorithm: Callable[..., Any]) -> Verdict:
    """The printed lines, executed on quadratics, against the implementation, step by step of the same draws.

    Besides: x^(r+1) - x^(r) is -eta times the sum (for PFL, the mean over clients of the sums) of the round's
    gradients; SFL with one exact step each is SGD with random reshuffling.
    """
    claim = statement.claim
    assert isinstance(claim, Listing)
    reshuffled = 0
    for replay in _replays():
        problem, K = replay.problem, replay.K
        where = f"M = {problem.M}, K = {K}, sigma = {problem.constants['sigma']:g}"
        try:
            machine = replay.machine(claim)
        except Undefined as error:
            return Verdict(Status.REFUTED, f"{where}: {error}", witness={"instance": where, "stops at": str(error)})
        except Unreadable as error:
            return Verdict(Status.OPEN, str(error))
        printed = [machine.x[r,] for r in range(replay.rounds + 1)]
        share = problem.M if algorithm is PFL else 1
        telescoped = [x - replay.eta * sum(machine.used[r]) / share for r, x in enumerate(printed[:-1])]
        compared = {
            "implementation": replay.points(algorithm(K=K, eta=replay.eta)),
            "telescoped sum of the gradients": [replay.start, *telescoped],
        }
        if algorithm is SFL and K == 1 and not problem.constants["sigma"]:
            compared["SGD with random reshuffling"] = replay.reshuffled()
            reshuffled += 1
        for name, other in compared.items():
            for r, (one, two) in enumerate(zip(printed, other, strict=True)):
                if not np.abs(one - two).max() <= 1e-12:
                    witness = {"problem": problem.provenance, "K": K, "eta": replay.eta, "round": r,
                               "listing": one.tolist(), name: two.tolist()}  # fmt: skip
                    return Verdict(Status.REFUTED, f"{where}: listing and {name} differ in round {r}", witness=witness)
    also = f"; with K = 1 and exact gradients, SGD with random reshuffling ({reshuffled} runs)" if reshuffled else ""
    return Verdict(
        Status.HOLDS,
        f"the printed lines, executed on {len(_replays())} runs on quadratics (M = 2, 3, 4, K = 1, 2, 3, all clients), "
        f"give the trajectories of simulations.algorithms.sfl.{algorithm.__name__}{also}; the averaged output is not "
        "compared",
    )


# ---------------------------------------------------------------------------------------------------------------------
# Split learning, biased gradients


@cache
def _network() -> TwoPart:
    dataset = data.scaled(data.load("breast_cancer"))
    return TwoPart(dataset, partitions.exdir(dataset.labels, 3, 1, 10.0, seed=0), hidden=3, batch=4)


def split_learning(statement: Statement, full: bool = False) -> Verdict:
    """SSL and SplitFed, by the messages of split learning, against SFL and PFL on the whole network, tau_m = K."""
    claim = statement.claim
    assert isinstance(claim, Words)
    for K in (1, 3):
        replay = Replay(_network(), K, eta=0.3, rounds=4)
        runs = {a.__name__: replay.points(a(K=K, eta=replay.eta)) for a in (SFL, PFL, SSL, SplitFed)}
        for r in range(replay.rounds + 1):
            letters = {f"x_{name}": run[r] for name, run in runs.items()}
            for side in sides(Relations(claim.formulas), letters):
                if not side.holds:
                    left, right = np.asarray(side.left).tolist(), np.asarray(side.right).tolist()
                    witness = {"K": K, "round": r, "left": left, "right": right}
                    return Verdict(Status.REFUTED, f"K = {K}, round {r}: {side.says} is false", witness=witness)
    return Verdict(
        Status.HOLDS,
        "two-layer network cut in two, 3 clients, batches of 4, K = 1 and 3, 4 rounds: the same parameters in every round "
        "where tau_m = K",
    )


@dataclass(frozen=True)
class Scalar:
    """F_m(x) = curvature x^2/2 + slope x in one dimension, in exact numbers."""

    curvature: Fraction
    slope: Fraction

    def value(self, x: Any) -> Any:
        """F_m(x)."""
        return self.curvature * x * x / 2 + self.slope * x

    def gradient(self, x: Any) -> Any:
        """F_m'(x)."""
        return self.curvature * x + self.slope


def _steps(clients: Sequence[Scalar], K: int, x: Fraction, eta: Fraction) -> dict[tuple[int, int], list[Any]]:
    """(m, k) -> the law of (f_pi_m, x_mk) over all orders.  Noise of mean zero changes no expected gradient here."""
    orders = list(permutations(clients))
    found: dict[tuple[int, int], list[Any]] = {}
    for order in orders:
        at = x
        for m, client in enumerate(order, 1):
            for k in range(K):
                found.setdefault((m, k), []).append((Fraction(1, len(orders)), {"f_pi_m": client, "x_mk": at}))
                at = at - eta * client.gradient(at)
    return found


def _federation(M: int, curved: bool = True) -> list[Scalar]:
    """M clients of slopes 1, -2, 3 ... and curvatures 1, 1/2, 1/3 ..., or all of curvature 1."""
    return [Scalar(Fraction(1, m if curved else 1), Fraction(m * (-1) ** (m + 1))) for m in range(1, M + 1)]


def _fraction(q: Any) -> Fraction:
    return Fraction(int(q.numerator), int(q.denominator))


def biased(statement: Statement, full: bool = False) -> Verdict:
    """E[grad f_pi_m(x_mk)] against grad F, exactly: against E[grad F(x_mk)] and against grad F(x)."""
    claim = statement.claim
    assert isinstance(claim, Words)
    (formula,) = claim.formulas
    letters = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    unequal = isinstance(formula, sympy.Ne)
    start, eta = Fraction(1, 3), Fraction(1, 5)

    def differences(clients: list[Scalar], K: int) -> Iterator[tuple[tuple[int, int], str, Fraction]]:
        M = len(clients)
        mean = Scalar(
            sum((c.curvature for c in clients), Fraction()) / M, sum((c.slope for c in clients), Fraction()) / M
        )
        values = {"F": mean, "x": start}
        left, right = formula.args
        rights = {"E[grad F(x_mk)]": Expectation(right), "grad F(x)": right.xreplace({letters["x_mk"]: letters["x"]})}
        for place, law in _steps(clients, K, start, eta).items():
            exact = partial(interpret, values=values, law=law, number=_fraction)
            for name, side in rights.items():
                yield place, name, exact(left) - exact(side)

    cases = list(product((2, 3, 4), (1, 2, 3)))
    for M, K in cases:
        for place, name, difference in differences(_federation(M), K):
            if (difference != 0) != (unequal and place != (1, 0)):
                witness = {
                    "M": M,
                    "K": K,
                    "m, k": place,
                    "x": start,
                    "eta": eta,
                    "curvatures": "1, 1/2, 1/3 ...",
                    "slopes": "1, -2, 3 ...",
                    f"E[grad f_pi_m(x_mk)] - {name}": difference,
                }
                return Verdict(Status.REFUTED, f"M = {M}, K = {K}, (m, k) = {place}: not as said", witness=witness)
    one_hessian = [d for M, K in cases for _, name, d in differences(_federation(M, curved=False), K) if name[0] == "E"]
    linear = [d for K in (1, 2, 3) for _, _, d in differences([Scalar(Fraction(0), Fraction(1))] * 3, K)]
    return Verdict(
        Status.HOLDS,
        "exact over all orders, clients of curvatures 1, 1/2 ... and slopes 1, -2 ..., M = 2..4, K = 1..3: at (1, 0) "
        "equal, at every other (m, k) different both from grad F(x) and from E[grad F(x_mk)]; not so for every problem: "
        f"for clients of one Hessian different from E[grad F(x_mk)] at {sum(d != 0 for d in one_hessian)} of "
        f"{len(one_hessian)} (m, k), for identical linear clients from either at {sum(d != 0 for d in linear)}",
    )


# ---------------------------------------------------------------------------------------------------------------------
# Assumptions: met, and sharp


def lower(statement: Statement, full: bool = False) -> Verdict:
    """F >= F* at seeded points and at x*, F(x*) = F*, where the certificates give x*."""
    assert isinstance(statement.claim, Relations)
    bounded = [g for g in grounds() if g.constants.get("x_star") is not None]
    places = (
        Place(g.name, {"F": g.F, "x": x, "F_star": g.constants["F_star"], "x_star": g.constants["x_star"]})
        for g in bounded
        for x in [g.constants["x_star"], *(x for x, _ in g.pairs)]
    )
    verdict = met(statement.claim, places, FAMILY)
    return replace(verdict, slack=None)  # F* is no bound that a factor could tighten


def _pairs(constant: str, letter: str, least: float) -> Iterator[Place]:
    """Every client at every pair of points, for the problems whose certified constant is at least `least`."""
    for g in grounds():
        value = g.constants.get(constant)
        if value is None or value < least:
            continue
        for m, client in enumerate(g.clients, 1):
            for x, y in g.pairs:
                yield Place(f"{g.name}, client {m}", {"F_m": client, "x": x, "y": y, letter: max(float(value), 0.0)})


def cases(statement: Statement, full: bool = False) -> Verdict:
    """D_{F_m}(x, y) >= (mu/2) ||x - y||^2 with the certified mu, 0 where a client is convex and no more."""
    assert isinstance(statement.claim, Relations)
    return met(statement.claim, _pairs("curvature", "mu", -1e-12), f"the convex ones of {FAMILY}")


def smooth(statement: Statement, full: bool = False) -> Verdict:
    """||grad F_m(x) - grad F_m(y)|| <= L ||x - y|| with the certified L."""
    assert isinstance(statement.claim, Relations)
    return met(statement.claim, _pairs("L", "L", 0.0), FAMILY)


def unbiased(statement: Statement, full: bool = False) -> Verdict:
    """The relation, the expectation over the samples enumerated."""
    assert isinstance(statement.claim, Relations)
    return met(statement.claim, samples(lambda _: {}), SAMPLES)


def variance(statement: Statement, full: bool = False) -> Verdict:
    """E ||grad f_m - grad F_m||^2 <= sigma^2 with the certified sigma."""
    assert isinstance(statement.claim, Relations)
    return met(statement.claim, samples(lambda problem: {"sigma": problem.constants["sigma"]}), SAMPLES)


def _by_client(claim: Relations) -> Relations:
    """F_m as one of a sequence of clients, so that the sum over m runs over them."""
    F_m = catalogue.paper("sfl").symbols["F_m"].sympy
    clients = sympy.IndexedBase("F_m", real=True)[catalogue.paper("sfl").symbols["m"].sympy]
    return Relations(tuple(r.xreplace({F_m: clients}) for r in claim.relations), claim.words)


def _lowest(f: Callable[[Array], float], d: int) -> Array:
    """The stationary point of a quadratic f on R^d, read off its values."""
    e, zero = np.eye(d), f(np.zeros(d))
    slope = np.array([f(u) - f(-u) for u in e]) / 2
    curvature = np.array([[f(u + v) - f(u) - f(v) + zero for v in e] for u in e])
    return np.asarray(-np.linalg.lstsq(curvature, slope, rcond=None)[0])


def heterogeneity(statement: Statement, full: bool = False) -> Verdict:
    """Assumption 3a with the certified (beta, zeta), also where the right side exceeds the left by least."""
    assert isinstance(statement.claim, Relations)
    claim = _by_client(statement.claim)
    places = []
    for g, M, d in _heterogeneous():
        values = {"F": g.F, "F_m": list(g.clients), "M": M, "beta": g.constants["beta"], "zeta": g.constants["zeta"]}

        def room(x: Array, values: Values = values) -> float:
            (side,) = sides(_by_client(_printed("sfl.asm.het_a")), {**values, "x": x})
            return float(side.right - side.left)

        worst = [_lowest(room, d)] if d <= 3 else []
        places += [Place(g.name, {**values, "x": x}) for x in [*worst, *(x for x, _ in g.pairs)]]
    return met(
        claim, places, "quadratics (d = 1, 3) and logistic regression, with beta = zeta = 0 for identical clients"
    )


@cache
def _heterogeneous() -> tuple[tuple[Ground, int, int], ...]:
    """(problem, M, d): Groups 2 to 4, identical clients and others in three dimensions, logistic regression."""
    quadratics = [
        *(from_functions(c, (1.0, -1.0), name=f"x^2/2 by {c}") for c in ((0.5, 0.5), (2 / 3, 1 / 3), (1.0, 0.0))),
        generate(3, 3, L=1.0, mu=0.2, seed=7),
        generate(3, 4, L=1.0, mu=0.3, zeta_star=0.7, delta=0.2, seed=8),
        generate(3, 5, L=2.0, mu=-0.2, zeta_star=2.0, delta=0.5, seed=9),
    ]
    found = [(quadratic_ground(q, seed), q.M, q.d) for seed, q in enumerate(quadratics)]
    return (*found, (grounds()[-1], logistic().M, logistic().d))


def _printed(id_: str) -> Relations:
    claim = catalogue.find(id_).claim
    assert isinstance(claim, Relations)
    return claim


def at_optimum(statement: Statement, full: bool = False) -> Verdict:
    """zeta_star by its definition; and (2) at x*, where grad F = 0, is zeta_star <= zeta: (3) is weaker."""
    assert isinstance(statement.claim, Relations)
    places = [
        Place(
            g.name,
            {"F_m": list(g.clients), "M": M, "x_star": g.constants["x_star"], "zeta_star": g.constants["zeta_star"]},
        )
        for g, M, _ in _heterogeneous()
    ]
    verdict = met(_by_client(statement.claim), places, "quadratics (d = 1, 3) and logistic regression")
    if verdict.status is not Status.HOLDS:
        return verdict
    # Assumption 3a at x = x*, where grad F = 0, its left side by the claim
    letters = {name: symbol.sympy for name, symbol in catalogue.symbols(statement).items()}
    squares, squared = statement.claim.relations[0].args
    gradient = Grad(letters["F"], letters["x_star"])
    implied = _printed("sfl.asm.het_a").relations[0].xreplace({letters["x"]: letters["x_star"]})
    for known in ({Norm(gradient): sympy.Integer(0)}, {gradient: sympy.Integer(0)}, {squares: squared}):
        implied = implied.xreplace(known)
    found = decide([cast(Boolean, implied)], sympy.Le(letters["zeta_star"], letters["zeta"]))
    if found.status is not Status.PROVED:
        return Verdict(Status.REFUTED, f"{implied} does not give zeta_star <= zeta", witness=dict(found.model))
    return replace(
        verdict,
        says=f"{verdict.says}; 3a at x = x* reads {implied}, hence zeta_star <= zeta: 3a gives 3b (z3), so 3b is weaker",
    )


# ---------------------------------------------------------------------------------------------------------------------
# Partitions


@dataclass(frozen=True)
class Dealt:
    """A partition in the letters of its statement, by client (`clients`) and by class (`classes`)."""

    clients: list[Values]
    classes: list[Values]


def _dealt(partition: Partition, **letters: float) -> Dealt:
    """Of a partition of `_LABELS`; proportions before rounding to whole samples, which may leave a client none."""
    counts = partition.counts(_LABELS)
    assert partition.proportions is not None
    owned = np.ones_like(counts, dtype=bool) if partition.owners is None else partition.owners
    whole = {"M": float(counts.shape[1]), **letters}
    return Dealt(
        [{**whole, "labels_m": float(n)} for n in (counts > 0).sum(axis=0)],
        [
            {**whole, "n_c": float(own.sum()), "p_c": list(p[own]), "m": 1.0}
            for p, own in zip(partition.proportions, owned, strict=True)
        ],
    )


_LABELS = np.repeat(np.arange(5), 60)  # 60 samples a class are divided equally by one to six owners
_ALPHA = 2.0


def _exdir(seed: int) -> Dealt:
    return _dealt(partitions.exdir(_LABELS, 6, 2, _ALPHA, seed), C=2.0, alpha=_ALPHA)


def _quantity(seed: int) -> Dealt:
    found = partitions.quantity(_LABELS, 6, 2, seed)
    return _dealt(replace(found, proportions=found.counts(_LABELS) / 60), C=2.0)  # of what was dealt out


def _dirichlet(seed: int) -> Dealt:
    return _dealt(partitions.dirichlet(_LABELS, 6, _ALPHA, seed), alpha=_ALPHA)


def partitioned(statement: Statement, full: bool, *, deal: Callable[[int], Dealt], seeds: int, family: str) -> Verdict:
    """Every formula of the claim on seeded partitions: in each, or, with an expectation, by the mean over them.

    An expectation is taken over all classes of all seeds with the same number of owners: given the owners, their
    proportions are independent.
    """
    claim = statement.claim
    assert isinstance(claim, Words)
    dealt = [deal(seed) for seed in range(seeds * (5 if full else 1))]
    classes = [c for one in dealt for c in one.classes]
    by_owners: dict[float, list[Values]] = {}
    for c in classes:
        by_owners.setdefault(c["n_c"], []).append(c)
    enough = {n: own for n, own in by_owners.items() if len(own) >= 100}
    intervals = 0
    for formula in claim.formulas:
        if formula.has(Expectation):
            for n, own in enough.items():
                off = _off(formula, own)
                intervals += 1
                if off is not None:
                    witness = {"n_c": n, "classes": len(own), **off}
                    return Verdict(
                        Status.REFUTED, f"{formula.lhs} = {formula.rhs} fails for {n:g} owners", witness=witness
                    )
            continue
        names = {s.name for s in formula.free_symbols}
        for letters in (c for one in dealt for c in (one.clients if "labels_m" in names else one.classes)):
            (side,) = sides(Relations((formula,)), letters)
            if not side.holds:
                shown = {name: np.asarray(v).tolist() for name, v in letters.items()}
                return Verdict(Status.REFUTED, str(side), witness=shown)
    statistics = f"; mean and variance inside {intervals} intervals of {CONFIDENCE:.1%}" if intervals else ""
    return Verdict(Status.HOLDS, f"{family}, {len(dealt)} seeds, {len(classes)} classes dealt out{statistics}")


def _off(formula: Relational, own: Sequence[Values]) -> dict[str, float] | None:
    """The two sides and the half-width of the interval, where the measured expectation is outside it."""
    values = {name: v for name, v in own[0].items() if name != "p_c"}
    law = [(1 / len(own), {"p_c": c["p_c"]}) for c in own]
    left, right = (value_at(side, values, law) for side in formula.args)
    half = 0.0
    if isinstance(formula.lhs, Expectation):
        each = [value_at(formula.lhs.args[0], {**values, "p_c": c["p_c"]}) for c in own]
        half = float(student.ppf((1 + CONFIDENCE) / 2, len(own) - 1) * np.std(each, ddof=1) / np.sqrt(len(own)))
    if abs(left - right) <= half + TOLERANCE:
        return None
    return {"left": float(left), "right": float(right), "half-width": half}


def _allocations(clients: int, classes: int, C: int, seeds: int) -> list[NDArray[np.bool_]]:
    """Who owns which class, (classes, clients), by seed.  Raises ValueError where no allocation is possible."""
    labels = np.repeat(np.arange(classes), max(40, clients))
    found = []
    for seed in range(seeds):
        owners = partitions.exdir(labels, clients, C, 10.0, seed).owners
        assert owners is not None
        found.append(owners)
    return found


def settings_of(statement: Statement) -> Mapping[str, Any]:
    assert isinstance(statement.claim, Record)
    return statement.claim.settings


def first_row(statement: Statement, full: bool = False) -> Verdict:
    """Figure 8, first row: with one label a client and as many clients as labels, is one result possible?"""
    settings = settings_of(statement)
    clients, classes = settings["clients in the first row"], settings["labels"]
    try:
        found = _allocations(clients, classes, 1, 50)
    except ValueError as error:
        return Verdict(Status.REFUTED, f"no such partition: {error}", witness={"clients": clients, "labels": classes})
    # Up to the clients' names a partition with one label each is how many clients own each label.
    renamed = {tuple(owners.sum(axis=1).tolist()) for owners in found}
    if len(renamed) > 1:
        one, two = sorted(renamed)[:2]
        witness = {"clients": clients, "labels": classes, "owners of each label": [one, two]}
        return Verdict(Status.REFUTED, f"{len(renamed)} results in 50 seeds, up to the clients' names", witness=witness)
    named = len({owners.tobytes() for owners in found})
    return Verdict(
        Status.HOLDS,
        f"first row, 50 seeds: every label goes whole to one client, so one result up to the clients' names, and {named} "
        "different ones with them; taken for granted is that no label is left without an owner, which the text does not "
        "say: without it two clients may draw the same label. The other rows: no alpha is in the text; not decided",
    )


def allocation(statement: Statement, full: bool = False) -> Verdict:
    """Figure 9: C of the classes to each client, every class to somebody, each client each class equally often."""
    settings = settings_of(statement)
    C, classes, clients = settings["C"], settings["classes"], settings["clients"]
    seeds = 2000 if full else 400
    try:
        found = _allocations(clients, classes, C, seeds)
    except ValueError as error:
        return Verdict(Status.REFUTED, f"no such allocation: {error}", witness={"settings": dict(settings)})
    owners = np.stack(found)
    if (owners.sum(axis=1) != C).any() or (owners.sum(axis=2) == 0).any():
        return Verdict(Status.REFUTED, "a client without C classes, or a class without owner", witness=dict(settings))
    share = owners.mean(axis=0)
    half = student.ppf((1 + CONFIDENCE ** (1 / share.size)) / 2, seeds - 1) * np.sqrt(
        C / classes * (1 - C / classes) / seeds
    )
    if np.abs(share - C / classes).max() > half:
        return Verdict(
            Status.REFUTED, "a client owns a class too often or too seldom", witness={"share": share.tolist()}
        )
    return Verdict(
        Status.HOLDS,
        f"{seeds} seeds: each of {clients} clients owns {C} of {classes} classes, each class has an owner, and each client "
        f"owns each class in {C / classes:g} of the seeds, within {half:.2g}",
    )


# ---------------------------------------------------------------------------------------------------------------------
# Figures 1, 3 and 7

RESOLUTION = 1e-4  # the authors keep four decimals: distances below count as none


@dataclass(frozen=True, eq=False)
class Curve:
    """The distances to the optimum, sqrt(E|x^(r) - x*|^2), of an algorithm with the best step size of a grid."""

    eta: float
    distance: Array

    @property
    def final(self) -> float:
        """The distance after the last round, RESOLUTION where it is less."""
        return max(float(self.distance[-1]), RESOLUTION)

    def rounds_to(self, distance: float) -> float:
        """The first round within the distance, infinite where there is none."""
        within = self.distance <= distance
        return float(within.argmax()) if within.any() else np.inf

    def __str__(self) -> str:
        reached = (
            f"{RESOLUTION:g} in {self.rounds_to(RESOLUTION):g} rounds"
            if self.final == RESOLUTION
            else f"{self.final:.2g}"
        )
        return f"{reached} (eta {self.eta:g})"


def _distances(problem: Quadratic, method: str, K: int, grid: Sequence[float], x0: float, R: int) -> Array:
    """(step size, round); infinite where a step size diverges."""
    algorithm = SFL(K=K, eta=list(grid)) if method == "SFL" else PFL(K=K, eta=list(grid))
    squares = expectation(problem, algorithm, rounds=R, x0=x0, record=("dist2",)).dist2.values
    # Rounding may leave a square of 0 at a tiny negative number.
    return np.where(np.isnan(squares), np.inf, np.sqrt(np.maximum(squares, 0.0)))


def curves(problem: Quadratic, K: int, grid: Sequence[float], x0: float, R: int) -> dict[str, Curve]:
    """PFL and SFL, each with the step size of the smallest final distance, ties by the mean distance over the run."""
    found = {}
    for method in ("PFL", "SFL"):
        distances = _distances(problem, method, K, grid, x0, R)
        best = min(range(len(grid)), key=lambda i: (max(distances[i, -1], RESOLUTION), distances[i].mean()))
        found[method] = Curve(grid[best], distances[best])
    return found


def group(statement: Statement) -> Quadratic:
    """The two clients of a group, from its statement."""
    assert isinstance(statement.claim, Relations)
    functions = [r.rhs for r in statement.claim.relations if isinstance(r.lhs, Value)]
    (x,) = set().union(*(f.free_symbols for f in functions))
    curvature, slope = ([float(f.coeff(x, power)) for f in functions] for power in (2, 1))
    return from_functions(curvature, slope, name=statement.id)


def _group(id_: str) -> Quadratic:
    """The same by id."""
    return group(catalogue.find(id_))


def _worse(pair: Mapping[str, Curve], better: str) -> str | None:
    """In what the method said to be better is not: its result, or, where both are exact, its number of rounds."""
    one, two = pair[better], pair["PFL" if better == "SFL" else "SFL"]
    if one.final == two.final == RESOLUTION:
        return None if one.rounds_to(RESOLUTION) < two.rounds_to(RESOLUTION) else f"{better} not faster"
    return None if one.final < two.final else f"result of {better} not better"


def _shown(pair: Mapping[str, Curve]) -> str:
    return ", ".join(f"{method} {curve}" for method, curve in pair.items())


def _asked(statement: Statement) -> tuple[tuple[int, ...], tuple[float, ...], float, int]:
    """K, the grid, x0 and R: the statement's own, or those of the other of Figures 1 and 7."""
    own, code = settings_of(statement), settings_of(statement)["authors' code"]
    other = {**settings_of(catalogue.find("sfl.fig1")), **settings_of(catalogue.find("sfl.fig7")), **own}
    return other["K"], other["learning rates"], code["x^(0)"], code["R"]


def figure_1(statement: Statement, full: bool = False) -> Verdict:
    """Which method is better on Groups 1 to 4, by exact expectations, and what heterogeneity does to each in Group 2.

    Groups 3 and 4, where delta > 0: a better result, and a faster rate: fewer rounds to a hundredth of the start.
    """
    settings = settings_of(statement)
    Ks, grid, x0, R = _asked(statement)
    groups, better = dict(enumerate(settings["groups"], 1)), settings["better"]
    if set(groups) != set(better):
        return Verdict(Status.REFUTED, "groups that are not in the figure", witness={"groups": list(groups), **better})
    if any(len(_group(id_).H) != settings["M"] for id_ in groups.values()):
        return Verdict(Status.REFUTED, "M is not the number of clients", witness={"M": settings["M"]})
    witness: dict[str, Any] = {}
    shown: list[str] = []
    edge: list[str] = []
    try:
        for K in Ks:
            pairs = {number: curves(_group(id_), K, grid, x0, R) for number, id_ in groups.items()}
            for number, pair in pairs.items():
                name = f"Group {number}, K = {K}"
                wrong = _worse(pair, better[number])
                slow = pair["SFL"].rounds_to(x0 / 100) >= pair["PFL"].rounds_to(x0 / 100)
                if _group(groups[number]).constants["delta"] > 0 and slow:
                    wrong = "SFL not faster"
                if wrong:
                    witness[f"{name}: {wrong}"] = _shown(pair)
                shown.append(f"{name}: {_shown(pair)}")
                edge += [f"{method} {name}" for method, curve in pair.items() if curve.eta == min(grid)]
            alike = [_distances(_group(groups[g]), "PFL", K, grid, x0, R) for g in (1, 2)]
            if np.abs(alike[0] - alike[1]).max() > 1e-6:
                witness[f"PFL in Groups 1 and 2, K = {K}"] = "differs"
            if not pairs[2]["SFL"].final > pairs[1]["SFL"].final:
                witness[f"SFL in Groups 1 and 2, K = {K}"] = "not hurt"
    except ValueError as error:
        return Verdict(Status.OPEN, f"these settings cannot be run: {error}")
    if witness:
        return Verdict(Status.REFUTED, f"{len(witness)} comparisons fail", witness=witness)
    return Verdict(
        Status.HOLDS,
        f"root of the exact expected squared distance after R = {R} from x0 = {x0:g}, best step size of Figure 7's grid, "
        f"{RESOLUTION:g} and below counted as equal, then the rounds to it: {'; '.join(shown)}; PFL the same in Groups 1 "
        f"and 2; the smallest step size of the grid is best for {', '.join(edge) or 'none'}",
    )


def figure_7(statement: Statement, full: bool = False) -> Verdict:
    """Which method has the better result on the nine groups of Table 6, by exact expectations."""
    settings = settings_of(statement)
    Ks, grid, x0, R = _asked(statement)
    better = {sympy.Rational(key.removeprefix("delta = ")): method for key, method in settings["better"].items()}
    if any(len(_group(id_).H) != settings["M"] for id_ in settings["groups"]):
        return Verdict(Status.REFUTED, "M is not the number of clients", witness={"M": settings["M"]})
    witness: dict[str, Any] = {}
    edge: dict[str, int] = {"PFL": 0, "SFL": 0}
    slower = []
    try:
        for id_, K in product(settings["groups"], Ks):
            pair = curves(_group(id_), K, grid, x0, R)
            delta = next(r.rhs for r in _printed(id_).relations if getattr(r.lhs, "name", "") == "delta")
            wrong = _worse(pair, better[delta])
            if wrong:
                witness[f"{id_}, K = {K}: {wrong}"] = _shown(pair)
            for method, curve in pair.items():
                edge[method] += curve.eta == min(grid)
            if delta > 0 and pair["SFL"].rounds_to(x0 / 10) >= pair["PFL"].rounds_to(x0 / 10):
                slower.append(f"{id_.removeprefix('sfl.quad.table6.')}, K = {K}")
    except ValueError as error:
        return Verdict(Status.OPEN, f"these settings cannot be run: {error}")
    told = ", ".join(f"{method} better for delta = {delta}" for delta, method in better.items())
    count = len(settings["groups"]) * len(Ks)
    if witness:
        return Verdict(Status.REFUTED, f"{len(witness)} of {count} comparisons fail", witness=witness)
    return Verdict(
        Status.HOLDS,
        f"exact expectations after R = {R} from x0 = {x0:g}, {count} comparisons at K = {Ks} (Figure 1's): "
        f"{told}; SFL for delta > 0 first within a tenth of the start but for {', '.join(slower) or 'none'}; the "
        f"best step size is the smallest of the grid {edge['SFL']} times for SFL, {edge['PFL']} times for PFL",
    )


_UPPER = [
    f"sfl.{name}.{case}" for name in ("thm1", "cor1") for case in ("strongly_convex", "general_convex", "nonconvex")
]


def figure_3(statement: Statement, full: bool = False) -> Verdict:
    """The upper bounds as K grows by one, term by term: none grows, one falls (sigma > 0), some stay.

    The bounds are those of Theorem 1, at a fixed eta_tilde, and of Corollary 1.
    """
    most = sympy.sympify(settings_of(statement)["bound at K + 1 over bound at K, below"])
    K = catalogue.paper("sfl").symbols["K"].sympy
    for id_ in _UPPER:
        claim = catalogue.find(id_).claim
        assert isinstance(claim, Bound | Order)
        falls = stays = False
        for term in claim.terms:
            ratio = sympy.simplify(term.value.subs(K, K + 1) / term.value)
            if decide([], sympy.Le(ratio, most, evaluate=False)).status is not Status.PROVED:
                witness = {"bound": id_, "term": term.name, "value at K + 1 over value at K": str(ratio)}
                return Verdict(Status.REFUTED, f"{id_}: {term.name} does not diminish so", witness=witness)
            falls |= decide([], sympy.Lt(ratio, most, evaluate=False)).status is Status.PROVED
            stays |= ratio == 1
            if ratio != 1 and sympy.limit(term.value, K, sympy.oo) != 0:
                return Verdict(Status.REFUTED, f"{id_}: {term.name} does not vanish", witness={"term": str(term.value)})
        if not (falls and stays):
            return Verdict(Status.REFUTED, f"{id_}: no term falls, or none stays", witness={"bound": id_})
    return Verdict(
        Status.HOLDS,
        "the sentences on the upper bound, for Theorem 1 (at a fixed eta_tilde) and Corollary 1, all K (z3): terms with K "
        "fall to 0, the others are free of K and dominate from some K on; strictly only for sigma > 0 and a start that "
        "is not optimal. The two sentences on the network's performance are not decided",
    )


# ---------------------------------------------------------------------------------------------------------------------
# The step size of (54)


def step_range(statement: Statement, full: bool = False) -> Verdict:
    """The choice of eta_tilde, printed as the first link of a chain, is small enough (S >= 1; beta > 0, as it divides)."""
    assert isinstance(statement.claim, Relations)
    given, links = [c.relation for c in statement.when], list(statement.claim.relations)
    if not statement.corrects:
        given += [links.pop(0), catalogue.symbols(statement)["beta"].sympy > 0]
    found = decide(given, links)
    witness = {str(symbol): str(value) for symbol, value in found.model.items()}
    return Verdict(found.status, f"{' and '.join(map(str, links))}: {found.says}", witness=witness)


# ---------------------------------------------------------------------------------------------------------------------


def evidence() -> list[Evidence]:
    """The checks of listings, assumptions, partitions, figures, and of the step size of (54)."""
    exdir = partial(partitioned, deal=_exdir, seeds=250, family="ExDir(2, 2), 5 classes, 6 clients")
    quantity = partial(partitioned, deal=_quantity, seeds=50, family="Quantity(2), 5 classes, 6 clients")
    dirichlet = partial(partitioned, deal=_dirichlet, seeds=200, family="Dir(2), 5 classes, 6 clients")
    return [
        Evidence("sfl.alg1", "run", partial(listing, algorithm=SFL)),
        Evidence("sfl.alg2", "run", partial(listing, algorithm=PFL)),
        Evidence("sfl.claim.ssl_equiv", "run", split_learning),
        Evidence("sfl.claim.ssl_equiv.corrected", "run", split_learning),
        Evidence("sfl.claim.biased", "moments", biased),
        Evidence("sfl.asm.lower", "run", lower),
        Evidence("sfl.asm.cases", "run", cases),
        Evidence("sfl.asm.smooth", "run", smooth),
        Evidence("sfl.asm.unbiased", "run", unbiased),
        Evidence("sfl.asm.unbiased.corrected", "run", unbiased),
        Evidence("sfl.asm.variance", "run", variance),
        Evidence("sfl.asm.het_a", "run", heterogeneity),
        Evidence("sfl.asm.het_b", "run", at_optimum),
        Evidence("sfl.exdir", "run", exdir),
        Evidence("sfl.exdir.quantity", "run", quantity),
        Evidence("sfl.exdir.dirichlet", "run", dirichlet),
        Evidence("sfl.fig1", "moments", figure_1),
        Evidence("sfl.fig3", "derivation", figure_3),
        Evidence("sfl.fig7", "moments", figure_7),
        Evidence("sfl.fig8", "run", first_row),
        Evidence("sfl.fig9", "run", allocation),
        Evidence("sfl.step.eq54_range", "derivation", step_range),
        Evidence("sfl.step.eq54_range.corrected", "derivation", step_range),
    ]


__all__ = [
    "Curve",
    "Ground",
    "Machine",
    "Place",
    "Replay",
    "Undefined",
    "Unreadable",
    "curves",
    "evidence",
    "grounds",
    "met",
    "quadratic_ground",
    "samples",
    "tree",
]
