"""The lines of Algorithms 1 to 5, as printed and corrected.

The paper's sentences are formulas here.  d is the dimension; Q sends k of d coordinates in Algorithm 5, and in Algorithm 4
k is the share of the clients that take part.  A client that does not take part in a round keeps its values.
"""

from __future__ import annotations

from fedtheory.theory.listing import *

r, c, j, eta, gamma, tau, m, q, k, d, R = names("r c j eta gamma tau m q k d R")
S = Variable("S", "S^({0})")
w, u, Delta = (Variable(name, f"{name}^({{0}})") for name in ("w", "u", "Delta"))
delta_j, Delta_j, nu_j, u_j, v_j = (
    Variable(name, f"{name}_j^({{0}})", client=j) for name in ("delta", "Delta", "nu", "u", "v")
)
w_j = Variable("w", "w_j^({0},{1})", client=j)
g_j = Gradient(j, w_j[c, r], c, "g_j^(c,r)")


def Q(message: Expression) -> Call:
    """The compressed message."""
    return call("Q", message)


def mean(messages: Entry, count: Expression = m, over: Expression = m) -> Expression:
    """The mean of the clients' messages."""
    return 1 / count * Total(j, over, messages)


def sent(target: Entry, value: Expression, number: int) -> Line:
    """A message to the server."""
    return Line(number, 2, let(target, value, words="send "))


progress = w[r] - w_j[tau, r]
_rounds, _local, _all, _sampled = loop(r, 0, R - 1), loop(c, 0, tau - 1), Each(j, m), Each(j, S[r])
_receive = let(w_j[0, r], w[r])
_tracked = let(w_j[c + 1, r], w_j[c, r] - eta * (g_j - delta_j[r]))
_no_tracking = let(delta_j[0], 0, each=(j, m))
_message = sent(Delta_j[r], Q(progress / eta), 7)


def tracking(factor: Expression, difference: Expression, number: int) -> Line:
    """The update of the gradient tracking."""
    return Line(number, 2, let(delta_j[r + 1], delta_j[r] + factor * difference))


ALG1 = Listing(
    (
        Line(1, 0, _rounds),
        Line(2, 1, _all),
        Line(3, 2, _receive),
        Line(4, 2, _local),
        Line(5, 3, let(w_j[c + 1, r], w_j[c, r] - eta * g_j)),
        sent(Delta_j[r], Q(progress / eta), 6),
        Line(7, 1, let(w[r + 1], w[r] - eta * gamma * mean(Delta_j[r]))),
    )
)
ALG2 = Listing(
    (
        Line(1, 0, _no_tracking),
        Line(2, 0, _rounds),
        Line(3, 1, _all),
        Line(4, 2, _receive),
        Line(5, 2, _local),
        Line(6, 3, _tracked),
        _message,
        Line(8, 1, let(Delta[r], mean(Delta_j[r]))),
        Line(9, 1, _all),
        tracking(1 / tau, Delta_j[r] - Delta[r], 10),
        Line(11, 1, let(w[r + 1], w[r] - eta * gamma * Delta[r])),
    )
)
ALG3 = Listing(
    (
        *ALG2.lines[:6],
        sent(u_j[r], progress, 7),
        Line(8, 1, let(u[r], mean(u_j[r]))),
        Line(9, 1, _all),
        Line(10, 2, let(v_j[r], w[r] - u[r])),
        tracking(1 / (eta * tau), v_j[r] - w_j[tau, r], 11),
        Line(12, 1, let(w[r + 1], w[r] - gamma * u[r])),
    )
)
ALG4 = Listing(
    (
        Line(1, 0, _no_tracking),
        Line(2, 0, _rounds),
        Line(3, 1, do("sample", "sample S^(r) of |S| = floor(k m) clients")),
        Line(4, 1, _sampled),
        Line(5, 2, _receive),
        Line(6, 2, _local),
        Line(7, 3, _tracked),
        sent(Delta_j[r], Q(progress / eta), 8),
        Line(9, 1, let(Delta[r], mean(Delta_j[r], over=S[r]))),
        Line(10, 1, _sampled),
        tracking(1 / tau, Delta_j[r] - Delta[r], 11),
        Line(12, 1, let(w[r + 1], w[r] - eta * gamma * Delta[r])),
    )
)
ALG5 = Listing(
    (
        Line(1, 0, _no_tracking),
        Line(2, 0, let(nu_j[0], 0, each=(j, m))),
        Line(3, 0, _rounds),
        Line(4, 1, _all),
        Line(5, 2, _receive),
        Line(6, 2, _local),
        Line(7, 3, _tracked),
        sent(u_j[r], Q(progress + nu_j[r]), 8),
        Line(9, 1, let(u[r], mean(u_j[r]))),
        Line(10, 1, _all),
        tracking(1 / (eta * tau), u_j[r] - u[r], 11),
        Line(12, 2, let(nu_j[r + 1], nu_j[r] + 1 / m * (w[r] - w_j[tau, r]) - u[r])),
        Line(13, 1, let(w[r + 1], w[r] - gamma * u[r])),
    )
)

# Corrected

ALG2_DAMPED = ALG2.having(tracking(1 / ((1 + q) * tau), Delta_j[r] - Delta[r], 10))
ALG4_MEAN_OF_SAMPLED = ALG4.having(Line(9, 1, let(Delta[r], mean(Delta_j[r], call("||", S[r]), S[r]))))
_memory = Line(12, 2, let(nu_j[r + 1], nu_j[r] + progress - u_j[r]))
ALG5_DAMPED = ALG5.having(tracking(k / (d * eta * tau), u_j[r] - u[r], 11), _memory)
ALG5_OWN_PROGRESS = ALG5.having(tracking(1 / (eta * tau), progress - u[r], 11), _memory)
