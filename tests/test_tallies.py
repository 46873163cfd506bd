"""Statistics lines that count requests which went wrong: how many of them no line names."""

from collections.abc import Callable

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
WINDOW = '[scope]\nwindow = ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]\n'
UTC = f'{WINDOW}[logs]\ntimezone = "UTC"\n'
UUID = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0"


def at(second: int, process: str = "APIServer", level: str = "INFO") -> str:
    minute, second = divmod(second, 60)
    return f"({process} pid=64) {level} 02-03 04:{minute:02}:{second:02}"


def statistics(second: int, rest: str, engine: str = "Engine 000") -> str:
    return (
        f"{at(second)} [loggers.py:127] {engine}: Avg prompt throughput: 81.4 tokens/s, "
        "Avg generation throughput: 0.9 tokens/s, Running: 1 reqs, Waiting: 3 reqs, "
        f"GPU KV cache usage: 88.1%, Prefix cache hit rate: 24.6%{rest}"
    )


def transfers(second: int, rest: str) -> str:
    sent = "Num successful transfers=9, Avg xfer time (ms)=41.883, Num failed transfers=0"
    return f"{at(second)} [metrics.py:97] KV Transfer metrics: {sent}{rest}"


def released(second: int, number: int, worker: str = "Worker_TP0") -> str:
    return (
        f"{at(second, worker, 'WARNING')} [base_worker.py:2150] Releasing expired KV blocks for "
        f"request chatcmpl-{UUID}{number}-0115baf0 which were retrieved by 0 remote worker(s) "
        "before lease expired."
    )


def read(second: int, number: int) -> str:
    return (
        f"{at(second, 'Worker_TP0', 'ERROR')} [base_worker.py:2090] Potentially invalid KV blocks "
        f"for unrecognized request chatcmpl-{UUID}{number}-0115baf0 were retrieved by a remote "
        "worker. They may have expired."
    )


EXPIRED, LATE = ", Num KV expired reqs=2", ", Num notifs after expiry=2"
CORRUPTED = ", Corrupted: 2 reqs"


def left(case: forensics.Case) -> dict[str, int]:
    kinds = ("corrupted", "expired", "read_late")
    return {kind: n for kind in kinds if (n := case.analysis.traces.left(kind))}


@pytest.mark.parametrize(
    ("line", "kind", "noun"),
    [
        (statistics(9, CORRUPTED), "corrupted", "corrupted request"),
        (statistics(9, f"{CORRUPTED}, MM cache hit rate: 0.0%"), "corrupted", "corrupted request"),
        (statistics(9, CORRUPTED, "2 Engines Aggregated"), "corrupted", "corrupted request"),
        (transfers(9, EXPIRED), "expired", "expired hand-off"),
        (transfers(9, f", Num KV expired reqs=0{LATE}"), "read_late", "late read"),
    ],
)
def test_requests_that_are_only_counted_are_in_the_bound(
    node_logs: NodeLogs, line: str, kind: str, noun: str
) -> None:
    case = node_logs({"prefill-01": [released(1, 1), line]}, UTC)
    assert left(case) == {kind: 2 - (kind == "expired")}
    number = left(case)[kind]
    head = case.exposure().headline
    sentence = f"{number} nameless {noun}{'s' * (number > 1)} that no joined request explains"
    assert any(told.startswith(sentence) for told in head.incomplete)
    assert sentence in head.bound.sentence
    assert (head.bound.low, head.bound.high) == (0, 1 + number)
    codes = {told.code: told.sentence for told in case.exposure().limitations}
    assert codes["counts_unexplained"].endswith(f"By node: prefill-01: {number}.")


@pytest.mark.parametrize(
    "line",
    [
        statistics(9, ", Corrupted: 0 reqs"),
        statistics(9, ", Corrupted: 2 things"),
        statistics(9, "; it said Corrupted: 2 reqs"),
        statistics(9, "").replace("Running: 1", "Running: 7"),
        f"{at(9)} [loggers.py:127] Corrupted: 2 reqs",
        transfers(9, ", Num KV expired reqs=0, Num notifs after expiry=0"),
        transfers(9, ", Num KV expired reqs=2.5"),
        transfers(9, ", Num KV expired reqs=many"),
        transfers(9, ", Num failed recvs=0, Num KV expired reqs=2"),
        f"{at(9)} [metrics.py:97] Num KV expired reqs=2",
    ],
)
def test_a_line_that_counts_none_is_none(node_logs: NodeLogs, line: str) -> None:
    case = node_logs({"prefill-01": [released(1, 1), line]}, UTC)
    assert left(case) == {}
    (count,) = case.exposure().read
    assert (count.kept, sum(count.ignored.values()), count.unreadable) == (1, 1, {})


def test_connectors_side_by_side_are_added(node_logs: NodeLogs) -> None:
    of_both = "NixlConnector={'Num KV expired reqs': 2, 'x': 1}, Other={'Num KV expired reqs': 3}"
    line = f"{at(9)} [metrics.py:97] KV Transfer metrics: {of_both}"
    assert left(node_logs({"prefill-01": [line]}, UTC)) == {"expired": 5}


@pytest.mark.parametrize(
    ("named", "explained"),
    [
        ([released(5, 1), released(6, 2)], 2),
        ([released(5, 1)] * 2, 2),
        ([released(5, 1), released(5, 1, "Worker_TP1")], 2),
        ([released(5, 1), released(129, 2), released(131, 3)], 2),
        ([released(131, 1), read(5, 2)], 0),
    ],
    ids=["each is named", "one twice", "by each tensor rank", "near it", "far, or otherwise"],
)
def test_a_line_that_names_one_explains_one(
    node_logs: NodeLogs, named: list[str], explained: int
) -> None:
    case = node_logs({"prefill-01": [transfers(9, EXPIRED), *named]}, UTC)
    assert case.analysis.traces.left("expired") == 2 - explained


def test_another_server_explains_nothing(node_logs: NodeLogs) -> None:
    logs = {"prefill-01": [transfers(9, EXPIRED)], "prefill-02": [released(5, 1), released(5, 2)]}
    assert left(node_logs(logs, UTC)) == {"expired": 2}


def test_a_request_with_evidence_of_its_own_explains_one_corrupted(node_logs: NodeLogs) -> None:
    log = [read(5, 1), released(4, 1), statistics(9, CORRUPTED)]
    assert left(node_logs({"prefill-01": log}, UTC)) == {"corrupted": 1}


def test_a_count_leaves_open_whether_it_has_stopped(node_logs: NodeLogs) -> None:
    later = transfers(9, EXPIRED).replace("02-03 04:", "02-03 06:")
    added = f"{at(9)} [async_llm.py:316] Added request chatcmpl-0b.".replace("03 04:", "03 09:")
    head = node_logs({"prefill-01": [released(1, 1), later, added]}, UTC).exposure().headline
    assert head.ongoing.answer == "cannot tell"
    assert "at 2026-02-03 06:00:09 UTC, fits no request" in head.ongoing.sentence


def test_a_count_outside_the_window_is_of_no_response_in_scope(node_logs: NodeLogs) -> None:
    log = [transfers(9, EXPIRED), transfers(9, EXPIRED).replace("02-03", "03-02")]
    assert left(node_logs({"prefill-01": log}, UTC)) == {"expired": 2}


def test_counts_are_the_same_however_split_and_counted_once_of_a_copy(node_logs: NodeLogs) -> None:
    log = [released(5, 1), transfers(9, EXPIRED), transfers(300, EXPIRED), released(299, 2)]
    whole = node_logs({"prefill-01": log}, UTC)
    parts = {"x/prefill-01": log[:2], "y/prefill-01": log[2:], "z/prefill-01": log[2:3]}
    split = node_logs(parts, f"{UTC}node_from = '(?P<node>prefill-01)'\n")
    assert left(whole) == left(split) == {"expired": 2}
