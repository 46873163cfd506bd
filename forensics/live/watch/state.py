"""What a restart needs: how far each log was read, what was learnt of capacities, what was told.

Places are those of the oldest rows that are still held: a restart reads a little again and
knows by what it has told that nothing is told twice. What it reads again is as old as it was:
else a watch that is restarted often would never judge anything. No row of a request is in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from forensics import schema
from forensics.errors import UsageError
from forensics.guard import checked
from forensics.live.watch.follow import Place
from forensics.output import write_private
from forensics.sources.layout import KINDS


class Learnt(msgspec.Struct, frozen=True):
    """Rows of one kind, by column."""

    columns: dict[str, list[Any]]


class Seen(msgspec.Struct, frozen=True):
    """Which piece of a file was read when, by the running clock of this machine."""

    device: int
    inode: int
    end: int
    at: float


class State(msgspec.Struct, frozen=True):
    """The state of a watch."""

    logs: dict[str, list[Place]] = {}
    formats: dict[str, str] = {}
    capacity: list[Learnt] = []
    markers: list[Learnt] = []
    clock: list[tuple[str, int, int]] = []
    told: list[str] = []
    suspects: list[Learnt] = []
    suspects_at: list[float] = []
    seen: list[Seen] = []
    boot: str = ""
    version: int = 1


def load(path: Path | None) -> State:
    """Return the state of a file, or the first one where there is none.

    Raises:
        UsageError: the file holds none.
    """
    if path is None or not path.exists():
        return State()
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except msgspec.MsgspecError:
        raise UsageError(f"{path}: is no state of a watch; remove it to begin anew") from None


def save(path: Path, state: State) -> None:
    """Write a state, in one step."""
    made = path.with_name(f".{path.name}.new")
    made.unlink(missing_ok=True)
    write_private(made, msgspec.json.encode(state))
    made.replace(path)


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
