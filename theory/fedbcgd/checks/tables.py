"""The printed numbers of the experiments, compared with the text and with each other: finite, exact checks.

Every check reads the statement's own claim, and other statements as printed.  Numbers are compared as printed decimals,
so that binary rounding decides no verdict.  If something is odd but not impossible (a target that is reached and lost
again, two tables with different numbers for one setting), the verdict mentions it, but does not refute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf, prod
from typing import Any

from fedtheory.theory.printed_claims import *
from fedtheory.theory.printed_tables import Row
from fedtheory.theory.statement import Evidence, Record, Statement, Verdict

ACCURACY_TABLES = tuple(f"fedbcgd.table{number}" for number in (2, 3, 4, 5, 6))


# Settings: who takes part


def setup(statement: Statement, full: bool) -> Verdict:
    """Section 6.2: the images of all clients are the training set; a whole number of clients takes part."""
    claim = record_of(statement)
    clients = claim.settings["clients"]
    witness: Witness = {}
    for row in claim.table:
        images = row.get("training set") or row["classes"] * row["training images per class"]
        if clients * row["images per client"] != images:
            witness[f"{row['dataset']}, images"] = {"clients": clients, **row}
    sampled = clients * exact(claim.settings["participation"])
    if sampled.denominator != 1:
        witness["clients that take part"] = float(sampled)
    return verdict_of(
        f"the images of {clients} clients against {len(claim.table)} training sets; {sampled} clients take part",
        witness,
    )


# Tables 2 to 6


# The numbers that a sentence is about, if it is not about the accuracy alone
QUANTITIES = {"faster than": ("floats",), "ahead of": ("accuracy", "floats")}


def _false_sentences(statement: Statement) -> Iterator[Mismatch]:
    """The comparisons that the table contradicts, column by column."""
    cells = cells_of(record_of(statement).table, ("column",))
    for said in besides(statement):
        quantities = QUANTITIES.get(said["is"], ("accuracy",))
        for column in said["columns"]:
            for found in compared(cells, {**said, "how often": "always", "where": {"column": column}}, said["method"]):
                if not found.true:
                    numbers = {
                        name: tuple(cell[quantity] for quantity in quantities) for name, cell in found.cells.items()
                    }
                    yield f"{column}: {said['method']} {said['is']} {found.other}", numbers


def _impossible(claim: Record) -> Iterator[Mismatch]:
    """Impossible cells: more than 100 %, more floats than the total, a final accuracy above a target never reached."""
    total, targets = claim.settings["total floats"], claim.settings["targets"]
    for row in claim.table:
        name, floats = place(row, ("column", "method")), row["floats"]
        yield from impossible(name, row)
        if floats is not None and total < floats < inf:
            yield f"{name}, more than the total", {"floats": floats, "total floats": total}
        if floats == inf and row["accuracy"] >= targets[row["column"]]:
            yield f"{name}, never reached", {"accuracy": row["accuracy"], "target": targets[row["column"]]}


def _lost_again(claim: Record) -> list[str]:
    """Methods that reach the target but end below it; this is possible: the final accuracy is from the last rounds."""
    targets = claim.settings["targets"]
    return [
        f"{row['method']} on {row['column']} ({row['floats']:g}d, then {row['accuracy']} < {targets[row['column']]:g})"
        for row in claim.table
        if row["floats"] not in (None, inf) and row["accuracy"] < targets[row["column"]]
    ]


def _fastest(claim: Record) -> list[str]:
    """For each column, the method that reaches the target with the fewest floats."""
    ranked = sorted((row for row in claim.table if row["floats"] is not None), key=lambda row: float(row["floats"]))
    first = {row["column"]: row["method"] for row in reversed(ranked)}
    return [f"{column} {first[column]}" for column in claim.settings["targets"]]


def _setting(claim: Record, column: str) -> tuple[Any, ...]:
    """The setting of a column: data set, network, heterogeneity, number of blocks, target."""
    settings = claim.settings
    names = (settings.get("dataset", column), settings.get("model", column))
    return *names, settings["rho"], settings["blocks"], settings["targets"][column]


def _otherwise(statement: Statement) -> list[str]:
    """Floats that differ from another table's, for the same setting and target, if both reach the target."""
    own = record_of(statement)
    found = []
    for id_ in ACCURACY_TABLES:
        other = record_of(id_)
        theirs = {(_setting(other, row["column"]), row["method"]): row["floats"] for row in other.table}
        for row in own.table:
            floats = theirs.get((_setting(own, row["column"]), row["method"]))
            if id_ != statement.id and floats != row["floats"] and not {floats, row["floats"]} & {None, inf}:
                found.append(f"{row['method']} on {row['column']} {row['floats']:g}d, {id_} {floats:g}d")
    return found


def accuracy_table(statement: Statement, full: bool) -> Verdict:
    """Tables 2 to 6: no cell is impossible, and the sentences about the methods are true for the numbers."""
    claim = record_of(statement)
    remarks = {
        "fewest floats": _fastest(claim),
        "reach the target and lose it again": _lost_again(claim),
        "another number in another table": _otherwise(statement),
    }
    said = "; ".join(f"{what}: {', '.join(cells)}" for what, cells in remarks.items() if cells)
    witness = dict((*_impossible(claim), *_false_sentences(statement)))
    return verdict_of(f"{len(claim.table)} cells, and the sentences about them: {said}", witness)


def speedups(statement: Statement, full: bool) -> Verdict:
    """Section 5.2: the quotients of the tables' floats, rounded as printed.

    The floats themselves are rounded.  A factor is false if no floats that round to the printed ones give it.
    """
    claim = record_of(statement)
    witness: Witness = {}
    for row in claim.table:
        column, times = row["column"], exact(row["times"])
        cells = cells_of(record_of(f"fedbcgd.{row['table']}").table, ("column",))
        floats = tuple(cells[column, method]["floats"] for method in (row["method"], row["against"]))
        name = f"{column}: {row['method']} against {row['against']}"
        if row["floats"] not in (None, floats):
            witness[f"{name}, floats"] = {row["table"]: floats, "sentence": row["floats"]}
        few, many = map(exact, floats)
        below, above = (half_unit(int(number) if number == int(number) else number) for number in floats)
        least, most = (many - above) / (few + below), (many + above) / (few - below)
        room = half_unit(row["times"])
        if not (most > times if row["speedup"] == "more than" else least - room <= times <= most + room):
            witness[name] = {
                "floats": floats,
                "quotient": round(float(many / few), 4),
                f"{row['speedup']} printed": row["times"],
                "quotient of floats that round to these": (round(float(least), 4), round(float(most), 4)),
            }
    return verdict_of(f"{len(claim.table)} factors against quotients of printed floats", witness)


# Parameter blocks

# Output channels of the 3x3 convolutions, in order.
CONVOLUTIONS = {
    "VGG-11": (64, 128, 256, 256, 512, 512, 512, 512),
    "VGG-19": (64, 64, 128, 128, *[256] * 4, *[512] * 8),
    "ResNet-18": (*[64] * 5, *[128] * 4, *[256] * 4, *[512] * 4),
}
# In and out channels of the 1x1 convolutions on the shortcuts that are not the identity
PROJECTIONS = {"ResNet-18": ((64, 128), (128, 256), (256, 512))}
COLOURS, VIT_WIDTH, LARGEST_SIDE, KERNELS = 3, 768, 8, (1, 3, 5, 7)


def vit_base(width: int = VIT_WIDTH, layers: int = 12, hidden: int = 3072, patch: int = 16, image: int = 224) -> int:
    """The parameters of ViT-Base, without its classifier and the normalisation before it."""
    embedding = COLOURS * patch**2 * width + width
    positions = ((image // patch) ** 2 + 1) * width  # one more for the class token
    attention = 4 * (width * width + width)
    perceptron = 2 * width * hidden + hidden + width
    return embedding + width + positions + layers * (attention + perceptron + 2 * 2 * width)


def _kind(row: Row) -> str:
    """The kind of a layer: conv3, FC or ViT."""
    return str(row["layer"].partition("-")[0])


def _width(row: Row) -> int:
    """The number in a layer's name: output channels of a convolution, inputs or outputs of a fully connected layer."""
    return int(row["layer"].partition("-")[2])


def _convolutions(claim: Record) -> Iterator[Mismatch]:
    """Convolutions whose count is not kernel * kernel * in * out, or that the network does not have."""
    rows = [row for row in claim.table if _kind(row).startswith("conv")]
    inputs = COLOURS
    for number, row in enumerate(rows, 1):
        pairs = inputs * _width(row)
        expected = int(_kind(row).removeprefix("conv")) ** 2 * pairs
        if row["parameters"] != expected:
            fits = [f"{k}x{k}" for k in KERNELS if k * k * pairs == row["parameters"]]
            numbers = {"printed": row["parameters"], "expected": expected, "fits": fits}
            yield f"convolution {number}, {inputs} to {_width(row)}", numbers
        inputs = _width(row)
    channels, usual = tuple(map(_width, rows)), CONVOLUTIONS.get(claim.settings["network"])
    if usual is not None and channels != usual:
        yield f"convolutions of {claim.settings['network']}", {"table": channels, "network": usual}


def _chain(inputs: int, counts: Sequence[int]) -> tuple[int, ...] | None:
    """The widths of fully connected layers with these inputs and numbers of weights; None if not whole numbers."""
    widths = [inputs]
    for count in counts:
        if count % widths[-1]:
            return None
        widths.append(count // widths[-1])
    return tuple(widths)


def _classifiers(claim: Record) -> dict[tuple[int, ...], list[str]]:
    """Widths of the fully connected layers that give the printed counts -> the layer names that fit no width.

    The inputs of the first layer are the channels of the last convolution on a square of pixels, or ViT's width.
    """
    rows = [row for row in claim.table if _kind(row) == "FC"]
    channels = [_width(row) for row in claim.table if _kind(row).startswith("conv")]
    inputs = [channels[-1] * side**2 for side in range(1, LARGEST_SIDE + 1)] if channels else [VIT_WIDTH]
    chains = (_chain(width, [row["parameters"] for row in rows]) for width in inputs)
    return {
        chain: [row["layer"] for row, *sides in zip(rows, chain, chain[1:], strict=False) if _width(row) not in sides]
        for chain in chains
        if chain is not None
    }


def _full_connections(claim: Record) -> Iterator[Mismatch]:
    """Fully connected layers whose names fit no widths that give their counts; the widths with the fewest misfits."""
    chains = _classifiers(claim)
    fewest = min(map(len, chains.values()), default=None)
    if fewest != 0:
        nearest = {"-".join(map(str, chain)): names for chain, names in chains.items() if len(names) == fewest}
        yield "full connections", {"widths that give the counts, and the names that fit none of them": nearest}


def _encoder(claim: Record) -> Iterator[Mismatch]:
    """Blocks of a Vision Transformer whose sum is not ViT-Base."""
    counts = [row["parameters"] for row in claim.table if _kind(row) == "ViT"]
    if counts and sum(counts) != vit_base():
        missing = Fraction(vit_base() - sum(counts), counts[0])
        yield "ViT-Base", {"blocks": sum(counts), "network": vit_base(), "missing, in blocks": str(missing)}


def _sizes(claim: Record) -> tuple[list[int], int]:
    """The parameters of each block but the shared one, and those that are shared."""
    numbers = dict.fromkeys(row["block"] for row in claim.table if not row["share"])
    own = [sum(row["parameters"] for row in claim.table if row["block"] == number) for number in numbers]
    return own, sum(row["parameters"] for row in claim.table if row["share"])


def _number_of_blocks(claim: Record) -> Iterator[Mismatch]:
    """A mismatch if the blocks besides the shared one are not N."""
    own, _ = _sizes(claim)
    if len(own) != claim.settings["blocks"]:
        yield "blocks besides the shared one", {"table": len(own), "N": claim.settings["blocks"]}


def _sent(claim: Record) -> str:
    """The size of a client's message in a round (its own and the shared block): mean over the blocks, and maximum."""
    sizes, shared = _sizes(claim)
    d = sum(sizes) + shared
    mean, most = Fraction(sum(sizes), len(sizes)) + shared, max(sizes) + shared
    outputs = sorted({chain[-1] for chain, misfits in _classifiers(claim).items() if not misfits})
    return (
        f"d = {d}; a client sends {float(mean / d):.4f} d on average, {most / d:.4f} d at most; "
        f"the shared block is {100 * shared / d:.3f} %; possible numbers of outputs: "
        f"{', '.join(map(str, outputs)) or 'none'}"
    )


def _without_row(claim: Record) -> str:
    """The projections on the shortcuts, if the table has no row for them."""
    counts = [prod(channels) for channels in PROJECTIONS.get(claim.settings["network"], ())]
    missing = [count for count in counts if count not in {row["parameters"] for row in claim.table}]
    return f"; no row for 1x1 convolutions on the shortcuts ({sum(missing)} parameters)" if missing else ""


def blocks(statement: Statement, full: bool) -> Verdict:
    """Supplement 6.6: each count fits the named layer, the layers are the network's, and there are N blocks."""
    claim = record_of(statement)
    tests = (_convolutions, _full_connections, _encoder, _number_of_blocks)
    witness = dict(mismatch for test in tests for mismatch in test(claim))
    return verdict_of(
        f"the parameters of {len(claim.table)} layers, by arithmetic; {_sent(claim)}{_without_row(claim)}", witness
    )


def share_fraction(statement: Statement, full: bool) -> Verdict:
    """Introduction: the shared block's percentage of ResNet-18, rounded as printed."""
    settings = record_of(statement).settings
    printed, table = settings["percent"], record_of(settings["blocks"]).table
    shared, total = (sum(row["parameters"] for row in rows) for rows in ([r for r in table if r["share"]], table))
    percent = Fraction(100 * shared, total)
    numbers = {"printed": printed, "shared": shared, "all": total, "quotient": round(float(percent), 4)}
    wrong = abs(percent - exact(printed)) > half_unit(printed)
    return verdict_of(f"the shared block has {shared} of {total} parameters", {"percent": numbers} if wrong else {})


def evidence() -> Iterator[Evidence]:
    """The checks of the experimental statements."""
    checks = {"setup": setup, **{f"table{number}": accuracy_table for number in (2, 3, 4, 5, 6)}, "speedups": speedups}
    checks |= {f"blocks.{name}": blocks for name in ("lenet5", "vgg11", "resnet18", "vgg19", "vit")}
    for name, check in {**checks, "claim.share_fraction": share_fraction}.items():
        yield Evidence(f"fedbcgd.{name}", "enumeration", check)
