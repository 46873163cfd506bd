"""The router's log: its own id and the status, from lines that may quote a prompt next door."""

import json
from pathlib import Path

import pytest

JSON = Path(__file__).parents[1] / "_data" / "sources" / "sglang_json"
SECOND = 1_770_091_680_000_000
"""2026-02-03 04:08:00 UTC, microseconds."""
FINISHED = "finished processing request"


def line(
    message: str = FINISHED,
    fields: str = ' module="smg" request_id="r-1" status_code=200 latency=1500',
    uri: str = "/v1/chat/completions",
    target: str = "smg::response: src/middleware.rs:349",
    at: str = "2026-02-03 04:08:00",
) -> str:
    span = f"http_request{{method=POST uri={uri} version=HTTP/1.1{fields}}}"
    return f"{at}  INFO {span}: {target}: {message}"


@pytest.fixture
def log(read):
    def run(*lines: str, name: str = "router-1.log", **incident):
        return read("\n".join((*lines, "")), name, form="sglang-router", **incident)

    return run


def test_arrival_and_answer_are_two_records_of_one_id(read):
    seen = read((JSON / "router.log").read_bytes(), "router-1.log")
    assert (seen.facts.format, seen.facts.read, seen.facts.kept) == ("sglang-router", 10, 6)
    assert seen.facts.ignored == {
        "other line": 2,
        "error status of a prefill server": 1,
        "call of another endpoint": 1,
    }
    ids = ["chatcmpl-0a", "chatcmpl-0a", "cmpl-0b", "cmpl-0b", "chatcmpl-0c", "gnt-0e"]
    assert seen.column("request_id") == ids
    assert seen.column("http_status") == [None, 200, None, 400, 502, None]
    after = [0.0, 0.25, 1.0, 0.96, 3.9875, 6.0]
    assert seen.column("received_at") == [SECOND + round(s * 1_000_000) for s in after]
    assert set(seen.column("hop")) == {"gateway"}
    assert seen.column("finished_at") == [None] * 6
    assert seen.column("naive") == [False] * 6


def test_json_lines(read):
    seen = read((JSON / "router-json.log").read_bytes(), "router-1.log")
    assert (seen.facts.format, seen.facts.kept) == ("sglang-router", 1)
    (row,) = seen.rows.to_dicts()
    assert (row["request_id"], row["http_status"], row["hop"]) == ("chatcmpl-0f", 200, "gateway")
    assert row["received_at"] == SECOND + 7_000_000 - 1_523
    assert seen.facts.ignored["error status of a decode server"] == 1


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1284", 1_284),
        ('"2.04s"', 2_040_000),
        ("2.04s", 2_040_000),
        ('"150.3ms"', 150_300),
        ('"890µs"', 890),
        ('"1500ns"', 2),
        ('"999999999999999s"', None),
        ('"soon"', None),
        ('"1.5h"', None),
    ],
)
def test_latencies_of_any_version(log, text, micros):
    (received,) = log(line(fields=f' request_id="r" status_code=200 latency={text}')).column(
        "received_at"
    )
    assert received == (None if micros is None else SECOND - micros)


def test_without_a_latency_the_arrival_is_unknown(log):
    assert log(line(fields=' request_id="r" status_code=200')).column("received_at") == [None]


@pytest.mark.parametrize(
    ("at", "micros"),
    [
        ("2026-02-03 04:08:00", 0),
        ("2026-02-03 04:08:00.125", 125_000),
        ("2026-02-03T04:08:00.125000Z", 125_000),
    ],
)
def test_times_are_utc_whatever_the_engines_zone(log, at, micros):
    started = line("started processing request", at=at, target="smg::request: m.rs:1")
    seen = log(started, logs={"timezone": "Asia/Shanghai"})
    assert seen.column("received_at") == [SECOND + micros]


@pytest.mark.parametrize(
    ("uri", "kept"),
    [
        ("/generate", 1),
        ("/v1/completions", 1),
        ("/v1/responses", 1),
        ("/v1/messages?beta=true", 1),
        ("http://host:30000/v1/chat/completions", 1),
        ("/health", 0),
        ("/v1/models", 0),
        ("/v1/embeddings", 0),
        ("/generate_health?x=/generate_", 0),
    ],
)
def test_only_endpoints_that_generate_are_requests(log, uri, kept):
    seen = log(line(uri=uri))
    assert seen.facts.kept == kept
    assert seen.facts.ignored.get("call of another endpoint", 0) == 1 - kept


def test_a_status_with_its_words_and_fields_after_the_message(log):
    old = " request_id=r-1 status=404 Not Found latency=1.5ms"
    target = "sglang_router_rs::response"
    more = "request failed with client error status=404 Not Found latency=1.5ms"
    assert log(line(more, old, target=target)).column("http_status") == [404]


def test_a_stream_that_broke_after_its_head(log):
    seen = log(line("response stream failed after the head was sent"))
    assert (seen.column("http_status"), seen.column("stream_error")) == ([200], [True])
    assert seen.column("received_at") == [None]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("Prefill server returned error status", "error status of a prefill server"),
        ("Decode server returned error status", "error status of a decode server"),
        ("Prefill server failed (CRITICAL)", "prefill server failed"),
        ("Failed to select PD pair", "no pair of servers"),
        ("Sending concurrent requests", "pair of servers that was chosen"),
        ("Stream error from decode server", "broken stream of a decode server"),
    ],
)
def test_errors_about_engines_are_counted_and_their_bodies_are_not_kept(log, error, kind):
    quoted = line(fields=' request_id="CANARY"')
    text = line(f"{error} body={quoted}", ' request_id="r"', target="smg::routers::pd: r.rs:5")
    record = {"message": f"{error} body=CANARY", "target": "smg::x", "span": {"request_id": "r"}}
    seen = log(text, json.dumps(record))
    assert seen.facts.kept == 0
    assert seen.facts.ignored[kind] == 2
    assert "CANARY" not in repr(seen.facts)


def test_ids_that_hold_more_than_an_id_are_redacted(log):
    seen = log(
        line(fields=r' request_id="CANARY \" status_code=1" status_code=200 latency=5'),
        line(fields=f' request_id="{"CANARY" * 30}" status_code=200 latency=5'),
        line(uri='/generate?{"request_id="CANARY"', fields=' request_id="r" status_code=200'),
    )
    assert "CANARY" not in seen.rows.write_csv() + repr(seen.facts)
    assert seen.column("http_status")[:2] == [200, 200]


@pytest.mark.parametrize(
    "broken",
    [
        line().replace("http_request{", "http_request("),
        line(fields=' request_id="CANARY'),
        line(at="03.02.2026 04:08"),
        line(f"{FINISHED} CANARY words"),
    ],
)
def test_request_lines_of_another_form_are_unreadable(log, broken):
    seen = log(line(), broken)
    assert seen.facts.kept == 1
    assert seen.reasons == {"request line not in a known form": 1}
    assert "CANARY" not in repr(seen.facts)


def test_broken_json_keeps_its_line(log):
    seen = log(line(), '{"message": "CANARY', line())
    assert [(u.line, u.reason) for u in seen.facts.unread] == [(2, "truncated JSON")]


ENGINE = (JSON.parent / "sglang.log").read_text()


@pytest.mark.parametrize("routed", [1, 400])
@pytest.mark.parametrize("first", [True, False])
def test_a_router_and_its_engine_in_one_stream_are_both_read(read, routed, first):
    own = [line() for _ in range(routed)]
    engine = ENGINE.splitlines()
    seen = read("\n".join([*own, *engine] if first else [*engine, *own]), "c/node.log").facts
    alone = [read("\n".join(part), f"{at}/node.log").facts for at, part in enumerate([own, engine])]
    assert seen.format == "sglang + sglang-router"
    assert seen.kept == sum(one.kept for one in alone)
    assert len(seen.unread) == sum(len(one.unread) for one in alone)


def test_an_engine_that_begins_late_in_a_router_s_log_is_unreadable(read):
    late = "[2026-02-03 04:00:00] Request a exceeds the maximum number of tokens: 9 > 5"
    seen = read("\n".join([*[line()] * 2_500, late]), "node.log").facts
    assert seen.format == "sglang-router"
    assert [one.line for one in seen.unread] == [2_501]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-02-03 04:08:00  INFO smg_mesh: it says smg::response\n", None),
        ("[2026-02-03 04:08:00] INFO:     10.0.0.1:5 - smg::response\n", "sglang"),
        ('{"message": "smg::response", "request_id": "a"}\n', None),
        (
            line() + "\n[2026-02-03 04:08:00 TP0] Prefill batch, #new-seq: 1\n",
            "sglang + sglang-router",
        ),
    ],
)
def test_what_is_not_the_routers_alone_is_not_told_as_its(read, text, told):
    assert read(text).facts.format == told
