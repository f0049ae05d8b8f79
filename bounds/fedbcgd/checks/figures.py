"""Figures 4, 5, 7, 8 and 9 and the problems (129), (130) on small data of our own: the rows that the figures show.

The results, on digits and breast_cancer, are analogues of the printed figures: they say which rows are true on these data,
and decide nothing about the paper's data.  The training loss replaces test accuracy.  Rows that need the paper's networks
are left out.  The problems (129) and (130) are formulas, and are decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from math import inf
from typing import Any

import numpy as np
import sympy

from fedtheory.bounds.fedbcgd.checks.listings import ABLATED, each, known_value
from fedtheory.bounds.trials.cases import false
from fedtheory.bounds.trials.problems import alone
from fedtheory.simulations import data, partitions, run
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.algorithms.fedbcgd import FedAdam, FedAvgM, FedBCGD, FedBCGDPlus, FedDC
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD, FedPAQ
from fedtheory.simulations.compressors import Identity
from fedtheory.simulations.data import Dataset
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.simulations.problems.two_part import TwoPart
from fedtheory.theory import catalogue
from fedtheory.theory.proofs.instances import sides
from fedtheory.theory.statement import Record, Relations, Statement, Status, Verdict, Words


@dataclass(frozen=True)
class LossCurve:
    """The losses of an algorithm, (step size, record), mean over seeds; infinite after divergence.

    every   rounds between two records
    floats  numbers that a participating client sends up in a round, in units of d
    """

    losses: Array
    every: int
    floats: float

    def rounds_to(self, target: float) -> float:
        """The first recorded round within the target, with the best step size; infinite if there is none."""
        within = self.losses <= target
        return float(np.where(within.any(1), within.argmax(1) * self.every, inf).min())

    def floats_to(self, target: float) -> float:
        """The floats sent up to this round."""
        return self.rounds_to(target) * self.floats

    @property
    def last(self) -> float:
        """The loss at the end, with the best step size."""
        return float(self.losses[:, -1].min())

    def of_rate(self, i: int) -> LossCurve:
        """The curve with one of the step sizes only."""
        return replace(self, losses=self.losses[i : i + 1])


def curve(problem: Problem, algorithm: Any, rounds: int, seeds: int, every: int = 1, x0: Any = 0.0) -> LossCurve:
    """The curve of an algorithm on a problem."""
    at = range(0, rounds + 1, every)
    found = run(problem, algorithm, rounds=rounds, seeds=range(seeds), x0=x0, record=("value",), at=at)
    losses = found.value.values.mean(1)
    return LossCurve(
        np.where(np.isnan(losses), inf, losses), every, algorithm.uplink_bits(problem) / (FLOAT * problem.d)
    )


SAME = 0.05  # numbers within this share of each other count as the same


def ahead(one: float, other: float) -> int:
    """1 where `one` is the smaller number, -1 where `other` is, 0 where they are the same."""
    return int(one * (1 + SAME) < other) - int(other * (1 + SAME) < one)


@dataclass(frozen=True)
class FigureRow:
    """A row of a figure: what it says, the numbers, and 1 where it is true, -1 where it is false, 0 where undecided."""

    says: str
    numbers: Mapping[Any, float]
    outcome: int


def compared(says: str, numbers: Mapping[Any, float], one: Any, others: Sequence[Any]) -> FigureRow:
    """The row: `one` has a smaller number than all the others."""
    return FigureRow(says, numbers, min((ahead(numbers[one], numbers[other]) for other in others), default=-1))


def _beside(says: str, rows: Sequence[FigureRow]) -> Verdict:
    """The outcome of every row on these data: no verdict on the printed figure, which is about other data."""
    counts = {
        word: sum(row.outcome == sign for row in rows) for sign, word in ((1, "true"), (-1, "false"), (0, "even"))
    }
    told = f"{says}.  On these data, of {len(rows)} rows: {', '.join(f'{n} {word}' for word, n in counts.items())}"
    even = [row.says for row in rows if row.outcome == 0]
    if even:
        told += f".  Within {SAME:.0%}, so even: {'; '.join(even)}"
    return Verdict(Status.ANALOGUE, told, witness={row.says: dict(row.numbers) for row in rows if row.outcome < 0})


def _impossible(statement: Statement, error: ValueError) -> Verdict:
    return Verdict(
        Status.REFUTED, f"no such run: {error}", witness={"settings": dict(statement.claim_of(Record).settings)}
    )


# ------------------------------------------------------------------------------------------ Figures 4, 5, 7: a network

CLIENTS, STEPS = 40, 3
ETAS = (0.3, 0.6, 1.2)
FINER = (0.2, 0.3, 0.45, 1.2)  # for Figure 4: with more blocks a smaller step size is best
TARGET = 0.5  # of the training loss, which begins at log 10
EARLY = 1.0  # the target in Figure 4; one block must reach it, too


@cache
def network(rho: float) -> TwoPart:
    """Two layers of width 8 on digits, Dirichlet(rho) clients, batches of 8; its last layer is the shared block."""
    digits = data.load("digits")
    return TwoPart(digits, partitions.dirichlet(digits.labels, CLIENTS, rho, 0), 8, 1e-4, batch=8)


def _start(problem: Problem) -> Array:
    return 0.1 * np.random.default_rng(0).standard_normal(problem.d)


@cache
def _trained(problem: TwoPart, algorithm: Any, rounds: int, seeds: int, every: int = 2) -> LossCurve:
    return curve(problem, algorithm, rounds, seeds, every, _start(problem))


def _network_told(problem: TwoPart, etas: Sequence[float], seeds: int) -> str:
    return (
        f"two-layer network of width {problem.hidden} on digits, d = {problem.d}, {problem.partition.method}, T = {STEPS}, "
        f"batches of {problem.batch}, eta one of {etas}, mean training loss of {seeds} seeds"
    )


def _blocks(N: int, S: int, lam: float, share: int, etas: tuple[float, ...] = ETAS) -> FedBCGD:
    """FedBCGD with N client blocks.  Raises ValueError unless N divides S."""
    if N < 1 or S % N:
        raise ValueError(f"{S} clients in {N} client blocks: expected whole numbers")
    return FedBCGD(STEPS, etas, N, S // N, lam, share=share)


def number_of_blocks(statement: Statement, full: bool = False) -> Verdict:
    """Figure 4: floats to a loss, and the loss at equal floats, by the number of blocks; one block is FedAvgM.

    There is no shared block: it would be a seventh of the network here, and is 0.2 % of LeNet-5.
    """
    claim = statement.claim_of(Record)
    problem, S, lam, budget = network(0.6), 20, 0.5, 10
    etas, seeds = FINER, 16 if full else 2
    printed = claim.settings["blocks"]
    numbers = sorted({*printed, *(n for n in (2, 5, 10) if printed and n < max(printed))})
    try:
        algorithms = {n: _blocks(n, S, lam, 0, etas) for n in numbers}
        found = {n: _trained(problem, a, budget * n, seeds, max(1, n // 5)) for n, a in algorithms.items()}
    except ValueError as error:
        return _impossible(statement, error)
    floats = {n: c.floats_to(EARLY) for n, c in found.items()}
    losses = {n: c.last for n, c in found.items()}
    rows = []
    for row in claim.table:
        match row:
            case {"blocks": int(n), "is": "fewest floats" | "highest accuracy" as which} if n in found:
                numbers_of = floats if which == "fewest floats" else losses
                rows.append(compared(f"{n} blocks: {which}", numbers_of, n, [m for m in numbers if m != n]))
            case {"blocks": "more" | "fewer" as one, "is": "faster than", "others": "more" | "fewer" as other}:
                sequence = numbers[:: 1 if one == "fewer" else -1]
                pairs = [ahead(floats[m], floats[n]) for m, n in pairwise(sequence)] if one != other else [-1]
                rows.append(FigureRow(f"{one} blocks faster than {other}", floats, min(pairs, default=-1)))
            case _:
                return Verdict(Status.OPEN, f"cannot read {dict(row)}")
    alike = ""
    for n, name in claim.settings["degenerates"].items():
        plain = _trained(problem, FedAvgM(STEPS, etas, S, lam), budget * n, seeds, 1)
        same = name == "FedAvgM" and n in found and _alike(found[n], plain)
        rows.append(FigureRow(f"N = {n} is {name}", {"FedAvgM": plain.last, **losses}, 1 if same else -1))
        alike += f"; N = {n} is {name}, loss by loss" if same else ""
    shown = ", ".join(f"N = {n}: {floats[n]:.3g} / {losses[n]:.4g}" for n in numbers)
    return _beside(
        f"{_network_told(problem, etas, seeds)}, {S} clients a round, no shared block, lam = {lam}: floats / d "
        f"that a client sends until the loss is {EARLY}, and the loss after {budget} d, best of eta: {shown}{alike}.  The "
        "paper's 53% and 200 d are for its network",
        rows,
    )


def _alike(one: LossCurve, other: LossCurve) -> bool:
    return one.losses.shape == other.losses.shape and np.allclose(one.losses, other.losses, rtol=1e-9, atol=0)


def _measured(row: Mapping[str, Any], found: Mapping[Any, LossCurve], names: Sequence[Any]) -> dict[Any, float]:
    """The numbers that a row compares: rounds to a loss for "faster", else the loss at the end.  Raises ValueError."""
    if row["is"] not in ("faster than", "better than", "more accurate than", "best of") or not set(names) <= set(found):
        raise ValueError(f"cannot read {dict(row)}")
    return {n: found[n].rounds_to(TARGET) if row["is"] == "faster than" else found[n].last for n in names}


def ablation(statement: Statement, full: bool = False) -> Verdict:
    """Figure 5: the ablations, by the loss at the end (better, more accurate) and the rounds to a loss (faster).

    The last layer is shared.  The count is in rounds, not in floats: the layer is 0.2 % of LeNet-5, where it costs almost
    nothing, but a seventh of the network here.
    """
    claim = statement.claim_of(Record)
    (rounds, seeds), lam, N, K = ((120, 16) if full else (60, 2)), 0.5, 5, 2
    try:
        problem = network(claim.settings["rho"])
    except ValueError as error:
        return _impossible(statement, error)
    share = problem.d - problem.cut
    algorithms = {name: build(STEPS, ETAS, N, K, share, lam) for name, build in ABLATED.items()}
    found = {name: _trained(problem, algorithm, rounds, seeds) for name, algorithm in algorithms.items()}
    rows = []
    for row in claim.table:
        one, *others = (name.removeprefix("variants.") for name in (row["method"], *row["others"]))
        try:
            numbers = _measured(row, found, [one, *others])
        except ValueError as error:
            return Verdict(Status.OPEN, str(error))
        rows.append(compared(f"{one} {row['is']} {', '.join(others)}", numbers, one, others))
    shown = ", ".join(
        f"{n} {c.rounds_to(TARGET):g} ({c.floats_to(TARGET):.3g} d) / {c.last:.3g}" for n, c in found.items()
    )
    return _beside(
        f"{_network_told(problem, ETAS, seeds)}, {N * K} clients a round in {N} client blocks, the last layer shared, "
        f"lam = {lam}: rounds (floats) to the loss {TARGET}, and the loss after {rounds} rounds, best of eta: {shown}",
        rows,
    )


def momentum(statement: Statement, full: bool = False) -> Verdict:
    """Figure 7: lam by the rounds to a loss (faster) and the loss at the end (more accurate, best).

    All lam have the same step size, because only lam is varied: the step size of the grid with the fewest false rows.
    """
    claim = statement.claim_of(Record)
    (rounds, seeds), N = ((120, 16) if full else (60, 2)), claim.settings["blocks"]
    grid = sorted({v for row in claim.table for v in (row["momentum"], *row["others"])} | {*claim.settings["momentum"]})
    try:
        problem = network(claim.settings["rho"])
        algorithms = {lam: _blocks(N, 2 * N, lam, problem.d - problem.cut) for lam in grid}
        found = {lam: _trained(problem, a, rounds, seeds) for lam, a in algorithms.items()}
        tried = {eta: _rows_of_momentum(claim, {lam: c.of_rate(i) for lam, c in found.items()})
                 for i, eta in enumerate(ETAS)}  # fmt: skip
    except ValueError as error:
        return _impossible(statement, error)
    best = {eta: sum(row.outcome < 0 for row in rows) for eta, rows in tried.items()}
    chosen = min(ETAS, key=lambda eta: best[eta])  # fewest false rows
    shown = "; ".join(
        f"eta = {eta:g}, {', '.join(f'{lam}: {_shown(c.of_rate(i))}' for lam, c in found.items())} "
        f"({best[eta]} of {len(claim.table)} rows false)"
        for i, eta in enumerate(ETAS)
    )
    return _beside(
        f"{_network_told(problem, ETAS, seeds)}, {2 * N} clients a round in {N} client blocks, the last layer shared: "
        f"rounds to the loss {TARGET} / loss after {rounds} rounds, by lam: {shown}; the best eta for each lam, "
        f"{', '.join(f'{lam}: {_shown(c)}' for lam, c in found.items())}",
        tried[chosen],
    )


def _shown(c: LossCurve) -> str:
    return f"{c.rounds_to(TARGET):g} / {c.last:.3g}"


def _rows_of_momentum(claim: Record, found: Mapping[float, LossCurve]) -> list[FigureRow]:
    """The rows of Figure 7, for these curves.  Raises ValueError for a row that cannot be read."""
    rows = []
    for row in claim.table:
        lam, others = row["momentum"], [other for other in row["others"] if other != row["momentum"]]
        says = f"lam = {lam} {row['is']} {', '.join(map(str, others))}"
        rows.append(compared(says, _measured(row, found, [lam, *others]), lam, others))
    return rows


# --------------------------------------------------------------------------------------- Figures 8 and 9: two problems

BATCH, HOLDERS, TAKING_PART = 20, 20, 10
LOSSES: Mapping[str, type[Logistic]] = {"fedbcgd.logreg": Logistic, "fedbcgd.sigmoid_erm": SigmoidERM}
RATES = (0.3, 1.0, 3.0, 10.0)  # over the smoothness constant
NEAR = (0.1, 0.03)  # shares of the possible gain in loss
SHORT, LONG = 240, 1000  # rounds


def _parity() -> Dataset:
    """Digits, even against odd."""
    digits = data.load("digits")
    return replace(digits, name="digits, even or odd", labels=digits.labels % 2, classes=2)


@dataclass(frozen=True)
class Race:
    """The curves of the methods on a problem, the first loss and the smallest known loss."""

    curves: Mapping[str, LossCurve]
    first: float
    least: float
    how: str
    T: int

    def target(self, near: float) -> float:
        """The loss at which this share of the gain is left."""
        return self.least + near * (self.first - self.least)


@cache
def race(id_: str, rho: float, epochs: int, N: int, full: bool) -> Race:
    """All methods on a problem of the catalogue; clients are Dirichlet(rho) by digit.  Raises ValueError."""
    if N < 1 or TAKING_PART % N:
        raise ValueError(f"{TAKING_PART} clients in {N} client blocks: expected whole numbers")
    digits = data.load("digits")
    partition = partitions.dirichlet(digits.labels, HOLDERS, rho, 0)
    problem = lightly_regularised(LOSSES[id_], _parity(), partition, BATCH)
    T, K, S, lam = epochs * (len(digits.labels) // (HOLDERS * BATCH)), TAKING_PART // N, TAKING_PART, 0.5
    etas = tuple(rate / problem.smoothness for rate in RATES)
    methods: dict[str, Any] = {
        "FedAvg": FedPAQ(T, etas, Identity(), S), "FedAvgM": FedAvgM(T, etas, S, lam),
        "FedAdam": FedAdam(T, etas, S, eta_server=0.1), "SCAFFOLD": SCAFFOLD(T, etas, 1.0, S),
        "FedDC": FedDC(T, etas, S), "FedBCGD": FedBCGD(T, etas, N, K, lam), "FedBCGD+": FedBCGDPlus(T, etas, N, K, lam),
    }  # fmt: skip
    rounds, seeds = (LONG, 8) if full else (SHORT, 2)
    curves = {name: curve(problem, method, rounds, seeds, 2) for name, method in methods.items()}
    first = float(problem.value(np.zeros(problem.d)))
    if LOSSES[id_] is Logistic:
        return Race(curves, first, float(problem.constants["F_star"]), "the minimum", T)
    return Race(curves, first, min(float(c.losses.min()) for c in curves.values()), "the least loss of any run", T)


def faster(statement: Statement, full: bool = False) -> Verdict:
    """Figures 8 and 9: the floats, and the rounds, until a tenth and 3 % of the possible gain are left.

    Each method has the best of four step sizes.  A row is checked for each target and each problem.
    """
    claim = statement.claim_of(Record)
    settings = claim.settings
    ids = settings.get("problems", {"": settings.get("problem")})
    if not set(ids.values()) <= set(LOSSES):
        return Verdict(Status.OPEN, f"no such problem: {ids}")
    rows, told = [], []
    for which, id_ in ids.items():
        try:
            found = race(id_, settings["rho"], settings["local epochs"], settings["blocks"], full)
        except ValueError as error:
            return _impossible(statement, error)
        for row, near in product(claim.table, NEAR):
            method, others = row["method"], row["others"]
            if not {method, *others} <= set(found.curves) or row["is"] not in ("faster than", "slower than"):
                return Verdict(Status.OPEN, f"cannot read {dict(row)}")
            floats = {n: found.curves[n].floats_to(found.target(near)) for n in (method, *others)}
            sign = 1 if row["is"] == "faster than" else -1
            outcome = min(sign * ahead(floats[method], floats[other]) for other in others)
            where = f"({which}) " if which else ""
            rows.append(
                FigureRow(f"{where}{method} {row['is']} {', '.join(others)}, to {near:g} of the gain", floats, outcome)
            )
        shown = ", ".join(f"{name} {_to_targets(found, c)}" for name, c in found.curves.items())
        told.append(
            f"{id_.removeprefix('fedbcgd.')}, loss {found.first:.3g} at the start, {found.least:.3g} {found.how}, "
            f"T = {found.T}: {shown}"
        )
    return _beside(
        f"digits, even or odd, {HOLDERS} clients Dirichlet({settings['rho']}) by digit, {TAKING_PART} a round, "
        f"{settings['blocks']} blocks, regularisation 10^-4 L, batches of {BATCH}, lam = 0.5, the corrected forms, mean of "
        f"{8 if full else 2} seeds, each with the best of {len(RATES)} step sizes: floats / d that a client sends "
        f"(rounds) to {' and '.join(f'{near:g}' for near in NEAR)} of the gain, inf if not within {LONG if full else SHORT} "
        f"rounds: {'; '.join(told)}",
        rows,
    )


def _to_targets(found: Race, c: LossCurve) -> str:
    targets = [found.target(near) for near in NEAR]
    return " and ".join(f"{c.floats_to(target):.3g} ({c.rounds_to(target):g})" for target in targets)


# ------------------------------------------------------------------------------------------------- (129) and (130)


def _points(d: int) -> list[Array]:
    rng = np.random.default_rng(0)
    return [np.zeros(d), *(size * rng.standard_normal(d) for size in (0.1, 1.0, 3.0))]


def _alone(loss: type[Logistic], count: int | None = None) -> Logistic:
    """A problem of one client on the first samples of breast_cancer, regularised by 10^-4 L."""
    cancer = data.scaled(data.load("breast_cancer"))
    cut = replace(cancer, features=cancer.features[:count], labels=cancer.labels[:count])
    return lightly_regularised(loss, cut, partitions.iid(cut.labels, 1, 0))


def _words(statement: Statement) -> tuple[sympy.Basic, ...]:
    symbols = {name: s.sympy for name, s in catalogue.paper("fedbcgd").symbols.items()}
    return tuple(each(f, symbols["a_i"], symbols["b_i"], symbols["f_i"]) for f in statement.claim_of(Words).formulas)


def _wrong(formulas: Sequence[sympy.Basic], where: str, values: Mapping[str, Any]) -> Verdict | None:
    for side in sides(Relations(tuple(formulas)), values):
        if not side.holds:
            return false(where, side, where=where)
    return None


def _signed(problem: Logistic) -> dict[str, Any]:
    rows = problem.dataset.features.tolist()
    return {
        "a_i": [np.array(a) for a in rows],
        "b_i": (2.0 * problem.dataset.labels - 1).tolist(),
        "samples": len(rows),
    }


def _spectrum(problem: Logistic) -> tuple[float, float]:
    values = [np.linalg.eigvalsh(problem.hessian(x)) for x in _points(problem.d)]
    return min(float(v[0]) for v in values), max(float(v[-1]) for v in values)


def logreg(statement: Statement, full: bool = False) -> Verdict:
    """(129) against the implementation on data, and its strong convexity: reg <= Hessian <= L + reg."""
    problem = _alone(Logistic, None if full else 100)
    L, reg = problem.smoothness, problem.regularisation
    for x in _points(problem.d):
        known = {"f": known_value(x, float(problem.value(x))), "x": x, "reg": reg, "L": L, **_signed(problem)}
        if wrong := _wrong(_words(statement), f"{problem.name}, ||x|| = {np.linalg.norm(x):.3g}", known):
            return wrong
    least, largest = _spectrum(problem)
    if not reg * (1 - 1e-9) <= least <= largest <= (L + reg) * (1 + 1e-9):
        return Verdict(
            Status.REFUTED, "curvature outside [reg, L + reg]", witness={"least": least, "largest": largest, "L": L}
        )
    return Verdict(
        Status.TESTED,
        f"{problem.name}, {len(problem.dataset.labels)} samples, four points: formula and implementation agree; L = "
        f"{L:.4g}, a quarter of the largest eigenvalue of A'A/n, proved; the Hessian's eigenvalues at these points lie in "
        f"[{least:.3g}, {largest:.3g}], within [reg, L + reg] as proved, the largest at x = 0; the condition "
        f"number is at most {(L + reg) / reg:.6g}",
    )


def sigmoid_erm(statement: Statement, full: bool = False) -> Verdict:
    """(130) against the implementation on data, sample by sample; smooth, and not convex."""
    problem = _alone(SigmoidERM, None if full else 100)
    total, single = _words(statement)
    signed = _signed(problem)
    for x in _points(problem.d):
        where = f"{problem.name}, ||x|| = {np.linalg.norm(x):.3g}"
        losses = [_of_sample(problem, row, x) for row in range(signed["samples"])]
        known = {"f": known_value(x, float(problem.value(x))), "x": x, "reg": problem.regularisation, **signed}
        if wrong := _wrong([total], where, {**known, "f_i": [known_value(x, v) for v in losses]}):
            return wrong
        for a, b, loss in zip(signed["a_i"], signed["b_i"], losses, strict=True):
            if wrong := _wrong([single], where, {"f_i": known_value(x, loss), "x": x, "a_i": a, "b_i": b}):
                return wrong
    least, largest = _spectrum(problem)
    L = problem.smoothness + problem.regularisation
    if not (least < 0 and max(-least, largest) <= L):
        return Verdict(Status.REFUTED, "convex, or not smooth", witness={"least": least, "largest": largest, "L": L})
    return Verdict(
        Status.TESTED,
        f"{problem.name}, {signed['samples']} samples, four points: both formulas agree with the implementation; the "
        f"Hessian's least eigenvalue is {least:.3g}: not convex, with the regularisation {problem.regularisation:.3g}; the "
        f"largest is {largest:.3g}, within L = {L:.4g}, proved by |s''| <= 1/(6 sqrt 3)",
    )


def _of_sample(problem: Logistic, row: int, x: Array) -> float:
    """The loss of one sample, from the implementation on this sample only."""
    return float(alone(problem, np.array([row])).value(x)) - problem.regularisation / 2 * float(x @ x)
