"""Algorithm 1: its lines against `fedtheory.simulations.algorithms.fedbat`, and the printed lines at their ends.

In floating point, step by step with the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fedtheory.bounds.fedbat.checks.executor import Machine
from fedtheory.bounds.fedbat.checks.replay import Replay, layered
from fedtheory.bounds.trials.cases import ROUNDING
from fedtheory.bounds.trials.listings import executed
from fedtheory.simulations.algorithms.base import participating
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory.listing import Listing
from fedtheory.theory.statement import Statement, Status, Verdict

Build = Callable[..., Any]  # of FedBAT

# ------------------------------------------------------------------------------------- lines against implementation

_STEPS = (
    (1, Fraction(0)), (1, Fraction(1, 2)), (2, Fraction(1, 2)), (3, Fraction(0)), (4, Fraction(1, 2)), (5, Fraction(3, 10)),
    (4, Fraction(3, 4)),
)  # fmt: skip


@dataclass(frozen=True)
class LayeredRun:
    """A run of three rounds on noisy quadratics with three layers, with known draws."""

    tau: int
    phi: Fraction
    rho: float
    K: int | None
    weighted: bool

    def __str__(self) -> str:
        whom = "all clients" if self.K is None else f"{self.K} of 4 clients"
        return f"tau = {self.tau}, phi = {self.phi}, rho = {self.rho:g}, {whom}{', weighted' if self.weighted else ''}"

    def replay(self, build: Build) -> Replay:
        """The implementation."""
        algorithm = build(self.tau, 0.05, self.K, float(self.phi), self.rho)
        return Replay(layered(weighted=self.weighted), algorithm)

    def machine(self, run: Replay) -> Machine:
        """A machine with the same draws."""

        def sample(r: int) -> list[int]:
            S = run.algorithm.participants(run.problem)
            return [int(k) for k in participating(run.problem, run.draws(r), S)[0]]

        def gradient(client: int, x: Array, r: int, step: int) -> Array:
            return run.gradient(client + 1, x, r, step)

        inputs = {"R": run.rounds, "tau": self.tau, "phi": self.phi, "rho": self.rho}
        return Machine(problem=run.problem, start=run.start, inputs=inputs, eta=run.eta, sample=sample, oracle=gradient,
                       zeta=run.zeta)  # fmt: skip


def settings() -> Iterator[LayeredRun]:
    """One to five steps, none to three of them at full precision."""
    for (tau, phi), (rho, K, weighted) in product(_STEPS, ((6.0, 2, True), (0.0, None, False), (2.0, 3, False))):
        yield LayeredRun(tau, phi, rho, K, weighted)


def listing(statement: Statement, full: bool = False, *, build: Build) -> Verdict:
    """The lines, executed, against an implementation: the point of every gradient, and w after every round."""
    claim, steps, runs = statement.claim_of(Listing), 0, 0
    for setting in settings():
        run = setting.replay(build)
        machine = executed(partial(setting.machine(run).run, claim), setting)
        if isinstance(machine, Verdict):
            return machine
        runs += 1
        if (differs := _apart(machine, run)) is not None:
            where, one, other = differs
            witness = {"problem": run.problem.provenance, "run": str(setting), "eta": run.eta, "where": where,
                       "by the listing": one.tolist(), "by FedBAT": other.tolist()}  # fmt: skip
            return Verdict(Status.REFUTED, f"{setting}: {where} differs", witness=witness)
        steps += len(machine.asked)
    return Verdict(
        Status.TESTED,
        "the lines, executed with the relations of (11) to (14), read with alpha_e of (10) as what is learned, on "
        f"{runs} runs of {run.rounds} rounds on noisy quadratics (three layers; 2, 3 and all of 4 clients; equal and "
        f"unequal weights; tau = 1 to 5, phi from 0 to 3/4, rho = 0, 2, 6), take {steps} gradients at the points of "
        "fedtheory.simulations.algorithms.fedbat.FedBAT, and give its w, with the same draws",
    )


def _apart(machine: Machine, run: Replay) -> tuple[str, Array, Array] | None:
    """The first point or model in which the two differ: its place, its value by the listing, and by the implementation."""
    points = {(r, k, s): x for r, k, s, x in machine.asked}
    models = [run.start]
    for round in run.history():
        for s, (x, _) in enumerate(round.asked):
            for i, k in enumerate(round.trained):
                own = points.pop((round.r, k, s), np.full_like(x[i], np.nan))
                if not np.abs(own - x[i]).max() <= ROUNDING:
                    return f"the point of the gradient of client {k + 1}, step {s}, round {round.r},", own, x[i]
        models.append(round.after)
    if points:
        (r, k, s), x = points.popitem()
        return f"the number of gradients of client {k + 1}, step {s}, round {r},", x, np.full_like(x, np.nan)
    for r, expected in enumerate(models):
        own = machine.models[r] if r < len(machine.models) else np.full_like(expected, np.nan)
        if not np.abs(own - expected).max() <= ROUNDING:
            return f"w_{r}", own, expected
    return None


# ------------------------------------------------------------------------------------- what the printed listing does

_START = np.array([2.0, 1.0])
_ALONE = Quadratic(np.eye(2)[None], np.zeros((1, 2)), name="||w||^2 / 2")


def _alone(tau: int, phi: Fraction, turned: int | None = None, literal: bool = False) -> Machine:
    """One client with F = ||w||^2 / 2, from (2, 1), one round; at local step `turned` the gradient has the opposite sign."""

    def gradient(client: int, x: Array, r: int, step: int) -> Array:
        return np.asarray(-x if step == turned else x)

    inputs = {"R": 1, "tau": tau, "phi": phi, "rho": 2.0}
    zeta = np.array([0.25, 0.75])
    return Machine(problem=_ALONE, start=_START, inputs=inputs, eta=0.25, sample=lambda r: [0], oracle=gradient,
                   zeta=lambda client, r, step: zeta, literal=literal)  # fmt: skip


def ends(statement: Statement, full: bool = False) -> Verdict:
    """Does the model move with phi = 0, and with tau = 1?  Does it depend on the last local step?

    In (14) alpha_e of (10) is what is learned.  As printed, a step of alpha itself, (14) is tried where this does not move.
    """
    claim = statement.claim_of(Listing)
    witness: dict[str, Any] = {}
    told, wrong = [], []
    for tau, phi in ((3, Fraction(0)), (1, Fraction(1, 2))):
        where = f"phi = {phi}, tau = {tau}"
        machine = executed(partial(_alone(tau, phi).run, claim), where)
        if isinstance(machine, Verdict):
            return machine
        w = machine.models[-1]
        told.append(f"{where}: w_1 = {_shown(w)}")
        if (w == _START).all():
            literal = executed(partial(_alone(tau, phi, literal=True).run, claim), where)
            other = literal.says if isinstance(literal, Verdict) else f"w_1 = {_shown(literal.models[-1])}"
            undefined = ", and (14) as printed is undefined" if isinstance(literal, Verdict) else ""
            wrong.append(
                f"with {where} the model does not move: m = 0, so alpha' = 0 by (13), alpha stays 0 by (10){undefined}"
            )
            witness |= {f"w_1, {where}": w.tolist(), f"{where}, (14) as printed": other}
    where = "phi = 1/2, tau = 2"
    both = [executed(partial(_alone(2, Fraction(1, 2), turned).run, claim), where) for turned in (None, 1)]
    for machine in both:
        if isinstance(machine, Verdict):
            return machine
    plain, turned = (machine.models[-1] for machine in both if isinstance(machine, Machine))
    told.append(f"{where}: w_1 = {_shown(plain)}, and {_shown(turned)} with the last gradient reversed")
    if (plain == turned).all():
        wrong.append(f"with {where} the last local step changes nothing: line 23 sends the result of tau - 1 steps")
        witness |= {f"w_1, {where}": plain.tolist(), "w_1, the last gradient reversed": turned.tolist()}
    setting = "F = ||w||^2/2, one client, eta = 1/4, rho = 2, w_0 = (2, 1), zeta = (1/4, 3/4)"
    if wrong:
        return Verdict(Status.REFUTED, f"{setting}: {'; '.join(wrong)}", witness={"instance": setting, **witness})
    return Verdict(Status.TESTED, f"{setting}: {'; '.join(told)}")


def _shown(w: Array) -> str:
    return f"({', '.join(f'{v:.6g}' for v in w)})"
