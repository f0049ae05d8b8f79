"""Claims in one line, claims in a file, printed statements with the reader's constants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sympy

import fedtheory as ft
from fedtheory.bounds import defaults
from fedtheory.claims import Answer, changed, check_file, expression
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.theory import catalogue
from fedtheory.theory.names import UnknownName
from fedtheory.theory.statement import Status
from tests.fedtheory.conftest import Call

calm, noisy = ft.round("PFL", sigma=0, K=1), ft.round(PFL, K=1)
ROUNDS: dict[str, tuple[Any, Any, Status]] = {
    "contraction": (calm.dist2.next <= (1 - calm.mu * calm.h) * calm.dist2, calm.h <= 1 / calm.L, Status.TESTED),
    "contraction, too fast": (
        calm.dist2.next <= (1 - 2 * calm.mu * calm.h) * calm.dist2,
        calm.h <= 1 / calm.L,
        Status.REFUTED,
    ),
    "descent": (calm.gap.next <= calm.gap - calm.h / 2 * calm.grad_sq, calm.h <= 1 / calm.L, Status.TESTED),
    "descent, too fast": (calm.gap.next <= calm.gap - calm.h * calm.grad_sq, calm.h <= 1 / calm.L, Status.REFUTED),
    "noise": (
        noisy.dist2.next <= (1 - noisy.mu * noisy.h) * noisy.dist2 + noisy.h**2 * noisy.sigma**2 / noisy.M,
        noisy.h <= 1 / noisy.L,
        Status.TESTED,
    ),
    "noise, half": (
        noisy.dist2.next <= noisy.dist2 + noisy.h**2 * noisy.sigma**2 / (2 * noisy.M),
        noisy.h <= 1 / noisy.L,
        Status.REFUTED,
    ),
    "units": (calm.dist2.next <= calm.dist2 - calm.h**2 * calm.gap, calm.h <= 1 / calm.L, Status.REFUTED),
    "a run": (
        calm.gap.last <= calm.L / calm.mu * (1 - calm.mu * calm.h) ** calm.R * calm.Delta,
        calm.h <= 1 / calm.L,
        Status.TESTED,
    ),
    "a run, too fast": (
        calm.gap.last <= (1 - 4 * calm.mu * calm.h) ** calm.R * calm.Delta,
        calm.h <= 1 / (4 * calm.L),
        Status.REFUTED,
    ),
    "a run, with equality up to rounding": (
        calm.gap.last <= calm.L / calm.mu * (1 - calm.mu * calm.h) ** (2 * calm.R) * calm.Delta,
        calm.h <= 1 / calm.L,
        Status.TESTED,
    ),
    "a run, tight on Huber functions": (
        calm.gap.last <= calm.L * calm.D**2 / (4 * calm.R * calm.h * calm.L + 2),
        calm.h <= 1 / calm.L,
        Status.TESTED,
    ),
    "a run, true on quadratics": (
        calm.gap.last <= calm.D**2 / (8 * calm.R * calm.h),
        calm.h <= 1 / calm.L,
        Status.REFUTED,
    ),
}


@pytest.mark.dear
@pytest.mark.parametrize("name", ROUNDS)
def test_a_claim_about_a_round_or_a_run_is_tested_or_refuted_with_a_witness(name: str) -> None:
    """Textbook claims about FedAvg with one local step, which is gradient descent, and false forms of them."""
    claim, when, status = ROUNDS[name]
    found = ft.check(claim, when=when)
    assert found.status is status, found
    assert bool(found.witness) is (status is Status.REFUTED)
    assert len(repr(found).splitlines()) <= 10 and repr(found).startswith(str(status))
    assert ("units:" in found.says) is (name == "units")


def test_a_claim_that_holds_on_quadratics_is_refuted_by_jumps_of_the_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradient descent on a quadratic is at most at D^2 / (4 e h R), on a Huber function near D^2 / (4 h R)."""
    claim, when, _ = ROUNDS["a run, true on quadratics"]
    witness = ft.check(claim, when=when).witness
    assert "curvature" in witness["problem"] and witness["measured"] > 1.05 * witness["printed_bound"]
    families = defaults._families
    monkeypatch.setattr(defaults, "_families", lambda *given: families(*given)[:1])
    alone = ft.check(claim, when=when)
    assert alone.status is Status.TESTED and "small quadratics, searched" in alone.says
    assert "jumps" not in alone.says and alone.evidence["search"].slack > 1.1


def test_the_answer_names_the_best_constants() -> None:
    """Without noise twice the step size is the best factor of the gap, up to the bracket."""
    found = ft.check(calm.dist2.next <= calm.dist2 - calm.h / 2 * calm.gap, when=calm.h <= 1 / (2 * calm.L))
    ends = [terms["gap"] for terms in found.evidence["worst_case"].best.values()]
    assert found.status is Status.TESTED and all(low > 1 for low, _ in ends)
    assert "best constants (M = 2, L = 1" in repr(found)


def test_an_answer_is_no_truth_value() -> None:
    """`if ft.check(...)` would be true for a refuted claim."""
    with pytest.raises(TypeError, match="answer.status"):
        bool(Answer("1 <= 0", Status.REFUTED, ""))


def test_claims_that_sympy_decides_are_answered() -> None:
    """A square is not negative."""
    (x,) = (ft.points("x"),)
    assert ft.check(sympy.Ge(x.norm2, -1)).status is Status.PROVED
    assert ft.check(sympy.false).status is Status.REFUTED


POINTS = """
claim = "f(x) - f(y) - f.grad(y).dot(x - y) >= (f.grad(x) - f.grad(y)).norm2 / (2*L)"
points = "x y"
functions = {f = {smooth = "L", convex = true}}
"""
OF_ROUND = """
round = "Mine"
from = "mine.py"
sigma = 0
settings = {K = 1}
claim = "dist2.next <= (1 - 2*mu*h)*dist2"
when = "h <= 1/L"
"""
MINE = "from fedtheory.simulations.algorithms.sfl import PFL as Mine\nALGORITHMS = {'Mine': Mine}\n"


def test_the_command_answers_a_claim_in_a_file(tmp_path: Path, call: Call) -> None:
    """About functions, and about a round of the user's algorithm; as text and as JSON."""
    (tmp_path / "points.toml").write_text(POINTS)
    (tmp_path / "round.toml").write_text(OF_ROUND)
    (tmp_path / "mine.py").write_text(MINE)
    status, out, _ = call("check", str(tmp_path / "points.toml"))
    assert status == 0 and out.startswith("proved: ") and "co-coercivity of f from y to x" in out
    status, out, _ = call("check", str(tmp_path / "round.toml"), "--json")
    told = json.loads(out)
    assert status == 0 and told["verdict"] == "refuted" and told["witness"]["K"] == "1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("claim = 3", "expected claim = "),
        ('clam = "x"', "unknown entry 'clam'"),
        ("claim = ", "expected a TOML file"),
        ('claim = "x.norm2 >= y.norm2"\npoints = "x"', "unknown name 'y'"),
        ('claim = "__import__(1)"\npoints = "x"', "unknown name"),
        ('claim = "x.e >= 0"\npoints = "x"', "expected sums, products, powers"),
        ('claim = "x.norm2 >= "\npoints = "x"', "invalid syntax"),
        ('claim = "gap.next <= gap"\nround = "PFLL"', "unknown algorithm 'PFLL'"),
        ('claim = "gap.next <= gap"\nround = "PFL"\nsigma = 2', "expected 0, for no noise"),
        ('claim = "x.norm2 >= 0"\npoints = 3', "expected entries as"),
        ('claim = "f(x) >= 0"\npoints = "x"\nfunctions = {f = {smoth = "L"}}', "expected entries as"),
        ('claim = "x.norm2 >= 0"\npoints = "x"\nwhen = 3', "expected entries as"),
        ('claim = "gap.nxt <= gap"\nround = "PFL"', "expected sums, products, powers"),
    ],
)
def test_a_file_that_is_not_as_described_gives_an_error(tmp_path: Path, text: str, says: str) -> None:
    """It names what was passed and what was expected."""
    (tmp_path / "claim.toml").write_text(text)
    with pytest.raises((ValueError, UnknownName), match=says):
        check_file(tmp_path / "claim.toml")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: calm.gapp, "unknown symbol of a round 'gapp'"),
        (lambda: calm.drift.last, "drift.last: expected one of"),
        (lambda: ft.check(calm.gap), "expected an inequality"),
        (lambda: ft.check(calm.gap.next <= noisy.gap), "expected quantities of one round"),
        (lambda: ft.check(calm.gap.next <= calm.gap, given=["smooth"]), "expected assumptions, such as smooth"),
        (lambda: ft.check(calm.gap.next <= calm.gap, when=[1]), "expected conditions"),
    ],
)
def test_what_is_asked_wrongly_gives_an_error(wrong: Callable[[], Any], says: str) -> None:
    """One clear error."""
    with pytest.raises((ValueError, AttributeError), match=says):
        wrong()


def test_formulas_are_read_as_one_types_them() -> None:
    """Powers by ^ or **, decimals as fractions; nothing else runs."""
    names = {"a": sympy.Symbol("a"), "b": sympy.Symbol("b")}
    assert expression("2*a^2 - 0.5/b", names) == 2 * names["a"] ** 2 - sympy.Rational(1, 2) / names["b"]
    with pytest.raises(ValueError, match="expected sums"):
        expression("[a for a in b]", names)


def test_a_printed_statement_is_verified_with_the_readers_constant(call: Call) -> None:
    """An eighth of the printed noise is refuted, with what the proof derives; the printed one stays as it is."""
    status, out, err = call("verify", "sfl.lemma11", "--with", "noise=K*eta^2*sigma^2/(8*S)")
    assert status == 0, err
    assert out.startswith("sfl.lemma11: refuted") and "derived 4*K*eta**2/S" in out
    assert "misprint" not in out.splitlines()[0]  # an erratum is about the printed statement
    printed = catalogue.find("sfl.lemma11")
    other = changed(printed, {}, when=["eta <= 1/(60*K*L)"], assumes=printed.assumes[:1])
    assert other.claim == printed.claim and len(other.when) == 1 and other.assumes == printed.assumes[:1]
    assert printed.with_terms(noise=0).claim != printed.claim


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sfl.lemma11", "--with", "nois=0"), "unknown term 'nois'"),
        (("sfl.lemma11", "--with", "noise"), "expected TERM=EXPR"),
        (("sfl.lemma11", "--with", "noise=zeta^2*q"), "unknown name 'q'"),
        (("sfl.lemma11", "sfl.lemma5", "--with", "noise=0"), "expected one id"),
        (("sfl.eq14", "--with", "noise=0"), "has no terms"),
    ],
)
def test_a_constant_that_cannot_be_used_gives_an_error(call: Call, arguments: tuple[str, ...], says: str) -> None:
    """And exit status 2 or 1, without a traceback."""
    status, out, err = call("verify", *arguments)
    assert status != 0 and says in f"{out}{err}"


def test_a_number_in_floating_point_is_a_fraction() -> None:
    (x, y), L = ft.points("x y"), ft.constants("L")
    f = ft.function("f", smooth=L)
    assert ft.check(f(y) <= f(x) + f.grad(x).dot(y - x) + 0.5 * L * (y - x).norm2).status is Status.PROVED
    assert ft.check(f(y) <= f(x) + f.grad(x).dot(y - x) + 0.49 * L * (y - x).norm2).status is Status.REFUTED
