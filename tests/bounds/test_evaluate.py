"""A bound in numbers: equal to exact arithmetic, refused outside its conditions, clear about bad parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings, strategies as st

from fedtheory.bounds import BoundValue, ConditionViolated, evaluate
from fedtheory.bounds.evaluation import compiled, formula
from fedtheory.theory import catalogue
from fedtheory.theory.catalogue import UnknownName
from fedtheory.theory.statement import Bound, Relations
from tests.bounds.points import BOUNDS, points_inside

GOOD: dict[str, Any] = dict(L=1.0, mu=0.1, sigma=0.5, zeta_star=1.0, D=3.0, M=10, K=5, R=500, eta_tilde=0.05)
ID = "sfl.thm1.strongly_convex"


def exactly(id_: str, values: dict[str, float]) -> dict[str, sympy.Expr]:
    """Term by term in 30 digits, from the exact values of the floats."""
    claim = catalogue.find(id_).claim
    assert isinstance(claim, Bound)
    symbols = {s.name: s.sympy for s in compiled(id_).parameters}
    at = {symbols[name]: sympy.Rational(value) for name, value in values.items()}
    counts = {s: value for s, value in at.items() if s.is_integer}
    found = {}
    for term in claim.terms:
        whole = term.value.subs(counts).doit()
        value = whole.evalf(30, subs=at)
        # evalf leaves an exact zero as a tiny number without precision
        found[term.name] = value if abs(value) > 1e-150 else whole.subs(at).evalf(30)
    return found


@pytest.mark.dear
@pytest.mark.parametrize("examples", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("id_", BOUNDS)
def test_a_bound_equals_exact_arithmetic(id_: str, examples: int) -> None:
    for values in points_inside(id_, examples):
        found, exact = evaluate(id_, **values), exactly(id_, values)
        assert found.admissible and not found.violations
        assert list(found.terms) == list(exact)
        # a power R multiplies the rounding of its base by R
        near = max(1e-12, values.get("R", 0.0) * 2.0**-52)
        for name, value in exact.items():
            assert abs(found.terms[name] - value) <= near * abs(value) + 1e-300, name
        assert abs(found.value - sum(exact.values())) <= near * sum(map(abs, exact.values())) + 1e-300


@pytest.mark.parametrize("id_", ["sfl.eq42", "sfl.eq54", "sfl.lemma4.sum", "sfl.thm2.nonconvex", "sfl.lemma8.eq45"])
def test_arrays_broadcast_to_the_scalars(id_: str) -> None:
    *rows, last = points_inside(id_, 4)
    names = list(last)
    columns = {n: np.array([[row[n]] for row in rows]) for n in names}
    columns[names[0]] = np.array([[rows[0][names[0]], last[names[0]]]])
    found = evaluate(id_, strict=False, **columns)
    assert found.value.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        one = {n: float(np.broadcast_to(c, (3, 2))[i, j]) for n, c in columns.items()}
        alone = evaluate(id_, strict=False, **one)
        np.testing.assert_array_max_ulp(np.array(found.value[i, j]), np.array(alone.value), maxulp=4)
        for name, term in alone.terms.items():
            np.testing.assert_array_max_ulp(np.array(found.terms[name][i, j]), np.array(term), maxulp=4)
        assert bool(found.admissible[i, j]) == alone.admissible


def test_a_scalar_gives_python_numbers() -> None:
    found = evaluate(ID, **GOOD)
    assert isinstance(found, BoundValue) and type(found.value) is float
    assert list(found.terms) == ["optimisation", "noise", "noise_drift", "heterogeneity"]
    assert all(type(t) is float for t in found.terms.values()) and found.admissible is True


VIOLATIONS = [
    ({"eta_tilde": 0.2}, ["eta_tilde <= 1/(6*L) is violated at L=1, eta_tilde=0.2"]),
    ({"R": 100}, [r"1/(R*mu) <= eta_tilde is violated at R=100, eta_tilde=0.05, mu=0.1"]),
    ({"mu": 2.0}, ["mu <= L (implied by strong convexity and smoothness) is violated at L=1, mu=2"]),
    ({"R": 1, "eta_tilde": 9.0, "mu": 0.01}, ["1/(R*mu) <= eta_tilde is violated", "eta_tilde <= 1/(6*L) is violated"]),
]


@pytest.mark.parametrize(("change", "named"), VIOLATIONS)
def test_outside_the_conditions(change: dict[str, float], named: list[str]) -> None:
    with pytest.raises(ConditionViolated) as caught:
        evaluate(ID, **{**GOOD, **change})
    found = evaluate(ID, strict=False, **{**GOOD, **change})
    assert len(found.violations) == len(named) and not found.admissible
    for text, line in zip(named, found.violations, strict=True):
        assert text in line and text in str(caught.value) and str(caught.value).startswith(ID)
    assert np.isfinite(found.value)


def test_an_array_says_how_many_points_are_outside() -> None:
    found = evaluate(ID, strict=False, **{**GOOD, "eta_tilde": np.array([0.05, 0.1, 0.2, 0.3])})
    assert found.violations == ["eta_tilde <= 1/(6*L) is violated at L=1, eta_tilde=0.2 (2 of 4 points)"]
    assert found.admissible.tolist() == [True, True, False, False]


def test_partial_participation_has_its_own_conditions() -> None:
    values = dict(L=1.0, sigma=0.5, zeta_star=1.0, D=3.0, M=10, S=11, K=5, R=500, eta_tilde=0.05)
    with pytest.raises(ConditionViolated, match=r"S <= M \(implied: S of M clients without replacement\)"):
        evaluate("sfl.eq46", **values)
    with pytest.raises(ConditionViolated, match=r"M >= 2 \(implied: the printed M - 1 divides\)"):
        evaluate("sfl.eq46", **{**values, "M": 1, "S": 1})
    with pytest.raises(ConditionViolated, match=r"R >= 6\*L/mu \(implied by the printed|6\*L/mu <= R"):
        evaluate("sfl.cor1.strongly_convex", **{k: v for k, v in {**GOOD, "R": 59}.items() if k != "eta_tilde"})
    assert evaluate("sfl.cor1.strongly_convex", **{k: v for k, v in {**GOOD, "R": 60}.items() if k != "eta_tilde"})


BAD = [
    ({"eta": 0.1}, "sfl.thm1.strongly_convex has no parameter eta; expected M, K, R, L, mu, sigma, "),
    ({"D": float("nan")}, r"D = nan: expected real >= 0 \(\|\|x0 - x\*\|\|, initial distance\)"),
    ({"L": float("inf")}, "L = inf: expected real > 0"),
    ({"L": 0.0}, "L = 0.0: expected real > 0"),
    ({"sigma": -0.5}, "sigma = -0.5: expected real >= 0"),
    ({"K": 2.5}, "K = 2.5: expected integer >= 1"),
    ({"R": 0}, "R = 0.0: expected integer >= 1"),
    ({"mu": "steep"}, "mu = steep: expected real >= 0"),
    ({"mu": None}, "mu = None: expected real >= 0|mu = nan: expected real >= 0"),
    ({"M": np.array([1.0, 2.0, -3.0])}, "M = -3.0: expected integer >= 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_a_bad_parameter_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(ID, **{**GOOD, **change})


def test_missing_parameters_and_wrong_ids_are_named() -> None:
    with pytest.raises(ValueError, match="needs R, D too; expected M, K, R, L, "):
        evaluate(ID, **{k: v for k, v in GOOD.items() if k not in ("D", "R")})
    with pytest.raises(UnknownName, match=r"did you mean sfl\.thm1\.strongly_convex"):
        evaluate("sfl.thm1.strongly_convx", **GOOD)
    with pytest.raises(ValueError, match=r"sfl.alg1 is no bound but of kind algorithm \(listing\)"):
        evaluate("sfl.alg1")
    with pytest.raises(ValueError, match="broadcast"):
        evaluate(ID, **{**GOOD, "D": np.ones(2), "L": np.ones(3)})


@given(L=st.floats(1e-6, 1e6), beta=st.floats(0, 1e3), R=st.integers(1, 10**6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_end_of_the_interval_computed_in_floats_is_inside(L: float, beta: float, R: int) -> None:
    common = dict(L=L, sigma=1.0, M=7, K=3, R=R)
    assert evaluate("sfl.thm1.general_convex", zeta_star=1.0, D=1.0, eta_tilde=1 / (6 * L), **common).admissible
    top = 1 / (6 * L * (beta + 1))
    assert evaluate("sfl.thm1.nonconvex", zeta=1.0, A=1.0, beta=beta, eta_tilde=top, **common).admissible
    for beyond in (1 + 1e-9, 1.01):
        with pytest.raises(ConditionViolated):
            evaluate("sfl.thm1.nonconvex", zeta=1.0, A=1.0, beta=beta, eta_tilde=top * beyond, **common)


@given(L=st.floats(1e-3, 1e3), share=st.floats(1e-4, 1.0))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_lower_end_too(L: float, share: float) -> None:
    mu = L * share
    R = int(np.ceil(6 * L / mu)) + 1
    values = dict(L=L, mu=mu, sigma=1.0, zeta_star=1.0, D=1.0, M=7, K=3, R=R)
    assert evaluate(ID, eta_tilde=1 / (mu * R), **values).admissible
    with pytest.raises(ConditionViolated, match="1/\\(R\\*mu\\) <= eta_tilde"):
        evaluate(ID, eta_tilde=(1 - 1e-9) / (mu * R), **values)


def test_the_formula_is_what_is_evaluated() -> None:
    text = formula(catalogue.find(ID))
    found = eval(text.replace("exp", "np.exp"), {"np": np}, GOOD)
    assert found == pytest.approx(evaluate(ID, **GOOD).value, rel=1e-14)
    assert text != formula(catalogue.find("sfl.thm2.strongly_convex"))


PARTED = [s.id for s in catalogue.statements() if isinstance(s.claim, Relations) and s.claim.parts]


@pytest.mark.parametrize("id_", PARTED)
def test_the_value_of_relations_is_what_they_define_or_none(id_: str) -> None:
    """The named parts of a definition or a condition are no summands: at random symbols, against the relation itself."""
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Relations)
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = {s.name: float(rng.integers(1, 9) if s.sympy.is_integer else rng.uniform(0.1, 5))
                  for s in compiled(id_).parameters}  # fmt: skip
        found = evaluate(id_, strict=False, **values)
        at = {s.sympy: sympy.Rational(values[s.name]) for s in compiled(id_).parameters}
        if all(isinstance(r, sympy.Eq) for r in statement.claim.relations):
            (relation,) = statement.claim.relations
            assert found.value == pytest.approx(float(relation.rhs.subs(at)), rel=1e-12)
        else:
            assert found.value is None and all(np.isfinite(list(found.terms.values())))
    assert (formula(statement).count("Min") == 1) == ("exponent" in id_)


def test_both_kinds_of_relations_with_parts_were_seen() -> None:
    assert set(PARTED) == {
        *(f"fedbcgd.thm2.strongly_convex.exponent{form}" for form in ("", ".proof")),
        *(f"fedcom.cond{number}" for number in (21, 61, 78)),
    }


def test_doubles_that_overflow_on_the_way_do_no_harm() -> None:
    """D^2 = 1e320 and eta_tilde R = 1e320 leave 1 of the first term; a division by zero stays what doubles make of it."""
    values = {"L": 1e-170, "M": 1, "K": 1, "sigma": 0, "zeta_star": 0, "D": 1e160, "R": 1e160, "eta_tilde": 1e160}
    found = evaluate("sfl.thm1.general_convex", **values)
    assert found.terms["optimisation"] == pytest.approx(3, rel=1e-12)
    small = evaluate("sfl.thm1.general_convex.sharp", **(values | {"D": 1e-170}))
    assert small.terms["optimisation"] == 0
    divided = evaluate("sfl.lemma7.tuning", strict=False, a=1, c=1, d=1, r0=1, T=0)
    assert divided.violations and not divided.admissible
    beyond = dict(M=1, N=1, K=1, T=1e308, R=1, beta=1, sigma=1e-6, G=1, alpha=1, d0=1, eta_tilde=1e-60)
    noise = evaluate("fedbcgd.thm1.general_convex", **beyond).terms["noise"]
    assert noise == pytest.approx(32**0.5 * 1e-160, rel=1e-12)
    nothing = dict(N=10, K=2, tau=10, T=100, L=1e308, sigma=0, G=0, q=1, f_gap=0)  # 2 L is infinite, 2 L 0 is 0
    for L in (1e308, [1e308, 1.0]):
        assert np.all(evaluate("fedbat.thm3.corrected", **(nothing | {"L": L})).value == 0)
