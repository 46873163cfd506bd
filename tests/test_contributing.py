"""What CONTRIBUTING.md points at is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_path_in_it_exists():
    named = re.findall(r"`((?:forensics|tests|docs)/[^`*]*)`", TEXT)
    named += re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_make_target_in_it_exists():
    targets = re.findall(r"`make ([\w-]+)`", TEXT)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(set(targets)) >= 5
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def test_every_package_of_the_project_is_in_the_table():
    packages = {path.parent.name for path in (ROOT / "forensics").glob("*/__init__.py")}
    named = set(re.findall(r"`forensics/(\w+)/`", TEXT))
    assert packages - named == {"checking", "commands"}
