"""The bounds on whole runs of FedBCGD and SFL, and what they need: independent clients, samples, what a run begins with."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from sympy import Rational

import fedtheory.bounds.sfl.whole_runs as of_sfl
from fedtheory.bounds.fedbcgd import whole_runs
from fedtheory.bounds.fedbcgd.whole_runs import STARTS, starts, symbols
from fedtheory.bounds.trials import independence
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks import counterexamples, ledgers
from fedtheory.theory.proofs import units
from fedtheory.theory.proofs.mutation import mutations
from fedtheory.theory.properties import Property
from fedtheory.theory.readings import judge
from fedtheory.theory.statement import Bound, Relations, Statement, Status

AT_REST, CONTROLLED, INDEPENDENT = (f"fedbcgd.{n}" for n in ("alg1.initial", "alg3.initial", "assumption3.independent"))


def find(name: str) -> Statement:
    return catalogue.find(f"fedbcgd.{name}")


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
    assert {*corrected, "fedbcgd.thm1.step66"} == {id_ for id_ in EVIDENCE if id_.startswith("fedbcgd.")}
    bounds = [s for s in catalogue.statements("sfl") if isinstance(s.claim, Bound)]
    assert {s.id for s in bounds if s.kind in ("theorem", "bound")} == {
        id_ for id_ in EVIDENCE if id_.startswith("sfl.")
    }


@pytest.mark.parametrize("id_", EVIDENCE)
def test_the_bounds_pass_and_smaller_ones_do_not(id_: str) -> None:
    statement, check = catalogue.find(id_), EVIDENCE[id_].check
    found = judge(EVIDENCE[id_], statement)
    assert found.status is Status.TESTED and found.slack is not None and found.slack >= 1
    assert found.added == ((INDEPENDENT, AT_REST) if id_ == "fedbcgd.thm1.step66" else ())
    assert isinstance(statement.claim, Bound)
    smaller = statement.with_claim(statement.claim.scaled(Rational(str(round(0.999 / found.slack, 9)))))
    assert check(smaller, False).status is Status.REFUTED


@pytest.mark.parametrize(("id_", "assumption"), NEEDS)
def test_each_of_them_is_needed(id_: str, assumption: str) -> None:
    found = EVIDENCE[id_].check(without(catalogue.find(id_), assumption), False)
    assert found.status is Status.REFUTED and float(found.witness["left"]) > float(found.witness["right"])


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


def test_what_is_listed_where() -> None:
    own = [s for s in catalogue.statements("fedbcgd") if s.corrects]
    theorems = [s for s in own if s.id.endswith(".corrected") and s.kind == "theorem"]
    assert theorems and all(AT_REST in s.assumes for s in theorems)
    plus = [s for s in theorems if ".thm2." in s.id]
    assert plus and all(CONTROLLED in s.assumes for s in plus)
    noisy = [s for s in theorems if ".thm1." in s.id]
    assert noisy and all(INDEPENDENT in s.assumes for s in noisy)
    assert set(find("alg3.corrected").assumes) == {AT_REST, CONTROLLED}


@pytest.mark.parametrize("name", ["thm1.general_convex.sharp", "thm2.general_convex.sharp", "eq73.sharp"])
def test_the_best_constant_of_the_distance(name: str) -> None:
    """D^2/(2 eta_tilde (R + 1)): on the slope of a Huber function only its 1/2 is not too small."""
    statement = catalogue.find(f"sfl.{name}")
    assert isinstance(statement.claim, Bound)
    smaller = statement.with_claim(statement.claim.scaled(Rational(99, 100), "optimisation"))
    assert EVIDENCE[statement.id].check(smaller, False).witness["what"] == "Huber functions"


def test_a_common_sample_by_exact_moments() -> None:
    """x^{r+1} = (1 - eta) x^r - eta xi, weights (1 - 2 eta_tilde)^-(r+1): the variance of the average, in floats."""
    eta_tilde = 1 / 1000
    eta, R = 4 * eta_tilde, 500
    w = (1 - 2 * eta_tilde) ** -(np.arange(R + 1) + 1.0)
    # x^r = -eta sum_s (1-eta)^(r-1-s) xi_s: what multiplies xi_s in the average
    lag = np.arange(R + 1)[:, None] - 1 - np.arange(R)[None, :]
    each = np.where(lag >= 0, (1 - eta) ** np.maximum(lag, 0), 0.0)
    variance = ((w @ each * eta / w.sum()) ** 2).sum()
    statement = find("thm1.strongly_convex.corrected")
    common = whole_runs.check(without(statement, INDEPENDENT)).witness
    assert float(common["left"]) == pytest.approx(variance / 2, rel=1e-9)
    assert float(common["right"]) == pytest.approx(16 * eta_tilde / 100 + 80 * eta_tilde**2, rel=1e-9)


def test_sampled_clients_by_all_outcomes() -> None:
    """Two rounds of two of four clients, three local steps each: every sample and every sign of every error."""
    start = next(s for s in STARTS if s.says == "two of four clients, eta_tilde = 1/32")
    eta = Fraction(1, 10)
    outcomes: Counter[tuple[Fraction, Fraction]] = Counter({(start.x, start.v): 1})
    errors: Counter[Fraction] = Counter()
    for slopes in combinations((2, 2, -2, -2), 2):
        for signs in product((-1, 1), repeat=6):
            ends = [Fraction(0), Fraction(0)]  # from x = 0; the step maps are affine, with one linear part
            for k, sign in enumerate(signs):
                ends[k % 2] -= eta * (ends[k % 2] + slopes[k % 2] + sign)
            errors[sum(ends) / 2] += 1
    for _ in range(2):
        after: Counter[tuple[Fraction, Fraction]] = Counter()
        for (x, v), ways in outcomes.items():
            for error, others in errors.items():
                w = Fraction(1, 2) * v + ((1 - eta) ** 3 - 1) * x + error
                after[x + w, w] += ways * others
        outcomes = after
    mean = sum(ways * x * x for (x, _), ways in outcomes.items()) / outcomes.total()
    assert mean == whole_runs._followed(start, eta, 2, Fraction(1))[-1].xx


def test_an_offset_stays() -> None:
    """c - c_i = 1 for good, so x^r tends to -1 and the gap to 1/2, from x^0 = x*, where every printed term is 0."""
    offset = next(s for s in STARTS if s.excluded_by == (Property.INITIAL_VARIATES,))
    statement = find("thm2.general_convex.corrected")
    x, eta = Fraction(0), Fraction(1, 36)
    for _ in range(250):
        x -= eta * (x + 1)
    assert abs(x + 1) < Fraction(1, 1000)
    known = symbols(statement, offset)
    assert (known["d0"], known["F"], known["C_0"]) == (0, 0, 0) and offset in starts(statement)


@pytest.mark.parametrize("id_", ["sfl.asm.independent", INDEPENDENT])
def test_independent_is_more_than_uncorrelated(id_: str) -> None:
    statement = catalogue.find(id_)
    found = independence.check(statement)
    assert found.status is Status.TESTED and found.says.endswith(
        "not by one sign for both, noise that is only uncorrelated"
    )
    assert isinstance(statement.claim, Relations)
    (relation,) = statement.claim.relations
    own, noise = (catalogue.symbols(statement)[name].sympy for name in ("own_m", "noise_j"))
    own, noise = (catalogue.symbols(statement)[name].sympy for name in ("own_m", "noise_j"))
    twice = Relations((relation.xreplace({noise: own}),))  # the noise of the client itself
    assert independence.check(statement.with_claim(twice)).status is Status.REFUTED


# --- readings and transcriptions -------------------------------------------------------------------------------------


def test_beta_is_printed_for_lambda() -> None:
    """(59) and (64) as printed add a number and beta; with lambda they are proved."""
    for name in ("thm1.step59", "thm1.step64"):
        printed, meant = find(name), find(f"{name}.momentum")
        assert isinstance(printed.claim, Bound) and isinstance(meant.claim, Bound)
        symbols_of = {s.name for s in printed.claim.value.free_symbols}
        assert "lam" not in symbols_of and "beta" in symbols_of
        assert units.check(printed).status is Status.REFUTED and units.check(meant).status is Status.PROVED
        (ledger,) = (e for e in ledgers.evidence() if e.statement == meant.id and e.kind == "repair")
        assert ledger.check(meant, False).status is Status.PROVED
        assert ledger.check(meant.with_claim(meant.claim.scaled(Fraction(1, 2))), False).status is Status.BROKEN


def test_theorem_2_case_3_starts_with_the_gradients() -> None:
    """The unseen client has c_i^0 = 0; with c_i^0 = grad f_i(x^0) the witness is outside, without it inside."""
    statement = find("thm2.nonconvex")
    assert counterexamples.unseen_client(statement).status is Status.OPEN
    assert counterexamples.unseen_client(without(statement, "fedbcgd.alg3.begun")).status is Status.REFUTED
    assert not [e for e in counterexamples.evidence() if e.statement == statement.id and e.kind == "counterexample"]


def test_an_exponent_is_a_definition() -> None:
    for name in ("thm2.strongly_convex.exponent", "thm2.strongly_convex.exponent.proof"):
        assert find(name).kind == "definition" and not catalogue.errata(f"fedbcgd.{name}")
        assert not [e for e in counterexamples.evidence() if e.statement == f"fedbcgd.{name}"]


def test_severities() -> None:
    """One symbol is a misprint, whatever becomes of the statement."""
    severities = {e.statement: e.severity for e in catalogue.paper("fedbcgd").errata}
    assert severities["fedbcgd.thm2.general_convex"] == severities["fedbcgd.lemma17"] == "misprint"
    assert severities["fedbcgd.thm2.nonconvex"] == "breaks the proof"


def test_sfl_runs_read_the_whole_left_side() -> None:
    statement = catalogue.find("sfl.thm2.nonconvex")
    changed = {c.what: c.statement for c in mutations(statement) if c.part in ("left side", "direction")}
    assert of_sfl.check(statement).status is Status.TESTED
    assert of_sfl.check(changed["1000 times the left side"]).status is Status.REFUTED
    with pytest.raises(ValueError, match="expected an upper bound"):
        of_sfl.check(changed[">= for <="])
