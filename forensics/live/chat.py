"""One chat request: what came back in figures, and which markers it held; never its text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp

from forensics.live.marker import Search

LARGEST = 64 << 20
"""Bytes of an answer that are searched at the most."""
_LONGEST_ID = 128


@dataclass(frozen=True)
class Account:
    """One of the two clients: its name in the records, its key."""

    name: str
    key: str

    def __repr__(self) -> str:
        return f"Account({self.name!r})"


@dataclass(frozen=True)
class Reply:
    """What is kept of an answer."""

    at: str
    status: int | None
    request_id: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    markers: frozenset[str] = frozenset()
    fault: str | None = None
    error_frame: bool = False
    """An error was sent inside a stream that had begun well."""

    @property
    def refused(self) -> bool:
        """A clear refusal: a client error with a body."""
        return self.status is not None and 400 <= self.status < 500 and self.fault is None


@dataclass(frozen=True)
class Server:
    """Where to ask, which model, how long to wait (seconds), and how many words to ask for."""

    url: str
    model: str
    seconds: float = 120.0
    wanted: int = 96


async def send(
    client: aiohttp.ClientSession, server: Server, account: Account, prompt: str, *, stream: bool
) -> Reply:
    """Ask once; whatever goes wrong is a reply too."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": server.wanted,
        "temperature": 0,
        "stream": stream,
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    try:
        async with asyncio.timeout(server.seconds):
            return await _send(client, server, account, body, at)
    except TimeoutError:
        return Reply(at, None, fault=f"no whole answer within {server.seconds:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Reply(at, None, fault=f"cannot be reached ({type(error).__name__})")


async def _send(
    client: aiohttp.ClientSession, server: Server, account: Account, body: Any, at: str
) -> Reply:
    headers = {"Authorization": f"Bearer {account.key}"}
    async with client.post(server.url, json=body, headers=headers, allow_redirects=False) as answer:
        figures, search, size = _Figures(), Search(), 0
        raw = Search()
        async for line in _lines(answer):
            size += len(line)
            if size > LARGEST:
                return Reply(at, answer.status, fault=f"an answer over {LARGEST >> 20} MiB")
            raw.feed(line)
            for piece in figures.take(line):
                search.feed(piece)
    fault = "a redirect; it is not followed" if 300 <= answer.status < 400 else None
    return Reply(
        at,
        answer.status,
        figures.request_id,
        figures.prompt_tokens,
        figures.completion_tokens,
        frozenset(search.found | raw.found),
        fault,
        figures.error_frame and answer.status == 200,
    )


async def _lines(answer: aiohttp.ClientResponse) -> Any:
    held = b""
    async for piece in answer.content.iter_chunked(1 << 16):
        *whole, held = (held + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    yield held.decode("utf-8", "replace")


class _Figures:
    """Takes ids and counts out of bodies and frames, and hands texts on to be searched."""

    def __init__(self) -> None:
        self.request_id: str | None = None
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.error_frame = False

    def take(self, line: str) -> Iterator[str]:
        """Yield the texts of one line of a body."""
        try:
            body = json.loads(line.removeprefix("data:"))
        except (ValueError, RecursionError):
            return
        if not isinstance(body, dict):
            return
        rid = body.get("id")
        if (
            isinstance(rid, str)
            and 0 < len(rid) <= _LONGEST_ID
            and not any(c.isspace() for c in rid)
        ):
            self.request_id = rid
        self.error_frame |= body.get("object") == "error" or "error" in body
        usage = body.get("usage")
        if isinstance(usage, dict):
            self.prompt_tokens = _count(usage.get("prompt_tokens"), self.prompt_tokens)
            self.completion_tokens = _count(usage.get("completion_tokens"), self.completion_tokens)
        choices = body.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            yield from _texts(choice)


def _texts(choice: Any) -> Iterator[str]:
    if not isinstance(choice, dict):
        return
    for part in (choice.get("delta"), choice.get("message"), choice):
        if isinstance(part, dict):
            for name in ("content", "text", "reasoning_content"):
                if isinstance(part.get(name), str):
                    yield part[name]


def _count(value: Any, before: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else before
