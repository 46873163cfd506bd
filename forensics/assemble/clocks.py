"""Clocks of the document: every rule, and the end of those that a person said apply."""

from __future__ import annotations

from datetime import UTC, date, datetime

from forensics import exposure as doc
from forensics import incident as asked
from forensics.deadlines.due import due
from forensics.deadlines.rules import OLD_DAYS, Rule, Rules, rules
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
    known = rules()
    decided = {clock.rule: clock for clock in incident.clock}
    named = {rule.id for rule in known.rules}
    found = [_of_rule(rule, decided.get(rule.id)) for rule in known.rules]
    found += [_of_clause(clock) for clock in incident.clock if clock.rule not in named]
    order = ("yes", "assess", "no")
    found.sort(key=lambda clock: (order.index(clock.applies), clock.due_at or "~"))
    warnings = list(_warnings(known, decided, named, incident.case.as_of, as_of))
    return doc.Clocks(known.sha256, known.as_of.isoformat(), warnings, found)


def _of_rule(rule: Rule, decided: asked.Clock | None) -> doc.Clock:
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
        note=_note(decided, duration, applies),
    )


def _of_clause(clock: asked.Clock) -> doc.Clock:
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
        note=_note(clock, clock.duration, clock.applies),
    )


def _due(decided: asked.Clock | None, duration: str | None) -> str | None:
    if decided is None or decided.applies != "yes" or decided.started is None or duration is None:
        return None
    return _stamp(due(decided.started, duration))


def _note(decided: asked.Clock | None, duration: str | None, applies: str) -> str:
    if decided is None:
        return "nobody has decided yet whether this applies"
    if applies != "yes":
        return "does not run, as decided" if applies == "no" else "to be assessed"
    if duration is None:
        return "no number of hours or days: do it now, and keep the reason for each delay"
    if decided.started is None:
        return "applies; when it began is not stated, so no end is computed"
    if decided.done is None:
        return "not stated as done"
    late = decided.done.astimezone(UTC) > due(decided.started, duration)
    return "done late: state the reasons" if late else "done in time"


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(micros(moment))


def _day_of_use(
    known: Rules, decided: dict[str, asked.Clock], stated: date | None, as_of: str | None
) -> tuple[date, str]:
    """Return the day that the age of rules is told against, and what it is.

    Not today's: the same records have to give the same document on any day.
    """
    if stated is not None:
        return stated, f"this revision, of {stated}"
    day = date.fromisoformat(as_of[:10]) if as_of else known.as_of
    moments = [c.started for c in decided.values()] + [c.done for c in decided.values()]
    last = max([day, *(m.astimezone(UTC).date() for m in moments if m is not None)])
    return last, "the last record or the last step stated here"


def _warnings(
    known: Rules,
    decided: dict[str, asked.Clock],
    named: set[str],
    stated: date | None,
    as_of: str | None,
) -> list[str]:
    found = []
    day, which = _day_of_use(known, decided, stated, as_of)
    old = known.older_than(day)
    if old:
        found.append(
            f"{count(len(old), 'rule')} were looked up more than {OLD_DAYS} days before {which}: "
            "look them up again"
        )
    if stated is None and decided:
        found.append(
            f"the day of this revision is not stated, so the age of the rules is told against "
            f"{which} alone; [case] as_of states it"
        )
    used = [r for r in known.rules if r.id in decided and decided[r.id].applies == "yes"]
    unsure = [rule.id for rule in used if rule.status != "in force"]
    if unsure:
        found.append(f"applied though not in force or not confirmed: {', '.join(unsure)}")
    clauses = [name for name, clock in decided.items() if name not in named and not clock.duration]
    if clauses:
        found.append(f"{count(len(clauses), 'clock')} name no rule of the file and no duration")
    return found
