"""The checks of what the papers set up: listings are executed, what has no value is named; `test_score` changes lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from sympy import Eq, IndexedBase, Sum, Symbol

from fedtheory.bounds.fedbat.checks.listings import LayeredRun, settings
from fedtheory.bounds.fedbat.checks.replay import Replay as Learning, layered
from fedtheory.bounds.fedbcgd.checks.listings import each, replays as of_blocks
from fedtheory.bounds.fedcom.checks.executor import Replay as Compressing
from fedtheory.bounds.fedcom.checks.listings import replays
from fedtheory.bounds.sfl.checks.listings import Replay
from fedtheory.bounds.trials.listings import Place, Undefined, Unreadable, blocks, round_or_lines
from fedtheory.simulations.algorithms.fedbat import VARIANTS, FedBAT
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.algorithms import ALG1 as LEARNED, ALG1_CORRECTED, R, t
from fedtheory.theory.fedbcgd import algorithms as a
from fedtheory.theory.fedbcgd.symbols import M, c_i
from fedtheory.theory.fedcom.algorithms import Q, S, delta_j, j, w
from fedtheory.theory.listing import (
    Each,
    End,
    Expression,
    Function,
    Gradient,
    Line,
    Listing,
    Name,
    Number,
    Total,
    Variable,
    call,
    do,
    let,
    loop,
    names,
)
from fedtheory.theory.proofs.mutation import mutations
from fedtheory.theory.sfl.algorithms import SEQUENTIAL, r, x, x_m
from fedtheory.theory.statement import Evidence, Relations, Statement, Status, Verdict
from fedtheory.verification import evidence

EVIDENCE: dict[tuple[str, str], Evidence] = {
    (e.statement, e.kind): e for paper in catalogue.papers() for e in evidence(paper)
}


def verdict(statement: Statement, kind: str = "run") -> Verdict:
    return EVIDENCE[statement.id, kind].check(statement, False)


@pytest.mark.parametrize("printed", ["fedbcgd.alg1", "fedbcgd.alg3", "fedbat.alg1", "fedcom.alg4", "fedcom.alg5"])
def test_the_printed_form_is_not_the_corrected_one(printed: str) -> None:
    one, two = catalogue.find(printed), catalogue.find(f"{printed}.corrected")
    for statement, other in ((one, two), (two, one)):
        assert verdict(statement.with_claim(other.claim)).status is Status.REFUTED


@pytest.mark.parametrize(("name", "lost"), [("alg1", "v"), ("alg3", "v"), ("alg3", "c")])
def test_a_listing_needs_what_it_assumes_of_the_start(name: str, lost: str) -> None:
    statement = catalogue.find(f"fedbcgd.{name}.corrected")
    rest = tuple(one for one in statement.assumes if one != f"fedbcgd.alg{1 if lost == 'v' else 3}.initial")
    assert len(rest) == len(statement.assumes) - 1
    found = verdict(replace(statement, assumes=rest))
    assert found.status is Status.REFUTED and re.search(rf"{lost}\S*\^\S* has no value", found.says)


# What cannot be executed

Run = Callable[[tuple[Line, ...]], Any]


def sequential(lines: tuple[Line, ...]) -> Any:
    return Replay(generate(2, 2, L=1.0, mu=0.5, seed=0), K=1, eta=0.1, rounds=1).machine(Listing(lines))


def compressed(lines: tuple[Line, ...]) -> Any:
    return Compressing(generate(2, 2, L=1.0, mu=0.5, seed=0), tau=1, rounds=1).machine(Listing(lines))


def in_blocks(lines: tuple[Line, ...]) -> Any:
    run = next(run for run in of_blocks() if run.N == 2 and run.T == 2)
    return run.machine(a.ALG1.having(*lines) if lines[0].number > 1 else Listing(lines))


def learned(lines: tuple[Line, ...]) -> Any:
    setting = next(settings())
    return setting.machine(setting.replay(FedBAT)).run(Listing(lines))


x_j, x_kj = a.x.block(a.j), a.x_kj.block(a.j)
SERVER, INPUT = Line(2, 0, Function("server", (R,))), Line(1, 0, do("inputs", "Input: {0}.", R))
SAMPLED = Line(1, 0, do("sample", "sample {0} clients", a.N * a.K))
REFUSED: list[tuple[Run, tuple[Line, ...], str]] = [
    (sequential, (SEQUENTIAL[1], Line(2, 1, let(x[r + 1], x_m.of(Number(1))[r, 0]))), r"line 2: x_1\^\(0,0\) has no value"),
    (sequential, (Line(1, 0, do("", "let x be")),), "line 1: cannot execute 'let x be'"),
    (sequential, (Line(1, 0, do("sample", "sample")),), "line 1: r has no value"),
    (sequential, (Line(1, 0, let(x[1], x[0])), Line(2, 2, let(x[2], x[1]))), "line 1 does not have the depth of its block"),
    *(
        (compressed, (Line(1, 0, step),), r"line 1|w\^\(1\) has no value")
        for step in (
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
        )
    ),
    *(
        (in_blocks, (Line(20, 2, step),), "line 2[01]")
        for step in (
            let(x_j[a.r], 1 / a.K * Total(Name("i"), a.K, x_kj[a.r, a.T])),
            let(x_j[a.r], x_j[a.r - 1] * x_j[a.r - 1]),
            let(x_j[a.r], Name("q") * x_j[a.r - 1]),
            let(x_j[a.r], a.mean(x_kj[a.r, a.T - 1])),
            let(x_j[a.r], 1 / a.K * Total(a.j, a.N, x_kj[a.r, a.T])),
            let(x_j[a.r], a.mean(a.x_kj.block("s")[a.r, a.T])),
            let(x_j[a.r], a.x[a.r - 1]),
            let(x_j[a.r], x_j[Name("p")]),
            let(x_kj[a.r, a.T], x_j[a.r - 1]),
        )
    ),
    (in_blocks, (SAMPLED,), "line 1: r has no value"),
    (in_blocks, (Line(14, 3, do("send", "send {0}", x_kj[a.r, a.T])),), "line 23: .* has not been sent"),
    (learned, (Line(1, 0, End("for")),), "nothing is open"),
    (learned, (SERVER,), "does not end"),
    (learned, (SERVER, Line(3, 1, Function("client", ())), Line(4, 1, End("function")), LEARNED[9]), "inside another"),
    (learned, (Line(1, 0, loop(t, 0, 1, ends=True)), Line(2, 0, End("for"))), "is outside all functions"),
    (learned, (LEARNED[10], LEARNED[25]), "no function server"),
    (learned, (INPUT, SERVER, Line(3, 1, do("", "Do it.")), LEARNED[9]), "line 3: cannot execute 'Do it.'"),
    (learned, (SERVER, LEARNED[9]), "R of server has no value"),
    (learned, (INPUT, SERVER, Line(3, 1, loop(t, 0, Name("K"), ends=True)), LEARNED[8], LEARNED[9]), "K has no value"),
    (learned, (INPUT, SERVER, Line(3, 1, LEARNED[15].steps[0]), LEARNED[9]), "not for the server"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "lines", "says"), REFUSED)
def test_what_cannot_be_executed(run: Run, lines: tuple[Line, ...], says: str) -> None:
    """A line that is not understood is another error than one that has no value."""
    with pytest.raises(Unreadable if "cannot execute" in says else Undefined, match=says):
        run(lines)


# How a listing is read


def test_the_lines_nested() -> None:
    start, server, end, client, _ = blocks(ALG1_CORRECTED.lines)
    assert [b.line.number for b in (start, server, end, client)] == [1, 2, 9, 10]
    loop = client.body[2]
    assert loop.line.number == 13 and [b.line.number for b in loop.body] == [14, 16, 19, 21]
    assert [b.line.number for b in loop.body[2].body] == [20]
    assert str(client.body[3].line).startswith("  end for; if tau <= max(1, floor(phi tau)) then Initialize")


def test_a_place_and_a_summand() -> None:
    """A place reads as in the paper; a summand gets the index of its sum."""
    assert str(Place("w", 2, "", (1, 0))) == "w_2^(1,0)" and str(Place("w", 0, "", (3,))) == "w^(3)"
    i = Symbol("i", integer=True)
    assert each(Sum(c_i, (i, 1, M)), c_i) == Sum(IndexedBase("c_i", real=True)[i], (i, 1, M))


def test_replays_have_the_draws_of_the_implementation() -> None:
    """Independent coins differ between clients, shared ones do not; noise differs between steps."""
    run = next(r for r in replays((RandK(1),)) if r.problem.M == 4)
    v = np.ones(3)
    assert len({tuple(run.compress(j, v, 0)) for j in (1, 2, 3, 4)}) > 1
    shared = replace(run, compressor=RandK(1, shared=True))
    assert len({tuple(shared.compress(j, v, 0)) for j in (1, 2, 3, 4)}) == 1
    assert not np.array_equal(run.gradient(1, v, 0, 0), run.gradient(1, v, 0, 1))


def test_a_replay_is_the_run() -> None:
    """Gradients are written down at the step's draws, and a weighted sample has its own shares."""
    run = Learning(layered(weighted=True), FedBAT(3, 0.05, 2))
    for round in run.history():
        assert len(round.asked) == 3 and round.shares.sum() == pytest.approx(1)
        assert round.shares[0] / round.shares[1] == pytest.approx((round.clients[0] + 1) / (round.clients[1] + 1))
        for step, (at, g) in enumerate(round.asked):
            for i, k in enumerate(round.clients):
                np.testing.assert_allclose(run.gradient(k + 1, at[i], round.r, step), g[i], rtol=1e-13)
    assert next(run.history()).before.tolist() == run.start.tolist()


@pytest.mark.parametrize(
    ("id_", "variant"), [("alg1", "FedBAT, line 23 as printed"), ("alg1.corrected", "FedBAT, corrected")]
)
def test_each_listing_is_its_own_variant(id_: str, variant: str) -> None:
    """And not the other: printed and corrected differ in what they do."""
    claim = catalogue.find(f"fedbat.{id_}").claim
    assert isinstance(claim, Listing)
    setting = LayeredRun(2, Fraction(1, 2), 6.0, 2, True)

    def last(build: Callable[..., object]) -> np.ndarray:
        return list(setting.replay(build).history())[-1].after

    machine = setting.machine(setting.replay(FedBAT)).run(claim)
    every = {name: build for name, build in VARIANTS.items() if name != "FedBAT, as analysed"}
    found = {name for name, build in every.items() if np.abs(last(build) - machine.models[-1]).max() < 1e-12}
    # with one full-precision step of two the correction is in line 23 alone, as in "FedBAT" it is
    assert found == ({variant} if id_ == "alg1" else {variant, "FedBAT"})


# Relations and figures


OF_VALUES = [key for key in EVIDENCE if key[0].startswith("fedbat.") and key[1] in ("run", "enumeration")]


@pytest.mark.parametrize("key", OF_VALUES, ids=" ".join)
def test_no_other_right_side_of_an_equality_goes_unnoticed(key: tuple[str, str]) -> None:
    statement = catalogue.find(key[0])
    for i, relation in enumerate(statement.claim.relations if isinstance(statement.claim, Relations) else ()):
        if isinstance(relation, Eq) and relation.rhs != 0:
            what = f"relation {i + 1}: right side times"
            changed = [one.statement for one in mutations(statement) if one.what.startswith(what)]
            assert len(changed) == 5 and {verdict(new, key[1]).status for new in changed} == {Status.REFUTED}


@pytest.mark.parametrize(
    ("id_", "kind"), [("eq6", "enumeration"), ("eq12", "run"), ("c1.update", "run"), ("c1.t0", "enumeration")]
)
def test_a_symbol_without_a_value_is_an_error(id_: str, kind: str) -> None:
    changed = {one.what: one.statement for one in mutations(catalogue.find(f"fedbat.{id_}"))}["relation 1 times L"]
    with pytest.raises(ValueError, match="no value for 'L'"):
        verdict(changed, kind)


# The lines of a paper outside against the code of its algorithm


_r, _i, _k, _eta, _K, _M, _R = names("r i k eta K M R")
_x, _y, _c = Variable("x", "x^({0})"), Variable("y", "y_{client}^({0},{1})", client=_i), Variable("c", "c^({0})")
_g = Gradient(_i, _y[_r, _k], _k, "g_i")


def local_steps(step: Expression) -> Statement:
    lines = (
        Line(1, 0, loop(_r, 0, _R - 1)),
        Line(2, 1, loop(_i, 1, _M, parallel=True)),
        Line(3, 2, let(_y[_r, 0], _x[_r])),
        Line(4, 2, loop(_k, 0, _K - 1)),
        Line(5, 3, let(_y[_r, _k + 1], step)),
        Line(6, 1, let(_x[_r + 1], 1 / _M * Total(_i, _M, _y[_r, _K]))),
    )
    return Statement("mine.alg1", "algorithm", "Algorithm 1", Listing(lines))


@pytest.mark.parametrize(
    ("step", "algorithms", "status", "says"),
    [
        (_y[_r, _k] - _eta * _g, {"PFL": PFL}, Status.TESTED, "make the models of PFL"),
        (_y[_r, _k] - _eta * _g, {"PFL": partial(PFL, K=3)}, Status.TESTED, "make the models of PFL"),
        (_y[_r, _k] - _eta * _g, {"SCAFFOLD": SCAFFOLD, "PFL": PFL}, Status.TESTED, "make the models of PFL"),
        (_y[_r, _k] + _eta * _g, {"PFL": PFL}, Status.ERROR, "mine.alg1: after round 1 the lines have x = "),
        (_y[_r, _k] - _eta * _c[_r], {"PFL": PFL}, Status.OPEN, "line 5: c^(0) has no value"),
        (_y[_r, _k] - _eta * _g, {}, Status.OPEN, "no algorithm"),
    ],
)
def test_lines_against_code(step, algorithms, status, says) -> None:
    found = round_or_lines(local_steps(step), False, algorithms=algorithms)
    assert found.status is status and says in found.says
