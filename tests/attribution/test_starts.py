"""How far back one has to look: a start counts only where it is known to be one."""

import json
from datetime import datetime
from pathlib import Path

import pytest

import forensics
from tests.attribution.made import warm_up

DAY = "2026-09-01T"
READ = {"reserved_pages": 9, "transferred_pages": 1}


def record(request_id: str, tenant: str | None, at: str, **more: object) -> dict[str, object]:
    row = {"request_id": request_id, "tenant_id": tenant, "received_at": f"{DAY}{at}Z"}
    return row | {"decode_node": "d1", "http_status": 200} | more


def start(at: str, pool: int, **more: object) -> dict[str, object]:
    row = {"node": "d1", "role": "decode", "effective_at": f"{DAY}{at}Z", "pool_tokens": pool}
    return row | more


def sources(tmp_path: Path, *lines: dict[str, object]) -> list[str | None]:
    logs = tmp_path / "logs.ndjson"
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = forensics.read_logs(logs).sources.polars()
    return rows.filter(request_id="x")["source_tenant_id"].to_list()


OLD, NEW = record("a", "old", "01:00:00"), record("b", "new", "03:00:00")
READER = record("x", "own", "04:00:00", **READ)


CHANGED = {
    "pool": (900, 950, {}, {}),
    "setting": (900, 900, {"config": {"tp_size": 8}}, {"config": {"tp_size": 4}}),
    "release": (900, 900, {"engine_version": "0.5.19"}, {"engine_version": "0.5.20"}),
}


@pytest.mark.parametrize(("pool", "other", "told", "now"), CHANGED.values(), ids=CHANGED)
def test_what_cannot_change_in_a_run_is_a_start(tmp_path, pool, other, told, now):
    first, again = start("00:00:00", pool, **told), start("02:00:00", other, **now)
    assert sources(tmp_path, first, OLD, again, NEW, READER) == ["new"]
    (stay,) = forensics.read_logs(tmp_path / "logs.ndjson").analysis.attribution.stays
    assert "start_unsure" not in stay.reasons


@pytest.mark.parametrize(
    "at", [["02:00:00"] * 2, ["02:00:00", "02:00:05"], ["02:00:00", "03:30:00"]]
)
def test_of_records_that_contradict_each_other_none_is_a_start(tmp_path, at):
    told = [start(time, pool) for time, pool in zip(at, (950, 900), strict=True)]
    assert sources(tmp_path, start("00:00:00", 900), OLD, *told, NEW, READER) == ["new", "old"]


@pytest.mark.parametrize("rank", ["d1/dp0", "d1/dp1"])
def test_a_start_of_a_server_that_a_request_outlived_on_any_rank_was_none(tmp_path, rank):
    held = {"reserved_at": f"{DAY}01:50:00Z", "released_at": f"{DAY}02:30:00Z"}
    across = record("s", "across", "01:50:00", **held) | {"decode_node": rank}
    own = [row | {"decode_node": "d1/dp0"} for row in (OLD, NEW, READER)]
    warmed = warm_up("02:01:00", "d1/dp0")
    found = sources(tmp_path, start("00:00:00", 900), start("02:00:00", 950), warmed, across, *own)
    assert {"new", "old"} <= {*found}
    (stay,) = forensics.read_logs(tmp_path / "logs.ndjson").analysis.attribution.stays
    assert "outlived_a_start" in stay.reasons


def test_a_record_that_repeats_what_is_known_may_be_a_snapshot(tmp_path):
    lines = (start("00:00:00", 900), OLD, start("02:00:00", 900), NEW, READER)
    assert sources(tmp_path, *lines) == ["new", "old"]


FULL = {"config": {"quantization": "fp8", "mem_fraction_static": 0.75}, "engine_version": "0.5.19"}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("pool", "told"),
    [
        (900, {"config": {"quantization": "fp8"}}),
        (900, {"config": {**FULL["config"], "mem_fraction_static": "0.750"}}),
        (900, {"config": {**FULL["config"], "quantization": "w8a8_fp8"}}),
        (900, {"config": {"mem_fraction_static": 0.8, "tp_size": 8}}),
        (900, {"model_version": "zai-org/GLM-5.3", "context_tokens": 131_072}),
        (900, {"engine_version": "v0.5.19.post1+cu129"}),
        (950, {"pool_basis": "declared"}),
        (896, {"page_tokens": 64}),
        (7_200, {}),
    ],
    ids=[
        *(
            "a setting less",
            "a figure as text",
            "a setting resolved",
            "a setting of another source",
        ),
        *("a model's whole name", "a version with more", "another basis", "whole pages"),
        "all ranks together",
    ],
)
def test_what_is_only_told_in_another_way_is_no_start(tmp_path, pool, told):
    first = start("00:00:00", 900, pool_basis="reported", model_version="glm-5.3", **FULL)
    again = start("02:00:00", pool, **{"pool_basis": "reported", **FULL, **told})
    assert sources(tmp_path, first, OLD, again, NEW, READER) == ["new", "old"]


def test_another_release_or_figure_is_a_start_though_a_shorter_record_stands_between(tmp_path):
    lines = (start("00:00:00", 900, **FULL), OLD, start("01:30:00", 900), NEW, READER)
    assert sources(tmp_path, *lines) == ["new", "old"]
    for other in ({"engine_version": "0.5.20"}, {"config": {"mem_fraction_static": 0.8}}):
        changed = FULL | {"config": {**FULL["config"], **other.pop("config", {})}} | other
        again = start("02:00:00", 900, **changed)
        told = (again, warm_up("02:01:00"))
        assert sources(tmp_path, *lines[:3], *told, *lines[3:]) == ["new"]


@pytest.mark.parametrize("held", [False, True])
def test_a_record_that_may_be_of_a_start_is_said_unless_a_request_outlived_it(tmp_path, held):
    times = {"reserved_at": f"{DAY}01:00:00Z", "released_at": f"{DAY}02:30:00Z"} if held else {}
    logs = tmp_path / "logs.ndjson"
    lines = (start("00:00:00", 900), OLD | times, start("02:00:00", 900), NEW, READER)
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (stay,) = forensics.read_logs(logs).analysis.attribution.stays
    assert ("start_unsure" in stay.reasons) is not held
    assert "outlived_a_start" not in stay.reasons


def test_a_first_record_behind_a_request_is_no_start(tmp_path):
    assert sources(tmp_path, OLD, start("02:00:00", 900), NEW, READER) == ["new", "old"]


@pytest.mark.parametrize(("ran", "rank"), [(None, "d1"), ("d1", "d1/dp0")])
def test_a_first_record_behind_a_request_that_may_be_of_the_rank_is_no_start(tmp_path, ran, rank):
    own = {"decode_node": rank}
    lines = (OLD | {"decode_node": ran}, start("02:00:00", 900, node=rank), NEW | own, READER | own)
    assert sources(tmp_path, *lines) == ["new", "old"]


def test_a_start_that_a_request_outlived_was_none(tmp_path):
    held = {"reserved_at": f"{DAY}01:00:00Z", "released_at": f"{DAY}02:30:00Z"}
    lines = (start("00:00:00", 900), OLD | held, start("02:00:00", 950), NEW, READER)
    assert sources(tmp_path, *lines) == ["new", "old"]


@pytest.mark.parametrize("late", ["1.5", "9"])
def test_who_read_shortly_before_a_start_may_have_read_of_the_engine_before(tmp_path, late):
    times = {"reserved_at": f"{DAY}04:00:00.5Z", "released_at": f"{DAY}04:00:0{late}Z"}
    lines = (start("00:00:00", 900), NEW, start("04:00:02", 950), READER | times)
    assert sources(tmp_path, *lines) == ["new"]
    (stay,) = forensics.read_logs(tmp_path / "logs.ndjson").analysis.attribution.stays
    assert "start_unsure" in stay.reasons or "outlived_a_start" in stay.reasons


def test_what_an_engine_says_as_it_starts_is_a_start_though_nothing_changed(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    line = "server_args=ServerArgs(model_path='m', page_size=64, disaggregation_mode='decode')"
    text = "".join(f"[2026-09-01 {hour}:00:00] {line}\n" for hour in ("00", "02"))
    (logs / "d1.log").write_text(text)
    rows = "".join(json.dumps(row) + "\n" for row in (OLD, NEW, READER))
    (logs / "rows.ndjson").write_text(rows)
    case = forensics.read_logs(logs)
    assert case.sources.polars()["source_tenant_id"].to_list() == ["new"]


def test_a_request_without_a_rank_may_have_run_on_any(tmp_path):
    astray = record("n", "astray", "03:30:00")
    del astray["decode_node"]
    later = record("l", "later", "05:00:00")
    del later["decode_node"]
    lines = (start("00:00:00", 900), NEW, astray, later, READER)
    assert sources(tmp_path, *lines) == ["astray", "new"]


def test_a_response_without_a_rank_may_have_read_on_any_since_its_last_start(tmp_path):
    other, later = (record("c", "other", at, decode_node="d2") for at in ("03:10:00", "05:00:00"))
    reader = {name: value for name, value in READER.items() if name != "decode_node"}
    starts = (start("00:00:00", 900), start("02:00:00", 950))
    lines = (
        *starts,
        warm_up("02:01:00"),
        OLD,
        NEW,
        other,
        later | {"request_id": "l", "tenant_id": "later"},
        reader,
    )
    assert sources(tmp_path, *lines) == ["new", "other"]
    case = forensics.read_logs(tmp_path / "logs.ndjson")
    assert {tenant.tenant_id: tenant.requests for tenant in case.exposure().sources} == {
        "new": 1,
        "other": 1,
    }
    assert "decode_rank_unknown" in {limit.code for limit in case.exposure().limitations}


@pytest.mark.parametrize(
    "sign",
    [
        {"finish_reason": "length"},
        {"stream_error": True},
        {"transfer_status": "complete"},
        {"transfer_id": "77"},
        {"prefill_tokens": 64},
        {"prefill_prompt_tokens": 64},
    ],
    ids=lambda sign: next(iter(sign)),
)
def test_a_status_of_refusal_hides_no_work(tmp_path, sign):
    odd = {**record("o", "odd", "03:30:00", **sign), "http_status": 400}
    del odd["decode_node"]
    assert sources(tmp_path, start("00:00:00", 900), OLD, odd, READER) == ["odd", "old"]


def test_a_request_that_was_refused_at_the_door_ran_nowhere(tmp_path):
    refused = record("n", "refused", "03:30:00", http_status=429, completion_tokens=0)
    del refused["decode_node"]
    assert sources(tmp_path, NEW, refused, READER) == ["new"]
    refused["http_status"] = 499
    (tmp_path / "left").mkdir()
    assert sources(tmp_path / "left", NEW, refused, READER) == ["new", "refused"]


def test_a_request_without_a_tenant_is_a_source_too(tmp_path):
    assert sources(tmp_path, record("b", None, "03:00:00"), READER) == [None]


def test_of_one_second_nobody_is_first(tmp_path):
    held = {"reserved_at": f"{DAY}04:00:00Z"}
    tied = record("b", "tied", "04:00:00", reserved_at=f"{DAY}04:00:00.400Z")
    assert sources(tmp_path, tied, READER | held) == ["tied"]


def test_the_response_is_no_source_of_itself(tmp_path):
    assert sources(tmp_path, NEW, READER) == ["new"]


@pytest.mark.parametrize(
    ("first", "older", "shown"),
    [
        ("01:00:03", [], False),
        ("01:00:03", [record("y", "of-y", "00:59:00", decode_node="d2")], True),
        ("01:05:00", [], False),
        ("01:05:00", [record(f"m{n}", None, f"01:06:0{n}") for n in range(4)], False),
        ("01:05:00", [warm_up("01:02:00")], True),
        ("01:05:00", [warm_up("01:05:01")], False),
        ("01:40:00", [start("01:00:00", 640, node="d2")], False),
        ("01:40:00", [], True),
    ],
    ids=[
        "at once",
        "but others ran before",
        "in sparse logs",
        "in busy ones",
        *("warmed up", "warmed up since", "with another", "much later"),
    ],
)
def test_logs_that_begin_with_a_snapshot_show_no_start(tmp_path, first, older, shown):
    """What ran before is in no log: of a rank whose pool is known to have been empty, nothing."""
    lines = [start("01:00:00", 640, page_tokens=64), *older, record("a", "of-a", first), READER]
    logs = tmp_path / "logs.ndjson"
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (stay,) = forensics.read_logs(logs).analysis.attribution.stays
    assert ("no_start" not in stay.reasons) is shown


def engine(*lines: tuple[str, str]) -> str:
    """Lines of an engine's log as it starts."""
    said = {
        "start": "server_args=ServerArgs(page_size=64, tp_size=8, disaggregation_mode='decode')",
        "other": "server_args=ServerArgs(page_size=64, tp_size=4, disaggregation_mode='decode')",
        "pool": "KV Cache is allocated. #tokens: 6400, K size: 0.1 GB, V size: 0.1 GB",
        "ready": "The server is fired up and ready to roll!",
    }
    return "".join(f"[2026-09-01 {at}] {said[kind]}\n" for at, kind in lines)


FIRST = [("00:00:00", "start"), ("00:00:30", "pool"), ("00:01:00", "ready")]
AGAIN = [("02:00:00", "start"), ("02:00:30", "pool"), ("02:01:00", "ready")]
SAID = {
    "a start as the first": ([*FIRST, *AGAIN], ["new"], False),
    "a start line that nothing follows": ([*FIRST, *AGAIN[:1]], ["new", "old"], True),
    "start lines alone": ([FIRST[0], AGAIN[0]], ["new"], False),
    "a line of other arguments": ([*FIRST, ("02:00:00", "other")], ["new", "old"], True),
    "ready again": ([*FIRST, *AGAIN[2:]], ["new", "old"], True),
    "a pool again": ([*FIRST, AGAIN[1]], ["new", "old"], True),
    "all but the start line": ([*FIRST, *AGAIN[1:]], ["new"], False),
    "a start that was never ready": ([*FIRST, *AGAIN[:2]], ["new", "old"], True),
}


@pytest.mark.parametrize(("lines", "listed", "unsure"), SAID.values(), ids=SAID)
def test_of_what_may_be_one_start_or_two_the_earlier_counts(tmp_path, lines, listed, unsure):
    (tmp_path / "d1.log").write_text(engine(*lines))
    rows = "".join(json.dumps(row) + "\n" for row in (OLD, NEW, READER))
    (tmp_path / "rows.ndjson").write_text(rows)
    (tmp_path / "i.toml").write_text('[logs]\ntimezone = "UTC"\n')
    case = forensics.read_logs(
        tmp_path / "d1.log", tmp_path / "rows.ndjson", incident=tmp_path / "i.toml"
    )
    assert sorted(case.sources.polars()["source_tenant_id"]) == listed
    (stay,) = case.analysis.attribution.stays
    assert ("start_unsure" in stay.reasons) is unsure


OVERLAP = [("02:00:00", "start"), ("02:20:00", "pool"), ("02:20:30", "ready")]


@pytest.mark.parametrize(
    ("read_at", "listed"),
    [("02:10:00", ["between", "old"]), ("04:00:00", ["between", "new"])],
    ids=["while it loads", "since"],
)
def test_an_engine_may_serve_while_the_next_one_loads(tmp_path, read_at, listed):
    between, reader = record("c", "between", "02:05:00"), record("x", "own", read_at, **READ)
    (tmp_path / "d1.log").write_text(engine(*FIRST, *OVERLAP))
    rows = "".join(json.dumps(row) + "\n" for row in (OLD, between, NEW, reader))
    (tmp_path / "rows.ndjson").write_text(rows)
    (tmp_path / "i.toml").write_text('[logs]\ntimezone = "UTC"\n')
    case = forensics.read_logs(
        tmp_path / "d1.log", tmp_path / "rows.ndjson", incident=tmp_path / "i.toml"
    )
    assert sorted(case.sources.polars()["source_tenant_id"]) == listed
    (stay,) = case.analysis.attribution.stays
    assert {"start_unsure", "holds_not_logged"} & stay.reasons


@pytest.mark.parametrize(
    ("began", "listed"),
    [("02:00:00", ["new"]), ("00:00:01", ["new", "old"])],
    ids=["later", "then"],
)
def test_a_process_that_says_when_it_began_shows_a_start(tmp_path, began, listed):
    """The log has a start of two hours before, and of this one nothing."""
    (tmp_path / "logs").mkdir()
    at = datetime.fromisoformat(f"{DAY}{began}+00:00").timestamp()
    info = {"max_total_num_tokens": 6_400, "max_req_input_len": 6_394, "page_size": 64}
    info |= {"internal_states": [{}], "startup_time": at, "disaggregation_mode": "decode"}
    (tmp_path / "logs" / "server_info.json").write_text(json.dumps(info))
    (tmp_path / "logs" / "server.log").write_text(engine(*FIRST))
    rows = "".join(json.dumps(row | {"decode_node": "logs"}) + "\n" for row in (OLD, NEW, READER))
    (tmp_path / "rows.ndjson").write_text(rows)
    (tmp_path / "i.toml").write_text('[logs]\ntimezone = "UTC"\n')
    logs = (tmp_path / "logs", tmp_path / "rows.ndjson")
    case = forensics.read_logs(*logs, incident=tmp_path / "i.toml")
    assert sorted(case.sources.polars()["source_tenant_id"]) == listed
