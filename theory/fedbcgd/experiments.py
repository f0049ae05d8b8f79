"""The paper's claims about its experiments (main 5, supplement 6): in `experiments.toml`; their formulas."""

from __future__ import annotations

from sympy import Gt, Rational, Sum, exp, log

from fedtheory.theory.fedbcgd.symbols import K, N, S, f, f_i, fedbcgd, i, x
from fedtheory.theory.notation import Inner, Norm, Value, equal
from fedtheory.theory.printed_tables import experiments
from fedtheory.theory.statement import F, Words, X, relations

L = fedbcgd.symbol("L", "L", "smoothness constant of the logistic regression", F / X**2, positive=True)
reg = fedbcgd.symbol("reg", r"\lambda", "regularisation parameter", F / X**2, nonnegative=True)
samples = fedbcgd.symbol("samples", "n", "number of data samples", integer=True, positive=True)
a_i = fedbcgd.symbol("a_i", "a_i", "a data sample", 1 / X)
b_i = fedbcgd.symbol("b_i", "b_i", "its label, -1 or +1")

_margin = b_i * Inner(a_i, x)
_regulariser = reg / 2 * Norm(x) ** 2

_logreg = Words(
    "Logistic regression on EMNIST (byclass): a_i in R^d and b_i in {-1, +1} are the data samples; the regularisation "
    "parameter is 10^-4 L, L the smoothness constant.",
    (
        equal(Value(f, x), Sum(log(1 + exp(-_margin)), (i, 1, samples)) / samples + _regulariser),
        equal(reg, Rational(1, 10**4) * L),
    ),
)
_sigmoid_erm = Words(
    "Regularised empirical risk minimisation with the non-convex sigmoid loss, on EMNIST: binary classification of "
    "the first class.",
    (
        equal(Value(f, x), Sum(Value(f_i, x), (i, 1, samples)) / samples + _regulariser),
        equal(Value(f_i, x), 1 / (1 + exp(_margin))),
    ),
)
_diagram = relations(
    Gt(S, N),
    words="the diagram of the FedBCGD framework, where S > N, S and N are the numbers of clients and parameter blocks",
)
_client_blocks = relations(
    equal(S, N * K),
    words="S = N K clients are sampled and divided into N client blocks of K clients; the clients in the i-th client block "
    "are responsible for optimising the uploaded parameter block i",
)

LISTS = experiments(fedbcgd, {"logreg": _logreg, "sigmoid_erm": _sigmoid_erm, "fig1": _diagram, "fig2": _client_blocks})
MOMENTA = LISTS["momenta"]
