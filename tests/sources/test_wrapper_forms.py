"""Logs as further tools lay them out: as many records as without, alone and behind another one."""

import json
from pathlib import Path

import pytest

from forensics.sources.wrappers import shipped
from forensics.sources.wrappers.inner import FURTHER
from tests.sources.wrapforms import CANARY, LAID, WITH_TIME, exported, micros, rfc

DATA = Path(__file__).parents[1] / "_data" / "sources"
LOGS = ["vllm.log", "sglang.log", "profiles/envoy-ai-gateway.jsonl"]
ADDED = "INFO 02-03 04:00:00 [async_llm.py:316] Added request r-{}."


def lines_of(log):
    return [line for line in (DATA / log).read_text().split("\n") if line]


def added(count, first=0):
    return [ADDED.format(n) for n in range(first, first + count)]


def ids(seen):
    return sorted(seen.column("request_id")) if seen.rows.height else []


@pytest.mark.few(40)
@pytest.mark.parametrize("form", LAID)
@pytest.mark.parametrize("log", LOGS)
def test_a_wrapper_hides_no_record_and_gives_its_time(read, log, form):
    lines = lines_of(log)
    alone = read("\n".join(lines), "a/node-1.log")
    seen = read(LAID[form](lines), "b/node-1.log")
    assert seen.facts.kept == alone.facts.kept
    assert (ids(seen), seen.reasons) == (ids(alone), alone.reasons)
    assert CANARY not in repr(seen.facts) + str(seen.rows.to_dicts())
    if form in WITH_TIME and log == "vllm.log":
        assert not seen.rows["naive"].any()


@pytest.mark.few(24)
@pytest.mark.parametrize("form", LAID)
@pytest.mark.parametrize("outer", ["docker", "cri", "colour", "hits", "export"])
def test_a_wrapper_behind_another_one_hides_no_record(read, form, outer):
    lines = added(6)
    inner = LAID[form](lines).decode().removesuffix("\n").split("\n")
    wrap = {
        "docker": lambda n, x: json.dumps({"log": f"{x}\n", "stream": "stdout", "time": rfc(n)}),
        "cri": lambda n, x: f"{rfc(n)} stdout F {x}",
        "colour": lambda _, x: f"\x1b[32m{x}\x1b[0m",
        "hits": lambda n, x: json.dumps({"_source": {"@timestamp": rfc(n), "message": x}}),
    }
    if outer == "export":
        data = exported(inner)
    else:
        data = "\n".join(wrap[outer](n, x) for n, x in enumerate(inner)).encode()
    assert ids(read(data, "node-1.log")) == [f"r-{n}" for n in range(6)]


PREFIXES = ("short-monotonic", "stern -A", "mpirun", "RFC 6587", "Fluent Bit, printed", "json-seq")


@pytest.mark.parametrize("outer", ["CloudWatch tail", "kubetail -t", "Fluentd", "stern -A"])
@pytest.mark.parametrize("form", PREFIXES)
def test_a_prefix_behind_a_prefix_is_as_sure_as_a_line_of_an_engine(read, form, outer):
    inner = LAID[form](lines_of("sglang.log")).decode().removesuffix("\n").split("\n")
    alone = read((DATA / "sglang.log").read_bytes(), "a/node-1.log").facts
    assert read(LAID[outer](inner), "b/node-1.log").facts.kept == alone.kept


# --- what is nearly one ----------------------------------------------------------------

NEAR = {
    "a shipper's record of something else": '{"log": "it is [2026-02-03 04:00:00] now"}\n' * 3,
    "prose in front of a time": "the pod-7 wrote [2026-02-03 04:00:00] it\n" * 3,
    "a table of something else": "timestamp,message,user\n" + "1770091200000,INFO 02-03 ,u\n" * 3,
    "fields of something else": '{"fields": {"message": [5], "log": ["a", "b"]}}\n' * 3,
    "events for a browser": 'data: {"choices": []}\n\n' * 3,
    "a rank's own words": "[default0]: hello\n[default1]: hello\n",
}


@pytest.mark.parametrize("near", NEAR)
def test_what_is_nearly_a_wrapper_is_none(read, near):
    seen = read(NEAR[near], "node-1.log").facts
    assert (seen.format, seen.kept) == (None, 0)


def test_a_level_is_no_host(read):
    for between in ("INFO", "INFO vllm:"):
        data = "".join(f"{rfc(n)} {between} {line}\n" for n, line in enumerate(added(3)))
        seen = read(data, "node-1.log")
        assert not seen.rows.height or set(seen.rows["source_node"]) == {"node-1"}


def test_pods_of_one_file_are_logs_of_their_own(read):
    for prefix in ("[{}] ", "{} vllm ", "[{} vllm] "):
        data = "".join(
            prefix.format(f"decode-{n % 2}") + f"{line}\n" for n, line in enumerate(added(6))
        )
        assert set(read(data, "x.log").rows["source_node"]) == {"decode-0", "decode-1"}


def test_further_lines_of_an_entry_are_noted_and_begin_no_record(read):
    before = f"{rfc(0)} gpu-1 vllm[7]: "
    first, more, last = added(3)
    data = f"{before}{first}\n{' ' * len(before)}{more}\n{' ' * len(before)}x\n{before}{last}\n"
    seen = read(data, "node-1.log")
    assert ids(seen) == ["r-0", "r-2"]
    assert (seen.facts.notes[FURTHER], seen.facts.unread) == (1, [])


# --- lines that were cut up ------------------------------------------------------------


@pytest.mark.parametrize("ends", ["", "\n"])
def test_records_are_joined_only_where_some_have_a_line_end(read, ends):
    whole = [{"log": f"{x}{ends}", "stream": "stdout", "time": rfc(0)} for x in added(5)]
    assert len(ids(read("\n".join(map(json.dumps, whole)), "a.log"))) == 5
    cut = ADDED.format(7)
    parts = [{"log": cut[:50]}, {"log": cut[50:] + "\n"}]
    parts = [one | {"stream": "stdout", "time": rfc(0)} for one in parts]
    seen = read("\n".join(map(json.dumps, whole + parts)), "b.log")
    assert ("r-7" in ids(seen)) == bool(ends)


@pytest.mark.parametrize("mark", ["_p", "logtag"])
@pytest.mark.parametrize("time", ["date", "time"])
def test_parts_are_joined_where_they_are_marked(read, mark, time):
    cut = ADDED.format(7)
    parts = [(x, "F") for x in added(3)] + [(cut[:50], "P"), (cut[50:], "F")]
    data = "\n".join(json.dumps({time: rfc(0), "log": x, mark: tag}) for x, tag in parts)
    seen = read(data, "a.log")
    assert ids(seen) == ["r-0", "r-1", "r-2", "r-7"]
    assert seen.facts.ignored["part of a longer line"] == 1


# --- entries of a journal --------------------------------------------------------------


def test_entries_are_numbered_by_their_first_lines_and_values_may_hold_any_byte(read):
    text = "x" * (13 - 2) + "\r\n"  # its length is written with a carriage return
    odd = f"__CURSOR=a\n__REALTIME_TIMESTAMP={micros(0)}\nMESSAGE\n".encode()
    odd += len(text).to_bytes(8, "little") + text.encode() + b"\n\n"
    data = exported(added(1)) + odd + exported(added(2, first=1))
    seen = read(data, "node-1.log")
    assert ids(seen) == ["r-0", "r-1", "r-2"]
    lines = data.replace(b"\r\0", b"\n\0").split(b"\n")
    assert all(lines[n - 1].startswith(b"__CURSOR=") for n in seen.rows["line"])
    assert seen.facts.read == 4


def test_an_entry_that_breaks_off_is_unreadable_and_the_next_is_read(read):
    whole = exported(added(4))
    broken = b"__CURSOR=b\n__REALTIME_TIMESTAMP=17700912\nMESS AGE of nobody\n\n"
    seen = read(whole + broken + exported(added(2, first=4)), "node-1.log")
    assert ids(seen) == [f"r-{n}" for n in range(6)]
    assert seen.reasons == {"entry of a journal that breaks off": 1}
    seen = read(whole[:-90], "node-1.log")
    assert len(ids(seen)) + len(seen.facts.unread) == 4


def test_an_entry_without_a_message_is_counted(read):
    bare = f"__CURSOR=a\n__REALTIME_TIMESTAMP={micros(0)}\n_PID=5\n\n".encode()
    seen = read(exported(added(2)) + bare, "node-1.log").facts
    assert seen.ignored["entry that the journal gave no message of"] == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1770091200.5", 1_770_091_200_500_000),
        (1770091200.5, 1_770_091_200_500_000),
        (1_770_091_200_500, 1_770_091_200_500_000),
        ("1770091200500000", 1_770_091_200_500_000),
        ("1770091200500000999", 1_770_091_200_500_000),
        ("2026-02-03T04:00:00Z", "2026-02-03T04:00:00Z"),
        (17, None),
        (1e300, None),
        (True, None),
        ([], None),
        (None, None),
    ],
)
def test_a_number_says_by_its_digits_what_it_counts(value, expected):
    assert shipped.moment(value) == expected


# --- records in a list of a document -----------------------------------------------------


@pytest.mark.parametrize("key", ["data", "records", "value"])
@pytest.mark.parametrize("indent", [None, 1])
def test_the_records_of_a_document_are_those_of_its_list(read, key, indent):
    log = DATA / "profiles" / "portkey.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    alone = read(log.read_bytes(), "a.jsonl")
    page = json.dumps(
        {"count": 2, "meta": {"page": CANARY}, key: records, "next": None}, indent=indent
    )
    seen = read(page, "b.json")
    assert (seen.facts.format, ids(seen)) == ("portkey", ids(alone))
    pages = read(f"{page}\n{page}\n", "c.json").facts
    assert (pages.kept, pages.unread) == (2 * alone.facts.kept, [])
    cut = read(f"{page}\n{page[:-40]}\n", "d.json").facts
    assert (cut.kept, len(cut.unread)) == (alone.facts.kept, 1)


def test_a_document_without_such_a_list_is_none(read):
    for text in ('{"data": [1, 2]}\n', '{"model": "m", "choices": [{"index": 0}]}\n'):
        assert read(text, "x.json").facts.format is None


def test_a_list_behind_a_prefix_is_a_record(read):
    log = json.loads((DATA / "other" / "perf_metrics.json").read_text())
    alone = read(json.dumps(log), "a.json").facts
    seen = read(f"{rfc(0)} gpu-1 trtllm: {json.dumps(log)}\n", "b.log").facts
    assert (seen.format, seen.kept) == (alone.format, alone.kept)


def test_a_document_with_the_words_of_a_store_and_another_form_is_none_of_it(read):
    record = {"request_id": "r-1", "prompt_tokens": 7, "received_at": rfc(0), "message": 5}
    page = {"data": [record | {"attributes": [], "timestamp": rfc(0)}]}
    for indent in (None, 1):
        assert ids(read(json.dumps(page, indent=indent), f"{indent}.json")) == ["r-1"]
