"""The package as installed: its names, its version, its command."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import forensics

DISTRIBUTION = "kv-exposure-forensics"

# Each takes a noticeable part of the 0.3 seconds that `--help` may take.
HEAVY = {"duckdb", "jinja2", "pandas", "plotly", "polars", "pyarrow"}


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # Away from the source tree, so that what runs is what was installed.
    return subprocess.run(
        list(map(str, arguments)), cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def heavy_after(statement: str, cwd: Path) -> set[str]:
    """The heavy packages that a fresh interpreter has loaded after the statement."""
    done = run(sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return HEAVY & set(done.stdout.split())


def test_public_names_are_sorted_and_defined():
    assert list(forensics.__all__) == sorted(set(forensics.__all__))
    missing = [name for name in forensics.__all__ if not hasattr(forensics, name)]
    assert missing == []


def test_import_does_nothing_but_define_names(tmp_path):
    done = run(sys.executable, "-c", "import forensics", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["forensics", "forensics.cli"])
def test_import_loads_nothing_heavy(module, tmp_path):
    assert heavy_after(f"import {module}", tmp_path) == set()


def test_the_command_has_memory_given_back_before_polars_is_loaded(tmp_path):
    ask = "import atexit, os, sys; from forensics.cli import main; sys.argv[1:] = ['--version']"
    ask += "; atexit.register(lambda: print(os.environ['_RJEM_MALLOC_CONF'])); main()"
    done = run(sys.executable, "-c", ask, cwd=tmp_path)
    assert "dirty_decay_ms" in done.stdout
    assert heavy_after(f"try:\n    {ask}\nexcept SystemExit:\n    pass", tmp_path) == set()


def test_version_is_the_distributions():
    assert isinstance(forensics.__version__, str)
    assert forensics.__version__ == importlib.metadata.version(DISTRIBUTION)


def test_command_prints_help(tmp_path):
    command = Path(sys.executable).with_name("forensics")
    done = run(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: forensics ")


def test_command_and_package_share_one_entry_point():
    scripts = importlib.metadata.distribution(DISTRIBUTION).entry_points
    assert [(s.name, s.value) for s in scripts] == [("forensics", "forensics.cli:main")]


FIRST = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [n for n in sys.modules if n.partition(".")[0] == "forensics"]:
        del sys.modules[known]
    importlib.import_module(name)
"""
AHEAD = ("requests", "findings", "coverage", "timing.work", "attribution.gaps", "analysis")


def test_a_module_can_be_the_first_that_is_imported(tmp_path):
    """A worker begins with the module of its work, whatever that is."""
    names = [f"forensics.{name}" for name in AHEAD]
    done = run(sys.executable, "-c", FIRST, *names, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
