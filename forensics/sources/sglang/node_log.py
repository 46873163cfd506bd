"""SGLang node logs and JSON request logs, in one file or apart."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.sources.blocks import Block, Opened
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import text as node_text
from forensics.sources.sglang.request_log import RequestLog

_JSON = r"^(?:\[[^\]]{1,120}\] )?\{"


def read(opened: Opened, context: Context) -> Iterator[Parsed]:
    """Yield what each block holds; JSON records and text lines may be mixed."""
    requests = RequestLog(context)
    for block in opened.blocks():
        parsed = Parsed()
        if block.reason is not None:
            parsed.read = 1
            parsed.unread.append(Unread(block.line, block.offset, block.reason))
        else:
            _split(block, requests, context, parsed)
        yield parsed


def _split(block: Block, requests: RequestLog, context: Context, parsed: Parsed) -> None:
    text = block.data.decode("utf-8", "replace").removesuffix("\n")
    lines = pl.Series("text", text.split("\n"), dtype=pl.String).str.strip_chars_end("\r")
    numbers = pl.int_range(block.line, block.line + len(lines), dtype=pl.Int64, eager=True)
    parsed.read += len(lines)
    is_json = lines.str.contains(_JSON)
    if is_json.any():
        records = lines.filter(is_json).str.replace(r"^[^{]*", "")
        data = "\n".join(records.to_list()).encode()
        requests.read(Block(data, 1, block.offset), numbers.filter(is_json), parsed)
    if not is_json.all():
        node_text.parse(lines.filter(~is_json), numbers.filter(~is_json), context, parsed)
