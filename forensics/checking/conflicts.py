"""Nodes that are several machines: what files say that name one node contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

import polars as pl

from forensics.capacity import server_of
from forensics.checking.document import Gap
from forensics.checking.survey import Survey

_COLUMNS = {
    "node": pl.String(),
    "role": pl.String(),
    "pool_tokens": pl.Int64(),
    "effective_at": pl.Int64(),
}


def conflicts(survey: Survey) -> Iterator[Gap]:
    """Return a gap where several files that name one node contradict each other."""
    facts = _facts(survey)
    for what, nodes in (("roles", _of_roles(facts)), ("pools", _of_pools(facts))):
        if nodes:
            shown = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if nodes[5:] else "")
            sentence = (
                f"{shown}: several files say they are one node and contradict each other "
                f"({what}): set [logs] node_from, which tells a node from a path."
            )
            yield Gap(f"one_node_{what}", sentence, nodes)


def _facts(survey: Survey) -> pl.DataFrame:
    """What each file says of its node; ``file`` is its number."""
    frames = [pl.DataFrame(schema={**_COLUMNS, "file": pl.Int64()})]
    for seen in survey.looks:
        number = pl.lit(seen.source.number, dtype=pl.Int64).alias("file")
        for frame in seen.reading.capacity:
            told = [name for name in _COLUMNS if name in frame.columns]
            frames.append(frame.select(*told, number))
    return pl.concat(frames, how="diagonal_relaxed").drop_nulls("node")


def _of_roles(facts: pl.DataFrame) -> list[str]:
    told = facts.drop_nulls("role").group_by("node", "file").agg(pl.col("role").unique().sort())
    told = told.group_by("node").agg(pl.col("role").n_unique())
    return _servers(told.filter(pl.col("role") > 1)["node"])


def _of_pools(facts: pl.DataFrame) -> list[str]:
    """Nodes whose pool is one, then another by another file, then the first again by the first."""
    rows = facts.drop_nulls(["pool_tokens", "effective_at"]).unique()
    rows = rows.sort("node", "effective_at", "file", "pool_tokens")
    told = rows.select("node", "file", "pool_tokens").iter_rows()
    found = [node for node, of_node in groupby(told, key=lambda row: row[0]) if _returns(of_node)]
    return _servers(pl.Series(found, dtype=pl.String))


def _returns(rows: Iterator[tuple[str, int, int]]) -> bool:
    turns = [key for key, _ in groupby((file, pool) for _, file, pool in rows)]
    left: set[tuple[int, int]] = set()
    for (file, pool), (next_file, next_pool) in pairwise(turns):
        if (file, pool) in left:
            return True
        if file != next_file and pool != next_pool:
            left.add((file, pool))
    return bool(turns) and turns[-1] in left


def _servers(nodes: pl.Series) -> list[str]:
    return sorted({server_of(node) for node in nodes.to_list()})
