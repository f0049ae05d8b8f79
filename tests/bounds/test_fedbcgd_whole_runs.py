"""The bounds on whole runs of FedBCGD and SFL, and what they need: independent clients, samples, what a run begins with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Rational

import fedtheory.bounds.sfl.whole_runs as of_sfl
from fedtheory.bounds.fedbcgd import whole_runs
from fedtheory.theory import catalogue
from fedtheory.theory.readings import judge
from fedtheory.theory.statement import Bound, Statement, Status

STEP66 = "fedbcgd.thm1.step66"
AT_REST, CONTROLLED, INDEPENDENT = (f"fedbcgd.{n}" for n in ("alg1.initial", "alg3.initial", "assumption3.independent"))


def without(statement: Statement, assumption: str) -> Statement:
    assert assumption in statement.assumes
    return replace(statement, assumes=tuple(a for a in statement.assumes if a != assumption))


EVIDENCE = {e.statement: e for e in (*whole_runs.evidence(), *of_sfl.evidence())}
# What a run violates, of FedBCGD, FedBCGD+ and SFL, PFL
NEEDED = (AT_REST, CONTROLLED, INDEPENDENT, "fedbcgd.assumption3", "sfl.asm.unbiased", "sfl.asm.independent")
NEEDS = [
    (id_, a)
    for id_ in EVIDENCE
    for a in NEEDED
    if a in catalogue.find(id_).assumes and not (".thm2." in id_ and a == "fedbcgd.assumption3")
]


def test_every_form_of_a_bound_on_whole_runs_is_checked() -> None:
    corrected = [
        s.id for s in catalogue.statements("fedbcgd") if s.kind == "theorem" and ".main." not in s.id and s.ours
    ]
    assert {*corrected, STEP66} == {id_ for id_ in EVIDENCE if id_.startswith("fedbcgd.")}
    bounds = [s for s in catalogue.statements("sfl") if isinstance(s.claim, Bound)]
    assert {s.id for s in bounds if s.kind in ("theorem", "bound")} == {
        id_ for id_ in EVIDENCE if id_.startswith("sfl.")
    }


@pytest.mark.dear
@pytest.mark.parametrize("id_", [id_ for id_ in EVIDENCE if id_ != STEP66])
def test_the_bounds_pass_and_smaller_ones_do_not(id_: str) -> None:
    statement, check = catalogue.find(id_), EVIDENCE[id_].check
    found = judge(EVIDENCE[id_], statement)
    assert found.status is Status.TESTED and found.slack is not None and found.slack >= 1
    assert found.added == ()
    assert isinstance(statement.claim, Bound)
    smaller = statement.with_claim(statement.claim.scaled(Rational(str(round(0.999 / found.slack, 9)))))
    assert check(smaller, False).status is Status.REFUTED


@pytest.mark.dear
@pytest.mark.parametrize(("id_", "assumption"), NEEDS)
def test_each_of_them_is_needed(id_: str, assumption: str) -> None:
    found = EVIDENCE[id_].check(without(catalogue.find(id_), assumption), False)
    assert found.status is Status.REFUTED and float(found.witness["left"]) > float(found.witness["right"])


@pytest.mark.dear
@pytest.mark.parametrize("id_", EVIDENCE)
def test_a_law_of_the_sample_is_needed(id_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Algorithm 1 nothing is said about the sample or the order; all clients of PFL, or of Theorem 2, need none."""
    paper = catalogue.paper(id_.partition(".")[0])
    monkeypatch.setattr(paper, "background", tuple(s for s in paper.background if not s.id.endswith(".alg1")))
    found = EVIDENCE[id_].check(catalogue.find(id_), False)
    if id_ == "sfl.thm1.general_convex.sharp":
        assert found.witness["what"] == "always the order 1, ..., 10" and found.witness["R"] == "400"
    everyone = id_.startswith(("sfl.thm2", "fedbcgd.thm2"))
    assert (found.status is Status.REFUTED) is not everyone


def test_step66_is_false_however_its_condition_is_read() -> None:
    """Its proof wants a coefficient that is at most alpha eta T/4, but uses that it is at least this."""
    found = judge(EVIDENCE[STEP66], catalogue.find(STEP66))
    assert found.status is Status.REFUTED and found.witness["what"] == "fifty clients, alpha = 20"
    (fifty,) = (start for start in whole_runs.STARTS if start.says == found.witness["what"])
    for start, at_least in ((fifty, True), (replace(fifty, clients=1, sampled=1), False)):
        at = whole_runs.symbols(catalogue.find(STEP66), start)
        M, K, eta, small, gamma = (at[name] for name in ("M", "K", "eta", "eta_tilde", "gamma"))
        C_1 = 16 * small**3 * gamma**2 + 8 * small**2  # (64), a = 1/4, T = beta = 1
        by_61 = C_1 / K * (1 - Rational(K, M))  # (65); (66) drops the last factor
        rest = 2 * small - 12 * eta**2 * (2 * small + 3 * by_61)
        assert rest - by_61 >= small and bool(rest - C_1 / K >= small) is at_least
        assert at["avg_grad_sq_later"] > at["d0"] / (at["R"] * small)  # G = sigma = 0
