"""When lines were written, told by their dates alone."""

from datetime import UTC, datetime

import pytest

from forensics.checking import stamps

AT = int(datetime(2026, 8, 28, 3, 14, 6, tzinfo=UTC).timestamp()) * stamps.MICRO


@pytest.mark.parametrize(
    ("line", "naive"),
    [
        (b"[2026-08-28 03:14:06 DP0 TP0] Decode batch, #token: 17", True),
        (b'{"timestamp": "2026-08-28T03:14:06.001000", "event": "x"}', True),
        (b'{"received_at":"2026-08-28T03:14:06Z"}', False),
        (b'{"received_at":"2026-08-28T05:14:06.5+02:00"}', False),
        (b"2026-08-28T03:14:06.123456789Z stdout F text", False),
    ],
)
def test_wall_clock_stamps_with_and_without_a_zone(line: bytes, naive: bool) -> None:
    assert stamps.stamps(line) == ([AT], naive, True)


def test_epoch_stamps_where_no_line_shows_a_date() -> None:
    data = b'{"entry_time": 1787886846.030, "rid": "f0"}\n{"at": 1787886846030}\n'
    assert stamps.stamps(data).times == [1_787_886_846 * stamps.MICRO] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no time\n",
        b"2026-13-45 99:99:99 x\n",
        b"id-1787886846-7\n",
        b"r1787886846 0.1787886846\n",
    ],
)
def test_what_shows_no_time(data: bytes) -> None:
    assert stamps.stamps(data).times == []
    assert stamps.middle(data) is None


def test_the_stamp_at_the_end_of_a_long_line_is_found() -> None:
    line = b'{"text": "' + b"x" * 100_000 + b'", "at": "2026-08-28T03:14:06Z"}\n'
    assert stamps.stamps(line).times == [AT]


def test_a_clock_that_is_ahead_is_told_by_the_epoch_beside_it() -> None:
    line = b"[2026-08-28 05:14:49] ReqTimeStats(): entry_time=1787886846.030\n"
    assert stamps.ahead(line * 3) == 2 * 3600 * stamps.MICRO
    assert stamps.ahead(b"[2026-08-28 05:14:49] Prefill batch\n") is None
