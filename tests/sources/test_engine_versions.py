"""Each version of an engine, in its own words: every form of line that it writes, in one whole log.

So no form is listed for a version that no line is of, and no line goes unread.
"""

import re
from collections import Counter

import pytest

from tests.sources.engineforms import ENGINES, Engine

FORMS = [pytest.param(e, form, id=f"{e.name}-{form.name}") for e in ENGINES for form in e.forms]
LOGS = [pytest.param(e, one, id=f"{e.name}-{one}") for e in ENGINES for one in e.versions]


def passed_over(reads: list[str]) -> Counter[str]:
    return Counter(one.removeprefix("ignored ") for one in reads if one.startswith("ignored "))


def the_file(read, engine: Engine, lines: list[str]):
    seen = read("\n".join(lines) + "\n", "prefill-01.log", form=engine.name, **engine.incident)
    assert "CANARY" not in repr(seen.facts)
    return seen.facts


@pytest.mark.parametrize(("engine", "form"), FORMS)
def test_a_form_is_listed_for_the_versions_that_lines_are_of(engine, form):
    lines = engine.examples[form.name]["positive"]
    shown = set().union(*(engine.spanned(span) for span, *_ in lines))
    assert shown == engine.spanned(form.versions)


@pytest.mark.few(8)
@pytest.mark.parametrize(("engine", "version"), LOGS)
def test_a_log_of_a_version_is_read_whole(read, engine, version):
    lines = list(engine.written(version))
    facts = the_file(read, engine, [line for line, _ in lines])
    expected = sum((passed_over(reads) for _, reads in lines), Counter())
    assert not facts.unread
    assert not +facts.bad_values
    assert +facts.ignored == expected
    # A line may hold several requests: each is a record.
    assert facts.read >= len(lines)
    assert facts.kept == facts.read - expected.total()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_what_is_nearly_of_a_form_is_of_none(read, engine):
    examples = engine.examples.values()
    near = [(line, each["near_reads"]) for each in examples for line in each["near"]]
    start = next(iter(examples))["positive"][-1][1]
    # Lines of one place are of one message: each stands at a place of its own.
    lines = [re.sub(r"\.py:\d+\]", f".py:{n + 1}]", line) for n, (line, _) in enumerate(near)]
    facts = the_file(read, engine, [start, *lines])
    reads = [one for _, reads in near for one in reads if one.startswith("unreadable ")]
    unread = Counter(one.removeprefix("unreadable ") for one in reads)
    assert Counter(one.reason for one in facts.unread) == unread
    assert +facts.ignored == sum((passed_over(reads) for _, reads in near), Counter())
    assert facts.kept == 1
