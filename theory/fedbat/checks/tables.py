"""The printed numbers of the experiments, compared with the text and with each other: finite, exact checks.

Every check reads the statement's own claim, and other statements as printed.  Numbers are compared as printed decimals,
so that binary rounding decides no verdict.  If something is odd but not impossible, the verdict mentions it, but does not
refute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise, product
from math import ceil, comb
from typing import Any, NamedTuple

from fedtheory.theory.fedbat.experiments import BINARIZATION
from fedtheory.theory.printed_claims import *
from fedtheory.theory.printed_tables import Row, sentence
from fedtheory.theory.statement import Evidence, Record, Statement, Verdict

ACCURACY_TABLES = tuple(f"fedbat.table{number}" for number in (1, 2, 3, 5, 6))

# Reasons why no check here decides a statement
OPEN = {
    "fedbat.data.iid": "a definition without numbers",
    "fedbat.fig1": "a diagram of a round; the equations and Algorithm 1 say what its steps compute",
    "fedbat.fig2": "test accuracy of networks round by round, which would have to be run; the picture is not in the text",
    "fedbat.fig3": "test accuracy of networks round by round, which would have to be run; the picture is not in the text",
    "fedbat.claim.speed": "rests on Figure 2 only, which is not in the text; no number of rounds is printed",
}


# The data sets; the paper does not describe them


class ImageSet(NamedTuple):
    """A data set: channels, pixels per side, classes, training images."""

    channels: int
    side: int
    classes: int
    training: int


IMAGES = {
    "FMNIST": ImageSet(1, 28, 10, 60_000),
    "SVHN": ImageSet(3, 32, 10, 73_257),
    "CIFAR-10": ImageSet(3, 32, 10, 50_000),
    "CIFAR-100": ImageSet(3, 32, 100, 50_000),
}

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


def _misfits(name: str, layers: Sequence[Row], images: ImageSet) -> Iterator[Mismatch]:
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
        f"the parameters of {len(claim.table)} layers, by arithmetic; choices of stride 1 or 2, padding 0 or 1, pooling by "
        "1 or 2 for each convolution that give the features of the CNN: "
        f"{', '.join(f'{name} {len(f)}' for name, f in fitting.items())}, all of them {len(common)}; "
        f"of these, alike in every layer: {alike or 'none'}; weights, and parameters of batch normalisation: "
        f"{'; '.join(sizes)}",
        witness,
    )


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
    parameters = {name: exact(a) for name, a in record_of(statement).settings["Dirichlet parameter"].items()}
    witness: Witness = dict(_every_data_set(parameters))
    witness |= {f"{name}, parameter": {"printed": float(a)} for name, a in parameters.items() if a <= 0}
    # E sum_k p_k^2 = (a + 1)/(N a + 1); its inverse is the effective number of clients that share a label
    shared = {
        name: ", ".join(short((n * a + 1) / (a + 1)) for n in _numbers_of_clients()) for name, a in parameters.items()
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
                unseen.append(f"{name}, {n} clients: {short(missing)} of {classes}")
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
    kept = 1 - exact(row["sparsity"])
    values = kept * BITS
    fitting = round(1 - Fraction(1, BITS), 2)  # the whole percent with values closest to one bit per parameter
    witness: Witness = {}
    if exact(row["sparsity"]) != fitting:
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
        f"{how} {short(bits)} (compressed {short(BITS / bits)} times)" for how, bits in costs.items() if bits
    )
    return f"bits per parameter for the values that {row['method']} keeps, with {d} parameters: {told}", witness


def hyper(statement: Statement, full: bool) -> Verdict:
    """Section 5.1: the settings fit each other and the tables; ZeroFL's values cost as many bits as signs."""
    settings = record_of(statement).settings
    clients, participants, rate = settings["clients"], settings["participants"], settings["learning rate"]
    in_tables = sorted({n for id_ in ACCURACY_TABLES for n in record_of(id_).settings["clients"]})
    models = {row["model"] for row in record_of("fedbat.data.sets").table}
    rounds, tried = settings["rounds"], {"rho": record_of("fedbat.table2"), "phi": record_of("fedbat.table3")}
    values = {symbol: sorted({row[symbol] for row in table.table}) for symbol, table in tried.items()}
    # What the text says, what stands elsewhere, and whether the two fit
    fits: dict[str, tuple[Any, Any, bool]] = {
        "participants": (participants, f"{min(clients)} clients", 0 < participants <= min(clients)),
        "clients": (clients, in_tables, sorted(clients) == in_tables),
        "rounds": (rounds, models, set(rounds) == models and min(rounds.values()) > 0),
        "learning rate": (rate, settings["learning rates"], rate in settings["learning rates"]),
        **{symbol: (settings[symbol], of, settings[symbol] in of) for symbol, of in values.items()},
        "runs": (settings["runs"], "standard deviations", settings["runs"] > 1),
    }
    witness: Witness = {
        what: {"text": said, "elsewhere": known} for what, (said, known, true) in fits.items() if not true
    }
    if settings["batch"] < 1 or settings["local epochs"] < 1 or min(clients) < 1:
        witness["local training"] = {what: settings[what] for what in ("batch", "local epochs", "clients")}
        return verdict_of("settings", witness)

    traffic = []
    for row in besides(statement):
        told, mismatches = _traffic(row)
        traffic.append(told)
        witness |= mismatches
    steps = "; ".join(f"{name} {', '.join(str(_local_steps(settings, name, n)) for n in clients)}" for name in IMAGES)
    return verdict_of(
        f"{participants} of {', '.join(map(str, clients))} clients; local steps per round with equal shares: {steps}; "
        f"{'; '.join(traffic)}",
        witness,
    )


# Tables 1, 2, 3, 5, 6, and the claims about them

COLUMN = ("dataset", "clients", "partition")


def fedbat_with(symbol: str, value: float) -> str:
    """The name of the method FedBAT with another rho or phi."""
    return f"FedBAT ({symbol} = {value:g})"


def _name(row: Row) -> str:
    return place(row, (*COLUMN, "method"))


def _of(statement: Statement) -> Cells:
    """The cells that a statement is about: its own, and the cells of the tables that it rests on."""
    own = [record_of(statement)] if statement.id in ACCURACY_TABLES else []
    tables = (*own, *(record_of(id_) for id_ in statement.rests_on if id_ in ACCURACY_TABLES))
    return cells_of((row for table in tables for row in table.table), COLUMN)


def _wrong_cells(claim: Record) -> Iterator[Mismatch]:
    """Impossible, missing and superfluous cells."""
    settings, names = claim.settings, [_name(row) for row in claim.table]
    keys = {"datasets": "dataset", "clients": "clients", "partitions": "partition", "methods": "method"}
    expected = {
        _name(dict(zip(keys.values(), values, strict=True))) for values in product(*(settings[key] for key in keys))
    }
    if len(names) != len(set(names)) or set(names) != expected:
        yield "cells", {"printed": len(names), "expected": len(expected), "differ": sorted(expected ^ set(names))[:3]}
    for row in claim.table:
        yield from impossible(_name(row), row)
        for symbol in ("rho", "phi"):
            if symbol in row and row["method"] != fedbat_with(symbol, row[symbol]):
                yield f"{_name(row)}, {symbol}", {symbol: row[symbol]}


def _runs(claim: Record) -> dict[tuple[str, str], float]:
    """(column, method) -> accuracy; FedBAT with the default rho or phi is FedBAT."""
    defaults = record_of("fedbat.hyper").settings
    names = {fedbat_with(symbol, defaults[symbol]): "FedBAT" for symbol in ("rho", "phi")}
    return {(place(row, COLUMN), names.get(row["method"], row["method"])): row["accuracy"] for row in claim.table}


def _otherwise(statement: Statement) -> tuple[str, Witness]:
    """The cells that another table has too, and those with another number there."""
    own, told, witness = _runs(record_of(statement)), [], Witness()
    for id_ in (id_ for id_ in ACCURACY_TABLES if id_ != statement.id):
        theirs = _runs(record_of(id_))
        shared = [key for key in own if key in theirs]
        told += [f"{len(shared)} in {id_}"] if shared else []
        witness |= {
            f"{column}, {method}, otherwise in {id_}": {statement.id: own[column, method], id_: theirs[column, method]}
            for column, method in shared
            if own[column, method] != theirs[column, method]
        }
    return ", ".join(told) or "none", witness


def _alike(claim: Record) -> list[str]:
    """Methods with the same mean and deviation in one column: possible, but odd for independent runs."""
    found: dict[tuple[str, float, float], list[str]] = {}
    for row in claim.table:
        if row.get("std"):
            found.setdefault((place(row, COLUMN), row["accuracy"], row["std"]), []).append(row["method"])
    return [f"{' and '.join(methods)} ({column})" for (column, *_), methods in found.items() if len(methods) > 1]


def accuracy_table(statement: Statement, full: bool) -> Verdict:
    """Tables 1, 2, 3, 5, 6: no cell is impossible or different in another table; the sentences are true."""
    claim = record_of(statement)
    witness: Witness = dict(_wrong_cells(claim))
    if "cells" in witness:
        return verdict_of(f"{len(claim.table)} cells", witness)
    shared, otherwise = _otherwise(statement)
    told, mismatches = sentences(_of(statement), besides(statement))
    alike = ", ".join(_alike(claim))
    remarks = (f"cells that another table has too: {shared}", alike and f"same mean and deviation: {alike}", told)
    return verdict_of(f"{len(claim.table)} cells; {'; '.join(filter(None, remarks))}", witness | otherwise | mismatches)


# Further comparisons that a reader may ask for: shown, but they decide nothing
BESIDES: dict[str, tuple[Row, ...]] = {
    "fedbat.claim.baselines": tuple(sentence(("ZeroFL",), "less accurate than", (m,), "mostly") for m in BINARIZATION),
    "fedbat.claim.rho0": (sentence((fedbat_with("rho", 0),), "more accurate than", ("ZeroFL",)),),
    "fedbat.claim.fedpaq": (sentence(("FedPAQ [3-bit]", "FedPAQ [4-bit]"), "less accurate than", ("FedBAT",)),),
    "fedbat.claim.bifl": (sentence(("BiFL-Full",), "less accurate than", ("SignSGD",)),),
}


def claim(statement: Statement, full: bool) -> Verdict:
    """The comparisons of Sections 5.2, 5.3 and Appendix B, in the cells of the tables that the claim rests on."""
    cells = _of(statement)
    told, witness = sentences(cells, record_of(statement).table)
    shown, _ = sentences(cells, BESIDES.get(statement.id, ()))
    return verdict_of(f"{told}; besides, {shown}" if shown else told, witness)


# Tables 2 and 3: one symbol varies

Line = Mapping[float, Fraction]  # value of the symbol -> accuracy on one data set


def _not_falling(line: Line, row: Row, dataset: str) -> Iterator[Mismatch]:
    """A slight improvement: no fall by more than both deviations.  Table 2 has none; Table 1 has that of the default rho."""
    same = place({"dataset": dataset, "clients": 100, "partition": "Non-IID-2"}, COLUMN)
    std = deviation(cells_of(record_of("fedbat.table1").table, COLUMN)[same, "FedBAT"])
    for before, after in pairwise(row["rho"]):
        if line[after] + 2 * std < line[before]:
            numbers = {f"rho = {value:g}": float(line[value]) for value in (before, after)}
            yield f"falls from rho = {before:g} to {after:g}", numbers


def _close_together(line: Line, row: Row, dataset: str) -> Iterator[Mismatch]:
    """The values differ by less than those of all rho."""
    here, all_ = (max(some) - min(some) for some in ([line[value] for value in row["rho"]], [*line.values()]))
    if not here < all_:
        yield "as far apart as all", {"largest difference": float(here), "of all": float(all_)}


def _where_the_best_lie(line: Line, row: Row, dataset: str) -> Iterator[Mismatch]:
    """The best value is in the interval."""
    low, high = row["rho"][0], row["rho"][-1]
    if not any(low <= value <= high for value in best(line)):
        yield f"best outside [{low:g}, {high:g}]", {"best": best(line)}


def _best_of(line: Line, row: Row, dataset: str) -> Iterator[Mismatch]:
    """No other value is more accurate."""
    better = {f"phi = {v:g}": float(line[v]) for v in row["others"] if line[v] > line[row["phi"]]}
    if better:
        yield f"not best at phi = {row['phi']:g}", {"phi": float(line[row["phi"]]), **better}


ALONG: dict[str, Callable[[Line, Row, str], Iterator[Mismatch]]] = {
    "not falling": _not_falling,
    "close together": _close_together,
    "where the best lie": _where_the_best_lie,
    "best of": _best_of,
}


def along(symbol: str, table: str, statement: Statement, full: bool) -> Verdict:
    """Section 5.3: the sentences about the accuracy for growing rho or phi, in Table 2 or 3, for each data set."""
    default, witness = record_of("fedbat.hyper").settings[symbol], Witness()
    rows = [{**row, "accuracy": accuracy(row)} for row in record_of(table).table]
    lines = pivot(rows, ("dataset",), symbol, "accuracy")
    for row in record_of(statement).table:
        values = row[symbol] if isinstance(row[symbol], tuple) else (row[symbol],)
        asked = (*values, *row.get("others", ()))
        if unknown := [value for value in asked if not all(value in line for line in lines.values())]:
            witness[f"{row['is']}, {symbol}"] = {f"not in {table}": unknown}
            continue
        for name, line in lines.items():
            witness |= {f"{name}: {what}": numbers for what, numbers in ALONG[row["is"]](line, row, name)}
        said = row.get("default", row[symbol] if row["is"] == "best of" else default)
        if "default" in row and not values[0] <= said <= values[-1]:
            witness["default"] = {symbol: said, "interval": (values[0], values[-1])}
        if said != default:
            witness["default, hyperparameters"] = {"sentence": said, "hyper": default}
    told = ", ".join(f"{name} {' and '.join(f'{value:g}' for value in best(line))}" for name, line in lines.items())
    says = f"{len(lines)} data sets; best {symbol}: {told}"
    if symbol == "rho":
        values = next(iter(lines.values()))
        means = ", ".join(short(mean(line[value] for line in lines.values())) for value in values)
        says += f"; mean accuracy at {', '.join(f'{value:g}' for value in values)}: {means}"
    return verdict_of(says, witness)


def evidence() -> Iterator[Evidence]:
    """The checks of the experimental statements."""
    checks = {
        "table4": table4,
        "data.sets": data_sets,
        "data.noniid1": noniid1,
        "data.noniid2": noniid2,
        "hyper": hyper,
    }
    checks |= {f"table{number}": accuracy_table for number in (1, 2, 3, 5, 6)}
    checks |= {f"claim.{name}": claim for name in ("accuracy", "baselines", "rho0", "fedpaq", "bifl", "more_clients")}
    checks |= {"claim.rho": partial(along, "rho", "fedbat.table2"), "claim.phi": partial(along, "phi", "fedbat.table3")}
    yield from (Evidence(f"fedbat.{name}", "enumeration", check) for name, check in checks.items())
