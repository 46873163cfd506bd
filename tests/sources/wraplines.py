"""Wrappers around single lines, each a function of the lines; the forms of further tools are in
``wrapforms``."""

import json
from collections.abc import Callable

AT = "2026-02-03T04:00:00.123456789Z"
Wrap = Callable[[list[str]], str]


def each(make: Callable[[str], str]) -> Wrap:
    return lambda lines: "\n".join(make(line) for line in lines)


def partial(line: str) -> str:
    half = len(line) // 2
    return f"{AT} stdout P {line[:half]}\n{AT} stdout F {line[half:]}"


def docker(line: str, end: str = "\n") -> str:
    return json.dumps({"log": f"{line}{end}", "stream": "stdout", "time": AT})


def split(line: str) -> str:
    half = len(line) // 2
    return f"{docker(line[:half], '')}\n{docker(line[half:])}"


def journal(message: str | list[int]) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": "1770091200000000", "MESSAGE": message})


def loki(lines: list[str]) -> str:
    values = [[str(1_770_091_200_000_000_000 + at), line] for at, line in enumerate(lines)]
    found = {"resultType": "streams", "result": [{"stream": {"pod": "p1"}, "values": values}]}
    return json.dumps({"status": "success", "data": found})


def hits(lines: list[str]) -> str:
    found = [
        {"_id": str(at), "_source": {"@timestamp": AT, "message": line}}
        for at, line in enumerate(lines)
    ]
    return json.dumps({"took": 1, "hits": {"total": {"value": len(lines)}, "hits": found}})


WRAPPERS: dict[str, Wrap] = {
    "cri": each(lambda line: f"{AT} stdout F {line}"),
    "cri partial": each(partial),
    "docker": each(docker),
    "docker split": each(split),
    "journald": each(journal),
    "journald bytes": each(lambda line: journal(list(f"\x1b[32m{line}\x1b[0m".encode()))),
    "loki": loki,
    "logcli": each(lambda x: json.dumps({"labels": {"pod": "p"}, "line": x, "timestamp": AT})),
    "elastic": hits,
    "splunk": each(lambda x: json.dumps({"preview": False, "result": {"_raw": x, "_time": AT}})),
    "compose": each(lambda line: f"vllm-1  | {line}"),
    "kubectl": each(lambda line: f"[pod/p-1/c] {line}"),
    "syslog": each(lambda line: f"<14>1 {AT} h1 app 1 - - {line}"),
    "colour": each(lambda line: f"\x1b[32m{line}\x1b[0m"),
    "process": each(lambda line: f"(RayActor pid=12, ip=10.0.0.1) {line}"),
    "process doubled": each(lambda line: f"(Worker pid=3) (Worker_TP0 pid=3) {line}"),
    "logfmt": each(lambda line: f"ts={AT} level=info msg={json.dumps(line)}"),
}
