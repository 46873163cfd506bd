"""Recipients and sources, wherever they are shown: each place fails where the two change places."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import forensics
from forensics import direction, tables
from forensics.cli import run
from forensics.evidence.explaintenant import explain_tenant
from forensics.evidence.reporttables import ReportTables
from forensics.exposure import Exposure
from forensics.notices.facts import told
from forensics.notices.finished import finished
from forensics.notices.pseudonyms import pseudonym
from forensics.notices.public import summary
from forensics.report import html, markdown, plates, theme
from forensics.report import tables as shown

TO = "reader"
LATER = "later"
"""Ran there afterwards: nobody under a fault that reads, the recipient under one that writes."""
FROM = [f"writer-{number:02}" for number in range(12)]
"""More of one than of the other, and on two sides of ten, as the public summary counts."""


@dataclass(frozen=True)
class Made:
    """Logs of a fault that reads: one tenant's response came late, over pages of all others."""

    logs: Path
    case: forensics.Case
    exposure: Exposure
    folder: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("lists")
    rows = [
        {"request_id": f"r{number}", "transfer_id": str(900 + number), "tenant_id": tenant}
        | {"received_at": f"2026-09-01T00:{number:02}:0{number % 7}.{number * 37 % 997:03}Z"}
        | {"decode_node": "d1/dp0"}
        | {"reserved_pages": 9, "transferred_pages": 1 if tenant == TO else 9}
        | {"completion_tokens": 4, "http_status": 200}
        | {"released_at": f"2026-09-01T00:{number:02}:3{number % 7}.{number * 59 % 997:03}Z"}
        for number, tenant in enumerate([*FROM, TO, LATER])
    ]
    logs = folder / "logs.ndjson"
    logs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    case = forensics.read_logs(logs)
    return Made(logs, case, case.exposure(), case.report(folder / "out").folder)


def test_the_document_and_its_sentence(made: Made) -> None:
    head = made.exposure.headline
    assert (head.recipients, head.sources) == (1, 12)
    assert [row.tenant_id for row in made.exposure.recipients] == [TO]
    assert sorted(str(row.tenant_id) for row in made.exposure.sources) == FROM
    giver, receiver = head.direction.split(" could appear in ")
    assert ("sources" in giver, "recipients" in receiver) == (True, True)


def test_the_tables(made: Made) -> None:
    of = dict.fromkeys(FROM, "source") | {TO: "recipient"}
    assert dict(tables.tenants(made.exposure).select("tenant_id", "population").rows()) == of
    notices = tables.notifications(made.exposure, made.case.requests.polars(), None)
    assert dict(notices.select("tenant_id", "population").rows()) == of
    forms = notices.select("tenant_id", "template_id").rows()
    assert all(form.startswith(of[name]) for name, form in forms)
    sent = notices.filter(notices["delivered"].is_not_null())
    assert sent.select("tenant_id", "delivered").rows() == [(TO, 1)]
    found = shown.build(made.exposure)
    assert TO in str(found["recipients"])
    assert TO not in str(found["sources"])
    assert FROM[0] in str(found["sources"])
    assert FROM[0] not in str(found["recipients"])


@pytest.mark.parametrize("mechanism", ["read", "write"])
def test_who_they_are_said_to_be(mechanism: str) -> None:
    met, shared = (theme.populations(mechanism)[name] for name in ("recipients", "sources"))
    if mechanism == "write":
        met, shared = shared, met
    assert "met the condition" in met.split(",")[0]
    assert "shared an engine" in shared.split(",")[0]


def test_the_page_and_its_plain_forms(made: Made) -> None:
    page = html.render(made.exposure).decode()
    first = page[: page.index('id="recipients-part"')]
    assert [int(n) for n in re.findall(r'class="big">(\d+)</span> <strong>(?:rec|sou)', first)] == [
        1,
        12,
    ]
    to = page[page.index('aria-labelledby="recipients-part"') :]
    to, source = to[: to.index('aria-labelledby="sources-part"')], to
    source = source[source.index('aria-labelledby="sources-part"') :]
    source = source[: source.index("</section>")]
    assert TO in to
    assert FROM[0] not in to
    assert FROM[0] in source
    for text in (markdown.render(made.exposure).decode(), repr(made.case)):
        assert re.search(r"\b1 recipient\\?:|recipients +1 tenant\b", text)
        assert re.search(r"\b12 sources\\?:|sources +12 tenants", text)
    drawn = plates.plates(made.exposure)
    assert TO in str(drawn["recipients-part"])
    assert FROM[0] not in str(drawn["recipients-part"])
    assert FROM[0] in str(drawn["sources-part"])


def test_the_first_names_on_the_page_are_recipients(made: Made) -> None:
    page = html.render(made.exposure).decode()
    first = page[page.index('<ol class="top">') :].split("</ol>", 1)[0]
    assert TO in first
    assert not any(name in first for name in FROM)


def test_where_the_direction_is_not_settled_data_goes_from_sources_all_the_same() -> None:
    said = direction.sentence("unknown")
    giver, receiver = said.split(" could appear in responses to ")
    assert ("sources" in giver, "recipients" in receiver.split(",")[0]) == (True, True)


def test_the_public_summary(made: Made) -> None:
    found = json.loads(summary(made.exposure)["public_summary.json"])
    assert found["recipients_total"]["tenants"] == "fewer than 10"
    assert found["sources"] == "10 to 99"


def _name(tenant: str) -> str:
    return pseudonym(b"k" * 32, "case", "tenants", tenant)


def test_the_packets(made: Made) -> None:
    facts = told(finished(made.folder), _name).facts
    assert dict(facts.select("account", "population").rows()) == (
        dict.fromkeys(FROM, "source") | {TO: "recipient"}
    )
    delivered = facts.filter(facts["delivered"].is_not_null())
    assert delivered["account"].to_list() == [TO]


def test_what_is_asked_of_one_report(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    report = ReportTables.of_case(made.case)
    received, gave = explain_tenant(report, TO), explain_tenant(report, FROM[0])
    assert (received.recipient is None, received.source is None) == (False, True)
    assert (gave.recipient is None, gave.source is None) == (True, False)
    run(["sources", str(made.logs), "--json", "-q"])
    assert {row["tenant_id"] for row in json.loads(capsys.readouterr().out)["tenants"]} == set(FROM)
    run(["scope", str(made.logs), "-q"])
    assert "to 1 tenant, among 14 requests" in " ".join(capsys.readouterr())
    asked = made.logs.with_name("write.toml")
    asked.write_text('[trigger]\nmechanism = "write"\n')
    run(["scope", str(made.logs), "-i", str(asked), "-q"])
    assert "to 1 tenant, among 14 requests" in " ".join(capsys.readouterr())
