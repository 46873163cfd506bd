"""The profiles that come with the package, one TOML file each."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from forensics.errors import IncidentError
from forensics.sources.profiles.check import check
from forensics.sources.profiles.shape import Profile


@cache
def profiles() -> tuple[Profile, ...]:
    """Return them, those that are told by most keys first: others may be told by some of these."""
    folder = files(__package__)
    texts = [item.read_text("utf-8") for item in folder.iterdir() if item.name.endswith(".toml")]
    found = [checked(tomllib.loads(text)) for text in texts]
    return tuple(sorted(found, key=lambda profile: (-len(profile.told_by), profile.name)))


def checked(document: dict[str, Any]) -> Profile:
    """Return a profile from the tables of its file.

    Raises:
        IncidentError: a key or value cannot be right; the message names it.
    """
    try:
        return check(msgspec.convert(document, Profile))
    except msgspec.ValidationError as error:
        raise IncidentError(f"profile {document.get('name', '')!r}: {error}") from None
