"""The watch itself: read what is new, judge what has come to rest, tell it, remember it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forensics.errors import UsageError
from forensics.incident import Incident
from forensics.live.watch import lasting
from forensics.live.watch import state as kept
from forensics.live.watch.asked import Asked, Counts
from forensics.live.watch.follow import Event
from forensics.live.watch.intake import Intake
from forensics.live.watch.judge import Judge
from forensics.live.watch.told import Output
from forensics.objects import ObjectPath, place
from forensics.schema import TIERS

_LONGER = 12
"""How many times as long a record is held that gave reason to look closer."""


class Watch:
    """Follows logs.

    Args:
        logs: files, folders, globs or ``-``; looked for anew again and again.
        incident: what is asked.
        folder: private, for rows.
        output: where findings go.
        state_file: where to remember, if anywhere.
        asked: how.

    Raises:
        UsageError: a log lies in storage, or the state file holds no state.
    """

    def __init__(
        self,
        logs: Sequence[str],
        incident: Incident,
        folder: Path,
        output: Output,
        state_file: Path | None,
        asked: Asked,
    ) -> None:
        if any(isinstance(place(log), ObjectPath) for log in logs):
            raise UsageError("watch follows files that grow; objects in storage do not")
        self._output, self._state_file, self._keep = output, state_file, asked.keep
        before = kept.load(state_file)
        output.told |= set(before.told)
        self.counts = Counts()
        self._intake = Intake(logs, incident, folder, self.counts, self._happened, before)
        self._ring = lasting.ring(before)
        self._judge = Judge(self._ring, incident, folder, asked.settle)
        self._saved: object = None

    def step(self, *, last: bool = False) -> list[dict[str, Any]]:
        """Read what is new and return the findings that were told; ``last`` waits for nothing.

        Raises:
            NoInputError: a log that was named does not exist.
            PrivacyError: a row holds what it may not hold.
        """
        self._intake.find()
        for held in self._intake.read(last=last):
            self._ring.add(held, self._keep)
            if held:
                self._judge.moved()
        now = time.monotonic()
        told = self._output.findings(self._judge.findings(now, last=last))
        self.counts.tiers.update(item["tier"] for item in told)
        self._ring.forget(now - self._keep, now - _LONGER * self._keep, self._judge.floor())
        self._save()
        return told

    def close(self) -> None:
        """Close the files."""
        self._intake.close()

    def _happened(self, event: Event, log: str) -> None:
        self.counts.events[event] += 1
        self._output.write([{"event": event, "log": log}])

    def _save(self) -> None:
        """Remember how far this came, where it came any further."""
        if self._state_file is None:
            return
        places = self._intake.places()
        now = (places, len(self._output.told), self._ring.sizes())
        if now != self._saved:
            told, formats = self._output.told, self._intake.formats
            kept.save(self._state_file, lasting.state(self._ring, places, formats, told))
            self._saved = now


def reached(told: Sequence[dict[str, Any]], tier: str | None) -> bool:
    """Say whether a finding is of a tier or a surer one."""
    return tier is not None and any(TIERS.index(f["tier"]) <= TIERS.index(tier) for f in told)
