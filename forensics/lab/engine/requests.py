"""What comes in and what goes out."""

from __future__ import annotations

from dataclasses import dataclass, field

from forensics.lab.engine.words import markers_in


@dataclass(frozen=True)
class Ask:
    """One request of a client: its account, its words, how many it wants back."""

    tenant: str
    words: tuple[str, ...]
    wanted: int = 64
    request_id: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the client gets: the words that left, and where ``error`` is set why no more did."""

    request_id: str
    status: int
    prompt_tokens: int
    words: tuple[str, ...] = ()
    error: str | None = None
    finish_reason: str = "stop"


@dataclass
class Served:
    """The truth about one answer: which markers it held that its own prompt did not."""

    request_id: str
    transfer_id: int
    tenant: str
    prompt_tokens: int
    foreign: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, ask: Ask, answer: Answer, room: int) -> Served:
        """Compare the words that left with the words that came in."""
        foreign = frozenset(markers_in(answer.words)) - frozenset(markers_in(ask.words))
        return cls(answer.request_id, room, ask.tenant, answer.prompt_tokens, foreign)
