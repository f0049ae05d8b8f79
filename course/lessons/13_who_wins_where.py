import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="13. Who wins where?")


with app.setup:
    import marimo as mo
    import numpy as np

    from course.lesson import after, check, choice, drawn, how_to_answer, statement
    from fedtheory.bounds.winners import METHODS, Budget, MapPoint, gaps_at, predicted, smallest_gaps
    from fedtheory.figures.winners import winners
    from fedtheory.simulations import expectation
    from fedtheory.simulations.algorithms.minibatch import MinibatchSGD
    from fedtheory.simulations.problems.quadratic import Quadratic


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 13. Who wins where? Seven methods at their best step sizes, and what their bounds say

    **About 60 minutes.** You need lessons 2, 3 and 5. Afterwards you can

    - compare methods fairly: the same problem, the same budget, each method at its own best step size;
    - say which part of a gap comes from optimisation, from noise, or from the clients' drift;
    - turn a budget in bits into rounds;
    - explain why the method with the smallest bound need not have the smallest gap.
    """),
            how_to_answer(),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## One family of problems

    Four clients have quadratics in 16 coordinates. The curvatures of $F$ lie between $1/\kappa$ and 1 (divided by $1+\delta$,
    so that $L=1$ for every client). Along each coordinate half of the clients are curved by the factor $1+\delta$, the others
    by $1-\delta$. At the minimiser of $F$ the clients' gradients have the size $\zeta_*$. Gradients have noise $\sigma$. In a
    round a client computes $K$ stochastic gradients. The start has the gap 1.

    Choose a problem:
    """)
    return


@app.cell(hide_code=True)
def _():
    pick_kappa = mo.ui.slider(steps=[2, 5, 10, 30], value=2, label=r"$\kappa$", show_value=True)
    pick_zeta = mo.ui.slider(steps=[0.03, 0.1, 0.3, 1, 3], value=1, label=r"$\zeta_*$", show_value=True)
    pick_delta = mo.ui.slider(steps=[0, 0.2, 0.4, 0.6, 0.8], value=0.4, label=r"$\delta$", show_value=True)
    pick_sigma = mo.ui.slider(steps=[0.03, 0.1, 0.3, 1, 3], value=0.3, label=r"$\sigma$", show_value=True)
    pick_K = mo.ui.slider(steps=[1, 2, 4, 8, 16], value=8, label="$K$", show_value=True)
    pick_R = mo.ui.slider(steps=[20, 50, 100, 200], value=50, label="rounds", show_value=True)
    mo.hstack([pick_kappa, pick_zeta, pick_delta, pick_sigma, pick_K, pick_R], justify="start", wrap=True)
    return pick_K, pick_R, pick_delta, pick_kappa, pick_sigma, pick_zeta


@app.cell(hide_code=True)
def _(pick_K, pick_R, pick_delta, pick_kappa, pick_sigma, pick_zeta):
    chosen = MapPoint(pick_kappa.value, pick_zeta.value, pick_delta.value, pick_sigma.value, pick_K.value)
    _eta = 2.0 ** np.arange(-9.0, 2.5, 0.5)

    def _draw(axis):
        for name, method in METHODS.items():
            if name != "FedBAT":
                axis.plot(_eta, gaps_at(method, chosen, _eta, [pick_R.value])[:, 0], ".-", label=name)
        axis.set(xscale="log", yscale="log", ylim=(None, 2), xlabel="effective step size", ylabel="expected gap")
        axis.legend(fontsize=7)

    mo.vstack(
        [
            drawn(_draw, width=7, height=3.6),
            mo.md(r"""
    The *effective step size* is the step size times the number of local steps that follow one another in a round: one for
    minibatch SGD, $K$ for PFL, more for SFL. All curves fall like gradient descent on the left. Then each method comes to its own
    floor: noise, drift, or the limit of stability. FedBAT is left out here, because it has no exact expectation.
    """),
        ]
    )
    return (chosen,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 13.1.** The effective step size of SFL, as a function of the clients $M$, the local steps $K$ and the learning
    rate $\eta$.
    """)
    return


@app.function
def effective(M, K, eta):
    # student: return ...  # your turn
    # solution
    # the M clients train one after another
    return M * K * eta
    # end


@app.cell(hide_code=True)
def _():
    def _theirs(M, K, eta):
        # the method divides the effective step size by M K; M = 4 on this family
        return eta / float(METHODS["SFL"].build(K, np.array([eta])).eta[0]) * eta

    answer_1 = check(
        "13.1",
        effective,
        _theirs,
        at=[(4, 2, 0.1), (4, 5, 0.01), (4, 1, 0.5)],
        hint="In SFL the clients train one after another. How many gradient steps follow one another in a round?",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Where the floor comes from

    Take minibatch SGD along one coordinate of curvature $h$. A round is $x\leftarrow x-\eta(hx+\text{noise})$, and the noise has
    the variance $\sigma^2/(MK)$, because $MK$ stochastic gradients are averaged. So $\mathbb{E}x^2$ follows a recursion with
    one number, $a=(1-\eta h)^2$.

    **Exercise 13.2.** The expected gap $\frac h2\,\mathbb{E}x_R^2$ after $R$ rounds from $x_0=1$, in one dimension.
    """)
    return


@app.function
def gap_of_minibatch(h, eta, sigma, M, K, R):
    # student: return ...  # your turn
    # solution
    # E x^2 becomes a E x^2 + eta^2 sigma^2/(MK): a geometric series
    a = (1 - eta * h) ** 2
    return h / 2 * (a**R + eta**2 * sigma**2 / (M * K) * (1 - a**R) / (1 - a))
    # end


@app.cell(hide_code=True)
def _():
    def _exact(h, eta, sigma, M, K, R):
        problem = Quadratic(np.full((M, 1, 1), float(h)), np.zeros((M, 1)), sigma)
        return expectation(problem, MinibatchSGD(K, eta), rounds=R, x0=1.0, record=("gap",), at=[R]).gap.item()

    answer_2 = check(
        "13.2",
        gap_of_minibatch,
        _exact,
        at=[(1, 0.5, 0.3, 4, 2, 3), (0.2, 1.0, 1.0, 2, 5, 40), (1, 0.1, 0, 2, 1, 7)],
        hint=r"$\mathbb Ex^2$ becomes $a\,\mathbb Ex^2+\eta^2\sigma^2/(MK)$ in a round, from 1. Sum the geometric series, and multiply by $h/2$.",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The floor of this formula is about $\eta\sigma^2/(4MK)$, whatever $h$ is. A smaller step size lowers the floor and slows the
    first term. So the best step size balances the two, and after $R$ rounds the noise leaves about $\sigma^2\log R/(MKR)$. All
    methods that average $MK$ uncompressed gradients a round have this part. *They differ in the rest.* That is why the gaps of
    several methods are nearly equal in the tables below.

    Now let all clients take part, without noise. For one of three methods *heterogeneity at the optimum* does not change the gap.
    Test it with the sliders.
    """)
    return


@app.cell(hide_code=True)
def _():
    question_3 = choice(
        "**Exercise 13.3.** For which method does it not change the gap?",
        ["PFL", "SFL", "minibatch SGD"],
        # solution
        value="minibatch SGD",
        # end
    )
    mo.vstack([question_3])
    return (question_3,)


@app.cell(hide_code=True)
def _(question_3):
    _names = {"PFL": "PFL", "SFL": "SFL", "minibatch SGD": "Minibatch SGD"}

    def _changes(name):
        gaps = [smallest_gaps(name, MapPoint(zeta=zeta, sigma=0.0), (Budget(20),))[0] for zeta in (0.0, 3.0)]
        return not np.isclose(*gaps, rtol=1e-6)

    _same = [told for told, name in _names.items() if not _changes(name)]
    answer_3 = check(
        "13.3",
        question_3.value,
        _same[0] if len(_same) == 1 else None,
        hint=r"Set $\sigma$ to its smallest value and move $\zeta_*$. Which method takes all its gradients at the same point, so that only their mean counts?",
    )
    answer_3
    return (answer_3,)


@app.cell(hide_code=True)
def _(chosen, pick_R):
    import pandas as pd

    budgets = (Budget(pick_R.value), Budget(pick_R.value, in_bits=True))

    def table_of(budget, which):
        """Methods in the order of their gaps."""
        rows = [
            {
                "method": name,
                "rounds": budget.rounds_of(METHODS[name], chosen),
                "gap": smallest_gaps(name, chosen, budgets)[which],
                "bound": np.nan if (bound := predicted(name, chosen, budget)) is None else bound,
            }
            for name in METHODS
        ]
        return pd.DataFrame(rows).sort_values("gap")

    tables = [table_of(budget, which) for which, budget in enumerate(budgets)]

    def _shown(budget, table):
        lines = [
            f"| {row.method} | {row.rounds} | {row.gap:.3g} | {'' if np.isnan(row.bound) else f'{row.bound:.3g}'} |"
            for row in table.itertuples()
        ]
        bounds = winners(table, "bound")
        says = f"by the bounds {bounds[0]} would be first" if bounds else "no bound admits a step size"
        return (
            f"**{budget}**: first is {winners(table)[0]}; {says}.\n\n| method | rounds | gap | bound |\n|:--|--:|--:|--:|\n"
            + "\n".join(lines)
        )

    mo.vstack(
        [
            mo.md(
                "## The same budget\n\nYour problem, each method at its own best step size, beside the smallest value of its theorem:"
            ),
            mo.hstack(
                [mo.md(_shown(b, t)) for b, t in zip(budgets, tables, strict=True)], justify="start", wrap=True, gap=3
            ),
        ]
    )
    return (tables,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    A budget in *bits* gives cheap messages more rounds. The budget here is what a client of PFL sends: 16 numbers of 32 bits a
    round. FedCOMGATE sends 4 of 16 coordinates, FedBCGD a block of 8, SCAFFOLD 32 numbers, FedBAT a bit for each weight and a
    few for the step size.

    **Exercise 13.4.** PFL has $R$ rounds. How many whole rounds has a method that sends `bits` bits a round?
    """)
    return


@app.function
def rounds_for_bits(R, bits):
    # student: return ...  # your turn
    # solution
    return R * 16 * 32 // bits
    # end


@app.cell(hide_code=True)
def _():
    _by_bits = {int(m.build(8, 1.0).uplink_bits(MapPoint().problem)): m for m in METHODS.values()}
    answer_4 = check(
        "13.4",
        rounds_for_bits,
        lambda R, bits: Budget(R, in_bits=True).rounds_of(_by_bits[bits], MapPoint()),
        at=[(R, bits) for R in (50, 200) for bits in _by_bits],
        hint=r"PFL sends $16\cdot32$ bits a round. Divide the budget of $R$ such rounds by `bits`, and round down.",
    )
    answer_4
    return (answer_4,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## What a bound compares

    The theorem of SFL, whose smallest value is in the table:
    """),
            statement("sfl.thm1.strongly_convex"),
            mo.md(r"""
    **Exercise 13.5.** The smallest whole number of rounds for which this theorem admits a step size at all, as a function of $L$
    and $\mu$.
    """),
        ]
    )
    return


@app.function
def rounds_needed(L, mu):
    # student: return ...  # your turn
    # solution
    # 1/(mu R) <= 1/(6 L)
    import math

    return math.ceil(6 * L / mu)
    # end


@app.cell(hide_code=True)
def _():
    from fedtheory.bounds.evaluation import ConditionViolated
    from fedtheory.bounds.tuning import tune

    def _first(L, mu):
        def speaks(R):
            try:
                tune("sfl.thm1.strongly_convex", M=4, K=8, R=R, L=L, mu=mu, sigma=1.0, zeta_star=1.0, D=1.0)
            except ConditionViolated:
                return False
            return True

        return next(R for R in range(1, 1000) if speaks(R))

    answer_5 = check(
        "13.5",
        rounds_needed,
        _first,
        at=[(1, 0.5), (1, 0.125), (2, 0.25), (1, 0.7), (1, 0.65)],  # 8.6 and 9.2: neither rounded nor cut off
        hint=r"The conditions leave the step sizes from $1/(\mu R)$ to $1/(6L)$. When is this interval not empty?",
    )
    answer_5
    return (answer_5,)


@app.cell(hide_code=True)
def _():
    at_hand, long_budget = MapPoint(kappa=2.0, delta=0.0, zeta=0.1, sigma=0.1), Budget(200)
    slack = {
        name: predicted(name, at_hand, long_budget) / smallest_gaps(name, at_hand, (long_budget,))[0]
        for name in ("SFL", "PFL", "Minibatch SGD", "FedCOMGATE", "FedBCGD")
    }
    mo.md(
        "At $\\kappa=2$, $\\delta=0$, $\\zeta_*=\\sigma=0.1$, $K=4$, after 200 rounds, the bound is so many times the gap:\n\n"
        + "| method | bound / gap |\n|:--|--:|\n"
        + "\n".join(f"| {name} | {value:.3g} |" for name, value in slack.items())
    )
    return at_hand, long_budget, slack


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Each theorem loses another factor. Reasons are the largest step size that the proof allows ($1/(6L)$ here, $1/(32\beta)$ there),
    the constants before the terms, and the left side: an average of the iterates, or the last one. These are properties of the
    proof, not of the method.

    **Exercise 13.6.** Which method of this table has the *loosest* bound? Write its name as in the table.
    """)
    return


@app.cell
def _():
    # student: loosest = ...  # your turn: a text
    # solution
    # read off the table: FedBCGD, FedCOMGATE, ...; or let the machine look
    from fedtheory.bounds.winners import Budget as _Budget, MapPoint as _Setting, predicted as _p, smallest_gaps as _g

    _s, _b = _Setting(kappa=2.0, delta=0.0, zeta=0.1, sigma=0.1), _Budget(200)
    loosest = max(
        ("SFL", "PFL", "Minibatch SGD", "FedCOMGATE", "FedBCGD"), key=lambda n: _p(n, _s, _b) / _g(n, _s, (_b,))[0]
    )
    # end
    return (loosest,)


@app.cell(hide_code=True)
def _(loosest, slack):
    answer_6 = check(
        "13.6",
        loosest,
        max(slack, key=slack.get),
        hint="The loosest bound has the largest quotient in the table above.",
    )
    answer_6
    return (answer_6,)


@app.cell(hide_code=True)
def _():
    question_7 = choice(
        "**Exercise 13.7.** Two methods have the bounds $A$ and $B$ at the same budget, $A<B$. What follows for their gaps on "
        "your problem?",
        [
            "the first method has the smaller gap",
            "each gap is at most its bound, and nothing follows about their order",
            "the first method has the smaller gap on the worst problem",
        ],
        # solution
        value="each gap is at most its bound, and nothing follows about their order",
        # end
    )
    mo.vstack([question_7])
    return (question_7,)


@app.cell(hide_code=True)
def _(question_7):
    import pandas as _pd

    def _order(setting, budget):
        rows = [
            {"method": n, "gap": smallest_gaps(n, setting, (budget,))[0], "bound": predicted(n, setting, budget)}
            for n in ("SFL", "PFL", "Minibatch SGD", "FedCOMGATE")
        ]
        table = _pd.DataFrame(rows)
        return winners(table)[0], winners(table, "bound")[0], bool((table.gap <= table.bound).all())

    # a problem on which the smallest bound is not that of the smallest gap
    _gap, _bound, _held = _order(MapPoint(kappa=2.0, zeta=1.0, sigma=0.1), Budget(200))
    answer_7 = check(
        "13.7",
        question_7.value,
        "each gap is at most its bound, and nothing follows about their order" if _held and _gap != _bound else None,
        hint="A bound says how large a gap can be at most. Does it say how small the gap is? Look at the two tables under *The same budget*.",
    )
    answer_7
    return (answer_7,)


@app.cell(hide_code=True)
def _(answer_7):
    mo.vstack(
        [
            after(
                answer_7,
                r"""
    Even on the worst problem nothing follows: a bound may be loose for one method and tight for the other. Only tight worst
    cases compare methods (lesson 12).
    """,
            ),
            mo.md(r"""
    The page *who wins* of the site has maps over many settings.

    **To take away.** (1) Compare methods on the same problem, with the same budget, each at its own best step size. (2) The noise
    that averaging leaves is common to many methods; look at the rest. (3) A budget in bits is another comparison than one in
    rounds. (4) The ratio of bound and gap is a property of the proof. (5) Bounds order bounds, not methods.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _(answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7):
    answers = [answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
