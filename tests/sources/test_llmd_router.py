"""llm-d's router: arrivals, models and refusals, from JSON lines among others."""

import json
from typing import Any

import pytest


def line(message: str = "EPP received request", ts: Any = 1770120000.25, **fields: Any) -> str:
    dashed = {
        key.replace("_", "-") if key == "x_request_id" else key: of for key, of in fields.items()
    }
    return json.dumps({"level": "info", "ts": ts, "caller": "a/b.go:1", "msg": message} | dashed)


@pytest.fixture
def row(read):
    def run(text: str, **incident: Any) -> dict[str, Any]:
        (found,) = read(f"{text}\n", "epp.log", form="llmd-router", **incident).rows.to_dicts()
        return found

    return run


@pytest.mark.parametrize(
    ("ts", "micros", "naive"),
    [
        (1770120000.25, 1_770_120_000_250_000, False),
        (1770120000, 1_770_120_000_000_000, False),
        ("2026-02-03T12:00:00.25Z", 1_770_120_000_250_000, False),
        ("2026-02-03T13:00:00.25+01:00", 1_770_120_000_250_000, False),
        ("soon", None, False),
    ],
)
def test_both_kinds_of_times(row, ts, micros, naive):
    found = row(line(ts=ts, x_request_id="a-1"))
    assert (found["received_at"], found["naive"]) == (micros, naive)


@pytest.mark.parametrize("key", ["x_request_id", "requestID", "reqID"])
def test_an_id_under_each_of_its_names(row, key):
    assert row(line(**{key: "a-1"}))["request_id"] == "a-1"


def test_what_was_handled_names_model_and_first_endpoint(row):
    found = row(
        line(
            "Request handled",
            x_request_id="a-1",
            objectiveKey="gold",
            incomingModelName="m-70b",
            targetModel="m-70b-v2",
            endpoint="10.9.4.2:8000,10.9.4.3:8000",
        )
    )
    assert (found["model"], found["decode_node"]) == ("m-70b", "10.9.4.2:8000")
    assert found["tenant_id"] is None


@pytest.mark.parametrize(
    ("fields", "rejected", "code", "status"),
    [
        ({"message": "Request evicted by flow control"}, True, "capacity", None),
        ({"message": "Flow control outcome", "outcome": "Dispatched"}, None, None, None),
        (
            {"message": "Flow control outcome", "outcome": "RejectedCapacity"},
            True,
            "capacity",
            None,
        ),
        ({"message": "Flow control outcome", "outcome": "EvictedTTL"}, True, "timeout", None),
        (
            {"message": "Flow control outcome", "outcome": "EvictedContextCancelled"},
            *(True, "aborted", None),
        ),
        (
            {
                "message": "Failed to process request",
                "error": "inference error: ResourceExhausted - CANARY",
            },
            *(True, "capacity", 429),
        ),
        (
            {"message": "Failed to process request", "error": "ServiceUnavailable - CANARY"},
            *(True, "capacity", 503),
        ),
        ({"message": "Failed to process request", "error": "CANARY Busy"}, None, None, None),
    ],
)
def test_refusals(read, fields, rejected, code, status):
    seen = read(f"{line(reqID='a-1', **fields)}\n", "epp.log", form="llmd-router")
    (found,) = seen.rows.to_dicts()
    assert (found["rejected"], found["rejection_code"]) == (rejected, code)
    assert found["http_status"] == status
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()


@pytest.mark.parametrize(
    ("fields", "stated", "tenant"),
    [
        ({"flowKey": {"ID": "team-a", "Priority": 0}}, (), "team-a"),
        ({"fairnessID": "team-b"}, (), "team-b"),
        ({"flowKey": {"ID": "team-a"}, "org": "team-c"}, ("org",), "team-c"),
        ({"flowKey": {"ID": "team-a"}}, ("flowKey.ID",), "team-a"),
    ],
)
def test_the_flow_is_the_tenant(row, fields, stated, tenant):
    assert row(line(reqID="a-1", **fields), logs={"tenant_from": stated})["tenant_id"] == tenant


def test_other_lines_are_counted_and_bodies_are_not_read(read):
    lines = [
        line(x_request_id="a-1"),
        line("Prefill request", body={"prompt": "CANARY"}, request_id="a-1"),
        "2026-02-03T12:00:00Z\tINFO\tsetup\tCANARY",
        "",
        line()[:-1],
    ]
    seen = read("\n".join(lines), "epp.log")
    assert seen.facts.format == "llmd-router"
    assert seen.facts.ignored == {"other line": 2, "blank line": 1}
    assert seen.reasons == {"truncated JSON": 1}
    assert [unread.line for unread in seen.facts.unread] == [5]


@pytest.mark.parametrize(("scope", "named"), [([], "alias"), (["served"], "served")])
def test_of_several_names_of_a_model_the_one_that_the_case_is_about(row, scope, named):
    names = {"incomingModelName": "alias", "targetModel": "served"}
    found = row(line("Request handled", x_request_id="a-1", **names), scope={"models": scope})
    assert found["model"] == named
