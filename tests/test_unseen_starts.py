"""A start that lies in lost hours: what was known of the limit before says nothing of after."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
Row = dict[str, Any]
BEGIN = datetime.fromisoformat("2026-03-02T08:00:01+00:00")
LARGE, SMALL, LONG, SHORT = 1_000_000, 500_000, 600_000, 6_400
PARTS = {"engine": "sglang", "disaggregated": True, "page_tokens": 64, "role": "prefill"}


def pool(tokens: int, at: str | None, node: str = "p1") -> Row:
    row = PARTS | {"node": node, "pool_tokens": tokens}
    return row if at is None else row | {"effective_at": at}


FIRST = [pool(LARGE, "2026-03-02T00:00:00Z"), pool(LARGE, "2026-03-02T00:00:00Z", "p2")]
RESTART = pool(SMALL, "2026-03-02T09:10:00Z")


def traffic(node: str = "p1") -> list[Row]:
    """Thirty requests an hour for three hours; of each tenth, a long one, prefill counts nothing.

    From 09:10 on the server rejects these, and nothing but the record of its start shows it.
    """
    rows = []
    for number in range(90):
        at = (BEGIN + timedelta(minutes=2 * number)).isoformat()
        tokens = SHORT if number % 10 else LONG
        told = {"received_at": at, "request_id": f"{node}-{number}"}
        room = told | {"transfer_id": f"{node[1:]}{number:04}"}
        client = {"http_status": 200, "completion_tokens": 5}
        rows.append(told | client | {"hop": "gateway", "prompt_tokens": tokens})
        rows.append(room | client | {"hop": "decode", "decode_prompt_tokens": tokens})
        counted = {"prefill_prompt_tokens": tokens} if tokens == SHORT else {}
        rows.append(room | counted | {"hop": "prefill", "prefill_node": node})
    return rows


def without(rows: list[Row], hour: str, node: str = "p1") -> list[Row]:
    """The records without those that a server of prefill wrote in an hour."""
    return [
        row
        for row in rows
        if node not in (row.get("prefill_node"), row.get("node"))
        or str(row.get("received_at", row.get("effective_at")))[11:13] != hour
    ]


def long_ones(case: forensics.Case, hour: int = 10, node: str = "p1") -> list[tuple[str, str]]:
    """Tiers and reasons of the long prompts of an hour, each once."""
    rows = case.requests.polars().filter(
        (pl.col("prompt_tokens") == LONG)
        & (pl.col("received_at").dt.hour() == hour)
        & pl.col("request_id").str.starts_with(node)
    )
    told = rows.select("tier", pl.col("reasons").list.join(";")).unique().sort("tier")
    return [(tier, reasons) for tier, reasons in told.iter_rows()]


def test_a_restart_that_was_lost_clears_nobody_by_the_limit_before(case_of: CaseOf) -> None:
    rows = [*FIRST, RESTART, *traffic()]
    assert long_ones(case_of(*rows)) == [("possible", "over_limit")]
    case = case_of(*without(rows, "09"))
    assert long_ones(case, 8) == [("ruled_out", "below_limit")]
    assert long_ones(case) == [("not_assessable", "start_unseen")]
    bound = case.exposure().headline.bound
    assert bound.high - bound.low == 30 + 3, "thirty in the hole, three after it"


def test_at_the_limit_of_another_server_it_is_possible(case_of: CaseOf) -> None:
    other = pool(SMALL, "2026-03-02T00:00:00Z", "p3")
    rows = without([*FIRST, other, RESTART, *traffic()], "09")
    assert long_ones(case_of(*rows)) == [("possible", "limit_uncertain;start_unseen")]


def test_a_prompt_that_it_computed_since_shows_that_shorter_ones_are_below(case_of: CaseOf) -> None:
    rows = without([*FIRST, *traffic()], "09")
    last = next(row for row in reversed(rows) if row.get("prefill_node") == "p1")
    room = {"transfer_id": last["transfer_id"]}
    kept = [row for row in rows if row.get("request_id") != last["request_id"]]
    tokens = {"decode_prompt_tokens": LONG + 1, "prefill_prompt_tokens": LONG + 1}
    both = [
        last | room | tokens | {"hop": hop, "completion_tokens": 5} for hop in ("prefill", "decode")
    ]
    assert long_ones(case_of(*kept, *both)) == [("ruled_out", "below_limit")]


@pytest.mark.parametrize("told", ["2026-03-02T10:00:00Z", "2026-03-02T09:59:00Z"])
def test_from_the_next_record_of_its_pool_on_it_is_known_again(case_of: CaseOf, told: str) -> None:
    rows = [*without([*FIRST, *traffic()], "09"), pool(LARGE, told)]
    assert long_ones(case_of(*rows)) == [("ruled_out", "below_limit")]


def few(rows: list[Row], one_of: int) -> list[Row]:
    """The same with one request of some, the long ones among them."""
    return [
        row
        for row in rows
        if "request_id" not in row or int(row["request_id"].rpartition("-")[2]) % one_of == 0
    ]


def never(rows: list[Row], hour: str = "09") -> list[Row]:
    """The records without any of an hour, whoever wrote it."""
    return [
        row for row in rows if str(row.get("received_at", row.get("effective_at")))[11:13] != hour
    ]


def test_a_silence_that_nothing_is_missing_of_hides_no_start(case_of: CaseOf) -> None:
    """Six requests an hour: that none came in one of them may be chance."""
    quiet = never(few([*FIRST, *traffic()], 5))
    busy = [row for row in traffic("p2") if str(row.get("received_at"))[11:13] == "09"]
    assert long_ones(case_of(*quiet)) == [("ruled_out", "below_limit")]
    assert long_ones(case_of(*quiet, *busy)) == [("ruled_out", "below_limit")]


@pytest.mark.parametrize(
    "rows",
    [traffic(), few([*traffic(), *traffic("p2")], 2)],
    ids=["an hour of its own", "an hour of all together"],
)
def test_an_hour_that_all_logs_lost_may_hide_a_start(case_of: CaseOf, rows: list[Row]) -> None:
    """No hop proves a request in it. They are too many for none to be chance, if not of each."""
    case = case_of(*never([*FIRST, RESTART, *rows]))
    assert long_ones(case, 8) == [("ruled_out", "below_limit")]
    assert long_ones(case) == [("not_assessable", "start_unseen")]
    bound = case.exposure().headline.bound
    assert bound.high - bound.low >= len(rows) // 90


def test_a_silence_of_all_logs_between_two_hours_may_hide_a_start(case_of: CaseOf) -> None:
    """None of the hours that it touches is empty."""
    rows = [*FIRST, RESTART, *traffic(), *traffic("p2")]
    kept = [
        row
        for row in rows
        if not "08:40" <= str(row.get("received_at", row.get("effective_at")))[11:16] < "09:30"
    ]
    case = case_of(*kept)
    assert long_ones(case, 8) == [("ruled_out", "below_limit")]
    assert long_ones(case) == [("not_assessable", "start_unseen")]
    table = case.coverage.polars()
    assert not table["gap"].any()
    assert table.filter("thin")["hour"].dt.hour().unique().to_list() == [8, 9]
    assert "node hours with far fewer records" in str(case.exposure().headline.incomplete)


def pause(number: int) -> bool:
    return 33 <= number <= 36


@pytest.mark.parametrize(
    ("line", "silent", "said"),
    [("{", True, "start_unseen"), ("{", False, "below_limit"), ("", True, "below_limit")],
    ids=["unreadable", "without a silence", "nothing unreadable"],
)
def test_a_start_may_be_in_a_line_that_could_not_be_read(
    tmp_path: Path, line: str, silent: bool, said: str
) -> None:
    """The server took no requests for some minutes, in which it may have started."""
    rows = [
        row for row in traffic() if not silent or not pause(int(row["request_id"].split("-")[1]))
    ]
    own = [json.dumps(row) for row in rows if row["hop"] == "prefill"]
    (tmp_path / "p1.ndjson").write_text("\n".join([*own[:33], line, *own[33:]]) + "\n")
    others = [*FIRST, *(row for row in rows if row["hop"] != "prefill")]
    (tmp_path / "others.ndjson").write_text("".join(json.dumps(row) + "\n" for row in others))
    case = forensics.read_logs(*sorted(tmp_path.glob("*.ndjson")))
    assert {reasons for _, reasons in long_ones(case)} == {said}


@pytest.mark.parametrize(
    ("name", "held", "said"),
    [
        ("p1.log.1", b"\x93\xff\x00garbage\n", "start_unseen"),
        ("p1.log.1", b"", "below_limit"),
        ("p1.log.1", b"\x80\x04\x95\x00\x00", "below_limit"),
        ("p2.log.1", b"\x93\xff\x00garbage\n", "below_limit"),
        ("gateway.log", b"\x93\xff\x00garbage\n", "below_limit"),
        ("old.log", b"\x93\xff\x00garbage\n", "below_limit"),
    ],
    ids=["its own", "empty", "a dump", "another's", "a client's", "nobody's, and no hour silent"],
)
def test_a_start_may_be_in_a_file_of_which_nothing_could_be_read(
    tmp_path: Path, name: str, held: bytes, said: str
) -> None:
    """The server took no requests for some minutes: of a log that may be anybody's too few."""
    silent = [r for r in traffic() if not pause(int(r["request_id"].split("-")[1]))]
    begun = [row | {"effective_at": "2026-03-02T07:59:00Z"} for row in FIRST]
    rows = [*begun, *silent, *traffic("p2")]
    (tmp_path / "all.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / name).write_bytes(held)
    case = forensics.read_logs(*sorted(tmp_path.iterdir()))
    assert {reasons for _, reasons in long_ones(case, 8)} == {"below_limit"}
    assert {reasons for _, reasons in long_ones(case)} == {said}


def test_of_a_log_of_nobodys_an_hour_without_records_may_hold_a_start(tmp_path: Path) -> None:
    """Six requests an hour, none in one: that alone is no sign of a loss."""
    quiet = never(few([*FIRST, *traffic()], 5))
    (tmp_path / "all.ndjson").write_text("".join(json.dumps(row) + "\n" for row in quiet))
    assert long_ones(forensics.read_logs(tmp_path)) == [("ruled_out", "below_limit")]
    (tmp_path / "old.log").write_bytes(b"\x93\xff\x00garbage\n")
    assert long_ones(forensics.read_logs(tmp_path)) == [("not_assessable", "start_unseen")]


def test_of_one_server_that_no_record_names_nothing_before_the_hole_is_doubted(
    case_of: CaseOf,
) -> None:
    rows = never([FIRST[0], RESTART, *traffic()])
    nameless = [{k: v for k, v in row.items() if k != "prefill_node"} for row in rows]
    case = case_of(*nameless)
    assert long_ones(case, 8) == [("ruled_out", "below_limit")]
    assert long_ones(case) == [("not_assessable", "start_unseen")]


def test_what_was_lost_of_one_server_of_which_some_were_not_given_hides_a_start(
    case_of: CaseOf,
) -> None:
    """Nobody names the server: the hour in which its log is silent says whose it is."""
    others = [row for node in ("p3", "p4", "p5") for row in traffic(node)]
    others = [row for row in others if row.get("hop") != "prefill"]
    case = case_of(*without([*FIRST, RESTART, *traffic(), *traffic("p2"), *others], "09"))
    assert not next(r for r in case.exposure().reach if r.hop == "prefill").kept
    assert long_ones(case) == [("not_assessable", "start_unseen")]
    assert long_ones(case, node="p2") == [("ruled_out", "below_limit")]


def test_what_another_server_lost_hides_no_start_of_one_that_wrote(case_of: CaseOf) -> None:
    rows = without([*FIRST, *traffic(), *traffic("p2")], "09", "p2")
    case = case_of(*rows)
    assert long_ones(case, node="p2") == [("not_assessable", "start_unseen")]
    assert long_ones(case) == [("ruled_out", "below_limit")]


@pytest.mark.parametrize(
    "incident",
    [
        "[trigger]\nthreshold_tokens = 700000\n",
        '[[capacity]]\nnode = "p*"\nrole = "prefill"\nengine = "sglang"\npool_tokens = 1000000\n',
    ],
    ids=["threshold", "capacity"],
)
def test_what_the_incident_states_holds_after_a_hole(case_of: CaseOf, incident: str) -> None:
    rows = [row for row in without(traffic(), "09") if "pool_tokens" not in row]
    assert long_ones(case_of(*rows, incident=incident)) == [("ruled_out", "below_limit")]


def test_what_the_incident_states_of_all_holds_for_whose_server_is_not_known(
    case_of: CaseOf,
) -> None:
    """Of p3 nothing was given, and nobody names it."""
    others = [row for row in traffic("p3") if row.get("hop") != "prefill"]
    rows = without([*traffic(), *traffic("p2"), *others], "09")
    declared = PARTS | {"node": "p*", "pool_tokens": LARGE}
    told = "".join(f"{name} = {json.dumps(value)}\n" for name, value in declared.items())
    case = case_of(*rows, incident=f"[[capacity]]\n{told}")
    assert long_ones(case, 9, "p3") == [("not_assessable", "log_gap")]
    beside = [("not_assessable", "log_gap")]
    assert long_ones(case, node="p3") == [*beside, ("ruled_out", "below_limit")]


def test_a_request_of_an_unknown_server_may_be_of_the_one_with_the_hole(case_of: CaseOf) -> None:
    """No prefill record names its server: the limits of all of them stand against it."""
    rows = without([*FIRST, *traffic()], "09")
    nameless = [row for row in rows if row["received_at" if "hop" in row else "node"]]
    nameless = [
        {name: value for name, value in row.items() if name != "prefill_node"}
        if str(row.get("received_at"))[11:13] == "10" and row.get("hop") == "prefill"
        and "prefill_prompt_tokens" not in row
        else row
        for row in nameless
    ]  # fmt: skip
    assert long_ones(case_of(*nameless)) == [("not_assessable", "start_unseen")]


def ranked(rows: list[Row]) -> list[Row]:
    """The same as of two ranks of one server: the first has what p1 has, the second that of p2."""
    ranks = {"p1": "p/dp0", "p2": "p/dp1"}
    names = ("node", "prefill_node")
    return [row | {n: ranks[row[n]] for n in names if row.get(n) in ranks} for row in rows]


def test_a_rank_that_writes_on_does_not_show_that_another_did_not_start(case_of: CaseOf) -> None:
    """The log of the second rank ends for an hour, in which it starts with a smaller pool."""
    rows = [*FIRST, pool(SMALL, "2026-03-02T09:10:00Z", "p2"), *traffic(), *traffic("p2")]
    case = case_of(*ranked(without(rows, "09", "p2")))
    assert long_ones(case, node="p2") == [("not_assessable", "start_unseen")]
    assert long_ones(case) == [("ruled_out", "below_limit")]
    told = pool(LARGE, "2026-03-02T09:59:00Z")
    case = case_of(*ranked([*without(rows, "09", "p2"), told]))
    assert long_ones(case, node="p2") == [("not_assessable", "start_unseen")]


def test_a_rank_whose_log_ends_early_lacks_what_others_prove_of_it(case_of: CaseOf) -> None:
    """Whatever the other ranks of its server have since."""
    rows = [*FIRST, *traffic(), *traffic("p2")]
    for hour in ("09", "10"):
        rows = without(rows, hour, "p2")
    table = case_of(*ranked(rows)).requests.polars()
    lost = (pl.col("received_at").dt.hour() >= 9) & pl.col("request_id").str.starts_with("p2")
    assert set(table.filter(lost)["tier"]) == {"not_assessable"}
    assert "ruled_out" in set(table.filter(~lost)["tier"])


WINDOW = '[scope]\nwindow = ["2026-03-02T08:05:00Z", "2026-03-02T10:31:00Z"]\n'


def tiers(case: forensics.Case) -> dict[str, int]:
    return dict(case.requests.polars().group_by("tier").len().iter_rows())


def neighbour(case: forensics.Case, choice: str) -> dict[str, int]:
    (row,) = [row for row in case.exposure().sensitivity if row.choice.startswith(choice)]
    names = ("confirmed", "probable", "possible", "ruled_out", "not_assessable")
    return {name: getattr(row, name) for name in names if getattr(row, name)}


@pytest.mark.parametrize(("way", "minutes"), [("earlier", -5), ("later", 5)])
def test_times_that_move_after_a_hole_are_judged_as_logs_that_have_them(
    case_of: CaseOf, way: str, minutes: int
) -> None:
    other = pool(SMALL, "2026-03-02T00:00:00Z", "p3")
    rows = without([*FIRST, other, RESTART, *traffic()], "09")
    rows.append(pool(LARGE, "2026-03-02T10:38:00Z"))
    stated = neighbour(case_of(*rows, incident=WINDOW), f"the times of requests 5 min {way}")
    by = timedelta(minutes=minutes)
    moved = [
        row | {"received_at": (datetime.fromisoformat(row["received_at"]) + by).isoformat()}
        if "received_at" in row
        else row
        for row in rows
    ]
    assert tiers(case_of(*moved, incident=WINDOW)) == stated
