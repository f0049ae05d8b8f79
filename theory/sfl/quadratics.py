"""The quadratic groups of Tables 2 and 6, and the partitions of Section 4.2 and Appendix G.1."""

from __future__ import annotations

from sympy import Abs, Eq, Expr, IndexedBase, Le, Rational, S as Number, Sum

from fedtheory.theory.notation import Expectation, Value, equal
from fedtheory.theory.sfl.symbols import M, delta, m, sfl, x, zeta_star
from fedtheory.theory.statement import Relations, Words, relations

F_1 = sfl.symbol("F_1", "F_1", "objective of client 1", sfl.symbols["F"].dimension)
F_2 = sfl.symbol("F_2", "F_2", "objective of client 2", sfl.symbols["F"].dimension)
hess_m = sfl.symbol("hess_m", r"\nabla^2F_m(x)", "Hessian of client m", sfl.symbols["L"].dimension)
hess = sfl.symbol("hess", r"\nabla^2F(x)", "Hessian of F", sfl.symbols["L"].dimension)

sfl.definition(
    name="quad.delta",
    place="Section 4.1",
    claim=relations(
        Le(Abs(hess_m - hess), delta), words="for every client m; bounded Hessian heterogeneity (spectral norm)"
    ),
)


def group(name: str, place: str, curvature: tuple[Expr, Expr], slope: Expr, zeta: Expr, hessian_gap: Expr) -> None:
    """Two clients in one dimension, F_m = curvature_m x^2 +- slope x, with the printed zeta_star and delta."""
    sfl.problem(
        name=name,
        place=place,
        claim=relations(
            equal(Value(F_1, x), curvature[0] * x**2 + slope * x),
            equal(Value(F_2, x), curvature[1] * x**2 - slope * x),
            equal(zeta_star, zeta),
            equal(delta, hessian_gap),
            words="M = 2, one dimension, common F(x) = x^2/2; numbers carry the units",
        ),
        rests_on=["quad.delta", "asm.het_b"],
    )


_half, _third, _one = Rational(1, 2), Rational(1, 3), Number.One
_curvatures = {"d0": (_half, _half), "d13": (2 * _third, _third), "d1": (_one, Number.Zero)}
_deltas = {"d0": Number.Zero, "d13": _third, "d1": _one}

for number, key, slope in ((1, "d0", Number.Zero), (2, "d0", _one), (3, "d13", _one), (4, "d1", _one)):
    group(f"quad.table2.g{number}", f"Table 2, Group {number}", _curvatures[key], slope, slope, _deltas[key])

for key in ("d0", "d13", "d1"):
    for size in (1, 10, 100):
        group(
            f"quad.table6.{key}_z{size}",
            f"Table 6, delta = {_deltas[key]}, zeta_* = {size}",
            _curvatures[key],
            Number(size),
            Number(size),
            _deltas[key],
        )

# The published curves of Figures 1 and 7 used two decimals for 2/3 and 1/3
_decimals = Rational(67, 100), Rational(33, 100)
for name in ("quad.table2.g3", *(f"quad.table6.d13_z{size}" for size in (1, 10, 100))):
    claim = sfl.statements[f"sfl.{name}"].claim_of(Relations)
    slope = claim.relations[2].args[1]  # zeta_star
    sfl.correct(
        name,
        relations(
            equal(Value(F_1, x), _decimals[0] * x**2 + slope * x),
            equal(Value(F_2, x), _decimals[1] * x**2 - slope * x),
            claim.relations[2],
            equal(delta, Rational(34, 100)),
            words=claim.words,
        ),
        suffix="as_run",
        note="These functions reproduce the authors' published curve files to their four decimals; the printed functions "
        "do not.",
    )

# Partitions.  The formulas say the same as the sentences; formulas with an expectation are moments of Dir(alpha 1)

alpha = sfl.symbol("alpha", r"\alpha", "concentration of the Dirichlet distribution", positive=True)
C = sfl.symbol("C", "C", "number of classes of each client", integer=True, positive=True)
labels_m = sfl.symbol("labels_m", "C_m", "number of classes of which client m has samples", integer=True, positive=True)
n_c = sfl.symbol("n_c", "n_c", "number of owners of class c", integer=True, positive=True)
sfl.symbol("p_c", "p_c", "proportions of the samples of class c, one for each of its owners", nonnegative=True)
_proportion = IndexedBase("p_c", real=True)[m]


def _dirichlet_moments(owners: Expr) -> tuple[Eq, Eq]:
    """Mean and variance of one of the proportions."""
    mean = 1 / owners
    return (
        equal(Expectation(_proportion), mean),
        equal(Expectation((_proportion - mean) ** 2), mean * (1 - mean) / (alpha * owners + 1)),
    )


sfl.partition(
    name="exdir",
    place="Section 4.2 and Appendix G.1, Extended Dirichlet strategy",
    claim=Words(
        "ExDir(C, alpha): allocate C different classes to each client at random, which gives the prior q_c of each class "
        "c (the indicator of its owners); then for each class draw p_c ~ Dir(alpha q_c) and give a proportion p_{c,m} of "
        "its samples to client m.",
        (equal(labels_m, C), equal(Sum(_proportion, (m, 1, n_c)), 1), *_dirichlet_moments(n_c)),
    ),
    rests_on=["exdir.quantity", "exdir.dirichlet"],
    note="The paper does not say that every class has an owner, and every owner a sample.",
)
sfl.partition(
    name="exdir.quantity",
    place="Appendix G.1, baseline a)",
    claim=Words(
        "C different classes to each client at random; each class divided randomly and equally among its owners.",
        (equal(labels_m, C), equal(_proportion, 1 / n_c)),
    ),
    note="McMahan et al. 2017, Li et al. 2022.",
)
sfl.partition(
    name="exdir.dirichlet",
    place="Appendix G.1, baseline b)",
    claim=Words(
        "For each class c draw p_c ~ Dir(alpha q) with q = 1 and give a proportion p_{c,m} of its samples to client m.",
        (equal(Sum(_proportion, (m, 1, M)), 1), *_dirichlet_moments(M)),
    ),
    note="Yurochkin et al. 2019. Printed 'data samples of class k'; class c is meant.",
)
