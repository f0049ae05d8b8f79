"""What the lessons share: statements on the page, claims put to their evidence, answers checked, hints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from pathlib import Path
from textwrap import shorten
from types import EllipsisType
from typing import Any, Literal

import marimo as mo
import matplotlib as mpl
import numpy as np
import sympy
from matplotlib.figure import Figure

from fedtheory import plugins
from fedtheory.bounds.evaluation import has_terms
from fedtheory.figures import gallery
from fedtheory.site.typeset import typeset
from fedtheory.texts import value_text
from fedtheory.theory import catalogue
from fedtheory.theory.printing import claim_latex, claim_words, latex, named_latex
from fedtheory.theory.statement import Bound, Order, Statement, Status, Verdict
from fedtheory.verification import evidence

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
    hint: str,
    at: Sequence[tuple[Any, ...]] = (),
    tolerance: float = 1e-9,
) -> Answer:
    """An answer against what is expected.  What a wrong answer is told has the hint in it, and never the solution.

    answer     `...` or None while nothing has been answered; else a number, an array, a text, a truth value, a sympy
               expression, or a function, which is called `at` each tuple of arguments.  A number may be a fraction, a
               sympy number, a text such as "1/45", an array of one element, or rounded to three digits or more
    expected   the same, or a function of the same arguments, such as a simulation that the answer has to predict
    hint       words that help and do not tell the answer
    tolerance  relative and absolute, of numbers
    """
    if callable(answer) and not at:
        raise ValueError(f"exercise {exercise} is a function: expected points to call it at")
    if _is_open(answer):
        return Answer(exercise, "open", "Not answered yet.")

    def wrong(says: str, arguments: tuple[Any, ...] = ()) -> Answer:
        told = f"At ({', '.join(map(_shown, arguments))}): {says}" if arguments else says[0].upper() + says[1:]
        return Answer(exercise, "wrong", f"{told} **Hint.** {hint}")

    if not callable(answer):
        if any(at):
            return wrong(f"`{_shown(answer)}` is no function.")
        fault = _fault(answer, expected(*at[0]) if callable(expected) else expected, tolerance, roundings=True)
        return wrong(fault) if fault else Answer(exercise, "right", "Checked by machine.")
    for arguments in at:
        try:
            found = answer(*arguments)
        except Exception as error:  # whatever a student's function does, the lesson goes on
            return wrong(f"your function stopped with `{type(error).__name__}: {error}`.", arguments)
        if _is_open(found):
            return Answer(exercise, "open", "Not answered yet.")
        wanted = expected(*arguments) if callable(expected) else expected
        if fault := _fault(found, wanted, tolerance):
            return wrong(fault, arguments)
    return Answer(exercise, "right", f"Checked at {len(at)} point{'s' * (len(at) > 1)}.")


def _is_open(answer: Any) -> bool:
    return answer is None or isinstance(answer, EllipsisType)


def _fault(found: Any, expected: Any, tolerance: float, roundings: bool = False) -> str:
    """What is wrong with it, and no word about what would be right; empty when nothing is.

    roundings   whether a number may be rounded.  A constant that somebody types may; what a formula gives may not,
                for there a small difference is another formula
    """
    if isinstance(expected, sympy.Basic) and not expected.is_number:
        return "" if _same_expression(found, expected) else _not_right(found)
    if isinstance(expected, str):
        return "" if isinstance(found, str) and _bare(found) == _bare(expected) else _not_right(found)
    if isinstance(expected, bool) or expected is None:
        return "" if np.ndim(found) == 0 and found == expected else _not_right(found)
    try:
        a, b = _numbers(found), _numbers(expected)
    except (TypeError, ValueError):
        return f"`{_shown(found)}` is no number, and a number is expected."
    if a.shape != b.shape:
        expected_shape = f"an array of the shape {b.shape}" if b.shape else "one number"
        return f"your answer has the shape {a.shape}, and {expected_shape} is expected."
    right = np.isclose(a, b, rtol=tolerance, atol=tolerance)
    if roundings:
        right |= np.vectorize(_is_rounding, otypes=[bool])(a, b)
    return "" if right.all() else _not_right(found)


def _not_right(found: Any) -> str:
    return f"you have `{_shown(found)}`, which is not right."


def _same_expression(found: Any, expected: sympy.Basic) -> bool:
    """Whether they are equal; a text, or symbols of the same names with other assumptions, will do."""
    own = {str(symbol): symbol for symbol in expected.free_symbols}
    try:
        given = sympy.sympify(found, locals=own)
        given = given.subs({symbol: own.get(str(symbol), symbol) for symbol in given.free_symbols})
        return bool(sympy.simplify(given - expected) == 0)
    except (sympy.SympifyError, TypeError, AttributeError):
        return False


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()


def _numbers(value: Any) -> np.ndarray:
    """Numbers, also from texts and fractions, without axes of length one.  Raises TypeError or ValueError."""
    if isinstance(value, str):
        try:
            value = sympy.sympify(value)
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{value!r} is no number") from error
    if isinstance(value, list | tuple | sympy.Tuple):
        value = [_numbers(one) for one in value]
    return np.squeeze(np.asarray(value, dtype=float))


def _is_rounding(found: float, expected: float) -> bool:
    """Whether `expected`, no whole number, is `found` when rounded to three significant digits or more."""
    if not np.isfinite(expected) or float(expected).is_integer():
        return False
    return any(np.isclose(found, float(f"{expected:.{digits}g}"), rtol=1e-12, atol=0) for digits in range(3, 16))


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=8)
    if isinstance(value, Fraction) and value.denominator > 10**9:  # of thousands of digits, if it comes from a long run
        value = float(value)
    return f"{value:.6g}" if isinstance(value, float | np.floating) else shorten(str(value), 80, placeholder=" ...")


def choice(question: str, options: Iterable[str], value: str | None = None) -> mo.ui.radio:
    """A question with one right answer, none chosen yet; `value` is that of the teacher's version."""
    return mo.ui.radio(options=list(options), value=value, label=question)


def how_to_answer() -> mo.Html:
    """What a student does to answer, in the first text of each lesson; an app has no cells to answer in, and says so."""
    if mo.app_meta().mode == "run":
        return mo.callout(
            mo.md(
                "**This is the lesson as an app.** Sliders and figures work here, but exercises that ask for code have "
                "nowhere to answer. To answer them, stop the app and open the same file with `marimo edit FILE`."
            ),
            "warn",
        )
    return mo.callout(
        mo.md(
            "**How to answer.** Open the lesson with `marimo edit FILE`. Below an exercise stands a cell with `...` in it. "
            "Replace the `...` by your answer and run the cell (Ctrl+Enter, or the button at its right). The box below the "
            "cell then says *right* or *wrong*, with a hint. Numbers may be fractions, such as `1/3`, or rounded to three "
            "digits. Some exercises ask for a few sentences: double-click the text below them and write. No machine "
            "checks these."
        )
    )


def after(answer: Answer, *parts: Any) -> mo.Html:
    """What tells the answer of an exercise, texts or anything else: folded until the answer is right."""
    shown = mo.vstack([mo.md(part) if isinstance(part, str) else part for part in parts])
    if answer.standing == "right":
        return shown
    return mo.accordion(
        {f"What follows tells the answer of Exercise {answer.exercise}. Try it first, then open this.": shown}
    )


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


def shelf() -> None:
    """The papers of `shelf/` are known, to this process and its workers."""
    plugins.add_folder(Path(__file__).parents[1] / "shelf")


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
    kinds: dict[str, Any] = {
        "proved": "success",
        "conditional": "success",
        "tested": "success",
        "refuted": "danger",
        "broken": "danger",
    }
    pairs = "".join(
        f"<span>{typeset(name)} = {typeset(value_text(value))}</span>" for name, value in verdict.witness.items()
    )
    witness = (
        f"<div style='display:flex;flex-wrap:wrap;gap:0 1.5em;overflow-wrap:anywhere'>{pairs}</div>" if pairs else ""
    )
    slack = f" Slack {verdict.slack:.3g}." if verdict.slack is not None else ""
    head = f"{title}: " if title else ""
    return mo.callout(
        mo.Html(
            f"<div>{escape(head)}<strong>{verdict.status}</strong>. {typeset(verdict.says)}.{slack}</div>{witness}"
        ),
        kinds.get(str(verdict.status), "warn"),
    )


def regenerated(name: str) -> Figure:
    """A figure of the report, drawn now.  Raises UnknownName."""
    with mpl.rc_context(gallery.STYLE):
        found = gallery.find(name).draw(False)
    assert isinstance(found, gallery.FigureData)
    return found.canvas


def drawn(draw: Callable[[Any], object], width: float = 6.5, height: float = 3.4, columns: int = 1) -> Figure:
    """A figure in the house's style: `draw` gets its axes, one or a row of `columns`."""
    with mpl.rc_context(gallery.STYLE):
        figure, axes = gallery.canvas(1, columns, width=width / columns, height=height)
        draw(axes[0, 0] if columns == 1 else axes[0])
        figure.draw_without_rendering()
    return figure
