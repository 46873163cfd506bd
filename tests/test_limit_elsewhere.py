"""A limit that is known of some servers of prefill clears nobody who may have run on another."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import lab
from forensics.lab.clock import HOUR
from forensics.lab.config import EngineSettings, Restart
from forensics.lab.plain import plain_files
from forensics.schema import AFFECTED_TIERS

Row = dict[str, Any]
Files = dict[str, list[Row]]
CaseOf = Callable[..., forensics.Case]
PAGES = ("reserved_pages", "transferred_pages")


def logs(seed: int) -> Files:
    """A run in which one node of two starts again with a small pool; no log counts pages."""
    config = lab.small(seed, requests=100)
    small = Restart(
        config.start + 2 * HOUR,
        "prefill",
        EngineSettings(cuda_graph_max_bs=128),
        pool_tokens=config.small_pool_tokens,
        nodes=(1,),
    )
    files = plain_files(lab.simulate(replace(config, small_prefill_pool=False, restarts=(small,))))
    return {
        name: [{key: row[key] for key in row if key not in PAGES} for row in rows]
        for name, rows in files.items()
    }


def tiers(folder: Path, files: Files) -> dict[str, set[str]]:
    """How each request is judged, by any of the names that its records give it."""
    folder.mkdir()
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name.replace('/', '-')}.ndjson").write_text(text)
    table = forensics.read_logs(folder, workers=1).requests.polars()
    found: dict[str, set[str]] = {}
    for request, transfer, tier in table.select("request_id", "transfer_id", "tier").iter_rows():
        for name in {request, transfer} - {None}:
            found.setdefault(name, set()).add(tier)
    return found


def cleared(folder: Path, seed: int, *hops: str) -> list[tuple[str, str]]:
    """Affected requests that are ruled out without the whole log of a node of a hop, by node."""
    files = logs(seed)
    affected = {
        name: judged
        for name, judged in tiers(folder / "whole", files).items()
        if judged & set(AFFECTED_TIERS)
    }
    assert affected
    found = []
    for number, gone in enumerate(name for name in files if name.startswith(hops)):
        left = {name: rows for name, rows in files.items() if name != gone}
        after = tiers(folder / str(number), left)
        found += [(gone, name) for name in affected if after.get(name) == {"ruled_out"}]
    return found


def test_who_ran_on_a_node_whose_log_is_not_there(tmp_path: Path) -> None:
    assert cleared(tmp_path, 2019, "prefill") == []


@pytest.mark.long
@pytest.mark.parametrize("seed", [2020, *range(3060, 3068)])
def test_who_ran_on_a_node_whose_log_is_not_there_in_more_runs(tmp_path: Path, seed: int) -> None:
    assert cleared(tmp_path, seed, "prefill", "decode") == []


def of_two(*hops: str) -> list[Row]:
    """Records of some hops, prefill's of every second request alone: the others are of no log."""
    shared = {"received_at": "2026-09-01T10:00:00Z"}
    rows: list[Row] = []
    for number in range(10):
        known = shared | {"request_id": f"r{number}", "prompt_tokens": 900}
        room = shared | {"transfer_id": f"{7_000 + number}"}
        rows += [known | {"hop": "gateway", "http_status": 200, "completion_tokens": 5}]
        rows += [known | room | {"hop": "decode", "decode_node": "d1"}]
        if number % 2:
            rows += [room | {"hop": "prefill", "prefill_node": "p1", "prefill_prompt_tokens": 900}]
    return [row for row in rows if row["hop"] in hops]


def pool(node: str) -> str:
    return f'[[capacity]]\nnode = "{node}"\nrole = "prefill"\npool_tokens = 1000\n'


ALL = ("gateway", "prefill", "decode")


@pytest.mark.parametrize(
    ("hops", "stated", "others"),
    [
        (ALL, pool("p1"), "not_assessable"),
        (ALL, pool("p*"), "ruled_out"),
        (ALL, "[trigger]\nthreshold_tokens = 1000\n", "ruled_out"),
        (("gateway", "decode"), pool("p1"), "ruled_out"),
        (("gateway",), pool("p1"), "ruled_out"),
    ],
    ids=["one server's", "any server's", "threshold", "no prefill log", "gateway alone"],
)
def test_a_limit_of_one_server_says_nothing_of_another_that_must_be_there(
    case_of: CaseOf, hops: tuple[str, ...], stated: str, others: str
) -> None:
    found = case_of(*of_two(*hops), incident=stated).requests.polars()
    judged = dict(found.select("request_id", "tier").iter_rows())
    assert {judged[f"r{number}"] for number in (1, 3, 5, 7, 9)} == {"ruled_out"}
    assert {judged[f"r{number}"] for number in (0, 2, 4, 6, 8)} == {others}


def test_a_log_that_ends_before_a_request_shows_no_other_server(case_of: CaseOf) -> None:
    """Its server may have gone on: what it told of its pool stands."""
    rows = [row | {"received_at": f"2026-09-01T10:{at:02}:00Z"} for at, row in _numbered()]
    kept = [row for row in rows if row["hop"] != "prefill" or row["received_at"] < _UNTIL]
    found = case_of(*kept, incident=pool("p1")).requests.polars()
    judged = dict(found.select("request_id", "tier").iter_rows())
    assert {judged[f"r{number}"] for number in (2, 4)} == {"not_assessable"}
    assert {judged[f"r{number}"] for number in (1, 3, 5, 6, 7, 8, 9)} == {"ruled_out"}


_UNTIL = "2026-09-01T10:06"


def _numbered() -> list[tuple[int, Row]]:
    found = []
    for row in of_two(*ALL):
        own = row.get("request_id", "r").removeprefix("r") or int(row["transfer_id"]) - 7_000
        found.append((int(own), row))
    return found
