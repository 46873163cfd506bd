"""What a run is and what it leaves behind: plans, hand-offs, gateway entries, probes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from forensics.lab.clock import Micros
from forensics.lab.config import EngineSettings, LabConfig, Role

Fate = Literal["serve", "cut", "stream_error", "abort", "over_context", "rate_limited"]
"""What client and gateway do: `cut` leaves after some tokens, `abort` before the first."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One planned client request; `seed` drives its network delays, identifiers and route."""

    request_id: str
    tenant_id: str
    session: int
    arrived_at: Micros
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    fate: Fate
    failures: int
    """Hand-offs that the network breaks before one goes through."""
    seed: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """Pool and configuration of one engine from a start to the next."""

    effective_at: Micros
    pool_tokens: int
    settings: EngineSettings
    engine_version: str
    hands_over_rejected: bool
    """The faulty path: a rejected prompt goes on as a one-token placeholder."""

    def input_limit(self, context_tokens: int) -> int:
        """Return the smallest prompt, in tokens, that this engine rejects (SGLang to 0.5.23)."""
        return min(context_tokens, self.pool_tokens) - 1 - 5


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """One server and its epochs; every rank has a pool of the epoch's size."""

    name: str
    role: Role
    ranks: int
    epochs: tuple[Epoch, ...]

    def at(self, instant: Micros) -> Epoch:
        """Return the epoch in force at `instant`."""
        return max((e for e in self.epochs if e.effective_at <= instant), key=_effective_at)


def _effective_at(epoch: Epoch) -> Micros:
    return epoch.effective_at


@dataclass(frozen=True, slots=True)
class Stale:
    """Pages that were read and that an earlier hand-off had written."""

    request_id: str
    tenant_id: str
    pages: int


@dataclass(slots=True)
class Handoff:
    """One transfer id under a request: what prefill and decode did, and the truth about it."""

    number: int
    intent: Intent
    attempt: int
    transfer_id: int
    prefill_id: str
    prefill_node: str
    prefill_rank: int
    decode_node: str
    decode_rank: int
    prefill_received_at: Micros = 0
    decode_received_at: Micros = 0
    input_limit: int = 0
    prefill_prompt_tokens: int | None = None
    cached_tokens: int = 0
    prefill_tokens: int | None = None
    forward: Micros | None = None
    queued: Micros = 0
    transfer: Micros = 0
    transferred_at: Micros | None = None
    transferred_pages: int = 0
    transfer_status: str = "aborted"
    prefill_rejected: bool = False
    placeholder: bool = False
    decode_rejected: bool = False
    reserved_pages: int | None = None
    reserved_at: Micros | None = None
    released_at: Micros | None = None
    first_token_at: Micros | None = None
    step: Micros = 0
    """Time of one decode step; each writes one row, and a page more every `page` rows."""
    finished_at: Micros = 0
    completion_tokens: int = 0
    finish_reason: str = "error"
    http_status: int | None = None
    stream_error: bool = False
    stale: tuple[Stale, ...] = ()
    unwritten_pages: int = 0
    """Pages read that nobody had written since the start."""
    prefill_tail: Stale | None = None
    """Who left rows in the rest of the placeholder's page on the prefill node (0 pages)."""
    held: list[tuple[int, Micros]] = field(default_factory=list)
    """(page, since) of every decode page, when the run keeps pages."""

    @property
    def delivered(self) -> bool:
        """Tokens left for the client."""
        return self.completion_tokens > 0

    @property
    def over_limit(self) -> bool:
        """The prompt was over the prefill node's limit at that time."""
        return self.intent.prompt_tokens >= self.input_limit

    @property
    def short(self) -> bool:
        """Fewer pages arrived than decode had reserved."""
        return self.reserved_pages is not None and self.transferred_pages < self.reserved_pages

    @property
    def affected(self) -> bool:
        """Decode read pages that this request had not written, and the answer left."""
        return self.delivered and self.short


@dataclass(frozen=True, slots=True)
class GatewayEntry:
    """The gateway's line about one request."""

    intent: Intent
    finished_at: Micros
    http_status: int
    prompt_tokens: int | None
    completion_tokens: int
    finish_reason: str | None
    stream_error: bool = False
    rejection_code: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A health check or warm-up on one engine: one page, no transfer, no tenant."""

    probe_id: str
    transfer_id: int
    node: str
    rank: int
    role: Role
    prompt_tokens: int
    received_at: Micros
    released_at: Micros


@dataclass(frozen=True, slots=True)
class LabRun:
    """Everything a run recorded, in order of time."""

    config: LabConfig
    nodes: tuple[NodeHistory, ...]
    gateway: tuple[GatewayEntry, ...]
    handoffs: tuple[Handoff, ...]
    probes: tuple[Probe, ...]

    @property
    def affected(self) -> tuple[Handoff, ...]:
        """Hand-offs whose delivered answer was computed over pages it had not written."""
        return tuple(h for h in self.handoffs if h.affected)
