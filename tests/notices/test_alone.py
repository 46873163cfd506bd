"""A log of one tenant: what is said of others, whom it does not show."""

import json
import re
from pathlib import Path

from forensics.cli import run

ROW = {
    "hop": "decode", "decode_node": "d1", "http_status": 200, "completion_tokens": 5,
    "reserved_pages": 8,
}  # fmt: skip


def told(tmp_path: Path, *tenants: str) -> tuple[str, str]:
    """Return the first screen of a report, as words, and the notice of the last tenant."""
    log, out, notices = (tmp_path / name for name in ("log.ndjson", "out", "notices"))
    rows = [
        ROW | {"request_id": f"r{at}", "tenant_id": tenant, "transferred_pages": 1 if at else 8,
               "received_at": f"2026-09-01T10:0{at}:00Z", "released_at": f"2026-09-01T10:0{at}:30Z"}
        for at, tenant in enumerate(tenants)
    ]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(["report", str(log), "-o", str(out)])
    run(["notify", str(out), "-o", str(notices)])
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", (out / "report.html").read_text()))
    (letter,) = [
        text
        for path in notices.glob("packets/*-recipient/notice.md")
        if "responses to your account" in (text := path.read_text())
    ]
    return page[page.index("Which tenants") :], letter


def test_a_tenant_alone_in_the_logs_is_not_told_of_others_as_if_they_were_seen(tmp_path):
    page, letter = told(tmp_path, "only", "only")
    assert "1 recipient tenants" in page
    assert "0 sources" in page
    assert "1 more is listed as a source of its own responses alone" in page
    assert "of whom the records show none on the servers concerned" in letter


def test_with_others_there_the_notice_names_them_as_before(tmp_path):
    page, letter = told(tmp_path, "one", "other")
    assert "1 source tenants" in page
    assert "Data of other customers could appear" in letter
