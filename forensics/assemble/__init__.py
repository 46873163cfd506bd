"""From the analysed frames to the one frozen document."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import msgspec
import polars as pl

from forensics import checklist, schema, tables
from forensics import exposure as doc
from forensics._version import __version__
from forensics.analysis import REQUEST_ORDER, Analysis
from forensics.assemble import timing
from forensics.assemble.attested import reviews
from forensics.assemble.bounds import error_rates, shares
from forensics.assemble.clocks import clocks
from forensics.assemble.compared import compared
from forensics.assemble.containment import containment
from forensics.assemble.coverage import counters, ends, heat, holes, reach
from forensics.assemble.deliberate import deliberate
from forensics.assemble.differences import differences
from forensics.assemble.headline import headline, received
from forensics.assemble.isolation import validations
from forensics.assemble.pools import audit, limit_costs, pool_costs
from forensics.assemble.populations import populations
from forensics.assemble.properties import properties
from forensics.assemble.sensitivity import sensitivity
from forensics.assemble.sources import attribution
from forensics.assemble.tested import long_canaries
from forensics.columns import ensure
from forensics.exposure import stamp
from forensics.findings import FINDINGS
from forensics.incident import Incident, Timeline, micros
from forensics.limitations import limitations
from forensics.schema import AFFECTED_TIERS, TIERS, by_name
from forensics.timing import percentiles
from forensics.verdicts import DECISIVE, flag

POINTS = 5_000
"""Points of the picture at the most, evenly spaced in time; the tables hold all."""


def assemble(analysis: Analysis) -> doc.Exposure:
    """Return the document of an analysis."""
    rows = analysis.requests
    affected = tables.affected(rows)
    found_recipients, found_sources = populations(analysis)
    read = _read(analysis)
    epochs = _epochs(analysis)
    validated = validations(analysis)
    nameless = analysis.traces.unexplained().height
    checks = checklist.answer(
        rows,
        analysis.capacity.epochs,
        analysis.markers,
        nameless,
        validated,
        long_canaries(analysis),
    )
    head = headline(analysis, found_recipients, found_sources)
    return doc.Exposure(
        tool=doc.Tool("forensics", __version__),
        case=_case(analysis.incident),
        scope=_scope(analysis.incident),
        timeline=_timeline(analysis.incident, affected),
        headline=head,
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
        checklist=checks,
        coverage=_coverage(analysis),
        reach=reach(analysis),
        holes=holes(analysis),
        cliffs=ends(analysis),
        counters=counters(analysis),
        heat=heat(analysis),
        sensitivity=sensitivity(analysis),
        share_bounds=shares(analysis, received(rows, analysis.incident.trigger.mechanism)),
        validated=error_rates(),
        reviews=reviews(analysis),
        read=read,
        limitations=limitations(analysis),
        clock_pairs=[doc.ClockPair(**row) for row in analysis.clock_pairs.iter_rows(named=True)],
        timing_clusters=_clusters(analysis),
        **timing.sections(analysis),
        properties=properties(analysis),
        validations=validated,
        pools=audit(analysis, checks),
        limit_costs=limit_costs(analysis),
        pool_costs=pool_costs(analysis),
        deliberate=deliberate(analysis),
        clocks=clocks(analysis.incident, head.ongoing.last_record_at),
        published=compared(analysis),
        containment=containment(analysis),
        attribution=attribution(analysis),
    )


def _case(incident: Incident) -> doc.Case:
    asked = msgspec.json.encode(incident, order="sorted")
    own = incident.case
    return doc.Case(
        own.id,
        own.title,
        own.revision,
        own.supersedes,
        hashlib.sha256(asked).hexdigest(),
        None if own.as_of is None else own.as_of.isoformat(),
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


def _funnel(rows: pl.DataFrame) -> list[doc.Step]:
    rung = rows["rung"]
    triggered = int(rung.is_in(["triggered", "delivered"]).sum())
    steps = (
        ("all", rows.height, "requests and attempts that were read"),
        ("eligible", int(rung.is_not_null().sum()), "in scope: model and window"),
        ("triggered", triggered, "met the condition of the fault, or may have"),
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
        known: dict[str, Any] = {}
        for row in rows.iter_rows(named=True):
            if row["pool_basis"] == "declared" and row["pool_most"] is not None:
                continue  # it was declared and is not what the log tells: nothing changed
            for name, old, new in differences(known, row):
                found.append(
                    doc.Change(str(node), stamp(row["effective_at"]) or "", name, old, new)
                )
            known |= {name: value for name, value in row.items() if value is not None}
    return found


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
    work = ("batches", "sequences", "unlogged_hours", "thin_hours", "duplicates", "skipped")
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
