"""What syslog and ``journalctl`` put before each line: a time, the host, the program."""

from __future__ import annotations

import re
from dataclasses import replace

from forensics.sources.wrappers.textforms import AT, IDENT, LEVEL, STAMPED, TextForm, form

_DAY = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_FULL = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_PRIORITY = rb"(?:<\d{1,3}>)?"
_HOST = rb"(?P<stream>(?!" + LEVEL + rb")[\w.:-]+)"
_PID = rb"[\w./@\\:-]{1,80}\[\d+\]: (?P<line>.*)"
_DATA = rb'(?:-|(?:\[[^\s\]="]+(?: [^\s\]="]+="(?:[^"\\]|\\.)*")*\])+)'
_COUNT = rb"(?:\d{1,7} )?"
"""Bytes of a message, which some senders put ahead of it."""
_JOURNAL = rb"-- (?:Logs begin|Journal begins|Reboot|Boot|No entries)\b.*"
_BELOW = re.compile(rb"[ \t]{16}")


def _of_journal(name: str, title: str, pattern: bytes) -> TextForm:
    return replace(form(name, title, pattern, aside=_JOURNAL), below=_BELOW)


def _journal(name: str, moment: bytes, output: str) -> TextForm:
    return _of_journal(name, f"journalctl -o {output}", moment + rb" " + _HOST + rb" " + _PID)


FORMS = (
    form(
        "syslog",
        "syslog (RFC 5424)",
        _COUNT
        + _PRIORITY
        + rb"1 "
        + AT
        + rb" (?P<stream>\S+) \S+ \S+ \S+ "
        + _DATA
        + rb"(?: (?:\xef\xbb\xbf)?(?P<line>.*))?",
    ),
    _of_journal(
        "syslog-old",
        "syslog (RFC 3164)",
        _COUNT + _PRIORITY + _DAY + rb" (?P<stream>\S+) " + IDENT + rb": (?P<line>.*)",
    ),
    _journal("journal-text", _PRIORITY + AT, "short-iso"),
    _journal(
        "journal-full",
        rb"[A-Z][a-z]{2} (?P<at>" + _FULL + rb" [A-Z][A-Za-z0-9+-]{1,5})",
        "short-full",
    ),
    _journal("journal-unix", rb"(?P<epoch>\d{9,10}\.\d{6})", "short-unix"),
    _journal("journal-boot", rb"\[ *\d+\.\d{6}(?: <[ +-]*\d+\.\d{6}>)?\]", "short-monotonic"),
    form("journal-events", "journalctl -o json-sse", rb"data: (?P<line>\{.*)", weak=True),
    form("journal-sequence", "journalctl -o json-seq", rb"\x1e(?P<line>\{.*)"),
)
BESIDE_OTHERS = (
    form(
        "syslog-times",
        "syslog with a full time",
        _PRIORITY + AT + rb" " + _HOST + rb" " + IDENT + rb": (?P<line>.*)",
        sure=STAMPED,
    ),
    form(
        "syslog-bare",
        "syslog without a program",
        _PRIORITY + _DAY + rb" " + _HOST + rb" (?P<line>.*)",
        sure=STAMPED,
    ),
)
"""Other logs look alike: these are tried behind all others."""
