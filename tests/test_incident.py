"""incident.toml: what is taken, and what is refused with which hint."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import forensics
from forensics.cli import run
from forensics.errors import IncidentError


def load(tmp_path: Path, text: str) -> forensics.Incident:
    path = tmp_path / "incident.toml"
    path.write_text(text)
    return forensics.load_incident(path)


def test_a_full_file_is_read(tmp_path: Path) -> None:
    incident = load(
        tmp_path,
        """
        [case]
        id = "INC-1"
        [scope]
        models = ["glm-5.3"]
        window = ["2026-08-27T00:00:00Z", "2026-09-10T02:00:00+02:00"]
        [trigger]
        mechanism = "read"
        threshold_tokens = 681280
        [timeline]
        detected = 2026-09-09T12:00:00Z
        [logs]
        timezone = "Europe/Berlin"
        sampling_rate = 0.1
        [columns]
        reqId = "request_id"
        [[capacity]]
        node = "prefill-*"
        pool_tokens = 681280
        [[pool]]
        name = "match slots"
        damage = 5
        """,
    )
    assert incident.window_us == (
        int(datetime(2026, 8, 27, tzinfo=UTC).timestamp() * 1_000_000),
        int(datetime(2026, 9, 10, tzinfo=UTC).timestamp() * 1_000_000),
    )
    assert incident.trigger.threshold_tokens == 681_280
    assert incident.capacity[0].role == "prefill"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[trigger]\nthreshold_token = 1", "did you mean 'threshold_tokens'"),
        ("[triger]\n", "did you mean 'trigger'"),
        ('profiles = ["a.toml"]', r"unknown key 'profiles'; it belongs under \[logs\]"),
        ("[[capacity]]\npool_token = 1", "did you mean 'pool_tokens'"),
        ("[trigger]\nthreshold_tokens = -1", "threshold_tokens"),
        ('[trigger]\nthreshold_tokens = "many"', "threshold_tokens"),
        ('[trigger]\nmechanism = "both"', "mechanism"),
        ('[scope]\nwindow = ["2026-08-27T00:00:00", "2026-09-10T00:00:00"]', "has no zone"),
        ('[scope]\nwindow = ["2026-09-10T00:00:00Z", "2026-08-27T00:00:00Z"]', "half-open"),
        ('[scope]\nwindow = ["2026-09-10T00:00:00Z"]', "window"),
        ('[logs]\ntimezone = "Mars/Olympus"', "no known zone"),
        ("[logs]\nsampling_rate = 0.0", "sampling_rate"),
        ("[logs]\nsampling_rate = 1.5", "sampling_rate"),
        ('[logs]\nnode_from = "("', "no valid pattern"),
        ('[logs]\nnode_from = "x"', "no group named 'node'"),
        ('[columns]\nreqId = "request_idd"', "did you mean 'request_id'"),
        ('[columns]\na = "request_id"\nb = "request_id"', "two names"),
        ("[case\n", "not valid TOML"),
        ("[timeline]\nfixed = 2026-09-09T12:00:00", "has no zone"),
    ],
)
def test_what_cannot_be_right_is_refused_with_a_hint(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(IncidentError, match=hint.replace("(", r"\(")):
        load(tmp_path, text)
    log = tmp_path / "a.ndjson"
    log.write_text('{"request_id": "r", "prompt_tokens": 1}\n')
    assert run(["scope", str(log), "-i", str(tmp_path / "incident.toml"), "-q"]) == 2


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(IncidentError, match="cannot be read"):
        forensics.load_incident(tmp_path / "none.toml")
