"""Coverage for the document: reach, holes, cliffs and the heat map."""

from __future__ import annotations

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.coverage import heat as picture
from forensics.coverage.cliffs import cliffs
from forensics.coverage.proved import with_proved
from forensics.exposure import stamp


def reach(analysis: Analysis) -> list[doc.HopReach]:
    """Return one row per hop with records: the share that it holds, and what it lost."""
    lost = (
        _lost(analysis)
        .group_by("hop")
        .agg(pl.len().cast(pl.Int64), pl.col("undecided").sum().cast(pl.Int64))
    )
    counts = {hop: (n, unknown) for hop, n, unknown in lost.iter_rows()}
    return [
        doc.HopReach(hop, round(100 * share, 1), kept, *counts.get(hop, (0, 0)))
        for hop, share, kept in analysis.holes.shares.select("hop", "share", "kept").iter_rows()
    ]


def holes(analysis: Analysis) -> list[doc.Hole]:
    """Return one row per hop and hour that lacks a request."""
    found = (
        _lost(analysis)
        .group_by("hop", "hour")
        .agg(pl.len().cast(pl.Int64), pl.col("undecided").sum().cast(pl.Int64))
        .sort("hop", "hour")
    )
    return [doc.Hole(hop, stamp(hour) or "", n, u) for hop, hour, n, u in found.iter_rows()]


def ends(analysis: Analysis) -> list[doc.Cliff]:
    """Return where logs begin late or end early."""
    found = cliffs(analysis.coverage.nodes, analysis.coverage.hours)
    return [
        doc.Cliff(node, hop, side, stamp(at), hours, beyond)
        for node, hop, side, at, hours, beyond in found.iter_rows()
    ]


def counters(analysis: Analysis) -> list[doc.Counted]:
    """Return what servers counted between their scrapes, beside the records of their nodes."""
    return [
        doc.Counted(node, stamp(first), stamp(last), *counts)
        for node, first, last, *counts in analysis.counted.iter_rows()
    ]


def _lost(analysis: Analysis) -> pl.DataFrame:
    unknown = analysis.requests.filter(pl.col("tier") == "not_assessable")["handoff"]
    return analysis.holes.lacking.with_columns(undecided=pl.col("handoff").is_in(unknown.implode()))


def heat(analysis: Analysis) -> doc.Heat:
    """Return the heat map of all hours, and of those that others prove."""
    return picture.heat(with_proved(analysis.coverage.hours, analysis.holes.lacking))
