"""Whose clock told when a request ran: no source is lost because another hop's is off."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import forensics
from forensics.attribution import hopclocks
from forensics.skew import PAIRS
from tests.attribution.made import DAY, POOL, hold, read, reasons, tiers

READ = datetime.fromisoformat(f"{DAY}02:00:00.5+00:00")
READER = hold(
    "x", "02:00:00.5", "02:00:09.5", decode_prompt_tokens=512, reserved_pages=8, transferred_pages=1
)
WRITERS = [hold(f"w{n}", f"01:0{n}:00.5", f"01:0{n}:01.5") for n in range(6)]
EVERYONE = dict.fromkeys((f"of-w{n}" for n in range(6)), "possible")


def later(seconds: float) -> str:
    """A time of the day, so many seconds after the pages were read."""
    return f"{(READ + timedelta(seconds=seconds)).astimezone(UTC):%H:%M:%S.%f}"


def bare(request_id: str, seconds: float, **more: object) -> dict[str, object]:
    """A request of which only the gateway logged the rank and the time, by its own clock."""
    return {
        "request_id": request_id,
        "tenant_id": f"of-{request_id}",
        "hop": "gateway",
        "received_at": f"{DAY}{later(seconds)}Z",
        "decode_node": "d1",
        "http_status": 200,
    } | more


@pytest.mark.parametrize(("off", "listed"), [(0.9, True), (2.5, False)])
def test_a_source_by_a_clock_that_may_be_a_second_ahead_is_listed(tmp_path, off, listed):
    case = read(tmp_path, POOL, *WRITERS, READER, bare("odd", off))
    assert ("of-odd" in tiers(case)) is listed


def test_a_reader_by_a_clock_that_may_be_a_second_behind_is_after_its_source(tmp_path):
    reader = bare("x", 0, reserved_pages=8, transferred_pages=1, decode_prompt_tokens=512)
    source = hold("odd", later(0.9), later(1.5))
    case = read(tmp_path, POOL, *WRITERS, source, reader)
    assert tiers(case)["of-odd"] == "possible"


def test_a_hold_that_only_the_gateway_logged_is_by_the_clock_of_that(tmp_path):
    """Its stamps are as fine as those of decode, but the order with these is not known."""
    times = {"reserved_at": f"{DAY}{later(0.9)}Z", "released_at": f"{DAY}{later(1.5)}Z"}
    held = bare("odd", 0.9, **times, reserved_pages=2, transferred_pages=2, completion_tokens=1)
    held |= {"decode_prompt_tokens": 128}
    case = read(tmp_path, POOL, *WRITERS, READER, held)
    assert reasons(case) == {"holds_not_logged"}
    assert tiers(case) == EVERYONE | {"of-odd": "possible"}


def test_two_logs_of_one_hold_may_round_its_times_otherwise(tmp_path):
    rough = {n: f"{DAY}01:00:0{at}.501Z" for at, n in enumerate(("reserved_at", "released_at"))}
    again = WRITERS[0] | rough | {"hop": "decode"}
    (tmp_path / "more.ndjson").write_text(json.dumps(again) + "\n")
    rows = "".join(json.dumps(row | {"hop": "decode"}) + "\n" for row in (*WRITERS, READER))
    (tmp_path / "d1.ndjson").write_text(json.dumps(POOL) + "\n" + rows)
    assert reasons(forensics.read_logs(tmp_path)) == set()


@pytest.mark.parametrize("rooms", [(None, None), ("11", "12")], ids=["none", "numbered"])
def test_tries_of_one_second_are_a_hold_each(tmp_path, rooms):
    """Without a number they are one request, which would have held pages from first to last."""
    times = [("01:30:00.1", "01:30:00.3"), ("01:30:00.6", "01:30:00.9")]
    tries = [hold("r", *at, transfer_id=room) for at, room in zip(times, rooms, strict=True)]
    case = read(tmp_path, POOL, *WRITERS, *tries, READER)
    assert reasons(case) == (set() if rooms[0] else {"holds_not_logged"})
    assert tiers(case)["of-r"] in ("possible", "probable")


@pytest.mark.parametrize(
    ("rooms", "found"),
    [((None, None), {"holds_not_logged"}), (("11", "11"), set())],
    ids=["without a number", "of one number"],
)
def test_tries_of_one_second_in_two_logs_are_a_hold_each_unless_numbered(tmp_path, rooms, found):
    """Each log tells of one; both stamps are finer than they are apart, so none is rounded."""
    times = [("01:30:00.123456", "01:30:00.345678"), ("01:30:00.623456", "01:30:00.945678")]
    tries = [hold("r", *at, transfer_id=room) for at, room in zip(times, rooms, strict=True)]
    logs = [[POOL, *WRITERS, READER, tries[0]], tries[1:]]
    for number, rows in enumerate(logs):
        told = [row if "node" in row else row | {"hop": "decode"} for row in rows]
        text = "".join(json.dumps(row) + "\n" for row in told)
        (tmp_path / f"{number}.ndjson").write_text(text)
    assert reasons(forensics.read_logs(tmp_path)) == found


@pytest.mark.parametrize(("measured", "listed"), [(6, True), (4, False)])
def test_how_far_two_clocks_are_apart_is_taken_from_what_both_logged(tmp_path, measured, listed):
    """The gateway's clock is half a minute ahead of decode's; five requests of both tell that."""
    both = [row | {"hop": "decode"} for row in WRITERS]
    door = [
        bare(f"w{n}", 0)
        | {"received_at": f"{DAY}01:0{n}:30.4Z", "decode_node": None, "tenant_id": f"of-w{n}"}
        for n in range(measured)
    ]
    case = read(tmp_path, POOL, *both, READER | {"hop": "decode"}, *door, bare("odd", 25))
    assert ("of-odd" in tiers(case)) is listed


@pytest.mark.parametrize(("second", "off"), [("d1", 14 * 3_600_000_000), ("d2", 0)])
def test_a_rank_of_which_some_zones_were_assumed_may_be_hours_off(second, off):
    """Of its own log, or the gateway's: where all were assumed, all are off alike."""
    told = {"handoff": [1, 2], "decode_node": ["d1", second], "assumed": [True, False]}
    observed = pl.DataFrame({"handoff": [1, 2], "hop": "decode", "file": 0})
    found = hopclocks.attach(
        pl.DataFrame(told), hopclocks.unsure(observed), pl.DataFrame(schema=PAIRS)
    )
    for name in ("decode_behind", "decode_ahead"):
        assert found[name].to_list() == [off, off]
