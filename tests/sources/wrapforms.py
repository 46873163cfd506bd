"""Lines of an engine as further tools lay them out; each tool is a function of the lines."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

CANARY = "CANARY-7c2d"
START = datetime(2026, 2, 3, 4, 0, 0, 123_456, tzinfo=UTC)
Lay = Callable[[list[str]], bytes]


def moment(number: int) -> datetime:
    return START + timedelta(milliseconds=number)


def rfc(number: int) -> str:
    return f"{moment(number):%Y-%m-%dT%H:%M:%S.%f}Z"


def micros(number: int) -> int:
    return (moment(number) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def text(make: Callable[[int, str], str]) -> Lay:
    return lambda lines: "".join(f"{make(n, x)}\n" for n, x in enumerate(lines)).encode()


def records(make: Callable[[int, str], object]) -> Lay:
    return text(lambda n, line: json.dumps(make(n, line)))


def document(make: Callable[[list[tuple[int, str]]], object]) -> Lay:
    return lambda lines: json.dumps(make(list(enumerate(lines)))).encode()


def table(header: list[str], make: Callable[[int, str], list[object]]) -> Lay:
    def lay(lines: list[str]) -> bytes:
        out = io.StringIO()
        csv.writer(out).writerows([header, *(make(n, line) for n, line in enumerate(lines))])
        return out.getvalue().encode()

    return lay


def exported(lines: list[str]) -> bytes:
    """Every second message as the journal writes one with a control character."""
    entries = []
    for n, line in enumerate(lines):
        data = line.encode()
        bare = b"MESSAGE=" + data
        sized = b"MESSAGE\n" + len(data).to_bytes(8, "little") + data
        head = f"__CURSOR=s={CANARY};i={n}\n__REALTIME_TIMESTAMP={micros(n)}\n_HOSTNAME=gpu-1\n"
        entries.append(head.encode() + (sized if n % 2 else bare) + b"\n_PID=7\n\n")
    return b"".join(entries)


def hits(found: list[tuple[int, str]]) -> dict[str, object]:
    return {
        "total": {"value": len(found)},
        "hits": [
            {"_id": f"{n}", "fields": {"@timestamp": [rfc(n)], "message": [line], "x": [CANARY]}}
            for n, line in found
        ],
    }


def source(found: list[tuple[int, str]]) -> dict[str, object]:
    entries = [{"_source": {"@timestamp": rfc(n), "message": line}} for n, line in found]
    return {"hits": {"total": len(found), "hits": entries}}


def otel(found: list[tuple[int, str]]) -> dict[str, object]:
    named = [{"key": "k8s.pod.name", "value": {"stringValue": "d-0"}}]
    lines = [
        {"timeUnixNano": f"{micros(n)}000", "body": {"stringValue": line}, "attributes": []}
        for n, line in found
    ]
    logs = [{"resource": {"attributes": named}, "scopeLogs": [{"logRecords": lines}]}]
    return {"resourceLogs": logs}


WITH_TIME: dict[str, Lay] = {
    "short-iso": text(
        lambda n, line: f"{moment(n):%Y-%m-%dT%H:%M:%S.%f}+0000 gpu-1 vllm[7]: {line}"
    ),
    "short-full": text(
        lambda n, line: f"{moment(n):%a %Y-%m-%d %H:%M:%S.%f} UTC gpu-1 a[7]: {line}"
    ),
    "short-unix": text(lambda n, line: f"{micros(n) / 1e6:.6f} gpu-1 vllm[7]: {line}"),
    "export": exported,
    "json-sse": text(
        lambda n, line: (
            "data: "
            + json.dumps(
                {"__REALTIME_TIMESTAMP": f"{micros(n)}", "_HOSTNAME": "g", "MESSAGE": line}
            )
        )
    ),
    "json-seq": text(
        lambda n, line: (
            "\x1e"
            + json.dumps(
                {"__REALTIME_TIMESTAMP": f"{micros(n)}", "_HOSTNAME": "g", "MESSAGE": line}
            )
        )
    ),
    "stern -t": text(lambda n, line: f"decode-0 vllm {rfc(n)} {line}"),
    "kubetail -t": text(lambda n, line: f"[decode-0] {rfc(n)} {line}"),
    "service -t": text(lambda n, line: f"{rfc(n)} llm_v.1.k2j3@gpu-1    | {line}"),
    "rsyslog": text(lambda n, line: f"<14>{rfc(n)} gpu-1 vllm[7]: {line}"),
    "rsyslog, no number": text(lambda n, line: f"{rfc(n)} gpu-1 vllm: {line}"),
    "RFC 5424, data": text(
        lambda n, line: f'<14>1 {rfc(n)} g a 7 - [x@1 a="{CANARY}\\]" c="]"][y d="e"] \ufeff{line}'
    ),
    "RFC 6587": text(lambda n, line: f"{len(line) + 50} <14>1 {rfc(n)} gpu-1 vllm 7 - - {line}"),
    "hits with fields": document(lambda found: {"hits": hits(found)}),
    "hits of fields": records(lambda n, line: hits([(n, line)])["hits"][0]),
    "_msearch": document(lambda found: {"responses": [source(found)]}),
    "Kibana": document(lambda found: {"id": CANARY, "rawResponse": source(found)}),
    "Loki, pushed": document(
        lambda found: {
            "streams": [
                {"stream": {"pod": "d"}, "values": [[f"{micros(n)}000", x] for n, x in found]}
            ]
        }
    ),
    "CloudWatch lines": records(lambda n, line: {"timestamp": micros(n) // 1000, "message": line}),
    "CloudWatch list": document(
        lambda found: [{"timestamp": micros(n) // 1000, "message": x} for n, x in found]
    ),
    "CloudWatch tail": text(lambda n, line: f"{rfc(n)} decode-0/vllm {line}"),
    "CloudWatch csv": table(["timestamp", "message"], lambda n, line: [micros(n) // 1000, line]),
    "Insights": document(
        lambda found: {
            "status": "Complete",
            "results": [
                [
                    {"field": "@timestamp", "value": rfc(n).replace("T", " ")[:-4]},
                    {"field": "@message", "value": line},
                ]
                for n, line in found
            ],
        }
    ),
    "Google, payload": records(
        lambda n, line: {
            "insertId": "a",
            "timestamp": rfc(n),
            "resource": {"labels": {"pod_name": "d"}},
            "jsonPayload": {"log" if n % 2 else "message": line},
        }
    ),
    "Google, entries": document(
        lambda found: {
            "entries": [{"insertId": "a", "timestamp": rfc(n), "textPayload": x} for n, x in found]
        }
    ),
    "Fluent Bit, no line ends": records(
        lambda n, line: {"time": rfc(n), "stream": "stdout", "_p": "F", "log": line}
    ),
    "Fluent Bit, stated time": records(lambda n, line: {"@timestamp": rfc(n), "log": line}),
    "Fluent Bit, pairs": records(lambda n, line: [[micros(n) / 1e6, {}], {"log": line}]),
    "Fluent Bit, printed": text(
        lambda n, line: (
            f"[{n}] kube.a: [[{micros(n) / 1e6:.9f}, {{}}], {json.dumps({'log': line})}]"
        )
    ),
    "Fluentd": text(lambda n, line: f"{rfc(n)}\tkube.a\t{json.dumps({'log': line})}"),
    "Vector, journal": records(
        lambda n, line: {"__REALTIME_TIMESTAMP": f"{micros(n)}", "message": line, "x": CANARY}
    ),
    "OTLP logs": document(otel),
    "Splunk HEC": records(
        lambda n, line: {"time": micros(n) / 1e6, "host": "g", "event": {"message": line}}
    ),
    "Splunk, row by row": records(
        lambda n, line: {"_time": rfc(n), "_raw": line, "host": "g", "source": CANARY}
    ),
    "Splunk, row by row in seconds": records(
        lambda n, line: {"_raw": line, "_time": f"{micros(n) / 1e6:.6f}", "host": "g"}
    ),
    "Splunk, rows": document(
        lambda found: {"fields": ["_time", "_raw"], "rows": [[rfc(n), line] for n, line in found]}
    ),
    "Datadog, answer": document(
        lambda found: {
            "data": [
                {"id": CANARY, "attributes": {"timestamp": rfc(n), "host": "g", "message": line}}
                for n, line in found
            ]
        }
    ),
}
WITHOUT_TIME: dict[str, Lay] = {
    "short-precise": text(lambda n, line: f"{moment(n):%b %d %H:%M:%S.%f} gpu-1 vllm[7]: {line}"),
    "short, begun": lambda lines: (
        b"-- Logs begin at Tue 2026-02-03 04:00:00 UTC. --\n"
        + text(lambda n, line: f"{moment(n):%b %d %H:%M:%S} gpu-1 vllm[7]: {line}")(lines)
    ),
    "short-monotonic": text(lambda n, line: f"[   81.{n:06d}] gpu-1 vllm[7]: {line}"),
    "RFC 3164, no program": text(lambda n, line: f"<14>{moment(n):%b %d %H:%M:%S} gpu-1 {line}"),
    "stern": lambda lines: (
        "+ decode-0 \u203a vllm\n".encode() + text(lambda _, line: f"decode-0 vllm {line}")(lines)
    ),
    "stern -A": text(lambda _, line: f"llm decode-0 vllm {line}"),
    "kubetail": text(lambda _, line: f"[decode-0 vllm] {line}"),
    "compose, attached": lambda lines: (
        b"Attaching to vllm-1\n" + text(lambda _, line: f"vllm-1  | {line}")(lines)
    ),
    "service": text(lambda _, line: f"llm_v.1.k2j3@gpu-1    | {line}"),
    "a shipper without a time": records(lambda _, line: {"log": line, "level": CANARY}),
    "torchrun": text(lambda _, line: f"[default0]:{line}"),
    "mpirun": text(lambda _, line: f"[1,0]<stdout>:{line}"),
}
LAID = WITH_TIME | WITHOUT_TIME
