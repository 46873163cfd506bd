"""Which engine to ask, and at which addresses; what is shown of one holds no secret.

A secret can stand in any part of an address but the host: user, path, query. None of these is
ever shown or written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from forensics.errors import UsageError
from forensics.shown import without_keys

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)
_OF_ONE_SERVER = re.compile(r"/(?:(?:get_)?server_info|metrics)/*$")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Target:
    """One engine to ask: its name in the logs, and its address."""

    name: str
    url: SplitResult

    @classmethod
    def of(cls, text: str) -> Target:
        """Read ``URL`` or ``NAME=URL``; without a name, host and port are it.

        Raises:
            UsageError: it is no address.
        """
        named = _NAMED.fullmatch(text)
        name, url = named.groups() if named else ("", text)
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            shown = _host(parts)
        except ValueError:
            raise UsageError("an engine is URL or NAME=URL; one of them is no address") from None
        return cls(without_keys(name) or shown, parts)

    @property
    def shown(self) -> str:
        """Scheme, host and port: all of an address that cannot be a secret."""
        return urlunsplit((self.url.scheme, _host(self.url), "", "", ""))

    @property
    def server(self) -> tuple[str, str]:
        """What is equal for two addresses of one server."""
        port = self.url.port or _PORTS.get(self.url.scheme)
        path = _OF_ONE_SERVER.sub("", self.url.path).rstrip("/")
        return f"{self.url.hostname}:{port}{path}", self.url.query

    @property
    def path(self) -> str:
        """The path that was stated; empty where the base address was."""
        return self.url.path.rstrip("/")

    @property
    def has_user(self) -> bool:
        """Whether the address brings a user of its own."""
        return "@" in self.url.netloc

    def at(self, path: str) -> str:
        """Return the address of another path of the same server."""
        return urlunsplit(self.url._replace(path=path, fragment=""))


def _host(parts: SplitResult) -> str:
    """Return host and port, lower case as they are compared."""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port is None else f"{host}:{parts.port}"


def distinct(targets: Sequence[Target]) -> None:
    """See that each engine is asked once, under a name of its own.

    Raises:
        UsageError: two have one name, so that one would stand for the other in record and
            report; or one is named twice, so that another was probably meant.
    """
    names: dict[str, Target] = {}
    servers: dict[tuple[str, str], Target] = {}
    for target in targets:
        twin = servers.setdefault(target.server, target)
        if twin is not target:
            raise UsageError(f"{target.shown} is named twice; which engine was the other to be?")
        twin = names.setdefault(target.name, target)
        if twin is not target:
            raise UsageError(f"two engines are called {target.name}; state NAME=URL for each")
