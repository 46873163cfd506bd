"""Engines whose logs are lines of many forms, and the lines that each of their versions writes.

They stand in ``forms.toml``, which says of each line which versions wrote it and what it becomes.
Programs that print into an engine's stream have versions of their own.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forensics.sources.forms import Form
from forensics.sources.sglang.forms import TEXT_FORMS
from forensics.sources.vllm.forms import FORMS
from tests.fleets.versions import VERSIONS

DATA = Path(__file__).parents[1] / "_data" / "sources"
SPAN = re.compile(r"(?<![\w.])(\d+(?:\.\d+)+)(?:-(\d+(?:\.\d+)+))?")
"""The first version and the last one, or the only one."""
VLLM = (
    *("0.6", "0.7", "0.8", "0.9", "0.10", "0.11", "0.12", "0.14"),
    *("0.16", "0.18", "0.20", "0.22", "0.26", "0.30", "0.33"),
)


@dataclass(frozen=True)
class Engine:
    """Name of the format, its forms, its versions in order; ``others``: those of programs beside.

    ``incident``: what tells the year where no line does.
    """

    name: str
    forms: tuple[Form, ...]
    versions: tuple[str, ...]
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)
    incident: dict[str, Any] = field(default_factory=dict)

    @property
    def examples(self) -> dict[str, Any]:
        return tomllib.loads((DATA / self.name / "forms.toml").read_text())

    def spanned(self, text: str) -> set[str]:
        """Versions that a text names, those between the first and the last of a span included."""
        program = next((name for name in self.others if text.startswith(name)), "")
        versions = self.others.get(program, self.versions)
        found = {program} if program and not versions else set()
        for first, last in SPAN.findall(text):
            between = versions[versions.index(first) : versions.index(last or first) + 1]
            found |= {f"{program} {version}".strip() for version in between}
        return found

    def written(self, version: str) -> Iterator[tuple[str, list[str]]]:
        """The lines of a version and of what prints beside it, with what each is read as."""
        for example in self.examples.values():
            for span, line, *reads in example["positive"]:
                if version in self.spanned(span) or span.startswith(tuple(self.others)):
                    yield line, reads or example["reads"]


FEBRUARY = {"scope": {"window": ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]}}
BESIDE = {"LMCache": ("0.3", "0.4", "0.5"), "Mooncake": ()}
ENGINES = (
    Engine("sglang", TEXT_FORMS, VERSIONS),
    Engine("vllm", FORMS, VLLM, BESIDE, FEBRUARY),
)
