"""Lines are decoded many at once only where each of them holds one whole value."""

import json

import pytest

GOOD = '{"request_id": "r-1", "received_at": "2026-02-03T04:05:06Z", "http_status": 200}'
OTHER = GOOD.replace("r-1", "r-2")


@pytest.mark.parametrize(
    ("lines", "ids", "unread"),
    [
        ([GOOD, f"{GOOD} {OTHER}"], ["r-1"], 2),
        ([GOOD, f"{GOOD}{OTHER}"], ["r-1"], 2),
        ([f'{{"a": 1}} {GOOD[:-1]}, "b": {{}}', f"{OTHER}"], ["r-2"], 1),
        (['{"request_id": "r-1", "x": [{}', '{}], "http_status": 200}'], [], 2),
        ([f'{{"a": {{"b": {GOOD}', f"{OTHER}}}"], [], 2),
        ([GOOD, f" {OTHER}"], ["r-1", "r-2"], 0),
        ([GOOD, f"{OTHER} "], ["r-1", "r-2"], 0),
        ([GOOD, "", OTHER], ["r-1", "r-2"], 0),
        ([GOOD, "{}", OTHER], ["r-1", "r-2"], 1),
        ([GOOD, f"{OTHER}\r"], ["r-1", "r-2"], 0),
    ],
    ids=range(10),
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_two_on_a_line_or_one_on_two_lines_are_unreadable(read, lines, ids, unread, end):
    seen = read("\n".join(lines) + end)
    assert (seen.column("request_id") if seen.rows.height else []) == ids
    assert len(seen.facts.unread) == unread


def test_many_whole_lines_are_read_with_their_numbers(read):
    rows = [json.loads(GOOD) | {"request_id": f"r-{n}"} for n in range(3_000)]
    seen = read("".join(json.dumps(row) + "\n" for row in rows))
    assert seen.rows.sort("line")["line"].to_list() == list(range(1, 3_001))
    assert seen.column("request_id") == [row["request_id"] for row in rows]
