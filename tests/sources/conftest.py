"""Bytes in, what a reader made of them out."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forensics.incident import parse
from forensics.schema import ENGINE_HOP
from forensics.sources.files import expand
from forensics.sources.reading import FileFacts, Reading, Shard, read_shard


@dataclass(frozen=True)
class Seen:
    """One file after its reading pass."""

    facts: FileFacts
    reading: Reading
    rows: pl.DataFrame

    @property
    def capacity(self) -> pl.DataFrame:
        return pl.concat(self.reading.capacity, how="diagonal_relaxed")

    @property
    def reasons(self) -> Counter[str]:
        return Counter(unread.reason for unread in self.facts.unread)

    def column(self, name: str) -> list[Any]:
        """Values in the order of lines; None throughout where no record has the column."""
        rows = self.rows.sort("line")
        return rows[name].to_list() if name in rows.columns else [None] * rows.height


Read = Callable[..., Seen]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read one file of the given bytes; the incident's tables are keyword arguments."""

    def run(
        data: bytes | str, name: str = "node-07.ndjson", form: str | None = None, **incident: Any
    ) -> Seen:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        parts = tmp_path / "parts"
        parts.mkdir(exist_ok=True)
        shard = Shard(tuple(expand(path)), parse(incident), parts, form)
        reading = read_shard(shard)
        facts = reading.files[0]
        whole = facts.kept + sum(facts.ignored.values()) + len(facts.unread)
        assert facts.read == whole, "read == kept + ignored + unreadable"
        frames = [pl.read_parquet(part) for part in reading.parts]
        rows = pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()
        return Seen(facts, reading, _shown(rows))

    return run


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """Name the side on which alone an engine's record stands: the one whose shape it has."""
    nodes = ["prefill_node", "decode_node"]
    if "hop" not in rows.columns or not set(nodes) <= set(rows.columns):
        return rows
    alone = [pl.col(one).is_not_null() & pl.col(two).is_null() for one, two in (nodes, nodes[::-1])]
    side = pl.when(alone[0]).then(pl.lit("prefill")).when(alone[1]).then(pl.lit("decode"))
    engine = pl.col("hop") == ENGINE_HOP
    return rows.with_columns(hop=pl.when(engine).then(pl.coalesce(side, "hop")).otherwise("hop"))
