"""Snapshots of /server_info: a pool and a limit, next to every secret of the server."""

import json
from pathlib import Path
from typing import Any

import pytest

JSON = Path(__file__).parents[1] / "_data" / "sources" / "sglang_json"
INFO: dict[str, Any] = json.loads((JSON / "server-info.json").read_text())
NAME = "prefill-03/server_info.json"


def info(*pools: int | None, **changed: Any) -> dict[str, Any]:
    states = [{"api_key": "CANARY", "memory_usage": {"token_capacity": pool}} for pool in pools]
    return INFO | ({"internal_states": states} if pools else {}) | changed


@pytest.fixture
def rows(read):
    def run(*documents: Any, indent: int | None = None):
        text = "\n".join(json.dumps(document, indent=indent) for document in documents)
        seen = read(text, NAME, form="sglang-server-info")
        return seen, seen.capacity.to_dicts() if seen.reading.capacity else []

    return run


def test_a_snapshot_is_one_row_for_the_whole_server(read):
    seen = read((JSON / "server-info.json").read_bytes(), NAME)
    assert (seen.facts.format, seen.facts.read, seen.facts.kept) == ("sglang-server-info", 1, 1)
    (row,) = seen.capacity.to_dicts()
    assert row == {
        "node": "prefill-03",
        "role": "prefill",
        "effective_at": None,
        "pool_tokens": 40_960,
        "page_tokens": 64,
        "context_tokens": 65_536,
        "input_limit_tokens": 40_954,
        "auto_truncate": False,
        "engine": "sglang",
        "engine_version": "0.5.19",
        "disaggregated": True,
        "config": "chunked_prefill_size=16384;dp_size=2;kv_cache_dtype=fp8_e4m3;"
        "max_running_requests=32;mem_fraction_static=0.75;quantization=fp8;tp_size=8",
        "event": "snapshot",
        "file": 0,
        "line": 1,
        "naive": False,
        "source_node": "prefill-03",
    }
    assert seen.facts.notes == {}


def test_arguments_in_an_object_of_their_own_are_read(rows):
    """Whoever saved the answer kept figures and arguments apart."""
    figures = ("max_total_num_tokens", "max_req_input_len", "internal_states", "version")
    apart = {name: value for name, value in INFO.items() if name in figures}
    apart["server_args"] = {name: value for name, value in INFO.items() if name not in figures}
    assert rows(apart)[1] == rows(INFO)[1]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_spread_out_or_on_one_line_or_several_in_a_file(rows, indent):
    seen, found = rows(info(), info(max_req_input_len=5), info(40_960), indent=indent)
    assert [row["input_limit_tokens"] for row in found] == [40_954, 5, 40_954]
    lines = json.dumps(info(), indent=indent).count("\n") + 1
    assert found[1]["line"] == lines + 1
    assert seen.facts.read == seen.facts.kept == 3


def test_the_smallest_pool_of_unequal_ranks_and_no_limit(rows):
    seen, (row,) = rows(info(40_960, 40_896, None, 0))
    assert (row["pool_tokens"], row.get("input_limit_tokens")) == (40_896, None)
    assert seen.facts.notes == {
        "ranks report different pools; the smallest is taken for all of them": 1
    }


@pytest.mark.parametrize("states", [None, [], [{}], [{"memory_usage": None}], [{"x": 1}]])
def test_without_ranks_the_first_schedulers_pool(rows, states):
    seen, (row,) = rows(info(internal_states=states, max_total_num_tokens=512))
    assert (row["pool_tokens"], row["input_limit_tokens"]) == (512, 40_954)
    assert seen.facts.bad_values == {}


@pytest.mark.parametrize("states", ["CANARY", [["CANARY"]], [{"memory_usage": "CANARY"}]])
def test_ranks_of_another_shape_are_counted(rows, states):
    seen, (row,) = rows(info(internal_states=states, max_total_num_tokens=512))
    assert row["pool_tokens"] == 512
    assert seen.facts.bad_values == {"pool_tokens": 1}


@pytest.mark.parametrize(
    ("mode", "role", "apart"),
    [
        ("prefill", "prefill", True),
        ("decode", "decode", True),
        ("null", "unified", False),
        (None, None, None),
        ("CANARY", None, None),
        ({"CANARY": 1}, None, None),
    ],
)
def test_the_role(rows, mode, role, apart):
    _, (row,) = rows(info(disaggregation_mode=mode))
    assert (row["role"], row["disaggregated"]) == (role, apart)


@pytest.mark.parametrize(
    ("started", "at"),
    [(1_770_091_680, 1_770_091_680_000_000), (1_770_091_680.5, 1_770_091_680_000_000)]
    + [(x, None) for x in (None, 12.5, {"load_weight": 12.5}, "CANARY", 0, 1e300, -1_770_091_680)],
)
def test_a_start_counts_only_where_it_is_a_moment(rows, started, at):
    seen, (row,) = rows(info(startup_time=started))
    assert row.get("effective_at") == at
    assert seen.facts.bad_values == {}


def test_no_secret_is_read(rows):
    odd = dict.fromkeys(("max_req_input_len", "page_size", "context_length"), "CANARY")
    odd["version"] = "CANARY words of a build"
    seen, (row,) = rows(info(quantization="CANARY words", kv_cache_dtype="CANARY x", **odd))
    assert "CANARY" in json.dumps(INFO)
    assert "CANARY" not in repr(row) + repr(seen.facts)
    assert seen.facts.bad_values["page_tokens"] == 1


def test_other_answers_are_counted(read, rows):
    seen = read((JSON / "model-info.json").read_bytes(), "decode-1/model_info.json")
    assert seen.facts.format == "sglang-server-info"
    assert seen.facts.ignored == {"model info": 1}
    seen, found = rows({"error": "CANARY"}, info())
    assert len(found) == 1
    assert seen.facts.ignored == {"other document": 1}


def test_damaged_snapshots_take_no_other_with_them(read):
    whole = json.dumps(info(), indent=1)
    cut = whole[: len(whole) // 2]
    for text, reasons in (
        (f"{cut}\n{whole}\n", {"truncated JSON": 1}),
        (f"{whole}\n{cut}\n", {"truncated JSON": 1}),
        (f"{whole.replace('prefill', chr(34), 1)}\n{whole}\n", {"not valid JSON": 1}),
        (f"{whole}\nCANARY\n\n{whole}\n", {"not valid JSON": 1}),
    ):
        seen = read(text, NAME, form="sglang-server-info")
        assert seen.capacity["pool_tokens"].to_list() == [40_960] * seen.facts.kept
        assert seen.facts.kept == text.count(whole)
        assert seen.reasons == reasons


@pytest.mark.parametrize(
    "near",
    [
        {"model_path": "m", "max_total_num_tokens": 5, "disaggregation_mode": "prefill"},
        {"max_req_input_len": 5},
        {"event": "request.finished", "out": {"text": '"max_req_input_len": "internal_states":'}},
        {"server_args": {"page_size": 64}},
    ],
)
def test_what_is_no_snapshot_is_not_told_as_one(read, near):
    assert read(json.dumps(near)).facts.format != "sglang-server-info"
