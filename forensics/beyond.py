"""What lies beyond the verdicts: whose data may have been read, and what logs cover.

It costs as much as judging, and who asks which requests are affected does not need it. So it
is worked out when it is asked for, once; what it is made from is let go then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from forensics import coverage, judging
from forensics.attribution import gaps, stage
from forensics.attribution.stage import Attribution, Evidence
from forensics.attribution.starts import Starts
from forensics.capacity import Capacity
from forensics.clock import Clocks
from forensics.coverage import Coverage, Tally
from forensics.coverage.still import Away
from forensics.incident import Incident
from forensics.judging import Judged
from forensics.markers import Markers
from forensics.sources.reading import Reading


@dataclass(frozen=True)
class Behind:
    """What the verdicts were made from, as far as it is needed beyond them.

    None of it is all records: ``tally`` is what they tell by the hour, ``again`` and ``skipped``
    what stands beside it, ``counted`` what servers counted, ``named`` the ranks that each file
    names, and ``probed`` are health checks. ``begun`` are starts of ranks of decode, ``earlier``
    those of prefill.
    """

    tally: Tally
    worked: pl.DataFrame
    again: pl.DataFrame
    skipped: pl.DataFrame
    counted: pl.DataFrame
    probed: pl.DataFrame
    named: pl.DataFrame
    reading: Reading
    clocks: Clocks
    capacities: Capacity
    begun: Starts
    used: pl.DataFrame
    earlier: Starts
    found: Markers
    judged: pl.DataFrame


@dataclass(frozen=True)
class Found:
    """Populations, coverage and sources of judged requests, all worked out."""

    populations: Judged
    coverage: Coverage
    counted: pl.DataFrame
    sources: Attribution

    def finish(self) -> Found:
        """Return it as it is."""
        return self


class Beyond:
    """The same, each worked out when it is asked for."""

    def __init__(self, behind: Behind, incident: Incident) -> None:
        self._behind: Behind | None = behind
        self._incident = incident

    @cached_property
    def populations(self) -> Judged:
        """Pairs of response and possible source, and residents, by the records alone."""
        return judging.populations(self._known.judged, self._incident)

    @cached_property
    def coverage(self) -> Coverage:
        """What logs hold, by node, hop and hour."""
        known = self._known
        beside = pl.concat([known.again, known.skipped], how="diagonal")
        begun = known.earlier.moments | known.begun.moments
        away = Away(self._incident.off_us, begun)
        return coverage.measure(known.tally, known.worked, beside, away)

    @cached_property
    def counted(self) -> pl.DataFrame:
        """What servers counted of their requests."""
        return self._known.counted

    @cached_property
    def sources(self) -> Attribution:
        """The possible sources, and how they were found."""
        known, rate = self._known, self._incident.logs.sampling_rate
        lost = gaps.lost(known.judged, known.named, self.coverage, known.reading.files, rate)
        evidence = Evidence(known.probed, known.used, known.found, lost)
        given = (known.capacities, known.begun, evidence, self._incident)
        return stage.attribute(self.populations, *given)

    def finish(self) -> Found:
        """Work out all of it, and let go of what it is made from."""
        found = Found(self.populations, self.coverage, self.counted, self.sources)
        self._behind = None
        return found

    @property
    def _known(self) -> Behind:
        if self._behind is None:
            raise RuntimeError("all was worked out before")
        return self._behind
