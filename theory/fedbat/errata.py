"""The errors of the FedBAT paper, by severity; the verdicts about them are computed, not written here."""

from __future__ import annotations

from theory.fedbat.symbols import fedbat

# Hypotheses that the statements do not have

fedbat.erratum(
    "alg1",
    "missing hypothesis",
    "step size set at s = floor(phi tau), (13)",
    "If floor(phi tau) = 0, m is 0 where (13) sets the step size, so alpha' = 0: if alpha_e of (10) is what is learned, "
    "alpha = 0 for ever, and the model never moves; (14) as printed divides 0 by 0, in (9).  Corrected: one step before the "
    "step sizes are set.",
    "alg1.corrected",
)
fedbat.erratum(
    "alg1",
    "misprint",
    "line 23 sends mbar_{t,tau-1}, alpha_{t,tau-1}",
    "That is the result of tau - 1 steps; (17) and (19) use all tau gradients.  Corrected: mbar_{t,tau}, alpha_{t,tau}.",
    "alg1.corrected",
)
fedbat.erratum(
    "eq2",
    "missing hypothesis",
    "p'_k = p_k / sum of the sampled p_k, K clients sampled at random",
    "If the shares differ, the mean over the samples is not the weighted mean of all clients: with p = (1/2, 1/4, 1/4) "
    "and K = 2 the clients get the weights 4/9, 5/18, 5/18.  Theorem 2 has p_k = 1/N.",
)
_WHERE = "The algorithm takes gradients at x_t^k, the binarised parameters; a bound at w_t^k says nothing about them."
fedbat.erratum(
    "assump3",
    "missing hypothesis",
    "E||grad F_k(w_t^k, xi) - grad F_k(w_t^k)||^2 <= sigma^2",
    f"{_WHERE}  Corrected: assumed at x_t^k.",
    "assump3.corrected",
)
fedbat.erratum(
    "assump4",
    "missing hypothesis",
    "E||grad F_k(w_t^k, xi)||^2 <= G^2 for t = 1, ..., T",
    f"{_WHERE}  Corrected: assumed at x_t^k, and also for step 0, which the first round needs.",
    "assump4.corrected",
)
fedbat.erratum(
    "assump5",
    "missing hypothesis",
    "E||S(x) - x|| <= q ||x||",
    "A first moment, used as a second moment (C.1, (48), (50)).  For general unbiased operators, a bound on the first "
    "moment gives no bound on the second.  For this operator both need the same q over all x, but not at a single x.",
    "assump5.corrected",
)
fedbat.erratum(
    "assump5",
    "missing hypothesis",
    "q, a constant",
    "For this operator the least q is sqrt(d - 1), attained by updates with one nonzero entry.  So the bounds of "
    "Theorems 1 to 3 grow with the dimension, which none of them shows, and 'comparable to FedAvg' means up to a factor d.",
)
fedbat.erratum(
    "assump1",
    "missing hypothesis",
    "F_k(v) <= F_k(w) + (v - w)^T grad F_k(w) + (L/2) ||v - w||^2",
    "It bounds F_k from above only; (78) needs L-Lipschitz gradients, as 'L-smooth' says, so a bound from below, too.",
    "assump1.corrected",
)
fedbat.erratum(
    "lemma2",
    "missing hypothesis",
    "E||g_t - gbar_t||^2 <= sum_k p_k^2 sigma^2 by Assumption 3",
    f"{_WHERE}  And no two clients may sample together.",
    "lemma2.corrected",
)
fedbat.erratum(
    "eq44",
    "misprint",
    "E||g_t - gbar_t||^2 = E||sum_k p_k (grad F_k(w_t^k, xi) - grad F_k(w_t^k))||^2",
    "x_t^k for w_t^k, as in (17) and (46).",
    "eq44.corrected",
)
for _name, _scheme in (("thm1", ""), ("thm2", ", and the same with one of two clients")):
    fedbat.erratum(
        _name,
        "missing hypothesis",
        "Assumptions 3 and 4 at w_t^k; nothing about clients that sample together",
        "False as listed: with F_k = ||w||^2/2 in two coordinates, tau = 2, exact gradients at every w_t and noise at "
        f"the binarised x_t only, F(w_T) - F* can be 1/2 for every T{_scheme}, while the bound falls like 1/T.  With "
        "Assumptions 3 to 5 as the proofs use them, and independent samples, it holds.",
        f"{_name}.corrected",
    )
for _name in ("lemma3", "lemma4", "lemma6", "eq48", "eq50", "eq62", "eq64"):
    fedbat.erratum(
        _name,
        "missing hypothesis",
        "Assumption 4 bounds the gradients by G",
        f"{_WHERE}  With Assumption 4 at x_t^k it holds without the factor 4 and with eta_{{t_0}}, the learning rate of "
        "the round's first step.",
        f"{_name}.corrected",
    )
fedbat.erratum(
    "eq46",
    "misprint",
    "Assumption 4; sum_k p_k eta_t^2 (tau-1)^2 G^2 in the fifth line",
    f"{_WHERE}  The fifth line needs eta_{{t_0}}: the learning rates before t are no smaller than at t.",
    "eq46.corrected",
)
fedbat.erratum(
    "eq47",
    "misprint",
    "w_t^k - wbar_{t_0} = - sum eta_t grad F_k(w_t^k, xi)",
    "x_t^k for w_t^k, as in (17) and (46).",
    "eq47.corrected",
)
fedbat.erratum(
    "remark3",
    "missing hypothesis",
    "learning the step size shall be able to achieve a smaller value of q and enhance the performance",
    "A smaller error, yes; but with any alpha below ||x||_inf S is biased, and every theorem rests on E S(x) = x.  So no "
    "theorem covers Algorithm 1 as in the experiments, with phi = 0.5 and a learned step size.",
)

# Assumption 1 bounds the functions from above only; (78) and the statements that rest on it need a bound from below, too

_ABOVE = (
    "The formula of Assumption 1 allows gradients to fall arbitrarily fast, so gradients at the clients' points say little "
    "about gradients at their mean.  With L-Lipschitz gradients, a possible meaning of the word 'L-smooth', it holds."
)
for _name, _printed in {
    "eq78": "||(1/N) sum_k (grad F_k(wbar_t) - grad F_k(x_t^k))||^2 <= (L^2/N) sum_k ||wbar_t - x_t^k||^2, by Assumption 1",
    "eq79": "from (77) and (78)",
    "eq80": "from (76) and (79)",
    "eq82": "from (80) and (81)",
    "lemma7": "Assume Assumption 1 and 3",
    "eq70": "from Lemma 7",
    "eq72": "from (71)",
}.items():
    fedbat.erratum(_name, "missing hypothesis", _printed, _ABOVE, f"{_name}.corrected")
fedbat.erratum(
    "eq71",
    "missing hypothesis",
    "from (70), by Lemmas 2, 3 and 6, with their factors 4",
    f"{_ABOVE}  The lemmas need the corrected Assumptions 3 to 5.  The learning rate is constant here, so the factors 4 "
    "become 1.",
    "eq71.corrected",
)
for _name in ("eq73", "thm3"):
    fedbat.erratum(
        _name,
        "missing hypothesis",
        "Let Assumptions 1 and 3-5 hold",
        f"{_ABOVE}  As printed, the mean of the squared gradients at wbar_t can be three times the bound.",
        "thm3.corrected",
    )
fedbat.erratum(
    "remark2",
    "missing hypothesis",
    "Under the conditions of Theorems 1-3",
    "The conditions of the corrected theorems: Theorem 3 is false if Assumption 1 is its formula alone.",
    "remark2.corrected",
)
fedbat.erratum(
    "assump3",
    "missing hypothesis",
    "xi_t^k is sampled from client k's local data uniformly at random",
    "(44) assumes that the clients' errors are uncorrelated: no two clients may sample together.  If all clients make the "
    "same error, the noise of the mean is sigma^2, not sum_k p_k^2 sigma^2.",
    "assump3.independent",
)
fedbat.erratum(
    "assump4",
    "missing hypothesis",
    "Assumptions 2 and 4 beside each other",
    "mu ||w_0 - w*|| <= ||grad F(w_0)|| <= G: with Assumption 2, and Assumption 4 from step 0 on, no run has "
    "mu^2 ||w_0 - w*||^2 > G^2.  So a distant start needs a large G, and all three bounds contain G^2.",
)

# Broken proofs of statements that are right, or right under the corrected assumptions

fedbat.erratum(
    "thm1",
    "breaks the proof",
    "Lemmas 3 and 4 for all t >= 0, with eta_t = 2/(mu (gamma + t))",
    "eta_t <= 2 eta_{t+tau} fails at t = 0 if tau >= 8 kappa; but eta_{t_0} <= 2 eta_t, which a round needs, holds.  The "
    "lemmas need the corrected Assumptions 3 to 5.  With gamma = max{8 kappa, tau} the bound is about the model w_0 at the "
    "start of the algorithm, not about the virtual model after its first step.",
    "thm1.corrected",
)

# Misprints

fedbat.erratum(
    "eq41",
    "misprint",
    "C = ...; gamma_t (eta_t L - 1) sum_k p_k (F_k(wbar_t) - F_k*)",
    "C <= ..., by (40); F* in place of F_k*.  Its last line is right.",
    "eq41.corrected",
)
for _name in ("eq25", "eq57"):
    fedbat.erratum(
        _name,
        "missing hypothesis",
        "B, with sigma of Assumption 3 and G of Assumption 4",
        f"{_WHERE}",
        f"{_name}.corrected",
    )
fedbat.erratum("eq45", "misprint", "(wbar_t - w_t^k) - (w_t^k - x_t^k)", "(wbar_t - w_t^k) + (w_t^k - x_t^k).")
fedbat.erratum("lemma6", "misprint", "eta_t <= eta_{t+tau}", "eta_t <= 2 eta_{t+tau}, as in Lemmas 3 and 4.")
fedbat.erratum(
    "d1.sync",
    "misprint",
    "I_tau = {n tau | n = 1, 2, ..., N}",
    "n = 1, 2, ...: N is the number of clients.",
    "d1.sync.corrected",
)
fedbat.erratum("d1.update", "misprint", "S_m(v_t^k) in (53)", "S_m(v_{t+1}^k).", "d1.update.corrected")
fedbat.erratum(
    "e1.update",
    "misprint",
    "gbar_t = grad F(x_t^k) = sum_k p_k grad F_k(x_t^k)",
    "The clients' x_t^k differ, so gbar_t is no gradient of F.  And (68) has all clients, but the theorem samples them.",
    "e1.update.corrected",
)
fedbat.erratum("eq59", "misprint", "||w_1 - w*||^2", "Its expectation, as in Theorem 2.")
fedbat.erratum("eq71", "misprint", "eta_t^2 in the last term", "eta^2; also in (72).")
fedbat.erratum("eq80", "misprint", "Summing Eq. 79 into Eq. 77", "Into (76).")
fedbat.erratum("assump2", "misprint", "u-strongly convex", "mu-strongly convex.")
fedbat.erratum(
    "claim.accuracy",
    "misprint",
    "exceeds the accuracy of baselines by up to 9%",
    "By up to 9 percentage points over the best baseline (CIFAR-100, Non-IID-2, 100 clients: 49.2 and 40.2), which is 22 % "
    "of its accuracy; the lead over SignSGD alone is up to 24.5 points.",
)
fedbat.erratum("table4", "misprint", "Convd2d", "Conv2d.")
fedbat.erratum(
    "eq14",
    "misprint",
    "alpha_{t,s+1} = alpha_{t,s} - eta_t dF_k/dalpha_{t,s}",
    "By (10) the learned parameter is alpha_e, so that alpha stays positive; a step of alpha itself can make it negative.  "
    "By the chain rule a step multiplies alpha by exp(-rho^2 eta alpha dF_k/dalpha).",
    "eq14.corrected",
)
fedbat.erratum(
    "eq38",
    "misprint",
    "+ tau [C]; and -E||x_t^k - w*||^2 = -E||wbar_t - x_t^k||^2 - E||wbar_t - w*||^2",
    "C without tau: if C < 0, tau C claims too much.  The equality holds after summing over the clients with weights p_k.",
    "eq38.corrected",
)
fedbat.erratum(
    "eq42",
    "misprint",
    "rests on (38) and (41) as printed",
    "It follows from (38) with C instead of tau C, and (41) with F* instead of F_k*: it inherits the misprint of (38), and "
    "has none of its own.",
)
fedbat.erratum(
    "eq57",
    "misprint",
    "from Lemma 6",
    "Lemma 6 lacks a factor 2: eta_t <= eta_{t+tau} says that the learning rate is constant, but here it decreases.",
    "eq57.corrected",
)
fedbat.erratum(
    "thm2",
    "misprint",
    "Lemmas 3 and 6 for the eta_t of Theorem 1",
    "The same errors as in Theorem 1 and (57).  N = 1 divides by 0.",
    "thm2.corrected",
)
fedbat.erratum(
    "thm3",
    "misprint",
    "E||grad F(w_t)||^2 for every t < T; F(w_0) - F* + Gamma",
    "The bound is about gradients at the mean wbar_t of all clients' parameters; the server has only every tau-th wbar_t.  "
    "F(w_T) >= F*, so Gamma is not needed.",
    "thm3.corrected",
)
fedbat.erratum(
    "table3",
    "misprint",
    "a marginal reduction in accuracy for phi of 0.3 or 0.7, and more decline with 0.9 or 0.1",
    "On FMNIST 0.7 is as accurate as 0.5 (89.0), and on SVHN 0.9 is more accurate than 0.7 (88.6 and 88.5); in the mean "
    "over the four data sets there is a reduction, and a further decline.",
)
fedbat.erratum("eq12", "misprint", "w_t^k", "w_t, the global model that the client has loaded; also in (14).")
fedbat.erratum("lemma3", "misprint", "Assume Assumption 4", "Assumptions 4 and 5: (48) uses Assumption 5.")
fedbat.erratum(
    "eq47", "misprint", "sum_{t=t_0}^{t-1} eta_t ...", "The index of the sum is its own limit; also in (46)."
)
fedbat.erratum(
    "eq50",
    "misprint",
    "wbar_{t+1} = sum_k p_k S_m(v_{t+1}), vbar_{t+1} = sum_k p_k v_{t+1}",
    "v_{t+1}^k, in the sentences before (50) and before (61).",
)
fedbat.erratum("lemma5", "misprint", "E_{S_t} in (60)", "The sample is S_{t+1}.")
fedbat.erratum("remark3", "misprint", "alpha_i^{t,s} = ||m_i^{t,s}||_inf", "alpha_{t,s}^k = ||m_{t,s}^k||_inf.")

# Repairs of the transcription

fedbat.repair(
    "(14) is read with alpha_e of (10) as what is learned; as printed, a step of alpha itself, it is undefined where "
    "alpha = 0.",
    "alg1",
)
fedbat.repair(
    "Printed 'u-strongly convex'.",
    "assump2",
)
fedbat.repair(
    "S is printed 'as defined in (6)'; here it has the step size of Section 4, alpha = ||x||_inf, and q = sqrt(d - 1).",
    "assump5.claim",
)
fedbat.repair(
    "q is from Assumption 5, which the lemma does not name: it is listed here.",
    "lemma3",
)
fedbat.repair(
    "w_1 is read as the mean of the clients' parameters after step 0, (17); w_T, with tau | T, as the server's model.",
    "thm1",
    "thm2",
)
fedbat.repair(
    "The left side is printed with w_t, but only every tau-th w_t exists; here it has wbar_t, as (73).",
    "thm3",
)
fedbat.repair(
    "Printed without an expectation; here it has one.",
    "eq59",
    "eq62",
)
fedbat.repair(
    "eta_t is printed in the last term; here it is eta.",
    "eq71",
)
fedbat.repair(
    "eta_t is printed in the last term, here it is eta; F(w_T) is printed without its expectation.",
    "eq72",
)

# What a reader should know first

fedbat.finding(
    "alg1",
    "Algorithm 1 of FedBAT needs a warm-up step",
    "By (13) a step size alpha starts at the mean size of the update's entries. If phi tau < 1, no step comes before, so "
    "the update and alpha are 0. If alpha_e of (10) is what is learned, alpha stays 0 and the model never moves; (14) as "
    "printed, a step of alpha itself, divides 0 by 0 there. The paper's experiments have phi from 0.1 to 0.9.",
    "With one local step before the step sizes are set, Algorithm 1 trains. (Line 23 names the result of tau - 1 steps, a "
    "misprint: (17) and (19) use all tau.) The theorems have phi = 0 and another step size, the largest entry of the "
    "update, as the paper says in Section 4 and Remark 3. For a learned one the binarisation is biased, and no proof is "
    "known.",
    "fedbat_algorithm1_printed_and_corrected",
)
