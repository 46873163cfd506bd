"""The year of a time that is written without one: the case's window says which it is.

The engine prints month, day and clock. A moment is taken to be in the year that brings it
into the window, or nearest to it. Without a window, or where two years fit, it cannot be told.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.incident import Incident, micros

_FORMAT = "%Y-%m-%d %H:%M:%S"
MONTH_DAY = r"[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"


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
    def years(self) -> range:
        """The years that a moment near the stretch can be in."""
        year = 31_556_952_000_000
        return range(1970 + self.first // year - 1, 1970 + self.last // year + 3)

    def distance(self, moment: pl.Expr) -> pl.Expr:
        """Return how far a moment is from the stretch; 0 within it, null where there is none."""
        return pl.max_horizontal(self.first - moment, moment - self.last).clip(lower_bound=0)


def local(stamp: pl.Expr, span: Span | None) -> pl.Expr:
    """Return the microseconds of ``MM-DD HH:MM:SS`` on the clock that wrote it.

    Null where the span does not decide the year, or no year has that day.
    """
    if span is None:
        return pl.lit(None, dtype=pl.Int64)
    moments = [_in_year(stamp, year) for year in span.years]
    distances = [span.distance(moment) for moment in moments]
    nearest = pl.min_horizontal(distances)
    found = pl.coalesce(
        pl.when(far == nearest).then(moment) for far, moment in zip(distances, moments, strict=True)
    )
    inside = pl.sum_horizontal((far == 0).cast(pl.Int64) for far in distances)
    return pl.when(inside < 2).then(found)


def _in_year(stamp: pl.Expr, year: int) -> pl.Expr:
    text = pl.concat_str(pl.lit(f"{year:04}-"), stamp)
    return text.str.to_datetime(_FORMAT, time_unit="us", strict=False).to_physical()
