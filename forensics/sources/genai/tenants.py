"""Which attribute of a span names the tenant."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from forensics.sources.genai.conventions import METADATA, TENANTS
from forensics.sources.otlp import Span

_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Tenants:
    """Looks where the incident says, else where tenants are usually found.

    Args:
        stated: ``[logs] tenant_from``: names of attributes of a span or of its process, or
            ``metadata.<key>`` of the JSON text in ``metadata``.
    """

    def __init__(self, stated: tuple[str, ...]) -> None:
        self._keys = stated or TENANTS
        inner = any(key.startswith(f"{METADATA}.") for key in self._keys)
        self.wanted = frozenset((*self._keys, *([METADATA] if inner else [])))
        """Attributes that have to be decoded for it."""

    def of(self, span: Span) -> str | None:
        """Return the first name that is there."""
        return next(self._found(span), None)

    def _found(self, span: Span) -> Iterator[str]:
        for key in self._keys:
            for attributes in (span.attributes, span.resource):
                value = attributes.get(key)
                if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                    yield str(value)
            group, _, name = key.partition(".")
            if group == METADATA and (value := _inside(span.text(METADATA), name)):
                yield value


def _inside(text: str | None, key: str) -> str | None:
    """Return one text of a JSON object that is itself a text."""
    if text is None or not text.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text, type=dict[str, msgspec.Raw]).get(key)
        return None if value is None else msgspec.json.decode(value, type=str)
    except _FAULTS:
        return None
