"""SGLang JSON request logs, any level: only ids, counts, times and codes are read.

The record says nothing about the side it was written on. A finished record whose
reason is ``length`` with length 0 is prefill's healthy *and* unhealthy answer;
one that stopped or reached a length is decode's. The rest is told by its pair.
"""

from __future__ import annotations

from collections import Counter

import polars as pl

from forensics.schema import ENGINE_HOP, Column, Kind
from forensics.sources import values
from forensics.sources.blocks import Block
from forensics.sources.context import Context
from forensics.sources.jsonlines import Batch, JsonColumns, Path
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add
from forensics.sources.sglang.text import QUARTER_HOUR

_META = ("out", "meta_info")
_PATHS: dict[str, tuple[Path, Kind]] = {
    "timestamp": (("timestamp",), "time"),
    "event": (("event",), "code"),
    "request_id": (("rid",), "id"),
    "transfer_id": (("obj", "bootstrap_room"), "id"),
    "received": (("obj", "received_time"), "measure"),
    "prompt": ((*_META, "prompt_tokens"), "count"),
    "completion": ((*_META, "completion_tokens"), "count"),
    "cached": ((*_META, "cached_tokens"), "count"),
    "dp_rank": ((*_META, "dp_rank"), "count"),
    "reason": ((*_META, "finish_reason", "type"), "code"),
    "length": ((*_META, "finish_reason", "length"), "count"),
    "status": ((*_META, "finish_reason", "status_code"), "count"),
    "forward": ((*_META, "forward_entry_time"), "measure"),
    "prefilled": ((*_META, "prefill_finished_time"), "measure"),
    "arrived": ((*_META, "request_received_ts"), "measure"),
    "finished": ((*_META, "request_finished_ts"), "measure"),
}
_NUMERIC = ("count", "measure")
_TENANT_PATHS: tuple[Path, ...] = (
    ("headers", "x-tenant-id"),
    ("obj", "custom_labels", "tenant"),
    ("obj", "custom_labels", "tenant_id"),
)


class RequestLog:
    """Reads the JSON lines of one node's request log."""

    def __init__(self, context: Context) -> None:
        self._context = context
        stated = tuple(tuple(path.split(".")) for path in context.incident.logs.tenant_from)
        tenants = {f"tenant{n}": path for n, path in enumerate(stated or _TENANT_PATHS)}
        paths = {name: path for name, (path, _) in _PATHS.items()} | tenants
        kinds: dict[str, Kind] = {name: kind for name, (_, kind) in _PATHS.items()}
        kinds |= dict.fromkeys(tenants, "name")
        self._tenants = tuple(tenants)
        self._columns = JsonColumns(paths, kinds)

    def read(self, block: Block, numbers: pl.Series, parsed: Parsed) -> None:
        """Add the records of ``block``; ``numbers`` are the file's line numbers of its lines."""
        found = self._columns.read(block)
        at = numbers.to_list()
        for unread in found.unread:
            line = at[(unread.line or block.line) - block.line]
            parsed.unread.append(type(unread)(line, None, unread.reason))
        for batch in found.batches:
            lines = numbers.gather(batch.lines - block.line)
            self._add(Batch(batch.columns, lines), parsed)

    def _add(self, batch: Batch, parsed: Parsed) -> None:
        frame = self._typed(batch, parsed)
        as_sent = (pl.col("event") == "request.received.openai").fill_null(value=False)
        wanted = pl.col("event").is_in(["request.received", "request.finished"])
        wanted = wanted.fill_null(value=False)
        parsed.ignored["request as the client sent it"] += frame.filter(as_sent).height
        parsed.ignored["other record"] += frame.filter(~wanted & ~as_sent).height
        frame = frame.filter(wanted)
        if frame.height:
            self._emit(frame, parsed)

    def _typed(self, batch: Batch, parsed: Parsed) -> pl.DataFrame:
        """Return all columns; counts and durations typed here, the rest with the rows."""
        numbers = {n: s for n, s in batch.columns.items() if n in _NUMBERS}
        bad: Counter[str] = Counter()
        columns = dict(batch.columns)
        if numbers:
            raw = pl.DataFrame([series.alias(name) for name, series in numbers.items()])
            found = values.typed(raw, _NUMBERS, self._context.incident.logs, bad)
            columns |= {name: found.frame[name] for name in numbers}
        for name, count in bad.items():
            parsed.bad_values[_SHOWN.get(name, name)] += count
        height = len(batch.lines)
        series = [
            columns.get(name, pl.Series(name, [None] * height)).cast(_RAW[kind]).alias(name)
            for name, (_, kind) in _PATHS.items()
        ]
        tenants = [columns[name] for name in self._tenants if name in columns]
        nothing = pl.Series([None] * height, dtype=pl.String)
        tenant = values.first_value(tenants) if tenants else nothing
        return pl.DataFrame(series).with_columns(line=batch.lines, tenant_id=tenant)

    def _emit(self, frame: pl.DataFrame, parsed: Parsed) -> None:
        node = self._context.node
        rank = pl.col("dp_rank").cast(pl.String)
        frame = frame.with_columns(
            hop=_hop(),
            identity=pl.when(rank.is_null())
            .then(pl.lit(node))
            .otherwise(pl.lit(f"{node}/dp") + rank),
        )
        self._clock(frame, parsed)
        rows = frame.select(*_VALUES, lines="line")
        columns = {name: rows[name] for name in rows.columns if name != "lines"}
        raw = Raw(columns, rows["lines"], None, node, require_zone=False, hop=frame["hop"])
        add(raw, self._context, parsed)

    def _clock(self, frame: pl.DataFrame, parsed: Parsed) -> None:
        moment = pl.col("timestamp").str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False
        )
        local = moment.to_physical()
        epoch = pl.coalesce(_micros("finished"), _micros("received"))
        offset = local - epoch
        quarters = ((offset + QUARTER_HOUR // 2) // QUARTER_HOUR) * QUARTER_HOUR
        counted = frame.select(quarters.drop_nulls().alias("offset")).group_by("offset").len()
        for value, count in counted.iter_rows():
            parsed.clock[self._context.node, value] += count


_NUMBERS = {name: Column(name, kind, "") for name, (_, kind) in _PATHS.items() if kind in _NUMERIC}
_SHOWN = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "cached": "cached_tokens",
    "status": "http_status",
    "received": "received_at",
    "arrived": "received_at",
    "finished": "finished_at",
    "forward": "prefill_ms",
    "prefilled": "prefill_ms",
}
_LAST_SECOND = 253_402_300_799
"""End of the year 9999."""
_RAW: dict[Kind, pl.DataType] = {
    "time": pl.String(),
    "code": pl.String(),
    "id": pl.String(),
    "name": pl.String(),
    "count": pl.Int64(),
    "measure": pl.Float64(),
}


def _micros(name: str) -> pl.Expr:
    value = pl.col(name)
    return pl.when(value.is_between(1, _LAST_SECOND)).then((value * 1e6).round().cast(pl.Int64))


def _stamp(name: str) -> pl.Expr:
    return _micros(name).cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")


def _hop() -> pl.Expr:
    """Tell the side by the shape of the answer."""
    placeholder_or_healthy = (pl.col("reason") == "length") & (pl.col("length") == 0)
    answered = pl.col("reason").is_in(["stop", "length"]) | pl.col("reason").is_null()
    finished = pl.col("event") == "request.finished"
    return (
        pl.when(finished & placeholder_or_healthy & pl.col("transfer_id").is_not_null())
        .then(pl.lit("prefill"))
        .when(finished & answered)
        .then(pl.lit("decode"))
        .otherwise(pl.lit(ENGINE_HOP))
    )


_PREFILL = pl.col("hop") == "prefill"
_DECODE = pl.col("hop") == "decode"
_ABORTED = pl.col("reason") == "abort"
_COMPLETION = (
    pl.when(_ABORTED & (pl.col("completion") == 0)).then(None).otherwise(pl.col("completion"))
)
_VALUES = [
    pl.col("request_id"),
    pl.col("transfer_id"),
    pl.col("tenant_id"),
    pl.coalesce(
        _stamp("arrived"),
        _stamp("received"),
        "timestamp",
    ).alias("received_at"),
    pl.when(~_PREFILL).then(_stamp("finished")).alias("finished_at"),
    pl.when(~_DECODE).then("identity").alias("prefill_node"),
    pl.when(~_PREFILL).then("identity").alias("decode_node"),
    pl.when(_PREFILL).then("prompt").alias("prefill_prompt_tokens"),
    pl.when(_DECODE).then("prompt").alias("decode_prompt_tokens"),
    pl.when(_PREFILL).then("cached").alias("cached_tokens"),
    pl.when(_PREFILL & (pl.col("forward") > 0) & (pl.col("prefilled") > pl.col("forward")))
    .then((pl.col("prefilled") - pl.col("forward")) * 1_000)
    .alias("prefill_ms"),
    pl.when(_DECODE).then(_COMPLETION).alias("completion_tokens"),
    pl.when(_PREFILL).then(None).otherwise("status").alias("http_status"),
    pl.when(~_PREFILL).then("reason").alias("finish_reason"),
    pl.when(_ABORTED & (pl.col("status") == 400)).then(pl.lit(value=True)).alias("rejected"),
    pl.when(_ABORTED & (pl.col("status") == 400))
    .then(pl.lit("other"))
    .when(_ABORTED)
    .then(pl.lit("aborted"))
    .alias("rejection_code"),
]
