"""What several engines mean together: the smallest limit, and pairs that disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from forensics.live.pools import RankPool

Named: TypeAlias = tuple[str, RankPool]


def judged_together(known: Sequence[Named]) -> tuple[list[str], bool]:
    """Say what the engines mean together, and whether no pair of them is dangerous."""
    if not known:
        return [], True
    name, smallest = min(known, key=lambda item: (item[1].limit, item[0]))
    said = [f"chain: the smallest limit is {smallest.limit:,} tokens, at {name}"]
    pairs = list(_pairs(known))
    silent = sorted({name for name, rank in known if rank.role is None})
    if silent and len(known) > 1:
        said.append(f"chain: {', '.join(silent)} says no role: pairs with it are not judged")
    return said + pairs, not pairs


def _pairs(known: Sequence[Named]) -> Iterator[str]:
    """Yield each decode side that accepts what a prefill side rejects."""
    refusing = [(name, rank) for name, rank in known if rank.role == "prefill"]
    serving = [(name, rank) for name, rank in known if rank.role == "decode"]
    for prefill, low in refusing:
        for decode, high in serving:
            if high.limit > low.limit:
                yield (
                    f"dangerous pair: {decode} accepts prompts of {low.limit:,} to "
                    f"{high.limit - 1:,} tokens that {prefill} rejects"
                )
