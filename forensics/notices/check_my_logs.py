#!/usr/bin/env python3
"""Find the requests of this notice in your own logs, on your own machine.

    python3 check_my_logs.py LOG... [--field NAME] [--found FILE]

LOG is CSV (with a header; between its cells "," ";" "|" or a tab), one JSON object a line, or one
JSON document with a list of them; in UTF-8, or in UTF-16 or UTF-32 with a byte order mark; plain
or gzip. Only the field that holds the request id is looked at. Nothing is sent anywhere. What is
printed holds counts, hashes of ids and versions, and no content, no id, no file name: it is what
you can send back. A log that cannot be read, or holds no request id, is told of by its place.

Needs Python 3.9 or later and nothing else.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import gzip
import hashlib
import io
import json
import os
import sys
import zlib
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = "3"
FIELDS = ("request_id", "x_request_id", "response_id", "completion_id", "id")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
BEGIN = 200  # lines in which the first record, or the header, has to be
HERE = Path(__file__).resolve().parent
FOUND_ALL, NOT_ALL, NOT_USABLE, DAMAGED = 0, 1, 2, 7


class NoTextError(Exception):
    """A log is in no encoding that is known here."""


class Search:
    """What is looked for, and what was found of it so far."""

    def __init__(self, fields: tuple[str, ...], listed: set[str]) -> None:
        self.wanted = {plain(name) for name in fields}
        self.listed = listed
        self.found: set[str] = set()
        counted = ("files", "files_without_id", "records", "records_with_id", "unreadable_records")
        self.seen = dict.fromkeys(counted, 0)

    def log(self, name: str) -> str | None:
        """Look through one log; return what has to be said of it."""
        before = dict(self.seen)
        with opened(name) as file, text_of(file) as lines:
            self.seen["files"] += 1
            for row in self.records(lines):
                self.record(row)
        new = {what: number - before[what] for what, number in self.seen.items()}
        if not new["records_with_id"]:
            self.seen["files_without_id"] += 1
            return "no record has a request id"
        without = new["records"] - new["records_with_id"]
        odd = {"lines or rows are no record": new["unreadable_records"]}
        odd["records have no request id"] = without
        return "; ".join(f"{number} {what}" for what, number in odd.items() if number) or None

    def record(self, row: dict[str, Any]) -> None:
        """Look at the ids of one record."""
        self.seen["records"] += 1
        ids = (value for name, value in row.items() if plain(name) in self.wanted)
        values = {str(value).strip() for value in ids if isinstance(value, (str, int))} - {""}
        self.seen["records_with_id"] += bool(values)
        self.found |= values & self.listed

    def records(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the records of a log in whichever form it is; count what is none."""
        lines = iter(lines)
        begin = list(islice(lines, BEGIN))
        every = chain(begin, lines)
        if whole(begin):
            return self.document("".join(every))
        if any(an_object(line) for line in begin):
            return self.objects(every)
        return self.table(begin, every)

    def document(self, text: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of one JSON document: its own list, or a list that it holds."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            yield from self.objects(io.StringIO(text, newline=""))
            return
        rows = found if isinstance(found, list) else [found, *held_by(found)]
        for row in rows:
            if isinstance(row, dict):
                yield row
            else:
                self.seen["unreadable_records"] += 1

    def objects(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield one JSON object a line; count the lines that hold none."""
        for line in lines:
            row = an_object(line)
            if row:
                yield row
            elif line.strip():
                self.seen["unreadable_records"] += 1

    def table(self, begin: list[str], lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows below the header; count the lines above it, and rows of other lengths."""
        at, mark = self.header(begin)
        self.seen["unreadable_records"] += sum(bool(line.strip()) for line in islice(lines, at))
        # Strict: a quotation mark that is never closed would hide all that comes after it.
        rows = csv.reader(lines, delimiter=mark, strict=True)
        names = next(rows, [])
        for row in rows:
            if row:
                self.seen["unreadable_records"] += len(row) != len(names)
                yield {names[at]: cell for at, cell in enumerate(row[: len(names)])}

    def header(self, begin: list[str]) -> tuple[int, str]:
        """Return the place of the line that names a field that is looked for, and its mark."""
        for at, line in enumerate(begin):
            for mark in ",;\t|":
                cells = next(csv.reader([line.strip()], delimiter=mark), [])
                if self.wanted & {plain(cell) for cell in cells}:
                    return at, mark
        return len(begin), ","


def opened(name: str) -> BinaryIO:
    """Open a log, whatever its name is: gzip is told by its first bytes."""
    with Path(name).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast("BinaryIO", gzip.open(name) if packed else Path(name).open("rb"))


def text_of(file: BinaryIO) -> io.TextIOWrapper:
    """Return a log as lines of text; raise where it is none."""
    head = cast("io.BufferedReader", file).peek(4096)[:4096]
    encoding = next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")
    shown = head.decode(encoding, "replace")
    strange = sum(sign == "\ufffd" or sign < "\t" for sign in shown)
    if "\0" in shown or strange > len(shown) / 4:
        raise NoTextError
    return io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")


def whole(begin: list[str]) -> bool:
    """Say whether a log is one JSON document and not one object a line."""
    lines = [line.strip() for line in begin if line.strip()]
    start = "".join("".join(line[:9] for line in lines[:9]).split())[:2]
    if not lines or start[:1] not in ("{", "["):
        return False
    return len(lines) == 1 or start in ("[{", "[]") or lines[0][-1] in "{[,"


def held_by(found: Any) -> Iterator[Any]:
    """Yield what the lists of an object hold."""
    for value in found.values() if isinstance(found, dict) else ():
        yield from value if isinstance(value, list) else ()


def an_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object of a line, if it holds one."""
    try:
        row = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def plain(name: Any) -> str:
    """Return the name of a field as it is compared: ``Request-ID`` is ``request_id``."""
    return "".join(sign for sign in str(name).lower() if sign.isalnum()) or str(name)


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
    for number, name in enumerate(logs, 1):
        place = f"log {number} of {len(logs)}"  # a name could say something
        try:
            said = search.log(name)
        except NoTextError:
            return f"{place} cannot be read: no text in UTF-8, nor in UTF-16 with its mark"
        except (OSError, EOFError, zlib.error, csv.Error, UnicodeError, MemoryError) as error:
            return f"{place} cannot be read ({type(error).__name__})"
        if said:
            complain(f"{place}: {said}", FOUND_ALL)
    if not search.seen["records_with_id"]:
        return "no record has a request id; name its field with --field"
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
    parser.add_argument("logs", nargs="+", metavar="LOG", help="CSV or JSON, plain or gzip")
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
