"""What reviewers attest: raised or lowered with a reason, codes alone, no contradiction."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.attestations.read import read
from forensics.cli import run
from forensics.errors import Exit, IncidentError
from forensics.evidence.verify import verify

HEAD = "request_id,verdict,basis,reviewer_role,reviewed_at,method"
SAID = "content-reviewed,incident-lead,2026-09-12T10:00:00Z,METHOD-7"
CANARY = "CANARY the customer wrote that"


def row(name: str, **values: Any) -> dict[str, Any]:
    return {
        "request_id": name,
        "tenant_id": "acme",
        "received_at": "2026-09-01T00:00:00Z",
        "reserved_pages": 9,
        "transferred_pages": 9,
        "completion_tokens": 4,
        "http_status": 200,
    } | values


ROWS = [row("whole"), row("short", transferred_pages=1), row("twice"), row("twice", tenant_id="b")]


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., forensics.Case]:
    def read_with(*lines: str, head: str = HEAD, records: list[dict[str, Any]] = ROWS) -> Any:
        logs = tmp_path / "logs"
        logs.mkdir(exist_ok=True)
        (logs / "case.ndjson").write_text("".join(json.dumps(r) + "\n" for r in records))
        (logs / "verdicts.csv").write_text("\n".join([head, *lines]) + "\n")
        (logs / "incident.toml").write_text('[case]\nverdicts = "verdicts.csv"\n')
        return forensics.read_logs(logs, incident=logs / "incident.toml")

    return read_with


def tiers(case: forensics.Case) -> dict[tuple[str, str], tuple[str, list[str]]]:
    rows = case.requests.polars().select("request_id", "tenant_id", "tier", "reasons")
    return {(r, t): (tier, reasons) for r, t, tier, reasons in rows.iter_rows()}


def test_it_raises_and_lowers_with_a_recorded_reason(judged) -> None:
    case = judged(f"whole,foreign,{SAID}", f"short,own,{SAID}")
    found = tiers(case)
    assert found["whole", "acme"] == ("confirmed", ["attested_foreign", "full_transfer"])
    assert found["short", "acme"] == ("ruled_out", ["attested_own", "short_transfer"])
    assert found["twice", "b"] == ("ruled_out", ["full_transfer"])
    said = case.exposure().reviews
    assert [(r.request_id, r.before, r.after, r.line) for r in said] == [
        ("short", "probable", "ruled_out", 3),
        ("whole", "ruled_out", "confirmed", 2),
    ]
    assert "short" in case.ruled_out.polars()["request_id"]


def test_what_is_attested_counts_as_delivered_where_a_log_holds_the_delivery(judged) -> None:
    case = judged(f"whole,foreign,{SAID}")
    confirmed = case.affected.polars().filter(tier="confirmed")
    assert confirmed["rung"].to_list() == ["delivered"]
    assert [t.delivered for t in case.exposure().headline.tiers if t.tier == "confirmed"] == [1]


def test_a_client_names_a_request_by_the_id_of_its_own_record(judged) -> None:
    gateway = row("chat-1") | {"hop": "gateway", "transfer_id": "17", "prompt_tokens": 9}
    engine = {"hop": "decode", "request_id": "eng-1", "transfer_id": "17", "decode_node": "d1"}
    times = {"received_at": gateway["received_at"], "decode_prompt_tokens": 9}
    for name in ("chat-1", "eng-1"):
        case = judged(f"{name},foreign,{SAID}", records=[gateway, engine | times])
        assert case.requests.polars()["tier"].to_list() == ["confirmed"]


def test_it_speaks_for_one_tenant_where_tenants_share_an_id(judged) -> None:
    case = judged(f"twice,foreign,{SAID},b", head=f"{HEAD},tenant_id")
    found = tiers(case)
    assert found["twice", "b"][0] == "confirmed"
    assert found["twice", "acme"][0] == "ruled_out"


def test_a_planted_marker_is_not_undone_by_a_look(judged) -> None:
    marker = {"marker": "a" * 16, "planted_request_id": "other", "planted_tenant": "canary"}
    marker |= {"seen_request_id": "whole", "seen_at": "2026-09-01T00:00:01Z"}
    case = judged(f"whole,own,{SAID}", records=[*ROWS, marker])
    tier, reasons = tiers(case)["whole", "acme"]
    assert tier == "confirmed"
    assert {"attested_own", "foreign_marker"} <= set(reasons)


def test_one_of_a_request_that_no_log_holds_is_counted_and_bounds(judged) -> None:
    plain, lost = judged(f"whole,own,{SAID}"), judged(f"gone,foreign,{SAID}")
    said = lost.exposure().headline
    assert any("attestation of requests that no log holds" in text for text in said.incomplete)
    assert said.bound.high == plain.exposure().headline.bound.high + 1


def tried(first: int | None, second: int | None) -> list[dict[str, Any]]:
    """One request that was handed over twice, each time short; tokens of each answer."""
    hop = {"hop": "decode", "decode_node": "d1", "transferred_pages": 1, "http_status": None}
    return [
        row("again", transfer_id=f"7{n}", **hop | {"completion_tokens": tokens})
        | {"received_at": f"2026-09-01T00:00:0{n}Z"}
        for n, tokens in enumerate((first, second))
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("verdict", "tokens", "found", "said"),
    [
        ("foreign", (0, 5), ["ruled_out", "confirmed"], None),
        ("foreign", (5, 5), ["probable", "confirmed"], "it confirms the last of each tenant"),
        ("foreign", (0, 0), ["ruled_out", "confirmed"], "it confirms the last of each tenant"),
        ("own", (0, 5), ["ruled_out", "ruled_out"], None),
        ("own", (5, 5), ["probable", "probable"], "it lowers none"),
    ],
)
def test_it_speaks_for_the_try_that_was_answered(
    judged, verdict: str, tokens: tuple[int, int], found: list[str], said: str | None
) -> None:
    case = judged(f"again,{verdict},{SAID}", records=tried(*tokens))
    rows = case.requests.polars().sort("attempt")
    assert rows["tier"].to_list() == found
    assert rows["reasons"].list.contains(f"attested_{verdict}").sum() == (said != "it lowers none")
    document = case.exposure()
    told = [text for text in document.headline.incomplete if "attestation" in text]
    assert [text.rpartition(": ")[2] for text in told] == ([said] if said else [])
    (review,) = document.reviews
    assert review.requests == 2


def test_without_a_tenant_it_clears_none_of_several(judged) -> None:
    records = [row("twice", transferred_pages=1), row("twice", tenant_id="b", transferred_pages=1)]
    case = judged(f"twice,own,{SAID}", records=records)
    assert [tier for tier, _ in tiers(case).values()] == ["probable", "probable"]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([f"whole,foreign,{SAID}", f"whole,own,{SAID}"], "lines 2 and 3 contradict"),
        ([f"whole,maybe,{SAID}"], ":2: verdict"),
        ([f"{CANARY},own,{SAID}"], ":2: request_id"),
        ([f"whole,own,{CANARY},lead,2026-09-12T10:00:00Z,M-7"], ":2: basis"),
        ([f"whole,own,replayed,{CANARY},2026-09-12T10:00:00Z,M-7"], ":2: reviewer_role"),
        ([f"whole,own,replayed,lead,2026-09-12T10:00:00Z,{CANARY}"], ":2: method"),
        *(
            ([f"whole,own,replayed,lead,2026-09-12T10:00:00Z,{text}"], ":2: method")
            for text in (
                *("CANARY-held-the-address-2", "CANARY/wrote:that#my.name1", "CANARY"),
                *("CANARYheldTheAddressOf1", "CANARY-4111111111111111"),
            )
        ),
        (["whole,own,replayed,canary-held-the-address,2026-09-12T10:00:00Z,M-1"], ":2: reviewer"),
        (["whole,own,replayed,lead,2026-09-12T10:00:00,M-7"], "no zone"),
        (["whole,own,replayed,lead,,M-7"], "reviewed_at is empty"),
        (["whole,own,replayed,lead"], "not as many cells"),
        (
            ["whole,own,replayed,lead,2099-01-01T00:00:00Z,M-7"],
            ":2: reviewed_at is no time up to",
        ),
        (
            ["whole,own,replayed,lead,1999-01-01T00:00:00Z,M-7"],
            ":2: reviewed_at is no time up to",
        ),
        (["whole,own,replayed,lead,1789207200,M-7"], ":2: reviewed_at is a number"),
        ([f"a,own,{SAID}", f"CANARY\u202etxt,own,{SAID}"], ":3: request_id holds"),
        ([f"CANARY\u200bx,own,{SAID}"], ":2: request_id holds"),
        (["sk-proj-abcdefghijklmnopqrstuvwxyz0123456789,own," + SAID], ":2: request_id holds"),
    ],
)
def test_what_is_no_code_is_refused_and_not_quoted(
    tmp_path: Path, lines: list[str], says: str
) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    with pytest.raises(IncidentError) as raised:
        read(path)
    assert says in str(raised.value)
    assert "CANARY" not in str(raised.value)
    assert "sk-proj" not in str(raised.value)


@pytest.mark.parametrize("method", ["M1", "wiki/review-42#3", "SOP-2026-09-12", "ir.review:v2.1"])
@pytest.mark.parametrize("role", ["lead", "data-protection-officer"])
def test_a_document_and_a_role_are_named_in_few_words(
    tmp_path: Path, method: str, role: str
) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text(f"{HEAD}\nwhole,own,replayed,{role},2026-09-12T10:00:00Z,{method}\n")
    assert [(row.method, row.reviewer_role) for row in read(path)] == [(method, role)]


@pytest.mark.parametrize("head", [f"{HEAD},note", HEAD.replace(",method", ""), f"{HEAD},method"])
def test_there_is_no_column_for_free_text(tmp_path: Path, head: str) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text(f"{head}\nwhole,own,{SAID},{CANARY}\n")
    with pytest.raises(IncidentError, match="no place for free text"):
        read(path)


def test_an_option_does_what_the_incident_file_does(judged, tmp_path: Path, capfd) -> None:
    judged(f"short,own,{SAID}")
    logs, out = tmp_path / "logs", tmp_path / "out"
    (logs / "verdicts.csv").rename(tmp_path / "said.csv")
    given = ["--verdicts", str(tmp_path / "said.csv")]
    assert run(["report", str(logs / "case.ndjson"), *given, "-o", str(out)]) == Exit.COMPLETE
    table = pl.read_parquet(out / "ruled_out.parquet")
    assert table.filter(pl.col("request_id") == "short")["tier"].to_list() == ["ruled_out"]
    record = json.loads((out / "manifest.json").read_bytes())
    assert record["verdicts_file"]["sha256"]
    assert record["incident"]["attestations"][0]["request_id"] == "short"
    assert verify(out).mismatches == []
    assert run(["rerun", str(out)]) == Exit.COMPLETE
    assert "CANARY" not in capfd.readouterr().out


def test_a_review_from_before_the_request_is_listed_and_decides_nothing(judged) -> None:
    before, after = (SAID.replace("2026-09-12T10", f"2026-{day}T10") for day in ("08-31", "09-01"))
    case = judged(f"whole,foreign,{before}", f"short,own,{before}")
    found = tiers(case)
    assert (found["whole", "acme"][0], found["short", "acme"][0]) == ("ruled_out", "probable")
    said = case.exposure().headline.incomplete
    assert any(s.startswith("2 attestations from before the request came") for s in said)
    assert [(r.before, r.after) for r in case.exposure().reviews] == [
        ("probable", "probable"),
        ("ruled_out", "ruled_out"),
    ]
    case = judged(f"whole,foreign,{after}")
    assert tiers(case)["whole", "acme"][0] == "confirmed"
    assert not any("before the request" in s for s in case.exposure().headline.incomplete)


def test_columns_without_an_attestation_are_refused(tmp_path: Path) -> None:
    (tmp_path / "verdicts.csv").write_text(HEAD + "\n\n")
    with pytest.raises(IncidentError, match="no attestation in it"):
        read(tmp_path / "verdicts.csv")
