"""One GET with bounds: size, no redirect, no compression; what went wrong is our own line."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

LARGEST = 4 << 20
"""Bytes of an answer that are read at the most; a server's own account is far smaller."""


@dataclass(frozen=True)
class Fetched:
    """The body of a 200, or why there is none; never both."""

    data: bytes = b""
    fault: str | None = None
    status: int | None = None


def session(headers: dict[str, str] | None = None) -> aiohttp.ClientSession:
    """Return a client that asks for plain bytes and never unpacks any: a bomb stays small."""
    plain = {"Accept-Encoding": "identity", **(headers or {})}
    return aiohttp.ClientSession(headers=plain, auto_decompress=False)


def packed(answer: aiohttp.ClientResponse) -> bool:
    """Say whether an answer is compressed, although that was not asked for."""
    return answer.headers.get("Content-Encoding", "identity").strip().lower() != "identity"


async def fetch(client: aiohttp.ClientSession, url: str) -> Fetched:
    """Return what stands at an address, within :data:`LARGEST`; the caller keeps the time."""
    try:
        return await _get(client, url)
    except aiohttp.InvalidURL:
        return Fetched(fault="no address")
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # The text of such an error may hold the address with its secrets.
        return Fetched(fault=f"cannot be reached ({type(error).__name__})")


async def _get(client: aiohttp.ClientSession, url: str) -> Fetched:
    async with client.get(url, allow_redirects=False) as answer:
        if 300 <= answer.status < 400:
            return Fetched(fault="a redirect; it is not followed", status=answer.status)
        if answer.status != 200:
            return Fetched(fault=f"HTTP {answer.status}", status=answer.status)
        if packed(answer):
            return Fetched(fault="a compressed answer; none was asked for", status=200)
        data = bytearray()
        async for piece in answer.content.iter_chunked(1 << 16):
            data += piece
            if len(data) > LARGEST:
                return Fetched(fault=f"an answer larger than {LARGEST >> 20} MiB", status=200)
        return Fetched(bytes(data), status=200)
