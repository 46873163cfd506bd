"""TensorRT-LLM: elements however they are written, blocks, transfer times and starts."""

import json
from typing import Any

import pytest


def side(
    total: int | None, new: int | None = None, reused: int | None = None, **times: float
) -> dict[str, Any]:
    blocks = {
        "num_total_allocated_blocks": total,
        "num_new_allocated_blocks": new,
        "num_reused_blocks": reused,
    }
    known = {key: value for key, value in blocks.items() if value is not None}
    return {
        "ctx_request_id": 7,
        "perf_metrics": {"timing_metrics": times, "kv_cache_metrics": known},
    }


def element(
    prefill: dict[str, Any] | None, decode: dict[str, Any] | None, **more: Any
) -> dict[str, Any]:
    found = {"ctx_server": "c:1", "gen_server": "g:1", "disagg_request_id": 90, **more}
    if prefill is not None:
        found["ctx_perf_metrics"] = prefill
    if decode is not None:
        found["gen_perf_metrics"] = decode
    return found


ONE, TWO, THREE = (element(side(40), side(40), disagg_request_id=n) for n in (91, 92, 93))


@pytest.fixture
def row(read):
    def run(found: dict[str, Any]) -> dict[str, Any]:
        (only,) = read(
            json.dumps([found]), "perf_metrics.json", form="trtllm-metrics"
        ).rows.to_dicts()
        return only

    return run


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (json.dumps([ONE, TWO, THREE]), [1, 1, 1]),
        (json.dumps([ONE, TWO, THREE], indent=1), [2, 25, 48]),
        ("\n".join(map(json.dumps, (ONE, TWO, THREE))), [1, 2, 3]),
        (f"{json.dumps([ONE, TWO])}\n{json.dumps([THREE])}\n", [1, 1, 2]),
        (f"\n{json.dumps([ONE])}\n\n{json.dumps([TWO, THREE])}", [2, 4, 4]),
        (json.dumps([ONE, ONE, TWO]), [1, 1, 1]),
    ],
)
def test_arrays_lines_and_lines_of_arrays(read, text, lines):
    seen = read(text, "perf_metrics.json")
    assert seen.facts.format == "trtllm-metrics"
    assert (seen.facts.read, seen.facts.kept) == (3, 3)
    assert seen.rows["line"].sort().to_list() == lines


@pytest.mark.parametrize("text", ["[]", "[\n]\n", "\n"])
def test_an_answer_that_was_drained_before_holds_nothing(read, text):
    seen = read(text, "perf_metrics.json", form="trtllm-metrics")
    assert seen.facts.read == 0 or not seen.rows.height


def test_one_broken_line_takes_no_other_with_it(read):
    text = f"{json.dumps(ONE)}\n{json.dumps(TWO)[:-3]}\n{json.dumps(THREE)}\nCANARY\n"
    seen = read(text, "perf_metrics.json")
    assert seen.column("request_id") == ["91", "93"]
    assert seen.reasons == {"truncated JSON": 1, "not valid JSON": 1}
    assert [unread.line for unread in seen.facts.unread] == [2, 4]


SPREAD = json.dumps([ONE, TWO, THREE], indent=1).splitlines()


@pytest.mark.parametrize(
    ("at", "kept", "unread"),
    [(1, [3, 26, 49], 2), (24, [2, 26, 49], 25), (30, [2, 49], 25), (71, [2, 25, 48], 72)],
)
def test_a_stray_line_takes_one_element_of_an_answer_at_most(read, at, kept, unread):
    seen = read("\n".join([*SPREAD[:at], "INFO: CANARY", *SPREAD[at:]]), "perf_metrics.json")
    assert seen.column("line") == kept
    assert [one.line for one in seen.facts.unread] == [unread]


def test_of_an_answer_that_breaks_off_all_but_the_last_element_is_read(read):
    seen = read("\n".join(SPREAD[:-3]), "perf_metrics.json")
    assert seen.column("line") == [2, 25]
    assert [one.line for one in seen.facts.unread] == [48]


@pytest.mark.parametrize(
    ("decode", "reserved"),
    [
        (side(41, 41, 0), 41),
        (side(41, 31, 10), 31),
        (side(31, 31, 10), 31),
        (side(None, 31, 10), 31),
        (side(41), 41),
        (side(0, 0, 0), None),
        (side(None), None),
    ],
)
def test_what_decodes_own_cache_held_was_not_reserved(row, decode, reserved):
    assert row(element(None, decode))["reserved_pages"] == reserved


@pytest.mark.parametrize(
    ("prefill", "sent"),
    [
        (side(1, 1, 0), 1),
        (side(38, 38, 0), 38),
        # One less may be the block of the first token that decode generates.
        (side(39, 39, 0), None),
        (side(40, 40, 0), None),
        (side(10, 10, 30), None),
        (side(41, 41, 0), None),
        (None, None),
    ],
)
def test_prefill_cannot_have_sent_blocks_that_it_did_not_have(row, prefill, sent):
    assert row(element(prefill, side(40, 40, 0)))["transferred_pages"] == sent


def test_ids_of_old_builds_and_of_one_side_alone(row):
    own = element(side(40), side(40))
    assert (row(own)["request_id"], row(own)["transfer_id"]) == ("90", "7")
    del own["disagg_request_id"]
    assert (row(own)["request_id"], row(own)["transfer_id"]) == ("7", "7")
    alone = element(None, {"request_id": 5, "perf_metrics": {}})
    assert (row(alone)["request_id"], row(alone)["transfer_id"]) == ("90", None)


def test_times_give_a_duration_and_no_moment(row):
    times = {"first_scheduled_time": 812_345.02, "first_token_time": 812_345.07}
    found = row(element(side(40, **times), side(40)))
    assert found["prefill_ms"] == pytest.approx(50.0)
    assert "received_at" not in found or found["received_at"] is None


@pytest.mark.parametrize(
    ("last", "hop", "reserved"), [(12.0, "decode", 40), (11.0, "engine", None)]
)
def test_a_worker_alone_is_decodes_only_where_it_generated_more(read, last, hop, reserved):
    one = side(40, first_scheduled_time=10.0, first_token_time=11.0, last_token_time=last)
    seen = read(json.dumps([one | {"request_id": 5, "status": "completed"}]), "perf_metrics.json")
    (found,) = seen.rows.to_dicts()
    assert (found["hop"], found["request_id"], found["reserved_pages"]) == (hop, "7", reserved)


@pytest.mark.parametrize(
    ("status", "reason"),
    [("completed", None), ("cancelled", "abort"), ("failed", "error"), ("CANARY", None)],
)
def test_a_status_says_how_it_ended_but_not_by_what(row, status, reason):
    assert row(element(side(40), side(40), status=status))["finish_reason"] == reason


HEADER = (
    "RequestID,RequestInfo,Preparation,Preprocess,Transmissions,Postprocess"
    ",Delay,Duration,Bandwidth(Gbps)"
)


@pytest.mark.parametrize(
    ("name", "hop"),
    [
        ("rank_0_send.csv", "prefill"),
        ("node-1/rank_12_recv.csv", "decode"),
        ("transfers.csv", "engine"),
    ],
)
def test_the_side_of_transfer_times_is_in_the_files_name(read, name, hop):
    wide = "7,0.6,0.1,0.3,3.4,0.2,1.0,3.4,39.6,1.5,2.2,12.0"
    seen = read(f"{HEADER}\n{wide}\n8,0.6,0.1,0.3,3.4,0.2\n", name)
    assert seen.facts.format == "trtllm-transfers"
    assert seen.column("hop") == [hop, hop]
    assert seen.column("transfer_id") == ["7", "8"]


def log(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


POOL = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 4.88 GiB for max tokens in paged KV cache "
START = (
    "[02/03/2026-11:58:53] [TRT-LLM] [I] CANARY",
    "[TensorRT-LLM][INFO] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192",
    "[TensorRT-LLM][INFO] Number of tokens per block: 32.",
    f"{POOL}(40000).",
)


def test_a_start_is_one_snapshot_at_the_last_time_before_it(read):
    seen = read(log(*START), "ctx-1.log")
    (fact,) = seen.capacity.to_dicts()
    assert (fact["node"], fact["event"], fact["naive"]) == ("ctx-1", "snapshot", True)
    assert fact["effective_at"] == 1_770_119_933_000_000
    told = fact["pool_tokens"], fact["page_tokens"], fact["context_tokens"]
    assert told == (40_000, 32, 131_072)
    assert (seen.facts.kept, seen.facts.ignored) == (3, {"other line": 1})


def test_ranks_that_say_the_same_are_one_and_another_pool_is_another_start(read):
    ranks = [
        line.replace("[TensorRT-LLM]", f"[{n}] [TensorRT-LLM]") for n in (0, 1) for line in START
    ]
    assert read(log(*ranks), "ctx-1.log").capacity.height == 1
    again = (*START, f"{POOL}(50000).")
    assert read(log(*again), "ctx-1.log").capacity["pool_tokens"].to_list() == [40_000, 50_000]


def test_colours_do_not_hide_a_pool(read):
    seen = read(log(f"\x1b[32m{POOL}(40000).\x1b[0m"), "ctx-1.log")
    assert seen.capacity["pool_tokens"].to_list() == [40_000]
    assert seen.capacity["effective_at"].to_list() == [None]
