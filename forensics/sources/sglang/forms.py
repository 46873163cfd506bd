"""The forms of text line that node logs consist of."""

from __future__ import annotations

from forensics.sources.forms import Form
from forensics.sources.sglang.messages import MESSAGES

TEXT_FORMS: tuple[Form, ...] = tuple(message.form for message in MESSAGES)
