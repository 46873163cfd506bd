"""The profiles of the package: what they read, from which layouts, and what they leave alone."""

import json
import tomllib
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forensics.incident import Incident
from forensics.schema import REQUEST_COLUMNS
from forensics.sources.profiles.builtin import profiles
from forensics.sources.registry import FORMATS, by_name
from forensics.sources.strangers import Teller

DATA = Path(__file__).parents[1] / "_data" / "sources" / "profiles"
TRUTH = tomllib.loads((DATA / "truth.toml").read_text())
SAMPLES = {path.stem: path for path in DATA.glob("*.[cj]s*")}
NAMES = sorted(SAMPLES)
LINES = [name for name in NAMES if SAMPLES[name].suffix == ".jsonl"]
LISTS = [name for name in NAMES if SAMPLES[name].suffix == ".json"]
TABLES = [name for name in NAMES if SAMPLES[name].suffix == ".csv"]


def shown(seen) -> dict[str, list[str]]:
    """The values of a file as text; columns without any are left out."""
    if not seen.rows.height:
        return {}
    rows = seen.rows.sort("line").select(
        pl.col(c.name).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
        if c.kind == "time"
        else pl.col(c.name).cast(pl.String)
        for c in REQUEST_COLUMNS
        if c.name in seen.rows.columns
    )
    rows = rows.select(s for s in rows if s.null_count() < rows.height).fill_null("")
    return rows.to_dict(as_series=False)


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLES[name].read_text().splitlines()]


def test_every_profile_has_a_sample_and_its_truth():
    assert set(SAMPLES) == set(TRUTH) == {profile.name for profile in profiles()}


@pytest.mark.parametrize("name", NAMES)
def test_the_values_of_a_sample(read, name):
    seen = read(SAMPLES[name].read_bytes(), SAMPLES[name].name)
    assert seen.facts.format == name
    assert shown(seen) == TRUTH[name]


@pytest.mark.parametrize("name", NAMES)
def test_records_of_an_unverified_profile_say_so(read, name):
    seen = read(SAMPLES[name].read_bytes(), SAMPLES[name].name)
    verified = {profile.name: profile.verified for profile in profiles()}[name]
    if seen.rows.height:
        assert seen.column("unverified") == [None if verified else True] * seen.rows.height
        assert set(seen.column("hop")) == {"gateway"}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize(
    "lay",
    [
        json.dumps,
        lambda found: json.dumps(found, indent=2),
        lambda found: "\n".join(json.dumps([record]) for record in found),
        lambda found: "\n".join(json.dumps(record, indent=1) for record in found),
        lambda found: "\r\n".join(json.dumps(record) for record in found),
    ],
    ids=["list", "printed list", "a list a line", "printed objects", "carriage returns"],
)
def test_the_same_records_laid_out_otherwise(read, name, lay):
    seen = read(lay(records(name)) + "\n", "other.json")
    assert seen.facts.format == name
    assert seen.facts.unread == []
    assert shown(seen) == TRUTH[name]


@pytest.mark.parametrize("name", LINES)
def test_of_a_line_cut_short_nothing_is_read(read, name):
    *whole, last = SAMPLES[name].read_text().splitlines()
    cut = last[: len(last) // 2]
    seen = read("\n".join([cut, *whole]) + "\n", "cut.jsonl", form=name)
    assert dict(seen.reasons) == {"truncated JSON": 1}
    assert seen.facts.read == len(whole) + 1
    before = len(TRUTH[name]["request_id"]) - (name != "litellm")
    assert seen.rows.height == before


@pytest.mark.parametrize("name", LISTS)
def test_of_a_document_cut_short_whole_records_alone_are_taken(read, name):
    text = SAMPLES[name].read_text()
    seen = read(text[: len(text) // 2], "cut.json", form=name)
    whole = TRUTH[name].get("request_id", [])
    assert seen.rows.is_empty() or set(seen.column("request_id")) < set(whole)
    assert seen.facts.unread
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize("name", TABLES)
def test_a_row_cut_short_is_unreadable(read, name):
    header, rest = SAMPLES[name].read_text().split("\n", 1)
    seen = read(f"{header}\n1,CANARY\n{rest}", "cut.csv", form=name)
    width = len(header.split(","))
    assert dict(seen.reasons) == {f"2 fields where the header has {width}": 1}
    assert shown(seen) == TRUTH[name]


def test_spend_logs_as_the_api_answers_them(read):
    """JSON with the metadata as an object, and texts where Postgres has numbers."""
    row = {
        "request_id": "chatcmpl-1",
        "call_type": "acompletion",
        "api_key": "CANARY",
        "spend": 0.1,
        "prompt_tokens": 52310,
        "completion_tokens": 389,
        "startTime": "2026-02-03T04:00:01.125Z",
        "model_group": "chat-9b",
        "metadata": {"user_api_key_team_alias": "acme", "status": "success"},
        "messages": [{"content": "CANARY"}],
    }
    seen = read(json.dumps([row]), "spend.json")
    assert seen.facts.format == "litellm-spend"
    assert seen.column("tenant_id") == ["acme"]
    assert seen.column("prompt_tokens") == [52310]
    assert seen.column("http_status") == [200]
    assert seen.column("model") == ["chat-9b"]


def test_what_failed_says_nothing_of_tokens_and_a_cached_answer_is_no_request(read):
    seen = read(SAMPLES["litellm"].read_bytes(), "proxy.jsonl")
    assert seen.column("completion_tokens")[2] is None
    assert dict(seen.facts.ignored) == {
        "answered from the gateway's own cache: no engine was asked": 1
    }


@pytest.mark.parametrize(
    ("error", "broken", "status"),
    [
        ("MidStreamFallbackError", True, None),
        ("Timeout", None, None),
        ("ServiceUnavailableError", None, None),
        ("ClassOfALaterVersion", None, None),
        ("None", None, None),
        ("", None, None),
        ("RateLimitError", None, 503),
        ("AuthenticationError", None, 503),
    ],
)
def test_what_failed_within_an_answer_may_have_been_delivered(read, error, broken, status):
    found = records("litellm")[2]
    found["error_information"] = {"error_code": "503", "error_class": error}
    seen = read(json.dumps(found), "proxy.jsonl", form="litellm")
    assert (seen.column("stream_error"), seen.column("http_status")) == ([broken], [status])
    told = {"status": "failure", "error_information": found["error_information"]}
    spent = {"request_id": "r-1", "call_type": "acompletion", "metadata": told, "spend": 0}
    seen = read(json.dumps([spent]), "spend.json", form="litellm-spend")
    assert (seen.column("stream_error"), seen.column("http_status")) == ([broken], [status])


@pytest.mark.parametrize(
    ("models", "named"),
    [
        ([], "acme/chat-9b"),
        (["chat-9b"], "chat-9b"),
        (["acme/chat-9b", "chat-9b"], "acme/chat-9b"),
        (["other"], "acme/chat-9b"),
    ],
)
def test_of_several_names_of_a_model_the_one_that_the_case_is_about(read, models, named):
    seen = read(json.dumps(records("litellm")[0]), "proxy.jsonl", scope={"models": models})
    assert seen.column("model") == [named]


def test_a_client_that_went_away_is_not_taken_for_one_that_was_refused(read):
    seen = read(SAMPLES["envoy-ai-gateway"].read_bytes(), "access.jsonl")
    assert seen.column("http_status")[2] is None
    assert seen.column("finish_reason")[2] == "abort"


def test_the_tenant_from_where_the_incident_says_first(read):
    found = records("litellm")
    found[0]["metadata"]["requester_metadata"] = {"tenant": "blue"}
    text = "\n".join(map(json.dumps, found))
    logs = {"tenant_from": ["metadata.requester_metadata.tenant", "x-tenant"]}
    seen = read(text, "proxy.jsonl", logs=logs)
    assert seen.column("tenant_id") == ["blue", "acme", "team-3"]
    # A path through a value of another column can lead to nothing and costs nothing.
    logs = {"tenant_from": ["startTime.tenant"]}
    assert read(text, "proxy.jsonl", logs=logs).column("tenant_id") == ["team-1", "acme", "team-3"]


PLAIN = {
    "request_id": "r-1",
    "tenant_id": "acme",
    "received_at": "2026-02-03T04:05:06Z",
    "prompt_tokens": 7,
}
FOREIGN = {name: records(name)[0] for name in LINES}


@pytest.mark.parametrize("name", LINES)
def test_plain_records_with_the_keys_of_a_profile_stay_plain(read, name):
    seen = read(json.dumps({**FOREIGN[name], **PLAIN}) + "\n", "records.ndjson")
    assert seen.facts.format == "plain-ndjson"
    assert seen.column("tenant_id") == ["acme"]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("more", ["request_id", "received_at", "marker"])
def test_one_field_that_is_called_as_ours_changes_no_format(read, name, more):
    record = {more: PLAIN.get(more, "m-1"), **FOREIGN[name]}
    assert read(json.dumps(record) + "\n", "records.ndjson").facts.format == name


@pytest.mark.parametrize("name", LINES)
def test_that_records_are_the_files_own_is_seen_of_many_at_once(name):
    head = SAMPLES[name].read_bytes()
    assert Teller(by_name(name), Incident(), head).all_own() is not None


def test_a_format_whose_keys_are_among_those_of_another_is_asked_behind_it():
    told = [(at, keys) for at, one in enumerate(FORMATS) for keys in one.keys]
    order = [(few, many) for (few, k), (many, wider) in permutations(told, 2) if k < wider]
    assert order
    assert all(many < few for few, many in order)


@pytest.mark.parametrize("name", LINES)
def test_names_that_the_incident_maps_are_read_by_it(read, name):
    foreign = {"my_id": "r-1", "my_tenant": "acme", **FOREIGN[name]}
    mapped = {"my_id": "request_id", "my_tenant": "tenant_id"}
    seen = read(json.dumps(foreign) + "\n", "records.ndjson", columns=mapped)
    assert seen.facts.format == "plain-ndjson"
    assert seen.column("tenant_id") == ["acme"]


def test_a_few_records_of_a_kind_do_not_decide_for_a_file(read):
    lines = [json.dumps(FOREIGN["kong"]), *(json.dumps({"n": n}) for n in "abc")]
    assert read("\n".join(lines[:2]), "mixed.ndjson").facts.format == "kong"
    assert dict(read("\n".join(lines), "mixed.ndjson").reasons) == {"no known format": 1}


def test_a_record_stands_where_its_first_line_does(read):
    printed = "\n".join(json.dumps(FOREIGN["kong"], indent=1) for _ in range(2))
    assert read(printed, "kong.json").column("line") == [1, printed.count("\n") // 2 + 2]
    lists = "\n".join(json.dumps([FOREIGN["kong"]] * count) for count in (2, 1))
    assert read(lists, "kong.json").column("line") == [1, 1, 2]
    assert read(json.dumps([FOREIGN["kong"]] * 3), "kong.json").column("line") == [1, 2, 3]


def test_of_a_list_that_breaks_off_the_entries_on_their_own_lines_are_read(read):
    whole = [json.dumps(FOREIGN["kong"])] * 3
    text = "[" + ",\n".join([*whole[:2], whole[2][:99]])
    seen = read(text, "kong.json")
    assert seen.column("line") == [1, 2]
    assert [(unread.line, unread.reason) for unread in seen.facts.unread] == [(3, "truncated JSON")]
    seen = read("[\n" + ",\n".join(whole) + ",\n", "kong.json")
    assert seen.column("line") == [2, 3, 4]
    assert [(unread.line, unread.reason) for unread in seen.facts.unread] == [(5, "truncated JSON")]


def test_a_line_among_lists_that_is_none(read):
    lines = [json.dumps([FOREIGN["kong"]]), "CANARY", "[1", json.dumps(FOREIGN["kong"])]
    seen = read("\n".join(lines), "kong.json")
    assert seen.column("line") == [1, 4]
    assert [(unread.line, unread.reason) for unread in seen.facts.unread] == [
        (2, "not valid JSON"),
        (3, "truncated JSON"),
    ]


def test_a_list_in_which_an_entry_is_no_object(read):
    seen = read(json.dumps([FOREIGN["kong"], 7, "CANARY", FOREIGN["kong"]]), "list.json")
    assert seen.rows.height == 2
    assert [(unread.line, unread.reason) for unread in seen.facts.unread] == [
        (2, "not a JSON object"),
        (3, "not a JSON object"),
    ]


def test_cells_in_columns_of_one_name_that_differ_are_no_value(read):
    header = "generation_id,created_at,tokens_prompt,tokens_completion,user,user"
    rows = ["g,2026-02-03 04:00:00,5,6,acme,blue", "h,2026-02-03 04:00:00,5,6,acme,acme"]
    seen = read("\n".join([header, *rows]), "activity.csv")
    assert seen.facts.format == "openrouter"
    assert seen.column("tenant_id") == [None, "acme"]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda lines: "\n".join(
            json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-02-03T04:05:06.7Z"})
            for line in lines
        ),
        lambda lines: "\n".join(
            f"2026-02-03T04:05:06.700000001Z stdout F {line}" for line in lines
        ),
        lambda lines: json.dumps(
            {"events": [{"timestamp": 1_770_091_506_700, "message": line} for line in lines]}
        ),
    ],
    ids=["docker", "cri", "cloudwatch"],
)
def test_records_in_a_wrapper(read, name, wrap):
    seen = read(wrap(SAMPLES[name].read_text().splitlines()) + "\n", "collected.log")
    assert seen.facts.format == name
    assert seen.facts.unread == []
    assert shown(seen) == TRUTH[name]


@pytest.mark.parametrize("whole", [json.dumps, lambda rows: "\n".join(map(json.dumps, rows))])
@pytest.mark.parametrize("told", [json.dumps, dict], ids=["text", "object"])
def test_spend_logs_with_every_column_are_not_payloads(read, whole, told):
    """They have the keys of a payload too; metadata may be an object or the text of one."""
    error = {"error_code": "429", "error_class": "RateLimitError", "error_message": "CANARY"}
    failed = {"error_information": error}
    row = {
        "request_id": "chatcmpl-1",
        "litellm_call_id": "r-1",
        "call_type": "acompletion",
        "api_key": "CANARY",
        "spend": 0.1,
        "startTime": "2026-02-03 04:00:01.125",
        "model_group": "chat-9b",
        "custom_llm_provider": "x",
        "prompt_tokens": "52310",
        "metadata": told({"user_api_key_team_alias": "acme", **failed}),
    }
    seen = read(whole([row, row | {"litellm_call_id": "r-2"}]), "spend.json")
    assert seen.facts.format == "litellm-spend"
    assert seen.facts.unread == []
    assert seen.column("request_id") == ["r-1", "r-2"]
    assert seen.column("prompt_tokens") == [52310, 52310]
    assert seen.column("tenant_id") == ["acme", "acme"]
    assert seen.column("http_status") == [429, 429]


def test_a_payload_whose_times_are_texts(read):
    found = records("litellm")[0] | {"startTime": "2026-02-03T04:00:01.125Z"}
    seen = read(json.dumps(found), "proxy.jsonl")
    assert seen.column("received_at") == [1_770_091_201_125_000]


@pytest.mark.parametrize(
    ("more", "names", "form"),
    [
        ({}, {}, "nginx"),
        ({"prompt_tokens": 7}, {}, "nginx"),
        ({"prompt_tokens": 7}, {"prompt_tokens": "prompt_tokens"}, "plain-ndjson"),
        ({"prompt_tokens": 7, "received_at": "2026-02-03T04:00:00Z"}, {}, "plain-ndjson"),
    ],
)
def test_a_field_that_is_called_as_ours_makes_no_plain_record_of_a_servers(read, more, names, form):
    line = {"msec": 1.77e9, "request_id": "s-1", "status": 200, "request_time": 4.3} | more
    seen = read(json.dumps(line), columns=names)
    assert seen.facts.format == form
    assert seen.rows["unverified"].to_list() == [True] if form == "nginx" else [None]
