"""The listings and update rules of FedBCGD and FedBCGD+, executed: against `simulations`, and in exact fractions.

In floating point on noisy quadratics, step by step with the same draws; in fractions on parabolas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import sympy
from sympy import IndexedBase, Sum, expand

from fedtheory.bounds.fedbcgd.checks.executor import Machine, Replay, slices
from fedtheory.bounds.trials.cases import false
from fedtheory.bounds.trials.listings import (
    Parabola,
    Place,
    Undefined,
    Unreadable,
    Vector,
    described,
    difference,
    first_apart,
    mean,
    mean_of,
    parabolas,
    stopped,
)
from fedtheory.bounds.trials.problems import ValueAndGradient, logistic
from fedtheory.simulations.algorithms.fedbcgd import ABLATIONS, FedBCGD
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.exact import rational
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd import algorithms
from fedtheory.theory.listing import Listing
from fedtheory.theory.notation import Expectation, Grad
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.instances import interpret, sides
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.vectors import equated
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Record, Relations, Statement, Status, Verdict, Words

Build = Callable[..., Any]  # an algorithm of `simulations`, from the settings of a run


def lines_of(id_: str) -> Listing:
    """The listing of a statement."""
    return catalogue.find(id_).claim_of(Listing)


# ------------------------------------------------------------------------------------- lines against implementation


@cache
def replays() -> tuple[Replay, ...]:
    """Noisy quadratics in five dimensions: one to three unequal blocks, a shared one or none; one to three steps."""
    build = {m: generate(5, m, L=1.0, mu=0.2, zeta_star=1.0, delta=0.3, sigma=0.5, seed=m) for m in (3, 4)}
    shapes = (
        (3, 1, 2, None, 1),
        (4, 1, 4, None, 0),
        (4, 2, 1, (1, 2), 2),
        (4, 2, 2, (3, 1), 1),
        (3, 3, 1, (2, 1, 1), 1),
    )
    return tuple(
        Replay(build[m], T, N, K, sizes=sizes, share=s) for (m, N, K, sizes, s), T in product(shapes, (1, 2, 3))
    )


def _states(machine: Machine, run: Replay) -> Iterator[tuple[str, int, Vector]]:
    """(variable, rounds done, value) after every round: x, v, c (d,) and c_i (M, d)."""
    for r, kept in enumerate(machine.kept):
        yield "x", r + 1, machine.value("x", 0, r)
        yield "v", r + 1, machine.value("v", 0, r)
        yield "c", r + 1, kept[Place("c")]
        yield "c_i", r + 1, np.stack([kept[Place("c", i)] for i in range(1, run.problem.M + 1)])


_SET = {Property.AT_REST: "v", Property.INITIAL_VARIATES: "c"}  # assumptions about start values, and their variables


def listing(statement: Statement, full: bool, *, build: Build) -> Verdict:
    """The lines, executed, against an implementation: x, v, c and the c_i after every round."""
    claim = statement.claim_of(Listing)
    own, given = (catalogue.properties(one) for one in (catalogue.find(statement.id), statement))
    unset = [symbol for said, symbol in _SET.items() if said in own and said not in given]
    remembered: dict[str, None] = {}
    for run in replays():
        try:
            states = list(_states(run.machine(claim, unset), run))
        except (Undefined, Unreadable) as error:
            return stopped(run, error)
        algorithm = build(**run.settings)
        other = run.implemented(algorithm)
        for _, memory in other:
            remembered |= dict.fromkeys(memory)
        if apart := difference(run, algorithm, states, other, "x", first=1):
            return apart
    return Verdict(
        Status.TESTED,
        f"the lines, executed on {len(replays())} runs of {replays()[0].rounds} rounds on noisy quadratics (d = 5, blocks "
        f"of unequal size, a shared block or none, 2 to 4 of 3 or 4 clients, T = 1 to 3, lam = {replays()[0].lam:g}), give "
        f"{' and '.join(['x', *remembered])} of fedtheory.simulations.algorithms.fedbcgd.{type(algorithm).__name__} with "
        f"the same draws: {_form(algorithm)}",
    )


def _form(algorithm: Any) -> str:
    """The settings that say which form of an algorithm it is."""
    names = ("momentum", "sent", "control", "variance", "kept", "server")
    return ", ".join(f"{name} {getattr(algorithm, name)!r}" for name in names if hasattr(algorithm, name))


# ------------------------------------------------------------------------------------------------ runs in fractions


@dataclass(frozen=True)
class ExactRun:
    """A run on parabolas, in fractions, from x^0 = (2, ..., 2); the participants are drawn by `seed`.

    noise  the error of a mini-batch's gradient in every coordinate, with alternating signs
    order  the participants of every round, in order, instead of drawn ones
    """

    clients: tuple[Parabola, ...]
    K: int
    T: int
    eta: Fraction
    N: int = 1
    share: int = 0
    d: int = 1
    lam: Fraction = Fraction(0)
    rounds: int = 4
    noise: Fraction = Fraction(0)
    seed: int = 0
    order: tuple[int, ...] = ()
    signs: Mapping[tuple[int, int], int] | None = None  # of the noise, by (client, local step), instead of alternating

    def __str__(self) -> str:
        return (
            f"{self.N * self.K} of {len(self.clients)} parabolas a round, N = {self.N}, T = {self.T}, eta = {self.eta}, "
            f"lam = {self.lam}"
            + (f", noise +-{self.noise}" if self.noise else "")
            + (", shared block" if self.share else "")
        )

    @property
    def minimiser(self) -> Fraction:
        """x*, in every coordinate."""
        return mean_of(self.clients).minimiser

    @property
    def start(self) -> Vector:
        """x^0."""
        return np.array([rational.Fraction(2)] * self.d, dtype=object)

    def sample(self, r: int, S: int) -> tuple[int, ...]:
        """The clients 1..M of a round, in their order."""
        drawn = np.random.default_rng([self.seed, r]).permutation(len(self.clients))
        return (self.order or tuple(int(m) + 1 for m in drawn))[:S]

    def gradient(self, client: int, x: Vector, r: int, t: int | None) -> Vector:
        """A gradient at local step t = 1..T, the exact one for None."""
        if t is None:
            sign = 0
        else:
            sign = (-1) ** (client + r + t) if self.signs is None else self.signs[client, t]
        return np.asarray(self.clients[client - 1].gradient(x) + sign * self.noise)

    def machine(self, listing: Listing) -> Machine:
        """The listing, executed.  Raises Undefined or Unreadable."""
        constants: dict[str, Any] = {name: getattr(self, name) for name in ("N", "K", "T")}
        constants |= {"M": len(self.clients), "R": self.rounds - 1}
        constants |= {name: rational.Fraction(getattr(self, name)) for name in ("eta", "lam")}
        machine = Machine(
            constants=constants, start=self.start, oracle=self.gradient, number=rational.Fraction,
            blocks=slices(self.d, self.N, None, self.share), sample=self.sample,
        )  # fmt: skip
        return machine.run(listing)

    def models(self, machine: Machine) -> list[Vector]:
        """x before round 0 and after every round."""
        return [self.start, *(machine.value("x", 0, r) for r in range(self.rounds))]

    def fedavgm(self) -> list[Vector]:
        """The models of FedAvgM: v = lam v + (mean of the ends of T local steps - x), x = x + v."""
        found, v = [self.start], 0 * self.start
        for r in range(self.rounds):
            ends = []
            for client in self.sample(r, self.N * self.K):
                y = found[-1]
                for t in range(1, self.T + 1):
                    y = y - self.eta * self.gradient(client, y, r, t)
                ends.append(y)
            v = self.lam * v + mean(ends) - found[-1]
            found.append(found[-1] + v)
        return found

    def told(self) -> dict[str, Any]:
        """The data for a calculation by hand."""
        clients = range(1, len(self.clients) + 1)
        order = {"clients": [self.sample(r, self.N * self.K) for r in range(min(self.rounds, 4))]}
        return {
            **described(self.clients),
            "x^0": 2, "d": self.d, "N": self.N, "K": self.K, "T": self.T, "eta": self.eta, "lam": self.lam,
            **(order if len(clients) > self.N * self.K or self.N > 1 else {}),
            **({"noise": f"(-1)^(i+r+t) {self.noise}"} if self.noise else {}),
        }  # fmt: skip


FOUR = parabolas((1, 4), (Fraction(1, 2), -1), (1, 0), (Fraction(1, 2), -1))  # x* = 1, where the gradients differ
_QUARTER, _HALF = Fraction(1, 4), Fraction(1, 2)

# ----------------------------------------------------------------------------------- FedBCGD: one block is FedAvgM

FOUR_AT_ONCE = ExactRun(FOUR, K=4, T=1, eta=_QUARTER)
AVERAGING = (
    FOUR_AT_ONCE,
    replace(FOUR_AT_ONCE, T=2),
    replace(FOUR_AT_ONCE, T=2, lam=_HALF, d=2, share=1),
    replace(FOUR_AT_ONCE, T=3, lam=_HALF, K=2, noise=Fraction(1)),
)


def _against_fedavgm(claim: Listing, run: ExactRun) -> tuple[dict[str, Any], str]:
    """The witness and the description of a difference from FedAvgM; empty if none.  Raises Undefined or Unreadable."""
    machine = run.machine(claim)
    own, other = run.models(machine), run.fedavgm()
    at = next((r for r, (a, b) in enumerate(zip(own, other, strict=True)) if (a != b).any()), None)
    if at is None:
        return {}, ""
    what = [f"x^{at} is {', '.join(map(str, own[at]))} and not {', '.join(map(str, other[at]))}"]
    if all((x == run.start).all() for x in own):
        what.append("nothing moves")
    last = max((place.at for place in machine.sent if place.name == "x"), default=())
    sent = [v[0] for place, v in machine.sent.items() if place.name == "x" and place.part == 1 and place.at == last]
    before = own[-2][0]
    if sent and mean(sent) != before and not run.lam:
        what.append(
            f"a round moves {(own[-1][0] - before) / (mean(sent) - before)} times as far as the mean of the messages"
        )
    if run.share and any(x[0] != x[-1] for x in own):
        unequal = next(r for r, x in enumerate(own) if x[0] != x[-1])
        v = [machine.known(Place("v", 0, part, (unequal - 1,)))[0] for part in (1, "s")]
        what.append(f"equal coordinates become unequal, v_(1) = {v[0]} and v_s = {v[1]}")
    return {
        **run.told(),
        f"x^{at}": [str(a) for a in own[at]],
        f"x^{at} of FedAvgM": [str(a) for a in other[at]],
    }, "; ".join(what)


def averaging(statement: Statement, full: bool = False) -> Verdict:
    """One block, in fractions: is a round that of FedAvgM, also for T = 1, without momentum, with a shared block?"""
    return _degenerate(statement.claim_of(Listing), AVERAGING)


def _degenerate(claim: Listing, runs: Sequence[ExactRun]) -> Verdict:
    wrong: dict[str, dict[str, Any]] = {}
    says = []
    for run in runs:
        try:
            witness, what = _against_fedavgm(claim, run)
        except (Undefined, Unreadable) as error:
            return stopped(run, error)
        if witness:
            wrong[str(run)] = witness
            says.append(f"{run}: {what}")
    if wrong:
        return Verdict(Status.REFUTED, f"in fractions, against FedAvgM: {'.  '.join(says)}", witness=wrong)
    return Verdict(
        Status.TESTED,
        f"in fractions, x of every round is that of FedAvgM, {runs[0].rounds} rounds of each of {'; '.join(map(str, runs))}",
    )


def degenerates(statement: Statement, full: bool = False) -> Verdict:
    """FedBCGD with the sentence's number of blocks, against FedAvgM.

    With the lines that the statement rests on, or, as it is about the experiments, with the corrected ones.
    """
    claim = statement.claim_of(Words)
    (symbol,) = set().union(*(formula.free_symbols for formula in claim.formulas))
    numbers = [n for n in range(1, 4) if all(formula.subs(symbol, n) == sympy.true for formula in claim.formulas)]
    if not numbers:
        return Verdict(
            Status.REFUTED, "no number of blocks satisfies the formulas", witness={"formulas": str(claim.formulas)}
        )
    runs = [replace(run, N=n, d=n + run.share, K=run.K if n == 1 else 1) for run in AVERAGING for n in numbers]
    (id_,) = statement.rests_on
    found = _degenerate(lines_of(id_), runs)
    corrected = f"{id_}.corrected"
    if found.status is Status.REFUTED and catalogue.find(id_).corrects == "":
        also = _degenerate(lines_of(corrected), runs)
        if also.status is Status.TESTED:
            return replace(also, says=f"{also.says}, with the lines of {corrected}; with the printed ones not")
    return found


# ------------------------------------------------------------------------------------------ FedBCGD+: to the minimiser

NEAR = Fraction(1, 10**4)  # of the distance to the minimiser at the start
SEVERAL = replace(FOUR_AT_ONCE, T=3, rounds=24)
SETTLING = (
    replace(FOUR_AT_ONCE, rounds=50),
    SEVERAL,
    replace(SEVERAL, noise=Fraction(1)),
    replace(SEVERAL, N=2, K=2, d=3, share=1, lam=_QUARTER),
)
KEEPING = (
    replace(FOUR_AT_ONCE, T=2, N=2, K=1, d=3, share=1, rounds=6),
    replace(FOUR_AT_ONCE, T=2, N=1, K=2, d=2, share=1, rounds=6),
)


def _settles(claim: Listing, run: ExactRun) -> tuple[bool, str]:
    """Whether a run comes near the minimiser, and how near.  Raises Undefined or Unreadable."""
    x, star = run.models(run.machine(claim)), run.minimiser
    first, last = (max(abs(a - star) for a in x[r]) for r in (0, -1))
    return last <= NEAR * first, f"|x - x*| from {float(first):.3g} to {float(last):.3g} in {run.rounds} rounds"


def _keeps(claim: Listing, run: ExactRun) -> tuple[bool, str]:
    """Whether c = (1/M) sum_i c_i after every round, exactly.  Raises Undefined or Unreadable."""
    machine = run.machine(claim)
    for r, kept in enumerate(machine.kept):
        of_clients = mean([kept[Place("c", i)] for i in range(1, len(run.clients) + 1)])
        c = kept[Place("c", 0)]
        if (c != of_clients).any():
            own, means = (", ".join(map(str, vector)) for vector in (c, of_clients))
            return False, f"after round {r} c = ({own}), (1/M) sum c_i = ({means})"
    return True, f"c = (1/M) sum c_i in {run.rounds} rounds"


_ASKED: tuple[tuple[Callable[[Listing, ExactRun], tuple[bool, str]], tuple[ExactRun, ...]], ...] = (
    (_settles, SETTLING),
    (_keeps, KEEPING),
)


def _found(claim: Listing) -> Iterator[tuple[ExactRun, bool, str]]:
    """(run, whether it is correct, the result), one at a time.  Raises Undefined or Unreadable."""
    for check, asked in _ASKED:
        for run in asked:
            yield run, *check(claim, run)


def one_by_one(printed: Listing, corrected: Listing) -> dict[str, Listing]:
    """The corrected lines with one of the printed errors, by the error's name."""
    numbers = {
        "the whole c_i kept, as in line 17": (17,),
        "the last step not sent, as in lines 16, 23, 28": (16, 23, 28),
        "the step counted twice, as in lines 25, 30": (25, 30),
        "the factor of line 31": (31,),
    }
    signs = {
        "the signs of the control variates in line 13": algorithms.local_step(1, -1),
        "the signs of the variance reduction in line 13": algorithms.local_step(-1, 1),
    }
    found = {what: corrected.having(line) for what, line in signs.items() if printed[13] != corrected[13]}
    return found | {what: corrected.having(*(printed[n] for n in lines)) for what, lines in numbers.items()}


def tracking(statement: Statement, full: bool = False) -> Verdict:
    """In fractions: does FedBCGD+ reach the minimiser, also with T = 1, noise, blocks; is c the mean of the c_i?"""
    claim = statement.claim_of(Listing)
    try:
        found = list(_found(claim))
    except (Undefined, Unreadable) as error:
        return stopped(statement.id, error)
    wrong = {str(run): {**run.told(), "found": what} for run, well, what in found if not well}
    if not wrong:
        return Verdict(Status.TESTED, f"in fractions: {'; '.join(f'{run}: {what}' for run, _, what in found)}")
    says = "; ".join(f"{run}: {what}" for run, well, what in found if not well)
    if not statement.corrects and statement.claim == catalogue.find(statement.id).claim:
        corrected = lines_of(f"{statement.id}.corrected")
        for name, lines in one_by_one(claim, corrected).items():
            harm = next(
                (f"{run}: {what}" for run, well, what in _found(lines) if not well), "no effect on these instances"
            )
            says += f".  In the corrected listing with only {name} as printed: {harm}"
    return Verdict(Status.REFUTED, f"in fractions, minimiser x* = {SEVERAL.minimiser}: {says}", witness=wrong)


# --------------------------------------------------------------------------------------------------------- relations


def each(e: sympy.Basic, *symbols: sympy.Symbol) -> sympy.Basic:
    """A relation in which these symbols get the index of the sum around them: c_i becomes c_i[i]."""

    def indexed(total: Sum) -> Sum:
        index = total.limits[0][0]
        return Sum(total.function.xreplace({s: IndexedBase(s.name, real=True)[index] for s in symbols}), *total.limits)

    return e.replace(lambda part: isinstance(part, Sum), indexed)


def _symbols() -> dict[str, sympy.Symbol]:
    return {name: s.sympy for name, s in catalogue.paper("fedbcgd").symbols.items()}


def local_rule(statement: Statement, full: bool = False) -> Verdict:
    """At y = x^r, where a mini-batch's gradient is grad f_i(x^r) + xi: the step is -eta (grad f_i(x^r) - c_i + c).

    At rest, c_i = grad f_i(x*) and c = 0, it is zero for every mini-batch; at the start, c_i = c = 0, it goes downhill.
    At another y, the step changes by -eta times the change of the mini-batch's gradient.
    """
    symbols = _symbols()
    eta, c, c_i, x, y, y_next = (symbols[name] for name in ("eta", "c", "c_i", "x_r", "y_t", "y_next"))
    g, xi, change = sympy.symbols("g xi change", real=True)
    at = {Grad(symbols["f_iz"], x): g + xi, Grad(symbols["f_i"], x): g}
    there = {Grad(symbols["f_iz"], y): g + xi, y: x}
    cases = {
        "at y = x^r at rest": ({**there, c: 0, c_i: g}, 0),
        "at y = x^r with c_i = c = 0": ({**there, c: 0, c_i: 0}, -eta * g),
        "at y = x^r": (there, -eta * (g - c_i + c)),
        "elsewhere": ({Grad(symbols["f_iz"], y): g + xi + change}, -eta * (g + change - c_i + c)),
    }
    for relation in statement.claim_of(Relations).relations:
        for name, (known, step) in cases.items():
            moved, by = equated(relation)
            left = expand((moved - by).xreplace({y_next: y + step}).xreplace({**at, **known}))
            if left != 0:
                found = sympy.factor(expand(step - left)) if moved == y_next else "none"
                witness = {"y": "x^r" if y in known else "elsewhere", "mini-batch gradient": "g + xi",
                           "grad f_i(x^r)": "g", "step": str(found), "expected": str(step)}  # fmt: skip
                numbers = {g: 1, xi: 1, eta: _QUARTER, c: 0, c_i: 1}
                if isinstance(found, sympy.Expr):
                    witness["step for g = c_i = xi = 1, c = 0, eta = 1/4"] = str(found.xreplace(numbers))
                return Verdict(
                    Status.REFUTED,
                    f"{name}: the step is {found}, with noise xi of the mini-batch, not {step}",
                    witness=witness,
                )
    return Verdict(
        Status.PROVED, "at y = x^r the step is -eta (grad f_i(x^r) - c_i + c), free of noise; at rest it is 0"
    )


@dataclass(frozen=True)
class ControlVariates:
    """Control variates before and after a round, two coordinates each: a block's and the shared block's.

    before, after  c_i and c_i^+ of the clients 1..M
    block, S       the clients that send this block; the clients that send the shared block
    """

    before: Sequence[tuple[Fraction, Fraction]]
    after: Sequence[tuple[Fraction, Fraction]]
    block: tuple[int, ...]
    S: tuple[int, ...]
    N: int

    def kept(self, whole: bool) -> list[tuple[Fraction, Fraction]]:
        """The c_i after the round: c_i^+ for participants; in the block only for its senders, unless `whole`."""
        return [
            (new[0] if i in (self.S if whole else self.block) else old[0], new[1] if i in self.S else old[1])
            for i, (old, new) in enumerate(zip(self.before, self.after, strict=True), 1)
        ]

    def symbols(self) -> dict[str, Any]:
        """The values of the symbols of (5), (6), (71)."""
        grown = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(self.before, self.after, strict=True)]
        return {
            "M": Fraction(len(self.before)), "N": Fraction(self.N), "K": Fraction(len(self.block)),
            "c": mean([a for a, _ in self.before]), "c_shared": mean([a for _, a in self.before]),
            "Dc_sum": sum(grown[i - 1][0] for i in self.block), "Dc_shared_sum": sum(grown[i - 1][1] for i in self.S),
        }  # fmt: skip


@cache
def rounds() -> tuple[ControlVariates, ...]:
    """Every sample of N K of four clients and every division of it, for N, K = 1, 2; the block is that of client block 1."""
    before = tuple((Fraction(i, 2), Fraction(3 - i)) for i in range(1, 5))
    after = tuple((Fraction(i * i), Fraction(5, i)) for i in range(1, 5))
    return tuple(
        ControlVariates(before, after, drawn[:K], drawn, N)
        for N, K in product((1, 2), (1, 2))
        for drawn in permutations(range(1, 5), N * K)
    )


def invariant(statement: Statement, full: bool = False) -> Verdict:
    """Each of (5), (6), (71): if (72), c = (1/M) sum_i c_i, holds before a round, does it after it, for all samples?

    Clients keep the parts of c_i that the statement names; if it names none, whole c_i, by lines 15 and 17.
    """
    symbols = _symbols()
    c, c_i, c_next, c_shared_next = (symbols[name] for name in ("c", "c_i", "c_next", "c_shared_next"))
    whole = "c_i changed on the blocks that client i has sent" not in statement.claim_of(Relations).words
    claims = [statement.claim_of(Relations), *(also for also in statement.also if isinstance(also, Relations))]
    printed = catalogue.find("fedbcgd.eq6").also
    means = [r for also in (*statement.also, *printed) for r in also.relations if r.lhs == c]  # type: ignore[union-attr]
    kept_mean = means[0].rhs
    updates = [r for claim in claims for r in claim.relations if r not in means]
    wrong: dict[str, dict[str, Any]] = {}
    says = []
    for update in updates:
        if update.lhs not in (c_next, c_shared_next):
            return Verdict(Status.REFUTED, f"{plain(update)}: no update of c", witness={"relation": plain(update)})
        which = 0 if update.lhs == c_next else 1
        failing: dict[bool, list[ControlVariates]] = {}
        for keep in (True, False):
            failing[keep] = []
            for one in rounds():
                kept = [entry[which] for entry in one.kept(keep)]
                target = interpret(each(kept_mean, c_i), {"c_i": kept, "M": Fraction(4)}, (), fraction)
                if interpret(update.rhs, one.symbols(), (), fraction) != target:
                    failing[keep].append(one)
        told = {keep: ", ".join(sorted({f"({o.N}, {len(o.block)})" for o in bad})) for keep, bad in failing.items()}
        sentence = (
            f"{plain(update)}: if whole c_i are kept it breaks (72) for (N, K) = {told[True] or 'none'}; if only sent parts "
            f"are, for {told[False] or 'none'}"
        )
        says.append(sentence)
        if failing[whole]:
            one = failing[whole][0]
            kept = [entry[which] for entry in one.kept(whole)]
            wrong[plain(update)] = {
                **{name: str(value) for name, value in one.symbols().items()}, "sampled": one.S,
                "sends the block": one.block,
                "c after the round": str(interpret(update.rhs, one.symbols(), (), fraction)), "c_i": [str(a) for a in kept],
                "(1/M) sum c_i": str(mean(kept)),
            }  # fmt: skip
    keeps = "whole c_i (lines 15, 17)" if whole else "only sent parts of c_i"
    head = f"over all {len(rounds())} samples and divisions of 4 clients, N, K = 1, 2, if a client keeps {keeps}"
    return Verdict(Status.REFUTED if wrong else Status.TESTED, f"{head}: {'.  '.join(says)}", witness=wrong)


def _watched(run: Replay, algorithm: FedBCGD) -> Iterator[tuple[int, Array, list[Array]]]:
    """(round, x^r (d,), the clients' y (S, d) before every local step) of an algorithm of `simulations`."""
    seen: list[Array] = []
    models = run.models(algorithm, lambda y, *_: seen.append(y[0, 0]))
    assert len(seen) == run.T * (len(models) - 1), "the algorithm does not watch each of its T local steps"
    for r, x in enumerate(models[:-1]):
        yield r, x, seen[r * run.T : (r + 1) * run.T]


def local_step(statement: Statement, full: bool = False) -> Verdict:
    """(3) along runs of FedBCGD: every sampled client's model from one local step to the next, with its mini-batch."""
    count = 0
    for run in (run for run in replays() if run.T > 1):
        algorithm = FedBCGD(**run.settings)
        for r, _, seen in _watched(run, algorithm):
            clients = algorithm.sampling(run.problem, run.draws(r))[0][0] + 1
            for t, (before, after) in enumerate(pairwise(seen)):
                for client, y, y_next in zip(clients.tolist(), before, after, strict=True):
                    g = run.gradient(client, y, r, t)
                    f_iz = ValueAndGradient(lambda _: 0.0, lambda _, g=g: g)  # type: ignore[misc]
                    known = {"y_next": y_next, "y_t": y, "eta": run.eta, "f_iz": f_iz}
                    for side in sides(statement.claim, known):
                        count += 1
                        if not side.holds:
                            where = f"{run}, client {client}"
                            return false(where, side, run=str(run), round=r, client=client, t=t + 1)
    return Verdict(
        Status.TESTED, f"FedBCGD on noisy quadratics, clients' models between local steps: {count} comparisons"
    )


def blocks(statement: Statement, full: bool = False) -> Verdict:
    """Every order of the clients: S = N K of them, K in each client block, each equally likely; coordinates partitioned."""
    shapes = (
        (3, 1, 2, None, 0),
        (4, 2, 2, (3, 1), 1),
        (4, 2, 1, (1, 2), 2),
        (4, 3, 1, (2, 1, 1), 1),
        (3, 3, 1, None, 2),
    )
    orders_seen = 0
    for M, N, K, sizes, share in shapes:
        problem, where = generate(5, M, L=1.0, mu=0.5), f"M = {M}, N = {N}, K = {K}, shared block of {share}"
        algorithm = FedBCGD(1, 0.1, N, K, sizes=sizes, share=share)
        parts = list(algorithm.blocks(problem).values())
        covered = np.concatenate([np.arange(5)[part] for part in parts])
        orders = np.array(list(permutations(range(M), N * K)))
        clients, own = algorithm.sampling(problem, Draws.of_seeds(np.arange(len(orders)), 0, orders))
        clients = np.broadcast_to(clients, orders.shape)
        first = np.array([part.start for part in parts[:N]])
        member = own[..., first]  # (orders, S, N): the senders of block j
        for side in sides(statement.claim_of(Relations), {"S": algorithm.participants(problem), "N": N, "K": K}):
            if not side.holds:
                witness = {"N": N, "K": K, "S": algorithm.participants(problem), "right": side.right}
                return Verdict(Status.REFUTED, f"{where}: {side.says} is false", witness=witness)
        often = np.zeros((M, N), dtype=int)
        np.add.at(often, clients, member)
        one_each = (member.sum(2) == 1).all() and (member.sum(1) == K).all()
        if not (sorted(covered) == list(range(5)) and one_each and len(set(often.ravel())) == 1):
            witness = {"instance": where, "coordinates": covered.tolist(), "client by block": often.tolist()}
            return Verdict(Status.REFUTED, f"{where}: no partition, or unequal frequencies", witness=witness)
        orders_seen += len(orders)
    return Verdict(
        Status.TESTED,
        f"FedBCGD with {len(shapes)} choices of M, N, K and blocks, all {orders_seen} ordered samples: S = N K, every "
        "sampled client in one client block of K, each of the M clients equally often in each; each coordinate in one block",
    )


def _by_hand(problem: Logistic, x: Array, client: int) -> Array:
    """The losses of a client's samples at x, each plus the regularisation."""
    rows = problem.partition.clients[client]
    margin = (2 * problem.dataset.labels[rows] - 1) * (problem.dataset.features[rows] @ x)
    return np.log1p(np.exp(-margin)) + problem.regularisation / 2 * (x @ x)


def known_value(x: Array, value: float) -> ValueAndGradient:
    """A function by its value at one point.  At another it raises ValueError; its gradient is not used."""

    def at(point: Any) -> float:
        if not np.array_equal(point, x):
            raise ValueError(f"the function at {point}: expected it at {x}")
        return value

    return ValueAndGradient(at, np.zeros_like)


def problem(statement: Statement, full: bool = False) -> Verdict:
    """(1) on logistic regression: the objective is the mean of the clients', a client's the mean of its samples' losses."""
    found, count = logistic(), 0
    base = IndexedBase("f_i", real=True)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(found.d)
        values = found.client_values(x)
        for m in range(found.M):
            losses = _by_hand(found, x, m)
            known = {"f": known_value(x, float(found.value(x))), "f_i": known_value(x, float(values[m])), "x": x,
                     "M": found.M, "n_i": len(losses), "over_M": values.tolist(), "over_n_i": losses.tolist()}  # fmt: skip
            # the two sums run over different families with the same symbol
            apart = [
                r.replace(
                    lambda part: isinstance(part, Sum),
                    lambda s: Sum(s.function.xreplace({base: IndexedBase(f"over_{s.limits[0][2]}")}), *s.limits),
                )
                for r in statement.claim_of(Relations).relations
            ]
            for side in sides(Relations(tuple(apart)), known):
                count += 1
                if not side.holds:
                    return false(f"{found.name}, client {m + 1}", side, problem=found.name, client=m + 1)
    return Verdict(Status.TESTED, f"{found.name}, three points, {count} comparisons")


@dataclass(frozen=True)
class Outcome:
    """A round with a given sample, division and noise.

    sums  by client, the sum of its T gradients; all coordinates are equal
    """

    run: ExactRun
    x_next: Vector
    sums: Mapping[int, Fraction]

    def block(self, j: int) -> dict[str, Any]:
        """The values of the symbols of (8) and (9) for a block, numbered from 0."""
        K = self.run.K
        parts = [self.sums[i] for i in self.run.order[j * K : (j + 1) * K]]
        return {"M": Fraction(len(self.run.clients)), "K": Fraction(K), "eta": self.run.eta, "x_r": self.run.start[j],
                "x_next": self.x_next[j], "local_sum": parts, "G_r": mean(parts)}  # fmt: skip


def _outcomes(N: int, K: int, id_: str = "fedbcgd.alg1.corrected") -> Iterator[Outcome]:
    """Every sample and division of three parabolas, with every noise of two local steps; a block is one coordinate."""
    three = parabolas((1, 3), (Fraction(1, 2), -3), (2, 1))
    base = ExactRun(three, K=K, T=2, eta=_QUARTER, N=N, d=N, rounds=1, noise=Fraction(1))
    for order in permutations(range(1, 4), N * K):
        for flips in product((-1, 1), repeat=N * K * base.T):
            signs = dict(zip(product(order, range(1, base.T + 1)), flips, strict=True))
            run = replace(base, order=order, signs=signs)
            machine = run.machine(lines_of(id_))
            sums = dict.fromkeys(order, Fraction(0))
            for (client, _, _), g in machine.computed.items():
                sums[client] += g[0]
            yield Outcome(run, machine.value("x", 0, 0), sums)


def virtual_gradient(statement: Statement, full: bool = False) -> Verdict:
    """(7) to (10) in fractions, one round of the corrected lines without momentum, all samples, divisions and noises.

    Every block is one coordinate.  The printed lines send one step fewer, and count the step twice.
    """
    relations = [each(r, _symbols()["local_sum"]) for r in statement.claim_of(Relations).relations]
    count = 0
    for N, K in ((2, 1), (1, 2), (3, 1)):
        outcomes = tuple(_outcomes(N, K))
        own: dict[int, list[Fraction]] = {i: [] for i in range(1, 4)}
        for outcome in outcomes:
            for i in outcome.run.order:
                own[i].append(outcome.sums[i])
        means = [mean(own[i]) for i in sorted(own)]
        for j, relation in product(range(N), relations):
            law = [(sympy.Rational(1, len(outcomes)), {"G_r": o.block(j)["G_r"]}) for o in outcomes]
            expected = relation.has(Expectation)
            for outcome in outcomes[:1] if expected else outcomes:
                values = outcome.block(j) | ({"local_sum": means} if expected else {})
                left, right = (interpret(side, values, law, fraction) for side in relation.args)
                count += 1
                if left != right:
                    witness = {**outcome.run.told(), "block": j + 1, "left": str(left), "right": str(right)}
                    where = f"N = {N}, K = {K}, block {j + 1}"
                    return Verdict(Status.REFUTED, f"{where}: {plain(relation)} is false", witness=witness)
    printed = next(_outcomes(1, 2, "fedbcgd.alg1"))
    step, known = printed.run.start[0] - printed.x_next[0], printed.block(0)
    return Verdict(
        Status.TESTED,
        f"in fractions, one round of the corrected lines with lam = 0 on three parabolas with two-point noise, T = 2, every "
        f"sample, division and noise for (N, K) = (2, 1), (1, 2), (3, 1): {count} comparisons.  As printed, with K = 2, a "
        f"round moves x by {-step}, not by -eta G^r = {-known['eta'] * known['G_r']}",
    )


# ---------------------------------------------------------------------------------------------------------- variants


ABLATED = {name.replace(", ", "_").replace("non-share", "nonshare"): build for name, build in ABLATIONS.items()}


def _moves_only_own(run: Replay, algorithm: FedBCGD) -> bool:
    """Whether no client ever moves a block that it does not send."""
    for r, x, seen in _watched(run, algorithm):
        own = np.broadcast_to(algorithm.sampling(run.problem, run.draws(r))[1], (1, *seen[0].shape))[0]
        if any(np.any((y != x) & ~own) for y in seen):
            return False
    return True


def variant(statement: Statement, full: bool = False) -> Verdict:
    """The variant with the settings against the one of its name; only with freezing do clients move just their block."""
    claim = statement.claim_of(Record)
    settings = claim.settings
    named = re.match(r"FedBCGD_(\w+):", claim.claims[0])
    if not named or named[1] not in ABLATED:
        return Verdict(Status.OPEN, f"cannot read {claim.claims[0]!r}")
    compared = [run for run in replays() if run.T > 1 and run.N > 1]
    for run in compared:
        share = run.share or 1
        other = ABLATED[named[1]](run.T, run.eta, run.N, run.K, share, run.lam)
        own = FedBCGD(run.T, run.eta, run.N, run.K, run.lam if settings["momentum"] else 0.0,
                      share=share if settings["share"] else 0, freeze=settings["freeze"])  # fmt: skip
        a, b = run.models(own), run.models(other)
        if (r := first_apart(a, b)) is not None:
            witness = {"run": str(run), "settings": dict(settings), "round": r, "x": a[r].tolist(),
                       f"x of {named[1]}": b[r].tolist()}  # fmt: skip
            return Verdict(Status.REFUTED, f"{run}: not {named[1]}", witness=witness)
        own_alone, told = _moves_only_own(run, own), claim.claims[0].removeprefix(named[0])
        found = {"freeze": own_alone, "share": "share" in own.blocks(run.problem), "momentum": own.lam > 0}
        said = {"freeze": "freezing" in told, "share": "without" not in told, "momentum": "momentum" in told}
        if found != said:
            return Verdict(Status.REFUTED, f"{run}: not as the caption says", witness={"found": found, "said": said})
    numbers = ", ".join(f"{name} = {value}" for name, value in settings.items())
    plain = " and FedBCGD itself" if named[1] == "share_momentum" else ""
    return Verdict(
        Status.TESTED,
        f"FedBCGD with {numbers} is the ablation {named[1]}{plain} on {len(compared)} noisy quadratics, 3 rounds; a "
        f"client {'never moves' if settings['freeze'] else 'also moves'} blocks that it does not send",
    )
