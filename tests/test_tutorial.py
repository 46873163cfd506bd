"""The tutorial: its commands, copied from the page, do what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from forensics.cli import run
from tests import pages

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_each_step_copied_from_the_page(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    printed = ""
    kinds = []
    for block in pages.blocks(PAGE):
        kinds.append(block.kind)
        if block.kind == "text":
            assert block.text == printed
            continue
        for command, code in block.steps:
            program, *arguments = shlex.split(command)
            assert program == "forensics"
            capfd.readouterr()
            assert run(arguments) == code, command
            out, err = capfd.readouterr()
            printed = err + out
    assert kinds.count("sh") == 6
    assert kinds.count("text") == 2


def test_links_lead_somewhere():
    docs = Path(__file__).parents[1] / "docs"
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert links
    assert [link for link in links if not (docs / link).exists()] == []
