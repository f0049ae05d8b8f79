"""A floor imports only from floors below it (ARCHITECTURE.md), and the name of a class means one thing."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
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
COMPUTED = "a computed name"
BESIDE = {"tests", "course", "benchmarks"}  # they use every floor, nothing imports them


def floor_of(module: str) -> str:
    """The floor of a module, "fedtheory" for what stands on top; nothing for the plug-ins, which every floor may import."""
    parts = module.split(".")
    if parts[:2] == ["fedtheory", "plugins"]:
        return ""
    return parts[1] if parts[0] == "fedtheory" and parts[1:2] and parts[1] in BELOW else parts[0]


def imported(source: str) -> set[str]:
    """The floors, and packages of others, that a file imports, anywhere in it, also by importlib.import_module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {floor_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            found |= {floor_of(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            literal = node.args[0]
            first = literal.values[0] if isinstance(literal, ast.JoinedStr) else literal
            found.add(floor_of(str(first.value)) if isinstance(first, ast.Constant) else COMPUTED)
    return found


def trespasses(floor: str, source: str) -> set[str]:
    allowed = BELOW[floor] | {floor} | ({COMPUTED} if floor == "fedtheory" else set())
    return imported(source) & (set(BELOW) | BESIDE | {COMPUTED}) - allowed


@pytest.mark.parametrize("floor", BELOW)
def test_a_floor_imports_only_from_below(floor: str) -> None:
    files = sorted((ROOT / floor).rglob("*.py"))
    wrong = {str(f.relative_to(ROOT)): found for f in files if (found := trespasses(floor, f.read_text()))}
    assert wrong == {}


def test_a_trespass_is_seen() -> None:
    assert trespasses("theory", "def f():\n    from fedtheory.bounds.evaluate import evaluate\n") == {"bounds"}
    assert trespasses("theory", "from fedtheory import bounds, plugins") == {"bounds"}
    computed = "import importlib\nimportlib.import_module(f'fedtheory.theory.{name}')"
    assert trespasses("simulations", computed) == {"theory"} and trespasses("bounds", computed) == set()
    assert trespasses("bounds", "import fedtheory.theory, fedtheory.simulations.run, tests") == {"tests"}
    assert trespasses("bounds", "import importlib\nimportlib.import_module(name)") == {COMPUTED}
    assert trespasses("fedtheory", "import importlib\nimportlib.import_module(name)") == set()
    assert trespasses("figures", "import fedtheory.cli as cli, fedtheory.bounds") == {"fedtheory"}


@pytest.mark.parametrize("floor", [*BELOW, "tests", "course", "benchmarks", "examples", "docs"])
def test_there_is_one_import_name(floor: str) -> None:
    """In a clone `import theory` finds the folder, too: its modules would be there twice."""
    for file in sorted((ROOT / floor).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            own = {module.split(".")[0] for module in modules} & (set(BELOW) - {"fedtheory"})
            assert not own, f"{file}, line {node.lineno}: expected fedtheory.{own}"


def modules() -> dict[str, Path]:
    """Our modules by their names."""
    found = {}
    for floor in BELOW:
        folder = ROOT / "src" / "fedtheory" if floor == "fedtheory" else ROOT / floor
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(("fedtheory", *([] if floor == "fedtheory" else [floor]), *inner))] = file
    return found


def imports_at_once(source: str, known: Collection[str]) -> set[str]:
    """The modules that a module imports when it is imported itself; not those that only its types need."""
    found = set()
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else str(node.module) for name in inner}
        elif not isinstance(node, ast.FunctionDef | ast.Lambda) and not (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            left += ast.iter_child_nodes(node)
    return found & set(known)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that import each other in a circle."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return [list(error.args[1])]
    return []


def test_no_module_imports_itself_by_others() -> None:
    known = modules()
    assert circles({name: imports_at_once(file.read_text(), known) for name, file in known.items()}) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}), "a circle is seen"
    late = "def f():\n    import fedtheory.cli\nif TYPE_CHECKING:\n    import fedtheory.store\nimport fedtheory"
    assert imports_at_once(late, known) == {"fedtheory"}


ROOMS = {  # folder of a column -> its files
    "theory/{}/checks": {
        "quantities", "rounds", "ledgers", "rates", "sharp", "facts", "claims", "counterexamples", "tables",
    },
    "bounds/{}": {"arenas", "quantities", "instances", "rounds", "whole_runs", "worst_case", "rate_table", "presets"},
    "bounds/{}/checks": {"assumptions", "listings", "executor", "figures"},
}  # fmt: skip
OF_ONE_PAPER = {  # files that one paper alone needs
    "theory/sfl/checks": {"certificates", "samples"},  # identities of Appendix C in vectors; samples, in Coq
    "theory/fedbat/checks": {"operator"},  # the binarisation
    "bounds/sfl": {"counterexamples", "worst_functions"},
    "bounds/fedbcgd": {"stability"},
    "bounds/fedbat": {"local_steps", "one_sided"},  # every local step measured; functions smooth from above only
    "bounds/sfl/checks": {"partitions"},
    "bounds/fedbat/checks": {"baselines", "operator", "replay", "updates"},
}


@pytest.mark.parametrize("folder", ROOMS)
@pytest.mark.parametrize("paper", ["sfl", "fedcom", "fedbcgd", "fedbat"])
def test_columns_have_the_same_files(paper: str, folder: str) -> None:
    place = folder.format(paper)
    files = {file.stem for file in (ROOT / place).glob("*.py")} - {"__init__"}
    assert files - ROOMS[folder] == OF_ONE_PAPER.get(place, set())


SAME_ROLE = {  # in the columns of several papers: what executes a listing, an instance of a round ...
    "ExactRun", "Instance", "Machine", "Replay", "Setting", "Steps", "Trial", "Young",
}  # fmt: skip
SAME_OBJECT = {"Function", "Gradient", "Value", "Vector"}  # of mathematics: in listings, formulas, proofs, floats


def test_a_class_name_means_one_thing() -> None:
    files: dict[str, list[str]] = {}
    for module, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name, []).append(module)
    shared = {name: where for name, where in files.items() if len(where) > 1}
    assert set(shared) == SAME_ROLE | SAME_OBJECT, {
        name: shared.get(name) for name in set(shared) ^ SAME_ROLE ^ SAME_OBJECT
    }
    papers = {"sfl", "fedcom", "fedbcgd", "fedbat"}
    for name in SAME_ROLE:
        columns = [next(iter(papers & set(module.split("."))), "") for module in shared[name]]
        assert all(columns) and len(set(columns)) == len(columns), f"{name}: {shared[name]}"
