"""What the engine knows and no log shows: which answers held markers of others."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from forensics.lab.engine.requests import Served


def write_truth(served: Iterable[Served], path: Path) -> None:
    """Write one row an answer: its ids, and how many foreign markers left with it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["request_id", "transfer_id", "tenant_id", "prompt_tokens", "foreign"])
        for one in served:
            values = (one.request_id, one.transfer_id, one.tenant, one.prompt_tokens)
            writer.writerow([*values, len(one.foreign)])
