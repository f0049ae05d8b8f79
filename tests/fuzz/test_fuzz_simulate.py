"""Fuzzed: simulate, on generated quadratics, embedded data, files, and a file of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from driver import NASTY, Answer, cases, counts, fedtheory, mostly, reals
from hypothesis import strategies as st

from fedtheory.arguments import number
from fedtheory.simulate import DATA, QUADRATIC, parameters
from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.problems.quadratic import generate

OWN = """
from dataclasses import dataclass
from typing import Any
from fedtheory.simulations.algorithms.base import LocalSteps, aggregated, participating, to_clients
from fedtheory.simulations.problems.quadratic import generate

@dataclass(frozen=True)
class Mine(LocalSteps):
    factor: float = 1.0
    def round(self, problem, x, eta, draws, watch, memory):
        clients = participating(problem, draws, self.participants(problem))
        y = to_clients(x, clients.shape[1])
        watch(y)
        return x - self.factor * eta * problem.gradient(y, clients, draws.of(clients).step(0)).mean(axis=2)

PROBLEMS = {"mine": lambda: generate(d=2, M=3, L=1.0, mu=0.5), "broken": lambda: 1 / 0, "no problem": 3}
"""
CSV = "a,b,who,y\n" + "".join(f"{i % 3},{i * 0.5},c{i % 2},{i % 2}\n" for i in range(12))
FILES = ("mine.csv", "data.libsvm", "H.npz", "rows.npz", "broken.npz", "broken.csv", "empty")
WORDS: dict[str, st.SearchStrategy[str]] = {
    "eta": st.one_of(reals(1e-4, 1.0), st.lists(reals(1e-4, 1.0), min_size=1, max_size=6).map(",".join)),
    "rounds": counts(12),
    "seeds": counts(6),
    "x0": st.one_of(reals(), st.just("0"), st.lists(reals(), min_size=1, max_size=3).map(",".join)),
    **dict.fromkeys(("d", "M", "K", "S", "tau", "T", "N", "k", "C", "label", "seed", "share", "batch"), counts(6)),
    **dict.fromkeys(("L", "mu", "zeta_star", "delta", "sigma", "alpha", "gamma", "prox", "lam"), reals(1e-2, 2)),
    "compressor": st.sampled_from(
        ["RandK:2", "RandK(k=1, shared=True)", "QSGD(s=3)", "TopK:1", "Sign", "Nothing", "RandK"]
    ),
    "partition": st.sampled_from(["iid", "exdir", "dirichlet", "quantity", "shards", "none"]),
    "loss": st.sampled_from(["logistic", "sigmoid", "squared", "hinge"]),
    "regularisation": st.one_of(reals(1e-3, 1), st.just("1e-3L")),
    "weights": st.sampled_from(["sizes", "1"]),
    "target": st.sampled_from(["y", "a", "3", "who", "zz"]),
    "client": st.sampled_from(["who", "2", "y", "-1"]),
    "factor": reals(0.1, 2),
}


def files() -> None:
    """Files in the current folder, once."""
    if Path("mine.csv").exists():
        return
    Path("mine.csv").write_text(CSV)
    Path("data.libsvm").write_text("".join(f"{i % 2} 1:{i} 2:{i * i % 5}\n" for i in range(12)))
    Path("mine.py").write_text(OWN)
    Path("broken.py").write_text("import nothing_of_this_name\n")
    Path("broken.csv").write_text("a,b\n1\n,,,\n")
    Path("broken.npz").write_bytes(b"PK\x03\x04")
    Path("empty").write_text("")
    np.savez("H.npz", H=np.array([[[1.0]], [[2.0]]]), b=np.array([[1.0], [-1.0]]), sigma=0.5)
    np.savez("rows.npz", features=np.eye(6), labels=np.arange(6) % 2, clients=np.arange(6) % 3)


@st.composite
def commands(draw: Any) -> list[str]:
    problem = draw(
        st.one_of(
            st.just("quadratic"),
            st.just("quadratic"),
            st.sampled_from(["sfl.quad.table2.g2", "mine", "broken", "no problem", *FILES, *NASTY]),
            st.sampled_from(["sfl.quad.table2.g9", "breast_cancer"]),
        )
    )
    names = ["SFL", "PFL", "FedProx", "FedNova", "Mine", *sorted(registry())]
    algorithms = draw(
        st.lists(st.sampled_from(names), min_size=1, max_size=2 if draw(st.booleans()) else 1, unique=True)
    )
    if not draw(st.integers(0, 20)):
        algorithms.append(draw(st.one_of(st.sampled_from(NASTY), st.text(max_size=9))))
    own = {s for name in algorithms if name in registry() for s in parameters(registry()[name])} | {"K"}
    takes = [*own, *(QUADRATIC if problem == "quadratic" else DATA)] if draw(st.integers(0, 8)) else list(WORDS)
    chosen = ["eta", "rounds", "seeds", *draw(st.lists(st.sampled_from(sorted(takes)), max_size=4, unique=True))]
    words = []
    for name in dict.fromkeys(chosen):
        good = WORDS.get(name, st.sampled_from(NASTY))
        words.append(f"{name}={draw(mostly(good) if not draw(st.integers(0, 4)) else good)}")
    if not draw(st.integers(0, 15)):
        words.append(draw(st.one_of(st.sampled_from(NASTY), st.text(max_size=9))))
    if not draw(st.integers(0, 10)):
        words.pop(0)
    flags = draw(
        st.lists(
            st.sampled_from(["--json", "--best", "--from=mine.py", "--from=broken.py", "--out=o/x.csv"]), max_size=2
        )
    )
    if "Mine" in algorithms or problem in ("mine", "broken", "no problem"):
        flags.append("--from=mine.py")
    if not draw(st.integers(0, 30)):
        flags.append(
            draw(
                st.sampled_from(["--out=/dev/null/x", "--out=.", f"--out={'x' * 300}", "--plot=x.jpg", "--plot=p.png"])
            )
        )
    return ["simulate", problem, *algorithms, *words, *flags]


def right(words: list[str]) -> None:
    files()
    answer = fedtheory(*words)
    assert not list(Path(".").rglob("*.partial"))
    if answer.status == 0 and "--json" in words and not {"--best", "--help"} & {*words}:
        against_the_library(words, answer)


def against_the_library(words: list[str], answer: Answer) -> None:
    """PFL with exact gradients and all clients, run by the library, where that is what was run."""
    found = json.loads(answer.out)
    if isinstance(found, list):
        return
    told = found["settings"]
    algorithm = json.loads(told["algorithm"])
    for row in found["summary"]:
        assert row["diverged"] >= 0 and (row.get("gap") is None or row["gap"] >= -1e-9 * (1 + abs(row.get("value", 0))))
    if words[1] != "quadratic" or algorithm["name"] != "PFL" or algorithm["S"] is not None:
        return
    given = QUADRATIC | {n: v for n, _, v in (w.partition("=") for w in words[3:]) if n in QUADRATIC}
    values: dict[str, Any] = {
        n: int(number(n, v)) if n in ("d", "M", "seed") else number(n, v) for n, v in given.items()
    }
    if values["sigma"]:
        return
    etas, rounds = np.atleast_1d(algorithm["eta"]), int(told["rounds"])
    own = run(
        generate(**values), PFL(algorithm["K"], etas), rounds=rounds, x0=json.loads(told["x0"]), record=("dist2",)
    )
    for eta, here in zip(etas, own.dist2.values[:, 0, -1], strict=True):
        (last,) = [r for r in found["summary"] if r["round"] == rounds and r["eta"] == eta][:1]
        assert last["dist2"] is None or abs(last["dist2"] - here) <= 1e-6 * here + 1e-18, (last, here)


test_simulate = cases(commands())(right)
