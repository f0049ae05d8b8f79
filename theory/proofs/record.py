"""The certificates on record, by the digests of their steps, and those that are searched at once for new steps."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from fedtheory import theory
from fedtheory.theory.proofs.certificates import Certificate, unpacked
from fedtheory.theory.proofs.checker import Wrong, check
from fedtheory.theory.proofs.sequents import Sequent


@cache
def _packed() -> dict[str, Any]:
    """The certificates of all papers as JSON."""
    files = sorted(Path(theory.__path__[0]).glob("*/checks/steps.json"))
    return {digest: one for path in files for digest, one in json.loads(path.read_text()).items()}


def accepts(step: Sequent, certificate: Certificate) -> bool:
    """Whether a certificate proves a step."""
    try:
        check(step, certificate)
    except (Wrong, ValueError, LookupError, ZeroDivisionError):
        return False
    return True


@lru_cache(maxsize=16_384)
def certified(step: Sequent) -> bool:
    """Whether the certificate on record proves a step."""
    packed = _packed().get(step.digest)
    return packed is not None and accepts(step, unpacked(packed))


@lru_cache(maxsize=1024)
def searched(step: Sequent) -> Certificate | None:
    """A certificate for a step that is not on record, by a short search; None if it finds none."""
    from fedtheory.theory.proofs import search  # scipy, which a step on record does not need

    try:
        certificate = search.certificate(step, search.SHORT)
    except ValueError:  # exp, log, a root other than square roots, a symbol as exponent
        return None
    return certificate if certificate is not None and accepts(step, certificate) else None
