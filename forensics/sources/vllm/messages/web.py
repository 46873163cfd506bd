"""Lines of other programs in the same stream: neither request nor hand-off is named."""

from __future__ import annotations

from forensics.sources.forms import Form
from forensics.sources.vllm.message import Message

_TIMEOUT = (
    r"^[IWEF][0-9]{4} [0-9:.]{8,15} +[0-9]{1,10} [A-Za-z0-9_./]{1,80}:[0-9]{1,6}\] "
    r"Sync batch data transfer timeout after [0-9]{1,20}ns$"
)
MESSAGES = (
    Message(
        Form(
            "web-server",
            "web server line",
            "0.6-0.33",
            "nothing: an answer's path and status, and neither request nor time",
        ),
        ("INFO:     ",),
        (),
        bare=True,
    ),
    Message(
        Form(
            "transfer-engine",
            "transfer engine line",
            "Mooncake",
            "nothing: that a transfer was given up, of no named request",
        ),
        (),
        (_TIMEOUT,),
        bare=True,
        inside=("] Sync batch data transfer timeout after ",),
    ),
)
