"""Problem, algorithms, assumptions, and the basic identities and inequalities (Sections 1-3, Appendices A and C.2)."""

from __future__ import annotations

import sympy
from sympy import Ge, IndexedBase, Le, Ne, Rational, Sum

from fedtheory.theory.notation import Bregman, Expectation, Grad, Inner, Norm, Value, equal
from fedtheory.theory.properties import Property
from fedtheory.theory.sfl import algorithms
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Application, Words, X, relations

xi = IndexedBase("x", real=True)[i]  # x_i
mean_xi = Sum(xi, (i, 1, n)) / n

# Section 1

problem = sfl.setting(
    name="problem",
    place="Section 1, problem formulation",
    claim=relations(
        equal(Value(F_fun, x), Sum(Value(F_m, x), (m, 1, M)) / M),
        equal(Value(F_m, x), Expectation(Value(f_m, x))),
        words="minimise F over R^d; the expectation is over xi ~ D_m; with finite data F_m is the mean over the samples",
    ),
    gives={Property.EQUAL_WEIGHTS: ()},
)

alg1 = sfl.algorithm(
    name="alg1",
    place="Section 1, Algorithm 1",
    claim=algorithms.SEQUENTIAL,
    note="The transcription interleaves Algorithms 1 and 2; repaired. The output is the first line of the listing, without "
    "a number. Partial participation (Appendix D): only pi_1, ..., pi_S, and x^(r+1) = x_{S,K}.",
    gives={Property.SAMPLING: ()},
)
sfl.background = (problem, alg1)

sfl.algorithm(
    name="alg2",
    place="Section 1, Algorithm 2",
    claim=algorithms.PARALLEL,
    note="The transcription interleaves Algorithms 1 and 2; repaired. Partial participation (Appendix E): the average "
    "over pi_1, ..., pi_S.",
)

sfl.algorithm(
    name="alg3",
    place="Appendix A, Algorithm 3 (server side)",
    claim=algorithms.SERVER,
    note="Line 5 is transcribed without the client index of x_s^(r,tau_{m-1}); read x_{s,m-1}^(r,tau_{m-1}).",
)

sfl.algorithm(
    name="alg4",
    place="Appendix A, Algorithm 4 (client side)",
    claim=algorithms.CLIENT,
    note="The inventory reports line 5 as 'send the gradient ... to the server'; the text sends (A, Y), which is right. "
    "The text's line numbers are off by one from line 5 on; repaired.",
)

x_SFL, x_PFL, x_SSL, x_SplitFed = (
    sfl.symbol(f"x_{name}", rf"\mathbf{{x}}^{{(r)}}_{{\mathrm{{{name}}}}}", f"parameters after r rounds of {name}", X)
    for name in ("SFL", "PFL", "SSL", "SplitFed")
)
sfl.claim(
    name="claim.ssl_equiv",
    place="Appendix A, 'Applicable to SL'",
    claim=Words(
        "SSL and SplitFed share the same update rules with SFL (Algorithm 1) and PFL (Algorithm 2) respectively, and "
        "hence the same convergence results.",
        (equal(x_SSL, x_SFL), equal(x_SplitFed, x_PFL)),
    ),
    rests_on=["alg1", "alg2", "alg3", "alg4"],
    note="The formulas express the sentence: x = [x_c; x_s] after any number of rounds, from the same start, orders and "
    "samples.  Table 4 and Algorithms 3 and 4 have tau_m local steps at client pi_m, Algorithms 1 and 2 have K at all.",
)

tau_m = sfl.symbol(
    "tau_m", r"\tau_m", "number of local steps with client pi_m (Appendix A)", integer=True, positive=True
)
sfl.correct(
    "claim.ssl_equiv",
    when=[equal(tau_m, K)],
    note="With the same number of local steps at every client.",
)

sfl.claim(
    name="claim.biased",
    place="Section 2, 'Challenges'",
    claim=Words(
        "For any pair of indices m and k (except m = 1 and k = 0) within a round, the stochastic gradient is not a "
        "(conditionally) unbiased estimator of the global objective.",
        (Ne(Expectation(Grad(f_pi_m, x_mk)), Grad(F_fun, x_mk)),),
    ),
    rests_on=["alg1"],
    note="As printed: estimator of the global objective; an estimator of its gradient is meant.",
)

# Section 3.1: assumptions

lower_bounded = sfl.assumption(
    name="asm.lower",
    place="Section 3.1, (i)",
    claim=relations(
        Ge(Value(F_fun, x), F_star),
        equal(Value(F_fun, x_star), F_star),
        words="F is lower bounded by F*; in the convex cases there is a minimiser x* with F(x*) = F*",
    ),
    gives={Property.BOUNDED_BELOW: (), Property.MINIMISER: ()},
)
cases = sfl.assumption(
    name="asm.cases",
    place="Section 3",
    claim=relations(
        Ge(Bregman(F_m, x, y), mu / 2 * Norm(x - y) ** 2),
        words="all F_m are mu-strongly convex; or all are convex (mu = 0); or all are non-convex",
    ),
    gives={Property.STRONGLY_CONVEX: (mu,)},
)
smooth = sfl.assumption(
    name="asm.smooth",
    place="Assumption 1",
    claim=relations(
        Le(Norm(Grad(F_m, x) - Grad(F_m, y)), L * Norm(x - y)), words="for all x, y, for every client m; L > 0"
    ),
    gives={Property.SMOOTH: (L,)},
)
unbiased = sfl.assumption(
    name="asm.unbiased",
    place="Section 3.1",
    claim=relations(
        equal(Expectation(Value(f_m, x)), Grad(F_m, x)),
        words="samples are drawn with replacement, so the stochastic gradient is a (conditionally) unbiased estimate",
    ),
    note="As printed: the nabla in front of f_m is missing on the left.",
    gives={Property.UNBIASED: ()},
)
variance = sfl.assumption(
    name="asm.variance",
    place="Assumption 2, (1)",
    claim=relations(Le(Expectation(Norm(Grad(f_m, x) - Grad(F_m, x)) ** 2), sigma**2), words="for every client m"),
    gives={Property.VARIANCE: (sigma,)},
)
independent = sfl.assumption(
    name="asm.independent",
    place="Section 2, 'Challenges'; Appendix E.1.1, (66)",
    claim=relations(
        equal(Expectation(Norm(own_m + noise_j) ** 2), Expectation(Norm(own_m) ** 2) + Expectation(Norm(noise_j) ** 2)),
        words="in PFL the local updates across clients are mutually independent when conditional on all the randomness "
        "prior to the round: E<a_m, n_j> = 0 for any two clients, and whatever client m computes in the round from its "
        "own samples",
    ),
    note="No numbered assumption; (66), and with it Theorem 2, uses it for the noise of client m, so that the noise of two "
    "clients is uncorrelated.  Our sharper proofs use it for gradients of client m, too.",
    gives={Property.INDEPENDENT_NOISE: ()},
)
heterogeneity = sfl.assumption(
    name="asm.het_a",
    place="Assumption 3a, (2)",
    claim=relations(
        Le(
            Sum(Norm(Grad(F_m, x) - Grad(F_fun, x)) ** 2, (m, 1, M)) / M,
            beta**2 * Norm(Grad(F_fun, x)) ** 2 + zeta**2,
        ),
        words="non-convex case; beta and zeta are zero when all local objectives are identical",
    ),
    gives={Property.HETEROGENEITY: (beta, zeta)},
)
heterogeneity_at_optimum = sfl.assumption(
    name="asm.het_b",
    place="Assumption 3b, (3)",
    claim=relations(
        equal(Sum(Norm(Grad(F_m, x_star)) ** 2, (m, 1, M)) / M, zeta_star**2),
        words="convex cases, at one global minimiser x*; stated to be weaker than Assumption 3a",
    ),
    gives={Property.HETEROGENEITY_AT_OPTIMUM: (zeta_star,)},
)

# Appendix C.2: identities and inequalities

E = Expectation

sfl.identity(
    name="eq12",
    place="Appendix C.2, (12)",
    claim=relations(equal(E(Norm(x - E(x)) ** 2), E(Norm(x) ** 2) - Norm(E(x)) ** 2), words="any random vector x"),
)
sfl.identity(
    name="eq13",
    place="Appendix C.2, (13)",
    claim=relations(
        equal(
            Sum(Norm(xi - mean_xi) ** 2, (i, 1, n)) / n,
            Sum(Norm(xi) ** 2, (i, 1, n)) / n - Norm(mean_xi) ** 2,
        ),
        words="any vectors x_1 ... x_n",
    ),
    rests_on=["eq12"],
)
sfl.inequality(
    name="eq14",
    place="Appendix C.2, (14)",
    claim=relations(Le(Value(h, mean_xi), Sum(Value(h, xi), (i, 1, n)) / n), words="Jensen: any convex h, any vectors"),
    given=[cases],
)
sfl.inequality(
    name="eq15",
    place="Appendix C.2, (15)",
    claim=relations(Le(Norm(mean_xi) ** 2, Sum(Norm(xi) ** 2, (i, 1, n)) / n), words="any vectors x_1 ... x_n"),
    rests_on=["eq14"],
)
sfl.definition(
    name="bregman",
    place="Appendix C.2",
    claim=relations(
        equal(Bregman(h, x, y), Value(h, x) - Value(h, y) - Inner(Grad(h, y), x - y)),
        words="Bregman divergence; non-negative when h is convex",
    ),
)
sfl.identity(
    name="three_point",
    place="Appendix C.2",
    claim=relations(
        equal(Bregman(h, z, x) + Bregman(h, x, y) - Bregman(h, z, y), Inner(Grad(h, y) - Grad(h, x), z - x)),
        words="three-point identity",
    ),
    rests_on=["bregman"],
)
sfl.inequality(
    name="eq16",
    place="Appendix C.2, (16)",
    claim=relations(Le(Bregman(h, x, y), L / 2 * Norm(x - y) ** 2), words="h L-smooth"),
    given=[smooth],
    rests_on=["bregman"],
)
sfl.inequality(
    name="eq17",
    place="Appendix C.2, (17)",
    claim=relations(
        Le(Norm(Grad(h, x)) ** 2, 2 * L * (Value(h, x) - h_star)), words="h L-smooth and bounded below by h_*"
    ),
    given=[smooth, lower_bounded],
    rests_on=["eq16"],
)
sfl.inequality(
    name="eq18",
    place="Appendix C.2, (18)",
    claim=relations(Ge(Bregman(h, x, y), Norm(Grad(h, x) - Grad(h, y)) ** 2 / (2 * L)), words="h L-smooth and convex"),
    given=[smooth, cases],
    rests_on=["bregman"],
)
sfl.definition(
    name="sc_equiv",
    place="Appendix C.2",
    claim=relations(
        equal(Value(h, x), Value(g_fun, x) + mu / 2 * Norm(x) ** 2),
        words="h is mu-strongly convex if and only if such a convex g exists",
    ),
)
sfl.inequality(
    name="eq19",
    place="Appendix C.2, (19)",
    claim=relations(Le(mu / 2 * Norm(x - y) ** 2, Bregman(h, x, y)), words="h mu-strongly convex"),
    given=[cases],
    rests_on=["bregman", "sc_equiv"],
)

# ------------------------------------------------------------------------------------- what the theorems' proofs apply


def by_lemma7(noise: sympy.Expr, drift: sympy.Expr) -> Application:
    """Lemma 7 for a recursion with these terms; 'can also be applied' where there is a term of gamma^3."""
    at = {"a": mu / 2, "b": Rational(1, 3), "c": noise, "c2": drift, "d": 6 * L, "r0": D**2, "T": R}
    return Application("sfl.lemma7", at, "sfl.lemma7.eq39")


def by_lemma8(noise: sympy.Expr, drift: sympy.Expr, d: sympy.Expr, r0: sympy.Expr) -> Application:
    """Lemma 8 for a recursion with these terms, a step of at most 1/d, and this start."""
    at = {"b": Rational(1, 3), "c1": noise, "c2": drift, "d": d, "r0": r0, "T": R}
    return Application("sfl.lemma8", at, "sfl.lemma8.eq45")
