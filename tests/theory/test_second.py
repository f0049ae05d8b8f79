"""cvc5 as the second opinion on steps: right answers, no answer for what hangs, and no process that is left."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import sympy

from fedtheory import verification
from theory import catalogue
from theory.proofs import second
from theory.proofs.agreement import agreement, proved_by
from theory.proofs.arithmetic import decide, recorded
from theory.proofs.sequents import Sequent
from theory.statement import Status

ROOT = Path(__file__).parents[2]
STEPS = json.loads((ROOT / "tests" / "data" / "steps.json").read_text())
L, S, x, y = "positive", "count", "real", "real"

TRUE = [
    ({}, [], "4 >= 3"),
    ({}, [], "True"),
    ({"x": x, "y": y}, [], "2 * x * y <= x**2 + y**2"),
    ({"M": S, "S": S}, ["M >= 2", "S <= M"], "(M - S) / (M - 1) <= 2 * (1 - S / M)"),
    ({"x": x}, ["1 / x > 2"], "x < 1 / 2"),  # that x is not 0 is part of what is given
    ({"x": x}, ["1 / x < 0"], "1 / (x * x * x) < 0"),  # divisors of unknown sign
    ({"x": x}, ["x < 0"], "1 / x < 0"),
    ({"a": "nonnegative"}, [], "root(a, 1, 2)**2 == a"),
    ({"p": L, "q": L}, ["p * q <= 1"], "root(p, 1, 2) * root(q, 1, 2) <= 1"),
    ({"p": L}, ["root(p, 1, 3) <= 2"], "p <= 8"),
    ({"p": L}, [], "root(p, 3, 2) == p * root(p, 1, 2)"),
    ({"x": x, "y": y}, [], "min(x, y) <= max(x, y)"),
    ({"x": x, "y": y}, [], "max(x, y) - min(x, y) == abs(x - y)"),
    ({"L": L, "y": y}, [], "max(y / L, 0) <= abs(y) / L"),
]
FALSE = [
    ({}, [], "3 >= 4"),
    ({"x": x, "y": y}, [], "2 * x * y <= 19 * (x**2 + y**2) / 20"),
    ({"M": S, "S": S}, ["M >= 2", "S <= M"], "(M - S) / (M - 1) <= 19 * (1 - S / M) / 10"),
    ({"x": x}, ["x <= 1"], "1 / x <= 1"),
    ({"x": x}, [], "x / x == 1"),  # it needs x != 0
    ({"x": x}, [], "root(x, 1, 2) >= 0"),  # it needs x >= 0
    ({"p": L}, [], "root(p, 1, 2) <= p"),
    ({"x": x, "y": y}, [], "max(x, y) <= x"),
    ({"x": x}, [], "abs(x) <= x"),
    ({"a": "nonnegative"}, [], "a > 0"),
    ({"n": S}, [], "n >= 2"),
]
# Takes cvc5 seven seconds (fedcom.rem7)
SLOW = Sequent(
    (("R", S), ("gamma", L), ("m", S), ("q", "nonnegative"), ("tau", S)),
    (
        "m * tau / (gamma**2 * R * (1 + q)) + root(m, 1, 2) * root(tau, 1, 2) * (1 + q / m)"
        " / (root(R, 1, 2) * root(1 + q, 1, 2)) <= 1",
    ),
    "m * tau / (gamma**2 * (1 + q) * (root(4 + gamma**2 * (1 + q / m)**2, 1, 2) - gamma * (1 + q / m))**2) <= R",
)
EASY = Sequent((("x", L),), (), "x >= 0")


def step(variables: dict, given: list, claim: str) -> Sequent:
    return Sequent(tuple(variables.items()), tuple(given), claim)


def orphans() -> list[int]:
    """Processes of cvc5 whose parent has ended."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        told = re.search(r"second\.serve\((\d+)", " ".join(process.info["cmdline"] or ()))
        if told and not psutil.pid_exists(int(told[1])):
            found.append(process.pid)
    return found


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it holds within ten seconds."""
    return any(condition() or time.sleep(0.1) for _ in range(100))


@pytest.mark.parametrize(("variables", "given", "claim"), TRUE, ids=str)
def test_true_steps(variables, given, claim) -> None:
    assert second.proves(step(variables, given, claim)) is True
    assert second.opinion(step(variables, given, claim), proved=True) == "agrees"
    assert second.opinion(step(variables, given, claim), proved=False) == "disagrees"


@pytest.mark.parametrize(("variables", "given", "claim"), FALSE, ids=str)
def test_false_steps(variables, given, claim) -> None:
    assert second.proves(step(variables, given, claim)) is False
    assert second.opinion(step(variables, given, claim), proved=True) == "disagrees"


def test_steps_of_the_papers_and_the_same_with_another_number() -> None:
    for one in STEPS:
        variables, given = dict(map(tuple, one["variables"])), one["given"]
        assert second.proves(step(variables, given, one["claim"])) is True, one["claim"]
        assert second.proves(step(variables, given, one["changed"])) is False, one["changed"]


def test_what_is_given_can_be_met_or_not() -> None:
    assert second.satisfiable(step({"x": x}, ["1 / x >= 2", "x >= 1 / 2"], "True")) is True
    assert second.satisfiable(step({"x": x}, ["1 / x >= 2", "x >= 2 / 3"], "True")) is False


@pytest.mark.parametrize("claim", ["exp(x) > 0", "log(x) < x", "pow(x, y) >= 0"])
def test_what_it_is_not_asked(claim) -> None:
    with pytest.raises(ValueError, match="expected"):
        second.proves(step({"x": L, "y": L}, [], claim))


# The second process


def test_a_question_that_takes_too_long_is_ended_and_the_next_is_answered(monkeypatch) -> None:
    monkeypatch.setattr(second, "_SECONDS", 1)
    second._stop()
    second._asked.cache_clear()
    assert second.proves(SLOW) is None and second.opinion(SLOW, proved=True) == "gives up"
    second._asked.cache_clear()
    assert second.proves(EASY) is True
    second._stop()


def test_a_process_that_has_ended_is_started_again() -> None:
    second._asked.cache_clear()
    assert second.proves(EASY) is True
    second._process[0].kill()
    second._process[0].wait()
    second._asked.cache_clear()
    assert second.proves(EASY) is True


SCRIPT = """
import sys
from tests.theory.test_second import EASY, SLOW
from theory.proofs import second
assert second.proves(EASY) is True
print(second._process[0].pid, flush=True)
if sys.argv[1:]:
    second.proves(SLOW)
"""


def test_it_ends_with_the_process_that_asks() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, cwd=ROOT)
    assert soon(lambda: not psutil.pid_exists(int(done.stdout)))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it goes on until its question is answered")
def test_it_ends_in_the_middle_of_a_question_with_the_process_that_asks() -> None:
    with subprocess.Popen([sys.executable, "-c", SCRIPT, "slow"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as asks:
        pid = int(asks.stdout.readline())
        used = psutil.Process(pid).cpu_times().user
        assert soon(lambda: psutil.Process(pid).cpu_times().user > used + 0.3)
        asks.kill()
    assert soon(lambda: not psutil.pid_exists(pid))


def test_worker_processes_leave_none_behind() -> None:
    ids = [e.statement for e in catalogue.evidence("fedbat") if e.kind == "ledger"][:10]
    checked = verification.verify(ids, kinds=["ledger"])
    assert any(v.steps for c in checked for _, v in c.verdicts)
    assert soon(lambda: not orphans())


# What verification makes of it


def test_the_verdict_has_the_steps_that_z3_proved_and_those_on_which_cvc5_gave_up(monkeypatch) -> None:
    found = verification.verdict("sfl.lemma9.corrected", "ledger", False)
    assert found.status is Status.PROVED and len(found.steps) == len(set(found.steps)) > 5 and not found.undecided
    monkeypatch.setattr(second, "proves", lambda step: None)
    silent = verification.verdict("sfl.lemma9.corrected", "ledger", False)
    assert silent.status is Status.PROVED and silent.steps == found.steps and len(silent.undecided) == len(found.steps)
    assert all(" => " in text for text in silent.undecided)


def test_a_step_that_z3_proves_and_cvc5_refutes_is_an_error_that_names_it(monkeypatch) -> None:
    first = verification.verdict("sfl.lemma9.corrected", "ledger", False).steps[0]
    monkeypatch.setattr(second, "proves", lambda step: step.digest != first)
    found = verification.verdict("sfl.lemma9.corrected", "ledger", False)
    assert found.status is Status.ERROR and found.failed
    assert found.says.startswith(f"sfl.lemma9.corrected, ledger: z3 proves and cvc5 refutes step {first}: ")
    assert "\n" not in found.says and len(found.says) < 300


def test_a_step_that_z3_refutes_and_cvc5_proves_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr(second, "proves", lambda step: True)
    broken = verification.verdict("fedcom.lemmaF2", "ledger", False)
    assert broken.status is Status.ERROR and "z3 refutes and cvc5 proves step" in broken.says


def test_questions_that_z3_leaves_open_are_not_asked(monkeypatch) -> None:
    p = sympy.Symbol("p", positive=True)
    monkeypatch.setattr(second, "proves", lambda step: pytest.fail("asked"))
    with recorded() as found:
        assert decide([p < 0], p > 1).status is Status.VACUOUS
    assert agreement(found.questions).steps == ()


def test_several_claims_are_refuted_if_one_of_them_is() -> None:
    p = sympy.Symbol("p", positive=True)
    with recorded() as found:
        assert decide([], [p > 0, p > 1, p > -1]).status is Status.REFUTED
        assert decide([p > 2], [p > 0, p > 1]).status is Status.PROVED
    agreed = agreement(found.questions)
    assert [step.claim for step in agreed.steps] == ["p > 1"] and agreed.undecided == ()
    assert [len(proved_by(question)) for question in found.questions] == [0, 1]


def test_the_same_in_mutation_runs_is_not_asked(monkeypatch) -> None:
    verdict = verification.verdict("sfl.lemma5", "ledger", False)
    monkeypatch.setattr(second, "proves", lambda step: pytest.fail("asked"))
    assert verification.seen("sfl.lemma5", "ledger", verdict)
