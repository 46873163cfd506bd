"""What a missing hour of a log hides, and what a clock that is off can move."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.coverage.rates import thin
from forensics.lab.plain import line, plain_files

HOUR = "10"
WINDOW = '[scope]\nwindow = ["2026-03-02T09:00:00Z", "2026-03-02T12:00:00Z"]\n'
Row = dict[str, Any]


@dataclass(frozen=True)
class Logs:
    """The plain logs of one run, to be read whole or with something missing."""

    files: dict[str, list[Row]]
    folder: Path

    def read(self, name: str, incident: str = "", **changed: list[Row]) -> forensics.Case:
        folder = self.folder / name
        for path, rows in {**self.files, **changed}.items():
            file = folder / "logs" / f"{path}.ndjson"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"".join(line(row) + b"\n" for row in rows))
        (folder / "incident.toml").write_text(incident)
        return forensics.read_logs(folder / "logs", incident=folder / "incident.toml")

    def without(self, path: str, hour: str) -> tuple[list[Row], list[Row]]:
        """The file's records outside of an hour, and those in it."""
        gone = [r for r in self.files[path] if str(r.get("received_at"))[11:13] == hour]
        return [r for r in self.files[path] if r not in gone], gone


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    run = lab.simulate(replace(lab.small(seed=3, requests=1_200), tenants=30))
    files = {name: list(rows) for name, rows in plain_files(run).items()}
    return Logs(files, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def whole(logs: Logs) -> forensics.Case:
    return logs.read("whole")


def verdicts(case: forensics.Case) -> pl.DataFrame:
    return case.requests.polars().select("request_id", "transfer_id", "attempt", "tier", "reasons")


def test_the_whole_logs_have_no_hole(whole: forensics.Case) -> None:
    document = whole.exposure()
    assert document.holes == []
    assert [(r.hop, r.kept, r.lost) for r in document.reach] == [
        ("gateway", True, 0),
        ("prefill", True, 0),
        ("decode", True, 0),
    ]


@pytest.mark.parametrize("path", ["decode/decode-01", "prefill/prefill-01"])
def test_a_missing_hour_moves_what_it_could_hide_and_rules_nobody_out(
    logs: Logs, whole: forensics.Case, path: str
) -> None:
    kept, gone = logs.without(path, HOUR)
    probes = {row["request_id"] for row in gone if row.get("tenant_id") is None}
    case = logs.read(path.replace("/", "-"), **{path: kept})
    before, after = verdicts(whole), verdicts(case)
    both = before.join(after, on=["request_id", "attempt"], how="inner", suffix="_now")
    moved = both.filter(pl.col("tier") != pl.col("tier_now"))
    assert moved.height > 50
    assert set(moved["tier_now"]) <= {"not_assessable", "possible"}
    assert set(moved["transfer_id"]) <= {row["transfer_id"] for row in gone}
    hidden = both.filter(pl.col("transfer_id").is_in([row["transfer_id"] for row in gone]))
    stayed = hidden.filter(pl.col("tier") == pl.col("tier_now"))
    # What stays was never decided by that record: nothing left for the client.
    assert stayed["reasons_now"].list.contains("not_delivered").all()
    assert probes is not None
    # What a client's record and prefill's are left of counts once all the same.
    assert after.height == before.height
    side = path.split("/", maxsplit=1)[0]
    lost = {row.hop: row.lost for row in case.exposure().reach}
    assert lost.pop(side) >= moved.height
    assert set(lost.values()) == {0}
    assert {hole.hour[11:13] for hole in case.exposure().holes} <= {
        HOUR,
        "09",
        "11",
    }
    said = case.exposure().headline.incomplete
    assert any(f"in no {side} log" in sentence for sentence in said)


def test_direct_evidence_below_the_limit_does_not_vanish_into_ruled_out(
    case_of: Callable[..., forensics.Case],
) -> None:
    pool = {"node": "p1", "role": "prefill", "pool_tokens": 1_000_000, "engine": "sglang"}
    rows: list[Row] = [pool]
    for number in range(30):
        at = f"2026-03-02T0{7 + number // 10}:{number % 10:02}:00Z"
        shared = {"request_id": f"r{number}", "received_at": at}
        rows.append(shared | {"hop": "gateway", "prompt_tokens": 900, "http_status": 200})
        if number != 14:
            rows.append(shared | {"hop": "decode", "decode_node": "d1", "completion_tokens": 3})
    table = case_of(*rows).requests.polars().sort("request_id")
    lost = table.filter(pl.col("request_id") == "r14")
    assert lost["tier"].to_list() == ["not_assessable"]
    assert lost["reasons"].to_list() == [["log_gap"]]
    assert table.filter(pl.col("tier") == "ruled_out").height == 29


def test_a_log_that_holds_few_of_them_lacks_nothing_but_whole_hours(
    logs: Logs, whole: forensics.Case
) -> None:
    """One decode node's log of two: most requests are not in it, and that says nothing."""
    kept, _ = logs.without("decode/decode-01", HOUR)
    changed = {"decode/decode-01": kept, "decode/decode-02": []}
    case = logs.read("one-node", **changed)
    reach = {row.hop: row for row in case.exposure().reach}
    assert not reach["decode"].kept
    lost = {h.hour[11:13]: h.requests for h in case.exposure().holes if h.hop == "decode"}
    assert lost.pop(HOUR) > 50
    assert sum(lost.values()) < 40, "of the minutes beside it"
    assert whole.exposure().reach[2].kept


def test_logs_that_lost_some_at_random_clear_no_more_than_whole_ones(
    logs: Logs, whole: forensics.Case
) -> None:
    thinned = {
        path: [row for at, row in enumerate(rows) if at % 6]
        for path, rows in logs.files.items()
        if path.startswith("decode")
    }
    case = logs.read("thinned", **thinned)
    decode = next(row for row in case.exposure().reach if row.hop == "decode")
    assert decode.kept
    assert decode.share < 90
    assert cleared(case) < cleared(whole)


def cleared(case: forensics.Case) -> set[str]:
    """Requests of which no attempt is anything but ruled out."""
    tiers = verdicts(case).group_by("request_id").agg((pl.col("tier") == "ruled_out").all())
    return set(tiers.filter("tier")["request_id"])


def shifted(rows: list[Row], minutes: int) -> list[Row]:
    times = ("received_at", "reserved_at", "released_at")
    return [row | {n: _later(row[n], minutes) for n in times if row.get(n)} for row in rows]


def _later(stamp: str, minutes: int) -> str:
    moment = datetime.fromisoformat(stamp) + timedelta(minutes=minutes)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def by_handoff(case: forensics.Case) -> pl.DataFrame:
    rows = case.requests.polars()
    return rows.select("request_id", "transfer_id", "attempt", "tier", "received_at")


@pytest.mark.parametrize("minutes", [-5, 5])
def test_a_clock_that_is_five_minutes_off_moves_rows_at_the_edge_only(
    logs: Logs, minutes: int
) -> None:
    path = "decode/decode-01"
    rows = [row for row in logs.files[path] if "request_id" in row]
    pools = [row for row in logs.files[path] if "request_id" not in row]
    right = by_handoff(logs.read(f"right{minutes}", WINDOW))
    off = logs.read(f"off{minutes}", WINDOW, **{path: pools + shifted(rows, minutes)})
    both = right.join(
        by_handoff(off), on=["request_id", "transfer_id"], suffix="_now", nulls_equal=True
    )
    assert both.height == right.height
    assert (both["attempt"] == both["attempt_now"]).all()
    moved = both.filter(pl.col("tier") != pl.col("tier_now"))
    edges = [datetime(2026, 3, 2, hour) for hour in (9, 12)]  # noqa: DTZ001 -- UTC, as below
    at = pl.col("received_at").dt.replace_time_zone(None)
    near = pl.any_horizontal([(at - edge).abs() <= timedelta(minutes=6) for edge in edges])
    assert moved.filter(~near).rows() == []


def test_far_too_few_records_beside_the_neighbours() -> None:
    rows = [
        {"node": node, "hop": "decode", "hour": hour, "records": n}
        for hour in range(10)
        for node, n in (("a", 100), ("b", 100), ("c", 10 if hour == 4 else 100))
    ]
    frame = pl.DataFrame(rows)
    found = frame.filter(thin(frame))
    assert found.select("node", "hour", "records").rows() == [("c", 4, 10)]
    quiet = frame.with_columns(pl.col("records") // 20)
    assert not thin(quiet).any()
    alone = frame.filter(pl.col("node") == "c")
    assert not thin(alone).any()


# --- who is cleared by a log that lost more than it shows --------------------------------

CaseOf = Callable[..., forensics.Case]
SHORT = ("r9-4", "r10-4", "r12-4")
"""Requests below the limit whose transfer ended early: one prefill record shows it."""


def of_hours(
    hours: tuple[int, ...],
    lost: Iterable[tuple[str, int]] = (),
    given: tuple[str, ...] = ("p1", "p2"),
    *,
    named: bool = False,
) -> list[Row]:
    """Thirty requests an hour over two prefill nodes, without what was lost of a node's hour.

    Where they are ``named``, decode's records say which node it was.
    """
    rows: list[Row] = [
        {"node": node, "role": "prefill", "pool_tokens": 1_000_000, "page_tokens": 64,
         "engine": "sglang", "disaggregated": True, "effective_at": "2026-03-02T00:00:00Z"}
        for node in given
    ]  # fmt: skip
    for hour, number in ((hour, number) for hour in hours for number in range(30)):
        name, node = f"r{hour}-{number}", f"p{1 + number % 2}"
        shared = {"received_at": f"2026-03-02T{hour:02}:{2 * number:02}:01Z"}
        room = {"transfer_id": f"{hour}{number:04}"}
        client = {"request_id": name, "http_status": 200, "completion_tokens": 5}
        rows.append(shared | client | {"hop": "gateway", "prompt_tokens": 6_400})
        rows.append(
            shared | client | room
            | {"hop": "decode", "decode_node": "d1", "decode_prompt_tokens": 6_400}
            | {"reserved_pages": 100} | ({"prefill_node": node} if named else {})
        )  # fmt: skip
        if (node, hour) not in lost:
            sent = 40 if name in SHORT else 100
            rows.append(
                shared | room
                | {"hop": "prefill", "prefill_node": node, "prefill_prompt_tokens": 6_400}
                | {"transferred_pages": sent, "transfer_status": "complete"}
            )  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("hours", "lost"),
    [
        ((10, 11), {("p1", 10)}),
        ((10, 11, 12), {("p1", 10), ("p2", 11)}),
        ((10, 11, 12, 13), {("p1", 12), ("p1", 13), ("p2", 12), ("p2", 13)}),
    ],
    ids=["one of two hours", "another hour of each node", "all end early"],
)
def test_whoever_a_lost_record_could_have_shown_is_not_cleared(
    case_of: CaseOf, hours: tuple[int, ...], lost: set[tuple[str, int]]
) -> None:
    case = case_of(*of_hours(hours, lost))
    rows = case.requests.polars()
    hidden = rows.filter(pl.col("request_id").is_in(SHORT) & pl.col("transfer_id").is_not_null())
    hidden = hidden.filter(pl.col("received_at").dt.hour().is_in([hour for _, hour in lost]))
    assert hidden.height
    assert set(hidden["tier"]) == {"not_assessable"}
    assert (rows["tier"] == "not_assessable").sum() == 15 * len(lost)
    assert case.exposure().headline.incomplete


P2 = {("p2", hour) for hour in (10, 11, 12)}
POOLS = '[[capacity]]\nnode = "p*"\nrole = "prefill"\nengine = "sglang"\npool_tokens = 1000000\n'


def test_what_a_node_has_of_which_nothing_was_given_is_no_loss_where_it_is_named(
    case_of: CaseOf,
) -> None:
    """The logs of p2 were not given: its requests are not lost, and no length clears them."""
    rows = of_hours((10, 11, 12), P2, ("p1",), named=True)
    case = case_of(*rows, incident=POOLS)
    document = case.exposure()
    reach = {r.hop: r for r in document.reach}
    assert (reach["prefill"].kept, reach["prefill"].lost) == (False, 0)
    assert (case.requests.polars()["tier"] == "not_assessable").sum() == 45
    head = document.headline
    assert (head.bound.low, head.bound.high) == (2, 2 + 45)
    said = (
        "45 requests that logs of engines lack: they hold 50% of what others prove in prefill logs"
    )
    assert said in head.incomplete


@pytest.mark.parametrize(("named", "lost"), [(True, 15), (False, 33)])
def test_an_hour_that_one_node_of_some_lacks_is_lost_all_the_same(
    case_of: CaseOf, named: bool, lost: int
) -> None:
    """And p1 lost an hour. Where nobody names p2, all of that hour and beside it may be of p1,
    which may have started in it. Nor does length clear whom p1's log lacks in other hours.
    """
    rows = of_hours((10, 11, 12), {*P2, ("p1", 11)}, ("p1",), named=named)
    case = case_of(*rows, incident=POOLS)
    assert sum(hole.requests for hole in case.exposure().holes) == lost
    assert (case.requests.polars()["tier"] == "not_assessable").sum() == 60
    bound = case.exposure().headline.bound
    assert bound.high - bound.low == 60


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("left", ["r12-4", ""], ids=["shown by another", "shown by none"])
def test_a_line_less_of_one_server_of_two_clears_nobody(
    case_of: CaseOf, named: bool, left: str
) -> None:
    """Whether or not others show that responses below the limit are affected, as it is said."""
    whole = of_hours((10, 11, 12), P2, ("p1",), named=named)
    short = {row["transfer_id"] for row in whole if row.get("transferred_pages") == 40}
    gone = short - {row.get("transfer_id") for row in whole if row.get("request_id") == left}
    rows = [row for row in whole if row.get("hop") != "prefill" or row["transfer_id"] not in gone]
    case = case_of(*rows, incident=POOLS)
    found = dict(case.requests.polars().select("request_id", "tier").iter_rows())
    assert [found[name] for name in ("r10-1", "r10-4", "r10-2")] == [
        *("not_assessable", "not_assessable", "ruled_out")
    ]
    said = {limit.code for limit in case.exposure().limitations}
    assert ("below_limit_affected" in said) == bool(left)


def test_where_a_hop_logs_no_request_lengths_are_all_there_is(case_of: CaseOf) -> None:
    rows = [row for row in of_hours((10, 11), given=()) if row.get("hop") != "prefill"]
    assert set(case_of(*rows, incident=POOLS).requests.polars()["tier"]) == {"ruled_out"}


def of_four(each: int, hours: tuple[int, ...], gone: tuple[str, int] | None = None) -> list[Row]:
    """Requests over four prefill nodes, of which the log of p4 was not given; nobody names them.

    In the first two hours it had a fifth of them, then nearly a third. Every tenth ended early.
    """
    rows: list[Row] = []
    for hour, number in ((hour, number) for hour in hours for number in range(each)):
        given = number % 10 >= (2 if hour < hours[2] else 3)
        node = f"p{1 + number % 3}" if given else "p4"
        told = {"received_at": f"2026-03-02T{hour:02}:{60 * number // each:02}:{number % 7:02}Z"}
        client = {"request_id": f"r{hour}-{number}", "http_status": 200, "completion_tokens": 5}
        room = told | {"transfer_id": f"{hour}{number:04}"}
        rows.append(told | client | {"hop": "gateway", "prompt_tokens": 6_400})
        rows.append(room | client | {"hop": "decode", "decode_prompt_tokens": 6_400}
                    | {"reserved_pages": 100})  # fmt: skip
        if given and (node, hour) != gone:
            sent = {"prefill_prompt_tokens": 6_400, "transferred_pages": 100 if number % 9 else 40}
            rows.append(room | {"hop": "prefill", "prefill_node": node} | sent)
    return rows


def test_an_hour_that_is_taken_away_makes_no_log_look_less_whole(case_of: CaseOf) -> None:
    """Three servers' logs of four: with an hour less of one they hold less than three quarters."""
    found = []
    for gone in (None, ("p1", 10), ("p2", 11)):
        case = case_of(*of_four(30, (10, 11, 12, 13, 14), gone), incident=POOLS)
        (reach,) = [row for row in case.exposure().reach if row.hop == "prefill"]
        assert reach.kept
        rows = case.requests.polars().filter(pl.col("tier") == "ruled_out")
        found.append((set(rows["request_id"]), reach.share))
    assert found[0][0] > found[1][0]
    assert found[0][0] > found[2][0]
    assert found[0][1] >= 75 > found[1][1]


@pytest.mark.parametrize(("servers", "kept"), [(3, True), (2, True), (1, False)])
def test_logs_that_hold_more_than_one_server_of_two_lost_the_rest(
    case_of: CaseOf, servers: int, kept: bool
) -> None:
    """Of many requests two thirds show it: nothing but the log of one of two looks like a half."""
    rows = of_hours(tuple(range(24)), given=("p2",))
    lost = {2: 3, 1: 2}.get(servers, 0)
    held = [
        row for row in rows
        if row.get("hop") != "prefill" or not lost or int(row["transfer_id"][-4:]) % lost
    ]  # fmt: skip
    (reach,) = [row for row in case_of(*held).exposure().reach if row.hop == "prefill"]
    assert reach.kept == kept


def test_an_attempt_that_failed_says_nothing_of_one_that_a_gateway_may_have_answered(
    case_of: CaseOf,
) -> None:
    """Whatever share of the requests gateways hold: this one's record is missing."""
    rows = of_hours((10, 11))
    for row in rows:
        if row.get("transfer_id") == "100007" or row.get("request_id") == "r10-7":
            row |= {"prompt_tokens": 2_000_000} if row["hop"] == "gateway" else {}
            row |= {"decode_prompt_tokens": 2_000_000} if row["hop"] == "decode" else {}
            row |= {"http_status": 503, "completion_tokens": 0} if row["hop"] != "prefill" else {}
    own = [row for row in rows if row.get("hop") != "prefill" or row["transfer_id"] != "100007"]
    half = [
        row for row in own
        if row.get("hop") != "gateway" or not int(row["request_id"].rpartition("-")[2]) % 2
    ]  # fmt: skip
    tiers = [
        set(case_of(*some).requests.polars().filter(pl.col("request_id") == "r10-7")["tier"])
        for some in (own, half, [row for row in own if row.get("hop") != "gateway"])
    ]
    assert tiers == [{"ruled_out"}, {"possible"}, {"ruled_out"}]


def test_hours_of_the_window_without_any_record_are_said(case_of: CaseOf) -> None:
    window = '[scope]\nwindow = ["2026-03-02T07:00:00Z", "2026-03-02T12:30:00Z"]\n'
    said = case_of(*of_hours((10, 11)), incident=window).exposure().headline.incomplete
    assert any(s.startswith("3 hours of the window before the first record") for s in said)
    assert not any("after the last record" in s for s in said)


def test_hours_of_the_window_that_few_records_leave_open_are_a_limitation(case_of: CaseOf) -> None:
    """Five requests in two hours: that none came before or after is as likely as a loss."""
    window = '[scope]\nwindow = ["2026-03-02T07:00:00Z", "2026-03-02T13:30:00Z"]\n'
    few = [row for row in of_hours((10, 11)) if row.get("received_at", "")[14:16] in {"00", "30"}]
    document = case_of(*few, incident=window).exposure()
    assert not any("of the window" in said for said in document.headline.incomplete)
    (said,) = [one.sentence for one in document.limitations if one.code == "window_untold"]
    assert said.startswith("3 hours of the window before the first record of any log and 1 after")


@pytest.mark.parametrize("agree", [0, 1])
def test_a_gateway_whose_clock_an_engine_contradicts_is_not_believed(
    case_of: CaseOf, agree: int
) -> None:
    rows = of_hours((9, 10))
    for row in rows:
        off = row.get("hop") == "gateway" or (agree and row.get("decode_node") == "d1")
        if off:
            at = datetime.fromisoformat(row["received_at"]) - timedelta(minutes=5)
            row["received_at"] = at.isoformat()
    window = '[scope]\nwindow = ["2026-03-02T10:05:00Z", "2026-03-02T13:00:00Z"]\n'
    table = case_of(*rows, incident=window).requests.polars()
    (tier,) = table.filter(pl.col("request_id") == "r10-4")["tier"].unique()
    assert tier == "possible"


@pytest.mark.parametrize("each", [20, 2], ids=["one of twenty", "every second"])
def test_whatever_share_a_gateway_lost_is_counted(case_of: CaseOf, each: int) -> None:
    rows = [
        row
        for row in of_hours((10, 11))
        if row.get("hop") != "gateway" or int(row["request_id"].rpartition("-")[2]) % each
    ]
    said = case_of(*rows).exposure().headline.incomplete
    sentences = [sentence for sentence in said if "gateway" in sentence]
    assert sum(int(sentence.split()[0]) for sentence in sentences) == 2 * -(-30 // each)


def test_a_log_of_few_that_is_cut_off_clears_nobody_that_a_longer_one_does_not(
    case_of: CaseOf,
) -> None:
    """The logs of p2 were not given; those of p1 end early, or stand still amid their hours.

    What they have left shows in both that responses below the limit are affected.
    """
    given = {("p2", hour) for hour in (9, 10, 11, 12)}
    unknown = []
    for lost in ({("p1", 10), ("p1", 11)}, {("p1", hour) for hour in (10, 11, 12)}):
        table = case_of(*of_hours((9, 10, 11, 12), given | lost, ("p1",))).requests.polars()
        unknown.append(set(table.filter(pl.col("tier") == "not_assessable")["request_id"]))
    assert unknown[0]
    assert unknown[0] <= unknown[1]


def of_troubles(*extra: Row) -> list[Row]:
    """Requests that a gateway has all of, and an engine what fared badly of, and what is added."""
    rows = of_hours((10, 11), given=("p1",))
    names = ("received_at", "transfer_id", "hop", "prefill_node")
    failed = {"transfer_status": "failed", "rejection_code": "transfer_failed"}
    own = [row for row in rows if row.get("prefill_node") == "p1"]
    told = [{n: row[n] for n in names} | failed | {"request_id": f"p{at}"} for at, row in
            enumerate(own[::6])]  # fmt: skip
    kept = [row for row in rows if row.get("hop", "gateway") == "gateway"]
    return [*kept, *told, *extra]


def test_an_engine_that_logs_troubles_alone_lacks_no_request(case_of: CaseOf) -> None:
    served = [row for row in of_hours((10, 11)) if row.get("hop") == "prefill"]
    found = []
    for rows in (of_troubles(), of_troubles(*served[:50])):
        document = case_of(*rows).exposure()
        found += [(row.kept, row.lost) for row in document.reach if row.hop == "prefill"]
    assert found[0] == (False, 0)
    assert found[1][0]
    assert 0 < found[1][1] <= 10
