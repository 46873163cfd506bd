"""Clocks of the document: every rule, and the end of those that a person said apply."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from forensics import exposure as doc
from forensics import incident as asked
from forensics.deadlines.due import due
from forensics.deadlines.rules import OLD_DAYS, Rule, Rules, rules
from forensics.errors import IncidentError
from forensics.exposure import stamp
from forensics.incident import Incident, micros
from forensics.wording import count


def clocks(incident: Incident, as_of: str | None) -> doc.Clocks:
    """Return all clocks, decided ones first, and the warnings.

    Args:
        incident: with what a person decided.
        as_of: time of the last record; where the incident states no day of its revision, the
            age of a rule is told against it.
    """
    known, decided = rules(), incident.clock
    named = {rule.id for rule in known.rules}
    day, which = _day_of_use(known, decided, incident.case.as_of, as_of)
    found = [
        _of_rule(rule, clock, day) for rule in known.rules for clock in _decided(rule, decided)
    ]
    found += [_of_clause(clock, day) for clock in decided if clock.rule not in named]
    order = ("yes", "assess", "no")
    found.sort(key=lambda clock: (order.index(clock.applies), clock.due_at or "~"))
    warnings = _old(known, day, which)
    warnings += _warnings(known, decided, named, None if incident.case.as_of else which)
    return doc.Clocks(known.sha256, known.as_of.isoformat(), warnings, found)


def _decided(rule: Rule, clocks: tuple[asked.Clock, ...]) -> list[asked.Clock | None]:
    """Return each start of a rule that a person stated; one without a decision has one row."""
    return [clock for clock in clocks if clock.rule == rule.id] or [None]


def _of_rule(rule: Rule, decided: asked.Clock | None, day: date) -> doc.Clock:
    applies = decided.applies if decided is not None else "assess"
    duration = (decided.duration if decided is not None else None) or rule.duration
    return doc.Clock(
        rule=rule.id,
        jurisdiction=rule.jurisdiction,
        role=rule.role,
        duty=rule.duty,
        trigger=rule.trigger,
        duration=duration or "none stated",
        calendar=rule.calendar,
        status=rule.status,
        source=rule.source,
        as_of=rule.as_of.isoformat(),
        applies=applies,
        reason=(decided.reason or None) if decided is not None else None,
        started_at=_stamp(decided.started if decided is not None else None),
        due_at=_due(decided, duration),
        done_at=_stamp(decided.done if decided is not None else None),
        note=_note(decided, duration, day),
    )


def _of_clause(clock: asked.Clock, day: date) -> doc.Clock:
    """Return a clause of a contract, which no rule of the file is about."""
    return doc.Clock(
        rule=clock.rule,
        jurisdiction="contract",
        role="as agreed",
        duty="as agreed",
        trigger="as agreed",
        duration=clock.duration or "none stated",
        calendar="hours, days or weekdays, as the duration says",
        status="stated",
        source="incident file",
        as_of="",
        applies=clock.applies,
        reason=clock.reason or None,
        started_at=_stamp(clock.started),
        due_at=_due(clock, clock.duration),
        done_at=_stamp(clock.done),
        note=_note(clock, clock.duration, day) if clock.duration else _NO_RULE,
    )


_NO_RULE = "no rule of the file has this name, and no duration is stated: no end is computed"


def _due(decided: asked.Clock | None, duration: str | None) -> str | None:
    if decided is None or decided.applies != "yes" or decided.started is None or duration is None:
        return None
    return _stamp(_end(decided, decided.started, duration))


def _end(clock: asked.Clock, started: datetime, duration: str) -> datetime:
    try:
        return due(started, duration)
    except ValueError as error:
        raise IncidentError(f"clock {clock.rule!r}: {error}") from None


def _note(decided: asked.Clock | None, duration: str | None, day: date) -> str:
    if decided is None:
        return "nobody has decided yet whether this applies"
    if decided.applies != "yes":
        return "does not run, as decided" if decided.applies == "no" else "to be assessed"
    begun, done = decided.started, decided.done
    if begun is not None and done is not None and done < begun:
        return "stated as done before it began: one of the two times is wrong"
    if duration is None:
        early = "no number of hours or days: "
        return early + (
            "stated as done" if done else "do it now, and keep the reason for each delay"
        )
    if begun is None:
        ended = "stated as done; " if done else ""
        return f"applies; {ended}when it began is not stated, so no end is computed"
    return _in_time(_end(decided, begun, duration), done, day)


def _in_time(end: datetime, done: datetime | None, day: date) -> str:
    if done is not None:
        return "done late: state the reasons" if done > end else "done in time"
    if end.date() < day:
        return f"overdue: it ended before {day} and is not stated as done"
    return "not stated as done"


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(micros(moment))


def _day_of_use(
    known: Rules, decided: tuple[asked.Clock, ...], stated: date | None, as_of: str | None
) -> tuple[date, str]:
    """Return the day that the age of rules and ends are told against, and what it is.

    Not today's: the same records have to give the same document on any day.
    """
    if stated is not None:
        return stated, f"this revision, of {stated}"
    day = date.fromisoformat(as_of[:10]) if as_of else known.as_of
    moments = [moment for clock in decided for moment in (clock.started, clock.done)]
    last = max([day, *(m.astimezone(UTC).date() for m in moments if m is not None)])
    return last, "the last record or the last step stated here"


def _old(known: Rules, day: date, which: str) -> list[str]:
    old = known.older_than(day)
    if not old:
        return []
    rows = f"{count(len(old), 'rule')} were looked up more than {OLD_DAYS} days before {which}"
    return [f"{rows}: look them up again"]


def _warnings(
    known: Rules, decided: tuple[asked.Clock, ...], named: set[str], assumed: str | None
) -> Iterator[str]:
    """Yield the warnings of what was decided; ``assumed`` is the day that stands for a stated."""
    if assumed is not None and decided:
        yield (
            f"the day of this revision is not stated, so the age of the rules is told against "
            f"{assumed} alone; [case] as_of states it"
        )
    used = {clock.rule for clock in decided if clock.applies == "yes"}
    unsure = [rule.id for rule in known.rules if rule.id in used and rule.status != "in force"]
    if unsure:
        yield f"applied though not in force or not confirmed: {', '.join(unsure)}"
    clauses = [clock for clock in decided if clock.rule not in named and not clock.duration]
    if clauses:
        yield f"{count(len(clauses), 'clock')} name no rule of the file and no duration"
