"""One GET with bounds: time, size, no redirect; what went wrong is one line of our own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import aiohttp

LARGEST = 8 << 20
"""Bytes of an answer that are read at the most; a server's own account is far smaller."""


@dataclass(frozen=True)
class Fetched:
    """The body of a 200, or why there is none; never both."""

    data: bytes = b""
    fault: str | None = None
    status: int | None = None


def shown(url: str) -> str:
    """Return an address without what may be a secret in it: user, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


async def fetch(client: aiohttp.ClientSession, url: str, seconds: float) -> Fetched:
    """Return what stands at an address, within ``seconds`` and :data:`LARGEST`."""
    try:
        async with asyncio.timeout(seconds):
            return await _get(client, url)
    except TimeoutError:
        return Fetched(fault=f"no whole answer within {seconds:g} s")
    except aiohttp.InvalidURL:
        return Fetched(fault="no address")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # The text of such an error may hold the address with its secrets.
        return Fetched(fault=f"cannot be reached ({type(error).__name__})")


async def _get(client: aiohttp.ClientSession, url: str) -> Fetched:
    async with client.get(url, allow_redirects=False) as answer:
        if 300 <= answer.status < 400:
            return Fetched(fault="a redirect; it is not followed", status=answer.status)
        if answer.status != 200:
            return Fetched(fault=f"HTTP {answer.status}", status=answer.status)
        data = bytearray()
        async for piece in answer.content.iter_chunked(1 << 16):
            data += piece
            if len(data) > LARGEST:
                return Fetched(fault=f"an answer larger than {LARGEST >> 20} MiB")
        return Fetched(bytes(data), status=200)
