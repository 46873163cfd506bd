"""SGLang's node logs: what the rarer messages become, value by value."""

import re

import pytest

AT = "[2026-02-03 04:05:06 DP1 TP1 EP1] "
SECOND = 1_770_091_506_000_000
ROOM = 2**63 - 3
OTHER = 2**62 + 5
TOO_LONG = "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens). "
TOO_LONG += "Use a shorter input or enable --allow-auto-truncate."


@pytest.fixture
def log(read):
    def run(*lines: str, name: str = "node-1.log", **incident):
        return read("\n".join((*lines, "")), name, form="sglang", **incident)

    return run


def row(seen) -> dict[str, object]:
    (found,) = seen.rows.to_dicts()
    return {name: value for name, value in found.items() if value is not None}


def facts(seen, event: str) -> list[dict[str, object]]:
    rows = [row for frame in seen.reading.capacity for row in frame.to_dicts()]
    return [row for row in rows if row["event"] == event]


def traces(seen) -> list[dict[str, object]]:
    return [row for frame in seen.reading.traces for row in frame.to_dicts()]


# --- time statistics up to 0.5.11 ----------------------------------------------------


def old(side: str, tail: str, tokens: int = 25_000, output: int = 1) -> str:
    return (
        f"{AT}Req Time Stats(rid=0a0b, bootstrap_room={ROOM}, input len={tokens}, "
        f"output len={output}, type={side}): {tail}"
    )


def test_old_time_stats_began_their_durations_before_their_line(log):
    tail = "bootstrap_duration=110.00ms, forward_duration=1330.00ms, start_time=4999.600"
    found = row(log(old("prefill", tail)))
    assert (found["received_at"], found["naive"]) == (SECOND - 1_440_000, True)
    assert (found["prefill_prompt_tokens"], found["prefill_ms"]) == (25_000, 1330.0)
    assert found["transfer_id"] == str(ROOM)
    assert "cached_tokens" not in found, "that version does not say"
    assert "transfer_mb" not in found


def test_old_time_stats_of_decode(log):
    tail = (
        "prealloc_queue_duration(15.00ms) = bootstrap(14.00ms) + alloc_wait(1.00ms); "
        "transfer_duration=167.66ms; queue_duration=4.06ms, forward_duration=1270.00ms, "
        "start=402118.282"
    )
    seen = log(old("decode", tail, 300_001, 60))
    found = row(seen)
    assert (found["decode_prompt_tokens"], found["completion_tokens"]) == (300_001, 60)
    assert (found["received_at"], found["finished_at"]) == (SECOND - 1_456_720, SECOND)
    assert not seen.reading.clock, "a monotonic start says nothing of the clock"
    (role,) = facts(seen, "role")
    assert (role["node"], role["role"]) == ("node-1/dp1", "decode")


@pytest.mark.parametrize("duration", ["1753355419058.33", "-5.00", "0.00"])
def test_absurd_old_durations_are_missing(log, duration):
    tail = f"queue_duration=3.00ms, forward_duration={duration}ms, start_time=0.0"
    assert "prefill_ms" not in row(log(old("prefill", tail)))


# --- what was sent -------------------------------------------------------------------


def new(tail: str, output: int = 1, side: str = "prefill") -> str:
    return (
        f"{AT}ReqTimeStats(rid=0a0b, bootstrap_room={ROOM}, input_len=1830, cached_input_len=0, "
        f"output_len={output}, attempts=0, type={side}): {tail}"
    )


STAGES = "bootstrap_duration=15.00ms, queue_duration=47.75ms, forward_duration=113.92ms, "
UNSET = "bootstrap_queue_duration=0.00ms, queue_duration=0.00ms, forward_duration=0.00ms, "
ENTRY = "entry_time=1770091500.250, "


@pytest.mark.parametrize(
    ("line", "megabytes"),
    [
        (new(f"{STAGES}{ENTRY}transfer_speed=15.67 GB/s, transfer_total=108.79 MB"), 108.79),
        (new(f"{STAGES}{ENTRY}transfer_speed=0.00 GB/s, transfer_total=0.00 MB"), 0.0),
        (new(f"{UNSET}{ENTRY}transfer_speed=0.00 GB/s, transfer_total=0.00 MB", 0), None),
        (new(f"{STAGES}{ENTRY}later_field=1, transfer_total=3.75 MB"), 3.75),
        (new(f"{STAGES}entry_time=1770091500.250"), None),
        (
            old("prefill", f"{STAGES}start=1.5, transfer_speed=13.05GB/s, transfer_total=90.57MB"),
            90.57,
        ),
    ],
    ids=["sent", "nothing sent", "unset", "an unknown field", "not logged", "old"],
)
def test_megabytes_sent(log, line, megabytes):
    assert row(log(line)).get("transfer_mb") == megabytes


def test_a_field_that_is_not_known_yet_loses_nothing(log):
    usual = new(f"{STAGES}{ENTRY}transfer_speed=0.41 GB/s, transfer_total=3.75 MB")
    odd = usual.replace("queue_duration", "new_duration=7.00ms, queue_duration")
    seen = log(usual, odd)
    first, second = seen.rows.drop("line").to_dicts()
    assert first == second
    assert first["prefill_ms"] == 113.92


def test_an_id_that_imitates_the_fields_after_it_is_not_believed(log):
    rid = "a forward_duration=1.00ms, entry_time=1770091000.000"
    line = new(f"{STAGES}{ENTRY}transfer_speed=0.41 GB/s, transfer_total=3.75 MB")
    found = row(log(line.replace("rid=0a0b", f"rid={rid}")))
    assert (found["prefill_ms"], found["received_at"]) == (113.92, 1_770_091_500_250_000)
    assert found["request_id"] == "redacted:node-1.log:1"


IMITATED = (
    f"x, bootstrap_room=5, input_len=1, cached_input_len=0, output_len=1, type=prefill): {STAGES}"
)
IN_OLD = "x, bootstrap_room=5, input len=1, output len=1, type=prefill): forward_duration=1.00ms"
FAILED = "Decode transfer failed for request rank=0 decode_req.req.rid="
COLLIDED = "received metadata from bootstrap_room=6. Metadata buffer index: 3."


NAMED = f"rid=0a0b, bootstrap_room={ROOM}"
IMITATIONS = {
    "counts": new(f"{STAGES}{ENTRY}").replace("rid=0a0b", f"rid={IMITATED}"),
    "counts without a room": new(f"{STAGES}{ENTRY}").replace(NAMED, f"rid={IMITATED}"),
    "old": old("decode", STAGES).replace("rid=0a0b", f"rid={IN_OLD}"),
    "old without a room": old("unified", STAGES).replace(NAMED, f"rid={IN_OLD}"),
    "failure": (
        f'{AT}{FAILED}"x\' decode_req.req.bootstrap_room=5 with exception y" '
        f"decode_req.req.bootstrap_room={ROOM} with exception z"
    ),
    "failure without a room": (
        f"{AT}{FAILED}'x' decode_req.req.bootstrap_room=5 with exception y' "
        "decode_req.req.bootstrap_room=None"
    ),
    "collision": (
        f"{AT}Context corruption detected: Request x (bootstrap_room=5) {COLLIDED} "
        f"(bootstrap_room={ROOM}) {COLLIDED}"
    ),
    "not ready": (
        f"{AT}Metadata unexpectedly not ready after readiness gate: request x, bootstrap_room=5, "
        f"metadata_buffer_index=1, bootstrap_room={ROOM}, metadata_buffer_index=2"
    ),
    "checksum": (
        f"{AT}KV checksum mismatch req=x bootstrap_room=5 bootstrap_room={ROOM} expected=0x1 "
        "got=0x2"
    ),
}


@pytest.mark.parametrize("line", IMITATIONS.values(), ids=IMITATIONS)
def test_an_id_that_holds_a_whole_imitation_gives_no_value(log, line):
    seen = log(line)
    assert seen.rows.height == 0
    assert not facts(seen, "role")
    assert (seen.facts.read, len(seen.facts.unread)) == (1, 1)


def test_a_room_on_an_engine_that_hands_nothing_on_is_none(log):
    """Byte for byte what an id would leave that imitates one."""
    stages = f"{STAGES}start=1.5"
    seen = log(old("unified", stages), old("decode", stages))
    assert seen.column("transfer_id") == [None, str(ROOM)]
    assert seen.facts.bad_values == {"transfer_id": 1}


DECODE = new(f"{STAGES}entry_time=1770091500.250").replace("prefill", "decode").replace(
    "bootstrap_duration=15.00ms", "bootstrap_duration=15.00ms, alloc_wait_duration=1.00ms, "
    "transfer_duration=86.72ms",
)  # fmt: skip
SENT = new(f"{STAGES}{ENTRY}transfer_speed=0.41 GB/s, transfer_total=3.75 MB")
OLD_LINE = old(
    "decode",
    "prealloc_queue_duration(15.00ms) = bootstrap(14.00ms) + alloc_wait(1.00ms); "
    "transfer_duration=167.66ms; queue_duration=4.06ms, start=402118.282",
)
WHOLE = re.compile(r"(?:[0-9]ms\)? ?|GB/s|\.250|start=402118\.[0-9]+)$")
"""Where nothing shows that more was to come."""


@pytest.mark.parametrize("line", [SENT, DECODE, OLD_LINE], ids=["prefill", "decode", "old"])
def test_a_line_that_was_cut_off_is_unreadable_wherever_it_was(log, line):
    cuts = [line[:end] for end in range(len(AT) + 1, len(line))]
    cuts = [cut for cut in cuts if not WHOLE.search(cut)]
    seen = log(line, *cuts)
    assert seen.facts.kept == 1
    lines = sorted(unread.line for unread in seen.facts.unread)
    assert lines == list(range(2, len(cuts) + 2))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (AT[:15], "line cut off"),
        (AT[:-2], "line cut off"),
        (f"{AT}Deco", "line cut off"),
        (f"{AT}Req{SENT}", "line cut off"),
        (f"{AT}ReqTim[2026-02-03 04:06:00] Something new", "line cut off"),
    ],
)
def test_a_line_cut_off_before_it_could_be_told_is_unreadable(log, line, reason):
    seen = log(SENT, line)
    assert (seen.facts.kept, seen.reasons) == (1, {reason: 1})


@pytest.mark.parametrize("line", [f"{AT}Ready", f"{AT}D2H copies", "Deploying", "[1, 2, 3]"])
def test_short_lines_of_others_are_not_cut_off(log, line):
    assert log(SENT, line).facts.ignored == {"other line": 1}


def test_tries_before_are_kept_where_there_were_any(log):
    again = SENT.replace("attempts=0", "attempts=2")
    assert log(SENT, again).column("prefill_retries") == [None, 2]
    old_line = old("prefill", f"{STAGES}start=1.5, transfer_total=9.57MB, #retries=1")
    assert row(log(old_line))["prefill_retries"] == 1


# --- refused and shortened -----------------------------------------------------------


def test_a_rejection_without_an_id_counts_once_and_tells_the_limit_on_each_rank(log):
    lines = [f"[2025-04-30 08:00:50 TP{rank}] {TOO_LONG}" for rank in (3, 0, 1, 2)]
    seen = log(*lines)
    found = row(seen)
    assert (found["line"], found["prompt_tokens"], found["rejected"]) == (2, 700_000, True)
    assert "request_id" not in found
    assert seen.facts.ignored == {"rejection line of another tensor rank": 3}
    assert [fact["input_limit_tokens"] for fact in facts(seen, "limit")] == [681_274] * 4


@pytest.mark.parametrize(
    ("ranks", "kept"), [("", 1), (" DP1 TP1", 1), (" DP0 TP1", 0), (" DP2 TP4", 1), (" DP2 TP5", 0)]
)
def test_the_first_tensor_rank_of_a_data_parallel_engine_speaks(log, ranks, kept):
    assert log(f"[2025-04-30 08:00:50{ranks}] {TOO_LONG}").facts.kept == kept


def test_a_prompt_that_its_images_made_too_long(log):
    seen = log(
        f"{AT}Multimodal prompt is too long after expanding multimodal tokens. After expanding "
        "len(req.origin_input_ids_unpadded)=812 => 690275 >= 681274., self.rid='0a0b'"
    )
    found = row(seen)
    assert (found["request_id"], found["prompt_tokens"]) == ("0a0b", 690_275)
    assert (found["rejected"], found["rejection_code"]) == (True, "input_too_long")
    assert facts(seen, "limit")[0]["input_limit_tokens"] == 681_274


def test_longer_than_the_pool_tells_no_limit(log):
    seen = log(f"{AT}Request 0a0b exceeds the maximum number of tokens: 690275 > 681280")
    found = row(seen)
    assert (found["request_id"], found["prompt_tokens"], found["hop"]) == (
        "0a0b",
        690_275,
        "engine",
    )
    assert not seen.reading.capacity


def test_decode_cannot_take_the_window(log):
    text = "requires too many SWA KV tokens for decode preallocation: 9000 > 8000"
    found = row(log(f"{AT}Request 0a0b {text}"))
    assert (found["hop"], found["decode_node"]) == ("decode", "node-1/dp1")
    assert (found["rejected"], found["rejection_code"]) == (True, "capacity")
    assert "prompt_tokens" not in found, "those tokens are not the prompt's"


def test_refused_by_the_front_end_is_no_request_but_tells_the_context(log):
    seen = log(
        "[2026-02-03 04:05:06] [http_server] Error: The input (1100000 tokens) is longer than "
        "the model's context length (1048576 tokens).",
        "ValueError: The input (7 tokens) is longer than the model's context length (5 tokens).",
        "[2026-02-03 04:05:06] The input (7 tokens) is longer than the model's context length "
        "(1048576 tokens).",
    )
    assert seen.rows.height == 0
    assert seen.facts.ignored == {"request refused before the engine": 3}
    (told,) = facts(seen, "server_pool")
    assert (told["context_tokens"], told["effective_at"]) == (1_048_576, SECOND)
    assert told.get("pool_tokens") is None


def test_a_shortened_prompt_leaves_a_trace_and_the_limit(log):
    seen = log(
        f"{AT}Request length is longer than the KV cache pool size or the max context length. "
        "Truncated. len(req.origin_input_ids)=690275, max_req_input_len=681274."
    )
    (trace,) = traces(seen)
    assert (trace["kind"], trace["node"], trace["at"]) == ("truncated", "node-1/dp1", SECOND)
    assert (trace["tokens_low"], trace["tokens_high"]) == (690_275, 690_275)
    assert (trace["tokens_kept"], trace["naive"]) == (681_274, True)
    (fact,) = facts(seen, "truncation")
    assert (fact["auto_truncate"], fact["input_limit_tokens"]) == (True, 681_274)
    assert (fact["node"], seen.facts.kept) == ("node-1", 1)


# --- hand-offs -----------------------------------------------------------------------


def test_one_page_against_many_leaves_a_trace(log):
    seen = log(f"{AT}len(prefill_state_indices) = 1, len(dst_state_indices) = 10957")
    (trace,) = traces(seen)
    assert (trace["kind"], trace["node"], trace["at"]) == ("state_mismatch", "node-1/dp1", SECOND)
    assert (trace["pages_sent"], trace["pages_expected"]) == (1, 10_957)
    assert trace.get("tokens_low") is None, "without the page size nobody can tell"
    assert seen.facts.kept == 1


@pytest.mark.parametrize(("sent", "expected"), [(1, 2), (392, 391), (391, 392), (2, 9), (0, 9)])
def test_counts_within_rounding_are_no_trace(log, sent, expected):
    text = f"len(prefill_state_indices) = {sent}, len(dst_state_indices) = {expected}"
    seen = log(AT + text)
    assert (traces(seen), seen.facts.kept) == ([], 0)


TIMED_OUT = "Request 7 timed out after 300.0s in KVPoll.Bootstrapping"
LOST = "Losing connection with prefill instance (bootstrap_addr: 10.0.0.1:8998)"


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        ("", "transfer_failed"),
        (f" with exception KVTransferError(bootstrap_room=7): {TIMED_OUT}", "timeout"),
        (" with exception KVTransferError(bootstrap_room=7): Aborted by AbortReq.", "aborted"),
        (" with exception Aborted by decode-side abort notification.", "aborted"),
        (f" with exception KVTransferError(bootstrap_room=7): {LOST}", "transfer_failed"),
        (" with exception CANARY said: Aborted by AbortReq.", "transfer_failed"),
    ],
)
def test_why_a_hand_off_failed_becomes_a_code(log, cause, code):
    text = f"Prefill bootstrap failed for request rank=2 req.rid='0a' req.bootstrap_room={ROOM}"
    found = row(log(AT + text + cause))
    assert (found["rejection_code"], found["transfer_status"]) == (code, "failed")
    assert "CANARY" not in str(found)


def test_an_id_in_double_quotes(log):
    text = 'Decode transfer failed for request rank=2 decode_req.req.rid="o\'k" '
    found = row(log(f"{AT}{text}decode_req.req.bootstrap_room={ROOM}"))
    assert (found["request_id"], found["hop"]) == ("o'k", "decode")


def test_met_in_one_slot_are_two_hand_offs(log):
    seen = log(
        f"{AT}Context corruption detected: Request 0a0b (bootstrap_room={ROOM}) received metadata "
        f"from bootstrap_room={OTHER}. Metadata buffer index: 7. This indicates metadata buffer "
        "index collision."
    )
    aborted, met = seen.rows.sort("request_id", nulls_last=True).to_dicts()
    assert (aborted["request_id"], aborted["transfer_id"]) == ("0a0b", str(ROOM))
    assert (aborted["transfer_status"], aborted["completion_tokens"]) == ("failed", 0)
    assert (met["request_id"], met["transfer_id"]) == (None, str(OTHER))
    assert met["transfer_status"] is None, "what became of it is not said"
    for found in (aborted, met):
        assert (found["hop"], found["decode_node"]) == ("decode", "node-1/dp1")
        assert found["metadata_collision"] is True
    assert (seen.facts.read, seen.facts.kept) == (1, 1)


def test_metadata_that_never_came_is_a_failure_without_a_collision(log):
    found = row(
        log(
            f"{AT}Metadata unexpectedly not ready after readiness gate: request 0a0b, "
            f"bootstrap_room={ROOM}, metadata_buffer_index=7"
        )
    )
    assert (found["request_id"], found["transfer_id"]) == ("0a0b", str(ROOM))
    assert (found["transfer_status"], found["hop"]) == ("failed", "decode")
    assert "metadata_collision" not in found


def test_pages_given_back_too_early_are_known_by_their_room(log):
    found = row(
        log(
            f"{AT}Deferred KV release for room {ROOM} timed out after 30.0s without a full drain "
            "ack from prefill; releasing anyway."
        )
    )
    assert (found["transfer_id"], found["late_release"]) == (str(ROOM), True)
    assert (found["hop"], found["decode_node"]) == ("decode", "node-1/dp1")
    assert "request_id" not in found


@pytest.mark.parametrize(
    "text",
    [
        f"KV checksum mismatch req=0a0b bootstrap_room={ROOM} expected=0x5e2a got=0x11c7",
        f"KV checksum mismatch on a peer rank req=0a0b bootstrap_room={ROOM}",
    ],
)
def test_pages_that_are_not_what_was_sent(log, text):
    found = row(log(AT + text))
    assert (found["request_id"], found["transfer_id"]) == ("0a0b", str(ROOM))
    assert (found["hop"], found["kv_checksum_mismatch"]) == ("decode", True)
    assert "completion_tokens" not in found


# --- pools ---------------------------------------------------------------------------


def test_a_draft_model_does_not_replace_the_pool_of_its_rank(log):
    from forensics.capacity import build
    from forensics.clock import Clocks
    from forensics.incident import parse

    pool = "KV Cache is allocated. #tokens: {}, KV size: 37.48 GB"
    seen = log(AT + pool.format(681280), AT + pool.format(9000))
    epochs = build(seen.reading.capacity, Clocks({}), parse({})).epochs
    assert epochs["pool_tokens"].to_list() == [681_280]


def test_the_warning_of_a_small_pool_tells_pool_and_context(log):
    seen = log(f"{AT}KV pool holds 681280 tokens, fewer than --context-length 1048576. One ...")
    (fact,) = facts(seen, "server_pool")
    assert (fact["pool_tokens"], fact["context_tokens"]) == (681_280, 1_048_576)


def test_a_text_among_the_settings_is_no_setting(log):
    line = (
        "server_args=ServerArgs(chat_template='CANARY, page_size=1, tp_size=2, it\\'s', "
        "model_name=\"a 'page_size': 7, b\", page_size=64, tp_size=8, "
        "disaggregation_mode='prefill')"
    )
    (fact,) = facts(log(f"[2026-02-03 04:05:06] {line}"), "start")
    assert (fact["page_tokens"], fact["config"]) == (64, "tp_size=8")


@pytest.mark.parametrize(
    "form", ["ServerArgs({}=[True, False], tp_size=8)", "{{'{}': {{'0': 1}}, 'tp_size': 8}}"]
)
def test_a_setting_that_cannot_be_read_is_not_absent(log, form):
    name = "disaggregation_decode_enable_radix_cache"
    (fact,) = facts(log(f"[2026-02-03 04:05:06] server_args={form.format(name)}"), "start")
    assert fact["config"] == f"{name}=unreadable;tp_size=8"
