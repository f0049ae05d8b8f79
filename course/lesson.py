"""What the lessons share: statements on the page, claims put to their evidence, answers checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from types import EllipsisType
from typing import Any, Literal

import marimo as mo
import matplotlib as mpl
import numpy as np
import sympy
from matplotlib.figure import Figure

from bounds.evaluation import has_terms
from fedtheory.paper_check import value_text
from fedtheory.verification import evidence
from figures import gallery
from theory import catalogue
from theory.printing import claim_latex, claim_words, latex, named_latex
from theory.statement import Bound, Order, Statement, Status, Verdict

Standing = Literal["open", "right", "wrong"]
_KIND: dict[Standing, Literal["neutral", "success", "danger"]] = {
    "open": "neutral",
    "right": "success",
    "wrong": "danger",
}


@dataclass(frozen=True)
class Answer:
    """What became of an exercise; a notebook shows it as a coloured box."""

    exercise: str
    standing: Standing
    says: str

    def _display_(self) -> mo.Html:
        return mo.callout(mo.md(f"**Exercise {self.exercise}: {self.standing}.** {self.says}"), _KIND[self.standing])


def check(
    exercise: str,
    answer: Any,
    expected: Any,
    *,
    at: Sequence[tuple[Any, ...]] = (),
    tolerance: float = 1e-9,
) -> Answer:
    """An answer against what is expected.

    answer     `...` or None while nothing has been answered; else a number, an array, a text, a truth value, a sympy
               expression, or a function, which is called `at` each tuple of arguments
    expected   the same, or a function of the same arguments, such as a simulation that the answer has to predict
    tolerance  relative and absolute, of numbers
    """
    if _is_open(answer):
        return Answer(exercise, "open", "Not answered yet.")
    if not callable(answer):
        says = _differs(answer, expected(*at[0]) if callable(expected) else expected, tolerance)
        return Answer(exercise, "wrong" if says else "right", says or "Checked by machine.")
    if not at:
        raise ValueError(f"exercise {exercise} is a function: expected points to call it at")
    for arguments in at:
        found = answer(*arguments)
        if _is_open(found):
            return Answer(exercise, "open", "Not answered yet.")
        wanted = expected(*arguments) if callable(expected) else expected
        if says := _differs(found, wanted, tolerance):
            called = ", ".join(map(_shown, arguments))
            return Answer(exercise, "wrong", f"At ({called}): {says}")
    return Answer(exercise, "right", f"Checked at {len(at)} point{'s' * (len(at) > 1)}.")


def _is_open(answer: Any) -> bool:
    return answer is None or isinstance(answer, EllipsisType)


def _differs(found: Any, expected: Any, tolerance: float) -> str:
    """What is wrong with it; empty when nothing is."""
    if isinstance(expected, sympy.Basic) and not isinstance(expected, sympy.Number):
        try:
            same = sympy.simplify(sympy.sympify(found) - expected) == 0
        except (sympy.SympifyError, TypeError):
            same = False
        return "" if same else f"`{found}` is not equal to what is expected."
    if isinstance(expected, str | bool) or expected is None:
        return "" if found == expected else f"`{found}` is not what is expected."
    try:
        a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    except (TypeError, ValueError):
        return f"`{found}` is no number; expected one."
    if a.shape != b.shape:
        return f"the shape is {a.shape}, expected {b.shape}."
    if np.allclose(a, b, rtol=tolerance, atol=tolerance):
        return ""
    return f"you have {_shown(found)}, what is measured is {_shown(expected)}."


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=8)
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def choice(question: str, options: Iterable[str], value: str | None = None) -> mo.ui.radio:
    """A question with one right answer, none chosen yet; `value` is that of the teacher's version."""
    return mo.ui.radio(options=list(options), value=value, label=question)


def statement(id_: str) -> mo.Html:
    """A statement as printed: place, mathematics by named term, conditions, definitions.  Raises UnknownName."""
    s = catalogue.find(id_)
    paper, claim = s.paper, s.claim
    parts = [f"**`{s.id}`** ({s.kind}), {catalogue.paper(paper).title}, {s.place}"]
    if isinstance(claim, Bound | Order):
        parts.append(f"$$\n{named_latex(paper, claim)}\n$$")
    elif mathematics := claim_latex(s):
        parts.append(f"$$\n{mathematics}\n$$")
    if words := claim_words(s):
        parts.append(words)
    if s.when:
        told = [f"${latex(paper, c.relation)}$" + ("" if c.source == "printed" else f" ({c.source})") for c in s.when]
        parts.append("when " + ", ".join(told))
    if s.where:
        parts.append(
            "where " + ", ".join(f"${latex(paper, sympy.Eq(k, v, evaluate=False))}$" for k, v in s.where.items())
        )
    return mo.callout(mo.md("\n\n".join(parts)))


def put(id_: str, kind: str, changed: Statement | None = None) -> Verdict:
    """A statement, or what it was `changed` to, put to one kind of its evidence now.

    A proof is one from the statements that it uses, which are not put to theirs here: the verdict says `given ...`.

    Raises UnknownName for an unknown id, ValueError for a kind of evidence that the statement has not.
    """
    s = catalogue.find(id_)
    own = {e.kind: e for e in evidence(s.paper) if e.statement == id_}
    if kind not in own:
        raise ValueError(f"{id_} has no evidence of kind {kind!r}; expected one of {', '.join(own)}")
    found = own[kind].check(changed or s, False)
    uses = dict.fromkeys((*own[kind].uses, *found.uses))
    if found.status is Status.PROVED and uses:
        return replace(found, says=f"{found.says}; given {', '.join(uses)}")
    return found


def scaled(id_: str, factor: Any, term: str | None = None) -> Statement:
    """The bound with one term, or all of them, times a factor: a sharper claim where the factor is below 1."""
    s = catalogue.find(id_)
    if not (has_terms(s) and isinstance(s.claim, Bound)):
        raise ValueError(f"{id_} is no bound: expected one with terms to scale")
    return s.with_claim(s.claim.scaled(factor, term))


def told(verdict: Verdict, title: str = "") -> mo.Html:
    """A verdict in a box: what was checked, and the witness where there is one."""
    kinds: dict[str, Any] = {"proved": "success", "holds": "success", "refuted": "danger", "broken": "danger"}
    pairs = "".join(
        f"<span><code>{escape(name)}</code> = {escape(value_text(value))}</span>"
        for name, value in verdict.witness.items()
    )
    witness = (
        f"<div style='display:flex;flex-wrap:wrap;gap:0 1.5em;overflow-wrap:anywhere'>{pairs}</div>" if pairs else ""
    )
    slack = f" Slack {verdict.slack:.3g}." if verdict.slack is not None else ""
    head = f"{title}: " if title else ""
    return mo.callout(
        mo.Html(f"<div>{escape(head)}<strong>{verdict.status}</strong>. {escape(verdict.says)}.{slack}</div>{witness}"),
        kinds.get(str(verdict.status), "warn"),
    )


def regenerated(name: str) -> Figure:
    """A figure of the report, drawn now.  Raises UnknownName."""
    with mpl.rc_context(gallery.STYLE):
        return gallery.find(name).draw(False).canvas


def drawn(draw: Callable[[Any], object], width: float = 6.5, height: float = 3.4, columns: int = 1) -> Figure:
    """A figure in the house's style: `draw` gets its axes, one or a row of `columns`."""
    with mpl.rc_context(gallery.STYLE):
        figure, axes = gallery.canvas(1, columns, width=width / columns, height=height)
        draw(axes[0, 0] if columns == 1 else axes[0])
        figure.draw_without_rendering()
    return figure
