"""Which wrapper a file is in: told by what its first lines look like."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice

import msgspec

from forensics.sources import colours
from forensics.sources.isjson import is_json
from forensics.sources.wrappers import (
    answers,
    delimiters,
    documents,
    journalexport,
    jsonforms,
    launchers,
    lists,
    logfmt,
    objects,
    otellogs,
    podtext,
    processes,
    shipped,
    storetext,
    syslogtext,
    tables,
    textforms,
)
from forensics.sources.wrappers.inner import Inner, Partly, Unwrapping
from forensics.sources.wrappers.lines import LineByLine, Parse, Taken

_LINES = 200
_SHARE = 0.8
"""Share of the first lines that must be of a wrapper: what a process prints as it dies is not."""
_NEAR = 64 << 10
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, ArithmeticError)
Names = dict[str, str]


class Head:
    """As much of the beginning of a file as a wrapper is told by; all kinds look at the same."""

    def __init__(self, head: bytes) -> None:
        self.data = b"\n".join(head.split(b"\n", 2 * _LINES)[: 2 * _LINES])

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines that hold anything."""
        lines = (line.rstrip(b"\r") for line in self.data.split(b"\n"))
        return list(islice((line for line in lines if line.strip()), _LINES))


@dataclass(frozen=True)
class Wrapper:
    """One kind of wrapper. ``weak`` is taken off only where no format is told with it on."""

    name: str
    title: str
    tells: Callable[[Head, Names], bool]
    start: Callable[[Names], Unwrapping]
    weak: bool = False


def _most(lines: Sequence[bytes], parse: Callable[[bytes], object]) -> bool:
    """Say whether most lines are of a wrapper; the last may be cut."""
    seen = lines[:-1] if len(lines) > 1 else lines
    left = int((1 - _SHARE) * len(seen))
    for line in seen:
        left -= parse(line) is None
        if left < 0:
            return False
    return bool(seen)


def _json_parse(form: jsonforms.JsonForm) -> Parse:
    decode = msgspec.json.Decoder(form.record).decode

    def parse(line: bytes) -> Taken:
        try:
            return form.inner(decode(line))
        except FAULTS:
            return None

    return parse


def _json(form: jsonforms.JsonForm, *, loosely: bool = False) -> Wrapper:
    parse = _json_parse(form)

    def tells(head: Head, _: Names) -> bool:
        lines = head.lines
        begun = lines[:1] != [] and lines[0].startswith(form.opens) and _most(lines, parse)
        return begun and (loosely or any(map(form.sure, _inners(lines, parse))))

    return Wrapper(
        form.name,
        form.title,
        tells,
        lambda _: LineByLine(parse, form.title, form.whole),
        form.weak,
    )


def _text(form: textforms.TextForm, *, loosely: bool = False) -> Wrapper:
    def tells(head: Head, _: Names) -> bool:
        return _most(head.lines, form.parse) and (loosely or _shown(head.lines, form))

    return Wrapper(
        form.name,
        form.title,
        tells,
        lambda _: LineByLine(form.parse, form.title, form.whole),
        form.weak,
    )


def _inners(lines: Sequence[bytes], parse: Parse) -> Iterator[Inner]:
    """Yield the lines behind a wrapper."""
    for taken in map(parse, lines):
        if isinstance(taken, Partly):
            taken = taken.inner
        several = taken if isinstance(taken, Sequence) and not isinstance(taken, Inner) else [taken]
        yield from (one for one in several if isinstance(one, Inner))


def _shown(lines: Sequence[bytes], form: textforms.TextForm) -> bool:
    """Say whether there are lines behind the prefix, and what the form asks of them."""
    found = list(_inners(lines, form.parse))
    if form.several and len({inner.stream for inner in found}) == 1:
        return False
    return any(form.sure is None or _sure(form.sure, inner.line) for inner in found)


_TEXTS = (
    *(*podtext.PREFIXED, *syslogtext.FORMS, *storetext.FORMS),
    *(*podtext.BESIDE_OTHERS, *syslogtext.BESIDE_OTHERS, *storetext.BESIDE_OTHERS),
    *launchers.FORMS,
)
_DEEP = 4


def _sure(asked: re.Pattern[bytes], line: bytes, deep: int = _DEEP) -> bool:
    """Say whether a line is what a form asks for, or behind another prefix where that may be."""
    if asked.match(line):
        return True
    if asked is not textforms.STAMPED or not deep:
        return False
    return any(_is_behind(form, line, deep - 1) for form in _TEXTS)


def _is_behind(form: textforms.TextForm, line: bytes, deep: int) -> bool:
    inner = form.parse(line)
    if not isinstance(inner, Inner):
        return False
    return form.sure is None or _sure(form.sure, inner.line, deep)


def _document(form: documents.DocumentForm) -> Wrapper:
    def tells(head: Head, _names: Names) -> bool:
        near = head.data[:_NEAR].lstrip()
        if not near.startswith(form.opens) or not all(word in near for word in form.words):
            return False
        if form.opens == b"[" and not objects.in_a_list(near):
            return False  # a line of a log may begin with a time in a bracket
        first, _, rest = head.data.lstrip().partition(b"\n")
        if not rest.strip() or not is_json(first):
            # Words alone tell what breaks off, or is longer than is looked at.
            return not is_json(head.data) or form.decoded(head.data) is not None
        return form.decoded(first) is not None  # a page a line; else there is a record a line

    return Wrapper(form.name, form.title, tells, lambda _: documents.WholeDocument(form))


def _objects(name: str, title: str, tells: Callable[[bytes], bool], *, weak: bool) -> Wrapper:
    return Wrapper(name, title, lambda head, _: tells(head.data), lambda _: objects.Objects(), weak)


def _table(form: tables.TableForm) -> Wrapper:
    def tells(head: Head, _: Names) -> bool:
        line = head.data.split(b"\n", 1)[0].strip().decode("utf-8", "replace")
        try:
            header = next(csv.reader([line], strict=True), [])
        except csv.Error:
            return False
        return form.tells([name.strip() for name in header])

    return Wrapper(form.name, form.title, tells, lambda _: tables.Table(form))


def _logfmt_parse(names: Names, line: bytes) -> Inner | None:
    return logfmt.record(line.decode("utf-8", "replace"), names)


def _behind_processes(head: Head, names: Names) -> bool:
    rests = processes.foreign(head.lines)
    shown = any(_sure(textforms.STAMPED, one) or _logfmt_parse(names, one) for one in rests)
    return shown and _most(head.lines, processes.behind)


def _plain(line: bytes) -> Inner:
    return Inner(colours.plain(line))


COLOUR = Wrapper(
    "colour",
    "terminal colours",
    lambda head, _: colours.coloured(head.data),
    lambda _: LineByLine(_plain, "terminal colours"),
)
_PROCESSES = Wrapper(
    "processes",
    processes.TITLE,
    _behind_processes,
    lambda _: LineByLine(processes.parse, processes.TITLE),
)
_LOGFMT = Wrapper(
    "logfmt",
    "logfmt",
    lambda head, names: _most(head.lines, partial(_logfmt_parse, names)),
    lambda names: LineByLine(partial(_logfmt_parse, names), "logfmt"),
    weak=True,
)
_OBJECTS = (
    _objects("back-to-back", "objects back to back", objects.back_to_back, weak=False),
    _objects("list", "a list of objects", objects.in_a_list, weak=True),
    _objects("spread", "objects spread over lines", objects.spread, weak=True),
)
_EXPORT = Wrapper(
    "journal-export",
    "journalctl -o export",
    lambda head, _: journalexport.told(head.data),
    lambda _: journalexport.Exported(),
)
_LISTED = Wrapper(
    "document-list",
    "a document with a list of records",
    lambda head, _: lists.told(head.data),
    lambda _: lists.Listed(),
    weak=True,
)
_DELIMITED = Wrapper(
    "delimited",
    "a table with another delimiter",
    lambda head, _: delimiters.told(head.data),
    lambda _: delimiters.Delimited(),
    weak=True,
)
WRAPPERS: tuple[Wrapper, ...] = (
    *map(_document, (*documents.FORMS, *answers.FORMS)),
    *map(_json, (*jsonforms.FORMS, otellogs.FORM)),
    _EXPORT,
    *map(_text, _TEXTS),
    _PROCESSES,
    *map(_table, tables.FORMS),
    _LISTED,
    *_OBJECTS,
    _json(replace(shipped.FORM, sure=lambda one: _sure(textforms.STAMPED, one.line))),
    _DELIMITED,
    _LOGFMT,
    COLOUR,
)
LOOSELY: tuple[Wrapper, ...] = (
    *(_json(form, loosely=True) for form in (*jsonforms.FORMS, otellogs.FORM, shipped.FORM)),
    *(_text(form, loosely=True) for form in _TEXTS),
    replace(_PROCESSES, tells=lambda head, _: _most(head.lines, processes.behind)),
)
"""The same without a look at the lines behind: for who knows a format there, and nowhere else."""
