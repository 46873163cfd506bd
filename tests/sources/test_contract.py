"""What every registered format has to have and to hold back."""

import gzip
import io
import json
import lzma
import pickle
import random
from pathlib import Path

import polars as pl
import pytest
import zstandard

from forensics.incident import Incident
from forensics.sources.blocks import Opened
from forensics.sources.detect import Detected, detect
from forensics.sources.files import expand
from forensics.sources.profiles.builtin import profiles
from forensics.sources.profiles.shape import Profile
from forensics.sources.registry import FORMATS, Format, by_name

DATA = Path(__file__).parents[1] / "_data" / "sources"
JSON = DATA / "sglang_json"
OTHER = DATA / "other"


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.read_csv(DATA / "plain.csv").write_parquet(buffer)
    return buffer.getvalue()


def in_words(profile: Profile) -> bytes:
    """A record or a header that only speaks of the keys that a profile is told by."""
    if profile.layout[0] == "csv":
        return f"what is {' and '.join(profile.told_by)} in it,other\nx,y\n".encode()
    said = " ".join(f'"{path.rsplit("/", 1)[-1]}": 1' for path in profile.told_by)
    return json.dumps({"text": said, "n": 1}).encode() + b"\n"


POSITIVE = {
    "plain-parquet": ("plain.parquet", parquet),
    "sglang": ("sglang.log", (DATA / "sglang.log").read_bytes),
    "vllm": ("vllm.log", (DATA / "vllm.log").read_bytes),
    "sglang-metrics": ("metrics.prom", (JSON / "metrics.prom").read_bytes),
    "sglang-spans": ("spans.jsonl", (JSON / "spans.jsonl").read_bytes),
    "sglang-server-info": ("info.json", (JSON / "server-info.json").read_bytes),
    "sglang-exporter": ("exporter.jsonl", (JSON / "exporter.jsonl").read_bytes),
    "sglang-router": ("router.log", (JSON / "router.log").read_bytes),
    "genai-spans": ("traces.jsonl", (OTHER / "spans.jsonl").read_bytes),
    "dynamo": ("trace.jsonl", (OTHER / "dynamo.jsonl").read_bytes),
    "llmd-router": ("epp.log", (OTHER / "epp.log").read_bytes),
    "trtllm-metrics": ("perf_metrics.json", (OTHER / "perf_metrics.json").read_bytes),
    "trtllm-transfers": ("rank_0_send.csv", (OTHER / "rank_0_send.csv").read_bytes),
    "trtllm-log": ("ctx-1.log", (OTHER / "trtllm.log").read_bytes),
    "lmcache-lookups": (
        "lookups.jsonl",
        (OTHER / "lookup_hashes_20260203_120000_000000.jsonl").read_bytes,
    ),
    "mooncake": ("store.log", (OTHER / "mooncake.log").read_bytes),
    "plain-ndjson": ("plain.ndjson", (DATA / "plain.ndjson").read_bytes),
    "plain-csv": ("plain.csv", (DATA / "plain.csv").read_bytes),
}
# Near misses: each would be taken by a careless look.
NEGATIVE = {
    "plain-parquet": b"PAR2 is not it\nrequest_id\n",
    "sglang": b"[2026-02-03 04:05:06] INFO 02-03 core.py: Waiting for 1 request\n",
    "vllm": b"INFO 02-03 04:05:06 core: Added request 0a0a. [core.py:7]\n",
    "sglang-metrics": b'# TYPE vllm:cache gauge\nvllm:num_gpu_blocks{e="sglang:x"} 3\n',
    "sglang-spans": b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", '
    b'"spanId": "2", "name": "prefill Req 0a", "attributes": ['
    b'{"key": "module", "value": {"stringValue": "sglang::x"}}]}]}]}]}\n',
    "sglang-server-info": b'{"model_path": "m", "max_total_tokens": 1, "max_req_input_len_": 2}\n',
    "sglang-exporter": b'{"request_id": "a", "request_parameters": {"bootstrap_room": 7}}\n',
    "sglang-router": b"2026-02-03 04:08:00  INFO http_request{method=POST uri=/generate "
    b'version=HTTP/1.1 request_id="a"}: tower_http::request: started processing request\n',
    "genai-spans": b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", "spanId": '
    b'"2", "name": "GET /", "attributes": [{"key": "http.route", "value": {"stringValue": "/"}}]'
    b"}]}]}]}\n",
    "dynamo": b'{"note": "\\"schema\\":\\"dynamo.request.trace.v1\\"", "event_type": "request_"}\n',
    "llmd-router": b'{"level": "info", "ts": 1.5, "msg": "Request handled", "path": "/"}\n',
    "trtllm-metrics": b'[{"perf_metrics_": {"timing_metrics": {"arrival_time": 1.5}}}]\n',
    "trtllm-transfers": b"RequestID,RequestInfo,Preparation\n",
    "trtllm-log": b"[TensorRT-LLM] Number of tokens per block: 64.\n",
    "lmcache-lookups": b'{"request_id_": "a", "seq_len": 5, "chunk_hashes": []}\n',
    "mooncake": b"I0203 12:00:00 7 x.cpp:9] Sync batch data transfer timeout after 33ns\n",
    "plain-ndjson": b'{"text": "it says \\"request_id\\": 1, \\"tenant_id\\": 2", "n": 1}\n',
    "plain-csv": b"name,the request_id and tenant_id of it\nx,y\n",
}
PROFILES = {path.stem: path for path in (DATA / "profiles").glob("*.[cj]s*")}
POSITIVE |= {name: (path.name, path.read_bytes) for name, path in PROFILES.items()}
NEGATIVE |= {profile.name: in_words(profile) for profile in profiles()}
TOTALS = {"openai-usage", "openai-usage-csv", "mooncake"}
"""Formats that hold no record of a single request."""


@pytest.fixture(params=FORMATS, ids=lambda form: form.name)
def form(request: pytest.FixtureRequest) -> Format:
    return request.param


def told(path: Path) -> Detected:
    with Opened(expand(path)[0]) as opened:
        return detect(opened, Incident())


def test_names_and_sentences(form):
    assert by_name(form.name) is form
    assert form.read.__doc__
    for text in (form.title, form.shows, form.never_shows):
        assert text
        assert text.strip() == text


def test_names_are_unique():
    assert len({form.name for form in FORMATS}) == len(FORMATS)


def test_every_format_has_samples():
    assert set(POSITIVE) == set(NEGATIVE) == {form.name for form in FORMATS}


def test_the_positive_sample_is_told_and_read(form, read, tmp_path):
    name, content = POSITIVE[form.name]
    seen = read(content(), name)
    assert seen.facts.format == form.name
    assert seen.facts.detected_by
    assert seen.facts.unread == []
    if form.name in TOTALS:
        assert seen.facts.kept == 0
        assert seen.facts.ignored
        return
    assert seen.facts.kept > 0
    assert seen.rows.height + sum(frame.height for frame in seen.reading.capacity) > 0


def test_the_negative_sample_is_not_taken_for_it(form, tmp_path):
    path = tmp_path / "negative"
    path.write_bytes(NEGATIVE[form.name])
    found = told(path).format
    assert found is None or found.name != form.name


def test_stated_for_the_wrong_file_it_reads_nothing_and_says_so(form, read):
    seen = read(NEGATIVE[form.name], "wrong", form=form.name)
    assert seen.facts.detected_by == "stated"
    assert seen.rows.height == seen.facts.kept == 0
    assert seen.facts.unread or seen.facts.ignored


@pytest.mark.few(100)
@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_are_counted_and_quoted_nowhere(form, read, seed):
    name, content = POSITIVE[form.name]
    data = bytearray(content())
    chance = random.Random(seed)
    for _ in range(6):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    # The fixture holds read == kept + ignored + unreadable.
    seen = read(bytes(data), name, form=form.name)
    assert "CANARY" not in repr(seen.facts)
    assert "CANARY" not in seen.rows.write_csv()


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, zstandard.compress, lzma.compress],
    ids=["plain", "gz", "zst", "xz"],
)
def test_pickles_are_refused_however_packed(tmp_path, protocol, pack):
    path = tmp_path / "crash_dump_2026-02-03_04-05-06.pkl"
    path.write_bytes(pack(pickle.dumps({"text": "CANARY"}, protocol)))
    found = told(path)
    assert found.format is None
    assert found.reason == "pickle: never opened, it holds content and can run code"


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_pickle_is_refused_whatever_it_is_said_to_be(form, read):
    seen = read(pickle.dumps({"text": "CANARY"}), "crash_dump.log", form=form.name)
    assert dict(seen.reasons) == {"pickle: never opened, it holds content and can run code": 1}


def test_no_content_reaches_the_parts(form, read, tmp_path):
    name, content = POSITIVE[form.name]
    assert b"CANARY" in pl_bytes(content(), name), "the sample must have some to lose"
    seen = read(content(), name)
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
        assert "CANARY" not in pl.read_parquet(part).write_csv()
    for frame in (*seen.reading.capacity, *seen.reading.markers):
        assert "CANARY" not in frame.write_csv()
    assert "CANARY" not in repr(seen.facts)


def pl_bytes(content: bytes, name: str) -> bytes:
    """The content as text, also where a column is compressed."""
    if name.endswith(".parquet"):
        return pl.read_parquet(io.BytesIO(content)).write_csv().encode()
    return content
