import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="1. Client drift")


with app.setup:
    import marimo as mo
    import numpy as np
    import sympy

    from course.lesson import after, check, choice, drawn, how_to_answer, put, regenerated, scaled, statement, told
    from fedtheory.figures.gallery import BLACK, BLUE, GREEN, ORANGE
    from fedtheory.simulations import expectation, run
    from fedtheory.simulations.algorithms.sfl import PFL, SFL
    from fedtheory.simulations.problems.quadratic import Quadratic


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 1. Heterogeneity and client drift, on one number

    **About 75 minutes.** You need derivatives, geometric sums and a little Python. Afterwards you can say

    - what a client's local steps do to a model of one number, in closed form;
    - why averaging local models ends at the wrong place, and by how much;
    - what changes when clients work one after another instead of side by side;
    - what a lemma on "client drift" claims, and how to find out whether its constants could be smaller.

    Everything that the papers do with $d$ coordinates and $M$ clients is here already with one coordinate and two clients.
    """),
            how_to_answer(),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Two clients

    Client $m$ has the function $F_m(x)=\tfrac{h_m}{2}(x-a_m)^2$: it wants the model to be $a_m$, its *wish*, and $h_m$ says how
    much a distance from there costs it. The federation wants the minimiser $x^*$ of the mean $F=\tfrac12(F_1+F_2)$.

    Parallel federated learning (PFL, also known as FedAvg) works in rounds. Each client starts from the common model and takes $K$
    gradient steps of size $\eta$ on its own function. Then the server averages the clients' models.
    """)
    return


@app.cell(hide_code=True)
def _():
    h1 = mo.ui.slider(0.1, 4.0, 0.1, value=2.0, label="curvature $h_1$", show_value=True)
    h2 = mo.ui.slider(0.1, 4.0, 0.1, value=0.5, label="curvature $h_2$", show_value=True)
    a1 = mo.ui.slider(-3.0, 3.0, 0.1, value=-1.0, label="wish $a_1$", show_value=True)
    a2 = mo.ui.slider(-3.0, 3.0, 0.1, value=1.0, label="wish $a_2$", show_value=True)
    eta = mo.ui.slider(0.02, 0.5, 0.02, value=0.2, label=r"step size $\eta$", show_value=True)
    K = mo.ui.slider(1, 20, 1, value=5, label="local steps $K$", show_value=True)
    mo.hstack([mo.vstack([h1, a1]), mo.vstack([h2, a2]), mo.vstack([eta, K])], wrap=True, justify="start")
    return K, a1, a2, eta, h1, h2


@app.cell
def _(K, a1, a2, eta, h1, h2):
    h = np.array([h1.value, h2.value])
    a = np.array([a1.value, a2.value])

    def gradient(m, x):
        return h[m] * (x - a[m])

    def local_path(m, x):
        """x after 0, 1, ..., K local steps of client m."""
        path = [x]
        for _ in range(K.value):
            path.append(path[-1] - eta.value * gradient(m, path[-1]))
        return np.array(path)

    return a, h, local_path


@app.cell(hide_code=True)
def _():
    def certified_minimiser(h, a):
        """The minimiser that the simulator certifies."""
        return float(np.ravel(Quadratic(h[:, None, None], -(h * a)[:, None]).constants["x_star"])[0])

    return (certified_minimiser,)


@app.cell(hide_code=True)
def _(K, h, a, certified_minimiser, local_path):
    x_star = certified_minimiser(h, a)

    def _draw(axes):
        left, right = axes
        x = np.linspace(-3, 3, 200)
        for m, colour in enumerate((BLUE, ORANGE)):
            left.plot(x, h[m] / 2 * (x - a[m]) ** 2, color=colour, label=f"$F_{m + 1}$")
        left.plot(x, (h / 2 * (x[:, None] - a) ** 2).mean(1), color=BLACK, label="$F$")
        left.axvline(x_star, color=BLACK, ls=":", lw=1)
        left.set(xlabel="$x$", ylabel="$F_m(x)$", ylim=(0, 8))
        left.legend()
        x = 2.5
        for round_ in range(6):
            paths = [local_path(m, x) for m in (0, 1)]
            steps = round_ + np.linspace(0, 1, K.value + 1)
            for path, colour in zip(paths, (BLUE, ORANGE), strict=True):
                right.plot(steps, path, color=colour, marker=".", ms=3, lw=1)
            x = np.mean([path[-1] for path in paths])
            right.plot([round_ + 1], [x], "o", color=GREEN, label="average" if round_ == 0 else None)
        right.axhline(x_star, color=BLACK, ls=":", lw=1, label="$x^*$")
        right.set(xlabel="rounds", ylabel="$x$")
        right.legend()

    drawn(_draw, width=9, columns=2)
    return (x_star,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Move the sliders. Find two settings in which the average (green) comes to $x^*$ (dotted). Find one in which it stays away,
    however many rounds there are. That distance is the price of "client drift".

    **Exercise 1.1.** Where is $x^*$? Write it as a function of the arrays `h` and `a`.
    """)
    return


@app.cell
def _():
    def minimiser(h, a):
        # student: return ...  # your turn
        # solution
        return (h * a).sum() / h.sum()
        # end

    return (minimiser,)


@app.cell(hide_code=True)
def _(certified_minimiser, minimiser):
    _points = [(np.array([2.0, 0.5]), np.array([-1.0, 1.0])), (np.array([1.0, 3.0, 0.2]), np.array([0.0, 2.0, -5.0]))]
    answer_1 = check(
        "1.1",
        minimiser,
        certified_minimiser,
        at=_points,
        hint=r"Set the derivative of the mean of the $F_m$ to zero: $\sum_m h_m(x-a_m)=0$. Then solve for $x$.",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What $K$ local steps do

    One step takes $x$ to $x-\eta h(x-a)$. Seen from the client's own minimiser,

    $$x - \eta h (x-a) - a = (1-\eta h)(x-a),$$

    so a step multiplies the distance to $a$ by $1-\eta h$, and $K$ steps multiply it by the $K$-th power. Nothing else happens.

    **Exercise 1.2.** The model after $K$ local steps of one client, without a loop. The check compares your
    formula with the simulator, which does loop.
    """)
    return


@app.cell
def _():
    def after_local_steps(x, h, a, eta, K):
        # student: return ...  # your turn
        # solution
        return a + (1 - eta * h) ** K * (x - a)
        # end

    return (after_local_steps,)


@app.cell(hide_code=True)
def _(after_local_steps):
    def _simulated(x, h, a, eta, K):
        """One round of PFL with one client."""
        alone = Quadratic(np.array([[[h]]]), np.array([[-h * a]]))
        data = run(alone, PFL(K=K, eta=eta), rounds=1, seeds=[0], x0=x, record=("dist2",))
        distance = float(np.sqrt(data.dist2.isel(round=-1).item()))
        return a + np.sign(x - a) * np.sign(1 - eta * h) ** K * distance

    _points = [(2.0, 1.0, -1.0, 0.1, 1), (2.0, 0.5, 1.0, 0.3, 7), (-4.0, 2.0, 0.0, 0.2, 3), (1.0, 2.0, 0.0, 0.8, 3)]
    answer_2 = check(
        "1.2",
        after_local_steps,
        _simulated,
        at=_points,
        tolerance=1e-7,
        hint="Compute the distance to $a$ first: the text says what one step does to it. Then add $a$ again.",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _(answer_1):
    mo.vstack(
        [
            mo.md(r"""
    ## Where averaging ends

    A round of PFL takes $x$ to $\frac12\sum_m \bigl(a_m + q_m (x-a_m)\bigr)$ with $q_m=(1-\eta h_m)^K$. Its fixed point solves
    $\sum_m (1-q_m)(x-a_m)=0$:

    $$x_\infty=\frac{\sum_m (1-q_m)\,a_m}{\sum_m (1-q_m)}.$$
    """),
            after(
                answer_1,
                r"""
    Both $x_\infty$ and $x^*$ are weighted means of the clients' wishes. The right weights are the curvatures $h_m$. PFL uses
    $1-(1-\eta h_m)^K$ instead. To first order this is $\eta K h_m$, but it is never more than 1. A client with a large
    curvature comes to its wish after a few steps. More steps do not raise its weight, and the weights of the others go on growing.
    """,
            ),
        ]
    )
    return


@app.cell
def _():
    # The difference to first order in eta, worked out by machine for two clients; the weights 1 - q up to eta^2 are enough
    e, k, s, t, u, v = sympy.symbols("eta K h_1 h_2 a_1 a_2", positive=True)
    weights = [sympy.series(1 - (1 - e * c) ** k, e, 0, 3).removeO() for c in (s, t)]
    x_infinity = (weights[0] * u + weights[1] * v) / (weights[0] + weights[1])
    first_order = sympy.factor(sympy.diff(sympy.cancel(x_infinity), e).subs(e, 0))
    first_order
    return e, first_order, k, s, t, u, v, weights, x_infinity


@app.cell(hide_code=True)
def _(e, first_order):
    mo.md(rf"""
    So $x_\infty - x^* = {sympy.latex(e * first_order)} + O(\eta^2)$. Read it aloud. There is no drift with one local step
    ($K=1$), for equal curvatures, or for equal wishes. In all other cases the drift grows with $\eta$ and with $K-1$.

    **Exercise 1.3.** Keep the effective step size $\tilde\eta=K\eta$ fixed, and let $K$ grow. Does the first-order drift
    disappear? Write it with $\eta=\tilde\eta/K$ and let $K\to\infty$. Give the limit as a number, for $h_1=2$, $h_2=1$,
    $a_1=-1$, $a_2=1$, $\tilde\eta=0.1$.
    """)
    return


@app.cell
def _():
    # student: limit_of_drift = ...  # your turn
    # solution
    # (K-1) eta = (1 - 1/K) eta_tilde -> eta_tilde, and -h1 h2 (h1 - h2)(a1 - a2) / (2 (h1 + h2)^2) = 4/18
    limit_of_drift = 0.1 * 2 * 1 * (2 - 1) * (1 - (-1)) / (2 * (2 + 1) ** 2)
    # end
    return (limit_of_drift,)


@app.cell(hide_code=True)
def _(e, first_order, k, limit_of_drift, s, t, u, v):
    _drift = (e * first_order).subs({s: 2, t: 1, u: -1, v: 1})
    _scale = sympy.Symbol("scale", positive=True)
    answer_3 = check(
        "1.3",
        limit_of_drift,
        float(sympy.limit(_drift.subs(e, _scale / k), k, sympy.oo).subs(_scale, 0.1)),
        hint=r"$\eta(K-1)$ becomes $\tilde\eta(K-1)/K$. What is the limit of $(K-1)/K$? Put the numbers in afterwards, and mind the signs.",
    )
    answer_3
    return (answer_3,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    With the closed form we can draw the drift over all step sizes. The horizontal axis has $\tilde\eta=K\eta$, so that all curves
    make about the same progress in a round.
    """)
    return


@app.cell(hide_code=True)
def _(a, h, x_star):
    def _draw(axis):
        effective = np.geomspace(1e-2, 0.9 / h.max(), 200)
        for steps, colour in ((1, BLACK), (2, BLUE), (5, GREEN), (50, ORANGE)):
            weight = 1 - (1 - effective[:, None] / steps * h) ** steps
            end = (weight * a).sum(1) / weight.sum(1)
            if steps == 1:
                axis.plot(effective, np.zeros_like(effective), color=colour, label="K = 1")
            else:
                axis.plot(effective, np.abs(end - x_star), color=colour, label=f"K = {steps}")
        axis.set(xscale="log", xlabel=r"effective step size $\tilde\eta = K\eta$", ylabel=r"drift $|x_\infty-x^*|$")
        axis.legend()

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _():
    question_4 = choice(
        "**Exercise 1.4.** Both clients have the same curvature, and their wishes are far apart. Where does PFL end?",
        [
            "away from x*, in proportion to the distance of the wishes",
            "at x*",
            "away from x*, by a distance that depends on K",
        ],
        # solution
        value="at x*",
        # end
    )
    mo.vstack([question_4])
    return (question_4,)


@app.cell(hide_code=True)
def _(question_4):
    def _end(apart, K):
        """The exact distance from x* after 400 rounds, for wishes +-apart/2 and curvatures 1."""
        alike = Quadratic(np.ones((2, 1, 1)), np.array([[-apart / 2], [apart / 2]]))
        data = expectation(alike, PFL(K=K, eta=[0.1]), rounds=400, x0=2.5, record=("dist2",))
        return float(np.sqrt(max(data.dist2.isel(round=-1).item(), 0.0)))

    def _measured():
        near, far, longer = _end(1.0, 5), _end(10.0, 5), _end(1.0, 20)
        if max(near, far, longer) < 1e-6:
            return "at x*"
        if abs(longer - near) > 1e-6:
            return "away from x*, by a distance that depends on K"
        return "away from x*, in proportion to the distance of the wishes"

    answer_4 = check(
        "1.4",
        question_4.value,
        lambda: _measured(),
        at=[()],
        hint="Look at the weights $1-q_m$ when $h_1=h_2$, or set both curvatures equal with the sliders and move the wishes apart.",
    )
    answer_4
    return (answer_4,)


@app.cell(hide_code=True)
def _(answer_4):
    mo.vstack(
        [
            after(
                answer_4,
                r"""
    Stop at Exercise 1.4 for a moment: *different wishes alone do not cause drift*. Papers measure by $\zeta_*$ how much the
    clients' gradients differ at $x^*$. This difference does no harm to these quadratics while the curvatures agree. A bound
    that contains only $\zeta_*$ cannot see that. The papers' second measure can: the distance $\delta$ of the Hessians.
    """,
            ),
            mo.md(r"""
    ## One after another

    Sequential federated learning (SFL) hands the model from client to client. A round takes $x$ to $y=a_1+q_1(x-a_1)$ and then
    to $a_2+q_2(y-a_2)$. With a fixed order there is a fixed point again, another one for each order. With a random order in
    each round there is none: the model keeps moving.

    **Exercise 1.5.** The fixed point of SFL at the end of a round, for the order 1, 2. The check runs 400 rounds.
    """),
        ]
    )
    return


@app.cell
def _():
    def sequential_fixed_point(q1, q2, a1, a2):
        # student: return ...  # your turn: solve x = a2 + q2 (a1 + q1 (x - a1) - a2)
        # solution
        return ((1 - q2) * a2 + q2 * (1 - q1) * a1) / (1 - q1 * q2)
        # end

    return (sequential_fixed_point,)


@app.cell(hide_code=True)
def _(sequential_fixed_point):
    def _repeated(q1, q2, a1, a2):
        x = 0.0
        for _ in range(400):
            x = a1 + q1 * (x - a1)
            x = a2 + q2 * (x - a2)
        return x

    answer_5 = check(
        "1.5",
        sequential_fixed_point,
        _repeated,
        at=[(0.5, 0.9, -1.0, 1.0), (0.2, 0.3, 4.0, 0.0)],
        hint="Call the fixed point $x$: the model after both clients is $x$ again. This is one linear equation for $x$.",
    )
    answer_5
    return (answer_5,)


@app.cell
def _(a, h):
    # The exact expectation of whole runs, over all random orders: no seeds, no sampling
    federation = Quadratic(h[:, None, None], -(h * a)[:, None])
    rounds, local = 60, 5
    step = 0.5 / h.max() / local  # the same K eta for PFL; SFL takes 2 K steps a round, so half of it
    both = {
        "PFL": expectation(federation, PFL(K=local, eta=[step]), rounds=rounds, x0=2.5, record=("dist2",)),
        "SFL, random order": expectation(
            federation, SFL(K=local, eta=[step / 2]), rounds=rounds, x0=2.5, record=("dist2",)
        ),
    }
    floor = {name: float(np.sqrt(data.dist2.isel(round=-1).item())) for name, data in both.items()}
    floor
    return both, federation, floor


@app.cell(hide_code=True)
def _(a1, a2, both, h1, h2):
    def _draw(axis):
        for (name, data), colour in zip(both.items(), (BLUE, ORANGE), strict=True):
            axis.plot(data["round"], np.sqrt(data.dist2.isel(step_size=0)), color=colour, label=name)
        axis.set(yscale="log", xlabel="rounds", ylabel=r"$(\mathbb{E}\|x^{(r)}-x^*\|^2)^{1/2}$")
        axis.legend()

    mo.hstack([drawn(_draw), mo.vstack([h1, a1, h2, a2])], justify="start", align="center", wrap=True)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 1.6.** Move the sliders beside the figure. They are those of the beginning, once more. Find a federation in which PFL ends nearer to $x^*$ than SFL at these step
    sizes. Explain it in two sentences.
    """)
    return


@app.cell(hide_code=True)
def _():
    # student: mo.md("*Write your explanation here.*")
    # solution
    mo.md(r"""
    *Solution.* Equal curvatures, different wishes, such as $h_1=h_2=1$, $a_1=-1$, $a_2=1$. PFL comes to $x^*$ exactly, since its
    weights are right. SFL ends each round nearer to the wish of the last client. The random order leaves a distance of the order
    of the step size, which does not go away. With curvatures that differ the comparison
    depends on them: PFL has a systematic error, SFL mostly a random one.
    """)
    # end
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## What the paper says

    The proof for PFL bounds the drift within one round, before the server averages. It is the quantity

    $$\mathcal{E}_r=\frac1M\sum_{m}\sum_{k}\mathbb{E}\|x_{m,k}^{(r)}-x^{(r)}\|^2 .$$

    This is the statement, as printed, from the catalogue:
    """),
            statement("sfl.lemma12"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Drift has three causes, one term each: noise, the clients' gradients at $x^*$, and the distance of the model from $x^*$. For our
    federation we can compute the left side exactly.

    **Exercise 1.7.** $\mathcal{E}_r$ for one round of PFL without noise, from $x$, by the closed form of Exercise 1.2 (or by a
    loop), for arrays `h`, `a`.
    """)
    return


@app.cell
def _():
    def round_drift(x, h, a, eta, K):
        # student: return ...  # your turn: mean over clients, sum over k = 0 ... K-1
        # solution
        powers = np.array([(1 - eta * h) ** k for k in range(K)])  # (K, M)
        return (((powers - 1) * (x - a)) ** 2).sum(0).mean()
        # end

    return (round_drift,)


@app.cell(hide_code=True)
def _(round_drift):
    def _simulated(x, h, a, eta, K):
        problem = Quadratic(h[:, None, None], -(h * a)[:, None])
        data = run(problem, PFL(K=K, eta=eta), rounds=1, seeds=[0], x0=x, record=("drift",))
        return float(data.drift.values[..., np.isfinite(data.drift.values).ravel()].ravel()[0])

    _two = np.array([2.0, 0.5]), np.array([-1.0, 1.0])
    answer_7 = check(
        "1.7",
        round_drift,
        _simulated,
        at=[(2.5, *_two, 0.1, 4), (0.0, *_two, 0.05, 2), (1.0, *_two, 0.2, 1)],
        hint=r"The distance of $x_{m,k}$ from $a_m$ is $(1-\eta h_m)^k(x-a_m)$. The drift needs its distance from $x$. Sum over $k=0,\dots,K-1$; take the mean over the clients.",
    )
    answer_7
    return (answer_7,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Break it

    The lemma is checked by machine in two ways. Its *ledger* replays the printed proof, and an SMT solver decides each
    inequality exactly. Its *search* computes both sides exactly on hundreds of small federations and looks for one where the
    left side is larger. A check that cannot fail says nothing. So make it fail: multiply one term by a factor below 1.
    """)
    return


@app.cell(hide_code=True)
def _():
    term = mo.ui.dropdown(["noise", "heterogeneity", "gap", "all terms"], value="heterogeneity", label="term")
    factor = mo.ui.slider(0.05, 1.0, 0.05, value=0.5, label="factor", show_value=True)
    mo.hstack([term, factor], justify="start")
    return factor, term


@app.cell(hide_code=True)
def _(factor, term):
    _changed = scaled(
        "sfl.lemma12", sympy.Rational(str(factor.value)), None if term.value == "all terms" else term.value
    )
    broken = {kind: put("sfl.lemma12", kind, _changed) for kind in ("ledger", "search")}
    mo.vstack([told(verdict, kind) for kind, verdict in broken.items()])
    return (broken,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Notice two things. The ledger says *broken*, not *refuted*: when a proof fails, its statement may still be true. Only the
    search may say *refuted*, because it shows a federation that contradicts the statement. And for some factors the ledger
    breaks while the search finds nothing. For these nobody knows yet.

    **Exercise 1.8.** Scale all terms by the same factor, from 1 down in steps of 0.05. What is the last factor for which the
    *proof* goes through?
    """)
    return


@app.cell
def _():
    # student: smallest_factor = ...  # your turn: a number, found by the slider or by a loop over `put`
    # solution
    smallest_factor = 0.95  # at 0.9 a coefficient that the proof derives is larger than the one claimed
    # end
    return (smallest_factor,)


@app.cell(hide_code=True)
def _(smallest_factor):
    def _smallest():
        for hundredths in range(95, 0, -5):
            changed = scaled("sfl.lemma12", sympy.Rational(hundredths, 100))
            if put("sfl.lemma12", "ledger", changed).status != "proved":
                return (hundredths + 5) / 100
        return 0.05

    answer_8 = check(
        "1.8",
        smallest_factor,
        lambda: _smallest(),
        at=[()],
        hint="Choose all terms above and move the slider down from 1, one position at a time. Look only at the box of the ledger.",
    )
    answer_8
    return (answer_8,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## The paper's picture

    Figure 1 of the paper compares SFL and PFL on ten federations like ours, in one coordinate, with prescribed $\delta$ and
    $\zeta_*$. This is the figure of `fedtheory figures sfl_fig1_distance_on_quadratics`, drawn now.
    """),
            regenerated("sfl_fig1_distance_on_quadratics"),
            mo.md(r"""
    **To take away.** (1) Local steps multiply distances by $(1-\eta h)^K$. (2) Averaging gives wrong weights where
    curvatures differ; the error is of first order in $\eta(K-1)$. (3) A random order replaces the systematic error by a random
    one. (4) In a lemma, "drift" happens within one round. A theorem has to add it up over rounds: see lesson 2.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _(answer_1, answer_2, answer_3, answer_4, answer_5, answer_7, answer_8):
    answers = [answer_1, answer_2, answer_3, answer_4, answer_5, answer_7, answer_8]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
