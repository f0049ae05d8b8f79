"""The experimental statements of sfl: every check runs, and every check can go both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from theory import catalogue
from theory.sfl.checks import tables as experiments_evidence
from theory.statement import Evidence, Record, Statement, Status, Verdict

EVIDENCE = {e.statement: e for e in experiments_evidence.evidence()}
Row = Mapping[str, Any]


def verdict(statement: Statement) -> Verdict:
    return EVIDENCE[statement.id].check(statement, False)


def record(statement: Statement) -> Record:
    assert isinstance(statement.claim, Record)
    return statement.claim


def edited(id_: str, change: Callable[[Row], Row], **where: Any) -> Statement:
    """The statement with `change` applied to the one row in which `where` holds."""
    statement = catalogue.find(id_)
    claim = record(statement)
    hits = [where.items() <= row.items() for row in claim.table]
    assert sum(hits) == 1, f"{where} names {sum(hits)} rows of {id_}"
    table = tuple(change(row) if hit else row for row, hit in zip(claim.table, hits, strict=True))
    return statement.with_claim(replace(claim, table=table))


def put(key: str, value: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, key: value}


def put_in(key: str, inner: float, value: float) -> Callable[[Row], Row]:
    return lambda row: {**row, key: {**row[key], inner: value}}


def refuted_only_by(statement: Statement, *names: str) -> None:
    """The check refutes the statement, and its witness names exactly these mismatches."""
    found = verdict(statement)
    assert found.status is Status.REFUTED
    assert set(found.witness) == set(names)


@pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE)
def test_every_check_decides(evidence: Evidence) -> None:
    found = evidence.check(catalogue.find(evidence.statement), False)
    assert found.status in (Status.TESTED, Status.REFUTED)
    assert bool(found.witness) == (found.status is Status.REFUTED)


# --- Table 8 ---------------------------------------------------------------------------------------------------------

TABLE_8_EDITS = [
    ("row 7, PFL, Lr exponent", "lr", -1.5),
    ("row 7, PFL, short-run accuracy", "short", 28.97),
    ("row 7, PFL, long-run gain", "long gain", 7.3),
    ("row 7, PFL, long-run mark", "long gain", None),
    ("row 7, PFL, short-run mark", "short gain", 1.3),
]


@pytest.mark.parametrize(("mismatch", "key", "value"), TABLE_8_EDITS, ids=[e[0] for e in TABLE_8_EDITS])
def test_table8_sees_one_changed_cell(mismatch: str, key: str, value: float | None) -> None:
    refuted_only_by(edited("sfl.table8", put(key, value), row=7, method="PFL"), mismatch)


def test_table8_asks_for_a_mark_on_every_gain_above_two_points() -> None:
    """An unmarked cell moved 2.1 points above its unclipped row (76.98) is a mismatch; moved 2 points it is none."""
    cell = {"row": 14, "method": "PFL"}
    refuted_only_by(edited("sfl.table8", put("long", 79.08), **cell), "row 14, PFL, long-run mark")
    assert verdict(edited("sfl.table8", put("long", 78.98), **cell)).status is Status.TESTED


def test_table8_leaves_out_gains_over_a_diverged_run_only() -> None:
    """Without the dagger of row 21 the three cells below it are gains of 65 points and more without a mark."""
    refuted_only_by(
        edited("sfl.table8", put("diverged", False), row=21, method="PFL"),
        *(f"row {row}, PFL, long-run mark" for row in (22, 23, 24)),
    )


# --- Table 9 ---------------------------------------------------------------------------------------------------------

CELL_9 = {"C": 2, "K": 20, "method": "SFL"}


def test_table9_sees_a_changed_cell() -> None:
    name = "SFL, C = 2, K = 20"
    refuted_only_by(edited("sfl.table9", put("kept", 0.03), **CELL_9), f"{name}, kept")
    refuted_only_by(edited("sfl.table9", put_in("candidates", 0.01, 81.6), **CELL_9), f"{name}, long run of 0.01")
    refuted_only_by(edited("sfl.table9", put_in("candidates", 0.1, 70.0), **CELL_9), f"{name}, candidates")


def test_table9_depends_on_the_margin() -> None:
    statement = catalogue.find("sfl.table9")
    claim = record(statement)
    narrow = replace(claim, settings={**claim.settings, "points below the best": 1.0})
    found = verdict(statement.with_claim(narrow))
    assert found.status is Status.REFUTED
    assert "SFL, C = 2, K = 20, candidates" in found.witness


# --- Table 10 --------------------------------------------------------------------------------------------------------


def test_table10_sees_a_changed_cell() -> None:
    line = {"dataset": "CIFAR-10", "model": "VGG-9", "C": 1, "K": 20, "method": "PFL"}
    refuted_only_by(edited("sfl.table10", put_in("accuracy", -1.5, 22.18), **line), "PFL, C = 1, K = 20, 10^-1.5")


# --- Tables 3 and 11 -------------------------------------------------------------------------------------------------

CIFAR = {"dataset": "CIFAR-10", "model": "VGG-9"}


def test_table3_sees_a_changed_number() -> None:
    line = {**CIFAR, "C": 2, "K": 5, "method": "SFL"}
    name = "CIFAR-10, VGG-9, C = 2, K = 5, SFL"
    refuted_only_by(edited("sfl.table3", put("mean", 82.65), **line), name)
    refuted_only_by(edited("sfl.table3", put("std", 1.86), **line), name)


@pytest.mark.parametrize(
    ("line", "mean", "claim"),
    [
        ({**CIFAR, "C": 1, "K": 5}, 67.6, "CIFAR-10, VGG-9, C = 1, K = 5, SFL not better"),
        (
            {"dataset": "CINIC-10", "model": "VGG-9", "C": 2, "K": 50},
            52.0,
            "CINIC-10, VGG-9, C = 2, K = 50, SFL not better",
        ),
        ({**CIFAR, "C": 2, "K": 50}, 80.1, "CIFAR-10, VGG-9, C = 2, K = 50, PFL not close"),
    ],
)
def test_table3_sees_each_claim_fail(line: Row, mean: float, claim: str) -> None:
    found = verdict(edited("sfl.table3", put("mean", mean), **line, method="SFL"))
    assert found.status is Status.REFUTED
    assert claim in found.witness


LENET = {"dataset": "FMNIST", "model": "LeNet-5", "C": 1, "K": 5, "method": "SFL"}


def test_table11_sfl_is_not_worse_on_fmnist_lenet_for_five_local_steps() -> None:
    """As printed, 83.97 (SFL) is above 82.57 (PFL) at C = 1, K = 5: the claim fails in one of its six cells."""
    found = verdict(catalogue.find("sfl.table11"))
    assert found.status is Status.REFUTED
    assert dict(found.witness) == {"FMNIST, LeNet-5, C = 1, K = 5, SFL not worse": {"PFL": 82.57, "SFL": 83.97}}


def test_table11_would_hold_with_that_cell_below() -> None:
    assert verdict(edited("sfl.table11", put("mean", 82.5), **LENET)).status is Status.TESTED


def test_table11_sees_the_lead_grow_with_k() -> None:
    found = verdict(edited("sfl.table11", put("mean", 80.0), **LENET))
    assert set(found.witness) == {"FMNIST, LeNet-5, lead of SFL does not fall with K"}


# --- Grid search and clipping ----------------------------------------------------------------------------------------


def with_smaller(method: str) -> Statement:
    statement = catalogue.find("sfl.nn.grid")
    claim = record(statement)
    return statement.with_claim(replace(claim, settings={**claim.settings, "smaller best learning rate": method}))


def test_grid_sentence_fails_in_every_setting_and_its_reverse_in_none() -> None:
    """Printed: 'the best learning rate of PFL is smaller than SFL'.  Tables 9, 10 and Figure 2 say the reverse."""
    rows = len(record(catalogue.find("sfl.table10")).table) + len(record(catalogue.find("sfl.table9")).table)
    settings = rows // 2  # each has a row for PFL and one for SFL
    assert len(verdict(with_smaller("PFL")).witness) == settings + 1
    assert verdict(with_smaller("SFL")).status is Status.TESTED


def test_grid_sees_a_changed_grid() -> None:
    statement = with_smaller("SFL")
    claim = record(statement)
    shifted = replace(claim, settings={**claim.settings, "SFL grid": (-2.0, -1.5, -1.0, -0.5)})
    refuted_only_by(statement.with_claim(shifted), "grid of SFL")


def clipping(change: Callable[[Row], Row | None]) -> Statement:
    """Appendix G.2 with its observations changed, or dropped where the change is None."""
    statement = catalogue.find("sfl.nn.clip")
    claim = record(statement)
    return statement.with_claim(replace(claim, table=tuple(r for row in claim.table if (r := change(row)) is not None)))


def test_clip_observations_hold_only_where_the_examples_are() -> None:
    """2) holds at K = 50 and 3) at C = 1, where the rows given as examples lie; neither holds beyond."""
    assert verdict(clipping(lambda row: row)).status is Status.REFUTED
    only = {2: {"K": 50}, 3: {"C": 1}}
    narrowed = clipping(lambda row: {**row, "only": only.get(row["observation"], {})})
    assert verdict(narrowed).status is Status.TESTED
    widened = {2: {"K": 20}, 3: {"C": 2}}
    found = verdict(clipping(lambda row: {**row, "only": widened.get(row["observation"], {})}))
    assert found.status is Status.REFUTED


@pytest.mark.parametrize(
    ("quantity", "reversal"),
    [
        ("fitting max norm", {"larger": {"method": "PFL"}, "smaller": {"method": "SFL"}}),
        ("gain of clipping", {"helps": "SFL", "may hurt": "PFL"}),
        ("best learning rate", {"larger for": "larger max norm"}),
    ],
)
def test_clip_sees_each_observation_reversed(quantity: str, reversal: Row) -> None:
    def reversed_(row: Row) -> Row | None:
        return {**row, **reversal} if row["observation"] in (1, 4) and row["quantity"] == quantity else None

    kept = verdict(clipping(lambda row: row if reversed_(row) else None))
    assert kept.status is Status.TESTED
    assert verdict(clipping(reversed_)).status is Status.REFUTED
