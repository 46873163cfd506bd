"""Wrappers that are text: a prefix before each line, and how it is taken off."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.colours import RAW
from forensics.sources.textlines import frame
from forensics.sources.wrappers import labels
from forensics.sources.wrappers.atonce import joined, numbered
from forensics.sources.wrappers.inner import BELOW, At, Inner, Whole
from forensics.sources.wrappers.jsonforms import seconds

ASIDE = "line in which a tool speaks of itself"
MOMENT = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
AT = rb"(?P<at>" + MOMENT + rb")"
LEVEL = rb"(?i:debug|info|warn|warning|error|critical|fatal|trace)[: ]"
"""No name of a host, of a pod or of a stream: loggers write it behind a time as well."""
IDENT = rb"[\w./@-]{1,80}(?:\[\d+\])?"


@dataclass(frozen=True)
class TextForm:
    """A wrapper that is a prefix.

    ``weak`` where other logs look alike: it is taken off only if the file is none of those.
    """

    name: str
    title: str
    pattern: re.Pattern[bytes]
    weak: bool = False
    sure: re.Pattern[bytes] | None = None
    """What some lines must have behind the prefix, where programs write such a prefix too."""
    several: bool = False
    """Whether it is told only where lines of two at least stand together."""
    aside: re.Pattern[bytes] | None = None
    """What the tool says of itself, in lines of its own."""
    below: re.Pattern[bytes] | None = None
    """What further lines of a record begin with, which have no prefix of their own."""

    def parse(self, line: bytes) -> Inner | str | None:
        """Return what a line holds behind the prefix; None if it has none."""
        match = self.pattern.fullmatch(line)
        if match is None:
            return self._beside(line)
        seen = match.groupdict()
        return Inner(
            seen["line"] or b"",
            _at(seen),
            _stream(seen),
            seen.get("tag") == b"P",
            _text(seen.get("source")),
        )

    def _beside(self, line: bytes) -> str | None:
        if self.below is not None and self.below.match(line):
            return BELOW
        return ASIDE if self.aside is not None and self.aside.fullmatch(line) else None

    def whole(self, block: Block) -> Whole | None:
        """Return what all lines of a block hold at once; None where they need a closer look.

        That is where a line has another form, and where pods are mixed.
        """
        if self._named or b"\r" in block.data or block.numbers is not None:
            return None
        data, lines = frame(block)
        if data is not block.data:
            return None
        parts = lines["text"].str.extract_groups(self._pattern).struct.unnest()
        if "at" not in parts.columns or parts["line"].null_count() or parts["at"].null_count():
            return None
        cut = parts["tag"] == "P" if "tag" in parts.columns else None
        if cut is None or not cut.any():
            inner = ("\n".join(parts["line"].to_list()) + "\n").encode()
            return Whole(numbered(block, inner, parts["at"]))
        held = parts.select(pl.col("line") + pl.when(~cut).then(pl.lit("\n")).otherwise(pl.lit("")))
        return joined(block, held["line"].to_list(), parts["at"], parts["source"])

    @property
    def _named(self) -> bool:
        return not {"stream", "labels"}.isdisjoint(self.pattern.groupindex)

    @property
    def _pattern(self) -> str:
        return f"(?s)^{self.pattern.pattern.decode().replace('(?P<', '(?<')}$"


def _stream(seen: dict[str, bytes | None]) -> str:
    if seen.get("labels"):
        found = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', _text(seen["labels"]))
        return labels.stream(dict(found))
    return _text(seen.get("stream"))


def _at(seen: dict[str, bytes | None]) -> At:
    if seen.get("epoch"):
        return seconds(_text(seen["epoch"]))
    return _text(seen.get("first") or seen.get("at")) or None


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def form(
    name: str,
    title: str,
    pattern: bytes,
    *,
    weak: bool = False,
    sure: re.Pattern[bytes] | None = None,
    several: bool = False,
    aside: bytes | None = None,
) -> TextForm:
    """Return the form whose lines match a pattern, with the groups that :class:`TextForm` reads.

    They are ``line``, ``stream``, ``labels``, ``source``, ``tag``, and a time: ``first`` or
    ``at``, RFC 3339, or ``epoch``, seconds.
    """
    noted = None if aside is None else re.compile(aside)
    return TextForm(name, title, re.compile(pattern, re.DOTALL), weak, sure, several, noted)


STAMPED = re.compile(
    rb"(?:" + RAW.encode() + rb")*(?:\([^()]{1,80}\) ?)*"
    rb"(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:|[A-Z]{4,8} \d\d-\d\d \d\d:|\[[0-9a-f-]{36}\]|\[?\{\""
    rb"|\[\[?\d{9,10}(?:\.\d+)?, ?\{|<\d{1,3}>|\[pod/|[a-z0-9][\w.-]*\s+\| )"
)
"""What engines begin a line with: a stamp of their own, or a record; and other prefixes."""
OWN_AT = (
    rb"(?:" + AT + rb" (?!(?:stdout|stderr) [PF](?:[: ]|$)|\{\w+=|"
    rb"[\w.-]+ [\w./@-]{1,80}\[\d+\]: ))?"
)
"""A moment of this prefix: one that another prefix begins with is left to that."""
