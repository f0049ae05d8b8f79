"""A floor imports only from floors below it (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW = {
    "theory": set(),
    "simulations": set(),
    "bounds": {"theory", "simulations"},
    "figures": {"theory", "simulations", "bounds"},
    "fedtheory": {"theory", "simulations", "bounds", "figures"},
}
BESIDE = {"tests", "course", "benchmarks"}  # they use every floor, nothing imports them


def imported(source: str) -> set[str]:
    """Top-level packages that a file imports, anywhere in it; also by importlib.import_module('literal')."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            literal = node.args[0]
            parts = literal.values if isinstance(literal, ast.JoinedStr) else [literal]
            first = parts[0]
            assert isinstance(first, ast.Constant), "import_module of a computed name"
            found.add(str(first.value).split(".")[0])
    return found


def trespasses(floor: str, source: str) -> set[str]:
    return imported(source) & (set(BELOW) | BESIDE) - BELOW[floor] - {floor}


@pytest.mark.parametrize("floor", BELOW)
def test_a_floor_imports_only_from_below(floor: str) -> None:
    files = sorted((ROOT / floor).rglob("*.py"))
    wrong = {str(f.relative_to(ROOT)): found for f in files if (found := trespasses(floor, f.read_text()))}
    assert wrong == {}


def test_a_trespass_is_seen() -> None:
    assert trespasses("theory", "def f():\n    from bounds.evaluate import evaluate\n") == {"bounds"}
    assert trespasses("simulations", "import importlib\nimportlib.import_module(f'theory.{name}')") == {"theory"}
    assert trespasses("bounds", "import theory, simulations, tests") == {"tests"}
    assert trespasses("figures", "import fedtheory.cli as cli, bounds") == {"fedtheory"}
