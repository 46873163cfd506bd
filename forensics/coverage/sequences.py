"""Prompts of one call that its numbered ids prove and no record stands for.

vLLM numbers the prompts of a completion from zero behind the id of the call, and logs each of
them: beside number two there was a number one. One that any node logged is not missing, and no
prompt after the last number that was seen is proved. Only ids that are a UUID and a number
count, since a client may end an id of its own in one.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from forensics.activity import HOUR
from forensics.columns import ensure
from forensics.coverage.doubled import NODE
from forensics.sources.reading import FileFacts

SKIPPED: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "hour": pl.Int64(),
    "skipped": pl.Int64(),
}
NUMBERING = "vllm"
"""Beginning of the names of formats whose ids number the prompts of a call."""
READ = ("file", "request_id", "received_at", "hop", "prefill_node", "decode_node")
"""What is read of records."""
_ID = r"^([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})(?:-([0-9]{1,4}))?$"


def skipped(observed: pl.DataFrame, files: Iterable[FileFacts]) -> pl.DataFrame:
    """Return :data:`SKIPPED`: numbers without a record, at the first one of their call."""
    own = [facts.number for facts in files if (facts.format or "").startswith(NUMBERING)]
    if not own:
        return pl.DataFrame(schema=SKIPPED)
    rows = ensure(observed.filter(pl.col("file").is_in(own)), READ)
    parts = pl.col("request_id").str.extract_groups(_ID).struct
    number = parts.field("2").cast(pl.Int64).fill_null(0)
    calls = (
        rows.select(call=parts.field("1"), number=number, node=NODE, hop="hop", at="received_at")
        .drop_nulls("call")
        .sort("at", "hop", "node", nulls_last=True)
        .group_by("call", maintain_order=True)
        .agg(
            pl.col("node", "hop", "at").first(),
            skipped=pl.col("number").max() + 1 - pl.col("number").n_unique(),
        )
        .filter(pl.col("skipped") > 0)
    )
    hour = pl.col("at") // HOUR * HOUR
    counted = calls.group_by("node", "hop", hour.alias("hour")).agg(pl.col("skipped").sum())
    return counted.select(pl.col(name).cast(dtype) for name, dtype in SKIPPED.items())
