"""SGLang's per-request exporter (``--export-metrics-to-file``), 0.5.6 to 0.5.23.

One JSON object a finished request: ``meta_info`` at the top, and the request's own
parameters as a JSON *string*, which holds the whole prompt unless request logging is
on at level 0 or 1. Of that string only the room, the arrival and a tenant are read.
The file names no host and no side, so the node comes from the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import polars as pl

from forensics.incident import Incident
from forensics.sources.blocks import Block, Source
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.innerjson import decoded
from forensics.sources.jsonlines import Batch, Path
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import answers
from forensics.sources.sglang.batched import Batches

FORMS = (
    Form(
        "exporter",
        "finished request of --export-metrics-to-file",
        "0.5.6-0.5.23",
        "both counts of a prompt, cached and generated tokens, how it ended, DP rank; with "
        "--enable-metrics the prefill time",
    ),
)


PARAMETERS = "request_parameters"
_OUTER: dict[str, Path] = {
    "request_id": ("id",),
    "parameters": (PARAMETERS,),
    **answers.meta_paths(()),
}
_INNER: dict[str, Path] = {
    "transfer_id": ("bootstrap_room",),
    "received": ("received_time",),
}
_TENANT_PATHS: tuple[Path, ...] = (("custom_labels", "tenant"), ("custom_labels", "tenant_id"))
_FIRST_LINES = 20
_SEVERAL = "batch request in one record"


class _Head(msgspec.Struct):
    request_parameters: str
    prompt_tokens: int
    id: str


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell an exporter's file by the parameters and the counts that lie side by side in it."""
    if b'"request_parameters"' not in head:
        return None
    lines = [line for line in head.split(b"\n") if line.startswith(b"{")][:_FIRST_LINES]
    if any(map(_is_record, lines)) or re.search(rb'(?m)^\{"request_parameters": ?"\{', head):
        return "request parameters beside token counts"
    return None


def _is_record(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the finished requests of each block."""
    exporter = _Exporter(context)
    for block in opened.blocks():
        parsed = Parsed()
        exporter.add(block, parsed)
        yield parsed


class _Exporter:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._outer = answers.reader(_OUTER, ())
        self._inner = answers.reader(_INNER, _tenants(context.incident.logs.tenant_from))
        self._bare = answers.BareReasons(())
        self._batches = Batches(self._outer.tree)

    def add(self, block: Block, parsed: Parsed) -> None:
        lines = replace(block, line=0, numbers=None)  # as places within the block
        found = self._outer.read(lines)
        parsed.read += found.read
        parsed.unread += [replace(one, line=block.number(one.line or 0)) for one in found.unread]
        if found.blank:
            parsed.notes["blank line"] += found.blank
        for batch in found.batches:
            # The parameters of all are one text: whose room is which cannot be told.
            single, apart = self._batches.part(batch, lines)
            several = sorted({*apart.of, *(place for place, _ in apart.unread)})
            parsed.unread += [Unread(block.number(place), None, _SEVERAL) for place in several]
            if not len(single.lines):
                continue
            filled = self._bare.fill(single, lines)
            numbers = pl.Series([block.number(at) for at in single.lines.to_list()], dtype=pl.Int64)
            self._batch(replace(filled, lines=numbers), parsed)

    def _batch(self, batch: Batch, parsed: Parsed) -> None:
        columns = dict(batch.columns)
        height = len(batch.lines)
        texts = columns.pop("parameters", pl.Series([None] * height, dtype=pl.String))
        columns |= decoded(texts, self._inner, PARAMETERS, parsed.bad_values)
        frame = answers.typed(columns, batch.lines, self._context, parsed)
        known = pl.any_horizontal(pl.col("request_id", "prompt", "reason").is_not_null())
        parsed.ignored["other record"] += frame.filter(~known).height
        frame = frame.filter(known)
        if frame.height:
            answers.emit(frame, answers.told(pl.lit(value=True)), self._context, parsed)


def _tenants(stated: tuple[str, ...]) -> tuple[Path, ...]:
    """Return where tenants stand among the parameters; ``obj.`` is how a request log says it."""
    paths = [tuple(path.split(".")) for path in stated]
    inner = [path[1:] if path[0] in ("obj", PARAMETERS) and path[1:] else path for path in paths]
    return tuple(inner) or _TENANT_PATHS
