"""The manifest as it is read back: only what checking and running again need.

Other keys may be there; a folder of another kind or version lacks some of these.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from forensics.evidence.hashes import Digest
from forensics.objects import place_from
from forensics.sources.files import STDIN
from forensics.sources.overlap import IN_A_SET


class Output(Struct, frozen=True):
    """One file of the folder."""

    name: str
    bytes: int
    sha256: str


class Source(Struct, frozen=True):
    """One input: ``path`` is where it lay, ``sha256`` is empty where it could not be read.

    ``evidence_set`` is the folder of the set that it was read from, under ``key``. ``because``
    says why one that was named was not read.
    """

    name: str
    bytes: int = 0
    sha256: str = ""
    path: str | None = None
    evidence_set: str | None = None
    key: str = ""
    because: str = ""
    format: str | None = None
    read: int | None = None
    kept: int = 0
    ignored: dict[str, int] = {}
    duplicate: int = 0
    unreadable: int = 0
    profiles: tuple[Source, ...] = ()
    """Of an incident file: the files of formats that it names."""

    @property
    def digest(self) -> Digest:
        """Size and hash of the bytes that were read."""
        return Digest(self.bytes, self.sha256)


class Tool(Struct, frozen=True):
    """What made the folder."""

    name: str = ""
    version: str = ""
    build: str = ""


class Record(Struct, frozen=True):
    """What a manifest says of its folder."""

    kind: str = "report"
    tool: Tool = Tool()
    dependencies: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    incident: dict[str, Any] = {}
    incident_file: Source | None = None
    inputs: list[Source] = []
    left_out: list[Source] = []
    outputs: list[Output] = []
    packets: int | None = None
    """Of notices: how many packets there are."""

    @property
    def given(self) -> list[Source]:
        """Every input, the incident's files among them, each with the place where it lay."""
        own = self.incident_file
        stated = [] if own is None else [own, *own.profiles]
        return [self._placed(source) for source in [*self.inputs, *stated]]

    @property
    def beside_sets(self) -> list[Source]:
        """The logs that were named beside the sets that hold them, each with its place."""
        return [self._placed(source) for source in self.left_out if source.because == IN_A_SET]

    def _placed(self, source: Source) -> Source:
        """An evidence set has names alone, as they were given in the folder of its last run."""
        cwd = self.arguments.get("cwd")
        if source.path is not None or source.evidence_set is not None or source.name == STDIN:
            return source
        path = str(place_from(cwd, source.name)) if isinstance(cwd, str) else source.name
        return msgspec.structs.replace(source, path=path)


def read(data: bytes) -> Record | None:
    """Return the record of a manifest, or None where the text is none."""
    try:
        return msgspec.json.decode(data, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
