"""The messages of vLLM's log, one file a family."""

from __future__ import annotations

from forensics.sources.vllm.message import Message
from forensics.sources.vllm.messages import (
    dumps,
    expired,
    lmcache,
    pools,
    rejections,
    requests,
    startup,
    statistics,
    transfers,
    web,
)

MESSAGES: tuple[Message, ...] = (
    *startup.MESSAGES,
    *pools.MESSAGES,
    *requests.MESSAGES,
    *rejections.MESSAGES,
    *expired.MESSAGES,
    *transfers.MESSAGES,
    *lmcache.MESSAGES,
    *dumps.MESSAGES,
    *statistics.MESSAGES,
    *web.MESSAGES,
)
