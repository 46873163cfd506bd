"""What each request of a canary run shows, and what the run shows as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from forensics.live.plan import FILL, MEASURE, Step
from forensics.live.reply import Reply


@dataclass(frozen=True)
class Planted:
    """Where a marker was put: which request, of which account."""

    request_id: str | None
    account: str | None
    """None where no request of this run planted it: an earlier run's, or nobody's."""


@dataclass(frozen=True)
class Hit:
    """A marker and the answer in which it turned up; the marker itself is not kept."""

    marker: str
    planted: Planted
    seen_request_id: str | None
    seen_at: str


@dataclass(frozen=True)
class Asked:
    """One request of the run with what came of it."""

    step: Step
    account: str
    reply: Reply
    fits: bool | None
    """Below the limit, at or over it, or too near it to say."""
    control: Hit | None
    """Its own last word, where it came back."""
    hits: tuple[Hit, ...]

    @property
    def measured(self) -> bool:
        """The server answered, and said how many tokens the prompt had."""
        return self.reply.served and self.reply.prompt_tokens is not None

    @property
    def verdict(self) -> str:
        """What this request shows, in a word or two."""
        if self.hits:
            return "foreign marker"
        if self.reply.fault is not None:
            return "no answer"
        if self.step.name == MEASURE:
            return "measured" if self.measured else "no token count"
        if self.fits is not True and self.reply.refused:
            return "refused"
        if self.fits is False:
            served = self.reply.served or self.reply.words
            return "served what cannot fit" if served else "no clear 4xx"
        if not self.reply.served:
            return "not served"
        return "clean" if self.control else "blind"


GOOD = {"clean", "refused"}


@dataclass
class Canary:
    """The run so far."""

    asked: list[Asked] = field(default_factory=list)
    unaimed: str | None = None
    """Why nothing could be asked at the lengths that matter; nothing is known then."""

    @property
    def hits(self) -> list[Hit]:
        """All markers that turned up in foreign answers."""
        return [hit for one in self.asked for hit in one.hits]

    @property
    def seeing(self) -> bool:
        """The positive control: an answer that fits gave its own last word back."""
        return any(one.control and one.fits for one in self.asked if one.step.name != MEASURE)

    @property
    def filled(self) -> bool:
        """Prompts of both accounts were served first: pages are no longer fresh."""
        served = {one.account for one in self.asked if one.step.name == FILL and one.reply.served}
        return len(served) == 2

    @property
    def edges(self) -> list[Asked]:
        """The requests at the lengths that matter."""
        return [one for one in self.asked if one.step.name not in (FILL, MEASURE)]

    @property
    def passed(self) -> bool:
        """Nothing foreign, everything at an edge judged, pages filled, and the control seen."""
        sound = self.seeing and self.filled and not self.hits and bool(self.edges)
        return sound and all(one.verdict in GOOD for one in self.edges)


def sentence(found: Canary) -> str:
    """Return what a run shows."""
    if found.hits:
        answers = sum(1 for one in found.asked if one.hits)
        return f"FAILED: {len(found.hits)} foreign markers in {answers} answers"
    if found.unaimed is not None:
        return f"FAILED: blind: {found.unaimed}"
    if not found.seeing:
        return "FAILED: blind: no answer gave its own marker back, so none could show another's"
    if not found.filled:
        return "FAILED: blind: the prompts that fill the pages were not served for both accounts"
    odd = sorted({one.verdict for one in found.edges} - GOOD)
    if odd:
        return f"FAILED: no foreign marker, but {', '.join(odd)}"
    return f"passed: no foreign marker in {len(found.asked)} answers, and the control was seen"
