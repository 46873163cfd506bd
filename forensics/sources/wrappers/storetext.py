"""What log stores and shippers put before each line that they print."""

from __future__ import annotations

import re

from forensics.sources.wrappers.textforms import AT, LEVEL, STAMPED, form

_LOGCLI = rb"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (?:Common labels: \{.*\}|https?://\S+)"
_PAIR = re.compile(rb"\[\[?\d+(?:\.\d+)?, ?\{")
_OBJECT = re.compile(rb"\s*\{")

FORMS = (
    form("logcli", "logcli", AT + rb" \{(?P<labels>[^{}]*)\}\s+(?P<line>.*)", aside=_LOGCLI),
    form(
        "fluent-text",
        "Fluent Bit, as it prints",
        rb"(?:\[\d+\] )?[\w./*-]{1,200}: (?P<line>\[.*)",
        sure=_PAIR,
    ),
    form(
        "fluentd-file",
        "Fluentd, as it writes files",
        AT + rb"\t[\w./*-]{1,200}\t(?P<line>.*)",
        sure=_OBJECT,
    ),
)
BESIDE_OTHERS = (
    form(
        "cloudwatch-tail",
        "aws logs tail",
        AT + rb" (?P<stream>(?!" + LEVEL + rb")[A-Za-z0-9][\w./\[\]$#-]{0,511}) (?P<line>.*)",
        sure=STAMPED,
    ),
    form(
        "cloudwatch-short",
        "aws logs tail --format short",
        rb"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) (?P<line>.*)",
        sure=STAMPED,
    ),
    form(
        "grafana",
        "a download of Grafana Explore",
        rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\t(?P<line>.*)",
        weak=True,
    ),
)
"""Other logs look alike: these are tried behind all others."""
