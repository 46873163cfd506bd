"""What a reader is told about the file it reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from forensics.incident import Incident
from forensics.sources import nodes
from forensics.sources.identifiers import from_path, of_machine

if TYPE_CHECKING:
    from forensics.sources.foreign import Foreign


@dataclass(frozen=True)
class Context:
    """The incident, the number of the file in this run, its shown name and its node.

    ``label`` names the file in place of an identifier; unique among the inputs. ``stream``
    is the pod or host that wrote the lines, where a log collector says so. ``among`` is the
    node that the path names among the paths of all inputs. ``foreign`` returns those of some
    lines of text, with their numbers, that hold records of another format.
    """

    incident: Incident
    number: int
    name: str
    label: str = ""
    stream: str = ""
    among: str = ""
    foreign: Foreign | None = None

    @property
    def node(self) -> str:
        """The engine that wrote the lines: as a log collector names it, else from the path.

        ``[logs] node_from`` decides where it is set and matches; else
        :mod:`forensics.sources.nodes`.
        """
        if self.stream:
            return of_machine(self.stream)
        pattern = self.incident.logs.node_from
        if pattern is not None:
            match = re.search(pattern, self.name)
            if match and match.group("node"):
                return from_path(match.group("node"))
        return self.among or nodes.of(self.name)

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
