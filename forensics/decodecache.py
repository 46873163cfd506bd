"""What decode had of a prompt in a prefix cache of its own, as far as its settings tell.

SGLang's decode reserves whole pages for a prompt, less what such a cache holds; it has none unless
it was asked for. Where the settings say that it is off, the pages follow from the prompt. Where
they say that it is on, fewer pages may have been all that was lacking. Where nothing tells, fewer
pages than the prompt fills are neither: what was not sent may have been there, or not.
"""

from __future__ import annotations

import polars as pl

from forensics import enginesettings, limits
from forensics.columns import ensure

NAME = "short_unless_cached"
"""Column of requests: fewer pages arrived than the prompt fills, and nothing tells of a cache."""

_ASKED = (
    *("reserved_pages", "reserved_tokens", "transferred_pages", "transfer_mb"),
    *("decode_prompt_tokens", "decode_page_tokens", "prefill_page_tokens"),
)
_UNRESERVED = pl.col("reserved_pages").is_null() & pl.col("reserved_tokens").is_null()


def whole_pages(tokens: pl.Expr, page: pl.Expr) -> pl.Expr:
    """Return the whole pages that hold so many tokens."""
    return (tokens + page - 1) // page


def reserved(requests: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Fill the pages that decode reserved where its own prefix cache is known to be off.

    Args:
        requests: with limits attached.
        epochs: :attr:`forensics.capacity.Capacity.epochs`.
    """
    told = _settings(epochs)
    off = (pl.col("engine") == "sglang") & ~pl.col("keeps")
    known = told.with_columns(off=off.fill_null(value=False))
    if not known["off"].any():
        return requests
    rows = ensure(requests.with_row_index("_row"), _ASKED[:2])
    asked = rows.filter(_UNRESERVED)
    asked = asked.select("_row", "decode_node", "received_at", "decode_prompt_tokens")
    wanted = {"off": "off", "page_tokens": "page"}
    found = limits.in_force(asked, known, "decode_node", wanted).filter("off")
    pages = whole_pages(pl.col("decode_prompt_tokens"), pl.col("page"))
    found = asked.join(found, on="_row").select("_row", reserved=pages)
    rows = rows.join(found, on="_row", how="left", maintain_order="left")
    filled = pl.coalesce("reserved_pages", "reserved")
    names = (
        requests.columns
        if "reserved_pages" in requests.columns
        else [*requests.columns, "reserved_pages"]
    )
    return rows.with_columns(reserved_pages=filled).select(names)


def attach(requests: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Add :data:`NAME`, of requests that SGLang served.

    Args:
        requests: as :func:`reserved` returns them, with the pages that arrived.
        epochs: as there.
    """
    rows = ensure(requests.with_row_index("_row"), _ASKED)
    page = pl.coalesce("decode_page_tokens", "prefill_page_tokens")
    fewer = pl.col("transferred_pages") < whole_pages(pl.col("decode_prompt_tokens"), page)
    short = rows.filter(_UNRESERVED & fewer)
    nobody = requests.with_columns(pl.lit(value=False).alias(NAME))
    if not short.height:
        return nobody
    wanted = {"keeps": "keeps", "engine": "engine"}
    places = short.select("_row", "decode_node", "received_at")
    told = limits.in_force(places, _settings(epochs), "decode_node", wanted)
    short = short.join(told, on="_row", how="left")
    of_sglang = (pl.col("engine") == "sglang") | pl.col("transfer_mb").is_not_null()
    found = short.filter(of_sglang & pl.col("keeps").is_null())["_row"]
    return rows.select(*requests.columns, pl.col("_row").is_in(found.implode()).alias(NAME))


def _settings(epochs: pl.DataFrame) -> pl.DataFrame:
    """Add ``keeps``: whether decode has a cache of its own; null where that is not known then."""
    told = limits.parted(epochs)
    keeps = [enginesettings.keeps_prefixes(config) for config in told["config"]]
    known = pl.when(~pl.col("unshown")).then(pl.Series(keeps, dtype=pl.Boolean))
    return told.with_columns(keeps=known)
