"""Which settings differ between two epochs of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forensics.declared import COMPARED
from forensics.fields import parted


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield name, old and new text of each setting that differs."""
    for name in COMPARED:
        # What one of them does not say did not change.
        if after[name] is not None and before.get(name) not in (None, after[name]):
            yield name, str(before[name]), str(after[name])
    old, new = (parted(one.get("config")) for one in (before, after))
    for key in sorted(old | new if old and new else ()):
        if old.get(key) != new.get(key):
            yield key, old.get(key), new.get(key)
