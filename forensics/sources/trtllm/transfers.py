"""TensorRT-LLM's transfer times (``rank_N_send.csv``, ``rank_N_recv.csv``): one row a hand-off.

Milliseconds of each step, and a delay, duration and bandwidth for each part that was sent,
so rows can be wider than the header. The id is the one that both workers share. What was
reserved is not in it, so it shows that a hand-off took place and nothing of its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import polars as pl

from forensics.incident import Incident
from forensics.schema import ENGINE_HOP
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import each_block
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.jsonlines import split_lines
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.records import Raw, add

FORMS = (
    Form(
        "trtllm-transfer",
        "row of a transfer's times",
        "TensorRT-LLM 0.20-1.3",
        "that a hand-off took place, by the id that both workers share, and its side",
    ),
)
_HEADER = re.compile(
    rb"^RequestID,RequestInfo,Preparation,Preprocess,Transmissions,Postprocess[^\n]*", re.MULTILINE
)
_ID = re.compile(rb"[0-9]{1,20}")
_NUMBER = re.compile(rb"-?[0-9]{1,15}(?:\.[0-9]{1,12})?(?:e[+-]?[0-9]{1,3})?")
_FEWEST = 6
_SIDES = {"send": "prefill", "recv": "decode"}
_NAME = re.compile(r"rank_\d{1,5}_(send|recv)\b[^/]*$")


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell the file by its header."""
    return "header of transfer times" if _HEADER.match(head) else None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the hand-offs of each block."""
    named = _NAME.search(context.name)
    side = _SIDES[named[1]] if named else ENGINE_HOP
    return each_block(opened, partial(_block, side, context))


def _block(side: str, context: Context, block: Block, parsed: Parsed) -> None:
    ids: list[str] = []
    lines: list[int] = []
    offset = block.offset if block.numbers is None else None
    for place, text in enumerate(split_lines(block.data)):
        at, offset = offset, None if offset is None else offset + len(text)
        line = text.strip()
        parsed.read += 1
        if not line or _HEADER.fullmatch(line):
            parsed.ignored["header" if line else "blank line"] += 1
        elif _is_row(line.split(b",")):
            ids.append(line.split(b",", 1)[0].decode())
            lines.append(block.number(place))
        else:
            parsed.unread.append(Unread(block.number(place), at, "row not in a known form"))
    if ids:
        _emit(pl.Series("id", ids), pl.Series(lines, dtype=pl.Int64), side, context, parsed)


def _is_row(cells: list[bytes]) -> bool:
    numbers = [cell.strip() for cell in cells[1:] if cell.strip()]
    whole = _ID.fullmatch(cells[0]) is not None and len(cells) >= _FEWEST
    return whole and all(_NUMBER.fullmatch(number) for number in numbers)


def _emit(ids: pl.Series, lines: pl.Series, side: str, context: Context, parsed: Parsed) -> None:
    node = pl.repeat(context.stated_node, len(ids), dtype=pl.String, eager=True)
    nodes = {f"{own}_node": node for own in _SIDES.values() if side in (own, ENGINE_HOP)}
    columns = {"request_id": ids, "transfer_id": ids, **nodes}
    hop = pl.repeat(side, len(ids), dtype=pl.String, eager=True)
    raw = Raw(columns, lines, None, context.node, require_zone=False, hop=hop)
    add(raw, context, parsed, only="observations")
