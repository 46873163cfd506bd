"""LMCache's lookup files (``lookup_hashes_*.jsonl``): one JSON object a lookup.

A lookup has the id that the engine knows a request by and the length of its prompt. Which
side asked is not in it. Hashes of chunks, shapes and types are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from forensics.incident import Incident
from forensics.schema import ENGINE_HOP, Kind
from forensics.sources import moments
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import Batch, JsonColumns
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add
from forensics.sources.vllm.ids import internal

FORMS = (
    Form(
        "lmcache-lookup-file",
        "lookup of a prompt's chunks",
        "LMCache 0.3-0.5",
        "id, length of the prompt, model, time in UTC",
    ),
)
_KINDS: dict[str, Kind] = {
    "timestamp": "time",
    "request_id": "id",
    "model_name": "name",
    "seq_len": "count",
}
_RECORD = re.compile(
    rb'^(?=[^\n]*"request_id"\s*:)(?=[^\n]*"seq_len"\s*:)(?=[^\n]*"chunk_hashes"\s*:)\s*\{',
    re.MULTILINE,
)


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell a lookup file by the length and the hashes that lie side by side in it."""
    return "prompt lengths beside hashes of chunks" if _RECORD.search(head) else None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the lookups of each block."""
    columns = JsonColumns({name: (name,) for name in _KINDS}, _KINDS)
    for block in opened.blocks():
        found = columns.read(block)
        parsed = Parsed(read=found.read)
        parsed.unread += found.unread
        if found.blank:
            parsed.notes["blank line"] += found.blank
        for batch in found.batches:
            _batch(batch, context, parsed)
        yield parsed


def _batch(batch: Batch, context: Context, parsed: Parsed) -> None:
    absent = pl.Series([None] * len(batch.lines), dtype=pl.String)
    columns = [batch.columns.get(name, absent).cast(pl.String).alias(name) for name in _KINDS]
    frame = pl.DataFrame(columns).with_columns(line=batch.lines)
    known = pl.col("request_id").is_not_null() & pl.col("seq_len").is_not_null()
    rows = frame.filter(known).rechunk()
    parsed.ignored["other record"] += frame.height - rows.height
    if not rows.height:
        return
    # A lookup file is named after the moment: only a stated node is one.
    node = pl.lit(context.stated_node, dtype=pl.String)
    shown = rows.select(
        internal("request_id").alias("request_id"),
        moments.texts(rows["timestamp"], 1).alias("received_at"),
        pl.col("model_name").alias("model"),
        node.alias("prefill_node"),
        node.alias("decode_node"),
        # A single token may be prefill's placeholder: which side asked is not told.
        pl.when(pl.col("seq_len") != "1").then("seq_len").alias("prompt_tokens"),
    )
    raw_columns = {name: shown[name] for name in shown.columns}
    hop = pl.repeat(ENGINE_HOP, rows.height, dtype=pl.String, eager=True)
    # A prompt is looked up when its turn has come, which may be long after it came.
    late = pl.repeat(True, rows.height, dtype=pl.Boolean, eager=True)
    node_of = context.node
    raw = Raw(raw_columns, rows["line"], None, node_of, require_zone=False, hop=hop, late=late)
    add(raw, context, parsed, only="observations")
