"""Killed at any moment, neither canary nor engine leaves a word of a prompt or an answer."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

FORENSICS = [sys.executable, "-c", "from forensics.cli import main; main()"]
TEXT = re.compile(rb"canary-[0-9a-f]{32}|mentions|code word")


@pytest.mark.parametrize("moment", [0.1, 0.7])
def test_what_is_left_holds_no_text(tmp_path: Path, moment: float) -> None:
    serve = ["lab", "serve", "--logs", str(tmp_path / "logs"), "--port", "0"]
    engine = subprocess.Popen([*FORENSICS, *serve], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert engine.stdout is not None
    at = json.loads(engine.stdout.readline())
    accounts = ["--account", "lab-a=KEY_A", "--account", "lab-b=KEY_B"]
    keys = os.environ | {"KEY_A": "lab-key-a", "KEY_B": "lab-key-b", "TMPDIR": str(tmp_path)}
    asking = ["canary", at["router"], "--engine", at["prefill"], "--fill", "40"]
    asking += ["--record", str(tmp_path / "canary.ndjson")]
    canary = subprocess.Popen(
        [*FORENSICS, *asking, *accounts], env=keys, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    record = tmp_path / "canary.ndjson"
    while not record.exists() and canary.poll() is None:
        time.sleep(0.01)
    time.sleep(moment)
    assert canary.poll() is None, "the run must still be under way"
    canary.kill()
    engine.kill()
    shown = [*canary.communicate(), *engine.communicate()]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(files)
    for text in (*shown, *files):
        assert not TEXT.search(text)
    for line in record.read_bytes().splitlines():
        json.loads(line)
