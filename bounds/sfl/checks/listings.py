"""The listings of Algorithms 1 and 2, split learning, and the bias of local gradients.

The printed lines are executed exactly as written, on quadratics, and compared with `fedtheory.simulations.algorithms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import permutations, product
from typing import Any, cast

import sympy

from fedtheory.bounds.sfl.counterexamples import admits, uneven_steps
from fedtheory.bounds.trials.cases import false
from fedtheory.bounds.trials.listings import At, Executor, KnownDraws, Place, executed, first_apart, mean
from fedtheory.simulations import data, partitions
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.simulations.problems.two_part import TwoPart
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Gradient, Listing
from fedtheory.theory.notation import Expectation
from fedtheory.theory.proofs.instances import interpret, sides
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.statement import Relations, Statement, Status, Verdict, Words


@dataclass(kw_only=True)
class Machine(Executor):
    """Executes Algorithms 1 and 2.

    order  round -> the permutation pi of the clients 1..M
    used   round -> the gradients taken
    """

    order: Callable[[int], Sequence[int]]
    used: dict[int, list[Array]] = field(default_factory=dict)

    def do_sample(self, at: At) -> None:
        """Sample a permutation of the clients."""
        self.values |= {Place("pi", 0, "", (m,)): own for m, own in enumerate(self.order(self.round(at)), 1)}

    def do_output(self, at: At) -> None:
        """The output follows from the x^(r)."""

    def gradient(self, g: Gradient, at: At) -> Array:
        """A stochastic gradient; it is recorded."""
        found = super().gradient(g, at)
        self.used.setdefault(self.round(at), []).append(found)
        return found


@dataclass(frozen=True, eq=False)
class Replay(KnownDraws):
    """A run of K local steps on a problem with known draws, all clients one after another in the drawn order."""

    K: int

    def order(self, r: int) -> tuple[int, ...]:
        """The permutation of the clients 1..M in a round."""
        return self.drawn(r, self.problem.M)

    def machine(self, listing: Listing) -> Machine:
        """The listing, executed.  Raises Undefined or Unreadable, and Undefined where no x^(R) comes out."""
        constants = {"M": self.problem.M, "K": self.K, "R": self.rounds, "eta": self.eta}
        start = {Place("x", 0, "", (0,)): self.start}
        machine = Machine(constants=constants, start=self.start, oracle=self.gradient, values=start, order=self.order)
        machine.run(listing)
        for r in range(1, self.rounds + 1):
            machine.value("x", 0, r)
        return machine

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
    """The printed lines, executed on quadratics, against the implementation, step by step with the same draws.

    Also: x^(r+1) - x^(r) is -eta times the sum (for PFL, the mean over clients of the sums) of the round's
    gradients; SFL with one exact step each is SGD with random reshuffling.
    """
    claim = statement.claim_of(Listing)
    reshuffled = 0
    for replay in _replays():
        problem, K = replay.problem, replay.K
        where = f"M = {problem.M}, K = {K}, sigma = {problem.constants['sigma']:g}"
        machine = executed(partial(replay.machine, claim), where)
        if isinstance(machine, Verdict):
            return machine
        printed = [machine.value("x", 0, r) for r in range(replay.rounds + 1)]
        share = problem.M if algorithm is PFL else 1
        telescoped = [x - replay.eta * sum(machine.used[r]) / share for r, x in enumerate(printed[:-1])]
        compared = {
            "implementation": replay.models(algorithm(K=K, eta=replay.eta)),
            "telescoped sum of the gradients": [replay.start, *telescoped],
        }
        if algorithm is SFL and K == 1 and not problem.constants["sigma"]:
            compared["SGD with random reshuffling"] = replay.reshuffled()
            reshuffled += 1
        for name, other in compared.items():
            if (r := first_apart(printed, other)) is not None:
                witness = {"problem": problem.provenance, "K": K, "eta": replay.eta, "round": r,
                           "listing": printed[r].tolist(), name: other[r].tolist()}  # fmt: skip
                return Verdict(Status.REFUTED, f"{where}: listing and {name} differ in round {r}", witness=witness)
    also = f"; with K = 1 and exact gradients, SGD with random reshuffling ({reshuffled} runs)" if reshuffled else ""
    return Verdict(
        Status.TESTED,
        f"the printed lines, executed on {len(_replays())} runs on quadratics (M = 2, 3, 4, K = 1, 2, 3, all clients), "
        f"give the trajectories of fedtheory.simulations.algorithms.sfl.{algorithm.__name__}{also}; the averaged output is "
        "not compared",
    )


# ---------------------------------------------------------------------------------------------------------------------
# Split learning, biased gradients


@cache
def _network() -> TwoPart:
    dataset = data.scaled(data.load("breast_cancer"))
    return TwoPart(dataset, partitions.exdir(dataset.labels, 3, 1, 10.0, seed=0), hidden=3, batch=4)


def split_learning(statement: Statement, full: bool = False) -> Verdict:
    """SSL and SplitFed, by the messages of split learning, against SFL and PFL on the whole network.

    With tau_m = K at every client; where the conditions admit unequal tau_m, `uneven_steps` comes first.
    """
    claim = statement.claim_of(Words)
    uneven = uneven_steps(statement)
    counts = [K for K in (1, 3) if admits(statement, (K,), K)]
    if uneven.status is Status.REFUTED or not counts:
        return uneven
    for K in counts:
        replay = Replay(_network(), K, eta=0.3, rounds=4)
        runs = {a.__name__: replay.models(a(K=K, eta=replay.eta)) for a in (SFL, PFL, SSL, SplitFed)}
        for r in range(replay.rounds + 1):
            symbols = {f"x_{name}": run[r] for name, run in runs.items()}
            for side in sides(Relations(claim.formulas), symbols):
                if not side.holds:
                    return false(f"K = {K}, round {r}", side, K=K, round=r)
    return Verdict(
        Status.TESTED,
        f"two-layer network cut in two, 3 clients, batches of 4, K = {' and '.join(map(str, counts))}, 4 rounds: the same "
        "parameters in every round where tau_m = K",
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


def biased(statement: Statement, full: bool = False) -> Verdict:
    """E[grad f_pi_m(x_mk)] against grad F, exactly: against E[grad F(x_mk)] and against grad F(x)."""
    claim = statement.claim_of(Words)
    (formula,) = claim.formulas
    symbols = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    unequal = isinstance(formula, sympy.Ne)
    start, eta = Fraction(1, 3), Fraction(1, 5)

    def differences(clients: list[Scalar], K: int) -> Iterator[tuple[tuple[int, int], str, Fraction]]:
        F = Scalar(mean(c.curvature for c in clients), mean(c.slope for c in clients))
        values = {"F": F, "x": start}
        left, right = formula.args
        rights = {"E[grad F(x_mk)]": Expectation(right), "grad F(x)": right.xreplace({symbols["x_mk"]: symbols["x"]})}
        for place, law in _steps(clients, K, start, eta).items():
            exact = partial(interpret, values=values, law=law, number=fraction)
            for name, side in rights.items():
                yield place, name, exact(left) - exact(side)

    cases = list(product((2, 3, 4), (1, 2, 3)))
    for M, K in cases:
        for place, name, difference in differences(_federation(M), K):
            if (difference != 0) != (unequal and place != (1, 0)):
                witness = {"M": M, "K": K, "m, k": place, "x": start, "eta": eta, "curvatures": "1, 1/2, 1/3 ...",
                           "slopes": "1, -2, 3 ...", f"E[grad f_pi_m(x_mk)] - {name}": difference}  # fmt: skip
                says = f"M = {M}, K = {K}, (m, k) = {place}: not as the sentence says"
                return Verdict(Status.REFUTED, says, witness=witness)
    one_hessian = [d for M, K in cases for _, name, d in differences(_federation(M, curved=False), K) if name[0] == "E"]
    linear = [d for K in (1, 2, 3) for _, _, d in differences([Scalar(Fraction(0), Fraction(1))] * 3, K)]
    return Verdict(
        Status.TESTED,
        "exact over all orders, clients of curvatures 1, 1/2 ... and slopes 1, -2 ..., M = 2..4, K = 1..3: at (1, 0) "
        "equal, at every other (m, k) different both from grad F(x) and from E[grad F(x_mk)]; not so for every problem: "
        f"with a common Hessian different from E[grad F(x_mk)] at {sum(d != 0 for d in one_hessian)} of "
        f"{len(one_hessian)} (m, k), with identical linear clients different from either at {sum(d != 0 for d in linear)}",
    )
