"""TensorRT-LLM's log: the pool that a worker allocated when it started.

C++ lines have no time (``[TensorRT-LLM][INFO] ...``), Python's do (``[02/14/2025-09:38:53]
[TRT-LLM] [I] ...``), on a clock without a zone. What a start says is one snapshot. No line
that is read names a request, and all others are counted only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import polars as pl

from forensics.bootstarts import PRINTED
from forensics.incident import Incident
from forensics.sources import colours
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import each_block, lines_of
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.otherlines import OTHER, count_lines
from forensics.sources.parsed import Parsed, Unread

FORMS = (
    Form(
        "trtllm-pool",
        "pool, block size and window, as a worker starts",
        "TensorRT-LLM 0.17-1.3",
        "pool, size of a block, longest sequence",
    ),
)
_RANK = rb"(?:\[\d{1,5}\] ?)?"
_CPP = rb"\[TensorRT-LLM\] ?\[(?:INFO|WARNING|DEBUG|TRACE|VERBOSE)\] ?"
_STAMP = rb"\[(\d\d)/(\d\d)/(\d{4})-(\d\d:\d\d:\d\d)\] "
_PREFIX = re.compile(
    rb"^"
    + _RANK
    + rb"(?:"
    + _CPP
    + rb"|"
    + _STAMP
    + rb"\[TRT-LLM\] (?:\[RANK \d{1,5}\] )?\[[A-Z]\] )"
)
_ANY = re.compile(_PREFIX.pattern, re.MULTILINE)
_TOLD = {
    "pool_tokens": re.compile(
        rb"^\[MemUsageChange\] Allocated [0-9.]+ [KMGT]iB for max tokens in paged KV cache "
        rb"\((\d{1,15})\)\.?$"
    ),
    "page_tokens": re.compile(rb"^Number of tokens per block: (\d{1,9})\.?$"),
    "context_tokens": re.compile(rb"^max_seq_len=(\d{1,15}), max_num_requests=\d+, "),
}

_BEGINS = (
    b"[MemUsageChange] Allocated # for max tokens in paged KV cache (",
    b"Number of tokens per block: ",
    b"max_seq_len=",
)
"""What messages that are read begin with; # stands for a size."""
_SIZE = re.compile(rb"(?<=Allocated )[0-9.]+(?: [KMGT]iB| ?[KMGT]?i?$)")
_READ = re.compile(
    rb"(?:" + _CPP + rb"|\[TRT-LLM\] (?:\[RANK \d{1,5}\] )?\[[A-Z]\] )"
    rb"(?:\[MemUsageChange\] Allocated [0-9.]+ [KMGT]iB for max tokens"
    rb"|Number of tokens per block: |max_seq_len=)"
)
"""Such a message with what stands before it, wherever it stands in a line."""

_ODD = "pool line cut off or not in a known form"


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell the log by the prefix of its lines."""
    return "line prefix of TensorRT-LLM" if _ANY.search(colours.plain(head)) else None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each block was counted as, then what the starts said."""
    starts = _Starts()
    yield from each_block(opened, partial(_block, starts, context))
    last = Parsed()
    if starts.rows:
        last.capacity.append(starts.frame(context))
    yield last


class _Starts:
    """What is told of each start: a value that is told again begins another."""

    def __init__(self) -> None:
        self.rows: list[dict[str, int | str | None]] = []
        self.stamp: str | None = None

    def add(self, name: str, value: int, line: int) -> None:
        if not self.rows or self.rows[-1].get(name) not in (None, value):
            self.rows.append({"line": line, "at": self.stamp})
        self.rows[-1][name] = value

    def frame(self, context: Context) -> pl.DataFrame:
        """Return one fact of capacity a start."""
        schema = {"line": pl.Int64, "at": pl.String, **dict.fromkeys(_TOLD, pl.Int64)}
        frame = pl.DataFrame(self.rows, schema=schema)
        at = pl.col("at").str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
        node = pl.lit(context.node)
        return frame.select(
            node.alias("node"),
            at.to_physical().alias("effective_at"),
            *_TOLD,
            pl.when(pl.col("pool_tokens").is_not_null())
            .then(pl.lit("reported"))
            .alias("pool_basis"),
            pl.lit("tensorrt-llm").alias("engine"),
            # A log without times says at least which pool the runs it is of began with.
            pl.when(at.is_null())
            .then(pl.lit(PRINTED))
            .otherwise(pl.lit("snapshot"))
            .alias("event"),
            pl.lit(context.number, dtype=pl.Int32).alias("file"),
            "line",
            at.is_not_null().alias("naive"),
            node.alias("source_node"),
        )


def _block(starts: _Starts, context: Context, block: Block, parsed: Parsed) -> None:
    lines = lines_of(block)
    parsed.read += len(lines)
    others: dict[int, bytes] = {}
    for place, line in enumerate(lines):
        text = colours.plain(line.rstrip(b"\r"))
        prefix = _PREFIX.match(text)
        odd = _odd(text, prefix, block.number(place))
        if odd:
            parsed.read += len(odd) - 1
            parsed.unread += odd
            continue
        if prefix is None:
            others[block.number(place)] = text
            continue
        if prefix[1]:
            month, day, year, clock = (part.decode() for part in prefix.groups())
            starts.stamp = f"{year}-{month}-{day} {clock}"
        told = _told(text[prefix.end() :])
        if told is None:
            parsed.ignored[OTHER] += 1
        else:
            starts.add(*told, block.number(place))
            parsed.kept += 1
    count_lines(list(others.values()), list(others), context, parsed)


def _odd(text: bytes, prefix: re.Match[bytes] | None, line: int) -> list[Unread]:
    """Return why a line cannot be read of which something would be taken, once for each in it."""
    if prefix is None:
        glued = _READ.search(text) is not None
        return [Unread(line, None, "log line behind other text")] if glued else []
    if _READ.search(text, prefix.end()):
        return [Unread(line, None, "two lines in one")] * 2
    message = text[prefix.end() :]
    cut = _told(message) is None and _is_cut(message)
    return [Unread(line, None, _ODD)] if cut else []


def _is_cut(message: bytes) -> bool:
    """Say whether a message that is none of those that are read begins as one of them."""
    plain = _SIZE.sub(b"#", message.rstrip())
    begun = len(plain) > 1 and any(text.startswith(plain) for text in _BEGINS)
    return begun or plain.startswith(_BEGINS)


def _told(message: bytes) -> tuple[str, int] | None:
    for name, pattern in _TOLD.items():
        if found := pattern.match(message):
            return name, int(found[1])
    return None
