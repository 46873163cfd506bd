"""Records of JSON as blocks of lines: one a line, spread over lines, or in a list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
from msgspec import Raw

from forensics.sources.blocks import LONGEST_LINE, READ_BYTES, TOO_LONG, Block, Source
from forensics.sources.documents import Document, documents, fault
from forensics.sources.jsonlines import split_lines
from forensics.sources.mixed import mixed
from forensics.sources.profiles.shape import parts
from forensics.sources.wrappers.objects import entries as entries_of
from forensics.sources.wrappers.objects import missing

LARGEST = 512 << 20
"""Bytes of one list that may be held; logs of gateways come in far smaller ones."""
_LIST = re.compile(rb"\[\s*\{")
_RECORD = re.compile(rb"^\{", re.MULTILINE)
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def behind_noise(head: bytes) -> bytes:
    """Return a file's beginning from its first record on, where it begins with other lines.

    A server prints what it likes before its first access; a list begins with a bracket too.
    """
    text = head.lstrip()
    if text.startswith(b"{") or _LIST.match(text):
        return text
    found = _RECORD.search(text)
    return text[found.start() :].lstrip() if found else text


def blocks(opened: Source, records: str | None) -> Iterable[Block]:
    """Return the records of a file, one a line, numbered by the line or by their place in a list.

    Args:
        opened: the file.
        records: the path of the list in a document that holds one.
    """
    begin = opened.head().lstrip()
    head = behind_noise(begin)
    if begin.startswith(b"[") and not head.startswith(b"{"):
        return _lists(opened)
    first = head.split(b"\n", 1)[0]
    if records is None and _is_json(first):
        return mixed(opened, READ_BYTES)
    return (block for document in documents(opened) for block in _of_document(document, records))


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=Raw)
    except _FAULTS:
        return False
    return True


def _lists(opened: Source) -> Iterator[Block]:
    """Yield the entries of one list a line, or of one list."""
    first, _, rest = opened.head().lstrip().partition(b"\n")
    if rest.strip() and _entries(first) is not None:
        return (found for block in opened.blocks() for found in _each_line(block))
    return _one_list(opened)


def _each_line(block: Block) -> Iterator[Block]:
    if block.reason is not None:
        yield block
    for place, text in enumerate(split_lines(block.data)):
        if text.strip():
            line = block.number(place)
            held = _entries(text) if text.lstrip().startswith(b"[") else [text.strip()]
            yield _refused(line, text) if held is None else _block(held, [line] * len(held))


def _one_list(opened: Source) -> Iterator[Block]:
    """Yield the entries of a list; of one that breaks off, those that are whole, and the rest."""
    data, reason = _whole(opened)
    entries = None if reason else _entries(data)
    if entries is not None:
        yield _block(entries, range(1, len(entries) + 1))
        return
    lines = [line.strip().rstrip(b",") for line in data.split(b"\n")]
    lines = [line.removeprefix(b"[").strip() for line in lines]
    first = next((line for line in lines if line), b"")
    if reason:
        yield Block(b"", 1, None, reason)
        return
    if not _is_json(first):
        pieces = list(entries_of(data))
        yield _block(pieces, range(1, len(pieces) + 1))
        return
    found = [
        (number, line) for number, line in enumerate(lines, start=1) if line not in (b"", b"]")
    ]
    found += [(len(lines), rest) for rest in missing(data, found[-1][1])]
    yield _block([line for _, line in found], [number for number, _ in found])


def _whole(opened: Source) -> tuple[bytes, str | None]:
    """Return all bytes, or why they cannot be held."""
    held: list[bytes] = []
    size = 0
    for block in opened.blocks():
        size += len(block.data)
        if block.reason is not None or size > LARGEST:
            return b"", block.reason or "JSON list longer than can be held"
        held.append(block.data)
    return b"".join(held), None


def _refused(line: int, text: bytes) -> Block:
    return Block(b"", line, None, fault(text) or "not a JSON object")


def _entries(data: bytes) -> Sequence[bytes] | None:
    try:
        return [bytes(entry) for entry in msgspec.json.decode(data, type=list[Raw])]
    except _FAULTS:
        return None


def _of_document(document: Document, records: str | None) -> Iterator[Block]:
    if document.reason is not None:
        yield Block(b"", document.line, document.offset, document.reason)
        return
    held = None if records is None else _within(document.data, parts(records))
    entries = [document.data] if held is None else held
    yield _block(entries, [document.line] * len(entries))


def _within(data: bytes, path: Sequence[str]) -> Sequence[bytes] | None:
    """Return the entries of the list at a path; None where there is no list."""
    try:
        for key in path:
            data = bytes(msgspec.json.decode(data, type=dict[str, Raw])[key])
    except (*_FAULTS, KeyError):
        return None
    return _entries(data)


def _block(entries: Sequence[bytes], numbers: Sequence[int]) -> Block:
    """Return entries as lines: valid JSON has no line end inside a text."""
    lines = [entry.replace(b"\r", b" ").replace(b"\n", b" ") for entry in entries]
    if any(len(line) > LONGEST_LINE for line in lines):
        return Block(b"", numbers[0], None, TOO_LONG)
    data = b"".join(line + b"\n" for line in lines)
    first = numbers[0] if numbers else 1
    return Block(data, first, None, numbers=np.array(numbers, dtype=np.int64))
