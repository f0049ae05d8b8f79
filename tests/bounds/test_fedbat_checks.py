"""The checks of what the FedBAT paper sets up: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from sympy import Eq, Ne, Symbol

from fedtheory.bounds.fedbat.checks import evidence
from fedtheory.bounds.fedbat.checks.listings import LayeredRun, settings
from fedtheory.bounds.fedbat.checks.replay import Replay, layered
from fedtheory.bounds.trials.cases import Case, ExactVector, compared, number, relations, root
from fedtheory.bounds.trials.listings import Undefined, Unreadable, blocks
from fedtheory.simulations.algorithms.fedbat import VARIANTS, FedBAT
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.algorithms import ALG1, ALG1_CORRECTED, R, t
from fedtheory.theory.listing import End, Function, Line, Listing, Name, do, loop
from fedtheory.theory.proofs.mutation import mutations as changes
from fedtheory.theory.statement import Evidence, Relations, Statement, Status, Verdict, Words


def mutations(statement):
    """Changes of what a statement says, of its conditions and dimensions: (what, the statement changed)."""
    parts = ("assumption", "definition")
    return [(change.what, change.statement) for change in changes(statement) if change.part not in parts]


EVIDENCE = {(e.statement, e.kind): e for e in evidence()}
KEYS = [pytest.param(key, id=" ".join(key)) for key in EVIDENCE]


def verdict(statement: Statement, kind: str) -> Verdict:
    return EVIDENCE[statement.id, kind].check(statement, False)


def test_one_piece_a_statement_and_kind() -> None:
    assert len(EVIDENCE) == len(evidence())
    assert all(isinstance(e, Evidence) and catalogue.find(e.statement) for e in evidence())


@pytest.mark.parametrize("key", KEYS)
def test_no_other_right_side_of_an_equality_goes_unnoticed(key: tuple[str, str]) -> None:
    statement = catalogue.find(key[0])
    claim = statement.claim
    for i, relation in enumerate(claim.relations if isinstance(claim, Relations) else ()):
        if isinstance(relation, Eq) and relation.rhs != 0:
            changed = [
                new for what, new in mutations(statement) if what.startswith(f"relation {i + 1}: right side times")
            ]
            assert len(changed) == 5
            assert {verdict(new, key[1]).status for new in changed} == {Status.REFUTED}


@pytest.mark.parametrize("id_", ["eq6", "eq12", "c1.update", "c1.t0"])
def test_a_symbol_without_a_value_is_an_error(id_: str) -> None:
    kind = "run" if id_ in ("eq12", "c1.update") else "enumeration"
    changed = dict(mutations(catalogue.find(f"fedbat.{id_}")))["relation 1 times L"]
    with pytest.raises(ValueError, match="no value for 'L'"):
        verdict(changed, kind)


# The operator


def test_exact_vectors() -> None:
    x, y = ExactVector((Fraction(3), Fraction(4))), ExactVector((Fraction(1, 2), Fraction(0)))
    assert 0 + x == x and (x - y).entries == (Fraction(5, 2), 4)
    assert abs(x) ** 2 == 25 and abs(x) == 5.0 and root(2) ** 2 == 2 and root(2) ** 3 == pytest.approx(2 * 2**0.5)
    assert str(Fraction(1, 2) * y) == "(1/4, 0)"
    with pytest.raises(ValueError, match="expected two vectors"):
        x + 1


def test_relations_of_numbers() -> None:
    a, b = Symbol("a"), Symbol("b")
    case = Case("here", {"a": Fraction(1), "b": Fraction(2)})
    for relation, status in (
        (Eq(2 * a, b), Status.TESTED),
        (Ne(a, b), Status.TESTED),
        (b <= a, Status.REFUTED),
        (b < a, Status.REFUTED),
        (a < b, Status.TESTED),
        (b > a, Status.TESTED),
        (b >= a, Status.TESTED),
        (a >= b, Status.REFUTED),
    ):
        assert compared(Relations((relation,)), [case], "").status is status
    assert number(a / b, case) == Fraction(1, 2)
    with pytest.raises(ValueError, match="expected relations"):
        relations(Words("nothing"))


# Assumptions


# Updates


def test_a_replay_is_the_run() -> None:
    """Gradients are written down at the step's draws, and a weighted sample has its own shares."""
    run = Replay(layered(weighted=True), FedBAT(3, 0.05, 2))
    for round in run.history():
        assert len(round.asked) == 3 and round.shares.sum() == pytest.approx(1)
        assert round.shares[0] / round.shares[1] == pytest.approx((round.clients[0] + 1) / (round.clients[1] + 1))
        for step, (x, g) in enumerate(round.asked):
            for i, k in enumerate(round.clients):
                np.testing.assert_allclose(run.gradient(k + 1, x[i], round.r, step), g[i], rtol=1e-13)
    assert next(run.history()).before.tolist() == run.start.tolist()


# Algorithm 1


@pytest.mark.dear
@pytest.mark.parametrize("id_", ["fedbat.alg1", "fedbat.alg1.corrected"])
def test_no_change_of_a_line_goes_unnoticed(id_: str) -> None:
    """But for two first values, and, with a step before in any case, the step size a step's end earlier."""
    changed = list(mutations(catalogue.find(id_)))
    held = {what for what, new in changed if verdict(new, "run").status is not Status.REFUTED}
    free = {"lines 11 and 12 exchanged"} | ({"lines 16 and 17 exchanged"} if "corrected" in id_ else set())
    assert held == free
    assert len(changed) == 49


_SERVER = Line(2, 0, Function("server", (R,)))
_INPUT = Line(1, 0, do("inputs", "Input: {0}.", R))


@pytest.mark.parametrize(
    ("lines", "error", "says"),
    [
        ([Line(1, 0, End("for"))], Undefined, "nothing is open"),
        ([_SERVER], Undefined, "does not end"),
        ([_SERVER, Line(3, 1, Function("client", ())), Line(4, 1, End("function")), ALG1[9]], Undefined, "inside another"),
        ([Line(1, 0, loop(t, 0, 1, ends=True)), Line(2, 0, End("for"))], Undefined, "is outside all functions"),
        ([ALG1[10], ALG1[25]], Undefined, "no function server"),
        ([_INPUT, _SERVER, Line(3, 1, do("", "Do it.")), ALG1[9]], Unreadable, "line 3: cannot execute 'Do it.'"),
        ([_SERVER, ALG1[9]], Undefined, "R of server has no value"),
        ([_INPUT, _SERVER, Line(3, 1, loop(t, 0, Name("K"), ends=True)), ALG1[8], ALG1[9]], Undefined, "K has no value"),
        ([_INPUT, _SERVER, Line(3, 1, ALG1[15].steps[0]), ALG1[9]], Undefined, "not for the server"),
    ],
)  # fmt: skip
def test_what_cannot_be_executed(lines: list[Line], error: type[ValueError], says: str) -> None:
    setting = next(settings())
    with pytest.raises(error, match=says):
        setting.machine(setting.replay(FedBAT)).run(Listing(tuple(lines)))


def test_the_lines_nested() -> None:
    start, server, end, client, _ = blocks(ALG1_CORRECTED.lines)
    assert [b.line.number for b in (start, server, end, client)] == [1, 2, 9, 10]
    loop = client.body[2]
    assert loop.line.number == 13 and [b.line.number for b in loop.body] == [14, 16, 19, 21]
    assert [b.line.number for b in loop.body[2].body] == [20]
    assert str(client.body[3].line).startswith("  end for; if tau <= max(1, floor(phi tau)) then Initialize")


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
    learned = {name: build for name, build in VARIANTS.items() if name != "FedBAT, as analysed"}
    found = {name for name, build in learned.items() if np.abs(last(build) - machine.models[-1]).max() < 1e-12}
    # with one full-precision step of two the correction is in line 23 alone, as in "FedBAT" it is
    assert found == ({variant} if id_ == "alg1" else {variant, "FedBAT"})


# Baselines
