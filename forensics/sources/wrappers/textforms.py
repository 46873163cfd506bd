"""Wrappers that are text: what a container runtime or a tool puts before each line."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.colours import RAW
from forensics.sources.textlines import frame
from forensics.sources.wrappers import labels
from forensics.sources.wrappers.atonce import joined, numbered
from forensics.sources.wrappers.inner import Inner, Whole

_MOMENT = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_AT = rb"(?P<at>" + _MOMENT + rb")"
_IDENT = rb"[\w./@-]{1,80}(?:\[\d+\])?"


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

    def parse(self, line: bytes) -> Inner | None:
        """Return what a line holds behind the prefix; None if it has none."""
        match = self.pattern.fullmatch(line)
        if match is None:
            return None
        seen = match.groupdict()
        return Inner(
            seen["line"] or b"",
            _text(seen.get("first") or seen.get("at")) or None,
            _stream(seen),
            seen.get("tag") == b"P",
            _text(seen.get("source")),
        )

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


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def _form(
    name: str,
    title: str,
    pattern: bytes,
    *,
    weak: bool = False,
    sure: re.Pattern[bytes] | None = None,
) -> TextForm:
    return TextForm(name, title, re.compile(pattern, re.DOTALL), weak, sure)


_STAMPED = re.compile(
    rb"(?:" + RAW.encode() + rb")*(?:\([^()]{1,80}\) ?)*"
    rb"(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:|[A-Z]{4,8} \d\d-\d\d \d\d:|\[[0-9a-f-]{36}\]|\{\""
    rb"|<\d{1,3}>|\[pod/|[a-z0-9][\w.-]*\s+\| )"
)
"""What engines begin a line with: a stamp of their own, or a record; and other prefixes."""
_OWN_AT = (
    rb"(?:" + _AT + rb" (?!(?:stdout|stderr) [PF](?:[: ]|$)|\{\w+=|"
    rb"[\w.-]+ [\w./@-]{1,80}\[\d+\]: ))?"
)
"""A moment of this prefix: one that another prefix begins with is left to that."""


FORMS = (
    _form(
        "cri",
        "Kubernetes (CRI)",
        _AT + rb" (?P<source>stdout|stderr) (?P<tag>[PF])(?::\S*)?(?: (?P<line>.*))?",
    ),
    _form(
        "kubectl",
        "kubectl logs --prefix",
        rb"(?:(?P<first>"
        + _MOMENT
        + rb") )?\[pod/(?P<stream>[^/\]\s]+)/[^\]\s]+\] "
        + _OWN_AT
        + rb"(?P<line>.*)",
    ),
    _form(
        "syslog",
        "syslog (RFC 5424)",
        rb"<\d{1,3}>1 " + _AT + rb" (?P<stream>\S+) \S+ \S+ \S+ (?:-|(?:\[.*?\])+) ?(?P<line>.*)",
    ),
    _form(
        "syslog-old",
        "syslog (RFC 3164)",
        rb"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<stream>\S+) "
        + _IDENT
        + rb": (?P<line>.*)",
    ),
    _form(
        "journal-text",
        "journalctl -o short-iso",
        _AT + rb" (?P<stream>[\w.-]+) [\w./@-]{1,80}\[\d+\]: (?P<line>.*)",
    ),
    _form("logcli", "logcli", _AT + rb" \{(?P<labels>[^{}]*)\}\s+(?P<line>.*)"),
    _form("docker-times", "docker logs -t", _AT + rb" (?P<line>.*)", sure=_STAMPED),
    _form(
        "compose",
        "docker compose logs",
        rb"(?P<stream>[a-z0-9][\w.-]*)\s+\| " + _OWN_AT + rb"(?P<line>.*)",
        weak=True,
    ),
    _form(
        "grafana",
        "a download of Grafana Explore",
        rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\t(?P<line>.*)",
        weak=True,
    ),
)
