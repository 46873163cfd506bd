"""Capacity epochs, and the smallest prompt that each prefill node rejects.

A row stands from ``effective_at`` until the node's next row. Facts of one boot of
an engine (settings, pool lines, a limit quoted in a rejection) are folded into one
row that holds for the whole boot and all ranks of that server.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

import polars as pl

from forensics import schema
from forensics.clock import Clocks
from forensics.incident import DeclaredCapacity, Incident, micros

BEGINNING = -(2**62)
END = 2**62
SGLANG_RESERVE = 6
"""SGLang rejects at ``min(context - 1, pool - 1) - 5``."""

_EPOCH_DTYPES: dict[str, pl.DataType] = {
    **schema.dtypes(schema.CAPACITY_COLUMNS),
    "inferred": pl.Boolean(),
    "assumed": pl.Boolean(),
}


@dataclass(frozen=True)
class Capacity:
    """Epochs of all nodes with their limits, sorted; and what contradicts what.

    ``epochs`` has the capacity columns plus ``until``, ``limit`` (smallest rejected
    prompt, tokens), ``limit_basis``, ``inferred`` and ``assumed``.
    """

    epochs: pl.DataFrame
    warnings: tuple[str, ...] = ()


def build(facts: list[pl.DataFrame], clocks: Clocks, incident: Incident) -> Capacity:
    """Return the epochs of all logged facts, completed by declared capacity."""
    frame = _facts(facts, clocks)
    logged = pl.concat([_records(frame), _boots(frame)])
    rows, warnings = _declare(logged, incident)
    rows = rows.unique().sort("node", "effective_at", "role", nulls_last=False)
    rows = _with_limits(rows, incident.trigger.threshold_tokens)
    until = pl.col("effective_at").shift(-1).over("node", order_by="effective_at")
    rows = rows.with_columns(until=until.fill_null(END))
    return Capacity(rows.sort(_ORDER, nulls_last=False), tuple(warnings))


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
    return rows.with_columns(
        effective_at=pl.col("effective_at").fill_null(BEGINNING), inferred=pl.lit(value=False)
    ).select(_shaped())


def _shaped() -> list[pl.Expr]:
    return [pl.col(name).cast(dtype) for name, dtype in _EPOCH_DTYPES.items()]


def _boots(frame: pl.DataFrame) -> pl.DataFrame:
    """Fold an engine's facts into one row per boot."""
    facts = frame.filter(pl.col("event") != "record").sort(
        "source_node", "effective_at", "event", "node", "line", nulls_last=False
    )
    rows = []
    for (server,), own in facts.group_by("source_node", maintain_order=True):
        starts = own.filter(pl.col("event") == "start")["effective_at"].unique().sort().to_list()
        roles = own.filter(pl.col("event") == "role")
        timed = own.filter(pl.col("event") != "role")
        edges = [BEGINNING, *starts]
        for begin, end in zip(edges, [*starts, END], strict=True):
            inside = timed.filter(pl.col("effective_at").is_between(begin, end, closed="left"))
            if inside.height or (begin == BEGINNING and not starts):
                rows += _boot(str(server), begin, inside, roles)
    frames = [pl.DataFrame([row], schema=_EPOCH_DTYPES) for row in rows]
    return pl.concat(frames) if frames else pl.DataFrame(schema=_EPOCH_DTYPES)


def _boot(
    server: str, begin: int, facts: pl.DataFrame, roles: pl.DataFrame
) -> list[dict[str, object]]:
    start = facts.filter(pl.col("event") == "start")
    pools = facts.filter(pl.col("event") == "server_pool")
    quoted = facts.filter(pl.col("event") == "limit")["input_limit_tokens"].drop_nulls()
    base: dict[str, object] = dict.fromkeys(_EPOCH_DTYPES)
    base |= {
        "node": server,
        "effective_at": begin,
        "role": _one(start["role"]) or _one(roles["role"].unique()),
        "engine": "sglang",
        "pool_tokens": _one(pools["pool_tokens"]),
        "page_tokens": _one(start["page_tokens"]),
        "context_tokens": _one(pools["context_tokens"]) or _one(start["context_tokens"]),
        "input_limit_tokens": quoted.min(),
        "auto_truncate": _one(start["auto_truncate"]),
        "config": _one(start["config"]),
        "inferred": start.is_empty() or len(quoted) > 0,
        "assumed": bool(facts["assumed"].any()),
    }
    base["disaggregated"] = None if base["role"] is None else base["role"] != "unified"
    base["allocator"] = "sorted-sweep" if base["disaggregated"] else None
    if base["pool_tokens"] is None:
        ranks = facts.filter(pl.col("event") == "rank_pool").unique(
            "node", keep="first", maintain_order=True
        )
        own = [
            base | {"node": row["node"], "pool_tokens": row["pool_tokens"]}
            for row in ranks.iter_rows(named=True)
        ]
        if own:
            return [_based(row) for row in own]
    return [_based(base)]


def _based(row: dict[str, object]) -> dict[str, object]:
    return row | {"pool_basis": "reported" if row["pool_tokens"] is not None else None}


def _one(values: pl.Series) -> object:
    """Return the single value, or None where there is none or they differ."""
    known = values.drop_nulls().unique()
    return known[0] if len(known) == 1 else None


def _declare(logged: pl.DataFrame, incident: Incident) -> tuple[pl.DataFrame, list[str]]:
    """Complete the log by declared rows; a logged value always wins over a declared one."""
    warnings: list[str] = []
    rows = logged
    for declared in incident.capacity:
        matched = _matched(logged, declared)
        for node in matched:
            warnings += _contradictions(logged, node, declared)
        rows = _fill(rows, matched, declared)
        if not matched or declared.effective_at is not None:
            rows = pl.concat([rows, _declared_row(declared)])
    return rows, sorted(set(warnings))


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


def _filled(name: str, value: object, where: pl.Expr) -> pl.Expr:
    dtype = _EPOCH_DTYPES[name]
    return (
        pl.when(where & pl.col(name).is_null())
        .then(pl.lit(value, dtype=dtype))
        .otherwise(pl.col(name))
        .alias(name)
    )


def _declared_row(declared: DeclaredCapacity) -> pl.DataFrame:
    row: dict[str, object] = dict.fromkeys(_EPOCH_DTYPES)
    for name in _EPOCH_DTYPES:
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
    return pl.DataFrame([row], schema=_EPOCH_DTYPES)


def _with_limits(rows: pl.DataFrame, threshold: int | None) -> pl.DataFrame:
    """Add the smallest rejected prompt: stated, reported, derived, or null."""
    room = pl.min_horizontal("pool_tokens", "context_tokens")
    room = pl.when(pl.col("pool_tokens").is_not_null()).then(room)
    sglang = (pl.col("engine") == "sglang").fill_null(value=False)
    derived = pl.when(sglang).then(room - SGLANG_RESERVE).otherwise(room + 1)
    if threshold is not None:
        return rows.with_columns(
            limit=pl.lit(threshold + 1, dtype=pl.Int64), limit_basis=pl.lit("stated threshold")
        )
    reported = pl.col("input_limit_tokens")
    source = (
        pl.when(pl.col("pool_basis") == "declared")
        .then(pl.lit("declared"))
        .otherwise(pl.lit("logged"))
    )
    basis = (
        pl.when(reported.is_not_null() & pl.col("inferred"))
        .then(pl.lit("quoted in a rejection"))
        .when(reported.is_not_null())
        .then(pl.lit("reported"))
        .when(derived.is_not_null() & sglang)
        .then(pl.lit("min(context, pool) - 6, ") + source + pl.lit(" pool"))
        .when(derived.is_not_null())
        .then(pl.lit("min(context, pool) + 1, ") + source + pl.lit(" pool"))
        .otherwise(pl.lit("unknown"))
    )
    return rows.with_columns(limit=pl.coalesce(reported, derived), limit_basis=basis)
