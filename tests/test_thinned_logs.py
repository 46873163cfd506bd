"""However many records of logs are lost at random: nobody is cleared whom they showed affected.

Up to a loss of a fifth, more of it never clears more, either. Beyond that logs look like those of
some servers alone, and who is below the limit is cleared by it and counted in the bound.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import lab
from forensics.lab.plain import plain_files

Row = dict[str, Any]
Marked = dict[str, list[tuple[float, Row]]]
"""Each record of each file with its place in the order of loss, from 0 to 1: all losses nest."""
MONOTONE, TOLD = 0.2, 0.5
"""Up to these shares more loss clears no more, and there is something left to tell it by."""
AFFECTED = {"confirmed", "probable", "possible"}


def marked(seed: int, requests: int, *, of: str = "", capacity: bool = False) -> Marked:
    """The logs of a run; of files whose name begins otherwise than ``of`` nothing is lost.

    What says how a server started stays, unless ``capacity`` may be lost as well.
    """
    run = lab.simulate(replace(lab.small(seed=seed, requests=requests), tenants=30))
    order = random.Random(seed)
    return {
        name: [
            (order.random() if name.startswith(of) and (capacity or "hop" in row) else 1.0, row)
            for row in rows
        ]
        for name, rows in plain_files(run).items()
    }


def judged(folder: Path, logs: Marked, loss: float) -> dict[str, set[str]]:
    """How each request is judged; ``unsent`` where a client's own record shows that it got nothing.

    That is told by its record alone, whatever the joins around it are.
    """
    place = folder / f"{loss:.2f}"
    place.mkdir()
    for name, rows in logs.items():
        text = "".join(json.dumps(row) + "\n" for at, row in rows if at >= loss)
        (place / f"{name.replace('/', '-')}.ndjson").write_text(text)
    case = forensics.read_logs(place, workers=1)
    found: dict[str, set[str]] = {}
    for name, tier, reasons in (
        case.requests.polars().select("request_id", "tier", "reasons").iter_rows()
    ):
        found.setdefault(name, set()).add("unsent" if "not_delivered" in reasons else tier)
    return found


def cleared(tiers: dict[str, set[str]]) -> set[str]:
    return {name for name, each in tiers.items() if each <= {"ruled_out", "unsent"}}


def sweep(
    folder: Path, logs: Marked, losses: tuple[float, ...]
) -> Iterator[tuple[float, set[str]]]:
    """Each loss that clears somebody whom a smaller one did not, or who was affected, and whom."""
    whole = judged(folder, logs, 0)
    affected = {name for name, tiers in whole.items() if tiers & AFFECTED}
    assert affected
    before = cleared(whole)
    for loss in losses:
        now = judged(folder, logs, loss)
        unsent = {name for name, tiers in now.items() if tiers <= {"unsent"}}
        newly = (cleared(now) & whole.keys()) - before - unsent if loss <= MONOTONE else set()
        wrong = cleared(now) & affected if loss <= TOLD else set()
        if newly or wrong:
            yield loss, newly | wrong
        before = cleared(now)


def test_a_share_of_all_records(tmp_path: Path) -> None:
    assert list(sweep(tmp_path, marked(3, 200), (0.08, 0.3))) == []


def test_a_share_of_the_records_of_one_hop(tmp_path: Path) -> None:
    """Nothing but a share tells such logs from those of some servers alone: of a half it is so."""
    assert list(sweep(tmp_path, marked(3, 240, of="prefill"), (0.08, 0.2, 0.5))) == []


@pytest.mark.long
@pytest.mark.parametrize("capacity", [False, True], ids=["requests", "starts"])
@pytest.mark.parametrize("of", ["", "gateway", "prefill", "decode"])
@pytest.mark.parametrize("seed", [5, 7])
def test_any_share(tmp_path: Path, seed: int, of: str, capacity: bool) -> None:
    losses = (0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
    logs = marked(seed, 300, of=of, capacity=capacity)
    assert list(sweep(tmp_path, logs, losses)) == []
