"""Dynamo's request traces (``DYN_REQUEST_TRACE``), one JSON object a line, 1.4 to 1.6.

The front end writes one record when a request has ended; refused requests and errors leave
none, and its bus drops records under load. Records without an agent's context have lengths
and times alone. ``prefill_time_ms`` is from the end of the wait to the end of prefill as
the front end saw it, so it holds the way to the worker. Prompts and answers
(``request_payload``), headers, tools, stop reasons and block hashes are never read.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from forensics.schema import Kind
from forensics.sources import endings, moments, values
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, Path
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add

FORMS = (
    Form(
        "dynamo-request-end",
        "request_end with an agent's context",
        "Dynamo 1.4-1.6, dynamo.request.trace.v1",
        "x-request-id, model, prompt, cached and generated tokens, prefill time, both workers "
        "with their ranks, arrival in UTC, how it ended",
    ),
    Form(
        "dynamo-request-end-compact",
        "request_end without an agent's context",
        "Dynamo 1.4-1.6, dynamo.request.trace.v1",
        "Dynamo's own id, prompt and generated tokens, arrival in UTC",
    ),
)
_END = "request_end"
_REQUEST = "request"
_SESSION: Path = ("agent_context", "session_id")
PATHS: dict[str, tuple[Path, Kind]] = {
    "event": (("event_type",), "code"),
    "ended": (("event_time_unix_ms",), "count"),
    "own_id": ((_REQUEST, "request_id"), "id"),
    "x_request_id": ((_REQUEST, "x_request_id"), "id"),
    "model": ((_REQUEST, "model"), "name"),
    "input": ((_REQUEST, "input_tokens"), "count"),
    "replayed": ((_REQUEST, "replay", "input_length"), "count"),
    "output": ((_REQUEST, "output_tokens"), "count"),
    "cached": ((_REQUEST, "cached_tokens"), "count"),
    "received": ((_REQUEST, "request_received_ms"), "count"),
    "prefill_ms": ((_REQUEST, "prefill_time_ms"), "measure"),
    "prefill_id": ((_REQUEST, "worker", "prefill_worker_id"), "id"),
    "prefill_rank": ((_REQUEST, "worker", "prefill_dp_rank"), "count"),
    "decode_id": ((_REQUEST, "worker", "decode_worker_id"), "id"),
    "decode_rank": ((_REQUEST, "worker", "decode_dp_rank"), "count"),
    "reason": ((_REQUEST, "finish_reason_metadata", "finish_reason"), "code"),
}
_IGNORED = {
    "request_payload": "payload of a request",
    "tool_start": "tool record",
    "tool_end": "tool record",
    "tool_error": "tool record",
}


class Tenants:
    """The tenant of each record: nothing is taken for one that the incident does not state."""

    def __init__(self, stated: tuple[str, ...]) -> None:
        self.paths: dict[str, Path] = {
            f"tenant{at}": tuple(path.split(".")) for at, path in enumerate(stated)
        }
        self.kinds: dict[str, Kind] = dict.fromkeys(self.paths, "name")
        self._sessions = {name for name, path in self.paths.items() if path == _SESSION}

    def of(self, batch: Batch) -> pl.Series:
        """Return the first stated name; of a session, which begins with one, what is before :."""
        found = {name: s.cast(pl.String) for name, s in batch.columns.items() if name in self.paths}
        columns = [
            series.str.split(":").list.first() if name in self._sessions else series
            for name, series in sorted(found.items())
        ]
        nobody = pl.Series([None] * len(batch.lines), dtype=pl.String)
        return (values.first_value(columns) if columns else nobody).alias("tenant_id")


def texts(batch: Batch, names: Iterable[str]) -> pl.DataFrame:
    """Return columns as text, numbers included: they are typed when they are added."""
    height = len(batch.lines)
    absent = pl.Series([None] * height, dtype=pl.String)
    columns = [batch.columns.get(name, absent).cast(pl.String).alias(name) for name in names]
    return pl.DataFrame(columns).with_columns(line=batch.lines)


def take(frame: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Add the requests among records, and count every other record by its kind."""
    kind = pl.col("event").replace_strict(_IGNORED, default="other record")
    known = (pl.col("event") == _END) & pl.col("own_id").is_not_null()
    others = frame.filter(~known.fill_null(value=False)).select(kind.fill_null("other record"))
    for (name,), rows in others.group_by("event"):
        parsed.ignored[str(name)] += rows.height
    frame = frame.filter(known).rechunk()
    if frame.height:
        _emit(frame, context, parsed)


def _longer(first: str, second: str) -> pl.Expr:
    """Return the longer of two counts, which clears least; the first that is there of others."""
    one, other = (pl.col(name).cast(pl.Int64, strict=False) for name in (first, second))
    return pl.when(other > one).then(second).otherwise(pl.coalesce(first, second))


def _emit(frame: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    received = moments.texts(frame["received"], 1_000)
    ended = moments.texts(frame["ended"], 1_000)
    rows = frame.select(
        pl.coalesce("x_request_id", "own_id").alias("request_id"),
        "tenant_id",
        "model",
        received.alias("received_at"),
        ended.alias("finished_at"),
        _worker("prefill").alias("prefill_node"),
        _worker("decode").alias("decode_node"),
        _longer("input", "replayed").alias("prompt_tokens"),
        pl.col("cached").alias("cached_tokens"),
        pl.when(_positive("prefill_ms")).then("prefill_ms").alias("prefill_ms"),
        pl.when(~((_reason() == "error") & (pl.col("output") == "0")).fill_null(value=False))
        .then("output")
        .alias("completion_tokens"),
        _reason().alias("finish_reason"),
    )
    hop = pl.repeat("decode", frame.height, dtype=pl.String, eager=True)
    columns = {name: rows[name] for name in rows.columns}
    raw = Raw(columns, frame["line"], None, context.node, require_zone=False, hop=hop)
    add(raw, context, parsed, only="observations")


def _worker(side: str) -> pl.Expr:
    """Return a worker with its rank, as engines are named."""
    name, rank = pl.col(f"{side}_id"), pl.col(f"{side}_rank")
    return pl.when(rank.is_null()).then(name).otherwise(name + pl.lit("/dp") + rank)


def _positive(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False) > 0


def _reason() -> pl.Expr:
    return pl.col("reason").map_elements(endings.reason, return_dtype=pl.String)
