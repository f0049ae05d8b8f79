"""Printed exponents, the fewest rounds to an accuracy, and the tables of rates as experiments."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy

from fedtheory.bounds import papers, slopes
from fedtheory.bounds.fedbcgd import rate_table as fedbcgd
from fedtheory.bounds.fedcom import rate_table as fedcom
from fedtheory.bounds.sfl import rate_table as sfl
from fedtheory.bounds.slopes import Slope, SlopeSetting, least_rounds
from fedtheory.bounds.trials import valleys
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.problems.kinked import Kinked
from fedtheory.simulations.problems.quadratic import Quadratic, diagonal
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Order, Status, Term, Words

TABLES = {"sfl": sfl, "fedbcgd": fedbcgd, "fedcom": fedcom}
DRAWN = Path(__file__).parents[2] / "figures" / "drawn"
LINE = Quadratic(np.ones((2, 1, 1)), np.zeros((2, 1)))


def test_other_printed_exponents_are_told() -> None:
    """The check reads the statement: a changed exponent is no longer the measured one."""
    row = catalogue.find("fedbcgd.table1.fedlin")
    own = [e for e in fedbcgd.EXPERIMENTS if row.id in e.rows]
    assert isinstance(row.claim, Order)
    (only,) = row.claim.terms
    mu = next(s for s in only.value.free_symbols if s.name == "mu")
    changed = replace(row, claim=replace(row.claim, terms=(Term(only.name, only.value / mu),)), also=())
    here, there = (slopes.check(s, experiments=own, missing={}) for s in (row, changed))
    assert here.status is there.status is Status.ANALOGUE
    assert "optimisation, kappa" in there.witness and "optimisation, kappa" not in here.witness
    assert "(printed 2)" in there.says


def test_least_rounds_of_gradient_descent() -> None:
    """F = x^2/2 and x' = (1 - eta)^K x: one round at eta = 1; with eta <= 1/2, K = 2 and 4^-r the rounds are known."""
    trial = SlopeSetting(LINE, lambda eta: PFL(2, eta), 1.0, 0.5 * 2.0**-20, 1.0)
    assert least_rounds(trial) <= 1
    slow = replace(trial, algorithm=lambda eta: PFL(2, np.minimum(eta, 0.5)))
    assert least_rounds(slow) == pytest.approx(5.0, rel=1e-6)  # the gap falls by 2^-4 a round


def test_an_accuracy_must_last() -> None:
    """Where an iterate jumps over the minimiser, only the last passage counts."""
    series = np.array([[4.0, 0.5, 2.0, 0.5, 0.25, 0.1, 0.1, 0.1, 0.1]])
    assert slopes._reached(series, 1.0) == pytest.approx(2 + np.log(2) / np.log(4))
    assert slopes._reached(series[:, :4], 1.0) == np.inf  # not seen for as long again
    assert slopes._reached(series, 5.0) == 0


def test_a_slow_divergence_does_not_count() -> None:
    """One coordinate is at its minimum at once; the other grows by 2 % a round, from far below the accuracy."""
    problem = diagonal([[1.0, 2.02]] * 2)
    trial = SlopeSetting(problem, lambda eta: PFL(1, eta), [1.0, 1e-5], 1e-3, 1.0)
    assert (trial.series(np.array([1.0]), 33)[0, 1:] < 1e-8).all()  # for longer than 16 times as long
    assert not slopes._lasts(trial, 1.0, 1.0) and slopes._lasts(trial, 0.98, 1.0)


def test_a_best_step_size_at_an_end_is_an_error() -> None:
    """The best step size is 1; powers of 2 from -5 to -2 do not have it between them."""
    trial = SlopeSetting(LINE, lambda eta: PFL(2, eta), 1.0, 0.5 * 2.0**-20, 1.0, span=(-5, -2))
    with pytest.raises(
        ValueError, match=r"the best step size, 0\.25, is at an end of the search: expected another span"
    ):
        least_rounds(trial)


def test_a_slope_and_its_interval() -> None:
    slope = Slope("eps", (1.0, 2.0, 4.0), (8.0, 4.0, 1.0))
    assert slope.interval == pytest.approx((-2.0, -1.0)) and slope.exponent == pytest.approx(-1.5)
    assert slope.agrees(-1.0) and slope.agrees(-2.0) and not slope.agrees(-2.05) and not slope.agrees(-0.95)
    assert Slope("eps", (1.0, 2.0, 4.0), (4.0, 2.0, 1.0)).agrees(-1.09)  # beyond the interval, close to the exponent


@pytest.mark.parametrize("kappa", [10.0, 40.0])
def test_the_valleys(kappa: float) -> None:
    """L = 1 for all clients, F has mu = 1/kappa and the minimiser 0; the start has the gap that it says."""
    for problem in (
        valleys.alike(4, kappa, zeta=3.0),
        valleys.alike(4, kappa, d=6, turned=True),
        valleys.twins(4, kappa, zeta=3.0),
        valleys.kinked(4, kappa, zeta=3.0),
        valleys.kinked(4, kappa, zeta=3.0, copies=3),
        fedbcgd.opposite(4, kappa),
    ):
        mean = (problem.plain if isinstance(problem, Kinked) else problem).mean[0]
        assert np.linalg.eigvalsh(mean)[0] == pytest.approx(1 / kappa)
        assert problem.constants["L"] == pytest.approx(1.0)
        assert problem.constants["x_star"] == pytest.approx(0, abs=1e-12)
        assert float(problem.value(valleys.start(problem, 2.5))) - problem.constants["F_star"] == pytest.approx(2.5)
    assert np.linalg.eigvalsh(valleys.twins(2, kappa).H).min() == pytest.approx(1 / (2 * kappa))
    assert valleys.kinked(4, kappa, zeta=3.0).constants["G"] == pytest.approx(3.0)
    turned = valleys.alike(2, kappa, d=3, turned=True)
    assert np.abs(turned.H[0] - np.diag(np.diag(turned.H[0]))).max() > 0.01


@pytest.mark.parametrize("paper", TABLES)
def test_every_part_of_every_row_has_an_experiment_or_a_reason(paper: str) -> None:
    table = TABLES[paper]
    prefix = {"sfl": ("sfl.table1.",), "fedbcgd": ("fedbcgd.table1.",), "fedcom": ("fedcom.tab5.", "fedcom.tab6.")}
    own = [s for s in catalogue.statements(paper) if s.id.startswith(prefix[paper]) and s.form == "printed"]
    assert len(own) > 4
    for statement in own:
        parts = [e.part for e in table.EXPERIMENTS if statement.id in e.rows]
        parts += [part for row, part in table.MISSING if row == statement.id]
        assert parts, statement.id
        if isinstance(statement.claim, Words):
            continue
        orders = [c for c in (statement.claim, *statement.also) if isinstance(c, Order)]
        for case, order in zip(("", ", not convex"), orders, strict=False):
            for one in order.terms:
                assert any(part.startswith(one.name) and ("not convex" in part) == bool(case) for part in parts), one
    assert len({e.name for e in table.EXPERIMENTS}) == len(table.EXPERIMENTS)
    assert papers.experiments(paper) == table.EXPERIMENTS


@pytest.mark.parametrize("figure", sorted(DRAWN.glob("*_as_an_experiment.csv")), ids=lambda path: path.stem)
def test_where_exponents_differ_a_reason_is_given(figure: Path) -> None:
    with figure.open() as file:
        cells = list(csv.DictReader(file))
    assert len(cells) > 30
    for cell in cells:
        assert (cell["agrees"] == "True") == (not cell["why"]), cell
        low, high, printed = (float(cell[name]) for name in ("low", "high", "printed"))
        close = abs(printed - float(cell["measured"])) <= 0.1
        assert (cell["agrees"] == "True") == (low <= printed <= high or close)


def test_no_experiment_hides_a_logarithm() -> None:
    """Logarithms count as 1 in printed exponents, and nothing else does."""
    eps, kappa = sympy.symbols("eps kappa", positive=True)
    assert slopes.printed(kappa * sympy.log(1 / eps), {"kappa": 2.0}, "eps", (1e-3, 1e-2)) == pytest.approx(0)
