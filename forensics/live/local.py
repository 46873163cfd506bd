"""Whether an address is of this host: others are only asked when told to."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_address(url: str) -> bool:
    """Say whether a text is the address of a web server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_local(url: str) -> bool:
    """Say whether an address is of this host; a name other than ``localhost`` is not."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
