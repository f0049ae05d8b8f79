"""The record of what Coq's kernel accepts, the files for Coq, and who agrees on the steps of proofs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

from fedtheory import agreed, coq
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, kernel, library, premises, scenes
from fedtheory.theory.proofs.certificates import read
from fedtheory.theory.proofs.search import certificate
from fedtheory.theory.proofs.sequents import Sequent
from fedtheory.theory.statement import Evidence, EvidenceKind, Status, Verdict
from fedtheory.verification import Checked
from tests.theory.coq_files import needs_coq

ROOT = Path(__file__).parents[2]
PAPERS = ("fedbat", "fedbcgd", "fedcom", "sfl")

TRUE = Sequent((("x", "positive"), ("y", "positive")), ("x <= y",), "x**2 <= y**2")
OTHER = Sequent((("x", "count"),), (), "1 / x <= 1")
HARD = Sequent((("x", "positive"),), (), "root(x, 1, 3) > 0")  # Coq is told of no cube roots


@pytest.mark.parametrize("paper", PAPERS)
def test_every_recorded_step_has_a_certificate(paper) -> None:
    folder = ROOT / "theory" / paper / "checks"
    assert json.loads((folder / "coq.json").read_text()).keys() == {"steps", "theorems", "constants", "every"}
    recorded = coq.record_of(paper).steps
    assert len(recorded) > 300 and recorded <= read(folder / "steps.json").keys()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_best_constant_on_file_is_recorded(paper) -> None:
    kept = {key: one["upper"] for key, one in scenes.kept(paper).items() if isinstance(one, dict) and "upper" in one}
    short = {key: kept[key] for key in coq.with_brackets(paper)}
    every, without = every_record.on_file(paper), set(coq.WITHOUT_FOR_EVERY_COUNT)
    record, left = coq.record_of(paper), {k: told for k, told in every.items() if k not in without}
    assert record.constants == short != {}
    assert {k: told for k, (told, _) in record.every.items()} == left != {}
    both = len(kept) + len(every)
    assert agreed.constants([paper]) == (both - len(every.keys() & without) - len(kept) + len(short), both)


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_what_coq_has_accepted_for_every_count_is_what_rounds_of_today_say(paper) -> None:
    today = {key: coq.digest_of(text) for key, text in coq.for_every_count(paper).items()}
    assert {key: lemma for key, (_, lemma) in coq.record_of(paper).every.items()} == today


def test_a_paper_without_a_record_has_an_empty_one() -> None:
    assert coq.record_of("nothing") == coq.CoqRecord(frozenset(), {}, {})


def test_steps_of_a_paper_are_collected_with_the_statements_that_use_them(monkeypatch) -> None:
    some = [e for e in coq.evidence("sfl") if e.statement in ("sfl.lemma9.corrected", "sfl.lemma5")]
    monkeypatch.setattr(coq, "evidence", lambda paper: some)
    steps = coq.steps_of(["sfl"])["sfl"]
    assert {id_ for users in steps.values() for id_ in users} == {"sfl.lemma9.corrected", "sfl.lemma5"}
    assert {step.digest for step in steps} <= coq.record_of("sfl").steps


def test_the_text_of_a_paper_has_each_step_with_a_certificate_below_the_statements_that_use_it() -> None:
    steps = {TRUE: ["sfl.lemma5", "sfl.lemma9"], HARD: ["sfl.lemma5"], OTHER: ["sfl.eq54"]}
    found = coq.certificates("nothing", steps)
    assert found.keys() == {TRUE.digest, OTHER.digest}
    text = coq.text("sfl", steps, found)
    assert re.findall(r"^Lemma (\w+)", text, re.M) == [coq.name_of(TRUE), coq.name_of(OTHER)]
    assert f"(* sfl.lemma5, sfl.lemma9 *)\nLemma step_{TRUE.digest} : forall x y : R," in text
    assert "Require Import Reals" in text and not re.search(r"Admitted|Axiom|Parameter|admit", text)


def test_missing_steps_are_named_and_the_known_ones_are_told_apart() -> None:
    known, new = coq.WITHOUT[0], "sfl.lemma5"
    assert coq.Missing(HARD, (known,), "").known
    assert not coq.Missing(HARD, (new,), "").known
    assert not coq.Missing(HARD, (known, new), "").known
    assert not coq.Missing(TRUE, (known,), "Error:\nno").known
    assert str(coq.Missing(TRUE, (known,), "Error:\n  no")) == f"step_{TRUE.digest} ({known}): refused: Error: no"
    assert str(coq.Missing(HARD, (new,), "")) == f"step_{HARD.digest} ({new}): no certificate"


@needs_coq
def test_what_coq_accepts_is_recorded_and_what_it_refuses_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(coq, "_file", lambda paper, name: tmp_path / name)
    lying = Sequent(OTHER.variables, (), "x <= 1")
    steps = {TRUE: ["sfl.lemma5"], lying: ["sfl.eq54"], HARD: ["sfl.lemma9"]}
    own, others = certificate(TRUE), certificate(OTHER)
    coq.write_certificates(tmp_path / "steps.json", {TRUE.digest: own, lying.digest: others})
    missing = coq.accept("sfl", steps, [])
    assert [(one.step, bool(one.refused), one.known) for one in missing] == [(lying, True, False), (HARD, False, False)]
    assert coq.record_of("sfl") == coq.CoqRecord(frozenset({TRUE.digest}), {})
    assert read(tmp_path / "steps.json").keys() == {TRUE.digest, lying.digest}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coq.json", "steps.json"]


@pytest.mark.slow  # .ci/run runs it where coqc is installed
@needs_coq
def test_best_constants_that_coq_accepts_are_recorded_beside_the_steps(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(coq, "_file", lambda paper, name: tmp_path / name)
    coq._write("fedcom", coq.CoqRecord(frozenset({"a"})))
    own = sorted(islice(coq.needed("fedcom"), 12), key=lambda one: len(one[1].vectors))[:2]
    monkeypatch.setattr(coq, "needed", lambda paper: own)
    monkeypatch.setattr(coq, "for_every_count", lambda paper: {})
    prepared = tmp_path / "library"
    prepared.mkdir()
    library.prepared(prepared)  # once for both calls
    monkeypatch.setattr(library, "prepared", lambda folder: shutil.copytree(prepared, folder, dirs_exist_ok=True))
    keys = {scenes.key(programme) for _, programme in own}
    assert coq.accept_constants("fedcom") == {}
    found = coq.record_of("fedcom")
    assert found.steps == {"a"} and found.constants.keys() == keys
    lemma = coq.squares.lemma
    monkeypatch.setattr(
        coq.squares, "lemma", lambda name, p, b: lemma(name, p, replace(b, upper=b.lower - Fraction(1, 1000)))
    )
    assert coq.accept_constants("fedcom").keys() == {f"constant_{key}" for key in keys}
    assert coq.record_of("fedcom").constants == {}


# The command


def test_bad_input_is_one_line(tmp_path, call) -> None:
    (tmp_path / "file").write_text("")
    for words, says in (
        ([str(tmp_path / "file")], "expected a file that can be written"),
        ([str(tmp_path), "--paper", "sfll"], "unknown paper"),
        ([], "Missing argument"),
    ):
        status, out, err = call("export", "coq", *words)
        assert (status, out) == (2, "") and says in err and err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@needs_coq
@pytest.mark.slow
def test_coq_compiles_all_that_is_exported(tmp_path, call) -> None:
    status, _, err = call("export", "coq", str(tmp_path))
    assert status == 0, err
    names = (tmp_path / "_CoqProject").read_text().split()[3:]
    libraries = [kernel.LIBRARY.name, *(file.name for file in library.FILES)]
    assert names == [*libraries, *(f"{paper}.v" for paper in PAPERS)]
    assert {path.name for path in tmp_path.iterdir()} == {"_CoqProject", *names}
    for name in names:
        text = (tmp_path / name).read_text()
        assert not re.search(r"\b(Admitted|Axiom|Parameter|Conjecture|admit|Abort)\b", text), name
        ran = subprocess.run(["coqc", "-Q", ".", "", name], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        if name not in libraries:
            record = coq.record_of(name.removesuffix(".v"))
            lemmas = set(re.findall(r"^Lemma step_(\w+)", text, re.M))
            assert lemmas >= record.steps and text.count("Qed.") >= len(lemmas)
            assert set(re.findall(r"^Theorem (\w+)_claim", text, re.M)) == record.theorems.keys()
            assert premises.printed(ran.stdout).keys() == record.theorems.keys()


# Who agrees


def checked(id_: str, *verdicts: tuple[EvidenceKind, Verdict]) -> Checked:
    return Checked(
        catalogue.find(id_), tuple((Evidence(id_, kind, lambda s, f: verdict), verdict) for kind, verdict in verdicts)
    )


THEOREMS = {
    "sfl_lemma5_1": coq.Accepted("sfl.lemma5", "ledger", "e", (("claim", "sfl.eq1"), ("rule", "Young")), {"x": "1"}),
    "sfl_lemma5_2": coq.Accepted("sfl.lemma5", "ledger", "g", (("meaning", "x"), ("rule", "Jensen")), None),
    "sfl_lemma9": coq.Accepted("sfl.lemma9", "ledger", "h", (), {}),
    "sfl_lemma5_repair": coq.Accepted("sfl.lemma5", "repair", "e", (), {}),
}


def test_who_agrees_in_words(monkeypatch) -> None:
    monkeypatch.setattr(agreed, "record_of", lambda paper: coq.CoqRecord(frozenset("abc"), THEOREMS))
    proved = Verdict(Status.PROVED, "", steps=("a", "b"))
    broken = Verdict(Status.BROKEN, "", steps=("d",))
    assert agreed.opinions(checked("sfl.lemma5", ("ledger", proved))) == "certificate, Coq"
    one = replace(proved, theorems=("e", "f"))
    assert (
        agreed.opinions(checked("sfl.lemma5", ("ledger", one))) == "certificate, Coq; theorem about quantities in Coq"
    )
    assert agreed.opinions(checked("sfl.lemma9", ("ledger", one))) == "certificate, Coq"
    assert agreed.opinions(checked("sfl.lemma5", ("ledger", broken), ("repair", proved))) == "certificate, Coq"
    assert agreed.opinions(checked("sfl.lemma5", ("ledger", broken))) == ""
    assert agreed.opinions(checked("sfl.lemma5", ("units", Verdict(Status.PROVED, "")))) == ""
    part = Verdict(Status.CONDITIONAL, "", steps=("a", "d"), uncertified=("x real: nothing => x <= 1",))
    assert (
        agreed.opinions(checked("sfl.lemma5", ("ledger", part)))
        == "certificate: 1 of 2 steps; Coq: 1 of 2 steps; z3 alone: the others"
    )


def test_who_agrees_in_numbers(monkeypatch) -> None:
    monkeypatch.setattr(agreed, "record_of", lambda paper: coq.CoqRecord(frozenset("abc")))
    found = agreed.agreed(
        [
            checked("sfl.lemma5", ("ledger", Verdict(Status.PROVED, "", steps=("a", "b")))),
            checked("sfl.lemma9", ("ledger", Verdict(Status.BROKEN, "", steps=("b", "d"), uncertified=("the step",)))),
            checked("sfl.eq54"),
            checked("sfl.thm1.general_convex.sharp"),
        ]
    )
    assert found == agreed.Agreed(3, 2, 2, (2, 1), 0, ("sfl.lemma9",), ("sfl.lemma9",))


def test_a_broken_proof_is_no_theorem(monkeypatch) -> None:
    monkeypatch.setattr(agreed, "record_of", lambda paper: coq.CoqRecord(frozenset("abc"), THEOREMS))
    broken = checked("sfl.lemma5", ("ledger", Verdict(Status.BROKEN, "", theorems=("e", "g"))))
    assert agreed.agreed([broken]).quantities == 0 and agreed.in_coq(broken) == []
    # nor does another proof of the statement lend it its own
    repaired = checked(
        "sfl.lemma5", ("ledger", Verdict(Status.BROKEN, "", theorems=("e",))), ("repair", broken.verdicts[0][1])
    )
    assert agreed.agreed([repaired]).quantities == 0


def test_what_theorems_rest_on(monkeypatch) -> None:
    monkeypatch.setattr(agreed, "record_of", lambda paper: coq.CoqRecord(frozenset("abc"), THEOREMS))
    proved = Verdict(Status.PROVED, "", theorems=("e", "g"))
    (found,) = agreed.in_coq(checked("sfl.lemma5", ("ledger", proved)))
    assert (found.names, found.instance) == (("sfl_lemma5_1", "sfl_lemma5_2"), False)
    assert found.rests_on == {"claims": ("sfl.eq1",), "rules": ("Jensen", "Young"), "meanings": ("x",)}
    (found,) = agreed.in_coq(checked("sfl.lemma5", ("ledger", replace(proved, theorems=("e",)))))
    assert (found.names, found.instance) == (("sfl_lemma5_1",), True)
    assert agreed.in_coq(checked("sfl.lemma5", ("derivation", proved))) == []
    assert agreed.in_coq(checked("sfl.lemma5", ("ledger", replace(proved, status=Status.BROKEN)))) == []
    assert agreed.agreed([checked("sfl.lemma5", ("ledger", proved))]).quantities == 2
