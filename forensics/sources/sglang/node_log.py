"""SGLang node logs and request logs, JSON or text, in one file or apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from forensics.sources import colours
from forensics.sources.blocks import Block, Source
from forensics.sources.bytewords import ByteLines
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import lines, prefix
from forensics.sources.sglang.request_log import RequestLog
from forensics.sources.stamps import Outer
from forensics.sources.textlines import Waiting, frame, locate


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each block holds; JSON records and text lines may be mixed."""
    log = _NodeLog(context)
    for block in opened.blocks():
        yield log.add(block)
    yield log.rest(Parsed())


class _NodeLog:
    """Reads blocks of JSON lines at once; lines of text wait until there are enough of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._requests = RequestLog(context)
        self._waiting = Waiting()

    def add(self, block: Block) -> Parsed:
        """Read a block, and what waits if that is enough."""
        parsed = Parsed()
        if block.reason is not None:
            parsed.read = 1
            parsed.unread.append(Unread(block.line, block.offset, block.reason))
            return parsed
        shown = block
        if b"\x1b" in block.data:  # as a log is coloured from some line on
            shown = replace(block, data=colours.plain(block.data))
        data, found = frame(shown)
        if found["text"].str.starts_with("{").all():
            parsed.read += found.height
            self._requests.read(Block(data, 1, block.offset), found["line"], parsed)
            locate(parsed.unread, block)
            return parsed
        starts = shown.starts if data is shown.data else Block(data, 1, 0).starts
        told = ByteLines(data, starts)
        rows, begins = prefix.split(found, told, self._context.node)
        rows = lines.tell(rows, told, begins)
        if "outer" in found.columns:
            rows = rows.with_columns(found["outer"])
        return self.rest(parsed) if self._waiting.add(rows, block) else parsed

    def rest(self, parsed: Parsed) -> Parsed:
        """Read all that waits into ``parsed``."""
        found = self._waiting.take()
        if found is None:
            return parsed
        parsed.read += found.height
        stamped = Outer(found, self._context.node, parsed)
        rows = stamped(found.drop("outer", strict=False).rechunk())
        rows = self._without_records(rows, parsed)
        if rows.height:
            lines.parse(rows, self._context, parsed, stamped)
        self._waiting.locate(parsed.unread)
        return parsed

    def _without_records(self, rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
        """Read the JSON records among the rows, with or without a prefix; return the others."""
        rows = self._unwrapped(rows)
        records = rows["body"].str.starts_with("{")
        if not records.any():
            return rows
        found = rows.filter(records)
        data = "\n".join(found["body"].to_list()).encode()
        self._requests.read(Block(data, 1, 0), found["line"], parsed)
        return rows.filter(~records)

    def _unwrapped(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Take unusual prefixes off the lines that hold a record behind one."""
        odd = ~rows["known"] & ~rows["body"].str.starts_with("{")
        behind = rows.filter(odd)["body"].str.contains(lines.RECORD)
        if not behind.any():
            return rows
        found = prefix.split_unusual(rows.filter(odd).filter(behind), self._context.node)
        rest = [rows.filter(~odd), rows.filter(odd).filter(~behind)]
        frames = [*(frame.select(prefix.COLUMNS) for frame in rest), found]
        return pl.concat([frame for frame in frames if frame.height], rechunk=True)
