"""Logs of which nothing could be read: which ranks each may have been of, by its name alone.

Of a log that nobody could read, its name is all that is known. One that is named as a rank is is
of that rank, one that is named as what stands on another side is of none; any other log may be of
any rank, with requests of anybody. What is named as no log is, such as a note, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl

from forensics.attribution.ranks import alike
from forensics.capacity import server_of
from forensics.columns import ensure
from forensics.roles import NAMED_PREFILL
from forensics.sources.howmany import BLANK, EMPTY
from forensics.sources.notread import PICKLE
from forensics.sources.reading import FileFacts

_NAMED: Final = {
    "prefill": re.compile(NAMED_PREFILL),
    "decode": re.compile(r"(?i)(?:^|[^a-z])(?:decode|gen|generation)(?:[^a-z]|$)"),
    "gateway": re.compile(
        r"(?i)gateway|router|proxy|nginx|envoy|litellm|kong|ingress|billing|balancer"
    ),
}
_LOG = re.compile(
    r"(?i)(?:\.(?:log|jsonl|ndjson|out)(?:\.\d{1,5}|[._-]\d{4}[\d._T-]*)*(?:\.(?:gz|zst|xz|bz2))?"
    r"|\.(?:tar|tgz|zip|tar\.\w{2,3}))$"
)


def held_something(facts: FileFacts) -> bool:
    """Say whether something of a log could not be read: an empty one, or a dump, holds none."""
    return any(unread.reason not in (EMPTY, BLANK, PICKLE.reason) for unread in facts.unread)


def ranks(files: Iterable[FileFacts], observed: pl.DataFrame, side: str) -> Iterator[str | None]:
    """Yield the ranks of a side that some files may be logs of; None: any.

    Args:
        files: those of which nothing was read.
        observed: records of all the others, for the names of ranks.
        side: ``prefill`` or ``decode``.
    """
    strange = list(files)
    if not strange:
        return
    names = {one: _names(observed, f"{one}_node") for one in ("prefill", "decode")}
    own = names.pop(side)
    (others,) = names.values()
    elsewhere = {server_of(node) for node in others}.difference(map(server_of, own))
    for facts in strange:
        named = [node for node in own if alike(facts.node, node)]
        yield from named
        if not named and _of_any(facts, side, elsewhere):
            yield None


def _names(observed: pl.DataFrame, column: str) -> list[str]:
    return ensure(observed, [column])[column].drop_nulls().unique().sort().to_list()


def _of_any(facts: FileFacts, side: str, elsewhere: set[str]) -> bool:
    """Say whether a file that names no known rank of a side may be the log of one."""
    if _NAMED[side].search(facts.name):
        return True
    others: Mapping[str, re.Pattern[str]] = {k: v for k, v in _NAMED.items() if k != side}
    named = any(pattern.search(facts.name) for pattern in others.values())
    if named or facts.node in elsewhere:
        return False
    return facts.recognised or _LOG.search(facts.name) is not None
