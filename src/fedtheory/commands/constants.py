"""Constants: the best that a proof gives, the best that there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from fedtheory.commands.options import AsJson
from fedtheory.simulations.checked import brief, fraction
from fedtheory.terminal import print_json, print_rows, progress

_SHOWN = (2, 3, 10, 1000)  # numbers of clients whose best constants stand where none is known for all
_WHOLE = 8  # clients, at most, whose programme is not made small by symmetry
_SHOWN_STEPS = (2, 5, 10)  # numbers of local steps, with two clients, at which constants for all of them are shown
_LARGEST_COUNT = 64  # of clients or steps, in a round whose outcomes are listed


def sharpen_command(
    id_: Annotated[str, typer.Argument(help="id of a theorem that has a sharper form, or of that form", metavar="ID")],
    span: Annotated[
        str, typer.Option(help="allow step sizes up to this multiple of the printed limit, such as 2 or 1/2")
    ] = "1",
    trade_off: Annotated[
        Path | None,
        typer.Option(help="draw the constants against the largest step size into this PNG, SVG or PDF file"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best constants that the proof of a theorem gives: optimise, round to fractions, prove.

    The free choices of a proof are the weights in Young's inequality and the shares of its non-negative terms."""
    from fedtheory.bounds import sharpening as own
    from fedtheory.theory import catalogue
    from fedtheory.theory.printing import plain

    one = own.family_of(id_)
    if trade_off is not None:
        from fedtheory.figures.gallery import saveable

        saveable(trade_off)
    with progress() as tell:
        tell("the best constants", 0, 1)
        found = own.answer(one, own.span_of(span))
    sharpened, catalogued = found.sharpens, found.catalogued
    if trade_off is not None:
        from fedtheory.figures.gallery import save_as
        from fedtheory.figures.trade_off import draw

        with progress() as tell:
            points = own.trade_off(one, lambda done: tell("step sizes", done, len(own.SPANS)))
        save_as(lambda: draw({points[0].sharpens: {a.span: own.smaller(a) for a in points}}), trade_off)
    if as_json:
        print_json(
            {
                "sharpens": sharpened,
                "when": [str(c) for c in found.found.theorem.when],
                "terms": {r.term: plain(r.value) for r in found.rows},
                "times_smaller": {r.term: r.over for r in found.rows},
                "choices": {name: str(value) for name, value in found.found.choices.items()},
                "verdicts": [{"status": v.status, "says": v.says} for v in found.found.verdicts],
                "runs": None if found.runs is None else {"status": found.runs.status, "says": found.runs.says},
            }
        )
        return
    print(f"{sharpened}, sharpened, when {'; '.join(str(c) for c in found.found.theorem.when)}")
    form = catalogue.find(sharpened).form
    rows = []
    for row in found.rows:
        cells = [f"{row.over[id_]:.4g}" if id_ in row.over else "" for id_ in (sharpened, catalogued)]
        rows.append((row.term, plain(row.value), *cells))
    print_rows(("term", "bound", f"{form} / this", "in the catalogue / this"), rows)
    print("choices: " + ", ".join(f"{name} = {value}" for name, value in found.found.choices.items()))
    for verdict in found.found.verdicts:
        print(f"{verdict.status}: {verdict.says}")
    if found.runs is not None:
        print(f"{found.runs.status}: {found.runs.says}")
    if trade_off is not None:
        print(f"drawn to {trade_off}")


def tight(
    id_: Annotated[
        str | None,
        typer.Argument(help="id of an inequality about one round; none with --every: all on record", metavar="[ID]"),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="numbers, such as M=2 K=1 L=1 eta_tilde=1/6", metavar="[NAME=VALUE]..."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--every",
            help="prove constants for every number of clients, which is left out; of drift for every number of local "
            "steps, if it is left out, too",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the best constant of each term of an inequality about one round, for all functions in every dimension.

    A semidefinite programme (Clarabel) finds a bracket, which is checked exactly:
    an instance from below, multipliers from above. First it takes all terms of
    the larger side together, then one at a time while the others stay as they
    are. Noise is +n or -n with equal probability, for any vector n. More than 8
    clients are taken by symmetry, as many as you like; a count may be that of
    the clients, such as K=M."""
    from fedtheory.bounds import worst_cases
    from fedtheory.theory import catalogue
    from fedtheory.theory.proofs import scenes, symmetry
    from fedtheory.theory.proofs.tight import NotSolved, Unbounded

    if id_ is None:
        if not every:
            raise ValueError("expected the id of an inequality about one round, such as sfl.lemma6")
        _on_record(as_json)
        return
    statement, numbers, alike = catalogue.find(id_), {}, list[str]()
    symbols = catalogue.symbols(statement)
    counts = {name for name, symbol in symbols.items() if symbol.domain.startswith("integer")}
    clients = next((name for name, symbol in symbols.items() if symbol.concept == "clients"), None)
    for word in words or ():
        name, _, text = word.partition("=")
        if text == clients and name in counts - {clients}:
            alike.append(name)
            continue
        try:
            numbers[name] = fraction(text)
        except ValueError:
            raise ValueError(f"{brief(word)}: expected NAME=VALUE with a fraction, such as eta_tilde=1/6") from None
    M = numbers.pop(clients, None) if clients else None
    if every and M is not None:
        raise ValueError(f"{clients}={M}: expected no number of clients with --every")
    for name, x in numbers.items():
        if name in counts and x > _LARGEST_COUNT:
            raise ValueError(f"{name}={x}: expected at most {_LARGEST_COUNT}: all outcomes of a round are listed")
    rounds = worst_cases.rounds(statement.paper)
    if every:
        from fedtheory.theory.proofs import every_record, every_step

        local = next((name for name, symbol in symbols.items() if symbol.concept == "local steps"), None)
        if local in {symbol.name for symbol in statement.symbols} - numbers.keys():
            try:
                by_induction = every_step.every(statement, rounds, numbers, alike)
            except every_step.NoDrift as error:
                raise ValueError(f"{error}; expected {local}, such as {local}=2") from None
            _for_every_step(by_induction, numbers, alike, as_json)
            return
        entry = every_record.entry_of(id_, numbers, alike)
        if entry is not None:
            known = every_record.kept(statement.paper)[entry] or {}
            _show([(one.term, one) for one in every_record.read(entry, known, rounds)], as_json)
        else:
            _show(list(_proofs(id_, symmetry.searches(statement, rounds, numbers, alike))), as_json)
        return
    told: list[tuple[scenes.Numbers, str, scenes.Search]] = []
    if M is not None and M.denominator == 1 and M not in range(_WHOLE + 1):
        try:
            found_by_symmetry = symmetry.searches(statement, rounds, numbers, alike, int(M))
            told = [(one.place, term, one.of(int(M))) for term, ones in found_by_symmetry.items() for one in ones]
        except symmetry.NotExchangeable:
            if M > _LARGEST_COUNT:
                raise
    if not told:
        given = numbers if M is None or clients is None else numbers | dict.fromkeys((clients, *alike), M)
        told = [
            (case.scene.place, term, search)
            for case in scenes.cases_at(statement, rounds, given)
            for term, search in scenes.searches(statement, case).items()
        ]
    found: list[tuple[scenes.Numbers, str, scenes.Search, scenes.FactorRange | str]] = []
    with progress() as tell:
        for done, (place, term, search) in enumerate(told, start=1):
            try:
                found.append((place, term, search, scenes.best(search, statement.paper)))
            except (NotSolved, Unbounded) as error:
                found.append((place, term, search, str(error)))
            tell("terms", done, len(told))
    if as_json:
        print_json([_bracket(*one, statement.paper) for one in found])
        return
    rows = []
    for place, term, search, own in found:
        if isinstance(own, str):
            rows.append((term + _at(place), "", "", own))
        else:
            side = "may be larger" if search.sign < 0 else "may be smaller" if own.most < 0.9995 else ""
            rows.append((term + _at(place), f"{float(own.least):.3g}", f"{float(own.most):.3g}", side))
    print_rows(("term", "best / stated, at least", "at most", ""), rows)


def _proofs(id_: str, searches: Any) -> Iterator[tuple[str, Any]]:
    """The best factor on each term for every number of clients, or why none was found."""
    from fedtheory.theory.proofs import every_record
    from fedtheory.theory.proofs.tight import NotSolved, Unbounded

    for term, one in ((term, one) for term, several in searches.items() for one in several):
        try:
            yield term + _at(one.place), every_record.best(id_, term, one)
        except (NotSolved, Unbounded) as error:
            yield term + _at(one.place), str(error)


def _show(found: list[tuple[str, Any]], as_json: bool) -> None:
    """Show factors for every number of clients."""
    if as_json:
        print_json([_proved(term, one) for term, one in found])
        return
    cells = ([one] if isinstance(one, str) else [one.told + _for_some(one), _sharper(one)] for _, one in found)
    rows = ([term, *own] for (term, _), own in zip(found, cells, strict=True))
    print_rows(("term", "best / stated, for every M >= 2", "sharper / stated"), rows)


def _for_every_step(one: Any, numbers: dict[str, Any], alike: list[str], as_json: bool) -> None:
    """Show what is enough for every number of clients and steps."""
    from fedtheory.bounds import worst_cases
    from fedtheory.theory import catalogue
    from fedtheory.theory.printing import plain
    from fedtheory.theory.proofs import every_step
    from fedtheory.theory.proofs.algorithms import drift_of

    statement, rounds = catalogue.find(one.id), worst_cases.rounds(one.id.partition(".")[0])
    clients, local = every_step.letters(statement)
    assert rounds is not None  # else there was no induction
    two = {**numbers, **dict.fromkeys((clients, *alike), Fraction(2))}
    ats = [rounds.complete(statement, two | {local: Fraction(K)}) for K in _SHOWN_STEPS]
    shown = {q: [one.ratio(q, at) for at in ats] for q in one.stated}
    if as_json:
        rows = [
            {
                "quantity": plain(q),
                "stated": plain(c),
                "needed": q in one.needed,
                "enough_over_stated": dict(zip(map(str, _SHOWN_STEPS), shown[q], strict=True)),
            }
            for q, c in one.stated.items()
        ]
        checked = {"checked": list(one.counts), "in_coq": drift_of(one.id)}
        print_json({"enough": one.formula, "coefficients": rows} | checked)
        return
    print(f"for every {clients} and {local}, in place of the stated coefficients: {one.formula}")
    columns = [
        f"{f'enough / stated, {clients} = 2: ' if i == 0 else ''}{local} = {K}" for i, K in enumerate(_SHOWN_STEPS)
    ]
    cells = {q: [f"{x:.3g}" for x in numbers] for q, numbers in shown.items()}
    lines = ((plain(q), plain(c), *cells[q], "needed" if q in one.needed else "") for q, c in one.stated.items())
    print_rows(("of", "stated", *columns, ""), lines)
    if theorem := drift_of(one.id):
        print(f"in Coq: {theorem}; no smaller number is enough: drift.needed")


def _on_record(as_json: bool) -> None:
    """Show all constants for every number of clients that are on record, each checked again."""
    from fedtheory.bounds import worst_cases
    from fedtheory.theory import catalogue
    from fedtheory.theory.proofs import every_record

    rows, shown = list[dict[str, Any]](), []
    for paper in catalogue.names():
        rounds = worst_cases.rounds(paper)
        for entry, told in every_record.kept(paper).items():
            for i, one in enumerate(every_record.read(entry, told or {}, rounds)):
                shown.append((entry if i == 0 else "", one.term, one.told, _sharper(one)))
                rows.append({"inequality": entry} | _proved(one.term, one))
    if as_json:
        print_json(rows)
    else:
        print_rows(("inequality", "term", "best / stated, for every M >= 2", "sharper / stated"), shown)


def _sharper(one: Any) -> str:
    """The factors of the sharper forms."""
    from fedtheory.theory.proofs import symmetry

    prefix = f"{one.id}."
    return ", ".join(f"{symmetry.told(x)} ({id_.removeprefix(prefix)})" for id_, x in one.sharper.items())


def _for_some(one: Any) -> str:
    """The best factors for some numbers of clients, where no instance is known for all."""
    from fedtheory.theory.proofs import symmetry
    from fedtheory.theory.proofs.tight import NotSolved, Unbounded, tight

    found = []
    for M in _SHOWN if one.least is None else ():
        with suppress(NotSolved, Unbounded, symmetry.NotExchangeable):
            found.append(f"{float(one.search.sign * tight(one.search.of(M).below).lower):.3g} (M = {M})")
    return f"; needed: {', '.join(found)}" if found else ""


def _proved(term: str, one: Any) -> dict[str, Any]:
    """A term's constant for every number of clients as JSON, with its proof and its instances."""
    if isinstance(one, str):
        return {"term": term, "not_found": one}
    shown: dict[str, Any] = {"term": term}
    shown["best_over_stated"] = [None if one.least is None else str(one.least), str(one.proved)]
    shown["multipliers"] = {name: str(x) for name, x in one.proof.multipliers.items()}
    if one.instance is not None:
        shown["products"] = {" . ".join(pair): str(x) for pair, x in one.instance.products.items()}
        shown["values"] = {name: str(x) for name, x in one.instance.values.items()}
    return shown


def _at(place: Any) -> str:
    return "".join(f", {symbol} = {value}" for symbol, value in place.items())


def _bracket(place: Any, term: str, search: Any, found: Any, paper: str) -> dict[str, Any]:
    """A term's best constant as JSON, with its instance and its proof; without one, an instance that refutes the whole."""
    from fedtheory.theory.proofs import scenes

    shown = {"term": term, "numbers": {str(symbol): str(value) for symbol, value in place.items()}}
    if isinstance(found, str):
        instance = scenes.violated(search.below, paper) if term == scenes.ALL else None
        return shown | {"not_found": found} | ({} if instance is None else {"refuted_by": _instance(instance)})
    below, above = (scenes.bracket(programme, paper) for programme in (search.below, search.above))
    return shown | {
        "best_over_stated": [str(found.least), str(found.most)],
        "multipliers": {n: str(m) for n, m in above.multipliers.items()},
        **_instance(below.instance),
    }


def _instance(instance: Any) -> dict[str, Any]:
    """An instance as JSON: the Gram matrix of its vectors, and its function values."""
    rows = [[str(x) for x in row] for row in instance.gram]
    values = {n: str(v) for n, v in instance.values.items()}
    return {"gram": {"vectors": instance.vectors, "rows": rows}, "values": values}
