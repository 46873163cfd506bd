"""Who ran on the ranks beside, where the engine's own figures deny what a rank's records hold.

Records may name one rank for another then, of a response as of who ran before it: whoever ran on
any rank of the server may have been on the one that was read from.
"""

from __future__ import annotations

import polars as pl

from forensics.attribution import coresidency
from forensics.attribution.stay import Stay
from forensics.capacity import server_of

_KEY = ("request_id", "attempt", "source_tenant_id")
_RANK = r"/[^/]*$"


def pairs(requests: pl.DataFrame, there: pl.DataFrame, stays: list[Stay]) -> pl.DataFrame:
    """Return pairs by co-residency on any rank of a server, beside those that are there.

    Args:
        requests: judged requests with ``decode_since``.
        there: pairs by co-residency on the ranks that records name.
        stays: ranks with affected responses, held against the engine's own figures.
    """
    denied = {server_of(stay.node) for stay in stays if "usage_differs" in stay.reasons}
    if not denied:
        return there.clear()
    found = coresidency.pairs(_by_server(requests, sorted(denied)))
    return found.join(there.select(_KEY), on=_KEY, how="anti", nulls_equal=True)


def _by_server(requests: pl.DataFrame, servers: list[str]) -> pl.DataFrame:
    """Return the requests of some servers, each under the name of the server alone."""
    rows = requests.with_columns(pl.col("decode_node").str.replace(_RANK, ""))
    here = pl.col("decode_node").is_in(servers).fill_null(value=False)
    if "decode_ranks" in rows.columns:
        ranks = pl.col("decode_ranks").list.eval(pl.element().str.replace(_RANK, ""))
        rows = rows.with_columns(ranks)
        elsewhere = pl.col("decode_ranks").list.set_intersection(servers).list.len() > 0
        here |= elsewhere.fill_null(value=False)
    return rows.filter(here)
