"""A watch from its start to its end, with its gauges."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forensics.errors import Exit, UsageError
from forensics.incident import Incident
from forensics.live import gauges
from forensics.live.watch.asked import Asked, Counts
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch
from forensics.schema import AFFECTED_TIERS
from forensics.scratch import scratch_folder


@dataclass(frozen=True)
class Places:
    """Where a watch writes: findings, its state, gauges; None is nowhere, or standard output."""

    out: Path | None = None
    state: Path | None = None
    textfile: Path | None = None


def watch(
    logs: Sequence[str],
    incident: Incident,
    places: Places,
    asked: Asked,
    told: Callable[[Counts], None] = lambda _: None,
) -> tuple[Counts, Exit]:
    """Follow logs until a finding of the tier asked for, the end (``once``), or a signal.

    Args:
        logs: files, folders, globs or ``-``.
        incident: what is asked.
        places: where it writes.
        asked: how it works.
        told: called after each look.

    Returns:
        What was seen and found; :attr:`Exit.LIVE_FAILED` where the tier was reached,
        :attr:`Exit.INTERRUPTED` after a signal.

    Raises:
        NoInputError: a log that was named does not exist.
        UsageError: the state file holds no state, or a place cannot be written to.
    """
    for place in (places.out, places.state, places.textfile):
        if place is not None:
            _ready(place)
    with scratch_folder() as folder:
        but = [places.textfile] if places.textfile is not None else []
        seen = Watch(logs, incident, folder, Output(places.out, ()), places.state, asked, but)
        try:
            code = _follow(seen, places, asked, told)
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        finally:
            seen.close()
    return seen.counts, code


def _ready(place: Path) -> None:
    """Make the folder that a file is to lie in.

    Raises:
        UsageError: it cannot be written to, or there is a folder in place of the file.
    """
    if place.is_dir():
        raise UsageError(f"{place}: a folder; name a file")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place.parent}: cannot be written ({error.strerror})") from None
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise UsageError(f"{place}: cannot be written")


def _follow(seen: Watch, places: Places, asked: Asked, told: Callable[[Counts], None]) -> Exit:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    while True:
        seen.step(last=asked.once)
        told(seen.counts)
        if places.textfile is not None:
            gauges.write(places.textfile, metrics(seen.counts))
        if seen.is_over:
            seen.end()
            return Exit.LIVE_FAILED
        if asked.once:
            return Exit.COMPLETE
        time.sleep(asked.pause)


def metrics(counts: Counts) -> list[gauges.Metric]:
    """Return what a watch has counted, for the text file."""
    tiers = {f'{{tier="{tier}"}}': counts.tiers[tier] for tier in AFFECTED_TIERS}
    lost = {f'{{certain="{sure}"}}': counts.lost[sure == "true"] for sure in ("true", "false")}
    return [
        gauges.Metric(
            "forensics_watch_findings_total", "counter", "Requests found since the start", tiers
        ),
        gauges.Metric(
            "forensics_watch_records_total",
            "counter",
            "Records read since the start",
            {"": counts.records},
        ),
        gauges.Metric(
            "forensics_watch_unreadable_total",
            "counter",
            "Records that could not be read since the start",
            {"": counts.unreadable},
        ),
        gauges.Metric(
            "forensics_watch_lost_total",
            "counter",
            "Times that records of a log were, or may have been, lost since the start",
            lost,
        ),
        gauges.Metric(
            "forensics_watch_lost_bytes_total",
            "counter",
            "Bytes that were seen of logs and are certainly lost since the start",
            {"": counts.lost_bytes},
        ),
        gauges.Metric(
            "forensics_watch_last_record_timestamp_seconds",
            "gauge",
            "When the last record was read",
            {"": int(counts.last_record)},
        ),
        gauges.Metric(
            "forensics_watch_last_look_timestamp_seconds",
            "gauge",
            "When the logs were last looked at",
            {"": int(time.time())},
        ),
    ]
