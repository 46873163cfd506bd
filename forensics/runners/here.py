"""In this process, one shard after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from forensics.runners.work import Failure, StateT, Work


class Here:
    """Calls the function in this process."""

    name: ClassVar[str] = "here"
    elsewhere: ClassVar[bool] = False

    def map(
        self,
        function: Callable[[Any], StateT],
        shards: Sequence[Work],
        done: Callable[[int], None],
    ) -> list[StateT]:
        """Return the state of each shard; what comes after one that failed is not begun."""
        states: list[StateT] = []
        for number, shard in enumerate(shards):
            states.append(function(shard))
            if isinstance(states[-1], Failure):
                return states + states[-1:] * (len(shards) - len(states))
            done(number)
        return states
