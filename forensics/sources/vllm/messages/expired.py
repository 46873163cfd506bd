"""Blocks that prefill gave up before decode had fetched them."""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.vllm.hops import on
from forensics.sources.vllm.ids import ADDED, internal
from forensics.sources.vllm.message import COUNT, Message, Rows
from forensics.tallies import EXPIRED, READ_LATE


def _flag(name: str) -> pl.Expr:
    return pl.lit(value=True).alias(name)


def _name(later: str) -> pl.Expr:
    """The client's id, by what only versions print that add digits to it."""
    return internal("rid", random=pl.col(later).is_not_null() | pl.col(ADDED))


def _counted(rows: Rows, kind: str) -> None:
    """Each such line is one of those that the statistics count, each tensor rank's for itself."""
    rows.trace(kind, named=pl.lit(value=True), tensor_rank=pl.col("tp").cast(pl.Int64))


def _released(rows: Rows) -> None:
    rows.observe(*on("prefill", _name("lease"), _flag("expired_release")))
    _counted(rows, EXPIRED)


def _read(rows: Rows) -> None:
    rows.observe(*on("prefill", _name("later"), _flag("expired_read")))
    _counted(rows, READ_LATE)


def _declined(rows: Rows) -> None:
    name = internal("rid", random=True)
    rows.observe(
        *on("prefill", name, _flag("expired_refused"), pl.lit("failed").alias("transfer_status"))
    )
    _counted(rows, EXPIRED)


_ID = r"(?<rid>\S+)"
_RELEASED = (
    rf"^Releasing expired KV blocks for request {_ID} which were retrieved by {COUNT} "
    rf"(?:decode|remote) worker\(s\) (?:within [0-9.]{{1,12}} seconds|(?<lease>before lease "
    r"expired))\.$"
)
_LATE = (
    rf"^Potentially invalid KV blocks for unrecognized request {_ID} were retrieved by a "
    r"(?:decode|(?<later>remote)) worker\. They may have expired\.$"
)
_DECLINED = (
    rf"^Declining expired remote read for {_ID} from engine \S{{1,200}}\.$",
    rf"^Request {_ID} expired before sending on P side\.$",
)
MESSAGES = (
    Message(
        Form(
            "expired-release",
            "expired release",
            "0.11-0.33, NIXL",
            "id of a hand-off whose blocks prefill gave up before decode had said it read them",
        ),
        ("Releasing expired KV blocks for request ",),
        (_RELEASED,),
        _released,
        front=False,
    ),
    Message(
        Form(
            "expired-read",
            "read after expiry",
            "0.11-0.33, NIXL",
            "id of a hand-off whose blocks decode read after prefill had given them up",
        ),
        ("Potentially invalid KV blocks for ",),
        (_LATE,),
        _read,
        front=False,
    ),
    Message(
        Form(
            "expired-refused",
            "refused late read",
            "0.33, NIXL and Mooncake",
            "id of a hand-off whose blocks had expired and were not read",
        ),
        ("Declining expired remote read for ",),
        _DECLINED,
        _declined,
        inside=(" expired before sending on P side",),
        front=False,
    ),
)
