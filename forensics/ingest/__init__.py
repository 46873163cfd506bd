"""Content-free evidence sets: made from logs, resumed, appended to."""

from __future__ import annotations

from forensics.ingest.run import Ingested, ingest

__all__ = ["Ingested", "ingest"]
