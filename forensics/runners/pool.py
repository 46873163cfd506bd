"""In a pool of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any, ClassVar

from forensics.runners.main import left_alone
from forensics.runners.memory import within
from forensics.runners.work import ShardError, StateT, Work

_TRIES = 2
"""How often a pool is made anew before a shard is given up: a process may be killed by chance."""


class Pool:
    """Calls the function in so many processes, or in fewer where memory is little."""

    name: ClassVar[str] = "pool"
    elsewhere: ClassVar[bool] = True

    def __init__(self, workers: int) -> None:
        self._workers = within(workers)

    def map(
        self,
        function: Callable[[Any], StateT],
        shards: Sequence[Work],
        done: Callable[[int], None],
    ) -> list[StateT]:
        """Return the state of each shard; those of a process that was killed are tried again."""
        states: dict[int, StateT] = {}
        for _ in range(_TRIES):
            left = [number for number in range(len(shards)) if number not in states]
            if left and not self._try(function, {n: shards[n] for n in left}, done, states):
                continue
            return [states[number] for number in range(len(shards))]
        raise ShardError(lost([shards[n].name for n in range(len(shards)) if n not in states]))

    def _try(
        self,
        function: Callable[[Any], StateT],
        shards: dict[int, Work],
        done: Callable[[int], None],
        states: dict[int, StateT],
    ) -> bool:
        """Add the states of some shards; return False if a process of the pool was killed."""
        # A forked child would inherit the threads of Polars in an unknown state.
        context = multiprocessing.get_context("spawn")
        count = min(self._workers, len(shards))
        with ProcessPoolExecutor(count, mp_context=context, initializer=_live_with_parent) as pool:
            try:
                futures: dict[Future[StateT], int] = {}
                # Processes start as work is handed in.
                with _share_of_threads(count), left_alone(function):
                    for number, shard in shards.items():
                        futures[pool.submit(function, shard)] = number
                for future in as_completed(futures):
                    states[futures[future]] = future.result()
                    done(futures[future])
            except BrokenProcessPool:
                return False
            except BaseException:
                _stop(pool)
                raise
        return True


_SHOWN = 3


def lost(names: Sequence[str]) -> str:
    """Say which inputs no process came to the end of."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (
        f"{', '.join(names[:_SHOWN])}{more}: the process that read it was ended from outside,"
        " more than once (out of memory?)"
    )


_THREADS = "POLARS_MAX_THREADS"


@contextmanager
def _share_of_threads(processes: int) -> Iterator[None]:
    """Let processes that start within the block share the processors, unless the user said how.

    As many threads in each as there are processors would wait for each other: reading a node
    log on one thread costs a sixth less of a processor's time than on two.
    """
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = str(max(1, available_workers() // processes))
    try:
        yield
    finally:
        del os.environ[_THREADS]


def _live_with_parent() -> None:
    """Let the parent answer Ctrl-C, which reaches the whole group, and end when it is gone.

    A child waits for work at a pipe that it holds itself: of a killed parent it hears nothing.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the children now: the files that they are at may be long."""
    for child in list((pool._processes or {}).values()):
        child.terminate()
    # Waited for: a pool that is still closing when the interpreter ends writes to closed pipes.
    pool.shutdown(wait=True, cancel_futures=True)


def available_workers() -> int:
    """Return how many processes this machine can usefully run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
