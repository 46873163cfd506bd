"""The plain input format as Parquet; apart from the others, since pyarrow is slow to import."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.lib import ArrowException

from forensics.sources import plain, records
from forensics.sources.blocks import Opened
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.records import Raw
from forensics.sources.values import flattened

PARQUET_ROWS = 131_072


def read_parquet(opened: Opened, context: Context) -> Iterator[Parsed]:
    """Yield the records of Parquet; only named columns are decoded."""
    data = opened.whole()
    try:
        file = pq.ParquetFile(data)
        wanted = plain.flat_names(context.incident)
        picked = [name for name in file.schema_arrow.names if name in wanted]
        first = 1
        for batch in file.iter_batches(PARQUET_ROWS, columns=picked):
            frame = pl.DataFrame(_checked(batch))
            parsed = Parsed(read=frame.height)
            lines = pl.int_range(first, first + frame.height, dtype=pl.Int64, eager=True)
            columns = {wanted[name]: flattened(frame[name]) for name in picked}
            raw = Raw(plain.merge_tenant(columns), lines, None, context.stated_node)
            records.add(plain.with_node(raw), context, parsed)
            first += frame.height
            yield parsed
    except (ArrowException, OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        yield Parsed(read=1, unread=[Unread(None, None, "damaged Parquet file")])


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with texts as bytes where they are no UTF-8: nothing else checks them."""
    try:
        batch.validate(full=True)
        # A name in the file's own metadata that is no UTF-8 ends Polars in a panic.
        batch = pa.RecordBatch.from_arrays(batch.columns, names=batch.schema.names)
    except ArrowException:
        return pa.RecordBatch.from_arrays(
            [_as_bytes(column) for column in batch.columns], names=batch.schema.names
        )
    return batch


def _as_bytes(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.cast(pa.large_binary())
    return column
