"""The year of a time that was written without one, as ``MM-DD HH:MM:SS``.

Readers keep such a time in a year that no log is of. A moment is taken to be in the year that
brings it into the stretch of time that the case is about, or nearest to it: the window, else
what the timeline names, else when most records of all files with a date were written. Where
two years fit, or nothing tells one, the time is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics.incident import Incident, micros

UNTOLD = 4
"""The year in which times without one are kept: a leap year, it has all days."""
_FIRST, _LAST = -62_040_988_800_000_000, -62_009_366_400_000_001
_EARLIEST, _LATEST = 1_420_070_400_000_000, 4_102_444_800_000_000
"""2015 to 2099, microseconds: what was logged at another time has a clock that was not set."""
_FORMAT = "%Y-%m-%d %H:%M:%S%.6f"
_HALF_A_YEAR = 184 * 86_400_000_000
"""No day is further from the nearest of its kind, but for the one of leap years."""
_EDGE = 0.05
"""Share of the dated records that may lie on either side: a few wrong dates decide nothing."""


@dataclass(frozen=True)
class Span:
    """The stretch of time that a case is about, microseconds of UTC, both ends included."""

    first: int
    last: int

    @classmethod
    def of(cls, incident: Incident) -> Span | None:
        """Return the window, else the stretch that the timeline names, else None."""
        if incident.window_us is not None:
            return cls(*incident.window_us)
        line = incident.timeline
        dates = (line.introduced, line.detected, line.model_off, line.fixed, line.restored)
        known = [micros(date) for date in dates if date is not None]
        return cls(min(known), max(known)) if known else None

    @property
    def tells(self) -> bool:
        """Whether a moment within it can be in one year alone."""
        return self.last - self.first < 365 * 86_400_000_000

    @property
    def years(self) -> range:
        """The years that a moment near the stretch can be in."""
        year = 31_556_952_000_000
        return range(1970 + self.first // year - 1, 1970 + self.last // year + 3)

    def distance(self, moment: pl.Expr) -> pl.Expr:
        """Return how far a moment is from the stretch; 0 within it, null where there is none."""
        return pl.max_horizontal(self.first - moment, moment - self.last).clip(lower_bound=0)


def is_untold(name: str) -> pl.Expr:
    """Say whether microseconds are a time whose year is not told yet."""
    return pl.col(name).is_between(_FIRST, _LAST).fill_null(value=False)


def told(frame: pl.DataFrame, columns: Sequence[str], span: Span | None) -> pl.DataFrame:
    """Return the rows with the year of each time, null where it cannot be told."""
    for name in columns:
        if name in frame.columns and frame.select(is_untold(name).any()).item():
            moment = pl.lit(None, dtype=pl.Int64) if span is None else nearest(pl.col(name), span)
            known = pl.when(is_untold(name)).then(moment).otherwise(name)
            frame = frame.with_columns(known.alias(name))
    return frame


def nearest(untold: pl.Expr, span: Span) -> pl.Expr:
    """Return microseconds in the year that brings them nearest; null where two years fit."""
    text = untold.cast(pl.Datetime("us")).dt.to_string("-%m-%d %H:%M:%S%.6f")
    moments = [_in_year(text, year) for year in span.years]
    distances = [span.distance(moment) for moment in moments]
    least = pl.min_horizontal(distances)
    found = pl.coalesce(
        pl.when(far == least).then(moment) for far, moment in zip(distances, moments, strict=True)
    )
    inside = pl.sum_horizontal((far == 0).cast(pl.Int64) for far in distances)
    return pl.when((inside < 2) & (least <= _HALF_A_YEAR)).then(found)


def _in_year(text: pl.Expr, year: int) -> pl.Expr:
    dated = pl.concat_str(pl.lit(f"{year:04}"), text)
    return dated.str.to_datetime(_FORMAT, time_unit="us", strict=False).to_physical()


def of_records(
    parts: Sequence[Path], frames: Sequence[pl.DataFrame], incident: Incident
) -> Span | None:
    """Return the stretch of time of a case; None where nothing tells it, or all times are dated.

    Args:
        parts: observations, by ``received_at``.
        frames: facts of capacity, by ``effective_at``.
        incident: for what it states.
    """
    stated = Span.of(incident)
    if stated is not None:
        return stated
    found = [_times(frame.lazy(), "effective_at") for frame in frames]
    found += [_times(pl.scan_parquet(part), "received_at") for part in sorted(parts)]
    times = pl.concat([pl.Series("at", [], pl.Int64), *found])
    if not times.is_between(_FIRST, _LAST).any():
        return None
    dated = times.filter(times.is_between(_EARLIEST, _LATEST))
    first, last = dated.quantile(_EDGE, "nearest"), dated.quantile(1 - _EDGE, "nearest")
    return None if first is None or last is None else Span(int(first), int(last))


def _times(frame: pl.LazyFrame, name: str) -> pl.Series:
    if name not in frame.collect_schema().names():
        return pl.Series("at", [], pl.Int64)
    known = frame.select(pl.col(name).cast(pl.Int64).drop_nulls().alias("at"))
    return known.collect().to_series()
