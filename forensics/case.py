"""The case: what was read, judged and found, with one accessor per question."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from forensics import runners, tables, verdicts
from forensics.analysis import Analysis, analyse
from forensics.assemble import assemble
from forensics.cards import Table, card
from forensics.errors import NoInputError, UsageError
from forensics.exposure import Exposure
from forensics.incident import Incident, load, profile_files, with_verdicts
from forensics.lineage import lineage
from forensics.manifest import Run, arguments, incident_file, own_file
from forensics.scratch import scratch_folder
from forensics.sources.files import Input, expand, on_disk, reading_order, settings_of
from forensics.sources.overlap import distinct
from forensics.sources.reading import Progress, Reading, Shard, nothing_readable, read_shard
from forensics.sources.settings import adopted
from forensics.timing import percentiles
from forensics.timing import tables as timing_tables

if TYPE_CHECKING:
    from forensics.evidence.explaintext import Explained
    from forensics.evidence.reporttables import ReportTables
    from forensics.notices.write import Asked, Notices
    from forensics.reporting import Report


class Case:
    """One incident: requests with their verdicts and everything made from them.

    Made by :func:`forensics.read_logs`. Tables convert with ``.polars()``,
    ``.pandas()`` and ``.arrow()``; nothing here changes after reading.
    """

    def __init__(self, analysis: Analysis, run: Run | None = None) -> None:
        self.analysis = analysis
        self.run = run or Run()

    @cached_property
    def _exposure(self) -> Exposure:
        self.analysis.finish()
        return assemble(self.analysis)

    def exposure(self) -> Exposure:
        """Return the frozen document that every rendering is made from."""
        return self._exposure

    @property
    def requests(self) -> Table:
        """Every request and attempt with rung, tier, reasons and missing values."""
        return Table("requests", partial(tables.request_table, self.analysis.requests))

    @property
    def affected(self) -> Table:
        """Requests of the tiers confirmed, probable and possible."""
        rows = tables.affected(self.analysis.requests)
        return Table("affected requests", partial(tables.request_table, rows))

    @property
    def ruled_out(self) -> Table:
        """Requests that were over, rejected, short or mismatched and were ruled out."""
        rows = tables.ruled_out(self.analysis.requests)
        return Table("ruled out", partial(tables.request_table, rows))

    @property
    def not_assessable(self) -> Table:
        """Requests that could not be judged, with what is missing."""
        rows = tables.not_assessable(self.analysis.requests)
        return Table("not assessable", partial(tables.request_table, rows))

    @property
    def tenants(self) -> Table:
        """One row per tenant and population, recipient or source; never to be added up."""
        return Table("tenants", partial(tables.tenants, self._exposure))

    @property
    def sources(self) -> Table:
        """Pairs of affected response and tenant that may have written the pages it read."""
        return Table("possible sources", partial(tables.source_pairs, self.analysis.pairs))

    @property
    def capacity(self) -> Table:
        """Capacity epochs with limits, gaps and changed settings."""
        make = partial(tables.capacity, self.analysis, self._exposure)
        return Table("capacity epochs", make)

    @property
    def timing(self) -> Table:
        """5th percentile of prefill time per day and prompt-length bucket."""
        rows = self.analysis.requests
        return Table("prefill time", lambda: percentiles.p5(percentiles.histogram(rows)))

    @property
    def odd_times(self) -> Table:
        """Requests whose prefill was too fast or slow for its tokens, and their cluster."""
        return Table("odd prefill times", partial(timing_tables.flagged, self.analysis))

    @property
    def timing_clusters(self) -> Table:
        """Clusters of these, what each looks like, and why."""
        return Table("timing clusters", partial(timing_tables.clusters, self.analysis))

    @property
    def coverage(self) -> Table:
        """Records per node, hop and hour, with missing hours."""
        return Table("coverage", partial(tables.coverage, self.analysis))

    @property
    def unreadable(self) -> Table:
        """File, line, byte offset and reason of each unread record; never the record."""
        return Table("unreadable", partial(tables.unreadable, self.analysis))

    def lineage(self) -> pl.DataFrame:
        """Return where each value of each listed request was read."""
        rows = verdicts.listed(self.analysis.requests)
        return lineage(rows, self.analysis.observations, self.analysis.files)

    def report(
        self, out: str | os.PathLike[str], *, force: bool = False, pdf: bool = False
    ) -> Report:
        """Write the report into a new folder, whole or not at all; ``pdf`` adds ``report.pdf``.

        Raises:
            OutputExistsError: ``out`` exists and ``force`` is not set.
            UsageError: a PDF is asked for and typst is not installed.
        """
        from forensics.reporting import write_report

        return write_report(self, Path(out), force=force, with_pdf=pdf)

    def notify(
        self,
        out: str | os.PathLike[str],
        *,
        report: str | os.PathLike[str] | None = None,
        asked: Asked | None = None,
    ) -> Notices:
        """Write one packet per tenant and population into a new folder.

        Args:
            out: the new folder.
            report: a finished report of the case; by default the one written last.
            asked: key, contacts, templates and the like.

        Raises:
            UsageError: no report was written yet.
            VerificationError: the report is not what was written.
            PrivacyError: a packet holds something of another tenant.
        """
        from forensics.notices.write import write_notices

        place = self.run.arguments.get("out") if report is None else report
        if place is None:
            raise UsageError("notices are made from a finished report; write it first")
        return write_notices(on_disk(os.fspath(place)), Path(out), asked)

    def explain(self, request: str) -> Explained:
        """Show each value of a listed request, where it was read, and what decided.

        Args:
            request: its id, prefill's id of it, or the hand-off's.

        Raises:
            UsageError: no table of the case lists it.
        """
        from forensics.evidence.explain import explain
        from forensics.evidence.explaintext import Explained

        return Explained(explain(self._as_report, request))

    @cached_property
    def _as_report(self) -> ReportTables:
        from forensics.evidence.reporttables import ReportTables

        return ReportTables.of_case(self)

    def __repr__(self) -> str:
        return card(self._exposure)

    def _repr_html_(self) -> str:
        from forensics.cards import card_html

        return card_html(self._exposure)


def read_logs(
    *paths: str | os.PathLike[str],
    incident: Incident | str | Path | None = None,
    format: str | None = None,  # noqa: A002 -- the name of the option everywhere else
    workers: int | None = None,
    progress: Progress | None = None,
    verdicts: str | Path | None = None,
) -> Case:
    """Read logs and judge every request in them.

    Args:
        paths: files, folders, globs, or ``-`` for standard input.
        incident: the incident file, or None to ask about everything.
        format: name of a format; None detects it for each file.
        workers: processes; None decides by the size of the input.
        progress: called with the numbers of bytes and of records just read.
        verdicts: ``verdicts.csv`` with attestations, in place of the one that the incident names.

    Returns:
        The case.

    Raises:
        NoInputError: nothing was given, found or recognised.
        IncidentError: the incident file cannot be right.
    """
    asked = with_verdicts(load(incident), Path(verdicts) if verdicts is not None else None)
    own = [Path(item) for item in (incident, verdicts) if isinstance(item, str | Path)]
    own += profile_files(Path(incident)) if isinstance(incident, str | Path) else []
    run = Run(
        arguments=arguments(paths, incident, format, workers),
        started_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        incident_file=incident_file(incident),
        verdicts_file=own_file(verdicts) if verdicts is not None else None,
    )
    return read_inputs(expand(*paths, leave_out=own), asked, run, progress)


def read_inputs(
    inputs: list[Input], incident: Incident, run: Run, progress: Progress | None = None
) -> Case:
    """Read inputs that were found already; see :func:`read_logs`.

    Args:
        inputs: files under the names they are to be known by.
        incident: what is asked.
        run: its arguments give format and workers; the stages' seconds are added.
        progress: called with the numbers of bytes and of records just read.

    Raises:
        NoInputError: none of them is recognised.
        UsageError: an evidence set was read by other settings than the incident states.
        VerificationError: an evidence set is not what was written.
    """
    format_name, workers = run.arguments["format"], run.arguments["workers"]
    incident = adopted(incident, settings_of(inputs))
    inputs, run.left_out = distinct(inputs, incident)
    run.held = {source.number: source.stored for source in inputs if source.stored is not None}
    begun = time.perf_counter()
    with scratch_folder() as folder:
        reading = _read(inputs, incident, folder, format_name, workers, progress)
        run.seconds["read"] = time.perf_counter() - begun
        _refuse_nothing(reading)
        begun = time.perf_counter()
        analysis = analyse(reading, incident)
        run.seconds["judge"] = time.perf_counter() - begun
    return Case(analysis, run)


def _read(
    inputs: list[Input],
    incident: Incident,
    folder: Path,
    format_name: str | None,
    workers: int | None,
    progress: Progress | None,
) -> Reading:
    # In the order of archives: each is gone through once.
    inputs = sorted(inputs, key=reading_order)
    shards = [Shard((source,), incident, folder, format_name) for source in inputs]
    told = progress or (lambda _bytes, _records: None)
    size = sum(source.size for source in inputs)
    movable = all(source.path is not None for source in inputs)
    runner = runners.choose(workers, size, len(shards), movable=movable)
    states = runners.run(runner, read_shard, shards, told)
    reading = Reading()
    for state in sorted(states, key=lambda state: state.files[0].number):
        reading = reading.merge(state)
    return reading


def _refuse_nothing(reading: Reading) -> None:
    """Raise where no file was recognised and held a record: a report on nothing looks clean."""
    if any(facts.recognised for facts in reading.files):
        return
    raise NoInputError(nothing_readable(reading.files))
