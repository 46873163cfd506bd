"""The tables that a report writes: exact columns, full sort keys, one way to write each.

Parquet holds values as they are. CSV is opened in spreadsheets: lists are joined by
``;`` and cells that would run as a formula are neutralised.
"""

from __future__ import annotations

import io

import polars as pl

from forensics import schema, verdicts
from forensics.analysis import REQUEST_ORDER, Analysis
from forensics.attribution.coresidency import PAIR_COLUMNS
from forensics.bounds import METHOD
from forensics.capacity import BEGINNING, END
from forensics.errors import PrivacyError
from forensics.exposure import Exposure
from forensics.notices.identity import notice_id
from forensics.observations import ensure
from forensics.schema import AFFECTED_TIERS
from forensics.verdicts import NOTEWORTHY

REQUEST_TABLE: dict[str, pl.DataType] = {
    "request_id": pl.String(),
    "prefill_request_id": pl.String(),
    "transfer_id": pl.String(),
    "attempt": pl.Int64(),
    "tenant_id": pl.String(),
    "model": pl.String(),
    "received_at": pl.Datetime("us", "UTC"),
    "prefill_node": pl.String(),
    "decode_node": pl.String(),
    "prompt_tokens": pl.Int64(),
    "prefill_prompt_tokens": pl.Int64(),
    "decode_prompt_tokens": pl.Int64(),
    "input_limit_tokens": pl.Int64(),
    "rung": pl.String(),
    "tier": pl.String(),
    "reasons": pl.List(pl.String),
    "missing": pl.List(pl.String),
    "completion_tokens": pl.Int64(),
    "reserved_pages": pl.Int64(),
    "transferred_pages": pl.Int64(),
    "prefill_ms": pl.Float64(),
    "expected_prefill_ms": pl.Float64(),
    "timing_cluster": pl.Int64(),
}

TENANT_TABLE: dict[str, pl.DataType] = {
    "tenant_id": pl.String(),
    "population": pl.String(),
    "tier": pl.String(),
    "n_confirmed": pl.Int64(),
    "n_probable": pl.Int64(),
    "n_possible": pl.Int64(),
    "n_not_assessable": pl.Int64(),
    "requests": pl.Int64(),
    "responses": pl.Int64(),
    "pages": pl.Int64(),
    "first_at": pl.Datetime("us", "UTC"),
    "last_at": pl.Datetime("us", "UTC"),
    "same_tenant_only": pl.Boolean(),
}

CLUSTER_TABLE: dict[str, pl.DataType] = {
    "cluster": pl.Int64(),
    "kind": pl.String(),
    "requests": pl.Int64(),
    "first_at": pl.Datetime("us", "UTC"),
    "last_at": pl.Datetime("us", "UTC"),
    "nodes": pl.String(),
    "median_ratio": pl.Float64(),
}


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
        expected_prefill_ms=pl.lit(None, dtype=pl.Float64),
        timing_cluster=pl.lit(None, dtype=pl.Int64),
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
    return frame.with_columns(
        pl.col(name)
        .str.to_datetime("%Y-%m-%dT%H:%M:%S%.6fZ", time_unit="us")
        .dt.replace_time_zone("UTC")
        for name in ("first_at", "last_at")
    )


def source_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of response and possible source, sorted."""
    return pairs.select(*PAIR_COLUMNS)


def rejections(exposure: Exposure) -> pl.DataFrame:
    """Rejections by day, node and code: stopped, served, unknown."""
    names = ("day", "node", "code", "stopped", "served", "unknown")
    rows = [[getattr(row, name) for name in names] for row in exposure.rejections]
    kinds = dict(
        zip(names, (pl.String, pl.String, pl.String, pl.Int64, pl.Int64, pl.Int64), strict=True)
    )
    return pl.DataFrame(rows, schema=kinds, orient="row")


def capacity(analysis: Analysis, exposure: Exposure) -> pl.DataFrame:
    """Epochs with the gap of pool against window, and what changed at their start."""
    epochs = analysis.capacity.epochs
    changed: dict[tuple[str, str], list[str]] = {}
    for change in exposure.changes:
        text = f"{change.setting}: {change.before} -> {change.after}"
        changed.setdefault((change.node, change.at), []).append(text)
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
        pl.Series("changed", ["; ".join(changed.get(key, [])) for key in keys], dtype=pl.String),
    )


def coverage(analysis: Analysis) -> pl.DataFrame:
    """Records per node, hop and hour; ``gap`` marks hours that are missing."""
    return analysis.coverage.hours.select("node", "hop", as_time("hour"), "records", "gap")


def unreadable(analysis: Analysis) -> pl.DataFrame:
    """File, line, byte offset and reason of each unread record; never the record."""
    rows = [
        (facts.name, unread.line, unread.offset, unread.reason)
        for facts in analysis.files
        for unread in facts.unread
    ]
    kinds = {"file": pl.String, "line": pl.Int64, "byte_offset": pl.Int64, "reason": pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row").sort(list(kinds), nulls_last=False)


def clusters() -> pl.DataFrame:
    """Timing clusters; none are formed yet, so the table has its columns and no row."""
    return pl.DataFrame(schema=CLUSTER_TABLE)


def notifications(
    exposure: Exposure, requests: pl.DataFrame, covered: float | None
) -> pl.DataFrame:
    """One row per tenant and population with what a notice has to state."""
    sent = _delivered(requests)
    rows = []
    for tenant in (*exposure.recipients, *exposure.sources):
        low = tenant.n_confirmed + tenant.n_probable
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
                "bound_high": low + tenant.n_possible + tenant.n_not_assessable,
                "bound_method": METHOD,
                "template_id": f"{tenant.population}-{tenant.tier}-1",
                "revision": 1,
            }
        )
    return pl.DataFrame(rows, schema=NOTICE_TABLE, orient="row")


def _delivered(requests: pl.DataFrame) -> dict[str | None, int]:
    rows = affected(requests).filter(pl.col("rung") == "delivered")
    return dict(rows.group_by("tenant_id").len().iter_rows())


NOTICE_TABLE: dict[str, pl.DataType] = {
    "notice_id": pl.String(),
    "tenant_id": pl.String(),
    "population": pl.String(),
    "tier": pl.String(),
    "window_start": pl.String(),
    "window_end": pl.String(),
    "n_confirmed": pl.Int64(),
    "n_probable": pl.Int64(),
    "n_possible": pl.Int64(),
    "n_not_assessable": pl.Int64(),
    "first_at": pl.String(),
    "last_at": pl.String(),
    "delivered": pl.Int64(),
    "same_tenant": pl.Boolean(),
    "coverage_pct": pl.Float64(),
    "bound_low": pl.Int64(),
    "bound_high": pl.Int64(),
    "bound_method": pl.String(),
    "template_id": pl.String(),
    "revision": pl.Int64(),
}


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """Return a frame as CSV that a spreadsheet opens without running a cell."""
    shaped = frame.with_columns(
        *(
            pl.col(name).list.join(";").alias(name)
            for name, dtype in frame.schema.items()
            if dtype == pl.List(pl.String)
        ),
        *(
            pl.col(name).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ").alias(name)
            for name, dtype in frame.schema.items()
            if isinstance(dtype, pl.Datetime)
        ),
    )
    inert = shaped.with_columns(
        _neutralised(name) for name, dtype in shaped.schema.items() if dtype == pl.String
    )
    return inert.write_csv(line_terminator="\n").encode()


_BLANKS = r"\s\x{00A0}\x{3000}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}\x{FEFF}"
_STARTS = r"=+\-@|%\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}"
_RUNS = rf"^[{_BLANKS}]*[{_STARTS}]|^[\t\r\n]"


def _neutralised(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.contains(_RUNS)).then(pl.lit("'") + text).otherwise(text).alias(name)


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a frame as Parquet; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", compression_level=3, statistics=True)
    return buffer.getvalue()


def guard(frame: pl.DataFrame, allowed: dict[str, pl.DataType]) -> pl.DataFrame:
    """Return the frame if it has exactly the columns of its table.

    Raises:
        PrivacyError: a column that the table does not name was about to be written.
    """
    extra = sorted(set(frame.columns) - set(allowed))
    if extra:
        raise PrivacyError(f"{len(extra)} column(s) outside the schema: {', '.join(extra)}")
    return frame
