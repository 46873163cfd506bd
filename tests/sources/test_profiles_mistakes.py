"""What a person who writes a profile gets wrong most, and what is said about it."""

import re
from pathlib import Path

import pytest

from forensics import read_logs
from forensics.errors import ForensicsError

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
PROFILE, INCIDENT, RECORD = re.findall(r"```(?:toml|json)\n(.*?)```", PAGE, re.DOTALL)
MISTAKES = {
    "a name of a column": ("prompt_tokens =", "promt_tokens =", "did you mean 'prompt_tokens'"),
    "a unit": ('"ms"', '"millis"', "unit`; known: rfc3339, utc, epoch, s, ms"),
    "what tells a record": (
        '["reqId"',
        '["reqID"',
        "all that is in told_by must be in its records",
    ),
    "a text for a list": ('["reqId", "usage"]', '"reqId"', "Expected `array`, got `str`"),
    "a layout": ("[columns]", 'layout = ["tsv"]\n[columns]', "known: json, csv"),
    "a key that is left out": ('name = "our-gateway"\n', "", "required field `name`"),
    "a key of another place": ("[columns]\n", "", "known: name, title, columns"),
    "a value that is none of ours": (
        "[columns]\n",
        '[columns]\nfinish_reason = { from = "outcome", values = { ok = "done" } }\n',
        "'done' is none of stop, length",
    ),
}


def analysed(tmp_path, old, new):
    assert old in PROFILE
    (tmp_path / "gateway.toml").write_text(PROFILE.replace(old, new, 1))
    (tmp_path / "incident.toml").write_text(INCIDENT)
    (tmp_path / "gateway.json").write_text(RECORD.replace("never read", "CANARY"))
    return read_logs(tmp_path / "gateway.json", incident=tmp_path / "incident.toml")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(tmp_path, mistake):
    old, new, said = MISTAKES[mistake]
    with pytest.raises(ForensicsError) as caught:
        analysed(tmp_path, old, new)
    assert said in str(caught.value)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("prompt_tokens", "usage/tokensIn", "usage.tokensIn"),
        ("received_at", '"ms"', '"s"'),
        ("tenant_id", '["account/team", "account/id"]', '"tenant"'),
    ],
)
def test_a_column_without_any_value_is_named_among_what_is_missing(tmp_path, column, old, new):
    said = f"1 file read by a profile without any {column}: is its path right?"
    assert said in analysed(tmp_path, old, new).exposure().headline.incomplete
    assert said not in analysed(tmp_path, old, old).exposure().headline.incomplete
