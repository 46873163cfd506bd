"""Why answers ended, as engines and gateways say it, to the words of the schema."""

from __future__ import annotations

_WORDS = {
    "stop": ("eos", "end_turn", "stop_sequence", "completed", "complete", "done", "eos_token"),
    "length": ("max_tokens", "max_length", "max_output_tokens"),
    "abort": ("aborted", "cancelled", "canceled", "cancel", "disconnected"),
    "error": ("failed", "failure"),
    "tool_calls": ("tool_call", "tool_use", "function_call"),
    "content_filter": ("content-filter", "safety", "refusal"),
}
_KNOWN = {word: reason for reason, words in _WORDS.items() for word in (reason, *words)}


def reason(text: str | None) -> str | None:
    """Return the schema's word for a reason; any that is not known is ``other``."""
    return None if not text else _KNOWN.get(text.lower(), "other")
