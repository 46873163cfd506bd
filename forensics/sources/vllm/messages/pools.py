"""Sizes of KV pools. What the number counts changed from version to version.

Up to 0.7 blocks are printed, whose size follows from the concurrency line below them. From 0.8
it is tokens: up to 0.20 those of all blocks, from 0.22 on concurrency times window. Both look
alike, so the fact of such a line has no basis: the version of the boot gives it.
"""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.vllm.message import COUNT, GROUPED, Message, Rows, number

_SIZES = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Tokens that a block can have."""
_TIMES = r"[0-9]{1,9}\.[0-9]{2}"
_PRECISION = 0.006
"""The concurrency is printed with two digits."""
_NEAR = 60_000_000
"""The two lines of one boot are no further apart, microseconds."""
BLOCKS = r"^# [A-Za-z]{2,12} blocks: ([0-9]{1,12})(?:,|$)"


def with_blocks(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``blocks`` and ``blocks_at``: what the block line before said, per engine."""
    nothing = pl.lit(None, dtype=pl.Int64)
    if not rows["body"].str.starts_with("# ").any():
        return rows.with_columns(blocks=nothing, blocks_at=nothing)
    blocks = pl.col("body").str.extract(BLOCKS, 1).cast(pl.Int64)
    rows = rows.with_columns(blocks=pl.when("known").then(blocks))
    at = pl.when(pl.col("blocks").is_not_null()).then("local")
    return rows.with_columns(
        pl.col("blocks").forward_fill().over("identity"),
        blocks_at=at.forward_fill().over("identity"),
    )


def _page() -> pl.Expr:
    """The only size of a block that makes the concurrency of so many blocks."""
    tokens = pl.col("times").cast(pl.Float64) * number("context")
    slack = _PRECISION * number("context")
    fits = [(pl.col("blocks") * size - tokens).abs() <= slack for size in _SIZES]
    only = pl.sum_horizontal(fit.cast(pl.Int64) for fit in fits) == 1
    near = (pl.col("local") - pl.col("blocks_at")).is_between(0, _NEAR)
    found = pl.coalesce(pl.when(fit).then(size) for fit, size in zip(fits, _SIZES, strict=True))
    return pl.when(only & near).then(found).cast(pl.Int64)


def _concurrency(rows: Rows) -> None:
    rows.fact("server_pool", ranked=False, context_tokens=number("context"))
    paged = Rows(rows.frame.with_columns(page=_page()), rows.context, rows.parsed)
    paged.where(pl.col("page").is_not_null()).fact(
        "rank_pool",
        pool_tokens=pl.col("page") * pl.col("blocks"),
        page_tokens=pl.col("page"),
        pool_basis=pl.lit("blocks"),
    )


def _tokens(rows: Rows) -> None:
    both = pl.col("context").is_not_null()
    rows.where(~both).fact("rank_pool", pool_tokens=number("pool"))
    later = rows.where(both)
    later.fact("server_pool", ranked=False, context_tokens=number("context"))
    # Of a pool that reaches into the host's memory the share on the device is not known.
    later.where(~pl.col("device").str.contains("+", literal=True)).fact(
        "rank_pool", pool_tokens=number("pool"), pool_basis=pl.lit("concurrency_x_len")
    )


def _nothing(_: Rows) -> None:
    """What the line says is taken with the concurrency line that follows it."""


_CONTEXT = rf"Maximum concurrency for (?<context>{GROUPED}) tokens per request: (?<times>{_TIMES})x"
_DEVICE = r"(?<device>[A-Za-z][A-Za-z0-9_]{0,20}(?: \+ [A-Za-z][A-Za-z0-9_]{0,20})?)"
MESSAGES = (
    Message(
        Form(
            "block-count",
            "block line",
            "0.6-0.7, and the V0 engine of 0.8",
            "with the concurrency line after it the pool and size of a block",
        ),
        tuple(f"# {name} blocks: " for name in ("GPU", "cuda", "rocm", "xpu", "hpu", "tpu", "CPU")),
        (rf"^# [A-Za-z]{{2,12}} blocks: (?<found>{COUNT})(?:, # CPU blocks: {COUNT})?$",),
        _nothing,
        front=False,
        ids=(),
    ),
    Message(
        Form(
            "concurrency",
            "concurrency line",
            "0.6-0.26",
            "context; after a block line pool and size of a block",
        ),
        ("Maximum concurrency for ",),
        (rf"^{_CONTEXT}$",),
        _concurrency,
        front=False,
        ids=(),
    ),
    Message(
        Form(
            "kv-cache-size",
            "KV cache size line",
            "0.8-0.26; 0.30-0.33 with context and concurrency",
            "pool, by the version: tokens of all blocks up to 0.20, concurrency times context "
            "from 0.22 on; without the version nothing, but for the form of 0.30",
        ),
        ("GPU KV cache size: ",),
        (
            rf"^GPU KV cache size: (?<pool>{GROUPED}) tokens$",
            rf"^{_DEVICE} KV cache size: (?<pool>{GROUPED}) tokens, {_CONTEXT}$",
        ),
        _tokens,
        inside=(" KV cache size: ",),
        front=False,
        ids=(),
    ),
)
