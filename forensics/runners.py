"""Where the work runs: in this process, or in a pool of processes.

Every stage is a pure function from a shard to a small mergeable state. This is the
one place that decides where such a function is called; the result is the same.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection
from typing import TypeVar

ShardT = TypeVar("ShardT")
StateT = TypeVar("StateT")


def run(
    function: Callable[[ShardT], StateT],
    shards: Sequence[ShardT],
    workers: int = 1,
    done: Callable[[int], None] = lambda _: None,
) -> list[StateT]:
    """Return the state of each shard, in the order of the shards.

    Args:
        function: must not depend on what ran before; for a pool, a module-level one.
        shards: its inputs.
        workers: processes; 1 calls the function here.
        done: called with the number of each shard of a pool whose state is there.
    """
    if workers <= 1 or len(shards) <= 1:
        return [function(shard) for shard in shards]
    # A forked child would inherit the threads of Polars in an unknown state.
    context = multiprocessing.get_context("spawn")
    states = []
    count = min(workers, len(shards))
    with ProcessPoolExecutor(count, mp_context=context, initializer=_live_with_parent) as pool:
        try:
            for number, state in enumerate(pool.map(function, shards)):
                states.append(state)
                done(number)
        except BaseException:
            _stop(pool)
            raise
    return states


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
