"""In threads of this process: for functions that leave the interpreter almost all of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, ClassVar

from forensics.runners.work import Failure, StateT, Work


class Threads:
    """Calls the function in so many threads, without the start of processes.

    Polars, NumPy and hashing let others work meanwhile; a reader in Python would not.
    """

    name: ClassVar[str] = "threads"
    elsewhere: ClassVar[bool] = False

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def map(
        self,
        function: Callable[[Any], StateT],
        shards: Sequence[Work],
        done: Callable[[int], None],
    ) -> list[StateT]:
        """Return the state of each shard; after one that failed, none is begun."""
        states: dict[int, Any] = {}
        with ThreadPoolExecutor(min(self._threads, len(shards)) or 1) as pool:
            futures: dict[Future[StateT], int] = {
                pool.submit(function, shard): number for number, shard in enumerate(shards)
            }
            try:
                for future in as_completed(futures):
                    number = futures[future]
                    states[number] = future.result()
                    if isinstance(states[number], Failure):
                        break  # which is raised; what is missing beside it is asked by nobody
                    done(number)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        found: list[Any] = [states.get(number) for number in range(len(shards))]
        return found
