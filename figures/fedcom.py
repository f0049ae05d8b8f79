"""Figures of the FedCOM paper: bits, Figures 7 to 9, conditions, printed against corrected, bounds against runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import sympy
import xarray as xr
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from fedtheory.bounds.fedcom import rate_table
from fedtheory.figures import best_constants, bound_against_run, every_count, rate_tables
from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, FigureData, Picture, canvas
from fedtheory.figures.runs import BAND, Rows, best_of_grid, curve, rows_of, some
from fedtheory.figures.styles import CORRECTED, PRINTED, mark_all, ordered
from fedtheory.simulations import data, expectation, partitions, run
from fedtheory.simulations.algorithms.fedcom import (
    DIANA,
    SCAFFOLD,
    VRDIANA,
    FedCOM,
    FedCOMGATE,
    FedGATE,
    FedPAQ,
    SparseFedCOMGATE,
)
from fedtheory.simulations.compressors import (
    QSGD,
    Bernoulli,
    Compressor,
    Dithering,
    Identity,
    RandK,
    Rounding,
    Sparsifier,
    StochasticSign,
    TopK,
)
from fedtheory.simulations.exact.linear import spectral_radius
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Relations

Method = FedCOM | FedPAQ | FedCOMGATE | FedGATE | SCAFFOLD | DIANA

_GAP = r"gap $f(w^{(r)})-f(w^{(*)})$  (units of $f$)"
_DISTANCE = r"distance to $w^{(*)}$  (units of $w$)"

# ------------------------------------------------------------------------------------------------ runs, drawn


@cache
def breast_cancer(clients: str, batch: int | None = 16) -> Logistic:
    """Binary logistic regression, ten clients: "IID", or "one class" each."""
    dataset = data.scaled(data.load("breast_cancer"))
    if clients == "IID":
        partition = partitions.iid(dataset.labels, 10, seed=0)
    else:
        partition = partitions.exdir(dataset.labels, 10, 1, 10.0, seed=0)
    return Logistic(dataset, partition, regularisation=1e-3, batch=batch)


@cache
def digits(clients: str, M: int, batch: int | None = None) -> Logistic:
    """Multinomial logistic regression on the digits: "IID", or "two classes" a client."""
    dataset = data.scaled(data.load("digits"))
    dealt = partitions.iid(dataset.labels, M, seed=0)
    if clients != "IID":
        dealt = partitions.quantity(dataset.labels, M, 2, seed=0)
    return Logistic(dataset, dealt, regularisation=1e-3, batch=batch)


# ------------------------------------------------------------------------------------------------- communication

TAU = 5
STEPS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # grid of eta
BUDGET = 20_000  # bits of uplink per client
_BITS = "uplink bits per client, cumulative (kbit)"
_FINE, _MIDDLE, _COARSE = ordered(3)
COMPRESSORS: dict[str, dict[str, tuple[Compressor, str, str]]] = {  # row -> label -> compressor, colour, dashes
    "rounding to levels": {
        "none": (Identity(), BLACK, "-"),
        "QSGD, s = 1": (QSGD(1), _COARSE, "-"),
        "QSGD, s = 4": (QSGD(4), _MIDDLE, "-"),
        "QSGD, s = 16": (QSGD(16), _FINE, "-"),
        "dithering, s = 4": (Dithering(4), ORANGE, "--"),
        "rounding, s = 4 (biased)": (Rounding(4), RED, ":"),
    },
    "few coordinates, or signs": {
        "none": (Identity(), BLACK, "-"),
        "random k = 6": (RandK(6), BLUE, "-"),
        "top k = 6 (biased)": (TopK(6), RED, "-."),
        "all or nothing, p = 1/4": (Bernoulli(0.25), "#8b5e3c", "--"),
        "each with p = 1/4": (Sparsifier(0.25), SKY, "-"),
        "stochastic signs": (StochasticSign(), PURPLE, "-"),
    },
}


def _within_budget(
    axis: Any, problem: Logistic, name: str, algorithm: Method, budget: float, seeds: int, **style: Any
) -> Rows:
    """The tuned gap of one algorithm against the bits that a client has sent; returns the numbers."""
    bits = algorithm.uplink_bits(problem)
    rounds = int(budget // bits)
    runs = run(problem, algorithm, rounds=rounds, seeds=range(seeds), x0=0.0, record=("gap",), at=some(rounds))
    best, converges = best_of_grid(runs)
    told: dict[str, object] = {
        "problem": problem.name,
        "method": name,
        "bits_a_round": bits,
        "eta": float(best.step_size),
        "converges": int(converges),
    }
    return curve(axis, best["round"].values * bits / 1000, best.gap, told, label=name, **style)


def _against_bits(axis: Any, title: str, floor: float, top: float) -> None:
    """Scales, limits and title; what diverges is marked where it leaves the panel."""
    axis.set(yscale="log", ylim=(floor, top), xlim=(0, BUDGET / 1000), title=title)
    mark_all(axis, "")


def compressors(full: bool = False) -> FigureData:
    """Gap against bits for every compressor: FedCOM, and FedCOMGATE as printed and damped."""
    figure, axes = canvas(2, 3, width=4.4, height=3.0, sharex=True, sharey=True)
    seeds = 20 if full else 3
    rows: dict[tuple[str, str], Rows] = {}  # what both rows of panels show is told once
    panels: tuple[tuple[str, str, Callable[..., Method]], ...] = (
        ("FedCOM, IID clients", "IID", FedCOM),
        ("FedCOMGATE as printed, one class a client", "one class", FedCOMGATE),
        ("FedCOMGATE damped by 1/(1+q), one class a client", "one class", partial(FedCOMGATE, damping=None)),
    )
    for row, (kind, group) in enumerate(COMPRESSORS.items()):
        line = axes[row]
        for axis, (title, clients, algorithm) in zip(line, panels, strict=True):
            problem = breast_cancer(clients)
            for label, (Q, colour, dashes) in group.items():
                if "damped" in title and Q.q(problem.d).value is None:
                    continue  # no q, hence no damping factor
                method = algorithm(tau=TAU, eta=list(STEPS), compressor=Q)
                found = _within_budget(axis, problem, label, method, BUDGET, seeds, color=colour, ls=dashes)
                rows[title, Q.name] = [{"panel": title, "compressor": Q.name, **one} for one in found]
            _against_bits(axis, "" if row else title, 1e-5, 1e2)
        line[0].set_ylabel(_GAP)
        handles, labels = line[0].get_legend_handles_labels()
        line[2].legend(
            handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5), title=f"{kind}:", title_fontsize=8
        )
    for axis in axes[1]:
        axis.set_xlabel(_BITS)
    figure.suptitle(
        "fedcom: with which compressors FedCOMGATE, as printed and damped, gets to the minimum "
        "(arrow: at no step size of the grid)\n"
        f"logistic regression on breast_cancer, 10 clients, mini-batches of 16, $\\tau$ = {TAU}, $\\gamma$ = 1, best "
        f"$\\eta$ of {STEPS[0]:g}, {STEPS[1]:g}, {STEPS[2]:g} ... {STEPS[-1]:g}; {BAND.format(seeds)}",
        fontsize=10,
    )
    return FigureData(figure, pd.DataFrame([row for each in rows.values() for row in each]))


SYSTEMS: dict[str, tuple[Method, str, str]] = {
    "FedAvg": (FedPAQ(TAU, list(STEPS)), GREY, "-"),
    "FedPAQ": (FedPAQ(TAU, list(STEPS), QSGD(4)), GREY, "--"),
    "SCAFFOLD": (SCAFFOLD(TAU, list(STEPS)), ORANGE, "-"),
    "FedGATE": (FedGATE(TAU, list(STEPS)), SKY, "-"),
    "FedCOMGATE, damped": (FedCOMGATE(TAU, list(STEPS), compressor=QSGD(4), damping=None), BLUE, "-"),
    "FedCOMGATE, printed": (FedCOMGATE(TAU, list(STEPS), compressor=QSGD(4)), BLACK, "--"),
    "DIANA": (DIANA(list(STEPS), QSGD(4)), GREEN, "-"),
    "VR-DIANA": (VRDIANA(list(STEPS), QSGD(4)), RED, "-"),
}
BESIDE: dict[str, tuple[str, ...]] = {  # row of panels -> its methods
    "averaging": ("FedAvg", "FedPAQ", "FedCOMGATE, damped"),
    "tracking": ("SCAFFOLD", "FedGATE", "FedCOMGATE, damped", "FedCOMGATE, printed", "DIANA", "VR-DIANA"),
}


def systems(full: bool = False) -> FigureData:
    """Gap against bits of the methods that the paper compares, with mini-batches and with exact gradients."""
    figure, axes = canvas(2, 2, width=5.0, height=2.7, sharex=True, sharey="col")
    seeds = 20 if full else 3
    rows: dict[tuple[str, str], Rows] = {}
    for column, (batch, floor) in enumerate(((16, 1e-5), (None, 1e-8))):
        problem = breast_cancer("one class", batch)
        title = "exact gradients" if batch is None else f"mini-batches of {batch}"
        title += " (VR-DIANA: one sample)"
        for axis, names in zip(axes[:, column], BESIDE.values(), strict=True):
            for name in names:
                method, colour, line = SYSTEMS[name]
                width = 2.6 if name == "FedCOMGATE, damped" else 1.4  # visible below another line
                found = _within_budget(axis, problem, name, method, BUDGET, seeds, color=colour, ls=line, lw=width)
                rows[title, name] = [{"panel": title, **row} for row in found]
            _against_bits(axis, title if axis is axes[0, column] else "", floor, 1.0)
        axes[1, column].set_xlabel(_BITS)
    for line, kind in zip(axes, BESIDE, strict=True):
        line[0].set_ylabel(f"{kind}\n{_GAP}")
        line[0].legend(loc="upper right")
    figure.suptitle(
        f"fedcom: logistic regression on breast_cancer, 10 clients with one class each; {QSGD(4).name} where compressed, "
        f"$\\tau$ = {TAU} (DIANA 1),\nbest $\\eta$ of {STEPS[0]:g} ... {STEPS[-1]:g}; {BAND.format(seeds)}"
    )
    return FigureData(figure, pd.DataFrame([row for each in rows.values() for row in each]))


# ---------------------------------------------------------------------------------------------- Figure 9: q and tau

QS, TAUS = (0.0, 0.5, 1.0, 2.0, 4.0), (1, 2, 5, 10)
OF_Q, OF_TAU = ordered(len(QS)), ordered(len(TAUS), "inferno")
FORMS: tuple[tuple[str, float | None], ...] = (("printed", 1.0), ("damped", None))  # with its damping


def with_q(q: float) -> Compressor:
    """A compressor with this q: all clients keep the same random coordinates, so Assumption 5 holds with G_q = 0."""
    return Sparsifier(1 / (1 + q), shared=True)


@cache
def quadratics(sigma: float = 0.0) -> Quadratic:
    """Four clients in five dimensions, heterogeneous, L = 1, mu = 0.1 for each client."""
    apart = 0.1 * np.array([1.0, 1.0, -1.0, -1.0])
    H = (np.linspace(0.2, 0.9, 5) + apart[:, None])[..., None] * np.eye(5)
    b = np.random.default_rng(1).standard_normal((4, 5))
    return Quadratic(H, b - b.mean(0), sigma, "four quadratics")


def q_and_tau(full: bool = False) -> FigureData:
    """Figure 9: q at fixed tau, tau at fixed q, on two problems; below the exact factors per round."""
    figure, axes = canvas(3, 4, width=3.3, height=2.6)
    seeds = 20 if full else 4
    exact, clients = quadratics(sigma=0.1), breast_cancer("one class")

    def expected(method: FedCOMGATE) -> xr.DataArray:
        found = expectation(exact, method, rounds=300, x0=1.0, record=("gap",), at=some(300, 100))
        return found.gap.isel(step_size=0).expand_dims("seed")

    def sampled(method: FedCOMGATE) -> xr.DataArray:
        found = run(clients, method, rounds=120, seeds=range(seeds), x0=0.0, record=("gap",), at=some(120, 100))
        return found.gap.isel(step_size=0)

    rows = _along_q_and_tau(axes[0], "quadratics, exact expectation", 0.05, (1e-5, 1e3), expected)
    rows += _along_q_and_tau(axes[1], f"logistic regression, {seeds} seeds", 4.0, (1e-4, 1e3), sampled)
    rows += _factors(axes[2])
    told: dict[str, Any] = {"ncols": 5, "title_fontsize": 8}
    for axis, side in ((axes[0, 0], "left"), (axes[0, 2], "right")):
        told |= {"loc": f"outside lower {side}", "title": f"two {side} columns"}
        figure.legend(*axis.get_legend_handles_labels(), **told)
    figure.suptitle(
        "fedcom, Figure 9 on small problems: FedCOMGATE as printed diverges where the factor per round (below) is above 1; "
        "damped by $1/(1+q)$ it converges in all runs above"
    )
    return FigureData(figure, pd.DataFrame(rows).fillna(0.0))


def _along_q_and_tau(
    axes: Any, what: str, eta: float, limits: tuple[float, float], gap: Callable[[FedCOMGATE], xr.DataArray]
) -> Rows:
    """Gaps (seed, round) of one problem for several q at tau = 5, and for several tau with and without compression."""
    rows: Rows = []

    def line(axis: Any, kind: str, form: str, q: float, tau: int, colour: str, label: str) -> None:
        series = gap(FedCOMGATE(tau, eta, compressor=with_q(q), damping=dict(FORMS)[form]))
        told: dict[str, object] = {"on": what, "panel": kind, "q": q, "tau": tau, "form": form}
        found = curve(axis, series["round"].values, series, told, color=colour, label=label)
        rows.extend(found if kind == "tau" or q or form == "damped" else [])  # without compression the forms are equal

    for axis, (form, _) in zip(axes, FORMS, strict=False):
        for q, colour in zip(QS, OF_Q, strict=True):
            line(axis, "q", form, q, 5, colour, f"q = {q:g}")
        axis.set_title(rf"{form}, $\tau$ = 5" + f"\n{what}", fontsize=9)
    for axis, q in zip(axes[2:], (2.0, 0.0), strict=True):
        for tau, colour in zip(TAUS, OF_TAU, strict=True):
            line(axis, "tau", "damped", q, tau, colour, rf"$\tau$ = {tau}")
        axis.set_title(("damped, q = 2" if q else "no compression, q = 0") + f"\n{what}", fontsize=9)
    for axis in axes:
        axis.set(yscale="log", xlim=(0, axis.get_lines()[0].get_xdata()[-1]), ylim=limits, xlabel="round r")
        mark_all(axis, "")
    axes[0].set_ylabel(f"$\\eta$ = {eta:g}\n{_GAP}")
    return rows


def _factors(axes: Any) -> Rows:
    """The exact factor of expected squares per round: along tau for several q, and along q for several tau."""
    eta = 0.05
    rows: Rows = []

    def radius(q: float, tau: int, damping: float | None) -> float:
        method = FedCOMGATE(tau, eta, compressor=with_q(q), damping=damping)
        return float(spectral_radius(quadratics(), method)[0])

    grid, taus = np.linspace(0, 4, 41), range(1, 21)
    for (form, damping), along_tau, along_q in zip(FORMS, axes[:2], axes[2:], strict=True):
        for q, colour in zip(QS, OF_Q, strict=True):
            found = [radius(q, tau, damping) for tau in taus]
            along_tau.plot(taus, found, color=colour)
            rows += rows_of({"on": "factor", "panel": "tau", "q": q, "form": form}, tau=taus, x=taus, mean=found)
        for tau, colour in zip(TAUS, OF_TAU, strict=True):
            found = [radius(q, tau, damping) for q in grid]
            along_q.plot(grid, found, color=colour)
            rows += rows_of({"on": "factor", "panel": "q", "tau": tau, "form": form}, q=grid, x=grid, mean=found)
        for axis, label in ((along_tau, r"local steps $\tau$"), (along_q, "q")):
            axis.axhline(1, color=GREY, lw=0.8)
            axis.set(xlabel=label, yscale="log", ylim=(0.5, 5), title=form)
            axis.yaxis.set_major_locator(FixedLocator((0.5, 1, 2, 4)))
            axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.yaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes[0].set_ylabel(rf"quadratics, $\eta$ = {eta:g}" + "\n" + r"factor of $\mathbb{E}\|\cdot\|^2$ per round")
    return rows


# Algorithm 5: as printed; with the memory rule corrected and the tracking as printed; with both corrected
MEMORIES: dict[str, Callable[..., SparseFedCOMGATE]] = {
    "printed": SparseFedCOMGATE,
    "rule alone": partial(SparseFedCOMGATE, form="corrected", damping=1.0),
    "corrected": partial(SparseFedCOMGATE, form="corrected"),
}
MEMORY_NAMES = {"printed": "printed", "rule alone": "(9) corrected, undamped", "corrected": "corrected and damped"}


# -------------------------------------------------------------------------------------- printed against corrected


def resting_point(problem: Quadratic, S: int, eta: float, gamma: float, tau: int, x0: Array) -> Array:
    """The point at which Algorithm 4 as printed rests: grad f(w) = c (w0 - w), c = (1 - |S|/m) / (eta gamma tau).

    The mean of the delta_j is always c (w0 - w); at rest it equals the mean of the clients' gradients.
    """
    H, b = problem.mean
    c = (1 - S / problem.M) / (eta * gamma * tau)
    return np.asarray(np.linalg.solve(H + c * np.eye(problem.d), c * x0 - b))


def algorithms(full: bool = False) -> FigureData:
    """Four algorithms as printed and corrected: distance to the optimum, exact."""
    problem, eta, tau, rounds = quadratics(), 0.1, 5, 300
    x0, x_star = np.ones(problem.d), np.asarray(problem.constants["x_star"])
    figure, axes = canvas(2, 2, width=4.6, height=3.2, sharex=True)
    rows: Rows = []

    def line(axis: Any, panel: str, form: str, runs: xr.Dataset, label: str, **style: Any) -> None:
        squares = runs.dist2.isel(step_size=0).values.reshape(-1)
        there = np.isfinite(squares)
        r, distance = runs["round"].values[there], np.sqrt(squares[there].clip(min=0.0))
        axis.plot(r, distance, label=label, **style)
        rows.extend(rows_of({"panel": panel, "form": form, "label": label}, round=r, distance=distance))

    def exact(method: FedCOMGATE) -> xr.Dataset:
        return expectation(problem, method, rounds=rounds, x0=x0, record=("dist2",))

    axis = axes[0, 0]
    for form, divisor, style in (("printed", "clients", PRINTED), ("corrected", "participants", CORRECTED)):
        runs = exact(FedCOMGATE(tau, eta, k=0.5, divisor=divisor))  # type: ignore[arg-type]
        name = "printed, $1/m$" if form == "printed" else r"corrected, $1/|\mathcal{S}|$"
        line(axis, "divisor", form, runs, name, **style)
    rest = float(np.linalg.norm(resting_point(problem, 2, eta, 1.0, tau, x0) - x_star))
    axis.axhline(rest, color=RED, lw=1.2, ls=":", label="predicted resting point, as printed")
    rows.append({"panel": "divisor", "form": "predicted", "label": "resting point", "round": rounds, "distance": rest})
    axis.set_title(r"Algorithm 4, line 9: 2 of 4 clients a round")

    axis = axes[0, 1]
    line(axis, "sign", "printed", exact(FedCOMGATE(tau, eta, sign=-1)), r"(63): $\delta_j - \ldots$", **PRINTED)
    line(axis, "sign", "corrected", exact(FedCOMGATE(tau, eta)), r"Algorithm 2: $\delta_j + \ldots$", **CORRECTED)
    axis.set_title("The sign of (63), no compression")

    axis = axes[1, 0]
    for form, k, style in (
        ("printed", 5, PRINTED),
        ("printed", 1, {"color": ORANGE, "ls": "--"}),
        ("rule alone", 1, {"color": GREEN}),
        ("corrected", 5, CORRECTED),
        ("corrected", 1, {"color": SKY}),
    ):
        runs = run(problem, MEMORIES[form](tau, eta, compressor=TopK(k)), rounds=rounds, x0=x0, record=("dist2",))
        label = f"{MEMORY_NAMES[form]}, {'all sent' if k == 5 else f'top {k} of 5'}"
        line(axis, "memory", f"{form}, k={k}", runs, label, **style)
    axis.set_title("The memory rule (9); one run, without randomness")

    axis = axes[1, 1]
    for form, damping in FORMS:
        for q, colour in ((0.9, SKY), (1.1, GREEN), (3.0, RED)):
            runs = exact(FedCOMGATE(tau, eta, compressor=with_q(q), damping=damping))
            style = {"color": colour, "ls": "-", "lw": 2.2} if form == "printed" else {"color": colour, "ls": ":"}
            line(axis, "damping", f"{form}, q={q:g}", runs, f"{form}, q = {q:g}", **style)
    axis.set_title(r"Gradient tracking, printed and damped by $1/(1+q)$")

    for axis in axes.flat:
        axis.set(yscale="log", xlim=(0, rounds), ylim=(1e-6, 1e5))
        mark_all(axis)
        below = 0.86 if axis is axes[1, 0] else 1.0  # below a mark
        axis.legend(fontsize=7, loc="upper right", bbox_to_anchor=(1, below), ncols=2 if axis is axes[1, 1] else 1)
    for axis in axes[:, 0]:
        axis.set_ylabel(_DISTANCE)
    for axis in axes[1]:
        axis.set_xlabel("round r")
    figure.suptitle(
        r"fedcom, exact expectation, $(\mathbb{E}\|w^{(r)}-w^{(*)}\|^2)^{1/2}$: quadratics, $m$ = 4, $d$ = 5, "
        rf"$\tau$ = {tau}, $\eta$ = {eta:g}, $\gamma$ = 1, no gradient noise"
    )
    return FigureData(figure, pd.DataFrame(rows))


# -------------------------------------------------------------------------------------------- Figure 7: similarities


def cosines(problem: Logistic, x: Array) -> Array:
    """(7): the cosines between the clients' gradients at x, (M, M)."""
    g = problem.client_gradients(x)
    g = g / np.linalg.norm(g, axis=-1, keepdims=True)
    return np.asarray((g @ g.T).clip(-1, 1))


def similarities(full: bool = False) -> FigureData:
    """Figure 7: cosine similarity of the gradients of 20 clients, at the start and at the minimiser."""
    M = 20
    figure, axes = canvas(2, 2, width=3.9, height=3.3, sharex=True, sharey=True)
    rows: Rows = []
    for j, clients in enumerate(("IID", "two classes")):
        problem = digits(clients, M)
        points = {"w = 0": np.zeros(problem.d), "the minimiser": np.asarray(problem.constants["x_star"])}
        for i, (where, x) in enumerate(points.items()):
            d = cosines(problem, x)
            axis = axes[i, j]
            image = axis.imshow(d, cmap="RdBu_r", vmin=-1, vmax=1, origin="lower")
            off = d[~np.eye(M, dtype=bool)]
            close = (d > 0.5).sum(1) - 1
            axis.set_title(
                f"{clients}, at {where}: mean {off.mean():.2f},\nabove 0.5 with {close.min()} to {close.max()} others"
            )
            axis.set(xticks=range(0, M, 4), yticks=range(0, M, 4))
            axis.grid(False)
            axis.set_xlabel("client j" if i == 1 else "")
            axis.set_ylabel("client i" if j == 0 else "")
            rows += [{"clients": clients, "at": where, "i": a, "j": b, "cosine": d[a, b]} for a, b in np.ndindex(M, M)]
    figure.colorbar(image, ax=axes, shrink=0.7, label=r"cosine $d_{ij}$ of (7)")
    figure.suptitle("fedcom, Figure 7 on the digits: full gradients of 20 clients, multinomial logistic regression")
    return FigureData(figure, pd.DataFrame(rows))


# ---------------------------------------------------------------------------------------------- Figure 8: top_k

RATIOS = (1.0, 0.5, 0.25, 0.1)
TOP_STEPS = (0.25, 1.0, 4.0, 16.0)


def kept_at(ratio: float, d: int) -> int:
    """The k for which a message of TopK, indices included, has `ratio` times the bits of all d numbers."""
    return int(ratio * Identity().bits(d) // TopK(1).bits(d))


def sparsification(full: bool = False) -> FigureData:
    """Figure 8: FedCOMGATE with top_k and memory at several compression ratios, printed and corrected."""
    figure, axes = canvas(1, 3, width=4.4, height=3.6, sharey=True)
    seeds, rounds = (10, 400) if full else (2, 120)
    problem = digits("two classes", 5, batch=8)
    rows: Rows = []
    for axis, form in zip(axes[0], MEMORIES, strict=True):
        for ratio, colour in zip(RATIOS, (BLACK, BLUE, GREEN, RED), strict=True):
            Q: Compressor = Identity() if ratio == 1 else TopK(kept_at(ratio, problem.d))
            method = MEMORIES[form](TAU, list(TOP_STEPS), compressor=Q)
            runs = run(problem, method, rounds=rounds, seeds=range(seeds), x0=0.0, record=("gap",), at=some(rounds, 20))
            best, converges = best_of_grid(runs)
            told: dict[str, object] = {"form": form, "C_r": ratio, "k": getattr(Q, "k", problem.d)}
            told |= {"eta": float(best.step_size), "bits_a_round": method.uplink_bits(problem)}
            told["converges"] = int(converges)
            label, width = rf"$C_r$ = {ratio:g}", 3.5 if ratio == 1 else 1.3
            rows += curve(axis, best["round"].values, best.gap, told, color=colour, lw=width, label=label)
            if not converges:
                end = best.gap.isel(round=-1).mean("seed")
                axis.annotate("diverges", (rounds, float(end)), (-4, 4), textcoords="offset points", ha="right",
                              fontsize=7, color=colour)  # fmt: skip
        axis.set(yscale="log", ylim=(1e-4, 1e3), xlabel="round r", title=f"memory: {MEMORY_NAMES[form]}")
        axis.legend(loc="upper left", ncols=2)
    axes[0, 0].set_ylabel(_GAP)
    figure.suptitle(
        f"fedcom, Figure 8 on the digits: 5 clients with 2 classes each, top-k with memory, $\\tau$ = {TAU}, mini-batches "
        f"of 8,\nbest $\\eta$ of {TOP_STEPS[0]:g} ... {TOP_STEPS[-1]:g}; {BAND.format(seeds)}"
    )
    return FigureData(figure, pd.DataFrame(rows))


# ------------------------------------------------------------------------------------------- learning-rate conditions

CONDITIONS = (
    ("fedcom.cond21", "(21), FedCOM", "FedCOM"),
    ("fedcom.cond61", "(61), FedCOMGATE", "FedCOMGATE"),
    ("fedcom.cond78", "(78), FedCOMGATE", "FedCOMGATE"),
)
# The label of a learning rate, and its colour
CONTRACTS, ADMITTED, WRONGLY, NEGATIVE = (
    ("contracts, not admitted", "#bfe3f5"),
    ("admitted, contracts", GREEN),
    ("admitted, diverges", RED),
    ("admitted by a negative denominator, diverges", PURPLE),
)


@cache
def pair() -> Quadratic:
    """Two clients in two dimensions: L = 1, PL constant 0.1."""
    return generate(2, 2, L=1.0, mu=0.05, delta=0.05, zeta_star=1.0, seed=0)


def admits(id_: str, **values: Any) -> tuple[Array, Array]:
    """Boolean masks: the printed condition admits these values; it admits them by a negative denominator."""
    claim = catalogue.find(id_).claim_of(Relations)

    def number(expression: sympy.Basic) -> Array:
        free = sorted(expression.free_symbols, key=str)
        return np.asarray(sympy.lambdify(free, expression, "numpy")(*(values[s.name] for s in free)))

    inside = np.logical_and.reduce(np.broadcast_arrays(*(number(r) for r in claim.relations)))
    parts = {t.name: t.value for t in claim.terms}
    return inside, inside & (number(parts["denominator"]) < 0 if "denominator" in parts else False)


def admitted(id_: str, eta: Array, gamma: Array, **symbols: float) -> list[tuple[float, float, float, bool]]:
    """The intervals (eta, from gamma, to gamma, negative denominator) that the condition admits, on a grid."""
    inside, negative = admits(id_, eta=eta[:, None], gamma=gamma[None], **symbols)
    kind = inside.astype(int) + negative
    found = []
    for i, row in enumerate(kind):
        edges = np.flatnonzero(np.diff(row, prepend=-1, append=-1))
        for first, end in pairwise(edges):
            if row[first]:
                found.append((float(eta[i]), float(gamma[first]), float(gamma[end - 1]), bool(row[first] == 2)))
    return found


def contraction_limit(algorithm: Callable[..., Any], eta: Array, low: float, high: float, Q: Compressor) -> Array:
    """For each eta the gamma up to which second moments contract, by bisection; 0 if they do not even at the lowest."""

    def contracts(which: NDArray[np.int64], gamma: float) -> NDArray[np.bool_]:
        return np.asarray(spectral_radius(pair(), algorithm(TAU, eta[which].tolist(), gamma, compressor=Q)) < 1)

    starts = contracts(np.arange(len(eta)), low)
    below, above = np.full(len(eta), low), np.full(len(eta), high)
    while (wide := starts & (above > 1.02 * below)).any():
        middle = np.sqrt(below * above)
        for gamma in np.unique(middle[wide]).tolist():  # many eta halve the same interval
            these = np.flatnonzero(wide & (middle == gamma))
            inside = contracts(these, gamma)
            below[these[inside]], above[these[~inside]] = gamma, gamma
    return np.where(starts, below, 0.0)


def conditions(full: bool = False) -> FigureData:
    """Which (eta, gamma) the conditions (21), (61), (78) admit, and where second moments contract, exactly."""
    problem, n = pair(), 150 if full else 45
    eta, low, high = np.geomspace(1e-3, 1.0, n), 1e-2, 1e6
    fine = np.geomspace(low, high, 20_000)
    width = eta[1] / eta[0]
    figure, axes = canvas(2, 3, width=3.9, height=3.2, sharex=True, sharey=True)
    rows: Rows = []
    seen: dict[tuple[str, str], None] = {}

    def bars(axis: Any, where: Array, bottom: Array, top: Array, kind: tuple[str, str]) -> None:
        there = top > bottom
        left, up = where[there] / np.sqrt(width), (top - bottom)[there]
        axis.bar(left, up, left * (width - 1), bottom[there], align="edge", color=kind[1], lw=0)
        seen.update({kind: None} if there.any() else {})

    for i, q in enumerate((0.5, 2.0)):
        symbols = {"L": problem.constants["L"], "mu": problem.constants["mu_pl"], "m": 2.0, "tau": TAU, "q": q}
        limits = {
            name: contraction_limit(algorithm, eta, low, high, with_q(q))
            for name, algorithm in (
                ("FedCOM", FedCOM),
                ("FedCOMGATE", FedCOMGATE),
                ("damped", partial(FedCOMGATE, damping=None)),
            )
        }
        for j, (id_, title, name) in enumerate(CONDITIONS):
            axis = axes[i, j]
            limit = dict(zip(eta.tolist(), limits[name], strict=True))
            bars(axis, eta, np.full(n, low), limits[name], CONTRACTS)
            found = admitted(id_, eta, fine, **symbols)
            where, start, end, own = (np.array(v) for v in zip(*((*f[:3], limit[f[0]]) for f in found), strict=True))
            negative = np.array([f[3] for f in found])
            bars(axis, where, start, np.where(negative, start, np.minimum(end, own)), ADMITTED)
            bars(axis, where, np.maximum(start, own), np.where(negative, 0.0, end), WRONGLY)
            bars(axis, where, np.maximum(start, own), np.where(negative, end, 0.0), NEGATIVE)
            if name == "FedCOMGATE":
                axis.plot(eta, limits["damped"], color=BLACK, lw=1.4, label="damped by 1/(1+q): contracts below")
            axis.set(xscale="log", yscale="log", xlim=(8e-4, 1.3), ylim=(low, high), title=f"{title}, q = {q:g}")
            axis.set_xlabel(r"$\eta$  (units of $w^2/f$)" if i == 1 else "")
            axis.set_ylabel(r"$\gamma$" if j == 0 else "")
            told: dict[str, object] = {"condition": id_, "q": q}
            rows += [
                {**told, "kind": "negative denominator" if f[3] else "admitted", "eta": f[0], "from": f[1], "to": f[2]}
                for f in found
            ]
            for kind in (name, "damped") if name == "FedCOMGATE" else (name,):
                told["kind"] = f"contracts, {kind}"
                rows += [{**told, "eta": e, "from": low, "to": g} for e, g in zip(eta, limits[kind], strict=True) if g]
    kinds = [kind for kind in (CONTRACTS, ADMITTED, WRONGLY, NEGATIVE) if kind in seen]
    marks = [Patch(color=colour, label=label) for label, colour in kinds]
    figure.legend(handles=[*marks, axes[0, 1].get_lines()[0]], loc="outside lower center", ncols=3)
    figure.suptitle(
        "fedcom, printed conditions against the exact second moments: two quadratics, $L$ = 1, $\\mu$ = 0.1, "
        f"$\\tau$ = {TAU}; white: neither"
    )
    return FigureData(figure, pd.DataFrame(rows))


# ------------------------------------------------------------------------------------------------ bound against run

THEOREMS = ("thmD4", "thmD7", "thmD9", "thmE4", "thmE6", "thmE9")


FIGURES = [
    best_constants.picture("fedcom"),
    every_count.picture("fedcom"),
    rate_tables.picture("fedcom_table5_as_an_experiment", "fedcom.tab5", rate_table.EXPERIMENTS, rate_table.MISSING),
    rate_tables.picture("fedcom_table6_as_an_experiment", "fedcom.tab6", rate_table.EXPERIMENTS, rate_table.MISSING),
    Picture(
        "fedcom_bits_by_compressor",
        "FedCOMGATE as printed (middle) diverges with every compressor whose q is 1 or more. Damped by 1/(1+q) (right) it "
        "converges with all of them.",
        compressors,
    ),
    Picture(
        "fedcom_bits_by_method",
        "With exact gradients (right) methods that track gradients reach gaps that averaging alone does not reach with the "
        "same bits, except for VR-DIANA, which samples.",
        systems,
    ),
    Picture(
        "fedcom_fig9_q_and_tau",
        "As printed FedCOMGATE diverges for q = 2 and 4; damped, the final gap grows with q. Below: a factor above 1 means "
        "that it diverges.",
        q_and_tau,
        ("fedcom.fig9",),
    ),
    Picture(
        "fedcom_algorithms_printed_and_corrected",
        "As printed (black) Algorithm 4 stops at a point that is no minimiser, (63) diverges, and the memory of (9) slows "
        "the run down. Corrected (blue) all converge. Below right: tracking as printed (solid) fails for q above 1.",
        algorithms,
        ("fedcom.alg2", "fedcom.alg4", "fedcom.alg5", "fedcom.thmE4.items"),
    ),
    Picture(
        "fedcom_fig7_cosine_similarities",
        "Red: gradients of two clients point the same way. At the start IID clients agree and clients of two classes do "
        "not; at the minimiser neither do.",
        similarities,
        ("fedcom.fig7",),
    ),
    Picture(
        "fedcom_fig8_sparsification",
        "As printed (left) the compression ratio has hardly any effect. Corrected and damped (right) the "
        "method converges at every ratio; the rule alone (middle) does not.",
        sparsification,
        ("fedcom.fig8", "fedcom.alg5"),
    ),
    Picture(
        "fedcom_conditions_on_step_sizes",
        "Vermilion and purple: step sizes that a printed condition admits although the method diverges. For (78) a negative "
        "denominator (purple) admits them at both q.",
        conditions,
        ("fedcom.cond21", "fedcom.cond61", "fedcom.cond78"),
    ),
    bound_against_run.crossing("fedcom.thmE4"),
    *bound_against_run.pictures(
        [form for theorem in THEOREMS for form in catalogue.forms(f"fedcom.{theorem}")],
        crossed=[f"fedcom.{theorem}" for theorem in ("thmD9", "thmE4", "thmE6", "thmE9")],
    ),
]
