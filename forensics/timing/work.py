"""What a prefill had to compute, and which figures of time may be compared with each other.

The tokens to compute are the prompt as the client counts it less those that prefill's cache
held. What prefill says it computed is not asked: of a placeholder it is one token.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from forensics.believed import BELIEVED
from forensics.columns import ensure
from forensics.limits import in_force

GROUP = ("source", "model", "node", "since")
"""Times are compared within one format and hop, model, node, and time since that node's start."""
POOL = GROUP[:2]
"""What a node with little data borrows from: all nodes of that model in that source."""
SERVER = pl.col("prefill_node").str.replace(r"/[^/]*$", "")
"""The server of a prefill engine: what stands before the rank."""
READ = ("hop", "file", "prefill_ms")
"""What is read of records."""
_MS = (1e-3, 1e9)
_MOST_TOKENS = 2**32
"""No figure outside of these is of a prefill; sums of those within fit 64 bits."""
_NEEDS = ("prefill_ms", "prompt_tokens", "cached_tokens", "prefill_prompt_tokens", "prefill_tokens")
_TOLD = pl.coalesce("cached_tokens", pl.col("prefill_prompt_tokens") - pl.col("prefill_tokens"))
_PROMPT = pl.max_horizontal("prompt_tokens", "decode_prompt_tokens")


_TIMED: dict[str, pl.DataType] = {
    "_row": pl.UInt32(),
    **dict.fromkeys(("source", "model", "node"), pl.String()),
    **dict.fromkeys(("since", "prompt", "cached", "uncached"), pl.Int64()),
    "received_at": pl.Int64(),
    "ms": pl.Float64(),
    "over": pl.Boolean(),
    "below": pl.Boolean(),
    "group": pl.UInt32(),
}


def timed(
    requests: pl.DataFrame,
    observed: pl.DataFrame,
    formats: Mapping[int, str | None],
    epochs: pl.DataFrame,
) -> pl.DataFrame:
    """Return the requests whose prefill has a time: :data:`GROUP`, ``ms``, ``prompt``, ``cached``.

    ``_row`` is the place of the request; ``uncached`` the tokens that had to be computed, null
    where the prompt or the cached tokens are not known. ``over`` says that the prompt is known
    to be over the limit, so that its time is no measure of what the node can do, and ``below`` that
    it is known to be below.

    Args:
        requests: with the limits attached.
        observed: the records behind them, with ``handoff``, ``hop`` and ``file``.
        formats: of each file number.
        epochs: capacity epochs, for the starts of the nodes.
    """
    rows = ensure(requests, [*_NEEDS, "model", "decode_prompt_tokens"]).with_row_index("_row")
    wanted = ("_row", "handoff", "received_at", "assumed", "prefill_node", "model")
    over = (pl.col("limit_low") <= _PROMPT).fill_null(value=False)
    below = (pl.col("limit_low") > _PROMPT).fill_null(value=False)
    rows = rows.select(
        *wanted, ms="prefill_ms", prompt=_PROMPT, cached=_TOLD, over=over, below=below
    )
    rows = rows.filter(pl.col("ms").is_between(*_MS))
    if not rows.height:
        return pl.DataFrame(schema=_TIMED)
    starts = in_force(rows, epochs, "prefill_node", {"effective_at": "since"})
    rows = rows.join(starts, on="_row", how="left", maintain_order="left")
    rows = _with_source(rows, observed, formats)
    known = pl.col("cached").is_between(0, _MOST_TOKENS) & (pl.col("prompt") <= _MOST_TOKENS)
    left = pl.when(known).then(pl.col("prompt") - pl.col("cached"))
    return grouped(
        rows.select(
            "_row",
            "source",
            "model",
            "since",
            "ms",
            "prompt",
            "cached",
            "over",
            "below",
            "received_at",
            node="prefill_node",
            uncached=pl.when(left > 0).then(left),
        )
    )


def unusable(requests: pl.DataFrame) -> int:
    """Count the times that no prefill takes, of zero above all."""
    if "prefill_ms" not in requests.columns:
        return 0
    return int((~requests["prefill_ms"].cast(pl.Float64).is_between(*_MS)).sum())


def grouped(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``group``, the number of what each row's time is compared with."""
    vary = [name for name in GROUP if rows[name].n_unique() > 1] or ["node"]
    groups = rows.select(vary).unique().sort(vary).with_row_index("group")
    return rows.join(groups, on=vary, how="left", nulls_equal=True, maintain_order="left")


def groups_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the groups of some rows: ``group`` and the names of :data:`GROUP`."""
    return rows.select("group", *GROUP).unique("group").sort("group")


def _with_source(
    rows: pl.DataFrame, observed: pl.DataFrame, formats: Mapping[int, str | None]
) -> pl.DataFrame:
    """Name the format and hop that the believed time is from."""
    if "prefill_ms" not in observed.columns:
        return rows.with_columns(source=pl.lit(None, dtype=pl.String))
    names = [str(formats[number] or "unknown") for number in formats]
    logged = observed.filter(pl.col("prefill_ms").is_not_null()).select(
        "handoff",
        "hop",
        ms="prefill_ms",
        format=pl.col("file").replace_strict(
            list(formats), names, default="unknown", return_dtype=pl.String
        ),
    )
    kinds = logged.select("format", "hop").unique()
    if kinds.height == 1:
        return rows.with_columns(source=pl.lit(_name(*kinds.row(0))))
    return _with_own_source(rows, logged, kinds)


def _with_own_source(rows: pl.DataFrame, logged: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    order = BELIEVED["prefill"]
    kinds = kinds.with_columns(
        rank=pl.col("hop").replace_strict(
            list(order), range(len(order)), default=len(order), return_dtype=pl.Int64
        ),
        source=pl.Series([_name(*kind) for kind in kinds.iter_rows()], dtype=pl.String),
    )
    found = logged.join(kinds, on=["format", "hop"]).sort("handoff", "rank", "ms", "source")
    first = found.unique("handoff", keep="first", maintain_order=True).select("handoff", "source")
    return rows.join(first, on="handoff", how="left", maintain_order="left")


def _name(format_name: str, hop: str) -> str:
    return f"{format_name}, {hop}"
