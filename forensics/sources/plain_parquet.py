"""The plain input format as Parquet; apart from the others, since pyarrow is slow to import."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.lib import ArrowException

from forensics.sources import plain, records
from forensics.sources.arrowcolumns import as_series
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.csvcolumns import agreed
from forensics.sources.howmany import RESULT
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.records import Raw

PARQUET_ROWS = 131_072
_DAMAGE = (ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError)
"""What Arrow raises on bytes that are no Parquet; the texts of these may quote data."""


def read_parquet(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the records of Parquet; only named columns are decoded."""
    wanted = plain.flat_names(context.incident)
    first = 1
    data = opened.whole()
    if plain.is_result(_names(data), context.incident):
        yield Parsed(read=1, unread=[Unread(None, None, RESULT)])
        return
    for columns, height in _batches(data, wanted):
        if columns is None:
            yield Parsed(read=1, unread=[Unread(None, None, "damaged Parquet file")])
            return
        parsed = Parsed(read=height)
        lines = pl.int_range(first, first + height, dtype=pl.Int64, eager=True)
        raw = Raw(plain.merge_tenant(columns), lines, None, context.stated_node)
        records.add(plain.with_node(raw), context, parsed)
        first += height
        yield parsed


def _names(data: BytesIO) -> list[str]:
    try:
        names: list[str] = pq.read_schema(data).names
    except _DAMAGE:
        return []
    finally:
        data.seek(0)
    return names


def _batches(
    data: BytesIO, wanted: dict[str, str]
) -> Iterator[tuple[dict[str, pl.Series] | None, int]]:
    """Yield the named columns of each batch with its height; None where the file is damaged.

    Nothing but values goes on to Polars: names and metadata that are no UTF-8 would end
    it in a panic, whose text goes to stderr and may quote data.
    """
    rows = 0
    try:
        file = pq.ParquetFile(data, page_checksum_verification=True)
        picked = [name for name in file.schema_arrow.names if name in wanted]
        for batch in file.iter_batches(PARQUET_ROWS, columns=picked):
            rows += batch.num_rows
            yield _named(batch, wanted), batch.num_rows
        damaged = rows != file.metadata.num_rows
    except _DAMAGE:
        damaged = True
    if damaged:
        yield None, 0


def _named(batch: pa.RecordBatch, wanted: dict[str, str]) -> dict[str, pl.Series]:
    columns: dict[str, pl.Series] = {}
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name not in wanted:
            continue
        ours = wanted[name]
        series = as_series(array).alias(ours)
        columns[ours] = agreed(columns[ours], series) if ours in columns else series
    return columns
