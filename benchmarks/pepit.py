"""The best constants of ten examples by PEPit and by `tight`, next to their closed forms: values and wall time.

    pip install pepit==0.5.1
    python -m benchmarks.pepit

Both solve with Clarabel.  PEPit's value is that of its solver.  Ours is a bracket, of which both sides are checked exactly;
that is part of its time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.common import in_turn, store

from tests.theory.pepit_examples import EXAMPLES, Example  # isort: skip
from fedtheory.theory.proofs.tight import tight

PEPIT, OURS = "PEPit", "tight"
WANTED = "pepit==0.5.1"
REPEATS = 3


def theirs(example: Example) -> Callable[[], tuple[float, float]]:
    """The example in PEPit at our first case: its value and the closed form that PEPit compares it with."""
    import cvxpy

    module = import_module(f"PEPit.examples.{example.path.replace('/', '.')}")
    solve = getattr(module, f"wc_{example.path.rpartition('/')[2]}")
    numbers = {name: int(x) if x.is_integer else float(x) for name, x in example.cases[0].items()}
    return lambda: solve(**numbers, wrapper="cvxpy", solver=cvxpy.CLARABEL, verbose=-1)


def main() -> None:
    """A row for each example; the same into results.json.  Raises ValueError if PEPit has another closed form."""
    if find_spec("PEPit") is None:
        print(f"benchmarks.pepit compares with PEPit, which is not installed: pip install {WANTED}", file=sys.stderr)
        raise SystemExit(2)
    print(f"{'example':<72} {'closed form':>11} {PEPIT:>11} {'at least':>11} {'at most':>11} {PEPIT:>8} {OURS:>8}")
    rows = {}
    for example in EXAMPLES:
        numbers = example.cases[0]
        closed = float(example.value(**numbers))
        pepit, own = theirs(example), lambda example=example: tight(example.made(**example.cases[0]))
        value, documented = pepit()
        if abs(documented - closed) > 1e-9 * closed:
            raise ValueError(f"{example.path}: PEPit's closed form is {documented}, ours {closed}")
        found = own()
        took = in_turn({PEPIT: (pepit, 1.0), OURS: (own, 1.0)}, REPEATS)
        rows[example.path] = {
            "numbers": {name: str(number) for name, number in numbers.items()},
            "source": example.source,
            "closed_form": closed,
            "pepit": float(value),
            "at_least": float(found.lower),
            "at_most": float(found.upper),
            "seconds": took,
        }
        print(
            f"{example.path:<72} {closed:11.7f} {value:11.7f} {float(found.lower):11.7f} {float(found.upper):11.7f}"
            f" {took[PEPIT]:6.2f} s {took[OURS]:6.2f} s",
            flush=True,
        )
    versions = {name: version(name) for name in ("PEPit", "cvxpy", "clarabel")}
    store("pepit", {"what": "best constants of examples of PEPit", "versions": versions, "examples": rows})


if __name__ == "__main__":
    main()
