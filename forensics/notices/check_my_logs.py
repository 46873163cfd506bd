#!/usr/bin/env python3
"""Find the requests of this notice in your own logs, on your own machine.

    python3 check_my_logs.py LOG... [--field NAME] [--found FILE]

LOG is CSV (with a header) or one JSON object a line, plain or .gz. Only the field that holds
the request id is looked at. Nothing is sent anywhere. What is printed holds counts, hashes of
ids and versions, and no content, no id, no file name: it is what you can send back.

Needs Python 3.9 or later and nothing else.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = "2"
FIELDS = ("request_id", "response_id", "completion_id", "id")
HERE = Path(__file__).resolve().parent
FOUND_ALL, NOT_ALL, NOT_USABLE, DAMAGED = 0, 1, 2, 7


class Search:
    """What is looked for, and what was found of it so far."""

    def __init__(self, fields: tuple[str, ...], listed: set[str]) -> None:
        self.fields = fields
        self.listed = listed
        self.found: set[str] = set()
        counted = ("files", "files_without_id", "records", "records_with_id", "unreadable_records")
        self.seen = dict.fromkeys(counted, 0)

    def log(self, name: str) -> bool:
        """Look through one log; say whether any record of it has an id."""
        before = self.seen["records_with_id"]
        with gzip.open(name) if name.endswith(".gz") else Path(name).open("rb") as file:
            text = io.TextIOWrapper(
                cast("BinaryIO", file), encoding="utf-8-sig", errors="replace", newline=""
            )
            first = text.readline()
            self.seen["files"] += 1
            lines = chain(first, text)
            is_json = first.lstrip().startswith("{")
            for row in self.objects(lines) if is_json else csv.DictReader(lines):
                self.record(row)
        with_id = self.seen["records_with_id"] > before
        self.seen["files_without_id"] += not with_id
        return with_id

    def record(self, row: dict[str, Any]) -> None:
        """Look at the ids of one record."""
        self.seen["records"] += 1
        values = [str(row[name]) for name in self.fields if isinstance(row.get(name), (str, int))]
        self.seen["records_with_id"] += bool(values)
        self.found.update(value for value in values if value in self.listed)

    def objects(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield one JSON object a line; count the lines that hold none."""
        for line in lines:
            try:
                row = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                row = None
            if row and isinstance(row, dict):
                yield row
            elif line.strip():
                self.seen["unreadable_records"] += 1


def main(arguments: list[str] | None = None) -> int:
    """Run the check; exit 0: all found, 1: not all, 2: not usable, 7: the packet is damaged."""
    asked = parsed(arguments)
    if damaged():
        return complain("a file of this packet is not what was sent; ask for it again", DAMAGED)
    facts, listed = packet()
    search = Search((asked.field,) if asked.field else FIELDS, listed)
    csv.field_size_limit(2**31 - 1)
    if asked.found and not free(asked.found):
        return complain("the file for the ids cannot be made; name a new one", NOT_USABLE)
    if fault := searched(search, asked.logs) or kept(asked.found, search.found):
        return complain(fault, NOT_USABLE)
    if not listed:
        complain("this packet lists no single request: there was nothing to look for", FOUND_ALL)
    sys.stdout.write(json.dumps(attestation(facts, search), indent=2, sort_keys=True) + "\n")
    return FOUND_ALL if search.found == listed else NOT_ALL


def searched(search: Search, logs: list[str]) -> str | None:
    """Look through all logs; return why they are of no use, or None."""
    without = []
    for number, name in enumerate(logs, 1):
        try:
            without += [] if search.log(name) else [number]
        except (OSError, EOFError, zlib.error, csv.Error) as error:
            return f"a log cannot be read ({type(error).__name__})"
    if not search.seen["records_with_id"]:
        return "no record has a request id; name its field with --field"
    for number in without:  # by its place: a name could say something
        complain(f"log {number} of {len(logs)}: no record has a request id", FOUND_ALL)
    return None


def kept(name: str | None, found: set[str]) -> str | None:
    """Write the ids that were found where that is asked for; return why it failed, or None."""
    try:
        if name:
            keep(name, found)
    except OSError as error:
        return f"the file for the ids cannot be made ({type(error).__name__})"
    return None


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="check_my_logs.py", description="Find the requests of this notice in your own logs."
    )
    parser.add_argument("logs", nargs="+", metavar="LOG", help="CSV or NDJSON, plain or .gz")
    parser.add_argument("--field", help="field with the request id; default: the usual names")
    parser.add_argument("--found", metavar="FILE", help="new local file with the ids found")
    return parser.parse_args(arguments)


def complain(text: str, code: int) -> int:
    """Say something on stderr and return the exit code."""
    sys.stderr.write(f"check_my_logs.py: {text}\n")
    return code


def damaged() -> bool:
    """Say whether a file of the packet has another hash than its SHA256SUMS states."""
    try:
        lines = read("SHA256SUMS").decode("ascii").splitlines()
        stated = {line[66:]: line[:64] for line in lines}
        now = {name: hashlib.sha256(read(Path(name).name)).hexdigest() for name in stated}
    except (OSError, UnicodeDecodeError):
        return True
    return stated != now or not {"facts.json", "requests.jsonl"} <= stated.keys()


def packet() -> tuple[dict[str, Any], set[str]]:
    """Return the facts of the packet and the request ids that it lists."""
    rows = [json.loads(line) for line in read("requests.jsonl").decode("utf-8").splitlines()]
    facts = json.loads(read("facts.json").decode("utf-8"))
    return facts, {row["request_id"] for row in rows if row["request_id"] is not None}


def read(name: str) -> bytes:
    """Return the bytes of a file of the packet."""
    return (HERE / name).read_bytes()


def chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    """Yield a line that was read already, and the others."""
    yield first
    yield from rest


def free(name: str) -> bool:
    """Say whether a new file can have this name: to be known before the logs are searched."""
    return not os.path.lexists(name) and Path(name).parent.is_dir()


def keep(name: str, found: set[str]) -> None:
    """Write the ids that were found into a new file for its owner's eyes."""
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{item}\n" for item in sorted(found))


def attestation(facts: dict[str, Any], search: Search) -> dict[str, Any]:
    """Return what may be sent back: counts, hashes and versions."""
    return {
        "checker_version": VERSION,
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "notice": facts["notice"],
        "packet_sha256": hashlib.sha256(read("SHA256SUMS")).hexdigest(),
        "ids_listed": len(search.listed),
        "ids_found": len(search.found),
        "ids_not_found": len(search.listed - search.found),
        "ids_found_sha256": digest(search.found),
        "ids_listed_sha256": digest(search.listed),
        "logs": search.seen,
    }


def digest(ids: set[str]) -> str:
    """Return one hash of all ids, in their order."""
    return hashlib.sha256("".join(f"{item}\n" for item in sorted(ids)).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
