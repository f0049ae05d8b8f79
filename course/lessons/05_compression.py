import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="5. Compression")


with app.setup:
    import math
    from fractions import Fraction

    import marimo as mo
    import numpy as np
    import sympy

    from course.lesson import after, check, choice, drawn, how_to_answer, put, regenerated, scaled, statement, told
    from fedtheory.figures.fedcom import admits, quadratics, with_q
    from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
    from fedtheory.simulations import expectation, run
    from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE, SparseFedCOMGATE
    from fedtheory.simulations.compressors import (
        QSGD,
        Bernoulli,
        Dithering,
        Identity,
        MaxSign,
        RandK,
        Rounding,
        Sign,
        Sparsifier,
        StochasticSign,
        TopK,
    )
    from fedtheory.simulations.exact.linear import spectral_radius
    from fedtheory.simulations.problems.quadratic import Quadratic, generate


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    # 5. Compression and unbiasedness, and when it diverges

    **About 90 minutes.** You need lesson 1 and second moments. Afterwards you can

    - compute the mean, the variance factor $q$ and the bits of a compressor from its law;
    - say what compression costs in step size, and what goes wrong when a paper does not ask for independence;
    - explain for which compressors gradient tracking diverges, and repair it;
    - explain why a biased compressor can diverge, and how an error memory repairs it;
    - compare algorithms by the bits that they send.
    """),
            how_to_answer(),
            mo.md(r"""
    ## A message and its law

    A client has a vector $x\in\mathbb R^d$ to send and sends a random $Q(x)$ that needs fewer bits. Two numbers describe its
    effect on an algorithm: the mean of $Q(x)$, and $\mathbb E\|Q(x)-x\|^2$. The paper on compression assumes:
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    statement("fedcom.asm2")
    return


@app.cell(hide_code=True)
def _():
    kinds = {
        "RandK(1)": RandK(1),
        "RandK(2)": RandK(2),
        "Sparsifier(1/2)": Sparsifier(Fraction(1, 2)),
        "Bernoulli(1/4)": Bernoulli(Fraction(1, 4)),
        "QSGD(1)": QSGD(1),
        "QSGD(2)": QSGD(2),
        "Dithering(1)": Dithering(1),
        "StochasticSign": StochasticSign(),
        "MaxSign": MaxSign(),
        "TopK(1)": TopK(1),
        "Rounding(1)": Rounding(1),
        "Sign": Sign(),
    }
    kind = mo.ui.dropdown(list(kinds), value="QSGD(1)", label="compressor $Q$")
    messages = {"(2, -1, 2)": (2, -1, 2), "(6, 2, 3)": (6, 2, 3), "(3, 0, 4)": (3, 0, 4), "(1, 0, 0)": (1, 0, 0)}
    message = mo.ui.dropdown(list(messages), value="(2, -1, 2)", label="message $x$")
    mo.hstack([kind, message], justify="start", wrap=True)
    return kind, kinds, message, messages


@app.cell
def _():
    def mean_and_error(compressor, x):
        """E Q(x) and E||Q(x) - x||^2 / ||x||^2, exactly, from all outcomes of the law."""
        x = [Fraction(v) for v in x]
        law = compressor.law(x)
        mean = tuple(sum(p * out[i] for p, out in law) for i in range(len(x)))
        error = sum(p * sum((o - v) ** 2 for o, v in zip(out, x, strict=True)) for p, out in law)
        return mean, error / sum(v * v for v in x)

    return (mean_and_error,)


@app.cell(hide_code=True)
def _(kind, kinds, mean_and_error, message, messages):
    def _vector(v):
        return "(" + ", ".join(map(str, v)) + ")"

    _x, _Q = messages[message.value], kinds[kind.value]
    _law = _Q.law([Fraction(v) for v in _x])
    _mean, _error = mean_and_error(_Q, _x)
    _q = _Q.q(3)
    _rows = "\n".join(f"| {p} | {_vector(out)} |" for p, out in sorted(_law, reverse=True)[:8])
    _more = f"\n\n({len(_law) - 8} more outcomes)" if len(_law) > 8 else ""
    mo.vstack(
        [
            mo.md("| probability | $Q(x)$ |\n|:---|:---|\n" + _rows + _more),
            mo.md(
                "| | |\n|:---|:---|\n"
                f"| $\\mathbb E\\,Q(x)$ | {_vector(_mean)}, **{'unbiased here' if _mean == _x else 'biased'}** |\n"
                f"| $\\mathbb E\\|Q(x)-x\\|^2/\\|x\\|^2$ | {_error} at this $x$ |\n"
                f"| $q$ in $\\mathbb R^3$ | {'none' if _q.value is None else f'{float(_q.value):.4g}'} ({_q.how}) |\n"
                f"| bits | {_Q.bits(3):g} in place of {32 * 3} |"
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    $q$ is the largest relative error over *all* $x$. Change $x$ and see for which compressors the error depends on it.

    Let us derive one. `RandK(k)` keeps $k$ of $d$ coordinates, chosen uniformly, and multiplies them by $c$. So
    $Q(x)_i=m_i x_i$, where $m_i$ is $c$ with probability $k/d$ and else 0. Unbiased means $\mathbb E\,m_i=ck/d=1$, so $c=d/k$. Then
    $\mathbb E\|Q(x)-x\|^2=\sum_i x_i^2\,\mathbb E(m_i-1)^2$, the same multiple of every $x_i^2$.
    """)
    return


@app.cell
def _():
    d_, k_ = sympy.symbols("d k", positive=True)
    scale = d_ / k_
    variance_of_mask = k_ / d_ * (scale - 1) ** 2 + (1 - k_ / d_) * (0 - 1) ** 2
    variance_of_mask  # E (m_i - 1)^2, not simplified
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 5.1.** Simplify it by hand: $q$ of `RandK(k)` in $\mathbb R^d$. The check uses the law, outcome by outcome.
    """)
    return


@app.cell
def _():
    def q_of_rand_k(d, k):
        # student: return ...  # your turn
        # solution
        return d / k - 1
        # end

    return (q_of_rand_k,)


@app.cell(hide_code=True)
def _(mean_and_error, q_of_rand_k):
    answer_1 = check(
        "5.1",
        q_of_rand_k,
        lambda d, k: float(mean_and_error(RandK(k), range(1, d + 1))[1]),
        at=[(3, 1), (5, 2), (6, 3), (4, 4)],
        hint=r"$m_i-1$ is $\tfrac dk-1$ with probability $\tfrac kd$, and $-1$ otherwise. Write the mean of its square and bring it to a common denominator.",
    )
    answer_1
    return (answer_1,)


@app.cell(hide_code=True)
def _():
    question_2 = choice(
        "**Exercise 5.2.** Which of these meets the first line of Assumption 2, $\\mathbb E\\,Q(x)=x$ for every $x$?",
        ["TopK(1)", "Sign", "Rounding(1)", "MaxSign"],
        # solution
        value="MaxSign",
        # end
    )
    mo.vstack([question_2])
    return (question_2,)


@app.cell(hide_code=True)
def _(kinds, mean_and_error, messages, question_2):
    _unbiased = [
        name
        for name in ("TopK(1)", "Sign", "Rounding(1)", "MaxSign")
        if all(mean_and_error(kinds[name], x)[0] == x for x in messages.values())
    ]
    answer_2 = check(
        "5.2",
        question_2.value,
        ", ".join(_unbiased),
        hint="Choose each of the four in the dropdown at the top, and read *unbiased here* or *biased* for all four messages. One message with *biased* is enough.",
    )
    answer_2
    return (answer_2,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Bits on the wire

    A number takes 32 bits, an index $\lceil\log_2 d\rceil$. `QSGD(s)` sends the norm and, for each coordinate, a sign and one of
    the levels $0,\dots,s$: one of $2s+1$ symbols.

    **Exercise 5.3.** The bits of `RandK(k)` in $\mathbb R^d$, where the receiver does not know which coordinates were chosen.
    """)
    return


@app.cell
def _():
    def bits_of_rand_k(d, k):
        # student: return ...  # your turn; math.ceil and math.log2 are there, or (d - 1).bit_length()
        # solution
        return k * (32 + (d - 1).bit_length())
        # end

    return (bits_of_rand_k,)


@app.cell(hide_code=True)
def _(bits_of_rand_k):
    def _on_the_wire(d, k):
        """The bits of the compressor, after a message has really been packed in so many bytes."""
        sent = np.zeros(d)
        sent[:k] = d / k
        if len(RandK(k).encode(sent)) != math.ceil(RandK(k).bits(d) / 8):
            return None
        return RandK(k).bits(d)

    answer_3 = check(
        "5.3",
        bits_of_rand_k,
        _on_the_wire,
        at=[(20, 2), (16, 1), (17, 1), (1000, 100)],
        hint=r"For each of the $k$ coordinates the client sends a number and an index. An index has $\lceil\log_2 d\rceil$ bits.",
    )
    answer_3
    return (answer_3,)


@app.cell(hide_code=True)
def _():
    dimension = mo.ui.slider(steps=[4, 10, 100, 1000, 10000], value=100, label="dimension $d$", show_value=True)
    dimension
    return (dimension,)


@app.cell(hide_code=True)
def _(dimension):
    def _draw(axis):
        d = dimension.value
        numbers = np.unique(np.geomspace(1, d, 12).astype(int))
        levels = (1, 2, 4, 8, 16, 64, 256)
        for name, family, colour, marker in (
            ("RandK(k)", [RandK(int(k)) for k in numbers], BLUE, "o"),
            ("QSGD(s)", [QSGD(s) for s in levels], ORANGE, "s"),
            ("Dithering(s)", [Dithering(s) for s in levels], GREEN, "^"),
            ("StochasticSign, MaxSign", [StochasticSign(), MaxSign()], RED, "D"),
        ):
            found = np.array([(Q.bits(d) / (32 * d), Q.q(d).value) for Q in family])
            found = found[found[:, 1] > 0]
            axis.plot(*found.T, marker=marker, ms=4, color=colour, label=name)
        axis.axhline(1, color=GREY, ls=":", lw=1, label="q = 1")
        axis.set(
            xscale="log",
            yscale="log",
            xlabel=f"bits per message, as a share of 32 d, d = {d}",
            ylabel="variance factor q",
        )
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn(_draw, width=7.5, height=3.4)
    return


@app.cell(hide_code=True)
def _(dimension):
    _d = dimension.value
    _families = {
        "RandK": [RandK(k) for k in range(1, _d + 1)],
        "QSGD": [QSGD(s) for s in range(1, 300)],
        "Dithering": [Dithering(s) for s in range(1, 300)],
    }
    _shares = {
        name: min((Q.bits(_d) / (32 * _d) for Q in family if Q.q(_d).value < 1), default=float("nan"))
        for name, family in _families.items()
    }
    mo.md(
        f"Fewer bits mean a larger $q$. The fewest bits with $q<1$, for $d={_d}$, as a share of $32\\,d$: "
        + ", ".join(f"{name} {share:.2g}" for name, share in _shares.items())
        + "."
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What $q$ costs: FedCOM

    FedCOM (Algorithm 1) averages compressed sums of gradients: $w\leftarrow w-\eta\gamma\frac1m\sum_jQ\bigl(\sum_c g_j^{(c)}\bigr)$.
    Take $m$ equal clients $f_j(w)=\tfrac h2w^2$, one local step, no noise, and call $s=\eta\gamma h$. Then
    $w^+=w-s\,\frac1m\sum_j\frac{Q(hw)_j}{h}$, and since $Q$ is unbiased

    $$\mathbb E\,|w^+|^2=(1-s)^2w^2+s^2\operatorname{Var}\Bigl(\tfrac1m\sum_jQ_j(w)\Bigr).$$

    **Exercise 5.4.** The factor $\mathbb E|w^+|^2/|w|^2$, when the variance of each $Q_j(w)$ is $q\,w^2$: for clients that toss
    their own coins, and for clients that all use the same coins (`shared`). The check computes the exact expectation of a run.
    """)
    return


@app.cell
def _():
    def factor(s, q, m, shared):
        # student: return ...  # your turn
        # solution
        return (1 - s) ** 2 + s**2 * (q if shared else q / m)
        # end

    return (factor,)


@app.cell(hide_code=True)
def _(factor):
    def measured_factor(s, q, m, shared):
        """E|w|^2 after one round of FedCOM over that before it, exactly."""
        clients = Quadratic(np.ones((m, 1, 1)), np.zeros((m, 1)))
        algorithm = FedCOM(1, s, compressor=Sparsifier(1 / (1 + q), shared=shared))
        data = expectation(clients, algorithm, rounds=1, x0=1.0, record=("dist2",))
        return float(data.dist2.isel(round=-1).item())

    answer_4 = check(
        "5.4",
        factor,
        measured_factor,
        at=[(0.3, 3.0, 4, False), (0.3, 3.0, 4, True), (1.2, 1.0, 2, False), (0.5, 0.0, 3, True)],
        hint="The variance of a mean of $m$ independent terms is a $1/m$ of the variance of one. What is it when all terms are equal? Only this part changes.",
    )
    answer_4
    return answer_4, measured_factor


@app.cell(hide_code=True)
def _():
    q_com = mo.ui.slider(0.0, 20.0, 0.5, value=4.0, label="$q$", show_value=True)
    m_com = mo.ui.slider(1, 20, 1, value=5, label="clients $m$", show_value=True)
    mo.hstack([q_com, m_com], justify="start", wrap=True)
    return m_com, q_com


@app.cell(hide_code=True)
def _(m_com, measured_factor, q_com):
    _a = 1 + q_com.value / m_com.value
    admitted_step = float((np.sqrt(_a**2 + 4) - _a) / 2)

    def _draw(axis):
        steps = np.linspace(0.02, 2.0, 34)
        for shared, colour, label in ((False, BLUE, "own coins"), (True, RED, "shared coins")):
            found = [measured_factor(float(s), q_com.value, m_com.value, shared) for s in steps]
            axis.plot(steps, found, color=colour, label=label)
        axis.axhline(1, color=BLACK, lw=0.8, ls=":")
        axis.axvspan(0, admitted_step, color=GREY, alpha=0.25, lw=0, label="admitted by (21)")
        axis.set(
            xlabel=r"$s=\eta\gamma h$  ($\gamma=1$, $\tau=1$, $h=L$)",
            ylabel=r"$\mathbb{E}|w^+|^2\,/\,|w|^2$",
            ylim=(0, 2.5),
        )
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn(_draw, width=7, height=3.2)
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    The grey band is the paper's condition on the step size:
    """),
            statement("fedcom.cond21"),
            mo.md(r"""
    With own coins everything in the band contracts. With shared coins (try $q=19$, $m=20$) the factor is above 1 inside the band.
    Assumption 2 as printed does not say that clients' coins are independent. The theorems of Section D need it. That erratum is
    a *missing hypothesis*.

    **Exercise 5.5.** The largest $x=L\eta\tau$ that (21) admits at $\gamma=1$, as a function of $q$ and $m$.
    """),
        ]
    )
    return


@app.cell
def _():
    def largest_admitted(q, m):
        # student: return ...  # your turn: a quadratic equation
        # solution
        a = 1 + q / m
        return ((a * a + 4) ** 0.5 - a) / 2
        # end

    return (largest_admitted,)


@app.cell(hide_code=True)
def _(largest_admitted):
    def _bisected(q, m):
        """The printed condition itself, evaluated."""
        low, high = 0.0, 2.0
        for _ in range(40):
            middle = (low + high) / 2
            inside, _ = admits("fedcom.cond21", L=1.0, eta=middle / 3, gamma=1.0, tau=3, q=q, m=m)
            low, high = (middle, high) if inside else (low, middle)
        return low

    answer_5 = check(
        "5.5",
        largest_admitted,
        _bisected,
        at=[(0.0, 1.0), (3.0, 2.0), (50.0, 10.0)],
        tolerance=1e-6,
        hint=r"Put $\gamma=1$ and $x=L\eta\tau$ into (21). It becomes $x^2+(1+\tfrac qm)x\le1$. Take the positive root.",
    )
    answer_5
    return (answer_5,)


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    ### The theorem, to break

    For strongly convex (or PL) functions and equal clients the paper has:
    """),
            statement("fedcom.thmD7"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    term_D7 = mo.ui.dropdown(["noise", "drift", "optimisation", "all terms"], value="noise", label="change the term")
    times_D7 = mo.ui.slider(0.1, 1.0, 0.1, value=0.5, label="by the factor", show_value=True)
    mo.hstack([term_D7, times_D7], justify="start", wrap=True)
    return term_D7, times_D7


@app.cell(hide_code=True)
def _(term_D7, times_D7):
    _changed = scaled(
        "fedcom.thmD7", sympy.Rational(str(times_D7.value)), None if term_D7.value == "all terms" else term_D7.value
    )
    mo.vstack(
        [
            told(put("fedcom.thmD7", "ledger", _changed), "ledger: its own steps, given the lemmas it uses"),
            told(put("fedcom.thmD7", "search", _changed), "search, by exact expectation of whole runs"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Read the first box with care. It decides the theorem's own steps and takes the lemmas for granted. Two of these lemmas are
    refuted. So the catalogue counts the whole proof as *broken*, while the statement is *tested*: it holds on every instance that was tried.
    (`fedtheory verify fedcom.thmD7` says so; `fedcom.thmD7.corrected` has a slightly larger noise term and a proof.)

    ## Different clients: gradient tracking

    Unequal clients drift (lesson 1). In FedCOMGATE (Algorithm 2) each client keeps a vector $\delta_j$ and subtracts it from its
    gradients; ideally $\delta_j=\nabla f_j-\nabla f$. It learns $\delta_j$ from the messages that are sent anyway:
    $\delta_j\leftarrow\delta_j+\tfrac1\tau(Q_j-\tfrac1m\sum_iQ_i)$.

    Let $\eta\to0$, so that the model stands still, let $\tau=1$, and let the coins be shared, so that $Q$ is linear. The message is
    $Q(\nabla f_j-\delta_j)$. Call $e_j=(\nabla f_j-\nabla f)-\delta_j$ the tracking error. It follows

    $$e_j\leftarrow e_j-\alpha\,Q(e_j),\qquad \alpha=1\text{ as printed.}$$
    """)
    return


@app.cell
def _():
    # E||e - alpha Q(e)||^2 with E Q(e) = e and E||Q(e)||^2 = (1 + q) ||e||^2
    alpha, q_sym = sympy.symbols("alpha q", positive=True)
    tracking_factor = sympy.expand(1 - 2 * alpha + alpha**2 * (1 + q_sym))
    tracking_factor
    return alpha, q_sym, tracking_factor


@app.cell(hide_code=True)
def _(alpha, q_sym, tracking_factor):
    mo.md(rf"""
    This is the factor of $\mathbb E\|e_j\|^2$ per round. As a function of $\alpha$ it is a parabola with the second
    derivative ${sympy.latex(sympy.factor(sympy.diff(tracking_factor, alpha, 2)))}$, so there is a best $\alpha$ for every $q$.

    **Exercise 5.6.** Give the best $\alpha$, as a function of $q$. The check takes the law of a compressor with that $q$ and computes
    $\alpha$ exactly, from $\mathbb E\langle e,Q(e)\rangle$ and $\mathbb E\|Q(e)\|^2$.
    """)
    return


@app.cell
def _():
    def best_damping(q):
        # student: return ...  # your turn
        # solution
        return 1 / (1 + q)  # then the factor is q / (1 + q) < 1
        # end

    return (best_damping,)


@app.cell(hide_code=True)
def _(best_damping):
    def _from_law(q):
        e = [Fraction(v) for v in (2, -1, 2)]
        law = Sparsifier(1 / (1 + Fraction(q))).law(e)
        along = sum(p * sum(a * b for a, b in zip(e, out, strict=True)) for p, out in law)
        return float(along / sum(p * sum(v * v for v in out) for p, out in law))

    answer_6 = check(
        "5.6",
        best_damping,
        _from_law,
        at=[(1,), (3,), (9,)],
        hint=r"Set the derivative of the expression above with respect to $\alpha$ to zero.",
    )
    answer_6
    return (answer_6,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Now whole runs, with moving models, on four different quadratics in five dimensions ($L=1$, $\mu=0.1$). Nothing is sampled:
    means and second moments are propagated exactly (`simulations/exact/linear.py`). The same recursion has a *spectral
    radius*, the factor by which expected squares change per round in the long run.
    """)
    return


@app.cell(hide_code=True)
def _():
    variant = mo.ui.dropdown(
        ["as printed", "damped by the best alpha", "sign of (63)", "divisor 1/m, half of the clients"],
        value="as printed",
        label="FedCOMGATE",
    )
    q_gate = mo.ui.slider(0.0, 4.0, 0.1, value=1.5, label="$q$", show_value=True)
    eta_gate = mo.ui.slider(0.02, 0.2, 0.02, value=0.1, label=r"$\eta$ ($\tau=5$)", show_value=True)
    mo.hstack([variant, q_gate, eta_gate], justify="start", wrap=True)
    return eta_gate, q_gate, variant


@app.cell
def _(eta_gate, q_gate, variant):
    def gate(variant, q, eta):
        """Algorithm 2 in one of its forms, with a compressor of variance factor q and shared coins."""
        changed = {
            "as printed": {},
            "damped by the best alpha": {"damping": None},
            "sign of (63)": {"sign": -1},
            "divisor 1/m, half of the clients": {"divisor": "clients", "k": 0.5},
        }[variant]
        return FedCOMGATE(5, eta, compressor=with_q(q), **changed)

    chosen = gate(variant.value, q_gate.value, eta_gate.value)
    exact = expectation(quadratics(), chosen, rounds=200, x0=1.0, record=("dist2",))
    radius = float(spectral_radius(quadratics(), chosen)[0])
    return exact, gate, radius


@app.cell(hide_code=True)
def _(exact, q_gate, radius, variant):
    def _draw(axis):
        squares = exact.dist2.isel(step_size=0).values.ravel()
        axis.plot(np.arange(squares.size), np.sqrt(np.maximum(squares, 0)), color=BLUE)
        axis.set(
            yscale="log",
            ylim=(1e-6, 1e6),
            xlabel="rounds",
            ylabel=r"$(\mathbb{E}\|w^{(r)}-w^*\|^2)^{1/2}$",
            title=f"{variant.value}, q = {q_gate.value:g}\nspectral radius {radius:.4g}",
        )

    drawn(_draw)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 5.7.** From which $q$ on does the printed algorithm diverge here, at small step sizes? Predict it from the recursion
    of $e_j$. The check bisects for the $q$ at which the spectral radius at $\eta=0.05$ passes 1, and allows 5 %.
    """)
    return


@app.cell
def _():
    # student: critical_q = ...  # your turn
    # solution
    critical_q = 1.0  # the error of the tracking is multiplied by q a round
    # end
    return (critical_q,)


@app.cell(hide_code=True)
def _(critical_q, gate):
    def _crossing():
        low, high = 0.0, 4.0
        for _ in range(12):
            middle = (low + high) / 2
            stable = spectral_radius(quadratics(), gate("as printed", middle, 0.05))[0] < 1
            low, high = (middle, high) if stable else (low, middle)
        return low

    answer_7 = check(
        "5.7",
        critical_q,
        lambda: _crossing(),
        at=[()],
        tolerance=0.05,
        hint="Without damping the expected squared error is multiplied by the same factor in each round. When does it stop shrinking?",
    )
    answer_7
    return (answer_7,)


@app.cell(hide_code=True)
def _(alpha, answer_7, gate, tracking_factor):
    _qs = np.linspace(0, 4, 17)

    def _draw(axis):
        for name, colour in (("as printed", RED), ("damped by the best alpha", BLUE)):
            radii = [float(spectral_radius(quadratics(), gate(name, float(q), 0.05))[0]) for q in _qs]
            axis.plot(_qs, radii, color=colour, marker=".", label=name)
        axis.axhline(1, color=GREY, lw=1, ls=":")
        axis.set(xlabel="variance factor $q$", ylabel="spectral radius", title=r"exact, $\eta=0.05$, $\tau=5$")
        axis.legend()

    mo.vstack(
        [
            after(
                answer_7,
                rf"""
    As printed, with $\alpha=1$, the factor per round is ${sympy.latex(sympy.simplify(tracking_factor.subs(alpha, 1)))}$.
    """,
                drawn(_draw),
            ),
            mo.md(r"""
    The paper's Theorem E.6 covers every $q$ under its condition (78). An exact expectation inside the condition refutes it. For the
    damped algorithm there is a corrected theorem, with a proof. Choose one, and sharpen the corrected one.
    """),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    which_E6 = mo.ui.dropdown(["fedcom.thmE6", "fedcom.thmE6.corrected"], value="fedcom.thmE6", label="statement")
    times_E6 = mo.ui.slider(0.1, 1.0, 0.1, value=1.0, label="all terms times", show_value=True)
    mo.hstack([which_E6, times_E6], justify="start", wrap=True)
    return times_E6, which_E6


@app.cell(hide_code=True)
def _(times_E6, which_E6):
    _changed = scaled(which_E6.value, sympy.Rational(str(times_E6.value)))
    told(put(which_E6.value, "moments", _changed), "moments: exact expectation of whole runs")
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            mo.md(r"""
    The damping is not the only thing. The figure `fedcom_algorithms_printed_and_corrected`, drawn now, shows four printed errors
    and their repair: the divisor of Algorithm 4, the sign of (63), the memory rule (9), the tracking.
    """),
            regenerated("fedcom_algorithms_printed_and_corrected"),
        ]
    )
    return


@app.cell(hide_code=True)
def _():
    mo.vstack(
        [
            told(put("fedcom.thmE4.items", "derivation"), "fedcom.thmE4.items, with (63)"),
            mo.md(r"""
    Algorithm 4 lets $|S|=km$ clients take part and still divides by $m$. Then
    $\frac1m\sum_j\delta_j=c\,(w^{(0)}-w^{(r)})$ with $c=\frac{1-k}{\eta\gamma\tau}$, and the model rests where this is equal to the gradient. It
    stays near its starting point.

    **Exercise 5.8.** Two clients $\tfrac h2(w\mp a)^2$, so $f'(w)=hw$. Where does the printed algorithm rest, from $w^{(0)}=w_0$, for
    $k=\tfrac12$? The check runs 400 rounds.
    """),
        ]
    )
    return


@app.cell
def _():
    def resting_point(h, w0, eta, gamma, tau):
        # student: return ...  # your turn: solve h w = c (w0 - w)
        # solution
        c = 0.5 / (eta * gamma * tau)
        return c * w0 / (h + c)
        # end

    return (resting_point,)


@app.cell(hide_code=True)
def _(resting_point):
    def _rested(h, w0, eta, gamma, tau):
        two = Quadratic(np.full((2, 1, 1), h), np.array([[-h], [h]]))
        printed = FedCOMGATE(tau, eta, gamma=gamma, divisor="clients", k=0.5)
        data = run(two, printed, rounds=400, seeds=[0], x0=w0, record=("dist2",))
        return float(np.sqrt(data.dist2.isel(round=-1).item()))  # the minimiser is 0

    answer_8 = check(
        "5.8",
        resting_point,
        _rested,
        at=[(1.0, 2.0, 0.2, 1.0, 2), (0.5, 3.0, 0.1, 1.0, 3)],
        tolerance=1e-5,
        hint=r"The model rests where $h\,w=c\,(w_0-w)$ with $c=(1-k)/(\eta\gamma\tau)$. Solve for $w$.",
    )
    answer_8
    return (answer_8,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Biased compressors: when the mean is wrong

    `TopK(1)` sends the largest coordinate. For one vector that is the best possible choice. For the *mean* of several clients
    it can be the worst. Three clients (Beznosikov et al., *On biased compression for distributed learning*),
    $f_j(x)=\langle a_j,x\rangle^2+\tfrac14\|x\|^2$ with $a_1=(-3,2,2)$, $a_2=(2,-3,2)$, $a_3=(2,2,-3)$. At $x=t(1,1,1)$:
    """)
    return


@app.cell
def _():
    t = sympy.Symbol("t", positive=True)
    vectors = [sympy.Matrix(v) for v in ((-3, 2, 2), (2, -3, 2), (2, 2, -3))]
    start = sympy.Matrix([t, t, t])
    client_gradients = [2 * a.dot(start) * a + start / 2 for a in vectors]
    return client_gradients, t


@app.cell(hide_code=True)
def _(client_gradients, t):
    _half = [sympy.latex((2 * g / t).T.applyfunc(sympy.simplify)) for g in client_gradients]
    _mean = sympy.simplify(sum(client_gradients[1:], client_gradients[0])[0] / 3)
    mo.md(rf"""
    That is $\nabla f_1=\tfrac t2{_half[0]}$, $\nabla f_2=\tfrac t2{_half[1]}$, $\nabla f_3=\tfrac t2{_half[2]}$.
    Every client's largest coordinate has the wrong sign. The mean of the three gradients is
    ${sympy.latex(_mean)}\,(1,1,1)$: a step against it goes towards 0. The messages of `TopK(1)` have another mean.

    **Exercise 5.9.** By which factor does a step of size $\eta$ multiply $x=t(1,1,1)$ when `TopK(1)` compresses the gradients?
    The check runs FedCOM with $\tau=1$.
    """)
    return


@app.cell
def _():
    def growth(eta):
        # student: return ...  # your turn
        # solution
        return 1 + 11 * eta / 6  # each coordinate is sent by one client of three: x_i - eta (1/3)(-11 t / 2)
        # end

    return (growth,)


@app.cell
def _():
    _a = np.array([[-3.0, 2.0, 2.0], [2.0, -3.0, 2.0], [2.0, 2.0, -3.0]])
    three = Quadratic(2 * np.einsum("mi,mj->mij", _a, _a) + 0.5 * np.eye(3), np.zeros((3, 3)))
    return (three,)


@app.cell(hide_code=True)
def _(growth, three):
    def _grown(eta):
        data = run(three, FedCOM(1, eta, compressor=TopK(1)), rounds=5, seeds=[0], x0=1.0, record=("dist2",))
        squares = data.dist2.values.ravel()
        return float(np.sqrt(squares[-1] / squares[-2]))

    answer_9 = check(
        "5.9",
        growth,
        _grown,
        at=[(0.01,), (0.002,), (0.3,)],
        hint="At $x=t(1,1,1)$ each coordinate is sent by exactly one of the three clients. Read its value off the gradients above, divide by 3, and make the step.",
    )
    answer_9
    return (answer_9,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    It grows for *every* $\eta>0$, however small. Unbiased `RandK(1)` sends the same number of bits. It is noisier in each step and
    converges.

    An *error memory* repairs the bias. A client keeps what a message left out and adds it to the next one,
    $\nu_j\leftarrow\nu_j+u_j-\text{sent}_j$. Nothing is lost, it only comes late. (The paper's rule (9) takes $\frac1m u_j-\text{mean sent}$ instead; it
    is one of the four errors in the figure above.)
    """)
    return


@app.cell(hide_code=True)
def _():
    eta_bias = mo.ui.slider(0.002, 0.02, 0.002, value=0.01, label=r"$\eta$", show_value=True)
    eta_bias
    return (eta_bias,)


@app.cell(hide_code=True)
def _(eta_bias, three):
    def _draw(axis):
        for algorithm, colour, style, label in (
            (FedCOM(1, eta_bias.value, compressor=TopK(1)), RED, "-", "TopK(1)"),
            (FedCOM(1, eta_bias.value, compressor=RandK(1)), GREEN, "-", "RandK(1), one seed"),
            (FedCOM(1, eta_bias.value, compressor=Identity()), BLACK, "-", "uncompressed"),
            (
                SparseFedCOMGATE(1, eta_bias.value, compressor=TopK(1), form="corrected"),
                BLUE,
                "--",
                "TopK(1) with memory (Algorithm 5, corrected)",
            ),
        ):
            data = run(three, algorithm, rounds=500, seeds=[0], x0=1.0, record=("dist2",))
            axis.plot(data["round"], np.sqrt(data.dist2.values.ravel()), color=colour, ls=style, label=label)
        axis.set(yscale="log", ylim=(1e-4, 1e4), xlabel="rounds", ylabel=r"$\|x^{(r)}-x^*\|$")
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn(_draw, width=8.5, height=3.3)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Exercise 5.10.** `RandK(1)` has $q=2$ here and `TopK(1)` loses at most $1-\tfrac13$ of the squared norm, whichever vector it gets. So `TopK(1)`
    is the better compressor of one vector. Explain in three sentences why it diverges nevertheless. Which line of the proof for
    unbiased compressors fails?
    """)
    return


@app.cell(hide_code=True)
def _():
    # student: mo.md("*Write your explanation here.*")
    # solution
    mo.md(r"""
    *Solution.* An error bound on each message says nothing about the sum of the errors. Unbiased errors have mean zero and average
    out. Those of `TopK` are a function of the gradient and can all point the same way. Here every client drops the two coordinates
    that would outvote the third. The proof uses $\mathbb E\langle\nabla f,\frac1m\sum_jQ(g_j)\rangle=\|\nabla f\|^2$, which is unbiasedness; for
    `TopK` this inner product is negative at $x=t(1,1,1)$. A memory repairs it: the client sends later what it dropped. So over the rounds the
    sum of what is sent follows the sum of the updates.
    """)
    # end
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Gap against bits

    Bits cost, not rounds. Ten different clients in 20 dimensions run the damped FedCOMGATE, and each client may send the same
    number of bits. Each compressor has the best step size of a grid (the smallest gap at the end of the budget).
    """)
    return


@app.cell(hide_code=True)
def _():
    tau_bits = mo.ui.dropdown([1, 5, 10], value=5, label=r"local steps $\tau$")
    noise_bits = mo.ui.dropdown({"none": 0.0, "sigma = 0.1": 0.1, "sigma = 1": 1.0}, value="sigma = 0.1", label="noise")
    mo.hstack([tau_bits, noise_bits], justify="start", wrap=True)
    return noise_bits, tau_bits


@app.cell
def _(noise_bits, tau_bits):
    budget, d = 20_000, 20
    different = generate(d, 10, L=1.0, mu=0.1, delta=0.2, zeta_star=1.0, sigma=noise_bits.value, seed=0)
    grid = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6]

    def best_run(compressor):
        """Bits sent, mean gap over 3 seeds, with the step size that is best when the budget is spent; and that step size."""
        rounds = int(budget / compressor.bits(d))
        method = FedCOMGATE(tau_bits.value, [eta / tau_bits.value for eta in grid], compressor=compressor, damping=None)
        gap = run(different, method, rounds=rounds, seeds=range(3), x0=1.0, record=("gap",)).gap.mean(
            "seed", skipna=False
        )
        last = np.where(np.isfinite(gap.isel(round=-1)), gap.isel(round=-1), np.inf)
        best = int(np.argmin(last))
        return gap["round"].values * compressor.bits(d), gap.isel(step_size=best).values, grid[best]

    raced = {Q.name: best_run(Q) for Q in (Identity(), RandK(10), RandK(2), QSGD(4), QSGD(1), StochasticSign())}
    return (raced,)


@app.cell(hide_code=True)
def _(raced):
    def _draw(axis):
        for (name, (bits, gap, eta)), colour in zip(
            raced.items(), (BLACK, SKY, BLUE, ORANGE, GREEN, PURPLE), strict=True
        ):
            label = name.replace(", shared=False", "")
            axis.plot(bits / 1000, np.maximum(gap, 1e-16), color=colour, label=rf"{label}, $\tau\eta$ = {eta:g}")
        axis.set(
            yscale="log",
            ylim=(max(1e-12, 0.3 * min(gap.min() for _, gap, _ in raced.values())), 20),
            xlabel="uplink bits per client (kbit)",
            ylabel=r"$\mathbb{E}\,f(w)-f(w^*)$, 3 seeds",
        )
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn(_draw, width=8.5, height=3.6)
    return


@app.cell(hide_code=True)
def _(raced):
    _order = sorted(raced, key=lambda name: raced[name][1][-1])
    mo.md(
        "Smallest gap first, when the budget is spent: "
        + ", ".join(f"`{name.replace(', shared=False', '')}` {raced[name][1][-1]:.2g}" for name in _order)
        + f". Sending everything is number {_order.index('Identity()') + 1} of {len(_order)}."
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Compare "none" with "sigma = 1". Without noise only the speed counts. With noise each curve comes to a floor; a smaller step size
    lowers the floor and costs speed. The messages from the server, uncompressed here, are not in the picture. Compression does
    not always pay: a compressor with a large $q$ saves bits and needs a small step size.

    **To take away.** (1) A compressor is a law: mean, $q$ and bits follow from it. (2) The mean over $m$
    clients reduces the noise of compression only if their coins are independent. (3) Tracking from compressed messages needs a
    small $q$ or the right damping. (4) A spectral radius says exactly whether an algorithm is stable
    on quadratics. (5) A biased compressor can be better for every single message and diverge for their mean; a memory of what was left
    out repairs this. (6) Compare by bits, not by rounds.
    """)
    return


@app.cell(hide_code=True)
def _(answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7, answer_8, answer_9):
    answers = [answer_1, answer_2, answer_3, answer_4, answer_5, answer_6, answer_7, answer_8, answer_9]
    mo.md("**Your exercises:** " + ", ".join(f"{a.exercise} {a.standing}" for a in answers))
    return (answers,)


if __name__ == "__main__":
    app.run()
