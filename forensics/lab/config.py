"""What a laboratory run is made of: the fleet, its restarts, the traffic and the two faults.

The fault has two independent switches, and only both together leak:

* `small_prefill_pool`: the prefill pool holds fewer tokens than the context admits;
* `faulty_rejection`: a rejected prompt is replaced by a one-token placeholder and handed
  to decode as if it were complete, instead of being retired with a 400.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from forensics.lab.clock import HOUR, MINUTE, Micros

Role = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine that move its pool, as it logs them."""

    quantization: str = "fp8"
    kv_cache_dtype: str = "fp8_e4m3"
    tp_size: int = 8
    dp_size: int = 2
    mem_fraction_static: float = 0.75
    cuda_graph_max_bs: int = 256


@dataclass(frozen=True, slots=True)
class Restart:
    """Nodes of one role restart one after the other, with new settings and perhaps a new pool."""

    at: Micros
    role: Role
    settings: EngineSettings
    pool_tokens: int | None = None
    """Pool after the restart, in tokens; None keeps it."""
    nodes: tuple[int, ...] = ()
    """Node numbers from 1; empty means every node of the role."""
    stagger: Micros = 30 * MINUTE


@dataclass(frozen=True, slots=True)
class LongPrompts:
    """How many prompts over the small pool's limit are sent, by what happens to them.

    The plan fixes what clients and network do. Whether a response leaks follows from the
    model, never from the plan.
    """

    min_tokens: int
    max_tokens: int
    served: int
    cut_after_tokens: int = 0
    """Client leaves after some tokens: delivered."""
    stream_errors: int = 0
    """An error frame ends the stream after some tokens: delivered."""
    retried: int = 0
    """One or two transfers fail, then the router's next hand-off is served: delivered."""
    aborted: int = 0
    """Client leaves before the first token."""
    failed: int = 0
    """Every hand-off fails: 503 and no tokens."""
    over_context: int = 0
    """Refused by the gateway with 400, no hand-off."""
    decode_refused: int = 0
    """In the last six tokens of the context: decode refuses them too, with 400."""
    near_limit: int = 0
    """Long but below the limit: served rightly, some from the prefix cache."""
    after_fix: int = 0
    """Long prompts after the pool was raised: served rightly."""


@dataclass(frozen=True, slots=True)
class LabConfig:
    """One seeded run. Times in microseconds UTC, sizes in tokens."""

    seed: int
    start: Micros
    """First engine start."""
    open_at: Micros
    """First traffic."""
    end: Micros
    long: LongPrompts
    requests: int
    """Requests at the gateway, the planned long ones included."""
    model: str = "glm-5.3"
    engine_version: str = "0.5.19"
    tenants: int = 60
    prefill_nodes: int = 4
    decode_nodes: int = 4
    ranks: int = 2
    context_tokens: int = 1_048_576
    page_tokens: int = 64
    small_prefill_pool: bool = True
    faulty_rejection: bool = True
    small_pool_tokens: int = 681_280
    large_pool_tokens: int = 2_040_000
    decode_pool_tokens: int = 1_146_880
    settings: EngineSettings = field(default_factory=EngineSettings)
    restarts: tuple[Restart, ...] = ()
    outage: tuple[Micros, Micros] | None = None
    """The model is off: half-open, every request is answered 503 at the gateway."""
    fix_at: Micros | None = None
    """All nodes restart with the large prefill pool and a rejection path that retires."""
    fixed_settings: EngineSettings = field(default_factory=EngineSettings)
    drain: Micros = 15 * MINUTE
    boot: Micros = 4 * MINUTE
    probe_every: Micros = HOUR
    max_attempts: int = 3
    prompt_median: int = 2_600
    prompt_sigma: float = 1.55
    zone_offset_hours: float = 0.0
    """Offset of the nodes' local time from UTC, for engine text logs."""
    keep_pages: bool = False
    """Keep page numbers of every hand-off in the run, to check the accounting."""

    @property
    def first_pool_tokens(self) -> int:
        """Prefill pool at the start, in tokens."""
        return self.small_pool_tokens if self.small_prefill_pool else self.large_pool_tokens

    @property
    def fault_until(self) -> Micros:
        """End of the time in which planned long prompts arrive."""
        return self.outage[0] - 5 * MINUTE if self.outage else self.end - 10 * MINUTE
