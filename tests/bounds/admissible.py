"""Random admissible parameters of any bound, for hypothesis, and how to search with it."""

from __future__ import annotations

from math import ceil
from typing import Any

from hypothesis import HealthCheck, Phase, settings, strategies as st

from fedtheory.bounds.evaluation import compiled, parameters
from fedtheory.bounds.tuning import admissible_interval
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

BOUNDS = [s.id for s in catalogue.statements() if isinstance(s.claim, Bound)]
TUNABLE = [id_ for id_ in BOUNDS if {"eta_tilde", "R"} <= {s.name for s in parameters(catalogue.find(id_))}]

# The same examples every time, pushed towards the target, none remembered
SEARCH = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.target],
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
_amounts = st.one_of(st.just(0.0), st.floats(1e-2, 1e2))
_fractions = st.floats(0.01, 0.95)


def _counts(draw: st.DrawFn) -> dict[str, int]:
    M = draw(st.integers(2, 40))
    S = draw(st.integers(1, M))
    K = draw(st.integers(1, 40))
    n = draw(st.integers(2, 40))
    return {
        "M": M,
        "S": S,
        "K": K,
        "m": draw(st.integers(1, S)),
        "k": draw(st.integers(0, K - 1)),
        "n": n,
        "s": draw(st.integers(1, n)),
        "T": draw(st.integers(1, 400)),
        "tau": draw(st.integers(1, 10)),
    }


@st.composite
def others(draw: st.DrawFn, id_: str) -> dict[str, float]:
    """All parameters but the step size, such that some step size is admissible."""
    statement = compiled(id_)
    names = [s.name for s in statement.parameters if s.name != _step(id_)]
    values: dict[str, Any] = {}
    counts = _counts(draw)
    relations = [c.relation for c in catalogue.find(id_).when]
    if any(
        r.rel_op == "==" and {str(side) for side in r.args} == {"S", "M"} for r in relations
    ):  # all clients take part
        counts["S"] = counts["M"]
    asked = {r.lhs for r in relations if r.rel_op == ">" and r.rhs == 0}  # symbols that a condition asks to be positive
    for s in statement.parameters:
        if s.name in counts:
            values[s.name] = counts[s.name]
        elif s.name in names and s.name != "R":
            positive = s.sympy.is_positive or s.sympy in asked
            values[s.name] = draw(st.floats(1e-2, 1e2) if positive else _amounts)
    if "mu" in values and "L" in values:
        values["mu"] = values["L"] * draw(_fractions)
    if "kappa" in values:
        values["kappa"] = 1 / draw(_fractions)
    if "a" in values:
        values["a"] = values.get("d", 1.0) * draw(_fractions)
    if id_.startswith("fedbcgd."):
        _blocks(draw, id_, values)
    if id_.startswith("fedbat."):
        _binarised(draw, id_, values)
    if id_ == "sfl.lemma7.tuning":
        values["c"] = draw(st.floats(1e-2, 1e2))
    if id_.startswith(("sfl.lemma7.eq38", "sfl.lemma7.eq39.")):  # their condition on T leaves a step size
        values["T"] = ceil(values.get("d", 1.0) / values["a"]) + counts["T"]
    if id_ == "sfl.lemma7.eq39.cubic":
        values["c1"] = draw(st.floats(1e-2, 1e2))
    if "R" in names:
        least = ceil(6 * values["L"] / values["mu"]) + 1 if {"mu", "L"} <= set(values) else 1
        if id_.startswith("fedbcgd.") and {"mu", "beta"} <= set(values):  # a linear rate: K/(4M), mu/(72 alpha beta)
            slowest = values.get("alpha", 1.0) * values["beta"] / values["mu"] + values["M"] / values["K"]
            least = ceil(200 * slowest)
        values["R"] = least + draw(st.integers(0, 500))
    return values


def _blocks(draw: st.DrawFn, id_: str, values: dict[str, Any]) -> None:
    """N K of M clients, momentum, and what the assumptions of the FedBCGD paper imply."""
    least = [c.relation.rhs for c in catalogue.find(id_).when if str(c.relation).startswith("M >= ")]
    counts = {"M": draw(st.integers(max([2, *map(int, least)]), 40))}
    counts["N"] = draw(st.integers(1, counts["M"]))
    counts["K"] = draw(st.integers(1, counts["M"] // counts["N"]))
    counts["S"] = counts["N"] * counts["K"]
    lam = draw(st.sampled_from((0.0, 0.3, 0.5, 0.9)))
    if id_ == "fedbcgd.thm1.step48.exact":
        values["sigma"] = 0.0
    momentum = {"lam": lam, "alpha": 1 / (1 - lam), "gamma": lam / (1 - lam)}
    values |= {name: value for name, value in (counts | momentum).items() if name in values}
    if {"mu", "beta"} <= set(values):
        values["mu"] = values["beta"] * draw(_fractions)
    if {"grad_sq_x", "mean_grad_sq"} <= set(values):
        values["grad_sq_x"] = values["mean_grad_sq"] * draw(_fractions)
    if id_ in ("fedbcgd.lemma17", "fedbcgd.lemma17.proof"):
        values["a"] = draw(st.floats(0.5, 1.0))
    if "eta" in values and "beta" in values and "T" in values:
        values["eta"] = draw(_fractions) / (2 * values["beta"] * values["T"])


def _binarised(draw: st.DrawFn, id_: str, values: dict[str, Any]) -> None:
    """K of N clients and their shares, the learning rates of a round, and what symbols of the FedBAT paper imply."""
    N, t, d = draw(st.integers(2, 40)), draw(st.integers(1, 400)), draw(st.integers(2, 40))
    counts = {"N": N, "K": draw(st.integers(1, N)), "t": t, "t_0": draw(st.integers(0, t)), "d": d}
    amounts = {"p_sq": 1 / N + (1 - 1 / N) * draw(_fractions)}
    if "L" in values:
        amounts["eta_t"] = draw(_fractions) / (4 * values["L"])
    elif "eta_t" in values:
        amounts["eta_t"] = values["eta_t"]
    if "eta_t" in amounts:
        constant = id_ in ("fedbat.lemma6", "fedbat.eq62", "fedbat.eq64")  # as they print it
        amounts["eta_later"] = amounts["eta_t"] * (1 if constant else 0.5 + 0.5 * draw(_fractions))
        amounts["eta_start"] = amounts["eta_t"] * (1 + draw(_fractions))
    if "Delta_t" in values and "v" in values:
        amounts["Delta_t"] = values["v"] / (t + values["gamma"]) * draw(_fractions)
    if "alpha" in values:
        values["alpha"] = draw(st.floats(1e-2, 1e2))
    for inside, within in (("x", "alpha"), ("m_i", "m_norm")):
        if inside in values:
            amounts[inside] = values[within] * (2 * draw(_fractions) - 1)
    if "x_max" in values:
        amounts["x_sq"] = values["x_max"] ** 2 * (1 + (d - 1) * draw(_fractions))
    values |= {name: value for name, value in (counts | amounts).items() if name in values}


@st.composite
def admissible(draw: st.DrawFn, id_: str) -> dict[str, float]:
    """All parameters, the step size inside its interval."""
    values: dict[str, float] = draw(others(id_))
    step = _step(id_)
    if step:
        low, high = admissible_interval(id_, step, **values)
        top = high if high != float("inf") else 1.0
        values[step] = max(low, top * draw(st.floats(1e-3, 1.0)))
    return values


def _step(id_: str) -> str:
    """The bound's step size: the first that it has, and is not about; the others are parameters like any."""
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Bound)
    about = str(statement.claim.quantity)  # of lemma7.tuning, which is about a step size
    names = {s.name for s in compiled(id_).parameters} - {about}
    return next((name for name in catalogue.paper(statement.paper).step_sizes if name in names), "")
