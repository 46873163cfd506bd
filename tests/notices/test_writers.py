"""A fault that writes: a source's packet lists its own requests that met the condition."""

import pytest

from forensics.notices.facts import told
from forensics.notices.finished import finished
from forensics.notices.sentences import Setting, variant
from forensics.notices.wording import wording
from tests.notices.conftest import logs_text, request

SAID = wording()
WRITER, BESIDE = f"t-{'w' * 20}", f"t-{'b' * 20}"


@pytest.fixture(scope="module")
def report(written):
    small = {"prompt_tokens": 900, "prefill_prompt_tokens": 900, "decode_prompt_tokens": 900}
    others = [request(number, "acct-beside", **small) for number in (50, 51)]
    asked = '[case]\nid = "C-1"\n[trigger]\nmechanism = "write"\n'
    return finished(written(logs_text(["acct-writer"], *others), asked) / "out")


@pytest.fixture(scope="module")
def every(report):
    return told(report, {"acct-writer": WRITER, "acct-beside": BESIDE}.__getitem__)


def test_the_list_of_a_source_holds_what_it_wrote_with_and_nothing_else(every):
    listed = every.requests.filter(every.requests["notice"] == f"{WRITER}-source")
    assert listed["request_id"].to_list() == ["req-000000-canary", "req-000001-canary"]
    assert set(listed["tier"]) == {"probable"}
    assert listed["delivered"].null_count() == 2


def test_who_ran_beside_is_a_recipient_alone(every):
    receivers = {f"{name}-recipient" for name in (WRITER, BESIDE)}
    assert set(every.facts["notice"]) == {*receivers, f"{WRITER}-source"}
    received = every.requests.filter(every.requests["notice"] == f"{BESIDE}-recipient")
    assert set(received["tier"]) == {"possible"}


def test_where_not_all_are_listed_it_is_said_without_a_model(report, every):
    fact = next(row for row in every.facts.iter_rows(named=True) if row["population"] == "source")
    assert fact["listed"] == fact["total"] == 2
    setting = Setting.of(report.exposure)
    short = variant({**fact, "listed": 1}, setting, SAID).sections[3]
    assert SAID.unknown["part_list_write"] in short
    assert not [text for text in variant(fact, setting, SAID).sections[3] if "listed" in text]
