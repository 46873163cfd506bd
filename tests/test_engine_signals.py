"""Lines in which an engine says that a hand-off was mixed, or might have been."""

from collections.abc import Callable
from typing import Any

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
START = "server_args=ServerArgs(model_path='m', disaggregation_mode='prefill', page_size=64)"
POOL = "max_total_num_tokens=681280, chunked_prefill_size=16384, context_len=1048576"
SECOND = 1_788_264_000
"""Epoch of 2026-09-01 12:00:00 UTC."""
ROOM, OTHER = 4_000_000_000_000_000_000, 5_000_000_000_000_000_000
PREFILL = [f"[2026-09-01 00:00:00] {START}", f"[2026-09-01 00:01:00 DP0 TP0 EP0] {POOL}"]


def at(second: int) -> str:
    return f"[2026-09-01 12:00:{second:02} DP1 TP1 EP1] "


def stats(second: int, room: int, tokens: int, side: str = "decode", made: int = 40) -> str:
    return at(second + 1) + (
        f"ReqTimeStats(rid={side}-{room}, bootstrap_room={room}, input_len={tokens}, "
        f"cached_input_len=0, output_len={made}, attempts=0, type={side}): "
        "bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=980.00ms, "
        f"entry_time={SECOND + second}.000"
    )


def healthy(room: int, made: int = 40) -> dict[str, list[str]]:
    return {
        "prefill-01": [*PREFILL, stats(10, room, 5_000, "prefill", 1)],
        "decode-01": [stats(10, room, 5_000, made=made)],
    }


def checksum(room: int) -> str:
    sums = "expected=0x0badf00d got=0x1badf00d"
    return at(12) + f"KV checksum mismatch req=decode-{room} bootstrap_room={room} {sums}"


def collision(room: int, other: int) -> str:
    return at(12) + (
        f"Context corruption detected: Request decode-{room} (bootstrap_room={room}) received "
        f"metadata from bootstrap_room={other}. Metadata buffer index: 7. This indicates metadata "
        "buffer index collision."
    )


def late(room: int) -> str:
    return at(40) + (
        f"Deferred KV release for room {room} timed out after 30.0s without a full drain ack from "
        "prefill; releasing anyway."
    )


def row_of(case: forensics.Case, room: int) -> dict[str, Any]:
    rows = case.requests.polars().filter(transfer_id=str(room))
    assert rows.height == 1
    return rows.row(0, named=True)


def listed(case: forensics.Case) -> set[str]:
    tables = (case.affected, case.ruled_out, case.not_assessable)
    return {room for table in tables for room in table.polars()["transfer_id"]}


def test_a_checksum_mismatch_is_direct_evidence_against_a_complete_hand_off(
    node_logs: NodeLogs,
) -> None:
    logs = healthy(ROOM)
    assert row_of(node_logs(logs), ROOM)["tier"] == "ruled_out"
    logs["decode-01"].append(checksum(ROOM))
    row = row_of(node_logs(logs), ROOM)
    assert (row["tier"], row["rung"]) == ("probable", "delivered")
    assert row["reasons"] == ["below_limit", "kv_checksum_mismatch", "same_count"]


def test_a_checksum_mismatch_that_was_stopped_is_ruled_out_and_listed(node_logs: NodeLogs) -> None:
    logs = healthy(ROOM, made=0)
    logs["decode-01"].append(checksum(ROOM))
    case = node_logs(logs)
    row = row_of(case, ROOM)
    assert row["tier"] == "ruled_out"
    assert {"kv_checksum_mismatch", "not_delivered"} <= set(row["reasons"])
    assert str(ROOM) in listed(case)


def test_a_checksum_mismatch_alone_is_possible(node_logs: NodeLogs) -> None:
    row = row_of(node_logs({"decode-01": [checksum(ROOM)]}), ROOM)
    assert (row["tier"], row["rung"]) == ("possible", "triggered")
    assert row["reasons"] == ["delivery_unknown", "kv_checksum_mismatch"]


def test_a_collision_rules_out_who_was_stopped_and_decides_nothing_of_the_other(
    node_logs: NodeLogs,
) -> None:
    logs = healthy(OTHER)
    logs["decode-01"].append(collision(ROOM, OTHER))
    case = node_logs(logs)
    stopped, other = row_of(case, ROOM), row_of(case, OTHER)
    assert stopped["tier"] == "ruled_out"
    assert stopped["reasons"] == ["handoff_failed", "metadata_collision", "not_delivered"]
    assert other["tier"] == "ruled_out"
    assert other["reasons"] == ["below_limit", "metadata_collision", "same_count"]
    assert {str(ROOM), str(OTHER)} <= listed(case)
    assert "metadata_collision" in {item.code for item in case.exposure().limitations}
    assert case.exposure().headline.bound.high == 0


def test_a_collision_raises_nobody(node_logs: NodeLogs) -> None:
    logs = {"decode-01": [stats(10, OTHER, 5_000), collision(ROOM, OTHER)]}
    assert row_of(node_logs(logs), OTHER)["tier"] == "not_assessable"
    over = {"decode-01": [stats(10, OTHER, 700_000), collision(ROOM, OTHER)], "prefill-01": PREFILL}
    assert row_of(node_logs(over), OTHER)["tier"] == "possible"


def test_a_late_release_says_what_cannot_be_told(node_logs: NodeLogs) -> None:
    logs = healthy(ROOM)
    logs["decode-01"].append(late(ROOM))
    case = node_logs(logs)
    row = row_of(case, ROOM)
    assert (row["tier"], row["reasons"]) == (
        "ruled_out",
        ["below_limit", "late_release", "same_count"],
    )
    assert str(ROOM) in listed(case)
    document = case.exposure()
    assert "1 hand-off gave pages back while writes may have been in flight" in (
        document.headline.incomplete
    )
    sentences = [item.sentence for item in document.limitations if item.code == "late_release"]
    assert len(sentences) == 1
    assert "cannot be told" in sentences[0]


def test_a_late_release_out_of_scope_is_not_the_cases(node_logs: NodeLogs) -> None:
    logs = healthy(ROOM)
    logs["decode-01"].append(late(ROOM))
    window = '[scope]\nwindow = ["2026-09-02T00:00:00Z", "2026-09-03T00:00:00Z"]'
    said = node_logs(logs, window).exposure().headline.incomplete
    assert not any("gave pages back" in sentence for sentence in said)


@pytest.mark.parametrize("line", [checksum(ROOM), late(ROOM)])
def test_a_signal_that_is_logged_twice_counts_once(node_logs: NodeLogs, line: str) -> None:
    logs = healthy(ROOM)
    logs["decode-01"] += [line, line]
    case = node_logs(logs)
    once = node_logs({**logs, "decode-01": logs["decode-01"][:-1]})
    assert case.requests.polars().equals(once.requests.polars())
