"""Section A, Tables 5 and 6: rates."""

from __future__ import annotations

from sympy import Expr, Integer, Le, Rational, sqrt

from fedtheory.theory.fedcom.heterogeneous import compression
from fedtheory.theory.fedcom.setting import *
from fedtheory.theory.statement import Rate, Rates, Words, rates

_one = Integer(1)
diana = rates(Rate("strongly convex", kappa + kappa * q / m + q, _one, polylog=True))
vrdiana = rates(
    Rate("nonconvex", sqrt(1 + q / m) * (n ** Rational(2, 3) + q) / epsilon, _one),
    Rate("strongly convex", kappa + kappa * q / m + q + n, _one, polylog=True),
    Rate("convex", ((1 + q / m) * sqrt(n) + q / sqrt(n)) / epsilon, _one),
)
_quoted = "A result of another paper [21], quoted; FedCOM's rates are compared with it.  F.S. (finite sums): "
for table, data in (("tab5", "homogeneous"), ("tab6", "heterogeneous")):
    number = table.removeprefix("tab")
    fedcom.table(
        name=f"{table}.diana", place=f"Section A, Table {number} ({data}), DIANA", claim=diana, note=f"{_quoted}no."
    )
    fedcom.table(
        name=f"{table}.vrdiana",
        place=f"Section A, Table {number} ({data}), VR-DIANA",
        claim=vrdiana,
        note=f"{_quoted}yes.",
    )
    if table == "tab5":
        fedcom.table(
            name="tab5.fedcom",
            place="Section A, Table 5 (homogeneous), FedCOM",
            claim=rates(
                Rate("nonconvex", 1 / epsilon, (q + 1) / (m * epsilon)),
                Rate("PL", kappa + kappa * q / m, 1 / (m * epsilon), polylog=True),
                Rate("strongly convex", kappa + kappa * q / m, 1 / (m * epsilon), polylog=True),
                Rate("convex", (1 + q / m) / epsilon, 1 / (m * epsilon**2), polylog=True),
            ),
            given=[smooth, compressed, homogeneous],
            rests_on=["corD5", "corD8", "thmD9"],
            note="F.S. (finite sums): no.  Each row has besides the assumption of its case: PL, Assumption 6; strongly "
            "convex, Assumption 7; convex, that of Theorem D.9.",
        )
    else:
        fedcom.table(
            name="tab6.fedcomgate",
            place="Section A, Table 6 (heterogeneous), FedCOMGATE",
            claim=rates(
                Rate("nonconvex", (q + 1) / epsilon, 1 / (m * epsilon)),
                Rate("PL", kappa * (q + 1), 1 / (m * epsilon), polylog=True),
                Rate("strongly convex", kappa * (q + 1), 1 / (m * epsilon), polylog=True),
                Rate("convex", (1 + q) / epsilon, 1 / (m * epsilon**2), polylog=True),
            ),
            given=[smooth, *compression],
            rests_on=["corE5", "corE8", "corE10"],
            note="F.S. (finite sums): no.  Each row has besides the assumption of its case: PL, Assumption 6; strongly "
            "convex, Assumption 7; convex, that of Theorem E.9.",
        )


def _rounds(row: str, case: str) -> Expr:
    """The communication rounds in a row of Table 5 or 6."""
    claim = fedcom.statements[f"fedcom.{row}"].claim_of(Rates)
    return claim.by_case[case].rounds


def _improves(ours: str, theirs: str, *cases: str) -> tuple[Le, ...]:
    return tuple(Le(_rounds(ours, case), _rounds(theirs, case), evaluate=False) for case in cases)


_where = "Section A, 'Additional comparison with DIANA [21]'"
_reading = "Read as: at most the rounds of the other row, up to a constant.  It compares the rows as printed."
fedcom.claim(
    name="claim.tab5",
    place=_where,
    claim=Words(
        "In the homogeneous setting (Table 5), in comparison to DIANA and VR-DIANA, FedCOM improves all the communication "
        "rounds in terms of dependency on q.",
        (
            *_improves("tab5.fedcom", "tab5.vrdiana", "nonconvex", "strongly convex", "convex"),
            *_improves("tab5.fedcom", "tab5.diana", "strongly convex"),
        ),
    ),
    rests_on=["tab5.fedcom", "tab5.diana", "tab5.vrdiana"],
    note=_reading,
)
fedcom.claim(
    name="claim.tab6",
    place=_where,
    claim=Words(
        "In the heterogeneous setting (Table 6), in comparison to DIANA and VR-DIANA, FedCOMGATE basically improves all the "
        "communication rounds in terms of dependency on q except for the strongly convex case.",
        _improves("tab6.fedcomgate", "tab6.vrdiana", "nonconvex", "convex"),
    ),
    rests_on=["tab6.fedcomgate", "tab6.vrdiana"],
    note=_reading,
)
fedcom.claim(
    name="claim.deterministic",
    place=_where,
    claim=Words(
        "For deterministic settings, n = 1 and sigma = 0, the communication bounds for FedCOM and FedCOMGATE are better in "
        "terms of dependency on q except for the strongly convex heterogeneous case.",
        tuple(
            Le(formula.lhs.subs(n, 1), formula.rhs.subs(n, 1), evaluate=False)
            for formula in (
                *_improves("tab5.fedcom", "tab5.vrdiana", "nonconvex", "strongly convex", "convex"),
                *_improves("tab6.fedcomgate", "tab6.vrdiana", "nonconvex", "convex"),
            )
        ),
    ),
    rests_on=["tab5.fedcom", "tab6.fedcomgate", "tab5.vrdiana", "tab6.vrdiana"],
    note=_reading,
)
