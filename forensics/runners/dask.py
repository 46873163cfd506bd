"""On a Dask cluster, by the client that the user holds or by a scheduler's address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from forensics.runners.pool import lost
from forensics.runners.work import ShardError, StateT, Work

if TYPE_CHECKING:
    from distributed import Client


class Dask:
    """Calls the function on the workers of a cluster, which see the same files as this process.

    The scheduler gives a shard to another worker where one was lost, and gives it up when
    several were lost over it.
    """

    name: ClassVar[str] = "dask"
    elsewhere: ClassVar[bool] = True

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def link(self) -> str:
        """Address of the cluster's dashboard."""
        return str(self._client.dashboard_link)

    def map(
        self,
        function: Callable[[Any], StateT],
        shards: Sequence[Work],
        done: Callable[[int], None],
    ) -> list[StateT]:
        """Return the state of each shard."""
        from distributed import KilledWorker, as_completed

        # pure: not by the name of an equal task, whose parts are another run's.
        futures = self._client.map(function, list(shards), pure=False)
        number_of = {future.key: number for number, future in enumerate(futures)}
        states: dict[int, StateT] = {}
        try:
            for future in as_completed(futures, loop=self._client.loop):
                number = number_of[future.key]
                states[number] = future.result()
                done(number)
                future.release()
        except KilledWorker:
            raise ShardError(lost([shards[number].name])) from None
        finally:
            self._client.cancel(futures)
        return [states[number] for number in range(len(shards))]
