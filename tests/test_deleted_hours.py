"""One hour of one log of the sample is gone: what it could hide is open, and all else stands."""

import shutil
from collections import Counter
from pathlib import Path

import msgspec
import polars as pl
import pytest
import zstandard

import forensics

SAMPLE = Path("data/samples/glm53")
KEY = ["request_id", "transfer_id"]
NODES = [f"{hop}/{hop}-{number:02}" for hop in ("prefill", "decode") for number in range(1, 5)]
START = {"prefill/prefill-02": "2026-09-04T02", "decode/decode-01": "2026-08-31T03"}
"""Hours in which a node starts anew: its record of that is among what is lost."""


class Record(msgspec.Struct):
    """What of a record says which hour it is of, and of which hand-off."""

    received_at: str = ""
    effective_at: str = ""
    transfer_id: str | None = None
    request_id: str | None = None

    @property
    def hour(self) -> str:
        return (self.received_at or self.effective_at)[:13]


def records(path: Path) -> list[tuple[Record, bytes]]:
    decode = msgspec.json.Decoder(Record).decode
    lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().splitlines()
    return [(decode(line), line) for line in lines]


def judged(logs: Path) -> pl.DataFrame:
    case = forensics.read_logs(logs, incident=SAMPLE / "incident.toml", workers=1)
    return case.requests.polars().select(*KEY, "tier", "reasons")


@pytest.fixture(scope="module")
def whole() -> pl.DataFrame:
    return judged(SAMPLE / "logs")


def busiest(own: list[tuple[Record, bytes]]) -> str:
    return max(Counter(record.hour for record, _ in own).items(), key=lambda one: one[::-1])[0]


CUTS = [*((name, "") for name in (*NODES, "gateway/2026-09-02")), *START.items()]


@pytest.mark.long
@pytest.mark.parametrize(("name", "hour"), CUTS)
def test_an_hour_of_a_log(tmp_path: Path, whole: pl.DataFrame, name: str, hour: str) -> None:
    """Its busiest one where none is named."""
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLE / "logs", logs)
    path = logs / f"{name}.ndjson.zst"
    own = records(path)
    hour = hour or busiest(own)
    gone = [record for record, _ in own if record.hour == hour]
    path.unlink()
    kept = b"".join(line + b"\n" for record, line in own if record.hour != hour)
    path.with_suffix("").write_bytes(kept)
    cut = judged(logs)
    both = whole.join(cut, on=KEY, suffix="_now", nulls_equal=True)
    moved = both.filter(pl.col("tier") != pl.col("tier_now"))
    assert moved.height
    assert set(moved["tier_now"]) <= {"not_assessable", "possible"}
    hidden = pl.any_horizontal(
        pl.col("request_id").is_in([record.request_id for record in gone]),
        pl.col("transfer_id").is_in([record.transfer_id for record in gone]),
        pl.col("reasons_now").list.contains("start_unseen"),
    )
    assert moved.filter(~hidden.fill_null(value=False)).rows() == []
    # What a lost record joined may stand in rows of its own: they clear nobody either.
    assert "ruled_out" not in set(cut.join(whole, on=KEY, how="anti", nulls_equal=True)["tier"])
