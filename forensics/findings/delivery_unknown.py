"""Nobody logged whether an answer left."""

from __future__ import annotations

from forensics.findings.base import DELIVERED, Finding
from forensics.findings.not_delivered import NOT_DELIVERED

DELIVERY_UNKNOWN = Finding(
    code="delivery_unknown",
    weight="circumstantial",
    needs=("completion_tokens", "http_status"),
    expression=~DELIVERED.fill_null(value=False) & ~NOT_DELIVERED.expression.fill_null(value=False),
    meaning="neither tokens nor a status that settles it were logged",
    does_not_prove="that an answer left",
)
