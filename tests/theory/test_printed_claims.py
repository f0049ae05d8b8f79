"""The checks of printed numbers: every check decides, and every check sees changed numbers and sentences turned round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import log2
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import decimals, integers

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks import tables as fedbat
from fedtheory.theory.fedbat.experiments import BASELINES, BINARIZATION, LISTS, RHOS
from fedtheory.theory.fedbcgd.checks import tables as fedbcgd
from fedtheory.theory.printed_claims import RELATIONS, best, cells_of, half_unit, record_of, sentences
from fedtheory.theory.printed_tables import sentence
from fedtheory.theory.sfl.checks import tables as sfl
from fedtheory.theory.statement import Record, Statement, Status, Verdict

Row = Mapping[str, Any]
EVIDENCE = {e.statement: e for part in (sfl, fedbcgd, fedbat) for e in part.evidence()}
DATASETS, PARTITIONS = LISTS["datasets"], LISTS["partitions"]


def verdict(statement: Statement | str) -> Verdict:
    found = catalogue.find(statement) if isinstance(statement, str) else statement
    return EVIDENCE[found.id].check(found, False)


def edited(statement: Statement | str, values: Row, **where: Any) -> Statement:
    """The statement with these values in the one row in which `where` holds."""
    found = catalogue.find(statement) if isinstance(statement, str) else statement
    claim = record_of(found)
    hits = [where.items() <= row.items() for row in claim.table]
    assert sum(hits) == 1, f"{where} names {sum(hits)} rows of {found.id}"
    table = tuple({**row, **values} if hit else row for row, hit in zip(claim.table, hits, strict=True))
    return found.with_claim(replace(claim, table=table))


def with_rows(id_: str, *rows: Row) -> Statement:
    """The statement claiming these sentences instead of its own: beside its numbers where it has some."""
    found = catalogue.find(id_)
    if id_ in fedbat.ACCURACY_TABLES or id_ in ("fedbat.hyper", "fedbcgd.table6"):
        return replace(found, also=(Record(table=rows),))
    return found.with_claim(replace(record_of(found), table=rows))


def mismatches(statement: Statement | str) -> set[str]:
    """What the check names against the statement; nothing where it holds."""
    found = verdict(statement)
    assert (found.status is Status.REFUTED) == bool(found.witness)
    return set(found.witness)


def added(statement: Statement) -> set[str]:
    """What the check names against a changed statement, and does not name against the printed one."""
    return mismatches(statement) - mismatches(statement.id)


# --- One changed row -----------------------------------------------------------------------------------------------------

ROW_7, ROW_14 = {"row": 7, "method": "PFL"}, {"row": 14, "method": "PFL"}
CELL_9 = {"C": 2, "K": 20, "method": "SFL"}
KEPT = {"dataset": "CIFAR-10", "model": "VGG-9", "method": "SFL"}
LENET = {"dataset": "FMNIST", "model": "LeNet-5", "C": 1, "K": 5, "method": "SFL"}
HERE = "CIFAR-10, N = 100, Non-IID-2"
FEDBAT = {"method": "FedBAT", "dataset": "CIFAR-10", "clients": 100, "partition": "Non-IID-2"}


def at(column: str, method: str) -> Row:
    return {"column": column, "method": method}


CHANGED: list[tuple[str, Row, Row, set[str]]] = [
    ("sfl.table8", ROW_7, {"lr": -1.5}, {"row 7, PFL, Lr exponent"}),
    ("sfl.table8", ROW_7, {"short": 28.97}, {"row 7, PFL, short-run accuracy"}),
    ("sfl.table8", ROW_7, {"long gain": 7.3}, {"row 7, PFL, long-run gain"}),
    ("sfl.table8", ROW_7, {"long gain": None}, {"row 7, PFL, long-run mark"}),
    ("sfl.table8", ROW_7, {"short gain": 1.3}, {"row 7, PFL, short-run mark"}),
    ("sfl.table8", ROW_14, {"long": 79.08}, {"row 14, PFL, long-run mark"}),  # 2.1 above the unclipped 76.98
    ("sfl.table8", ROW_14, {"long": 78.98}, set()),  # 2 points above need no mark
    ("sfl.table8", {"row": 21, "method": "PFL"}, {"diverged": False},
     {f"row {row}, PFL, long-run mark" for row in (22, 23, 24)}),
    ("sfl.table9", CELL_9, {"kept": 0.03}, {"SFL, C = 2, K = 20, kept"}),
    ("sfl.table9", CELL_9, {"candidates": {0.01: 81.6, 0.03: 78.35}}, {"SFL, C = 2, K = 20, long run of 0.01"}),
    ("sfl.table9", CELL_9, {"candidates": {0.01: 81.5, 0.03: 78.35, 0.1: 70.0}}, {"SFL, C = 2, K = 20, candidates"}),
    ("sfl.table10", {"dataset": "CIFAR-10", "model": "VGG-9", "C": 1, "K": 20, "method": "PFL"},
     {"accuracy": {-2.0: 11.51, -1.5: 22.18, -1.0: 28.79, -0.5: 21.10}}, {"PFL, C = 1, K = 20, 10^-1.5"}),
    ("sfl.table3", {**KEPT, "C": 2, "K": 5}, {"mean": 82.65}, {"CIFAR-10, VGG-9, C = 2, K = 5, SFL"}),
    ("sfl.table3", {**KEPT, "C": 2, "K": 5}, {"std": 1.86}, {"CIFAR-10, VGG-9, C = 2, K = 5, SFL"}),
    ("sfl.table3", {**KEPT, "C": 1, "K": 5}, {"mean": 67.6},
     {"CIFAR-10, VGG-9, C = 1, K = 5, SFL", "CIFAR-10, VGG-9, C = 1, K = 5, SFL not better"}),
    ("sfl.table3", {**KEPT, "dataset": "CINIC-10", "C": 2, "K": 50}, {"mean": 52.0},
     {"CINIC-10, VGG-9, C = 2, K = 50, SFL", "CINIC-10, VGG-9, C = 2, K = 50, SFL not better"}),
    ("sfl.table3", {**KEPT, "C": 2, "K": 50}, {"mean": 80.1},
     {"CIFAR-10, VGG-9, C = 2, K = 50, SFL", "CIFAR-10, VGG-9, C = 2, K = 50, PFL not close"}),
    ("sfl.table11", LENET, {"mean": 80.0}, {"FMNIST, LeNet-5, lead of SFL does not fall with K"}),
    ("fedbcgd.setup", {"dataset": "CIFAR10"}, {"images per client": 600}, {"CIFAR10, images"}),
    ("fedbcgd.table2", at("VGG-11", "SCAFFOLD"), {"accuracy": 48.0}, {"VGG-11, SCAFFOLD, never reached"}),
    ("fedbcgd.table2", at("VGG-11", "FedDC"), {"floats": 1001.0}, {"VGG-11, FedDC, more than the total"}),
    ("fedbcgd.table2", at("LeNet-5", "FedBCGD+"), {"floats": 77.0}, {"LeNet-5: FedBCGD+ faster than FedBCGD"}),
    ("fedbcgd.table2", at("LeNet-5", "Centralised SGD"), {"accuracy": 101.0},
     {"LeNet-5, Centralised SGD, percent", "LeNet-5: FedBCGD more accurate than Centralised SGD"}),
    ("fedbcgd.table2", at("ResNet-18", "FedBCGD+"), {"accuracy": 68.2},
     {"ResNet-18: FedBCGD+ not more accurate than FedBCGD"}),
    ("fedbcgd.table2", at("VGG-19", "FedBCGD+"), {"accuracy": 64.0}, set()),
    ("fedbcgd.table3", at("VGG-11", "FedAdam"), {"floats": 291.0}, {"VGG-11: FedBCGD faster than FedAdam"}),
    ("fedbcgd.table4", at("CIFAR10", "FedDC"), {"accuracy": 80.3}, {"CIFAR10: FedBCGD+ more accurate than FedDC"}),
    ("fedbcgd.table5", at("CIFAR100", "FedBCGD+"), {"accuracy": 92.1}, {"CIFAR100: FedBCGD more accurate than FedBCGD+"}),
    ("fedbcgd.table5", at("Tiny ImageNet", "FedAvgM"), {"floats": 5.7}, {"Tiny ImageNet: FedBCGD faster than FedAvgM"}),
    ("fedbcgd.table6", at("CIFAR10", "TOP-k"), {"floats": 64.0}, {"CIFAR10: FedBCGD faster than TOP-k"}),
    ("fedbcgd.table6", at("CIFAR100", "FedPAQ"), {"accuracy": 48.8}, {"CIFAR100: FedBCGD more accurate than FedPAQ"}),
    ("fedbcgd.table6", at("CIFAR100", "QSGD+FedBCGD"), {"floats": 91.0},
     {"CIFAR100: QSGD+FedBCGD faster than FedBCGD"}),
    ("fedbcgd.speedups", {"column": "LeNet-5"}, {"times": 7.2}, set()),  # 558/77 = 7.2468; 7.1935 to 7.3007 round to both
    ("fedbcgd.speedups", {"column": "LeNet-5"}, {"times": 7.1}, {"LeNet-5: FedBCGD against FedAvg"}),
    ("fedbcgd.speedups", {"column": "LeNet-5"}, {"times": 7.4}, {"LeNet-5: FedBCGD against FedAvg"}),
    ("fedbcgd.speedups", {"column": "LeNet-5"}, {"floats": (78.0, 558.0)}, {"LeNet-5: FedBCGD against FedAvg, floats"}),
    ("fedbcgd.speedups", {"column": "ResNet-18"}, {"times": 1.9}, {"ResNet-18: FedBCGD+ against FedBCGD"}),
    ("fedbcgd.speedups", {"column": "CIFAR100"}, {"times": 3.8}, {"CIFAR100: FedBCGD against FedAvg"}),
    ("fedbcgd.speedups", {"column": "Tiny ImageNet"}, {"times": 11.8}, {"Tiny ImageNet: FedBCGD against FedAvg"}),
    ("fedbcgd.blocks.resnet18", {"parameters": 73728}, {"parameters": 73729}, {"convolution 6, 64 to 128"}),
    ("fedbcgd.blocks.resnet18", {"layer": "FC-512"}, {"parameters": 51201}, {"full connections"}),
    ("fedbcgd.blocks.resnet18", {"layer": "FC-512"}, {"layer": "FC-100"}, {"full connections"}),
    ("fedbcgd.blocks.resnet18", {"parameters": 1_179_648}, {"block": "6"}, {"blocks besides the shared one"}),
    ("fedbat.table4", {"dataset": "FMNIST", "arguments": (1, 32, 3)}, {"arguments": (3, 32, 3)}, {"CNN, FMNIST, layer 1"}),
    ("fedbat.table4", {"dataset": "SVHN", "arguments": (64, 128, 3)}, {"arguments": (32, 128, 3)}, {"CNN, SVHN, layer 3"}),
    ("fedbat.table4", {"dataset": "SVHN", "layer": "Linear"}, {"arguments": (1025, 10)},
     {"CNN, no common strides, padding and pooling"}),
    ("fedbat.table4", {"dataset": "FMNIST", "layer": "Linear"}, {"arguments": (1024 * 49, 10)},
     {"CNN, no common strides, padding and pooling"}),
    ("fedbat.table4", {"dataset": "CIFAR-10", "layer": "Linear"}, {"arguments": (1024, 10)},
     {"ResNet-10, CIFAR-10, features"}),
    ("fedbat.table4", {"dataset": "CIFAR-100", "layer": "Linear"}, {"arguments": (256, 10)},
     {"ResNet-10, CIFAR-100, outputs"}),
    ("fedbat.table4", {"dataset": "CIFAR-10", "arguments": (64,)}, {"arguments": (64, 64)}, {"line 13, BasicBlock"}),
    ("fedbat.data.sets", {"dataset": "CIFAR-10"}, {"model": "CNN"}, {"CNN, CIFAR-10", "ResNet-10, CIFAR-10"}),
    ("fedbat.table1", {**FEDBAT, "method": "EF-SignSGD", "dataset": "SVHN", "clients": 30, "partition": "IID"},
     {"accuracy": 92.7}, {"SVHN, N = 30, IID: EF-SignSGD less accurate than FedAvg"}),
    ("fedbat.table1", FEDBAT, {"std": -0.6}, {f"{HERE}, FedBAT, deviation"}),
    ("fedbat.table1", FEDBAT, {"accuracy": 81.1}, {f"{HERE}, FedBAT, otherwise in fedbat.table{n}" for n in (2, 3, 5)}),
    ("fedbat.table5", FEDBAT, {"accuracy": 81.1}, {f"{HERE}, FedBAT, otherwise in fedbat.table{n}" for n in (1, 2, 3)}),
    ("fedbat.table2", {**FEDBAT, "method": "FedBAT (rho = 6)"}, {"accuracy": 81.1},
     {f"{HERE}, FedBAT, otherwise in fedbat.table{n}" for n in (1, 3, 5)}),
    ("fedbat.table2", {**FEDBAT, "method": "FedBAT (rho = 8)"}, {"rho": 7.0}, {f"{HERE}, FedBAT (rho = 8), rho"}),
    ("fedbat.table3", {"dataset": "FMNIST", "method": "FedBAT (phi = 0.7)"}, {"accuracy": 89.1},
     {"FMNIST, N = 100, Non-IID-2: FedBAT (phi = 0.7) not more accurate than FedBAT (phi = 0.5)"}),
    *(("fedbat.claim.accuracy", {"up to": 9.0}, {"up to": other}, {"largest lead"}) for other in (8.9, 9.1, 24.5)),
    ("fedbat.claim.rho", {"is": "close together"}, {"rho": RHOS}, {f"{name}: as far apart as all" for name in DATASETS}),
    ("fedbat.claim.rho", {"is": "close together"}, {"rho": (4.0, 5.0)}, {"close together, rho"}),
    ("fedbat.claim.rho", {"is": "where the best lie"}, {"rho": (0.0, 6.0)}, {"SVHN: best outside [0, 6]"}),
    ("fedbat.claim.rho", {"is": "where the best lie"}, {"default": 10.0}, {"default", "default, hyperparameters"}),
    ("fedbat.claim.rho", {"is": "where the best lie"}, {"default": 4.0}, {"default, hyperparameters"}),
    ("fedbat.claim.rho", {"is": "not falling"}, {"rho": (8.0, 6.0, 4.0, 2.0, 0.0)},
     {"SVHN: falls from rho = 2 to 0", "CIFAR-100: falls from rho = 2 to 0", "CIFAR-10: falls from rho = 4 to 2"}),
    ("fedbat.claim.phi", {"phi": 0.5}, {"phi": 0.7},
     {"default, hyperparameters", *(f"{name}: not best at phi = 0.7" for name in DATASETS if name != "FMNIST")}),
]  # fmt: skip


@pytest.mark.parametrize(("id_", "where", "values", "names"), CHANGED)
def test_a_changed_row_is_seen(id_: str, where: Row, values: Row, names: set[str]) -> None:
    assert added(edited(id_, values, **where)) == names


@pytest.mark.parametrize("id_", fedbat.ACCURACY_TABLES)
def test_an_impossible_or_missing_cell_is_seen(id_: str) -> None:
    first = record_of(id_).table[0]
    names = {key: first[key] for key in ("method", "dataset", "clients", "partition")}
    where = f"{first['dataset']}, N = {first['clients']}, {first['partition']}, {first['method']}"
    assert f"{where}, percent" in mismatches(edited(id_, {"accuracy": 100.1}, **names))
    assert mismatches(edited(id_, {"partition": "Non-IID-3"}, **names)) == {"cells"}


# --- Sentences turned round ----------------------------------------------------------------------------------------------

ZERO, TWO, VARIED = "FedBAT (rho = 0)", "FedBAT (rho = 2)", {"clients": 100, "partition": "Non-IID-2"}
ON_MEAN = "below, by more than both deviations,"
LOST = {"where": {"partition": "IID"}, "than": {"partition": "Non-IID-2"}}
SENTENCES: list[tuple[str, Row, int | set[str]]] = [
    ("table1", sentence(("FedBAT",), "less accurate than", ("FedAvg",), "mostly"),
     {"FedBAT less accurate than FedAvg, mostly"}),
    ("table1", sentence(("EF-SignSGD",), ON_MEAN, ("ZeroFL",), "on the mean"),
     {f"mean of 24 columns: EF-SignSGD {ON_MEAN} ZeroFL"}),
    ("table1", sentence(("SignSGD",), "losing more to", ("FedAvg",), **LOST),
     {"mean losses: SignSGD losing more to FedAvg than Non-IID-2"}),
    ("table1", sentence(("SignSGD",), "above, or within both deviations of,", ("FedAvg",), "mostly", {"clients": 30}),
     {"SignSGD above, or within both deviations of, FedAvg (N = 30), mostly"}),
    ("table1", sentence(("ZeroFL",), "more accurate than", ("FedAvg",), "sometimes"),
     {"ZeroFL more accurate than FedAvg, sometimes"}),
    ("table1", sentence(("QSGD",), "more accurate than", ("FedAvg",)), {"QSGD more accurate than FedAvg"}),
    ("table2", sentence((ZERO,), "nearer to", ("FedAvg",), than=TWO), 4),
    ("table5", sentence(("BiFL",), "more accurate than", ("BiFL-Full",)), 3),
    ("claim.accuracy", sentence(("FedBAT",), "more accurate than", ("FedAvg",)), 11),  # below it in 10 of 24, level in one
    ("claim.baselines", sentence(BINARIZATION[1:], "more accurate than", ("SignSGD",)), 18),  # ties are not above
    ("claim.baselines", sentence(BINARIZATION[1:], "less accurate than", ("SignSGD",), "mostly"), 3),
    ("claim.baselines", sentence(BINARIZATION[1:], "less accurate than", ("SignSGD",), where={"dataset": "CIFAR-10"}), 7),
    ("claim.baselines", sentence(("ZeroFL",), "more accurate than", BINARIZATION, "mostly"), 1),
    ("claim.baselines", sentence(("ZeroFL",), "less accurate than", ("SignSGD",), "mostly"), 1),
    ("claim.baselines", sentence(("ZeroFL",), "less accurate than", ("Stoc-SignSGD",), "mostly"), 1),
    ("claim.rho0", sentence((ZERO,), "more accurate than", ("FedAvg",), where=VARIED), 4),
    ("claim.rho0", sentence((ZERO,), "less accurate than", BASELINES, where=VARIED), 20),
    ("claim.fedpaq", sentence(("SignSGD",), "nearer to", ("FedBAT",), than="FedPAQ [3-bit]"), 3),
    ("claim.fedpaq", sentence(("BiFL",), "nearer to", ("FedBAT",), than="SignSGD"), 3),
    ("claim.bifl", sentence(("BiFL",), "more accurate than", ("SignSGD",)), 3),
    ("claim.bifl", sentence(("BiFL-Full",), "less accurate than", ("SignSGD",)), 2),
    ("claim.bifl", sentence(("BiFL",), "nearer to", ("SignSGD",), than="FedAvg"), 3),
    ("claim.more_clients", sentence(("SignSGD",), "nearer to", ("FedAvg",), than="FedBAT"), 12),
    ("claim.more_clients", sentence(("SignSGD",), "more accurate than", ("FedBAT",)), 12),
    ("claim.more_clients", sentence(("FedBAT",), "more accurate than", ("FedAvg",)), 9),
    ("claim.more_clients", sentence(("FedBAT",), "nearer to", ("FedAvg",), where={"clients": 300}, than="SignSGD"), 1),
    *(("hyper", {"method": "ZeroFL", "sparsity": share, "is": "similar traffic", "others": BINARIZATION},
       {"ZeroFL, sparsity"}) for share in (0.96, 0.98, 0.5, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "names"), SENTENCES)
def test_a_sentence_turned_round_is_refuted(name: str, row: Row, names: int | set[str]) -> None:
    found = mismatches(with_rows(f"fedbat.{name}", row))
    assert found == names if isinstance(names, set) else len(found) == names


def test_places_cost_as_much_as_their_entropy() -> None:
    d, kept = 390_890, 11_727
    share = kept / d
    entropy = -share * log2(share) - (1 - share) * log2(1 - share)
    assert 0 < entropy - Fraction(fedbat._bits_of_positions(kept, d), d) < 1e-4


def test_strides_in_place_of_the_pooling_leave_other_pixels() -> None:
    """28, 14, 7, 3, 1 and 32, 16, 8, 4, 2 pixels; strides would leave 2 of 28 as well."""
    assert [fedbat._last_side(side, [3] * 4, [(1, 1, 2)] * 4) for side in (28, 32)] == [1, 2]
    assert [fedbat._last_side(side, [3] * 4, [(2, 1, 1)] * 4) for side in (28, 32)] == [2, 2]


# --- The vocabulary ------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(*[decimals(0, 100, places=1)] * 2, *[decimals(0, 9, places=1)] * 2)
def test_relations_and_their_contraries(a: Any, b: Any, s: Any, t: Any) -> None:
    """Exactly one of more, less and equal; 'more' and 'not more' exclude each other, as do the two with deviations."""
    one, other = {"accuracy": a, "std": s}, {"accuracy": b, "std": t}
    holds = {
        name: RELATIONS[name](one, other) for name in RELATIONS if name not in ("nearer to", "faster than", "ahead of")
    }
    assert holds["more accurate than"] + holds["less accurate than"] + (a == b) == 1
    assert holds["more accurate than"] != holds["not more accurate than"]
    assert holds["above, or within both deviations of,"] != holds[ON_MEAN]
    assert not RELATIONS["nearer to"](one, other, one)


@settings(deadline=None)
@given(integers(1, 10**6), integers(1, 10**6), integers(0, 4))
def test_a_rounded_number_is_half_a_unit_away_at_most(above: int, below: int, places: int) -> None:
    printed = round(above / below, places)
    assert (
        abs(Fraction(str(printed)) - Fraction(above, below)) <= half_unit(printed) + Fraction(1, 10**9) or places == 0
    )


def test_a_sentence_about_a_method_without_cells_is_refuted() -> None:
    cells = cells_of([{"method": "A", "K": 5, "accuracy": 50.0}], ("K",))
    assert sentences(cells, [sentence(("A",), "more accurate than", ("B",))])[1] == {
        "A more accurate than B": {"no cell": ["B"]}
    }
    assert best({"A": 1, "B": 2, "C": 2}) == ["B", "C"]
