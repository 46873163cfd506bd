"""Batch lines: how much ran, per engine and quarter of an hour. None names a request."""

from __future__ import annotations

from functools import partial, reduce

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.sglang.clock import QUARTER_HOUR
from forensics.sources.sglang.figures import Template
from forensics.sources.sglang.message import COUNT, Message, Rows, number
from forensics.sources.sglang.prefix import identity

_PAGE = 64
"""The line has no page size; the engine's attention kernels for such models fix it at 64."""
_SHARE = r"[0-9]{1,3}\.[0-9]{1,4}"
_PREFILL = (
    rf"^Prefill batch(?: \[[0-9]+\])?[.,] #new-seq: (?<sequences>{COUNT}), "
    rf"#new-token: (?<tokens>{COUNT}), #cached-token: (?<cached>{COUNT}), "
    rf"(?:full )?token usage: (?<usage>{_SHARE})"
)
# Written so that each byte decides what comes next: then it is read in one pass.
_DECODE = (
    rf"^Decode batch(?: \[[0-9]+\])?[.,] #running-req: (?<sequences>{COUNT}), "
    rf"#(?:full )?token: (?<used>{COUNT}), (?:full )?token usage: (?<usage>{_SHARE}), "
    r"(?:accept len: [0-9.]+, accept rate: [0-9.]+, )?pre-allocated usage: [0-9.]+, "
    r"#prealloc-req: [0-9]+, #transfer-req: [0-9]+, #(?:host-receive-req: [0-9]+, #)?"
    rf"retracted-req: (?<retracted>{COUNT})"
)
_DECODE_PLACES = Template(
    "Decode batch, #running-req: {sequences:d}, #token: {used:d}, token usage: {usage:s}, "
    "pre-allocated usage: {:s}, #prealloc-req: {:d}, #transfer-req: {:d}, "
    "#retracted-req: {retracted:d}"
)
_PREFILL_PLACES = Template(
    "Prefill batch, #new-seq: {sequences:d}, #new-token: {tokens:d}, #cached-token: {cached:d}, "
    "token usage: {usage:s}"
)
_SEQUENCES = {"prefill": "new-seq", "decode": "running-req"}
_FIELDS = {
    "tokens": rf" #new-token: ({COUNT})\b",
    "cached": rf" #cached-token: ({COUNT})\b",
    "used": rf" #(?:full )?token: ({COUNT})\b",
    "usage": rf"[,.] (?:full )?token usage: ({_SHARE})",
    "retracted": rf" #retracted-req: ({COUNT})\b",
}


def _any(side: str, key: str) -> str:
    """The rest of a line that has the field it cannot be without, wherever it stands."""
    number = rf"(?:.* )?#{key}: [0-9]{{1,12}}(?:[ ,].*)?"
    return rf"^{side} batch(?: \[[0-9]+\])?(?<rest>[.,] {number})$"


def _count(rows: Rows, hop: str) -> None:
    frame = _fields(rows.frame, {"sequences": rf" #{_SEQUENCES[hop]}: ({COUNT})\b"} | _FIELDS)
    counted = frame.group_by("dp", "naive", _QUARTER, maintain_order=True).agg(_SUMS)
    rows.parsed.activity.append(_placed(counted, rows, hop, _SUMMED))
    if hop == "decode":
        rows.parsed.activity.append(_placed(_highest(frame), rows, hop, _USED))


def _placed(frame: pl.DataFrame, rows: Rows, hop: str, names: tuple[str, ...]) -> pl.DataFrame:
    node = rows.context.node
    return frame.select(
        identity(node).alias("node"),
        pl.lit(hop).alias("hop"),
        pl.col("local").alias("at"),
        *names,
        "naive",
        pl.lit(node).alias("source_node"),
        pl.lit(rows.context.number, dtype=pl.Int32).alias("file"),
    )


def _highest(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the line of each minute with most tokens in the pool, at its own moment."""
    minute = ("dp", "naive", pl.col("local") // _MINUTE)
    told = frame.select("dp", "naive", "local", "used", "usage")
    # Few lines are the highest: they alone are put in order.
    most = told.filter(pl.col("used") == pl.col("used").max().over(*minute))
    first = most.sort("used", "usage", "local", descending=[True, True, False], nulls_last=True)
    each = first.group_by(*minute, maintain_order=True)
    highest = each.agg(pl.first("used"), pl.first("usage"), at=pl.first("local"))
    return highest.select("dp", "naive", "usage", local="at", used_tokens="used")


def _fields(frame: pl.DataFrame, forms: dict[str, str]) -> pl.DataFrame:
    """Each field as a number, from its place or from wherever it stands in ``rest``."""
    absent = [name for name in forms if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)
    if frame["rest"].null_count() < frame.height:
        frame = frame.with_columns(
            pl.coalesce(name, pl.col("rest").str.extract(form, 1)) for name, form in forms.items()
        )
    return frame.with_columns(_NUMBERS)


_NUMBERS = [
    *(number(name).alias(name) for name in ("sequences", *_FIELDS) if name != "usage"),
    pl.col("usage").cast(pl.Float64, strict=False),
]
_SINGLE = (pl.col("sequences") == 1) & (pl.col("tokens") <= _PAGE) & (pl.col("cached") == 0)
_PRIME = 2_147_483_647
_LINE = reduce(
    lambda sofar, name: (sofar * 1_000_003 + pl.col(name).fill_null(0)) % _PRIME,
    ("sequences", "tokens", "cached", "used", "retracted"),
    pl.col("local") // 1_000 % _PRIME,
)
"""A number made of a line's figures and its time."""
_SUMS = [
    pl.len().cast(pl.Int64).alias("batches"),
    _LINE.sum().alias("lines"),
    pl.sum("sequences"),
    pl.when(pl.col("tokens").count() > 0).then(pl.sum("tokens")).alias("tokens"),
    pl.when(pl.col("tokens").count() > 0)
    .then(_SINGLE.fill_null(value=False).sum().cast(pl.Int64))
    .alias("single_page_batches"),
    pl.max("used").alias("used_tokens"),
    pl.max("usage"),
    pl.when(pl.col("retracted").count() > 0).then(pl.sum("retracted")).alias("retracted"),
]
_MINUTE = 60_000_000
_QUARTER = pl.col("local") // QUARTER_HOUR * QUARTER_HOUR
_SUMMED = (
    "batches",
    "lines",
    "sequences",
    "tokens",
    "single_page_batches",
    "used_tokens",
    "usage",
    "retracted",
)
_USED = ("used_tokens", "usage")
MESSAGES = (
    Message(
        Form(
            "prefill-batch",
            "prefill batch line",
            "0.4.6-0.5.8, 0.5.10-0.5.23",
            "sequences and new tokens per engine and quarter of an hour, batches of one page",
        ),
        ("Prefill batch",),
        (_PREFILL, _any("Prefill", _SEQUENCES["prefill"])),
        partial(_count, hop="prefill"),
        template=_PREFILL_PLACES,
    ),
    Message(
        Form(
            "decode-batch",
            "decode batch line",
            "0.4.6-0.5.23",
            "sequences, tokens in the pool, its highest use, retractions per quarter of an hour; "
            "tokens in the pool at the moment of each minute that has most",
        ),
        ("Decode batch",),
        (_DECODE, _any("Decode", _SEQUENCES["decode"])),
        partial(_count, hop="decode"),
        template=_DECODE_PLACES,
    ),
)
