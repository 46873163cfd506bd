"""Lines of a file each of which is a record as it lies there, for the identifiers in them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.evidence.inputs import Located
from forensics.incident import Incident
from forensics.sources.blocks import Block, Opened
from forensics.sources.detect import detect
from forensics.sources.packing import DamagedStreamError

_BY_LINE = {"sglang", "vllm", "plain-ndjson", "sglang-exporter"}
"""Formats each record of which is one line of its file."""
_MOST_SOUGHT = 200
"""Identifiers of one file that are sought in its other lines."""
Absent = tuple[int, int, bytes]
"""An identifier that is not in its line: number of its row, the line, and what it is."""


def looked(item: Located, rows: pl.DataFrame) -> tuple[list[Absent], int] | None:
    """Return identifiers that are not in the line that they were read from, and how many lines.

    None where the file is none that is read line by line.
    """
    own = rows.filter(pl.col("column") == "request_id", pl.col("value").is_not_null())
    ids: dict[int, list[tuple[int, bytes]]] = {}
    for row, line, value in own.select("row", "line", "value").rows():
        ids.setdefault(line, []).append((row, value.encode()))
    absent: list[Absent] = []
    last = 0
    for block in _blocks(item):
        starts = [*block.starts.tolist(), len(block.data)]
        for place in range(len(starts) - 1):
            last = block.number(place)
            if last in ids:
                text = block.data[starts[place] : starts[place + 1]]
                absent += [(row, last, one) for row, one in ids[last] if not _in(one, text)]
    return (sorted(absent)[:_MOST_SOUGHT], last) if last else None


def _in(one: bytes, text: bytes) -> bool:
    return one in text or b"\\" in text  # an escape may write it in another way


def _anywhere(item: Located, ids: set[bytes]) -> set[bytes]:
    """Return which identifiers stand in some line."""
    blocks = _blocks(item) if ids else ()
    return {one for block in blocks for one in ids if one in block.data}


def _blocks(item: Located) -> Iterator[Block]:
    """Yield the lines of a file each of which is a record; none of another one."""
    with Opened(item.input) as opened:
        try:
            told = detect(opened, Incident())
            if told.format is not None and told.format.name in _BY_LINE and not told.stack.layers:
                yield from told.stack.source.blocks()
        except DamagedStreamError:
            return  # the lines up to there are what was read


def misplaced(
    item: Located, rows: pl.DataFrame, found: tuple[list[Absent], int]
) -> Iterator[tuple[int, str]]:
    """Yield number and fault of rows that name a line without the identifier that they have."""
    name = item.source.name
    absent, number = found
    beyond = rows.filter(~pl.col("line").is_between(1, number))
    for row, line in beyond.select("row", "line").rows():
        yield row, f"{name} has no line {line}"
    # What no line has is written in another way there; that is no fault.
    there = _anywhere(item, {one for _, _, one in absent})
    for row, line, one in absent:
        if one in there:
            yield row, f"line {line} of {name} is none of its request's"
