"""The page in a real browser: what is drawn, what is blocked, what is asked for."""

import json
import re

import pytest

from forensics.report import render
from forensics.report.html import PICTURES

pytestmark = pytest.mark.browser

# What the browser itself asks for at every start, whatever page it shows.
ITS_OWN = re.compile(r"https?://([\w-]+\.)*(google|googleapis|gvt1|gstatic)\.com/")


@pytest.fixture
def visit(chromium, tmp_path):
    """Open a page; return its DOM, what the console said and which addresses were asked for."""

    def open_page(page):
        path, log, net = (tmp_path / name for name in ("report.html", "chrome.log", "net.json"))
        path.write_bytes(page)
        dom = chromium.dom(
            path.as_uri(),
            "--enable-logging",
            f"--log-file={log}",
            f"--log-net-log={net}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        )
        console = [line for line in log.read_text().splitlines() if "CONSOLE" in line]
        urls = set(re.findall(r'"url":"([^"]+)"', net.read_text()))
        return dom, console, {url for url in urls if not ITS_OWN.match(url)}

    return open_page


def test_charts_are_drawn_and_nothing_is_blocked_or_fetched(visit, incident):
    page = render(incident)
    dom, console, urls = visit(page)
    assert console == []
    assert dom.count('data-drawn="yes"') == len(PICTURES)
    assert len(re.findall(r'<svg[^>]*class="main-svg"', dom)) >= len(PICTURES)
    assert {url for url in urls if not url.startswith(("file:", "data:", "blob:"))} == set()
    assert "<title>INC-2026-0827: exposure report</title>" in dom


def test_hostile_names_run_nothing(visit, hostile):
    dom, console, urls = visit(render(hostile))
    assert console == []
    assert dom.count('data-drawn="yes"') == len(PICTURES)
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)[1]
    assert title.endswith(": exposure report")
    assert "owned" in title  # as text: it is part of the case id
    assert {url for url in urls if "evil" in url} == set()


def test_an_empty_document_opens(visit, empty):
    dom, console, _ = visit(render(empty))
    assert console == []
    assert "No request was judged" in dom


def test_a_foreign_script_is_blocked(visit, empty):
    foreign = b"<script>document.title = 'owned'</script></body>"
    dom, console, _ = visit(render(empty).replace(b"</body>", foreign))
    assert "Content Security Policy" in "".join(console)
    assert "<title>owned</title>" not in dom


def test_the_log_would_show_a_request(visit):
    _, _, urls = visit(b"<!doctype html><img src='http://evil.example/a.png'>")
    assert "http://evil.example/a.png" in urls
    assert json.dumps(sorted(urls))


def test_it_prints(chromium, incident, tmp_path):
    path, paper = tmp_path / "report.html", tmp_path / "report.pdf"
    path.write_bytes(render(incident))
    chromium.run("--virtual-time-budget=10000", f"--print-to-pdf={paper}", path.as_uri())
    assert paper.read_bytes().startswith(b"%PDF-")
