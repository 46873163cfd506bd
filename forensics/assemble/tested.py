"""What a validation has to have tested: a pool with headroom, a prompt as long as the incident's.

A gate that was content with less than the checklist asks for, and a canary that fits into any
pool, would have come back the same from an engine that leaks.
"""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from forensics.analysis import Analysis
from forensics.checklist import HEADROOM
from forensics.columns import ensure

_ASKED: Final = (
    *("prefill_node", "decode_node", "request_id", "handoff", "http_status"),
    *("completion_tokens", "prompt_tokens", "decode_prompt_tokens"),
)


def incident_limit(analysis: Analysis) -> int | None:
    """Return the tokens from which a prompt tests the fault; None where they are not known.

    As stated; otherwise the highest limit of all pools that were smaller than their window.
    """
    stated = analysis.incident.trigger.threshold_tokens
    if stated is not None:
        return stated
    epochs = analysis.capacity.epochs
    small = epochs.filter(pl.col("pool_tokens") < pl.col("context_tokens"))
    highest: int | None = small.select(pl.coalesce("limit", "pool_tokens").max()).item()
    return highest


def short_of(gate: dict[str, Any]) -> str | None:
    """Return why a gate that passed clears nothing, or None where it does."""
    pool, window = gate["pool_tokens"], gate["context_tokens"]
    if pool is None or window is None:
        return "a gate passed, of which pool or window is not known"
    if pool < window * HEADROOM:
        return f"a gate passed with a pool of {pool / window:.2f} x the window, below {HEADROOM} x"
    return None


def canaries(analysis: Analysis) -> pl.DataFrame:
    """Return node, time, length and outcome of canary records whose request names its nodes.

    A canary goes through a front end: by itself it says nothing of which engine answered.
    """
    both = _asked(analysis)
    foreign = pl.col("handoff").is_in(analysis.markers.handoffs.implode())
    both = both.filter(foreign | pl.col("answered"))
    named = [
        both.select(node=side, at="seen_at", tokens="tokens", foreign=foreign)
        for side in ("prefill", "decode")
    ]
    return pl.concat(named).drop_nulls(["node", "at"]).rechunk()


def long_canaries(analysis: Analysis) -> int:
    """Count canary records of a request that reached the limit of the incident."""
    limit = incident_limit(analysis)
    if limit is None:
        return 0
    reached = _asked(analysis).filter(pl.col("tokens") >= limit)
    return reached["_record"].n_unique()


def _asked(analysis: Analysis) -> pl.DataFrame:
    """Return canary records with what the logs hold of the request they were seen in."""
    rows = ensure(analysis.requests, list(_ASKED))
    # Nothing can be seen in the answer to a request that got none.
    answered = (pl.col("http_status") < 400).fill_null(value=True)
    answered &= (pl.col("completion_tokens") > 0).fill_null(value=True)
    seen = rows.select(
        "handoff",
        answered.alias("answered"),
        seen_request_id="request_id",
        prefill="prefill_node",
        decode="decode_node",
        tokens=pl.coalesce("prompt_tokens", "decode_prompt_tokens"),
    )
    records = analysis.markers.records.with_row_index("_record")
    return records.join(seen, on="seen_request_id", how="inner")
