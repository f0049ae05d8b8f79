"""Algorithms 1 to 5: their lines against `fedtheory.simulations.algorithms.fedcom`, and the behaviour of the printed lines.

In floating point on noisy quadratics, step by step with the same draws; in fractions on parabolas without noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from fedtheory.bounds.fedcom.checks.executor import Machine, Replay
from fedtheory.bounds.trials.cases import false
from fedtheory.bounds.trials.listings import (
    Parabola,
    Undefined,
    Unreadable,
    Vector,
    described,
    difference,
    executed,
    mean,
    mean_of,
    parabolas,
    stopped,
)
from fedtheory.simulations.algorithms.fedcom import FedGATE
from fedtheory.simulations.compressors import Compressor, Identity, RandK, TopK
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Listing
from fedtheory.theory.proofs.instances import sides
from fedtheory.theory.statement import Relations, Statement, Status, Verdict

# ------------------------------------------------------------------------------------- lines against implementation

UNBIASED: tuple[Compressor, ...] = (Identity(), RandK(1), RandK(2, shared=True))
WITH_MEMORY: tuple[Compressor, ...] = (Identity(), RandK(1), TopK(1), TopK(2))


@cache
def replays(compressors: Sequence[Compressor], sampled: bool = False) -> tuple[Replay, ...]:
    """Noisy quadratics in three dimensions, two to four clients, one to three steps; 1 of 2, 2 of 3, 2 of 4 `sampled`."""
    build = {m: generate(3, m, L=1.0, mu=0.2, zeta_star=1.0, delta=0.3, sigma=0.5, seed=m) for m in (2, 3, 4)}
    ratio = {2: Fraction(1, 2), 3: Fraction(2, 3), 4: Fraction(1, 2)} if sampled else dict.fromkeys(build, Fraction(1))
    return tuple(Replay(build[m], tau, Q, ratio[m]) for m, tau, Q in product(build, (1, 2, 3), compressors))


def _states(machine: Machine, run: Replay, names: Sequence[str]) -> Iterator[tuple[str, int, Vector]]:
    """(variable, round, value) of the server's model (d,) and of the clients' memories (m, d)."""
    for r in range(run.rounds + 1):
        yield "w", r, machine.value("w", 0, r)
        for name in names:
            yield name, r, np.stack([machine.value(name, j, r) for j in range(1, run.problem.M + 1)])


def listing(
    statement: Statement,
    full: bool,
    *,
    compressors: Sequence[Compressor] = UNBIASED,
    sampled: bool = False,
    remember: Sequence[str] = (),
    **implementation: Any,
) -> Verdict:
    """The lines, executed, against an implementation (`Replay.built`): w and the clients' memories after every round.

    Also the relations that the paper prints about the same algorithm (`also`).
    """
    claim = statement.claim_of(Listing)
    compared = replays(tuple(compressors), sampled)
    relations = 0
    for run in compared:
        machine = executed(partial(run.machine, claim), run)
        if isinstance(machine, Verdict):
            return machine
        algorithm = run.built(**implementation)
        other = run.implemented(algorithm)
        try:
            states = list(_states(machine, run, remember))
        except Undefined as error:
            return stopped(run, error)
        if apart := difference(run, algorithm, states, other, "w", gamma=run.gamma):
            return apart
        for where, values in _printed_of(machine, run) if statement.also else ():
            for side in (side for also in statement.also for side in sides(also, values)):
                relations += 1
                if not side.holds:
                    return false(f"{run}, {where}", side, run=str(run), at=where)
    whom = "1 of 2, 2 of 3, 2 of 4 clients a round" if sampled else "2 to 4 clients, all of them"
    also = f"; the relations printed about it hold too, {relations} comparisons" if relations else ""
    return Verdict(
        Status.TESTED,
        f"the lines, executed on {len(compared)} runs of {compared[0].rounds} rounds on noisy quadratics ({whom}, tau = 1 "
        f"to 3, Q one of {', '.join(Q.name for Q in compressors)}), give {' and '.join(['w', *remember])} of "
        f"fedtheory.simulations.algorithms.fedcom.{type(algorithm).__name__} with the same draws{also}",
    )


def _printed_of(machine: Machine, run: Replay) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The symbols of (23), (24) and (49), for every client and round, with gradients along the machine's path."""
    everyone = range(1, run.problem.M + 1)
    for r in range(run.rounds):
        sums = {
            j: np.sum([run.gradient(j, machine.value("w", j, c, r), r, c) for c in range(run.tau)], axis=0)
            for j in everyone
        }
        means = {"Delta_q": np.mean([machine.value("Delta", j, r) for j in everyone], axis=0),
                 "message_mean": np.mean([run.compress(j, sums[j], r) for j in everyone], axis=0)}  # fmt: skip
        shared = {"eta": run.eta, "gamma": run.gamma, "w_r": machine.value("w", 0, r), **means}
        for j in everyone:
            own = {"w_end": machine.value("w", j, run.tau, r), "g_sum": sums[j]}
            yield f"client {j}, round {r}", {**shared, **own, "w_next": machine.value("w", 0, r + 1)}


def option(statement: Statement, full: bool, *, which: str) -> Verdict:
    """Option I or II: the model moves as the relation says, with Delta_q from the lines of Algorithm 3.

    Option I: every client's own copy, which stays equal to the server's model.
    """
    claim = statement.claim_of(Relations)
    lines = catalogue.find("fedcom.alg3").claim_of(Listing)
    count, apart = 0, 0.0
    for run in replays((Identity(),)):
        machine = run.machine(lines)
        moved = run.implemented(run.built(FedGATE, option=which))
        other = run.implemented(run.built(FedGATE, option="II" if which == "I" else "I"))
        apart = max(apart, *(float(np.abs(a[0] - b[0]).max()) for a, b in zip(moved, other, strict=True)))
        for r in range(run.rounds):
            messages = [machine.value("u", j, r) / run.eta for j in range(1, run.problem.M + 1)]
            known = {"eta": run.eta, "gamma": run.gamma, "Delta_q": np.mean(messages, axis=0)}
            for before, after in zip(_models(moved[r], run), _models(moved[r + 1], run), strict=True):
                for side in sides(claim, {**known, "w_r": before, "w_next": after}):
                    count += 1
                    if not side.holds:
                        return false(f"{run}, round {r}", side, run=str(run), round=r)
    who = "every client's copy" if which == "I" else "the server's model"
    return Verdict(
        Status.TESTED,
        f"FedGATE, Option {which}, on {len(replays((Identity(),)))} noisy quadratics: {who} follows the relation in every "
        f"round, {count} comparisons; the two options' models differ by {apart:.1g} at most",
    )


def _models(state: tuple[Array, Mapping[str, Array]], run: Replay) -> list[Array]:
    """The clients' copies of the model, if they have any; else the server's model, once for each client."""
    w, memory = state
    return list(memory["w"]) if "w" in memory else [w] * run.problem.M


# -------------------------------------------------------------------------------------- what the printed listings do


@dataclass(frozen=True)
class ExactRun:
    """A run on parabolas without noise or compression, in fractions; the participants are drawn by `seed`.

    S  clients a round
    """

    clients: tuple[Parabola, ...]
    S: int
    eta: Fraction
    tau: int = 1
    rounds: int = 80
    w0: Fraction = Fraction(1)
    gamma: Fraction = Fraction(1)
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.S} of {self.m} parabolas a round, tau = {self.tau}, eta = {self.eta}, gamma = {self.gamma}"

    @property
    def m(self) -> int:
        """Number of clients."""
        return len(self.clients)

    @property
    def f(self) -> Parabola:
        """The mean of the f_j, up to a constant."""
        return mean_of(self.clients)

    def sample(self, r: int) -> tuple[int, ...]:
        """S^(r)."""
        drawn = np.random.default_rng([self.seed, r]).permutation(self.m)[: self.S]
        return tuple(int(j) + 1 for j in sorted(drawn))

    def machine(self, listing: Listing) -> Machine:
        """The listing, executed.  Raises Undefined or Unreadable."""
        constants = {"eta": self.eta, "gamma": self.gamma, "q": Fraction(0), "k": Fraction(1), "d": Fraction(1),
                   "m": Fraction(self.m), "tau": Fraction(self.tau), "R": Fraction(self.rounds)}  # fmt: skip

        def gradient(client: int, w: Vector, r: int, c: int) -> Vector:
            return np.asarray(self.clients[client - 1].gradient(w))

        start = np.array([self.w0], dtype=object)
        machine = Machine(constants=constants, start=start, oracle=gradient, number=Fraction, sample=self.sample)
        return machine.run(listing)

    def series(self, machine: Machine, name: str, client: int = 0) -> list[Fraction]:
        """A variable's values in rounds 0 ... R; of client 1..m, or of the server (0).  Raises Undefined."""
        return [machine.value(name, client, r)[0] for r in range(self.rounds + 1)]

    @property
    def samples(self) -> str:
        """The clients that take part, round by round."""
        return " ".join("".join(map(str, self.sample(r))) for r in range(self.rounds))

    def told(self) -> dict[str, Any]:
        """The data for a calculation by hand."""
        own = {"w^(0)": self.w0, "eta": self.eta, "gamma": self.gamma, "tau": self.tau}
        return {**described(self.clients), **own}


_FOUR = parabolas((1, 3), (Fraction(1, 2), -1), (1, -2), (Fraction(1, 2), 1))
SAMPLED = (
    ExactRun(parabolas((1, 3), (1, -3)), S=1, eta=Fraction(1, 2), w0=Fraction(2)),
    ExactRun(parabolas((1, 3), (1, -1), (Fraction(1, 2), 0)), S=2, eta=Fraction(1, 4), tau=2),
    ExactRun(_FOUR, S=2, eta=Fraction(1, 4), rounds=160),
)
NEAR = Fraction(1, 10**4)  # largest ratio of the last to the first |f'| of a run that reaches the minimiser


def sampling(statement: Statement, full: bool = False) -> Verdict:
    """Only some clients take part: does the mean of the gradient trackings stay 0, does the model go to the minimiser?

    The second question needs two or more participants: a single one compares itself with itself, and tracks nothing.
    """
    claim = statement.claim_of(Listing)
    found: list[str] = []
    for run in SAMPLED:
        machine = executed(partial(run.machine, claim), run)
        if isinstance(machine, Verdict):
            return machine
        try:
            w = run.series(machine, "w")
            deltas = [run.series(machine, "delta", j) for j in range(1, run.m + 1)]
        except Undefined as error:
            return Verdict(Status.REFUTED, f"{run}: {error}", witness={**run.told(), "stops at": str(error)})
        means = [mean(own[r] for own in deltas) for r in range(run.rounds + 1)]
        gradients = [run.f.gradient(point) for point in w]
        off = next((r for r, mean in enumerate(means) if mean != 0), None)
        if off is not None:
            return _drawn_back(run, w, means, off)
        if run.S > 1 and not abs(gradients[-1]) <= NEAR * abs(gradients[0]):
            witness = {**run.told(), "S^(r)": run.samples, "f'(w^(0))": gradients[0],
                       f"f'(w^({run.rounds}))": float(gradients[-1])}  # fmt: skip
            return Verdict(Status.REFUTED, f"{run}: does not come to the minimiser", witness=witness)
        found.append(
            f"{run}: |f'| falls from {float(abs(gradients[0])):.3g} to {float(abs(gradients[-1])):.1g} in round {run.rounds}"
            if run.S > 1
            else f"{run}: every delta_j stays {'0' if not any(map(any, deltas)) else 'of mean 0'}, so nothing is tracked"
        )
    return Verdict(
        Status.TESTED,
        f"in fractions, the mean of the delta_j is 0 in every round; {'; '.join(found)}; samples by seed 0",
    )


def _drawn_back(run: ExactRun, w: Sequence[Fraction], means: Sequence[Fraction], off: int) -> Verdict:
    """The verdict on a listing whose gradient trackings do not keep the mean zero."""
    pull = (1 - Fraction(run.S, run.m)) / (run.eta * run.gamma * run.tau)
    tied = all(mean == pull * (w[0] - point) for mean, point in zip(means, w, strict=True))
    witness = {**run.told(), "S^(r)": run.samples, "round": off, "w": w[off],
               "(1/m) sum_j delta_j": means[off]}  # fmt: skip
    says = f"{run}: after round {off - 1} the mean of the delta_j is {means[off]}, not 0"
    if tied:
        # at rest delta_j = f_j'(w), so f'(w) = pull (w^(0) - w)
        rest = (run.f.curvature * run.f.minimiser + pull * w[0]) / (run.f.curvature + pull)
        witness |= {"rest": rest, "f'(rest)": run.f.gradient(rest), "minimiser": run.f.minimiser,
                    f"w^({run.rounds}) - rest": float(w[-1] - rest)}  # fmt: skip
        says += (
            f"; in every round it is ((1-k)/(eta gamma tau)) (w^(0) - w^(r)) exactly, and the run, from {w[0]}, comes to "
            f"rest at {rest} (off by {float(abs(w[-1] - rest)):.1g} after {run.rounds} rounds), where f' = "
            f"{run.f.gradient(rest)}; the minimiser is {run.f.minimiser}"
        )
    return Verdict(Status.REFUTED, says, witness=witness)


WHOLE = (
    ExactRun(parabolas((1, 1), (1, -2)), S=2, eta=Fraction(1, 4), rounds=6, gamma=Fraction(1, 2)),
    ExactRun(_FOUR[:3], S=3, eta=Fraction(1, 4), tau=2, rounds=6),
)


def nothing_left_out(statement: Statement, full: bool = False) -> Verdict:
    """k = d, so Q(x) = x: the memory stays 0, and the run is that of Algorithm 3."""
    claim, plain = statement.claim_of(Listing), catalogue.find("fedcom.alg3").claim_of(Listing)
    for run in WHOLE:
        machine = executed(partial(run.machine, claim), run)
        if isinstance(machine, Verdict):
            return machine
        fedgate = run.series(run.machine(plain), "w")
        try:
            w = run.series(machine, "w")
            memories = {f"nu_{j}": run.series(machine, "nu", j) for j in range(1, run.m + 1)}
        except Undefined as error:
            return Verdict(Status.REFUTED, f"{run}: {error}", witness={**run.told(), "stops at": str(error)})
        for r in range(run.rounds + 1):
            kept = {name: own[r] for name, own in memories.items()}
            if any(kept.values()) or w[r] != fedgate[r]:
                later = next((i for i in range(r, run.rounds + 1) if w[i] != fedgate[i]), run.rounds)
                witness = {**run.told(), "Q(x)": "x", "round": r, **kept, f"w^({later})": w[later],
                           f"w^({later}) of FedGATE": fedgate[later]}  # fmt: skip
                says = (
                    f"{run}, Q(x) = x: before round {r} the memories are {', '.join(map(str, kept.values()))}, "
                    f"not 0; w^({later}) = {w[later]}, that of FedGATE is {fedgate[later]}"
                )
                return Verdict(Status.REFUTED, says, witness=witness)
    return Verdict(
        Status.TESTED,
        f"in fractions, with Q(x) = x: every memory stays 0 and w^(r) is that of Algorithm 3 in {WHOLE[0].rounds} rounds on "
        f"{' and '.join(map(str, WHOLE))}",
    )


def distances(claim: Listing, k: int, seed: int, rounds: int) -> list[float]:
    """||w^(r) - w*|| of the lines with top_k of 6 coordinates: three quadratics with different Hessians, tau = 2, no noise.

    The local steps are L eta tau = k/6.  Raises Undefined or Unreadable.
    """
    d, tau = 6, 2
    problem = generate(d, 3, L=1.0, mu=0.3, zeta_star=1.0, delta=0.3, seed=seed)
    top = TopK(k)

    def gradient(client: int, w: Vector, r: int, c: int) -> Vector:
        return np.asarray(problem.H[client - 1] @ w + problem.b[client - 1])

    def compress(client: int, message: Vector, r: int) -> Vector:
        kept = np.zeros(d)
        largest = np.argsort(-np.abs(message), kind="stable")[: top.k]
        kept[largest] = message[largest]
        return kept

    constants = {"eta": k / d / tau, "gamma": 1.0, "k": float(k), "d": float(d), "m": 3, "tau": tau, "R": rounds}
    start = np.ones(d)
    machine = Machine(constants=constants, start=start, oracle=gradient, sample=lambda r: (1, 2, 3), compress=compress)
    machine.run(claim)
    star = np.linalg.solve(problem.H.mean(0), -problem.b.mean(0))
    return [float(np.linalg.norm(machine.value("w", 0, r) - star)) for r in range(rounds + 1)]


_FALLS = 1e-3  # largest ratio of the last to the first distance of a run that reaches the minimiser


def comes_to_minimiser(statement: Statement, full: bool = False) -> Verdict:
    """The lines with top_k, k = 3, 2, 1 of 6, on quadratics: does the model go to the minimiser of f?"""
    claim = statement.claim_of(Listing)
    shown = []
    for k, seed in product((3, 2, 1), (1, 2) if full else (1,)):
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                found = distances(claim, k, seed, 600 // k)
            except (Undefined, Unreadable) as error:
                return stopped(f"top_{k}", error)
        if not found[-1] <= _FALLS * found[0]:
            witness = {"k": k, "of": 6, "tau": 2, "m": 3, "first distance": found[0], "last distance": found[-1]}
            return Verdict(Status.REFUTED, f"top_{k} of 6: does not come to the minimiser", witness=witness)
        shown.append(f"top_{k} {found[0]:.2g} to {found[-1]:.1g} in {len(found) - 1} rounds")
    return Verdict(Status.TESTED, f"three quadratics in R^6, tau = 2, distances to the minimiser: {'; '.join(shown)}")


def tracking_errors(claim: Listing, d: int, k: int, rounds: int) -> list[Fraction]:
    """max over coordinates of |delta_1 - f_1'| after each round, of the lines with top_k, on two clients in R^d.

    f_1 = x_1 + ... + x_d and f_2 = -f_1, plus ||x||^2/2 each.  By symmetry the run stays at its start 0, the minimiser of f.
    So only the gradient tracking moves, in the same way for every step size.  Raises Undefined or Unreadable.
    """
    one = np.array([Fraction(1)] * d, dtype=object)
    top = TopK(k)

    def gradient(client: int, w: Vector, r: int, c: int) -> Vector:
        return np.asarray(w + (one if client == 1 else -one))

    def compress(client: int, message: Vector, r: int) -> Vector:
        ((_, kept),) = top.law(list(message))
        return np.array(kept, dtype=object)

    numbers = {"gamma": 1, "k": k, "d": d, "m": 2, "tau": 1, "R": rounds}
    constants = {"eta": Fraction(1, 10)} | {name: Fraction(n) for name, n in numbers.items()}
    machine = Machine(constants=constants, start=0 * one, oracle=gradient, number=Fraction, sample=lambda r: (1, 2),
                      compress=compress)  # fmt: skip
    machine.run(claim)
    return [max(abs(v) for v in machine.value("delta", 1, r) - one) for r in range(rounds + 1)]
