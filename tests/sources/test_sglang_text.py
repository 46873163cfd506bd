"""SGLang node logs, message by message: what is taken, what is near and is not."""

import polars as pl
import pytest

AT = "[2026-02-03 04:05:06 DP1 TP4 EP4] "
SECOND = 1_770_091_506_000_000
ENTRY = 1_770_091_500_250_000
ROOM = 2**63 - 3

POOL = "KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 681280, KV size: 37.48 GB"
REJECTED = (
    "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens). "
    "Use a shorter input or enable --allow-auto-truncate., self.rid='0a0b'"
)


def stats(side: str, tail: str, rid: str = "0a0b", **changed: object) -> str:
    values = {"room": ROOM, "input": 701_234, "cached": 640, "output": 90} | changed
    return (
        f"ReqTimeStats(rid={rid}, bootstrap_room={values['room']}, input_len={values['input']}, "
        f"cached_input_len={values['cached']}, output_len={values['output']}, attempts=0, "
        f"type={side}): {tail}"
    )


PREFILL_TAIL = (
    "bootstrap_duration=15.00ms, queue_duration=6.56ms, forward_duration=74.17ms, "
    "entry_time=1770091500.250, transfer_speed=0.41 GB/s, transfer_total=3.75 MB"
)
DECODE_TAIL = (
    "bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, transfer_duration=86.72ms, "
    "queue_duration=15.56ms, forward_duration=2530.00ms, entry_time=1770091500.250"
)


@pytest.fixture
def log(read):
    """Read lines as the log of a server; a start line goes before them, so that it is one."""

    def run(*lines: str, name: str = "prefill-03.log", **incident):
        return read("\n".join((*lines, "")), name, form="sglang", **incident)

    return run


def facts(seen, event: str) -> list[dict[str, object]]:
    if not seen.reading.capacity:
        return []
    rows = seen.capacity.filter(pl.col("event") == event).sort("line")
    return [{k: v for k, v in row.items() if v is not None} for row in rows.to_dicts()]


# --- start-up ------------------------------------------------------------------------

ARGS = {
    "context_length": 1048576,
    "quantization": "fp8",
    "kv_cache_dtype": "fp8_e4m3",
    "mem_fraction_static": 0.75,
    "max_total_tokens": None,
    "page_size": 64,
    "tp_size": 8,
    "pp_size": 1,
    "dp_size": 8,
    "api_key": "sk-CANARY",
    "host": "0.0.0.0",
    "served_model_name": "a name, with a comma",
    "chat_template": "CANARY page_size=1, tp_size=2",
    "allow_auto_truncate": True,
    "cuda_graph_max_bs": 256,
    "disable_cuda_graph": False,
    "disaggregation_mode": "prefill",
}
AS_DICT = f"server_args={ARGS!r}"
AS_CALL = "server_args=ServerArgs(" + ", ".join(f"{k}={v!r}" for k, v in ARGS.items()) + ")"


@pytest.mark.parametrize("line", [AS_DICT, AS_CALL], ids=["dict", "ServerArgs"])
def test_settings_in_both_forms(log, line):
    seen = log(f"[2026-02-03 04:05:06] {line}")
    (start,) = facts(seen, "start")
    assert start["node"] == "prefill-03"
    assert start["effective_at"] == SECOND
    assert start["role"] == "prefill"
    assert start["disaggregated"] is True
    assert start["auto_truncate"] is True
    assert (start["page_tokens"], start["context_tokens"]) == (64, 1_048_576)
    assert start["config"] == (
        "cuda_graph_max_bs=256;disable_cuda_graph=False;dp_size=8;kv_cache_dtype=fp8_e4m3;"
        "mem_fraction_static=0.75;pp_size=1;quantization=fp8;tp_size=8"
    )
    assert "CANARY" not in str(seen.capacity.to_dicts())


@pytest.mark.parametrize(
    ("mode", "role", "apart"),
    [("decode", "decode", True), ("null", "unified", False), ("other", None, None)],
)
def test_roles(log, mode, role, apart):
    line = AS_DICT.replace("'prefill'", f"'{mode}'")
    (start,) = facts(log(f"[2026-02-03 04:05:06] {line}"), "start")
    assert (start.get("role"), start.get("disaggregated")) == (role, apart)


@pytest.mark.parametrize(
    "text",
    [
        POOL,
        "KV Cache is allocated. #tokens: 681280, KV size: 37.48 GB",
        "KV Cache is allocated. #tokens: 681280, K size: 7.26 GB, V size: 7.26 GB",
        "Post-capture KV sizing: KV cache allocated. dtype: x, #tokens: 681280, KV size: 40.10 GB",
    ],
)
def test_pool_of_a_rank(log, text):
    (pool,) = facts(log(AT + text), "rank_pool")
    assert (pool["node"], pool["pool_tokens"]) == ("prefill-03/dp1", 681_280)
    assert pool["effective_at"] == SECOND
    assert pool["naive"] is True


def test_the_upper_bound_of_addresses_is_not_the_pool(log):
    upper = "KV Cache VA upper bound. dtype: torch.float8_e4m3fn, #tokens: 728960, KV size: 40.1 GB"
    seen = log(AT + upper, AT + "Post-capture KV sizing: full_layer_tokens=681280")
    assert seen.reading.capacity == []
    assert seen.facts.ignored == {"upper bound of addresses": 1, "sizing after capture": 1}


def test_pool_of_the_server_and_its_readiness(log):
    seen = log(
        "[2026-02-03 04:05:06 DP0 TP0 EP0] max_total_num_tokens=681280, "
        "chunked_prefill_size=16384, max_running_requests=32, context_len=1048576, "
        "available_gpu_mem=12.31 GB",
        "[2026-02-03 04:05:07] The server is fired up and ready to roll!",
    )
    (pool,) = facts(seen, "server_pool")
    assert (pool["node"], pool["pool_tokens"], pool["context_tokens"]) == (
        "prefill-03",
        681_280,
        1_048_576,
    )
    (ready,) = facts(seen, "ready")
    assert ready["effective_at"] == SECOND + 1_000_000


# --- time statistics -----------------------------------------------------------------


def test_time_stats_of_prefill(log):
    seen = log(AT + stats("prefill", PREFILL_TAIL, input=1, cached=0, output=1))
    (row,) = seen.rows.to_dicts()
    assert row["request_id"] == "0a0b"
    assert row["transfer_id"] == str(ROOM)
    assert row["hop"] == "prefill"
    assert row["received_at"] == ENTRY
    assert row["prefill_node"] == "prefill-03/dp1"
    assert row["decode_node"] is None
    assert (row["prefill_prompt_tokens"], row["decode_prompt_tokens"]) == (1, None)
    assert row["cached_tokens"] == 0
    assert row["prefill_ms"] == 74.17
    assert row["completion_tokens"] is None, "prefill's one token is not the client's"
    assert row["naive"] is False
    (role,) = facts(seen, "role")
    assert (role["node"], role["role"]) == ("prefill-03/dp1", "prefill")


def test_time_stats_of_decode(log):
    (row,) = log(AT + stats("decode", DECODE_TAIL), name="decode-01.log").rows.to_dicts()
    assert row["hop"] == "decode"
    assert row["decode_node"] == "decode-01/dp1"
    assert row["prefill_node"] is None
    assert (row["prefill_prompt_tokens"], row["decode_prompt_tokens"]) == (None, 701_234)
    assert row["cached_tokens"] is None, "decode repeats prefill's figure"
    assert row["completion_tokens"] == 90
    assert row["prefill_ms"] is None
    spent = 14_000 + 1_000 + 86_720 + 15_560 + 2_530_000
    assert (row["received_at"], row["finished_at"]) == (ENTRY, ENTRY + spent)


def test_time_stats_without_hand_off(log):
    line = stats("unified", DECODE_TAIL).replace(f"bootstrap_room={ROOM}, ", "")
    seen = log(AT + line.replace("attempts=0, ", ""))
    (row,) = seen.rows.to_dicts()
    assert row["transfer_id"] is None
    assert row["hop"] == "decode"
    (role,) = facts(seen, "role")
    assert (role["role"], role["disaggregated"]) == ("unified", False)


@pytest.mark.parametrize(
    "first",
    [
        'INFO:     10.0.0.7:41372 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "Decode batch, #running-req: 3, #token: 21504, token usage: 0.02, gen throughput: 91.2",
    ],
)
def test_a_record_behind_a_line_that_lost_its_end_is_not_passed_over(log, first):
    glued = f"[2026-02-03 04:05:06 DP0] {stats('decode', DECODE_TAIL)}"
    seen = log(f"[2026-02-03 04:05:06 DP0] {first}{glued}", f"[2026-02-03 04:05:07 DP0] {first}")
    assert [unread.reason for unread in seen.facts.unread] == ["two lines in one"]
    assert seen.facts.read == 2


@pytest.mark.parametrize("duration", ["0.00", "-3.50", "1753355419058.33", "86400000.00"])
def test_unset_and_absurd_durations_are_missing_and_the_row_stays(log, duration):
    tail = PREFILL_TAIL.replace("forward_duration=74.17", f"forward_duration={duration}")
    (row,) = log(AT + stats("prefill", tail)).rows.to_dicts()
    assert row["prefill_ms"] is None
    assert row["prefill_prompt_tokens"] == 701_234


def test_retired_at_the_door_is_timed_by_the_line_not_by_the_hosts_start(log):
    tail = (
        "bootstrap_queue_duration=0.00ms, queue_duration=0.00ms, forward_duration=0.00ms, "
        "entry_time=1769000000.500, transfer_speed=0.00 GB/s, transfer_total=0.00 MB"
    )
    seen = log(AT + stats("prefill", tail, input=1, cached=0, output=0))
    (row,) = seen.rows.to_dicts()
    assert (row["received_at"], row["naive"]) == (SECOND, True)
    assert row["prefill_ms"] is None
    assert not seen.reading.clock, "that stamp says nothing of the clock"


def test_rooms_are_exact(log):
    rooms = [2**63 - 1, 2**63 - 2, 2**53 + 1, 0]
    lines = [AT + stats("decode", DECODE_TAIL, rid=f"r{n}", room=n) for n in rooms]
    assert log(*lines).column("transfer_id") == [str(room) for room in rooms]


@pytest.mark.parametrize("hours", [-5, 0, 5.5, 9])
def test_the_offset_of_the_wall_clock_is_counted_to_a_quarter_hour(log, hours):
    # Written at the request's end: entry plus what was spent, in local time.
    local = 1_770_091_500 + 3 + round(hours * 3600)
    stamp = pl.Series([local * 1_000_000]).cast(pl.Datetime("us"))
    text = stamp.dt.strftime("%Y-%m-%d %H:%M:%S").item()
    seen = log(f"[{text} DP1 TP4 EP4] " + stats("decode", DECODE_TAIL), name="decode-01.log")
    assert dict(seen.reading.clock) == {("decode-01", round(hours * 3_600_000_000)): 1}


# --- rejections and failures ---------------------------------------------------------


def test_a_rejection_gives_the_prompt_and_the_limit(log):
    seen = log("[2026-02-03 04:05:06 DP0 TP0 EP0] " + REJECTED)
    (row,) = seen.rows.to_dicts()
    assert (row["request_id"], row["prompt_tokens"]) == ("0a0b", 700_000)
    assert (row["rejected"], row["rejection_code"]) == (True, "input_too_long")
    assert (row["received_at"], row["naive"]) == (SECOND, True)
    assert row["hop"] == "engine", "either side prints it"
    (limit,) = facts(seen, "limit")
    assert (limit["node"], limit["input_limit_tokens"]) == ("prefill-03", 681_274)


@pytest.mark.parametrize("what", ["bootstrap", "transfer"])
def test_a_failed_hand_off_on_prefill(log, what):
    text = (
        f"Prefill {what} failed for request rank=2 req.rid='0a0b' req.bootstrap_room={ROOM} with "
        f"exception KVTransferError(bootstrap_room={ROOM}): CANARY words of a user"
    )
    seen = log(AT + text)
    (row,) = seen.rows.to_dicts()
    assert (row["request_id"], row["transfer_id"]) == ("0a0b", str(ROOM))
    assert (row["hop"], row["transfer_status"]) == ("prefill", "failed")
    assert row["prefill_node"] == "prefill-03/dp1"
    assert row["completion_tokens"] is None
    assert "CANARY" not in str(row)


@pytest.mark.parametrize("what", ["handshake", "transfer"])
def test_a_failed_hand_off_on_decode_left_no_tokens(log, what):
    text = (
        f"Decode {what} failed for request rank=1 decode_req.req.rid='0a0b' "
        f"decode_req.req.bootstrap_room={ROOM} with exception KVTransferError: x"
    )
    (row,) = log(AT + text, name="decode-01.log").rows.to_dicts()
    assert (row["hop"], row["transfer_status"]) == ("decode", "failed")
    assert row["decode_node"] == "decode-01/dp1"
    assert (row["completion_tokens"], row["finish_reason"]) == (0, "error")
    assert row["rejection_code"] == "transfer_failed"


# --- prefixes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "node", "at"),
    [
        ("[2026-02-03 04:05:06] ", "prefill-03", SECOND),
        ("[2026-02-03 04:05:06.789] ", "prefill-03", SECOND + 789_000),
        ("[2026-02-03 04:05:06.789 DP7 TP7 EP7] ", "prefill-03/dp7", SECOND + 789_000),
        ("[2026-02-03 04:05:06 TP3] ", "prefill-03", SECOND),
        ("[2026-02-03 04:05:06 DP12 PP1 ATTN_CP0 MOE_DP0 TP3 EP3] ", "prefill-03/dp12", SECOND),
        ("(Worker pid=7) [2026-02-03 04:05:06 DP0 TP0] ", "prefill-03/dp0", SECOND),
        ("(A pid=7, ip=10.0.0.1) [2026-02-03 04:05:06 DP0 TP0] ", "prefill-03/dp0", SECOND),
        ("\x1b[36m(A pid=7)\x1b[0m [2026-02-03 04:05:06 DP0 TP0] ", "prefill-03/dp0", SECOND),
        ("2026-02-03 04:05:06 DP3 TP3] ", "prefill-03/dp3", SECOND),
        ("[2026-02-03 04:05:06][memory_pool.py:424][INFO]: ", "prefill-03", SECOND),
        ("[2026-02-03 04:05:06,789 DP2][memory_pool.py:4]: ", "prefill-03/dp2", SECOND + 789_000),
    ],
)
def test_prefixes(log, prefix, node, at):
    (pool,) = facts(log(prefix + POOL), "rank_pool")
    assert (pool["node"], pool["effective_at"]) == (node, at)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[2026-02-03 04:05] ",
        "[2026-02-03T04:05:06] ",
        "[2026-02-03 04:05:06 XX1] ",
        "[04:05:06] ",
    ],
)
def test_a_message_without_its_prefix_is_unreadable(log, prefix):
    seen = log(prefix + POOL)
    assert seen.reasons == {"KV cache line not in a known form": 1}


def test_dynamo_writes_utc(log):
    seen = log(
        f"2026-02-03T04:05:06.938649Z  INFO memory_pool._finalize_allocation_log: {POOL}",
        f"2026-02-03T04:05:07Z ERROR sglang::scheduler: {REJECTED}",
        f"2026-02-03T04:05:09Z  INFO scheduler.log: {stats('decode', DECODE_TAIL)}",
    )
    (pool,) = facts(seen, "rank_pool")
    assert (pool["effective_at"], pool["naive"]) == (SECOND + 938_649, False)
    assert seen.column("received_at") == [SECOND + 1_000_000, ENTRY]
    assert seen.column("naive") == [False, False]
    assert not seen.reading.clock, "that clock is no local one"


def test_impossible_dates_lose_the_time_alone(log):
    (pool,) = facts(log("[2026-02-30 04:05:06] " + POOL), "rank_pool")
    assert "effective_at" not in pool


# --- near misses ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (stats("router", PREFILL_TAIL), "time-stats line not in a known form"),
        (stats("prefill", PREFILL_TAIL, input="many"), "time-stats line not in a known form"),
        (stats("prefill", PREFILL_TAIL, input=10**12), "time-stats line not in a known form"),
        (stats("prefill", PREFILL_TAIL, room=10**19), "time-stats line not in a known form"),
        (stats("prefill", PREFILL_TAIL)[:60], "time-stats line not in a known form"),
        (REJECTED[:90], "rejection line not in a known form"),
        (POOL.replace("681280", "many"), "KV cache line not in a known form"),
        ("max_total_num_tokens=many, context_len=7", "pool line not in a known form"),
        (
            "Decode transfer failed for request rank=1 decode_req.req.rid='0a0b'",
            "transfer failure line not in a known form",
        ),
    ],
)
def test_near_misses_are_unreadable_and_counted(log, text, reason):
    seen = log(AT + text, AT + POOL)
    assert seen.reasons == {reason: 1}
    assert seen.facts.unread[0].line == 1
    assert seen.facts.kept == 1


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            '[2026-02-03 04:05:06] INFO:     10.0.0.9:4 - "POST / HTTP/1.1" 200 OK',
            "web server line",
        ),
        ("Receive: obj=EmbeddingReqInput(rid='x', text='ReqTimeStats(')", "other record"),
        ("Receive OpenAI: obj={'messages': []}", "request as the client sent it"),
        (
            AT + "len(prefill_state_indices) = 9, len(dst_state_indices) = 8",
            "state index counts within rounding",
        ),
        (AT + "Load weight begin. avail mem=137.42 GB", "other line"),
        ("    raise ValueError('KV Cache is allocated.')", "other line"),
        ("Traceback (most recent call last):", "other line"),
        ("", "blank line"),
    ],
)
def test_lines_that_are_passed_over_are_counted_by_kind(log, line, kind):
    seen = log(line, AT + POOL)
    assert seen.facts.ignored == {kind: 1}
    assert (seen.facts.read, seen.facts.kept) == (2, 1)


def test_line_ends_and_bytes_that_are_no_utf8(log, read):
    text = f"{AT}{POOL}\r\n".encode() + b"\xff\xfe broken\r\n" + f"{AT}{REJECTED}".encode()
    seen = read(text, "prefill-03.log", form="sglang")
    assert (seen.facts.read, seen.facts.kept) == (3, 2)
    assert seen.column("line") == [3]


def test_the_node_is_the_stem_without_rotation_or_the_folder(read):
    names = {
        "prefill-03.log": "prefill-03",
        "prefill-03.log.2026-02-03.1": "prefill-03",
        "prefill-03/server.log": "prefill-03",
        "prefill-03/stdout": "prefill-03",
        "prefill 03.txt": "prefill_03",
    }
    for name, node in names.items():
        seen = read(f"{AT}{POOL}\n", name)
        assert facts(seen, "rank_pool")[0]["node"] == f"{node}/dp1"
    stated = read(f"{AT}{POOL}\n", "a/p7.log", logs={"node_from": r"(?P<node>p\d)"})
    assert facts(stated, "rank_pool")[0]["node"] == "p7/dp1"


@pytest.mark.parametrize("rid", ["two words", "x" * 129, "a,b c"])
def test_an_id_that_may_be_more_than_one_is_named_by_its_place(log, rid):
    seen = log(AT + stats("prefill", PREFILL_TAIL, rid=rid))
    (row,) = seen.rows.to_dicts()
    assert row["request_id"] == "redacted:prefill-03.log:1"
    assert row["transfer_id"] == str(ROOM)


def test_an_id_may_hold_a_comma(log):
    (row,) = log(AT + stats("prefill", PREFILL_TAIL, rid="a,b")).rows.to_dicts()
    assert row["request_id"] == "a,b"


@pytest.mark.parametrize(
    "message",
    [
        "Request 0a exceeds the maximum number of tokens: 701234 > 681280",
        "Request 0a requires too many SWA KV tokens for decode preallocation: 7012 > 6812",
    ],
)
def test_a_log_of_refusals_alone_is_told(read, message):
    seen = read(f"[2026-02-03 04:08:01 DP1 TP1] {message}\n", "n.log")
    assert (seen.facts.format, seen.facts.kept) == ("sglang", 1)


def test_another_programs_refusals_are_not_sglangs(read):
    text = "[2026-02-03 04:08:01] Request body exceeds the maximum number of bytes: 9 > 8\n"
    assert read(text, "n.log").facts.format is None
