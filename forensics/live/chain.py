"""What several engines mean together: the smallest limit, and pairs that disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from forensics.live.rankpool import RankPool

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


def differing(known: Sequence[Named]) -> list[str]:
    """Name the servers whose ranks say pools that differ, with both ends."""
    pools: dict[str, list[RankPool]] = {}
    for node, rank in known:
        pools.setdefault(node, []).append(rank)
    return [
        _apart(node, ranks) for node, ranks in pools.items() if len({r.pool for r in ranks}) > 1
    ]


def _apart(node: str, ranks: list[RankPool]) -> str:
    least, most = min(ranks, key=_pool), max(ranks, key=_pool)
    return f"{node}: pools differ: {_where(least)}, {_where(most)}; the smallest counts"


def _pool(rank: RankPool) -> int:
    return rank.pool


def _where(rank: RankPool) -> str:
    return f"{rank.pool:,} at {rank.pool_field} ({rank.place} of {rank.places})"


def shared(nodes: Sequence[set[str]]) -> list[str]:
    """Name what several of the engines asked are called: their records would be one engine's."""
    counts = Counter(node for of_one in nodes for node in of_one)
    return [
        f"two engines are called {node}: which one is meant cannot be told"
        for node, number in sorted(counts.items())
        if number > 1
    ]


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
