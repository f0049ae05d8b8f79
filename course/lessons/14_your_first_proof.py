import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="14. Your first proof")


with app.setup:
    import re
    from dataclasses import dataclass
    from functools import partial
    from html import escape
    from itertools import count

    import marimo as mo
    import sympy
    from sympy import Rational

    import fedtheory as ft
    from course.lesson import after, check, choice, how_to_answer
    from fedtheory.paper import (
        Delta,
        K,
        L,
        M,
        R,
        bounded_below,
        contract,
        convex,
        dist2,
        drift,
        eta,
        gap,
        grad_sq,
        h,
        jensen,
        mu,
        noise,
        paper,
        polyak,
        sigma,
        smooth,
        strongly_convex_mean,
        young,
    )
    from fedtheory.simulations.algorithms.base import LocalSteps, everyone, to_clients
    from fedtheory.simulations.algorithms.sfl import PFL


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 14. Your first proof: from a sentence in a paper to *proved*

    **About 75 minutes.** You need smooth and convex functions, a gradient step, and a little Python. Lesson 4 helps: it explains
    the verdicts. Afterwards you can

    - write a sentence of a paper as an inequality, and ask whether it holds;
    - find the best constant by trial, and read a witness;
    - write a lemma about a round of an algorithm, and prove it by a list of assumptions and inferences;
    - read what is left over when a list does not close, and repair it;
    - tell a false lemma from a lemma that is only not proved.

    A lemma can fail in two ways. Its *constant* may be wrong: then there is a witness, and the verdict is **refuted**. Or the
    *list* is too weak: then the proof does not close, and the report says what is left, term by term. The lemma may still be
    true. You will see both.
    """),
            how_to_answer(),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    def box(found):
        """What a check says, as it prints it; green for proved, red for refuted."""
        text = repr(found)
        colour = (
            "danger" if "refuted:" in text or ": refuted" in text else "success" if "broken" not in text else "warn"
        )
        return mo.callout(mo.Html(f"<pre style='white-space:pre-wrap;margin:0'>{escape(text)}</pre>"), colour)

    def ask(claim, **about):
        """`ft.check` of a claim, if there is one yet, as a box."""
        if claim is ... or claim is None:
            return mo.md("*Nothing to check yet.*")
        try:
            return box(ft.check(claim, **about))
        except Exception as error:  # whatever is written, the lesson goes on
            return mo.callout(mo.md(f"`{type(error).__name__}: {error}`"), "warn")

    _WORDS = {
        "grad F_m[": r"\nabla F_m[",
        "grad F[": r"\nabla F[",
        "sum_C": r"\textstyle\sum_m",
        "sum_I": r"\textstyle\sum_k",
        "sum_J": r"\textstyle\sum_j",
        "x_next": "x^+",
        "F*": "F^*",
    }

    def _typeset(vectors):
        """A product of vectors, as the report writes it, in LaTeX."""
        for word, written in _WORDS.items():
            vectors = vectors.replace(word, written)
        return re.sub(r"\*\*(\d)", r"^\1", vectors).replace("[", "(").replace("]", ")").replace(")*", r")\,")

    def left_over(report):
        """The terms that a proof leaves over, as a table; a text if there are none."""
        (one,) = report.checked
        said = [verdict.says for evidence, verdict in one.verdicts if str(evidence.kind) == "ledger"]
        found = re.search("left over: (.*)", said[0], re.DOTALL)
        if not found:
            return mo.md("*No term is left over.*")
        rows = []
        for term in found.group(1).split("; "):
            coefficient, vectors = term.split(" * ", 1)
            factor = sympy.latex(sympy.sympify(coefficient)).replace(r"\eta_{tilde}", r"\tilde\eta")
            rows.append(f"| ${factor}$ | ${_typeset(vectors)}$ |")
        return mo.md("| factor | times |\n|:--|:--|\n" + "\n".join(rows))

    return ask, box, left_over


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## A sentence, and an inequality

    A paper says: *"Let $f$ be convex and $L$-smooth. Then $f(x)-f(y)-\langle\nabla f(y),x-y\rangle\ge\frac1{2L}\|\nabla
    f(x)-\nabla f(y)\|^2$ for all $x$ and $y$."* In Python it has the same parts: points, a function of a class, values,
    gradients, inner products (`dot`) and squared norms (`norm2`).
    """)
    return


@app.cell
def _(box):
    x, y = ft.points("x y")
    f = ft.function("f", smooth="L", convex=True)

    bregman = f(x) - f(y) - f.grad(y).dot(x - y)
    box(ft.check(bregman >= (f.grad(x) - f.grad(y)).norm2 / (2 * f.L)))
    return bregman, f, x, y


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    *proved* means: for all points, all functions of the class, in every dimension. The second line is the proof. The difference of
    the two sides is a sum of known inequalities, each times a number $\ge0$, and of squares.

    Now the first way to fail. Somebody forgets the 2 in the denominator:
    """)
    return


@app.cell
def _(box, bregman, f, x, y):
    box(ft.check(bregman >= (f.grad(x) - f.grad(y)).norm2 / f.L))
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    *refuted* comes with a witness: a function and two points. Put them into both sides, and you see that the inequality fails.
    You need no trust in the program.

    **Exercise 14.1.** Write this sentence: *"The gradient of a convex $L$-smooth function is co-coercive: the inner product of
    $\nabla f(x)-\nabla f(y)$ and $x-y$ is at least $1/L$ times the squared norm of $\nabla f(x)-\nabla f(y)$."* Use `f`, `x`
    and `y` of the cell above. The box below your cell shows what `ft.check` says.
    """)
    return


@app.cell
def _(f, x, y):
    # student: claim = ...  # your turn: an inequality with >= or <=
    # solution
    change = f.grad(x) - f.grad(y)
    claim = change.dot(x - y) >= change.norm2 / f.L
    # end
    return (claim,)


@app.cell(hide_code=True)
def _(ask, claim, f, x, y):
    def _which():
        """Whether it is the sentence, or another one; the sentence times L will do."""
        if claim is ... or claim is None:
            return ...
        change = f.grad(x) - f.grad(y)
        wanted, room = change.dot(x - y) - change.norm2 / f.L, claim.gts - claim.lts
        same = any(
            all(ft.check(one).status == "proved" for one in (room >= factor * wanted, room <= factor * wanted))
            for factor in (1, f.L)
        )
        return f"{'the' if same else 'another'} sentence: {ft.check(claim).status}"

    answer_1 = check(
        "14.1",
        _which,
        "the sentence: proved",
        at=[()],
        hint="The left side is a `dot` of two differences. The right side is a `norm2` divided by `f.L`. Write one factor at a time.",
    )
    mo.vstack([ask(claim), answer_1])
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The best constant, by trial

    One gradient step with the step size $a/L$, $0<a\le1$, on a convex $L$-smooth function with the minimiser $x^*$. Textbooks
    have a bound of the form

    $$f\big(x-\tfrac aL\nabla f(x)\big)-f(x^*)\le c\,L\,\|x-x^*\|^2,\qquad c=\frac1{2a}.$$

    Is there a smaller $c$? Ask: every *proved* says that the best $c$ is not larger, every *refuted* that it is not smaller.
    """)
    return


@app.cell
def _(f, x):
    def after_one_step(a, c):
        """The bound after one gradient step of size a/L."""
        star = f.minimiser
        return f(x - a / f.L * f.grad(x)) - f(star) <= c * f.L * (x - star).norm2

    return (after_one_step,)


@app.cell(hide_code=True)
def _():
    pick_a = mo.ui.slider(steps=[0.25, 0.5, 1.0], value=1.0, label="$a$", show_value=True)
    pick_c = mo.ui.slider(1, 60, 1, value=30, label="$c$ in sixtieths", show_value=True)
    mo.hstack([pick_a, pick_c], justify="start", wrap=True)
    return pick_a, pick_c


@app.cell(hide_code=True)
def _(after_one_step, ask, pick_a, pick_c):
    _c = Rational(pick_c.value, 60)
    mo.vstack(
        [
            mo.md(rf"$a={pick_a.value:g}$, $c={sympy.latex(_c)}$:"),
            ask(after_one_step(Rational(str(pick_a.value)), _c)),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 14.2.** Find the best $c$ for the three $a$ of the slider. Then guess it as a function of $a$. The check bisects
    with `ft.check`, and allows 1 %.
    """)
    return


@app.cell
def _():
    def best_constant(a):
        # student: return ...  # your turn
        # solution
        return 1 / (4 * a + 2)
        # end

    return (best_constant,)


@app.cell(hide_code=True)
def _(after_one_step, best_constant):
    def _bisection(a):
        low, high = Rational(0), Rational(1)
        for _ in range(9):
            middle = (low + high) / 2
            proved = ft.check(after_one_step(Rational(str(a)), middle)).status == "proved"
            low, high = (low, middle) if proved else (middle, high)
        return float(high)

    answer_2 = check(
        "14.2",
        best_constant,
        _bisection,
        at=[(1.0,), (0.5,), (0.2,)],
        tolerance=0.01,
        hint=r"Look at $1/c$ for the three values of $a$. By how much does it grow when $a$ grows?",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _(answer_2, ask, after_one_step):
    _below = Rational(33, 200)
    mo.vstack(
        [
            after(
                answer_2,
                rf"The machine proves the best constant, and refutes one that is a little smaller, here {_below} for $a=1$:",
                ask(after_one_step(1, _below)),
            ),
            mo.md(
                "Look at a witness just below the best constant. **Write in two or three sentences:** which function is it? Why "
                "can no machine, and nobody, prove a smaller constant? Is $f(x)=\\frac h2x^2$ as bad for $a=1$?"
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    # student: mo.md("*Write your answer here.*")
    # solution
    mo.md(r"""
    *Solution.* It is a parabola around its minimiser, and goes on as a straight line. The point $x$ lies on the line and comes to
    the line again, so that the gradient is as small as it can be at this distance. The function belongs to the class. Hence a
    smaller constant is false, and a false inequality has no proof. A parabola is better: with curvature $h=L$ one step ends at
    the minimiser, and with a smaller $h$ the gap $\frac h2(1-\frac hL)^2\|x\|^2$ is smaller than that of the witness.
    """)
    # end
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## A lemma about a round

    A lemma of a paper on federated optimisation is about a round of its algorithm. Here is a small one: $M$ clients send one
    stochastic gradient each, and the server takes a step against their mean. The paper says:

    > **Lemma 1.** *Let every $F_m$ be $L$-smooth, and $F$ bounded below. Let stochastic gradients be unbiased, with a variance of at
    > most $\sigma^2$, independent across clients. If $\eta\le1/L$, then*
    >
    > $$\mathbb EF(x^+)-F^*\le F(x)-F^*-\frac\eta2\|\nabla F(x)\|^2+\frac{L\eta^2\sigma^2}{2M}.$$

    First the algorithm, as code: the lemma will be about this code.
    """)
    return


@app.cell
def _():
    @dataclass(frozen=True)
    class SGD(LocalSteps):
        """x = x - eta times the mean of the clients' stochastic gradients."""

        def round(self, problem, x, eta, draws, watch, memory):
            clients = everyone(problem)
            g = problem.gradient(to_clients(x, problem.M), clients, draws.of(clients, 1).step(0))
            return x - eta * g.mean(axis=2)

    return (SGD,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Then the paper. Each part of the sentence has its place: `claim`, `when` (conditions), `given` (assumptions). `by` is the
    proof, as a list: what one has to *use*, in any order. The machine finds how often each is used, and with which factor.

    | in the paper | here |
    |:--|:--|
    | $F(x)-F^*$ before and after the round | `gap`, `gap.next` |
    | $\|x-x^*\|^2$ before and after | `dist2`, `dist2.next` |
    | $\|\nabla F(x)\|^2$ | `grad_sq` |
    | mean distance $\|y-x\|^2$ of the clients in a round | `drift` |
    | every $F_m$ is $L$-smooth; convex | `smooth`; `convex` |
    | unbiased, variance at most $\sigma^2$; independent, too | `noise`; `noise.independent` |
    | $\|v_1+\dots+v_k\|^2\le k\,(\|v_1\|^2+\dots+\|v_k\|^2)$ | `jensen` |
    | $2\langle u,v\rangle\le s\|u\|^2+\|v\|^2/s$ for a noise $u$ and the rest $v$ | `young(s)` |
    """)
    return


@app.cell
def _(SGD, box):
    p = paper("first", "My first paper", step=K * eta)
    p.algorithm(partial(SGD, K=1))
    p.lemma(
        gap.next <= gap - eta / 2 * grad_sq + L * eta**2 * sigma**2 / (2 * M),
        when=eta <= 1 / L,
        given=[smooth, bounded_below, noise.independent],
        by=[smooth, noise.independent],
    )
    box(p.check())
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    *proved* here means: for all functions, all clients, in every dimension. The form of the round comes from the code, run for up
    to three clients. The same report has searched for counter-examples. If you had forgotten the proof, the verdict would be
    *tested*, and no more.

    **Exercise 14.3.** The next lemma of that paper, about the same algorithm:

    > **Lemma 2.** *Let every $F_m$ be $L$-smooth and convex. Let stochastic gradients be unbiased, with a variance of at most
    > $\sigma^2$, independent across clients. If $\eta\le1/(2L)$, then*
    >
    > $$\mathbb E\|x^+-x^*\|^2\le\|x-x^*\|^2-\eta\,(F(x)-F^*)+\frac{\eta^2\sigma^2}{M}.$$

    Write it, with its proof. The function gets a paper that has the algorithm already. It returns what `lemma` returns.
    """)
    return


@app.cell
def _():
    def lemma_2(p):
        # student: return ...  # your turn: p.lemma(CLAIM, when=CONDITION, given=[...], by=[...])
        # solution
        return p.lemma(
            dist2.next <= dist2 - eta * gap + eta**2 * sigma**2 / M,
            when=eta <= 1 / (2 * L),
            given=[smooth, convex, noise.independent],
            by=[smooth, convex, noise.independent],
        )
        # end

    return (lemma_2,)


@app.cell(hide_code=True)
def _():
    _number = count(1)

    def paper_on(algorithm):
        """A new paper on an algorithm."""
        made = paper(f"mine{next(_number)}", step=K * eta)
        made.algorithm(algorithm)
        return made

    def attempt(lemma, algorithm):
        """A statement that a function writes, and the report on it; what it raises; or `...` if it writes none yet."""
        made = paper_on(algorithm)
        try:
            said = lemma(made)
            return said if said is ... or said is None else (said, made.check(said))
        except Exception as error:  # whatever a function does, the lesson goes on
            return error

    def ledger_of(report):
        """What the proof came to."""
        (one,) = report.checked
        return next((str(v.status) for evidence, v in one.verdicts if str(evidence.kind) == "ledger"), "no proof")

    return attempt, ledger_of, paper_on


@app.cell(hide_code=True)
def _(SGD, attempt, box, lemma_2):
    _attempt = attempt(lemma_2, partial(SGD, K=1))

    def _verdict():
        if isinstance(_attempt, Exception):
            raise _attempt
        if not isinstance(_attempt, tuple):
            return _attempt
        said, report = _attempt
        wanted = dist2 - eta * gap + eta**2 * sigma**2 / M
        if said.claim.quantity != dist2.next or sympy.simplify(said.claim.value - wanted) != 0:
            return "another claim"
        if {sympy.simplify(c.relation.gts / c.relation.lts) for c in said.when} != {1 / (2 * L * eta)}:
            return "another condition"
        if {one.partition(".")[2] for one in map(str, said.assumes)} != {"smooth", "convex", "noise_independent"}:
            return "other assumptions"
        (one,) = report.checked
        return str(one.status)

    answer_3 = check(
        "14.3",
        _verdict,
        "proved",
        at=[()],
        hint="Begin with the call of Lemma 1, and change one part after the other: the claim, `when`, `given`. The list needs every assumption that your proof on paper would use.",
    )
    mo.vstack([box(_attempt[1]) if isinstance(_attempt, tuple) else mo.md("*No lemma yet.*"), answer_3])
    return (answer_3,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## A list that does not close

    Now the second way to fail. Choose what the list of Lemma 1 has. With all assumptions given, the lemma is the same, and true.
    """)
    return


@app.cell(hide_code=True)
def _():
    lists = {
        "smooth, noise.independent": [smooth, noise.independent],
        "noise.independent": [noise.independent],
        "smooth": [smooth],
        "smooth, noise": [smooth, noise],
    }
    givens = {
        "all assumptions": [smooth, bounded_below, noise.independent],
        "all but independence": [smooth, bounded_below, noise],
        "all but smoothness": [bounded_below, noise.independent],
    }
    pick_list = mo.ui.dropdown(list(lists), value="noise.independent", label="by")
    pick_given = mo.ui.dropdown(list(givens), value="all assumptions", label="given")
    mo.hstack([pick_list, pick_given], justify="start", wrap=True)
    return givens, lists, pick_given, pick_list


@app.cell(hide_code=True)
def _(SGD, box, givens, left_over, lists, paper_on, pick_given, pick_list):
    _made = paper_on(partial(SGD, K=1))
    _made.lemma(
        gap.next <= gap - eta / 2 * grad_sq + L * eta**2 * sigma**2 / (2 * M),
        when=eta <= 1 / L,
        given=givens[pick_given.value],
        by=lists[pick_list.value],
    )
    _report = _made.check()
    mo.vstack([box(_report), left_over(_report)])
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Read it as a bill. The claim is on one side, what the list pays is on the other, and the table has the rest.

    - *Function values left over*, such as $F(x^+)$: nothing in the list leads from function values to gradients.
    - *A stochastic gradient $g$ left over*: nothing says what its mean and its variance are.
    - *claimed X, derived Y*: the list closes, with another constant. Compare the two. With `noise` instead of `noise.independent`
      the factor $1/M$ is lost.

    Note the first line. The verdict is *tested*: nothing contradicts the lemma. The **proof** is broken, not the lemma.

    Then take an assumption out of *given*, with the complete list. The list now uses a property that the lemma does not have,
    and the report names it. Here the lemma is false, too. The witness says why: with *noise = shared* all clients have the same
    noise, and averaging does not help.

    Next, an algorithm with local steps. Client $m$ corrects its stochastic gradient $g_m$ by an anchor, so that at $x$ it takes
    the step of all clients:
    """)
    return


@app.cell
def _():
    @dataclass(frozen=True)
    class FedAnchor(LocalSteps):
        """y = y - eta (g_m(y) - grad F_m(x) + grad F(x)), K times; then the mean."""

        def round(self, problem, x, eta, draws, watch, memory):
            clients, y = everyone(problem), to_clients(x, problem.M)
            anchor = problem.local_gradient(y, clients)
            draw, shift = draws.of(clients, self.K), anchor.mean(axis=2)[:, :, None] - anchor
            for k in range(self.K):
                watch(y)
                y = y - eta[..., None] * (problem.gradient(y, clients, draw.step(k)) + shift)
            return y.mean(axis=2)

    return (FedAnchor,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    With $\tilde\eta=K\eta$ (`h`) its lemma is:

    > **Lemma 3.** *Let every $F_m$ be $L$-smooth. Let stochastic gradients be unbiased, with a variance of at most $\sigma^2$. If
    > $\tilde\eta\le1/(3L)$, then the drift of a round is at most $6\tilde\eta^2\sigma^2/K+6\tilde\eta^2\|\nabla F(x)\|^2$.*

    The list `[smooth, noise]` looks complete, because the lemma has no other assumption. It does not close:
    """)
    return


@app.cell
def _(FedAnchor, box, left_over, paper_on):
    def lemma_3(algorithm, by, b=6, when=h <= 1 / (3 * L)):
        """The report on Lemma 3 of an algorithm, with a proof, and b in place of the second 6."""
        made, number = paper_on(algorithm), Rational(str(b))
        bound = 6 * h**2 * sigma**2 / K + number * h**2 * grad_sq
        made.lemma(drift <= bound, when=when, given=[smooth, noise], by=by)
        return made.check()

    _report = lemma_3(FedAnchor, [smooth, noise])
    mo.vstack([box(_report), left_over(_report)])
    return (lemma_3,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Here $k$ is the number of steps so far, and $\sum_j$ is a sum over them. A local point is $x$ minus a sum of $k$ vectors.

    **Exercise 14.4.** Repair the list. The table of notation above has all that there is. What has to happen to the square of a
    sum?
    """)
    return


@app.cell
def _():
    # student: full_list = ...  # your turn: a list
    # solution
    full_list = [smooth, noise, jensen]
    # end
    return (full_list,)


@app.cell(hide_code=True)
def _(FedAnchor, box, ledger_of, lemma_3, left_over, full_list):
    try:
        report_4 = ... if full_list is ... or full_list is None else lemma_3(FedAnchor, full_list)
    except Exception as _error:  # whatever is in the list, the lesson goes on
        report_4 = _error

    def _ledger():
        if isinstance(report_4, Exception):
            raise report_4
        return report_4 if report_4 is ... else ledger_of(report_4)

    answer_4 = check(
        "14.4",
        _ledger,
        "proved",
        at=[()],
        hint="The claim has squares of single gradients. The table has products of two different gradients. One inference of the table of notation turns the square of a sum into squares.",
    )
    _shown = (
        mo.md("*No list yet.*")
        if report_4 is ... or isinstance(report_4, Exception)
        else mo.vstack([box(report_4), left_over(report_4)])
    )
    mo.vstack([_shown, answer_4])
    return (answer_4,)


@app.cell(hide_code=True)
def _(answer_4):
    mo.vstack(
        [
            after(
                answer_4,
                r"""
    `smooth` and `noise` are assumptions of the lemma. `jensen` is an inference. It needs no assumption, so that no lemma names
    it. Written proofs often use it without a word ("by convexity of the squared norm").
    """,
            ),
            mo.md(r"""
    ## A lemma that no list proves

    Take the anchor away. FedAvg (PFL here) has local steps $y\leftarrow y-\eta\,g_m(y)$. Somebody copies Lemma 3, with the
    complete proof, to FedAvg:
    """),
        ]
    )
    return


@app.cell
def _(box, left_over, lemma_3, full_list):
    if full_list is ... or full_list is None:
        transfer = mo.md("*Comes after Exercise 14.4: it uses your list.*")
    else:
        try:
            _report = lemma_3(PFL, full_list)
            transfer = mo.vstack([box(_report), left_over(_report)])
        except Exception as _error:  # whatever is in the list, the lesson goes on
            transfer = mo.md(f"`{_error}`")
    transfer
    return


@app.cell(hide_code=True)
def _():
    question_5 = choice(
        "**Exercise 14.5.** What repairs this lemma?",
        [
            "a smaller step size, a tenth of what it is",
            "independent noise, and young(2), in the list",
            "a term with the clients' own gradients in the bound",
        ],
        # solution
        value="a term with the clients' own gradients in the bound",
        # end
    )
    mo.vstack([question_5])
    return (question_5,)


@app.cell(hide_code=True)
def _(lemma_3, question_5):
    _tried = {
        "a smaller step size, a tenth of what it is": lemma_3(PFL, [smooth, noise, jensen], when=h <= 1 / (30 * L)),
        "independent noise, and young(2), in the list": lemma_3(PFL, [smooth, noise.independent, jensen, young(2)]),
    }
    _false = [told for told, report in _tried.items() if str(report.checked[0].status) == "refuted"]
    answer_5 = check(
        "14.5",
        question_5.value,
        "a term with the clients' own gradients in the bound" if len(_false) == len(_tried) else None,
        hint="Look at the witness: its mean gradient is zero at the point. Where does each client go from there? Then compare with what is left over.",
    )
    answer_5
    return (answer_5,)


@app.cell(hide_code=True)
def _(answer_5):
    mo.vstack(
        [
            after(
                answer_5,
                r"""
    In the witness $\nabla F(x)=0$ and there is no noise, so the bound is 0. The clients still move, each to its own minimiser. The
    claim is false, and a false claim has no proof. What is left over says it, too: $\|\nabla F_m(x)\|^2$, which
    $\|\nabla F(x)\|^2$ does not bound. Papers add an assumption on the heterogeneity of the clients here. So a remainder is
    useful in both cases: it names the missing inference, or the missing term.
    """,
            ),
            mo.md(r"""
    ## Plant an error

    Trust a check only after you have seen it fail. Lemma 3 of FedAnchor with the number $b$ in place of the second 6:

    $$\mathcal E\le\frac{6\tilde\eta^2\sigma^2}K+b\,\tilde\eta^2\|\nabla F(x)\|^2.$$

    **Exercise 14.6.** Find two smaller $b>0$ by trial. One makes the lemma *false*: the report has a witness. One breaks *only
    the proof*: the report says *claimed ... derived ...*, and nothing refutes the lemma.
    """),
        ]
    )
    return


@app.cell
def _():
    # student: false_b, unproved_b = ..., ...  # your turn: two numbers
    # solution
    false_b, unproved_b = 0.1, 1
    # end
    return false_b, unproved_b


@app.cell(hide_code=True)
def _(FedAnchor, box, false_b, ledger_of, lemma_3, unproved_b):
    def _tried(b):
        """The report with this number, what it raises, or `...`."""
        if b is ... or b is None:
            return ...
        try:
            if not 0 < float(b) < 6:
                raise ValueError(f"b = {b}: expected a number between 0 and 6")
            return lemma_3(FedAnchor, [smooth, noise, jensen], b)
        except Exception as error:  # whatever is written, the lesson goes on
            return error

    _reports = [_tried(b) for b in (false_b, unproved_b)]

    def _word(report):
        if isinstance(report, Exception):
            raise report
        status = str(report.checked[0].status)
        return status if status in ("refuted", "proved") else f"its proof is {ledger_of(report)}"

    def _words():
        return ... if any(report is ... for report in _reports) else " / ".join(_word(report) for report in _reports)

    answer_6 = check(
        "14.6",
        _words,
        "refuted / its proof is broken",
        at=[()],
        hint="Begin at 6 and halve. When the proof breaks, its message has the constant that the list derives. Go on until a witness comes.",
    )
    mo.vstack([*(box(one) for one in _reports if one is not ... and not isinstance(one, Exception)), answer_6])
    return (answer_6,)


@app.cell(hide_code=True)
def _(answer_6):
    mo.vstack(
        [
            after(
                answer_6,
                r"""
    Between the two numbers there is a gap: neither proved nor refuted. There the list is too weak, or the search too small. A
    better list makes the gap smaller from above, a larger search from below.
    """,
            ),
            mo.md(r"""
    ## From the lemma to the theorem

    A theorem about $R$ rounds has a list, too: lemmas, from the first to the last used, then inferences. `polyak` is
    $2\mu\,(F(x)-F^*)\le\|\nabla F(x)\|^2$ for a strongly convex $F$. `contract` goes from *next $\le q\cdot$ state $+$ noise* to
    the state after $R$ rounds. The second theorem has an error, on purpose.
    """),
        ]
    )
    return


@app.cell
def _(SGD, box, paper_on):
    whole = paper_on(partial(SGD, K=1))
    assumptions = [smooth, bounded_below, noise.independent]
    descent = whole.lemma(
        gap.next <= gap - eta / 2 * grad_sq + L * eta**2 * sigma**2 / (2 * M),
        "descent",
        when=eta <= 1 / L,
        given=assumptions,
        by=[smooth, noise.independent],
    )
    for _name, _divisor in (("right", 2), ("wrong", 4)):
        whole.theorem(
            gap.last <= (1 - mu * eta) ** R * Delta + L * eta * sigma**2 / (_divisor * mu * M),
            _name,
            when=eta <= 1 / L,
            given=[*assumptions, strongly_convex_mean],
            by=[descent, polyak, contract],
        )
    box(whole.check())
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **To take away.** (1) A sentence of a paper has a claim, conditions and assumptions; write each in its place. (2) *proved* has a
    certificate, *refuted* has a witness; you can check both by hand. (3) A best constant has both: a proof at it, and a witness
    just below. (4) A proof that does not close is no counter-example. Read what is left over: it names the missing inference,
    the missing assumption, or the missing term. (5) *claimed X, derived Y* says how far your constant is from what the list gives.
    (6) Plant an error before you trust a check.

    Now take a lemma of your own paper. `fedtheory new-paper NAME --path FOLDER` writes the files to begin with.
    """)
    return


@app.cell(hide_code=True)
def _(answer_1, answer_2, answer_3, answer_4, answer_5, answer_6):
    answers = [answer_1, answer_2, answer_3, answer_4, answer_5, answer_6]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
