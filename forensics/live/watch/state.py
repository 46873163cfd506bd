"""What a restart needs: how far each log was read, what was learnt and read of late, what was told.

A state names the files of rows that belong to it and lie beside it; see :mod:`rows`. It is
written after what it says was read, and before anything is told of that: a run that goes on
from it tells what the killed one did not, under the same ids. No line of a log is in it:
generations are known by keyed hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from forensics import schema
from forensics.errors import UsageError
from forensics.guard import checked
from forensics.live.watch.place import Place
from forensics.live.watch.rows import Kept
from forensics.output import write_private
from forensics.sources.layout import KINDS

_VERSION = 2


class Learnt(msgspec.Struct, frozen=True):
    """Rows of one kind, by column."""

    columns: dict[str, list[Any]]


class Told(msgspec.Struct, frozen=True):
    """A finding: its id, its tier, and the records behind it by generation and line."""

    id: str
    tier: str
    records: list[tuple[int, int]]


@dataclass(frozen=True)
class Progress:
    """How far logs were read: see :class:`State`."""

    logs: dict[str, list[Place]]
    formats: dict[str, str]
    numbers: int
    salt: str
    piped: bool


class State(msgspec.Struct, frozen=True):
    """The state of a watch.

    ``numbers`` is the highest number of a generation so far. ``pending`` and ``events`` were
    about to be told: whether they were, the output says. ``owed`` names
    for each tier a finding that was told, or about to be, and that no run has ended for.
    ``piped`` says that standard input was read and had not ended.
    """

    logs: dict[str, list[Place]] = {}
    formats: dict[str, str] = {}
    numbers: int = 0
    salt: str = ""
    piped: bool = False
    capacity: list[Learnt] = []
    markers: list[Learnt] = []
    clock: list[tuple[str, int, int]] = []
    rows: list[Kept] = []
    longer: list[Kept] = []
    told: list[Told] = []
    pending: list[Told] = []
    events: list[dict[str, Any]] = []
    owed: dict[str, str] = {}
    boot: str = ""
    version: int = _VERSION


def load(path: Path | None) -> State:
    """Return the state of a file, or the first one where there is none.

    Raises:
        UsageError: the file holds none, or that of another version.
    """
    if path is None or not path.exists():
        return State()
    try:
        state = msgspec.json.decode(path.read_bytes(), type=State)
    except msgspec.MsgspecError:
        state = None
    if state is None or state.version != _VERSION:
        raise UsageError(f"{path}: is no state of a watch; remove it to begin anew")
    return state


def save(path: Path, state: State) -> None:
    """Write a state, in one step."""
    made = path.with_name(f".{path.name}.new")
    made.unlink(missing_ok=True)
    write_private(made, msgspec.json.encode(state))
    made.replace(path)


def folder(path: Path) -> Path:
    """Return where the rows of a state lie."""
    return path.with_name(f".{path.name}.rows")


def boot() -> str:
    """Return what names the time since this machine started; empty where nothing does.

    The running clock goes on over restarts of a program, and begins anew with the machine.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def learnt(frames: list[pl.DataFrame], kind: str) -> list[Learnt]:
    """Return frames as they are kept, as one, held against what their kind may hold.

    Raises:
        PrivacyError: a row holds what its kind may not hold.
    """
    if not frames:
        return []
    table = KINDS[kind].table
    every = pl.concat(
        [frame.drop("file", strict=False) for frame in frames], how="diagonal_relaxed"
    )
    absent = [
        pl.lit(None, dtype=t).alias(n) for n, t in table.dtypes.items() if n not in every.columns
    ]
    whole = every.with_columns(absent).select(list(table.dtypes)).cast(dict(table.dtypes.items()))
    return [Learnt(checked(whole, table).to_dict(as_series=False))]


def frames(kept: list[Learnt], kind: str) -> list[pl.DataFrame]:
    """Return what was kept as frames; they are of no file of this run."""
    dtypes = KINDS[kind].table.dtypes
    made = [pl.DataFrame(item.columns, schema=dtypes) for item in kept]
    return [frame.with_columns(file=pl.lit(0, dtype=schema.ORIGIN["file"])) for frame in made]
