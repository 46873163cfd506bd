"""Which engine to ask, and at which addresses; what is shown of one holds no secret."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from forensics.errors import UsageError

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)


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
        except ValueError:
            raise UsageError("an engine is URL or NAME=URL; one of them is no address") from None
        return cls(name or parts.netloc.rpartition("@")[2], parts)

    @property
    def shown(self) -> str:
        """The address without what may be a secret in it: user, password and query."""
        host = self.url.netloc.rpartition("@")[2]
        return urlunsplit((self.url.scheme, host, self.url.path, "", ""))

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
