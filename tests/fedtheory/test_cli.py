"""The command line: what a newcomer types, what scripts read, what goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

from fedtheory import verification
from fedtheory.bounds.sfl import ARENAS
from fedtheory.pages import as_json, as_text
from fedtheory.simulate import Asked, simulate as simulated
from fedtheory.simulations import run
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.data import load, one_against_rest, scaled
from fedtheory.simulations.partitions import iid
from fedtheory.simulations.problems.logistic import lightly_regularised
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Evidence, Status, Verdict
from fedtheory.verification import Checked, verify

THEOREM = "sfl.thm1.strongly_convex"
VALUES = ["L=1", "mu=0.1", "sigma=1", "zeta_star=1", "D=1", "M=10", "K=5", "R=100"]
IDS = (Path(__file__).parents[1] / "data" / "sfl_ids.txt").read_text().split()


def test_list_json_has_every_id(call) -> None:
    status, out, _ = call("list", "--json")
    assert status == 0
    assert {s["id"] for s in json.loads(out)} >= set(IDS)
    status, out, _ = call("list", "--paper", "sfl")
    assert status == 0 and all(id_ in out for id_ in IDS)


def test_bound_json_has_value_terms_violations(call) -> None:
    status, out, _ = call("bound", THEOREM, *VALUES, "eta_tilde=0.1", "--json")
    result = json.loads(out)
    assert status == 0 and result["violations"] == []
    assert list(result["terms"]) == ["optimisation", "noise", "noise_drift", "heterogeneity"]
    assert result["value"] == pytest.approx(sum(result["terms"].values()))
    status, out, _ = call("bound", THEOREM, *VALUES, "eta_tilde=1/5", "--json")
    assert status == 0 and json.loads(out)["violations"] == ["eta_tilde <= 1/(6*L) is violated at L=1, eta_tilde=0.2"]
    status, out, _ = call("bound", THEOREM, *VALUES, "eta_tilde=0.5", "--lenient")
    assert status == 0 and "outside its conditions" in out


def test_bound_of_a_definition_and_of_a_condition(call) -> None:
    """A minimum is printed as a minimum; the sides of a condition add up to nothing."""
    symbols = ["M=51", "K=7", "N=2", "alpha=1", "beta=37.0047", "mu=0.134963"]
    status, out, _ = call("bound", "fedbcgd.thm2.strongly_convex.exponent", *symbols)
    rows = [line.split() for line in out.splitlines()]
    assert status == 0
    assert rows[1:] == [["clients", "0.242857"], ["condition", "2.25135e-05"], ["value", "2.25135e-05"]]
    _, out, _ = call("bound", "fedbcgd.thm2.strongly_convex.exponent", *symbols, "--json")
    assert json.loads(out)["value"] == pytest.approx(0.134963 / (162 * 37.0047))
    symbols = ["L=1", "eta=0.01", "gamma=1", "tau=2", "q=1"]
    status, out, _ = call("bound", "fedcom.cond61", *symbols)
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == ["term", "first", "second"]
    _, out, _ = call("bound", "fedcom.cond61", *symbols, "--json")
    assert json.loads(out)["value"] is None and list(json.loads(out)["terms"]) == ["first", "second"]


@pytest.mark.dear
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "sfl.thm1.strongly_konvex"], "did you mean sfl.thm1.strongly_convex"),
        (["show"], "Missing argument"),
        (["bogus"], "No such command"),
        (["list", "--paper", "sft"], "unknown paper 'sft'"),
        (["bound", THEOREM, "L=one"], "L=one: expected a number"),
        (["bound", THEOREM, "L"], "'L' is no parameter: expected name=value"),
        (["bound", THEOREM, "L=1", "L=2"], "L is given twice"),
        (["tune", "fedcom.cond61", "L=1", "gamma=1", "tau=2", "q=1"], "is a definition: expected a bound"),
        (
            ["sharpen", "sfl.lemma4"],
            "sfl.lemma4: no proof of a sharper form has free choices; expected a theorem such as",
        ),
        (["sharpen", THEOREM, "--span", "0"], "--span 0: expected a number from 1/1000 to 1000"),
        (["sharpen", THEOREM, "--span", "1/0"], "--span 1/0: expected a number > 0, such as 2 or 1/2"),
        (["sharpen", "sfl.thm1.general_convex", "--span", "9"], "no choices prove it for step sizes up to 9 times the"),
        (["sharpen", "sfl.thm1.general_convex", "--trade-off", "x.eps"], "x.eps"),
        (["tight", "sfl.lemma6", "M=x"], "M=x: expected NAME=VALUE with a fraction"),
        (["tight", "fedcom.thmD4", "m=2"], "fedcom.thmD4: expected one of fedcom.lemmaD1, fedcom.lemmaD1.proof"),
        (
            ["compare", THEOREM, "sfl.thm2.strongly_convex", *VALUES, "--over", "L=1..2"],
            "parameter L is given twice: expected it once",
        ),
        (["figures", "sfl_fig2"], "unknown figure"),
        (["verify", "sfl.eq12", "--paper", "sfl"], "ids and --paper: expected one of them"),
        (["simulate", "quadratic", "SFL"], "eta is missing"),
        (["simulate", "quadratic", "FedAvq", "eta=0.1"], "unknown algorithm 'FedAvq'; did you mean FedAvg"),
        (["simulate", "quadratic", "SFL", "eta=0.1", "S=11"], "expected S <= M"),
        (["simulate", "digits", "SFL", "eta=0.1", "partition=odd"], "unknown partition 'odd'"),
        (["simulate", "quadratic", "SFL", "eta=0.1", "gamma=1"], "unknown parameter gamma"),
        (["simulate", "digits", "FedBCGD", "eta=0.1", "loss=sigmod"], "did you mean sigmoid"),
        (["simulate", "digits", "FedBCGD", "eta=0.1", "loss=sigmoid"], "digits has 10 classes; expected label=CLASS"),
        (["simulate", "digits", "FedBCGD", "eta=0.1", "label=10"], "label = 10: expected a class of digits"),
        (["simulate", "digits", "FedBCGD", "eta=0.1", "regularisation=L"], "regularisation=: expected a number"),
        (["simulate", "quadratic", "FedAvg", "eta=0.1", "weights=sizes"], "unknown parameter weights"),
        (["simulate", "quadratic", "FedBAT", "eta=0.1", "gamma=0"], "gamma = 0.0: expected a finite number > 0"),
        (["verify", "fedbcgd.lemma1", "--data", "digits"], "no bound on runs of an algorithm on data"),
        (["verify", THEOREM, "--data", "no_such_file"], "no_such_file"),
        (["verify", THEOREM, "--data", "digits", "--mutate"], "--data and --mutate: expected one of them"),
        (["train", "y" * 300], "File name too long; expected a path that can be read or written"),
        (
            ["train", "sfl.table3", "--data", "generated", "--resume", "--runs", "y" * 300],
            "File name too long; expected a path",
        ),
    ],
)
def test_bad_usage_is_one_line_and_status_2(call, arguments, said) -> None:
    status, out, err = call(*arguments)
    assert status == 2
    assert out == ""
    assert said in err and err.startswith("fedtheory: ") and err.count("\n") == 1


@pytest.mark.parametrize("id_", IDS)
def test_every_statement_is_shown(id_: str) -> None:
    statement = catalogue.find(id_)
    text = as_text(statement)
    assert text.startswith(id_) and statement.place in text
    assert all(other in text for other in (*statement.assumes, *statement.rests_on, *catalogue.used_by(id_)))
    json.dumps(as_json(statement), allow_nan=False)


def test_show_latex(call) -> None:
    status, out, _ = call("show", THEOREM, "--latex")
    assert status == 0 and r"\tilde\eta" in out and r"\frac" in out
    status, _, err = call("show", "sfl.alg1", "--latex")
    assert status == 2 and "has no formula" in err


def test_tune_and_rounds(call) -> None:
    status, out, _ = call("tune", THEOREM, *VALUES, "--json")
    tuned = json.loads(out)
    assert status == 0
    low, high = tuned["interval"]
    assert low <= tuned["step_size"]["eta_tilde"] <= high
    assert tuned["value"] <= tuned["closed_form"]["value"]
    rest = [v for v in VALUES if not v.startswith("R=")]
    status, out, _ = call("tune", THEOREM, *rest, "--epsilon", "0.05", "--json")
    R = json.loads(out)["R"]
    values = [json.loads(call("tune", THEOREM, *rest, f"R={r}", "--json")[1])["value"] for r in (R - 1, R)]
    assert values[0] > 0.05 >= values[1]
    assert call("tune", THEOREM, *VALUES)[0] == 0


def test_sharpen_optimises_proves_and_draws(call, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("fedtheory.bounds.sharpening.SPANS", (sympy.Rational(1, 2), sympy.Integer(1), sympy.Integer(9)))
    file = tmp_path / "range.svg"
    status, out, _ = call("sharpen", "sfl.thm2.general_convex", "--span", "0.5", "--json", "--trade-off", str(file))
    found = json.loads(out)
    assert status == 0 and found["sharpens"] == "sfl.thm2.general_convex"
    assert found["when"] == ["eta_tilde <= 1/(12*L)"] and [v["status"] for v in found["verdicts"]] == [
        "proved",
        "proved",
    ]
    assert (
        found["runs"]["status"] == "tested" and found["times_smaller"]["optimisation"]["sfl.thm2.general_convex"] > 5.9
    )
    drawn = Path(f"{file}.csv").read_text().splitlines()
    assert file.exists() and len(drawn) == 1 + 2 * 4  # no choices for a span of 9
    status, out, _ = call("sharpen", "sfl.thm2.general_convex.sharp")
    assert status == 0 and "eta_tilde <= 1/(6*L)" in out and out.count("\nproved: ") == 2


def test_verify_tells_witness_and_status(call) -> None:
    status, out, _ = call("verify", "sfl.lemma4.sum", "sfl.lemma4", "--json")
    found = {c["id"]: c for c in json.loads(out)}
    assert status == 0
    (refuted,) = [e for e in found["sfl.lemma4.sum"]["evidence"] if e["kind"] == "enumeration"]
    assert refuted["verdict"] == "refuted" and refuted["witness"]["enumerated"] != refuted["witness"]["printed"]
    assert found["sfl.lemma4"]["verdict"] == "proved"
    assert call("verify", "sfl.lemma4.sum", "--expect-clean")[0] == 1
    assert call("verify", "sfl.lemma4", "--expect-clean")[0] == 0


def strict(text: str) -> Any:
    """JSON as its standard has it, which knows no NaN and no infinity."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_stays_json_whatever_the_numbers(call, monkeypatch) -> None:
    """Infinity and what is no number, in a slack, in a witness and deep inside one, are told as texts."""
    item = Evidence("sfl.lemma4", "enumeration", lambda statement, full: Verdict(Status.OPEN, ""))
    witness = {
        "left": float("inf"),
        "right": np.float64("-inf"),
        "ratio": np.nan,
        "among": ({"deep": [1.5, np.float32("inf")]}, 2),
        "count": np.int64(3),
        "exact": sympy.Rational(1, 3),
        0.5: True,
    }
    found = Checked(catalogue.find("sfl.lemma4"), ((item, Verdict(Status.REFUTED, "tried", np.inf, witness)),))
    monkeypatch.setattr("fedtheory.verification.verify", lambda *_: [found])
    status, out, err = call("verify", "sfl.eq14", "--json")
    assert status == 0 and err == ""
    (told,) = strict(out)
    assert told["slack"] == told["evidence"][0]["slack"] == "inf" and told["verdict"] == "refuted"
    assert told["evidence"][0]["witness"] == {
        "left": "inf",
        "right": "-inf",
        "ratio": "nan",
        "among": [{"deep": [1.5, "inf"]}, 2],
        "count": 3,
        "exact": "1/3",
        "0.5": True,
    }


def test_json_of_numbers_beyond_all_floats(call) -> None:
    """A bound where it divides by zero, and a step size that nothing limits."""
    status, out, _ = call("bound", "sfl.eq46", "L=1", "sigma=1", "zeta_star=1", "D=1", "M=1", "S=2", "K=5", "R=9",
                          "eta_tilde=0.1", "--json")  # fmt: skip
    found = strict(out)
    assert status == 0 and "inf" in str(found["value"]) and found["violations"]
    status, out, _ = call("tune", "sfl.step.eq51", "K=2", "S=2", "L=1", "local_grad_sq=1", "sigma=1", "--json")
    assert status == 0 and strict(out)["interval"][1] == "inf"


def test_verify_shows_that_evidence_can_fail(call) -> None:
    status, out, _ = call("verify", "sfl.eq14", "--mutate", "--json")
    (found,) = json.loads(out)
    assert status == 0 and found["evidence"] and all(e["seen_to_fail"] for e in found["evidence"])
    assert "seen to fail: " in call("verify", "sfl.eq14", "--mutate")[1]
    assert "seen_to_fail" not in call("verify", "sfl.eq14", "--json")[1]


def test_simulate_writes_what_it_says(call, tmp_path) -> None:
    target = tmp_path / "run.csv"
    arguments = ["sfl.quad.table2.g2", "SFL", "K=2", "eta=0.1,5", "rounds=400", "seeds=3", "x0=10"]
    status, out, _ = call("simulate", *arguments, "--out", str(target))
    assert status == 0 and "3 of 3" in out  # the large step size diverges, and is told so
    header = target.read_text().splitlines()[0].split(",")
    assert {"step_size", "seed", "round", "gap", "status", "diverged_at"} <= set(header)
    status, out, _ = call("simulate", *arguments, "--json")
    rows = json.loads(out)["summary"]
    assert {row["diverged"] for row in rows if row["eta"] == 5} == {3}
    assert {row["diverged"] for row in rows if row["eta"] == 0.1} == {0}
    status, out, _ = call(
        "simulate", "breast_cancer", "PFL", "eta=0.5", "K=2", "rounds=5", "seeds=2", "x0=0", "batch=4"
    )
    assert status == 0


def test_simulate_on_data_with_another_loss(call) -> None:
    """The problem of Section 6.5: one class against the rest, regularised by a share of L; no minimum is known."""
    own = ["N=2", "K=2", "T=2", "eta=0.5", "rounds=20", "seeds=2", "x0=0", "M=4", "partition=iid"]
    chosen = ["loss=sigmoid", "label=3", "regularisation=1e-4L"]
    status, out, _ = call("simulate", "digits", "FedBCGD", *own, *chosen, "--json")
    assert status == 0
    found = json.loads(out)
    three = one_against_rest(scaled(load("digits")), 3)
    problem = lightly_regularised(SigmoidERM, three, iid(three.labels, 4, 0))
    assert json.loads(found["settings"]["problem"]) == problem.provenance
    meant = run(problem, FedBCGD(2, 0.5, 2, 2), rounds=20, seeds=range(2), x0=0.0, record=("value",))
    last = found["summary"][-1]
    assert last["round"] == 20 and last["value"] == pytest.approx(float(meant.value[0, :, -1].mean()))
    assert "gap" not in last and "dist2" not in last
    status, out, _ = call("simulate", "digits", "FedBCGD", *own, *chosen)
    assert status == 0 and out.splitlines()[1].split() == ["eta", "round", "F", "||grad", "F||^2", "diverged"]
    status, out, _ = call("simulate", "digits", "FedBCGD", *own, "label=3", "regularisation=1e-4L", "--json")
    assert status == 0 and json.loads(out)["summary"][-1]["gap"] > 0


def test_simulate_by_the_size_of_the_data(call) -> None:
    """Clients of different sizes: `weights=sizes` is in the provenance, and moves the run."""
    own = ["eta=0.5", "tau=2", "rounds=5", "seeds=2", "x0=0", "M=4", "partition=dirichlet", "alpha=0.5", "--json"]
    found = [json.loads(call("simulate", "digits", "FedAvg", *own, *more)[1]) for more in ([], ["weights=sizes"])]
    plain, weighted = (json.loads(one["settings"]["problem"]) for one in found)
    assert "weights" not in plain and sum(weighted["weights"]) == pytest.approx(1)
    assert found[0]["summary"][-1]["gap"] != pytest.approx(found[1]["summary"][-1]["gap"], rel=1e-6)


def test_installed_command_and_pipe_without_progress() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fedtheory.cli", "verify", "sfl.lemma3.swor"], capture_output=True, text=True, check=True
    )
    assert done.stderr == "" and "sfl.lemma3.swor: proved" in done.stdout


def test_show_tells_errata_and_the_corrected_form(call) -> None:
    _, out, _ = call("show", "sfl.eq54", "--proofs")
    assert "corrected by: sfl.eq54.corrected" in out and "erratum (breaks the statement)" in out
    assert "; it rests on" in out and "it rests on" not in call("show", "sfl.eq54")[1]
    _, out, _ = call("show", "sfl.eq54.corrected", "--proofs", "--json")
    found = json.loads(out)
    assert found["proofs"][0]["verdict"] == "proved" and found["proofs"][0]["premises"]
    assert found["corrects"] == "sfl.eq54" and found["errata"] == [] and found["corrected_by"] == []


def simulate(problem: str, algorithm: str, given: dict[str, str]) -> Any:
    """The run of one algorithm."""
    (found,) = simulated(Asked(problem, (algorithm,), given))
    return found.runs


def test_settings_of_block_algorithms_as_text() -> None:
    """Sizes by commas, freeze true or false; N = K = 1 unless told; alpha of FedDC is not the data's."""
    given = {"eta": "0.1", "rounds": "3", "seeds": "2", "T": "2"}
    blocks = {"N": "2", "K": "3", "sizes": "4,5", "share": "1", "freeze": "true", "momentum": "printed", "lam": "0.5"}
    told = simulate("quadratic", "FedBCGD", given | blocks)
    p = generate(10, 10, L=1, mu=0.1, zeta_star=1, delta=0.2)
    algorithm = FedBCGD(2, 0.1, 2, 3, 0.5, (4, 5), 1, "printed", freeze=True)
    meant = run(p, algorithm, rounds=3, seeds=range(2), x0=1.0)
    np.testing.assert_array_equal(told["dist2"].values, meant["dist2"].values)
    alone = run(p, FedBCGDPlus(2, 0.1, 1, 1), rounds=3, seeds=range(2), x0=1.0)
    np.testing.assert_array_equal(simulate("quadratic", "FedBCGD+", given)["gap"].values, alone["gap"].values)
    with pytest.raises(ValueError, match="freeze=1: expected true or false"):
        simulate("quadratic", "FedBCGD", given | {"freeze": "1"})
    with pytest.raises(ValueError, match=r"sizes=4.5: expected|4.5: expected a whole number"):
        simulate("quadratic", "FedBCGD", given | {"sizes": "4.5"})
    little, much = (simulate("breast_cancer", "FedDC", given | {"alpha": alpha}) for alpha in ("0", "5"))
    assert little.attrs["problem"] == much.attrs["problem"] and not little.equals(much)
    assert simulate("breast_cancer", "FedDC", given).attrs["problem"] == little.attrs["problem"]


def breaks(statement: Any, full: bool = False) -> Verdict:
    raise KeyError("no such\nkey")


def test_an_exception_in_a_check_is_its_verdict_and_the_rest_goes_on(call, monkeypatch) -> None:
    kept = [e for e in verification.evidence("sfl") if e.statement == "sfl.lemma1" and e.kind == "units"]
    broken = Evidence("sfl.lemma1", "search", breaks)
    by_name = {(e.statement, e.kind): e for e in (*kept, broken)}
    monkeypatch.setattr(verification, "_by_name", lambda paper: by_name)
    status, out, err = call("verify", "sfl.lemma1")
    said = "sfl.lemma1, search: KeyError: 'no such\\nkey' (test_cli.py, line "
    assert status == 1 and err.startswith(f"fedtheory: {said}") and err.count("\n") == 1
    assert "sfl.lemma1: error" in out and "units: proved" in out and f"search: error. {said}" in out
    assert [line.split()[-2:] for line in out.splitlines() if line.startswith("paper ")] == [["error", "all"]]
    (checked,) = verify(["sfl.lemma1"])
    assert verification.seen_to_fail([checked])["sfl.lemma1", "search"] is None


def test_an_arena_that_fails_is_the_verdict_of_its_evidence(monkeypatch) -> None:
    arena = replace(ARENAS[0], problem=lambda: breaks(None))
    failed = Verdict(Status.ERROR, "the arena failed")
    assert verification.verdict("sfl.lemma1", "units", False, None, failed) is failed
    monkeypatch.setattr(verification, "_arenas", lambda paper, dataset=None: {arena.label: arena})
    found = verification.measured(arena.label, None, False)
    assert isinstance(found, Verdict) and found.says.startswith(f"arena {arena.label!r}: KeyError")


def test_a_missing_package_is_no_verdict() -> None:
    with pytest.raises(ModuleNotFoundError):
        verification.failed(ModuleNotFoundError("z3", name="z3"), "x")


def test_what_rests_on_a_failed_check_is_open() -> None:
    proof = Evidence("sfl.lemma5", "ledger", breaks, uses=("sfl.lemma1",))
    verdicts = {
        "sfl.lemma5": [(proof, Verdict(Status.PROVED, ""))],
        "sfl.lemma1": [(Evidence("sfl.lemma1", "search", breaks), Verdict(Status.ERROR, ""))],
    }
    assert verification._settle("sfl.lemma5", verdicts, {})[0].status is Status.OPEN


@pytest.mark.parametrize("order", [("sfl.lemma5", "sfl.lemma1"), ("sfl.lemma1", "sfl.lemma5")])
def test_a_proof_in_a_circle_does_not_depend_on_the_order_of_the_question(order: tuple[str, str]) -> None:
    """lemma5 uses lemma1; of lemma1 one proof uses lemma5, and another one does not."""
    proof = Verdict(Status.PROVED, "")
    verdicts = {
        "sfl.lemma5": [(Evidence("sfl.lemma5", "ledger", breaks, uses=("sfl.lemma1",)), proof)],
        "sfl.lemma1": [
            (Evidence("sfl.lemma1", "ledger", breaks, uses=("sfl.lemma5",)), proof),
            (Evidence("sfl.lemma1", "repair", breaks), proof),
        ],
    }
    settled: dict[str, verification.Checked] = {}
    found = {id_: verification._settle(id_, verdicts, settled)[0] for id_ in order}
    assert {id_: one.status for id_, one in found.items()} == dict.fromkeys(order, Status.PROVED)


def test_the_version(call) -> None:
    status, out, _ = call("--version")
    assert status == 0 and out == f"fedtheory {version('fedtheory')}\n"


def test_evidence_of_one_kind(call) -> None:
    status, out, _ = call("verify", "sfl.lemma9", "--evidence", "units")
    assert status == 0 and "sfl.lemma9: open" in out and "    search:" not in out
    assert out.endswith("by units alone; without --evidence all evidence counts\n")
    # what the proof rests on is put to all evidence, also where it is asked for itself
    by_ledger = {c.statement.id: c for c in verify(["sfl.lemma4", "sfl.lemma4.lhs"], kinds=["ledger"])}
    assert by_ledger["sfl.lemma4"].status is Status.PROVED
    assert {e.kind for c in by_ledger.values() for e, _ in c.verdicts} == {"ledger"}
    (alone,) = verify(["sfl.lemma4"], kinds=["enumeration"])
    assert alone.status is Status.TESTED and [e.kind for e, _ in alone.verdicts] == ["enumeration"]
    for arguments, said in (
        (("--evidence", "legder"), "unknown kind of evidence 'legder'; did you mean ledger"),
        (("--evidence", "run"), "no evidence of kind run for sfl.lemma9: expected one of those there are, "),
        (("--evidence", "run", "--data", "digits"), "--data and --evidence: expected one of them"),
    ):
        status, _, err = call("verify", "sfl.lemma9", *arguments)
        assert status == 2 and said in err and err.count("\n") == 1


@pytest.mark.dear
@pytest.mark.parametrize(
    ("words", "encoding", "says"),
    [
        ("list >&-", "utf-8", "standard output is closed: expected it open, such as > /dev/null"),
        (
            "show sfl.lemma3.swor",
            "ascii",
            "cannot print '\\u2016' as ascii: expected UTF-8, such as by PYTHONIOENCODING",
        ),
        ("train --list", "utf-8", ""),
        ("table sfl.fig2", "utf-8", "no training of sfl.fig2 in runs/sfl.fig2: expected one"),
    ],
)
def test_closed_output_another_encoding_and_no_locks(tmp_path: Path, words: str, encoding: str, says: str) -> None:
    """On Windows there are no `fcntl` and no `resource`."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['fcntl'] = sys.modules['resource'] = None\n")
    places = os.pathsep.join(map(str, (tmp_path, Path(__file__).parents[2] / "src")))
    environment = os.environ | {"PYTHONPATH": places, "PYTHONIOENCODING": encoding}
    command = f"'{sys.executable}' -m fedtheory {words}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == (2 if says else 0), done.stderr
    assert says in done.stderr and done.stderr.count("\n") == bool(says)
