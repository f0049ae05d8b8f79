"""Compressors Q of messages in R^d: the message, its bits, and their constants, exact where they say so.

The symbols are those of "Federated Learning with Compression: Unified Analysis and Sharp Guarantees" (FedCOM):
Assumption 2, E Q(x) = x and E||Q(x) - x||^2 <= q ||x||^2; Assumption 5, about a mean over m clients, with G_q.

    Q = QSGD(s=4)
    Q(x, draws.codes(clients, Q.shared)), Q.q(d), Q.bits(d), Q.encode(message), Q.law(fractions)

Runs compute in doubles; on the wire a norm or a value is a float32.  Every compressor here satisfies Q(t x) = t Q(x) in
law for t > 0, and Q(0) = 0, except `NoisySign` and signs with a step size of their own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from fedtheory.simulations.checked import brief, fraction, reason
from fedtheory.simulations.compressors.base import Compressor, Law, independent
from fedtheory.simulations.compressors.levels import QSGD, Dithering, Rounding
from fedtheory.simulations.compressors.masks import Bernoulli, Identity, RandK, Sparsifier, TopK
from fedtheory.simulations.compressors.mean import G_q, G_q_on
from fedtheory.simulations.compressors.signs import MaxSign, NoisySign, Sign, StochasticSign

COMPRESSORS: dict[str, Callable[..., Compressor]] = {
    kind.__name__: kind
    for kind in (
        Identity,
        RandK,
        TopK,
        QSGD,
        Dithering,
        Rounding,
        Bernoulli,
        Sparsifier,
        StochasticSign,
        Sign,
        MaxSign,
        NoisySign,
    )
}


def from_text(text: str) -> Compressor:
    """A compressor by its expression, RandK(k=2, shared=True), or in short, RandK:2:shared; numbers may be fractions.

    Raises ValueError for what is no text; for a wrong one it names the compressor's parameters.
    """
    if not isinstance(text, str):
        raise ValueError(f"compressor = {brief(text)}: expected a text, such as RandK:2:shared or QSGD(s=7)")
    name, sign, rest = re.fullmatch(r"\s*(\w*)\s*([(:]?)(.*?)\)?\s*", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if name not in COMPRESSORS:
        near = get_close_matches(name, COMPRESSORS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(COMPRESSORS)}"
        raise ValueError(f"unknown compressor {brief(name)!r}; {hint}")
    parts = [part.strip() for part in rest.split(":" if sign == ":" else ",") if part.strip()]
    try:
        values = [_read(part.partition("=")[2]) if "=" in part else _read(part) for part in parts if part != "shared"]
        names = [part.partition("=")[0].strip() for part in parts if "=" in part]
        given = dict(zip(names, values[len(values) - len(names) :], strict=True))
        shared = {"shared": True} if "shared" in parts else {}
        return COMPRESSORS[name](*values[: len(values) - len(names)], **given, **shared)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        symbols = ", ".join(inspect.signature(COMPRESSORS[name]).parameters) or "nothing"
        told = "" if isinstance(error, TypeError) else f"{reason(error)}; "
        raise ValueError(
            f"compressor {brief(text)!r}: {told}expected {name} with {symbols}, such as RandK:2:shared or QSGD(s=7)"
        ) from None


def _read(text: str) -> Any:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    number = fraction(text.strip())
    return int(number) if number.denominator == 1 else float(number)


__all__ = [
    "COMPRESSORS", "QSGD", "Bernoulli", "Compressor", "Dithering", "G_q", "G_q_on", "Identity", "Law", "MaxSign",
    "NoisySign", "RandK", "Rounding", "Sign", "Sparsifier", "StochasticSign", "TopK", "from_text", "independent",
]  # fmt: skip
