"""Formulas in pieces, so that a narrow page can break them between two terms."""

from __future__ import annotations

import sympy
from sympy.core.relational import Relational

from theory.printing import latex
from theory.statement import Bound, Order

_SIGNS = {"<=": r"\leq", ">=": r"\geq", "=": "=", "==": "=", "<": "<", ">": ">", "!=": r"\neq"}
_LONG = 60  # characters of LaTeX: shorter sums stay in one piece


def of_bound(paper: str, claim: Bound | Order) -> list[str]:
    """A bound or an order in LaTeX: the quantity, then each term with its sign and its name below."""
    sign, left, right = (_SIGNS[claim.sign], "", "") if isinstance(claim, Bound) else ("=", claim.latex + "(", ")")
    pieces = [latex(paper, claim.quantity)]
    for number, term in enumerate(claim.terms):
        text = latex(paper, term.value)
        minus = text.startswith("-") and not isinstance(term.value, sympy.Add)
        named = (
            rf"\underbrace{{{text.removeprefix('-') if minus else text}}}_{{\text{{{term.name.replace('_', ' ')}}}}}"
        )
        before = f"{sign} {left}{'-' if minus else ''}" if number == 0 else "-" if minus else "+"
        pieces.append(f"{before} {named}{right if number == len(claim.terms) - 1 else ''}")
    return pieces


def of_relation(paper: str, relation: sympy.Basic) -> list[str]:
    """A relation in LaTeX: its left side, then its right side, term by term where that is long."""
    if not isinstance(relation, Relational) or len(latex(paper, relation)) <= _LONG:
        return [latex(paper, relation)]
    first, *others = _terms(paper, relation.rhs)
    return [*_terms(paper, relation.lhs), f"{_SIGNS[relation.rel_op]} {first}", *others]


def _terms(paper: str, expression: sympy.Expr) -> list[str]:
    """A sum, term by term with signs; anything else, and a short sum, as one piece."""
    whole = latex(paper, expression)
    if not isinstance(expression, sympy.Add) or len(whole) <= _LONG:
        return [whole]
    texts = sorted(
        (latex(paper, term) for term in expression.as_ordered_terms()), key=lambda text: text.startswith("-")
    )
    return [text if text.startswith("-") or not i else f"+ {text}" for i, text in enumerate(texts)]
