"""One's own data, functions and algorithms: in Python, at the command line, in trainings and in arenas."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedtheory as ft
from fedtheory import training
from fedtheory.bounds.trials.arena import Arena, confront, judge, measure
from fedtheory.simulations import data, functions
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.own_file import own
from fedtheory.simulations.partitions import as_given
from fedtheory.simulations.problems.least_squares import least_squares
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Status
from tests.fedtheory.test_files import TOML as SMALL

MINE = '''
from dataclasses import dataclass
from fedtheory.simulations.algorithms.base import LocalSteps, participating, to_clients
from fedtheory.simulations.problems.quadratic import generate

@dataclass(frozen=True)
class OneStep(LocalSteps):
    """Gradient descent by the mean of the clients' gradients, whatever K."""
    weight: float = 1.0
    def round(self, problem, x, eta, draws, watch, memory):
        clients = participating(problem, draws, self.participants(problem))
        y = to_clients(x, clients.shape[1])
        watch(y)
        return x - self.weight * eta * problem.gradient(y, clients, draws.of(clients).step(0)).mean(axis=2)

PROBLEMS = {"mine": lambda: generate(d=2, M=3, L=1.0, mu=0.5, zeta_star=1.0)}
'''
FROM = ', from = "mine.py"'
TOML = SMALL.replace('name = "PFL"', f'name = "OneStep"{FROM}')


@pytest.fixture
def call(monkeypatch: Any, command: Any, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    return command


# --------------------------------------------------------------------------------------------------------- data

ROWS = [[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [-1.0, 1.0], [0.0, 3.0], [1.5, 1.5]]
WHO, LABELS = ["ann", "bob", "ann", "bob", "ann", "bob"], ["no", "yes", "yes", "no", "no", "yes"]


@pytest.mark.parametrize("named", [True, False])
def test_a_csv_file_is_the_arrays(named: bool, tmp_path: Path) -> None:
    head = "a,who,b,label\n" if named else ""
    rows = [f"{a},{w},{b},{y}" for (a, b), w, y in zip(ROWS, WHO, LABELS, strict=True)]
    (tmp_path / "rows.csv").write_text(head + "\n".join(rows) + "\n")
    found = data.load(str(tmp_path / "rows.csv"), target="label" if named else "3", client="who" if named else "1")
    given = data.from_arrays(ROWS, LABELS, WHO)
    for here, there in ((found.features, given.features), (found.labels, given.labels), (found.clients, given.clients)):
        np.testing.assert_array_equal(here, there)
    assert (
        given.clients is not None
        and given.clients.tolist() == [0, 1] * 3
        and given.labels.tolist() == [0, 1, 1, 0, 0, 1]
    )
    assert [part.tolist() for part in as_given(given.clients).clients] == [[0, 2, 4], [1, 3, 5]]
    np.savez(tmp_path / "rows.npz", features=ROWS, labels=LABELS, clients=WHO)
    np.testing.assert_array_equal(data.load(str(tmp_path / "rows.npz")).clients, given.clients)


def test_data_at_the_command_line_is_data_in_python(call: Any) -> None:
    rows = [f"{a},{b},{w},{y}" for (a, b), w, y in zip(ROWS, WHO, LABELS, strict=True)]
    Path("rows.csv").write_text("a,b,who,y\n" + "\n".join(rows) + "\n")
    status, out, err = call(
        "simulate", "rows.csv", "PFL", "client=who", "eta=0.5", "rounds=5", "seeds=1", "x0=1", "--json"
    )
    assert status == 0, err
    given = data.scaled(data.from_arrays(ROWS, LABELS, WHO))
    assert given.clients is not None
    problem = ft.problems["logistic"](given, as_given(given.clients), 0.01)
    meant = ft.run(problem, PFL(1, 0.5), rounds=5, x0=1.0)
    assert json.loads(out)["summary"][-1]["gap"] == pytest.approx(float(meant.gap[0, 0, -1]), rel=1e-12)


def test_least_squares_are_a_quadratic(call: Any) -> None:
    A, y = np.array(ROWS), np.array([1.0, -2.0, 0.5, 3.0, 1.0, 0.0])
    dealt = as_given(np.array([0, 1, 0, 1, 0, 1]))
    problem = least_squares(A, y, dealt, regularisation=0.2)
    x = np.array([0.3, -0.7])
    for m, rows in enumerate(dealt.clients):
        loss = ((A[rows] @ x - y[rows]) ** 2).mean() / 2 - (y[rows] ** 2).mean() / 2 + 0.1 * x @ x
        assert problem.client_values(x)[m] == pytest.approx(loss)
    solution = np.linalg.solve(A.T @ A / 6 + 0.2 * np.eye(2), A.T @ y / 6)
    np.testing.assert_allclose(problem.constants["x_star"], solution)
    pd.DataFrame({"a": A[:, 0], "b": A[:, 1], "who": WHO, "y": y}).to_csv("rows.csv", index=False)
    words = ("client=who", "loss=squared", "eta=0.1", "rounds=2", "seeds=1", "regularisation=0.2", "--json")
    status, out, err = call("simulate", "rows.csv", "SFL", *words)
    assert status == 0 and json.loads(out)["summary"][-1]["gap"] > 0, err
    status, _, err = call("simulate", "rows.csv", "SFL", *words, "batch=2")
    assert status == 2 and "loss=squared: expected no batch" in err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("rows.csv PFL client=who M=40 alpha=0.1", "M, alpha would have no effect: the file says which client"),
        ("rows.npz PFL seed=3", "seed would have no effect: the file says which client"),
        (
            "breast_cancer PFL M=4 partition=iid alpha=0.1",
            "alpha would have no effect: partition=iid takes M, partition",
        ),
        ("breast_cancer PFL M=4 partition=shards alpha=0.1", "alpha would have no effect: partition=shards takes M"),
        ("rows.csv PFL loss=squared target=a without=who,y M=2 C=2", "C would have no effect: partition=iid"),
        ("rows.csv PFL loss=squared target=a without=who,y M=2 partition=exdir", "expected partition=iid"),
        ("quadratic PFL PFL:K=3", "K has no effect beside PFL:K"),
        ("quadratic PFL --from mine.py", "from = mine.py is not used: expected one of "),
    ],
)
def test_a_setting_without_effect_is_refused(words: str, reason: str, call: Any) -> None:
    Path("rows.csv").write_text("a,b,who,y\n1,2,ann,0\n0,1,bob,1\n3,2,ann,1\n1,1,bob,0\n")
    np.savez("rows.npz", features=ROWS, labels=LABELS, clients=WHO)
    status, _, err = call("simulate", *words.split(), "K=2", "eta=0.1", "rounds=1", "seeds=1")
    assert status == 2 and reason in err


def test_matrices_from_a_file(call: Any) -> None:
    H, b = np.array([[[1.0]], [[3.0]]]), np.array([[1.0], [-1.0]])
    np.savez("mine.npz", H=H, b=b, sigma=0.5, weights=[0.25, 0.75])
    status, out, err = call("simulate", "mine.npz", "FedAvg", "tau=2", "eta=0.1", "rounds=4", "seeds=2", "--json")
    assert status == 0, err
    problem = Quadratic(H, b, 0.5, weights=np.array([0.25, 0.75]))
    meant = ft.run(problem, ft.algorithms["FedAvg"](tau=2, eta=0.1), rounds=4, seeds=range(2), x0=1.0)
    assert json.loads(out)["summary"][-1]["gap"] == pytest.approx(float(meant.gap[0, :, -1].mean()), rel=1e-12)


# ----------------------------------------------------------------------------------------------------- functions


def quadratic_of_mine(curvature: float, centre: float, L: float | None = None) -> functions.Function:
    return functions.own(
        lambda x: curvature / 2 * float((x - centre) @ (x - centre)),
        lambda x: curvature * (x - centre),
        2,
        L=L or curvature,
        mu=curvature,
        minimiser=[centre, centre],
        name=f"quadratic {curvature:g}",
    )


def test_functions_of_mine_are_the_quadratics_that_they_are() -> None:
    mine = ft.problems["functions"]([quadratic_of_mine(1.0, 0.0), quadratic_of_mine(3.0, 1.0)], sigma=0.5)
    eye = np.eye(2)
    meant = Quadratic(np.array([eye, 3 * eye]), np.array([[0.0, 0.0], [-3.0, -3.0]]), 0.5)
    ours, theirs = mine.constants, meant.constants
    for name in ("L", "mu", "sigma", "zeta_star", "curvature"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-9), name
    np.testing.assert_allclose(ours["x_star"], theirs["x_star"], atol=1e-12)
    a, b = (
        ft.run(p, SFL(2, 0.1), rounds=4, seeds=range(3), x0=[2.0, -1.0], record=("gap", "dist2")) for p in (mine, meant)
    )
    np.testing.assert_allclose(a.gap, b.gap, rtol=1e-9, atol=1e-12)
    assert (
        set(ours.vouched) == {"L", "mu", "mu_pl", "curvature", "x_star", "F_star", "zeta_star"} and not theirs.vouched
    )
    assert json.loads(a.attrs["vouched"]) == list(ours.vouched) and "vouched" not in b.attrs
    certified = ft.problems["functions"]([functions.regularised(functions.huber(2), 0.5)] * 2)
    assert certified.constants["L"] == 1.5 and not certified.constants.vouched


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: functions.own(lambda x: float(x @ x), lambda x: 2 * x, 2, L=1.9),
            "D\\(x, y\\) = .* expected between .*: L, mu or the gradient is wrong",
        ),
        (lambda: functions.own(lambda x: float(x @ x), lambda x: x, 2, L=4.0), "L, mu or the gradient is wrong"),
        (lambda: functions.own(lambda x: -float(x @ x), lambda x: -2 * x, 2, L=2.0), "expected between \\(mu/2\\)"),
        (
            lambda: functions.own(lambda x: 0.0, lambda x: np.zeros(3), 2, L=1.0),
            "gradient of own has the shape \\(3,\\)",
        ),
        (
            lambda: functions.own(lambda x: float(x @ x) / 2, lambda x: x, 2, L=1.0, minimiser=[1.0, 0.0]),
            "the gradient there is",
        ),
        (lambda: functions.own(lambda x: np.nan, lambda x: x, 2, L=1.0), "the value = nan: expected a number"),
        (lambda: ft.problems["functions"]([]), "expected a list of at least one Function"),
        (lambda: ft.problems["functions"]([functions.huber(1), functions.huber(2)]), "all of the same d"),
        (lambda: ft.problems["functions"]([functions.huber(1)], vouched={"L": 1.0}), "expected some of zeta_star"),
    ],
)
def test_what_is_wrong_about_a_function_is_found(build: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        build()


def test_a_vouched_constant_is_told_in_every_verdict() -> None:
    id_, K = "sfl.thm1.strongly_convex", 2
    honest = ft.problems["functions"]([quadratic_of_mine(1.0, 0.0), quadratic_of_mine(1.0, 2.0)])
    arena = Arena(id_, "mine", honest, SFL(K, 0.1), rounds=30, x0=[3.0, -1.0], seeds=5)
    found = judge([arena], catalogue.find(id_))
    assert found.status is Status.TESTED and "; vouched for, not certified: F_star, L, curvature, mu" in found.says
    alike = ft.problems["functions"]([quadratic_of_mine(1.0, 0.0)] * 10)
    refuted = judge([Arena("sfl.eq42", "one of ten", alike, SFL(1, 0.1, S=1), rounds=120)], catalogue.find("sfl.eq42"))
    assert refuted.status is Status.REFUTED and "; vouched for, not certified: F_star, L" in refuted.says


@pytest.mark.parametrize(
    ("vouched", "says"),
    [
        ({"zeta_star": 0.1}, "zeta_star = 0.1: expected at least 2.12"),
        ({"F_star": -5.0}, "F_star = -5: expected F at the minimiser, 1.5"),
        ({"x_star": [1.0, 1.0]}, r"x_star = .*: expected a minimiser, but \|\|grad F\|\| is 1.41 there"),
        ({"G": 1.0}, "G = 1: gradients are .* apart at"),
        ({"zeta": 1.0, "beta": 0.1}, "zeta = 1: gradients are .* apart at"),
        ({"mu_pl": 2.5}, "mu_pl = 2.5: expected at most 2, as at"),
    ],
)
def test_what_is_vouched_for_is_tested(vouched: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ft.problems["functions"]([quadratic_of_mine(1.0, 0.0), quadratic_of_mine(3.0, 2.0)], vouched=vouched)


def test_one_flat_or_steep_direction_is_found() -> None:
    """Of many coordinates: random pairs of points do not."""
    for curvature, L, mu in ((0.01, 1.0, 0.3), (100.0, 30.0, 1.0)):
        c = np.r_[curvature, np.ones(199)]
        with pytest.raises(ValueError, match="L, mu or the gradient is wrong"):
            functions.own(lambda x, c=c: float(c @ (x * x)) / 2, lambda x, c=c: c * x, 200, L=L, mu=mu)  # type: ignore[misc]


def test_a_minimiser_that_is_not_reached_is_none() -> None:
    """Two quadratics, flat along one coordinate, on which their minimisers are far."""
    far = [functions.shifted(functions.quadratic([1, 1e-8]), [s, 1e5 + s]) for s in (0.0, 1.0)]
    constants = ft.problems["functions"](far).constants
    assert constants.entries["x_star"].value is None and "not near enough" in constants.entries["F_star"].how


# -------------------------------------------------------------------------------------------------------- arenas


def test_an_arena_takes_objects_and_vectors() -> None:
    problem = ft.problems["quadratic"](d=2, M=3, L=1.0, mu=0.5, zeta_star=1.0, delta=0.1)
    arena = Arena("sfl.thm1.strongly_convex", "vector", problem, SFL(K=2, eta=0.7), rounds=60, x0=np.array([3.0, -1.0]))
    held = confront(arena, arena.stated)
    assert arena.kind == "moments" and (held.bound.values >= held["mean"].values)[held.admissible.values].all()
    numbers = ft.constants_for(arena.statement, problem, SFL(K=2, eta=0.7), x0=[3.0, -1.0])
    assert numbers["D"] == pytest.approx(np.sqrt(10)) and measure(arena).attrs["constants"] == numbers
    assert ft.evaluate(arena.statement, **numbers, R=60, eta_tilde=float(held.eta_tilde[0])).value == pytest.approx(
        float(held.bound.isel(eta_tilde=0, R=-1))
    )
    other = Arena("sfl.thm1.strongly_convex", "vector", problem, SFL(K=2, eta=0.7), rounds=60, x0=[3.0, -2.0])
    assert other.settings != arena.settings


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"statement": "sfl.cor1.strongly_convex"}, "is no explicit bound but order: expected one"),
        ({"statement": "sfl.no"}, "unknown statement 'sfl.no'"),
        ({"problem": 3}, "problem = 3: expected a problem, or what builds one"),
        ({"algorithm": "SFL"}, "algorithm = SFL: expected an algorithm, or what builds one"),
        ({"rounds": 0}, "rounds = 0: expected a whole number >= 1"),
        ({"x0": None}, "x0 = None: expected a finite number"),
        ({"fractions": (2.0,)}, r"fractions = \(2.0,\): expected numbers in \(0, 1\]"),
    ],
)
def test_bad_arenas(given: dict[str, Any], says: str) -> None:
    problem = ft.problems["quadratic"](d=2, M=3, L=1.0, mu=0.5)
    good = {"statement": "sfl.thm1.strongly_convex", "name": "x", "problem": problem, "algorithm": SFL, "rounds": 3}
    with pytest.raises((ValueError, KeyError), match=says):
        Arena(**{**good, **given})


# ---------------------------------------------------------------------------------------------------- algorithms


def test_an_algorithm_from_a_file(call: Any) -> None:
    words = ("eta=0.1,0.2", "rounds=5", "seeds=2", "--from", "mine.py", "--json")
    status, out, err = call("simulate", "mine", "OneStep", "PFL", *words, "OneStep:weight=0.5")
    assert status == 0, err
    told = {found["algorithm"]: found["summary"] for found in json.loads(out)}
    gaps = {name: {(row["eta"], row["round"]): row["gap"] for row in rows} for name, rows in told.items()}
    problem = ft.problems["quadratic"](d=2, M=3, L=1.0, mu=0.5, zeta_star=1.0)
    plain = ft.run(problem, PFL(1, [0.05, 0.1, 0.2]), rounds=5, x0=1.0).gap
    for eta in (0.1, 0.2):
        assert gaps["PFL"][eta, 5] == pytest.approx(float(plain.sel(step_size=eta, round=5)[0]), rel=1e-12)
        assert gaps["OneStep"][eta, 5] == pytest.approx(float(plain.sel(step_size=eta / 2, round=5)[0]), rel=1e-12)
    mine = own("mine.py").algorithms["OneStep"]
    arena = Arena("sfl.thm2.strongly_convex", "mine", problem, mine, rounds=20, x0=1.0, given={"K": 1.0})
    one_step = replace(arena, algorithm=partial(mine, K=1))  # which the class needs
    assert judge([one_step], arena.stated).status is Status.TESTED


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("import nothing_here", "broken.py, line 1: ModuleNotFoundError: No module named 'nothing_here'; expected"),
        ("def f(:\n  pass", "broken.py, line 1: SyntaxError"),
        ("x = 1", "broken.py adds nothing: expected a dataclass with a method `round`"),
        ("ALGORITHMS = {'A': 3}", "algorithm A = 3: expected a dataclass with a field eta"),
        ("ALGORITHMS = [3]", r"ALGORITHMS = \[3\]: expected a dictionary by names"),
        (MINE.replace("OneStep", "SFL"), "SFL is the name of an algorithm here: expected another name"),
        (
            MINE.replace("        watch(y)", "        1 / 0"),
            r"broken.py, line \d+: ZeroDivisionError: division by zero; expected",
        ),
        (MINE.replace("(LocalSteps)", ""), "algorithm OneStep = .*: expected a dataclass with a field eta"),
        ("PROBLEMS = {'mine': 3}\n" + MINE.split("PROBLEMS")[0], "mine of broken.py is 3: expected a problem"),
    ],
)
def test_a_file_that_fails_is_named_with_its_line(change: str, says: str, call: Any) -> None:
    Path("broken.py").write_text(change)
    status, out, err = call("simulate", "mine", "OneStep", "eta=0.1", "rounds=2", "seeds=1", "--from", "broken.py")
    assert (status, out) == (2, "") and len(err.splitlines()) == 1
    assert re.search(says, err), err


def test_an_algorithm_from_a_file_is_trained_and_resumed(call: Any) -> None:
    Path("mine.toml").write_text(TOML)
    status, out, err = call("train", "mine.toml")
    assert status == 0 and "written: runs/mine" in out, err
    rows = training.history(Path("runs/mine"))
    assert rows["round"].tolist() == [0, 1, 2, 3] and rows["value"].is_monotonic_decreasing
    stored = training.trained(Path("runs/mine"))
    assert stored is not None and list(stored.sha256) == ["algorithm"]
    elsewhere = TOML.replace(FROM, "")
    Path("other.toml").write_text(elsewhere)
    status, _, err = call("train", "other.toml")
    assert status == 2 and "algorithm 'OneStep': expected one of" in err
    status, _, err = call("train", "other.toml", "--from", "mine.py")
    assert status == 0, err
    pd.testing.assert_frame_equal(
        *(training.history(Path("runs", n)).drop(columns="seconds") for n in ("mine", "other"))
    )
    Path("runs/mine/history.csv").unlink()
    Path("runs/mine/seed-0.npz").unlink()
    Path("mine.py").write_text(MINE + "# changed\n")
    status, _, err = call("train", "mine.toml", "--resume")
    assert status == 2 and "mine.py has changed since" in err


# --------------------------------------------------------------------------------------------- folders of trainings


def test_a_folder_is_one_process_s(call: Any) -> None:
    Path("mine.toml").write_text(TOML)
    Path("runs/mine").mkdir(parents=True)
    handle = os.open("runs/mine", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    status, _, err = call("train", "mine.toml")
    assert status == 2 and "another process is training in runs/mine" in err
    os.close(handle)
    assert call("train", "mine.toml")[0] == 0


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            lambda f: (f / "history.csv").write_text((f / "history.csv").read_text().replace("\n0,1,", "\n0,2,", 1)),
            "the rows of seed 0",
        ),
        (lambda f: (f / "seed-0.npz").write_bytes(b""), "cannot read .* as an NPZ file"),
        (
            lambda f: (f / "seed-0.npz").write_bytes((f / "seed-0.npz").read_bytes()[:-40]),
            "cannot read .* as an NPZ file",
        ),
        (lambda f: (f / "environment.json").write_text("{"), None),
    ],
)
def test_a_changed_file_is_not_taken_for_the_training_s_own(spoil: Any, says: str | None, call: Any) -> None:
    Path("mine.toml").write_text(TOML)
    assert call("train", "mine.toml")[0] == 0
    spoil(Path("runs/mine"))
    status, _, err = call("train", "mine.toml", "--resume")
    if says is None:
        assert status == 0  # nothing is left to train, and this file is not needed to read the result
    else:
        assert status == 2 and re.search(says, err), err


def test_nothing_is_written_for_a_training_that_is_refused(call: Any) -> None:
    Path("bad.toml").write_text(TOML.replace("K = 1", "K = 1, S = 9"))
    status, _, err = call("train", "bad.toml")
    assert status == 2 and "S = 9" in err and not Path("runs").exists()
    for name in ("..toml", ".toml"):
        Path(name).write_text(TOML)
        assert call("train", name)[0] == 2 and not Path("runs").exists()


# ------------------------------------------------------------------------------------------- the researcher's question


def test_the_best_step_sizes_and_the_edge_of_the_grid(call: Any) -> None:
    words = ("quadratic", "SFL", "PFL", "K=2", "rounds=30", "seeds=2", "--best")
    status, out, err = call("simulate", *words, "--plot", "out/p.svg", "--json")
    assert status == 0 and Path("out/p.svg").exists() and Path("out/p.svg.csv").exists(), err
    for found in json.loads(out):
        steps = found["tried"]
        assert len(steps) == 14 and steps[-1] == pytest.approx(8.0)
        every = ft.run(
            ft.problems["quadratic"](d=10, M=10, L=1.0, mu=0.1, zeta_star=1.0, delta=0.2),
            ft.algorithms[found["algorithm"]](K=2, eta=steps),
            rounds=30,
            seeds=range(2),
            x0=1.0,
        )
        final = every.gap.isel(round=-1).mean("seed", skipna=False)
        assert found["summary"][-1]["eta"] == float(final.step_size[int(final.fillna(np.inf).values.argmin())])
    drawn = pd.read_csv("out/p.svg.csv")
    assert set(drawn["along"]) == {"rounds", "bits"} and drawn["algorithm"].nunique() == 2
    status, out, err = call("simulate", *words, "eta=0.001,0.002")
    assert status == 0 and "largest of 2" in out and "at an end of the step sizes: SFL, PFL" in out, err


def test_bounds_along_a_symbol(call: Any) -> None:
    ids, given = (
        ("sfl.thm1.strongly_convex", "sfl.thm2.strongly_convex"),
        ["L=1", "mu=0.1", "sigma=1", "zeta_star=1", "D=1", "M=10", "K=5"],
    )
    status, out, err = call("compare", *ids, *given, "--tuned", "--over", "R", "--plot", "c.png", "--json")
    assert status == 0 and Path("c.png").exists() and Path("c.png.csv").exists(), err
    found = json.loads(out)
    numbers = {w.partition("=")[0]: float(w.partition("=")[2]) for w in given}
    for i in (25, 40, -1):
        for id_ in ids:
            best = ft.tune(id_, **numbers, R=found["points"][i])
            assert found["values"][id_][i] == pytest.approx(best.best.value)
    assert found["smallest"][0]["bound"] == ids[0]
    status, out, _ = call("compare", *ids, *given, "eta_tilde=0.1", "R=200")
    assert "first 0.2" in out or "here: first" in out
    status, out, _ = call("compare", *ids, *given, "--over", "R=1e3..1e5", "--tuned")
    assert "the smallest at all 61 points, 1000 <= R <= 1e+05: sfl.thm1.strongly_convex" in out
    kappa = [w for w in given if not w.startswith("mu")]
    status, out, err = call("compare", *ids, *kappa, "R=1000", "kappa=2..50", "--tuned", "--json")
    at = json.loads(out)
    assert at["over"] == "kappa", err
    best = ft.tune(ids[0], **{**numbers, "mu": 1 / at["points"][-1]}, R=1000)
    assert at["values"][ids[0]][-1] == pytest.approx(best.best.value)
    for words, says in (
        ([*ids, "L=1"], "need D, K, M, R, eta_tilde, mu, sigma, zeta_star too"),
        ([*ids, *given[1:], "--tuned", "--over", "R"], "need L too"),
        ([*ids, *given, "--plot", "c.png"], "--plot without --over"),
        ([*ids, *given, "--tuned", "--over", "M"], "expected its range too"),
        (["fedcom.thmD7.corrected", "fedbat.thm1.from_start", "--tuned", "--over", "R"], "mean the same"),
        ([ids[0], "sfl.cor1.strongly_convex", *given, "R=9", "--tuned"], "do not compare"),
    ):
        status, _, err = call("compare", *words)
        assert status == 2 and says in err, err


def test_a_bound_is_tuned_over_a_range(call: Any) -> None:
    given = ["L=1", "mu=0.1", "sigma=1", "zeta_star=1", "D=1", "M=10", "K=5"]
    status, out, err = call("tune", "sfl.thm1.strongly_convex", *given, "R=10..100000", "--json")
    assert status == 0, err
    rows = json.loads(out)
    numbers = {w.partition("=")[0]: float(w.partition("=")[2]) for w in given}
    assert [r["R"] for r in rows][:1] == [10] and rows[0]["step_size"] is None
    assert rows[-1]["value"] == pytest.approx(ft.tune("sfl.thm1.strongly_convex", **numbers, R=100000).best.value)
    status, out, _ = call("tune", "sfl.thm1.strongly_convex", *given, "R=10..100000")
    assert "none is admissible" in out and len(out.splitlines()) == 14
