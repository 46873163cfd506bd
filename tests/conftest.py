"""What tests of every part share: Hypothesis profiles, frame kinds, a browser."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

import forensics

# No deadlines: on a shared two-core machine they measure the neighbours. In CI the
# examples are the same on every run, so that a red run is about the change.
settings.register_profile(
    "local", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of tests marked ``few`` leave all but some variants, spread evenly, to the long run."""
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") is not None:
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in families.values():
        mark = family[0].get_closest_marker("few")
        most = mark.args[0] if mark is not None else len(family)
        kept = {at * len(family) // most for at in range(most)}
        for at, item in enumerate(family):
            if at not in kept and len(family) > most:
                item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def _disk_is_believed() -> Iterator[None]:
    """Do not wait for the disk: tests kill processes, and what a killed one wrote stays.

    A report syncs each of its files, which takes longer than to make some of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


# --- frame kinds ---------------------------------------------------------------------

# Arrow-backed pandas: numpy's own dtypes turn an integer column with a null into
# floats, and a 63-bit transfer id does not survive that.
_FROM_POLARS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars-lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "arrow": lambda frame: frame.to_arrow(),
    "arrow-batch": lambda frame: pa.RecordBatch.from_pylist(frame.rows(named=True), _schema(frame)),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "narwhals": nw.from_native,
}


def _schema(frame: pl.DataFrame) -> pa.Schema:
    return frame.to_arrow().schema


@pytest.fixture(params=list(_FROM_POLARS))
def frame_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of frame that the public functions take and give back."""
    return request.param


@pytest.fixture
def to_kind(frame_kind: str) -> Callable[[pl.DataFrame], Any]:
    """Turn a polars DataFrame into the kind under test."""
    return _FROM_POLARS[frame_kind]


@pytest.fixture
def from_kind(frame_kind: str) -> Callable[[Any], pl.DataFrame]:
    """Turn a result back into a polars DataFrame, insisting that it is of the kind."""
    kind = type(_FROM_POLARS[frame_kind](pl.DataFrame({"any": [1]})))

    def convert(native: Any) -> pl.DataFrame:
        assert isinstance(native, kind), f"expected {kind.__name__}, got {type(native).__name__}"
        if isinstance(native, pl.LazyFrame):
            return native.collect()
        if isinstance(native, duckdb.DuckDBPyRelation):
            native = native.to_arrow_table()
        native = nw.to_native(native, pass_through=True)
        return native if isinstance(native, pl.DataFrame) else pl.DataFrame(native)

    return convert


# --- cases ---------------------------------------------------------------------------


@pytest.fixture
def case_of(tmp_path: Path) -> Callable[..., forensics.Case]:
    """Read records, given as dictionaries, under an incident given as TOML text."""

    def read(*records: dict[str, Any], incident: str = "") -> forensics.Case:
        logs = tmp_path / "case.ndjson"
        logs.write_text("".join(json.dumps(record) + "\n" for record in records))
        asked = tmp_path / "incident.toml"
        asked.write_text(incident)
        return forensics.read_logs(logs, incident=asked)

    return read


@pytest.fixture
def verdict_of(case_of: Callable[..., forensics.Case]) -> Callable[..., dict[str, Any]]:
    """Judge one request and return its row."""

    def judge(*records: dict[str, Any], incident: str = "") -> dict[str, Any]:
        rows = case_of(*records, incident=incident).requests.polars()
        assert rows.height == 1, rows.select("request_id", "tenant_id", "transfer_id")
        return rows.row(0, named=True)

    return judge


@pytest.fixture
def node_logs(tmp_path: Path) -> Callable[..., forensics.Case]:
    """Read node logs, given as lines by the stem of their file, under an incident as TOML text."""

    def read(logs: dict[str, list[str]], incident: str = "") -> forensics.Case:
        folder = tmp_path / f"nodes-{len(list(tmp_path.iterdir()))}"
        for stem, lines in logs.items():
            path = folder / (stem if "." in stem else f"{stem}.log")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
        asked = tmp_path / "incident.toml"
        asked.write_text(incident)
        return forensics.read_logs(folder, incident=asked)

    return read


# --- browser -------------------------------------------------------------------------


@cache
def _starts(*names: str) -> str | None:
    """The first of these that starts; some systems install a stub that only points to a store."""
    for name in names:
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], capture_output=True, check=False)
            if version.returncode == 0:
                return path
    return None


def _chromium_path() -> str | None:
    return _starts("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Chromium:
    """Headless runs of one browser, each with an empty profile of its own."""

    path: str
    scratch: Path

    def run(self, *arguments: str, timeout: float = 60) -> str:
        """Run to the end and return stdout; on a timeout the whole process group ends."""
        profile = self.scratch / f"profile-{len(list(self.scratch.iterdir()))}"
        profile.mkdir()
        command = [
            self.path,
            "--headless",
            # The sandbox refuses to start as root, which is who CI is.
            "--no-sandbox",
            "--disable-gpu",
            # Everything below keeps the browser from calling home.
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={profile}",
            *arguments,
        ]
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                raise
        assert process.returncode == 0, stderr
        return stdout

    def dom(self, url: str, *arguments: str) -> str:
        """The page's HTML after its scripts have run."""
        return self.run("--virtual-time-budget=10000", *arguments, "--dump-dom", url)

    def screenshot(self, url: str, png: Path, size: tuple[int, int] = (1280, 1024)) -> None:
        """The first screen of the page as a PNG."""
        self.run(
            "--virtual-time-budget=10000",
            "--hide-scrollbars",
            f"--window-size={size[0]},{size[1]}",
            f"--screenshot={png}",
            url,
        )
        assert png.stat().st_size > 0


@pytest.fixture
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Chromium:
    """A headless browser; the test says that it did not run where there is none."""
    path = _chromium_path()
    if path is None:
        pytest.skip("did not run: no Chromium on this machine")
    return Chromium(path, tmp_path_factory.mktemp("chromium"))


@pytest.fixture(scope="session")
def driven() -> tuple[str, str]:
    """A browser and its driver, both of this machine: none is ever fetched."""
    browser = _chromium_path()
    driver = _starts("chromedriver", "/usr/lib/chromium-browser/chromedriver")
    if browser is None or driver is None:
        pytest.skip("did not run: no Chromium with its chromedriver on this machine")
    return browser, driver
