"""Calls to observations: of a gateway, or of an engine whose side is told later.

A vLLM span has no side. An answer of several tokens is not prefill's, which is asked for one;
what has one token or none may be either's and stands on both. ``prefill_ms`` of a decode
engine is about one step of decode, so it counts only once the engine is known as prefill's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

import polars as pl

from forensics.schema import ENGINE_HOP
from forensics.sources.context import Context
from forensics.sources.genai.call import Call
from forensics.sources.identifiers import of_machine
from forensics.sources.parsed import Parsed
from forensics.sources.records import Raw, add
from forensics.sources.vllm.ids import external

_DTYPES = {"str": pl.String(), "int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean()}
_COLUMNS = {f.name: _DTYPES[str(f.type).split(" ", 1)[0]] for f in fields(Call)}
_UTC = pl.Datetime("us", "UTC")

_ENGINE = pl.col("engine")
_ANSWERED = pl.col("completion") > 1
_VALUES: dict[str, pl.Expr] = {
    "request_id": external("request_id"),
    "transfer_id": external("transfer_id"),
    "tenant_id": pl.col("tenant"),
    "model": pl.col("model"),
    "received_at": pl.col("received").cast(_UTC),
    "finished_at": pl.col("finished").cast(_UTC),
    "prompt_tokens": pl.when(~_ENGINE).then("prompt"),
    "prefill_node": pl.when(_ENGINE & ~_ANSWERED.fill_null(value=False)).then("node"),
    "decode_node": pl.when(_ENGINE).then("node"),
    "prefill_prompt_tokens": pl.when(_ENGINE & ~_ANSWERED.fill_null(value=False)).then("prompt"),
    "decode_prompt_tokens": pl.when(_ENGINE).then("prompt"),
    "cached_tokens": pl.col("cached"),
    "prefill_ms": pl.when(_ENGINE).then("prefill_ms"),
    "completion_tokens": pl.col("completion"),
    "finish_reason": pl.col("reason"),
    "http_status": pl.when(~_ENGINE).then("status"),
}
_HOP = pl.when(_ENGINE).then(pl.lit(ENGINE_HOP)).otherwise(pl.lit("gateway")).alias("hop")


def emit(calls: Sequence[Call], context: Context, parsed: Parsed) -> None:
    """Add one observation for each call, under the engine that wrote it."""
    if not calls:
        return
    frame = pl.DataFrame([asdict(call) for call in calls], schema=_COLUMNS)
    frame = frame.with_columns(node=_nodes(frame["node"], context))
    for (node,), own in frame.group_by("node", maintain_order=True):
        rows = own.select(**_VALUES)
        columns = {name: rows[name] for name in rows.columns}
        hop = own.select(_HOP).to_series()
        raw = Raw(columns, own["line"], None, str(node), require_zone=False, hop=hop)
        add(raw, context, parsed, only="observations")


def _nodes(named: pl.Series, context: Context) -> pl.Series:
    """Return the engines as identifiers; without a name the file's own."""
    known = {name: of_machine(name) for name in named.drop_nulls().unique().to_list()}
    fallback = context.node
    return named.replace_strict(
        list(known) or [""],
        list(known.values()) or [""],
        default=fallback,
        return_dtype=pl.String,
    ).fill_null(fallback)
