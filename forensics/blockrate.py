"""Pages that arrived, from the bytes and the reserved blocks that a decode engine logs.

What a block weighs is constant for an engine. A complete hand-off of ``n`` blocks weighs more
than ``n - 1`` of them and at most ``n``; the weight that most hand-offs agree on is taken, if
they are enough and the majority. Others then have the pages that their bytes fill. The
figure may carry evidence and never clears anyone.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure

ENOUGH = 5
"""Hand-offs that have to agree on the weight of a block."""
_EXACT = 1e-9
"""Relative rounding of a division."""
_NEEDED = (
    *("transfer_mb", "reserved_pages", "transferred_pages", "decode_node"),
    *("prefill_prompt_tokens", "decode_prompt_tokens"),
)


def fill(requests: pl.DataFrame) -> pl.DataFrame:
    """Fill ``transferred_pages`` where bytes and reserved pages are logged and no token count.

    Returns:
        The same rows; with ``transfer_calibrated`` where pages were filled.
    """
    if not {"transfer_mb", "reserved_pages"} <= set(requests.columns):
        return requests
    rows = ensure(requests, _NEEDED).with_row_index("_row")
    unknown = pl.all_horizontal(pl.col(name).is_null() for name in _NEEDED[-2:])
    logged = (pl.col("transfer_mb") > 0) & (pl.col("reserved_pages") > 0)
    sent = rows.filter(logged & unknown & pl.col("transferred_pages").is_null()).select(
        "_row",
        mb="transfer_mb",
        blocks="reserved_pages",
        server=pl.col("decode_node").str.replace(r"/[^/]*$", "").fill_null(""),
    )
    found = [_pages(own) for _, own in sorted(sent.partition_by("server", as_dict=True).items())]
    if not found:
        return requests
    return _filled(requests, pl.concat(found))


def _filled(requests: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    rows = ensure(requests, ["transferred_pages"]).with_row_index("_row")
    if "transfer_calibrated" not in rows.columns:
        rows = rows.with_columns(transfer_calibrated=pl.lit(value=False))
    rows = rows.join(found, "_row", how="left", maintain_order="left")
    return rows.with_columns(
        transferred_pages=pl.coalesce("transferred_pages", "pages"),
        transfer_calibrated=pl.col("transfer_calibrated") | pl.col("pages").is_not_null(),
    ).drop("_row", "pages")


def _pages(sent: pl.DataFrame) -> pl.DataFrame:
    """Return the pages of one engine's hand-offs; none where they agree on no weight."""
    weight = _weight(sent)
    if weight is None:
        return pl.DataFrame(schema={"_row": sent.schema["_row"], "pages": pl.Int64})
    filled = (pl.col("mb") / weight * (1 - 2 * _EXACT)).ceil().cast(pl.Int64)
    return sent.select("_row", pages=filled)


def _weight(sent: pl.DataFrame) -> float | None:
    """Return the least weight of a block that most hand-offs allow, in MiB.

    One block allows any weight from its own on, and so says nothing.
    """
    told = sent.filter(pl.col("blocks") > 1).select(
        low=pl.col("mb") / pl.col("blocks") * (1 - _EXACT),
        high=pl.col("mb") / (pl.col("blocks") - 1),
    )
    if told.height < ENOUGH:
        return None
    begins = told.select(at="low", step=pl.lit(1))
    ends = told.select(at="high", step=pl.lit(-1))
    points = pl.concat([begins, ends]).sort("at", "step")
    points = points.with_columns(agree=pl.col("step").cum_sum())
    most = points["agree"].max()
    if not isinstance(most, int) or most < ENOUGH or 2 * most <= told.height:
        return None
    return float(points.filter(agree=most)["at"].min())  # type: ignore[arg-type]
