"""SYSTEMS.md: every system has a row, no cell is empty that must not be, and the numbers are those of the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.simulations import has_expectation
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.compressors import Bernoulli, TopK
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SYSTEMS.md").read_text()
PROBLEM = generate(d=12, M=4, L=2.0, mu=0.2)


def rows() -> dict[str, list[str]]:
    found = {}
    for line in TEXT.splitlines():
        if line.startswith("| `"):
            names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            found |= dict.fromkeys(re.findall(r"`([^`]+)`", names), cells)
    return found


ROWS = rows()
NAMES = sorted({name.split(",")[0] for name in registry(networks=True)})
ON_ANY = [name for name in NAMES if name in registry()]


SETTINGS = ({"tau": 2}, {"T": 2}, {"K": 2}, {"T": 2, "N": 2, "K": 1}, {"Q": 2}, {"p": 0.5}, {}, {"k": 2, "T": 2})


def built(build: Callable[..., Any]) -> Any:
    for settings in SETTINGS:
        try:
            return build(eta=0.05, **settings)
        except TypeError:
            continue
    raise AssertionError(build)


def test_every_system_has_a_row_without_an_empty_cell() -> None:
    assert sorted(ROWS) == NAMES
    for name, cells in ROWS.items():
        source, sends, _, exact, statements = cells
        assert all((source, sends, exact, statements)), name


@pytest.mark.dear
@pytest.mark.parametrize("name", ON_ANY)
def test_every_system_runs_in_simulate(name: str) -> None:
    problem = "breast_cancer" if name == "VRDIANA" else "quadratic"
    outputs = []
    for settings in SETTINGS:
        given = [f"{key}={value}" for key, value in settings.items()]
        command = ["simulate", problem, name, *given, "eta=0.05", "rounds=2", "seeds=2", "M=4"]
        done = CliRunner().invoke(app, command)
        outputs.append(done.output)
        if done.exit_code == 0:
            break
    else:
        raise AssertionError(outputs)
    assert "F gap" in done.output


def test_every_statement_is_there() -> None:
    ids = re.findall(r"`((?:sfl|fedcom|fedbcgd|fedbat)\.[\w.]+)`", TEXT)
    assert len(ids) > 30 and all(catalogue.find(id_) for id_ in ids)


@pytest.mark.parametrize("name", ON_ANY)
def test_what_is_sent_is_what_the_code_counts(name: str) -> None:
    algorithm, sends = built(registry()[name]), ROWS[name][1]
    up, down = algorithm.uplink_bits(PROBLEM), algorithm.downlink_bits(PROBLEM)
    for told, bits in zip(sends.split(","), (up, down), strict=False):
        if number := re.fullmatch(r"\s*([\d.]+) d", told):
            assert float(number[1]) * FLOAT * PROBLEM.d == bits
    if sends.startswith("a bit"):
        assert up < FLOAT * PROBLEM.d / 4  # a bit each, and a number for each block


@pytest.mark.parametrize("name", ON_ANY)
def test_which_have_exact_expectations(name: str) -> None:
    build, told = registry()[name], ROWS[name][3]
    if told == "yes":
        assert has_expectation(PROBLEM, built(build), 3)
    elif told == "no":
        assert not has_expectation(PROBLEM, built(build), 3)
    elif told == "with random masks":
        assert has_expectation(PROBLEM, replace(built(build), compressor=Bernoulli(0.5)), 3)
        assert not has_expectation(PROBLEM, replace(built(build), compressor=TopK(1)), 3)
