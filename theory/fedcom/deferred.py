"""Section F: the deferred proofs, Lemmas F.1 to F.6."""

from __future__ import annotations

from fedtheory.theory.fedcom.heterogeneous import compression, small
from fedtheory.theory.fedcom.setting import *
from fedtheory.theory.notation import equal
from fedtheory.theory.statement import at_most, relations

fedcom.lemma(
    name="lemmaF1",
    place="Section F.1, Lemma F.1, (97)",
    claim=at_most(
        drift_total,
        noise=36 * R * eta**2 * tau**2 * sigma**2,
        heterogeneity=8 * eta**2 * start_partial,
        gradient=20 * eta**2 * tau**2 * grad_sq_total,
        moves=10 * eta**2 * L**2 * tau * move_total,
    ),
    when=[small],
    given=[smooth, heterogeneous],
    rests_on=["lemmaF2", "lemmaF5"],
    also=relations(equal(drift_total, direction_total), words="the equality in the middle"),
    note="(112) prints 36 eta^2 / p, but (97) has 8 eta^2.",
)
fedcom.lemma(
    name="lemmaF2",
    place="Section F.1, Lemma F.2, (98)",
    claim=at_most(
        direction_sq,
        noise=18 * sigma**2 * tau,
        drift=6 * L**2 * tau * drift_mean,
        move=6 * L**2 * tau * (1 / tau) * tau**2 * move_sq,
        drift_before=6 * L**2 * tau * tau * drift_mean_prev,
        mean_drift_before=6 * L**2 * tau * tau * drift_mean_prev,
        gradient=6 * L**2 * tau * tau * grad_sq_prev / L**2,
    ),
    given=[smooth, heterogeneous],
    rests_on=["lemmaF3", "lemmaF4"],
    note="For r >= 1.  A double sum over the steps c of rounds r and r-1, of a term with only one of them, is tau times the "
    "single sum.  The fifth printed term, a norm of w^(r-1) - w^(r-1), is zero and left out.  (99) prints 2/tau inside "
    "its second norm.",
)
fedcom.lemma(
    name="lemmaF3",
    place="Section F.1, Lemma F.3, (100)",
    claim=at_most(noise_sq, noise=18 * sigma**2 * tau),
    given=[heterogeneous],
    note="(101) prints its second line without the factor 3 and its fourth as tau (3 sigma^2).",
)
fedcom.lemma(
    name="lemmaF4",
    place="Section F.1, Lemma F.4, (102), (103)",
    claim=at_most(
        tracked_grad_sq,
        drift=5 * L**2 * tau * drift_sum,
        move=5 * L**2 * tau**2 * move_sq,
        drift_before=5 * L**2 * tau * drift_sum_prev,
        mean_drift_before=5 * L**2 * tau * drift_mean_prev,
        drift_before_again=5 * L**2 * tau * drift_sum_prev,
        gradient=5 * L**2 * tau * tau * grad_sq_prev / L**2,
    ),
    given=[smooth],
    note="For r >= 1.  (105) does not have the fifth term.",
)
fedcom.lemma(
    name="lemmaF5",
    place="Section F.1, Lemma F.5, (107)",
    claim=at_most(
        direction_sq,
        noise=4 * tau * sigma**2,
        drift=4 * tau * L**2 * drift_start,
        heterogeneity=4 * start_sum,
        gradient=4 * tau * tau * grad_sq_start,
    ),
    given=[smooth, heterogeneous],
    note="For r = 0.  (107) prints w^(c,0) and g^(c,0), read as w^(0) and g^(0) with (108).",
)
fedcom.lemma(
    name="lemmaF6",
    place="Section F.1, Lemma F.6, (113)",
    claim=at_most(
        move_total,
        gradients=tau**3 * (eta * gamma) ** 2 * (q + 1) * mean_grad_sq_total,
        noise=tau**3 * R * (eta * gamma) ** 2 * (q + 1) * sigma**2 / m,
        compression=tau**2 * (eta * gamma) ** 2 * (q + 1) * R * G_q,
    ),
    given=[smooth, *compression],
    rests_on=["alg2"],
    note="The last lines of (115) have the mean of the squared norms, (113) has the squared norm of the mean.",
)
