"""Fewer pages arrived than the prompt fills, and decode may have had the others, or not."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

SHORT_UNLESS_CACHED = Finding(
    code="short_unless_cached",
    weight="circumstantial",
    needs=("decode_prompt_tokens", "transferred_pages", "reserved_pages"),
    expression=pl.col("short_unless_cached"),
    meaning="fewer pages arrived than the prompt fills on decode, and no known setting says "
    "whether decode keeps prefixes of its own: equal counts do not clear it",
    does_not_prove="that decode lacked any of the pages: it may have had them in its own cache",
)
