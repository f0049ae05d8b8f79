"""Sections 2 to 4: objective and aggregation, the operator, Algorithm 1, assumptions."""

from __future__ import annotations

from sympy import Abs, Ge, Gt, IndexedBase, Le, Ne, Piecewise, Rational, Sum, erf, exp, floor, sqrt

from fedtheory.theory.fedbat import algorithms
from fedtheory.theory.fedbat.symbols import *
from fedtheory.theory.notation import Expectation, Grad, Inner, Norm, Value, equal
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import NUMBER, Words, X, equal_to, implied, relations

E = Expectation
_p, _p_prime, _F, _F_star, _w, _m_hat = (
    IndexedBase(symbol.name, real=True) for symbol in (p, p_prime, F_i, F_i_star, w_i, m_hat_i)
)
_update = IndexedBase("m_i", real=True)

# ------------------------------------------------------------------------------- Section 2: objective and aggregation

objective = fedbat.definition(
    name="eq1",
    place="Section 2, (1)",
    claim=relations(
        equal(Value(F_fun, w), Sum(_p[k] * Value(_F[k], w), (k, 1, N))),
        equal(Sum(_p[k], (k, 1, N)), 1),
        words="the objective, p_k client k's share of the data",
    ),
    gives={Property.WEIGHTS: ()},
)
fedbat.definition(
    name="eq2",
    place="Section 2, (2)",
    claim=relations(
        equal(w_next, w_t + Sum(_p_prime[k] * (_w[k] - w_t), (k, 1, K))),
        equal(Sum(_p_prime[k], (k, 1, K)), 1),
        words="K clients sampled at random, p'_k = p_k / sum of the sampled p_k",
    ),
    note="k counts the sampled clients here.  If the p_k differ, the mean of the right side over the samples is not the "
    "mean over all clients.",
)
fedbat.definition(
    name="eq3",
    place="Section 2, (3)",
    claim=relations(
        equal(w_next, w_t + Sum(_p_prime[k] * _m_hat[k], (k, 1, K))),
        equal(m_hat, alpha * sign_m),
        words="the same with SignSGD; signs {-1, 1} are sent as {0, 1}, which compresses the uplink by a factor of 32",
    ),
    rests_on=["eq2"],
)
fedbat.definition(
    name="eq4",
    place="Section 3.1, (4)",
    claim=Words("A client's objective in a round, without binarisation: min over m of F_k(w_t + m)."),
)
fedbat.definition(
    name="eq5",
    place="Section 3.1, (5)",
    claim=Words("With learnable binarisation: min over m and alpha of F_k(w_t + S(m, alpha))."),
    rests_on=["eq6"],
    note="S is random, but no expectation is printed in front of F_k.",
)

# ------------------------------------------------------------------------------------------ Section 3.2: the operator

drawn = alpha * (2 * floor((alpha + x) / (2 * alpha) + zeta) - 1)
fedbat.definition(
    name="eq6",
    place="Section 3.2, (6)",
    claim=relations(
        equal(S_value, Piecewise((alpha, x > alpha), (S_noisy, x >= -alpha), (-alpha, True))), words="for every entry"
    ),
    rests_on=["eq7"],
    note="One alpha for all entries of a layer.",
)
fedbat.definition(
    name="eq7",
    place="Section 3.2, (7)",
    claim=relations(equal(S_noisy, drawn), words="zeta uniform in [0, 1); alpha or -alpha"),
    when=[implied(alpha > 0, "implied: alpha divides")],
    note="In floating point, the printed (alpha + x)/(2 alpha) + zeta may round to 2, and S' to 3 alpha.",
)
fedbat.identity(
    name="eq7.prob_plus",
    place="Section 3.2, (7), second line",
    claim=equal_to(prob_plus, value=(alpha + x) / (2 * alpha)),
    when=[implied(alpha > 0, "implied: alpha divides"), -alpha <= x, x <= alpha],
    rests_on=["eq7"],
)
fedbat.definition(
    name="ste",
    place="Section 3.2, straight-through estimator",
    claim=Words("In backpropagation the floor counts as the identity: its derivative is 1."),
)
fedbat.identity(
    name="eq8",
    place="Section 3.2, (8)",
    claim=relations(equal(S_by_x, Piecewise((0, x > alpha), (1, x >= -alpha), (0, True)))),
    when=[implied(alpha > 0, "implied: alpha divides in (7)")],
    rests_on=["eq6", "eq7", "ste"],
)
fedbat.identity(
    name="eq9",
    place="Section 3.2, (9)",
    claim=relations(
        equal(
            S_by_alpha,
            Piecewise(
                (1, x > alpha),
                (2 * floor((alpha + x) / (2 * alpha) + zeta) - (x + alpha) / alpha, x >= -alpha),
                (-1, True),
            ),
        ),
        words="summed over the entries of a layer, which share alpha",
    ),
    when=[implied(alpha > 0, "implied: alpha divides")],
    rests_on=["eq6", "eq7", "ste"],
)
fedbat.definition(
    name="eq10",
    place="Section 3.2, (10)",
    claim=relations(
        equal(alpha, alpha_prime * exp(rho * alpha_e)), Gt(alpha, 0), words="to restrict alpha to be positive"
    ),
    when=[implied(alpha_prime > 0, "implied: the initial value of a positive step size")],
    note="(13) sets alpha', and gives 0 for a layer whose update is 0; this is an error of Algorithm 1.",
)

# ------------------------------------------------------------------------------------- Section 3.3: the algorithm

fedbat.definition(
    name="eq11",
    place="Section 3.3, (11)",
    claim=relations(
        equal(w_next, w_t + Sum(_p_prime[k] * _m_hat[k], (k, 1, K))), words="layer by layer; mhat = alpha mbar"
    ),
    rests_on=["eq2"],
)
fedbat.definition(
    name="eq12",
    place="Section 3.3, (12)",
    claim=relations(equal(m_next, m_s - eta_t * Grad(F_k, w_t + m_s)), words="a step at full precision"),
    note="w_t^k in (12) and (14) is the global model w_t, which the client has loaded (line 11).",
)
fedbat.definition(
    name="eq13",
    place="Section 3.3, (13)",
    claim=relations(
        equal(alpha_prime, Sum(Abs(_update[i]), (i, 1, d_l)) / d_l), equal(alpha_e, 0), words="for every layer"
    ),
)
fedbat.definition(
    name="eq14",
    place="Section 3.3, (14)",
    claim=relations(
        equal(m_next, m_s - eta_t * by_m),
        equal(alpha_next, alpha_s - eta_t * by_alpha),
        equal(m_hat_next, Value(S_s, m_next)),
        words="a step at the binarised update, derivatives by (8) and (9)",
    ),
    rests_on=["eq6", "eq8", "eq9", "eq10"],
)
fedbat.algorithm(name="alg1",
    place="Algorithm 1",
    claim=algorithms.ALG1,
    rests_on=["eq6", "eq8", "eq9", "eq10", "eq11", "eq12", "eq13", "eq14"],
    note="The server samples several clients at random each round (text).",
)  # fmt: skip

# ------------------------------------------------------------------------------------------- Section 4: assumptions

unbiased = fedbat.setting(
    name="setting_theory",
    place="Section 4",
    claim=relations(
        equal(E(Value(S, x_vec)), x_vec),
        words="no warm-up, phi = 0, and alpha = ||m||_inf in each step, to ensure the unbiased property of S",
    ),
    rests_on=["eq6"],
    gives={Property.UNBIASED_BINARISATION: ()},
)
minima = fedbat.definition(
    name="def.Gamma",
    place="Section 4, notations",
    claim=relations(
        equal(Gamma, F_star - Sum(_p[k] * _F_star[k], (k, 1, N))),
        Ge(F_star, Sum(_p[k] * _F_star[k], (k, 1, N))),
        words="the heterogeneity of the data; (41) uses that it is not negative",
    ),
    note="F* and F_k* are the minimum values of F and F_k.",
    gives={Property.BOUNDED_BELOW: (), Property.CLIENTS_BOUNDED_BELOW: (), Property.MINIMISER: ()},
)
fedbat.background = (objective, unbiased, minima)

_taylor = Value(F_k, w) + Inner(u - w, Grad(F_k, w))
smooth = fedbat.assumption(
    name="assump1",
    place="Section 4, Assumption 1",
    claim=relations(Le(Value(F_k, u), _taylor + L / 2 * Norm(u - w) ** 2), words="for w and v, every client"),
    note="The formula bounds F_k from above only; a Lipschitz gradient, the meaning of 'L-smooth', bounds it from below, "
    "too.  For non-convex F_k, (78) needs both bounds.",
    gives={Property.SMOOTH_ABOVE: (L,)},
)
strongly_convex = fedbat.assumption(
    name="assump2",
    place="Section 4, Assumption 2",
    claim=relations(Ge(Value(F_k, u), _taylor + mu / 2 * Norm(u - w) ** 2), words="for all w and v, every client"),
    note="Printed 'u-strongly convex'.",
    gives={Property.STRONGLY_CONVEX: (mu,)},
)
noisy = fedbat.assumption(
    name="assump3",
    place="Section 4, Assumption 3",
    claim=relations(
        equal(E(g_w), Grad(F_k, w_k)), Le(E(Norm(g_w - Grad(F_k, w_k)) ** 2), sigma**2), words="for every client"
    ),
    note="It is not printed that the mean is the gradient; it follows, because samples are drawn uniformly at random.",
    gives={Property.VARIANCE_ELSEWHERE: (sigma,)},
)
bounded = fedbat.assumption(
    name="assump4",
    place="Section 4, Assumption 4",
    claim=relations(Le(E(Norm(g_w) ** 2), G**2), words="for every client and t = 1, ..., T"),
    gives={Property.BOUNDED_GRADIENT_ELSEWHERE: (G,)},
)
binarised = fedbat.assumption(
    name="assump5",
    place="Section 4, Assumption 5",
    claim=relations(Le(E(Norm(Value(S, x_vec) - x_vec)), q * Norm(x_vec)), words="for every x"),
    note="The paper calls it the variance and uses it as a variance (C.1), but prints a first moment.",
    gives={Property.BINARISATION_FIRST_MOMENT: (q,)},
)
fedbat.inequality(
    name="assump5.error",
    place="Section 4, Assumption 5, left side with alpha = ||x||_inf",
    claim=relations(Le(E(Norm(Value(S, x_vec) - x_vec)), q * Norm(x_vec)), words="for every x, q = sqrt(d - 1)"),
    rests_on=["setting_theory"],
    note="q is not printed: sqrt(d - 1) is its exact value for this operator.",
)
fedbat.identity(
    name="assump5.sq_error",
    place="Section C.1, with alpha = ||x||_inf",
    claim=equal_to(error_sq, largest=d * x_max**2, own=-x_sq),
    when=[implied(x_max**2 <= x_sq, "implied: norms"), implied(x_sq <= d * x_max**2, "implied: norms")],
    rests_on=["setting_theory"],
    note="The paper does not compute the square that C.1 uses; it is at most (d - 1) ||x||^2, attained by one nonzero "
    "entry.",
)
fedbat.claim(
    name="assump5.claim",
    place="Section 4",
    claim=relations(
        Le(E(Norm(Value(S, x_vec) - x_vec)), q * Norm(x_vec)),
        words="satisfied by the binarisation operator S as defined in (6), among many compression schemes",
    ),
    rests_on=["assump5", "eq6", "setting_theory"],
    note="Read with the step size that Section 4 sets before it, alpha = ||x||_inf, and q = sqrt(d - 1), which is not "
    "printed. With a step size of its own, S(0) is +-alpha, and no q serves.  The paper says that (Karimireddy et al. "
    "2019; Reisizadeh et al. 2020) use the assumption, too.",
)

# Used by the proofs: Assumption 1 from both sides, 3 and 4 at the points of the gradients, 5 as a second moment

lipschitz = fedbat.correct(
    "assump1",
    relations(Le(Norm(Grad(F_k, u) - Grad(F_k, w)), L * Norm(u - w)), words="for all w and v, every client"),
    note="From both sides.",
    gives={Property.SMOOTH: (L,)},
)
noisy_x = fedbat.correct(
    "assump3",
    relations(
        equal(E(g_k), Grad(F_k, x_k)), Le(E(Norm(g_k - Grad(F_k, x_k)) ** 2), sigma**2), words="for every client"
    ),
    note="At the binarised parameters, where the algorithm takes its gradients; given everything that was drawn before.",
    gives={Property.UNBIASED: (), Property.VARIANCE: (sigma,)},
)
independent = fedbat.correct(
    "assump3",
    relations(equal(noise_sq, noise_x_sum), words="the clients draw their mini-batches independently of each other"),
    suffix="independent",
    note="Ours.  The paper lets every client sample from its own data and does not say that no two clients sample "
    "together.  The proofs use the equality, which holds for independent draws, but not if all clients make the same "
    "error.",
    gives={Property.INDEPENDENT_NOISE: ()},
)
bounded_x = fedbat.correct(
    "assump4",
    relations(Le(E(Norm(g_k) ** 2), G**2), words="for every client and t = 0, ..., T-1"),
    note="At the binarised parameters, where the algorithm takes its gradients.",
    gives={Property.BOUNDED_GRADIENT: (G,)},
)
binarised_sq_x = fedbat.correct(
    "assump5",
    relations(
        equal(E(Value(S, x_vec)), x_vec),
        Le(E(Norm(Value(S, x_vec) - x_vec) ** 2), q**2 * Norm(x_vec) ** 2),
        words="for every x; independent for any two clients",
    ),
    note="The second moment, which C.1 uses.  With alpha = ||x||_inf q = sqrt(d - 1).",
    gives={Property.BINARISATION: (q,), Property.INDEPENDENT_COMPRESSORS: ()},
)

fedbat.read("meaning", lipschitz, beside=[smooth])
fedbat.read("points", noisy_x, beside=[noisy])
fedbat.read("points", bounded_x, beside=[bounded])
fedbat.read("draws", independent, beside=[noisy, noisy_x])
fedbat.read("meaning", binarised_sq_x, beside=[binarised])

# ---------------------------------------------------------------------------- Sections 1, 5.1, A.2, B.1: baselines

fedbat.algorithm(
    name="baseline.fedavg",
    place="Sections 2 and 5.1, FedAvg",
    claim=relations(equal(w_next, w_t + Sum(_p_prime[k] * (_w[k] - w_t), (k, 1, K))), words="no compression"),
    rests_on=["eq2"],
)
fedbat.algorithm(
    name="baseline.signsgd",
    place="Sections 1 and A.2, SignSGD",
    claim=relations(equal(m_hat, alpha * sign_m), words="alpha = 0.001 for all data sets"),
    rests_on=["eq3"],
)
fedbat.algorithm(
    name="baseline.ef_signsgd",
    place="Sections 1 and A.2, EF-SignSGD",
    claim=relations(
        equal(m_hat, alpha * sign_m),
        equal(alpha, Sum(Abs(_update[i]), (i, 1, d)) / d),
        words="m has the error of the client's round before added to it before it is binarised; no hyper-parameter",
    ),
)
fedbat.algorithm(
    name="baseline.noisy_signsgd",
    place="Sections 1 and A.2, Noisy-SignSGD",
    claim=Words(
        "The sign of m + xi, xi normal with mean 0 and standard deviation sigma, times alpha; alpha = sigma = 0.01.",
        (equal(prob_plus, (1 + erf(m_i / (sqrt(2) * sigma))) / 2),),
    ),
    reads={"sigma": X},
    note="sigma is not the sigma of Assumption 3.  The formula is the probability of a plus that follows from the noise.",
)
fedbat.algorithm(
    name="baseline.stoc_signsgd",
    place="Sections 1 and A.2, Stoc-SignSGD",
    claim=equal_to(prob_plus, half=NUMBER / 2, share=m_i / (2 * m_norm)),
    when=[implied(-m_norm <= m_i, "implied: a norm of m"), implied(m_i <= m_norm, "implied: a norm of m")],
    also=Words("||m|| is so large that the two probabilities are both close to 0.5; it is replaced by ||m||_inf"),
    note="The sign of m_i + xi, xi uniform in [-||m||, ||m||].  alpha = 0.01.",
)
fedbat.algorithm(
    name="baseline.zerofl",
    place="Sections 5.1 and A.2, ZeroFL",
    claim=Words(
        "SWAT in local training, and pruning of the updates after training; a share of 97% is zero.",
        (equal(pruned, Rational(97, 100)),),
    ),
)
fedbat.algorithm(
    name="baseline.fedpaq",
    place="Section B.1, FedPAQ",
    claim=Words(
        "Quantises the updates after local training; 3 and 4 bits a parameter.", (equal(levels, 2 ** (bits - 1) - 1),)
    ),
    note="The formula is our reading of the bits: one for the sign, the others for the levels 0, ..., s.",
)
fedbat.algorithm(
    name="baseline.bifl",
    place="Section B.1, BiFL",
    claim=Words(
        "Trains a binary neural network locally; uploads binarised weights (BiFL) or full-precision ones (BiFL-Full).",
        (equal(w_hat, alpha * sign_w),),
    ),
    note="The formula is our reading of binarised weights; each layer has its own alpha.",
)
fedbat.claim(
    name="baseline.bias_claim",
    place="Section 1",
    claim=relations(Ne(E(alpha * sign_m), m), words="for SignSGD; stochastic sign methods aim to alleviate the bias"),
    reads={"m": X},
)
