"""When boots of a server began, as far as its log or a snapshot tells; and since when one is shown.

A boot begins with a line of the engine's start, or when a snapshot says that it began. Where
neither is known, what is known of the boot holds since the server's own log shows it to have run
on, and shows nothing of before.
"""

from __future__ import annotations

import polars as pl

BEGAN = "began"
"""Event of a snapshot that says when its boot began: that is its time."""
PRINTED = "printed"
"""Event of what a log without times says as an engine starts: it is of the runs of that log."""
SNAPSHOTS = ("snapshot", BEGAN, PRINTED)
"""Events of what was asked of a running server, or has no place among the lines of its log."""

_LIMITING = pl.any_horizontal(pl.col("pool_tokens", "input_limit_tokens").is_not_null())
_LOADED = 30 * 60 * 1_000_000
"""A process begins, and its engine starts and is ready, no further apart (µs)."""
_BEYOND = 3_600_000_000
"""A server that wrote a line in the last hour (µs) is taken not to have begun anew since."""


def starts(timed: pl.DataFrame) -> list[int]:
    """Return when boots began: at a start line, else with what an engine says as it starts.

    Once it is ready it names no pool again, nor that it is ready: a start line was lost then, as
    it was before the first of these lines.

    Args:
        timed: facts of one server with ``event`` and ``effective_at`` (µs).
    """
    pool = pl.col("event").is_in(["rank_pool", "server_pool"]) & pl.col("pool_tokens").is_not_null()
    told = timed.filter(pl.col("event").is_in(["start", BEGAN, "ready"]) | pool)
    order = pl.col("event").replace_strict({"start": 0, BEGAN: 0, "ready": 2}, default=1)
    events = told.select("effective_at", order=order).unique().sort("effective_at", "order")
    found, ready = [], True
    for at, kind in events.iter_rows():
        if kind == 0 or ready:
            found.append(at)
        ready = kind == 2
    return sorted(set(found))


def placed(timed: pl.DataFrame) -> pl.DataFrame:
    """Give each snapshot that says when its boot began the time of that start, if a log has it."""
    began = pl.col("event") == BEGAN
    moments = timed.filter(began)["effective_at"].unique().to_list()
    if not moments:
        return timed
    logged = starts(timed.filter(~began))
    near = {at: _nearest(at, logged) for at in moments}
    moved = pl.col("effective_at").replace_strict(near, default=None, return_dtype=pl.Int64)
    rows = timed.with_columns(effective_at=pl.when(began).then(moved).otherwise("effective_at"))
    return rows.sort("effective_at", maintain_order=True)


def _nearest(began: int, logged: list[int]) -> int:
    """Return the logged start that a process began with or shortly before, else when it began."""
    near = [at for at in logged if abs(at - began) <= _LOADED]
    return min(near, key=lambda at: (abs(at - began), at), default=began)


def shown_from(facts: pl.DataFrame, ran: tuple[int, int] | None) -> int | None:
    """Return since when a boot is shown to have run whose start is not known (µs).

    Args:
        facts: of that boot, dated.
        ran: the first and the last moment that the server's own log has of it.

    Returns:
        None where nothing shows it: a snapshot without a time may be of another boot.
    """
    limited = facts.filter(_LIMITING)
    snapshot = pl.col("event").is_in(SNAPSHOTS)
    seen = limited.filter(snapshot)["effective_at"].to_list()
    own = [*facts.filter(~snapshot)["effective_at"], *(ran or ())]
    quoted = limited.filter(~snapshot).height > 0
    within = bool(own) and any(min(own) <= at <= max(own) + _BEYOND for at in seen)
    return min([*seen, *(own if quoted or within else ())], default=None)


def startless(facts: pl.DataFrame) -> bool:
    """Say whether a server's facts tell a limit of a boot whose start none of them tells."""
    timed = facts.filter(pl.col("effective_at").is_not_null())
    begun = starts(timed)
    limited = timed.filter(_LIMITING)["effective_at"]
    return not begun or bool((limited < begun[0]).any())
