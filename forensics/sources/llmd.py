"""llm-d's router (the endpoint picker of the Gateway API inference extension), JSON lines.

A few lines a request share its id: arrival, the model and the worker it went to, and
refusals of the router's own queue. The flow's id is the fairness header, by which sites
tell tenants apart. Token counts never appear. Of an error's text only the name of its
status is taken; bodies, which some levels print, are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import polars as pl

from forensics.incident import Incident
from forensics.schema import Kind
from forensics.sources import models, moments, values
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import each_block, lines_of
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, JsonColumns, Path
from forensics.sources.otherlines import OTHER, count_lines
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.records import Raw, add

FORMS = (
    Form(
        "llmd-request",
        "EPP received request, sent, handled",
        "llm-d router 0.2-0.5, inference extension 0.3 and later",
        "id and arrival of a request, model; the worker it went to at level 3",
    ),
    Form(
        "llmd-refusal",
        "refusal or eviction by the router's queue, failure to process",
        "llm-d router 0.2-0.5, inference extension 0.3 and later",
        "id, status and time of a refusal; the tenant by the flow's id",
    ),
)
_RECEIVED = "EPP received request"
_KNOWN = (
    _RECEIVED,
    "EPP sent request body response(s) to proxy",
    "EPP sent response body back to proxy",
    "Request handled",
)
_REFUSALS = (
    "Request evicted by flow control",
    "Rejecting request, queue at capacity",
    "Flow control outcome",
    "Failed to process request",
)
_PATHS: dict[str, tuple[Path, Kind]] = {
    "at": (("ts",), "time"),
    "message": (("msg",), "code"),
    "id0": (("x-request-id",), "id"),
    "id1": (("requestID",), "id"),
    "id2": (("reqID",), "id"),
    "flow": (("flowKey", "ID"), "name"),
    "fairness": (("fairnessID",), "name"),
    "asked": (("incomingModelName",), "name"),
    "named": (("modelName",), "name"),
    "target": (("targetModel",), "name"),
    "sent_to": (("targetModelName",), "name"),
    "endpoint": (("endpoint",), "id"),
    "outcome": (("outcome",), "code"),
    "error": (("error",), "code"),
}
_STATUS = {"ResourceExhausted": "429", "ServiceUnavailable": "503"}
_ERROR = rf"^(?:inference error: )?({'|'.join(_STATUS)})\b"
_LINE = re.compile(
    rb'^\{[^\n]*"(?:msg|message)"\s*:\s*"(?:'
    + b"|".join(re.escape(m.encode()) for m in (*_KNOWN, *_REFUSALS))
    + rb')"',
    re.MULTILINE,
)
_IN_IT = (b'"x-request-id"', b'"requestID"', b'"reqID"', b'"flowKey"', b'"EPP ')


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell the router's log by its messages about requests."""
    for line in _LINE.finditer(head):
        end = head.find(b"\n", line.start())
        if any(sign in head[line.start() : None if end < 0 else end] for sign in _IN_IT):
            return "messages of the endpoint picker"
    return None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each block says of requests; lines that are no JSON are counted."""
    stated = tuple(tuple(path.split(".")) for path in context.incident.logs.tenant_from)
    own = {path for path, _ in _PATHS.values()}
    named = {f"tenant{at}": path for at, path in enumerate(stated) if path not in own}
    kinds: dict[str, Kind] = {name: kind for name, (_, kind) in _PATHS.items()}
    paths = {name: path for name, (path, _) in _PATHS.items()} | named
    columns = JsonColumns(paths, kinds | dict.fromkeys(named, "name"))
    return each_block(opened, partial(_block, columns, context))


def _block(columns: JsonColumns, context: Context, block: Block, parsed: Parsed) -> None:
    lines = lines_of(block)
    records = [at for at, line in enumerate(lines) if line.lstrip().startswith(b"{")]
    parsed.read += len(lines)
    others = [at for at, line in enumerate(lines) if not line.lstrip().startswith(b"{")]
    numbers = [block.number(at) for at in others]
    count_lines([lines[at] for at in others], numbers, context, parsed)
    if not records:
        return
    found = columns.read(Block(b"\n".join(lines[at] for at in records), 0, 0))
    parsed.read += found.beyond
    parsed.unread += [
        Unread(block.number(records[u.line or 0]), None, u.reason) for u in found.unread
    ]
    for batch in found.batches:
        places = [block.number(records[at]) for at in batch.lines.to_list()]
        _batch(batch, pl.Series(places, dtype=pl.Int64), context, parsed)


def _batch(batch: Batch, lines: pl.Series, context: Context, parsed: Parsed) -> None:
    height = len(lines)
    absent = pl.Series([None] * height, dtype=pl.String)
    found = {name: series.cast(pl.String) for name, series in batch.columns.items()}
    frame = pl.DataFrame({name: found.get(name, absent) for name in _PATHS})
    tenants = [found[name] for name in sorted(found) if name.startswith("tenant")]
    ids = values.first_value([frame["id0"], frame["id1"], frame["id2"]])
    tenant = values.first_value([*tenants, frame["flow"], frame["fairness"]])
    frame = frame.with_columns(
        request_id=ids, tenant=tenant, line=lines, received=moments.texts(frame["at"], 1)
    )
    known = pl.col("message").is_in([*_KNOWN, *_REFUSALS]) & pl.col("request_id").is_not_null()
    told = frame.filter(known.fill_null(value=False)).rechunk()
    parsed.ignored[OTHER] += height - told.height
    if told.height:
        _emit(told, context, parsed)


_AT_CAPACITY = pl.col("message") == "Rejecting request, queue at capacity"
_OUTCOME = pl.when(pl.col("message") == "Flow control outcome").then(pl.col("outcome"))
_NAMED = pl.col("error").str.extract(_ERROR, 1).replace_strict(_STATUS, default=None)
_REFUSED = (
    _AT_CAPACITY
    | (pl.col("message") == "Request evicted by flow control")
    | _OUTCOME.str.contains(r"^(?:Rejected|Evicted)").fill_null(value=False)
    | _NAMED.is_not_null()
)
_CODE = (
    pl.when(_OUTCOME.str.contains("TTL"))
    .then(pl.lit("timeout"))
    # The client went away, or took its request back.
    .when(_OUTCOME.str.contains("Context"))
    .then(pl.lit("aborted"))
    .otherwise(pl.lit("capacity"))
)


def _emit(frame: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    names = [frame[name] for name in ("asked", "named", "target", "sent_to")]
    rows = frame.select(
        "request_id",
        pl.col("tenant").alias("tenant_id"),
        models.named(names, context.incident.scope.models).alias("model"),
        pl.col("received").alias("received_at"),
        pl.col("endpoint").str.split(",").list.first().alias("decode_node"),
        pl.when(_REFUSED).then(pl.lit(value=True)).alias("rejected"),
        pl.when(_REFUSED).then(_CODE).alias("rejection_code"),
        pl.coalesce(_NAMED, pl.when(_AT_CAPACITY).then(pl.lit("429"))).alias("http_status"),
    )
    hop = pl.repeat("gateway", frame.height, dtype=pl.String, eager=True)
    columns = {name: rows[name] for name in rows.columns}
    # A request waits in the router's queue before any other line of it is written.
    late = frame["message"] != _RECEIVED
    raw = Raw(columns, frame["line"], None, context.node, require_zone=False, hop=hop, late=late)
    add(raw, context, parsed, only="observations")
