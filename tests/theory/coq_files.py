"""The files in Coq about algorithms, for their tests: as they are, and with a part that is another one."""

import re
import shutil

import pytest

from fedtheory.theory.proofs import algorithms
from fedtheory.theory.proofs.library import against

TEXTS = {file.stem: file.read_text() for file in algorithms.FILES}
AXIOMS = {  # what Coq's own real numbers rest on
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
# why: an equation or a hypothesis that a proof needs is another one
WHY = re.compile(
    r"not a valid (field|ring) equation|expected to have type|Unable to unify|Found no subterm|Cannot find witness"
)
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")


def prepared(tmp_path_factory):
    """A folder in which all files are compiled."""
    found = tmp_path_factory.mktemp("algorithms")
    algorithms.prepared(found)
    return found


def compiled_again(folder, empty, name, part, other, above):
    """What coqc says if a part of a file is another one, and the files above it are compiled again."""
    assert part in TEXTS[name]
    for file in folder.glob("*.vo"):
        (empty / file.name).write_bytes(file.read_bytes())
    says = against(TEXTS[name].replace(part, other), empty / f"{name}.v")
    assert not says or not above
    for one in above:
        says = says or against(TEXTS[one], empty / f"{one}.v")
    return says
