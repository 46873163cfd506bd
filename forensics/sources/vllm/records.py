"""JSON lines of the log: one record a line, whatever its message holds."""

from __future__ import annotations

import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.colours import RAW
from forensics.sources.jsonlines import JsonColumns
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.values import NOT_A_VALUE
from forensics.sources.vllm import prefix

_NAMES = ("asctime", "levelname", "name", "processName", "message")
_TIME = r"^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})[,.]([0-9]{3})$"


class Records:
    """Reads the JSON lines of one log.

    Args:
        node: the engine that wrote it.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        paths = {name: (name,) for name in _NAMES}
        self._columns = JsonColumns(paths, dict.fromkeys(_NAMES, "code"))

    def read(self, rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
        """Return JSON lines as the rows that :func:`prefix.split` makes of others.

        Args:
            rows: with ``line``, and a record as ``body``.
            parsed: for what is no record.
        """
        found = self._columns.read(Block("\n".join(rows["body"].to_list()).encode(), 0, 0))
        at = rows["line"]
        parsed.read += found.beyond
        parsed.unread += [Unread(at[u.line or 0], None, u.reason) for u in found.unread]
        made = [self._rows(batch.columns, at.gather(batch.lines)) for batch in found.batches]
        return pl.concat(made) if made else rows.clear().select(prefix.COLUMNS)

    def _rows(self, columns: dict[str, pl.Series], lines: pl.Series) -> pl.DataFrame:
        absent = pl.Series([None] * len(lines), dtype=pl.String)
        frame = pl.DataFrame(
            [columns.get(name, absent).cast(pl.String).alias(name) for name in _NAMES]
        )
        text = pl.col("message").replace(NOT_A_VALUE, None).str.replace_all(RAW, "")
        groups = pl.col("asctime").str.extract_groups(_TIME).struct
        day = groups.field("1").str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
        proc = pl.col("processName")
        return frame.select(
            lines.alias("line"),
            text.fill_null("{").alias("body"),
            text.is_not_null().alias("known"),
            (day.to_physical() + groups.field("2").cast(pl.Int64) * 1_000).alias("local"),
            pl.lit(value=True).alias("naive"),
            prefix.identity(proc, self._node),
            prefix.rank(proc).cast(pl.Int32).alias("dp"),
            pl.lit(None, dtype=pl.Int32).alias("tp"),
            # Each record has a place of its own: none goes on in the next line.
            pl.concat_str(pl.lit("record "), lines.cast(pl.String)).alias("head"),
            proc.str.starts_with("APIServer").fill_null(value=False).alias("front"),
            pl.lit(None, dtype=pl.String).alias("file"),
            pl.lit(value=False).alias("yearless"),
        )
