import base64
import hashlib
import itertools
import os
import re
import subprocess
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

import jinja2
import msgspec
import pytest

from forensics.exposure import Change, Moment, encode
from forensics.report import html, markdown, render, tables
from forensics.report.wording import words

BANNED = [rf"\b{re.escape(phrase)}\b" for phrase in words().banned]


class Page(HTMLParser):
    """What a reader without scripts gets: elements, text, tables by name, inline scripts."""

    def __init__(self, page: bytes):
        super().__init__()
        self.elements, self.scripts, self.tables, self.below = [], [], {}, {}
        self.text, self._cell, self._rows, self._under, self._inside = [], None, None, None, []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elements.append((tag, attrs))
        if tag in {"script", "style"}:
            self._inside.append(tag)
            self.scripts += [(attrs.get("type"), "")] if tag == "script" else []
        if tag == "div" and "scroll" in attrs.get("class", ""):
            name = attrs["id"].removeprefix("table-")
            self._rows = self.tables.setdefault(name, [])
            self._under = self.below.setdefault(name, [])
        if tag == "tr":
            self._row = []
            (self._under if attrs.get("class") == "under" else self._rows).append(self._row)
        if tag in {"td", "th"}:
            self._cell = []

    def handle_endtag(self, tag):
        if tag in {"script", "style"}:
            self._inside.pop()
        if tag in {"td", "th"}:
            self._row.append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data):
        if self._inside:
            if self._inside[-1] == "script":
                kind, text = self.scripts.pop()
                self.scripts.append((kind, text + data))
            return
        self.text.append(data)
        if self._cell is not None:
            self._cell.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())

    def column(self, table, title):
        header, *rows = self.tables[table]
        return [row[header.index(title)] for row in rows]


@pytest.fixture(scope="session")
def page(incident):
    return Page(render(incident))


@pytest.fixture(scope="session")
def parsed(exposure):
    """The page of each document in turn."""
    return Page(render(exposure))


def test_the_policy_allows_exactly_the_inline_scripts(parsed):
    metas = [attrs for tag, attrs in parsed.elements if tag == "meta"]
    content = next(m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in content.split("; "))
    run = [text for kind, text in parsed.scripts if kind is None]
    expected = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in run
    ]
    assert rules.pop("script-src").split() == expected
    assert len(run) == 2
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "font-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_is_referred_to_outside_the_page(parsed):
    for tag, attrs in parsed.elements:
        assert not {"src", "srcset", "action", "data", "poster"} & set(attrs), tag
        assert not [name for name in attrs if name.startswith("on")], tag
        assert attrs.get("href", "#").startswith(("#", "data:,")), tag
    assert "url(" not in str(html._asset("report.css"))


def test_links_and_ids_meet(parsed):
    elements = parsed.elements
    ids = Counter(attrs["id"] for _, attrs in elements if "id" in attrs)
    assert [name for name, count in ids.items() if count > 1] == []
    links = {a["href"][1:] for tag, a in elements if tag == "a"}
    named = {a[key] for _, a in elements for key in ("aria-labelledby",) if key in a}
    assert links | named <= set(ids)


def test_only_the_elements_of_the_templates(hostile, incident):
    tags = {tag for tag, _ in Page(render(hostile)).elements}
    assert tags <= {tag for tag, _ in Page(render(incident)).elements} | {"em"}


def test_hostile_names_are_text(hostile):
    page = Page(render(hostile))
    tenants = page.column("recipients", "Tenant")
    assert "<img src=x onerror=\"document.title='owned'\">" in tenants
    assert "acme⟨U+202E⟩txt.exe⟨U+2066⟩⟨U+200B⟩" in tenants
    assert "{{ 7 * 7 }}{% raw %}" in tenants
    assert not re.search("[\u200b\u202a-\u202e\u2066-\u2069\u2028\u2029\x00\x1b]", page.words)


def test_headings_are_in_order(parsed):
    levels = [int(t[1]) for t, _ in parsed.elements if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_tables_can_be_read_aloud(page):
    kinds = Counter(tag for tag, _ in page.elements)
    assert kinds["table"] == kinds["caption"] == len(page.tables)
    assert all(attrs.get("scope") for tag, attrs in page.elements if tag == "th")
    charts = [a for _, a in page.elements if a.get("class") == "chart"]
    assert len(charts) == len(html.PICTURES)
    assert all(a["role"] == "img" and len(a["aria-label"]) > 40 for a in charts)
    assert dict(page.elements)["html"] == {"lang": "en"}


def test_the_keyboard_reaches_what_can_be_used_or_scrolled(page):
    kinds = [tag for tag, _ in page.elements if tag in ("a", "summary", "button", "input")]
    first = next(attrs for tag, attrs in page.elements if tag == "a")
    assert kinds[0] == "a"
    assert first["class"] == "skip"
    assert [tag for tag, a in page.elements if a.get("id") == first["href"][1:]] == ["main"]
    scrolled = [a for _, a in page.elements if "scroll" in a.get("class", "").split()]
    assert scrolled
    assert all(a["tabindex"] == "0" and a["role"] == "region" for a in scrolled)
    named = {a.get("id") for _, a in page.elements}
    assert all(a.get("aria-label") or a["aria-labelledby"] in named for a in scrolled)
    assert {a["tabindex"] for _, a in page.elements if "tabindex" in a} == {"0"}
    style = (files("forensics.report") / "templates" / "report.css").read_text()
    assert not re.search(r"outline:\s*(none|0)", style)
    for part in ("a", "summary", ".scroll"):
        assert f"{part}:focus-visible" in style


def test_the_first_screen_says_what_the_document_says(incident, page):
    head = incident.headline
    first = page.words[: page.words.index("2 What happened")]
    for tier in head.tiers:
        assert f"{tier.requests:,} requests" in first
        affected = tier.tier in ("confirmed", "probable", "possible")
        assert (f"delivered for certain: {tier.delivered:,}" in first) or not affected
    # Of a request that was ruled out it would read as if nobody had got the answer.
    assert first.count("delivered for certain") == 3
    assert f"{head.recipients:,} recipients" in first
    assert f"{head.sources:,} sources" in first
    assert f"{head.recipients + head.sources:,}" not in first
    for sentence in (
        head.sentence,
        head.direction,
        head.ongoing.sentence,
        head.bound.sentence,
        *head.incomplete,
        "2026-08-27 01:31:09 UTC",
        "2026-09-09 10:48:08 UTC",
        "155 to 208 (arithmetic)",
        "Still happening: ? cannot tell",
        "13 of 13",
        "notifications.csv",
        "affected_requests.csv",
        "affected_tenants.csv",
        "not_assessable.parquet",
        "unreadable.csv",
        "manifest.json",
        "forensics notify",
        "TLP:AMBER+STRICT",
        "Revision: 1",
    ):
        assert sentence in first.replace(" :", ":").replace("Revision 1", "Revision: 1")


PARTS = (
    *("Findings", "What happened", "Scope", "Evidence", "Recipients", "Sources", "Ruled out"),
    *("Bounds", "Deliberate use", "Isolation", "Containment", "Notifications", "Method"),
    "Limitations",
)


def test_the_parts_stand_in_their_order(page):
    numbered = [f"{number} {title}" for number, title in enumerate(PARTS, 1)]
    places = [page.words.index(heading) for heading in numbered]
    assert places == sorted(places)


def test_the_control_page_names_the_document_by_its_hash(incident, page):
    control = page.words[: page.words.index("1 Findings")]
    assert hashlib.sha256(encode(incident)).hexdigest() in control


def test_a_revision_says_why_it_takes_the_place_of_the_last(incident):
    case = msgspec.structs.replace(incident.case, revision=3, supersedes="late gateway logs")
    words = Page(render(msgspec.structs.replace(incident, case=case))).words
    assert "3; supersedes the one before: late gateway logs" in words


def test_an_answer_that_is_bad_is_not_marked_as_good(page):
    assert page.column("pools", "Receiver verifies") == ["✘ no", "✘ no"]
    assert page.column("pools", "Rejects before it allocates") == ["? assumed", "✘ no"]
    assert page.column("validations", "Result") == ["✔ cleared", "✘ not cleared"]
    assert page.column("clocks", "Due (UTC)")[-1] == "none"


def test_tables_hold_the_documents_numbers(incident, page):
    def written(values):
        return [f"{value:,}" for value in values]

    ordered = sorted(incident.recipients, key=tables.weight)
    assert page.column("funnel", "Requests") == written(s.requests for s in incident.funnel)
    assert page.column("recipients", "Probable") == written(t.n_probable for t in ordered)
    assert page.column("reasons", "Requests") == written(r.requests for r in incident.reasons)
    assert page.column("coverage", "Records") == written(c.records for c in incident.coverage)
    medians = written(c.median_us for c in incident.clock_pairs)
    assert page.column("clock_pairs", "Median (µs)") == medians
    assert page.column("read", "Read (records)") == written(r.read for r in incident.read)
    assert page.column("days", "All requests") == written(d.requests for d in incident.days)
    assert page.column("epochs", "Pool (tokens)") == written(e.pool_tokens for e in incident.epochs)
    assert page.column("checklist", "Result") == [
        "✘ fail", "✘ fail", "✔ pass", "? not observable", "? not observable"
    ]  # fmt: skip


def test_what_stands_below_a_row_is_said_with_its_title(incident, page):
    """Beside the others it would leave them no room, or be cut off."""
    under = [words for (words,) in page.below["epochs"]]
    assert len(under) == len(page.tables["epochs"]) - 1
    for words_, epoch in zip(under, incident.epochs, strict=True):
        assert f"Settings: {(epoch.config or 'not known').replace(';', '; ')}" in words_
    for (words_,) in page.below["clocks"]:
        assert re.search(r"As decided: .*Note: .*Source: .*Looked up: ", words_)


def test_every_section_has_its_table(page):
    assert set(page.tables) == set(tables.SPECS)
    assert {row[0] for row in html.PICTURES} < set(tables.SPECS)


def test_long_tables_say_how_much_is_elsewhere(page):
    assert len(page.tables["sources"]) == 201
    assert "200 of 214, all in affected_tenants.csv" in page.words
    assert "200 of 400, all in affected_requests.csv, ruled_out.parquet" in page.words
    assert "61 of 61" in page.words


def test_tenants_stand_by_how_sure_and_how_many(page):
    assert page.column("recipients", "Highest tier")[:2] == ["◆ confirmed", "● probable"]
    probable = [int(n) for n in page.column("recipients", "Probable")[1:40]]
    assert probable == sorted(probable, reverse=True)
    assert "no tenant id" in page.column("recipients", "Tenant")


def test_a_writing_fault_swaps_the_populations(incident, page):
    replace = msgspec.structs.replace
    write = Page(render(replace(incident, scope=replace(incident.scope, mechanism="write"))))
    shared = "tenants whose requests shared an engine with one that met it, or cannot be excluded"
    assert f"214 sources {shared}." in page.words
    assert f"60 recipients {shared}; requests without a tenant id: 3." in write.words
    counted = "the tiers count those and the requests that met the condition and wrote"
    assert counted in write.words
    assert counted not in page.words


def test_settings_and_events_are_written_as_everywhere_else(incident):
    at = incident.headline.first_affected_at
    found = msgspec.structs.replace(
        incident,
        timeline=[Moment("model_off", at, "stated")],
        changes=[
            Change("p1", at, "pool_tokens", "681280", "1048576"),
            Change("p1", at, "tp_size", None, "016"),
        ],
    )
    page, text = Page(render(found)).words, markdown.render(found).decode()
    for shown in (page, text):
        assert "model off" in shown
        assert "model_off" not in shown
        assert "681,280" in shown
        assert "1,048,576" in shown
        assert "016" in shown


def test_nothing_read_says_nothing(empty):
    words = Page(render(empty)).words
    assert "No request was judged." in words
    assert "says nothing about exposure" in words
    assert "First affected none found" in words
    assert "No tenant is listed as a recipient." in words
    assert "No pool size is known" in words
    assert "Window (start in, end out) not stated: everything read" in words


@pytest.mark.parametrize(
    ("high", "incomplete", "says"),
    [
        (0, [], "Every request in scope was ruled out with a recorded reason."),
        (9, [], "That alone does not reassure"),
        (0, ["17 records were unreadable"], "That alone does not reassure"),
    ],
)
def test_none_found_says_why_it_does_or_does_not_reassure(empty, high, incomplete, says):
    head = empty.headline
    replace = msgspec.structs.replace
    tiers = [replace(t, requests=500) if t.tier == "ruled_out" else t for t in head.tiers]
    bound = replace(head.bound, high=high)
    head = replace(head, tiers=tiers, bound=bound, incomplete=incomplete)
    words = Page(render(replace(empty, headline=head))).words
    assert "No affected response was found." in words
    assert says in words


def test_banned_phrases_are_nowhere(page):
    sources = [p.read_text() for p in files("forensics.report").joinpath("templates").iterdir()]
    sources += [p.read_text() for p in files("forensics.report").iterdir() if p.name[-3:] == ".py"]
    sources += [str(words().tier), str(words().population), str(words().part)]
    sources += [(files("forensics.deadlines") / "deadlines.yaml").read_text()]
    for phrase in BANNED:
        for text in (page.words, *sources):
            assert not re.search(phrase, text, re.IGNORECASE), phrase


def test_an_unknown_name_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="gone"):
        html.environment().from_string("{{ gone }}").render()


def test_an_unknown_tier_is_shown_by_its_name(incident):
    tiers = [msgspec.structs.replace(incident.headline.tiers[0], tier="new<b>")]
    head = msgspec.structs.replace(incident.headline, tiers=tiers)
    page = Page(render(msgspec.structs.replace(incident, headline=head)))
    assert "? new<b>" in page.words


def test_the_same_document_gives_the_same_bytes(incident, tmp_path):
    document = tmp_path / "report.json"
    document.write_bytes(encode(incident))
    program = (
        "import sys, pathlib, hashlib; from forensics.exposure import decode;"
        "from forensics.report import render;"
        "page = render(decode(pathlib.Path(sys.argv[1]).read_bytes()));"
        "print(hashlib.sha256(page).hexdigest())"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", program, str(document)],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert hashes == {hashlib.sha256(render(incident)).hexdigest() + "\n"}


def test_a_large_document_is_quick(incident):
    render(incident)
    large = msgspec.structs.replace(
        incident, points=incident.points * 5, epochs=incident.epochs * 3
    )
    start = time.perf_counter()
    render(large)
    # Far above what it takes on a busy machine, far below what anything quadratic would.
    assert time.perf_counter() - start < 20
