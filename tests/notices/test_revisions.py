"""Two summaries side by side: no number of either tells of a few that came or went between."""

import json

import msgspec
import pytest

from forensics.errors import UsageError
from forensics.evidence.seal import seal
from forensics.exposure import Exposure, decode
from forensics.manifest import made_by
from forensics.notices.public import now_published, summary
from forensics.notices.published import NEVER, Published, published
from forensics.notices.suppression import K


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


def test_one_request_more_of_the_same_tenants_is_not_told(with_recipients):
    before = now_published(with_recipients({"probable": 12}), NEVER)
    found = told(with_recipients({"probable": 12}, more=1), before)
    assert found["recipients_total"] == {"tenants": 12, "requests": None}
    assert not [cell for cell in found["recipients"] if cell["requests"] is not None]
    assert found["bound"] is None
    many = told(with_recipients({"probable": 12}, more=K), before)
    assert many["recipients_total"]["requests"] == 24 + K
    assert many["bound"] == {"low": 50 + K, "high": 60 + K}


def test_what_was_once_shown_stays_what_a_third_revision_is_held_against(with_recipients):
    first = now_published(with_recipients({"probable": 12}, unknown=20), NEVER)
    second = now_published(with_recipients({"probable": 12}, more=1, unknown=21), first)
    assert [second.of(name) for name in ("total", "all_requests", "unknown", "low", "high")] == [
        *([12, 12], [24], [20], [50], [60])
    ]
    many = now_published(with_recipients({"probable": 40}, unknown=50), second)
    back = told(with_recipients({"probable": 13}, unknown=51), many)
    assert back["recipients_total"] == {"tenants": None, "requests": None}


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


def test_a_later_revision_says_which_it_was_not_compared_with(with_recipients):
    def said(revision: int, before: Published) -> bytes:
        document = with_recipients({"probable": 12}, revision=revision)
        return summary(document, before)["public_summary.md"]

    first = now_published(with_recipients({"probable": 12}), NEVER)
    second = now_published(with_recipients({"probable": 12}, revision=2), NEVER)
    assert b"published of revision 1, 2:" in said(3, NEVER)
    assert b"published of revision 1:" in said(3, second)
    assert b"was not compared" not in said(1, NEVER) + said(2, first)


def test_no_revision_between_may_be_left_out(with_recipients, tmp_path):
    first = with_recipients({"probable": 12})
    record = {"kind": "notices", **made_by(), "case_id": first.case.id, "revision": 1}
    shown = msgspec.to_builtins(now_published(first, NEVER))
    seal(tmp_path, {**record, "inputs": [], "published": shown})
    known = published(tmp_path, with_recipients({"probable": 12}, revision=2))
    assert [one.revision for one in known.summaries] == [1]
    with pytest.raises(UsageError, match="revision 2 showed has to be known"):
        published(tmp_path, with_recipients({"probable": 12}, revision=3))
