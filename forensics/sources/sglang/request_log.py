"""SGLang JSON request logs, any level: only ids, counts, times and codes are read."""

from __future__ import annotations

import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, Path
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import answers
from forensics.sources.sglang.batched import Apart, Batches
from forensics.sources.sglang.clock import count_offsets

FORMS = (
    Form(
        "request-received-json",
        "arrival in a JSON request log, any level",
        "0.5.8-0.5.23",
        "id, room, time, and a tenant where a header or a custom label names one",
    ),
    Form(
        "request-finished-json",
        "answer in a JSON request log, any level",
        "0.5.8-0.5.23",
        "both counts of a prompt, cached and generated tokens, how it ended, DP rank; with "
        "--enable-metrics the prefill time",
    ),
    Form(
        "request-as-sent-json",
        "request as the client sent it, JSON, level 2 and up",
        "0.5.11-0.5.23",
        "nothing: it is all content",
    ),
)


_META: Path = ("out", "meta_info")
_PATHS: dict[str, Path] = {
    "timestamp": ("timestamp",),
    "event": ("event",),
    "request_id": ("rid",),
    "transfer_id": ("obj", "bootstrap_room"),
    "received": ("obj", "received_time"),
    "stream": ("obj", "stream"),
    **answers.meta_paths(_META),
}
_TENANT_PATHS: tuple[Path, ...] = (
    ("headers", "x-tenant-id"),
    ("obj", "custom_labels", "tenant"),
    ("obj", "custom_labels", "tenant_id"),
)
_EVENTS = ("request.received", "request.finished")


class RequestLog:
    """Reads the JSON lines of one node's request log."""

    def __init__(self, context: Context) -> None:
        self._context = context
        stated = tuple(tuple(path.split(".")) for path in context.incident.logs.tenant_from)
        self._columns = answers.reader(_PATHS, stated or _TENANT_PATHS)
        self._bare = answers.BareReasons(_META)
        self._batches = Batches(self._columns.tree)

    def read(self, block: Block, numbers: pl.Series, parsed: Parsed) -> None:
        """Add the records of ``block``; ``numbers`` are the file's line numbers of its lines."""
        found = self._columns.read(block)
        at = numbers.to_list()
        parsed.read += found.beyond
        for unread in found.unread:
            line = at[(unread.line or block.line) - block.line]
            parsed.unread.append(type(unread)(line, None, unread.reason))
        for batch in found.batches:
            single, apart = self._batches.part(batch, block)
            lines = numbers.gather(single.lines - block.line)
            self._add(Batch(self._bare.fill(single, block).columns, lines), parsed)
            self._apart(apart, numbers, parsed)

    def _apart(self, apart: Apart, numbers: pl.Series, parsed: Parsed) -> None:
        """Add the requests of batches; each counts as a record of its own."""
        parsed.unread += [Unread(numbers[place], None, reason) for place, reason in apart.unread]
        if apart.lines:
            parsed.read += len(apart.of) - len(set(apart.of))
            self.read(apart.block, numbers.gather(apart.of), parsed)

    def _add(self, batch: Batch, parsed: Parsed) -> None:
        frame = answers.typed(batch.columns, batch.lines, self._context, parsed)
        as_sent = (pl.col("event") == "request.received.openai").fill_null(value=False)
        wanted = pl.col("event").is_in(_EVENTS).fill_null(value=False)
        parsed.ignored["request as the client sent it"] += frame.filter(as_sent).height
        parsed.ignored["other record"] += frame.filter(~wanted & ~as_sent).height
        frame = frame.filter(wanted)
        if frame.height:
            self._clock(frame, parsed)
            finished = pl.col("event") == "request.finished"
            answers.emit(frame, answers.told(finished), self._context, parsed)

    def _clock(self, frame: pl.DataFrame, parsed: Parsed) -> None:
        moment = pl.col("timestamp").str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False
        )
        epoch = pl.coalesce(answers.micros("finished"), answers.micros("received"))
        offsets = frame.select((moment.to_physical() - epoch).alias("offset")).to_series()
        count_offsets(offsets, self._context.node, parsed)
