"""The library of rules for Coq, and files that rest on it: what coqc says against them."""

from __future__ import annotations

from pathlib import Path

from fedtheory.theory.proofs.kernel import compiled

_FOLDER = Path(__file__).parent
FILES = tuple(
    _FOLDER / name for name in ("rules.v", "sequences.v", "squares.v", "enumerations.v")
)  # each rests on those before it


def prepared(folder: Path) -> None:
    """Compile the library into a folder.  Raises RuntimeError if coqc does not accept it, FileNotFoundError without coqc."""
    for file in FILES:
        says = against(file.read_text(), folder / file.name)
        if says:
            raise RuntimeError(f"{file.name}: {says}")


def against(text: str, path: Path) -> str:
    """What coqc says against a file with this text, in a folder with the library; nothing if it accepts it."""
    path.write_text(text)
    return compiled(path)[1]
