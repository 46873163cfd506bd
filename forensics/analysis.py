"""From a reading to judged requests: the stages, in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from forensics import (
    activity,
    blockrate,
    calibration,
    capacity,
    claimants,
    judging,
    markers,
    otherlogs,
    skew,
    traces,
    unseen,
    verdicts,
    years,
)
from forensics.attestations import match as attestations
from forensics.attestations.match import Attested
from forensics.attribution import gaps, hopclocks, startlines, starts, usage
from forensics.attribution.stage import Attribution
from forensics.beyond import Behind, Beyond, Found
from forensics.capacity import Capacity, server_of
from forensics.clock import Clocks
from forensics.columns import per_file
from forensics.coverage import Coverage, counters, doubled, doubted, holes, hours, quiet, sequences
from forensics.coverage.alive import Lines
from forensics.coverage.doubted import Logged, Losses
from forensics.coverage.holes import Holes
from forensics.coverage.hours import Tally
from forensics.coverage.sequences import NUMBERING
from forensics.coverage.still import Away
from forensics.coverage.unread import unread
from forensics.folding import fold
from forensics.incident import Incident
from forensics.markers import Markers
from forensics.requests import Requests
from forensics.scratch import scratch_folder
from forensics.sources import registry
from forensics.sources.otlp import SAMPLED
from forensics.sources.reading import FileFacts, Reading
from forensics.timing import stage, work
from forensics.timing.stage import Timing
from forensics.traces import Traces
from forensics.triage.rest import Rest


@dataclass(frozen=True)
class Analysis:
    """Everything that the exposure and the tables are made from.

    ``requests`` holds every request with its verdict; ``observations`` the records behind
    the listed ones, with their ``handoff``; ``traces`` lines that name no request; ``timing``
    what prefill times said. Who may have been read, and what logs cover, is worked out when it
    is first asked for.
    """

    incident: Incident
    files: list[FileFacts]
    duplicates: dict[int, int]
    probes: dict[int, int]
    clocks: Clocks
    assumed_nodes: list[str]
    capacity: Capacity
    requests: pl.DataFrame
    observations: pl.DataFrame
    unpaired: int
    hidden: int
    """Of the unpaired gateway records those that are no rows; see :mod:`forensics.claimants`."""
    unsettled: pl.DataFrame
    """What may be one another's; see :mod:`forensics.joins.unsettled`."""
    twins: pl.DataFrame
    """Rows that two logs may both hold; see :mod:`forensics.otherlogs`."""
    stood_for: int
    """Records of prefill that a gateway's stands for; see :mod:`forensics.joins.beside`."""
    orphans: pl.Series
    clock_pairs: pl.DataFrame
    markers: Markers
    traces: Traces
    timing: Timing
    holes: Holes
    ready: pl.DataFrame
    """The requests as they stood before they were judged, to judge them again otherwise."""
    attested: Attested
    prefill_logs: Logged
    """What is known of the logs of prefill: whose limits may have changed unseen."""
    _beyond: Beyond | Found

    @property
    def pairs(self) -> pl.DataFrame:
        """Pairs of an affected response and a tenant that may have written what it read."""
        return self._beyond.sources.pairs

    @property
    def attribution(self) -> Attribution:
        """What the pairs are from: replays, and how well they fit."""
        return self._beyond.sources

    @property
    def resident(self) -> pl.DataFrame:
        """Requests of each tenant that ran beside an affected one."""
        return self._beyond.populations.resident

    @property
    def coverage(self) -> Coverage:
        """What logs hold, by node, hop and hour."""
        return self._beyond.coverage

    @property
    def counted(self) -> pl.DataFrame:
        """What servers counted of their requests; see :mod:`forensics.coverage.counters`."""
        return self._beyond.counted

    def finish(self) -> Analysis:
        """Return it with what lies beyond the verdicts worked out, as it is from then on here."""
        return replace(self, _beyond=self._beyond.finish())


REQUEST_ORDER = ["received_at", "request_id", "attempt", "tenant_id", "transfer_id"]
"""Full key by which rows leave the package."""


def analyse(reading: Reading, incident: Incident, rest: Rest | None = None) -> Analysis:
    """Run the stages over what was read.

    Args:
        reading: the reading pass of all inputs.
        incident: what is asked.
        rest: rows that were counted where they lie and are not among those of ``reading``.
    """
    with scratch_folder() as folder:
        return _analysed(reading, incident, rest, folder)


def _analysed(reading: Reading, incident: Incident, rest: Rest | None, folder: Path) -> Analysis:
    span = years.of_records(reading.parts, reading.capacity, incident)
    clocks = Clocks.infer(reading.clock, incident.logs.timezone, span)
    read = (reading.parts, reading.activity)
    capacities = capacity.build(reading.capacity, clocks, incident, *read)
    attesting, marked = bool(incident.attestations), any(f.height for f in reading.markers)
    numbering = any((facts.format or "").startswith(NUMBERING) for facts in reading.files)
    named = attesting or marked or numbering
    folded = fold(reading.parts, clocks, capacities.epochs, folder, named=named)
    clock_pairs = folded.clock_pairs
    far = skew.far(clock_pairs)
    records, logged = folded.records, folded.logged
    seen = records.when(wanted=marked).read(markers.READ)
    found = markers.collect(reading.markers, seen, clocks, far)
    worked = activity.hourly(reading.activity, clocks)
    lines = None if reading.sampled else Lines(worked, capacities.epochs)
    found_holes = holes.find(
        _once(folded),
        logged.read(holes.READ),
        folded.within,
        lines,
        _partial(reading.files),
        anywhere=capacities.anywhere(incident.trigger.threshold_tokens),
    )
    timed = skew.widen(folded.frame, records.when(wanted=far.height).read(skew.READ), clock_pairs)
    timed = hopclocks.attach(timed, folded.unsure, clock_pairs)
    tally = hours.tally(logged.each(hours.READ), None if rest is None else rest.counted)
    losses = _losses(found_holes, tally, folded, reading, clocks, incident)
    of_prefill = doubted.logged(capacities, losses, logged.read(doubted.READ), worked)
    limited = unseen.attach(timed, of_prefill, incident.trigger.threshold_tokens)
    told = startlines.read(reading.capacity, clocks)
    used = usage.figures(reading.activity, clocks)
    known = (capacities.epochs, told, folded.probed, used)
    begun, earlier = (starts.of_side(limited, side, *known) for side in ("decode", "prefill"))
    limited = starts.attach(limited, begun, earlier)
    counted = blockrate.fill(calibration.fill(limited, capacities.epochs))
    formats = {facts.number: facts.format for facts in reading.files}
    attach = stage.attach if rest is None else rest.attach
    scored, times = attach(counted, records.read(work.READ), formats, capacities.epochs)
    nameless, repeated = traces.collect(reading.traces, clocks, capacities.epochs)
    traced = traces.match(nameless, scored, capacities.epochs, incident)
    seen = records.when(wanted=attesting).read(attestations.READ)
    attested = attestations.match(incident.attestations, scored, seen)
    ready = holes.attach(traces.attach(scored, traced), found_holes)
    ready = attestations.attach(ready, attested)
    claimed = claimants.told(
        ready,
        folded.unsettled,
        folded.unpaired,
        partial(judging.judge, incident=incident, marked=found.handoffs),
    )
    numbered = logged.when(wanted=numbering).read(sequences.READ)
    behind = Behind(
        tally=tally,
        worked=worked,
        again=doubled.again(folded.doubled, repeated),
        skipped=sequences.skipped(numbered, reading.files),
        counted=_counted(folded, reading, clocks),
        probed=folded.probed,
        named=records.unique(gaps.READ),
        reading=reading,
        clocks=clocks,
        capacities=capacities,
        begun=begun,
        used=used,
        earlier=earlier,
        found=found,
        judged=claimed.judged,
    )
    return Analysis(
        incident=incident,
        files=reading.files,
        duplicates=dict(Counter(per_file(folded.doubled)) + Counter(per_file(repeated))),
        probes=folded.probes,
        clocks=clocks,
        assumed_nodes=_assumed(folded.assumed, capacities.epochs, nameless),
        capacity=capacities,
        requests=claimed.judged,
        observations=_behind(folded, claimed.judged),
        unpaired=folded.unpaired,
        hidden=claimed.hidden,
        unsettled=folded.unsettled,
        twins=otherlogs.twins(claimed.judged, records.read(otherlogs.READ), formats),
        stood_for=folded.stood_for,
        orphans=folded.orphans,
        clock_pairs=clock_pairs,
        markers=found,
        traces=traced,
        timing=times,
        holes=found_holes,
        ready=claimed.ready,
        attested=attested,
        prefill_logs=of_prefill,
        _beyond=Beyond(behind, incident),
    )


def _once(folded: Requests) -> pl.DataFrame:
    """Return the requests but those that are there a second time, as records set aside."""
    if not folded.doubles.len():
        return folded.frame
    return folded.frame.filter(~pl.col("handoff").is_in(folded.doubles.implode()))


def _counted(folded: Requests, reading: Reading, clocks: Clocks) -> pl.DataFrame:
    """Return what servers counted of their requests."""
    logged = folded.logged.when(wanted=counters.counts(reading.activity)).read(counters.READ)
    return counters.measure(reading.activity, clocks, logged, folded.probed)


def _losses(
    found: Holes,
    tally: Tally,
    folded: Requests,
    reading: Reading,
    clocks: Clocks,
    incident: Incident,
) -> Losses:
    """Return what is missing of the logs; none shows where only parts were read."""
    missing = quiet.missing(hours.every(tally, Away(incident.off_us)))
    bad = unread(reading.files, reading.parts, clocks, folded.logged.unique(gaps.READ))
    losses = Losses(found.lost, missing, bad)
    return losses.none() if reading.sampled else losses


def _partial(files: list[FileFacts]) -> list[int]:
    """Return the numbers of the files that hold some requests only, by what they are or say."""
    kinds = {one.name for one in registry.FORMATS if one.partial}
    return [facts.number for facts in files if facts.format in kinds or facts.notes[SAMPLED]]


def _behind(folded: Requests, judged: pl.DataFrame) -> pl.DataFrame:
    """Keep the records of listed requests: lineage needs no other, and they are few."""
    return folded.behind(verdicts.listed(judged.select("handoff", "tier", "noteworthy"))["handoff"])


def _assumed(of_requests: frozenset[str], epochs: pl.DataFrame, lines: pl.DataFrame) -> list[str]:
    """Return the nodes whose clock's zone was a guess, for requests, capacity or other lines."""
    nodes = set(epochs.filter(pl.col("assumed"))["node"].drop_nulls())
    nodes |= {server_of(node) for node in lines.filter(pl.col("assumed"))["node"].drop_nulls()}
    return sorted(nodes | of_requests)
