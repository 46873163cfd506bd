"""Is the size of a page what the records say: a wrong one makes other pages of the same tokens."""

from __future__ import annotations

import polars as pl


def contradicted(rows: pl.DataFrame) -> bool:
    """Say whether pages that arrived cannot be of the size that made pages of reserved tokens.

    No more can arrive than were reserved, and where more than the one page of the fault came, it
    was mostly all of them.

    Args:
        rows: requests of one rank with ``pages`` by that size, beside ``reserved_pages`` where
            these were logged, and ``transferred_pages``.
    """
    made = rows.filter(pl.col("reserved_pages").is_null())
    known = made.select("pages", came="transferred_pages").drop_nulls()
    if known.select((pl.col("came") > pl.col("pages")).any()).item():
        return True
    several = known.filter(pl.col("came") > 1)
    whole = several.filter(pl.col("came") == pl.col("pages"))
    return 2 * whole.height < several.height
