"""One record of a batch request, whose values are lists, as one record for each request in it.

A client may send many prompts at once. Each gets its id and its room, and the record of the
arrival, or of all answers, lists what differs between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl
from msgspec import Raw

from forensics.sources.blocks import Block
from forensics.sources.jsonlines import Batch
from forensics.sources.jsonpaths import Leaf, Tree, struct
from forensics.sources.jsonrows import FAULTS
from forensics.sources.values import NOT_A_VALUE

_DIFFER = "batch request whose lists are empty or not of one length"
_MUCH = "batch request of too many requests"
_MOST_BYTES = 16 << 20
"""What one record may grow to: values that all share are written for each."""
_LISTING = ("request_id", "transfer_id")
"""Columns of which every request has its own: a list there is a batch."""


@dataclass
class Apart:
    """Requests of batches, a line each.

    ``of`` is the place of each one's line in its block; ``unread`` are places of lines with
    the reason why they cannot be taken apart.
    """

    lines: list[bytes] = field(default_factory=list)
    of: list[int] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)

    @property
    def block(self) -> Block:
        """The lines as a block of their own."""
        return Block(b"\n".join(self.lines), 0, 0)


class Batches:
    """Takes batch requests apart; of each record the named values alone are written again."""

    def __init__(self, tree: Tree) -> None:
        self._level = _Level(tree)

    def part(self, batch: Batch, block: Block) -> tuple[Batch, Apart]:
        """Return the records that are of one request each, and the others taken apart.

        Args:
            batch: values of the block's lines.
            block: the lines.
        """
        misfit = [batch.columns[n] == NOT_A_VALUE for n in _LISTING if n in batch.columns]
        apart = Apart()
        if not batch.odd or not any(found.any() for found in misfit):
            return batch, apart
        data = block.data.split(b"\n")
        taken = []
        suspect = pl.DataFrame(misfit).select(pl.any_horizontal(pl.all().fill_null(value=False)))
        for row in suspect.to_series().arg_true().to_list():
            place = batch.lines[row] - block.line
            if self._take(data[place], place, apart):
                taken.append(row)
        return _without(batch, taken), apart

    def _take(self, line: bytes, place: int, apart: Apart) -> bool:
        """Take one record apart; say whether it is a batch's."""
        try:
            value = self._level.read(line)
        except FAULTS:
            return False
        sizes = set(_lengths(value))
        if not sizes:
            return False
        if reason := _fault(value, sizes):
            apart.unread.append((place, reason))
            return True
        size = sizes.pop()
        apart.lines += [msgspec.json.encode(_element(value, at)) for at in range(size)]
        apart.of += [place] * size
        return True


def _fault(value: Any, sizes: set[int]) -> str | None:
    """Say why a record with lists of these lengths cannot be taken apart."""
    if len(sizes) > 1 or 0 in sizes:
        return _DIFFER
    each = len(msgspec.json.encode(_element(value, 0)))
    return _MUCH if max(sizes) * each > _MOST_BYTES else None


def _without(batch: Batch, taken: list[int]) -> Batch:
    """Return the other rows of a batch."""
    if not taken:
        return batch
    left = pl.Series([True] * len(batch.lines)).scatter(taken, values=False)
    columns = {name: series.filter(left) for name, series in batch.columns.items()}
    offsets = None if batch.offsets is None else batch.offsets.filter(left)
    return Batch(columns, batch.lines.filter(left), offsets, batch.odd)


class _Level:
    """The named keys of one level, whose values may have any type."""

    def __init__(self, tree: Tree) -> None:
        self._keys = list(tree)
        self._decoder = msgspec.json.Decoder(struct(tree, lambda _key, _node: Raw))
        self._inner = {k: _Level(node) for k, node in tree.items() if not isinstance(node, Leaf)}

    def read(self, data: bytes) -> Any:
        """Return a value: a dictionary of the named keys, a list of such, or what it is else."""
        if data.lstrip()[:1] == b"[":
            return [self.read(bytes(one)) for one in msgspec.json.decode(data, type=list[Raw])]
        if data.lstrip()[:1] != b"{":
            return Raw(data)
        values = zip(self._keys, msgspec.structs.astuple(self._decoder.decode(data)), strict=True)
        return {
            key: self._inner[key].read(bytes(raw)) if key in self._inner else _leaf(raw)
            for key, raw in values
            if raw is not None
        }


def _leaf(raw: Raw) -> Any:
    if bytes(raw)[:1] == b"[":
        return msgspec.json.decode(raw, type=list[Raw])
    return raw


def _lengths(value: Any) -> Iterator[int]:
    """Yield the length of each list that no other list is around."""
    if isinstance(value, list):
        yield len(value)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _lengths(inner)


def _element(value: Any, at: int) -> Any:
    """Return what a value is for one request of the batch."""
    if isinstance(value, list):
        return value[at]
    if isinstance(value, dict):
        return {key: _element(inner, at) for key, inner in value.items()}
    return value
