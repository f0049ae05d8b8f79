"""Figures of the SFL paper: its Figures 1, 7 and 8, every bound against its arenas, and slopes in R, K, M."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter
from sympy import Rational

from fedtheory.bounds import evaluate, sharpening, tune
from fedtheory.bounds.sfl import ARENAS, rate_table
from fedtheory.figures import (
    beside_networks,
    best_constants,
    bound_against_run,
    every_step,
    rate_tables,
    tight_rates,
    trade_off,
    winners,
)
from fedtheory.figures.gallery import BLACK, BLUE, GREY, RED, FigureData, Picture, canvas, count_axis
from fedtheory.figures.runs import Rows, rows_of
from fedtheory.figures.styles import CORRECTED, MEASURED, PRINTED
from fedtheory.simulations import data, partitions, run, start
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.moments import expectation
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.notation import Value
from fedtheory.theory.statement import Relations

# Figures 1 and 7.  The grid and the number of seeds are printed (Figure 7); start and length are in the authors' code.
GRID = (0.003, 0.006, 0.01, 0.03, 0.06, 0.1, 0.3, 0.6)
X0, ROUNDS, SEEDS = 10.0, 500, range(5)
SHOWN = sorted({*range(21), *range(20, ROUNDS + 1, 5)})  # rounds that are drawn
RESOLUTION = 1e-4  # the authors keep four decimals: distances below count as equal when step sizes are compared
_DISTANCES = r"exact root of E$|x^{(r)}-x^*|^2$ at the best step size $\eta$ of the grid"
METHODS: dict[str, Callable[..., SFL | PFL]] = {"PFL": PFL, "SFL": SFL}


def group(statement_id: str) -> Quadratic:
    """The two quadratics of a group of Table 2 or 6, read from the statement."""
    claim = catalogue.find(statement_id).claim_of(Relations)
    functions = [r.rhs for r in claim.relations if isinstance(r.lhs, Value)]
    (x,) = set().union(*(f.free_symbols for f in functions))
    return from_functions(
        [float(f.coeff(x, 2)) for f in functions], [float(f.coeff(x, 1)) for f in functions], name=statement_id
    )


def best_runs(statement_id: str, K: int, method: str) -> tuple[float, xr.DataArray]:
    """The distances |x_r| of the best step size of the grid, (seed, round), and that step size.

    Best: smallest mean final distance at the authors' resolution, ties broken by the mean distance over the run.
    """
    algorithm = METHODS[method](K=K, eta=list(GRID))
    runs = run(group(statement_id), algorithm, rounds=ROUNDS, seeds=SEEDS, x0=X0, record=("dist2",), at=SHOWN)
    distance = np.sqrt(runs.dist2)
    usable = np.flatnonzero((runs.status == "ran").all("seed"))
    final = distance.isel(round=-1).mean("seed").values
    whole = distance.mean(("seed", "round")).values
    best = min(usable, key=lambda i: (np.ceil(final[i] / RESOLUTION), whole[i]))
    return GRID[best], distance.isel(step_size=best)


def exact_distance(statement_id: str, K: int, method: str, eta: float) -> xr.DataArray:
    """The root of E|x_r|^2 at one step size, exact over all orders, (round)."""
    runs = expectation(
        group(statement_id), METHODS[method](K=K, eta=eta), rounds=ROUNDS, x0=X0, record=("dist2",), at=SHOWN
    )
    return np.sqrt(runs.dist2.isel(step_size=0).clip(min=0.0))


def _distance_panel(axis: Any, statement_id: str, title: str, bands: bool = False) -> Rows:
    """Draw both methods with few and many local steps; the title says the step sizes.  Returns the numbers.

    Rounds are linear up to 1 and logarithmic from there on: so the first round, after which some methods are at the optimum,
    can be seen.

    bands  draw the least and the largest distance of the seeds too
    """
    rows: Rows = []
    steps: dict[str, list[str]] = {}
    for method, colour in (("PFL", BLUE), ("SFL", RED)):
        for K, style in ((2, "-"), (10, "--")):
            eta, distance = best_runs(statement_id, K, method)
            steps.setdefault(method, []).append(f"{eta:g}")
            mean, low, high = distance.mean("seed"), distance.min("seed"), distance.max("seed")
            exact = exact_distance(statement_id, K, method, eta)
            axis.plot(SHOWN, exact, color=colour, ls=style, label=f"{method}, K = {K}")
            if bands:
                axis.fill_between(SHOWN, low, high, color=colour, alpha=0.15, lw=0)
            told: dict[str, object] = {"group": statement_id, "method": method, "K": K, "eta": eta}
            numbers = {"mean": mean.values, "min": low.values, "max": high.values, "exact_rms": exact.values}
            rows += rows_of(told, round=SHOWN, **numbers)
    chosen = "; ".join(f"{method} {', '.join(each)}" for method, each in steps.items())
    axis.set(yscale="log", ylim=(RESOLUTION, 3 * X0), xlabel="round r")
    axis.set_xscale("symlog", linthresh=1, linscale=0.4)
    axis.set(xlim=(0, ROUNDS), xticks=(0, 1, 10, 100, ROUNDS))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_title(f"{title}\n$\\eta$: {chosen}", fontsize=9)
    axis.yaxis.set_minor_locator(NullLocator())
    return rows


def _one_legend(figure: Any, axis: Any) -> None:
    """The legend of a figure whose panels have the same curves: below them, in one row."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def figure_1(full: bool = False) -> FigureData:
    """Figure 1: distance to the optimum on the four groups of Table 2."""
    figure, axes = canvas(1, 4, height=2.9, sharey=True)
    rows = []
    for number, axis in enumerate(axes[0], 1):
        id_ = f"sfl.quad.table2.g{number}"
        problem = group(id_).constants
        title = rf"group {number}: $\zeta_*$ = {problem['zeta_star']:g}, $\delta$ = {problem['delta']:.2g}"
        rows += _distance_panel(axis, id_, title, bands=True)
    axes[0, 0].set_ylabel(r"distance $|x^{(r)}-x^*|$, units of $x$")
    _one_legend(figure, axes[0, 0])
    figure.suptitle(f"sfl, Figure 1 regenerated: {_DISTANCES}; bands: minimum and maximum of 5 seeds")
    return FigureData(figure, pd.DataFrame(rows))


def figure_7(full: bool = False) -> FigureData:
    """Figure 7: distance to the optimum on the nine groups of Table 6."""
    figure, axes = canvas(3, 3, height=2.4, sharey=True)
    rows = []
    for i, (key, name) in enumerate((("d0", "0"), ("d13", "1/3"), ("d1", "1"))):
        for j, zeta in enumerate((1, 10, 100)):
            title = rf"$\delta$ = {name}, $\zeta_*$ = {zeta}"
            rows += _distance_panel(axes[i, j], f"sfl.quad.table6.{key}_z{zeta}", title)
            axes[i, j].set_xlabel("round r" if i == 2 else "")
        axes[i, 0].set_ylabel(r"$|x^{(r)}-x^*|$, units of $x$")
    _one_legend(figure, axes[0, 0])
    figure.suptitle(f"sfl, Figure 7 regenerated: {_DISTANCES}")
    return FigureData(figure, pd.DataFrame(rows))


def exdir(full: bool = False) -> FigureData:
    """Partitions of the digits by ExDir(C, alpha), as the paper's Figure 8: heterogeneity grows to the right."""
    labels = data.load("digits").labels
    alphas, classes = (100.0, 10.0, 1.0), (1, 2, 5, 10)
    figure, axes = canvas(len(classes), len(alphas), width=3.6, height=2.6)
    rows = []
    for i, C in enumerate(classes):
        for j, alpha in enumerate(alphas):
            partition = partitions.exdir(labels, 10, C, alpha, seed=0)
            counts = partition.counts(labels)
            axis = axes[i, j]
            axis.imshow(counts, cmap="Blues", origin="lower", aspect="auto", vmin=0, vmax=190)
            for c, m in np.argwhere(counts > 0):
                dark = counts[c, m] > 110
                axis.text(
                    m, c, counts[c, m], ha="center", va="center", fontsize=5.5, color="white" if dark else "black"
                )
                rows.append({"C": C, "alpha": alpha, "label": c, "client": m, "samples": counts[c, m]})
            axis.set(title=rf"ExDir(C={C}, $\alpha$={alpha:g})", xticks=range(10), yticks=range(10))
            axis.grid(False)
            axis.set_xlabel("client" if i == len(classes) - 1 else "")
            axis.set_ylabel("label (samples in the cell)" if j == 0 else "")
    figure.suptitle("sfl, Figure 8: extended Dirichlet partitions of the 1797 digits among 10 clients")
    return FigureData(figure, pd.DataFrame(rows))


def slopes(full: bool = False) -> FigureData:
    """How the bounds of Theorems 1 and 2 and the exact expected gap scale in R, K and M, at tuned step sizes."""
    base = {"R": 500, "K": 5, "M": 10}
    ranges = {"R": (125, 250, 500, 1000, 2000), "K": (1, 2, 4, 8, 16), "M": (2, 3, 4, 6, 8, 12)}
    figure, axes = canvas(1, 3, width=3.6, height=3.2)
    rows = []
    for axis, (count, values) in zip(axes[0], ranges.items(), strict=True):
        for name, theorem, algorithm, colour in (
            ("SFL", "sfl.thm1.strongly_convex", SFL, RED),
            ("PFL", "sfl.thm2.strongly_convex", PFL, BLUE),
        ):
            points = [_tuned_point(theorem, algorithm, {**base, count: value}) for value in values]
            bound, exact = (np.array([p[key] for p in points]) for key in ("bound", "exact"))
            slope = [np.polyfit(np.log(values), np.log(series), 1)[0] for series in (bound, exact)]
            axis.plot(values, bound, "--", color=colour, marker="o", ms=3, label=f"{name}: bound")
            axis.plot(values, exact, color=colour, marker="s", ms=3, label=f"{name}: exact")
            rows += [
                {"method": name, "along": count, "at": v, **p, "bound_slope": slope[0], "exact_slope": slope[1]}
                for v, p in zip(values, points, strict=True)
            ]
        _slopes_beside(axis)
        fixed = ", ".join(f"{n}={v}" for n, v in base.items() if n != count)
        reference = rows[-len(values)]["bound"] * (np.array(values) / values[0]) ** -1.0
        axis.plot(values, reference / 20, ":", color=BLACK, lw=1, label="slope $-1$")
        axis.set(xscale="log", yscale="log", xlabel={"R": "rounds R", "K": "local steps K", "M": "clients M"}[count])
        axis.set_ylim(axis.get_ylim()[0] / 2)  # for the slope below the lowest curve
        axis.set_title(f"along {count} ({fixed})")
        axis.xaxis.set_major_locator(FixedLocator(values))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    _one_legend(figure, axes[0, 0])
    axes[0, 0].set_ylabel(r"$\mathbb{E}[F(\bar x^{(R)})-F(x^*)]$  (units of $F$)")
    figure.suptitle(
        "sfl: scaling at the tuned step size, the fitted slopes beside the curves: quadratics, d = 5, $L$ = 1, "
        "$\\mu$ = 0.1, $\\sigma$ = 2, $\\zeta_*$ = 0.5"
    )
    return FigureData(figure, pd.DataFrame(rows))


def _slopes_beside(axis: Any) -> None:
    """Write the fitted slope of each curve at its end; of two that end near each other one is written higher."""
    curves = [np.asarray(line.get_xydata(), dtype=float) for line in axis.get_lines()]
    ends = sorted(zip(curves, axis.get_lines(), strict=True), key=lambda pair: float(pair[0][-1, 1]))
    for i, (points, line) in enumerate(ends):
        x, y = np.log(points).T
        slope = np.polyfit(x, y, 1)[0]
        axis.annotate(f"{slope:.2f}", points[-1], (6, 3 if i % 2 else -8), textcoords="offset points", fontsize=7.5,
                      color=line.get_color())  # fmt: skip
    left, right = curves[0][[0, -1], 0]
    axis.set_xlim(left / 1.15, right * (right / left) ** 0.15)


def _tuned_point(theorem: str, algorithm: Callable[..., SFL | PFL], counts: dict[str, int]) -> dict[str, float]:
    """Bound and exact expected gap at the bound's best step size."""
    M, K, R = counts["M"], counts["K"], counts["R"]
    problem = generate(5, M, L=1.0, mu=0.1, zeta_star=0.5, delta=0.2, sigma=2.0, seed=4)
    x0 = np.ones(problem.d)
    constants = {name: problem.constants[name] for name in ("L", "mu", "sigma", "zeta_star")}
    values = {**constants, "D": start(problem, x0)["D"], "M": M, "K": K, "R": R}
    eta_tilde = tune(theorem, **values).step_size
    exact = expectation(
        problem,
        algorithm(K=K, eta=eta_tilde / (M * K if algorithm is SFL else K)),
        rounds=R,
        x0=x0,
        record=("gap_average",),
        at=[R],
        average=1 - constants["mu"] * eta_tilde / 2,
    ).gap_average.item()
    return {"eta_tilde": eta_tilde, "bound": evaluate(theorem, **values, eta_tilde=eta_tilde).value, "exact": exact}


def lemma_7(full: bool = False) -> FigureData:
    """Lemma 7, (38), with its condition on T and beyond it, against the largest possible Psi_T."""
    a, b, gamma, r0 = 1.0, 1.0, 0.01, 1.0
    T = np.arange(0, 401)
    needed = 1 / (2 * a * gamma)
    figure, axes = canvas(2, 2, width=4.2, sharex=True, height_ratios=[2.2, 1.2])
    rows = []
    for column, c in enumerate((0.0, 10.0)):
        worst = worst_mean(a, b, c, gamma, r0, len(T))
        printed = evaluate("sfl.lemma7.eq38", strict=False, a=a, c=c, d=1.0, gamma=gamma, T=T, r0=r0)
        speaks = printed.admissible
        above, below = axes[:, column]
        above.plot(T + 1, worst, label=r"largest $\Psi_T$ of all sequences", **MEASURED)
        above.plot(T + 1, printed.value, label="(38), for every T", **PRINTED)
        above.plot((T + 1)[speaks], printed.value[speaks], label="(38), with its condition", **CORRECTED)
        below.plot(T + 1, printed.value / worst, **PRINTED)
        below.plot((T + 1)[speaks], (printed.value / worst)[speaks], **CORRECTED)
        below.axhline(1, color=RED, lw=0.8, ls=":")
        below.set(yscale="log", xlabel="T + 1")
        for axis in (above, below):
            axis.set_xscale("log")
            axis.axvline(needed, color=GREY, lw=0.8, ls=":", label=r"$T+1=1/(2a\gamma)$" if axis is above else None)
            count_axis(axis.xaxis, 400)
        above.set(yscale="log", title=f"$a$ = {a:g}, $\\gamma$ = {gamma:g}, $r_0$ = {r0:g}, $c$ = {c:g}")
        rows += rows_of({"c": c}, T=T, worst=worst, printed=printed.value, corrected_speaks=speaks.astype(int))
    axes[0, 0].set_ylabel(r"$\Psi_T$  (units of $F$)")
    axes[1, 0].set_ylabel("bound / largest")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle("sfl, Lemma 7, (38): below the largest mean for T + 1 < 0.4/($a\\gamma$)")
    return FigureData(figure, pd.DataFrame(rows))


def worst_mean(a: float, b: float, c: float, gamma: float, r0: float, rounds: int) -> np.ndarray:
    """The largest Psi_T = (b / W_T) sum w_t s_t that the recursion (37) allows, T = 0 ... rounds - 1.

    By (37), sum w_t b gamma s_t <= r_0 + c gamma^2 W_T.  The s_t that make every r_(t+1) = 0 attain it.
    """
    w = (1 - a * gamma) ** -np.arange(1.0, rounds + 1)
    r = np.concatenate([[r0], np.zeros(rounds - 1)])
    s = ((1 - a * gamma) * r + c * gamma**2) / (b * gamma)
    return np.asarray(b * np.cumsum(w * s) / np.cumsum(w))


def _sharpened(full: bool) -> FigureData:
    panels: dict[str, dict[Rational, dict[str, float]]] = {id_: {} for id_ in sharpening.DRAWN}
    for numbers, arguments in zip(sharpening.STUDY.numbers.values(), sharpening.STUDY.points().values(), strict=True):
        if numbers:
            panels[arguments["theorem"]][Rational(arguments["span"])] = {term: own[0] for term, own in numbers.items()}
    return trade_off.draw(panels)


FIGURES = [
    best_constants.picture("sfl"),
    *tight_rates.PICTURES,
    *every_step.PICTURES,
    *winners.PICTURES,
    *beside_networks.PICTURES,
    rate_tables.picture("sfl_table1_as_an_experiment", "sfl.table1", rate_table.EXPERIMENTS, rate_table.MISSING),
    Picture(
        "sfl_fig1_distance_on_quadratics",
        "In group 2, with equal Hessians, PFL reaches the optimum within a few rounds and SFL stops at a distance. In "
        "groups 3 and 4 SFL with K = 10 ends nearer than PFL with K = 10.",
        figure_1,
        ("sfl.fig1",),
    ),
    Picture(
        "sfl_fig7_distance_on_quadratics",
        "Top row, equal Hessians: PFL reaches the optimum within a few rounds and SFL stops at a distance. Elsewhere "
        "SFL with K = 10 ends nearer than PFL with K = 10.",
        figure_7,
        ("sfl.fig7",),
    ),
    Picture(
        "sfl_fig8_exdir_partitions",
        "How many samples of a label each client has. From top to bottom a client has more labels; from left to right the "
        "numbers of samples are less even.",
        exdir,
        ("sfl.fig8", "sfl.exdir"),
    ),
    Picture(
        "sfl_slopes_in_R_K_M",
        "Compare the slopes of bounds (dashed) and exact gaps (solid). The bounds are more than 100 times the gaps, "
        "and fall less steeply along K and M.",
        slopes,
        ("sfl.cor1.strongly_convex", "sfl.cor2.strongly_convex"),
    ),
    Picture(
        "sfl_lemma7_against_worst_sequence",
        "For few steps (38) (black) is below the largest mean that the recursion allows (vermilion). Where its condition on "
        "T holds (blue) it is above.",
        lemma_7,
        ("sfl.lemma7.eq38",),
    ),
    Picture(
        "sfl_sharper_constants_over_step_sizes",
        "How many times smaller each term is than in the printed theorem. To the right the sharpened theorem admits "
        "larger step sizes, at the price of its constants.",
        _sharpened,
        sharpening.DRAWN,
        study=lambda: sharpening.STUDY,
    ),
    bound_against_run.crossing("sfl.eq54"),
    *bound_against_run.pictures(
        dict.fromkeys(a.statement for a in ARENAS), crossed=[f"sfl.eq{n}" for n in (42, 46, 54, 80)]
    ),
]
