"""How soon it would have been seen: when each of four watches would first have fired.

Each watch looks at units of its own: epochs of a prefill pool, canary records, hours of long
prompts, hand-offs with both counts. A unit is clean where it holds judged requests and none of
them is affected or could not be judged: an alarm there is a false one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from forensics.boots import BEGINNING
from forensics.checklist import HEADROOM
from forensics.limits import in_force
from forensics.markers import Markers
from forensics.schema import AFFECTED_TIERS
from forensics.timing.alarms import foreseen
from forensics.timing.percentiles import HOUR, HOUR_US, bucket_of
from forensics.verdicts import flag, in_scope

State = Literal["fired", "quiet", "cannot tell"]
Signal = Literal["pool against context", "canary", "p5 alarm", "transfer mismatch"]
CLEAN = (
    "Clean is what holds judged requests of which none is affected (confirmed, probable or "
    "possible) and none could not be judged: epochs of a pool, hours of one prompt length, single "
    "hand-offs. An alarm there is a false one."
)
_UNITS = {"at": pl.Int64(), "fires": pl.Boolean(), "clean": pl.Boolean()}
_BAD = pl.col("tier").is_in((*AFFECTED_TIERS, "not_assessable"))


@dataclass(frozen=True)
class Watch:
    """What one watch would have seen.

    ``first_at`` is in microseconds, None where it did not fire, fired before the first record or
    at a time that is not known. ``before`` counts affected responses that came before it, of
    ``affected`` whose time is known; None where its own is not, or nothing can be told.
    ``clean`` and ``false_alarms`` are None where no unit can be told clean.
    """

    signal: Signal
    state: State
    first_at: int | None
    before: int | None
    affected: int
    watched: int
    alarms: int
    clean: int | None
    false_alarms: int | None


_PAGES = ("reserved_pages", "transferred_pages")
_READ = (
    *("handoff", "request_id", "prefill_request_id", "received_at", "tier"),
    *("prefill_node", "prefill_ms", "prompt_tokens", *_PAGES),
)
_FLAGS = (flag("short_transfer"), flag("transfer_mismatch"))


def watches(requests: pl.DataFrame, epochs: pl.DataFrame, markers: Markers) -> list[Watch]:
    """Return the four watches in the order in which they could come.

    Args:
        requests: judged.
        epochs: capacity epochs.
        markers: canary records and what they show.
    """
    rows = in_scope(requests, *(name for name in _READ if name in requests.columns), *_FLAGS)
    affected = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))["received_at"].drop_nulls()
    return [
        _watch("pool against context", pools(rows, epochs), affected),
        _canary(rows, markers, affected),
        _watch("p5 alarm", hours(rows), affected),
        _watch("transfer mismatch", transfers(rows), affected),
    ]


def _watch(signal: Signal, units: pl.DataFrame, affected: pl.Series) -> Watch:
    clean = units.filter("clean")
    return _summed(
        signal,
        units.filter("fires")["at"],
        affected,
        watched=units.height,
        clean=clean.height,
        false_alarms=int(clean["fires"].sum()),
    )


def _summed(
    signal: Signal,
    fired: pl.Series,
    affected: pl.Series,
    *,
    watched: int,
    clean: int | None,
    false_alarms: int | None,
) -> Watch:
    known = fired.drop_nulls()
    first = int(known.min()) if len(known) else None  # type: ignore[arg-type]
    state: State = "fired" if len(fired) else "quiet" if watched else "cannot tell"
    return Watch(
        signal=signal,
        state=state,
        first_at=None if first == BEGINNING else first,
        before=_before(affected, first) if len(known) or state == "quiet" else None,
        affected=len(affected),
        watched=watched,
        alarms=len(fired),
        clean=clean,
        false_alarms=false_alarms,
    )


def _before(affected: pl.Series, first: int | None) -> int:
    return len(affected) if first is None else int((affected < first).sum())


def pools(requests: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Return the prefill epochs whose pool and window are known; a pool too small fires."""
    pool, window = pl.col("pool_tokens"), pl.col("context_tokens")
    known = epochs.filter((pl.col("role") == "prefill") & pool.is_not_null() & window.is_not_null())
    if not known.height:
        return pl.DataFrame(schema=_UNITS)
    rows = requests.select("received_at", "prefill_node", "tier").with_row_index("_row")
    found = in_force(rows, epochs, "prefill_node", {"node": "node", "effective_at": "at"})
    held = found.join(rows.select("_row", bad=_BAD), on="_row").group_by("node", "at")
    units = known.select("node", at="effective_at", fires=pool < window * HEADROOM)
    units = units.join(held.agg(~pl.col("bad").any()), on=["node", "at"], how="left")
    return units.select("at", "fires", clean=pl.col("bad").fill_null(value=False)).cast(_UNITS)  # type: ignore[arg-type]


def hours(requests: pl.DataFrame) -> pl.DataFrame:
    """Return the hours of each long-context bucket that the alarm could judge, at their end."""
    judged = foreseen(requests).filter(pl.col("long_context") & pl.col("usual_ms").is_not_null())
    if not judged.height:
        return pl.DataFrame(schema=_UNITS)
    lows = judged["low"].unique()
    held = (
        requests.select(HOUR, _BAD.alias("bad"), low=bucket_of(pl.col("prompt_tokens")))
        .filter(pl.col("low").is_in(lows.implode()))
        .group_by("hour", "low")
        .agg(~pl.col("bad").any())
    )
    units = judged.join(held, on=["hour", "low"], how="left")
    return units.select(at=pl.col("hour") + HOUR_US, fires="alarm", clean="bad").cast(_UNITS)  # type: ignore[arg-type]


def transfers(requests: pl.DataFrame) -> pl.DataFrame:
    """Return the hand-offs with both counts; more or fewer pages than were reserved fire."""
    both = [name for name in _PAGES if name in requests.columns]
    if len(both) < 2:
        return pl.DataFrame(schema=_UNITS)
    told = pl.all_horizontal(pl.col(both).is_not_null())
    fires = pl.any_horizontal(_FLAGS)
    known = requests.select(told=told, at="received_at", fires=fires, clean=~_BAD).filter("told")
    return known.drop("told").cast(_UNITS)  # type: ignore[arg-type]


def _canary(requests: pl.DataFrame, markers: Markers, affected: pl.Series) -> Watch:
    """A foreign marker is itself what makes a response confirmed: no alarm of it can be false."""
    seen = [_seen_at(requests, markers)] + [None] * (markers.foreign - 1)
    return _summed(
        "canary",
        pl.Series(seen if markers.foreign else [], dtype=pl.Int64),
        affected,
        watched=markers.records.height,
        clean=None,
        false_alarms=None,
    )


def _seen_at(requests: pl.DataFrame, markers: Markers) -> int | None:
    """Return when the first foreign marker was seen, or else when its answer was asked for."""
    raised = requests.filter(pl.col("handoff").is_in(markers.handoffs.implode()))
    names = [name for name in ("request_id", "prefill_request_id") if name in raised.columns]
    ids = pl.concat([raised[name].cast(pl.String).alias("id") for name in names]).drop_nulls()
    hits = markers.records.filter(pl.col("seen_request_id").is_in(ids.implode()))
    first = hits["seen_at"].min()
    return first if first is not None else raised["received_at"].min()  # type: ignore[return-value]
