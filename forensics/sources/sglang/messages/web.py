"""Lines of the web server: neither request nor hand-off is named in them."""

from __future__ import annotations

from forensics.sources.forms import Form
from forensics.sources.sglang.message import counted

MESSAGES = (
    counted(
        Form(
            "web-server",
            "web server line",
            "0.4.6-0.5.23",
            "nothing: an answer's path and status, and no request",
        ),
        "INFO:     ",
    ),
)
