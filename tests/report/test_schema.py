"""``report.json`` is in the form that ``report.schema.json`` states, which leaves nothing open."""

import json
from pathlib import Path

import jsonschema
import pytest

import forensics
from forensics import exposure as doc
from forensics.lab import simulate, small, write_sglang

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
SCHEMA = json.loads(doc.json_schema())


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def document(exposure: doc.Exposure, rows: int = 2) -> dict:
    """The document with a few rows of each list: a check of all of them takes seconds."""
    found = json.loads(doc.as_json(exposure))
    return {name: v[:rows] if isinstance(v, list) else v for name, v in found.items()}


def test_every_form_is_closed():
    forms = [form for form in SCHEMA["$defs"].values() if "properties" in form]
    assert len(forms) > 30
    assert not [form for form in forms if form["additionalProperties"] is not False]
    # An object with names of its own, such as counts by kind, states what these hold.
    text = json.dumps(SCHEMA)
    objects = text.count('"type": "object"')
    assert objects == text.count('"additionalProperties": ')
    assert '"additionalProperties": true' not in text
    assert '"additionalProperties": {}' not in text


def test_made_up_documents_are_in_its_form(exposure, validator):
    assert list(validator.iter_errors(document(exposure))) == []


def test_what_is_not_is_told(incident, validator):
    found = document(incident)
    found["headline"]["recipients"] = "60"
    found["scope"]["more"] = 1
    found["limitations"] = []
    found["clocks"]["clocks"][0].pop("trigger")
    assert sorted(error.json_path for error in validator.iter_errors(found)) == [
        *("$.clocks.clocks[0]", "$.headline.recipients", "$.limitations", "$.scope"),
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", ["glm53", "glm53-dirty", "session-slots"])
def test_reports_of_the_samples_are_in_its_form(name, validator):
    folder = SAMPLES / name
    case = forensics.read_logs(folder / "logs", incident=folder / "incident.toml")
    assert list(validator.iter_errors(document(case.exposure(), 200))) == []


@pytest.mark.long
def test_the_report_of_a_seeded_incident_is_in_its_form(validator, tmp_path):
    write_sglang(simulate(small(seed=5, requests=2_000)), tmp_path / "logs")
    found = forensics.read_logs(tmp_path / "logs").exposure()
    assert list(validator.iter_errors(document(found, 200))) == []
