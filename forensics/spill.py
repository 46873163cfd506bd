"""Rows between two stages, in the private folder of a run."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

import polars as pl

from forensics.errors import ForensicsError
from forensics.guard import Table, shaped


def spill(path: Path, rows: pl.DataFrame, declared: Table) -> None:
    """Write rows that are read again soon, or in place of such, in one step.

    Args:
        path: in the private folder itself.
        rows: some columns of the table.
        declared: which columns there may be.

    Raises:
        PrivacyError: a column is none of the table's.
        ForensicsError: the folder cannot be written to.
    """
    rows = shaped(rows, declared)
    try:
        # Read once and soon: packing costs more than it saves. In one step: where a worker
        # was taken for lost, it and its successor write the same file.
        made = path.with_suffix(f".{token_hex(8)}")
        rows.write_parquet(made, compression="uncompressed", statistics=False)
        made.replace(path)
    except OSError as error:
        # Not a fault of the input: rows that were counted as kept would be lost.
        raise ForensicsError(
            f"{path.parent.parent}: cannot be written ({error.strerror or 'no space left?'})"
        ) from None
