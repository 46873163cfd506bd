"""Time statistics of a finished request: both counts of a prompt, durations, what was sent.

``forward_duration`` of prefill includes the transfer. Start times up to 0.5.11 are those of
a monotonic clock and say nothing; the line's own time, at the end of the request, does.
"""

from __future__ import annotations

import polars as pl

from forensics.schema import RETRIES, TIMED_LATE
from forensics.sources.forms import Form
from forensics.sources.sglang.clock import count_offsets
from forensics.sources.sglang.message import COUNT, LONG_ID, ROOM, Message, Rows, number, told_once
from forensics.sources.sglang.pieces import Shape

DAY_MS = 86_400_000.0
_TYPE = r"type=(?<type>prefill|decode|unified)\):"
_MS = r"-?[0-9]+\.[0-9]+"
_ANY = (
    rf"^ReqTimeStats\(rid=(?<rid>{LONG_ID})(?:, bootstrap_room=(?<room>{ROOM}))?"
    rf", input_len=(?<input>{COUNT}), cached_input_len=(?<cached>{COUNT}), "
    rf"output_len=(?<output>{COUNT})(?:, attempts=(?<tries>{COUNT}))?, {_TYPE}(?<rest>.*)$"
)
_COUNTS = (
    "ReqTimeStats(rid={rid}",
    "bootstrap_room={room:i}",
    "input_len={input:d}",
    "cached_input_len={cached:d}",
    "output_len={output:d}",
    "attempts={tries:d}",
)
_SHAPES = (
    Shape(
        *_COUNTS,
        "type=prefill): bootstrap_duration={lead:f}ms",
        "queue_duration={queue:f}ms",
        "forward_duration={forward:f}ms",
        "entry_time={entry:f}",
        "transfer_speed={}",
        "transfer_total={mb:f} MB",
        type="prefill",
    ),
    Shape(
        *_COUNTS,
        "type=decode): bootstrap_duration={lead:f}ms",
        "alloc_wait_duration={alloc:f}ms",
        "transfer_duration={transfer:f}ms",
        "queue_duration={queue:f}ms",
        "forward_duration={forward:f}ms",
        "entry_time={entry:f}",
        type="decode",
    ),
)
_OLD = (
    rf"^Req Time Stats\(rid=(?<rid>{LONG_ID})(?:, bootstrap_room=(?<room>{ROOM}))?"
    rf", input[ _]len=(?<input>{COUNT}), output[ _]len=(?<output>{COUNT}), {_TYPE}(?<rest>.*)$"
)
_STAGE = {
    "lead": rf" (?:bootstrap|prealloc)(?:_queue)?_duration[=(]({_MS})ms",
    "alloc": rf" alloc_wait_duration=({_MS})ms",
    "transfer": rf" transfer_duration=({_MS})ms",
    "queue": rf" queue_duration=({_MS})ms",
    "forward": rf" forward_duration=({_MS})ms",
}
_ONCE = told_once(r"bootstrap_room=|put[ _]len=|type=\w+\):", "rest")
"""After the counts there are durations alone: other counts there are the line's own."""
_KEY = r"([a-z_#]+)[=(][^=(,;]+$"
_WITH_UNIT = (
    r"(?:_duration|^bootstrap|^alloc_wait|^other|^transfer_(?:speed|total)|^entry_time"
    r"|^start(?:_time)?)$"
)
_UNIT = r"(?:[0-9]ms\)?|[0-9] ?MB|[0-9] ?GB/s|=[0-9]+\.[0-9]{3}|start(?:_time)?=-?[0-9]+\.[0-9]+)$"


def _sound(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out lines that an id imitates, and those that were cut off.

    Figures at the end of a line that was cut off are lost or, worse, are others.
    """
    rest = pl.col("rest").str.strip_chars_end(" ")
    key = rest.str.extract(_KEY, 1)
    whole = key.is_not_null() & (~key.str.contains(_WITH_UNIT) | rest.str.contains(_UNIT))
    return _ONCE(frame.filter(whole | rest.is_null()))


_EPOCHS = (1e8, 1e11)
"""Seconds since 1970 that a stamp may be."""


_MEASURES = _STAGE | {
    "mb": r" transfer_total=([0-9]+\.[0-9]+) ?MB",
    "entry": r" entry_time=([0-9]+\.[0-9]{3})",
}


def _duration(name: str) -> pl.Expr:
    """Milliseconds of one duration; unset (0.00), negative and absurd ones are null."""
    value = pl.col(name)
    return pl.when((value > 0) & (value < DAY_MS)).then(value).alias(name)


def _entry() -> pl.Expr:
    """When the request came; retired at the door the stamp is the host's boot time."""
    stamped = (number("output") > 0) & pl.col("entry").is_between(*_EPOCHS)
    millis = pl.when(stamped).then(pl.col("entry") * 1_000)
    return (millis.round().cast(pl.Int64) * 1_000).alias("entry")


def _spent() -> pl.Expr:
    total = pl.sum_horizontal(_duration(stage).fill_null(0.0) for stage in _STAGE)
    return (total * 1_000).round().cast(pl.Int64).alias("spent")


def _taken() -> pl.Expr:
    """When decode took its pages, where the arrival is stamped."""
    waited = pl.sum_horizontal(_duration(stage).fill_null(0.0) for stage in ("lead", "alloc"))
    return (_entry() + (waited * 1_000).round().cast(pl.Int64)).alias("taken")


def _late() -> pl.Expr:
    """Whether a line without a stamp lacks the durations that lie before its own time."""
    stages = [pl.col(stage) for stage in _STAGE]
    odd = pl.any_horizontal(~stage.is_between(0, DAY_MS).fill_null(value=True) for stage in stages)
    whole = _duration("forward").is_not_null() & ~odd
    return (_entry().is_null() & ~whole).alias("late")


_APART = pl.col("type") != "unified"
"""An engine that hands nothing on has no room: one there is of the client's choice."""


def _observation(cached: pl.Expr, finished: pl.Expr) -> tuple[pl.Expr, ...]:
    prefill = pl.col("type") == "prefill"
    # A line without any duration was written before anything was sent.
    unset = pl.all_horizontal(pl.col(stage).is_null() for stage in _STAGE)
    return (
        pl.col("rid").alias("request_id"),
        pl.when(_APART).then("room").alias("transfer_id"),
        # Without a stamp: the line was written at the end, its durations lie before it.
        pl.coalesce("entry", pl.col("local") - pl.col("spent")).alias("received_at"),
        pl.col("late").alias(TIMED_LATE),
        pl.when(~prefill).then(finished).alias("finished_at"),
        # Decode takes the pages when bootstrap and waiting for room are over, and frees them
        # as the request ends. Without the stamp of its arrival neither is known well enough.
        pl.when(~prefill).then("taken").alias("reserved_at"),
        pl.when(~prefill & pl.col("entry").is_not_null()).then(finished).alias("released_at"),
        pl.when(prefill).then("identity").alias("prefill_node"),
        pl.when(~prefill).then("identity").alias("decode_node"),
        pl.when(prefill).then(number("input")).alias("prefill_prompt_tokens"),
        pl.when(~prefill).then(number("input")).alias("decode_prompt_tokens"),
        pl.when(prefill).then(cached).alias("cached_tokens"),
        pl.when(prefill).then("forward").alias("prefill_ms"),
        pl.when(~prefill).then(number("output")).alias("completion_tokens"),
        pl.when(prefill & ~((pl.col("mb") == 0) & unset)).then("mb").alias("transfer_mb"),
        pl.when(prefill).then(pl.lit("prefill")).otherwise(pl.lit("decode")).alias("hop"),
    )


# Made once: to make an expression costs as much as to run it on a hundred lines.
_MEASURED = [*(_duration(stage) for stage in _STAGE), _entry(), _spent(), _late(), _taken()]
_OFFSET = pl.when("naive").then("local") - pl.col("entry") - pl.col("spent")
_NEW = _observation(number("cached"), pl.col("entry") + pl.col("spent"))
_BEFORE = _observation(pl.lit(None, dtype=pl.Int64), pl.col("local"))
_UNDATED = pl.col("entry").is_null() & pl.col("naive")
_TIMELESS = (pl.lit(value=False).alias("naive"), pl.lit(None, dtype=pl.Int64).alias("local"))


def _new(rows: Rows) -> None:
    frame = _whole(rows.frame).with_columns(_MEASURED)
    count_offsets(frame.select(_OFFSET.alias("offset")).to_series(), rows.context.node, rows.parsed)
    _add(Rows(frame, rows.context, rows.parsed), _NEW)


def _old(rows: Rows) -> None:
    undated = pl.lit(None, dtype=pl.Float64).alias("entry")
    frame = _whole(rows.frame).with_columns(undated).with_columns(_MEASURED)
    _add(Rows(frame, rows.context, rows.parsed), _BEFORE)


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Return all measures; where the pieces were not as usual they stand in ``rest``."""
    absent = [name for name in (*_MEASURES, "tries") if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in absent)
    frame = frame.with_columns(number("tries"))
    if frame["rest"].null_count() < frame.height:
        frame = frame.with_columns(
            pl.coalesce(name, pl.col("rest").str.extract(form, 1).cast(pl.Float64, strict=False))
            for name, form in _MEASURES.items()
        )
        again = pl.col("rest").str.extract(rf"#retries=({COUNT})$", 1).cast(pl.Int64)
        frame = frame.with_columns(tries=pl.coalesce("tries", again))
    return frame


_RETRIED = (pl.col("type") == "prefill") & (pl.col("tries") > 0)
_RETRIES = pl.when(_RETRIED).then(pl.col("tries")).alias(RETRIES)


def _add(rows: Rows, observation: tuple[pl.Expr, ...]) -> None:
    """Add the observations, and each identity's part in the hand-off, as its own lines say."""
    tries = (_RETRIES,) if rows.frame.select(_RETRIED.any()).item() else ()
    rows.observe(*observation, *tries, naive=_UNDATED)
    roomless = rows.frame.select((~_APART & pl.col("room").is_not_null()).sum()).item()
    if roomless:
        rows.parsed.bad_values["transfer_id"] += roomless
    first = rows.frame.unique(["dp", "type"], keep="first", maintain_order=True)
    roles = Rows(first.with_columns(_TIMELESS), rows.context, rows.parsed)
    roles.fact("role", role=pl.col("type"), disaggregated=_APART)


_SHOWS = "both counts of a prompt joined by bootstrap_room, tokens generated, prefill time, MB sent"
MESSAGES = (
    Message(
        Form("time-stats", "time-stats line", "0.5.12-0.5.23", f"{_SHOWS}, cached tokens"),
        ("ReqTimeStats(",),
        (_ANY,),
        _new,
        _SHAPES,
        refine=_sound,
    ),
    Message(
        Form("time-stats-old", "old time-stats line", "0.4.10-0.5.11", f"{_SHOWS} from 0.5.10"),
        ("Req Time Stats(",),
        (_OLD,),
        _old,
        refine=_sound,
    ),
)
