"""The FedBAT proofs read what they rest on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.checks.ledgers import PROOFS, REPAIRS
from fedtheory.theory.fedbat.checks.quantities import LANGUAGE
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.statement import Bound, Relations, Statement, Status, Verdict

ALL = {**PROOFS, **{f"{name} repaired": one for name, one in REPAIRS.items()}}
BROKEN = ("thm1", "thm2", "eq38", "eq41", "eq42", "eq57", "eq78")  # where, paper_check.md says
PROVED = [name for name in ALL if name not in BROKEN]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbat.{name.removesuffix(' repaired')}")


def verdict(name: str, statement: Statement | None = None) -> Verdict:
    argument = Argument(statement or find(name), LANGUAGE)
    ALL[name](argument)
    return argument.verdict()


# --- Every premise is read -------------------------------------------------------------------------------------------


def sharpened(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """One term of a bound larger in size, and smaller."""
    claim = statement.claim
    if isinstance(claim, Bound):
        for term in claim.terms:
            for factor in (Rational(101, 100), Rational(99, 100)):
                yield term.name, statement.with_claim(claim.scaled(factor, term.name))


# What is let go of whatever its size, and what is used by another line than the first
DROPPED = {
    ("eq70", "lemma7"): {"local_gradients"},
    ("eq70.corrected", "lemma7.corrected"): {"local_gradients"},
    ("eq48.corrected", "eq46.corrected"): {"gradients"},
}


def with_other(monkeypatch: pytest.MonkeyPatch, *changed: Statement) -> None:
    """The catalogue with these statements in the place of its own."""
    real, others = catalogue.find, {one.id: one for one in changed}
    monkeypatch.setattr(catalogue, "find", lambda id_: others.get(id_) or real(id_))


@pytest.mark.dear
@pytest.mark.parametrize("name", PROVED)
def test_a_changed_premise_breaks_what_uses_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth more of any term, or less where it enters with a minus sign."""
    statement = find(name)
    for used in verdict(name).uses:
        source, seen = catalogue.find(used), set()
        for term, changed in sharpened(source):
            with monkeypatch.context() as patch:
                with_other(patch, changed)
                if term not in seen and verdict(name, statement).status is Status.BROKEN:
                    seen.add(term)
        if isinstance(source.claim, Bound):
            unread = {t.name for t in source.claim.terms} - seen
            assert unread == DROPPED.get((name, used.removeprefix("fedbat.")), set()), used


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("eq34", "eq33"), ("eq38.corrected", "eq33"), ("eq40", "eq33"), ("eq38.corrected", "eq36"),
        ("eq38.corrected", "eq37"), ("eq75", "eq74"), ("eq80", "eq76"), ("eq41.corrected", "eq40"), ("eq30", "eq27"),
    ],
)  # fmt: skip
def test_a_changed_line_breaks_what_uses_it(name: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, or half, the larger side of its last relation."""
    source = find(used)
    assert isinstance(source.claim, Relations)
    *others, last = source.claim.relations
    factor = Rational(1, 2) if used == "eq37" else Rational(2)  # (37) has a minus sign before what is used
    changed = (
        last.func(last.lhs, factor * last.rhs) if isinstance(last, sympy.Le) else last.func(last.lhs, 2 * last.rhs)
    )
    with_other(monkeypatch, source.with_claim(Relations((*others, changed))))
    assert verdict(name, find(name)).status is Status.BROKEN
