"""A check of some logs: sampled, taken stock of, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

from forensics._version import __version__
from forensics.checking import hazards
from forensics.checking.advice import advise
from forensics.checking.budget import Budget
from forensics.checking.document import SCHEMA_VERSION, Check, Sampled
from forensics.checking.gaps import gaps
from forensics.checking.inventory import Stock, take_stock
from forensics.checking.judged import Judged, judged
from forensics.checking.presence import presence
from forensics.checking.survey import Survey, survey
from forensics.exposure import stamp
from forensics.incident import Incident, load
from forensics.schema import TIERS
from forensics.sources.files import expand, settings_of
from forensics.sources.reading import ARCHIVE
from forensics.sources.registry import by_name
from forensics.sources.settings import adopted
from forensics.wording import count

_SHOWN = 5


def check_logs(
    *paths: str | os.PathLike[str],
    incident: Incident | str | Path | None = None,
    format: str | None = None,  # noqa: A002 -- the name of the option everywhere else
    budget: Budget | None = None,
    told: Callable[[int], object] = lambda _: None,
    today: date | None = None,
) -> Check:
    """Return what some logs hold and lack, from samples of them.

    Args:
        paths: files, folders, globs, or ``-`` for standard input.
        incident: the incident file, or None to ask about everything.
        format: name of a format; None detects it for each file.
        budget: bytes that may be read.
        told: called with the number of bytes just read.
        today: from which the age of a missing day is counted.

    Raises:
        NoInputError: nothing was given or found.
        IncidentError: the incident file cannot be right.
        UsageError: there is no such format, or an evidence set was read by other settings.
    """
    asked = load(incident)
    own = Path(incident) if isinstance(incident, str | Path) else None
    if format is not None:
        by_name(format, asked)
    allowed = budget or Budget()
    inputs = expand(*paths, leave_out=own)
    asked = adopted(asked, settings_of(inputs))
    surveyed = survey(inputs, asked, allowed, format, told)
    stock = take_stock(surveyed)
    days = presence(surveyed, stock)
    found = judged(surveyed, stock)
    missing = gaps(surveyed, stock, days, found)
    return Check(
        tool="forensics",
        version=__version__,
        schema_version=SCHEMA_VERSION,
        budget=allowed.total,
        bytes_read=surveyed.read,
        bytes_in_all=sum(s.size for s in surveyed.looks if s.source.archive is None),
        whole=surveyed.whole,
        complete=not missing,
        recognised=any(entry.format not in (None, ARCHIVE) for entry in stock.files),
        files=stock.files,
        formats=stock.formats,
        days=days,
        gaps=missing,
        advice=advise(surveyed, found, missing, days, today or datetime.now(UTC).date()),
        sample=_sampled(surveyed, found),
        notes=_notes(surveyed, stock, found),
    )


def _sampled(surveyed: Survey, found: Judged) -> Sampled:
    tiers = found.requests["tier"].value_counts()
    counts: dict[str, int] = dict(tiers.select("tier", "count").iter_rows())
    return Sampled(
        requests=found.requests.height,
        tiers={tier: counts[tier] for tier in TIERS if tier in counts},
        undecided=found.rows.height + found.apart.height,
        apart=found.apart.height,
        estimated=found.estimated,
        nameless=found.requests["tenant_id"].null_count(),
        exact=surveyed.whole,
        common_times=[[stamp(a) or "", stamp(b) or ""] for a, b in surveyed.together],
    )


def _notes(surveyed: Survey, stock: Stock, found: Judged) -> list[str]:
    """Return what to know of the figures, and of the files as such."""
    notes = []
    for hazard in hazards.HAZARDS:
        names = [entry.label for entry in stock.files if hazard.name in entry.hazards]
        if names:
            more = ", ..." if len(names) > _SHOWN else ""
            shown = ", ".join(names[:_SHOWN])
            notes.append(f"{count(len(names), 'file')}: {hazard.meaning} ({shown}{more}).")
    if not surveyed.whole:
        notes.append("Counts are estimated from samples; only files read whole are counted.")
    if found.apart.height:
        notes.append(
            f"{count(found.apart.height, 'request')} of the sample could not be paired within it "
            "and count as not_assessable above: the other side's logs are here, and a report "
            "over all of them joins them."
        )
    return notes
