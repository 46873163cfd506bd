"""The watch itself: read what is new, judge what has come to rest, remember it, tell it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forensics import held
from forensics.errors import UsageError
from forensics.incident import Incident
from forensics.live.watch import lasting
from forensics.live.watch import state as kept
from forensics.live.watch.asked import Asked, Counts
from forensics.live.watch.inputs import Inputs
from forensics.live.watch.intake import Intake
from forensics.live.watch.judge import Judge
from forensics.live.watch.known import Finding, Known
from forensics.live.watch.told import Output, happened
from forensics.objects import ObjectPath, place
from forensics.schema import TIERS

_LONGER = 12
"""How many times as long a record is held that gave reason to look closer."""


class Watch:
    """Follows logs.

    Args:
        logs: files, folders, globs or ``-``; looked for anew again and again.
        incident: what is asked.
        folder: private, for rows that need not outlast it.
        output: where findings go.
        state_file: where to remember, if anywhere.
        asked: how.
        but: further files of its own, which may lie among the logs.

    Raises:
        UsageError: a log lies in storage, the state file holds no state, or another watch
            goes on from it.
    """

    def __init__(
        self,
        logs: Sequence[str],
        incident: Incident,
        folder: Path,
        output: Output,
        state_file: Path | None,
        asked: Asked,
        but: Sequence[Path] = (),
    ) -> None:
        if any(isinstance(place(log), ObjectPath) for log in logs):
            raise UsageError("watch follows files that grow; objects in storage do not")
        self._keep, self._state, self._output = asked.keep, state_file, output
        rows = kept.folder(state_file) if state_file is not None else folder / "rows"
        self._lock: int | None = _held(rows)
        before = kept.load(state_file)
        self._ring, broken = lasting.ring(before, rows)
        pending = [one for one in before.pending if one.id in output.ids]
        cut = output.torn and before.told and before.told[-1].id not in output.ids
        told = before.told[:-1] if cut else before.told
        self._known = Known([*told, *pending], output.ids)
        self._stop_at = asked.stop_at
        self._owed = {tier: i for tier, i in before.owed.items() if self._known.is_told(i)}
        self.counts = Counts()
        self._events = list(before.events)
        own = [path for path in (output.path, state_file, rows, *but) if path is not None]
        inputs = Inputs(logs, before.logs, own)
        self._intake = Intake(
            inputs, incident, folder, asked.settle, self.counts, self._happened, before
        )
        self._intake.on = state_file is not None
        self._judge = Judge(self._ring, incident, folder, asked.settle)
        self._saved: object = None
        for number in range(broken):
            self._happened("", "lost", number, what="rows", certain=True)

    def step(self, *, last: bool = False) -> list[dict[str, Any]]:
        """Read what is new and return the findings that were told; ``last`` waits for nothing.

        Raises:
            NoInputError: a log that was named does not exist.
            PrivacyError: a row holds what it may not hold.
        """
        self._intake.find(last=last)
        if self._saved is None:  # what was there from the beginning is known, whatever comes
            self._save([])
        for chunks in self._intake.read(last=last):
            self._ring.add(chunks, self._keep)
            if chunks:
                self._judge.moved()
        now = time.monotonic()
        found = self._known.new(self._judge.findings(now, last=last))
        new = self._not_told(found)
        self._ring.forget(now - self._keep, now - _LONGER * self._keep, self._judge.floor())
        self._owed = {one.tier: one.id for one in found} | self._owed
        self._save(new)
        self._tell(new)
        return [one.told for one in new]

    def _not_told(self, found: list[Finding]) -> list[Finding]:
        """Take out what the output holds already, by a run of which no state says what it found.

        It is not told twice, but it is in the logs: whoever asks to end for it is answered.
        """
        again = [one for one in found if self._known.is_told(one.id)]
        for one in again:
            self._known.add(one.entry)
        self.counts.again += len(again)
        names = {one.id for one in again}
        return [one for one in found if one.id not in names]

    @property
    def is_over(self) -> bool:
        """Say whether a finding was told that ends the watch, and that no run has ended for."""
        return any(reached(tier, self._stop_at) for tier in self._owed)

    def end(self) -> None:
        """Take what ends the watch for answered: a later run does not end for it again."""
        self._owed = {t: i for t, i in self._owed.items() if not reached(t, self._stop_at)}
        self._save([])

    def close(self) -> None:
        """Close the files."""
        self._intake.close()
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    def _tell(self, new: list[Finding]) -> None:
        """Tell what the state says is about to be told, and then that it was.

        A file of findings may be moved aside before the next run, which then tells nothing of it.
        """
        told = [*self._events, *(one.told for one in new)]
        self._output.write(told)
        self._events = []
        for one in new:
            self._known.add(one.entry)
            self.counts.tiers[one.tier] += 1
        if told:
            self._save([])

    def _happened(self, log: str, event: str, number: int, **more: Any) -> None:
        self.counts.events[event] += 1
        if event == "lost":
            self.counts.lost[bool(more["certain"])] += 1
            self.counts.lost_bytes += int(more.get("bytes", 0))
        self._events.append(happened(event, log, number, more))

    def _save(self, new: list[Finding]) -> None:
        """Remember how far this came, where it came any further, and let go of what it left."""
        progress, told = self._intake.progress(), len(self._known.told)
        counts = (told, len(new), len(self._events), len(self._owed))
        now = (progress, counts, self._ring.sizes())
        if self._state is not None and now != self._saved:
            pending = [one.entry for one in new]
            held = (self._ring, self._known, progress, pending, self._events, self._owed)
            kept.save(self._state, lasting.state(*held))
            self._saved = now
        self._ring.sweep()


def _held(rows: Path) -> int:
    """Make the folder of a state's rows and hold it: two watches would spoil it for each other.

    Raises:
        UsageError: another watch holds them.
    """
    rows.mkdir(mode=0o700, exist_ok=True)
    try:
        return held.hold(rows)
    except BlockingIOError:
        raise UsageError(f"{rows}: another watch goes on from there") from None
    except OSError:
        return os.open(rows, os.O_RDONLY)  # locks do not work here


def reached(tier: str, stop_at: str | None) -> bool:
    """Say whether a tier is the one asked for or a surer one."""
    return stop_at is not None and TIERS.index(tier) <= TIERS.index(stop_at)
