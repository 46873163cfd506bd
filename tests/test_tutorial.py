"""The tutorial: its commands, copied from the page, do what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from forensics.cli import run

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.long
def test_each_step_copied_from_the_page(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    printed = ""
    kinds = []
    for kind, block in BLOCK.findall(PAGE):
        kinds.append(kind)
        if kind == "text":
            assert block == printed
            continue
        for line in block.splitlines():
            command, _, comment = line.partition("    # exit ")
            program, *arguments = shlex.split(command)
            assert program == "forensics"
            capfd.readouterr()
            assert run(arguments) == int(comment or 0), command
            out, err = capfd.readouterr()
            printed = err + out
    assert kinds.count("sh") == 6
    assert kinds.count("text") == 2


def test_links_lead_somewhere():
    docs = Path(__file__).parents[1] / "docs"
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert links
    assert [link for link in links if not (docs / link).exists()] == []
