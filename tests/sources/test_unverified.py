"""No record of an unverified profile clears its request, alone or beside any other source."""

import json
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.incident import parse
from forensics.sources.profiles.builtin import profiles
from forensics.sources.registry import FORMATS

DATA = Path(__file__).parents[1] / "_data" / "sources" / "profiles"
UNVERIFIED = {profile.name for profile in profiles() if not profile.verified}
SAMPLES = [path for path in sorted(DATA.glob("*.[cj]s*")) if path.stem in UNVERIFIED]
ROOMY = {"capacity": [{"node": "*", "role": "prefill", "pool_tokens": 10_000_000}]}
ELSEWHERE = ROOMY | {
    "scope": {"models": ["other"], "window": ["2026-02-03T05:00:00Z", "2026-02-03T06:00:00Z"]}
}


def test_what_is_tested_here_is_every_format_that_is_not_verified():
    assert {one.name for one in FORMATS if not one.verified} == UNVERIFIED
    assert {path.stem for path in SAMPLES} == UNVERIFIED


def records(told: dict[str, dict[str, Any]]) -> str:
    at = {"received_at": "2026-02-03T04:00:02Z"}
    lines = [{"request_id": name, **at, **values} for name, values in told.items()]
    return "".join(json.dumps(line) + "\n" for line in lines)


def rows(folder: Path, more: dict[str, str], **incident: Any) -> pl.DataFrame:
    for name, text in more.items():
        (folder / name).write_text(text)
    case = forensics.read_logs(
        *SAMPLES, *(folder / name for name in more), incident=parse(incident)
    )
    return case.requests.polars()


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Ids that one profile's sample alone has."""
    found = rows(tmp_path_factory.mktemp("alone"), {}, **ROOMY)
    assert "ruled_out" not in found["tier"].to_list()
    alone = found.filter(pl.col("request_id").is_unique())
    assert alone.height >= 2 * (len(UNVERIFIED) - 6)
    return sorted(alone["request_id"])


def doubted(found: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    """Rows that hold an unverified record: one for each id."""
    mine = found.filter(pl.col("request_id").is_in(ids))
    mine = mine.filter(pl.col("reasons").list.contains("unverified_format"))
    assert sorted(mine["request_id"]) == ids
    return mine


GATEWAY = {"hop": "gateway", "prompt_tokens": 5}
OTHERS = {
    "served": GATEWAY | {"http_status": 200, "completion_tokens": 9},
    "refused": GATEWAY | {"http_status": 503, "rejected": True},
    "nothing left": GATEWAY | {"completion_tokens": 0},
    "decode": {"hop": "decode", "decode_prompt_tokens": 5, "completion_tokens": 0},
    "prefill": {"hop": "prefill", "prefill_prompt_tokens": 5, "prefill_node": "p-1"},
    "alike": {
        "hop": "decode",
        "decode_prompt_tokens": 500,
        "prefill_prompt_tokens": 500,
        "completion_tokens": 9,
    },
}


@pytest.mark.parametrize("incident", [ROOMY, ELSEWHERE], ids=["roomy", "elsewhere"])
def test_beside_other_sources_only_what_engines_counted_alike_is_cleared(tmp_path, ids, incident):
    shift = int(incident is ELSEWHERE)
    other = dict(zip(ids, islice(cycle(OTHERS), shift, None), strict=False))
    told = records({name: OTHERS[kind] for name, kind in other.items()})
    mine = doubted(rows(tmp_path, {"other.ndjson": told}, **incident), ids)
    alike = [name for name in ids if other[name] == "alike"]
    assert sorted(mine.filter(tier="ruled_out")["request_id"]) == alike
