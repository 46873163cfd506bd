"""What gives reason to hold a record for longer, and which records belong together."""

from __future__ import annotations

import polars as pl

from forensics.columns import DTYPES

IDS = ("request_id", "prefill_request_id", "transfer_id")
_FLAGS = (
    "kv_checksum_mismatch", "metadata_collision", "late_release", "expired_release",
    "expired_read", "expired_refused", "block_overlap", "rejected",
)  # fmt: skip
_PAIRS = ("transferred_pages", "reserved_pages", "transferred_tokens", "reserved_tokens")
_COUNTS = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
_WORKED = ("prefill_tokens", "cached_tokens")
_OWNERS = (
    "tenant_id", "sender_tenant", "receiver_tenant", "owner_generation", "read_generation",
    "slot_owner",
)  # fmt: skip
ASKED = (*IDS, *_FLAGS, *_COUNTS, *_PAIRS, *_WORKED, *_OWNERS, "transfer_status")
"""The columns that are looked at."""
TYPES = {name: DTYPES[name] for name in ASKED}

_PREFILLED = pl.col("prefill_prompt_tokens")
_COMPUTED = pl.col("prefill_tokens") + pl.col("cached_tokens")
_WANTED = pl.max_horizontal("prompt_tokens", "decode_prompt_tokens")
_OTHERS_OWN = (
    pl.col("owner_generation") != pl.col("read_generation"),
    pl.col("read_generation").is_not_null() & pl.col("slot_owner").is_null(),
    pl.col("slot_owner") != pl.col("tenant_id"),
    pl.col("sender_tenant") != pl.col("receiver_tenant"),
)
"""A slot or a page that may be another's: reason to look, whoever is meant by its owner."""
_LESS = (
    ("prefilled", "wanted"),
    ("computed", "wanted"),
    ("arrived", "reserved"),
    ("arrived_tokens", "reserved_tokens"),
)
"""What is a sign where it is less than the other."""


def suspicious(floor: int | None) -> pl.Expr:
    """Say which records give reason to look closer.

    Args:
        floor: prompts of so many tokens or more do; None where no limit is known.
    """
    signs = [pl.col(name) for name in _FLAGS]
    signs.append(pl.col("transfer_status").is_in(["failed", "aborted"]))
    # Prefill's placeholder, beside whatever decode says of it.
    signs += [_PREFILLED == 1, _COMPUTED == 1, *_OTHERS_OWN]
    own = {
        "prefilled": _PREFILLED, "computed": _COMPUTED, "wanted": _WANTED,
        "arrived": pl.col("transferred_pages"), "reserved": pl.col("reserved_pages"),
        "arrived_tokens": pl.col("transferred_tokens"),
        "reserved_tokens": pl.col("reserved_tokens"),
    }  # fmt: skip
    signs += [own[less] < own[more] for less, more in _LESS]
    if floor is not None:
        signs.append(pl.max_horizontal(*_COUNTS) >= floor)
    return pl.any_horizontal(sign.fill_null(value=False) for sign in signs)


def nameless() -> pl.Expr:
    """Say which records share an id with no other: each stands for itself."""
    return pl.all_horizontal(pl.col(name).is_null() for name in IDS)


def shares(near: pl.DataFrame) -> pl.Expr:
    """Say which records share an id with some others."""
    named = pl.concat([near[name] for name in IDS[:2]]).drop_nulls().unique()
    rooms = near["transfer_id"].drop_nulls().unique()
    return pl.any_horizontal(
        *(pl.col(name).is_in(named.implode()).fill_null(value=False) for name in IDS[:2]),
        pl.col("transfer_id").is_in(rooms.implode()).fill_null(value=False),
    )
