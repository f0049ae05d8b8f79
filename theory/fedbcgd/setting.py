"""Problem, assumptions, listings and update rules (main paper, Section 3; supplement, Sections 1.1, 1.2, 4.1, 5.1, 7)."""

from __future__ import annotations

from sympy import Ge, IndexedBase, Le, Sum

from fedtheory.theory.fedbcgd import algorithms
from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.notation import Expectation, Grad, Inner, Norm, Value, equal
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Words, implied, relations

E = Expectation
sampled = [implied(N * K <= M, "implied: N K of M clients are sampled")]
# for a round with momentum: alpha, and the gamma of z^r
momentum_constants = [
    implied(equal(alpha, 1 / (1 - lam)), "implied: alpha = 1/(1-lambda)"),
    implied(equal(gamma, lam / (1 - lam)), "implied: gamma = lambda/(1-lambda)"),
    implied(lam < 1, "implied: lambda < 1"),
]
gaining = implied(alpha >= 1, "implied: alpha = 1/(1-lambda)")
curved = implied(mu <= beta, "implied: f is beta-smooth and mu-strongly convex")
of_z = implied(equal(gamma, alpha - 1), "implied: gamma = lambda/(1-lambda)")  # the same, without lambda
quarter, whole = {eta_tilde: alpha * eta * T / 4}, {eta_tilde: alpha * eta * T}  # the step size of a round
_f = IndexedBase("f_i", real=True)
_c = IndexedBase("c_i", real=True)

# ----------------------------------------------------------------------------------------------------- the problem

problem = fedbcgd.problem(
    name="problem",
    place="main, Section 3, (1)",
    claim=relations(
        equal(Value(f, x), Sum(_f[i], (i, 1, M)) / M),
        equal(Value(f_i, x), Sum(_f[j], (j, 1, n_i)) / n_i),
        words="f_i(x; zeta_ij) is client i's loss on its sample j; each f_i is beta-smooth",
    ),
    note="To be minimised over x.  The two sums are over the f_i(x) and over the f_i(x; zeta_ij).",
    gives={Property.EQUAL_WEIGHTS: (), Property.MINIMISER: ()},
)
fedbcgd.definition(
    name="blocks",
    place="main, Section 3.1, (2); supplement (11); Figure 2",
    claim=relations(
        equal(S, N * K),
        words="x = [x_(1), ..., x_(N), x_s]: N blocks and one shared block, each of its own size; S = N K clients are "
        "sampled and divided into N client blocks of K clients.  The theory leaves the shared block out",
    ),
    note="(11) of the supplement is x = [x_(1), ..., x_(N)].",
)
fedbcgd.definition(
    name="local_step",
    place="main, Section 3.1, (3)",
    claim=relations(equal(y_next, y_t - eta * Grad(f_iz, y_t)), words="for every sampled client, t = 1 ... T"),
    note="x_{k,j}^{r,t} is written y_i^{r,t} here, as the supplement does.",
)
fedbcgd.definition(
    name="virtual_gradient",
    place="Section 1.2, (7) to (10)",
    claim=relations(
        equal(x_next, x_r - eta * G_r),
        equal(G_r, Sum(local_sum, (k, 1, K)) / K),
        equal(E(G_r), Sum(local_sum, (i, 1, M)) / M),
        words="block by block: the second line for the K clients of client block j, the third over the sample and the noise",
    ),
    when=sampled,
    note="A summand is the sum of a client's stochastic gradients over its T local steps, block j.  (10) takes the mean "
    "over the sample, with a client's gradients without zeta, the mean over the mini-batches.  (7): x_(j) is the mean of "
    "the messages of the K clients in client block j.",
)

# ----------------------------------------------------------------------------------------------------- assumptions

strongly_convex = fedbcgd.assumption(
    name="assumption1",
    place="Section 1.1, Assumption 1, (1)",
    claim=relations(
        Ge(Value(f_i, y), Value(f_i, x) + Inner(Grad(f_i, x), y - x) + mu / 2 * Norm(y - x) ** 2),
        words="for all x, y and every client i; mu = 0 is allowed",
    ),
    gives={Property.STRONGLY_CONVEX: (mu,)},
)
smooth = fedbcgd.assumption(
    name="assumption2",
    place="Section 1.1, Assumption 2, (2)",
    claim=relations(Le(Norm(Grad(f, x1) - Grad(f, x2)), beta * Norm(x1 - x2)), words="for all x1, x2"),
    note="Printed for f.  Section 3 ('In this paper') and the theorems say that each f_i is beta-smooth: a statement "
    "that lists this assumption has both.",
    gives={Property.SMOOTH: (beta,)},
)
unbiased = fedbcgd.assumption(
    name="assumption3",
    place="Section 1.1, Assumption 3, (3), (4)",
    claim=relations(
        equal(E(Grad(f_iz, x)), Grad(f_i, x)),
        Le(E(Norm(Grad(f_iz, x) - Grad(f_i, x)) ** 2), sigma**2),
        words="for every client i and all x",
    ),
    note="'We also can get' introduces (4); but (4) does not follow from (3), so it is an assumption.",
    gives={Property.UNBIASED: (), Property.VARIANCE: (sigma,)},
)
alike = fedbcgd.assumption(
    name="assumption4",
    place="Section 1.1, Assumption 4, (5)",
    claim=relations(Le(Sum(Norm(Grad(f_i, x) - Grad(f, x)) ** 2, (i, 1, M)) / M, G**2), words="for all x"),
    gives={Property.DISSIMILARITY: (G,)},
)
smooth_samples = fedbcgd.assumption(
    name="assumption5",
    place="Section 1.1, Assumption 5, (6)",
    claim=relations(Le(Norm(Grad(f_z, x1) - Grad(f_z, x2)), beta * Norm(x1 - x2)), words="for every mini-batch zeta"),
    note="The text after it says that Assumption 2 bounds the variance and Assumption 3 the difference between global and "
    "local gradients; these are Assumptions 3 and 4.",
    gives={Property.SMOOTH_SAMPLES: (beta,)},
)

smooth_clients = fedbcgd.correct(
    "assumption2",
    relations(Le(Norm(Grad(f_i, x1) - Grad(f_i, x2)), beta * Norm(x1 - x2)), words="for all x1, x2 and every client i"),
    suffix="clients",
    note="The proofs use this, and the main paper assumes it.",
    gives={Property.SMOOTH: (beta,)},
)
convex = fedbcgd.correct(
    "assumption1",
    relations(Ge(Value(f_i, y), Value(f_i, x) + Inner(Grad(f_i, x), y - x)), words="for all x, y and every client i"),
    suffix="convex",
    note="Assumption 1 with mu = 0.",
    gives={Property.STRONGLY_CONVEX: (0,)},
)
fedbcgd.correct(
    "assumption5",
    relations(
        Le(Norm(Grad(f_iz, x1) - Grad(f_iz, x2)), beta * Norm(x1 - x2)),
        Le(0, Inner(Grad(f_iz, x1) - Grad(f_iz, x2), x1 - x2)),
        words="for every client and every mini-batch zeta",
    ),
    suffix="convex",
    note="The proof of Lemma 13 uses that a step on a mini-batch does not increase the distance of two points; smoothness "
    "alone does not give this.",
)

independent = fedbcgd.correct(
    "assumption3",
    relations(
        equal(E(Norm(own_m + noise_j) ** 2), E(Norm(own_m) ** 2) + E(Norm(noise_j) ** 2)),
        words="the clients draw their mini-batches independently of each other: E<a_m, n_j> = 0 for any two clients, and "
        "whatever client m computes in the round from its own mini-batches",
    ),
    suffix="independent",
    note="Ours.  zeta is drawn from all samples; the paper does not say that no two clients draw the same.  The noise of "
    "two clients is then uncorrelated; our sharper proofs use more.  It holds for independent draws, but not for clients "
    "that all make the same error.",
    gives={Property.INDEPENDENT_NOISE: ()},
)

# -------------------------------------------------------------------------------------------------------- listings

alg1 = fedbcgd.algorithm(
    name="alg1",
    place="main, Algorithms 1 and 2, FedBCGD",
    claim=algorithms.ALG1,
    note="Printed twice, with the same text as far as the scan is legible; lines 12, 20, 21, 23, 24 are put together "
    "from both and from Algorithm 3.  Lines 'end for' are left out.  x_(j)^(r-1) is read as the model that was "
    "communicated, and x_kj^(r,1) as x^r, which no line sets.",
    gives={Property.BLOCK_SAMPLING: ()},
)
fedbcgd.background = (problem, alg1)
fedbcgd.algorithm(
    name="alg3",
    place="Section 7, Algorithm 1 (main, Algorithm 3), FedBCGD+",
    claim=algorithms.ALG3,
    note="Lines 'end for' are left out.",
)

# Starting values that the proofs use but no printed line sets

at_rest = fedbcgd.correct(
    "alg1",
    relations(equal(z_r, x_r), words="before the first round, as v is 0 there"),
    suffix="initial",
    kind="assumption",
    rests_on=["alg1"],
    note="Ours, also for FedBCGD+: line 20 has the v of the round before the first, which no line sets.",
    gives={Property.AT_REST: ()},
)
controlled = fedbcgd.correct(
    "alg3",
    relations(equal(c, Sum(_c[i], (i, 1, M)) / M), words="before the first round, and then in every round"),
    suffix="initial",
    kind="assumption",
    rests_on=["alg3"],
    note="Ours: no line sets c or the c_i.  Line 26 never changes the difference of c and the mean of the c_i.  (72) "
    "says that c is the mean.",
    gives={Property.INITIAL_VARIATES: ()},
)
gradients_first = fedbcgd.correct(
    "alg3",
    relations(equal(c_i, Grad(f_i, x_r)), words="before the first round, for every client i"),
    suffix="begun",
    kind="assumption",
    rests_on=["alg3"],
    note="The end of Section 5.3 sets c_i^0 = grad f_i(x^0).",
)

# ---------------------------------------------------------------------------------------------------- update rules

fedbcgd.definition(
    name="eq4",
    place="main, Section 3.2, (4)",
    claim=relations(
        equal(
            y_next,
            y_t - eta * Grad(f_iz, y_t) + eta * c - eta * c_i + eta * Grad(f_i, x_r) - eta * Grad(f_iz, x_r),
        ),
        words="stochastic gradient descent, client drift control variate, stochastic variance reduction",
    ),
    rests_on=["alg3"],
    note="Line 13 of the listing.",
)
fedbcgd.definition(
    name="eq6",
    place="main, Section 3.2, (5), (6); supplement (71), (72)",
    claim=relations(
        equal(c_next, c + Dc_sum / M),
        equal(c_shared_next, c_shared + Dc_shared_sum / (M * N)),
        words="for every block j, the sum over its K clients; for the shared block the sum over all N K",
    ),
    rests_on=["alg3"],
    also=[
        relations(equal(c_next, c + K / M * Dc_sum), words="(71), with c_(j)^r on both sides"),
        relations(equal(c, Sum(c_i, (i, 1, M)) / M), words="(72), block by block"),
    ],
    note="(72) continues: (1/M)(the sum of c_i^r over i in K_j^r and of c_i^{r-1} over the others), block j.  (6) puts "
    "c_(1), ..., c_(N) and c_s together.  c stands for its block j.",
)
fedbcgd.identity(
    name="momentum_form",
    place="Section 4.1, (42), (43); proof of Lemma 10, (45)",
    claim=relations(
        equal(v_r, lam * v_prev + Dx_prev),
        equal(Dx_prev, eta * G_r),
        equal(x_r, x_prev + v_prev),
        words="the updates of a round, as the proof of Theorem 1 sums them up",
    ),
    rests_on=["alg1", "virtual_gradient"],
    also=relations(equal(v_next, lam * v_r - eta * G_r), equal(x_next, x_r + v_next), words="what (45) uses"),
    note="Lines 20 and 21 of the listing: v_next = lam v_r + x_hat - x_r, x_next = x_hat + v_next.",
)
fedbcgd.claim(
    name="n1_degenerates",
    place="main, Section 5.2",
    claim=Words("When the number of blocks is 1, FedBCGD degenerates into the FedAvgM algorithm.", (equal(N, 1),)),
    rests_on=["alg1"],
)

fedbcgd.read("draws", independent, beside=[unbiased])
fedbcgd.read("section", smooth_samples, within="Section 5")  # Theorem 2 lists it, but Lemmas 13, 17, 18 do not
fedbcgd.read("start", at_rest)
fedbcgd.read("start", controlled)
