"""What a runner does: the same function on each shard, wherever that is.

Every stage is a pure function from a shard to a small mergeable state. What comes back is
the same from every runner, in the order of the shards. A function that fails must not take
a record with it, in the text of its error or in the log of a cluster: :class:`Safely` is
called in place of it where the shard is, and hands back what may be said.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from forensics.errors import ForensicsError, place_of

StateT = TypeVar("StateT")
_GENTLE = (KeyboardInterrupt, SystemExit, GeneratorExit)


class Work(Protocol):
    """A shard: what an error calls it, and its size for the progress."""

    @property
    def name(self) -> str:
        """Name of the input."""

    @property
    def size(self) -> int:
        """Bytes of the input."""


WorkT = TypeVar("WorkT", bound=Work)
WorkT_contra = TypeVar("WorkT_contra", bound=Work, contravariant=True)
StateT_co = TypeVar("StateT_co", covariant=True)


class Stage(Protocol[WorkT_contra, StateT_co]):
    """A function of a shard that tells the bytes and records that it has just read."""

    def __call__(
        self, shard: WorkT_contra, /, progress: Callable[[int, int], None] = ...
    ) -> StateT_co:
        """Return the state of a shard."""


class Runner(Protocol):
    """Where functions are called.

    Attributes:
        name: as a manifest calls it.
        elsewhere: in another process, which has no standard input of ours and can tell
            no progress before it is done.
    """

    @property
    def name(self) -> str:
        """Name of the kind of runner."""

    @property
    def elsewhere(self) -> bool:
        """Say whether functions are called in other processes than this."""

    def map(
        self,
        function: Callable[[Any], StateT],
        shards: Sequence[Work],
        done: Callable[[int], None],
    ) -> list[StateT]:
        """Return the state of each shard, in their order; tell the number of each that is done.

        Raises:
            ShardError: a process ended in the middle of a shard, time and again.
        """


class ShardError(ForensicsError):
    """A shard could not be worked at; the message names the input and no record."""


@dataclass(frozen=True)
class Failure:
    """What may be said of an error: our own and the system's as they are, others by their kind."""

    error: Exception | None
    said: str


class Safely(Generic[WorkT, StateT]):
    """Calls a function where the shard is and hands its error back instead of raising it."""

    def __init__(self, function: Callable[[WorkT], StateT]) -> None:
        self.function = function

    def __call__(self, shard: WorkT) -> StateT | Failure:
        """Return the state of the shard, or what may be said of the error."""
        try:
            return self.function(shard)
        except _GENTLE:
            raise
        except ForensicsError as error:
            return Failure(error, "")
        except OSError as error:
            return Failure(OSError(error.errno, os.strerror(error.errno or 0), _file(error)), "")
        except BaseException as error:  # noqa: BLE001 -- a panic is no Exception; its text may quote a record
            return Failure(None, f"unexpected {type(error).__name__} at {place_of(error)}")


def _file(error: OSError) -> str | None:
    return error.filename if isinstance(error.filename, str) else None


def run(
    runner: Runner,
    stage: Stage[WorkT, StateT],
    shards: Sequence[WorkT],
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
) -> list[StateT]:
    """Return the state of each shard, in their order.

    Args:
        runner: where.
        stage: must not depend on what ran before; elsewhere, a module-level function.
        shards: its inputs.
        progress: called with the bytes and records just read; elsewhere by whole shards.

    Raises:
        ShardError: an unexpected error, with the name of the input.
        ForensicsError: what the stage itself raises.
        OSError: likewise.
    """
    if runner.elsewhere:
        safely: Safely[WorkT, StateT] = Safely(stage)
        told = _told(shards, progress)
    else:
        safely, told = Safely(partial(stage, progress=_one_at_a_time(progress))), _nothing
    states = runner.map(safely, shards, told)
    return [_state(state, shard) for state, shard in zip(states, shards, strict=True)]


def _one_at_a_time(progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Return a function that tells progress from any thread, never from two at a time."""
    lock = threading.Lock()

    def told(read: int, records: int) -> None:
        with lock:
            progress(read, records)

    return told


def _told(shards: Sequence[Work], progress: Callable[[int, int], None]) -> Callable[[int], None]:
    return lambda number: progress(shards[number].size, 0)


def _nothing(_: int) -> None:
    """Say nothing: the stage itself does."""


def _state(state: StateT | Failure, shard: Work) -> StateT:
    if not isinstance(state, Failure):
        return state
    if state.error is not None:
        raise state.error
    raise ShardError(f"{shard.name}: {state.said}")
