"""Hand-offs that failed, and counts of pages that differ between the two sides."""

from __future__ import annotations

import polars as pl

from forensics.schema import TIMED_LATE
from forensics.sources.forms import Form
from forensics.sources.sglang.message import (
    LONG_ID,
    QUOTE,
    ROOM,
    Message,
    Rows,
    counted,
    number,
    told_once,
)

_PAGES = r"[0-9]{1,9}"
_ROUNDING = "state index counts within rounding"


def failed(*, decode: pl.Expr, code: pl.Expr) -> list[pl.Expr]:
    """Columns of a hand-off that failed; decode then ran no step, so nothing was generated."""
    return [
        pl.col("rid").alias("request_id"),
        pl.col("room").alias("transfer_id"),
        pl.col("local").alias("received_at"),
        pl.lit(value=True).alias(TIMED_LATE),
        pl.when(~decode).then("identity").alias("prefill_node"),
        pl.when(decode).then("identity").alias("decode_node"),
        pl.lit("failed").alias("transfer_status"),
        pl.when(decode).then(0).cast(pl.Int64).alias("completion_tokens"),
        pl.when(decode).then(pl.lit("error")).alias("finish_reason"),
        code.alias("rejection_code"),
        pl.when(decode).then(pl.lit("decode")).otherwise(pl.lit("prefill")).alias("hop"),
    ]


def _code() -> pl.Expr:
    """The reason as a code; its text may quote anything and is not kept."""
    cause = pl.col("cause")
    return (
        pl.when(cause.str.contains(r"Request [0-9]+ timed out after [0-9.]+s"))
        .then(pl.lit("timeout"))
        .when(cause.str.contains(r"^(?:KVTransferError\(bootstrap_room=[0-9]+\): )?Aborted by "))
        .then(pl.lit("aborted"))
        .otherwise(pl.lit("transfer_failed"))
    )


def _failed(rows: Rows) -> None:
    rows.observe(*failed(decode=pl.col("side") == "Decode", code=_code()))


def _mismatch(rows: Rows) -> None:
    # How many tokens that is depends on the page size, which other lines have.
    rows.kept.trace(
        "state_mismatch",
        pages_sent=number("sent"),
        pages_expected=number("expected"),
        tensor_rank=number("tp"),
    )


def _within_rounding() -> pl.Expr:
    """One page against many is a placeholder's; counts that differ by one are benign."""
    placeholder = (number("sent") == 1) & (number("expected") > 2)
    return pl.when(~placeholder).then(pl.lit(_ROUNDING))


_FAILURE = (
    r"^(?<side>Prefill|Decode) (?:bootstrap|transfer|handshake) failed for request "
    rf"rank=\S{{1,20}} (?:decode_req\.)?req\.rid={QUOTE}(?<rid>{LONG_ID}){QUOTE} "
    rf"(?:decode_req\.)?req\.bootstrap_room=(?<room>{ROOM})"
    r"(?: with exception (?<cause>.*))?$"
)
_MISMATCH = (
    rf"^len\(prefill_state_indices\) = (?<sent>{_PAGES}), "
    rf"len\(dst_state_indices\) = (?<expected>{_PAGES})$"
)
MESSAGES = (
    Message(
        Form(
            "hand-off-failure",
            "transfer failure line",
            "0.4.6-0.5.23",
            "id and room of a hand-off that failed, on which side, and a code for why",
        ),
        (
            "Prefill bootstrap failed for request",
            "Prefill transfer failed for request",
            "Decode handshake failed for request",
            "Decode transfer failed for request",
        ),
        (_FAILURE,),
        _failed,
        refine=told_once(r"\breq\.(?:rid|bootstrap_room)=", "rid", "cause"),
    ),
    Message(
        Form(
            "state-mismatch",
            "state index line",
            "0.4.10-0.5.23, models with an index, sliding-window or state cache",
            "pages sent and expected of a placeholder; not which request it was",
        ),
        ("len(prefill_state_indices) = ",),
        (_MISMATCH,),
        _mismatch,
        aside=_within_rounding(),
    ),
    counted(
        Form(
            "chunk-mismatch",
            "chunk index line",
            "0.4.6-0.5.23",
            "nothing: it is printed without a fault too",
        ),
        "len(chunked_dst_kv_indice) = ",
        pattern=rf"^len\(chunked_dst_kv_indice\) = {_PAGES}, "
        rf"len\(kv_chunk\.prefill_kv_indices\) = {_PAGES}$",
    ),
    counted(
        Form(
            "timeout-hint",
            "hint about hand-offs that time out",
            "0.5.3-0.5.23, once a process",
            "nothing: no request is named, and each one that fails has a line of its own",
        ),
        "Some requests timed out when bootstrapping",
        "Some requests fail to receive KV Cache transfer done signal",
    ),
    counted(
        Form(
            "state-index-error",
            "state index length error",
            "0.4.10-0.5.11 over nixl, 0.5.15-0.5.23 for rings and compressed states",
            "that a transfer was given up rather than cut short",
        ),
        "tate index length mismatch: ",
        pattern=rf"tate index length mismatch: (?:prefill|src)={_PAGES}, dst={_PAGES}",
    ),
    counted(
        Form(
            "room-conflict",
            "room conflict line",
            "0.5.8-0.5.23",
            "that a rank was chosen against the room: the hand-off fails",
        ),
        "follow_bootstrap_room conflict",
    ),
)
