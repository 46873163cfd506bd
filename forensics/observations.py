"""Observations: every hop's record, with its time in UTC, its side and its duplicates settled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics import schema
from forensics.clock import Clocks
from forensics.schema import ENGINE_HOP

_TIMES = [column.name for column in schema.REQUEST_COLUMNS if column.kind == "time"]
_ALL = {**schema.dtypes(schema.OBSERVATION_COLUMNS), **schema.ORIGIN, "assumed": pl.Boolean()}
_VALUES = [column.name for column in schema.OBSERVATION_COLUMNS]


@dataclass(frozen=True)
class Observations:
    """Rows with the columns of the schema that any record filled; and exact duplicates.

    ``duplicates`` counts, per file number, the records that an earlier equal one stands
    for; ``probes`` those of health checks and warm-ups, which are no requests.
    """

    frame: pl.DataFrame
    duplicates: dict[int, int]
    probes: dict[int, int]


def load(parts: Sequence[Path], clocks: Clocks, roles: pl.DataFrame) -> Observations:
    """Read the parts of all shards and settle what needs all of them.

    Args:
        parts: Parquet parts with observation columns.
        clocks: zone of each node's wall clock.
        roles: capacity epochs, for ``node`` and ``role``.
    """
    frames = [pl.read_parquet(part) for part in sorted(parts)]
    if not frames:
        return Observations(pl.DataFrame(schema=_ALL), {}, {})
    # In one piece: columns added later are, and filters copy a frame whose chunks differ.
    frame = pl.concat(frames, how="diagonal_relaxed", rechunk=True)
    del frames
    frame = ensure(
        clocks.resolve(frame, _TIMES),
        ["request_id", "transfer_id", "tenant_id", "hop", "received_at"],
    )
    frame, probes = _without_probes(frame, roles)
    frame, duplicates = _without_duplicates(_named(_sides(frame, roles)))
    return Observations(frame, duplicates, probes)


def ensure(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Add columns that no record filled, as null."""
    absent = [name for name in names if name not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=_ALL[name]).alias(name) for name in absent)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Name a record that has neither an id nor a hand-off by its values, so that it stays.

    Equal ones are numbered: none is a duplicate of another, and the names are the same
    however the records are spread over files.
    """
    nameless = pl.col("request_id").is_null() & pl.col("transfer_id").is_null()
    if not frame.select(nameless.any()).item():
        return frame
    rows = frame.with_row_index("_row").filter(nameless).rechunk()
    values = [
        pl.col(name).cast(pl.String).fill_null("") for name in _VALUES if name in rows.columns
    ]
    keys = rows.select("_row", key=pl.concat_str(values, separator="\x1f"))
    digests = {key: hashlib.sha256(key.encode()).hexdigest()[:16] for key in set(keys["key"])}
    digest = pl.col("key").replace_strict(list(digests), list(digests.values()))
    number = pl.int_range(pl.len()).over("key")
    names = keys.select("_row", name=pl.format("unnamed:{}:{}", digest, number))
    named = frame.with_row_index("_row").join(names, on="_row", how="left", maintain_order="left")
    filled = pl.when(pl.col("name").is_not_null()).then("name").otherwise("request_id")
    return named.with_columns(request_id=filled).drop("_row", "name")


def _sides(frame: pl.DataFrame, roles: pl.DataFrame) -> pl.DataFrame:
    """Settle the side of engine records that do not say it: by id, by pair, by the node."""
    if not (frame["hop"] == ENGINE_HOP).any():
        return frame
    frame = ensure(frame, ["prefill_node", "decode_node", "source_node"])
    unknown = pl.col("hop") == ENGINE_HOP
    known = frame.filter(pl.col("hop").is_in(["prefill", "decode"]))
    by_id = _single_hop(known, ["source_node", "request_id"]).rename({"side": "side_by_id"})
    by_pair = _single_hop(known, ["transfer_id"]).with_columns(
        side_by_pair=pl.col("side").replace_strict(
            {"prefill": "decode", "decode": "prefill"}, default=None
        )
    )
    by_node = (
        roles.filter(pl.col("role").is_in(["prefill", "decode"]))
        .select(pl.col("node").str.replace(r"/[^/]*$", "").alias("source_node"), "role")
        .group_by("source_node")
        .agg(pl.col("role").unique())
        .filter(pl.col("role").list.len() == 1)
        .select("source_node", pl.col("role").list.first().alias("side_by_node"))
    )
    frame = (
        frame.join(by_id, on=["source_node", "request_id"], how="left")
        .join(by_pair.select("transfer_id", "side_by_pair"), on="transfer_id", how="left")
        .join(by_node, on="source_node", how="left")
    )
    side = pl.coalesce("side_by_id", "side_by_pair", "side_by_node", pl.lit(ENGINE_HOP))
    frame = frame.with_columns(hop=pl.when(unknown).then(side).otherwise("hop"))
    return frame.with_columns(
        prefill_node=pl.when(pl.col("hop") != "decode").then("prefill_node"),
        decode_node=pl.when(pl.col("hop") != "prefill").then("decode_node"),
    ).drop("side_by_id", "side_by_pair", "side_by_node")


def _single_hop(known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return (
        known.drop_nulls(keys)
        .group_by(keys)
        .agg(pl.col("hop").unique().alias("sides"))
        .filter(pl.col("sides").list.len() == 1)
        .with_columns(side=pl.col("sides").list.first())
        .drop("sides")
    )


def _without_duplicates(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count exact duplicates, equal in every value and with an id, once."""
    key = [
        name
        for name in ("request_id", "transfer_id", "hop", "received_at")
        if name in frame.columns
    ]
    known = pl.col("request_id").is_not_null() & ~pl.col("request_id").str.starts_with("unnamed:")
    if not frame["request_id"].is_duplicated().any():
        return frame, {}
    again = pl.struct(key).is_duplicated()
    suspect = frame.select((again & known.fill_null(value=False)).alias("again")).to_series()
    if not suspect.any():
        return frame, {}
    values = [name for name in _VALUES if name in frame.columns]
    among = frame.filter(suspect).sort("file", "line")
    kept = among.unique(values, keep="first", maintain_order=True)
    gone = among.join(kept.select("file", "line"), on=["file", "line"], how="anti")
    return pl.concat([frame.filter(~suspect), kept]).rechunk(), _per_file(gone)


def _per_file(rows: pl.DataFrame) -> dict[int, int]:
    counts = rows.group_by("file").len().sort("file")
    return dict(counts.select("file", "len").iter_rows())


HEALTH_CHECK = "HEALTH_CHECK_"
_SMALL_ROOM = 256
_WARM_UP_TOKENS = 4
_SIZES = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
_MORE = {
    "reserved_pages": 1,
    "transferred_pages": 1,
    "reserved_tokens": 256,
    "transferred_tokens": 256,
    "prefill_tokens": _WARM_UP_TOKENS,
    "cached_tokens": 0,
    "completion_tokens": 16,
}
"""The most that a warm-up leaves of each figure."""


def _without_probes(
    frame: pl.DataFrame, epochs: pl.DataFrame
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Set aside health checks and warm-ups: on prefill they look exactly like a placeholder.

    SGLang draws rooms from 63 bits; those of warm-ups are a rank, or
    ``i * (2**63 // dp) + rank`` up to 0.5.15. A record counts as one only if nothing of its
    hand-off or its id is more than a warm-up: no tenant, no gateway, four tokens, one page.
    """
    health = pl.col("request_id").str.starts_with(HEALTH_CHECK).fill_null(value=False)
    marked = frame.select(
        "request_id",
        "transfer_id",
        candidate=health | _small_room(frame, epochs),
        tiny=_tiny(frame),
        sized=pl.any_horizontal(
            [pl.col(n).is_not_null() for n in _SIZES if n in frame.columns] or [pl.lit(value=False)]
        ),
        health=health,
    )
    # A hand-off of which no size is known at all may be anything.
    sized = marked.filter("sized")["transfer_id"].drop_nulls().unique().implode()
    known = pl.col("health") | pl.col("transfer_id").is_in(sized)
    marked = marked.with_columns(tiny=pl.col("tiny") & known.fill_null(value=False))
    if not marked["candidate"].any():
        return frame, {}
    real = marked.filter(~(pl.col("candidate") & pl.col("tiny")))
    probe = pl.col("candidate") & pl.col("tiny")
    for name in ("request_id", "transfer_id", "request_id"):
        taken = real[name].drop_nulls().unique().implode()
        probe = probe & ~pl.col(name).is_in(taken).fill_null(value=False)
        real = marked.filter(~probe)
    found = marked.select(probe.alias("probe")).to_series()
    return frame.filter(~found).rechunk(), _per_file(frame.filter(found))


def _tiny(frame: pl.DataFrame) -> pl.Expr:
    """Say which records are no more than a warm-up leaves behind."""
    tokens = [pl.col(n) <= _WARM_UP_TOKENS for n in _SIZES if n in frame.columns]
    pages = [pl.col(n) <= most for n, most in _MORE.items() if n in frame.columns]
    nobody = pl.col("tenant_id").is_null() & (pl.col("hop") != "gateway").fill_null(value=True)
    if "rejected" in frame.columns:
        nobody = nobody & ~pl.col("rejected").fill_null(value=False)
    return (
        pl.all_horizontal([c.fill_null(value=True) for c in (*tokens, *pages)] or [True]) & nobody
    )


def _small_room(frame: pl.DataFrame, epochs: pl.DataFrame) -> pl.Expr:
    """Say which records of an SGLang engine carry a room that was not drawn at random."""
    engines = epochs.filter(pl.col("engine") == "sglang")["node"].drop_nulls()
    servers = engines.str.replace(r"/[^/]*$", "").unique().to_list()
    columns = [n for n in ("decode_node", "prefill_node", "source_node") if n in frame.columns]
    if not servers or not columns:
        return pl.lit(value=False)
    of_sglang = pl.coalesce(columns).str.replace(r"/[^/]*$", "").is_in(servers)
    room = pl.col("transfer_id").cast(pl.UInt64, strict=False)
    rooms = [(room % (2**63 // dp)) < _SMALL_ROOM for dp in (1, 2, 4, 8, 16, 32)]
    return (pl.any_horizontal(rooms) & of_sglang).fill_null(value=False)
