"""`fedtheory sharpen`: a theorem with the best constants that its proof gives, for a range of step sizes, and its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy

from fedtheory.bounds.papers import arenas
from fedtheory.bounds.studies import Numbers, Study
from fedtheory.bounds.trials.arena import judge
from fedtheory.simulations.checked import brief, fraction
from fedtheory.theory import catalogue
from fedtheory.theory.proofs.sharpening import NoChoices, Sharpened, Sharpening, sharpened
from fedtheory.theory.statement import Bound, Statement, Verdict

# Where the constants are compared: one number for each symbol, the step size small, so that an exponential counts alike
_AT = {"M": 10, "S": 5, "K": 5, "T": 5, "mu": Fraction(1, 100), "eta_tilde": Fraction(1, 10**6), "R": 10**8}


def family_of(id_: str) -> Sharpening:
    """The sharper theorem of this id, or that of a printed or corrected one.

    Raises UnknownName for an unknown id, ValueError if no proof of it has free choices.
    """
    statement = catalogue.find(id_)
    known = catalogue.sharpenings(statement.paper)
    for form in catalogue.forms(id_):
        if form in known:
            return known[form]
    raise ValueError(
        f"{id_}: no proof of a sharper form has free choices; expected a theorem such as sfl.thm1.general_convex"
    )


def span_of(text: str) -> sympy.Rational:
    """How far the step sizes go, as a multiple of the printed limit: 2, 0.5 or 1/2.  Raises ValueError."""
    try:
        span = fraction(text)
    except ValueError:
        raise ValueError(f"--span {brief(text)}: expected a number > 0, such as 2 or 1/2") from None
    if not 0 < span <= 1000 or span < Fraction(1, 1000):
        raise ValueError(f"--span {brief(text)}: expected a number from 1/1000 to 1000")
    return sympy.Rational(span.numerator, span.denominator)


@dataclass(frozen=True)
class SharperTerm:
    """A term of the theorem, and how many times smaller it is than in other forms, by id."""

    term: str
    value: sympy.Expr
    over: dict[str, float]


@dataclass(frozen=True)
class SharperForm:
    """The theorem for one range of step sizes, beside what it sharpens and beside the catalogue's form.

    span        the largest step size over the printed one
    sharpens    the id of the first
    catalogued  the id of the second
    runs        the verdict of the arenas of the catalogue's form, with the new bound; None: not asked for
    """

    span: sympy.Rational
    sharpens: str
    catalogued: str
    found: Sharpened
    rows: tuple[SharperTerm, ...]
    runs: Verdict | None


def answer(one: Sharpening, span: sympy.Rational, run: bool = True) -> SharperForm:
    """Optimise, prove, and compare.  Raises NoChoices if none are admissible."""
    ours = catalogue.find(one.theorem)
    others = {id_: _terms(catalogue.find(id_)) for id_ in (ours.sharpens, ours.id)}
    with sharpened(one, span) as found:
        statement = found.theorem
        runs = judge([replace(a, statement=statement.id) for a in _arenas(ours)], statement) if run else None
    rows = []
    for name, value in _terms(statement).items():
        own = _number(value)
        rows.append(SharperTerm(name, value, {id_: _number(t[name]) / own for id_, t in others.items() if name in t}))
    return SharperForm(span, ours.sharpens, ours.id, found, tuple(rows), runs)


def _arenas(statement: Statement) -> list[Any]:
    """Arenas of one kind: those with an exact expectation if there are any."""
    own = [a for a in arenas(statement.paper) if a.statement == statement.id]
    kind = "moments" if any(a.kind == "moments" for a in own) else "run"
    return [a for a in own if a.kind == kind]


def _terms(statement: Statement) -> dict[str, sympy.Expr]:
    return {t.name: t.value for t in statement.claim_of(Bound).terms}


def _number(e: sympy.Expr) -> float:
    at = {s: _AT.get(s.name, 1) for s in e.free_symbols}
    return float(e.subs({s: sympy.Rational(v) for s, v in at.items()}).evalf())


SPANS = tuple(sympy.Rational(n, d) for n, d in ((1, 8), (1, 4), (1, 2), (1, 1), (3, 2), (2, 1), (5, 2), (3, 1), (4, 1)))


def trade_off(one: Sharpening, tell: Callable[[int], None] = lambda _: None) -> list[SharperForm]:
    """The theorem for each of the SPANS for which its proof has admissible choices; `tell` how many are done.

    Raises NoChoices if there are none.
    """
    found = []
    for done, span in enumerate(SPANS, start=1):
        try:
            found.append(answer(one, span, run=False))
        except NoChoices:
            continue  # beyond the largest step size of the proof
        finally:
            tell(done)
    if not found:
        raise NoChoices(f"{one.theorem}: no choices prove it for any of the step sizes")
    return found


def smaller(found: SharperForm) -> dict[str, float]:
    """How many times smaller each term is than in the theorem that is sharpened."""
    return {row.term: row.over[found.sharpens] for row in found.rows if found.sharpens in row.over}


DRAWN = ("sfl.thm1.general_convex", "sfl.thm2.general_convex")  # theorems whose constants are drawn over the step sizes


def _measured(theorem: str, span: str) -> Numbers:
    """How many times smaller each term is; nothing if the proof has no choices for these step sizes."""
    try:
        return {term: [n] for term, n in smaller(answer(family_of(theorem), sympy.Rational(span), run=False)).items()}
    except NoChoices:
        return {}


STUDY = Study(
    "sfl_sharper_constants_over_step_sizes",
    lambda: {f"{id_}, span {s}": {"theorem": id_, "span": str(s)} for id_ in DRAWN for s in SPANS},
    _measured,
    ("fedtheory.theory.proofs.sharpening", "fedtheory.theory.sfl.sharp", "fedtheory.theory.sfl.checks.sharp"),
    DRAWN,
)
