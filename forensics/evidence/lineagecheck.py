"""Rows of a report's lineage against the lines that they name, where a reader of lines tells.

That each value is what the line says is shown by ``rerun`` alone. Here a row is a fault if its
file has no such line, or if the line is that of another request: it lacks the identifier that
the row read there, which another line of the file has, or other requests alone were read there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from forensics.evidence.faults import Fault
from forensics.evidence.files import untouched
from forensics.evidence.folder import Sealed
from forensics.evidence.inputs import Located
from forensics.evidence.reporttables import EVIDENCE_FILE, ReportTables
from forensics.incident import Incident
from forensics.sources.blocks import Block, Opened
from forensics.sources.detect import detect
from forensics.sources.packing import DamagedStreamError

_BY_LINE = {"sglang", "vllm", "plain-ndjson", "sglang-exporter"}
"""Formats each record of which is one line of its file."""
_IDS = ("request_id", "transfer_id", "trace_id")
_MOST_NAMED = 20
_MOST_SOUGHT = 200
"""Identifiers of one file that are sought in its other lines."""
_Absent = tuple[int, int, bytes]
_REQUEST = ["request_id", "attempt"]


def check(sealed: Sealed, inputs: Sequence[Located]) -> list[Fault]:
    """Return a fault for each row that names a line which is none of its request's.

    Args:
        sealed: the folder; where its lineage is not what was written, that is named already.
        inputs: where the inputs lie; of those that are not what was read, no row is looked at.
    """
    trusted = untouched(sealed)
    if sealed.record is None or sealed.record.kind != "report" or EVIDENCE_FILE not in trusted:
        return []
    try:
        rows = ReportTables(sealed.path, trusted, sealed.record).table(EVIDENCE_FILE)
        rows = rows.with_row_index("row", offset=1).filter(pl.col("line").is_not_null())
        there = {item.source.name: item for item in inputs if item.state == "same"}
        found = [
            fault
            for (name,), own in sorted(rows.group_by("file"))
            if name in there and there[name].stored is None
            for fault in _of_file(there[name], own)
        ]
    except (LookupError, TypeError, ValueError, OSError, pl.exceptions.PolarsError):
        return [Fault(EVIDENCE_FILE, "cannot be compared with the inputs: not in its form")]
    return _named(sorted(found))


def _named(found: list[tuple[int, str]]) -> list[Fault]:
    faults = [Fault(EVIDENCE_FILE, f"row {row}: {what}") for row, what in found[:_MOST_NAMED]]
    more = len(found) - len(faults)
    if more:
        faults.append(Fault(EVIDENCE_FILE, f"{more:,} further rows name lines of others"))
    return faults


def _of_file(item: Located, rows: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield number and fault of the rows that name a wrong line of one file."""
    name = item.source.name
    looked = _looked(item, rows)
    if looked is None:
        return
    absent, number = looked
    beyond = rows.filter(~pl.col("line").is_between(1, number))
    for row, line in beyond.select("row", "line").rows():
        yield row, f"{name} has no line {line}"
    # What no line has is written in another way there; that is no fault.
    there = _anywhere(item, {one for _, _, one in absent})
    for row, line, one in absent:
        if one in there:
            yield row, f"line {line} of {name} is none of its request's"
    for row, line in _others(rows).select("row", "line").rows():
        yield row, f"line {line} of {name} is that of another request"


def _others(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows at lines whose identifiers are all of other requests."""
    known = rows.filter(pl.col("column").is_in(_IDS)).select(*_REQUEST, "line").unique()
    strange = rows.join(known, on=[*_REQUEST, "line"], how="anti", nulls_equal=True)
    return strange.join(known.select("line").unique(), on="line", how="semi")


def _looked(item: Located, rows: pl.DataFrame) -> tuple[list[_Absent], int] | None:
    """Return identifiers that are not in the line that they were read from, and how many lines.

    None where the file is none that is read line by line.
    """
    own = rows.filter(pl.col("column") == "request_id", pl.col("value").is_not_null())
    ids: dict[int, list[tuple[int, bytes]]] = {}
    for row, line, value in own.select("row", "line", "value").rows():
        ids.setdefault(line, []).append((row, value.encode()))
    absent: list[_Absent] = []
    last = 0
    for block in _blocks(item):
        starts = [*block.starts.tolist(), len(block.data)]
        for place in range(len(starts) - 1):
            last = block.number(place)
            if last in ids:
                text = block.data[starts[place] : starts[place + 1]]
                absent += [(row, last, one) for row, one in ids[last] if not _in(one, text)]
    return (sorted(absent)[:_MOST_SOUGHT], last) if last else None


def _in(one: bytes, text: bytes) -> bool:
    return one in text or b"\\" in text  # an escape may write it in another way


def _anywhere(item: Located, ids: set[bytes]) -> set[bytes]:
    """Return which identifiers stand in some line."""
    blocks = _blocks(item) if ids else ()
    return {one for block in blocks for one in ids if one in block.data}


def _blocks(item: Located) -> Iterator[Block]:
    """Yield the lines of a file each of which is a record; none of another one."""
    with Opened(item.input) as opened:
        try:
            told = detect(opened, Incident())
            if told.format is not None and told.format.name in _BY_LINE and not told.stack.layers:
                yield from told.stack.source.blocks()
        except DamagedStreamError:
            return  # the lines up to there are what was read
