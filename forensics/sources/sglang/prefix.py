"""What stands before a message: when it was logged, by which ranks, and whether in UTC.

The engine writes ``[2026-08-28 03:14:06 DP4 TP4 EP4] message``: local time, no zone.
A paste loses the bracket, a logging configuration adds file and level, Ray puts the actor
before it, and Dynamo writes UTC in a form of its own.
"""

from __future__ import annotations

import polars as pl

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
_FRACTION = r"(?:[.,](?<fraction>[0-9]{1,9}))?"
# Each rank begins with a letter of its own: the pattern is decided byte by byte.
_RANKS = (
    r"(?: (?:DP(?<dp>[0-9]{1,4})|PP[0-9]+|ATTN_CP[0-9]+|MOE_DP[0-9]+|TP(?<tp>[0-9]{1,4})"
    r"|EP[0-9]+))*"
)
_STAMP = rf"(?<stamp>{_DAY} {_CLOCK}){_FRACTION}{_RANKS}"
_USUAL = rf"^\[{_STAMP}$"
_COLOUR = r"(?:\x1b\[[0-9;]*m)*"
_ACTOR = rf"(?:\([^()]{{1,80}}\){_COLOUR} )?"
_LOGGER = r"(?:\[[^\[\]]{0,80}\])*:?"
_UNUSUAL = rf"^{_COLOUR}{_ACTOR}\[?{_STAMP}\]{_LOGGER} (?<body>.*)$"
_LEVEL = rf"{_COLOUR} +{_COLOUR}[A-Z]{{4,5}}{_COLOUR} +{_COLOUR}[A-Za-z0-9_.:]{{1,120}}{_COLOUR}:"
_UTC = rf"^{_COLOUR}(?<stamp>{_DAY}T{_CLOCK}){_FRACTION}Z{_LEVEL} {_COLOUR}(?<body>.*)$"
_GROUPS = ("stamp", "fraction", "dp", "tp")
COLUMNS = ["line", "body", "known", "local", "naive", "identity", "dp", "tp"]


def split(lines: pl.DataFrame, node: str) -> pl.DataFrame:
    """Return ``line`` and ``text`` as :data:`COLUMNS`: message, time, engine, ranks.

    ``local`` are microseconds on the clock of the prefix, null where it names no day that
    there is; ``naive`` is true where that clock's zone is not known. Where the usual prefix
    is not there, ``known`` is false and ``body`` the whole text.
    """
    rows = lines["text"].str.splitn("] ", 2).struct.unnest()
    rows.columns = ["head", "body"]
    if rows["body"].str.starts_with(" ").any():
        rows = rows.with_columns(pl.col("body").str.strip_chars_start(" "))
    rows.insert_column(0, lines["line"])
    # Many lines share a second and a rank: what stands there is taken apart once.
    heads = rows.select(pl.col("head").unique()).with_columns(_fields("head", _USUAL))
    heads = heads.unnest("prefix").select("head", *_parsed(node, naive=True))
    rows = rows.join(heads, on="head", how="left", maintain_order="left")
    if rows["body"].null_count() or not rows["known"].all():
        known = rows["known"] & rows["body"].is_not_null()
        body = rows["body"].zip_with(known, lines["text"])
        rows = rows.with_columns(known.alias("known"), body.alias("body"))
    return rows.drop("head")


def split_unusual(rows: pl.DataFrame, node: str) -> pl.DataFrame:
    """Look for the other prefixes in rows that have none; the order of rows is not kept."""
    found = []
    left = rows.select("line", "body")
    for pattern, naive in ((_UNUSUAL, True), (_UTC, False)):
        tried = left.with_columns(_fields("body", pattern))
        there = tried["prefix"].struct.field("stamp").is_not_null()
        seen = _with_groups(tried.filter(there).drop("body").unnest("prefix"))
        found.append(seen.select("line", "body", *_parsed(node, naive=naive)).select(COLUMNS))
        left = left.filter(~there)
    found.append(rows.filter(pl.col("line").is_in(left["line"].implode())).select(COLUMNS))
    return pl.concat([frame for frame in found if frame.height], rechunk=True)


def _fields(name: str, pattern: str) -> pl.Expr:
    return pl.col(name).str.extract_groups(pattern).alias("prefix")


def _with_groups(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the groups that the pattern of a prefix has not."""
    absent = [name for name in _GROUPS if name not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)


def _parsed(node: str, *, naive: bool) -> list[pl.Expr]:
    return [
        pl.col("stamp").is_not_null().alias("known"),
        _local().alias("local"),
        pl.lit(naive).alias("naive"),
        identity(node).alias("identity"),
        pl.col("dp").cast(pl.Int32),
        pl.col("tp").cast(pl.Int32),
    ]


def _local() -> pl.Expr:
    moment = pl.col("stamp").str.replace("T", " ", literal=True)
    micros = moment.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    fraction = pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    return micros.to_physical() + fraction.fill_null(0)


def identity(node: str) -> pl.Expr:
    """The engine: its node, and its data-parallel rank where the prefix has one."""
    ranked = pl.concat_str(pl.lit(f"{node}/dp"), "dp")
    return pl.when(pl.col("dp").is_null()).then(pl.lit(node)).otherwise(ranked)
