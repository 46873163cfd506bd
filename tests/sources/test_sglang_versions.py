"""Each version of SGLang, in its own words: every form of line that it writes, in one whole log.

The lines and the versions that wrote them stand in ``forms.toml``, which says of each what it
becomes. So no form is listed for a version that no line is of, and no line goes unread.
"""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import forensics
from forensics.sources.sglang.forms import TEXT_FORMS
from tests.fleets.versions import VERSIONS

DATA = Path(__file__).parents[1] / "_data" / "sources" / "sglang" / "forms.toml"
EXAMPLES = tomllib.loads(DATA.read_text())
SPAN = re.compile(r"(0\.\d+\.\d+)(?:-(0\.\d+\.\d+))?")
"""The first version and the last one, or the only one."""


def spanned(text: str) -> set[str]:
    """Versions that a text names, those between the first and the last of a span included."""
    found: set[str] = set()
    for first, last in SPAN.findall(text):
        found |= set(VERSIONS[VERSIONS.index(first) : VERSIONS.index(last or first) + 1])
    return found


def written(version: str) -> list[tuple[str, list[str]]]:
    """The lines of a version, with what each is read as."""
    return [
        (line, reads or example["reads"])
        for example in EXAMPLES.values()
        for span, line, *reads in example["positive"]
        if version in spanned(span)
    ]


def passed_over(reads: list[str]) -> Counter[str]:
    return Counter(one.removeprefix("ignored ") for one in reads if one.startswith("ignored "))


def the_count(folder: Path, lines: list[str]):
    folder.mkdir()
    (folder / "prefill-01.log").write_text("\n".join(lines) + "\n")
    (count,) = forensics.read_logs(folder).exposure().read
    assert count.read == len(lines)
    assert "CANARY" not in repr(count)
    return count


@pytest.mark.parametrize("form", TEXT_FORMS, ids=lambda form: form.name)
def test_a_form_is_listed_for_the_versions_that_lines_are_of(form):
    shown = set().union(*(spanned(span) for span, *_ in EXAMPLES[form.name]["positive"]))
    assert shown == spanned(form.versions)


@pytest.mark.few(4)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_of_a_version_is_read_whole(tmp_path, version):
    lines = written(version)
    count = the_count(tmp_path / "logs", [line for line, _ in lines])
    expected = sum((passed_over(reads) for _, reads in lines), Counter())
    assert count.unreadable == {}
    assert count.bad_values == {}
    assert count.ignored == expected
    assert count.kept + count.duplicate == len(lines) - expected.total()


def test_what_is_nearly_of_a_form_is_of_none(tmp_path):
    near = [
        (line, example["near_reads"]) for example in EXAMPLES.values() for line in example["near"]
    ]
    start = EXAMPLES["server-args"]["positive"][0][1]
    count = the_count(tmp_path / "logs", [start, *(line for line, _ in near)])
    unread = Counter(reads[0].removeprefix("unreadable ") for _, reads in near if "unr" in reads[0])
    assert count.unreadable == unread
    assert count.ignored == sum((passed_over(reads) for _, reads in near), Counter())
    assert count.kept == 1
