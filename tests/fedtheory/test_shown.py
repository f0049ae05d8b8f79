"""Objects show themselves: in at most ten lines of text, and in a notebook by formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedtheory as ft
from fedtheory.registries import problems
from fedtheory.theory.names import UnknownName
from fedtheory.theory.statement import Bound
from tests.fedtheory import registry_stub


@pytest.mark.dear
@pytest.mark.parametrize("paper", ["sfl", "fedbat", "fedcom", "fedbcgd"])
def test_every_statement_shows_itself(paper: str) -> None:
    """Its id, its kind, its claim."""
    for s in ft.statements(paper):
        lines = repr(s).splitlines()
        assert 2 <= len(lines) <= 10 and lines[0].startswith(f"{s.id} ({s.kind}, "), s.id
        assert all(len(line) < 400 for line in lines) and "object at" not in repr(s)
        assert s._repr_markdown_().startswith(f"**{s.id}**")
        if isinstance(s.claim, Bound):
            assert "$$ " in s._repr_markdown_() and f" {s.claim.sign} " in lines[1]


def test_several_statements_are_a_table() -> None:
    """Of ten lines at most; in a notebook of all of them."""
    found = ft.statements("sfl")
    assert repr(found).splitlines()[0] == f"{len(found)} statements" and len(repr(found).splitlines()) == 10
    assert found._repr_markdown_().count("\n| ") == len(found)


def test_a_verdict_is_its_headline_and_its_evidence() -> None:
    """One line each."""
    (found,) = ft.verify(["sfl.lemma2"])
    lines = repr(found).splitlines()
    assert lines[0] == f"sfl.lemma2: {found.headline}" and len(lines) == 1 + len(found.verdicts)


def test_several_verdicts_are_a_table() -> None:
    """Computed once in a session."""
    found = ft.verify(["sfl.lemma1", "sfl.lemma2"])
    assert repr(found).splitlines() == [f"{c.statement.id}: {c.headline}" for c in found]
    assert found._repr_markdown_().count("\n| sfl.") == 2
    first, again = (ft.verify("sfl.lemma2")[0].verdicts for _ in range(2))
    assert all(one[1] is other[1] for one, other in zip(first, again, strict=True))


def test_a_page_is_what_the_command_shows(call: pytest.FixtureRequest) -> None:
    status, out, _ = call("show", "sfl.lemma5")
    assert status == 0 and repr(ft.show("sfl.lemma5")) == out.rstrip("\n")
    assert "$$ " in ft.show("sfl.lemma5")._repr_markdown_()


def test_a_figure_shows_and_saves_itself(tmp_path: Path) -> None:
    figure = ft.figure("fedbat_bias_of_signs")
    assert figure._repr_png_().startswith(b"\x89PNG") and repr(figure).startswith("<Figure fedbat_bias_of_signs: ")
    figure.save(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF") and len(figure.data) > 10
    figure.save(tmp_path / "a.svg")  # a second time, in another format
    assert (tmp_path / "a.svg.csv").read_bytes() == (tmp_path / "a.pdf.csv").read_bytes()
    with pytest.raises(ValueError, match=r"a\.jpg"):
        figure.save(tmp_path / "a.jpg")
    with pytest.raises(UnknownName, match="unknown figure 'fedbat_bias_of_sign'"):
        ft.figure("fedbat_bias_of_sign")


def test_a_problem_shows_its_constants() -> None:
    problem = problems["quadratic"](d=2, M=3, L=1.0, mu=0.1)
    shown = problem._repr_html_()
    assert "d = 2, M = 3" in shown and "<tr><td>mu</td><td>0.1</td>" in shown


def test_numbers_show_themselves_as_tables() -> None:
    numbers = {"L": 1, "mu": 0.1, "sigma": 1, "zeta_star": 1, "D": 1, "M": 10, "K": 5, "R": 1000, "eta_tilde": 1 / 6}
    ids = "sfl.thm1.strongly_convex", "sfl.thm2.strongly_convex"
    value = ft.evaluate(ids[0], **numbers)
    assert f"| noise | {value.terms['noise']} |" in value._repr_markdown_()
    assert "| noise | $1$ | " in ft.compare(*ids)._repr_markdown_()


def test_the_types_of_the_registries_are_those_of_today() -> None:
    assert registry_stub.FILE.read_text() == registry_stub.written(), "run `python -m tests.fedtheory.registry_stub`"
