"""Block tables of requests in one step of the scheduler, and which of them overlap.

A prefix cache lends blocks: a request that found its beginning there shares its first blocks
with the one that wrote them. Any other block in two tables is one that two requests write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from forensics.sources.sglang.skeleton import CLOSE, OPEN

_ID = rf"{OPEN}?'?([^\s,()'{OPEN}{CLOSE}]{{1,512}})'?{CLOSE}?"
_NEW = re.compile(rf"NewRequestData\(req_id={_ID}, ?prompt_token_ids_len=([0-9]{{1,12}}|None),")
_TABLE = re.compile(
    r"[, ]block_ids=\(?((?:\[[0-9, ]*\](?:, ?)?)*)\)?, ?num_computed_tokens=([0-9]{1,12})[,)]"
)
_CACHED = re.compile(
    r"CachedRequestData\(req_ids=\[([^\[\]]*)\],(.*?)num_computed_tokens=", re.DOTALL
)
_GROWN = re.compile(r"new_block_ids=\[([0-9\[\]() ,None]*)\]")
_RESUMED = re.compile(r"resumed\w*=(?:\[[^\]]*True|\{[^}]|\[[^\]FT])")
_NULL_BLOCK = 0


@dataclass(frozen=True)
class Table:
    """Blocks of one request, one tuple for each group of layers.

    ``computed`` are tokens that were there already, a prefix cache's among them. ``grown``
    tables hold only the blocks that this step added, at unknown places.
    """

    request: str
    prompt_tokens: int | None
    groups: tuple[tuple[int, ...], ...]
    computed: int
    grown: bool = False

    @property
    def blocks(self) -> set[int]:
        """All blocks that can hold tokens."""
        return {block for group in self.groups for block in group} - {_NULL_BLOCK}


def read(bare: str) -> list[Table] | None:
    """Return the tables of a dump, or None where one is not in a known form.

    Args:
        bare: the dump without its texts.
    """
    heads = list(_NEW.finditer(bare))
    if len(heads) != bare.count("NewRequestData("):
        return None
    ends = [head.start() for head in heads[1:]] + [len(bare)]
    tables = []
    for head, end in zip(heads, ends, strict=True):
        body = _TABLE.search(bare, head.end(), end)
        if body is None:
            return None
        prompt = None if head[2] == "None" else int(head[2])
        tables.append(Table(head[1], prompt, _groups(body[1]), int(body[2])))
    return tables + list(_grown(bare))


def _groups(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(int(block) for block in re.findall("[0-9]{1,12}", group))
        for group in re.findall(r"\[([0-9, ]*)\]", text)
    )


def _grown(bare: str) -> Iterator[Table]:
    """Yield what running requests were given; those that were put back begin anew."""
    cached = _CACHED.search(bare)
    grown = _GROWN.search(cached[2]) if cached else None
    if cached is None or grown is None or _RESUMED.search(cached[2]):
        return
    names = re.findall(_ID, cached[1])
    text = re.sub(r"\(|,? ?\)", lambda found: "[" if found[0] == "(" else "]", grown[1])
    try:
        given = json.loads(f"[{text.replace('None', 'null')}]")
    except json.JSONDecodeError:
        return
    if len(given) != len(names):
        return
    for name, groups in zip(names, given, strict=True):
        if groups and all(isinstance(group, list) for group in groups):
            yield Table(name, None, tuple(tuple(group) for group in groups), 0, grown=True)


def overlapping(tables: list[Table]) -> set[str]:
    """Return the requests that hold a block together, and not as a prefix."""
    found: set[str] = set()
    owners: dict[int, list[int]] = {}
    for at, table in enumerate(tables):
        for block in table.blocks:
            owners.setdefault(block, []).append(at)
    pairs = {pair for several in owners.values() for pair in combinations(sorted(several), 2)}
    for a, b in pairs:
        one, other = tables[a], tables[b]
        if one.request != other.request and one.blocks & other.blocks - _lent(one, other):
            found |= {one.request, other.request}
    return found


def _lent(one: Table, other: Table) -> set[int]:
    """Blocks that both may hold: where either found a prefix, what both begin with."""
    hit = [table for table in (one, other) if table.computed]
    if not hit:
        return set()
    if one.grown or other.grown:
        return one.blocks & other.blocks
    shared: set[int] = set()
    for mine, theirs in zip(one.groups, other.groups, strict=False):
        for left, right in zip(mine, theirs, strict=False):
            if left != right:
                break
            shared.add(left)
    return shared
