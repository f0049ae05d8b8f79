"""The lines of a paper outside against the code of its algorithm."""

from __future__ import annotations

from functools import partial

import pytest

from fedtheory.bounds.trials.listings import round_or_lines
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.theory.listing import Expression, Gradient, Line, Listing, Total, Variable, let, loop, names
from fedtheory.theory.statement import Statement, Status

_r, _i, _k, _eta, _K, _M, _R = names("r i k eta K M R")
_x, _y, _c = Variable("x", "x^({0})"), Variable("y", "y_{client}^({0},{1})", client=_i), Variable("c", "c^({0})")
_g = Gradient(_i, _y[_r, _k], _k, "g_i")


def local_steps(step: Expression) -> Statement:
    lines = (
        Line(1, 0, loop(_r, 0, _R - 1)),
        Line(2, 1, loop(_i, 1, _M, parallel=True)),
        Line(3, 2, let(_y[_r, 0], _x[_r])),
        Line(4, 2, loop(_k, 0, _K - 1)),
        Line(5, 3, let(_y[_r, _k + 1], step)),
        Line(6, 1, let(_x[_r + 1], 1 / _M * Total(_i, _M, _y[_r, _K]))),
    )
    return Statement("mine.alg1", "algorithm", "Algorithm 1", Listing(lines))


@pytest.mark.parametrize(
    ("step", "algorithms", "status", "says"),
    [
        (_y[_r, _k] - _eta * _g, {"PFL": PFL}, Status.TESTED, "make the models of PFL"),
        (_y[_r, _k] - _eta * _g, {"PFL": partial(PFL, K=3)}, Status.TESTED, "make the models of PFL"),
        (_y[_r, _k] - _eta * _g, {"SCAFFOLD": SCAFFOLD, "PFL": PFL}, Status.TESTED, "make the models of PFL"),
        (_y[_r, _k] + _eta * _g, {"PFL": PFL}, Status.ERROR, "mine.alg1: after round 1 the lines have x = "),
        (_y[_r, _k] - _eta * _c[_r], {"PFL": PFL}, Status.OPEN, "line 5: c^(0) has no value"),
        (_y[_r, _k] - _eta * _g, {}, Status.OPEN, "no algorithm"),
    ],
)
def test_lines_against_code(step, algorithms, status, says) -> None:
    found = round_or_lines(local_steps(step), False, algorithms=algorithms)
    assert found.status is status and says in found.says
