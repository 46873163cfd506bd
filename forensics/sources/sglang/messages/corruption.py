"""Lines in which the engine itself says that a hand-off mixed two requests, or might have."""

from __future__ import annotations

import polars as pl

from forensics.schema import TIMED_LATE
from forensics.sources.forms import Form
from forensics.sources.sglang.message import LONG_ID, ROOM, Message, Rows, counted, told_once
from forensics.sources.sglang.messages.handoffs import failed

_FAILED = failed(decode=pl.lit(value=True), code=pl.lit("transfer_failed"))
_COLLISION = pl.lit(value=True).alias("metadata_collision")


def _on_decode(room: str) -> list[pl.Expr]:
    return [
        pl.col(room).alias("transfer_id"),
        pl.col("local").alias("received_at"),
        pl.lit(value=True).alias(TIMED_LATE),
        pl.col("identity").alias("decode_node"),
        pl.lit("decode").alias("hop"),
    ]


def _collision(rows: Rows) -> None:
    """Two hand-offs met in one slot: the request that was aborted, and the other one's room."""
    rows.observe(*_FAILED, _COLLISION)
    rows.observe(*_on_decode("other"), _COLLISION)


def _not_ready(rows: Rows) -> None:
    rows.observe(*_FAILED)


def _late(rows: Rows) -> None:
    rows.observe(*_on_decode("room"), pl.lit(value=True).alias("late_release"))


def _checksum(rows: Rows) -> None:
    rows.observe(
        pl.col("rid").alias("request_id"),
        *_on_decode("room"),
        pl.lit(value=True).alias("kv_checksum_mismatch"),
    )


_COLLIDED = (
    rf"^Context corruption detected: Request (?<rid>{LONG_ID}) "
    rf"\(bootstrap_room=(?<room>{ROOM})\) received metadata from "
    rf"bootstrap_room=(?<other>{ROOM})\. Metadata buffer index: (?<rest>.*)$"
)
_NOT_READY = (
    rf"^Metadata unexpectedly not ready after readiness gate: request (?<rid>{LONG_ID}), "
    rf"bootstrap_room=(?<room>{ROOM}), metadata_buffer_index=(?<rest>.*)$"
)
_RELEASED = (
    rf"^Deferred KV release for room (?<room>{ROOM}) timed out after [0-9.]+s without a "
    r"full drain ack from prefill; releasing anyway"
)
# Both sums follow, but for a peer's: else a room that was cut off would be another one.
_CHECKSUM = (
    rf"^KV checksum mismatch req=(?<rid>{LONG_ID}) bootstrap_room=(?<room>{ROOM})(?<rest> .*)$"
)
_ON_A_PEER = (
    rf"^KV checksum mismatch on a peer rank req=(?<rid>{LONG_ID}) "
    rf"bootstrap_room=(?<room>{ROOM})(?<rest> .*)?$"
)
_ONCE = told_once(r"bootstrap_room=", "rid", "rest")
MESSAGES = (
    Message(
        Form(
            "metadata-collision",
            "context corruption line",
            "0.5.9-0.5.23",
            "id and room of a request that received another hand-off's metadata, and whose",
        ),
        ("Context corruption detected: ",),
        (_COLLIDED,),
        _collision,
        refine=_ONCE,
    ),
    Message(
        Form(
            "metadata-not-ready",
            "metadata line",
            "0.5.9-0.5.23",
            "id and room of a hand-off whose metadata never came",
        ),
        ("Metadata unexpectedly not ready",),
        (_NOT_READY,),
        _not_ready,
        refine=_ONCE,
    ),
    Message(
        Form(
            "late-release",
            "late release line",
            "0.5.19-0.5.23",
            "room of pages that were given back while prefill may still have written",
        ),
        ("Deferred KV release for room ",),
        (_RELEASED,),
        _late,
    ),
    Message(
        Form(
            "checksum-mismatch",
            "KV checksum line",
            "0.5.21-0.5.23, where the check is switched on",
            "id and room of a request whose pages are not what prefill sent",
        ),
        ("KV checksum mismatch",),
        (_CHECKSUM, _ON_A_PEER),
        _checksum,
        refine=_ONCE,
    ),
    counted(
        Form(
            "checksum-skipped",
            "skipped KV checksum",
            "0.5.21-0.5.23, where the check is switched on",
            "that hand-offs of that prefill engine were not checked",
        ),
        "KV checksum skipped",
    ),
)
