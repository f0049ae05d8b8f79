"""The committed figures are taken as they are as long as the code that drew them is the same."""

from pathlib import Path

import pytest

from fedtheory import drawing
from fedtheory.figures import gallery

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
