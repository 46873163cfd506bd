"""Requests of a trace file, put together from spans that come in any order.

A root is written when its request ends and its threads' spans by other processes, so
they lie apart in the file. Only ids, counts and times of roots are held until its end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields

import polars as pl

from forensics.sources.context import Context
from forensics.sources.otlp import Span
from forensics.sources.parsed import Parsed
from forensics.sources.sglang import answers

BOTH_SIDES = "spans of prefill and decode in one file: its path names no engine"

_Key = tuple[str, str]
"""A span within a file: trace and span id."""


@dataclass(frozen=True)
class Root:
    """One side's root span of a request; times in seconds since 1970."""

    role: str
    request_id: str | None
    transfer_id: str
    model: str | None
    reason: str | None
    prompt: int | None
    completion: int | None
    cached: int | None
    arrived: float | None
    finished: float | None
    line: int


_DTYPES: dict[str, pl.DataType] = {
    "str": pl.String(),
    "int": pl.Int64(),
    "float": pl.Float64(),
}
_COLUMNS = {f.name: _DTYPES[str(f.type).split(" ", 1)[0]] for f in fields(Root)}
_NOT_RAW = ("role", "model", "forward_ms")


@dataclass
class _Thread:
    """What the threads of one request say of it."""

    ranks: set[int] = field(default_factory=set)
    status: int | None = None
    aborted: bool = False
    spans: int = 0


@dataclass
class _Forward:
    """The longest forward pass below one thread, microseconds: ranks run it side by side."""

    longest: int = 0
    spans: int = 0


class Traced:
    """Roots of a file's requests, and what their children add."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._keys: list[_Key] = []
        self._roots: list[Root] = []
        self._threads: dict[_Key, _Thread] = {}
        self._parents: dict[_Key, _Key] = {}
        self._forwards: dict[_Key, _Forward] = {}

    def add_root(self, span: Span, root: Root) -> None:
        """Add a root span; one that was exported twice comes out twice, to be counted so."""
        self._keys.append((span.trace, span.span))
        self._roots.append(root)

    def add_thread(
        self, span: Span, rank: int | None, status: int | None, *, aborted: bool
    ) -> None:
        """Add the span of a thread that names its rank or an abort."""
        root = (span.trace, span.parent)
        self._parents[span.trace, span.span] = root
        thread = self._threads.setdefault(root, _Thread())
        thread.spans += 1
        if rank is not None:
            thread.ranks.add(rank)
        if aborted:
            thread.aborted, thread.status = True, status

    def add_forward(self, span: Span) -> None:
        """Add the span of a prefill forward pass."""
        forward = self._forwards.setdefault((span.trace, span.parent), _Forward())
        forward.spans += 1
        if span.start is not None and span.end is not None:
            forward.longest = max(forward.longest, span.end - span.start)

    def rows(self) -> Parsed:
        """Return the requests, and count the spans whose request is not in the file."""
        parsed = Parsed()
        self._count_children(parsed)
        if not self._roots:
            return parsed
        frame = self._frame()
        raw = {name: frame[name] for name in frame.columns if name not in _NOT_RAW}
        rows = answers.typed(raw, frame["line"], self._context, parsed)
        rows = rows.with_columns(frame[name] for name in _NOT_RAW)
        self._emit(rows, parsed)
        return parsed

    def _emit(self, rows: pl.DataFrame, parsed: Parsed) -> None:
        prefill = pl.col("role") == "prefill"
        hop = pl.when(prefill).then(pl.lit("prefill")).otherwise(pl.lit("decode"))
        took = pl.when(prefill & (pl.col("forward_ms") > 0)).then("forward_ms")
        more = {"model": pl.col("model"), "prefill_ms": took}
        if self._context.stated_node is None and {"prefill", "decode"} <= set(rows["role"]):
            # A collector's file: a limit is then looked for on all prefill nodes.
            parsed.notes[BOTH_SIDES] += 1
            nobody = pl.lit(None, dtype=pl.String)
            more |= {"prefill_node": nobody, "decode_node": nobody}
        else:
            parsed.capacity.append(self._roles(rows))
        answers.emit(rows, hop, self._context, parsed, stated=True, **more)

    def _count_children(self, parsed: Parsed) -> None:
        counts = [(thread.spans, key) for key, thread in self._threads.items()]
        counts += [(forward.spans, self._root_of(at)) for at, forward in self._forwards.items()]
        known = set(self._keys)
        for number, key in counts:
            if key in known:
                parsed.kept += number
            else:
                parsed.ignored["span of a request that is not in the file"] += number

    def _root_of(self, thread: _Key) -> _Key:
        return self._parents.get(thread, thread)

    def _frame(self) -> pl.DataFrame:
        """Return the roots with rank, abort and forward time of each."""
        forwards: dict[_Key, int] = {}
        for thread, forward in self._forwards.items():
            root = self._root_of(thread)
            forwards[root] = max(forward.longest, forwards.get(root, 0))
        threads = [self._threads.get(key, _Thread()) for key in self._keys]
        pairs = zip(threads, self._roots, strict=True)
        ranks = [min(t.ranks) if len(t.ranks) == 1 else None for t in threads]
        reasons = ["abort" if t.aborted else r.reason for t, r in pairs]
        frame = pl.DataFrame([asdict(root) for root in self._roots], schema=_COLUMNS)
        return frame.with_columns(
            pl.Series("dp_rank", ranks, dtype=pl.Int64),
            pl.Series("status", [t.status for t in threads], dtype=pl.Int64),
            pl.Series("reason", reasons, dtype=pl.String),
            pl.Series("forward_ms", [forwards.get(key, 0) / 1e3 for key in self._keys]),
        )

    def _roles(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return each engine's part in the hand-off, as its own spans say."""
        return rows.select(
            answers.identity(self._context.node).alias("node"),
            "role",
            (pl.col("role") != "unified").alias("disaggregated"),
            pl.lit("sglang").alias("engine"),
            pl.lit("role").alias("event"),
            pl.lit(self._context.number, dtype=pl.Int32).alias("file"),
            pl.col("line").cast(pl.Int64),
            pl.lit(value=False).alias("naive"),
            pl.lit(self._context.node).alias("source_node"),
        ).unique(["node", "role"], keep="first", maintain_order=True)
