"""Table 1 of the main paper, and the claims about it."""

from __future__ import annotations

from sympy import Rational, log, sqrt

from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.notation import equal
from fedtheory.theory.statement import Order, Record, Words, order, relations

_log = log(1 / eps)
_two_thirds, _third = Rational(2, 3), Rational(1, 3)
_row = "main, Table 1, {}; communication complexities in units of d floats"


def _says(
    name: str, title: str, claim: Order | Words, non_convex: Order | None, row: tuple[str, str, str], note: str
) -> None:
    """A row: strongly convex, non-convex, and client sampling, stochastic gradient, floats sent per round."""
    sampling, stochastic, floats = row
    record = Record({"client sampling": sampling, "stochastic gradient": stochastic, "floats per round": floats})
    fedbcgd.table(
        name=f"table1.{name}",
        place=_row.format(title),
        claim=claim,
        also=[*([non_convex] if non_convex else []), record],
        rests_on={"fedbcgd": ["thm1.main.strongly_convex"], "fedbcgdplus": ["thm2.main.strongly_convex"]}.get(name, []),
        note=note,
    )


_damaged = "The row is damaged in the scan, and put together from the text around it."
_says(
    "fedavg",
    "FedAvg",
    order(
        Com,
        noise=sigma**2 / (mu * S * T * eps),
        sampling=G**2 / (mu * S * eps),
        drift=sqrt(beta) * G / (mu * sqrt(eps)),
        optimisation=beta / mu * _log,
    ),
    order(
        Com,
        noise=beta * F * sigma**2 / (S * T * eps_grad**2),
        drift=beta * F * G / eps_grad ** Rational(3, 2),
        optimisation=F * beta / eps_grad,
    ),
    ("yes", "yes", "d"),
    f"{_damaged}  The text after Theorem 1 calls (sigma+G)/(mu sqrt(eps)) d FedAvg's second term, as far as it can be "
    f"read.  The noise term of the non-convex case, and whether sigma stands in its drift, cannot be read; beta F is "
    f"put in both, so that the sides have the same dimension.",
)
_says(
    "fedbcgd",
    "FedBCGD",
    order(
        Com,
        noise=(sigma**2 + G**2) / (mu * S * T * eps),
        drift=(sigma + G) / (alpha * mu * N * sqrt(eps)),
        optimisation=beta / (mu * N) * _log,
    ),
    order(
        Com,
        noise=beta * sigma**2 / (T * S * eps_grad**2),
        drift=sqrt(beta) * (G + sigma) / (N * eps_grad ** Rational(3, 2)),
        optimisation=F * beta / (N * eps_grad),
    ),
    ("yes", "yes", "d/N"),
    "eps bounds the gap in the strongly convex column, a squared gradient in the other.",
)
_says(
    "scaffold",
    "SCAFFOLD",
    order(Com, noise=sigma**2 / (mu * S * T * eps), clients=M / S * _log, optimisation=beta / mu * _log),
    order(
        Com,
        noise=beta * F * sigma**2 / (S * T * eps_grad**2),
        optimisation=beta * F / eps_grad * (M / S) ** _two_thirds,
    ),
    ("yes", "yes", "2d"),
    f"{_damaged}  A second fraction before the logarithm of the strongly convex case, and one between the two terms of the "
    "non-convex case, cannot be read and are left out; nor can it be read whether F stands in the noise term.",
)
_says(
    "fedlin",
    "FedLin",
    order(Com, optimisation=beta / mu * _log),
    None,
    ("no", "no", "2d"),
    "No entry for the non-convex case.",
)
_says(
    "s_local_gd",
    "S-Local-GD",
    order(Com, optimisation=beta / mu * _log),
    None,
    ("no", "no", "2d"),
    f"{_damaged}  No entry for the non-convex case.",
)
_says(
    "ce_lsgd",
    "CE-LSGD",
    Words(
        "CE-LSGD can achieve a communication complexity of O(1/eps^{3/2}) with partial client participation and O(1/eps) "
        "when all clients participate; Section 4.2: O(beta F d/eps) without client sampling.",
        (eps_grad ** -Rational(3, 2), 1 / eps_grad, beta * F * d / eps_grad),
    ),
    None,
    ("yes", "yes", "3d"),
    "The entry of the table cannot be read; this is Section 2.  No entry for the strongly convex case.",
)
_says(
    "bvr_l_sgd",
    "BVR-L-SGD",
    Words(
        "BVR-L-SGD assumes second-order data heterogeneity, O(1/eps) with full client participation.",
        (1 / eps_grad,),
    ),
    None,
    ("cannot be read", "yes", "3d"),
    "The entry of the table, three terms, cannot be read; this is Section 2.  No entry for the strongly convex case.",
)
_says(
    "fedbcgdplus",
    "FedBCGD+",
    order(Com, clients=M / S * _log, optimisation=sqrt(beta / mu) * _log),
    order(Com, optimisation=beta * F / eps_grad * (M / S) ** _two_thirds * N**-_third),
    ("yes", "yes", "2d/N"),
    "With N = sqrt(beta/mu).",
)

fedbcgd.claim(
    name="claim.factor_1_over_N",
    place="main, abstract, Section 1",
    claim=relations(
        equal(Com, Com_other / N),
        words="the communication complexities of our algorithms are a factor 1/N lower than those of existing methods",
    ),
    rests_on=["table1.fedbcgd", "table1.fedbcgdplus", "table1.fedavg", "table1.scaffold"],
)
fedbcgd.claim(
    name="claim.N_sqrt_kappa",
    place="main, Section 4.2",
    claim=order(Com, clients=M / S * d * _log, optimisation=sqrt(beta / mu) * d * _log),
    where={N: sqrt(beta / mu)},
    rests_on=["thm2.main.strongly_convex"],
)
fedbcgd.claim(
    name="claim.second_term",
    place="main, Section 4.1, after Theorem 1",
    claim=relations(
        equal(Com, Com_other / N),
        words="the second term of FedBCGD's communication complexity is N times lower than FedAvg's",
    ),
    rests_on=["table1.fedbcgd", "table1.fedavg", "thm1.main.strongly_convex"],
    note="The terms, as far as they are legible: (sigma+G)/(alpha mu N sqrt(eps)) d and (sigma+G)/(mu sqrt(eps)) d.",
)
fedbcgd.claim(
    name="claim.alpha_server_step",
    place="main, Section 4.1, after Theorem 1",
    claim=Words(
        "The momentum parameter alpha is equivalent to the server step size, and a larger server step size can accelerate "
        "convergence.",
        (equal(eta_tilde, alpha * eta * T / 4),),
    ),
    rests_on=["lemma10", "thm1.main.strongly_convex"],
)
