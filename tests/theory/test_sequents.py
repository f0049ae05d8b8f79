"""Steps as text: written from sympy, read again, and evaluated exactly."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path

import pytest
import sympy
from hypothesis import given, strategies as st
from sympy import Abs, Max, Min, Rational, Symbol, exp, log, sqrt

from fedtheory.theory.proofs.sequents import (
    Sequent,
    domain,
    expression,
    guards,
    holds,
    names_in,
    names_of,
    relation,
    sequents,
)

ROOT = Path(__file__).parents[2]
x, y = (Symbol(name, real=True) for name in "xy")
p, q = (Symbol(name, positive=True) for name in "pq")
n, a = Symbol("n", integer=True, positive=True), Symbol("a", nonnegative=True)
NAMES = names_of([x, y, p, q, n, a])

WRITTEN = [
    (x - y, "x - y"),
    (-x, "-x"),
    (2 * x / 3, "2 * x / 3"),
    (-Rational(1, 2) * x**2, "-x**2 / 2"),
    (x * (y + 1), "x * (1 + y)"),
    ((x + y) ** 2, "(x + y)**2"),
    (p / (q * n), "p / (q * n)"),
    (1 / p**2, "1 / p**2"),
    (sqrt(p), "root(p, 1, 2)"),
    (p / sqrt(q), "p / root(q, 1, 2)"),
    (p ** Rational(3, 2), "root(p, 3, 2)"),
    (p ** Rational(-2, 3), "1 / root(p, 2, 3)"),
    (Max(x, y), "max(x, y)"),
    (Min(x, 2), "min(2, x)"),
    (Abs(x), "abs(x)"),
    (exp(-p), "exp(-p)"),
    (log(p), "log(p)"),
    ((1 - p) ** n, "pow(1 - p, n)"),
]


@pytest.mark.parametrize(("e", "text"), WRITTEN, ids=str)
def test_writing(e, text) -> None:
    assert expression(e, NAMES) == text


def value(text: str, at: dict) -> sympy.Expr:
    """A text, read by sympy."""
    known = {
        "root": lambda base, p, q: base ** Rational(p, q),
        **{"max": Max, "min": Min, "abs": Abs, "exp": exp, "log": log, "pow": sympy.Pow},
    }
    return sympy.sympify(text, locals={**known, **at})


@pytest.mark.parametrize("e", [e for e, _ in WRITTEN], ids=str)
def test_what_is_written_is_read_as_the_same(e) -> None:
    assert value(expression(e, NAMES), {name: symbol for symbol, name in NAMES.items()}) == e


small = st.integers(-3, 3).map(sympy.Integer) | st.fractions(-2, 2, max_denominator=4).map(
    lambda f: Rational(f.numerator, f.denominator)
)
trees = st.recursive(
    small | st.sampled_from([x, y, p, q, n]),
    lambda part: st.one_of(
        st.tuples(part, part).map(sum),
        st.tuples(part, part).map(lambda two: two[0] * two[1]),
        st.tuples(part, part).map(lambda two: two[0] - two[1]),
        st.tuples(part, st.sampled_from([p, n * q, 1 + p])).map(lambda two: two[0] / two[1]),
        part.map(lambda e: e**2),
        st.tuples(part, part).map(lambda two: Max(*two)),
    ),
    max_leaves=8,
)


@given(trees)
def test_any_expression_has_the_same_value_as_its_text(e) -> None:
    at = {x: Rational(-5, 3), y: Rational(7, 2), p: Rational(2, 5), q: Rational(3), n: Rational(4)}
    numbers = {NAMES[s]: Fraction(int(v.p), int(v.q)) for s, v in at.items()}
    exact = e.subs(at)
    text = expression(e, NAMES)
    assert holds(f"{text} == {exact}", numbers) is True
    assert holds(f"{text} == {exact} + 1 / 1000", numbers) is False


@pytest.mark.parametrize("what", [sympy.sin(x), sympy.Function("f")(x), sympy.I * x, sympy.oo])
def test_what_has_no_text(what) -> None:
    with pytest.raises(ValueError, match="expected"):
        expression(what, NAMES)


def test_relations_and_what_is_none() -> None:
    assert relation(sympy.Le(x, y / p, evaluate=False), NAMES) == "x <= y / p"
    assert relation(sympy.Ne(x, y), NAMES) == "x != y"
    assert relation(sympy.Eq(x, y), NAMES) == "x == y"
    assert relation(sympy.true, NAMES) == "True"
    with pytest.raises(ValueError, match="expected a relation"):
        relation(x, NAMES)


def test_domains_are_those_that_the_arithmetic_reads() -> None:
    assert [domain(s) for s in (n, p, a, x)] == ["count", "positive", "nonnegative", "real"]
    assert domain(Symbol("k", integer=True, nonnegative=True)) == "nonnegative"


def test_names_are_identifiers_and_different() -> None:
    symbols = [Symbol("E_r"), Symbol("a b", positive=True), Symbol("a_b"), Symbol("2x"), Symbol("max"),
        Symbol("lambda")]  # fmt: skip
    found = names_of(symbols)
    assert len(set(found.values())) == len(symbols) and found[Symbol("E_r")] == "E_r"
    assert all(name.isidentifier() and name not in ("max", "root") for name in found.values())
    assert names_of([x, Symbol("x", positive=True)]).keys() == {x, Symbol("x", positive=True)}
    assert names_in("max(x, root(p, 1, 2)) <= E_r", "True") == {"x", "p", "E_r"}


def test_one_step_for_each_claim_and_conjunctions_are_split() -> None:
    both = sympy.And(p <= 2, q <= 3, evaluate=False)
    first, second = sequents([both, sympy.true], [sympy.And(p <= 5, p + x <= 6 + x**2, evaluate=False)])
    assert {first.claim, second.claim} == {"p <= 5", "x + p <= 6 + x**2"}
    assert first.given == second.given == ("p <= 2", "q <= 3")
    assert dict(first.variables).keys() | {"x"} == dict(second.variables).keys() == {"p", "q", "x"}
    assert "p positive" in str(first) and str(first).endswith("p <= 2, q <= 3 => p <= 5")


def test_a_digest_is_of_the_text() -> None:
    one = Sequent((("x", "real"),), (), "x <= 1")
    same, other = Sequent((("x", "real"),), (), "x <= 1"), Sequent((("x", "positive"),), (), "x <= 1")
    assert one.digest == same.digest != other.digest and len(one.digest) == 16


SCRIPT = """
from sympy import Max, Symbol, sqrt
from fedtheory.theory.proofs.sequents import sequents
names = "L eta K M S beta sigma zeta".split()
L, eta, K, M, S, beta, sigma, zeta = (Symbol(name, positive=True, integer=name in "KMS" or None) for name in names)
given = [L * eta * K * (1 + beta) <= 1, S <= M, M >= 2, sqrt(sigma * zeta) <= Max(sigma, zeta, L)]
for one in sequents(given, [(M - S) * sigma / (S * (M - 1)) + zeta <= Max(L, sigma) * zeta, sqrt(eta) <= beta + eta]):
    print(one.digest, one)
"""


def test_the_same_text_under_every_hash_seed() -> None:
    def told(seed: str) -> str:
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT).stdout

    first, *others = map(told, ("0", "1", "42"))
    assert first.count("=>") == 2 and set(others) == {first}


def test_guards_say_when_a_text_is_defined() -> None:
    assert guards("1 / (M - 1) <= x / 2") == ["M - 1 != 0"]
    assert guards("root(x - 1, 1, 2) <= root(3, 1, 2)") == ["x - 1 >= 0"]
    assert set(guards("log(x) <= 1 / (1 / y)")) == {"1 / y != 0", "x > 0", "y != 0"}
    assert guards("x**2 + max(x, 1) <= abs(x)") == []


HALF, TWO = Fraction(1, 2), Fraction(2)
HOLDS = [
    ("x <= 1 / 2", {"x": HALF}, True),
    ("x < 1 / 2", {"x": HALF}, False),
    ("x != 1 / 2", {"x": HALF}, False),
    ("x >= 1 / 2 + 1 / 10**30", {"x": HALF}, False),
    ("-x**2 == -1 / 4", {"x": HALF}, True),
    ("(-x)**3 < 0", {"x": HALF}, True),
    ("max(x, 1 - x, 3) - min(x, 0) == 3 + abs(-x)", {"x": -HALF}, True),
    ("root(x, 1, 2) == 3 / 2", {"x": Fraction(9, 4)}, True),
    ("root(x, 2, 3) == 4", {"x": Fraction(8)}, True),
    ("root(x, 1, 2) > 1414213562373095048801 / 10**21", {"x": TWO}, True),
    ("root(x, 1, 2) > 1414213562373095048802 / 10**21", {"x": TWO}, False),
    ("root(x, 1, 2) != 1414213562373095048801 / 10**21", {"x": TWO}, True),
    ("exp(x) > 271828182845904523536 / 10**20", {"x": Fraction(1)}, True),
    ("exp(x) < 271828182845904523536 / 10**20", {"x": Fraction(1)}, False),
    ("exp(0 * x) == 1", {"x": TWO}, True),
    ("log(x) < 693147180559945309418 / 10**21", {"x": TWO}, True),
    ("log(x) <= 693147180559945309417 / 10**21", {"x": TWO}, False),
    ("True", {}, True),
    ("False", {}, False),
]


@pytest.mark.parametrize(("text", "values", "expected"), HOLDS, ids=str)
def test_exact_values(text, values, expected) -> None:
    assert holds(text, values) is expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1 / x <= 1", 0),
        ("1 / (root(x, 1, 2) - root(x, 1, 2)) <= 1", 2),
        ("root(x, 1, 2) <= 1", -1),
        ("log(x) <= 1", 0),
        ("log(x - 1) <= 1", 0),
        ("root(x, 1, 2)**2 == 2", 2),  # true, and no precision shows it
        ("root(x, 1, 2)**2 <= 2", 2),
        ("exp(log(x)) == 2", 2),
    ],
)
def test_what_is_not_defined_or_not_decided(text, number) -> None:
    assert holds(text, {"x": Fraction(number)}) is None


def test_a_symbol_as_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        holds("pow(x, y) <= 1", {"x": TWO, "y": HALF})


@given(st.fractions(0, 100), st.fractions(-5, 20))
def test_roots_are_compared_exactly(number, other) -> None:
    assert holds("root(x, 1, 2) <= y", {"x": number, "y": other}) is (other >= 0 and number <= other**2)
    whole = isqrt(int(number))
    assert holds(f"root(x, 1, 2) == {whole}", {"x": number}) is (number == whole**2)
