"""How long a source is kept unless somebody set it otherwise: documented defaults, nothing more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """A default of retention; ``days`` where it is one of time, ``short`` where it is soon gone."""

    sentence: str
    short: bool
    days: int | None = None


STDOUT = Kept(
    "container output: by default the kubelet keeps 5 files of 10 MiB of a container, and none "
    "once its pod is gone; journald keeps up to 10 % of its file system, 4 GB at most",
    short=True,
)
PROMETHEUS = Kept("Prometheus: by default it keeps 15 days", short=True, days=15)
RUNNING = Kept(
    "running engine: known only while that engine runs: gone with its restart", short=True
)
ROTATED = Kept("files: rotated by the hour; how long the files stay is up to the site", short=False)
SITE = Kept("elsewhere: how long it is kept is up to the site", short=False)
BY_HAND = Kept("by hand: nothing is lost by waiting", short=False)
