"""What stands before a message: when it was logged, by which ranks, and whether in UTC.

The engine writes ``[2026-08-28 03:14:06 DP4 TP4 EP4] message``: local time, no zone.
A paste loses the bracket, a logging configuration adds file and level, Ray puts the actor
before it, and Dynamo writes UTC in a form of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.sources.bytewords import SIZE, ByteLines, before, kinds, word_at
from forensics.sources.colours import RAW

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
_FRACTION = r"(?:[.,](?<fraction>[0-9]{1,9}))?"
# Each rank begins with a letter of its own: the pattern is decided byte by byte.
_RANKS = (
    r"(?: (?:DP(?<dp>[0-9]{1,4})|PP[0-9]+|ATTN_CP[0-9]+|MOE_DP[0-9]+|TP(?<tp>[0-9]{1,4})"
    r"|EP[0-9]+))*"
)
_STAMP = rf"(?<stamp>{_DAY} {_CLOCK}){_FRACTION}{_RANKS}"
_STAMP_ALONE = rf"^\[({_DAY} {_CLOCK})$"
_STAMP_BYTES = len("[2026-08-28 03:14:06")
_BEHIND_STAMP = rf"^(?<whole>{_FRACTION}{_RANKS})$"
_LOW = np.uint64(0xFFFFFFFF)
"""The bytes of the third word that are a stamp's."""
_ONE, _TWO = np.uint64(0xFF), np.uint64(0xFFFF)
_CLOSED = int.from_bytes(b"] ", "little")
_WINDOW = 128
"""Bytes in which a prefix ends; a longer one is looked for among the unusual ones."""
_COLOUR = rf"(?:{RAW})*"
_ACTOR = rf"(?:\([^()]{{1,80}}\){_COLOUR} {_COLOUR})*"
_LOGGER = r"(?:\[[^\[\]]{0,80}\])*:?"
_UNUSUAL = rf"^{_COLOUR}{_ACTOR}\[?{_STAMP}\]{_LOGGER} (?<body>.*)$"
_LEVEL = rf"{_COLOUR} +{_COLOUR}[A-Z]{{4,5}}{_COLOUR} +{_COLOUR}[A-Za-z0-9_.:]{{1,120}}{_COLOUR}:"
_UTC = rf"^{_COLOUR}(?<stamp>{_DAY}T{_CLOCK}){_FRACTION}Z{_LEVEL} {_COLOUR}(?<body>.*)$"
_GROUPS = ("stamp", "fraction", "dp", "tp")
COLUMNS = ["line", "body", "known", "local", "naive", "identity", "dp", "tp"]


def split(lines: pl.DataFrame, data: ByteLines, node: str) -> tuple[pl.DataFrame, np.ndarray]:
    """Return lines as :data:`COLUMNS` (message, time, engine, ranks), and where messages begin.

    ``local`` are microseconds on the clock of the prefix, null where it names no day that
    there is; ``naive`` is true where that clock's zone is not known. Where the usual prefix
    is not there, ``known`` is false and ``body`` the whole text.

    Args:
        lines: ``line`` and ``text``.
        data: the same lines as bytes.
        node: who wrote them.
    """
    head = _head(data)
    # Many lines share a second, and many a rank: each is taken apart once.
    stamps, stamp = _stamps(head)
    ranks, rank = _ranks(head, node)
    known = stamps["known"][stamp] & ranks["known"][rank] & pl.Series(head.closed)
    body, begins = _behind(lines["text"], head, known)
    found = pl.DataFrame(
        [
            lines["line"],
            body.alias("body"),
            known,
            stamps["local"][stamp] + ranks["fraction"][rank],
            pl.repeat(True, len(known), dtype=pl.Boolean, eager=True).alias("naive"),
            *(ranks[name][rank] for name in ("identity", "dp", "tp")),
        ]
    )
    return found if known.all() else found.with_columns(_unless_known(node)), begins


def _unless_known(node: str) -> list[pl.Expr]:
    known = pl.col("known")
    fields = [pl.when(known).then(name).alias(name) for name in ("local", "dp", "tp")]
    return [*fields, pl.when(known).then("identity").otherwise(pl.lit(node)).alias("identity")]


@dataclass(frozen=True)
class _Head:
    """What stands before the first ``]`` of each line, as words; no words where none is near."""

    data: ByteLines
    stamp: list[np.ndarray]
    behind: list[np.ndarray]
    length: np.ndarray
    closed: np.ndarray


def _head(data: ByteLines) -> _Head:
    windows = data.windows(data.starts, _WINDOW)
    first, second, third, *more = (word_at(windows, at) for at in range(0, _WINDOW, SIZE))
    words: list[np.ndarray] = []
    length = np.full(len(data.starts), 2 * SIZE)
    longer = np.ones(len(data.starts), np.bool_)
    for word in (third & ~_LOW, *more):
        kept, size = before(word, b"]")
        words.append(kept * longer)
        length += size * longer
        longer &= size == SIZE
        if not longer.any():
            break
    closed = (data.words(data.starts + length) & _TWO) == _CLOSED
    stamp = [word * closed for word in (first, second, third & _LOW)]
    behind = [closed.astype(np.uint64), *(word * closed for word in words)]
    return _Head(data, stamp, behind, length, closed)


def _stamps(head: _Head) -> tuple[pl.DataFrame, np.ndarray]:
    """Return ``known`` and ``local`` of each stamp that there is, and which one a line has."""
    one, stamp = kinds(head.stamp)
    begins = head.data.starts[one]
    texts = head.data.texts(begins, begins + _STAMP_BYTES)
    stamps = texts.str.extract(_STAMP_ALONE, 1).alias("stamp").to_frame()
    return stamps.select(pl.col("stamp").is_not_null().alias("known"), local=_seconds()), stamp


def _ranks(head: _Head, node: str) -> tuple[pl.DataFrame, np.ndarray]:
    """Return what there is behind stamps: fraction and ranks, and which of these a line has."""
    one, rank = kinds(head.behind)
    begins = head.data.starts[one]
    texts = head.data.texts(begins + _STAMP_BYTES, begins + head.length[one])
    fields = texts.alias("text").to_frame().with_columns(_fields("text", _BEHIND_STAMP))
    found = fields.unnest("prefix").select(
        pl.col("whole").is_not_null().alias("known"), _fraction(), *_engine(node)
    )
    return found, rank


def _behind(text: pl.Series, head: _Head, known: pl.Series) -> tuple[pl.Series, np.ndarray]:
    """Return the messages, what stands behind the usual prefix or all, and where they begin."""
    passed = (head.length + len("] ")) * known.to_numpy()
    begins = head.data.starts + passed
    cut = pl.col("text").cast(pl.Binary).bin.slice(pl.lit(pl.Series(passed))).cast(pl.String)
    body = text.to_frame("text").select(cut).to_series()
    spaced = (head.data.words(begins) & _ONE == ord(" ")) & known.to_numpy()
    if not spaced.any():
        return body, begins
    bare = body.str.strip_chars_start(" ").zip_with(pl.Series(spaced), body)
    return bare, begins + (body.str.len_bytes() - bare.str.len_bytes()).to_numpy()


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
        (_seconds() + _fraction()).alias("local"),
        pl.lit(naive).alias("naive"),
        *_engine(node),
    ]


def _engine(node: str) -> list[pl.Expr]:
    ranks = [pl.col(name).cast(pl.Int32) for name in ("dp", "tp")]
    return [identity(node).alias("identity"), *ranks]


def _seconds() -> pl.Expr:
    """Microseconds of whole seconds."""
    moment = pl.col("stamp").str.replace("T", " ", literal=True)
    return moment.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False).to_physical()


def _fraction() -> pl.Expr:
    micros = pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    return micros.fill_null(0)


def identity(node: str) -> pl.Expr:
    """The engine: its node, and its data-parallel rank where the prefix has one."""
    ranked = pl.concat_str(pl.lit(f"{node}/dp"), "dp")
    return pl.when(pl.col("dp").is_null()).then(pl.lit(node)).otherwise(ranked)
