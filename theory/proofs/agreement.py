"""Who agrees with z3: cvc5 decides again, from its text, what z3 has decided in a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from theory.proofs import second
from theory.proofs.arithmetic import Question
from theory.proofs.sequents import Sequent, sequents
from theory.statement import Status

_SHOWN = 150  # characters of a step in an error


class Disagreement(Exception):
    """z3 and cvc5 contradict each other about a step."""


@dataclass(frozen=True)
class Agreement:
    """The different steps that z3 has proved, in order; cvc5 has proved them too, except where it gave up."""

    steps: tuple[Sequent, ...]
    undecided: tuple[Sequent, ...]


def agreement(questions: Iterable[Question]) -> Agreement:
    """What cvc5 says of these questions.  What z3 has left open needs no opinion.

    Raises Disagreement if one of the two proves what the other refutes.
    """
    steps: dict[Sequent, bool | None] = {}
    for question in questions:
        status = question.decision.status
        if status is Status.PROVED:
            for step in proved_by(question):
                steps[step] = _answer(step)
                if steps[step] is False:
                    raise Disagreement(f"z3 proves and cvc5 refutes step {step.digest}: {_short(step)}")
        elif status is Status.REFUTED:
            asked = sequents(question.hypotheses, question.claims)
            if all(_answer(step) for step in asked):
                raise Disagreement(f"z3 refutes and cvc5 proves step {asked[-1].digest}: {_short(asked[-1])}")
    return Agreement(tuple(steps), tuple(step for step, answer in steps.items() if answer is None))


def proved_by(question: Question) -> list[Sequent]:
    """The steps that z3 has proved with this question; none for a claim that was true before anything was asked."""
    if question.decision.status is not Status.PROVED:
        return []
    return [step for step in sequents(question.hypotheses, question.claims) if step.claim != "True"]


def _answer(step: Sequent) -> bool | None:
    try:
        return second.proves(step)
    except ValueError:  # exp, or a symbol as exponent: z3 has been asked without it, because it cancels
        return None


def _short(step: Sequent) -> str:
    text = str(step)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
