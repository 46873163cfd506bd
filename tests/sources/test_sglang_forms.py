"""Each structured form of SGLang: one record of it, and one that only looks like it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from forensics.cli import run
from forensics.sources.registry import FORMATS
from forensics.sources.sglang.forms import TEXT_FORMS

JSON = Path(__file__).parents[1] / "_data" / "sources" / "sglang_json"
EVENT = {"rid": "0a", "timestamp": "2026-02-03T04:08:00", "obj": {"bootstrap_room": 7}}
DONE = {"out": {"meta_info": {"prompt_tokens": 5, "finish_reason": {"type": "stop"}}}}


def lines(name: str) -> list[str]:
    return (JSON / name).read_text().splitlines()


def spans(*wanted: str) -> str:
    """The spans of the sample whose names begin so, in one document."""
    found = []
    for line in lines("spans.jsonl"):
        for scope in json.loads(line)["resourceSpans"][0]["scopeSpans"]:
            found += [span for span in scope["spans"] if span["name"].startswith(wanted)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": found}]}]})


@dataclass(frozen=True)
class Sample:
    """A file of one record, how many are kept of it, and of its near miss under which kind."""

    text: str
    kept: int
    near: str
    kind: str


SAMPLES = {
    "request-received-json": Sample(
        json.dumps(EVENT | {"event": "request.received"}),
        1,
        json.dumps(EVENT | {"event": "request.received.elsewhere"}),
        "other record",
    ),
    "request-finished-json": Sample(
        json.dumps(EVENT | DONE | {"event": "request.finished"}),
        1,
        json.dumps(EVENT | DONE | {"event": "finished"}),
        "other record",
    ),
    "request-as-sent-json": Sample(
        json.dumps({"event": "request.received.openai", "obj": {"messages": ["CANARY"]}}),
        0,
        json.dumps({"event": "request.received.open", "obj": {"messages": ["CANARY"]}}),
        "other record",
    ),
    "exporter": Sample(
        lines("exporter.jsonl")[0], 1, '{"request_parameters": "{}"}', "other record"
    ),
    "server-info": Sample(
        (JSON / "server-info.json").read_text(), 1, '{"page_size": 64}', "other document"
    ),
    "model-info": Sample(
        (JSON / "model-info.json").read_text(), 0, '{"model_path": "CANARY"}', "other document"
    ),
    "metrics": Sample(
        "sglang:max_total_num_tokens 640", 1, "sglang:max_total_num_tokens_x 640", "other metric"
    ),
    "router-request": Sample(
        lines("router.log")[2],
        1,
        lines("router.log")[2].replace("smg::r", "smg::x::r"),
        "other line",
    ),
    "router-request-json": Sample(
        lines("router-json.log")[0],
        1,
        lines("router-json.log")[0].replace("finished processing", "finished probing"),
        "other line",
    ),
    "router-engine-error": Sample(
        lines("router.log")[5], 0, lines("router.log")[5].replace("Prefill", "Some"), "other line"
    ),
    "root-span": Sample(
        spans("prefill Req"),
        1,
        spans("prefill Req").replace("sglang::request", "x").replace("gen_ai.", "x."),
        "other span",
    ),
    "thread-span": Sample(spans("Sched", "prefill Req"), 2, spans("Tokenizer"), "other span"),
    "prefill-forward-span": Sample(
        spans("Sched", "prefill_forward", "prefill Req"), 3, spans("prefill_waiting"), "other span"
    ),
}
FORMS = [
    (f, form)
    for f in FORMATS
    if f.name.startswith("sglang")
    for form in f.forms
    if form not in TEXT_FORMS
]


@pytest.fixture(params=FORMS, ids=lambda pair: pair[1].name)
def pair(request):
    return request.param


def test_every_structured_form_has_a_sample():
    assert set(SAMPLES) == {form.name for _, form in FORMS}


def test_forms_are_listed_with_their_versions(capsys):
    assert run(["formats"]) == 0
    text = capsys.readouterr().out
    for fmt in FORMATS:
        names = [form.name for form in fmt.forms]
        assert len(set(names)) == len(names)
        assert all(f"{form.title} ({form.versions}): {form.shows}" in text for form in fmt.forms)
    assert run(["formats", "--json"]) == 0
    listed = {row["name"]: row["forms"] for row in json.loads(capsys.readouterr().out)}
    for fmt, form in FORMS:
        assert asdict(form) in listed[fmt.name]


def test_names_and_sentences(pair):
    _, form = pair
    for text in (form.name, form.title, form.versions, form.shows):
        assert text
        assert text.strip() == text


def test_a_record_of_the_form(pair, read):
    fmt, form = pair
    seen = read(SAMPLES[form.name].text, "prefill-1.log", form=fmt.name)
    assert seen.facts.unread == []
    assert seen.facts.kept == SAMPLES[form.name].kept
    if not seen.facts.kept:
        assert not any(kind.startswith("other") for kind in +seen.facts.ignored)


def test_a_near_miss(pair, read):
    fmt, form = pair
    seen = read(SAMPLES[form.name].near, "prefill-1.log", form=fmt.name)
    assert seen.facts.kept == 0
    assert set(+seen.facts.ignored) == {SAMPLES[form.name].kind}
    assert "CANARY" not in repr(seen.facts)
