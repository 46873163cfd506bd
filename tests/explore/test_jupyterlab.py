"""JupyterLab for real: `make lab`, each notebook in Chromium, all cells; nothing is fetched."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.browser

selenium = pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402


class Lab:
    """A running JupyterLab on a copy of the notebooks: it saves them as it goes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "notebooks", folder / "notebooks")
        (folder / "data").mkdir()
        (folder / "data" / "samples").symlink_to(ROOT / "data" / "samples")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        more = f"--no-browser --allow-root --port={port} --LabApp.expose_app_in_browser=True"
        self.command = recipe(more)
        self.output = folder / "lab.log"
        home = folder / "home"
        home.mkdir()
        own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
        with self.output.open("wb") as said:
            self.process = subprocess.Popen(
                self.command,
                cwd=folder,
                stdout=said,
                stderr=said,
                env=os.environ | own | {"HOME": str(home)},
            )
        self.server = self._server(home / "RUNTIME")

    def _server(self, runtime: Path) -> dict[str, str]:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            for found in runtime.glob("jpserver-*.json"):
                return json.loads(found.read_text())
            assert self.process.poll() is None, self.output.read_text()[-2_000:]
            time.sleep(0.2)
        raise AssertionError(self.output.read_text()[-2_000:])

    def address(self, notebook: str) -> str:
        return (
            f"{self.server['url']}lab/tree/notebooks/{notebook}?reset&token={self.server['token']}"
        )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def recipe(more: str) -> list[str]:
    """The command of `make lab`, with the interpreter of these tests in place of the clone's."""
    asked = ["make", "-n", "-s", "lab", f"LAB_ARGS={more}", "VENV=.absent"]
    printed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in printed.splitlines() if " lab --config=" in line)
    program, *arguments = shlex.split(line)
    assert program == ".absent/bin/jupyter"
    return [sys.executable, "-m", "jupyter", *arguments]


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Lab]:
    started = Lab(tmp_path_factory.mktemp("lab"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def browser(driven) -> Iterator[webdriver.Chrome]:
    chrome, driver = driven
    options = webdriver.ChromeOptions()
    options.binary_location = chrome
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--window-size=1400,1600",
        # Whatever would leave this machine has no address.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    started.set_script_timeout(300)
    yield started
    started.quit()


RUN = """
const [path, done] = arguments;
const when = async there => {
  for (;;) {
    const found = there();
    if (found) return found;
    await new Promise(go => setTimeout(go, 100));
  }
};
(async () => {
  const app = await when(() => window.jupyterapp);
  await app.restored;
  const panel = await when(() => {
    const shown = app.shell.currentWidget;
    return shown && shown.context && shown.context.path === path ? shown : null;
  });
  await panel.context.ready;
  await panel.sessionContext.ready;
  await app.commands.execute('notebook:run-all-cells');
  await panel.context.save();
  done('ran');
})().catch(error => done('failed: ' + error));
"""
OUTPUTS = """
const cells = window.jupyterapp.shell.currentWidget.content.widgets;
return JSON.stringify(cells.filter(cell => cell.model.type === 'code').map(
  cell => ({count: cell.model.executionCount, outputs: cell.model.outputs.toJSON()})
));
"""
"""What the notebook holds, also where it is not in view."""


def asked_for(browser) -> set[str]:
    """Every address that a page asked for since the last look."""
    urls = set()
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.add(message["params"]["request"]["url"])
        if message["method"] == "Network.webSocketCreated":
            urls.add(message["params"]["url"])
    return urls


def opened(browser, lab: Lab, name: str) -> list[dict]:
    """Open a notebook, run all of its cells and return its code cells."""
    browser.get(lab.address(name))
    assert browser.execute_async_script(RUN, f"notebooks/{name}") == "ran"
    return json.loads(browser.execute_script(OUTPUTS))


def scrolled(browser) -> Iterator[None]:
    """Bring every cell into view once, one after the other."""
    script = "return window.jupyterapp.shell.currentWidget.content.widgets.length"
    for number in range(browser.execute_script(script)):
        browser.execute_script(
            "const content = window.jupyterapp.shell.currentWidget.content;"
            "content.scrollToItem(arguments[0], 'start'); content.activeCellIndex = arguments[0];",
            number,
        )
        yield


def drawn(browser) -> tuple[int, int]:
    """Figures that have a place, and those of them that are drawn."""
    places = browser.find_elements(By.CSS_SELECTOR, "div[id^=figure-]")
    return len(places), sum(bool(p.find_elements(By.CSS_SELECTOR, "svg.main-svg")) for p in places)


def settle(browser, seconds: float = 20) -> None:
    """Wait until each figure that has a place is drawn."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        places, there = drawn(browser)
        if places == there:
            return
        time.sleep(0.2)
    raise AssertionError(f"{drawn(browser)} figures drawn")


def check_choosing(browser) -> None:
    """Choose a tenant in the list: line and rows follow."""
    for _ in scrolled(browser):
        lists = browser.find_elements(By.CSS_SELECTOR, ".widget-select-multiple select")
        if lists:
            break
    tenant = lists[1].find_elements(By.TAG_NAME, "option")[0]
    tenant.click()
    line = f'case.affected.polars().filter(pl.col("tenant_id").is_in(["{tenant.text}"]))'
    until = time.monotonic() + 30
    shown: list[str] = []
    while line not in shown and time.monotonic() < until:
        shown = [
            found.text for found in browser.find_elements(By.CSS_SELECTOR, ".widget-html code")
        ]
        time.sleep(0.2)
    assert line in shown


@pytest.mark.few(1)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_the_browser(path, lab, browser, tmp_path):
    cells = opened(browser, lab, path.name)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [o["traceback"][-1] for o in outputs if o["output_type"] == "error"] == []
    assert [cell for cell in cells if not cell["count"]] == []
    seen = 0
    for number, _ in enumerate(scrolled(browser)):
        settle(browser)
        seen = max(seen, drawn(browser)[1])
        if os.environ.get("SCREENSHOTS"):
            folder = Path(os.environ["SCREENSHOTS"])
            browser.save_screenshot(str(folder / f"{path.stem}-{number:02}.png"))
    assert seen == sum("figure-" in json.dumps(output) for output in outputs)
    if path.stem.startswith("02"):
        check_choosing(browser)
    own = tuple(lab.server["url"].replace("http", scheme, 1) for scheme in ("http", "ws"))
    local = (*own, "data:", "blob:", "chrome:", "about:")
    assert {url for url in asked_for(browser) if not url.startswith(local)} == set()
    severe = [
        entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"
    ]
    assert severe == []
    assert "Jupyter news" not in browser.page_source
    assert (lab.folder / "out").exists()


@pytest.mark.long
def test_the_server_is_for_this_machine_and_for_who_has_its_token(lab):
    assert lab.server["hostname"] == "127.0.0.1"
    assert len(lab.server["token"]) >= 32
    assert lab.server["token"] not in " ".join(lab.command)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{lab.server['url']}api/contents", timeout=30)  # noqa: S310
    assert refused.value.code == 403
