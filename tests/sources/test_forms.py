"""Each form of text line: lines of every version in it, and lines that only look like it."""

import polars as pl
import pytest

from forensics.sources.registry import by_name
from tests.sources.engineforms import ENGINES

NEEDED = {"reads", "positive", "near_reads", "near"}
FORMS = [pytest.param(e, form, id=f"{e.name}-{form.name}") for e in ENGINES for form in e.forms]


def lines(which: str) -> list:
    """Each line with its engine and what it becomes."""
    found = []
    for engine in ENGINES:
        for name, example in engine.examples.items():
            for at, line in enumerate(example[which]):
                _, text, *own = line if which == "positive" else ("", line)
                reads = own or example["reads" if which == "positive" else "near_reads"]
                found.append(pytest.param(engine, reads, text, id=f"{engine.name}-{name}-{at}"))
    return found


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


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_forms_are_registered_and_described(engine):
    names = [form.name for form in engine.forms]
    assert len(set(names)) == len(names)
    assert set(engine.forms) <= set(by_name(engine.name).forms)
    assert set(engine.examples) == set(names)
    for form in engine.forms:
        for text in (form.name, form.title, form.versions, form.shows):
            assert text
            assert text.strip() == text


@pytest.mark.parametrize(("engine", "form"), FORMS)
def test_every_form_has_lines_and_near_misses(engine, form):
    example = engine.examples[form.name]
    assert set(example) == NEEDED
    assert example["positive"]
    assert example["near"]
    assert not set(example["reads"]) & set(example["near_reads"])


@pytest.mark.parametrize(("engine", "reads", "line"), lines("positive"))
def test_a_line_of_the_form(read, engine, reads, line):
    seen = read(f"{line}\n", "node-1.log", form=engine.name, **engine.incident)
    assert became(seen) == sorted(reads)
    assert_nothing_of_content(seen)


@pytest.mark.parametrize(("engine", "reads", "line"), lines("near"))
def test_a_line_that_only_looks_like_it(read, engine, reads, line):
    seen = read(f"{line}\n", "node-1.log", form=engine.name, **engine.incident)
    assert became(seen) == sorted(reads)
    assert_nothing_of_content(seen)


def assert_nothing_of_content(seen):
    frames = (*seen.reading.capacity, *seen.reading.traces, *seen.reading.activity, seen.rows)
    for frame in frames:
        assert "CANARY" not in frame.select(pl.all().cast(pl.String)).write_csv()
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
    assert "CANARY" not in repr(seen.facts)
