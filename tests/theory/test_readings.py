"""The standard of charity: what is read into statements, and the verdicts that come of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedtheory.theory import catalogue
from fedtheory.theory.readings import RULES, additions, judge
from fedtheory.theory.statement import Evidence, Status, Verdict

THM1 = catalogue.find("fedbat.thm1")
READ = additions(THM1)


def evidence(verdicts: dict[frozenset[str], Status], otherwise: Status) -> Evidence:
    """Evidence whose verdict depends on which of the additions the statement lists."""

    def check(statement, full):
        listed = frozenset(READ) & frozenset(statement.assumes)
        status = next((status for needed, status in verdicts.items() if needed <= listed), otherwise)
        return Verdict(status, f"{status} with {len(listed)}")

    return Evidence(THM1.id, "search", check)


def test_every_reading_follows_a_rule_and_adds_an_assumption_of_its_paper() -> None:
    for paper in catalogue.papers().values():
        for reading in paper.readings:
            assert reading.rule in RULES and catalogue.find(reading.adds).gives
            assert any(reading.into(s) for s in paper.statements.values()), reading
            assert not any(reading.into(s) for s in paper.statements.values() if reading.adds in s.assumes)


def test_the_verdict_on_the_statement_as_listed_stands_if_nothing_speaks_against_it() -> None:
    for status in (Status.PROVED, Status.TESTED, Status.OPEN, Status.VACUOUS):
        found = judge(evidence({}, status), THM1)
        assert (found.status, found.added, found.without) == (status, (), "")


@pytest.mark.parametrize("listed", [Status.REFUTED, Status.BROKEN])
def test_only_what_is_needed_is_added(listed: Status) -> None:
    needed = frozenset(READ[1:3])
    for status, judged in ((Status.PROVED, Status.CONDITIONAL), (Status.TESTED, Status.TESTED)):
        found = judge(evidence({needed: status}, listed), THM1)
        assert (found.status, set(found.added)) == (judged, needed)
        assert found.without == (f"{listed} with 0" if listed is Status.REFUTED else "")


def test_a_statement_that_fails_with_all_additions_is_accused_by_what_fails_then() -> None:
    found = judge(evidence({frozenset(READ): Status.REFUTED}, Status.REFUTED), THM1)
    assert (found.status, found.says, found.added) == (Status.REFUTED, f"refuted with {len(READ)}", ())


def test_equal_units_need_no_charity() -> None:
    own = replace(evidence({frozenset(READ): Status.PROVED}, Status.REFUTED), kind="units")
    assert judge(own, THM1).status is Status.REFUTED
