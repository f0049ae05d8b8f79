import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="4. Checking a proof by machine")


with app.setup:
    from dataclasses import replace
    from itertools import permutations

    import marimo as mo
    import numpy as np
    import sympy
    from sympy import Ge, Le, Rational

    from course.lesson import after, check, choice, drawn, how_to_answer, put, regenerated, scaled, statement, told
    from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, RED
    from fedtheory.theory import catalogue
    from fedtheory.theory.notation import Bregman, Grad, Inner, Norm
    from fedtheory.theory.printing import latex
    from fedtheory.theory.proofs import enumeration, units
    from fedtheory.theory.proofs.argument import Argument
    from fedtheory.theory.proofs.arithmetic import NotPolynomial, decide, everywhere, implied
    from fedtheory.theory.proofs.ledger import Ledger
    from fedtheory.theory.proofs.mutation import mutations
    from fedtheory.theory.proofs.vectors import Point, certify, difference, point, smooth, smooth_convex, worst_case
    from fedtheory.theory.sfl.checks.ledgers import LANGUAGE, PROOFS
    from fedtheory.theory.statement import Condition, Verdict, at_most
    from fedtheory.verification import Checked, evidence


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 4. Checking a proof by machine: ledger, z3, SDP

    **About 120 minutes.** You need lesson 1, smooth and convex functions, and what a positive semidefinite matrix is.
    Afterwards you can

    - use five ways to check a proof (units, z3, ledgers, semidefinite programmes, exact enumeration) and say what each of
      them can and cannot decide;
    - write a short proof as a ledger, and find the step at which it breaks;
    - tell *broken* from *refuted*, *tested* from *proved*, and recognise *vacuous*;
    - test a check: change the claim until it fails.

    | verdict | when |
    |:---|:---|
    | **proved** | for every instance of the hypotheses, exactly |
    | **conditional** | proved if something is added that the paper does not list; it is named |
    | **tested** | no violation in a stated, finite family of instances, and no more |
    | **refuted** | there is a witness: an instance with the hypotheses and without the claim |
    | **broken** | a proof fails at a named step; its statement is not decided by that |
    | **vacuous** | nothing meets the hypotheses, so that every claim would follow |
    | **open** | nothing has decided it |
    """),
            how_to_answer(),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The cheapest check: units

    $\mathbf x$ is measured in some unit $X$, $F(\mathbf x)$ in some unit $F$. A gradient then has the dimension $F/X$, a
    smoothness constant $L$ has $F/X^2$, a learning rate $X^2/F$. Every term of a bound must have the dimension of its left
    side. This alone finds many lost factors $L$ and many wrong exponents.

    Theorem E.4 of the paper on compression, `fedcom.thmE4`, bounds a mean of squared gradient norms by nine terms. Here they
    are, as printed. Their dimensions are computed from those of the symbols.
    """)
    return


@app.cell(hide_code=True)
def _():
    _printed = catalogue.find("fedcom.thmE4")
    _symbols = catalogue.symbols(_printed)

    def _row(name, value):
        dimension = sympy.latex(units.dimension(value, _symbols)).replace("[x]", "X").replace("[F]", "F")
        return f"| {name.replace('_', ' ')} | ${latex('fedcom', value)}$ | ${dimension}$ |"

    _rows = [_row("**left side**", _printed.claim.quantity), *(_row(t.name, t.value) for t in _printed.claim.terms)]
    mo.md("| term | | dimension |\n|:---|:---|:---|\n" + "\n".join(_rows))
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            told(put("fedcom.thmE4", "units"), "units, as printed"),
            mo.md(r"""
    **Exercise 4.1.** The term *noise at start* has $L$ to the second power. With which power does it have the dimension of the
    left side? Work it out on paper: $\sigma$ has $F/X$; $\tau$ and $R$ are numbers.
    """),
        ]
    )
    return


@app.cell
def _():
    # student: power_of_L = ...  # your turn: a whole number
    # solution
    power_of_L = 3  # (X^2/F)^3 (F/X)^2 = X^4/F, which needs (F/X^2)^3 to become F^2/X^2
    # end
    return (power_of_L,)


@app.cell(hide_code=True)
def _(power_of_L):
    def _fitting():
        """The power of L in that term with which its units are right."""
        printed = catalogue.find("fedcom.thmE4")
        L = catalogue.symbols(printed)["L"].sympy
        for power in range(7):
            terms = tuple(
                replace(t, value=t.value / L**2 * L**power) if t.name == "noise_at_start" else t
                for t in printed.claim.terms
            )
            if units.check(printed.with_claim(replace(printed.claim, terms=terms))).status == "proved":
                return power
        return None

    answer_1 = check(
        "4.1",
        power_of_L,
        lambda: _fitting(),
        at=[()],
        hint=r"Write the dimension of each factor: $\sigma$ is $F/X$, the rest of the term as printed in the table. The left side is $F^2/X^2$. Which power of $L$, with $F/X^2$, makes them equal?",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Units see no pure numbers: a bound that is wrong by a factor 1000 has the right dimension. So equal units prove nothing
    about a statement, and in the catalogue a statement with nothing but equal units is *open*.

    ## z3: implications between polynomials

    Many steps of a proof only say that one coefficient is at most another one, under the conditions on the step size. That
    is an implication between polynomial inequalities in real numbers, and such implications can be *decided* (Tarski).
    The solver z3 does it. `decide(hypotheses, claim)` asks z3 for numbers that meet the hypotheses and violate the claim. If none
    exist, the claim is **proved**. If some exist, it is **refuted**, and they are shown, as fractions that sympy has checked.

    Take one gradient step $x^+=x-\eta g$ on an $L$-smooth function. The descent lemma gives
    $F(x^+)\le F(x)-\eta\|g\|^2+\tfrac L2\eta^2\|g\|^2$. Papers then write: *for $\eta\le c/L$ this is at most*
    $F(x)-a\,\eta\|g\|^2$.
    """)
    return


@app.cell(hide_code=True)
def _():
    c_step = mo.ui.slider(0.1, 2.0, 0.1, value=1.0, label=r"condition $\eta\le c/L$: $c$", show_value=True)
    a_step = mo.ui.slider(0.05, 1.0, 0.05, value=0.6, label="claimed decrease $a$", show_value=True)
    mo.hstack([c_step, a_step], justify="start", wrap=True)
    return a_step, c_step


@app.cell
def _(a_step, c_step):
    eta, L, mu, g = sympy.symbols("eta L mu g", positive=True)

    def descent(c, a):
        """The hypothesis, and the claim, of the descent step."""
        return [eta <= c / L], -eta * g**2 + L / 2 * eta**2 * g**2 <= -a * eta * g**2

    def as_verdict(decision):
        """What z3 decided, as a verdict that can be shown."""
        return Verdict(decision.status, decision.says, witness={s.name: str(v) for s, v in decision.model.items()})

    told(as_verdict(decide(*descent(Rational(str(c_step.value)), Rational(str(a_step.value))))), "z3")
    return L, as_verdict, descent, eta, mu


@app.cell(hide_code=True)
def _(a_step, c_step, descent):
    _grid = [(Rational(i, 4), Rational(j, 8)) for i in range(1, 9) for j in range(1, 9)]
    _decided = [implied(*descent(c, a)) for c, a in _grid]

    def _draw(axis):
        for yes, marker, colour, label in ((True, "o", GREEN, "z3: proved"), (False, "x", RED, "z3: not implied")):
            chosen = [(float(c), float(a)) for (c, a), found in zip(_grid, _decided, strict=True) if found is yes]
            axis.plot(*np.array(chosen).T, marker, color=colour, ms=5, label=label)
        axis.plot(c_step.value, a_step.value, "s", mfc="none", mec=BLACK, ms=11, label="your setting")
        axis.set(
            xlabel=r"$c$ in the condition $\eta\leq c/L$", ylabel="claimed decrease $a$", ylim=(0, 1.08), xlim=(0, 2.1)
        )
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn(_draw, width=6.5, height=3.0)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Every mark is a decision about *all* $\eta$, $L$ and $\|g\|$ at once, not a sample.

    **Exercise 4.2.** Which is the largest true $a$, as a function of $c$? The check bisects, and z3 decides each time.
    """)
    return


@app.cell
def _():
    def largest_decrease(c):
        # student: return ...  # your turn
        # solution
        return 1 - c / 2  # -eta + L eta^2/2 <= -a eta, worst at eta = c/L
        # end

    return (largest_decrease,)


@app.cell(hide_code=True)
def _(descent, largest_decrease):
    def last_true(holds, low, high, rounds=8):
        """The last point of [low, high] at which something holds, by bisection in fractions."""
        low, high = Rational(low), Rational(high)
        for _ in range(rounds):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return float(low)

    def _bisected(c):
        return last_true(lambda a: implied(*descent(Rational(str(c)), a)), -1, 2)

    answer_2 = check(
        "4.2",
        largest_decrease,
        _bisected,
        at=[(0.5,), (1.0,), (1.7,)],
        tolerance=1.5e-2,
        hint=r"Divide the claim by $\eta\|g\|^2$: $1-\tfrac L2\eta\ge a$. For which admissible $\eta$ is the left side smallest?",
    )
    answer_2
    return answer_2, last_true


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ### What z3 cannot decide

    - **Whole numbers.** That a count such as $K$ or $M$ is an integer makes the problem undecidable in general. Here integers
      are relaxed to reals $\ge1$. What is proved for those holds for the integers; a counter-model counts only if its integers
      are integers.
    - **Exponentials and logarithms.** They are no polynomials, and `decide` refuses them. A fact about them is proved separately,
      by interval arithmetic or a derivative, and then named as a hypothesis.
    - **Contradictory hypotheses.** From those everything follows. `decide` looks for them first and says **vacuous**.
    """)
    return


@app.cell
def _(as_verdict, eta):
    u = sympy.Symbol("u", real=True)
    tangent = sympy.exp(-u) >= 1 - u

    try:
        refused = str(decide([], tangent))
    except NotPolynomial as error:
        refused = str(error)

    mo.vstack(
        [
            mo.md(rf"`decide([], exp(-u) >= 1 - u)` raises: *{refused}*."),
            told(as_verdict(everywhere(tangent, u, Rational(1, 10), 2)), "interval arithmetic, u from 1/10 to 2"),
            told(
                as_verdict(everywhere(tangent, u, 0, 2, pieces=1000)),
                "interval arithmetic, u from 0, where both sides are equal",
            ),
            told(as_verdict(decide([eta <= 1, eta >= 2], eta >= 100)), "eta <= 1 and eta >= 2 imply eta >= 100"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    question_3 = choice(
        r"**Exercise 4.3.** $n\ge1$ is an integer. The claim is $(n-1)(n-2)\ge0$. What does `decide([], (n-1)*(n-2) >= 0)` say?",
        ["proved", "refuted", "open", "vacuous"],
        # solution
        value="open",
        # end
    )
    mo.vstack([question_3])
    return (question_3,)


@app.cell(hide_code=True)
def _(question_3):
    _n = sympy.Symbol("n", integer=True, positive=True)
    answer_3 = check(
        "4.3",
        question_3.value,
        str(decide([], (_n - 1) * (_n - 2) >= 0).status),
        hint="Read the first point of the list above: what does the solver do with integers, and when does a counter-model count? Try the claim at $n=3/2$.",
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
    The claim is true for every integer and false for $n=3/2$. `decide` takes integers for reals. So it cannot tell, and it says
    so.
    """,
            ),
            mo.md(r"""
    ## A ledger: a proof as steps, each decided

    A convergence proof works with sums of a few quantities: $\|x-x^*\|^2$, $F(x)-F(x^*)$, $\|g\|^2$, $\sigma^2$. Call them
    *atoms*. A ledger keeps the coefficient of every atom. A step replaces an atom by a bound on it; at the end the derived
    coefficients must be at most the claimed ones, and z3 decides each.

    Here is one, complete: a step $x^+=x-\eta g$, $g=\nabla F(x)$, of gradient descent on an $L$-smooth and $\mu$-strongly
    convex function, with $\eta\le c/L$.

    1. *Expand*: $\|x^+-x^*\|^2=\|x-x^*\|^2-2\eta\langle g,x-x^*\rangle+\eta^2\|g\|^2$.
    2. *Strong convexity*: $\langle g,x-x^*\rangle\ge F(x)-F(x^*)+\tfrac\mu2\|x-x^*\|^2$.
    3. *Smoothness*: $\|g\|^2\le 2L\,(F(x)-F(x^*))$.
    4. *Collect*: the sum is at most $(1-a\,\eta\mu)\|x-x^*\|^2-b\,\eta\,(F(x)-F(x^*))$.
    """),
        ]
    )
    return


@app.cell
def _(L, eta, mu):
    dist2, gap, grad2 = sympy.symbols("dist2 gap grad2", nonnegative=True)
    inner = sympy.Symbol("inner", real=True)

    def one_step(c, a, b, smoothness=2):
        """The proof as a ledger.  `smoothness` is the factor of step 3."""
        ledger = Ledger([eta <= c / L, mu <= L])
        expanded = dist2 - 2 * eta * inner + eta**2 * grad2
        p, q = sympy.symbols("p q", real=True)  # x - x* and g, on the line: an identity of inner products
        on_line = expanded.subs({dist2: p**2, inner: p * q, grad2: q**2}, simultaneous=True)
        ledger.equal("1 expand", (p - eta * q) ** 2, on_line)
        convex = at_most(-2 * eta * inner, gap=-2 * eta * gap, curvature=-eta * mu * dist2)
        value = ledger.apply("2 strong convexity", expanded, inner, convex)
        value = ledger.apply("3 smoothness", value, grad2, at_most(grad2, gap=smoothness * L * gap))
        ledger.at_most("4 collect", value, (1 - a * eta * mu) * dist2 - b * eta * gap, [dist2, gap])
        return ledger, sympy.collect(sympy.expand(value), [dist2, gap])

    derived = one_step(1, 1, 0)[1]
    return derived, dist2, gap, one_step


@app.cell(hide_code=True)
def _(derived, dist2, gap):
    _names = {dist2: r"\|x-x^*\|^2", gap: r"\bigl(F(x)-F(x^*)\bigr)"}
    mo.md(rf"""
    The first three steps derive ${sympy.latex(derived, symbol_names=_names)}$.
    Now claim something and see whether the last step goes through. The dropdown changes a *premise*.
    """)
    return


@app.cell(hide_code=True)
def _():
    c_ledger = mo.ui.slider(0.1, 1.5, 0.05, value=0.5, label=r"condition $\eta\le c/L$: $c$", show_value=True)
    a_ledger = mo.ui.slider(0.5, 1.5, 0.1, value=1.0, label="contraction $a$", show_value=True)
    b_ledger = mo.ui.slider(0.0, 2.0, 0.05, value=1.0, label="progress $b$", show_value=True)
    premise = mo.ui.dropdown(
        {"2 L gap, as it should be": 2, "4 L gap, weaker": 4, "1 L gap, which is false": 1},
        value="2 L gap, as it should be",
        label="step 3 takes |g|^2 to be at most",
    )
    mo.vstack([mo.hstack([c_ledger, a_ledger, b_ledger], justify="start", wrap=True), premise])
    return a_ledger, b_ledger, c_ledger, premise


@app.cell(hide_code=True)
def _(a_ledger, b_ledger, c_ledger, one_step, premise):
    _ledger, _ = one_step(*(Rational(str(w.value)) for w in (c_ledger, a_ledger, b_ledger)), premise.value)
    _rows = "\n".join(f"| {s.name} | {s.decision.status} | {s.decision.says} |" for s in _ledger.steps)
    _c, _a, _b = c_ledger.value, a_ledger.value, b_ledger.value
    _left, _right = (1 - _c) ** 2, 1 - _a * _c - _b * _c / 2
    mo.vstack(
        [
            mo.md("| step | decided | how |\n|:---|:---|:---|\n" + _rows),
            told(_ledger.verdict(), "the ledger"),
            mo.md(
                rf"One instance of the claim: $F(x)=\tfrac12x^2$, $L=\mu=1$, $\eta=c$, $x=1$. Left side {_left:.4g}, right side "
                rf"{_right:.4g}: there the claim is **{'true' if _left <= _right + 1e-12 else 'false'}**."
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Steps 2 and 3 only substitute. The signs of the coefficients are known, so there is nothing to decide. After a step that
    fails, later steps are not decided. *Room* is the factor by which a coefficient could be tighter before the step breaks
    (between 1 and 16; 16 means 16 or more). Choose the false premise and $c=0.5$, $a=1$, $b=1.5$. The ledger goes through, and
    the instance shows that the claim is false. **A ledger proves no more than its premises**. That is why each ledger of the
    catalogue names the statements that it uses, and why a proof that rests on a refuted statement counts as broken.

    **Exercise 4.4.** Take $a=1$ and the true premise. Which is the largest $b$ for which this proof goes through, as a function
    of $c$?
    """)
    return


@app.cell
def _():
    def largest_progress(c):
        # student: return ...  # your turn: look at the coefficient of the gap
        # solution
        return 2 - 2 * c  # -2 eta + 2 L eta^2 <= -b eta, worst at eta = c/L
        # end

    return (largest_progress,)


@app.cell(hide_code=True)
def _(largest_progress, last_true, one_step):
    def _bisected(c):
        def goes_through(b):
            steps = one_step(Rational(str(c)), 1, b)[0].steps
            return all(step.decision.status == "proved" for step in steps)

        return last_true(goes_through, -1, 2)

    answer_4 = check(
        "4.4",
        largest_progress,
        _bisected,
        at=[(0.25,), (0.5,), (1.25,)],
        tolerance=1.5e-2,
        hint=r"The gap has the coefficient $-2\eta+2L\eta^2$. It must be at most $-b\,\eta$ for every admissible $\eta$.",
    )
    answer_4
    return (answer_4,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ## A ledger of the catalogue

    Lemma 5 of the paper on sequential federated learning has the same kind of proof, for $S$ of $M$ clients with $K$ noisy local
    steps each. It expands, uses Lemma 2 for the inner products, and splits the squared norm in four terms.
    """),
            statement("sfl.lemma5"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    part = mo.ui.dropdown(
        ["contraction", "noise", "sampling", "progress", "drift"], value="drift", label="change the term"
    )
    times = mo.ui.slider(0.5, 2.0, 0.1, value=0.9, label="by the factor", show_value=True)
    bar = mo.ui.slider(2.0, 12.0, 0.5, value=6.0, label=r"condition $\eta\le 1/(c\,KLS)$: $c$", show_value=True)
    mo.vstack([mo.hstack([part, times], justify="start", wrap=True), bar])
    return bar, part, times


@app.cell(hide_code=True)
def _(bar, part, times):
    def with_condition(changed, c):
        """Lemma 5, or what it was changed to, for eta <= 1/(c K L S)."""
        K, L_, S, eta_ = (catalogue.symbols(changed)[name].sympy for name in ("K", "L", "S", "eta"))
        return replace(changed, when=(Condition(eta_ <= 1 / (Rational(str(c)) * K * L_ * S)), *changed.when[1:]))

    _changed = with_condition(scaled("sfl.lemma5", Rational(str(times.value)), part.value), bar.value)
    mo.vstack([told(put("sfl.lemma5", kind, _changed), kind) for kind in ("ledger", "search")])
    return (with_condition,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The ledger says which atom's coefficient fails, what was claimed, what was derived, and for which numbers the derived one is
    larger. These numbers are a witness against the *proof*. The search has exact instances of the *statement*: small federations
    of quadratics. With the drift term times 0.9 the proof breaks and no instance refutes the lemma;
    with the contraction times 0.9 one does.

    **Exercise 4.5.** The printed condition has $c=6$. Leave all terms unchanged. Which is the smallest whole number $c$ for which
    the printed proof goes through?
    """)
    return


@app.cell
def _():
    # student: smallest_c = ...  # your turn
    # solution
    smallest_c = 6  # gap: 8 eta K L S <= 4/3, and drift: 4 eta K L S <= 2/3, both eta <= 1/(6 K L S): the 6 is exact
    # end
    return (smallest_c,)


@app.cell(hide_code=True)
def _(smallest_c, with_condition):
    def _smallest():
        for c in range(12, 0, -1):
            proof = Argument(with_condition(catalogue.find("sfl.lemma5"), c), LANGUAGE)
            PROOFS["lemma5"](proof)
            if proof.verdict().status != "proved":
                return c + 1
        return 1

    answer_5 = check(
        "4.5",
        smallest_c,
        lambda: _smallest(),
        at=[()],
        hint="Move the slider of the condition with all factors at 1, and look at the box of the ledger only. Is there any room left in the printed condition?",
    )
    answer_5
    return (answer_5,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The order of the quantifiers

    Here z3 decides "for all". Theorems also say "there is": a step size, a constant, weights. Then the order counts. Take a bound
    of a common form,

    $$b(\eta,R)=\frac{D^2}{\eta R}+\eta\sigma^2 .$$

    - *For every $R$ there is an $\eta$* with $b(\eta,R)\le 2D\sigma/\sqrt R$. True: $\eta=D/(\sigma\sqrt R)$.
    - *There is an $\eta$ such that for every $R$* the same holds. False: first $\eta$ is fixed, and then $R$ may be as large as you like.
    """)
    return


@app.cell
def _(as_verdict):
    D_, sigma_, R_, eta_R = sympy.symbols("D sigma R eta", positive=True)
    bound_R = D_**2 / (eta_R * R_) + eta_R * sigma_**2
    best = sympy.solve(sympy.diff(bound_R, eta_R), eta_R)[0]
    root = sympy.Symbol("root", positive=True)  # sqrt(R)
    mo.vstack(
        [
            mo.md(
                rf"The derivative in $\eta$ vanishes at ${sympy.latex(sympy.simplify(best))}$, where "
                rf"$b={sympy.latex(sympy.simplify(bound_R.subs(eta_R, best)))}$. And no step size does better:"
            ),
            told(
                as_verdict(decide([], bound_R.subs(R_, root**2) >= 2 * D_ * sigma_ / root)),
                "for all eta, R, D, sigma: b(eta, R) >= 2 D sigma / sqrt(R)",
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    fixed = mo.ui.slider(0.02, 1.0, 0.02, value=0.2, label=r"a fixed step size $\eta$ ($D=\sigma=1$)", show_value=True)
    fixed
    return (fixed,)


@app.cell(hide_code=True)
def _(fixed):
    def _draw(axis):
        rounds = np.geomspace(1, 1e5, 200)
        axis.plot(
            rounds, 1 / (fixed.value * rounds) + fixed.value, color=BLUE, label=rf"$b(\eta,R)$, $\eta={fixed.value:g}$"
        )
        axis.plot(rounds, 2 / np.sqrt(rounds), color=BLACK, label=r"best $\eta$ for each $R$: $2/\sqrt{R}$")
        axis.plot(rounds, 3 / np.sqrt(rounds), color=ORANGE, ls="--", label=r"$3/\sqrt{R}$")
        axis.set(xscale="log", yscale="log", xlabel="rounds $R$", ylabel="bound", ylim=(4e-3, 100))
        axis.legend()

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 4.6.** Someone claims less: *there is an $\eta$ such that for every $R$, $b(\eta,R)\le 3D\sigma/\sqrt R$.* Refute it.
    Whatever $\eta$ is, name an $R$ (a real number $>0$) that breaks it.
    """)
    return


@app.cell
def _():
    def refuting_rounds(eta, D, sigma):
        # student: return ...  # your turn
        # solution
        # with u = eta sigma sqrt(R) / D the claim is 1/u + u <= 3, false at u = 3
        return (3 * D / (eta * sigma)) ** 2
        # end

    return (refuting_rounds,)


@app.cell(hide_code=True)
def _(refuting_rounds):
    def _refutes(eta, D, sigma):
        """Whether the named R breaks the claim; open while none is named."""
        R = refuting_rounds(eta, D, sigma)
        if R is ... or R is None:
            return None
        return bool(R > 0 and D**2 / (eta * R) + eta * sigma**2 > 3 * D * sigma / R**0.5)

    answer_6 = check(
        "4.6",
        _refutes,
        True,
        at=[(0.1, 1.0, 1.0), (5.0, 1.0, 2.0), (1e-3, 3.0, 0.5)],
        hint=r"Let $u=\eta\sigma\sqrt R/D$. The claim becomes $\tfrac1u+u\le3$. Choose a $u$ that breaks it, and solve for $R$.",
    )
    answer_6
    return (answer_6,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    The papers make the same error. Lemma 7 turns a recursion into a rate, *for some* $\gamma\le1/d$:
    """),
            statement("sfl.lemma7.eq38"),
            mo.md(r"""
    To refute "there is a $\gamma$" an example with one $\gamma$ is not enough. All of them must fail, and here they do: with
    $a=1$, $c=0$, $r_0=1$, $r_1=0$, $T=0$ the hypothesis allows $b s_0=(1-\gamma)/\gamma$, which is at least 99 for every
    $\gamma\le1/100$, while the bound is at most 3.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _(as_verdict):
    _gamma = sympy.Symbol("gamma", positive=True)
    mo.vstack(
        [
            told(
                as_verdict(decide([_gamma <= sympy.Rational(1, 100)], (1 - _gamma) / _gamma >= 99)),
                "for every gamma <= 1/100: (1 - gamma)/gamma >= 99",
            ),
            told(put("sfl.lemma7.eq38", "counterexample"), "sfl.lemma7.eq38, as printed"),
            mo.md(
                "The figure `sfl_lemma7_against_worst_sequence`, drawn now, shows from which $T$ on the bound is true."
            ),
            regenerated("sfl_lemma7_against_worst_sequence"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## All smooth convex functions at once: Gram matrices and an SDP

    $\langle\nabla h(x)-\nabla h(y),\,x-y\rangle\ge\frac1L\|\nabla h(x)-\nabla h(y)\|^2$ is a claim about every $L$-smooth convex
    $h$ in every dimension. How can a machine check all of these? In three steps:

    1. *Interpolation.* The inequality sees $h$ at two points only: $x,y$, values $h_x,h_y$, gradients $g_x,g_y$. A smooth convex
       function with these data exists exactly when
       $h_x\ge h_y+\langle g_y,x-y\rangle+\frac1{2L}\|g_x-g_y\|^2$ and the same with $x$ and $y$ exchanged (Taylor, Hendrickx, Glineur).
    2. *Gram matrix.* All of this is linear in the values and in the inner products of $x,y,g_x,g_y$, that is in their Gram
       matrix, which may be any positive semidefinite one if the dimension is free.
    3. *Multipliers.* If claim $=\lambda_1\cdot$condition$_1+\lambda_2\cdot$condition$_2$ + (a form that is $\ge0$) with
       $\lambda_i\ge0$, the claim is proved. Finding the $\lambda_i$ is a semidefinite programme.

    The solver works in floating point, so its answer is only a guess. We round the $\lambda_i$ to fractions and decide the
    identity exactly. If no $\lambda$ is found, z3 looks for a counter-example on the real line.
    """)
    return


@app.cell(hide_code=True)
def _():
    inequality = mo.ui.dropdown(
        ["co-coercivity", "lower bound (18)", "upper bound (16)"], value="co-coercivity", label="inequality"
    )
    sharper = mo.ui.slider(0.5, 1.5, 0.05, value=1.0, label="times the printed constant", show_value=True)
    family = mo.ui.dropdown(["smooth and convex", "smooth only"], value="smooth and convex", label="functions")
    mo.hstack([inequality, sharper, family], justify="start", wrap=True)
    return family, inequality, sharper


@app.cell
def _(L):
    h = sympy.Symbol("h")
    x, y = sympy.symbols("x y", real=True)
    at_x, at_y = point(h, x), point(h, y)
    change = Grad(h, x) - Grad(h, y)

    def certified(name, factor, functions):
        """One inequality, with a factor before its printed constant, for one class of functions."""
        claims = {
            "co-coercivity": Ge(Inner(change, x - y), factor * Norm(change) ** 2 / L),
            "lower bound (18)": Ge(Bregman(h, x, y), factor * Norm(change) ** 2 / (2 * L)),
            "upper bound (16)": Le(Bregman(h, x, y), factor * L / 2 * Norm(x - y) ** 2),
        }
        condition = smooth_convex if functions == "smooth and convex" else smooth
        hypotheses = {"condition 1": condition(at_x, at_y, L), "condition 2": condition(at_y, at_x, L)}
        return certify(difference(claims[name]), hypotheses, {L: Rational(1)}, [L > 0])

    return (certified,)


@app.cell(hide_code=True)
def _(certified, family, inequality, sharper):
    told(
        certified(inequality.value, Rational(str(sharper.value)), family.value),
        f"{inequality.value}, x {sharper.value:g}",
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Sharpen each inequality by a little. With 1.05 (for the upper bound 0.95) it is refuted. The witness is a pair of points, with
    values and gradients that some smooth convex function has. Then drop convexity: the two lower bounds are refuted at every
    factor on the slider, the upper bound stays true.

    The same programme also *finds* constants: it maximises the left side. How much does one gradient step contract in the worst
    case, on a $\mu$-strongly convex and $L$-smooth function?

    **Exercise 4.7.** Guess $\max_F\|x-\eta\nabla F(x)-x^*\|^2/\|x-x^*\|^2$ for $0<\eta\le2/L$. (Look at quadratics.) The check
    solves the SDP over all functions of the class.
    """)
    return


@app.cell
def _():
    def worst_contraction(eta, mu, L):
        # student: return ...  # your turn
        # solution
        return max((1 - eta * mu) ** 2, (1 - eta * L) ** 2)
        # end

    return (worst_contraction,)


@app.cell(hide_code=True)
def _(worst_contraction):
    def by_sdp(eta, mu, L):
        """The worst case of one gradient step, over all functions of the class in every dimension."""
        eta, mu, L = (Rational(str(v)) for v in (eta, mu, L))
        here, star = sympy.symbols("here star", real=True)
        at_here = point(sympy.Symbol("F"), here)
        at_star = Point(star, sympy.Symbol("F_star", real=True), sympy.Integer(0))
        conditions = {
            "1": smooth_convex(at_here, at_star, L, mu),
            "2": smooth_convex(at_star, at_here, L, mu),
        }
        found = worst_case(
            sympy.expand((here - star - eta * at_here.gradient) ** 2), conditions, sympy.expand((here - star) ** 2)
        )
        return float("nan") if found is None else found.value

    answer_7 = check(
        "4.7",
        worst_contraction,
        by_sdp,
        at=[(0.5, 0.2, 1.0), (1.8, 0.2, 1.0), (0.3, 1.0, 4.0)],
        tolerance=1e-4,
        hint=r"On $\tfrac h2x^2$ a step multiplies the distance by $1-\eta h$. Which $h$ between $\mu$ and $L$ makes its square largest? There are two candidates.",
    )
    answer_7
    return answer_7, by_sdp


@app.cell(hide_code=True)
def _(by_sdp):
    _steps = np.linspace(0.1, 2.0, 11).round(3)
    _worst = [by_sdp(float(step), 0.2, 1.0) for step in _steps]

    def _draw(axis):
        fine = np.linspace(0, 2, 200)
        for curvature in (0.2, 0.4, 0.6, 0.8, 1.0):
            axis.plot(
                fine,
                (1 - fine * curvature) ** 2,
                color=GREY,
                lw=0.8,
                label=r"quadratics, curvature from $\mu$ to $L$" if curvature == 0.2 else None,
            )
        axis.plot(
            fine[fine <= 1], 1 - 0.2 * fine[fine <= 1], color=BLUE, label=r"the ledger: $1-\eta\mu$, $\eta\leq1/L$"
        )
        axis.plot(_steps, _worst, "o", color=ORANGE, ms=5, label="SDP: the worst of all functions")
        axis.axhline(1, color=BLACK, ls=":", lw=1)
        axis.set(
            xlabel=r"step size $\eta$ (in units of $1/L$), $\mu=L/5$",
            ylabel=r"$\|x^+-x^*\|^2\,/\,\|x-x^*\|^2$",
            ylim=(-0.03, 1.08),
        )
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn(_draw, width=8, height=3.4)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The ledger's $1-\eta\mu$ is true and not sharp. The proof uses strong convexity and smoothness one after the other, not
    together, and loses the difference between the line and the dots. The SDP certifies two-point inequalities. A whole theorem
    over $R$ rounds, with sampling and noise, needs the ledger.

    ## Exact enumeration: sampling lemmas

    $S$ of $M$ clients are drawn without replacement. An expectation over the samples is a finite sum: go through all of
    them, in fractions. The result is a quadratic form in the population. So one computation is a proof for all populations in all
    dimensions, for this $n$ and $s$.

    **Exercise 4.8.** The mean over all ordered samples of `s` different elements of $(\text{mean of the sample}-\bar x)^2$, for a
    list of numbers. `permutations(population, s)` has all of them. The check compares it with the printed (23), which is
    an equality.
    """)
    return


@app.cell
def _():
    def sample_variance(population, s):
        # student: return ...  # your turn; sympy.Rational(sum(sample), s) is exact
        # solution
        mean = sympy.Rational(sum(population), len(population))
        samples = list(permutations(population, s))
        return sum((sympy.Rational(sum(sample), s) - mean) ** 2 for sample in samples) / len(samples)
        # end

    return (sample_variance,)


@app.cell(hide_code=True)
def _(sample_variance):
    def _printed(population, s):
        claim = catalogue.find("sfl.lemma3.swor").claim
        of_one = float(enumeration.substitute(claim.value, {"n": len(population), "s": s, "zeta": 1}))
        return of_one * np.var(population)

    answer_8 = check(
        "4.8",
        sample_variance,
        _printed,
        at=[([0, 1, 5], 2), ([3, 3, -1, 7, 0], 3), ([2, 9, 4], 3)],
        hint="Go through `permutations(population, s)`, take each sample's mean less the mean of the population, square it, and divide the sum by the number of samples.",
    )
    answer_8
    return (answer_8,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    Lemma 4 sums such variances along a round. Its proof has this line:
    """),
            statement("sfl.lemma4.sum"),
            told(put("sfl.lemma4.sum", "enumeration"), "enumeration"),
            told(put("sfl.lemma4.sum", "ledger"), "ledger"),
            told(put("sfl.lemma4", "enumeration"), "Lemma 4 itself, enumeration"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    clients = mo.ui.slider(2, 6, 1, value=4, label="clients $M$", show_value=True)
    share = mo.ui.slider(1, 6, 1, value=3, label="sampled $S$ (at most $M$)", show_value=True)
    mo.hstack([clients, share], justify="start", wrap=True)
    return clients, share


@app.cell(hide_code=True)
def _(clients, share):
    _M, _S = clients.value, min(share.value, clients.value)
    _K = np.arange(1, 7)

    def _at(id_):
        value = catalogue.find(id_).claim.value
        return [float(enumeration.substitute(value, {"M": _M, "S": _S, "K": int(k), "zeta": 1})) for k in _K]

    def _draw(axis):
        truth = [float(enumeration.partial_sums(_M, _S, int(k))) for k in _K]
        axis.plot(_K, truth, "o", color=BLACK, ms=6, label="all samples enumerated")
        axis.plot(_K, _at("sfl.lemma4.sum"), "x-", color=RED, label="the line of the proof, as printed")
        axis.plot(_K, _at("sfl.lemma4"), "s--", color=GREEN, mfc="none", label="the bound of Lemma 4")
        axis.set(xlabel="local steps $K$", ylabel=r"left side, in units of $\zeta^2$", title=f"M = {_M}, S = {_S}")
        axis.legend()

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The line is refuted: it is printed as an equality, and the two sides differ. Lemma 4, which it leads to, is true. An error in
    a proof is not yet an error in a result.

    **Exercise 4.9.** A referee tests the line by enumeration, for all $S\le M\le5$, but only for $K=1,\dots,K_{\max}$. From which
    $K_{\max}$ on does the referee find the error? The ledger's message above says why.
    """)
    return


@app.cell
def _():
    # student: k_max = ...  # your turn
    # solution
    k_max = 3  # the sides differ by a multiple of (K - 1)(K - 2): sums of k and of k^2 agree for k = 0, 1
    # end
    return (k_max,)


@app.cell(hide_code=True)
def _(k_max):
    def _found():
        value = catalogue.find("sfl.lemma4.sum").claim.value
        for K in range(1, 9):
            for M in range(2, 6):
                for S in range(1, M + 1):
                    claimed = enumeration.substitute(value, {"M": M, "S": S, "K": K, "zeta": 1})
                    if claimed != enumeration.partial_sums(M, S, K):
                        return K
        return None

    answer_9 = check(
        "4.9",
        k_max,
        lambda: _found(),
        at=[()],
        hint="The two sides differ in a polynomial in $K$. The ledger's message has the difference; for which small $K$ is it zero?",
    )
    answer_9
    return (answer_9,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Check the check: mutation

    A check that cannot fail says nothing. `fedtheory verify ID --mutate` changes the claim in the ways
    in which papers go wrong, and shows which changes each piece of evidence refuses. Here it is for (30), the step of Lemma 5
    that splits a sum in four, by its units and by its ledger.
    """)
    return


@app.cell
def _():
    mutated = [
        (one.what, *(put("sfl.step.eq30", kind, one.statement).status for kind in ("units", "ledger")))
        for one in mutations(catalogue.find("sfl.step.eq30"))
    ]
    return (mutated,)


@app.cell(hide_code=True)
def _(mutated):
    _rows = "\n".join(f"| {what} | {by_units} | {by_ledger} |" for what, by_units, by_ledger in mutated)
    _survive = [what for what, *found in mutated if all(status == "proved" for status in found)]
    mo.vstack(
        [
            mo.md("| the claim, changed | units | ledger |\n|:---|:---|:---|\n" + _rows),
            mo.md(
                f"{len(mutated)} changes; units refuse {sum(u != 'proved' for _, u, _ in mutated)}, the ledger "
                f"{sum(f != 'proved' for *_, f in mutated)}. Refused by neither: {', '.join(_survive)}.\n\n"
                "**Exercise 4.10.** Is it a fault of the ledger that these changes survive? Answer in two sentences. Then say "
                "what you would make of a check that refused *none* of the changes, and of one that refused *all*."
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    # student: mo.md("*Write your answer here.*")
    # solution
    mo.md(r"""
    *Solution.* No: the claim is an upper bound with non-negative terms. A larger upper bound is a weaker claim, and it is true
    because the printed one is. To refuse it, one must claim more, for instance that the constants are the smallest possible ones.
    A check that refuses nothing is empty: it passes every erratum. A check that refuses everything, also what follows from the
    printed claim, does not test the claim. It compares texts.
    """)
    # end
    return


@app.cell(hide_code=True)
def _():
    question_11 = choice(
        "**Exercise 4.11.** Lemma 5 with its sampling term times 1/2: the ledger is *broken*, the search finds no violation "
        "on its instances. Which verdict does the catalogue give to that statement?",
        ["proved", "tested", "broken", "refuted", "open"],
        # solution
        value="tested",
        # end
    )
    mo.vstack([question_11])
    return (question_11,)


@app.cell(hide_code=True)
def _(question_11):
    _changed = scaled("sfl.lemma5", Rational(1, 2), "sampling")
    _own = [e for e in evidence("sfl") if e.statement == "sfl.lemma5"]
    _verdicts = tuple((e, put("sfl.lemma5", e.kind, _changed)) for e in _own)
    answer_11 = check(
        "4.11",
        question_11.value,
        str(Checked(_changed, _verdicts).status),
        hint="Put the two verdicts in the order of the table at the top of the lesson. One of them decides nothing about the statement.",
    )
    answer_11
    return (answer_11,)


@app.cell(hide_code=True)
def _(answer_11):
    mo.vstack(
        [
            after(
                answer_11,
                r"""
    A statement gets the strongest verdict that its evidence gives. With nothing but the broken ledger it would be *broken*.
    """,
            ),
            mo.md(r"""
    **To take away.** (1) Units cost nothing and see no numbers. (2) z3 decides polynomial implications for all reals. It
    takes counts for reals and refuses exp and log. Look for contradictory hypotheses first. (3) A ledger says at which step a proof breaks and how much room
    its constants have; it proves no more than its premises. (4) "There is" must be refuted for every choice. (5) Interpolation
    and an SDP decide two-point inequalities for all functions of a class; the proof is the exact identity with rounded
    multipliers, not the solver's answer. (6) Enumeration is exact on its family: choose a family on which an error would show.
    (7) Trust a check only after you have seen it fail.
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
