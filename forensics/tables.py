"""The tables that a report writes: rows from the analysis, in order of full sort keys.

What each may hold is declared in :mod:`forensics.declared`.
"""

from __future__ import annotations

import polars as pl

from forensics import declared, schema, verdicts
from forensics.analysis import REQUEST_ORDER, Analysis
from forensics.bounds.arithmetic import METHOD
from forensics.bounds.sampled import OF_A_SAMPLE
from forensics.capacity import BEGINNING, END
from forensics.coverage.proved import PROVED, with_proved
from forensics.direction import receives
from forensics.exposure import Exposure
from forensics.notices.identity import notice_id
from forensics.observations import ensure
from forensics.schema import AFFECTED_TIERS
from forensics.verdicts import NOTEWORTHY

REQUEST_TABLE = declared.REQUESTS.dtypes
TENANT_TABLE = declared.TENANTS.dtypes
SOURCE_TABLE = declared.SOURCE_REQUESTS.dtypes


def as_time(name: str) -> pl.Expr:
    """Turn microseconds into a UTC timestamp; the open ends of epochs are null."""
    value = pl.when(~pl.col(name).is_in([BEGINNING, END])).then(pl.col(name))
    return value.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias(name)


def request_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return judged requests under the columns of :data:`REQUEST_TABLE`, sorted."""
    names = [column.name for column in schema.REQUEST_COLUMNS]
    rows = verdicts.explained(ensure(rows.sort(REQUEST_ORDER, nulls_last=True), names))
    listed = [
        pl.when(pl.col(name) == "")
        .then(pl.lit([], dtype=pl.List(pl.String)))
        .otherwise(pl.col(name).str.split(";"))
        .alias(name)
        for name in ("reasons", "missing")
    ]
    return rows.with_columns(
        as_time("received_at"),
        *listed,
    ).select(pl.col(name).cast(dtype) for name, dtype in REQUEST_TABLE.items())


def affected(requests: pl.DataFrame) -> pl.DataFrame:
    """Rows of the tiers confirmed, probable and possible."""
    return requests.filter(pl.col("tier").is_in(AFFECTED_TIERS))


def ruled_out(requests: pl.DataFrame) -> pl.DataFrame:
    """Rows that were over, rejected, short or mismatched and were ruled out."""
    return requests.filter((pl.col("tier") == "ruled_out") & NOTEWORTHY)


def not_assessable(requests: pl.DataFrame) -> pl.DataFrame:
    """Rows that could not be judged."""
    return requests.filter(pl.col("tier") == "not_assessable")


def tenants(exposure: Exposure) -> pl.DataFrame:
    """One row per tenant and population, as in the document."""
    rows = [
        {name: getattr(tenant, name) for name in TENANT_TABLE}
        for tenant in (*exposure.recipients, *exposure.sources)
    ]
    text = {n: pl.String() if isinstance(t, pl.Datetime) else t for n, t in TENANT_TABLE.items()}
    frame = pl.DataFrame(rows, schema=text, orient="row")
    return frame.with_columns(_moment(name) for name in ("first_at", "last_at"))


def source_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of response and possible source, sorted."""
    return pairs.select(*declared.PAIRS.dtypes)


def source_requests(analysis: Analysis) -> pl.DataFrame:
    """Requests that a replay names as sources, as the logs have them, sorted."""
    owners = analysis.attribution.named["owner"].drop_nulls().unique()
    wanted = list(dict.fromkeys((*SOURCE_TABLE, *REQUEST_ORDER[:4])))
    rows = ensure(analysis.requests, wanted).select(wanted).with_row_index("_row")
    named = rows.filter(pl.col("_row").is_in(owners.implode()) & pl.col("request_id").is_not_null())
    shaped = named.sort(REQUEST_ORDER[:4], nulls_last=True).with_columns(as_time("received_at"))
    return shaped.select(pl.col(name).cast(kind) for name, kind in SOURCE_TABLE.items())


def rejections(exposure: Exposure) -> pl.DataFrame:
    """Rejections by day, node and code: stopped, served, unknown."""
    kinds = declared.REJECTIONS.dtypes
    rows = [[getattr(row, name) for name in kinds] for row in exposure.rejections]
    return pl.DataFrame(rows, schema=kinds, orient="row")


def capacity(analysis: Analysis, exposure: Exposure) -> pl.DataFrame:
    """Epochs with the gap of pool against window, and what changed at their start."""
    epochs, changed = analysis.capacity.epochs, changes_at(exposure)
    stamp = as_time("effective_at").dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
    keys = epochs.select("node", stamp.alias("at")).iter_rows()
    return epochs.select(
        "node",
        "role",
        as_time("effective_at"),
        as_time("until"),
        "pool_tokens",
        "page_tokens",
        "context_tokens",
        pl.col("limit").alias("input_limit_tokens"),
        "limit_basis",
        "pool_basis",
        (pl.col("context_tokens") - pl.col("pool_tokens")).alias("gap_tokens"),
        "inferred",
        "engine",
        "engine_version",
        "model_version",
        "disaggregated",
        "auto_truncate",
        "allocator",
        "config",
        pl.Series("changed", [changed.get(key, "") for key in keys], dtype=pl.String),
    )


def changes_at(exposure: Exposure) -> dict[tuple[str, str], str]:
    """Return what changed at the start of an epoch, by its node and time."""
    found: dict[tuple[str, str], list[str]] = {}
    for change in exposure.changes:
        text = f"{change.setting}: {change.before} -> {change.after}"
        found.setdefault((change.node, change.at), []).append(text)
    return {key: "; ".join(texts) for key, texts in found.items()}


def coverage(analysis: Analysis) -> pl.DataFrame:
    """Records per node, hop and hour; ``gap`` marks hours that are missing.

    Batches and sequences are of batch lines: hours with some and no record were not logged.
    Requests that other hops prove and no log of the hop holds count at the node that lost them,
    where that is told, else in rows without a node;
    those without an hour, the equal records without a time. Where the incident file says that
    the logs are a sample, every hour with records is ``sampled``.
    """
    names = ("records", "gap", "batches", "sequences", "unlogged", "thin")
    counts = ("duplicates", "skipped", PROVED)
    sampled = pl.lit(analysis.incident.logs.sampling_rate < 1) & (pl.col("records") > 0)
    rows = with_proved(analysis.coverage.hours, analysis.holes.lacking)
    rows = rows.with_columns(sampled=sampled)
    return rows.select("node", "hop", as_time("hour"), *names, *counts, "sampled")


def unreadable(analysis: Analysis) -> pl.DataFrame:
    """File, line, byte offset and reason of each unread record; never the record.

    Of a file in no known format it has the shape of the first lines as well.
    """
    rows = [
        (facts.name, unread.line, unread.offset, unread.reason, facts.shape or None)
        for facts in analysis.files
        for unread in facts.unread
    ]
    kinds = declared.UNREADABLE.dtypes
    return pl.DataFrame(rows, schema=kinds, orient="row").sort(list(kinds), nulls_last=False)


def clusters(exposure: Exposure) -> pl.DataFrame:
    """Timing clusters, as in the document; the ranks of one are joined by ``;``."""
    text = {n: pl.String() if isinstance(t, pl.Datetime) else t for n, t in _CLUSTERS.items()}
    rows = [
        {name: getattr(cluster, name) for name in text} | {"nodes": ";".join(cluster.nodes)}
        for cluster in exposure.timing_clusters
    ]
    return pl.DataFrame(rows, schema=text, orient="row").with_columns(
        _moment("first_at"), _moment("last_at")
    )


_CLUSTERS = declared.CLUSTERS.dtypes


def _moment(name: str) -> pl.Expr:
    """Turn a stamp of the document into a UTC timestamp."""
    read = pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S%.6fZ", time_unit="us")
    return read.dt.replace_time_zone("UTC")


def notifications(
    exposure: Exposure, requests: pl.DataFrame, covered: float | None
) -> pl.DataFrame:
    """One row per tenant and population with what a notice has to state."""
    sent = _delivered(requests, exposure.scope.mechanism)
    rows = []
    for tenant in (*exposure.recipients, *exposure.sources):
        low = tenant.n_confirmed + tenant.n_probable
        high = low + tenant.n_possible + tenant.n_not_assessable
        rows.append(
            {
                "notice_id": notice_id(exposure.case.id, tenant.population, tenant.tenant_id),
                "tenant_id": tenant.tenant_id,
                "population": tenant.population,
                "tier": tenant.tier,
                "window_start": exposure.scope.window_start,
                "window_end": exposure.scope.window_end,
                "n_confirmed": tenant.n_confirmed,
                "n_probable": tenant.n_probable,
                "n_possible": tenant.n_possible,
                "n_not_assessable": tenant.n_not_assessable,
                "first_at": tenant.first_at,
                "last_at": tenant.last_at,
                "delivered": sent.get(tenant.tenant_id, 0)
                if tenant.population == "recipient"
                else None,
                "same_tenant": tenant.same_tenant_only,
                "coverage_pct": covered,
                "bound_low": low,
                "bound_high": None if exposure.headline.bound.high is None else high,
                "bound_method": METHOD if exposure.scope.sampling_rate == 1 else OF_A_SAMPLE,
                "template_id": f"{tenant.population}-{tenant.tier}-1",
                "revision": exposure.case.revision,
            }
        )
    return pl.DataFrame(rows, schema=declared.NOTIFICATIONS.dtypes, orient="row")


def _delivered(requests: pl.DataFrame, mechanism: str) -> dict[str | None, int]:
    """Count the responses of each tenant that are affected and that it received."""
    rows = affected(requests).filter(receives(mechanism) & (pl.col("rung") == "delivered"))
    return dict(rows.group_by("tenant_id").len().iter_rows())
