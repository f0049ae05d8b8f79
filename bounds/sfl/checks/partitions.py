"""ExDir and the other partitions: seeded partitions against the formulas; means over seeds, with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sympy.core.relational import Relational

from fedtheory.bounds.sfl.checks.figures import settings_of
from fedtheory.simulations import partitions
from fedtheory.simulations.partitions import Partition
from fedtheory.theory.notation import Expectation
from fedtheory.theory.proofs.instances import TOLERANCE, Values, sides, value_at
from fedtheory.theory.statement import Relations, Statement, Status, Verdict, Words

CONFIDENCE = 0.999  # of the two-sided interval of a mean over seeds


@dataclass(frozen=True)
class Dealt:
    """A partition as values of its statement's symbols, by client (`clients`) and by class (`classes`)."""

    clients: list[Values]
    classes: list[Values]


def _dealt(partition: Partition, **symbols: float) -> Dealt:
    """Of a partition of `_LABELS`; proportions before rounding to integers, which may leave a client without samples."""
    counts = partition.counts(_LABELS)
    assert partition.proportions is not None
    owned = np.ones_like(counts, dtype=bool) if partition.owners is None else partition.owners
    whole = {"M": float(counts.shape[1]), **symbols}
    return Dealt(
        [{**whole, "labels_m": float(n)} for n in (counts > 0).sum(axis=0)],
        [
            {**whole, "n_c": float(own.sum()), "p_c": list(p[own]), "m": 1.0}
            for p, own in zip(partition.proportions, owned, strict=True)
        ],
    )


_LABELS = np.repeat(np.arange(5), 60)  # 60 samples a class are divided equally by one to six owners
_ALPHA = 3.0


def exdir(seed: int) -> Dealt:
    """ExDir(2, 3) of five classes on six clients."""
    return _dealt(partitions.exdir(_LABELS, 6, 2, _ALPHA, seed), C=2.0, alpha=_ALPHA)


def quantity(seed: int) -> Dealt:
    """Quantity(2) of five classes on six clients."""
    found = partitions.quantity(_LABELS, 6, 2, seed)
    return _dealt(replace(found, proportions=found.counts(_LABELS) / 60), C=2.0)  # of the dealt samples


def dirichlet(seed: int) -> Dealt:
    """Dir(2) of five classes on six clients."""
    return _dealt(partitions.dirichlet(_LABELS, 6, _ALPHA, seed), alpha=_ALPHA)


def partitioned(statement: Statement, full: bool, *, deal: Callable[[int], Dealt], seeds: int, family: str) -> Verdict:
    """Every formula of the claim on seeded partitions: in each one, or, for an expectation, by the mean over them.

    An expectation is taken over all classes of all seeds with the same number of owners: given the owners, their
    proportions are independent.
    """
    claim = statement.claim_of(Words)
    dealt = [deal(seed) for seed in range(seeds * (5 if full else 1))]
    classes = [c for one in dealt for c in one.classes]
    by_owners: dict[float, list[Values]] = {}
    for c in classes:
        by_owners.setdefault(c["n_c"], []).append(c)
    enough = {n: own for n, own in by_owners.items() if len(own) >= 100}
    intervals = 0
    for formula in claim.formulas:
        if formula.has(Expectation):
            for n, own in enough.items():
                off = _off(formula, own)
                intervals += 1
                if off is not None:
                    witness = {"n_c": n, "classes": len(own), **off}
                    return Verdict(
                        Status.REFUTED, f"{formula.lhs} = {formula.rhs} fails for {n:g} owners", witness=witness
                    )
            continue
        names = {s.name for s in formula.free_symbols}
        for symbols in (c for one in dealt for c in (one.clients if "labels_m" in names else one.classes)):
            (side,) = sides(Relations((formula,)), symbols)
            if not side.holds:
                shown = {name: np.asarray(v).tolist() for name, v in symbols.items()}
                return Verdict(Status.REFUTED, str(side), witness=shown)
    statistics = f"; mean and variance inside {intervals} intervals of {CONFIDENCE:.1%}" if intervals else ""
    return Verdict(Status.TESTED, f"{family}, {len(dealt)} seeds, {len(classes)} classes dealt out{statistics}")


def _off(formula: Relational, own: Sequence[Values]) -> dict[str, float] | None:
    """The two sides and the half-width of the interval, if the measured expectation is outside it; else None."""
    values = {name: v for name, v in own[0].items() if name != "p_c"}
    law = [(1 / len(own), {"p_c": c["p_c"]}) for c in own]
    left, right = (value_at(side, values, law) for side in formula.args)
    half = 0.0
    if isinstance(formula.lhs, Expectation):
        each = [value_at(formula.lhs.args[0], {**values, "p_c": c["p_c"]}) for c in own]
        half = float(stdtrit(len(own) - 1, (1 + CONFIDENCE) / 2) * np.std(each, ddof=1) / np.sqrt(len(own)))
    if abs(left - right) <= half + TOLERANCE:
        return None
    return {"left": float(left), "right": float(right), "half-width": half}


def _allocations(clients: int, classes: int, C: int, seeds: int) -> list[NDArray[np.bool_]]:
    """Who owns which class, (classes, clients), by seed.  Raises ValueError where no allocation is possible."""
    labels = np.repeat(np.arange(classes), max(40, clients))
    found = []
    for seed in range(seeds):
        owners = partitions.exdir(labels, clients, C, 10.0, seed).owners
        assert owners is not None
        found.append(owners)
    return found


def first_row(statement: Statement, full: bool = False) -> Verdict:
    """Figure 8, first row: with one label a client and as many clients as labels, is one result possible?"""
    settings = settings_of(statement)
    clients, classes = settings["clients in the first row"], settings["labels"]
    try:
        found = _allocations(clients, classes, 1, 50)
    except ValueError as error:
        return Verdict(Status.REFUTED, f"no such partition: {error}", witness={"clients": clients, "labels": classes})
    # Up to the clients' names, a partition with one label each is given by the number of owners of each label.
    renamed = {tuple(owners.sum(axis=1).tolist()) for owners in found}
    if len(renamed) > 1:
        one, two = sorted(renamed)[:2]
        witness = {"clients": clients, "labels": classes, "owners of each label": [one, two]}
        return Verdict(Status.REFUTED, f"{len(renamed)} results in 50 seeds, up to the clients' names", witness=witness)
    named = len({owners.tobytes() for owners in found})
    return Verdict(
        Status.TESTED,
        f"first row, 50 seeds: every label goes whole to one client, so one result up to the clients' names, and {named} "
        "different ones with them; this assumes that every label has an owner, which the text does not "
        "say: otherwise two clients may draw the same label. The other rows: no alpha is in the text; not decided",
    )


def allocation(statement: Statement, full: bool = False) -> Verdict:
    """Figure 9: each client has C of the classes, every class has an owner, each client has each class equally often."""
    settings = settings_of(statement)
    C, classes, clients = settings["C"], settings["classes"], settings["clients"]
    seeds = 2000 if full else 400
    try:
        found = _allocations(clients, classes, C, seeds)
    except ValueError as error:
        return Verdict(Status.REFUTED, f"no such allocation: {error}", witness={"settings": dict(settings)})
    owners = np.stack(found)
    if (owners.sum(axis=1) != C).any() or (owners.sum(axis=2) == 0).any():
        return Verdict(Status.REFUTED, "a client without C classes, or a class without owner", witness=dict(settings))
    share = owners.mean(axis=0)
    half = stdtrit(seeds - 1, (1 + CONFIDENCE ** (1 / share.size)) / 2) * np.sqrt(
        C / classes * (1 - C / classes) / seeds
    )
    if np.abs(share - C / classes).max() > half:
        return Verdict(
            Status.REFUTED, "a client owns a class too often or too seldom", witness={"share": share.tolist()}
        )
    return Verdict(
        Status.TESTED,
        f"{seeds} seeds: each of {clients} clients owns {C} of {classes} classes, each class has an owner, and each client "
        f"owns each class in {C / classes:g} of the seeds, within {half:.2g}",
    )
