"""The limit in force for each request: which prompt its prefill node would have rejected.

``limit_low`` and ``limit_high`` are equal where node, time and limit are known. They
span all readings where the node is unknown (all prefill limits in force), the time is
unknown (all limits the node ever had), the clock's zone was assumed, or what was
reported of the node differs. Where a request came to prefill some time before it was first
logged, they span all limits until then. ``limit_low`` is null where one of them is not known;
``limit_unseen`` says so of a request that was logged late or at its end alone, beside those
that are, and of one before it is shown that a boot ran whose start no log has: ``start_unseen``
where the limit would clear it. What a request's own refusal quotes was the limit, whatever else
is known of its node.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from typing import Any

import polars as pl

from forensics.arrivals import BEFORE_LOGGED, LONGEST
from forensics.boots import BEGINNING
from forensics.capacity import server_of
from forensics.clock import ZONE_UNCERTAINTY
from forensics.columns import ensure, pieces
from forensics.findings.over_limit import COUNTS, most
from forensics.roles import NAMED_PREFILL
from forensics.schema import REFUSAL_LIMIT

ADDED = (
    "limit_low",
    "limit_high",
    "limit_basis",
    "limit_unseen",
    "start_unseen",
    "prefill_page_tokens",
    "prefill_disaggregated",
    "decode_page_tokens",
    "decode_disaggregated",
    "decode_since",
)

STATED = "stated threshold"
OWN_REFUSAL = "quoted in its own refusal"
"""Bases of a limit that holds whatever a node's log tells."""


def attach(requests: pl.DataFrame, epochs: pl.DataFrame, threshold: int | None) -> pl.DataFrame:
    """Add :data:`ADDED` to the requests.

    Args:
        requests: with ``prefill_node``, ``decode_node``, ``received_at``, ``assumed``.
        epochs: :attr:`forensics.capacity.Capacity.epochs`.
        threshold: stated threshold in tokens; prompts longer than it are over, on
            every node, whatever the logs say of pools.
    """
    whole = ensure(requests, ["reserved_at", "released_at", "finished_at"])
    own = [name for name in (REFUSAL_LIMIT,) if name in requests.columns]
    rows = whole.select("prefill_node", "decode_node", "assumed", *_times(requests.columns), *own)
    nodes = rows["prefill_node"].drop_nulls().unique()
    found = [_attached(piece, epochs, threshold, nodes) for piece in pieces(rows)]
    return _needless(requests.hstack(pl.concat(found)))


def _attached(
    rows: pl.DataFrame, epochs: pl.DataFrame, threshold: int | None, nodes: pl.Series
) -> pl.DataFrame:
    """Return :data:`ADDED` of some requests; ``nodes`` are those of prefill that any names."""
    rows, shown = rows.with_row_index("_row"), parted(epochs)
    prefill = in_force(rows, shown, "prefill_node", _OF_PREFILL)
    decode = in_force(rows, epochs, "decode_node", _OF_DECODE)
    found = rows.join(prefill, on="_row", how="left", maintain_order="left")
    found = found.join(decode, on="_row", how="left", maintain_order="left")
    if threshold is not None:
        limit = pl.lit(threshold + 1, dtype=pl.Int64)
        basis = pl.lit(STATED)
        found = found.with_columns(
            limit_low=limit, limit_high=limit, limit_basis=basis, limit_unseen=pl.lit(value=False)
        )
    else:
        found = _as_refused(_spans(found, shown, nodes))
    found = found.with_columns(start_unseen=pl.col("limit_unseen") & ~pl.col("late"))
    return found.select(ADDED)


def _needless(requests: pl.DataFrame) -> pl.DataFrame:
    """Keep the doubt of a start for those whom the limit from after it would clear."""
    clears = (most < pl.col("limit_low")).fill_null(value=False)
    whole = ensure(requests, COUNTS)
    doubt = whole.select(pl.col("start_unseen") & clears).to_series()
    return requests.with_columns(doubt)


def parted(epochs: pl.DataFrame) -> pl.DataFrame:
    """Part each epoch where its boot is first shown to have run; add ``unshown`` of before."""
    if "shown_from" not in epochs.columns:
        return epochs.with_columns(unshown=pl.lit(value=False))
    whole = epochs
    shown, until = pl.col("shown_from"), pl.col("until")
    before = whole.filter(shown.is_not_null()).with_columns(
        until=pl.min_horizontal(until, shown), unshown=pl.lit(value=True)
    )
    since = whole.filter(shown.is_null() | (shown < until)).with_columns(
        effective_at=pl.coalesce(shown, "effective_at"), unshown=pl.lit(value=False)
    )
    return pl.concat([before, since])


def _times(columns: Collection[str]) -> list[pl.Expr]:
    """The time that a request is judged by, and whether it had come to prefill before.

    Where no arrival was logged it is the first time that was. Decode takes pages as a
    request comes; it gives them back, and an answer ends, some time after.
    """
    late = pl.col(BEFORE_LOGGED) if BEFORE_LOGGED in columns else pl.lit(value=False)
    at, taken = pl.col("received_at"), pl.col("reserved_at")
    ends = pl.min_horizontal("released_at", "finished_at")
    ended = at.is_null() & ends.is_not_null() & ~(taken <= ends).fill_null(value=False)
    return [pl.coalesce(at, pl.min_horizontal(taken, ends)), (late | ended).alias("late")]


def _as_refused(found: pl.DataFrame) -> pl.DataFrame:
    """Take the limit of a request that was refused from its own refusal."""
    if REFUSAL_LIMIT not in found.columns:
        return found
    own = pl.col(REFUSAL_LIMIT)
    told = {
        "limit_low": own,
        "limit_high": own,
        "limit_basis": pl.lit(OWN_REFUSAL),
        "limit_unseen": pl.lit(value=False),
    }
    return found.with_columns(
        pl.when(own.is_not_null()).then(value).otherwise(name).alias(name)
        for name, value in told.items()
    )


_OF_PREFILL = {
    "limit": "limit",
    "limit_low": "lowest",
    "limit_basis": "limit_basis",
    "unshown": "unshown",
    "page_tokens": "prefill_page_tokens",
    "disaggregated": "prefill_disaggregated",
}
_OF_DECODE = {
    "page_tokens": "decode_page_tokens",
    "disaggregated": "decode_disaggregated",
    "effective_at": "decode_since",
}


def epoch_nodes(nodes: pl.Series, epochs: pl.DataFrame) -> dict[str, str]:
    """Map each engine identity to the epochs' node that speaks for it.

    A rank with rows of its own has those of its server among them already.
    """
    known = set(epochs["node"].to_list()) - {None}
    globs = sorted(name for name in known if any(sign in name for sign in "*?["))
    found = {}
    for node in nodes.unique().to_list():
        if node is None:
            continue
        server = server_of(node)
        match = node if node in known else server if server in known else None
        if match is None:
            match = next(
                (
                    g
                    for g in globs
                    if fnmatch.fnmatchcase(node, g) or fnmatch.fnmatchcase(server, g)
                ),
                None,
            )
        if match is not None:
            found[node] = match
    return found


def _with_key(rows: pl.DataFrame, epochs: pl.DataFrame, column: str) -> pl.DataFrame:
    keys = epoch_nodes(rows[column], epochs)
    key = pl.col(column).replace_strict(
        list(keys) or [""], list(keys.values()) or [""], default=None, return_dtype=pl.String
    )
    wanted = [name for name in ("_row", "received_at", "assumed", "late") if name in rows.columns]
    return rows.select(*wanted, _key=key).filter(pl.col("_key").is_not_null())


def in_force(
    rows: pl.DataFrame, epochs: pl.DataFrame, column: str, wanted: dict[str, str]
) -> pl.DataFrame:
    """Return the epoch's values at each row's time; rows of unknown time or node are left out.

    Args:
        rows: with ``_row``, the node's column, and ``received_at``.
        epochs: :attr:`forensics.capacity.Capacity.epochs`.
        column: name of the node's column.
        wanted: column of the epoch to the name that it gets.
    """
    left = _with_key(rows, epochs, column).filter(pl.col("received_at").is_not_null())
    right = epochs.select(
        pl.col("node").alias("_key"), pl.col("effective_at").alias("_from"), *wanted
    ).unique(["_key", "_from"], keep="first", maintain_order=True)
    joined = left.sort("received_at").join_asof(
        right.sort("_from"),
        left_on="received_at",
        right_on="_from",
        by="_key",
        strategy="backward",
        check_sortedness=False,
    )
    return joined.select("_row", **{new: pl.col(old) for old, new in wanted.items()})


def _spans(rows: pl.DataFrame, epochs: pl.DataFrame, nodes: pl.Series) -> pl.DataFrame:
    """Add the lowest and highest limit that may have been in force."""
    limited = epochs.filter(pl.col("limit").is_not_null())
    doubtful = _doubtful(rows, epochs, limited)
    nodeless = _nodeless(rows, epochs, limited, nodes)
    spans = pl.concat([_late(rows, epochs), doubtful, nodeless], how="diagonal")
    spans = spans.unique("_row", keep="first", maintain_order=True)
    rows = rows.join(spans, on="_row", how="left", maintain_order="left")
    # By its own time it came before any limit that is known: a zone that was guessed tells none.
    unplaced = pl.col("high").is_not_null() & pl.col("limit").is_null()
    unplaced &= pl.col("received_at").is_not_null()
    return rows.with_columns(
        limit_low=pl.when(pl.col("high").is_null()).then("lowest").otherwise("low"),
        limit_high=pl.coalesce("high", "limit"),
        limit_unseen=pl.coalesce("unseen", "unshown", unplaced).fill_null(value=False),
    ).drop("low", "high")


_LOWEST = pl.when(pl.col("limit_low").null_count() == 0).then(pl.col("limit_low").min())
"""The lowest of several limits; unknown as soon as one of them is."""

_UNSEEN: dict[str, pl.DataType] = {"unseen": pl.Boolean()}
_SPAN: dict[str, pl.DataType] = {"_row": pl.UInt32(), "low": pl.Int64(), "high": pl.Int64()}


def _doubtful(rows: pl.DataFrame, epochs: pl.DataFrame, limited: pl.DataFrame) -> pl.DataFrame:
    """Rows whose node is known but not when they were, on that node's clock or their own."""
    shaky = epochs.filter(pl.col("assumed"))["node"].unique().to_list()
    left = _with_key(rows, epochs, "prefill_node").filter(
        pl.col("received_at").is_null() | pl.col("assumed") | pl.col("_key").is_in(shaky)
    )
    right = limited.select(
        pl.col("node").alias("_key"), "effective_at", "until", "limit", "limit_low"
    )
    pairs = left.join(right, on="_key").filter(
        pl.col("received_at").is_null()
        | (
            (pl.col("effective_at") - ZONE_UNCERTAINTY <= pl.col("received_at"))
            & (pl.col("received_at") < pl.col("until") + ZONE_UNCERTAINTY)
        )
    )
    spans = pairs.group_by("_row").agg(low=_LOWEST, high=pl.col("limit").max())
    return spans.cast(_SPAN)  # type: ignore[arg-type]


def _late(rows: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Rows that came at prefill some time before they were logged, by less than a day.

    All limits since then may have been in force; before the first known one it is unknown.
    """
    shaky = epochs.filter(pl.col("assumed"))["node"].unique().to_list()
    at, began = pl.col("received_at"), pl.col("effective_at")
    left = _with_key(rows.filter("late"), epochs, "prefill_node")
    doubt = pl.col("assumed") | pl.col("_key").is_in(shaky)
    left = left.with_columns(margin=pl.when(doubt).then(ZONE_UNCERTAINTY).otherwise(0))
    since = at - LONGEST - pl.col("margin")
    right = epochs.select("effective_at", "until", "limit", "limit_low", "unshown", _key="node")
    pairs = left.join(right, on="_key").filter(
        (began <= at + pl.col("margin")) & (pl.col("until") > since)
    )
    known = (pl.col("limit_low").null_count() == 0) & ~pl.col("unshown").any()
    whole = (began.min() <= since.min()) & known
    spans = pairs.group_by("_row").agg(
        low=pl.col("limit_low").min(), high=pl.col("limit").max(), unseen=~whole
    )
    return spans.cast(_SPAN | _UNSEEN)  # type: ignore[arg-type]


def _nodeless(
    rows: pl.DataFrame, epochs: pl.DataFrame, limited: pl.DataFrame, nodes: pl.Series
) -> pl.DataFrame:
    """Rows of unknown prefill node, against all prefill limits in force at their time.

    A node of which no capacity is known counts as unknown: another log may name it otherwise.
    """
    named = list(epoch_nodes(rows["prefill_node"], epochs))
    unknown = ~pl.col("prefill_node").is_in(named).fill_null(value=False)
    left = rows.filter(unknown).select("_row", "received_at", "assumed", "late")
    prefill = limited.filter(pl.col("role").is_null() | (pl.col("role") == "prefill"))
    if not left.height or not prefill.height:
        return pl.DataFrame(schema=_SPAN | _UNSEEN)
    lowest, highest = prefill.select(_LOWEST).item(), prefill["limit"].max()
    # Pools of servers whose side nothing tells may all be decode's, which clear no prompt.
    sided = pl.col("role").is_not_null() | pl.col("node").str.contains(NAMED_PREFILL)
    told = prefill.select(sided.any()).item()
    if lowest is None or not told or _any_unlimited(nodes, epochs):
        unlimited = left.select("_row", low=None, high=pl.lit(highest), unseen=False)
        return unlimited.cast(_SPAN | _UNSEEN)  # type: ignore[arg-type]
    always = prefill["effective_at"].max() == BEGINNING
    plain = lowest == highest and always and not prefill["unshown"].any()
    timed = left.filter(pl.col("received_at").is_not_null() & (not plain))
    spans = _in_force_between(timed, prefill).cast(_SPAN | _UNSEEN)  # type: ignore[arg-type]
    unshown = pl.lit(value=bool(prefill["unshown"].any()))
    rest = left.join(timed, on="_row", how="anti").select(
        "_row", low=pl.lit(lowest), high=pl.lit(highest), unseen=unshown
    )
    return pl.concat([spans, rest.cast(_SPAN | _UNSEEN)])  # type: ignore[arg-type]


def _in_force_between(rows: pl.DataFrame, prefill: pl.DataFrame) -> pl.DataFrame:
    """Return the least and largest limit while each row may have come at prefill.

    Where a zone was assumed that is some hours around its time, and a day before it where it was
    logged late: then it is ``unseen`` where no limit is known for all of that.
    """
    by_time = steps(prefill)
    doubt = pl.col("assumed") | prefill["assumed"].any()
    margin = pl.when(doubt).then(ZONE_UNCERTAINTY).otherwise(0)
    before = pl.when("late").then(LONGEST).otherwise(0)
    at = pl.col("received_at")
    begun = rows.select(at=at, since=at - before, first=at - margin - before, last=at + margin)
    places = begun.select(
        by_time["at"].search_sorted(begun[name], side="right").cast(pl.Int64).alias(name) - 1
        for name in begun.columns
    )
    found = [_between(by_time, *place) for place in places.unique().iter_rows()]
    spans = pl.DataFrame(found, schema=dict(zip(_PLACED, _PLACED_TYPES, strict=True)), orient="row")
    joined = places.join(spans, on=places.columns, how="left", maintain_order="left")
    return joined.select(rows["_row"], "low", "high", "unseen")


_PLACED = ("at", "since", "first", "last", "low", "high", "unseen")
_PLACED_TYPES = (*[pl.Int64()] * 6, pl.Boolean())


def _between(by_time: pl.DataFrame, at: int, since: int, first: int, last: int) -> tuple[Any, ...]:
    """Return the places, the least and largest limit, and whether one of them is not known.

    A zone that was assumed widens what a limit may have been, not since when one is known.
    """
    place = (at, since, first, last)
    if last < 0:
        return (*place, None, None, True)
    within = by_time.slice(max(first, 0), last + 1 - max(first, 0))
    asked = by_time.slice(max(since, 0), at + 1 - max(since, 0)) if at >= 0 else by_time.clear()
    unseen = since < 0 or bool(asked["unshown"].any())
    return (*place, within["low"].min(), within["high"].max(), unseen)


def _any_unlimited(nodes: pl.Series, epochs: pl.DataFrame) -> bool:
    """Say whether a prefill node is known whose limit is not: below all is then not shown."""
    limited = epochs.filter(pl.col("limit").is_not_null())
    # A node whose limit is known of one boot may be prefill in the others too.
    here = (pl.col("role") == "prefill") | (
        pl.col("role").is_null() & pl.col("node").is_in(limited["node"].implode())
    )
    unknown = epochs.filter(here & pl.col("limit").is_null())
    return bool(unknown.height) or len(epoch_nodes(nodes, limited)) < len(nodes)


def steps(prefill: pl.DataFrame) -> pl.DataFrame:
    """Return lowest and highest limit over all nodes, from when one changes on, and so far (µs).

    ``unshown`` says that one of them is of a boot that is not shown to have run then.
    """
    current: dict[str, tuple[int, int, bool]] = {}
    steps: dict[int, tuple[int, int, bool]] = {}
    names = ("effective_at", "node", "limit_low", "limit", "unshown")
    rows = prefill.sort("effective_at", "node").select(names)
    for at, node, low, high, unshown in rows.iter_rows():
        current[node] = (low, high, unshown)
        lows, highs, doubts = zip(*current.values(), strict=True)
        steps[at] = (min(lows), max(highs), any(doubts))
    return pl.DataFrame(
        [(at, *step) for at, step in sorted(steps.items())],
        schema={"at": pl.Int64, "low": pl.Int64, "high": pl.Int64, "unshown": pl.Boolean},
        orient="row",
    )
