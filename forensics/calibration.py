"""Pages that arrived, from the megabytes that prefill logs.

What a page weighs is constant for an engine between two starts, so healthy requests give
the rate, and the rate gives the pages of the others. The figure may carry evidence, and
never clears anyone: up to 0.5.11 SGLang computes the megabytes from the prompt.
"""

from __future__ import annotations

import polars as pl

from forensics import decodecache, limits
from forensics.columns import ensure
from forensics.decodecache import whole_pages

ROUNDING = 0.005
"""Megabytes are logged to two decimals."""
ENOUGH = 5
"""Healthy requests from which a rate is taken."""
SMALLEST_PAGES = 8
"""A healthy request has so many pages at least: rounding would swamp fewer."""
SPREAD = 0.02
"""How far apart the rates of healthy requests may be."""
AGREE = 0.75
"""Share of them whose rates are that near: a short transfer can look healthy by its counts."""
OFF = 0.05
"""How far from a whole number of pages the result may be, pages."""
_DOUBT = 0.45
"""Rounding and spread together must leave one whole number, pages."""
_PAGES = [2**power for power in range(10)]
"""Page sizes that are tried where none is known."""
_USUAL_PAGE = 64


def fill(requests: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Fill ``transferred_pages`` and ``reserved_pages`` where no log counts them.

    Args:
        requests: with limits attached.
        epochs: :attr:`forensics.capacity.Capacity.epochs`.

    Returns:
        The same rows; with ``transfer_calibrated`` where megabytes were logged, and
        :data:`forensics.decodecache.NAME`.
    """
    requests = decodecache.reserved(requests, epochs)
    if "transfer_mb" not in requests.columns:
        return decodecache.attach(requests, epochs)
    sent = _sent(requests.with_row_index("_row"), epochs)
    if not sent.height:
        return decodecache.attach(requests, epochs)
    pages = pl.coalesce(_pages(sent, "rank"), _pages(sent, "server"))
    found = sent.select("_row", pages=pages).drop_nulls()
    rows = requests.with_row_index("_row").join(found, "_row", how="left", maintain_order="left")
    rows = rows.with_columns(
        transferred_pages=pl.coalesce("transferred_pages", "pages"),
        transfer_calibrated=pl.col("pages").is_not_null(),
    ).drop("_row", "pages")
    return decodecache.attach(rows, epochs)


def _sent(requests: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Return the hand-offs with megabytes: who sent them since when, and what is known of them."""
    columns = ["prefill_prompt_tokens", "decode_prompt_tokens", "transfer_status"]
    rows = ensure(requests, [*columns, "transferred_pages", "transferred_tokens"])
    rows = rows.filter((pl.col("transfer_mb") > 0) & pl.col("prefill_node").is_not_null())
    begun = limits.in_force(
        rows.select("_row", "prefill_node", "received_at"),
        epochs,
        "prefill_node",
        {"effective_at": "since"},
    )
    fleet = epochs["page_tokens"].drop_nulls().unique()
    page = pl.coalesce(
        "prefill_page_tokens", "decode_page_tokens", pl.lit(fleet[0] if len(fleet) == 1 else None)
    )
    unlogged = pl.col("transferred_pages").is_null() & pl.col("transferred_tokens").is_null()
    return rows.join(begun, on="_row", how="left", maintain_order="left").select(
        "_row",
        "since",
        mb="transfer_mb",
        tokens="prefill_prompt_tokens",
        rank="prefill_node",
        server=pl.col("prefill_node").str.replace(r"/[^/]*$", ""),
        page=page,
        unlogged=unlogged,
        healthy=_HEALTHY.fill_null(value=False),
    )


_HEALTHY = (
    pl.coalesce("decode_prompt_tokens", "prefill_prompt_tokens") == pl.col("prefill_prompt_tokens")
) & ~pl.col("transfer_status").is_in(["failed", "aborted"]).fill_null(value=False)
"""Both sides counted the same prompt; where only prefill's count is left, it is taken."""


def _pages(sent: pl.DataFrame, by: str) -> pl.Series:
    """Return the pages of each hand-off at the rate of its rank or server; null where in doubt."""
    key = [by, "since"]
    rates = _rates(_with_page(sent, key), key)
    rows = sent.join(rates, on=key, how="left", maintain_order="left", nulls_equal=True)
    exact = pl.col("mb") / pl.col("rate")
    whole = exact.round()
    doubt = (ROUNDING + whole * pl.col("width")) / pl.col("rate")
    sure = (whole >= 1) & ((exact - whole).abs() <= OFF) & (doubt < _DOUBT)
    pages = pl.when(sure & pl.col("unlogged")).then(whole.cast(pl.Int64))
    return rows.select(pages=pages).to_series()


def _rates(sent: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return megabytes a page for each key with enough healthy requests that agree."""
    rows = sent.filter(pl.col("healthy") & (pl.col("tokens") >= SMALLEST_PAGES * pl.col("page")))
    rows = rows.with_columns(whole=whole_pages(pl.col("tokens"), pl.col("page")))
    rows = rows.with_columns(each=pl.col("mb") / pl.col("whole"), of=pl.len().over(key))
    middle = pl.col("each").median().over(key)
    rows = rows.filter((pl.col("each") / middle - 1).abs() <= SPREAD)
    found = rows.group_by(key).agg(*_BRACKET, rows=pl.len(), of=pl.col("of").first())
    agree = (pl.col("rows") >= ENOUGH) & (pl.col("rows") >= AGREE * pl.col("of"))
    return found.filter(agree).select(
        *key,
        rate=(pl.col("low") + pl.col("high")) / 2,
        width=(pl.col("high") - pl.col("low")).abs(),
    )


_BRACKET = (
    ((pl.col("mb") - ROUNDING) / pl.col("whole")).max().alias("low"),
    ((pl.col("mb") + ROUNDING) / pl.col("whole")).min().alias("high"),
)
"""Where the rate must lie if it is one: at or over ``low``, at or under ``high``."""


def _with_page(sent: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Fill the page size where none is known: the one at which all healthy rates are equal."""
    unknown = sent.filter(pl.col("page").is_null() & pl.col("healthy"))
    rows = unknown.filter(pl.col("tokens") >= SMALLEST_PAGES * _USUAL_PAGE)
    tried = [
        rows.with_columns(whole=whole_pages(pl.col("tokens"), pl.lit(page)))
        .group_by(key)
        .agg(*_BRACKET, rows=pl.len())
        .filter((pl.col("rows") >= ENOUGH) & (pl.col("low") <= pl.col("high")))
        .select(*key, fitted=pl.lit(page, dtype=pl.Int64))
        for page in _PAGES
    ]
    single = pl.concat(tried).filter(pl.struct(key).is_unique())
    filled = sent.join(single, on=key, how="left", maintain_order="left", nulls_equal=True)
    return filled.with_columns(page=pl.coalesce("page", "fitted")).drop("fitted")
