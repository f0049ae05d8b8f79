"""The methods that FedBAT is compared with: the paper's sentences about them against the implementations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np

from fedtheory.bounds.fedbat.checks.replay import Replay, layered
from fedtheory.bounds.trials.cases import ROUNDING, Case, ExactVector, compared, met
from fedtheory.simulations.algorithms.fedbat import BASELINES, SIGNS, BiFL, EFSignSGD, Layers, ZeroFL
from fedtheory.simulations.compressors import QSGD, Compressor, MaxSign, NoisySign, Sign, StochasticSign
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory.statement import Statement, Status, Verdict

_POINTS = tuple(
    tuple(Fraction(v, 4) for v in point)
    for point in ((3, 4), (-3, 0, 4), (1, 2, -2), (1, -1, 3, 5), (1, 1, 1, 1), (5,), (2, -2, 0, 1, 0), (-8, 0, 0, 1, 4))
)  # their norms are integers


def _signs(v: Sequence[Fraction]) -> ExactVector:
    return ExactVector(tuple(Fraction(1 if a >= 0 else -1) for a in v))


# --------------------------------------------------------------------------------------------------------- signs


def sign(statement: Statement, full: bool = False) -> Verdict:
    """SignSGD: the only outcome of Sign(alpha), exactly."""
    alphas = (Fraction(1, 8), Fraction(3, 2), Fraction(_compressor("SignSGD").alpha))  # type: ignore[attr-defined]
    cases = []
    for alpha in alphas:
        for m in _POINTS:
            ((_, out),) = Sign(float(alpha)).law(m)
            known = {"alpha": alpha, "sign_m": _signs(m), "m_hat": ExactVector(out)}
            cases.append(Case(f"alpha = {float(alpha):g}, m = {ExactVector(m)}", known))
    family = (
        f"fedtheory.simulations.compressors.Sign, sign(0) = 1, alpha = {', '.join(f'{float(a):g}' for a in alphas)}; the "
        "last alpha is that of SignSGD in fedtheory.simulations.algorithms.fedbat"
    )
    return compared(statement.claim, cases, family)


def _compressor(name: str) -> Compressor:
    found: Compressor = SIGNS[name](2, 0.1).compressor  # type: ignore[attr-defined]
    return found


def _fed_back() -> Iterator[Case]:
    for weighted, S in ((False, None), (True, None), (True, 2)):
        run = Replay(layered(weighted=weighted), EFSignSGD(3, 0.05, S), rounds=5)
        for round in run.history():
            before, after = (kept.get("e_i", np.zeros((4, 6))) for kept in round.memory)
            for i, k in enumerate(round.clients):
                m = before[k] + run.ends(round)[i] - round.before
                values = {"m_i": m.tolist(), "d": 6, "m_hat": m - after[k], "sign_m": np.where(m >= 0, 1.0, -1.0)}
                yield Case(f"{run}, round {round.r}, client {k + 1}", {**values, "alpha": np.abs(m - after[k]).mean()})


def error_feedback(statement: Statement, full: bool = False) -> Verdict:
    """EF-SignSGD: m includes the stored error, mhat is sent, and the rest is stored again."""
    family = (
        "fedtheory.simulations.algorithms.fedbat.EFSignSGD on noisy quadratics, 5 rounds of 3 steps, all of 4 clients "
        "and 2 of them, equal and unequal weights, mhat from the clients' memory"
    )
    return met(statement.claim, _fed_back(), family, ROUNDING)


def noisy(statement: Statement, full: bool = False) -> Verdict:
    """Noisy-SignSGD: the probability of a plus sign, and its frequency in many draws."""
    places = (
        Case(f"sigma = {noise:g}, m_i = {v:g}",
             {"prob_plus": float(NoisySign(0.01, noise).up(np.array([v]))[0]), "m_i": v, "sigma": noise})
        for noise in (0.01, 0.1, 1.0)
        for v in noise * np.linspace(-4, 4, 33)
    )  # fmt: skip
    family = "fedtheory.simulations.compressors.NoisySign, sigma = 0.01, 0.1, 1, m_i to 4 sigma"
    verdict = met(statement.claim, places, family, ROUNDING)
    if verdict.status is not Status.TESTED:
        return verdict
    Q, count = _compressor("Noisy-SignSGD"), 20_000
    assert isinstance(Q, NoisySign)
    m = np.array([-0.01, 0.0, 0.005, 0.02])
    drawn = Q(np.broadcast_to(m, (count, 1, 4)), Draws.of_seeds(np.arange(count), 0).codes(np.zeros((1, 1), dtype=int)))
    plus, expected = (drawn > 0).mean(axis=(0, 1)), Q.up(m)
    most = float((np.abs(plus - expected) / np.sqrt(expected * (1 - expected) / count)).max())
    return replace(
        verdict,
        says=f"{verdict.says}; in {count} draws with alpha = {Q.alpha}, sigma = {Q.noise} (Noisy-SignSGD in "
        f"fedtheory.simulations.algorithms.fedbat) the frequency of plus signs agrees up to {most:.2g} standard errors",
    )


def _chances() -> Iterator[Case]:
    for kind in (StochasticSign, MaxSign):
        Q = kind(0.01)
        for m in _POINTS:
            norm = max(map(abs, m)) if kind is MaxSign else Fraction(float(abs(ExactVector(m))))
            law = Q.law(m)
            for i, value in enumerate(m):
                plus = sum((chance for chance, out in law if out[i] > 0), Fraction(0))
                yield Case(
                    f"{Q.name}, m = {ExactVector(m)}, entry {i + 1}", {"prob_plus": plus, "m_i": value, "m_norm": norm}
                )


def stochastic(statement: Statement, full: bool = False) -> Verdict:
    """Stoc-SignSGD: the exact laws with both norms; with the Euclidean norm, how close the probabilities are to 1/2."""
    family = "the laws of StochasticSign, with the Euclidean norm, and MaxSign, with ||m||_inf"
    verdict = compared(statement.claim, _chances(), family)
    if verdict.status is not Status.TESTED:
        return verdict
    rng, told = np.random.default_rng(0), []
    for d in (10**2, 10**4, 10**6):
        m = rng.standard_normal(d)
        away = [float(np.sqrt(np.mean((kind(0.01).up(m) - 0.5) ** 2))) for kind in (StochasticSign, MaxSign)]
        told.append(f"{away[0]:.3g} in d = {d} (1/(2 sqrt(d)) = {1 / (2 * sqrt(d)):.3g}), with ||m||_inf {away[1]:.3g}")
    return replace(
        verdict,
        says=f"{verdict.says}.  With the Euclidean norm, close to 1/2 for every m: the root mean square distance to 1/2 "
        f"over the entries is {'; '.join(told)} for normal m",
    )


# ----------------------------------------------------------------------------------------------- FedPAQ, ZeroFL, BiFL


def quantised(statement: Statement, full: bool = False) -> Verdict:
    """FedPAQ at 3 and 4 bits: the levels, the bits on the wire, and the updates, quantised after local training."""
    places, seen = [], 0
    for b in (3, 4):
        algorithm = BASELINES[f"FedPAQ, {b} bits"](3, 0.05)
        Q = algorithm.compressor  # type: ignore[attr-defined]
        assert isinstance(Q, QSGD)
        per_entry = (Q.bits(1000) - 32) / 1000
        if per_entry != b:
            return Verdict(Status.REFUTED, f"{per_entry} bits", witness={"b": b, "bits an entry": per_entry})
        places.append(Case(f"{b} bits", {"bits": b, "levels": Q.s}))
        run = Replay(layered(1), algorithm)
        for round in run.history():
            m = (run.ends(round) - round.before)[0]
            sent = (round.after - round.before) / np.linalg.norm(m) * Q.s
            off = np.abs(sent - np.rint(sent)).max(), np.abs(sent - m / np.linalg.norm(m) * Q.s).max()
            seen += sent.size
            if not (off[0] <= 1e-9 and off[1] < 1):
                return Verdict(Status.REFUTED, f"{run}: not a level next to m", witness={"b": b, "sent": sent.tolist()})
    family = (
        f"FedPAQ at 3 and 4 bits in fedtheory.simulations.algorithms.fedbat: the bits on the wire, without the norm; {seen} "
        "entries of a single client's updates, each at a level next to its value; the number of levels"
    )
    return met(statement.claim, places, family, ROUNDING)


def pruned(statement: Statement, full: bool = False) -> Verdict:
    """ZeroFL: the share of zeros in the weights at every gradient, and in the sent update."""
    places = []
    wide = generate(100, 1, L=1.0, mu=0.2, sigma=0.3, x_star=np.linspace(1, 2, 100), seed=0)
    for sparsity in (None, 0.5):
        run = Replay(wide, ZeroFL(3, 0.05) if sparsity is None else ZeroFL(3, 0.05, sparsity=sparsity))
        for round in run.history():
            vectors = [at[0] for at, _ in round.asked] + [round.after - round.before]
            zeros = [float((v == 0).mean()) for v in vectors]
            if sparsity is None:
                places += [Case(f"{run}, round {round.r}", {"pruned": share}) for share in zeros]
            elif any(share != sparsity for share in zeros):
                return Verdict(
                    Status.REFUTED, f"{run}: shares {zeros}", witness={"sparsity": sparsity, "shares": zeros}
                )
    family = (
        "fedtheory.simulations.algorithms.fedbat.ZeroFL on a quadratic in 100 coordinates, one client: the share of zeros "
        "in the weights at every local step, and in the sent update; one half with sparsity = 0.5"
    )
    return met(statement.claim, places, family, ROUNDING)


def binary(statement: Statement, full: bool = False) -> Verdict:
    """BiFL takes gradients at alpha sign(v), with latent weights v, and uploads the same; BiFL-Full uploads v."""
    places, latent = [], 0.0
    for upload in ("binarised", "full"):
        run = Replay(layered(1), BiFL(3, 0.05, upload=upload))
        layers = Layers(run.problem)
        for round in run.history():
            v = round.before
            seen = [at[0] for at, _ in round.asked] + ([round.after] if upload == "binarised" else [])
            for s, w_hat in enumerate(seen):
                alpha = layers.mean(np.abs(v))
                for layer, part in enumerate(run.problem.blocks.values()):
                    values = {"w_hat": w_hat[part], "alpha": alpha[layer], "sign_w": np.where(v[part] >= 0, 1.0, -1.0)}
                    places.append(Case(f"{upload}, round {round.r}, step {s}", values))
                v = v - run.eta * round.asked[s][1][0] if s < len(round.asked) else v
            latent = max(latent, float(np.abs(round.after - v).max()) if upload == "full" else 0.0)
    if not latent <= ROUNDING:
        return Verdict(Status.REFUTED, "BiFL-Full does not upload v", witness={"apart": latent})
    family = (
        "fedtheory.simulations.algorithms.fedbat.BiFL on noisy quadratics, three layers, one client, alpha = ||v||_1 / d_l: "
        "the point of every gradient, and the upload; BiFL-Full uploads v"
    )
    return met(statement.claim, places, family, ROUNDING)
