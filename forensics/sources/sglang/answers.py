"""Answers as request logs and exporters hold them: ids, counts, times and codes.

Both write the same ``meta_info`` of a finished request, at another depth. What an
answer says (``text``, ``message`` of an abort, log probabilities) is never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from forensics.schema import ENGINE_HOP, Column, Kind
from forensics.sources import values
from forensics.sources.blocks import Block
from forensics.sources.context import Context
from forensics.sources.jsonlines import Batch, JsonColumns, Path
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add
from forensics.sources.sglang import sides

REASON: Path = ("finish_reason",)
_META: dict[str, tuple[Path, Kind]] = {
    "prompt": (("prompt_tokens",), "count"),
    "completion": (("completion_tokens",), "count"),
    "cached": (("cached_tokens",), "count"),
    "dp_rank": (("dp_rank",), "count"),
    "reason": ((*REASON, "type"), "code"),
    "length": ((*REASON, "length"), "count"),
    "status": ((*REASON, "status_code"), "count"),
    "forward": (("forward_entry_time",), "measure"),
    "prefilled": (("prefill_finished_time",), "measure"),
    "arrived": (("request_received_ts",), "measure"),
    "finished": (("request_finished_ts",), "measure"),
    "took": (("e2e_latency",), "measure"),
}
_KINDS: dict[str, Kind] = {
    "event": "code",
    "timestamp": "time",
    "request_id": "id",
    "transfer_id": "id",
    "received": "measure",
    "stream": "flag",
    **{name: kind for name, (_, kind) in _META.items()},
}
_RAW: dict[Kind, pl.DataType] = {
    "time": pl.String(),
    "code": pl.String(),
    "id": pl.String(),
    "count": pl.Int64(),
    "measure": pl.Float64(),
    "flag": pl.Boolean(),
}
_NUMBERS = {
    name: Column(name, kind, "")
    for name, kind in _KINDS.items()
    if kind in ("count", "measure", "flag")
}
_SHOWN = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "cached": "cached_tokens",
    "status": "http_status",
    "stream": "http_status",
    "received": "received_at",
    "arrived": "received_at",
    "finished": "finished_at",
    "took": "received_at",
    "forward": "prefill_ms",
    "prefilled": "prefill_ms",
}
_ROOM = r"^(?:0|[1-9][0-9]{0,18}|[0-9a-f]{32})$"
"""A room is a number of 63 bits, in decimal: another form of it would join with no other log.

Where spans name none, their trace stands for it.
"""
_SECONDS = (100_000_000, 253_402_300_799)
"""Seconds since 1970 that a time may be: below is a clock that counts from a host's start."""
_LONGEST = 86_400.0
"""Seconds that no answer takes."""


def reader(paths: Mapping[str, Path], tenants: tuple[Path, ...]) -> JsonColumns:
    """Return the reader of some columns; the first tenant path that holds a name wins.

    Raises:
        IncidentError: a tenant path runs through a value that is read as something else.
    """
    named = {f"tenant{n}": path for n, path in enumerate(tenants)}
    kinds: dict[str, Kind] = {name: _KINDS.get(name, "code") for name in paths}
    return JsonColumns({**paths, **named}, kinds | dict.fromkeys(named, "name"))


def meta_paths(above: Path) -> dict[str, Path]:
    """Return where the columns of ``meta_info`` stand below ``above``."""
    return {name: (*above, *path) for name, (path, _) in _META.items()}


class BareReasons:
    """Fills in finish reasons that are a bare word where an object is usual."""

    def __init__(self, above: Path) -> None:
        self._columns = JsonColumns({"reason": (*above, *REASON)}, {"reason": "code"})

    def fill(self, batch: Batch, block: Block) -> Batch:
        """Return the batch with the words that stand in the lines of its block."""
        reasons = batch.columns.get("reason")
        if reasons is None or not (misfit := reasons == values.NOT_A_VALUE).any():
            return batch
        lines = block.data.split(b"\n")
        at = misfit.arg_true()
        data = b"\n".join(lines[line - block.line] for line in batch.lines.gather(at))
        words = reasons.clone()
        for found in self._columns.read(Block(data, 0, 0)).batches:
            if "reason" in found.columns:
                words = words.scatter(at.gather(found.lines), found.columns["reason"])
        bare = misfit & (words != values.NOT_A_VALUE)
        columns = {**batch.columns, "reason": words}
        for name in {"length", "status"} & columns.keys():
            nothing = pl.Series([None] * len(words), dtype=columns[name].dtype)
            columns[name] = nothing.zip_with(bare, columns[name])
        return Batch(columns, batch.lines, batch.offsets)


def typed(
    columns: Mapping[str, pl.Series], lines: pl.Series, context: Context, parsed: Parsed
) -> pl.DataFrame:
    """Return all raw columns of some records; counts and durations are typed already."""
    numbers = [s.alias(n) for n, s in columns.items() if n in _NUMBERS]
    bad: Counter[str] = Counter()
    found = dict(columns)
    if numbers:
        logs = context.incident.logs
        frame = values.typed(pl.DataFrame(numbers), _NUMBERS, logs, bad).frame
        found |= {name: frame[name] for name in frame.columns}
    for name, count in bad.items():
        parsed.bad_values[_SHOWN.get(name, name)] += count
    height = len(lines)
    series = [
        found.get(name, pl.Series(name, [None] * height)).cast(_RAW[kind]).alias(name)
        for name, kind in _KINDS.items()
    ]
    tenants = [found[name] for name in sorted(found) if name.startswith("tenant")]
    nobody = pl.Series([None] * height, dtype=pl.String)
    tenant = values.first_value(tenants) if tenants else nobody
    return pl.DataFrame(series).with_columns(line=lines, tenant_id=tenant)


def told(finished: pl.Expr) -> pl.Expr:
    """Return the side that the shape of their answers tells of rows of :func:`typed`."""
    reason, length, room = pl.col("reason"), pl.col("length"), pl.col("transfer_id")
    return sides.side(finished=finished, reason=reason, length=length, room=room)


def emit(
    frame: pl.DataFrame,
    side: pl.Expr,
    context: Context,
    parsed: Parsed,
    *,
    stated: bool = False,
    **more: pl.Expr,
) -> None:
    """Add one observation for each row of :func:`typed`.

    Args:
        frame: the rows.
        side: of which side each is. Where only its shape says so, the node on whose side it
            stands tells that shape to :mod:`forensics.sides`, which settles the hop.
        context: the file that they stand in.
        parsed: where to add.
        stated: the record itself says of which side it is.
        more: columns to add or to replace.
    """
    told = pl.lit(value=stated)
    frame = frame.with_columns(hop=side, stated=told, identity=identity(context.node))
    rows = frame.select(**(_VALUES | more))
    columns = {name: rows[name] for name in rows.columns}
    height = frame.height
    hop = frame["hop"] if stated else pl.repeat(ENGINE_HOP, height, dtype=pl.String, eager=True)
    late = frame.select(_LATE).to_series()
    raw = Raw(columns, frame["line"], None, context.node, require_zone=False, hop=hop, late=late)
    add(raw, context, parsed, only="observations")


def identity(node: str) -> pl.Expr:
    """Return the engine's identity: the server, with the rank where it is known."""
    rank = pl.col("dp_rank").cast(pl.String)
    return pl.when(rank.is_null()).then(pl.lit(node)).otherwise(pl.lit(f"{node}/dp") + rank)


def micros(name: str) -> pl.Expr:
    """Return epoch seconds as microseconds; what cannot be a time is null."""
    value = pl.col(name)
    return pl.when(value.is_between(*_SECONDS)).then((value * 1e6).round().cast(pl.Int64))


_FORM = "%Y-%m-%dT%H:%M:%S%.6f"


def _stamp(name: str) -> pl.Expr:
    return micros(name).cast(pl.Datetime("us")).dt.to_string(f"{_FORM}Z")


def _begun() -> pl.Expr:
    """When an answer's request came by its end and how long it took; null where that is unset."""
    zone = pl.when(pl.col("timestamp").str.ends_with("Z")).then(pl.lit("Z")).otherwise(pl.lit(""))
    line = pl.col("timestamp").str.strip_suffix("Z")
    line = line.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    took = pl.when((pl.col("took") > 0) & (pl.col("took") < _LONGEST)).then("took")
    spent = pl.duration(microseconds=(took * 1e6).round().cast(pl.Int64))
    stamped = (micros("finished").cast(pl.Datetime("us")) - spent).dt.to_string(f"{_FORM}Z")
    written = pl.concat_str((line - spent).dt.to_string(_FORM), zone)
    return pl.when(micros("finished").is_not_null()).then(stamped).otherwise(written)


_PREFILL = pl.col("hop") == "prefill"
_DECODE = pl.col("hop") == "decode"
_NO_ANSWER = _PREFILL & pl.col("stated")
"""What prefill says of the end is not the client's; a shape alone may still be decode's."""
_ABORTED = pl.col("reason") == "abort"
# A refusal may count the one token of a placeholder; more of them were really generated.
_REFUSED = (
    _ABORTED & (pl.col("status") == 400) & ~(pl.col("completion") > 1).fill_null(value=False)
).fill_null(value=False)
_STREAMED = (_ABORTED & pl.col("stream") & ~_REFUSED).fill_null(value=False)
"""The client of a stream had its 200 before: the code of the abort is not what it got."""
_EITHER = ~_PREFILL & ~_DECODE & ~_REFUSED
_COMPLETION = (
    pl.when(_ABORTED & (pl.col("completion") == 0)).then(None).otherwise(pl.col("completion"))
)
_ARRIVED = pl.coalesce(_stamp("arrived"), _stamp("received"), _begun())
_AT_ITS_END = ~(pl.col("event") == "request.received").fill_null(value=False)
_LATE = _AT_ITS_END & _ARRIVED.is_null()
_STAMPED = pl.any_horizontal(micros(name).is_not_null() for name in ("arrived", "received"))
# One row's times are all of the line's clock or all stamps: the zone is of the row.
_END = pl.coalesce(_stamp("finished"), pl.when(_AT_ITS_END & ~_STAMPED).then("timestamp"))
_NO_ROOM = ~pl.col("transfer_id").str.contains(_ROOM) & (pl.col("transfer_id") != "")
_VALUES: dict[str, pl.Expr] = {
    "request_id": pl.col("request_id"),
    # What is no room still says that the request was handed off, so it is told a side before.
    "transfer_id": pl.when(_NO_ROOM).then(pl.lit(values.NOT_A_VALUE)).otherwise("transfer_id"),
    "tenant_id": pl.col("tenant_id"),
    "received_at": pl.coalesce(_ARRIVED, _stamp("finished"), "timestamp"),
    "finished_at": pl.when(~_NO_ANSWER).then(_END),
    "prefill_node": pl.when(~_DECODE).then("identity"),
    "decode_node": pl.when(~_PREFILL).then("identity"),
    # As the nodes: an abort's side is told later, and what is of the other side goes then.
    "prefill_prompt_tokens": pl.when(_PREFILL | _EITHER).then("prompt"),
    "decode_prompt_tokens": pl.when(_DECODE | _EITHER).then("prompt"),
    "cached_tokens": pl.when(_PREFILL).then("cached"),
    "prefill_ms": pl.when(
        _PREFILL & (pl.col("forward") > 0) & (pl.col("prefilled") > pl.col("forward"))
    ).then((pl.col("prefilled") - pl.col("forward")) * 1_000),
    "completion_tokens": pl.when(~_NO_ANSWER & ~_REFUSED | _DECODE).then(_COMPLETION),
    "http_status": pl.when(~_NO_ANSWER & ~_STREAMED).then("status"),
    "finish_reason": pl.when(~_NO_ANSWER).then("reason"),
    "rejected": pl.when(_REFUSED).then(pl.lit(value=True)),
    "rejection_code": pl.when(_REFUSED)
    .then(pl.lit("other"))
    .when(_ABORTED)
    .then(pl.lit("aborted")),
}
