"""Two summaries side by side: no number of either tells of a few that came or went between."""

import json

import msgspec
import pytest

from forensics.exposure import Exposure, decode
from forensics.notices.public import K, hidden, now_published, summary
from forensics.notices.published import NEVER, Published


@pytest.fixture(scope="module")
def small(three) -> Exposure:
    return decode((three / "out" / "report.json").read_bytes())


@pytest.fixture
def with_recipients(small):
    """A document with some recipients of one tier each, and requests without a tenant."""
    row = small.recipients[0]

    def document(
        tiers: dict[str, int], more: int = 0, unknown: int = 0, revision: int = 1
    ) -> Exposure:
        rows = [
            msgspec.structs.replace(row, tenant_id=f"a-{at}-{tier}", tier=tier, requests=2)
            for tier, number in tiers.items()
            for at in range(number)
        ]
        rows[0] = msgspec.structs.replace(rows[0], requests=2 + more)
        if unknown:
            rows.append(msgspec.structs.replace(row, tenant_id=None, requests=unknown))
        bound = msgspec.structs.replace(small.headline.bound, low=50 + more, high=60 + more)
        return msgspec.structs.replace(
            small,
            recipients=rows,
            case=msgspec.structs.replace(small.case, revision=revision),
            headline=msgspec.structs.replace(small.headline, bound=bound),
        )

    return document


def told(document: Exposure, before: Published = NEVER) -> dict:
    return json.loads(summary(document, before)["public_summary.json"])


def shown(document: Exposure, before: Published = NEVER) -> list[int | None]:
    return [cell["tenants"] for cell in told(document, before)["recipients"]]


def test_a_total_is_not_the_sum_of_what_is_shown_beside_it(with_recipients):
    before = now_published(with_recipients({"not_assessable": 10}), NEVER)
    now = with_recipients({"probable": 11})
    assert told(now, before)["recipients_total"]["tenants"] is None
    assert shown(now, before)[1] is None


def test_a_total_that_moved_though_no_cell_did_hides_a_cell():
    before = Published({"a": 12, "b": 20}, total=30)
    away, total = hidden({"a": 12, "b": 20}, before=before)
    assert away
    assert not total


def test_one_request_more_of_the_same_tenants_is_not_told(with_recipients):
    before = now_published(with_recipients({"probable": 12}), NEVER)
    found = told(with_recipients({"probable": 12}, more=1), before)
    assert found["recipients_total"] == {"tenants": 12, "requests": None}
    assert not [cell for cell in found["recipients"] if cell["requests"] is not None]
    assert found["bound"] is None
    many = told(with_recipients({"probable": 12}, more=K), before)
    assert many["recipients_total"]["requests"] == 24 + K
    assert many["bound"] == {"low": 50 + K, "high": 60 + K}


def test_what_was_last_shown_stays_what_a_third_revision_is_held_against(with_recipients):
    first = now_published(with_recipients({"probable": 12}, unknown=20), NEVER)
    second = now_published(with_recipients({"probable": 12}, more=1, unknown=21), first)
    assert second == first
    assert (first.all_requests, first.unknown, first.low, first.high) == (24, 20, 50, 60)


@pytest.mark.parametrize(("number", "text"), [(0, 0), (5, "fewer than 10"), (12, 12)])
def test_requests_without_a_tenant_are_told_of(number, text, with_recipients):
    document = with_recipients({"probable": 12}, unknown=number)
    found = told(document)
    assert found["requests_without_tenant"] == text
    assert (found["bound"] is None) == (number == 5)
    page = summary(document)["public_summary.md"].decode()
    assert f"name no customer, and are in no row above: {text}." in page


def test_few_more_requests_without_a_tenant_are_not_told(with_recipients):
    before = now_published(with_recipients({"probable": 12}, unknown=20), NEVER)
    found = told(with_recipients({"probable": 12}, unknown=21), before)
    assert found["requests_without_tenant"] is None
    assert found["bound"] is None


def test_a_later_revision_says_where_it_was_compared_with_none(with_recipients):
    def said(revision: int, before: Published) -> bool:
        document = with_recipients({"probable": 12}, revision=revision)
        return b"was not compared" in summary(document, before)["public_summary.md"]

    assert said(2, NEVER)
    assert not said(1, NEVER)
    assert not said(2, Published())
