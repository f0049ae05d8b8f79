"""What is true of every algorithm: a run is its own, S clients take part, settings are whole numbers or rates or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from by_hand import SEEDS, Layered, close, trajectory
from spy import Spy, built, small

from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.sfl import SSL, SplitFed
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.partitions import dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.simulations.problems.two_part import TwoPart

DIGITS = small("digits", 40, 3, 3)
DATA = Logistic(DIGITS, dirichlet(DIGITS.labels, 4, 2.0, 0), 0.1, batch=2)
NETWORK = TwoPart(DIGITS, DATA.partition, 2, 0.01, batch=2)
QUADRATIC: Any = Layered(generate(9, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3), {"a": slice(0, 4), "b": slice(4, 9)})
SETTINGS: dict[str, Any] = {"eta": 0.05, "T": 2, "K": 2, "tau": 2, "Q": 2, "p": 0.5, "k": 2, "N": 2}
SAMPLED: dict[str, Any] = {"S": 2, "compressor": RandK(1), "share": 1, "lam": 0.5, "q": 0.5}  # besides these
NAMES = sorted(registry())
OWN: dict[str, dict[str, Any]] = {  # settings of other meanings
    **{name: {"k": 0.5} for name in NAMES if "GATE" in name},
    **{name: {"S": 4} for name in ("STEM", "BVR-L-SGD")},
    "CyCP": {"groups": 2, "S": 1},
    "AmplifiedFedAvg": {"groups": 2, "S": 1},
}


def algorithm_of(name: str, **given: Any) -> Any:
    return built(name, **SETTINGS | SAMPLED | OWN.get(name, {}) | given)


@pytest.mark.parametrize("kind", [*NAMES, SSL, SplitFed], ids=str)
def test_a_run_does_not_depend_on_seeds_and_step_sizes_beside_it(kind: Any) -> None:
    """Nor does a step size that diverges spoil the others; seeds differ."""

    def found(eta: Any, seeds: Any = SEEDS) -> np.ndarray:
        if isinstance(kind, str):
            return trajectory(DATA, algorithm_of(kind, eta=eta), seeds=seeds)
        return trajectory(NETWORK, kind(3, eta, S=2), seeds=seeds)

    etas = [0.05, 1e150, 0.2]
    together = found(etas)
    assert not close(together[:, 0, 0], together[:, 0, 1], 1e-6)
    for (e, eta), (n, seed) in product(enumerate(etas), enumerate(SEEDS)):
        assert eta == 1e150 or close(found(eta, [seed])[:, 0, 0], together[:, e, n], 1e-12)
    np.testing.assert_array_equal(found(etas), together)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "VRDIANA"])
def test_the_clients_that_take_part(name: str) -> None:
    """S of the four are asked for gradients (or one goes on alone), another run than with all; five are refused."""
    some = algorithm_of(name)
    S = some.participants(QUADRATIC)
    spy = Spy(QUADRATIC)
    found = trajectory(spy, some)
    asked = {x.shape[2] for x, _ in spy.gradients if x.ndim == 4}
    assert asked <= {S, 4, 1}
    if "S" in {f.name for f in fields(some)} and S < 4:
        assert S == some.S and asked <= {S, 1}
        with pytest.raises(ValueError, match="but a group has 2 clients|M = 4 clients: expected"):
            replace(some, S=5).participants(QUADRATIC)
        if not hasattr(some, "groups"):
            assert not close(found, trajectory(QUADRATIC, replace(some, S=None)), 1e-6)


WRONG: dict[str, tuple[Any, ...]] = {
    "eta": (0.0, -0.1, np.nan, [0.1, np.inf], [], [[0.1]]),
    "S": (0, 2.0),
    **dict.fromkeys(("T", "K", "tau", "Q", "N", "k", "groups"), (0, -3, 1.5, np.nan)),
    **dict.fromkeys(("gamma", "eta_server"), (0.0, np.nan)),
    **dict.fromkeys(("lam", "momentum", "dampening", "beta1", "beta2", "phi", "sparsity"), (1.0, -0.1, np.nan)),
    **dict.fromkeys(("damping", "alpha", "prox", "rho"), (-1.0, np.nan)),
    **dict.fromkeys(("q", "p", "beta", "a"), (0, 1.1, np.nan)),
    **dict.fromkeys(("stage", "reset"), (0, 1.5)),
}


@pytest.mark.parametrize("kind", [*NAMES, SSL, SplitFed], ids=str)
def test_numbers_that_are_refused(kind: Any) -> None:
    """Of whole numbers the negative ones and fractions, of rates what is not positive and finite."""
    good = algorithm_of(kind) if isinstance(kind, str) else kind(2, 0.1)
    for setting in WRONG.keys() & {f.name for f in fields(good) if f.init} - (
        {"tau"} if kind in ("FedAdam", SSL) else set()
    ):
        for wrong in WRONG[setting]:
            with pytest.raises(ValueError, match=rf"{setting}(\[1\])? = .*: expected "):
                replace(good, **{setting: wrong})


def test_a_setting_annotated_anew_keeps_its_check() -> None:
    """Also in a class of the reader's own, inside a function."""

    @dataclass(frozen=True, eq=False)
    class Warm(registry()["PFL"]):  # type: ignore[misc]
        eta: Any
        warmth: Annotated[float, "in [0, 1)"] = 0.5

    @dataclass(frozen=True, eq=False)
    class Told(Warm):
        extra: "any number, such as 1" = 1.0  # type: ignore[valid-type]  # noqa: F722

    assert Warm(2, 0.1).warmth == 0.5
    with pytest.raises(ValueError, match=r"eta = -1: expected "):
        Warm(2, -1)
    with pytest.raises(ValueError, match=r"warmth = 1: expected a number in \[0, 1\)"):
        Warm(2, 0.1, warmth=1)
    with pytest.raises(ValueError, match=r"K = 0: expected a whole number"):
        Told(0, 0.1)
    assert Told(2, 0.1).extra == 1


def words(annotation: Any) -> tuple[str, ...]:
    """Those that a setting may be, by its annotation."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(word for part in get_args(annotation) if not isinstance(part, str) for word in words(part))


KINDS = {type(one): name for name in reversed(NAMES) for one in (algorithm_of(name),)}
WORDS = [
    (name, setting, one_of)
    for kind, name in KINDS.items()
    for setting, annotation in get_type_hints(kind, include_extras=True).items()
    if (one_of := words(annotation))
]


@pytest.mark.parametrize(("name", "setting", "one_of"), WORDS)
def test_words_that_are_refused(name: str, setting: str, one_of: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{setting} = 'odd': expected one of {str(one_of)[1:-1]}")):
        replace(algorithm_of(name), **{setting: "odd"})
    for word in one_of:
        assert getattr(replace(algorithm_of(name), **{setting: word}), setting) == word


def test_many_settings_are_words() -> None:
    """A list that is computed may become empty."""
    assert len(WORDS) >= 21


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("FedCOMGATE", {"k": 0.0}, "k = 0.0: expected a number in (0, 1]"),
        ("FedCOMGATE", {"k": 1.1}, "k = 1.1"),
        ("FedCOMGATE", {"sign": 0}, "sign = 0: expected 1 or -1"),
        ("FedBCGD", {"share": -1}, "share = -1: expected a whole number >= 0"),
        ("FedBCGD", {"freeze": 1}, "freeze = 1: expected True or False"),
        ("FedAdam", {"tau": 0}, "tau = 0: expected a finite number > 0"),
        ("FedAdam", {"eta_server": np.inf}, "eta_server = inf: expected a finite number > 0"),
        ("FedBAT", {"least": -1}, "least = -1"),
        ("FedBAT", {"clamp": (2, 1)}, "clamp = (2, 1): expected two finite numbers, 0 <= least <= largest"),
        ("FedBAT", {"clamp": 0.5}, "clamp = 0.5: expected two finite numbers"),
        ("FedBAT", {"clamp": (0.1, np.inf)}, "clamp[1] = inf: expected two finite numbers"),
        ("FedBAT", {"clamp": (0.1, 0.2), "step_size": "max"}, "clamp with step_size = 'max'"),
        ("FedBAT", {"full": "norm"}, "full = norm: expected a list of words"),
        ("FedNova", {"tau": (2, 0)}, "tau = 0: expected a whole number of local steps >= 1"),
        ("FedNova", {"tau_eff": 0}, "tau_eff = 0: expected a finite number > 0"),
        ("FedNova", {"normalises": 1}, "normalises = 1: expected"),
        ("AmplifiedFedAvg", {"amplification": 0.5}, "amplification = 0.5: expected a finite number >= 1"),
        ("FedDyn", {"alpha": 0.0}, "alpha = 0.0: expected a finite number > 0"),
        ("FedPM", {"clamp": 0.5}, "clamp = 0.5: expected"),
        # what does not fit a problem with M = 4 clients and d = 9 coordinates
        ("FedCOMGATE", {"k": 0.2}, "k = 0.2, but quadratics, d=9"),
        ("VRDIANA", {}, "with VR-DIANA: expected a finite sum"),
        ("FedBCGD", {"K": 3}, "has M = 4 clients: expected N K <= M"),
        ("FedBCGD+", {"N": 3, "K": 1, "share": 7}, "N = 3 blocks, d = 9, share = 7: expected N <= d - share"),
        ("TopKFedAvg", {"k": 10}, "k = 10"),
        ("FedNova", {"tau": (2, 3)}, "tau = (2, 3): expected a number for each of the M = 4"),
        ("CyCP", {"groups": 3}, "has M = 4 clients: expected a divisor of M"),
        ("CyCP", {"S": 3}, "S = 3, but a group has 2 clients"),
        ("RCP", {"S": 3}, "has M = 4 clients: expected a divisor of M"),
        ("BVR-L-SGD", {"S": 2}, "S = 2, but in BVRLSGD all M = 4 clients take part"),
        ("STEM", {"S": 2}, "S = 2, but in STEM all M = 4 clients take part"),
        ("FedBCD", {"N": 10}, "N = 10 blocks, d = 9"),
    ],
)
def test_settings_that_are_refused(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        run(QUADRATIC, algorithm_of(name, **settings), rounds=1)


@pytest.mark.parametrize(
    ("name", "settings", "symbols"),
    [
        ("FedCOM", {"gamma": 2.0}, {"m": 4, "tau": 2, "gamma": 2, "q": 8}),
        ("FedCOMGATE", {"gamma": 2.0}, {"m": 4, "tau": 2, "gamma": 2, "q": 8}),
        ("FedGATE", {"gamma": 2.0}, {"m": 4, "tau": 2, "gamma": 2, "q": 0}),
        ("DIANA", {}, {"m": 4, "tau": 1, "gamma": 1, "q": 8}),
        ("FedPAQ", {}, {"m": 4, "tau": 2, "gamma": 1, "q": 8}),
        *(
            (name, {"K": 1}, {"M": 4, "N": 2, "K": 1, "S": 2, "T": 2, "lam": 0.5, "alpha": 2, "gamma": 1})
            for name in ("FedBCGD", "FedBCGD+")
        ),
        ("FedAvgM", {}, {"M": 4, "S": 2, "T": 2, "lam": 0.5}),
        ("FedAdam", {}, {"M": 4, "S": 2, "T": 2, "eta_server": 0.1, "beta1": 0.9, "beta2": 0.99, "tau": 2}),
        ("FedDC", {"alpha": 0.2}, {"M": 4, "S": 2, "T": 2, "alpha": 0.2}),
        ("FedLin", {}, {"M": 4, "S": 4, "T": 2}),
        ("SLocalGD", {}, {"M": 4, "S": 4, "T": 2, "q": 0.5}),
        ("TopKFedAvg", {}, {"M": 4, "S": 2, "T": 2, "k": 2}),
        *(
            ("FedNova", more, {"M": 4, "S": 2, "tau": 2.75, "tau_max": 5, "tau_min": 1, **told})
            for more, told in (
                ({"tau": (2, 5, 1, 3)}, {"tau_eff": 2.75}),
                ({"tau": (2, 5, 1, 3), "tau_eff": 1.5}, {"tau_eff": 1.5}),
                ({"tau": (2, 5, 1, 3), "momentum": 0.5}, {}),
            )
        ),
    ],
)
def test_symbols(name: str, settings: dict[str, Any], symbols: dict[str, float]) -> None:
    assert algorithm_of(name, **settings).symbols(QUADRATIC) == symbols


@pytest.mark.parametrize(
    ("name", "settings", "up", "down"),
    [
        ("FedCOMGATE", {"k": 1.0}, 32 + 4, 32 * 9),
        ("FedCOMGATE", {}, 32 + 4, 2 * 32 * 9),
        ("FedGATE", {"option": "II"}, 32 * 9, 2 * 32 * 9),
        *((name, {}, 32 + 4, 32 * 9) for name in ("FedCOM", "SparseFedCOMGATE", "FedPAQ", "DIANA", "VRDIANA")),
        ("SLocalGD", {"q": 0.25}, 1.25 * 32 * 9, 1.25 * 32 * 9),
        ("CE-LSGD", {}, 1.5 * 32 * 9, 2.5 * 32 * 9),
        ("Mime", {"momentum": 0.0}, 2 * 32 * 9, 2 * 32 * 9),
        ("MimeLite", {"momentum": 0.0}, 32 * 9, 32 * 9),
        ("FedPM", {}, 9, 32 * 9),
        ("BiFL", {}, 2 * 32 + 9, 32 * 9),
        ("Stoc-SignSGD", {}, 9, 32 * 9),
        ("EF-SignSGD", {}, 32 + 9, 32 * 9),
    ],
)
def test_bits_that_depend_on_settings(name: str, settings: dict[str, Any], up: float, down: float) -> None:
    """What a system sends with its usual settings is in SYSTEMS.md, and tested there."""
    algorithm = algorithm_of(name, **settings)
    assert (algorithm.uplink_bits(QUADRATIC), algorithm.downlink_bits(QUADRATIC)) == (up, down)
