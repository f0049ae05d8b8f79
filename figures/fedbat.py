"""Figures of the FedBAT paper: bounds against runs, the dimension, signs against bits, rho and phi, bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter
from scipy.integrate import quad
from scipy.special import ndtr

from fedtheory.bounds.fedbat.arenas import ARENAS, TRIALS
from fedtheory.bounds.fedbat.local_steps import Meter
from fedtheory.bounds.trials.arena import CONFIDENCE, Arena, build, confront, constants_of
from fedtheory.figures import best_constants, bound_against_run
from fedtheory.figures.bound_against_run import few_marks, titled, y_label
from fedtheory.figures.gallery import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    FigureData,
    Picture,
    canvas,
    count_axis,
)
from fedtheory.figures.runs import BAND, Rows, best_of_grid, curve, rows_of, some
from fedtheory.figures.styles import CORRECTED, MEASURED, PRINTED, TERM, ordered, term_colours
from fedtheory.simulations import data, partitions, run
from fedtheory.simulations.algorithms.base import Algorithm, Memory
from fedtheory.simulations.algorithms.fedbat import BiFL, EFSignSGD, FedBAT, ZeroFL
from fedtheory.simulations.algorithms.fedcom import FedPAQ
from fedtheory.simulations.binarisation import error, least_error
from fedtheory.simulations.compressors import QSGD, Compressor, MaxSign, NoisySign, Sign, StochasticSign
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.experiments import BINARIZATION, PHIS, RHOS
from fedtheory.theory.statement import Bound, Record

Made = Callable[[Any], Algorithm]  # an algorithm by its learning rates

_GAP = r"gap $\mathbb{E}F(\mathbf{w}_t)-F^*$  (units of $F$)"
_INTERVAL = f"{CONFIDENCE:.1%} interval"


def settings() -> Mapping[str, Any]:
    """The settings of the paper's experiments."""
    claim = catalogue.find("fedbat.hyper").claim_of(Record)
    return claim.settings


# ---------------------------------------------------------------------------------------- Theorem 3 over run lengths

LENGTHS = (2, 5, 12, 30, 80, 200)
PANELS: tuple[tuple[str, tuple[int, ...]], ...] = (  # the beginning of an arena's name; R
    ("two equal bowls, kappa 4, tau 1, 2 of 2 clients", tuple(range(1, 9))),
    ("quadratics with noise, d 10, kappa 10, tau 5, 2 of 4 clients", LENGTHS),
    ("sigmoid loss, breast_cancer, tau 5, 2 of 4 clients", LENGTHS),
)


def lengths(full: bool = False) -> FigureData:
    """Theorem 3: its learning rate depends on the length T of the run, so every T is a separate run."""
    printed, corrected = (catalogue.find(id_) for id_ in ("fedbat.thm3", "fedbat.thm3.corrected"))
    claim = printed.claim_of(Bound)
    colours = term_colours([t.name for t in claim.terms])
    figure, axes = canvas(2, len(PANELS), width=3.6, sharex="col", height_ratios=[3, 1.3])
    rows: Rows = []
    for column, (name, rounds) in enumerate(PANELS):
        above, below = axes[:, column]
        arena = next(a for a in ARENAS if a.statement == printed.id and a.name.startswith(name))
        ends = [replace(arena, rounds=R) for R in rounds]
        own, ours = (
            xr.concat([confront(a, s, full).isel(eta=0, drop=True) for a in ends], "R", join="outer")
            for s in (printed, corrected)
        )
        tau = int(arena.algorithm(eta=1.0).symbols(build(arena.problem))["tau"])
        T = own.R.values * tau
        for term in own.term.values:
            above.plot(T, own.terms.sel(term=term), color=colours[str(term)], label=str(term), **TERM, zorder=3)
        above.plot(T, own.bound, ".", label="printed bound", **PRINTED)
        above.plot(T, ours.bound, ".", label="corrected bound", **CORRECTED)
        interval = np.stack([own["mean"] - own.low, own.high - own["mean"]])
        above.errorbar(T, own["mean"], interval, fmt="o", ms=3, capsize=2, label="measured", **MEASURED)
        for held, style in ((own, PRINTED), (ours, CORRECTED)):
            below.plot(T, held.bound / held["mean"], ".", **style)
        below.axhline(1, color=RED, lw=0.8, ls=":")
        seeds = confront(ends[0], printed, full).attrs["seeds"]
        how = f"{seeds} seeds, {_INTERVAL}" if seeds else "exact expectation"
        above.set_title(f"{titled(name)}\n{how}", fontsize=9)
        below.set_xlabel(r"steps $T=R\tau$ of the whole run")
        for axis in (above, below):
            axis.set(xscale="log", yscale="log")
            few_marks(axis.yaxis, plain=True)
            count_axis(axis.xaxis, T.max(), T.min())
        for held, statement in ((own, printed), (ours, corrected)):
            for i, R in enumerate(held.R.values):
                told: dict[str, object] = {"statement": statement.id, "arena": name, "R": int(R), "T": int(R) * tau}
                told |= {n: float(held[n][i]) for n in ("mean", "low", "high", "bound")}
                told |= {"G": constants_of(ends[i])["G"]}
                rows.append(told | {str(t): float(held.terms.sel(term=t)[i]) for t in held.term.values})
    axes[0, 0].set_ylabel(y_label("fedbat", claim.quantity.name))
    axes[1, 0].set_ylabel("bound / measured")
    handles = dict(zip(*reversed(axes[0, -1].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    figure.suptitle(
        r"fedbat, Theorem 3, (16), printed and corrected: a run for every length, $\eta=1/(L\sqrt{T})$, $G$ that of the run"
        "\n(sigmoid loss: $\\Gamma$ is set to 0, for which the printed bound claims most)"
    )
    return FigureData(figure, pd.DataFrame(rows).fillna(0.0))


# -------------------------------------------------------------------------------------------------------- dimension

DIMENSIONS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
_FROM_START = "fedbat.thm1.from_start"
_KAPPA, _DIM_TAU, _DIM_ROUNDS = 4.0, 2, 60
_AT_MOST = 64  # up to this d there are many seeds


class Generated(Quadratic):
    """A quadratic whose provenance is only its name: writing its matrices would take longer than a run."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The name."""
        return {"problem": "quadratic", "name": self.name}


@cache
def in_dimension(d: int) -> Quadratic:
    """Four clients in d dimensions: L = 1, kappa = 4, sigma = 1, heterogeneity 1, the minimiser at 0."""
    made = generate(d, 4, L=1.0, mu=1 / _KAPPA, zeta_star=1.0, delta=0.25 * (1 - 1 / _KAPPA), sigma=1.0, seed=d)
    return Generated(made.H, made.b, made.sigma, made.name)


def arena_in(d: int) -> Arena:
    """FedBAT as analysed, in d dimensions, from a point at distance 1 from the minimiser."""
    method = partial(FedBAT, tau=_DIM_TAU, phi=0.0, step_size="max", gamma="theorem", active="all")
    return Arena(
        _FROM_START,
        f"quadratics with noise, d {d}, kappa {_KAPPA:g}, tau {_DIM_TAU}",
        partial(in_dimension, d),
        method,
        _DIM_ROUNDS,
        x0=d**-0.5,
        seeds=60 if d <= _AT_MOST else 12,
        fractions=(1.0,),
        given=TRIALS[_FROM_START].given,
    )


def updates(problem: Problem, algorithm: FedBAT, rounds: int, seeds: int, start: Array) -> Iterator[Array]:
    """The clients' updates at the end of each round, before they are binarised: (seeds, M, d) each.

    Only for an algorithm whose clients all take steps of SGD throughout, as with step_size "max": an update is the sum
    of the steps.
    """
    x, eta = np.broadcast_to(start, (1, seeds, problem.d)).copy(), np.full((1, 1, 1), float(algorithm.eta))
    for r in range(rounds):
        meter, draws = Meter(problem), Draws.of_seeds(np.arange(seeds), r)
        x = algorithm.round(cast(Problem, meter), x, eta, draws, lambda *_: None, Memory())
        rates = [float(algorithm.rates(problem, eta, r * algorithm.tau + s).item()) for s in range(algorithm.tau)]
        yield -sum(rate * g[0] for rate, g in zip(rates, meter.gradients, strict=True))


def relative_errors(m: Array) -> tuple[Array, Array]:
    """E||S(m) - m||^2 / ||m||^2 with alpha = ||m||_inf and with the alpha of the least error: (..., d) -> (...) each."""
    squares = (m**2).sum(-1)
    best = np.apply_along_axis(least_error, -1, m)
    return error(m, np.abs(m).max(-1, keepdims=True)) / squares, error(m, best[..., None]) / squares


def gaussian_error(d: int) -> float:
    """E of E||S(m) - m||^2 / ||m||^2, m standard normal in R^d, alpha = ||m||_inf: E max_i m_i^2 - 1.

    It is d max_i m_i^2 / ||m||^2 - 1, and the quotient does not depend on ||m||.
    """
    largest, _ = quad(lambda u: 2 * u * (1 - (2 * ndtr(u) - 1) ** d), 0, 12, limit=200)
    return float(largest - 1)


def dimension(full: bool = False) -> FigureData:
    """Theorem 1 from the start and its runs over d; the binarisation's variance factor in it and along the runs."""
    figure, axes = canvas(1, 2, width=5.0, height=4.2)
    left, right = axes[0]
    statement, rows = catalogue.find(_FROM_START), []
    for d in DIMENSIONS:
        arena = arena_in(d)
        end = confront(arena, statement, full).isel(eta_t=0, R=-1)
        method = arena.algorithm(eta=float(end.eta_t))
        met = updates(in_dimension(d), cast(FedBAT, method), _DIM_ROUNDS, 3, np.full(d, arena.x0))
        worst, best = (np.stack(v).ravel() for v in zip(*map(relative_errors, met), strict=True))
        row: dict[str, Any] = {"d": d, "seeds": int(end.attrs["seeds"]), "R": int(end.R), "eta_t": float(end.eta_t)}
        row |= {name: float(end[name]) for name in ("mean", "low", "high", "bound")} | constants_of(arena)
        row |= {"exact_worst": d - 1.0, "gaussian": gaussian_error(d), "updates": len(worst)}
        for name, values in (("max", worst), ("best", best)):
            low, high = np.quantile(values, [0.05, 0.95])
            row |= {f"{name}_mean": values.mean(), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    of = pd.DataFrame(rows)
    left.plot(of.d, of.bound, ".", label=r"printed bound, $q=\sqrt{d-1}$", **PRINTED)
    interval = np.stack([of["mean"] - of.low, of.high - of["mean"]])
    left.errorbar(of.d, of["mean"], interval, fmt="o-", ms=3, capsize=2, color=RED, label=f"measured, {_INTERVAL}")
    left.set_ylabel(y_label("fedbat", "gap_last"))
    times = of.bound.iloc[-1] / of.bound[0], of["mean"].iloc[-1] / of["mean"][0]
    left.set_title(
        f"after R = {_DIM_ROUNDS} rounds; from d = 2 to 512\nbound × {times[0]:.3g}, measured × {times[1]:.2g}"
    )
    right.plot(of.d, of.exact_worst, ".-", color=BLACK, label=r"worst $m$, exact: $d-1=q^2$")
    right.plot(of.d, of.gaussian, "--", color=BLUE, label=r"Gaussian $m$, exact: $\mathbb{E}\max_i z_i^2-1$")
    right.plot(of.d, 2 * np.log(of.d) - 1, ":", color=BLUE, label=r"$2\,\ln d-1$")
    for name, colour, label in (
        ("max", RED, r"updates of the runs, $\alpha=\|m\|_\infty$"),
        ("best", GREEN, r"the same, $\alpha$ of least error (biased)"),
    ):
        right.plot(of.d, of[f"{name}_mean"], "o-", ms=3, color=colour, label=label)
        right.fill_between(of.d, of[f"{name}_low"], of[f"{name}_high"], color=colour, alpha=0.15, lw=0)
    right.set_ylabel(r"$\mathbb{E}\|S(m)-m\|^2\,/\,\|m\|^2$")
    last = of.iloc[-1]
    right.set_title(
        f"variance factor; at d = 512: worst {last.exact_worst:.0f},\nmean of the updates met {last.max_mean:.3g}, "
        f"with the best $\\alpha$ {last.best_mean:.2g}"
    )
    for axis in (left, right):
        axis.set(xscale="log", yscale="log", xlabel="dimension d")
        axis.xaxis.set_major_locator(FixedLocator(DIMENSIONS))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_minor_locator(NullLocator())
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    figure.suptitle(
        "fedbat, the dimension in Theorem 1: FedBAT as analysed, quadratics with 4 clients, "
        rf"$\kappa$ = {_KAPPA:g}, $\tau$ = {_DIM_TAU}, $\sigma$ = 1, $\|\mathbf{{w}}_0-\mathbf{{w}}^*\|$ = 1"
        f"\n{of.seeds.max()} seeds up to d = {_AT_MOST}, {of.seeds.min()} above; bands: 5% to 95% of "
        f"{of.updates[0]} updates, the last of every round"
    )
    return FigureData(figure, of)


# ------------------------------------------------------------------------------------------- signs against bits

TAU, CLIENTS, SAMPLED, LABELS, ROUNDS = 10, 30, 10, 3, 100
STEPS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # grid of eta
_TUNING = 2  # seeds for tuning; they are not drawn
_LOST = 0.9  # the height of the mark for runs without a finite gap


@cache
def digits() -> Logistic:
    """Digit 0 against the rest: 30 clients with 3 digits each, weighed by their sizes, mini-batches of 8."""
    every = data.scaled(data.load("digits"))
    dealt = partitions.quantity(every.labels, CLIENTS, LABELS, seed=0)
    return Logistic(data.two_classes(every), dealt, regularisation=1e-3, batch=8, weights="sizes")


def _signs(make: Callable[..., Compressor], noisy: bool = False) -> dict[str, Made]:
    """FedAvg with signs, for every step size (and noise) of the paper's grid: label -> algorithm."""
    grid = settings()["tuned among"]
    if not noisy:
        return {rf", $\alpha$ = {a:g}": partial(FedPAQ, TAU, S=SAMPLED, compressor=make(a)) for a in grid}
    return {
        rf", $\alpha$ = {a:g}, $\sigma$ = {s:g}": partial(FedPAQ, TAU, S=SAMPLED, compressor=make(a, s))
        for a in grid
        for s in grid
    }


def fedbat_with(rho: float | None = None, phi: float | None = None, **other: Any) -> Made:
    """FedBAT with the given rho and phi; by default the paper's."""
    rho, phi = (settings()[n] if v is None else v for n, v in (("rho", rho), ("phi", phi)))
    return partial(FedBAT, TAU, K=SAMPLED, rho=rho, phi=phi, **other)


_BROWN = "#8b5e3c"


@cache
def methods() -> dict[str, tuple[dict[str, Made], str, str]]:
    """Method -> its forms by the label of the settings that are tuned beside eta, colour, dashes."""
    of_bits: dict[str, tuple[dict[str, Made], str, str]] = {
        f"FedPAQ, {b} bits": ({"": partial(FedPAQ, TAU, S=SAMPLED, compressor=QSGD(2 ** (b - 1) - 1))}, colour, "-")
        for b, colour in zip((2, 4, 8), ordered(3), strict=True)
    }
    return {
        "FedAvg": ({"": partial(FedPAQ, TAU, S=SAMPLED)}, GREY, "-"),
        **of_bits,
        "SignSGD": (_signs(Sign), BLUE, "-"),
        "EF-SignSGD": ({"": partial(EFSignSGD, TAU, S=SAMPLED)}, SKY, "-"),
        "Noisy-SignSGD": (_signs(NoisySign, noisy=True), PURPLE, "-"),
        "Stoc-SignSGD": (_signs(MaxSign), _BROWN, "-"),
        "Stoc-SignSGD, Euclidean norm": (_signs(StochasticSign), _BROWN, "--"),
        "ZeroFL": ({"": partial(ZeroFL, TAU, S=SAMPLED)}, BLUE, "--"),
        "BiFL": ({"": partial(BiFL, TAU, S=SAMPLED)}, ORANGE, "-"),
        "FedBAT": ({"": fedbat_with()}, RED, "-"),
        "FedBAT as analysed": ({"": fedbat_with(phi=0.0, step_size="max")}, BLACK, "--"),
    }


BESIDE: dict[str, tuple[str, ...]] = {  # column of panels -> its methods
    "without signs": ("FedAvg", "FedPAQ, 8 bits", "FedPAQ, 4 bits", "FedPAQ, 2 bits", "FedBAT", "FedBAT as analysed"),
    "signs of the update": (
        "SignSGD", "EF-SignSGD", "Noisy-SignSGD", "Stoc-SignSGD", "Stoc-SignSGD, Euclidean norm", "FedBAT",
    ),
    "sparse, or binary while training": ("FedAvg", "ZeroFL", "BiFL", "FedBAT", "FedBAT as analysed"),
}  # fmt: skip


def gaps(made: Made, eta: Sequence[float], seeds: Sequence[int], at: Sequence[int]) -> xr.Dataset:
    """Runs on the digits with these learning rates."""
    return run(digits(), made(list(eta)), rounds=max(at), seeds=seeds, x0=0.0, record=("gap",), at=at)


def last_of(runs: xr.Dataset) -> float:
    """The mean final gap of the runs of one learning rate; infinite if a run diverges."""
    last = float(runs.gap.isel(round=-1).mean("seed", skipna=False))
    return last if np.isfinite(last) else np.inf


@cache
def tuned(name: str) -> tuple[str, float]:
    """The tuned settings of a method, as a label, and eta: those with the smallest mean final gap on other seeds."""
    found = []
    for label, made in methods()[name][0].items():
        best, _ = best_of_grid(gaps(made, STEPS, range(_TUNING), (0, ROUNDS)))
        found.append((last_of(best), label, float(best.step_size)))
    return min(found)[1:]


def drawn_seeds(full: bool) -> range:
    """The seeds that are drawn; tuning does not use them."""
    return range(_TUNING, _TUNING + (20 if full else 5))


def signs(full: bool = False) -> FigureData:
    """The gap of the methods that the paper compares, over rounds and over bits, each at its best settings."""
    figure, axes = canvas(2, len(BESIDE), width=4.2, height=3.1, sharey=True)
    problem, seeds = digits(), drawn_seeds(full)
    rows: Rows = []
    ends: dict[str, tuple[float, float, float]] = {}  # mean, least, most at the end
    for name, (forms, colour, dash) in methods().items():
        form, eta = tuned(name)
        best = gaps(forms[form], [eta], seeds, some(ROUNDS, 50)).gap.isel(step_size=0)
        bits = float(forms[form](1.0).uplink_bits(problem))
        last = best.isel(round=-1)
        ends[name] = float(last.mean()), float(last.min()), float(last.max())
        style: dict[str, Any] = {"color": colour, "ls": dash, "lw": 2.4 if name == "FedBAT" else 1.4, "label": name}
        for line, over, scale in ((axes[0], "rounds", 1.0), (axes[1], "bits", bits / 1000)):
            series = best if over == "rounds" else best.isel(round=slice(1, None))
            told: dict[str, object] = {"panel": over, "method": name, "form": form.strip(", ").replace("$", "")}
            told |= {"eta": eta, "bits_a_round": bits}
            panels = [axis for axis, own in zip(line, BESIDE.values(), strict=True) if name in own]
            drawn = [curve(axis, series["round"].values * scale, series, told, **style) for axis in panels]
            rows += drawn[0]
    for axis, title in zip(axes[0], BESIDE, strict=True):
        axis.set(yscale="log", xlabel="round", xlim=(0, ROUNDS), title=title)
    for axis in axes[1]:
        axis.set(xscale="log", xlabel="uplink of a client that always takes part (kbit)", xlim=(0.1, 300))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    for axis in axes[:, 0]:
        axis.set_ylabel(_GAP)
    figure.suptitle(
        f"fedbat: digit 0 against the rest, logistic regression, {CLIENTS} clients with {LABELS} digits each, {SAMPLED} a "
        rf"round, $\tau$ = {TAU}, mini-batches of 8"
        "\n"
        rf"line: mean, band: minimum and maximum of {len(seeds)} seeds; $\eta$ of {STEPS[0]:g} ... {STEPS[-1]:g}, $\alpha$ "
        rf"and noise of the paper's grid, tuned on other seeds; FedBAT: $\rho$ = {settings()['rho']:g}, "
        rf"$\phi$ = {settings()['phi']:g} throughout"
        f"\n{told_of(ends)}",
        fontsize=10,
    )
    return FigureData(figure, pd.DataFrame(rows))


def told_of(ends: Mapping[str, tuple[float, float, float]]) -> str:
    """Where FedBAT ends among the paper's binarisation baselines; ends: mean, least and largest over the seeds."""
    _, least, most = ends["FedBAT"]
    below = [n for n in BINARIZATION if ends[n][2] < least]
    above = [n for n in BINARIZATION if ends[n][1] > most]
    parts = [f"every run of {' and '.join(names)} ends {where} every run of FedBAT" for where, names in
             (("below", below), ("above", above)) if names]  # fmt: skip
    told = "; ".join(parts) or "the runs of every binarisation baseline overlap FedBAT's"
    return told[0].upper() + told[1:]


# ------------------------------------------------------------------------------------------------- rho and phi


@cache
def best_eta(rho: float, phi: float) -> float:
    """The learning rate with the smallest mean gap at the end, on the seeds for tuning."""
    best, _ = best_of_grid(gaps(fedbat_with(rho, phi), STEPS, range(_TUNING), (0, ROUNDS)))
    return float(best.step_size)


@cache
def finals(rho: float, phi: float, etas: tuple[float, ...], seeds: range) -> Array:
    """The final gaps by learning rate and seed; not finite if a run diverges."""
    return np.asarray(gaps(fedbat_with(rho, phi), etas, seeds, (0, ROUNDS)).gap.isel(round=-1))


def start_gap() -> float:
    """The gap at which every run starts."""
    return float(digits().value(np.zeros(digits().d)) - digits().constants["F_star"])


def algorithm1(full: bool = False) -> FigureData:
    """Algorithm 1 as printed and corrected: without a warm-up step, floor(phi tau) = 0, the printed one does not move."""
    figure, axes = canvas(1, 1, width=5.6, height=3.6)
    axis = axes[0, 0]
    problem = generate(10, 10, L=1.0, mu=0.1, zeta_star=1.0, delta=0.4)
    rounds, seeds, rows = 60, range(10 if full else 4), []
    for form, least, phi, style, label in (
        ("printed", 0, 0.0, PRINTED, r"as printed, $\phi$ = 0: no warm-up step"),
        ("corrected", 1, 0.0, CORRECTED, r"corrected, $\phi$ = 0: one warm-up step"),
        ("printed", 0, 0.5, {"color": GREEN}, r"as printed, $\phi$ = 0.5: two warm-up steps"),
    ):
        method = FedBAT(tau=5, eta=0.05, phi=phi, least=least)
        runs = run(problem, method, rounds=rounds, seeds=seeds, x0=1.0, record=("gap",), at=some(rounds))
        gap = runs.gap.isel(step_size=0)
        rows += curve(axis, gap["round"].values, gap, {"tau": 5, "phi": phi, "form": form}, label=label, **style)
    axis.set(yscale="log", xlabel="round t", ylabel=_GAP)
    axis.legend()
    axis.set_title(
        f"quadratics, d = 10, L = 1, $\\mu$ = 0.1, $\\tau$ = 5, $\\eta$ = 0.05;\n{BAND.format(len(seeds))}", fontsize=9
    )
    figure.suptitle("fedbat, Algorithm 1: as printed, without a warm-up step the model never moves")
    return FigureData(figure, pd.DataFrame(rows))


def ablations(full: bool = False) -> FigureData:
    """The final gap of FedBAT over rho and phi, at the eta tuned for the defaults and at one tuned for each value."""
    figure, axes = canvas(1, 2, width=4.6, height=3.8, sharey=True)
    seeds, given, rows = drawn_seeds(full), settings(), []
    default = best_eta(given["rho"], given["phi"])
    for axis, symbol, values in ((axes[0, 0], "rho", RHOS), (axes[0, 1], "phi", (0.0, *PHIS))):
        for kind, colour, line in (("fixed", BLUE, "s--"), ("tuned", RED, "o-")):
            curve_of = []
            for value in values:
                rho, phi = (value if name == symbol else given[name] for name in ("rho", "phi"))
                etas = (default, best_eta(rho, phi) if phi else default)  # phi = 0: no eta moves it
                which = int(kind == "tuned")
                eta, last = etas[which], finals(rho, phi, etas, seeds)[which]
                lost = int((~np.isfinite(last)).sum())
                mean, low, high = (0.0,) * 3 if lost else (last.mean(), last.min(), last.max())
                rows.append({"symbol": symbol, "value": value, "eta_is": kind, "eta": eta, "lost": lost, "mean": mean,
                             "min": low, "max": high})  # fmt: skip
                if lost:
                    axis.plot([value], [_LOST], "x", color=colour, label="_lost")
                    axis.annotate(f"{lost} of {len(seeds)} runs lost ", (value, _LOST), ha="right", va="center", fontsize=7,
                                  color=colour, xytext=(-6, 0), textcoords="offset points")  # fmt: skip
                elif phi:
                    curve_of.append((value, mean, low, high))
                else:
                    axis.plot([value], [mean], "*", ms=11, color=BLACK, label="_still")
                    axis.annotate(r"$\phi$ = 0: nothing moves" * (kind == "tuned"), (value, mean), (0, -14),
                                  textcoords="offset points", fontsize=7)  # fmt: skip
                if kind == "tuned" and phi:
                    axis.annotate(f"{eta:g}", (value, mean), (0, -12), textcoords="offset points", ha="center",
                                  fontsize=7, color=colour)  # fmt: skip
            x, mean, low, high = np.array(curve_of).T
            label = (
                rf"$\eta$ = {default:g}, tuned at the defaults"
                if kind == "fixed"
                else r"$\eta$ tuned for each, as marked"
            )
            axis.plot(x, mean, line, color=colour, ms=4, label=label)
            axis.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
        axis.axhline(start_gap(), color=GREY, lw=0.8, ls=":", label="gap of the start")
        axis.axvline(given[symbol], color=GREY, lw=0.8, label="the paper's default")
        axis.set(yscale="log", xlabel=rf"$\{symbol}$", xticks=values, ylim=(0.01, 1.0))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        few_marks(axis.yaxis, plain=True)
    for axis, other in zip(axes[0], ("phi", "rho"), strict=True):
        axis.set_title(rf"$\{other}$ = {given[other]:g}")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    axes[0, 0].set_ylabel(f"gap after {ROUNDS} rounds  (units of $F$)")
    figure.suptitle(
        r"fedbat, other $\rho$ and $\phi$: Tables 2 and 3 on a small convex problem, gap in place of accuracy"
        f"\n(digit 0 against the rest, as for the methods of signs); line: mean, band: minimum and maximum of {len(seeds)} "
        "seeds"
    )
    return FigureData(figure, pd.DataFrame(rows))


# --------------------------------------------------------------------------------------------------------- bias

OTHERS = (1.0, -0.5, 0.25)  # the other entries of the update
STEP = 0.5  # the step size of signs, the noise's standard deviation, and the smaller alpha, which clips
_X = np.linspace(-2, 2, 401)


def outcomes(compressor: Sign | MaxSign | StochasticSign, x: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the number sent for the first entry of (x, *OTHERS)."""
    m = np.column_stack([x, *(np.full_like(x, v) for v in OTHERS)])
    alpha = compressor.step(m)[:, 0]
    mean = alpha * (2 * compressor.up(m)[:, 0] - 1)
    return mean, np.sqrt(np.maximum(alpha**2 - mean**2, 0))


def binarised(alpha: Array, x: Array) -> tuple[Array, Array]:
    """The same for S(x, alpha): the mean is x, clipped to [-alpha, alpha]."""
    mean = np.clip(x, -alpha, alpha)
    return mean, np.sqrt(np.maximum(error(x[:, None], alpha[:, None]) - (mean - x) ** 2, 0))


def by_method(x: Array) -> dict[str, tuple[tuple[Array, Array], str, Any]]:
    """Method -> (mean, standard deviation) over x, colour, dashes."""
    largest = np.maximum(np.abs(x), max(map(abs, OTHERS)))
    return {
        "SignSGD": (outcomes(Sign(STEP), x), BLUE, "-"),
        "Noisy-SignSGD": (outcomes(NoisySign(STEP, STEP), x), GREEN, "-"),
        "Stoc-SignSGD, max norm": (outcomes(MaxSign(STEP), x), PURPLE, "-"),
        "Stoc-SignSGD, Euclidean norm": (outcomes(StochasticSign(STEP), x), PURPLE, "--"),
        rf"FedBAT, $S(x,\alpha)$, $\alpha$ = {STEP:g}": (binarised(np.full_like(x, STEP), x), ORANGE, "-"),
        r"FedBAT, $S(x,\alpha)$, $\alpha=\|m\|_\infty$": (binarised(largest, x), RED, "-"),
    }


def bias(full: bool = False) -> FigureData:
    """What the sign methods send for one entry of an update: exact mean, standard deviation and error."""
    figure, axes = canvas(1, 3, width=3.7, height=3.2)
    rows = []
    axes[0, 0].annotate("unbiased: mean = x", (1.2, 1.2), (-6, 4), textcoords="offset points", ha="right", fontsize=8)
    for name, ((mean, deviation), colour, dash) in by_method(_X).items():
        root = np.sqrt((mean - _X) ** 2 + deviation**2)
        for axis, values in zip(axes[0], (mean, deviation, root), strict=True):
            wide = 3.0 if name.endswith(r"\infty$") else 1.4
            axis.plot(_X, values, color=colour, ls=dash, lw=wide, alpha=0.6 if wide > 2 else 1.0, label=name)
        rows += rows_of({"method": name}, x=_X, mean=mean, deviation=deviation, root_mean_square_error=root)
    titles = (
        "mean $\\mathbb{E}[\\hat m_1]$",
        "standard deviation of $\\hat m_1$",
        "error $(\\mathbb{E}(\\hat m_1-x)^2)^{1/2}$",
    )
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set(title=title, xlabel="entry x of the update  (units of $m$)")
    axes[0, 0].set_ylabel("the number sent for it  (units of $m$)")
    handles = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    others = ", ".join(f"{v:g}" for v in OTHERS)
    figure.suptitle(
        f"fedbat: one entry of $m=(x,\\,{others})$, exact; step size of the signs {STEP:g}, noise $\\sigma$ = {STEP:g}"
    )
    return FigureData(figure, pd.DataFrame(rows))


# ------------------------------------------------------------------------------------------------ bound against run


def _among(arena: Arena) -> bool:
    """More than two rounds; in Theorem 2 where clients are sampled."""
    symbols = arena.algorithm(eta=1.0).symbols(build(arena.problem))
    return arena.rounds > 2 and ("thm2" not in arena.statement or symbols["K"] < symbols["N"])


FIGURES = [
    best_constants.picture("fedbat"),
    *bound_against_run.pictures(
        [f"fedbat.thm{n}{form}" for n in (1, 2) for form in ("", ".from_start.sharp")], _among
    ),
    Picture(
        "fedbat_thm3_over_run_lengths",
        "The corrected bound (blue, dash-dotted) is below the printed one (black), and the measured values (vermilion) "
        "are below both. Each point is a run of its own length.",
        lengths,
        ("fedbat.thm3", "fedbat.thm3.corrected"),
    ),
    Picture(
        "fedbat_dimension",
        "Left: the bound grows much faster with the dimension than the measured value. Right: the updates of the runs "
        "are like Gaussian ones (dashed), far from the worst case (black) that the bound pays for.",
        dimension,
        (_FROM_START, "fedbat.assump5.error", "fedbat.assump5.sq_error", "fedbat.remark2", "fedbat.remark3"),
    ),
    Picture(
        "fedbat_signs_against_bits",
        "FedBAT (thick) is in every panel; the title says which sign methods end below it, and which above. Below: the same "
        "runs over the bits sent.",
        signs,
        ("fedbat.claim.speed", "fedbat.claim.baselines", "fedbat.claim.fedpaq", "fedbat.claim.bifl", "fedbat.remark3"),
    ),
    Picture(
        "fedbat_rho_and_phi",
        "How the final gap depends on rho and phi, at one learning rate (blue) and at one tuned for each (vermilion; "
        "the numbers are the learning rates). For phi = 0 nothing moves, by (13).",
        ablations,
        (
            "fedbat.claim.rho",
            "fedbat.claim.rho0",
            "fedbat.claim.phi",
            "fedbat.table2",
            "fedbat.table3",
            "fedbat.alg1",
        ),
    ),
    Picture(
        "fedbat_algorithm1_printed_and_corrected",
        "Without a warm-up step, floor(phi tau) = 0, and with step sizes learned as in (10), the model as printed (black) "
        "never moves. With one warm-up step (blue), or with a phi of the paper's experiments (green), it trains.",
        algorithm1,
        ("fedbat.alg1", "fedbat.alg1.corrected"),
    ),
    Picture(
        "fedbat_bias_of_signs",
        "Only FedBAT with the largest step size is unbiased (left). It pays with the largest standard deviation around"
        " x = 0 (middle).",
        bias,
        ("fedbat.baseline.bias_claim", "fedbat.setting_theory", "fedbat.eq6", "fedbat.baseline.signsgd",
         "fedbat.baseline.noisy_signsgd", "fedbat.baseline.stoc_signsgd"),
    ),
]  # fmt: skip
