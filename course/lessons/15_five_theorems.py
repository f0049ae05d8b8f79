import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="15. Read a convergence theorem")


with app.setup:
    import marimo as mo
    import numpy as np

    from course.lesson import after, check, choice, drawn, how_to_answer, shelf, statement
    from fedtheory.bounds.evaluation import ConditionViolated, evaluate, parameters
    from fedtheory.bounds.tuning import tune
    from fedtheory.theory import catalogue
    from fedtheory.theory.printing import claim_words, latex
    from fedtheory.theory.properties import Property

    shelf()


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 15. Read a convergence theorem: five of the field side by side

    **About 60 minutes.** You need lesson 2. Afterwards you can

    - say of a theorem what it bounds, what it assumes, what it pays and what it gains;
    - find what remains of a bound after many rounds;
    - count what a method communicates, not what its theorem calls a round;
    - say which of several theorems apply at a setting, and which is the smallest there.

    The theorems are on the *shelf* (`shelf/`). The page *The shelf* of the documentation says what is ours. The constants are
    ours, and proved; those of ProxSkip and FedProx with one inference in words each. For FedProx we take gradient steps on
    strongly convex functions, where the paper has inexact solutions.
    """),
            how_to_answer(),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    THEOREMS = {
        "Local SGD": "khaled.thm",
        "Minibatch SGD": "minibatch.general",
        "FedLin": "fedlin.thm1",
        "ProxSkip": "proxskip.mean",
        "FedProx": "fedprox.thm",
    }

    def _named(assumption):
        return assumption.partition(".")[2].replace("_", " ")

    def _row(name, id_):
        s = catalogue.find(id_)
        terms = {t.name: t.value for t in s.claim.terms}
        rounds = next(x for x in s.symbols if x.name == "R")
        geometric = any(rounds in p.exp.free_symbols for e in terms.values() for p in e.atoms(type(rounds**rounds)))
        stays = [term for term, e in terms.items() if rounds not in e.free_symbols]
        helped = [term for term, e in terms.items() if "M" in {x.name for x in e.free_symbols}]
        steps = [c.relation for c in s.when if c.source == "printed"]
        return " | ".join(
            [
                f"| {name}, `{id_}`",
                f"${latex(s.paper, s.claim.quantity)}$",
                ", ".join(_named(one) for one in s.assumes),
                ", ".join(f"${latex(s.paper, one)}$" for one in steps),
                "geometrically" if geometric else "like $1/R$",
                ", ".join(stays) or "nothing",
                (", ".join(helped) or "no term") + " |",
            ]
        )

    _words = {
        _named(one): claim_words(catalogue.find(one))
        for id_ in THEOREMS.values()
        for one in catalogue.find(id_).assumes
    }
    mo.md(
        "## Five theorems\n\nEach row is computed from the theorem: its left side, its assumptions, its conditions, how its first "
        "term falls, which terms have no $R$ in them, and which have $M$ in them.\n\n"
        "| theorem | bounds | assumes | needs | falls with $R$ | stays | $M$ helps |\n|:--|:--|:--|:--|:--|:--|:--|\n"
        + "\n".join(_row(name, id_) for name, id_ in THEOREMS.items())
        + "\n\n"
        + "\n".join(f"- *{name}*: {words}" for name, words in _words.items())
    )
    return (THEOREMS,)


@app.cell(hide_code=True)
def _(THEOREMS):
    mo.vstack(
        [
            mo.md(r"""
    Read a row from left to right: *what is bounded* (the gap of an average, of the last model, or a distance), *what is assumed*
    (convex, or strongly convex; noise; heterogeneity), *what is gained* (how fast the first term falls), *what is paid* (what
    stays). The theorems as they stand, with all terms:
    """),
            mo.accordion({f"{name}: {id_}": statement(id_) for name, id_ in THEOREMS.items()}),
            mo.md(r"""
    **Exercise 15.1.** Gradients are exact ($\sigma=0$), the clients differ ($\zeta_*=1$), and the step size is fixed. For how many
    of the five does the bound go to 0 as $R$ grows?
    """),
        ]
    )
    return


@app.cell
def _():
    # student: to_zero = ...  # your turn: a whole number
    # solution
    # minibatch SGD, FedLin, ProxSkip; what stays of the others has zeta_star in it
    to_zero = 3
    # end
    return (to_zero,)


@app.cell(hide_code=True)
def _(THEOREMS, to_zero):
    def _left(id_):
        at = {
            "eta": 0.01,
            "eta_tilde": 0.01,
            "L": 1.0,
            "mu": 0.1,
            "sigma": 0.0,
            "zeta_star": 1.0,
            "D": 1.0,
            "Delta": 0.5,
        }
        at |= {"M": 4, "K": 4, "R": 10**9, "p": 0.25, "prox": 1.0}
        own = {p.name for p in parameters(catalogue.find(id_))}
        return evaluate(id_, **{name: value for name, value in at.items() if name in own}).value

    answer_1 = check(
        "15.1",
        to_zero,
        sum(_left(id_) < 1e-6 for id_ in THEOREMS.values()),
        hint=r"Look at the column *stays*. Of the terms there, which are 0 without noise, and which have $\zeta_*$ in them?",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Your setting

    $L=1$, $D=\|x_0-x_*\|=1$, so $F(x_0)-F^*\le\frac12$. A *round* ends with one message of each client, and has $K$ gradients of
    each client before it; ProxSkip communicates with the probability $p=1/K$ after each step, so it has $KR$ steps in $R$ rounds.
    Minibatch SGD averages the $K$ gradients, so its noise has the variance $\sigma^2/K$.
    """)
    return


@app.cell(hide_code=True)
def _():
    pick_K = mo.ui.slider(steps=[1, 2, 4, 8, 16, 32], value=4, label="$K$", show_value=True)
    pick_kappa = mo.ui.slider(steps=[2, 5, 10, 30, 100], value=10, label=r"$\kappa$", show_value=True)
    pick_zeta = mo.ui.slider(steps=[0, 0.03, 0.1, 0.3, 1, 3], value=1, label=r"$\zeta_*$", show_value=True)
    pick_sigma = mo.ui.slider(steps=[0, 0.03, 0.1, 0.3, 1, 3], value=0, label=r"$\sigma$", show_value=True)
    pick_prox = mo.ui.slider(steps=[0, 0.1, 1, 10, 100], value=1, label=r"$\lambda$ of FedProx", show_value=True)
    pick_R = mo.ui.slider(steps=[10, 30, 100, 300, 1000, 3000], value=100, label="$R$", show_value=True)
    mo.hstack([pick_K, pick_kappa, pick_zeta, pick_sigma, pick_prox, pick_R], justify="start", wrap=True)
    return pick_K, pick_R, pick_kappa, pick_prox, pick_sigma, pick_zeta


@app.cell
def _(THEOREMS):
    def tuned(name, R, K=4, kappa=10.0, zeta=1.0, sigma=0.0, prox=1.0):
        """The theorem at its best step size: its value, as a bound on a gap, and the step size; or why it does not apply."""
        s = catalogue.find(THEOREMS[name])
        if sigma and Property.VARIANCE not in catalogue.properties(s):
            return "needs exact gradients", None
        at = {
            "L": 1.0,
            "mu": 1 / kappa,
            "zeta_star": zeta,
            "D": 1.0,
            "Delta": 0.5,
            "M": 4,
            "K": K,
            "prox": prox,
            "p": 1 / K,
        }
        at["R"] = R * K if name == "ProxSkip" else R
        at["sigma"] = sigma / K**0.5 if name == "Minibatch SGD" else sigma
        own = {p.name for p in parameters(s)}
        try:
            found = tune(s.id, **{letter: value for letter, value in at.items() if letter in own})
        except ConditionViolated as error:
            return str(error), None
        # F is L-smooth: its gap is at most L/2 times the squared distance
        factor = 0.5 if s.claim.quantity.name == "dist2_last" else 1.0
        return {term: factor * float(value) for term, value in found.best.terms.items()}, found.step_size

    return (tuned,)


@app.cell(hide_code=True)
def _(THEOREMS, pick_K, pick_R, pick_kappa, pick_prox, pick_sigma, pick_zeta, tuned):
    setting = {
        "K": pick_K.value,
        "kappa": pick_kappa.value,
        "zeta": pick_zeta.value,
        "sigma": pick_sigma.value,
        "prox": pick_prox.value,
    }
    _found = {name: tuned(name, pick_R.value, **setting) for name in THEOREMS}
    _values = {name: sum(terms.values()) for name, (terms, step) in _found.items() if step is not None}
    _best = min(_values, key=_values.get)

    def _line(name, terms, step):
        if step is None:
            return f"| {name} | {terms} | | |"
        value, largest = _values[name], max(terms, key=terms.get)
        shown = f"**{value:.3g}**" if name == _best else f"{value:.3g}"
        return f"| {name} | {shown} | {step:.3g} | {largest}, {terms[largest] / value if value else 0:.0%} |"

    def _draw(axis):
        rounds = np.unique(np.geomspace(10, 3000, 9).astype(int))
        for name in THEOREMS:
            values = [
                (R, sum(t.values())) for R in rounds for t, step in [tuned(name, int(R), **setting)] if step is not None
            ]
            if values:
                axis.plot(*zip(*values, strict=True), ".-", label=name)
        axis.set(xscale="log", yscale="log", ylim=(1e-8, 10), xlabel="rounds", ylabel="bound on the gap")
        axis.legend(fontsize=7)

    mo.vstack(
        [
            mo.md(
                f"After {pick_R.value} rounds the smallest bound is that of **{_best}**. Each theorem at its best admissible "
                "step size; a bound on a squared distance counts $L/2$ times:\n\n"
                "| theorem | bound on the gap | step size | largest term |\n|:--|--:|--:|:--|\n"
                + "\n".join(_line(name, *found) for name, found in _found.items())
            ),
            drawn(_draw, width=7, height=3.4),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Move the sliders, and look for a setting where another theorem is the smallest. The theorem of ProxSkip goes away as soon as
    there is noise; its one term, named after $\zeta_*$, has the start in it, too. A large $\kappa$ makes geometric terms slow; $1/R$
    does not see it.

    ## Local SGD and minibatch SGD

    Both have the same assumptions on functions and noise. Woodworth, Patel and Srebro (2020) ask whether local steps are better
    than one large step with all gradients. Compare the two theorems term by term, at the same effective step size $h=\eta$.
    """)
    return


@app.cell(hide_code=True)
def _():
    question_2 = choice(
        "**Exercise 15.2.** Is there a setting at which the bound of local SGD is the smaller one of the two?",
        ["yes, with many local steps", "yes, if the clients are alike", "no, at no setting"],
        # solution
        value="no, at no setting",
        # end
    )
    mo.vstack([question_2])
    return (question_2,)


@app.cell(hide_code=True)
def _(question_2):
    import sympy as _sympy

    from fedtheory.theory import field as _field

    # sigma^2 of minibatch SGD is the variance of the mean of K gradients
    _change = {_field.sigma: _field.sigma * _sympy.sqrt(_field.K)}
    _local = {t.name: t.value.subs(_change) for t in catalogue.find("khaled.thm").claim.terms}
    _large = {t.name: t.value.subs(_field.eta, _field.h) for t in catalogue.find("minibatch.general").claim.terms}
    _never = all(_sympy.factor(_local[name] - value).is_nonnegative for name, value in _large.items())
    answer_2 = check(
        "15.2",
        question_2.value,
        "no, at no setting" if _never else None,
        hint="Every step size that the first theorem admits, the second admits too. Then compare the terms of the same name.",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _(answer_2):
    mo.vstack(
        [
            after(
                answer_2,
                r"""
    Nothing follows about the methods: the runs of local SGD can be far better than its bound (lesson 8). It follows that *this
    theorem* shows no gain of local steps. On one instance `glasgow.away` of the shelf bounds the gap of local SGD from below, where
    the clients differ: that much no proof can take away.
    """,
            ),
            mo.md(r"""
    ## What a round costs

    ProxSkip communicates only now and then. At $\eta=1/L$ its bound falls by the factor $1-\min(1/\kappa,p^2)$ in a step.

    **Exercise 15.3.** The mean number of communications until the bound of `proxskip.mean` is `ratio` times smaller than at the
    start, as a function of $\kappa$, $p$ and the ratio. Do not round.
    """),
        ]
    )
    return


@app.function
def communications(kappa, p, ratio):
    # student: return ...  # your turn
    # solution
    # log(ratio) / -log(1 - min(1/kappa, p^2)) steps, each with the probability p
    import math

    return p * math.log(ratio) / -math.log(1 - min(1 / kappa, p**2))
    # end


@app.cell(hide_code=True)
def _():
    def _counted(kappa, p, ratio):
        at = {"eta": 1.0, "L": 1.0, "mu": 1 / kappa, "p": p, "zeta_star": 1.0, "D": 1.0}
        one, two = (float(evaluate("proxskip.mean", R=R, **at).value) for R in (1, 2))
        return p * np.log(ratio) / -np.log(two / one)

    answer_3 = check(
        "15.3",
        communications,
        _counted,
        at=[(10.0, 0.5, 100.0), (100.0, 0.1, 1e4), (100.0, 0.02, 10.0)],
        hint="How many factors below one make the bound so much smaller? How many of these steps end with a message, in the mean?",
        tolerance=1e-7,
    )
    answer_3
    return (answer_3,)


@app.cell(hide_code=True)
def _(answer_3):
    def _draw(axis):
        p = np.geomspace(0.01, 1, 200)
        for kappa in (10, 100, 1000):
            axis.plot(p, p * np.log(100) / -np.log1p(-np.minimum(1 / kappa, p**2)), label=rf"$\kappa$ = {kappa}")
        axis.set(xscale="log", yscale="log", xlabel="$p$", ylabel="communications for a factor 100")
        axis.legend(fontsize=7)

    mo.vstack(
        [
            after(
                answer_3,
                r"""
    The best probability is $p=1/\sqrt\kappa$, where both parts of the minimum are equal: about $\sqrt\kappa\log(1/\epsilon)$
    communications, where gradient descent needs $\kappa\log(1/\epsilon)$. This is the gain of the theorem.
    """,
                drawn(_draw, width=6, height=3),
            ),
            mo.md(r"""
    ## Pay with speed

    FedProx pays with $\lambda$: more of it holds the clients together, and slows them down.

    **Exercise 15.4.** Without noise, what stays of the bound of `fedprox.thm` is a term with $\zeta_*$. The $\lambda$ at which this
    term is $\epsilon$, as a function of $\mu$, $\zeta_*$ and $\epsilon$.
    """),
        ]
    )
    return


@app.function
def prox_for(mu, zeta, epsilon):
    # student: return ...  # your turn
    # solution
    # zeta^2 / (mu (mu + 2 lambda)) = epsilon
    return (zeta**2 / (mu * epsilon) - mu) / 2
    # end


@app.cell(hide_code=True)
def _():
    from scipy.optimize import brentq as _root

    def _needed(mu, zeta, epsilon):
        def over(prox):
            at = {"L": 1.0, "mu": mu, "prox": prox, "zeta_star": zeta, "sigma": 0.0, "D": 0.0, "K": 5, "R": 1}
            return evaluate("fedprox.thm", eta=1e-3 / (1 + prox), **at).value - epsilon

        return _root(over, 0.0, 1e6, xtol=1e-9)

    answer_4 = check(
        "15.4",
        prox_for,
        _needed,
        at=[(0.1, 1.0, 0.5), (0.5, 0.3, 0.01), (1.0, 2.0, 1e-2)],
        hint=r"Set the term equal to $\epsilon$, and solve for $\lambda$: it stands in the denominator only.",
        tolerance=1e-7,
    )
    answer_4
    return (answer_4,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **To take away.** (1) Read a theorem in four steps: what it bounds, assumes, gains, pays. (2) What stays after many rounds is the
    price; look for the letters in it. (3) A round is what the theorem calls so; count messages. (4) An assumption that fails at
    your setting takes the theorem away, however small its bound is. (5) `fedtheory --path shelf compare` does all this for every
    theorem that the toolkit knows, beside exact runs.
    """)
    return


@app.cell(hide_code=True)
def _(answer_1, answer_2, answer_3, answer_4):
    answers = [answer_1, answer_2, answer_3, answer_4]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
