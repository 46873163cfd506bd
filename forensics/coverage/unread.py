"""When the lines of prefill's logs were written that could not be read: one may be a start.

A line that cannot be read has no time. It was written between the lines before and after it in
its file; before the first one, and after the last one, at any time. Of a file without any request
that was read nothing but its name tells whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics import strangelogs
from forensics.boots import BEGINNING, END
from forensics.clock import Clocks
from forensics.columns import DTYPES, ensure
from forensics.sources.reading import FileFacts

UNREAD: dict[str, pl.DataType] = {
    "node": pl.String(),
    "begin": pl.Int64(),
    "end": pl.Int64(),
    "sure": pl.Boolean(),
}
_OTHERS = ("gateway", "decode")
_WANTED = ("file", "line", "hop", "received_at", "prefill_node", "naive", "source_node")
_At = npt.NDArray[np.int64]


def unread(
    files: list[FileFacts], parts: Sequence[Path], clocks: Clocks, observed: pl.DataFrame
) -> pl.DataFrame:
    """Return :data:`UNREAD`: rank of prefill (null: any) and stretch (µs) of such lines.

    Args:
        files: with what of them could not be read.
        parts: Parquet parts with the records of all files, each read by itself.
        clocks: zone of each node's wall clock.
        observed: records of all files, for the names of ranks.

    Returns:
        ``sure`` is false of a file that any rank's may be, of which nothing was read.
    """
    bad = {facts.number: _Around.of(facts) for facts in files if strangelogs.held_something(facts)}
    for part in parts if bad else ():
        _look(part, bad, clocks)
    found: list[tuple[str | None, int, int, bool]] = []
    for around in bad.values():
        for node in around.ranks():
            found += ((node, *span, True) for span in around.spans())
    silent = [facts for facts in files if facts.number in bad and not bad[facts.number].any]
    for rank in strangelogs.ranks(silent, observed, "prefill"):
        found.append((rank, BEGINNING, END, rank is not None))
    return pl.DataFrame(found, schema=UNREAD, orient="row").unique().sort(*UNREAD)


@dataclass
class _Around:
    """What is known of the records around a file's unread lines, however many there are.

    ``first`` and ``last`` are of the times before the first such line, between two, after the
    last; ``any`` says that there are records, ``of_prefill`` that some are no other hop's.
    """

    lines: _At
    placed: bool
    first: _At
    last: _At
    nodes: set[str] = field(default_factory=set)
    any: bool = False
    of_prefill: bool = False

    @classmethod
    def of(cls, facts: FileFacts) -> _Around:
        """Return it for a file, before any record of it is known."""
        every = {one.line for one in facts.unread}
        lines = np.array(sorted(every - {None}), dtype=np.int64)  # type: ignore[type-var]
        pieces = len(lines) + 1
        return cls(lines, None not in every, np.full(pieces, END), np.full(pieces, BEGINNING))

    def take(self, rows: pl.DataFrame) -> None:
        """Add records that are not of another hop, with ``line`` and ``received_at``."""
        self.of_prefill = True
        self.nodes.update(rows["prefill_node"].drop_nulls().unique())
        rows = rows.drop_nulls(["line", "received_at"])
        piece = np.searchsorted(self.lines, rows["line"].to_numpy(), side="right")
        at = rows["received_at"].to_numpy()
        np.minimum.at(self.first, piece, at)
        np.maximum.at(self.last, piece, at)

    def ranks(self) -> list[str | None]:
        """Return the ranks that the lines may be of; None: any. Another hop's log: none."""
        named: list[str | None] = [*sorted(self.nodes)]
        return (named or [None]) if self.of_prefill else []

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield from when until when each line may be that could not be read, each span once."""
        if not self.placed:
            yield BEGINNING, END
        before = np.maximum.accumulate(self.last)[:-1]
        after = np.minimum.accumulate(self.first[::-1])[::-1][1:]
        ends = np.stack([np.minimum(before, after), np.maximum(before, after)])
        yield from map(tuple, np.unique(ends, axis=1).T.tolist())


def _look(part: Path, bad: dict[int, Any], clocks: Clocks) -> None:
    """Take from a part what is around the lines of some files that could not be read."""
    rows = pl.scan_parquet(part).filter(pl.col("file").is_in(list(bad)))
    names = [name for name in _WANTED if name in rows.collect_schema()]
    known = ensure(rows.select(names).collect(), [n for n in _WANTED if n in DTYPES])
    for own in clocks.resolve(known, ["received_at"]).partition_by("file"):
        around = bad[own["file"][0]]
        around.any = True
        of_prefill = own.filter(~pl.col("hop").is_in(_OTHERS).fill_null(value=False))
        if of_prefill.height:
            around.take(of_prefill)
