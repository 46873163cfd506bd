"""What a validation has to have tested: a pool with headroom, a prompt as long as the incident's.

A gate that was content with less than the checklist asks for, and a canary that fits into any
pool, would have come back the same from an engine that leaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from forensics.analysis import Analysis
from forensics.checklist import HEADROOM
from forensics.columns import ensure
from forensics.verdicts import DIRECT

_ASKED: Final = (
    *("prefill_node", "decode_node", "request_id", "prefill_request_id", "handoff", "tenant_id"),
    *("model", "received_at", "http_status", "completion_tokens", "stream_error", "rejected"),
    *("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"),
)


def incident_limit(analysis: Analysis) -> int | None:
    """Return the tokens from which a prompt tests the fault; None where they are not known.

    As stated; otherwise the highest limit of all pools that were smaller than their window.
    """
    stated = analysis.incident.trigger.threshold_tokens
    if stated is not None:
        return stated + 1  # affected is what is longer
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
    """Return node, times, length and outcome of canary records whose request names its nodes.

    A canary goes through a front end: by itself it says nothing of which engine answered. A
    foreign marker in an answer of unknown engine has no node: it can be of any.
    """
    both = _asked(analysis).filter(pl.col("foreign") | pl.col("tests"))
    nowhere = pl.col("foreign") & ~(pl.col("fitting") & _named())
    kept = ("seen_at", "received_at", "tokens", "foreign")
    sides = [
        both.filter(~nowhere).select(*kept, node=side).drop_nulls("node")
        for side in ("prefill_node", "decode_node")
    ]
    free = both.filter(nowhere).select(*kept, node=pl.lit(None, pl.String))
    return pl.concat([*sides, free]).drop_nulls("seen_at").rechunk()


def long_canaries(analysis: Analysis) -> int:
    """Count canary records of a request that reached the limit of the incident, and tests it."""
    limit = incident_limit(analysis)
    if limit is None:
        return 0
    reached = _asked(analysis).filter(pl.col("tests") & (pl.col("tokens") >= limit))
    return reached["_record"].n_unique()


def _asked(analysis: Analysis) -> pl.DataFrame:
    """Return canary records with what the logs hold of the request they were seen in.

    ``foreign`` says that another's marker was seen, ``fitting`` that it is known in whose
    answer, and ``tests`` that the own request would have come back otherwise from a leak.
    """
    rows = ensure(analysis.requests, list(_ASKED)).with_columns(
        healthy=_answered() & ~DIRECT & _of_models(analysis.incident.scope.models),
        # What one side counted short is no long prompt, whatever the client counted.
        tokens=pl.min_horizontal("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"),
    )
    seen = rows.select(*_ASKED, "healthy", "tokens", seen_request_id="request_id")
    records = analysis.markers.records.with_row_index("_record")
    both = records.join(seen, on="seen_request_id", how="left")
    planted = pl.col("planted_request_id")
    same = (planted == pl.col("seen_request_id")) | (planted == pl.col("prefill_request_id"))
    found = pl.col("handoff").is_in(analysis.markers.handoffs.implode()).fill_null(value=False)
    unseen = pl.col("seen_request_id").is_null() & pl.col("seen_at").is_not_null()
    return both.with_columns(
        fitting=found,
        foreign=found | unseen | ~same.fill_null(value=planted.is_null()),
        tests=(same & pl.col("healthy") & _own()).fill_null(value=False),
    )


def _named() -> pl.Expr:
    return pl.any_horizontal(pl.col("prefill_node", "decode_node").is_not_null())


def _answered() -> pl.Expr:
    """Say of a request that it got an answer, whole as far as the logs say."""
    status, tokens = pl.col("http_status"), pl.col("completion_tokens")
    shown = status.is_between(200, 399).fill_null(value=False)
    shown |= status.is_null() & (tokens > 0).fill_null(value=False)
    return shown & ~pl.any_horizontal(
        (tokens == 0).fill_null(value=False),
        *(pl.col(name).fill_null(value=False) for name in ("stream_error", "rejected")),
    )


def _of_models(models: Sequence[str]) -> pl.Expr:
    other = ~pl.col("model").is_in(list(models)) if models else pl.lit(value=False)
    return ~other.fill_null(value=False)


def _own() -> pl.Expr:
    """Say of a record that its marker was planted by the one request that it was seen in."""
    early = (pl.col("received_at") > pl.col("seen_at")).fill_null(value=False)
    another = (pl.col("planted_tenant") != pl.col("tenant_id")).fill_null(value=False)
    alone = pl.len().over("_record") == 1
    return (pl.col("marker").str.len_chars() > 0) & alone & ~another & ~early
