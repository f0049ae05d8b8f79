"""Algorithms for the site: their lines typeset, and a printed listing beside its corrected form, changes marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from markupsafe import Markup

from fedtheory.site.typeset import typeset
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Line, Listing
from fedtheory.theory.statement import Statement


@dataclass(frozen=True)
class Shown:
    """A line as it is shown: its number, its depth, and its text as HTML."""

    number: int
    depth: int
    text: Markup


@dataclass(frozen=True)
class LinePair:
    """A line of two listings: as printed and as corrected; None where one of them does not have it."""

    printed: Shown | None
    corrected: Shown | None
    changed: bool


def shown(listing: Listing) -> list[Shown]:
    """The lines of a listing."""
    return [Shown(line.number, line.depth, typeset(_text(line))) for line in listing.lines]


def comparison(printed: Listing, corrected: Listing) -> list[LinePair]:
    """The lines of both listings, side by side by their numbers; in lines that differ, the words that do are marked."""
    ours, theirs = ({line.number: line for line in one.lines} for one in (corrected, printed))
    return [_row(theirs.get(number), ours.get(number)) for number in sorted(ours.keys() | theirs.keys())]


def beside(statement: Statement) -> tuple[Listing, Listing] | None:
    """The printed and the corrected listing of an algorithm; None if there is only one, or if they are the same."""
    printed = catalogue.find(statement.corrects).claim if statement.corrects else statement.claim
    forms = [catalogue.find(id_) for id_ in catalogue.corrected_by(statement.id)]
    forms.sort(key=lambda form: not form.id.endswith(".corrected"))  # before one that does more than correct
    others = [statement.claim] if statement.corrects else [form.claim for form in forms]
    corrected = next((one for one in others if isinstance(one, Listing) and one != printed), None)
    return (printed, corrected) if isinstance(printed, Listing) and corrected is not None else None


def _text(line: Line) -> str:
    return re.sub(r"\bD(?=[a-z]_)", "Δ", "; ".join(map(str, line.steps)))  # Dc_s is a change of c_s


def _row(printed: Line | None, corrected: Line | None) -> LinePair:
    if printed is None or corrected is None or str(printed) == str(corrected):
        one, other = (
            None if line is None else Shown(line.number, line.depth, typeset(_text(line)))
            for line in (printed, corrected)
        )
        return LinePair(one, other, one != other)
    pairs = (printed, corrected), (corrected, printed)
    one, other = (Shown(line.number, line.depth, _marked(_text(line), _text(against))) for line, against in pairs)
    return LinePair(one, other, True)


def _marked(text: str, other: str) -> Markup:
    """A text, typeset; the words that another text does not have there are marked."""
    words, against = text.split(" "), other.split(" ")
    if len(words) == len(against):
        same = [word == one for word, one in zip(words, against, strict=True)]
    else:
        blocks = SequenceMatcher(None, words, against, autojunk=False).get_matching_blocks()
        same = [any(b.a <= i < b.a + b.size for b in blocks) for i in range(len(words))]
    pieces = []
    for is_same, group in groupby(zip(same, words, strict=True), key=itemgetter(0)):
        piece = typeset(" ".join(_SIGNS.get(word, word) for _, word in group))
        pieces.append(piece if is_same else Markup("<mark>{}</mark>").format(piece))
    return Markup(" ").join(pieces)


_SIGNS = {"-": "\u2212"}  # alone between two pieces it is no hyphen
