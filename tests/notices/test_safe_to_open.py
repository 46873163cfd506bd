"""Tenants may be called anything: nothing of it acts, and no good export is stopped by it."""

import csv
import html.parser
import json
import re
from pathlib import Path

import polars as pl
import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.notices.markdown import escaped, unescaped
from forensics.shown import visible

HOSTILE = [
    '=HYPERLINK("http://c.example")',
    "<img onerror=alert(1) src=x>",
    "../../x",
    "a|b](http://c.example)",
    "1",
    "the",
    "probable",
    "glm-5.3",
    "recipient",
    "SHA256SUMS",
    "2026-09-01",
    "\u202eabc\u202c",
    "\u00a0=1+1",
    "\uff1d1+1",
    "{{case_id}}",
    "{n_confirmed}",
    "`x`",
    "@mention",
]


@pytest.fixture
def made(report_of, tmp_path) -> Path:
    report = report_of(HOSTILE)
    kept = set(pl.read_parquet(report / "affected_tenants.parquet")["tenant_id"])
    assert kept - {None} >= {"../../x", "1", "the", "probable"}
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    assert (tmp_path / "notices").exists()
    return tmp_path / "notices"


def accounts(notices: Path) -> dict[Path, str]:
    paths = sorted(notices.glob("packets/*/facts.json"))
    return {path.parent: json.loads(path.read_bytes())["account"] for path in paths}


class Page(html.parser.HTMLParser):
    """Every element, attribute and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data)


def test_names_of_files_are_pseudonyms_alone(made):
    for path in made.glob("packets/*"):
        assert re.fullmatch(r"t-[a-z2-7]{20}-(recipient|source)", path.name)
    assert {path.name for path in made.parent.iterdir()} >= {"notices", "notices.key", "out"}
    assert not (made.parent / "x").exists()


def test_html_has_the_name_as_text_and_no_element_of_it(made):
    for packet, account in accounts(made).items():
        page = Page()
        page.feed((packet / "notice.html").read_text())
        assert visible(account) in page.texts
        assert not page.tags & {"img", "script", "a", "iframe", "link", "object", "form"}
        assert not any(name.startswith("on") for name in page.attributes)
        assert "default-src 'none'" in (packet / "notice.html").read_text()


def test_markdown_shows_the_name_and_acts_on_none_of_it(made):
    for packet, account in accounts(made).items():
        text = (packet / "notice.md").read_text()
        (line,) = (line for line in text.splitlines() if line.startswith("| Account |"))
        cell = line.removeprefix("| Account | ").removesuffix(" |")
        assert unescaped(cell) == visible(account)
        bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", cell)
        assert not re.search(r"[|<>\[\]()`*_!&@:{}~#=]", bare)


def test_csv_cells_are_no_formulas_and_every_row_has_every_cell(made):
    for path in made.rglob("*.csv"):
        with path.open(newline="") as file:
            head, *body = csv.reader(file)
        assert {len(row) for row in body} <= {len(head)}
        starts = re.compile(
            r"[\s\u00a0\u200b-\u200f\u202a-\u202e\ufeff]*[=+\-@\uff1d\uff0b\uff20\t\r]"
        )
        assert not [cell for row in body for cell in row if starts.match(cell)]


def test_hidden_characters_are_shown(made):
    for path in (*made.rglob("notice.*"), *made.rglob("*.md"), *made.rglob("*.csv")):
        assert not re.search(
            r"[\u200b-\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", path.read_text()
        )


def test_nothing_is_filled_in_twice(made):
    named = accounts(made)
    for packet, account in named.items():
        if account in ("{{case_id}}", "{n_confirmed}"):
            assert (
                account.replace("{", "\\{").replace("}", "\\}").replace("_", "\\_")
                in (packet / "notice.md").read_text()
            )


@pytest.mark.parametrize(
    "text",
    ["![x](http://c)", "www.c.example", "a@b.c", "http://c", "1. x", "- x", "# x", "<b>", "a\nb"],
)
def test_escaping_leaves_nothing_to_act_on(text):
    shown = escaped(text)
    assert unescaped(shown) == visible(text)
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", shown)
    assert not re.search(r"[|<>\[\]()`*_!@:#\n]|www\.|^-|^\d+\.", bare)


def test_no_script_runs_and_nothing_is_asked_for(made, chromium, tmp_path):
    (packet,) = (p for p, account in accounts(made).items() if "img" in account and "rec" in p.name)
    page, log = packet / "notice.html", tmp_path / "net.json"
    rules = "--host-resolver-rules=MAP * ~NOTFOUND"
    dom = chromium.dom(page.as_uri(), f"--log-net-log={log}", rules)
    asked = set(re.findall(r'"url":"(?!https?://[^"/]*\.google)([^"]+)"', log.read_text()))
    assert {url.split("/")[-1] for url in asked if not url.startswith("data:")} <= {"notice.html"}
    assert "&lt;img onerror=alert(1) src=x&gt;" in dom
    assert "<img" not in dom


def test_exit_is_complete_with_such_names(report_of, tmp_path):
    report = report_of(["1", "the", "0", "probable", "SHA256SUMS", "2026-09-01"])
    assert run(["notify", str(report), "-o", str(tmp_path / "notices")]) == Exit.COMPLETE
