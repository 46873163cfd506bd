"""Tables whose cells other characters than commas part, with or without a line that says so."""

import csv
import io

import pytest

ROWS = [
    ["request_id", "tenant_id", "prompt_tokens", "text"],
    ["a", "acme", "52310", 'CANARY, "said"; so\tthey | do\nand more'],
    ["b", "acme, inc", "7", ""],
]


def laid(delimiter: str, line_end: str = "\n", quoting: int = csv.QUOTE_MINIMAL) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(ROWS)
    return out.getvalue()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"], ids=["semicolon", "tab", "bar"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL], ids=["some", "all"])
def test_other_delimiters(read, delimiter, line_end, quoting):
    seen = read("\ufeff" + laid(delimiter, line_end, quoting), "export.csv")
    assert seen.facts.format == "plain-csv"
    assert seen.facts.detected_by.endswith("in a table with another delimiter")
    assert seen.facts.unread == []
    assert seen.column("prompt_tokens") == [52310, 7]
    assert seen.column("tenant_id") == ["acme", "acme, inc"]
    assert seen.column("line") == [2, 4]
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize("delimiter", [";", ","])
def test_a_first_line_that_states_the_delimiter(read, delimiter):
    seen = read(f"sep={delimiter}\r\n{laid(delimiter)}", "export.csv")
    assert seen.column("prompt_tokens") == [52310, 7]
    assert dict(seen.facts.ignored) == {"line that states the delimiter": 1}


def test_a_quote_without_its_end_is_unreadable(read):
    seen = read(laid(";") + 'c;acme;9;"CANARY\n', "export.csv")
    assert seen.column("request_id") == ["a", "b"]
    assert dict(seen.reasons) == {"row that is no CSV: a quote without its end": 1}


def test_lines_that_only_hold_such_characters_are_no_table(read):
    seen = read("what; is; this\nCANARY; of; it\n", "some.txt")
    assert (seen.facts.format, dict(seen.reasons)) == (None, {"no known format": 1})
