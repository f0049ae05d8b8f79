"""What the site gives away besides pages: the verdicts as data, how to cite it, and links to what is built beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fedtheory.texts import value_text
from fedtheory.theory import catalogue
from fedtheory.verification import Checked

_CITATION = Path(__file__).parents[1] / "CITATION.cff"
_BESIDE = {
    "documentation": "docs/built/index.html",
    "course": "course/built/index.html",
    "check": "paper_check.md",
}


def archive(name: str, content: bytes) -> bytes:
    """A file, packed: the same bytes each time."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED, compresslevel=9) as file:
        file.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return packed.getvalue()


def verdicts(checked: Sequence[Checked]) -> str:
    """Every statement with its verdict, evidence and errata, as JSON."""
    return json.dumps([_verdict(c) for c in checked], ensure_ascii=False, separators=(",", ":")) + "\n"


def _verdict(checked: Checked) -> dict[str, Any]:
    s = checked.statement
    return {
        "id": s.id,
        "paper": s.paper,
        "kind": s.kind,
        "form": s.form,
        "place": s.place,
        "verdict": str(checked.status),
        "headline": checked.headline,
        "severity": checked.severity,
        "slack": checked.slack,
        "room": checked.room,
        "evidence": [
            {
                "kind": evidence.kind,
                "verdict": str(found.status),
                "says": found.says,
                "witness": {name: value_text(value) for name, value in found.witness.items()},
            }
            for evidence, found in checked.verdicts
        ],
        "errata": [asdict(erratum) for erratum in catalogue.errata(s.id)],
    }


def version() -> str:
    """The version of this program, from CITATION.cff."""
    return _fields()["version"]


def _fields() -> dict[str, str]:
    return dict(re.findall(r'^([\w-]+): "?(.+?)"?$', _CITATION.read_text(), re.MULTILINE))


def citation() -> str:
    """How to cite this program, in BibTeX, from CITATION.cff."""
    text, field = _CITATION.read_text(), _fields()
    authors = " and ".join(f"{{{name}}}" for name in re.findall(r'^ +- name: "?(.+?)"?$', text, re.MULTILINE))
    lines = {"title": f"{{{field['title']}}}", "author": authors, "version": field["version"]}
    return "@software{fedtheory,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in lines.items()) + "}"


def beside(site: Path) -> dict[str, str]:
    """Where documentation, course and paper check stand, as a link from the site; only what is there."""
    folder = site.resolve().parent
    found = {name: folder / path for name, path in _BESIDE.items()}
    return {
        name: Path(os.path.relpath(path, site.resolve())).as_posix() for name, path in found.items() if path.is_file()
    }
