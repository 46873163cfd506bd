"""Each form of line of vLLM: lines of its versions in it, and lines that only look like it."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

from forensics.sources.registry import by_name
from forensics.sources.vllm.forms import FORMS

DATA = Path(__file__).parents[1] / "_data" / "sources" / "vllm" / "forms.toml"
EXAMPLES = tomllib.loads(DATA.read_text())
WINDOW = {"scope": {"window": ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]}}


def lines(which: str) -> list:
    return [
        pytest.param(EXAMPLES.get(form.name, {}), line, id=f"{form.name}-{at}")
        for form in FORMS
        for at, line in enumerate(EXAMPLES.get(form.name, {}).get(which, []))
    ]


def became(seen) -> list[str]:
    """What a line was read as: rows by kind, or the count that it is in."""
    hops = seen.rows["hop"].to_list() if seen.rows.height else []
    return sorted(
        [f"observation {hop}" for hop in hops]
        + [f"fact {event}" for frame in seen.reading.capacity for event in frame["event"]]
        + [f"ignored {kind}" for kind in seen.facts.ignored.elements()]
        + [f"unreadable {unread.reason}" for unread in seen.facts.unread]
    )


def test_forms_are_registered_and_described():
    assert by_name("vllm").forms == FORMS
    assert len({form.name for form in FORMS}) == len(FORMS)
    for form in FORMS:
        for text in (form.name, form.title, form.versions, form.shows):
            assert text
            assert text.strip() == text


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_form_has_lines_and_near_misses(form):
    example = EXAMPLES.get(form.name, {})
    assert set(example) == {"reads", "positive", "near_reads", "near"}
    assert example["positive"]
    assert example["near"]


def test_no_example_is_of_a_form_that_is_not_there():
    assert set(EXAMPLES) <= {form.name for form in FORMS}


@pytest.mark.parametrize(("example", "line"), lines("positive"))
def test_a_line_of_the_form(read, example, line):
    seen = read(f"{line}\n", "node-1.log", form="vllm", **WINDOW)
    assert became(seen) == sorted(example["reads"])
    assert_nothing_of_content(seen)


@pytest.mark.parametrize(("example", "line"), lines("near"))
def test_a_line_that_only_looks_like_it(read, example, line):
    seen = read(f"{line}\n", "node-1.log", form="vllm", **WINDOW)
    assert became(seen) == sorted(example["near_reads"])
    assert_nothing_of_content(seen)


def assert_nothing_of_content(seen):
    for frame in (*seen.reading.capacity, *seen.reading.traces, seen.rows):
        assert "CANARY" not in frame.select(pl.all().cast(pl.String)).write_csv()
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
    assert "CANARY" not in repr(seen.facts)
