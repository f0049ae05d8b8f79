"""The errors of the FedBCGD paper, by severity; the verdicts about them are computed, not written here."""

from __future__ import annotations

from theory.fedbcgd.symbols import fedbcgd

# ------------------------------------------------------------------------------------- the theorems that fail

for _case in ("strongly_convex", "strongly_convex.proof"):
    fedbcgd.erratum(
        f"thm1.{_case}",
        "breaks the statement",
        "||x^0 - x*||^2 mu exp(-alpha mu R/beta), alpha = 1/(1-lambda)",
        "(mu/alpha)(...) exp(-2 mu eta_tilde R/alpha) with eta_tilde <= 1/(32 beta): the condition bounds alpha eta T, so "
        "momentum gains no factor alpha in the exponent.  As printed, for two curvatures and one round the bound is "
        "below the best result of any step size.  The tuned bound hides logarithms, and needs R of the order beta/mu.  "
        "(12) has 128 and 32 before G^2/K and sigma^2/(K T), (52) has 32 and 64.  Assumption 4 is used but not named.",
        "thm1.strongly_convex.corrected",
    )
for _case in ("general_convex", "general_convex.proof"):
    fedbcgd.erratum(
        f"thm1.{_case}",
        "breaks the statement",
        "beta^{3/2} d_0/(alpha R) + (6144 beta^2 G^2 + ...)/(alpha^2 R) + ...",
        "(d0 + 8 eta_tilde gamma F)/(4 eta_tilde R) + ...: neither of the first two terms has the dimension of f, and for "
        "small beta the first is far below the result of any step size; the second should have the power 1/4, with "
        "(d0/R)^{3/4}; (54) divides by alpha^{2/3} twice.",
        "thm1.general_convex.corrected",
    )
for _case in ("nonconvex", "nonconvex.proof"):
    fedbcgd.erratum(
        f"thm1.{_case}",
        "breaks the statement",
        "16 beta d_0/(T K alpha R) + (2 sqrt(d_0)/sqrt(R T M)) (...)^{1/2} + ...",
        "F/(eta_tilde R), of the order beta F/R: with identical clients and no noise, K clients, T steps or momentum gain "
        "nothing in the first round.  d_0 is f(x^0) - f(x*) here.  sqrt(T M) does not belong in the second term, which "
        "already has 1/K and 1/(T K) inside.",
        "thm1.nonconvex.corrected",
    )
fedbcgd.erratum(
    "thm2.strongly_convex",
    "misprint",
    "exp(-min{M/(30K), mu/(162 beta)} R), eta_tilde <= S/(15 mu N)",
    "K/(30M), as at the end of the proof: M/(30K) is never the smaller of the two, so the rate would not depend on the "
    "number of sampled clients.  With the printed signs of line 13, FedBCGD+ does not converge to x* at all.  The "
    "condition has S/N instead of K/M.  D_tilde sums over the first N clients.",
    "thm2.strongly_convex.corrected",
)
fedbcgd.erratum(
    "thm2.strongly_convex.proof",
    "breaks the proof",
    "Lemma 15 for z^r, any momentum",
    "The clients start from x^r; Lemmas 11, 13, 14 fail.  Proved with min{K/(4M), mu/(72 alpha beta)}.",
    "thm2.strongly_convex.corrected",
)
fedbcgd.erratum(
    "thm2.general_convex.proof",
    "breaks the statement",
    "O(sqrt((M/K) beta D_tilde^2)), (106)",
    "(106) has no R, and the root of an expression with the dimension of f; (16) has R, and neither beta nor D_tilde^2 "
    "under the root.",
    "thm2.general_convex.corrected",
)
fedbcgd.erratum(
    "thm2.general_convex",
    "misprint",
    "O(sqrt(M/K) beta D_tilde^2/R), D_tilde^2 with (1/(2N beta^2)) sum_{i=1}^N",
    "The sum must be over all M clients, (1/(2M beta^2)) sum_{i=1}^M: as printed, it leaves out the lag of the others.  "
    "eta_tilde <= 1/beta is not enough.",
    "thm2.general_convex.corrected",
)
fedbcgd.erratum(
    "thm2.nonconvex",
    "breaks the proof",
    "O((beta F/R)(M/K)^{2/3}), from Lemma 18; eta_tilde = (1/4) alpha T",
    "Lemma 18 fails, and (119), on which Lemma 17 rests, assumes that the sampled clients are independent of z^r.  We "
    "prove M/K, for every start of the control variates, with a term in their lag; whether (M/K)^{2/3} is possible is "
    "open.  The end of the proof says that the control variates start as c_i^0 = grad f_i(x^0).  This is needed: a "
    "client that has not been sampled yet contributes no gradient.  eta is missing in the step size.",
    "thm2.nonconvex.corrected",
)
fedbcgd.erratum(
    "thm1.main.strongly_convex",
    "breaks the statement",
    "(sigma^2 + G^2)/(mu K T eps) + (sigma + G)/(alpha mu sqrt(eps)) + ...",
    "G^2 must not be divided by T: local steps do not average out the choice of clients.  sqrt(beta) is missing in the "
    "second term, so its dimension is wrong.  Momentum does not divide this term by alpha.",
    "thm1.main.strongly_convex.corrected",
)
fedbcgd.erratum(
    "thm1.main.nonconvex",
    "breaks the statement",
    "beta sigma^2/(T K eps^2) + (sqrt(beta) G + sqrt(beta) sigma)/eps^{3/2} + ...",
    "beta F sigma^2/(T K eps^2) and beta F (G + sigma)/eps^{3/2}: the sides differ in dimension.  The term for the "
    "sampling of clients, beta F G^2/(K eps^2), is missing.",
    "thm1.main.nonconvex.corrected",
)
fedbcgd.erratum(
    "thm2.main.strongly_convex",
    "breaks the proof",
    "(M/K + beta/mu) log(1/eps)",
    "It rests on Lemma 15, which fails.  Proved without momentum; with momentum, the rate has alpha beta/mu.",
    "thm2.main.strongly_convex.corrected",
)
fedbcgd.erratum(
    "thm2.main.nonconvex",
    "breaks the proof",
    "(beta F/eps)(M/K)^{2/3}",
    "It rests on case 3, which fails.  Proved with M/K, so that blocks gain nothing in communication.",
    "thm2.main.nonconvex.corrected",
)

# --------------------------------------------------------------------------------------- the algorithms that fail

fedbcgd.erratum(
    "alg1",
    "breaks the statement",
    "x_(j)^r = (1/K) sum x^{r,T}; v = lam v + x_(j)^r - x_(j)^{r-1}; x_(j)^r = x_(j)^r + v; v_s with x_s^{r-1} - x_s^{r-1}",
    "x_(j)^r = x_(j)^{r-1} + v: the mean already contains the step, and the printed line makes it twice.  Send x^{r,T+1}, "
    "because x^{r,T} is the result of T-1 steps (with T = 1 nothing moves).  The shared block's momentum is "
    "x_s^r - x_s^{r-1}, not zero.",
    "alg1.corrected",
)
fedbcgd.erratum(
    "alg3",
    "breaks the statement",
    "line 13: + eta c - eta c_kj + eta grad f_kj(x^r) - eta grad f_kj(x^r; zeta); lines 15, 17: the whole c_i; line 31: "
    "1/(MN)",
    "Change both signs in line 13: as printed, a step at x* is -2 eta grad f_i(x*), and the noise is doubled, not "
    "cancelled.  A client must keep c_i^+ only on the blocks that it sent, and line 31 needs 1/M: otherwise c is not the "
    "mean of the c_i.  Momentum as in Algorithm 1.",
    "alg3.corrected",
)
fedbcgd.erratum(
    "alg1",
    "missing hypothesis",
    "v_(j)^r = lam v_(j)^(r-1) + ..., for r = 0 on",
    "No line sets v before the first round; the proofs assume v = 0, z^0 = x^0.",
    "alg1.initial",
)
fedbcgd.erratum(
    "alg3",
    "missing hypothesis",
    "c_(j) = c_(j) + (1/M) sum Dc, lines 26, 31",
    "No line sets c, the c_i or v before the first round.  If c^0 is not the mean of the c_i^0, c never becomes their "
    "mean: with f = x^2/2, one client, c^0 = 1, c_1^0 = 0 the model tends to -1, and the gap to 1/2.",
    "alg3.initial",
)
fedbcgd.erratum(
    "eq4",
    "breaks the statement",
    "+ eta c - eta c_kj + eta grad f_kj(x^r) - eta grad f_kj(x^r; zeta)",
    "- eta c + eta c_kj - eta grad f_kj(x^r) + eta grad f_kj(x^r; zeta), as in the virtual gradient of (78).",
    "eq4.corrected",
)
fedbcgd.erratum(
    "eq6",
    "breaks the statement",
    "c_s + (1/(MN)) sum sum Dc; (71): c + (K/M) sum Dc",
    "1/M in both, and c_i changes only on the blocks that were sent: only then is c the mean of the c_i, (72).",
    "eq6.corrected",
)
fedbcgd.erratum(
    "momentum_form",
    "misprint",
    "v^r = lam v^{r-1} + Delta x^{r-1}, Delta x^{r-1} = eta G^r; x^r = x^{r-1} + v^{r-1}",
    "v^{r+1} = lam v^r - eta G^r, x^{r+1} = x^r + v^{r+1}, as in (45): as printed, the model goes uphill, a round late.",
    "momentum_form.corrected",
)

# ------------------------------------------------------------------------------------------------------- the lemmas

fedbcgd.erratum(
    "lemma4",
    "breaks the statement",
    "(27), first part",
    "The same error as in the first part.",
    "lemma4.corrected",
)
fedbcgd.erratum(
    "lemma4.part1",
    "breaks the statement",
    "||grad f||^2 + (1 - K/M)(1/(KM)) sum ||grad f_i||^2",
    "||grad f||^2 + ((M-K)/(K(M-1))) (1/M) sum ||grad f_i - grad f||^2: the second last line of (29) drops M/(M-1), which "
    "is 2 for two clients with opposite gradients.",
    "lemma4.part1.corrected",
)
fedbcgd.erratum(
    "lemma4.lhs_blocks",
    "misprint",
    "one sample for all blocks",
    "Each block has its own K clients; each block's clients are a sample of K, so the expectation is the same.",
)
fedbcgd.erratum(
    "lemma5",
    "breaks the proof",
    "sum (1 + 2/(T-1))^tau <= 3T, (34)",
    "At the last step this sum is up to 3.2 (T-1).  The condition stands in the proof only: 2 T eta^2 beta^2 <= 1/(T-1), "
    "which divides by zero at T = 1.  With 2 beta eta T <= 1 smaller constants are proved.",
    "lemma5.corrected",
)
fedbcgd.erratum(
    "lemma6",
    "misprint",
    "the sum over k of ||grad f_i(y_i)||^2, i unbound; T/M in (37)",
    "The mean over the clients.  (37) applies Jensen before it separates the noise; then 2(T/K) sigma^2 is not possible.  "
    "In the other order the lemma holds.",
)
fedbcgd.erratum(
    "lemma6",
    "missing hypothesis",
    "Assumption 3",
    "Also, clients must draw their mini-batches independently: an error that all clients share has the mean square "
    "T sigma^2 for every K.",
    "lemma6.corrected",
)
fedbcgd.erratum(
    "lemma12",
    "missing hypothesis",
    "Assumptions 1, 2 and 3",
    "Also, the control variates must start with c as the mean of the c_i, which no line ensures: otherwise the mean of "
    "the directions has the error c minus the mean of the c_i.",
    "lemma12.corrected",
)
for _name in ("lemma13", "lemma17.proof", "lemma18"):
    fedbcgd.erratum(
        _name,
        "missing hypothesis",
        "Assumptions up to 4",
        "Also Assumption 5, as in Theorem 2: if only f_i is smooth, the noise of line 13 at y and at x need not cancel, and "
        "sigma^2 is missing on the right.",
    )
fedbcgd.erratum(
    "lemma8",
    "misprint",
    "weights w_r = 1/r, eta_max >= 0, R >= 0, c >= 0",
    "Equal weights, eta_max > 0, c_1 and c_2.",
)
fedbcgd.erratum("lemma9", "misprint", "(41) without an expectation on the right", "The conditional means are random.")
fedbcgd.erratum("lemma10", "misprint", "(45)a: (1+gamma) beta", "lambda for beta.")
fedbcgd.erratum(
    "lemma11",
    "breaks the statement",
    "(4T^2/(MT)) sum ||y - z||^2 + ... + (4T^2/M) 2 beta (f(z^r) - f*)",
    "The first term lacks beta^2, the last has an M too many.  The lemma must be about x^r, where the clients start, and "
    "must have the lag with the expectation outside the norm.",
    "lemma11.corrected",
)
fedbcgd.erratum(
    "lemma12",
    "misprint",
    "-f(z^r) + f(x*)",
    "T times this, as in (47).",
)
fedbcgd.erratum(
    "lemma13",
    "breaks the statement",
    "18 T^2 beta eta^2 (f(z^r) - f*) + 18 T^2 eta^2 C; '+ eta grad f_i' in (82)",
    "It must be about x^r: with momentum the clients do not start from z^r, so the drift from z^r is not 0 at T = 1.  "
    "(82) has the wrong sign of the gradients.  (83) moves the expectation of c_i into the norm.",
    "lemma13.corrected",
)
fedbcgd.erratum(
    "lemma14",
    "breaks the statement",
    "(K/M) 4 beta (f(z^{r-1}) - f*)",
    "(K/M) 2 beta (f(x^r) - f*): the control variates are gradients at x^r, not at z^r.  (90) subtracts a vector from a "
    "norm, and (91) has f_k for f_i.",
    "lemma14.corrected",
)
fedbcgd.erratum(
    "lemma15",
    "breaks the statement",
    "9 mu eta_tilde N/(2S) - 9 + 8 + 54 eta_tilde <= 0, (101); 4 eta_tilde^2 E_r, (94)",
    "9 mu eta_tilde M/(2K) and 54 beta eta_tilde; beta^2 in (94), which leaves out the last term of Lemma 11; and, with "
    "momentum, the gap of the round before.",
    "lemma15.corrected",
)
fedbcgd.erratum(
    "lemma16",
    "breaks the statement",
    "the drift from z^r",
    "It must be about x^r, where the clients start.  (116) has ||grad f(z^r)|| without its square.",
    "lemma16.corrected",
)
fedbcgd.erratum(
    "lemma17",
    "misprint",
    "eta_tilde <= (1/(24 beta)) (S/N)^a",
    "(K/M)^a, as in the proof: S/N is K, and the step would grow with K.  If few of many clients are sampled, all points "
    "lag behind by a step, and the terms in (K/M)^{2a-1} do not cover this.",
    "lemma17.corrected",
)
fedbcgd.erratum(
    "lemma17.proof",
    "breaks the proof",
    "E||alpha^r - z^r||^2 = (1 - K/M) E||alpha^{r-1} - z^r||^2 + (K/M) E||z^{r-1} - z^r||^2, (119)",
    "The sampled clients of a round make its step, so alpha^r and z^r are not independent.  (108) keeps y_i^{r,t}, but "
    "(118) keeps z^{r-1}.",
    "lemma17.corrected",
)
fedbcgd.erratum(
    "lemma18",
    "breaks the statement",
    "rests on Lemmas 16 and 17",
    "A recursion with the lag of gradients and the momentum, for eta_tilde <= K/(16 beta M).",
    "lemma18.corrected",
)

# -------------------------------------------------------------------------------------------------------- the steps

fedbcgd.erratum(
    "thm1.step46",
    "constant",
    "eta alpha C_1",
    "2 eta alpha C_1, as in (76).",
    "thm1.step46.corrected",
)
fedbcgd.erratum(
    "thm1.step48",
    "breaks the proof",
    "2 (1 - K/M)(T^2/K)(G^2 + 2 beta (f - f*))",
    "It uses the first part of Lemma 4.  2 T^2 ((M-K)/(K(M-1))) G^2 is enough.  For M >= 4 the printed form follows from "
    "the room in the factors 2; without noise also for M = 3.",
    "thm1.step48.corrected",
)
fedbcgd.erratum(
    "thm1.step49",
    "breaks the statement",
    "(48) and Lemma 5 at z^r; G for G^2; the sign of the contraction in the last line",
    "These are about x^r.  Convexity between x^{r-1} and x^r covers the difference.",
    "thm1.step50.corrected",
)
fedbcgd.erratum(
    "thm1.step50",
    "breaks the statement",
    "the bracket is at least alpha eta T/4 for eta_tilde <= 1/(8 beta)",
    "At 1/(8 beta) it is negative.  eta_tilde <= 1/(32 beta) with the corrected constants.  (51) has 64 sigma^2/(TK), (12) "
    "has 32.",
    "thm1.step50.corrected",
)
fedbcgd.erratum(
    "thm1.step59",
    "misprint",
    "beta for the momentum; ||x^r - x^{r-1}||^2 = gamma^2 ||eta^2 G^r + beta v^{r-1}||^2",
    "lambda; and ||v^r||^2 with v^r = lambda v^{r-1} - eta G^{r-1}, so that gamma^2 enters once.",
    "thm1.step59.momentum",
)
fedbcgd.erratum(
    "thm1.step61",
    "breaks the statement",
    "3 T beta^2 sum ||y - x||^2 + M T^2 G^2 + M T^2 ||grad f||^2",
    "The split into three terms costs a factor 3 in each.  It uses the first part of Lemma 4, and assumes that noise and "
    "later gradients are uncorrelated.",
    "thm1.step61.corrected",
)
fedbcgd.erratum(
    "thm1.step66",
    "breaks the proof",
    "'Let (...) <= alpha eta T/4'; eta_tilde <= 1/(16 beta); C_1 (TR/M) sigma^2 after division by R",
    "The proof uses 'at least alpha eta T/4', and 1/(16 beta) does not give this: C_1 grows with gamma^2.  The proof "
    "ignores the coefficient of ||E G^r||^2, and loses f(x*).",
    "thm1.nonconvex.corrected",
)
fedbcgd.erratum(
    "thm1.step66",
    "misprint",
    "(92 beta^2/T) sigma^2/alpha^2, (68), and so (14) and (69); (16 gamma^2 beta^2/K) G^2 eta_tilde^2, end of (68)",
    "96: 48 times 2, by the first display of (68); and (1 - K/M) before the second term, as in the line before and in "
    "(14).",
)
fedbcgd.erratum("thm1.step64", "misprint", "(1-beta)^2", "(1-lambda)^2.", "thm1.step64.momentum")
fedbcgd.erratum(
    "thm2.lag",
    "misprint",
    "C_r about grad f_i(z^r) in (75), about grad f_i(x*) in (86)",
    "Two quantities with one name; both have the expectation inside the norm, but the lemmas need it outside.",
)
fedbcgd.erratum(
    "assumption2",
    "misprint",
    "f is beta-smooth",
    "Each f_i is beta-smooth, as the main paper says.",
    "assumption2.clients",
)
fedbcgd.erratum("assumption3", "misprint", "'We also can get' (4)", "(4) does not follow from (3).")
fedbcgd.erratum(
    "assumption3",
    "missing hypothesis",
    "zeta is a mini-batch drawn uniformly at random",
    "Noise divided by the number of clients, as in sigma^2/(K T), needs clients with uncorrelated noise: no two clients "
    "may draw together.",
    "assumption3.independent",
)
fedbcgd.erratum(
    "assumption5", "misprint", "'Assumption 2 bounds the variance', 'Assumption 3 ...'", "Assumptions 3 and 4."
)

# -------------------------------------------------------------------------------------------- Table 1 and its claims

fedbcgd.erratum(
    "table1.fedbcgd",
    "breaks the statement",
    "(sigma^2 + G^2)/(mu S T eps) + (sigma + G)/(alpha mu N sqrt(eps)) + ...",
    "The same errors as in the theorem of the main paper.",
    "thm1.main.strongly_convex.corrected",
)
fedbcgd.erratum(
    "table1.fedbcgdplus",
    "breaks the proof",
    "(M/S)^{2/3} N^{-1/3}; floats 2d/N beside complexities in d/N",
    "The same errors as in the theorems of the main paper.  Each sampled client sends 2d/N floats, but the complexities "
    "count d/N.",
    "thm2.main.nonconvex.corrected",
)
fedbcgd.erratum(
    "claim.factor_1_over_N",
    "breaks the statement",
    "a factor 1/N lower than those of existing methods",
    "By Table 1 itself, the first terms, noise/(S eps) and M/S, are equal, because with N blocks each block has only "
    "K = S/N clients; in the non-convex case the factor is N^{-1/3} at most.",
)
fedbcgd.erratum(
    "table3",
    "misprint",
    "FedDC, ResNet-18: 1985d of 1000d; 'converges faster'; 'much higher than Centralised SGD'",
    "More than the total; FedBCGD+ needs 207d for VGG-19, FedBCGD 117d; FedBCGD ends at 87.8 there, centralised SGD at "
    "88.6.",
)
fedbcgd.erratum(
    "table4",
    "misprint",
    "'FedBCGD+ slightly outperforms FedBCGD'",
    "Not on CIFAR10: 80.2 (768d) against 86.2 (212d).",
)
fedbcgd.erratum(
    "blocks.lenet5",
    "misprint",
    "conv3-64 with 4800 and 102400 parameters",
    "5x5 kernels; four blocks and the shared one.",
)
fedbcgd.erratum(
    "blocks.vgg11", "misprint", "FC-2048 with 2359296 parameters", "The count of a 3x3 convolution of 512 channels."
)
fedbcgd.erratum("blocks.vgg19", "misprint", "FC-2048 with 131072 parameters", "512 x 256.")
fedbcgd.erratum(
    "blocks.vit",
    "misprint",
    "five blocks, FC-100 with 153600 parameters, 'VGG-19'",
    "Six blocks of 14299520 are ViT-Base without its head; 153600 is 768 x 200.",
)
fedbcgd.erratum("claim.share_fraction", "constant", "0.01 %", "5120 of 10992320 are 0.047 %.")
for _name in ("claim.second_term", "claim.N_sqrt_kappa"):
    fedbcgd.erratum(
        _name,
        "breaks the proof",
        "a quotient, or a value, of Table 1",
        "It rests on rows of the table that are refuted or not proved.",
    )

# ---------------------------------------------------------------------------------------- small things in the proofs

fedbcgd.erratum(
    "thm1.step49",
    "misprint",
    "6 T^3 alpha^2 eta^2 2 beta (...), then 6 T^3 alpha^2 eta^2 beta (...) in (50), then 2 beta again",
    "One factor 2 is lost on the way, and the last bracket has alpha^2 instead of alpha.",
)
fedbcgd.erratum(
    "thm1.general_convex.proof",
    "misprint",
    "eta_tilde <= 1/(192 T beta^3 + 64 beta)",
    "The two summands differ in dimension; the proof uses 1/(64 beta).",
)
fedbcgd.erratum(
    "lemma7",
    "misprint",
    "eta_max <= 1/mu, w_r = (1 - mu eta)^{1-r}",
    "eta_max < 1/mu: at eta = 1/mu the weights are powers of 0.",
)
fedbcgd.erratum(
    "lemma18",
    "misprint",
    "f(z^{r+1}) with Xi_r in (125), f(z^r) with Xi_r in (121) and (127)",
    "They are one round apart; the proof sums (125).",
)
fedbcgd.erratum(
    "lemma13",
    "misprint",
    "y_i^{r,t-1} on both sides, after (83)",
    "y_i^{r,t} on the left: the line is a recursion in t.",
)
fedbcgd.erratum(
    "thm1.nonconvex",
    "misprint",
    "(1/R) sum ||grad f(x^r)||^2, (14)",
    "Its expectation: x^r is random.  The same in (68) and (69).",
)
fedbcgd.erratum(
    "thm2.main.strongly_convex",
    "misprint",
    "'When sigma = 0, the communication complexity of FedBCGD is also better than that of SCAFFOLD', after Theorem 2",
    "FedBCGD+, whose rate the sentence compares: the rate of FedBCGD has a term in G that no step size removes.",
)

# Repairs of the transcription

fedbcgd.repair(
    "The scan is damaged; put together from both printings and Algorithm 3.  Lines 'end for' are left out.  x_(j)^(r-1) "
    "is read as the model that was communicated, and x_kj^(r,1) as x^r.",
    "alg1",
)
fedbcgd.repair(
    "Lines 'end for' are left out.",
    "alg3",
)
fedbcgd.repair(
    "The weights are printed as 'w_r = 1/r'; 'c >= 0' is read as c1, c2 >= 0, and eta_max >= 0 as eta_max > 0.",
    "lemma8",
)
fedbcgd.repair(
    "Printed without an expectation on the right side, where the conditional means are random; here it has one.",
    "lemma9",
)
fedbcgd.repair(
    "The scan is damaged; put together from it, the sentence after Theorem 2, and Table 1.",
    "thm1.main.strongly_convex",
)
fedbcgd.repair(
    "The scan is damaged; put together from it, the sentence after Theorem 2, and Table 1.  The condition on the step "
    "size is not legible; here it is that of the strongly convex case.",
    "thm1.main.nonconvex",
)
fedbcgd.repair(
    "(48) and Lemma 5 are about x^r; here they are applied at z^r.",
    "thm1.step49",
)
fedbcgd.repair(
    "The paper does not define the step size in this case; the one here is from Lemma 15.",
    "thm2.general_convex",
)
fedbcgd.repair(
    "'eta_tilde = (1/4) alpha T' is printed, without eta.  'If we initialize c_i^0 = grad f_i(x^0)', at the end of the "
    "proof, is a condition here.",
    "thm2.nonconvex",
)
fedbcgd.repair(
    "The first term of the communication is damaged in the scan; put together from the text after the theorem and Table 1.",
    "thm2.main.strongly_convex",
)
fedbcgd.repair(
    "(74) is printed without an expectation; here it has one, as (89) and (111).",
    "thm2.drift",
)
fedbcgd.repair(
    "No condition on the step size is printed here; that of Theorem 2, where it is used, is listed.",
    "lemma13",
    "lemma16",
)
fedbcgd.repair(
    "The scan of (7) has lost the minus sign and the 1/N.",
    "logreg",
)

# Errors that several statements have

for _case in ("strongly_convex", "general_convex", "nonconvex"):
    fedbcgd.one_error(f"thm1.{_case}", f"thm1.{_case}.proof")
fedbcgd.one_error("lemma4.part1", "lemma4")
fedbcgd.one_error("alg3", "eq4", "eq6")
fedbcgd.one_error("thm1.main.strongly_convex", "table1.fedbcgd")
# of the point x^r, where the clients start, and z^r
fedbcgd.one_error("lemma13", "lemma14", "lemma16", "lemma18", "thm1.step49")

# What a reader should know first

fedbcgd.finding(
    "alg3",
    "FedBCGD+ as printed does not reach the minimiser",
    "Line 13 of FedBCGD+ has wrong signs: at the minimiser x*, with exact gradients and control variates that are the "
    "clients' gradients there, a client takes the step -2 eta grad f_i(x*) and not 0. And a client keeps its new control "
    "variate also on blocks that it did not send. Each of the two is enough: the corrected listing with one of them, the "
    "wrong sign of the control variates or this, does not reach x*.",
    "Control variates are there to reach x* although the clients differ. On the quadratics of the figure the corrected "
    "listing does, and its theorems are proved, with other constants.",
    "fedbcgd_algorithm3_printed_and_corrected",
)
