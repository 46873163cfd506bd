"""A check as text: tables for the eye, sentences for what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from forensics.checking.document import Check, FileFound, NodeDay
from forensics.shown import shown
from forensics.wording import count

_MOST_FILES = 60
_MOST_DAYS = 80
_NAMES = 3
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_MOSTLY = 0.95


def text(check: Check) -> str:
    """Return the whole check as lines of text."""
    parts = [_headline(check), _files(check), _days(check), _gaps(check), _advice(check)]
    parts.append("\n".join(map(shown, check.notes)))
    return "\n\n".join(part for part in parts if part) + "\n"


def size(number: float) -> str:
    """Return bytes as ``3.4 MiB``."""
    for unit in _UNITS:
        if number < 1024 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return ""


def _headline(check: Check) -> str:
    how = "all of it" if check.whole else "a sample: counts are estimates"
    read = f"{size(check.bytes_read)} read of {size(check.bytes_in_all)}"
    lines = [f"{count(len(check.files), 'file')}, {read} ({how})."]
    sample = check.sample
    if sample.requests:
        tiers = ", ".join(f"{number:,} {tier}" for tier, number in sample.tiers.items())
        lines.append(f"{count(sample.requests, 'request')} in what was read: {tiers}.")
    return "\n".join(lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows under a head, in columns as wide as they need to be."""
    lines = [list(head), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _files(check: Check) -> str:
    head = ("FILE", "SIZE", "READ", "FORMAT", "NODE", "SIDE", "FROM", "TO", "RECORDS", "UNREAD")
    first = check.files[:_MOST_FILES]
    lines = [table((*head, "HOLDS"), (_file(entry) for entry in first))]
    lines += _more(len(check.files) - len(first), "file")
    return "\n".join(lines)


def _file(entry: FileFound) -> tuple[str, ...]:
    about = "" if entry.exact else "~"
    known = entry.format or "-"
    return (
        entry.label,
        size(entry.size),
        entry.how,
        f"{known}?" if entry.sure == "doubtful" else known,
        _some(entry.nodes) if entry.format else "-",
        "+".join(entry.sides) or "-",
        _minute(entry.first_at),
        _minute(entry.last_at) + (" ?zone" if "unknown" in entry.times_from else ""),
        "-" if entry.records is None else f"{about}{entry.records:,}",
        f"{entry.unreadable_share:.1%}" if entry.unreadable_share else "-",
        _holds(entry),
    )


def _holds(entry: FileFound) -> str:
    if entry.problem is not None and not entry.records:
        return entry.problem if entry.shape is None else f"{entry.problem}: {entry.shape}"
    found = [_requests(entry)] if entry.requests else []
    found += ["capacity"] if entry.capacity else []
    found += [f"{kind}: {number:,}" for kind, number in entry.ignored.items()]
    found += [f"HOLDS {hazard.upper()}" for hazard in entry.hazards]
    return ", ".join(found) or "-"


def _some(names: Sequence[str]) -> str:
    more = f" +{len(names) - _NAMES}" if len(names) > _NAMES else ""
    return ",".join(names[:_NAMES]) + more


def _requests(entry: FileFound) -> str:
    return f"{count(entry.requests, 'request record')}{'' if entry.exact else ' sampled'}"


def _minute(at: str | None) -> str:
    return "-" if at is None else at[:16].replace("T", " ")


def _days(check: Check) -> str:
    records = "RECORDS" if check.whole else "RECORDS READ"
    head = ("NODE", "DAYS", "SIDE", records, "COUNT", "ID", "OUTCOME", "TENANT", "PAGES", "LIMIT")
    rows = list(_runs(check.days))
    if not rows:
        return ""
    first = rows[:_MOST_DAYS]
    lines = [table((*head, "ALSO"), first), *_more(len(rows) - len(first), "row")]
    return "\n".join(lines)


def _more(number: int, noun: str) -> list[str]:
    return [f"... and {count(number, noun)} more: see --json"] if number > 0 else []


def _runs(days: Iterable[NodeDay]) -> Iterator[tuple[str, ...]]:
    """Yield one row for each run of days that look alike."""
    for (node, *cells), same in groupby(days, key=lambda row: (row.node, *_cells(row))):
        run = list(same)
        unseen = sum(not row.seen for row in run)
        span = run[0].day if len(run) == 1 else f"{run[0].day} to {run[-1].day}"
        if unseen:
            span += f" ({len(run) - unseen} of {len(run)} days sampled)"
        sides, *rest = cells
        yield node, span, sides, f"{sum(row.records for row in run):,}", *rest


def _cells(row: NodeDay) -> tuple[str, ...]:
    shares = (row.counts, row.ids, row.outcome, row.tenants, row.pages)
    also = ", ".join(row.lines) or "-"
    return "+".join(row.sides) or "-", *map(_share, shares), row.limit, also


def _share(share: float) -> str:
    """Say whether a value is there: in (nearly) all records, in some, in none."""
    return "-" if not share else "yes" if share >= _MOSTLY else "some"


def _gaps(check: Check) -> str:
    if not check.gaps:
        return "Nothing is missing."
    return "\n".join(["MISSING", *(f"- {shown(gap.sentence)}" for gap in check.gaps)])


def _advice(check: Check) -> str:
    if not check.advice:
        return "No further log would settle more."
    kept: dict[str, str] = {}
    lines = ["NEXT: what is soon gone first, then what settles most; one source of each is enough"]
    for number, item in enumerate(check.advice, 1):
        lines.append(f"{number}. {shown(item.sentence)}")
        for source in item.sources:
            mark = kept.setdefault(source.kept, chr(ord("a") + len(kept)))
            lines.append(f"   - {source.name}: {source.how} [{mark}]")
    lines += ["", "HOW LONG IT IS KEPT, unless set otherwise"]
    lines += [f"[{mark}] {sentence}" for sentence, mark in kept.items()]
    return "\n".join(lines)
