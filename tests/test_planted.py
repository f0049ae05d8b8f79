"""A user's paper with errors planted in it: the headline of the statement that is wrong says so."""

from __future__ import annotations

import shutil
from pathlib import Path
from zlib import crc32

import pytest

from fedtheory.verification import Checked, errors, verify

PAPER = Path(__file__).parent / "papers" / "fedanchor"


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """Verify the paper under another name, with texts of its files replaced."""

    def of(replaced: dict[str, dict[str, str]], *names: str) -> dict[str, Checked]:
        name = f"planted_{crc32(request.node.name.encode())}"
        shutil.copytree(PAPER, tmp_path / name)
        for file in (tmp_path / name).glob("*.py"):
            text = file.read_text()
            for old, new in replaced.get(file.stem, {}).items():
                assert text.count(old) == 1, old
                text = text.replace(old, new)
            file.write_text(text.replace("fedanchor", name))
        monkeypatch.setenv("FEDTHEORY_PAPERS", str(tmp_path))
        found = verify([f"{name}.{short}" for short in names])
        return {c.statement.id.partition(".")[2]: c for c in found}

    return of


def test_the_objective_for_a_clients_function_breaks_the_proof(checked) -> None:
    found = checked({"checks": {"rules.LIPSCHITZ, WHOLE.function,": "rules.LIPSCHITZ, f,"}}, "drift")
    assert "proof broken at 'Lipschitz gradient'" in found["drift"].headline


def test_another_line_than_the_code_is_an_error(checked) -> None:
    """The digest is the one of the changed lines, as a user would paste it."""
    found = checked(
        {"statements": {"_eta * (_g - _own + 1": "_eta * (_g + _own + 1"}, "checks": {"78832204946e": "2981bc537b20"}},
        "alg1", "drift",
    )  # fmt: skip
    assert found["alg1"].headline == "error" and "the round of FedAnchor has" in errors(found.values())[0]
    assert found["drift"].headline == "tested by search, worst case"


def test_another_form_than_the_algorithm_is_an_error(checked) -> None:
    """The proof starts from a quarter of the gap, and so does the statement: the proof passes, the runs do not."""
    start = {"start={gap: Delta}": "start={gap: Delta / 4}"}
    found = checked({"statements": {"** R * Delta,": "** R * Delta / 4,"}, "checks": start}, "thm")
    assert found["thm"].headline.startswith("error: ledger proves it, moments refutes it: K = 1")
