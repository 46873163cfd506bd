"""Clocks: computed where a person said that they run, and nowhere else."""

from datetime import UTC, date, datetime

import pytest

from forensics.assemble.clocks import clocks
from forensics.deadlines.due import due
from forensics.deadlines.rules import parsed, rules
from forensics.errors import IncidentError
from forensics.incident import parse

AWARE = datetime(2026, 9, 9, 14, tzinfo=UTC)
LAST = "2026-09-12T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("start", "duration", "end"),
    [
        (AWARE, "PT24H", datetime(2026, 9, 10, 14, tzinfo=UTC)),
        (AWARE, "PT72H", datetime(2026, 9, 12, 14, tzinfo=UTC)),  # a Saturday: hours run on
        (datetime(2026, 9, 12, tzinfo=UTC), "P1M", datetime(2026, 10, 12, tzinfo=UTC)),
        (datetime(2026, 1, 31, tzinfo=UTC), "P1M", datetime(2026, 2, 28, tzinfo=UTC)),
        (datetime(2026, 12, 31, tzinfo=UTC), "P2M", datetime(2027, 2, 28, tzinfo=UTC)),
        (AWARE, "P30D", datetime(2026, 10, 9, 14, tzinfo=UTC)),
        (AWARE, "P60D", datetime(2026, 11, 8, 14, tzinfo=UTC)),
        (datetime(2026, 9, 11, tzinfo=UTC), "P4BD", datetime(2026, 9, 17, tzinfo=UTC)),
        (datetime(2026, 9, 12, tzinfo=UTC), "P5BD", datetime(2026, 9, 18, tzinfo=UTC)),
        (datetime(2026, 9, 13, tzinfo=UTC), "P0BD", datetime(2026, 9, 13, tzinfo=UTC)),
        (datetime(2026, 9, 9, tzinfo=UTC), "P13BD", datetime(2026, 9, 28, tzinfo=UTC)),
    ],
)
def test_due(start, duration, end):
    assert due(start, duration) == end


@pytest.mark.parametrize("duration", ["72h", "P1Y", "", "PT72H1M"])
def test_no_duration(duration):
    with pytest.raises(ValueError, match="is no duration"):
        due(AWARE, duration)


def found(*stated, as_of=LAST, made=None):
    case = {"as_of": made} if made else {}
    return clocks(parse({"clock": list(stated), "case": case}), as_of)


def by_rule(made):
    return {clock.rule: clock for clock in made.clocks}


def test_without_a_decision_nothing_is_computed():
    made = found()
    assert {clock.applies for clock in made.clocks} == {"assess"}
    assert {clock.due_at for clock in made.clocks} == {None}
    assert len(made.clocks) == len(rules().rules)
    assert made.rules_sha256 == rules().sha256


def test_only_what_a_person_said_applies_runs():
    started = {"started": AWARE, "reason": "counsel"}
    made = by_rule(
        found(
            {"rule": "gdpr-33-1", "applies": "yes", **started},
            {"rule": "nis2-23-early", "applies": "no", **started},
            {"rule": "us-ca-1798-82-a", "applies": "assess", **started},
            {"rule": "gdpr-33-2", "applies": "yes", **started},
        )
    )
    due_at = {name: made[name].due_at for name in made if made[name].due_at}
    assert due_at == {"gdpr-33-1": "2026-09-12T14:00:00.000000Z"}
    assert "no number of hours or days" in made["gdpr-33-2"].note


@pytest.mark.parametrize(
    ("done", "note"),
    [
        (datetime(2026, 9, 12, 14, tzinfo=UTC), "done in time"),
        (datetime(2026, 9, 12, 15, tzinfo=UTC), "done late: state the reasons"),
        (None, "not stated as done"),
        (datetime(2026, 9, 9, 13, tzinfo=UTC), "stated as done before it began"),
    ],
)
def test_late_is_said(done, note):
    stated = {"rule": "gdpr-33-1", "applies": "yes", "started": AWARE}
    made = found(stated | ({"done": done} if done else {}))
    assert by_rule(made)["gdpr-33-1"].note.startswith(note)


def test_what_is_not_done_after_its_end_is_overdue():
    stated = {"rule": "gdpr-33-1", "applies": "yes", "started": AWARE}
    late = by_rule(found(stated, made=date(2026, 9, 13)))["gdpr-33-1"]
    assert late.note == "overdue: it ended before 2026-09-13 and is not stated as done"
    assert by_rule(found(stated, made=date(2026, 9, 12)))["gdpr-33-1"].note == "not stated as done"
    undated = found({"rule": "gdpr-33-1", "applies": "yes", "done": AWARE})
    assert "stated as done; when it began is not" in by_rule(undated)["gdpr-33-1"].note


def test_each_start_of_a_rule_is_a_clock_of_its_own():
    stated = {"rule": "gdpr-33-1", "applies": "yes", "started": AWARE}
    again = stated | {"started": datetime(2026, 9, 10, 14, tzinfo=UTC)}
    made = [c.due_at[8:10] for c in found(stated, again).clocks if c.due_at]
    assert made == ["12", "13"]
    for other in (stated, again | {"applies": "no"}):
        with pytest.raises(IncidentError, match="gdpr-33-1"):
            parse({"clock": [stated, other]})


@pytest.mark.parametrize("form", ["PT{}H", "P{}D", "P{}M", "P{}BD"])
def test_an_end_that_no_calendar_has_is_refused(form):
    with pytest.raises(IncidentError, match="class A"):
        found(
            {"rule": "class A", "applies": "yes", "started": AWARE, "duration": form.format(9**12)}
        )


def test_a_clause_of_a_contract_has_a_duration_of_its_own():
    stated = {"rule": "class A", "applies": "yes", "started": AWARE, "duration": "PT36H"}
    first = found(stated).clocks[0]
    assert (first.rule, first.status, first.due_at) == (
        "class A",
        "stated",
        "2026-09-11T02:00:00.000000Z",
    )


def test_old_rules_and_open_ends_are_warned_about():
    late = found(as_of="2027-06-01T00:00:00.000000Z").warnings
    assert f"{len(rules().rules)} rules were looked up more than 90 days" in late[0]
    assert found().warnings == []
    day = AWARE.date()
    unsure = found({"rule": "us-circia", "applies": "yes", "started": AWARE}, made=day).warnings
    assert unsure == ["applied though not in force or not confirmed: us-circia"]
    nameless = found({"rule": "gdpr-33", "applies": "yes"}, made=day).warnings
    assert "do it now" not in found({"rule": "x", "applies": "yes"}, made=day).clocks[0].note
    assert nameless == ["1 clock name no rule of the file and no duration"]


def test_the_age_of_rules_is_told_against_the_day_of_the_revision():
    late, early = date(2027, 6, 1), date(2026, 11, 29)
    assert "before this revision, of 2027-06-01" in found(made=late).warnings[0]
    assert found(made=early, as_of="2027-06-01T00:00:00.000000Z").warnings == []
    (said,) = found({"rule": "gdpr-33-1", "applies": "yes", "started": AWARE}).warnings
    assert "the day of this revision is not stated" in said


def test_the_rules_are_dated_and_none_claims_more_than_it_knows():
    for rule in rules().rules:
        assert rule.as_of <= date(2026, 11, 29)
        assert rule.source
        assert rule.duration is None or due(AWARE, rule.duration) > AWARE
        told = ("id", "jurisdiction", "role", "duty", "trigger", "calendar", "status", "source")
        assert all(getattr(rule, name) for name in told)
        words = rule.calendar in ("without undue delay", "immediately")
        assert words == (rule.duration is None)


@pytest.mark.parametrize(
    "text",
    ["rules: 1", "as_of: 2026-01-01\nrules: [{id: x}]", "{", "as_of: 2026-01-01\nrules: []\nx: 1"],
)
def test_another_file_is_refused(text):
    with pytest.raises(ValueError, match=r"deadlines\.yaml"):
        parsed(text.encode())


@pytest.mark.parametrize(
    "stated",
    [
        {"rule": "x", "applies": "maybe"},
        {"rule": "x", "applies": "yes", "duration": "24h"},
        {"rule": "x", "applies": "yes", "started": datetime(2026, 9, 9)},  # noqa: DTZ001 -- that
    ],
)
def test_a_decision_that_cannot_be_right_is_an_error(stated):
    with pytest.raises(IncidentError):
        parse({"clock": [stated]})
