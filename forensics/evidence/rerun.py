"""Make a report again from what its manifest holds, and compare every byte.

The inputs go by the names they had, wherever they lie now, and the incident is the one
that was judged by: a moved log or an edited incident file makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from forensics.case import read_inputs
from forensics.errors import Exit, UsageError
from forensics.evidence.compare import Difference, first_difference
from forensics.evidence.faults import Fault
from forensics.evidence.folder import recorded
from forensics.evidence.inputs import Located, locate
from forensics.evidence.madeby import drawn_alike, printed_alike, same_build, tools
from forensics.evidence.record import Record
from forensics.evidence.seal import MANIFEST, SUMS, files_in
from forensics.incident import parse
from forensics.manifest import Run
from forensics.scratch import scratch_folder
from forensics.sources.files import STDIN, relabelled
from forensics.sources.reading import Progress
from forensics.wording import count


class Rerun(Struct, frozen=True):
    """What came of making a report again."""

    folder: str
    files: int
    inputs: int
    differences: list[Difference]
    changed: list[Fault]
    gone: list[Fault]
    notes: list[str]

    @property
    def exit_code(self) -> Exit:
        """The exit code of ``rerun``."""
        if self.changed or self.differences:
            return Exit.MISMATCH
        return Exit.NO_INPUT if self.gone else Exit.COMPLETE

    def __str__(self) -> str:
        if self.changed or self.gone:
            what = f"{len(self.changed)} changed and {len(self.gone)} missing"
            return f"{self.folder}: not made again: {what} of {count(self.inputs, 'input')}"
        inputs, files = count(self.inputs, "input"), count(self.files, "file")
        if self.differences:
            differ = len(self.differences)
            return f"{self.folder}: differs: {differ} of {files} made again from {inputs}"
        return f"{self.folder}: the same bytes again from {inputs}: {files}"


def rerun(folder: Path, logs: Sequence[str] = (), progress: Progress | None = None) -> Rerun:
    """Make the report in ``folder`` again in a private place and compare.

    Args:
        folder: a finished report.
        logs: where its inputs may lie by now, if not where they lay.
        progress: called with the numbers of bytes and of records just read.

    Raises:
        NoInputError: there is no report.
        UsageError: it cannot be made again, whatever its inputs.
    """
    sealed, record = recorded(folder)
    _refuse(record)
    found = locate(record.inputs, logs)
    changed = [Fault(item.source.name, item.what) for item in found if item.state == "changed"]
    gone = [Fault(item.source.name, item.what) for item in found if item.state == "gone"]
    notes = list(_notes(record))
    differences: list[Difference] = []
    files = {name for name in sealed.files if name not in (MANIFEST, SUMS)}
    if not changed and not gone:
        with scratch_folder() as place:
            made = place / "report"
            _make(record, found, made, progress)
            files |= set(files_in(made)) - {MANIFEST, SUMS}
            found_in = (_compared(name, folder, made, record) for name in sorted(files))
            differences = [difference for difference in found_in if difference is not None]
    return Rerun(str(folder), len(files), len(found), differences, changed, gone, notes)


def _refuse(record: Record) -> None:
    if record.kind != "report":
        raise UsageError("only a report can be made again")
    if any(source.name == STDIN for source in record.inputs):
        raise UsageError("one input was standard input: its bytes are not kept, so not again")
    if not {"format", "workers"} <= record.arguments.keys():
        raise UsageError("the manifest lacks the arguments of the run")


def _make(record: Record, found: list[Located], made: Path, progress: Progress | None) -> None:
    named = [item.input for item in found]
    run = Run(arguments=dict(record.arguments))
    with_pdf = record.arguments.get("pdf") is True
    case = read_inputs(relabelled(named), parse(record.incident), run, progress)
    case.report(made, pdf=with_pdf)


def _notes(record: Record) -> Iterator[str]:
    """Say what is not as it was, though it need not make a difference."""
    version, packages = tools()
    if record.tool.version == version and not same_build(record):
        yield f"made by another build of version {version}"
    if record.tool.version != version:
        yield f"made by version {record.tool.version}; this is {version}"
    for name, now in packages.items():
        if record.dependencies.get(name) != now:
            yield f"{name} was {record.dependencies.get(name)}; this is {now}"
    if not drawn_alike(record):
        yield "report.html and report.md hold what differs there and are not compared"
    if record.arguments.get("pdf") is True and not printed_alike(record):
        yield "report.pdf was made by another build or typst and is not compared"
    if record.incident_file is not None:
        for located in locate([record.incident_file, *record.incident_file.profiles]):
            if located.state != "same":
                yield f"{located.source.name} {located.what}; judged by the incident as it was"


def _compared(name: str, old: Path, new: Path, record: Record) -> Difference | None:
    before, after = old / name, new / name
    if before.is_file() and after.is_file() and before.read_bytes() == after.read_bytes():
        return None
    if name == "report.pdf" and not printed_alike(record):
        return None
    if (record.tool.version, record.dependencies) == tools() and same_build(record):
        bytes_alone = Difference(name, "the bytes, not the values", "(bytes)", "(bytes)")
        return first_difference(name, before, after) or bytes_alone
    if name in ("report.html", "report.md") and not drawn_alike(record):
        return None
    return first_difference(name, before, after, ignoring=("tool.version",))
