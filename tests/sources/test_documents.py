"""JSON documents of a file, one a line or spread over lines."""

import json
from pathlib import Path

import pytest

from forensics.sources import documents as module
from forensics.sources.blocks import Opened
from forensics.sources.documents import documents, fault
from forensics.sources.files import expand

ONE = {"a": [1, {"b": "}\n{"}], "c": "x"}
TWO = {"d": {"e": {}}}


@pytest.fixture
def cut(tmp_path: Path):
    def run(text: str | bytes):
        path = tmp_path / "documents.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with Opened(expand(path)[0]) as opened:
            return list(documents(opened))

    return run


@pytest.mark.parametrize("indent", [None, 1, "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n\n"])
def test_documents_are_found_whatever_their_form(cut, indent, end):
    texts = [json.dumps(each, indent=indent) for each in (ONE, TWO, ONE)]
    text = end.join(texts)
    found = cut(text)
    assert [json.loads(each.data) for each in found] == [ONE, TWO, ONE]
    assert [text.encode()[each.offset :][:1] for each in found] == [b"{"] * 3
    assert found[1].line == texts[0].count("\n") + end.count("\n") + 1


def test_a_document_that_is_cut_short_ends_where_the_next_begins(cut):
    spread = json.dumps(ONE, indent=1)
    found = cut(f'{spread[:20]}\n{spread}\n{{"a": \n{json.dumps(TWO)}\n')
    assert [json.loads(found[at].data) for at in (1, 3)] == [ONE, TWO]
    assert [fault(found[at].data) for at in (0, 2)] == ["truncated JSON"] * 2


def test_lines_outside_any_document_are_told_one_by_one(cut):
    found = cut(f"HTTP/1.1 200 OK\n\n{json.dumps(ONE)}\nnonsense\n[1]\n")
    assert [(each.line, fault(each.data)) for each in found if each.line != 3] == [
        (1, "not valid JSON"),
        (4, "not valid JSON"),
        (5, None),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": "\xff"}', "invalid UTF-8"),
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
        (b'{"a": CANARY}', "not valid JSON"),
        (b'"CANARY"', None),
    ],
)
def test_faults_are_named_in_words_of_our_own(data, reason):
    assert fault(data) == reason


def test_a_document_that_is_too_long_is_not_held(cut, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 100)
    long = json.dumps({f"k{n}": "x" * 20 for n in range(20)}, indent=1)
    found = cut(f"{long}\n{json.dumps(TWO)}\n")
    assert (found[0].data, found[0].reason) == (b"", module.TOO_LONG)
    assert json.loads(found[1].data) == TWO
