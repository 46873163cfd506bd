"""The public summary: no small cell, and none that can be computed from what is shown."""

import json

import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.notices.public import band


def test_bands():
    assert [band(n) for n in (0, 1, 9, 10, 99, 100, 12_000)] == [
        *("none", "fewer than 10", "fewer than 10", "10 to 99", "10 to 99"),
        *("100 to 999", "10,000 to 99,999"),
    ]


def test_three_tenants_are_told_as_fewer_than_ten(report, tmp_path):
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    found = json.loads((tmp_path / "notices" / "public_summary.json").read_bytes())
    assert [cell["tenants"] for cell in found["recipients"]] == [0, None, 0, 0]
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


def write_again(report_of, tmp_path, number: int, *more: str):
    report = report_of([f"acct-{n:06d}" for n in range(number)])
    out = tmp_path / f"notices-{number}-{len(more)}"
    key = ["--key", str(tmp_path / "key")]
    code = run(["notify", str(report), "-o", str(out), *key, *more])
    assert code == 0, more
    return out, json.loads((out / "public_summary.json").read_bytes())


@pytest.mark.long
def test_a_few_more_than_last_time_cannot_be_told_from_the_difference(report_of, tmp_path):
    first, shown = write_again(report_of, tmp_path, 12)
    assert shown["recipients_total"]["tenants"] == 12
    _, fresh = write_again(report_of, tmp_path, 14)
    assert fresh["recipients_total"]["tenants"] == 14
    second, held = write_again(report_of, tmp_path, 14, "--previous", str(first))
    assert held["recipients_total"] == {"tenants": None, "requests": None}
    assert not [cell for cell in held["recipients"] if cell["tenants"] == 14]
    assert held["bound"] is None
    # What was last shown is still twelve: that the second hid it does not set thirteen free.
    _, third = write_again(report_of, tmp_path, 15, "--previous", str(second))
    assert third["recipients_total"]["tenants"] is None
    _, many = write_again(report_of, tmp_path, 25, "--previous", str(second))
    assert many["recipients_total"]["tenants"] == 25


def test_the_revision_before_has_to_be_of_the_case_and_whole(report_of, tmp_path):
    first, _ = write_again(report_of, tmp_path, 12)
    report = report_of(["acct-000001"], case="C-2")
    again = ["notify", str(report), "-o", str(tmp_path / "n"), "--previous", str(first)]
    assert run(again) == Exit.USAGE
    report_of(["acct-000001"])
    manifest = json.loads((first / "manifest.json").read_bytes())
    assert manifest["revision"] == 1
    (first / "public_summary.json").write_text("{}")
    assert run(again) == Exit.MISMATCH
