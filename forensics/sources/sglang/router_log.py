"""Logs of SGLang's router (``sglang_router``, ``smg``), as text or as JSON lines, in UTC.

A request leaves a line when it arrives and one when its answer begins: its own id, its
HTTP status and how long the answer took. Room, tokens and tenant never appear, and the
id is not sent on to the engines. Errors about an engine may quote a prompt in ``body=``:
they are counted, not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from forensics.incident import Incident
from forensics.schema import Kind
from forensics.sources import otherlines
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import each_block
from forensics.sources.colours import RAW
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, JsonColumns, Path
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang.routed import MESSAGES, emit

FORMS = (
    Form(
        "router-request",
        "request line, plain or coloured",
        "sglang_router 0.2-0.3.2, smg",
        "the router's own id, HTTP status, time of arrival, a stream that broke",
    ),
    Form(
        "router-request-json",
        "request line under --log-json",
        "sglang_router 0.2-0.3.2, smg",
        "the same",
    ),
    Form(
        "router-engine-error",
        "line about a prefill or decode server",
        "sglang_router 0.2-0.3.2, smg",
        "how often each kind occurred: it may quote a prompt",
    ),
)


_TARGET = r"(?:sglang_router_rs|smg)::"
_FIELD = r'(?: [\w.]+=(?:"(?:[^"\\]|\\.)*"|[^\s"}]+(?: [A-Z][A-Za-z-]*)*))'
_LINE = (
    r"^(?<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?)Z?\s+[A-Z]+ "
    rf"http_request\{{method=\S+ uri=(?<uri>\S+) version=\S+(?<fields>{_FIELD}*)\}}: "
    rf"{_TARGET}re(?:quest|sponse): (?:\S+: )?(?<message>{'|'.join(MESSAGES)})"
    rf"(?<more>{_FIELD}*)\s*$"
)
LINE = re.compile(
    rb"(?m)^\d{4}-\d\d-\d\d[ T][\d:.]{8,18}Z?\s+(?:ERROR|WARN|INFO|DEBUG|TRACE) "
    rb"(?:[^\n]{0,4000}?\}: )?(?:sglang_router_rs|smg)::\w"
)
"""Begin of each line of text, without colours."""
_ENGINE_ERRORS = {
    "error status of a prefill server": "Prefill server returned error status",
    "error status of a decode server": "Decode server returned error status",
    "prefill server failed": "Prefill server failed (CRITICAL)",
    "no pair of servers": "Failed to select PD pair",
    "broken stream of a decode server": "Stream error from decode server",
    "pair of servers that was chosen": "Sending concurrent requests",
}
_JSON: dict[str, tuple[Path, Kind]] = {
    "at": (("timestamp",), "time"),
    "message": (("message",), "code"),
    "uri": (("span", "uri"), "code"),
    "request_id": (("span", "request_id"), "id"),
    "status": (("span", "status_code"), "id"),
    "latency": (("span", "latency"), "id"),
}


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell a router's log by the modules that its lines name."""
    if b"smg::" not in head and b"sglang_router_rs::" not in head:
        return None
    text = re.sub(RAW.encode(), b"", head)
    if re.search(rb'(?m)^\{[^\n]*"target": ?"(?:sglang_router_rs|smg)::', text):
        return "JSON lines of the router"
    if LINE.search(text):
        return "line prefix and modules of the router"
    return None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the requests of each block; JSON and text lines may be mixed."""
    columns = JsonColumns(
        {name: path for name, (path, _) in _JSON.items()},
        {name: kind for name, (_, kind) in _JSON.items()},
    )
    return each_block(opened, lambda block, parsed: _split(block, columns, context, parsed))


def _split(block: Block, columns: JsonColumns, context: Context, parsed: Parsed) -> None:
    text = block.data.decode("utf-8", "replace").removesuffix("\n")
    lines = pl.Series("text", text.split("\n"), dtype=pl.String).str.strip_chars_end("\r")
    numbers = pl.Series(block.all_numbers(len(lines)), dtype=pl.Int64)
    parsed.read += len(lines)
    is_json = lines.str.starts_with("{")
    if is_json.any():
        _from_json(lines.filter(is_json), numbers.filter(is_json), columns, context, parsed)
    if not is_json.all():
        frame = pl.DataFrame({"text": lines.filter(~is_json), "line": numbers.filter(~is_json)})
        _from_text(frame, context, parsed)


def _from_json(
    lines: pl.Series, numbers: pl.Series, columns: JsonColumns, context: Context, parsed: Parsed
) -> None:
    found = columns.read(Block("\n".join(lines.to_list()).encode(), 0, 0))
    parsed.read += found.beyond
    for unread in found.unread:
        parsed.unread.append(Unread(numbers[unread.line or 0], None, unread.reason))
    for batch in found.batches:
        frame = _named(batch).with_columns(line=numbers.gather(batch.lines))
        kind = _kinds(pl.col("message"), pl.col("message").is_in(MESSAGES))
        emit(_counted(frame.with_columns(kind=kind), parsed), context, parsed)


def _named(batch: Batch) -> pl.DataFrame:
    nothing = pl.Series([None] * len(batch.lines), dtype=pl.String)
    return pl.DataFrame({name: batch.columns.get(name, nothing) for name in _JSON})


def _from_text(frame: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    text = pl.col("text").str.replace_all(RAW, "")
    frame = frame.with_columns(text=text)
    event = rf"{_TARGET}re(?:quest|sponse): .*(?:{'|'.join(MESSAGES)})"
    frame = frame.with_columns(kind=_kinds(pl.col("text"), pl.col("text").str.contains(event)))
    otherlines.count(frame.filter(kind="other line").rename({"text": "body"}), context, parsed)
    frame = _counted(frame.filter(pl.col("kind") != "other line"), parsed)
    parts = frame.select("line", pl.col("text").str.extract_groups(_LINE).struct.unnest())
    for line in parts.filter(pl.col("at").is_null())["line"].to_list():
        parsed.unread.append(Unread(line, None, "request line not in a known form"))
    fields = pl.col("fields") + pl.col("more")
    # The whole of it: a first word would pass for an id.
    quoted = fields.str.extract(r' request_id="((?:[^"\\]|\\.)*)"', 1)
    rows = parts.filter(pl.col("at").is_not_null()).with_columns(
        request_id=pl.coalesce(quoted, fields.str.extract(r" request_id=([^\s\"]+)", 1)),
        status=fields.str.extract(r" status(?:_code)?=(\d{3})\b", 1),
        latency=fields.str.extract(r' latency="?([^\s"]+)', 1),
    )
    emit(rows, context, parsed)


def _kinds(text: pl.Expr, request: pl.Expr) -> pl.Expr:
    """Name each line: a request's own, an error about an engine, or another."""
    told = [
        pl.when(text.str.contains(words, literal=True)).then(pl.lit(kind))
        for kind, words in _ENGINE_ERRORS.items()
    ]
    return pl.coalesce(
        pl.when(text.str.strip_chars().str.len_bytes() == 0).then(pl.lit("blank line")),
        *told,
        pl.when(request).then(pl.lit("request")),
        pl.lit("other line"),
    )


def _counted(frame: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Return the lines of requests, and count all others under their kind."""
    for (kind,), rows in frame.filter(pl.col("kind") != "request").group_by("kind"):
        parsed.ignored[str(kind)] += rows.height
    return frame.filter(pl.col("kind") == "request").rechunk()
