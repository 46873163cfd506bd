"""Statistics every ten seconds: no line names a request, and some count those that went wrong."""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.otherlines import OTHER
from forensics.sources.vllm.message import Message, Rows, counted, number
from forensics.tallies import CORRUPTED, EXPIRED, READ_LATE

_RATES = r"Avg prompt throughput: [0-9.]{1,20} tokens/s, Avg generation throughput: [0-9.]{1,20} "
_NUMBER = r"[0-9]{1,9}"
_ENGINE = r"(?:Engine [0-9]{1,4}: |[0-9]{1,4} Engines Aggregated: )?"
_STATISTICS = (
    rf"^(?<rates>{_ENGINE}{_RATES})(?:.*?, Corrupted: (?<corrupted>{_NUMBER}) reqs(?:,|$))?"
)
_TITLE, _TRANSFERS = "statistics line", "transfer metrics line"


def _some(name: str) -> pl.Expr:
    return number(name).fill_null(0) > 0


def _corrupted(rows: Rows) -> None:
    rows.kept.trace(CORRUPTED, requests=number("corrupted"))


def _expiries(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the counts of all connectors; one that sends by itself has sent nothing that expired."""
    sends = pl.col("metrics").str.contains("Num failed recvs=", literal=True)
    named = {"expired": "Num KV expired reqs", "late": "Num notifs after expiry"}
    return frame.with_columns(
        pl.when(~sends).then(_sum(text)).cast(pl.String).alias(name) for name, text in named.items()
    )


def _sum(text: str) -> pl.Expr:
    found = pl.col("metrics").str.extract_all(rf"\b{text}'?(?:=|: ){_NUMBER}(?:[,}}]|$)")
    each = pl.element().str.extract(rf"({_NUMBER})[,}}]?$", 1).cast(pl.Int64)
    return found.list.eval(each).list.sum()


def _given_up(rows: Rows) -> None:
    for kind, name in ((EXPIRED, "expired"), (READ_LATE, "late")):
        some = rows.kept.frame.filter(_some(name))
        Rows(some, rows.context, rows.parsed).trace(kind, requests=number(name))


MESSAGES = (
    Message(
        Form(
            "statistics",
            _TITLE,
            "0.6-0.33",
            "rates and use of the pool, of no named request; from 0.11 on, where invalid numbers "
            "are looked for, how many requests ended with some",
        ),
        ("Avg prompt throughput: ",),
        (_STATISTICS, r"^(?<other>.*)$"),
        _corrupted,
        aside=pl.when(pl.col("rates").is_null())
        .then(pl.lit(OTHER))
        .when(~_some("corrupted"))
        .then(pl.lit(_TITLE)),
        inside=(": Avg prompt throughput: ",),
        ids=(),
    ),
    counted(
        Form(
            "iteration",
            "iteration line",
            "0.14-0.33, where iterations are logged",
            "nothing: requests and tokens of one step",
        ),
        "Iteration(",
        patterns=(r"^Iteration\([0-9]{1,15}\): [0-9]{1,9} context requests, ",),
    ),
    Message(
        Form(
            "transfer-metrics",
            _TRANSFERS,
            "0.11-0.33",
            "how many hand-offs prefill gave up in ten seconds, and from 0.33 on how many of those "
            "were fetched all the same; which ones it does not name",
        ),
        ("KV Transfer metrics: ",),
        (r"^KV Transfer metrics: (?<metrics>.*)$",),
        _given_up,
        aside=pl.when(~_some("expired") & ~_some("late")).then(pl.lit(_TRANSFERS)),
        ids=(),
        prepare=_expiries,
    ),
)
