"""The same command gives the same paper_check.md, byte by byte, on other processors, cores and orders of hashing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedtheory.theory import catalogue

ROOT = Path(__file__).parents[2]
NARROW = ("AVX512", "X86_V4")  # beginnings of numpy's names for the instructions of wide processors


def without_wide_instructions() -> dict[str, str]:
    """The switches that keep numpy and OpenBLAS from 512-bit instructions."""
    extensions = np.__config__.show(mode="dicts")["SIMD Extensions"]["found"]  # type: ignore[index]
    wide = [name for name in extensions if name.startswith(NARROW)]
    return {"OPENBLAS_CORETYPE": "Haswell", **({"NPY_DISABLE_CPU_FEATURES": " ".join(wide)} if wide else {})}


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [without_wide_instructions(), {"LOKY_MAX_CPU_COUNT": "1", "PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"}],
    ids=["narrow", "one core", "hash seed"],
)
def test_the_same_paper_check(variables: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "paper_check.md"
    command = [sys.executable, "-m", "fedtheory.cli", "paper-check", "--fresh", "--out", str(out)]
    subprocess.run(command, env=os.environ | variables, cwd=ROOT, check=True, capture_output=True)
    details = [f"paper_check/{paper}.md" for paper in catalogue.papers()]
    for name in ("paper_check.md", *details):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes(), name
