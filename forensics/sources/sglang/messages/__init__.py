"""The messages of SGLang's node logs, one file a family."""

from __future__ import annotations

from forensics.sources.sglang.message import Message
from forensics.sources.sglang.messages import (
    batches,
    corruption,
    handoffs,
    pools,
    rejections,
    request_text,
    startup,
    time_stats,
    web,
)

MESSAGES: tuple[Message, ...] = (
    *startup.MESSAGES,
    *pools.MESSAGES,
    *batches.MESSAGES,
    *time_stats.MESSAGES,
    *rejections.MESSAGES,
    *handoffs.MESSAGES,
    *corruption.MESSAGES,
    *request_text.MESSAGES,
    *web.MESSAGES,
)
