"""Studies: what is on record, what is measured now, and when a record is old."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fedtheory.bounds import sources, studies
from fedtheory.bounds.sources import digest
from fedtheory.bounds.studies import Numbers, Study

ASKED: list[float] = []


def squared(x: float) -> Numbers:
    ASKED.append(x)
    return {"square": [x**2], "root": [x**0.5 if x >= 0 else np.nan]}


POINTS: Mapping[str, Mapping[str, float]] = {"two": {"x": 2.0}, "minus one": {"x": -1.0}}
STUDY = Study("squares", lambda: POINTS, squared, ("fedtheory.bounds.orders",))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(studies, "FOLDER", tmp_path)
    ASKED.clear()
    return tmp_path


def recorded(study: Study) -> Study:
    study.file.write_text(study.text({point: study.at(point) for point in study.points()}))
    ASKED.clear()
    return replace(study)  # what a study has read, it keeps


def test_without_a_record_the_numbers_are_measured() -> None:
    study = replace(STUDY)
    assert study.numbers["two"] == {"square": [4.0], "root": [2**0.5]} and ASKED == [2.0, -1.0]
    assert not study.old


def test_numbers_come_from_the_record() -> None:
    study = recorded(STUDY)
    assert study.numbers["two"]["square"] == [4.0] and np.isnan(study.numbers["minus one"]["root"][0])
    assert ASKED == [] and not study.old


def test_a_new_point_is_measured() -> None:
    recorded(STUDY)
    more = replace(STUDY, points=lambda: {**POINTS, "three": {"x": 3.0}})
    assert more.numbers["three"]["square"] == [9.0] and ASKED == [3.0]


def test_a_record_of_other_code_or_of_another_statement_is_old() -> None:
    recorded(STUDY)
    assert replace(STUDY, modules=("fedtheory.simulations.networks.models",)).old
    assert replace(STUDY, statements=("sfl.thm1.strongly_convex",)).old


def test_other_numbers_are_not_the_same() -> None:
    study = recorded(STUDY)
    assert study.same("two", {"square": [4.0000001], "root": [2**0.5]})
    assert not study.same("two", {"square": [4.0001], "root": [2**0.5]})
    assert not study.same("two", {"square": [4.0]})
    assert not study.same("minus one", {"square": [1.0], "root": [0.0]})


def test_a_record_is_read_by_others() -> None:
    """NaN is null, and numbers have twelve digits."""
    text = recorded(STUDY).file.read_text()
    assert json.loads(text)["numbers"] == {
        "two": {"square": [4.0], "root": [1.41421356237]},
        "minus one": {"square": [1.0], "root": [None]},
    }


def test_a_digest_reads_statements_and_no_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    ours = SimpleNamespace(origin=str(tmp_path / "__init__.py"))  # of the package whose floors count
    monkeypatch.setattr(sources, "find_spec", lambda name: ours if name == "fedtheory" else find_spec(name))

    def of(text: str, imported: str = "z = 1") -> str:
        for function in (digest, sources._code, sources._parsed, sources._imports, sources._file):
            function.cache_clear()  # type: ignore[attr-defined]
        (tmp_path / "studied.py").write_text(text)
        (tmp_path / "studied_too.py").write_text(imported)
        return digest(("studied",), ("studied_too",))

    plain = of("import fedtheory.studied_too\nx = 1")
    assert of('"""Doc."""\n\nimport fedtheory.studied_too  # comment\n\nx = 1') == plain
    assert of("import fedtheory.studied_too\nx = 2") != plain
    assert of("import fedtheory.studied_too\nx = 1", "z = 2") != plain
    assert of("x = 1", "z = 2") == of("x = 1")
