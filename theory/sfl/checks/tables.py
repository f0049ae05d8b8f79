"""The printed numbers of the experiments, compared with each other: finite, exact checks of Tables 3 and 7 to 11.

Every check reads the statement's own claim, and other tables through the catalogue.  If two cells tie for the best, the
check decides in favour of the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

from fedtheory.theory.printed_claims import *
from fedtheory.theory.printed_tables import Row
from fedtheory.theory.statement import Evidence, Statement, Verdict

SETTING, CELL = ("method", "C", "K"), ("dataset", "model", "C", "K")
RUNS = ("short", "long")


def _table(number: int) -> tuple[Row, ...]:
    return record_of(f"sfl.table{number}").table


# Clipping: Tables 7 and 8


def table8(statement: Statement, full: bool) -> Verdict:
    """Table 8: learning rate and short-run accuracy are the best of Table 7; gains are differences to 'w/o clip'."""
    claim = record_of(statement)
    searched = pivot(_table(7), SETTING, "max norm", "accuracy")
    unclipped = {place(row, SETTING): row for row in claim.table if row["max norm"] == inf}
    limit = exact(claim.settings["marked gain"])
    witness: Witness = {}
    left_out = 0
    for row in claim.table:
        name, setting, norm = f"row {row['row']}, {row['method']}", place(row, SETTING), row["max norm"]
        accuracy, base = searched.get(setting, {}).get(norm), unclipped.get(setting)
        if accuracy is None or base is None:
            where = "table7" if accuracy is None else "row without clipping"
            witness[f"{name}, {setting}, max norm {norm}"] = {where: "missing"}
            continue
        if row["lr"] not in best(accuracy):
            witness[f"{name}, Lr exponent"] = {"table8": row["lr"], "table7": sorted(best(accuracy))}
        if row["short"] != max(accuracy.values()):
            witness[f"{name}, short-run accuracy"] = {"table8": row["short"], "table7": max(accuracy.values())}
        for run in RUNS:
            # There is no gain over a run that diverged (dagger): these cells print none, and the check expects none
            if run == "long" and base["diverged"]:
                left_out += row is not base
                continue
            difference, gain = exact(row[run]) - exact(base[run]), row[f"{run} gain"]
            numbers = {"printed gain": gain, "difference": float(difference)}
            if (gain is not None) != (abs(difference) > limit):
                witness[f"{name}, {run}-run mark"] = numbers
            elif gain is not None and abs(exact(gain) - difference) > half_unit(gain):
                witness[f"{name}, {run}-run gain"] = numbers
    return verdict_of(
        f"{len(claim.table)} settings of Table 8 against Table 7, and each gain against its unclipped row "
        f"(without {left_out} cells whose unclipped run diverged)",
        witness,
    )


def _fitting_norms(row: Row, run: str) -> Iterator[Mismatch]:
    """Pairs of settings in which the fitting (most accurate) max norm is smaller, although the observation says larger."""
    fitting = {setting: best(norms) for setting, norms in pivot(_table(8), SETTING, "max norm", run).items()}
    for line in _table(8):
        if {**row["larger"], **row.get("only", {})}.items() <= line.items():
            larger, smaller = place(line, SETTING), place({**line, **row["smaller"]}, SETTING)
            if max(fitting[larger]) < min(fitting[smaller]):
                yield f"{larger} below {smaller}", (sorted(fitting[larger]), sorted(fitting[smaller]))


def _gain_of_clipping(row: Row, run: str) -> Iterator[Mismatch]:
    """Settings in which the max norm, against the observation, does not help one method or never hurts the other."""
    pairs: dict[str, dict[str, tuple[float, float]]] = {row["helps"]: {}, row["may hurt"]: {}}
    for setting, norms in pivot(_table(8), SETTING, "max norm", run).items():
        pairs[setting.partition(",")[0]][setting] = norms[row["max norm"]], norms[inf]
    for setting, (clipped, unclipped) in pairs[row["helps"]].items():
        if clipped <= unclipped:
            yield f"{setting} not helped", (clipped, unclipped)
    if all(clipped >= unclipped for clipped, unclipped in pairs[row["may hurt"]].values()):
        yield f"{row['may hurt']} never hurt", pairs[row["may hurt"]]


def _preferred_rates(row: Row, run: str) -> Iterator[Mismatch]:
    """Settings in which, from one max norm to the next, the best learning rate of Table 7 moves the wrong way."""
    for setting, norms in pivot(_table(7), SETTING, "max norm", "accuracy").items():
        for preferring, other in pairwise(sorted(norms, reverse=row["larger for"] == "larger max norm")):
            rates, rest = set(best(norms[preferring])), set(best(norms[other]))
            if max(rates) < min(rest):
                yield f"{setting}, max norm {preferring} against {other}", (rates, rest)


OBSERVATIONS: dict[str, Callable[[Row, str], Iterator[Mismatch]]] = {
    "fitting max norm": _fitting_norms,
    "gain of clipping": _gain_of_clipping,
    "best learning rate": _preferred_rates,
}


def nn_clip(statement: Statement, full: bool) -> Verdict:
    """Appendix G.2: observations 1 to 4 as far as Tables 7 and 8 decide them; true in the short or long run is enough."""
    witness: Witness = {}
    stands = []
    for row in record_of(statement).table:
        against = {run: dict(OBSERVATIONS[row["quantity"]](row, run)) for run in RUNS}
        clean = " and ".join(run for run in RUNS if not against[run])
        about = (f"{key} {value}" for word in ("larger", "only") for key, value in row.get(word, {}).items())
        name = ", ".join((str(row["observation"]), row["quantity"], *about))
        if clean:
            stands.append(f"{name} ({clean} run)")
        else:
            witness[f"observation {name}"] = against
    true = "; ".join(stands) or "none"
    return verdict_of(f"observations 1 to 4 on Tables 7 and 8, fitting = most accurate; true: {true}", witness)


# Grid search: Tables 9 and 10


def _vgg9(table: Iterable[Row]) -> dict[str, Row]:
    """The CIFAR-10, VGG-9 lines of Table 10."""
    return {place(row, SETTING): row for row in table if (row["dataset"], row["model"]) == ("CIFAR-10", "VGG-9")}


def table9(statement: Statement, full: bool) -> Verdict:
    """Table 9: candidates are the values within 3 points of the best in Table 10; it keeps the best in the long run."""
    claim, coarse = record_of(statement), record_of("sfl.table10")
    value, norms = coarse.settings["values used"], coarse.settings["max norm"]
    searched, margin = _vgg9(coarse.table), exact(claim.settings["points below the best"])
    # Table 8 has the same setting for 4000 rounds, with the best learning rate of the short run.
    long_run = {
        (place(row, SETTING), value[row["lr"]]): row["long"]
        for row in _table(8)
        if row["max norm"] == norms[row["method"]]
    }
    witness: Witness = {}
    for row in claim.table:
        name, candidates = place(row, SETTING), row["candidates"]
        accuracy = searched[name]["accuracy"]
        highest = max(map(exact, accuracy.values()))
        near = {value[lr]: number for lr, number in accuracy.items() if highest - exact(number) <= margin}
        if set(candidates) != set(near):
            witness[f"{name}, candidates"] = {"table9": sorted(candidates), "table10": near}
        rivals = {lr: number for lr, number in candidates.items() if number is not None}
        if row["kept"] not in (best(rivals) if len(candidates) > 1 else candidates):
            witness[f"{name}, kept"] = {"kept": row["kept"], "long run": candidates}
        for lr, number in rivals.items():
            known = long_run.get((name, lr), number)
            if number != known:
                witness[f"{name}, long run of {lr}"] = {"table9": number, "table8": known}
    return verdict_of(f"{len(claim.table)} cells of Table 9 against Tables 8 and 10", witness)


def table10(statement: Statement, full: bool) -> Verdict:
    """Table 10: its CIFAR-10, VGG-9 lines are the lines of Table 7 with max norm 10 (PFL) and 50 (SFL)."""
    claim = record_of(statement)
    clipped = pivot(_table(7), SETTING, "max norm", "accuracy")
    cells = [
        (setting, lr, number, clipped.get(setting, {}).get(claim.settings["max norm"][row["method"]], {}).get(lr))
        for setting, row in _vgg9(claim.table).items()
        for lr, number in row["accuracy"].items()
        if lr not in row["doubtful"]
    ]
    witness: Witness = {
        f"{setting}, 10^{lr}": {"table10": number, "table7": known}
        for setting, lr, number, known in cells
        if number != known
    }
    return verdict_of(f"{len(cells)} legible cells of Table 10 (CIFAR-10, VGG-9) against Table 7", witness)


def nn_grid(statement: Statement, full: bool) -> Verdict:
    """Appendix G.3: which method has the smaller best learning rate (Tables 9, 10, Figure 2); the grids of Table 10."""
    settings, coarse = record_of(statement).settings, record_of("sfl.table10")
    smaller = settings["smaller best learning rate"]
    larger = {"PFL": "SFL", "SFL": "PFL"}[smaller]
    witness: Witness = {}
    figure2 = record_of("sfl.fig2").settings["smaller best learning rate"]
    if figure2 != smaller:
        witness["Figure 2, smaller best learning rate"] = {"grid search": smaller, "figure2": figure2}
    for row in coarse.table:
        grids = {"grid search": settings[f"{row['method']} grid"], "table10": tuple(row["accuracy"])}
        if grids["grid search"] != grids["table10"]:
            witness[f"grid of {row['method']}"] = grids
    rates = [
        *(("Table 10", CELL, {**row, "best": _rates(row, coarse.settings)}) for row in coarse.table),
        *(("Table 9", CELL[2:], {**row, "best": [row["kept"]]}) for row in _table(9)),
    ]
    lowest: dict[str, dict[str, list[float]]] = {}
    for table, keys, row in rates:
        lowest.setdefault(f"{table}, {place(row, keys)}", {})[row["method"]] = row["best"]
    witness |= {
        setting: {method: rate[method] for method in (smaller, larger)}
        for setting, rate in lowest.items()
        if not min(rate[smaller]) < max(rate[larger])
    }
    return verdict_of(
        f"best learning rate of {smaller} smaller than that of {larger}, in {len(lowest)} settings of Tables 9 and 10 "
        "and by Figure 2",
        witness,
    )


def _rates(row: Row, settings: Row) -> list[float]:
    """The best learning rates of a line of Table 10."""
    return sorted(settings["values used"][lr] for lr in best(row["accuracy"]))


# Results: Tables 3 and 11

# What the sentences say about the lead of SFL over PFL, in points
BETTER, WORSE, CLOSE = "SFL not better", "SFL not worse", "PFL not close"
SAID: Mapping[int, tuple[tuple[Row, str], ...]] = {
    3: (
        ({"C": 1}, BETTER),
        ({"dataset": "CINIC-10"}, BETTER),
        ({"dataset": "CIFAR-10", "C": 2, "K": 50}, CLOSE),
    ),
    11: (
        ({"dataset": "MNIST", "model": "MLP", "C": 1}, BETTER),
        ({"dataset": "MNIST", "model": "LeNet-5", "C": 1}, BETTER),
        ({"dataset": "FMNIST", "model": "CNN", "C": 1}, BETTER),
        ({"dataset": "MNIST", "model": "Logistic", "C": 1}, WORSE),
        ({"dataset": "FMNIST", "model": "LeNet-5", "C": 1}, WORSE),
    ),
}
TRUE: Mapping[str, Callable[[Fraction, Row], bool]] = {
    BETTER: lambda lead, settings: lead > 0,
    WORSE: lambda lead, settings: lead < 0,
    CLOSE: lambda lead, settings: lead <= exact(settings["marked gain"]),
}


def _lead(means: Mapping[str, float]) -> Fraction:
    """The lead of SFL over PFL in points."""
    return exact(means["SFL"]) - exact(means["PFL"])


def _false(statement: Statement, number: int) -> Iterator[Mismatch]:
    """The cells of Table 3 or 11 in which a sentence is false."""
    claim = record_of(statement)
    means = pivot(claim.table, CELL, "method", "mean")
    for where, sentence in SAID[number]:
        for cell in dict.fromkeys(place(row, CELL) for row in claim.table if where.items() <= row.items()):
            if not TRUE[sentence](_lead(means[cell]), claim.settings):
                yield f"{cell}, {sentence}", means[cell]


def table3(statement: Statement, full: bool) -> Verdict:
    """Table 3: the numbers of Table 11; SFL better for C = 1 and on CINIC-10; PFL close for CIFAR-10, C = 2, K = 50."""
    rows, key = record_of(statement).table, (*CELL, "method")
    repeated: dict[str, Any] = {place(row, key): (row["mean"], row["std"]) for row in _table(11)}
    printed = {place(row, key): (row["mean"], row["std"]) for row in rows}
    other = {c: {"table3": n, "table11": repeated[c]} for c, n in printed.items() if n != repeated[c]}
    told = f"{len(rows)} cells of Table 3 against Table 11, and the three claims on them"
    return verdict_of(told, {**other, **dict(_false(statement, 3))})


def table11(statement: Statement, full: bool) -> Verdict:
    """Table 11, C = 1: SFL better in three tasks; worse in two, where its lead falls with K."""
    means = pivot(record_of(statement).table, CELL, "method", "mean")
    witness: Witness = dict(_false(statement, 11))
    for where, sentence in SAID[11]:
        leads = [float(_lead(means[place({**where, "K": K}, CELL)])) for K in (5, 20, 50)]
        if sentence == WORSE and leads != sorted(leads, reverse=True):
            witness[f"{where['dataset']}, {where['model']}, lead of SFL does not fall with K"] = leads
    return verdict_of(f"{len(SAID[11])} tasks of Table 11 with C = 1, K = 5, 20, 50", witness)


def evidence() -> Iterator[Evidence]:
    """The checks of the experimental statements."""
    for check in (nn_grid, nn_clip, table3, table8, table9, table10, table11):
        yield Evidence(f"sfl.{check.__name__.replace('_', '.')}", "enumeration", check)
