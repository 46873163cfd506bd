"""Per file: format, node, side, times, about how many records, and what its records tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import polars as pl

from forensics.checking.document import FileFound, FormatFound
from forensics.checking.look import Look
from forensics.checking.survey import Survey
from forensics.exposure import stamp
from forensics.observations import ensure
from forensics.schema import OBSERVATION_COLUMNS
from forensics.shown import shown, without_keys
from forensics.sources.reading import ARCHIVE
from forensics.sources.registry import FORMATS
from forensics.verdicts import DECISIVE

Span = tuple[int, int]

_DOUBTFUL = 0.05
"""Share of unreadable records from which the format may be another."""
_LIMITS = ("pool_tokens", "input_limit_tokens")
_VALUES = tuple(
    column.name
    for column in OBSERVATION_COLUMNS
    if column.name in (*DECISIVE, "transfer_id", "prefill_tokens", "reserved_tokens")
)
"""Columns whose filling is told: what verdicts rest on, and what joins the two sides."""


_READ = (
    *("hop", "prefill_node", "decode_node", "received_at"),
    *("prefill_prompt_tokens", "decode_prompt_tokens", "prompt_tokens"),
)


@dataclass(frozen=True)
class Stock:
    """The files with what they hold; the rest is by file number.

    ``spans`` are first and last moment of all its lines, ``asked`` of its request records,
    microseconds of UTC; ``offered`` the sides whose own count of the prompt a file has.
    """

    files: list[FileFound]
    formats: list[FormatFound]
    spans: dict[int, Span]
    asked: dict[int, Span]
    offered: dict[int, frozenset[str]]


def take_stock(survey: Survey) -> Stock:
    """Return what each file is and holds."""
    told = defaultdict(_Told, _told(survey.records))
    spans = {
        seen.source.number: span
        for seen in survey.looks
        if (span := _span(seen, told[seen.source.number], survey)) is not None
    }
    files = [
        _file(seen, told[seen.source.number], spans.get(seen.source.number), survey)
        for seen in survey.looks
    ]
    offered = {seen.source.number: told[seen.source.number].offered for seen in survey.looks}
    used = {seen.facts.format for seen in survey.looks}
    formats = [
        FormatFound(f.name, f.title, f.shows, f.never_shows) for f in FORMATS if f.name in used
    ]
    asked = {
        number: (told[number].moments[0], told[number].moments[-1])
        for number in spans
        if told[number].moments
    }
    return Stock(files, formats, spans, asked, offered)


@dataclass(frozen=True)
class _Told:
    """What the request records of one file tell together."""

    requests: int = 0
    nodes: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()
    moments: tuple[int, ...] = ()
    filled: dict[str, float] = field(default_factory=dict)
    offered: frozenset[str] = frozenset()


COUNTED = {
    "prefill": pl.col("prefill_prompt_tokens"),
    "decode": pl.coalesce("decode_prompt_tokens", "prompt_tokens"),
}
"""The count of the prompt that each side of a hand-off gives."""


def node_of() -> pl.Expr:
    """The server that wrote a request record, or the hop where none is named."""
    named = (
        pl.when(pl.col("hop") == "prefill")
        .then("prefill_node")
        .when(pl.col("hop") == "gateway")
        .then(None)
        .otherwise(pl.coalesce("decode_node", "prefill_node"))
    )
    server = named.str.replace(r"/[^/]*$", "")
    return pl.coalesce(server, pl.col("hop"), pl.lit("node not named"))


def _told(records: pl.DataFrame) -> dict[int, _Told]:
    """Return, by file number, sides, times and filled columns of its request records."""
    if not records.height:
        return {}
    rows = ensure(records, _READ)
    values = [name for name in _VALUES if name in records.columns]
    offers = [
        ((pl.col("hop") == side) & count.is_not_null()).any().alias(f"offers {side}")
        for side, count in COUNTED.items()
    ]
    found = rows.group_by("file").agg(
        pl.len().alias("requests"),
        node_of().unique().sort().alias("nodes"),
        pl.col("hop").drop_nulls().unique().sort().alias("sides"),
        pl.col("received_at").min().alias("first"),
        pl.col("received_at").max().alias("last"),
        *(pl.col(name).is_not_null().mean().alias(name) for name in values),
        *offers,
    )
    return {
        row["file"]: _Told(
            row["requests"],
            tuple(row["nodes"]),
            tuple(row["sides"]),
            tuple(at for at in (row["first"], row["last"]) if at is not None),
            {name: row[name] for name in values if row[name]},
            frozenset(side for side in COUNTED if row[f"offers {side}"]),
        )
        for row in found.iter_rows(named=True)
    }


def _span(seen: Look, told: _Told, survey: Survey) -> Span | None:
    """Return first and last moment of a file, by its records and by the stamps of its lines."""
    ahead = survey.ahead[seen.source.number]
    moments = [*told.moments, *(at - ahead for at in (seen.first, seen.last) if at is not None)]
    return (min(moments), max(moments)) if moments else None


def _file(seen: Look, told: _Told, span: Span | None, survey: Survey) -> FileFound:
    facts = seen.facts
    bad = len(facts.unread) / facts.read if facts.read and facts.format else 0.0
    return FileFound(
        name=without_keys(seen.source.name),
        label=shown(seen.source.label or seen.source.name),
        size=seen.size,
        bytes_read=seen.read,
        how=seen.how,
        format=facts.format,
        told_by=facts.detected_by,
        sure=_sure(seen, bad),
        node=facts.node,
        nodes=list(told.nodes) or [facts.node],
        sides=_sides(seen, told),
        first_at=stamp(span[0]) if span else None,
        last_at=stamp(span[1]) if span else None,
        times_from=_times_from(seen, span, survey),
        records=_records(seen),
        exact=seen.whole,
        requests=told.requests,
        unreadable_share=round(bad, 4),
        filled={name: round(share, 3) for name, share in sorted(told.filled.items())},
        capacity=has_limit(seen),
        ignored=dict(sorted(Counter(facts.ignored).items())),
        hazards=list(seen.hazards),
        problem=_problem(seen),
        shape=facts.shape or None,
    )


def _sure(seen: Look, bad: float) -> str:
    """Say how sure the format is, in one word."""
    facts = seen.facts
    if facts.format is None:
        return "unknown"
    if facts.format == ARCHIVE:
        return "sure"
    if facts.detected_by == "stated":
        return "stated"
    read = facts.kept + sum(facts.ignored.values())
    return "sure" if read and bad <= _DOUBTFUL else "doubtful"


def _sides(seen: Look, told: _Told) -> list[str]:
    sides = set(told.sides)
    for name, frames in (("role", seen.reading.capacity), ("hop", seen.reading.activity)):
        for frame in frames:
            if name in frame.columns:
                sides |= set(frame[name].drop_nulls())
    return sorted(side for side in sides if side in ("gateway", "prefill", "decode", "unified"))


def kinds(seen: Look) -> set[str]:
    """Return what else a file holds beside request records, in the words of its reader."""
    found = {kind for kind, number in seen.facts.ignored.items() if number and kind not in _NOTHING}
    if seen.reading.activity:
        found.add("batch line")
    if has_limit(seen):
        found.add("pool or limit")
    return found


_NOTHING = ("blank line", "other line")


def has_limit(seen: Look) -> bool:
    """Say whether a file tells a pool or a limit."""
    return any(
        frame[name].drop_nulls().len() > 0
        for frame in seen.reading.capacity
        for name in _LIMITS
        if name in frame.columns
    )


def _records(seen: Look) -> int | None:
    """Return how many lines or rows a file holds, to two digits where that is an estimate."""
    if seen.facts.format is None or not seen.factor:
        return None
    if seen.whole:
        return seen.facts.read
    return rounded(seen.facts.read * seen.factor)


def rounded(value: float) -> int:
    """Return an estimate to two digits: more would look like a count."""
    return int(float(f"{value:.2g}"))


def _times_from(seen: Look, span: Span | None, survey: Survey) -> str:
    if span is None:
        return "none"
    if seen.naive and seen.source.number not in survey.zoned:
        return "as written, zone unknown"
    return "UTC"


def _problem(seen: Look) -> str | None:
    """Say why nothing of a file can be used, or not all of it."""
    facts = seen.facts
    if seen.how in ("nothing", "document"):
        return next(iter(facts.notes), "not read")
    if facts.format is None:
        return facts.unread[0].reason if facts.unread else "not read"
    damage = [unread.reason for unread in facts.unread if unread.line is None]
    return next(iter(damage), seen.damage)
