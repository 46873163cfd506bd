"""From the analysed frames to the one frozen document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec
import polars as pl

from forensics import checklist, schema, tables
from forensics import exposure as doc
from forensics._version import __version__
from forensics.analysis import REQUEST_ORDER, Analysis
from forensics.bounds.arithmetic import arithmetic
from forensics.bounds.rates import rates
from forensics.bounds.sampled import sampled
from forensics.columns import ensure
from forensics.declared import COMPARED
from forensics.exposure import stamp
from forensics.findings import FINDINGS
from forensics.incident import Incident, Timeline, micros
from forensics.incomplete import LINES, UNEXPLAINED, incomplete
from forensics.limitations import limitations
from forensics.ongoing import ongoing
from forensics.recipients import recipients, sources
from forensics.schema import AFFECTED_TIERS, TIERS, by_name
from forensics.timing import percentiles
from forensics.verdicts import DECISIVE, flag
from forensics.wording import count

POINTS = 5_000
"""Points of the picture at the most, evenly spaced in time; the tables hold all."""

TIER_MEANING = {
    "confirmed": "an attestation or a canary marker shows foreign content",
    "probable": "direct evidence that decode read pages this request had not written",
    "possible": "could have been affected and cannot be excluded",
    "ruled_out": "a necessary condition is shown to be false",
    "not_assessable": "a value needed to decide is missing; counted in the upper bound",
}


def assemble(analysis: Analysis) -> doc.Exposure:
    """Return the document of an analysis."""
    rows = analysis.requests
    affected = tables.affected(rows)
    found_recipients = recipients(rows)
    found_sources = sources(analysis.pairs, analysis.resident, affected)
    read = _read(analysis)
    epochs = _epochs(analysis)
    return doc.Exposure(
        tool=doc.Tool("forensics", __version__),
        case=doc.Case(analysis.incident.case.id, analysis.incident.case.title),
        scope=_scope(analysis.incident),
        timeline=_timeline(analysis.incident, affected),
        headline=_headline(analysis, affected, found_recipients, found_sources, read),
        funnel=_funnel(rows),
        epochs=epochs,
        changes=_changes(analysis),
        points=_points(rows),
        lengths=_lengths(rows),
        days=_days(rows),
        rejections=_rejections(rows),
        recipients=found_recipients,
        sources=found_sources,
        reasons=_reasons(rows),
        missing=_missing(rows),
        prefill_times=_prefill_times(rows),
        checklist=checklist.answer(
            rows, analysis.capacity.epochs, analysis.markers, analysis.traces.unexplained().height
        ),
        coverage=_coverage(analysis),
        read=read,
        limitations=limitations(analysis),
        clock_pairs=[doc.ClockPair(**row) for row in analysis.clock_pairs.iter_rows(named=True)],
        timing_clusters=_clusters(analysis),
    )


def _scope(incident: Incident) -> doc.Scope:
    start, end = incident.window_us or (None, None)
    return doc.Scope(
        models=sorted(incident.scope.models),
        window_start=stamp(start),
        window_end=stamp(end),
        mechanism=incident.trigger.mechanism,
        threshold_tokens=incident.trigger.threshold_tokens,
        slack_tokens=incident.trigger.slack_tokens,
        sampling_rate=incident.logs.sampling_rate,
    )


def _timeline(incident: Incident, affected: pl.DataFrame) -> list[doc.Moment]:
    moments = []
    for field in msgspec.structs.fields(Timeline):
        at = getattr(incident.timeline, field.name)
        if at is not None:
            moments.append((micros(at), field.name, "stated"))
    if affected["received_at"].drop_nulls().len():
        moments.append((_int(affected["received_at"].min()), "first affected response", "found"))
        moments.append((_int(affected["received_at"].max()), "last affected response", "found"))
    return [doc.Moment(name, stamp(at) or "", basis) for at, name, basis in sorted(moments)]  # type: ignore[arg-type]


def _int(value: Any) -> int:
    return int(value)


def _counts(rows: pl.DataFrame) -> dict[str, int]:
    return {str(tier): int(n) for tier, n in rows.select("tier").group_by("tier").len().iter_rows()}


def _headline(
    analysis: Analysis,
    affected: pl.DataFrame,
    found_recipients: list[doc.Tenant],
    found_sources: list[doc.Tenant],
    read: list[doc.FormatCount],
) -> doc.Headline:
    rows = analysis.requests
    counts = _counts(rows)
    delivered = _counts(rows.filter(pl.col("rung") == "delivered"))
    told = [t for t in found_recipients if t.tier in AFFECTED_TIERS]
    unknown = sum(t.n_confirmed + t.n_probable + t.n_possible for t in told if t.tenant_id is None)
    unreadable = sum(sum(item.unreadable.values()) for item in read)
    times = affected["received_at"].drop_nulls()
    return doc.Headline(
        sentence=_sentence(counts, told, rows.height),
        direction=_direction(analysis.incident.trigger.mechanism),
        tiers=[
            doc.TierCount(tier, counts.get(tier, 0), delivered.get(tier, 0), TIER_MEANING[tier])
            for tier in TIERS
        ],
        recipients=sum(1 for t in told if t.tenant_id is not None),
        recipients_unknown_tenant=unknown,
        sources=sum(1 for t in found_sources if t.tenant_id is not None and not t.same_tenant_only),
        first_affected_at=stamp(_int(times.min())) if len(times) else None,
        last_affected_at=stamp(_int(times.max())) if len(times) else None,
        ongoing=ongoing(analysis),
        bound=arithmetic(
            counts,
            {
                "unreadable records": unreadable,
                "gateway records that pair with no engine record": analysis.unpaired,
                "canary hits in requests that no log holds": analysis.markers.unlogged,
                **{
                    f"{line}s {UNEXPLAINED}": analysis.traces.left(kind)
                    for kind, line in LINES.items()
                },
            },
            analysis.incident.logs.sampling_rate,
        ),
        incomplete=incomplete(analysis),
        further_bounds=sampled(
            counts.get("confirmed", 0) + counts.get("probable", 0),
            analysis.incident.logs.sampling_rate,
        ),
        rates=rates(rows),
    )


def _sentence(counts: dict[str, int], told: list[doc.Tenant], total: int) -> str:
    affected = sum(counts.get(tier, 0) for tier in AFFECTED_TIERS)
    named = sum(1 for t in told if t.tenant_id is not None)
    nameless = any(t.tenant_id is None for t in told)
    if not affected:
        return f"No affected response was found among {count(total, 'request')}."
    parts = [f"{counts[tier]:,} {tier}" for tier in AFFECTED_TIERS if counts.get(tier)]
    to = f"to {count(named, 'tenant')}"
    if nameless:
        to += " and to requests without a tenant" if named else ""
        to = to if named else "to requests without a tenant"
    found, among = count(affected, "affected response"), count(total, "request")
    return f"{found} ({', '.join(parts)}) {to}, among {among}."


_DIRECTIONS = {
    "read": "Data of {source} could appear in responses to {recipient}.",
    "write": "Data of {recipient} could appear in responses to {source}.",
    "unknown": "The direction is not settled: data of {source} could appear in responses to "
    "{recipient}, or the reverse.",
}


def _direction(mechanism: str) -> str:
    """Return the sentence about direction; it is never written by hand."""
    return _DIRECTIONS[mechanism].format(
        source="the tenants listed as sources", recipient="the tenants listed as recipients"
    )


def _funnel(rows: pl.DataFrame) -> list[doc.Step]:
    rung = rows["rung"]
    triggered = int(rung.is_in(["triggered", "delivered"]).sum())
    steps = (
        ("all", rows.height, "requests and attempts that were read"),
        ("eligible", int(rung.is_not_null().sum()), "in scope: model and window"),
        ("triggered", triggered, "direct evidence, or over the limit in force"),
        (
            "delivered",
            int((rung == "delivered").sum()),
            "triggered, and tokens left for the client",
        ),
    )
    return [doc.Step(*step) for step in steps]


def _epochs(analysis: Analysis) -> list[doc.Epoch]:
    found = []
    for row in analysis.capacity.epochs.iter_rows(named=True):
        pool, context = row["pool_tokens"], row["context_tokens"]
        found.append(
            doc.Epoch(
                node=row["node"],
                role=row["role"],
                effective_at=stamp(row["effective_at"]),
                until=stamp(row["until"]),
                pool_tokens=pool,
                page_tokens=row["page_tokens"],
                context_tokens=context,
                input_limit_tokens=row["limit"],
                limit_basis=row["limit_basis"],
                gap_tokens=None if pool is None or context is None else context - pool,
                inferred=bool(row["inferred"]),
                config=row["config"],
                engine=row["engine"],
                engine_version=row["engine_version"],
            )
        )
    return found


def _changes(analysis: Analysis) -> list[doc.Change]:
    found = []
    for (node,), rows in analysis.capacity.epochs.sort("node", "effective_at").group_by(
        "node", maintain_order=True
    ):
        own = list(rows.iter_rows(named=True))
        for before, after in pairwise(own):
            for name, old, new in _differences(before, after):
                found.append(
                    doc.Change(str(node), stamp(after["effective_at"]) or "", name, old, new)
                )
    return found


def _differences(
    before: dict[str, Any], after: dict[str, Any]
) -> Iterable[tuple[str, str | None, str | None]]:
    for name in COMPARED:
        if before[name] != after[name]:
            yield name, _text(before[name]), _text(after[name])
    old, new = _settings(before["config"]), _settings(after["config"])
    for key in sorted(old | new):
        if old.get(key) != new.get(key):
            yield key, old.get(key), new.get(key)


def _settings(config: str | None) -> dict[str, str]:
    pairs = (part.partition("=") for part in (config or "").split(";") if part)
    return {key: value for key, _, value in pairs}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _points(rows: pl.DataFrame) -> list[doc.Point]:
    wanted = rows.filter(
        pl.col("tier").is_in(AFFECTED_TIERS) | flag("over_limit") | flag("placeholder_prefill")
    ).filter(~flag("out_of_scope"))
    step = -(-wanted.height // POINTS) or 1
    picked = (
        wanted.sort(REQUEST_ORDER, nulls_last=True)
        .gather_every(step)
        .select("received_at", "prompt_tokens", "prefill_node", "tier")
    )
    return [
        doc.Point(stamp(at), tokens, node, tier) for at, tokens, node, tier in picked.iter_rows()
    ]


def _dated(rows: pl.DataFrame, *columns: str | pl.Expr) -> pl.DataFrame:
    """Return some columns of the requests in scope whose time is known, with their day."""
    day = percentiles.day_of(pl.col("received_at"))
    known = pl.col("received_at").is_not_null() & ~flag("out_of_scope")
    return rows.select(*columns, day=pl.when(known).then(day)).filter(pl.col("day").is_not_null())


def _lengths(rows: pl.DataFrame) -> list[doc.Cell]:
    low = percentiles.bucket_of(pl.col("prompt_tokens")).alias("low")
    counted = _dated(rows, low).drop_nulls("low").group_by("day", "low").len().sort("day", "low")
    return [
        doc.Cell(day, low, n) for day, low, n in counted.select("day", "low", "len").iter_rows()
    ]


def _days(rows: pl.DataFrame) -> list[doc.Day]:
    tiers = [t for t in TIERS if t != "ruled_out"]
    counted = (
        _dated(rows, "tier")
        .group_by("day")
        .agg(pl.len(), *((pl.col("tier") == tier).sum().alias(tier) for tier in tiers))
        .sort("day")
    )
    return [doc.Day(*row) for row in counted.select("day", "len", *tiers).iter_rows()]


def _rejections(rows: pl.DataFrame) -> list[doc.Rejections]:
    stopped = flag("not_delivered")
    served = (pl.col("rung") == "delivered").fill_null(value=False) & ~stopped
    rejected = rows.filter(pl.col("rejected").fill_null(value=False))
    counted = (
        _dated(
            rejected,
            pl.coalesce("prefill_node", "decode_node").alias("node"),
            pl.col("rejection_code").fill_null("other").alias("code"),
            stopped.alias("stopped"),
            served.alias("served"),
            (~stopped & ~served).alias("unknown"),
        )
        .group_by("day", "node", "code")
        .agg(pl.col(name).sum().cast(pl.Int64) for name in ("stopped", "served", "unknown"))
        .sort("day", "node", "code", nulls_last=False)
    )
    names = ("day", "node", "code", "stopped", "served", "unknown")
    return [doc.Rejections(*row) for row in counted.select(names).iter_rows()]


def _reasons(rows: pl.DataFrame) -> list[doc.Reason]:
    meaning = {f.code: f.meaning for f in FINDINGS}
    flags = rows.select("tier", *(flag(code) for code in meaning))
    counted = flags.group_by("tier").agg(
        flag(code).sum().cast(pl.Int64).alias(code) for code in meaning
    )
    found = []
    for row in counted.iter_rows(named=True):
        found += [(row["tier"], code, row[code]) for code in meaning if row[code]]
    found.sort(key=lambda item: (TIERS.index(item[0]), -item[2], item[1]))
    return [doc.Reason(tier, code, n, meaning[code]) for tier, code, n in found]


def _missing(rows: pl.DataFrame) -> list[doc.Missing]:
    known = [name for name in DECISIVE if name != "input_limit_tokens"]
    unknown = ensure(tables.not_assessable(rows), known)
    meanings = {name: c.meaning for name, c in by_name(schema.REQUEST_COLUMNS).items()}
    meanings["input_limit_tokens"] = "smallest prompt that the prefill node rejects"
    nulls = [(name, unknown[name].null_count()) for name in DECISIVE]
    return [doc.Missing(name, n, meanings[name]) for name, n in nulls if n]


def _prefill_times(rows: pl.DataFrame) -> list[doc.PrefillTime]:
    in_scope = pl.when(~flag("out_of_scope")).then("prefill_ms").alias("prefill_ms")
    table = percentiles.p5(
        percentiles.histogram(rows.select("received_at", "prompt_tokens", in_scope))
    )
    return [
        doc.PrefillTime(day, low, 2 * low, n, p5, low >= percentiles.LONG_CONTEXT_TOKENS)
        for day, low, n, p5 in table.select("day", "low", "requests", "p5_ms").iter_rows()
    ]


def _clusters(analysis: Analysis) -> list[doc.TimingCluster]:
    return [
        doc.TimingCluster(
            **row | {name: stamp(row[name]) or "" for name in ("first_at", "last_at")}
        )
        for row in analysis.timing.clusters.iter_rows(named=True)
    ]


def _coverage(analysis: Analysis) -> list[doc.NodeCoverage]:
    names = ("node", "hop", "first_at", "last_at", "records", "hours", "hours_with_records", "gaps")
    work = ("batches", "sequences", "unlogged_hours")
    return [
        doc.NodeCoverage(node, hop, stamp(first), stamp(last), *counts)
        for node, hop, first, last, *counts in analysis.coverage.nodes.select(
            *names, *work
        ).iter_rows()
    ]


UNREAD_FILE = "not recognised"


def _read(analysis: Analysis) -> list[doc.FormatCount]:
    """Counts per format: ``read == kept + ignored + duplicate + unreadable``."""
    by_format: dict[str, list[Any]] = {}
    for facts in analysis.files:
        by_format.setdefault(facts.format or UNREAD_FILE, []).append(facts)
    found = []
    for name in sorted(by_format):
        own = by_format[name]
        duplicate = sum(analysis.duplicates.get(f.number, 0) for f in own)
        probes = sum(analysis.probes.get(f.number, 0) for f in own)
        ignored: Counter[str] = sum((f.ignored for f in own), Counter())
        ignored["probe or warm-up"] += probes
        unreadable = Counter(u.reason for f in own for u in f.unread)
        bad: Counter[str] = sum((f.bad_values for f in own), Counter())
        found.append(
            doc.FormatCount(
                format=name,
                read=sum(f.read for f in own),
                kept=sum(f.kept for f in own) - duplicate - probes,
                ignored=_sorted(ignored),
                duplicate=duplicate,
                unreadable=_sorted(unreadable),
                bad_values=_sorted(bad),
            )
        )
    return found


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {key: counts[key] for key in sorted(counts) if counts[key]}
