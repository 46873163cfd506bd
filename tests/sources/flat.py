"""The same rows as NDJSON, CSV and Parquet, for the tests of plain records."""

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOM = 2**63 - 2
"""Above 2^53: any way through a float loses it."""
SOME = {"request_id": "r-1", "received_at": "2026-02-03T04:05:06Z"}


def ndjson(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: "" if value is None else value for name, value in row.items()} for row in rows
    )
    return text.getvalue().encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {
        name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


FORMS = {"ndjson": ndjson, "csv": as_csv, "parquet": parquet}


def column_of(read, form, name, pairs, **incident):
    """Read each value under the column; return what was made of them, and the file's facts."""
    file, write = form
    seen = read(write([SOME | {name: value} for value, _ in pairs]), file, **incident)
    assert seen.facts.kept == len(pairs), "the records stay, without the value"
    assert seen.facts.bad_values[name] == sum(expected is None for _, expected in pairs)
    return dict(enumerate(seen.column(name)))


def wanted(pairs):
    return dict(enumerate(expected for _, expected in pairs))
