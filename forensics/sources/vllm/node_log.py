"""vLLM logs, text or JSON, with what other programs print into the same stream."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.sources.blocks import Block, Source
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.stamps import Outer
from forensics.sources.textlines import Waiting, frame
from forensics.sources.vllm import ids, lines, prefix
from forensics.sources.vllm.messages.pools import with_blocks
from forensics.sources.vllm.records import Records
from forensics.years import Span


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each piece of the log holds; JSON records and text lines may be mixed."""
    log = _Log(context)
    for block in opened.blocks():
        yield log.add(block)
    yield log.rest(Parsed())


class _Log:
    """Lines wait until there are enough of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._span = Span.of(context.incident)
        self._records = Records(context.node)
        self._waiting = Waiting()
        self._adds_digits = False

    def add(self, block: Block) -> Parsed:
        """Take a block, and read what waits if that is enough."""
        parsed = Parsed()
        if block.reason is not None:
            parsed.read = 1
            parsed.unread.append(Unread(block.line, block.offset, block.reason))
            return parsed
        _, found = frame(block)
        return self.rest(parsed) if self._waiting.add(found, block) else parsed

    def rest(self, parsed: Parsed) -> Parsed:
        """Read all that waits into ``parsed``."""
        found = self._waiting.take()
        if found is None:
            return parsed
        parsed.read += found.height
        rows = prefix.split(found, self._context.node, self._span)
        rows = Outer(found, self._context.node, parsed)(self._with_records(rows, parsed))
        if rows.height:
            rows = ids.with_version(with_blocks(rows), before=self._adds_digits)
            self._adds_digits = rows.item(-1, ids.ADDED)
            lines.parse(rows, self._context, parsed)
        self._waiting.locate(parsed.unread)
        return parsed

    def _with_records(self, rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
        """Put rows in place of the JSON records among the lines."""
        records = ~rows["known"] & rows["body"].str.starts_with('{"')
        if not records.any():
            return rows
        found = self._records.read(rows.filter(records), parsed)
        rest = rows.filter(~records)
        return pl.concat([rest.cast(found.schema), found], rechunk=True).sort("line")
