"""The neighbouring choices of a case: one change each, of what was stated or measured.

A choice is a change of the incident, of the requests before they are judged, or of both. It
touches few rows: those are judged again, as they are and as they would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

import polars as pl
from msgspec import structs

from forensics.clock import ZONE_UNCERTAINTY
from forensics.findings.over_limit import most
from forensics.incident import Incident
from forensics.inputlimit import derived
from forensics.schema import REFUSAL_LIMIT

HOUR, MINUTE = 3_600_000_000, 60_000_000
WINDOW_HOURS = (-1, 1)
CLOCK_MINUTES = (-5, 5)
Kind = Literal["as judged", "threshold", "window", "clock", "join", "scope"]
Change = Callable[[pl.DataFrame], pl.DataFrame]


def _same(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


@dataclass(frozen=True)
class Choice:
    """One neighbouring choice.

    ``touches`` says which requests may come out otherwise; ``change`` alters those;
    ``limits`` says that the limits in force are looked up again, ``moved`` by how much (µs) all
    times of requests are later then.
    """

    kind: Kind
    name: str
    incident: Incident
    touches: pl.Expr
    change: Change = field(default=_same)
    limits: bool = False
    moved: int = 0


def choices(incident: Incident, requests: pl.DataFrame, epochs: pl.DataFrame) -> list[Choice]:
    """Return the neighbouring choices that this case has, in a fixed order.

    Args:
        incident: what was asked.
        requests: as they stood before they were judged.
        epochs: capacity epochs, for pools and limits.
    """
    found = [*_thresholds(incident, epochs), *_window(incident)]
    found += [*_clocks(incident, epochs), *_joins(incident, requests), *_scope(incident, requests)]
    return found


def _thresholds(incident: Incident, epochs: pl.DataFrame) -> Iterator[Choice]:
    """Each pool and limit of a prefill node as the smallest prompt that is over; one more, less."""
    prefill = epochs.filter(pl.col("role").is_null() | (pl.col("role") == "prefill"))
    short = prefill.filter(pl.col("pool_tokens") < pl.col("context_tokens"))
    prefill = short if short.height else prefill
    stated = incident.trigger.threshold_tokens
    named: dict[int, str] = {} if stated is None else {stated + 1: "longer than was stated"}
    for limit in prefill["limit"].drop_nulls():
        named.setdefault(limit, "the input limit in force")
    for limit in prefill.select(derived("pool_tokens")).to_series().drop_nulls():
        named.setdefault(limit, "what follows from pool and window")
    for pool in prefill["pool_tokens"].drop_nulls():
        named.setdefault(pool + 1, "longer than the pool")
    for least, what in sorted(named.items()):
        yield _threshold(incident, least, f"over from {least:,} tokens on: {what}")


def _threshold(incident: Incident, least: int, name: str) -> Choice:
    trigger = structs.replace(incident.trigger, threshold_tokens=least - 1)
    slack = incident.trigger.slack_tokens
    low = pl.min_horizontal(pl.col("limit_low"), pl.lit(least)) - slack
    high = pl.max_horizontal(pl.col("limit_high"), pl.lit(least)) + slack
    unknown = pl.col("limit_low").is_null() | pl.col("limit_unseen")
    between = (low <= most) & (high >= most)
    return Choice(
        "threshold",
        name,
        structs.replace(incident, trigger=trigger),
        between.fill_null(value=False)
        | unknown.fill_null(value=True)
        | pl.col(REFUSAL_LIMIT).is_not_null(),
        limits=True,
    )


def _window(incident: Incident) -> Iterator[Choice]:
    if incident.scope.window is None:
        return
    start, end = incident.scope.window
    for hours in WINDOW_HOURS:
        later = timedelta(hours=hours)
        for edge, window in (("starts", (start + later, end)), ("ends", (start, end + later))):
            way = "later" if hours > 0 else "earlier"
            scope = structs.replace(incident.scope, window=window)
            yield Choice(
                "window",
                f"the window {edge} an hour {way}",
                structs.replace(incident, scope=scope),
                _near_edges(incident, HOUR),
            )
    scope = structs.replace(incident.scope, window=None)
    whole = structs.replace(incident, scope=scope)
    yield Choice("window", "no window: everything read", whole, pl.lit(value=True))


def _near_edges(incident: Incident, margin: int) -> pl.Expr:
    """Say which requests have any time within a margin of an edge of the window, or none."""
    if incident.window_us is None:
        return pl.lit(value=False)
    times = ("received_at", "earliest_at", "reserved_at", "released_at", "finished_at")
    far = margin + ZONE_UNCERTAINTY + _LONG
    near = [(pl.col(name) - edge).abs() <= far for name in times for edge in incident.window_us]
    return (
        pl.any_horizontal([term.fill_null(value=False) for term in near])
        | pl.col("received_at").is_null()
    )


_LONG = 48 * HOUR
"""No request lasts longer; a time within it is near enough to be judged again."""


def _clocks(incident: Incident, epochs: pl.DataFrame) -> Iterator[Choice]:
    """All clocks of the requests against the window and the starts of the engines."""
    starts = epochs["effective_at"].unique().sort().to_list()
    for minutes in CLOCK_MINUTES:
        moved = minutes * MINUTE
        at = pl.col("received_at")
        near = [(at - start).abs() <= abs(moved) for start in starts] or [pl.lit(value=False)]
        near_start = pl.any_horizontal(near).fill_null(value=False)
        way = "later" if minutes > 0 else "earlier"
        yield Choice(
            "clock",
            f"the times of requests {abs(minutes)} min {way}",
            incident,
            _near_edges(incident, abs(moved)) | near_start,
            lambda rows, by=moved: _shifted(rows, by),  # type: ignore[misc]
            limits=True,
            moved=moved,
        )


_TIMES = (
    *("received_at", "earliest_at", "handed_off_at"),
    *("reserved_at", "released_at", "finished_at"),
)


def _shifted(rows: pl.DataFrame, by: int) -> pl.DataFrame:
    return rows.with_columns(pl.col(name) + by for name in _TIMES if name in rows.columns)


def _joins(incident: Incident, requests: pl.DataFrame) -> Iterator[Choice]:
    """Joins by size and moment: believed as if an identifier joined them, or not at all."""
    if not requests["inferred"].any():
        return
    touched = pl.col("inferred")
    yield Choice(
        "join",
        "joins by size and moment believed like those by an identifier",
        incident,
        touched,
        lambda rows: rows.with_columns(inferred=pl.lit(value=False)),
    )
    yield Choice(
        "join",
        "joins by size and moment not believed: what prefill logged is left out",
        incident,
        touched,
        _without_prefill,
    )


def _without_prefill(rows: pl.DataFrame) -> pl.DataFrame:
    lost = (
        *("prefill_prompt_tokens", "prefill_tokens", "cached_tokens", "prefill_ms"),
        *("transferred_pages", "transferred_tokens", "transfer_status", "timing_fast"),
        "prompt_seen",
    )
    names = [name for name in lost if name in rows.columns]
    return rows.with_columns(
        pl.when(~pl.col("inferred")).then(pl.col(name)).alias(name) for name in names
    )


def _scope(incident: Incident, requests: pl.DataFrame) -> Iterator[Choice]:
    if not incident.scope.models:
        return
    every = structs.replace(incident, scope=structs.replace(incident.scope, models=()))
    if "model" in requests.columns:
        yield Choice("scope", "all models in scope", every, pl.col("model").is_not_null())
        yield Choice(
            "scope",
            "requests without a model left out",
            incident,
            pl.col("model").is_null(),
            lambda rows: rows.with_columns(
                model=pl.col("model").fill_null("none"), models_differ=pl.lit(value=False)
            ),
        )
