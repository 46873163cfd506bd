"""What prefill times said, as sections of the document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.exposure import stamp
from forensics.timing import alarms, percentiles
from forensics.timing.percentiles import day_of
from forensics.timing.sayings import sentence
from forensics.timing.soonest import CLEAN, Watch, watches
from forensics.verdicts import in_scope


def sections(analysis: Analysis) -> dict[str, Any]:
    """Return the fields of the document that times fill."""
    found = watches(analysis.requests, analysis.capacity.epochs, analysis.markers)
    return {
        "timing_band": _band(analysis),
        "timing_cells": _cells(analysis),
        "timing_alarms": _alarms(analysis),
        "early_warnings": [_warning(watch) for watch in found],
        "early_warnings_clean": CLEAN,
    }


def _warning(watch: Watch) -> doc.EarlyWarning:
    values = asdict(watch) | {"first_at": stamp(watch.first_at), "sentence": sentence(watch)}
    return doc.EarlyWarning(**values)


def _cells(analysis: Analysis) -> list[doc.TimingCell]:
    cells = analysis.timing.grid.select("tokens", "ms", "kind", "requests")
    return [doc.TimingCell(**row) for row in cells.to_dicts()]


def _band(analysis: Analysis) -> list[doc.TimingBand]:
    """Return the band, with how many of the requests there were flagged."""
    counted = analysis.timing.grid.group_by("tokens").agg(
        too_fast=pl.col("fast").sum(), slow=pl.col("slow").sum()
    )
    rows = analysis.timing.band.join(counted, on="tokens", how="left", maintain_order="left")
    return [doc.TimingBand(**row) for row in rows.to_dicts()]


def _alarms(analysis: Analysis) -> list[doc.TimingAlarm]:
    """Return the days and prompt lengths with an alarm in any hour."""
    hours = alarms.hourly(in_scope(analysis.requests, *percentiles.READ))
    days = hours.group_by(day_of(pl.col("hour")).alias("day"), "low", "long_context").agg(
        pl.len().cast(pl.Int64).alias("hours"),
        pl.col("alarm").sum().cast(pl.Int64).alias("alarms"),
        pl.col("p5_ms").filter("alarm").min().alias("lowest_p5_ms"),
        pl.col("usual_ms").first(),
    )
    found = days.filter(pl.col("alarms") > 0).sort("day", "low")
    return [
        doc.TimingAlarm(low_tokens=row.pop("low"), high_tokens=2 * low, **row)
        for row in found.to_dicts()
        for low in [row["low"]]
    ]
