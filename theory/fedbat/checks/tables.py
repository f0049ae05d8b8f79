"""The printed numbers of the experiments, compared with the text and with each other: finite, exact checks.

Every check reads the statement's own claim, and other statements as printed.  Numbers are compared as printed decimals,
so that binary rounding decides no verdict.  If something is odd but not impossible, the verdict mentions it, but does not
refute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, comb
from typing import Any, NamedTuple

from theory.fedbat.experiments import BASELINES, BINARIZATION
from theory.printed_claims import Row, Witness, exact_decimal, record_of, verdict_of
from theory.printed_tables import sentence
from theory.statement import Evidence, Record, Statement, Verdict

Mismatch = tuple[str, Witness]

ACCURACY_TABLES = tuple(f"fedbat.table{number}" for number in (1, 2, 3, 5, 6))
CLAIMS = tuple(f"fedbat.claim.{name}" for name in ("accuracy", "baselines", "rho0", "fedpaq", "bifl", "more_clients"))

# Reasons why no check here decides a statement
OPEN = {
    "fedbat.data.iid": "a definition without numbers",
    "fedbat.fig1": "a diagram of a round; the equations and Algorithm 1 say what its steps compute",
    "fedbat.fig2": "test accuracy of networks round by round, which would have to be run; the picture is not in the text",
    "fedbat.fig3": "test accuracy of networks round by round, which would have to be run; the picture is not in the text",
    "fedbat.claim.speed": "rests on Figure 2 only, which is not in the text; no number of rounds is printed",
}


def fedbat_with(symbol: str, value: float) -> str:
    """The name of the method FedBAT with another rho or phi."""
    return f"FedBAT ({symbol} = {value:g})"


def _besides(statement: Statement) -> Iterator[Row]:
    """The rows of the statement's further claims."""
    return (row for claim in statement.also if isinstance(claim, Record) for row in claim.table)


def _mean(numbers: Iterable[Fraction]) -> Fraction:
    values = list(numbers)
    return Fraction(sum(values), len(values))


def _short(number: Fraction) -> str:
    """A number for display: at most two decimals."""
    return f"{float(round(number, 2)):g}"


def _signed(difference: Fraction) -> str:
    """A difference for display, with its sign."""
    return f"+{_short(difference)}" if difference > 0 else _short(difference)


# ---------------------------------------------------------------------------------------------------------------------
# The data sets; the paper does not describe them


class Images(NamedTuple):
    """A data set: channels, pixels per side, classes, training images."""

    channels: int
    side: int
    classes: int
    training: int


IMAGES = {
    "FMNIST": Images(1, 28, 10, 60_000),
    "SVHN": Images(3, 32, 10, 73_257),
    "CIFAR-10": Images(3, 32, 10, 50_000),
    "CIFAR-100": Images(3, 32, 100, 50_000),
}

# ---------------------------------------------------------------------------------------------------------------------
# Table 4: the networks

CONVOLUTION, BLOCK, LINEAR = "Convd2d", "BasicBlock", "Linear"
ARGUMENTS = {CONVOLUTION: 3, BLOCK: 1, LINEAR: 2}  # (channels in, out, kernel); (channels); (features in, out)
CONVOLUTIONS_IN_A_BLOCK, KERNEL_IN_A_BLOCK = 2, 3
Design = tuple[int, int, int]  # of a convolution: stride, padding, factor of the pooling after it
DESIGNS: tuple[Design, ...] = tuple(product((1, 2), (0, 1), (1, 2)))


def _networks(claim: Record) -> dict[tuple[str, str], list[Row]]:
    """(network, data set) -> its layers."""
    networks: dict[tuple[str, str], list[Row]] = {}
    for row in claim.table:
        networks.setdefault((row["network"], row["dataset"]), []).append(row)
    return networks


def _ends(layer: Row, channels: int) -> tuple[int, int]:
    """The input and output channels or features of a layer; a block takes any number of input channels."""
    arguments = layer["arguments"]
    return (channels, arguments[0]) if layer["layer"] == BLOCK else arguments[:2]


def _parameters(layers: Sequence[Row], channels: int) -> tuple[int, int]:
    """The number of weights (with fully connected biases and 1x1 shortcut convolutions), and of batch normalisation."""
    weights = normalisation = 0
    for layer in layers:
        inputs, outputs = _ends(layer, channels)
        if layer["layer"] == LINEAR:
            weights += inputs * outputs + outputs
        elif layer["layer"] == CONVOLUTION:
            weights += layer["arguments"][2] ** 2 * inputs * outputs
            normalisation += 2 * outputs
        else:
            shortcut = inputs != outputs
            weights += KERNEL_IN_A_BLOCK**2 * (inputs + outputs) * outputs + shortcut * inputs * outputs
            normalisation += 2 * outputs * (CONVOLUTIONS_IN_A_BLOCK + shortcut)
        channels = outputs
    return weights, normalisation


def _last_side(side: int, kernels: Iterable[int], designs: Iterable[Design]) -> int:
    """Pixels per side after the convolutions; 0 if no pixel is left."""
    for kernel, (stride, padding, pooling) in zip(kernels, designs, strict=True):
        room = side + 2 * padding - kernel
        side = (room // stride + 1) // pooling if room >= 0 else 0
    return side


def _misfits(name: str, layers: Sequence[Row], images: Images) -> Iterator[Mismatch]:
    """Layers whose inputs are not the outputs of the layer before; a network whose outputs are not the classes."""
    channels = images.channels
    for number, layer in enumerate(layers, 1):
        inputs, outputs = _ends(layer, channels)
        if layer["layer"] != LINEAR and inputs != channels:
            yield f"{name}, layer {number}", {"takes": inputs, "is given": channels}
        channels = outputs
    if layers[-1]["layer"] != LINEAR or channels != images.classes:
        yield f"{name}, outputs", {"table": channels, "classes": images.classes}
    depth = 1 + sum(CONVOLUTIONS_IN_A_BLOCK if row["layer"] == BLOCK else 1 for row in layers[:-1])
    printed = name.partition(",")[0].partition("-")[2]
    if printed and depth != int(printed):
        yield f"{name}, depth", {"layers with weights": depth, "name": printed}


def _common_designs(networks: Mapping[str, Sequence[Row]]) -> dict[str, set[tuple[Design, ...]]]:
    """Data set -> designs of the convolutions for which the fully connected layer has the printed inputs."""
    fitting: dict[str, set[tuple[Design, ...]]] = {}
    for dataset, layers in networks.items():
        kernels = [row["arguments"][2] for row in layers[:-1]]
        channels, inputs = layers[-2]["arguments"][1], layers[-1]["arguments"][0]
        fitting[dataset] = {
            designs
            for designs in product(DESIGNS, repeat=len(kernels))
            if 0 < channels * _last_side(IMAGES[dataset].side, kernels, designs) ** 2 == inputs
        }
    return fitting


def _whole(claim: Record) -> Iterator[Mismatch]:
    """Layers that are not of the table's three kinds, or have another number of arguments."""
    for number, row in enumerate(claim.table, 1):
        if len(row["arguments"]) != ARGUMENTS.get(row["layer"]):
            yield f"line {number}, {row['layer']}", {"arguments": row["arguments"]}


def table4(statement: Statement, full: bool) -> Verdict:
    """Table 4: the layers fit together, and one choice of strides, padding and pooling gives both CNNs their features."""
    claim = record_of(statement)
    witness: Witness = dict(_whole(claim))
    if witness:
        return verdict_of(f"{len(claim.table)} layers", witness)
    sizes, plain = [], dict[str, list[Row]]()
    for (network, dataset), layers in _networks(claim).items():
        name = f"{network}, {dataset}"
        witness |= _misfits(name, layers, IMAGES[dataset])
        weights, normalisation = _parameters(layers, IMAGES[dataset].channels)
        sizes.append(f"{name}: {weights}, {normalisation}")
        if any(row["layer"] == BLOCK for row in layers):
            # ResNets of He et al. end in an average over all pixels: one feature per channel
            channels, inputs = layers[-2]["arguments"][-1], layers[-1]["arguments"][0]
            if inputs != channels:
                witness[f"{name}, features"] = {"table": inputs, "channels": channels}
        else:
            plain[dataset] = layers
    fitting = _common_designs(plain)
    common = set.intersection(*fitting.values())
    if not common:
        witness["CNN, no common strides, padding and pooling"] = {name: len(found) for name, found in fitting.items()}
    uniform = [designs[0] for designs in common if len(set(designs)) == 1]
    alike = " or ".join(f"stride {s}, padding {p}, pooling by {q}" for s, p, q in sorted(uniform))
    return verdict_of(
        f"{len(claim.table)} layers by arithmetic; choices of stride 1 or 2, padding 0 or 1, pooling by 1 or 2 for each "
        f"convolution that give the features of the CNN: {', '.join(f'{name} {len(f)}' for name, f in fitting.items())}, "
        f"all of them {len(common)}; of these, alike in every layer: {alike or 'none'}; weights, and parameters of batch "
        f"normalisation: {'; '.join(sizes)}",
        witness,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Settings


def data_sets(statement: Statement, full: bool) -> Verdict:
    """Section 5.1: Table 4 has the named networks for the data sets, with the same number of layers of each kind."""
    claim = record_of(statement)
    networks = _networks(record_of("fedbat.table4"))
    witness: Witness = {}
    for row in claim.table:
        model, dataset = row["model"], row["dataset"]
        layers = [layer["layer"] for layer in networks.get((model, dataset), ())]
        if not layers:
            witness[f"{model}, {dataset}"] = {"Table 4": "missing"}
        said = claim.settings.get(model, {})
        for what, kind in (("convolutions", CONVOLUTION), ("fully connected", LINEAR)):
            if layers and said.get(what, layers.count(kind)) != layers.count(kind):
                witness[f"{model}, {dataset}, {what}"] = {"text": said[what], "Table 4": layers.count(kind)}
    left_out = {f"{model}, {dataset}" for model, dataset in networks} - {
        f"{row['model']}, {row['dataset']}" for row in claim.table
    }
    witness |= {name: {"text": "missing"} for name in sorted(left_out)}
    return verdict_of(f"{len(claim.table)} data sets with their networks against Table 4", witness)


def _every_data_set(values: Mapping[str, Any]) -> Iterator[Mismatch]:
    """Data sets of the paper without a value."""
    for row in record_of("fedbat.data.sets").table:
        if row["dataset"] not in values:
            yield row["dataset"], {"value": "missing"}


def _numbers_of_clients() -> tuple[int, ...]:
    return tuple(record_of("fedbat.hyper").settings["clients"])


def noniid1(statement: Statement, full: bool) -> Verdict:
    """Non-IID-1: every data set has a parameter, and it is one of a Dirichlet distribution."""
    parameters = {name: exact_decimal(a) for name, a in record_of(statement).settings["Dirichlet parameter"].items()}
    witness: Witness = dict(_every_data_set(parameters))
    witness |= {f"{name}, parameter": {"printed": float(a)} for name, a in parameters.items() if a <= 0}
    # E sum_k p_k^2 = (a + 1)/(N a + 1); its inverse is the effective number of clients that share a label
    shared = {
        name: ", ".join(_short((n * a + 1) / (a + 1)) for n in _numbers_of_clients()) for name, a in parameters.items()
    }
    numbers = ", ".join(map(str, _numbers_of_clients()))
    return verdict_of(
        f"{len(parameters)} parameters; the inverse of the expected sum of a label's squared proportions among {numbers} "
        f"clients: {'; '.join(f'{name} {counts}' for name, counts in shared.items())}",
        witness,
    )


def noniid2(statement: Statement, full: bool) -> Verdict:
    """Non-IID-2: a client has some but not all labels, and there are enough clients for all labels."""
    labels = record_of(statement).settings["labels of a client"]
    witness: Witness = dict(_every_data_set(labels))
    unseen = []
    for name, count in labels.items():
        classes = IMAGES[name].classes
        if not 0 < count < classes:
            witness[f"{name}, part of the labels"] = {"labels of a client": count, "classes": classes}
        for n in _numbers_of_clients():
            if n * count < classes:
                witness[f"{name}, {n} clients"] = {"labels dealt out": n * count, "classes": classes}
            missing = classes * (1 - Fraction(count, classes)) ** n
            if 100 * missing >= 1:
                unseen.append(f"{name}, {n} clients: {_short(missing)} of {classes}")
    return verdict_of(
        f"{len(labels)} data sets with {', '.join(map(str, _numbers_of_clients()))} clients; labels that no client "
        f"has, expected number for independent draws, if 0.01 or more: {', '.join(unseen) or 'none'}",
        witness,
    )


def _local_steps(settings: Row, dataset: str, clients: int) -> int:
    """Local steps of a client in a round, if all clients have the same number of images."""
    return int(settings["local epochs"] * ceil(Fraction(IMAGES[dataset].training // clients, settings["batch"])))


BITS = 32  # of one value in a message


@cache
def _bits_of_positions(kept: int, of: int) -> int:
    """The least number of bits that encode any choice of `kept` places among `of`."""
    return (comb(of, kept) - 1).bit_length()


def _traffic(row: Row) -> tuple[str, Witness]:
    """The bits of ZeroFL's values, compared with one bit per parameter for a sign; and the bits of their places."""
    kept = 1 - exact_decimal(row["sparsity"])
    values = kept * BITS
    fitting = round(1 - Fraction(1, BITS), 2)  # the whole percent with values closest to one bit per parameter
    witness: Witness = {}
    if exact_decimal(row["sparsity"]) != fitting:
        numbers = {"printed": row["sparsity"], "bits a parameter": float(values), "fitting": float(fitting)}
        witness[f"{row['method']}, sparsity"] = numbers

    layers = _networks(record_of("fedbat.table4"))["CNN", "FMNIST"]
    d = sum(_parameters(layers, IMAGES["FMNIST"].channels))
    index = (d - 1).bit_length()
    costs = {
        "alone": values,
        "with a bit a parameter for the places": values + 1,
        f"with places of {BITS} bits": values + kept * BITS,
        f"with places of {index} bits": values + kept * index,
    }
    if 0 < kept < 1:
        costs["with the best code of the places"] = values + Fraction(_bits_of_positions(round(kept * d), d), d)
    told = ", ".join(
        f"{how} {_short(bits)} (compressed {_short(BITS / bits)} times)" for how, bits in costs.items() if bits
    )
    return f"bits per parameter for the values that {row['method']} keeps, with {d} parameters: {told}", witness


def hyper(statement: Statement, full: bool) -> Verdict:
    """Section 5.1: the settings fit each other and the tables; ZeroFL's values cost as many bits as signs."""
    settings = record_of(statement).settings
    witness: Witness = {}

    def expect(what: str, said: Any, known: Any, true: bool) -> None:
        if not true:
            witness[what] = {"text": said, "elsewhere": known}

    clients, participants = settings["clients"], settings["participants"]
    expect("participants", participants, f"{min(clients)} clients", 0 < participants <= min(clients))
    in_tables = sorted({n for id_ in ACCURACY_TABLES for n in record_of(id_).settings["clients"]})
    expect("clients", clients, in_tables, sorted(clients) == in_tables)
    models = {row["model"] for row in record_of("fedbat.data.sets").table}
    expect(
        "rounds", settings["rounds"], models, set(settings["rounds"]) == models and min(settings["rounds"].values()) > 0
    )
    rate, rates = settings["learning rate"], settings["learning rates"]
    expect("learning rate", rate, rates, rate in rates)
    for symbol, table in (("rho", "fedbat.table2"), ("phi", "fedbat.table3")):
        tried = [row[symbol] for row in record_of(table).table]
        expect(symbol, settings[symbol], sorted(set(tried)), settings[symbol] in tried)
    expect("runs", settings["runs"], "standard deviations", settings["runs"] > 1)
    if settings["batch"] < 1 or settings["local epochs"] < 1 or min(clients) < 1:
        witness["local training"] = {what: settings[what] for what in ("batch", "local epochs", "clients")}
        return verdict_of("settings", witness)

    traffic = []
    for row in _besides(statement):
        told, mismatches = _traffic(row)
        traffic.append(told)
        witness |= mismatches
    steps = "; ".join(f"{name} {', '.join(str(_local_steps(settings, name, n)) for n in clients)}" for name in IMAGES)
    return verdict_of(
        f"{participants} of {', '.join(map(str, clients))} clients; local steps per round with equal shares: {steps}; "
        f"{'; '.join(traffic)}",
        witness,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Tables 1, 2, 3, 5, 6: cells, and the sentences about them


class Column(NamedTuple):
    """A column of a table, in which methods are compared."""

    dataset: str
    clients: int
    partition: str

    def __str__(self) -> str:
        return f"{self.dataset}, N = {self.clients}, {self.partition}"


class Cell(NamedTuple):
    """Accuracy and standard deviation in percent; 0 where no deviation is printed."""

    accuracy: Fraction
    std: Fraction


Cells = dict[tuple[Column, str], Cell]  # (column, method) -> cell


def _column(row: Row) -> Column:
    return Column(row["dataset"], row["clients"], row["partition"])


def _cells(tables: Iterable[Record]) -> Cells:
    """The cells of some tables; if two tables have the same cell, the cell of the first one."""
    cells: Cells = {}
    for row in (row for table in tables for row in table.table):
        cells.setdefault(
            (_column(row), row["method"]), Cell(exact_decimal(row["accuracy"]), exact_decimal(row.get("std", 0.0)))
        )
    return cells


def _of(statement: Statement) -> Cells:
    """The cells that a statement is about: its own, and the cells of the tables that it rests on."""
    own = [record_of(statement)] if statement.id in ACCURACY_TABLES else []
    return _cells([*own, *(record_of(id_) for id_ in statement.rests_on if id_ in ACCURACY_TABLES)])


def _columns(cells: Cells, method: str, where: Row) -> list[Column]:
    """The columns that match `where` and in which the method has a cell."""
    return [column for column, name in cells if name == method and where.items() <= column._asdict().items()]


def _deviations(one: Cell, other: Cell) -> Fraction:
    return one.std + other.std


# What a sentence may say about two cells
COMPARISONS: dict[str, Callable[[Cell, Cell], bool]] = {
    "more accurate than": lambda one, other: one.accuracy > other.accuracy,
    "less accurate than": lambda one, other: one.accuracy < other.accuracy,
    "not more accurate than": lambda one, other: one.accuracy <= other.accuracy,
    "above, or within both deviations of,": lambda one, other: one.accuracy + _deviations(one, other) >= other.accuracy,
    "below, by more than both deviations,": lambda one, other: one.accuracy + _deviations(one, other) < other.accuracy,
}
# ... and how often: (true comparisons, all comparisons) -> whether the sentence is true
FREQUENCIES: dict[str, Callable[[int, int], bool]] = {
    "mostly": lambda true, of: 2 * true > of,
    "sometimes": lambda true, of: true > 0,
}


class Compared(NamedTuple):
    """One comparison of a method with another: where, whether the sentence is true there, the accuracies."""

    where: str
    other: str
    true: bool
    accuracies: Witness
    difference: Fraction


def _where(where: Row) -> str:
    """The columns that a sentence is about, for display."""
    return ", ".join(f"N = {value}" if key == "clients" else str(value) for key, value in where.items())


def _mean_cell(cells: Cells, method: str, columns: Iterable[Column]) -> Cell:
    """The mean accuracy and the mean deviation of a method."""
    own = [cells[column, method] for column in columns]
    return Cell(_mean(cell.accuracy for cell in own), _mean(cell.std for cell in own))


def _loses_more(cells: Cells, row: Row, method: str, other: str) -> Compared:
    """Whether a method's mean loss to another is larger in the columns `where` than in the columns `than`."""
    losses = {}
    for where in (row["where"], row["than"]):
        columns = _columns(cells, method, where)
        one, two = (_mean_cell(cells, name, columns) for name in (method, other))
        losses[_where(where)] = two.accuracy - one.accuracy
    here, there = losses.values()
    shown = {where: float(round(loss, 2)) for where, loss in losses.items()}
    return Compared("mean losses", other, here > there, shown, there - here)


def _compared(cells: Cells, row: Row, method: str) -> Iterator[Compared]:
    """Every comparison of a sentence with one of its methods."""
    columns = _columns(cells, method, row["where"])
    for other in row["others"]:
        if row["is"] == "losing more to":
            yield _loses_more(cells, row, method, other)
        elif row["how often"] == "on the mean":
            one, two = (_mean_cell(cells, name, columns) for name in (method, other))
            shown = {name: float(round(cell.accuracy, 2)) for name, cell in ((method, one), (other, two))}
            true = COMPARISONS[row["is"]](one, two)
            yield Compared(f"mean of {len(columns)} columns", other, true, shown, one.accuracy - two.accuracy)
        else:
            for column in columns:
                names = [method, other, *([row["than"]] if "than" in row else [])]
                one, two, *third = (cells[column, name] for name in names)
                shown = {name: float(cells[column, name].accuracy) for name in names}
                true = _nearer(one, two, *third) if third else COMPARISONS[row["is"]](one, two)
                yield Compared(str(column), other, true, shown, one.accuracy - two.accuracy)


def _nearer(one: Cell, two: Cell, third: Cell) -> bool:
    """Whether `one` is nearer to `two` than `third` is."""
    return abs(one.accuracy - two.accuracy) < abs(third.accuracy - two.accuracy)


def _sentence(cells: Cells, row: Row) -> tuple[str, Witness]:
    """A sentence in numbers, and where it is false."""
    than = row.get("than", "")
    where = f" ({_where(row['where'])})" if row["where"] else ""
    suffix = f" than {than if isinstance(than, str) else _where(than)}" if than else ""
    relation = f"{row['is']} {' or '.join(row['others'])}{where}{suffix}"
    needed = [*row["others"], *([than] if than and isinstance(than, str) else [])]
    told, witness = [], Witness()
    for method in row["methods"]:
        missing = [name for name in (method, *needed) if not _columns(cells, name, row["where"])]
        if missing:
            witness[f"{method} {relation}"] = {"no cell": missing}
            continue
        compared = list(_compared(cells, row, method))
        true, of = sum(c.true for c in compared), len(compared)
        enough = FREQUENCIES.get(row["how often"])
        for c in compared:
            if enough is None and not c.true:
                witness[f"{c.where}: {method} {row['is']} {c.other}{suffix}"] = c.accuracies
        if enough is not None and not enough(true, of):
            witness[f"{method} {relation}, {row['how often']}"] = {"true": true, "of": of}
        low, high = (_signed(extreme(c.difference for c in compared)) for extreme in (min, max))
        count, range_ = f"{true} of {of}", low if low == high else f"{low} to {high}"
        told.append(f"{method} {range_}" if of == 1 else f"{method} {count} ({range_})")
    return f"{relation}: {', '.join(told)}", witness


def _lead(cells: Cells, row: Row) -> tuple[str, Witness]:
    """'By up to': the largest lead over the best of the others in one column is the printed number."""
    (method,) = row["methods"]
    leads = {
        column: cells[column, method].accuracy - max(cells[column, other].accuracy for other in row["others"])
        for column in _columns(cells, method, {})
    }
    column = max(leads, key=lambda c: leads[c])
    alone = {other: max(cells[c, method].accuracy - cells[c, other].accuracy for c in leads) for other in row["others"]}
    witness: Witness = {}
    if leads[column] != exact_decimal(row["up to"]):
        witness["largest lead"] = {"printed": row["up to"], "table": float(leads[column]), "column": str(column)}
    told = ", ".join(f"{other} {_short(lead)}" for other, lead in alone.items())
    return (
        f"{method} ahead of the best of {len(row['others'])} baselines by {_short(min(leads.values()))} to "
        f"{_short(leads[column])} ({column}); of each of them by up to: {told}",
        witness,
    )


def _sentences(cells: Cells, rows: Iterable[Row]) -> tuple[str, Witness]:
    told, witness = [], Witness()
    for row in rows:
        said, mismatches = (_lead if row["is"] == "ahead of the best of" else _sentence)(cells, row)
        told.append(said)
        witness |= mismatches
    return "; ".join(told), witness


# ---------------------------------------------------------------------------------------------------------------------
# The tables: complete, possible, and equal if they have the same run


def _impossible(claim: Record) -> Iterator[Mismatch]:
    """Impossible, missing and superfluous cells."""
    settings, names = claim.settings, [(*_column(row), row["method"]) for row in claim.table]
    expected = {
        (dataset, clients, partition, method)
        for method in settings["methods"]
        for dataset in settings["datasets"]
        for clients in settings["clients"]
        for partition in settings["partitions"]
    }
    if len(names) != len(set(names)) or set(names) != expected:
        yield "cells", {"printed": len(names), "expected": len(expected), "differ": sorted(expected ^ set(names))[:3]}
    for row in claim.table:
        name = f"{_column(row)}, {row['method']}"
        if not 0 <= row["accuracy"] <= 100:
            yield f"{name}, percent", {"accuracy": row["accuracy"]}
        if row.get("std", 0.0) < 0:
            yield f"{name}, deviation", {"std": row["std"]}
        for symbol in ("rho", "phi"):
            if symbol in row and row["method"] != fedbat_with(symbol, row[symbol]):
                yield f"{name}, {symbol}", {symbol: row[symbol]}


def _runs(claim: Record) -> dict[tuple[Column, str], float]:
    """(column, method) -> accuracy; FedBAT with the default rho or phi is FedBAT."""
    defaults = record_of("fedbat.hyper").settings
    names = {fedbat_with(symbol, defaults[symbol]): "FedBAT" for symbol in ("rho", "phi")}
    return {(_column(row), names.get(row["method"], row["method"])): row["accuracy"] for row in claim.table}


def _otherwise(statement: Statement) -> tuple[str, Witness]:
    """The cells that another table has too, and those with another number there."""
    own, told, witness = _runs(record_of(statement)), [], Witness()
    for id_ in (id_ for id_ in ACCURACY_TABLES if id_ != statement.id):
        theirs = _runs(record_of(id_))
        shared = [key for key in own if key in theirs]
        if shared:
            told.append(f"{id_} {len(shared)}")
        for column, method in shared:
            one, other = own[column, method], theirs[column, method]
            if one != other:
                witness[f"{column}, {method}, otherwise in {id_}"] = {statement.id: one, id_: other}
    return ", ".join(told) or "none", witness


def _alike(cells: Cells) -> list[str]:
    """Methods with the same mean and deviation in one column: possible, but odd for independent runs."""
    found: dict[tuple[Column, Cell], list[str]] = {}
    for (column, method), cell in cells.items():
        if cell.std:
            found.setdefault((column, cell), []).append(method)
    return [f"{' and '.join(methods)} ({column})" for (column, _), methods in found.items() if len(methods) > 1]


def accuracy_table(statement: Statement, full: bool) -> Verdict:
    """Tables 1, 2, 3, 5, 6: no cell is impossible or different in another table; the sentences are true."""
    claim = record_of(statement)
    witness: Witness = dict(_impossible(claim))
    if "cells" in witness:
        return verdict_of(f"{len(claim.table)} cells", witness)
    shared, otherwise = _otherwise(statement)
    told, mismatches = _sentences(_of(statement), _besides(statement))
    alike = _alike(_cells([claim]))
    remarks = [
        f"{len(claim.table)} cells; also in another table: {shared}",
        *([f"same mean and deviation: {', '.join(alike)}"] if alike else []),
        *([told] if told else []),
    ]
    return verdict_of("; ".join(remarks), witness | otherwise | mismatches)


# ---------------------------------------------------------------------------------------------------------------------
# The claims

# Further comparisons that a reader may ask for: shown, but they decide nothing
BESIDES: dict[str, tuple[Row, ...]] = {
    "fedbat.claim.baselines": tuple(
        sentence(("ZeroFL",), "less accurate than", (method,), "mostly") for method in BINARIZATION
    ),
    "fedbat.claim.rho0": (sentence((fedbat_with("rho", 0),), "more accurate than", BASELINES[len(BINARIZATION) :]),),
    "fedbat.claim.fedpaq": (sentence(("FedPAQ [3-bit]", "FedPAQ [4-bit]"), "less accurate than", ("FedBAT",)),),
    "fedbat.claim.bifl": (sentence(("BiFL-Full",), "less accurate than", ("SignSGD",)),),
}


def claim(statement: Statement, full: bool) -> Verdict:
    """The comparisons of Sections 5.2, 5.3 and Appendix B, in the cells of the tables that the claim rests on."""
    cells = _of(statement)
    told, witness = _sentences(cells, record_of(statement).table)
    besides, _ = _sentences(cells, BESIDES.get(statement.id, ()))
    return verdict_of(f"{told}; besides, {besides}" if besides else told, witness)


def _by_value(id_: str, symbol: str) -> dict[str, dict[float, Fraction]]:
    """Table 2 or 3 as data set -> value of the symbol -> accuracy."""
    lines: dict[str, dict[float, Fraction]] = {}
    for row in record_of(id_).table:
        lines.setdefault(row["dataset"], {})[row[symbol]] = exact_decimal(row["accuracy"])
    return lines


def _spread(accuracies: Iterable[Fraction]) -> Fraction:
    values = list(accuracies)
    return max(values) - min(values)


def _best(line: Mapping[float, Fraction]) -> list[float]:
    """The values with the highest accuracy."""
    return [value for value, accuracy in line.items() if accuracy == max(line.values())]


def _not_falling(name: str, line: Mapping[float, Fraction], row: Row) -> Iterator[Mismatch]:
    """A slight improvement: no fall by more than both deviations.  Table 2 has none; Table 1 has that of the default rho."""
    same = Column(name, 100, "Non-IID-2")
    std = _cells([record_of("fedbat.table1")])[same, "FedBAT"].std
    for before, after in zip(row["rho"], row["rho"][1:], strict=False):
        if line[after] + 2 * std < line[before]:
            yield (
                f"{name}: falls from rho = {before:g} to {after:g}",
                {f"rho = {value:g}": float(line[value]) for value in (before, after)},
            )


def _close_together(name: str, line: Mapping[float, Fraction], row: Row) -> Iterator[Mismatch]:
    here, all_ = _spread(line[value] for value in row["rho"]), _spread(line.values())
    if not here < all_:
        yield f"{name}: as far apart as all", {"largest difference": float(here), "of all": float(all_)}


def _where_the_best_lie(name: str, line: Mapping[float, Fraction], row: Row) -> Iterator[Mismatch]:
    low, high = row["rho"][0], row["rho"][-1]
    if not low <= row["default"] <= high:
        yield "default", {"rho": row["default"], "interval": (low, high)}
    if not any(low <= value <= high for value in _best(line)):
        yield f"{name}: best outside [{low:g}, {high:g}]", {"best": _best(line)}


RHO: dict[str, Callable[[str, Mapping[float, Fraction], Row], Iterator[Mismatch]]] = {
    "not falling": _not_falling,
    "close together": _close_together,
    "where the best lie": _where_the_best_lie,
}


def rho(statement: Statement, full: bool) -> Verdict:
    """Section 5.3: the sentences about the accuracy for growing rho, in Table 2, for each data set."""
    lines, witness = _by_value("fedbat.table2", "rho"), Witness()
    for row in record_of(statement).table:
        unknown = [value for value in row["rho"] if not all(value in line for line in lines.values())]
        if unknown:
            witness[f"{row['is']}, rho"] = {"not in Table 2": unknown}
            continue
        for name, line in lines.items():
            witness |= RHO[row["is"]](name, line, row)
        default = row.get("default")
        if default not in (None, record_of("fedbat.hyper").settings["rho"]):
            witness["default, hyperparameters"] = {"sentence": default}
    values = next(iter(lines.values()))
    means = ", ".join(_short(_mean(line[value] for line in lines.values())) for value in values)
    best = ", ".join(f"{name} {' and '.join(f'{value:g}' for value in _best(line))}" for name, line in lines.items())
    return verdict_of(
        f"{len(lines)} data sets; best rho: {best}; mean accuracy at {', '.join(f'{v:g}' for v in values)}: {means}",
        witness,
    )


def phi(statement: Statement, full: bool) -> Verdict:
    """Section 5.3: no phi of Table 3 is more accurate than the claimed optimal phi, for any data set."""
    lines, witness = _by_value("fedbat.table3", "phi"), Witness()
    default = record_of("fedbat.hyper").settings["phi"]
    for row in record_of(statement).table:
        for name, line in lines.items():
            unknown = {row["phi"], *row["others"]} - set(line)
            better = {
                f"phi = {v:g}": float(line[v]) for v in row["others"] if not unknown and line[v] > line[row["phi"]]
            }
            if unknown:
                witness[f"{name}, phi"] = {"not in Table 3": sorted(unknown)}
            elif better:
                witness[f"{name}: not best at phi = {row['phi']:g}"] = {"phi": float(line[row["phi"]]), **better}
        if row["phi"] != default:
            witness["default, hyperparameters"] = {"sentence": row["phi"], "hyper": default}
    best = ", ".join(f"{name} {' and '.join(f'{value:g}' for value in _best(line))}" for name, line in lines.items())
    return verdict_of(f"{len(lines)} data sets; best phi: {best}", witness)


def evidence() -> Iterator[Evidence]:
    """The checks of the experimental statements."""
    yield Evidence("fedbat.table4", "enumeration", table4)
    yield Evidence("fedbat.data.sets", "enumeration", data_sets)
    yield Evidence("fedbat.data.noniid1", "enumeration", noniid1)
    yield Evidence("fedbat.data.noniid2", "enumeration", noniid2)
    yield Evidence("fedbat.hyper", "enumeration", hyper)
    yield from (Evidence(id_, "enumeration", accuracy_table) for id_ in ACCURACY_TABLES)
    yield from (Evidence(id_, "enumeration", claim) for id_ in CLAIMS)
    yield Evidence("fedbat.claim.rho", "enumeration", rho)
    yield Evidence("fedbat.claim.phi", "enumeration", phi)
