"""What an engine prints as it fails: the one line that says which request holds which block."""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.sglang.skeleton import skeleton, sound
from forensics.sources.vllm import tables
from forensics.sources.vllm.hops import LATE, either
from forensics.sources.vllm.ids import ADDED, internal
from forensics.sources.vllm.message import Message, Rows, counted

_FIELDS = {
    "at": pl.Int64(),
    "rid": pl.String(),
    "tokens": pl.Int64(),
    "overlap": pl.Boolean(),
}


def _requests(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each request of each dump; a dump that cannot be read has none."""
    text, bare = pl.col("dump"), pl.col("bare")
    frame = frame.with_columns(bare=skeleton(text))
    frame = frame.filter(sound(text, bare).fill_null(value=False))
    found: list[tuple[int, str, int | None, bool]] = []
    for line, dump in frame.select("line", "bare").iter_rows():
        read = tables.read(dump) or []
        shared = tables.overlapping(read)
        found += [(line, t.request, t.prompt_tokens, t.request in shared) for t in read]
    rows = pl.DataFrame(found, schema=_FIELDS, orient="row")
    return frame.drop("dump", "bare").join(rows, left_on="line", right_on="at")


def _dumped(rows: Rows) -> None:
    rows.observe(
        *either(internal("rid", random=pl.col(ADDED)), LATE),
        *(
            pl.col("tokens").alias(name)
            for name in ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
        ),
        pl.when("overlap").then(pl.lit(value=True)).alias("block_overlap"),
    )


MESSAGES = (
    Message(
        Form(
            "scheduler-dump",
            "dump of the scheduler",
            "0.8-0.33, where an engine failed",
            "ids and prompt tokens of the requests of a step, and whether two held one block",
        ),
        ("Dumping scheduler output for model execution: ",),
        (r"^Dumping scheduler output for model execution: (?<dump>SchedulerOutput\(.*\))$",),
        _dumped,
        front=False,
        prepare=_requests,
    ),
    counted(
        Form(
            "engine-dump",
            "dump of settings and statistics",
            "0.8-0.33, where an engine failed",
            "nothing: settings, and load of no named request",
        ),
        "Dumping input data",
        "Dumping scheduler stats: ",
    ),
)
