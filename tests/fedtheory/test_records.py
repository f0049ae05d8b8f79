"""`fedtheory record experiments`, and the points that a report measures again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtheory import drawing, records
from fedtheory.bounds import studies
from fedtheory.bounds.studies import Numbers, Study
from fedtheory.figures import gallery
from fedtheory.records import Again, again
from fedtheory.theory import catalogue


def halved(x: float) -> Numbers:
    return {"half": [x / 2]}


STUDY = Study("halves", lambda: {f"x = {x}": {"x": x} for x in (1.0, 2.0, 3.0)}, halved, ("fedtheory.bounds.orders",))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """One study of one paper, with records in a folder of this test."""
    study = replace(STUDY)
    monkeypatch.setattr(studies, "FOLDER", tmp_path)
    monkeypatch.setattr(records, "studies", lambda paper: {"halves": study} if paper == "sfl" else {})
    return study


def test_experiments_are_recorded(call: Any, own: Study) -> None:
    status, out, err = call("record", "experiments", "halves")
    assert (status, err) == (0, "") and out.strip() == f"written: {own.file}"
    assert replace(own).numbers == {"x = 1.0": {"half": [0.5]}, "x = 2.0": {"half": [1.0]}, "x = 3.0": {"half": [1.5]}}


def test_an_unknown_experiment(call: Any) -> None:
    status, _, err = call("record", "experiments", "who_wins_nois")
    assert status == 2 and "unknown experiment 'who_wins_nois'" in err and "who_wins_noise" in err


def test_a_point_that_ends_in_an_exception_leaves_no_record(
    call: Any, own: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(own, measure=lambda x: {"half": [1 / (x - 2)]})
    monkeypatch.setattr(records, "studies", lambda paper: {"halves": broken} if paper == "sfl" else {})
    status, _, err = call("record", "experiments")
    assert status == 2 and "halves, x = 2.0: ZeroDivisionError" in err and not own.file.exists()


def test_a_point_that_is_measured_again(own: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    assert again() == []  # nothing is on record
    own.file.write_text(own.text({point: own.at(point) for point in own.points()}))
    monkeypatch.setattr(records, "commit", lambda: "4")
    (one,) = again()
    assert one == Again("sfl", "halves", "x = 2.0")
    assert one.says({"half": [1.0]}) == ""
    assert one.says({"half": [1.1]}) == "halves: at x = 2.0 the numbers are others now"
    changed = replace(own, modules=("fedtheory.simulations.networks.models",))
    monkeypatch.setattr(records, "studies", lambda paper: {"halves": changed} if paper == "sfl" else {})
    assert one.says({"half": [1.0]}) == "halves: made by older code"


def test_an_old_record_is_marked_in_the_figure(own: Study) -> None:
    own.file.write_text(own.text({point: own.at(point) for point in own.points()}))
    old = replace(own, modules=("fedtheory.simulations.networks.models",))
    assert not own.old and old.old

    def words(study: Study) -> list[str]:
        canvas, _ = gallery.canvas(1, 1)
        gallery.mark_old(
            gallery.Picture("halves", "", lambda full: gallery.FigureData(canvas, pd.DataFrame()), study=lambda: study),
            canvas,
        )
        return [text.get_text() for text in canvas.texts]

    assert "numbers on record from older code" in words(old) and "numbers on record from older code" not in words(own)


@pytest.mark.parametrize("paper", catalogue.papers())
def test_every_study_is_on_record(paper: str) -> None:
    for study in records.studies(paper).values():
        assert study.file.exists(), f"fedtheory record experiments {study.name}"
        assert study.numbers.keys() == study.points().keys()
        values = [v for own in study.numbers.values() for numbers in own.values() for v in numbers]
        assert values and np.isfinite([v for v in values if not np.isnan(v)]).all()


# Committed figures are taken as they are as long as the code that drew them is the same


FIGURES = {name: {"png": name.encode(), "csv": b"x,y\n"} for name in ("one", "two", "three")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gallery, "DRAWN", tmp_path)
    monkeypatch.setattr(drawing, "_MADE_OF", tmp_path / "made_of.json")
    for name, files in FIGURES.items():
        gallery.write_files(name, files, tmp_path)
    return tmp_path


def test_all_but_one_are_taken_while_the_code_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawing.current() == {}
    drawing.keep(FIGURES, folder)
    left = set()
    for commit in ("0", "1", "2"):
        monkeypatch.setattr(drawing, "commit", lambda commit=commit: commit)
        known = drawing.current()
        assert len(known) == 2 and all(FIGURES[name] == files for name, files in known.items())
        left |= FIGURES.keys() - known.keys()
    assert left == FIGURES.keys()  # each commit chooses one
    monkeypatch.setattr(drawing, "_code", lambda: "other code")
    assert drawing.current() == {}


def test_a_figure_that_somebody_changed_is_drawn_again(folder: Path) -> None:
    drawing.keep(FIGURES, folder)
    (folder / "two.png").write_bytes(b"painted")
    assert "two" not in drawing.current()
    (folder / "one.csv").unlink()
    assert drawing.current() == {}
    (folder / "made_of.json").write_text("[")
    assert drawing.current() == {}


def test_figures_elsewhere_are_not_the_committed_ones(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    drawing.keep(FIGURES, tmp_path_factory.mktemp("elsewhere"))
    assert not (folder / "made_of.json").exists()
