"""Every lemma and identity of the SFL paper about vectors, functions, samples and sequences, put to random instances.

Printed and corrected claims are read from the catalogue.  What the tests are worth is tested too: the same property
refutes a sharpened claim, a claim without one of its hypotheses, and the three claims that are false as printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, permutations, product
from math import ceil
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, Phase, assume, find, given, settings, strategies as st, target
from hypothesis.strategies import SearchStrategy
from sympy import Ge, Le, Rational

from fedtheory.simulations import functions, strategies
from fedtheory.simulations.functions import Function
from fedtheory.simulations.strategies import noise_laws, noise_trees, populations, positive, vectors
from fedtheory.theory import catalogue
from fedtheory.theory.notation import Expectation, Inner, Norm
from fedtheory.theory.proofs.instances import conditions, sides, value_at
from fedtheory.theory.sfl.symbols import (
    L,
    Psi_T,
    cov_pq,
    gamma,
    middle,
    mu,
    var_swor,
    var_swr,
    x_pi_p,
    x_pi_q,
    xbar,
    xbar_pi,
    zeta,
)
from fedtheory.theory.statement import Bound, Claim, Relations

E = Expectation
SEARCH = settings(max_examples=50, derandomize=True, database=None, deadline=None, phases=[Phase.generate,
    Phase.target], report_multiple_bugs=False, suppress_health_check=[HealthCheck.too_slow])  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """What the symbols of a claim stand for, the law of E[.], and its quantities in vector notation."""

    values: Mapping[str, Any]
    law: Sequence[tuple[float, Mapping[str, Any]]] = ()
    where: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)


def violated(claim: Claim, instance: Instance) -> bool:
    return not all(side.holds for side in sides(claim, instance.values, instance.law, instance.where))


def put_to_the_test(claim: Claim, instances: SearchStrategy[Instance], examples: int = 50) -> None:
    """Every relation on many instances, searched for where left / right is large."""

    @settings(SEARCH, max_examples=examples)
    @given(instances)
    def holds(instance: Instance) -> None:
        for i, side in enumerate(sides(claim, instance.values, instance.law, instance.where)):
            target(side.ratio, label=str(i))
            assert side.holds, str(side)

    holds()


def claim_of(name: str) -> Claim:
    return catalogue.find(f"sfl.{name}").claim


# --- Instances: vectors and laws -------------------------------------------------------------------------------------

dimensions = st.integers(1, 2)


@st.composite
def random_vectors(draw: st.DrawFn) -> Instance:
    d = draw(dimensions)
    law, mean = draw(noise_laws(d)), draw(vectors(d))
    return Instance({}, [(p, {"x": mean + u}) for p, u in zip(law.probabilities, law.points, strict=True)])


@st.composite
def fixed_vectors(draw: st.DrawFn) -> Instance:
    size = draw(st.integers(1, 4))
    return Instance({"n": size, "x": draw(populations(size, draw(dimensions)))})


@st.composite
def adapted_noise(draw: st.DrawFn) -> Instance:
    steps = draw(st.integers(1, 3))
    tree = draw(noise_trees(steps, 1 if steps == 3 else draw(dimensions)))
    return Instance({"n": steps, "sigma": tree.sigma}, [(p.probability, {"x_seq": p.x, "e": p.e}) for p in tree.paths])


# --- Instances: functions --------------------------------------------------------------------------------------------


UNIT: dict[str, list[SearchStrategy[Function]]] = {  # by dimension, L = 1
    "smooth": [strategies.smooth(d, 1.0) for d in (1, 2)],
    "convex": [strategies.convex(d, 1.0) for d in (1, 2)],
    "indefinite": [strategies.indefinite(d, 1.0) for d in (1, 2)],
    "strongly_convex": [
        st.one_of(*(strategies.strongly_convex(d, 1.0, mu) for mu in (1.0, 0.5, 0.0625))) for d in (1, 2)
    ],
}


@st.composite
def families(draw: st.DrawFn, kind: str) -> Function:
    """Any d and L."""
    h, smoothness = draw(UNIT[kind][draw(dimensions) - 1]), draw(positive())
    return h if smoothness == 1 else functions.scaled(h, smoothness)


@st.composite
def functions_at_points(draw: st.DrawFn, kind: str, bounded: bool = False) -> Instance:
    h = draw(families(kind).filter(lambda h: h.minimum is not None) if bounded else families(kind))
    points = {symbol: draw(vectors(h.d)) for symbol in "xyz"}
    constants = {"L": h.L, "mu": h.mu} | ({"h_star": h.minimum} if bounded else {})
    return Instance({"h": h, **constants, **points})


@st.composite
def functions_at_populations(draw: st.DrawFn, kind: str) -> Instance:
    h, size = draw(families(kind)), draw(st.integers(1, 4))
    return Instance({"h": h, "n": size, "x": draw(populations(size, h.d))})


@dataclass(frozen=True)
class PlusSquare:
    """h + (mu/2) ||x||^2, mu of either sign."""

    h: Any
    mu: float

    def value(self, x: np.ndarray) -> float:
        return self.h.value(x) + self.mu / 2 * float(x @ x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.h.gradient(x) + self.mu * x


@st.composite
def convex_parts(draw: st.DrawFn) -> Instance:
    """h mu-strongly convex, g = h - (mu/2) ||x||^2."""
    h = draw(families("strongly_convex"))
    g = PlusSquare(h, -h.mu)
    return Instance({"h": h, "g": g, "mu": h.mu, "x": draw(vectors(h.d)), "y": draw(vectors(h.d))})


@st.composite
def convex_with_square(draw: st.DrawFn) -> Instance:
    """g convex, h = g + (mu/2) ||x||^2."""
    g, m = draw(families("convex")), draw(positive())
    return Instance({"h": PlusSquare(g, m), "g": g, "mu": m, "x": draw(vectors(g.d)), "y": draw(vectors(g.d))})


# --- Instances: samples, all of them ---------------------------------------------------------------------------------


def zeta_of(x: np.ndarray) -> float:
    """zeta, zeta^2 = (1/n) sum ||x_i - xbar||^2."""
    return float(np.sqrt(((x - x.mean(0)) ** 2).sum(-1).mean()))


def uniform(outcomes: Sequence[Mapping[str, Any]]) -> list[tuple[float, Mapping[str, Any]]]:
    return [(1 / len(outcomes), drawn) for drawn in outcomes]


@st.composite
def sampled_units(draw: st.DrawFn, replacement: bool) -> Instance:
    size = draw(st.integers(2, 4))
    taken = draw(st.integers(1, 3 if replacement else size))
    x = draw(populations(size, draw(dimensions)))
    drawn = product(range(size), repeat=taken) if replacement else permutations(range(size), taken)
    return Instance(
        {"n": size, "s": taken, "zeta": zeta_of(x), "xbar": x.mean(0)},
        uniform([{"xbar_pi": x[list(sample)].mean(0)} for sample in drawn]),
        {var_swr if replacement else var_swor: E(Norm(xbar_pi - xbar) ** 2)},
    )


@st.composite
def sampled_pairs(draw: st.DrawFn) -> Instance:
    size = draw(st.integers(2, 5))
    x = draw(populations(size, draw(dimensions)))
    pairs = [{"x_pi_p": x[p], "x_pi_q": x[q]} for p, q in permutations(range(size), 2)]
    where = {cov_pq: E(Inner(x_pi_p - xbar, x_pi_q - xbar))}
    return Instance({"n": size, "zeta": zeta_of(x), "xbar": x.mean(0)}, uniform(pairs), where)


def squared_partial_sum(x: np.ndarray, steps: int, m: int, k: int) -> float:
    """E||sum_{i<=m} sum_{j<=b_mk(i)} (x_{pi_i} - xbar)||^2: K of each unit before the m-th in order, k of the m-th."""
    units = (x - x.mean(0))[np.array(list(permutations(range(len(x)), m)))]
    return float(((steps * units[:, :-1].sum(1) + k * units[:, -1]) ** 2).sum(-1).mean())


@st.composite
def client_samples(draw: st.DrawFn, clients: int = 6, steps: int = 12) -> Instance:
    M = draw(st.integers(2, clients))
    S, most = draw(st.integers(1, M)), draw(st.integers(1, steps))
    m, k = draw(st.integers(1, S)), draw(st.integers(0, most - 1))
    x = draw(populations(M, draw(dimensions)))
    sums = [[squared_partial_sum(x, most, i, j) for j in range(most)] for i in range(1, S + 1)]
    values = {"M": M, "S": S, "K": most, "m": m, "k": k, "zeta": zeta_of(x), "x": x, "xbar": x.mean(0)}
    quantities = {"partial_sums": float(np.sum(sums)), "partial_sum": sums[m - 1][k]}
    return Instance(values | quantities)


@st.composite
def client_orders(draw: st.DrawFn) -> Instance:
    """Lemma 4's left side, the double sum over i <= m and j <= b_mk(i) written out, beside the law of the order."""
    instance = draw(client_samples(clients=3, steps=3))
    M, S, most, x, centre = (instance.values[name] for name in ("M", "S", "K", "x", "xbar"))
    orders = list(permutations(range(M), S))
    total = 0.0
    for order, m, k in product(orders, range(1, S + 1), range(most)):
        last = [most - 1] * (m - 1) + [k - 1]
        steps = [x[order[i]] - centre for i in range(m) for _ in range(last[i] + 1)]
        total += float((np.sum(steps, axis=0) ** 2).sum()) / len(orders)
    law = uniform([{"x_pi": x[list(order)]} for order in orders])
    return Instance({**instance.values, "partial_sums": total}, law)


# --- Instances: recursions, with equality in the hypothesis ----------------------------------------------------------


def recursion(values: dict[str, Any], shares: Sequence[float], last: float) -> dict[str, Any]:
    """Sequences r_t, s_t >= 0 with r_{t+1} = (1 - a gamma) r_t - b gamma s_t + noise; Psi_T, W_T, w_T.

    s_t takes a share of what r_{t+1} >= 0 leaves it, `last` at t = T.
    """
    g, b, T = (values[name] for name in ("gamma", "b", "T"))
    keep = 1 - values.get("a", 0.0) * g
    noise = values.get("c", 0.0) * g**2 + values.get("c1", 0.0) * g**2 + values.get("c2", 0.0) * g**3
    r, s = [values["r0"]], []
    for share in (*islice(cycle(shares), T), last):
        most = keep * r[-1] + noise
        s.append(share * most / (b * g))
        r.append((1 - share) * most)
    w = [keep ** -(t + 1) for t in range(T + 1)]
    Psi_T = b * float(np.dot(s, w)) / sum(w)
    return {**values, "Psi_T": Psi_T, "W_T": sum(w), "w_T": w[-1], "r": r, "s": s}


_LEMMA7 = ("a", "b", "d", "gamma", "T", "r0")
_amounts = st.just(0.0) | positive()
_shares = st.lists(st.sampled_from((0.0, 1.0, 0.5)), min_size=1, max_size=3)
_last = st.sampled_from((1.0, 0.0))


@st.composite
def contractions(draw: st.DrawFn, long: bool) -> Instance:
    """Lemma 7; `long`: (T+1) >= 1/(2 a gamma), with equality at times."""
    d, b, r0, c = draw(positive()), draw(positive()), draw(_amounts), draw(_amounts)
    a_d, gamma_d = draw(st.sampled_from((0.5, 0.25, 0.125, 1.0))), draw(st.sampled_from((1.0, 0.5, 0.25, 0.125)))
    if not long:
        a_d = draw(st.sampled_from((0.0, a_d)))
    assume(a_d * gamma_d < 1)
    least = ceil(1 / (2 * a_d * gamma_d)) - 1 if long else 0
    T = least + draw(st.integers(0, 6))
    values = {"a": a_d * d, "b": b, "c": c, "d": d, "gamma": gamma_d / d, "T": T, "r0": r0}
    return Instance(recursion(values, draw(_shares), draw(_last)))


@st.composite
def cubic_contractions(draw: st.DrawFn) -> Instance:
    """The same with c_1 gamma^2 + c_2 gamma^3 for c gamma^2, T long."""
    values = {name: v for name, v in draw(contractions(long=True)).values.items() if name in _LEMMA7}
    return Instance(recursion({**values, "c1": draw(_amounts), "c2": draw(_amounts)}, draw(_shares), draw(_last)))


@st.composite
def tuned_contractions(draw: st.DrawFn) -> Instance:
    """The same with the step size of `lemma7.eq39.cubic`."""
    statement = catalogue.find("sfl.lemma7.eq39.cubic")
    symbols = dict.fromkeys(("b", "d", "r0", "c1", "c2"), positive())
    values: dict[str, Any] = {name: draw(value) for name, value in symbols.items()}
    share = draw(st.sampled_from((0.5, 0.25, 0.125)))
    values |= {"a": share * values["d"], "T": max(1, ceil(1 / (2 * share)) - 1 + draw(st.integers(0, 6)))}
    values["gamma"] = value_at(statement.where[gamma], values)
    return Instance(recursion(values, draw(_shares), draw(_last)))


@st.composite
def descents(draw: st.DrawFn) -> Instance:
    """Lemma 8, any step size."""
    d = draw(positive())
    symbols = {"b": positive(), "r0": _amounts, "c1": _amounts, "c2": _amounts, "T": st.integers(0, 20)}
    values = {name: draw(value) for name, value in symbols.items()}
    step = draw(st.sampled_from((1.0, 0.5, 0.125))) / d
    return Instance(recursion({**values, "d": d, "gamma": step}, draw(_shares), draw(_last)))


@st.composite
def tuned_descents(draw: st.DrawFn) -> Instance:
    """Lemma 8 with the step size of (45), corrected: r_0 must not be zero, c_1 and c_2 may be."""
    symbols = {**dict.fromkeys(("b", "d", "r0"), positive()), "c1": _amounts, "c2": _amounts, "T": st.integers(0, 20)}
    values = {name: draw(value) for name, value in symbols.items()}
    step = value_at(catalogue.find("sfl.lemma8.eq45.corrected").where[gamma], values)
    return Instance(recursion({**values, "gamma": step}, draw(_shares), draw(_last)))


def each_step(instances: SearchStrategy[Instance]) -> SearchStrategy[Instance]:
    """One step t of a recursion: the hypothesis (37), or that of Lemma 8."""

    def step(instance: Instance, t: int) -> Instance:
        v, t = instance.values, t % len(instance.values["s"])
        return replace(instance, values={**v, "r_t": v["r"][t], "r_next": v["r"][t + 1], "s_t": v["s"][t]})

    return st.builds(step, instances, st.integers(0, 30))


# --- Every statement holds -------------------------------------------------------------------------------------------

PROPERTIES: dict[str, SearchStrategy[Instance]] = {
    "eq12": random_vectors(),
    "eq13": fixed_vectors(),
    "eq14": functions_at_populations("convex"),
    "eq15": fixed_vectors(),
    "bregman": functions_at_points("smooth"),
    "three_point": functions_at_points("smooth"),
    "eq16": functions_at_points("smooth"),
    "eq17": functions_at_points("smooth", bounded=True),
    "eq18": functions_at_points("convex"),
    "sc_equiv": convex_parts(),
    "eq19": functions_at_points("strongly_convex"),
    "lemma1": adapted_noise(),
    "lemma2": functions_at_points("strongly_convex"),
    "lemma3.mean": sampled_units(replacement=True) | sampled_units(replacement=False),
    "lemma3.swr": sampled_units(replacement=True),
    "lemma3.swor": sampled_units(replacement=False),
    "lemma3.cov": sampled_pairs(),
    "lemma4": client_samples(),
    "lemma4.lhs": client_orders(),
    "lemma4.term": client_samples(),
    "lemma4.sum.corrected": client_samples(),
    "lemma4.closed_form.corrected": client_samples(),
    "lemma7": each_step(contractions(long=False)),
    "lemma7.eq38": contractions(long=True),
    "lemma7.eq40": contractions(long=False),
    "lemma7.WT": contractions(long=True),
    "lemma7.cubic": each_step(cubic_contractions()),
    "lemma7.eq38.cubic": cubic_contractions(),
    "lemma7.eq39.cubic": tuned_contractions(),
    "lemma8": each_step(descents()),
    "lemma8.eq44": descents(),
    "lemma8.eq45": tuned_descents(),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_statement_holds(name: str) -> None:
    put_to_the_test(claim_of(name), PROPERTIES[name])


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_instances_meet_the_conditions(name: str) -> None:
    statement = catalogue.find(f"sfl.{name}")

    @settings(SEARCH, max_examples=15)
    @given(PROPERTIES[name])
    def meets(instance: Instance) -> None:
        for side in conditions(statement, instance.values):
            assert side.holds, str(side)

    meets()


def the_divergence(at_least: Any) -> Relations:
    """D_h(x, y) >= at_least, what the words of `bregman` and of `sc_equiv` claim."""
    definition = claim_of("bregman")
    assert isinstance(definition, Relations)
    return Relations((Ge(definition.relations[0].args[0], at_least, evaluate=False),))


def test_the_divergence_of_a_convex_function_is_not_negative() -> None:
    put_to_the_test(the_divergence(0), functions_at_points("convex"))


def test_strongly_convex_means_convex_plus_a_square() -> None:
    """`sc_equiv`: h strongly convex makes g convex; g convex makes h strongly convex, and (19) hold."""
    parts = convex_parts().map(lambda i: Instance({**i.values, "h": i.values["g"]}))
    put_to_the_test(the_divergence(0), parts)
    put_to_the_test(claim_of("sc_equiv"), convex_with_square())
    put_to_the_test(claim_of("eq19"), convex_with_square())


# --- Seen to fail: sharpened claims ----------------------------------------------------------------------------------


def scaled(name: str, factor: Any, relation: int = 0) -> Claim:
    """The claim with the larger side (of one relation; the right one, of an equality) multiplied by a factor."""
    claim = claim_of(name)
    if isinstance(claim, Bound):
        return claim.scaled(factor)
    assert isinstance(claim, Relations)
    r = claim.relations[relation]
    left, right = (factor * r.lhs, r.rhs) if isinstance(r, Ge) else (r.lhs, factor * r.rhs)
    return Relations((r.func(left, right, evaluate=False),))


def with_symbols(name: str, symbols: Mapping[sympy.Symbol, sympy.Expr]) -> Claim:
    claim = claim_of(name)
    assert isinstance(claim, Relations)
    return Relations(tuple(r.xreplace(dict(symbols)) for r in claim.relations))


def term(name: str, factor: Any, of: str) -> Claim:
    claim = claim_of(name)
    assert isinstance(claim, Bound)
    return claim.scaled(factor, of)


TIGHT = Rational(99, 100)
NOT_TIGHT = (
    "lemma2",
    "lemma4",
    "lemma7.eq39.cubic",
    "lemma8.eq45",
)  # by a factor of a whole side: these are sharpened one by one
SHARPENED: list[tuple[str, str, Claim]] = [
    *[(name, "99/100 of a side", scaled(name, TIGHT)) for name in PROPERTIES if name not in NOT_TIGHT],
    ("three_point", "the other sign", scaled("three_point", -1)),
    ("eq14", "the other direction", Relations((Ge(*claim_of("eq14").relations[0].args),))),
    ("lemma1", "99/100 n sigma^2", scaled("lemma1", TIGHT, relation=1)),
    ("lemma2", "9/10 L", with_symbols("lemma2", {L: Rational(9, 10) * L})),
    ("lemma2", "5/4 mu", with_symbols("lemma2", {mu: Rational(5, 4) * mu})),
    ("lemma3.cov", "the other sign", scaled("lemma3.cov", -1)),
    ("lemma4", "2/3 of the bound", scaled("lemma4", Rational(2, 3))),
    ("lemma4.term", "the covariance added", term("lemma4.term", -1, "covariance")),
    ("lemma7.eq38", "2 a r_0", term("lemma7.eq38", Rational(2, 3), "optimisation")),
    ("lemma7.eq38", "99/100 c gamma", term("lemma7.eq38", TIGHT, "noise")),
    ("lemma7.WT", "2 a gamma for 3 a gamma", scaled("lemma7.WT", Rational(2, 3), relation=4)),
    ("lemma7.WT", "99/100 w_T", scaled("lemma7.WT", TIGHT, relation=5)),
    ("lemma7.eq39.cubic", "half the bound", scaled("lemma7.eq39.cubic", Rational(1, 2))),
    ("lemma8.eq44", "99/100 c_1", term("lemma8.eq44", TIGHT, "second_order")),
    ("lemma8.eq44", "99/100 c_2", term("lemma8.eq44", TIGHT, "third_order")),
    ("lemma8.eq45", "9/10 of the bound", scaled("lemma8.eq45", Rational(9, 10))),
    *[
        ("lemma8.eq45", f"half the term {name}", term("lemma8.eq45", Rational(1, 2), name))
        for name in ("second_order", "third_order", "optimisation")
    ],
]


@pytest.mark.parametrize(("name", "how", "claim"), SHARPENED, ids=[f"{name}: {how}" for name, how, _ in SHARPENED])
def test_a_sharpened_claim_is_refuted(name: str, how: str, claim: Claim) -> None:
    with pytest.raises(AssertionError, match="is false"):
        put_to_the_test(claim, PROPERTIES[name], examples=3000)  # stops at the first counter-example


@st.composite
def unconditional_means(draw: st.DrawFn) -> Instance:
    """Adapted noise, but e_i the mean of x_i whatever the history."""
    instance = draw(adapted_noise())
    e = sum(p * drawn["x_seq"] for p, drawn in instance.law)
    return replace(instance, law=[(p, {**drawn, "e": e}) for p, drawn in instance.law])


def without_for_with() -> SearchStrategy[Instance]:
    """Samples with replacement, read as if they were without."""
    return sampled_units(replacement=True).map(lambda i: replace(i, where={var_swor: i.where[var_swr]}))


WITHOUT: list[tuple[str, str, SearchStrategy[Instance]]] = [
    ("eq14", "h convex", functions_at_populations("smooth")),
    ("eq18", "h convex", functions_at_points("smooth")),
    (
        "eq19",
        "mu > 0 known of h",
        functions_at_points("convex").map(lambda i: replace(i, values={**i.values, "mu": 1})),
    ),
    ("lemma1", "e_i conditional", unconditional_means()),
    ("lemma3.swor", "without replacement", without_for_with()),
]


@pytest.mark.parametrize(("name", "hypothesis", "instances"), WITHOUT, ids=[f"{n}: {h}" for n, h, _ in WITHOUT])
def test_a_claim_without_its_hypothesis_is_refuted(
    name: str, hypothesis: str, instances: SearchStrategy[Instance]
) -> None:
    with pytest.raises(AssertionError, match="is false"):
        put_to_the_test(claim_of(name), instances, examples=300)


def test_the_divergence_of_a_function_that_is_not_convex_is_negative_somewhere() -> None:
    with pytest.raises(AssertionError, match="is false"):
        put_to_the_test(the_divergence(0), functions_at_points("indefinite"))


# --- False as printed: the smallest counter-example ------------------------------------------------------------------


def smallest(claim: Claim, instances: SearchStrategy[Instance]) -> dict[str, Any]:
    """The counter-example that is left when it cannot be made any simpler; arrays as lists."""
    search = settings(SEARCH, max_examples=500, phases=[Phase.generate, Phase.shrink])
    witness = find(instances, lambda instance: violated(claim, instance), settings=search)
    return {name: np.asarray(value).tolist() for name, value in witness.values.items()}


def first_side(claim: Claim, values: Mapping[str, Any]) -> tuple[float, float]:
    side = sides(claim, values)[0]
    return side.left, side.right


def test_the_sum_of_lemma4_as_printed_is_false() -> None:
    """k^2 for k under the last sum: they agree up to K = 2, and where S = 1."""
    witness = smallest(claim_of("lemma4.sum"), client_samples())
    assert {name: witness[name] for name in ("M", "S", "K", "x")} == {"M": 2, "S": 2, "K": 3, "x": [[0.0], [1.0]]}
    assert first_side(claim_of("lemma4.sum"), witness) == (4.75, 1.75)


def test_the_closed_form_of_lemma4_as_printed_is_false() -> None:
    """Without zeta^2 it is not zero where all units are equal; with it, the factor K^2 is missing still."""
    printed = claim_of("lemma4.closed_form")
    assert isinstance(printed, Bound)
    witness = smallest(printed, client_samples())
    assert {name: witness[name] for name in ("M", "S", "K", "x")} == {"M": 2, "S": 1, "K": 2, "x": [[0.0], [0.0]]}
    assert first_side(printed, witness) == (0.0, 1.0)
    restored = replace(printed, terms=tuple(replace(t, value=t.value * zeta**2) for t in printed.terms))
    witness = smallest(restored, client_samples())
    assert {name: witness[name] for name in ("M", "S", "K", "x")} == {"M": 2, "S": 2, "K": 2, "x": [[0.0], [1.0]]}
    assert first_side(restored, witness) == (1.5, 2.25)


def test_eq38_without_a_condition_on_T_is_false() -> None:
    """a = 0 leaves nothing of the right side; for a > 0 the horizon T + 1 = 1 is below 1/(2 a gamma) = 2."""
    claim = claim_of("lemma7.eq38")
    symbols = ("a", "b", "c", "d", "gamma", "T", "r0", "s")
    witness = smallest(claim, contractions(long=False))
    assert [witness[name] for name in symbols] == [0.0, 1.0, 0.0, 1.0, 1.0, 0, 1.0, [1.0]]
    assert first_side(claim, witness) == (1.0, 0.0)
    witness = smallest(claim, contractions(long=False).filter(lambda i: i.values["a"] > 0))
    assert [witness[name] for name in symbols] == [0.5, 1.0, 0.0, 1.0, 0.5, 0, 1.0, [1.5]]
    assert first_side(claim, witness) == (1.5, pytest.approx(1.5 * np.exp(-0.25)))


def test_the_chain_of_eq38_holds_where_T_is_long() -> None:
    """Psi_T <= middle <= the last expression."""
    statement = catalogue.find("sfl.lemma7.eq38")
    assert isinstance(statement.claim, Bound)
    printed = Le(Psi_T, middle), Le(middle, statement.claim.value)
    chain = Relations(tuple(r.xreplace(dict(statement.where)) for r in printed))
    put_to_the_test(chain, contractions(long=True))
