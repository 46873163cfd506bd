"""What stands before a message: its process, level, time without year or zone, and place.

``(EngineCore_DP0 pid=612) INFO 03-14 08:59:20 [core.py:77] message``; up to 0.7 without the
first bracket, and the process from 0.9 on. LMCache prints into the same stream with a date.
"""

from __future__ import annotations

import polars as pl

from forensics.sources.colours import RAW
from forensics.sources.vllm.year import MONTH_DAY, local
from forensics.years import Span

_NAMED = r"^(?:\([A-Za-z][A-Za-z0-9_.-]{0,60} [^()]{1,80}\) +)+"
_PROCESS = (
    r"(?:\((?<proc>[A-Za-z][A-Za-z0-9_.-]{0,60})(?: rank=[0-9]{1,4})? pid=[0-9]{1,10}"
    r"(?:, ip=[^()]{1,64})?\) +)*"
)
LEVEL = r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_PLACE = r"\[?(?<file>[^\[\]\s:]{1,200}):[0-9]{1,6}"
STAMP = rf"{LEVEL} {MONTH_DAY} \[?[^\[\]\s:]{{1,200}}:[0-9]{{1,6}}"
"""What every line has before its message, without the bracket behind it."""
_STAMP = rf"{LEVEL} (?<stamp>{MONTH_DAY}) {_PLACE}"
_USUAL = rf"^{_PROCESS}{_STAMP}$"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
DATED = rf"\[{_DAY}[,.][0-9]{{3}}\] "
"""What LMCache has before its name, behind the process."""
_DATED = rf"^{_PROCESS}\[(?<date>{_DAY})[,.](?<millis>[0-9]{{3}})$"
# VLLM_LOGGING_PREFIX may be any text; one word of it is believed.
_PREPENDED = rf"^(?<head>\S{{1,80}}? ?{_PROCESS}{_STAMP})\] (?<body>.*)$"
_SEEN = rf"[A-Z] {MONTH_DAY} "
LMCACHE = "LMCache "
COLUMNS = [
    *("line", "body", "known", "local", "naive", "identity", "dp", "tp"),
    *("head", "front", "file", "yearless"),
]
"""``front``: the API server wrote it; ``file``: name of the module; ``yearless``: no year
can be told for its time from its own line."""


def split(lines: pl.DataFrame, node: str, span: Span | None) -> pl.DataFrame:
    """Return ``line`` and ``text`` as :data:`COLUMNS`: message, time, engine, ranks.

    ``local`` are microseconds on the clock of the prefix; ``head`` is all that stands
    before the message. Where no prefix is there, ``known`` is false and ``body`` the text,
    without the name of a process.
    """
    text = _plain(lines["text"])
    rows = text.str.splitn("] ", 2).struct.unnest()
    rows.columns = ["head", "body"]
    if rows["body"].str.starts_with(" ").any():
        rows = rows.with_columns(pl.col("body").str.strip_chars_start(" "))
    rows.insert_column(0, lines["line"])
    rows = _with_heads(rows, node, span)
    dated = rows["date"].is_not_null() & ~rows["body"].str.starts_with(LMCACHE)
    known = (rows["known"] & rows["body"].is_not_null() & ~dated).fill_null(value=False)
    rows = rows.with_columns(known.alias("known")).select(COLUMNS)
    if known.all():
        return rows
    others = rows.filter(~known).with_columns(body=_without_process(text.filter(~known)))
    others = _prepended(others, node, span)
    known_too = [rows.filter(known)] if known.any() else []
    return pl.concat([*known_too, others], rechunk=True).sort("line")


def _plain(text: pl.Series) -> pl.Series:
    """Take colours out of the lines that have any."""
    some = text.str.contains("\x1b", literal=True)
    return text.str.replace_all(RAW, "").zip_with(some, text) if some.any() else text


def _without_process(text: pl.Series) -> pl.Series:
    """Take the process off, which stands before what other programs print as well."""
    named = text.str.starts_with("(")
    return text.str.replace(_NAMED, "").zip_with(named, text) if named.any() else text


def _with_heads(rows: pl.DataFrame, node: str, span: Span | None) -> pl.DataFrame:
    """Take apart what stands before the messages; many lines share it."""
    heads = rows.select(pl.col("head").unique())
    usual = heads.select(pl.col("head").str.extract_groups(_USUAL)).unnest("head")
    dated = heads.select(pl.col("head").str.extract_groups(_DATED)).unnest("head")
    parts = usual.with_columns(
        dated["date"], dated["millis"], proc=pl.Series(usual["proc"]).fill_null(dated["proc"])
    )
    found = heads.hstack(parts.select(*_parsed(node, span), "date"))
    return rows.join(found, on="head", how="left", maintain_order="left")


def _parsed(node: str, span: Span | None) -> list[pl.Expr]:
    proc, stamp = pl.col("proc"), pl.col("stamp")
    day = pl.col("date").str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    full = day.to_physical() + pl.col("millis").cast(pl.Int64) * 1_000
    moment = pl.coalesce(local(stamp, span), full)
    return [
        (stamp.is_not_null() | pl.col("date").is_not_null()).alias("known"),
        moment.alias("local"),
        pl.lit(value=True).alias("naive"),
        identity(proc, node),
        rank(proc).cast(pl.Int32).alias("dp"),
        proc.str.extract(r"_TP([0-9]{1,4})", 1).cast(pl.Int32).alias("tp"),
        proc.str.starts_with("APIServer").fill_null(value=False).alias("front"),
        pl.col("file").str.extract(r"([^/]+)$", 1),
        (stamp.is_not_null() & (moment.is_null() | (span is None))).alias("yearless"),
    ]


def rank(proc: pl.Expr) -> pl.Expr:
    """The data-parallel rank in the name of a process."""
    return proc.str.extract(r"(?:_DP|^EngineCore_)([0-9]{1,4})(?:_|$)", 1)


def identity(proc: pl.Expr, node: str) -> pl.Expr:
    """The engine: its node, and its data-parallel rank where the process has one."""
    ranked = pl.concat_str(pl.lit(f"{node}/dp"), rank(proc))
    return pl.coalesce(ranked, pl.lit(node)).alias("identity")


def _prepended(rows: pl.DataFrame, node: str, span: Span | None) -> pl.DataFrame:
    """Look for prefixes behind a word of the operator's, in lines that have none."""
    sought = rows["body"].str.contains(_SEEN)
    if not sought.any():
        return rows
    some = rows.filter(sought)
    groups = some["body"].str.extract_groups(_PREPENDED).struct.unnest()
    nothing = pl.lit(None, dtype=pl.String)
    parts = groups.with_columns(date=nothing, millis=nothing)
    fields = parts.select("head", "body", *_parsed(node, span))
    found = some.select("line").hstack(fields).select(COLUMNS).filter("known")
    if not found.height:
        return rows
    rest = rows.filter(~pl.col("line").is_in(found["line"].implode()))
    return pl.concat([rest, found], rechunk=True)
