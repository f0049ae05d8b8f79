"""Digests of code: the same as long as no statement of the code changes; comments and docstrings do not count."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@cache
def digest(modules: tuple[str, ...], floors: tuple[str, ...], *others: str) -> str:
    """A digest of the modules, of what they import from the floors such as "bounds", directly or not, and of other texts.

    Raises ValueError for a module without a file.
    """
    for module in modules:
        if _file(module) is None:
            raise ValueError(f"module {module}: expected one that has a file")
    code = sorted(map(_code, _imported(modules, floors)))
    return sha256("\n".join([*code, *others]).encode()).hexdigest()[:16]


def _imported(modules: Sequence[str], floors: Sequence[str]) -> set[Path]:
    """The files of the modules, and of what they import from these floors, directly or not."""
    found: set[Path] = set()
    left, packages = list(modules), tuple(f"fedtheory.{floor}" for floor in floors)
    while left:
        path = _file(left.pop())
        if path is not None and path not in found:
            found.add(path)
            left += [name for name in _imports(path) if name.startswith(packages)]
    return found


@cache
def _file(module: str) -> Path | None:
    """The file of a module, which is not loaded; None for a name in a module."""
    package, *rest = module.split(".")
    spec = find_spec(package)
    if spec is None or not spec.origin:
        return None
    if not rest:
        return Path(spec.origin)
    path = Path(spec.origin).parent.joinpath(*rest)
    files = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _imports(path: Path) -> list[str]:
    """The names that a file imports, and of the modules of exact expectations, which algorithms name as texts."""
    found: list[str] = []
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("exact."):
            found.append(f"fedtheory.simulations.{node.value}")
    return found


@cache
def _code(path: Path) -> str:
    """A file's statements, in one text for all versions of Python."""

    def text(node: Any) -> str:
        if isinstance(node, list):
            return f"[{', '.join(map(text, node))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        given = (f"{name}={text(value)}" for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({', '.join(given)})"

    return text(_parsed(path))


@cache
def _parsed(path: Path) -> ast.Module:
    """A file without its docstrings; comments are not parsed."""
    return _without_docstrings(ast.parse(path.read_text()))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    def body(node: ast.AST) -> Iterator[ast.stmt]:
        for i, statement in enumerate(getattr(node, "body", ())):
            text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not (text and (i == 0 or isinstance(node, ast.ClassDef | ast.Module))):
                yield statement

    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = list(body(node))
    return tree
