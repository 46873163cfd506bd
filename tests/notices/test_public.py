"""The public summary: no small cell, and none that can be computed from what is shown."""

import json

from hypothesis import given
from hypothesis import strategies as st

from forensics.cli import run
from forensics.notices.public import K, band, hidden

NAMES = ("confirmed", "probable", "possible", "not_assessable")


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_a_small_cell_cannot_be_computed(numbers):
    cells = dict(zip(NAMES, numbers, strict=True))
    away, total = hidden(cells)
    assert not [n for n in cells if n not in away and 0 < cells[n] < K]
    rest = sum(cells[name] for name in away)
    if away and total:
        assert len(away) > 1
        assert rest >= K
    if not total:
        assert away == set(NAMES)
        assert rest < K or sum(bool(cells[n]) for n in away) < len(NAMES)


def test_nothing_small_is_hidden_from_view_in_vain():
    assert hidden({"a": 10, "b": 0, "c": 30}) == (frozenset(), True)
    assert hidden({"a": 3, "b": 20, "c": 30}) == (frozenset({"a", "b"}), True)
    assert hidden({"a": 3, "b": 4, "c": 30}) == (frozenset({"a", "b", "c"}), True)
    assert hidden({"a": 3, "b": 0, "c": 0})[1] is False


def test_bands():
    assert [band(n) for n in (0, 1, 9, 10, 99, 100, 12_000)] == [
        *("none", "fewer than 10", "fewer than 10", "10 to 99", "10 to 99"),
        *("100 to 999", "10,000 to 99,999"),
    ]


def test_three_tenants_are_told_as_fewer_than_ten(report, tmp_path):
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    found = json.loads((tmp_path / "notices" / "public_summary.json").read_bytes())
    assert not any(cell["shown"] for cell in found["recipients"])
    assert found["recipients_total"] == {"tenants": "fewer than 10", "requests": None}
    assert found["bound"] is None
    page = (tmp_path / "notices" / "public_summary.md").read_text()
    assert "| all | fewer than 10 | not shown |" in page
    assert "| 3 |" not in page


def test_a_dozen_tenants_are_counted(report_of, tmp_path):
    report = report_of([f"acct-{n:06d}" for n in range(12)])
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    found = json.loads((tmp_path / "notices" / "public_summary.json").read_bytes())
    assert found["recipients_total"] == {"tenants": 12, "requests": 24}
    assert found["sources"] == "10 to 99"
