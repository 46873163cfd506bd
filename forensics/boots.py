"""Facts of one server, folded into one row per boot: settings, pools, limits, snapshots.

A boot begins with a line of the engine's start. What is known of it holds for the whole
boot and for all ranks of the server. A snapshot without a time belongs to the one boot
that it does not contradict; where several are left, it clears nobody in any of them. One
that says when its boot began tells a start. Where no start of a boot is known, what is known
of it holds since the server's own log shows it to have run on, and shows nothing of before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from forensics import bootstarts, enginesettings, schema
from forensics.bootstarts import PRINTED, SNAPSHOTS, placed, shown_from
from forensics.continuity import Ran
from forensics.inputlimit import derived

BEGINNING = -(2**62)
END = 2**62

EPOCH_DTYPES: dict[str, pl.DataType] = {
    **schema.dtypes(schema.CAPACITY_COLUMNS),
    "inferred": pl.Boolean(),
    "assumed": pl.Boolean(),
    "quoted": pl.String(),
    "ready_at": pl.Int64(),
    "pool_most": pl.Int64(),
    "limit_most": pl.Int64(),
    "stray_least": pl.Int64(),
    "stray_most": pl.Int64(),
    "shown_from": pl.Int64(),
}
"""Capacity columns, how they are known, and the other ends where readings differ:

``pool_most`` and ``limit_most`` beside ``pool_tokens`` and ``input_limit_tokens``, the
smallest; ``stray_least`` and ``stray_most`` are limits of a snapshot of this boot or of another.
``quoted`` names the lines that a limit was read in, where nothing reported it; ``ready_at`` is
when the boot took its first request. ``shown_from`` is since when it is shown that this boot ran,
:data:`END` where nothing shows it; null where that is ``effective_at``.
"""

_TOLD = ("role", "pool_tokens", "page_tokens", "context_tokens")
"""What a snapshot and a boot can contradict each other about."""

Row = dict[str, object]


@dataclass(frozen=True)
class _Boot:
    """Facts of one boot: its own lines, the snapshots of it, those of it or another."""

    server: str
    begin: int
    facts: pl.DataFrame
    snapshots: pl.DataFrame
    stray: pl.DataFrame
    roles: pl.DataFrame
    shown_from: int | None

    def lines(self, *events: str) -> pl.DataFrame:
        return self.facts.filter(pl.col("event").is_in(events))

    def said(self, name: str) -> object:
        """Return what the start and the snapshots agree on."""
        return _one(pl.concat([self.lines("start")[name], self.snapshots[name]]))


def fold(frame: pl.DataFrame, ran: Ran) -> pl.DataFrame:
    """Return one row per boot, and per rank where the ranks of a server differ.

    Args:
        frame: facts of capacity.
        ran: since when and until when a server's own log has it.
    """
    facts = frame.filter(pl.col("event") != "record").sort(
        "source_node", "effective_at", "event", "node", "line", nulls_last=False
    )
    rows: list[Row] = []
    for (server,), own in facts.group_by("source_node", maintain_order=True):
        for boot in _boots(str(server), own, ran.get(str(server))):
            rows += _rows(boot)
    frames = [pl.DataFrame([row], schema=EPOCH_DTYPES) for row in rows]
    return pl.concat(frames) if frames else pl.DataFrame(schema=EPOCH_DTYPES)


def _boots(server: str, own: pl.DataFrame, ran: tuple[int, int] | None) -> Iterator[_Boot]:
    snapshot = pl.col("event").is_in(SNAPSHOTS)
    undated = own.filter(snapshot & pl.col("effective_at").is_null())
    roles = own.filter(pl.col("event") == "role")
    stretches = _stretches(placed(own.filter(pl.col("effective_at").is_not_null())))
    homes = {file: _homes(stretches, loose) for file, loose in _per_file(undated)}
    for number, (begin, facts) in enumerate(stretches):
        mine = [file for file, found in homes.items() if found == [number]]
        maybe = [file for file, found in homes.items() if number in found and len(found) > 1]
        settled = undated.filter(pl.col("file").is_in(mine))
        stray = undated.filter(pl.col("file").is_in(maybe))
        told = pl.concat([facts.filter(snapshot), settled])
        since = None if _printed(settled) else _since(begin, facts, ran)
        yield _Boot(server, begin, facts, told, stray, roles, since)


def _printed(settled: pl.DataFrame) -> bool:
    """Say whether a log without times tells the pool with which each run in it began."""
    told = pl.col("event").eq(PRINTED) & pl.col("pool_tokens").is_not_null()
    return settled.filter(told).height > 0


def _since(begin: int, facts: pl.DataFrame, ran: tuple[int, int] | None) -> int | None:
    if begin != BEGINNING:
        return None
    shown = shown_from(facts, ran)
    return END if shown is None else shown


def startless(frame: pl.DataFrame) -> set[str]:
    """Return the servers of which a limit is known of a boot whose start is not."""
    facts = frame.filter(pl.col("event") != "record")
    groups = facts.group_by("source_node")
    return {str(server) for (server,), own in groups if bootstarts.startless(own)}


def _stretches(timed: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """Part the facts at each start; before the first one only where there are any."""
    starts = bootstarts.starts(timed)
    known = timed.filter(pl.col("event") != "role")
    found = []
    for begin, end in zip([BEGINNING, *starts], [*starts, END], strict=True):
        inside = known.filter(pl.col("effective_at").is_between(begin, end, closed="left"))
        if inside.height or not starts:
            found.append((begin, inside))
    return found


def _per_file(undated: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    for (file,), loose in undated.sort("file").group_by("file", maintain_order=True):
        yield int(file), loose


def _homes(stretches: list[tuple[int, pl.DataFrame]], snapshot: pl.DataFrame) -> list[int]:
    """Return the boots that a snapshot may be of: those it does not contradict, else all."""
    every = list(range(len(stretches)))
    fitting = [n for n in every if not _contradict(stretches[n][1], snapshot)]
    return fitting or every


def _contradict(facts: pl.DataFrame, snapshot: pl.DataFrame) -> bool:
    known = ((_one(facts[name]), _one(snapshot[name])) for name in _TOLD)
    if any(a is not None and b is not None and a != b for a, b in known):
        return True
    return enginesettings.contradict(_one(facts["config"]), _one(snapshot["config"]))


def _rows(boot: _Boot) -> list[Row]:
    """Return the server's row, and one for each rank where their pools differ."""
    base = _base(boot)
    server, ranks = _pools(boot)
    every = server.union(*ranks.values())
    if len(every) < 2:
        return [base | _pool(every)]
    # A limit was reported by one scheduler: ranks of another pool have another one.
    unsaid = dict.fromkeys(("input_limit_tokens", "limit_most", "stray_least", "stray_most"))
    rows = [base | unsaid | {"node": node} | _pool(pools) for node, pools in ranks.items()]
    return [base | _pool(every), *rows]


def _pool(pools: set[int]) -> Row:
    """Return the smallest of some pools, and the largest where they differ."""
    if not pools:
        return {}
    most = max(pools) if len(pools) > 1 else None
    return {"pool_tokens": min(pools), "pool_most": most, "pool_basis": "reported"}


def _base(boot: _Boot) -> Row:
    start, pools = boot.lines("start"), boot.lines("server_pool")
    lines = boot.lines(*_QUOTED).drop_nulls("input_limit_tokens")
    quoted = lines["input_limit_tokens"]
    reported = boot.snapshots["input_limit_tokens"].drop_nulls()
    limits, stray = pl.concat([quoted, reported]), _limits(boot.stray)
    base: Row = dict.fromkeys(EPOCH_DTYPES)
    base |= {name: boot.said(name) for name in ("page_tokens", "engine_version", "model_version")}
    base |= {
        "node": boot.server,
        "effective_at": boot.begin,
        "ready_at": boot.lines("ready")["effective_at"].min(),
        "role": _role(boot),
        "engine": _one(pl.concat([boot.facts["engine"], boot.snapshots["engine"]]))
        or _one(pl.concat([boot.roles["engine"], boot.stray["engine"]])),
        "context_tokens": _one(pools["context_tokens"]) or boot.said("context_tokens"),
        "input_limit_tokens": limits.min(),
        "limit_most": limits.max() if limits.n_unique() > 1 else None,
        "quoted": _quoted_in(lines) if reported.is_empty() else None,
        "stray_least": stray.min(),
        "stray_most": stray.max(),
        "auto_truncate": True if boot.lines("truncation").height else boot.said("auto_truncate"),
        "config": _config(boot),
        "inferred": start.is_empty() or bool(len(limits) + boot.snapshots.height + len(stray)),
        "assumed": bool(boot.facts["assumed"].any()),
        "shown_from": boot.shown_from,
    }
    apart = None if base["role"] is None else base["role"] != "unified"
    return base | {"disaggregated": apart, "allocator": "sorted-sweep" if apart else None}


_QUOTED = {"limit": "a rejection", "truncation": "a truncation"}
"""Lines that quote the limit, as the basis of it names them."""


def _config(boot: _Boot) -> str | None:
    """Return the settings of a boot; where a snapshot of it, or perhaps of it, tells others, both.

    Of those alone that decide how decode uses its pages: none may be taken for what another denies.
    """
    snapshots = [*boot.snapshots["config"], *boot.stray["config"]]
    own = _one(boot.lines("start")["config"]) or _one(boot.snapshots["config"])
    return enginesettings.beside(own, snapshots)


def _quoted_in(lines: pl.DataFrame) -> str | None:
    """Name the kinds of lines; None where there is none."""
    told = set(lines["event"])
    return " and ".join(name for event, name in _QUOTED.items() if event in told) or None


def _limits(snapshots: pl.DataFrame) -> pl.Series:
    """Return the limits that snapshots report, or that follow from their pools."""
    limit = pl.coalesce("input_limit_tokens", derived("pool_tokens"))
    return snapshots.select(limit).to_series().drop_nulls()


def _role(boot: _Boot) -> object:
    told = (boot.lines("start"), boot.snapshots, boot.roles, boot.stray)
    return next((role for role in (_one(facts["role"]) for facts in told) if role), None)


def _pools(boot: _Boot) -> tuple[set[int], dict[str, set[int]]]:
    """Return the pools of the server as a whole, and of its ranks.

    The server's line is of its first rank; others are known from lines of their own, of which
    the first counts: a draft model prints a second one with a pool of its own. Where a rank
    names more than the server, either may hold: stages of a pipeline print larger ones.
    """
    own = pl.col("node") == boot.server
    told = boot.snapshots.drop_nulls("pool_tokens")
    lines = boot.lines("server_pool").drop_nulls("pool_tokens")
    server = {*lines["pool_tokens"], *told.filter(own)["pool_tokens"]}
    found: dict[str, set[int]] = {}
    for node, pool in told.filter(~own).select("node", "pool_tokens").sort("node").iter_rows():
        found.setdefault(node, set()).add(pool)
    printed = boot.lines("rank_pool").drop_nulls("pool_tokens")
    printed = printed.unique("node", keep="first", maintain_order=True).sort("node")
    for node, pool in printed.select("node", "pool_tokens").iter_rows():
        if node not in found:
            found[node] = {pool, *(total for total in server if total < pool)}
    return server, found


def _one(values: pl.Series) -> object:
    """Return the single value, or None where there is none or they differ."""
    known = values.drop_nulls().unique()
    return known[0] if len(known) == 1 else None
