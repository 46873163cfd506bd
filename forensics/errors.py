"""Errors of the package and the exit code that each one ends a run with.

::

    ForensicsError                1   anything the package itself raises
    ├── UsageError                2   the call cannot be carried out as asked
    │   └── IncidentError         2   incident.toml says something that cannot be right
    ├── NoInputError              4   nothing readable was given
    ├── PrivacyError              5   something that may be content was about to leave
    ├── OutputExistsError         6   the output is there already
    └── VerificationError         7   a recomputed hash or count differs

Messages name files, lines, columns and counts. They never quote a record: the
record may be a prompt.
"""

from __future__ import annotations

import traceback
from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Exit codes of every command."""

    COMPLETE = 0
    UNEXPECTED = 1
    USAGE = 2
    INCOMPLETE = 3
    NO_INPUT = 4
    PRIVACY = 5
    OUTPUT_EXISTS = 6
    MISMATCH = 7
    TIER_REACHED = 10
    LIVE_FAILED = 11
    INTERRUPTED = 130


class ForensicsError(Exception):
    """Base of all errors that the package raises on purpose."""

    exit_code: Exit = Exit.UNEXPECTED


class UsageError(ForensicsError):
    """The call cannot be carried out as asked."""

    exit_code = Exit.USAGE


class IncidentError(UsageError):
    """The incident file holds an unknown key or a value that cannot be right."""


class NoInputError(ForensicsError):
    """No file was given, found or recognised."""

    exit_code = Exit.NO_INPUT


class PrivacyError(ForensicsError):
    """Something that the schema does not name was about to be written."""

    exit_code = Exit.PRIVACY


class OutputExistsError(ForensicsError):
    """The output exists and was not to be replaced."""

    exit_code = Exit.OUTPUT_EXISTS


class VerificationError(ForensicsError):
    """A recomputed hash or count differs from the recorded one."""

    exit_code = Exit.MISMATCH


def place_of(error: BaseException) -> str:
    """Return where in the package an error came up: file, line and function.

    It is what may be said of an unexpected error: its text may quote a record.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "forensics" in Path(f.filename).parts] or list(frames)
    last = own[-1]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"
