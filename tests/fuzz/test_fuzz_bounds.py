"""Fuzzed: bound, tune, compare, show, glossary, list."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import sympy
from driver import NASTY, cases, counts, fedtheory, mostly, reals
from hypothesis import strategies as st

from fedtheory.arguments import number
from fedtheory.bounds.evaluation import claim_of, closed, definition, has_terms, parameters
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Order

EVALUATED = sorted(s.id for s in catalogue.statements() if has_terms(s))
BOUNDS = [id_ for id_ in EVALUATED if isinstance(catalogue.find(id_).claim, Bound)]
ANY_ID = st.one_of(
    st.sampled_from(sorted(s.id for s in catalogue.statements())), st.sampled_from(NASTY), st.text(max_size=20)
)


@st.composite
def given_for(draw: Any, id_: str, without: tuple[str, ...] = ()) -> list[str]:
    """Parameters of a bound as NAME=VALUE: mostly all of them, mostly good ones."""
    words = []
    for s in parameters(catalogue.find(id_)):
        if s.name in without:
            continue
        good = counts(1000) if s.sympy.is_integer else reals(1e-6, 1e6) if s.name != "mu" else reals(1e-6, 1)
        words.append(f"{s.name}={draw(good if draw(st.integers(0, 5)) else mostly(good))}")
    change = draw(st.integers(0, 12))
    if change == 0 and words:
        words.remove(draw(st.sampled_from(words)))
    if change == 1:
        words.append(draw(st.one_of(st.sampled_from(NASTY), st.text(max_size=20))))
    if change == 2:
        words.append(f"{draw(st.sampled_from(['strict', 'id_', 'first', 'statement', 'values', 'x', 'p', 'K']))}=1")
    return words


@st.composite
def commands(draw: Any) -> list[str]:
    what = draw(st.sampled_from(["bound", "bound", "bound", "tune", "compare", "along", "show", "list", "glossary"]))
    if what in ("bound", "tune"):
        id_ = draw(st.sampled_from(EVALUATED if draw(st.booleans()) else BOUNDS))
        steps = catalogue.paper(catalogue.find(id_).paper).step_sizes if what == "tune" else ()
        words = [what, id_ if draw(st.integers(0, 15)) else draw(ANY_ID), *draw(given_for(id_, tuple(steps)))]
        return words + draw(
            st.lists(st.sampled_from(["--json", "--lenient"] if what == "bound" else ["--json"]), max_size=2)
        )
    if what == "compare":
        return [what, draw(st.sampled_from(EVALUATED)), draw(st.one_of(st.sampled_from(EVALUATED), ANY_ID))]
    if what == "along":
        id_ = draw(st.sampled_from(["sfl.thm1.strongly_convex", "sfl.thm1.nonconvex", "fedcom.thmD7.corrected"]))
        over = draw(
            st.sampled_from(["R=1..1e5", "kappa=1..100", "L=0.1..10", "K=1..50", "M=..", "R=5..1", "q=-1..2", "x=1..2"])
        )
        others = list(draw(given_for(id_, ("eta_tilde", "eta", over.partition("=")[0]))))
        more = draw(st.lists(st.sampled_from(["--tuned", "--json", "--over", "R"]), max_size=2, unique=True))
        return [
            "compare",
            id_,
            draw(st.sampled_from([id_, "sfl.thm2.strongly_convex", "sfl.thm2.nonconvex"])),
            *others,
            over,
            *more,
        ]
    word = draw(ANY_ID)
    flags = {"show": ["--json", "--latex"], "list": ["--json"], "glossary": ["--json", "--shared"]}[what]
    chosen = [draw(st.sampled_from(flags))] if draw(st.booleans()) else []
    return [
        what,
        *(["--paper", word] if what == "list" and draw(st.booleans()) else [] if what == "list" else [word]),
        *chosen,
    ]


def right(words: list[str]) -> None:
    """The command's answer; a value of `bound` is compared with sympy's to 20 digits."""
    answer = fedtheory(*words)
    if words[0] != "bound" or answer.status or "--json" not in words or "--help" in words:
        return
    told = json.loads(answer.out)
    statement = catalogue.find(told["id"])
    claim = claim_of(statement)
    given = dict(word.split("=", 1) for word in words[2:] if "=" in word)
    if set(given) != {s.name for s in parameters(statement)}:
        return  # a list in place of a number
    values = {s.sympy: sympy.Rational(number(s.name, given[s.name])) for s in parameters(statement)}
    for name, expression in [(t.name, t.value) for t in claim.terms] + [("value", definition(claim))]:
        if expression is None:
            continue
        try:
            exact = sympy.N(closed(expression).subs(values), 30)
        except ValueError:  # a maximum with an infinite argument
            assert told["violations"]
            continue
        ours = float(told["value"] if name == "value" else told["terms"][name])
        if not (exact.is_Float or exact.is_Rational) or (told["violations"] and np.isnan(ours)):
            continue  # outside its conditions
        if abs(exact) > 1e308:
            assert abs(ours) > 1e307, (name, exact, ours)
        else:
            scale = max(_sizes(closed(expression), values))
            assert abs(ours - exact) <= 1e-9 * max(abs(exact), scale) + 1e-300, (name, exact, ours)
    if isinstance(claim, Bound | Order):
        total = sum(float(v) for v in told["terms"].values())
        assert (
            str(total) == "nan" or abs(float(told["value"]) - total) <= 1e-9 * abs(total) or abs(total) == float("inf")
        )


def _sizes(expression: sympy.Expr, values: dict[sympy.Symbol, sympy.Rational]) -> list[sympy.Expr]:
    """Sizes of the summands and of the whole: where summands cancel, doubles lose digits."""
    parts = [expression, *sympy.Add.make_args(sympy.expand(expression))]
    return [abs(sympy.N(part.subs(values), 20)) for part in parts]


test_bounds = cases(commands())(right)
