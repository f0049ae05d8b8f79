"""Worst cases by symmetry: the reduced programme gives the bracket of the whole one, for any number of clients."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from typing import Any

import pytest

from fedtheory.bounds import worst_cases
from fedtheory.bounds.quantities import FIELD
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD
from fedtheory.simulations.exact.trace import Trace
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes, symmetry
from fedtheory.theory.proofs.every_count import certificate, proves
from fedtheory.theory.proofs.gram import QuadraticForm, summed, total, vector
from fedtheory.theory.proofs.scenes import FunctionClass
from fedtheory.theory.proofs.tight import Programme, Unbounded, tight, verified_instance, verified_proof

SFL: dict[str, Any] = {"L": Q(1), "eta_tilde": Q(1, 24), "sigma": Q(0)}
COM: dict[str, Any] = {"L": Q(1), "q": Q(1), "eta": Q(1, 32), "sigma": Q(0)}
BCGD: dict[str, Any] = {"beta": Q(1), "eta_tilde": Q(1, 64), "sigma": Q(0)}
# a statement, its numbers without that of the clients, and those that are that of the clients
CASES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("sfl.lemma11", {**SFL, "K": Q(1), "mu": Q(1, 10)}, ()),
    ("sfl.lemma11", {**SFL, "K": Q(2), "mu": Q(1, 10)}, ()),
    ("sfl.lemma11", {**SFL, "K": Q(1), "S": Q(2), "mu": Q(1, 10)}, ()),
    ("sfl.lemma12", {**SFL, "K": Q(2)}, ()),
    ("sfl.eq70", {**SFL, "K": Q(1), "mu": Q(1, 10)}, ()),
    ("sfl.eq70", {**SFL, "K": Q(2), "mu": Q(1, 10)}, ()),
    ("sfl.eq70", {**SFL, "K": Q(1), "S": Q(1), "mu": Q(1, 10)}, ()),
    ("sfl.eq70.sharp", {**SFL, "K": Q(2), "mu": Q(1, 10)}, ()),
    ("sfl.eq70.faster", {**SFL, "K": Q(2), "mu": Q(1, 10)}, ()),
    ("sfl.eq70.sharp.general_convex", {**SFL, "K": Q(2)}, ()),
    ("sfl.lemma13.corrected", {**SFL, "K": Q(1)}, ()),
    ("sfl.lemma14.corrected", {**SFL, "K": Q(2)}, ()),
    ("sfl.step.eq80_recursion.corrected", {**SFL, "K": Q(1)}, ()),
    ("fedcom.lemmaD1.corrected", {**COM, "tau": Q(1)}, ()),
    ("fedcom.lemmaD1.corrected.sharp", {**COM, "tau": Q(2)}, ()),
    ("fedcom.lemmaD2.corrected", {**COM, "tau": Q(2)}, ()),
    ("fedcom.lemmaE1.corrected", {**COM, "tau": Q(1)}, ()),
    ("fedcom.lemmaE2.corrected", {**COM, "tau": Q(2)}, ()),
    ("fedcom.lemmaE7.corrected", {**COM, "tau": Q(2)}, ()),
    ("fedbcgd.lemma5.corrected", {**BCGD, "T": Q(2)}, ("K",)),
    ("fedbcgd.lemma5.corrected", {**BCGD, "T": Q(2), "K": Q(1)}, ()),
    ("fedbcgd.thm1.step50.corrected", {**BCGD, "T": Q(1), "mu": Q(1, 10)}, ("K",)),
]


def names(case: tuple[str, dict[str, Any], tuple[str, ...]]) -> str:
    id_, numbers, alike = case
    return " ".join([id_, *(f"{n}={numbers[n]}" for n in ("K", "S", "tau", "T") if n in numbers), *alike])


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_reduced_programme_has_the_bracket_of_the_whole_one(
    case: tuple[str, dict[str, Any], tuple[str, ...]],
) -> None:
    """Its instance and its multipliers are those of the whole programme, exactly: so that is in the same bracket."""
    id_, numbers, alike = case
    statement = catalogue.find(id_)
    rounds, count = worst_cases.rounds(statement.paper), symmetry.letter(statement)

    def whole(M: int) -> Programme:
        given = {**numbers, **dict.fromkeys((count, *alike), Q(M))}
        return scenes.searches(statement, scenes.cases_at(statement, rounds, given)[0])[scenes.ALL].above

    every = symmetry.searches(statement, rounds, numbers, alike)[scenes.ALL][0].above
    assert every.at(8) == symmetry.reduced(whole(8), 8), "from smaller numbers of clients, M a symbol in the claim"
    for M in (2, 3, 4):
        programme, small = whole(M), every.at(M)
        assert small == symmetry.reduced(programme, M) and len(small.vectors) <= 8
        found = tight(small)
        there = symmetry.expanded(found, programme, M)
        assert verified_instance(programme, there) == found.lower and verified_proof(programme, there)
        if not programme.amount:
            continue  # nothing on the larger side: it is proved or not
        assert found.upper - found.lower <= max(Q(1, 1000) * found.upper, Q(1, 10**6))
        less = found.lower - max(abs(found.lower), 1) / 1000
        assert not verified_proof(programme, replace(there, upper=less)), "it is needed"


CLASS = FunctionClass(Q(1), Q(1, 10))


def scaffold(M: int) -> Programme:
    """A round of two steps: the squared distance, and how far the control variates are from the gradients at x*."""
    own = [vector(f"c{m}") for m in range(M - 1)]
    variates = [*own, -total(own)]

    def lyapunov(t: Trace) -> QuadraticForm:
        apart = ((c - f.at(t.zero).gradient).square for c, f in zip(variates, t.functions, strict=True))
        return t.x.square + summed(apart) / M

    memory: Any = {"c": vector("c0") * 0, "c_j": variates}
    next_ = FIELD["dist2_next"]
    return worst_cases.round_programme(SCAFFOLD(2, 1.0), next_, lyapunov, of=CLASS, M=M, eta=Q(1, 4), memory=memory)


def test_a_round_of_scaffold_has_one_best_constant_for_every_number_of_clients() -> None:
    every = symmetry.family({M: scaffold(M) for M in range(2, 7)})
    assert every.constant
    found, whole = tight(every.at(10**6)), tight(scaffold(3))
    assert float(abs(found.upper - whole.upper)) < 1e-5
    there = symmetry.expanded(found, scaffold(3), 3)
    assert verified_proof(scaffold(3), there) and verified_instance(scaffold(3), there) == found.lower


def test_noise_of_a_million_clients() -> None:
    """The variance of their mean counts, and the noise of one step is enough to know how."""
    statement = catalogue.find("sfl.eq70")
    rounds = worst_cases.rounds("sfl")
    numbers = {**SFL, "K": Q(1), "mu": Q(1, 10)}
    del numbers["sigma"]
    for term, several in symmetry.searches(statement, rounds, numbers).items():
        try:
            best = scenes.best(several[0].of(10**6), "sfl")
        except Unbounded:
            continue
        assert best.proves, term


EVERY: list[tuple[str, dict[str, Any], tuple[str, ...], bool]] = [
    ("sfl.eq70", {**SFL, "K": Q(2), "mu": Q(1, 10)}, (), True),
    ("sfl.eq70.sharp", {**SFL, "K": Q(2), "mu": Q(1, 10)}, (), True),
    ("fedcom.lemmaD2.corrected", {**COM, "tau": Q(2)}, (), True),
    ("fedcom.lemmaD1.corrected", {**COM, "tau": Q(1)}, (), False),
    ("fedcom.lemmaD1.proof", {**COM, "tau": Q(2)}, (), False),
    ("sfl.eq70", {**SFL, "K": Q(1), "S": Q(2), "mu": Q(1, 10)}, (), False),
]


@pytest.mark.parametrize(("id_", "numbers", "alike", "constant"), EVERY, ids=[names(one[:3]) for one in EVERY])
def test_a_constant_is_proved_for_every_number_of_clients(
    id_: str, numbers: dict[str, Any], alike: tuple[str, ...], constant: bool
) -> None:
    """Near the best one for some; another multiplier or a smaller constant is no proof."""
    statement = catalogue.find(id_)
    one = symmetry.searches(statement, worst_cases.rounds(statement.paper), numbers, alike)[scenes.ALL][0].above
    found = certificate(one)
    assert one.constant is constant and proves(one, found)
    for M in (2, 3, 10, 10**6):
        proved, least = symmetry.value(found.constant, M), tight(one.at(M)).lower
        assert least <= proved <= least + max(abs(least) / 1000, Q(1, 10**5))
    assert not proves(one, replace(found, constant=found.constant - Q(1, 20) * found.constant))
    name, x = max(found.multipliers.items(), key=lambda pair: symmetry.value(pair[1], 2))
    for other in (2 * x, -x, x + symmetry.COUNT):
        assert not proves(one, replace(found, multipliers={**found.multipliers, name: other}))


def test_a_sign_for_all_m_is_decided_exactly() -> None:
    M, nonnegative = symmetry.COUNT, symmetry.nonnegative
    assert nonnegative(M - 2) and nonnegative((M - 2) ** 2 * (M + 1)) and nonnegative(M**2 - 5 * M + 7)
    assert not nonnegative(M - Q(2001, 1000)) and not nonnegative((M - 3) * (M - 4)) and not nonnegative(2 - M)


def test_the_clients_must_be_exchangeable() -> None:
    """A client of its own in the inequality, points of samples, or a coefficient that is no simple function of M."""
    statement, rounds = catalogue.find("sfl.lemma13.corrected"), worst_cases.rounds("sfl")
    with pytest.raises(symmetry.NotExchangeable, match="change places"):
        symmetry.searches(statement, rounds, {**SFL, "K": Q(1), "S": Q(1)})
    one, other = vector("g0.0"), vector("g1.0")
    programme = Programme(one.square, one.square + other.square, {})
    with pytest.raises(symmetry.NotExchangeable, match="change places"):
        symmetry.reduced(programme, 2)


def test_five_numbers_of_clients_fix_a_coefficient() -> None:
    """Those of sums, means, noise and samples; others, and fewer numbers, are refused."""
    M = symmetry.COUNT
    for known in (M**2, 3 / M + 2 * M, 1 / (2 * M) - Q(1, 3), (M - 2) / (2 * (M - 1))):
        values = {count: symmetry.value(known, count) for count in range(2, 8)}
        assert symmetry.fitted(values) == known
        for several in (dict(list(values.items())[:4]), {**values, 7: values[7] + Q(1, 10**9)}):
            with pytest.raises(symmetry.NotExchangeable):
                symmetry.fitted(several)
    with pytest.raises(symmetry.NotExchangeable, match="no means and sums"):
        symmetry.fitted({count: Q(2**count) for count in symmetry.COUNTS})
