"""What a router's request lines become: one observation each, at the gateway."""

from __future__ import annotations

import polars as pl

from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add

_STARTED = "started processing request"
_ENDED = (
    "finished processing request",
    "request failed with client error",
    "request failed with server error",
)
_BROKEN = "response stream failed after the head was sent"
MESSAGES = (_STARTED, *_ENDED, _BROKEN)
_LONGEST = 7 * 86_400e6
"""Microseconds: a longer latency is none."""
_ENDPOINT = r"/(?:generate|v1/(?:chat/)?completions|v1/responses|v1/messages)/?(?:\?.*)?$"


def emit(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Add one observation a line; arrival and answer meet again under the request's id."""
    wanted = pl.col("uri").str.contains(_ENDPOINT).fill_null(value=False)
    parsed.ignored["call of another endpoint"] += rows.filter(~wanted).height
    rows = rows.filter(wanted)
    if not rows.height:
        return
    rows = rows.with_columns(at=_moment(), took=_latency())
    started, broken = pl.col("message") == _STARTED, pl.col("message") == _BROKEN
    # A stream breaks some time after its head, which is what the latency is up to.
    headed = pl.when(~broken).then(pl.col("at") - pl.col("took"))
    values = rows.select(
        "request_id",
        _stamp(pl.when(started).then("at").otherwise(headed)),
        pl.when(~started).then("status").alias("http_status"),
        pl.when(broken).then(pl.lit(value=True)).alias("stream_error"),
    )
    hop = pl.repeat("gateway", rows.height, dtype=pl.String, eager=True)
    columns = {name: values[name] for name in values.columns}
    raw = Raw(columns, rows["line"], None, context.node, require_zone=False, hop=hop)
    add(raw, context, parsed, only="observations")


def _moment() -> pl.Expr:
    """Return the line's own time, microseconds of UTC; whole seconds unless set otherwise."""
    text = pl.col("at").str.replace("T", " ", literal=True).str.strip_chars_end("Z")
    return text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False).to_physical()


def _latency() -> pl.Expr:
    """Return microseconds: newer versions write them bare, older ones with a unit."""
    parts = pl.col("latency").str.extract_groups(r"^(\d{1,15}(?:\.\d{1,9})?)(s|ms|µs|us|ns)?$")
    number = parts.struct.field("1").cast(pl.Float64)
    unit = parts.struct.field("2").replace_strict(
        ["s", "ms", "µs", "us", "ns"], [1e6, 1e3, 1.0, 1.0, 1e-3], return_dtype=pl.Float64
    )
    micros = number * unit.fill_null(1.0)
    return pl.when(micros < _LONGEST).then(micros).round().cast(pl.Int64)


def _stamp(moment: pl.Expr) -> pl.Expr:
    text = moment.cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
    return text.alias("received_at")
