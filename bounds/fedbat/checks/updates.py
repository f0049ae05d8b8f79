"""The update rules, with the symbols' values from runs with known draws: (2), (3), (11), (12), (14), (17), (51), (66)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from sympy.core.relational import Relational

from fedtheory.bounds.fedbat.checks.replay import RecordedRound, Replay, layered, own, settle, shares_of
from fedtheory.bounds.trials.cases import ROUNDING, Case, ExactVector, Operator, false, met, number, relations
from fedtheory.bounds.trials.problems import ValueAndGradient, objective, quadratic_clients
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.algorithms.fedbat import FedBAT, Layers
from fedtheory.simulations.algorithms.fedcom import FedPAQ
from fedtheory.simulations.binarisation import binarise, derivatives, wire_bits
from fedtheory.simulations.compressors import Sign
from fedtheory.simulations.problems import Array
from fedtheory.theory import catalogue
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.instances import sides
from fedtheory.theory.statement import Record, Relations, Statement, Status, Verdict

# --------------------------------------------------------------------------------------- aggregation, (2), (3), (11)


def _sampled(build: Callable[..., Any]) -> list[Replay]:
    """Runs with all clients and with two of four, with equal and unequal weights."""
    return [Replay(layered(weighted=weighted), build(S)) for weighted, S in product((False, True), (None, 2))]


def _around(round: RecordedRound) -> dict[str, Any]:
    """The values of the server's symbols."""
    shares = list(round.shares)
    return {"w_t": round.before, "w_next": round.after, "p_prime": shares, "K": len(shares)}


_WHOM = "all of 4 clients and 2 of them, equal and unequal weights"


def averaged(statement: Statement, full: bool = False) -> Verdict:
    """(2), and FedAvg."""
    places = (
        Case(f"{run}, round {round.r}", {**_around(round), "w_i": list(run.ends(round))})
        for run in _sampled(lambda S: FedPAQ(3, 0.05, S=S))
        for round in run.history()
    )
    family = f"FedAvg, 3 local steps on noisy quadratics, {_WHOM}, p'_k the sample's shares"
    return met(statement.claim, places, family, ROUNDING)


SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


def aggregated(statement: Statement, full: bool = False) -> Verdict:
    """(2); and each client's exact weight in the mean over the samples."""
    verdict = averaged(statement)
    if verdict.status is not Status.TESTED:
        return verdict
    told = "; ".join(f"({', '.join(map(str, counted(statement, K)))}) with K = {K}" for K in (1, 2, 3))
    return Verdict(
        verdict.status,
        f"{verdict.says}.  With unequal shares the mean over the samples is not the mean over all clients: with p = "
        f"({', '.join(map(str, SHARES))}) the clients' weights are {told}",
    )


def counted(statement: Statement, K: int) -> tuple[Fraction, ...]:
    """The mean over all samples of K clients of the right side of (2), with w_t = 0 and client k at e_k."""
    right = relations(statement.claim)[0].args[1]
    N = len(SHARES)
    ends = [ExactVector(tuple(Fraction(i == k) for i in range(N))) for k in range(N)]
    samples = list(combinations(range(N), K))
    total = ExactVector((Fraction(0),) * N)
    for sample in samples:
        whole = sum(SHARES[k] for k in sample)
        known = {"w_t": 0 * total, "w_i": [ends[k] for k in sample], "K": Fraction(K),
                 "p_prime": [SHARES[k] / whole for k in sample]}  # fmt: skip
        total += number(right, Case("", known))
    return (Fraction(1, len(samples)) * total).entries


def _signs() -> Iterator[Case]:
    for run in _sampled(lambda S: FedPAQ(3, 0.05, Sign(0.01), S)):
        for round in run.history():
            updates = run.ends(round) - round.before
            signs = np.where(updates >= 0, 1.0, -1.0)
            coins = run.draws(round.r).codes(np.array([round.clients]))
            sent = run.algorithm.compressor(updates[None, None], coins)[0, 0]
            shared = {**_around(round), "m_hat_i": list(sent), "alpha": 0.01}
            for k, (mhat, sign) in enumerate(zip(sent, signs, strict=True)):
                yield Case(f"{run}, round {round.r}, client {k + 1}", {**shared, "m_hat": mhat, "sign_m": sign})


def signs(statement: Statement, full: bool = False) -> Verdict:
    """(3), and the factor saved on the wire."""
    family = f"FedAvg with signs, alpha = 0.01, 3 local steps on noisy quadratics, {_WHOM}"
    verdict = met(statement.claim, _signs(), family, ROUNDING)
    if verdict.status is not Status.TESTED:
        return verdict
    layers, d = _cnn()
    return Verdict(
        verdict.status,
        f"{verdict.says}.  With a fixed common alpha a sign is one bit instead of float32's "
        f"{FLOAT * d / Sign(0.001).bits(d):g}; if an alpha is sent, one per update (EF-SignSGD) or one per layer (FedBAT), "
        f"the factor is a little less than 32: for the CNN of Table 4 on FMNIST, {d} weights in {len(layers)} layers "
        f"(without biases and normalisation), {FLOAT * d / Sign().bits(d):.4f} and {FLOAT * d / wire_bits(layers):.4f}",
    )


def _cnn() -> tuple[dict[str, slice], int]:
    """The weights of the CNN of Table 4 on FMNIST, layer by layer, and their number."""
    table = catalogue.find("fedbat.table4").claim_of(Record)
    sizes = []
    for row in table.table:
        if (row["network"], row["dataset"]) == ("CNN", "FMNIST"):
            inputs, outputs, *kernel = row["arguments"]
            sizes.append(inputs * outputs * prod(kernel) ** 2)  # a convolution's kernel is square
    ends = np.cumsum(sizes).tolist()
    layers = {f"layer {i}": slice(end - size, end) for i, (size, end) in enumerate(zip(sizes, ends, strict=True))}
    return layers, ends[-1]


def binarised(statement: Statement, full: bool = False) -> Verdict:
    """(11); with line 23 as printed, the sent update is the point of the last gradient."""
    places = (
        Case(f"{run}, round {round.r}", {**_around(round), "m_hat_i": list(round.asked[-1][0] - round.before)})
        for run in _sampled(lambda K: FedBAT(4, 0.05, K, sent="printed"))
        for round in run.history()
    )
    family = f"FedBAT, tau = 4, phi = 1/2, three layers, noisy quadratics, {_WHOM}"
    return met(statement.claim, places, family, ROUNDING)


# ------------------------------------------------------------------------------------------- steps, (12) and (14)


def _noisy(run: Replay, k: int, r: int, step: int, x: Any) -> Array:
    return run.gradient(k + 1, x, r, step)


def _warming() -> Iterator[Case]:
    for weighted, K, (tau, phi) in product((False, True), (None, 2), ((4, 0.75), (5, 0.6))):
        run = Replay(layered(weighted=weighted), FedBAT(tau, 0.05, K, phi))
        for round in run.history():
            for s in range(run.algorithm.warm_up - 1):  # the point after the last of them is mhat
                for i, k in enumerate(round.clients):
                    m, following = (round.asked[at][0][i] - round.before for at in (s, s + 1))
                    oracle = ValueAndGradient(lambda _: 0.0, partial(_noisy, run, k, round.r, s))
                    values = {"m_s": m, "m_next": following, "w_t": round.before, "eta_t": run.rate(round.r, s)}
                    yield Case(f"{run}, round {round.r}, step {s}, client {k + 1}", {**values, "F_k": oracle})


def warming(statement: Statement, full: bool = False) -> Verdict:
    """(12)."""
    family = f"FedBAT's steps at full precision, except for the last of a round, on noisy quadratics, {_WHOM}"
    return met(statement.claim, _warming(), family, ROUNDING)


def aware(statement: Statement, full: bool = False) -> Verdict:
    """(14), corrected: the relations give m and alpha, layer by layer; every mhat is compared."""
    stated, count = relations(statement.claim), 0
    runs = [Replay(layered(weighted=weighted), FedBAT(tau, 0.05, 1, phi, rho))
            for weighted, (tau, phi), rho in product((False, True), ((3, 0.34), (5, 0.4)), (0.0, 2.0, 6.0))]  # fmt: skip
    for run in runs:
        for round in run.history():
            for where, apart in _learning(run, round, stated):
                count += 1
                if not apart <= ROUNDING:
                    return Verdict(Status.REFUTED, f"{where} is false", witness={"where": where, "apart": apart})
    return Verdict(
        Status.TESTED,
        f"FedBAT, 1 of 4 clients a round, equal and unequal weights, tau = 3, 5, rho = 0, 2, 6, three layers, noisy "
        f"quadratics: every mhat of {len(runs)} runs is S(m, alpha) with the m and the alpha of the relations, "
        f"{count} comparisons",
    )


def _with_learned(values: Mapping[str, Any], zeta: Array, v: Array) -> Array:
    return binarise(v, values["alpha_next"], zeta)


def _learning(run: Replay, round: RecordedRound, stated: Sequence[Relational]) -> Iterator[tuple[str, float]]:
    """Each relation's place and error, along the steps of the round's only client at the binarised update."""
    algorithm, layers, (k,), w = run.algorithm, Layers(run.problem), round.clients, round.before
    first, m = algorithm.warm_up, np.zeros_like(w)
    for s in range(first):  # (12), rounded as in the run: in a layer of one entry (13) gives alpha = |m|
        m = m - run.rate(round.r, s) * round.asked[s][1][0]
    alpha = layers.mean(np.abs(m))  # (13)
    seen = [*(at[0] - w for at, _ in round.asked[first:]), round.after - w]  # mhat
    for s in range(first, algorithm.tau):
        g, (zeta, following) = round.asked[s][1][0], (run.zeta(k, round.r, at) for at in (s, s + 1))
        by_m, by_alpha = derivatives(m, layers.spread(alpha), zeta)
        slopes = layers.sum(g * by_alpha)
        m, alpha = m.copy(), alpha.copy()
        for layer, (name, part) in enumerate(run.problem.blocks.items()):
            values: dict[str, Any] = {
                "m_s": m[part], "alpha_s": float(alpha[layer]), "by_m": (g * by_m)[part], "by_alpha": float(slopes[layer]),
                "rho": algorithm.rho, "eta_t": run.rate(round.r, s), "m_hat_next": seen[s + 1 - first][part],
            }  # fmt: skip
            values["S_s"] = Operator(partial(_with_learned, values, following[part]))
            for relation in stated:
                yield f"{run}, round {round.r}, step {s}, layer {name}: {plain(relation)}", settle(relation, values)
            m[part], alpha[layer] = values["m_next"], values["alpha_next"]


# ----------------------------------------------------------------------- the recursions of Appendices C, D and E


def S_m(run: Replay, round: RecordedRound, step: int) -> Operator:
    """S_m with the draws of a step: each client has its own noise; alpha is the largest |m_i| of the layer."""
    layers = Layers(run.problem)

    def value(v: Any) -> Array:
        m = np.asarray(v) - round.before
        alpha = layers.spread(layers.largest(np.abs(m)))
        return round.before + binarise(m, alpha, run.zeta(v.client, round.r, step))

    return Operator(value)


def _analysed(weighted: bool, K: int | None, gamma: float | None = None) -> Iterator[Replay]:
    """FedBAT with phi = 0 and alpha = ||m||_inf, on quadratics with and without noise; if K are sampled, all train."""
    active: Any = "sampled" if K is None else "all"
    for sigma, tau in product((0.0, 0.3), (2, 3, 1)):
        algorithm = FedBAT(tau, 0.1, K, 0.0, step_size="max", gamma=gamma, active=active)
        yield Replay(layered(sigma=sigma, weighted=weighted), algorithm)


@cache
def appendix_c() -> tuple[Replay, ...]:
    """All clients: with equal weights; with unequal weights and a decreasing learning rate."""
    return (*_analysed(False, None), *_analysed(True, None, 8.0))


@cache
def appendix_d() -> tuple[Replay, ...]:
    """Some of the clients, with equal weights, with a constant and a decreasing learning rate."""
    return (*_analysed(False, 2), *_analysed(False, 3, 8.0))


@cache
def appendix_e() -> tuple[Replay, ...]:
    """All clients, with equal weights and a constant learning rate."""
    return tuple(_analysed(False, None))


def updates(statement: Statement, full: bool = False, *, family: Callable[[], Sequence[Replay]]) -> Verdict:
    """The first two relations at every step, the third at steps without synchronisation, the others at steps with it.

    v, and w_{t+1} at steps without synchronisation, are set by the relations; x_t^k and the models are those of the run.
    """
    stated, count, runs = relations(statement.claim), 0, family()
    for run in runs:
        for round in run.history():
            for relation, where, values in _recursion(run, round, stated):
                count += 1
                apart = settle(relation, values)
                if not apart <= ROUNDING:
                    says = f"{where}: {plain(relation)} is false, apart by {apart:.3g}"
                    witness = {"problem": run.problem.provenance, "start": run.start.tolist(), "where": where,
                               "eta": run.eta, "relation": plain(relation), "apart": apart}  # fmt: skip
                    return Verdict(Status.REFUTED, says, witness=witness)
    return Verdict(
        Status.TESTED,
        f"{len(runs)} runs of FedBAT with phi = 0 and alpha = ||m||_inf in each of three layers, {_told(runs)}: every x_t^k "
        f"with a gradient and every model agrees with the relations, {count} relations",
    )


def _told(runs: Sequence[Replay]) -> str:
    K = sorted({run.algorithm.participants(run.problem) for run in runs})
    weighted = any(run.problem.weights is not None for run in runs)
    rates = ", a constant and a decreasing learning rate" if any(run.algorithm.gamma for run in runs) else ""
    whom = "4 clients" if K == [4] else f"{' and '.join(map(str, K))} of 4 clients"
    return f"{whom}{', equal and unequal weights' if weighted else ''}, tau = 1, 2, 3, with and without noise{rates}"


def _recursion(
    run: Replay, round: RecordedRound, stated: Sequence[Relational]
) -> Iterator[tuple[Relational, str, dict[str, Any]]]:
    """Relation, place and the symbols' values (the caller adds to them), in the order of the recursion."""
    tau, p = run.algorithm.tau, shares_of(run.problem)
    w = {k: own(round.before, k) for k in round.trained}
    for s, (x, g) in enumerate(round.asked):
        every: dict[int, dict[str, Any]] = {}
        for i, k in enumerate(round.trained):
            where = f"{run}, round {round.r}, step {s}, client {k + 1}"
            every[k] = {"w_k": w[k], "g_k": g[i], "x_k": x[i], "eta_t": run.rate(round.r, s), "S_m": S_m(run, round, s)}
            for relation in stated[:2]:
                yield relation, where, every[k]
            if s + 1 < tau:
                yield stated[2], where, every[k]
                w[k] = own(every[k].get("w_k_next", w[k]), k)
        if s + 1 == tau:
            known = {"p": list(p), "N": len(p), "K": len(round.clients), "S_m": S_m(run, round, tau)}
            known["v_i"] = [own(every[k].get("v_k", w[k]), k) for k in round.clients]
            known["v_old_i"] = [w[k] for k in round.clients]  # v_t^k, which is w_t^k where t is no synchronisation
            for relation in stated[3:]:
                yield relation, f"{run}, round {round.r}, synchronisation", {**known, "w_k_next": round.after}


def nonconvex(statement: Statement, full: bool = False) -> Verdict:
    """(66) to (68), and the further relations about gbar_t."""
    verdict = updates(statement, family=appendix_e)
    if verdict.status is not Status.TESTED or not statement.also:
        return verdict
    for run in appendix_e():
        for case in _virtual(run):
            for k, x in enumerate(case.values["x_i"]):
                for also in statement.also:
                    assert isinstance(also, Relations)
                    for side in sides(also, {**case.values, "x_k": x}):
                        if not side.holds:
                            again = {"problem": run.problem.provenance, "start": run.start.tolist(), "eta": run.eta}
                            where = f"{case.where}, client {k + 1}"
                            return false(where, side, **again, where=where)
    return verdict


def _virtual(run: Replay) -> Iterator[Case]:
    """The clients' symbols and their means, step by step; w_t^k and v_t^k by (17)."""
    p, F, mean = shares_of(run.problem), quadratic_clients(run.problem), objective(run.problem)
    for round in run.history():
        w = np.repeat(round.before[None], len(p), axis=0)
        for s, (x, g) in enumerate(round.asked):
            eta = run.rate(round.r, s)
            v = w - eta * g
            exact = np.einsum("kij,kj->ki", run.problem.H, x) + run.problem.b
            values = {
                "p": list(p), "N": len(p), "F": mean, "F_i": F, "eta_t": eta,
                "w_all": list(w), "x_i": list(x), "g_i": list(g), "v_i": list(v),
                "w_bar": round.before if s == 0 else p @ w, "g_bar": p @ exact, "g_t": p @ g, "v_bar": p @ v,
            }  # fmt: skip
            yield Case(f"{run}, round {round.r}, step {s}", values)
            w = v


def virtual(statement: Statement, full: bool = False) -> Verdict:
    """The means over the clients."""
    runs = appendix_c()
    places = (place for run in runs for place in _virtual(run))
    return met(statement.claim, places, f"{len(runs)} runs of FedBAT as analysed, {_told(runs)}", ROUNDING)


# ------------------------------------------------------------------------------------------- D.1, two schemes


def schemes(statement: Statement, full: bool = False) -> Verdict:
    """Runs with all clients active and with only the sampled ones active: the same models, bit for bit."""
    (claim,) = statement.also
    rounds, settings = 0, product((False, True), ((1, 0.0), (3, 0.34), (4, 0.5)), (1, 2, 3), ("learned", "max"))
    build: Any = partial(FedBAT, eta=0.05)
    for weighted, (tau, phi), K, step_size in settings:
        own_settings = {"tau": tau, "K": K, "phi": phi, "step_size": step_size}
        pair = (build(**own_settings, active=active) for active in ("sampled", "all"))
        runs = [Replay(layered(weighted=weighted), algorithm, rounds=4) for algorithm in pair]
        for one, other in zip(*(run.history() for run in runs), strict=True):
            rounds += 1
            values = {"w_next": one.after, "w_next_all": other.after}
            for side in sides(claim, values):
                if not (np.asarray(side.left) == side.right).all():
                    return false(where := f"{runs[0]}, round {one.r}", side, where=where)
    return Verdict(
        Status.TESTED,
        f"FedBAT with all of 4 clients active and with only the 1, 2 or 3 sampled, equal and unequal weights, with noise, "
        f"learned step sizes and ||m||_inf: the same w, bit for bit, after each of {rounds} rounds.  Not the same work: the "
        "other clients train without effect",
    )
