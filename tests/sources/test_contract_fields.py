"""What every registered format makes of its sample, and nothing of a text in any of its fields.

A text is put where any value, key or cell of a sample stands, one record for each: whatever field
a reader takes, no words come out of it.
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from forensics.sources.registry import FORMATS
from tests.sources.conftest import Seen
from tests.sources.test_contract import POSITIVE

WORDS = 'SPOKEN words: "I am the one"'
NAMES = [form.name for form in FORMATS]


def frames(seen: Seen) -> dict[str, list[pl.DataFrame]]:
    """All that outlives the reading, by kind."""
    reading = seen.reading
    return {
        "observations": [seen.rows],
        "capacity": reading.capacity,
        "markers": reading.markers,
        "traces": reading.traces,
        "activity": reading.activity,
    }


def held(seen: Seen) -> list[str]:
    """Each record with the columns that it has, in the order of its text."""
    found = [f"ignored {kind}: {n}" for kind, n in (+seen.facts.ignored).items()]
    for kind, made in frames(seen).items():
        for row in (row for frame in made for row in frame.to_dicts()):
            known = sorted(k for k, v in row.items() if v is not None and k != "file")
            found.append(" ".join([kind, *(f"{k}={row[k]}" for k in known)]))
    return sorted(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_sample_is_read_as_it_is_known_to_be(read, snapshot, name):
    file, content = POSITIVE[name]
    assert "\n".join(held(read(content(), f"node-1/{file}"))) == snapshot


def spoiled(value: Any, most: int) -> Iterator[Any]:
    """Copies of a value with the words in place of one part of it, and with one more key.

    ``most``: entries of a list that are gone into.
    """
    if isinstance(value, dict):
        yield {**value, WORDS: WORDS}
        for key, inner in value.items():
            yield {(WORDS if at == key else at): x for at, x in value.items()}
            for other in spoiled(inner, most):
                yield {**value, key: other}
    elif isinstance(value, list):
        yield [*value, WORDS]
        for at, inner in enumerate(value[:most]):
            for other in spoiled(inner, most):
                yield [*value[:at], other, *value[at + 1 :]]
    else:
        yield WORDS
        if isinstance(value, str) and value.startswith(("{", "[")):
            yield from (json.dumps(other) for other in spoiled(loaded(value), most))


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def records(data: str) -> list[Any]:
    """The JSON of a file: its one document, or those of its first lines."""
    whole = loaded(data)
    if isinstance(whole, dict | list):
        return [whole]
    each = [loaded(line) for line in data.splitlines() if line.startswith("{")]
    return [one for one in each if isinstance(one, dict)][:4]


def in_cells(data: str) -> str:
    header, *rows = csv.reader(io.StringIO(data))
    out = io.StringIO()
    made = csv.writer(out)
    made.writerow([*header, WORDS])
    for row in rows[:3]:
        made.writerows([*row[:at], WORDS, *row[at + 1 :], WORDS] for at in range(len(row)))
    return out.getvalue()


def spoiled_file(name: str) -> list[str]:
    """Files with the words in each field; none of a log, which has no fields."""
    file, content = POSITIVE[name]
    if name == "plain-parquet":
        return []
    data = content().decode()
    alone = isinstance(loaded(data), dict | list)
    found = [json.dumps(x) for one in records(data) for x in spoiled(one, 1 if alone else 8)]
    if found and not alone:
        return ["\n".join(found) + "\n"]
    return [in_cells(data)] if file.endswith(".csv") else found


@pytest.mark.parametrize("name", NAMES)
def test_no_words_come_out_of_any_field(read, name):
    for number, data in enumerate(spoiled_file(name)):
        seen = read(data, f"{number}/{POSITIVE[name][0]}", form=name)
        assert "SPOKEN" not in repr(seen.facts)
        for frame in (frame for found in frames(seen).values() for frame in found):
            assert "SPOKEN" not in repr(frame.to_dicts())


def in_json(name: str) -> bool:
    data = POSITIVE[name][1]().rstrip()
    return data[:1] in (b"{", b"[") and data[-1:] in (b"}", b"]")


def cut_off(data: bytes) -> bytes:
    """The file up to within the last text of its last record."""
    return data[: data.rfind(b'"')]


LAID = {
    "one line": json.dumps,
    "spread": lambda found: json.dumps(found, indent=1),
    "a line each": lambda found: "[\n" + ",\n".join(map(json.dumps, found)) + "\n]",
    "brackets beside": lambda found: "[" + ",\n".join(map(json.dumps, found)) + "]",
}
LISTED = ("trtllm-metrics", "kong", "plain-ndjson", "sglang-exporter")


@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize("name", LISTED)
def test_a_list_that_ends_between_two_records_lacks_one(read, name, laid):
    file, content = POSITIVE[name]
    found = records(content().decode())
    text = LAID[laid](found[0][:3] if isinstance(found[0], list) else found[:3])
    whole, cut = read(text, file), read(text[: text.rindex("}") + 1], file)
    assert whole.facts.unread == []
    assert (cut.facts.kept, len(cut.facts.unread)) == (whole.facts.kept, 1)


@pytest.mark.parametrize("name", [name for name in NAMES if in_json(name)])
def test_a_record_that_is_cut_off_is_unreadable(read, name):
    file, content = POSITIVE[name]
    seen = read(cut_off(content()), file, form=name)
    assert seen.facts.unread
    assert seen.facts.kept <= read(content(), file, form=name).facts.kept
