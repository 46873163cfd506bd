"""Keys and tokens where an identifier or a name belongs: withheld and counted; lookalikes stay."""

import json

import pytest

from forensics.cli import run

SOME = {"request_id": "r-1", "received_at": "2026-02-03T04:05:06Z"}
HIDDEN = "9f3aC07bQ2xY5kLm8Zt1Vw4R"
SECRETS = [
    f"sk-{HIDDEN}",
    f"sk-proj-{HIDDEN}-{HIDDEN}",
    f"sk-ant-api03-{HIDDEN}",
    "sk-or-v1-" + "0123456789abcdef" * 4,
    "sk-lf-550e8400-e29b-41d4-a716-446655440000",
    "sk-abcdefghijklmnop",
    "sk-live-abc123def456",
    f"team:sk-{HIDDEN}",
    f"pk_live_{HIDDEN}",
    f"rk_live_{HIDDEN}",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    f"ghp_{HIDDEN}",
    f"ghs_{HIDDEN}",
    f"github_pat_{HIDDEN}",
    f"hf_{HIDDEN}",
    f"xoxb-123456789012-{HIDDEN}",
    f"AIzaSy{HIDDEN}AbCdEfGhI",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{HIDDEN}",
    f"Bearer {HIDDEN}",
    "-----BEGIN PRIVATE KEY-----",
    "postgres://app:hunter2@db.internal/requests",
    "https://:token@example.org",
    f"/keys/acmesk-proj-{HIDDEN}",
    f"tokenghp_{HIDDEN}",
    f"a=sk-{HIDDEN}",
    f"key%3Dsk-{HIDDEN}",
    f"key\\u003dsk-proj-{HIDDEN}",
    f"v1/sk-proj-{HIDDEN}/models",
    f"acme_sk-{HIDDEN}",
    f"Bearer%20{HIDDEN}",
    f"api_key={HIDDEN.lower()}",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0",
    "ideyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
    "eyJzdWIiOiIxMjM0NTY3ODkwIn0",
    "acmeAKIAIOSFODNN7EXAMPLE",
    f"acmexoxb-123456789012-{HIDDEN}",
    *(f"{issuer}_{HIDDEN}" for issuer in ("fw", "r8", "npm", "whsec", "shpat", "dop_v1", "tgp_v1")),
    f"lsv2_pt_{HIDDEN}",
    f"pcsk_4cRtY_{HIDDEN}",
    f"ya29.{HIDDEN}",
    f"SG.{HIDDEN}.{HIDDEN}",
    f"abcsk-{HIDDEN}",
    f"0sk-{HIDDEN}",
    f"chatcmpl-usersk-proj-{HIDDEN}",
    "abcsk-or-v1-" + "0123456789abcdef" * 4,
    f"acmesk-ant-api03-{HIDDEN.lower()}",
    *(f"abc{issuer}_{HIDDEN}" for issuer in ("fw", "npm", "whsec", "pcsk_4cRtY")),
    f"Bearer:{HIDDEN}",
    f"x-api-key:{HIDDEN}",
]
LOOKALIKES = [
    "550e8400-e29b-41d4-a716-446655440000",
    "9f3ac07b" * 4,
    "chatcmpl-9f3ac07b9f3ac07b9f3ac07b",
    "sk-t-a",
    "sk-a1b2",
    "rk-t-a",
    "skyline-labs",
    "fw_gateway_eu_west_1",
    "npm_build_of_the_client_0123456789",
    "SG.prefill-03",
    "skyline-0123456789abcdef0123",
    "task-0123456789abcdef0123",
    "disk-0123456789abcdef0123",
    "sk-telecom-production-eu",
    "sk-bratislava-prefill-03/dp1",
    "hf_internal_testing_models",
    "ghp_short",
    "AKIATOWN",
    "ASIAPACIFICCUSTOMERSWEST",
    "01ASIAGZ3NDEKTSV4RRFFQ69",
    "eyJ-labs.eyJ-team",
    "https://example.org/a:b",
    "team@example.org",
    "xoxo-bakery-01",
    "bearer-of-news",
    "bearer-of-0123456789abcdef0123",
    "task-9F3AC07B9F3AC07B9F3AC07B9F3AC07B",
    "task-prefill-node-03-Rank2-of-16-Blue",
    "disk-Prefill2NodeNumberNine",
    "desk_live_stream_prefill_node_03",
    "keyJohnson.keyJones",
    "01JABCDEFGHJKMNPQRSTVWXYZ0",
    "resp_bGl0ZWxsbTpjdXN0b20x",
    "team%20of%20sk-telecom",
    *(f"{word}-{HIDDEN}" for word in ("task", "cmpl-task", "disk", "desk", "risk", "ask", "Mask")),
    f"flask-{HIDDEN}",
    f"req_{HIDDEN}",
    f"msg_{HIDDEN}",
    f"chatcmpl-{HIDDEN}",
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_withheld_and_counted_apart(read, text):
    seen = read(lines([SOME | {"tenant_id": text, "transfer_id": text}, SOME | {"tenant_id": "t"}]))
    assert seen.column("tenant_id") == [None, "t"]
    assert seen.column("transfer_id") == [None, None]
    assert seen.facts.kept == 2
    assert seen.facts.bad_values == {
        "tenant_id (looks like a secret)": 1,
        "transfer_id (looks like a secret)": 1,
    }


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_merely_begins_like_one_stays(read, text):
    seen = read(lines([SOME | {"tenant_id": text, "request_id": text}]))
    assert seen.column("tenant_id") == seen.column("request_id") == [text]
    assert not seen.facts.bad_values


def test_a_request_whose_id_is_withheld_is_named_by_its_place(read):
    rows = [{"request_id": "two words"}, {"request_id": f"sk-{HIDDEN}"}, {"request_id": "r-3"}]
    seen = read(lines(SOME | row for row in rows))
    places = [f"redacted:node-07.ndjson:{line}" for line in (1, 2)]
    assert seen.column("request_id") == [*places, "r-3"]
    assert seen.facts.bad_values == {"request_id": 1, "request_id (looks like a secret)": 1}


def test_settings_that_hold_one_are_withheld(read):
    pool = {"node": "p", "effective_at": "2026-02-03T00:00:00Z", "pool_tokens": 64}
    rows = [pool | {"config": f"quantization={text}"} for text in (f"sk-{HIDDEN}", "fp8")]
    seen = read(lines(rows))
    withheld = "disaggregation_decode_enable_radix_cache=unreadable"
    withheld += ";speculative_algorithm=unreadable"
    assert seen.capacity["config"].to_list() == [withheld, "quantization=fp8"]
    assert seen.facts.bad_values == {"config (looks like a secret)": 1}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_same_in_flat_files(read, tmp_path, form):
    import polars as pl

    frame = pl.DataFrame([SOME | {"tenant_id": f"sk-{HIDDEN}"}])
    path = tmp_path / f"rows.{form}"
    getattr(frame, f"write_{form}")(path)
    seen = read(path.read_bytes(), f"x.{form}")
    assert seen.column("tenant_id") == [None]
    assert seen.facts.bad_values == {"tenant_id (looks like a secret)": 1}


STATS = (
    "[2026-02-03 04:05:06] ReqTimeStats(rid={}, bootstrap_room=77, input_len=5, "
    "cached_input_len=0, output_len=1, type=decode): queue_duration=1.00ms\n"
)


def test_engine_logs_withhold_them_too(read):
    seen = read(STATS.format(f"sk-{HIDDEN}") + STATS.format("sk-t-a"), "node.log")
    assert seen.column("request_id") == ["redacted:node.log:1", "sk-t-a"]
    assert seen.facts.bad_values == {"request_id (looks like a secret)": 1}
    record = {
        "rid": f"sk-{HIDDEN}",
        "event": "request.finished",
        "timestamp": "2026-02-03T04:05:06",
    }
    meta = {"prompt_tokens": 5, "completion_tokens": 1, "finish_reason": {"type": "stop"}}
    record |= {"obj": {"bootstrap_room": 77}, "out": {"meta_info": meta}}
    seen = read(lines([record]), "node.log")
    assert seen.column("request_id") == ["redacted:node.log:1"]


def test_none_is_in_a_report(tmp_path):
    rows = [SOME | {"tenant_id": text, "request_id": text, "model": text} for text in SECRETS]
    (tmp_path / "x.ndjson").write_text(lines(rows))
    assert run(["report", str(tmp_path / "x.ndjson"), "-o", str(tmp_path / "out"), "-q"]) == 3
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(b"looks like a secret" in data for data in written)
    for data in written:
        assert HIDDEN.encode() not in data
        assert b"hunter2" not in data
