"""Variants of a run of the same algorithm: on a penalised function, or without compression.

Inside a variant, a proof may use statements about it.  The variant's properties follow from the assumptions of the
statement in hand, by rules that have their own proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import sympy

from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.forms import Objective, PenalisedInfimum, vector
from fedtheory.theory.proofs.rules import PENALISED_POLYAK, PENALISED_SMOOTH
from fedtheory.theory.properties import Property, closed
from fedtheory.theory.statement import Premise

_OF_FUNCTIONS = (
    Property.SMOOTH_ABOVE,
    Property.SMOOTH,
    Property.SMOOTH_MEAN,
    Property.SMOOTH_SAMPLES,
    Property.CONVEX,
    Property.CONVEX_MEAN,
    Property.STRONGLY_CONVEX,
    Property.STRONGLY_CONVEX_MEAN,
    Property.POLYAK,
    Property.BOUNDED_BELOW,
    Property.MINIMISER,
    Property.BOUNDED_GRADIENT,
)


@contextmanager
def penalised(p: Argument, phi: sympy.Expr) -> Iterator[sympy.Expr]:
    """The run is on F_m + (phi/2) ||x||^2, with the same gradient noise; yields the new smoothness constant.

    The heterogeneity does not change, because the penalty is the same for all clients.
    """
    F, y, x = Objective("F"), vector("y"), vector("x")
    p.by(PENALISED_SMOOTH, F.client("F_m"), phi, y, x)
    p.by(PENALISED_POLYAK, F, phi, x, PenalisedInfimum("F~*", F, phi))
    (L,) = p.needs(Property.SMOOTH) or (sympy.Integer(0),)
    p.require("the penalty is positive", sympy.Gt(phi, 0, evaluate=False))
    before = p.properties
    kept = {name: constants for name, constants in before.items() if name not in _OF_FUNCTIONS}
    of_function: dict[StrEnum, tuple[sympy.Expr, ...]] = {
        Property.SMOOTH: (L + phi,),
        Property.STRONGLY_CONVEX_MEAN: (phi,),
        Property.POLYAK: (phi,),
        Property.BOUNDED_BELOW: (),
        Property.MINIMISER: (),
    }
    p.properties = closed({**kept, **of_function})
    yield L + phi
    p.properties = before


@contextmanager
def uncompressed(p: Argument) -> Iterator[None]:
    """The run compresses nothing: its compressor has q = 0, so its errors are zero."""
    p.premises[Premise("rule", "what is not compressed is compressed with q = 0")] = None
    before = p.properties
    zero = sympy.Integer(0)
    p.properties = {**before, Property.COMPRESSOR: (zero,), Property.INDEPENDENT_COMPRESSORS: ()}
    yield
    p.properties = before
