"""Examples in docstrings run, and the objects that people hold in a notebook have them."""

import doctest
import importlib
from pathlib import Path

import pytest

import forensics
from forensics import Case

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "forensics").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
"""Whatever has an example: one that is not run is soon wrong."""


@pytest.fixture(scope="module")
def case():
    """What examples call ``case``, and do not read anew."""
    sample = ROOT / "data" / "samples" / "session-slots"
    return forensics.read_logs(sample / "logs", incident=sample / "incident.toml")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, case, monkeypatch):
    monkeypatch.chdir(ROOT)
    module = importlib.import_module(name)
    tests = [
        t for t in doctest.DocTestFinder().find(module, extraglobs={"case": case}) if t.examples
    ]
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    failed = sum(runner.run(test).failed for test in tests)
    assert failed == 0
    assert tests or name in ("forensics", "forensics.case")


def test_tab_completion_offers_what_there_is_to_ask():
    offered = {name for name in dir(Case) if not name.startswith("_")}
    assert offered >= {
        "affected", "capacity", "coverage", "exposure", "explain", "notify", "report", "requests",
        "ruled_out", "sources", "tenants", "timing",
    }  # fmt: skip
    assert [name for name in dir(forensics) if name.startswith("_")] == ["__version__"]
    assert {"arrow", "pandas", "polars"} <= set(dir(forensics.cards.Table))


def test_every_public_name_says_what_it_is():
    held = [getattr(forensics, name) for name in forensics.__all__ if name != "__version__"]
    held += [getattr(Case, name) for name in dir(Case) if not name.startswith("_")]
    assert [item for item in held if not (getattr(item, "__doc__", None) or "").strip()] == []
