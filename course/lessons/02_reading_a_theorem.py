import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="2. Reading a theorem")


with app.setup:
    from dataclasses import replace
    from functools import cache

    import marimo as mo
    import numpy as np
    import sympy

    from course.lesson import after, check, drawn, how_to_answer, put, regenerated, scaled, statement, told
    from fedtheory.bounds import ConditionViolated, evaluate, rounds_to, tune
    from fedtheory.bounds.tuning import admissible_interval
    from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, RED
    from fedtheory.simulations import expectation
    from fedtheory.simulations.algorithms.sfl import SFL
    from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
    from fedtheory.theory import catalogue
    from fedtheory.theory.statement import Condition


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 2. Reading a convergence theorem

    **About 80 minutes.** You need lesson 1, derivatives, and logarithms. Afterwards you can say

    - which numbers a theorem needs, and who knows them: the problem, the algorithm, or the start;
    - for which step sizes and for how many rounds it says anything at all;
    - how the step size balances its terms, and how many rounds it needs to $\varepsilon$;
    - what a corollary in $\mathcal{O}$ does not say any more;
    - what happens to a theorem without one of its constants, terms or conditions, and which check notices.

    The theorem is Theorem 1 of the paper on sequential federated learning (SFL): the model goes through all $M$ clients in a
    random order, and each takes $K$ steps of SGD.
    """),
            how_to_answer(),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## Four terms, two conditions, two definitions

    The strongly convex case, as printed:
    """),
            statement("sfl.thm1.strongly_convex"),
            mo.md(r"""
    Read it in this order. **The left side**: the gap at a weighted average $\bar x^{(R)}$ of the rounds' models, with weights
    $w_r$ that grow with $r$. It is not the gap of the last model. **The definitions**: $\tilde\eta=MK\eta$, so $\tilde\eta$ is the length
    of a whole round. The learning rate $\eta$ is $MK$ times smaller. **The conditions**: without them the line above claims
    nothing. **The terms**: what is left of the start, noise, noise that a round collects, and the drift, because clients
    differ.

    **Exercise 2.1.** Write the right side as a function. The check compares it with the catalogue's at four points.
    """),
        ]
    )
    return


@app.cell
def _():
    def right_side(L, mu, sigma, zeta_star, D, M, K, R, eta_tilde):
        # student: return ...  # your turn: four terms
        # solution
        optimisation = 9 / 2 * mu * D**2 * np.exp(-mu * eta_tilde * R / 2)
        noise = 12 * eta_tilde * sigma**2 / (M * K)
        noise_drift = 18 * L * eta_tilde**2 * sigma**2 / (M * K)
        heterogeneity = 18 * L * eta_tilde**2 * zeta_star**2 / M
        return optimisation + noise + noise_drift + heterogeneity
        # end

    return (right_side,)


@app.cell(hide_code=True)
def _(right_side):
    def _printed(L, mu, sigma, zeta_star, D, M, K, R, eta_tilde):
        return evaluate(
            "sfl.thm1.strongly_convex",
            L=L, mu=mu, sigma=sigma, zeta_star=zeta_star, D=D, M=M, K=K, R=R, eta_tilde=eta_tilde,
        ).value  # fmt: skip

    # One point for each term alone, and one for all of them
    answer_1 = check(
        "2.1",
        right_side,
        _printed,
        at=[
            (1.0, 0.5, 0.0, 0.0, 2.0, 3, 2, 40, 0.1),
            (2.0, 0.5, 3.0, 0.0, 0.0, 3, 2, 50, 0.05),
            (2.0, 0.5, 0.0, 3.0, 0.0, 3, 2, 50, 0.05),
            (1.0, 0.1, 1.0, 1.0, 1.0, 10, 5, 100, 0.15),
        ],
        hint=r"Copy the four terms one by one. At the first point only the first term counts, at the second the two with $\sigma$, at the third the one with $\zeta_*$. Where the check stops, that term is wrong.",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Who knows the symbols

    $M$, $K$, $R$ and $\tilde\eta$ are chosen. $D=\|x^{(0)}-x^*\|$ belongs to the start. $L$, $\mu$, $\sigma$ and $\zeta_*$ belong to
    the problem, and on a real task nobody knows them. To see whether a theorem is true, or tight, we need problems on which
    they *are* known. For quadratics $F_m(x)=\tfrac12 x^\top H_m x + b_m^\top x$ they are eigenvalues and closed forms. `generate`
    draws random quadratics with the constants that you ask for. Then it certifies their constants from the matrices.
    """)
    return


@app.cell(hide_code=True)
def _():
    kappa = mo.ui.slider(2, 100, 1, value=10, label=r"$\kappa=L/\mu$", show_value=True)
    zeta = mo.ui.slider(0.0, 5.0, 0.1, value=1.0, label=r"$\zeta_*$", show_value=True)
    noise = mo.ui.slider(0.0, 5.0, 0.1, value=1.0, label=r"$\sigma$", show_value=True)
    mo.hstack([kappa, zeta, noise], wrap=True, justify="start")
    return kappa, noise, zeta


@app.cell
def _(kappa, noise, zeta):
    # Ten clients in five dimensions, L = 1; the Hessians of two clients differ by up to 2 delta
    mu_asked = 1 / kappa.value
    federation = generate(
        5, 10, L=1.0, mu=mu_asked, delta=0.25 * (1 - mu_asked), zeta_star=zeta.value, sigma=noise.value, seed=0
    )
    return (federation,)


@app.cell(hide_code=True)
def _(federation):
    def _shown(value):
        return "does not exist" if value is None else f"{value:.6g}"

    _rows = [
        f"| `{name}` | {_shown(c.value)} | {c.how} |"
        for name, c in federation.constants.entries.items()
        if name in ("L", "mu", "sigma", "zeta_star", "beta", "zeta", "G", "delta")
    ]
    mo.md("\n".join(["| symbol | value | how it is known |", "|:---|:---|:---|", *_rows]))
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Theorem 1 uses $L$ and $\mu$ *of every client*: $L$ is the largest eigenvalue of any $H_m$, not of their mean. One steep
    client makes $L$ large for all. The constant $G$ ("the clients' gradients differ by at most $G$, everywhere") does not exist for
    these quadratics. A theorem that needs it says nothing about them.

    **Exercise 2.2.** Group 3 of the paper's Table 2 has $F_1(x)=\tfrac23x^2+x$ and $F_2(x)=\tfrac13x^2-x$. Give
    $(L,\mu,\zeta_*)$ by hand. Mind the factor of two between a coefficient and a second derivative.
    """)
    return


@app.cell
def _():
    # student: L_mu_zeta = ...  # your turn: a triple of numbers
    # solution
    # F_1'' = 4/3, F_2'' = 2/3; F = x^2/2 has its minimum at 0, where the gradients are 1 and -1
    L_mu_zeta = (4 / 3, 2 / 3, 1.0)
    # end
    return (L_mu_zeta,)


@app.cell(hide_code=True)
def _(L_mu_zeta):
    _constants = from_functions([2 / 3, 1 / 3], [1.0, -1.0]).constants
    answer_2 = check(
        "2.2",
        L_mu_zeta,
        [_constants[name] for name in ("L", "mu", "zeta_star")],
        hint=r"$L$ is the largest second derivative of any client, $\mu$ the smallest. For $\zeta_*$ find the minimum of the mean, then the clients' gradients there.",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Conditions are part of the statement

    Outside the conditions the theorem gives no number. Try a large $\tilde\eta$, then a small one, then few rounds.
    """)
    return


@app.cell(hide_code=True)
def _():
    log_step = mo.ui.slider(-3.0, 0.5, 0.05, value=-1.0, label=r"$\log_{10}\tilde\eta$", show_value=True)
    R = mo.ui.slider(
        steps=[5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000],
        value=500,
        label="rounds $R$",
        show_value=True,
    )
    M = mo.ui.slider(1, 40, 1, value=10, label="clients $M$", show_value=True)
    K = mo.ui.slider(1, 40, 1, value=5, label="local steps $K$", show_value=True)
    mo.hstack([mo.vstack([log_step, R]), mo.vstack([M, K])], wrap=True, justify="start")
    return K, M, R, log_step


@app.cell(hide_code=True)
def _(K, M, R, kappa, log_step, noise, zeta):
    symbols = {
        "L": 1.0, "mu": 1 / kappa.value, "sigma": noise.value, "zeta_star": zeta.value, "D": 1.0,
        "M": M.value, "K": K.value, "R": R.value,
    }  # fmt: skip
    try:
        _value = evaluate("sfl.thm1.strongly_convex", eta_tilde=10**log_step.value, **symbols)
        _rows = "".join(
            f"<tr><td>{n.replace('_', ' ')}</td><td style='padding-left:1em'>{t:.4g}</td></tr>"
            for n, t in _value.terms.items()
        )
        _said = mo.callout(
            mo.Html(f"<div>The bound is <strong>{_value.value:.4g}</strong>.</div><table>{_rows}</table>"), "success"
        )
    except ConditionViolated as error:
        _said = mo.callout(mo.Html(f"<div><strong>No bound.</strong> <code>{error}</code></div>"), "danger")
    _said
    return (symbols,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The two conditions on $\tilde\eta$ leave an interval, $1/(\mu R)\le\tilde\eta\le 1/(6L)$. With few rounds it is empty. So the
    theorem has a condition on $R$ that is printed nowhere.

    **Exercise 2.3.** The smallest whole number of rounds for which some step size is admissible, as a function of $L$ and $\mu$.
    The check looks for the first $R$ at which the catalogue finds an interval.
    """)
    return


@app.cell
def _():
    def fewest_rounds(L, mu):
        # student: return ...  # your turn
        # solution
        return int(np.ceil(6 * L / mu - 1e-9))  # 1/(mu R) <= 1/(6 L); the small number guards against rounding
        # end

    return (fewest_rounds,)


@app.cell(hide_code=True)
def _(fewest_rounds):
    def _searched(L, mu):
        """By halving: the first R with an admissible step size."""

        def empty(R):
            try:
                admissible_interval("sfl.thm1.strongly_convex", L=L, mu=mu, R=R)
            except ConditionViolated:
                return True
            return False

        low, high = 0, 1
        while empty(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if empty(middle) else (low, middle)
        return high

    answer_3 = check(
        "2.3",
        fewest_rounds,
        _searched,
        at=[(1.0, 0.5), (3.0, 0.7), (2.0, 2.0)],
        hint="An interval is not empty when its left end is at most its right end. Write this with $R$, solve for $R$, and round up.",
    )
    answer_3
    return (answer_3,)


@app.cell(hide_code=True)
def _(answer_3):
    mo.vstack(
        [
            after(
                answer_3,
                r"""
    For $\kappa=L/\mu=1000$ the theorem says nothing before round 6000. The paper prints the order (43), for partial
    participation, for every $R$. The catalogue refutes it at $R=1$ and has a corrected form with $R\ge 6L/\mu$. You will meet
    a similar witness below.
    """,
            ),
            mo.md(r"""
    ## The step size

    The first term falls with $\tilde\eta$, and all others grow. The picture uses the sliders above: the sum in black, the
    admissible interval between the dotted lines, the best admissible step size as a dot.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _(symbols):
    def _draw(axis):
        steps = np.geomspace(1e-4, 3, 300)
        value = evaluate("sfl.thm1.strongly_convex", strict=False, eta_tilde=steps, **symbols)
        for (name, term), colour in zip(value.terms.items(), (BLUE, ORANGE, GREEN, RED), strict=True):
            if (term > 0).any():
                axis.plot(steps, term, color=colour, lw=1, label=name.replace("_", " "))
        axis.plot(steps, value.value, color=BLACK, lw=1.6, label="sum")
        low, high = 1 / (symbols["mu"] * symbols["R"]), 1 / (6 * symbols["L"])
        axis.axvline(low, color=GREY, ls=":", lw=1)
        axis.axvline(high, color=GREY, ls=":", lw=1)
        try:
            best = tune("sfl.thm1.strongly_convex", **symbols)
            axis.axvspan(low, high, color=GREY, alpha=0.12, lw=0, label="admissible")
            axis.plot([best.step_size], [best.best.value], "o", color=BLACK, label="best admissible")
        except ConditionViolated:
            axis.set_title("no step size is admissible")
        top = float(value.value[steps <= max(high, 1)].max())
        axis.set(
            xscale="log", yscale="log", xlabel=r"$\tilde\eta$ (units of $1/L$)", ylabel="terms of the bound on the gap"
        )
        axis.set_ylim(max(top * 1e-6, 1e-12), top * 3)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    drawn(_draw, width=7.5)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    In the general convex case ($\mu=0$) the first term is $3D^2/(\tilde\eta R)$ and we can do everything by hand. Suppose first
    that noise matters most. Keep $3D^2/(\tilde\eta R)$ and $12\tilde\eta\sigma^2/(MK)$. sympy finds the minimum from the printed terms:
    """)
    return


@app.cell
def _():
    convex = catalogue.find("sfl.thm1.general_convex")
    by_name = {t.name: t.value for t in convex.claim.terms}
    symbol = {s.name: s.sympy for s in catalogue.symbols(convex).values()}
    step = symbol["eta_tilde"]

    two_terms = by_name["optimisation"] + by_name["noise"]
    roots = sympy.solve(sympy.diff(two_terms, step), step)
    best_step = next(root for root in roots if root.subs(dict.fromkeys(root.free_symbols, 1)) > 0)
    at_best = sympy.simplify(two_terms.subs(step, best_step))
    return at_best, best_step, by_name, symbol, step, two_terms


@app.cell(hide_code=True)
def _(at_best, best_step):
    mo.md(rf"""
    So $\tilde\eta={sympy.latex(best_step)}$, and there the bound is ${sympy.latex(at_best)}$: this is the term
    $\sigma D/\sqrt{{MKR}}$ of Corollary 1, with the constant 12 that the corollary leaves out.

    **Exercise 2.4.** Now without noise: keep $3D^2/(\tilde\eta R)$ and $18L\tilde\eta^2\zeta_*^2/M$. Give the best step size. The check
    compares your formula with `tune`, which minimises the whole bound numerically within its conditions.
    """)
    return


@app.cell
def _():
    def best_without_noise(D, L, zeta_star, M, R):
        # student: return ...  # your turn
        # solution
        return (D**2 * M / (12 * L * zeta_star**2 * R)) ** (1 / 3)
        # end

    return (best_without_noise,)


@app.cell(hide_code=True)
def _(best_without_noise):
    def _tuned(D, L, zeta_star, M, R):
        return tune("sfl.thm1.general_convex", D=D, L=L, zeta_star=zeta_star, M=M, R=R, K=3, sigma=0.0).step_size

    answer_4 = check(
        "2.4",
        best_without_noise,
        _tuned,
        at=[(1.0, 1.0, 1.0, 10, 10000), (2.0, 0.5, 3.0, 4, 2000)],
        tolerance=1e-5,
        hint=r"Set the derivative in $\tilde\eta$ to zero. This gives an equation for $\tilde\eta^3$.",
    )
    answer_4
    return (answer_4,)


@app.cell(hide_code=True)
def _():
    accuracy = mo.ui.slider(-3.0, 0.0, 0.25, value=-1.0, label=r"$\log_{10}\varepsilon$", show_value=True)
    mo.vstack(
        [
            mo.md(r"""
    ## How many rounds to $\varepsilon$

    `rounds_to` tunes the step size for every $R$ and gives the first $R$ at which the bound is at most $\varepsilon$. Below is the
    tuned bound of the general convex case, with one cause at a time ($L=D=1$, $M=10$, $K=5$). The slopes show which two
    terms the best step size balances.
    """),
            accuracy,
        ]
    )
    return (accuracy,)


@app.cell
def _():
    causes = {
        "start only": {"sigma": 0.0, "zeta_star": 0.0},
        "heterogeneity": {"sigma": 0.0, "zeta_star": 10.0},
        "noise": {"sigma": 10.0, "zeta_star": 0.0},
    }

    @cache
    def rounds(epsilon, cause):
        return rounds_to(epsilon, "sfl.thm1.general_convex", L=1.0, D=1.0, M=10, K=5, **causes[cause])

    return causes, rounds


@app.cell(hide_code=True)
def _(accuracy, causes, rounds):
    def _draw(axis):
        lengths, epsilon = np.geomspace(10, 1e9, 60).round(), 10**accuracy.value
        steps = np.geomspace(1e-10, 1 / 6, 400)[:, None]
        for (cause, symbols), colour in zip(causes.items(), (BLUE, GREEN, ORANGE), strict=True):
            curve = evaluate(
                "sfl.thm1.general_convex", L=1.0, D=1.0, M=10, K=5, R=lengths[None], eta_tilde=steps, **symbols
            ).value.min(0)
            reached = rounds(epsilon, cause)
            axis.plot(lengths, curve, color=colour, label=f"{cause}: {reached} rounds")
            axis.plot([reached], [epsilon], "o", color=colour)
        axis.axhline(epsilon, color=BLACK, ls=":", lw=1, label=rf"$\varepsilon$ = {epsilon:.3g}")
        axis.set(xscale="log", yscale="log", xlabel="rounds $R$", ylabel="tuned bound on the gap (units of $F$)")
        axis.set_ylim(1e-4, None)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    drawn(_draw, width=8)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 2.5.** Halve $\varepsilon$. By what factor does the number of rounds grow in each of the three cases: the
    start alone, heterogeneity, noise? Give the three factors as a tuple. Use the exponents of $R$ that you know. The check runs
    `rounds_to` at $\varepsilon=0.1$ and $0.05$ and allows two per cent.
    """)
    return


@app.cell
def _():
    # student: factors = ...  # your turn: (start only, heterogeneity, noise)
    # solution
    factors = (2, 2 ** (3 / 2), 2**2)  # the bounds fall like 1/R, R^(-2/3), R^(-1/2)
    # end
    return (factors,)


@app.cell(hide_code=True)
def _(causes, factors, rounds):
    def _measured():
        return [rounds(0.05, cause) / rounds(0.1, cause) for cause in causes]

    answer_5 = check(
        "2.5",
        factors,
        lambda: _measured(),
        at=[()],
        tolerance=2e-2,
        hint=r"A bound that falls like $R^{-p}$ is $\varepsilon$ at $R\sim\varepsilon^{-1/p}$. Find $p$ from the best step size in each of the three cases.",
    )
    answer_5
    return (answer_5,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## What the corollary no longer says

    Corollary 1 is Theorem 1 with a tuned step size and without constants. In the strongly convex case it is an
    $\tilde{\mathcal O}$: polylogarithmic factors are gone too.
    """),
            statement("sfl.cor1.strongly_convex"),
            mo.md(r"""
    How much is gone? Here is the tuned bound of Theorem 1, divided by the sum that the corollary prints.
    """),
        ]
    )
    return


@app.cell
def _():
    # L = 1, mu = 0.1, sigma = zeta_* = D = 1, M = 10, K = 5
    run_lengths = np.round(np.geomspace(60, 1e7, 12)).astype(int)
    common = {"L": 1.0, "sigma": 1.0, "zeta_star": 1.0, "D": 1.0, "M": 10, "K": 5}

    def lost(case, **more):
        return np.array(
            [
                tune(f"sfl.thm1.{case}", R=int(r), **common, **more).best.value
                / evaluate(f"sfl.cor1.{case}", R=int(r), **common, **more).value
                for r in run_lengths
            ]
        )

    ratios = {
        "strongly convex, (4) / (7)": lost("strongly_convex", mu=0.1),
        "general convex, (5) / (8)": lost("general_convex"),
    }
    return ratios, run_lengths


@app.cell(hide_code=True)
def _(ratios, run_lengths):
    def _draw(axis):
        for (name, ratio), colour in zip(ratios.items(), (BLUE, ORANGE), strict=True):
            axis.plot(run_lengths, ratio, ".-", color=colour, label=name)
        axis.set(xscale="log", xlabel="rounds $R$", ylabel="tuned bound / printed order", ylim=(0, None))
        axis.legend()

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _(ratios, run_lengths):
    _strong, _general = ratios.values()
    _per_decade = (_strong[-1] - _strong[-3]) / np.log10(run_lengths[-1] / run_lengths[-3])
    mo.md(rf"""
    In the general convex case the ratio is {_general[-1]:.3g} at the right end and tends to the 12 that you saw: a constant. In
    the strongly convex case it goes on growing, to {_strong[-1]:.0f}, by {_per_decade:.0f} for each factor of ten in $R$ at the
    right end. This is why: at $\tilde\eta=2c/(\mu R)$ the first term is $\tfrac92\mu D^2e^{{-c}}$, and the noise term is $24\,c$
    times the printed one. If $e^{{-c}}$ falls like $1/R$, then $c$ grows like $\ln R$, and $24\ln 10\approx55$. The
    $\tilde{{\mathcal O}}$ hides this logarithm. A factor of {_strong[-1]:.0f} on a bound that falls like $1/R$ is about that many times
    more rounds.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Break it: terms and constants

    Leave out a term of Theorem 1, or make it smaller. Two kinds of evidence look at it: `ledger` replays the proof with every
    coefficient. `moments` computes the exact expectation of whole runs on random quadratics (10 clients, 10 dimensions) and
    compares it with the bound.
    """)
    return


@app.cell(hide_code=True)
def _():
    case = mo.ui.dropdown(["general_convex", "nonconvex"], value="general_convex", label="case")
    term = mo.ui.dropdown(["optimisation", "noise", "noise_drift", "heterogeneity"], value="noise", label="term")
    factor = mo.ui.dropdown({"left out": 0, "1/10": 0.1, "1/2": 0.5, "99/100": 0.99}, value="left out", label="factor")
    mo.hstack([case, term, factor], justify="start", wrap=True)
    return case, factor, term


@app.cell(hide_code=True)
def _(case, factor, term):
    def without(id_, name):
        """The bound with one term left out."""
        s = catalogue.find(id_)
        return s.with_claim(replace(s.claim, terms=tuple(t for t in s.claim.terms if t.name != name)))

    _id = f"sfl.thm1.{case.value}"
    _changed = scaled(_id, factor.value, term.value) if factor.value else without(_id, term.value)
    mo.vstack([told(put(_id, kind, _changed), kind) for kind in ("ledger", "moments")])
    return (without,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The ledger notices every change: these constants are exactly what this proof gives. The runs notice little.

    **Exercise 2.6.** Which terms of the general convex bound can be left out without any of the `moments` runs noticing? Tick
    them, after trying each.
    """)
    return


@app.cell
def _():
    unnoticed = mo.ui.multiselect(
        options=["optimisation", "noise", "noise_drift", "heterogeneity"],
        label="not noticed by the runs",
        # solution
        value=["noise", "noise_drift", "heterogeneity"],
        # end
    )
    unnoticed
    return (unnoticed,)


@app.cell(hide_code=True)
def _(unnoticed, without):
    _names = ["optimisation", "noise", "noise_drift", "heterogeneity"]
    _id = "sfl.thm1.general_convex"
    _expected = ", ".join(n for n in _names if put(_id, "moments", without(_id, n)).status == "tested")
    answer_6 = check(
        "2.6",
        ", ".join(n for n in _names if n in unnoticed.value) or None,
        _expected,
        hint="Set the dropdown to each term, with the factor that leaves it out, and look only at the box of the runs. Did you try all four?",
    )
    answer_6
    return (answer_6,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    What the runs do not notice is a fact about *these runs*, not about the theorem. At their step sizes and lengths the terms
    that remain are large enough. It does not follow that the bound without noise is true. To show that it is false we need one
    federation on which the other terms are small.

    **Exercise 2.7.** Refute the general convex bound *without its noise term* (the noise drift term stays). One client with
    $F(x)=x^2/2$, one local step, $\sigma=1$. Choose the start $x_0$, $\tilde\eta\le\tfrac16$ and $R\le 5000$ so that the exact
    expectation of the gap is larger than what is left of the bound. Which term can a good start remove?
    """)
    return


@app.cell
def _():
    # student: x0_eta_R = ...  # your turn: (x0, eta_tilde, R)
    # solution
    # From the minimiser the first term is 0; what is left, 18 eta_tilde^2 sigma^2, loses against a gap of first order
    x0_eta_R = (0.0, 0.001, 1000)
    # end
    return (x0_eta_R,)


@app.cell(hide_code=True)
def _(without, x0_eta_R):
    def _held(x0, eta_tilde, R):
        """Measured gap of the average, and the bound without noise; raises outside the conditions."""
        one = from_functions([0.5], [0.0], sigma=1.0)
        data = expectation(one, SFL(K=1, eta=eta_tilde), rounds=R, x0=x0, record=("gap_average",))
        left = without("sfl.thm1.general_convex", "noise")
        bound = evaluate(left, L=1.0, sigma=1.0, zeta_star=0.0, D=abs(x0), M=1, K=1, R=R, eta_tilde=eta_tilde).value
        return float(data.gap_average.isel(round=-1).item()), bound

    def _what_becomes():
        if x0_eta_R is ...:
            return ...
        measured, bound = _held(*x0_eta_R)
        if x0_eta_R[2] > 5000:
            return "R is above 5000"
        if measured > bound * (1 + 1e-9):
            return "refuted"
        return f"not refuted: gap {measured:.4g}, bound {bound:.4g}"

    answer_7 = check(
        "2.7",
        _what_becomes,
        "refuted",
        at=[()],
        hint=r"Start so that $D=0$. Then compare a gap of first order in $\tilde\eta$ with a term of second order, and choose $\tilde\eta$.",
    )
    answer_7
    return (answer_7,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Break it: conditions

    Gradient descent on $F(x)=\tfrac12(x_1^2+\mu x_2^2)$ from $(1,1)$ is SFL with one client and one local step, so Theorem 1 speaks
    about it. We compute both sides for *every* $\tilde\eta$, admissible or not. Where the red curve is above the black one, the
    line that is printed in the theorem is false.
    """)
    return


@app.cell(hide_code=True)
def _():
    flat = mo.ui.slider(0.01, 1.0, 0.01, value=0.05, label=r"$\mu$", show_value=True)
    length = mo.ui.slider(steps=[1, 10, 30, 120, 200, 500, 1000], value=200, label="rounds $R$", show_value=True)
    mo.hstack([flat, length], justify="start", wrap=True)
    return flat, length


@app.cell
def _():
    def both_sides(mu, steps, R, x0=(1.0, 1.0)):
        """Gap of the weighted average after R rounds, and the printed right side, for each step size."""
        problem = Quadratic(np.array([[[1.0, 0.0], [0.0, mu]]]), np.zeros((1, 2)))
        steps = np.asarray(steps, dtype=float)
        weights = 1 - mu * steps / 2  # w_{r-1} / w_r
        data = expectation(
            problem, SFL(K=1, eta=steps.tolist()), rounds=R, x0=np.array(x0), record=("gap_average",), average=weights
        )
        bound = evaluate(
            "sfl.thm1.strongly_convex", strict=False,
            L=1.0, mu=mu, sigma=0.0, zeta_star=0.0, D=float(np.hypot(*x0)), M=1, K=1, R=R, eta_tilde=steps,
        ).value  # fmt: skip
        return data.gap_average.isel(round=-1).values, bound

    return (both_sides,)


@app.cell(hide_code=True)
def _(both_sides, flat, length):
    def _draw(axis):
        steps = np.sort(np.append(np.geomspace(1e-4, 1.9, 150), np.linspace(1.9, 2.4, 60)[1:]))
        steps = steps[steps < 2 / flat.value]
        gap, bound = both_sides(flat.value, steps, length.value)
        gap = np.where(np.isfinite(gap), gap, 1e300)
        axis.plot(steps, bound, color=BLACK, label="right side, as printed")
        axis.plot(steps, gap, color=RED, label="gap of the average, exact")
        low, high = 1 / (flat.value * length.value), 1 / 6
        for x in (low, high):
            axis.axvline(x, color=GREY, ls=":", lw=1)
        if low <= high:
            axis.axvspan(low, high, color=GREY, alpha=0.12, lw=0, label="admissible")
        else:
            axis.set_title("no step size is admissible")
        axis.axvline(2, color=RED, ls="--", lw=1, label=r"$\tilde\eta=2/L$")
        axis.set(xscale="log", yscale="log", xlabel=r"$\tilde\eta$ (units of $1/L$)", ylabel="gap (units of $F$)")
        axis.set_ylim(1e-12, 1e4)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    drawn(_draw, width=7.5)
    return


@app.cell(hide_code=True)
def _(both_sides):
    _steps = np.array([1e-4, 1 / 6, 1.0, 2.1])
    _gap, _bound = both_sides(0.05, _steps, 200)
    _rows = "\n".join(f"| {s:.4g} | {g:.3g} | {b:.3g} |" for s, g, b in zip(_steps, _gap, _bound, strict=True))
    mo.md(rf"""
    Four points of the picture with $\mu=0.05$, $R=200$:

    | $\tilde\eta$ | gap | right side |
    |---|---|---|
    {_rows.replace(chr(10), chr(10) + "    ")}

    On the right the line fails past $2/L$, where gradient descent diverges. Between $1/(6L)$ and $2/L$ it is true here, but
    this theorem does not say so: a condition is what the proof needs, not where the truth ends. On the left, below $1/(\mu R)$,
    the method has hardly moved. The right side is then about $\tfrac92\mu D^2$, and does not contain $L$.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 2.8.** Let $\tilde\eta\to0$: the model does not move. Without the condition $1/(\mu R)\le\tilde\eta$ the theorem
    would claim $F(x^{(0)})-F^*\le\tfrac92\mu D^2$. For an $L$-smooth $F$ the gap can be as large as $\tfrac12LD^2$. Up to which
    $\kappa=L/\mu$ would the claim still be true? Give the number. The check computes it from the printed term.
    """)
    return


@app.cell
def _():
    # student: harmless_up_to = ...  # your turn
    # solution
    harmless_up_to = 9.0  # L D^2 / 2 <= 9 mu D^2 / 2
    # end
    return (harmless_up_to,)


@app.cell(hide_code=True)
def _(harmless_up_to):
    _s = catalogue.find("sfl.thm1.strongly_convex")
    _symbols = {s.name: s.sympy for s in catalogue.symbols(_s).values()}
    _start = next(t.value for t in _s.claim.terms if t.name == "optimisation")
    _limit = sympy.limit(_start, _symbols["eta_tilde"], 0)
    _L = _symbols["L"]
    _kappa = sympy.solve(sympy.Eq(_L * _symbols["D"] ** 2 / 2, _limit), _L)[0] / _symbols["mu"]
    answer_8 = check(
        "2.8",
        harmless_up_to,
        float(sympy.simplify(_kappa)),
        hint=r"Compare $\tfrac12LD^2$ with $\tfrac92\mu D^2$: divide both by $\mu D^2$.",
    )
    answer_8
    return (answer_8,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Now change the conditions and let the catalogue check the theorem. `search` looks for the small quadratic on which the bound
    is tightest.
    """)
    return


@app.cell(hide_code=True)
def _():
    change = mo.ui.dropdown(
        [
            "as printed",
            "without 1/(mu R) <= eta_tilde",
            "without eta_tilde <= 1/(6 L)",
            "1/mu <= eta_tilde for 1/(mu R) <= eta_tilde",
        ],
        value="without 1/(mu R) <= eta_tilde",
        label="conditions",
    )
    change
    return (change,)


@app.cell(hide_code=True)
def _(change):
    _s = catalogue.find("sfl.thm1.strongly_convex")
    _symbols = {s.name: s.sympy for s in catalogue.symbols(_s).values()}
    lower, upper, order_of_constants = _s.when
    _impossible = Condition(1 / _symbols["mu"] <= _symbols["eta_tilde"])
    _when = {
        "as printed": _s.when,
        "without 1/(mu R) <= eta_tilde": (upper, order_of_constants),
        "without eta_tilde <= 1/(6 L)": (lower, order_of_constants),
        "1/mu <= eta_tilde for 1/(mu R) <= eta_tilde": (_impossible, upper, order_of_constants),
    }[change.value]
    _kinds = ("ledger", "moments") if _impossible in _when else ("ledger", "moments", "search")
    mo.vstack([told(put(_s.id, kind, replace(_s, when=_when)), kind) for kind in _kinds])
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Try all four.

    - Without the lower condition the search has a witness: *refuted*. The arenas of `moments` were chosen inside the printed
      conditions, so they cannot see it. The ledger breaks at the step that needs the condition.
    - Without the upper condition the ledger breaks and nobody refutes: neither `moments` nor `search` tries a step size beyond
      $1/(6L)$. Our picture did, and found the failure past $2/L$. "Holds" always means: on what was tried.
    - The last one asks for $\tilde\eta\ge1/\mu$ and $\tilde\eta\le1/(6L)$, while $\mu\le L$. Nothing satisfies that. Such a
      theorem is true and says nothing. The verdict is *vacuous*, and would be so with any right side.

    ## The non-convex case, and a corollary that lost too much

    The non-convex bound is about the smallest $\mathbb E\|\nabla F(x^{(r)})\|^2$ so far, and the condition is
    $\tilde\eta\le1/(6L(\beta+1))$. Tuning turns $3A/(\tilde\eta R)$ at that limit into $18L(\beta+1)A/R$. The corollary prints $L\beta A/R$.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.vstack([statement("sfl.cor1.nonconvex"), told(put("sfl.cor1.nonconvex", "counterexample"), "counterexample")])
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 2.9.** Explain in three sentences why no absolute constant repairs this corollary. Is Theorem 1 false, too?
    """)
    return


@app.cell(hide_code=True)
def _():
    # student: mo.md("*Write your explanation here.*")
    # solution
    mo.md(r"""
    *Solution.* With identical clients $\beta=\zeta=0$, and without noise $\sigma=0$, so every printed term is 0, and any constant
    times 0 is 0. But two clients with $F_m=x^2/2$ from $x_0=1$ have a positive squared gradient after one round, as the witness
    shows. The theorem stays true: its condition has $\beta+1$, its first term is $3A/(\tilde\eta R)\ge18LA/R$, and the loss
    happened when $\beta+1$ was shortened to $\beta$ on the way to the order.
    """)
    # end
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## Where the lower condition comes from

    The strongly convex theorem is an application of a lemma on recursions (Lemma 7). The paper prints the lemma for every length $T$
    of the run. For short runs the worst sequence that its hypothesis allows refutes it. The figure is
    `fedtheory figures sfl_lemma7_against_worst_sequence`, drawn now. Theorem 1 prints the missing condition, so
    this error does not reach it.
    """),
            regenerated("sfl_lemma7_against_worst_sequence"),
            mo.md(r"""
    **To take away.** (1) A theorem is a line *and* its conditions *and* its definitions; read the left side first. (2) Two-sided
    conditions on the step size are a condition on $R$. (3) Each exponent of $R$ belongs to a trade between two
    terms; constants and logarithms disappear in $\mathcal O$ and $\tilde{\mathcal O}$, and are not small. (4) A run that does not
    notice a missing term proves nothing; a proof that breaks refutes nothing. (5) A vacuous theorem cannot be refuted, which is
    no praise. Lesson 3 compares two theorems; lesson 8 asks how loose they are.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _(answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7, answer_8):
    answers = [answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7, answer_8]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
