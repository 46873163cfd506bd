"""Dynamo's request traces and log: which line is what, and what each is counted as.

Traces go to a file of their own or to standard error, where the log's lines stand around
them (JSON with ``DYN_LOGGING_JSONL``, else text that begins with a time). Of the log's text
no line is read: one that names a request names it only in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.incident import Incident
from forensics.sources.blocks import Block, Source
from forensics.sources.colours import RAW
from forensics.sources.context import Context
from forensics.sources.dynamo import log, traces
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, JsonColumns, Lines
from forensics.sources.otherlines import count_lines
from forensics.sources.parsed import Parsed, Unread

FORMS: tuple[Form, ...] = (*traces.FORMS, *log.FORMS)
_SCHEMA = re.compile(rb'"schema"\s*:\s*"dynamo\.request\.trace\.v[0-9]{1,3}"')
_TARGET = re.compile(
    rb'"(?:target|log\.target)"\s*:\s*"dynamo[a-z_]*(?:(?:::|\.)[a-z_0-9]{1,60})*"'
)
_BRIDGED = re.compile(rb'"log\.file"\s*:\s*"[^"\n]{0,400}/dynamo/')
_PRINTED = re.compile(rb"(?:" + RAW.encode() + rb")*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
"""A line of the log as text, coloured or not."""


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell a trace by the schema that each record names, the log by the programs in it."""
    records = [line for line in head.split(b"\n") if line.lstrip().startswith(b"{")]
    if any(map(_SCHEMA.search, records)):
        return "schema dynamo.request.trace"
    told = (line for line in records if b'"message"' in line and b'"level"' in line)
    if any(_TARGET.search(line) or _BRIDGED.search(line) for line in told):
        return "JSON log of Dynamo"
    return None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the finished requests, and what the log says of requests, of each block."""
    tenants = traces.Tenants(context.incident.logs.tenant_from)
    paths = traces.PATHS | log.PATHS
    columns = JsonColumns(
        {name: path for name, (path, _) in paths.items()} | tenants.paths,
        {name: kind for name, (_, kind) in paths.items()} | tenants.kinds,
    )
    for block in opened.blocks():
        parsed = Parsed()
        found = _records(block, columns, context, parsed)
        parsed.read += found.read
        parsed.unread += found.unread
        if found.blank:
            parsed.notes["blank line"] += found.blank
        for batch in found.batches:
            _batch(batch, tenants, context, parsed)
        yield parsed


def _records(block: Block, columns: JsonColumns, context: Context, parsed: Parsed) -> Lines:
    """Return the records of a block; lines of the log as text are counted beside them."""
    if block.reason is not None or not _PRINTED.search(block.data):
        return columns.read(block)
    lines = block.data.removesuffix(b"\n").split(b"\n")
    places = [at for at, line in enumerate(lines) if not _PRINTED.match(line)]
    printed = len(lines) - len(places)
    if not printed:
        return columns.read(block)
    parsed.read += printed
    texts = {block.number(at): line for at, line in enumerate(lines) if _PRINTED.match(line)}
    count_lines(list(texts.values()), list(texts), context, parsed)
    found = columns.read(Block(b"\n".join(lines[at] for at in places), 0, 0))
    found.unread = [Unread(block.number(places[u.line or 0]), None, u.reason) for u in found.unread]
    for batch in found.batches:
        batch.lines = batch.lines.map_elements(
            lambda at: block.number(places[at]), return_dtype=batch.lines.dtype
        )
    return found


def _batch(batch: Batch, tenants: traces.Tenants, context: Context, parsed: Parsed) -> None:
    """Add what a batch holds of requests, and count every other record by its kind."""
    frame = traces.texts(batch, (*traces.PATHS, *log.PATHS)).with_columns(tenants.of(batch))
    told = log.told(frame)
    log.take(frame.filter(told), context, parsed)
    traces.take(frame.filter(~told), context, parsed)
