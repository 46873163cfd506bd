"""A few rows of a Parquet file, named columns only, without reading the rest."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, BinaryIO

MAGIC = b"PAR1"
_BATCH = 4096
_BUFFER = 64 << 10
"""Read of a column at a time; without it all of a row group's column is read for one batch."""


@dataclass(frozen=True)
class Rows:
    """A Parquet file of some rows, bytes read for it, and how many times the whole holds them."""

    data: bytes = field(repr=False)
    read: int
    factor: float


def sampled(
    file: BinaryIO, share: int, names: Collection[str], told: Callable[[int], object]
) -> Rows | None:
    """Return rows of the first, middle and last row group; None if it cannot be read so.

    About the share is read: a page of each column is the least that can be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow.lib import ArrowException

    counted = _Counted(file, told)
    try:
        opened = pq.ParquetFile(
            pa.PythonFile(counted, mode="r"), pre_buffer=False, buffer_size=_BUFFER
        )
        columns = [name for name in opened.schema_arrow.names if name in names]
        groups = sorted({0, opened.num_row_groups // 2, opened.num_row_groups - 1})
        taken: list[Any] = []
        for at, group in enumerate(groups):
            until = share * (at + 1) // len(groups)
            for batch in opened.iter_batches(_BATCH, row_groups=[group], columns=columns):
                taken.append(batch)
                if counted.read_bytes >= until:
                    break
        table = pa.Table.from_batches(taken, schema=taken[0].schema)
        out = io.BytesIO()
        pq.write_table(table, out)
    except (ArrowException, OSError, ValueError, IndexError):
        return None
    factor = opened.metadata.num_rows / max(table.num_rows, 1)
    return Rows(out.getvalue(), counted.read_bytes, factor)


class _Counted(io.RawIOBase):
    """A file whose reads are counted."""

    def __init__(self, file: BinaryIO, told: Callable[[int], object]) -> None:
        self._file = file
        self._told = told
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.read_bytes += len(data)
        self._told(len(data))
        return data
