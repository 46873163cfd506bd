"""TensorRT-LLM's ``/perf_metrics``: a JSON array an answer, or its elements one a line.

The disaggregated server reports each request with both its workers; a worker reports its
own. Blocks and bytes say what decode reserved and what reached it. Times are seconds of a
clock that began with the machine, so they give durations and no moment: such rows join
nothing by time. Reading the end point empties it and its buffer is capped, so what is not
there shows nothing. No prompt, token count, tenant or status of HTTP is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

import polars as pl

from forensics.incident import Incident
from forensics.schema import ENGINE_HOP
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add
from forensics.sources.trtllm.elements import elements
from forensics.sources.trtllm.measured import Measured, measured

FORMS = (
    Form(
        "trtllm-disaggregated",
        "request of a disaggregated server",
        "TensorRT-LLM 0.21-1.3",
        "both workers, blocks reserved by decode, bytes that reached it, prefill forward time",
    ),
    Form(
        "trtllm-worker",
        "request of one worker",
        "TensorRT-LLM 0.21-1.3",
        "the id that both workers share; decode's blocks and bytes where its answer tells it",
    ),
)
_AT_A_TIME = 8_192
_DTYPES = {"str": pl.String(), "int": pl.Int64(), "float": pl.Float64()}
_COLUMNS = {f.name: _DTYPES[str(f.type).split(" ", 1)[0]] for f in fields(Measured)}
_STARTS = re.compile(rb"\s*[\[{]")
_DISAGGREGATED = (b'"ctx_perf_metrics"', b'"gen_perf_metrics"', b'"disagg_server_arrival_time"')


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell an answer by the groups of metrics that its elements have."""
    if not _STARTS.match(head) or b'"timing_metrics"' not in head:
        return None
    if any(name in head for name in _DISAGGREGATED):
        return "metrics of requests of both workers"
    return "metrics of requests of a worker" if b'"perf_metrics"' in head else None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the requests of the answers, some thousands at a time."""
    waiting: list[Measured] = []
    parsed = Parsed()
    for element in elements(opened):
        parsed.read += 1
        if element.reason is not None:
            parsed.unread.append(element.unread(element.reason))
            continue
        row = measured(element)
        if row is None:
            parsed.unread.append(element.unread("record not in a known form"))
        elif row.request_id is None:
            parsed.unread.append(element.unread("no id of a request"))
        else:
            waiting.append(row)
        if len(waiting) >= _AT_A_TIME:
            _emit(waiting, context, parsed)
            yield parsed
            waiting, parsed = [], Parsed()
    _emit(waiting, context, parsed)
    yield parsed


_ENGINE = pl.col("side") == ENGINE_HOP
_VALUES: dict[str, pl.Expr] = {
    "request_id": pl.col("request_id"),
    "transfer_id": pl.col("transfer_id"),
    "prefill_node": pl.col("prefill_node"),
    "decode_node": pl.col("decode_node"),
    "prefill_ms": pl.when(pl.col("prefill_ms") > 0).then("prefill_ms"),
    "reserved_pages": pl.col("reserved"),
    "transferred_pages": pl.when(pl.col("sent") + 1 < pl.col("reserved")).then("sent"),
    "finish_reason": pl.col("reason"),
}
"""Prefill cannot have sent more blocks than it had. One less is no sign: decode may have taken
the block of the first token it generates."""


def _emit(rows: Sequence[Measured], context: Context, parsed: Parsed) -> None:
    if not rows:
        return
    frame = pl.DataFrame([asdict(row) for row in rows], schema=_COLUMNS)
    own = pl.lit(context.stated_node, dtype=pl.String)
    side = pl.col("side")
    frame = frame.with_columns(
        prefill_node=pl.when(side.is_in(["prefill", ENGINE_HOP]))
        .then(own)
        .otherwise("prefill_node"),
        decode_node=pl.when(side.is_in(["decode", ENGINE_HOP])).then(own).otherwise("decode_node"),
    )
    shown = frame.select(**_VALUES)
    columns = {name: shown[name] for name in shown.columns}
    raw = Raw(columns, frame["line"], None, context.node, require_zone=False, hop=frame["side"])
    before = len(parsed.observations)
    add(raw, context, parsed, only="observations")
    # What only engines log is no column of a record: it goes beside them, row by row.
    parsed.observations[before] = parsed.observations[before].with_columns(
        frame["megabytes"].alias("transfer_mb")
    )
