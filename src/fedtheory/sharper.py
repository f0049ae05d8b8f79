"""How much sharper our bounds are than the printed ones, and how far the best constants are, term by term."""

from __future__ import annotations

from functools import cache

import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Statement
from fedtheory.verification import Checked

LONG = 40  # operations of a ratio, which then says less than the two terms


@cache
def gains(id_: str) -> dict[str, sympy.Expr | str]:
    """Each term of what a sharper bound sharpens over its own, by name; in words if it has none, or the ratio is long.

    With S = M where the sharper one is about all clients.  Empty if one of the two is no bound.
    """
    ours = catalogue.find(id_)
    printed = catalogue.find(ours.sharpens)
    before, after = printed.claim, ours.claim
    if not (isinstance(before, Bound) and isinstance(after, Bound)):
        return {}
    everyone, terms = _everyone(printed, after.value), _terms(ours)
    found: dict[str, sympy.Expr | str] = {}
    for term in before.terms:
        value = term.value.subs(everyone)
        if term.name in terms and value != 0:
            ratio = sympy.factor(value / terms[term.name])
            found[term.name] = "see both" if ratio.count_ops() > LONG else ratio
        elif value != 0:
            found[term.name] = "none left"
    return found


def stated(id_: str, term: str) -> tuple[sympy.Expr | None, bool]:
    """A term of a bound; of a sharper form over the term that it sharpens (True), unless that is long or there is none.

    None where the bound has no such term.
    """
    statement = catalogue.find(id_)
    own = _terms(statement).get(term)
    if own is None or not statement.sharpens:
        return own, False
    before = _terms(catalogue.find(statement.sharpens)).get(term)
    everyone = _everyone(statement, own)
    if not before or (before := before.subs(everyone)) == 0:
        return own, False
    ratio = sympy.factor(sympy.simplify(own.subs(everyone) / before))
    return (own, False) if ratio.count_ops() > LONG else (ratio, True)


def _terms(statement: Statement) -> dict[str, sympy.Expr]:
    return {t.name: t.value for t in statement.claim.terms} if isinstance(statement.claim, Bound) else {}


def _everyone(statement: Statement, ours: sympy.Expr) -> dict[sympy.Expr, sympy.Expr]:
    """S = M for a bound of ours that is about all clients."""
    known = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    takes_all = {"S", "M"} <= known.keys() and known["S"] not in ours.free_symbols
    return {known["S"]: known["M"]} if takes_all else {}


def in_the_limit(id_: str, ratio: sympy.Expr) -> float | None:
    """A ratio of terms of a statement for small step sizes and many clients, few of them sampled, steps and rounds.

    None if that is no number.
    """
    known = {s.sympy: s for s in catalogue.symbols(catalogue.find(id_)).values()}
    free = [known[x] for x in ratio.free_symbols if x in known]
    steps = {s.sympy: 0 for s in free if s.concept in ("learning rate", "effective learning rate")}
    counts = (s for s in free if s.sympy.is_integer)
    ratio = ratio.subs(steps)
    for symbol in sorted(counts, key=lambda s: (s.concept != "clients", s.name)):
        ratio = sympy.limit(ratio, symbol.sympy, sympy.oo)
    return float(ratio) if ratio.is_number and ratio.is_finite else None


def least_room(checked: Checked) -> dict[str, tuple[str, tuple[float, float]]]:
    """term -> the numbers at which its best factor is closest to what is stated, and the factor's two ends."""
    every: dict[str, list[tuple[str, tuple[float, float]]]] = {}
    for _, found in checked.verdicts:
        for told, terms in found.best.items():
            for term, ends in terms.items():
                every.setdefault(term, []).append((told, ends))
    # a term that is subtracted may be larger, and is closest where its factor is smallest
    return {
        term: (min if any(ends[0] > 1.001 for _, ends in several) else max)(several, key=lambda one: one[1][0])
        for term, several in every.items()
    }
