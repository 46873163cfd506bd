"""What an evidence rule is, and the columns that all rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from forensics.columns import ensure
from forensics.schema import GENERATION_UNREAD, OWNER_UNREAD

Weight = Literal[
    "scope",
    "attested",
    "reviewed",
    "delivery",
    "direct",
    "clears",
    "traced",
    "beside",
    "limit",
    "circumstantial",
]
"""What a finding can do to a verdict.

``scope``
    the request is not what the case is about
``attested``
    somebody or something looked at the content
``reviewed``
    somebody looked at the content, and found none of others
``delivery``
    nothing left for the client
``direct``
    decode read pages that this request had not written
``clears``
    the hand-off was complete, or there was none
``traced``
    evidence that names no request, or no tenant, fits this one: joined by inference only
``beside``
    under a fault that writes: it held pages where others wrote, or wrote and was not answered
``limit``
    where the prompt stands to the limit in force
``circumstantial``
    kept as a reason, decides nothing alone
"""


@dataclass(frozen=True)
class Finding:
    """One evidence rule over the columns of a request.

    ``expression`` is true where the rule fires; null counts as not fired, since a
    missing value is never evidence.
    """

    code: str
    weight: Weight
    needs: tuple[str, ...]
    expression: pl.Expr
    meaning: str
    does_not_prove: str


RESERVED = pl.coalesce(
    "reserved_pages", pl.col("reserved_tokens").truediv(pl.col("page_tokens")).ceil().cast(pl.Int64)
)
TRANSFERRED = pl.coalesce(
    "transferred_pages",
    pl.col("transferred_tokens").truediv(pl.col("page_tokens")).ceil().cast(pl.Int64),
)
_PAGE = pl.coalesce("page_tokens", pl.col("reserved_tokens") // pl.col("reserved_pages"), 1)
_TOKENS_LACKING = pl.col("reserved_tokens") - pl.col("transferred_tokens")
SHORT = (TRANSFERRED < RESERVED).fill_null(value=False) | (_TOKENS_LACKING >= _PAGE).fill_null(
    value=False
)
"""Fewer pages arrived than decode had reserved, or tokens short of a page or more."""

DELIVERED = (
    pl.when(pl.col("delivery_disputed"))
    .then(None)
    .when(pl.col("completion_seen").is_not_null())
    .then(pl.col("completion_seen") > 0)
    .otherwise(
        pl.col("http_status").is_between(200, 299) & ~pl.col("stream_error").fill_null(value=False)
    )
)
"""Tokens left for the client, also when the stream was aborted or errored later.

Not known where a gateway counted tokens and decode's own record shows that none left."""

DECODE_SIDE = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
"""The prompt as the side that answered counted it."""

SLOT_POOL = (
    pl.col("owner_generation").is_not_null()
    | pl.col("read_generation").is_not_null()
    | pl.col("slot_owner").is_not_null()
    | pl.col(OWNER_UNREAD).fill_null(value=False)
    | pl.col(GENERATION_UNREAD).fill_null(value=False)
)


ATTACHED = (
    "delivery_disputed",
    "fits_affected",
    "fits_state_mismatch",
    "fits_truncated",
    "fits_unjudged",
    "handoff_failed",
    "in_a_gateway_hole",
    "in_a_hole",
    "ran_beside_unjudged",
    "ran_beside_write",
    "reviewed_foreign",
    "reviewed_own",
    "short_unless_cached",
    "start_unseen",
    "tenant_inferred",
    "timing_fast",
    "transfer_calibrated",
    "wrote_undelivered",
)
"""Flags of the stages before, which add one only where the logs gave cause for it."""


def prepared(requests: pl.DataFrame, *, owners_are_tenants: bool) -> pl.DataFrame:
    """Add the columns that rules share: page size, whether slot owners are tenants, flags."""
    absent = [name for name in ATTACHED if name not in requests.columns]
    return ensure(requests, ["prompt_seen"]).with_columns(
        *(pl.lit(value=False).alias(name) for name in absent),
        page_tokens=pl.coalesce("decode_page_tokens", "prefill_page_tokens"),
        owners_are_tenants=pl.lit(owners_are_tenants),
    )
