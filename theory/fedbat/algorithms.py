"""The lines of Algorithm 1, as printed and corrected."""

from __future__ import annotations

from fedtheory.theory.listing import *

R, tau, phi, rho, w_t, t, s = names("R tau phi rho w_t t s")
_written = "for {index} = {first} to {last} do"
_warm = do("warm_up", "Run full-precision training by Eq.12.")
_sizes = do("step_sizes", "Initialize the step size layer-wise by Eq.13.")
_aware = do("aware", "Run binarization-aware training by Eq.14.")


def result(step: Expression) -> Do:
    """A client's message: the binarised update and the step sizes of a local step."""
    return do("result", "mbar^k_{{t+1}}, alpha^k_{{t+1}} = mbar^k_{{t,{0}}}, alpha^k_{{t,{0}}}.", step)


def if_step(relation: str, warm_up: Expression, otherwise: bool = False) -> If:
    """(else) if s relation warm_up then."""
    return If(test(s, relation, warm_up), otherwise)


_rounded = call("floor", phi * tau)
ALG1 = Listing(
    (
        Line(1, 0, do("inputs", "Input: the iteration rounds {0}; the local steps {1}; the local warm-up ratio {2}, the "
                      "coefficient of the step size {3}.", R, tau, phi, rho)),
        Line(2, 0, Function("server", (R,))),
        Line(3, 1, do("begin", "Initialize global model parameters with w_0.")),
        Line(4, 1, loop(t, 0, R - 1, _written, ends=True)),
        Line(5, 2, do("send", "Send global model parameters w_t to clients.")),
        Line(6, 2, do("updates", "Get model updates (mbar_{{t+1}}, alpha_{{t+1}}) from clients.")),
        Line(7, 2, do("aggregate", "Aggregate binary model updates by Eq.11.")),
        Line(8, 1, End("for")),
        Line(9, 0, End("function")),
        Line(10, 0, Function("client", (w_t, tau, phi, rho))),
        Line(11, 1, do("load", "Initialize local model parameters with w_t.")),
        Line(12, 1, do("zeros", "Initialize local model updates m_t with zeros.")),
        Line(13, 1, loop(s, 0, tau - 1, _written, ends=True)),
        Line(14, 2, if_step("<", _rounded)),
        Line(15, 3, _warm),
        Line(16, 2, if_step("=", _rounded, True)),
        Line(17, 3, _sizes),
        Line(18, 3, _aware),
        Line(19, 2, If(None, True)),
        Line(20, 3, _aware),
        Line(21, 2, End("if")),
        Line(22, 1, End("for")),
        Line(23, 1, result(tau - 1)),
        Line(24, 1, do("answer", "Send binary model updates (mbar^k_{{t+1}}, alpha^k_{{t+1}}) to server.")),
        Line(25, 0, End("function")),
    )
)  # fmt: skip
_warm_up = call("max", 1, _rounded)
ALG1_CORRECTED = ALG1.having(
    Line(14, 2, if_step("<", _warm_up)),
    Line(16, 2, if_step("=", _warm_up, True)),
    Line(22, 1, End("for"), If(test(tau, "<=", _warm_up), then=_sizes)),
    Line(23, 1, result(tau)),
)
