"""A record without a count is none that is missing: what to look for is another thing."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.checking.checked import check_logs

Row = dict[str, Any]
BEGIN = datetime.fromisoformat("2026-08-28T03:00:00+00:00")
POOL = {"node": "p1", "role": "prefill", "engine": "sglang", "disaggregated": True}
POOL |= {"pool_tokens": 681_280, "page_tokens": 64, "effective_at": "2026-08-28T00:00:00Z"}
BARE, LOST, OVER = 4, 2, 700_000


def rows(bare: int = BARE, lost: int = LOST, tokens: int = OVER) -> list[Row]:
    """Thirty hand-offs; prefill's record of some counts nothing, and of some there is none."""
    found: list[Row] = [POOL]
    for number in range(30):
        at = (BEGIN + timedelta(minutes=number)).isoformat()
        told = {"received_at": at, "request_id": f"r{number}", "transfer_id": f"77{number:04}"}
        undecided = 5 <= number < 5 + bare + lost
        of_prompt = tokens if undecided else 900
        decode = told | {"hop": "decode", "decode_node": "d1", "decode_prompt_tokens": of_prompt}
        found.append(decode | {"completion_tokens": 5, "http_status": 200})
        counted = {} if undecided else {"prefill_prompt_tokens": 900}
        if not 5 <= number < 5 + lost:
            found.append(told | counted | {"hop": "prefill", "prefill_node": "p1"})
    return found


def written(folder: Path, found: list[Row]) -> Path:
    folder.mkdir()
    for hop in ("prefill", "decode"):
        own = [row for row in found if row.get("hop", "prefill") == hop]
        text = "".join(json.dumps(row) + "\n" for row in own)
        (folder / f"{hop}.ndjson").write_text(text)
    return folder


def said(folder: Path) -> dict[str, str]:
    gaps = check_logs(folder, today=date(2026, 9, 1)).gaps
    return {gap.code: gap.sentence for gap in gaps if gap.code.split("_")[1] == "prefill"}


def test_a_check_tells_records_that_are_not_there_from_those_that_count_nothing(
    tmp_path: Path,
) -> None:
    found = said(written(tmp_path / "both", rows()))
    assert found["unpaired_prefill"].startswith(
        f"{LOST} requests of decode without a record of prefill,"
    )
    assert found["uncounted_prefill"].startswith(f"{BARE} requests whose record of prefill counts")
    assert set(said(written(tmp_path / "bare", rows(lost=0)))) == {"uncounted_prefill"}
    assert set(said(written(tmp_path / "lost", rows(bare=0)))) == {"unpaired_prefill"}


@pytest.mark.parametrize("minutes", [0, 60])
def test_records_of_prefill_that_are_not_there_are_named_whatever_was_decided(
    tmp_path: Path, minutes: int
) -> None:
    """Within the time of prefill's log and after its end, of requests that their length clears."""
    lost = 12
    found = rows(bare=0, lost=lost, tokens=900)
    for row in found:
        if minutes and row.get("prefill_prompt_tokens") is None and "request_id" in row:
            at = datetime.fromisoformat(row["received_at"]) + timedelta(minutes=minutes)
            row |= {"received_at": at.isoformat()} if _alone(row, found) else {}
    check = check_logs(written(tmp_path / "logs", found), today=date(2026, 9, 1))
    gap = next(gap for gap in check.gaps if gap.code == "unpaired_prefill")
    assert gap.sentence.startswith(f"{lost} requests of decode without a record of prefill,")
    first = check.advice[0]
    assert (first.need, first.settles + first.confirms) == ("prefill side", lost)


def _alone(row: Row, found: list[Row]) -> bool:
    return sum(other.get("request_id") == row["request_id"] for other in found) == 1


def test_the_bound_says_what_records_of_prefill_that_were_given_do_not_count(
    tmp_path: Path,
) -> None:
    case = forensics.read_logs(written(tmp_path / "logs", rows(lost=0, tokens=600_000)))
    sentence = case.exposure().headline.bound.sentence
    assert (
        f"the limit at its word for {BARE} below it of which no record of prefill with a count"
        in (sentence)
    )
    assert "no record of prefill was given" not in sentence
