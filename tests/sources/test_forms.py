"""Each form of text line: lines of every version in it, and lines that only look like it."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

from forensics.sources.registry import by_name
from forensics.sources.sglang.forms import TEXT_FORMS

DATA = Path(__file__).parents[1] / "_data" / "sources" / "sglang" / "forms.toml"
EXAMPLES = tomllib.loads(DATA.read_text())
NEEDED = {"reads", "positive", "near_reads", "near"}


POSITIVE = {
    name: [(own or example["reads"], text) for _, text, *own in example["positive"]]
    for name, example in EXAMPLES.items()
}
NEAR = {
    name: [(example["near_reads"], text) for text in example["near"]]
    for name, example in EXAMPLES.items()
}


def each(found: dict[str, list]) -> list:
    return [
        pytest.param(*one, id=f"{name}-{at}")
        for name, lines in found.items()
        for at, one in enumerate(lines)
    ]


def became(seen) -> list[str]:
    """What a line was read as: rows by kind, or the count that it is in."""
    hops = [] if not seen.rows.height else seen.rows["hop"].to_list()
    return sorted(
        [f"observation {hop}" for hop in hops]
        + [f"fact {event}" for frame in seen.reading.capacity for event in frame["event"]]
        + [f"trace {kind}" for frame in seen.reading.traces for kind in frame["kind"]]
        + [f"activity {hop}" for frame in seen.reading.activity for hop in frame["hop"]]
        + [f"ignored {kind}" for kind in seen.facts.ignored.elements()]
        + [f"unreadable {unread.reason}" for unread in seen.facts.unread]
    )


def test_forms_are_registered_and_described():
    names = [form.name for form in TEXT_FORMS]
    assert len(set(names)) == len(names)
    assert set(TEXT_FORMS) <= set(by_name("sglang").forms)
    for form in TEXT_FORMS:
        for text in (form.name, form.title, form.versions, form.shows):
            assert text
            assert text.strip() == text


@pytest.mark.parametrize("form", TEXT_FORMS, ids=lambda form: form.name)
def test_every_form_has_lines_and_near_misses(form):
    example = EXAMPLES.get(form.name, {})
    assert set(example) == NEEDED
    assert all(example.values())
    assert not set(example["reads"]) & set(example["near_reads"])


def test_no_example_is_of_a_form_that_is_not_there():
    assert set(EXAMPLES) <= {form.name for form in TEXT_FORMS}


@pytest.mark.parametrize(("reads", "line"), each(POSITIVE))
def test_a_line_of_the_form(read, reads, line):
    seen = read(f"{line}\n", "node-1.log", form="sglang")
    assert became(seen) == sorted(reads)
    assert_nothing_of_content(seen)


@pytest.mark.parametrize(("reads", "line"), each(NEAR))
def test_a_line_that_only_looks_like_it(read, reads, line):
    seen = read(f"{line}\n", "node-1.log", form="sglang")
    assert became(seen) == sorted(reads)
    assert_nothing_of_content(seen)


def assert_nothing_of_content(seen):
    frames = (*seen.reading.capacity, *seen.reading.traces, *seen.reading.activity, seen.rows)
    for frame in frames:
        assert "CANARY" not in frame.select(pl.all().cast(pl.String)).write_csv()
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
    assert "CANARY" not in repr(seen.facts)
