"""The lines of Algorithms 1 to 4 (Section 1, Appendix A)."""

from __future__ import annotations

from fedtheory.theory.listing import *

r, m, k, eta, K, M, R = names("r m k eta K M R")
x = Variable("x", "x^({0})")
x_m = Variable("x", "x_{{{client},{1}}}", client=m)  # of round r; the paper does not print r
pi = Variable("pi", "pi_{0}")


def g(client: Expression) -> Gradient:
    """g_{client,k}: client's stochastic gradient at x_{m,k}."""
    return Gradient(client, x_m[r, k], k, f"g_{{{client},k}}")


_rounds = loop(r, 0, R - 1, "for training round {index} = 0, 1, ..., {last} do")
_local = loop(k, 0, K - 1, "for local step {index} = {first}, ..., {last} do")
_first, _later = test(m, "=", 1), test(m, ">", 1)
_output = do("output", "output: xbar^(R), weighted average on x^(r)")

SEQUENTIAL = Listing(
    (
        Line(1, 0, _rounds),
        Line(2, 1, do("sample", "sample a permutation pi_1, ..., pi_M of {{1, ..., M}}")),
        Line(3, 1, loop(m, 1, M, "for {index} = {first}, ..., {last} in sequence do")),
        Line(4, 2, let(x_m[r, 0], Cases(((x[r], _first), (x_m.of(m - 1)[r, K], _later))))),
        Line(5, 2, _local),
        Line(6, 3, let(x_m[r, k + 1], x_m[r, k] - eta * g(pi[m]))),
        Line(7, 1, let(x[r + 1], x_m.of(M)[r, K], words="global model: ")),
        Line(8, 0, _output),
    )
)
PARALLEL = Listing(
    (
        Line(1, 0, _rounds),
        Line(2, 1, loop(m, 1, M, "for {index} = {first}, ..., {last} in parallel do", parallel=True)),
        Line(3, 2, let(x_m[r, 0], x[r])),
        Line(4, 2, _local),
        Line(5, 3, let(x_m[r, k + 1], x_m[r, k] - eta * g(m))),
        Line(6, 1, let(x[r + 1], 1 / M * Total(m, M, x_m[r, K]), words="global model: ")),
        Line(7, 0, _output),
    )
)

# Split learning, server and client.  These lines are not executed, only shown: they exchange messages of one network.

tau_m = Name("tau_m")
x_s, x_c = Variable("x_s", "x_s^({0})"), Variable("x_c", "x_c^({0})")
x_sm = Variable("x_s", "x_{{s,{client}}}^({0},{1})", client=m)
x_cm = Variable("x_c", "x_{{c,{client}}}^({0},{1})", client=m)
_end_before = Variable("x_s", "x_s^({0},tau_{{m-1}})")  # printed without its client
_steps = loop(k, 0, tau_m - 1, "for local update step {index} = {first}, ..., {last} do")

SERVER = Listing(
    (
        Line(1, 0, do("", "initialise server-side global parameters {0}", x_s[0])),
        Line(2, 0, loop(r, 0, R - 1, "for round {index} = {first}, ..., {last} do")),
        Line(3, 1, do("", "sample a permutation pi_1, ..., pi_M as the clients' update order")),
        Line(4, 1, loop(m, 1, M, "for {index} = {first}, ..., {last} in sequence do")),
        Line(5, 2, let(x_sm[r, 0], Cases(((x_s[r], _first), (_end_before[r], _later))))),
        Line(6, 2, _steps),
        Line(7, 3, do("", "receive (A_m^(r,k), Y_m^(r,k)) from client m")),
        Line(8, 3, do("", "forward passes with smashed data A_m^(r,k)")),
        Line(9, 3, do("", "loss of (Yhat_m^(r,k), Y_m^(r,k))")),
        Line(10, 3, do("", "backward passes: gradient of the loss in {0}", x_sm[r, k])),
        Line(11, 3, do("", "send the gradient of the loss in A_m^(r,k) to client m")),
        Line(12, 3, let(x_sm[r, k + 1], x_sm[r, k] - eta * Gradient(m, x_sm[r, k], k, "(gradient of line 10)"))),
    )
)
_end_of_client = Variable("x_c", "x_{{c,{client}}}^({0},tau_{{m-1}})", client=m - 1)
CLIENT = Listing(
    (
        Line(1, 0, do("", "request the latest client-side parameters from the previous client")),
        Line(2, 0, let(x_cm[r, 0], Cases(((x_c[r], _first), (_end_of_client[r], _later))))),
        Line(3, 0, _steps),
        Line(4, 1, do("", "forward passes with data features X_m^(r,k)")),
        Line(5, 1, do("", "send (A_m^(r,k), Y_m^(r,k)) to the server")),
        Line(6, 1, do("", "receive the gradient of the loss in A_m^(r,k)")),
        Line(7, 1, do("", "backward passes: gradient of the loss in {0}", x_cm[r, k])),
        Line(8, 1, let(x_cm[r, k + 1], x_cm[r, k] - eta * Gradient(m, x_cm[r, k], k, "(gradient of line 7)"))),
    )
)
