"""Snapshots of ``/server_info`` and ``/model_info`` of an SGLang server, saved as JSON.

A server's pool, limits and role as it was asked. The answer holds all of its arguments,
secrets among them; only the settings of the schema are read. Ranks come in the order
they answered, without their number, so that a snapshot speaks for the server alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import polars as pl

from forensics.bootstarts import BEGAN
from forensics.incident import Incident
from forensics.schema import Kind
from forensics.sources.blocks import Block, Source
from forensics.sources.context import Context
from forensics.sources.documents import Document, documents
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, JsonColumns, Path
from forensics.sources.parsed import Parsed
from forensics.sources.records import KINDS, Raw, add

FORMS = (
    Form(
        "server-info",
        "answer of /server_info or /get_server_info",
        "0.5.3-0.5.23",
        "pool, page size, window, smallest rejected prompt, role, version, settings",
    ),
    Form(
        "model-info",
        "answer of /model_info or /get_model_info",
        "0.5.3-0.5.23",
        "nothing: it names the model alone",
    ),
)


RANKS_DIFFER = "ranks report different pools; the smallest is taken for all of them"
_PATHS: dict[str, Path] = {
    "role": ("disaggregation_mode",),
    "pool_tokens": ("max_total_num_tokens",),
    "page_tokens": ("page_size",),
    "context_tokens": ("context_length",),
    "input_limit_tokens": ("max_req_input_len",),
    "auto_truncate": ("allow_auto_truncate",),
    "engine_version": ("version",),
}
_INNER: dict[str, Path] = {name: ("server_args", *path) for name, path in _PATHS.items()}
"""Where whoever saved an answer kept its arguments apart from its figures."""
_PATH_KINDS: dict[str, Kind] = {name: KINDS[name] for name in _PATHS}
_ROLES = {"prefill": "prefill", "decode": "decode", "null": "unified"}
_MODEL_INFO = re.compile(rb'"(?:is_generation|tokenizer_path)"\s*:')
_TOGETHER = 500
_EARLIEST = 1_500_000_000
"""Seconds of 2017: a start-up figure below is a duration, not a moment."""


class _Memory(msgspec.Struct):
    token_capacity: int | None = None


class _State(msgspec.Struct):
    memory_usage: _Memory | None = None


class _Rest(msgspec.Struct):
    """What is no plain value at the top: the ranks, and a start whose type varies."""

    internal_states: list[_State] | None = None
    startup_time: msgspec.Raw = msgspec.Raw(b"null")


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell a snapshot by figures that only a running scheduler reports."""
    if not re.match(rb"\s*\{", head):
        return None
    if re.search(rb'"max_req_input_len"\s*:', head) and re.search(rb'"internal_states"\s*:', head):
        return "scheduler figures of /server_info"
    if re.search(rb'"is_generation"\s*:', head) and re.search(rb'"tokenizer_path"\s*:', head):
        return "model description of /model_info"
    return None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each document was counted as, and the capacity of many at a time."""
    snapshots = _Snapshots(context)
    for document in documents(opened):
        parsed = Parsed(read=1)
        snapshots.take(document, parsed)
        if len(snapshots.rows) >= _TOGETHER:
            snapshots.flush(parsed)
        yield parsed
    last = Parsed()
    snapshots.flush(last)
    yield last


class _Snapshots:
    """Rows of named values as text; nothing else of a document is held."""

    def __init__(self, context: Context) -> None:
        self.rows: list[dict[str, str | None]] = []
        self._lines: list[int] = []
        self._context = context
        self._values = JsonColumns(_PATHS, _PATH_KINDS)
        self._inner = JsonColumns(_INNER, _PATH_KINDS)
        self._settings = JsonColumns({"config": ("all",)}, {"config": "config"})

    def take(self, document: Document, parsed: Parsed) -> None:
        """Hold the row of one snapshot, or say what else the document is."""
        if document.reason is not None:
            parsed.unread.append(document.unread(document.reason))
            return
        found = self._values.read(Block(document.data, document.line, document.offset))
        parsed.unread += found.unread[:1]  # one document, whatever is in it
        for batch in found.batches:
            values = self._arguments(document) | _texts(batch)
            if {"pool_tokens", "input_limit_tokens"}.isdisjoint(values):
                kind = "model info" if _MODEL_INFO.search(document.data) else "other document"
                parsed.ignored[kind] += 1
            else:
                self.rows.append(values | self._more(document.data, values.get("role"), parsed))
                self._lines.append(document.line)

    def _arguments(self, document: Document) -> dict[str, str | None]:
        """Return what is told in an object of arguments."""
        if b'"server_args"' not in document.data:
            return {}
        found = self._inner.read(Block(document.data, document.line, document.offset))
        return {name: text for batch in found.batches for name, text in _texts(batch).items()}

    def _more(self, data: bytes, mode: str | None, parsed: Parsed) -> dict[str, str | None]:
        """Return the node, its part, its settings, and the smallest pool of the ranks."""
        rest, role = _rest(data, parsed), _ROLES.get(mode or "")
        apart = None if role is None else str(role != "unified")
        more = {"node": self._context.node, "engine": "sglang", "role": role}
        more |= {"disaggregated": apart, "effective_at": _epoch(rest.startup_time)}
        for batch in self._settings.read(Block(b'{"all":' + data + b"}", 0, 0)).batches:
            more |= _texts(batch)
        return more | _pool(rest, parsed)

    def flush(self, parsed: Parsed) -> None:
        """Add the rows that are held, marked as what was seen at some moment of a boot."""
        if not self.rows:
            return
        names = sorted({name for row in self.rows for name in row})
        columns = {
            name: pl.Series(name, [row.get(name) for row in self.rows], dtype=pl.String)
            for name in names
        }
        lines = pl.Series(self._lines, dtype=pl.Int64)
        before = len(parsed.capacity)
        raw = Raw(columns, lines, None, self._context.node, require_zone=False)
        add(raw, self._context, parsed, only="capacity")
        dated = pl.col("effective_at").is_not_null()
        event = pl.when(dated).then(pl.lit(BEGAN)).otherwise(pl.lit("snapshot"))
        parsed.capacity[before:] = [
            frame.with_columns(event=event) for frame in parsed.capacity[before:]
        ]
        self.rows, self._lines = [], []


def _texts(batch: Batch) -> dict[str, str | None]:
    """Return the values of a batch of one record as text."""
    return {name: series.cast(pl.String).item() for name, series in batch.columns.items()}


def _rest(data: bytes, parsed: Parsed) -> _Rest:
    try:
        return msgspec.json.decode(data, type=_Rest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        parsed.bad_values["pool_tokens"] += 1
        return _Rest()


def _pool(rest: _Rest, parsed: Parsed) -> dict[str, str | None]:
    """Return the smallest pool; where they differ, the limit is of one rank and left out."""
    usages = [state.memory_usage for state in rest.internal_states or ()]
    pools = [usage.token_capacity for usage in usages if usage is not None]
    known = [pool for pool in pools if pool is not None and pool > 0]
    if not known:
        return {}
    if len(set(known)) == 1:
        return {"pool_tokens": str(known[0])}
    parsed.notes[RANKS_DIFFER] += 1
    return {"pool_tokens": str(min(known)), "input_limit_tokens": None}


def _epoch(raw: msgspec.Raw) -> str | None:
    """Return a start as text if it is epoch seconds; most versions hold durations there."""
    match = re.fullmatch(rb"(\d{10})(?:\.\d+)?", bytes(raw))
    if match is None or int(match[1]) < _EARLIEST:
        return None
    moment = pl.Series([int(match[1]) * 1_000_000]).cast(pl.Datetime("us"))
    return str(moment.dt.to_string("%Y-%m-%dT%H:%M:%SZ").item())
