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


def test_without_an_error_all_is_proved(checked) -> None:
    found = checked({}, "alg1", "drift", "descent", "thm")
    assert [found[name].headline for name in ("drift", "descent", "thm")] == ["proved"] * 3
    assert found["alg1"].headline == "tested by run" and not errors(found.values())


PLANTED = {
    "a lemma's constant": ({"gradient=6 * h**2 * grad_sq": "gradient=h**2 * grad_sq / 8"}, "drift", "refuted"),
    "half a lemma's term": (
        {"drift=h * L**2 / 2 * E_r": "drift=h * L**2 / 4 * E_r"},
        "descent",
        "tested by search, worst case; proof broken at 'the claim: coefficient of E_r'",
    ),
    "a rate": ({"(1 - mu * h / 2) ** R * Delta": "(1 - 2 * mu * h) ** R * Delta"}, "thm", "refuted"),
    "half the noise": (
        {"noise=2 * L * h * sigma**2 / (mu * M * K)": "noise=L * h * sigma**2 / (mu * M * K)"},
        "thm",
        "tested by moments, search; proof broken at 'the claim: coefficient of sigma**2'",
    ),
    "a step size": ({"h <= 1 / (4 * L), implied": "h <= 4 / L, implied"}, "thm", "refuted"),
    "a step size of another lemma": (
        {"h <= 1 / (4 * L), implied": "h <= 1 / L, implied"},
        "thm",
        "; proof broken at '",
    ),
    "no convexity": (
        {"assumes=[smooth, convex, noise, clients],\n    rests_on": "assumes=[smooth, noise, clients],\n    rests_on"},
        "thm",
        "; proof broken at '",
    ),
    "no independence": (
        {"Property.VARIANCE: (sigma,), Property.INDEPENDENT_NOISE: ()": "Property.VARIANCE: (sigma,)"},
        "descent",
        "; proof broken at '",
    ),
    "a dimension": (
        {"drift=6 * L**2 * h**2 * sigma**2 / (mu * K)": "drift=6 * L * h**2 * sigma**2 / (mu * K)"},
        "thm",
        "refuted",
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_headline_names_the_error(checked, planted: str) -> None:
    changes, name, headline = PLANTED[planted]
    found = checked({"statements": changes}, name)
    assert headline in found[name].headline and not errors(found.values())


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
