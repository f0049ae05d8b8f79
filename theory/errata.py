"""The errata of a paper, from its file errata.toml; the verdicts about them are computed, not written there."""

from __future__ import annotations

from typing import cast, get_args

from fedtheory.theory.data_files import DataEntry, data_file
from fedtheory.theory.statement import Paper, Severity


def declare(paper: Paper, file: DataEntry | None = None) -> None:
    """Declare a paper's repairs, errata, common errors and findings; ids are without the paper's short name.

    Raises ValueError for an entry that is wrong, with its file and its place there.
    """
    file = (file or data_file(paper.name, "errata.toml")).only("repair", "erratum", "one_error", "finding")
    for entry in file.entries("repair"):
        says, names = entry.only("of", "says").text("says"), entry.texts("of")
        entry.call(paper.repair, says, *names)
    for entry in file.entries("erratum"):
        _erratum(paper, entry.only("of", "severity", "printed", "true", "corrected"))
    for entry in file.entries("one_error"):
        root, names = entry.only("root", "of").text("root"), entry.texts("of")
        entry.call(paper.one_error, root, *names)
    for entry in file.entries("finding"):
        parts = ("of", "title", "says", "matters", "figure")
        entry.call(paper.finding, *map(entry.only(*parts).text, parts))


def _erratum(paper: Paper, entry: DataEntry) -> None:
    """The same error of one or several statements.  Corrected: true for the forms NAME.corrected, or another's name."""
    severity = cast(Severity, entry.text("severity", among=get_args(Severity)))
    printed, true, form = entry.text("printed"), entry.text("true"), entry.values.get("corrected", "")
    for name in entry.texts("of"):
        corrected = f"{name}.corrected" if form is True else entry.text("corrected", "")
        entry.call(paper.erratum, name, severity, printed, true, corrected)
