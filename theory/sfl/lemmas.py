"""Technical lemmas: martingale variance, sampling, and the two recursions (Appendices C.3, D.1.3, D.2.1)."""

from __future__ import annotations

from sympy import Ge, IndexedBase, Le, Max, Min, Rational, Sum, exp, log

from fedtheory.theory.notation import Expectation, Grad, Inner, Norm, Value, equal
from fedtheory.theory.sfl.setting import cases, smooth, unbiased, variance
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Words, at_most, equal_to, implied, relations, soft_order

E = Expectation
xi, ei = IndexedBase("x_seq", real=True)[i], IndexedBase("e", real=True)[i]  # Lemma 1
units = IndexedBase("x_pi", real=True)  # Lemmas 3, 4

sfl.lemma(
    name="lemma1",
    place="Appendix C.3, Lemma 1, (20)",
    claim=relations(
        equal(E(Norm(Sum(xi - ei, (i, 1, n))) ** 2), Sum(E(Norm(xi - ei) ** 2), (i, 1, n))),
        Le(Sum(E(Norm(xi - ei) ** 2), (i, 1, n)), n * sigma**2),
        words="x_i a function of xi_1 ... xi_i with conditional expectation e_i and conditional variance at most sigma^2",
    ),
    given=[unbiased, variance],
)

sfl.lemma(
    name="lemma2",
    place="Appendix C.3, Lemma 2, (21)",
    claim=relations(
        Ge(
            Inner(Grad(h, x), z - y),
            Value(h, z) - Value(h, y) + mu / 4 * Norm(y - z) ** 2 - L * Norm(z - x) ** 2,
        ),
        words="h L-smooth and mu-strongly convex; any x, y, z",
    ),
    when=[implied(mu <= L, "implied: an L-smooth function is mu-strongly convex with mu <= L")],
    given=[smooth, cases],
    rests_on=["three_point", "eq15", "eq16", "eq19"],
)

# Lemma 3: simple random sampling

_sampling = [implied(n >= 2, "implied: the printed n - 1 divides")]

sfl.lemma(
    name="lemma3",
    place="Appendix C.3, Lemma 3",
    claim=Words(
        "Sampling s of n fixed units leaves the mean unbiased; the sample mean has variance zeta^2/s with "
        "replacement and (n-s)/(s(n-1)) zeta^2 without, zeta^2 the population variance.",
        (zeta**2 / s, (n - s) / (s * (n - 1)) * zeta**2),
    ),
    rests_on=["lemma3.mean", "lemma3.swr", "lemma3.swor"],
    note="The display that defines the population mean and variance is missing in the transcription; restored from "
    "the proof. The statement consists of lemma3.mean, lemma3.swr and lemma3.swor.",
)
sfl.lemma(
    name="lemma3.mean",
    place="Appendix C.3, Lemma 3, (22) and (23), left",
    claim=relations(equal(E(xbar_pi), xbar), words="with and without replacement"),
)
sfl.lemma(
    name="lemma3.swr",
    place="Appendix C.3, Lemma 3, (22)",
    claim=equal_to(var_swr, variance=zeta**2 / s),
    rests_on=["lemma3.mean"],
)
sfl.lemma(
    name="lemma3.swor",
    place="Appendix C.3, Lemma 3, (23)",
    claim=equal_to(var_swor, variance=(n - s) / (s * (n - 1)) * zeta**2),
    when=[*_sampling, implied(s <= n, "implied: without replacement")],
    rests_on=["lemma3.mean", "lemma3.cov"],
)
sfl.lemma(
    name="lemma3.cov",
    place="Appendix C.3, proof of Lemma 3, (24)",
    claim=equal_to(cov_pq, covariance=-(zeta**2) / (n - 1)),
    when=[implied(n >= 2, "implied: two different draws")],
)
sfl.lemma(
    name="lemma3.ratio",
    place="Appendix C.3, end of the proof of Lemma 3",
    claim=Words(
        "When n is infinite (or large enough), the ratio of the variances without and with replacement (the first formula) "
        "is about the second.",
        ((n - s) / (n - 1), 1 - s / n),
    ),
    rests_on=["lemma3.swr", "lemma3.swor"],
    note="Printed with an approximation sign, so it is no equation here; the quotient of the two formulas tends to 1.",
)

# Lemma 4

_four = [S <= M, M >= 2]
partial_sums_most = sfl.symbol(
    "partial_sums_most", r"\mathrm{right}", "right-hand side of (25)", sfl.symbols["partial_sums"].dimension
)

sfl.lemma(
    name="lemma4",
    place="Appendix C.3, Lemma 4, (25)",
    claim=at_most(partial_sums, bound=Rational(1, 2) * S**2 * K**3 * zeta**2),
    when=[S <= M],
    rests_on=["lemma4.lhs", "lemma4.rhs", "lemma4.sum", "lemma4.closed_form"],
)
sfl.definition(
    name="lemma4.lhs",
    place="Appendix C.3, Lemma 4, left side of (25)",
    claim=relations(
        equal(
            partial_sums,
            Sum(
                Sum(E(Norm(K * Sum(units[i] - xbar, (i, 1, m - 1)) + k * (units[m] - xbar)) ** 2), (k, 0, K - 1)),
                (m, 1, S),
            ),
        ),
        words="the inner double sum over i and j <= b_mk(i), counted: K times each earlier unit, k times the m-th",
    ),
    when=[S <= M],
    note="Conditions of Lemma 3 with n = M, without replacement; b_mk(i) = K-1 for i <= m-1, k-1 for i = m.",
)
sfl.definition(
    name="lemma4.rhs",
    place="Appendix C.3, Lemma 4, right side of (25)",
    claim=equal_to(partial_sums_most, bound=Rational(1, 2) * S**2 * K**3 * zeta**2),
    when=_four,
    note="A name for the right side; sfl.lemma4 says that the left side is at most this.",
)
sfl.step(
    name="lemma4.term",
    place="Appendix C.3, proof of Lemma 4, after (26)",
    claim=equal_to(
        partial_sum,
        earlier_clients=(m - 1) * (M - (m - 1)) / (M - 1) * K**2 * zeta**2,
        own_steps=k**2 * zeta**2,
        covariance=-(2 * K * k * zeta**2 / (M - 1)) * (m - 1),
    ),
    when=[*_four, implied(m <= S, "implied: m-th of S clients"), implied(k <= K - 1, "implied: local step")],
    rests_on=["lemma3.swor", "lemma3.cov"],
)
sfl.step(
    name="lemma4.sum",
    place="Appendix C.3, proof of Lemma 4",
    claim=equal_to(
        partial_sums,
        first=M * K**3 * zeta**2 / (M - 1) * Sum(m - 1, (m, 1, S)),
        second=-(K**3) * zeta**2 / (M - 1) * Sum((m - 1) ** 2, (m, 1, S)),
        third=S * zeta**2 * Sum(k**2, (k, 0, K - 1)),
        fourth=-2 * K * zeta**2 / (M - 1) * Sum(m - 1, (m, 1, S)) * Sum(k**2, (k, 0, K - 1)),
    ),
    when=_four,
    rests_on=["lemma4.term"],
    note="As printed: k^2 under the last sum, but lemma4.term sums k.",
)
sfl.step(
    name="lemma4.closed_form",
    place="Appendix C.3, end of the proof of Lemma 4",
    claim=equal_to(
        partial_sums,
        first=Rational(1, 2) * S * K**2 * (S * K - 1),
        second=-Rational(1, 6) * S * K * (K**2 - 1),
        third=-S * (S - 1) / (M - 1) * (K * (2 * S - 1) / 6 - Rational(1, 2)),
    ),
    when=_four,
    rests_on=["lemma4.sum"],
    note="As printed: without zeta^2, without the factor K^2 in the third term, and with the outer sum on the left "
    "running to M instead of S.",
)

# Lemma 7

_gamma = [gamma <= 1 / d, a <= d]
_long = 1 / (2 * a * gamma) <= (T + 1)
_finite = implied(a * gamma < 1, "implied: the weights (1 - a gamma)^-(t+1) are finite")

lemma7 = sfl.assumption(
    name="lemma7",
    place="Appendix D.1.3, Lemma 7, (37)",
    claim=at_most(r_next, previous=(1 - a * gamma) * r_t, progress=-b * gamma * s_t, noise=c * gamma**2),
    when=_gamma,
    note="The hypothesis (37) of the lemma, for a constant step size gamma; its conclusions are lemma7.eq38 and "
    "lemma7.eq39. (r_t), (s_t) non-negative, b > 0, a, c >= 0, d > 0.",
)
sfl.lemma(
    name="lemma7.eq38",
    place="Appendix D.1.3, Lemma 7, (38)",
    claim=at_most(Psi_T, optimisation=3 * a * r0 * exp(-a * gamma * (T + 1)), noise=c * gamma),
    when=[*_gamma, implied(a > 0, "implied by the condition on T"), _finite, _long],
    given=[lemma7],
    where={middle: 3 * a * r0 * (1 - a * gamma) ** (T + 1) + c * gamma},
    rests_on=["lemma7", "lemma7.eq40", "lemma7.WT"],
    note="Printed as a chain Psi_T <= middle <= the last expression, and 'there exists a constant learning rate gamma'.  "
    "The last sentence of D.1.3 adds (T+1) >= 1/(2 a gamma).  It holds for every such gamma.",
)
_choice = Min(log(Max(2, a**2 * r0 * T / c)) / (a * T), 1 / d)

sfl.lemma(
    name="lemma7.eq39",
    place="Appendix D.1.3, Lemma 7, (39)",
    claim=soft_order(Psi_T, optimisation=a * r0 * exp(-a * T / d), noise=c / (a * T)),
    when=[
        *_gamma,
        _long,
        implied(T >= 1, "implied: T divides"),
        implied(c > 0, "implied: c divides"),
        implied(a < d, "implied: the weights are finite at gamma = 1/d"),
    ],
    given=[lemma7],
    where={gamma: _choice},
    rests_on=["lemma7.eq38", "lemma7.tuning"],
)
sfl.step(
    name="lemma7.eq40",
    place="Appendix D.1.3, proof of Lemma 7, (40)",
    claim=at_most(Psi_T, optimisation=r0 / (gamma * W_T), noise=c * gamma),
    when=[*_gamma, _finite],
    given=[lemma7],
    rests_on=["lemma7"],
)
sfl.step(
    name="lemma7.WT",
    place="Appendix D.1.3, proof of Lemma 7",
    claim=relations(
        equal(W_T, (1 - a * gamma) ** (-(T + 1)) * (1 - (1 - a * gamma) ** (T + 1)) / (a * gamma)),
        Le((1 - a * gamma) ** (T + 1), exp(-a * gamma * (T + 1))),
        Le(exp(-a * gamma * (T + 1)), exp(-Rational(1, 2))),
        Le(exp(-Rational(1, 2)), Rational(2, 3), evaluate=False),
        Ge(W_T, (1 - a * gamma) ** (-(T + 1)) / (3 * a * gamma)),
        Le(W_T, w_T / (a * gamma)),
        words="for (T+1) >= 1/(2 a gamma), w_t = (1 - a gamma)^-(t+1), W_T = w_0 + ... + w_T",
    ),
    when=[*_gamma, _finite, _long],
)
sfl.step(
    name="lemma7.tuning",
    place="Appendix D.1.3, end of the proof of Lemma 7",
    claim=equal_to(gamma, choice=_choice),
    when=[
        a <= d,
        implied(T >= 1, "implied: T divides"),
        implied(a > 0, "implied: a divides"),
        implied(c > 0, "implied: c divides"),
    ],
    note="The logarithm if it is below 1/d; otherwise gamma = 1/d, with 1/(2a(T+1)) <= 1/d.",
)

# Lemma 8

lemma8 = sfl.assumption(
    name="lemma8",
    place="Appendix D.2.1, Lemma 8",
    claim=at_most(
        r_next, previous=r_t, progress=-b * gamma * s_t, second_order=c1 * gamma**2, third_order=c2 * gamma**3
    ),
    when=[gamma <= 1 / d],
    note="The hypothesis of the lemma, for a constant step size gamma; its conclusions are lemma8.eq44, lemma8.eq45.",
)
sfl.lemma(
    name="lemma8.eq44",
    place="Appendix D.2.1, Lemma 8, (44)",
    claim=at_most(Psi_T, optimisation=r0 / (gamma * (T + 1)), second_order=c1 * gamma, third_order=c2 * gamma**2),
    when=[gamma <= 1 / d],
    given=[lemma8],
    rests_on=["lemma8"],
)
sfl.lemma(
    name="lemma8.eq45",
    place="Appendix D.2.1, Lemma 8, (45)",
    claim=at_most(
        Psi_T,
        second_order=2 * c1 ** Rational(1, 2) * (r0 / (T + 1)) ** Rational(1, 2),
        third_order=2 * c2 ** Rational(1, 3) * (r0 / (T + 1)) ** Rational(2, 3),
        optimisation=d * r0 / (T + 1),
    ),
    when=[
        implied(r0 > 0, "implied: at r_0 = 0 the bound counts in the limit"),
        *(implied(x > 0, "implied: the choice of gamma divides by it; at 0 it counts in the limit") for x in (c1, c2)),
    ],
    where={
        gamma: Min(
            (r0 / (c1 * (T + 1))) ** Rational(1, 2),
            (r0 / (c2 * (T + 1))) ** Rational(1, 3),
            1 / d,
        )
    },
    given=[lemma8],
    rests_on=["lemma8.eq44"],
    note="'By tuning the learning rate': for some gamma in (0, 1/d].  The printed choice is 0 at r_0 = 0, and divides by "
    "zero at c_1 = 0 or c_2 = 0; there the square or the cube root counts as infinite.",
)
