"""Files in no known format: which ranks each may have been a log of, by its name alone.

Of a log that nobody could read, its name is all that is known. One that is named as a rank is is
of that rank, one that is named as what stands before decode is of none; any other log may be of
any rank, with requests of anybody. What is named as no log is, such as a note, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from forensics.attribution.ranks import alike
from forensics.capacity import server_of
from forensics.columns import ensure
from forensics.roles import NAMED_PREFILL
from forensics.sources.detect import BLANK, EMPTY
from forensics.sources.reading import FileFacts

_DECODE = re.compile(r"(?i)(?:^|[^a-z])(?:decode|gen|generation)(?:[^a-z]|$)")
_BEFORE = re.compile(
    rf"{NAMED_PREFILL}|(?i:gateway|router|proxy|nginx|envoy|litellm|kong|ingress|billing|balancer)"
)
_LOG = re.compile(
    r"(?i)(?:\.(?:log|jsonl|ndjson|out)(?:\.\d{1,5}|[._-]\d{4}[\d._T-]*)*(?:\.(?:gz|zst|xz|bz2))?"
    r"|\.(?:tar|tgz|zip|tar\.\w{2,3}))$"
)


def ranks(files: list[FileFacts], observed: pl.DataFrame) -> Iterator[str | None]:
    """Yield the decode ranks that unreadable files of no known format may be logs of; None: any.

    Args:
        files: all that were read.
        observed: their records.
    """
    strange = [facts for facts in files if _held_something(facts) and not facts.recognised]
    if not strange:
        return
    nodes = ensure(observed, ["decode_node", "prefill_node"])
    decode, prefill = (
        nodes[name].drop_nulls().unique().sort().to_list()
        for name in ("decode_node", "prefill_node")
    )
    before = {server_of(node) for node in prefill}.difference(map(server_of, decode))
    for facts in strange:
        own = [node for node in decode if alike(facts.node, node)]
        yield from own
        if not own and _of_any(facts, before):
            yield None


def _held_something(facts: FileFacts) -> bool:
    return any(unread.reason not in (EMPTY, BLANK) for unread in facts.unread)


def _of_any(facts: FileFacts, before: set[str]) -> bool:
    """Say whether a file that names no known rank may be the log of one."""
    if _DECODE.search(facts.name):
        return True
    named = facts.node in before or _BEFORE.search(facts.name) is not None
    return not named and _LOG.search(facts.name) is not None
