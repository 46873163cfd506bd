"""The forms of line that vLLM logs consist of."""

from __future__ import annotations

from forensics.sources.forms import Form
from forensics.sources.vllm.messages import MESSAGES

FORMS: tuple[Form, ...] = tuple(message.form for message in MESSAGES)
