"""What a reader is told about the file it reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from forensics.incident import Incident
from forensics.sources.identifiers import from_path

_GENERIC = {
    *("log", "logs", "stdout", "stderr", "server", "output", "sglang", "vllm", "requests"),
    *("server_info", "get_server_info", "metrics", "spans", "traces", "sglang-request-metrics"),
}
"""Names that say what a file holds and not which engine wrote it: the folder does."""
_PACKED = r"(?:\.(?:gz|zst|xz|bz2))?"
_DATE = r"[._-]\d{4}-?\d{2}-?\d{2}(?:[-_T]?\d{2,6})?"
_ROTATION = re.compile(
    rf"(?:-requests)?(?:{_DATE})?(?:\.(?:log|jsonl|ndjson|json|txt|out|prom)(?:\.\d{{1,5}}|{_DATE})*)?"
    rf"{_PACKED}$"
)
"""What rotation and packing add to a name; a bare number at its end may be a version."""


_POD = re.compile(r"(?:^|/)[a-z0-9.-]+_(?P<pod>[a-z0-9.-]+)_[0-9a-f-]{32,36}/[^/]+/[^/]+$")
"""How a kubelet lays out logs: namespace, pod and a unique id, then container and number."""


@dataclass(frozen=True)
class Context:
    """The incident, the number of the file in this run, its shown name and its node.

    ``label`` names the file in place of an identifier; unique among the inputs. ``stream``
    is the pod or host that wrote the lines, where a log collector says so.
    """

    incident: Incident
    number: int
    name: str
    label: str = ""
    stream: str = ""

    @property
    def node(self) -> str:
        """The engine that wrote the lines: as a log collector names it, else from the path.

        ``[logs] node_from`` decides where it is set and matches; else the file's stem
        without rotation suffixes, or the folder where the stem says nothing.
        """
        if self.stream:
            return from_path(self.stream)
        pattern = self.incident.logs.node_from
        if pattern is not None:
            match = re.search(pattern, self.name)
            if match and match.group("node"):
                return from_path(match.group("node"))
        pod = _POD.search(self.name)
        if pod is not None:
            return from_path(pod["pod"])
        path = PurePath(self.name)
        stem = _ROTATION.sub("", path.name) or path.name
        if stem.lower() in _GENERIC and path.parent.name:
            stem = path.parent.name
        return from_path(stem)

    @property
    def stated_node(self) -> str | None:
        """The node that a collector or ``[logs] node_from`` names: plain records are no guess."""
        stated = self.stream or self.incident.logs.node_from is not None
        return self.node if stated else None

    def where(self, line: int) -> str:
        """Name a line in place of an identifier that may not be kept."""
        return f"{self.place}:{line}"

    @property
    def place(self) -> str:
        """The file in place of an identifier."""
        return from_path(self.label or PurePath(self.name).name)
