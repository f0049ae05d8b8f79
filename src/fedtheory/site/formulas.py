"""Formulas in pieces, so that a narrow page can break them between two terms."""

from __future__ import annotations

import re
from typing import Any

import sympy
from sympy.core.relational import Relational

from fedtheory.theory.printing import SIGNS, latex, named_terms
from fedtheory.theory.statement import Bound, Order

_RELATIONS = {"<=": r"\leq", ">=": r"\geq", "==": "=", "<": "<", ">": ">", "!=": r"\neq"}
# Attributes that say what is so without them; in JSON quotes have a backslash
_BRACKET = re.compile(r'<mo stretchy=\\?"true\\?" fence=\\?"true\\?" form=\\?"(?:prefix|postfix)\\?">([][(){}])</mo>')
# A sign that does not stretch: a bracket as <mi> is the same, and so it is with the space around it
_FIXED = re.compile(r'<mo stretchy=\\?"false\\?">([][()‖])</mo>')
_DEFAULT = re.compile(
    r' (?:fence=\\?"false\\?"|display=\\?"inline\\?")|(?<=<span><math) display="block"'
)  # of style.css
_LETTERS = re.compile(r'(?:<mi mathvariant=\\?"normal\\?">\w</mi>){2,}')  # of one upright word
_TAG = re.compile(r"<(/?)(m[a-z]+)(?: [^<>]*?)?(/?)>")
_LONG = 60  # characters of LaTeX: shorter sums stay in one piece


def of_bound(paper: str, claim: Bound | Order) -> list[str]:
    """A bound or an order in LaTeX: the quantity, then each term with its sign and its name below."""
    sign, left, right = (SIGNS[claim.sign], "", "") if isinstance(claim, Bound) else ("=", claim.latex + "(", ")")
    first, *others = named_terms(paper, claim)
    terms = [f"{sign} {left}{first}", *others]
    return [latex(paper, claim.quantity), *terms[:-1], terms[-1] + right]


def of_relation(paper: str, relation: sympy.Basic) -> list[str]:
    """A relation in LaTeX: its left side, then its right side, term by term where that is long."""
    if not isinstance(relation, Relational) or len(latex(paper, relation)) <= _LONG:
        return [latex(paper, relation)]
    first, *others = _terms(paper, relation.rhs)
    return [*_terms(paper, relation.lhs), f"{_RELATIONS[relation.rel_op]} {first}", *others]


def _terms(paper: str, expression: sympy.Expr) -> list[str]:
    """A sum, term by term with signs; anything else, and a short sum, as one piece."""
    whole = latex(paper, expression)
    if not isinstance(expression, sympy.Add) or len(whole) <= _LONG:
        return [whole]
    texts = sorted(
        (latex(paper, term) for term in expression.as_ordered_terms()), key=lambda text: text.startswith("-")
    )
    return [text if text.startswith("-") or not i else f"+ {text}" for i, text in enumerate(texts)]


def lean(text: str) -> str:
    """A page, or a script, without what MathML does not need: defaults, rows of one element, a tag for each letter.

    It looks the same.
    """
    text = _FIXED.sub(r"<mi>\1</mi>", _DEFAULT.sub("", _BRACKET.sub(r"<mo>\1</mo>", text)))
    text = _LETTERS.sub(lambda m: f"<mi>{re.sub(r'<[^>]*>', '', m[0])}</mi>", text)
    pieces: list[str] = []
    opened: list[list[Any]] = []  # of each element around: its name, the place of its tag, the number of its children
    end = 0
    for tag in _TAG.finditer(text):
        closes, name, empty = tag.groups()
        if not opened and name != "math":  # no part of a formula
            continue
        pieces += [text[end : tag.start()], tag[0]]
        end = tag.end()
        if closes:
            name, place, children = opened.pop()
            if name == "mrow" and (children == 1 or opened[-1][0] == "math"):  # `math` is a row itself
                pieces[place] = pieces[-1] = ""
            continue
        if opened:
            opened[-1][2] += 1
        if not empty:
            opened.append([name, len(pieces) - 1, 0])
    return "".join([*pieces, text[end:]])
