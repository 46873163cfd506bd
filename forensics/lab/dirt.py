"""What real logs look like: the same records, put down badly.

Dirt never touches a record that decides about an affected answer: records of hand-offs
that are over the limit, long or short are only moved, shuffled, repeated and given content
fields. Every kind of dirt is counted, so that a reader can be held to the numbers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from forensics.lab.plain import line
from forensics.lab.plainrows import Row, Value
from forensics.lab.records import LabRun

CANARY = "SYNTHETIC-CANARY"
Protected: TypeAlias = frozenset[str]
_IMPOSSIBLE: tuple[Value, ...] = ("abc", 7.5, 2**70)
_NUMERIC = ("prompt_tokens", "completion_tokens", "cached_tokens", "prefill_tokens")


@dataclass(slots=True)
class Dirt:
    """Counts of what was put in, and the generator that chose where."""

    rng: Random
    counts: Counter[str] = field(default_factory=Counter)
    used: set[int] = field(default_factory=set)
    """Identities of the rows that carry dirt already: one kind a row keeps the counts true."""

    def note(self, kind: str) -> None:
        """Count one piece of dirt."""
        self.counts[kind] += 1

    def take(self, rows: list[Row], count: int) -> list[Row]:
        """Choose `count` of `rows` that carry no dirt yet."""
        clean = [row for row in rows if id(row) not in self.used]
        chosen = self.rng.sample(clean, min(count, len(clean)))
        self.used |= {id(row) for row in chosen}
        return chosen


def protected_ids(run: LabRun) -> Protected:
    """Return the request and prefill ids whose records must stay as they are."""
    ids: set[str] = set()
    for handoff in run.handoffs:
        long = handoff.intent.prompt_tokens >= run.config.small_pool_tokens
        if long or handoff.over_limit or handoff.short:
            ids |= {handoff.intent.request_id, handoff.prefill_id}
    return frozenset(ids)


def free_rows(rows: list[Row], protected: Protected) -> list[Row]:
    """Return the request records that may be damaged: no capacity, no probe, none protected."""
    return [
        row
        for row in rows
        if "pool_tokens" not in row
        and row["request_id"] not in protected
        and len(str(row.get("transfer_id", "unrouted"))) > 6
    ]


def damage_fields(dirt: Dirt, free: list[Row]) -> None:
    """Put numbers into strings, impossible numbers, naive times and unfit ids, in place."""
    refused = [row for row in free if row.get("http_status") == 429]
    naive, spaced = dirt.take(refused, 8), dirt.take(refused, 6)
    chosen = dirt.take(free, 460)
    for row in naive:
        row["received_at"] = str(row["received_at"]).removesuffix("Z")
        row["finished_at"] = str(row["finished_at"]).removesuffix("Z")
        dirt.note("naive_time_records")
    for row in spaced:
        row["request_id"] = f"{CANARY} {row['request_id']}"
        dirt.note("ids_with_white_space")
    for row in chosen[:400]:
        _as_strings(dirt, row)
    for number, row in enumerate(chosen[400:]):
        column = next(name for name in _NUMERIC if name in row)
        row[column] = _IMPOSSIBLE[number % len(_IMPOSSIBLE)]
        dirt.note("impossible_numbers")


def _as_strings(dirt: Dirt, row: Row) -> None:
    for name in _NUMERIC:
        if name in row:
            row[name] = str(row[name])
            dirt.note("numbers_as_strings")


def add_content(dirt: Dirt, rows: list[Row]) -> None:
    """Add content fields, each holding a canary that no output may ever show."""
    for number, row in enumerate(rows):
        if "pool_tokens" in row:
            continue
        row["prompt"] = f"{CANARY}-PROMPT-{number:05d} please summarise"
        row["messages"] = [{"role": "user", "content": f"{CANARY}-MESSAGES-{number:05d}"}]
        row["output"] = f"{CANARY}-OUTPUT-{number:05d}"
        dirt.counts["content_fields"] += 3
        if row.get("http_status") in (400, 429, 503):
            row["error"] = f"{CANARY}-ERROR-{number:05d} refused"
            dirt.note("content_fields")


def broken_lines(dirt: Dirt) -> list[bytes]:
    """Return lines that are no JSON, and lines that are no UTF-8."""
    lines: list[bytes] = []
    for number in range(10):
        lines.append(
            f'{{"hop":"gateway","request_id":"broken-{number}","prompt":"{CANARY}'.encode()
        )
        dirt.note("broken_json_lines")
    for number in range(3):
        head = f'{{"hop":"gateway","request_id":"latin-{number}","prompt":"{CANARY} '.encode()
        lines.append(head + b'\xe9\xff\xfe"}')
        dirt.note("invalid_utf8_lines")
    lines.append(f'["{CANARY}", 1]'.encode())
    dirt.note("lines_that_are_no_record")
    return lines


def cut_last(dirt: Dirt, rows: list[Row], protected: Protected) -> tuple[list[Row], bytes]:
    """Take one unprotected record out and return the first half of its line."""
    victim = dirt.take(free_rows(rows, protected), 1)[0]
    text = line(victim)
    dirt.note("truncated_last_lines")
    return [row for row in rows if row is not victim], text[: len(text) // 2]
