"""The errors of the FedCOM supplement, by severity; the verdicts about them are computed, not written here."""

from __future__ import annotations

from theory.fedcom.symbols import fedcom

# Statements that fail

fedcom.erratum(
    "thmE4",
    "breaks the statement",
    "Theorem E.4 for every q under (61)",
    "The gradient tracking takes a full compressed step.  With one mask for all clients, which Assumption 5 with G_q = 0 "
    "admits, and small steps, a round multiplies the mean square of its error by about q (with own masks by q (1 - 1/m)).  "
    "If that is more than 1, the error grows without bound, and so do the drift and the gradient.  With damping 1/(1+q) the "
    "theorem holds, with other constants.",
    "thmE4.corrected",
)
fedcom.erratum(
    "thmE6",
    "breaks the statement",
    "Theorem E.6 for every q under (78)",
    "As for Theorem E.4, for q > 1 and one mask for all clients.  Besides, (78) admits a second range of very large "
    "gamma, where its denominator is negative and the algorithm diverges.  And 'PL' does not say that the clients' "
    "functions have the minimisers in the bound.",
    "thmE6.corrected",
)
fedcom.erratum(
    "thmE9",
    "breaks the statement",
    "Theorem E.9 with L, and with the initial gap of f",
    "As for Theorem E.4, for q > 1 and one mask for all clients.  The regularised function is (L+phi)-smooth, and its "
    "initial gap has the term (phi/2) ||w^(0)||^2.  (88) needs the regularised f_j to be strongly convex, and its "
    "w_j^(*) are their minimisers.  phi has a dimension, 1/sqrt(m tau) has none.",
    "thmE9.corrected",
)
fedcom.erratum(
    "thmD9",
    "breaks the statement",
    "Theorem D.9 with L, and with the initial gap of f",
    "The regularised function is (L+phi)-smooth: without compression and with phi = 1/sqrt(m tau) > 3 L the printed "
    "step size diverges.  Its initial gap has the term (phi/2) ||w^(0)||^2.  phi has the dimension of L, 1/sqrt(m tau) "
    "has none.",
    "thmD9.corrected",
)
fedcom.erratum(
    "alg4",
    "breaks the statement",
    "Delta_q = (1/m) sum_j Delta_{j,q} with only |S| clients sending",
    "Divide by |S|.  As printed, the trackings do not sum to zero: their mean is (1-k)/(eta gamma tau) (w^(0) - w^(r)), and "
    "the model stops where this mean equals the gradient.",
    "alg4.corrected",
)
fedcom.erratum(
    "alg5",
    "breaks the statement",
    "nu_j + (1/m)(w - w_j) - Delta, (9)",
    "nu_j + (w - w_j) - Delta_{j,s}: the part that the client's own message leaves out.  As printed, the memory is not zero "
    "even if nothing is left out, and it takes back all but 1/m of every step.  Besides, the tracking treats the sum that "
    "the memory collects over many rounds as one round's gradient.  It must be damped by k/d, or use the client's own "
    "w - w_j instead of its message.",
    "alg5.corrected",
)
fedcom.erratum(
    "lemmaD1",
    "breaks the statement",
    "E||sum of stochastic gradients||^2 = variance + ||sum of gradients||^2, (11) to (13)",
    "Gradients of later steps depend on the noise of earlier steps; where f is concave, the two add up.  Corrected by the "
    "factors 1 + L eta tau and 1 + 2 L eta tau.  The clients' compressors must be independent.",
    "lemmaD1.corrected",
)
fedcom.erratum(
    "lemmaD1.proof",
    "breaks the statement",
    "(16): (q/m+1) tau before the gradients, (q+1) tau before the noise",
    "As for Lemma D.1.  Besides, it needs the clients' compressors to be independent, which Assumption 2 does not say: with "
    "shared coins the variance of the mean is q, not q/m.",
    "lemmaD1.corrected",
)
fedcom.erratum(
    "lemmaD3",
    "breaks the statement",
    "(19) at every local step",
    "The same correlation as in Lemma D.1.  True with the factor 2 at a single step, and with the printed constants for "
    "the sum over the round.",
    "lemmaD3.corrected",
)
fedcom.erratum(
    "lemmaE1",
    "breaks the statement",
    "(50): the factor q+1 before noise and gradients",
    "The same correlation as in Lemma D.1, in the mean over clients.  True with the factor 2 before noise and gradients.",
    "lemmaE1.corrected",
)
fedcom.erratum(
    "lemmaF6",
    "breaks the statement",
    "(113): the factor q+1 before noise and gradients",
    "Lemma E.1 summed over the rounds; corrected with it.",
    "lemmaF6.corrected",
)
fedcom.erratum(
    "lemmaE3",
    "breaks the statement",
    "(60), as a bound on the drift of FedCOMGATE",
    "It bounds the drift of the expected directions (65), not of the algorithm's directions: the algorithm's trackings "
    "contain the compression errors of all rounds.  Replaced by a drift bound in terms of the tracking error, and a "
    "recursion for this error.",
    "lemmaE7.corrected",
)
fedcom.erratum(
    "lemmaE7",
    "breaks the statement",
    "(80), as a bound on the drift of FedCOMGATE",
    "As for Lemma E.3.  Besides, the drift of the round before, which Lemma F.2 has, is missing; and the equality in the "
    "middle has the sum over the whole round instead of the sum up to step c.",
    "lemmaE7.corrected",
)
fedcom.erratum(
    "lemmaF1",
    "breaks the statement",
    "(97), as a bound on the drift of FedCOMGATE",
    "As for Lemma E.3; the expression in the middle lacks eta^2.",
    "lemmaF1.corrected",
)
fedcom.erratum(
    "thmE4.eq73",
    "breaks the statement",
    "rests on Lemmas E.1 and E.3",
    "These fail, and so does (73), for q > 1 and one mask for all clients.",
    "thmE4.corrected",
)
fedcom.erratum(
    "tab5.fedcom",
    "breaks the statement",
    "nonconvex R = O(1/epsilon); PL, SC, convex tau without (q+1)/(q/m+1)",
    "Even without noise, no step size gets below ((q/m)/(1+q/m))^R: R grows with q/m.  With noise, tau must grow with "
    "(q+1)/(q/m+1), as in Corollary D.8.",
    "tab5.fedcom.corrected",
)
fedcom.erratum(
    "corD5",
    "breaks the statement",
    "R = O(1/epsilon), tau = O((q+1)/(m epsilon)) for a fixed gamma",
    "If q is much larger than m, (21) does not admit the learning rate, and no other one is enough: "
    "R = O((q/m+1)/epsilon).",
    "corD5.corrected",
)
fedcom.erratum(
    "rem7",
    "breaks the statement",
    "gamma^2 (sqrt((q+1)^2 gamma^2 + 4) - (q+1) gamma)^2 = Theta(1), hence R >= tau m/(5(q+1)), hence R = O(1/epsilon)",
    "The expression is of the order 1/(q+1)^2; (33) lacks the factor 4, and (34) is necessary, not sufficient.  "
    "R >= (q/m+2)^2 tau m/(q+1) is sufficient.",
    "rem7.corrected",
)
fedcom.erratum(
    "rem8",
    "misprint",
    "requires R = (q+1)/(m epsilon)",
    "R = (q+1)/epsilon, as (76) asks at tau = 1/(m epsilon), and as Corollary E.5 and Table 6 print.  And (76) is "
    "necessary, not sufficient.",
    "rem8.corrected",
)
fedcom.erratum(
    "thmE4.items",
    "misprint",
    "delta_j = (1/tau) sum (Delta_q - Delta_jq), items 4 and 7, (63)",
    "The other sign, as in the algorithm, in (64) and in (65); (63) prints both.  With the printed sign it diverges.  "
    "(25) and (67) print the mean step with one minus sign too many.",
    "thmE4.items.corrected",
)

# Proofs

for _name, _ours in (("thmD4", "thmD4.corrected"), ("thmD7", "thmD7.corrected")):
    fedcom.erratum(
        _name,
        "breaks the proof",
        "rests on (16) and Lemma D.3",
        "These fail.  Proved with the noise term times 1 + 2 L eta tau, under a condition that is (21) up to lower order.",
        _ours,
    )
fedcom.erratum(
    "thmE6.recursion",
    "breaks the proof",
    "+ (gamma eta/2)(1 - (q+1) L eta gamma tau) e_{r-1} inserted in step (a) of (84)",
    "With a minus, because (82) dropped the term; then (86) removes e_{r-1} in step (b), if its denominator is "
    "positive.  Besides, the lemmas that it starts from fail.",
    "thmE6.corrected",
)
fedcom.erratum(
    "lemmaF2",
    "breaks the proof",
    "factor 6 from 2 times Lemma F.3 and 2 times Lemma F.4",
    "These give 10; six-term Jensen gives 6.  The printed double sums are tau times larger than needed, and (110) continues "
    "with 5.",
)
fedcom.erratum(
    "tab6.fedcomgate",
    "breaks the statement",
    "rates of FedCOMGATE, for every gamma of Corollaries E.5, E.8 and E.10",
    "For q > 1, one mask for all clients and small steps, each round multiplies the mean square of the undamped tracking's "
    "error by about q, and the model's error grows with it.  The rates hold for "
    "the damped algorithm, for G_q m^2 epsilon of the order of 1.",
    "tab6.fedcomgate.corrected",
)
fedcom.erratum(
    "corE10",
    "breaks the statement",
    "an error of epsilon with gamma >= sqrt(m tau)",
    "For q > 1, one mask for all clients and small steps, each round multiplies the mean square of the undamped tracking's "
    "error by about q, and the model's error grows with it.  The rate holds for "
    "the damped algorithm, for G_q m^2 epsilon of the order of 1.",
    "corE10.corrected",
)
# Hypotheses

fedcom.erratum(
    "thmE6.eq83",
    "missing hypothesis",
    "(83) under (78) alone",
    "The denominator of (78), 1 - mu tau gamma eta + 20 mu gamma eta^3 L^2 tau^3, must be positive; otherwise (83) does "
    "not follow, and (78) admits arbitrarily large step sizes.",
    "thmE6.eq83.corrected",
)
fedcom.erratum(
    "claim.tab6",
    "missing hypothesis",
    "FedCOMGATE improves the rounds of VR-DIANA in the convex column of Table 6",
    "Only for sqrt(n)/m + 1/sqrt(n) >= 1, as for n = 1: with n = 100, m = q = 1000 the table has 120/epsilon for VR-DIANA "
    "and 1001/epsilon for FedCOMGATE.",
    "claim.tab6.corrected",
)
fedcom.erratum(
    "asm2",
    "missing hypothesis",
    "unbiased with variance factor q, nothing of how the clients' compressors depend on each other",
    "Section D needs them to be uncorrelated, step (2) of (11): with shared coins the variance of the mean is q, not "
    "q/m, and (16), Theorems D.4, D.7, D.9 and Corollary D.8 fail (f_j = w^2/2, m = 20, q = 19, eta = 1/3: the gap "
    "grows).  Lemma D.1 as printed, (10), has the factor q+1 and does not need it.",
    "asm2.independent",
)
fedcom.erratum(
    "alg2",
    "missing hypothesis",
    "delta_j + (1/tau)(Delta_jq - Delta_q) for every compressor",
    "With one mask for all clients and small steps a round multiplies the mean square of the tracking error by about q, "
    "with own masks by q (1 - 1/m): unstable if that is more than 1.  With damping 1/(1+q), stable for every q.",
    "alg2.corrected",
)
fedcom.erratum(
    "corD8",
    "missing hypothesis",
    "Assumption 2 as in Theorem D.7",
    "The clients' compressors must be independent; then it holds by the corrected Theorem D.7.",
    "corD8.corrected",
)
for _name, _also in (("lemmaD2", "Assumptions 2 and 3"), ("lemmaE2", "Assumption 4")):
    fedcom.erratum(
        _name,
        "missing hypothesis",
        "under Assumption 1",
        f"Also under {_also}: the stochastic gradients are unbiased.",
        f"{_name}.corrected",
    )
fedcom.erratum(
    "asm5",
    "missing hypothesis",
    "a constant G_q for all messages",
    "For m >= 2 independent unbiased compressors that scale with their message, q > 0, no such G_q exists: the left side "
    "grows with the square of the messages.  For linear compressors that share their coins, G_q = 0.",
)
# Constants

fedcom.erratum(
    "thmE4",
    "constant",
    "left side of (62) without the factor 1 - 20 eta^2 L^2 tau^2 of (73)",
    "It is at least 1/3: the right side must be three times as large.",
    "thmE4.corrected",
)
fedcom.erratum(
    "thmE4",
    "constant",
    "16 eta^3 L^2 tau^2 sigma^2 / R",
    "16 eta^3 L^3 tau^2 sigma^2 / R: a factor L is missing in the bound on local gradients of (74), by the units.",
    "thmE4.corrected",
)
fedcom.erratum(
    "thmE6",
    "constant",
    "(79) without 8 L^4 eta^3 tau^2 sigma^2 / (mu (1 - eta L)) of (88)",
    "The term is in (88) and in Corollary E.8.",
    "thmE6.corrected",
)

fedcom.erratum(
    "corE5",
    "breaks the statement",
    "rests on Theorem E.4; eighth term L m/(gamma^2 R^2 (q+1)), ninth m G_q/(R tau gamma^2 (q+1))",
    "For q > 1 and one mask for all clients it fails with the theorem, for every constant.  For smaller q, too, the "
    "eighth and ninth terms are too small: the learning rate in (62) gives L m tau/(gamma^2 R^2 (q+1)) and sqrt(m) "
    "G_q/sqrt(R tau^3 (q+1)).",
    "corE5.corrected",
)
fedcom.erratum(
    "corE8",
    "breaks the statement",
    "rests on Theorem E.6; 2 L f_gap/((q+1)^2 gamma^2)",
    "For q > 1 and one mask for all clients it fails with the theorem: on two quadratics with q = 3 the gap is 2e39 "
    "times the bound after 100 rounds.  Besides, the learning rate in (79) gives 4 L f_gap, as in (91); and with gamma "
    "= 1 and small q, (78) does not admit the learning rate.",
    "corE8.corrected",
)

# Misprints

for _name, _printed, _true in (
    ("thmD7", "(41): (q/m+1) gamma", "(q+1) gamma, as in (40) and (42)"),
    ("alg2", "(49): Delta_j^(r) inside the message", "delta_j^(r)"),
    ("lemmaD3", "sum over k = 0 ... c in the proof", "k = 0 ... c-1"),
    ("thmD4", "(26) with g for g_Q, referring to (23)", "g_Q, referring to (24)"),
    ("lemmaE1", "(52): tau eta^2 sigma^2 / m", "tau sigma^2 / m, as in (53)"),
    ("lemmaE2", "(59): a factor 1/m before the bracket", "none, as in (58)"),
    ("lemmaE2", "(58): eta before g_tilde^(t)", "eta once: by (67), g_tilde contains it already"),
    ("thmE4.eq73", "(71): the term of 36 eta^2 tau^2 sigma^2 divided by R", "not divided, as in (73)"),
    ("corE5", "1 - 20 eta^2 L^2 = Theta(1)", "1 - 20 eta^2 L^2 tau^2"),
    ("thmE6.eq88", "last line: the bracket is closed after all terms", "after the first one"),
    ("thmE9", "(92): lambda for phi", "phi"),
    ("thmE9", "(94) to (96): the regularised objective on the left", "f, as in (91)"),
    ("thmE9", "kappa", "(L + phi)/phi"),
    ("lemmaF1", "(112): 36 eta^2 before the heterogeneity", "8 eta^2, as in (97)"),
    ("lemmaF2", "(99): 2/tau inside the second norm", "1/tau"),
    ("lemmaF3", "(101): second line without 3, fourth tau (3 sigma^2)", "3 [...], 9 tau sigma^2"),
    ("lemmaF4", "(103): a fifth term that (105) does not have", "five terms"),
    ("lemmaF5", "(107): g^(c,0) and w^(c,0)", "g^(0) and w^(0)"),
    ("lemmaF6", "(115): mean of the squared norms", "squared norm of the mean, as in (113)"),
    (
        "thmE6.eq88",
        "(88), footnote: the noise inside the bracket, under the power",
        "outside, as in the display; it does not decay",
    ),
    ("thmE6.recursion", "(84): (1/2) gamma^2 eta^2, twice", "gamma eta/2"),
    (
        "thmE6.recursion",
        "(84): the e_(r-1) bracket with - 10 eta^2 ..., Delta^r a_0",
        "+ 10 eta^2 ...; Delta^(r+1) a_0",
    ),
    ("thmE6", "(82): an equality after Lemma E.7 is used; (87): exponent r", "an inequality; exponent R"),
    ("lemmaF5", "(108): g_j^(0) becomes g_j^(c,0) in the last line", "three terms instead of four give (107)"),
    ("lemmaF1", "(97): partial sums in C; (60), (80), (111), (112): whole sums", "partial sums, as (110) has k < c"),
    ("lemmaF4", "(106): the differences of rounds r and r-1 on the right", "those along the drift of round r-1"),
    ("lemmaF4", "(105): the third and fourth sums without tau in one line", "tau times them, as in the next line"),
    ("lemmaF6", "(114): (q+1) before G_q", "G_q"),
    ("lemmaE1", "(51), step 1: Assumption 2, with an equality", "Assumption 5, with an inequality"),
    ("lemmaE1", "(50): Q(sum g - Delta_j), Delta_j outside the sum", "inside, as in (49)"),
    ("lemmaE1", "(56): 'i.i.d. data distribution' in the heterogeneous section", "Assumption 4"),
    ("lemmaE3", "Assumptions 2, 4 and 5", "and 1, which Lemmas F.1 and F.4 use"),
    ("lemmaD1", "before (12): Assumption 4", "Assumption 3"),
    ("thmD4", "after (24): w^(r) = w^(r-1) - gamma g^(r)", "w^(r+1) = w^(r) - gamma g_Q^(r)"),
    ("thmD4", "left sides of (22), (30), (35) without an expectation", "with one; so (62), (73)"),
    ("thmD9", "(47), (94): ||w^(r)||^2", "||w^(R)||^2"),
    ("corD8", "gamma without bound: (q+1) kappa", "(q/m+1) kappa"),
    ("thmE4.items", "(64), first line: (1/tau) (1/m) sum_j delta_j", "(1/m) sum_j delta_j, which is 0 all the same"),
    ("thmE4.items", "item 4: sum up to r; item 8: R >= 1", "up to r-1; r >= 1"),
    ("alg1", "(24): lower limit 'c=0, r'", "c=0"),
):
    fedcom.erratum(_name, "misprint", _printed, _true)
fedcom.erratum(
    "corE8.early_bracket",
    "misprint",
    "(89): the bracket closed after the third term",
    "after the eighth",
    "corE8.corrected",
)

# Repairs of the transcription

fedcom.repair(
    "The main paper is not in the supplement: reconstructed from what the supplement says and uses.",
    "problem",
    "asm1",
    "asm2",
    "asm3",
    "asm4",
    "asm5",
    "alg1",
    "alg2",
)
fedcom.repair(
    "(8) has no 1/eta, and the steps are 'as in Algorithm 2': read with the units of (8); nu_j^(0) is not printed, 0 is "
    "assumed.",
    "alg5",
)
fedcom.repair(
    "The left side is printed without an expectation; it has one here.",
    "thmD4",
    "corD6",
    "thmE4",
    "thmE4.eq73",
)
fedcom.repair(
    "The left side is printed without an expectation; it has one here.  The step size is printed up to a constant, "
    "Theta; here the constant is 1.",
    "corD5",
)
fedcom.repair(
    "The step size is printed up to a constant, Theta; here the constant is 1.  The root in the sixth denominator is "
    "read as sqrt(m) R^1.5.",
    "corE5",
)
fedcom.repair(
    "eta is printed before g_tilde^(t), which contains it already by (67): here it stands once.",
    "lemmaE2",
)
fedcom.repair(
    "L is from Assumption 1, which the lemma does not name: it is listed here.",
    "lemmaE3",
)
fedcom.repair(
    "Printed without a condition, 1 - (q+1) L eta gamma tau >= 0; here it is a consequence of (78), the condition of "
    "the theorem.",
    "thmE6.eq83",
)
fedcom.repair(
    "The bracket of the last line closes after the first term, and the noise is outside the power, as in the display.",
    "thmE6.eq88",
)
fedcom.repair(
    "The extracted text closes the bracket after the third term; here it encloses all eight, as in (79).",
    "corE8",
)
fedcom.repair(
    "(90) prints mu, which the proof replaces by phi; here it has phi.  kappa is not defined; it is a symbol of its own.",
    "thmE9",
)
fedcom.repair(
    "The fifth printed term, a norm of w^(r-1) - w^(r-1), is zero and left out.",
    "lemmaF2",
)
fedcom.repair(
    "w^(c,0) and g^(c,0) are printed for w^(0) and g^(0), as (108) has them.",
    "lemmaF5",
)

# Errors that several statements have

fedcom.one_error(
    "lemmaE3",
    "lemmaE7",
    "lemmaF1",
    "thmE4",
    "thmE4.eq73",
    "thmE6",
    "thmE9",
    "corE5",
    "corE8",
    "corE10",
    "tab6.fedcomgate",
)
fedcom.one_error("lemmaD1", "lemmaD1.proof", "lemmaD3", "lemmaE1", "lemmaF6")
fedcom.one_error("corD5", "rem7", "tab5.fedcom")

# What a reader should know first

fedcom.finding(
    "thmE4",
    "FedCOMGATE diverges under strong compression with one mask for all clients",
    "Theorem E.4 promises convergence for every compressor with Assumption 5. One mask for all clients meets this "
    "assumption with G_q = 0. Then, with small steps, each round multiplies the mean square of the tracking error by about "
    "the compressor's variance factor q. With q > 1, as when clearly fewer than half of the coordinates are sent, the error "
    "grows without bound.",
    "Strong compression is what the method is for. With own masks the factor is q (1 - 1/m): on quadratics, two clients "
    "that send 40 % of the coordinates converge. If the tracking takes steps damped by 1/(1+q), it converges for every "
    "q, and the theorem is proved with other constants.",
    "fedcom_thmE4_bound_against_run",
)
