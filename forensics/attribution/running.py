"""What an engine cannot change while it runs: two records that differ in it are of two runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from forensics.fields import parted

_FIGURE = re.compile(r"\d+(?:\.\d+)?")
"""Not -1, which stands for what is yet to be resolved."""
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Told:
    """What a record says that no engine changes while it runs.

    Pools by basis, figures of settings by the names of all that are told, and the release.
    """

    pools: dict[str, int]
    settings: dict[frozenset[str], dict[str, float]]
    page: int
    release: tuple[int, ...]

    @classmethod
    def of(cls, row: dict[str, Any]) -> Told:
        """Return what a capacity record says; what it leaves out contradicts nothing."""
        pools = {str(row["pool_basis"]): row["pool_tokens"]} if row["pool_tokens"] else {}
        config = parted(row["config"])
        figures = {name: float(text) for name, text in config.items() if _FIGURE.fullmatch(text)}
        release = _RELEASE.match(row["engine_version"] or "")
        numbers = release.group(1).split(".") if release else []
        return cls(
            pools,
            {frozenset(config): figures},
            row["page_tokens"] or 1,
            tuple(int(number) for number in numbers),
        )

    def with_more(self, later: Told) -> Told:
        """Return what both say, and the later where both do."""
        return Told(
            self.pools | later.pools,
            self.settings | later.settings,
            max(self.page, later.page),
            later.release or self.release,
        )

    def contradicts(self, later: Told) -> bool:
        """Say whether both cannot be of one run."""
        releases = zip(self.release, later.release, strict=False)  # one may tell less of it
        figures = (
            (mine[name], value)
            for names, mine in self.settings.items()
            for name, value in later.settings.get(names, {}).items()
            if name in mine
        )
        return self._other_pool(later) or any(a != b for a, b in (*releases, *figures))

    def _other_pool(self, later: Told) -> bool:
        """A pool may be told in whole pages, and for a rank or for all ranks together."""
        page = max(self.page, later.page)
        bases = self.pools.keys() & later.pools.keys()
        return any(_apart(self.pools[basis], later.pools[basis]) >= page for basis in bases)


def _apart(one: int, other: int) -> int:
    """Return how far the larger of two pools is from a multiple of the other."""
    low, high = sorted((one, other))
    return min(high % low, low - high % low)
