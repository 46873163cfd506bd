"""Dynamo's log as JSON lines (``DYN_LOGGING_JSONL``): the one line that names a request.

The front end says of each request that a prefill worker has done its part; nothing is in
it of tokens, workers or what was transferred, and spans of which the log tells that they
closed are not read. What a worker prints of its cache is a number of blocks, without
the size of one: it is no pool. Every other message may quote anything and is counted.
"""

from __future__ import annotations

import polars as pl

from forensics.schema import Kind
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Path
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add

FORMS = (
    Form(
        "dynamo-log-prefill",
        "log line of a request whose prefill is done, JSON",
        "Dynamo, 2025",
        "x-request-id and time of a request that was handed off",
    ),
)
PATHS: dict[str, tuple[Path, Kind]] = {
    "time": (("time",), "time"),
    "message": (("message",), "code"),
    "log_id": (("x_request_id",), "id"),
}
OTHER = "other line"
_PREFILLED = "Prefill succeeded, using disaggregated params for decode"
_BLOCKS = "Cache config values: {'num_gpu_blocks': "


def told(frame: pl.DataFrame) -> pl.Series:
    """Say which records are the log's: they have a message and no event."""
    return frame["message"].is_not_null() & frame["event"].is_null()


def take(frame: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Add the requests that log lines name, and count all others by their kind."""
    if not frame.height:
        return
    prefilled = pl.col("message") == _PREFILLED
    blocks = pl.col("message").str.starts_with(_BLOCKS)
    kind = (
        pl.when(blocks)
        .then(pl.lit("number of blocks, without the size of one"))
        .when(prefilled & pl.col("log_id").is_null())
        .then(pl.lit("line of a request without its id"))
        .when(~prefilled)
        .then(pl.lit(OTHER))
    )
    frame = frame.with_columns(kind=kind)
    for name, count in frame["kind"].drop_nulls().value_counts().iter_rows():
        parsed.ignored[name] += count
    frame = frame.filter(pl.col("kind").is_null()).rechunk()
    if frame.height:
        _emit(frame, context, parsed)


def _emit(frame: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    columns = {
        "request_id": frame["log_id"],
        "tenant_id": frame["tenant_id"],
        "received_at": frame["time"],
    }
    hop = pl.repeat("gateway", frame.height, dtype=pl.String, eager=True)
    # The request has been there since before its prefill began.
    late = pl.repeat(True, frame.height, dtype=pl.Boolean, eager=True)
    raw = Raw(columns, frame["line"], None, context.node, require_zone=False, hop=hop, late=late)
    add(raw, context, parsed, only="observations")
