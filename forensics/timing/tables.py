"""What ``forensics timing`` shows: flagged requests, alarms, clusters and the like, as declared."""

from __future__ import annotations

from dataclasses import asdict
from typing import get_args

import polars as pl

from forensics import declared, fields, schema
from forensics.analysis import REQUEST_ORDER, Analysis
from forensics.fields import count, flag, measure, moment, text
from forensics.guard import Table, table
from forensics.schema import TIERS
from forensics.timing import alarms
from forensics.timing.sayings import sentence
from forensics.timing.soonest import Signal, State, watches
from forensics.verdicts import flag as found

_REQUEST = schema.by_name(schema.REQUEST_COLUMNS)

FLAGGED = table(
    "timing_requests",
    [fields.of(_REQUEST["request_id"])],
    count("attempt"),
    [fields.of(_REQUEST[name]) for name in ("tenant_id", "prefill_node")],
    moment("received_at"),
    [fields.of(_REQUEST[name]) for name in ("prompt_tokens", "cached_tokens", "prefill_ms")],
    measure("expected_prefill_ms", "timing_ratio"),
    text("speed", fields.one_of(("too_fast", "slow"))),
    text("tier", fields.one_of(TIERS)),
    count("timing_cluster"),
)
ALARMS = table(
    "timing_alarms",
    moment("hour"),
    count("low", "requests"),
    measure("p5_ms", "usual_ms"),
    flag("long_context", "alarm"),
)
CLUSTERS = table(
    "timing_clusters",
    [field for field in declared.CLUSTERS.fields if field.name != "nodes"],
    [fields.Field("nodes", pl.List(pl.String), fields.identifier)],
    text("reason", fields.sentence),
)
SOURCES = table(
    "timing_sources",
    text("source", fields.sentence),
    count("requests", "known", "tested"),
    flag("decides"),
)
WATCHES = table(
    "early_warnings",
    text("signal", fields.one_of(get_args(Signal))),
    text("state", fields.one_of(get_args(State))),
    moment("first_at"),
    count("before", "affected", "watched", "alarms", "clean", "false_alarms"),
    text("sentence", fields.sentence),
)


def flagged(analysis: Analysis) -> pl.DataFrame:
    """Return the requests in scope whose times are out of all expectation, seen and expected."""
    rows = analysis.requests
    wanted = (pl.col("timing_fast") | pl.col("timing_slow")) & ~found("out_of_scope")
    if "cached_tokens" not in rows.columns:
        rows = rows.with_columns(cached_tokens=pl.lit(None, dtype=pl.Int64))
    speed = pl.when("timing_fast").then(pl.lit("too_fast")).otherwise(pl.lit("slow"))
    rows = (
        rows.filter(wanted)
        .sort(REQUEST_ORDER, nulls_last=True)
        .with_columns(
            _time("received_at"), speed=speed, timing_ratio=pl.col("timing_ratio").round_sig_figs(4)
        )
    )
    return rows.select(*FLAGGED.dtypes)


def hours(analysis: Analysis) -> pl.DataFrame:
    """Return the 5th percentile of each hour and bucket in scope, and where it is an alarm."""
    rows = analysis.requests.filter(~found("out_of_scope"))
    return alarms.hourly(rows).with_columns(_time("hour")).select(*ALARMS.dtypes)


def clusters(analysis: Analysis) -> pl.DataFrame:
    """Return the clusters with their reasons."""
    rows = analysis.timing.clusters.with_columns(_time("first_at"), _time("last_at"))
    return rows.select(*CLUSTERS.dtypes)


def sources(analysis: Analysis) -> pl.DataFrame:
    """Return the sources of prefill times, and whether timing decides there."""
    found = analysis.timing.sources.with_columns(decides=pl.col("tested") > 0)
    return found.select(*SOURCES.dtypes)


def soonest(analysis: Analysis) -> pl.DataFrame:
    """Return when each watch would first have fired, what came before, and false alarms."""
    found = watches(analysis.requests, analysis.capacity.epochs, analysis.markers)
    rows = [asdict(watch) | {"sentence": sentence(watch)} for watch in found]
    types = WATCHES.dtypes | {"first_at": pl.Int64()}
    return pl.DataFrame(rows, schema=types).with_columns(_time("first_at"))


def _time(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias(name)


TABLES: dict[str, Table] = {
    "requests": FLAGGED,
    "clusters": CLUSTERS,
    "hours": ALARMS,
    "sources": SOURCES,
    "early_warnings": WATCHES,
}
"""By the name that each has in the JSON."""


def all_tables(analysis: Analysis) -> dict[str, pl.DataFrame]:
    """Return the frames of :data:`TABLES`."""
    return {
        "requests": flagged(analysis),
        "clusters": clusters(analysis),
        "hours": hours(analysis),
        "sources": sources(analysis),
        "early_warnings": soonest(analysis),
    }
