"""OTLP/JSON: numbers exact, ids as text, and no value decoded that was not asked for."""

import json

import pytest

from forensics.sources.otlp import NotSpansError, spans


def document(*raw: object) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(raw)}]}]}).encode()


def one(**fields: object):
    (span,) = spans(document({"traceId": "t", "spanId": "s"} | fields), {"a", "b"})
    assert span is not None
    return span


def attributes(**values: object):
    return one(attributes=[{"key": k, "value": v} for k, v in values.items()]).attributes


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"stringValue": "x"}, "x"),
        ({"stringValue": ""}, ""),
        ({"intValue": str(2**63 - 1)}, 2**63 - 1),
        ({"intValue": 2**53 + 1}, 2**53 + 1),
        ({"intValue": "-7"}, -7),
        ({"intValue": 7.0}, 7),
        ({"doubleValue": 0.5}, 0.5),
        ({"boolValue": False}, False),
    ],
)
def test_plain_values(value, read):
    assert attributes(a=value) == {"a": read}


@pytest.mark.parametrize(
    "value",
    [
        {"arrayValue": {"values": []}},
        {"arrayValue": {"values": [{"intValue": 5}]}},
        {"kvlistValue": {}},
        {},
        None,
        {"intValue": "1_0"},
        {"intValue": 2.0**53},
        {"doubleValue": "NaN"},
    ],
)
def test_values_that_are_not_plain(value):
    assert attributes(a=value) == {}


def test_the_first_text_of_a_list_stands_for_it():
    texts = [{"stringValue": "x"}, {"stringValue": "CANARY"}]
    assert attributes(a={"arrayValue": {"values": texts}}) == {"a": "x"}


@pytest.mark.parametrize("value", [5, "CANARY", {"stringValue": 5}, {"intValue": [1]}])
def test_a_value_in_no_known_form_takes_no_other_with_it(value):
    span = one(
        attributes=[{"key": "a", "value": value}, {"key": "b", "value": {"stringValue": "x"}}]
    )
    assert span.text("b") == "x"
    assert span.text("a") is span.whole("a") is span.measure("a") is None


def test_process_scope_and_status():
    resource = {"attributes": [{"key": "r", "value": {"stringValue": "pod"}}]}
    scope = {"scope": {"name": "tracer"}, "spans": [{"traceId": "t", "spanId": "s"}]}
    scope["spans"][0]["status"] = {"code": 2, "message": "CANARY"}
    data = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})
    (span,) = spans(data.encode(), set(), {"r"})
    assert (span.resource, span.scope, span.failed) == ({"r": "pod"}, "tracer", True)
    assert "CANARY" not in repr(span)


def test_only_what_was_asked_for_is_there():
    found = attributes(a={"stringValue": "x"}, c={"stringValue": "CANARY"})
    assert found == {"a": "x"}


def test_a_whole_number_is_one_and_a_text_a_text():
    span = one(attributes=[{"key": "a", "value": {"boolValue": True}}])
    assert span.whole("a") is span.text("a") is span.whole("b") is None


@pytest.mark.parametrize(
    ("nanos", "micros"),
    [
        ("1770091680123456789", 1_770_091_680_123_456),
        (1770091680123456789, 1_770_091_680_123_456),
        ("0", None),
        ("soon", None),
        (None, None),
    ],
)
def test_times_are_microseconds(nanos, micros):
    assert one(startTimeUnixNano=nanos).start == micros


def test_a_span_that_cannot_be_read_is_none():
    found = list(spans(document({"traceId": "t", "spanId": "s"}, "CANARY", {"spanId": 5}), set()))
    assert [span is None for span in found] == [False, True, True]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"CANARY",
        b"[]",
        b'{"resourceLogs": []}',
        b'{"resourceSpans": {}}',
        b"{\xff}",
        b'{"resourceSpans": ' + b"[" * 5000,
    ],
)
def test_other_documents_are_refused_without_a_word_of_theirs(data):
    with pytest.raises(NotSpansError) as caught:
        list(spans(data, set()))
    assert "CANARY" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(("again", "read"), [("7", 7), (7.0, 7), ("8", False), (None, False)])
def test_an_attribute_that_is_there_twice_is_no_value_unless_both_are_equal(again, read):
    values = [{"intValue": "7"}, {"intValue": again}]
    found = one(attributes=[{"key": "a", "value": value} for value in values])
    assert found.attributes == {"a": read}
    assert found.whole("a") == (read or None)
