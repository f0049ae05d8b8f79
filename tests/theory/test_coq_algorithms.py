"""Theorems about algorithms in Coq: what they rest on, that they have the catalogue's constants, and what is refused."""

import re

import pytest
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import algorithms
from fedtheory.theory.statement import Bound
from tests.theory.coq_files import AXIOMS, TEXTS, WHY, compiled_again, needs_coq, prepared

folder = pytest.fixture(scope="module")(prepared)


def test_the_bounds_are_those_of_the_catalogue():
    assert {file.stem for file in algorithms.BOUNDS.parent.glob("*.v")} == set(TEXTS)
    assert TEXTS["bounds"] == algorithms.bounds() and TEXTS["printed"] == algorithms.printed()
    for id_, theorem in algorithms.THEOREMS.items():
        file, name = theorem.split(".")
        bound = id_.removeprefix("sfl.").replace(".", "_")
        _, stated = TEXTS[file].split(f"Theorem {name} :")
        stated = stated.split("Proof.")[0]
        assert f"{bound}_when D " in stated and re.search(rf"<= {bound} D [^.]*\.\s*$", stated)
        assert id_ in TEXTS[file].split("*)")[0]


@pytest.mark.parametrize("id_", [*algorithms.THEOREMS, *algorithms.REFUTED])
def test_a_changed_statement_has_another_bound(monkeypatch, id_):
    find, statement = catalogue.find, catalogue.find(id_)
    assert isinstance(statement.claim, Bound)
    other = statement.with_claim(statement.claim.scaled(Rational(9, 10)))
    monkeypatch.setattr(catalogue, "find", lambda one: other if one == id_ else find(one))
    assert (algorithms.bounds() != TEXTS["bounds"]) == (id_ in algorithms.THEOREMS)
    assert (algorithms.printed() != TEXTS["printed"]) == (id_ in algorithms.REFUTED)


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("theorem", [*algorithms.THEOREMS.values(), *algorithms.REFUTED.values()])
def test_they_rest_on_the_axioms_of_the_real_numbers_only(folder, theorem):
    found = algorithms.assumptions(theorem, folder)
    assert found <= AXIOMS and (found == AXIOMS or theorem in algorithms.REFUTED.values())


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("theorem", [*algorithms.DRIFT.values(), "drift.needed"])
def test_drift_rests_on_axioms_of_the_real_numbers_only(folder, theorem):
    assert algorithms.assumptions(theorem, folder) < AXIOMS


# file, part of it, instead; for bounds.v, the files that are compiled again after it
CHANGED = {
    "noise of PFL": ("bounds", "(2 * K * M))\n  + (61", "(20 / 9 * K * M))\n  + (61", ("pfl",)),
    "noise drift of PFL": ("bounds", "(61 * L * sigma ^ 2", "(54 * L * sigma ^ 2", ("pfl",)),
    "heterogeneity of PFL": ("bounds", "/ 354)", "/ 394)", ("pfl",)),
    "step size of PFL": ("bounds", "1 / (6 * L).\n\n", "1 / (5 * L).\n\n", ("pfl",)),
    "decay of PFL": ("bounds", "(1 + R_) / 2) / 250)\n", "(1 + R_)) / 250)\n", ("pfl",)),
    "start of PFL, strongly convex": ("bounds", "(159 * mu", "(143 * mu", ("pfl",)),
    "noise drift of PFL, strongly convex": ("bounds", "(5 * L * sigma ^ 2", "(9 / 2 * L * sigma ^ 2", ("pfl",)),
    "heterogeneity of PFL, strongly convex": ("bounds", "/ 60)", "/ 67)", ("pfl",)),
    "weights of PFL": ("bounds", "(1 - mu * eta_tilde / 2) ^", "(1 - mu * eta_tilde) ^", ("pfl",)),
    "enough rounds of PFL": ("bounds", "1 / (mu * R_)", "1 / (2 * mu * R_)", ("pfl",)),
    "start of SFL, strongly convex": (
        "bounds",
        "thm1_strongly_convex_sharp (D K L M R_ eta_tilde mu sigma zeta_star : R) : R :=\n  (159 * mu",
        "thm1_strongly_convex_sharp (D K L M R_ eta_tilde mu sigma zeta_star : R) : R :=\n  (143 * mu",
        ("pfl", "sfl"),
    ),
    "noise of SFL, strongly convex": ("bounds", "(2 * K * M))\n  + (37", "(20 / 9 * K * M))\n  + (37", ("pfl", "sfl")),
    "heterogeneity of SFL, strongly convex": ("bounds", "(424 * M)", "(471 * M)", ("pfl", "sfl")),
    "weights of SFL": (
        "bounds",
        "thm1_strongly_convex_sharp_weight (eta_tilde mu : R) (whole_r : nat) : R :=\n  (/ (1 - mu * eta_tilde / 2)",
        "thm1_strongly_convex_sharp_weight (eta_tilde mu : R) (whole_r : nat) : R :=\n  (/ (1 - mu * eta_tilde)",
        ("pfl", "sfl"),
    ),
    "number of drift": ("drift", "sum n (fun t => (((1 + eta * L) ^ t - 1) / L) ^ 2).",
                        "sum n (fun t => 99 / 100 * (((1 + eta * L) ^ t - 1) / L) ^ 2).", ()),
    "one step less of drift": ("drift", "<= drift L eta (M * K) *", "<= drift L eta (M * K - 1) *", ()),
    "smoothness of drift": ("drift", "<= L ^ 2 * sq (sub a b).", "<= (2 * L) ^ 2 * sq (sub a b).", ()),
    "needed drift": ("drift", "= (((1 + eta * L) ^ t - 1) / L) ^ 2 * sq v.",
                     "= 101 / 100 * (((1 + eta * L) ^ t - 1) / L) ^ 2 * sq v.", ()),
    "order of drift": ("drift", "E (permutation M) (fun pi =>\n", "E (ret (seq 0 M)) (fun pi =>\n", ()),
    "strong convexity of SFL": ("sfl", "tangent (F m) (gradF m) mu) ->", "tangent (F m) (gradF m) 0) ->", ()),
    "strong convexity of PFL": ("pfl", "tangent (F m) (gradF m) mu) ->", "tangent (F m) (gradF m) 0) ->", ()),
    "heterogeneity of SFL": ("bounds", "(209 * M)", "(232 * M)", ("pfl", "sfl")),
    "optimisation of both": (
        "bounds",
        "zeta_star : R) : R :=\n  (D ^ 2 / (2 *",
        "zeta_star : R) : R :=\n  (D ^ 2 / (20 / 9 *",
        ("pfl", "sfl"),
    ),
    "convexity": ("pfl", "tangent (F m) (gradF m) 0) ->", "tangent (F m) (gradF m) (-1)) ->", ()),
    "bias": ("steps", "ip gradient z) /\\", "ip gradient z + 1) /\\", ()),
    "one order for all rounds": ("sfl", "pi <- permutation M;", "pi <- ret (seq 0 M);", ()),
    "one noise for all clients": ("parallel", "independently (fun _ => zero) (fun m => loop zero (next m) K) M",
                                  "bind (loop zero (next 0%nat) K) (fun d => ret (fun _ => d))", ()),
}  # fmt: skip


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGED)
def test_another_theorem_is_refused(folder, tmp_path, change):
    says = compiled_again(folder, tmp_path, *CHANGED[change])
    assert WHY.search(says), says


def test_only_what_coq_has_accepted_is_said(monkeypatch):
    algorithms._current.cache_clear()
    all_ = algorithms.THEOREMS | algorithms.REFUTED
    assert {id_: algorithms.theorem_of(id_) for id_ in all_} == all_
    assert algorithms.theorem_of("sfl.thm1.general_convex") is None
    for name in ("digest", "bounds", "printed"):
        with monkeypatch.context() as changed:
            changed.setattr(algorithms, name, lambda: "other")
            algorithms._current.cache_clear()
            assert algorithms.theorem_of("sfl.thm2.general_convex.sharp") is None
    algorithms._current.cache_clear()
