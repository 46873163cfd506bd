"""SGLang node logs and request logs, JSON or text, in one file or apart."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.sources.blocks import Block, DamagedStreamError, Opened
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import lines, prefix
from forensics.sources.sglang.request_log import RequestLog

TEXT_BYTES = 16 << 20
"""Text is read in larger pieces than blocks: a look at a few lines costs as much as at many."""


def read(opened: Opened, context: Context) -> Iterator[Parsed]:
    """Yield what each block holds; JSON records and text lines may be mixed."""
    log = _NodeLog(context)
    try:
        for block in opened.blocks():
            yield log.add(block)
    except DamagedStreamError:
        yield log.rest(Parsed())
        raise
    yield log.rest(Parsed())


class _NodeLog:
    """Reads blocks of JSON lines at once; lines of text wait until there are enough of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._requests = RequestLog(context)
        self._waiting: list[pl.DataFrame] = []
        self._bytes = 0

    def add(self, block: Block) -> Parsed:
        """Read a block, and what waits if that is enough."""
        parsed = Parsed()
        if block.reason is not None:
            parsed.read = 1
            parsed.unread.append(Unread(block.line, block.offset, block.reason))
            return parsed
        data, frame = _lines(block)
        if frame["text"].str.starts_with("{").all():
            parsed.read += frame.height
            self._requests.read(Block(data, 1, block.offset), frame["line"], parsed)
            return parsed
        self._waiting.append(frame)
        self._bytes += len(data)
        return self.rest(parsed) if self._bytes >= TEXT_BYTES else parsed

    def rest(self, parsed: Parsed) -> Parsed:
        """Read all that waits into ``parsed``."""
        if not self._waiting:
            return parsed
        frame = pl.concat(self._waiting)
        self._waiting, self._bytes = [], 0
        parsed.read += frame.height
        rows = self._without_records(prefix.split(frame, self._context.node), parsed)
        if rows.height:
            lines.parse(rows, self._context, parsed)
        return parsed

    def _without_records(self, rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
        """Read the JSON records among the rows, with or without a prefix; return the others."""
        records = rows["body"].str.starts_with("{")
        if not records.any():
            return rows
        found = rows.filter(records)
        data = "\n".join(found["body"].to_list()).encode()
        self._requests.read(Block(data, 1, 0), found["line"], parsed)
        return rows.filter(~records)


def _lines(block: Block) -> tuple[bytes, pl.DataFrame]:
    """Return the block's bytes and its lines; what is no UTF-8 is replaced."""
    try:
        return block.data, _scan(block.data, block.line)
    except pl.exceptions.ComputeError:
        data = block.data.decode("utf-8", "replace").encode()
    return data, _scan(data, block.line)


def _scan(data: bytes, first: int) -> pl.DataFrame:
    found = pl.scan_lines(data, name="text", row_index_name="line", row_index_offset=first)
    return found.with_columns(pl.col("line").cast(pl.Int64)).collect()
