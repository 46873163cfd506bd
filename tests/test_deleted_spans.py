"""Whatever span of a node's log is deleted: nobody is ruled out by it who was not before."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import lab
from forensics.lab.plain import plain_files

Row = dict[str, Any]
Logs = dict[str, list[Row]]
Span = Callable[[int, int], bool]
SPANS: dict[str, Span] = {
    "first half": lambda at, of: at < of // 2,
    "second half": lambda at, of: at >= of // 2,
    "middle": lambda at, of: of // 3 <= at < of - of // 3,
    "all": lambda _at, _of: True,
}
LIMIT = '[trigger]\nthreshold_tokens = 600000\n[logs]\ntimezone = "UTC"\n'
BEGIN = datetime.fromisoformat("2026-03-02T08:00:00+00:00")


def without(rows: list[Row], span: Span) -> list[Row]:
    """The log of a node without the records of a span: what says how it started stays."""
    records = [number for number, row in enumerate(rows) if "hop" in row]
    gone = {number for at, number in enumerate(records) if span(at, len(records))}
    return [row for number, row in enumerate(rows) if number not in gone]


def judged(folder: Path, logs: Logs) -> dict[str, set[str]]:
    """The tiers of each request that a client sent."""
    folder.mkdir(parents=True)
    for name, rows in logs.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name.replace('/', '-')}.ndjson").write_text(text)
    (folder.parent / f"{folder.name}.toml").write_text(LIMIT)
    case = forensics.read_logs(folder, incident=folder.parent / f"{folder.name}.toml", workers=1)
    found: dict[str, set[str]] = {}
    for name, tier in case.requests.polars().select("request_id", "tier").iter_rows():
        found.setdefault(name, set()).add(tier)
    return found


def ruled_out(tiers: dict[str, set[str]]) -> set[str]:
    return {name for name, each in tiers.items() if each == {"ruled_out"}}


def fleet(hours: int, each: int, prefill: tuple[str, ...] = ("p1", "p2")) -> Logs:
    """Logs of two prefill nodes and a decode node; every fifth hand-off, a short one, lacks pages.

    Nothing but a prefill record shows those, and they lie in every part of each log.
    """
    shared = {"engine": "sglang", "disaggregated": True, "page_tokens": 64}
    start = shared | {"pool_tokens": 1_000_000, "effective_at": "2026-03-01T00:00:00Z"}
    logs: Logs = {"gateway": [], "d1": [start | {"node": "d1", "role": "decode"}]}
    logs |= {node: [start | {"node": node, "role": "prefill"}] for node in prefill}
    for number in range(hours * each):
        at = BEGIN + timedelta(hours=number / each, seconds=1)
        told = {"received_at": at.isoformat(), "transfer_id": f"{number:05}"}
        client = {"request_id": f"r{number}", "http_status": 200, "completion_tokens": 5}
        count = {"decode_prompt_tokens": 6_400, "reserved_pages": 100}
        gateway = {key: value for key, value in told.items() if key != "transfer_id"}
        logs["gateway"].append(gateway | client | {"hop": "gateway", "prompt_tokens": 6_400})
        logs["d1"].append(told | client | count | {"hop": "decode", "decode_node": "d1"})
        node = f"p{1 + number % 2}"
        sent = {"transferred_pages": 40 if number % 5 == 0 else 100, "transfer_status": "complete"}
        own = told | sent | {"hop": "prefill", "prefill_node": node, "prefill_prompt_tokens": 6_400}
        if node in logs:
            logs[node].append(own)
    return logs


def found(folder: Path, logs: Logs, cuts: list[tuple[str, str]]) -> Iterator[tuple[str, set[str]]]:
    """Each cut that rules out somebody who was not, and whom."""
    before = ruled_out(judged(folder / "whole", logs))
    for number, (node, span) in enumerate(cuts):
        cut = logs | {node: without(logs[node], SPANS[span])}
        newly = ruled_out(judged(folder / f"cut{number}", cut)) - before
        if newly:
            yield f"{node}: {span}", newly


def test_a_span_that_is_deleted_rules_nobody_out(tmp_path: Path) -> None:
    cuts = [("p2", "all"), ("d1", "second half")]
    assert list(found(tmp_path, fleet(3, 10), cuts)) == []


def test_a_span_of_the_only_log_that_was_given_rules_nobody_out(tmp_path: Path) -> None:
    assert list(found(tmp_path, fleet(3, 20, ("p1",)), [("p1", "second half")])) == []


def aborted(number: int) -> list[Row]:
    """A request to which decode says that it sent nothing, and the gateway that it was answered."""
    told = {"received_at": f"2026-03-02T08:{number:02}:00Z", "request_id": f"r{number}"}
    stopped = {"hop": "decode", "decode_node": "d1", "completion_tokens": 0, "prompt_tokens": 9_000}
    served = {"hop": "gateway", "prompt_tokens": 700_000, "http_status": 200}
    return [told | served | {"completion_tokens": 9}, told | stopped]


def test_what_an_engine_did_not_send_clears_nobody_whose_client_record_was_lost(
    tmp_path: Path,
) -> None:
    rows = [row for number in range(20) for row in aborted(number)]
    assert ruled_out(judged(tmp_path / "whole", {"all": rows})) == set()
    assert ruled_out(judged(tmp_path / "lost", {"all": rows[:20] + rows[21:]})) == set()


@pytest.mark.long
@pytest.mark.parametrize(("hours", "each"), [(4, 24), (60, 6)], ids=["hours", "days"])
@pytest.mark.parametrize("given", [("p1", "p2"), ("p1",)], ids=["two", "one"])
def test_no_span_of_any_node_does(
    tmp_path: Path, hours: int, each: int, given: tuple[str, ...]
) -> None:
    """But for a hop that has no log left: lengths and statuses alone clear by the limit."""
    logs = fleet(hours, each, given)
    cuts = [(node, span) for node in logs for span in SPANS]
    cuts = [cut for cut in cuts if len(given) > 1 or cut != ("p1", "all")]
    assert list(found(tmp_path, logs, cuts)) == []


@pytest.mark.long
def test_nor_does_any_of_a_simulated_incident(tmp_path: Path) -> None:
    run = lab.simulate(replace(lab.small(seed=3, requests=400), tenants=30))
    logs = {name: list(rows) for name, rows in plain_files(run).items()}
    assert list(found(tmp_path, logs, [(node, span) for node in logs for span in SPANS])) == []


@pytest.mark.long
@pytest.mark.parametrize("surface", ["default", "request-log-text"])
def test_nor_does_any_of_what_engines_log_of_it(tmp_path: Path, surface: str) -> None:
    """Lines of whole logs, their beginnings kept: they say what was started, and how."""
    lab.write_fleet(lab.simulate(lab.small(21, requests=200)), tmp_path, surface, surface)
    texts = {path: path.read_bytes().splitlines(keepends=True) for path in tmp_path.iterdir()}
    before, _ = cleared(tmp_path)
    newly = {}
    for path, lines in texts.items():
        head = 0 if path.suffix == ".ndjson" else 40
        for name, span in SPANS.items():
            rest = [ln for n, ln in enumerate(lines[head:]) if not span(n, len(lines) - head)]
            path.write_bytes(b"".join([*lines[:head], *rest]))
            newly[path.name, name] = cleared(tmp_path)[1] - before
        path.write_bytes(b"".join(lines))
    assert {cut: who for cut, who in newly.items() if who} == {}


def cleared(folder: Path) -> tuple[set[str], set[str]]:
    """Whom the logs of a folder rule out, and whom for more than that nothing was sent to them.

    Of these a client's own record says so, which the records of others may hide.
    """
    told: dict[str, set[str]] = {}
    sent: dict[str, set[str]] = {}
    table = forensics.read_logs(folder, workers=1).requests.polars()
    for name, tier, reasons in table.select("request_id", "tier", "reasons").iter_rows():
        told.setdefault(name, set()).add(tier)
        sent.setdefault(name, set()).add("none" if "not_delivered" in reasons else tier)
    return ruled_out(told), ruled_out(sent)
