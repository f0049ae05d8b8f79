import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="7. Binarisation")


with app.setup:
    from dataclasses import replace
    from fractions import Fraction
    from functools import partial
    from itertools import pairwise

    import marimo as mo
    import numpy as np
    import sympy
    import torch

    from course.lesson import after, check, choice, drawn, how_to_answer, put, regenerated, scaled, statement, told
    from fedtheory.bounds import evaluate
    from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
    from fedtheory.simulations import run
    from fedtheory.simulations.algorithms.fedbat import EFSignSGD, FedBAT
    from fedtheory.simulations.algorithms.fedcom import FedPAQ
    from fedtheory.simulations.binarisation import derivatives, error, law, least_error, mean_size, wire_bits
    from fedtheory.simulations.compressors import QSGD, MaxSign, Sign
    from fedtheory.simulations.networks.straight_through import binarise as binarise_torch
    from fedtheory.simulations.problems.quadratic import generate
    from fedtheory.theory import catalogue

    torch.set_num_threads(1)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 7. Binarisation and straight-through gradients

    **About 90 minutes.** You need expectations of two-valued random numbers, the chain rule, a little Python. Afterwards you can say

    - what a random sign with a step size sends, and when its mean is what it should be;
    - which step size has the least error, and why the operator is biased with it;
    - what a "straight-through" derivative is, and of what it is not the derivative;
    - what an assumption on a compressor hides: a constant that grows with the dimension, and a case without any constant;
    - why an algorithm can look correct and not move at all;
    - how to compare methods by bits instead of by rounds.

    The paper is FedBAT, "Communication-Efficient Federated Learning via Learnable Binarization". A client has trained. It sends its
    update $m\in\mathbb R^d$ with *one bit for each entry*, and one number for each layer, the step size $\alpha$.
    """),
            how_to_answer(),
            mo.md(r"""
    ## The operator

    $\mathcal S(x,\alpha)$ is $\alpha$ or $-\alpha$. An entry outside $[-\alpha,\alpha]$ becomes the nearer end. An entry inside becomes
    $\alpha$ with probability $\frac{\alpha+x}{2\alpha}$, and $-\alpha$ otherwise.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    alpha = mo.ui.slider(0.1, 2.0, 0.1, value=1.0, label=r"step size $\alpha$", show_value=True)
    alpha
    return (alpha,)


@app.cell(hide_code=True)
def _(alpha):
    def _draw(axes):
        left, right = axes
        x, step = np.linspace(-2, 2, 401), alpha.value
        mean = np.clip(x, -step, step)
        squared = error(x[:, None], np.array(step))
        deviation = np.sqrt(np.maximum(squared - (mean - x) ** 2, 0))
        left.plot(x, x, color=BLACK, ls="--", lw=1, label="x")
        left.plot(x, mean, color=BLUE, label=r"mean of $S(x,\alpha)$")
        left.fill_between(
            x, mean - deviation, mean + deviation, color=BLUE, alpha=0.15, lw=0, label="one standard deviation"
        )
        for end in (-step, step):
            left.axhline(end, color=GREY, lw=0.8, ls=":")
        left.set(xlabel="entry x", ylabel="what is sent", ylim=(-2.2, 2.2))
        left.legend(loc="upper left")
        right.plot(x, squared, color=RED, label=r"error $\mathbb{E}(S-x)^2$")
        right.plot(x, deviation**2, color=BLUE, ls="--", label="variance")
        right.plot(x, (mean - x) ** 2, color=ORANGE, ls=":", label="squared bias")
        right.set(xlabel="entry x", ylabel="squared units of x", ylim=(0, 4.2))
        right.legend(loc="upper center")

    drawn(_draw, width=9, columns=2)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 7.1.** The mean and the variance of $\mathcal S(x,\alpha)$, for *every* $x$ and $\alpha>0$. The check uses the exact law,
    in fractions. (`law` gives all outcomes with their probabilities.)
    """)
    return


@app.cell
def _():
    def mean_and_variance(x, alpha):
        # student: return ...  # your turn: (mean, variance)
        # solution
        mean = min(max(x, -alpha), alpha)
        return mean, alpha**2 - mean**2  # the square of what is sent is always alpha^2
        # end

    return (mean_and_variance,)


@app.cell(hide_code=True)
def _(mean_and_variance):
    def _by_law(x, alpha):
        outcomes = law([Fraction(x)], Fraction(alpha))
        mean = sum(p * value for p, (value,) in outcomes)
        return float(mean), float(sum(p * value**2 for p, (value,) in outcomes) - mean**2)

    answer_1 = check(
        "7.1",
        mean_and_variance,
        _by_law,
        at=[(0.5, 1.0), (0.0, 1.0), (-0.75, 1.0), (1.5, 1.0), (-2.0, 0.25), (0.25, 0.25)],
        hint=r"Treat $|x|\le\alpha$ and $|x|>\alpha$ apart. The square of what is sent is always $\alpha^2$, so the variance follows from the mean.",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _(answer_1):
    mo.vstack(
        [
            after(
                answer_1,
                r"""
    So $\mathcal S$ is unbiased where $|x|\le\alpha$, and *only* there. For all entries this needs $\alpha\ge\|x\|_\infty$. But the
    error of each entry, $\alpha^2-x^2$, grows with $\alpha$.
    """,
            ),
            mo.md(r"""
    ## The step size of least error

    For one entry of size $s=|x|$ the error is $\alpha^2-s^2$ where $\alpha\ge s$, and $(s-\alpha)^2$ where $\alpha<s$. Its
    derivative in $\alpha$, by sympy:
    """),
        ]
    )
    return


@app.cell
def _():
    a_, s_ = sympy.symbols("alpha s", positive=True)
    of_one = {"alpha >= s": a_**2 - s_**2, "alpha < s": (s_ - a_) ** 2}
    slopes_of_one = {case: sympy.expand(sympy.diff(e, a_)) for case, e in of_one.items()}
    mo.md("; ".join(f"for `{case}`: ${sympy.latex(e)}$" for case, e in slopes_of_one.items()))
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The sum over the entries is $2\bigl(d\,\alpha-\sum_{|x_i|>\alpha}|x_i|\bigr)$. It only grows with $\alpha$, so the error is least
    where it changes sign. Choose a law for the entries.
    """)
    return


@app.cell(hide_code=True)
def _():
    kind = mo.ui.dropdown(
        ["normal", "all alike", "one entry, the rest 0", "heavy tails"], value="normal", label="entries of the update"
    )
    size = mo.ui.slider(2, 200, 1, value=50, label="dimension $d$", show_value=True)
    mo.hstack([kind, size], justify="start", wrap=True)
    return kind, size


@app.cell
def _(kind, size):
    def update_of(kind, d):
        rng = np.random.default_rng(7)
        return {
            "normal": rng.normal(size=d),
            "all alike": np.ones(d),
            "one entry, the rest 0": np.eye(d)[0],
            "heavy tails": rng.standard_t(2, size=d),
        }[kind]

    update = update_of(kind.value, size.value)
    return update, update_of


@app.cell(hide_code=True)
def _(update):
    def _draw(axis):
        largest = np.abs(update).max()
        grid = np.linspace(1e-3, 1.3 * largest, 400)
        whole = (update**2).sum()
        axis.plot(grid, error(update, grid[:, None]) / whole, color=BLACK)
        for value, colour, label in (
            (least_error(update), GREEN, "least error"),
            (mean_size(update), ORANGE, r"mean size, (13)"),
            (largest, BLUE, r"$\|x\|_\infty$, unbiased"),
        ):
            relative = float(error(update, np.array(value)) / whole)
            axis.plot([value], [relative], "o", color=colour, label=f"{label}: {relative:.3g}")
        axis.axhline(1, color=BLACK, lw=0.8, ls=":")
        axis.set(xlabel=r"step size $\alpha$", ylabel=r"error $\mathbb{E}\|S(x,\alpha)-x\|^2/\|x\|^2$", yscale="log")
        axis.legend()

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The dotted line is the error of a client that sends nothing. The step size $\|x\|_\infty$ makes $\mathcal S$ unbiased. Its error is
    $d\|x\|_\infty^2-\|x\|^2$, above the dotted line unless $\|x\|^2\ge\tfrac d2\|x\|_\infty^2$. The least error is always below the line:
    at $\alpha=0$ the error is $\|x\|^2$, and its slope $-2\|x\|_1$. But there $\mathcal S$ is biased, unless all entries have the same
    size.

    **Exercise 7.2.** Write the step size of least error yourself. (The check uses `least_error`.)
    """)
    return


@app.cell
def _():
    def best_step(x):
        # student: return ...  # your turn; np.sort and np.cumsum help
        # solution
        sizes = np.sort(np.abs(x))[::-1]
        # with the k largest beyond alpha the slope vanishes at their sum / d; right where exactly k are beyond it, or the
        # slope jumps over 0 at one of the sizes
        candidates = np.concatenate([np.cumsum(sizes) / len(x), sizes])
        errors = [np.where(sizes <= c, c**2 - sizes**2, (sizes - c) ** 2).sum() for c in candidates]
        return candidates[int(np.argmin(errors))]
        # end

    return (best_step,)


@app.cell(hide_code=True)
def _(best_step, update_of):
    _kinds = ("normal", "all alike", "one entry, the rest 0", "heavy tails")
    answer_2 = check(
        "7.2",
        best_step,
        least_error,
        at=[(update_of(kind, d),) for kind in _kinds for d in (3, 20, 101)],
        hint=r"Sort the sizes. If exactly the $k$ largest are above $\alpha$, the slope vanishes at their sum over $d$. It can also jump over 0 at one of the sizes. Compute the error at all of these candidates.",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## What an assumption hides

    The theorems of the paper contain a constant $q$. It comes from Assumption 5, and from the remark that $\mathcal S$ satisfies it:
    """),
            statement("fedbat.assump5.claim"),
            mo.md(r"""
    If $\alpha$ does not depend on $x$, then $\mathcal S(0)=\pm\alpha$. The left side is $\alpha\sqrt d$, and the right side is 0.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The analysis sets $\alpha=\|x\|_\infty$ in each step. Then there is a $q$. The error is $d\,\|x\|_\infty^2-\|x\|^2$. (The catalogue
    has this as `fedbat.assump5.sq_error`. The paper does not compute it.)

    **Exercise 7.3.** The least $q$ with $\mathbb E\|\mathcal S(x)-x\|^2\le q^2\|x\|^2$ for all $x\in\mathbb R^d$, and an $x$ that needs it.
    """)
    return


@app.cell
def _():
    def least_q(d):
        # student: return ...  # your turn
        # solution
        return (d - 1) ** 0.5  # d |x|_oo^2 <= d |x|^2, with equality for one entry that is not 0
        # end

    def worst_x(d):
        # student: return ...  # your turn: an array (d,)
        # solution
        return np.eye(d)[0]
        # end

    return least_q, worst_x


@app.cell(hide_code=True)
def _(least_q, worst_x):
    def _ratio(x):
        return float(np.sqrt(error(x, np.abs(x).max()) / (x**2).sum()))

    def _both(d):
        """Your q, and what your x needs; open where one is not answered."""
        q, x = least_q(d), worst_x(d)
        return None if any(v is None or v is ... for v in (q, x)) else (q, _ratio(np.asarray(x, dtype=float)))

    def _searched(d):
        """The largest ratio over random directions and over sparse ones, twice."""
        rng = np.random.default_rng(0)
        sparse = [np.where(np.arange(d) < k, 1.0, 0.0) for k in range(1, d + 1)]
        largest = max(map(_ratio, [*rng.normal(size=(500, d)), *sparse]))
        return largest, largest

    answer_3 = check(
        "7.3",
        lambda d: _both(d),
        _searched,
        at=[(2,), (5,), (40,)],
        hint=r"Divide the error $d\|x\|_\infty^2-\|x\|^2$ by $\|x\|^2$. How small can $\|x\|^2$ be when $\|x\|_\infty$ is given? The function returns $q$, not its square.",
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
    So Theorems 1 to 3 hide a dimension: $q^2=d-1$.
    """,
            ),
            mo.md(r"""
    Break the claim. Choose a smaller $q$; the machine checks it on all outcomes at rational points.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    smaller = mo.ui.dropdown(["1", "9/10", "1/2", "1/10"], value="9/10", label="the $q$ of Exercise 7.3 times")
    smaller
    return (smaller,)


@app.cell(hide_code=True)
def _(smaller):
    _found = catalogue.find("fedbat.assump5.claim")
    (_relation,) = _found.claim.relations
    _changed = _relation.func(_relation.lhs, sympy.Rational(smaller.value) * _relation.rhs)
    told(
        put(_found.id, "enumeration", _found.with_claim(replace(_found.claim, relations=(_changed,)))),
        f"Assumption 5 with {smaller.value} of this q",
    )
    return


@app.cell(hide_code=True)
def _():
    def _relative(x, step):
        return float(error(x, np.array(step)) / (x**2).sum())

    _rng = np.random.default_rng(3)
    _d = np.unique(np.geomspace(2, 2000, 30).astype(int))
    _normal = [_rng.normal(size=d) for d in _d]

    def _draw(axes):
        left, right = axes
        left.plot(_d, _d - 1, color=BLACK, label="the worst update")
        left.plot(
            _d, [_relative(x, np.abs(x).max()) for x in _normal], color=BLUE, label=r"normal, $\alpha=\|x\|_\infty$"
        )
        left.plot(
            _d, [_relative(x, least_error(x)) for x in _normal], color=GREEN, label=r"normal, $\alpha$ of least error"
        )
        left.set(xscale="log", yscale="log", xlabel="dimension d", ylabel=r"error over $\|x\|^2$")
        left.legend()
        for R, colour in ((100, ORANGE), (10000, BLUE)):
            ones = np.ones(len(_d))
            bound = evaluate(
                "fedbat.thm1.from_start",
                **{"L": ones, "mu": 0.1 * ones, "sigma": 0.2 * ones, "G": ones, "q": np.sqrt(_d - 1.0)},
                **{"tau": 5, "T": 5.0 * R, "N": 10, "p_sq": 0.1, "Gamma": 0.1 * ones, "d0": ones},
            )
            right.plot(_d, bound.value, color=colour, label=f"bound, R = {R:,}")
        right.set(xscale="log", yscale="log", xlabel="dimension d", ylabel=r"bound on $\mathbb{E}F(w_T)-F^*$")
        right.legend()

    drawn(_draw, width=9, columns=2)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Right: the corrected Theorem 1 with the $q$ of Exercise 7.3 and all other symbols fixed ($L=1$, $\mu=0.1$, $\sigma=0.2$, $G=1$, $\Gamma=0.1$,
    $\tau=5$, $N=10$). The bound grows with $d$. Left: on normal updates the error with $\|x\|_\infty$ is far below the worst, but it
    grows, too. The least error stays below 1. No theorem of the paper covers it, since all of them use $\mathbb E\,\mathcal S(x)=x$.

    ## Straight through

    FedBAT does not set $\alpha$, it *learns* it, together with $m$, by gradients of the loss at the binarised update. But $\mathcal S$ is
    piecewise constant in $x$: its derivative is 0 almost everywhere. The way out is to differentiate

    $$\mathcal S'(x,\alpha)=\alpha\Bigl(2\Bigl\lfloor\frac{\alpha+x}{2\alpha}+\zeta\Bigr\rfloor-1\Bigr),\qquad \zeta\sim U(0,1),$$

    as if the floor had the derivative 1, "straight through". sympy does it with a function `f` with $f'=1$ in place of the floor.
    """)
    return


@app.cell
def _():
    x_, step_, zeta_ = sympy.symbols("x alpha zeta", positive=True)
    f = sympy.Function("f")
    inside = (step_ + x_) / (2 * step_) + zeta_
    S_prime = step_ * (2 * f(inside) - 1)

    def straight(e):
        """The derivative of f is 1."""
        return sympy.simplify(e.doit().replace(sympy.Subs, lambda *_: sympy.Integer(1)))

    by_x, by_alpha_symbolic = (straight(sympy.diff(S_prime, symbol)) for symbol in (x_, step_))
    mo.md(
        rf"""
        $$\frac{{\partial\mathcal S}}{{\partial x}}={sympy.latex(by_x)},\qquad
        \frac{{\partial\mathcal S}}{{\partial\alpha}}={sympy.latex(sympy.expand(by_alpha_symbolic))}\qquad\text{{for }}|x|\le\alpha,\ f=\lfloor\cdot\rfloor.$$
        """
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Outside $[-\alpha,\alpha]$ nothing is random: there $\mathcal S=\pm\alpha$.

    **Exercise 7.4.** $\partial\mathcal S/\partial\alpha$, entry by entry, for arrays `x` and `zeta` and a number or array `alpha`. The check
    uses torch's autograd, through the operator that trains networks.
    """)
    return


@app.cell
def _():
    def by_alpha(x, alpha, zeta):
        # student: return ...  # your turn: an array in the shape of x
        # solution
        within = 2 * np.floor((alpha + x) / (2 * alpha) + zeta) - (x + alpha) / alpha
        return np.where(x > alpha, 1.0, np.where(x < -alpha, -1.0, within))
        # end

    return (by_alpha,)


@app.cell
def _():
    def by_autograd(x, alpha, zeta):
        """(dS/dx, dS/dalpha), entry by entry, by torch."""
        at, drawn_zeta = (torch.tensor(v, dtype=torch.float64) for v in (x, zeta))
        at.requires_grad_()
        step = torch.full_like(at, alpha, requires_grad=True)
        return tuple(g.numpy() for g in torch.autograd.grad(binarise_torch(at, step, drawn_zeta).sum(), (at, step)))

    return (by_autograd,)


@app.cell(hide_code=True)
def _(by_alpha, by_autograd):
    _rng = np.random.default_rng(1)
    _points = [
        (_rng.normal(size=6).round(3), step, _rng.uniform(size=6).round(3))
        for step in (0.3, 1.0, 2.5)
        for _ in range(20)
    ]
    answer_4 = check(
        "7.4",
        by_alpha,
        lambda *p: by_autograd(*p)[1],
        at=_points,
        tolerance=1e-12,
        hint=r"Inside $[-\alpha,\alpha]$ use the formula above with the floor. Outside, $\mathcal S$ is $\alpha$ or $-\alpha$: what is its derivative in $\alpha$?",
    )
    answer_4
    return (answer_4,)


@app.cell
def _(by_autograd):
    _rng = np.random.default_rng(2)
    _x, _zeta = _rng.normal(size=100_000), _rng.uniform(size=100_000)
    same_bits = all(
        np.array_equal(ours, theirs) and ours.dtype == theirs.dtype
        for ours, theirs in zip(derivatives(_x, 0.7, _zeta), by_autograd(_x, 0.7, _zeta), strict=True)
    )
    mo.md(
        f"The simulator has the same derivatives in numpy. On {len(_x):,} random entries the two agree "
        + ("**bit by bit**." if same_bits else "**not bit by bit**.")
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ### Break it

    Change the middle line of (9). The catalogue checks it in two ways: its derivation for all $x,\alpha,\zeta$, by algebra, and its
    enumeration with the simulator and torch, exactly, at grid points.
    """)
    return


@app.cell(hide_code=True)
def _():
    middle = mo.ui.dropdown(
        ["as printed", "the sign alone", "+ in place of -", "x alone in the fraction", "twice"],
        value="the sign alone",
        label=r"$\partial\mathcal S/\partial\alpha$ for $|x|\le\alpha$",
    )
    middle
    return (middle,)


@app.cell(hide_code=True)
def _(middle):
    _found = catalogue.find("fedbat.eq9")
    (_relation,) = _found.claim.relations
    (_above, _within, _below) = _relation.rhs.args
    _term = _within.expr
    (_floor,) = _term.atoms(sympy.floor)
    _rest = _term - 2 * _floor
    _new = {
        "as printed": _term,
        "the sign alone": 2 * _floor - 1,
        "+ in place of -": 2 * _floor - _rest,
        "x alone in the fraction": 2 * _floor + _rest + 1,
        "twice": 2 * _term,
    }[middle.value]
    _changed = sympy.Eq(
        _relation.lhs, sympy.Piecewise((_above.expr, _above.cond), (_new, _within.cond), (_below.expr, _below.cond))
    )
    _statement = _found.with_claim(replace(_found.claim, relations=(_changed,)))
    mo.vstack(
        [told(put("fedbat.eq9", kind, _statement), f"{middle.value}, {kind}") for kind in ("derivation", "enumeration")]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ### What it is the derivative of

    An estimate of a gradient should have the gradient for its mean. Take one entry, the loss $\tfrac h2(y-a)^2$, and $y=\mathcal S(x,\alpha)$ with
    $|x|\le\alpha$. Training steps along $h(\mathcal S-a)\cdot\frac{\partial\mathcal S}{\partial\alpha}$. In the mean over $\zeta$:

    **Exercise 7.5.** $\mathbb E\bigl[h(\mathcal S-a)\,\frac{\partial\mathcal S}{\partial\alpha}\bigr]$ as a sympy expression in `h`, `a`, `x`,
    `alpha`. (Two outcomes: $\mathcal S=\pm\alpha$, with $\frac{\partial\mathcal S}{\partial\alpha}=\pm1-\frac x\alpha$.)
    """)
    return


@app.cell
def _():
    h, a, x, alpha_s = sympy.symbols("h a x alpha", real=True)
    # student: mean_of_step = ...  # your turn
    # solution
    # E[dS/dalpha] = x/alpha - x/alpha = 0, so a drops out; h alpha E[s (s - x/alpha)] = h alpha (1 - x^2/alpha^2)
    mean_of_step = h * (alpha_s**2 - x**2) / alpha_s
    # end
    return a, alpha_s, h, mean_of_step, x


@app.cell
def _(a, alpha_s, h, x):
    # By machine, from the two outcomes; and the derivatives of the expected loss itself
    outcomes = [((alpha_s + sign * x) / (2 * alpha_s), sign) for sign in (1, -1)]
    by_straight_through = {
        "x": sum(p * h * (sign * alpha_s - a) * 1 for p, sign in outcomes),
        "alpha": sum(p * h * (sign * alpha_s - a) * (sign - x / alpha_s) for p, sign in outcomes),
    }
    expected_loss = sum(p * h * (sign * alpha_s - a) ** 2 / 2 for p, sign in outcomes)
    by_calculus = {"x": sympy.diff(expected_loss, x), "alpha": sympy.diff(expected_loss, alpha_s)}
    return by_calculus, by_straight_through


@app.cell(hide_code=True)
def _(by_straight_through, mean_of_step):
    answer_5 = check(
        "7.5",
        mean_of_step,
        sympy.simplify(by_straight_through["alpha"]),
        hint=r"Add the two outcomes, each with its probability $\frac{\alpha\pm x}{2\alpha}$. The part with $a$ has the mean of $\partial\mathcal S/\partial\alpha$ as a factor: compute that first.",
    )
    answer_5
    return (answer_5,)


@app.cell(hide_code=True)
def _(answer_5, by_calculus, by_straight_through):
    def _tex(e):
        return sympy.latex(sympy.factor(sympy.simplify(e)))

    _rows = "\n".join(
        f"| {name} | ${_tex(by_straight_through[symbol])}$ | ${_tex(by_calculus[symbol])}$ |"
        for symbol, name in (("x", "$x$"), ("alpha", r"$\alpha$"))
    )
    mo.md(
        "*The table appears when Exercise 7.5 is right.*"
        if answer_5.standing != "right"
        else "| derivative in | mean of the straight-through step | derivative of the expected loss |\n|---|---|---|\n"
        + _rows
        + "\n\nThey differ in both. What follows is Exercise 7.6."
    )
    return


@app.cell(hide_code=True)
def _():
    question_6 = choice(
        "**Exercise 7.6.** Where does gradient descent take $x$ in the mean, with $\\alpha$ fixed and $0<a<\\alpha$: (i) by straight-through steps, "
        "(ii) by the derivative of the expected loss?",
        [
            "both to a",
            "(i) to a, (ii) to the boundary",
            "(i) to the boundary, (ii) to a",
            "both to the boundary",
        ],
        # solution
        value="(i) to a, (ii) to the boundary",
        # end
    )
    mo.vstack([question_6])
    return (question_6,)


@app.cell(hide_code=True)
def _(a, alpha_s, by_calculus, by_straight_through, h, question_6, x):
    def _ends(slope):
        """Where descent along this slope, held in [-alpha, alpha], ends: a = 0.3, alpha = 1, h = 1."""
        at, slope = 0.0, slope.subs({a: 0.3, alpha_s: 1, h: 1})
        for _ in range(400):
            at = min(max(at - 0.05 * float(slope.subs(x, at)), -1.0), 1.0)
        return "to a" if abs(at - 0.3) < 1e-6 else "to the boundary" if abs(abs(at) - 1) < 1e-6 else "elsewhere"

    _by = _ends(by_straight_through["x"]), _ends(by_calculus["x"])
    _said = f"both {_by[0]}" if _by[0] == _by[1] else f"(i) {_by[0]}, (ii) {_by[1]}"
    answer_6 = check(
        "7.6",
        question_6.value,
        _said,
        hint="Look at the signs in the row of $x$ in the table: where does each of the two slopes vanish, and on which side does it push?",
    )
    answer_6
    return (answer_6,)


@app.cell(hide_code=True)
def _(answer_6):
    mo.vstack(
        [
            after(
                answer_6,
                r"""
    So the straight-through step is *not* an unbiased gradient of the expected loss. On this example that is good: in $x$ it is the
    gradient at the update itself, as if nothing were binarised. For $\alpha$ it is too small by the factor $1-x^2/\alpha^2$. Both are
    facts about one entry and a quadratic, no more.
    """,
            ),
            mo.md(r"""
    ## An algorithm that does not move

    Algorithm 1 makes $\lfloor\phi\tau\rfloor$ plain steps from $m=0$. Then it sets $\alpha'=\|m\|_1/d$, (13). It takes all further
    gradients at $\mathcal S(m,\alpha)$ with $\alpha=\alpha'e^{\rho\alpha_e}$, (10), and learns $\alpha_e$, from 0 on.
    (Line (14) as printed steps $\alpha$ itself, and divides by $\alpha=0$ at the start.) The theorems are about $\phi=0$ and another
    step size, $\alpha=\|m\|_\infty$, as the paper says.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    phi = mo.ui.slider(0.0, 0.9, 0.1, value=0.0, label=r"$\phi$, share of plain steps", show_value=True)
    tau = mo.ui.slider(1, 10, 1, value=5, label=r"local steps $\tau$", show_value=True)
    rho = mo.ui.slider(0.0, 6.0, 1.0, value=1.0, label=r"$\rho$, pace of $\alpha$", show_value=True)
    mo.hstack([phi, tau, rho], justify="start", wrap=True)
    return phi, rho, tau


@app.cell
def _():
    problem = generate(20, 8, L=1.0, mu=0.1, zeta_star=0.5, delta=0.2, sigma=0.2, x_star=np.linspace(-2, 2, 20), seed=0)
    return (problem,)


@app.cell(hide_code=True)
def _(phi, problem, rho, tau):
    def _gap(**settings):
        algorithm = FedBAT(tau.value, 0.05, phi=phi.value, rho=rho.value, **settings)
        return run(problem, algorithm, rounds=60, seeds=range(4), x0=0.0, record=("gap",)).gap.isel(step_size=0)

    def _draw(axis):
        for label, settings, colour, dash in (
            ("Algorithm 1", {}, RED, "-"),
            ("corrected: at least one plain step", {"least": 1}, BLUE, "--"),
            (r"as analysed, $\alpha=\|m\|_\infty$ at every step", {"step_size": "max"}, ORANGE, ":"),
        ):
            gap = _gap(**settings)
            axis.plot(gap["round"], gap.mean("seed"), color=colour, ls=dash, label=label)
            axis.fill_between(gap["round"], gap.min("seed"), gap.max("seed"), color=colour, alpha=0.15, lw=0)
        axis.set(
            yscale="log",
            xlabel="round",
            ylabel=r"gap $F(w)-F^*$",
            title=r"8 quadratics, d = 20, $\eta$ = 0.05, 4 seeds",
        )
        axis.set_ylim(
            min(axis.get_ylim()[0], 1e-1), max(axis.get_ylim()[1], 2e1) if np.isfinite(axis.get_ylim()[1]) else 2e1
        )
        axis.legend()

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Lines are means, bands the smallest and largest of four seeds.

    **Exercise 7.7.** Does the model of Algorithm 1 move at all, for these $\phi$ and $\tau$? Return `True` or `False`.
    """)
    return


@app.cell
def _():
    def moves(phi, tau):
        # student: return ...  # your turn
        # solution
        # with no plain step m = 0 gives alpha' = 0, so alpha = 0 whatever alpha_e, and S(m, 0) = 0 for good
        return int(phi * tau + 1e-9) >= 1
        # end

    return (moves,)


@app.cell(hide_code=True)
def _(moves, problem):
    def _moved(phi, tau):
        data = run(problem, FedBAT(tau, 0.05, phi=phi, rho=1.0), rounds=3, seeds=[0, 1], x0=0.0, record=("gap",))
        return bool(np.ptp(data.gap.values) > 0)

    answer_7 = check(
        "7.7",
        moves,
        _moved,
        at=[(0.0, 5), (0.5, 1), (0.5, 2), (0.1, 5), (0.2, 5), (0.9, 1), (0.3, 10)],
        hint=r"Algorithm 1 makes $\lfloor\phi\tau\rfloor$ plain steps. What is $\alpha'$ when $m=0$, and can $\alpha=\alpha'e^{\rho\alpha_e}$ recover from it?",
    )
    answer_7
    return (answer_7,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md("The catalogue runs Algorithm 1 line by line, and the corrected lines beside it:"),
            told(put("fedbat.alg1", "counterexample"), "Algorithm 1 as printed"),
            told(put("fedbat.alg1.corrected", "counterexample"), "corrected"),
            mo.md(r"""
    (10) is there "to restrict the value of $\alpha$ to be positive", and does so. But (14) prints a step of $\alpha$, not of $\alpha_e$.
    This can make $\alpha$ negative:
    """),
            told(put("fedbat.eq10", "derivation"), "(10)"),
            told(put("fedbat.eq14", "counterexample"), "(14)"),
            mo.md(r"""
    By the chain rule a step of $\alpha_e$ multiplies $\alpha$ by $\exp(-\rho^2\eta\,\alpha\,\partial F/\partial\alpha)$. So the scale of
    the loss decides how fast $\alpha$ is learned, and $\rho^2$ must have a dimension. The paper's default for its networks is
    $\rho=6$. Try it in the comparison below.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## Bias, method by method

    The figure `fedbat_bias_of_signs`, drawn now: what several methods of signs send for one entry $x$ of $m=(x,1,-\tfrac12,\tfrac14)$. The
    dashed line is $x$ itself. Only $\alpha=\|m\|_\infty$ has this mean.
    """),
            regenerated("fedbat_bias_of_signs"),
            mo.md(r"""
    ## Signs with and without memory

    SignSGD sends $\alpha\,\mathrm{sign}(m)$ with a fixed $\alpha$. EF-SignSGD sends $\|m+e\|_1/d\cdot\mathrm{sign}(m+e)$ and keeps what it did not send,
    $e\leftarrow m+e-\text{sent}$.

    **Exercise 7.8.** How many bits does a client send in a round, for $d$ entries in `layers` layers? A layer's number has 32 bits.
    """),
        ]
    )
    return


@app.cell
def _():
    def bits(d, layers):
        # student: return ...  # your turn
        # solution
        return d + 32 * layers
        # end

    return (bits,)


@app.cell(hide_code=True)
def _(bits):
    def _counted(d, layers):
        ends = np.linspace(0, d, layers + 1).astype(int)
        return wire_bits({str(i): slice(int(a), int(b)) for i, (a, b) in enumerate(pairwise(ends))})

    answer_8 = check(
        "7.8",
        bits,
        _counted,
        at=[(20, 1), (20, 4), (1000, 3)],
        hint="One sign for each entry, and one number for each layer.",
    )
    answer_8
    return (answer_8,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Now the methods on the small problem above, $\tau=5$, all 8 clients. Each runs at six learning rates (SignSGD and Stoc-SignSGD also at
    four step sizes $\alpha$). We choose the best by the mean gap after 150 rounds *on other seeds* (10 to 13) and draw it on seeds 0
    to 5. If the best learning rate is an end of the grid, 0.01 or 0.4, a longer grid may give a better one.
    """)
    return


@app.cell(hide_code=True)
def _():
    rho_2 = mo.ui.slider(0.0, 6.0, 1.0, value=1.0, label=r"$\rho$ of FedBAT", show_value=True)
    rho_2
    return (rho_2,)


@app.cell
def _(problem):
    STEPS, ROUNDS = np.geomspace(0.01, 0.4, 6).tolist(), 150
    _alphas = (0.003, 0.01, 0.03, 0.1)
    FIXED = {
        "FedAvg": [partial(FedPAQ, 5)],
        "FedPAQ, 2 bits": [partial(FedPAQ, 5, compressor=QSGD(1))],
        "SignSGD": [partial(FedPAQ, 5, compressor=Sign(step)) for step in _alphas],
        "Stoc-SignSGD": [partial(FedPAQ, 5, compressor=MaxSign(step)) for step in _alphas],
        "EF-SignSGD": [partial(EFSignSGD, 5)],
        "FedBAT as analysed": [partial(FedBAT, 5, phi=0.0, step_size="max")],
    }

    def tuned(forms):
        """(algorithm at its best setting, its gaps over (seed, round), the mean gap at the end for every setting)."""
        ends = []
        for form in forms:
            last = run(
                problem, form(STEPS), rounds=ROUNDS, seeds=range(10, 14), x0=0.0, record=("gap",), at=[ROUNDS]
            ).gap
            ends.append(last.mean("seed", skipna=False).fillna(np.inf).values[:, 0])
        ends = np.array(ends)
        which, eta = np.unravel_index(ends.argmin(), ends.shape)
        best = forms[which](STEPS[eta])
        data = run(problem, best, rounds=ROUNDS, seeds=range(6), x0=0.0, record=("gap",), at=range(0, ROUNDS + 1, 5))
        return best, data.gap.isel(step_size=0), ends

    results = {name: tuned(forms) for name, forms in FIXED.items()}
    return results, tuned


@app.cell(hide_code=True)
def _(problem, results, rho_2, tuned):
    learned = {
        rf"FedBAT, $\rho$ = {rho_2.value:g}": tuned([partial(FedBAT, 5, rho=rho_2.value)]),
    }

    def _draw(axes):
        colours = dict(zip(results, (BLACK, GREY, BLUE, GREEN, PURPLE, ORANGE), strict=True))
        for name, (best, gap, _) in {**results, **learned}.items():
            colour = colours.get(name, RED)
            sent = gap["round"] * best.uplink_bits(problem)
            for axis, across in ((axes[0], gap["round"]), (axes[1], sent)):
                axis.plot(
                    across[1:], gap.mean("seed")[1:], color=colour, label=name, ls="--" if "analysed" in name else "-"
                )
                axis.fill_between(across[1:], gap.min("seed")[1:], gap.max("seed")[1:], color=colour, alpha=0.12, lw=0)
        axes[0].set(yscale="log", xlabel="rounds", ylabel=r"gap $F(w)-F^*$")
        axes[1].set(xscale="log", yscale="log", xlabel="bits sent by one client")
        axes[0].legend(fontsize=7, ncols=2)

    _ = SKY
    _rows = "\n".join(
        f"| {name} | {best.uplink_bits(problem):g} | {best.eta:.2g} | {float(gap.isel(round=-1).mean()):.2g} "
        f"| {float(gap.isel(round=-1).min()):.2g} to {float(gap.isel(round=-1).max()):.2g} |"
        for name, (best, gap, _ends) in {**results, **learned}.items()
    )
    mo.vstack(
        [
            drawn(_draw, width=9, height=3.8, columns=2),
            mo.md(
                "| method | bits a round | best learning rate | gap after 150 rounds, mean | of six seeds |\n|---|---|---|---|---|\n"
                + _rows
                + "\n\n"
                + "; ".join(
                    f"{name}: at {int((ends > 0.9 * float(gap.isel(round=0).mean())).sum())} of 6 learning rates the mean gap "
                    "after 150 rounds is above nine tenths of that at the start"
                    for name, (_best, gap, ends) in learned.items()
                )
                + "."
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    question_9 = choice(
        "**Exercise 7.9.** SignSGD with $\\alpha=0.01$: by which factor does its mean gap after 150 rounds change over the six learning "
        "rates, from 0.01 to 0.4?",
        ["less than 1.1", "about 6", "about 40, as the learning rates", "more than 100"],
        # solution
        value="less than 1.1",
        # end
    )
    mo.vstack([question_9])
    return (question_9,)


@app.cell(hide_code=True)
def _(question_9, results):
    _ends = results["SignSGD"][2][1]  # alpha = 0.01
    _ratio = _ends.max() / _ends.min()
    _names = ((1.1, "less than 1.1"), (15, "about 6"), (100, "about 40, as the learning rates"))
    answer_9 = check(
        "7.9",
        question_9.value,
        next((name for limit, name in _names if _ratio < limit), "more than 100"),
        hint=r"With a fixed $\alpha$, which parts of an update does a client still send: its sizes, or only its signs? What does the learning rate change?",
    )
    answer_9
    return (answer_9,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 7.10.** Explain 7.9 in one or two sentences. How does EF-SignSGD repair it? Add up its rounds and show that after $R$ rounds
    $\sum_r \text{sent}_r=\sum_r m_r-e_R$.
    """)
    return


@app.cell(hide_code=True)
def _():
    # student: mo.md("*Write your answer here.*")
    # solution
    mo.md(r"""
    *Solution.* With a fixed $\alpha$ a client moves every entry by $\pm\alpha$, however large its update was. The learning rate changes
    the sizes of the updates, which are not sent, and their signs only a little. In EF-SignSGD the step size follows the update. The
    sum of $e_{r+1}=m_r+e_r-\text{sent}_r$ from $e_0=0$ on telescopes to $\sum_r\text{sent}_r=\sum_r m_r-e_R$. What is lost in a
    round is sent later. While $e_R$ stays bounded, the error does not add up: each round is biased, and the sum is nearly right.
    """)
    # end
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 7.11.** EF-SignSGD for one client and updates $m_0,\dots,m_{R-1}$, the rows of an array: what it still has to send, $e_R$,
    and the sum of what it sent. The sign of 0 counts as 1.
    """)
    return


@app.cell
def _():
    def owed_and_sent(m):
        # student: return ...  # your turn: (e_R, sum of what was sent), two arrays (d,), as one array (2, d) or a pair
        # solution
        e, total = 0 * m[0], 0 * m[0]
        for update in m:
            whole = update + e
            sent = abs(whole).mean() * (2 * (whole >= 0) - 1)
            e, total = whole - sent, total + sent
        return e, total
        # end

    return (owed_and_sent,)


@app.cell(hide_code=True)
def _(owed_and_sent):
    def _by_compressor(m):
        """The same with the simulator's compressor, and by the sum that telescopes."""
        e = np.zeros(m.shape[1])
        for update in m:
            whole = e + update
            e = whole - Sign().step(whole) * (2 * Sign().up(whole) - 1)
        return e, m.sum(0) - e

    _rng = np.random.default_rng(5)
    answer_11 = check(
        "7.11",
        owed_and_sent,
        _by_compressor,
        at=[(_rng.normal(size=(R, d)),) for R, d in ((1, 3), (4, 2), (30, 5))],
        hint="In each round: add what is left to the update, send the mean absolute value times the signs, and keep the difference. Treat the sign of 0 as 1.",
    )
    answer_11
    return (answer_11,)


@app.cell(hide_code=True)
def _():
    factor = mo.ui.slider(0.05, 1.0, 0.05, value=0.95, label="all terms times", show_value=True)
    mo.vstack(
        [
            mo.md(r"""
    ## What can be proved

    Theorem 1 needs $\mathbb E\,\mathcal S(x)=x$. With a learned $\alpha$ this is false. Three changes make the proof go through:
    $\alpha=\|m\|_\infty$; Assumptions 3 to 5 at the *binarised* parameters, where the gradients are taken; and in the lemmas the
    learning rate of a round's first step:
    """),
            statement("fedbat.thm1.corrected"),
            factor,
        ]
    )
    return (factor,)


@app.cell(hide_code=True)
def _(factor):
    mo.vstack(
        [
            told(put("fedbat.thm1", "ledger"), "the printed proof of the printed theorem"),
            told(
                put(
                    "fedbat.thm1.corrected",
                    "ledger",
                    scaled("fedbat.thm1.corrected", sympy.Rational(str(factor.value))),
                ),
                f"our proof, all terms times {factor.value:g}",
            ),
            mo.md(r"""
    The printed proof is *broken*: a condition on learning rates fails at $t=0$ when $\tau\ge8\kappa$. This does *not* refute the
    printed statement, and no run here refutes it.

    **To take away.** (1) The step size $\alpha$ trades bias against error. (2) The unbiased choice $\|x\|_\infty$ has an error that can
    grow with the dimension. The choice of least error costs less than $\|x\|^2$, and is biased unless all entries have the same
    size. (3) Straight-through derivatives are not derivatives of the expected loss, not even in the mean. (4) Run a listing at the
    settings of its own theorem: $\phi=0$. (5) A biased operator with a memory did better here than an unbiased one without.
    (6) Compare by bits. Tune every method, on other seeds than those you show. Six seeds on one quadratic say nothing about
    networks.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _(answer_1, answer_11, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7, answer_8, answer_9):
    answers = [answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7, answer_8, answer_9, answer_11]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
