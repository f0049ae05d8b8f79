"""Texts of the reports: numbers, values, formulas and cells of tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fedtheory.theory import catalogue
from fedtheory.theory.printing import claim_latex, claim_words
from fedtheory.theory.statement import Severity, Statement
from fedtheory.verification import Checked

# Kinds with nothing to decide, and why; `OPEN` in a paper's checks has the reasons for single statements
_NOTHING_TO_DECIDE = {
    "setting": "a description of the setting",
    "assumption": "an assumption: the theorems start from it",
    "definition": "a definition",
    "algorithm": "a listing",
    "partition": "a description",
    "experiment": "settings of an experiment",
    "figure": "a figure without data in the text",
}


# What an erratum of each severity says of its statement
SEVERITY_SAYS: dict[Severity, str] = {
    "breaks the statement": "it is false, and what is true differs in substance",
    "breaks the proof": "only its proof fails",
    "missing hypothesis": "it is true under an assumption that the paper does not list",
    "constant": "it is true with another constant",
    "misprint": "a slip; what is meant is clear",
}


def significant(number: float) -> str:
    """Three significant digits, which are the same on another machine."""
    return f"{number:.3g}"


def formula(checked: Checked) -> str:
    """The claim in one line, safe inside a Markdown table: its formula if it has one, else its words."""
    mathematics = claim_latex(checked.statement)
    return in_cell(mathematics) if mathematics else short(claim_words(checked.statement))


def in_cell(mathematics: str) -> str:
    """LaTeX for a table cell: no pipes."""
    safe = mathematics.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return f"$`{safe}`$"


def cell(text: str) -> str:
    """Text as Markdown that shows it as it is, in one line, also in a table; what stands between back-quotes is code."""
    words, *code = " ".join(text.split()).split("`")
    if len(code) % 2:  # a single back-quote
        words, code = "`".join([words, *code]), []
    parts = [_MARKUP.sub(r"\\\g<0>", words)]
    for inside, after in zip(code[::2], code[1::2], strict=True):
        parts += [f"`{inside}`", _MARKUP.sub(r"\\\g<0>", after)]
    return "".join(parts).replace("|", "\\|")


# What Markdown would take for emphasis, a tag, a link or an escape
_MARKUP = re.compile(
    r"[*`]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|](?=[(\[])|\\(?=[!-/:-@\[-`{-~])|~(?=~)|&(?=#?\w+;)"
)


def short(text: str, most: int = 220) -> str:
    """Text for a table cell, cut off where it is long."""
    flat = " ".join(text.split())
    return cell(flat if len(flat) <= most else flat[: most - 3].rsplit(" ", 1)[0] + " ...")


def best_text(end: float) -> str:
    """A factor, to three digits; 0 where the term is not needed."""
    return "0" if end < 5e-4 else significant(end)


def value_text(value: object, number: Callable[[float], str] = significant) -> str:
    """A number, a text, or several of them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(one, number)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(value_text(one, number) for one in value)
    return number(value) if isinstance(value, float) else str(value)


def why_open(statement: Statement) -> str:
    """Why nothing has decided a statement."""
    otherwise = _NOTHING_TO_DECIDE.get(statement.kind, "no check here can decide it")
    return catalogue.reasons(statement.paper).get(statement.id) or otherwise


def verdict(checked: Checked) -> str:
    """The headline, with the verdict in bold."""
    return f"**{checked.status}**{cell(checked.headline).removeprefix(checked.status)}"


def first_of(says: str) -> str:
    """What a verdict says first: a counterexample can list several instances, by semicolons."""
    return says.split("; ")[0].rstrip(".")


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def number_word(number: int) -> str:
    """A small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
