"""Docstrings of this project as Markdown: what is aligned in them becomes a list, and signs of mathematics stay signs."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

import griffe

_ENTRY = re.compile(r"^(\w+(?:, \w+)*) {2,}(\S.*)$")


class AsMarkdown(griffe.Extension):
    """Rewrites the docstring of every object that the pages may show."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called once for each object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The text with its aligned entries, "name   meaning", as a list."""
    lines: list[str] = []
    in_entry = False
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            if lines and lines[-1] and not in_entry:
                lines.append("")
            lines.append(f"- **{escaped(entry[1])}**: {escaped(entry[2])}")
        elif in_entry and line.startswith(" "):
            lines.append(f"    {escaped(line.strip())}")
            continue
        else:
            if in_entry and line:
                lines.append("")
            lines.append(escaped(line))
        in_entry = bool(entry)
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text whose signs Markdown would take for its own; what stands between backticks is code."""
    parts = re.split(r"(`[^`]+`)", text)
    plain = (re.sub(r"([\\`*_>|\[\]])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2])
    return "".join(part for pair in zip_longest(plain, parts[1::2], fillvalue="") for part in pair)
