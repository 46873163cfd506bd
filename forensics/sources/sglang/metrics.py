"""Scrapes of an SGLang server's ``/metrics``: the pool of each rank, in Prometheus text.

Pool, page size and window are gauges with the labels of the rank that reports them, and one
counter says how many requests a server has finished. Everything else is an aggregate over
requests and is counted, not read. A scrape says when it was taken only where samples carry a
time, and when the server's process began where its exporter says so; one file may hold several
such scrapes, or each has a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from forensics.bootstarts import BEGAN
from forensics.incident import Incident
from forensics.sources import otherlines
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import each_block
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import counters

FORMS = (
    Form(
        "metrics",
        "scrape of /metrics, with or without times of its samples",
        "0.5.11-0.5.23",
        "pool, page size and window of each DP rank that reports, when its process began; requests "
        "finished, if timed",
    ),
)


SEVERAL_SERVERS = "samples of several servers in one file: their pools are not read"
_GAUGES = {
    "max_total_num_tokens": "pool_tokens",
    "page_size": "page_tokens",
    "context_len": "context_tokens",
}
PROCESS_BEGAN = "process_start_time_seconds"
"""When the process began that was scraped, seconds since 1970: no name of the engine's own."""
_EARLIEST = 1_500_000_000
_NAME = rf"^(?<gauge>sglang[:_](?:{'|'.join((*_GAUGES, counters.FINISHED))})|{PROCESS_BEGAN})"
_SAMPLE = (
    _NAME + r'(?:\{(?<labels>(?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?\s*)*)\})?'
    r"\s+(?<value>[-+0-9.eEInfNa]+)(?:\s+(?<at>\d+(?:\.\d+)?))?(?:\s*#.*)?\s*$"
)
_NUMBER = r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|NaN|Inf)"
_ANY_SAMPLE = r"^[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?\s+" + _NUMBER + r"(?:\s|$)"
_SEEN = rb"(?m)^(?:# (?:HELP|TYPE) sglang[:_]\w|sglang[:_]\w+(?:\{[^}\n]*\})? [-+\d])"
_ROLES = ["prefill", "decode", "unified"]
_LONGEST_COUNT = 2**53


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell a scrape by a sample or a description of one of the engine's metrics."""
    if b"sglang" in head and re.search(_SEEN, head):
        return "metrics named sglang"
    return None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each block was counted as, then the pools of all scrapes."""
    held: list[pl.DataFrame] = []
    yield from each_block(
        opened, lambda block, parsed: held.append(_samples(block, context, parsed))
    )
    yield _pools(pl.concat(held) if held else pl.DataFrame(), context)


def _samples(block: Block, context: Context, parsed: Parsed) -> pl.DataFrame:
    """Return the samples that are read; all other lines are counted here."""
    text = block.data.decode("utf-8", "replace").removesuffix("\n")
    lines = pl.Series("text", text.split("\n"), dtype=pl.String).str.strip_chars_end("\r")
    frame = lines.to_frame().with_columns(
        line=pl.Series(block.all_numbers(len(lines)), dtype=pl.Int64)
    )
    line = pl.col("text")
    kind = (
        pl.when(line.str.strip_chars().str.len_bytes() == 0)
        .then(pl.lit("blank line"))
        .when(line.str.starts_with("#"))
        .then(pl.lit("comment"))
        .when(line.str.contains(_NAME + r"[{ \t]"))
        .then(pl.lit("gauge"))
        .when(line.str.contains(_ANY_SAMPLE))
        .then(pl.lit("other metric"))
        .otherwise(pl.lit("no metric"))
    )
    frame = frame.with_columns(kind=kind)
    parsed.read += frame.height
    for (name,), rows in frame.filter(kind != "gauge").group_by("kind"):
        if name == "no metric":
            rows = rows.rename({"text": "body"}).sort("line")
            otherlines.count(rows, context, parsed, "other metric")
        else:
            parsed.ignored[str(name)] += rows.height
    gauges = frame.filter(kind == "gauge")
    fields = gauges.select("line", line.str.extract_groups(_SAMPLE).struct.unnest())
    for number in fields.filter(pl.col("gauge").is_null())["line"].to_list():
        parsed.unread.append(Unread(number, None, "sample not in a known form"))
    known_as = pl.col("gauge").str.replace("^sglang[:_]", "")
    fields = fields.with_columns(known_as)
    # Copied, so that the block's text is not held until the end of the file.
    known = fields.filter(pl.col("gauge").is_not_null()).rechunk()
    return known.with_columns(_copied(name) for name in ("gauge", "labels", "value", "at"))


def _copied(name: str) -> pl.Expr:
    return pl.concat_str(pl.col(name), pl.lit("")).alias(name)


def _label(name: str, value: str) -> pl.Expr:
    return pl.col("labels").str.extract(rf'(?:^|,|\s){name}="({value})"', 1).alias(name)


def _pools(samples: pl.DataFrame, context: Context) -> Parsed:
    """Return the capacity rows of all scrapes of a file, each from when it first holds."""
    parsed = Parsed()
    if not samples.height:
        return parsed
    labels = [
        _label("instance", r'[^"\\]{1,128}'),
        _label("dp_rank", r"\d{1,6}"),
        _label("engine_type", "|".join(_ROLES)),
    ]
    samples = samples.with_columns(*labels, **_values())
    parsed.bad_values += _bad(samples)
    if samples["instance"].drop_nulls().n_unique() > 1:
        parsed.ignored["sample of several servers"] += samples.height
        parsed.notes[SEVERAL_SERVERS] += 1
        return parsed
    gauges = counters.take(samples, context, parsed)
    if gauges.height:
        parsed.kept += gauges.height
        parsed.capacity.append(_rows(gauges, context))
    return parsed


def _values() -> dict[str, pl.Expr]:
    """Return a count and a time; OpenMetrics writes seconds where Prometheus has milliseconds."""
    number = pl.col("value").cast(pl.Float64, strict=False)
    began = (pl.col("gauge") == PROCESS_BEGAN) & (number >= _EARLIEST)
    number = pl.when(began).then(number.floor()).otherwise(number)
    whole = number.is_between(0, _LONGEST_COUNT) & (number == number.floor())
    stamp = pl.col("at").cast(pl.Float64, strict=False)
    seconds = pl.when(stamp.is_between(1e9, 1e10)).then(stamp * 1e6)
    micros = pl.when(stamp.is_between(1e12, 1e13)).then(stamp * 1e3).otherwise(seconds)
    return {
        "count": pl.when(whole).then(number).cast(pl.Int64),
        "time": micros.round().cast(pl.Int64),
    }


def _bad(samples: pl.DataFrame) -> dict[str, int]:
    counts = {
        _GAUGES.get(str(name), "finished"): rows["count"].null_count()
        for (name,), rows in samples.group_by("gauge", maintain_order=True)
    }
    counts["effective_at"] = samples.filter(pl.col("at").is_not_null())["time"].null_count()
    return {name: count for name, count in counts.items() if count}


def _rows(samples: pl.DataFrame, context: Context) -> pl.DataFrame:
    """Fold samples to rows: those of one time, else the n-th of each series, are one scrape."""
    nth = pl.int_range(pl.len(), dtype=pl.Int64).over("gauge", "labels", order_by="line")
    samples = samples.with_columns(scrape=pl.coalesce("time", nth))
    gauges = [
        # Several tensor or pipeline ranks report one pool: the smallest of them bounds it.
        pl.col("count").filter(pl.col("gauge") == gauge).min().alias(column)
        for gauge, column in _GAUGES.items()
    ]
    role = pl.col("engine_type").drop_nulls()
    begun = samples.filter(pl.col("gauge") == PROCESS_BEGAN)
    rows = (
        samples.filter(pl.col("gauge") != PROCESS_BEGAN)
        .group_by("dp_rank", "scrape")
        .agg(
            *gauges,
            pl.when(role.n_unique() == 1).then(role.first()).alias("role"),
            pl.col("time").min().alias("effective_at"),
            pl.col("line").min(),
        )
    )
    rows = _begun(rows, begun).sort("dp_rank", "scrape", nulls_last=False)
    node = context.node
    rank = pl.col("dp_rank")
    return _changes(rows).select(
        pl.when(rank.is_null())
        .then(pl.lit(node))
        .otherwise(pl.lit(f"{node}/dp") + rank)
        .alias("node"),
        pl.col("role"),
        pl.coalesce("began", "effective_at").alias("effective_at"),
        pl.col(*_GAUGES.values()),
        (pl.col("role") != "unified").alias("disaggregated"),
        pl.lit("sglang").alias("engine"),
        pl.when(pl.col("began").is_not_null())
        .then(pl.lit(BEGAN))
        .otherwise(pl.lit("snapshot"))
        .alias("event"),
        pl.lit(context.number, dtype=pl.Int32).alias("file"),
        pl.col("line").cast(pl.Int64),
        pl.lit(value=False).alias("naive"),
        pl.lit(node).alias("source_node"),
    )


def _begun(rows: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """Add when the process began (µs) that each scrape is of, where its own samples say it."""
    began = (
        samples.filter(pl.col("count") >= _EARLIEST)
        .group_by("scrape")
        .agg(
            # Of several processes the last: before that no scheduler is known to have run on.
            began=pl.col("count").max() * 1_000_000
        )
    )
    told = rows.join(began, on="scrape", how="left")
    late = pl.col("began") > pl.col("effective_at")
    return told.with_columns(began=pl.when(~late.fill_null(value=False)).then("began"))


def _changes(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out scrapes of a rank that say what the one before it said."""
    said = pl.struct("role", "began", *_GAUGES.values())
    same = said.eq_missing(said.shift(1)) & pl.col("dp_rank").eq_missing(pl.col("dp_rank").shift(1))
    first = pl.int_range(pl.len()) == 0
    return rows.filter(first | ~same)
