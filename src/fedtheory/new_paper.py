"""`fedtheory new-paper`: a paper outside this repository that works at once and says what to fill in."""

from __future__ import annotations

import shutil
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from fedtheory import plugins
from fedtheory.simulations.checked import brief

_PLACE = "__NAME__"


def write_paper(name: str, folder: Path) -> list[Path]:
    """Write the files of a new paper into FOLDER/NAME, all or none; returns their paths.

    Raises ValueError for a name that is none or taken, and for a folder that is there already or cannot be made.
    """
    plugins.check_name(name)
    place = folder / name
    try:
        if place.exists():
            raise ValueError(f"{brief(str(place))} exists: expected a new folder")
        spec = find_spec(name)
        if name in plugins.packages() or (spec is not None and spec.origin):
            raise ValueError(f"paper {name!r}: expected another name, this one is taken")
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(mkdtemp(prefix=f".{name}-", dir=folder))
    except OSError as error:
        raise ValueError(f"{brief(str(place))}: {error.strerror}; expected a folder that can be made") from None
    try:
        for source in sorted(files("fedtheory").joinpath("template").iterdir(), key=lambda file: file.name):
            if source.name.endswith(".py.txt"):
                text = source.read_text(encoding="utf-8").replace(_PLACE, name)
                (partial / source.name.removesuffix(".txt")).write_text(text, encoding="utf-8")
        partial.chmod(0o755)
        partial.rename(place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return sorted(place.iterdir())
