"""The prefill tail: the rest of the one page that arrived holds rows of the prefill node.

Whole pages are copied. Where prefill computed fewer rows than the page has, the others are
what its own pool held before. Which page that was is not modelled: everyone who ran on that
prefill rank before is possible, and no more than that.
"""

from __future__ import annotations

import polars as pl

from forensics.attribution import pairing
from forensics.attribution.coresidency import met
from forensics.columns import ensure
from forensics.schema import AFFECTED_TIERS


def pairs(requests: pl.DataFrame) -> pl.DataFrame:
    """Return one row per response with such a tail and tenant that ran on its prefill rank.

    Args:
        requests: judged requests with ``prefill_since``. Where no log names the prefill rank of a
            response, everyone would be possible by it: these are counted, see
            :func:`unattributed`.

    Returns:
        The columns of the pairs plus ``attempt``; ``pages`` is 0, ``tokens`` the size of the tail.
    """
    tails = _tails(requests).filter(pl.col("prefill_node").is_not_null())
    reads = pl.int_range(pl.len()).is_in(tails["_row"].implode())
    asked = requests.with_columns(tier=pl.when(reads).then("tier"))
    return pl.concat([pairing.sort(_pairs(found, tails)) for found in met(asked, "prefill")])


def unattributed(requests: pl.DataFrame) -> int:
    """Return how many responses have such a tail of a prefill rank that no log names."""
    return int(_tails(requests)["prefill_node"].null_count())


def _pairs(met_there: pl.DataFrame, tails: pl.DataFrame) -> pl.DataFrame:
    found = met_there.join(tails.drop("prefill_node"), on="_row")
    rows = pairing.as_pairs(found, "prefill").with_columns(pages=pl.lit(0, dtype=pl.Int64))
    return rows.with_columns(tokens=found["tail"])


def _tails(requests: pl.DataFrame) -> pl.DataFrame:
    """Return how many rows of the last page that arrived were not computed, where any were."""
    counts = ("prefill_prompt_tokens", "decode_prompt_tokens", "transferred_pages")
    rows = ensure(requests.with_row_index("_row"), counts)
    page = pl.coalesce("decode_page_tokens", "prefill_page_tokens")
    computed = pl.col("prefill_prompt_tokens")
    asked = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
    short = (computed < asked) | (computed.is_null() & (pl.col("transferred_pages") == 1))
    # Of a page that nothing more is known of, all rows but one may be others'.
    last = pl.coalesce(computed % page, pl.lit(1))
    tail = pl.min_horizontal(pl.when(last > 0).then(page - last).otherwise(0), asked - computed)
    found = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS) & short.fill_null(value=False))
    return found.select("_row", "prefill_node", tail=tail.cast(pl.Int64)).filter(pl.col("tail") > 0)
