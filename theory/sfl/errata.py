"""The errata of the paper, in a form useful to its authors; the verdicts about them are computed elsewhere."""

from __future__ import annotations

from theory.sfl.symbols import sfl

# Statements that are false as printed

for _name, _place in (("eq54", "(50)"), ("eq80", "(77)")):
    sfl.erratum(
        _name,
        "breaks the statement",
        "no term for the sampling of S < M clients in the non-convex case",
        f"add (9/2) L eta_tilde (M-S)/(S(M-1)) zeta^2, with 14 L eta_tilde beta^2 (M-S)/(S(M-1)) <= 1: {_place} compares a "
        "sampled client's gradient with that of F, and smoothness does not bound the difference",
        f"{_name}.corrected",
    )
for _name in ("lemma9", "lemma13", "step.eq54_recursion", "step.eq80_recursion"):
    sfl.erratum(
        _name,
        "breaks the statement",
        "no term for the sampling of S < M clients",
        "add (3/2) L (S K eta)^2 (PFL: (K eta)^2) (M-S)/(S(M-1)) (zeta^2 + beta^2 E||grad F||^2), under Assumption 3a",
        f"{_name}.corrected",
    )
sfl.erratum(
    "step.eq50",
    "breaks the statement",
    "'Asm. 1' over ||grad F_pi_m(x_mk) - grad F(x)||^2 <= L^2 ||x_mk - x||^2",
    "this compares two functions; compare their means over the sample instead",
    "step.eq50.corrected",
)
for _name, _factor in (("cor1.nonconvex", "beta + 1"), ("cor2.nonconvex", "beta + 1")):
    sfl.erratum(
        _name,
        "breaks the statement",
        "last term L beta A / R",
        f"L ({_factor}) A / R: at beta = 0 (identical clients) the printed term vanishes, gradient descent does not",
        f"{_name}.corrected",
    )
for _name, _factor in (("eq55", "beta/sqrt(S)"), ("eq81", "beta")):
    sfl.erratum(
        _name,
        "breaks the statement",
        "last term L beta A / R, and no term for the sampling of clients",
        f"L (1 + {_factor} + beta^2 (M-S)/(S(M-1))) A / R, and (L zeta^2 A (M-S)/(S(M-1)) / R)^(1/2)",
        f"{_name}.corrected",
    )
for _name in ("eq41", "step.gc_recursion", "eq42", "eq46"):
    sfl.erratum(
        _name,
        "misprint",
        "eta_tilde = M K eta with partial participation",
        "S K eta, as the display above (41) and D.3.2 have it: M K eta claims progress of M clients, but only S take part",
        f"{_name}.corrected",
    )
# Constants

for _name in ("eq10", "eq11", "table1.pfl_thm2", "table1.sfl_thm1"):
    sfl.erratum(
        _name,
        "constant",
        "mu D^2 exp(-mu R / L)",
        "mu D^2 exp(-mu R / (12 L)), as in (43), (72), and R >= 6 L / mu: O hides no factor in an exponent",
        f"{_name}.corrected",
    )
sfl.erratum(
    "claim.sgd_rr",
    "constant",
    "mu D^2 exp(-mu R / L) for SFL",
    "mu D^2 exp(-mu R / (12 L)), as in Corollary 1; the comparison with SGD-RR stays true",
    "claim.sgd_rr.corrected",
)
sfl.erratum(
    "claim.malinovsky",
    "constant",
    "mu D^2 exp(-mu M K R eta)",
    "mu D^2 exp(-mu M K R eta / 2), for eta <= 1/(6 L M K): Theorem 1's exponent is half as large",
    "claim.malinovsky.corrected",
)

# Missing hypotheses

for _name in ("cor1.strongly_convex", "cor2.strongly_convex", "eq43", "eq72"):
    sfl.erratum(
        _name,
        "missing hypothesis",
        "nothing about R",
        "R >= 6 L / mu: otherwise no eta_tilde lies between 1/(mu R) and 1/(6 L); the statement here has this condition",
    )
sfl.erratum(
    "claim.ssl_equiv",
    "missing hypothesis",
    "SSL shares the update rules of SFL, with tau_m local steps at client m",
    "for tau_m = K at every client: Algorithms 1 and 2, and the theorems, have one K for all",
    "claim.ssl_equiv.corrected",
)
sfl.erratum(
    "claim.minibatch",
    "missing hypothesis",
    "the upper bounds of PFL and SFL are worse than that of Minibatch SGD",
    "for large R: otherwise SGD's last term in Table 1, L D^2 exp(-mu R/L), can be larger by any factor",
    "claim.minibatch.corrected",
)
sfl.erratum(
    "table11",
    "missing hypothesis",
    "SFL is worse in FMNIST/LeNet-5",
    "for K = 20 and 50: at K = 5 the table has SFL above PFL",
)
sfl.erratum(
    "nn.clip",
    "missing hypothesis",
    "observations 2) and 3) in general",
    "only in the settings named as examples: in others, Tables 7 and 8 show ties or the contrary",
)

# Proofs that break although the statement is true

for _name, _step in (("thm1.nonconvex", "(50)"), ("thm2.nonconvex", "(77)")):
    sfl.erratum(
        _name,
        "breaks the proof",
        f"through {_step}, which is false even for S = M",
        "true: at S = M the sampled clients' gradients have the mean grad F exactly, see the corrected Lemmas 9 and 13",
    )
for _name in ("cor1.strongly_convex", "cor2.strongly_convex", "eq43", "eq72"):
    sfl.erratum(
        _name,
        "breaks the proof",
        "step size ln(max{2, a^2 r_0 T / c}) / (aT) with c = c_1, which may be 0; Lemma 7 has no gamma^3 term",
        "true: with the gamma^3 term and B = max{2, a^3 r_0 T^2 / (a T c_1 + c_2)}",
        "lemma7.eq39.cubic",
    )

# Misprints

_MISPRINTS = [
    ("asm.unbiased", "E[f_m(x; xi)] = grad F_m(x)", "E[grad f_m(x; xi)] = grad F_m(x)", "asm.unbiased.corrected"),
    ("lemma4.sum", "sum of k^2 in the last term", "sum of k", "lemma4.sum.corrected"),
    (
        "lemma4.closed_form",
        "no zeta^2, the third term without K^2, the outer sum to M",
        "zeta^2 throughout, K^2 in the third term, the outer sum to S",
        "lemma4.closed_form.corrected",
    ),
    (
        "step.eq54_range",
        "1/(6L(beta+1)) <= min{1, sqrt(S)/beta}",
        "<= (1/(6L)) min{1, sqrt(S)/beta}",
        "step.eq54_range.corrected",
    ),
    ("eq46", "'the claim of the strongly convex case', after (47)", "the general convex case", ""),
    ("eq73", "'the claim of the strongly convex case', after (74)", "the general convex case", ""),
    ("eq47", "F(xbar) - F(x*) without the expectation", "E[F(xbar) - F(x*)]", ""),
    ("eq74", "F(xbar) - F(x*) without the expectation", "E[F(xbar) - F(x*)]", ""),
    ("lemma9", "Assumption 3b", "not used: (48) speaks of no heterogeneity (its corrected form of 3a)", ""),
    ("lemma13", "(78): L eta^2 before the second term", "L eta^2 / S^2", ""),
    ("lemma12", "'=' where the drift is summed over m and k", "'<='", ""),
    (
        "lemma14",
        "'Let Assumptions 1, 2, 3b hold'",
        "1, 2, 3a, as in the title of the section and in the proof: beta and zeta are those of 3a",
        "lemma14.corrected",
    ),
    ("lemma14", "third term of the first display: grad F(x)", "grad F_pi_m(x) - grad F(x)", ""),
    ("step.eq53", "Jensen's inequality for 'the third and forth terms'", "the second and fourth", ""),
    ("step.eq80_recursion", "'Substituting (52) into (48)'", "(79) into (75)", ""),
    ("thm2.nonconvex", "S K below the second term", "M K: the theorem is on full participation", ""),
    ("table1", "D = x^(0) - x^*", "the norm of it", ""),
    ("table1.pfl_karimireddy", "note (2): B^2 ||grad F(x)|| + G^2", "B^2 ||grad F(x)||^2 + G^2", ""),
    ("table1.pfl_koloskova", "note (3): weaker than Assumption 3b", "weaker than Assumption 2", ""),
    ("claim.biased", "no unbiased estimator of the global objective", "of its gradient", ""),
    ("nn.grid", "the best learning rate of PFL is smaller than that of SFL", "larger: Tables 9, 10 and Figure 2", ""),
    ("lemma11", "after (66), grad F_pi_m(xi_mk) for e_i of Lemma 1", "grad F_pi_m(x_mk)", ""),
    ("bregman", "'strictly non-negative' for a convex h", "non-negative: it is 0 at x = y", ""),
    ("step.eq30", "after (30), grad F_pi_m(xi_mk) for e_i of Lemma 1", "grad F_pi_m(x_mk)", ""),
    ("step.eq51", "after (51), grad F_pi_m(xi_mk) for e_i of Lemma 1", "grad F_pi_m(x_mk)", ""),
    ("step.eq51", "'For the third term on the right hand side in (49)'", "the second: (49) has two", ""),
    ("lemma13", "'For the third term on the right hand side in (76)'", "the second: (76) has two", ""),
    ("exdir.dirichlet", "'data samples of class k'", "of class c", ""),
]  # fmt: skip
for _name, _printed, _true, _corrected in _MISPRINTS:
    sfl.erratum(_name, "misprint", _printed, _true, _corrected)

# Repairs of the transcription

sfl.repair(
    "The display that defines the population mean and variance is missing in the transcription; restored from the proof.",
    "lemma3",
)
sfl.repair(
    "T_1 is not defined in the transcription; restored from the display before (53).",
    "step.eq53",
)
sfl.repair(
    "The transcription interleaves Algorithms 1 and 2; separated here.",
    "alg1",
    "alg2",
)
sfl.repair(
    "Line 5 is transcribed without the client index of x_s^(r,tau_{m-1}); read x_{s,m-1}^(r,tau_{m-1}).",
    "alg3",
)
sfl.repair(
    "The text's line numbers are off by one from line 5 on; repaired.",
    "alg4",
)
sfl.repair(
    "The condition is printed with min{1, sqrt(S)/beta}; here it is two conditions, so that beta = 0 is allowed.",
    "eq54",
    "step.eq54_recursion",
)
sfl.repair(
    "Printed without the expectation on the left; here it has one.",
    "eq47",
    "eq74",
)
sfl.repair(
    "The condition 1/(mu R) <= eta_tilde is printed in the theorem, not here; it is listed here.",
    "eq42",
    "eq71",
)
sfl.repair(
    "The scan has lost the crossing-out, and merges two lines into one cell; read with the help of the authors' repository.",
    "table9",
)
sfl.repair(
    "The scan cuts about fourteen lines through their digits; the doubtful cells are the best reading of both halves.",
    "table10",
)

# Errors that several statements have

sfl.one_error(
    "step.eq50", "lemma9", "lemma13", "step.eq54_recursion", "step.eq80_recursion", "eq54", "eq55", "eq80", "eq81"
)
sfl.one_error("cor1.nonconvex", "cor2.nonconvex")

# What a reader should know first

sfl.finding(
    "eq54",
    "Sampled clients cost a term that (54) leaves out",
    "Equation (54) bounds the gradient of sequential federated learning when S of M clients take part in a round. It "
    "has no term for the choice of these clients, and for S < M runs exceed it: its proof compares the gradients of two "
    "different functions as if they were one.",
    "In practice each round samples some of the clients. The printed rate (55) is R^(-2/3) without noise. With the "
    "missing term the bound is proved, and its rate is R^(-1/2), as if the choice of heterogeneous clients were noise.",
    "sfl_eq54_bound_against_run",
)
