"""Capacity epochs, and the smallest prompt that each prefill node rejects.

A row stands from ``effective_at`` until the node's next row; a rank's rows have those of its
server among them. A limit that was reported
stands before one derived from a pool; what is declared fills what no log holds. Where
readings differ, the limit is a span, and nobody is cleared within it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from forensics import boots, continuity, poolmeaning, schema, serverwide
from forensics.boots import BEGINNING, END, EPOCH_DTYPES
from forensics.clock import Clocks
from forensics.incident import DeclaredCapacity, Incident, micros
from forensics.inputlimit import SGLANG, derived

__all__ = ["BEGINNING", "END", "Capacity", "build", "server_of"]


_TOLD: dict[str, pl.DataType] = {"node": pl.String(), "at": pl.Int64()}
GLOB = r"[*?\[]"
"""What a declared name of several nodes has in it."""


@dataclass(frozen=True)
class Capacity:
    """Epochs of all nodes with their limits, sorted; and what contradicts what.

    ``epochs`` has the columns of :data:`forensics.boots.EPOCH_DTYPES` plus ``until``,
    ``limit`` (smallest prompt that is rejected for certain, tokens), ``limit_low`` (smallest
    that may be; equal where readings agree, null where one is not known) and ``limit_basis``.
    ``stated`` names facts by node and column that no log tells, the incident alone. ``told`` has
    ``node`` and ``at`` (µs) of each moment at which a log told a pool or a limit.
    """

    epochs: pl.DataFrame
    warnings: tuple[str, ...] = ()
    stated: frozenset[tuple[str, str]] = frozenset()
    told: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_TOLD))

    @property
    def limited_by_statement(self) -> frozenset[str]:
        """Nodes whose limit follows from what the incident states, and from no log."""
        stated = {node for node, name in self.stated if name in _FILLED_TOGETHER}
        logged = _told(self.epochs) - self.stated
        return frozenset(stated - {node for node, name in logged if name in _FILLED_TOGETHER})

    def anywhere(self, threshold: int | None) -> bool:
        """Say whether a limit is stated of servers of prefill that no log is of as well."""
        of_prefill = pl.col("role").is_null() | (pl.col("role") == "prefill")
        many = pl.col("node").str.contains(GLOB) & pl.col("limit_low").is_not_null()
        return threshold is not None or bool(self.epochs.filter(of_prefill & many).height)


def build(
    facts: list[pl.DataFrame],
    clocks: Clocks,
    incident: Incident,
    parts: Sequence[Path] = (),
    activity: Sequence[pl.DataFrame] = (),
) -> Capacity:
    """Return the epochs of all logged facts, completed by declared capacity.

    Args:
        facts: of capacity, as they were read.
        clocks: zone of each node's wall clock.
        incident: what it declares.
        parts: observations, for how long a server's own log has it.
        activity: batch lines, for the same.
    """
    frame = poolmeaning.settled(_facts(facts, clocks))
    ran = continuity.logged(parts, activity, clocks, boots.startless(frame))
    booted = poolmeaning.named(boots.fold(frame, ran), frame)
    logged = serverwide.told(_records(frame), booted)
    rows, warnings = _declare(logged, incident)
    stated = frozenset(_told(rows) - _told(logged) if incident.capacity else ())
    rows = rows.unique().sort("node", "effective_at", "role", nulls_last=False)
    rows = _with_limits(rows, incident.trigger.threshold_tokens)
    until = pl.col("effective_at").shift(-1).over("node", order_by="effective_at")
    rows = rows.with_columns(until=until.fill_null(END))
    known = pl.any_horizontal(pl.col(*_FILLED_TOGETHER).is_not_null())
    told = frame.filter(known).select(node=pl.coalesce("node", "source_node"), at="effective_at")
    told = told.drop_nulls().unique()
    return Capacity(rows.sort(_ORDER, nulls_last=False), tuple(warnings), stated, told)


_ORDER = ["node", "effective_at", "role", "limit", "pool_tokens", "config"]


def _facts(facts: list[pl.DataFrame], clocks: Clocks) -> pl.DataFrame:
    wanted = {
        **schema.dtypes(schema.CAPACITY_COLUMNS),
        "event": pl.String(),
        **schema.ORIGIN,
    }
    empty = pl.DataFrame(schema=wanted)
    frame = pl.concat([empty, *facts], how="diagonal_relaxed") if facts else empty
    frame = clocks.resolve(frame, ["effective_at"])
    page = pl.when(pl.col("page_tokens") > 0).then("page_tokens").alias("page_tokens")
    return frame.with_columns(page, event=pl.col("event").fill_null("record"))


def _records(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that were logged as capacity records: they stand as they are."""
    rows = frame.filter(pl.col("event") == "record")
    rows = rows.with_columns(
        effective_at=pl.col("effective_at").fill_null(BEGINNING), inferred=pl.lit(value=False)
    )
    absent = [name for name in EPOCH_DTYPES if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in absent)
    return rows.select(pl.col(name).cast(dtype) for name, dtype in EPOCH_DTYPES.items())


def _declare(logged: pl.DataFrame, incident: Incident) -> tuple[pl.DataFrame, list[str]]:
    """Complete the log by declared rows; a logged value always wins over a declared one."""
    warnings: list[str] = []
    rows = logged
    for declared in incident.capacity:
        matched = _matched(logged, declared)
        for node in matched:
            warnings += _contradictions(logged, node, declared)
        before = [row for node in matched for row in _before(logged, node, declared)]
        rows = _bridged(_fill(rows, matched, declared), matched, declared)
        if not matched or declared.effective_at is not None or _for_others(declared):
            before.append(_declared_row(declared))
        rows = pl.concat([rows, *before])
    return rows, sorted(set(warnings))


def _for_others(declared: DeclaredCapacity) -> bool:
    """Say whether a declaration gives a limit to nodes too of which no log tells a pool."""
    return _limited(declared) and re.search(GLOB, declared.node) is not None


def _limited(declared: DeclaredCapacity) -> bool:
    return declared.pool_tokens is not None or declared.input_limit_tokens is not None


def _before(logged: pl.DataFrame, node: str, declared: DeclaredCapacity) -> Iterator[pl.DataFrame]:
    """Yield what stood at a node before its log begins to tell: what was declared.

    Where the log tells another pool, either may have been it.
    """
    own = logged.filter(pl.col("node") == node)
    row = _declared_row(declared).with_columns(node=pl.lit(node))
    first, since = own["effective_at"].min(), row["effective_at"].item()
    if not _limited(declared) or first is None or since >= first:
        return
    limits = own["input_limit_tokens"].drop_nulls().unique().to_list()
    contexts = own["context_tokens"].drop_nulls().unique().to_list()
    stated = (declared.input_limit_tokens, limits), (declared.context_tokens, contexts)
    if any(value not in (None, *seen) for value, seen in stated if seen):
        return
    if declared.pool_tokens is None and own["pool_tokens"].drop_nulls().len():
        return
    pools = [*own["pool_tokens"].drop_nulls(), *own["pool_most"].drop_nulls()]
    if declared.pool_tokens is not None and {*pools} - {declared.pool_tokens}:
        least, most = min(*pools, declared.pool_tokens), max(*pools, declared.pool_tokens)
        row = row.with_columns(
            pool_tokens=pl.lit(least, dtype=pl.Int64), pool_most=pl.lit(most, dtype=pl.Int64)
        )
    yield row


def _matched(logged: pl.DataFrame, declared: DeclaredCapacity) -> list[str]:
    """Return the logged nodes that a declaration is about; a known other role is not meant."""
    roles = logged.group_by("node").agg(pl.col("role").drop_nulls().unique()).sort("node")
    return [
        node
        for node, known in roles.iter_rows()
        if _matches(node, declared) and (not known or declared.role in known)
    ]


def _matches(node: str, declared: DeclaredCapacity) -> bool:
    return fnmatch.fnmatchcase(node, declared.node) or fnmatch.fnmatchcase(
        server_of(node), declared.node
    )


def server_of(node: str) -> str:
    """Return the server of an engine identity: what stands before the rank."""
    return node.rsplit("/", 1)[0]


_DECLARABLE = ("pool_tokens", "page_tokens", "context_tokens", "input_limit_tokens", "role")


def _contradictions(logged: pl.DataFrame, node: str, declared: DeclaredCapacity) -> list[str]:
    own = logged.filter(pl.col("node") == node)
    found = []
    for name in _DECLARABLE:
        stated = getattr(declared, name)
        seen = own[name].drop_nulls().unique().sort().to_list()
        if stated is not None and seen and stated not in seen:
            values = ", ".join(str(value) for value in seen)
            found.append(f"{node}: declared {name} {stated}, logged {values}; the log is used")
    return found


_FILLED_TOGETHER = ("pool_tokens", "input_limit_tokens")
_FILLED_ANYWAY = (
    "role",
    "page_tokens",
    "context_tokens",
    "engine",
    "engine_version",
    "model_version",
    "disaggregated",
    "auto_truncate",
    "allocator",
)


def _fill(rows: pl.DataFrame, nodes: list[str], declared: DeclaredCapacity) -> pl.DataFrame:
    """Fill what the log of a node leaves out; the pool only where no limit is known either."""
    here = pl.col("node").is_in(nodes)
    known = pl.col("pool_tokens").is_not_null() | pl.col("input_limit_tokens").is_not_null()
    filled = [_filled(name, getattr(declared, name), here) for name in _FILLED_ANYWAY]
    filled += [_filled(name, getattr(declared, name), here & ~known) for name in _FILLED_TOGETHER]
    basis = (
        pl.when(here & ~known & pl.lit(declared.pool_tokens is not None))
        .then(pl.lit("declared"))
        .otherwise(pl.col("pool_basis"))
    )
    return rows.with_columns(*filled, pool_basis=basis)


def _bridged(rows: pl.DataFrame, nodes: list[str], declared: DeclaredCapacity) -> pl.DataFrame:
    """Let what was declared stand where it is not shown that a node's boot ran.

    Where a log tells another limit of that boot, either may have been in force.
    """
    if not _limited(declared) or declared.effective_at is not None:
        return rows
    stated = rows.with_columns(_pool=pl.lit(declared.pool_tokens, dtype=pl.Int64)).select(
        pl.coalesce(pl.lit(declared.input_limit_tokens, dtype=pl.Int64), derived("_pool"))
    )
    limit = stated.to_series()
    here = pl.col("node").is_in(nodes) & pl.col("shown_from").is_not_null()
    both = {
        "stray_least": pl.min_horizontal("stray_least", limit),
        "stray_most": pl.max_horizontal("stray_most", limit),
        "shown_from": pl.lit(None, dtype=pl.Int64),
    }
    return rows.with_columns(
        pl.when(here).then(value).otherwise(name).alias(name) for name, value in both.items()
    )


def _told(rows: pl.DataFrame) -> set[tuple[str, str]]:
    """Return node and column of what is known and could have been stated."""
    names = (*_FILLED_ANYWAY, *_FILLED_TOGETHER)
    known = {name: rows.filter(pl.col(name).is_not_null())["node"].unique() for name in names}
    return {(node, name) for name, nodes in known.items() for node in nodes}


def _filled(name: str, value: object, where: pl.Expr) -> pl.Expr:
    dtype = EPOCH_DTYPES[name]
    return (
        pl.when(where & pl.col(name).is_null())
        .then(pl.lit(value, dtype=dtype))
        .otherwise(pl.col(name))
        .alias(name)
    )


def _declared_row(declared: DeclaredCapacity) -> pl.DataFrame:
    row: dict[str, object] = dict.fromkeys(EPOCH_DTYPES)
    for name in EPOCH_DTYPES:
        row[name] = getattr(declared, name, None)
    at = declared.effective_at
    row |= {
        "effective_at": BEGINNING if at is None else micros(at),
        "pool_basis": "declared" if declared.pool_tokens is not None else None,
        "disaggregated": (
            declared.role != "unified" if declared.disaggregated is None else declared.disaggregated
        ),
        "inferred": False,
        "assumed": False,
    }
    return pl.DataFrame([row], schema=EPOCH_DTYPES)


def _with_limits(rows: pl.DataFrame, threshold: int | None) -> pl.DataFrame:
    """Add the smallest rejected prompt: stated, reported, derived, or null; and its span."""
    if threshold is not None:
        limit = pl.lit(threshold + 1, dtype=pl.Int64)
        return rows.with_columns(
            limit=limit, limit_low=limit, limit_basis=pl.lit("stated threshold")
        )
    reported, most = pl.col("input_limit_tokens"), pl.col("pool_most")
    low, high = derived("pool_tokens"), derived("pool_most")
    # A limit that one scheduler reported is one reading of several where pools differ.
    least = pl.when(most.is_not_null()).then(pl.min_horizontal(reported, low))
    highest = pl.when(most.is_not_null()).then(pl.max_horizontal(reported, "limit_most", high))
    own_low = pl.coalesce(least, reported, low)
    own_high = pl.coalesce(highest, "limit_most", reported, low)
    known = pl.col("stray_least").is_null() | own_low.is_not_null()
    rows = rows.with_columns(
        limit=pl.max_horizontal(own_high, "stray_most"),
        limit_low=pl.when(known).then(pl.min_horizontal(own_low, "stray_least")),
        limit_basis=_basis(),
    )
    return rows.with_columns(limit_basis=_spanned())


def _basis() -> pl.Expr:
    reported, pooled = pl.col("input_limit_tokens").is_not_null(), pl.col("pool_tokens")
    declared = pl.col("pool_basis") == "declared"
    source = pl.when(declared).then(pl.lit("declared")).otherwise(pl.lit("logged"))
    formula = pl.when(SGLANG).then(pl.lit("- 6, ")).otherwise(pl.lit("+ 1, "))
    return (
        pl.when(reported & pl.col("quoted").is_not_null())
        .then(pl.lit("quoted in ") + pl.col("quoted"))
        .when(reported)
        .then(pl.lit("reported"))
        .when(pooled.is_not_null())
        .then(pl.lit("min(context, pool) ") + formula + source + pl.lit(" pool"))
        .otherwise(pl.lit("unknown"))
    )


def _spanned() -> pl.Expr:
    """Say in the basis that readings differ."""
    low = pl.col("limit_low")
    return (
        pl.when(low < pl.col("limit"))
        .then(pl.lit("readings differ, from ") + low.cast(pl.String))
        .when(low.is_null() & pl.col("limit").is_not_null())
        .then(pl.lit("a snapshot of one of several boots"))
        .when(pl.col("shown_from").is_not_null() & pl.col("limit").is_not_null())
        .then(pl.col("limit_basis") + pl.lit(", of a boot whose start is not known"))
        .otherwise("limit_basis")
    )
