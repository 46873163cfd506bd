"""SGLang node logs, 0.5.12 to 0.5.23: start-up, capacity, time-stats and rejection lines.

One literal filter finds the few lines that matter; one pattern per message takes
the named fields. A line that carries a message's literal but not its form is
unreadable and counted. Nothing else of a line is kept: ``server_args`` holds
secrets and warm-up lines hold model output.
"""

from __future__ import annotations

import polars as pl

from forensics.schema import CONFIG_KEYS, ENGINE_HOP
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.values import unfit_id

QUARTER_HOUR = 900_000_000
DAY_MS = 86_400_000.0

_PREFIX = (
    r"\[(?<day>\d{4}-\d\d-\d\d) (?<clock>\d\d:\d\d:\d\d)(?:\.(?<millis>\d{3}))?"
    r"(?<rank>(?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+)*)\] "
)
_STATS = (
    r"ReqTimeStats\(rid=(?<rid>.{1,1024}?)(?:, bootstrap_room=(?<room>\d{1,19}))?"
    r", input_len=(?<input>\d{1,12}), cached_input_len=(?<cached>\d{1,12})"
    r", output_len=(?<output>\d{1,12})(?:, attempts=\d+)?, type=(?<type>prefill|decode|unified)\): "
)
_REJECTED = (
    r"Input length \((?<tokens>\d{1,12}) tokens\) exceeds the maximum allowed length "
    r"\((?<limit>\d{1,12}) tokens\)\. Use a shorter input or enable --allow-auto-truncate\.,"
    r" self\.rid='(?<rid>.{1,1024}?)'"
)
_FAILED = (
    r"(?<side>Prefill|Decode) (?<what>bootstrap|transfer|handshake) failed for request "
    r"rank=\S+ (?:decode_req\.)?req\.rid='(?<rid>.{1,1024}?)' "
    r"(?:decode_req\.)?req\.bootstrap_room=(?<room>\d{1,19})"
)
_RANK_POOL = r"(?:KV Cache is allocated|KV cache allocated)\..*?#tokens: (?<pool>\d{1,15})"
_SERVER_POOL = r"max_total_num_tokens=(?<pool>\d{1,15}), .*?context_len=(?<context>\d{1,15})"

MESSAGES = {
    "stats": ("ReqTimeStats(", _STATS),
    "rejected": ("exceeds the maximum allowed length", _REJECTED),
    "failed": ("failed for request rank=", _FAILED),
    "rank_pool": ("#tokens: ", _RANK_POOL),
    "server_pool": ("max_total_num_tokens=", _SERVER_POOL),
    "start": ("server_args=", r"(?<args>server_args=)"),
    "ready": ("The server is fired up", r"(?<ready>The server is fired up and ready to roll)"),
}
_TOO_OLD = {"Req Time Stats(": "time-stats line of a version before 0.5.12"}
_IGNORED = {
    "batch line": ("Prefill batch", "Decode batch"),
    "access line": ('" 200', '" 4', '" 5', "INFO:     "),
    "request log in text form": ("Receive: obj=", "Finish: obj=", "Receive OpenAI: obj="),
}


def parse(lines: pl.Series, numbers: pl.Series, context: Context, parsed: Parsed) -> None:
    """Add what the text lines hold to ``parsed``; each line is counted once."""
    frame = pl.DataFrame({"text": lines, "line": numbers}).with_columns(kind=_kinds())
    for (kind,), rows in frame.group_by("kind", maintain_order=True):
        if kind in MESSAGES:
            _message(str(kind), rows, context, parsed)
        elif kind in _TOO_OLD.values():
            parsed.unread += [Unread(line, None, str(kind)) for line in rows["line"].to_list()]
        else:
            parsed.ignored[str(kind)] += rows.height


def _kinds() -> pl.Expr:
    text = pl.col("text")
    request_log = "request log in text form"
    kinds = [
        (text.str.len_bytes() == 0, "blank line"),
        (text.str.contains_any(list(_IGNORED[request_log])), request_log),
        (text.str.contains("VA upper bound", literal=True), "other line"),
        *(
            (text.str.contains(literal, literal=True), kind)
            for kind, (literal, _) in MESSAGES.items()
        ),
        *((text.str.contains(old, literal=True), reason) for old, reason in _TOO_OLD.items()),
        *((text.str.contains_any(list(literals)), kind) for kind, literals in _IGNORED.items()),
    ]
    told = [pl.when(condition).then(pl.lit(kind)) for condition, kind in kinds]
    return pl.coalesce(*told, pl.lit("other line"))


def _message(kind: str, rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    pattern = MESSAGES[kind][1]
    prefix = pl.col("text").str.extract_groups(_PREFIX)
    fields = pl.col("text").str.extract_groups(pattern)
    found = rows.with_columns(prefix.alias("prefix"), fields.alias("fields"))
    key = pl.col("fields").struct.field(_first_group(pattern))
    # An id may hold anything, but not the field that follows it.
    swallowed = key.str.contains(", bootstrap_room=|, input_len=").fill_null(value=False)
    whole = key.is_not_null() & ~swallowed & pl.col("prefix").struct.field("day").is_not_null()
    for line in found.filter(~whole)["line"].to_list():
        parsed.unread.append(Unread(line, None, f"{_TITLES[kind]} not in a known form"))
    good = found.filter(whole)
    if not good.height:
        return
    parsed.kept += good.height
    good = good.with_columns(local=_local_time()).unnest("prefix")
    good = good.with_columns(identity=_identity(context.node))
    if "(?<rid>" in pattern:
        _count_unfit(good, parsed)
    _BUILDERS[kind](good, context, parsed)


def _first_group(pattern: str) -> str:
    start = pattern.index("(?<") + 3
    return pattern[start : pattern.index(">", start)]


_TITLES = {
    "stats": "time-stats line",
    "rejected": "rejection line",
    "failed": "transfer failure line",
    "rank_pool": "KV cache line",
    "server_pool": "pool line",
    "start": "server_args line",
    "ready": "ready line",
}


def _local_time() -> pl.Expr:
    prefix = pl.col("prefix").struct
    moment = pl.concat_str(prefix.field("day"), pl.lit(" "), prefix.field("clock"))
    micros = moment.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    millis = prefix.field("millis").cast(pl.Int64).fill_null(0) * 1_000
    return micros.to_physical() + millis


def _identity(node: str) -> pl.Expr:
    dp = pl.col("rank").str.extract(r"\bDP(\d+)", 1)
    return (
        pl.when(dp.is_null()).then(pl.lit(node)).otherwise(pl.concat_str(pl.lit(f"{node}/dp"), dp))
    )


def _origin(context: Context, *, naive: pl.Expr) -> list[pl.Expr]:
    return [
        pl.lit(context.number, dtype=pl.Int32).alias("file"),
        pl.col("line").cast(pl.Int64),
        naive.alias("naive"),
        pl.lit(context.node).alias("source_node"),
    ]


def _field(name: str) -> pl.Expr:
    return pl.col("fields").struct.field(name)


def _rid(context: Context) -> pl.Expr:
    """The request id, or its place where it may hold more than an identifier."""
    rid = _field("rid")
    place = pl.col("line").map_elements(
        lambda line: f"redacted:{context.where(line)}", return_dtype=pl.String
    )
    return pl.when(unfit_id(rid)).then(place).otherwise(rid).alias("request_id")


def _count_unfit(rows: pl.DataFrame, parsed: Parsed) -> None:
    count = int(rows.select(unfit_id(_field("rid")).sum()).item())
    if count:
        parsed.bad_values["request_id"] += count


def _number(name: str) -> pl.Expr:
    return _field(name).cast(pl.Int64, strict=False)


def _duration(name: str) -> pl.Expr:
    """Milliseconds of one duration; unset (0.00), negative and absurd ones are null."""
    value = pl.col("text").str.extract(rf"\b{name}=(-?\d+\.\d+)ms", 1).cast(pl.Float64)
    return pl.when((value > 0) & (value < DAY_MS)).then(value)


_STAGES = ("bootstrap_duration", "alloc_wait_duration", "transfer_duration", "queue_duration")


def _stats(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Time-stats lines; ``forward_duration`` of prefill includes the KV transfer."""
    seconds = pl.col("text").str.extract_groups(r"entry_time=(?<s>\d{9,11})\.(?<ms>\d{3})")
    entry = seconds.struct.field("s").cast(pl.Int64) * 1_000_000
    entry = entry + seconds.struct.field("ms").cast(pl.Int64) * 1_000
    # Retired at the door: the stamp is the host's boot time, not the request's.
    entry = pl.when(_number("output") > 0).then(entry)
    spent = pl.sum_horizontal(_duration(s).fill_null(0.0) for s in (*_STAGES, "forward_duration"))
    rows = rows.with_columns(
        entry=entry, spent=(spent * 1_000).round().cast(pl.Int64), type=_field("type")
    )
    _clock(rows, context, parsed)
    prefill = pl.col("type") == "prefill"
    frame = rows.select(
        _rid(context),
        _field("room").alias("transfer_id"),
        pl.coalesce("entry", "local").alias("received_at"),
        pl.when(~prefill).then(pl.col("entry") + pl.col("spent")).alias("finished_at"),
        pl.when(prefill).then("identity").alias("prefill_node"),
        pl.when(~prefill).then("identity").alias("decode_node"),
        pl.when(prefill).then(_number("input")).alias("prefill_prompt_tokens"),
        pl.when(~prefill).then(_number("input")).alias("decode_prompt_tokens"),
        pl.when(prefill).then(_number("cached")).alias("cached_tokens"),
        pl.when(prefill).then(_duration("forward_duration")).alias("prefill_ms"),
        pl.when(~prefill).then(_number("output")).alias("completion_tokens"),
        pl.when(prefill).then(pl.lit("prefill")).otherwise(pl.lit("decode")).alias("hop"),
        *_origin(context, naive=pl.col("entry").is_null()),
    )
    parsed.observations.append(frame)
    _roles(rows, context, parsed)


def _clock(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Count offsets between the node's wall clock and its epoch stamps, to a quarter hour."""
    offset = pl.col("local") - pl.col("entry") - pl.col("spent")
    quarters = ((offset + QUARTER_HOUR // 2) // QUARTER_HOUR) * QUARTER_HOUR
    counted = rows.select(quarters.drop_nulls().alias("offset")).group_by("offset").len()
    for value, count in counted.iter_rows():
        parsed.clock[context.node, value] += count


def _roles(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Each identity's part in the hand-off, as its own lines say."""
    facts = rows.select(
        pl.col("identity").alias("node"),
        pl.col("type").alias("role"),
        (pl.col("type") != "unified").alias("disaggregated"),
        pl.lit("sglang").alias("engine"),
        pl.lit("role").alias("event"),
        *_origin(context, naive=pl.lit(value=False)),
    ).unique(["node", "role"], keep="first", maintain_order=True)
    parsed.capacity.append(facts)


def _rejected(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    parsed.observations.append(
        rows.select(
            _rid(context),
            pl.col("local").alias("received_at"),
            pl.col("identity").alias("prefill_node"),
            pl.col("identity").alias("decode_node"),
            _number("tokens").alias("prompt_tokens"),
            pl.lit(value=True).alias("rejected"),
            pl.lit("input_too_long").alias("rejection_code"),
            pl.lit(ENGINE_HOP).alias("hop"),
            *_origin(context, naive=pl.lit(value=True)),
        )
    )
    _fact(rows, context, parsed, "limit", input_limit_tokens=_number("limit"), ranked=False)


def _failed(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """A failed hand-off; decode then never ran a step, so nothing was generated."""
    decode = _field("side") == "Decode"
    parsed.observations.append(
        rows.select(
            _rid(context),
            _field("room").alias("transfer_id"),
            pl.col("local").alias("received_at"),
            pl.when(~decode).then("identity").alias("prefill_node"),
            pl.when(decode).then("identity").alias("decode_node"),
            pl.lit("failed").alias("transfer_status"),
            pl.when(decode).then(0).cast(pl.Int64).alias("completion_tokens"),
            pl.when(decode).then(pl.lit("error")).alias("finish_reason"),
            pl.lit("transfer_failed").alias("rejection_code"),
            pl.when(decode).then(pl.lit("decode")).otherwise(pl.lit("prefill")).alias("hop"),
            *_origin(context, naive=pl.lit(value=True)),
        )
    )


def _fact(
    rows: pl.DataFrame,
    context: Context,
    parsed: Parsed,
    event: str,
    *,
    ranked: bool = True,
    **columns: pl.Expr,
) -> None:
    node = pl.col("identity") if ranked else pl.lit(context.node)
    parsed.capacity.append(
        rows.select(
            node.alias("node"),
            pl.col("local").alias("effective_at"),
            pl.lit("sglang").alias("engine"),
            pl.lit(event).alias("event"),
            *(expr.alias(name) for name, expr in columns.items()),
            *_origin(context, naive=pl.lit(value=True)),
        )
    )


def _rank_pool(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    _fact(rows, context, parsed, "rank_pool", pool_tokens=_number("pool"))


def _server_pool(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    _fact(
        rows,
        context,
        parsed,
        "server_pool",
        ranked=False,
        pool_tokens=_number("pool"),
        context_tokens=_number("context"),
    )


def _ready(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    _fact(rows, context, parsed, "ready", ranked=False)


def _setting(name: str) -> pl.Expr:
    """One setting of ``server_args``, in either form; ``None`` is absent."""
    value = pl.col("text").str.extract(
        rf"[ ({{]'?{name}'?(?:=|: )'?([A-Za-z0-9_.:+-]{{1,48}})'?[,)}}]", 1
    )
    return pl.when(value != "None").then(value)


def _start(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    mode = _setting("disaggregation_mode")
    role = mode.replace_strict(
        {"prefill": "prefill", "decode": "decode", "null": "unified"}, default=None
    )
    config = pl.concat_str(
        [pl.concat_str(pl.lit(f"{key}="), _setting(key)) for key in sorted(CONFIG_KEYS)],
        separator=";",
        ignore_nulls=True,
    )
    _fact(
        rows,
        context,
        parsed,
        "start",
        ranked=False,
        role=role,
        disaggregated=role != "unified",
        page_tokens=_setting("page_size").cast(pl.Int64, strict=False),
        context_tokens=_setting("context_length").cast(pl.Int64, strict=False),
        auto_truncate=_setting("allow_auto_truncate") == "True",
        config=config,
    )


_BUILDERS = {
    "stats": _stats,
    "rejected": _rejected,
    "failed": _failed,
    "rank_pool": _rank_pool,
    "server_pool": _server_pool,
    "start": _start,
    "ready": _ready,
}
