"""Progress on stderr: bytes, records and time left; nothing where nobody looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from forensics.sources.files import expand


class Bar:
    """A bar over the bytes of some logs; silent when stderr is no terminal.

    ``but`` is an evidence set among them that is being written.
    """

    def __init__(
        self, logs: Sequence[str | os.PathLike[str]], *, quiet: bool, but: Path | None = None
    ) -> None:
        size = sum(source.size for source in expand(*logs, but=but))
        self._records = 0
        self._bar = tqdm(
            total=size or None,
            unit="B",
            unit_scale=True,
            desc="reading",
            file=sys.stderr,
            disable=True if quiet else None,
            leave=False,
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, count: int, records: int) -> None:
        """Add bytes and records that were just read."""
        self._records += records
        self._bar.set_postfix_str(f"{self._records:,} records", refresh=False)
        self._bar.update(count)
