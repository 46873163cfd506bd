"""Lines of an engine behind what collectors and stores put around them."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from forensics.sources import reading
from forensics.sources.wrappers.documents import CUT
from forensics.sources.wrappers.inner import FURTHER
from forensics.sources.wrappers.textforms import TextForm

CANARY = "CANARY-5e1f"
START = datetime(2026, 8, 27, 3, 14, 6, 500_000, tzinfo=UTC)


def stats(number: int, tokens: int) -> str:
    """One line of time statistics, its stamp an hour ahead of UTC."""
    at = START + timedelta(seconds=number)
    local = at + timedelta(hours=1)
    return (
        f"[{local:%Y-%m-%d %H:%M:%S} DP0 TP0] ReqTimeStats(rid=r{number}, "
        f"bootstrap_room={number + 900}, input_len={tokens}, cached_input_len=0, output_len=1, "
        "attempts=0, type=decode): bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, "
        "transfer_duration=5.00ms, queue_duration=4.00ms, forward_duration=7.00ms, "
        f"entry_time={at.timestamp():.3f}"
    )


LINES = [*(stats(n, 1000 + n) for n in range(6)), "Uvicorn running", "Traceback of the day"]


def moment(number: int) -> datetime:
    return START + timedelta(seconds=number, milliseconds=31)


def rfc(number: int) -> str:
    return f"{moment(number):%Y-%m-%dT%H:%M:%S.%f}789Z"


def epoch_us(number: int) -> int:
    return (moment(number) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def records(make) -> str:
    return "".join(json.dumps(make(n, line)) + "\n" for n, line in enumerate(LINES))


def text(make) -> str:
    return "".join(make(n, line) + "\n" for n, line in enumerate(LINES))


def table(header, make) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([header, *(make(n, line) for n, line in enumerate(LINES))])
    return out.getvalue()


def loki(pods=("decode-0",), *, backward=True) -> str:
    result = []
    for at, pod in enumerate(pods):
        values = [[str(epoch_us(n) * 1000), line] for n, line in enumerate(LINES)]
        chosen = values[at :: len(pods)]
        result.append(
            {"stream": {"pod": pod, "x": CANARY}, "values": chosen[::-1] if backward else chosen}
        )
    return json.dumps({"status": "success", "data": {"resultType": "streams", "result": result}})


def docker(n: int, line: str) -> dict[str, str]:
    return {"log": f"{line}\n", "stream": "stdout", "time": rfc(n)}


def cri(n: int, line: str) -> str:
    return f"{rfc(n)} stdout F {line}"


def journal(n: int, line: str) -> dict[str, object]:
    message = list(line.encode()) if n % 2 else line
    return {"__REALTIME_TIMESTAMP": str(epoch_us(n)), "_HOSTNAME": "gpu-1", "MESSAGE": message}


WRAPPED = {
    "docker": records(docker),
    "docker compose": text(lambda n, line: f"decode-1  | {rfc(n)} {line}"),
    "docker logs -t": text(lambda n, line: f"{rfc(n)} {line}"),
    "cri": text(cri),
    "kubectl": text(lambda n, line: f"[pod/decode-0/engine] {rfc(n)} {line}"),
    "kubectl, time first": text(lambda n, line: f"{rfc(n)} [pod/decode-0/engine] {line}"),
    "kubectl, two times": text(lambda n, line: f"{rfc(n)} [pod/decode-0/engine] {rfc(n)} {line}"),
    "journal": records(journal),
    "journal, short": text(lambda n, line: f"{rfc(n)} gpu-1 engine[77]: {line}"),
    "syslog": text(lambda n, line: f"<134>1 {rfc(n)} gpu-1 engine 77 - - {line}"),
    "loki": loki(),
    "loki, forward": loki(backward=False),
    "logcli": text(lambda n, line: f'{rfc(n)} {{pod="decode-0", app="x"}} {line}'),
    "logcli jsonl": records(
        lambda n, line: {"labels": {"pod": "decode-0"}, "line": line, "timestamp": rfc(n)}
    ),
    "elastic": json.dumps(
        {
            "took": 3,
            "hits": {
                "total": {"value": 8},
                "hits": [
                    {"_id": "1", "_source": {"@timestamp": rfc(n), "message": line, "x": CANARY}}
                    for n, line in enumerate(LINES)
                ],
            },
        },
        indent=1,
    ),
    "elastic dump": records(
        lambda n, line: {
            "_index": "i",
            "_source": {"@timestamp": rfc(n), "log": line, "kubernetes": {"pod": {"name": "d0"}}},
        }
    ),
    "filebeat": records(
        lambda n, line: {"@timestamp": rfc(n), "message": line, "host": {"name": "gpu-1"}}
    ),
    "splunk": records(
        lambda n, line: {"preview": False, "result": {"_raw": line, "_time": rfc(n), "host": "g"}}
    ),
    "splunk csv": table(["_time", "_raw"], lambda n, line: [rfc(n), line]),
    "splunk results": json.dumps(
        {"results": [{"_raw": line, "_time": rfc(n)} for n, line in enumerate(LINES)]}
    ),
    "grafana csv": table(
        ["Time", "Line", "tsNs"], lambda n, line: [CANARY, line, str(epoch_us(n) * 1000)]
    ),
    "grafana json": json.dumps(
        [{"line": line, "timestamp": f"{epoch_us(n)}000"} for n, line in enumerate(LINES)]
    ),
    "cloudwatch": json.dumps(
        {"events": [{"timestamp": epoch_us(n) // 1000, "message": x} for n, x in enumerate(LINES)]}
    ),
    "google": records(
        lambda n, line: {
            "insertId": "1",
            "timestamp": rfc(n),
            "resource": {"type": "k8s_container", "labels": {"pod_name": "decode-0"}},
            "textPayload": line,
        }
    ),
    "azure": records(lambda n, line: {"TimeGenerated": rfc(n), "PodName": "d", "LogEntry": line}),
    "fluent bit, pairs": records(
        lambda n, line: [epoch_us(n) / 1e6, {"log": line, "kubernetes": {"pod_name": "d0"}}]
    ),
    "vector": records(
        lambda n, line: {"message": line, "timestamp": rfc(n), "host": "gpu-1", "x": CANARY}
    ),
    "datadog": records(
        lambda n, line: {"message": line, "date": rfc(n), "host": "gpu-1", "service": CANARY}
    ),
    "fluent bit": records(lambda n, line: {"date": epoch_us(n) / 1e6, "log": line}),
    "stern": records(lambda _, line: {"message": line, "podName": "d", "containerName": "engine"}),
    "logfmt": text(lambda n, line: f'ts={rfc(n)} level=info msg="{line}"'),
    "colour": text(lambda _, line: f"\x1b[32m{line}\x1b[0m"),
    "docker in cri": text(lambda n, line: f"{rfc(n)} stdout F {json.dumps(docker(n, line))}"),
    "coloured cri in docker in logcli": records(
        lambda n, line: {
            "labels": {"pod": "decode-0"},
            "line": json.dumps(docker(n, cri(n, f"\x1b[1m{line}\x1b[0m"))),
            "timestamp": rfc(n),
        }
    ),
}
UNTOLD = {"stern", "colour"}
"""These tell no time."""


@pytest.mark.few(12)
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_the_same_requests_are_read_behind_every_wrapper(read, wrapper):
    bare = read(text(lambda _, line: line), "engine.log")
    seen = read(WRAPPED[wrapper], "engine.log")
    assert seen.facts.format == "sglang"
    for name in ("request_id", "transfer_id", "prompt_tokens", "received_at"):
        assert sorted(map(str, seen.column(name))) == sorted(map(str, bare.column(name)))
    assert seen.facts.ignored["other line"] == bare.facts.ignored["other line"] == 2
    assert not seen.facts.unread


def test_the_outer_clock_wins_and_the_inner_one_gives_the_offset_of_the_node(read):
    seen = read(WRAPPED["cri"], "node-1.log")
    assert not seen.rows["naive"].any()
    assert seen.reading.clock["node-1", 3_600_000_000] == 6


@pytest.mark.parametrize("wrapper", ["cri", "docker"])
def test_parts_of_a_line_are_joined_for_each_stream(read, wrapper):
    line = LINES[0]
    whole = read(f"{line}\n", "engine.log")
    if wrapper == "cri":
        data = (
            f"{rfc(0)} stdout P {line[:40]}\n{rfc(0)} stderr P Uvi\n"
            f"{rfc(0)} stdout P {line[40:90]}\n"
            f"{rfc(0)} stderr F corn running\n{rfc(0)} stdout F {line[90:]}\n"
        )
    else:
        data = "".join(
            json.dumps({"log": part, "stream": stream, "time": rfc(0)}) + "\n"
            for part, stream in (
                (line[:40], "stdout"),
                ("Uvi", "stderr"),
                (line[40:90], "stdout"),
                ("corn running\n", "stderr"),
                (f"{line[90:]}\n", "stdout"),
            )
        )
    seen = read(data, "engine.log")
    assert seen.column("request_id") == whole.column("request_id") == ["r0"]
    assert seen.facts.read == 5
    assert seen.facts.ignored["part of a longer line"] == 3
    assert seen.rows["line"].to_list() == [5]


def test_a_line_whose_last_part_is_missing_is_unreadable(read):
    data = text(cri) + f"{rfc(9)} stdout P {LINES[0][:150]}\n{rfc(9)} stdout P x\n"
    seen = read(data, "engine.log")
    assert seen.reasons == {"line whose last part is missing": 1}
    assert [one.line for one in seen.facts.unread] == [len(LINES) + 1]


def test_a_record_that_is_not_wrapped_is_unreadable_and_named(read):
    data = WRAPPED["docker"].split("\n")
    data[2] = data[2][:50]
    seen = read("\n".join(data), "engine.log")
    assert seen.reasons == {"not a line of Docker's json-file": 1}
    assert [one.line for one in seen.facts.unread] == [3]
    assert len(seen.column("request_id")) == 5


def test_a_line_end_inside_a_record_begins_no_line_of_its_own(read):
    quoted = f"Uvicorn running {CANARY}\n{stats(40, 700_000)}"
    data = WRAPPED["docker"] + json.dumps(docker(7, quoted)) + "\n"
    seen = read(data, "engine.log")
    assert len(seen.column("request_id")) == 6
    assert seen.facts.notes[FURTHER] == 1


@pytest.mark.parametrize("form", ["loki", "journal"])
def test_the_lines_of_each_pod_are_read_as_a_log_of_their_own(read, form):
    if form == "loki":
        data = loki(("decode-0", "decode-1", "prefill-0"))
    else:
        hosts = ("decode-0", "decode-1", "prefill-0")
        data = "".join(
            json.dumps(journal(n, line) | {"_HOSTNAME": hosts[n % 3]}) + "\n"
            for n, line in enumerate(LINES)
        )
    seen = read(data, "export.json")
    assert set(seen.rows["source_node"]) == {"decode-0", "decode-1", "prefill-0"}
    assert len(seen.column("request_id")) == 6
    assert seen.facts.read == len(LINES)


def test_the_lines_of_a_pod_that_is_no_engine_are_counted(read):
    for others in ("a-sidecar", "z-sidecar"):  # before the engine by name, and after it
        result = json.loads(loki(("decode-0",)))
        stream = {"stream": {"pod": others}, "values": [["1787800000000000000", CANARY]] * 3}
        result["data"]["result"].append(stream)
        seen = read(json.dumps(result), "export.json")
        assert len(seen.column("request_id")) == 6
        assert seen.facts.ignored["line of a pod in no known format"] == 3
        assert (seen.facts.read, seen.facts.format) == (len(LINES) + 3, "sglang")


@pytest.mark.parametrize("outer", ["engine-1  | {}", "[pod/engine-1/c] {}"])
@pytest.mark.parametrize(
    "inner", ["{} stdout F {}", '{} {{job="x"}} {}', "{} h app[7]: {}", "{} {}"]
)
def test_a_moment_behind_a_prefix_may_be_another_prefix(read, outer, inner):
    lines = [outer.format(inner.format(rfc(n), line)) for n, line in enumerate(LINES)]
    assert read("\n".join(lines), "x.log").facts.kept == 6


def test_where_no_pods_lines_are_in_a_known_format_the_file_is_not_read(read):
    seen = read("".join(f"{name}  | CANARY is here\n" for name in "aab"), "x.log")
    assert dict(seen.reasons) == {"no known format": 1}
    assert seen.facts.shape
    assert not seen.facts.ignored


def test_more_pods_than_a_file_may_hold_are_counted_as_unreadable(read, monkeypatch):
    monkeypatch.setattr(reading, "MOST_STREAMS", 1)
    seen = read(loki(("a", "b", "c")), "export.json")
    assert len(seen.facts.unread) == 2
    assert len(seen.column("request_id")) == 4


def test_an_answer_that_was_cut_by_the_store_is_noted(read):
    many = {"stream": {"pod": "d"}, "values": [[str(10**18 + n), LINES[0]] for n in range(100)]}
    data = {"status": "success", "data": {"resultType": "streams", "result": [many]}}
    assert read(json.dumps(data), "x.json").facts.notes[CUT] == 1
    many["values"].pop()
    assert read(json.dumps(data), "x.json").facts.notes[CUT] == 0


@pytest.mark.parametrize(
    ("total", "cut"), [({"value": 3, "relation": "eq"}, 1), (3, 1), ({"value": 2}, 0), (None, 0)]
)
def test_hits_that_the_store_kept_back_are_noted(read, total, cut):
    source = {"@timestamp": "2026-02-03T04:05:06Z", "message": LINES[0]}
    hits = {"total": total, "hits": [{"_source": source}] * 2}
    assert read(json.dumps({"hits": hits}), "x.json").facts.notes[CUT] == cut


def test_a_preview_of_splunk_is_no_second_record(read):
    data = WRAPPED["splunk"]
    seen = read(data.replace('"preview": false', '"preview": true') + data, "x.json")
    assert len(seen.column("request_id")) == 6
    assert seen.facts.ignored["preview of a result"] == len(LINES)


def test_a_document_that_is_cut_short_is_unreadable_and_quotes_nothing(read):
    seen = read(loki()[:-40] + CANARY, "x.json")
    assert seen.reasons == {"not an answer of Loki in a known form, or cut short": 1}


def test_the_pod_is_found_in_the_path_where_a_kubelet_writes(read):
    name = "llm_decode-7_0f5c1a52-8d3e-4e2b-9a55-1c2d3e4f5a6b/engine/0.log"
    assert set(read(WRAPPED["cri"], name).rows["source_node"]) == {"decode-7"}


def test_logfmt_records_with_known_keys_are_records(read):
    line = (
        f'level=info msg="{CANARY} said \\"x\\"" request_id=r-{{}} prompt_tokens=52310 '
        f"received_at={rfc(0)} http_status=200 prompt={CANARY}\n"
    )
    seen = read("".join(line.format(n) for n in range(4)), "gateway.log")
    assert seen.column("request_id") == ["r-0", "r-1", "r-2", "r-3"]
    assert seen.column("prompt_tokens") == [52310] * 4


@pytest.mark.parametrize("odd", ["", "cut", "unlike", "carriage", "broken"])
def test_many_lines_at_once_are_read_as_one_by_one(read, monkeypatch, odd):
    data = text(cri).encode()
    data += {
        "": b"",
        "cut": f"{rfc(9)} stdout P {LINES[0][:99]}\n{rfc(9)} stdout F {LINES[0][99:]}\n".encode(),
        "unlike": b"no line of a container\n",
        "carriage": f"{rfc(9)} stdout F {LINES[1]}\r\n".encode(),
        "broken": f"{rfc(9)} stdout F {LINES[2]} ".encode() + b"\xff\n",
    }[odd]
    quick = read(data, "engine.log")
    monkeypatch.setattr(TextForm, "whole", lambda _, _block: None)
    slow = read(data, "engine.log")
    assert quick.rows.sort("line").equals(slow.rows.sort("line"))
    assert (quick.facts.read, quick.facts.ignored) == (slow.facts.read, slow.facts.ignored)
    assert quick.facts.unread == slow.facts.unread


@pytest.mark.parametrize(
    "at", ["1e308", "1" + "0" * 30, '"9e999998"', '"' + "9" * 5000 + '"', "-1e300"]
)
@pytest.mark.parametrize("form", ["fluent", "splunk"])
def test_a_time_that_is_none_costs_no_line(read, form, at):
    rest = '"log": %s}' if form == "fluent" else '"_raw": %s}}'
    begin = f'{{"date": {at}, ' if form == "fluent" else f'{{"result": {{"_time": {at}, '
    lines = [begin + rest % json.dumps(line) for line in LINES[:6]]
    seen = read("\n".join(lines) + "\n", "engine.log")
    assert seen.facts.format == "sglang"
    assert len(seen.column("request_id")) == 6


@pytest.mark.parametrize("digits", [19, 25, 5_000])
def test_a_number_of_nanoseconds_that_is_none_costs_no_line(read, digits):
    rows = table(["Line", "tsNs"], lambda _, line: [line, "9" * digits])
    assert len(read(rows, "engine.csv").column("request_id")) == 6
    document = json.dumps([{"line": line, "timestamp": "9" * digits} for line in LINES])
    assert len(read(document, "engine.json").column("request_id")) == 6
    events = {"events": [{"timestamp": 2**63 - 1, "message": line} for line in LINES]}
    assert len(read(json.dumps(events), "engine.json").column("request_id")) == 6


def test_a_pod_with_the_name_of_a_sentence_is_named_by_a_hash(read):
    record = {"labels": {"pod": f"{CANARY} my name is"}, "line": LINES[0], "timestamp": rfc(0)}
    seen = read(json.dumps(record) + "\n", "engine.log")
    assert len(seen.column("request_id")) == 1
    assert CANARY not in f"{seen.rows.to_dicts()}{seen.reading}"


# --- values of the journal -----------------------------------------------------------

_PLAIN = '{"request_id": "r-1", "prompt_tokens": 5, "received_at": "2026-02-03T04:05:06Z"}'
_BYTES = list(_PLAIN.encode())
MESSAGES = {
    "bytes": (_BYTES, 1, 0),
    "bytes in a list": ([_BYTES], 1, 0),
    "one twice": ([_PLAIN, _BYTES], 1, 0),
    "two": ([_PLAIN, "another"], 1, 1),
    "one too long beside one": ([None, _BYTES], 1, 1),
    "too long": (None, 0, 1),
    "a list of odd values": ([[256], {}], 0, 2),
}


@pytest.mark.parametrize(("message", "kept", "lost"), MESSAGES.values(), ids=MESSAGES)
def test_each_value_of_an_entry_of_the_journal_is_read_or_unreadable(read, message, kept, lost):
    other = _PLAIN.replace("r-1", "r-2")
    entries = [journal(n, other) | {"MESSAGE": text} for n, text in enumerate([other, message])]
    seen = read("\n".join(map(json.dumps, entries)))
    assert seen.facts.kept == 1 + kept
    assert [one.line for one in seen.facts.unread] == [2] * lost
    assert not seen.facts.ignored


# --- pages of an answer --------------------------------------------------------------


@pytest.mark.parametrize("form", ["loki", "elastic", "splunk results", "cloudwatch"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("between", ["\n", ""])
def test_each_page_of_an_answer_is_read_or_its_entries_are_unreadable(read, form, indent, between):
    page = json.dumps(json.loads(WRAPPED[form]), indent=indent)
    alone = read(page, "a.json").facts
    seen = read(between.join([page] * 3), "b.json").facts
    assert (seen.kept, seen.read) == (3 * alone.kept, 3 * alone.read)
    assert not seen.unread
    broken = page[: page.rindex("Traceback")]
    seen = read(f"{page}\n{broken}\n{page}", "c.json").facts
    assert seen.kept == 2 * alone.kept
    assert len(seen.unread) == (1 if form == "loki" else len(LINES))
