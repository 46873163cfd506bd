"""From a tenant to its requests, to one request over its hops; nothing of a name is markup."""

import re

import pytest

from forensics import explore
from forensics.errors import UsageError
from tests.explore.conftest import HOSTILE


def test_a_request_has_a_row_for_each_hop_and_a_mark_for_each_time(case):
    figure = explore.request(case, "r-1").timeline.figure
    spans, *marks = figure.data
    assert list(figure.layout.yaxis.categoryarray) == ["gateway", "prefill", "decode"]
    at = {mark.name: list(zip(mark.y, mark.x, strict=True)) for mark in marks}
    day = "2026-08-27T10:00:0"
    assert at == {
        "received": [("gateway", f"{day}0.000100Z"), ("prefill", f"{day}0.200000Z")],
        "pages taken": [("decode", f"{day}0.300000Z")],
        "pages given back": [("decode", f"{day}5.400000Z")],
        "finished": [("gateway", f"{day}5.500000Z")],
    }
    assert list(spans.x[:2]) == [f"{day}0.000100Z", f"{day}5.500000Z"]


def test_the_card_says_what_decided_and_where_each_value_was_read(case):
    card = explore.request(case, "r-1").explained._repr_html_()
    for text in ("r-1", "direct evidence", "placeholder_prefill", "does not prove", ".ndjson:"):
        assert text in card
    assert "<img" not in card
    assert "⟨U+202E⟩" in card
    assert "\u202e" not in card


def test_times_of_a_card_are_told_in_utc_as_those_of_tables_are(case):
    request, tenant = explore.request(case, "r-1").explained, explore.tenant(case, "tenant-b")
    for made in (request._repr_html_(), tenant._repr_html_().split("2 of 2 rows")[0]):
        text = re.sub(r"<[^>]*>", "", made)
        assert re.search(r"2026-08-2\d 10:00:00\.000100 UTC", text)
        assert re.findall(r"\dT\d\d:|\dZ\b", text) == []


def test_a_tenant_has_its_own_requests_alone(case):
    found = explore.tenant(case, "tenant-b")
    assert found.requests["request_id"].to_list() == ["r-2"]
    assert explore.tenant(case, None).requests["request_id"].to_list() == ["r-4"]
    hostile = explore.tenant(case, HOSTILE)
    assert hostile.requests["request_id"].to_list() == ["r-1"]
    assert "<img" not in hostile._repr_html_()
    assert "\u202e" not in repr(hostile)


def test_who_is_not_in_the_case_is_refused(case):
    with pytest.raises(UsageError, match="not in this report's tables"):
        explore.tenant(case, "tenant-zzz")
    with pytest.raises(UsageError, match="not in this report's tables"):
        explore.request(case, "r-zzz")


def test_walking_from_tenant_to_request(case):
    walk = explore.walk(case)
    for tenant, request in (("tenant-b", "r-2"), (None, "r-4"), (HOSTILE, "r-1")):
        walk.tenant.value = tenant
        assert [value for _, value in walk.request.options] == [request]
        assert walk.lines == [
            f"explore.tenant(case, {tenant!r})",
            f"explore.request(case, {request!r})",
        ]
        shown = walk._one.outputs[0]["data"]["text/html"]
        assert f"request {request}, attempt 0" in shown
        assert "<img" not in walk._about.outputs[0]["data"]["text/html"] + shown
    made = walk._repr_mimebundle_()
    assert "<img" not in made["text/html"]
    assert "r-1" in made["text/plain"]
