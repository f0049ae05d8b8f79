"""The lines of FedBCGD (main, Algorithms 1 and 2) and FedBCGD+ (main, Algorithm 3), as printed and corrected.

Client k of client block j is kj, or i where the paper numbers all clients.  Indices are a round r and a local step t.
"""

from __future__ import annotations

from fedtheory.theory.listing import *

r, j, k, t, i, kj, eta, lam, N, K, M, T, R = names("r j k t i kj eta lam N K M T R")
s = "s"  # the shared block


x, v = (Variable(name, name + "{block}^{up}") for name in ("x", "v"))  # the server's variables of a round
c, Dc = (Variable(name, name + "{block}") for name in ("c", "Dc"))
x_kj = Variable("x", "x_{client}{block}^{up}", kj)
c_kj, c_i, Dc_kj = (Variable(name, name + "_{client}{block}", who) for name, who in (("c", kj), ("c", i), ("Dc", kj)))
c_kj_new, c_i_new = (Variable("c+", "c_{client}{block}^+", who) for who in (kj, i))


def grad(point: Entry, step: Expression | None = t) -> Gradient:
    """The gradient of client kj at a point: on the mini-batch zeta of a local step, or the exact one."""
    return Gradient(kj, point, step, f"grad f_kj({point}{'' if step is None else '; zeta'})")


_start = (
    Line(1, 0, do("initialise", "Initialize x_i^(0,0) = x^init for all i in [M]")),
    Line(2, 0, do("divide_model", "Divide the model parameters x into {0} blocks", N + 1)),
    Line(3, 0, loop(r, 0, R)),
    Line(4, 1, do("clients", "Client:")),
    Line(5, 1, do("sample", "Sample clients S in {{1, ..., M}}, |S| = {0}", N * K)),
)
_client_blocks = loop(j, 1, N, "for {index} = {first}, ..., {last} client blocks in parallel do", parallel=True)
_clients = loop(k, 1, K, "for {index} = {first}, ..., {last} clients in parallel do", parallel=True)
_local = loop(t, 1, T, "for {index} = {first}, ..., {last} local update do")
_blocks = loop(j, 1, N, "for {index} = {first}, ..., {last} blocks in parallel do", parallel=True)
_server, _computes = do("server", "Server:"), do("note", "Block j computes")


def mean(messages: Entry) -> Expression:
    """The mean of the messages of a client block."""
    return 1 / K * Total(k, K, messages)


def total(messages: Entry) -> Expression:
    """The sum of the messages of all clients."""
    return Total(j, N, Total(k, K, messages))


def momentum(block: Expression | str, new: Expression) -> Expression:
    """lam v^(r-1) + new - x^(r-1), of a block."""
    return lam * v.block(block)[r - 1] + new - x.block(block)[r - 1]


def whole(own: Variable) -> Joined:
    """All blocks of the server's x or v of a round."""
    return Joined(own.block(j)[r], own.block(s)[r])


_model, _momentum = let(x[r], whole(x)), let(v[r], whole(v))
_x, _x_s, _v, _v_s = (own.block(part) for own in (x, v) for part in (j, s))
_batch = grad(x_kj[r, t])

ALG1 = Listing(
    (
        *_start,
        Line(6, 1, do("divide_clients", "Divide the sampled clients into {0} client blocks", N)),
        Line(7, 1, do("communicate", "Communicate ({0}) to all clients i in S", x[r])),
        Line(8, 1, _client_blocks),
        Line(9, 2, _clients),
        Line(10, 3, _local),
        Line(11, 4, do("compute", "Compute batch gradient {0}", _batch)),
        Line(12, 4, let(x_kj[r, t + 1], x_kj[r, t] - eta * _batch)),
        Line(14, 3, do("send", "Send {0}, {1} to server", x_kj.block(j)[r, T], x_kj.block(s)[r, T])),
        Line(17, 1, _server),
        Line(18, 1, _blocks),
        Line(19, 2, _computes),
        Line(20, 2, let(_x[r], mean(x_kj.block(j)[r, T])), let(_v[r], momentum(j, _x[r]))),
        Line(21, 2, let(_x[r], _x[r] + _v[r])),
        Line(23, 1, let(_x_s[r], 1 / (N * K) * total(x_kj.block(s)[r, T])), let(_v_s[r], momentum(s, _x_s[r - 1]))),
        Line(24, 1, let(_x_s[r], _x_s[r] + _v_s[r]), _model),
        Line(25, 1, _momentum),
    )
)
_exact, _batch_at_x = grad(x[r], None), grad(x[r])


def local_step(control: int, variance: int) -> Line:
    """Line 13, by the signs of c and of the full gradient; c_kj and the batch gradient at x^r have the opposite signs."""
    value = x_kj[r, t] - eta * _batch
    for sign, term in ((control, c.kept), (-control, c_kj.kept), (variance, _exact), (-variance, _batch_at_x)):
        value = value + eta * term if sign > 0 else value - eta * term
    return Line(13, 4, let(x_kj[r, t + 1], value))


def message(last: Expression, number: int) -> Line:
    """The parts of the model after a local step, and the change of the control variates, sent to the server."""
    models = (x_kj.block(part)[r, last] for part in (j, s))
    changes = (let(Dc.block(part).kept, c_kj_new.block(part).kept - c_kj.block(part).kept) for part in (j, s))
    return Line(number, 3, do("send", "Send {0}, {1} and {2}, {3} to server", *models, *changes))


def variates(number: int, block: Expression | str, factor: Expression, sent: Expression, depth: int) -> Line:
    """The server's update of c on a block."""
    return Line(number, depth, let(c.block(block).kept, c.block(block).kept + factor * sent))


ALG3 = Listing(
    (
        *_start[:1],
        Line(2, 0, do("divide_model", "Divide the model parameters x into {0} blocks", N)),
        *_start[2:],
        Line(6, 1, do("divide_clients", "Divide the sampled clients into {0} blocks", N)),
        Line(7, 1, do("communicate", "Communicate ({0}, {1}) to all clients i in S", x.kept, c.kept)),
        Line(8, 1, _client_blocks),
        Line(9, 2, _clients),
        Line(10, 3, do("compute", "Compute full batch gradient {0}", _exact)),
        Line(11, 3, _local),
        Line(12, 4, do("compute", "Compute mini-batch gradient {0} and {1}", _batch, _batch_at_x)),
        local_step(1, 1),
        Line(15, 3, let(c_kj_new.kept, _exact)),
        message(T, 16),
        Line(17, 3, let(c_i.kept, c_i_new.kept)),
        Line(20, 1, _server),
        Line(21, 1, _blocks),
        Line(22, 2, _computes),
        Line(23, 2, let(_x[r], mean(x_kj.block(j)[r, T]))),
        Line(24, 2, let(_v[r], momentum(j, _x[r]))),
        Line(25, 2, let(_x[r], _x[r] + _v[r])),
        variates(26, j, 1 / M, Total(k, K, Dc_kj.block(j).kept), 2),
        Line(28, 1, let(_x_s[r], 1 / (N * K) * total(x_kj.block(s)[r, T]))),
        Line(29, 1, let(_v_s[r], momentum(s, _x_s[r - 1]))),
        Line(30, 1, let(_x_s[r], _x_s[r] + _v_s[r])),
        variates(31, s, 1 / (M * N), total(Dc_kj.block(s).kept), 1),
        Line(32, 1, _model),
        Line(33, 1, _momentum),
        Line(34, 1, let(c.kept, Joined(c.block(j).kept, c.block(s).kept))),
    )
)

# Corrected

_x_new, _x_s_new = mean(x_kj.block(j)[r, T + 1]), 1 / (N * K) * total(x_kj.block(s)[r, T + 1])
_x_moved, _x_s_moved = (
    let(own.block(part)[r], own.block(part)[r - 1] + v.block(part)[r]) for own in (x,) for part in (j, s)
)
_v_s_new = let(_v_s[r], momentum(s, _x_s[r]))
ALG1_CORRECTED = ALG1.having(
    Line(14, 3, do("send", "Send {0}, {1} to server", x_kj.block(j)[r, T + 1], x_kj.block(s)[r, T + 1])),
    Line(20, 2, let(_x[r], _x_new), let(_v[r], momentum(j, _x[r]))),
    Line(21, 2, _x_moved),
    Line(23, 1, let(_x_s[r], _x_s_new), _v_s_new),
    Line(24, 1, _x_s_moved, _model),
)
ALG3_CORRECTED = ALG3.having(
    local_step(-1, -1),
    message(T + 1, 16),
    Line(17, 3, *(let(c_i.block(part).kept, c_i_new.block(part).kept) for part in (j, s))),
    Line(23, 2, let(_x[r], _x_new)),
    Line(25, 2, _x_moved),
    Line(28, 1, let(_x_s[r], _x_s_new)),
    Line(29, 1, _v_s_new),
    Line(30, 1, _x_s_moved),
    variates(31, s, 1 / M, total(Dc_kj.block(s).kept), 1),
)
