"""What prefill times said: where they lie, alarms, and how soon each watch would have fired."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["leak", "stall", "slow_node", "cache_hit", "other"]
OddKind = Literal[
    "leak",
    "stall",
    "slow_node",
    "cache_hit",
    "other",
    "too fast, in no cluster",
    "slow, in no cluster",
]
WORDS: dict[str, str] = {
    "leak": "over the limit and too fast",
    "stall": "stall",
    "slow_node": "slow node",
    "cache_hit": "cache hit that nobody counted",
    "other": "other",
    "too fast, in no cluster": "too fast, in no cluster",
    "slow, in no cluster": "slow, in no cluster",
}
"""What is said of each kind on a page, where none may promise more than times show."""


class TimingBand(Struct, frozen=True):
    """Requests from ``tokens`` to compute up to the next row's, and where times were expected.

    Between ``least_ms`` and ``most_ms`` lie honest times of any node and any cached tokens.
    """

    tokens: int
    requests: int
    least_ms: float
    most_ms: float
    too_fast: int
    slow: int


class TimingCell(Struct, frozen=True):
    """How many requests lie in a cell of half an octave of tokens and of milliseconds.

    ``kind`` is that of the cluster which flagged requests are in; None for all others.
    """

    tokens: int
    ms: float
    kind: OddKind | None
    requests: int


class TimingCluster(Struct, frozen=True):
    """Requests whose prefill times are out of all expectation and that belong together.

    ``median_ratio`` is the time seen over the time expected.
    """

    cluster: int
    kind: Kind
    requests: int
    first_at: str
    last_at: str
    nodes: list[str]
    median_ratio: float
    reason: str

    @property
    def word(self) -> str:
        """What is said of its kind on a page."""
        return WORDS[self.kind]


class TimingAlarm(Struct, frozen=True):
    """Hours of one day and prompt length in which the 5th percentile was an alarm."""

    day: str
    low_tokens: int
    high_tokens: int
    hours: int
    alarms: int
    lowest_p5_ms: float
    usual_ms: float
    long_context: bool


class EarlyWarning(Struct, frozen=True):
    """When one way to watch would first have fired on these logs.

    ``first_at`` is None where it did not fire, or before the first record; ``before`` counts
    the affected responses that came before, of ``affected`` whose time is known.
    """

    signal: Literal["pool against context", "canary", "p5 alarm", "transfer mismatch"]
    state: Literal["fired", "quiet", "cannot tell"]
    first_at: str | None
    before: int | None
    affected: int
    watched: int
    alarms: int
    clean: int | None
    false_alarms: int | None
    sentence: str

    @property
    def first(self) -> str:
        """When it first fired, or why there is no time to show."""
        if self.state != "fired":
            return "did not fire" if self.state == "quiet" else "not known"
        told = "not known" if self.before is None else "before the first record"
        return self.first_at or told
