"""Arguments, checked: one short error that names what was passed and what was expected.

Memory and time are checked before work begins.  The limits are 4 GiB and 24 hours; the environment variables
FEDTHEORY_MEMORY (GiB) and FEDTHEORY_HOURS set others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from inspect import get_annotations
from numbers import Integral, Real
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

_LONGEST = 60  # characters of a value in an error
_LARGEST = 2**63 - 1  # of a whole number: larger ones fit in no array
_SECONDS_A_STEP, _NUMBERS_A_SECOND = 2e-5, 5e7  # of a run on one core; for estimates

_DOMAINS: dict[str, Callable[[float], bool]] = {
    "that is finite": lambda v: True,
    "> 0": lambda v: v > 0,
    ">= 0": lambda v: v >= 0,
    ">= 1": lambda v: v >= 1,
    "in (0, 1]": lambda v: 0 < v <= 1,
    "in [0, 1)": lambda v: 0 <= v < 1,
    "in (0, 1)": lambda v: 0 < v < 1,
    "in (0, 1/2)": lambda v: 0 < v < 0.5,
    "in [0, 1]": lambda v: 0 <= v <= 1,
    "in [0, 1e30]": lambda v: 0 <= v <= 1e30,  # single precision ends at 3e38
    "in (0, 1e30]": lambda v: 0 < v <= 1e30,
}


def brief(value: Any) -> str:
    """The value in one line of at most 60 characters, for an error; an array by its type and shape."""
    if np.ma.isMaskedArray(value):
        return f"masked array of shape {value.shape}"
    if isinstance(value, np.ndarray):
        few = value.ndim == 1 and value.size <= 4 and value.dtype.kind in "iuf"
        return f"[{', '.join(f'{v:.6g}' for v in value)}]" if few else f"{value.dtype} array of shape {value.shape}"
    if isinstance(value, int) and abs(value) >= 10**_LONGEST:  # Python refuses to print the longest
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = " ".join((value if isinstance(value, str) else repr(value)).split())
    except Exception:  # an object of the caller's own may not print
        text = f"a {type(value).__name__}"
    return shortened(text, _LONGEST)


def shortened(text: str, most: int) -> str:
    """The text, with its middle left out where it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most - most // 3 - 5]} ... {text[-(most // 3) :]}"


def reason(error: BaseException) -> str:
    """What an error says, in one line of at most 100 characters."""
    return shortened(" ".join(str(error).split()) or type(error).__name__, 100)


@contextmanager
def reading(what: str, expected: str, errors: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Turn the errors of a reader into a ValueError: "cannot read WHAT: the error's words; expected ...".

    errors  by default all, as the readers of many formats raise another one for each way in which a file is damaged
    """
    try:
        yield
    except errors as error:
        raise ValueError(f"cannot read {what}: {reason(error)}; expected {expected}") from None


def whole(name: str, value: Any, least: int = 1, what: str = "a whole number", most: int | None = None) -> int:
    """The value as an int.  Raises ValueError unless it is a whole number in [least, most]; True is none.

    most  2^63 - 1 unless told
    """
    right = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
    if not right or int(value) > (_LARGEST if most is None else most):
        upper = f" and <= {most or _LARGEST}" if right or most is not None else ""
        raise ValueError(f"{name} = {brief(value)}: expected {what} >= {least}{upper}")
    return int(value)


def number(name: str, value: Any, domain: str = "that is finite") -> float:
    """The value as a float.  Raises ValueError unless it is a finite real number in the domain, one of those above."""
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    try:
        real = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:
        real = np.nan
    if not (np.isfinite(real) and _DOMAINS[domain](real)):
        finite = "" if "finite" in domain or domain.startswith("in") else "finite "
        raise ValueError(f"{name} = {brief(value)}: expected a {finite}number {domain}")
    return real


def fraction(text: str) -> Fraction:
    """The exact number of a decimal or a fraction, such as 0.1, 1e-3 or 1/6.

    Raises ValueError for anything else, also for more than 100 characters or powers of ten beyond 300: exact numbers grow
    with their exponents.
    """
    try:
        parts = [Decimal(part) for part in text.split("/")]
        if len(text) <= 100 and len(parts) <= 2 and all(abs(part.adjusted()) <= 300 for part in parts):
            top, _, bottom = text.partition("/")
            return Fraction(top) / Fraction(bottom or 1)
    except (ArithmeticError, ValueError):
        pass
    raise ValueError(f"{brief(text)!r}: expected a number with an exponent of at most 300, such as 0.1, 1e-3 or 1/6")


def listed(name: str, value: Any, expected: str) -> list[Any]:
    """The values of a list, tuple, array, range or other iterable but a text.  Raises ValueError for anything else."""
    if isinstance(value, range):
        affordable(name, numbers=len(value))
    try:
        if not isinstance(value, str | bytes):
            return list(value)
    except TypeError:
        pass
    raise ValueError(f"{name} = {brief(value)}: expected {expected}")


def reals(name: str, value: Any, expected: str = "finite real numbers") -> NDArray[np.float64]:
    """The value as an array of floats.

    Raises ValueError for anything but finite real numbers: texts, dates, complex numbers, masked entries, NaN, lists of
    different lengths.
    """
    wrong = f"{name} = {brief(value)}: expected {expected}"
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        raise ValueError(f"{name} has masked entries: expected {expected}")
    if isinstance(value, range):
        affordable(name, numbers=len(value))
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O" and all(isinstance(v, Real) and not isinstance(v, bool) for v in found.flat):
            found = found.astype(float)  # fractions and long whole numbers
    except (TypeError, ValueError, OverflowError):
        raise ValueError(wrong) from None
    if found.dtype.kind not in "iuf":
        raise ValueError(wrong)
    if not np.isfinite(found).all():
        place = np.argwhere(~np.isfinite(found))[0].tolist()
        raise ValueError(f"{name}{place or ''} = {found[tuple(place)]}: expected {expected}")
    return np.asarray(found, dtype=float)


def rounding(value: Any) -> float:
    """The rounding errors that are allowed in numbers, relative to 1: 1e-12, or a few of single or half precision."""
    kind = np.asarray(value).dtype
    return 4 * float(np.finfo(kind).eps) if kind.kind == "f" and kind.itemsize < 8 else 1e-12


def step_sizes(eta: Any) -> NDArray[np.float64]:
    """One learning rate or several, (E,).  Raises ValueError unless all are positive and finite."""
    expected = "a positive finite number, or several"
    found = np.atleast_1d(reals("eta", eta, expected))
    if found.ndim != 1 or not found.size or not (found > 0).all():
        raise ValueError(f"eta = {brief(eta)}: expected {expected}")
    return found


def truth(name: str, value: Any) -> bool:
    """The value.  Raises ValueError unless it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {brief(value)}: expected True or False")
    return bool(value)


def one_of(name: str, value: Any, words: Any) -> None:
    """Raises ValueError when the value is none of the words, a Literal."""
    if not isinstance(value, str) or value not in get_args(words):
        raise ValueError(f"{name} = {brief(value)!r}: expected one of {', '.join(map(repr, get_args(words)))}")


def _limit(variable: str, default: float) -> float:
    text = os.environ.get(variable)
    try:
        found = default if text is None else float(text)
    except ValueError:
        found = np.nan
    if not found > 0:
        raise ValueError(f"{variable} = {brief(text)}: expected a number > 0")
    return found


def affordable(what: str, *, numbers: float = 0.0, steps: float = 0.0, arithmetic: float = 0.0) -> None:
    """Raises ValueError for what would take more memory or time than the limits at the head of this module.

    numbers     doubles in memory at once
    steps       local steps that one core does one after another
    arithmetic  numbers that all steps together compute
    """
    memory, hours = numbers * 8 / 2**30, (steps * _SECONDS_A_STEP + arithmetic / _NUMBERS_A_SECOND) / 3600
    for takes, unit, variable, default in (
        (memory, "GiB", "FEDTHEORY_MEMORY", 4.0),
        (hours, "hours", "FEDTHEORY_HOURS", 24.0),
    ):
        if not takes <= (most := _limit(variable, default)):
            insist = f", or {variable}={takes:.3g} to insist" if np.isfinite(takes) else ""
            raise ValueError(f"{what} would take about {takes:.3g} {unit}: expected at most {most:g}{insist}")


# Settings, the fields of a dataclass, whose annotations say what they may be: see `check_settings`
Count = Annotated[int, "a whole number"]
StepSizes = Annotated[Any, lambda name, eta: step_sizes(eta)]
Truth = Annotated[bool, truth]


def check_settings(given: Any) -> None:
    """Raises ValueError where a setting of a dataclass is not what its annotation says.

    Annotated[float, DOMAIN]       a finite number in one of the domains above
    Annotated[int, WHAT]           a whole number >= 1, WHAT in words; Annotated[int, WHAT, LEAST] for another least one
    Annotated[..., CHECK]          what the function CHECK of name and value takes
    Literal[...]                   one of these words

    None is taken where the annotation has `| None`.  Other annotations say nothing.
    """
    kind: type = type(given)
    for name, optional, check in _checks(kind):
        value = getattr(given, name)
        if not (optional and value is None):
            check(name, value)


@cache
def _checks(kind: type) -> list[tuple[str, bool, Callable[[str, Any], Any]]]:
    """The settings of a dataclass that can be checked, each with whether it may be None, and its check.

    A subclass whose annotation of a setting says nothing keeps the check of its base.
    """
    found = {}
    for one in reversed(kind.__mro__):
        hints: dict[str, Any] = {}
        try:
            hints = get_annotations(one, eval_str=True)
        except Exception:  # a reader's class may be annotated with anything; then it says nothing
            if one.__module__.startswith("fedtheory."):
                raise
        for name, hint in hints.items():
            several = get_args(hint) if NoneType in get_args(hint) else (hint,)
            own = [part for part in several if part is not NoneType]
            if len(own) == 1 and (check := _check_of(own[0])) is not None:
                found[name] = (name, len(several) > 1, check)
    return [found[field.name] for field in fields(kind) if field.name in found]


def _check_of(hint: Any) -> Callable[[str, Any], Any] | None:
    if get_origin(hint) is Literal:
        return lambda name, value: one_of(name, value, hint)
    if get_origin(hint) is not Annotated:
        return None
    kind, says, *least = get_args(hint)
    if callable(says):
        return says
    if kind is int:
        return lambda name, value: whole(name, value, least[0] if least else 1, says)
    return lambda name, value: number(name, value, says)
