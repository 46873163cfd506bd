"""Sizes, the fault, each fix alone, and what the link between the sides does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LinkFault(StrEnum):
    """What befalls the pages of a hand-off on their way."""

    NONE = "none"
    DROP = "drop"
    """One page never arrives; the sender does not notice."""
    DUPLICATE = "duplicate"
    """Every page is sent twice."""
    TRUNCATE = "truncate"
    """The second half never arrives; the sender does not notice."""
    DELAY = "delay"
    """The pages arrive after decode has given up; until then nobody gets those reserved."""
    KILL_PREFILL = "kill-prefill"
    """Prefill dies when half of the pages are sent."""
    KILL_DECODE = "kill-decode"
    """Decode dies when half of the pages have arrived, and starts anew."""
    CLIENT_CANCEL = "client-cancel"
    """The client leaves when half of the pages have arrived."""


@dataclass(frozen=True)
class EngineOptions:
    """How the engine is built. Sizes in tokens, times in seconds.

    ``fault`` alone replaces a rejected prompt by one token and hands it over as if it were
    complete; each of the fixes below is enough to keep foreign rows from the client.
    """

    context_tokens: int = 4_096
    prefill_pool_tokens: int = 2_560
    decode_pool_tokens: int = 8_192
    page_tokens: int = 64
    fault: bool = True
    edge_reject: bool = False
    """Fix: the router refuses what prefill could not hold."""
    retire_rejected: bool = False
    """Fix: a rejected request ends at admission, with its own error."""
    check_length: bool = False
    """Fix: decode compares the pages that arrived with those it reserved."""
    clear_pages: bool = False
    """Fix: pages are cleared when they are given back."""
    auto_truncate: bool = False
    """Prefill shortens what it cannot hold instead of rejecting it."""
    link_fault: LinkFault = LinkFault.NONE
    link_fault_every: int = 3
    """One in so many hand-offs of more than one page meets the link fault."""
    link_fault_after: int = 0
    """So many of them go well at first, so that the pages are no longer fresh."""
    transfer_timeout: float = 0.5
    step_seconds: float = 0.0005
    engine_version: str = "0.5.19"
    log_transfers: bool = True
    """Write plain records of reserved and arrived pages too, as a patched engine would."""

    @property
    def prefill_limit(self) -> int:
        """The smallest prompt that prefill rejects, in tokens."""
        return min(self.context_tokens, self.prefill_pool_tokens) - 6

    @property
    def decode_limit(self) -> int:
        """The smallest prompt that decode rejects, in tokens."""
        return min(self.context_tokens, self.decode_pool_tokens) - 6
