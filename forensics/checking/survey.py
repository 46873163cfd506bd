"""From files to what their samples hold together: a glance, a look, one analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import polars as pl

from forensics import observations, runners
from forensics.analysis import Analysis, analyse
from forensics.checking import timeslices
from forensics.checking.budget import Budget, shares
from forensics.checking.glance import Glance, glance
from forensics.checking.look import Look, Plan, look
from forensics.checking.sample import FIRST
from forensics.clock import Clocks
from forensics.incident import Incident
from forensics.scratch import scratch_folder
from forensics.sources.files import Input, reading_order
from forensics.sources.reading import Reading

Told = Callable[[int], object]

_SEVERAL = 2
"""Files that must be too large to be read whole before the same time is sought in them."""
_FILES_PAY = 64
"""Files from which a second process pays for its start."""


@dataclass(frozen=True)
class Survey:
    """What the samples hold.

    ``records`` are all records of requests, sides and times settled; ``together`` the
    times of which every file's records are in the sample; ``ahead`` how far the stamps of each
    file are ahead of UTC; ``zoned`` the files of which that is known; ``read`` the bytes read.
    """

    incident: Incident
    looks: list[Look]
    records: pl.DataFrame
    analysis: Analysis
    together: list[timeslices.Span]
    ahead: dict[int, int]
    zoned: set[int]
    read: int

    @property
    def whole(self) -> bool:
        """Say whether every file was read whole, so that counts are exact."""
        return all(seen.whole for seen in self.looks)

    @property
    def factor(self) -> float:
        """How many times the files hold what the samples hold, over all files."""
        read = [seen for seen in self.looks if seen.factor]
        held = sum(seen.size / seen.factor for seen in read)
        return sum(seen.size for seen in read) / held if held else 1.0


def survey(
    inputs: Sequence[Input],
    incident: Incident,
    budget: Budget,
    format_name: str | None = None,
    told: Told = lambda _: None,
) -> Survey:
    """Read no more than the budget of the files and analyse it."""
    counted = _Counted(told)
    with scratch_folder() as folder:
        given = shares([_size(source, budget) for source in inputs], budget)
        plans = [
            Plan(source, share, incident, folder, format_name)
            for source, share in zip(inputs, given, strict=True)
        ]
        plans, wanted = _same_time(plans, counted)
        looks = _looks(plans, counted)
        reading = Reading()
        for seen in looks:
            reading = reading.merge(seen.reading)
        reading.sampled = not all(seen.whole for seen in looks)
        analysis = analyse(reading, incident)
        clocks, epochs = analysis.clocks, analysis.capacity.epochs
        records = observations.load(reading.parts, clocks, epochs).frame
    ahead = _ahead(looks, incident)
    sought = {plan.source.number for plan in plans if plan.ranges}
    held = [(s.places, ahead[s.source.number]) for s in looks if s.source.number in sought]
    together = timeslices.together(held, wanted)
    zoned = _zoned(looks, clocks)
    return Survey(incident, looks, records, analysis, together, ahead, zoned, counted.total)


def _size(source: Input, budget: Budget) -> int:
    """Return how much there is to read; of a stream that is not known beforehand."""
    if source.archive is not None:
        return 0  # its members are read in its place
    return budget.per_file if source.path is None else source.size


class _Counted:
    """Counts the bytes read and tells them on."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self.total = 0

    def __call__(self, count: int) -> None:
        self.total += count
        self._told(count)


def _looks(plans: Sequence[Plan], counted: _Counted) -> list[Look]:
    ordered = sorted(plans, key=lambda plan: reading_order(plan.source))
    movable = all(plan.source.path is not None for plan in plans)
    workers = runners.available_workers() if len(plans) >= _FILES_PAY else 1
    runner = runners.choose(workers, 0, len(plans), movable=movable)
    if runner.elsewhere:
        looks = runners.run(runner, look, ordered)
        for seen in looks:
            counted(seen.read)
    else:
        looks = runners.run(runner, look, ordered, lambda count, _: counted(count))
    return sorted(looks, key=lambda seen: seen.source.number)


def _same_time(plans: list[Plan], counted: _Counted) -> tuple[list[Plan], list[timeslices.Stretch]]:
    """Plan to read the same times of all files that are too large to be read whole.

    A quarter of each share goes into a first glance, which tells how late what place is; its
    places are read again with the others, since a reader gets a file's sample in one piece.
    """
    large = [
        plan for plan in plans if plan.source.size > plan.share > 0 and plan.source.stored is None
    ]
    if len(large) < _SEVERAL:
        return plans, []
    asked = plans[0].incident
    seen = {plan.source.number: glance(plan.source, plan.share // 4, counted) for plan in large}
    ordered = {
        number: _placed(found, asked.logs.timezone)
        for number, found in seen.items()
        if found is not None and found.sorted
    }
    least = min((plan.share for plan in large if plan.source.number in ordered), default=0)
    wanted = timeslices.stretches(list(ordered.values()), least, asked.window_us)
    return [_again(plan, seen, ordered, wanted, counted) for plan in plans], wanted


def _again(
    plan: Plan,
    seen: dict[int, Glance | None],
    ordered: dict[int, Glance],
    wanted: list[timeslices.Stretch],
    counted: _Counted,
) -> Plan:
    """Return the plan with what a glance left of its share, and the places to read with it."""
    number = plan.source.number
    if number not in seen:
        return plan
    if seen[number] is None:
        return replace(plan, share=max(plan.share - FIRST, plan.share // 2))
    if number not in ordered:
        return replace(plan, share=plan.share * 3 // 4)
    ranges = timeslices.ranges(ordered[number], wanted, plan.share, counted)
    return replace(plan, share=plan.share * 5 // 8, ranges=ranges)


def _placed(found: Glance, zone: str | None) -> Glance:
    """Return a glance with the stated zone, where its stamps show none."""
    if zone is None or not found.naive:
        return found
    return replace(found, ahead=_offset_of(zone, found.places[0][1]))


def _ahead(looks: Sequence[Look], incident: Incident) -> dict[int, int]:
    """Return by how much each file's stamps are ahead of UTC, microseconds."""
    clock = sum((seen.reading.clock for seen in looks), start=type(looks[0].reading.clock)())
    offsets = Clocks.infer(clock, None).offsets
    return {
        seen.source.number: _offset(seen, offsets, incident.logs.timezone) if seen.naive else 0
        for seen in looks
    }


def _offset(seen: Look, offsets: dict[str, int], zone: str | None) -> int:
    if zone is None or seen.first is None:
        return offsets.get(seen.facts.node, 0)
    return _offset_of(zone, seen.first)


def _offset_of(zone: str, at: int) -> int:
    """Return how far a zone is ahead of UTC at a time as written, microseconds."""
    written = datetime.fromtimestamp(at / 1e6, UTC).replace(tzinfo=ZoneInfo(zone))
    shift = written.utcoffset()
    return int(shift.total_seconds() * 1e6) if shift is not None else 0


def _zoned(looks: Sequence[Look], clocks: Clocks) -> set[int]:
    """Return the files whose stamps can be put on UTC without assuming anything."""
    return {
        seen.source.number
        for seen in looks
        if not seen.naive or clocks.timezone is not None or seen.facts.node in clocks.offsets
    }
