"""Markdown and paper: the parts in order, every table with n of N, and names that do nothing."""

import re
import shutil
import subprocess
import zlib

import msgspec
import pytest

from forensics.report import html, markdown, pdf, tables
from forensics.report.paper import ANNEX, Grid, Paper, Section, paper
from forensics.report.parts import numbered
from forensics.report.wording import words


@pytest.fixture(scope="module")
def rendered(incident):
    return markdown.render(incident).decode()


def unescaped(text):
    return re.sub(r"\\([^a-z0-9\s])", r"\1", text)


def test_the_parts_stand_in_their_order(rendered):
    headings = re.findall(r"^## (.*)$", rendered, re.MULTILINE)
    expected = [f"{part.number} {part.title}" for part in numbered()]
    assert headings[: len(expected)] == expected
    assert len(expected) == 14


def test_no_table_of_the_page_is_left_out(incident):
    grids = [grid for section in paper(incident).sections for grid in section.grids]
    told = [grid.caption if isinstance(grid, Grid) else grid for grid in grids]
    for spec in tables.SPECS.values():
        assert any(text.startswith(spec.caption) for text in told), spec.name


def test_a_table_that_no_part_names_stands_in_the_annex(incident, monkeypatch):
    none = msgspec.structs.replace(words(), part=[])
    monkeypatch.setattr("forensics.report.parts.words", lambda: none)
    annex = paper(incident).sections[0]
    assert annex.heading == ANNEX
    assert len(annex.grids) == len(tables.SPECS) + 1


def test_no_count_is_said_to_be_between_itself(empty):
    assert empty.headline.bound.low == empty.headline.bound.high == 0
    for page in (markdown.render(empty).decode(), html.render(empty).decode()):
        assert "0 to 0" not in page
        assert "arithmetic" in page


def test_every_table_says_how_many_there_are(incident):
    for section in paper(incident, 20).sections:
        for grid in section.grids:
            if isinstance(grid, Grid):
                found = re.search(r"\. ([\d,]+) of ([\d,]+)(?:, all in .+)?$", grid.caption)
                shown, total = found.groups()
                assert int(shown.replace(",", "")) == len(grid.rows) <= 20
                assert (shown == total) == (", all in" not in grid.caption)


def test_what_has_no_row_is_said(empty):
    text = unescaped(markdown.render(empty).decode())
    assert "No tenant is listed as a recipient." in text
    assert "Nothing was read. (nothing_read)" in text


def test_hostile_names_are_one_cell_each_and_no_markup(hostile):
    text = markdown.render(hostile).decode()
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("| Tenant | Highest tier"))
    columns = len(re.findall(r"(?<!\\)\|", lines[at]))
    rows = lines[at + 2 : at + 2 + 12]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == columns for row in rows)
    assert not re.search(r"(?<!\\)[<\[`]", text)
    assert not re.search("[\u200b\u202a-\u202e\u2066-\u2069\u2028\u2029\x00\x1b]", text)


def test_the_same_document_gives_the_same_bytes(incident):
    assert markdown.render(incident) == markdown.render(incident)


def test_no_banned_phrase_is_in_it(rendered):
    for phrase in words().banned:
        assert not re.search(rf"\b{re.escape(phrase)}\b", rendered, re.IGNORECASE), phrase


def test_the_banned_phrases_of_notices_are_banned_here_too():
    from forensics.notices.wording import wording

    assert set(wording().banned) <= set(words().banned)


def test_the_paper_is_the_same_bytes_again_and_takes_any_name(hostile):
    few = ("points", "lengths", "days", "epochs", "prefill_times", "sources", "coverage")
    small = msgspec.structs.replace(hostile, **{name: getattr(hostile, name)[:2] for name in few})
    made = pdf.render(small)
    assert made.startswith(b"%PDF-")
    assert made == pdf.render(small)
    assert b"/JavaScript" not in made
    # What is copied from it is what the characters of its fonts stand for.
    parts = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", made, re.DOTALL)
    texts = [zlib.decompress(part) for part in parts if part.startswith(b"x")]
    assert [text for text in texts if b"begincmap" in text]
    assert not [text for text in texts if b"200B>" in text]
    assert b"/URI" not in made


@pytest.mark.long
def test_a_row_of_a_table_stands_on_one_page(empty, monkeypatch, tmp_path):
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("did not run: no pdftotext on this machine")
    rest = ("some more words",) * 9
    rows = [(f"first{at} {'a word ' * (20 + at % 30)} last{at}", *rest) for at in range(60)]
    rows.append((f"firstlong {'many words ' * 900} lastlong", *rest))
    grid = Grid("x", tuple("abcdefghij"), (False,) * 10, tuple(rows))
    made = Paper("x", (), (Section("x", (), (), (grid,)),))
    monkeypatch.setattr(pdf, "paper", lambda *_: made)
    (tmp_path / "x.pdf").write_bytes(pdf.render(empty))
    command = [reader, tmp_path / "x.pdf", "-"]
    pages = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\f")
    where = {word: at for at, page in enumerate(pages) for word in page.split()}
    assert len(pages) > 4
    assert {where[f"first{at}"] - where[f"last{at}"] for at in range(60)} == {0}
    assert where["lastlong"] > where["firstlong"]  # one that no page holds goes on over the next


def test_a_pdf_without_typst_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "typst", None)
    with pytest.raises(Exception, match=r"\[pdf\]"):
        pdf.require()
