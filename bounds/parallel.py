"""The form of an algorithm's round, for proofs: read from traces of its own code for a few counts of clients and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import sympy

from fedtheory.bounds.worst_cases import STEPS, letters_of_settings
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.exact.trace import TraceStep, refuse_coordinates, trace
from fedtheory.theory import field
from fedtheory.theory.proofs.gram import NOTHING, GramVector, vector
from fedtheory.theory.proofs.parallel import Factors, ParallelRound
from fedtheory.theory.proofs.scenes import Oracle

_MOST = 3  # clients, and local steps
_Values = dict[tuple[int, int], Fraction]  # (M, K) -> factor


def parallel_round(build: Callable[..., Algorithm]) -> ParallelRound:
    """The form of a round of clients that work in parallel from x.

    Raises ValueError for an algorithm whose rounds are of another form.
    """
    steps = next((name for name in STEPS if name in letters_of_settings(build, {})), None)
    counts = range(1, _MOST + 1)
    found: dict[str, _Values] = {}
    for M, K in product(counts, counts if steps else (1,)):
        for name, value in _factors(build, steps, M, K):
            if found.setdefault(name, {}).setdefault((M, K), value) != value:
                raise _other(f"{name} differs at M = {M}, K = {K}")
    fitted = {name: _fitted(name, values) for name, values in found.items()}
    end = Factors(fitted["step"], sympy.S.Zero, fitted["mean"])
    point = Factors(fitted["point"], fitted["own"], fitted["mean of points"]) if steps else None
    return ParallelRound(end, point, f"as its code gives it for up to {_MOST} clients and {_MOST} local steps")


def _factors(build: Callable[..., Algorithm], steps: str | None, M: int, K: int) -> Iterator[tuple[str, Fraction]]:
    """The factors at these counts, each wherever it can be read, per unit of eta."""
    start, clients = vector("x"), [Oracle(f"{m}.") for m in range(M)]
    at_start = [client.at(start).gradient for client in clients]

    def noise(client: int, turn: int, k: int, at: GramVector) -> GramVector:
        return vector(f"n{client}.{k}")

    try:
        algorithm = build(eta=1.0, **({steps: K} if steps else {}))
    except TypeError as error:
        raise _other(str(error)) from None
    refuse_coordinates(algorithm, M)
    for eta in (Fraction(1), Fraction(2), Fraction(1, 1024)):
        t = trace(algorithm, clients, start, NOTHING, eta, range(M), noise)
        if len(t.steps) != M * K or (not steps and any(s.x != start for s in t.steps)):
            raise _other(f"it takes {len(t.steps)} stochastic gradients at M = {M}, K = {K}")
        if t.memory:
            raise _other(f"it keeps {', '.join(t.memory)} from round to round")
        of_steps, of_starts = _parts(t.end - start, t.steps, at_start)
        yield from (("step", one / eta) for one in of_steps.values())
        yield from (("mean", M * one / eta) for one in of_starts)
        for s in t.steps:
            of_steps, of_starts = _parts(s.x - start, t.steps, at_start)
            for (client, j), one in of_steps.items():
                if client == s.client and j < s.k:
                    yield "point", one / eta
                elif one:
                    raise _other("a local point depends on another client's steps, or on later ones")
            others = {one for m, one in enumerate(of_starts) if m != s.client}
            if s.k and len(others) == 1:
                (one,) = others
                yield "mean of points", M * one / eta / s.k
                yield "own", ((of_starts[s.client] - one) / s.k + of_steps[s.client, 0]) / eta


def _parts(
    move: GramVector, steps: Sequence[TraceStep], at_start: Sequence[GramVector]
) -> tuple[Mapping[tuple[int, int], Fraction], list[Fraction]]:
    """A vector as stochastic gradients of the steps, and gradients of the clients at x.  Raises ValueError for others."""
    found = {}
    for s in steps:
        times = move.parts.get(f"n{s.client}.{s.k}", Fraction(0))
        found[s.client, s.k] = times
        move = move - s.stochastic * times
    of_starts = []
    for own in at_start:
        (name,) = own.parts
        of_starts.append(move.parts.get(name, Fraction(0)))
        move = move - own * of_starts[-1]
    if move.parts:
        raise _other(
            f"it has {next(iter(move.parts))} beside x, the stochastic gradients and those of the clients at x"
        )
    return found, of_starts


def _fitted(name: str, values: _Values) -> sympy.Expr:
    """A number times eta and powers of M and K that has these values.  Raises ValueError where there is none."""
    some = next(iter(values.values()))
    for i, j in sorted(product(range(-2, 3), repeat=2), key=lambda powers: sum(map(abs, powers))):
        ratios = {value / (Fraction(M) ** i * Fraction(K) ** j) for (M, K), value in values.items()}
        if len(ratios) == 1:
            (ratio,) = ratios
            number = sympy.Rational(ratio.numerator, ratio.denominator)
            return number * field.eta * field.M**i * field.K**j if some else sympy.S.Zero
    raise _other(f"{name} is no product of powers of M and K: {', '.join(map(str, values.values()))}")


def _other(says: str) -> ValueError:
    return ValueError(
        f"{says}: expected clients that work in parallel from x, and a server that adds up what they send"
    )
