"""Observations: every hop's record, with its time in UTC, its side and its duplicates settled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics import duplicates, probes, schema, sides
from forensics.clock import Clocks
from forensics.columns import LOGGED, ensure, per_file
from forensics.spelling import one_spelling

__all__ = ["Observations", "ensure", "load"]

_TIMES = [column.name for column in schema.REQUEST_COLUMNS if column.kind == "time"]
_REFUSALS = ("input_too_long", "context_exceeded", "capacity")


@dataclass(frozen=True)
class Observations:
    """Rows with the columns of the schema that any record filled; and exact duplicates.

    ``doubled`` holds the records that an earlier equal one stands for; ``probes`` counts, per
    file number, those of health checks and warm-ups, which are no requests and stand in
    ``probed``.
    """

    frame: pl.DataFrame
    doubled: pl.DataFrame
    probes: dict[int, int]
    probed: pl.DataFrame


def load(
    parts: Sequence[Path], clocks: Clocks, roles: pl.DataFrame, columns: Sequence[str] = ()
) -> Observations:
    """Read the parts of all shards and settle what needs all of them.

    Args:
        parts: Parquet parts with observation columns.
        clocks: zone of each node's wall clock.
        roles: capacity epochs, for ``node`` and ``role``.
        columns: that other parts have.
    """
    frames = [pl.read_parquet(part) for part in sorted(parts)]
    if not frames:
        known = [column.name for column in LOGGED]
        empty = ensure(pl.DataFrame(), [*known, *schema.ORIGIN, "assumed"]).clear()
        return Observations(empty, empty, {}, empty)
    # In one piece: columns added later are, and filters copy a frame whose chunks differ.
    frame = ensure(pl.concat(frames, how="diagonal_relaxed", rechunk=True), columns)
    del frames
    frame = ensure(
        clocks.resolve(frame, _TIMES),
        ["request_id", "transfer_id", "tenant_id", "hop", "received_at"],
    )
    frame, probed = probes.without(one_spelling(_refused(frame)), roles)
    frame, doubled = duplicates.without(_named(sides.settle(frame, roles)))
    return Observations(frame, doubled, per_file(probed), probed)


def _refused(frame: pl.DataFrame) -> pl.DataFrame:
    """Take a code that only refusals have for one, where no flag says whether it was.

    A time-out, an abort or a failed transfer may have come after the prompt was taken on.
    """
    if "rejection_code" not in frame.columns:
        return frame
    told = pl.col("rejection_code").cast(pl.String).is_in(_REFUSALS)
    flag = pl.col("rejected").fill_null(pl.when(told).then(pl.lit(value=True)))
    return ensure(frame, ["rejected"]).with_columns(flag)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Name a record that has neither an id nor a hand-off by its values, so that it stays.

    Equal ones are numbered: none is a duplicate of another, and the names are the same
    however the records are spread over files.
    """
    nameless = pl.col("request_id").is_null() & pl.col("transfer_id").is_null()
    if not frame.select(nameless.any()).item():
        return frame
    rows = frame.with_row_index("_row").filter(nameless).rechunk()
    values = [
        pl.col(column.name).cast(pl.String).fill_null("")
        for column in LOGGED
        if column.name in rows.columns
    ]
    keys = rows.select("_row", key=pl.concat_str(values, separator="\x1f"))
    digests = {key: hashlib.sha256(key.encode()).hexdigest()[:16] for key in set(keys["key"])}
    digest = pl.col("key").replace_strict(list(digests), list(digests.values()))
    number = pl.int_range(pl.len()).over("key")
    name = pl.format(f"{duplicates.UNNAMED}{{}}:{{}}", digest, number)
    names = keys.select("_row", name=name)
    named = frame.with_row_index("_row").join(names, on="_row", how="left", maintain_order="left")
    filled = pl.when(pl.col("name").is_not_null()).then("name").otherwise("request_id")
    return named.with_columns(request_id=filled).drop("_row", "name")
