"""Statements that are false as printed, in Coq: what that rests on, that the bounds are printed ones, what is refused."""

import re

import pytest

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import algorithms
from tests.theory.coq_files import TEXTS, WHY, compiled_again, needs_coq, prepared

folder = pytest.fixture(scope="module")(prepared)


def bound(id_):
    """The name of a statement's bound in printed.v."""
    return id_.removeprefix("sfl.").replace(".", "_")


@pytest.mark.parametrize(("id_", "theorem"), algorithms.REFUTED.items())
def test_the_theorem_denies_the_printed_claim(id_, theorem):
    file, name = theorem.split(".")
    claim = f"{name.removesuffix('_refuted')}_of_the_paper"
    assert f"Theorem {name} : ~ {claim}.\n" in TEXTS[file]
    _, stated = TEXTS[file].split(f"Definition {claim} : Prop :=\n")
    stated = stated.split(".\n\n")[0]
    assert f"{bound(id_)}_when " in stated and re.search(rf"<= {bound(id_)} [^.]*$", stated)
    for definition in re.findall(rf"Definition ({bound(id_)}\w*) ", TEXTS["printed"]):
        assert f"{definition} " in stated
    assert not catalogue.find(id_).corrects


# the term of the corrected bound that the printed one does not have
_SAMPLING = "{} * L * eta_tilde * zeta ^ 2 * (M - S_) / (2 * S_ * (- 1 + M))"
_SFL, _PFL = "(27 * zeta ^ 2 * L ^ 2 * eta_tilde ^ 2 / (8 * S_))", "(9 * zeta ^ 2 * L ^ 2 * eta_tilde ^ 2 / 4)"


@pytest.mark.parametrize("id_", ["sfl.eq54.corrected", "sfl.eq80.corrected"])
def test_the_corrected_bound_has_the_term(id_):
    assert _SAMPLING.format(9) in algorithms._bound(id_)


_STEP, _AT = "2 * L * gamma * tau * (1 + q / m)", "(point eta (xs r) d c)"  # gamma = tau = m = 1 + q = phi = 1
_CLASS = "example.gradF 1 0 0 1 (1 / 2)"
# file, part of it, instead, the files that are compiled again after it
CHANGED = {
    "corrected (54)": ("printed", _SFL, f"{_SFL} + {_SAMPLING.format(9)}", ("sampled",)),
    "corrected (80)": ("printed", _PFL, f"{_PFL} + {_SAMPLING.format(9)}", ("sampled",)),
    "the same client always": ("sampled", "pi <- order S (seq 0 M);", "pi <- ret (seq 0 S);", ()),
    "both clients in a round": ("sampled", "pi <- order S (seq 0 M);", "pi <- ret (1 :: 0 :: nil)%nat;", ()),
    "another step size": ("sampled", "Definition eta := 1 / 60.", "Definition eta := 1 / 3.", ()),
    "less curvature than the functions have": ("sampled", _CLASS, "example.gradF (1 / 2) 0 0 1 (1 / 2)", ()),
    "less heterogeneity than they have": ("sampled", _CLASS, "example.gradF 1 0 0 (1 / 2) (1 / 2)", ()),
    "another start": ("sampled", "1 / 5", "1 / 20", ()),
    "damped tracking": ("gate", "scale (/ INR tau) (sub (Delta j)", "scale (/ (4 * INR tau)) (sub (Delta j)", ()),
    "one local step": ("gate", "eta gamma 2 2", "eta gamma 2 1", ()),
    "a mask that keeps more": ("gate", "(drop :: drop :: drop :: nil)", "(drop :: nil)", ()),
    "ten times the heterogeneity of (62)": ("printed", "(32 * fj_gap_mean", "(320 * fj_gap_mean", ("sampled", "gate")),
    "a larger step size": ("gate", "Definition eta := 1 / 16.", "Definition eta := 1 / 8.", ()),
    "a step size for the penalty": ("printed", f"(1 / ({_STEP}))", f"(1 / ({_STEP} + 2 * gamma))", ("sampled", "com")),
    "without the penalty": ("com", f"(add (gradf {_AT}) (scale phi {_AT}))", f"(gradf {_AT})", ()),
    "more curvature": ("com", "numbers) : R := w ^ 2 / 20.", "numbers) : R := w ^ 2 / 2.", ()),
}  # fmt: skip


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGED)
def test_another_theorem_is_refused(folder, tmp_path, change):
    says = compiled_again(folder, tmp_path, *CHANGED[change])
    assert WHY.search(says), says


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("term", [_SFL, _PFL])
def test_a_term_that_is_too_small_is_refuted_too(folder, tmp_path, term):
    """So the whole term is refused for its size."""
    assert not compiled_again(
        folder, tmp_path, "printed", term, f"{term} + 1 / 100 * {_SAMPLING.format(1)}", ("sampled",)
    )
