"""Request logs in text form: the fields at their places, and nothing that imitates them."""

import pytest

ROOM = 5392444535701028124
SECOND = 1_770_091_506_000_000
ARRIVED = 1_770_091_500_500_000
AT = "[2026-02-03 04:05:06] "
IMITATION = (
    "CANARY 'prompt_tokens': 5, bootstrap_room=7, rid='x', received_time=1.0) , out={'meta_info': "
    "{'prompt_tokens': 5, 'finish_reason': {'type': 'abort', 'status_code': 400}}}"
)


def request(text: object = None, room: object = ROOM, more: str = "", rid: object = "0a0b") -> str:
    return (
        f"GenerateReqInput(rid={rid!r}, text={text!r}, input_ids=[17, 104746], "
        f"sampling_params={{'stop': ['CANARY'], 'n': 1}}, bootstrap_host='10.0.0.3', "
        f"bootstrap_room={room}, custom_labels=None, received_time=1770091500.5{more})"
    )


def meta(reason: str = "{'type': 'length', 'length': 0}", **changed: object) -> str:
    values = {"prompt_tokens": 1830, "completion_tokens": 1, "cached_tokens": 640} | changed
    return ", ".join(
        ["'id': '0a0b'", f"'finish_reason': {reason}"] + [f"'{k}': {v}" for k, v in values.items()]
    )


def finish(obj: str, fields: str, text: str = "CANARY", head: str = "") -> str:
    return (
        f"Finish: obj={obj}{head}, out={{'text': {text!r}, 'output_ids': [7, 8], "
        f"'meta_info': {{{fields}}}}}"
    )


@pytest.fixture
def log(read):
    def run(*lines: str, **incident):
        seen = read("\n".join((*lines, "")), "node-1.log", form="sglang", **incident)
        for frame in (seen.rows, *seen.reading.capacity):
            assert "CANARY" not in str(frame.to_dicts())
        return seen

    return run


def row(seen) -> dict[str, object]:
    assert seen.facts.unread == []
    (found,) = seen.rows.to_dicts()
    return {name: value for name, value in found.items() if value is not None}


def test_an_arrival(log):
    found = row(log(f"Receive: obj={request('CANARY')}"))
    assert (found["request_id"], found["transfer_id"]) == ("0a0b", str(ROOM))
    assert (found["received_at"], found["naive"]) == (ARRIVED, False)
    assert found["hop"] == "engine", "either side prints it"


def test_an_answer_of_prefill(log):
    times = {"forward_entry_time": 1770091500.75, "prefill_finished_time": 1770091501.0}
    found = row(log(finish(request("CANARY"), meta(dp_rank=4, **times))))
    assert (found["hop"], found["prefill_node"]) == ("prefill", "node-1/dp4")
    assert (found["prefill_prompt_tokens"], found["cached_tokens"]) == (1830, 640)
    assert (found["prefill_ms"], found["received_at"]) == (250.0, ARRIVED)
    assert "decode_node" not in found


def test_an_answer_of_decode(log):
    stamps = {"request_received_ts": 1770091500.25, "request_finished_ts": 1770091502.5}
    line = finish(request(), meta("{'type': 'stop', 'matched': 'CANARY'}", dp_rank=None, **stamps))
    found = row(log(line))
    assert (found["hop"], found["decode_node"]) == ("decode", "node-1")
    assert (found["decode_prompt_tokens"], found["completion_tokens"]) == (1830, 1)
    assert (found["finish_reason"], found["finished_at"]) == ("stop", 1_770_091_502_500_000)
    assert found["received_at"] == 1_770_091_500_250_000


@pytest.mark.parametrize("status", ["400", "<HTTPStatus.BAD_REQUEST: 400>"])
def test_a_refused_request(log, status):
    reason = f"{{'type': 'abort', 'message': 'CANARY {{it}}', 'status_code': {status}}}"
    found = row(log(finish(request(), meta(reason, completion_tokens=0))))
    assert (found["rejected"], found["http_status"]) == (True, 400)
    assert found["finish_reason"] == "abort"


def test_the_time_of_the_prefix_where_nothing_else_has_one(log):
    obj = request().replace(", received_time=1770091500.5", "")
    with_time = row(log(f"{AT}Receive: obj={obj}"))
    assert (with_time["received_at"], with_time["naive"]) == (SECOND, True)
    without = row(log(f"Receive: obj={obj}"))
    assert "received_at" not in without


def test_prefix_and_stamp_tell_the_clock(log):
    seen = log(f"[2026-02-03 06:05:01] Receive: obj={request()}")
    assert dict(seen.reading.clock) == {("node-1", 2 * 3_600_000_000): 1}


@pytest.mark.parametrize(
    "text",
    [
        IMITATION,
        f'{IMITATION} "and" that\'s all',
        f"{IMITATION} \\",
        f"it's {IMITATION}",
        f'"{IMITATION}',
        f"{IMITATION}\n[2026-02-03 04:05:06] ReqTimeStats(rid=x, input_len=5",
        "",
    ],
    ids=["plain", "both quotes", "backslash", "one quote", "double quote", "line end", "empty"],
)
def test_content_that_imitates_fields_is_not_taken(log, text):
    seen = log(f"Receive: obj={request(text)}", finish(request(text), meta(dp_rank=4), text))
    assert seen.facts.unread == []
    assert seen.column("transfer_id") == [str(ROOM)] * 2
    assert seen.column("request_id") == ["0a0b"] * 2
    assert seen.column("received_at") == [ARRIVED] * 2
    assert seen.column("prefill_prompt_tokens") == [None, 1830]
    assert seen.column("rejected") == [None, None]


@pytest.mark.parametrize("at", ["CANARY\\", "CANARY'", 'CANARY"', 'CANARY it\'s "so" \\'])
def test_texts_cut_in_the_middle(log, at):
    head, tail = repr(at), repr(f"{at} {IMITATION}")
    obj = request().replace("text=None", f"text={head} ... {tail}")
    assert row(log(f"Receive: obj={obj}"))["transfer_id"] == str(ROOM)


@pytest.mark.parametrize(
    ("headers", "tenant_from", "tenant"),
    [
        ({"x-tenant-id": "tenant-a"}, [], "tenant-a"),
        ({"x-smg-routing-key": "rk-a"}, [], None),
        ({"x-smg-routing-key": "rk-a"}, ["headers.x-smg-routing-key"], "rk-a"),
        ({"x-tenant-id": "a@example.org"}, [], "a@example.org"),
        ({"x-tenant-id": "CANARY with blanks"}, [], None),
    ],
)
def test_the_tenant_of_a_header(log, headers, tenant_from, tenant):
    logs = {"tenant_from": tenant_from} if tenant_from else {}
    seen = log(f"Receive: obj={request()}, headers={headers!r}", logs=logs)
    assert row(seen).get("tenant_id") == tenant
    assert seen.facts.bad_values.get("tenant_id", 0) == (" " in headers.get("x-tenant-id", ""))


def test_the_tenant_of_a_label(log):
    obj = request().replace("custom_labels=None", "custom_labels={'k': 'v', 'tenant': 'tenant-b'}")
    assert row(log(f"Receive: obj={obj}"))["tenant_id"] == "tenant-b"
    stated = {"tenant_from": ["obj.routing_key"]}
    line = f"Receive: obj={request(more=', routing_key={!r}'.format('rk-b'))}"
    assert row(log(line, logs=stated))["tenant_id"] == "rk-b"


def test_a_text_in_the_place_of_a_header_is_not_a_tenant(log):
    text = "CANARY), headers={'x-tenant-id': 'tenant-z'}"
    assert "tenant_id" not in row(log(f"Receive: obj={request(text)}"))


def test_an_id_that_is_no_word_is_named_by_its_place(log):
    seen = log(f"Receive: obj={request(rid='CANARY two words')}")
    assert row(seen)["request_id"] == "redacted:node-1.log:1"
    assert seen.facts.bad_values == {"request_id": 1}


def test_a_key_that_imitates_a_field_leaves_it_unknown(log):
    obj = request().replace("'n': 1", "'a': 1, bootstrap_room=7, 'b': 1")
    found = row(log(f"Receive: obj={obj}"))
    assert "transfer_id" not in found
    assert found["request_id"] == "0a0b"


@pytest.mark.parametrize("key", ["CANARY'", "'", "CANARY' x", "a'b"])
def test_a_key_that_unbalances_the_quotes_makes_the_line_unreadable(log, key):
    obj = request().replace("'n': 1", f"'{key}': 1")
    seen = log(f"Receive: obj={obj}")
    assert seen.reasons == {"request log line not in a known form": 1}


def test_marks_of_ours_in_a_line_make_it_unreadable(log):
    obj = request().replace("'n': 1", "'\x03 bootstrap_room=7 \x02': 1")
    assert log(f"Receive: obj={obj}").reasons == {"request log line not in a known form": 1}


def test_one_request_of_several_lines_shares_its_id(log):
    line = finish(request("CANARY"), meta())
    seen = log(f"Receive: obj={request('CANARY')}", line, "Receive OpenAI: obj={'a': 'CANARY'}")
    assert seen.column("request_id") == ["0a0b", "0a0b"]
    assert seen.facts.ignored == {"request as the client sent it": 1}
