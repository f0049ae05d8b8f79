"""Assumptions, algorithms and their update rules (Sections B.1 and C, and the main paper's listings)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sympy import Ge, IndexedBase, Le, Rational, Sum, Symbol
from sympy.core.relational import Relational

from fedtheory.theory.fedcom import algorithms
from fedtheory.theory.fedcom.symbols import *
from fedtheory.theory.notation import Expectation, Grad, Inner, Norm, Value, equal
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Relations, relations

E = Expectation

problem = fedcom.setting(
    name="problem",
    place="Problem (main paper)",
    claim=relations(
        equal(Value(f, w), Sum(Value(f_j, w), (j, 1, m)) / m), words="minimise f over R^d; client j holds f_j"
    ),
    note="Reconstructed.",
    gives={Property.EQUAL_WEIGHTS: ()},
)

# Assumptions; 1 to 5 are in the main paper, to which the supplement refers

smooth = fedcom.assumption(
    name="asm1",
    place="Assumption 1 (main paper)",
    claim=relations(
        Le(Norm(Grad(f_j, u) - Grad(f_j, v)), L * Norm(u - v)),
        words="every f_j is differentiable and L-smooth; f is bounded below",
    ),
    note="Reconstructed from its uses in the supplement.",
    gives={Property.SMOOTH: (L,), Property.BOUNDED_BELOW: ()},
)
compressed = fedcom.assumption(
    name="asm2",
    place="Assumption 2 (main paper)",
    claim=relations(
        equal(E(Value(Q, x)), x), Le(E(Norm(Value(Q, x) - x) ** 2), q * Norm(x) ** 2), words="for every message x"
    ),
    note="Reconstructed from (11), (51), (114).  It does not say how the clients' compressors depend on each other.",
    gives={Property.COMPRESSOR: (q,)},
)
_difference = Value(Q, x_i) - x_i
independent = fedcom.correct(
    "asm2",
    relations(
        equal(E(Value(Q, x)), x),
        Le(E(Norm(Value(Q, x) - x) ** 2), q * Norm(x) ** 2),
        equal(E(Inner(_difference, Value(Q, x) - x)), 0),
        words="for every message x; and for the messages x and x_i of any two clients",
    ),
    suffix="independent",
    note="Step (2) of (11) uses this.",
    gives={Property.COMPRESSOR: (q,), Property.INDEPENDENT_COMPRESSORS: ()},
)


_NOISE: dict[StrEnum, tuple[Any, ...]] = {
    Property.UNBIASED: (),
    Property.VARIANCE: (sigma,),
    Property.INDEPENDENT_NOISE: (),
}


def _unbiased(of: Symbol) -> tuple[Relational, ...]:
    """The conditions on the stochastic gradients of `of`."""
    return equal(E(g_tilde), Grad(of, w)), Le(E(Norm(g_tilde - Grad(of, w)) ** 2), sigma**2)


homogeneous = fedcom.assumption(
    name="asm3",
    place="Assumption 3 (main paper), homogeneous",
    claim=Relations(_unbiased(f), "f_j = f for every client; mini-batches are independent"),
    note="Reconstructed.",
    gives={**_NOISE, Property.HOMOGENEOUS: ()},
)
heterogeneous = fedcom.assumption(
    name="asm4",
    place="Assumption 4 (main paper), heterogeneous",
    claim=Relations(_unbiased(f_j), "for every client j; mini-batches are independent"),
    note="Reconstructed.",
    gives=_NOISE,
)
_x = IndexedBase("x", real=True)
gap_of_compression = fedcom.assumption(
    name="asm5",
    place="Assumption 5 (main paper)",
    claim=relations(
        Le(
            E(Norm(Sum(Value(Q, _x[j]), (j, 1, m)) / m) ** 2 - Norm(Value(Q, Sum(_x[j], (j, 1, m)) / m)) ** 2),
            G_q,
        ),
        words="for the messages x_1 ... x_m of a round",
    ),
    note="Reconstructed from (51), (114).",
    gives={Property.COMPRESSION_DRIFT: (G_q,)},
)
polyak = fedcom.assumption(
    name="asm6",
    place="Section C, Assumption 6",
    claim=relations(
        Ge(Rational(1, 2) * Norm(Grad(f, w)) ** 2, mu * (Value(f, w) - Value(f, w_star))),
        words="Polyak-Lojasiewicz, for all w",
    ),
    gives={Property.POLYAK: (mu,)},
)
strongly_convex = fedcom.assumption(
    name="asm7",
    place="Section C, Assumption 7",
    claim=relations(
        Ge(Value(f, u), Value(f, v) + Inner(Grad(f, v), u - v) + mu / 2 * Norm(u - v) ** 2), words="for all u, v"
    ),
    note="About a function f; only (88) uses it, 'for local cost functions'.",
    gives={Property.STRONGLY_CONVEX: (mu,)},
)

convex = fedcom.correct(
    "asm7",
    relations(Ge(Value(f, u), Value(f, v) + Inner(Grad(f, v), u - v)), words="for all u, v; f has a minimiser w^(*)"),
    suffix="convex",
    note="Strong convexity with mu = 0, which Theorems D.9 and E.9 assume in words, and the existence of the w^(*) in their "
    "bounds.",
    gives={Property.CONVEX_MEAN: (), Property.MINIMISER: ()},
)

# Algorithms

fedcom.algorithm(
    name="alg1",
    place="Algorithm 1 (main paper), FedCOM(R, tau, eta, gamma)",
    claim=algorithms.ALG1,
    also=relations(
        equal(w_r - w_end, eta * g_sum), equal(w_next, w_r - gamma * eta * message_mean), words="(23) and (24)"
    ),
    note="Reconstructed from (23), (24); the lower limit 'c=0, r' of (24) is read as c=0.",
)
gate = fedcom.algorithm(
    name="alg2",
    place="Algorithm 2 (main paper), FedCOMGATE(R, tau, eta, gamma)",
    claim=algorithms.ALG2,
    also=relations(equal(w_next, w_r - eta * gamma * Delta_q), words="(49)"),
    note="Reconstructed from Algorithm 4 with all clients, (49), and items 1 to 8 of the proof of Theorem E.4; (49) "
    "writes Delta_j for delta_j.",
    gives={Property.ZERO_TRACKINGS: ()},
)
fedcom.background = (problem, gate)
fedcom.algorithm(
    name="alg3",
    place="Section B.1, Algorithm 3, FedGATE(R, tau, eta, gamma)",
    claim=algorithms.ALG3,
    note="wbar^(r) of the listing is v_j^(r) here.  In Option I the clients compute line 12, in Option II the server.",
)
fedcom.algorithm(
    name="alg3.option1",
    place="Section B.1, Algorithm 3, Option I",
    claim=relations(
        equal(w_next, w_r - gamma * eta * Delta_q), words="every device updates its copy of the server's model"
    ),
    rests_on=["alg3"],
    note="u^(r) = eta * Delta_q^(r) when nothing is compressed.",
)
fedcom.algorithm(
    name="alg3.option2",
    place="Section B.1, Algorithm 3, Option II",
    claim=relations(equal(w_next, w_r - gamma * eta * Delta_q), words="the server updates its model and broadcasts it"),
    rests_on=["alg3"],
    note="u^(r) = eta * Delta_q^(r) when nothing is compressed.",
)
fedcom.algorithm(
    name="alg4",
    place="Section B.1, Algorithm 4, FedCOMGATE(R, tau, eta, gamma, k)",
    claim=algorithms.ALG4,
    note="The sum of line 9 is printed over j = 1 ... m; only the clients in S^(r) have sent a message.",
)
fedcom.algorithm(
    name="alg5",
    place="Section B.2, FedCOMGATE with sparsification and memory, (8), (9)",
    claim=algorithms.ALG5,
    note="Q is top_k.  (8) has no 1/eta, so u_j stands for Delta_{j,s}, and the steps 'as in Algorithm 2' are the steps of "
    "Algorithm 3.  nu_j^(0) is not printed; 0 is assumed.",
)

# Items 4 to 8 of the proof of Theorem E.4 and the displays (25), (67), as relations between the vectors of a round

_items = (
    equal(delta, delta_sum / tau),
    equal(delta_mean, 0),
    equal(w_next, w_r - gamma * eta * (-Delta_q)),
    equal(w_next, w_r - gamma * eta * Delta_q),
    equal(delta_next, delta + (Delta_q - Delta_jq) / tau),
    equal(delta_next, delta + (-Delta_q + Delta_jq) / tau),
    equal(E(delta_next), (g_sum - g_sum_mean) / tau),
    equal(d_next, g_next + (g_sum_mean - g_sum) / tau),
    equal(g_Q_mean, -eta * g_sum_mean),
)
fedcom.identity(
    name="thmE4.items",
    place="Section E.1, proof of Theorem E.4, items 4 to 8, (63) to (65), (67)",
    claim=Relations(_items, "for the updates of Algorithm 2, from a round r to the next"),
    rests_on=["alg2"],
    note="Item 6 has Q(-sum d) first, which is -Delta_q, then Q(sum d).  (63) has two lines, of opposite signs, and counts "
    "the update by the round of its result; here it goes from r to r+1.  The last relation is (25) with the step as defined "
    "after (24), w^(r+1) = w^(r) - gamma * g_Q.",
)

fedcom.read("compressors", independent, beside=[compressed], unless=[gap_of_compression])
fedcom.read("section", homogeneous, beside=[smooth], unless=[heterogeneous], within="Section D")
fedcom.read("section", heterogeneous, beside=[smooth], unless=[homogeneous], within="Section E")
fedcom.read("section", heterogeneous, beside=[smooth], unless=[homogeneous], within="Section F")
