"""When the lines of prefill's logs were written that could not be read: one may be a start.

A line that cannot be read has no time. It was written between the lines before and after it in
its file; before the first one, and after the last one, at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from forensics.boots import BEGINNING, END
from forensics.clock import Clocks
from forensics.columns import DTYPES
from forensics.sources.reading import FileFacts

UNREAD: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "begin": pl.Int64(),
    "end": pl.Int64(),
}
_OTHERS = ("gateway", "decode")
_WANTED = ("file", "line", "hop", "received_at", "prefill_node", "naive", "source_node")


def unread(files: list[FileFacts], parts: Sequence[Path], clocks: Clocks) -> pl.DataFrame:
    """Return :data:`UNREAD`: rank of prefill (null: any) and stretch (µs) of such lines.

    Args:
        files: with what of them could not be read.
        parts: Parquet parts with the records of all files.
        clocks: zone of each node's wall clock.
    """
    bad = {facts.number: facts for facts in files if facts.unread and facts.recognised}
    if not bad:
        return pl.DataFrame(schema=UNREAD)
    found = [
        (node, "prefill", *span)
        for own in _records(parts, list(bad), clocks).partition_by("file")
        for span in _spans(own, bad[own["file"][0]])
        for node in own["prefill_node"].drop_nulls().unique().sort().to_list() or [None]
    ]
    return pl.DataFrame(found, schema=UNREAD, orient="row").unique().sort(*UNREAD)


def _records(parts: Sequence[Path], files: list[int], clocks: Clocks) -> pl.DataFrame:
    """Return the records of some files, but those of the other hops, in the order of lines."""
    frames = [pl.DataFrame(schema={name: DTYPES[name] for name in _WANTED})]
    for part in parts:
        rows = pl.scan_parquet(part).filter(pl.col("file").is_in(files))
        names = [name for name in _WANTED if name in rows.collect_schema()]
        frames.append(rows.select(names).collect())
    every = clocks.resolve(pl.concat(frames, how="diagonal_relaxed"), ["received_at"])
    every = every.filter(~pl.col("hop").is_in(_OTHERS).fill_null(value=False))
    return every.drop_nulls(["line", "received_at"]).sort("file", "line", "received_at")


def _spans(own: pl.DataFrame, facts: FileFacts) -> Iterator[tuple[int, int]]:
    """Yield from when until when each line of a file may be that could not be read."""
    lines, at = own["line"].to_numpy(), own["received_at"].to_numpy()
    before = np.append(BEGINNING, np.maximum.accumulate(at))
    after = np.append(np.minimum.accumulate(at[::-1])[::-1], END)
    for line in {one.line for one in facts.unread}:
        if line is None:
            yield BEGINNING, END
            continue
        here = int(np.searchsorted(lines, line))
        ends = int(before[here]), int(after[here])
        yield min(ends), max(ends)
