"""Inputs are evidence: they are opened for reading only and are the same afterwards."""

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = """
import os, sys
from forensics.cli import run
folder, commands = sys.argv[1], sys.argv[2].split(";")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
changing = {"os.remove", "os.rename", "os.chmod", "os.utime", "os.truncate", "os.rmdir", "os.mkdir"}
seen, wrong = set(), []
def hook(event, arguments):
    if event != "open" and event not in changing:
        return
    named = [os.fsdecode(a) for a in arguments if isinstance(a, (str, bytes, os.PathLike))]
    inside = [name for name in named if os.path.realpath(name).startswith(folder)]
    if event == "open" and inside:
        seen.add(inside[0])
        mode, flags = arguments[1] or "", arguments[2]
        if set(mode) & set("wax+") or flags & WRITES:
            wrong.append((event, inside[0]))
    elif inside:
        wrong.append((event, inside[0]))
sys.addaudithook(hook)
for command in commands:
    code = run(command.split(","))
    if code not in (0, 3):
        sys.exit(f"{command}: {code}")
print(sum(map(os.path.isfile, seen)), wrong)
"""


def facts(folder: Path) -> dict[str, tuple[int, int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        held = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (path.stat().st_mode, path.stat().st_mtime_ns, held)
    return found


def lock(folder: Path, mode: int) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(mode | (stat.S_IXUSR if path.is_dir() else 0))


@pytest.mark.long
def test_every_command_opens_its_inputs_for_reading_only(own, tmp_path):
    logs, out, copy = own / "logs", own / "new", own / "other"
    before_lock = facts(logs)
    lock(logs, stat.S_IRUSR)
    before = facts(logs)
    commands = [
        f"report,{logs},-i,{own / 'incident.toml'},-o,{out},-q",
        f"report,{logs},-o,{copy},-q",
        f"scope,{logs},-q",
        f"verify,{out}",
        f"verify,{out},--logs,{logs}",
        f"rerun,{out},-q",
        f"diff,{copy},{out}",
        f"explain,{out},short",
    ]
    try:
        done = subprocess.run(
            [sys.executable, "-c", WATCH, os.path.realpath(logs), ";".join(commands)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert facts(logs) == before
    finally:
        lock(logs, stat.S_IRUSR | stat.S_IWUSR)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "7 []", "all inputs were opened, none for writing"
    assert [held for *_, held in before_lock.values()] == [held for *_, held in before.values()]
