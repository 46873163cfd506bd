"""What a replay cannot know of a rank: nobody is certain then, and everyone is possible."""

import json

import pytest

import forensics

DAY = "2026-09-01T"
POOL = {
    "node": "d1",
    "role": "decode",
    "effective_at": f"{DAY}00:00:00Z",
    "pool_tokens": 640,
    "page_tokens": 64,
    "engine": "sglang",
    "engine_version": "0.5.19",
    "disaggregated": True,
}


def hold(request_id: str, at: str, pages: int = 2, **more: object) -> dict[str, object]:
    """A request that held pages for a second from a minute of the day on, and wrote them all."""
    row = {
        "request_id": request_id,
        "tenant_id": f"of-{request_id}",
        "received_at": f"{DAY}{at}:00.512345Z",
        "reserved_at": f"{DAY}{at}:00.512345Z",
        "released_at": f"{DAY}{at}:01.512345Z",
        "decode_node": "d1",
        "decode_prompt_tokens": 64 * pages,
        "reserved_pages": pages,
        "transferred_pages": pages,
        "completion_tokens": 1,
        "http_status": 200,
    } | more
    return {name: value for name, value in row.items() if value is not None}


WRITERS = [hold(f"w{n}", f"01:0{n}") for n in range(5)]
READER = hold("x", "02:00", 8, transferred_pages=1)


@pytest.fixture
def read(tmp_path):
    """A case of plain records."""

    def of(*lines: dict[str, object]) -> forensics.Case:
        logs = tmp_path / "logs.ndjson"
        logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return forensics.read_logs(logs)

    return of


def reasons(case: forensics.Case) -> set[str]:
    (stay,) = case.analysis.attribution.stays
    return stay.reasons


def tiers(case: forensics.Case) -> dict[str, str]:
    """Tier by source tenant: the best that it has."""
    rows = case.sources.polars().select("source_tenant_id", "tier").sort("tier")
    return dict(rows.iter_rows())


@pytest.mark.parametrize("reader", ["d1/dp0", "d1"], ids=["of a source", "of a reader"])
def test_a_server_without_its_rank_may_be_any_of_its_ranks(read, reader):
    pools = [POOL | {"node": f"d1/dp{n}"} for n in range(2)]
    source = "d1" if reader != "d1" else "d1/dp0"
    rows = [hold("w", "01:00", 8, decode_node=source), READER | {"decode_node": reader}]
    case = read(*pools, *rows, hold("k", "01:30", decode_node="d2/dp0"))
    assert "records_lost" in reasons(case)
    assert tiers(case) == {"of-w": "possible"}
    assert {t.tenant_id: t.requests for t in case.exposure().sources} == {"of-w": 1}
