"""What a verdict needs and the files do not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import polars as pl

from forensics.believed import JOINED
from forensics.capacity import server_of
from forensics.checking.conflicts import conflicts
from forensics.checking.document import Day, Gap, NodeDay
from forensics.checking.inventory import Stock
from forensics.checking.judged import Judged
from forensics.checking.presence import DAY, day_of, days_between
from forensics.checking.survey import Survey
from forensics.exposure import stamp
from forensics.roles import NAMED_PREFILL
from forensics.schema import ENGINE_HOP
from forensics.shown import shown
from forensics.sources.strangers import ASKED
from forensics.sources.vllm.year import NO_YEAR
from forensics.wording import count

_BUSY = 20
"""Records a day from which a day without any is a gap and no chance."""
_SHOWN = 5
_HOUR = 3_600_000_000
_LOST = 0.05
"""Share of hand-offs without a partner from which a node's logs are thought to be missing."""


def gaps(survey: Survey, stock: Stock, days: list[NodeDay], found: Judged) -> list[Gap]:
    """Return everything that is missing, in the order in which it weighs."""
    every = (
        _requests(survey),
        _sides(days, found),
        _unpaired(found),
        _not_logged(stock, days),
        _limits(survey, days),
        _untold_roles(survey),
        conflicts(survey),
        _tenants(found),
        _zones(survey),
        _years(survey),
        _window(survey, stock),
        _missing_days(survey, stock, days),
        _not_read(stock),
        _unreadable(stock),
        _asked(survey),
        _sampling(survey),
    )
    return [gap for some in every for gap in some]


def named(names: Iterable[str]) -> str:
    """Return some names in a sentence, the rest as a number."""
    ordered = sorted(set(names))
    more = len(ordered) - _SHOWN
    return ", ".join(ordered[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _requests(survey: Survey) -> Iterator[Gap]:
    if not survey.analysis.requests.height:
        yield Gap("no_requests", "No record of a request is in what was read.")


def _sides(days: list[NodeDay], found: Judged) -> Iterator[Gap]:
    """Days on which one side counted prompts and the other did not."""
    for lacking, there in (("prefill", "decode"), ("decode", "prefill")):
        here = {row.day for row in days if there in row.sides and row.counts}
        if not here and found.requests.height:
            here = {row.day for row in days if row.counts and not _engine(row)}
        has = {row.day for row in days if lacking in row.sides and row.counts}
        none = sorted(here - has)
        if none:
            where = f"on {_span(none)} ({count(len(none), 'day')})" if has else "in any file"
            sentence = (
                f"{lacking.capitalize()} side missing: no {lacking} node's record of a request "
                f"with the prompt's token count {where}."
            )
            yield Gap(f"no_{lacking}_side", sentence, [], none[0], none[-1])


def _engine(row: NodeDay) -> bool:
    return bool({"prefill", "decode"} & set(row.sides))


def _span(days: list[Day]) -> str:
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _unpaired(found: Judged) -> Iterator[Gap]:
    """Hand-offs of which one side's logs of that day are there and do not have the record."""
    if found.lost is not None and found.lost > _LOST:
        sentence = (
            f"About {found.lost:.0%} of the hand-offs that decode logged in times read of every "
            "file have no count by prefill: a prefill node's logs may be missing."
        )
        yield Gap("partner_missing", sentence)
    yield from _bare(found)
    names = ("lost_side", "told_by", "tier")
    lost = pl.concat([found.rows.select(names), found.by_length.select(names)])
    for side, told_by, what in _LOST_FROM:
        rows = lost.filter(pl.col("lost_side") == side)
        rows = rows if told_by is None else rows.filter(pl.col("told_by") == told_by)
        if rows.height:
            cleared = int((rows["tier"] == "ruled_out").sum())
            part = "all" if cleared == rows.height else f"{cleared:,}"
            rest = f"; {part} of them ruled out by their length alone" if cleared else ""
            sentence = (
                f"{count(rows.height, 'request')} {what}, though logs of the same day have such "
                f"records: a node's logs may be missing, or a part of them{rest}."
            )
            yield Gap(f"unpaired_{side}", sentence)


def _bare(found: Judged) -> Iterator[Gap]:
    """Requests of which a side's record is there and counts nothing, as others of its do."""
    bare = found.rows.group_by("bare_side").len()
    for side, what in _BARE.items():
        if number := int(bare.filter(pl.col("bare_side") == side)["len"].sum()):
            yield Gap(f"uncounted_{side}", f"{count(number, 'request')} {what}.")


_BARE = {
    "prefill": "whose record of prefill counts neither tokens of the prompt nor pages",
    "decode": "whose record of decode does not count the prompt's tokens",
    "engine": "of which no engine's record counts the prompt's tokens",
}
_LOST_FROM = (
    ("prefill", None, "of decode without a record of prefill"),
    ("decode", None, "of prefill without a record of decode"),
    ("engine", "gateway", "of the gateway without a record of either engine"),
    ("engine", JOINED, "of plain records without a record of either engine"),
    (
        "engine",
        ENGINE_HOP,
        "of which an engine's log holds a rejection or the like and no side's token count",
    ),
)
"""The side that is not there, whose log names the request, and both in words."""


def _not_logged(stock: Stock, days: list[NodeDay]) -> Iterator[Gap]:
    """Nodes that print batches or accesses but no record of a request with its tokens."""
    counted = {row.node for row in days if row.counts}
    silent = {row.node for row in days if row.lines and not row.counts} - counted
    engines = {entry.node: entry.format for entry in stock.files}
    for form in sorted({engines.get(node) or "" for node in silent}):
        nodes = sorted(node for node in silent if (engines.get(node) or "") == form)
        hint = " (--enable-request-time-stats-logging was off)" if form == "sglang" else ""
        sentence = f"{named(nodes)}: no record of a request with its token count{hint}."
        yield Gap("requests_not_logged", sentence, nodes)


def _limits(survey: Survey, days: list[NodeDay]) -> Iterator[Gap]:
    if survey.incident.trigger.threshold_tokens is not None:
        return
    epochs = survey.analysis.capacity.epochs
    prefill = epochs.filter(pl.col("role").is_null() | (pl.col("role") != "decode"))
    nodes = sorted({row.node for row in days if "prefill" in row.sides and row.limit == "unknown"})
    if nodes:
        where = "" if survey.whole else " in what was read"
        yield Gap("no_limit", f"{named(nodes)}: no pool and no limit is told{where}.", nodes)
    elif not prefill["limit"].drop_nulls().len() and survey.analysis.requests.height:
        sentence = "No pool and no limit of any prefill node is known."
        yield Gap("no_limit", sentence)


def _untold_roles(survey: Survey) -> Iterator[Gap]:
    """Yield the servers with a pool of which nothing tells the side: that pool clears nobody."""
    epochs = survey.analysis.capacity.epochs
    named_so = pl.col("node").str.contains(NAMED_PREFILL)
    untold = (
        epochs.filter(pl.col("limit").is_not_null())
        .group_by("node")
        .agg((pl.col("role").is_null() & ~named_so).all().alias("untold"))
    )
    nodes = sorted({server_of(node) for node in untold.filter("untold")["node"].drop_nulls()})
    if nodes:
        sentence = (
            f"{named(nodes)}: a pool is told, and not whether it does prefill or decode, so that "
            "it clears nobody (state the role in [[capacity]])."
        )
        yield Gap("role_unknown", sentence, nodes)


def _tenants(found: Judged) -> Iterator[Gap]:
    rows = found.requests
    if rows.height and rows["tenant_id"].null_count() == rows.height:
        sentence = (
            "No record names a tenant: whom to tell stays unknown (set [logs] tenant_from, "
            "or add the log of a gateway, if there is one)."
        )
        yield Gap("no_tenants", sentence)
    elif found.nameless.height:
        nameless = count(found.nameless.height, "request")
        yield Gap("some_tenants", f"{nameless} that may be affected without a tenant.")


def _zones(survey: Survey) -> Iterator[Gap]:
    nodes = sorted({server_of(node) for node in survey.analysis.assumed_nodes})
    if nodes:
        sentence = f"{named(nodes)}: the zone of the clock is unknown, UTC is assumed."
        yield Gap("zone_unknown", sentence, nodes)


def _years(survey: Survey) -> Iterator[Gap]:
    span = survey.analysis.clocks.span
    if span is not None and span.tells:
        return
    nodes = sorted({seen.facts.node for seen in survey.looks if seen.facts.notes[NO_YEAR]})
    if nodes:
        sentence = (
            f"{named(nodes)}: its times have no year and count as missing, the pool's too (set "
            "[scope] window, or add a log with dates)."
        )
        yield Gap("year_unknown", sentence, nodes)


def _window(survey: Survey, stock: Stock) -> Iterator[Gap]:
    """Stretches of the case's window that no file with requests covers."""
    window = survey.incident.window_us
    if window is None:
        return
    for start, end in _uncovered(stock.asked.values(), window):
        if end - start > _HOUR:
            sentence = f"No request's record from {stamp(start)} to {stamp(end)} of the window."
            yield Gap("window", sentence, [], day_of(start), day_of(end - 1))


def _uncovered(
    spans: Iterable[tuple[int, int]], window: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    at = window[0]
    for start, end in sorted(spans):
        if start > at:
            yield at, min(start, window[1])
        at = max(at, end)
        if at >= window[1]:
            return
    yield at, window[1]


def _missing_days(survey: Survey, stock: Stock, days: list[NodeDay]) -> Iterator[Gap]:
    """Days without a record of a node that is busy on others, while other nodes have some."""
    asked = survey.incident.window_us
    spanned = [span for span in stock.asked.values() if asked is None or _meet(span, asked)]
    if not spanned:
        return
    first, last = min(a for a, _ in spanned), max(b for _, b in spanned)
    if asked is not None:
        first, last = max(first, asked[0]), min(last, asked[1] - 1)
    every = {day_of(number * DAY) for number in days_between(first, last)}
    logged = [row for row in days if row.records or not row.seen]
    here = every & {row.day for row in logged}
    records: Counter[str] = Counter()
    present: dict[str, set[Day]] = {}
    for row in logged:
        records[row.node] += row.records
        present.setdefault(row.node, set()).add(row.day)
    for node, own in sorted(present.items()):
        none = sorted(here - own)
        if none and records[node] / len(own) >= _BUSY:
            days_shown = f"{_span(none)} ({count(len(none), 'day')})"
            sentence = f"{node}: nothing on {days_shown}, while other nodes have records."
            yield Gap("node_days", sentence, [node], none[0], none[-1])


def _meet(span: tuple[int, int], window: tuple[int, int]) -> bool:
    return span[0] < window[1] and span[1] >= window[0]


def _not_read(stock: Stock) -> Iterator[Gap]:
    problems: dict[tuple[str, str], list[str]] = {}
    for entry in stock.files:
        if entry.problem is not None:
            what = "read in part" if entry.records else "not read"
            problems.setdefault((what, entry.problem), []).append(entry.label)
    for (what, reason), names in sorted(problems.items()):
        yield Gap("not_read", f"{count(len(names), 'file')} {what}: {reason} ({named(names)}).")


def _asked(survey: Survey) -> Iterator[Gap]:
    names = sorted(shown(seen.source.label) for seen in survey.looks if seen.facts.notes[ASKED])
    if names:
        sentence = (
            f"{count(len(names), 'log')} of engines with records of requests in no known format, "
            f"which are not read: put them into a file of their own ({named(names)})."
        )
        yield Gap("records_not_known", sentence)


def _unreadable(stock: Stock) -> Iterator[Gap]:
    bad = [entry for entry in stock.files if entry.unreadable_share and entry.problem is None]
    if bad:
        worst = max(bad, key=lambda entry: (entry.unreadable_share, entry.label))
        sentence = (
            f"{count(len(bad), 'file')} with records that cannot be read, up to "
            f"{worst.unreadable_share:.1%} of them ({worst.label})."
        )
        yield Gap("unreadable", sentence)


def _sampling(survey: Survey) -> Iterator[Gap]:
    rate = survey.incident.logs.sampling_rate
    if rate < 1:
        yield Gap(
            "sampled_logs", f"The logs hold one request in {1 / rate:g} ([logs] sampling_rate)."
        )
