"""Whatever is taken out of logs, nobody is ruled out by it: seeded cuts, judged before and after.

Cuts are an hour or more of one node, of one hop or of all logs, on the hour or not; and some of the
lines of such a time. Of small incidents one record, a share of all or of a hop's, or a server's
whole log are taken, one after the other, whether servers are named or not: as long as of each hop
one request is left that fared well (:mod:`forensics.coverage.holes`). Whom a gateway says it sent
nothing is no one to clear: that is lost in what other hops' records leave open, and stands by
itself where these are gone.
"""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import lab
from forensics.lab.plain import plain_files
from forensics.schema import HOPS

Row = dict[str, Any]
Files = dict[str, list[Row]]
BEGIN = datetime.fromisoformat("2026-03-02T08:00:00+00:00")


def logs(seed: int, requests: int) -> Files:
    """A run's logs; of every sixth hand-off below the limit fewer pages came than were reserved."""
    dice = random.Random(seed)
    files = plain_files(lab.simulate(replace(lab.small(seed=seed, requests=requests), tenants=20)))
    return {
        name: [
            row | {"transferred_pages": 1}
            if (row.get("transferred_pages") or 0) > 2 and dice.random() < 1 / 6
            else row
            for row in rows
        ]
        for name, rows in files.items()
    }


def tiers(folder: Path, files: Files, incident: str = "") -> dict[str, set[str]]:
    """How each request is judged, by any of the names that its records give it."""
    folder.mkdir()
    asked = folder.with_suffix(".toml")
    asked.write_text(incident)
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name.replace('/', '-')}.ndjson").write_text(text)
    table = forensics.read_logs(folder, incident=asked, workers=1).requests.polars()
    found: dict[str, set[str]] = {}
    for request, transfer, tier in table.select("request_id", "transfer_id", "tier").iter_rows():
        for name in {request, transfer} - {None}:
            found.setdefault(name, set()).add(tier)
    return found


def cut(files: Files, dice: random.Random) -> Files:
    """The logs without the records of some time, or without some of these."""
    hop = dice.choice(["", "gateway", "prefill", "decode"])
    names = [name for name in files if name.startswith(hop)]
    gone = set(names) if dice.random() < 0.3 else {dice.choice(names)}
    length = timedelta(minutes=dice.choice([60, 72, 100]))
    first = BEGIN + timedelta(minutes=dice.choice([60 * dice.randrange(4), dice.uniform(0, 220)]))
    share = dice.choice([1.0, 0.3, 0.6])
    return {
        name: [
            row
            for row in rows
            if name not in gone or not _within(row, first, length) or dice.random() >= share
        ]
        for name, rows in files.items()
    }


def _within(row: Row, first: datetime, length: timedelta) -> bool:
    at = datetime.fromisoformat(row.get("received_at") or row["effective_at"])
    return first <= at < first + length


def cleared_by(before: dict[str, set[str]], after: dict[str, set[str]]) -> list[str]:
    """Who was not ruled out, and is."""
    return sorted(
        name
        for name, now in after.items()
        if now == {"ruled_out"} and before.get(name, now) - {"ruled_out"}
    )


def sweep(folder: Path, seed: int, requests: int, cuts: int, *, given: str = "") -> list[str]:
    dice, files = random.Random(seed), logs(seed, requests)
    files = {name: rows for name, rows in files.items() if not given or name != given}
    before, found = tiers(folder / "whole", files), []
    assert {"ruled_out", "probable"} <= set.union(*before.values())
    for number in range(cuts):
        after = tiers(folder / str(number), cut(files, dice))
        found += cleared_by(before, after)
    return sorted(set(found) - unanswered(files))


def unanswered(files: Files) -> set[str]:
    """Whom gateways say that they sent nothing."""
    rows = [row for name, rows in files.items() if name.startswith("gateway") for row in rows]
    return {row["request_id"] for row in rows if row.get("completion_tokens") == 0}


def test_cuts_of_all_logs(tmp_path: Path) -> None:
    assert sweep(tmp_path, 3, 240, 2) == []


def test_cuts_of_logs_of_one_server_of_two(tmp_path: Path) -> None:
    assert sweep(tmp_path, 3, 240, 2, given="prefill/prefill-02") == []


Change = Callable[[Row, dict[str, Any]], Row]
NAMES = ("prefill_node", "decode_node")
POOL = """[[capacity]]
node = "*"
role = "prefill"
engine = "sglang"
pool_tokens = 40960
page_tokens = 64
context_tokens = 65536
"""
NAMING: dict[str, Change] = {
    "by themselves": lambda row, _: row,
    "by each other": lambda row, nodes: {"prefill_node": nodes.get(row.get("transfer_id"))} | row,
    "by nobody": lambda row, _: {name: row[name] for name in row if name not in NAMES},
}
"""How records tell servers, given the prefill node of each hand-off."""


def small(seed: int, naming: str) -> Files:
    """A small run's logs, without warm-ups and what starts say."""
    files = logs(seed, 60)
    nodes = {row["transfer_id"]: row["prefill_node"] for name in files if "prefill" in name
             for row in files[name] if "hop" in row}  # fmt: skip
    return {
        name: [
            NAMING[naming](row, nodes)
            for row in rows
            if "hop" in row and row.get("transfer_id") not in {"0", "1"}
        ]
        for name, rows in files.items()
    }


def less(files: Files, dice: random.Random) -> Files:
    """The logs without one record, a share of all or of one hop, or the whole log of one server."""
    name = dice.choice([name for name, rows in files.items() if rows])
    hop, share = (
        dice.choice(["gateway", "prefill", "decode", ""]),
        dice.choice([0.05, 0.2, 0.5, 0.8]),
    )
    taken = dice.choice(["record", "share", "share", "file"])
    if taken == "share":
        return {
            path: [row for row in rows if not path.startswith(hop) or dice.random() >= share]
            for path, rows in files.items()
        }
    at = dice.randrange(len(files[name]))
    return files | {name: [] if taken == "file" else files[name][:at] + files[name][at + 1 :]}


def kept(files: Files) -> set[str]:
    """Hops of which a request is left that fared well."""
    ill = {"failed", "aborted"}
    return {
        row["hop"]
        for rows in files.values()
        for row in rows
        if not row.get("rejected") and row.get("transfer_status") not in ill
    }


def removals(folder: Path, seed: int, naming: str, steps: int) -> list[str]:
    """Whom one removal after the other clears, of a small run."""
    dice, files = random.Random(seed), small(seed, naming)
    before, found = judged_as(folder / "whole", files, naming), []
    assert {"ruled_out", "probable"} <= set.union(*before.values())
    for number in range(steps):
        left = less(files, dice)
        if len(kept(left)) < len(HOPS):
            continue
        after = judged_as(folder / str(number), left, naming)
        found += cleared_by(before, after)
        files, before = left, after
    return sorted(set(found) - unanswered(small(seed, naming)))


def judged_as(folder: Path, files: Files, naming: str) -> dict[str, set[str]]:
    """How each request is judged; where nobody names servers, no file's name does either."""
    together = {"all": [row for rows in files.values() for row in rows]}
    return tiers(folder, together if naming == "by nobody" else files, POOL)


@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize("seed", [3, 4])
def test_one_removal_after_the_other(tmp_path: Path, seed: int, naming: str) -> None:
    assert removals(tmp_path, seed, naming, 3) == []


@pytest.mark.long
@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize("seed", range(20, 28))
def test_many_removals(tmp_path: Path, seed: int, naming: str) -> None:
    assert removals(tmp_path, seed, naming, 8) == []


@pytest.mark.long
@pytest.mark.parametrize("given", ["", "prefill/prefill-02", "decode/decode-01"])
@pytest.mark.parametrize("seed", range(10, 18))
def test_many_cuts(tmp_path: Path, seed: int, given: str) -> None:
    assert sweep(tmp_path, seed, 600, 10, given=given) == []
