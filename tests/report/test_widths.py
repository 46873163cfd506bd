"""No table of the page is cut off: at the width of a window, and on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import forensics
from forensics.report import render

pytestmark = [pytest.mark.long, pytest.mark.browser]
selenium = pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402

SAMPLE = Path(__file__).parents[2] / "data" / "samples" / "glm53-dirty"
TOO_WIDE = """
for (const folded of document.querySelectorAll('details')) folded.open = true;
const tables = [...document.querySelectorAll('table')];
const room = table => table.closest('.landscape') ? arguments[1] : arguments[0];
return tables.filter(t => t.offsetLeft + t.offsetWidth > room(t) + 1).map(t => t.caption.innerText);
"""


@pytest.fixture(scope="module")
def browser(driven, tmp_path_factory) -> Iterator[webdriver.Chrome]:
    """A browser that shows the page of the damaged sample."""
    case = forensics.read_logs(SAMPLE / "logs", incident=SAMPLE / "incident.toml")
    page = tmp_path_factory.mktemp("page") / "report.html"
    page.write_bytes(render(case.exposure()))
    options = webdriver.ChromeOptions()
    options.binary_location = driven[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    started = webdriver.Chrome(options, webdriver.ChromeService(driven[1]))
    started.get(page.as_uri())
    yield started
    started.quit()


@pytest.mark.parametrize(
    ("media", "width", "upright"), [("screen", 1200, 1180), ("print", 1032, 703)]
)
def test_every_table_has_room(browser, media, width, upright):
    """On paper most parts stand upright, with less room than those that lie across."""
    shown = {"width": upright if media == "print" else width, "height": 900}
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", shown | {"deviceScaleFactor": 1, "mobile": False}
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    across = width if media == "print" else upright
    assert browser.execute_script(TOO_WIDE, upright, across) == []
