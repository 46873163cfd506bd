"""Which observations belong to one hand-off.

What both sides of a hand-off share (``transfer_id``) joins first: within an hour of time,
since such ids can repeat; over more hours by inference, where each side has it once. A
record without one joins by request id and tenant; if that id has several hand-offs it
speaks for all of them. What is left is its own request. Every observation gets a
``handoff`` key.

    transfer    by what both sides share          anchors   several requests under one such key
    by_request  by id, to hand-offs of that id    by_id     by id alone: calls and their records
    by_size     rejections that name nobody       gateway   client records that share no id at all
    by_node     two prefill nodes under one   inferred  what the last of these may say
    uses        one room and id, used again   tries     several tries of one prefill
    unsettled   what may be one another's, for later stages
    orphans     signs of hand-offs that nobody names
    beside      client records and prefill's without decode's   spans   a later try left unnamed
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.anchors import by_anchor
from forensics.joins.by_id import by_id
from forensics.joins.by_node import by_node
from forensics.joins.by_request import by_request
from forensics.joins.by_size import by_size, moved_by_size, sized
from forensics.joins.callers import named_by_trace
from forensics.joins.gaps import INFERRED_GAP, SESSION_GAP, UNPAIRED_GAP
from forensics.joins.gateway import Around, Paired, pair_gateway
from forensics.joins.inferred import claims, tenant_inferred
from forensics.joins.orphans import without_orphans
from forensics.joins.spans import remnants, untold, within
from forensics.joins.transfer import by_transfer
from forensics.joins.tries import without_earlier_tries

__all__ = [
    "INFERRED_GAP",
    "SESSION_GAP",
    "UNPAIRED_GAP",
    "Around",
    "Paired",
    "assign",
    "by_size",
    "claims",
    "moved_by_size",
    "named_by_trace",
    "pair_gateway",
    "remnants",
    "sized",
    "tenant_inferred",
    "untold",
    "within",
    "without_earlier_tries",
    "without_orphans",
]


def assign(frame: pl.DataFrame, first: int = 0) -> pl.DataFrame:
    """Return the observations with ``handoff``, ``earlier`` and ``inferred``, by identifiers alone.

    A record that speaks for several hand-offs appears once for each; ``earlier`` marks
    all but the last of them, which the client's answer is not from.

    Args:
        frame: records, and with each all others that share an identifier with it.
        first: number of the first one; those of all frames of a case differ.
    """
    frame = ensure(frame, ["request_id", "transfer_id", "tenant_id", "received_at", "hop"])
    frame = frame.with_row_index("observation", first)
    direct, rest = _parted(frame, frame["transfer_id"].is_not_null())
    direct = by_node(by_anchor(by_transfer(direct)))
    inferred = pl.col("inferred") | pl.col("far")
    direct = direct.with_columns(inferred=inferred).drop("far", "anchored")
    attached, alone = by_request(rest, direct)
    no = pl.lit(value=False)
    pieces = [
        direct.with_columns(earlier=no),
        attached.with_columns(inferred=no),
        by_id(alone).with_columns(earlier=no),
    ]
    filled = [piece for piece in pieces if piece.height] or pieces[:1]
    return pl.concat(filled, how="diagonal_relaxed") if len(filled) > 1 else filled[0]


def _parted(frame: pl.DataFrame, mask: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of a mask and the others; what is whole already is not copied.

    One chunk each: with an empty one in front, format() ends in a panic.
    """
    if mask.all():
        return frame, frame.clear()
    if not mask.any():
        return frame.clear(), frame
    return frame.filter(mask).rechunk(), frame.filter(~mask).rechunk()
