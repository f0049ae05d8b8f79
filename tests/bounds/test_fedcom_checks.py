"""The checks of what the FedCOM paper sets up and shows: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from sympy import Integer

from fedtheory.bounds.fedcom.checks import evidence
from fedtheory.bounds.fedcom.checks.assumptions import POINTS, UNBIASED, Message
from fedtheory.bounds.fedcom.checks.executor import Machine, Replay
from fedtheory.bounds.fedcom.checks.listings import SAMPLED, Exact, replays, tracking_errors
from fedtheory.bounds.trials.cases import Vector
from fedtheory.bounds.trials.listings import Place, Undefined
from fedtheory.simulations.compressors import Identity, RandK
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.algorithms import (
    ALG4,
    ALG4_MEAN_OF_SAMPLED,
    ALG5,
    ALG5_DAMPED,
    Delta,
    Delta_j,
    Q,
    S,
    delta_j,
    eta,
    gamma,
    j,
    mean,
    progress,
    r,
    sent,
    tau,
    tracking,
    w,
    w_j,
)
from fedtheory.theory.listing import Each, Line, Listing, Name, Step, call, do, let
from fedtheory.theory.proofs.mutation import mutations as changes
from fedtheory.theory.statement import Evidence, Record, Relations, Statement, Status, Verdict, Words


def mutations(statement):
    """Changes of what a statement says, of its conditions and dimensions: (what, the statement changed)."""
    parts = ("assumption", "definition")
    return [(change.what, change.statement) for change in changes(statement) if change.part not in parts]


EVIDENCE = {(e.statement, e.kind): e for e in evidence()}
REFUTED = {("fedcom.alg4", "counterexample"), ("fedcom.alg5", "counterexample")}
LISTINGS = [key for key in EVIDENCE if isinstance(catalogue.find(key[0]).claim, Listing)]


@cache
def printed(key: tuple[str, str]) -> Verdict:
    return EVIDENCE[key].check(catalogue.find(key[0]), False)


def verdict(statement: Statement, kind: str) -> Verdict:
    return EVIDENCE[statement.id, kind].check(statement, False)


def test_one_piece_a_statement_and_kind() -> None:
    assert len(EVIDENCE) == len(evidence())
    assert all(isinstance(e, Evidence) and catalogue.find(e.statement) for e in evidence())


# Listings


@pytest.mark.parametrize("key", LISTINGS, ids=" ".join)
def test_no_change_of_a_line_goes_unnoticed(key: tuple[str, str]) -> None:
    """But for lines whose order does not matter: two first values, and two updates that do not use each other."""
    changed = [(what, new) for what, new in mutations(catalogue.find(key[0])) if not what.startswith("besides")]
    held = {what for what, new in changed if verdict(new, key[1]).status is not Status.REFUTED}
    free = {"lines 1 and 2 exchanged", "lines 11 and 12 exchanged"} if key[0].startswith("fedcom.alg5") else set()
    assert held <= free
    assert len(changed) > 10


def with_line(id_: str, line: Line) -> Statement:
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Listing)
    return statement.with_claim(statement.claim.having(line))


_difference = Delta_j[r] - Delta[r]


@pytest.mark.parametrize(
    ("id_", "line", "status"),
    [
        ("fedcom.alg1", Line(3, 2, let(w_j[0, r], w[r + 1])), Status.REFUTED),
        ("fedcom.alg1", sent(Delta_j[r], progress / eta, 6), Status.REFUTED),
        ("fedcom.alg1", sent(Delta_j[r], Q(progress) / eta, 6), Status.TESTED),
        ("fedcom.alg1", Line(7, 1, let(w[r + 1], w[r] - gamma * mean(Delta_j[r]))), Status.REFUTED),
        ("fedcom.alg1", Line(7, 1, do("", "w^(r+1) is w^(r) after a step")), Status.OPEN),
        ("fedcom.alg2", Line(10, 2, let(delta_j[r + 1], 1 / tau * _difference)), Status.REFUTED),
        ("fedcom.alg2.corrected", tracking(1 / tau, _difference, 10), Status.REFUTED),
        ("fedcom.alg2", tracking(1 / tau, _difference, 10), Status.TESTED),
        ("fedcom.alg4", ALG4_MEAN_OF_SAMPLED[9], Status.REFUTED),
        ("fedcom.alg4.corrected", ALG4[9], Status.REFUTED),
        ("fedcom.alg5", ALG5_DAMPED[12], Status.REFUTED),
    ],
    ids=str,
)  # fmt: skip
def test_a_changed_line(id_: str, line: Line, status: Status) -> None:
    assert verdict(with_line(id_, line), "run").status is status


def test_a_changed_relation_beside_a_listing() -> None:
    held = [what for what, new in mutations(catalogue.find("fedcom.alg1"))
            if what.startswith("besides") and "times L" not in what
            and verdict(new, "run").status is not Status.REFUTED]  # fmt: skip
    assert held == []


def test_a_listing_by_hand() -> None:
    problem = from_functions([0.5, 0.5], [1.0, -1.0])
    lines = catalogue.find("fedcom.alg2").claim
    assert isinstance(lines, Listing)
    machine = Replay(problem, tau=2, eta=0.5, gamma=1.0, rounds=2).machine(lines)
    # From w = 1: client 1 goes to 0 and -1/2, client 2 to 1 and 1.
    assert [float(machine.value("w", j, c, 0)[0]) for j in (1, 2) for c in (1, 2)] == [0, -0.5, 1, 1]
    assert [float(machine.value("Delta", j, 0)[0]) for j in (1, 2)] == [3, 0]
    assert [float(machine.value("delta", j, 1)[0]) for j in (1, 2)] == [0.75, -0.75]
    assert machine.value("w", 0, 1) == 1 - 0.5 * 1.5


def test_who_sits_out_keeps_what_it_has() -> None:
    machine = SAMPLED[0].machine(catalogue.find("fedcom.alg4").claim)  # type: ignore[arg-type]
    assert machine.value("S", 0, 0) == (1,)
    assert machine.value("delta", 2, 1) == machine.value("delta", 2, 0) == 0
    with pytest.raises(Undefined, match=r"w_2\^\(1,0\) has no value"):
        machine.value("w", 2, 1, 0)


@pytest.mark.parametrize(
    "step",
    [
        let(w[1], w[0] * w[0]),
        let(w[1], 1 / w[0]),
        let(w[1], Q(w[0])),
        let(w[1], delta_j[0]),
        let(w[1], Name("p") * w[0]),
        let(w[Name("s")], w[0]),
        Each(j, S[0]),
        let(w[0], 1),  # no w^(1)
        let(w[1], call("||", S[0]) * w[0]),
        do("sample", "sample the clients"),
    ],
    ids=str,
)
def test_what_cannot_be_executed(step: Step) -> None:
    replay = Replay(generate(2, 2, L=1.0, mu=0.5, seed=0), tau=1, rounds=1)
    with pytest.raises(Undefined):
        replay.machine(Listing((Line(1, 0, step),)))


def test_replays_have_the_draws_of_the_implementation() -> None:
    """Independent coins differ between clients, shared ones do not; noise differs between steps."""
    run = next(r for r in replays((RandK(1),)) if r.problem.M == 4)
    v = np.ones(3)
    assert len({tuple(run.compress(j, v, 0)) for j in (1, 2, 3, 4)}) > 1
    shared = replace(run, compressor=RandK(1, shared=True))
    assert len({tuple(shared.compress(j, v, 0)) for j in (1, 2, 3, 4)}) == 1
    assert not np.array_equal(run.gradient(1, v, 0, 0), run.gradient(1, v, 0, 1))


# What the printed listings do


def carried_out(run: Exact, id_: str) -> Machine:
    claim = catalogue.find(id_).claim
    assert isinstance(claim, Listing)
    return run.machine(claim)


@pytest.mark.parametrize("run", SAMPLED, ids=str)
def test_the_pull_to_the_start_is_exact(run: Exact) -> None:
    machine = carried_out(run, "fedcom.alg4")
    w = run.series(machine, "w")
    deltas = [run.series(machine, "delta", j) for j in range(1, run.m + 1)]
    pull = (1 - Fraction(run.S, run.m)) / (run.eta * run.gamma * run.tau)
    assert all(sum(d[r] for d in deltas) / run.m == pull * (w[0] - w[r]) for r in range(run.rounds + 1))


def test_the_witness_of_algorithm_4() -> None:
    """f = w^2/2 + 9/2, from 2: the run comes to rest at 1, where delta_j = f_j'(1) = -2 and 4, of mean 1."""
    witness = printed(("fedcom.alg4", "counterexample")).witness
    assert (witness["rest"], witness["f'(rest)"], witness["minimiser"]) == (1, 1, 0)
    machine = carried_out(SAMPLED[0], "fedcom.alg4")
    deltas = [float(SAMPLED[0].series(machine, "delta", j)[-1]) for j in (1, 2)]
    assert deltas == pytest.approx([-2, 4], abs=1e-6)
    assert abs(witness["w^(80) - rest"]) < 1e-8


@pytest.mark.parametrize(("printed_id", "number"), [("fedcom.alg4", 9), ("fedcom.alg5", 12)])
def test_the_corrected_line_in_the_printed_listing_passes(printed_id: str, number: int) -> None:
    claim = catalogue.find(f"{printed_id}.corrected").claim
    assert isinstance(claim, Listing)
    repaired = with_line(printed_id, claim[number])
    assert verdict(repaired, "counterexample").status is Status.TESTED


def test_a_listing_with_half_a_step_of_the_tracking_still_comes_to_the_minimiser() -> None:
    damped = with_line("fedcom.alg4.corrected", tracking(1 / (2 * tau), _difference, 11))
    assert verdict(damped, "counterexample").status is Status.TESTED
    still = with_line("fedcom.alg4.corrected", Line(12, 1, let(w[r + 1], w[r])))
    assert verdict(still, "counterexample").status is Status.REFUTED


def test_the_witness_of_algorithm_5() -> None:
    """Nothing left out, messages 0 and 3/4: nu_1 = 0 + (1/2) 0 - 3/8, nu_2 = (1/2) 3/4 - 3/8."""
    witness = printed(("fedcom.alg5", "counterexample")).witness
    assert (witness["nu_1"], witness["nu_2"]) == (Fraction(-3, 8), 0)
    assert witness["w^(2)"] != witness["w^(2) of FedGATE"]


def test_tracking_by_ones_own_progress_needs_no_damping() -> None:
    """Line 11 with the message for the client's own progress, undamped, diverges; with either cure it converges."""
    own = catalogue.find("fedcom.alg5.own")
    assert verdict(own, "run").status is Status.TESTED
    assert verdict(with_line("fedcom.alg5.own", ALG5[11]), "run").status is Status.REFUTED
    damped = catalogue.find("fedcom.alg5.corrected").claim
    assert verdict(own.with_claim(damped), "run").status is Status.TESTED


def test_top_1_of_four_coordinates_blows_up_the_tracking() -> None:
    claim = catalogue.find("fedcom.alg5.corrected").claim
    assert isinstance(claim, Listing)
    undamped = with_line("fedcom.alg5.corrected", ALG5[11]).claim
    assert isinstance(undamped, Listing)
    assert [tracking_errors(undamped, 4, 1, 40)[r] for r in (1, 10, 20, 40)] == [1, 8, 64, 8192]
    assert tracking_errors(undamped, 4, 2, 40)[-1] == 0
    assert tracking_errors(claim, 4, 1, 40)[10:] == [0] * 31
    assert tracking_errors(claim, 10, 3, 40)[-1] < Fraction(1, 10**6)


# Assumptions


@pytest.mark.parametrize("name", ["asm1", "asm2", "asm3", "asm4", "asm5", "asm6", "asm7"])
def test_no_smaller_constant_would_do(name: str) -> None:
    kind = "enumeration" if name in ("asm2", "asm5") else "run"
    assert printed((f"fedcom.{name}", kind)).slack == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("Q", [Q for Q in UNBIASED if not isinstance(Q, Identity)], ids=repr)
def test_every_certified_q_is_attained_at_some_point(Q: object) -> None:
    ratios = []
    for point in POINTS:
        x = np.array(point, dtype=float)
        ratios.append(Q.error(x) / (x @ x) / Q.q(4).value)  # type: ignore[attr-defined]
    assert max(ratios) == pytest.approx(1, abs=1e-12)


def test_a_factor_below_one_is_refuted_exactly() -> None:
    statement = catalogue.find("fedcom.asm2")
    assert isinstance(statement.claim, Relations)
    mean, spread = statement.claim.relations
    less = spread.func(spread.args[0], Integer(10**9 - 1) / 10**9 * spread.args[1])
    found = verdict(statement.with_claim(Relations((mean, less))), "enumeration")
    assert found.status is Status.REFUTED
    assert found.witness["left"] > "0"


def test_a_sum_of_messages_is_nobodys() -> None:
    x, y = Message((Fraction(3), Fraction(4)), sender=1), Vector((Fraction(1, 2), Fraction(0)))
    assert type(x + 0) is type(0 + x) is type(x + y) is Vector and x + 0 == Vector(x.entries)


def test_there_is_no_G_q_for_independent_coins() -> None:
    assert "0.5, 50, 5000 for t = 1, 10, 100" in printed(("fedcom.asm5", "enumeration")).says


# Figures


def record(id_: str, claims: tuple[str, ...] | None = None, **settings: object) -> Statement:
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Record)
    claim = replace(statement.claim, settings={**statement.claim.settings, **settings})
    return statement.with_claim(claim if claims is None else replace(claim, claims=claims))


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("2 classes per client", "5 classes per client", Status.ANALOGUE),
        ("at most 4 of", "at most 2 of", Status.ANALOGUE),
        ("at most 4 of", "few of", Status.OPEN),
        ("2 classes per client", "3 classes per client", Status.OPEN),
    ],
)
def test_figure_7_told_otherwise(old: str, new: str, status: Status) -> None:
    statement = catalogue.find("fedcom.fig7")
    assert isinstance(statement.claim, Words) and old in statement.claim.text
    changed = replace(statement.claim, text=statement.claim.text.replace(old, new))
    found = verdict(statement.with_claim(changed), "run")
    assert found.status is status and bool(found.witness) == (status is Status.ANALOGUE)
    assert printed(("fedcom.fig7", "run")).status is Status.ANALOGUE and not printed(("fedcom.fig7", "run")).witness


NO_RATIO, A_RATIO = "no ratio near FedGATE", "a ratio near FedGATE"
NO_RESIDUAL, A_RESIDUAL = "no residual error at C_r = 0.1", "a residual error at C_r = 0.1"


@pytest.mark.parametrize(
    ("lines", "first", "second"),
    [
        ("fedcom.alg5", (NO_RATIO, None), (None, A_RESIDUAL)),
        ("fedcom.alg5.corrected", (None, A_RATIO), (NO_RESIDUAL, None)),
    ],
)
def test_figure_8(lines: str, first: tuple, second: tuple) -> None:
    """Something speaks against a sentence or against its contrary, never both; neither is refuted.

    As printed, no ratio comes near FedGATE; corrected, they all do, so that no residual error is left at C_r = 0.1.
    """
    statement = replace(catalogue.find("fedcom.fig8"), rests_on=(lines,))
    changed = {what: new for what, new in mutations(statement) if what.startswith("claim")}
    assert set(changed) == {"claim 1: a different", "claim 1: another", "claim 2: convergence"}
    for what, new in {"": statement, **changed}.items():
        expected = {first["claim 1" in what], second["claim 2" in what]} - {None}
        found = verdict(new, "run")
        assert set(found.witness or ()) == expected, what
        assert found.status is Status.ANALOGUE


def test_figure_8_at_another_ratio() -> None:
    found = verdict(record("fedcom.fig8", ("a residual error at the compression ratio C_r = 0.5",)), "run")
    assert found.status is Status.ANALOGUE and not found.witness
    found = verdict(record("fedcom.fig8", ("a convergence at the compression ratio C_r = 0.5",)), "run")
    assert list(found.witness) == ["a residual error at C_r = 0.5"]
    assert verdict(record("fedcom.fig8", ("a residual error",)), "run").status is Status.OPEN


@pytest.mark.parametrize(("key", "value"), [("clients", 0), ("k", 0.0), ("k", 1.3), ("learning rate", 0.0)])
def test_figure_6_cannot_be_with_such_settings(key: str, value: float) -> None:
    assert verdict(record("fedcom.fig6", **{key: value}), "run").status is Status.REFUTED


def test_figure_6_told_otherwise() -> None:
    slower = ("SCAFFOLD and FedAvg have the fastest convergence in communication and in time",)
    assert verdict(record("fedcom.fig6", slower), "run").witness
    assert verdict(record("fedcom.fig6", ("all are fast",)), "run").status is Status.OPEN
    # with the divisor that Algorithm 4 prints
    found = verdict(replace(catalogue.find("fedcom.fig6"), rests_on=("fedcom.alg4",)), "run")
    assert found.status is Status.ANALOGUE
    assert found.witness["loss after 150 rounds"]["FedCOMGATE"] > 2


TOLD = {("fedcom.fig6", "run"): 2, ("fedcom.fig9", "moments"): 4}


@pytest.mark.parametrize(("key", "number"), [(key, i) for key, count in TOLD.items() for i in range(count)])
def test_a_figure_told_otherwise(key: tuple[str, str], number: int) -> None:
    """Against a sentence's contrary something speaks, against the sentences nothing; none is refuted or holds."""
    changed = [new for what, new in mutations(catalogue.find(key[0])) if what.startswith("claim")]
    assert len(changed) == TOLD[key]
    found = verdict(changed[number], key[1])
    assert found.witness and not printed(key).witness
    assert found.status is printed(key).status is Status.ANALOGUE


def test_figure_9_cannot_be_read() -> None:
    a, b = catalogue.find("fedcom.fig9").claim.claims  # type: ignore[union-attr]
    for sentences in ((a,), (b,), (a, b, "(c) more")):
        assert verdict(record("fedcom.fig9", sentences), "moments").status is Status.OPEN


def test_a_place_reads_as_in_the_paper() -> None:
    assert str(Place("w", 2, "", (1, 0))) == "w_2^(1,0)" and str(Place("w", 0, "", (3,))) == "w^(3)"
