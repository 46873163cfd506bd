"""Fleets of each version of SGLang, by whatever they logged: who comes out in which tier.

Every fleet hands on one prompt that its prefill node refused, among sound ones. What the logs
of its version can show of that is asked from end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import forensics
from tests.fleets.nodelog import node_log
from tests.fleets.surfaces import SURFACES, Files, default, text_requests, time_stats
from tests.fleets.timestats import stats
from tests.fleets.versions import CONTEXT, VERSIONS, Fleet, Handoff, line

Told = dict[str, tuple[str, set[str], int | None]]
SAME = {"below_limit", "same_count"}
STUB = {"over_limit", "placeholder_prefill", "rejected_but_served"}
UNTIMED = ("0.5.8", "0.5.9", "0.5.10")
"""Their text request logs hold no time at all."""
STATS = VERSIONS[1:]
"""0.4.6 has no time stats."""
FIXED = VERSIONS[VERSIONS.index("0.5.20") :]


def read(folder: Path, files: Files) -> forensics.Case:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    case = forensics.read_logs(folder)
    assert all(not (count.unreadable or count.bad_values) for count in case.exposure().read)
    return case


def told(case: forensics.Case, fleet: Fleet, more: Iterable[Handoff] = ()) -> Told:
    """Tier, reasons and pages of each hand-off of a fleet, by its name."""
    rooms = {str(handoff.room): handoff.name for handoff in (*fleet.handoffs, *more)}
    return {
        rooms[row["transfer_id"]]: (row["tier"], set(row["reasons"]), row["transferred_pages"])
        for row in case.requests.polars().to_dicts()
        if row["transfer_id"] in rooms
    }


def both(surface: Callable[[Fleet, str], Files], fleet: Fleet) -> Files:
    return surface(fleet, "prefill") | surface(fleet, "decode")


@pytest.mark.few(4)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_surface_of_a_version_shows_the_prompt_that_was_refused(tmp_path, version):
    fleets = {
        name: Fleet(version, number)
        for number, (name, (first, _)) in enumerate(SURFACES.items())
        if Fleet(version).since(first)
    }
    files = {}
    for name, fleet in fleets.items():
        files |= both(SURFACES[name][1], fleet)
    case = read(tmp_path / "logs", files)
    for name, fleet in fleets.items():
        found = told(case, fleet)
        assert set(found) == {handoff.name for handoff in fleet.handoffs}
        tier, reasons, pages = found.pop("leak")
        # A refusal of 0.4.6 names nobody.
        stub = STUB if fleet.since("0.4.10") else STUB - {"rejected_but_served"}
        assert (tier, reasons & STUB) == ("probable", stub), name
        sound = SAME if name != "text request log" or version not in UNTIMED else {"same_count"}
        calibrated = name == "time stats" and fleet.since("0.5.10")
        assert pages == (1 if calibrated else None)
        for handoff in fleet.handoffs[:-1]:
            tier, reasons, pages = found[handoff.name]
            assert (tier, reasons - {"transfer_calibrated"}) == ("ruled_out", sound), name
            assert pages == (-(-handoff.prefill // 64) if calibrated else None)
    rows = case.requests.polars()
    labelled = rows["tenant_id"].drop_nulls()
    assert set(labelled) <= {"acme"}
    named = {"text request log", "JSON request log", "exporter"} & fleets.keys()
    assert len(labelled) == len(named) * len(fleets["text request log"].handoffs)
    assert "CANARY" not in rows.drop("reasons", "missing").write_csv() + repr(case.exposure())


@pytest.mark.few(2)
@pytest.mark.parametrize("version", VERSIONS)
def test_decode_alone_and_a_refusal_make_it_possible(tmp_path, version):
    fleet = Fleet(version)
    decode = time_stats if version in STATS else text_requests
    files = default(fleet, "prefill") | decode(fleet, "decode")
    found = told(read(tmp_path / "logs", files), fleet)
    refused = {"over_limit", "joined_by_inference", "rejected_but_served"}
    assert found.pop("leak")[:2] == ("possible", refused)
    assert {tier for tier, *_ in found.values()} == {"ruled_out"}


@pytest.mark.few(2)
@pytest.mark.parametrize("version", STATS)
def test_a_prompt_that_prefill_cut_is_found_as_one_that_it_refused(tmp_path, version):
    fleet = Fleet(version)
    cut = fleet.handoff("cut", 9, 681_274, 700_000)
    warning = (
        "Request length is longer than the KV cache pool size or the max context length. "
        "Truncated. len(req.origin_input_ids)=700000, max_req_input_len=681274."
    )
    more = {
        "prefill": [stats(fleet, "prefill", cut), line(fleet, cut.at, warning)],
        "decode": [stats(fleet, "decode", cut)],
    }
    files = {
        f"{fleet.node(side)}.log": node_log(fleet, side, lines) for side, lines in more.items()
    }
    tier, reasons, _ = told(read(tmp_path / "logs", files), fleet, [cut])["cut"]
    assert tier == "probable"
    assert reasons >= {"over_limit", "placeholder_prefill", "truncated_prefill"}


@pytest.mark.few(2)
@pytest.mark.parametrize("version", STATS)
def test_a_transfer_that_was_short_is_possible_where_megabytes_show_it(tmp_path, version):
    fleet = Fleet(version)
    short = fleet.handoff("short", 9, 50_000, 50_000)
    files = {
        f"{fleet.node(side)}.log": node_log(
            fleet,
            side,
            [stats(fleet, side, one) for one in fleet.handoffs] + [stats(fleet, side, short, 1)],
        )
        for side in ("prefill", "decode")
    }
    tier, reasons, pages = told(read(tmp_path / "logs", files), fleet, [short])["short"]
    if fleet.since("0.5.10"):
        seen = {"same_count", "short_unless_cached", "transfer_calibrated"}
        assert (tier, reasons, pages) == ("possible", seen, 1)
    else:
        assert (tier, reasons, pages) == ("ruled_out", SAME, None)


@pytest.mark.few(2)
@pytest.mark.parametrize("version", FIXED)
def test_a_version_with_the_fix_hands_nothing_on(tmp_path, version):
    fleet = Fleet(version)
    leak = fleet.handoffs[-1]
    forward, entry = (0.0, 1_788_183_608.5) if fleet.since("0.5.21") else (74.17, leak.at + 0.03)
    retired = (
        f"ReqTimeStats(rid={leak.rid('prefill')}, bootstrap_room={leak.room}, input_len=1, "
        f"cached_input_len=0, output_len={int(forward > 0)}, attempts=0, type=prefill): "
        f"bootstrap_queue_duration=0.00ms, queue_duration=0.00ms, "
        f"forward_duration={forward:.2f}ms, entry_time={entry:.3f}"
    )
    waited = (
        f"Decode transfer failed for request rank=0 decode_req.req.rid='{leak.rid('decode')}' "
        f"decode_req.req.bootstrap_room={leak.room} with exception KVTransferError("
        f"bootstrap_room={leak.room}): Request {leak.room} timed out after 300.0s in "
        "KVPoll.WaitingForInput"
    )
    files = {
        f"{fleet.node(side)}.log": node_log(fleet, side, [line(fleet, leak.at + after, text)])
        for side, after, text in (("prefill", 0, retired), ("decode", 300, waited))
    }
    tier, reasons, _ = told(read(tmp_path / "logs", files), fleet)["leak"]
    assert tier == "ruled_out"
    assert reasons >= {"handoff_failed", "not_delivered"}


def test_pools_of_every_version_are_read(tmp_path):
    fleets = [Fleet(version, number) for number, version in enumerate(VERSIONS)]
    files = {}
    for fleet in fleets:
        files |= both(default, fleet)
    rows = read(tmp_path / "logs", files).capacity.polars()
    names = ("node", "role", "pool_tokens", "page_tokens", "context_tokens", "input_limit_tokens")
    assert set(rows.select(names).iter_rows()) == {
        row
        for fleet in fleets
        for row in (
            (fleet.node("prefill"), "prefill", 681_280, 64, CONTEXT, 681_274),
            (fleet.node("decode"), "decode", 1_146_880, 64, CONTEXT, 1_048_570),
        )
    }
