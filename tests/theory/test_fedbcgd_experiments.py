"""The experimental statements of fedbcgd: every check runs, and every check can go both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sympy

from theory import catalogue
from theory.fedbcgd.checks import tables as experiments_evidence
from theory.fedbcgd.symbols import fedbcgd
from theory.proofs.mutation import seen_to_fail
from theory.statement import Evidence, Record, Relations, Statement, Status, Verdict

EVIDENCE = {e.statement: e for e in experiments_evidence.evidence()}
Row = Mapping[str, Any]


def find(name: str) -> Statement:
    return fedbcgd.statements[f"fedbcgd.{name}"]


def verdict(statement: Statement) -> Verdict:
    return EVIDENCE[statement.id].check(statement, False)


def record(statement: Statement) -> Record:
    assert isinstance(statement.claim, Record)
    return statement.claim


def edited(statement: Statement, change: Callable[[Row], Row], **where: Any) -> Statement:
    """The statement with `change` applied to the one row in which `where` holds."""
    claim = record(statement)
    hits = [where.items() <= row.items() for row in claim.table]
    assert sum(hits) == 1, f"{where} names {sum(hits)} rows of {statement.id}"
    table = tuple(change(row) if hit else row for row, hit in zip(claim.table, hits, strict=True))
    return statement.with_claim(replace(claim, table=table))


def put(**values: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, **values}


def with_settings(statement: Statement, **changed: Any) -> Statement:
    claim = record(statement)
    return statement.with_claim(replace(claim, settings={**claim.settings, **changed}))


def mismatches(statement: Statement) -> set[str]:
    """What the check names against the statement; nothing where it holds."""
    found = verdict(statement)
    assert (found.status is Status.REFUTED) == bool(found.witness)
    return set(found.witness)


def added(statement: Statement) -> set[str]:
    """What the check names against a changed statement, and does not name against the printed one."""
    return mismatches(statement) - mismatches(fedbcgd.statements[statement.id])


@pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE)
def test_every_check_decides(evidence: Evidence) -> None:
    found = evidence.check(fedbcgd.statements[evidence.statement], False)
    assert found.status in (Status.TESTED, Status.REFUTED)
    assert bool(found.witness) == (found.status is Status.REFUTED)


@pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE)
def test_every_check_can_fail(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "papers", lambda: {fedbcgd.name: fedbcgd})
    statement = fedbcgd.statements[evidence.statement]
    assert seen_to_fail(evidence, statement, evidence.check(statement, False))


def test_every_id_is_one_of_the_inventory() -> None:
    inventory = (Path(__file__).parents[1] / "data" / "fedbcgd_ids.txt").read_text().split()
    own = [s for s in fedbcgd.statements.values() if s.id.startswith(("fedbcgd.variants", "fedbcgd.fig"))]
    assert len(own) == 5 + 9
    assert {s.id for s in own} | set(EVIDENCE) <= set(inventory)
    assert {r for s in own for r in s.rests_on} <= set(inventory)


# --- Settings ----------------------------------------------------------------------------------------------------------


def test_setup_sees_a_changed_number() -> None:
    assert mismatches(find("setup")) == set()
    changed = edited(find("setup"), put(**{"images per client": 600}), dataset="CIFAR10")
    assert mismatches(changed) == {"CIFAR10, images"}
    assert mismatches(with_settings(find("setup"), participation=0.125)) == {"clients that take part"}


def related(name: str, relation: sympy.Basic) -> Statement:
    return find(name).with_claim(Relations((relation,)))


def test_pictures_and_readings_are_not_accused() -> None:
    """Figure 1 is a diagram; 'it' in 5.2 is ResNet-18; alpha as a server step size is a way of speaking."""
    for name in ("fig1", "table2", "speedups", "claim.alpha_server_step", "fig7", "fig8", "fig9"):
        assert not catalogue.errata(f"fedbcgd.{name}")
    assert not {"fedbcgd.fig1", "fedbcgd.claim.alpha_server_step"} & set(EVIDENCE)


# --- Tables 2 to 6 -----------------------------------------------------------------------------------------------------


def test_what_the_text_says_wrongly_of_the_tables() -> None:
    assert mismatches(find("table2")) == set()
    assert mismatches(find("table3")) == {
        "ResNet-18, FedDC, more than the total",
        "VGG-19: FedBCGD+ faster than FedBCGD",
        "VGG-19: FedBCGD more accurate than Centralised SGD",
    }
    assert mismatches(find("table4")) == {"CIFAR10: FedBCGD+ ahead of FedBCGD"}
    assert mismatches(find("table5")) == mismatches(find("table6")) == set()


CHANGED = [
    ("table2", "LeNet-5", "FedAvg", {"accuracy": 101.0}, {"LeNet-5, FedAvg, percent", "LeNet-5: FedBCGD"}),
    ("table2", "VGG-11", "SCAFFOLD", {"accuracy": 48.0}, {"VGG-11, SCAFFOLD, never reached"}),
    ("table2", "VGG-11", "FedDC", {"floats": 1001.0}, {"VGG-11, FedDC, more than the total"}),
    ("table2", "LeNet-5", "FedBCGD+", {"floats": 77.0}, {"LeNet-5: FedBCGD+ faster than FedBCGD"}),
    ("table2", "ResNet-18", "FedBCGD+", {"accuracy": 68.2}, {"ResNet-18: FedBCGD+ not more accurate than FedBCGD"}),
    ("table3", "VGG-11", "FedAdam", {"floats": 291.0}, {"VGG-11: FedBCGD faster than FedAdam"}),
    (
        "table3",
        "LeNet-5",
        "Centralised SGD",
        {"accuracy": 84.8},
        {"LeNet-5: FedBCGD more accurate than Centralised SGD"},
    ),
    ("table4", "CIFAR10", "FedDC", {"accuracy": 80.3}, {"CIFAR10: FedBCGD+ more accurate than FedDC"}),
    ("table5", "CIFAR100", "FedBCGD+", {"accuracy": 92.1}, {"CIFAR100: FedBCGD more accurate than FedBCGD+"}),
    ("table5", "Tiny ImageNet", "FedAvgM", {"floats": 5.7}, {"Tiny ImageNet: FedBCGD faster than FedAvgM"}),
    ("table6", "CIFAR10", "TOP-k", {"floats": 64.0}, {"CIFAR10: FedBCGD faster than TOP-k"}),
    ("table6", "CIFAR100", "FedPAQ", {"accuracy": 48.8}, {"CIFAR100: FedBCGD more accurate than FedPAQ"}),
    ("table6", "CIFAR100", "QSGD+FedBCGD", {"floats": 91.0}, {"CIFAR100: QSGD+FedBCGD faster than FedBCGD"}),
]


@pytest.mark.parametrize(("table", "column", "method", "values", "names"), CHANGED)
def test_a_changed_cell_is_seen(table: str, column: str, method: str, values: Row, names: set[str]) -> None:
    found = added(edited(find(table), put(**values), column=column, method=method))
    assert all(any(new.startswith(name) for name in names) for new in found)
    assert all(any(new.startswith(name) for new in found) for name in names)


@pytest.mark.parametrize(
    ("table", "column", "method", "values"),
    [
        ("table2", "VGG-19", "FedBCGD+", {"accuracy": 64.0}),
        ("table4", "CIFAR10", "FedBCGD+", {"accuracy": 86.3}),
        ("table4", "CIFAR10", "FedBCGD+", {"floats": 211.0}),
    ],
)
def test_a_table_would_hold_with_another_number(table: str, column: str, method: str, values: Row) -> None:
    assert mismatches(edited(find(table), put(**values), column=column, method=method)) == set()


def test_a_sentence_turned_round_is_seen() -> None:
    statement = find("table6")
    turned = {"method": "TOP-k", "is": "faster than", "others": ("FedBCGD",), "columns": ("CIFAR10",)}
    assert mismatches(replace(statement, also=(Record(table=(turned,)),))) == {"CIFAR10: TOP-k faster than FedBCGD"}


def test_what_is_odd_but_possible_is_said() -> None:
    assert "FedDC on CIFAR100 (25d, then 85.8 < 88)" in verdict(find("table5")).says
    assert "FedBCGD on CIFAR100 91d, fedbcgd.table2 77d" in verdict(find("table6")).says


LENET_SPEEDUP = "LeNet-5: FedBCGD against FedAvg"


def test_speedups() -> None:
    """558/77 = 7.2468; floats that round to 558 and 77 may have any quotient from 7.1935 to 7.3007: 7.2 or 7.3."""
    assert mismatches(find("speedups")) == set()
    lenet = {"column": "LeNet-5"}
    assert mismatches(edited(find("speedups"), put(times=7.2), **lenet)) == set()
    for times in (7.1, 7.4):
        found = verdict(edited(find("speedups"), put(times=times), **lenet))
        assert set(found.witness) == {LENET_SPEEDUP}
        assert found.witness[LENET_SPEEDUP]["quotient"] == 7.2468
        assert found.witness[LENET_SPEEDUP]["quotient of floats that round to these"] == (7.1935, 7.3007)
    other = edited(find("speedups"), put(times=7.2, floats=(78.0, 558.0)), **lenet)
    assert mismatches(other) == {f"{LENET_SPEEDUP}, floats"}


@pytest.mark.parametrize(
    ("column", "times"), [("ResNet-18", 1.9), ("CIFAR100", 3.8), ("Tiny ImageNet", 11.8)], ids=lambda value: str(value)
)
def test_speedups_sees_a_larger_factor(column: str, times: float) -> None:
    (new,) = added(edited(find("speedups"), put(times=times), column=column))
    assert new.startswith(column)


# --- Parameter blocks --------------------------------------------------------------------------------------------------


def test_vit_base_has_the_parameters_of_its_layers() -> None:
    """Six blocks as printed are ViT-Base; five are not.  With the last normalisation it has 85 798 656 parameters."""
    assert experiments_evidence.vit_base() == 6 * 14_299_520 == 85_798_656 - 2 * 768
    assert verdict(find("blocks.vit")).witness["ViT-Base"]["missing, in blocks"] == "1"


def test_what_the_block_tables_have_wrong() -> None:
    assert mismatches(find("blocks.lenet5")) == {
        "convolution 1, 3 to 64",
        "convolution 2, 64 to 64",
        "blocks besides the shared one",
    }
    assert mismatches(find("blocks.resnet18")) == set()
    assert mismatches(find("blocks.vgg11")) == mismatches(find("blocks.vgg19")) == {"full connections"}
    assert mismatches(find("blocks.vit")) == {
        "convolutions of VGG-19",
        "full connections",
        "ViT-Base",
        "blocks besides the shared one",
    }


def test_the_block_tables_would_hold_with_other_names() -> None:
    """LeNet-5 with 5x5 kernels, VGG-11 and VGG-19 with the widths of their counts, ViT with FC-200, a block, a caption."""
    vgg11 = edited(find("blocks.vgg11"), put(layer="FC-50"), layer="FC-100")
    vgg19 = edited(find("blocks.vgg19"), put(layer="FC-512"), parameters=131_072)
    assert mismatches(vgg11) == mismatches(vgg19) == set()

    lenet5 = find("blocks.lenet5")
    for block in ("1", "2"):
        lenet5 = edited(lenet5, put(layer="conv5-64"), block=block)
    assert mismatches(with_settings(lenet5, blocks=4)) == set()

    vit = with_settings(edited(find("blocks.vit"), put(layer="FC-200"), block="share"), network="ViT-Base")
    claim = record(vit)
    sixth = {**claim.table[0], "block": "6", "layer": "ViT-Block 6"}
    assert mismatches(vit.with_claim(replace(claim, table=(*claim.table, sixth)))) == set()


@pytest.mark.parametrize(
    ("where", "values", "name"),
    [
        ({"parameters": 73728}, {"parameters": 73729}, "convolution 6, 64 to 128"),
        ({"layer": "FC-512"}, {"parameters": 51201}, "full connections"),
        ({"layer": "FC-512"}, {"layer": "FC-100"}, "full connections"),
        ({"parameters": 1_179_648}, {"block": "6"}, "blocks besides the shared one"),
    ],
)
def test_resnet18_sees_a_changed_line(where: Row, values: Row, name: str) -> None:
    assert mismatches(edited(find("blocks.resnet18"), put(**values), **where)) == {name}


def test_share_fraction() -> None:
    """5120 of 10 992 320 parameters are 0.0466 %."""
    assert verdict(find("claim.share_fraction")).witness["percent"]["quotient"] == 0.0466
    assert mismatches(with_settings(find("claim.share_fraction"), percent=0.05)) == set()


# --- Variants ----------------------------------------------------------------------------------------------------------


def test_the_variants_differ_in_what_their_names_say() -> None:
    for name in [s.id.removeprefix("fedbcgd.") for s in fedbcgd.statements.values() if ".variants." in s.id]:
        settings = record(find(name)).settings
        assert settings["freeze"] == ("freezing" in name)
        assert settings["share"] == ("nonshare" not in name)
        assert settings["momentum"] == ("momentum" in name)
