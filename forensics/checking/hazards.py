"""Does a file hold prompts, outputs or secrets: told by the names of fields, never by a value.

What is found is a name of our own and nothing of the line, so that the file can be
handled accordingly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

_AT_MOST = 2_000
"""Lines that are looked at closely for one hazard; its first one ends the search."""
_FILLED = r"""\s*(?:\\{0,4}["'][^"'\\\s]|\[\s*[^\]\s]|\{\s*[^}\s])"""


@dataclass(frozen=True)
class Hazard:
    """One kind of content, what it means for whoever handles the file, and its field names."""

    name: str
    meaning: str
    fields: tuple[str, ...]

    @property
    def literals(self) -> list[str]:
        """What a line holds that has such a field, in JSON, in JSON within JSON, or in a repr."""
        return [name + end for name in self.fields for end in ('"', "'", '\\"', "=", ": ")]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches such a field that holds a text, list or object that is not empty."""
        names = "|".join(map(re.escape, self.fields))
        return re.compile(rf"""(?<![\w.])(?:{names})(?:\\{{0,4}}["']\s*[:=]|[=:]){_FILLED}""")


HAZARDS = (
    Hazard(
        "prompts",
        "holds text of requests or answers (as a request log of level 2 or 3 does, or an exporter "
        "without a request log of level 0 or 1): restrict access, copy it into no ticket or chat",
        (
            "text",
            "prompt",
            "messages",
            "input",
            "input_ids",
            "prompt_ids",
            "prompt_token_ids",
            "gen_ai.prompt",
            "gen_ai.input.messages",
        ),
    ),
    Hazard(
        "outputs",
        "holds generated text: restrict access, copy it into no ticket or chat",
        (
            "choices",
            "completion",
            "output",
            "output_ids",
            "output_text",
            "response",
            "token_ids",
            "gen_ai.completion",
            "gen_ai.output.messages",
        ),
    ),
    Hazard(
        "secrets",
        "holds a key in clear (server arguments): restrict access and replace the key",
        ("admin_api_key", "api_key", "authorization", "hf_token"),
    ),
)


def hazards(data: bytes) -> list[str]:
    """Return the names of the hazards that a sample shows, in their order."""
    lines = pl.Series(data.decode("utf-8", "replace").split("\n"))
    return [hazard.name for hazard in HAZARDS if _shows(lines, hazard)]


def _shows(lines: pl.Series, hazard: Hazard) -> bool:
    near = lines.filter(lines.str.contains_any(hazard.literals)).head(_AT_MOST)
    pattern = hazard.pattern
    return any(pattern.search(line) for line in near.to_list())
