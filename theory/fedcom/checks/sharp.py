"""Our proofs of the sharper forms of Section D: each noise stays beside the gradients of the later steps."""

from __future__ import annotations

from collections.abc import Iterator

from fedtheory.theory.fedcom.checks.ledgers import by_gap, descent, dropped
from fedtheory.theory.fedcom.checks.quantities import *
from fedtheory.theory.fedcom.checks.rounds import compressed, lemmaD3_summed, mean_of_clients, noise_of_clients
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, evidence_of, spread_out
from fedtheory.theory.proofs.forms import before
from fedtheory.theory.proofs.rules import Noise, times
from fedtheory.theory.proofs.sequences import averaged, lasting
from fedtheory.theory.statement import Evidence


def correlated(p: Argument) -> Fact:
    """E||N + G||^2 for a client's noises and gradients: <N, G> is the sum of <gradient change, noise so far>."""
    noise, so_far = NOW.noise.vector, before(NOW.noise.vector, I)
    earlier = before(NOW.stochastic, I).free_symbols | before(NOW.local, I).free_symbols
    drawn = Noise(noise, NOW.noise.known | earlier)
    at_start = Noise(so_far, frozenset({NOW.w, NOW.at_start}))
    because = (
        *noise_of_clients(p, NOW),
        p.by(rules.JENSEN_OVER, NOW.local, I).over(C),
        -2 * p.by(rules.IN_ORDER, NOW.local, noise, I).over(C),
        -2 * p.by(rules.FRESH, drawn, NOW.local + before(NOW.local, I)).over(I, C),
        -2 * p.by(rules.FRESH, at_start, NOW.at_start).over(I, C),
        p.by(rules.YOUNG, NOW.local - NOW.at_start, so_far, 1 / (L * eta)).over(I, C),
        1 / (L * eta) * p.by(rules.LIPSCHITZ, f_own, NOW.point, NOW.w).over(I, C),
        L * eta * p.by(rules.NOISE_BEFORE, NOW.noise, I).over(C),
    )
    bound = tau * (sigma**2 + grad_sq_sum_mean) + L / eta * drift_mean + L * eta * tau * (tau - 1) / 2 * sigma**2
    return p.have("one client's sum", own_sq, "<=", bound, *times(1 / m, because))


def lemmaD1(p: Argument) -> None:
    """As corrected, with this correlation."""
    p.conclude(p.put(compressed(p), mean_of_clients(p), correlated(p), p.claim("lemmaD3.summed.sharp")))


def one_round(p: Argument) -> Fact:
    """(28)."""
    lemmas = ("lemmaD1.corrected.sharp", "lemmaD2.corrected", "lemmaD3.summed.sharp")
    return dropped(p, p.put(descent(p), *map(p.claim, lemmas)), grad_sq_sum_mean, NOW.local, I, C)


def thmD4(p: Argument) -> None:
    """(28) to (30)."""
    p.conclude(averaged(p, one_round(p), gap_r, grad_sq, R))


def thmD7(p: Argument) -> None:
    """(40) to (42)."""
    fact = by_gap(p, one_round(p))
    p.conclude(lasting(p, fact, gap_r, spread_out(fact.value).coeff(gap_r), R))


PROOFS: dict[str, Proof] = {
    "lemmaD3.summed.sharp": lemmaD3_summed,
    "lemmaD1.corrected.sharp": lemmaD1,
    "thmD4.corrected.sharp": thmD4,
    "thmD7.corrected.sharp": thmD7,
}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    return evidence_of(PROOFS, "repair", LANGUAGE, "fedcom")
