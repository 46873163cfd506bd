"""As tasks of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from forensics.runners.pool import lost
from forensics.runners.work import ShardError, StateT, Work

_RETRIES = 3


class Ray:
    """Calls the function in tasks of the cluster that this process is connected to.

    A task whose worker was lost is run again, a few times.
    """

    name: ClassVar[str] = "ray"
    elsewhere: ClassVar[bool] = True

    def map(
        self,
        function: Callable[[Any], StateT],
        shards: Sequence[Work],
        done: Callable[[int], None],
    ) -> list[StateT]:
        """Return the state of each shard."""
        import ray

        task: Any = ray.remote(max_retries=_RETRIES)(_called)
        kept = ray.put(function)
        number_of = {task.remote(kept, shard): at for at, shard in enumerate(shards)}
        states: dict[int, StateT] = {}
        try:
            while number_of:
                (ready,), _ = ray.wait(list(number_of), num_returns=1)
                number = number_of.pop(ready)
                states[number] = _state(ready, shards[number])
                done(number)
        finally:
            for waiting in number_of:
                ray.cancel(waiting, force=True)
        return [states[number] for number in range(len(shards))]


def _called(function: Callable[[Any], StateT], shard: Any) -> StateT:
    return function(shard)


def _state(ready: Any, shard: Work) -> Any:
    import ray

    try:
        return ray.get(ready)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
        raise ShardError(lost([shard.name])) from None
    except ray.exceptions.OutOfMemoryError:
        raise ShardError(lost([shard.name])) from None
