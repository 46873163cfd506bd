"""What the gateway answers itself, and what it notes about requests that went on."""

from __future__ import annotations

from forensics.lab.clock import MILLISECOND, Micros
from forensics.lab.config import LabConfig
from forensics.lab.records import GatewayEntry, Handoff, Intent


def refusal(config: LabConfig, intent: Intent) -> GatewayEntry | None:
    """Return the gateway's own refusal of `intent`, or None when it passes it on."""
    if config.outage and config.outage[0] <= intent.arrived_at < config.outage[1]:
        return _refused(intent, 503, "other")
    if intent.fate == "rate_limited":
        return _refused(intent, 429, "capacity")
    if intent.fate == "over_context":
        return _refused(intent, 400, "context_exceeded", intent.prompt_tokens)
    return None


def entry(handoff: Handoff, finished_at: Micros) -> GatewayEntry:
    """Return the gateway's line about a request whose last hand-off has ended."""
    status = handoff.http_status if handoff.http_status is not None else 499
    return GatewayEntry(
        intent=handoff.intent,
        finished_at=finished_at,
        http_status=status,
        prompt_tokens=handoff.intent.prompt_tokens,
        completion_tokens=handoff.completion_tokens,
        finish_reason=handoff.finish_reason,
        stream_error=handoff.stream_error,
        rejection_code="input_too_long" if status == 400 else None,
    )


def _refused(intent: Intent, status: int, code: str, prompt: int | None = None) -> GatewayEntry:
    return GatewayEntry(
        intent=intent,
        finished_at=intent.arrived_at + (1 + intent.seed % 4) * MILLISECOND,
        http_status=status,
        prompt_tokens=prompt,
        completion_tokens=0,
        finish_reason=None,
        rejection_code=code,
    )
