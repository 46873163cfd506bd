"""What a watch is asked for, and what it has seen and found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """What a watch was asked for.

    Attributes:
        settle: seconds without a further record after which a request is judged.
        keep: seconds for which records are held, for those of other hops to come.
        pause: seconds between two looks.
        once: read what is there and end.
        stop_at: the tier from which a finding ends the watch.
    """

    settle: float = 10.0
    keep: float = 300.0
    pause: float = 1.0
    once: bool = False
    stop_at: str | None = None


@dataclass
class Counts:
    """What a watch has seen and found, since it was started."""

    records: int = 0
    unreadable: int = 0
    again: int = 0
    """Findings of this run that the output held already, so that they were not told again."""
    tiers: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    lost: Counter[bool] = field(default_factory=Counter)
    """By whether it is certain."""
    lost_bytes: int = 0
    last_record: float = 0.0
    recognised: bool = False
    """A log was in a known format, in this run or one before it."""

    @property
    def nothing_read(self) -> bool:
        """Say whether there was something to read, and none of it was a log."""
        return bool(self.unreadable) and not self.recognised
