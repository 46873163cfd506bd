"""Logs that cannot be true, or are not all there: named, and attributed as far as that is sound."""

import json

import pytest

import forensics
from tests.attribution.made import DAY, POOL, hold, read, reasons

WRITERS = [hold(f"w{n}", f"01:0{n}:00.5", f"01:0{n}:01.5") for n in range(6)]
READER = hold(
    "x", "02:00:00.5", "02:00:09.5", decode_prompt_tokens=512, reserved_pages=8, transferred_pages=1
)


def found(case) -> tuple[set[str], dict[str, int | None]]:
    """Why the rank is not replayed, and the pages of each source of the response."""
    rows = case.sources.polars().select("source_tenant_id", "pages")
    return reasons(case), dict(rows.drop_nulls("pages").iter_rows())


def tenants(case) -> set[str]:
    return set(case.sources.polars()["source_tenant_id"])


def best(case) -> dict[str, str]:
    """Tier of each source of the response."""
    rows = case.sources.polars().filter(request_id="x").sort("tier")
    return dict(rows.select("source_tenant_id", "tier").iter_rows())


EVERYONE = {f"of-w{n}" for n in range(6)}
WIDENED = dict.fromkeys(("of-e", "of-x"), "not_assessable")


def test_a_rank_with_all_that_is_needed_is_replayed(tmp_path):
    """Ten pages: five writers take them in turn, the sixth takes those of the first."""
    reasons, pages = found(read(tmp_path, POOL, *WRITERS, READER))
    assert reasons == set()
    # The sixth writer found the list short, so that it took the two lowest pages again.
    assert sum(pages.values()) == 7
    assert "of-w0" not in pages
    assert pages["of-w5"] in (1, 2)


def test_without_a_start_everyone_before_is_possible_and_no_more(tmp_path):
    snapshot = POOL | {"effective_at": f"{DAY}01:30:00Z"}
    case = read(tmp_path, snapshot, *WRITERS, READER)
    assert found(case) == ({"no_start"}, {})
    assert tenants(case) == EVERYONE


def test_a_start_in_the_middle_of_a_request_is_none(tmp_path):
    again = POOL | {"effective_at": f"{DAY}01:30:00Z", "pool_tokens": 1_344}
    long = hold("long", "01:20:00.5", "01:40:00.5")
    case = read(tmp_path, POOL, again, *WRITERS, long, READER)
    assert found(case) == ({"outlived_a_start"}, {})
    assert tenants(case) == {*EVERYONE, "of-long"}


def test_a_release_before_its_reservation_is_named(tmp_path):
    odd = hold("odd", "01:20:00.5", "01:10:00.5")
    case = read(tmp_path, POOL, *WRITERS, odd, READER)
    assert found(case) == ({"ends_before_it_begins"}, {})
    assert tenants(case) == {*EVERYONE, "of-odd"}


ODD = {
    "taken after it ended": {"reserved_at": f"{DAY}03:00:00.5Z"},
    "taken before it came": {"reserved_at": f"{DAY}00:20:00.5Z"},
    "no time at all": {"received_at": None, "reserved_at": None, "released_at": None},
    "given back alone": {"received_at": None, "reserved_at": None},
}


@pytest.mark.parametrize("times", ODD.values(), ids=ODD)
def test_a_source_whose_times_leave_it_open_is_possible_and_said(tmp_path, times):
    odd = hold("odd", "01:20:00.5", "01:21:00.5", **times)
    case = read(tmp_path, POOL, *WRITERS, odd, READER)
    reasons, pages = found(case)
    assert reasons & {"ends_before_it_begins", "holds_not_logged", "times_differ"}
    assert pages == {}
    assert tenants(case) == {*EVERYONE, "of-odd"}
    assert {t.tenant_id: t.requests for t in case.exposure().sources}["of-odd"] == 1


@pytest.mark.parametrize("times", ODD.values(), ids=ODD)
def test_a_reader_whose_times_leave_it_open_may_have_read_from_everyone(tmp_path, times):
    """A start lies between its times, so that the latest alone would name nobody."""
    late = hold("x", "02:00:00.5", "02:00:09.5", decode_prompt_tokens=512, reserved_pages=8)
    late |= {"transferred_pages": 1} | times
    again = POOL | {"effective_at": f"{DAY}02:30:00Z", "pool_tokens": 1_344}
    case = read(tmp_path, POOL, *WRITERS, late, again)
    assert found(case)[1] == {}
    assert tenants(case) == EVERYONE


@pytest.mark.parametrize(
    "sign",
    [{"reserved_pages": 2}, {"transferred_pages": 1}, {"reserved_at": f"{DAY}01:20:01.5Z"}],
    ids=lambda sign: next(iter(sign)),
)
def test_a_refusal_with_a_sign_of_pages_is_none(tmp_path, sign):
    bare = ("decode_node", "reserved_at", "released_at", "reserved_pages", "transferred_pages")
    door = hold("odd", "01:20:00.5", "01:20:01.5", http_status=429, completion_tokens=0)
    door |= dict.fromkeys((*bare, "decode_prompt_tokens"))
    (tmp_path / "door").mkdir()
    assert tenants(read(tmp_path / "door", POOL, *WRITERS, door, READER)) == EVERYONE
    case = read(tmp_path, POOL, *WRITERS, door | sign, READER)
    assert tenants(case) == {*EVERYONE, "of-odd"}
    assert found(case) == ({"records_lost"}, {})


def busy(*, hole: range = range(0), first: int = 60) -> list[dict[str, object]]:
    """A request a minute for two hours from a minute of the day on, less those of some minutes."""
    at = [minute for minute in range(first, first + 120) if minute not in hole]
    return [
        hold(f"b{n}", f"0{n // 60}:{n % 60:02}:00.5", f"0{n // 60}:{n % 60:02}:01.5") for n in at
    ]


STARTED = POOL | {"effective_at": f"{DAY}00:55:00Z"}
WARM_UP = hold("f81909e68629fcd0", "00:56:00.5", "00:56:00.6", transfer_id="0", hop="decode") | {
    "tenant_id": None,
    "decode_prompt_tokens": 4,
    "completion_tokens": 8,
    "reserved_pages": 1,
    "transferred_pages": 1,
}
LAST = READER | {
    name: f"{DAY}03:10:0{n}.5Z"
    for n, name in enumerate(("received_at", "reserved_at", "released_at"))
}


@pytest.mark.parametrize(
    ("requests", "lost"),
    [
        (busy(), False),
        (busy(hole=range(115, 122)), False),
        (busy(hole=range(110, 135)), True),
        (busy(hole=range(60, 100)), True),
    ],
    ids=["none", "a short one", "in the middle", "since the start"],
)
def test_a_stretch_without_requests_in_any_log_widens(tmp_path, requests, lost):
    elsewhere = hold("e", "03:09:00.5", "03:09:01.5", decode_node="d2", tenant_id="elsewhere")
    case = read(tmp_path, STARTED, WARM_UP, *requests, elsewhere, LAST)
    assert ("records_lost" in found(case)[0]) is lost
    tiers = dict(case.sources.polars().select("source_tenant_id", "tier").iter_rows())
    assert tiers.get("elsewhere") == ("not_assessable" if lost else None)
    assert ("probable" in tiers.values()) is not lost


def without_a_hop(*, hole: range, others: range = range(0)) -> list[dict[str, object]]:
    """Joined records: thirty an hour on one rank and, in hours of the day, as many on another."""
    return [
        hold(
            f"{node}-{n}",
            f"{n // 30:02}:{n % 30 * 2:02}:00.5",
            f"{n // 30:02}:{n % 30 * 2:02}:01.5",
        )
        | {"decode_node": node, "tenant_id": f"of-{node}"}
        for node, hours in (("d1", set(range(1, 8)) - {*hole}), ("d2", others))
        for n in range(30 * 8)
        if n // 30 in hours
    ]


@pytest.mark.parametrize(
    ("hole", "lost"), [(range(0), False), (range(4, 5), True)], ids=["none", "an hour"]
)
def test_an_hour_without_joined_records_of_a_rank_widens(tmp_path, hole, lost):
    """The other rank has some of every hour, so that the log as a whole is never silent."""
    rows = without_a_hop(hole=hole, others=range(1, 8))
    last = LAST | {n: str(LAST[n]).replace("T03:10", "T08:10") for n in LAST if n.endswith("_at")}
    case = read(tmp_path, STARTED, *rows, last)
    assert ("records_lost" in found(case)[0]) is lost
    assert best(case).get("of-d2") == ("not_assessable" if lost else None)


def test_an_hour_without_any_joined_record_widens_beside_a_client_log(tmp_path):
    """Few ran on each rank, and the gateway's records name none, so that the log alone shows it."""
    rows = [
        row | {"decode_node": f"d{n % 9 + 1}", "tenant_id": f"of-d{n % 9 + 1}"}
        for n, row in enumerate(without_a_hop(hole=range(4, 5)))
    ]
    at = {f"{n:02}:00.5" for n in range(0, 60, 2)}
    door = [
        {"request_id": f"g{n}", "tenant_id": "door", "received_at": f"{DAY}04:{second}Z"}
        | {"hop": "gateway", "http_status": 429}
        for n, second in enumerate(sorted(at))
    ]
    last = LAST | {n: str(LAST[n]).replace("T03:10", "T08:10") for n in LAST if n.endswith("_at")}
    case = read(tmp_path, STARTED, *rows, *door, last)
    assert "records_lost" in found(case)[0]
    assert best(case)["of-d2"] == "not_assessable"


def test_a_stretch_without_requests_widens_for_a_response_without_a_rank(tmp_path):
    reader = {name: value for name, value in LAST.items() if name != "decode_node"}
    later = hold("later", "04:00:00.5", "04:00:01.5")
    case = read(tmp_path, STARTED, *busy(hole=range(110, 135)), later, reader)
    tiers = dict(case.sources.polars().select("source_tenant_id", "tier").iter_rows())
    assert tiers["of-later"] == "not_assessable"
    assert tiers["of-b60"] == "possible"


def test_more_held_than_the_pool_is_named(tmp_path):
    beside = [hold(f"b{n}", "01:20:00.5", "01:40:00.5") for n in range(6)]
    case = read(tmp_path, POOL, *WRITERS, *beside, READER)
    assert found(case) == ({"more_than_the_pool"}, {})
    assert tenants(case) == EVERYONE | {f"of-b{n}" for n in range(6)}


def test_a_hold_without_its_end_is_named(tmp_path):
    open_ = hold("open", "01:20:00.5", "01:40:00.5")
    del open_["released_at"]
    case = read(tmp_path, POOL, *WRITERS, open_, READER)
    assert found(case) == ({"holds_not_logged"}, {})


@pytest.mark.parametrize("reader", [READER, READER | {"decode_node": None}], ids=["d1", "any"])
def test_an_unreadable_line_is_a_record_of_anybody_that_is_missing(tmp_path, reader):
    lines = "".join(json.dumps(line) + "\n" for line in (POOL, *WRITERS, reader))
    (tmp_path / "d1.ndjson").write_text(lines + '{"request_id": "CANARY-\n')
    elsewhere = hold("e", "02:30:00.5", "02:30:01.5", decode_node="d2")
    (tmp_path / "d2.ndjson").write_text(json.dumps(elsewhere) + "\n")
    case = forensics.read_logs(tmp_path)
    assert best(case) == dict.fromkeys(EVERYONE, "possible") | WIDENED
    if reader is READER:
        assert found(case) == ({"records_lost"}, {})


OTHERS = {
    "of a pool": (POOL | {"node": "p", "role": "prefill"}, True),
    "of a client": ({"request_id": "g", "hop": "gateway", "http_status": 429}, False),
    "of prefill": ({"request_id": "w0", "hop": "prefill", "prefill_node": "p"}, False),
    "joined": ({"request_id": "g", "tenant_id": "g", "http_status": 429}, True),
}


@pytest.mark.parametrize(("other", "lost"), OTHERS.values(), ids=OTHERS)
def test_an_unreadable_line_beside_none_of_a_rank_may_be_of_any(tmp_path, other, lost):
    lines = "".join(json.dumps(line) + "\n" for line in (POOL, *WRITERS, READER))
    (tmp_path / "d1.ndjson").write_text(lines)
    elsewhere = hold("e", "02:30:00.5", "02:30:01.5", decode_node="d2")
    (tmp_path / "d2.ndjson").write_text(json.dumps(elsewhere) + "\n")
    (tmp_path / "older.ndjson").write_text(json.dumps(other) + '\n{"request_id": "CANARY-\n')
    case = forensics.read_logs(tmp_path)
    assert ("records_lost" in found(case)[0]) is lost
    assert best(case).get("of-e") == ("not_assessable" if lost else None)


NAMED = {
    "of the rank": ("d1.log", True),
    "of another": ("d2.log", False),
    "a decode log": ("decode-07/stdout.txt", True),
    "a log of any": ("kube.log.2.gz", True),
    "of prefill": ("prefill-01.log", False),
    "of a client": ("gateway.jsonl", False),
    "a note": ("notes.md", False),
}


@pytest.mark.parametrize(("name", "lost"), NAMED.values(), ids=NAMED)
def test_a_log_in_no_known_form_may_be_of_anybody_on_the_ranks_it_is_named_for(
    tmp_path, name, lost
):
    (tmp_path / "rows.ndjson").write_text(
        "".join(json.dumps(line) + "\n" for line in (POOL, *WRITERS, READER))
    )
    elsewhere = hold("e", "02:30:00.5", "02:30:01.5", decode_node="d2")
    (tmp_path / "more.ndjson").write_text(json.dumps(elsewhere) + "\n")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"\x00\xff CANARY \x01\n" * 50)
    (tmp_path / "empty.log").touch()
    case = forensics.read_logs(tmp_path)
    assert ("records_lost" in found(case)[0]) is lost
    assert best(case).get("of-e") == ("not_assessable" if lost else None)
    assert ("probable" in best(case).values()) is not lost


def test_where_only_some_requests_were_logged_anybody_may_have_run(tmp_path):
    elsewhere = hold("e", "01:30:00.5", "01:30:01.5", decode_node="d2")
    incident = "[logs]\nsampling_rate = 0.1\n"
    case = read(tmp_path, POOL, *WRITERS, READER, elsewhere, incident=incident)
    assert best(case) == dict.fromkeys(EVERYONE, "possible") | WIDENED


def test_a_stretch_without_requests_widens_where_the_direction_is_not_settled(tmp_path):
    elsewhere = hold("e", "03:09:00.5", "03:09:01.5", decode_node="d2")
    lines = (STARTED, *busy(hole=range(110, 135)), elsewhere, LAST)
    case = read(tmp_path, *lines, incident='[trigger]\nmechanism = "unknown"\n')
    assert best(case)["of-e"] == "not_assessable"
    assert "probable" not in best(case).values()


def test_without_pool_or_page_size_nothing_is_replayed(tmp_path):
    case = read(tmp_path, *WRITERS, READER)
    reasons, pages = found(case)
    assert {"no_pool", "no_start"} <= reasons
    assert pages == {}
    assert tenants(case) == EVERYONE


def test_a_response_that_is_only_possible_has_no_probable_source(tmp_path):
    """Without a status or tokens nobody knows whether anything left."""
    unknown = dict(READER)
    del unknown["http_status"], unknown["completion_tokens"]
    case = read(
        tmp_path,
        POOL,
        *WRITERS,
        unknown | {"completion_tokens": None},
        READER
        | {
            "request_id": "y",
            "received_at": f"{DAY}03:00:00.5Z",
            "reserved_at": f"{DAY}03:00:00.5Z",
            "released_at": f"{DAY}03:00:09.5Z",
        },
    )
    rows = case.sources.polars()
    assert set(rows.filter(request_id="x")["tier"]) <= {"possible"}


def test_the_sources_of_the_document_are_counted_by_response(tmp_path):
    case = read(tmp_path, POOL, *WRITERS, READER)
    by_tenant = {t.tenant_id: t for t in case.exposure().sources}
    assert {t.tier for t in by_tenant.values()} == {"probable", "possible"}
    assert all(t.responses == t.n_probable + t.n_possible == 1 for t in by_tenant.values())
    assert by_tenant["of-w5"].n_probable == 1
    assert by_tenant["of-w0"].n_possible == 1
    assert sum(t.pages or 0 for t in by_tenant.values()) == 7
