"""Theorems beside runs on one's own problem: `ft.confront` and `fedtheory confront`, and what is drawn of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedtheory as ft
from fedtheory import plugins
from fedtheory.bounds.trials import theorems
from fedtheory.confrontation import Confrontation
from fedtheory.paper import Delta, F, K, L, R, X, eta, gap, h, mu, noise, paper, sigma, smooth, strongly_convex_mean
from tests import forked
from tests.fedtheory.test_own_paper import FedAnchor

HOUSE = Path(__file__).parents[2]
SFL, PFL, SCAFFOLD = (ft.algorithms[name] for name in ("SFL", "PFL", "SCAFFOLD"))
pytestmark = pytest.mark.usefixtures("elsewhere")
KINDS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def table(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(120, 4))
    rows = pd.DataFrame(features, columns=list("abcd")).assign(label=(features[:, 0] > 0).astype(int))
    rows.to_csv(tmp_path / "mine.csv", index=False)
    return "mine.csv"


def quadratic(**more: Any) -> Any:
    return ft.problems["quadratic"](**{"d": 3, "M": 4, "L": 1.0, "mu": 0.2, "zeta_star": 1.0, "delta": 0.2, **more})


def why(found: Confrontation) -> dict[str, str]:
    return {pair.theorem.statement.id: pair.theorem.why for pair in found.pairs}


def test_each_method_has_its_own_theorems_and_no_run_is_above_one() -> None:
    found = ft.confront(quadratic(sigma=0.5), [SFL(K=2, eta=1), PFL(K=2, eta=1)], rounds=150)
    drawn = {(p.method, p.theorem.statement.id): p for p in found.pairs if p.data is not None}
    sides = [(method, pair.quantity) for (method, _), pair in drawn.items()]
    assert sorted(sides) == [(m, q) for m in ("PFL", "SFL") for q in ("gap", "squared gradient")]
    assert {("SFL", "sfl.thm1.strongly_convex"), ("PFL", "sfl.thm2.strongly_convex")} < set(drawn)
    for pair in drawn.values():
        assert pair.data is not None and int(pair.data.R[-1]) == 150
        assert (pair.data["mean"] <= pair.data["bound"]).all() and float(pair.data["bound"][-1]) == pair.theorem.value
    frame = found.to_dataframe()
    assert set(frame.theorem) == {id_ for _, id_ in drawn} and frame[["mean", "bound"]].notna().all(axis=None)
    assert "sfl.thm1.strongly_convex" in str(found) and "kappa = 5" in str(found)


def test_the_step_size_is_the_best_of_the_bound_or_the_one_that_is_given() -> None:
    problem, id_ = quadratic(), "sfl.thm2.strongly_convex"
    (best,) = (p for p in ft.confront(problem, [PFL(K=2, eta=1)], rounds=150).pairs if p.theorem.statement.id == id_)
    letters = ft.constants_for(id_, problem, PFL(K=2, eta=1))
    assert best.theorem.value == pytest.approx(ft.tune(id_, R=150, **letters).best.value, rel=1e-2)
    given = ft.confront(problem, [PFL(K=2, eta=1)], rounds=150, eta=0.02)
    (own,) = (p for p in given.pairs if p.theorem.statement.id == id_)
    assert own.theorem.step == pytest.approx(2 * 0.02)
    assert own.theorem.value == pytest.approx(ft.evaluate(id_, R=150, eta_tilde=0.04, **letters).value)


def test_reasons_are_numbers() -> None:
    few = ft.confront(quadratic(mu=0.01), [PFL(K=2, eta=1)], rounds=20)
    R = int(why(few)["sfl.thm2.strongly_convex"].rpartition("R >= ")[2])
    assert why(ft.confront(quadratic(mu=0.01), [PFL(K=2, eta=1)], rounds=R))["sfl.thm2.strongly_convex"] == ""
    assert "R >= " in why(ft.confront(quadratic(mu=0.01), [PFL(K=2, eta=1)], rounds=R - 1))["sfl.thm2.strongly_convex"]
    large = why(ft.confront(quadratic(), [PFL(K=2, eta=1)], rounds=100, eta=0.5))
    assert large["sfl.thm2.general_convex"] == "at eta = 0.5 eta_tilde = 1; it admits 0 <= eta_tilde <= 0.1667"


def test_a_theorem_about_other_settings_or_assumptions_does_not_apply() -> None:
    some = why(ft.confront(quadratic(), [SFL(K=2, eta=1, S=2)], rounds=150))
    assert some["sfl.thm1.strongly_convex"].endswith("all clients take part; here 2 of 4 do")
    assert some["sfl.eq42.corrected"] == ""
    rough = why(ft.confront(quadratic(mu=-0.1, delta=0.4), [SFL(K=2, eta=1)], rounds=50))
    assert "every F_m convex; here the smallest curvature is -0.1" in rough["sfl.thm1.general_convex"]
    assert rough["sfl.thm1.nonconvex"] == ""
    unlike = why(ft.confront(quadratic(zeta_star=0.7), [ft.algorithms["FedCOM"](tau=2, eta=1)], rounds=50))
    assert all(
        "the same function; here nothing bounds how far their gradients are apart" in reason
        for reason in unlike.values()
    )
    compressor = ft.compressors["RandK"](k=1)
    damped = ft.algorithms["FedCOMGATE, damped"](tau=2, eta=1, compressor=compressor)
    assert "one mask for all" in why(ft.confront(quadratic(), [damped], rounds=50))["fedcom.thmE4.corrected"]


def test_a_curvature_of_zero_up_to_rounding_is_convex() -> None:
    flat = why(ft.confront(quadratic(mu=0.0, d=10, M=10), [PFL(K=2, eta=1)], rounds=20))
    assert flat["sfl.thm2.general_convex"] == ""
    assert flat["sfl.thm2.strongly_convex"] != ""


def test_without_a_theorem_the_reasons_are_printed_and_nothing_is_drawn(call: Any) -> None:
    status, out, err = call("confront", "quadratic", "FedBCGD", "T=2", "N=2", "K=2", "d=4", "M=4", "--plot", "fig.pdf")
    assert (
        status == 2 and "G does not exist" in out and err.startswith("fedtheory: nothing to draw: no theorem applies")
    )
    assert err.count("\n") == 1 and not Path("fig.pdf").exists()


def test_methods_without_a_theorem() -> None:
    prox = ft.algorithms["FedProx"](K=2, eta=1)
    with pytest.raises(ValueError, match="FedProx: no bound on their runs is known"):
        ft.confront(quadratic(), [prox])
    found = ft.confront(quadratic(), {"mine": prox, "PFL": PFL(K=2, eta=1)}, rounds=50, seeds=3, best=True)
    assert "mine: no bound on its runs is known" in found.notes
    assert [one.algorithm for one in found.best] == ["mine", "PFL"]
    for wrong in ([], [PFL(K=1, eta=1), PFL(K=2, eta=1)]):
        with pytest.raises(ValueError, match="each once or with a name of its own"):
            ft.confront(quadratic(), wrong)


def test_a_paper_of_ones_own() -> None:
    own = paper("beside", "A paper whose theorem is put beside its runs", step=K * eta)
    own.algorithm(FedAnchor)
    own.theorem(
        gap.last <= (1 - mu * h) ** R * Delta + 4 * L * h * sigma**2 / mu,
        when=h <= 1 / (4 * L),
        given=[smooth, strongly_convex_mean, noise.independent],
    )
    try:
        found = ft.confront(quadratic(sigma=0.1), [FedAnchor(K=2, eta=1)], rounds=50)
        (pair,) = found.pairs
        assert pair.theorem.statement.paper == "beside" and pair.theorem.value is not None and pair.data is not None
    finally:
        plugins.remove("beside")


def test_a_paper_of_ones_own_about_an_algorithm_of_the_repository_binds_no_setting_in_its_theorem() -> None:
    own = paper("proximal")
    prox = own.symbol("prox", "p", "factor of the proximal term", F / X**2, nonnegative=True)
    kind = ft.algorithms["FedProx"]
    own.algorithm(kind, "FedProx of a test")
    bound = (1 - mu * eta / 2) ** R * Delta + K * prox * sigma**2 / L**2  # false, and only evaluated here
    try:
        said = own.theorem(
            gap.last <= bound, "thm", when=eta <= 1 / (L + prox), given=[smooth, strongly_convex_mean, noise]
        )
        own.arena(said, quadratic(sigma=0.1), 20, K=3, prox=1.0)
        (one,) = theorems.theorems(quadratic(sigma=0.1), kind(K=5, eta=1, prox=0.2), 10)
        assert one.value is not None, one.why
    finally:
        plugins.remove("proximal")


def test_the_example_brings_the_theorem_of_scaffold(tmp_path: Path, table: str) -> None:
    words = ["SFL", "SCAFFOLD", "tau=2", "K=2", "rounds=60", "seeds=7,9", "regularisation=0.1"]
    options = [
        "--partition",
        "dirichlet",
        "--clients",
        "5",
        "alpha=0.3",
        "--best",
        "--plot",
        "fig.pdf",
        "--out",
        "all.csv",
    ]
    done = forked.fedtheory("--path", str(HOUSE / "shelf"), "confront", table, *words, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "Dir(0.3), 5 clients" in lines[1] and "zeta_star = " in lines[1]
    assert any(line.startswith("SCAFFOLD  scaffold.scaffold.strongly_convex") for line in lines)
    rows = pd.read_csv(tmp_path / "all.csv")
    own = rows[rows.theorem == "scaffold.scaffold.strongly_convex"]
    assert len(own) > 5 and (own["mean"] <= own.bound).all()
    assert (tmp_path / "fig.pdf").read_bytes().startswith(KINDS["pdf"])


@pytest.mark.dear
@pytest.mark.parametrize("ending", KINDS)
def test_figures_by_their_endings(call: Any, ending: str) -> None:
    words = ["quadratic", "PFL", "K=2", "d=2", "M=2", "rounds=20", "seeds=2"]
    numbers = ["L=1", "zeta=1", "beta=0", "sigma=1", "A=1", "M=2", "S=2", "K=2", "eta_tilde=0.1", "--over", "R=10..100"]
    commands = [
        ["confront", *words],
        ["simulate", *words, "eta=0.1"],
        ["compare", "sfl.thm1.nonconvex", "sfl.thm2.nonconvex", *numbers],
    ]
    for i, command in enumerate(commands):
        file = Path(f"{i}.{ending.upper()}")
        status, _, err = call(*command, "--plot", file.name)
        assert (status, err) == (0, "") and file.read_bytes().startswith(KINDS[ending]), command
        assert Path(f"{file}.csv").is_file()


def test_the_same_pdf_each_time(call: Any) -> None:
    for name in ("one", "two"):
        call("simulate", "quadratic", "PFL", "K=1", "eta=0.1", "rounds=3", "seeds=2", "--plot", f"{name}.pdf")
    assert Path("one.pdf").read_bytes() == Path("two.pdf").read_bytes()


def test_bad_input_is_one_line_and_nothing_is_overwritten(call: Any, table: str) -> None:
    before = Path(table).read_bytes()
    for words, says in (
        (["PFL", "--out", table], "mine.csv is the problem and --out"),
        (["PFL", "--plot", "fig.eps"], "fig.eps: expected a name that ends in .png or .svg or .pdf"),
        (["PFL", "eta=0.1,0.2"], "eta"),
        (["PFL", "K=2", "--clients", "3", "M=4"], "parameter M is given twice"),
        (["PFL", "--partition", "dirichlett"], "did you mean dirichlet"),
        (["PFL", "seeds=7,7"], "seeds=7,7: expected each seed once"),
        (["PFL", "seeds=1"], "seeds"),
        (["PFLL"], "did you mean PFL"),
    ):
        status, out, err = call("confront", table, *words)
        assert (status, out, err.count("\n")) == (2, "", 1) and says in err, (words, err)
    assert Path(table).read_bytes() == before and not Path("fig.eps").exists()


def test_json_says_which_theorem_applies(call: Any, table: str) -> None:
    words = ["K=2", "rounds=20", "seeds=2", "M=4", "partition=iid", "regularisation=1e-3", "--json"]
    status, out, _ = call("confront", table, "PFL", *words)
    found = {one["theorem"]: one for one in json.loads(out)["theorems"]}
    assert status == 0 and "needs R >= " in found["sfl.thm2.strongly_convex"]["does_not_apply"]
    assert found["sfl.thm2.general_convex"]["mean"] < found["sfl.thm2.general_convex"]["bound"]


def test_seeds_by_their_numbers(call: Any) -> None:
    words = ["quadratic", "PFL", "K=2", "eta=0.1", "rounds=5", "sigma=1"]
    for name, seeds in (("some", "7,9"), ("one", "7,"), ("all", "10")):
        assert call("simulate", *words, f"seeds={seeds}", "--out", f"{name}.csv")[0] == 0
    some, one, every = (pd.read_csv(f"{name}.csv") for name in ("some", "one", "all"))
    assert set(some.seed) == {7, 9} and set(one.seed) == {7}
    assert np.allclose(some.gap, every[every.seed.isin([7, 9])].gap, rtol=1e-9)
    for wrong in ("7,7", "7,-1", "7,x", "", ","):
        status, _, err = call("simulate", *words, f"seeds={wrong}")
        assert status == 2 and err.count("\n") == 1, (wrong, err)


def test_verify_on_data_takes_the_same_settings(call: Any, table: str) -> None:
    others = ["fedcom.thmD4.corrected", "fedbcgd.thm1.nonconvex.corrected"]
    ids = ["sfl.thm2.nonconvex", "sfl.thm1.strongly_convex", "fedbat.thm1.corrected", *others, "fedbcgd.lemma1"]
    own = ["--data", table, "--partition", "dirichlet", "--clients", "6", "alpha=0.3", "rounds=60", "seeds=3"]
    status, out, err = call("verify", *ids, *own, "target=label", "regularisation=1e-3", "--json")
    found = {c["id"]: c["evidence"][0] for c in json.loads(out)}
    assert (status, err) == (0, "") and found["sfl.thm2.nonconvex"]["verdict"] == "tested"
    assert "M=6" in found["sfl.thm2.nonconvex"]["says"] and "mine" in found["sfl.thm2.nonconvex"]["says"]
    assert {*found} == {*ids} - {"fedbcgd.lemma1"}, "what is no bound on runs is left out"
    assert {c["evidence"][0]["kind"] for c in json.loads(out)} == {"run"}
    assert [found[id_]["verdict"] for id_ in others] == ["open", "tested"]
    assert "it needs clients with the same function" in found[others[0]]["says"]
    assert found["sfl.thm1.strongly_convex"]["verdict"] == "open"
    assert "it needs R >= " in found["sfl.thm1.strongly_convex"]["says"]
    assert found["fedbat.thm1.corrected"]["says"].endswith("all clients take part; here 4 of 6 do")
    more = call("verify", "fedbat.thm1.corrected", *own, "K=6", "target=label", "regularisation=0.1")[1]
    assert "fedbat.thm1.corrected: tested" in more and "by runs on" in more and "alone" in more


def test_verify_refuses_settings_without_an_effect(call: Any, table: str) -> None:
    for words, says in (
        (["K=5"], "K=5: expected --data DATA"),
        (["--data", table, "prox=1"], "unknown parameter prox; expected"),
        (["--data", table, "M=3", "--clients", "4"], "parameter M is given twice"),
        (["--data", table, "--partition", "iid", "alpha=3"], "alpha would have no effect"),
    ):
        status, out, err = call("verify", "sfl.thm2.nonconvex", *words)
        assert (status, out, err.count("\n")) == (2, "", 1) and says in err, (words, err)


def test_an_arena_of_ones_own_is_drawn_and_its_counts_bind_no_other_run(tmp_path: Path) -> None:
    p = paper("counted", step=K * eta)
    try:
        p.algorithm(FedAnchor)
        bound = (1 - mu * h / 2) ** R * Delta + 12 * L * h * sigma**2 / mu
        t = p.theorem(gap.last <= bound, "thm", when=h <= 1 / (4 * L), given=[smooth, strongly_convex_mean, noise])
        arena = p.arena(t, quadratic(sigma=0.5), 20, K=3, given=(("M", 7.0), ("K", 9.0)))
        for ending, start in KINDS.items():
            assert arena.plot(tmp_path / f"a.{ending}").read_bytes().startswith(start)
            assert (tmp_path / f"a.{ending}.csv").exists()
        with pytest.raises(ValueError, match=r"a\.jpg"):
            arena.plot(tmp_path / "a.jpg")
        assert dict(arena.arena.given) == {"M": 7.0, "K": 9.0} and not theorems._given([arena.arena])
    finally:
        plugins.remove("counted")


def test_sparse_data_is_simulated_confronted_and_verified(call: Any) -> None:
    """Three columns in ten thousand: as a dense array the file would be five hundred times as large."""
    rng = np.random.default_rng(0)
    rows = [(i % 2, [*sorted(rng.choice(9_999, 2, replace=False) + 1), 10_000]) for i in range(60)]
    Path("wide.libsvm").write_text("".join(f"{y} " + " ".join(f"{j}:1" for j in js) + "\n" for y, js in rows))
    dealt = ("M=4", "partition=iid", "regularisation=0.1")
    status, out, _ = call("simulate", "wide.libsvm", "SFL", "PFL", "K=2", "eta=0.5", "rounds=3", "seeds=2", *dealt)
    assert status == 0 and "60 rows, 10000 features, kept sparse" in out
    status, out, err = call("confront", "wide.libsvm", "SFL", "K=2", "rounds=60", "seeds=2", *dealt, "--json")
    measured = [row for row in json.loads(out)["theorems"] if "mean" in row]
    assert status == 0 and measured and all(0 < row["mean"] <= row["bound"] for row in measured), err
    settings = ("rounds=5", "seeds=2", *dealt)
    status, out, _ = call("verify", "sfl.thm1.general_convex", "--data", "wide.libsvm", *settings)
    assert status == 0 and "tested" in out
    status, _, err = call("simulate", "wide.libsvm", "PFL", "eta=0.1", "loss=squared", "M=4")
    assert status == 2 and "the 4 Hessians of least squares, wide in 10000 coordinates would take about 5.96 GiB" in err
