"""What every fuzz test shares: values good and bad, a call of the command, and what must be true of every answer.

A case ends with a right answer and status 0, or with status 2 and one line of at most 300 characters on standard error that
says what was expected.  It takes at most 20 seconds, and memory stays within the limit that the tests set.

FUZZ_SEED  another sequence of cases (0)
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings, strategies as st

from fedtheory import cli, tables

SECONDS, GIBIBYTES = 20, 0.5  # limits of a case; what a run may hold, by FEDTHEORY_MEMORY
MORE = 4 * 2**30  # bytes of address space that a case may ask for on top
LONGEST = 300  # characters of an error
_SEED = int(os.environ.get("FUZZ_SEED", "0"))
_QUICK = [(100 + i, 75) for i in range(4)]  # seeds, and so many cases: of these a third in `make test`
_MANY = [(1 + i, 2000) for i in range(10)]  # in `make test-full`

_NUMBERS = """nan inf -inf -1 0 -0 1e308 1e-308 1e400 1e-400 1/0 0/0 1/3 1e400/1 1/1e-320 1e308/1e-308 1_000 0x10
1+2 1,2 , 1,,2 1j 1e12 .. 1..2 2..1 ٣ １"""
_WORDS = """abc true None [1] {} é $(ls) __import__('os') os.system('x') %s {0} [red] [/] \\ ' " = - -- --help
RandK:2 QSGD(s=7) 0.5L 1e-4L iid sizes"""
_BLANK, _LONG = ["", " ", "a\nb", "\n", "\t", "\u2028"], ["9" * 400, "1" + "0" * 400, "x" * 500]
NASTY = [*_NUMBERS.split(), *_WORDS.split(), *_BLANK, *_LONG]
ODD_NUMBERS: list[Any] = [0, 1, 2, -1, 0.5, 1e308, 1e-308, 10**30, 2**63, True, False, math.nan, math.inf]
ODD_OTHERS: list[Any] = ["", "x", "a\nb", [], [1], ["a"], [[1]], {}, {"a": 1}]


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    out: str
    err: str


@contextlib.contextmanager
def within_limits() -> Iterator[None]:
    """Fails after 20 seconds, and where more memory than the limit is asked for."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    own, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (own, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fedtheory(*arguments: str) -> Answer:
    """The command's answer; an exception that it lets through is a failure of the test."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["fedtheory", *arguments]
    try:
        with (
            within_limits(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            cli.main()
    finally:
        sys.argv = argv
    answer = Answer(int(end.value.code or 0), out.getvalue(), err.getvalue())
    sensible(answer)
    return answer


def sensible(answer: Answer) -> None:
    """Asserts what must be true of every answer."""
    if answer.status == 0:
        assert answer.out and not answer.err, answer
        return
    assert answer.status == 2 and not answer.out, answer
    assert_error(answer.err.removesuffix("\n").removeprefix("fedtheory: "))
    assert answer.err.startswith("fedtheory: ")


def assert_error(text: str) -> None:
    """Asserts that the text is an error in one line that says what was expected."""
    assert len(text) + len("fedtheory: ") <= LONGEST, (len(text), text)
    assert text.splitlines() == [text], repr(text)
    assert "not enough memory" not in text, "memory was asked for, and not refused in advance"
    assert any(words in text for words in ("expected", "did you mean", "See fedtheory --help", "is violated")), text


def refused_or(call: Callable[[], Any]) -> Any:
    """The result of a call of the Python interface; None where it refuses with a sensible ValueError or KeyError."""
    with within_limits():
        try:
            return call()
        except (ValueError, KeyError) as error:
            text = str(error)
            assert text.splitlines() == [text] and len(text) <= 600, repr(text)
            assert any(words in text for words in ("expected", "did you mean", "is violated", "does not exist")), text
            return None


def cases(strategy: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of 300 cases in four parts, of which `make test` runs a third, and of 20,000 more in `make test-full`."""

    def made(check: Callable[[Any], None]) -> Callable[..., None]:
        parts = [*_QUICK, *(pytest.param(*part, marks=pytest.mark.slow) for part in _MANY)]

        @pytest.mark.parametrize(("first", "number"), parts)
        def test(first: int, number: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
            monkeypatch.chdir(tmp_path)
            monkeypatch.setenv("FEDTHEORY_MEMORY", str(GIBIBYTES))
            monkeypatch.setenv("FEDTHEORY_HOURS", str(2 / 3600))
            monkeypatch.setattr(tables, "draw_curves", lambda *_: [])  # a figure takes longer than a training
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

            @seed(1000 * _SEED + first)
            @settings(max_examples=number, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(strategy)
            def run(case: Any) -> None:
                check(case)

            run()
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
            assert grown <= 4 * GIBIBYTES, f"{grown:.2f} GiB"

        return test

    return made


def mostly(good: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Mostly good values; else bad ones, and any text."""
    return st.one_of(good, good, good, good, good, st.sampled_from(NASTY), st.text(max_size=12))


def counts(most: int = 20) -> st.SearchStrategy[str]:
    """Whole numbers as text."""
    return st.integers(1, most).map(str)


def reals(low: float = 1e-3, high: float = 1e3) -> st.SearchStrategy[str]:
    """Numbers as text: decimals, exponents and fractions."""
    decimal = st.floats(low, high, allow_nan=False).map(repr)
    return st.one_of(decimal, st.floats(low, high).map("{:.3g}".format), st.fractions(low, high).map(str))
