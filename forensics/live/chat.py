"""One chat request, sent and read within bounds of time and size."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from forensics.live.fetch import LARGEST, packed
from forensics.live.reply import Reply, Taking, stamped

_JSON = "application/json"


@dataclass(frozen=True)
class Account:
    """One of the two clients: its name in the records, its key."""

    name: str
    key: str = field(repr=False)


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
    """Ask once; whatever goes wrong is a reply too, with the markers that came before."""
    taking = Taking(stamped())
    try:
        async with asyncio.timeout(server.seconds):
            await _ask(client, server, account, _body(server, prompt, stream=stream), taking)
    except TimeoutError:
        taking.fault = f"no whole answer within {server.seconds:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        taking.fault = f"cannot be reached ({type(error).__name__})"
    return taking.reply()


def _body(server: Server, prompt: str, *, stream: bool) -> dict[str, Any]:
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": server.wanted,
        "temperature": 0,
        "stream": stream,
    }
    return {**body, "stream_options": {"include_usage": True}} if stream else body


async def _ask(
    client: aiohttp.ClientSession, server: Server, account: Account, body: Any, taking: Taking
) -> None:
    headers = {"Authorization": f"Bearer {account.key}"}
    async with client.post(server.url, json=body, headers=headers, allow_redirects=False) as answer:
        taking.status = answer.status
        if packed(answer):
            taking.fault = "a compressed answer; none was asked for"
            return
        if 300 <= answer.status < 400:
            taking.fault = "a redirect; it is not followed"
        # By what it is not: a server that streams does not always name the type.
        streamed = body["stream"] and answer.status == 200 and answer.content_type != _JSON
        await (_take_frames if streamed else _take_whole)(_pieces(answer, taking), taking)


async def _pieces(answer: aiohttp.ClientResponse, taking: Taking) -> AsyncIterator[bytes]:
    """Yield the body up to :data:`LARGEST`, searched as it comes."""
    decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 0
    async for piece in answer.content.iter_chunked(1 << 16):
        taking.raw(decoder.decode(piece))
        size += len(piece)
        if size > LARGEST:
            taking.fault = f"an answer larger than {LARGEST >> 20} MiB"
            return
        yield piece


async def _take_whole(pieces: AsyncIterator[bytes], taking: Taking) -> None:
    taking.take(b"".join([piece async for piece in pieces]))


async def _take_frames(pieces: AsyncIterator[bytes], taking: Taking) -> None:
    parts: list[bytes] = []
    async for piece in pieces:
        *ended, begun = piece.split(b"\n")
        for line in ended:
            taking.take(b"".join([*parts, line]).removeprefix(b"data:"))
            parts = []
        parts.append(begun)
    taking.take(b"".join(parts).removeprefix(b"data:"))
